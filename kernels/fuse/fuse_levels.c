/* What is compared: levels and sums of patches of scan and atlases, in a frame; dense labels. */
#include "kernels/fuse/fuse_voxel.h"
#include "kernels/histogram/histogram.h"

#include <math.h>
#include <string.h>

const double lob_fuse_percentiles[LOB_FUSE_PERCENTILES] = {1, 99};

lob_status lob_fuse_no_value(lob_status st, int atlas, lob_error *error)
{
    if (st == LOB_EDATA && atlas == 0) return lob_fail(error, st, "the scan has no finite value");
    if (st == LOB_EDATA) return lob_fail(error, st, "atlas %d has no finite value", atlas);
    return st;
}

/* atlas: its number, from 1; 0: the scan. */
static lob_status find_scale(lob_fuse_scale *s, const lob_fuse_job *j, const lob_volume *image,
                             int atlas, lob_error *error)
{
    const lob_histogram_input in = {.image = image, .channel = 0};
    lob_context context = lob_budget_inner(&j->budget, j->context);
    double value[2];
    context.progress = NULL;
    const lob_status st = lob_percentiles_cpu(value, lob_fuse_percentiles, LOB_FUSE_PERCENTILES,
                                              NULL, &in, &context, error);
    if (st != LOB_OK) return lob_fuse_no_value(st, atlas, error);
    *s = lob_fuse_scale_of(value);
    return LOB_OK;
}

/* Sums of patches around voxels of the grid. */
static void sum_patches(const lob_fuse_job *j, lob_fuse_levels *to)
{
    const lob_dims d = j->dims;
    const lob_fuse_frame *const f = &j->frame;
    const int r = j->options->patch;
    const int64_t reach = j->options->search;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t z = -reach; z < d.nz + reach; z++)
        for (int64_t y = -reach; y < d.ny + reach; y++) {
            const int64_t at = f->first + z * f->plane + y * f->row;
            uint16_t *const sum = to->sum + at;
            const int64_t nx = d.nx + reach;
            for (int64_t x = -reach; x < nx; x++) sum[x] = 0;
            for (int k = -r; k <= r; k++)
                for (int i = -r; i <= r; i++)
                    for (int h = -r; h <= r; h++) {
                        const uint8_t *const level = to->level + at + k * f->plane + i * f->row + h;
                        for (int64_t x = -reach; x < nx; x++)
                            sum[x] = (uint16_t)(sum[x] + level[x]);
                    }
        }
}

/* Levels and labels of an image, the sums of its patches, and which labels it has; labels NULL: the
 * scan. Of a majority labels alone. atlas: its number, from 1; 0: the scan. */
static lob_status make_one(lob_fuse_job *j, lob_fuse_levels *to, const lob_volume *image,
                           const lob_volume *labels, int atlas, bool *has, lob_error *error)
{
    const int64_t n = j->frame.count;
    lob_fuse_scale scale = {0, 0};
    if (j->options->majority) image = NULL;
    if (!image && !labels) return LOB_OK;
    if (labels) LOB_TRY(lob_budget_alloc(&j->budget, &to->label, n, 1, error));
    if (image) {
        LOB_TRY(lob_budget_alloc(&j->budget, &to->level, n, 1, error));
        LOB_TRY(lob_budget_alloc(&j->budget, &to->sum, n, sizeof *to->sum, error));
        LOB_TRY(find_scale(&scale, j, image, atlas, error));
    }
    const lob_fuse_filling filling =
        lob_fuse_filling_of(j, to, image, labels, j->set->values, scale);
    uint8_t *const held = (uint8_t *)has; /* not every compiler reduces bools of an array */
#pragma omp parallel for num_threads(j->context->threads) schedule(static) \
    reduction(|                                                            \
              : held[:LOB_FUSE_MAX_LABELS + 1])
    for (int64_t i = 0; i < n; i++) held[lob_fuse_fill(&filling, i)] |= 1;
    if (image) sum_patches(j, to);
    return LOB_OK;
}

lob_status lob_fuse_frame_make(lob_fuse_job *j, lob_error *error)
{
    const lob_dims d = j->dims;
    lob_fuse_frame *const f = &j->frame;
    const int64_t m = j->options->majority ? 0 : j->options->patch + j->options->search;
    f->margin = m;
    f->row = d.nx + 2 * m;
    f->plane = f->row * (d.ny + 2 * m);
    f->count = lob_product(f->row, d.ny + 2 * m, d.nz + 2 * m, 1);
    f->first = m * (f->plane + f->row + 1);
    return f->count < 0 ? lob_fail(error, LOB_EDATA, "the grid has too many voxels") : LOB_OK;
}

lob_status lob_fuse_levels_make(lob_fuse_job *j, lob_error *error)
{
    LOB_TRY(lob_fuse_frame_make(j, error));
    LOB_TRY(make_one(j, &j->scan, j->in->scan, NULL, 0, j->has[0], error));
    j->all_have = true;
    for (int a = 0; a < j->in->count; a++) {
        const lob_fuse_atlas *const atlas = &j->in->atlases[a];
        LOB_TRY(make_one(j, &j->atlas[a], atlas->image, atlas->labels, a + 1, j->has[a], error));
        for (int32_t l = 1; l <= j->set->count; l++) j->all_have = j->all_have && j->has[a][l];
        if (j->context->progress &&
            j->context->progress(j->context->user, 0.2 * (a + 1) / j->in->count))
            return LOB_ECANCEL;
    }
    return LOB_OK;
}

void lob_fuse_levels_free(lob_fuse_job *j)
{
    lob_device *const device = j->context->device;
    const int64_t n = j->frame.count;
    for (int a = -1; a < j->in->count; a++) {
        lob_fuse_levels *const of = a < 0 ? &j->scan : &j->atlas[a];
        lob_budget_free_at(&j->budget, device, of->level, n);
        lob_budget_free_at(&j->budget, device, of->sum, n * (int64_t)sizeof *of->sum);
        lob_budget_free_at(&j->budget, device, of->label, n);
    }
}
