/* The loops of a registration on the CPU that have no file of their own. */
#include "kernels/filters/pointwise_voxel.h"
#include "kernels/progress.h"
#include "kernels/register/register_voxel.h"

static lob_status ends(lob_register_range *r, lob_register_call *c, const lob_register_values *v)
{
    double low = INFINITY, high = -INFINITY;
    int64_t count = 0;
#pragma omp parallel for schedule(static) num_threads(c->context->threads) \
    reduction(min : low) reduction(max : high) reduction(+ : count)
    for (int64_t i = 0; i < v->voxels; i++) {
        const double value = lob_filter_load(v->data, v->type, i) + 0.0; /* no -0 */
        if (!isfinite(value)) continue;
        low = value < low ? value : low;
        high = value > high ? value : high;
        count++;
    }
    *r = (lob_register_range){low, high, count};
    return LOB_OK;
}

static lob_status bins(int64_t bin[LOB_REGISTER_BINS], lob_register_call *c,
                       const lob_register_values *v, const lob_register_range *r)
{
    memset(bin, 0, LOB_REGISTER_BINS * sizeof *bin);
#pragma omp parallel for schedule(static) num_threads(c->context->threads) \
    reduction(+ : bin[ : LOB_REGISTER_BINS])
    for (int64_t i = 0; i < v->voxels; i++) {
        const int at = lob_register_bin(lob_filter_load(v->data, v->type, i), r);
        if (at >= 0) bin[at]++;
    }
    return LOB_OK;
}

static lob_status levels(int16_t *level, lob_register_call *c, const lob_register_values *v,
                         const lob_register_range *r)
{
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
    for (int64_t i = 0; i < v->voxels; i++)
        level[i] = lob_register_level_of(lob_filter_load(v->data, v->type, i), r);
    return LOB_OK;
}

static lob_status move(lob_register_call *c)
{
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
    for (int64_t i = 0; i < c->fixed.voxels; i++)
        c->moved.level[i] = lob_register_moved(&c->moving, c->fixed.dims, &c->affine, i);
    return LOB_OK;
}

static lob_status costs(lob_register_costs *k, lob_register_call *c, int from)
{
    const int64_t words = lob_register_rows_words(c, k->level);
    uint64_t *rows;
    LOB_TRY(lob_budget_alloc(&c->budget, &rows, words, sizeof *rows, c->error));
    lob_register_rows_fill(rows, c, c->words[!from], k->level);
    lob_register_costs_fill(k, c, c->words[from], rows);
    lob_budget_free(&c->budget, rows, words, sizeof *rows);
    return LOB_OK;
}

static lob_status sums(int64_t *sum, const lob_register_costs *k, lob_register_call *c)
{
    (void)c;
    memset(sum, 0, (size_t)k->labels * sizeof *sum);
    for (int64_t i = 0; i < k->points->count; i++)
        for (int64_t l = 0; l < k->labels; l++) sum[l] += k->cost[i * k->labels + l];
    return LOB_OK;
}

static lob_status halve(lob_register_points p[2], lob_register_call *c, float *next)
{
    const int64_t count = p[0].count;
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
    for (int64_t i = 0; i < 2 * count; i++) {
        float u[3];
        lob_register_point_halved(u, &p[i / count], &p[!(i / count)], i % count);
        for (int a = 0; a < 3; a++) next[(i / count * 3 + a) * count + i % count] = u[a];
    }
    for (int k = 0; k < 2; k++)
        memcpy(p[k].u[0], next + k * 3 * count, 3 * (size_t)count * sizeof *next);
    return LOB_OK;
}

static lob_status bits(int64_t *bits_out, int64_t *voxels_out, lob_register_call *c,
                       const lob_register_points *p)
{
    int64_t sum = 0, voxels = 0;
#pragma omp parallel for schedule(static) num_threads(c->context->threads) reduction(+ : sum, voxels)
    for (int64_t i = 0; i < c->fixed.voxels; i++) {
        const int n = lob_register_bits_at(c->words[0], c->words[1], c->mask, c->no_data,
                                           c->fixed.dims, p, i);
        if (n < 0) continue;
        sum += n;
        voxels++;
    }
    *bits_out = sum;
    *voxels_out = voxels;
    return LOB_OK;
}

static lob_status field(float *mm, lob_register_extent *extent, lob_register_call *c,
                        const lob_register_points *p, const lob_register_worlds *worlds)
{
    const lob_dims d = c->fixed.dims;
    const int64_t voxels = c->fixed.voxels;
    int64_t folded = 0;
    double most = 0.0;
#pragma omp parallel num_threads(c->context->threads)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < voxels; i++) {
            float u[3];
            lob_register_field_voxel(u, p, d, worlds, i);
            for (int a = 0; a < 3; a++) mm[a * voxels + i] = u[a];
        }
#pragma omp for schedule(static) reduction(+ : folded) reduction(max : most)
        for (int64_t i = 0; i < voxels; i++) {
            const double square = lob_register_square(mm, voxels, i);
            most = square > most ? square : most;
            folded += lob_register_folds(mm, d, &worlds->here, i);
        }
    }
    *extent = (lob_register_extent){folded, most};
    return LOB_OK;
}

const lob_register_loops lob_register_on_cpu = {
    .ends = ends,
    .bins = bins,
    .levels = levels,
    .move = move,
    .words = lob_register_words,
    .costs = costs,
    .sums = sums,
    .keys = lob_register_keys,
    .solve = lob_register_solve,
    .halve = halve,
    .bits = bits,
    .field = field,
};
