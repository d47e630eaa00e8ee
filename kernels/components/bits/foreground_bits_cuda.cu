/* From voxels to a bit each: which are foreground; or, for holes, which have no label. */
#include "kernels/components/bits/bits_params_cuda.cuh"

namespace lob::components
{

enum { BITS_THREADS = 256, BITS_WARPS = BITS_THREADS / WARP, WORDS_AHEAD = 8 };

enum { OUTSIDE, BACKGROUND, NOT_FINITE, FOREGROUND };

template <typename T> static __device__ inline int voxel_state(const bits_params &b, int64_t v)
{
    if (b.image.mask && !b.image.mask[v]) return OUTSIDE;
    const T *stored = (const T *)b.image.stored + v;
    const bool nonzero = !b.rule.ranged && !b.rule.scaled;
    bool all = true, any = false;
    for (int c = 0; c < b.image.channels; c++) {
        const T value = stored[c * b.image.voxels];
        if (!std::is_integral<T>::value && !lob_component_finite((double)value)) return NOT_FINITE;
        const bool in = nonzero ? value != 0 : lob_component_foreground((double)value, &b.rule);
        all = all && in;
        any = any || in;
    }
    return (b.rule.ranged ? all : any) ? FOREGROUND : BACKGROUND;
}

/*
 * A warp takes a row, a lane a voxel of each of its words, several words at a time. NONZERO: of one
 * channel what is not 0, without a mask, so that all loads are issued before the first is used.
 */
template <typename T, bool NONZERO>
static __global__ void __launch_bounds__(BITS_THREADS) filled_kernel(bits_params b)
{
    const join_params &p = b.join;
    const int lane = (int)threadIdx.x % WARP;
    const int64_t rows = (int64_t)p.ny * p.nz, step = (int64_t)gridDim.x * BITS_WARPS;
    uint32_t foreground = 0, not_finite = 0; /* a warp's share of rows is far below 2^32 */
    for (int64_t row = (int64_t)blockIdx.x * BITS_WARPS + threadIdx.x / WARP; row < rows;
         row += step)
        for (int w = 0; w < p.words; w += WORDS_AHEAD) {
            uint32_t mine = 0;
            int state[WORDS_AHEAD];
            T value[WORDS_AHEAD];
#pragma unroll
            for (int i = 0; i < WORDS_AHEAD; i++) {
                const int x = (w + i) * WORD + lane;
                if (NONZERO)
                    value[i] = x < p.nx ? ((const T *)b.image.stored)[row * p.nx + x] : T(0);
                else
                    state[i] = x < p.nx ? voxel_state<T>(b, row * p.nx + x) : OUTSIDE;
            }
#pragma unroll
            for (int i = 0; NONZERO && i < WORDS_AHEAD; i++)
                state[i] = !std::is_integral<T>::value && !lob_component_finite((double)value[i])
                               ? NOT_FINITE
                           : value[i] != 0 ? FOREGROUND
                                           : BACKGROUND;
#pragma unroll
            for (int i = 0; i < WORDS_AHEAD; i++) {
                const uint32_t bits = __ballot_sync(ALL_LANES, state[i] == FOREGROUND);
                if (!std::is_integral<T>::value) not_finite += state[i] == NOT_FINITE;
                foreground += state[i] == FOREGROUND;
                if (lane == i) mine = bits;
            }
            if (lane < WORDS_AHEAD && w + lane < p.words) p.filled[row * p.words + w + lane] = mine;
        }
    add_counts(b.counts, foreground, not_finite);
}

/* ---- quads: 16 bytes of voxels a lane ---- */

enum { LOADS = 4 }; /* of a lane, all issued before the first is used */

/* Rows that are whole numbers of 16 bytes; the volume is one where rows are whole words. */
typedef struct {
    bits_params b;
    int64_t rows, row_voxels, row_words;
    int64_t row_parts; /* of a row, a warp each */
} fill_params;

/* Bit k: byte k is not 0. */
static __device__ inline uint32_t bytes_not_zero(uint32_t bytes)
{
    const uint32_t low = UINT32_C(0x7f7f7f7f), high = ((bytes & low) + low) | bytes;
    return ((high & ~low) >> 7) * UINT32_C(0x10204080) >> 28;
}

/* Bit k: voxel k of 16 bytes is foreground. */
template <typename T, bool NONZERO>
static __device__ inline uint32_t filled_of(const lob_component_rule &rule, const uint4 &bytes,
                                            uint32_t *not_finite)
{
    enum { VOXELS = sizeof(uint4) / sizeof(T) };
    if (NONZERO && sizeof(T) == 1)
        return bytes_not_zero(bytes.x) | bytes_not_zero(bytes.y) << 4 |
               bytes_not_zero(bytes.z) << 8 | bytes_not_zero(bytes.w) << 12;
    T value[VOXELS];
    memcpy(value, &bytes, sizeof value);
    uint32_t filled = 0;
#pragma unroll
    for (int k = 0; k < VOXELS; k++) {
        const bool finite = std::is_integral<T>::value || value[k] - value[k] == T(0);
        const bool in =
            NONZERO ? value[k] != T(0) : lob_component_foreground((double)value[k], &rule);
        *not_finite += !finite;
        filled |= (uint32_t)(finite && in) << k;
    }
    return filled;
}

template <typename T, bool NONZERO>
static __global__ void __launch_bounds__(BITS_THREADS) filled_quads_kernel(fill_params f)
{
    enum { VOXELS = sizeof(uint4) / sizeof(T), LANES = WORD / VOXELS }; /* of a load; of a word */
    const bits_params &b = f.b;
    const int lane = (int)threadIdx.x % WARP;
    const int64_t items = f.rows * f.row_parts, step = (int64_t)gridDim.x * BITS_WARPS;
    uint32_t foreground = 0, not_finite = 0;
    for (int64_t item = (int64_t)blockIdx.x * BITS_WARPS + threadIdx.x / WARP; item < items;
         item += step) {
        const int64_t row = item / f.row_parts;
        const int64_t first = (item - row * f.row_parts) * (LOADS * WARP * VOXELS) + lane * VOXELS;
        const T *stored = (const T *)b.image.stored + row * f.row_voxels;
        uint32_t *words = b.join.filled + row * f.row_words;
        uint4 bytes[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            const int64_t x = first + i * WARP * VOXELS;
            bytes[i] = make_uint4(0, 0, 0, 0);
            if (x < f.row_voxels) bytes[i] = *(const uint4 *)(stored + x);
        }
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            const int64_t x = first + i * WARP * VOXELS;
            uint32_t filled = filled_of<T, NONZERO>(b.rule, bytes[i], &not_finite);
            if (x >= f.row_voxels) filled = 0;
            foreground += (uint32_t)__popc(filled);
            filled <<= lane % LANES * VOXELS;
#pragma unroll
            for (int apart = 1; apart < LANES; apart *= 2)
                filled |= __shfl_xor_sync(ALL_LANES, filled, apart);
            if (lane % LANES == 0 && x < f.row_words * WORD) words[x / WORD] = filled;
        }
    }
    add_counts(b.counts, foreground, not_finite);
}

