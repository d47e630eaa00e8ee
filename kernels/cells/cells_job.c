/* What the steps of cells.h share: memory, progress, and filters as they need them. */
#include "kernels/cells/cells_job.h"

#include <math.h>
#include <stdlib.h>

lob_cells_job lob_cells_begin(const lob_backend *backend, const lob_context *caller,
                              lob_error *error)
{
    return (lob_cells_job){
        .backend = backend,
        .caller = caller,
        .error = error,
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
    lob_context context = *j->caller;
    if (context.progress) {
        context.progress = on_progress;
        context.user = j;
    }
    if (context.max_memory > 0) {
        context.max_memory -= j->budget.held;
        if (context.max_memory < 1) context.max_memory = 1;
    }
    return context;
}

lob_volume lob_cells_volume(const lob_volume *image, void *data, lob_type type)
{
    lob_volume v = lob_volume_empty();
    v.data = data;
    v.type = type;
    v.dims = image->dims;
    v.geometry = image->geometry;
    return v;
}

static int64_t bytes_of(const lob_volume *volume)
{
    return lob_product(lob_voxels(volume), (int64_t)lob_type_of(volume->type)->bytes, 1, 1);
}

lob_status lob_cells_filter(lob_cells_job *j, lob_volume *out, const lob_volume *image,
                            const lob_filter_step *steps, int count)
{
    const lob_filter_input in = {.image = image, .steps = steps, .step_count = count};
    lob_volume made = lob_cells_volume(image, NULL, LOB_F32);
    lob_filter_options options = lob_filter_defaults();
    lob_filter_output result;
    if (steps[0].kind == LOB_FILTER_GAUSSIAN) options.edge = LOB_EDGE_NEAREST;
    LOB_TRY(lob_budget_hold(&j->budget, bytes_of(&made), j->error));
    const lob_context context = lob_cells_context(j);
    const lob_status st = j->backend->filter(&result, &in, &options, &context, j->error);
    if (st != LOB_OK) {
        lob_budget_release(&j->budget, bytes_of(&made));
        return st;
    }
    made.data = result.data;
    *out = made;
    return LOB_OK;
}

lob_status lob_cells_take(lob_cells_job *j, lob_volume *to, lob_volume *made)
{
    const lob_status st = lob_budget_hold(&j->budget, bytes_of(made), j->error);
    if (st != LOB_OK) lob_volume_free(made);
    *to = *made;
    return st;
}

void lob_cells_drop(lob_cells_job *j, lob_volume *volume)
{
    if (volume->data) lob_budget_release(&j->budget, bytes_of(volume));
    lob_volume_free(volume);
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
