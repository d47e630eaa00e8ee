/* lobule compare --supervoxels: how well small pieces can make up the regions of a truth. */
#ifndef LOB_COMPARE_SUPERVOXELS_H
#define LOB_COMPARE_SUPERVOXELS_H

#include "tools/session/session.h"

typedef struct {
    const char *truth_path, *labels_path;
    lob_size tolerance; /* of boundary recall; infinite: 1 voxel */
    int slices;         /* index into LOB_GRID_SLICES; -1: in 3D */
    bool quiet;         /* no table on standard output */
} lob_compare_supervoxels_settings;

/*
 * Measure the supervoxels, print a table of two columns (TSV) and put the same into the results.
 *
 *   truth, labels  in/out  on one grid; renumbered, their voxels keep their partition
 *   image          in      on the same grid; NULL: no explained variation
 */
lob_status lob_compare_supervoxels(lob_session *s, const lob_compare_supervoxels_settings *set,
                                   lob_volume *truth, lob_volume *labels, const lob_volume *image);

#endif
