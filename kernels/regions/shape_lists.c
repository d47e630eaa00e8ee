/* What needs a list for each region: its voxels slice by slice, its values in order. */
#include "kernels/budget.h"
#include "kernels/progress.h"
#include "kernels/regions/shapes.h"
#include "volumes/free.h"
#include "volumes/labels.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>

static const int percentages[LOB_PERCENTILES] = {5, 25, 50, 75, 95};

/* A call. Each region has the numbers first[i] to before first[i + 1] of a list. */
typedef struct {
    const lob_regions_input *in;
    const lob_region *regions;
    lob_budget budget;
    int64_t *first; /* count + 1 */
    int64_t *next;  /* count: percentiles, the next free place */
    void *list;
    int64_t list_size;
    lob_progress progress;
} listing;

/* Call `run` for each stretch of a label, planes in parallel. */
static lob_status visit_runs(listing *l, int threads,
                             void (*run)(listing *l, int64_t label, int64_t z, int64_t first,
                                         int64_t n))
{
    const lob_regions_input *const in = l->in;
    const int64_t nx = in->dims.nx, ny = in->dims.ny;
    lob_progress_stage(&l->progress, in->dims.nz, 1.0);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t z = 0; z < in->dims.nz; z++) {
        if (lob_progress_stopped(&l->progress)) continue;
        for (int64_t row = z * ny * nx; row < (z + 1) * ny * nx; row += nx)
            for (int64_t x = 0, end; x < nx; x = end) {
                const int32_t label = lob_label_at(in->labels, in->type, row + x);
                for (end = x + 1; end < nx; end++)
                    if (lob_label_at(in->labels, in->type, row + end) != label) break;
                if (label > 0) run(l, label - 1, z, row + x, end - x);
            }
        lob_progress_report(&l->progress, 1);
    }
    return lob_progress_stopped(&l->progress) ? LOB_ECANCEL : LOB_OK;
}

/* Lists with a number of 8 bytes for each voxel, or for each slice of the bounding box. */
static lob_status begin(listing *l, bool by_voxel, const lob_context *context, lob_error *error)
{
    const int64_t count = l->in->count;
    l->progress.context = context;
    l->budget = (lob_budget){.who = "regions", .limit = context->max_memory};
    LOB_TRY(lob_budget_calloc(&l->budget, &l->first, count + 1, sizeof *l->first, error));
    LOB_TRY(lob_budget_calloc(&l->budget, &l->next, count + 1, sizeof *l->next, error));
    for (int64_t i = 0; i < count; i++) {
        const lob_region *const r = &l->regions[i];
        const int64_t slices = r->voxels ? (int64_t)r->high[2] - r->low[2] + 1 : 0;
        l->first[i + 1] = l->first[i] + (by_voxel ? r->voxels : slices);
        l->next[i] = l->first[i];
    }
    l->list_size = l->first[count];
    return lob_budget_calloc(&l->budget, &l->list, l->list_size + 1, 8, error);
}

static void end(listing *l)
{
    LOB_FREE(l->list, l->next, l->first);
}

/* ---- slices ---- */

/* One thread has plane z, so no other counts there. */
static void count_run(listing *l, int64_t label, int64_t z, int64_t first, int64_t n)
{
    (void)first;
    ((int64_t *)l->list)[l->first[label] + z - l->regions[label].low[2]] += n;
}

lob_status lob_regions_slices(lob_region_slices *slices, const lob_region *regions,
                              const lob_regions_input *in, const lob_context *context,
                              lob_error *error)
{
    listing l = {.in = in, .regions = regions};
    lob_status st = begin(&l, false, context, error);
    if (st == LOB_OK) st = visit_runs(&l, context->threads, count_run);
    for (int64_t i = 0; i < in->count && st == LOB_OK; i++) {
        slices[i] = (lob_region_slices){0};
        for (int64_t k = l.first[i]; k < l.first[i + 1]; k++) {
            const int64_t n = ((const int64_t *)l.list)[k];
            slices[i].slices += n > 0;
            if (n <= slices[i].largest) continue;
            slices[i].largest = n;
            slices[i].where = regions[i].low[2] + k - l.first[i];
        }
    }
    end(&l);
    return st;
}

/* ---- percentiles ---- */

/* In whichever order threads come: values are sorted afterwards. */
static void copy_run(listing *l, int64_t label, int64_t z, int64_t first, int64_t n)
{
    enum { BLOCK = 256 };
    (void)z;
    for (int64_t i = 0; i < n; i += BLOCK) {
        double values[BLOCK];
        const int64_t some = n - i < BLOCK ? n - i : BLOCK;
        int64_t finite = 0, at;
        lob_values(values, l->in->image->data, l->in->image->type, first + i, some);
        for (int64_t k = 0; k < some; k++)
            if (isfinite(values[k])) values[finite++] = values[k];
#pragma omp atomic capture
        {
            at = l->next[label];
            l->next[label] += finite;
        }
        for (int64_t k = 0; k < finite; k++) ((double *)l->list)[at + k] = values[k];
    }
}

lob_status lob_regions_percentiles(double *out, const lob_region *regions,
                                   const lob_regions_input *in, const lob_context *context,
                                   lob_error *error)
{
    listing l = {.in = in, .regions = regions};
    lob_status st = begin(&l, true, context, error);
    if (st == LOB_OK) st = visit_runs(&l, context->threads, copy_run);
#pragma omp parallel for schedule(dynamic, 16) num_threads(context->threads)
    for (int64_t i = 0; i < (st == LOB_OK ? in->count : 0); i++) {
        double *const values = (double *)l.list + l.first[i];
        const int64_t n = l.next[i] - l.first[i];
        if (n > 0) qsort(values, (size_t)n, sizeof *values, lob_by_real);
        for (int p = 0; p < LOB_PERCENTILES; p++) {
            const double at = (double)(n - 1) * percentages[p] / 100.0;
            const int64_t below = (int64_t)at;
            out[i * LOB_PERCENTILES + p] =
                n == 0 ? (double)NAN
                : below + 1 < n
                    ? values[below] + (values[below + 1] - values[below]) * (at - (double)below)
                    : values[n - 1];
        }
    }
    end(&l);
    return st;
}
