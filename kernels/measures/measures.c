/* Overlap and surface distances of two label volumes, label by label. */
#include "kernels/measures/measures.h"

#include "kernels/distance/distance.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_BOX = 1 << 20, HALVES = 65536 };

/* One of the two volumes: dense labels, and what each of them is among the labels of both. */
typedef struct {
    lob_volume volume;
    lob_label_set set;
    int32_t *row; /* set.count + 1: dense label to row + 1; 0 to 0 */
} side;

/* What one walk over the voxels finds out about a row. */
typedef struct {
    int64_t voxels[2], common;
    int64_t low[3], high[3]; /* box of the label in either volume, ends included */
} tally;

/* The working arrays of the surface distances of one label. */
typedef struct {
    uint8_t *surface[2];
    float *squared;   /* of a box */
    float *distances; /* pooled */
    int64_t count;
    int64_t *histogram;
} workspace;

static const tally nothing_seen = {
    .low = {INT64_MAX, INT64_MAX, INT64_MAX},
      .high = {-1,        -1,        -1       }
};

static lob_status load_side(side *s, const lob_volume *volume, const char *name, lob_error *error)
{
    const int64_t bytes = lob_product(lob_voxels(volume), volume->channels,
                                      (int64_t)lob_type_of(volume->type)->bytes, 1);
    s->volume = *volume;
    s->volume.header = (lob_header){0};
    s->volume.data = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (!s->volume.data) return lob_fail(error, LOB_ENOMEM, "%s: no memory for a copy", name);
    memcpy(s->volume.data, volume->data, (size_t)bytes);
    return lob_labels_dense(&s->volume, &s->set, name, error);
}

static void free_side(side *s)
{
    lob_volume_free(&s->volume);
    lob_label_set_free(&s->set);
    free(s->row);
}

/* Merge the two ascending lists of labels into rows, and note in each side where its labels went.
 */
static lob_status merge_labels(lob_overlap **rows, int32_t *count, side sides[2])
{
    const int64_t most = (int64_t)sides[0].set.count + sides[1].set.count;
    for (int s = 0; s < 2; s++)
        sides[s].row = calloc((size_t)sides[s].set.count + 1, sizeof(int32_t));
    lob_overlap *const merged = calloc((size_t)most + 1, sizeof *merged);
    if (!sides[0].row || !sides[1].row || !merged) {
        free(merged);
        return LOB_ENOMEM;
    }
    int32_t n = 0, at[2] = {0, 0};
    for (; at[0] < sides[0].set.count || at[1] < sides[1].set.count; n++) {
        int32_t label = INT32_MAX;
        for (int s = 0; s < 2; s++)
            if (at[s] < sides[s].set.count && sides[s].set.values[at[s]] < label)
                label = sides[s].set.values[at[s]];
        for (int s = 0; s < 2; s++)
            if (at[s] < sides[s].set.count && sides[s].set.values[at[s]] == label)
                sides[s].row[++at[s]] = n + 1;
        merged[n].label = label;
    }
    *rows = merged;
    *count = n;
    return LOB_OK;
}

/* Row numbers (from 1; 0 where there is no label) of n voxels of a side. */
static void rows_of_voxels(int32_t *out, const side *s, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = s->row[lob_label_at(s->volume.data, s->volume.type, first + i)];
}

static void widen(tally *t, int64_t x0, int64_t x1, int64_t y, int64_t z)
{
    if (x0 < t->low[0]) t->low[0] = x0;
    if (x1 > t->high[0]) t->high[0] = x1;
    if (y < t->low[1]) t->low[1] = y;
    if (y > t->high[1]) t->high[1] = y;
    if (z < t->low[2]) t->low[2] = z;
    if (z > t->high[2]) t->high[2] = z;
}

/* Count a line of voxels, a run of the same pair of labels at a time. Returns whether a equals b.
 */
static bool tally_line(tally *tallies, const int32_t *a, const int32_t *b, int64_t nx, int64_t y,
                       int64_t z)
{
    bool same = true;
    for (int64_t x = 0, end; x < nx; x = end) {
        for (end = x + 1; end < nx && a[end] == a[x] && b[end] == b[x];) end++;
        const int32_t pair[2] = {a[x], b[x]};
        for (int s = 0; s < 2; s++)
            if (pair[s]) {
                tally *const t = &tallies[pair[s] - 1];
                t->voxels[s] += end - x;
                widen(t, x, end - 1, y, z);
            }
        if (pair[0] != pair[1])
            same = false;
        else if (pair[0])
            tallies[pair[0] - 1].common += end - x;
    }
    return same;
}

