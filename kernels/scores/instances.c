/* Scores of instances: the contingency table in one pass over the voxels, and what comes of it. */
#include "kernels/scores/instances.h"

#include "kernels/labels/label_rows.h"
#include "kernels/pair_table.h"
#include "kernels/progress.h"
#include "volumes/free.h"
#include "volumes/labels.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>

/* Sums of squares of up to 2^63 voxels. */
__extension__ typedef unsigned __int128 uint128;

/* ---- the table ---- */

enum { BLOCK = 1024 }; /* voxels at a time */

/* A call: two volumes, and a table of pairs for each thread. */
typedef struct {
    const lob_volume *truth, *labels;
    int64_t truth_count, label_count;
    const lob_context *context;
    lob_progress progress;
    lob_budget budget;
    lob_pair_table *tables; /* threads */
} call;

/* Count a part of a row, of at most BLOCK voxels, by stretches of the same pair. */
static lob_status count_voxels(lob_pair_table *pairs, const call *c, int64_t first, int64_t n)
{
    int32_t truth[BLOCK], label[BLOCK];
    lob_labels_load(truth, c->truth->data, c->truth->type, first, n);
    lob_labels_load(label, c->labels->data, c->labels->type, first, n);
    for (int64_t x = 0, end; x < n; x = end) {
        const int32_t t = truth[x], l = label[x];
        if (t < 0 || t > c->truth_count || l < 0 || l > c->label_count) return LOB_EDATA;
        for (end = x + 1; end < n && truth[end] == t && label[end] == l;) end++;
        LOB_TRY(lob_pair_add(pairs, (uint32_t)t, (uint32_t)l, end - x));
    }
    return LOB_OK;
}

static lob_status count_row(lob_pair_table *pairs, const call *c, int64_t row)
{
    const int64_t nx = c->truth->dims.nx;
    lob_status st = LOB_OK;
    for (int64_t x = 0; x < nx && st == LOB_OK; x += BLOCK)
        st = count_voxels(pairs, c, row * nx + x, nx - x < BLOCK ? nx - x : BLOCK);
    return st;
}

/* Count all rows, each thread in its own table, and merge these into the first. */
static lob_status count_rows(call *c)
{
    enum { ROWS = 64 }; /* at a time */
    const int threads = c->context->threads;
    const int64_t rows = c->truth->dims.ny * c->truth->dims.nz;
    lob_status st = LOB_OK;
    lob_progress_stage(&c->progress, rows, 1.0);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t first = 0; first < rows; first += ROWS) {
        const int64_t end = first + ROWS < rows ? first + ROWS : rows;
        lob_status mine;
#pragma omp atomic read
        mine = st;
        if (mine != LOB_OK || lob_progress_stopped(&c->progress)) continue;
        for (int64_t row = first; row < end && mine == LOB_OK; row++)
            mine = count_row(&c->tables[omp_get_thread_num()], c, row);
        if (mine != LOB_OK) {
#pragma omp atomic write
            st = mine;
        }
        lob_progress_report(&c->progress, end - first);
    }
    if (lob_progress_stopped(&c->progress)) return LOB_ECANCEL;
    return st == LOB_OK ? lob_pair_tables_join(c->tables, threads) : st;
}

/* Copy the pairs out, and add up the voxels of each side. */
static lob_status take_pairs(lob_instances *out, const lob_pair_table *table)
{
    const int64_t pairs = (table->used + 1) * (int64_t)sizeof *out->pairs;
    const int64_t sides = (out->truth_count + out->label_count + 2) * (int64_t)sizeof(int64_t);
    LOB_TRY(lob_budget_hold(table->budget, pairs + sides, NULL));
    out->pairs = calloc((size_t)table->used + 1, sizeof *out->pairs);
    out->truth_voxels = calloc((size_t)out->truth_count + 1, sizeof *out->truth_voxels);
    out->label_voxels = calloc((size_t)out->label_count + 1, sizeof *out->label_voxels);
    if (!out->pairs || !out->truth_voxels || !out->label_voxels) return LOB_ENOMEM;
    for (int64_t i = 0; i < table->slot_count; i++) {
        const lob_pair *const slot = &table->slots[i];
        if (!slot->count) continue;
        out->pairs[out->pair_count++] = (lob_instances_pair){
            .truth = (int32_t)slot->a, .label = (int32_t)slot->b, .common = slot->count};
        out->truth_voxels[slot->a] += slot->count;
        out->label_voxels[slot->b] += slot->count;
    }
    return LOB_OK;
}

static bool is_label_type(lob_type type)
{
    return type == LOB_U8 || type == LOB_I16 || type == LOB_I32;
}

