/* Connected components on the CPU, from image to labels; join/run_table.h has the overview. */
#include "kernels/arrays.h"
#include "kernels/components/components_select.h"
#include "kernels/components/join/run_table.h"
#include "kernels/components/join/slab_share.h"
#include "kernels/components/label/holes.h"
#include "kernels/regions/regions_sum.h"
#include "kernels/regions/regions_voxel.h"
#include "kernels/share.h"
#include "volumes/labels.h"
#include "volumes/voxel_memory.h"

#include <stdlib.h>
#include <string.h>

/* One call. From number_components on, runs.number holds labels; 0: the component is removed. */
typedef struct {
    const lob_components_input *in;
    const lob_components_options *options;
    lob_components_output *out;
    lob_error *error;
    lob_component_rule rule;
    lob_run_table runs, holes;
    lob_budget budget;
    lob_progress stages;
    atomic_llong foreground, not_finite;
    int32_t *value; /* count: with keep_values the value of each component, else NULL */
} call;

/* Make the bits of a row: the foreground and, where values decide, the run starts. */
static void make_bits(lob_run_table *t, int64_t row, void *user)
{
    call *c = user;
    uint64_t *bits = t->foreground + row * t->words, *starts = t->starts + row * t->words;
    const int64_t not_finite = lob_bits_foreground(bits, c->in->image, c->in->mask, &c->rule, row);
    int64_t foreground = 0;
    for (int64_t w = 0; w < t->words; w++) foreground += __builtin_popcountll(bits[w]);
    atomic_fetch_add_explicit(&c->foreground, foreground, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->not_finite, not_finite, memory_order_relaxed);
    if (!t->starts || starts == bits || foreground == 0) {
        if (t->starts && starts != bits) memset(starts, 0, (size_t)t->words * sizeof *starts);
        return;
    }
    if (t->join == LOB_JOIN_EQUAL)
        lob_bits_equal(starts, c->in->image, row, row, -1);
    else
        lob_bits_within(starts, c->in->image, &c->rule, row, row, -1);
    lob_bits_start_runs(starts, bits, t->words);
}

static void add_voxels(const lob_run_table *t, const lob_row_runs *row, void *user)
{
    int64_t *voxels = user;
    (void)t;
    for (int64_t i = 0; i < row->count; i++)
        voxels[row->first_piece + row->piece[i]] += row->run[i].end - row->run[i].start;
}

/* The sizes of components; of as many as there are pieces, those behind them 0. */
static lob_status count_voxels(call *c, int64_t **voxels, double share)
{
    lob_run_table *t = &c->runs;
    LOB_TRY(lob_budget_calloc(&c->budget, voxels, t->pieces, sizeof **voxels, c->error));
    const lob_status st = lob_run_table_visit(t, add_voxels, *voxels, share, c->error);
    /* The number of a component is at most that of its first piece: sums move to the front. */
    for (int64_t i = 0; st == LOB_OK && i < t->pieces; i++) {
        const int64_t sum = (*voxels)[i];
        (*voxels)[i] = 0;
        (*voxels)[t->number[i]] += sum;
    }
    return st;
}

/* Select components by size and give them their labels. */
static lob_status select_by_size(call *c, double share)
{
    lob_run_table *t = &c->runs;
    lob_budget *budget = &c->budget;
    int32_t *label = NULL;
    int64_t *voxels = NULL;
    const int64_t heap = lob_components_select_bytes(t->components, c->options);
    lob_status st = count_voxels(c, &voxels, share);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &label, t->components, sizeof *label, c->error);
    if (st == LOB_OK) st = lob_budget_hold(budget, heap, c->error);
    if (st == LOB_OK) {
        st = lob_components_select(label, &c->out->count, voxels, t->components, c->options,
                                   c->error);
        lob_budget_release(budget, heap);
    }
    for (int64_t i = 0; st == LOB_OK && i < t->pieces; i++)
        t->number[i] = (uint32_t)label[t->number[i]];
    lob_budget_free(budget, label, t->components, sizeof *label);
    lob_budget_free(budget, voxels, t->pieces, sizeof *voxels);
    return st;
}

