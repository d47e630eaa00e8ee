/*
 * Lines along y or z: a block reads WARP adjacent lines into shared memory, some blocks of sums
 * long, and each warp sums one of these blocks at a time. Where not even one fits,
 * long_windows_kernel reads global memory at every step.
 */
#ifndef LOB_BOX_COLUMNS_CUDA_CUH
#define LOB_BOX_COLUMNS_CUDA_CUH

#include "kernels/filters/box/box_params_cuda.cuh"

namespace lob::filters
{

/* Groups of adjacent lines: a plane's columns, or all lines along z. */
struct box_columns {
    float *out;
    const float *in;
    lob_box_pass pass;
    int64_t step;          /* from voxel to voxel of a line */
    int64_t apart;         /* from line to line of a group */
    int64_t lines, groups; /* lines of a group */
    int64_t group_step;
    int32_t tile;  /* blocks of sums that a thread block takes */
    int32_t tiles; /* of a line */
    bool fours;    /* lines come in fours whose voxels lie at multiples of 16 bytes */
};

/* Begin to read the lines' places first .. first + rows - 1: N lines a thread. */
template <int N>
static __device__ inline void read_columns(float *places, const box_columns &p, int64_t base,
                                           int64_t line, int64_t first, int rows)
{
    constexpr int ACROSS = WARP / N;
    const int column = (int)threadIdx.x % ACROSS * N;
    const bool there = line + column < p.lines;
    base += column;
    places += column;
#pragma unroll 4
    for (int j = (int)threadIdx.x / ACROSS; j < rows; j += BOX_THREADS / ACROSS) {
        const int64_t i = first + j,
                      at = i >= 0 && i < p.pass.n ? i : lob_edge_position(i, p.pass.n, p.pass.edge);
        if (at >= 0 && there)
            box_fetch<N>(places + j * WARP, p.in + base + at * p.step);
        else
            for (int k = 0; k < N; k++) places[j * WARP + k] = p.pass.outside;
    }
}

static __global__ void __launch_bounds__(BOX_THREADS) columns_kernel(const box_columns p)
{
    extern __shared__ __align__(16) double factors[];
    float *const places = (float *)(factors + box_factors(p.pass));
    const uint32_t bundles = (uint32_t)((p.lines + WARP - 1) / WARP);
    const uint32_t bundle = blockIdx.x % bundles, rest = blockIdx.x / bundles;
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int64_t line = (int64_t)bundle * WARP;
    const int64_t b0 = (int64_t)(rest % p.tiles) * p.tile;
    const int64_t base = (int64_t)(rest / p.tiles) * p.group_step + line;
    const int64_t blocks = lob_box_blocks(&p.pass), r = p.pass.radius;
    const int64_t b1 = b0 + p.tile < blocks ? b0 + p.tile : blocks;
    const int64_t first = lob_box_block_begin(&p.pass, b0) - r;
    const int rows = (int)(lob_box_block_end(&p.pass, b1 - 1) + r - first);
    box_fill_factors(factors, p.pass);
    if (p.fours)
        read_columns<4>(places, p, base, line, first, rows);
    else
        read_columns<1>(places, p, base, line, first, rows);
    box_arrived();
    if (line + lane >= p.lines) return;
    for (int64_t b = b0 + warp; b < b1; b += BOX_WARPS) {
        const int64_t begin = lob_box_block_begin(&p.pass, b);
        box_sum_block(p.out + base + lane + begin * p.step, p.step, p.pass, factors,
                      places + (begin - r - first) * WARP + lane, WARP, begin,
                      lob_box_block_end(&p.pass, b));
    }
}

/* A thread for each block of sums of each line. */
static __global__ void long_windows_kernel(const box_columns p)
{
    const int64_t blocks = lob_box_blocks(&p.pass), r = p.pass.radius;
    const int64_t all = p.groups * p.lines * blocks;
    const lob_box_pass &pass = p.pass;
    for (int64_t task = grid_first(); task < all; task += grid_step()) {
        const int64_t b = task / p.lines % blocks;
        const int64_t base = task / p.lines / blocks * p.group_step + task % p.lines * p.apart;
        const int64_t begin = lob_box_block_begin(&pass, b), end = lob_box_block_end(&pass, b);
        const auto place = [&](int64_t i) {
            const int64_t at = lob_edge_position(i, pass.n, pass.edge);
            return at < 0 ? pass.outside : p.in[base + at * p.step];
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
    const int64_t table = box_factors(p.pass) * (int64_t)sizeof(double);
    const int64_t most = ((BOX_SHARED - table) / row - around) / p.pass.block;
    const int64_t blocks = lob_box_blocks(&p.pass);
    if (most < 1 || p.apart != 1)
        return lob_launch_over(device, long_windows_kernel, "box, large windows",
                               p.groups * p.lines * blocks, 128, p, error);
    p.tiles = (int32_t)((blocks + most - 1) / most);
    p.tile = (int32_t)((blocks + p.tiles - 1) / p.tiles);
    p.fours =
        p.lines % 4 == 0 && p.group_step % 4 == 0 && p.step % 4 == 0 && (uintptr_t)p.in % 16 == 0;
    const int64_t span = p.tile * p.pass.block < p.pass.n ? p.tile * p.pass.block : p.pass.n;
    const size_t shared = (size_t)((span + around) * row + table);
    const int64_t grid = p.groups * ((p.lines + WARP - 1) / WARP) * p.tiles;
    if (grid > INT32_MAX) return lob_device_too_large(error);
    LOB_TRY(lob_allow_shared(columns_kernel, BOX_SHARED, error));
    return lob_launch(device, columns_kernel, "box along columns", grid, BOX_THREADS, shared, p,
                      error);
}

} /* namespace lob::filters */

#endif
