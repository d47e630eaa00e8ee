/*
 * Exact passes along x and y on the GPU, in one kernel. A block walks down a strip of a plane,
 * BATCH rows at a time: it smooths them along x in shared memory, where a thread makes ALONG_X
 * neighbouring sums of a row; then every thread adds what is in its column to the sums of the
 * rows that it counts in, which are in registers.
 *
 * Of pairs (gaussian_job) there are twice as many threads. Along x one half of them smooths values
 * and the other one weights; along y, neighbouring threads do.
 */
#include "kernels/device/grid.cuh"
#include "kernels/filters/gaussian/gaussian_cuda.cuh"

#include <cuda_pipeline_primitives.h>

namespace lob::filters
{

/* TURNS batches of a strip are in shared memory: one is summed while the others are on their way.
 */
enum { STRIP = 128, BATCH = 8, ALONG_X = 8, HALF_BANKS = 16 };
static_assert(STRIP == BATCH * (STRIP / ALONG_X), "a thread for every sum along x");

template <int R> struct plane_params {
    gaussian_job job;
    lob_dims dims;
    int64_t strips, chunks, blocks; /* of a row, of a strip, in all */
    int64_t chunk;                  /* rows */
    const float *scale_x, *scale_y; /* may be NULL */
    lob_edge edge;
    float outside_x;                      /* NaN: no data */
    float outside_y[2];                   /* [1]: of weights */
    bool aligned;                         /* rows begin at multiples of 16 bytes */
    alignas(16) float along_x[2 * R + 1]; /* constants are read by pairs */
    alignas(16) float along_y[2 * R + 1];
};

/* Shared memory. Four floats are read at a time, by eight threads from eight rows: no two of these
 * share a bank, because the pitches are odd multiples of 4. */
template <int R, bool PAIRS> struct plane_strip {
    static constexpr int KINDS = PAIRS ? 2 : 1, TURNS = PAIRS ? 3 : 4;
    static constexpr int WIDTH = STRIP + 2 * R, PITCH = WIDTH + (WIDTH % 8 == 0 ? 4 : 8),
                         SMOOTH_PITCH = STRIP + 4;
    static_assert(R % 4 == 0 && PITCH % 8 == 4 && SMOOTH_PITCH % 8 == 4);
    alignas(16) float in[TURNS][BATCH * PITCH];
    alignas(16) float smooth[KINDS][BATCH * SMOOTH_PITCH + HALF_BANKS];
    int position[WIDTH]; /* in a row; -1: outside */
};

/* The same of pairs: what is in `in`, as values and weights. */
template <int R> struct plane_pairs : plane_strip<R, true> {
    alignas(16) float summand[2][BATCH * plane_strip<R, true>::PITCH];
    alignas(4) uint8_t mask[plane_strip<R, true>::TURNS][BATCH * plane_strip<R, true>::PITCH];
};

/* A block's place. */
struct plane_place {
    int64_t plane; /* voxel at which the plane begins */
    int64_t from, to;
    int x0;
};

/* Read four neighbouring floats of a row into shared memory; x is the first one's position. Of
 * pairs NaN is no data, and so is what the mask, if there is one, leaves out. */
template <int R, bool FLOATS, bool PAIRS>
static __device__ inline void fetch_four(float *to, uint8_t *mask, const int *position,
                                         const plane_params<R> &p, int64_t line, bool outside,
                                         int x)
{
    const lob_gaussian_source &source = p.job.source;
    if (FLOATS && p.aligned && !outside && x >= 0 && x < (int)p.dims.nx) {
        __pipeline_memcpy_async(to, (const float *)source.data + line + x, 16);
        if (PAIRS && source.mask) __pipeline_memcpy_async(mask, source.mask + line + x, 4);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int64_t at = line + position[k];
        to[k] = outside || position[k] < 0 ? p.outside_x
                : PAIRS                    ? lob_gaussian_datum(&source, at)
                                           : gaussian_summand_at<FLOATS>(source, at);
        if (PAIRS) mask[k] = 1;
    }
}

/* Calls of(line_of(row), offset, column) for the fours of BATCH rows that are this thread's; a warp
 * takes some of the rows. */
template <int R, bool PAIRS, typename LINE, typename OF>
static __device__ inline void each_four(LINE line_of, OF of)
{
    using strip = plane_strip<R, PAIRS>;
    constexpr int WARPS = STRIP * strip::KINDS / WARP;
    const int warp = (int)threadIdx.x / WARP, column = (int)threadIdx.x % WARP * 4;
#pragma unroll
    for (int r = 0; r < BATCH / WARPS; r++) {
        const int row = r * WARPS + warp;
        const int64_t line = line_of(row);
#pragma unroll
        for (int from = 0; from < strip::WIDTH; from += 4 * WARP)
            if (from + column < strip::WIDTH)
                of(line, row * strip::PITCH + from + column, from + column);
    }
}

/* Begin to read BATCH rows from row `first` on. */
template <int R, bool FLOATS, bool PAIRS>
static __device__ inline void fetch_rows(float *in, uint8_t *mask, const int *position,
                                         const plane_params<R> &p, const plane_place &place,
                                         int64_t first)
{
    const auto line_of = [&](int row) {
        const int64_t y = lob_edge_position(first + row, p.dims.ny, p.edge);
        return y < 0 ? (int64_t)-1 : place.plane + y * p.dims.nx;
    };
    each_four<R, PAIRS>(line_of, [&](int64_t line, int offset, int column) {
        fetch_four<R, FLOATS, PAIRS>(in + offset, mask + offset, position + column, p, line,
                                     line < 0, place.x0 - R + column);
    });
}

/* Make values and weights of what this thread has read. */
template <int R>
static __device__ inline void make_pairs(plane_pairs<R> &strip, int turn, bool masked)
{
    const auto no_line = [](int) { return (int64_t)0; };
    each_four<R, true>(no_line, [&](int64_t, int offset, int) {
        const float4 four = *(const float4 *)&strip.in[turn][offset];
        const uchar4 mask =
            masked ? *(const uchar4 *)&strip.mask[turn][offset] : uchar4{1, 1, 1, 1};
        const float value[4] = {four.x, four.y, four.z, four.w};
        const bool in_mask[4] = {mask.x != 0, mask.y != 0, mask.z != 0, mask.w != 0};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const bool data = in_mask[k] && value[k] - value[k] == 0.0f;
            strip.summand[0][offset + k] = data ? value[k] + 0.0f : 0.0f;
            strip.summand[1][offset + k] = data ? 1.0f : 0.0f;
        }
    });
}

