/* What the steps of cells.h share: memory, progress, and filters as they need them. */
#include "kernels/cells/cells_job.h"

#include "volumes/bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

lob_cells_job lob_cells_begin(const lob_backend *backend, const lob_context *caller,
                              lob_error *error)
{
    return (lob_cells_job){
        .backend = backend,
        .caller = caller,
        .error = error,
        .edge = LOB_EDGE_NEAREST,
        .budget = {.who = "cells", .limit = caller->max_memory},
    };
}

static int on_progress(void *user, double done)
{
    const lob_cells_job *const j = user;
    return j->caller->progress(j->caller->user, j->from + (j->to - j->from) * done);
}

lob_status lob_cells_step(lob_cells_job *j, double to)
{
    j->from = j->to;
    j->to = to;
    return j->caller->progress && on_progress(j, 0) ? LOB_ECANCEL : LOB_OK;
}

lob_context lob_cells_context(lob_cells_job *j)
{
    lob_context context = lob_budget_inner(&j->budget, j->caller);
    if (context.progress) {
        context.progress = on_progress;
        context.user = j;
    }
    return context;
}

/* ---- voxels ---- */

/* An image's grid alone. */
static lob_volume grid_of(const lob_volume *image, lob_type type)
{
    lob_volume v = lob_volume_empty();
    v.type = type;
    v.dims = image->dims;
    v.geometry = image->geometry;
    return v;
}

lob_status lob_cells_make(lob_cells_job *j, lob_volume *out, const lob_volume *image, lob_type type)
{
    const lob_volume grid = grid_of(image, type);
    *out = lob_volume_empty();
    LOB_TRY(lob_budget_hold(&j->budget, lob_volume_bytes(&grid), j->error));
    const lob_status st = lob_volume_at(out, &grid, type, 1, j->caller, j->error);
    if (st != LOB_OK) lob_budget_release(&j->budget, lob_volume_bytes(&grid));
    return st;
}

lob_status lob_cells_given(lob_cells_job *j, lob_volume *out, const lob_volume *image)
{
    const lob_place place = lob_context_place(j->caller);
    lob_volume given = *image;
    given.borrowed = true;
    given.release = NULL;
    given.header = (lob_header){.format = NULL};
    given.names = (lob_label_names){.rows = NULL};
    *out = given;
    if (lob_place_same(image->place, place)) return LOB_OK;
    *out = lob_volume_empty();
    LOB_TRY(lob_budget_hold(&j->budget, lob_volume_bytes(image), j->error));
    const lob_status st = lob_volume_move(out, &given, place, j->caller, j->error);
    if (st != LOB_OK) lob_budget_release(&j->budget, lob_volume_bytes(image));
    return st;
}

lob_status lob_cells_hand_over(lob_cells_job *j, lob_volume *out, lob_volume *made, lob_place place)
{
    *out = *made;
    if (lob_place_same(made->place, place)) return LOB_OK;
    *out = lob_volume_empty();
    const lob_status st = lob_volume_move(out, made, place, j->caller, j->error);
    lob_volume_free(made);
    return st;
}

void lob_cells_drop(lob_cells_job *j, lob_volume *v)
{
    if (v->data && !v->borrowed) lob_budget_release(&j->budget, lob_volume_bytes(v));
    lob_volume_free(v);
}

/* ---- passes ---- */

lob_cells_pass lob_cells_pass_of(lob_cells_pass_kind kind, int64_t n, const lob_volume *image)
{
    lob_cells_pass p = {.kind = kind, .n = n};
    if (!image) return p;
    p.stored = image->data;
    p.type = image->type;
    p.slope = image->slope;
    p.inter = image->inter;
    return p;
}

bool lob_cells_may_have_gaps(const lob_volume *image)
{
    const lob_type_info *const type = lob_type_of(image->type);
    return !type->is_integer || !isfinite(image->slope * type->lowest + image->inter) ||
           !isfinite(image->slope * type->highest + image->inter);
}

lob_status lob_cells_put_gaps(lob_cells_job *j, const lob_volume *to, const lob_volume *image)
{
    lob_cells_pass p = lob_cells_pass_of(LOB_CELLS_GAPS, lob_voxels(to), image);
    p.to = to->data;
    return j->gaps ? lob_cells_run(j, NULL, &p) : LOB_OK;
}

/* ---- steps of a backend ---- */

lob_status lob_cells_split(lob_cells_job *j, lob_volume *above, lob_threshold_stats *stats,
                           const lob_volume *image)
{
    const lob_threshold_input in = {.image = image, .place = image->place};
    const lob_threshold_options options = lob_threshold_defaults();
    const lob_context context = lob_cells_context(j);
    return j->backend->threshold(above->data, stats, &in, &options, &context, j->error);
}

lob_status lob_cells_maxima(lob_cells_job *j, lob_maxima_output *found, const lob_volume *image,
                            const uint8_t *mask, const lob_maxima_options *options)
{
    const int64_t bytes = lob_voxels(image) * (int64_t)sizeof *found->labels;
    const lob_maxima_input in = {image, mask};
    lob_maxima_options own = *options;
    memcpy(own.spacing, image->geometry.spacing_mm, sizeof own.spacing);
    LOB_TRY(lob_budget_hold(&j->budget, bytes, j->error));
    const lob_context context = lob_cells_context(j);
    const lob_status st = j->backend->maxima(found, &in, &own, &context, j->error);
    lob_budget_release(&j->budget, bytes);
    return st;
}

lob_status lob_cells_filter(lob_cells_job *j, lob_volume *out, const lob_volume *image,
                            const lob_filter_step *steps, int count)
{
    const lob_volume grid = grid_of(image, LOB_F32);
    const lob_filter_input in = {
        .image = image, .steps = steps, .step_count = count, .place = lob_context_place(j->caller)};
    lob_filter_options options = lob_filter_defaults();
    lob_filter_output result = {.data = NULL};
    if (steps[0].kind == LOB_FILTER_GAUSSIAN) options.edge = j->edge;
    *out = lob_volume_empty();
    LOB_TRY(lob_budget_hold(&j->budget, lob_volume_bytes(&grid), j->error));
    const lob_context context = lob_cells_context(j);
    lob_status st = j->backend->filter(&result, &in, &options, &context, j->error);
    if (st == LOB_OK &&
        lob_volume_adopt_at(out, &grid, &result.data, LOB_F32, 1, result.device) != LOB_OK)
        st = lob_fail(j->error, LOB_ENOMEM, "no memory for cells");
    lob_filter_output_free(&result);
    if (st != LOB_OK) lob_budget_release(&j->budget, lob_volume_bytes(&grid));
    return st;
}

lob_filter_step lob_cells_along(lob_filter_kind kind, const lob_volume *image, double mm)
{
    const double rounding = 1e-6; /* headers hold spacings as float32 */
    lob_filter_step step = {.kind = kind};
    for (int a = 0; a < 3; a++) {
        const double voxels = mm / image->geometry.spacing_mm[a];
        if (lob_side(image->dims, a) > 1)
            step.along[a] = kind == LOB_FILTER_BOX ? floor(voxels + rounding) : voxels;
    }
    return step;
}
