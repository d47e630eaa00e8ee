/* The sums of Gaussian steps: means, what is filled, derivatives; and their passes. */
#include "kernels/filters/gaussian/gaussian_sums.h"

lob_gaussian_source lob_gaussian_of_floats(const float *data)
{
    return (lob_gaussian_source){
        .data = data, .type = LOB_F32, .finite = true, .before.identity = true};
}

/* A sum: its source, finish and output; by the derivative's order along each axis. */
typedef struct {
    lob_gaussian_io io;
    int order[3];
    lob_edge edge;
    float outside;
} sum;

/* How many passes from number i on run together. */
static int together(const lob_gaussian_run *r, const lob_gaussian_pass *passes, int count, int i)
{
    return r->planes && i + 1 < count && passes[i + 1].axis == 1 ? 2 : 1;
}

void lob_gaussian_between(int64_t voxels[2], const lob_gaussian_run *r)
{
    lob_gaussian_pass passes[LOB_GAUSSIAN_MAX_PASSES];
    const int order[3] = {0, 0, 0};
    const int count = lob_gaussian_passes(passes, r->plan, r->dims, order, LOB_EDGE_NEAREST, 0.0f);
    voxels[0] = voxels[1] = 0;
    for (int i = together(r, passes, count, 0), turn = 0; i < count;
         i += together(r, passes, count, i), turn = 1 - turn) {
        const int64_t n = lob_dims_voxels(passes[i - 1].out);
        if (n > voxels[turn]) voxels[turn] = n;
    }
}

static lob_status add_up(const lob_gaussian_run *r, const sum *s, lob_error *error)
{
    lob_gaussian_pass passes[LOB_GAUSSIAN_MAX_PASSES];
    const int count = lob_gaussian_passes(passes, r->plan, r->dims, s->order, s->edge, s->outside);
    lob_gaussian_io io = s->io;
    io.pairs = r->pairs && lob_gaussian_divides(&s->io.finish);
    for (int i = 0, n, turn = 0; i < count; i += n, turn = 1 - turn) {
        n = together(r, passes, count, i);
        const bool last = i + n == count;
        float *const between = r->between[turn];
        io.finish = last ? s->io.finish : (lob_gaussian_finish){.what = LOB_GAUSSIAN_SUM};
        io.out = last || !between ? s->io.out : between;
        LOB_TRY(r->run(r->backend, &io, &passes[i], n, error));
        io.source = lob_gaussian_of_floats(io.out);
        io.between = true;
    }
    return LOB_OK;
}

/* Where the volume ends, by the rules of the call. */
static float outside_of(const lob_filter_call *call, bool counts)
{
    if (call->options->edge != LOB_EDGE_CONSTANT) return 0.0f;
    return counts ? 1.0f : (float)call->options->edge_value;
}

static sum sum_of(const lob_gaussian_run *r, lob_gaussian_what what, float *out,
                  const lob_gaussian_source *source)
{
    return (sum){
        .io = {.source = *source,
               .finish = {.what = what, .source = *source, .after = r->call->after},
               .out = out},
        .edge = r->call->options->edge,
        .outside = outside_of(r->call, false),
    };
}

/* The sum of values by the sum of weights, finished by what (RATIO or FILL). */
static lob_status normalised(const lob_gaussian_run *r, lob_gaussian_what what, float *out,
                             const lob_gaussian_source *source, lob_error *error)
{
    sum s = sum_of(r, r->pairs ? what : LOB_GAUSSIAN_SUM, out, source);
    LOB_TRY(add_up(r, &s, error));
    if (r->pairs) return LOB_OK;
    s.io.source.counts = true;
    s.io.finish.what = what;
    s.outside = outside_of(r->call, true);
    return add_up(r, &s, error);
}

/* The derivatives along the axes one after the other, added up in out. */
static lob_status derive(const lob_gaussian_run *r, float *out, const lob_gaussian_source *source,
                         lob_error *error)
{
    const bool gradient = r->call->step->kind == LOB_FILTER_GRADIENT;
    sum s = sum_of(r, gradient ? LOB_GAUSSIAN_SQUARE : LOB_GAUSSIAN_ADD, out, source);
    int left = 0;
    for (int a = 0; a < 3; a++) left += r->plan->axis[a].used;
    if (s.edge == LOB_EDGE_RENORMALISE) s.edge = LOB_EDGE_NEAREST;
    s.io.finish.source.mask = r->call->mask;
    s.io.finish.first = true;
    if (left == 0) {
        s.io.finish.last = s.io.source.counts = true;
        return add_up(r, &s, error);
    }
    for (int a = 0; a < 3; a++) {
        if (!r->plan->axis[a].used) continue;
        const double mm = r->call->spacing_mm[a];
        s.io.finish.last = --left == 0;
        s.io.finish.factor = (float)(gradient ? 1.0 / mm : 1.0 / (mm * mm));
        for (int b = 0; b < 3; b++) s.order[b] = a == b ? gradient ? 1 : 2 : 0;
        LOB_TRY(add_up(r, &s, error));
        s.io.finish.first = false;
    }
    return LOB_OK;
}

static lob_status channel(const lob_gaussian_run *r, float *out, const lob_gaussian_source *source,
                          lob_error *error)
{
    if (r->plan->derivatives) {
        if (!lob_gaussian_fills(r->call)) return derive(r, out, source, error);
        LOB_TRY(normalised(r, LOB_GAUSSIAN_FILL, r->filled, source, error));
        const lob_gaussian_source filled = lob_gaussian_of_floats(r->filled);
        return derive(r, out, &filled, error);
    }
    if (lob_gaussian_normalises(r->call))
        return normalised(r, LOB_GAUSSIAN_RATIO, out, source, error);
    const sum s = sum_of(r, LOB_GAUSSIAN_MEAN, out, source);
    return add_up(r, &s, error);
}

lob_status lob_gaussian_channels(const lob_gaussian_run *run, const lob_filter_image *out,
                                 const lob_filter_image *in, lob_error *error)
{
    const lob_filter_call *call = run->call;
    const int64_t n = lob_dims_voxels(in->dims), bytes = (int64_t)lob_type_of(in->type)->bytes;
    for (int c = 0; c < in->channels; c++) {
        const lob_gaussian_source source = {.data = (const unsigned char *)in->data + n * c * bytes,
                                            .mask = call->mask,
                                            .type = in->type,
                                            .finite = call->finite,
                                            .before = call->before};
        LOB_TRY(channel(run, (float *)out->data + n * c, &source, error));
    }
    return LOB_OK;
}
