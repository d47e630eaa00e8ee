/* Weights and the sequence of passes of Gaussian steps. */
#include "kernels/filters/gaussian/gaussian_plan.h"

#include "kernels/filters/filter_edge.h"
#include "kernels/filters/gaussian/gaussian.h"

#include <math.h>

static int64_t radius_of(double sigma)
{
    return (int64_t)(4.0 * sigma + 0.5);
}

static void make_coarse(lob_gaussian_axis *a)
{
    const double s = a->sigma / sqrt(2.0);
    a->coarse = true;
    a->radius = (int64_t)(4.5 * s + 0.5);
    a->m = (int64_t)s;
    a->before = a->radius / a->m;
    const int64_t after = (a->radius + a->m - 1) / a->m;
    a->samples = (a->n - 1) / a->m + 1 + a->before + after;
}

/* What an axis of n voxels will be; sigma in voxels. */
static lob_gaussian_axis axis_of(double sigma, int64_t n, bool exact)
{
    lob_gaussian_axis a = {.sigma = sigma, .n = n, .radius = radius_of(sigma), .m = 1};
    a.used = sigma > 0;
    a.total[0] = 1.0;
    if (exact || sigma < LOB_GAUSSIAN_COARSE) return a;
    lob_gaussian_axis coarse = a;
    make_coarse(&coarse);
    return coarse.samples <= n ? coarse : a;
}

/* Before derivatives are taken, what is no data is filled from as far away. */
int64_t lob_gaussian_reach(const lob_filter_step *step, const lob_filter_options *options, int axis)
{
    const lob_gaussian_axis a = axis_of(step->along[axis], INT64_MAX / 2, options->exact);
    const int64_t reach = !a.used ? 0 : a.coarse ? 2 * a.radius : a.radius;
    return step->kind == LOB_FILTER_GAUSSIAN ? reach : 2 * reach;
}

int64_t lob_gaussian_align(const lob_filter_step *step, const lob_filter_options *options, int axis)
{
    return axis_of(step->along[axis], INT64_MAX / 2, options->exact).m;
}

/* ---- weights ---- */

/* Takes n items of the plan's tables, in multiples of 4; returns their position. */
static int64_t take(lob_gaussian_plan *plan, int64_t n)
{
    const int64_t at = plan->table_items;
    plan->table_items += (n + 3) / 4 * 4;
    return at;
}

/* The factor that makes a Gaussian's weight at x that of its derivative, for a sum of products: the
 * kernel of a convolution, mirrored. */
static double derivative(double x, double sigma, int order)
{
    const double square = sigma * sigma;
    return order == 0 ? 1.0 : order == 1 ? x / square : x * x / (square * square) - 1.0 / square;
}

/*
 * The weights of a row: tap t is `from` + t voxels away; those farther than radius are 0. They are
 * divided by the sum of the Gaussian's weights over the row. Where voxels are left out in between,
 * or are too far apart for sigma (balance), derivatives are made to give 0 for a constant.
 */
static void fill_row(float *row, int64_t taps, double from, double step, int64_t radius,
                     double sigma, int order, bool balance)
{
    double sum = 0, moment = 0;
    for (int pass = 0; pass < 3; pass++)
        for (int64_t t = 0; t < taps; t++) {
            const double x = from + step * (double)t;
            const double g = fabs(x) <= (double)radius ? exp(-0.5 * x * x / (sigma * sigma)) : 0.0;
            if (pass == 0) sum += g;
            if (pass == 1) moment += g / sum * derivative(x, sigma, order);
            const double off = balance && order > 0 ? moment : 0.0;
            if (pass == 2) row[t] = (float)(g / sum * (derivative(x, sigma, order) - off));
        }
}

static void make_smooth(lob_gaussian_plan *plan, lob_gaussian_axis *a, int order)
{
    lob_line_op *const op = &a->smooth[order];
    *op = (lob_line_op){a->n, a->n, 1, 1, -a->radius, 2 * a->radius + 1, .scale = -1};
    op->pitch = op->taps;
    op->weights = take(plan, op->taps);
    if (plan->tables)
        fill_row(plan->tables + op->weights, op->taps, -(double)a->radius, 1, a->radius, a->sigma,
                 order, a->sigma < 1.0);
    for (int64_t t = 0; plan->tables && order > 0 && t < op->taps; t++)
        a->total[order] += (double)plan->tables[op->weights + t];
}