/* Along x: eight neighbouring threads take the same columns of eight rows. */
template <int R, bool PAIRS>
static __device__ inline void smooth_rows(plane_strip<R, PAIRS> &strip, const float *in, int kind,
                                          const plane_params<R> &p, const plane_place &place,
                                          int64_t first)
{
    const int row = threadIdx.x % BATCH, column = (int)threadIdx.x % STRIP / BATCH * ALONG_X;
    const int x = place.x0 + column;
    const float4 *const fours = (const float4 *)&in[row * strip.PITCH + column];
    float sum[ALONG_X] = {};
#pragma unroll
    for (int j = 0; j < ALONG_X + 2 * R; j += 4) {
        const float4 four = fours[j / 4];
        const float value[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int b = 0; b < 4; b++) {
#pragma unroll
            for (int o = 0; o < ALONG_X; o++)
                if (j + b - o >= 0 && j + b - o <= 2 * R)
                    sum[o] = fmaf(p.along_x[j + b - o], value[b], sum[o]);
        }
    }
    if (p.scale_x && (x < R || x + ALONG_X + R > p.dims.nx)) { /* else it is 1 */
#pragma unroll
        for (int o = 0; o < ALONG_X; o++)
            if (x + o < p.dims.nx) sum[o] *= p.scale_x[x + o];
    }
    const bool outside = lob_edge_position(first + row, p.dims.ny, p.edge) < 0;
#pragma unroll
    for (int o = 0; o < ALONG_X; o++) sum[o] = outside ? p.outside_y[kind] : sum[o] + 0.0f;
    float4 *const to = (float4 *)&strip.smooth[kind][row * strip.SMOOTH_PITCH + column];
    to[0] = {sum[0], sum[1], sum[2], sum[3]};
    to[1] = {sum[4], sum[5], sum[6], sum[7]};
}

