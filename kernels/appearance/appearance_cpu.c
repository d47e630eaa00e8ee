/* Appearance on the CPU: counts, distances of strokes and outlines, and the shares. */
#include "kernels/appearance/appearance_plan.h"
#include "kernels/arrays.h"
#include "kernels/simd_clones.h"

#include <stdlib.h>
#include <string.h>

enum { ROW = 1024 };

typedef struct {
    lob_appearance_plan plan;
    const lob_context *context;
    lob_budget budget;
    lob_appearance_stats *stats;
    float *shares;
    double done; /* of the progress */
} job;

/* Values of a channel as float32. */
static void load_row(float *value, const lob_appearance_view *view, int64_t voxels, int64_t first,
                     int64_t n)
{
    const lob_volume *of = view->volume;
    double stored[ROW];
    lob_values(stored, of->data, of->type, view->channel * voxels + first, n);
    for (int64_t i = 0; i < n; i++) value[i] = (float)(of->slope * stored[i] + of->inter);
}

static bool reports(job *j, double done)
{
    j->done = done;
    return j->context->progress && j->context->progress(j->context->user, done);
}

/* Labels of a row; false: there are none. */
static bool load_seeds(int32_t *seed, const lob_appearance_input *in, int64_t first, int64_t n)
{
    const size_t bytes = lob_type_of(in->seed_type)->bytes;
    if (lob_all_zero((const char *)in->seeds + (size_t)first * bytes, (size_t)n * bytes))
        return false;
    for (int64_t i = 0; i < n; i++) seed[i] = lob_label_at(in->seeds, in->seed_type, first + i);
    return true;
}

/* ---- counts ---- */

/* The finite values under strokes lie from low to high. */
static void find_scale(job *j, lob_appearance_view *view)
{
    const lob_appearance_plan *p = &j->plan;
    float low = INFINITY, high = -INFINITY;
#pragma omp parallel for num_threads(j->context->threads) schedule(static) reduction(min    \
                                                                                     : low) \
    reduction(max                                                                           \
              : high)
    for (int64_t first = 0; first < p->voxels; first += ROW) {
        const int64_t n = p->voxels - first < ROW ? p->voxels - first : ROW;
        int32_t seed[ROW];
        float value[ROW];
        if (!load_seeds(seed, p->in, first, n)) continue;
        load_row(value, view, p->voxels, first, n);
        for (int64_t i = 0; i < n; i++) {
            if (seed[i] == 0 || !(value[i] - value[i] == 0)) continue;
            if (value[i] < low) low = value[i];
            if (value[i] > high) high = value[i];
        }
    }
    view->scale = lob_appearance_scale_of(p, low, high);
}

LOB_SIMD_CLONES
static void bins_row(int32_t *bin, const float *value, const lob_appearance_scale *scale, int64_t n)
{
    const lob_appearance_scale s = *scale;
    for (int64_t i = 0; i < n; i++) bin[i] = lob_appearance_bin(value[i], &s);
}

/* Count a channel's bins in the whole volume and under each label. */
static lob_status count_bins(job *j, int channel, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    const lob_appearance_view *view = &p->view[channel];
    const int64_t rows = p->in->labels + 1, n_counts = rows * p->slots;
    int64_t *const to = lob_appearance_counts(p, channel, 0);
    bool failed = false;
#pragma omp parallel num_threads(j->context->threads)
    {
        int64_t *own = calloc((size_t)n_counts, sizeof *own);
#pragma omp critical(lob_appearance_sum)
        failed = failed || !own;
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t first = 0; first < p->voxels; first += ROW) {
            const int64_t n = p->voxels - first < ROW ? p->voxels - first : ROW;
            int32_t seed[ROW], bin[ROW];
            float value[ROW];
            if (failed) continue;
            load_row(value, view, p->voxels, first, n);
            bins_row(bin, value, &view->scale, n);
            for (int64_t i = 0; i < n; i++) own[bin[i]]++;
            if (!load_seeds(seed, p->in, first, n)) continue;
            for (int64_t i = 0; i < n; i++)
                if (seed[i]) own[(int64_t)seed[i] * p->slots + bin[i]]++;
        }
#pragma omp critical(lob_appearance_sum)
        for (int64_t i = 0; !failed && i < n_counts; i++) to[i] += own[i];
        free(own);
    }
    return failed ? lob_fail(error, LOB_ENOMEM, "no memory left for counts") : LOB_OK;
}

/* ---- distances ---- */

/* A transform, with what is left of the memory. */
static lob_status transform(job *j, float *distance, const lob_distance_input *in,
                            lob_distance_kind kind, lob_error *error)
{
    const lob_distance_output out = {.distance = distance};
    lob_distance_options options = lob_distance_defaults();
    lob_context context = *j->context;
    options.kind = kind;
    context.progress = NULL;
    if (context.max_memory > 0) {
        context.max_memory -= j->budget.held;
        if (context.max_memory < 1) context.max_memory = 1;
    }
    return lob_distance_cpu(&out, in, &options, &context, error);
}

