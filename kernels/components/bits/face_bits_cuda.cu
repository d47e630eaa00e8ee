/*
 * Which neighbours through faces are joined, of one channel: bits for three directions; also the
 * foreground, where it is what is not 0.
 */
#include "kernels/components/bits/bits_params_cuda.cuh"

namespace lob::components
{

enum {
    FACES_WARPS = 8,
    FACES_THREADS = FACES_WARPS * WARP,
    WARP_WORDS = 8,     /* of a row that a warp has at once: they fill a 32-byte sector */
    MAX_WARP_ROWS = 16, /* that it takes one after the other along y */
    MIN_WARP_ROWS = 4,
    ENOUGH_WARPS = 2 * 64 /* for a multiprocessor */
};

/* Bit arrays; lane FACE * WARP_WORDS + i of a warp writes word i of one. */
enum { FILLED, ALONG_X, ALONG_Y, ALONG_Z };

template <typename C> struct face_params {
    bits_params b;
    C alike;
    uint32_t word_groups;           /* of WARP_WORDS in a row */
    uint32_t warp_rows, row_groups; /* rows of a warp; of as many in a slice */
    uint32_t slices;                /* of consecutive warps: they share what caches hold */
    uint32_t items;                 /* for warps */
};

/* What a lane writes of every row. */
typedef struct {
    int face;
    uint32_t *bits; /* NULL: nothing */
    int32_t before; /* words from a word to the one that its pairs are with; to the left: 1 */
} face_lane;

template <bool NONZERO> static __device__ inline face_lane lane_of(const join_params &p, int w)
{
    const int lane = (int)threadIdx.x % WARP;
    face_lane l = {lane / WARP_WORDS, NULL, 0};
    if (l.face == FILLED) l.bits = NONZERO ? p.filled : NULL;
    if (l.face == ALONG_X) l.bits = p.joined_bits[direction_of(-1, 0, 0)], l.before = 1;
    if (l.face == ALONG_Y) l.bits = p.joined_bits[direction_of(0, -1, 0)], l.before = p.words;
    if (l.face == ALONG_Z)
        l.bits = p.joined_bits[direction_of(0, 0, -1)], l.before = p.words * p.ny;
    if (w + lane % WARP_WORDS >= p.words) l.bits = NULL;
    return l;
}

template <typename T> static __device__ inline bool is_finite(T value)
{
    return std::is_integral<T>::value || value - value == T(0);
}

template <typename T> static __device__ inline bool is_foreground(T value)
{
    return value != T(0) && is_finite(value);
}

/* A lane's voxel of each word: the first at `from`, `left` voxels before the row ends. */
template <bool WHOLE, typename T, typename R>
static __device__ inline void load_row(R (&to)[WARP_WORDS], const T *from, int left)
{
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++)
        to[i] = WHOLE || i * WORD < left ? (R)from[i * WORD] : R(0);
}

template <typename R> static __device__ inline void clear_row(R (&row)[WARP_WORDS])
{
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++) row[i] = R(0);
}

/* A row moved by a voxel; last: what lane 0 gets for the first word. */
template <typename R>
static __device__ inline void shift_row(R (&left)[WARP_WORDS], const R (&own)[WARP_WORDS], R last)
{
    const int lane = (int)threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++) {
        const R rotated = __shfl_sync(ALL_LANES, own[i], (lane + WARP - 1) % WARP);
        left[i] = lane == 0 ? last : rotated;
        last = rotated;
    }
}

/* The word that a lane writes. NONZERO: background is 0 and joined with nothing; otherwise the
 * caller takes out pairs that are not foreground. */
template <bool NONZERO, typename R, typename C>
static __device__ inline uint32_t lane_word(const C &alike, const R (&own)[WARP_WORDS],
                                            const R (&left)[WARP_WORDS],
                                            const R (&before)[WARP_WORDS],
                                            const R (&below)[WARP_WORDS])
{
    const uint32_t lane = threadIdx.x % WARP;
    const auto joined = [&](R a, R b) {
        return alike(a, b) && (!NONZERO || C::exact || is_foreground(b));
    };
    uint32_t of[WARP_WORDS];
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++) {
        const uint32_t filled = NONZERO ? __ballot_sync(ALL_LANES, is_foreground(own[i])) : 0;
        const uint32_t x = __ballot_sync(ALL_LANES, joined(own[i], left[i]));
        const uint32_t y = __ballot_sync(ALL_LANES, joined(own[i], before[i]));
        const uint32_t z = __ballot_sync(ALL_LANES, joined(own[i], below[i]));
        const uint32_t low = lane & WARP_WORDS ? x : filled, high = lane & WARP_WORDS ? z : y;
        of[i] = lane & 2 * WARP_WORDS ? high : low;
    }
#pragma unroll
    for (int i = 0; i < WARP_WORDS / 2; i++) of[i] = lane & 1 ? of[2 * i + 1] : of[2 * i];
#pragma unroll
    for (int i = 0; i < WARP_WORDS / 4; i++) of[i] = lane & 2 ? of[2 * i + 1] : of[2 * i];
    const uint32_t bits = lane & 4 ? of[1] : of[0];
    return NONZERO ? bits & __shfl_sync(ALL_LANES, bits, lane % WARP_WORDS)
                   : bits; /* where own is foreground */
}

/* The pairs of a word whose voxels both are foreground; there: the word before it is inside. */
static __device__ inline uint32_t filled_pairs(const join_params &p, const face_lane &l,
                                               uint32_t bits, int64_t at, bool there)
{
    const uint32_t from = p.filled[at], before = there ? p.filled[at - l.before] : 0;
    return bits & from & (l.face == ALONG_X ? bits_back(from, before) : before);
}

