/* The host's part of appearance: options, tables of scores, slices of an outline. */
#include "kernels/appearance/appearance_plan.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

lob_appearance_options lob_appearance_defaults(void)
{
    return (lob_appearance_options){
        .bins = 64,
        .bin_sigma = 2,
        .whole = 0.5,
        .far = 4,
        .far_quantile = 0.75,
        .blocks = 1 << 19,
        .shape = 2,
        .shape_mm = 0,
        .shape_widen = 0.3,
        .shape_slope = 0.5,
        .local_mm = 15,
        .local_axis = 2,
    };
}

static bool between(double value, double low, double high)
{
    return value >= low && value <= high; /* NaN is not */
}

static lob_status check(const lob_appearance_input *in, const lob_appearance_options *o,
                        lob_error *error)
{
    const double counted = in->counts ? in->counts->labels : in->labels;
    const double blur_mm = o->levels ? o->blur_mm : 0;
    const struct {
        double value, low, high;
        const char *what;
    } rules[] = {
        {o->bins,           2,          LOB_APPEARANCE_MAX_BINS,   "the number of bins"               },
        {o->bin_sigma,      0,          100,                       "the width along the bins"         },
        {o->whole,          0,          1,                         "the share of the whole"           },
        {o->partial_volume, 0,          1,                         "the share of partial volume"      },
        {o->far,            0,          16,                        "what far voxels lose"             },
        {o->far_quantile,   0,          1,                         "the quantile of the reach"        },
        {o->far_mm,         0,          1e6,                       "the least reach"                  },
        {o->shape,          0,          16,                        "what an outline gives"            },
        {o->shape_mm,       0,          1e6,                       "the width of a border"            },
        {o->shape_widen,    0,          1e6,                       "the growth of that width"         },
        {o->shape_slope,    0,          1e6,                       "the slope beyond an outline"      },
        {o->local,          0,          1,                         "the share of strokes nearby"      },
        {o->local_mm,       1e-6,       1e6,                       "the way between nodes"            },
        {(double)o->blocks, 1,          INFINITY,                  "the number of blocks"             },
        {o->local_axis,     0,          2,                         "the axis of local scores"         },
        {blur_mm,           0,          1e6,                       "what smooths the shares"          },
        {in->labels,        2,          LOB_APPEARANCE_MAX_LABELS, "the number of labels"             },
        {in->background,    1,          in->labels,                "the background's label"           },
        {counted,           in->labels, in->labels,                "the labels of the strokes' counts"},
        {in->view_count,    1,          LOB_APPEARANCE_MAX_VIEWS,  "the number of views"              },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!between(rules[i].value, rules[i].low, rules[i].high))
            return lob_fail(error, LOB_EARG, "appearance: %s is out of its range", rules[i].what);
    return LOB_OK;
}

static lob_status take_views(lob_appearance_plan *plan, lob_error *error)
{
    const lob_appearance_input *in = plan->in;
    if (in->counts && memcmp(&in->counts->dims, &plan->dims, sizeof plan->dims) != 0)
        return lob_fail(error, LOB_EARG, "appearance: strokes were counted in another size");
    for (int v = 0; v < in->view_count; v++) {
        const lob_volume *of = in->views[v];
        if (memcmp(&of->dims, &plan->dims, sizeof plan->dims) != 0)
            return lob_fail(error, LOB_EARG, "appearance: views differ in size");
        if (of->channels > LOB_APPEARANCE_MAX_VIEWS - plan->channels)
            return lob_fail(error, LOB_EARG, "appearance: views have more than %d channels",
                            LOB_APPEARANCE_MAX_VIEWS);
        for (int c = 0; c < of->channels; c++)
            plan->view[plan->channels++] =
                (lob_appearance_view){.volume = of, .channel = c, .share = 1.0 / of->channels};
    }
    return LOB_OK;
}

/* Double blocks along the axis where they are shortest, until there are few enough. */
static void choose_blocks(lob_appearance_plan *plan)
{
    lob_appearance_blocks *const b = &plan->blocks;
    int64_t side[3];
    for (int a = 0; a < 3; a++) side[a] = lob_side(plan->dims, a);
    while (side[0] * side[1] * side[2] > plan->options->blocks) {
        int axis = -1;
        for (int a = 0; a < 3; a++)
            if (side[a] > 1 && (axis < 0 || ldexp(plan->spacing[a], b->shift[a]) <
                                                ldexp(plan->spacing[axis], b->shift[axis])))
                axis = a;
        b->shift[axis]++;
        side[axis] = (side[axis] + 1) / 2;
    }
    b->nx = side[0];
    b->ny = side[1];
    b->count = side[0] * side[1] * side[2];
}

