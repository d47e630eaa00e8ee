/* The nearest of a pile's clusters, from its table. warp_tile_cuda.cuh tells how. */
#ifndef LOB_SUPERVOXELS_NEAREST_CUDA_CUH
#define LOB_SUPERVOXELS_NEAREST_CUDA_CUH

#include "kernels/supervoxels/assign/shortlist_cuda.cuh"

namespace lob::supervoxels
{

/* Where a lane's places begin in the table's first entry. */
typedef struct {
    const uint32_t *u, *v, *w;
} table_lane;

template <bool FLAT> static __device__ inline table_lane table_of_lane(const desk &d)
{
    typedef brick_shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    table_lane t;
    t.u = d.table + S::x(lane);
    t.v = d.table + S::bx + S::y(lane);
    t.w = d.table + S::bx + S::by + S::z(lane);
    return t;
}

static __device__ inline uint4 four_at(const uint32_t *words)
{
    return *(const uint4 *)words;
}

/* slic: least costs and their ranks; OUTSIDE and more where no box holds a voxel. */
template <int C, bool FLAT>
static __device__ inline void slic_nearest(uint32_t (*best)[STRIP], const desk &d,
                                           const int32_t (*step)[C][STRIP], int n)
{
    typedef layout<LOB_SLIC, C, FLAT> L;
    typedef brick_shape<FLAT> S;
    const table_lane t = table_of_lane<FLAT>(d);
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
                        cost += (uint32_t)step[z][c][half + j] * d.table[at + L::extra + c];
                    best[z][half + j] = __viaddmin_u32(cost, u[j], best[z][half + j]);
                }
        }
    }
}

/* What distances of floats need of a lane's voxels: slico: levels; lsc: cosines and sines, in
 * turn. */
template <lob_supervoxels_method M, int C> struct features_of_run {
    static constexpr int count = M == LOB_LSC ? 2 * C : C;
    float of[count][STRIP];
};

/*
 * One voxel against a cluster. Of equal costs of 0 and more the first stays, of those below 0 the
 * last, as the definition has it; what is no number loses.
 */
template <lob_supervoxels_method M, int C>
static __device__ inline float nearer(float best, const features_of_run<M, C> &f, int j,
                                      float along, const float *extra, uint32_t rank)
{
    float cost = along;
    if (M == LOB_LSC) {
#pragma unroll
        for (int c = 0; c < C; c++)
            cost = lob_lsc_add(cost, f.of[2 * c][j], f.of[2 * c + 1][j], &extra[2 * c]);
    } else {
        float contrast = 0;
#pragma unroll
        for (int c = 0; c < C; c++) contrast = lob_slico_add(contrast, f.of[c][j], extra[c]);
        cost = fmaf(contrast, extra[C], cost);
    }
    return fminf(best, __uint_as_float((__float_as_uint(cost) & ~RANK_MASK) | rank));
}

/* As above, of N bricks of the pile; infinite where no box holds a voxel. */
template <lob_supervoxels_method M, int C, bool FLAT, int N>
static __device__ inline void float_nearest(float (*best)[STRIP], const desk &d,
                                            const features_of_run<M, C> *f, int brick, int n)
{
    typedef layout<M, C, FLAT> L;
    typedef brick_shape<FLAT> S;
    const table_lane t = table_of_lane<FLAT>(d);
#pragma unroll
    for (int z = 0; z < N; z++)
#pragma unroll
        for (int j = 0; j < STRIP; j++) best[z][j] = INFINITY;
#pragma unroll 2
    for (int i = 0; i < n; i++) {
        const int at = i * L::entry;
        float extra[L::extras], row[N];
#pragma unroll
        for (int e = 0; e < L::extras; e++) extra[e] = __uint_as_float(d.table[at + L::extra + e]);
#pragma unroll
        for (int z = 0; z < N; z++) {
            row[z] = __uint_as_float(t.v[at]);
            /* thin axes and those across slices add 0 */
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
                                     row[z] + __uint_as_float(u[j]), extra, (uint32_t)i);
        }
    }
}

} /* namespace lob::supervoxels */

#endif
