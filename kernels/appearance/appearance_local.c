/* Tables of scores at nodes, learnt from strokes nearby. */
#include "kernels/appearance/appearance_local.h"

#include <stdlib.h>
#include <string.h>

/* Strokes of a label in a slice that are learnt from: more say nothing new of their values. */
enum { MOST_SAMPLES = 256 };

/* A node's strokes: those of its slice, and of the next slices before and after it with strokes of
 * two labels, as one that has been corrected with a label alone tells nothing of the others. */
enum { NEAR_SLICES = 3 };

/* The table has at most so many scores, or half as many as there are voxels. */
static const int64_t least_items = 1 << 20;

/* How far strokes speak: at least so many mm, and so many times as far as the nearest is. */
static const double least_sigma = 15, sigma_by_distance = 3;

/* What any value may have anywhere, beside shares of strokes for each mm2. */
static const double floor_share = 2e-5;

/* exp(-x) is looked up in steps of 1/FALL_STEPS, up to FALL_END, from where on it is 0. */
enum { FALL_STEPS = 256, FALL_END = 16, FALLS = FALL_STEPS * FALL_END };

/* ---- nodes ---- */

/* Axes of a slice. */
static int axis_in(int across, int k)
{
    return k == 0 ? (across == 0 ? 1 : 0) : across == 2 ? 1 : 2;
}

static int64_t nodes_along(const lob_appearance_plan *plan, int axis, double apart)
{
    const double mm = (double)(lob_side(plan->dims, axis) - 1) * plan->spacing[axis];
    return (int64_t)ceil(fmin(mm / apart, 1e9) - 1e-6) + 1;
}

static void choose_nodes(lob_appearance_nodes *n, const lob_appearance_plan *plan)
{
    const int across = plan->options->local_axis;
    const int64_t most = plan->voxels / 2 > least_items ? plan->voxels / 2 : least_items;
    double apart = plan->options->local_mm;
    n->slices = lob_side(plan->dims, across);
    n->look.axis = across;
    n->look.entries = (int64_t)plan->channels * plan->slots * plan->wanted;
    for (;;) {
        for (int k = 0; k < 2; k++) n->nodes[k] = nodes_along(plan, axis_in(across, k), apart);
        n->items = lob_product(n->slices * n->look.entries, n->nodes[0], n->nodes[1], 1);
        apart *= 1.25;
        if ((n->items >= 0 && n->items <= most) || (n->nodes[0] <= 2 && n->nodes[1] <= 2)) break;
    }
    for (int k = 0; k < 2; k++) {
        const int axis = axis_in(across, k);
        const double mm = (double)(lob_side(plan->dims, axis) - 1) * plan->spacing[axis];
        n->apart[k] = n->nodes[k] > 1 ? mm / (double)(n->nodes[k] - 1) : 1;
    }
}

/* Where the voxels along an axis lie between nodes. */
static void place_voxels(lob_appearance_nodes *n, const lob_appearance_plan *plan)
{
    const int across = plan->options->local_axis;
    const int64_t in_slice = n->nodes[0] * n->nodes[1];
    lob_appearance_between *to = n->between;
    for (int axis = 0; axis < 3; axis++) {
        const int k = axis == axis_in(across, 0) ? 0 : 1;
        const int64_t side = lob_side(plan->dims, axis), stride = k == 0 ? 1 : n->nodes[0];
        n->look.between[axis] = to;
        for (int64_t i = 0; i < side; i++, to++) {
            if (axis == across) {
                *to = (lob_appearance_between){.first = i * in_slice, .second = i * in_slice};
                continue;
            }
            const double at = (double)i * plan->spacing[axis] / n->apart[k];
            int64_t node = (int64_t)at;
            if (node > n->nodes[k] - 1) node = n->nodes[k] - 1;
            const int64_t next = node + 1 < n->nodes[k] ? node + 1 : node;
            *to = (lob_appearance_between){
                .first = node * stride,
                .second = next * stride,
                .part = (int32_t)rint(LOB_APPEARANCE_PARTS * fmin(at - (double)node, 1))};
        }
    }
}