static void add_tally(tally *sum, const tally *part)
{
    for (int s = 0; s < 2; s++) sum->voxels[s] += part->voxels[s];
    sum->common += part->common;
    if (part->high[0] >= 0) {
        widen(sum, part->low[0], part->high[0], part->low[1], part->low[2]);
        widen(sum, part->low[0], part->high[0], part->high[1], part->high[2]);
    }
}

/* Walk over both volumes once: voxels, common voxels and box of every row. */
static lob_status tally_volumes(tally **out, int *equal, const side sides[2], int32_t count,
                                const lob_context *context)
{
    const lob_dims d = sides[0].volume.dims;
    const int64_t line_bytes = 2 * d.nx * (int64_t)sizeof(int32_t), most = context->max_memory;
    const int64_t each = (int64_t)count * (int64_t)sizeof **out + line_bytes; /* of a thread */
    int threads = context->threads;
    if ((int64_t)count * threads > 4 * lob_dims_voxels(d)) threads = 1;
    if (most && each * threads > most) threads = 1;
    if (most && each > most) return LOB_ENOMEM;
    tally *const tallies = malloc(((size_t)count * (size_t)threads + 1) * sizeof *tallies);
    int32_t *const lines = malloc((size_t)threads * 2 * (size_t)d.nx * sizeof *lines);
    int different = 0;
    if (!tallies || !lines) {
        free(tallies);
        free(lines);
        return LOB_ENOMEM;
    }
    for (int64_t i = 0; i < (int64_t)count * threads; i++) tallies[i] = nothing_seen;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : different)
    for (int64_t line = 0; line < d.ny * d.nz; line++) {
        const int t = omp_get_thread_num();
        int32_t *const a = lines + (int64_t)t * 2 * d.nx, *const b = a + d.nx;
        rows_of_voxels(a, &sides[0], line * d.nx, d.nx);
        rows_of_voxels(b, &sides[1], line * d.nx, d.nx);
        if (!tally_line(tallies + (int64_t)t * count, a, b, d.nx, line % d.ny, line / d.ny))
            different = 1;
    }
    for (int t = 1; t < threads; t++)
        for (int32_t i = 0; i < count; i++)
            add_tally(&tallies[i], &tallies[(int64_t)t * count + i]);
    free(lines);
    *out = tallies;
    *equal = !different;
    return LOB_OK;
}

static lob_dims box_of(const tally *t)
{
    return (lob_dims){t->high[0] - t->low[0] + 1, t->high[1] - t->low[1] + 1,
                      t->high[2] - t->low[2] + 1};
}

/* The dense label of a side that went to a row; it is there, and s->row ascends. */
static int32_t dense_of(const side *s, int32_t row)
{
    int32_t low = 1, high = s->set.count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (s->row[middle] < row + 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * Mark in a box the surface voxels of a row's label. What lies outside the box does not carry the
 * label or lies outside the grid, so every labelled voxel on the border of the box is surface.
 */
static void mark_surface(uint8_t *surface, uint8_t *inside, const side *s, int32_t row,
                         const tally *t, int threads)
{
    const lob_dims grid = s->volume.dims, box = box_of(t);
    const int32_t dense = dense_of(s, row);

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t line = 0; line < box.ny * box.nz; line++) {
        const int64_t y = t->low[1] + line % box.ny, z = t->low[2] + line / box.ny;
        const int64_t at = t->low[0] + grid.nx * (y + grid.ny * z);
        uint8_t *const out = inside + line * box.nx;
        for (int64_t x = 0; x < box.nx; x++)
            out[x] = lob_label_at(s->volume.data, s->volume.type, at + x) == dense;
    }
    const int64_t sy = box.nx, sz = box.nx * box.ny;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t line = 0; line < box.ny * box.nz; line++) {
        const int64_t y = line % box.ny, z = line / box.ny;
        const uint8_t *const in = inside + line * box.nx;
        uint8_t *const out = surface + line * box.nx;
        const bool edge = y == 0 || z == 0 || y == box.ny - 1 || z == box.nz - 1;
        for (int64_t x = 0; x < box.nx; x++)
            out[x] =
                in[x] &&
                (edge || x == 0 || x == box.nx - 1 ||
                 !(in[x - 1] && in[x + 1] && in[x - sy] && in[x + sy] && in[x - sz] && in[x + sz]));
    }
}

