/* The whole job: box, growths, what is told about them, and labels on the whole grid. */
#include "kernels/arrays.h"
#include "kernels/segment/segment_job.h"
#include "kernels/segment/segment_slices.h"

#include <stdlib.h>

lob_segment_output lob_segment_output_empty(void)
{
    const lob_volume none = lob_volume_empty();
    return (lob_segment_output){.labels = none, .strength = none, .uncertain = none};
}

void lob_segment_output_free(lob_segment_output *out)
{
    lob_volume_free(&out->labels);
    lob_volume_free(&out->strength);
    lob_volume_free(&out->uncertain);
    *out = lob_segment_output_empty();
}

/* ---- the whole grid ---- */

/* A volume of the box on the image's whole grid, both on the GPU. */
static lob_status lay_there(lob_segment_job *j, lob_volume *out, const lob_volume *part,
                            lob_error *error)
{
    const lob_volume *const image = j->in->image;
    const lob_resample_input in = {
        .volume = part, .dims = image->dims, .geometry = image->geometry, .place = image->place};
    const lob_resample_options options = {.method = LOB_RESAMPLE_NEAREST};
    lob_segment_turn turn;
    LOB_TRY(lob_volume_at(out, image, part->type, part->channels, j->context, error));
    return j->backend->resample(out->data, &in, &options, lob_segment_begin(j, &turn, 0.01), error);
}

/* The same in ordinary memory, to which the box's voxels may have to come. */
static lob_status lay_here(lob_segment_job *j, lob_volume *out, const lob_volume *part,
                           lob_error *error)
{
    lob_volume copy = lob_volume_empty();
    const bool away = part->place.kind != LOB_PLACE_MEMORY;
    if (lob_volume_like(out, j->in->image, part->type, part->channels) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "no memory left for labels");
    if (away) LOB_TRY(lob_volume_move(&copy, part, (lob_place){0}, j->context, error));
    lob_volume_put(out, away ? &copy : part, j->plan->box.first);
    lob_volume_free(&copy);
    return LOB_OK;
}

/* A volume of the box on the image's whole grid, where the image is; it is freed. */
static lob_status to_whole(lob_segment_job *j, lob_volume *out, lob_volume *part, lob_error *error)
{
    const bool here = j->in->image->place.kind == LOB_PLACE_MEMORY;
    const lob_status st = (here ? lay_here : lay_there)(j, out, part, error);
    lob_segment_drop(j, part);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}

/* Labels are called what their strokes are. */
static lob_status name_labels(const lob_segment_job *j, lob_volume *labels, lob_error *error)
{
    const lob_label_names *const from = &j->in->strokes->names;
    lob_label_names_free(&labels->names);
    for (int32_t i = 0; i < from->count; i++) {
        const lob_label_name *const row = &from->rows[i];
        bool there = false;
        for (int32_t k = 0; k < j->plan->count; k++)
            there = there || j->plan->labels[k] == row->label;
        if (!there || row->label == j->plan->background) continue;
        if (lob_label_names_put(&labels->names, row->label, row->name, &row->colour,
                                row->terminology) != LOB_OK)
            return lob_fail(error, LOB_ENOMEM, "no memory left for names");
    }
    return LOB_OK;
}

/* ---- slices ---- */

static lob_status suggest(lob_segment_job *j, lob_segment_output *out, const lob_volume *uncertain,
                          lob_error *error)
{
    const lob_volume *const drawn = &j->strokes;
    lob_strokes strokes;
    lob_volume labels;
    LOB_TRY(lob_strokes_count(&strokes, drawn->data, drawn->type, drawn->dims, j->plan->count,
                              j->context->threads, error));
    lob_status st = lob_volume_move(&labels, &j->labels, (lob_place){0}, j->context, error);
    if (st == LOB_OK)
        st = lob_segment_suggest(out->slices, &out->slice_count, j->in->suggest, &labels,
                                 j->background, &strokes, uncertain->data, j->plan->axis,
                                 j->context->threads);
    lob_volume_free(&labels);
    for (int i = 0; i < out->slice_count; i++)
        out->slices[i].slice += j->plan->box.first[j->plan->axis];
    lob_strokes_free(&strokes);
    return st == LOB_OK ? st : lob_fail(error, st, "no memory left for slices");
}

/* ---- the job ---- */

static lob_status look_again(lob_segment_job *j, lob_segment_output *out, lob_error *error)
{
    lob_volume uncertain = lob_volume_empty();
    if (!j->in->uncertain && j->in->suggest == 0) return LOB_OK;
    lob_status st = lob_segment_doubt(j, &uncertain, error);
    lob_segment_drop(j, &j->shares);
    if (st == LOB_OK && j->in->suggest > 0) st = suggest(j, out, &uncertain, error);
    if (st == LOB_OK) st = to_whole(j, &out->uncertain, &uncertain, error);
    lob_label_names_free(&out->uncertain.names);
    lob_segment_drop(j, &uncertain);
    return st;
}

