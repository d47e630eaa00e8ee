/*
 * Medians of up to some thousand places by slices of bits, with gaps too.
 *
 * A word holds one bit of 32 neighbouring voxels of a row. A block turns the keys of its tile into
 * such words, one plane of words for each bit and one for what is data. A thread then finds the
 * medians of 32 neighbouring voxels at once, from the highest bit to the lowest: it holds a word
 * for each place of the neighbourhood that says for which of the 32 the key there can still be the
 * median. It counts in vertical counters (a word for each bit of 32 counts, full adders of two
 * instructions) how many of these keys have the next bit set. The median has it set where they are
 * more than the data above the median; else they are all above it. Either way the keys that differ
 * from the median are left out. So a place costs some 5 instructions a bit for 32 voxels.
 *
 * LANES threads share the places of the same 32 voxels, so that these stay in registers. Bits in
 * which no keys of a tile differ are skipped.
 */
#ifndef LOB_MEDIAN_SLICED_CUDA_CUH
#define LOB_MEDIAN_SLICED_CUDA_CUH

#include "kernels/filters/median/median_params_cuda.cuh"

namespace lob::filters
{

/*
 * How the places of a window are dealt out. Rows of places are cut into pieces of at most WIDE
 * places; each of LANES threads has PIECES of them. A block's tile is X words wide, Y rows high and
 * Z planes deep.
 */
template <int WIDE_, int PIECES_, int LANES_, int X_, int Y_, int Z_> struct sliced_shape {
    enum {
        WIDE = WIDE_,
        PIECES = PIECES_,
        LANES = LANES_,
        X = X_,
        Y = Y_,
        Z = Z_,
        PLACES = WIDE * PIECES, /* of a thread */
        WORDS = X * Y * Z,
        THREADS = WORDS * LANES,
        STATIC = 4 * (PIECES * LANES + 4), /* bytes of shared memory beside the planes */
        CUTS = LANES > 4                   /* rows of places into several pieces */
    };
};

using sliced_3x3 = sliced_shape<3, 3, 1, 4, 8, 4>;     /* 3x3 */
using sliced_3x9 = sliced_shape<3, 9, 1, 4, 8, 4>;     /* 3x3x3 */
using sliced_5x5 = sliced_shape<5, 5, 1, 4, 8, 4>;     /* 5x5 */
using sliced_7x7 = sliced_shape<7, 7, 1, 4, 8, 4>;     /* 7x7 */
using sliced_5x28 = sliced_shape<5, 7, 4, 2, 8, 8>;    /* 5x5x5 */
using sliced_7x56 = sliced_shape<7, 7, 8, 2, 8, 4>;    /* 7x7x7 */
using sliced_7x416 = sliced_shape<7, 13, 32, 1, 4, 2>; /* up to 11x11x11 */

/* A place of bisection takes about as long as so many of a shape. */
enum { SLICED_WORTH = 19 };

template <typename B> struct sliced_params {
    median_params<B> image; /* voxels as bits */
    lob_key_kind kind;
    int32_t tiles[2];           /* along x, y */
    int32_t words, rows, depth; /* of a tile with the places around: along x, y, z */
    int32_t pitch;              /* words of a plane of bits; odd */
    int32_t chunks, pieces;     /* of a row of places; of a window */
};

/* ---- keys and their bits ---- */

#define LOB_SLICED_KEY(width)                                                                 \
    static __device__ inline uint##width##_t sliced_key(uint##width##_t bits, lob_key_kind k) \
    {                                                                                         \
        return lob_key_##width(bits, k);                                                      \
    }                                                                                         \
    static __device__ inline uint##width##_t sliced_back(uint##width##_t key, lob_key_kind k) \
    {                                                                                         \
        return lob_key_back_##width(key, k);                                                  \
    }
LOB_SLICED_KEY(8)
LOB_SLICED_KEY(16)
LOB_SLICED_KEY(32)
LOB_SLICED_KEY(64)
#undef LOB_SLICED_KEY

template <typename B> static __device__ inline bool sliced_finite(B bits, lob_key_kind kind)
{
    if (sizeof bits == 4) return lob_bits_finite_32((uint32_t)bits, kind);
    if (sizeof bits == 8) return lob_bits_finite_64((uint64_t)bits, kind);
    return true;
}

/* Bit i of lane j's word becomes bit j of lane i's (Warren, Hacker's Delight, 7-3). */
static __device__ inline uint32_t turn_bits(uint32_t word, int lane)
{
    uint32_t low = 0x0000ffffu;
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
        const bool upper = lane & apart;
        const uint32_t other = __shfl_xor_sync(ALL_LANES, word, apart);
        const uint32_t moved = __funnelshift_l(other, other, upper ? 32 - apart : apart);
        const uint32_t kept = upper ? ~low : low;
        word = (word & kept) | (moved & ~kept);
        low ^= low << apart / 2;
    }
    return word;
}

