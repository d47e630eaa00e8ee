/* Memory and progress of a job's steps, and the steps that several stages take. */
#include "kernels/arrays.h"
#include "kernels/segment/segment_job.h"

#include <stdlib.h>

/* ---- memory ---- */

static int64_t bytes_of(const lob_volume *grid, lob_type type, int channels)
{
    return lob_product(lob_dims_voxels(grid->dims), channels, (int64_t)lob_type_of(type)->bytes, 1);
}

static lob_status hold(lob_segment_job *j, const lob_volume *grid, lob_type type, int channels,
                       lob_error *error)
{
    const int64_t bytes = bytes_of(grid, type, channels);
    return lob_budget_hold(&j->budget, bytes < 0 ? INT64_MAX : bytes, error);
}

lob_status lob_segment_make(lob_segment_job *j, lob_volume *out, const lob_volume *grid,
                            lob_type type, int channels, lob_error *error)
{
    *out = lob_volume_empty();
    LOB_TRY(hold(j, grid, type, channels, error));
    const lob_status st = lob_volume_at(out, grid, type, channels, j->context, error);
    if (st != LOB_OK) lob_budget_release(&j->budget, bytes_of(grid, type, channels));
    return st;
}

lob_status lob_segment_make_here(lob_segment_job *j, lob_volume *out, const lob_volume *grid,
                                 const char *what, lob_error *error)
{
    LOB_TRY(hold(j, grid, LOB_U8, 1, error));
    if (lob_volume_like(out, grid, LOB_U8, 1) == LOB_OK) return LOB_OK;
    lob_budget_release(&j->budget, bytes_of(grid, LOB_U8, 1));
    return lob_fail(error, LOB_ENOMEM, "no memory left for %s", what);
}

