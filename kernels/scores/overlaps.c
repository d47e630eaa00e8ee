/* Overlap and surface distances of two label volumes, label by label. */
#include "kernels/scores/overlaps.h"

#include "kernels/distance/distance.h"
#include "kernels/progress.h"
#include "kernels/regions/regions.h"
#include "kernels/scores/instances.h"
#include "volumes/label_check.h"
#include "volumes/lists.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_BOX = 1 << 20, BINS = 1 << 16 };

/* One of the two volumes with dense labels, and the overlap that each label belongs to. */
typedef struct {
    lob_volume volume;
    lob_label_set set;
    int32_t *index; /* set.count + 1: dense label to index + 1 of the overlap; 0 to 0 */
} side;

/* Counts of a label. */
typedef struct {
    int64_t voxels[2], common;
    lob_region either; /* the label in both volumes, for surfaces */
} label_counts;

/* The working arrays of the surface distances of one label, in one block. */
typedef struct {
    uint8_t *surface[2];
    float *squared;   /* voxels of the box */
    float *distances; /* count: squared distances of both directions */
    int64_t count;
    int64_t *histogram;
} workspace;

static lob_status load_side(side *s, const lob_volume *volume, const char *name, lob_error *error)
{
    const int64_t bytes = lob_product(lob_voxels(volume), volume->channels,
                                      (int64_t)lob_type_of(volume->type)->bytes, 1);
    s->volume = *volume;
    s->volume.header = (lob_header){0};
    s->volume.names = (lob_label_names){0};
    s->volume.data = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (!s->volume.data) return lob_fail(error, LOB_ENOMEM, "%s: no memory for a copy", name);
    memcpy(s->volume.data, volume->data, (size_t)bytes);
    return lob_labels_dense(&s->volume, &s->set, name, error);
}

/* Two scans have thousands of labels all over the volume: their surfaces would take for ever. */
static lob_status refuse_scan(const side *s, const char *name, lob_error *error)
{
    bool vary;
    if (lob_labels_vary(&vary, &s->volume, s->set.count) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "%s: no memory to look at it", name);
    if (!vary) return LOB_OK;
    return lob_fail_file_hint(error, LOB_EDATA, LOB_HINT_NO_SURFACES, name,
                              "has %" PRId32 " labels that change from voxel to voxel, as in a "
                              "scan, too many for distances between surfaces",
                              s->set.count);
}

static void free_side(side *s)
{
    lob_volume_free(&s->volume);
    lob_label_set_free(&s->set);
    free(s->index);
}

/* Merge the two ascending lists of labels into overlaps, and note the index of each label. */
static lob_status merge_labels(lob_overlap **overlaps, int32_t *count, side sides[2])
{
    const int64_t max_count = (int64_t)sides[0].set.count + sides[1].set.count;
    for (int s = 0; s < 2; s++)
        sides[s].index = calloc((size_t)sides[s].set.count + 1, sizeof(int32_t));
    lob_overlap *const merged = calloc((size_t)max_count + 1, sizeof *merged);
    if (!sides[0].index || !sides[1].index || !merged) {
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
                sides[s].index[++at[s]] = n + 1;
        merged[n].label = label;
    }
    *overlaps = merged;
    *count = n;
    return LOB_OK;
}

/* Count common voxels, and whether all are. */
static lob_status count_common(label_counts *counts, int *equal, const side sides[2],
                               const lob_context *context, lob_error *error)
{
    lob_instances found;
    LOB_TRY(lob_instances_count(&found, &sides[0].volume, sides[0].set.count, &sides[1].volume,
                                sides[1].set.count, context, error));
    *equal = 1;
    for (int64_t i = 0; i < found.pair_count; i++) {
        const lob_instances_pair *const pair = &found.pairs[i];
        const int32_t a = sides[0].index[pair->truth], b = sides[1].index[pair->label];
        if (a != b)
            *equal = 0;
        else if (a)
            counts[a - 1].common = pair->common;
    }
    lob_instances_free(&found);
    return LOB_OK;
}

