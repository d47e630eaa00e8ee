/*
 * Regions from runs: what the runs of a tile add up to, piece by piece, in shared memory.
 *
 * A component's root writes its row, all of it, so that nothing has to be cleared before; where
 * components are many, most have no other piece. What the other pieces measure is listed, and
 * added to the rows when all of them are there.
 *
 * The runs of a tile are laid out in a row, so that lanes take neighbouring ones and all threads
 * as many. A piece's own run, its first one, only says where it is: what it measures is put
 * together with what the others add when the piece is written. A tile whose runs are all pieces of
 * their own, as those of a checkerboard are, adds nothing. Sums in a tile are of places in the tile
 * and fit 32 bits.
 */
#ifndef LOB_COMPONENTS_MEASURE_CUDA_CUH
#define LOB_COMPONENTS_MEASURE_CUDA_CUH

#include "kernels/components/join/runs_cuda.cuh"
#include "kernels/regions/regions_values_cuda.cuh"

using lob::regions::add_value;
using lob::regions::add_values;
using lob::regions::add_values_atomic;
using lob::regions::clear_values;
using lob::regions::value_sums;
using lob::regions::warp_values;

enum {
    TILE_WARPS = TILE_THREADS / WORD,
    ROW_QUARTERS = (int)(sizeof(lob_region) / sizeof(uint4)),
    VOXELS_BITS = 17,  /* a piece has up to 64 * 256 * 4 voxels in a tile */
    LISTED_X_BITS = 6, /* a tile is 64 voxels wide; there are fewer than 2^20 tiles */
    OFTEN = 4          /* lanes of a warp that meet one piece, for it to be added up in registers */
};

/* What a piece that is no root adds to a row; written and read 16 bytes at a time. */
typedef struct alignas(sizeof(uint4)) {
    uint32_t label; /* 0: nothing */
    uint32_t tile;  /* tile << 12 | lowest x << 6 | highest x */
    uint32_t voxels;
    uint32_t sum[3];
    uint32_t span[2]; /* of y and z */
} listed_piece;

typedef struct {
    runs r;
    const uint32_t *label; /* of components; NULL: their numbers */
    lob_region *regions;
    value_sums *sums;   /* of values, a row each; NULL: no values */
    listed_piece *list; /* pieces that are no roots, in their order */
    value_sums *list_values;
    int64_t listed;
    lob::regions::region_intensities values;
} measuring;

/* ---- sums ---- */

/* Both ends of a stretch below 2^16, so that wider means larger in both halves; 0 is none. */
static __device__ inline uint32_t span_of(uint32_t low, uint32_t high)
{
    return (0xffff - low) << 16 | high;
}

static __device__ inline uint32_t span_low(uint32_t span)
{
    return 0xffff - (span >> 16);
}

static __device__ inline uint32_t span_high(uint32_t span)
{
    return span & 0xffff;
}

/*
 * Where along y and z a tile's voxels are: a bit for each place where a tile is short enough, else
 * spans. In lines of one row a word has both axes, in halves; in lines of several rows each axis
 * has its own.
 */
