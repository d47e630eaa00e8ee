/* How far two label volumes agree, label by label: overlap, surface distances, volumes. */
#ifndef LOB_OVERLAPS_H
#define LOB_OVERLAPS_H

#include "kernels/context.h"
#include "volumes/labels.h"

LOB_BEGIN_DECLS

/* One label in two volumes a and b. Distances are NaN when either has no voxel of the label. */
typedef struct {
    int32_t label;
    int64_t voxels_a, voxels_b, common;
    double dice;            /* 2 |A & B| / (|A| + |B|) */
    double jaccard;         /* |A & B| / |A | B| */
    double hd95_mm;         /* 95th percentile of the distances from each surface to the other */
    double mean_surface_mm; /* mean of the same distances */
    double volume_a_mm3, volume_b_mm3;
} lob_overlap;

/*
 * Compare two label volumes on one grid, label by label.
 *
 *   overlaps  out  malloc'ed, one for each label that occurs in a or b, in ascending order; free it
 *                  with free(); NULL when there is none
 *   count     out  number of overlaps
 *   equal     out  1 when every voxel has the same label in both, else 0
 *   a, b      in   one channel, same dims, whole numbers >= 0 of any type. Volumes come from a's
 *                  geometry. Distances come from a's spacing, as if the axes were orthogonal: they
 *                  are not exact where the affine is sheared
 *   a_name, b_name  in  names for messages, usually the paths
 *   surfaces  in   0: leave the two distances NaN, which saves most of the time
 *   context   in   threads, memory, progress
 *
 * A surface voxel has the label and either a face neighbour without it or a place at the border of
 * the grid. Its distance is that between its centre and the nearest centre of a surface voxel of
 * the other volume. The n distances of both directions are sorted as d[0..n-1]; the percentile is
 * the value at 0.95 * (n - 1), linear between two distances (numpy's default).
 *
 * Same bytes at any thread count. Working memory for the distances of a label: 6 bytes per voxel of
 * the box that holds it in both volumes, 4 bytes per voxel of the label in either volume, half a
 * MiB, and 92 bytes per voxel of the box's longest side. Large labels are measured one after
 * another, small ones in parallel, fewer at a time where memory is short. context->max_memory, when
 * not 0, bounds this memory and the counts, but not overlaps and a copy of a and b.
 *
 * Returns LOB_OK, LOB_EDATA (dims differ, not labels, or, with surfaces, labels that look like a
 * scan: see lob_labels_vary; LOB_HINT_NO_SURFACES), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_compare_labels(lob_overlap **overlaps, int32_t *count, int *equal,
                              const lob_volume *a, const char *a_name, const lob_volume *b,
                              const char *b_name, int surfaces, const lob_context *context,
                              lob_error *error);

LOB_END_DECLS

#endif
