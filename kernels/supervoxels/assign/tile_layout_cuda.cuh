/*
 * What the steps of a pass over warp tiles share: a tile, the table of costs that a warp makes of
 * its candidate clusters, and the warp's shared memory.
 *
 * A cost is the squared distance of slic and slico, or the score of lsc: the voxel goes to the
 * cluster with the least. It is the sum of a part for each of the voxel's coordinates and of what
 * its levels add. The table has an entry per cluster: the parts for all coordinates of the tile
 * (24; in flat views 32), then the factors of the levels. So a cost takes two or three look-ups,
 * and a coordinate outside the cluster's box has a part that exceeds every cost.
 */
#ifndef LOB_TILE_LAYOUT_CUDA_H
#define LOB_TILE_LAYOUT_CUDA_H

#include "kernels/supervoxels/supervoxels_params_cuda.cuh"

namespace lob::supervoxels
{

/* A cluster's rank is the number of its entry. Costs leave 6 bits free for it, so that the minimum
 * of cost and rank in one word is the nearest cluster and of equal ones the first. */
enum {
    RANKS = 64,         /* entries, at most */
    NO_RANK = 255,      /* rank of a voxel that no box holds, and of one that is not data */
    QUAD = 4,           /* coordinates that a lane fills in at a time */
    COS_SIN_BIAS = 2048 /* added to cosines and sines of axes, which makes them positive */
};
static constexpr uint32_t RANK_MASK = RANKS - 1;
static constexpr uint32_t OUTSIDE_BOX = 1u << 30; /* part that exceeds every cost of slic */
static constexpr uint32_t INFINITE_BITS = 0x7f800000u, NOT_A_NUMBER = 0x7fffffffu;
static_assert((int64_t)LOB_SLIC_LIMIT * RANKS <= OUTSIDE_BOX,
              "a cost and its rank stay below OUTSIDE_BOX");

/* Where things lie in a table entry, in words. */
template <lob_supervoxels_method M, int C, bool FLAT> struct tile_layout {
    typedef brick_shape<FLAT> S;
    static constexpr bool lsc = M == LOB_LSC;
    static constexpr int axes = FLAT ? 2 : 3;
    static constexpr int tile_bw = S::bz * S::depth; /* a tile's side along w */

    /* First the parts of costs at u, v and w: slic: whole numbers times RANKS; else floats. */
    static constexpr int coordinates = S::bx + S::by + (FLAT ? 0 : tile_bw);
    static constexpr int quads = coordinates / QUAD;

    /* Then what levels are multiplied with: slic: a factor per channel; slico: a mean per channel
     * and the factor of their contrast; lsc: two factors per channel. */
    static constexpr int factors = lsc ? 2 * C : M == LOB_SLICO ? C + 1 : C;
    static constexpr int factor = coordinates;

    /* Then what the parts are made of, the cluster, and slico's largest contrast. */
    static constexpr int centre = factor + factors;
    static constexpr int base = centre + (lsc ? 2 * axes : axes); /* slic: constant part */
    static constexpr int in_box = base + 1;                       /* bits of coordinates */
    static constexpr int id = in_box + 1, largest = id + 1;
    static constexpr int words = largest + (M == LOB_SLICO);
    static constexpr int entry = ((words + 3) / 4 | 1) * 4; /* entries start in different banks */
};

/* A warp tile, and one lane's strip of each of its bricks. */
template <lob_supervoxels_method M, int C, bool FLAT> struct warp_tile {
    static constexpr int depth = brick_shape<FLAT>::depth;
    int32_t first[3];       /* the tile's first voxel in the view */
    uint32_t strip[depth];  /* number of the strip */
    uint32_t data[depth];   /* bit j: its voxel j is data; 0 in a brick beyond the volume */
    uint4 packed[depth][C]; /* its levels */
    uint32_t by_voxel;      /* bits of bricks whose label levels lie by voxel */
};

/* A warp's part of the block's shared memory; label_offset is the lane's own. */
struct warp_shared {
    uint32_t *table;       /* max_shortlist entries */
    float2 *cos_sin;       /* lsc: cosine and sine of each coordinate of the tile */
    uint32_t *packed;      /* lsc: the same as integers: cosine | sine << 16, with COS_SIN_BIAS */
    uint4 *one_hot;        /* as cluster_sums_cuda.cuh has it, */
    uint8_t *rows;         /* its matrix's columns of levels, a row of bytes each */
    uint32_t label_offset; /* label_offset_of the lane's strip */
};

/* Keep a value in its register: the compiler would compute it again for every cluster. */
static __device__ inline void keep_in_register(int32_t *value)
{
    asm volatile("" : "+r"(*value));
}

static __device__ inline void keep_in_register(float *value)
{
    asm volatile("" : "+f"(*value));
}

/* Level j of a strip. */
static __device__ inline uint32_t level_in(const uint4 &packed, int j)
{
    const uint32_t word = j < 2 ? packed.x : j < 4 ? packed.y : j < 6 ? packed.z : packed.w;
    return j & 1 ? word >> 16 : word & 0xffff;
}

/* ---- coordinates of a tile ---- */

/* The first voxel of a tile, by its position. */
template <bool FLAT>
static __device__ inline void first_of_tile(int32_t *first, const supervoxels_params &s, uint32_t x,
                                            uint32_t y, uint32_t z)
{
    typedef brick_shape<FLAT> S;
    first[0] = s.begin[0] + (int32_t)x * S::bx;
    first[1] = s.begin[1] + (int32_t)y * S::by;
    first[2] = s.begin[2] + (int32_t)z * S::bz * S::depth;
}

/* The view's axis of part `at` of an entry. */
template <bool FLAT> static __device__ inline int axis_of(int at)
{
    typedef brick_shape<FLAT> S;
    return at < S::bx ? 0 : FLAT || at < S::bx + S::by ? 1 : 2;
}

/* Its coordinate. first: the tile's first voxel. */
template <bool FLAT>
static __device__ inline int32_t coordinate_of(const int32_t *first, int at, int axis)
{
    typedef brick_shape<FLAT> S;
    return axis == 0   ? first[0] + at
           : axis == 1 ? first[1] + at - S::bx
                       : first[2] + at - S::bx - S::by;
}

/* The value of an axis of the view, of three that belong to x, y, z. By selections, since registers
 * have no index. */
template <bool FLAT, typename T>
static __device__ inline T axis_value(const T *three, const supervoxels_params &s, int axis)
{
    const int *of = s.axis;
    const T u = !FLAT || of[0] == 0 ? three[0] : three[1];
    const T v = !FLAT || of[1] == 1 ? three[1] : three[2];
    const T w = !FLAT || of[2] == 2 ? three[2] : of[2] == 1 ? three[1] : three[0];
    return axis == 0 ? u : axis == 1 ? v : w;
}

/* lob_lsc_along of floats. */
static __device__ inline float lsc_along(float2 cos_sin, float first, float second)
{
    return fmaf(cos_sin.y, second, cos_sin.x * first);
}

/* lsc: cosines and sines of the tile's coordinates; beyond the volume those of the last voxel. */
template <int C, bool FLAT>
static __device__ inline void read_axis_cos_sin(const warp_shared &shared,
                                                const supervoxels_params &s, const int32_t *first)
{
    const int at = (int)threadIdx.x % WARP, axis = axis_of<FLAT>(at);
    if (at < tile_layout<LOB_LSC, C, FLAT>::coordinates) {
        const int32_t side = axis == 0 ? s.side[0] : axis == 1 ? s.side[1] : s.side[2];
        const lob_cos_sin *all = axis_value<FLAT>(s.axis_cos_sin, s, axis);
        const lob_cos_sin one = all[min(coordinate_of<FLAT>(first, at, axis), side - 1)];
        shared.cos_sin[at] = make_float2((float)one.cosine, (float)one.sine);
        shared.packed[at] =
            (uint32_t)(one.cosine + COS_SIN_BIAS) | (uint32_t)(one.sine + COS_SIN_BIAS) << 16;
    }
    __syncwarp();
}

} /* namespace lob::supervoxels */

#endif
