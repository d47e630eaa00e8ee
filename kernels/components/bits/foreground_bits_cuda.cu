/* From an image to bits: which voxels are foreground. */
#include "kernels/components/bits/bits_params_cuda.cuh"

#include "volumes/labels.h"

enum { BITS_THREADS = 256, BITS_WARPS = BITS_THREADS / WORD, BITS_AHEAD = 8 };

enum { OUTSIDE, BACKGROUND, NOT_FINITE, FOREGROUND };

template <typename T> static __device__ inline int voxel_state(const scene &s, int64_t v)
{
    if (s.mask && !s.mask[v]) return OUTSIDE;
    const T *stored = (const T *)s.stored + v;
    const bool plain = !s.rule.ranged && !s.rule.scaled;
    bool all = true, any = false;
    for (int c = 0; c < s.channels; c++) {
        const T value = stored[c * s.voxels];
        if (!std::is_integral<T>::value && !lob_component_finite((double)value)) return NOT_FINITE;
        const bool in = plain ? value != 0 : lob_component_foreground((double)value, &s.rule);
        all = all && in;
        any = any || in;
    }
    return (s.rule.ranged ? all : any) ? FOREGROUND : BACKGROUND;
}

/*
 * A warp takes a row, a lane a voxel of each of its words, several words at a time. PLAIN: of one
 * channel what is not 0, without a mask, so that all loads are on their way before the first is
 * looked at.
 */
template <typename T, bool PLAIN>
static __global__ void __launch_bounds__(BITS_THREADS) filled_kernel(scene s)
{
    const runs &r = s.r;
    const int lane = (int)threadIdx.x % WORD;
    const int64_t rows = (int64_t)r.ny * r.nz, step = (int64_t)gridDim.x * BITS_WARPS;
    uint32_t foreground = 0, not_finite = 0; /* a warp's share of rows is far below 2^32 */
    for (int64_t row = (int64_t)blockIdx.x * BITS_WARPS + threadIdx.x / WORD; row < rows;
         row += step)
        for (int w = 0; w < r.words; w += BITS_AHEAD) {
            uint32_t mine = 0;
            int state[BITS_AHEAD];
            T value[BITS_AHEAD];
#pragma unroll
            for (int i = 0; i < BITS_AHEAD; i++) {
                const int x = (w + i) * WORD + lane;
                if (PLAIN)
                    value[i] = x < r.nx ? ((const T *)s.stored)[row * r.nx + x] : T(0);
                else
                    state[i] = x < r.nx ? voxel_state<T>(s, row * r.nx + x) : OUTSIDE;
            }
#pragma unroll
            for (int i = 0; PLAIN && i < BITS_AHEAD; i++)
                state[i] = !std::is_integral<T>::value && !lob_component_finite((double)value[i])
                               ? NOT_FINITE
                           : value[i] != 0 ? FOREGROUND
                                           : BACKGROUND;
#pragma unroll
            for (int i = 0; i < BITS_AHEAD; i++) {
                const uint32_t bits = __ballot_sync(~0u, state[i] == FOREGROUND);
                if (!std::is_integral<T>::value) not_finite += state[i] == NOT_FINITE;
                foreground += state[i] == FOREGROUND;
                if (lane == i) mine = bits;
            }
            if (lane < BITS_AHEAD && w + lane < r.words) r.filled[row * r.words + w + lane] = mine;
        }
    count_states(s.counts, foreground, not_finite);
}

/* ---- sixteen bytes of voxels a lane ---- */

enum { LOADS = 4 }; /* of a lane, all on their way before the first is looked at */

/* Rows that are whole numbers of 16 bytes; the volume is one where rows are whole words. */
typedef struct {
    scene s;
    int64_t rows, row_voxels, row_words;
    int64_t stretches; /* of a row, each a warp's */
} filling;

