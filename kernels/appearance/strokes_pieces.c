/* Strokes that look like another label than theirs: voxels of a piece, and corrections, which are
 * pieces on slices with strokes of one label alone. */
#include "kernels/appearance/appearance_plan.h"
#include "kernels/appearance/strokes_list.h"

#include <math.h>
#include <string.h>

/*
 * The piece that a voxel is in: of its label, with 26 neighbours, or, in a slice across an axis,
 * with 8.
 *
 *   piece  out     voxels; room for as many as strokes have
 *   seen   in/out  nx*ny*nz, 0: not in a piece yet; its label from now on
 *   axis   in      -1: the piece goes on through slices
 *
 * Returns how many voxels it has.
 */
static int64_t take_piece(int64_t *piece, uint8_t *seen, const uint8_t *seeds, lob_dims dims,
                          int axis, int64_t from)
{
    const lob_dims d = dims;
    int64_t n = 0;
    piece[n++] = from;
    seen[from] = seeds[from];
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = piece[i], x = at % d.nx, y = at / d.nx % d.ny, z = at / (d.nx * d.ny);
        for (int c = 0; c < 27; c++) {
            const int64_t step[3] = {c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1};
            const int64_t u = x + step[0], v = y + step[1], w = z + step[2];
            if (axis >= 0 && step[axis] != 0) continue;
            if (u < 0 || v < 0 || w < 0 || u >= d.nx || v >= d.ny || w >= d.nz) continue;
            const int64_t to = (w * d.ny + v) * d.nx + u;
            if (seen[to] != 0 || seeds[to] != seeds[from]) continue;
            seen[to] = seeds[to];
            piece[n++] = to;
        }
    }
    return n;
}

/* ---- by shares ---- */

/* A voxel looks like another label where that one's share is so many times its own's. */
enum { MUCH = 8 };

/* Shares of all labels where strokes are. */
typedef struct {
    const uint8_t *shares;
    int64_t count; /* of these voxels */
    int32_t labels, background;
} shares_look;

static int share_of(const shares_look *k, int64_t at, int32_t label)
{
    int rest = 255;
    if (label != k->background)
        return k->shares[(label - 1 - (label > k->background)) * k->count + at];
    for (int32_t i = 0; i < k->labels - 1; i++) rest -= k->shares[i * k->count + at];
    return rest > 0 ? rest : 0; /* each is rounded */
}

static bool agrees(const shares_look *k, int64_t at, int32_t label)
{
    const int own = share_of(k, at, label);
    for (int32_t l = 1; l <= k->labels; l++)
        if (share_of(k, at, l) > MUCH * own) return false;
    return true;
}

/* Of a piece of which no more than half agrees all stays. */
static void keep_piece(uint8_t *out, const uint8_t *seeds, const int64_t *piece, int64_t n)
{
    int64_t good = 0;
    for (int64_t i = 0; i < n; i++) good += out[piece[i]] > 0;
    for (int64_t i = 0; 2 * good <= n && i < n; i++) out[piece[i]] = seeds[piece[i]];
}

lob_status lob_strokes_agree(uint8_t *out, const uint8_t *seeds, const uint8_t *shares,
                             lob_dims dims, int32_t labels, int32_t background,
                             const lob_context *context, lob_error *error)
{
    const int64_t n = lob_dims_voxels(dims);
    lob_budget budget = {.who = "strokes", .limit = context->max_memory};
    int64_t drawn = 0, i = -1, *piece = NULL;
    uint8_t *seen;
    if (n < 0) return LOB_ENOMEM;
    while ((i = lob_next_label(seeds, LOB_U8, i + 1, n)) < n) drawn++;
    const shares_look k = {shares, drawn, labels, background};
    lob_status st = lob_budget_calloc(&budget, &seen, n, 1, error);
    if (st == LOB_OK) st = lob_budget_alloc(&budget, &piece, drawn + 1, sizeof *piece, error);
    if (st == LOB_OK) {
        memcpy(out, seeds, (size_t)n);
        i = -1;
        for (int64_t at = 0; (i = lob_next_label(seeds, LOB_U8, i + 1, n)) < n; at++)
            if (!agrees(&k, at, seeds[i])) out[i] = 0;
        for (i = -1; (i = lob_next_label(seeds, LOB_U8, i + 1, n)) < n;)
            if (!seen[i])
                keep_piece(out, seeds, piece, take_piece(piece, seen, seeds, dims, -1, i));
    }
    lob_budget_free(&budget, piece, drawn + 1, sizeof *piece);
    lob_budget_free(&budget, seen, n, 1);
    return st;
}

