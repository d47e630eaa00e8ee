/* Distances of strokes and outlines on the CPU, and what labels gain by them. */
#include "kernels/appearance/appearance_place.h"

#include "kernels/share.h"
#include "kernels/simd_clones.h"

#include <stdlib.h>
#include <string.h>

enum { ROW = LOB_APPEARANCE_ROW };

bool lob_appearance_load_seeds(int32_t *seed, const lob_appearance_input *in, int64_t first,
                               int64_t n)
{
    const size_t bytes = lob_type_of(in->seed_type)->bytes;
    if (lob_all_zero((const char *)in->seeds + (size_t)first * bytes, (size_t)n * bytes))
        return false;
    for (int64_t i = 0; i < n; i++) seed[i] = lob_label_at(in->seeds, in->seed_type, first + i);
    return true;
}

/* A transform, with what is left of the memory. */
static lob_status transform(const lob_appearance_places *p, float *distance,
                            const lob_distance_input *in, lob_distance_kind kind, lob_error *error)
{
    const lob_distance_output out = {.distance = distance};
    lob_distance_options options = lob_distance_defaults();
    lob_context context = lob_budget_inner(p->budget, p->context);
    options.kind = kind;
    context.progress = NULL;
    return lob_distance_cpu(&out, in, &options, &context, error);
}

static lob_status report(const lob_appearance_places *p, int k)
{
    return lob_report(p->context, 0.3 + 0.4 * ((k + 1.0) / p->plan->wanted));
}

/* ---- far from strokes ---- */

typedef struct {
    const lob_appearance_plan *plan;
    int64_t *row, rows; /* rows of voxels along x with strokes, of ny * nz */
    uint8_t *marks;     /* blocks with strokes of a label */
    float *distance;    /* of blocks to these */
    int64_t *halves;    /* LOB_APPEARANCE_HALF counts */
} far_work;

static void find_rows(far_work *w)
{
    const lob_appearance_input *const in = w->plan->in;
    const lob_dims d = w->plan->dims;
    const size_t bytes = (size_t)d.nx * lob_type_of(in->seed_type)->bytes;
    for (int64_t row = 0; row < d.ny * d.nz; row++)
        if (!lob_all_zero((const char *)in->seeds + (size_t)row * bytes, bytes))
            w->row[w->rows++] = row;
}

/* The block of a row's first voxel. */
static int64_t first_block(const lob_appearance_plan *p, int64_t row)
{
    return lob_appearance_block(&p->blocks, 0, row % p->dims.ny, row / p->dims.ny);
}

static void mark(far_work *w, int32_t label)
{
    const lob_appearance_plan *const p = w->plan;
    const lob_appearance_input *const in = p->in;
    const int64_t nx = p->dims.nx;
    memset(w->marks, 0, (size_t)p->blocks.count);
    for (int64_t r = 0; r < w->rows; r++) {
        uint8_t *const marks = w->marks + first_block(p, w->row[r]);
        for (int64_t x = 0; x < nx; x++)
            if (lob_label_at(in->seeds, in->seed_type, w->row[r] * nx + x) == label)
                marks[x >> p->blocks.shift[0]] = 1;
    }
}

/* Count halves of the distances at strokes of other labels; high: only of these high halves, whose
 * low ones are counted. */
static int64_t count_halves(const far_work *w, int32_t label, int64_t high)
{
    const lob_appearance_plan *const p = w->plan;
    const int64_t nx = p->dims.nx;
    int64_t all = 0;
    memset(w->halves, 0, LOB_APPEARANCE_HALF * sizeof *w->halves);
    for (int64_t r = 0; r < w->rows; r++) {
        const float *const distance = w->distance + first_block(p, w->row[r]);
        for (int64_t x = 0; x < nx; x++) {
            const int32_t seed = lob_label_at(p->in->seeds, p->in->seed_type, w->row[r] * nx + x);
            uint32_t bits;
            if (seed == 0 || seed == label) continue;
            memcpy(&bits, &distance[x >> p->blocks.shift[0]], sizeof bits);
            if (high >= 0 && bits >> 16 != high) continue;
            w->halves[high < 0 ? bits >> 16 : bits & 0xffff]++;
            all++;
        }
    }
    return all;
}

