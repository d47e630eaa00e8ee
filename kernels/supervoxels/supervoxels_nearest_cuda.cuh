/* The nearest of a brick's clusters, from the tile's table. supervoxels_tile_cuda.cuh tells how. */
#ifndef LOB_SUPERVOXELS_NEAREST_CUDA_CUH
#define LOB_SUPERVOXELS_NEAREST_CUDA_CUH

#include "kernels/supervoxels/supervoxels_hall_cuda.cuh"

/* ---- nearest clusters ---- */

static __device__ inline uint32_t level_in(const uint4 &packed, int j)
{
    const uint32_t word = j < 2 ? packed.x : j < 4 ? packed.y : j < 6 ? packed.z : packed.w;
    return j & 1 ? word >> 16 : word & 0xffff;
}

/* What lies so many bytes behind a place of the table's first entry. */
static __device__ inline const float *floats_at(const float *first, uint32_t bytes)
{
    return (const float *)((const char *)first + bytes);
}

static __device__ inline float float_at(const float *first, uint32_t bytes)
{
    return *floats_at(first, bytes);
}

/* The number in the tile of a listed cluster. */
template <typename L> static __device__ inline uint32_t number_of(uint32_t listed)
{
    return listed / (uint32_t)L::entry_bytes; /* flags are less than an entry */
}

/* Half a run against a cluster: voxels FROM..FROM+3. */
template <lob_supervoxel_method M, int C, int FROM>
static __device__ inline void slic_half(uint32_t *best, const float (*level)[RUN],
                                        const float *along, const float *mean, float row,
                                        uint32_t rank)
{
    const float4 four = *(const float4 *)(along + FROM);
    const float u[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float distance = fmaf(u[i], u[i], row);
        if (M == LOB_SLICO) {
            float contrast = 0;
#pragma unroll
            for (int c = 0; c < C; c++)
                contrast = lob_slic_add(contrast, level[c][FROM + i], mean[c]);
            distance = fmaf(contrast, mean[C], distance);
        } else {
#pragma unroll
            for (int c = 0; c < C; c++)
                distance = lob_slic_add(distance, level[c][FROM + i], mean[c]);
        }
        best[FROM + i] = min(best[FROM + i], (__float_as_uint(distance) & ~255u) | rank);
    }
}

/* Places in the list of each voxel's nearest cluster, NOWHERE where no box holds it. */
template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline void slic_nearest(uint32_t *where, const hall &h, const brick_share &b,
                                           const float (*level)[RUN], int n)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    const float *const u = h.table + b.x * S::bx + S::x(lane);
    const float *const v = h.table + WARP + b.y * S::by + S::y(lane);
    const float *const w = h.table + WARP + S::vy + b.z * S::bz + S::z(lane);
#pragma unroll
    for (int j = 0; j < RUN; j++) where[j] = ~0u;
    for (int i = 0; i < n; i++) {
        const uint32_t listed = h.list[i], at = listed & ~15u;
        float mean[L::extra], row = float_at(v, at);
#pragma unroll
        for (int c = 0; c < L::extra; c++) mean[c] = float_at(h.table + TABLE + c, at);
        if (!FLAT) {
            const float dw = float_at(w, at);
            row = fmaf(dw, dw, row);
        }
        if (listed & LIST_FIRST)
            slic_half<M, C, 0>(where, level, floats_at(u, at), mean, row, (uint32_t)i);
        if (listed & LIST_SECOND)
            slic_half<M, C, 4>(where, level, floats_at(u, at), mean, row, (uint32_t)i);
    }
#pragma unroll
    for (int j = 0; j < RUN; j++)
        where[j] = where[j] < INFINITE_BITS ? where[j] & 255u : (uint32_t)NOWHERE;
}

/* What lsc knows of a lane's voxels. */
template <int C> struct waves_of_run {
    float cosine[C][RUN], sine[C][RUN], weight[RUN];
    float w_cosine, w_sine; /* of the lane's w */
    const float *along;     /* RUN sines of u, in shared memory */
};

template <int C, int FROM>
static __device__ inline void lsc_half(float *best, uint32_t *where, const waves_of_run<C> &r,
                                       const float *along, const float *factor, float row,
                                       uint32_t rank)
{
    const float4 four = *(const float4 *)(along + FROM), sines = *(const float4 *)(r.along + FROM);
    const float u[4] = {four.x, four.y, four.z, four.w};
    const float sine[4] = {sines.x, sines.y, sines.z, sines.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int j = FROM + i;
        float score = lob_lsc_add(row, u[i], sine[i], factor);
#pragma unroll
        for (int c = 0; c < C; c++)
            score = lob_lsc_add(score, r.cosine[c][j], r.sine[c][j], &factor[4 + 2 * c]);
        score = fmaf(r.weight[j], factor[4 + 2 * C], score);
        if (score < best[j]) best[j] = score, where[j] = rank;
    }
}

template <int C, bool FLAT>
static __device__ inline void lsc_nearest(uint32_t *where, const hall &h, const brick_share &b,
                                          const waves_of_run<C> &r, int n)
{
    typedef layout<LOB_LSC, C, FLAT> L;
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    const float *const u = h.table + b.x * S::bx + S::x(lane);
    const float *const v = h.table + WARP + b.y * S::by + S::y(lane);
    const float *const w = h.table + WARP + S::vy + b.z * S::bz + S::z(lane);
    float best[RUN];
#pragma unroll
    for (int j = 0; j < RUN; j++) best[j] = INFINITY, where[j] = NOWHERE;
    for (int i = 0; i < n; i++) {
        const uint32_t listed = h.list[i], at = listed & ~15u;
        float factor[L::extra], row = float_at(v, at);
#pragma unroll
        for (int c = 0; c < L::extra; c++) factor[c] = float_at(h.table + TABLE + c, at);
        if (!FLAT) row = lob_lsc_add(row, r.w_cosine, r.w_sine, &factor[2]) + float_at(w, at);
        if (listed & LIST_FIRST)
            lsc_half<C, 0>(best, where, r, floats_at(u, at), factor, row, (uint32_t)i);
        if (listed & LIST_SECOND)
            lsc_half<C, 4>(best, where, r, floats_at(u, at), factor, row, (uint32_t)i);
    }
}

#endif