/* All components have labels, in raster order. */
static lob_status number_all(call *c)
{
    lob_run_table *t = &c->runs;
    lob_type type;
    c->out->count = t->components;
    if (t->components > INT32_MAX)
        return lob_components_type(&type, t->components, c->options, c->error);
    for (int64_t i = 0; i < t->pieces; i++) t->number[i]++;
    return LOB_OK;
}

/* The sums of a run table's labelled pieces. */
typedef struct {
    const call *call;
    uint32_t *index;           /* pieces: its index in regions, if it has a label */
    lob_region *regions;       /* labelled pieces */
    lob_region_values *values; /* labelled pieces; NULL without intensities */
} piece_sums;

static void add_regions(const lob_run_table *t, const lob_row_runs *row, void *user)
{
    const piece_sums *sums = user;
    const lob_volume *intensities = sums->call->in->intensities;
    const int64_t nx = t->dims.nx, y = row->row % t->dims.ny, z = row->row / t->dims.ny;
    for (int64_t i = 0; i < row->count; i++) {
        const uint32_t piece = row->first_piece + row->piece[i];
        if (t->number[piece] == 0) continue;
        const uint32_t k = sums->index[piece];
        const int64_t x = row->run[i].start, n = row->run[i].end - x;
        lob_region_add_run(&sums->regions[k], row->row * nx + x, x, y, z, n);
        if (intensities)
            lob_region_add_run_values(&sums->values[k], intensities, &sums->call->out->fine,
                                      row->row * nx + x, n);
    }
}

/* Add the pieces of a run table to the regions of their labels. */
static lob_status measure_pieces(call *c, const lob_run_table *t, double share)
{
    lob_components_output *out = c->out;
    piece_sums sums = {.call = c};
    int64_t labelled = 0;
    LOB_TRY(lob_budget_alloc(&c->budget, &sums.index, t->pieces, sizeof *sums.index, c->error));
    for (int64_t i = 0; i < t->pieces; i++) {
        sums.index[i] = (uint32_t)labelled;
        labelled += t->number[i] != 0;
    }
    lob_status st =
        lob_budget_calloc(&c->budget, &sums.regions, labelled, sizeof *sums.regions, c->error);
    if (st == LOB_OK && out->values)
        st = lob_budget_calloc(&c->budget, &sums.values, labelled, sizeof *sums.values, c->error);
    if (st == LOB_OK) st = lob_run_table_visit(t, add_regions, &sums, share, c->error);
    for (int64_t i = 0; st == LOB_OK && i < t->pieces; i++) {
        if (!t->number[i]) continue;
        lob_region_add(&out->regions[t->number[i] - 1], &sums.regions[sums.index[i]]);
        if (sums.values)
            lob_region_values_add(&out->values[t->number[i] - 1], &sums.values[sums.index[i]]);
    }
    lob_budget_free(&c->budget, sums.values, labelled, sizeof *sums.values);
    lob_budget_free(&c->budget, sums.regions, labelled, sizeof *sums.regions);
    lob_budget_free(&c->budget, sums.index, t->pieces, sizeof *sums.index);
    return st;
}

/* Allocate the regions of all labels and, where there are intensities, their values. */
static lob_status alloc_regions(call *c)
{
    lob_components_output *out = c->out;
    LOB_TRY(
        lob_budget_calloc(&c->budget, &out->regions, out->count, sizeof *out->regions, c->error));
    if (!c->in->intensities) return LOB_OK;
    return lob_budget_calloc(&c->budget, &out->values, out->count, sizeof *out->values, c->error);
}