/* Write what a column's sums of values and of weights make of BATCH rows from y on. */
template <int R>
static __device__ inline void write_divided(const float *sum, const plane_params<R> &p,
                                            const plane_place &place, int64_t y)
{
    const int64_t x = place.x0 + (int)threadIdx.x / 2;
    float values[BATCH / 2], weights[BATCH / 2];
    gaussian_share_pairs<BATCH>(values, weights, sum, ALL_LANES);
    if (threadIdx.x % 2) y += BATCH / 2;
#pragma unroll
    for (int k = 0; k < BATCH / 2; k++, y++) {
        if (x >= p.dims.nx || y < place.from || y >= place.to) continue;
        const int64_t at = place.plane + y * p.dims.nx + x;
        p.job.out[at] =
            lob_gaussian_divided(&p.job.finish, at, lob_gaussian_in_mask(&p.job.finish.source, at),
                                 values[k], weights[k]);
    }
}

/* Write a column's sums of BATCH rows from y on, those of the strip's part. */
template <int R, bool SUMS, bool PAIRS>
static __device__ inline void write_rows(const float *sum, const plane_params<R> &p,
                                         const plane_place &place, int64_t y)
{
    constexpr int KINDS = PAIRS ? 2 : 1;
    const int64_t x = place.x0 + (int)threadIdx.x / KINDS, step = p.dims.nx * KINDS;
    const bool whole = !p.scale_y || (y >= R && y + BATCH + R <= p.dims.ny); /* all scales are 1 */
    int64_t at = (place.plane + y * p.dims.nx + place.x0) * KINDS + (int)threadIdx.x;
    if (x >= p.dims.nx) return;
    if (whole && y >= place.from && y + BATCH <= place.to) {
#pragma unroll
        for (int k = 0; k < BATCH; k++, at += step)
            gaussian_write<SUMS>(p.job.out, p.job.finish, at, sum[k] + 0.0f);
        return;
    }
#pragma unroll
    for (int k = 0; k < BATCH; k++, y++, at += step) {
        if (y < place.from || y >= place.to) continue;
        const float scaled = p.scale_y ? sum[k] * p.scale_y[y] : sum[k];
        gaussian_write<SUMS>(p.job.out, p.job.finish, at, scaled + 0.0f);
    }
}

/* Along y; sum[k] is that of row first - R + k. */
template <int R, bool SUMS, bool PAIRS>
static __device__ inline void smooth_column(float *sum, const plane_strip<R, PAIRS> &strip,
                                            const plane_params<R> &p, const plane_place &place,
                                            int64_t first)
{
    const float *const column = &strip.smooth[threadIdx.x % strip.KINDS][threadIdx.x / strip.KINDS];
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
        const float value = column[b * strip.SMOOTH_PITCH];
#pragma unroll
        for (int k = b; k <= b + 2 * R; k++) sum[k] = fmaf(p.along_y[2 * R + b - k], value, sum[k]);
    }
    if constexpr (PAIRS && !SUMS)
        write_divided<R>(sum, p, place, first - R);
    else
        write_rows<R, SUMS, PAIRS>(sum, p, place, first - R);
#pragma unroll
    for (int k = 0; k < 2 * R; k++) sum[k] = sum[k + BATCH];
#pragma unroll
    for (int k = 2 * R; k < 2 * R + BATCH; k++) sum[k] = 0.0f;
}

/* Blocks of a multiprocessor, which limit registers. */
template <int R, bool FLOATS, bool PAIRS> static constexpr int plane_blocks()
{
    const int blocks = R <= 8 ? 7 : R <= 16 ? 5 : 4;
    return !FLOATS ? 1 : PAIRS ? blocks / 2 : blocks;
}