template <typename K> struct marks {
    static constexpr bool both = K::by * K::bz == 1;
    static constexpr int words = both ? 1 : 2, places = both ? WORD / 2 : WORD;
    static constexpr uint32_t last = 0xff; /* of a byte: spans that share a word have two each */
    bool bits;

    /* Both logarithms make up 2 * TILE_SIDE_BITS, so that one tells the other. */
    __device__ explicit marks(const runs &r) : bits(r.tile_y_bits == TILE_SIDE_BITS)
    {
        static_assert(K::by << TILE_SIDE_BITS <= places && K::bz << TILE_SIDE_BITS <= places,
                      "a tile of as many lines along y as along z has a bit for each place");
        static_assert(!both || TILE_LINES <= last + 1, "a place of other tiles is a byte");
    }

    /* Some of a place and the next one: bit 0, bit 1. */
    __device__ uint32_t of_axis(uint32_t first, uint32_t which) const
    {
        return bits ? which << first : span_of(first + (which == 2), first + which / 2);
    }

    __device__ void set(uint32_t mark[words], uint32_t y, uint32_t which_y, uint32_t z,
                        uint32_t which_z) const
    {
        if constexpr (both) {
            mark[0] = bits ? 1u << y | 1u << places << z
                           : (last - y) << 8 | y | (last - z) << 24 | z << 16;
        } else {
            mark[0] = of_axis(y, which_y);
            mark[1] = of_axis(z, which_z);
        }
    }

    __device__ uint32_t join(uint32_t a, uint32_t b) const
    {
        return bits ? a | b : both ? __vmaxu4(a, b) : __vmaxu2(a, b);
    }

    /* Asking before writing: most runs of a large piece widen nothing. */
    __device__ void add(uint32_t *to, uint32_t mark) const
    {
        if (bits) {
            atomicOr(to, mark);
            return;
        }
        uint32_t there = *(volatile uint32_t *)to;
        for (;;) {
            const uint32_t wider = join(there, mark);
            if (wider == there) return;
            const uint32_t seen = atomicCAS(to, there, wider);
            if (seen == there) return;
            there = seen;
        }
    }

    /* All lanes together. */
    __device__ uint32_t of_warp(uint32_t mark) const
    {
        if (bits) return __reduce_or_sync(~0u, mark);
        for (int apart = WORD / 2; apart > 0; apart /= 2)
            mark = join(mark, __shfl_xor_sync(~0u, mark, apart));
        return mark;
    }

    /* Of y or z. */
    __device__ uint32_t span(const uint32_t mark[words], int axis) const
    {
        const uint32_t its = both ? mark[0] >> axis * places & 0xffff : mark[axis];
        if (bits) return span_of((uint32_t)lowest_bit(its), 31 - (uint32_t)__clz((int)its));
        return both ? span_of(last - (its >> 8), its & last) : its;
    }
};

/* Of places in the tile. */
template <typename K> struct place_sums {
    uint32_t voxels, sum[3];
    uint32_t columns[TILE_WORDS]; /* bit x: has a voxel there */
    uint32_t mark[marks<K>::words];
};

template <typename K>
static __device__ inline void join_places(const runs &r, place_sums<K> *to, const place_sums<K> &s)
{
    to->voxels += s.voxels;
#pragma unroll
    for (int a = 0; a < 3; a++) to->sum[a] += s.sum[a];
#pragma unroll
    for (int i = 0; i < TILE_WORDS; i++) to->columns[i] |= s.columns[i];
#pragma unroll
    for (int i = 0; i < marks<K>::words; i++)
        to->mark[i] = marks<K>(r).join(to->mark[i], s.mark[i]);
}

/* Of all lanes of a warp, which call this together. */
template <typename K>
static __device__ inline place_sums<K> warp_places(const runs &r, const place_sums<K> &s)
{
    place_sums<K> all;
    all.voxels = __reduce_add_sync(~0u, s.voxels);
#pragma unroll
    for (int a = 0; a < 3; a++) all.sum[a] = __reduce_add_sync(~0u, s.sum[a]);
#pragma unroll
    for (int i = 0; i < TILE_WORDS; i++) all.columns[i] = __reduce_or_sync(~0u, s.columns[i]);
#pragma unroll
    for (int i = 0; i < marks<K>::words; i++) all.mark[i] = marks<K>(r).of_warp(s.mark[i]);
    return all;
}

/* ---- what a block knows ---- */

template <typename K> struct tile_words {
    uint32_t row[K::by * K::bz][TILE_THREADS]; /* of voxels */
    uint32_t starts[TILE_THREADS];
    uint32_t before[TILE_LINES + 2]; /* pieces in the lines before */
    uint32_t id[TILE_LINES];         /* of the tile's first piece, if all were numbered as here */
    uint32_t of_warp[TILE_WARPS];
    uint32_t from; /* the first run that may belong to one of the round's pieces */
};

/* Without values three blocks share 227 KiB, and with them no GPU from 8.0 on gives less than 99.
 */
