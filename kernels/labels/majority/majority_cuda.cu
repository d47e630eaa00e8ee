/*
 * Tiles of the majority. A block of 16x16 threads filters a tile of 16x16x16 voxels; a thread has a
 * column along z in registers. A label goes plane by plane through the neighbourhood:
 *
 *   bits   a warp reads 32 voxels of a row; which of them hold the label is a word
 *   along x  weights of 8 bits at a time come from tables
 *   along y  a thread sums 2 radius + 1 rows for its column
 *   along z  and adds the sum to those of its 16 voxels that the plane is within reach of
 */
#include "kernels/device/arena.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/labels/majority/majority_cuda.cuh"
#include "kernels/labels/majority/majority_voxel.h"

#include <stdlib.h>
#include <string.h>

namespace lob::labels
{

enum {
    TILE = 16,
    TILE_THREADS = TILE * TILE,
    TILE_WARPS = TILE_THREADS / WARP,
    CHUNK = 8,         /* weights along x that one table holds */
    TABLE = 1 << CHUNK /* its entries: sums of weights by bits */
};

typedef struct {
    void *out;
    const void *in;
    int32_t side[3], radius[3];
    int32_t tiles[3];
    int32_t chunks; /* tables along x */
    int32_t words;  /* of a row of the neighbourhood's bits */
    bool prefers_own;
    const uint32_t *before[3]; /* sums of weights, as in lob_majority */
    const uint32_t *weight_y;  /* 2 radius + 1 */
    const uint32_t *weight_z;  /* TILE - 1 zeros, 2 radius + 1 weights, TILE - 1 zeros */
    const uint16_t *table;     /* chunks * TABLE */
} tile_params;

/* Of a block, in dynamic shared memory. */
typedef struct {
    uint16_t *table, *rows; /* rows: [TILE + 2 radius][TILE], sums along x */
    uint32_t *weight_y, *weight_z;
    uint32_t *bits; /* [TILE + 2 radius][words] */
} tile_memory;

static __host__ __device__ int64_t lay_out(tile_memory *t, const tile_params *p, void *memory)
{
    const int rows = TILE + 2 * p->radius[1], depth = 2 * p->radius[2] + 1 + 2 * (TILE - 1);
    uint32_t *at = (uint32_t *)memory;
    t->weight_y = at;
    t->weight_z = t->weight_y + rows;
    t->bits = t->weight_z + depth;
    t->rows = (uint16_t *)(t->bits + rows * p->words);
    t->table = t->rows + rows * TILE;
    return (int64_t)sizeof *at * (rows + depth + rows * p->words) +
           (int64_t)sizeof *t->rows * (rows * TILE + p->chunks * TABLE);
}

/* The neighbourhood inside the volume: low .. high, both inside. */
typedef struct {
    int32_t low[3], high[3];
} near_box;

static __device__ near_box box_around(const tile_params &p, const int32_t first[3])
{
    near_box b;
    for (int a = 0; a < 3; a++) {
        b.low[a] = max(first[a] - p.radius[a], 0);
        b.high[a] = min(first[a] + TILE - 1 + p.radius[a], p.side[a] - 1);
    }
    return b;
}

template <typename T>
static __device__ int32_t label_at(const tile_params &p, int32_t x, int32_t y, int32_t z)
{
    return ((const T *)p.in)[((int64_t)z * p.side[1] + y) * p.side[0] + x];
}

/* The least of all threads' values, in all of them; of_warp: shared memory, a word for each warp.
 */
static __device__ int32_t block_min(int32_t value, int32_t *of_warp)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    value = __reduce_min_sync(ALL_LANES, value);
    __syncthreads();
    if (lane == 0) of_warp[warp] = value;
    __syncthreads();
    return __reduce_min_sync(ALL_LANES, of_warp[lane % TILE_WARPS]);
}