template <int R, bool FLOATS, bool SUMS, bool PAIRS>
static __global__ void __launch_bounds__(STRIP *plane_strip<R, PAIRS>::KINDS,
                                         plane_blocks<R, FLOATS, PAIRS>())
    planes_kernel(plane_params<R> p)
{
    using strip_of = plane_strip<R, PAIRS>;
    constexpr int TURNS = strip_of::TURNS;
    __shared__ std::conditional_t<PAIRS, plane_pairs<R>, strip_of> strip;
    const auto fetch = [&](int turn, const plane_place &place, int64_t first) {
        uint8_t *mask = nullptr;
        if constexpr (PAIRS) mask = strip.mask[turn];
        fetch_rows<R, FLOATS, PAIRS>(strip.in[turn], mask, strip.position, p, place, first);
    };
    for (int64_t block = blockIdx.x; block < p.blocks; block += gridDim.x) {
        const int64_t rest = block / p.strips;
        plane_place place;
        place.x0 = (int)(block % p.strips) * STRIP;
        place.plane = rest / p.chunks * p.dims.nx * p.dims.ny;
        place.from = rest % p.chunks * p.chunk;
        place.to = place.from + p.chunk < p.dims.ny ? place.from + p.chunk : p.dims.ny;
        float sum[2 * R + BATCH];
#pragma unroll
        for (int k = 0; k < 2 * R + BATCH; k++) sum[k] = 0.0f;
        __syncthreads();
        for (int i = threadIdx.x; i < strip_of::WIDTH; i += (int)blockDim.x)
            strip.position[i] = (int)lob_edge_position(place.x0 - R + i, p.dims.nx, p.edge);
        __syncthreads();
        const int64_t begin = place.from - R, end = place.to + R;
#pragma unroll
        for (int t = 0; t < TURNS - 1; t++) {
            if (begin + t * BATCH < end) fetch(t, place, begin + t * BATCH);
            __pipeline_commit();
        }
        int turn = 0;
        for (int64_t first = begin; first < end; first += BATCH) {
            const float *in = strip.in[turn];
            int kind = 0;
            __pipeline_wait_prior(TURNS - 2);
            if constexpr (PAIRS) {
                make_pairs<R>(strip, turn, p.job.source.mask != nullptr);
                kind = (int)threadIdx.x / STRIP;
                in = strip.summand[kind];
            }
            __syncthreads(); /* rows are there, and nobody reads those before */
            const int64_t ahead = first + (TURNS - 1) * BATCH;
            if (ahead < end) fetch((turn + TURNS - 1) % TURNS, place, ahead);
            __pipeline_commit();
            smooth_rows<R, PAIRS>(strip, in, kind, p, place, first);
            __syncthreads();
            smooth_column<R, SUMS, PAIRS>(sum, strip, p, place, first);
            turn = (turn + 1) % TURNS;
        }
    }
}

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
    p.strips = (dims.nx + STRIP - 1) / STRIP;
    p.chunk = gaussian_chunk(device, dims.ny, p.strips * STRIP * dims.nz, R);
    p.chunks = (dims.ny + p.chunk - 1) / p.chunk;
    p.blocks = p.strips * p.chunks * dims.nz;
    p.edge = x ? x->edge : y->edge;
    p.scale_x = x && x->op.scale >= 0 ? job->tables + x->op.scale : nullptr;
    p.scale_y = y && y->op.scale >= 0 ? job->tables + y->op.scale : nullptr;
    p.outside_x = x ? x->outside : 0.0f;
    if (job->pairs && p.edge != LOB_EDGE_CONSTANT) p.outside_x = NAN;
    p.outside_y[0] = y ? y->outside : 0.0f;
    p.outside_y[1] = gaussian_weight_outside(p.edge);
    p.aligned = dims.nx % 4 == 0 && (uintptr_t)job->source.mask % 4 == 0;
    pad_weights<R>(p.along_x, job, x);
    pad_weights<R>(p.along_y, job, y);
    const auto one = [](auto floats, auto sums) {
        return planes_kernel<R, decltype(floats)::value, decltype(sums)::value, false>;
    };
    const auto two = [](auto floats, auto sums) {
        return planes_kernel<R, decltype(floats)::value, decltype(sums)::value, true>;
    };
    const auto kernel = job->pairs ? gaussian_kernel_of(gaussian_pairs_floats(&job->source),
                                                        lob_gaussian_writes_sums(&job->finish), two)
                                   : gaussian_kernel(job, one);
    return lob_launch(device, kernel, "planes_kernel", p.blocks, STRIP * (1 + job->pairs), 0, p,
                      error);
}

lob_status gaussian_planes(lob_device *device, const gaussian_job *job, const lob_gaussian_pass *x,
                           const lob_gaussian_pass *y, lob_dims dims, lob_error *error)
{
    const int64_t rx = x ? -x->op.first : 0, ry = y ? -y->op.first : 0;
    return gaussian_with_radius(rx > ry ? rx : ry, [&](auto r) {
        return planes_radius<decltype(r)::value>(device, job, x, y, dims, error);
    });
}

} /* namespace lob::filters */
