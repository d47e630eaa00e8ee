/*
 * A pass voxel by voxel: each one is compared with all clusters whose boxes may hold it, by the
 * formulas of supervoxels_voxel.h as they stand. For numbers of channels other than one and three,
 * for very small clusters, and for what a tile cannot do.
 */
#ifndef LOB_VOXELWISE_CUDA_H
#define LOB_VOXELWISE_CUDA_H

#include "kernels/supervoxels/supervoxels_params_cuda.cuh"

namespace lob::supervoxels
{

/* A voxel: where it is, and its levels if they were read. */
struct located_voxel {
    int32_t at[3]; /* along x, y, z */
    uint16_t level[LOB_SUPERVOXELS_MAX_CHANNELS];
};

/* Voxel j of the strip that begins at p. */
static __device__ inline void locate_voxel(located_voxel *voxel, const supervoxels_params &s,
                                           position p, int j)
{
#pragma unroll
    for (int a = 0; a < 3; a++)
        voxel->at[a] = s.axis[0] == a ? p.u + j : s.axis[1] == a ? p.v : p.w;
}

static __device__ inline void read_voxel(located_voxel *voxel, const supervoxels_params &s,
                                         position p, int j)
{
    const int64_t i = voxel_at(s, p) + j * s.stride[0];
    if (s.rule.lab)
        read_lab(voxel->level, s, i);
    else
        for (int c = 0; c < s.rule.channels; c++) voxel->level[c] = level_of(s, c, i);
}

static __device__ inline float contrast_to(const supervoxels_params &s, const float *centre,
                                           const located_voxel &v)
{
    float contrast = 0;
    for (int c = 0; c < s.rule.channels; c++)
        contrast = lob_slico_add(contrast, (float)v.level[c] * s.rule.level, centre[3 + c]);
    return contrast;
}

static __device__ inline float slico_distance(const supervoxels_params &s, const float *centre,
                                              const located_voxel &v)
{
    float along[3];
    for (int a = 0; a < 3; a++)
        along[a] = lob_slico_along((float)v.at[a], s.rule.position_weight[a], centre[a]);
    const float near = (along[1] + along[2]) + along[0];
    return fmaf(contrast_to(s, centre, v), centre[3 + s.rule.channels], near);
}

/* A whole number, as all below LOB_SLIC_LIMIT are in a float. */
static __device__ inline float slic_distance(const supervoxels_params &s, const float *centre,
                                             const located_voxel &v)
{
    int32_t distance = 0;
    for (int a = 0; a < 3; a++)
        distance += lob_slic_along((float)v.at[a], s.rule.position_weight[a], centre[a]);
    for (int c = 0; c < s.rule.channels; c++) {
        const int32_t d = lob_slic_step(v.level[c], &s.rule) - (int32_t)centre[3 + c];
        distance += d * d;
    }
    return (float)distance;
}

static __device__ inline float lsc_score(const supervoxels_params &s, const float *centre,
                                         const located_voxel &v)
{
    float along[3];
    for (int a = 0; a < 3; a++)
        along[a] = lob_lsc_along(s.axis_cos_sin[a][v.at[a]], &centre[2 * a]);
    float score = (along[1] + along[2]) + along[0];
    for (int c = 0; c < s.rule.channels; c++) {
        const lob_cos_sin entry = level_cos_sin_of(s, c, v.level[c]);
        score = lob_lsc_add(score, (float)entry.cosine, (float)entry.sine, &centre[6 + 2 * c]);
    }
    return score;
}

static __device__ inline float distance_to(const supervoxels_params &s, const float *centre,
                                           const located_voxel &v)
{
    return s.rule.method == LOB_SLIC    ? slic_distance(s, centre, v)
           : s.rule.method == LOB_SLICO ? lob_distance_truncated(slico_distance(s, centre, v))
                                        : lob_distance_truncated(lsc_score(s, centre, v));
}

static __device__ inline bool in_box(const int32_t *box, const int32_t *at)
{
    return at[0] >= box[0] && at[0] <= box[3] && at[1] >= box[1] && at[1] <= box[4] &&
           at[2] >= box[2] && at[2] <= box[5];
}

typedef enum { EVERY_VOXEL, UNASSIGNED } which_voxels;

/* The nearest cluster of voxel j of a strip; that of its own cell where no box holds it.
 * UNASSIGNED: only where no box does, which takes no levels, and -1 elsewhere. */
static __device__ int32_t nearest_cluster(const supervoxels_params &s, position p, int j,
                                          which_voxels which)
{
    const lob_supervoxels_rule &rule = s.rule;
    const int floats = lob_cluster_floats(&rule);
    int32_t cell[3], nearest = own_cluster(s, p.u + j, p.v, p.w);
    float best = INFINITY;
    located_voxel voxel;
    locate_voxel(&voxel, s, p, j);
    if (which == EVERY_VOXEL) read_voxel(&voxel, s, p, j);
    for (int a = 0; a < 3; a++) cell[a] = lob_cell(voxel.at[a], rule.side[a], rule.cells[a]);
    for (int32_t z = max(cell[2] - 1, 0); z <= min(cell[2] + 1, rule.cells[2] - 1); z++)
        for (int32_t y = max(cell[1] - 1, 0); y <= min(cell[1] + 1, rule.cells[1] - 1); y++)
            for (int32_t x = max(cell[0] - 1, 0); x <= min(cell[0] + 1, rule.cells[0] - 1); x++) {
                const int32_t k = (z * rule.cells[1] + y) * rule.cells[0] + x;
                if (!in_box(s.boxes + (int64_t)k * 6, voxel.at)) continue;
                if (which == UNASSIGNED) return -1;
                const float distance = distance_to(s, s.centres + (int64_t)k * floats, voxel);
                if (lob_distance_wins(best, distance)) best = distance, nearest = k;
            }
    return nearest;
}

/* Add voxels from..end-1 of a strip to cluster k. */
static __device__ __noinline__ void add_to_cluster(const supervoxels_params &s, int32_t k, int from,
                                                   int end, position p)
{
    const int64_t n = end - from, channels = s.rule.channels;
    u64 *sums = s.sums + (int64_t)k * lob_cluster_sums(&s.rule), *features = sums + 4;
    atomicAdd(&sums[0], (u64)n);
    add_signed(&sums[1 + s.axis[0]], (2 * (int64_t)p.u + from + end - 1) * n / 2);
    add_signed(&sums[1 + s.axis[1]], n * p.v);
    add_signed(&sums[1 + s.axis[2]], n * p.w);
    if (s.rule.method == LOB_LSC) {
        const lob_cos_sin v = s.axis_cos_sin[s.axis[1]][p.v], w = s.axis_cos_sin[s.axis[2]][p.w];
        int64_t cosine = 0, sine = 0;
        for (int j = from; j < end; j++) {
            cosine += s.axis_cos_sin[s.axis[0]][p.u + j].cosine;
            sine += s.axis_cos_sin[s.axis[0]][p.u + j].sine;
        }
        add_signed(&features[2 * s.axis[0]], cosine);
        add_signed(&features[2 * s.axis[0] + 1], sine);
        add_signed(&features[2 * s.axis[1]], n * v.cosine);
        add_signed(&features[2 * s.axis[1] + 1], n * v.sine);
        add_signed(&features[2 * s.axis[2]], n * w.cosine);
        add_signed(&features[2 * s.axis[2] + 1], n * w.sine);
    }
    for (int c = 0; c < channels; c++) {
        int64_t first = 0, second = 0;
        for (int j = from; j < end; j++) {
            const uint32_t level = level_of(s, c, voxel_at(s, p) + j * s.stride[0]);
            if (s.rule.method == LOB_LSC) {
                const lob_cos_sin entry = level_cos_sin_of(s, c, level);
                first += entry.cosine;
                second += entry.sine;
            } else
                first += level;
        }
        if (s.rule.method == LOB_LSC) {
            add_signed(&features[6 + 2 * c], first);
            add_signed(&features[7 + 2 * c], second);
        } else
            add_signed(&features[c], first);
    }
    if (s.rule.method != LOB_SLICO || s.pass == PASS_START) return;
    const float *centre = s.centres + (int64_t)k * lob_cluster_floats(&s.rule);
    for (int j = from; j < end; j++) {
        located_voxel voxel;
        read_voxel(&voxel, s, p, j);
        atomicMax(&s.largest[k], __float_as_uint(contrast_to(s, centre, voxel)));
    }
}

/* One pass over one strip, or over its unassigned voxels. */
static __device__ __noinline__ void voxelwise_strip(const supervoxels_params &s, uint32_t strip,
                                                    position p, which_voxels which)
{
    const uint32_t data = s.brick_data[strip];
    int32_t k = -1;
    int from = 0;
    if (p.v >= s.end[1] || p.w >= s.end[2]) return;
    int32_t *label = s.labels + voxel_at(s, p);
#pragma unroll 1
    for (int j = 0; j <= STRIP; j++, label += s.stride[0]) {
        int32_t next = -1;
        if (j < STRIP && data >> j & 1)
            next = s.pass == PASS_START ? own_cluster(s, p.u + j, p.v, p.w)
                                        : nearest_cluster(s, p, j, which);
        if (s.pass == PASS_LABEL) {
            const bool writes = which == EVERY_VOXEL || next >= 0;
            if (j < STRIP && p.u + j < s.end[0] && writes) *label = next + 1;
            continue;
        }
        if (next == k) continue;
        if (k >= 0) add_to_cluster(s, k, from, j, p);
        k = next;
        from = j;
    }
}

/* Where a strip lies, by its number. */
template <bool FLAT>
static __device__ inline position position_of_strip(const supervoxels_params &s, uint32_t strip)
{
    typedef brick_shape<FLAT> S;
    const uint32_t brick = strip / WARP, across = brick / s.bricks[0];
    const int lane = (int)(strip % WARP);
    position p;
    p.u = s.begin[0] + (int32_t)(brick % s.bricks[0]) * S::bx + S::x(lane);
    p.v = s.begin[1] + (int32_t)(across % s.bricks[1]) * S::by + S::y(lane);
    p.w = s.begin[2] + (int32_t)(across / s.bricks[1]) * S::bz + S::z(lane);
    return p;
}

} /* namespace lob::supervoxels */

#endif
