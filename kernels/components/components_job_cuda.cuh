/* What the stages of components on the device hand to each other. */
#ifndef LOB_COMPONENTS_JOB_CUDA_CUH
#define LOB_COMPONENTS_JOB_CUDA_CUH

#include "kernels/components/components_cuda.h"
#include "kernels/components/components_select.h"
#include "kernels/components/join/runs_cuda.cuh"

/* A call. */
typedef struct {
    lob_device *device;
    const lob_components_input *in;
    const lob_components_options *options;
    const lob_components_arrays *arrays;
    const lob_context *context;
    lob_component_rule rule;
    runs r;
    int64_t budget;                         /* bytes of working memory that are allowed and free */
    int64_t held[LOB_DEVICE_BLOCKS], bytes; /* of each block, output left out; in all, at most */
    wide *counts;                           /* device: foreground, not finite */
    int64_t piece_bytes; /* asked for besides, for each piece: found is not known before */
    void *of_pieces;     /* device: pieces + 1 of them */
    uint32_t *spare;     /* device: to write over between making bits and writing labels */
    int64_t spare_words; /* in it */
    void *scan;          /* device: working memory of scans */
    size_t scan_bytes;
    int64_t found; /* components */
    double done;
} joining;

/* Lay out what joining the neighbours of a grid takes; nothing is allocated. */
lob_status lob_joining_plan(joining *j, lob_dims dims, int neighbours, int slice_axis,
                            bool directed, lob_error *error);

/* Working memory for it, and where in it everything lies. */
lob_status lob_joining_allocate(joining *j, lob_error *error);

/* The bits of an image in device memory, and the foreground's count. */
lob_status lob_joining_classify(joining *j, lob_error *error);

/* Join: afterwards found is known and parent holds a component's number for every piece. */
lob_status lob_joining_join(joining *j, lob_error *error);

/* Foreground is what has no label in an array in device memory; takes the place of classify. */
lob_status lob_joining_unlabelled(joining *j, const void *labels, lob_type type, lob_error *error);

/* The voxels of each component, in device memory (found). */
lob_status lob_joining_sizes(joining *j, wide *sizes, lob_error *error);

/* The index of the first voxel of each component, in device memory (found). */
lob_status lob_joining_members(joining *j, wide *member, lob_error *error);

/*
 * Write labels.
 *
 *   label  in  device; found: of each component; NULL: its number
 *   over   in  write these alone, over labels that are there; otherwise all that is not a
 *              component's or has label 0 becomes 0
 */
lob_status lob_joining_paint(joining *j, void *labels, lob_type type, const uint32_t *label,
                             bool over, lob_error *error);

/*
 * Measure the components from their runs: those that were joined last.
 *
 *   result    in/out  count is how many rows there are; regions and values, of the device's
 *                     LOB_DEVICE_LISTS, and fine are set
 *   label     in      as above
 *   measured  out     false where there is no memory for it: nothing has been done
 */
lob_status lob_joining_measure(joining *j, lob_components_output *result, const uint32_t *label,
                               bool *measured, lob_error *error);

/* Give holes in labels, in device memory, the label around them. */
lob_status lob_holes_fill(joining *j, void *labels, lob_type type, lob_error *error);

/* Memory of a block within the budget: what is held of the other blocks counts too. */
lob_status lob_joining_block(joining *j, lob_device_block block, int64_t bytes, void **memory,
                             lob_error *error);

/* What working memory comes to in all with so many bytes of a block. */
int64_t lob_joining_bytes_with(const joining *j, lob_device_block block, int64_t bytes);

/* Note that so many bytes of a block are held, which do not become fewer. */
void lob_joining_hold(joining *j, lob_device_block block, int64_t bytes);

/* Memory that depends on what was found: the part of it that is handed out next. */
static inline void *lob_take(unsigned char **at, int64_t bytes)
{
    unsigned char *here = *at;
    *at += (bytes + 255) / 256 * 256;
    return here;
}

/*
 * How runs lie in rows, where it does not matter which are joined: f is called with a kind that
 * says so.
 */
template <typename F> static inline lob_status lob_with_lines(const runs &r, const F &f)
{
    const int rows = r.by * 2 + r.bz;
    if (r.directed) return f(kind<3, 1, 1, true, 5>());
    if (rows == 3) return f(kind<3, 1, 1, false, 5>());
    if (rows == 4) return f(kind<3, 1, 2, false, 5>());
    if (rows == 5) return f(kind<3, 2, 1, false, 5>());
    return f(kind<3, 2, 2, false, 5>());
}

/* Tell the caller how far it is; LOB_ECANCEL when he wants no more. */
static inline lob_status lob_joining_done(joining *j, double done)
{
    const lob_context *context = j->context;
    if (done > j->done) j->done = done;
    return context->progress && context->progress(context->user, j->done) ? LOB_ECANCEL : LOB_OK;
}

#endif