static void make_reduce(lob_gaussian_plan *plan, lob_gaussian_axis *a)
{
    const double s = a->sigma / sqrt(2.0);
    lob_line_op *const op = &a->reduce;
    *op = (lob_line_op){
        a->n, a->samples, 1, a->m, -a->m * a->before - a->radius, 2 * a->radius + 1, .scale = -1};
    op->pitch = op->taps;
    op->weights = take(plan, op->taps);
    a->reduce_ring = take(plan, a->m * LOB_GAUSSIAN_RING);
    if (!plan->tables) return;
    float *const weights = plan->tables + op->weights;
    fill_row(weights, op->taps, -(double)a->radius, 1, a->radius, s, 0, false);
    float *const ring = plan->tables + a->reduce_ring;
    for (int64_t p = 0; p < a->m; p++)
        for (int64_t k = 0; k < LOB_GAUSSIAN_RING; k++) {
            const int64_t t = p - a->m * (k - a->before) + a->radius;
            ring[p * LOB_GAUSSIAN_RING + k] = t >= 0 && t < op->taps ? weights[t] : 0.0f;
        }
}

/* Row p: the fine voxel p beyond a sample; its first tap is the sample `before` samples back. */
static void make_expand(lob_gaussian_plan *plan, lob_gaussian_axis *a, int order)
{
    const double s = a->sigma / sqrt(2.0);
    const int64_t after = (a->radius + a->m - 1) / a->m;
    lob_line_op *const op = &a->expand[order];
    *op = (lob_line_op){a->samples, a->n, a->m, 1, 0, a->before + after + 1, .scale = -1};
    op->pitch = LOB_GAUSSIAN_RING;
    op->weights = take(plan, op->up * op->pitch);
    for (int64_t p = 0; plan->tables && p < a->m; p++)
        fill_row(plan->tables + op->weights + p * op->pitch, op->pitch,
                 -(double)(a->before * a->m + p), (double)a->m, a->radius, s, order, true);
}

/* ---- renormalised edges ---- */

/* Sum of the weights of input positions inside of the line, for output i of an operation whose
 * inputs count `ones` each (NULL: 1). */
static double weight_inside(const lob_gaussian_plan *plan, const lob_line_op *op, int64_t i,
                            const double *ones)
{
    const float *row = plan->tables + op->weights + i % op->up * op->pitch;
    const int64_t start = i / op->up * op->down + op->first;
    double sum = 0;
    for (int64_t t = 0; t < op->taps; t++)
        if (start + t >= 0 && start + t < op->n_in)
            sum += (double)row[t] * (ones ? ones[start + t] : 1.0);
    return sum;
}

/* The reciprocal of the weight that falls inside; exactly 1 where all of it does. */
static lob_status make_scale(lob_gaussian_plan *plan, lob_gaussian_axis *a, lob_budget *budget,
                             lob_error *error)
{
    lob_line_op *const op = a->coarse ? &a->expand[0] : &a->smooth[0];
    op->scale = take(plan, a->n);
    if (!plan->tables) return LOB_OK;
    double *ones = NULL;
    if (a->coarse) {
        LOB_TRY(lob_budget_alloc(budget, &ones, a->samples, sizeof *ones, error));
        for (int64_t k = 0; k < a->samples; k++) ones[k] = weight_inside(plan, &a->reduce, k, NULL);
    }
    const int64_t reach = a->coarse ? 2 * a->radius : a->radius;
    for (int64_t i = 0; i < a->n; i++) {
        const bool whole = i >= reach && i + reach < a->n;
        plan->tables[op->scale + i] =
            whole ? 1.0f : (float)(1.0 / weight_inside(plan, op, i, ones));
    }
    lob_budget_free(budget, ones, a->samples, sizeof *ones);
    return LOB_OK;
}

