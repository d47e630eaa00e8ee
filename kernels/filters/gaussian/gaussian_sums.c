/* The sums of Gaussian steps: means, what is filled, derivatives. */
#include "kernels/filters/gaussian/gaussian_sums.h"

lob_gaussian_source lob_gaussian_of_floats(const float *data)
{
    return (lob_gaussian_source){
        .data = data, .type = LOB_F32, .finite = true, .before.identity = true};
}

static lob_status add_up(const lob_gaussian_run *r, const lob_gaussian_sum *s, lob_error *error)
{
    lob_gaussian_pass passes[LOB_GAUSSIAN_MAX_PASSES];
    const int count = lob_gaussian_passes(passes, r->plan, r->dims, s->order, s->edge, s->outside);
    return r->add_up(r->backend, s, passes, count, error);
}

/* Where the volume ends, by the rules of the call. */
static float outside_of(const lob_filter_call *call, bool counts)
{
    if (call->options->edge != LOB_EDGE_CONSTANT) return 0.0f;
    return counts ? 1.0f : (float)call->options->edge_value;
}

static lob_gaussian_sum sum_of(const lob_gaussian_run *r, lob_gaussian_what what, float *out,
                               const lob_gaussian_source *source)
{
    return (lob_gaussian_sum){
        .source = *source,
        .finish = {.what = what, .source = *source, .after = r->call->after},
        .edge = r->call->options->edge,
        .outside = outside_of(r->call, false),
        .out = out,
    };
}

/* The sum of values by the sum of weights, finished by what (RATIO or FILL). */
static lob_status normalised(const lob_gaussian_run *r, lob_gaussian_what what, float *out,
                             const lob_gaussian_source *source, lob_error *error)
{
    lob_gaussian_sum s = sum_of(r, r->pairs ? what : LOB_GAUSSIAN_SUM, out, source);
    LOB_TRY(add_up(r, &s, error));
    if (r->pairs) return LOB_OK;
    s.source.counts = true;
    s.finish.what = what;
    s.outside = outside_of(r->call, true);
    return add_up(r, &s, error);
}

/* The derivatives along the axes one after the other, added up in out. */
static lob_status derive(const lob_gaussian_run *r, float *out, const lob_gaussian_source *source,
                         lob_error *error)
{
    const bool gradient = r->call->step->kind == LOB_FILTER_GRADIENT;
    lob_gaussian_sum s = sum_of(r, gradient ? LOB_GAUSSIAN_SQUARE : LOB_GAUSSIAN_ADD, out, source);
    int left = 0;
    for (int a = 0; a < 3; a++) left += r->plan->axis[a].used;
    if (s.edge == LOB_EDGE_RENORMALISE) s.edge = LOB_EDGE_NEAREST;
    s.finish.source.mask = r->call->mask;
    s.finish.first = true;
    if (left == 0) {
        s.finish.last = s.source.counts = true;
        return add_up(r, &s, error);
    }
    for (int a = 0; a < 3; a++) {
        if (!r->plan->axis[a].used) continue;
        const double mm = r->call->spacing_mm[a];
        s.finish.last = --left == 0;
        s.finish.factor = (float)(gradient ? 1.0 / mm : 1.0 / (mm * mm));
        for (int b = 0; b < 3; b++) s.order[b] = a == b ? gradient ? 1 : 2 : 0;
        LOB_TRY(add_up(r, &s, error));
        s.finish.first = false;
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
    const lob_gaussian_sum s = sum_of(r, LOB_GAUSSIAN_MEAN, out, source);
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
