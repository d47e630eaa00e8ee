/*
 * A call of refine on either backend. refine_steps.c does the steps, by filters and components of
 * the backend and by loops over voxels (refine_voxel.h), which refine_cpu.c and refine_cuda.cu run.
 * This header is not installed.
 */
#ifndef LOB_REFINE_JOB_H
#define LOB_REFINE_JOB_H

#include "kernels/budget.h"
#include "kernels/components/components.h"
#include "kernels/distance/distance.h"
#include "kernels/filters/filter_stages.h"
#include "kernels/refine/refine.h"
#include "kernels/refine/refine_voxel.h"
#include "volumes/crop.h"

LOB_BEGIN_DECLS

typedef struct lob_refine_job lob_refine_job;

typedef struct {
    __typeof__(lob_filter_cpu_tuned) *filter;
    __typeof__(lob_components_cpu) *components;
    __typeof__(lob_distance_cpu) *distance;

    /* Run a loop over n voxels (or pieces) of j->a, and add what it counts to j->sums. */
    lob_status (*loop)(lob_refine_job *j, lob_refine_loop loop, int64_t n);
    /* Have j->sums complete. */
    lob_status (*sum_up)(lob_refine_job *j);
    /* The boxes of labels 1..labels into j->boxes; labels 0: one box, of all but the background and
     * of strokes of these. Sizes of 0 where there are none. */
    lob_status (*find_boxes)(lob_refine_job *j, int32_t labels);
    /* Take the label in a box of a grid where it has more than any before: lob_refine_larger. */
    lob_status (*take_larger)(lob_refine_job *j, lob_dims dims, const lob_box *box);
    /* Copy the rows of a box out of an array of channels on a grid, or back into it. */
    lob_status (*cut)(lob_refine_job *j, void *part, void *whole, lob_type type, int channels,
                      lob_dims dims, const lob_box *box, bool back);
} lob_refine_operations;

/* Arrays that a job owns, at the backend's place. */
typedef enum {
    LOB_REFINE_IMAGE, /* of the part, as the next two */
    LOB_REFINE_SEEDS,
    LOB_REFINE_LABELS,
    LOB_REFINE_MASK,
    LOB_REFINE_BEST,
    LOB_REFINE_TAKEN,
    LOB_REFINE_VALUE,
    LOB_REFINE_FINITE,
    LOB_REFINE_MEAN,
    LOB_REFINE_PARTS,
    LOB_REFINE_SMOOTH, /* what a Gaussian gave last */
    LOB_REFINE_PIECES,
    LOB_REFINE_FLAGS,
    LOB_REFINE_BOX_LABELS, /* of a label's box, as the next ones */
    LOB_REFINE_BOX_SEEDS,
    LOB_REFINE_BOX_VALUE,
    LOB_REFINE_BOX_FINITE,
    LOB_REFINE_BOX_MEAN,
    LOB_REFINE_AROUND, /* as many as there are parts */
    LOB_REFINE_OWNED = LOB_REFINE_AROUND + LOB_REFINE_MAX_CHANNELS + 1
} lob_refine_owned;

struct lob_refine_job {
    const lob_refine_operations *operations;
    const lob_refine_input *in; /* its arrays are at the backend's place */
    const lob_refine_options *options;
    const lob_context *context;
    lob_error *error;
    lob_device *device; /* NULL on the CPU */
    void *backend;      /* what the operations need beside */
    bool bounded;       /* all values of the image are finite, and far from overflow */

    lob_budget budget;
    struct {
        void *data;
        int64_t bytes;
    } owned[LOB_REFINE_OWNED];
    /* In ordinary memory these lie in blocks, which stay: fresh pages are cleared by the system
     * first, which takes longer than most loops. The first one is lent. */
    struct lob_refine_block {
        unsigned char *data;
        int64_t bytes;
    } block[1 + LOB_REFINE_OWNED];
    lob_box *boxes;   /* of labels, on the grid that is worked on */
    bool in_part;     /* a part was worked on alone */
    lob_volume image; /* on the grid that is worked on */
    lob_refine_arrays a;
    int64_t sums[LOB_REFINE_LOOP_COUNT];
};

/* The CPU's. */
extern const lob_refine_operations lob_refine_on_cpu;

/* The first voxel from `first` on, before `end`, that has this label; end: none has. */
int64_t lob_refine_find(const void *labels, lob_type type, int64_t first, int64_t end,
                        int32_t label);

/* An array of n items, in place of what was there. */
lob_status lob_refine_take(lob_refine_job *j, lob_refine_owned which, int64_t n, size_t size);

/* Give it up; where there is none, nothing. */
void lob_refine_drop(lob_refine_job *j, lob_refine_owned which);

/* Free blocks that nothing lies in. */
void lob_refine_trim(lob_refine_job *j);

/* Free all that is owned. */
void lob_refine_free(lob_refine_job *j);

/* Returns LOB_OK or LOB_EARG. */
lob_status lob_refine_check(const lob_refine_input *in, const lob_refine_options *options,
                            lob_error *error);

/* Fill the cores of walls, and cut walls to their width; labels are of the grid that is worked on.
 */
lob_status lob_refine_walls(lob_refine_job *j);

/* End labels where they fade; the image is there. cleared: voxels that became background. */
lob_status lob_refine_fade(lob_refine_job *j, int64_t *cleared);

/* Refine: operations, in, options, context, error, device and backend are set, the rest is 0, and
 * the input has been checked. */
lob_status lob_refine_run(lob_refine_job *j, void *out, lob_refine_stats *stats);

LOB_END_DECLS

#endif
