/* Gaussian steps on the GPU: their memory, and which kernel runs a pass. */
#include "kernels/device/arena.cuh"
#include "kernels/filters/gaussian/gaussian_cuda.cuh"

namespace lob::filters
{

/* Working memory. What a call does not need is NULL. */
struct gaussian_memory {
    float *tables;
    float *filled;     /* voxels */
    float *between[2]; /* voxels, or pairs of them; lattices */
};

struct gaussian_call {
    lob_device *device;
    lob_gaussian_run step;
    gaussian_memory memory;
};

/* Whether passes are run by planes and columns; else line by line. */
static bool by_planes_of(const lob_gaussian_plan *plan)
{
    if (plan->coarse) return false;
    for (const lob_gaussian_axis &a : plan->axis)
        if (a.used && a.radius > GAUSSIAN_MAX_RADIUS) return false;
    return true;
}

static gaussian_memory lay_out(arena *memory, const lob_gaussian_plan *plan, lob_dims dims,
                               const lob_filter_call *call)
{
    gaussian_memory m = {};
    m.tables = memory->take<float>(plan->table_items);
    if (lob_gaussian_fills(call)) m.filled = memory->take<float>(lob_dims_voxels(dims));
    lob_gaussian_run run = {};
    int64_t voxels[2];
    run.plan = plan;
    run.dims = dims;
    run.planes = by_planes_of(plan);
    lob_gaussian_between(voxels, &run);
    const bool pairs = run.planes && lob_gaussian_normalises(call);
    for (int i = 0; i < 2; i++) m.between[i] = memory->take<float>(voxels[i] * (1 + pairs));
    return m;
}

static lob_status run_passes(void *backend, const lob_gaussian_io *io,
                             const lob_gaussian_pass *passes, int count, lob_error *error)
{
    const gaussian_call *const c = (const gaussian_call *)backend;
    const lob_gaussian_plan *const plan = c->step.plan;
    const gaussian_job job = {*io, c->memory.tables, plan->tables};
    const lob_gaussian_pass *const last = &passes[count - 1];
    const lob_gaussian_axis *const axis = &plan->axis[last->axis];
    if (c->step.planes && last->axis == 2) return gaussian_march(c->device, &job, last, error);
    if (c->step.planes)
        return gaussian_planes(c->device, &job, passes->axis == 0 ? passes : NULL,
                               last->axis == 1 ? last : NULL, c->step.dims, error);
    if (last->axis == 0 || !axis->coarse) return gaussian_lines(c->device, &job, last, error);
    return last->op.down > 1 ? gaussian_reduce(c->device, &job, last, axis, error)
                             : gaussian_expand(c->device, &job, last, error);
}

int64_t gaussian_bytes(const lob_filter_image *in, const lob_filter_call *call)
{
    lob_gaussian_plan plan;
    if (lob_gaussian_plan_make(&plan, in->dims, call, nullptr, nullptr) != LOB_OK) return -1;
    arena memory;
    lay_out(&memory, &plan, in->dims, call);
    return memory.used;
}

lob_status gaussian(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
                    const lob_filter_call *call, void *work, lob_error *error)
{
    lob_gaussian_plan plan;
    lob_budget host = {};
    host.who = "gaussian";
    LOB_TRY(lob_gaussian_plan_make(&plan, in->dims, call, &host, error));
    arena memory(work);
    gaussian_call c = {device, {}, lay_out(&memory, &plan, in->dims, call)};
    c.step.plan = &plan;
    c.step.call = call;
    c.step.dims = in->dims;
    c.step.filled = c.memory.filled;
    memcpy(c.step.between, c.memory.between, sizeof c.step.between);
    c.step.planes = c.step.pairs = by_planes_of(&plan);
    c.step.run = run_passes;
    c.step.backend = &c;
    lob_status st = lob_device_upload(device, c.memory.tables, plan.tables,
                                      plan.table_items * (int64_t)sizeof *plan.tables, error);
    if (st == LOB_OK) st = lob_gaussian_channels(&c.step, out, in, error);
    lob_gaussian_plan_free(&plan, &host);
    return st;
}

} /* namespace lob::filters */
