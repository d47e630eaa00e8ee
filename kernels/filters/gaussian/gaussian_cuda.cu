/* Gaussian steps on the GPU: which passes run from where to where; gaussian_cpu.c on the GPU. */
#include "kernels/device/arena.cuh"
#include "kernels/filters/gaussian/gaussian_cuda.cuh"
#include "kernels/filters/gaussian/gaussian_sums.h"

namespace lob::filters
{

/* Working memory. What a call does not need is NULL. */
struct gaussian_memory {
    float *tables;
    float *between;    /* voxels, or pairs of them: planes' output */
    float *filled;     /* voxels */
    float *lattice[2]; /* between passes that run one after the other */
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
    lob_gaussian_pass passes[LOB_GAUSSIAN_MAX_PASSES];
    const int order[3] = {0, 0, 0};
    const int count = lob_gaussian_passes(passes, plan, dims, order, LOB_EDGE_NEAREST, 0.0f);
    const int64_t items = lob_gaussian_largest_between(passes, count);
    if (by_planes_of(plan)) {
        m.between = memory->take<float>(
            plan->axis[2].used ? items * (1 + lob_gaussian_normalises(call)) : 0);
    } else {
        m.lattice[0] = memory->take<float>(items);
        m.lattice[1] = memory->take<float>(count > 2 ? items : 0);
    }
    return m;
}

static gaussian_job job_of(const gaussian_call *c, const lob_gaussian_sum *s)
{
    gaussian_job job = {};
    job.source = s->source;
    job.finish = s->finish;
    job.tables = c->memory.tables;
    job.host_tables = c->step.plan->tables;
    job.out = s->out;
    job.pairs = c->step.pairs && lob_gaussian_divides(&s->finish);
    return job;
}

static lob_status by_planes(const gaussian_call *c, const lob_gaussian_sum *s,
                            const lob_gaussian_pass *passes, int count, lob_error *error)
{
    const lob_gaussian_pass *along[3] = {};
    for (int i = 0; i < count; i++) along[passes[i].axis] = &passes[i];
    gaussian_job job = job_of(c, s);
    if (along[0] || along[1]) {
        if (along[2]) {
            job.finish = {};
            job.out = c->memory.between;
        }
        LOB_TRY(gaussian_planes(c->device, &job, along[0], along[1], c->step.dims, error));
        if (!along[2]) return LOB_OK;
        job = job_of(c, s);
        job.source = lob_gaussian_of_floats(c->memory.between);
        job.between = true;
    }
    return gaussian_march(c->device, &job, along[2], error);
}

static lob_status by_lines(const gaussian_call *c, const lob_gaussian_sum *s,
                           const lob_gaussian_pass *passes, int count, lob_error *error)
{
    gaussian_job job = job_of(c, s);
    for (int i = 0; i < count; i++) {
        const lob_gaussian_pass *const pass = &passes[i];
        const lob_gaussian_axis *const axis = &c->step.plan->axis[pass->axis];
        const bool last = i == count - 1;
        job.finish = {};
        if (last) job.finish = s->finish;
        job.out = last ? s->out : c->memory.lattice[i % 2];
        if (pass->axis == 0 || !axis->coarse)
            LOB_TRY(gaussian_lines(c->device, &job, pass, error));
        else if (pass->op.down > 1)
            LOB_TRY(gaussian_reduce(c->device, &job, pass, axis, error));
        else
            LOB_TRY(gaussian_expand(c->device, &job, pass, error));
        job.source = lob_gaussian_of_floats(c->memory.lattice[i % 2]);
    }
    return LOB_OK;
}

static lob_status add_up(void *backend, const lob_gaussian_sum *s, const lob_gaussian_pass *passes,
                         int count, lob_error *error)
{
    const gaussian_call *const c = (const gaussian_call *)backend;
    return by_planes_of(c->step.plan) ? by_planes(c, s, passes, count, error)
                                      : by_lines(c, s, passes, count, error);
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
    c.step.pairs = by_planes_of(&plan);
    c.step.add_up = add_up;
    c.step.backend = &c;
    lob_status st = lob_device_upload(device, c.memory.tables, plan.tables,
                                      plan.table_items * (int64_t)sizeof *plan.tables, error);
    if (st == LOB_OK) st = lob_gaussian_channels(&c.step, out, in, error);
    lob_gaussian_plan_free(&plan, &host);
    return st;
}

} /* namespace lob::filters */
