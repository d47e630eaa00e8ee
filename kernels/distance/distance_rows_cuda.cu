/*
 * The pass along x on the GPU. A warp takes a row: it writes a bit for each voxel to shared memory,
 * where the set is or a run of equal labels begins; finds for each word of bits the nearest one
 * before and after it; and reads each voxel's offset from these and the word.
 */
#include "kernels/device/grid.cuh"
#include "kernels/distance/distance_stages_cuda.cuh"
#include "kernels/distance/distance_voxel.h"

namespace lob::distance
{

enum { ROW_WARPS = 8, WORD_BYTES = 12, ROW_SHARED = 48 << 10 };

struct row_params {
    const void *labels;
    void *feature;
    uint16_t *offsets;
    int64_t rows;
    int32_t n, words;
    uint32_t only;
    bool binary, alone; /* alone: voxels do not see each other */
};

/* A warp's part of shared memory: positions of bits; -1 and n: none. */
struct row_words {
    uint32_t *bits;
    int32_t *before, *after;
};

template <typename T> static __device__ uint32_t class_at(const row_params &p, int64_t i)
{
    return lob_distance_class(((const T *)p.labels)[i], p.only, p.binary);
}

template <typename T, lob_distance_find FIND>
static __device__ void write_bits(const row_params &p, const row_words &s, int64_t first, int lane)
{
#pragma unroll 4
    for (int32_t w = 0; w < p.words; w++) {
        const int32_t i = w * WARP + lane;
        bool bit = false;
        if (i < p.n && (FIND != LOB_FIND_OTHER || i > 0)) {
            const uint32_t own = class_at<T>(p, first + i);
            bit = FIND == LOB_FIND_OTHER ? own != class_at<T>(p, first + i - 1) : own != 0;
        }
        const uint32_t word = __ballot_sync(ALL_LANES, bit);
        if (lane == 0) s.bits[w] = word;
    }
    __syncwarp();
}

static __device__ void find_nearest(const row_params &p, const row_words &s, int lane)
{
    int32_t last = -1, next = p.n;
    for (int32_t base = 0; base < p.words; base += WARP) {
        const int32_t w = base + lane;
        const uint32_t word = w < p.words ? s.bits[w] : 0;
        int32_t high = word ? w * WARP + 31 - __clz((int)word) : -1;
        for (int apart = 1; apart < WARP; apart *= 2) {
            const int32_t other = __shfl_up_sync(ALL_LANES, high, apart);
            if (lane >= apart && other > high) high = other;
        }
        const int32_t left = __shfl_up_sync(ALL_LANES, high, 1);
        if (w < p.words) s.before[w] = lane > 0 && left > last ? left : last;
        const int32_t all = __shfl_sync(ALL_LANES, high, WARP - 1);
        if (all > last) last = all;
    }
    for (int32_t base = (p.words - 1) / WARP * WARP; base >= 0; base -= WARP) {
        const int32_t w = base + lane;
        const uint32_t word = w < p.words ? s.bits[w] : 0;
        int32_t low = word ? w * WARP + __ffs((int)word) - 1 : p.n;
        for (int apart = 1; apart < WARP; apart *= 2) {
            const int32_t other = __shfl_down_sync(ALL_LANES, low, apart);
            if (lane < WARP - apart && other < low) low = other;
        }
        const int32_t right = __shfl_down_sync(ALL_LANES, low, 1);
        if (w < p.words) s.after[w] = lane < WARP - 1 && right < next ? right : next;
        const int32_t all = __shfl_sync(ALL_LANES, low, 0);
        if (all < next) next = all;
    }
    __syncwarp();
}

template <typename T, lob_distance_find FIND>
static __device__ void write_offset(const row_params &p, int64_t first, int32_t i, int32_t before,
                                    int32_t after)
{
    const int32_t none = NO_OFFSET_16;
    const int32_t left = before < 0 ? none : i - before + (FIND == LOB_FIND_OTHER);
    const int32_t right = after >= p.n ? none : after - i;
    p.offsets[first + i] = (uint16_t)(left < right ? left : right);
    if (FIND != LOB_FIND_LABEL) return;
    uint32_t label = left < none && left <= right ? class_at<T>(p, first + before) : 0;
    if (right < none && right <= left) {
        const uint32_t other = class_at<T>(p, first + after);
        if (right < left || other < label) label = other;
    }
    ((T *)p.feature)[first + i] = (T)label;
}

/* Voxels that see only themselves. */
template <typename T, lob_distance_find FIND>
static __device__ void write_alone(const row_params &p, int64_t first, int lane)
{
    for (int32_t i = lane; i < p.n; i += WARP) {
        const uint32_t own = class_at<T>(p, first + i);
        p.offsets[first + i] =
            (uint16_t)(FIND != LOB_FIND_OTHER && own != 0 ? 0 : (int)NO_OFFSET_16);
        if (FIND == LOB_FIND_LABEL) ((T *)p.feature)[first + i] = (T)own;
    }
}

template <typename T, lob_distance_find FIND>
static __global__ void __launch_bounds__(ROW_WARPS *WARP) rows_kernel(row_params p)
{
    extern __shared__ uint32_t row_shared[];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int warps = (int)blockDim.x / WARP;
    row_words s;
    s.bits = row_shared + (int64_t)warp * 3 * p.words;
    s.before = (int32_t *)(s.bits + p.words);
    s.after = s.before + p.words;
    for (int64_t row = (int64_t)blockIdx.x * warps + warp; row < p.rows;
         row += (int64_t)gridDim.x * warps) {
        const int64_t first = row * p.n;
        if (p.alone) {
            write_alone<T, FIND>(p, first, lane);
            continue;
        }
        write_bits<T, FIND>(p, s, first, lane);
        find_nearest(p, s, lane);
#pragma unroll 4
        for (int32_t w = 0; w < p.words; w++) {
            const int32_t i = w * WARP + lane;
            const uint32_t word = s.bits[w], until = (2u << lane) - 1;
            const uint32_t here = word & until, later = word & ~until;
            const int32_t before = here ? w * WARP + 31 - __clz((int)here) : s.before[w];
            const int32_t after = later ? w * WARP + __ffs((int)later) - 1 : s.after[w];
            if (i < p.n) write_offset<T, FIND>(p, first, i, before, after);
        }
        __syncwarp();
    }
}

template <typename T>
static lob_status launch_rows(lob_device *device, const row_params &p, lob_distance_find find,
                              lob_error *error)
{
    void (*const kernels[])(row_params) = {rows_kernel<T, LOB_FIND_COST>,
                                           rows_kernel<T, LOB_FIND_LABEL>,
                                           rows_kernel<T, LOB_FIND_OTHER>};
    const int64_t bytes = (int64_t)p.words * WORD_BYTES;
    const int64_t fit = ROW_SHARED / bytes;
    const int warps = fit < 1 ? 1 : fit < ROW_WARPS ? (int)fit : ROW_WARPS;
    const int64_t blocks = (p.rows + warps - 1) / warps;
    const int64_t max = (int64_t)lob_device_multiprocessors(device) * 64;
    return lob_launch(device, kernels[find], "distances along x", blocks < max ? blocks : max,
                      warps * WARP, (size_t)(warps * bytes), p, error);
}

lob_status along_x(lob_device *device, const run_arrays &run, lob_error *error)
{
    const lob_distance_plan &plan = run.plan;
    row_params p = {};
    p.labels = run.labels;
    p.feature = run.feature;
    p.offsets = run.offsets;
    p.rows = plan.dims.ny * plan.dims.nz;
    p.n = (int32_t)plan.dims.nx;
    p.words = (p.n + WARP - 1) / WARP;
    p.only = plan.only;
    p.binary = plan.binary;
    p.alone = plan.weight[0] == 0;
    if (run.label_bytes == 1) return launch_rows<uint8_t>(device, p, plan.find, error);
    if (run.label_bytes == 2) return launch_rows<uint16_t>(device, p, plan.find, error);
    return launch_rows<uint32_t>(device, p, plan.find, error);
}

} /* namespace lob::distance */