/* The least and the largest label of the neighbourhood. */
template <typename T>
static __device__ void find_range(int32_t range[2], const tile_params &p, const near_box &b,
                                  int32_t *of_warp)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    int32_t low = INT32_MAX, high = 0;
    for (int32_t z = b.low[2]; z <= b.high[2]; z++)
        for (int32_t y = b.low[1] + warp; y <= b.high[1]; y += TILE_WARPS)
            for (int32_t x = b.low[0] + lane; x <= b.high[0]; x += WARP) {
                const int32_t label = label_at<T>(p, x, y, z);
                low = min(low, label);
                high = max(high, label);
            }
    range[0] = block_min(low, of_warp);
    range[1] = -block_min(-high, of_warp);
}

/* Which voxels of a plane hold the label; next: the least label above it. Returns whether this warp
 * saw it. */
template <typename T>
static __device__ bool find_bits(const tile_memory &t, const tile_params &p, const near_box &b,
                                 const int32_t first[3], int32_t z, int32_t label, int32_t *next)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int rows = TILE + 2 * p.radius[1];
    bool any = false;
    for (int row = warp; row < rows; row += TILE_WARPS) {
        const int32_t y = first[1] - p.radius[1] + row;
        const bool inside = y >= b.low[1] && y <= b.high[1];
        for (int w = 0; w < p.words; w++) {
            const int32_t x = first[0] - p.radius[0] + w * WARP + lane;
            int32_t here = -1;
            if (inside && x >= b.low[0] && x <= b.high[0]) here = label_at<T>(p, x, y, z);
            if (here > label) *next = min(*next, here);
            const uint32_t bits = __ballot_sync(ALL_LANES, here == label);
            if (lane == 0) t.bits[row * p.words + w] = bits;
            any |= bits != 0;
        }
    }
    return any;
}

/* Sums along x of each row and column of the tile. */
static __device__ void sum_along_x(const tile_memory &t, const tile_params &p)
{
    const int n = (TILE + 2 * p.radius[1]) * TILE;
    for (int i = (int)threadIdx.x; i < n; i += TILE_THREADS) {
        const uint32_t *bits = t.bits + i / TILE * p.words;
        uint32_t sum = 0;
        for (int c = 0, at = i % TILE; c < p.chunks; c++, at += CHUNK) {
            const int w = at / WARP;
            const uint32_t high = w + 1 < p.words ? bits[w + 1] : 0;
            const uint32_t window = __funnelshift_r(bits[w], high, at % WARP);
            sum += t.table[c * TABLE + (window & (TABLE - 1))];
        }
        t.rows[i] = (uint16_t)sum;
    }
}

/* The label's weight at the thread's voxels; returns the least label above it. */
template <typename T>
static __device__ int32_t sum_label(uint32_t sum[TILE], const tile_memory &t, const tile_params &p,
                                    const near_box &b, const int32_t first[3], int32_t label)
{
    const int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE;
    int32_t next = INT32_MAX;
#pragma unroll
    for (int i = 0; i < TILE; i++) sum[i] = 0;
    for (int32_t z = b.low[2]; z <= b.high[2]; z++) {
        const bool any = find_bits<T>(t, p, b, first, z, label, &next);
        if (!__syncthreads_or(any)) continue;
        sum_along_x(t, p);
        __syncthreads();
        uint32_t plane = 0;
        for (int k = 0; k <= 2 * p.radius[1]; k++)
            plane += t.weight_y[k] * t.rows[(y + k) * TILE + x];
        const uint32_t *weight = t.weight_z + z - first[2] + p.radius[2] + TILE - 1;
#pragma unroll
        for (int i = 0; i < TILE; i++) sum[i] += weight[-i] * plane;
    }
    return next;
}

/* The best label so far of the thread's voxels. */
typedef struct {
    uint32_t left[TILE], best[TILE];
    int32_t label[TILE];
    int32_t inside; /* so many of them lie in the volume, and come first */
} column;

/* Let a label compete; with `last`, all that is left is its. Returns whether a voxel may change. */
template <typename T>
static __device__ bool compete(column &c, const uint32_t sum[TILE], bool last, int32_t label,
                               const tile_params &p, const int32_t at[3])
{
    bool open = false;
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        const uint32_t weight = last ? c.left[i] : sum[i];
        const bool own = p.prefers_own && i < c.inside && c.left[i] > 0 &&
                         label_at<T>(p, at[0], at[1], at[2] + i) == label;
        const uint32_t key = lob_majority_key(weight, own);
        if (key > c.best[i]) {
            c.best[i] = key;
            c.label[i] = label;
        }
        c.left[i] -= weight;
        open |= i < c.inside && lob_majority_open(c.left[i], c.best[i], p.prefers_own);
    }
    return open;
}

