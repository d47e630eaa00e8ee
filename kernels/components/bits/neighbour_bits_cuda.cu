/*
 * Which neighbours are joined: a plane of bits for each direction, from an image's values. Of one
 * channel, neighbours that share faces alone are face_bits_cuda.cu's.
 */
#include "kernels/components/bits/bits_params_cuda.cuh"

enum {
    PLANES_WARPS = 8, /* of a block; their planes follow each other along z */
    PLANES_THREADS = PLANES_WARPS * WORD,
    GROUP = 8,    /* words of a row that a warp has at once: what it writes fills a sector */
    STRETCH = 32, /* rows that it goes along y */
    BELOW = 3     /* rows before a row in the plane before */
};

/* ---- one channel ---- */

template <typename C> struct comparing {
    scene s;
    C alike;
    int groups, stretches; /* of a row, of a plane */
    int64_t units;         /* what blocks take: a group, a stretch and PLANES_WARPS planes */
    bool quads;            /* rows are whole numbers of 4 words */
};

/* The direction whose words a lane keeps and writes. */
typedef struct {
    int dx, dy, dz;
    uint32_t *plane; /* NULL: none */
} lane_direction;

static __device__ inline lane_direction direction_of_lane(const runs &r, int lane)
{
    lane_direction d = {-1, 0, 0, NULL};
    if (lane < DIRECTIONS) d.plane = r.plane[lane];
    if (lane == 0) return d;
    const int row = (lane - 1) / 3;
    d.dx = (lane - 1) % 3 - 1;
    d.dy = row ? row - 2 : -1;
    d.dz = row ? -1 : 0;
    return d;
}

/* A lane takes a voxel of each word of a group. */
template <typename T, typename R>
static __device__ inline void load_values(R (&to)[GROUP], const scene &s, bool there, int64_t row,
                                          int x)
{
    const T *from = (const T *)s.stored + (there ? row : 0) * s.r.nx + x;
#pragma unroll
    for (int i = 0; i < GROUP; i++)
        to[i] = there && x + i * WORD < s.r.nx ? (R)from[i * WORD] : R(0);
}

/* The values to the left and to the right of a lane's; what lies beside the group is not known. */
template <typename R>
static __device__ inline void shift_values(R (&left)[GROUP], R (&right)[GROUP],
                                           const R (&own)[GROUP], int lane)
{
    R before[GROUP], after[GROUP];
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        before[i] = __shfl_sync(~0u, own[i], (lane + WORD - 1) % WORD);
        after[i] = __shfl_sync(~0u, own[i], (lane + 1) % WORD);
    }
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        left[i] = lane == 0 ? before[i > 0 ? i - 1 : 0] : before[i];
        right[i] = lane == WORD - 1 ? after[i < GROUP - 1 ? i + 1 : i] : after[i];
    }
}

/*
 * Bit x of a direction's word: the voxel at x of the other row is joined with that of this row at
 * x - dx, wherever both are foreground. A lane gets the words of its direction; whether that is
 * wanted is asked when they are written.
 */
template <typename R, typename C>
static __device__ inline void compare_group(uint32_t (&bits)[GROUP], const C &alike,
                                            const R (&own)[GROUP], const R (&before)[GROUP],
                                            const R (&below)[BELOW][GROUP], int lane)
{
    R left[GROUP], right[GROUP];
    shift_values(left, right, own, lane);
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        uint32_t of[16] = {};
#pragma unroll
        for (int k = 0; k < DIRECTIONS; k++) {
            const int row = k ? (k - 1) / 3 : -1, dx = k ? (k - 1) % 3 - 1 : -1;
            const R from = dx < 0 ? right[i] : dx > 0 ? left[i] : own[i];
            const R to = row < 0 ? own[i] : row == 0 ? before[i] : below[row > 0 ? row - 1 : 0][i];
            of[k] = __ballot_sync(~0u, alike(from, to));
        }
#pragma unroll
        for (int k = 0; k < 8; k++) of[k] = lane & 1 ? of[2 * k + 1] : of[2 * k];
#pragma unroll
        for (int k = 0; k < 4; k++) of[k] = lane & 2 ? of[2 * k + 1] : of[2 * k];
        const uint32_t low = lane & 4 ? of[1] : of[0], high = lane & 4 ? of[3] : of[2];
        bits[i] = lane & 8 ? high : low;
    }
}