/* ---- the call ---- */

/* Whether a voxel is foreground by not being 0. */
static bool is_nonzero(const bits_params &b)
{
    return b.image.channels == 1 && !b.image.mask && !b.rule.ranged && !b.rule.scaled;
}

/* Whether a row is a whole number of 16 bytes, and all rows begin at a multiple of these. */
static bool has_quads(const bits_params &b, int bytes)
{
    return b.image.channels == 1 && !b.image.mask &&
           (int64_t)b.join.nx * bytes % (int64_t)sizeof(uint4) == 0 &&
           (uintptr_t)b.image.stored % sizeof(uint4) == 0;
}

template <typename T>
static lob_status fill_quads(call *c, const bits_params &b, bool nonzero, lob_error *error)
{
    const int64_t voxels = LOADS * WARP * (int64_t)(sizeof(uint4) / sizeof(T));
    const join_params &p = b.join;
    const bool whole = p.nx % WORD == 0;
    fill_params f = {b, 0, 0, 0, 0};
    f.rows = whole ? 1 : (int64_t)p.ny * p.nz;
    f.row_voxels = whole ? b.image.voxels : p.nx;
    f.row_words = whole ? p.volume_words : p.words;
    f.row_parts = (f.row_voxels + voxels - 1) / voxels;
    return lob_launch_over(
        c->device, nonzero ? filled_quads_kernel<T, true> : filled_quads_kernel<T, false>,
        "finding the foreground", f.rows * f.row_parts * WARP, BITS_THREADS, f, error);
}

template <typename T> static lob_status fill(call *c, const bits_params &b, lob_error *error)
{
    const int64_t rows = (int64_t)b.join.ny * b.join.nz;
    const bool nonzero = is_nonzero(b);
    if (has_quads(b, (int)sizeof(T))) return fill_quads<T>(c, b, nonzero, error);
    return lob_launch_over(c->device, nonzero ? filled_kernel<T, true> : filled_kernel<T, false>,
                           "finding the foreground", rows * WARP, BITS_THREADS, b, error);
}

lob_status find_foreground(call *c, lob_error *error)
{
    bits_params b = {};
    b.join = c->join;
    b.image = lob_device_image_of(c->in->image, c->arrays->image, c->arrays->mask, NULL);
    b.rule = c->rule;
    b.tolerance = c->options->join == LOB_JOIN_TOLERANCE;
    b.counts = c->counts;
    LOB_TRY(lob_device_fill(c->device, c->counts, 0, 3 * sizeof *c->counts, error));
    const bool faces = b.join.by_value && b.join.connectivity == 1 && b.image.channels == 1;
    const bool together = faces && is_nonzero(b); /* one kernel finds foreground and compares */
    if (!together)
        LOB_TRY(with_type(b.image.type,
                          [&](auto of_type) { return fill<decltype(of_type)>(c, b, error); }));
    if (faces) return compare_faces(c, b, together, error);
    return b.join.by_value ? compare_neighbours(c, b, error) : LOB_OK;
}

/* What is 0 of the labels as an image. */
lob_status find_background(call *c, const void *labels, lob_type type, lob_error *error)
{
    lob_volume volume = *c->in->image;
    bits_params b = {};
    volume.type = type;
    volume.channels = 1;
    b.join = c->join;
    b.image = lob_device_image_of(&volume, labels, NULL, NULL);
    b.rule.slope = 1;
    b.rule.ranged = true; /* from 0 to 0 */
    b.counts = c->counts;
    LOB_TRY(lob_device_fill(c->device, c->counts, 0, 3 * sizeof *c->counts, error));
    return with_type(type, [&](auto of_type) { return fill<decltype(of_type)>(c, b, error); });
}

} /* namespace lob::components */