/* Bit k: byte k is not 0. */
static __device__ inline uint32_t bytes_not_zero(uint32_t bytes)
{
    const uint32_t low = UINT32_C(0x7f7f7f7f), high = ((bytes & low) + low) | bytes;
    return ((high & ~low) >> 7) * UINT32_C(0x10204080) >> 28;
}

/* Bit k: voxel k of 16 bytes is foreground. */
template <typename T, bool PLAIN>
static __device__ inline uint32_t filled_of(const lob_component_rule &rule, const uint4 &bytes,
                                            uint32_t *not_finite)
{
    enum { VOXELS = sizeof(uint4) / sizeof(T) };
    if (PLAIN && sizeof(T) == 1)
        return bytes_not_zero(bytes.x) | bytes_not_zero(bytes.y) << 4 |
               bytes_not_zero(bytes.z) << 8 | bytes_not_zero(bytes.w) << 12;
    T value[VOXELS];
    memcpy(value, &bytes, sizeof value);
    uint32_t filled = 0;
#pragma unroll
    for (int k = 0; k < VOXELS; k++) {
        const bool finite = std::is_integral<T>::value || value[k] - value[k] == T(0);
        const bool in =
            PLAIN ? value[k] != T(0) : lob_component_foreground((double)value[k], &rule);
        *not_finite += !finite;
        filled |= (uint32_t)(finite && in) << k;
    }
    return filled;
}

template <typename T, bool PLAIN>
static __global__ void __launch_bounds__(BITS_THREADS) filled_quads_kernel(filling f)
{
    enum { VOXELS = sizeof(uint4) / sizeof(T), LANES = WORD / VOXELS }; /* of a load; of a word */
    const scene &s = f.s;
    const int lane = (int)threadIdx.x % WORD;
    const int64_t units = f.rows * f.stretches, step = (int64_t)gridDim.x * BITS_WARPS;
    uint32_t foreground = 0, not_finite = 0;
    for (int64_t unit = (int64_t)blockIdx.x * BITS_WARPS + threadIdx.x / WORD; unit < units;
         unit += step) {
        const int64_t row = unit / f.stretches;
        const int64_t first = (unit - row * f.stretches) * (LOADS * WORD * VOXELS) + lane * VOXELS;
        const T *stored = (const T *)s.stored + row * f.row_voxels;
        uint32_t *words = s.r.filled + row * f.row_words;
        uint4 bytes[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            const int64_t x = first + i * WORD * VOXELS;
            bytes[i] = make_uint4(0, 0, 0, 0);
            if (x < f.row_voxels) bytes[i] = *(const uint4 *)(stored + x);
        }
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            const int64_t x = first + i * WORD * VOXELS;
            uint32_t filled = filled_of<T, PLAIN>(s.rule, bytes[i], &not_finite);
            if (x >= f.row_voxels) filled = 0;
            foreground += (uint32_t)__popc(filled);
            filled <<= lane % LANES * VOXELS;
#pragma unroll
            for (int apart = 1; apart < LANES; apart *= 2)
                filled |= __shfl_xor_sync(~0u, filled, apart);
            if (lane % LANES == 0 && x < f.row_words * WORD) words[x / WORD] = filled;
        }
    }
    count_states(s.counts, foreground, not_finite);
}

/* ---- the call ---- */

/* Whether a voxel's value alone says that it is foreground, by not being 0. */
static bool is_plain(const scene &s)
{
    return s.channels == 1 && !s.mask && !s.rule.ranged && !s.rule.scaled;
}

/* Whether 16 bytes are a whole number of a row's voxels, and all rows begin at such. */
static bool has_quads(const scene &s, int bytes)
{
    return s.channels == 1 && !s.mask && (int64_t)s.r.nx * bytes % (int64_t)sizeof(uint4) == 0 &&
           (uintptr_t)s.stored % sizeof(uint4) == 0;
}

