/* Checking a chain, and making passes of its steps. */
#include "kernels/filters/filter_plan.h"

#include "kernels/arrays.h"
#include "kernels/filters/box/box.h"
#include "kernels/filters/denoise/denoise.h"
#include "kernels/filters/gaussian/gaussian.h"
#include "kernels/filters/median/median.h"

#include <math.h>
#include <string.h>

const lob_filter_kind_row lob_filter_kinds[LOB_FILTER_KINDS] = {
    [LOB_FILTER_GAUSSIAN] = {lob_gaussian_reach, lob_gaussian_align, lob_gaussian_cpu},
    [LOB_FILTER_GRADIENT] = {lob_gaussian_reach, lob_gaussian_align, lob_gaussian_cpu},
    [LOB_FILTER_LAPLACIAN] = {lob_gaussian_reach, lob_gaussian_align, lob_gaussian_cpu},
    [LOB_FILTER_BOX] = {lob_box_reach,      NULL,               lob_box_cpu     },
    [LOB_FILTER_MEDIAN] = {lob_median_reach,   NULL,               lob_median_cpu  },
    [LOB_FILTER_DENOISE] = {lob_denoise_reach,  NULL,               lob_denoise_cpu },
};

static const lob_filter_map identity = {1.0f, 0.0f, -INFINITY, INFINITY, true};

lob_filter_options lob_filter_defaults(void)
{
    return (lob_filter_options){.edge = LOB_EDGE_RENORMALISE};
}

void lob_filter_output_free(lob_filter_output *out)
{
    lob_array_free(out->device, out->data);
    *out = (lob_filter_output){0};
}

static bool looks_around(lob_filter_kind kind)
{
    return kind <= LOB_FILTER_DENOISE;
}

/* ---- checks ---- */

static lob_status refuse(lob_error *error, int step, const char *what)
{
    return lob_fail(error, LOB_EARG, "step %d: %s", step + 1, what);
}

static lob_status check_step(const lob_filter_step *s, int i, lob_error *error)
{
    const bool radius = s->kind == LOB_FILTER_BOX || s->kind == LOB_FILTER_MEDIAN;
    if ((int)s->kind < 0 || s->kind >= LOB_FILTERS) return refuse(error, i, "no such kind");
    for (int a = 0; a < 3 && looks_around(s->kind); a++) {
        if (!(s->along[a] >= 0 && s->along[a] <= LOB_FILTER_MAX_ALONG))
            return lob_fail(error, LOB_EARG, "step %d: %g voxels along axis %d; it is 0 to %d",
                            i + 1, s->along[a], a, LOB_FILTER_MAX_ALONG);
        if (radius && s->along[a] != floor(s->along[a]))
            return refuse(error, i, "a radius is a whole number of voxels");
    }
    switch (s->kind) {
    case LOB_FILTER_CLAMP:
        if (!(s->low <= s->high)) return refuse(error, i, "the lower value is above the upper");
        if (s->percent && !(s->low >= 0 && s->high <= 100))
            return refuse(error, i, "a percentile is 0 to 100");
        break;
    case LOB_FILTER_SCALE:
        if (!isfinite(s->factor) || !isfinite(s->offset))
            return refuse(error, i, "a factor or offset is not finite");
        break;
    case LOB_FILTER_DESATURATE:
        if (!(s->amount >= 0 && s->amount <= 1)) return refuse(error, i, "an amount is 0 to 1");
        break;
    case LOB_FILTER_DENOISE:
        if (!(s->noise >= 0 && isfinite(s->noise)))
            return refuse(error, i, "the noise is at least 0");
        break;
    case LOB_FILTER_CAST:
        if ((int)s->type < 0 || s->type >= LOB_TYPES) return refuse(error, i, "no such type");
        break;
    default:
        break;
    }
    return LOB_OK;
}