int lob_appearance_channels(const lob_appearance_input *in, const lob_appearance_options *options)
{
    return in->labels - 1 + (options->values ? in->views[0]->channels : 0);
}

lob_status lob_appearance_plan_make(lob_appearance_plan *plan, const lob_appearance_input *in,
                                    const lob_appearance_options *options, lob_error *error)
{
    *plan = (lob_appearance_plan){.in = in, .options = options};
    LOB_TRY(check(in, options, error));
    plan->dims = in->views[0]->dims;
    plan->voxels = lob_dims_voxels(plan->dims);
    memcpy(plan->spacing, in->views[0]->geometry.spacing_mm, sizeof plan->spacing);
    plan->border_mm =
        options->shape_mm > 0 ? options->shape_mm : lob_least_spacing(plan->dims, plan->spacing);
    choose_blocks(plan);
    LOB_TRY(take_views(plan, error));
    for (int32_t l = 1; l <= in->labels; l++)
        if (l != in->background) plan->label[plan->wanted++] = l;
    plan->values = lob_appearance_channels(in, options) - plan->wanted;
    plan->slots = options->bins + 3;
    const size_t rows = (size_t)plan->channels * (size_t)plan->slots;
    plan->counts = calloc(rows * (size_t)(in->labels + 1), sizeof *plan->counts);
    plan->table = calloc(rows * (size_t)plan->wanted, sizeof *plan->table);
    plan->exps = malloc(LOB_APPEARANCE_EXPS * sizeof *plan->exps);
    if (!plan->counts || !plan->table || !plan->exps)
        return lob_fail(error, LOB_ENOMEM, "no memory left for tables of appearance");
    return LOB_OK;
}

void lob_appearance_find_exps(lob_appearance_plan *plan)
{
    for (int i = 0; i < LOB_APPEARANCE_EXPS; i++)
        plan->exps[i] = exp((double)(i - LOB_APPEARANCE_LIMIT) / LOB_APPEARANCE_ONE);
}

void lob_appearance_plan_free(lob_appearance_plan *plan)
{
    free(plan->counts);
    free(plan->table);
    free(plan->exps);
    plan->counts = NULL;
    plan->table = NULL;
    plan->exps = NULL;
}

lob_appearance_scale lob_appearance_scale_of(const lob_appearance_plan *plan, float low, float high)
{
    lob_appearance_scale scale = {.low = low, .bins = plan->options->bins};
    if (low > high) scale.low = high = 0;
    scale.width = (high - scale.low) / (float)scale.bins;
    if (!(scale.width > 0)) scale.width = 1;
    if (!isfinite(scale.width)) scale.width = FLT_MAX / (float)scale.bins;
    return scale;
}

/* ---- tables of scores ---- */

int lob_appearance_bin_kernel(double weight[LOB_APPEARANCE_KERNEL], double sigma)
{
    const int radius = (int)(4 * sigma + 0.5);
    double sum = 0;
    for (int i = -radius; i <= radius; i++) {
        const double at = sigma > 0 ? i / sigma : 0;
        weight[i + radius] = exp(-0.5 * at * at);
        sum += weight[i + radius];
    }
    for (int i = 0; i <= 2 * radius; i++) weight[i] /= sum;
    return radius;
}

void lob_appearance_bin_shares(double *share, const int64_t *counts, int n, const double *weight,
                               int radius)
{
    double total = 0;
    for (int b = 0; b < n; b++) {
        double sum = 0;
        for (int i = -radius; i <= radius; i++) {
            const int at = b + i < 0 ? 0 : b + i >= n ? n - 1 : b + i;
            sum += weight[i + radius] * (double)counts[at];
        }
        share[b] = sum;
        total += sum;
    }
    for (int b = 0; b < n; b++) share[b] = (share[b] + 0.5 / n) / (total + 0.5);
}

/* Shares of bins of voxels that hold two tissues, more of `most` than of `least`, whose shares are
 * given: of each pair of bins evenly those from the first to halfway to the second. */
static void mix(double *mixed, const double *most, const double *least, int n)
{
    double change[LOB_APPEARANCE_MAX_BINS + 3] = {0}, sum = 0;
    for (int a = 0; a < n; a++)
        for (int c = 0; c < n; c++) {
            const int half = (c > a ? c - a : a - c) / 2, from = c > a ? a : a - half;
            const double each = most[a] * least[c] / (half + 1);
            change[from] += each;
            change[from + half + 1] -= each;
        }
    for (int b = 0; b < n; b++) {
        sum += change[b];
        mixed[b] = fmax(sum, 0); /* below by rounding only */
    }
}

