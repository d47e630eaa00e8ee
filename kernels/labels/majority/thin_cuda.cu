/*
 * Thin parts of label_steps.h on the GPU. Blocks take the tiles where labels were lost. For each
 * such label the voxels that are marked, those that kept it or those that are thin, are bits of
 * rows, which grow by the reach along x, y and z in turn: a lost voxel is near a marked one where
 * they cover it.
 */
#include "kernels/device/arena.cuh"
#include "kernels/labels/majority/majority_cuda.cuh"

namespace lob::labels
{

enum { ROWS_AT_ONCE = 4 }; /* that a warp reads before it looks at them */

typedef struct {
    tiled_labels v;
    int32_t reach[3];
    uint8_t *has_thin; /* of each tile */
    uint32_t *thin;    /* of each tile [TILE][TILE / 2]: a bit a voxel, two rows along x a word */
} thin_params;

/* Of a block, in dynamic shared memory: bits of TILE voxels along x. */
typedef struct {
    uint16_t *rows;    /* [TILE_WARPS][TILE + 2 reach]: of a plane, grown along x */
    uint16_t *columns; /* [TILE + 2 reach][TILE]: grown along x and y */
    uint16_t *tile;    /* [TILE][TILE]: along all axes */
} thin_memory;

static __host__ __device__ int64_t lay_out(thin_memory *t, const thin_params *p, void *memory)
{
    const int32_t rows = TILE + 2 * p->reach[1], planes = TILE + 2 * p->reach[2];
    t->rows = (uint16_t *)memory;
    t->columns = t->rows + TILE_WARPS * (rows + ROWS_AT_ONCE);
    t->tile = t->columns + planes * TILE;
    return (int64_t)sizeof *t->rows *
           (TILE_WARPS * (rows + ROWS_AT_ONCE) + planes * TILE + TILE * TILE);
}

template <typename T> static __device__ int32_t label_at(const void *labels, int64_t i)
{
    return ((const T *)labels)[i];
}

static __device__ bool is_thin(const thin_params &p, int32_t x, int32_t y, int32_t z)
{
    const int32_t tile = (z / TILE * p.v.tiles[1] + y / TILE) * p.v.tiles[0] + x / TILE;
    if (!p.has_thin[tile]) return false;
    const uint32_t word = p.thin[(tile * TILE + z % TILE) * (int64_t)(TILE / 2) + y % TILE / 2];
    return word >> (y % 2 * TILE + x % TILE) & 1;
}

/* Bits low .. high of a word; either may lie outside of it. */
static __device__ uint32_t bits_between(int32_t low, int32_t high)
{
    if (high < 0 || low >= WARP) return 0;
    const uint32_t upto = high >= WARP - 1 ? ~0u : (2u << high) - 1;
    return upto & (low > 0 ? ~0u << low : ~0u);
}

/* A warp: which voxels of a tile's rows, from one row on, have a marked one within the reach along
 * x. */
template <typename T, bool THIN>
static __device__ void grow_rows(uint16_t *rows, const thin_params &p, const int32_t first[3],
                                 int32_t row, int32_t z, int32_t label)
{
    const int lane = (int)threadIdx.x % WARP;
    uint32_t near[ROWS_AT_ONCE] = {};
    for (int32_t from = 0; from < TILE + 2 * p.reach[0]; from += WARP) {
        const int32_t x = first[0] - p.reach[0] + from + lane;
        const uint32_t reached = bits_between(lane - from, lane + 2 * p.reach[0] - from);
        bool marked[ROWS_AT_ONCE];
#pragma unroll
        for (int q = 0; q < ROWS_AT_ONCE; q++) {
            const int32_t y = first[1] - p.reach[1] + row + q;
            const int64_t i = voxel_of(p.v, x, y, z);
            marked[q] = in_volume(p.v, x, y, z) && label_at<T>(p.v.in, i) == label;
            if (marked[q])
                marked[q] = THIN ? is_thin(p, x, y, z) : label_at<T>(p.v.out, i) == label;
        }
#pragma unroll
        for (int q = 0; q < ROWS_AT_ONCE; q++)
            near[q] |= __ballot_sync(ALL_LANES, marked[q]) & reached;
    }
#pragma unroll
    for (int q = 0; q < ROWS_AT_ONCE; q++) {
        const uint32_t grown = __ballot_sync(ALL_LANES, near[q] != 0);
        if (lane == q) rows[row + q] = (uint16_t)grown;
    }
}

/* Which voxels of the tile are within the reach of a marked one of the label, into t.tile. */
template <typename T, bool THIN>
static __device__ void grow(const thin_memory &t, const thin_params &p, const int32_t first[3],
                            int32_t label)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int32_t count = TILE + 2 * p.reach[1];
    uint16_t *rows = t.rows + warp * (count + ROWS_AT_ONCE);
    for (int32_t k = warp; k < TILE + 2 * p.reach[2]; k += TILE_WARPS) {
        for (int32_t row = 0; row < count; row += ROWS_AT_ONCE)
            grow_rows<T, THIN>(rows, p, first, row, first[2] - p.reach[2] + k, label);
        __syncwarp();
        uint16_t near = 0;
        for (int32_t j = 0; j <= 2 * p.reach[1]; j++) near |= rows[lane % TILE + j];
        if (lane < TILE) t.columns[k * TILE + lane] = near;
        __syncwarp();
    }
    __syncthreads();
    const int32_t y = (int32_t)threadIdx.x % TILE, z = (int32_t)threadIdx.x / TILE;
    uint16_t near = 0;
    for (int32_t k = 0; k <= 2 * p.reach[2]; k++) near |= t.columns[(z + k) * TILE + y];
    t.tile[z * TILE + y] = near;
    __syncthreads();
}

