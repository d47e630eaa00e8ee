/* Denoising voxel by voxel. */
#include "tests/reference/denoise_reference.h"

#include "kernels/filters/filter_edge.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const lob_filter_image *in;
    const lob_filter_call *call;
    int channel;
    lob_edge edge;
    int search[3], patch[3];
} view;

static void find_radii(view *v)
{
    const double *mm = v->call->spacing_mm;
    double least = INFINITY;
    for (int a = 0; a < 3; a++)
        if (v->call->step->along[a] > 0 && lob_side(v->in->dims, a) > 1) least = fmin(least, mm[a]);
    for (int a = 0; a < 3; a++) {
        const bool works = v->call->step->along[a] > 0 && lob_side(v->in->dims, a) > 1;
        v->search[a] = v->patch[a] = 0;
        if (!works) continue;
        while (v->search[a] < 2 && (v->search[a] + 1) * mm[a] <= 2 * least * (1 + 1e-9))
            v->search[a]++;
        v->patch[a] = mm[a] <= 1.5 * least;
    }
}

static view view_of(const lob_filter_image *in, const lob_filter_call *call, int channel)
{
    view v = {in, call, channel, call->options->edge, {0}, {0}};
    if (v.edge == LOB_EDGE_RENORMALISE || v.edge == LOB_EDGE_CONSTANT) v.edge = LOB_EDGE_MIRROR;
    find_radii(&v);
    return v;
}

static float mapped(float value, const lob_filter_map *map)
{
    if (map->identity || !isfinite(value)) return value;
    value = value * map->factor;
    value = value + map->offset;
    return value < map->low ? map->low : value > map->high ? map->high : value;
}

/* The value at a position that may lie outside; NaN where it is no data. */
static float value_at(const view *v, int64_t x, int64_t y, int64_t z)
{
    const lob_dims d = v->in->dims;
    x = lob_edge_position(x, d.nx, v->edge);
    y = lob_edge_position(y, d.ny, v->edge);
    z = lob_edge_position(z, d.nz, v->edge);
    const int64_t i = (z * d.ny + y) * d.nx + x;
    double stored;
    lob_values(&stored, v->in->data, v->in->type, v->channel * d.nx * d.ny * d.nz + i, 1);
    const float value = (float)stored;
    return isfinite(value) && (!v->call->mask || v->call->mask[i]) ? value : NAN;
}

/* The sum of squared differences of patches, and their number. */
static float patch_sum(const view *v, const int64_t p[3], const int by[3], int *n)
{
    float planes[3] = {0}, rows[3], e[3];
    *n = 0;
    for (int z = -v->patch[2]; z <= v->patch[2]; z++) {
        for (int y = -v->patch[1]; y <= v->patch[1]; y++) {
            for (int x = -v->patch[0]; x <= v->patch[0]; x++) {
                const float apart =
                    value_at(v, p[0] + x, p[1] + y, p[2] + z) -
                    value_at(v, p[0] + x + by[0], p[1] + y + by[1], p[2] + z + by[2]);
                e[x + 1] = isnan(apart) ? 0.0f : apart * apart;
                *n += !isnan(apart);
            }
            rows[y + 1] = v->patch[0] ? (e[0] + e[1]) + e[2] : e[1];
        }
        planes[z + 1] = v->patch[1] ? (rows[0] + rows[1]) + rows[2] : rows[1];
    }
    return v->patch[2] ? (planes[0] + planes[1]) + planes[2] : planes[1];
}

static float denoised(const view *v, const int64_t p[3], double noise)
{
    const float own = value_at(v, p[0], p[1], p[2]);
    float sum = isnan(own) ? 0.0f : own, weights = isnan(own) ? 0.0f : 1.0f;
    int by[3], n;
    for (by[2] = -v->search[2]; by[2] <= v->search[2]; by[2]++)
        for (by[1] = -v->search[1]; by[1] <= v->search[1]; by[1]++)
            for (by[0] = -v->search[0]; by[0] <= v->search[0]; by[0]++) {
                if (!by[0] && !by[1] && !by[2]) continue;
                const float other = value_at(v, p[0] + by[0], p[1] + by[1], p[2] + by[2]);
                if (isnan(other)) continue;
                const float apart = patch_sum(v, p, by, &n);
                const float scale = (float)(1 / (n * 8.0 * noise * noise));
                const float left = 1.0f - apart * scale;
                const float weight = isnan(own) ? 1.0f : left > 0 ? left * left : 0.0f;
                sum += weight * other;
                weights += weight;
            }
    return weights > 0 ? sum / weights : NAN;
}

void denoise_reference(float *out, const lob_filter_image *in, const lob_filter_call *call,
                       double noise)
{
    const lob_dims d = in->dims;
    for (int c = 0; c < in->channels; c++) {
        const view v = view_of(in, call, c);
        for (int64_t i = 0; i < d.nx * d.ny * d.nz; i++) {
            const int64_t p[3] = {i % d.nx, i / d.nx % d.ny, i / (d.nx * d.ny)};
            double stored;
            lob_values(&stored, in->data, in->type, c * d.nx * d.ny * d.nz + i, 1);
            float value = (float)stored;
            if (!call->mask || call->mask[i]) {
                const float better = denoised(&v, p, noise);
                if (!isnan(better)) value = better;
            }
            out[c * d.nx * d.ny * d.nz + i] = mapped(value, &call->after);
        }
    }
}

/* The residual of a voxel inside; NaN: it does not count. */
static float residual(const view *v, const int64_t p[3], const bool along[3])
{
    float sum = 0;
    int n = 0;
    for (int a = 0; a < 3; a++) {
        int64_t l[3] = {p[0], p[1], p[2]}, r[3] = {p[0], p[1], p[2]};
        if (!along[a]) continue;
        if (p[a] == 0 || p[a] == lob_side(v->in->dims, a) - 1) return NAN;
        l[a]--, r[a]++;
        sum += value_at(v, l[0], l[1], l[2]) + value_at(v, r[0], r[1], r[2]);
        n += 2;
    }
    return fabsf(value_at(v, p[0], p[1], p[2]) - sum / (float)n);
}

double denoise_reference_noise(const lob_filter_image *in, const lob_filter_call *call)
{
    const lob_dims d = in->dims;
    const int64_t voxels = d.nx * d.ny * d.nz;
    float *residuals = malloc((size_t)voxels * sizeof *residuals);
    double squares = 0;
    if (!residuals) exit(75);
    for (int c = 0; c < in->channels; c++) {
        const view v = view_of(in, call, c);
        bool along[3];
        int axes = 0;
        int64_t n = 0;
        for (int a = 0; a < 3; a++) axes += along[a] = v.patch[a] && lob_side(d, a) >= 3;
        for (int64_t i = 0; i < voxels && axes > 0; i++) {
            const int64_t p[3] = {i % d.nx, i / d.nx % d.ny, i / (d.nx * d.ny)};
            const float one = residual(&v, p, along);
            if (isfinite(one) && one != 0) residuals[n++] = one;
        }
        if (n == 0) continue;
        qsort(residuals, (size_t)n, sizeof *residuals, lob_by_float);
        const double low = (double)residuals[(n - 1) / 2], high = (double)residuals[n / 2];
        const double own = 1.4826 * (low + (high - low) / 2) * sqrt(2.0 * axes / (2.0 * axes + 1));
        squares += own * own;
    }
    free(residuals);
    return sqrt(squares / in->channels);
}
