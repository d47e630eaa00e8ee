/* Appearance on the CPU: counts, and the shares, whole or plane by plane. */
#include "kernels/appearance/appearance_levels.h"
#include "kernels/appearance/appearance_local.h"
#include "kernels/appearance/appearance_place.h"
#include "kernels/arrays.h"
#include "kernels/resample/resample_planes.h"
#include "kernels/simd_clones.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_appearance_plan plan;
    const lob_context *context;
    lob_budget budget;
    lob_appearance_stats *stats;
    lob_appearance_places places;
    lob_appearance_nodes nodes;
    void *shares;
    int16_t *bin_of[LOB_APPEARANCE_MAX_VIEWS]; /* the bins of stored values of 16 bits at most, as
                                                  unsigned numbers; NULL: there are no tables */
} job;

/* Values of a channel as float32. */
static void load_row(float *value, const lob_appearance_view *view, int64_t voxels, int64_t first,
                     int64_t n)
{
    const lob_volume *of = view->volume;
    double stored[LOB_APPEARANCE_ROW];
    lob_values(stored, of->data, of->type, view->channel * voxels + first, n);
    for (int64_t i = 0; i < n; i++) value[i] = (float)(of->slope * stored[i] + of->inter);
}

static bool reports(const job *j, double done)
{
    return j->context->progress && j->context->progress(j->context->user, done);
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
    for (int64_t first = 0; first < p->voxels; first += LOB_APPEARANCE_ROW) {
        const int64_t n =
            p->voxels - first < LOB_APPEARANCE_ROW ? p->voxels - first : LOB_APPEARANCE_ROW;
        int32_t seed[LOB_APPEARANCE_ROW];
        float value[LOB_APPEARANCE_ROW];
        if (!lob_appearance_load_seeds(seed, p->in, first, n)) continue;
        load_row(value, view, p->voxels, first, n);
        for (int64_t i = 0; i < n; i++) {
            if (seed[i] == 0 || !(value[i] - value[i] == 0)) continue;
            if (value[i] < low) low = value[i];
            if (value[i] > high) high = value[i];
        }
    }
    view->scale = lob_appearance_scale_of(p, low, high);
}

LOB_SIMD_CLONES(void, bins_row, (bin, value, scale, n), int32_t *bin, const float *value,
                const lob_appearance_scale *scale, int64_t n)
{
    const lob_appearance_scale s = *scale;
    for (int64_t i = 0; i < n; i++) bin[i] = lob_appearance_bin(value[i], &s);
}

/* ---- bins ---- */

enum { STORED = 65536 }; /* values of 16 bits */

/* Make a table of the bins of a channel's values, where there are more voxels than values. */
static lob_status tabulate_bins(job *j, int channel, lob_error *error)
{
    const lob_appearance_view *const view = &j->plan.view[channel];
    const lob_type_info *const type = lob_type_of(view->volume->type);
    const int64_t n = type->bytes == 1 ? UINT8_MAX + 1 : STORED;
    if (!type->is_integer || type->bytes > 2 || j->plan.voxels < n) return LOB_OK;
    LOB_TRY(lob_budget_alloc(&j->budget, &j->bin_of[channel], n, sizeof(int16_t), error));
    for (int64_t first = 0; first < n; first += UINT8_MAX + 1) {
        uint16_t stored[UINT8_MAX + 1];
        double number[UINT8_MAX + 1];
        for (int64_t i = 0; i <= UINT8_MAX; i++) {
            if (type->bytes == 1)
                ((uint8_t *)stored)[i] = (uint8_t)i;
            else
                stored[i] = (uint16_t)(first + i);
        }
        lob_values(number, stored, view->volume->type, 0, UINT8_MAX + 1);
        for (int64_t i = 0; i <= UINT8_MAX; i++) {
            const float value = (float)(view->volume->slope * number[i] + view->volume->inter);
            j->bin_of[channel][first + i] = (int16_t)lob_appearance_bin(value, &view->scale);
        }
    }
    return LOB_OK;
}

static void free_tables(job *j)
{
    for (int c = 0; c < j->plan.channels; c++) {
        if (!j->bin_of[c]) continue;
        const bool byte = lob_type_of(j->plan.view[c].volume->type)->bytes == 1;
        lob_budget_free(&j->budget, j->bin_of[c], byte ? UINT8_MAX + 1 : STORED, sizeof(int16_t));
    }
}

