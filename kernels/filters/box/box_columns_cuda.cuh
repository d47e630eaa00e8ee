/*
 * Lines along y or z: a block reads WARP adjacent lines into shared memory, some blocks of sums
 * long, and each warp sums one of these blocks at a time. Where not even one fits, direct_kernel
 * reads global memory at every step.
 */
#ifndef LOB_BOX_COLUMNS_CUDA_CUH
#define LOB_BOX_COLUMNS_CUDA_CUH

#include "kernels/filters/box/box_params_cuda.cuh"

namespace lob
{
namespace filters
{

/* Groups of adjacent lines: a plane's columns, or all lines along z. */
struct box_columns {
    float *out;
    box_input in;
    lob_box_pass pass;
    int64_t step;          /* from voxel to voxel of a line */
    int64_t apart;         /* from line to line of a group */
    int64_t lines, groups; /* lines of a group */
    int64_t group_step;
    int64_t tile;  /* blocks of sums that a thread block takes */
    int64_t tiles; /* of a line */
};

/* Place j of a line, which lies outside. */
static __device__ inline void fetch_outside(float *mine, const box_columns &p, int64_t base,
                                            int64_t first, int j)
{
    const int64_t at = lob_edge_position(first + j, p.pass.n, p.pass.edge);
    if (at < 0)
        mine[j * WARP] = p.pass.outside;
    else
        box_fetch(mine + j * WARP, p.in, base + at * p.step);
}

static __global__ void __launch_bounds__(BOX_THREADS) columns_kernel(const box_columns p)
{
    extern __shared__ float places[];
    const int64_t bundles = (p.lines + WARP - 1) / WARP, block = blockIdx.x;
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int64_t line = block % bundles * WARP + lane;
    const int64_t b0 = block / bundles % p.tiles * p.tile;
    const int64_t base = block / bundles / p.tiles * p.group_step + line;
    const int64_t blocks = lob_box_blocks(&p.pass), r = p.pass.radius;
    const int64_t b1 = b0 + p.tile < blocks ? b0 + p.tile : blocks;
    const int64_t first = lob_box_block_begin(&p.pass, b0) - r;
    const int rows = (int)(box_block_end(p.pass, b1 - 1) + r - first);
    const int inside = first < 0 ? (int)-first : 0;
    const int outside = first + rows > p.pass.n ? (int)(p.pass.n - first) : rows;
    float *const mine = places + lane;
    if (line < p.lines) {
        for (int j = inside + warp; j < outside; j += BOX_WARPS)
            box_fetch(mine + j * WARP, p.in, base + (first + j) * p.step);
        for (int j = warp; j < inside; j += BOX_WARPS) fetch_outside(mine, p, base, first, j);
        for (int j = outside + warp; j < rows; j += BOX_WARPS)
            fetch_outside(mine, p, base, first, j);
    }
    box_arrived();
    if (line >= p.lines) return;
    for (int64_t b = b0 + warp; b < b1; b += BOX_WARPS) {
        const int64_t begin = lob_box_block_begin(&p.pass, b);
        box_sum_block(p.out + base + begin * p.step, p.step, p.pass,
                      mine + (begin - r - first) * WARP, WARP, begin, box_block_end(p.pass, b));
    }
}

/* A thread for each block of sums of each line. */
static __global__ void direct_kernel(const box_columns p)
{
    const int64_t blocks = lob_box_blocks(&p.pass), r = p.pass.radius;
    const int64_t all = p.groups * p.lines * blocks;
    const lob_box_pass &pass = p.pass;
    for (int64_t task = grid_first(); task < all; task += grid_step()) {
        const int64_t b = task / p.lines % blocks;
        const int64_t base = task / p.lines / blocks * p.group_step + task % p.lines * p.apart;
        const int64_t begin = lob_box_block_begin(&pass, b), end = box_block_end(pass, b);
        const auto place = [&](int64_t i) {
            const int64_t at = lob_edge_position(i, pass.n, pass.edge);
            return at < 0 ? pass.outside : box_value(p.in, base + at * p.step);
        };
        double sum = 0;
        for (int64_t i = begin - r; i <= begin + r; i++) sum = sum + (double)place(i);
        for (int64_t i = begin; i < end; i++) {
            p.out[base + i * p.step] = lob_box_scaled(&pass, sum, i);
            sum = lob_box_moved(sum, place(i + r + 1), place(i - r));
        }
    }
}

/* Run a pass over groups of lines; p's tile and tiles are set here. */
static lob_status run_columns(lob_device *device, box_columns p, lob_error *error)
{
    const int64_t row = WARP * (int64_t)sizeof(float), around = 2 * p.pass.radius;
    const int64_t most = (BOX_SHARED / row - around) / p.pass.block;
    const int64_t blocks = lob_box_blocks(&p.pass);
    if (most < 1 || p.apart != 1)
        return lob_launch_over(device, direct_kernel, "box, large windows",
                               p.groups * p.lines * blocks, 128, p, error);
    p.tiles = (blocks + most - 1) / most;
    p.tile = (blocks + p.tiles - 1) / p.tiles;
    const int64_t span = p.tile * p.pass.block < p.pass.n ? p.tile * p.pass.block : p.pass.n;
    const size_t shared = (size_t)((span + around) * row);
    const int64_t grid = p.groups * ((p.lines + WARP - 1) / WARP) * p.tiles;
    if (grid > INT32_MAX) return lob_device_too_large(error);
    LOB_TRY(lob_allow_shared(columns_kernel, BOX_SHARED, error));
    return lob_launch(device, columns_kernel, "box along columns", grid, BOX_THREADS, shared, p,
                      error);
}

} /* namespace filters */
} /* namespace lob */

#endif