/* ---- vertical counters ---- */

static constexpr __host__ __device__ int bits_of(int n)
{
    return n == 0 ? 0 : 1 + bits_of(n / 2);
}

static __device__ inline uint32_t majority(uint32_t a, uint32_t b, uint32_t c)
{
    return (a & b) | (c & (a | b));
}

/* How often each of 32 bits is set in N words. Words wait in pairs for a full adder. */
template <int N> struct word_counter {
    uint32_t sum[bits_of(N)], waits[bits_of(N)];

    __device__ word_counter()
    {
#pragma unroll
        for (int l = 0; l < bits_of(N); l++) sum[l] = waits[l] = 0;
    }
    /* Word number i, from 0 on. */
    __device__ void add(int i, uint32_t word)
    {
#pragma unroll
        for (int l = 0; l < bits_of(N); l++) {
            if (!(i >> l & 1)) {
                waits[l] = word;
                return;
            }
            const uint32_t carry = majority(sum[l], waits[l], word);
            sum[l] ^= waits[l] ^ word;
            word = carry;
        }
    }
    /* Afterwards sum holds the counts. */
    __device__ void finish()
    {
        uint32_t carry = 0;
#pragma unroll
        for (int l = 0; l < bits_of(N); l++) {
            const uint32_t left = N >> l & 1 ? waits[l] : 0;
            const uint32_t next = majority(sum[l], left, carry);
            sum[l] ^= left ^ carry;
            carry = next;
        }
    }
};

/* The counts of LANES neighbouring lanes together, in each of them. */
template <typename S>
static __device__ inline void count_of_lanes(uint32_t *count, const word_counter<S::PLACES> &mine)
{
    constexpr int ALL = bits_of(S::PLACES * S::LANES), OWN = bits_of(S::PLACES);
#pragma unroll
    for (int l = 0; l < ALL; l++) count[l] = l < OWN ? mine.sum[l] : 0;
#pragma unroll
    for (int apart = 1; apart < S::LANES; apart *= 2) {
        uint32_t carry = 0;
#pragma unroll
        for (int l = 0; l < ALL; l++) {
            if (l >= bits_of(S::PLACES * apart)) {
                if (l < bits_of(S::PLACES * apart * 2)) count[l] = carry;
                break;
            }
            const uint32_t other = __shfl_xor_sync(ALL_LANES, count[l], apart);
            const uint32_t next = majority(count[l], other, carry);
            count[l] ^= other ^ carry;
            carry = next;
        }
    }
}

/* ---- a block's tile ---- */

struct sliced_tile {
    int64_t first[3]; /* the voxel where it begins */
};

/* Rows that are read together, so that their loads are under way at the same time. */
enum { SLICED_ROWS = 4 };

/* Voxels of ROWS rows at one x and z, which are data or not. */
template <typename B, int ROWS> struct sliced_column {
    B key[ROWS];
    bool data[ROWS];

    /* Note which bits are set, and which are not, in some data. */
    __device__ void note(B *ones, B *zeros) const
    {
#pragma unroll
        for (int q = 0; q < ROWS; q++)
            if (data[q]) *ones |= key[q], *zeros |= (B)~key[q];
    }
};

/* Read rows from y on at positions px and pz, -1 for none. INSIDE: all are in the volume. */
template <bool INSIDE, int ROWS, typename B>
static __device__ inline sliced_column<B, ROWS> read_column(const sliced_params<B> &p, int64_t px,
                                                            int64_t y, int64_t pz, int rows)
{
    const median_params<B> &v = p.image;
    const int64_t *n = v.axes.n;
    const int64_t column = pz * n[1] * n[0] + px;
    sliced_column<B, ROWS> c;
#pragma unroll
    for (int q = 0; q < ROWS; q++) {
        const int64_t py = INSIDE ? y + q : lob_edge_position(y + q, n[1], v.edge);
        const bool there = q < rows && px >= 0 && (INSIDE || (py >= 0 && pz >= 0));
        const int64_t at = column + py * n[0];
        c.key[q] = there ? __ldg(v.in + at) : v.edge_value;
        c.data[q] = there ? !v.mask || __ldg(v.mask + at) : v.edge == LOB_EDGE_CONSTANT;
    }
#pragma unroll
    for (int q = 0; q < ROWS; q++) {
        if (v.gaps) c.data[q] = c.data[q] && sliced_finite(c.key[q], p.kind);
        c.key[q] = sliced_key(c.key[q], p.kind);
    }
    return c;
}

