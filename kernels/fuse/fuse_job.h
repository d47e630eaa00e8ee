/* What the files of a fusion share. This header is not installed. */
#ifndef LOB_FUSE_JOB_H
#define LOB_FUSE_JOB_H

#include "kernels/budget.h"
#include "kernels/fuse/fuse.h"

LOB_BEGIN_DECLS

enum { LOB_FUSE_NO_LABEL = 255 }; /* of a voxel that is no candidate */

/* Voxels of a grid with a margin all around, so that patches and searches need not look where it
 * ends. */
typedef struct {
    int64_t margin, row, plane, count; /* voxels: of a row, of a plane, of all */
    int64_t first;                     /* where voxel (0, 0, 0) lies */
} lob_fuse_frame;

/* An image in levels, with the sum of each voxel's patch. */
typedef struct {
    uint8_t *level; /* frame.count */
    uint16_t *sum;  /* frame.count; at most 125 * 255; unspecified in the margin */
    uint8_t *label; /* frame.count: dense, or LOB_FUSE_NO_LABEL; NULL: of the scan */
} lob_fuse_levels;

typedef struct {
    const lob_fuse_input *in;
    const lob_fuse_options *options;
    const lob_context *context;
    lob_budget budget;
    lob_dims dims;
    lob_fuse_frame frame;
    lob_label_set *set;
    lob_fuse_levels scan, atlas[LOB_FUSE_MAX_ATLASES];
    bool has[LOB_FUSE_MAX_ATLASES][LOB_FUSE_MAX_LABELS + 1]; /* by dense label */
    bool all_have;
} lob_fuse_job;

/* ---- fuse_levels.c ---- */

/* The frame of the job's grid, and levels, sums and labels of all volumes. */
lob_status lob_fuse_levels_make(lob_fuse_job *j, lob_error *error);
void lob_fuse_levels_free(lob_fuse_job *j);

LOB_END_DECLS

#endif
