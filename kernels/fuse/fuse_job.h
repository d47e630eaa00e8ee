/* What the files of a fusion share. This header is not installed. */
#ifndef LOB_FUSE_JOB_H
#define LOB_FUSE_JOB_H

#include "kernels/budget.h"
#include "kernels/fuse/fuse.h"

LOB_BEGIN_DECLS

enum {
    LOB_FUSE_NO_LABEL = 255,  /* of a voxel that is no candidate */
    LOB_FUSE_STEPS = 256,     /* of the table of weights, */
    LOB_FUSE_STEPS_EACH = 16, /* so many for a factor of e */
    LOB_FUSE_PERCENTILES = 2  /* between which brightness is told apart */
};

extern const double lob_fuse_percentiles[LOB_FUSE_PERCENTILES];

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
    lob_fuse_output *out;
    int64_t output; /* bytes; held, but no working memory */
    uint16_t weight[LOB_FUSE_STEPS];
    lob_dims dims;
    lob_fuse_frame frame;
    lob_label_set *set; /* of the output */
    lob_fuse_levels scan, atlas[LOB_FUSE_MAX_ATLASES];
    bool has[LOB_FUSE_MAX_ATLASES][LOB_FUSE_MAX_LABELS + 1]; /* by dense label */
    bool all_have;
} lob_fuse_job;

/* ---- fuse_cpu.c ---- */

/* Add a label of an atlas to the job's set, which has room for LOB_FUSE_MAX_LABELS; count is one
 * more where there are more. */
void lob_fuse_add_label(lob_fuse_job *j, int32_t label);

/* With all labels known: is their number possible? Hold memory for the output. */
lob_status lob_fuse_hold_output(lob_fuse_job *j, lob_error *error);

/* The job on its context's GPU, from finding labels on. */
lob_status lob_fuse_on_cuda(lob_fuse_job *j, lob_error *error);

/* ---- fuse_levels.c ---- */

/* What a failure of finding percentiles is: st, with whose values are missing. atlas: its number,
 * from 1; 0: the scan. */
lob_status lob_fuse_no_value(lob_status st, int atlas, lob_error *error);

/* Where voxels lie in the job's frame. */
lob_status lob_fuse_frame_make(lob_fuse_job *j, lob_error *error);

/* The frame of the job's grid, and levels, sums and labels of all volumes. */
lob_status lob_fuse_levels_make(lob_fuse_job *j, lob_error *error);
void lob_fuse_levels_free(lob_fuse_job *j);

LOB_END_DECLS

#endif
