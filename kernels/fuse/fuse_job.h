/* What the files of a fusion share. This header is not installed. */
#ifndef LOB_FUSE_JOB_H
#define LOB_FUSE_JOB_H

#include "kernels/budget.h"
#include "kernels/fuse/fuse.h"

LOB_BEGIN_DECLS

enum {
    LOB_FUSE_NO_LABEL = 255,                   /* of a voxel that is no candidate */
    LOB_FUSE_STEPS = 256,                      /* of the table of weights, */
    LOB_FUSE_STEPS_EACH = 16,                  /* so many for a factor of e */
    LOB_FUSE_PERCENTILES = 2,                  /* between which brightness is told apart */
    LOB_FUSE_UNSEEN = LOB_FUSE_MAX_LABELS + 1, /* among counts of voxels, after those of labels */
    LOB_FUSE_COUNTS
};

extern const double lob_fuse_percentiles[LOB_FUSE_PERCENTILES];

/* Voxels of a grid with a margin all around, so that patches and searches need not look where it
 * ends. */
typedef struct {
    int64_t margin, row, plane, count; /* voxels: of a row, of a plane, of all */
    int64_t first;                     /* where voxel (0, 0, 0) lies */
} lob_fuse_frame;

/* An image in levels. */
typedef struct {
    uint8_t *level; /* frame.count; NULL: for a majority */
    uint8_t *label; /* frame.count: dense, or LOB_FUSE_NO_LABEL; NULL: of the scan */
} lob_fuse_levels;

/* How values become levels. */
typedef struct {
    double low, per_unit;
} lob_fuse_scale;

/* What a frame is filled from. */
typedef struct {
    lob_fuse_levels to;
    const void *values, *labels; /* NULL: none */
    lob_type values_type, labels_type;
    double slope, inter;
    lob_fuse_scale scale;
} lob_fuse_filling;

/* What votes are counted from, and where they go. */
typedef struct {
    lob_fuse_levels scan, atlas[LOB_FUSE_MAX_ATLASES];
    uint64_t has[LOB_FUSE_MAX_ATLASES]; /* bits of dense labels from 1 */
    uint16_t weight[LOB_FUSE_STEPS];
    int32_t value[LOB_FUSE_MAX_LABELS]; /* of dense labels from 1, ascending */
    lob_fuse_frame frame;
    lob_dims dims;
    void *labels;
    lob_type type; /* of labels */
    uint16_t *shares;
    int64_t voxels;
    int atlases, count, search, patch; /* count: of labels */
    float floor;                       /* of whole patches */
    bool majority;
} lob_fuse_votes;

typedef struct lob_fuse_loops lob_fuse_loops;

typedef struct {
    const lob_fuse_input *in;
    const lob_fuse_options *options;
    const lob_context *context;
    const lob_fuse_loops *loops;
    lob_budget budget;
    lob_fuse_output *out;
    int64_t output;     /* bytes; held, but no working memory */
    lob_label_set *set; /* of the output */
    lob_fuse_votes votes;
} lob_fuse_job;

/* What takes long, for the CPU and for CUDA. */
struct lob_fuse_loops {
    /* Add the labels of an atlas to the job's set: lob_fuse_add_label. */
    lob_status (*labels)(lob_fuse_job *j, const lob_volume *labels, lob_error *error);
    /* Fill a frame from volumes, either of which may be NULL, with the scale of the image. has: the
     * labels that are there. LOB_EDATA: the image has no finite value. */
    lob_status (*fill)(uint64_t *has, lob_fuse_job *j, lob_fuse_filling *filling,
                       const lob_volume *image, const lob_volume *labels, lob_error *error);
    /* Labels and shares, where the scan is. count: in ordinary memory, 0 before. */
    lob_status (*vote)(int64_t count[LOB_FUSE_COUNTS], lob_fuse_job *j, lob_error *error);
};

extern const lob_fuse_loops lob_fuse_on_cuda;

/* Add a label to a set with room for LOB_FUSE_MAX_LABELS; count is one more where there are more.
 */
void lob_fuse_add_label(lob_label_set *set, int32_t label);

LOB_END_DECLS

#endif