/* Work of a channel's table. */
typedef struct {
    double weight[LOB_APPEARANCE_KERNEL];
    int radius;
    double whole[LOB_APPEARANCE_MAX_BINS + 2], background[LOB_APPEARANCE_MAX_BINS + 2],
        own[LOB_APPEARANCE_MAX_BINS + 2], rest[LOB_APPEARANCE_MAX_BINS + 2],
        own_mixed[LOB_APPEARANCE_MAX_BINS + 2], rest_mixed[LOB_APPEARANCE_MAX_BINS + 2];
} bin_work;

/* Let voxels that hold two tissues have their part in the shares of bins of the label, and of the
 * background, which rest has. */
static void add_partial_volume(bin_work *w, double part, int n)
{
    if (part == 0) return;
    mix(w->own_mixed, w->own, w->rest, n);
    mix(w->rest_mixed, w->rest, w->own, n);
    for (int b = 0; b < n; b++) {
        w->own[b] = (1 - part) * w->own[b] + part * w->own_mixed[b];
        w->rest[b] = (1 - part) * w->rest[b] + part * w->rest_mixed[b];
    }
}

static void channel_table(lob_appearance_plan *plan, int channel, bin_work *w)
{
    const int n = plan->options->bins + 2;
    const double share = plan->options->whole;
    lob_appearance_bin_shares(w->whole, lob_appearance_counts(plan, channel, 0), n, w->weight,
                              w->radius);
    lob_appearance_bin_shares(w->background,
                              lob_appearance_counts(plan, channel, plan->in->background), n,
                              w->weight, w->radius);
    for (int k = 0; k < plan->wanted; k++) {
        lob_appearance_bin_shares(w->own, lob_appearance_counts(plan, channel, plan->label[k]), n,
                                  w->weight, w->radius);
        memcpy(w->rest, w->background, sizeof w->rest);
        add_partial_volume(w, plan->options->partial_volume, n);
        for (int b = 0; b < n; b++) {
            const double against = (1 - share) * w->rest[b] + share * w->whole[b];
            const double nats = plan->view[channel].share * log(w->own[b] / against);
            plan->table[((int64_t)channel * plan->slots + b) * plan->wanted + k] =
                (int32_t)rint(LOB_APPEARANCE_ONE * nats);
        }
    }
}

lob_status lob_appearance_tables(lob_appearance_plan *plan, lob_error *error)
{
    bin_work *w = malloc(sizeof *w);
    if (!w) return lob_fail(error, LOB_ENOMEM, "no memory left for tables of appearance");
    w->radius = lob_appearance_bin_kernel(w->weight, plan->options->bin_sigma);
    for (int c = 0; c < plan->channels; c++) channel_table(plan, c, w);
    free(w);
    return LOB_OK;
}

/* ---- levels ---- */

void lob_appearance_blur(lob_filter_step *step, lob_dims dims, const double spacing_mm[3],
                         double blur_mm)
{
    step->kind = LOB_FILTER_GAUSSIAN;
    for (int a = 0; a < 3; a++)
        step->along[a] = lob_side(dims, a) > 1 ? blur_mm / spacing_mm[a] : 0;
}

int lob_appearance_steps(lob_filter_step steps[LOB_APPEARANCE_STEPS], const lob_volume *grid,
                         double blur_mm)
{
    int n = 0;
    memset(steps, 0, LOB_APPEARANCE_STEPS * sizeof *steps);
    if (blur_mm > 0)
        lob_appearance_blur(&steps[n++], grid->dims, grid->geometry.spacing_mm, blur_mm);
    steps[n].kind = LOB_FILTER_SCALE;
    steps[n++].factor = 255;
    steps[n].kind = LOB_FILTER_CAST;
    steps[n++].type = LOB_U8;
    return n;
}

/* ---- the reach of strokes ---- */

uint32_t lob_appearance_rank(const int64_t *counts, int64_t *rank)
{
    uint32_t half = 0;
    while (half < LOB_APPEARANCE_HALF - 1 && *rank >= counts[half]) *rank -= counts[half++];
    return half;
}

int64_t lob_appearance_reach_rank(const lob_appearance_plan *plan, int64_t n)
{
    const int64_t rank = (int64_t)(plan->options->far_quantile * (double)n);
    return rank < n ? rank : n - 1;
}

float lob_appearance_reach(const lob_appearance_plan *plan, uint32_t high, uint32_t low)
{
    const uint32_t bits = high << 16 | low;
    double shortest = INFINITY;
    float reach;
    memcpy(&reach, &bits, sizeof reach);
    reach = fmaxf(reach, (float)plan->options->far_mm);
    for (int a = 0; a < 3; a++)
        if (lob_side(plan->dims, a) > 1)
            shortest = fmin(shortest, ldexp(plan->spacing[a], plan->blocks.shift[a]));
    return isfinite(shortest) ? fmaxf(reach, (float)(shortest / 2)) : fmaxf(reach, FLT_MIN);
}

