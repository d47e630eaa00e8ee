/*
 * Which neighbours are joined: a bit per voxel and direction, from the values of an image.
 * Neighbours that share faces, of one channel, are face_bits_cuda.cu's work.
 */
#include "kernels/components/bits/bits_params_cuda.cuh"

namespace lob::components
{

enum {
    COMPARE_WARPS = 8, /* of a block, each in another slice */
    COMPARE_THREADS = COMPARE_WARPS * WARP,
    WARP_WORDS = 8, /* of a row that a warp has at once: they fill a 32-byte sector */
    WARP_ROWS = 32, /* that it takes one after the other along y */
    BELOW = 3       /* rows of the previous slice (z - 1) that a row is compared with */
};

/* ---- one channel ---- */

template <typename C> struct compare_params {
    bits_params b;
    C alike;
    int word_groups, row_groups; /* of WARP_WORDS in a row, of WARP_ROWS in a slice */
    int64_t items;               /* for blocks: WARP_WORDS x WARP_ROWS x COMPARE_WARPS slices */
};

/* The direction whose words a lane keeps and writes. */
typedef struct {
    int dx, dy, dz;
    uint32_t *bits; /* NULL: none */
} lane_direction;

static __device__ inline lane_direction direction_of_lane(const join_params &p, int lane)
{
    lane_direction d = {-1, 0, 0, NULL};
    if (lane < DIRECTIONS) d.bits = p.joined_bits[lane];
    if (lane == 0) return d;
    const int row = (lane - 1) / 3;
    d.dx = (lane - 1) % 3 - 1;
    d.dy = row ? row - 2 : -1;
    d.dz = row ? -1 : 0;
    return d;
}

/* A lane takes a voxel of each word. */
template <typename T, typename R>
static __device__ inline void load_values(R (&to)[WARP_WORDS], const bits_params &b, bool there,
                                          int64_t row, int x)
{
    const T *from = (const T *)b.image.stored + (there ? row : 0) * b.join.nx + x;
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++)
        to[i] = there && x + i * WORD < b.join.nx ? (R)from[i * WORD] : R(0);
}

/* The values to the left and to the right of a lane's; those beside the words are not known. */
template <typename R>
static __device__ inline void shift_values(R (&left)[WARP_WORDS], R (&right)[WARP_WORDS],
                                           const R (&own)[WARP_WORDS], int lane)
{
    R before[WARP_WORDS], after[WARP_WORDS];
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++) {
        before[i] = __shfl_sync(ALL_LANES, own[i], (lane + WARP - 1) % WARP);
        after[i] = __shfl_sync(ALL_LANES, own[i], (lane + 1) % WARP);
    }
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++) {
        left[i] = lane == 0 ? before[i > 0 ? i - 1 : 0] : before[i];
        right[i] = lane == WARP - 1 ? after[i < WARP_WORDS - 1 ? i + 1 : i] : after[i];
    }
}

/*
 * Bit x of a direction's word: voxel x of the other row is joined with voxel x - dx of this row, if
 * both are foreground. A lane gets the words of its direction; directions that are not wanted are
 * left out when words are written.
 */
template <typename R, typename C>
static __device__ inline void compare_group(uint32_t (&bits)[WARP_WORDS], const C &alike,
                                            const R (&own)[WARP_WORDS],
                                            const R (&before)[WARP_WORDS],
                                            const R (&below)[BELOW][WARP_WORDS], int lane)
{
    R left[WARP_WORDS], right[WARP_WORDS];
    shift_values(left, right, own, lane);
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++) {
        uint32_t of[16] = {};
#pragma unroll
        for (int k = 0; k < DIRECTIONS; k++) {
            const int row = k ? (k - 1) / 3 : -1, dx = k ? (k - 1) % 3 - 1 : -1;
            const R from = dx < 0 ? right[i] : dx > 0 ? left[i] : own[i];
            const R to = row < 0 ? own[i] : row == 0 ? before[i] : below[row > 0 ? row - 1 : 0][i];
            of[k] = __ballot_sync(ALL_LANES, alike(from, to));
        }
#pragma unroll
        for (int k = 0; k < 8; k++) of[k] = lane & 1 ? of[2 * k + 1] : of[2 * k];
#pragma unroll
        for (int k = 0; k < 4; k++) of[k] = lane & 2 ? of[2 * k + 1] : of[2 * k];
        const uint32_t low = lane & 4 ? of[1] : of[0], high = lane & 4 ? of[3] : of[2];
        bits[i] = lane & 8 ? high : low;
    }
}