/* ---- strokes ---- */

/* Where a voxel of row y, z lies. */
static int64_t slice_of(int across, int64_t x, int64_t y, int64_t z)
{
    return across == 0 ? x : across == 1 ? y : z;
}

/* Go through all strokes: count them, or, with `seen`, take those that are learnt from. */
static void walk(lob_appearance_nodes *n, const lob_appearance_plan *plan, const void *seeds,
                 int64_t *counts, int64_t *seen)
{
    const lob_dims d = plan->dims;
    const lob_type type = plan->in->seed_type;
    const int across = plan->options->local_axis;
    for (int64_t i = 0; (i = lob_next_label(seeds, type, i, plan->voxels)) < plan->voxels; i++) {
        const int32_t label = lob_label_at(seeds, type, i);
        const int64_t at[3] = {i % d.nx, i / d.nx % d.ny, i / (d.nx * d.ny)};
        const int64_t of = slice_of(across, at[0], at[1], at[2]) * plan->in->labels + label - 1;
        if (!seen) {
            counts[of]++;
            continue;
        }
        const int64_t step = 1 + (counts[of] - 1) / MOST_SAMPLES, rank = seen[of]++;
        if (rank % step != 0) continue;
        const int64_t to = n->samples.first[of] + rank / step;
        n->samples.voxel[to] = i;
        for (int k = 0; k < 2; k++) {
            const int axis = axis_in(across, k);
            n->samples.place[2 * to + k] = (float)((double)at[axis] * plan->spacing[axis]);
        }
    }
}

static lob_status take_samples(lob_appearance_nodes *n, const lob_appearance_plan *plan,
                               const void *seeds, lob_budget *budget, lob_error *error)
{
    lob_appearance_samples *const s = &n->samples;
    const int64_t groups = n->slices * plan->in->labels;
    int64_t *counts = NULL;
    LOB_TRY(lob_budget_calloc(budget, &s->first, groups + 1, sizeof *s->first, error));
    LOB_TRY(lob_budget_calloc(budget, &counts, 2 * groups, sizeof *counts, error));
    walk(n, plan, seeds, counts, NULL);
    for (int64_t g = 0; g < groups; g++) {
        const int64_t step = 1 + (counts[g] - 1) / MOST_SAMPLES;
        s->first[g + 1] = s->first[g] + (counts[g] > 0 ? (counts[g] - 1) / step + 1 : 0);
    }
    s->count = s->first[groups];
    lob_status st = lob_budget_alloc(budget, &s->voxel, s->count, sizeof *s->voxel, error);
    if (st == LOB_OK)
        st = lob_budget_alloc(budget, &s->place, 2 * s->count, sizeof *s->place, error);
    if (st == LOB_OK)
        st = lob_budget_alloc(budget, &s->bin, plan->channels * s->count, sizeof *s->bin, error);
    if (st == LOB_OK) walk(n, plan, seeds, counts, counts + groups);
    lob_budget_free(budget, counts, 2 * groups, sizeof *counts);
    return st;
}

lob_status lob_appearance_nodes_make(lob_appearance_nodes *nodes, const lob_appearance_plan *plan,
                                     const void *seeds, lob_budget *budget, lob_error *error)
{
    const lob_dims d = plan->dims;
    *nodes = (lob_appearance_nodes){.items = 0};
    choose_nodes(nodes, plan);
    LOB_TRY(take_samples(nodes, plan, seeds, budget, error));
    LOB_TRY(lob_budget_alloc(budget, &nodes->table, nodes->items, sizeof *nodes->table, error));
    LOB_TRY(lob_budget_alloc(budget, &nodes->between, d.nx + d.ny + d.nz, sizeof *nodes->between,
                             error));
    nodes->look.table = nodes->table;
    place_voxels(nodes, plan);
    return LOB_OK;
}

