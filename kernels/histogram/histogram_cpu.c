/* Histograms and percentiles on the CPU: every thread counts into a table of its own. */
#include "kernels/budget.h"
#include "kernels/histogram/histogram_bins.h"
#include "kernels/progress.h"

#include <omp.h>

enum { PART = 1 << 16 };

/* The voxels that are counted: channels, each of voxels from `first` on. */
typedef struct {
    const lob_volume *image;
    const uint8_t *mask;
    int64_t voxels, first;
    int channels;
} values_of;

static values_of values_in(const lob_histogram_input *in)
{
    const int64_t voxels = lob_voxels(in->image);
    const bool all = in->channel < 0;
    return (values_of){in->image, in->mask, voxels, all ? 0 : in->channel * voxels,
                       all ? in->image->channels : 1};
}

typedef struct {
    int64_t not_finite;
    lob_extremes extremes;
} part_result;

/* ---- extremes ---- */

#define PART_EXTREMES(type, ctype, name, integer, lowest, highest)             \
    case type: {                                                               \
        const ctype *v = (const ctype *)from->image->data + at;                \
        ctype low = (ctype)(highest), high = (ctype)(lowest);                  \
        for (int64_t i = 0; i < n; i++) {                                      \
            if ((v[i] >= low && v[i] <= high) || (mask && !mask[i])) continue; \
            if (!LOB_IS_FINITE(v[i])) {                                        \
                r->not_finite++;                                               \
                continue;                                                      \
            }                                                                  \
            if (v[i] < low) low = v[i];                                        \
            if (v[i] > high) high = v[i];                                      \
        }                                                                      \
        if (low > high) break;                                                 \
        e = (lob_extremes){true, (double)low, (double)high, 0, 0};             \
        if (integer) e.low_bits = (uint64_t)low, e.high_bits = (uint64_t)high; \
        break;                                                                 \
    }

static void part_extremes(part_result *r, const values_of *from, int64_t at, const uint8_t *mask,
                          int64_t n)
{
    lob_extremes e = {0};
    LOB_TYPE_SWITCH(from->image->type, PART_EXTREMES);
    lob_extremes_widen(&r->extremes, &e, from->image->type);
}

/* ---- counts ---- */

/* What a pass counts: digits of keys, or bins. */
typedef struct {
    const lob_selection *selection; /* NULL: bins */
    const lob_histogram_bins *bins;
    lob_bin_rule rule;
    float edge[LOB_HISTOGRAM_BINS + 1]; /* of float32 */
    int64_t columns;                    /* of the table */
} pass;

/* The first digit needs no prefix. */
#define COUNT_DIGITS(type, ctype, name, integer, lowest, highest)         \
    case type: {                                                          \
        const ctype *v = (const ctype *)from->image->data + at;           \
        for (int64_t i = 0; i < n; i++) {                                 \
            if ((mask && !mask[i]) || !LOB_IS_FINITE(v[i])) continue;     \
            const uint64_t key = lob_ordered_key_##ctype(v[i]) >> shift;  \
            if (first) {                                                  \
                counts[key]++;                                            \
                continue;                                                 \
            }                                                             \
            for (int k = 0; k < s->prefixes; k++)                         \
                if (key >> s->digit == s->prefix[k])                      \
                    counts[((uint64_t)k << s->digit) + (key & digits)]++; \
        }                                                                 \
        break;                                                            \
    }

static void count_digits(uint32_t *counts, const pass *p, const values_of *from, int64_t at,
                         const uint8_t *mask, int64_t n)
{
    const lob_selection *s = p->selection;
    const int shift = lob_selection_shift(s);
    const uint64_t digits = (UINT64_C(1) << s->digit) - 1;
    const bool first = s->done == 0;
    LOB_TYPE_SWITCH(from->image->type, COUNT_DIGITS);
}

#define COUNT_BINS(type, ctype, name, integer, lowest, highest)                     \
    case type: {                                                                    \
        const ctype *v = (const ctype *)from->image->data + at;                     \
        for (int64_t i = 0; i < n; i++) {                                           \
            if ((mask && !mask[i]) || !LOB_IS_FINITE(v[i])) continue;               \
            if (integer && p->bins->exact)                                          \
                counts[(uint64_t)v[i] - p->bins->low_bits]++;                       \
            else if (type == LOB_F32)                                               \
                counts[lob_bin_of_float((float)v[i], &p->rule, p->edge)]++;         \
            else                                                                    \
                counts[lob_bin_of_double((double)v[i], &p->rule, p->bins->edge)]++; \
        }                                                                           \
        break;                                                                      \
    }