/* All lanes together, each for its direction: from a row's comparisons to words of joined_bits. */
template <typename T, typename C>
static __device__ inline void write_group(const compare_params<C> &k, const lane_direction &d,
                                          uint32_t (&bits)[WARP_WORDS], int y, int z, int w)
{
    const join_params &p = k.b.join;
    const int count = min(p.words - w, (int)WARP_WORDS);
    if (!d.bits) return;
    const bool there = (uint32_t)(y + d.dy) < (uint32_t)p.ny && z + d.dz >= 0;
    const int64_t row = (int64_t)z * p.ny + y;
    const int64_t to_row = there ? row + (int64_t)d.dz * p.ny + d.dy : row;
    uint32_t from[WARP_WORDS], to[WARP_WORDS];
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++) {
        from[i] = i < count ? p.filled[row * p.words + w + i] : 0;
        to[i] = there && i < count ? p.filled[to_row * p.words + w + i] : 0;
    }

    /* the pair at the end of these words, whose other voxel is beyond it */
    const int x = d.dx < 0 ? w * WORD - 1 : (w + WARP_WORDS) * WORD;
    uint32_t end_pair = 0;
    if (there && d.dx && x >= 0 && x < p.nx) {
        using R = typename in_register<T>::type;
        const T *stored = (const T *)k.b.image.stored;
        const uint32_t filled = p.filled[to_row * p.words + x / WORD] >> x % WORD & 1;
        end_pair =
            filled && k.alike((R)stored[row * p.nx + x - d.dx], (R)stored[to_row * p.nx + x]);
    }
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++) bits[i] &= to[i];
#pragma unroll
    for (int i = 0; i < WARP_WORDS; i++) {
        const uint32_t left = i > 0 ? bits[i - 1] : end_pair << 31;
        const uint32_t right = i < WARP_WORDS - 1 ? bits[i + 1] : end_pair;
        const uint32_t pairs = d.dx < 0   ? bits_back(bits[i], left)
                               : d.dx > 0 ? bits_ahead(bits[i], right)
                                          : bits[i];
        if (i < count) d.bits[row * p.words + w + i] = pairs & from[i];
    }
}

/* A warp goes along y: a row's values stay in registers while the next row is compared with them.
 */
template <typename T, typename C>
static __global__ void __launch_bounds__(COMPARE_THREADS, sizeof(T) > 4 ? 1 : 2)
    compare_kernel(compare_params<C> k)
{
    using R = typename in_register<T>::type;
    const bits_params &b = k.b;
    const join_params &p = b.join;
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const lane_direction d = direction_of_lane(p, lane);
    const bool flat = !p.along[2];
    for (int64_t item = blockIdx.x; item < k.items; item += gridDim.x) {
        const int64_t rest = item / k.word_groups, slab = rest / k.row_groups;
        const int w = (int)(item - rest * k.word_groups) * WARP_WORDS, x = w * WORD + lane;
        const int first_y = (int)(rest - slab * k.row_groups) * WARP_ROWS;
        const int end_y = min(first_y + (int)WARP_ROWS, p.ny);
        const int z = (int)(slab * COMPARE_WARPS) + warp;
        if (z >= p.nz) continue;
        const int64_t slice = (int64_t)z * p.ny, slice_below = slice - p.ny; /* first rows */
        const bool deep = z > 0 && !flat;
        R own[WARP_WORDS], before[WARP_WORDS], below[BELOW][WARP_WORDS];
        load_values<T>(before, b, first_y > 0, slice + first_y - 1, x);
        load_values<T>(below[0], b, deep && first_y > 0, slice_below + first_y - 1, x);
        load_values<T>(below[1], b, deep, slice_below + first_y, x);
        for (int y = first_y; y < end_y; y++) {
            uint32_t bits[WARP_WORDS];
            load_values<T>(own, b, true, slice + y, x);
            load_values<T>(below[2], b, deep && y + 1 < p.ny, slice_below + y + 1, x);
            compare_group(bits, k.alike, own, before, below, lane);
            write_group<T>(k, d, bits, y, z, w);
#pragma unroll
            for (int i = 0; i < WARP_WORDS; i++) {
                before[i] = own[i];
                below[0][i] = below[1][i];
                below[1][i] = below[2][i];
            }
        }
    }
}