static lob_status check(const lob_filter_input *in, const lob_filter_options *options,
                        lob_error *error)
{
    const lob_volume *image = in->image;
    if (in->step_count < 1 || in->step_count > LOB_FILTER_MAX_STEPS)
        return lob_fail(error, LOB_EARG, "%d steps; a chain has 1 to %d", in->step_count,
                        LOB_FILTER_MAX_STEPS);
    if (image->channels < 1 || image->channels > LOB_FILTER_MAX_CHANNELS)
        return lob_fail(error, LOB_EARG, "%d channels; filters take 1 to %d", image->channels,
                        LOB_FILTER_MAX_CHANNELS);
    const int64_t voxels = lob_dims_voxels(image->dims);
    if (voxels < 0 || lob_product(voxels, image->channels, 16, 1) < 0)
        return lob_fail(error, LOB_EARG, "the image has more voxels than can be counted");
    if ((int)options->edge < 0 || options->edge > LOB_EDGE_CONSTANT)
        return lob_fail(error, LOB_EARG, "no such rule for edges");
    if (options->edge == LOB_EDGE_CONSTANT && !isfinite((float)options->edge_value))
        return lob_fail(error, LOB_EARG, "the constant beyond the edges is no finite float32");
    for (int i = 0; i < in->step_count; i++) LOB_TRY(check_step(&in->steps[i], i, error));
    return LOB_OK;
}

/* ---- passes ---- */

/* What the passes so far give. */
typedef struct {
    lob_filter_plan *plan;
    bool fuse;
    lob_type type;
    int channels;
    double slope, inter;
} maker;

static lob_filter_pass *last_of(const maker *m)
{
    return m->plan->passes > 0 ? &m->plan->pass[m->plan->passes - 1] : NULL;
}

static bool is_scaled(const maker *m)
{
    return m->slope != 1.0 || m->inter != 0.0;
}

/* A type whose numbers are all float32s. */
static bool fits_float(lob_type type)
{
    return type == LOB_F32 || (lob_type_of(type)->is_integer && lob_type_of(type)->bytes <= 2);
}

static lob_filter_pass *add(maker *m, lob_pass_kind kind, int step, lob_type to)
{
    lob_filter_pass *pass = &m->plan->pass[m->plan->passes++];
    *pass = (lob_filter_pass){.kind = kind,
                              .step = step,
                              .before = identity,
                              .after = identity,
                              .slope = m->slope,
                              .inter = m->inter,
                              .from = m->type,
                              .to = to,
                              .from_channels = m->channels,
                              .to_channels = m->channels};
    m->type = to;
    m->slope = 1.0;
    m->inter = 0.0;
    return pass;
}

/* A limit as the type's nearest number, so that whole numbers stay whole. */
static double limit_in(double limit, lob_type type)
{
    const lob_type_info *info = lob_type_of(type);
    if (!info->is_integer) return type == LOB_F32 ? (double)(float)limit : limit;
    return fmin(fmax(rint(limit), info->lowest), info->highest);
}

static lob_filter_map clamp_map(double low, double high)
{
    return (lob_filter_map){1.0f, -0.0f, (float)low, (float)high, false};
}

static bool is_scale_only(const lob_filter_map *map)
{
    return !map->identity && map->low == -INFINITY && map->high == INFINITY;
}

/* Put a map behind another. False when one map cannot do both. */
static bool join(lob_filter_map *first, const lob_filter_map *then, lob_filter_kind kind)
{
    if (first->identity) {
        *first = *then;
        return true;
    }
    if (kind != LOB_FILTER_CLAMP || !is_scale_only(first)) return false;
    first->low = then->low;
    first->high = then->high;
    return true;
}

/* Does the last pass clamp in a type whose numbers are float32s? It then does so in float32, to
 * make room for more. */
static void clamp_as_float(lob_filter_pass *pass)
{
    if (pass->kind != LOB_PASS_CLAMP || !fits_float(pass->from)) return;
    pass->kind = LOB_PASS_FLOAT;
    pass->to = LOB_F32;
    pass->op[0] = (lob_pass_op){.kind = LOB_FILTER_CLAMP,
                                .map = clamp_map(limit_in(pass->clamp[0], pass->from),
                                                 limit_in(pass->clamp[1], pass->from))};
    pass->ops = 1;
}