/* Write the bits of a column's keys, a plane of bits each, and behind them what is data. */
template <typename B>
static __device__ inline void write_bits(uint32_t *to, int pitch,
                                         const sliced_column<B, SLICED_ROWS> &c, int rows, int lane)
{
    constexpr int BITS = 8 * sizeof(B), TURNED = BITS < 32 ? BITS : 32, TOGETHER = 32 / TURNED;
    const int row = lane / TURNED, bit = lane % TURNED;
#pragma unroll
    for (int q = 0; q < SLICED_ROWS; q++) {
        const uint32_t data = __ballot_sync(ALL_LANES, c.data[q]);
        if (lane == q && q < rows) to[BITS * pitch + q] = data;
    }
#pragma unroll
    for (int from = 0; from < SLICED_ROWS; from += TOGETHER) {
        if (from >= rows) break;
#pragma unroll
        for (int half = 0; half < BITS / TURNED; half++) {
            uint32_t packed = 0;
#pragma unroll
            for (int q = 0; q < TOGETHER; q++)
                packed |= (uint32_t)(c.key[from + q] >> 32 * half) << BITS * q % 32;
            packed = turn_bits(packed, lane);
            if (from + row < rows) to[(bit + 32 * half) * pitch + from + row] = packed;
        }
    }
}

/* The last words of rows from y on, of which the first 2 radii of bits are used: so many rows at
 * once that their voxels fill a warp. px: of the lane's voxel in its row. */
template <bool INSIDE, typename B>
static __device__ inline void read_last(uint32_t *to, B *ones, B *zeros, const sliced_params<B> &p,
                                        int64_t px, int64_t y, int64_t pz, unsigned lane)
{
    constexpr int BITS = 8 * sizeof(B), TURNED = BITS < 32 ? BITS : 32;
    const int wide = 2 * (int)p.image.axes.radius[0], together = WARP / wide;
    const int mine = (int)lane / wide; /* row, from `from` on */
    const uint32_t used = (1u << wide) - 1;
    for (int from = 0; from < p.rows; from += together) {
        const int rows = p.rows - from < together ? p.rows - from : together;
        const auto column = read_column<INSIDE, 1>(p, px, y + from + mine, pz, mine < rows);
        column.note(ones, zeros);
        const uint32_t data = __ballot_sync(ALL_LANES, column.data[0]);
        if ((int)lane < rows) to[BITS * p.pitch + from + lane] = data >> lane * wide & used;
#pragma unroll
        for (int half = 0; half < BITS / TURNED; half++) {
            const uint32_t word = turn_bits((uint32_t)(column.key[0] >> 32 * half), (int)lane);
            for (int q = 0; q < rows && lane < TURNED; q++)
                to[(lane + 32 * half) * p.pitch + from + q] = word >> q * wide & used;
        }
    }
}

/* The keys of a tile, and of the places around, as planes of bits; after these what is data.
 * Word (x, y, z) is at (x * depth + z) * rows + y. In `seen` are set the bits that are set in some
 * of the data, and behind them (two words for each) those that are not. */