/* All lanes together, each for its direction: from a row's comparisons to words of its plane. */
template <typename T, typename C>
static __device__ inline void write_group(const comparing<C> &c, const lane_direction &d,
                                          uint32_t (&bits)[GROUP], int y, int z, int w)
{
    const runs &r = c.s.r;
    const int count = min(r.words - w, (int)GROUP);
    if (!d.plane) return;
    const bool there = (uint32_t)(y + d.dy) < (uint32_t)r.ny && z + d.dz >= 0;
    const int64_t row = (int64_t)z * r.ny + y;
    const int64_t to_row = there ? row + (int64_t)d.dz * r.ny + d.dy : row;
    uint32_t from[GROUP], to[GROUP];
    load_words(from, r.filled + row * r.words + w, count, c.quads);
    load_words(to, r.filled + to_row * r.words + w, there ? count : 0, c.quads);

    /* the pair that leaves the group */
    const int x = d.dx < 0 ? w * WORD - 1 : (w + GROUP) * WORD;
    uint32_t edge = 0;
    if (there && d.dx && x >= 0 && x < r.nx) {
        using R = typename held<T>::type;
        const T *stored = (const T *)c.s.stored;
        const uint32_t filled = r.filled[to_row * r.words + x / WORD] >> x % WORD & 1;
        edge = filled && c.alike((R)stored[row * r.nx + x - d.dx], (R)stored[to_row * r.nx + x]);
    }
    uint32_t words[GROUP];
#pragma unroll
    for (int i = 0; i < GROUP; i++) bits[i] &= to[i];
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        const uint32_t left = i > 0 ? bits[i - 1] : edge << 31;
        const uint32_t right = i < GROUP - 1 ? bits[i + 1] : edge;
        const uint32_t pairs = d.dx < 0   ? lob_bits_back(bits[i], left)
                               : d.dx > 0 ? lob_bits_ahead(bits[i], right)
                                          : bits[i];
        words[i] = pairs & from[i];
    }
    store_words(d.plane + row * r.words + w, words, count, c.quads);
}

/*
 * A warp goes along y with a group of words of a plane: a row's values stay in registers while they
 * are those before another.
 */
template <typename T, typename C>
static __global__ void __launch_bounds__(PLANES_THREADS, sizeof(T) > 4 ? 1 : 2)
    planes_kernel(comparing<C> c)
{
    using R = typename held<T>::type;
    const scene &s = c.s;
    const runs &r = s.r;
    const int lane = (int)threadIdx.x % WORD, warp = (int)threadIdx.x / WORD;
    const lane_direction d = direction_of_lane(r, lane);
    const bool flat = !r.along[2];
    for (int64_t unit = blockIdx.x; unit < c.units; unit += gridDim.x) {
        const int64_t rest = unit / c.groups, slab = rest / c.stretches;
        const int w = (int)(unit - rest * c.groups) * GROUP, x = w * WORD + lane;
        const int first_y = (int)(rest - slab * c.stretches) * STRETCH;
        const int end_y = min(first_y + (int)STRETCH, r.ny);
        const int z = (int)(slab * PLANES_WARPS) + warp;
        if (z >= r.nz) continue;
        const int64_t plane = (int64_t)z * r.ny, plane_below = plane - r.ny;
        const bool deep = z > 0 && !flat;
        R own[GROUP], before[GROUP], below[BELOW][GROUP];
        load_values<T>(before, s, first_y > 0, plane + first_y - 1, x);
        load_values<T>(below[0], s, deep && first_y > 0, plane_below + first_y - 1, x);
        load_values<T>(below[1], s, deep, plane_below + first_y, x);
        for (int y = first_y; y < end_y; y++) {
            uint32_t bits[GROUP];
            load_values<T>(own, s, true, plane + y, x);
            load_values<T>(below[2], s, deep && y + 1 < r.ny, plane_below + y + 1, x);
            compare_group(bits, c.alike, own, before, below, lane);
            write_group<T>(c, d, bits, y, z, w);
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
                before[i] = own[i];
                below[0][i] = below[1][i];
                below[1][i] = below[2][i];
            }
        }
    }
}