lob_status lob_instances_count(lob_instances *out, const lob_volume *truth, int64_t truth_count,
                               const lob_volume *labels, int64_t label_count,
                               const lob_context *context, lob_error *error)
{
    *out = (lob_instances){.truth_count = truth_count, .label_count = label_count};
    if (!lob_same_dims(truth->dims, labels->dims))
        return lob_fail(error, LOB_EDATA, "the volumes have different dimensions");
    if (!is_label_type(truth->type) || !is_label_type(labels->type))
        return lob_fail(error, LOB_EDATA, "labels must be uint8, int16 or int32");
    call c = {
        .truth = truth,
        .labels = labels,
        .truth_count = truth_count,
        .label_count = label_count,
        .context = context,
        .progress = {.context = context           },
        .budget = { .who = "scores of instances", .limit = context->max_memory},
    };
    const int threads = context->threads;
    LOB_TRY(lob_pair_tables_make(&c.tables, threads, &c.budget, error));
    lob_status st = count_rows(&c);
    if (st == LOB_OK) st = take_pairs(out, &c.tables[0]);
    lob_pair_tables_free(c.tables, threads, &c.budget);
    if (st != LOB_OK) lob_instances_free(out);
    if (st == LOB_EDATA) lob_fail(error, st, "a label lies above the number of labels");
    if (st == LOB_ENOMEM) lob_fail(error, st, "no memory to count pairs of instances");
    if (st == LOB_ECANCEL) lob_fail(error, st, "comparison cancelled");
    return st;
}

void lob_instances_free(lob_instances *instances)
{
    LOB_FREE(instances->pairs, instances->truth_voxels, instances->label_voxels);
    *instances = (lob_instances){0};
}

/* ---- matches, splits and merges ---- */

static int64_t united(const lob_instances *in, const lob_instances_pair *pair)
{
    return in->truth_voxels[pair->truth] + in->label_voxels[pair->label] - pair->common;
}

double lob_instances_iou(const lob_instances *in, const lob_instances_pair *pair)
{
    return (double)pair->common / (double)united(in, pair);
}

static bool reaches(const lob_instances *in, const lob_instances_pair *pair, int percent)
{
    return (uint128)pair->common * 100 >= (uint128)united(in, pair) * (unsigned)percent;
}

/*
 * Mark the matches. An IoU of .5 makes |t & l| at least half of both, so t has a second partner
 * only where it consists of two labels of |t|/2 voxels; these have no other partner. So does l with
 * two truths. The first of two, in the order of pairs, has the smaller number.
 *
 *   taken  label_count + 1, all 0
 */
static void mark_matches(lob_instances *in, int32_t *taken)
{
    int32_t last = 0; /* the truth that was matched last */
    for (int64_t i = 0; i < in->pair_count; i++) {
        lob_instances_pair *const pair = &in->pairs[i];
        if (!pair->truth || !pair->label || pair->truth == last || taken[pair->label] ||
            !reaches(in, pair, 50))
            continue;
        pair->marks |= LOB_INSTANCES_MATCH;
        last = pair->truth;
        taken[pair->label] = 1;
    }
}

/* Does more than half of an instance lie in the pair? Label 0 and truth 0 are none. */
static bool label_lies_in(const lob_instances *in, const lob_instances_pair *pair)
{
    return pair->truth && pair->label && pair->common > in->label_voxels[pair->label] / 2;
}

static bool truth_lies_in(const lob_instances *in, const lob_instances_pair *pair)
{
    return pair->truth && pair->label && pair->common > in->truth_voxels[pair->truth] / 2;
}

/* Mark the parts of split truths, whose pairs follow one another; how many are split. */
static int64_t mark_splits(lob_instances *in)
{
    int64_t splits = 0;
    for (int64_t first = 0, end; first < in->pair_count; first = end) {
        int64_t parts = 0;
        for (end = first; end < in->pair_count; end++) {
            if (in->pairs[end].truth != in->pairs[first].truth) break;
            parts += label_lies_in(in, &in->pairs[end]);
        }
        if (parts < 2) continue;
        splits++;
        for (int64_t i = first; i < end; i++)
            if (label_lies_in(in, &in->pairs[i])) in->pairs[i].marks |= LOB_INSTANCES_SPLIT;
    }
    return splits;
}

/*
 * Mark the parts of labels that merge; how many do.
 *
 *   parts  label_count + 1, all 0
 */
static int64_t mark_merges(lob_instances *in, int32_t *parts)
{
    int64_t merges = 0;
    for (int64_t i = 0; i < in->pair_count; i++)
        if (truth_lies_in(in, &in->pairs[i])) merges += ++parts[in->pairs[i].label] == 2;
    for (int64_t i = 0; i < in->pair_count; i++)
        if (truth_lies_in(in, &in->pairs[i]) && parts[in->pairs[i].label] > 1)
            in->pairs[i].marks |= LOB_INSTANCES_MERGE;
    return merges;
}

/* ---- scores ---- */

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}