template <typename T>
static __device__ void write_column(const tile_params &p, const int32_t at[3],
                                    const int32_t label[TILE])
{
    if (at[0] >= p.side[0] || at[1] >= p.side[1]) return;
    const int64_t plane = (int64_t)p.side[0] * p.side[1];
    T *out = (T *)p.out + at[2] * plane + (int64_t)at[1] * p.side[0] + at[0];
#pragma unroll
    for (int i = 0; i < TILE; i++)
        if (at[2] + i < p.side[2]) out[i * plane] = (T)label[i];
}

template <typename T>
static __global__ void __launch_bounds__(TILE_THREADS, 2) tile_kernel(tile_params p)
{
    extern __shared__ uint32_t memory[];
    __shared__ int32_t of_warp[TILE_WARPS];
    const int32_t tile = (int32_t)blockIdx.x;
    const int32_t first[3] = {tile % p.tiles[0] * TILE, tile / p.tiles[0] % p.tiles[1] * TILE,
                              tile / p.tiles[0] / p.tiles[1] * TILE};
    const int32_t at[3] = {first[0] + (int32_t)threadIdx.x % TILE,
                           first[1] + (int32_t)threadIdx.x / TILE, first[2]};
    const near_box b = box_around(p, first);
    int32_t range[2];
    column c;
    find_range<T>(range, p, b, of_warp);
    if (range[0] == range[1]) {
#pragma unroll
        for (int i = 0; i < TILE; i++) c.label[i] = range[0];
        write_column<T>(p, at, c.label);
        return;
    }

    tile_memory t;
    lay_out(&t, &p, memory);
    for (int i = (int)threadIdx.x; i < p.chunks * TABLE; i += TILE_THREADS) t.table[i] = p.table[i];
    for (int i = (int)threadIdx.x; i <= 2 * p.radius[1]; i += TILE_THREADS)
        t.weight_y[i] = p.weight_y[i];
    for (int i = (int)threadIdx.x; i <= 2 * (p.radius[2] + TILE - 1); i += TILE_THREADS)
        t.weight_z[i] = p.weight_z[i];
    c.inside = at[0] < p.side[0] && at[1] < p.side[1] ? min(TILE, p.side[2] - at[2]) : 0;
    const uint32_t across = lob_majority_inside(p.before[0], p.radius[0], at[0], p.side[0]) *
                            lob_majority_inside(p.before[1], p.radius[1], at[1], p.side[1]);
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        c.left[i] = across * lob_majority_inside(p.before[2], p.radius[2], first[2] + i, p.side[2]);
        c.best[i] = 0;
        c.label[i] = 0;
    }
    for (int32_t label = range[0];;) { /* the first barrier is in sum_label, before t is read */
        uint32_t sum[TILE] = {};
        int32_t next = 0;
        if (label < range[1]) next = sum_label<T>(sum, t, p, b, first, label);
        const bool open = compete<T>(c, sum, label == range[1], label, p, at);
        if (label == range[1] || !__syncthreads_or(open)) break;
        label = block_min(next, of_warp);
    }
    write_column<T>(p, at, c.label);
}

/* ---- the host's part ---- */

/* Weights and tables in one block that is uploaded at once. */
typedef struct {
    uint32_t *before[3], *weight_y, *weight_z;
    uint16_t *table;
} weight_tables;

static int chunks_of(const lob_majority *m)
{
    return (2 * m->radius[0] + CHUNK) / CHUNK;
}

static int64_t lay_out_weights(weight_tables *w, const lob_majority *m, void *block)
{
    arena memory(block);
    for (int a = 0; a < 3; a++) w->before[a] = memory.take<uint32_t>(2 * m->radius[a] + 2);
    w->weight_y = memory.take<uint32_t>(2 * m->radius[1] + 1);
    w->weight_z = memory.take<uint32_t>(2 * (m->radius[2] + TILE - 1) + 1);
    w->table = memory.take<uint16_t>((int64_t)chunks_of(m) * TABLE);
    return memory.used;
}

