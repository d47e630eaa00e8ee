/* Registration, one voxel, point, displacement or edge at a time: what the CPU and CUDA compile. */
#ifndef LOB_REGISTER_VOXEL_H
#define LOB_REGISTER_VOXEL_H

#include "kernels/filters/pointwise_voxel.h"
#include "kernels/histogram/histogram_voxel.h"
#include "kernels/register/register_parts.h"

LOB_BEGIN_DECLS

LOB_BOTH int64_t lob_register_clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Where voxel i lies. Whole numbers of 32 bits are divided several times as fast. */
LOB_BOTH void lob_register_place(int64_t at[3], lob_dims dims, int64_t i)
{
    const bool few = ((i | dims.nx | dims.ny) >> 32) == 0;
    const int64_t row = few ? (uint32_t)i / (uint32_t)dims.nx : i / dims.nx;
    at[0] = i - row * dims.nx;
    at[2] = few ? (uint32_t)row / (uint32_t)dims.ny : row / dims.ny;
    at[1] = row - at[2] * dims.ny;
}

/* The position of voxel i. */
LOB_BOTH void lob_register_voxel(double at[3], lob_dims dims, int64_t i)
{
    int64_t place[3];
    lob_register_place(place, dims, i);
    for (int a = 0; a < 3; a++) at[a] = (double)place[a];
}

/* The index of the voxel at a position; outside, that of the nearest. */
LOB_BOTH int64_t lob_register_index(lob_dims dims, const int64_t at[3])
{
    int64_t i = 0;
    for (int a = 2; a >= 0; a--)
        i = i * lob_side(dims, a) + lob_register_clamp(at[a], lob_side(dims, a));
    return i;
}

/* A position through an affine; to may be at. */
LOB_BOTH void lob_register_apply(double to[3], const lob_register_affine *affine,
                                 const double at[3])
{
    const double x = at[0], y = at[1], z = at[2];
    for (int a = 0; a < 3; a++) {
        const double *const m = affine->m[a];
        to[a] = m[0] * x + m[1] * y + m[2] * z + m[3];
    }
}

/* The determinant of an affine's matrix. */
LOB_BOTH double lob_register_det(const lob_register_affine *affine)
{
    const double *const x = affine->m[0], *const y = affine->m[1], *const z = affine->m[2];
    return x[0] * (y[1] * z[2] - y[2] * z[1]) - x[1] * (y[0] * z[2] - y[2] * z[0]) +
           x[2] * (y[0] * z[1] - y[1] * z[0]);
}

/* The voxels on both sides of a position along an axis, which is brought into it: the index of the
 * lower one; part: how far beyond it the position is, 0..1. */
LOB_BOTH int64_t lob_register_between(double *part, double at, int64_t side)
{
    const double p = at > 0.0 ? at < (double)(side - 1) ? at : (double)(side - 1) : 0.0;
    *part = p - (double)(int64_t)p;
    return (int64_t)p;
}

/* Bits in which two words differ. */
LOB_BOTH int lob_register_bits(uint64_t a, uint64_t b)
{
#ifdef __CUDA_ARCH__
    return __popcll(a ^ b);
#else
    return __builtin_popcountll(a ^ b);
#endif
}

/* ---- levels ---- */

LOB_BOTH int16_t lob_register_level_of(const lob_register_pass *p, int64_t i)
{
    const double value = lob_filter_load(p->data, p->type, i);
    if (isnan(value)) return LOB_REGISTER_NONE;
    if (!(value > p->low)) return 0;
    if (value >= p->high) return LOB_REGISTER_TOP;
    return (int16_t)(LOB_REGISTER_TOP * ((value - p->low) / (p->high - p->low)) + 0.5);
}

/* ---- moving ---- */

enum { LOB_REGISTER_FRACTIONS = 256 }; /* of a voxel, in which positions between voxels count */

/* The level of voxel i through an affine; a position outside takes that of the nearest voxel, and
 * the flag. */