/* The k-th smallest (from 0) of n non-negative floats, whose order is that of their bits. */
static float kth_smallest(const float *values, int64_t n, int64_t k, int64_t *histogram)
{
    uint32_t prefix = 0;
    for (int half = 0; half < 2; half++) {
        memset(histogram, 0, HALVES * sizeof *histogram);
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, &values[i], sizeof bits);
            if (half == 0)
                histogram[bits >> 16]++;
            else if (bits >> 16 == prefix >> 16)
                histogram[bits & 0xffff]++;
        }
        uint32_t bin = 0;
        while (k >= histogram[bin]) k -= histogram[bin++];
        prefix |= half == 0 ? bin << 16 : bin;
    }
    float value;
    memcpy(&value, &prefix, sizeof value);
    return value;
}

/* Percentile and mean of the pooled distances; the sum runs in voxel order, whatever the threads.
 */
static void summarise(lob_overlap *row, const workspace *w)
{
    double sum = 0.0;
    for (int64_t i = 0; i < w->count; i++) sum += sqrt((double)w->distances[i]);
    row->mean_surface_mm = sum / (double)w->count;

    const double at = 0.95 * (double)(w->count - 1);
    const int64_t below = (int64_t)at;
    const double lower = sqrt((double)kth_smallest(w->distances, w->count, below, w->histogram));
    row->hd95_mm = lower;
    if (below + 1 < w->count) {
        const double upper =
            sqrt((double)kth_smallest(w->distances, w->count, below + 1, w->histogram));
        row->hd95_mm = lower + (upper - lower) * (at - (double)below);
    }
}

/* Pool the squared distances between the two surfaces of one row. */
static lob_status pool_distances(workspace *w, const side sides[2], int32_t row, const tally *t,
                                 int threads)
{
    const lob_dims box = box_of(t);
    const int64_t voxels = lob_dims_voxels(box);
    for (int s = 0; s < 2; s++)
        mark_surface(w->surface[s], (uint8_t *)w->squared, &sides[s], row, t, threads);

    w->count = 0;
    for (int s = 0; s < 2; s++) {
        lob_status st = lob_distance_squared(w->squared, w->surface[!s], box,
                                             sides[0].volume.geometry.spacing_mm, threads);
        if (st != LOB_OK) return st;
        for (int64_t i = 0; i < voxels; i++)
            if (w->surface[s][i]) w->distances[w->count++] = w->squared[i];
    }
    return LOB_OK;
}

static void free_workspace(workspace *w)
{
    for (int s = 0; s < 2; s++) free(w->surface[s]);
    free(w->squared);
    free(w->distances);
    free(w->histogram);
}

/* Bytes that the distances of one row take. */
static int64_t row_bytes(const tally *t, int threads)
{
    const lob_dims box = box_of(t);
    return 6 * lob_dims_voxels(box) + 4 * (t->voxels[0] + t->voxels[1]) +
           HALVES * (int64_t)sizeof(int64_t) + lob_distance_bytes(box, threads);
}

/* Distances of one row. */
static lob_status measure_row(lob_overlap *row, const side sides[2], int32_t number, const tally *t,
                              int threads)
{
    const int64_t box = lob_dims_voxels(box_of(t)), labelled = t->voxels[0] + t->voxels[1];
    workspace w = {
        .surface = {malloc((size_t)box), malloc((size_t)box)},
        .squared = malloc((size_t)box * sizeof(float)),
        .distances = malloc((size_t)labelled * sizeof(float)),
        .histogram = malloc(HALVES * sizeof(int64_t))
    };
    lob_status st = LOB_ENOMEM;
    if (w.surface[0] && w.surface[1] && w.squared && w.distances && w.histogram)
        st = pool_distances(&w, sides, number, t, threads);
    if (st == LOB_OK) summarise(row, &w);
    free_workspace(&w);
    return st;
}

typedef struct {
    const lob_context *context;
    int32_t done, count;
    lob_status status; /* the first failure */
} state;

/* May the work go on? Tells the progress, which is for the calling thread alone. */
static bool goes_on(state *s)
{
    if (s->status != LOB_OK) return false;
    if (s->context->progress && s->context->progress(s->context->user, (double)s->done / s->count))
        s->status = LOB_ECANCEL;
    return s->status == LOB_OK;
}

/* Is a row measured by one thread, together with others? Then each may take its part of `most`. */
static bool is_small(const tally *t, int64_t most, int threads)
{
    return lob_dims_voxels(box_of(t)) < SMALL_BOX && (!most || row_bytes(t, 1) <= most / threads);
}