static void fill_weights(const weight_tables *w, const lob_majority *m)
{
    for (int a = 0; a < 3; a++)
        memcpy(w->before[a], m->before[a], (size_t)(2 * m->radius[a] + 2) * sizeof *w->before[a]);
    memcpy(w->weight_y, m->weight[1], (size_t)(2 * m->radius[1] + 1) * sizeof *w->weight_y);
    memcpy(w->weight_z + TILE - 1, m->weight[2],
           (size_t)(2 * m->radius[2] + 1) * sizeof *w->weight_z);
    for (int i = 0; i < chunks_of(m) * TABLE; i++) {
        uint32_t sum = 0;
        for (int bit = 0; bit < CHUNK; bit++) {
            const int k = i / TABLE * CHUNK + bit;
            if (i >> bit & 1 && k <= 2 * m->radius[0]) sum += m->weight[0][k];
        }
        w->table[i] = (uint16_t)sum;
    }
}

/* Upload the tables and point the parameters at them. */
static lob_status send_weights(tile_params *p, lob_device *device, const lob_majority *m,
                               void *work, lob_error *error)
{
    weight_tables there, here;
    const int64_t bytes = lay_out_weights(&there, m, work);
    void *block = calloc(1, (size_t)bytes);
    if (!block) return lob_fail(error, LOB_ENOMEM, "no memory for weights");
    lay_out_weights(&here, m, block);
    fill_weights(&here, m);
    const lob_status st = lob_device_upload(device, work, block, bytes, error);
    free(block);
    for (int a = 0; a < 3; a++) p->before[a] = there.before[a];
    p->weight_y = there.weight_y;
    p->weight_z = there.weight_z;
    p->table = there.table;
    return st;
}

template <typename T>
static lob_status filter_tiles(lob_device *device, const tile_params &p, lob_error *error)
{
    tile_memory unused;
    const size_t shared = (size_t)lay_out(&unused, &p, NULL);
    LOB_TRY(lob_allow_shared(tile_kernel<T>, shared, error));
    return lob_launch(device, tile_kernel<T>, "the majority of labels",
                      (int64_t)p.tiles[0] * p.tiles[1] * p.tiles[2], TILE_THREADS, shared, p,
                      error);
}

int64_t majority_bytes(lob_dims dims, const lob_majority *m)
{
    weight_tables unused;
    const int64_t weights = lay_out_weights(&unused, m, NULL);
    return weights + (m->keeps_thin ? thin_bytes(dims) : 0);
}

lob_status majority(lob_device *device, void *out, const void *in, lob_type type, lob_dims dims,
                    const lob_majority *m, void *work, lob_error *error)
{
    weight_tables unused;
    tile_params p = {};
    p.out = out;
    p.in = in;
    for (int a = 0; a < 3; a++) {
        p.side[a] = (int32_t)lob_side(dims, a);
        p.radius[a] = m->radius[a];
        p.tiles[a] = (p.side[a] + TILE - 1) / TILE;
    }
    if (lob_product(p.tiles[0], p.tiles[1], p.tiles[2], 1) > INT32_MAX)
        return lob_device_too_large(error);
    p.prefers_own = m->prefers_own;
    p.chunks = chunks_of(m);
    p.words = (TILE + 2 * m->radius[0] + WARP - 1) / WARP;
    LOB_TRY(send_weights(&p, device, m, work, error));
    LOB_TRY(type == LOB_U8    ? filter_tiles<uint8_t>(device, p, error)
            : type == LOB_I16 ? filter_tiles<int16_t>(device, p, error)
                              : filter_tiles<int32_t>(device, p, error));
    if (!m->keeps_thin) return LOB_OK;
    return keep_thin(device, out, in, type, dims, m->reach,
                     (unsigned char *)work + lay_out_weights(&unused, m, NULL), error);
}

} /* namespace lob::labels */
