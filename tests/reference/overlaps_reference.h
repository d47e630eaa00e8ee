/* Overlap and surface distances of one label, straight from their definitions. */
#ifndef LOB_OVERLAPS_REFERENCE_H
#define LOB_OVERLAPS_REFERENCE_H

#include "kernels/scores/overlaps.h"

/* a and b hold one byte a voxel. The row is filled as lob_compare_labels says. */
void reference_overlap(lob_overlap *row, int32_t label, const uint8_t *a, const uint8_t *b,
                       lob_dims dims, const double spacing_mm[3]);

#endif