lob_distance_input lob_appearance_far_input(const lob_appearance_plan *plan, const void *marks)
{
    const lob_appearance_blocks *const b = &plan->blocks;
    const lob_dims dims = {b->nx, b->ny, b->count / (b->nx * b->ny)};
    lob_distance_input in = {.labels = marks, .type = LOB_U8, .dims = dims};
    for (int a = 0; a < 3; a++) in.spacing[a] = ldexp(plan->spacing[a], b->shift[a]);
    return in;
}

/* ---- the outline ---- */

/* Beyond the first and the last of several slices the slope tells what becomes of a border, and it
 * is known so much better. */
static const double sure_ends = 3;

/* What slice s takes of slices a and b of the stack, at their places in the volume. */
static lob_appearance_place place_of(const lob_appearance_plan *plan,
                                     const lob_appearance_stack *stack, int64_t s, int64_t a)
{
    const double mm = plan->spacing[stack->axis];
    const int64_t *at = stack->slices, last = stack->count - 1;
    lob_appearance_place p = {.first_weight = 1};
    double away; /* mm */
    double widen = plan->options->shape_widen;
    if (s <= at[0] || s >= at[last]) {
        const int64_t end = s <= at[0] ? 0 : last;
        p.first = p.second = (int32_t)end;
        away = (double)(s <= at[0] ? at[0] - s : s - at[end]) * mm;
        p.minus = (float)(plan->options->shape_slope * away);
        if (stack->count > 1) widen /= sure_ends;
    } else {
        const int64_t before = s - at[a], after = at[a + 1] - s;
        const double part = (double)before / (double)(before + after);
        p.first = (int32_t)a;
        p.second = (int32_t)a + 1;
        p.first_weight = (float)(1 - part);
        p.second_weight = (float)part;
        away = (double)(before < after ? before : after) * mm;
    }
    p.per_mm = (float)(1 / (plan->border_mm + widen * away));
    return p;
}

static void set_strides(lob_appearance_stack *stack, const lob_appearance_plan *plan)
{
    lob_dims d = plan->dims;
    if (stack->axis == 0) d.nx = stack->count;
    if (stack->axis == 1) d.ny = stack->count;
    if (stack->axis == 2) d.nz = stack->count;
    const int64_t stride[3] = {1, d.nx, d.nx * d.ny};
    stack->dims = d;
    stack->voxels = lob_dims_voxels(d);
    stack->shape = (lob_appearance_shape){
        .axis = stack->axis,
        .slice = stride[stack->axis],
        .most = (float)plan->options->shape,
        .least = -(float)fmax(plan->options->shape, plan->options->far),
    };
    for (int a = 0; a < 3; a++) stack->shape.stride[a] = a == stack->axis ? 0 : stride[a];
}

lob_status lob_appearance_stack_make(lob_appearance_stack *stack, const lob_appearance_plan *plan,
                                     const lob_strokes *strokes, int32_t label, int axis,
                                     lob_error *error)
{
    *stack = (lob_appearance_stack){.axis = axis};
    const int64_t side = lob_side(plan->dims, stack->axis);
    stack->slices = malloc((size_t)side * sizeof *stack->slices);
    stack->places = malloc((size_t)side * sizeof *stack->places);
    if (!stack->slices || !stack->places)
        return lob_fail(error, LOB_ENOMEM, "no memory left for the slices of an outline");
    stack->count = lob_strokes_drawn(stack->slices, strokes, label, stack->axis);
    if (stack->count == 0) return LOB_OK;
    set_strides(stack, plan);
    for (int64_t s = 0, a = 0; s < side; s++) {
        while (a + 1 < stack->count && stack->slices[a + 1] <= s) a++;
        stack->places[s] = place_of(plan, stack, s, a);
    }
    return LOB_OK;
}

void lob_appearance_stack_free(lob_appearance_stack *stack)
{
    free(stack->slices);
    free(stack->places);
    *stack = (lob_appearance_stack){.count = 0};
}

lob_distance_input lob_appearance_stack_input(const lob_appearance_stack *stack,
                                              const lob_appearance_plan *plan, const void *inside)
{
    lob_distance_input in = {.labels = inside, .type = LOB_U8, .dims = stack->dims};
    memcpy(in.spacing, plan->spacing, sizeof in.spacing);
    in.spacing[stack->axis] = INFINITY;
    return in;
}