/* The rows that a warp takes, and its first word of them. */
typedef struct {
    int y, end_y, z, w;
} warp_rows;

template <typename C>
static __device__ inline warp_rows rows_of_item(const face_params<C> &f, uint32_t item)
{
    const uint32_t column = item / f.slices, rest = column / f.word_groups;
    const uint32_t slab = rest / f.row_groups;
    warp_rows r;
    r.z = (int)(slab * f.slices + (item - column * f.slices));
    r.y = (int)((rest - slab * f.row_groups) * f.warp_rows);
    r.end_y = min(r.y + (int)f.warp_rows, f.b.join.ny);
    r.w = (int)(column - rest * f.word_groups) * WARP_WORDS;
    return r;
}

/* A warp goes along y: a row's values stay in registers while the next row is compared with them.
 * before: row y - 1; below: the row of the previous slice, z - 1. WHOLE: all of the warp's words
 * are full. */
template <typename T, bool NONZERO, bool WHOLE, typename C>
static __device__ inline void compare_rows(const bits_params &b, const C &alike, warp_rows r,
                                           uint32_t *foreground, uint32_t *not_finite)
{
    using R = typename in_register<T>::type;
    const join_params &p = b.join;
    const int lane = (int)threadIdx.x % WARP, x = r.w * WORD + lane, left_x = p.nx - x;
    const face_lane l = lane_of<NONZERO>(p, r.w);
    const bool reads_left = r.w > 0 && lane == 0, deep = r.z > 0 && p.along[2];
    const int64_t row = (int64_t)r.z * p.ny + r.y, plane = (int64_t)p.ny * p.nx;
    const T *from = (const T *)b.image.stored + row * p.nx + x;
    int64_t at = row * p.words + r.w + lane % WARP_WORDS;
    R own[WARP_WORDS], left[WARP_WORDS], before[WARP_WORDS], below[WARP_WORDS];
    clear_row(before);
    clear_row(below);
    if (r.y > 0) load_row<WHOLE>(before, from - p.nx, left_x);
#pragma unroll 1
    for (; r.y < r.end_y; r.y++) {
        load_row<WHOLE>(own, from, left_x);
        if (deep) load_row<WHOLE>(below, from - plane, left_x);
        shift_row(left, own, reads_left ? (R)from[-1] : R(0));
        uint32_t bits = lane_word<NONZERO>(alike, own, left, before, below);
        if (!NONZERO && l.bits)
            bits = filled_pairs(p, l, bits, at,
                                l.face == ALONG_X   ? r.w + lane % WARP_WORDS > 0
                                : l.face == ALONG_Y ? r.y > 0
                                                    : r.z > 0);
        if (l.bits) l.bits[at] = bits;
        if (NONZERO && l.face == FILLED) *foreground += (uint32_t)__popc(bits);
#pragma unroll
        for (int i = 0; i < WARP_WORDS; i++) {
            if (NONZERO) *not_finite += !is_finite(own[i]);
            before[i] = own[i];
        }
        from += p.nx;
        at += p.words;
    }
}

template <typename T, typename C, bool NONZERO>
static __global__ void __launch_bounds__(FACES_THREADS, sizeof(T) > 4 ? 2 : 4)
    faces_kernel(face_params<C> f)
{
    const join_params &p = f.b.join;
    const uint32_t step = gridDim.x * FACES_WARPS;
    uint32_t foreground = 0, not_finite = 0;
    for (uint32_t item = blockIdx.x * FACES_WARPS + threadIdx.x / WARP; item < f.items;
         item += step) {
        const warp_rows r = rows_of_item(f, item);
        if (r.z >= p.nz) continue;
        if (p.nx - r.w * WORD >= WARP_WORDS * WORD)
            compare_rows<T, NONZERO, true>(f.b, f.alike, r, &foreground, &not_finite);
        else
            compare_rows<T, NONZERO, false>(f.b, f.alike, r, &foreground, &not_finite);
    }
    if (NONZERO) add_counts(f.b.counts, foreground, not_finite);
}

/* ---- the call ---- */

template <typename T, typename C>
static lob_status launch_faces(call *c, const bits_params &b, bool nonzero, lob_error *error)
{
    const join_params &p = b.join;
    const int64_t enough = (int64_t)lob_device_multiprocessors(c->device) * ENOUGH_WARPS;
    face_params<C> f = {b, C(b), 0, MAX_WARP_ROWS, 0, FACES_WARPS, 0};
    f.word_groups = (uint32_t)((p.words + WARP_WORDS - 1) / WARP_WORDS);
    while (f.slices > (uint32_t)p.nz) f.slices /= 2;
    while (f.warp_rows > MIN_WARP_ROWS &&
           (int64_t)f.word_groups * p.ny / f.warp_rows * p.nz < enough)
        f.warp_rows /= 2;
    f.row_groups = ((uint32_t)p.ny + f.warp_rows - 1) / f.warp_rows;
    f.items =
        f.word_groups * f.row_groups * f.slices * (((uint32_t)p.nz + f.slices - 1) / f.slices);
    return lob_launch(c->device, nonzero ? faces_kernel<T, C, true> : faces_kernel<T, C, false>,
                      "comparing neighbours", ((int64_t)f.items + FACES_WARPS - 1) / FACES_WARPS,
                      FACES_THREADS, 0, f, error);
}

lob_status compare_faces(call *c, const bits_params &b, bool nonzero, lob_error *error)
{
    return with_type(b.image.type, [&](auto of_type) {
        using T = decltype(of_type);
        using R = typename in_register<T>::type;
        return b.tolerance ? launch_faces<T, near_values<R>>(c, b, nonzero, error)
                           : launch_faces<T, equal_values<R>>(c, b, nonzero, error);
    });
}

} /* namespace lob::components */
