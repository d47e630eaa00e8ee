/*
 * Medians of 3x3x3 and 3x3 places through the network of median_network.h.
 *
 * A thread keeps one word of a row, which is one voxel of 32 bits or more or two narrower ones, in
 * two adjacent rows, and goes through planes. Lines of three along x are sorted once for both rows'
 * nines, pairs of nines are merged once for two planes. Nothing is exchanged between threads: what
 * neighbours read again comes from the caches. Threads read the nearest voxel for places outside;
 * where the edge is constant, or nothing, border_kernel computes the outermost voxels afterwards.
 */
#ifndef LOB_MEDIAN_NETWORK_CUDA_CUH
#define LOB_MEDIAN_NETWORK_CUDA_CUH

#include "kernels/filters/median/median_network.h"
#include "kernels/filters/median/median_params_cuda.cuh"

namespace lob::filters
{

/* ---- words ---- */

/* One voxel, compared by min and max. Of reals these put -0 below +0, as keys do. */
template <typename T> struct wide_word {
    using word = T;
    enum { VOXELS = 1 };

    /* The words before, at and after positions x[1] of a row. */
    static __device__ void load(word w[3], const T *row, const int64_t x[4])
    {
        for (int i = 0; i < 3; i++) w[i] = row[x[i]];
    }
    static __device__ void store(T *to, word w, bool)
    {
        to[0] = w;
    }
    static __device__ word low(word a, word b)
    {
        return min(a, b);
    }
    static __device__ word high(word a, word b)
    {
        return max(a, b);
    }
};

/* Two voxels of at most 16 bits. */
template <typename T, bool SIGNED> struct narrow_word {
    using word = uint32_t;
    enum { VOXELS = 2 };

    static __device__ void load(word w[3], const T *row, const int64_t x[4])
    {
        uint32_t v[4];
        for (int i = 0; i < 4; i++) v[i] = (uint32_t)row[x[i]];
        for (int i = 0; i < 3; i++) w[i] = __byte_perm(v[i], v[i + 1], 0x5410);
    }
    static __device__ void store(T *to, word w, bool both)
    {
        to[0] = (T)(w & 0xffffu);
        if (both) to[1] = (T)(w >> 16);
    }
    static __device__ word low(word a, word b)
    {
        return SIGNED ? __vmins2(a, b) : __vminu2(a, b);
    }
    static __device__ word high(word a, word b)
    {
        return SIGNED ? __vmaxs2(a, b) : __vmaxu2(a, b);
    }
};

template <typename T> struct word_of : wide_word<T> {
};
template <> struct word_of<uint8_t> : narrow_word<uint8_t, false> {
};
template <> struct word_of<int8_t> : narrow_word<int8_t, true> {
};
template <> struct word_of<uint16_t> : narrow_word<uint16_t, false> {
};
template <> struct word_of<int16_t> : narrow_word<int16_t, true> {
};

/* ---- the network on words ---- */

#define COMPARE(i, j)                                  \
    {                                                  \
        const word a_ = v[i], b_ = v[j];               \
        v[i] = W::low(a_, b_), v[j] = W::high(a_, b_); \
    }
#define KEEP_NINE(k, place) nine[k] = v[place];
#define KEEP_TEN(k, place)  ten[k] = v[place];
#define PICK(i, j)          least = W::low(least, W::high(ten[i], nine[j]));

template <typename W> struct network {
    using word = typename W::word;

    static __device__ void sort_line(word v[3])
    {
        LOB_SORT_3(COMPARE, 0, 1, 2)
    }
    /* v: a sorted line in 0..2, another in 3..5; afterwards both, in the order of LOB_MERGE_3_3. */
    static __device__ void merge_lines(word v[9])
    {
        LOB_MERGE_3_3(COMPARE)
    }
    /* v: merged lines, and a third line in 6..8. */
    static __device__ void merge_third(word nine[9], word v[9])
    {
        LOB_MERGE_6_3(COMPARE)
        LOB_NINE_ORDER(KEEP_NINE)
    }
    static __device__ void merge_nines(word ten[10], const word one[9], const word other[9])
    {
        word v[18];
        for (int k = 0; k < 9; k++) v[k] = one[k], v[9 + k] = other[k];
        LOB_MERGE_9_9(COMPARE)
        LOB_TEN_ORDER(KEEP_TEN)
    }
    static __device__ word pick(const word ten[10], const word nine[9])
    {
        word least = ten[9];
        LOB_PICK(PICK)
        return least;
    }
};

#undef COMPARE
#undef KEEP_NINE
#undef KEEP_TEN
#undef PICK

/* ---- kernels ---- */

enum {
    NETWORK_WARPS = 8,   /* of a block; each has two rows */
    NETWORK_PLANES = 32, /* that a thread goes through; even */
    NETWORK_THREADS = NETWORK_WARPS * WARP
};

/* The places of a thread in its image. */
struct network_place {
    int64_t x[4];   /* positions of the words' voxels and of those beside them */
    int64_t row[4]; /* offsets of the row before, of its two rows, and of the row after */
};

/* The nines of both rows in plane i, which may lie outside. */
template <typename T>
static __device__ inline void read_nines(typename word_of<T>::word nine[2][9],
                                         const median_params<T> &p, const network_place &place,
                                         lob_edge edge, int64_t i)
{
    using N = network<word_of<T>>;
    typename word_of<T>::word line[4][3], pair[9], v[9];
    const T *const plane = p.in + lob_edge_position(i, p.axes.n[2], edge) * p.axes.stride[2];
#pragma unroll
    for (int r = 0; r < 4; r++) word_of<T>::load(line[r], plane + place.row[r], place.x);
#pragma unroll
    for (int r = 0; r < 4; r++) N::sort_line(line[r]);
#pragma unroll
    for (int k = 0; k < 3; k++) pair[k] = line[1][k], pair[3 + k] = line[2][k];
    N::merge_lines(pair);
#pragma unroll
    for (int r = 0; r < 2; r++) {
#pragma unroll
        for (int k = 0; k < 6; k++) v[k] = pair[k];
#pragma unroll
        for (int k = 0; k < 3; k++) v[6 + k] = line[3 * r][k];
        N::merge_third(nine[r], v);
    }
}

/* FLAT: the neighbourhood is 3x3, along the first two axes. */
template <typename T, bool FLAT>
static __global__ void __launch_bounds__(NETWORK_THREADS, 2)
    network_kernel(const median_params<T> p)
{
    using W = word_of<T>;
    using N = network<W>;
    using word = typename W::word;
    const int64_t *n = p.axes.n, *stride = p.axes.stride;
    const int64_t across = (n[0] + WARP * W::VOXELS - 1) / (WARP * W::VOXELS);
    const int64_t down = (n[1] + 2 * NETWORK_WARPS - 1) / (2 * NETWORK_WARPS);
    const int64_t block = blockIdx.x;
    const int64_t x = (block % across * WARP + threadIdx.x % WARP) * W::VOXELS;
    const int64_t y = (block / across % down * NETWORK_WARPS + threadIdx.x / WARP) * 2;
    const int64_t from = block / across / down * NETWORK_PLANES;
    const int64_t end = from + NETWORK_PLANES < n[2] ? from + NETWORK_PLANES : n[2];
    if (x >= n[0] || y >= n[1]) return;
    const bool both = x + 1 < n[0], second = y + 1 < n[1];
    const lob_edge edge =
        p.edge == LOB_EDGE_RENORMALISE || p.edge == LOB_EDGE_CONSTANT ? LOB_EDGE_NEAREST : p.edge;
    network_place place;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        place.x[i] = lob_edge_position(x + i - 1, n[0], edge);
        place.row[i] = lob_edge_position(y + i - 1, n[1], edge) * stride[1];
    }
    T *const out = p.out + y * stride[1] + x;

