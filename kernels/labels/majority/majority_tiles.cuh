/* Tiles of labels, as the majority and its thin parts go through them: a thread block takes one. */
#ifndef LOB_MAJORITY_TILES_CUH
#define LOB_MAJORITY_TILES_CUH

#include "kernels/device/grid.cuh"
#include "volumes/volume.h"

namespace lob::labels
{

/* Tiles have TILE voxels along each axis; a thread has a column of them along z. */
enum { TILE = 16, TILE_THREADS = TILE * TILE, TILE_WARPS = TILE_THREADS / WARP };

typedef struct {
    void *out;
    const void *in;
    int32_t side[3], tiles[3];
    uint8_t *lost; /* of each tile: 1 where a voxel lost its label; NULL: nobody asks */
} tiled_labels;

static inline int64_t tile_count(const tiled_labels &v)
{
    return (int64_t)v.tiles[0] * v.tiles[1] * v.tiles[2];
}

/* The tile of this block, its first voxel, and the first voxel of this thread's column. */
typedef struct {
    int32_t number, first[3], at[3];
} tile_place;

static __device__ inline tile_place tile_of_block(const tiled_labels &v)
{
    tile_place t;
    int32_t rest = t.number = (int32_t)blockIdx.x;
    for (int a = 0; a < 3; a++) {
        t.first[a] = rest % v.tiles[a] * TILE;
        rest /= v.tiles[a];
    }
    t.at[0] = t.first[0] + (int32_t)threadIdx.x % TILE;
    t.at[1] = t.first[1] + (int32_t)threadIdx.x / TILE;
    t.at[2] = t.first[2];
    return t;
}

/* Voxels of the thread's column that lie in the volume; they come first. */
static __device__ inline int32_t column_length(const tiled_labels &v, const tile_place &t)
{
    return t.at[0] < v.side[0] && t.at[1] < v.side[1] ? min(TILE, v.side[2] - t.at[2]) : 0;
}

static __device__ inline int64_t voxel_of(const tiled_labels &v, int32_t x, int32_t y, int32_t z)
{
    return ((int64_t)z * v.side[1] + y) * v.side[0] + x;
}

static __device__ inline bool in_volume(const tiled_labels &v, int32_t x, int32_t y, int32_t z)
{
    return x >= 0 && x < v.side[0] && y >= 0 && y < v.side[1] && z >= 0 && z < v.side[2];
}

/* The least and the largest value. */
typedef struct {
    int32_t low, high;
} label_range;

/* The range over all of a block's threads, in all of them. Begins with a barrier. */
static __device__ inline label_range range_of_block(label_range mine)
{
    __shared__ label_range of_warp[TILE_WARPS];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    mine.low = __reduce_min_sync(ALL_LANES, mine.low);
    mine.high = __reduce_max_sync(ALL_LANES, mine.high);
    __syncthreads();
    if (lane == 0) of_warp[warp] = mine;
    __syncthreads();
    const label_range its = of_warp[lane % TILE_WARPS];
    return {__reduce_min_sync(ALL_LANES, its.low), __reduce_max_sync(ALL_LANES, its.high)};
}

} /* namespace lob::labels */

#endif
