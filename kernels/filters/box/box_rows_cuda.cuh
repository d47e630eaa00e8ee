/*
 * Lines along x, and lines along x whose means go on along y without leaving shared memory.
 *
 * A block takes a tile: some blocks of sums along x and along y, with the rows around that windows
 * along y reach. Of lines along x alone y has radius 0, and all rows of the volume are one plane.
 * Rows lie in shared memory at an odd pitch, so that the lanes of a warp, which sum different rows,
 * use different banks.
 *
 * With GAPS a tile gives sums of data and then, by the same places, sums of their weights. What the
 * mask leaves out becomes NaN in shared memory, and so does what is outside where nothing is read.
 */
#ifndef LOB_BOX_ROWS_CUDA_CUH
#define LOB_BOX_ROWS_CUDA_CUH

#include "kernels/filters/box/box_params_cuda.cuh"

namespace lob::filters
{

struct box_rows {
    float *out;
    const float *in;
    lob_box_pass x, y;
    int64_t planes;
    int32_t tile_x, tiles_x;       /* blocks of sums that a thread block takes; of a row */
    int32_t tile_y, tiles_y;       /* the same along y */
    int places_pitch, means_pitch; /* from row to row in shared memory, in floats */
    int most_rows;                 /* of a tile, those around too */
    int64_t shared;                /* bytes of shared memory */
    /* With GAPS; x and y are those of sums of data. */
    float *weights;         /* NULL: without */
    const uint8_t *mask;    /* may be NULL */
    float weight_outside_y; /* of x: 1 where x.outside is a number */
};

enum { BOX_TILE_X = 128, BOX_TILE_Y = 64, ROWS_COLUMNS_THREADS = 512 };

/* The part of a tile that a block reads and sums: rows that begin at voxels of the input. */
struct box_tile {
    int64_t first;      /* along x: where the first window begins */
    int64_t begin, end; /* voxels along x that come out */
    int64_t b0, b1;     /* their blocks of sums */
    int rows;
};

static __device__ inline box_tile tile_of(const box_rows &p, uint32_t number)
{
    const int64_t blocks = lob_box_blocks(&p.x);
    box_tile t;
    t.b0 = (int64_t)number * p.tile_x;
    t.b1 = t.b0 + p.tile_x < blocks ? t.b0 + p.tile_x : blocks;
    t.begin = lob_box_block_begin(&p.x, t.b0);
    t.end = lob_box_block_end(&p.x, t.b1 - 1);
    t.first = t.begin - p.x.radius;
    t.rows = 0;
    return t;
}

/* Whether voxel i is left out by the mask. */
template <bool GAPS> static __device__ inline bool box_left_out(const box_rows &p, int64_t i)
{
    return GAPS && p.mask && !p.mask[i];
}

/* Place i of the row that begins at voxel `row`, which lies outside. */
template <bool GAPS>
static __device__ inline void fetch_beside(float *to, const box_rows &p, int64_t row, int64_t first,
                                           int i)
{
    const int64_t at = lob_edge_position(first + i, p.x.n, p.x.edge);
    if (at < 0)
        to[i] = p.x.outside;
    else if (box_left_out<GAPS>(p, row + at))
        to[i] = NAN;
    else
        box_fetch<1>(to + i, p.in + row + at);
}

/* Begin to read the tile's rows; row_of(j) is the first voxel of its row j, or -1: what is outside.
 * A warp reads a row. */
template <bool GAPS, typename ROW>
static __device__ inline void read_rows(float *places, const box_rows &p, const box_tile &t,
                                        ROW row_of)
{
    enum { AT_ONCE = 8 }; /* the addresses of so many differ by constants */
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int width = (int)(t.end - t.begin + 2 * p.x.radius);
    const int inside = t.first < 0 ? (int)-t.first : 0;
    const int outside = t.first + width > p.x.n ? (int)(p.x.n - t.first) : width;
    for (int j = warp; j < t.rows; j += (int)blockDim.x / WARP) {
        const int64_t at = row_of(j);
        if (at < 0) continue;
        float *const to = places + j * p.places_pitch;
        for (int i = inside + lane; i < outside; i += AT_ONCE * WARP) {
            const int64_t from = at + t.first + i;
            bool left_out[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                left_out[k] = i + k * WARP < outside && box_left_out<GAPS>(p, from + k * WARP);
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                if (left_out[k])
                    to[i + k * WARP] = NAN;
                else if (i + k * WARP < outside)
                    box_fetch<1>(to + i + k * WARP, p.in + from + k * WARP);
        }
        for (int i = lane; i < inside; i += WARP) fetch_beside<GAPS>(to, p, at, t.first, i);
        for (int i = outside + lane; i < width; i += WARP)
            fetch_beside<GAPS>(to, p, at, t.first, i);
    }
}

/* Sum the rows along x, from places to means. */
template <lob_box_what WHAT, typename ROW>
static __device__ inline void sum_rows(float *means, const float *places, const double *factors,
                                       const box_rows &p, const box_tile &t, ROW row_of)
{
    const int tasks = t.rows * (int)(t.b1 - t.b0);
    for (int task = (int)threadIdx.x; task < tasks; task += (int)blockDim.x) {
        const int j = task % t.rows;
        const int64_t b = t.b0 + task / t.rows, begin = lob_box_block_begin(&p.x, b);
        const int64_t end = lob_box_block_end(&p.x, b);
        float *const to = means + j * p.means_pitch + (begin - t.begin);
        if (row_of(j) < 0)
            for (int64_t i = 0; i < end - begin; i++)
                to[i] = WHAT == LOB_BOX_WEIGHTS ? p.weight_outside_y : p.y.outside;
        else
            box_sum_block<WHAT>(to, 1, p.x, factors,
                                places + j * p.places_pitch + (begin - t.begin), 1, begin, end);
    }
}

/* BOTH: along y too. */
template <bool BOTH, bool GAPS>
static __global__ void __launch_bounds__(BOTH ? ROWS_COLUMNS_THREADS : BOX_THREADS, 2)
    rows_kernel(const box_rows p)
{
    extern __shared__ double factors[];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    double *const factors_y = factors + box_factors(p.x);
    float *const places = (float *)(factors_y + box_factors(p.y));
    float *const means = places + p.most_rows * p.places_pitch;
    const int64_t blocks = lob_box_blocks(&p.y), r = p.y.radius;
    const int64_t b0 = (int64_t)(blockIdx.x / p.tiles_x % p.tiles_y) * p.tile_y;
    const int64_t b1 = b0 + p.tile_y < blocks ? b0 + p.tile_y : blocks;
    const int64_t plane = (int64_t)(blockIdx.x / p.tiles_x / p.tiles_y) * p.x.n * p.y.n;
    const int64_t first = lob_box_block_begin(&p.y, b0) - r;
    box_tile t = tile_of(p, blockIdx.x % p.tiles_x);
    t.rows = (int)(lob_box_block_end(&p.y, b1 - 1) + r - first);
    const auto row_of = [&](int j) {
        const int64_t at = BOTH ? lob_edge_position(first + j, p.y.n, p.y.edge) : first + j;
        return at < 0 ? (int64_t)-1 : plane + at * p.x.n;
    };
    box_fill_factors(factors, p.x);
    box_fill_factors(factors_y, p.y);
    read_rows<GAPS>(places, p, t, row_of);
    box_arrived();
    const int width = (int)(t.end - t.begin), tasks = width * (int)(b1 - b0);
    const auto write = [&](float *out) {
        __syncthreads();
        for (int j = warp; j < t.rows && !BOTH; j += (int)blockDim.x / WARP)
            for (int64_t i = lane, row = row_of(j) + t.begin; i < width; i += WARP)
                out[row + i] = means[j * p.means_pitch + i];
        for (int task = (int)threadIdx.x; task < tasks && BOTH; task += (int)blockDim.x) {
            const int64_t b = b0 + task / width, begin = lob_box_block_begin(&p.y, b);
            const int column = task % width;
            box_sum_block(out + plane + t.begin + column + begin * p.x.n, p.x.n, p.y, factors_y,
                          means + (begin - r - first) * p.means_pitch + column, p.means_pitch,
                          begin, lob_box_block_end(&p.y, b));
        }
    };
    sum_rows<GAPS ? LOB_BOX_SUMS : LOB_BOX_MEANS>(means, places, factors, p, t, row_of);
    write(p.out);
    if (!GAPS) return;
    __syncthreads();
    sum_rows<LOB_BOX_WEIGHTS>(means, places, factors, p, t, row_of);
    write(p.weights);
}

/* Blocks of sums in a tile that is to have so many voxels along an axis. */
static inline int32_t box_tile_blocks(int64_t voxels, int64_t block)
{
    return voxels > block ? (int32_t)(voxels / block) : 1;
}

/* Whether a tile fits shared memory: along x, or with a radius along y too. Lays it out. */
static bool rows_fit(box_rows *p)
{
    const int64_t blocks = lob_box_blocks(&p->x), lines = lob_box_blocks(&p->y);
    if (p->x.radius > (p->y.radius > 0 ? (int64_t)BOX_TILE_X : (int64_t)BOX_SHARED) ||
        p->y.radius > BOX_TILE_Y || lines > INT32_MAX)
        return false;
    p->tile_x = box_tile_blocks(BOX_TILE_X, p->x.block);
    p->tiles_x = (int32_t)((blocks + p->tile_x - 1) / p->tile_x);
    p->tile_y = box_tile_blocks(BOX_TILE_Y, p->y.block);
    p->tiles_y = (int32_t)((lines + p->tile_y - 1) / p->tile_y);
    const int64_t whole = p->tile_x * p->x.block, width = whole < p->x.n ? whole : p->x.n;
    const int64_t rows = p->tile_y * p->y.block + 2 * p->y.radius;
    const int64_t factors = box_factors(p->x) + box_factors(p->y);
    p->places_pitch = (int)((width + 2 * p->x.radius) | 1);
    p->means_pitch = (int)(width | 1);
    p->most_rows = (int)rows;
    p->shared = (p->places_pitch + p->means_pitch) * rows * (int64_t)sizeof(float) +
                factors * (int64_t)sizeof(double);
    return p->shared <= BOX_SHARED;
}

/* Along x, or with a radius along y too. */
static lob_status run_rows(lob_device *device, const box_rows &p, lob_error *error)
{
    const bool both = p.y.radius > 0;
    const auto kernel = p.weights ? both ? rows_kernel<true, true> : rows_kernel<false, true>
                        : both ? rows_kernel<true, false>
                                  : rows_kernel<false, false>;
    const int64_t grid = (int64_t)p.tiles_y * p.tiles_x * p.planes;
    /* Threads for all blocks of sums along x at once. */
    const int64_t tasks = (p.most_rows * p.tile_x + WARP - 1) / WARP * WARP;
    const int threads = tasks < ROWS_COLUMNS_THREADS ? (int)tasks : ROWS_COLUMNS_THREADS;
    if (grid > INT32_MAX) return lob_device_too_large(error);
    LOB_TRY(lob_allow_shared(kernel, BOX_SHARED, error));
    return lob_launch(device, kernel, both ? "box along rows and columns" : "box along rows", grid,
                      both ? threads : (int)BOX_THREADS, (size_t)p.shared, p, error);
}

} /* namespace lob::filters */

#endif