/* Bins of n <= LOB_APPEARANCE_ROW voxels in a channel. */
static void find_bins(const job *j, int32_t *bin, int channel, int64_t first, int64_t n)
{
    const lob_appearance_view *const view = &j->plan.view[channel];
    const int64_t at = view->channel * j->plan.voxels + first;
    const int16_t *const bin_of = j->bin_of[channel];
    float value[LOB_APPEARANCE_ROW];
    if (bin_of && lob_type_of(view->volume->type)->bytes == 1) {
        const uint8_t *const stored = (const uint8_t *)view->volume->data + at;
        for (int64_t i = 0; i < n; i++) bin[i] = bin_of[stored[i]];
    } else if (bin_of) {
        const uint16_t *const stored = (const uint16_t *)view->volume->data + at;
        for (int64_t i = 0; i < n; i++) bin[i] = bin_of[stored[i]];
    } else {
        load_row(value, view, j->plan.voxels, first, n);
        bins_row(bin, value, &view->scale, n);
    }
}

/* Count a channel's bins in the whole volume and under each label. */
static lob_status count_bins(job *j, int channel, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
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
        for (int64_t first = 0; first < p->voxels; first += LOB_APPEARANCE_ROW) {
            const int64_t n =
                p->voxels - first < LOB_APPEARANCE_ROW ? p->voxels - first : LOB_APPEARANCE_ROW;
            int32_t seed[LOB_APPEARANCE_ROW], bin[LOB_APPEARANCE_ROW];
            if (failed) continue;
            find_bins(j, bin, channel, first, n);
            for (int64_t i = 0; i < n; i++) own[bin[i]]++;
            if (!lob_appearance_load_seeds(seed, p->in, first, n)) continue;
            for (int64_t i = 0; i < n; i++)
                if (seed[i]) own[(int64_t)seed[i] * p->slots + bin[i]]++;
        }
#pragma omp critical(lob_appearance_sum)
        for (int64_t i = 0; !failed && i < n_counts; i++) to[i] += own[i];
        free(own);
    }
    return failed ? lob_fail(error, LOB_ENOMEM, "no memory left for counts") : LOB_OK;
}

/* Bins of the strokes that local scores are learnt from. */
static void bin_samples(job *j, int channel)
{
    const lob_appearance_plan *const p = &j->plan;
    const lob_appearance_samples *const s = &j->nodes.samples;
    for (int64_t i = 0; i < s->count; i++) {
        float value;
        load_row(&value, &p->view[channel], p->voxels, s->voxel[i], 1);
        s->bin[channel * s->count + i] =
            (int16_t)lob_appearance_bin(value, &p->view[channel].scale);
    }
}

/* ---- shares ---- */

enum { BLOCK = 256 }; /* voxels whose exponentials are at hand together */

/* Where a voxel's bins begin in the tables of scores, a channel each. */
typedef int32_t entries[LOB_APPEARANCE_MAX_VIEWS][BLOCK];

/* A label's scores, of two channels at once where there are. One by one: gathering many at once
 * takes processors longer. */
static void add_scores(int32_t *score, const lob_appearance_plan *p, int k, entries at, int64_t n)
{
    const int32_t *table = p->table + k;
    const int64_t apart = (int64_t)p->slots * p->wanted;
    int c = p->channels % 2;
    for (int64_t i = 0; i < (c ? n : 0); i++) score[i] += table[at[0][i]];
    for (; c < p->channels; c += 2) {
        const int32_t *const one = table + c * apart, *const two = one + apart;
        const int32_t *const first = at[c], *const second = at[c + 1];
        for (int64_t i = 0; i < n; i++) score[i] += one[first[i]] + two[second[i]];
    }
}

/* The same between nodes. */
static void add_local_scores(int32_t *score, const job *j, const lob_appearance_corners *corners,
                             int k, entries at, int64_t n)
{
    const lob_appearance_plan *const p = &j->plan;
    for (int c = 0; c < p->channels; c++)
        for (int64_t i = 0; i < n; i++)
            score[i] += lob_appearance_local_score(
                j->nodes.look.table, &corners[i], (int64_t)c * p->slots * p->wanted + k + at[c][i]);
}