static void count_bins(uint32_t *counts, const pass *p, const values_of *from, int64_t at,
                       const uint8_t *mask, int64_t n)
{
    LOB_TYPE_SWITCH(from->image->type, COUNT_BINS);
}

/* ---- passes ---- */

/* Add a thread's table and clear it. */
static void add_table(uint64_t *counts, uint32_t *table, int64_t columns)
{
#pragma omp critical(lob_histogram)
    for (int64_t i = 0; i < columns; i++) counts[i] += table[i], table[i] = 0;
}

/*
 * Go through all values: extremes without a pass, else counts, added to `counts`.
 *
 *   tables  in  for each thread p->columns numbers, all 0 before and afterwards
 */
static void go_through(part_result *all, uint64_t *counts, uint32_t *tables, const pass *p,
                       const values_of *from, lob_progress *progress, double to)
{
    const int64_t parts = (from->voxels + PART - 1) / PART, columns = p ? p->columns : 0;
    lob_progress_stage(progress, parts * from->channels, to);
#pragma omp parallel num_threads(progress->context->threads)
    {
        uint32_t *const mine = tables ? tables + omp_get_thread_num() * columns : NULL;
        part_result r = {0};
        int64_t counted = 0; /* since the table was added */
#pragma omp for schedule(static)
        for (int64_t part = 0; part < parts * from->channels; part++) {
            if (lob_progress_stopped(progress)) continue;
            const int64_t channel = part / parts, first = part % parts * PART;
            const int64_t n = from->voxels - first < PART ? from->voxels - first : PART;
            const int64_t at = from->first + channel * from->voxels + first;
            const uint8_t *mask = from->mask ? from->mask + first : NULL;
            if (!p)
                part_extremes(&r, from, at, mask, n);
            else if (p->selection)
                count_digits(mine, p, from, at, mask, n);
            else
                count_bins(mine, p, from, at, mask, n);
            counted += n;
            if (p && counted > (int64_t)UINT32_MAX - PART) {
                add_table(counts, mine, columns);
                counted = 0;
            }
            lob_progress_report(progress, 1);
        }
        if (p) add_table(counts, mine, columns);
#pragma omp critical(lob_histogram)
        if (all) {
            all->not_finite += r.not_finite;
            lob_extremes_widen(&all->extremes, &r.extremes, from->image->type);
        }
    }
}

/* One pass that adds to the counts, with tables in the budget. */
static lob_status add(uint64_t *counts, const pass *p, const values_of *from,
                      lob_progress *progress, double to, lob_budget *budget, lob_error *error)
{
    uint32_t *tables = NULL;
    const int64_t columns = p->columns, rows = progress->context->threads;
    LOB_TRY(lob_budget_calloc(budget, &tables, columns * rows, sizeof *tables, error));
    go_through(NULL, counts, tables, p, from, progress, to);
    lob_budget_free(budget, tables, columns * rows, sizeof *tables);
    return lob_progress_stopped(progress) ? LOB_ECANCEL : LOB_OK;
}

/* One pass that counts. */
static lob_status count(uint64_t **counts, const pass *p, const values_of *from,
                        lob_progress *progress, double to, lob_budget *budget, lob_error *error)
{
    LOB_TRY(lob_budget_calloc(budget, counts, p->columns, sizeof **counts, error));
    const lob_status st = add(*counts, p, from, progress, to, budget, error);
    if (st == LOB_OK) return LOB_OK;
    lob_budget_free(budget, *counts, p->columns, sizeof **counts);
    *counts = NULL;
    return st;
}

static pass pass_of(const lob_histogram_bins *bins)
{
    pass p = {.bins = bins, .rule = lob_bin_rule_of(bins), .columns = bins->count};
    for (int i = 0; i <= LOB_HISTOGRAM_BINS; i++) p.edge[i] = (float)bins->edge[i];
    return p;
}