LOB_BOTH int16_t lob_register_moved(const lob_register_pass *pass, int64_t i)
{
    const lob_register_image *const from = &pass->moving;
    const int64_t parts = LOB_REGISTER_FRACTIONS;
    int64_t low[3], high[3], part[3], stride = 1;
    int64_t line[4];
    double here[3];
    int flag = 0;
    lob_register_voxel(here, pass->dims, i);
    for (int a = 0; a < 3; a++) {
        const double *const m = pass->affine.m[a];
        const int64_t side = lob_side(from->dims, a);
        double p = m[0] * here[0] + m[1] * here[1] + m[2] * here[2] + m[3];
        if (!(p >= -0.5 && p <= (double)side - 0.5)) flag = LOB_REGISTER_NONE;
        p = p > 0.0 ? p < (double)(side - 1) ? p : (double)(side - 1) : 0.0;
        const int64_t fixed = (int64_t)(p * (double)parts + 0.5);
        low[a] = fixed / parts;
        part[a] = fixed % parts;
        high[a] = (low[a] + (part[a] > 0)) * stride;
        low[a] *= stride;
        stride *= side;
    }
    for (int j = 0; j < 4; j++) {
        const int16_t *const row =
            from->level + (j & 1 ? high[1] : low[1]) + (j & 2 ? high[2] : low[2]);
        const int near = row[low[0]], far = row[high[0]];
        flag |= near | far;
        line[j] =
            (near & LOB_REGISTER_TOP) * (parts - part[0]) + (far & LOB_REGISTER_TOP) * part[0];
    }
    const int64_t near = line[0] * (parts - part[1]) + line[1] * part[1];
    const int64_t far = line[2] * (parts - part[1]) + line[3] * part[1];
    const int64_t all = parts * parts * parts, sum = near * (parts - part[2]) + far * part[2];
    return (int16_t)((flag & LOB_REGISTER_NONE) | (sum + all / 2) / all);
}

/* Does a scan's mask hold the voxel whose centre is nearest to that of voxel i of the grid? */
LOB_BOTH bool lob_register_masked(const lob_register_pass *p, int64_t i)
{
    double at[3];
    int64_t voxel[3];
    lob_register_voxel(at, p->dims, i);
    lob_register_apply(at, &p->here, at);
    lob_voxel_find(at, &p->finder, at);
    for (int a = 0; a < 3; a++) voxel[a] = (int64_t)floor(at[a] + 0.5);
    return ((const uint8_t *)p->data)[lob_register_index(p->moving.dims, voxel)] != 0;
}

/* ---- points ---- */

/* Where point i is among the points, of which there are fewer than 2^31. */
LOB_BOTH void lob_register_point_index(int64_t index[3], const lob_register_points *p, int64_t i)
{
    const uint32_t n = (uint32_t)i, nx = (uint32_t)p->n[0], ny = (uint32_t)p->n[1], row = n / nx;
    index[0] = n - row * nx;
    index[1] = row % ny;
    index[2] = row / ny;
}

/* The middle of point i's block. */
LOB_BOTH void lob_register_point_middle(float at[3], const lob_register_points *p, int64_t i)
{
    int64_t index[3];
    lob_register_point_index(index, p, i);
    for (int a = 0; a < 3; a++)
        at[a] = (float)(index[a] * p->step + p->first[a]) + (float)(p->step - 1) / 2.0f;
}

/* The displacement at a position of the grid, linear between points, constant beyond them. */
LOB_BOTH void lob_register_points_at(float u[3], const lob_register_points *p, const float at[3])
{
    int low[3], high[3], stride = 1;
    float part[3];
    for (int a = 0; a < 3; a++) {
        const float last = (float)(p->n[a] - 1);
        float g = (at[a] - (float)p->first[a] - (float)(p->step - 1) / 2.0f) / (float)p->step;
        g = g > 0.0f ? g < last ? g : last : 0.0f;
        low[a] = (int)g;
        part[a] = g - (float)low[a];
        high[a] = (low[a] + (low[a] + 1 < p->n[a])) * stride;
        low[a] *= stride;
        stride *= (int)p->n[a];
    }
    for (int k = 0; k < 3; k++) {
        float line[4];
        for (int j = 0; j < 4; j++) {
            const float *const row =
                p->u[k] + (j & 1 ? high[1] : low[1]) + (j & 2 ? high[2] : low[2]);
            line[j] = row[low[0]] + part[0] * (row[high[0]] - row[low[0]]);
        }
        const float near = line[0] + part[1] * (line[1] - line[0]);
        const float far = line[2] + part[1] * (line[3] - line[2]);
        u[k] = near + part[2] * (far - near);
    }
}