static void find_corners(lob_appearance_corners *corners, const job *j, int64_t first, int64_t n)
{
    const lob_dims d = j->plan.dims;
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = (first + i) / d.nx;
        corners[i] = lob_appearance_corners_of(&j->nodes.look, first + i - row * d.nx, row % d.ny,
                                               row / d.ny);
    }
}

LOB_SIMD_CLONES(void, exps_of, (value, total, exps, score, n), double *value, double *total,
                const double *exps, const int32_t *score, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        value[i] = lob_appearance_exp(exps, score[i]);
        total[i] += value[i];
    }
}

LOB_SIMD_CLONES(void, reciprocals, (part, total, n), double *part, const double *total, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) part[i] = 1 / total[i];
}

LOB_SIMD_CLONES(void, begin_entries, (at, wanted, n), int32_t *at, int wanted, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) at[i] *= wanted;
}

/*
 * Quotients as float32, by reciprocals of the totals: divisions take several times as long. A
 * product is less than 3 units in the last place off, so that it rounds to the same float32 unless
 * the middle between two of these, 2^28 in the bits that are cut off, is as near.
 *
 * Returns whether it is anywhere.
 */
LOB_SIMD_CLONES(uint64_t, multiply, (share, value, part, n), float *share, const double *value,
                const double *part, int64_t n)
{
    const uint64_t cut_off = (UINT64_C(1) << 29) - 1, middle = UINT64_C(1) << 28;
    uint64_t near = 0;
#pragma omp simd reduction(| : near)
    for (int64_t i = 0; i < n; i++) {
        const double product = value[i] * part[i];
        uint64_t bits;
        memcpy(&bits, &product, sizeof bits);
        near |= ((bits - middle + 4) & cut_off & ~UINT64_C(7)) == 0;
        share[i] = (float)product;
    }
    return near;
}

static void divide(float *share, const double *value, const double *total, const double *part,
                   int64_t n)
{
    if (multiply(share, value, part, n))
        for (int64_t i = 0; i < n; i++) share[i] = (float)(value[i] / total[i]);
}

/* Shares of n <= BLOCK voxels: of label k and voxel i at k * apart + i * step. */
static void shares_block(const job *j, float *share, int64_t apart, int64_t step, int64_t first,
                         int64_t n)
{
    const lob_appearance_plan *p = &j->plan;
    entries at;
    int32_t score[BLOCK];
    double value[LOB_APPEARANCE_MAX_LABELS][BLOCK], total[BLOCK], part[BLOCK];
    float row[BLOCK];
    lob_appearance_corners corners[BLOCK];
    const bool local = j->nodes.look.table != NULL;
    if (local) find_corners(corners, j, first, n);
    for (int c = 0; c < p->channels; c++) {
        find_bins(j, at[c], c, first, n);
        begin_entries(at[c], p->wanted, n);
    }
    for (int64_t i = 0; i < n; i++) total[i] = 1;
    for (int k = 0; k < p->wanted; k++) {
        lob_appearance_gains(score, &j->places, k, first, n);
        if (local)
            add_local_scores(score, j, corners, k, at, n);
        else
            add_scores(score, p, k, at, n);
        exps_of(value[k], total, p->exps, score, n);
    }
    reciprocals(part, total, n);
    for (int k = 0; k < p->wanted; k++) {
        float *const to = step == 1 ? share + k * apart : row;
        divide(to, value[k], total, part, n);
        for (int64_t i = 0; i < n && to == row; i++) share[k * apart + i * step] = row[i];
    }
    for (int c = 0; c < p->values; c++) {
        const lob_appearance_view *const view = &p->view[c];
        load_row(row, view, p->voxels, first, n);
        for (int64_t i = 0; i < n; i++)
            share[(p->wanted + c) * apart + i * step] =
                lob_appearance_value(row[i], &view->scale, p->values);
    }
}

/* The same of any number. */
static void shares_of(const job *j, float *share, int64_t apart, int64_t step, int64_t first,
                      int64_t n)
{
    const int64_t blocks = (n + BLOCK - 1) / BLOCK;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t at = b * BLOCK, left = n - at;
        shares_block(j, share + at * step, apart, step, first + at, left < BLOCK ? left : BLOCK);
    }
}

