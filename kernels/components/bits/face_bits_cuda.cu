/*
 * Which neighbours through faces are joined, of one channel: three planes of bits, and the
 * foreground where values alone tell it.
 */
#include "kernels/components/bits/bits_params_cuda.cuh"

enum {
    FACES_WARPS = 8,
    FACES_THREADS = FACES_WARPS * WORD,
    GROUP = 8,         /* words of a row that a warp has at once: what it writes fills a sector */
    MOST_STRETCH = 16, /* rows that it goes along y */
    LEAST_STRETCH = 4,
    PLENTY = 2 * 64 /* warps for a multiprocessor */
};

/* The planes of bits; a warp's lanes write GROUP words of each, lane FACE * GROUP + i word i. */
enum { FILLED, ALONG_X, ALONG_Y, ALONG_Z };

template <typename C> struct facing {
    scene s;
    C alike;
    uint32_t groups, stretch, stretches; /* of a row; rows of a warp, and how often in a plane */
    uint32_t deep;  /* warps whose planes follow each other: they share what their caches hold */
    uint32_t units; /* what warps take */
};

/* What a lane writes of every row. */
typedef struct {
    int face;
    uint32_t *plane; /* NULL: nothing */
    int32_t before;  /* words from a word to the one that its pairs are with; to the left: 1 */
} face_lane;

template <bool PLAIN> static __device__ inline face_lane lane_of(const runs &r, int w)
{
    const int lane = (int)threadIdx.x % WORD;
    face_lane l = {lane / GROUP, NULL, 0};
    if (l.face == FILLED) l.plane = PLAIN ? r.filled : NULL;
    if (l.face == ALONG_X) l.plane = r.plane[direction_of(-1, 0, 0)], l.before = 1;
    if (l.face == ALONG_Y) l.plane = r.plane[direction_of(0, -1, 0)], l.before = r.words;
    if (l.face == ALONG_Z) l.plane = r.plane[direction_of(0, 0, -1)], l.before = r.words * r.ny;
    if (w + lane % GROUP >= r.words) l.plane = NULL;
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

/* A lane's voxel of each word of a group: the first at from, left of them before the row ends. */
template <bool WHOLE, typename T, typename R>
static __device__ inline void load_row(R (&to)[GROUP], const T *from, int left)
{
#pragma unroll
    for (int i = 0; i < GROUP; i++) to[i] = WHOLE || i * WORD < left ? (R)from[i * WORD] : R(0);
}

template <typename R> static __device__ inline void clear_row(R (&row)[GROUP])
{
#pragma unroll
    for (int i = 0; i < GROUP; i++) row[i] = R(0);
}

/* A row moved by a voxel; last: what lane 0 gets for the first word. */
template <typename R>
static __device__ inline void shift_row(R (&left)[GROUP], const R (&own)[GROUP], R last)
{
    const int lane = (int)threadIdx.x % WORD;
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        const R turned = __shfl_sync(~0u, own[i], (lane + WORD - 1) % WORD);
        left[i] = lane == 0 ? last : turned;
        last = turned;
    }
}

/*
 * The word that a lane writes. Plain: background is 0 and joined with nothing; otherwise where both
 * voxels of a pair are foreground is asked later.
 */
template <bool PLAIN, typename R, typename C>
static __device__ inline uint32_t lane_word(const C &alike, const R (&own)[GROUP],
                                            const R (&left)[GROUP], const R (&before)[GROUP],
                                            const R (&below)[GROUP])
{
    const uint32_t lane = threadIdx.x % WORD;
    const auto joined = [&](R a, R b) {
        return alike(a, b) && (!PLAIN || C::exact || is_foreground(b));
    };
    uint32_t of[GROUP];
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        const uint32_t filled = PLAIN ? __ballot_sync(~0u, is_foreground(own[i])) : 0;
        const uint32_t x = __ballot_sync(~0u, joined(own[i], left[i]));
        const uint32_t y = __ballot_sync(~0u, joined(own[i], before[i]));
        const uint32_t z = __ballot_sync(~0u, joined(own[i], below[i]));
        const uint32_t low = lane & GROUP ? x : filled, high = lane & GROUP ? z : y;
        of[i] = lane & 2 * GROUP ? high : low;
    }
#pragma unroll
    for (int i = 0; i < GROUP / 2; i++) of[i] = lane & 1 ? of[2 * i + 1] : of[2 * i];
#pragma unroll
    for (int i = 0; i < GROUP / 4; i++) of[i] = lane & 2 ? of[2 * i + 1] : of[2 * i];
    const uint32_t bits = lane & 4 ? of[1] : of[0];
    return PLAIN ? bits & __shfl_sync(~0u, bits, lane % GROUP) : bits; /* where own is foreground */
}

/* Those of a word's pairs whose voxels both are foreground; there: it has one before it. */
static __device__ inline uint32_t filled_pairs(const runs &r, const face_lane &l, uint32_t bits,
                                               int64_t at, bool there)
{
    const uint32_t from = r.filled[at], before = there ? r.filled[at - l.before] : 0;
    return bits & from & (l.face == ALONG_X ? lob_bits_back(from, before) : before);
}

/* Where a warp is: a group of words of rows that follow each other. */
typedef struct {
    int y, end_y, z, w;
} strip;

