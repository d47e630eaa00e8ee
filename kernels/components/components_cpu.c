/* Connected components on the CPU: from an image to labels, through runs that are joined. */
#include "kernels/components/components_select.h"
#include "kernels/components/join/join_slabs.h"
#include "kernels/regions/regions_sum.h"
#include "kernels/regions/regions_voxel.h"
#include "volumes/labels.h"

#include <stdlib.h>
#include <string.h>

/* One call. After `number`, pieces' numbers are labels, and 0 where a component was taken out. */
typedef struct {
    const lob_components_input *in;
    const lob_components_options *options;
    lob_components_output *result;
    lob_error *error;
    lob_component_rule rule;
    lob_pieces pieces, holes;
    lob_budget budget;
    lob_progress stages;
    atomic_llong foreground, not_finite;
    int64_t *voxels; /* a piece each, then a component */
    int32_t *value;  /* keep_values: a label's */
} call;

/* Bits of the foreground and, where values decide, of where runs start. */
static void mark_row(lob_pieces *p, int64_t row, void *user)
{
    call *c = user;
    uint64_t *filled = p->filled + row * p->words, *starts = p->starts + row * p->words;
    const int64_t not_finite = lob_bits_filled(filled, c->in->image, c->in->mask, &c->rule, row);
    int64_t foreground = 0;
    for (int64_t w = 0; w < p->words; w++) foreground += __builtin_popcountll(filled[w]);
    atomic_fetch_add_explicit(&c->foreground, foreground, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->not_finite, not_finite, memory_order_relaxed);
    if (!p->starts || starts == filled || foreground == 0) {
        if (p->starts && starts != filled) memset(starts, 0, (size_t)p->words * sizeof *starts);
        return;
    }
    if (p->join == LOB_JOIN_EQUAL)
        lob_bits_equal(starts, c->in->image, row, row, -1);
    else
        lob_bits_within(starts, c->in->image, &c->rule, row, row, -1);
    uint64_t before = 0;
    for (int64_t w = 0; w < p->words; w++) {
        starts[w] = filled[w] & ~(starts[w] & (filled[w] << 1 | before));
        before = filled[w] >> 63;
    }
}

static void add_voxels(const lob_pieces *p, const lob_piece_row *row, void *user)
{
    int64_t *voxels = user;
    (void)p;
    for (int64_t i = 0; i < row->count; i++)
        voxels[row->base + row->piece[i]] += row->run[i].end - row->run[i].start;
}

/* Decide by sizes which components stay and what their labels are. */
static lob_status select_sized(call *c, double share)
{
    lob_pieces *p = &c->pieces;
    lob_budget *budget = &c->budget;
    int32_t *label = NULL;
    const int64_t order = lob_components_select_bytes(p->found, c->options);
    lob_status st = lob_budget_alloc(budget, &c->voxels, p->total, sizeof *c->voxels, c->error);
    if (st != LOB_OK) return st;
    memset(c->voxels, 0, (size_t)p->total * sizeof *c->voxels);
    st = lob_pieces_visit(p, add_voxels, c->voxels, share, c->error);
    /* A component's number is at most its first piece's, so its sum can move to the front. */
    for (int64_t i = 0; st == LOB_OK && i < p->total; i++) {
        const int64_t voxels = c->voxels[i];
        c->voxels[i] = 0;
        c->voxels[p->number[i]] += voxels;
    }
    if (st == LOB_OK) st = lob_budget_alloc(budget, &label, p->found, sizeof *label, c->error);
    if (st == LOB_OK) st = lob_budget_hold(budget, order, c->error);
    if (st == LOB_OK) {
        st = lob_components_select(label, &c->result->count, c->voxels, p->found, c->options,
                                   c->error);
        lob_budget_release(budget, order);
    }
    for (int64_t i = 0; st == LOB_OK && i < p->total; i++)
        p->number[i] = (uint32_t)label[p->number[i]];
    lob_budget_free(budget, label, p->found, sizeof *label);
    lob_budget_free(budget, c->voxels, p->total, sizeof *c->voxels);
    c->voxels = NULL;
    return st;
}

static lob_status number(call *c, double share)
{
    lob_pieces *p = &c->pieces;
    c->result->found = p->found;
    if (lob_components_selects(c->options)) return select_sized(c, share);
    lob_type type;
    c->result->count = p->found;
    if (p->found > INT32_MAX) return lob_components_type(&type, p->found, c->options, c->error);
    for (int64_t i = 0; i < p->total; i++) p->number[i]++;
    return LOB_OK;
}

