/* Gaussian steps on the GPU: which passes run from where to where; gaussian_cpu.c on the GPU. */
#include "kernels/device/arena.cuh"
#include "kernels/filters/gaussian/gaussian_cuda.cuh"

namespace lob::filters
{

/* How the passes of a call are run. */
enum gaussian_way { GAUSSIAN_PLANES, GAUSSIAN_LINES };

/* Working memory. What a call does not need is NULL. */
struct gaussian_memory {
    float *tables;
    float *between;    /* voxels: planes' output */
    float *filled;     /* voxels */
    float *lattice[2]; /* between passes that run one after the other */
};

struct gaussian_run {
    lob_device *device;
    const lob_gaussian_plan *plan;
    const lob_filter_call *call;
    lob_dims dims;
    gaussian_way way;
    gaussian_memory memory;
};

/* A sum of weighted voxels: what is read, and what is done with it. */
struct gaussian_summing {
    lob_gaussian_source source;
    lob_gaussian_finish finish;
    int order[3];
    lob_edge edge;
    float outside;
    float *out;
};

static gaussian_way way_of(const lob_gaussian_plan *plan)
{
    if (plan->coarse) return GAUSSIAN_LINES;
    for (const lob_gaussian_axis &a : plan->axis)
        if (a.used && a.radius > GAUSSIAN_MAX_RADIUS) return GAUSSIAN_LINES;
    return GAUSSIAN_PLANES;
}

static gaussian_memory lay_out(arena *memory, const lob_gaussian_plan *plan, lob_dims dims,
                               const lob_filter_call *call)
{
    const bool all = call->finite && !call->mask;
    const int64_t n = lob_dims_voxels(dims);
    gaussian_memory m = {};
    m.tables = memory->take<float>(plan->table_items);
    if (plan->derivatives && !all) m.filled = memory->take<float>(n);
    lob_gaussian_pass passes[LOB_GAUSSIAN_MAX_PASSES];
    const int order[3] = {0, 0, 0};
    const int count = lob_gaussian_passes(passes, plan, dims, order, LOB_EDGE_NEAREST, 0.0f);
    const int64_t items = lob_gaussian_largest_between(passes, count);
    if (way_of(plan) == GAUSSIAN_PLANES) {
        m.between = memory->take<float>(plan->axis[2].used ? items : 0);
    } else {
        m.lattice[0] = memory->take<float>(items);
        m.lattice[1] = memory->take<float>(count > 2 ? items : 0);
    }
    return m;
}

static lob_gaussian_source of_floats(const float *data)
{
    lob_gaussian_source source = {};
    source.data = data;
    source.type = LOB_F32;
    source.finite = source.before.identity = true;
    return source;
}

static gaussian_job job_of(const gaussian_run *r, const gaussian_summing *s)
{
    return {s->source, s->finish, r->memory.tables, r->plan->tables, s->out};
}

static lob_status by_planes(const gaussian_run *r, const gaussian_summing *s,
                            const lob_gaussian_pass *passes, int count, lob_error *error)
{
    const lob_gaussian_pass *along[3] = {};
    for (int i = 0; i < count; i++) along[passes[i].axis] = &passes[i];
    gaussian_job job = job_of(r, s);
    if (along[0] || along[1]) {
        if (along[2]) {
            job.finish = {};
            job.out = r->memory.between;
        }
        LOB_TRY(gaussian_planes(r->device, &job, along[0], along[1], r->dims, error));
        if (!along[2]) return LOB_OK;
        job = job_of(r, s);
        job.source = of_floats(r->memory.between);
    }
    return gaussian_march(r->device, &job, along[2], error);
}

static lob_status by_lines(const gaussian_run *r, const gaussian_summing *s,
                           const lob_gaussian_pass *passes, int count, lob_error *error)
{
    gaussian_job job = job_of(r, s);
    for (int i = 0; i < count; i++) {
        const lob_gaussian_pass *const pass = &passes[i];
        const lob_gaussian_axis *const axis = &r->plan->axis[pass->axis];
        const bool last = i == count - 1;
        job.finish = {};
        if (last) job.finish = s->finish;
        job.out = last ? s->out : r->memory.lattice[i % 2];
        if (pass->axis == 0 || !axis->coarse)
            LOB_TRY(gaussian_lines(r->device, &job, pass, error));
        else if (pass->op.down > 1)
            LOB_TRY(gaussian_reduce(r->device, &job, pass, axis, error));
        else
            LOB_TRY(gaussian_expand(r->device, &job, pass, error));
        job.source = of_floats(r->memory.lattice[i % 2]);
    }
    return LOB_OK;
}

static lob_status sum_up(const gaussian_run *r, const gaussian_summing *s, lob_error *error)
{
    lob_gaussian_pass passes[LOB_GAUSSIAN_MAX_PASSES];
    const int count = lob_gaussian_passes(passes, r->plan, r->dims, s->order, s->edge, s->outside);
    if (count == 0) {
        const gaussian_job job = job_of(r, s);
        return gaussian_copy(r->device, &job, r->dims, error);
    }
    return r->way == GAUSSIAN_PLANES ? by_planes(r, s, passes, count, error)
                                     : by_lines(r, s, passes, count, error);
}

/* ---- what the steps sum up ---- */

static float outside_of(const lob_filter_call *call, bool counts)
{
    if (call->options->edge != LOB_EDGE_CONSTANT) return 0.0f;
    return counts ? 1.0f : (float)call->options->edge_value;
}

static gaussian_summing summing_of(const gaussian_run *r, lob_gaussian_what what, float *out,
                                   const lob_gaussian_source *source)
{
    gaussian_summing s = {};
    s.source = *source;
    s.finish.what = what;
    s.finish.source = *source;
    s.finish.after = r->call->after;
    s.edge = r->call->options->edge;
    s.outside = outside_of(r->call, false);
    s.out = out;
    return s;
}

/* The sum of values by the sum of weights, finished by what (RATIO or FILL). */
static lob_status normalised(const gaussian_run *r, lob_gaussian_what what, float *out,
                             const lob_gaussian_source *source, lob_error *error)
{
    gaussian_summing s = summing_of(r, LOB_GAUSSIAN_SUM, out, source);
    LOB_TRY(sum_up(r, &s, error));
    s.source.counts = true;
    s.finish.what = what;
    s.outside = outside_of(r->call, true);
    return sum_up(r, &s, error);
}

/* The derivatives along the axes one after the other, added up in out. */
static lob_status derive(const gaussian_run *r, float *out, const lob_gaussian_source *source,
                         lob_error *error)
{
    const bool is_gradient = r->call->step->kind == LOB_FILTER_GRADIENT;
    gaussian_summing s =
        summing_of(r, is_gradient ? LOB_GAUSSIAN_SQUARE : LOB_GAUSSIAN_ADD, out, source);
    if (s.edge == LOB_EDGE_RENORMALISE) s.edge = LOB_EDGE_NEAREST;
    s.finish.source.mask = r->call->mask;
    s.finish.first = true;
    int left = 0;
    for (const lob_gaussian_axis &a : r->plan->axis) left += a.used;
    if (left == 0) {
        s.finish.last = s.source.counts = true;
        return sum_up(r, &s, error);
    }
    for (int a = 0; a < 3; a++) {
        if (!r->plan->axis[a].used) continue;
        const double mm = r->call->spacing_mm[a];
        s.finish.last = --left == 0;
        s.finish.factor = (float)(is_gradient ? 1.0 / mm : 1.0 / (mm * mm));
        for (int b = 0; b < 3; b++) s.order[b] = a == b ? is_gradient ? 1 : 2 : 0;
        LOB_TRY(sum_up(r, &s, error));
        s.finish.first = false;
    }
    return LOB_OK;
}

static lob_status channel(const gaussian_run *r, float *out, const lob_gaussian_source *source,
                          lob_error *error)
{
    const bool all = r->call->finite && !r->call->mask;
    if (!r->plan->derivatives) {
        if (!all) return normalised(r, LOB_GAUSSIAN_RATIO, out, source, error);
        const gaussian_summing s = summing_of(r, LOB_GAUSSIAN_MEAN, out, source);
        return sum_up(r, &s, error);
    }
    if (all) return derive(r, out, source, error);
    LOB_TRY(normalised(r, LOB_GAUSSIAN_FILL, r->memory.filled, source, error));
    const lob_gaussian_source filled = of_floats(r->memory.filled);
    return derive(r, out, &filled, error);
}

/* ---- the calls ---- */

static int64_t bytes_of(const lob_filter_image *in, const lob_filter_call *call)
{
    lob_gaussian_plan plan;
    if (lob_gaussian_plan_make(&plan, in->dims, call, nullptr, nullptr) != LOB_OK) return -1;
    arena memory;
    lay_out(&memory, &plan, in->dims, call);
    return memory.used;
}

static lob_status run_step(lob_device *device, const lob_filter_image *out,
                           const lob_filter_image *in, const lob_filter_call *call, void *work,
                           lob_error *error)
{
    lob_gaussian_plan plan;
    lob_budget host = {};
    host.who = "gaussian";
    LOB_TRY(lob_gaussian_plan_make(&plan, in->dims, call, &host, error));
    arena memory(work);
    const gaussian_run r = {device,   &plan,         call,
                            in->dims, way_of(&plan), lay_out(&memory, &plan, in->dims, call)};
    lob_status status =
        plan.table_items ? lob_device_upload(device, r.memory.tables, plan.tables,
                                             plan.table_items * (int64_t)sizeof *plan.tables, error)
                         : LOB_OK;
    const int64_t n = lob_dims_voxels(in->dims);
    for (int c = 0; c < in->channels && status == LOB_OK; c++) {
        lob_gaussian_source source = {};
        source.data =
            (const unsigned char *)in->data + n * c * (int64_t)lob_type_of(in->type)->bytes;
        source.mask = call->mask;
        source.type = in->type;
        source.finite = call->finite;
        source.before = call->before;
        status = channel(&r, (float *)out->data + n * c, &source, error);
    }
    lob_gaussian_plan_free(&plan, &host);
    return status;
}

int64_t gaussian_bytes(const lob_filter_image *in, const lob_filter_call *call)
{
    return bytes_of(in, call);
}

int64_t gradient_bytes(const lob_filter_image *in, const lob_filter_call *call)
{
    return bytes_of(in, call);
}

int64_t laplacian_bytes(const lob_filter_image *in, const lob_filter_call *call)
{
    return bytes_of(in, call);
}

lob_status gaussian(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
                    const lob_filter_call *call, void *work, lob_error *error)
{
    return run_step(device, out, in, call, work, error);
}

lob_status gradient(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
                    const lob_filter_call *call, void *work, lob_error *error)
{
    return run_step(device, out, in, call, work, error);
}

lob_status laplacian(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
                     const lob_filter_call *call, void *work, lob_error *error)
{
    return run_step(device, out, in, call, work, error);
}

} /* namespace lob::filters */