template <typename T>
static lob_status fill_quads(joining *j, const scene &s, bool plain, lob_error *error)
{
    const int64_t voxels = LOADS * WORD * (int64_t)(sizeof(uint4) / sizeof(T));
    const bool whole = s.r.nx % WORD == 0;
    filling f = {s, 0, 0, 0, 0};
    f.rows = whole ? 1 : (int64_t)s.r.ny * s.r.nz;
    f.row_voxels = whole ? s.voxels : s.r.nx;
    f.row_words = whole ? s.r.row_words : s.r.words;
    f.stretches = (f.row_voxels + voxels - 1) / voxels;
    return lob_launch(j->device,
                      plain ? filled_quads_kernel<T, true> : filled_quads_kernel<T, false>,
                      "finding the foreground",
                      lob_grid_blocks(j->device, f.rows * f.stretches * WORD, BITS_THREADS),
                      BITS_THREADS, 0, f, error);
}

template <typename T> static lob_status fill(joining *j, const scene &s, lob_error *error)
{
    const int64_t rows = (int64_t)j->r.ny * j->r.nz;
    const bool plain = is_plain(s);
    if (has_quads(s, (int)sizeof(T))) return fill_quads<T>(j, s, plain, error);
    return lob_launch(j->device, plain ? filled_kernel<T, true> : filled_kernel<T, false>,
                      "finding the foreground",
                      lob_grid_blocks(j->device, rows * WORD, BITS_THREADS), BITS_THREADS, 0, s,
                      error);
}

static lob_status fill_any(joining *j, const scene &s, lob_error *error)
{
    return with_type(j->in->image->type,
                     [&](auto of_type) { return fill<decltype(of_type)>(j, s, error); });
}

lob_status lob_joining_classify(joining *j, lob_error *error)
{
    const lob_volume *image = j->in->image;
    scene s = {};
    s.r = j->r;
    s.stored = j->arrays->image;
    s.mask = j->arrays->mask;
    s.voxels = lob_voxels(image);
    s.channels = image->channels;
    s.tolerance = j->options->join == LOB_JOIN_TOLERANCE;
    s.rule = j->rule;
    s.counts = j->counts;
    LOB_CUDA(
        cudaMemsetAsync(j->counts, 0, 2 * sizeof *j->counts, lob_device_cuda_stream(j->device)));
    const bool faces = s.r.directed && s.r.near == 1 && s.channels == 1;
    const bool plain = faces && is_plain(s); /* then one kernel does both */
    if (!plain) LOB_TRY(fill_any(j, s, error));
    if (faces) return lob_joining_compare_faces(j, s, plain, error);
    return s.r.directed ? lob_joining_compare(j, s, error) : LOB_OK;
}

/* ---- the complement ---- */

typedef struct {
    runs r;
    const void *labels;
    lob_type type;
} labelled;

/* Foreground is what has no label. */
static __global__ void __launch_bounds__(BITS_THREADS) unlabelled_kernel(labelled l)
{
    const runs &r = l.r;
    const int lane = (int)threadIdx.x % WORD;
    const int64_t rows = (int64_t)r.ny * r.nz, step = (int64_t)gridDim.x * BITS_WARPS;
    for (int64_t row = (int64_t)blockIdx.x * BITS_WARPS + threadIdx.x / WORD; row < rows;
         row += step)
        for (int w = 0; w < r.words; w++) {
            const int x = w * WORD + lane;
            const bool none = x < r.nx && lob_label_at(l.labels, l.type, row * r.nx + x) == 0;
            const uint32_t bits = __ballot_sync(~0u, none);
            if (lane == 0) r.filled[row * r.words + w] = bits;
        }
}

lob_status lob_joining_unlabelled(joining *j, const void *labels, lob_type type, lob_error *error)
{
    const labelled l = {j->r, labels, type};
    const int64_t rows = (int64_t)j->r.ny * j->r.nz;
    return lob_launch(j->device, unlabelled_kernel, "finding the background",
                      lob_grid_blocks(j->device, rows * WORD, BITS_THREADS), BITS_THREADS, 0, l,
                      error);
}