static lob_filter_map map_of(const lob_filter_step *s)
{
    if (s->kind == LOB_FILTER_SCALE)
        return (lob_filter_map){(float)s->factor, (float)s->offset, -INFINITY, INFINITY, false};
    return s->percent ? clamp_map(-INFINITY, INFINITY) : clamp_map(s->low, s->high);
}

/* Clamp, scale, gray, desaturate as operations of the last pass, or of a new one. */
static void add_operation(maker *m, const lob_filter_step *s, int i)
{
    const bool maps = s->kind == LOB_FILTER_CLAMP || s->kind == LOB_FILTER_SCALE;
    const bool percent = s->kind == LOB_FILTER_CLAMP && s->percent;
    const lob_filter_map map = map_of(s);
    lob_filter_pass *pass = m->fuse && !percent ? last_of(m) : NULL;
    if (s->kind == LOB_FILTER_CLAMP && !is_scaled(m) && m->type != LOB_F32) {
        pass = add(m, LOB_PASS_CLAMP, i, m->type);
        pass->statistic = percent;
        pass->clamp[0] = s->low;
        pass->clamp[1] = s->high;
        return;
    }
    if (pass) {
        clamp_as_float(pass);
        m->type = pass->to;
    }
    if (pass && pass->kind == LOB_PASS_STEP && pass->to == LOB_F32 &&
        pass->of.kind != LOB_FILTER_MEDIAN && maps && join(&pass->after, &map, s->kind))
        return;
    if (!pass || pass->kind != LOB_PASS_FLOAT || pass->to != LOB_F32 || pass->ops == LOB_PASS_OPS)
        pass = add(m, LOB_PASS_FLOAT, i, LOB_F32);
    pass->statistic |= percent;
    lob_pass_op *previous = pass->ops > 0 ? &pass->op[pass->ops - 1] : NULL;
    if (maps && previous && previous->kind == LOB_FILTER_SCALE &&
        join(&previous->map, &map, s->kind))
        return;
    pass->op[pass->ops++] = (lob_pass_op){.kind = s->kind, .map = map, .amount = (float)s->amount};
    if (s->kind == LOB_FILTER_GRAY) pass->to_channels = m->channels = 1;
}

static void add_cast(maker *m, const lob_filter_step *s, int i)
{
    lob_filter_pass *pass = m->fuse ? last_of(m) : NULL;
    if (pass && pass->kind == LOB_PASS_FLOAT && pass->to == LOB_F32)
        pass->to = m->type = s->type;
    else if (!pass || is_scaled(m) || m->type != s->type)
        add(m, LOB_PASS_CAST, i, s->type);
}

static bool is_clamp_only(const lob_filter_map *map)
{
    return map->factor == 1.0f && map->offset == 0.0f;
}

static bool is_small(float factor)
{
    return fabsf(factor) <= 0x1p64f;
}

/* Turn a last pass that is a map alone into what the step does when it reads. (What a constant edge
 * stands for is not mapped.) */
static bool take_before(maker *m, lob_filter_map *before)
{
    lob_filter_pass *pass = last_of(m);
    if (!m->fuse || !pass || m->plan->options.edge == LOB_EDGE_CONSTANT || pass->statistic ||
        pass->slope != 1.0 || pass->inter != 0.0 || !fits_float(pass->from))
        return false;
    clamp_as_float(pass);
    const bool one = pass->kind == LOB_PASS_FLOAT && pass->to == LOB_F32 && pass->ops == 1 &&
                     (pass->op[0].kind == LOB_FILTER_CLAMP || pass->op[0].kind == LOB_FILTER_SCALE);
    m->type = pass->to;
    if (!one) return false;
    /* What overflows counts as data or not depending on when it is looked at. */
    const lob_filter_map map = pass->op[0].map;
    if (!is_clamp_only(&map) &&
        (pass->from == LOB_F32 || !is_small(map.factor) || !is_small(map.offset)))
        return false;
    *before = map;
    m->type = pass->from;
    m->plan->passes--;
    return true;
}