/* Point i's displacement, half-way to where the other field undoes it. */
LOB_BOTH void lob_register_point_halved(float u[3], const lob_register_points *own,
                                        const lob_register_points *other, int64_t i)
{
    float at[3], back[3];
    lob_register_point_middle(at, own, i);
    for (int a = 0; a < 3; a++) at[a] += own->u[a][i];
    lob_register_points_at(back, other, at);
    for (int a = 0; a < 3; a++) u[a] = 0.5f * (own->u[a][i] - back[a]);
}

/* ---- costs ---- */

/* Where a level begins at a point: the displacement before, in whole parts of a voxel. */
LOB_BOTH void lob_register_begin(const lob_register_costs *k, int64_t point)
{
    float at[3], u[3] = {0, 0, 0};
    lob_register_point_middle(at, &k->points, point);
    if (k->before.count > 0) lob_register_points_at(u, &k->before, at);
    for (int a = 0; a < 3; a++)
        k->points.u[a][point] = floorf(u[a] * LOB_REGISTER_PARTS + 0.5f) / LOB_REGISTER_PARTS;
}

/* The voxel to which displacements lead; those of no points are 0. */
LOB_BOTH void lob_register_displaced(int64_t to[3], const lob_register_points *p, lob_dims dims,
                                     const int64_t at[3])
{
    const float where[3] = {(float)at[0], (float)at[1], (float)at[2]};
    float u[3] = {0, 0, 0};
    if (p->count > 0) lob_register_points_at(u, p, where);
    for (int a = 0; a < 3; a++)
        to[a] = lob_register_clamp(at[a] + (int64_t)floorf(u[a] + 0.5f), lob_side(dims, a));
}

/* Does a voxel lie nearer to the border than so many voxels? Axes that would lose half do not
 * count. */
LOB_BOTH bool lob_register_near_border(const int64_t at[3], lob_dims dims, int margin)
{
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(dims, a);
        if (side >= 4 * margin && (at[a] < margin || at[a] >= side - margin)) return true;
    }
    return false;
}

/* Sample o of a point: its word, and the voxel to which displacements of the level before lead it.
 * false: it does not count. */
LOB_BOTH bool lob_register_sample(uint64_t *word, int64_t to[3], const lob_register_costs *k, int o,
                                  int64_t point)
{
    const lob_register_points *const p = &k->points;
    int64_t index[3], at[3];
    lob_register_point_index(index, p, point);
    for (int a = 0; a < 3; a++)
        at[a] = lob_register_clamp(index[a] * p->step + p->first[a] + k->offset[o][a],
                                   lob_side(k->dims, a));
    const int64_t voxel = lob_register_index(k->dims, at);
    if (k->mask && !k->mask[voxel]) return false;
    *word = k->from[voxel];
    if (*word == k->no_data || (k->margin > 0 && *word == 0) ||
        lob_register_near_border(at, k->dims, k->margin))
        return false;
    lob_register_displaced(to, &k->before, k->dims, at);
    return true;
}

/* A displacement's cost: bits, weighted, and a little for its length, which breaks ties. */
LOB_BOTH int32_t lob_register_cost(int bits, int64_t scale, const int side[3], int lx, int ly,
                                   int lz)
{
    const int x = lx - side[0] / 2, y = ly - side[1] / 2, z = lz - side[2] / 2;
    return (int32_t)(bits * scale) + x * x + y * y + z * z;
}

/* ---- the tree ---- */

/* How much the block of a point differs from the next one along an axis. */
LOB_BOTH uint64_t lob_register_difference(const lob_register_points *p,
                                          const lob_register_image *image, const int64_t index[3],
                                          int axis)
{
    const lob_dims d = image->dims;
    int64_t first[3];
    uint64_t sum = 0;
    for (int a = 0; a < 3; a++) first[a] = index[a] * p->step + p->first[a];
    const bool inside = first[0] >= 0 && first[0] + p->step <= d.nx;
    const int64_t apart = p->step * (axis == 0 ? 1 : axis == 1 ? d.nx : d.nx * d.ny);
    for (int z = 0; z < p->step; z++)
        for (int y = 0; y < p->step; y++) {
            const int64_t row = (lob_register_clamp(first[2] + z, d.nz) * d.ny +
                                 lob_register_clamp(first[1] + y, d.ny)) *
                                d.nx;
            for (int x = 0; x < p->step; x++) {
                const int64_t i =
                    row + (inside ? first[0] + x : lob_register_clamp(first[0] + x, d.nx));
                const int a = image->level[i] & LOB_REGISTER_TOP;
                const int b = image->level[i + apart] & LOB_REGISTER_TOP;
                sum += (uint64_t)(a > b ? a - b : b - a);
            }
        }
    return sum;
}