template <typename K, bool VALUES> struct tile_table : tile_words<K> {
    static constexpr int budget = VALUES ? 99 * 1024 : 227 * 1024 / 3 - 1024;
    static constexpr int places =
        TILE_THREADS * (VALUES || K::directed ? WORD : WORD / 2) * (int)sizeof(uint16_t);
    static constexpr int piece = (int)((VALUES ? sizeof(value_sums) : 0) + sizeof(place_sums<K>));
    /* Pieces at once. */
    static constexpr int most =
        (budget - places - (int)sizeof(tile_words<K>)) / piece / WORD * WORD;

    value_sums values[VALUES ? most : 1];
    /* Of runs that are not their pieces' own; voxels from VOXELS_BITS on: where the own one is. */
    uint32_t voxels[most];
    uint32_t sum[3][most], columns[TILE_WORDS][most], mark[marks<K>::words][most];

    /* Where each run of the tile starts: thread * 32 + bit. Lies behind. */
    __device__ uint16_t *place()
    {
        return (uint16_t *)(this + 1);
    }
};

template <typename K, bool VALUES>
static __device__ inline void clear_table(tile_table<K, VALUES> &t, uint32_t count)
{
    for (uint32_t i = threadIdx.x; i < count; i += TILE_THREADS) {
        t.voxels[i] = 0;
#pragma unroll
        for (int a = 0; a < 3; a++) t.sum[a][i] = 0;
#pragma unroll
        for (int k = 0; k < TILE_WORDS; k++) t.columns[k][i] = 0;
#pragma unroll
        for (int k = 0; k < marks<K>::words; k++) t.mark[k][i] = 0;
        if (VALUES) clear_values(&t.values[i]);
    }
}

/* All but the columns. */
template <typename K, bool VALUES>
static __device__ inline void add_places(const runs &r, tile_table<K, VALUES> &t, uint32_t piece,
                                         const place_sums<K> &s)
{
    atomicAdd(&t.voxels[piece], s.voxels);
#pragma unroll
    for (int a = 0; a < 3; a++) atomicAdd(&t.sum[a][piece], s.sum[a]);
#pragma unroll
    for (int i = 0; i < marks<K>::words; i++) marks<K>(r).add(&t.mark[i][piece], s.mark[i]);
}

template <typename K, bool VALUES>
static __device__ inline place_sums<K> places_of_piece(const tile_table<K, VALUES> &t,
                                                       uint32_t piece)
{
    place_sums<K> s;
    s.voxels = t.voxels[piece] & ((1u << VOXELS_BITS) - 1);
#pragma unroll
    for (int a = 0; a < 3; a++) s.sum[a] = t.sum[a][piece];
#pragma unroll
    for (int i = 0; i < TILE_WORDS; i++) s.columns[i] = t.columns[i][piece];
#pragma unroll
    for (int i = 0; i < marks<K>::words; i++) s.mark[i] = t.mark[i][piece];
    return s;
}

/* ---- runs ---- */

/* A thread's word, and where its runs start. */
template <typename K, bool VALUES>
static __device__ inline void load_word(const runs &r, const place &p, tile_table<K, VALUES> &t)
{
    const uint32_t thread = threadIdx.x;
    const int line = (int)thread / TILE_WORDS;
    const int column = p.tile_x * TILE_WORDS + (int)thread % TILE_WORDS;
    const int y = line_y(r, p, line), z = line_z(r, p, line);
    const uint32_t *const offset = r.offset + p.tile * TILE_THREADS;
    uint16_t *to = t.place() + (offset[thread] - offset[0]);
#pragma unroll
    for (int i = 0; i < K::by * K::bz; i++)
        t.row[i][thread] =
            row_word(r, r.filled, y * K::by + i % K::by, z * K::bz + i / K::by, column);
    const uint32_t starts = starts_word<K>(r, y, z, column);
    t.starts[thread] = starts;
    for (uint32_t left = starts; left; left &= left - 1)
        *to++ = (uint16_t)(thread * WORD + (uint32_t)lowest_bit(left));
}

/*
 * The sum of the places of two words' bits. Counting bits is slow: places of one word that have a
 * bit set, and those of the other, next to them, share a count.
 */
static __device__ inline uint32_t sum_of_bits(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < 5; k++) {
        const uint32_t with = k == 0   ? 0xaaaaaaaau
                              : k == 1 ? 0xccccccccu
                              : k == 2 ? 0xf0f0f0f0u
                              : k == 3 ? 0xff00ff00u
                                       : 0xffff0000u;
        sum += (uint32_t)__popc((a & with) | (b >> (1 << k) & ~with)) << k;
    }
    return sum;
}