static float find_reach(const far_work *w, int32_t label)
{
    const int64_t n = count_halves(w, label, -1);
    int64_t rank = lob_appearance_reach_rank(w->plan, n);
    const uint32_t high = lob_appearance_rank(w->halves, &rank);
    count_halves(w, label, high);
    return lob_appearance_reach(w->plan, high, lob_appearance_rank(w->halves, &rank));
}

/* What a label loses in each block. */
static lob_status lose(const lob_appearance_places *places, far_work *w, int k, lob_error *error)
{
    const lob_appearance_plan *const p = w->plan;
    const int64_t n = p->blocks.count;
    const lob_distance_input in = lob_appearance_far_input(p, w->marks);
    const float score = (float)(LOB_APPEARANCE_ONE * p->options->far);
    int16_t *const lost = places->lost + k * n;
    mark(w, p->label[k]);
    LOB_TRY(transform(places, w->distance, &in, LOB_DISTANCE_TO_SET, error));
    const float reach = find_reach(w, p->label[k]);
#pragma omp parallel for num_threads(places->context->threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        lost[i] = (int16_t)lob_appearance_far(w->distance[i], reach, score);
    return report(places, k);
}

static lob_status far_scores(lob_appearance_places *places, lob_error *error)
{
    const lob_appearance_plan *const p = places->plan;
    lob_budget *const budget = places->budget;
    const int64_t rows = p->dims.ny * p->dims.nz, n = p->blocks.count;
    far_work w = {.plan = p};
    lob_status st =
        lob_budget_alloc(budget, &w.halves, LOB_APPEARANCE_HALF, sizeof(int64_t), error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &w.row, rows, sizeof *w.row, error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &w.marks, n, 1, error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &w.distance, n, sizeof *w.distance, error);
    if (st == LOB_OK)
        st = lob_budget_alloc(budget, &places->lost, n * p->wanted, sizeof *places->lost, error);
    if (st == LOB_OK) find_rows(&w);
    for (int k = 0; st == LOB_OK && k < p->wanted; k++) st = lose(places, &w, k, error);
    lob_budget_free(budget, w.distance, n, sizeof *w.distance);
    lob_budget_free(budget, w.marks, n, 1);
    lob_budget_free(budget, w.row, rows, sizeof *w.row);
    lob_budget_free(budget, w.halves, LOB_APPEARANCE_HALF, sizeof(int64_t));
    return st;
}

/* ---- outlines ---- */

/* Gather the outline's slices: 1 inside. */
static void gather(const lob_appearance_places *places, uint8_t *inside,
                   const lob_appearance_stack *stack, int32_t label)
{
    const lob_appearance_plan *p = places->plan;
    const lob_dims d = stack->dims;
#pragma omp parallel for collapse(2) num_threads(places->context->threads) schedule(static)
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

/* Signed distances in the slices of an outline. */
static lob_status find_shape(lob_appearance_places *places, int k, int axis, lob_error *error)
{
    lob_appearance_stack *const stack = &places->stacks[k][axis];
    float **const signed_mm = &places->signed_mm[k][axis];
    lob_budget *const budget = places->budget;
    uint8_t *inside = NULL;
    LOB_TRY(lob_budget_alloc(budget, signed_mm, stack->voxels, sizeof(float), error));
    lob_status st = lob_budget_alloc(budget, &inside, stack->voxels, sizeof *inside, error);
    if (st == LOB_OK) {
        const lob_distance_input in = lob_appearance_stack_input(stack, places->plan, inside);
        gather(places, inside, stack, places->plan->label[k]);
        st = transform(places, *signed_mm, &in, LOB_DISTANCE_SIGNED, error);
    }
    lob_budget_free(budget, inside, stack->voxels, sizeof *inside);
    stack->shape.places = stack->places;
    stack->shape.signed_mm = *signed_mm;
    return st;
}

static lob_status find_shapes(lob_appearance_places *places, lob_appearance_stats *stats,
                              lob_error *error)
{
    const lob_appearance_plan *p = places->plan;
    lob_strokes counted = {.across = NULL};
    const lob_strokes *const strokes = p->in->counts ? p->in->counts : &counted;
    if (!p->in->counts)
        LOB_TRY(lob_strokes_count(&counted, p->in->seeds, p->in->seed_type, p->dims, p->in->labels,
                                  NULL, places->context->threads, error));
    lob_status st = LOB_OK;
    stats->axis = lob_strokes_axis(strokes);
    places->stacks = calloc((size_t)p->wanted, sizeof *places->stacks);
    if (!places->stacks) st = lob_fail(error, LOB_ENOMEM, "no memory left for outlines");
    for (int k = 0; st == LOB_OK && k < p->wanted; k++) {
        for (int axis = 0; st == LOB_OK && axis < 3; axis++) {
            lob_appearance_stack *const stack = &places->stacks[k][axis];
            st = lob_appearance_stack_make(stack, p, strokes, p->label[k], axis, error);
            if (st == LOB_OK && stack->count > 0) st = find_shape(places, k, axis, error);
            stats->slices += stack->count;
        }
        if (st == LOB_OK) st = report(places, k);
    }
    lob_strokes_free(&counted);
    return st;
}

/* Add the gains of a run of voxels along x. */
LOB_SIMD_CLONES(void, shape_run, (gain, of, x, y, z, n), int32_t *gain,
                const lob_appearance_shape *of, int64_t x, int64_t y, int64_t z, int64_t n)
{
    const lob_appearance_shape s = *of;
    if (s.axis == 0) {
        for (int64_t i = 0; i < n; i++) gain[i] += lob_appearance_shape_at(&s, x + i, y, z);
        return;
    }
    const lob_appearance_place p = s.places[s.axis == 1 ? y : z];
    const float *const row = s.signed_mm + x + y * s.stride[1] + z * s.stride[2];
    const float *const first = row + p.first * s.slice, *const second = row + p.second * s.slice;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) gain[i] += lob_appearance_shape_of(&s, &p, first[i], second[i]);
}

