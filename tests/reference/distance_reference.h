/* Distances over all pairs of voxels. */
#ifndef LOB_DISTANCE_REFERENCE_H
#define LOB_DISTANCE_REFERENCE_H

#include "volumes/volume.h"

/* Squared distance in mm^2 from voxel `at` to the nearest voxel of the set, INFINITY without one.
 */
double reference_distance_squared(const uint8_t *set, lob_dims dims, const double spacing_mm[3],
                                  int64_t at);

#endif
