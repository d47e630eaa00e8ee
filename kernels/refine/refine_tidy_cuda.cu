/* Tidying labels on the GPU: strokes, pieces that hold one, holes. */
#include "kernels/backend_cuda.h"
#include "kernels/refine/refine_stages_cuda.cuh"

namespace lob::refine
{

static __global__ void __launch_bounds__(THREADS) strokes_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int32_t seed = seed_at(p, i);
        if (seed) lob_label_put(p.labels, p.type, i, seed);
        p.mask[i] = label_at(p, i) != p.background;
    }
}

static __global__ void __launch_bounds__(THREADS) hold_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step())
        if (seed_at(p, i)) p.flags[lob_label_at(p.pieces, p.pieces_type, i)] = 1;
}

static __global__ void __launch_bounds__(THREADS) dropped_kernel(voxel_params p)
{
    u64 dropped = 0;
    for (int64_t k = grid_first(); k < p.pieces_count; k += grid_step()) dropped += !p.flags[k + 1];
    add_up(&p.counts->pieces, dropped);
}

static __global__ void __launch_bounds__(THREADS) drop_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int32_t piece = lob_label_at(p.pieces, p.pieces_type, i);
        if (piece && !p.flags[piece]) lob_label_put(p.labels, p.type, i, p.background);
    }
}

static __global__ void __launch_bounds__(THREADS) is_not_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step())
        p.mask[i] = label_at(p, i) != p.label;
}

/* Mark what reaches a border of the volume, and where background was drawn. */
static __global__ void __launch_bounds__(THREADS) open_kernel(voxel_params p)
{
    const lob_dims d = p.dims;
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int64_t row = i / d.nx, x = i - row * d.nx, y = row % d.ny, z = row / d.ny;
        const bool border = (d.nx > 1 && (x == 0 || x == d.nx - 1)) ||
                            (d.ny > 1 && (y == 0 || y == d.ny - 1)) ||
                            (d.nz > 1 && (z == 0 || z == d.nz - 1));
        if (border || seed_at(p, i) == p.background)
            p.flags[lob_label_at(p.pieces, p.pieces_type, i)] = 1;
    }
}

static __global__ void __launch_bounds__(THREADS) fill_kernel(voxel_params p)
{
    u64 filled = 0;
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int32_t piece = lob_label_at(p.pieces, p.pieces_type, i);
        if (piece == 0 || p.flags[piece] || label_at(p, i) != p.background) continue;
        lob_label_put(p.labels, p.type, i, p.label);
        filled++;
    }
    add_up(&p.counts->filled, filled);
}

/* Pieces of what the mask holds, and flags of 0 for them. */
static lob_status find_pieces(job *j, voxel_params *p, const lob_components_options *options,
                              lob_error *error)
{
    const lob_volume image = on_part(j, j->part.labels, j->type, 1);
    const lob_components_input in = {&image, j->mask, NULL, image.place};
    const lob_context context = inner_context(j);
    lob_components_output found;
    drop(j, &j->pieces, j->pieces_bytes);
    LOB_TRY(lob_components_cuda(&found, &in, options, &context, error));
    j->pieces_bytes = j->part.voxels * (int64_t)sizeof(int32_t);
    const lob_status st = lob_device_budget_count(&j->budget, j->pieces_bytes, error);
    count_inner(j, found.working_bytes);
    p->pieces_type = found.type;
    p->pieces_count = found.count;
    if (st == LOB_OK) {
        p->pieces = j->pieces = found.labels;
        found.labels = NULL;
    }
    lob_components_output_free(&found);
    LOB_TRY(st);
    return lob_device_fill(j->device, j->flags, 0, p->pieces_count + 1, error);
}

lob_status tidy(void *a_job, lob_error *error)
{
    job *const j = (job *)a_job;
    const lob_components_options pieces = lob_refine_pieces_options(j->in);
    const lob_components_options holes = lob_refine_holes_options();
    voxel_params p = params_of(j, j->part);
    LOB_TRY(launch(j, strokes_kernel, "strokes", p, p.voxels, error));
    LOB_TRY(find_pieces(j, &p, &pieces, error));
    LOB_TRY(launch(j, hold_kernel, "pieces with strokes", p, p.voxels, error));
    LOB_TRY(launch(j, dropped_kernel, "counting pieces", p, p.pieces_count, error));
    LOB_TRY(launch(j, drop_kernel, "dropping pieces", p, p.voxels, error));
    for (int32_t l = 1; l <= j->in->label_count; l++) {
        if (l == j->in->background) continue;
        p.label = l;
        LOB_TRY(launch(j, is_not_kernel, "what is around a label", p, p.voxels, error));
        LOB_TRY(find_pieces(j, &p, &holes, error));
        LOB_TRY(launch(j, open_kernel, "what is no hole", p, p.voxels, error));
        LOB_TRY(launch(j, fill_kernel, "filling holes", p, p.voxels, error));
    }
    drop(j, &j->pieces, j->pieces_bytes);
    return LOB_OK;
}

} /* namespace lob::refine */