static void add_step(maker *m, const lob_filter_step *s, int i)
{
    const bool keeps_type = s->kind == LOB_FILTER_MEDIAN;
    lob_filter_map before = identity;
    if (is_scaled(m)) add(m, LOB_PASS_FLOAT, i, LOB_F32);
    if (!keeps_type && s->kind != LOB_FILTER_DENOISE) take_before(m, &before);
    lob_filter_pass *pass = add(m, LOB_PASS_STEP, i, keeps_type ? m->type : LOB_F32);
    pass->of = *s;
    pass->before = before;
    pass->statistic = s->kind == LOB_FILTER_DENOISE && s->noise == 0;
    for (int a = 0; a < 3; a++) {
        const lob_filter_kind_row *row = &lob_filter_kinds[s->kind];
        pass->align[a] = row->align ? row->align(s, &m->plan->options, a) : 1;
        if (lob_side(m->plan->dims, a) > 1) pass->reach[a] = row->reach(s, &m->plan->options, a);
    }
}

/* ---- what is finite ---- */

/* A map leaves NaN and infinity as they are. */
static double bound_after_map(double bound, const lob_filter_map *map)
{
    if (map->identity || !(bound < INFINITY)) return bound;
    bound = bound * fabs((double)map->factor) + fabs((double)map->offset);
    const double limit = fmax(fabs((double)map->low), fabs((double)map->high));
    return fmin(bound, limit);
}

static double bound_of_type(lob_type type, double bound)
{
    const lob_type_info *info = lob_type_of(type);
    const double most = fmax(-info->lowest, info->highest);
    return info->is_integer && !(bound < most) ? most : bound;
}

/* Follow the largest absolute value through the passes; INFINITY where it is not known. */
static void bound_passes(lob_filter_plan *plan, const lob_volume *image, bool unbounded)
{
    double bound = INFINITY;
    if (lob_type_of(image->type)->is_integer)
        bound = bound_of_type(image->type, INFINITY);
    else if (!unbounded)
        bound = LOB_FILTER_BOUND;
    for (int i = 0; i < plan->passes; i++) {
        lob_filter_pass *pass = &plan->pass[i];
        bound = bound * fabs(pass->slope) + fabs(pass->inter);
        const double mapped = bound_after_map(bound, &pass->before);
        pass->finite = bound <= 0x1p120 && mapped <= 0x1p120;
        bound = mapped;
        if (pass->kind == LOB_PASS_STEP &&
            (pass->of.kind == LOB_FILTER_GRADIENT || pass->of.kind == LOB_FILTER_LAPLACIAN))
            bound = INFINITY;
        if (pass->kind == LOB_PASS_STEP && plan->options.edge == LOB_EDGE_CONSTANT)
            bound = fmax(bound, fabs(plan->options.edge_value));
        bound = bound_after_map(bound * (1 + 0x1p-10), &pass->after);
        for (int k = 0; k < pass->ops; k++)
            bound = bound_after_map(bound * (1 + 0x1p-10), &pass->op[k].map);
        bound = bound_of_type(pass->to, bound);
    }
}

/* ---- the plan ---- */

