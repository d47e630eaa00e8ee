/*
 * Exact passes along x and y on the GPU, in one kernel. A block takes a tile of a plane, with what
 * is around it, into shared memory; smooths its rows there; and from these the columns of the tile.
 *
 * A thread makes several neighbouring sums at once, so that a number that it reads from shared
 * memory serves all of them.
 */
#include "kernels/device/grid.cuh"
#include "kernels/filters/gaussian/gaussian_cuda.cuh"

namespace lob::filters
{

/* A tile; the sums of a thread along x and along y. Every thread has a column of ALONG_Y. */
enum { PLANE_THREADS = 256, TILE = 64, ALONG_X = 8, ALONG_Y = TILE * TILE / PLANE_THREADS };

template <int R> struct plane_params {
    gaussian_job job;
    lob_dims dims;
    int64_t tiles_x, tiles_y, blocks;
    const float *scale_x, *scale_y; /* may be NULL */
    lob_edge edge;
    float outside_x, outside_y;
    bool aligned; /* rows begin at multiples of 16 bytes */
    float along_x[2 * R + 1], along_y[2 * R + 1];
};

/* Shared memory. Four floats are read at a time, by eight threads from eight rows: no two of these
 * share a bank, because the pitches are odd multiples of 4. */
template <int R> struct plane_tile {
    static constexpr int SIDE = TILE + 2 * R, PITCH = SIDE + 4, SMOOTH_PITCH = TILE + 4;
    static_assert(R % 4 == 0 && PITCH / 4 % 2 == 1 && SMOOTH_PITCH / 4 % 2 == 1);
    alignas(16) float in[SIDE * PITCH];
    alignas(16) float smooth[SIDE * SMOOTH_PITCH]; /* along x */
    int x[SIDE], y[SIDE];                          /* positions in the plane; -1: outside */
};

/* Whether a tile that begins here reads nothing outside of an axis; its scale is 1 then. */
template <int R> static __device__ inline bool is_inside(int first, int64_t n)
{
    return first >= R && first + TILE + R <= n;
}

template <int R, bool FLOATS>
static __device__ void fill_tile(plane_tile<R> &tile, const plane_params<R> &p, int64_t plane,
                                 int x0)
{
    constexpr int SIDE = plane_tile<R>::SIDE, PITCH = plane_tile<R>::PITCH, FOURS = SIDE / 4;
    const int nx = (int)p.dims.nx;
    if (FLOATS && p.aligned && is_inside<R>(x0, nx)) {
        const float *const from = (const float *)p.job.source.data + plane + (x0 - R);
#pragma unroll 4
        for (int i = threadIdx.x; i < SIDE * FOURS; i += PLANE_THREADS) {
            const int row = i / FOURS, column = i % FOURS * 4, y = tile.y[row];
            float4 v = {0.0f, 0.0f, 0.0f, 0.0f};
            if (y >= 0) v = *(const float4 *)(from + (int64_t)y * nx + column);
            v.x += 0.0f, v.y += 0.0f, v.z += 0.0f, v.w += 0.0f;
            *(float4 *)&tile.in[row * PITCH + column] = v;
        }
        return;
    }
#pragma unroll 4
    for (int i = threadIdx.x; i < SIDE * SIDE; i += PLANE_THREADS) {
        const int row = i / SIDE, column = i % SIDE, x = tile.x[column], y = tile.y[row];
        float v = p.outside_x;
        if (x >= 0 && y >= 0)
            v = gaussian_summand_at<FLOATS>(p.job.source, plane + (int64_t)y * nx + x);
        tile.in[row * PITCH + column] = v;
    }
}

/* Rows, along x. Eight neighbouring threads take the same columns of eight rows. */
template <int R>
static __device__ void smooth_rows(plane_tile<R> &tile, const plane_params<R> &p, int x0)
{
    constexpr int SIDE = plane_tile<R>::SIDE, PITCH = plane_tile<R>::PITCH,
                  SMOOTH_PITCH = plane_tile<R>::SMOOTH_PITCH;
    static_assert(SIDE % 8 == 0);
    const bool scaled = p.scale_x && !is_inside<R>(x0, p.dims.nx);
    for (int i = threadIdx.x; i < SIDE * (TILE / ALONG_X); i += PLANE_THREADS) {
        const int row = i % SIDE, column = i / SIDE * ALONG_X;
        float sum[ALONG_X] = {};
#pragma unroll
        for (int j = 0; j < ALONG_X + 2 * R; j += 4) {
            const float4 four = *(const float4 *)&tile.in[row * PITCH + column + j];
            const float value[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int b = 0; b < 4; b++) {
#pragma unroll
                for (int o = 0; o < ALONG_X; o++)
                    if (j + b - o >= 0 && j + b - o <= 2 * R)
                        sum[o] = fmaf(p.along_x[j + b - o], value[b], sum[o]);
            }
        }
        if (scaled) {
#pragma unroll
            for (int o = 0; o < ALONG_X; o++)
                if (x0 + column + o < p.dims.nx) sum[o] *= p.scale_x[x0 + column + o];
        }
        const bool outside = tile.y[row] < 0;
#pragma unroll
        for (int o = 0; o < ALONG_X; o++) sum[o] = outside ? p.outside_y : sum[o] + 0.0f;
        float4 *const to = (float4 *)&tile.smooth[row * SMOOTH_PITCH + column];
        to[0] = {sum[0], sum[1], sum[2], sum[3]};
        to[1] = {sum[4], sum[5], sum[6], sum[7]};
    }
}

/* Columns, along y. */
template <int R, bool SUMS>
static __device__ void smooth_columns(const plane_tile<R> &tile, const plane_params<R> &p,
                                      int64_t plane, int x0, int y0)
{
    constexpr int PITCH = plane_tile<R>::SMOOTH_PITCH;
    const int column = threadIdx.x % TILE, first = (int)threadIdx.x / TILE * ALONG_Y;
    float sum[ALONG_Y] = {};
#pragma unroll
    for (int j = 0; j < ALONG_Y + 2 * R; j++) {
        const float value = tile.smooth[(first + j) * PITCH + column];
#pragma unroll
        for (int o = 0; o < ALONG_Y; o++)
            if (j - o >= 0 && j - o <= 2 * R) sum[o] = fmaf(p.along_y[j - o], value, sum[o]);
    }
    const int x = x0 + column;
    const bool scaled = p.scale_y && !is_inside<R>(y0, p.dims.ny);
    if (x >= p.dims.nx) return;
#pragma unroll
    for (int o = 0; o < ALONG_Y; o++) {
        const int y = y0 + first + o;
        if (y >= p.dims.ny) return;
        if (scaled) sum[o] *= p.scale_y[y];
        gaussian_write<SUMS>(p.job.out, p.job.finish, plane + (int64_t)y * p.dims.nx + x,
                             sum[o] + 0.0f);
    }
}

template <int R, bool FLOATS, bool SUMS>
static __global__ void __launch_bounds__(PLANE_THREADS) planes_kernel(plane_params<R> p)
{
    extern __shared__ __align__(16) unsigned char shared[];
    plane_tile<R> &tile = *(plane_tile<R> *)shared;
    for (int64_t block = blockIdx.x; block < p.blocks; block += gridDim.x) {
        const int64_t rest = block / p.tiles_x, z = rest / p.tiles_y;
        const int x0 = (int)(block % p.tiles_x) * TILE, y0 = (int)(rest % p.tiles_y) * TILE;
        const int64_t plane = z * p.dims.nx * p.dims.ny;
        __syncthreads();
        for (int i = threadIdx.x; i < plane_tile<R>::SIDE; i += PLANE_THREADS) {
            tile.x[i] = (int)lob_edge_position(x0 - R + i, p.dims.nx, p.edge);
            tile.y[i] = (int)lob_edge_position(y0 - R + i, p.dims.ny, p.edge);
        }
        __syncthreads();
        fill_tile<R, FLOATS>(tile, p, plane, x0);
        __syncthreads();
        smooth_rows(tile, p, x0);
        __syncthreads();
        smooth_columns<R, SUMS>(tile, p, plane, x0, y0);
    }
}

template <int R> struct planes_launch {
    template <bool FLOATS, bool SUMS>
    static lob_status run(lob_device *device, const plane_params<R> &p, lob_error *error)
    {
        const auto kernel = planes_kernel<R, FLOATS, SUMS>;
        LOB_TRY(lob_allow_shared(kernel, sizeof(plane_tile<R>), error));
        return lob_launch(device, kernel, "planes_kernel", p.blocks, PLANE_THREADS,
                          sizeof(plane_tile<R>), p, error);
    }
};

/* Weights padded to radius R; without a pass, those that keep every voxel. */
template <int R>
static void pad_weights(float *to, const gaussian_job *job, const lob_gaussian_pass *pass)
{
    if (!pass) {
        to[R] = 1.0f;
        return;
    }
    for (int t = 0; t < pass->op.taps; t++)
        to[R + pass->op.first + t] = job->host_tables[pass->op.weights + t];
}

template <int R>
static lob_status planes_radius(lob_device *device, const gaussian_job *job,
                                const lob_gaussian_pass *x, const lob_gaussian_pass *y,
                                lob_dims dims, lob_error *error)
{
    plane_params<R> p = {};
    p.job = *job;
    p.dims = dims;
    p.tiles_x = (dims.nx + TILE - 1) / TILE;
    p.tiles_y = (dims.ny + TILE - 1) / TILE;
    p.blocks = p.tiles_x * p.tiles_y * dims.nz;
    p.edge = x ? x->edge : y->edge;
    p.scale_x = x && x->op.scale >= 0 ? job->tables + x->op.scale : nullptr;
    p.scale_y = y && y->op.scale >= 0 ? job->tables + y->op.scale : nullptr;
    p.outside_x = x ? x->outside : 0.0f;
    p.outside_y = y ? y->outside : 0.0f;
    p.aligned = dims.nx % 4 == 0;
    pad_weights<R>(p.along_x, job, x);
    pad_weights<R>(p.along_y, job, y);
    return LOB_GAUSSIAN_CHOOSE(job, planes_launch<R>::template run, device, p, error);
}

lob_status gaussian_planes(lob_device *device, const gaussian_job *job, const lob_gaussian_pass *x,
                           const lob_gaussian_pass *y, lob_dims dims, lob_error *error)
{
    const int64_t rx = x ? -x->op.first : 0, ry = y ? -y->op.first : 0;
    const int64_t radius = rx > ry ? rx : ry;
    return radius <= 4    ? planes_radius<4>(device, job, x, y, dims, error)
           : radius <= 8  ? planes_radius<8>(device, job, x, y, dims, error)
           : radius <= 16 ? planes_radius<16>(device, job, x, y, dims, error)
                          : planes_radius<GAUSSIAN_MAX_RADIUS>(device, job, x, y, dims, error);
}

} /* namespace lob::filters */