static void make_keep(lob_gaussian_plan *plan)
{
    const int64_t n = plan->axis[0].n;
    plan->keep = (lob_line_op){n, n, 1, 1, 0, 1, .pitch = 1, .scale = -1};
    plan->keep.weights = take(plan, 1);
    if (plan->tables) plan->tables[plan->keep.weights] = 1.0f;
}

/* Lay out the tables, and fill them where there are any. */
static lob_status make_tables(lob_gaussian_plan *plan, bool renormalise, lob_budget *budget,
                              lob_error *error)
{
    plan->table_items = 0;
    const int orders = plan->derivatives ? LOB_GAUSSIAN_ORDERS : 1;
    for (int i = 0; i < 3; i++) {
        lob_gaussian_axis *const a = &plan->axis[i];
        if (!a->used) continue;
        if (a->coarse) make_reduce(plan, a);
        for (int order = 0; order < orders; order++)
            if (a->coarse)
                make_expand(plan, a, order);
            else
                make_smooth(plan, a, order);
        if (renormalise) LOB_TRY(make_scale(plan, a, budget, error));
    }
    if (plan->table_items == 0) make_keep(plan);
    return LOB_OK;
}

lob_status lob_gaussian_plan_make(lob_gaussian_plan *plan, lob_dims dims,
                                  const lob_filter_call *call, lob_budget *budget, lob_error *error)
{
    const lob_filter_options *options = call->options;
    const bool derivatives = call->step->kind != LOB_FILTER_GAUSSIAN;
    const bool all = call->finite && !call->mask;
    *plan = (lob_gaussian_plan){.derivatives = derivatives};
    for (int a = 0; a < 3; a++) {
        plan->axis[a] = axis_of(call->step->along[a], lob_side(dims, a), options->exact);
        plan->coarse = plan->coarse || (plan->axis[a].used && plan->axis[a].coarse);
    }
    const bool renormalise = options->edge == LOB_EDGE_RENORMALISE && all && !derivatives;
    LOB_TRY(make_tables(plan, renormalise, budget, error));
    if (!budget) return LOB_OK;
    LOB_TRY(
        lob_budget_alloc(budget, &plan->tables, plan->table_items, sizeof *plan->tables, error));
    const lob_status status = make_tables(plan, renormalise, budget, error);
    if (status != LOB_OK) lob_gaussian_plan_free(plan, budget);
    return status;
}

void lob_gaussian_plan_free(lob_gaussian_plan *plan, lob_budget *budget)
{
    lob_budget_free(budget, plan->tables, plan->table_items, sizeof *plan->tables);
    plan->tables = NULL;
}

/* ---- the sequence of passes ---- */

static void set_side(lob_dims *dims, int axis, int64_t n)
{
    *(axis == 0 ? &dims->nx : axis == 1 ? &dims->ny : &dims->nz) = n;
}

int lob_gaussian_passes(lob_gaussian_pass *passes, const lob_gaussian_plan *plan, lob_dims dims,
                        const int order[3], lob_edge edge, float outside)
{
    int count = 0;
    lob_dims now = dims;
    for (int stage = 0; stage < 3; stage++)
        for (int i = 0; i < 3; i++) {
            const int axis = stage == 0 ? 2 - i : i;
            const lob_gaussian_axis *a = &plan->axis[axis];
            if (!a->used || a->coarse != (stage != 1)) continue;
            lob_gaussian_pass *const pass = &passes[count++];
            pass->axis = axis;
            pass->op = stage == 0   ? a->reduce
                       : stage == 1 ? a->smooth[order[axis]]
                                    : a->expand[order[axis]];
            pass->in = now;
            set_side(&now, axis, pass->op.n_out);
            pass->out = now;
            pass->edge = edge;
            pass->outside = outside;
            if (stage > 0) outside = (float)(outside * a->total[order[axis]]);
        }
    if (count == 0)
        passes[count++] = (lob_gaussian_pass){
            .op = plan->keep, .in = dims, .out = dims, .edge = LOB_EDGE_NEAREST};
    return count;
}