lob_status lob_filter_plan_make(lob_filter_plan *plan, const lob_filter_input *in,
                                const lob_filter_options *options, bool unbounded, bool no_fuse,
                                lob_error *error)
{
    LOB_TRY(check(in, options, error));
    const lob_volume *image = in->image;
    *plan = (lob_filter_plan){.options = *options, .dims = image->dims};
    memcpy(plan->spacing_mm, image->geometry.spacing_mm, sizeof plan->spacing_mm);
    maker m = {plan, !no_fuse, image->type, image->channels, image->slope, image->inter};
    for (int i = 0; i < in->step_count; i++) {
        const lob_filter_step *s = &in->steps[i];
        const bool colour = s->kind == LOB_FILTER_GRAY || s->kind == LOB_FILTER_DESATURATE;
        if (colour && m.channels != 3)
            return lob_fail(error, LOB_EDATA,
                            "step %d needs three channels, red, green and blue; "
                            "there %s %d",
                            i + 1, m.channels == 1 ? "is" : "are", m.channels);
        if (looks_around(s->kind))
            add_step(&m, s, i);
        else if (s->kind == LOB_FILTER_CAST)
            add_cast(&m, s, i);
        else
            add_operation(&m, s, i);
    }
    bound_passes(plan, image, unbounded);
    return LOB_OK;
}

lob_status lob_filter_result(lob_type *type, int *channels, const lob_filter_input *in,
                             const lob_filter_options *options, lob_error *error)
{
    lob_filter_plan plan;
    LOB_TRY(lob_filter_plan_make(&plan, in, options, false, false, error));
    *type = plan.pass[plan.passes - 1].to;
    *channels = plan.pass[plan.passes - 1].to_channels;
    return LOB_OK;
}

void lob_filter_note_steps(lob_filter_output *out, const lob_filter_input *in)
{
    for (int i = 0; i < in->step_count; i++) {
        const lob_filter_step *s = &in->steps[i];
        out->noise[i] = s->kind == LOB_FILTER_DENOISE ? s->noise : 0;
        out->clamps[i][0] = s->kind == LOB_FILTER_CLAMP ? s->low : 0;
        out->clamps[i][1] = s->kind == LOB_FILTER_CLAMP ? s->high : 0;
    }
}

int lob_filter_plan_part(const lob_filter_plan *plan, int first)
{
    int end = first + 1;
    while (end < plan->passes && !plan->pass[end].statistic) end++;
    return end;
}

lob_filter_call lob_filter_plan_call(const lob_filter_plan *plan, const lob_filter_pass *pass,
                                     const uint8_t *mask, const int64_t origin[3])
{
    lob_filter_call call = {.step = &pass->of,
                            .options = &plan->options,
                            .mask = mask,
                            .finite = pass->finite,
                            .before = pass->before,
                            .after = pass->after};
    memcpy(call.spacing_mm, plan->spacing_mm, sizeof call.spacing_mm);
    memcpy(call.origin, origin, sizeof call.origin);
    return call;
}

void lob_filter_plan_clamp(lob_filter_pass *pass, const double found[2])
{
    if (pass->kind == LOB_PASS_CLAMP) {
        pass->clamp[0] = found[0];
        pass->clamp[1] = found[1];
        return;
    }
    const bool whole =
        fits_float(pass->from) && pass->from != LOB_F32 && pass->slope == 1.0 && pass->inter == 0.0;
    for (int i = 0; i < 2; i++) {
        const float limit = (float)(whole ? limit_in(found[i], pass->from) : found[i]);
        *(i ? &pass->op[0].map.high : &pass->op[0].map.low) = limit;
    }
}

int64_t lob_filter_pass_bytes(const lob_filter_pass *pass, int64_t voxels)
{
    return voxels * pass->to_channels * (int64_t)lob_type_of(pass->to)->bytes;
}

void lob_filter_plan_places(const lob_filter_plan *plan, int first, int end, int64_t voxels,
                            int place[], int64_t bytes[2])
{
    const int64_t room = lob_filter_pass_bytes(&plan->pass[end - 1], voxels);
    bytes[0] = bytes[1] = 0;
    place[end - 1 - first] = 0;
    for (int i = end - 2; i >= first; i--) {
        const int next = place[i + 1 - first];
        const int64_t mine = lob_filter_pass_bytes(&plan->pass[i], voxels);
        const int p = next != 0 && mine <= room ? 0 : next == 1 ? 2 : 1;
        place[i - first] = p;
        if (p > 0 && mine > bytes[p - 1]) bytes[p - 1] = mine;
    }
}
