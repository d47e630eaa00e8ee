/*
 * The extremes of an image's data on the GPU, which levels are made from.
 *
 * Threads find the lowest and the highest value of what they read, warps and blocks join these, and
 * one atomic operation per block and channel joins them with the rest. Values are compared as
 * ordered keys: unsigned 64-bit numbers in the order of the values.
 */
#include "kernels/device/grid.cuh"
#include "kernels/levels/levels_cuda.cuh"

#include <limits>
#include <stdlib.h>
#include <string.h>

namespace lob::levels
{

/* What is counted: voxels, voxels, and threads that read a value with a fraction. */
enum { DATA, NOT_FINITE, FRACTIONS, COUNTS };

enum { THREADS = 256, CHUNK = 32 * THREADS };

typedef struct {
    lob_device_image image;
    lob_device_view view;
    int64_t section_voxels, chunks; /* of one section */
    bool dense;                     /* a section's voxels follow one another in memory */
    u64 *low, *high;                /* sections * channels: ordered keys */
    u64 *counts;                    /* sections * COUNTS */
} scan_params;

/* The key of a stored voxel. */
static __device__ u64 ordered_key(const lob_device_image *image, int64_t i)
{
    if (image->type == LOB_U64) return lob_stored_bits(image, i);
    if (image->type != LOB_F32 && image->type != LOB_F64)
        return lob_stored_bits(image, i) ^ (1ull << 63);
    const u64 bits = (u64)__double_as_longlong(lob_stored_value(image, i));
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static __device__ int64_t voxel_of(const scan_params *s, int64_t section, int64_t i)
{
    const lob_device_view *view = &s->view;
    int64_t x, y, z = section;
    const auto split = [&](auto index) {
        const auto rest = index / view->side[0];
        x = index - rest * view->side[0];
        y = view->flat ? rest : rest % view->side[1];
        if (!view->flat) z = rest / view->side[1];
    };
    if (i <= UINT32_MAX)
        split((uint32_t)i); /* 64-bit division is a long routine */
    else
        split(i);
    return view->offset + x * view->stride[0] + y * view->stride[1] + z * view->stride[2];
}

/* A chunk of a section by a block; a block takes every gridDim.x-th chunk. */
static __global__ void __launch_bounds__(THREADS) scan_kernel(scan_params s)
{
    __shared__ u64 low, high, counts[COUNTS];
    const int64_t sections = s.view.flat ? s.view.side[2] : 1;
    const bool is_real = s.image.type == LOB_F32 || s.image.type == LOB_F64;
    for (int64_t item = blockIdx.x; item < sections * s.chunks; item += gridDim.x) {
        const int64_t section = item / s.chunks, first = item % s.chunks * CHUNK;
        const int64_t corner = s.view.offset + section * s.view.stride[2];
        const int64_t last = first + CHUNK < s.section_voxels ? first + CHUNK : s.section_voxels;
        for (int c = 0; c < s.image.channels; c++) {
            if (threadIdx.x == 0) low = ~0ull, high = 0;
            if (threadIdx.x < COUNTS) counts[threadIdx.x] = 0;
            __syncthreads();
            u64 lowest = ~0ull, highest = 0;
            unsigned data = 0, not_finite = 0;
            bool whole = true;
            for (int64_t i = first + threadIdx.x; i < last; i += THREADS) {
                const int64_t v = s.dense ? corner + i : voxel_of(&s, section, i);
                const int state = lob_voxel_state(&s.image, v);
                data += state == LOB_VOXEL_DATA;
                not_finite += state == LOB_VOXEL_NOT_FINITE;
                if (state != LOB_VOXEL_DATA) continue;
                if (is_real)
                    whole =
                        whole && lob_is_whole(lob_stored_value(&s.image, v + c * s.image.voxels));
                const u64 value = ordered_key(&s.image, v + c * s.image.voxels);
                if (value < lowest) lowest = value;
                if (value > highest) highest = value;
            }
            lowest = warp_min(lowest);
            highest = ~warp_min(~highest);
            data = __reduce_add_sync(~0u, data);
            not_finite = __reduce_add_sync(~0u, not_finite);
            const bool fraction = __any_sync(~0u, !whole);
            if (threadIdx.x % 32 == 0) {
                atomicMin(&low, lowest);
                atomicMax(&high, highest);
                atomicAdd(&counts[DATA], (u64)data);
                atomicAdd(&counts[NOT_FINITE], (u64)not_finite);
                if (fraction) atomicAdd(&counts[FRACTIONS], 1ull);
            }
            __syncthreads();
            if (threadIdx.x == 0 && counts[DATA]) {
                atomicMin(&s.low[section * s.image.channels + c], low);
                atomicMax(&s.high[section * s.image.channels + c], high);
            }
            if (threadIdx.x < COUNTS && (c == 0 || threadIdx.x == FRACTIONS) && counts[threadIdx.x])
                atomicAdd(&s.counts[section * COUNTS + threadIdx.x], counts[threadIdx.x]);
            __syncthreads();
        }
    }
}

/* ---- the usual case: all voxels of a volume, one after the other ---- */

enum { LOADS = 4 }; /* of a thread, in flight together */

static __device__ inline bool is_finite(float value)
{
    return isfinite(value);
}

template <typename T> static __device__ inline bool is_finite(T)
{
    return true;
}

/* lob_is_whole of a stored value. */
static __device__ inline bool is_whole(float value)
{
    return fabsf(value) <= 0x1p53f && truncf(value) == value;
}

template <typename T> static __device__ inline bool is_whole(T)
{
    return true;
}

template <typename T> struct extremes_of_thread {
    T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
    unsigned not_finite = 0;
    bool whole = true;
};

template <typename T> static __device__ inline void widen(extremes_of_thread<T> *s, T value)
{
    if (!is_finite(value)) {
        s->not_finite++;
        return;
    }
    if (value < s->low) s->low = value;
    if (value > s->high) s->high = value;
    s->whole = s->whole && is_whole(value);
}

template <typename T, int N>
static __device__ inline void widen_all(extremes_of_thread<T> *s, const T (&values)[N])
{
#pragma unroll
    for (int j = 0; j < N; j++) widen(s, values[j]);
}

/* Of float32, where all are finite, with few tests. */
template <int N>
static __device__ inline void widen_all(extremes_of_thread<float> *s, const float (&values)[N])
{
    const uint32_t infinite = 0x7f800000;
    uint32_t largest = 0;
#pragma unroll
    for (int j = 0; j < N; j++) largest = max(largest, __float_as_uint(values[j]) & 0x7fffffffu);
    if (largest >= infinite) {
        for (int j = 0; j < N; j++) widen(s, values[j]);
        return;
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
        s->low = fminf(s->low, values[j]);
        s->high = fmaxf(s->high, values[j]);
    }
    for (int j = 0; j < N && s->whole; j++) s->whole = is_whole(values[j]);
}

/* -0 becomes 0, because which of the two a thread met first must not show. */
static __device__ inline u64 ordered_key(float value)
{
    const u64 bits = (u64)__double_as_longlong((double)(value + 0.0f));
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

template <typename T> static __device__ inline u64 ordered_key(T value)
{
    return (u64)(long long)value ^ (1ull << 63);
}

/* Block b takes channel b % channels. float32 images have one channel here. */
template <typename T> static __global__ void __launch_bounds__(THREADS) dense_kernel(scan_params s)
{
    __shared__ u64 low, high, not_finite, fractions;
    const int channels = s.image.channels, c = (int)(blockIdx.x % (unsigned)channels);
    const int64_t step = (int64_t)(gridDim.x / (unsigned)channels) * THREADS;
    const int64_t first = (int64_t)(blockIdx.x / (unsigned)channels) * THREADS + threadIdx.x;
    const int64_t packs = s.section_voxels / pack<T>::n;
    const T *from = (const T *)s.image.stored + c * s.image.voxels;
    extremes_of_thread<T> mine;
    if (threadIdx.x == 0) low = ~0ull, high = not_finite = fractions = 0;
    __syncthreads();
    int64_t i = first;
    for (; i + (LOADS - 1) * step < packs; i += LOADS * step) {
        pack<T> some[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++) some[k] = ((const pack<T> *)from)[i + k * step];
#pragma unroll
        for (int k = 0; k < LOADS; k++) widen_all(&mine, some[k].value);
    }
    for (; i < packs; i += step) widen_all(&mine, ((const pack<T> *)from)[i].value);
    for (i = packs * pack<T>::n + first; i < s.section_voxels; i += step) widen(&mine, from[i]);
    const u64 lowest = warp_min(ordered_key(mine.low)),
              highest = ~warp_min(~ordered_key(mine.high));
    const unsigned bad = __reduce_add_sync(~0u, mine.not_finite);
    const bool fraction = __any_sync(~0u, !mine.whole);
    if (threadIdx.x % 32 == 0) {
        atomicMin(&low, lowest);
        atomicMax(&high, highest);
        atomicAdd(&not_finite, (u64)bad);
        if (fraction) atomicAdd(&fractions, 1ull);
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    atomicMin(&s.low[c], low);
    atomicMax(&s.high[c], high);
    if (blockIdx.x == 0) atomicAdd(&s.counts[DATA], (u64)s.section_voxels);
    if (not_finite) {
        atomicAdd(&s.counts[DATA], 0 - not_finite);
        atomicAdd(&s.counts[NOT_FINITE], not_finite);
    }
    if (fractions) atomicAdd(&s.counts[FRACTIONS], fractions);
}

/* The kernel for an image whose voxels are all read in order; NULL: it is not such an image. */
static void (*dense_kernel_of(const scan_params *s))(scan_params)
{
    const lob_device_image *image = &s->image;
    const int64_t bytes = image->voxels * (int64_t)lob_type_of(image->type)->bytes;
    if (!s->dense || s->view.flat || s->view.offset != 0 || s->section_voxels != image->voxels ||
        image->mask || image->ranged || (uintptr_t)image->stored % 16 != 0 ||
        (image->channels > 1 && bytes % 16 != 0))
        return NULL;
    switch (image->type) {
    case LOB_U8:
        return dense_kernel<uint8_t>;
    case LOB_I8:
        return dense_kernel<int8_t>;
    case LOB_U16:
        return dense_kernel<uint16_t>;
    case LOB_I16:
        return dense_kernel<int16_t>;
    case LOB_U32:
        return dense_kernel<uint32_t>;
    case LOB_I32:
        return dense_kernel<int32_t>;
    case LOB_F32:
        return image->channels == 1 ? dense_kernel<float> : NULL;
    default:
        return NULL;
    }
}

static lob_status launch_scan(lob_device *device, const scan_params *s, int64_t sections,
                              lob_error *error)
{
    const int64_t resident = 8 * (int64_t)lob_device_multiprocessors(device),
                  channels = s->image.channels;
    const int64_t chunks = sections * s->chunks;
    void (*const kernel)(scan_params) = dense_kernel_of(s);
    if (!kernel)
        return lob_launch(device, scan_kernel, "the scan for levels",
                          chunks < 2 * resident ? chunks : 2 * resident, THREADS, 0, *s, error);
    return lob_launch(device, kernel, "the scan for levels",
                      (chunks < resident ? chunks : resident) * channels, THREADS, 0, *s, error);
}

int64_t scan_bytes(int64_t sections, int channels)
{
    return sections * (2 * channels + COUNTS) * (int64_t)sizeof(u64);
}

/* An extreme back as the type's own value and bits. */
static void restore(const lob_device_image *image, u64 key, double *value, uint64_t *bits)
{
    *bits = 0;
    if (image->type == LOB_F32 || image->type == LOB_F64) {
        const u64 raw = key >> 63 ? key & ~(1ull << 63) : ~key;
        memcpy(value, &raw, sizeof raw);
        return;
    }
    *bits = image->type == LOB_U64 ? key : key ^ (1ull << 63);
    *value = image->type == LOB_U64 ? (double)*bits : (double)(int64_t)*bits;
}

static void unpack(lob_extremes *extremes, lob_levels *levels, const u64 *keys,
                   const scan_params *s, int64_t sections)
{
    const int64_t n = sections * s->image.channels;
    for (int64_t i = 0; i < sections; i++) {
        const u64 *counts = keys + 2 * n + i * COUNTS;
        levels[i].data_voxels = (int64_t)counts[DATA];
        levels[i].not_finite = (int64_t)counts[NOT_FINITE];
        levels[i].whole = counts[FRACTIONS] == 0;
    }
    for (int64_t i = 0; i < n; i++) {
        lob_extremes *e = &extremes[i];
        *e = lob_extremes{};
        e->any = levels[i / s->image.channels].data_voxels > 0;
        if (!e->any) continue;
        restore(&s->image, keys[i], &e->low, &e->low_bits);
        restore(&s->image, keys[n + i], &e->high, &e->high_bits);
    }
}

lob_status scan_extremes(lob_device *device, lob_extremes *extremes, lob_levels *levels,
                         const lob_device_image *image, const lob_device_view *view, void *work,
                         lob_error *error)
{
    const int64_t sections = view->flat ? view->side[2] : 1, n = sections * image->channels;
    scan_params s = {};
    s.image = *image;
    s.view = *view;
    s.section_voxels = (int64_t)view->side[0] * view->side[1] * (view->flat ? 1 : view->side[2]);
    s.chunks = (s.section_voxels + CHUNK - 1) / CHUNK;
    s.dense = view->stride[0] == 1 && view->stride[1] == view->side[0] &&
              (view->flat || view->stride[2] == (int64_t)view->side[0] * view->side[1]);
    s.low = (u64 *)work;
    s.high = s.low + n;
    s.counts = s.high + n;
    const size_t bytes = (size_t)scan_bytes(sections, image->channels);
    LOB_TRY(lob_device_enter(device, error));
    LOB_TRY(lob_device_fill(device, s.low, 0xff, n * (int64_t)sizeof(u64), error));
    LOB_TRY(lob_device_fill(device, s.high, 0, (int64_t)bytes - n * (int64_t)sizeof(u64), error));
    LOB_TRY(launch_scan(device, &s, sections, error));
    u64 *keys = (u64 *)malloc(bytes);
    if (!keys)
        return lob_fail(error, LOB_ENOMEM, "no memory left for the levels of %lld slices",
                        (long long)sections);
    const lob_status st = lob_device_download(device, keys, s.low, (int64_t)bytes, error);
    if (st == LOB_OK) unpack(extremes, levels, keys, &s, sections);
    free(keys);
    return st;
}

} /* namespace lob::levels */