/* An edge's key, by which edges are taken: difference, then number; none where the points end. */
LOB_BOTH uint64_t lob_register_key(const lob_register_points *p, const lob_register_image *image,
                                   int64_t edge)
{
    int64_t index[3];
    lob_register_point_index(index, p, edge / 3);
    const int axis = (int)(edge % 3);
    if (index[axis] + 1 >= p->n[axis]) return LOB_REGISTER_NO_EDGE;
    return lob_register_difference(p, image, index, axis) << 32 | (uint64_t)edge;
}

/* The highest cost of an edge along an axis: six edges of three axes stay below 2^31. An edge has
 * it from this difference on, in quants. */
enum { LOB_REGISTER_MOST_COST = 1 << 26, LOB_REGISTER_MOST_DIFFERENCE = 1 << 7 };

/* What an edge costs along an axis, where displacements are `steps` times quant apart, parent less
 * child, beside where they began. */
LOB_BOTH int32_t lob_register_edge_cost(const lob_register_costs *k, int axis, int64_t parent,
                                        int64_t child, int steps)
{
    const float *const u = k->points.u[axis];
    const int quant = k->level.quant;
    const int64_t unit = LOB_REGISTER_PARTS * (int64_t)quant;
    const int64_t before =
        (int64_t)(u[parent] * LOB_REGISTER_PARTS) - (int64_t)(u[child] * LOB_REGISTER_PARTS);
    const int64_t d = before + steps * unit;
    if (d >= LOB_REGISTER_MOST_DIFFERENCE * unit || d <= -LOB_REGISTER_MOST_DIFFERENCE * unit)
        return LOB_REGISTER_MOST_COST;
    /* d^2 * UNIT / unit^2, of 32 bits for quants up to 8 */
    const uint32_t each = LOB_REGISTER_UNIT / (LOB_REGISTER_PARTS * LOB_REGISTER_PARTS);
    return (int32_t)((uint32_t)(d * d) * each / (uint32_t)(quant * quant));
}

/* What displacements cost all points together: of group i of them the least sum, then which it is.
 * Of fewer than 2^22 points, as there are of a coarse level. */
enum { LOB_REGISTER_LABELS = 1 << 13, LOB_REGISTER_GROUP = 8 };
LOB_BOTH uint64_t lob_register_least(const lob_register_pass *p, int64_t i)
{
    int64_t label[LOB_REGISTER_GROUP], sum[LOB_REGISTER_GROUP] = {0};
    uint64_t least = UINT64_MAX;
    for (int k = 0; k < LOB_REGISTER_GROUP; k++)
        label[k] = lob_register_clamp(i * LOB_REGISTER_GROUP + k, p->labels);
    for (int64_t point = 0; point < p->points[0].count; point++)
        for (int k = 0; k < LOB_REGISTER_GROUP; k++)
            sum[k] += p->cost[point * p->labels + label[k]];
    for (int k = 0; k < LOB_REGISTER_GROUP; k++) {
        const uint64_t own = (uint64_t)(sum[k] * LOB_REGISTER_LABELS + label[k]);
        least = own < least ? own : least;
    }
    return least;
}

/* How far beside the middle one of three costs the parabola through them has its least:
 * -1/2 .. 1/2. */
LOB_BOTH float lob_register_beside(int32_t low, int32_t mid, int32_t high)
{
    const double bend = (double)low - 2.0 * (double)mid + (double)high;
    return bend > 0.0 ? (float)(((double)low - (double)high) / (2.0 * bend)) : 0.0f;
}

/* ---- measures and the field ---- */

/* The bits in which voxel i of the fixed scan and that to which displacements lead differ; -1: it
 * does not count. */
LOB_BOTH int lob_register_bits_at(const lob_register_pass *p, int64_t i)
{
    const lob_dims dims = p->dims;
    int64_t at[3], there[3];
    if (p->mask && !p->mask[i]) return -1;
    lob_register_place(at, dims, i);
    lob_register_displaced(there, &p->points[0], dims, at);
    const uint64_t a = p->words[0][i], b = p->words[1][lob_register_index(dims, there)];
    return a == p->no_data || b == p->no_data ? -1 : lob_register_bits(a, b);
}