/* Count the voxels and the common voxels of every label; find its box for surfaces. */
static lob_status count_volumes(label_counts **out, int *equal, const side sides[2], int32_t count,
                                int surfaces, const lob_context *context, lob_error *error)
{
    lob_context quiet = *context; /* surfaces take the time */
    quiet.progress = NULL;
    label_counts *const counts = *out = calloc((size_t)count + 1, sizeof *counts);
    if (!counts) return LOB_ENOMEM;
    LOB_TRY(count_common(counts, equal, sides, &quiet, error));
    for (int s = 0; s < 2; s++) {
        const side *const from = &sides[s];
        const lob_regions_input in = {from->volume.data, from->volume.type, from->set.count,
                                      from->volume.dims};
        lob_region *const regions = calloc((size_t)in.count + 1, sizeof *regions);
        lob_status st = regions ? LOB_OK : LOB_ENOMEM;
        if (st == LOB_OK && surfaces) st = lob_regions_cpu(regions, NULL, NULL, &in, &quiet, error);
        for (int64_t k = 0; k < in.count && st == LOB_OK; k++) {
            label_counts *const t = &counts[from->index[k + 1] - 1];
            t->voxels[s] = from->set.voxels[k];
            lob_region_add(&t->either, &regions[k]);
        }
        free(regions);
        LOB_TRY(st);
    }
    return LOB_OK;
}

static lob_dims box_of(const label_counts *t)
{
    const int32_t *const low = t->either.low, *const high = t->either.high;
    return (lob_dims){(int64_t)high[0] - low[0] + 1, (int64_t)high[1] - low[1] + 1,
                      (int64_t)high[2] - low[2] + 1};
}

/* The dense label of a side that belongs to this overlap; there is one, and s->index ascends. */
static int32_t dense_of(const side *s, int32_t index)
{
    return (int32_t)lob_count_below(s->index, s->set.count + 1, sizeof *s->index, index + 1);
}

/*
 * Mark the surface voxels of a label in its box. Voxels outside the box do not have the label or
 * lie outside the grid, so every labelled voxel on the border of the box is a surface voxel.
 */
