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

/* Add up what the threads of a block counted. */
static __device__ inline void count_states(wide *counts, uint32_t foreground, uint32_t not_finite)
{
    __shared__ wide sum[2];
    if (threadIdx.x < 2) sum[threadIdx.x] = 0;
    __syncthreads();
    foreground = __reduce_add_sync(~0u, foreground);
    not_finite = __reduce_add_sync(~0u, not_finite);
    if (threadIdx.x % WORD == 0) {
        atomicAdd(&sum[0], (wide)foreground);
        atomicAdd(&sum[1], (wide)not_finite);
    }
    __syncthreads();
    if (threadIdx.x < 2 && sum[threadIdx.x]) atomicAdd(&counts[threadIdx.x], sum[threadIdx.x]);
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

#define APART_OF(type, ctype, name, integer, lowest, highest) \
    static __device__ inline double apart(ctype a, ctype b)   \
    {                                                         \
        return lob_component_apart_##ctype(a, b);             \
    }
LOB_TYPE_LIST(APART_OF)
#undef APART_OF

/* Whether two voxels are joined, if both are foreground. */
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

/* The same of one channel's values. */
template <typename T> static __device__ inline bool alike_values(const scene &s, T a, T b)
{
    return s.tolerance ? apart(a, b) <= s.rule.limit : a == b;
}

/* The row before a row in one of four ways, and its words around word w. */
typedef struct {
    int64_t row; /* a row of the volume in any case */
    uint32_t left, here, right;
} row_before;

static __device__ inline row_before row_at(const runs &r, int y, int z, int w, int dy, int dz)
{
    row_before b;
    const bool inside = (uint32_t)(y + dy) < (uint32_t)r.ny && z + dz >= 0;
    b.row = (int64_t)(inside ? z + dz : z) * r.ny + (inside ? y + dy : y);
    b.left = row_word(r, r.filled, y + dy, z + dz, w - 1);
    b.here = row_word(r, r.filled, y + dy, z + dz, w);
    b.right = row_word(r, r.filled, y + dy, z + dz, w + 1);
    return b;
}

/* A warp takes a word in all directions. SINGLE: of one channel, so that no load waits. */
template <typename T, bool SINGLE>
static __device__ inline void join_word(const scene &s, int y, int z, int w)
{
    const runs &r = s.r;
    const int lane = (int)threadIdx.x % WORD, x = w * WORD + lane;
    const int from_x = x < r.nx ? x : r.nx - 1;
    const int64_t row = (int64_t)z * r.ny + y;
    const uint32_t filled = r.filled[row * r.words + w];
    const T *stored = (const T *)s.stored;
    const T own = stored[row * r.nx + from_x];
    uint32_t mine = 0; /* lane k has the bits of direction k */
    static const int before[5][2] = {
        {0,  0 },
        {-1, 0 },
        {-1, -1},
        {0,  -1},
        {1,  -1}
    };
#pragma unroll
    for (int k = 0; k < 5; k++) {
        const int dy = before[k][0], dz = before[k][1];
        if (!r.plane[direction_of(k ? 0 : -1, dy, dz)]) continue;
        const row_before b = row_at(r, y, z, w, dy, dz);
#pragma unroll
        for (int dx = -1; dx <= (k ? 1 : -1); dx++) {
            const int direction = direction_of(dx, dy, dz);
            if (!r.plane[direction]) continue;
            const uint32_t to = dx < 0   ? lob_bits_back(b.here, b.left)
                                : dx > 0 ? lob_bits_ahead(b.here, b.right)
                                         : b.here;
            const int to_x = min(max(from_x + dx, 0), r.nx - 1);
            const uint32_t both = filled & to;
            bool joined;
            if (SINGLE)
                joined = alike_values<T>(s, own, stored[b.row * r.nx + to_x]);
            else
                joined =
                    (both >> lane & 1) && alike<T>(s, row * r.nx + from_x, b.row * r.nx + to_x);
            const uint32_t bits = __ballot_sync(~0u, joined) & both;
            if (lane == direction) mine = bits;
        }
    }
    if (lane < DIRECTIONS && r.plane[lane]) r.plane[lane][row * r.words + w] = mine;
}

template <typename T, bool SINGLE>
static __global__ void __launch_bounds__(BITS_THREADS) planes_kernel(scene s)
{
    const runs &r = s.r;
    const int64_t rows = (int64_t)r.ny * r.nz, step = (int64_t)gridDim.x * BITS_WARPS;
    for (int64_t row = (int64_t)blockIdx.x * BITS_WARPS + threadIdx.x / WORD; row < rows;
         row += step) {
        const int z = (int)(row / r.ny), y = (int)(row - (int64_t)z * r.ny);
        for (int w = 0; w < r.words; w++) join_word<T, SINGLE>(s, y, z, w);
    }
}

static lob_status launch(joining *j, void (*kernel)(scene), const char *name, const scene &s,
                         lob_error *error)
{
    const int64_t rows = (int64_t)j->r.ny * j->r.nz;
    return lob_launch(j->device, kernel, name, lob_blocks(j->device, rows * WORD, BITS_THREADS),
                      BITS_THREADS, 0, s, error);
}

template <typename T> static lob_status classify(joining *j, const scene &s, lob_error *error)
{
    const bool single = s.channels == 1;
    const bool plain = single && !s.mask && !s.rule.ranged && !s.rule.scaled;
    LOB_TRY(launch(j, plain ? filled_kernel<T, true> : filled_kernel<T, false>,
                   "finding the foreground", s, error));
    if (!j->r.directed) return LOB_OK;
    return launch(j, single ? planes_kernel<T, true> : planes_kernel<T, false>,
                  "comparing neighbours", s, error);
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