/* Measuring the labelled pieces of one kind: those of components, or of holes. */
typedef struct {
    const call *call;
    uint32_t *rank;            /* a piece's row in parts, if it has a label */
    lob_region *part;          /* labelled pieces */
    lob_region_values *values; /* labelled pieces, where there are intensities */
} pieces_sums;

static void add_regions(const lob_pieces *p, const lob_piece_row *row, void *user)
{
    const pieces_sums *sums = user;
    const lob_volume *intensities = sums->call->in->intensities;
    const int64_t nx = p->dims.nx, y = row->row % p->dims.ny, z = row->row / p->dims.ny;
    for (int64_t i = 0; i < row->count; i++) {
        const uint32_t piece = row->base + row->piece[i];
        if (p->number[piece] == 0) continue;
        const uint32_t rank = sums->rank[piece];
        const int64_t x = row->run[i].start, n = row->run[i].end - x;
        lob_region_add_run(&sums->part[rank], row->row * nx + x, x, y, z, n);
        if (intensities)
            lob_region_add_run_values(&sums->values[rank], intensities, &sums->call->result->fine,
                                      row->row * nx + x, n);
    }
}

/* Add the pieces of one kind to the regions of their labels. */
static lob_status measure_pieces(call *c, const lob_pieces *p, double share)
{
    lob_components_output *result = c->result;
    pieces_sums sums = {.call = c};
    int64_t labelled = 0;
    lob_status st = lob_budget_alloc(&c->budget, &sums.rank, p->total, sizeof *sums.rank, c->error);
    if (st != LOB_OK) return st;
    for (int64_t i = 0; i < p->total; i++) {
        sums.rank[i] = (uint32_t)labelled;
        labelled += p->number[i] != 0;
    }
    st = lob_budget_alloc(&c->budget, &sums.part, labelled, sizeof *sums.part, c->error);
    if (st == LOB_OK && result->values)
        st = lob_budget_alloc(&c->budget, &sums.values, labelled, sizeof *sums.values, c->error);
    if (st == LOB_OK) {
        memset(sums.part, 0, (size_t)labelled * sizeof *sums.part);
        if (sums.values) memset(sums.values, 0, (size_t)labelled * sizeof *sums.values);
        st = lob_pieces_visit(p, add_regions, &sums, share, c->error);
    }
    for (int64_t i = 0; st == LOB_OK && i < p->total; i++) {
        if (!p->number[i]) continue;
        lob_region_add(&result->regions[p->number[i] - 1], &sums.part[sums.rank[i]]);
        if (sums.values)
            lob_region_values_add(&result->values[p->number[i] - 1], &sums.values[sums.rank[i]]);
    }
    lob_budget_free(&c->budget, sums.values, labelled, sizeof *sums.values);
    lob_budget_free(&c->budget, sums.part, labelled, sizeof *sums.part);
    lob_budget_free(&c->budget, sums.rank, p->total, sizeof *sums.rank);
    return st;
}

/* Regions of all labels, and values where there are intensities: the result's, and in the budget.
 */
static lob_status take_table(call *c)
{
    lob_components_output *result = c->result;
    const int64_t rows = result->count;
    lob_status st =
        lob_budget_alloc(&c->budget, &result->regions, rows, sizeof *result->regions, c->error);
    if (st == LOB_OK) memset(result->regions, 0, (size_t)rows * sizeof *result->regions);
    if (st != LOB_OK || !c->in->intensities) return st;
    st = lob_budget_alloc(&c->budget, &result->values, rows, sizeof *result->values, c->error);
    if (st == LOB_OK) memset(result->values, 0, (size_t)rows * sizeof *result->values);
    return st;
}

static lob_status measure(call *c, const double share[2])
{
    lob_components_output *result = c->result;
    lob_status st = take_table(c);
    if (st != LOB_OK) return st;
    if (c->in->intensities) {
        const lob_extremes all = lob_extremes_of(c->in->intensities, c->pieces.threads);
        result->fine = lob_fine_levels_of(&all, c->in->intensities->type);
    }
    st = measure_pieces(c, &c->pieces, share[0]);
    if (st == LOB_OK && c->options->fill_holes) st = measure_pieces(c, &c->holes, share[1]);
    if (st == LOB_OK && c->in->intensities)
        st = lob_regions_check_data(result->values, result->count, c->error);
    return st;
}