/* ---- corrections, by grey values ---- */

enum { BINS = 64, SIGMA = 2 }; /* of grey values, and what smooths their counts, in bins */

/* What looks like its own label speaks for it by so much, on average. */
static const double least_nats = 1;

typedef struct {
    const uint8_t *seeds;
    const lob_strokes *strokes;
    const double *values; /* channels * count, which is lob_strokes_voxels: counts are of seeds */
    int channels, axis;
    int64_t *drawn, count; /* the voxels that have strokes, ascending */
    double *low, *width;   /* of each channel's bins */
    int64_t *counts;       /* channels * labels * BINS, of slices that hold several labels */
    double *nats;          /* likewise: what speaks for a label in a bin, against the others */
    int64_t *piece, *gone; /* gone: voxels that are left out */
    int64_t gone_count;
} look;

static int64_t slice_of(const look *k, int64_t voxel)
{
    const lob_dims d = k->strokes->dims;
    return k->axis == 0 ? voxel % d.nx : k->axis == 1 ? voxel / d.nx % d.ny : voxel / (d.nx * d.ny);
}

static bool is_alone(const look *k, int64_t voxel)
{
    return lob_strokes_labels_in(k->strokes, k->axis, slice_of(k, voxel)) == 1;
}

/* Which of the drawn voxels one is. */
static int64_t number_of(const look *k, int64_t voxel)
{
    int64_t first = 0, end = k->count;
    while (end - first > 1) {
        const int64_t middle = (first + end) / 2;
        if (k->drawn[middle] <= voxel)
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* The bin of the value of drawn voxel i; -1: it is no number. */
static int bin_of(const look *k, int channel, int64_t i)
{
    const double value = k->values[channel * k->count + i];
    if (!isfinite(value)) return -1;
    const double bin = (value - k->low[channel]) / k->width[channel];
    return bin < 0 ? 0 : bin < BINS ? (int)bin : BINS - 1;
}

/* Bins of a channel go from the least to the largest value under strokes. */
static void find_bins(look *k, int channel)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < k->count; i++) {
        const double value = k->values[channel * k->count + i];
        if (!isfinite(value)) continue;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    k->low[channel] = low < high ? low : 0;
    k->width[channel] = low < high && isfinite(high - low) ? (high - low) / BINS : 1;
}

static int64_t row_of(const look *k, int channel, int32_t label)
{
    return ((int64_t)channel * k->strokes->labels + label - 1) * BINS;
}

/* What the slices that hold several labels tell of the values of each. */
static void learn(look *k)
{
    double weight[LOB_APPEARANCE_KERNEL], own[BINS], rest[BINS];
    const int radius = lob_appearance_bin_kernel(weight, SIGMA);
    for (int c = 0; c < k->channels; c++) {
        find_bins(k, c);
        for (int64_t i = 0; i < k->count; i++) {
            const int64_t at = k->drawn[i];
            const int bin = is_alone(k, at) ? -1 : bin_of(k, c, i);
            if (bin >= 0) k->counts[row_of(k, c, k->seeds[at]) + bin]++;
        }
        for (int32_t l = 1; l <= k->strokes->labels; l++) {
            int64_t others[BINS] = {0};
            for (int32_t o = 1; o <= k->strokes->labels; o++)
                for (int b = 0; o != l && b < BINS; b++)
                    others[b] += k->counts[row_of(k, c, o) + b];
            lob_appearance_bin_shares(own, k->counts + row_of(k, c, l), BINS, weight, radius);
            lob_appearance_bin_shares(rest, others, BINS, weight, radius);
            for (int b = 0; b < BINS; b++) k->nats[row_of(k, c, l) + b] = log(own[b] / rest[b]);
        }
    }
}

/* Is a label on a slice that holds several? */
static bool is_known(const look *k, int32_t label)
{
    int64_t all = 0;
    for (int c = 0; c < k->channels; c++)
        for (int b = 0; b < BINS; b++) all += k->counts[row_of(k, c, label) + b];
    return all > 0;
}

static void look_at_piece(look *k, int64_t n)
{
    const int32_t label = k->seeds[k->piece[0]];
    const double least = least_nats * (double)n * k->channels;
    double nats = 0;
    if (!is_known(k, label)) return;
    for (int c = 0; c < k->channels; c++)
        for (int64_t i = 0; i < n; i++) {
            const int bin = bin_of(k, c, number_of(k, k->piece[i]));
            if (bin >= 0) nats += k->nats[row_of(k, c, label) + bin];
        }
    for (int64_t i = 0; nats < least && i < n; i++) k->gone[k->gone_count++] = k->piece[i];
}

static lob_status leave_out(uint8_t *out, look *k, int threads, lob_budget *budget,
                            lob_error *error)
{
    const int64_t channels = k->channels;
    const int64_t rows = channels * k->strokes->labels * BINS;
    const int64_t drawn = lob_strokes_voxels(k->strokes);
    lob_status st = lob_budget_alloc(budget, &k->drawn, drawn + 1, sizeof *k->drawn, error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &k->piece, drawn + 1, sizeof *k->piece, error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &k->gone, drawn + 1, sizeof *k->gone, error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &k->low, channels, sizeof *k->low, error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &k->width, channels, sizeof *k->width, error);
    if (st == LOB_OK) st = lob_budget_calloc(budget, &k->counts, rows, sizeof *k->counts, error);
    if (st == LOB_OK) st = lob_budget_alloc(budget, &k->nats, rows, sizeof *k->nats, error);
    if (st == LOB_OK)
        st = lob_strokes_list(k->drawn, &k->count, k->strokes, k->seeds, threads, error);
    if (st == LOB_OK) learn(k);
    for (int64_t i = 0; st == LOB_OK && i < k->count; i++) {
        const int64_t at = k->drawn[i];
        if (!is_alone(k, at))
            out[at] = k->seeds[at];
        else if (out[at] == 0)
            look_at_piece(k, take_piece(k->piece, out, k->seeds, k->strokes->dims, k->axis, at));
    }
    for (int64_t i = 0; i < k->gone_count; i++) out[k->gone[i]] = 0;
    lob_budget_free(budget, k->nats, rows, sizeof *k->nats);
    lob_budget_free(budget, k->counts, rows, sizeof *k->counts);
    lob_budget_free(budget, k->width, channels, sizeof *k->width);
    lob_budget_free(budget, k->low, channels, sizeof *k->low);
    lob_budget_free(budget, k->gone, drawn + 1, sizeof *k->gone);
    lob_budget_free(budget, k->piece, drawn + 1, sizeof *k->piece);
    lob_budget_free(budget, k->drawn, drawn + 1, sizeof *k->drawn);
    return st;
}

lob_status lob_strokes_leave_corrections(uint8_t *out, const uint8_t *seeds,
                                         const lob_strokes *strokes, const double *values,
                                         int channels, int axis, const lob_context *context,
                                         lob_error *error)
{
    lob_budget budget = {.who = "strokes", .limit = context->max_memory};
    look k = {
        .seeds = seeds, .strokes = strokes, .values = values, .channels = channels, .axis = axis};
    return leave_out(out, &k, context->threads, &budget, error);
}

void lob_strokes_values(double *values, const uint8_t *seeds, const lob_strokes *strokes,
                        const lob_volume *image, const int64_t first[3])
{
    const lob_dims own = strokes->dims, all = image->dims;
    const int64_t end = lob_dims_voxels(own);
    for (int c = 0; c < image->channels; c++)
        for (int64_t i = 0; (i = lob_strokes_next(strokes, seeds, LOB_U8, i)) < end; i++) {
            const int64_t x = i % own.nx + first[0], y = i / own.nx % own.ny + first[1];
            const int64_t z = i / (own.nx * own.ny) + first[2] + c * all.nz;
            lob_values(values++, image->data, image->type, (z * all.ny + y) * all.nx + x, 1);
        }
}