static lob_budget budget_of(const lob_context *context)
{
    return (lob_budget){.who = "histograms", .limit = context->max_memory};
}

lob_status lob_histogram_cpu(lob_histogram_bins *bins, int64_t **counts,
                             const lob_histogram_input *in, const lob_context *context,
                             lob_error *error)
{
    lob_budget budget = budget_of(context);
    part_result all = {0};
    lob_progress progress = {.context = context};
    *bins = (lob_histogram_bins){0};
    *counts = NULL;
    LOB_TRY(lob_histogram_check(in, error));
    const values_of from = values_in(in);
    go_through(&all, NULL, NULL, NULL, &from, &progress, 0.5);
    if (lob_progress_stopped(&progress)) return LOB_ECANCEL;
    bins->not_finite = all.not_finite;
    lob_histogram_settle(bins, &all.extremes, in->image->type);
    if (bins->count == 0) return LOB_OK;

    const pass p = pass_of(bins);
    uint64_t *numbers = NULL;
    LOB_TRY(count(&numbers, &p, &from, &progress, 1, &budget, error));
    for (int b = 0; b < bins->count; b++) bins->values += (int64_t)numbers[b];
    *counts = (int64_t *)numbers; /* an array of lob_budget_alloc is freed by free */
    return LOB_OK;
}

lob_status lob_percentiles_cpu(double *values, const double *percent, int count_, int64_t *data,
                               const lob_histogram_input *in, const lob_context *context,
                               lob_error *error)
{
    lob_budget budget = budget_of(context);
    double stored[LOB_PERCENTILES_MAX];
    lob_selection s;
    LOB_TRY(lob_histogram_check(in, error));
    LOB_TRY(lob_percentiles_check(percent, count_, error));
    const values_of from = values_in(in);
    lob_progress progress = {.context = context};
    lob_selection_percents(stored, percent, count_, in->image->slope);
    lob_selection_begin(&s, in->image->type, LOB_SELECT_DIGIT_BITS);
    bool any = true;
    while (any && s.done < s.key_bits) {
        const double done = (double)(s.done + s.digit) / s.key_bits;
        const pass p = {.selection = &s, .columns = lob_selection_columns(&s)};
        uint64_t *numbers = NULL;
        LOB_TRY(count(&numbers, &p, &from, &progress, done, &budget, error));
        any = lob_selection_take(&s, numbers, stored, count_);
        lob_budget_free(&budget, numbers, p.columns, sizeof *numbers);
    }
    if (data) *data = s.data;
    if (!any) return lob_percentiles_no_data(error);
    lob_selection_end(values, &s, count_, in->image->slope, in->image->inter);
    return LOB_OK;
}

lob_status lob_percentiles_at(double *values, const double *percent, int count,
                              const lob_volume *image, const lob_budget *budget,
                              const lob_context *context, lob_error *error)
{
    const lob_histogram_input in = {.image = image, .channel = -1};
    lob_context inner = lob_budget_inner(budget, context);
    inner.progress = NULL;
#ifdef LOB_WITH_CUDA
    if (inner.device) return lob_percentiles_cuda(values, percent, count, image, &inner, error);
#endif
    return lob_percentiles_cpu(values, percent, count, NULL, &in, &inner, error);
}

/* ---- parts of an image ---- */

lob_status lob_histogram_add_extremes(lob_extremes *extremes, const lob_histogram_input *in,
                                      const lob_context *context)
{
    part_result all = {.extremes = *extremes};
    lob_progress progress = {.context = context};
    const values_of from = values_in(in);
    go_through(&all, NULL, NULL, NULL, &from, &progress, 1);
    *extremes = all.extremes;
    return lob_progress_stopped(&progress) ? LOB_ECANCEL : LOB_OK;
}

lob_status lob_histogram_add_counts(uint64_t *counts, const lob_histogram_bins *bins,
                                    const lob_selection *selection, const lob_histogram_input *in,
                                    const lob_context *context, lob_error *error)
{
    lob_budget budget = budget_of(context);
    lob_progress progress = {.context = context};
    const values_of from = values_in(in);
    const pass p = selection
                       ? (pass){.selection = selection, .columns = lob_selection_columns(selection)}
                       : pass_of(bins);
    return add(counts, &p, &from, &progress, 1, &budget, error);
}
