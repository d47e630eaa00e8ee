/* The scan for the levels' extremes on the device. */
#include "kernels/levels/levels_cuda.cuh"

#include <limits>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long wide;

enum { THREADS = 256, CHUNK = 32 * THREADS, COUNTS = 2 };

/* Extremes are kept as unsigned numbers in the order of the values, so that atomics can merge them.
 */
typedef struct {
    lob_device_image image;
    lob_device_view view;
    int64_t plane_voxels, chunks; /* of one plane */
    bool dense;                   /* a plane's voxels follow one another in memory */
    wide *low, *high;             /* planes * channels */
    wide *counts;                 /* planes * COUNTS: data, not finite */
} scan;

static __device__ wide ordered(const lob_device_image *image, int64_t i)
{
    if (image->type == LOB_U64) return lob_stored_bits(image, i);
    if (image->type != LOB_F32 && image->type != LOB_F64)
        return lob_stored_bits(image, i) ^ (1ull << 63);
    const wide bits = (wide)__double_as_longlong(lob_stored_value(image, i));
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static __device__ int64_t voxel_of(const scan *s, int64_t plane, int64_t i)
{
    const lob_device_view *view = &s->view;
    int64_t x, y, z = plane;
    if (i <= UINT32_MAX) { /* 64-bit division is a long routine */
        const uint32_t rest = (uint32_t)i / view->side[0];
        x = (uint32_t)i - rest * view->side[0];
        y = view->flat ? rest : rest % view->side[1];
        if (!view->flat) z = rest / view->side[1];
    } else {
        const int64_t rest = i / view->side[0];
        x = i - rest * view->side[0];
        y = view->flat ? rest : rest % view->side[1];
        if (!view->flat) z = rest / view->side[1];
    }
    return view->offset + x * view->stride[0] + y * view->stride[1] + z * view->stride[2];
}

static __device__ wide warp_least(wide value)
{
    for (int apart = 16; apart > 0; apart /= 2) {
        const wide other = __shfl_xor_sync(~0u, value, apart);
        if (other < value) value = other;
    }
    return value;
}

/* A chunk of a plane by a block; a block takes every gridDim.x-th chunk. */
static __global__ void __launch_bounds__(THREADS) scan_kernel(scan s)
{
    __shared__ wide low, high, counts[COUNTS];
    const int64_t planes = s.view.flat ? s.view.side[2] : 1;
    for (int64_t item = blockIdx.x; item < planes * s.chunks; item += gridDim.x) {
        const int64_t plane = item / s.chunks, first = item % s.chunks * CHUNK;
        const int64_t corner = s.view.offset + plane * s.view.stride[2];
        const int64_t last = first + CHUNK < s.plane_voxels ? first + CHUNK : s.plane_voxels;
        for (int c = 0; c < s.image.channels; c++) {
            if (threadIdx.x == 0) low = ~0ull, high = 0, counts[0] = counts[1] = 0;
            __syncthreads();
            wide least = ~0ull, most = 0;
            unsigned data = 0, not_finite = 0;
            for (int64_t i = first + threadIdx.x; i < last; i += THREADS) {
                const int64_t v = s.dense ? corner + i : voxel_of(&s, plane, i);
                const int state = lob_voxel_state(&s.image, v);
                data += state == LOB_VOXEL_DATA;
                not_finite += state == LOB_VOXEL_NOT_FINITE;
                if (state != LOB_VOXEL_DATA) continue;
                const wide value = ordered(&s.image, v + c * s.image.voxels);
                if (value < least) least = value;
                if (value > most) most = value;
            }
            least = warp_least(least);
            most = ~warp_least(~most);
            data = __reduce_add_sync(~0u, data);
            not_finite = __reduce_add_sync(~0u, not_finite);
            if (threadIdx.x % 32 == 0) {
                atomicMin(&low, least);
                atomicMax(&high, most);
                atomicAdd(&counts[0], (wide)data);
                atomicAdd(&counts[1], (wide)not_finite);
            }
            __syncthreads();
            if (threadIdx.x == 0 && counts[0]) {
                atomicMin(&s.low[plane * s.image.channels + c], low);
                atomicMax(&s.high[plane * s.image.channels + c], high);
            }
            if (threadIdx.x < COUNTS && c == 0 && counts[threadIdx.x])
                atomicAdd(&s.counts[plane * COUNTS + threadIdx.x], counts[threadIdx.x]);
            __syncthreads();
        }
    }
}

/* ---- the usual case: all voxels of a volume, one after the other ---- */

enum { AHEAD = 4 }; /* loads of a thread that are on their way together */

/* What fills a load. */
template <typename T> struct alignas(16) pack {
    static constexpr int n = 16 / sizeof(T);
    T value[n];
};

static __device__ inline bool is_finite(float value)
{
    return isfinite(value);
}

template <typename T> static __device__ inline bool is_finite(T)
{
    return true;
}

template <typename T> struct found {
    T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
    unsigned not_finite = 0;
};

template <typename T> static __device__ inline void take(found<T> *s, T value)
{
    if (!is_finite(value)) {
        s->not_finite++;
        return;
    }
    if (value < s->low) s->low = value;
    if (value > s->high) s->high = value;
}

/* Which zero a thread met first must not show: -0 becomes 0. */
static __device__ inline wide key_of(float value)
{
    const wide bits = (wide)__double_as_longlong((double)(value + 0.0f));
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

template <typename T> static __device__ inline wide key_of(T value)
{
    return (wide)(long long)value ^ (1ull << 63);
}

/* Blocks take turns with the channels. A float is a voxel's only channel. */
template <typename T> static __global__ void __launch_bounds__(THREADS) dense_kernel(scan s)
{
    __shared__ wide low, high, not_finite;
    const int channels = s.image.channels, c = (int)(blockIdx.x % (unsigned)channels);
    const int64_t step = (int64_t)(gridDim.x / (unsigned)channels) * THREADS;
    const int64_t first = (int64_t)(blockIdx.x / (unsigned)channels) * THREADS + threadIdx.x;
    const int64_t packs = s.plane_voxels / pack<T>::n;
    const T *from = (const T *)s.image.stored + c * s.image.voxels;
    found<T> mine;
    if (threadIdx.x == 0) low = ~0ull, high = not_finite = 0;
    __syncthreads();
    for (int64_t i = first; i < packs; i += AHEAD * step) {
        pack<T> some[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            some[k] = ((const pack<T> *)from)[i + k * step < packs ? i + k * step : i];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
#pragma unroll
            for (int j = 0; j < pack<T>::n; j++)
                if (i + k * step < packs) take(&mine, some[k].value[j]);
    }
    for (int64_t i = packs * pack<T>::n + first; i < s.plane_voxels; i += step)
        take(&mine, from[i]);
    const wide least = warp_least(key_of(mine.low)), most = ~warp_least(~key_of(mine.high));
    const unsigned strange = __reduce_add_sync(~0u, mine.not_finite);
    if (threadIdx.x % 32 == 0) {
        atomicMin(&low, least);
        atomicMax(&high, most);
        atomicAdd(&not_finite, (wide)strange);
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    atomicMin(&s.low[c], low);
    atomicMax(&s.high[c], high);
    if (blockIdx.x == 0) atomicAdd(&s.counts[0], (wide)s.plane_voxels);
    if (not_finite) {
        atomicAdd(&s.counts[0], 0 - not_finite);
        atomicAdd(&s.counts[1], not_finite);
    }
}

/* The kernel for such an image; NULL: it is none. */
static void (*dense_kernel_of(const scan *s))(scan)
{
    const lob_device_image *image = &s->image;
    const int64_t bytes = image->voxels * (int64_t)lob_type_of(image->type)->bytes;
    if (!s->dense || s->view.flat || s->view.offset != 0 || s->plane_voxels != image->voxels ||
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

static lob_status launch_scan(lob_device *device, const scan *s, int64_t planes, lob_error *error)
{
    const int64_t at_once = 8 * (int64_t)lob_device_multiprocessors(device),
                  channels = s->image.channels;
    const int64_t chunks = planes * s->chunks;
    void (*const kernel)(scan) = dense_kernel_of(s);
    if (!kernel)
        return lob_launch(device, scan_kernel, "the scan for levels",
                          chunks < 2 * at_once ? chunks : 2 * at_once, THREADS, 0, *s, error);
    return lob_launch(device, kernel, "the scan for levels",
                      (chunks < at_once ? chunks : at_once) * channels, THREADS, 0, *s, error);
}

int64_t lob_levels_scan_bytes(int64_t planes, int channels)
{
    return planes * (2 * channels + COUNTS) * (int64_t)sizeof(wide);
}

/* An extreme back as the type's own value and bits. */
static void restore(const lob_device_image *image, wide key, double *value, uint64_t *bits)
{
    *bits = 0;
    if (image->type == LOB_F32 || image->type == LOB_F64) {
        const wide raw = key >> 63 ? key & ~(1ull << 63) : ~key;
        memcpy(value, &raw, sizeof raw);
        return;
    }
    *bits = image->type == LOB_U64 ? key : key ^ (1ull << 63);
    *value = image->type == LOB_U64 ? (double)*bits : (double)(int64_t)*bits;
}

static void unpack(lob_extremes *extremes, int64_t *data, int64_t *not_finite, const wide *found,
                   const scan *s, int64_t planes)
{
    const int64_t n = planes * s->image.channels;
    for (int64_t p = 0; p < planes; p++) {
        data[p] = (int64_t)found[2 * n + p * COUNTS];
        not_finite[p] = (int64_t)found[2 * n + p * COUNTS + 1];
    }
    for (int64_t i = 0; i < n; i++) {
        lob_extremes *e = &extremes[i];
        *e = lob_extremes{};
        e->any = data[i / s->image.channels] > 0;
        if (!e->any) continue;
        restore(&s->image, found[i], &e->low, &e->low_bits);
        restore(&s->image, found[n + i], &e->high, &e->high_bits);
    }
}

lob_status lob_levels_scan_cuda(lob_device *device, lob_extremes *extremes, int64_t *data,
                                int64_t *not_finite, const lob_device_image *image,
                                const lob_device_view *view, void *work, lob_error *error)
{
    const int64_t planes = view->flat ? view->side[2] : 1, n = planes * image->channels;
    scan s = {};
    s.image = *image;
    s.view = *view;
    s.plane_voxels = (int64_t)view->side[0] * view->side[1] * (view->flat ? 1 : view->side[2]);
    s.chunks = (s.plane_voxels + CHUNK - 1) / CHUNK;
    s.dense = view->stride[0] == 1 && view->stride[1] == view->side[0] &&
              (view->flat || view->stride[2] == (int64_t)view->side[0] * view->side[1]);
    s.low = (wide *)work;
    s.high = s.low + n;
    s.counts = s.high + n;
    const size_t bytes = (size_t)lob_levels_scan_bytes(planes, image->channels);
    LOB_TRY(lob_device_enter(device, error));
    LOB_CUDA(
        cudaMemsetAsync(s.low, 0xff, (size_t)n * sizeof(wide), lob_device_cuda_stream(device)));
    LOB_CUDA(cudaMemsetAsync(s.high, 0, bytes - (size_t)n * sizeof(wide),
                             lob_device_cuda_stream(device)));
    LOB_TRY(launch_scan(device, &s, planes, error));
    wide *found = (wide *)malloc(bytes);
    if (!found)
        return lob_fail(error, LOB_ENOMEM, "no memory left for the levels of %lld planes",
                        (long long)planes);
    const lob_status st = lob_device_download(device, found, s.low, (int64_t)bytes, error);
    if (st == LOB_OK) unpack(extremes, data, not_finite, found, &s, planes);
    free(found);
    return st;
}