static void mark_surface(uint8_t *surface, uint8_t *inside, const side *s, int32_t index,
                         const label_counts *t, int threads)
{
    const lob_dims grid = s->volume.dims, box = box_of(t);
    const int32_t dense = dense_of(s, index);

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < box.ny * box.nz; row++) {
        const int64_t y = t->either.low[1] + row % box.ny, z = t->either.low[2] + row / box.ny;
        const int64_t at = t->either.low[0] + grid.nx * (y + grid.ny * z);
        uint8_t *const out = inside + row * box.nx;
        for (int64_t x = 0; x < box.nx; x++)
            out[x] = lob_label_at(s->volume.data, s->volume.type, at + x) == dense;
    }
    const int64_t sy = box.nx, sz = box.nx * box.ny;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < box.ny * box.nz; row++) {
        const int64_t y = row % box.ny, z = row / box.ny;
        const uint8_t *const in = inside + row * box.nx;
        uint8_t *const out = surface + row * box.nx;
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
        memset(histogram, 0, BINS * sizeof *histogram);
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

/* Percentile and mean of the distances; the sum is in voxel order, whatever the threads. */
static void summarise(lob_overlap *overlap, const workspace *w)
{
    double sum = 0.0;
    for (int64_t i = 0; i < w->count; i++) sum += sqrt((double)w->distances[i]);
    overlap->mean_surface_mm = sum / (double)w->count;

    const double at = 0.95 * (double)(w->count - 1);
    const int64_t below = (int64_t)at;
    const double lower = sqrt((double)kth_smallest(w->distances, w->count, below, w->histogram));
    overlap->hd95_mm = lower;
    if (below + 1 < w->count) {
        const double upper =
            sqrt((double)kth_smallest(w->distances, w->count, below + 1, w->histogram));
        overlap->hd95_mm = lower + (upper - lower) * (at - (double)below);
    }
}

/* Collect the squared distances of a label, from each surface to the other. */
static lob_status collect_distances(workspace *w, const side sides[2], int32_t index,
                                    const label_counts *t, int threads, lob_progress *progress)
{
    const lob_dims box = box_of(t);
    const int64_t voxels = lob_dims_voxels(box);
    for (int s = 0; s < 2; s++)
        mark_surface(w->surface[s], (uint8_t *)w->squared, &sides[s], index, t, threads);

    w->count = 0;
    for (int s = 0; s < 2; s++) {
        LOB_TRY(lob_distance_squared(w->squared, w->surface[!s], box,
                                     sides[0].volume.geometry.spacing_mm, threads));
        for (int64_t i = 0; i < voxels; i++)
            if (w->surface[s][i]) w->distances[w->count++] = w->squared[i];
        if (lob_progress_report(progress, 0)) return LOB_ECANCEL;
    }
    return LOB_OK;
}

/* Bytes of the arrays of a workspace. */
static int64_t workspace_bytes(const label_counts *t)
{
    return BINS * (int64_t)sizeof(int64_t) + 6 * lob_dims_voxels(box_of(t)) +
           4 * (t->voxels[0] + t->voxels[1]);
}

/* Bytes of working memory for the distances of a label. */
static int64_t distance_bytes(const label_counts *t, int threads)
{
    return workspace_bytes(t) + lob_distance_bytes(box_of(t), threads);
}

/* Measure the distances of a label. */
static lob_status measure_label(lob_overlap *overlap, const side sides[2], int32_t index,
                                const label_counts *t, int threads, lob_progress *progress)
{
    const int64_t box = lob_dims_voxels(box_of(t));
    int64_t *const histogram = malloc((size_t)workspace_bytes(t));
    if (!histogram) return LOB_ENOMEM;
    float *const squared = (float *)(histogram + BINS), *const distances = squared + box;
    uint8_t *const surface = (uint8_t *)(distances + t->voxels[0] + t->voxels[1]);
    workspace w = {
        {surface, surface + box},
        squared, distances, 0, histogram
    };
    const lob_status st = collect_distances(&w, sides, index, t, threads, progress);
    if (st == LOB_OK) summarise(overlap, &w);
    free(histogram);
    return st;
}

/* Whether a label is measured by one thread while others measure other labels, each with its part
 * of the memory. */
static bool is_small(const label_counts *t, int64_t max_memory, int threads)
{
    return lob_dims_voxels(box_of(t)) < SMALL_BOX &&
           (!max_memory || distance_bytes(t, 1) <= max_memory / threads);
}

/* Measure a label with all threads, or with as many as the memory allows. */
static lob_status measure_alone(lob_overlap *overlap, const side sides[2], int32_t index,
                                const label_counts *t, lob_progress *progress)
{
    const lob_context *const context = progress->context;
    const int64_t max_memory = context->max_memory;
    int threads = lob_dims_voxels(box_of(t)) < SMALL_BOX ? 1 : context->threads;
    while (max_memory && threads > 1 && distance_bytes(t, threads) > max_memory) threads--;
    if (max_memory && distance_bytes(t, threads) > max_memory) return LOB_ENOMEM;
    return measure_label(overlap, sides, index, t, threads, progress);
}

/*
 * Large labels are measured one after another by all threads, small ones by one thread each: to
 * start all threads for a pass over a small box takes longer than the pass. Small labels too are
 * measured one after another where the memory does not hold one for each thread.
 */
static lob_status measure_surfaces(lob_overlap *overlaps, int32_t count, const side sides[2],
                                   const label_counts *counts, const lob_context *context)
{
    lob_progress progress = {.context = context};
    lob_status st = LOB_OK;
    lob_progress_stage(&progress, count, 1.0);
    if (lob_progress_report(&progress, 0)) return LOB_ECANCEL;
    for (int32_t i = 0; i < count && st == LOB_OK && !lob_progress_stopped(&progress); i++) {
        const label_counts *const t = &counts[i];
        if (!t->voxels[0] || !t->voxels[1] || is_small(t, context->max_memory, context->threads))
            continue;
        st = measure_alone(&overlaps[i], sides, i, t, &progress);
        lob_progress_report(&progress, 1);
    }
#pragma omp parallel for num_threads(context->threads) schedule(dynamic)
    for (int32_t i = 0; i < count; i++) {
        const label_counts *const t = &counts[i];
        lob_status mine;
#pragma omp atomic read
        mine = st;
        if (mine != LOB_OK || lob_progress_stopped(&progress) || !t->voxels[0] || !t->voxels[1] ||
            !is_small(t, context->max_memory, context->threads))
            continue;
        mine = measure_label(&overlaps[i], sides, i, t, 1, &progress);
        if (mine != LOB_OK) {
#pragma omp atomic write
            st = mine;
        }
        lob_progress_report(&progress, 1);
    }
    return st == LOB_OK && lob_progress_stopped(&progress) ? LOB_ECANCEL : st;
}

static void fill_overlap(lob_overlap *overlap, const label_counts *t, double mm3)
{
    const double sum = (double)t->voxels[0] + (double)t->voxels[1], both = (double)t->common;
    overlap->voxels_a = t->voxels[0];
    overlap->voxels_b = t->voxels[1];
    overlap->common = t->common;
    overlap->dice = 2.0 * both / sum;
    overlap->jaccard = both / (sum - both);
    overlap->hd95_mm = overlap->mean_surface_mm = NAN;
    overlap->volume_a_mm3 = (double)t->voxels[0] * mm3;
    overlap->volume_b_mm3 = (double)t->voxels[1] * mm3;
}

lob_status lob_compare_labels(lob_overlap **overlaps, int32_t *count, int *equal,
                              const lob_volume *a, const char *a_name, const lob_volume *b,
                              const char *b_name, int surfaces, const lob_context *context,
                              lob_error *error)
{
    *overlaps = NULL;
    *count = 0;
    *equal = 0;
    if (!lob_same_dims(a->dims, b->dims))
        return lob_fail(error, LOB_EDATA,
                        "%s has %" PRId64 " x %" PRId64 " x %" PRId64 " voxels but %s has %" PRId64
                        " x %" PRId64 " x %" PRId64,
                        a_name, a->dims.nx, a->dims.ny, a->dims.nz, b_name, b->dims.nx, b->dims.ny,
                        b->dims.nz);

    side sides[2] = {{.volume = lob_volume_empty()}, {.volume = lob_volume_empty()}};
    label_counts *counts = NULL;
    lob_status st = load_side(&sides[0], a, a_name, error);
    if (st == LOB_OK) st = load_side(&sides[1], b, b_name, error);
    if (st == LOB_OK && surfaces) st = refuse_scan(&sides[0], a_name, error);
    if (st == LOB_OK && surfaces) st = refuse_scan(&sides[1], b_name, error);
    if (st != LOB_OK) goto out;
    st = merge_labels(overlaps, count, sides);
    if (st == LOB_OK) st = count_volumes(&counts, equal, sides, *count, surfaces, context, error);
    if (st == LOB_OK) {
        const double mm3 = lob_voxel_mm3(&a->geometry);
        for (int32_t i = 0; i < *count; i++) fill_overlap(&(*overlaps)[i], &counts[i], mm3);
        if (surfaces) st = measure_surfaces(*overlaps, *count, sides, counts, context);
    }
    if (st == LOB_ENOMEM) lob_fail(error, st, "no memory to compare %s with %s", a_name, b_name);
    if (st == LOB_ECANCEL) lob_fail(error, st, "comparison cancelled");
out:
    if (st != LOB_OK || *count == 0) {
        free(*overlaps);
        *overlaps = NULL;
        *count = 0;
    }
    free(counts);
    free_side(&sides[0]);
    free_side(&sides[1]);
    return st;
}