/* The columns of the run that starts at a place. */
template <typename K>
static __device__ inline uint32_t columns_of(const tile_words<K> &t, uint32_t start)
{
    const uint32_t thread = start / WORD;
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < K::by * K::bz; i++) filled |= t.row[i][thread];
    return run_of(filled, t.starts[thread] & ~0u << start % WORD);
}

template <typename K>
static __device__ inline place_sums<K> places_of_run(const runs &r, const tile_words<K> &t,
                                                     uint32_t thread, uint32_t columns)
{
    const uint32_t x = thread % TILE_WORDS * WORD, line = thread / TILE_WORDS;
    const uint32_t y = (line & ((1u << r.tile_y_bits) - 1)) * K::by;
    const uint32_t z = (line >> r.tile_y_bits) * K::bz;
    uint32_t next_y = 0, next_z = 0; /* voxels in the line's rows that are at y + 1, z + 1 */
    place_sums<K> s = {};
#pragma unroll
    for (int i = 0; i < TILE_WORDS; i++) s.columns[i] = thread % TILE_WORDS == i ? columns : 0;
    if constexpr (K::by * K::bz == 1) { /* without a gap */
        s.voxels = (uint32_t)__popc(columns);
        s.sum[0] = s.voxels * (2 * (x + (uint32_t)lowest_bit(columns)) + s.voxels - 1) / 2;
    } else {
        uint32_t bits[K::by * K::bz];
#pragma unroll
        for (int i = 0; i < K::by * K::bz; i++) {
            bits[i] = t.row[i][thread] & columns;
            const uint32_t n = (uint32_t)__popc(bits[i]);
            s.voxels += n;
            next_y += i % K::by ? n : 0;
            next_z += i / K::by ? n : 0;
        }
        s.sum[0] = s.voxels * x;
#pragma unroll
        for (int i = 0; i < K::by * K::bz; i += 2) s.sum[0] += sum_of_bits(bits[i], bits[i + 1]);
    }
    s.sum[1] = s.voxels * y + next_y;
    s.sum[2] = s.voxels * z + next_z;
    marks<K>(r).set(s.mark, y, (s.voxels > next_y) | (next_y > 0) << 1, z,
                    (s.voxels > next_z) | (next_z > 0) << 1);
    return s;
}

template <typename K>
static __device__ inline value_sums values_of_run(const measuring &m, const place &p,
                                                  const tile_words<K> &t, uint32_t thread,
                                                  uint32_t columns)
{
    const runs &r = m.r;
    const int line = (int)thread / TILE_WORDS;
    const int x = (p.tile_x * TILE_WORDS + (int)thread % TILE_WORDS) * WORD;
    const int y = line_y(r, p, line) * K::by, z = line_z(r, p, line) * K::bz;
    value_sums v;
    clear_values(&v);
    for (int i = 0; i < K::by * K::bz; i++) {
        const int64_t row = ((int64_t)(z + i / K::by) * r.ny + y + i % K::by) * r.nx + x;
        for (uint32_t left = t.row[i][thread] & columns; left; left &= left - 1)
            add_value(&v, m.values, row + lowest_bit(left));
    }
    return v;
}

/* ---- a tile ---- */

/* How many pieces a tile has, and where those of its lines begin. Ends with a barrier. */
template <typename K>
static __device__ inline uint32_t count_pieces(const runs &r, const place &p, tile_words<K> &t)
{
    const int thread = (int)threadIdx.x, line = thread / TILE_WORDS;
    const bool first = thread % TILE_WORDS == 0;
    uint32_t base = 0, mine = 0, all = 0;
    if (first && line_y(r, p, line) < r.ly && line_z(r, p, line) < r.lz) {
        const uint32_t *at = r.line_base + line_index(r, p, line);
        base = at[0];
        mine = at[1] - base;
    }
    const uint32_t before = sum_before(mine, t.of_warp, &all);
    if (first) {
        t.before[line] = before;
        t.id[line] = base - before;
    }
    if (thread == 0) {
        t.before[TILE_LINES] = all;
        t.from = 0;
    }
    __syncthreads();
    return all;
}