static lob_status measure(call *c, const double share[2])
{
    lob_components_output *out = c->out;
    LOB_TRY(alloc_regions(c));
    if (c->in->share) {
        out->fine = *c->in->share->fine;
    } else if (c->in->intensities) {
        const lob_extremes all = lob_extremes_of(c->in->intensities, c->runs.threads);
        out->fine = lob_fine_levels_of(&all, c->in->intensities->type);
    }
    LOB_TRY(measure_pieces(c, &c->runs, share[0]));
    if (c->options->fill_holes) LOB_TRY(measure_pieces(c, &c->holes, share[1]));
    if (!c->in->intensities || c->in->share) return LOB_OK;
    return lob_regions_check_data(out->values, out->count, c->error);
}

/* Note the first voxel of each label. */
static void note_first_voxels(const lob_run_table *t, const lob_row_runs *row, void *user)
{
    int64_t *at = user;
    for (int64_t i = 0; i < row->count; i++) {
        const uint32_t label = t->number[row->first_piece + row->piece[i]];
        const int64_t voxel = row->row * t->dims.nx + row->run[i].start;
        if (!label) continue;
        int64_t before = __atomic_load_n(&at[label - 1], __ATOMIC_RELAXED);
        while (voxel < before && !__atomic_compare_exchange_n(&at[label - 1], &before, voxel, true,
                                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    }
}

static lob_status find_first_voxels(call *c, int64_t *at, double share)
{
    for (int64_t i = 0; i < c->out->count; i++) at[i] = INT64_MAX;
    return lob_run_table_visit(&c->runs, note_first_voxels, at, share, c->error);
}

/* The value of each component: that of its first voxel, whose index it replaces. */
static lob_status find_values(call *c, double **value, double share)
{
    const int64_t count = c->out->count;
    int64_t *at = NULL;
    lob_status st = lob_budget_alloc(&c->budget, &at, count, sizeof *at, c->error);
    *value = (void *)at;
    if (st == LOB_OK) st = find_first_voxels(c, at, share);
    for (int64_t i = 0; st == LOB_OK && i < count; i++)
        (*value)[i] = lob_component_value_at(c->in->image, at[i]);
    return st;
}

static lob_status keep_values(call *c, int64_t *largest, double share)
{
    const int64_t count = c->out->count;
    double *value = NULL;
    lob_status st = find_values(c, &value, share);
    if (st == LOB_OK)
        st = lob_budget_alloc(&c->budget, &c->value, count, sizeof *c->value, c->error);
    *largest = 0;
    for (int64_t i = 0; st == LOB_OK && i < count; i++) {
        st = lob_component_label_of_value(&c->value[i], value[i], c->error);
        if (st == LOB_OK && c->value[i] > *largest) *largest = c->value[i];
    }
    lob_budget_free(&c->budget, value, count, sizeof *value);
    return st;
}

/* ---- a slab of several ---- */

/* Pieces of the slab's first plane, and of its last behind it. */
static lob_status paint_faces(call *c, int32_t **faces)
{
    const lob_run_table *const t = &c->runs;
    const int64_t nx = t->dims.nx, ny = t->dims.ny, behind = (t->dims.nz - 1) * ny;
    lob_run *runs;
    LOB_TRY(lob_budget_calloc(&c->budget, faces, 2 * nx * ny, sizeof **faces, c->error));
    LOB_TRY(lob_budget_alloc(&c->budget, &runs, t->max_row_runs, sizeof *runs, c->error));
    for (int64_t y = 0; y < 2 * ny; y++) {
        const lob_row_runs row = lob_run_table_row(runs, t, y < ny ? y : behind + y - ny);
        for (int64_t i = 0; i < row.count; i++)
            for (int64_t x = runs[i].start; x < runs[i].end; x++)
                (*faces)[y * nx + x] = (int32_t)t->number[row.first_piece + row.piece[i]];
    }
    lob_budget_free(&c->budget, runs, t->max_row_runs, sizeof *runs);
    return LOB_OK;
}

/* All that is asked of pieces beside their numbers; freed by settle, where it is not taken over. */
static lob_status describe(call *c, lob_slab_found *found)
{
    static const double sum[2] = {0.8, 0.85};
    const lob_components_options *const o = c->options;
    lob_components_output *const out = c->out;
    if (o->regions) LOB_TRY(measure(c, sum));
    if (o->keep_values) LOB_TRY(find_values(c, &found->value, 0.87));
    if (o->slice_axis != 2) LOB_TRY(paint_faces(c, &found->faces));
    found->regions = out->regions;
    found->values = out->values;
    out->regions = NULL;
    out->values = NULL;
    return LOB_OK;
}

/* Tell of the slab's pieces, and give them the labels that come back. */
static lob_status settle(call *c)
{
    const lob_components_share *const share = c->in->share;
    lob_run_table *const t = &c->runs;
    lob_components_output *const out = c->out;
    const uint32_t *label = NULL;
    lob_slab_found found = {t->components, out->foreground, out->not_finite, .held = 0};
    lob_status st = LOB_OK;
    if (!share->known && lob_components_selects(c->options))
        st = count_voxels(c, &found.voxels, 0.55);
    if (st == LOB_OK) st = number_all(c);
    if (st == LOB_OK && !share->known) st = describe(c, &found);
    found.held = c->budget.held;
    if (st == LOB_OK) st = share->settle(share->user, &label, &out->type, &found, c->error);
    for (int64_t i = 0; st == LOB_OK && share->paints && i < t->pieces; i++)
        t->number[i] = label[t->number[i] - 1];
    lob_budget_free(&c->budget, found.faces, 2 * t->dims.nx * t->dims.ny, sizeof *found.faces);
    lob_budget_free(&c->budget, found.values, out->count, sizeof *found.values);
    lob_budget_free(&c->budget, found.regions, out->count, sizeof *found.regions);
    lob_budget_free(&c->budget, found.value, out->count, sizeof *found.value);
    lob_budget_free(&c->budget, found.voxels, t->pieces, sizeof *found.voxels);
    return st;
}

/* ---- labels ---- */

/* One AVX register. */
typedef int32_t eight_labels __attribute__((vector_size(32), aligned(4), may_alias));

/* For each of the 128 values of 7 bits: how many of the bits below position 0..7 are set. */
#define BELOW(b, n) ((b) >> ((n)-1) & 1)
#define BELOW_2(b)  BELOW(b, 1) + BELOW(b, 2)
#define BELOW_4(b)  BELOW_2(b) + BELOW_2((b) >> 2)
#define RANKS(b)                                                          \
    {                                                                     \
        0, BELOW(b, 1), BELOW_2(b), BELOW_2(b) + BELOW(b, 3), BELOW_4(b), \
            BELOW_4(b) + BELOW(b, 5), BELOW_4(b) + BELOW_2((b) >> 4),     \
            BELOW_4(b) + BELOW_2((b) >> 4) + BELOW(b, 7)                  \
    }
#define RANKS_4(b)  RANKS(b), RANKS((b) + 1), RANKS((b) + 2), RANKS((b) + 3)
#define RANKS_16(b) RANKS_4(b), RANKS_4((b) + 4), RANKS_4((b) + 8), RANKS_4((b) + 12)
#define RANKS_64(b) RANKS_16(b), RANKS_16((b) + 16), RANKS_16((b) + 32), RANKS_16((b) + 48)
static const int32_t ranks[128][8] = {RANKS_64(0), RANKS_64(64)};

/*
 * Make the labels of 8 columns.
 *
 *   label       in  the label of the run that holds the first column, then those of the next 7 runs
 *   starts      in  bit i: a run starts in column i; the first column's bit is not used
 *   foreground  in  bit i: column i is in a run
 */
static inline __attribute__((always_inline)) void expand_labels(eight_labels *out,
                                                                const int32_t *label,
                                                                uint64_t starts,
                                                                uint64_t foreground)
{
    static const eight_labels bit = {1, 2, 4, 8, 16, 32, 64, 128};
    const int32_t *rank = ranks[starts >> 1 & 127];
#ifdef __clang__
    for (int i = 0; i < 8; i++) (*out)[i] = label[rank[i]];
#else
    *out = __builtin_shuffle(*(const eight_labels *)label, *(const eight_labels *)rank);
#endif
    *out &= ((int32_t)(foreground & 0xff) & bit) == bit;
}

/* Columns of a word. Labels of its runs: first that of the run that comes in from the left; last 7
 * more that are read and not used. */
enum { COLUMNS = 64, LABELS = 1 + COLUMNS + 7 };

/* Set out[0..COLUMNS). */
#define WRITE_WORD(ctype, out)                                                  \
    if (starts == 0 && (foreground[w] == 0 || foreground[w] == UINT64_MAX)) {   \
        const ctype all = foreground[w] ? (ctype)label[0] : 0;                  \
        for (int x = 0; x < COLUMNS; x++) (out)[x] = all;                       \
    } else                                                                      \
        for (int x = 0, at = 0; x < COLUMNS; x += 8) {                          \
            eight_labels eight;                                                 \
            at += starts >> x & 1;                                              \
            expand_labels(&eight, label + at, starts >> x, foreground[w] >> x); \
            for (int k = 0; k < 8; k++) (out)[x + k] = (ctype)eight[k];         \
            at += __builtin_popcountll(starts >> x & 0xfe);                     \
        }

/*
 * Write a row's labels from left to right, and 0 between runs. The labels of a word's runs are read
 * before the word is written, since run_piece may lie where labels go.
 */
#define WRITE_ROW(ctype)                                                         \
    do {                                                                         \
        ctype *out = (ctype *)c->out->labels + row->row * t->dims.nx;            \
        for (int64_t w = 0, run = 0; w < t->words; w++, out += COLUMNS) {        \
            const uint64_t starts = lob_bits_starts(foreground, stored, w);      \
            const int64_t left = t->dims.nx - w * COLUMNS;                       \
            const int count = __builtin_popcountll(starts);                      \
            for (int i = 1; i <= count; i++) label[i] = label_of(c, row, run++); \
            if (left >= COLUMNS) {                                               \
                WRITE_WORD(ctype, out)                                           \
            } else {                                                             \
                ctype last[COLUMNS];                                             \
                WRITE_WORD(ctype, last)                                          \
                memcpy(out, last, (size_t)left * sizeof *out);                   \
            }                                                                    \
            label[0] = label[count];                                             \
        }                                                                        \
    } while (0)

static int32_t label_of(const call *c, const lob_row_runs *row, int64_t i)
{
    const uint32_t number = c->runs.number[row->first_piece + row->piece[i]];
    return c->value && number ? c->value[number - 1] : (int32_t)number;
}

LOB_SIMD_CLONES(void, write_row, (t, row, user), const lob_run_table *t, const lob_row_runs *row,
                void *user)
{
    const call *c = user;
    if (row->count == 0 && c->out->labels != t->run_piece) return; /* it is 0 */
    const uint64_t *foreground = t->foreground + row->row * t->words;
    const uint64_t *stored = lob_run_table_starts(t, row->row);
    int32_t label[LABELS] = {0};
    if (c->out->type == LOB_U8)
        WRITE_ROW(uint8_t);
    else if (c->out->type == LOB_I16)
        WRITE_ROW(int16_t);
    else
        WRITE_ROW(int32_t);
}

/* Write the labels that holes have taken, and nothing else. */
static void write_holes(const lob_run_table *t, const lob_row_runs *row, void *user)
{
    const call *c = user;
    for (int64_t i = 0; i < row->count; i++) {
        const uint32_t number = t->number[row->first_piece + row->piece[i]];
        if (!number) continue;
        const int32_t label = c->value ? c->value[number - 1] : (int32_t)number;
        for (int64_t x = row->run[i].start; x < row->run[i].end; x++)
            lob_label_put(c->out->labels, c->out->type, row->row * t->dims.nx + x, label);
    }
}

/* Allocate the labels. Labels of 4 bytes may be written over run_piece, which is not read again. */
static lob_status alloc_labels(call *c)
{
    const int64_t voxels = lob_voxels(c->in->image);
    lob_run_table *t = &c->runs;
    if (t->shared && c->out->type == LOB_I32) {
        c->out->labels = t->run_piece;
        return LOB_OK;
    }
    c->out->labels =
        lob_voxel_memory_zero(lob_product(voxels, (int64_t)lob_type_of(c->out->type)->bytes, 1, 1));
    if (c->out->labels) return LOB_OK;
    return lob_fail(c->error, LOB_ENOMEM, "no memory for %lld labels", (long long)voxels);
}

static lob_status write_labels(call *c, double share)
{
    LOB_TRY(alloc_labels(c));
    lob_status st = lob_run_table_visit_bits(&c->runs, write_row, c, share);
    if (c->out->labels == c->runs.run_piece) lob_run_table_detach(&c->runs);
    if (st == LOB_OK && c->options->fill_holes)
        st = lob_run_table_visit(&c->holes, write_holes, c, 1.0, c->error);
    return st;
}

/* Choose the components that stay, and measure them. */
static lob_status choose(call *c)
{
    static const double fill[2] = {0.55, 0.75}, sum[2] = {0.8, 0.85};
    lob_components_output *out = c->out;
    LOB_TRY(lob_components_selects(c->options) ? select_by_size(c, fill[0]) : number_all(c));
    if (c->options->fill_holes)
        LOB_TRY(lob_components_holes(&c->holes, &c->runs, out->count < out->found, fill, c->error));
    if (c->options->regions) LOB_TRY(measure(c, sum));
    if (lob_components_lists_members(c->options)) { /* a region may begin in a hole */
        LOB_TRY(
            lob_budget_alloc(&c->budget, &out->member, out->count, sizeof *out->member, c->error));
        LOB_TRY(find_first_voxels(c, out->member, 0.87));
    }
    int64_t largest = out->count;
    if (c->options->keep_values) LOB_TRY(keep_values(c, &largest, 0.9));
    return lob_components_type(&out->type, largest, c->options, c->error);
}

static lob_status label_image(call *c)
{
    static const double join[2] = {0.25, 0.5};
    const lob_components_share *const share = c->in->share;
    lob_components_output *out = c->out;
    const lob_status st = lob_label_runs(&c->runs, join, c->error);
    out->foreground = atomic_load(&c->foreground);
    out->not_finite = atomic_load(&c->not_finite);
    if (st != LOB_OK) return st;
    out->found = c->runs.components;
    LOB_TRY(share ? settle(c) : choose(c));
    return share && !share->paints ? LOB_OK : write_labels(c, 0.95);
}

lob_status lob_components_cpu(lob_components_output *out, const lob_components_input *in,
                              const lob_components_options *options, const lob_context *context,
                              lob_error *error)
{
    lob_error_begin(error);
    *out = (lob_components_output){0};
    LOB_TRY(lob_check_memory(in->place, in->image, in->intensities, error));
    LOB_TRY(lob_components_check(in, options, error));
    call c = {
        .in = in,
        .options = options,
        .out = out,
        .error = error,
        .rule = lob_component_rule_of(in->image, options),
        .budget = {.who = "components", .limit = context->max_memory},
        .stages = {.context = context                  },
    };
    c.runs = (lob_run_table){.dims = in->image->dims,
                             .join = options->join,
                             .image = in->image,
                             .rule = &c.rule,
                             .neighbours = options->neighbours,
                             .slice_axis = options->slice_axis,
                             .threads = context->threads > 0 ? context->threads : 1,
                             .may_share = options->type == LOB_I32 ||
                                          (options->type == LOB_TYPES && !in->share),
                             .budget = &c.budget,
                             .stages = &c.stages,
                             .make_bits = make_bits,
                             .user = &c};
    lob_status st = label_image(&c);
    if (st == LOB_OK) st = lob_report(context, 1.0);
    lob_budget_free(&c.budget, c.value, out->count, sizeof *c.value);
    if (options->fill_holes) lob_run_table_free(&c.holes);
    lob_run_table_free(&c.runs);
    out->working_bytes = c.budget.peak;
    if (st != LOB_OK) lob_components_output_free(out);
    return lob_error_end(error, st);
}
