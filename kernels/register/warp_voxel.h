/* A voxel of a volume that goes through a field, and the field at a point; for both compilers. */
#ifndef LOB_WARP_VOXEL_H
#define LOB_WARP_VOXEL_H

#include "kernels/filters/pointwise_voxel.h"
#include "kernels/register/register_voxel.h"

LOB_BEGIN_DECLS

/* A field, with the way from the world to its voxels at hand. */
typedef struct {
    const float *mm;
    lob_dims dims;
    lob_register_affine to_voxel;
} lob_warp_field;

/* lob_field_at. */
LOB_BOTH void lob_warp_field_at(double mm[3], const lob_warp_field *f, const double world[3])
{
    const int64_t voxels = f->dims.nx * f->dims.ny * f->dims.nz;
    int64_t low[3], high[3], stride = 1;
    double at[3], part[3];
    lob_register_apply(at, &f->to_voxel, world);
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(f->dims, a);
        low[a] = lob_register_between(&part[a], at[a], side);
        high[a] = (low[a] + (low[a] + 1 < side)) * stride;
        low[a] *= stride;
        stride *= side;
    }
    for (int k = 0; k < 3; k++) {
        double line[4];
        for (int j = 0; j < 4; j++) {
            const float *const row =
                f->mm + k * voxels + (j & 1 ? high[1] : low[1]) + (j & 2 ? high[2] : low[2]);
            const double near = (double)row[low[0]], far = (double)row[high[0]];
            line[j] = near + part[0] * (far - near);
        }
        const double near = line[0] + part[1] * (line[1] - line[0]);
        const double far = line[2] + part[1] * (line[3] - line[2]);
        mm[k] = near + part[2] * (far - near);
    }
}

/* A call of lob_warp. */
typedef struct lob_warp_map {
    void *to;
    const void *from;
    lob_dims dims, moving;        /* of both */
    lob_register_affine to_world; /* from the new voxels; */
    lob_voxel_finder to_moving;   /* and on, through the field, to the old ones */
    lob_warp_field field;
    lob_warp_method method;
    lob_type type; /* of the old ones, and of the new ones but for LOB_WARP_VALUES */
    double slope, inter;
    int64_t voxels, apart; /* of a new channel and an old one */
    int channels;
} lob_warp_map;

/* The voxels around a position, and how much each counts: 0..1. */
typedef struct {
    int64_t index[8];
    double weight[8];
    int64_t nearest;
} lob_warp_corners;

/* Find them; false: the position lies outside of the volume, beyond the outer faces of its voxels.
 */
LOB_BOTH bool lob_warp_find(lob_warp_corners *k, lob_dims dims, const double at[3])
{
    int64_t low[3], high[3], stride = 1;
    double part[3];
    k->nearest = 0;
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(dims, a);
        if (!(at[a] >= -0.5 && at[a] <= (double)side - 0.5)) return false;
        low[a] = lob_register_between(&part[a], at[a], side);
        k->nearest += (low[a] + (part[a] >= 0.5)) * stride;
        high[a] = (low[a] + (part[a] > 0.0)) * stride;
        low[a] *= stride;
        stride *= side;
    }
    for (int i = 0; i < 8; i++) {
        k->index[i] = 0;
        k->weight[i] = 1.0;
        for (int a = 0; a < 3; a++) {
            k->index[i] += i >> a & 1 ? high[a] : low[a];
            k->weight[i] *= i >> a & 1 ? part[a] : 1.0 - part[a];
        }
    }
    return true;
}

/* The mean of the values that are numbers; NaN where there are none. */
LOB_BOTH double lob_warp_mean(const double value[8], const lob_warp_corners *k)
{
    double sum = 0.0, weights = 0.0;
    for (int i = 0; i < 8; i++) {
        if (k->weight[i] == 0.0 || isnan(value[i])) continue;
        sum += k->weight[i] * value[i];
        weights += k->weight[i];
    }
    return weights > 0.0 ? sum / weights : (double)NAN;
}

/* The value of the largest weight. Weights are whole numbers of 2^-20, so that equal ones are. */
LOB_BOTH double lob_warp_most(const double value[8], const lob_warp_corners *k)
{
    double best = value[0];
    int64_t highest = -1;
    bool alike = true;
    for (int i = 1; i < 8; i++) alike = alike && value[i] == best;
    for (int i = 0; i < 8 && !alike; i++) {
        int64_t sum = 0;
        for (int j = 0; j < 8; j++)
            if (value[j] == value[i]) sum += (int64_t)(k->weight[j] * (1 << 20) + 0.5);
        if (sum > highest || (sum == highest && value[i] < best)) {
            highest = sum;
            best = value[i];
        }
    }
    return best;
}

/* Bytes of a voxel, copied; from 0: cleared. */
LOB_BOTH void lob_warp_copy(void *to, int64_t i, const void *from, int64_t j, lob_type type)
{
#define COPY(type_, ctype, name, integer, lowest, highest)             \
    case type_:                                                        \
        ((ctype *)to)[i] = from ? ((const ctype *)from)[j] : (ctype)0; \
        break;
    LOB_TYPE_SWITCH(type, COPY)
#undef COPY
}

/* New voxel i of one channel, between the corners in `from`; k NULL: it lies outside. */
LOB_BOTH void lob_warp_put(const lob_warp_map *m, void *to, int64_t i, const void *from,
                           int64_t first, const lob_warp_corners *k)
{
    double value[8], stored = 0.0;
    if (!k && m->method == LOB_WARP_VALUES) {
        ((float *)to)[i] = (float)NAN;
        return;
    }
    if (!k || m->method == LOB_WARP_NEAREST) {
        lob_warp_copy(to, i, k ? from : NULL, k ? first + k->nearest : 0, m->type);
        return;
    }
    for (int j = 0; j < 8; j++) value[j] = lob_filter_load(from, m->type, first + k->index[j]);
    const double result =
        m->method == LOB_WARP_LABELS ? lob_warp_most(value, k) : lob_warp_mean(value, k);
    if (m->method != LOB_WARP_VALUES) {
        lob_filter_store(to, m->type, i, result);
        return;
    }
    lob_filter_store(&stored, m->type, 0, result);
    ((float *)to)[i] = (float)(m->slope * lob_filter_load(&stored, m->type, 0) + m->inter);
}

/* New voxel i, all channels. */
LOB_BOTH void lob_warp_voxel(const lob_warp_map *m, int64_t i)
{
    double at[3], mm[3];
    lob_warp_corners k = {.nearest = 0};
    lob_register_voxel(at, m->dims, i);
    lob_register_apply(at, &m->to_world, at);
    lob_warp_field_at(mm, &m->field, at);
    for (int a = 0; a < 3; a++) at[a] += mm[a];
    lob_voxel_find(at, &m->to_moving, at);
    const bool inside = lob_warp_find(&k, m->moving, at);
    for (int c = 0; c < m->channels; c++)
        lob_warp_put(m, m->to, c * m->voxels + i, m->from, c * m->apart, inside ? &k : NULL);
}

LOB_END_DECLS

#endif
