/* How many voxels a piece has in a tile, the sums of their positions, and which columns, rows and
 * slices of the tile hold any. */
#ifndef LOB_POSITION_SUMS_CUDA_CUH
#define LOB_POSITION_SUMS_CUDA_CUH

#include "kernels/components/measure/measure_params_cuda.cuh"

namespace lob::components
{

/*
 * Where along y and z a piece's voxels are in the tile: a bit per position where a tile is short
 * enough, else spans. A word holds both axes, in halves, where merged rows are rows; otherwise each
 * axis has a word.
 */
template <typename K> struct marks {
    static constexpr bool both = K::rows == 1;
    static constexpr int words = both ? 1 : 2, axis_bits = both ? WORD / 2 : WORD;
    static constexpr uint32_t last = 0xff; /* of a byte: spans that share a word have two each */
    bool bits;

    /* The two logarithms add up to 2 * TILE_SIDE_BITS, so one gives the other. */
    __device__ explicit marks(const join_params &p) : bits(p.tile_y_bits == TILE_SIDE_BITS)
    {
        static_assert(
            K::merge_y << TILE_SIDE_BITS <= axis_bits && K::merge_z << TILE_SIDE_BITS <= axis_bits,
            "a tile of as many merged rows along y as along z has a bit for each position");
        static_assert(!both || TILE_MROWS <= last + 1, "a position in other tiles is a byte");
    }

    /* Of a position and the next one those with a voxel: bit 0, bit 1 of which. */
    __device__ uint32_t of_axis(uint32_t first, uint32_t which) const
    {
        return bits ? which << first : span_of(first + (which == 2), first + which / 2);
    }

    __device__ void set(uint32_t mark[words], uint32_t y, uint32_t which_y, uint32_t z,
                        uint32_t which_z) const
    {
        if constexpr (both) {
            mark[0] = bits ? 1u << y | 1u << axis_bits << z
                           : (last - y) << 8 | y | (last - z) << 24 | z << 16;
        } else {
            mark[0] = of_axis(y, which_y);
            mark[1] = of_axis(z, which_z);
        }
    }

    __device__ uint32_t join(uint32_t a, uint32_t b) const
    {
        return bits ? a | b : both ? __vmaxu4(a, b) : __vmaxu2(a, b);
    }

    /* Reads before it writes: most runs of a large piece widen nothing. */
    __device__ void add(uint32_t *to, uint32_t mark) const
    {
        if (bits) {
            atomicOr(to, mark);
            return;
        }
        uint32_t there = *(volatile uint32_t *)to;
        for (;;) {
            const uint32_t wider = join(there, mark);
            if (wider == there) return;
            const uint32_t seen = atomicCAS(to, there, wider);
            if (seen == there) return;
            there = seen;
        }
    }

    /* All lanes together. */
    __device__ uint32_t of_warp(uint32_t mark) const
    {
        if (bits) return __reduce_or_sync(ALL_LANES, mark);
        for (int apart = WARP / 2; apart > 0; apart /= 2)
            mark = join(mark, __shfl_xor_sync(ALL_LANES, mark, apart));
        return mark;
    }

    /* axis: 0 is y, 1 is z */
    __device__ uint32_t span(const uint32_t mark[words], int axis) const
    {
        const uint32_t its = both ? mark[0] >> axis * axis_bits & 0xffff : mark[axis];
        if (bits) return span_of((uint32_t)lowest_bit(its), 31 - (uint32_t)__clz((int)its));
        return both ? span_of(last - (its >> 8), its & last) : its;
    }
};

/* Sums of positions in the tile. */
template <typename K> struct position_sums {
    uint32_t voxels, sum[3];
    uint32_t columns[TILE_WORDS]; /* bit x: has a voxel there */
    uint32_t mark[marks<K>::words];
};

template <typename K>
static __device__ inline void add_positions(const join_params &p, position_sums<K> *to,
                                            const position_sums<K> &s)
{
    to->voxels += s.voxels;
#pragma unroll
    for (int a = 0; a < 3; a++) to->sum[a] += s.sum[a];
#pragma unroll
    for (int i = 0; i < TILE_WORDS; i++) to->columns[i] |= s.columns[i];
#pragma unroll
    for (int i = 0; i < marks<K>::words; i++)
        to->mark[i] = marks<K>(p).join(to->mark[i], s.mark[i]);
}

/* Over all lanes of a warp, which call this together. */
template <typename K>
static __device__ inline position_sums<K> warp_positions(const join_params &p,
                                                         const position_sums<K> &s)
{
    position_sums<K> all;
    all.voxels = __reduce_add_sync(ALL_LANES, s.voxels);
#pragma unroll
    for (int a = 0; a < 3; a++) all.sum[a] = __reduce_add_sync(ALL_LANES, s.sum[a]);
#pragma unroll
    for (int i = 0; i < TILE_WORDS; i++) all.columns[i] = __reduce_or_sync(ALL_LANES, s.columns[i]);
#pragma unroll
    for (int i = 0; i < marks<K>::words; i++) all.mark[i] = marks<K>(p).of_warp(s.mark[i]);
    return all;
}

/* The sum of the positions of the bits of two words. __popc is slow, so each counts bits of both
 * words: those of one at positions with bit k set, those of the other at positions without. */
static __device__ inline uint32_t sum_of_bits(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < 5; k++) {
        const uint32_t with = k == 0   ? 0xaaaaaaaau
                              : k == 1 ? 0xccccccccu
                              : k == 2 ? 0xf0f0f0f0u
                              : k == 3 ? 0xff00ff00u
                                       : 0xffff0000u;
        sum += (uint32_t)__popc((a & with) | (b >> (1 << k) & ~with)) << k;
    }
    return sum;
}

} /* namespace lob::components */

#endif