/* Plane by plane onto another grid. */
static lob_status shares_onto(job *j, lob_resample_planes *planes, lob_error *error)
{
    const lob_dims d = j->plan.dims;
    const int64_t n = d.nx * d.ny, numbers = n * planes->lanes;
    float *plane = NULL;
    LOB_TRY(lob_budget_calloc(&j->budget, &plane, numbers, sizeof *plane, error));
    lob_status st = LOB_OK;
    for (int64_t z = 0; z < d.nz && st == LOB_OK; z++) {
        shares_of(j, plane, 1, planes->lanes, z * n, n);
        lob_resample_planes_add(planes, plane, z, j->context->threads);
        if (reports(j, 0.7 + 0.3 * (double)z / (double)d.nz)) st = LOB_ECANCEL;
    }
    lob_budget_free(&j->budget, plane, numbers, sizeof *plane);
    return st;
}

/* Grids that are not parallel: all shares, then what the other grid takes of them. */
static lob_status shares_then_onto(job *j, float *out, const lob_resample_input *in,
                                   lob_error *error)
{
    const int64_t n = j->plan.voxels * (j->plan.wanted + j->plan.values);
    const lob_resample_options options = lob_resample_defaults();
    lob_resample_input from = *in;
    lob_volume fine = *in->volume;
    float *shares = NULL;
    LOB_TRY(lob_budget_alloc(&j->budget, &shares, n, sizeof *shares, error));
    lob_context context = lob_budget_inner(&j->budget, j->context);
    context.progress = NULL;
    shares_of(j, shares, j->plan.voxels, 1, 0, j->plan.voxels);
    fine.data = shares;
    from.volume = &fine;
    const lob_status st = lob_resample_cpu(out, &from, &options, &context, error);
    lob_budget_free(&j->budget, shares, n, sizeof *shares);
    return st;
}

static lob_status write_onto(job *j, float *out, lob_error *error)
{
    const lob_volume *const grid = j->plan.in->grid;
    const lob_volume fine = {.type = LOB_F32,
                             .dims = j->plan.dims,
                             .geometry = j->plan.in->views[0]->geometry,
                             .channels = j->plan.wanted + j->plan.values};
    const lob_resample_input in = {.volume = &fine, .dims = grid->dims, .geometry = grid->geometry};
    lob_resample_planes planes;
    bool possible;
    lob_status st = lob_resample_planes_begin(&planes, &possible, out, &in, &j->budget, error);
    if (st == LOB_OK)
        st = possible ? shares_onto(j, &planes, error) : shares_then_onto(j, out, &in, error);
    lob_resample_planes_free(&planes);
    return st;
}

/* ---- levels ---- */

/* Where the shares are that are smoothed: there already, or made as they are asked for. */
typedef struct {
    const job *j;
    const float *whole;
    int64_t plane, voxels;
} plane_source;

static const float *next_plane(void *user, float *buffer, int64_t z, int64_t *apart)
{
    const plane_source *const from = user;
    *apart = from->whole ? from->voxels : from->plane;
    if (from->whole) return from->whole + z * from->plane;
    shares_of(from->j, buffer, from->plane, 1, z * from->plane, from->plane);
    return buffer;
}

/* Smooth whole shares label by label. */
static lob_status filter_labels(job *j, const lob_volume *grid, float *whole, lob_error *error)
{
    const int64_t n = lob_voxels(grid);
    lob_filter_step steps[LOB_APPEARANCE_STEPS];
    const int count = lob_appearance_steps(steps, grid, j->plan.options->blur_mm);
    lob_filter_options options = lob_filter_defaults();
    options.edge = LOB_EDGE_NEAREST;
    lob_status st = LOB_OK;
    for (int k = 0; k < j->plan.wanted + j->plan.values && st == LOB_OK; k++) {
        lob_volume one = *grid;
        lob_filter_output found = {.data = NULL};
        one.data = whole + k * n;
        const lob_filter_input in = {.image = &one, .steps = steps, .step_count = count};
        lob_context context = lob_budget_inner(&j->budget, j->context);
        context.progress = NULL;
        st = lob_filter_cpu(&found, &in, &options, &context, error);
        if (st == LOB_OK) memcpy((uint8_t *)j->shares + k * n, found.data, (size_t)n);
        lob_filter_output_free(&found);
    }
    return st;
}

