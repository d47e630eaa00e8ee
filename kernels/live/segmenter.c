/* A segmenter: one job of segment, whose images stay while strokes come and go. */
#include "kernels/live/segmenter.h"

#include "kernels/device/device.h"
#include "kernels/segment/segment_job.h"
#include "volumes/bytes.h"

#include <stdlib.h>
#include <string.h>

struct lob_segmenter {
    lob_segment_options options;
    lob_segment_input in;
    lob_segment_plan plan;
    lob_segment_job job;
    lob_segment_zeros zeros; /* that its strokes lie in */
    /* the strokes that the job has, with which it may have come to its first growth; empty: none.
     * Until others come */
    lob_segment_part seen;
    lob_segment_within within; /* as far as has been told */
    bool others;               /* told since then: strokes may be others than those seen */
    lob_box given;             /* of the last final answer; sizes of 0: there was none */
};

/* ---- strokes ---- */

/* What the job counts of a part; memory that stays is counted already. */
static int64_t counted_of(const lob_segment_part *part)
{
    const lob_volume *const voxels = &part->voxels;
    return voxels->data && !lob_segment_zeros_hold(voxels) ? lob_volume_bytes(voxels) : 0;
}

static bool has_seen(const lob_segmenter *s, const lob_segment_part *now)
{
    const lob_volume *const seen = &s->seen.voxels, *const part = &now->voxels;
    const lob_label_set *const set = &now->set;
    return seen->data && memcmp(&now->at, &s->seen.at, sizeof now->at) == 0 &&
           set->count == s->seen.set.count &&
           memcmp(set->values, s->seen.set.values, (size_t)set->count * sizeof *set->values) == 0 &&
           memcmp(set->voxels, s->seen.set.voxels, (size_t)set->count * sizeof *set->voxels) == 0 &&
           memcmp(part->data, seen->data, (size_t)lob_volume_bytes(seen)) == 0;
}

static void forget(lob_segmenter *s)
{
    lob_budget_release(&s->job.budget, counted_of(&s->seen));
    lob_segment_part_free(&s->seen);
    lob_segment_drop_strokes(&s->job);
    if (!s->job.zeros) lob_segment_zeros_drop(&s->zeros);
}

/* ---- the job ---- */

/* Drop the images that do not fit a plan. */
static void keep_images_of(lob_segmenter *s, const lob_segment_plan *plan)
{
    const lob_segment_plan *const had = &s->plan;
    lob_segment_job *const j = &s->job;
    if (memcmp(&plan->box, &had->box, sizeof had->box) != 0) lob_segment_drop_images(j);
    if (memcmp(plan->median, had->median, sizeof had->median) != 0) lob_segment_drop(j, &j->view);
    if (memcmp(plan->factor, had->factor, sizeof had->factor) != 0) lob_segment_drop(j, &j->coarse);
}

/* Choose for other strokes; what does not fit any longer is dropped. */
static lob_status choose(lob_segmenter *s, lob_segment_part *now, const lob_context *context,
                         lob_error *error)
{
    lob_segment_plan plan;
    forget(s);
    LOB_TRY(lob_segment_choose_part(&plan, &s->in, now, &s->options, context, error));
    LOB_TRY(lob_segment_check(&s->in, &plan, error));
    keep_images_of(s, &plan);
    s->plan = plan;
    return LOB_OK;
}

/* Let the image stay on the GPU where it takes little of what is free there, as with each wider box
 * it would have to come again. */
static void keep_image(lob_segmenter *s, const lob_context *context)
{
    const lob_volume *const image = s->in.image;
    const int64_t bytes = lob_volume_bytes(image);
    if (!context->device || image->place.kind != LOB_PLACE_MEMORY || s->job.whole.data) return;
    if (context->max_memory || bytes > lob_device_free_bytes(context->device) / 16) return;
    (void)lob_segment_here(&s->job, &s->job.whole, image, NULL);
}

/* Other strokes may have come: what looks at all of them takes long enough to stop between. */
static bool is_stopped(const lob_context *context)
{
    return context->progress && context->progress(context->user, 0);
}

/* Come to where growth begins. */
static lob_status prepare(lob_segmenter *s, lob_segment_part *now, const lob_context *context,
                          lob_error *error)
{
    if (is_stopped(context)) return LOB_ECANCEL;
    LOB_TRY(choose(s, now, context, error));
    if (is_stopped(context)) return LOB_ECANCEL;
    LOB_TRY(lob_segment_take_strokes(&s->job, now, error));
    keep_image(s, context);
    return lob_segment_box_make(&s->job, error);
}

/* Let memory for strokes stay, unless it is to be spared. */
static void keep_zeros(lob_segmenter *s, const lob_context *context)
{
    s->zeros.threads = context->threads;
    s->job.zeros = context->max_memory ? NULL : &s->zeros;
    if (context->max_memory) lob_segment_zeros_drop(&s->zeros);
}

static lob_status check_box(const lob_segmenter *s, const lob_segment_input *in, const lob_box *box,
                            lob_error *error)
{
    if (in->image != s->in.image) return lob_fail(error, LOB_EARG, "the image is another one");
    LOB_TRY(lob_same_grid(in->image, "the image", in->strokes, "the strokes", error));
    const lob_box whole = lob_box_whole(in->image->dims);
    if (!lob_box_lies_in(box, &whole))
        return lob_fail(error, LOB_EARG, "the box of changes reaches beyond the grid");
    return LOB_OK;
}

