/*
 * An exact pass along z on the GPU. A thread walks along a column and keeps the sums of the voxels
 * that the plane it reads counts in, in registers; so every voxel is read once. Of pairs
 * (gaussian_job) neighbouring threads walk along the values and the weights of a column.
 */
#include "kernels/device/grid.cuh"
#include "kernels/filters/gaussian/gaussian_cuda.cuh"

namespace lob::filters
{

/* BATCH planes are read together, so that their loads are under way at the same time. */
enum { MARCH_THREADS = 128, BATCH = 8 };

template <int R> struct march_params {
    gaussian_job job;
    int64_t n, columns; /* planes; voxels of a plane, or twice as many */
    int64_t chunk;      /* planes that a thread writes */
    int64_t column_blocks, blocks;
    const float *scale; /* n; may be NULL */
    lob_edge edge;
    float outside[2];                     /* [1]: of weights */
    alignas(16) float weights[2 * R + 1]; /* constants are read by pairs */
};

/* A summand of pairs that are made of voxels. */
static __device__ inline float half_of_pair(const lob_gaussian_source &source, int64_t i)
{
    const float value = lob_gaussian_datum(&source, i / 2);
    const bool data = value == value;
    return !data ? 0.0f : i % 2 ? 1.0f : value + 0.0f;
}

template <bool FLOATS, bool PAIRS>
static __device__ inline float column_value(const lob_gaussian_source &source, int64_t i)
{
    return PAIRS && !FLOATS ? half_of_pair(source, i) : gaussian_summand_at<FLOATS>(source, i);
}

/* The planes first .. first + BATCH of a column. */
template <int R, bool FLOATS, bool PAIRS>
static __device__ inline void read_batch(float *value, const march_params<R> &p, int64_t column,
                                         int64_t first)
{
    if (first >= 0 && first + BATCH <= p.n) {
        int64_t at = column + first * p.columns;
#pragma unroll
        for (int b = 0; b < BATCH; b++, at += p.columns)
            value[b] = column_value<FLOATS, PAIRS>(p.job.source, at);
        return;
    }
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
        const int64_t at = lob_edge_position(first + b, p.n, p.edge);
        value[b] = at < 0 ? p.outside[PAIRS && column % 2]
                          : column_value<FLOATS, PAIRS>(p.job.source, column + at * p.columns);
    }
}

/* Write the sums of BATCH planes from z on, those of from .. to - 1. */
template <int R, bool SUMS>
static __device__ inline void write_batch(const float *sum, const march_params<R> &p,
                                          int64_t column, int64_t z, int64_t from, int64_t to)
{
    const bool whole = !p.scale || (z >= R && z + BATCH + R <= p.n); /* all scales are 1 */
    int64_t at = column + z * p.columns;
    if (whole && z >= from && z + BATCH <= to) {
#pragma unroll
        for (int k = 0; k < BATCH; k++, at += p.columns)
            gaussian_write<SUMS>(p.job.out, p.job.finish, at, sum[k] + 0.0f);
        return;
    }
#pragma unroll
    for (int k = 0; k < BATCH; k++, z++, at += p.columns) {
        if (z < from || z >= to) continue;
        const float scaled = p.scale ? sum[k] * p.scale[z] : sum[k];
        gaussian_write<SUMS>(p.job.out, p.job.finish, at, scaled + 0.0f);
    }
}

/* A thread's half of the places of BATCH planes from z on, and which of them are in the mask. */
template <int R>
static __device__ inline void read_mask(bool *in_mask, const march_params<R> &p, int64_t column,
                                        int64_t z, int64_t from, int64_t to)
{
    if (column % 2) z += BATCH / 2;
#pragma unroll
    for (int k = 0; k < BATCH / 2; k++)
        in_mask[k] =
            z + k >= from && z + k < to &&
            lob_gaussian_in_mask(&p.job.finish.source, column / 2 + (z + k) * (p.columns / 2));
}

/* Write what sums of values and of weights make of BATCH planes from z on. */
template <int R>
static __device__ inline void write_divided(const float *sum, const bool *in_mask,
                                            const march_params<R> &p, int64_t column, int64_t z,
                                            int64_t from, int64_t to, unsigned lanes)
{
    float values[BATCH / 2], weights[BATCH / 2];
    gaussian_share_pairs<BATCH>(values, weights, sum, lanes);
    if (column % 2) z += BATCH / 2;
#pragma unroll
    for (int k = 0; k < BATCH / 2; k++, z++) {
        if (z < from || z >= to) continue;
        const int64_t at = column / 2 + z * (p.columns / 2);
        p.job.out[at] = lob_gaussian_divided(&p.job.finish, at, in_mask[k], values[k], weights[k]);
    }
}