/* The thread's column: the labels before, and which of its voxels lost theirs. */
template <typename T>
static __device__ uint32_t load_lost(int32_t label[TILE], const thin_params &p,
                                     const tile_place &tile)
{
    const int32_t inside = column_length(p.v, tile);
    uint32_t lost = 0;
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        label[i] = 0;
        if (i >= inside) continue;
        const int64_t at = voxel_of(p.v, tile.at[0], tile.at[1], tile.at[2] + i);
        label[i] = label_at<T>(p.v.in, at);
        if (label[i] != 0 && label_at<T>(p.v.out, at) != label[i]) lost |= 1u << i;
    }
    return lost;
}

/* Those of some voxels of the thread's column that are near a marked one of their label. Every
 * thread of a block calls it. */
template <typename T, bool THIN>
static __device__ uint32_t near_marked(uint32_t voxels, const int32_t label[TILE],
                                       const thin_params &p, const tile_place &tile)
{
    extern __shared__ uint32_t memory[];
    const int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE;
    uint32_t near = 0;
    thin_memory t;
    lay_out(&t, &p, memory);
    for (;;) {
        label_range range = {INT32_MAX, 0};
#pragma unroll
        for (int i = 0; i < TILE; i++)
            if (voxels >> i & 1) range.low = min(range.low, label[i]);
        const int32_t least = range_of_block(range).low;
        if (least == INT32_MAX) return near;
        grow<T, THIN>(t, p, tile.first, least);
#pragma unroll
        for (int i = 0; i < TILE; i++) {
            if (!(voxels >> i & 1) || label[i] != least) continue;
            near |= (uint32_t)(t.tile[i * TILE + y] >> x & 1) << i;
            voxels &= ~(1u << i);
        }
    }
}

