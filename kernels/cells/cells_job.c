/* What the steps of cells.h share: memory, progress, and filters as they need them. */
#include "kernels/cells/cells_job.h"

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

lob_cells_voxels lob_cells_nothing(void)
{
    return (lob_cells_voxels){.memory = lob_volume_empty(), .device = lob_volume_empty()};
}

/* An image's grid alone. */
static lob_volume grid_of(const lob_volume *image, lob_type type)
{
    lob_volume v = lob_volume_empty();
    v.type = type;
    v.dims = image->dims;
    v.geometry = image->geometry;
    return v;
}

static int64_t bytes_of(const lob_volume *volume)
{
    return lob_product(lob_voxels(volume), (int64_t)lob_type_of(volume->type)->bytes, 1, 1);
}

/* The same voxels, which belong to the other one. */
static lob_volume view_of(const lob_volume *v)
{
    lob_volume view = *v;
    view.borrowed = true;
    view.release = NULL;
    return view;
}

static bool computes_in_memory(const lob_cells_job *j)
{
    return lob_context_place(j->caller).kind == LOB_PLACE_MEMORY;
}

static lob_status hold(lob_cells_job *j, lob_cells_voxels *out, const lob_volume *grid)
{
    *out = lob_cells_nothing();
    LOB_TRY(lob_budget_hold(&j->budget, bytes_of(grid), j->error));
    out->held = bytes_of(grid);
    return LOB_OK;
}

lob_status lob_cells_make(lob_cells_job *j, lob_cells_voxels *out, const lob_volume *image,
                          lob_type type)
{
    const lob_volume grid = grid_of(image, type);
    LOB_TRY(hold(j, out, &grid));
    const lob_status st = lob_volume_at(&out->device, &grid, type, 1, j->caller, j->error);
    if (st == LOB_OK && computes_in_memory(j)) {
        out->memory = out->device;
        out->device = view_of(&out->memory);
    }
    if (st != LOB_OK) lob_cells_drop(j, out);
    return st;
}

lob_status lob_cells_take(lob_cells_job *j, lob_cells_voxels *out, const lob_volume *image,
                          void *data, lob_type type)
{
    const lob_volume grid = grid_of(image, type);
    const lob_status st = hold(j, out, &grid);
    if (st != LOB_OK) {
        free(data);
        return st;
    }
    out->memory = grid;
    out->memory.data = data;
    if (computes_in_memory(j)) out->device = view_of(&out->memory);
    return LOB_OK;
}

static lob_status copy(lob_cells_job *j, lob_volume *to, const lob_volume *from, lob_place place)
{
    return to->data ? LOB_OK : lob_volume_move(to, from, place, j->caller, j->error);
}

lob_status lob_cells_to_memory(lob_cells_job *j, lob_cells_voxels *v)
{
    return copy(j, &v->memory, &v->device, (lob_place){0});
}

lob_status lob_cells_to_device(lob_cells_job *j, lob_cells_voxels *v)
{
    return copy(j, &v->device, &v->memory, lob_context_place(j->caller));
}

lob_status lob_cells_given(lob_cells_job *j, lob_cells_voxels *out, const lob_volume *image)
{
    *out = lob_cells_nothing();
    lob_volume given = view_of(image);
    given.header = (lob_header){.format = NULL};
    given.names = (lob_label_names){.rows = NULL};
    if (image->place.kind != LOB_PLACE_MEMORY) return copy(j, &out->memory, &given, (lob_place){0});
    out->memory = given;
    return LOB_OK;
}

lob_status lob_cells_hand_over(lob_cells_job *j, lob_volume *out, lob_volume *made, lob_place place)
{
    *out = *made;
    if (lob_place_same(made->place, place)) return LOB_OK;
    *out = lob_volume_empty();
    const lob_status st = copy(j, out, made, place);
    lob_volume_free(made);
    return st;
}

void lob_cells_drop(lob_cells_job *j, lob_cells_voxels *v)
{
    lob_budget_release(&j->budget, v->held);
    lob_volume_free(&v->device);
    lob_volume_free(&v->memory);
    v->held = 0;
}

void lob_cells_put_at_gaps(void *data, const lob_volume *image, const void *value, size_t bytes)
{
    enum { PIECE = 512 };
    const int64_t n = lob_voxels(image);
    for (int64_t first = 0; first < n; first += PIECE) {
        double values[PIECE];
        const int64_t count = n - first < PIECE ? n - first : PIECE;
        lob_values(values, image->data, image->type, first, count);
        for (int64_t i = 0; i < count; i++)
            if (!isfinite(image->slope * values[i] + image->inter))
                memcpy((char *)data + (size_t)(first + i) * bytes, value, bytes);
    }
}

/* ---- filters ---- */

lob_status lob_cells_filter(lob_cells_job *j, lob_cells_voxels *out, const lob_volume *image,
                            const lob_filter_step *steps, int count)
{
    const lob_volume grid = grid_of(image, LOB_F32);
    const lob_filter_input in = {
        .image = image, .steps = steps, .step_count = count, .place = lob_context_place(j->caller)};
    lob_filter_options options = lob_filter_defaults();
    lob_filter_output result = {.data = NULL};
    if (steps[0].kind == LOB_FILTER_GAUSSIAN) options.edge = j->edge;
    LOB_TRY(hold(j, out, &grid));
    const lob_context context = lob_cells_context(j);
    lob_status st = j->backend->filter(&result, &in, &options, &context, j->error);
    lob_volume *const to = computes_in_memory(j) ? &out->memory : &out->device;
    if (st == LOB_OK &&
        lob_volume_adopt_at(to, &grid, &result.data, LOB_F32, 1, result.device) != LOB_OK)
        st = lob_fail(j->error, LOB_ENOMEM, "no memory for cells");
    if (st == LOB_OK && computes_in_memory(j)) out->device = view_of(&out->memory);
    lob_filter_output_free(&result);
    if (st != LOB_OK) lob_cells_drop(j, out);
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