template <bool INSIDE, typename S, typename B>
static __device__ inline void read_tile(uint32_t *planes, unsigned seen[4],
                                        const sliced_params<B> &p, const sliced_tile &t)
{
    constexpr int BITS = 8 * sizeof(B), HALVES = BITS > 32 ? 2 : 1;
    const int64_t *n = p.image.axes.n, *r = p.image.axes.radius;
    const unsigned lane = threadIdx.x % WARP, depth = (unsigned)p.depth;
    B ones = 0, zeros = 0;
    for (unsigned c = threadIdx.x / WARP; c < p.words * depth; c += S::THREADS / WARP) {
        const unsigned word = c / depth;
        const unsigned wide = word < S::X ? WARP : 2 * (unsigned)r[0];
        if (wide == 0) continue;
        int64_t px = t.first[0] - r[0] + word * 32 + lane % wide;
        int64_t pz = t.first[2] - r[2] + c % depth;
        if (!INSIDE) {
            px = lob_edge_position(px, n[0], p.image.edge);
            pz = lob_edge_position(pz, n[2], p.image.edge);
        }
        if (word == S::X) {
            read_last<INSIDE>(planes + c * p.rows, &ones, &zeros, p, px, t.first[1] - r[1], pz,
                              lane);
            continue;
        }
        for (int y = 0; y < p.rows; y += SLICED_ROWS) {
            const int rows = p.rows - y;
            const auto column =
                read_column<INSIDE, SLICED_ROWS>(p, px, t.first[1] - r[1] + y, pz, rows);
            column.note(&ones, &zeros);
            write_bits(planes + c * p.rows + y, p.pitch, column, rows, (int)lane);
        }
    }
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
        const unsigned some = __reduce_or_sync(ALL_LANES, (unsigned)(ones >> 32 * half));
        const unsigned others = __reduce_or_sync(ALL_LANES, (unsigned)(zeros >> 32 * half));
        if (lane == 0) atomicOr(&seen[half], some), atomicOr(&seen[2 + half], others);
    }
}

/* Whether the tile, and the places around, lie in the volume. */
template <typename S, typename B>
static __device__ inline bool tile_inside(const sliced_params<B> &p, const sliced_tile &t)
{
    const int64_t *n = p.image.axes.n, *r = p.image.axes.radius;
    const int64_t side[3] = {32 * S::X, S::Y, S::Z};
    bool inside = true;
    for (int a = 0; a < 3; a++)
        inside = inside && t.first[a] >= r[a] && t.first[a] + side[a] + r[a] <= n[a];
    return inside;
}

/* A piece of a window: where it begins in a plane of bits, from the word of the median on; how far
 * it is shifted, from bit 16 on; how many places it has, from bit 24 on. */
template <typename S, typename B>
static __device__ inline uint32_t piece_of(const sliced_params<B> &p, uint32_t number)
{
    const int64_t *r = p.image.axes.radius;
    const uint32_t high = (uint32_t)(2 * r[1] + 1), wide = (uint32_t)(2 * r[0] + 1);
    const uint32_t row = number / p.chunks, from = number % p.chunks * S::WIDE;
    if (number >= (uint32_t)p.pieces) return 0;
    return (row / high * p.rows + row % high) | from << 16 | (wide - from) << 24;
}

/* The words of a piece's places in a plane of bits. */
template <typename S>
static __device__ inline void read_piece(uint32_t word[S::WIDE], const uint32_t *plane,
                                         uint32_t piece, int beside)
{
    const uint32_t *const from = plane + (piece & 0xffffu);
    uint32_t low = from[0], high = from[beside];
    if (S::CUTS) {
        const uint32_t by = piece >> 16 & 31;
        low = __funnelshift_r(low, high, by);
        high >>= by;
    }
#pragma unroll
    for (int i = 0; i < S::WIDE; i++) word[i] = __funnelshift_r(low, high, i);
}

/* Find the medians of a thread's word, `number` of the tile. They lie in the planes of bits, in the
 * place of keys that nobody reads after a barrier: bit b at planes[b * pitch + number], and behind
 * the last bit, whether there are data. A tile has fewer words than a plane, since that holds those
 * around too. All threads of a block call it. */