template <typename T>
static __global__ void __launch_bounds__(TILE_THREADS) find_thin_kernel(thin_params p)
{
    const tile_place tile = tile_of_block(p.v);
    if (!p.v.lost[tile.number]) {
        if (threadIdx.x == 0) p.has_thin[tile.number] = 0;
        return;
    }
    int32_t label[TILE];
    const uint32_t lost = load_lost<T>(label, p, tile);
    const uint32_t thin = lost & ~near_marked<T, false>(lost, label, p, tile);
    uint32_t *words = p.thin + (int64_t)tile.number * TILE * (TILE / 2);
#pragma unroll
    for (int i = 0; i < TILE; i++) {
        const uint32_t bits = __ballot_sync(ALL_LANES, thin >> i & 1);
        if (threadIdx.x % WARP == 0) words[i * (TILE / 2) + (int)threadIdx.x / WARP] = bits;
    }
    const bool any = __syncthreads_or(thin != 0);
    if (threadIdx.x == 0) p.has_thin[tile.number] = any;
}

/* Does a tile that the reach of this one's voxels touches hold a thin voxel? */
static __device__ bool thin_tile_near(const thin_params &p, const tile_place &tile)
{
    int32_t low[3], count[3];
    for (int a = 0; a < 3; a++) {
        low[a] = max(tile.first[a] - p.reach[a], 0) / TILE;
        const int32_t last = min(tile.first[a] + TILE - 1 + p.reach[a], p.v.side[a] - 1);
        count[a] = last / TILE - low[a] + 1;
    }
    bool any = false;
    for (int32_t i = (int32_t)threadIdx.x; i < count[0] * count[1] * count[2]; i += TILE_THREADS) {
        const int32_t x = low[0] + i % count[0], y = low[1] + i / count[0] % count[1];
        const int32_t z = low[2] + i / count[0] / count[1];
        any |= p.has_thin[(z * p.v.tiles[1] + y) * p.v.tiles[0] + x] != 0;
    }
    return __syncthreads_or(any);
}

/* What is written here is not looked at by other blocks: they look at bits and at the input. */
template <typename T>
static __global__ void __launch_bounds__(TILE_THREADS) give_back_kernel(thin_params p)
{
    const tile_place tile = tile_of_block(p.v);
    if (!p.v.lost[tile.number] || !thin_tile_near(p, tile)) return;
    int32_t label[TILE];
    const uint32_t lost = load_lost<T>(label, p, tile);
    const uint32_t back = near_marked<T, true>(lost, label, p, tile);
#pragma unroll
    for (int i = 0; i < TILE; i++)
        if (back >> i & 1)
            ((T *)p.v.out)[voxel_of(p.v, tile.at[0], tile.at[1], tile.at[2] + i)] = (T)label[i];
}

/* ---- the host's part ---- */

static int64_t lay_out_work(thin_params *p, int64_t tiles, void *work)
{
    arena memory(work);
    p->has_thin = memory.take<uint8_t>(tiles);
    p->thin = memory.take<uint32_t>(tiles * TILE * (TILE / 2));
    return memory.used;
}

int64_t thin_bytes(int64_t tiles)
{
    thin_params unused;
    return lay_out_work(&unused, tiles, NULL);
}

template <typename T>
static lob_status keep_thin_of(lob_device *device, const thin_params &p, lob_error *error)
{
    thin_memory unused;
    const size_t shared = (size_t)lay_out(&unused, &p, NULL);
    const int64_t tiles = tile_count(p.v);
    LOB_TRY(lob_launch(device, find_thin_kernel<T>, "finding thin parts", tiles, TILE_THREADS,
                       shared, p, error));
    return lob_launch(device, give_back_kernel<T>, "giving thin parts back", tiles, TILE_THREADS,
                      shared, p, error);
}

lob_status keep_thin(lob_device *device, const tiled_labels &labels, lob_type type,
                     const int32_t reach[3], void *work, lob_error *error)
{
    thin_params p = {};
    p.v = labels;
    lay_out_work(&p, tile_count(labels), work);
    for (int a = 0; a < 3; a++) p.reach[a] = reach[a];
    return type == LOB_U8    ? keep_thin_of<uint8_t>(device, p, error)
           : type == LOB_I16 ? keep_thin_of<int16_t>(device, p, error)
                             : keep_thin_of<int32_t>(device, p, error);
}

} /* namespace lob::labels */
