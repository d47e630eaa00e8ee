/* How alike two label volumes are: overlap, surface distances, volumes. */
#ifndef LOB_MEASURES_H
#define LOB_MEASURES_H

#include "kernels/context.h"
#include "volumes/labels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All of one label in two volumes a and b; distances are NaN when either has no voxel of it. */
typedef struct {
    int32_t label;
    int64_t voxels_a, voxels_b, common;
    double dice;    /* 2 |A & B| / (|A| + |B|) */
    double jaccard; /* |A & B| / |A | B| */
    double hd95_mm; /* 95th percentile of the pooled distances from each surface to the other */
    double mean_surface_mm; /* mean of the same distances */
    double volume_a_mm3, volume_b_mm3;
} lob_overlap;

/*
 * Compare two label volumes on one grid, label by label.
 *
 *   rows      out  malloc'ed, one row for each label of either, ascending; the caller frees; NULL
 *                  when there is none
 *   count     out  number of rows
 *   equal     out  1 when every voxel carries the same label
 *   a, b      in   one channel, same dims, whole non-negative values of any type; volumes take a's
 *                  geometry, distances a's spacing along axes that they take for orthogonal, so
 *                  that they are not exact where the affine is sheared
 *   a_name, b_name  in  names for messages, usually the paths
 *   surfaces  in   0: leave the two distances NaN, which saves most of the time
 *
 * A surface voxel has a face neighbour without the label, or lies on the border of the grid; its
 * distance is that from its centre to the nearest centre of a surface voxel of the other volume.
 * The distances of both directions are pooled; of these n, in ascending order d[0..n-1], the
 * percentile lies at 0.95 * (n - 1), between two of them linearly (numpy's default).
 *
 * Same bits at any thread count. Works on a label inside the box that holds it in both volumes: 6
 * bytes per voxel of the box, 4 per voxel of the label in either volume, half a MiB and 92 bytes
 * per voxel of the box's longest side. Large labels come one after another, small ones as many at a
 * time as there are threads; context->max_memory, where it is not 0, bounds what those under way
 * take together, and before them a row of sums for each label and thread, beyond the rows and a
 * copy of a and b. With less memory, fewer are under way.
 *
 * Returns LOB_OK, LOB_EDATA (dims differ, not labels), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_compare_labels(lob_overlap **rows, int32_t *count, int *equal, const lob_volume *a,
                              const char *a_name, const lob_volume *b, const char *b_name,
                              int surfaces, const lob_context *context, lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