    if (FLAT) {
        word nine[2][9];
        for (int64_t z = from; z < end; z++) {
            read_nines(nine, p, place, edge, z);
            W::store(out + z * stride[2], nine[0][4], both);
            if (second) W::store(out + z * stride[2] + stride[1], nine[1][4], both);
        }
        return;
    }
    word before[2][9], at[2][9], next[2][9], ten[2][10];
    read_nines(before, p, place, edge, from - 1);
    read_nines(at, p, place, edge, from);
    for (int64_t z = from; z < end; z += 2) {
        T *const to = out + z * stride[2];
        read_nines(next, p, place, edge, z + 1);
#pragma unroll
        for (int r = 0; r < 2; r++) N::merge_nines(ten[r], at[r], next[r]);
        W::store(to, N::pick(ten[0], before[0]), both);
        if (second) W::store(to + stride[1], N::pick(ten[1], before[1]), both);
        read_nines(at, p, place, edge, z + 2);
        if (z + 1 < end) {
            W::store(to + stride[2], N::pick(ten[0], at[0]), both);
            if (second) W::store(to + stride[2] + stride[1], N::pick(ten[1], at[1]), both);
        }
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int k = 0; k < 9; k++) before[r][k] = next[r][k];
    }
}

/* Voxels of the two faces across an axis. */
static __host__ __device__ inline int64_t faces_of(const median_axes &axes, int axis)
{
    return axes.radius[axis] == 0 ? 0 : 2 * axes.n[(axis + 1) % 3] * axes.n[(axis + 2) % 3];
}