void lob_appearance_nodes_free(lob_appearance_nodes *nodes, const lob_appearance_plan *plan,
                               lob_budget *budget)
{
    const lob_dims d = plan->dims;
    lob_appearance_samples *const s = &nodes->samples;
    lob_budget_free(budget, nodes->between, d.nx + d.ny + d.nz, sizeof *nodes->between);
    lob_budget_free(budget, nodes->table, nodes->items, sizeof *nodes->table);
    lob_budget_free(budget, s->bin, plan->channels * s->count, sizeof *s->bin);
    lob_budget_free(budget, s->place, 2 * s->count, sizeof *s->place);
    lob_budget_free(budget, s->voxel, s->count, sizeof *s->voxel);
    lob_budget_free(budget, s->first, nodes->slices * plan->in->labels + 1, sizeof *s->first);
    *nodes = (lob_appearance_nodes){.items = 0};
}

/* ---- learning ---- */

/* What a thread learns with. */
typedef struct {
    double kernel[LOB_APPEARANCE_KERNEL];
    int radius;
    double fall[FALLS + 1];
    double weight[NEAR_SLICES * MOST_SAMPLES];
    double sums[LOB_APPEARANCE_MAX_BINS + 2];
    double share[LOB_APPEARANCE_MAX_LABELS][LOB_APPEARANCE_MAX_BINS + 2];
    int64_t near[NEAR_SLICES]; /* slices; */
    int count;                 /* so many of them */
} learner;

static void begin(learner *w, const lob_appearance_plan *plan)
{
    w->radius = lob_appearance_bin_kernel(w->kernel, plan->options->bin_sigma);
    for (int i = 0; i < FALLS; i++) w->fall[i] = exp(-(double)i / FALL_STEPS);
    w->fall[FALLS] = 0;
}

/* Does a slice have strokes of so many labels, 1 or 2, or more? */
static bool is_drawn(const lob_appearance_nodes *n, const lob_appearance_plan *plan, int64_t slice,
                     int32_t least)
{
    const int64_t *const first = n->samples.first + slice * plan->in->labels;
    int32_t labels = 0;
    for (int32_t l = 0; l < plan->in->labels; l++) labels += first[l + 1] > first[l];
    return labels >= least;
}

static void find_near(learner *w, const lob_appearance_nodes *n, const lob_appearance_plan *plan,
                      int64_t slice)
{
    int64_t before = slice - 1, after = slice + 1;
    w->count = 0;
    while (before >= 0 && !is_drawn(n, plan, before, 2)) before--;
    while (after < n->slices && !is_drawn(n, plan, after, 2)) after++;
    if (before >= 0) w->near[w->count++] = before;
    if (is_drawn(n, plan, slice, 1)) w->near[w->count++] = slice;
    if (after < n->slices) w->near[w->count++] = after;
}

/* What strokes of a label weigh at a place, together 1 for each mm2 that they speak for. */
static void weigh(learner *w, const lob_appearance_nodes *n, const lob_appearance_plan *plan,
                  int32_t label, const double place[2])
{
    const lob_appearance_samples *const s = &n->samples;
    double least = INFINITY;
    int64_t all = 0;
    for (int i = 0; i < w->count; i++) {
        const int64_t group = w->near[i] * plan->in->labels + label - 1;
        for (int64_t k = s->first[group]; k < s->first[group + 1]; k++) {
            const double u = (double)s->place[2 * k] - place[0];
            const double v = (double)s->place[2 * k + 1] - place[1];
            w->weight[all] = u * u + v * v;
            least = fmin(least, w->weight[all++]);
        }
    }
    const double sigma = fmax(least_sigma, sigma_by_distance * sqrt(least));
    const double scale = 1 / (sigma * sigma * (double)all);
    const double steps = FALL_STEPS / (2 * sigma * sigma);
    for (int64_t k = 0; k < all; k++) {
        const double at = w->weight[k] * steps + 0.5;
        w->weight[k] = scale * w->fall[at < FALLS ? (int)at : FALLS];
    }
}