/* Measure a row with all threads, or with as few as it takes to stay within the memory. */
static lob_status measure_alone(lob_overlap *row, const side sides[2], int32_t number,
                                const tally *t, const lob_context *context)
{
    const int64_t most = context->max_memory;
    int threads = lob_dims_voxels(box_of(t)) < SMALL_BOX ? 1 : context->threads;
    while (most && threads > 1 && row_bytes(t, threads) > most) threads--;
    if (most && row_bytes(t, threads) > most) return LOB_ENOMEM;
    return measure_row(row, sides, number, t, threads);
}

/*
 * Large labels are measured one after another with all threads in each, the many small ones by one
 * thread each: waking all threads for every pass over a small box would take longer than the pass.
 * One after another come also those of which the memory does not hold one a thread.
 */
static lob_status measure_surfaces(lob_overlap *rows, int32_t count, const side sides[2],
                                   const tally *tallies, const lob_context *context)
{
    state s = {.context = context, .count = count};
    for (int32_t i = 0; i < count && goes_on(&s); i++) {
        const tally *const t = &tallies[i];
        if (!t->voxels[0] || !t->voxels[1] || is_small(t, context->max_memory, context->threads))
            continue;
        s.status = measure_alone(&rows[i], sides, i, t, context);
        s.done++;
    }
#pragma omp parallel for num_threads(context->threads) schedule(dynamic)
    for (int32_t i = 0; i < count; i++) {
        const tally *const t = &tallies[i];
        bool stop;
#pragma omp critical(lob_measures)
        stop = omp_get_thread_num() == 0 ? !goes_on(&s) : s.status != LOB_OK;
        if (stop || !t->voxels[0] || !t->voxels[1] ||
            !is_small(t, context->max_memory, context->threads))
            continue;
        const lob_status st = measure_row(&rows[i], sides, i, t, 1);
#pragma omp critical(lob_measures)
        {
            if (s.status == LOB_OK) s.status = st;
            s.done++;
        }
    }
    return s.status;
}

static void fill_row(lob_overlap *row, const tally *t, double mm3)
{
    const double sum = (double)t->voxels[0] + (double)t->voxels[1], both = (double)t->common;
    row->voxels_a = t->voxels[0];
    row->voxels_b = t->voxels[1];
    row->common = t->common;
    row->dice = 2.0 * both / sum;
    row->jaccard = both / (sum - both);
    row->hd95_mm = row->mean_surface_mm = NAN;
    row->volume_a_mm3 = (double)t->voxels[0] * mm3;
    row->volume_b_mm3 = (double)t->voxels[1] * mm3;
}

lob_status lob_compare_labels(lob_overlap **rows, int32_t *count, int *equal, const lob_volume *a,
                              const char *a_name, const lob_volume *b, const char *b_name,
                              int surfaces, const lob_context *context, lob_error *error)
{
    *rows = NULL;
    *count = 0;
    *equal = 0;
    if (a->dims.nx != b->dims.nx || a->dims.ny != b->dims.ny || a->dims.nz != b->dims.nz)
        return lob_fail(error, LOB_EDATA,
                        "%s has %" PRId64 " x %" PRId64 " x %" PRId64 " voxels but %s has %" PRId64
                        " x %" PRId64 " x %" PRId64,
                        a_name, a->dims.nx, a->dims.ny, a->dims.nz, b_name, b->dims.nx, b->dims.ny,
                        b->dims.nz);

    side sides[2] = {{.volume = lob_volume_empty()}, {.volume = lob_volume_empty()}};
    tally *tallies = NULL;
    lob_status st = load_side(&sides[0], a, a_name, error);
    if (st == LOB_OK) st = load_side(&sides[1], b, b_name, error);
    if (st != LOB_OK) goto out;
    st = merge_labels(rows, count, sides);
    if (st == LOB_OK) st = tally_volumes(&tallies, equal, sides, *count, context);
    if (st == LOB_OK) {
        const double mm3 = lob_voxel_mm3(&a->geometry);
        for (int32_t i = 0; i < *count; i++) fill_row(&(*rows)[i], &tallies[i], mm3);
        if (surfaces) st = measure_surfaces(*rows, *count, sides, tallies, context);
    }
    if (st == LOB_ENOMEM) lob_fail(error, st, "no memory to compare %s with %s", a_name, b_name);
    if (st == LOB_ECANCEL) lob_fail(error, st, "comparison cancelled");
out:
    if (st != LOB_OK || *count == 0) {
        free(*rows);
        *rows = NULL;
        *count = 0;
    }
    free(tallies);
    free_side(&sides[0]);
    free_side(&sides[1]);
    return st;
}