/* The position of voxel number i of the faces; voxels at edges are in several faces. */
static __device__ inline void face_voxel(int64_t at[3], const median_axes &axes, int64_t i)
{
    int axis = 2;
    while (axis > 0 && i >= faces_of(axes, axis)) i -= faces_of(axes, axis--);
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
    at[u] = i % axes.n[u];
    at[v] = i / axes.n[u] % axes.n[v];
    at[axis] = i / axes.n[u] / axes.n[v] ? axes.n[axis] - 1 : 0;
}

/* The median of the 27 places around one voxel; where fewer hold data the rest is filled with the
 * least and the largest key, so many of each that the 14th of all is the median of the data. */
template <typename T>
static __device__ inline void median_of_border(const median_params<T> &p, const int64_t at[3])
{
    using key = typename voxel_key<T>::key;
    using N = network<wide_word<key>>;
    const bool constant = p.edge == LOB_EDGE_CONSTANT;
    int data = 1;
    for (int a = 0; a < 3; a++)
        if (p.axes.radius[a] > 0 && !constant)
            data *= 3 - (at[a] == 0) - (at[a] == p.axes.n[a] - 1);
        else if (p.axes.radius[a] > 0)
            data *= 3;
    int least = 14 - (int)lob_median_rank(data);
    key nine[3][9], ten[10];
#pragma unroll
    for (int z = 0; z < 3; z++) {
        key v[9];
#pragma unroll
        for (int k = 0; k < 9; k++) {
            const int off[3] = {k % 3 - 1, k / 3 - 1, z - 1};
            bool none = false, outside = false;
            int64_t i = 0;
            for (int a = 0; a < 3; a++) {
                const int64_t here = at[a] + off[a];
                none = none || (off[a] != 0 && p.axes.radius[a] == 0);
                outside = outside || here < 0 || here >= p.axes.n[a];
                i += here * p.axes.stride[a];
            }
            if (none || (outside && !constant))
                v[k] = least-- > 0 ? 0 : voxel_key<T>::MOST;
            else
                v[k] = voxel_key<T>::of(outside ? p.edge_value : p.in[i]);
        }
        for (int r = 0; r < 3; r++) N::sort_line(v + 3 * r);
        N::merge_lines(v);
        N::merge_third(nine[z], v);
    }
    N::merge_nines(ten, nine[0], nine[1]);
    const int64_t i =
        at[0] * p.axes.stride[0] + at[1] * p.axes.stride[1] + at[2] * p.axes.stride[2];
    p.out[i] = voxel_key<T>::back(N::pick(ten, nine[2]));
}

template <typename T> static __global__ void border_kernel(const median_params<T> p)
{
    const int64_t all = faces_of(p.axes, 0) + faces_of(p.axes, 1) + faces_of(p.axes, 2);
    for (int64_t i = grid_first(); i < all; i += grid_step()) {
        int64_t at[3];
        face_voxel(at, p.axes, i);
        median_of_border(p, at);
    }
}

/* Whether a neighbourhood is one of the network's; afterwards a flat one lies along the first two
 * axes. */
static inline bool network_axes(median_axes *axes)
{
    const int64_t *r = axes->radius;
    if (r[0] != 1 || r[1] > 1 || r[2] > 1 || r[1] + r[2] == 0) return false;
    if (r[1] == 0) {
        const median_axes was = *axes;
        for (int a = 1; a < 3; a++) {
            axes->n[a] = was.n[3 - a];
            axes->stride[a] = was.stride[3 - a];
            axes->radius[a] = was.radius[3 - a];
        }
    }
    return true;
}

template <typename T>
static lob_status run_network(lob_device *device, const median_params<T> &p, lob_error *error)
{
    const int64_t *n = p.axes.n, wide = WARP * word_of<T>::VOXELS;
    const int64_t blocks = (n[0] + wide - 1) / wide *
                           ((n[1] + 2 * NETWORK_WARPS - 1) / (2 * NETWORK_WARPS)) *
                           ((n[2] + NETWORK_PLANES - 1) / NETWORK_PLANES);
    if (blocks > INT32_MAX) return lob_device_too_large(error);
    LOB_TRY(lob_launch(device,
                       p.axes.radius[2] ? network_kernel<T, false> : network_kernel<T, true>,
                       "median", blocks, NETWORK_THREADS, 0, p, error));
    if (p.edge != LOB_EDGE_RENORMALISE && p.edge != LOB_EDGE_CONSTANT) return LOB_OK;
    const int64_t faces = faces_of(p.axes, 0) + faces_of(p.axes, 1) + faces_of(p.axes, 2);
    return lob_launch_over(device, border_kernel<T>, "median at the border", faces, 128, p, error);
}

} /* namespace lob::filters */

#endif
