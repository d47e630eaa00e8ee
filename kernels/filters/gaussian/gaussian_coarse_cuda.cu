/*
 * Coarse axes along y or z on the GPU: to every m-th voxel and back. Threads walk along columns;
 * the samples that a voxel counts in, or is made of, are in registers.
 */
#include "kernels/device/grid.cuh"
#include "kernels/filters/gaussian/gaussian_cuda.cuh"

namespace lob::filters
{

enum { COARSE_THREADS = 128, RING = LOB_GAUSSIAN_RING, AHEAD = 8 };

/* Columns lie side by side: `step` of them with voxels step apart, then the next group of them. */
struct coarse_params {
    gaussian_job job;
    lob_gaussian_pass pass;
    int64_t step, columns;
    int64_t m, cells; /* cells: what chunks are counted in; samples of reduce, m voxels of expand */
    int64_t chunk;    /* cells that a thread writes */
    int64_t column_blocks, blocks;
    const float *weights; /* of reduce: RING for each of m */
};

/* The column of this thread, and the cells that it writes; false where there is none. */
static __device__ inline bool my_column(const coarse_params &c, int64_t block, int64_t *column,
                                        int64_t *from, int64_t *to)
{
    *column = block % c.column_blocks * COARSE_THREADS + threadIdx.x;
    *from = block / c.column_blocks * c.chunk;
    *to = *from + c.chunk < c.cells ? *from + c.chunk : c.cells;
    return *column < c.columns;
}

static __device__ inline int64_t column_start(const coarse_params &c, int64_t column, int64_t n)
{
    return column / c.step * c.step * n + column % c.step;
}

/* How voxels are read: FLOATS are gaussian_reads_floats; of SOME, which are floats too, some may be
 * no data; else ANY. */
enum coarse_source { ANY, SOME, FLOATS };

template <coarse_source S>
static __device__ inline float line_value(const coarse_params &c, int64_t start, int64_t i)
{
    if (i < 0 || i >= c.pass.op.n_in) i = lob_edge_position(i, c.pass.op.n_in, c.pass.edge);
    return i < 0 ? c.pass.outside
                 : gaussian_summand_at<S == FLOATS>(c.job.source, start + i * c.step);
}

/* AHEAD voxels of a line from voxel i on; those from n on are not needed. */
template <coarse_source S>
static __device__ inline void read_ahead(float *value, const coarse_params &c, int64_t start,
                                         int64_t i, int64_t n)
{
    if (i >= 0 && i + AHEAD <= c.pass.op.n_in) {
        lob_gaussian_source source = c.job.source;
        if (S != ANY) source.type = LOB_F32, source.before.identity = true; /* constants */
        const int64_t first = start + i * c.step;
        const bool values = !source.counts || !source.finite;
        bool in_mask[AHEAD]; /* all is on its way before anything is looked at */
#pragma unroll
        for (int b = 0; b < AHEAD; b++) {
            const int64_t at = first + (b < n ? b : 0) * c.step;
            value[b] = S == FLOATS ? gaussian_summand_at<true>(source, at)
                       : values    ? lob_gaussian_value(&source, at)
                                   : 1.0f;
            if (S != FLOATS) in_mask[b] = lob_gaussian_in_mask(&source, at);
        }
#pragma unroll
        for (int b = 0; b < AHEAD && S != FLOATS; b++)
            value[b] = lob_gaussian_summand(&source, in_mask[b], value[b]);
        return;
    }
#pragma unroll
    for (int b = 0; b < AHEAD; b++) value[b] = b < n ? line_value<S>(c, start, i + b) : 0.0f;
}

template <coarse_source S>
static __global__ void __launch_bounds__(COARSE_THREADS) reduce_kernel(coarse_params c)
{
    int64_t column, from, to;
    for (int64_t block = blockIdx.x; block < c.blocks; block += gridDim.x) {
        if (!my_column(c, block, &column, &from, &to)) continue;
        const int64_t in = column_start(c, column, c.pass.op.n_in);
        const int64_t out = column_start(c, column, c.pass.op.n_out);
        float sum[RING] = {};
        /* sum[a] is that of sample q + a. */
        for (int64_t q = from - RING + 1; q < to; q++) {
            /* What is outside of a renormalised edge adds nothing. */
            const bool nothing = c.pass.edge == LOB_EDGE_RENORMALISE &&
                                 ((q + 1) * c.m <= 0 || q * c.m >= c.pass.op.n_in);
            for (int64_t p = nothing ? c.m : 0; p < c.m; p += AHEAD) {
                float value[AHEAD];
                read_ahead<S>(value, c, in, q * c.m + p, c.m - p);
#pragma unroll
                for (int b = 0; b < AHEAD; b++) {
                    if (p + b >= c.m) break;
                    const float4 *const row = (const float4 *)(c.weights + (p + b) * RING);
#pragma unroll
                    for (int k = 0; k < RING; k += 4) {
                        const float4 w = row[k / 4];
                        sum[k] = fmaf(w.x, value[b], sum[k]);
                        sum[k + 1] = fmaf(w.y, value[b], sum[k + 1]);
                        sum[k + 2] = fmaf(w.z, value[b], sum[k + 2]);
                        sum[k + 3] = fmaf(w.w, value[b], sum[k + 3]);
                    }
                }
            }
            if (q >= from) c.job.out[out + q * c.step] = sum[0] + 0.0f;
#pragma unroll
            for (int k = 0; k + 1 < RING; k++) sum[k] = sum[k + 1];
            sum[RING - 1] = 0.0f;
        }
    }
}

/* What is held, and in the mask, where AHEAD sums go: it is read before the first is written. */
template <bool SUMS> struct held_voxels {
    float held[AHEAD];
    bool in_mask[AHEAD];

    /* From place `first` on; those from n on are not needed. */
    __device__ void read(const coarse_params &c, int64_t first, int64_t n)
    {
#pragma unroll
        for (int b = 0; b < AHEAD; b++) {
            const int64_t at = first + (b < n ? b : 0) * c.step;
            held[b] = gaussian_held<SUMS>(c.job.out, c.job.finish, at);
            in_mask[b] = SUMS || lob_gaussian_in_mask(&c.job.finish.source, at);
        }
    }
    __device__ void write(const coarse_params &c, int64_t at, int b, float sum) const
    {
        const lob_gaussian_finish &f = c.job.finish;
        if (!SUMS && lob_gaussian_divides(&f))
            c.job.out[at] = lob_gaussian_divided(&f, at, in_mask[b], held[b], sum);
        else
            gaussian_write<SUMS>(c.job.out, f, at, sum, held[b]);
    }
};

/* Samples are floats. */
template <bool SUMS>
static __global__ void __launch_bounds__(COARSE_THREADS) expand_kernel(coarse_params c)
{
    const lob_line_op &op = c.pass.op;
    const int taps = (int)op.taps;
    int64_t column, from, to;
    for (int64_t block = blockIdx.x; block < c.blocks; block += gridDim.x) {
        if (!my_column(c, block, &column, &from, &to)) continue;
        const int64_t in = column_start(c, column, op.n_in);
        const int64_t out = column_start(c, column, op.n_out);
        float sample[RING];
#pragma unroll
        for (int t = 0; t < RING; t++)
            sample[t] =
                t < taps ? gaussian_summand_at<true>(c.job.source, in + (from + t) * c.step) : 0.0f;
        for (int64_t q = from; q < to; q++) {
            const int64_t left = op.n_out - q * c.m, n = left < c.m ? left : c.m;
            const int64_t more = q + taps;
            const float next =
                q + 1 < to ? gaussian_summand_at<true>(c.job.source, in + more * c.step) : 0.0f;
            for (int64_t p = 0; p < n; p += AHEAD) {
                const int64_t first = out + (q * c.m + p) * c.step;
                held_voxels<SUMS> held;
                held.read(c, first, n - p);
#pragma unroll
                for (int b = 0; b < AHEAD; b++) {
                    if (p + b >= n) break;
                    const float4 *const row =
                        (const float4 *)(c.job.tables + op.weights + (p + b) * RING);
                    float sum = 0.0f;
#pragma unroll
                    for (int t = 0; t < RING; t += 4) {
                        const float4 w = row[t / 4];
                        sum = fmaf(w.x, sample[t], sum);
                        sum = fmaf(w.y, sample[t + 1], sum);
                        sum = fmaf(w.z, sample[t + 2], sum);
                        sum = fmaf(w.w, sample[t + 3], sum);
                    }
                    if (op.scale >= 0) sum = sum * c.job.tables[op.scale + q * c.m + p + b];
                    held.write(c, first + b * c.step, b, sum + 0.0f);
                }
            }
#pragma unroll
            for (int t = 0; t < RING; t++)
                sample[t] = t + 1 == taps ? next : t + 1 < taps ? sample[(t + 1) % RING] : 0.0f;
        }
    }
}

/* Columns are cut where there are too few of them to occupy the device. */
static coarse_params params_of(lob_device *device, const gaussian_job *job,
                               const lob_gaussian_pass *pass, int64_t cells, int64_t m,
                               int64_t least)
{
    coarse_params c = {*job, *pass, 1, 0, m, cells, cells, 0, 0, nullptr};
    c.step = pass->axis == 1 ? pass->in.nx : pass->in.nx * pass->in.ny;
    c.columns = c.step * (pass->axis == 1 ? pass->in.nz : 1);
    const int64_t wanted = (int64_t)lob_device_multiprocessors(device) * 1024;
    const int64_t cuts = (wanted + c.columns - 1) / c.columns;
    const int64_t chunk = (cells + cuts - 1) / cuts;
    c.chunk = chunk > least ? chunk : least;
    c.column_blocks = (c.columns + COARSE_THREADS - 1) / COARSE_THREADS;
    c.blocks = c.column_blocks * ((cells + c.chunk - 1) / c.chunk);
    return c;
}

lob_status gaussian_reduce(lob_device *device, const gaussian_job *job,
                           const lob_gaussian_pass *pass, const lob_gaussian_axis *axis,
                           lob_error *error)
{
    coarse_params c = params_of(device, job, pass, pass->op.n_out, axis->m, RING);
    c.weights = job->tables + axis->reduce_ring;
    const auto kernel = gaussian_reads_floats(&job->source)   ? reduce_kernel<FLOATS>
                        : gaussian_pairs_floats(&job->source) ? reduce_kernel<SOME>
                                                              : reduce_kernel<ANY>;
    return lob_launch(device, kernel, "reduce_kernel", c.blocks, COARSE_THREADS, 0, c, error);
}

lob_status gaussian_expand(lob_device *device, const gaussian_job *job,
                           const lob_gaussian_pass *pass, lob_error *error)
{
    const int64_t m = pass->op.up;
    const coarse_params c = params_of(device, job, pass, (pass->op.n_out + m - 1) / m, m, 2);
    const auto kernel =
        lob_gaussian_writes_sums(&job->finish) ? expand_kernel<true> : expand_kernel<false>;
    return lob_launch(device, kernel, "expand_kernel", c.blocks, COARSE_THREADS, 0, c, error);
}

} /* namespace lob::filters */
