/* Supervoxels on the CPU, a few rows at a time: the nearest cluster of each voxel, and sums. */
#ifndef LOB_ASSIGN_ROWS_H
#define LOB_ASSIGN_ROWS_H

#include "kernels/supervoxels/supervoxels_plan.h"

/* What an iteration reads. */
typedef struct {
    const lob_supervoxels_plan *plan;
    const lob_volume *image;
    int32_t *labels;      /* the image's dims; not 0 where a voxel is data */
    const float *centres; /* clusters times lob_cluster_floats */
    const int32_t *boxes; /* clusters times 6 */
    int32_t z;            /* plane of the volume where image and labels begin, */
    int32_t layer;        /* and cell along z where centres and boxes do */
} lob_assign_params;

/* The cells of whole rows of cells, y..y+ny-1 in each of z..z+nz-1. They are numbered from 0 within
 * the block, x first. */
typedef struct {
    int32_t y, ny, z, nz;
} lob_cell_block;

/* The sums of a block's clusters. */
typedef struct {
    lob_cell_block block;
    int64_t *sums;  /* cells of the block times lob_cluster_sums */
    float *largest; /* slico: one per cell; else NULL */
} lob_block_sums;

enum { LOB_ASSIGN_ROWS = 4 };

/* The working memory of a thread. */
typedef struct lob_assign_rows lob_assign_rows;

/* NULL without memory. Free with free. */
lob_assign_rows *lob_assign_rows_make(const lob_assign_params *params);
int64_t lob_assign_rows_bytes(const lob_supervoxels_rule *rule);

/* How many rows are worth comparing with a cluster at once: up to LOB_ASSIGN_ROWS, within a cell.
 */
int32_t lob_assign_max_rows(const lob_supervoxels_rule *rule);

typedef enum {
    LOB_ASSIGN_START, /* iteration 0: add each voxel to the cluster of its cell */
    LOB_ASSIGN_ADD,   /* to its nearest; the block has all clusters that may be nearest */
    LOB_ASSIGN_LABEL  /* write the nearest cluster's number plus 1 over the labels of data */
} lob_assign_pass;

/* A pass over rows y..y+ny-1 of slice z, of which there are 1..lob_assign_max_rows. */
void lob_assign_rows_pass(lob_assign_rows *rows, lob_assign_pass what, const lob_block_sums *to,
                          int32_t y, int32_t ny, int32_t z);

#endif