lob_status lob_segment_make_strokes(lob_segment_job *j, lob_volume *out, const lob_volume *grid,
                                    lob_error *error)
{
    if (!j->zeros) return lob_segment_make_here(j, out, grid, "strokes", error);
    if (lob_segment_zeros_take(j->zeros, out, grid) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    const lob_status st = lob_segment_zeros_hold(out) ? LOB_OK : hold(j, grid, LOB_U8, 1, error);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}

void lob_segment_drop(lob_segment_job *j, lob_volume *volume)
{
    if (volume->data && !volume->borrowed && !lob_segment_zeros_hold(volume))
        lob_budget_release(&j->budget, bytes_of(volume, volume->type, volume->channels));
    lob_volume_free(volume);
}

/* A volume without its header, whose voxels stay those of the other. */
static lob_volume view_of(const lob_volume *volume)
{
    lob_volume view = lob_segment_grid(volume->dims, &volume->geometry);
    view.data = volume->data;
    view.place = volume->place;
    view.type = volume->type;
    view.channels = volume->channels;
    view.slope = volume->slope;
    view.inter = volume->inter;
    view.borrowed = true;
    return view;
}

lob_status lob_segment_here(lob_segment_job *j, lob_volume *out, const lob_volume *volume,
                            lob_error *error)
{
    const lob_place here = lob_context_place(j->context);
    const lob_volume view = view_of(volume);
    *out = view;
    if (lob_place_same(volume->place, here)) return LOB_OK;
    *out = lob_volume_empty();
    LOB_TRY(hold(j, volume, volume->type, volume->channels, error));
    const lob_status st = lob_volume_move(out, &view, here, j->context, error);
    if (st != LOB_OK)
        lob_budget_release(&j->budget, bytes_of(volume, volume->type, volume->channels));
    return st;
}

lob_status lob_segment_copy(lob_segment_job *j, lob_volume *out, const lob_volume *volume,
                            lob_place to, lob_error *error)
{
    LOB_TRY(hold(j, volume, volume->type, volume->channels, error));
    const lob_status st = lob_volume_move(out, volume, to, j->context, error);
    if (st != LOB_OK)
        lob_budget_release(&j->budget, bytes_of(volume, volume->type, volume->channels));
    return st;
}

static int report(void *user, double done)
{
    const lob_segment_turn *const turn = user;
    return turn->outer->progress(turn->outer->user, turn->from + (turn->to - turn->from) * done);
}

const lob_context *lob_segment_begin(lob_segment_job *j, lob_segment_turn *turn, double share)
{
    *turn = (lob_segment_turn){.context = lob_budget_inner(&j->budget, j->context),
                               .outer = j->context,
                               .from = j->done,
                               .to = j->done + share};
    j->done = turn->to = turn->to < 1 ? turn->to : 1;
    if (turn->context.progress) {
        turn->context.progress = report;
        turn->context.user = turn;
    }
    return &turn->context;
}

/* ---- steps ---- */

lob_volume lob_segment_grid(lob_dims dims, const lob_geometry *geometry)
{
    lob_volume grid = lob_volume_empty();
    grid.dims = dims;
    grid.geometry = *geometry;
    return grid;
}

lob_volume lob_segment_box_grid(const lob_geometry *geometry, const lob_box *box)
{
    const lob_geometry part = lob_box_geometry(geometry, box);
    return lob_segment_grid(lob_box_dims(box), &part);
}

lob_status lob_segment_onto(lob_segment_job *j, lob_volume *out, const lob_volume *volume,
                            const lob_volume *grid, lob_resample_method method, double share,
                            lob_error *error)
{
    const lob_resample_input in = {.volume = volume,
                                   .dims = grid->dims,
                                   .geometry = grid->geometry,
                                   .place = lob_context_place(j->context)};
    const lob_resample_options options = {.method = method};
    lob_segment_turn turn;
    LOB_TRY(lob_segment_make(j, out, grid, volume->type, volume->channels, error));
    out->slope = volume->slope;
    out->inter = volume->inter;
    const lob_status st =
        j->backend->resample(out->data, &in, &options, lob_segment_begin(j, &turn, share), error);
    if (st != LOB_OK) lob_segment_drop(j, out);
    return st;
}

lob_status lob_segment_filter(lob_segment_job *j, lob_volume *out, const lob_volume *image,
                              const lob_filter_step *steps, int count, double share,
                              lob_error *error)
{
    const lob_filter_input in = {.image = image,
                                 .steps = steps,
                                 .step_count = count,
                                 .place = lob_context_place(j->context)};
    lob_filter_options options = lob_filter_defaults();
    lob_filter_output found = {.data = NULL};
    lob_segment_turn turn;
    lob_type type;
    int channels;
    options.edge = LOB_EDGE_NEAREST;
    LOB_TRY(lob_filter_result(&type, &channels, &in, &options, error));
    LOB_TRY(hold(j, image, type, channels, error));
    lob_status st =
        j->backend->filter(&found, &in, &options, lob_segment_begin(j, &turn, share), error);
    const lob_volume grid = lob_segment_grid(image->dims, &image->geometry);
    if (st == LOB_OK &&
        lob_volume_adopt_at(out, &grid, &found.data, type, channels, found.device) != LOB_OK)
        st = lob_fail(error, LOB_ENOMEM, "no memory left for a filtered volume");
    lob_filter_output_free(&found);
    if (st != LOB_OK) lob_budget_release(&j->budget, bytes_of(image, type, channels));
    return st;
}

lob_status lob_segment_recode(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                              int32_t count, const int32_t *values, int32_t drop, lob_error *error)
{
    const lob_labels_rule rule = {.first = drop, .last = drop};
    const lob_labels_step step = {
        .kind = LOB_LABELS_RECODE, .rules = &rule, .rule_count = drop > 0, .rest = LOB_LABELS_SAME};
    return lob_segment_relabel(j, out, labels, count, values, &step, error);
}

lob_status lob_segment_relabel(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                               int32_t count, const int32_t *values, const lob_labels_step *step,
                               lob_error *error)
{
    const lob_labels_input in = {
        .labels = labels->data,
        .type = labels->type,
        .count = count,
        .values = values,
        .dims = labels->dims,
        .spacing_mm = {1, 1, 1},
        .steps = step,
        .step_count = 1,
        .place = labels->place,
    };
    const lob_labels_options options = lob_labels_defaults();
    lob_labels_output found = {.labels = NULL};
    lob_segment_turn turn;
    LOB_TRY(j->backend->labels(&found, &in, &options, lob_segment_begin(j, &turn, 0.01), error));
    lob_status st = hold(j, labels, found.type, 1, error);
    if (st == LOB_OK &&
        lob_volume_adopt_at(out, labels, &found.labels, found.type, 1, found.device) != LOB_OK) {
        lob_budget_release(&j->budget, bytes_of(labels, found.type, 1));
        st = lob_fail(error, LOB_ENOMEM, "no memory left for labels");
    }
    lob_labels_output_free(&found);
    return st;
}