/* Count halves of the distances at strokes of other labels; high: only of these high halves, whose
 * low ones are counted. */
static int64_t count_halves(const job *j, int64_t *counts, const float *distance, int32_t label,
                            int64_t high)
{
    const lob_appearance_plan *p = &j->plan;
    int64_t all = 0;
    memset(counts, 0, LOB_APPEARANCE_HALF * sizeof *counts);
    for (int64_t first = 0; first < p->voxels; first += ROW) {
        const int64_t n = p->voxels - first < ROW ? p->voxels - first : ROW;
        int32_t seed[ROW];
        if (!load_seeds(seed, p->in, first, n)) continue;
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits;
            if (seed[i] == 0 || seed[i] == label) continue;
            memcpy(&bits, &distance[first + i], sizeof bits);
            if (high >= 0 && bits >> 16 != high) continue;
            counts[high < 0 ? bits >> 16 : bits & 0xffff]++;
            all++;
        }
    }
    return all;
}

static float find_reach(const job *j, int64_t *counts, const float *distance, int32_t label)
{
    const int64_t n = count_halves(j, counts, distance, label, -1);
    int64_t rank = lob_appearance_reach_rank(&j->plan, n);
    const uint32_t high = lob_appearance_rank(counts, &rank);
    count_halves(j, counts, distance, label, high);
    return lob_appearance_reach(high, lob_appearance_rank(counts, &rank));
}

/* What each wanted label loses by its distance, in place of its shares. */
static lob_status far_scores(job *j, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    const float score = (float)(LOB_APPEARANCE_ONE * p->options->far);
    float *distance = NULL;
    int64_t *counts = NULL;
    lob_status st =
        lob_budget_alloc(&j->budget, &counts, LOB_APPEARANCE_HALF, sizeof *counts, error);
    if (st == LOB_OK)
        st = lob_budget_alloc(&j->budget, &distance, p->voxels, sizeof *distance, error);
    for (int k = 0; st == LOB_OK && k < p->wanted; k++) {
        const lob_distance_input in = lob_appearance_far_input(p, p->in->seeds, p->label[k]);
        int32_t *const gain = (int32_t *)j->shares + k * p->voxels;
        st = transform(j, distance, &in, LOB_DISTANCE_TO_SET, error);
        if (st != LOB_OK) break;
        const float reach = find_reach(j, counts, distance, p->label[k]);
#pragma omp parallel for simd num_threads(j->context->threads) schedule(static)
        for (int64_t i = 0; i < p->voxels; i++)
            gain[i] = -lob_appearance_far(distance[i], reach, score);
        if (reports(j, 0.3 + 0.4 * (k + 1) / p->wanted)) st = LOB_ECANCEL;
    }
    lob_budget_free(&j->budget, distance, p->voxels, sizeof *distance);
    lob_budget_free(&j->budget, counts, LOB_APPEARANCE_HALF, sizeof *counts);
    return st;
}

/* Gather the outline's slices: 1 inside. */
static void gather(const job *j, uint8_t *inside, const lob_appearance_stack *stack, int32_t label)
{
    const lob_appearance_plan *p = &j->plan;
    const lob_dims d = stack->dims;
#pragma omp parallel for collapse(2) num_threads(j->context->threads) schedule(static)
    for (int64_t z = 0; z < d.nz; z++)
        for (int64_t y = 0; y < d.ny; y++)
            for (int64_t x = 0; x < d.nx; x++) {
                const int64_t at = stack->axis == 0 ? x : stack->axis == 1 ? y : z;
                const int64_t from =
                    lob_appearance_from_slice(p->dims, stack->axis, stack->slices[at], x, y, z);
                inside[(z * d.ny + y) * d.nx + x] =
                    lob_label_at(p->in->outline, p->in->outline_type, from) == label;
            }
}

/* What a label gains by its outline. */
static lob_status shape_score(job *j, int32_t *gain, const lob_appearance_stack *stack,
                              int32_t label, lob_error *error)
{
    const lob_dims d = j->plan.dims;
    uint8_t *inside = NULL;
    float *distance = NULL;
    lob_status st = lob_budget_alloc(&j->budget, &inside, stack->voxels, sizeof *inside, error);
    if (st == LOB_OK)
        st = lob_budget_alloc(&j->budget, &distance, stack->voxels, sizeof *distance, error);
    if (st == LOB_OK) {
        const lob_distance_input in = lob_appearance_stack_input(stack, &j->plan, inside);
        gather(j, inside, stack, label);
        st = transform(j, distance, &in, LOB_DISTANCE_SIGNED, error);
    }
    if (st == LOB_OK) {
        lob_appearance_shape shape = stack->shape;
        shape.places = stack->places;
        shape.signed_mm = distance;
#pragma omp parallel for collapse(2) num_threads(j->context->threads) schedule(static)
        for (int64_t z = 0; z < d.nz; z++)
            for (int64_t y = 0; y < d.ny; y++)
                for (int64_t x = 0; x < d.nx; x++)
                    gain[(z * d.ny + y) * d.nx + x] = lob_appearance_shape_at(&shape, x, y, z);
    }
    lob_budget_free(&j->budget, distance, stack->voxels, sizeof *distance);
    lob_budget_free(&j->budget, inside, stack->voxels, sizeof *inside);
    return st;
}