template <typename S, typename B>
static __device__ inline void select_word(uint32_t *planes, unsigned number, const uint32_t *pieces,
                                          B ones, B varying, const sliced_params<B> &p, int lane)
{
    constexpr int BITS = 8 * sizeof(B), COUNT = bits_of(S::PLACES * S::LANES);
    const int beside = p.depth * p.rows;
    const unsigned y = number % S::Y, z = number / S::Y % S::Z, x = number / S::Y / S::Z;
    const uint32_t *const around = planes + (x * p.depth + z) * p.rows + y;
    const auto keep = [&](int bit, uint32_t word) {
        if (lane == 0) planes[bit * p.pitch + number] = word;
    };
    uint32_t piece[S::PIECES], open[S::PIECES][S::WIDE], count[COUNT], above[COUNT], any = 0;
#pragma unroll
    for (int k = 0; k < S::PIECES; k++) piece[k] = pieces[k * S::LANES + lane];
    {
        word_counter<S::PLACES> counter;
#pragma unroll
        for (int k = 0; k < S::PIECES; k++) {
            read_piece<S>(open[k], around + BITS * p.pitch, piece[k], beside);
#pragma unroll
            for (int i = 0; i < S::WIDE; i++) {
                if (i >= (int)(piece[k] >> 24)) open[k][i] = 0;
                counter.add(k * S::WIDE + i, open[k][i]);
            }
        }
        counter.finish();
        count_of_lanes<S>(count, counter);
    }
    /* Of n data, n - (n + 1) / 2 = n / 2 are above the median. */
#pragma unroll
    for (int l = 0; l < COUNT; l++) any |= count[l], above[l] = l + 1 < COUNT ? count[l + 1] : 0;
    __syncthreads();
    keep(BITS, any);

    for (int b = BITS - 1; b >= 0; b--) {
        if (!(varying >> b & 1)) {
            keep(b, ones >> b & 1 ? ~0u : 0u);
            continue;
        }
        uint32_t set[S::PIECES][S::WIDE], less[COUNT], borrow = 0;
        word_counter<S::PLACES> counter;
#pragma unroll
        for (int k = 0; k < S::PIECES; k++) {
            read_piece<S>(set[k], around + b * p.pitch, piece[k], beside);
#pragma unroll
            for (int i = 0; i < S::WIDE; i++) {
                set[k][i] &= open[k][i];
                counter.add(k * S::WIDE + i, set[k][i]);
            }
        }
        counter.finish();
        count_of_lanes<S>(count, counter);
#pragma unroll
        for (int l = 0; l < COUNT; l++) {
            less[l] = above[l] ^ count[l] ^ borrow;
            borrow = majority(~above[l], count[l], borrow);
        }
        /* Where borrow is set the median has the bit. */
#pragma unroll
        for (int l = 0; l < COUNT; l++) above[l] = (above[l] & borrow) | (less[l] & ~borrow);
#pragma unroll
        for (int k = 0; k < S::PIECES; k++)
#pragma unroll
            for (int i = 0; i < S::WIDE; i++)
                open[k][i] = (set[k][i] & borrow) | (open[k][i] & ~set[k][i] & ~borrow);
        __syncthreads();
        keep(b, borrow);
    }
}

/* Turn the bits of medians back to voxels, and write them. */
template <typename S, typename B>
static __device__ inline void write_tile(const uint32_t *planes, const sliced_params<B> &p,
                                         const sliced_tile &t)
{
    constexpr int BITS = 8 * sizeof(B), TURNED = BITS < 32 ? BITS : 32, TOGETHER = 32 / TURNED;
    const median_params<B> &v = p.image;
    const int64_t *n = v.axes.n;
    const unsigned lane = threadIdx.x % WARP;
    for (unsigned word = threadIdx.x / WARP * TOGETHER; word < S::WORDS;
         word += S::THREADS / WARP * TOGETHER) {
        uint32_t turned[BITS / TURNED];
        const int64_t x = t.first[0] + word / (S::Y * S::Z) * 32 + lane;
        const int64_t y = t.first[1] + word % S::Y, z = t.first[2] + word / S::Y % S::Z;
        const int64_t at = (z * n[1] + y) * n[0] + x;
        if (y >= n[1] || z >= n[2]) continue;
#pragma unroll
        for (int half = 0; half < BITS / TURNED; half++)
            turned[half] = turn_bits(
                planes[(lane % TURNED + 32 * half) * p.pitch + word + lane / TURNED], (int)lane);
#pragma unroll
        for (int q = 0; q < TOGETHER; q++) {
            if (x >= n[0] || y + q >= n[1]) continue;
            const int64_t i = at + q * n[0];
            const bool any = planes[BITS * p.pitch + word + q] >> lane & 1;
            B key = (B)(turned[0] >> BITS * q % 32);
            if (BITS == 64) key = (B)(turned[0] | (u64)turned[BITS / TURNED - 1] << 32);
            v.out[i] = !any || (v.mask && !v.mask[i]) ? v.in[i] : sliced_back(key, p.kind);
        }
    }
}