template <typename T, typename C>
static lob_status compare_single(joining *j, const scene &s, lob_error *error)
{
    const runs &r = s.r;
    comparing<C> c = {s, C(s), 0, 0, 0, false};
    c.groups = (r.words + GROUP - 1) / GROUP;
    c.stretches = (r.ny + STRETCH - 1) / STRETCH;
    c.units = (int64_t)c.groups * c.stretches * ((r.nz + PLANES_WARPS - 1) / PLANES_WARPS);
    c.quads = r.words % 4 == 0;
    return lob_launch(j->device, planes_kernel<T, C>, "comparing neighbours", c.units,
                      PLANES_THREADS, 0, c, error);
}

/* ---- several channels ---- */

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

/* A warp takes a word in all directions. */
template <typename T> static __device__ inline void join_word(const scene &s, int y, int z, int w)
{
    const runs &r = s.r;
    const int lane = (int)threadIdx.x % WORD, x = w * WORD + lane;
    const int64_t row = (int64_t)z * r.ny + y;
    const uint32_t filled = r.filled[row * r.words + w];
    for (int k = 0; k < DIRECTIONS; k++) {
        const lane_direction d = direction_of_lane(r, k);
        if (!d.plane) continue;
        const int to_y = y + d.dy, to_z = z + d.dz;
        const uint32_t here = row_word(r, r.filled, to_y, to_z, w);
        const uint32_t to = d.dx < 0 ? lob_bits_back(here, row_word(r, r.filled, to_y, to_z, w - 1))
                            : d.dx > 0
                                ? lob_bits_ahead(here, row_word(r, r.filled, to_y, to_z, w + 1))
                                : here;
        const bool both = (filled & to) >> lane & 1;
        const bool joined =
            both && alike<T>(s, row * r.nx + x, ((int64_t)to_z * r.ny + to_y) * r.nx + x + d.dx);
        const uint32_t bits = __ballot_sync(~0u, joined);
        if (lane == 0) d.plane[row * r.words + w] = bits;
    }
}

template <typename T>
static __global__ void __launch_bounds__(PLANES_THREADS) channels_kernel(scene s)
{
    const runs &r = s.r;
    const int64_t rows = (int64_t)r.ny * r.nz, step = (int64_t)gridDim.x * PLANES_WARPS;
    for (int64_t row = (int64_t)blockIdx.x * PLANES_WARPS + threadIdx.x / WORD; row < rows;
         row += step) {
        const int z = (int)(row / r.ny), y = (int)(row - (int64_t)z * r.ny);
        for (int w = 0; w < r.words; w++) join_word<T>(s, y, z, w);
    }
}

/* ---- the call ---- */

template <typename T> static lob_status compare(joining *j, const scene &s, lob_error *error)
{
    using R = typename held<T>::type;
    const int64_t rows = (int64_t)s.r.ny * s.r.nz;
    if (s.channels > 1)
        return lob_launch(j->device, channels_kernel<T>, "comparing neighbours",
                          lob_grid_blocks(j->device, rows * WORD, PLANES_THREADS), PLANES_THREADS,
                          0, s, error);
    if (s.tolerance) return compare_single<T, near_values<R>>(j, s, error);
    return compare_single<T, equal_values<R>>(j, s, error);
}

lob_status lob_joining_compare(joining *j, const scene &s, lob_error *error)
{
    return with_type(j->in->image->type,
                     [&](auto of_type) { return compare<decltype(of_type)>(j, s, error); });
}