/* ---- both ---- */

/* What a label gains in a run of voxels along x. */
static void gain_run(int32_t *gain, const lob_appearance_places *places, int k, int64_t x,
                     int64_t y, int64_t z, int64_t n)
{
    const lob_appearance_blocks *const b = &places->plan->blocks;
    if (places->lost) {
        const int16_t *const lost = places->lost + k * b->count + lob_appearance_block(b, 0, y, z);
        for (int64_t i = 0, end; i < n; i = end) {
            const int64_t block = (x + i) >> b->shift[0];
            end = ((block + 1) << b->shift[0]) - x;
            if (end > n) end = n;
            for (int64_t m = i; m < end; m++) gain[m] = -lost[block];
        }
    } else {
        memset(gain, 0, (size_t)n * sizeof *gain);
    }
    for (int axis = 0; places->stacks && axis < 3; axis++)
        if (places->stacks[k][axis].count > 0)
            shape_run(gain, &places->stacks[k][axis].shape, x, y, z, n);
}

void lob_appearance_gains(int32_t *gain, const lob_appearance_places *places, int k, int64_t first,
                          int64_t n)
{
    const lob_dims d = places->plan->dims;
    for (int64_t i = 0; i < n;) {
        const int64_t row = (first + i) / d.nx, x = first + i - row * d.nx;
        const int64_t left = d.nx - x < n - i ? d.nx - x : n - i;
        gain_run(gain + i, places, k, x, row % d.ny, row / d.ny, left);
        i += left;
    }
}

lob_status lob_appearance_places_make(lob_appearance_places *places, lob_appearance_stats *stats,
                                      const lob_appearance_plan *plan, const lob_context *context,
                                      lob_budget *budget, lob_error *error)
{
    *places = (lob_appearance_places){.plan = plan, .context = context, .budget = budget};
    if (plan->in->outline && plan->options->shape > 0) return find_shapes(places, stats, error);
    return plan->in->outline || !(plan->options->far > 0) ? LOB_OK : far_scores(places, error);
}

void lob_appearance_places_free(lob_appearance_places *places)
{
    const lob_appearance_plan *p = places->plan;
    lob_budget *const budget = places->budget;
    if (places->lost)
        lob_budget_free(budget, places->lost, p->blocks.count * p->wanted, sizeof *places->lost);
    for (int i = 0; places->stacks && i < 3 * p->wanted; i++) {
        lob_appearance_stack *const stack = &places->stacks[i / 3][i % 3];
        lob_budget_free(budget, places->signed_mm[i / 3][i % 3], stack->voxels, sizeof(float));
        lob_appearance_stack_free(stack);
    }
    free(places->stacks);
}