/* Shares on the grid that is asked for, or only what is needed to make them plane by plane. */
static lob_status write_levels(job *j, const lob_volume *grid, float *whole,
                               const lob_appearance_smoothing *s, lob_error *error)
{
    const lob_dims d = grid->dims;
    plane_source from = {j, whole, d.nx * d.ny, lob_voxels(grid)};
    if (whole && j->plan.in->grid) LOB_TRY(write_onto(j, whole, error));
    if (whole && !j->plan.in->grid) shares_of(j, whole, j->plan.voxels, 1, 0, j->plan.voxels);
    if (!s->by_planes) return filter_labels(j, grid, whole, error);
    lob_context context = *j->context;
    if (whole) context.progress = NULL; /* which has reached its end */
    return lob_appearance_smooth(j->shares, j->plan.wanted + j->plan.values, d, s, next_plane,
                                 &from, &context, &j->budget, error);
}

static lob_status run_levels(job *j, lob_error *error)
{
    const lob_appearance_plan *const p = &j->plan;
    const lob_volume *const on = p->in->grid ? p->in->grid : p->in->views[0];
    const lob_volume grid = {
        .type = LOB_F32, .dims = on->dims, .geometry = on->geometry, .channels = 1, .slope = 1};
    const int64_t n = lob_voxels(&grid) * (p->wanted + p->values);
    lob_appearance_smoothing s;
    float *whole = NULL;
    lob_status st = lob_appearance_smoothing_make(&s, grid.dims, grid.geometry.spacing_mm,
                                                  p->options->blur_mm, &j->budget, error);
    if (st == LOB_OK && (p->in->grid || !s.by_planes))
        st = lob_budget_alloc(&j->budget, &whole, n, sizeof *whole, error);
    if (st == LOB_OK)
        st = lob_appearance_places_make(&j->places, j->stats, p, j->context, &j->budget, error);
    if (st == LOB_OK) st = write_levels(j, &grid, whole, &s, error);
    lob_budget_free(&j->budget, whole, n, sizeof *whole);
    lob_appearance_smoothing_free(&s, &j->budget);
    return st;
}

/* ---- all of it ---- */

static lob_status run_shares(job *j, lob_error *error)
{
    LOB_TRY(
        lob_appearance_places_make(&j->places, j->stats, &j->plan, j->context, &j->budget, error));
    if (j->plan.in->grid) return write_onto(j, j->shares, error);
    shares_of(j, j->shares, j->plan.voxels, 1, 0, j->plan.voxels);
    return LOB_OK;
}

static lob_status learn(job *j, lob_error *error)
{
    const lob_appearance_plan *const p = &j->plan;
    const bool local = p->options->local > 0;
    if (local) LOB_TRY(lob_appearance_nodes_make(&j->nodes, p, p->in->seeds, &j->budget, error));
    for (int c = 0; c < p->channels; c++) {
        find_scale(j, &j->plan.view[c]);
        if (local) bin_samples(j, c);
        LOB_TRY(tabulate_bins(j, c, error));
        LOB_TRY(count_bins(j, c, error));
        if (reports(j, 0.3 * (c + 1) / p->channels)) return LOB_ECANCEL;
    }
    lob_appearance_find_exps(&j->plan);
    LOB_TRY(lob_appearance_tables(&j->plan, error));
    return local ? lob_appearance_nodes_learn(&j->nodes, p, j->context->threads, error) : LOB_OK;
}

static lob_status run(job *j, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    LOB_TRY(learn(j, error));
    j->places.plan = p;
    j->places.budget = &j->budget;
    const lob_status st = (p->options->levels ? run_levels : run_shares)(j, error);
    lob_appearance_places_free(&j->places);
    LOB_TRY(st);
    return reports(j, 1) ? LOB_ECANCEL : LOB_OK;
}

lob_status lob_appearance_cpu(void *shares, lob_appearance_stats *stats,
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
    free_tables(&j);
    lob_appearance_nodes_free(&j.nodes, &j.plan, &j.budget);
    stats->working_bytes = j.budget.peak;
    lob_appearance_plan_free(&j.plan);
    return lob_error_end(error, st);
}
