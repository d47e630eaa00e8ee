/* What the steps of cells.h share: memory, progress, and filters as they need them. */
#include "kernels/cells/cells_job.h"

#include "volumes/bytes.h"

#include <math.h>
#include <string.h>

lob_cells_job lob_cells_begin(const lob_backend *backend, const lob_context *caller, lob_team *team,
                              int64_t planes, lob_error *error)
{
    return (lob_cells_job){
        .steps = {.backend = backend,
                  .context = caller,
                  .budget = {.who = "cells", .limit = caller->max_memory}},
        .share = {.caller = caller},
        .error = error,
        .edge = LOB_EDGE_NEAREST,
        .team = lob_team_size(team) > 1 ? team : NULL,
        .planes = planes,
    };
}

lob_dims lob_cells_dims(const lob_cells_job *j, const lob_volume *image)
{
    lob_dims dims = image->dims;
    if (j->team) dims.nz = j->planes;
    return dims;
}

lob_context lob_cells_context(lob_cells_job *j)
{
    return lob_share_context(&j->share, lob_budget_inner(&j->steps.budget, j->steps.context));
}

/* ---- voxels ---- */

lob_status lob_cells_make(lob_cells_job *j, lob_volume *out, const lob_volume *image, lob_type type)
{
    const lob_volume grid = lob_segment_grid(image->dims, &image->geometry);
    return lob_segment_make(&j->steps, out, &grid, type, 1, j->error);
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
    if (j->team) return lob_cells_split_slab(j, above, stats, image);
    const lob_context context = lob_cells_context(j);
    return j->steps.backend->threshold(above->data, stats, &in, &options, &context, j->error);
}

lob_status lob_cells_maxima(lob_cells_job *j, lob_maxima_output *found, const lob_volume *image,
                            const uint8_t *mask, const lob_maxima_options *options)
{
    const int64_t bytes = lob_voxels(image) * (int64_t)sizeof *found->labels;
    const lob_maxima_input in = {image, mask};
    lob_maxima_options own = *options;
    memcpy(own.spacing, image->geometry.spacing_mm, sizeof own.spacing);
    LOB_TRY(lob_budget_hold(&j->steps.budget, bytes, j->error));
    const lob_context context = lob_cells_context(j);
    const lob_status st = j->team ? lob_cells_maxima_slab(j, found, image, mask, &own)
                                  : j->steps.backend->maxima(found, &in, &own, &context, j->error);
    lob_budget_release(&j->steps.budget, bytes);
    return st;
}

lob_status lob_cells_filter(lob_cells_job *j, lob_volume *out, const lob_volume *image,
                            const lob_filter_step *steps, int count)
{
    lob_volume grid = lob_segment_grid(image->dims, &image->geometry);
    const lob_filter_input in = {.image = image,
                                 .steps = steps,
                                 .step_count = count,
                                 .place = lob_context_place(j->steps.context)};
    lob_filter_options options = lob_filter_defaults();
    lob_filter_output result = {.data = NULL};
    if (steps[0].kind != LOB_FILTER_BOX) options.edge = j->edge;
    grid.type = LOB_F32;
    *out = lob_volume_empty();
    LOB_TRY(lob_budget_hold(&j->steps.budget, lob_volume_bytes(&grid), j->error));
    const lob_context context = lob_cells_context(j);
    lob_status st = j->team ? lob_cells_filter_slab(j, &result, image, steps, count, &options)
                            : j->steps.backend->filter(&result, &in, &options, &context, j->error);
    if (st == LOB_OK &&
        lob_volume_adopt_at(out, &grid, &result.data, LOB_F32, 1, result.device) != LOB_OK)
        st = lob_fail(j->error, LOB_ENOMEM, "no memory for cells");
    lob_filter_output_free(&result);
    if (st != LOB_OK) lob_budget_release(&j->steps.budget, lob_volume_bytes(&grid));
    return st;
}

lob_filter_step lob_cells_along(const lob_cells_job *j, lob_filter_kind kind,
                                const lob_volume *image, double mm)
{
    const double rounding = 1e-6; /* headers hold spacings as float32 */
    lob_filter_step step = {.kind = kind};
    for (int a = 0; a < 3; a++) {
        const double voxels = mm / image->geometry.spacing_mm[a];
        if (lob_side(lob_cells_dims(j, image), a) > 1)
            step.along[a] = kind == LOB_FILTER_BOX ? floor(voxels + rounding) : voxels;
    }
    return step;
}
