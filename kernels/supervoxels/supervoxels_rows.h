/* Supervoxels on the CPU, one stretch of a row at a time: nearest clusters, and their sums. */
#ifndef LOB_SUPERVOXELS_ROWS_H
#define LOB_SUPERVOXELS_ROWS_H

#include "kernels/supervoxels/supervoxels_plan.h"

/* What an iteration reads. */
typedef struct {
    const lob_supervoxel_plan *plan;
    const uint16_t *planes; /* channels planes of nx*ny*nz */
    const int32_t *labels;  /* nx*ny*nz: not 0 where a voxel is data */
    const float *centres;   /* clusters times lob_cluster_floats */
    const int32_t *boxes;   /* clusters times 6 */
    const float *weights;   /* lsc */
} lob_supervoxel_scene;

/* Cells with their y in y..y+ny-1 and z in z..z+nz-1, numbered among themselves, x first. */
typedef struct {
    int32_t y, ny, z, nz;
} lob_cell_block;

/* Sums of a block's clusters. */
typedef struct {
    lob_cell_block block;
    int64_t *sums;  /* cells of the block times lob_cluster_sums */
    float *largest; /* slico: one a cell; else NULL */
} lob_cluster_share;

typedef struct lob_supervoxel_row lob_supervoxel_row; /* what a thread works in */

/* NULL without memory. Free with free. */
lob_supervoxel_row *lob_supervoxel_row_make(const lob_supervoxel_scene *scene);
int64_t lob_supervoxel_row_bytes(const lob_supervoxel_rule *rule);

/* Add row (y, z) to the clusters of its cells: iteration 0. */
void lob_supervoxel_row_start(lob_supervoxel_row *row, const lob_cluster_share *share, int32_t y,
                              int32_t z);

/* Add row (y, z) to its voxels' nearest clusters, all of which the share's block holds. */
void lob_supervoxel_row_add(lob_supervoxel_row *row, const lob_cluster_share *share, int32_t y,
                            int32_t z);

/*
 * Write the nearest cluster's number plus 1 over the data of row (y, z).
 *
 *   labels  in/out  of row (y, z), nx; may be the scene's
 */
void lob_supervoxel_row_label(lob_supervoxel_row *row, int32_t *labels, int32_t y, int32_t z);

#endif
