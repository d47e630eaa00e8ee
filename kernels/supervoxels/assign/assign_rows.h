/* Supervoxels on the CPU, some rows at a time: nearest clusters, and their sums. */
#ifndef LOB_SUPERVOXELS_ROWS_H
#define LOB_SUPERVOXELS_ROWS_H

#include "kernels/supervoxels/supervoxels_plan.h"

/* What an iteration reads. */
typedef struct {
    const lob_supervoxels_plan *plan;
    const lob_volume *image;
    const int32_t *labels; /* nx*ny*nz: not 0 where a voxel is data */
    const float *centres;  /* clusters times lob_cluster_floats */
    const int32_t *boxes;  /* clusters times 6 */
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

enum { LOB_SUPERVOXEL_ROWS = 4 };

/*
 * What a thread works in. All functions take rows y..y+ny-1 of slice z, 1..lob_supervoxel_rows_most
 * at a time.
 */
typedef struct lob_supervoxel_rows lob_supervoxel_rows;

/* NULL without memory. Free with free. */
lob_supervoxel_rows *lob_supervoxel_rows_make(const lob_supervoxel_scene *scene);
int64_t lob_supervoxel_rows_bytes(const lob_supervoxels_rule *rule);

/* How many rows a cluster is worth holding against at once: up to LOB_SUPERVOXEL_ROWS, a cell's. */
int32_t lob_supervoxel_rows_most(const lob_supervoxels_rule *rule);

/* Add rows to the clusters of their cells: iteration 0. */
void lob_supervoxel_rows_start(lob_supervoxel_rows *rows, const lob_cluster_share *share, int32_t y,
                               int32_t ny, int32_t z);

/* Add rows to their voxels' nearest clusters, all of which the share's block holds. */
void lob_supervoxel_rows_add(lob_supervoxel_rows *rows, const lob_cluster_share *share, int32_t y,
                             int32_t ny, int32_t z);

/*
 * Write the nearest cluster's number plus 1 over the data of rows.
 *
 *   labels  in/out  nx*ny*nz; may be the scene's
 */
void lob_supervoxel_rows_label(lob_supervoxel_rows *rows, int32_t *labels, int32_t y, int32_t ny,
                               int32_t z);

#endif