static lob_instances_at score_at(const lob_instances *in, int percent, int64_t truths,
                                 int64_t labels)
{
    lob_instances_at at = {.percent = percent};
    double iou = 0.0;
    for (int64_t i = 0; i < in->pair_count; i++) {
        const lob_instances_pair *const pair = &in->pairs[i];
        if (!(pair->marks & LOB_INSTANCES_MATCH) || !reaches(in, pair, percent)) continue;
        at.matched++;
        iou += lob_instances_iou(in, pair);
    }
    at.extra = labels - at.matched;
    at.missed = truths - at.matched;
    const double m = (double)at.matched, e = (double)at.extra, f = (double)at.missed;
    at.precision = share(m, m + e);
    at.recall = share(m, m + f);
    at.f1 = share(2 * m, 2 * m + e + f);
    at.average_precision = share(m, m + e + f);
    at.matched_iou = share(iou, m);
    at.panoptic_quality = share(iou, m + 0.5 * e + 0.5 * f);
    return at;
}

/* Ordered pairs of different voxels among n. */
static uint128 voxel_pairs(int64_t n)
{
    return (uint128)n * (uint128)(n > 0 ? n - 1 : 0);
}

/* Over the voxels whose truth is not 0. inside: those of each label, label_count + 1. */
static void score_rand(lob_instances_scores *out, const lob_instances *in, const int64_t *inside)
{
    uint128 both = 0, truth = 0, label = 0;
    for (int64_t i = 0; i < in->pair_count; i++)
        if (in->pairs[i].truth) both += voxel_pairs(in->pairs[i].common);
    for (int64_t t = 1; t <= in->truth_count; t++) truth += voxel_pairs(in->truth_voxels[t]);
    for (int64_t l = 0; l <= in->label_count; l++) label += voxel_pairs(inside[l]);
    out->rand_precision = share((double)both, (double)label);
    out->rand_recall = share((double)both, (double)truth);
    out->rand_error = 1.0 - share(2.0 * (double)both, (double)truth + (double)label);
}

/*
 * H(label | truth) and H(truth | label): the sums of -p(t, l) log2 of p(t, l)/p(t) and of
 * p(t, l)/p(l).
 *
 *   first_truth  0, or 1 to leave out truth 0
 *   label_sums   label_count + 1: voxels of each label that are left
 */
static void entropies(double *split, double *merge, const lob_instances *in, int first_truth,
                      const int64_t *label_sums)
{
    int64_t all = 0;
    *split = *merge = 0.0;
    for (int64_t i = 0; i < in->pair_count; i++) {
        const lob_instances_pair *const pair = &in->pairs[i];
        const double n = (double)pair->common;
        if (pair->truth < first_truth) continue;
        all += pair->common;
        *split += n * log2((double)in->truth_voxels[pair->truth] / n);
        *merge += n * log2((double)label_sums[pair->label] / n);
    }
    *split = share(*split, (double)all);
    *merge = share(*merge, (double)all);
}

static int by_truth(const void *a, const void *b)
{
    const lob_instances_pair *const x = a, *const y = b;
    return x->truth != y->truth ? (x->truth > y->truth) - (x->truth < y->truth)
                                : (x->label > y->label) - (x->label < y->label);
}

lob_status lob_instances_score(lob_instances_scores *out, lob_instances *in)
{
    const size_t labels = (size_t)in->label_count + 1;
    int32_t *const taken = calloc(labels, sizeof *taken), *const parts =
                                                              calloc(labels, sizeof *parts);
    int64_t *const inside = calloc(labels, sizeof *inside);
    lob_status st = LOB_ENOMEM;
    *out = (lob_instances_scores){0};
    if (!taken || !parts || !inside) goto out;
    qsort(in->pairs, (size_t)in->pair_count, sizeof *in->pairs, by_truth);
    for (int64_t i = 0; i < in->pair_count; i++)
        if (in->pairs[i].truth) inside[in->pairs[i].label] += in->pairs[i].common;
    for (int64_t t = 1; t <= in->truth_count; t++) out->truths += in->truth_voxels[t] > 0;
    for (int64_t l = 1; l <= in->label_count; l++) out->labels += in->label_voxels[l] > 0;
    mark_matches(in, taken);
    out->splits = mark_splits(in);
    out->merges = mark_merges(in, parts);
    for (int k = 0; k < LOB_INSTANCES_THRESHOLDS; k++)
        out->at[k] = score_at(in, 50 + 5 * k, out->truths, out->labels);
    score_rand(out, in, inside);
    entropies(&out->voi_split, &out->voi_merge, in, 0, in->label_voxels);
    entropies(&out->voi_split_inside, &out->voi_merge_inside, in, 1, inside);
    st = LOB_OK;
out:
    LOB_FREE(inside, parts, taken);
    return st;
}