/* Strokes may have changed in a box; NULL, and after a failure: anywhere. */
static lob_status take_box(lob_segmenter *s, const lob_segment_input *in, const lob_box *box,
                           lob_error *error)
{
    const lob_box whole = lob_box_whole(s->in.image->dims);
    const lob_status st = check_box(s, in, box ? box : &whole, error);
    const lob_box *const told = st == LOB_OK && box ? box : &whole;
    lob_box_join(&s->within.box, told);
    if (s->within.slices) memset(s->within.slices + told->first[2], 1, (size_t)told->size[2]);
    s->others = s->others || (told->size[0] > 0 && told->size[1] > 0 && told->size[2] > 0);
    return st;
}

/* What was cut out is where strokes are. */
static void keep_within(lob_segmenter *s, const lob_segment_part *now)
{
    uint8_t *const slices = s->within.slices;
    s->within.box = now->strokes;
    if (!slices) return;
    memset(slices, now->counts.across == NULL, (size_t)s->in.image->dims.nz);
    for (int64_t z = 0; z < now->counts.dims.nz; z++)
        slices[now->at.first[2] + z] = lob_strokes_labels_in(&now->counts, 2, z) > 0;
}

/* The same, if the job is not there already. What it has seen is kept once it is. */
static lob_status begin(lob_segmenter *s, const lob_segment_input *in, const lob_box *box,
                        const lob_context *context, lob_error *error)
{
    lob_segment_job *const j = &s->job;
    lob_segment_part now;
    LOB_TRY(take_box(s, in, box, error));
    s->in = *in;
    j->context = context;
    j->done = 0;
    j->budget.limit = context->max_memory;
    j->budget.peak = j->budget.held;
    if (s->seen.voxels.data && !s->others) return lob_segment_check(in, &s->plan, error);
    keep_zeros(s, context);
    LOB_TRY(lob_segment_cut(&now, in->strokes, &s->within, j->zeros, context, error));
    keep_within(s, &now);
    const int64_t held = counted_of(&now);
    const bool seen = has_seen(s, &now);
    lob_status st = lob_budget_hold(&j->budget, held, error);
    const bool counted = st == LOB_OK;
    if (counted)
        st = seen ? lob_segment_check(in, &s->plan, error) : prepare(s, &now, context, error);
    s->others = s->others && st != LOB_OK;
    if (st == LOB_OK && !seen) {
        s->seen = now;
        return LOB_OK;
    }
    if (counted) lob_budget_release(&j->budget, held);
    lob_segment_part_free(&now);
    return st;
}

/* A job that has not come to the end of its first growth is given its strokes again. */
static lob_status end(lob_segmenter *s, lob_status st, lob_error *error)
{
    const bool begun = s->seen.voxels.data && (s->plan.passes == 1 || s->job.first.data);
    if (st != LOB_OK && !begun) forget(s);
    return lob_error_end(error, st);
}

/* ---- the calls ---- */

lob_status lob_segmenter_open(lob_segmenter **segmenter, const lob_backend *backend,
                              const lob_volume *image, const lob_segment_options *options,
                              lob_error *error)
{
    const lob_context none = {.threads = 1};
    lob_error_begin(error);
    lob_segmenter *const s = *segmenter = calloc(1, sizeof *s);
    if (!s) return lob_error_end(error, LOB_ENOMEM);
    s->options = *options;
    s->in.image = image;
    s->seen.voxels = lob_volume_empty();
    s->within.box = lob_box_whole(image->dims);
    s->within.slices = malloc((size_t)image->dims.nz); /* NULL: it takes longer */
    if (s->within.slices) memset(s->within.slices, 1, (size_t)image->dims.nz);
    s->job = lob_segment_job_of(&s->in, &s->plan, backend, &none);
    s->zeros.budget = &s->job.budget;
    return LOB_OK;
}

lob_status lob_segmenter_preview(lob_segmenter *s, lob_volume *labels, const lob_volume *strokes,
                                 const lob_box *box, const lob_context *context, lob_error *error)
{
    const lob_segment_input in = {.image = s->in.image, .strokes = strokes};
    *labels = lob_volume_empty();
    lob_error_begin(error);
    lob_status st = begin(s, &in, box, context, error);
    if (st == LOB_OK && s->plan.passes > 1) st = lob_segment_preview(&s->job, labels, error);
    if (st != LOB_OK) lob_volume_free(labels);
    return end(s, st, error);
}

lob_status lob_segmenter_finish(lob_segmenter *s, lob_segment_output *out, lob_segment_plan *plan,
                                lob_box *changed, const lob_segment_input *in, const lob_box *box,
                                const lob_context *context, lob_error *error)
{
    *out = lob_segment_output_empty();
    lob_error_begin(error);
    lob_status st = begin(s, in, box, context, error);
    if (st == LOB_OK) st = lob_segment_finish(&s->job, out, error);
    if (st == LOB_OK) {
        lob_box_join(&s->given, &s->plan.box);
        if (changed) *changed = s->given;
        if (plan) *plan = s->plan;
        s->given = s->plan.box;
    }
    return end(s, st, error);
}

void lob_segmenter_close(lob_segmenter *s)
{
    if (!s) return;
    forget(s);
    lob_segment_drop_images(&s->job);
    lob_segment_drop(&s->job, &s->job.whole);
    lob_segment_zeros_drop(&s->zeros);
    free(s->within.slices);
    free(s);
}