/* lanes: of the warp, those that march. */
template <int R, bool FLOATS, bool SUMS, bool PAIRS>
static __device__ void march(const march_params<R> &p, int64_t column, int64_t from, int64_t to,
                             unsigned lanes)
{
    bool in_mask[BATCH / 2];
    float sum[2 * R + BATCH], value[BATCH], next[BATCH];
#pragma unroll
    for (int k = 0; k < 2 * R + BATCH; k++) sum[k] = 0.0f;
    read_batch<R, FLOATS, PAIRS>(value, p, column, from - R);
    /* sum[k] is that of plane first - R + k. */
    for (int64_t first = from - R; first - R < to; first += BATCH) {
        if (first + BATCH - R < to) read_batch<R, FLOATS, PAIRS>(next, p, column, first + BATCH);
        if (PAIRS) read_mask(in_mask, p, column, first - R, from, to);
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
#pragma unroll
            for (int k = b; k <= b + 2 * R; k++)
                sum[k] = fmaf(p.weights[2 * R + b - k], value[b], sum[k]);
        }
        if (PAIRS)
            write_divided(sum, in_mask, p, column, first - R, from, to, lanes);
        else
            write_batch<R, SUMS>(sum, p, column, first - R, from, to);
#pragma unroll
        for (int k = 0; k < 2 * R; k++) sum[k] = sum[k + BATCH];
#pragma unroll
        for (int k = 2 * R; k < 2 * R + BATCH; k++) sum[k] = 0.0f;
#pragma unroll
        for (int b = 0; b < BATCH; b++) value[b] = next[b];
    }
}

template <int R, bool FLOATS, bool SUMS, bool PAIRS>
static __global__ void __launch_bounds__(MARCH_THREADS, FLOATS ? (R <= 8    ? 8
                                                                  : R <= 16 ? 6
                                                                            : 4)
                                                               : 1) march_kernel(march_params<R> p)
{
    for (int64_t block = blockIdx.x; block < p.blocks; block += gridDim.x) {
        const int64_t column = block % p.column_blocks * MARCH_THREADS + threadIdx.x;
        const int64_t from = block / p.column_blocks * p.chunk;
        const unsigned lanes = PAIRS ? __ballot_sync(ALL_LANES, column < p.columns) : ALL_LANES;
        if (column >= p.columns) continue;
        march<R, FLOATS, SUMS, PAIRS>(p, column, from, from + p.chunk < p.n ? from + p.chunk : p.n,
                                      lanes);
    }
}

template <int R>
static lob_status march_radius(lob_device *device, const gaussian_job *job,
                               const lob_gaussian_pass *pass, lob_error *error)
{
    const int radius = (int)-pass->op.first;
    march_params<R> p = {};
    p.job = *job;
    p.n = pass->op.n_in;
    p.columns = pass->in.nx * pass->in.ny * (1 + job->pairs);
    p.chunk = gaussian_chunk(device, p.n, p.columns, R);
    p.column_blocks = (p.columns + MARCH_THREADS - 1) / MARCH_THREADS;
    p.blocks = p.column_blocks * ((p.n + p.chunk - 1) / p.chunk);
    p.scale = pass->op.scale >= 0 ? job->tables + pass->op.scale : nullptr;
    p.edge = pass->edge;
    p.outside[0] = pass->outside;
    p.outside[1] = gaussian_weight_outside(pass->edge);
    for (int t = 0; t < pass->op.taps; t++)
        p.weights[R - radius + t] = job->host_tables[pass->op.weights + t];
    const auto one = [](auto floats, auto sums) {
        return march_kernel<R, decltype(floats)::value, decltype(sums)::value, false>;
    };
    const auto two = [](auto floats, auto) {
        return march_kernel<R, decltype(floats)::value, false, true>;
    };
    const auto kernel =
        job->pairs ? gaussian_kernel_of(job->between, false, two) : gaussian_kernel(job, one);
    return lob_launch(device, kernel, "march_kernel", p.blocks, MARCH_THREADS, 0, p, error);
}

lob_status gaussian_march(lob_device *device, const gaussian_job *job,
                          const lob_gaussian_pass *pass, lob_error *error)
{
    return gaussian_with_radius(-pass->op.first, [&](auto r) {
        return march_radius<decltype(r)::value>(device, job, pass, error);
    });
}

} /* namespace lob::filters */