static lob_status shape_scores(job *j, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    lob_strokes strokes;
    LOB_TRY(lob_strokes_count(&strokes, p->in->seeds, p->in->seed_type, p->dims, p->in->labels,
                              j->context->threads, error));
    lob_status st = LOB_OK;
    for (int k = 0; st == LOB_OK && k < p->wanted; k++) {
        int32_t *const gain = (int32_t *)j->shares + k * p->voxels;
        lob_appearance_stack stack;
        st = lob_appearance_stack_make(&stack, p, &strokes, p->label[k], error);
        if (st == LOB_OK && stack.count > 0)
            st = shape_score(j, gain, &stack, p->label[k], error);
        else
            memset(gain, 0, (size_t)p->voxels * sizeof *gain);
        j->stats->axis = stack.axis;
        j->stats->slices += stack.count;
        lob_appearance_stack_free(&stack);
        if (st == LOB_OK && reports(j, 0.3 + 0.4 * (k + 1) / p->wanted)) st = LOB_ECANCEL;
    }
    lob_strokes_free(&strokes);
    return st;
}

/* ---- shares ---- */

/* Add a channel's scores to those of all labels. */
static void add_row(const lob_appearance_plan *p, int32_t *const gain[], const int32_t *bin,
                    int channel, int64_t n)
{
    const int32_t *table = p->table + (int64_t)channel * p->slots * p->wanted;
    for (int k = 0; k < p->wanted; k++)
        for (int64_t i = 0; i < n; i++) gain[k][i] += table[(int64_t)bin[i] * p->wanted + k];
}

static void shares_row(const job *j, int64_t first, int64_t n)
{
    const lob_appearance_plan *p = &j->plan;
    int32_t *gain[LOB_APPEARANCE_MAX_LABELS], bin[ROW];
    double total[ROW];
    for (int k = 0; k < p->wanted; k++) gain[k] = (int32_t *)j->shares + k * p->voxels + first;
    for (int c = 0; c < p->channels; c++) {
        float value[ROW];
        load_row(value, &p->view[c], p->voxels, first, n);
        bins_row(bin, value, &p->view[c].scale, n);
        add_row(p, gain, bin, c, n);
    }
    for (int64_t i = 0; i < n; i++) total[i] = 1;
    for (int k = 0; k < p->wanted; k++)
        for (int64_t i = 0; i < n; i++) total[i] += lob_appearance_exp(p->exps, gain[k][i]);
    for (int k = 0; k < p->wanted; k++) {
        float *const share = j->shares + k * p->voxels + first;
        for (int64_t i = 0; i < n; i++) {
            int32_t score;
            memcpy(&score, &share[i], sizeof score);
            share[i] = (float)(lob_appearance_exp(p->exps, score) / total[i]);
        }
    }
}

static lob_status run(job *j, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    for (int c = 0; c < p->channels; c++) {
        find_scale(j, &j->plan.view[c]);
        LOB_TRY(count_bins(j, c, error));
        if (reports(j, 0.3 * (c + 1) / p->channels)) return LOB_ECANCEL;
    }
    LOB_TRY(lob_appearance_tables(&j->plan, error));
    if (p->in->outline && p->options->shape > 0)
        LOB_TRY(shape_scores(j, error));
    else if (!p->in->outline && p->options->far > 0)
        LOB_TRY(far_scores(j, error));
    else
        memset(j->shares, 0, (size_t)(p->voxels * p->wanted) * sizeof *j->shares);
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t first = 0; first < p->voxels; first += ROW)
        shares_row(j, first, p->voxels - first < ROW ? p->voxels - first : ROW);
    return reports(j, 1) ? LOB_ECANCEL : LOB_OK;
}

lob_status lob_appearance_cpu(float *shares, lob_appearance_stats *stats,
                              const lob_appearance_input *in, const lob_appearance_options *options,
                              const lob_context *context, lob_error *error)
{
    lob_error_begin(error);
    job j = {
        .context = context,
        .budget = {.who = "appearance", .limit = context->max_memory},
        .stats = stats,
        .shares = shares,
    };
    *stats = (lob_appearance_stats){.axis = -1};
    for (int v = 0; v < in->view_count; v++)
        LOB_TRY(lob_check_memory(in->place, in->views[v], NULL, error));
    lob_status st = lob_appearance_plan_make(&j.plan, in, options, error);
    if (st == LOB_OK) st = run(&j, error);
    stats->working_bytes = j.budget.peak;
    lob_appearance_plan_free(&j.plan);
    return lob_error_end(error, st);
}