/* The first voxel of each label. */
static void find_voxels(const lob_pieces *p, const lob_piece_row *row, void *user)
{
    int64_t *at = user;
    for (int64_t i = 0; i < row->count; i++) {
        const uint32_t label = p->number[row->base + row->piece[i]];
        const int64_t voxel = row->row * p->dims.nx + row->run[i].start;
        if (!label) continue;
        int64_t before = __atomic_load_n(&at[label - 1], __ATOMIC_RELAXED);
        while (voxel < before && !__atomic_compare_exchange_n(&at[label - 1], &before, voxel, true,
                                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    }
}

static lob_status find_members(call *c, int64_t *at, double share)
{
    for (int64_t i = 0; i < c->result->count; i++) at[i] = INT64_MAX;
    return lob_pieces_visit(&c->pieces, find_voxels, at, share, c->error);
}

/* What the result tells of them, where holes hide it. */
static lob_status tell_members(call *c, double share)
{
    int64_t **member = &c->result->member;
    const lob_status st =
        lob_budget_alloc(&c->budget, member, c->result->count, sizeof **member, c->error);
    if (st != LOB_OK) return st;
    return find_members(c, *member, share);
}

static lob_status keep_values(call *c, int64_t *largest, double share)
{
    const int64_t count = c->result->count;
    int64_t *at = NULL;
    lob_status st = lob_budget_alloc(&c->budget, &c->value, count, sizeof *c->value, c->error);
    if (st == LOB_OK) st = lob_budget_alloc(&c->budget, &at, count, sizeof *at, c->error);
    if (st == LOB_OK) st = find_members(c, at, share);
    *largest = 0;
    for (int64_t i = 0; st == LOB_OK && i < count; i++) {
        st = lob_component_kept_value(&c->value[i], c->in->image, at[i], c->error);
        if (st == LOB_OK && c->value[i] > *largest) *largest = c->value[i];
    }
    lob_budget_free(&c->budget, at, count, sizeof *at);
    return st;
}

/* In one register where a machine has such ones. */
typedef int32_t eight_labels __attribute__((vector_size(32), aligned(4), may_alias));

/* For 7 bits, how many of them are set below each place. */
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
 * The labels of 8 columns.
 *
 *   label   in  the one of the run that holds the first column, and those of the 7 runs after it
 *   starts  in  bit i: a run starts in column i; the first column's bit is not looked at
 *   filled  in  bit i: column i is in a run
 */
static inline __attribute__((always_inline)) void spread(eight_labels *out, const int32_t *label,
                                                         uint64_t starts, uint64_t filled)
{
    static const eight_labels bit = {1, 2, 4, 8, 16, 32, 64, 128};
    const int32_t *rank = ranks[starts >> 1 & 127];
#ifdef __clang__
    for (int i = 0; i < 8; i++) (*out)[i] = label[rank[i]];
#else
    *out = __builtin_shuffle(*(const eight_labels *)label, *(const eight_labels *)rank);
#endif
    *out &= ((int32_t)(filled & 0xff) & bit) == bit;
}

/* Columns of a word, and the labels of its runs behind that of the run which comes in from the
 * left, with as many more as are read and not used. */
enum { COLUMNS = 64, LABELS = 1 + COLUMNS + 7 };

/* Set out[0..COLUMNS). */
#define WRITE_WORD(ctype, out)                                          \
    if (starts == 0 && (filled[w] == 0 || filled[w] == UINT64_MAX)) {   \
        const ctype all = filled[w] ? (ctype)label[0] : 0;              \
        for (int x = 0; x < COLUMNS; x++) (out)[x] = all;               \
    } else                                                              \
        for (int x = 0, at = 0; x < COLUMNS; x += 8) {                  \
            eight_labels eight;                                         \
            at += starts >> x & 1;                                      \
            spread(&eight, label + at, starts >> x, filled[w] >> x);    \
            for (int k = 0; k < 8; k++) (out)[x + k] = (ctype)eight[k]; \
            at += __builtin_popcountll(starts >> x & 0xfe);             \
        }

/*
 * Write a row's labels from left to right, and 0 between runs. The labels of a word's runs are
 * fetched before the word is written, since nodes may lie where labels go.
 */
#define WRITE_ROW(ctype)                                                         \
    do {                                                                         \
        ctype *out = (ctype *)c->result->labels + row->row * p->dims.nx;         \
        for (int64_t w = 0, run = 0; w < p->words; w++, out += COLUMNS) {        \
            const uint64_t starts = lob_bits_starts(filled, stored, w);          \
            const int64_t left = p->dims.nx - w * COLUMNS;                       \
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

static int32_t label_of(const call *c, const lob_piece_row *row, int64_t i)
{
    const uint32_t number = c->pieces.number[row->base + row->piece[i]];
    return c->value && number ? c->value[number - 1] : (int32_t)number;
}

LOB_SIMD_CLONES static void write_row(const lob_pieces *p, const lob_piece_row *row, void *user)
{
    const call *c = user;
    const uint64_t *filled = p->filled + row->row * p->words;
    const uint64_t *stored = lob_pieces_starts(p, row->row);
    int32_t label[LABELS] = {0};
    if (c->result->type == LOB_U8)
        WRITE_ROW(uint8_t);
    else if (c->result->type == LOB_I16)
        WRITE_ROW(int16_t);
    else
        WRITE_ROW(int32_t);
}

/* Write the labels that holes have taken, and nothing else. */
static void write_holes(const lob_pieces *p, const lob_piece_row *row, void *user)
{
    const call *c = user;
    for (int64_t i = 0; i < row->count; i++) {
        const uint32_t number = p->number[row->base + row->piece[i]];
        if (!number) continue;
        const int32_t label = c->value ? c->value[number - 1] : (int32_t)number;
        for (int64_t x = row->run[i].start; x < row->run[i].end; x++)
            lob_label_put(c->result->labels, c->result->type, row->row * p->dims.nx + x, label);
    }
}

/* Memory for the labels; those of 4 bytes may lie where nodes do, which nobody asks for again. */
static lob_status take_labels(call *c)
{
    const int64_t voxels = lob_voxels(c->in->image);
    lob_pieces *p = &c->pieces;
    if (p->spread && c->result->type == LOB_I32) {
        c->result->labels = p->node;
        return LOB_OK;
    }
    c->result->labels =
        lob_alloc_pages(lob_product(voxels, (int64_t)lob_type_of(c->result->type)->bytes, 1, 1));
    if (c->result->labels) return LOB_OK;
    return lob_fail(c->error, LOB_ENOMEM, "no memory for %lld labels", (long long)voxels);
}

static lob_status write_labels(call *c, double share)
{
    lob_status st = take_labels(c);
    if (st != LOB_OK) return st;
    st = lob_pieces_visit_bits(&c->pieces, write_row, c, share);
    if (c->result->labels == c->pieces.node) lob_pieces_hand_over(&c->pieces);
    if (st == LOB_OK && c->options->fill_holes)
        st = lob_pieces_visit(&c->holes, write_holes, c, 1.0, c->error);
    return st;
}

static lob_status run(call *c)
{
    static const double find[2] = {0.25, 0.5}, fill[2] = {0.55, 0.75}, sum[2] = {0.8, 0.85};
    lob_components_output *result = c->result;
    lob_status st = lob_pieces_find(&c->pieces, find, c->error);
    result->foreground = atomic_load(&c->foreground);
    result->not_finite = atomic_load(&c->not_finite);
    if (st == LOB_OK) st = number(c, fill[0]);
    if (st == LOB_OK && c->options->fill_holes)
        st = lob_components_holes(&c->holes, &c->pieces, result->count < result->found, fill,
                                  c->error);
    if (st == LOB_OK && c->options->regions) st = measure(c, sum);
    if (st == LOB_OK && lob_components_tells_members(c->options)) st = tell_members(c, 0.87);
    int64_t largest = result->count;
    if (st == LOB_OK && c->options->keep_values) st = keep_values(c, &largest, 0.9);
    if (st == LOB_OK) st = lob_components_type(&result->type, largest, c->options, c->error);
    if (st == LOB_OK) st = write_labels(c, 0.95);
    return st;
}

lob_status lob_components_cpu(lob_components_output *result, const lob_components_input *in,
                              const lob_components_options *options, const lob_context *context,
                              lob_error *error)
{
    *result = (lob_components_output){0};
    lob_status st = lob_components_check(in, options, error);
    if (st != LOB_OK) return st;
    call c = {
        .in = in,
        .options = options,
        .result = result,
        .error = error,
        .rule = lob_component_rule_of(in->image, options),
        .budget = {.who = "components", .limit = context->max_memory},
        .stages = {.context = context                  },
    };
    c.pieces = (lob_pieces){.dims = in->image->dims,
                            .join = options->join,
                            .image = in->image,
                            .rule = &c.rule,
                            .neighbours = options->neighbours,
                            .slice_axis = options->slice_axis,
                            .threads = context->threads > 0 ? context->threads : 1,
                            .may_spread = options->type == LOB_I32 || options->type == LOB_TYPES,
                            .budget = &c.budget,
                            .stages = &c.stages,
                            .mark = mark_row,
                            .user = &c};
    st = run(&c);
    if (st == LOB_OK && context->progress && context->progress(context->user, 1.0))
        st = LOB_ECANCEL;
    lob_budget_free(&c.budget, c.value, result->count, sizeof *c.value);
    if (options->fill_holes) lob_pieces_free(&c.holes);
    lob_pieces_free(&c.pieces);
    result->working_bytes = c.budget.peak;
    if (st != LOB_OK) lob_components_output_free(result);
    return st;
}