lob_status lob_segment_give(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                            lob_error *error)
{
    lob_volume own = lob_volume_empty();
    lob_status st = lob_segment_recode(j, &own, labels, j->plan->count, j->plan->labels,
                                       j->plan->background, error);
    if (st == LOB_OK) st = to_whole(j, out, &own, error);
    if (st == LOB_OK) st = name_labels(j, out, error);
    lob_segment_drop(j, &own);
    return st;
}

static lob_status finish(lob_segment_job *j, lob_segment_output *out, lob_error *error)
{
    LOB_TRY(lob_segment_grow_last(j, error));
    LOB_TRY(look_again(j, out, error));
    if (j->in->strength) LOB_TRY(to_whole(j, &out->strength, &j->strength, error));
    LOB_TRY(lob_segment_give(j, &out->labels, &j->labels, error));
    const lob_context *const context = j->context;
    return context->progress && context->progress(context->user, 1) ? LOB_ECANCEL : LOB_OK;
}

lob_status lob_segment_finish(lob_segment_job *j, lob_segment_output *out, lob_error *error)
{
    *out = lob_segment_output_empty();
    const lob_status st = finish(j, out, error);
    out->working_bytes = j->budget.peak;
    lob_volume *const made[] = {&j->agreeing, &j->shares, &j->strength, &j->labels};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) lob_segment_drop(j, made[i]);
    if (st != LOB_OK) lob_segment_output_free(out);
    return st;
}

lob_status lob_segment_check(const lob_segment_input *in, const lob_segment_plan *plan,
                             lob_error *error)
{
    if (in->image->channels != plan->channels)
        return lob_fail(error, LOB_EARG, "the plan was made for an image of %d channels",
                        plan->channels);
    for (int a = 0; a < 3; a++)
        if (plan->box.first[a] < 0 || plan->box.size[a] < 1 ||
            plan->box.first[a] + plan->box.size[a] > lob_side(in->image->dims, a))
            return lob_fail(error, LOB_EARG, "the plan was made for another image");
    if (in->suggest < 0 || in->suggest > LOB_SEGMENT_MAX_SLICES)
        return lob_fail(error, LOB_EARG, "%d slices cannot be suggested, at most %d", in->suggest,
                        LOB_SEGMENT_MAX_SLICES);
    if (in->suggest > 0 && (plan->flat || plan->axis < 0))
        return lob_fail(error, LOB_EARG, "slices cannot be suggested in one slice");
    return lob_same_grid(in->image, "the image", in->strokes, "the strokes", error);
}

lob_segment_job lob_segment_job_of(const lob_segment_input *in, const lob_segment_plan *plan,
                                   const lob_backend *backend, const lob_context *context)
{
    const lob_volume none = lob_volume_empty();
    return (lob_segment_job){
        .in = in,
        .plan = plan,
        .backend = backend,
        .context = context,
        .budget = {.who = "segmenting", .limit = context->max_memory},
        .image = none,
        .view = none,
        .coarse = none,
        .strokes = none,
        .starts = none,
        .agreeing = none,
        .seeds = none,
        .drawn = none,
        .first = none,
        .shares = none,
        .labels = none,
        .strength = none,
    };
}

void lob_segment_drop_strokes(lob_segment_job *j)
{
    lob_volume *const volumes[] = {&j->strokes, &j->starts, &j->agreeing, &j->seeds,   &j->drawn,
                                   &j->first,   &j->shares, &j->labels,   &j->strength};
    for (size_t i = 0; i < sizeof volumes / sizeof volumes[0]; i++) lob_segment_drop(j, volumes[i]);
}

void lob_segment_drop_images(lob_segment_job *j)
{
    lob_segment_drop(j, &j->image);
    lob_segment_drop(j, &j->view);
    lob_segment_drop(j, &j->coarse);
}

lob_status lob_segment(lob_segment_output *out, const lob_segment_input *in,
                       const lob_segment_plan *plan, const lob_backend *backend,
                       const lob_context *context, lob_error *error)
{
    lob_segment_job j = lob_segment_job_of(in, plan, backend, context);
    *out = lob_segment_output_empty();
    lob_error_begin(error);
    LOB_TRY(lob_segment_check(in, plan, error));
    lob_status st = lob_segment_box_make(&j, error);
    if (st == LOB_OK) st = lob_segment_grow_first(&j, error);
    lob_segment_drop(&j, &j.coarse);
    if (st == LOB_OK) st = lob_segment_finish(&j, out, error);
    lob_segment_drop_strokes(&j);
    lob_segment_drop_images(&j);
    return lob_error_end(error, st);
}