static __device__ inline strip strip_of(const runs &r, uint32_t unit, uint32_t groups,
                                        uint32_t stretch, uint32_t stretches, uint32_t deep)
{
    const uint32_t column = unit / deep, rest = column / groups, slab = rest / stretches;
    strip p;
    p.z = (int)(slab * deep + (unit - column * deep));
    p.y = (int)((rest - slab * stretches) * stretch);
    p.end_y = min(p.y + (int)stretch, r.ny);
    p.w = (int)(column - rest * groups) * GROUP;
    return p;
}

/*
 * A warp goes along y: a row's values stay in registers while they are those before another. WHOLE:
 * all words of the group are.
 */
template <typename T, bool PLAIN, bool WHOLE, typename C>
static __device__ inline void compare_strip(const scene &s, const C &alike, strip p,
                                            uint32_t *foreground, uint32_t *not_finite)
{
    using R = typename held<T>::type;
    const runs &r = s.r;
    const int lane = (int)threadIdx.x % WORD, x = p.w * WORD + lane, left_x = r.nx - x;
    const face_lane l = lane_of<PLAIN>(r, p.w);
    const bool edge = p.w > 0 && lane == 0, deep = p.z > 0 && r.along[2];
    const int64_t row = (int64_t)p.z * r.ny + p.y, plane = (int64_t)r.ny * r.nx;
    const T *from = (const T *)s.stored + row * r.nx + x;
    int64_t at = row * r.words + p.w + lane % GROUP;
    R own[GROUP], left[GROUP], before[GROUP], below[GROUP];
    clear_row(before);
    clear_row(below);
    if (p.y > 0) load_row<WHOLE>(before, from - r.nx, left_x);
#pragma unroll 1
    for (; p.y < p.end_y; p.y++) {
        load_row<WHOLE>(own, from, left_x);
        if (deep) load_row<WHOLE>(below, from - plane, left_x);
        shift_row(left, own, edge ? (R)from[-1] : R(0));
        uint32_t bits = lane_word<PLAIN>(alike, own, left, before, below);
        if (!PLAIN && l.plane)
            bits = filled_pairs(r, l, bits, at,
                                l.face == ALONG_X   ? p.w + lane % GROUP > 0
                                : l.face == ALONG_Y ? p.y > 0
                                                    : p.z > 0);
        if (l.plane) l.plane[at] = bits;
        if (PLAIN && l.face == FILLED) *foreground += (uint32_t)__popc(bits);
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            if (PLAIN) *not_finite += !is_finite(own[i]);
            before[i] = own[i];
        }
        from += r.nx;
        at += r.words;
    }
}

template <typename T, typename C, bool PLAIN>
static __global__ void __launch_bounds__(FACES_THREADS, sizeof(T) > 4 ? 2 : 4)
    faces_kernel(facing<C> f)
{
    const runs &r = f.s.r;
    const uint32_t step = gridDim.x * FACES_WARPS;
    uint32_t foreground = 0, not_finite = 0;
    for (uint32_t unit = blockIdx.x * FACES_WARPS + threadIdx.x / WORD; unit < f.units;
         unit += step) {
        const strip p = strip_of(r, unit, f.groups, f.stretch, f.stretches, f.deep);
        if (p.z >= r.nz) continue;
        if (r.nx - p.w * WORD >= GROUP * WORD)
            compare_strip<T, PLAIN, true>(f.s, f.alike, p, &foreground, &not_finite);
        else
            compare_strip<T, PLAIN, false>(f.s, f.alike, p, &foreground, &not_finite);
    }
    if (PLAIN) count_states(f.s.counts, foreground, not_finite);
}

/* ---- the call ---- */

template <typename T, typename C>
static lob_status compare_faces(joining *j, const scene &s, bool plain, lob_error *error)
{
    const runs &r = s.r;
    facing<C> f = {s, C(s), 0, MOST_STRETCH, 0, FACES_WARPS, 0};
    const int64_t plenty = (int64_t)lob_device_multiprocessors(j->device) * PLENTY;
    f.groups = (uint32_t)((r.words + GROUP - 1) / GROUP);
    while (f.deep > (uint32_t)r.nz) f.deep /= 2;
    while (f.stretch > LEAST_STRETCH && (int64_t)f.groups * r.ny / f.stretch * r.nz < plenty)
        f.stretch /= 2;
    f.stretches = ((uint32_t)r.ny + f.stretch - 1) / f.stretch;
    f.units = f.groups * f.stretches * f.deep * (((uint32_t)r.nz + f.deep - 1) / f.deep);
    return lob_launch(j->device, plain ? faces_kernel<T, C, true> : faces_kernel<T, C, false>,
                      "comparing neighbours", ((int64_t)f.units + FACES_WARPS - 1) / FACES_WARPS,
                      FACES_THREADS, 0, f, error);
}

template <typename T>
static lob_status compare(joining *j, const scene &s, bool plain, lob_error *error)
{
    using R = typename held<T>::type;
    if (s.tolerance) return compare_faces<T, near_values<R>>(j, s, plain, error);
    return compare_faces<T, equal_values<R>>(j, s, plain, error);
}

lob_status lob_joining_compare_faces(joining *j, const scene &s, bool plain, lob_error *error)
{
    return with_type(j->in->image->type,
                     [&](auto of_type) { return compare<decltype(of_type)>(j, s, plain, error); });
}
