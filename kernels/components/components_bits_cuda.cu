/* From an image to bits: which voxels are foreground, and which neighbours are joined. */
#include "kernels/components/components_job_cuda.cuh"

#include "kernels/components/components_voxel.h"
#include "volumes/labels.h"

#include <type_traits>

enum { BITS_THREADS = 256, BITS_WARPS = BITS_THREADS / WORD, BITS_AHEAD = 8 };

/* An image in device memory. */
typedef struct {
    runs r;
    const void *stored;
    const uint8_t *mask;
    int64_t voxels;
    int channels;
    bool tolerance;
    lob_component_rule rule;
    wide *counts; /* foreground, not finite */
} scene;

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

/* Add up what the warps of a block counted. */
static __device__ inline void count_states(wide *counts, wide foreground, wide not_finite)
{
    __shared__ wide sum[2];
    if (threadIdx.x < 2) sum[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x % WORD == 0) {
        atomicAdd(&sum[0], foreground);
        atomicAdd(&sum[1], not_finite);
    }
    __syncthreads();
    if (threadIdx.x < 2 && sum[threadIdx.x]) atomicAdd(&counts[threadIdx.x], sum[threadIdx.x]);
}

/* A warp takes a row, a lane a voxel of each of its words, several words at a time. */
template <typename T> static __global__ void __launch_bounds__(BITS_THREADS) filled_kernel(scene s)
{
    const runs &r = s.r;
    const int lane = (int)threadIdx.x % WORD;
    const int64_t rows = (int64_t)r.ny * r.nz, step = (int64_t)gridDim.x * BITS_WARPS;
    wide foreground = 0, not_finite = 0;
    for (int64_t row = (int64_t)blockIdx.x * BITS_WARPS + threadIdx.x / WORD; row < rows;
         row += step)
        for (int w = 0; w < r.words; w += BITS_AHEAD) {
            int state[BITS_AHEAD];
#pragma unroll
            for (int i = 0; i < BITS_AHEAD; i++) {
                const int x = (w + i) * WORD + lane;
                state[i] = x < r.nx ? voxel_state<T>(s, row * r.nx + x) : OUTSIDE;
            }
#pragma unroll
            for (int i = 0; i < BITS_AHEAD; i++) {
                const uint32_t bits = __ballot_sync(~0u, state[i] == FOREGROUND);
                if (!std::is_integral<T>::value)
                    not_finite += (wide)__popc(__ballot_sync(~0u, state[i] == NOT_FINITE));
                foreground += (wide)__popc(bits);
                if (lane == 0 && w + i < r.words) r.filled[row * r.words + w + i] = bits;
            }
        }
    count_states(s.counts, foreground, not_finite);
}

#define APART_OF(type, ctype, name, integer, lowest, highest) \
    static __device__ inline double apart(ctype a, ctype b)   \
    {                                                         \
        return lob_component_apart_##ctype(a, b);             \
    }
LOB_TYPE_LIST(APART_OF)
#undef APART_OF

/* Whether two foreground voxels are joined. */
template <typename T> static __device__ inline bool alike(const scene &s, int64_t a, int64_t b)
{
    const T *stored = (const T *)s.stored;
    double sum = 0;
    for (int c = 0; c < s.channels; c++) {
        const T of_a = stored[a + c * s.voxels], of_b = stored[b + c * s.voxels];
        if (!s.tolerance && of_a != of_b) return false;
        if (s.tolerance) sum += apart(of_a, of_b);
    }
    return !s.tolerance || sum <= s.rule.limit;
}

/* One word in one direction. */
template <typename T>
static __device__ inline void join_word(const scene &s, int y, int z, int w, int dx, int dy, int dz)
{
    const runs &r = s.r;
    uint32_t *plane = r.plane[direction_of(dx, dy, dz)];
    if (!plane) return;
    const int x = w * WORD + (int)threadIdx.x % WORD;
    const int64_t row = (int64_t)z * r.ny + y, to = row + (int64_t)dz * r.ny + dy;
    const uint32_t from_bits = row_word(r, r.filled, y, z, w);
    uint32_t to_bits = row_word(r, r.filled, y + dy, z + dz, w);
    if (dx < 0) to_bits = lob_bits_back(to_bits, row_word(r, r.filled, y + dy, z + dz, w - 1));
    if (dx > 0) to_bits = lob_bits_ahead(to_bits, row_word(r, r.filled, y + dy, z + dz, w + 1));
    const bool both = (from_bits & to_bits) >> (x % WORD) & 1;
    const bool joined = both && alike<T>(s, row * r.nx + x, to * r.nx + x + dx);
    const uint32_t bits = __ballot_sync(~0u, joined);
    if (x % WORD == 0) plane[row * r.words + w] = bits;
}

template <typename T> static __global__ void __launch_bounds__(BITS_THREADS) planes_kernel(scene s)
{
    const runs &r = s.r;
    const int64_t rows = (int64_t)r.ny * r.nz, step = (int64_t)gridDim.x * BITS_WARPS;
    for (int64_t row = (int64_t)blockIdx.x * BITS_WARPS + threadIdx.x / WORD; row < rows;
         row += step) {
        const int z = (int)(row / r.ny), y = (int)(row - (int64_t)z * r.ny);
        for (int w = 0; w < r.words; w++) {
            join_word<T>(s, y, z, w, -1, 0, 0);
#pragma unroll
            for (int dx = -1; dx <= 1; dx++) {
                join_word<T>(s, y, z, w, dx, -1, 0);
                join_word<T>(s, y, z, w, dx, -1, -1);
                join_word<T>(s, y, z, w, dx, 0, -1);
                join_word<T>(s, y, z, w, dx, 1, -1);
            }
        }
    }
}

template <typename T> static lob_status classify(joining *j, const scene &s, lob_error *error)
{
    const int64_t rows = (int64_t)j->r.ny * j->r.nz;
    const int64_t blocks = lob_blocks(j->device, rows * WORD, BITS_THREADS);
    LOB_TRY(lob_launch(j->device, filled_kernel<T>, "finding the foreground", blocks, BITS_THREADS,
                       0, s, error));
    if (!j->r.directed) return LOB_OK;
    return lob_launch(j->device, planes_kernel<T>, "comparing neighbours", blocks, BITS_THREADS, 0,
                      s, error);
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
    LOB_CUDA(cudaMemsetAsync(j->counts, 0, 2 * sizeof *j->counts, j->device->stream));
#define CLASSIFY(type_, ctype, name, integer, lowest, highest) \
    case type_:                                                \
        return classify<ctype>(j, s, error);
    switch (image->type) {
        LOB_TYPE_LIST(CLASSIFY)
    case LOB_TYPES:
        break;
    }
#undef CLASSIFY
    return LOB_EINTERNAL;
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
                      lob_blocks(j->device, rows * WORD, BITS_THREADS), BITS_THREADS, 0, l, error);
}