template <typename T, typename C>
static lob_status compare_single(call *c, const bits_params &b, lob_error *error)
{
    const join_params &p = b.join;
    compare_params<C> k = {b, C(b), 0, 0, 0};
    k.word_groups = (p.words + WARP_WORDS - 1) / WARP_WORDS;
    k.row_groups = (p.ny + WARP_ROWS - 1) / WARP_ROWS;
    k.items = (int64_t)k.word_groups * k.row_groups * ((p.nz + COMPARE_WARPS - 1) / COMPARE_WARPS);
    return lob_launch(c->device, compare_kernel<T, C>, "comparing neighbours", k.items,
                      COMPARE_THREADS, 0, k, error);
}

/* ---- several channels ---- */

/* Whether two voxels are joined, if both are foreground. */
template <typename T>
static __device__ inline bool alike(const bits_params &b, int64_t one, int64_t other)
{
    const T *stored = (const T *)b.image.stored;
    double sum = 0;
    for (int c = 0; c < b.image.channels; c++) {
        const int64_t channel = c * b.image.voxels;
        const T v = stored[one + channel], to = stored[other + channel];
        if (!b.tolerance && v != to) return false;
        if (b.tolerance) sum += apart(v, to);
    }
    return !b.tolerance || sum <= b.rule.limit;
}

/* A warp takes a word in all directions. */
template <typename T>
static __device__ inline void join_word(const bits_params &b, int y, int z, int w)
{
    const join_params &p = b.join;
    const int lane = (int)threadIdx.x % WARP, x = w * WORD + lane;
    const int64_t row = (int64_t)z * p.ny + y;
    const uint32_t filled = p.filled[row * p.words + w];
    for (int k = 0; k < DIRECTIONS; k++) {
        const lane_direction d = direction_of_lane(p, k);
        if (!d.bits) continue;
        const int to_y = y + d.dy, to_z = z + d.dz;
        const uint32_t here = row_word(p, p.filled, to_y, to_z, w);
        const uint32_t to = d.dx < 0   ? bits_back(here, row_word(p, p.filled, to_y, to_z, w - 1))
                            : d.dx > 0 ? bits_ahead(here, row_word(p, p.filled, to_y, to_z, w + 1))
                                       : here;
        const bool both = (filled & to) >> lane & 1;
        const bool joined =
            both && alike<T>(b, row * p.nx + x, ((int64_t)to_z * p.ny + to_y) * p.nx + x + d.dx);
        const uint32_t bits = __ballot_sync(ALL_LANES, joined);
        if (lane == 0) d.bits[row * p.words + w] = bits;
    }
}

template <typename T>
static __global__ void __launch_bounds__(COMPARE_THREADS) channels_kernel(bits_params b)
{
    const join_params &p = b.join;
    const int64_t rows = (int64_t)p.ny * p.nz, step = (int64_t)gridDim.x * COMPARE_WARPS;
    for (int64_t row = (int64_t)blockIdx.x * COMPARE_WARPS + threadIdx.x / WARP; row < rows;
         row += step) {
        const int z = (int)(row / p.ny), y = (int)(row - (int64_t)z * p.ny);
        for (int w = 0; w < p.words; w++) join_word<T>(b, y, z, w);
    }
}

/* ---- the call ---- */

template <typename T> static lob_status compare(call *c, const bits_params &b, lob_error *error)
{
    using R = typename in_register<T>::type;
    const int64_t rows = (int64_t)b.join.ny * b.join.nz;
    if (b.image.channels > 1)
        return lob_launch_over(c->device, channels_kernel<T>, "comparing neighbours", rows * WARP,
                               COMPARE_THREADS, b, error);
    if (b.tolerance) return compare_single<T, near_values<R>>(c, b, error);
    return compare_single<T, equal_values<R>>(c, b, error);
}

lob_status compare_neighbours(call *c, const bits_params &b, lob_error *error)
{
    return with_type(b.image.type,
                     [&](auto of_type) { return compare<decltype(of_type)>(c, b, error); });
}

} /* namespace lob::components */
