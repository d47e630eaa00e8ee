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

/* A row of the grid with what the margin repeats of its ends. */
static void load_row(uint8_t *level, uint8_t *label, const lob_volume *image, int64_t from,
                     const lob_fuse_scale *s, const lob_fuse_frame *f)
{
    enum { PART = 512 };
    const int64_t nx = image->dims.nx;
    double value[PART];
    for (int64_t x = 0; x < nx; x += PART) {
        const int64_t n = nx - x < PART ? nx - x : PART;
        lob_values(value, image->data, image->type, from + x, n);
        for (int64_t i = 0; i < n; i++) {
            const double v = image->slope * value[i] + image->inter;
            level[x + i] = lob_fuse_level(v, *s);
            if (label && !isfinite(v)) label[x + i] = LOB_FUSE_NO_LABEL;
        }
    }
    memset(level - f->margin, level[0], (size_t)f->margin);
    memset(level + nx, level[nx - 1], (size_t)f->margin);
}

static int64_t clamped(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static void load_levels(const lob_fuse_job *j, lob_fuse_levels *to, const lob_volume *image,
                        const lob_fuse_scale *s)
{
    const lob_dims d = j->dims;
    const lob_fuse_frame *const f = &j->frame;
    const int64_t m = f->margin;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t z = 0; z < d.nz; z++)
        for (int64_t y = 0; y < d.ny; y++) {
            const int64_t at = f->first + z * f->plane + y * f->row;
            load_row(to->level + at, to->label ? to->label + at : NULL, image,
                     (z * d.ny + y) * d.nx, s, f);
        }
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t z = -m; z < d.nz + m; z++)
        for (int64_t y = -m; y < d.ny + m; y++) {
            const int64_t zc = clamped(z, d.nz), yc = clamped(y, d.ny);
            if (z == zc && y == yc) continue;
            memcpy(to->level + f->first - m + z * f->plane + y * f->row,
                   to->level + f->first - m + zc * f->plane + yc * f->row, (size_t)f->row);
        }
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

/* An atlas's labels, dense; has: which of them there are. */
static void load_labels(const lob_fuse_job *j, uint8_t *label, bool *has, const lob_volume *labels)
{
    const lob_dims d = j->dims;
    const lob_fuse_frame *const f = &j->frame;
    memset(label, LOB_FUSE_NO_LABEL, (size_t)f->count);
    int32_t last = 0;
    uint8_t dense = 0;
    has[0] = true;
    for (int64_t z = 0; z < d.nz; z++)
        for (int64_t y = 0; y < d.ny; y++)
            for (int64_t x = 0; x < d.nx; x++) {
                const int32_t value =
                    lob_label_at(labels->data, labels->type, (z * d.ny + y) * d.nx + x);
                if (value != last) {
                    last = value;
                    dense = value > 0 ? (uint8_t)lob_label_set_find(j->set, value) : 0;
                    has[dense] = true;
                }
                label[f->first + z * f->plane + y * f->row + x] = dense;
            }
}

static lob_status make_one(lob_fuse_job *j, lob_fuse_levels *to, const lob_volume *image, int atlas,
                           lob_error *error)
{
    lob_fuse_scale s;
    if (j->options->majority) return LOB_OK;
    LOB_TRY(lob_budget_alloc(&j->budget, &to->level, j->frame.count, 1, error));
    LOB_TRY(lob_budget_alloc(&j->budget, &to->sum, j->frame.count, sizeof *to->sum, error));
    LOB_TRY(find_scale(&s, j, image, atlas, error));
    load_levels(j, to, image, &s);
    sum_patches(j, to);
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
    LOB_TRY(make_one(j, &j->scan, j->in->scan, 0, error));
    j->all_have = true;
    for (int a = 0; a < j->in->count; a++) {
        lob_fuse_levels *const to = &j->atlas[a];
        LOB_TRY(lob_budget_alloc(&j->budget, &to->label, j->frame.count, 1, error));
        load_labels(j, to->label, j->has[a], j->in->atlases[a].labels);
        LOB_TRY(make_one(j, to, j->in->atlases[a].image, a + 1, error));
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
