/*
 * The nearest cluster of each voxel of a warp tile, from the table of costs.
 *
 * Of a cost the low 6 bits hold the rank, so one minimum keeps cost and cluster. slic takes the
 * square (step - mean)^2 apart: its share mean^2 is in the table already, so that a voxel and a
 * cluster cost a multiply-add and one instruction that adds and takes the minimum. lsc's cost two
 * fused multiply-adds, an addition, a mask and a minimum.
 */
#ifndef LOB_NEAREST_CUDA_H
#define LOB_NEAREST_CUDA_H

#include "kernels/supervoxels/assign/tile_layout_cuda.cuh"

namespace lob::supervoxels
{

/* Where the coordinates of a lane's strip begin in the table's first entry. */
struct table_lane {
    const uint32_t *u, *v, *w;
};

template <bool FLAT> static __device__ inline table_lane table_of_lane(const warp_shared &shared)
{
    typedef brick_shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    table_lane t;
    t.u = shared.table + S::x(lane);
    t.v = shared.table + S::bx + S::y(lane);
    t.w = shared.table + S::bx + S::by + S::z(lane);
    return t;
}

static __device__ inline uint4 four_at(const uint32_t *words)
{
    return *(const uint4 *)words;
}

/* slic: the least costs with their ranks; at least OUTSIDE_BOX where no box holds a voxel. */
template <int C, bool FLAT>
static __device__ inline void slic_nearest(uint32_t (*best)[STRIP], const warp_shared &shared,
                                           const int32_t (*step)[C][STRIP], int n)
{
    typedef tile_layout<LOB_SLIC, C, FLAT> L;
    typedef brick_shape<FLAT> S;
    const table_lane t = table_of_lane<FLAT>(shared);
#pragma unroll
    for (int z = 0; z < S::depth; z++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) best[z][j] = ~0u;
#pragma unroll 4
    for (int i = 0; i < n; i++) {
        const int at = i * L::entry;
        uint32_t row[S::depth];
#pragma unroll
        for (int z = 0; z < S::depth; z++)
            row[z] = t.v[at] + (FLAT ? 0 : t.w[at + z * S::bz]) + (uint32_t)i;
#pragma unroll
        for (int half = 0; half < STRIP; half += 4) {
            const uint4 four = four_at(t.u + at + half);
            const uint32_t u[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int z = 0; z < S::depth; z++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    uint32_t cost = row[z];
#pragma unroll
                    for (int c = 0; c < C; c++)
                        cost += (uint32_t)step[z][c][half + j] * shared.table[at + L::factor + c];
                    best[z][half + j] = __viaddmin_u32(cost, u[j], best[z][half + j]);
                }
        }
    }
}

/* What costs need of a strip's voxels: slico: levels; lsc: cosines and sines by turns. */
template <lob_supervoxels_method M, int C> struct features_of_strip {
    static constexpr int count = M == LOB_LSC ? 2 * C : C;
    float of[count][STRIP];
};

/*
 * Compare voxel j's best cost with that of one more cluster. Of equal costs from 0 on the first
 * cluster stays, of those below 0 the last, as lob_distance_wins has it; not-a-number loses.
 */
template <lob_supervoxels_method M, int C>
static __device__ inline float nearer(float best, const features_of_strip<M, C> &f, int j,
                                      float along, const float *factor, uint32_t rank)
{
    float cost = along;
    if (M == LOB_LSC) {
#pragma unroll
        for (int c = 0; c < C; c++)
            cost = lob_lsc_add(cost, f.of[2 * c][j], f.of[2 * c + 1][j], &factor[2 * c]);
    } else {
        float contrast = 0;
#pragma unroll
        for (int c = 0; c < C; c++) contrast = lob_slico_add(contrast, f.of[c][j], factor[c]);
        cost = fmaf(contrast, factor[C], cost);
    }
    return fminf(best, __uint_as_float((__float_as_uint(cost) & ~RANK_MASK) | rank));
}

/* slico, lsc: the same for N bricks of the tile; infinite where no box holds a voxel. */
template <lob_supervoxels_method M, int C, bool FLAT, int N>
static __device__ inline void float_nearest(float (*best)[STRIP], const warp_shared &shared,
                                            const features_of_strip<M, C> *f, int brick, int n)
{
    typedef tile_layout<M, C, FLAT> L;
    typedef brick_shape<FLAT> S;
    const table_lane t = table_of_lane<FLAT>(shared);
#pragma unroll
    for (int z = 0; z < N; z++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) best[z][j] = INFINITY;
#pragma unroll 2
    for (int i = 0; i < n; i++) {
        const int at = i * L::entry;
        float factor[L::factors], row[N];
#pragma unroll
        for (int e = 0; e < L::factors; e++)
            factor[e] = __uint_as_float(shared.table[at + L::factor + e]);
#pragma unroll
        for (int z = 0; z < N; z++) {
            row[z] = __uint_as_float(t.v[at]);
            /* in a flat view w adds 0 */
            if (!FLAT) row[z] = row[z] + __uint_as_float(t.w[at + (brick + z) * S::bz]);
        }
#pragma unroll
        for (int half = 0; half < STRIP; half += 4) {
            const uint4 four = four_at(t.u + at + half);
            const uint32_t u[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int z = 0; z < N; z++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    best[z][half + j] =
                        nearer<M, C>(best[z][half + j], f[z], half + j,
                                     row[z] + __uint_as_float(u[j]), factor, (uint32_t)i);
        }
    }
}

} /* namespace lob::supervoxels */

#endif