/* Shares of a label's bins in a channel, smoothed along them. */
static void share_bins(learner *w, const lob_appearance_nodes *n, const lob_appearance_plan *plan,
                       int32_t label, int channel)
{
    const lob_appearance_samples *const s = &n->samples;
    const int16_t *const bin = s->bin + channel * s->count;
    const int bins = plan->options->bins + 2;
    double *const share = w->share[label - 1];
    int64_t at = 0;
    memset(w->sums, 0, (size_t)bins * sizeof *w->sums);
    for (int i = 0; i < w->count; i++) {
        const int64_t group = w->near[i] * plan->in->labels + label - 1;
        for (int64_t k = s->first[group]; k < s->first[group + 1]; k++, at++)
            if (bin[k] < bins) w->sums[bin[k]] += w->weight[at];
    }
    for (int b = 0; b < bins; b++) {
        double sum = 0;
        for (int i = -w->radius; i <= w->radius; i++) {
            const int from = b + i < 0 ? 0 : b + i >= bins ? bins - 1 : b + i;
            sum += w->kernel[i + w->radius] * w->sums[from];
        }
        share[b] = sum + floor_share;
    }
}

/* The score of label k in a bin, where strokes nearby have these shares of it. */
static int16_t score_of(const lob_appearance_plan *plan, int channel, int bin, int k, double own,
                        double background)
{
    const int64_t entry = ((int64_t)channel * plan->slots + bin) * plan->wanted + k;
    const double nats = plan->view[channel].share * log(own / background);
    const double score = plan->options->local * LOB_APPEARANCE_ONE * nats +
                         (1 - plan->options->local) * (double)plan->table[entry];
    return (int16_t)rint(fmin(fmax(score, -LOB_APPEARANCE_LIMIT), LOB_APPEARANCE_LIMIT));
}

static void learn_node(learner *w, lob_appearance_nodes *n, const lob_appearance_plan *plan,
                       int64_t node)
{
    const int64_t u = node % n->nodes[0], v = node / n->nodes[0] % n->nodes[1];
    const double place[2] = {(double)u * n->apart[0], (double)v * n->apart[1]};
    int16_t *const table = n->table + node * n->look.entries;
    const double *const background = w->share[plan->in->background - 1];
    for (int c = 0; c < plan->channels; c++) {
        for (int32_t l = 1; l <= plan->in->labels; l++) {
            weigh(w, n, plan, l, place);
            share_bins(w, n, plan, l, c);
        }
        int16_t *const of = table + (int64_t)c * plan->slots * plan->wanted;
        memset(of, 0, (size_t)(plan->slots * plan->wanted) * sizeof *of);
        for (int b = 0; b + 1 < plan->slots; b++) /* the last is what is no number */
            for (int k = 0; k < plan->wanted; k++)
                of[b * plan->wanted + k] =
                    score_of(plan, c, b, k, w->share[plan->label[k] - 1][b], background[b]);
    }
}

lob_status lob_appearance_nodes_learn(lob_appearance_nodes *nodes, const lob_appearance_plan *plan,
                                      int threads, lob_error *error)
{
    const int64_t in_slice = nodes->nodes[0] * nodes->nodes[1];
    bool failed = false;
#pragma omp parallel num_threads(threads)
    {
        learner *const w = malloc(sizeof *w);
        if (w) begin(w, plan);
#pragma omp critical(lob_appearance_nodes)
        failed = failed || !w;
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (int64_t slice = 0; slice < nodes->slices; slice++) {
            if (failed) continue;
            find_near(w, nodes, plan, slice);
            for (int64_t i = 0; i < in_slice; i++) learn_node(w, nodes, plan, slice * in_slice + i);
        }
        free(w);
    }
    return failed ? lob_fail(error, LOB_ENOMEM, "no memory left for tables of appearance") : LOB_OK;
}