template <typename S, typename B>
static __global__ void __launch_bounds__(S::THREADS)
    sliced_kernel(const __grid_constant__ sliced_params<B> p)
{
    extern __shared__ uint32_t planes[];
    __shared__ uint32_t pieces[S::PIECES * S::LANES];
    __shared__ unsigned seen[4];
    static_assert(sizeof pieces + sizeof seen == S::STATIC);
    const unsigned number = blockIdx.x, across = (unsigned)p.tiles[0], down = (unsigned)p.tiles[1];
    const sliced_tile t = {(int64_t)(number % across) * S::X * 32,
                           (int64_t)(number / across % down) * S::Y,
                           (int64_t)(number / across / down) * S::Z};
    if (threadIdx.x < 4) seen[threadIdx.x] = 0;
    for (unsigned i = threadIdx.x; i < S::PIECES * S::LANES; i += S::THREADS)
        pieces[i] = piece_of<S>(p, i);
    __syncthreads();
    if (tile_inside<S>(p, t))
        read_tile<true, S>(planes, seen, p, t);
    else
        read_tile<false, S>(planes, seen, p, t);
    __syncthreads();
    const B ones = (B)(seen[0] | (u64)seen[1] << 32), zeros = (B)(seen[2] | (u64)seen[3] << 32);
    select_word<S>(planes, threadIdx.x / S::LANES, pieces, ones, (B)(ones & zeros), p,
                   (int)(threadIdx.x % S::LANES));
    __syncthreads();
    write_tile<S>(planes, p, t);
}

/* ---- launches ---- */

/* Lay out a window in a shape; false: it does not fit. */
template <typename S, typename B>
static bool sliced_fits(sliced_params<B> *p, int64_t *shared, const lob_device *device)
{
    const int64_t *n = p->image.axes.n, *r = p->image.axes.radius;
    const int64_t wide = 2 * r[0] + 1, rows = (2 * r[1] + 1) * (2 * r[2] + 1);
    const int64_t chunks = (wide + S::WIDE - 1) / S::WIDE;
    if (r[0] > 15 || rows > S::PIECES * S::LANES || chunks * rows > S::PIECES * S::LANES ||
        (chunks > 1 && !S::CUTS) || S::PLACES * S::LANES > SLICED_WORTH * wide * rows)
        return false;
    for (int a = 0; a < 3; a++)
        if (n[a] > INT32_MAX / 2) return false;
    p->chunks = (int32_t)chunks;
    p->pieces = (int32_t)(chunks * rows);
    p->words = S::X + 1;
    p->rows = (int32_t)(S::Y + 2 * r[1]);
    p->depth = (int32_t)(S::Z + 2 * r[2]);
    p->pitch = p->words * p->rows * p->depth | 1;
    p->tiles[0] = (int32_t)((n[0] + S::X * 32 - 1) / (S::X * 32));
    p->tiles[1] = (int32_t)((n[1] + S::Y - 1) / S::Y);
    *shared = (8 * (int64_t)sizeof(B) + 1) * p->pitch * 4;
    return *shared + S::STATIC <= lob_device_shared_bytes(device);
}

/* Run the window in the shape if it fits. */
template <typename S, typename B>
static lob_status run_shape(bool *done, lob_device *device, sliced_params<B> p, lob_error *error)
{
    int64_t shared;
    if (*done || !sliced_fits<S>(&p, &shared, device)) return LOB_OK;
    const int64_t deep = (p.image.axes.n[2] + S::Z - 1) / S::Z;
    const int64_t blocks = lob_product(p.tiles[0], p.tiles[1], deep, 1);
    if (blocks < 0 || blocks > INT32_MAX) return lob_device_too_large(error);
    *done = true;
    LOB_TRY(lob_allow_shared(sliced_kernel<S, B>, (size_t)shared, error));
    return lob_launch(device, sliced_kernel<S, B>, "median by bits", blocks, S::THREADS,
                      (size_t)shared, p, error);
}

/* Run in the cheapest shape; done: false where the window fits none. */
template <typename B>
static lob_status run_sliced(bool *done, lob_device *device, const sliced_params<B> &p,
                             lob_error *error)
{
    *done = false;
    LOB_TRY(run_shape<sliced_3x3>(done, device, p, error));
    LOB_TRY(run_shape<sliced_5x5>(done, device, p, error));
    LOB_TRY(run_shape<sliced_3x9>(done, device, p, error));
    LOB_TRY(run_shape<sliced_7x7>(done, device, p, error));
    LOB_TRY(run_shape<sliced_5x28>(done, device, p, error));
    LOB_TRY(run_shape<sliced_7x56>(done, device, p, error));
    return run_shape<sliced_7x416>(done, device, p, error);
}

} /* namespace lob::filters */

#endif