/* The displacement of voxel i in mm, of displacements in voxels before the affine. */
LOB_BOTH void lob_register_field_voxel(float mm[3], const lob_register_pass *p, int64_t i)
{
    double at[3];
    lob_register_voxel(at, p->dims, i);
    const float where[3] = {(float)at[0], (float)at[1], (float)at[2]};
    float u[3] = {0, 0, 0};
    if (p->points[0].count > 0) lob_register_points_at(u, &p->points[0], where);
    for (int a = 0; a < 3; a++) {
        double here = p->here.m[a][3], there = p->there.m[a][3];
        for (int b = 0; b < 3; b++) {
            here += p->here.m[a][b] * at[b];
            there += p->there.m[a][b] * (at[b] + (double)u[b]);
        }
        mm[a] = (float)(there - here);
    }
}

/* Where x + displacement turns its surroundings inside out: the determinant of its differences to
 * the next voxel along each axis is not above 0. */
LOB_BOTH bool lob_register_folds(const lob_register_pass *p, int64_t i)
{
    const lob_dims dims = p->dims;
    const int64_t stride[3] = {1, dims.nx, dims.nx * dims.ny};
    double at[3];
    lob_register_affine m[2];
    lob_register_voxel(at, dims, i);
    for (int a = 0; a < 3; a++) {
        const bool next = at[a] + 1.0 < (double)lob_side(dims, a);
        for (int r = 0; r < 3; r++) {
            const float *const u = p->mm + r * p->n + i;
            m[1].m[r][a] = p->here.m[r][a];
            m[0].m[r][a] = m[1].m[r][a] + (next ? (double)(u[stride[a]] - u[0]) : 0.0);
        }
    }
    return lob_register_det(&m[0]) * lob_register_det(&m[1]) <= 0.0;
}

/* The square of the displacement of voxel i. */
LOB_BOTH double lob_register_square(const lob_register_pass *p, int64_t i)
{
    double square = 0.0;
    for (int a = 0; a < 3; a++) square += (double)p->mm[a * p->n + i] * (double)p->mm[a * p->n + i];
    return square;
}

/* ---- passes ---- */

LOB_BOTH void lob_register_most(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

/* numbers: from 0 on, LOB_REGISTER_MAXIMA of which the largest counts, then sums. kind: p->kind, as
 * a constant where that makes kernels of their own. */
LOB_BOTH void lob_register_at(lob_register_kind kind, const lob_register_pass *p, int64_t i,
                              uint64_t numbers[LOB_REGISTER_NUMBERS])
{
    float u[3];
    switch (kind) {
    case LOB_REGISTER_LEVELS:
        p->level[i] = lob_register_level_of(p, i);
        break;
    case LOB_REGISTER_MOVE:
        p->level[i] = lob_register_moved(p, i);
        break;
    case LOB_REGISTER_MASK:
        p->marks[i] = lob_register_masked(p, i);
        break;
    case LOB_REGISTER_HALVE: {
        const int64_t count = p->n / 2, k = i / count;
        lob_register_point_halved(u, &p->points[k], &p->points[!k], i % count);
        for (int a = 0; a < 3; a++) p->next[k].u[a][i % count] = u[a];
        break;
    }
    case LOB_REGISTER_LEAST:
        lob_register_most(&numbers[0], ~lob_register_least(p, i));
        break;
    case LOB_REGISTER_BITS: {
        const int bits = lob_register_bits_at(p, i);
        numbers[2] += bits < 0 ? 0 : (uint64_t)bits;
        numbers[3] += bits >= 0;
        break;
    }
    case LOB_REGISTER_FIELD:
        lob_register_field_voxel(u, p, i);
        for (int a = 0; a < 3; a++) p->mm[a * p->n + i] = u[a];
        break;
    case LOB_REGISTER_EXTENT:
        lob_register_most(&numbers[0], lob_ordered_key_double(lob_register_square(p, i)));
        numbers[2] += lob_register_folds(p, i);
        break;
    case LOB_REGISTER_KINDS:
        break;
    }
}

LOB_END_DECLS

#endif