/*
 * The next round, for pieces that the table had no room for: they are counted from the round's
 * first one, so that those of other rounds are most or more. A piece has no run before its own, so
 * that the first one's line is the first to look at. Ends with a barrier.
 */
template <typename K, bool VALUES>
static __device__ inline void go_on(const runs &r, const place &p, tile_table<K, VALUES> &t)
{
    const uint32_t line = threadIdx.x;
    const uint32_t *const offset = r.offset + p.tile * TILE_THREADS;
    __syncthreads();
    if (line <= TILE_LINES) t.before[line] -= (uint32_t)t.most;
    if (line < TILE_LINES) t.id[line] += (uint32_t)t.most;
    __syncthreads();
    if (line < TILE_LINES && (int32_t)t.before[line] <= 0 && (int32_t)t.before[line + 1] > 0)
        t.from = offset[line * TILE_WORDS] - offset[0];
    __syncthreads();
}

template <typename K>
static __device__ inline uint32_t piece_of(const tile_words<K> &t, uint32_t code)
{
    return t.before[code_line(code)] + code_rank(code);
}

/* All lanes together: the piece that most lanes have, where these are many; else none. */
static __device__ inline uint32_t often_met(uint32_t piece, uint32_t none)
{
    const uint32_t lane = threadIdx.x % WORD, alike = __match_any_sync(~0u, piece);
    const uint32_t best =
        __reduce_max_sync(~0u, piece != none ? (uint32_t)__popc(alike) * WORD + lane : 0);
    return best < OFTEN * WORD ? none : __shfl_sync(~0u, piece, (int)(best % WORD));
}

/* All threads: where pieces are, and what the runs add to them that are not their own. */
template <typename K, bool VALUES>
static __device__ inline void add_runs(const measuring &m, const place &p, tile_table<K, VALUES> &t,
                                       uint32_t runs_here, uint32_t pieces)
{
    const runs &r = m.r;
    const uint32_t none = ~0u, lane = threadIdx.x % WORD;
    const uint32_t first = r.offset[p.tile * TILE_THREADS];
    uint32_t frequent = none, run = t.from + threadIdx.x;
    const uint16_t *code = r.code + first + run;
    uint32_t next = run < runs_here ? *code : 0; /* is on its way while another is added */
    place_sums<K> sums = {};
    value_sums values;
    clear_values(&values);
    for (; run - lane < runs_here; run += TILE_THREADS) {
        const bool inside = run < runs_here;
        const uint32_t its_code = next, start = inside ? t.place()[run] : 0;
        code += TILE_THREADS;
        next = run + TILE_THREADS < runs_here ? *code : 0;
        const bool own = its_code & CODE_OWN;
        uint32_t piece = inside ? piece_of(t, its_code) : none;
        if (piece >= pieces) piece = none;
        if (own && piece != none) atomicAdd(&t.voxels[piece], start << VOXELS_BITS);
        if (own) piece = none;
        if (frequent == none) frequent = often_met(piece, none);
        if (piece == none) continue;
        const uint32_t columns = columns_of(t, start), thread = start / WORD;
        const place_sums<K> s = places_of_run(r, t, thread, columns);
        value_sums v;
        if (VALUES) v = values_of_run(m, p, t, thread, columns);
        if (piece == frequent) {
            join_places<K>(r, &sums, s);
            if (VALUES) add_values(&values, v);
        } else {
            add_places(r, t, piece, s);
            atomicOr(&t.columns[thread % TILE_WORDS][piece], columns);
            if (VALUES) add_values_atomic(&t.values[piece], v);
        }
    }
    __syncwarp();
    if (frequent == none) return;
    sums = warp_places<K>(r, sums);
    if (VALUES) values = warp_values(values);
    if (lane != 0) return;
    add_places(r, t, frequent, sums);
#pragma unroll
    for (int i = 0; i < TILE_WORDS; i++) atomicOr(&t.columns[i][frequent], sums.columns[i]);
    if (VALUES) add_values_atomic(&t.values[frequent], values);
}

#endif
