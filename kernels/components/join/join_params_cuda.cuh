/*
 * A volume as the kernels of connected components see it: rows of bits, tiles, and runs in them.
 *
 * Bit arrays hold all that a criterion and a neighbourhood ask: one says which voxels are
 * foreground; where values decide, one more per direction (up to 13) says which neighbours are
 * joined. Values are not looked at again.
 *
 * A merged row is the OR of merge_y x merge_z neighbouring rows. With 26 neighbours any two voxels
 * of a 2 x 2 block of rows and of adjacent columns are neighbours, so merged rows can be joined in
 * place of rows, with a fourth of the work. The 2 x 2 blocks of Grana, Borghesani and Cucchiara
 * (2010) rest on the same fact. Otherwise a merged row is one row.
 *
 * A tile is 64 voxels of 256 merged rows. Thread t of its block has word t % 2 of merged row t / 2;
 * the merged rows of a tile are counted along y, then along z.
 *
 * A run is a maximal stretch of columns of a merged row that are joined along x inside one 32-bit
 * word. (The CPU has no merged rows, and does not cut runs at words.)
 *
 * A piece is the part of a component that lies in one tile and is connected there. Its root is its
 * first run. A run's local root is a 16-bit number that says where the root of its piece stands:
 * merged row of the tile * 64 + how many roots precede it there. Pieces are numbered over the whole
 * volume in the order of merged rows: a piece's number is mrow_base of its merged row in the tile +
 * the low six bits of its local root. The root of a component is its piece with the smallest
 * number.
 */
#ifndef LOB_JOIN_PARAMS_CUDA_CUH
#define LOB_JOIN_PARAMS_CUDA_CUH

#include "kernels/components/join/row_pairs_cuda.cuh"
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"

namespace lob::components
{

enum {
    WORD = 32,      /* voxels of a word */
    TILE_WORDS = 2, /* along x */
    TILE_MROWS = 256,
    TILE_THREADS = TILE_WORDS * TILE_MROWS,
    TILE_WARPS = TILE_THREADS / WARP,
    TILE_SIDE_BITS = 4,       /* a tile of a thick volume is 16 merged rows along y and z */
    LOCAL_ROOT_RANK_BITS = 6, /* a merged row of a tile has up to 64 runs */
    DIRECTIONS = 13,          /* to the neighbours before a voxel in raster order */
    MAX_SLOTS = WORD,         /* runs of a word */
    GROUP_WORDS = 8           /* of a bit_group */
};

/* Bits that are counted together. */
typedef struct {
    alignas(16) uint32_t word[GROUP_WORDS];
} bit_group;

typedef struct {
    int32_t nx, ny, nz; /* voxels */
    int32_t words;      /* of a row */
    int32_t mrows_y, mrows_z;
    int32_t tiles_x, tiles_y, tiles_z;
    int32_t tile_y_bits, tile_z_bits; /* logarithms of a tile's merged rows along y and z */
    int32_t connectivity;             /* 1..3: coordinates in which neighbours may differ */
    int32_t merge_y, merge_z;         /* rows of a merged row along y and z */
    int32_t slots, mrow_slots;        /* runs that a word and a merged row can have */
    bool along[3];                    /* neighbours may differ in x, y, z */
    bool by_value; /* joined_bits say who is joined; otherwise all foreground neighbours are */
    int64_t tiles, volume_words, tile_mrows; /* words of all rows; merged rows of all tiles */
    int64_t volume_groups;                   /* volume_words in groups */

    uint32_t *filled;                  /* volume_words: foreground */
    uint32_t *joined_bits[DIRECTIONS]; /* volume_words each; NULL: not in the neighbourhood */
    uint32_t *first_run;    /* tiles * TILE_THREADS: index in local_root of a word's first run */
    uint16_t *local_root;   /* mrows_y * mrows_z * mrow_slots: of runs, tile after tile */
    uint32_t *run_count;    /* tiles */
    uint32_t *mrow_base;    /* tile_mrows + 1: pieces of each; after the scan, pieces before each */
    uint32_t *parent;       /* pieces + 1; in the end the component's number, from 1 */
    uint32_t *roots_before; /* pieces + 1: 1 for a root, else 0; after the scan, roots before */
    u64 *first_voxel;       /* pieces + 1: bit index in filled; NULL where merged rows are rows */
    bit_group *first_marks; /* volume_groups + 1, the last 0: bits of components' first voxels */
    uint32_t *marks_before; /* volume_groups + 1 */
    int64_t pieces;
} join_params;

/* The direction (dx, dy, dz) to a neighbour before a voxel: the first along x, then those to the
 * rows (dy, dz) = (-1, 0), (-1, -1), (0, -1), (1, -1). */
static __host__ __device__ inline int direction_of(int dx, int dy, int dz)
{
    const int row = dz == 0 ? 0 : dy + 2;
    return dy == 0 && dz == 0 ? 0 : 1 + 3 * row + dx + 1;
}

/* What of join_params is known when a kernel is compiled. */
template <int CONNECTIVITY, int MERGE_Y, int MERGE_Z, bool BY_VALUE, int SLOT_BITS> struct kind {
    static constexpr int connectivity = CONNECTIVITY, merge_y = MERGE_Y, merge_z = MERGE_Z,
                         rows = MERGE_Y * MERGE_Z, slot_bits = SLOT_BITS, slots = 1 << SLOT_BITS;
    static constexpr bool by_value = BY_VALUE;
    static constexpr bool diagonal = CONNECTIVITY > 1; /* neighbours may differ in two axes */

    static bool fits(const join_params &p)
    {
        return p.connectivity == connectivity && p.merge_y == merge_y && p.merge_z == merge_z &&
               p.by_value == by_value && p.slots == slots;
    }
};

template <typename F, typename... K> static lob_status with_first_fit(const join_params &p, F f)
{
    lob_status st = LOB_EINTERNAL;
    (void)((K::fits(p) && (st = f(K()), true)) || ...);
    return st;
}

/* Call f with the kind that fits. */
template <typename F> static lob_status with_kind(const join_params &p, F f)
{
    return with_first_fit<F, kind<1, 1, 1, false, 4>, kind<1, 1, 1, false, 5>,
                          kind<2, 1, 1, false, 4>, kind<3, 2, 2, false, 4>, kind<3, 2, 2, false, 5>,
                          kind<3, 1, 2, false, 4>, kind<3, 2, 1, false, 4>, kind<1, 1, 1, true, 5>,
                          kind<2, 1, 1, true, 5>, kind<3, 1, 1, true, 5>>(p, f);
}

/* The same for kernels that read pieces and do not join: of a kind only merge_y, merge_z and
 * by_value hold. */
template <typename F> static lob_status with_merge(const join_params &p, F f)
{
    if (p.by_value) return f(kind<3, 1, 1, true, 5>());
    if (p.merge_y == 1 && p.merge_z == 1) return f(kind<3, 1, 1, false, 5>());
    if (p.merge_y == 1) return f(kind<3, 1, 2, false, 5>());
    if (p.merge_z == 1) return f(kind<3, 2, 1, false, 5>());
    return f(kind<3, 2, 2, false, 5>());
}

/* ---- words ---- */

/* The lowest bit that is set; -1: none. __ffs reverses the word to find it, which takes as long as
 * finding the highest one. */
static __device__ inline int lowest_bit(uint32_t word)
{
    return 31 - __clz((int)(word & -word));
}

/* A word of row (y, z); 0 outside the volume. */
static __device__ inline uint32_t row_word(const join_params &p, const uint32_t *bits, int y, int z,
                                           int w)
{
    const bool inside = (uint32_t)y < (uint32_t)p.ny && (uint32_t)z < (uint32_t)p.nz &&
                        (uint32_t)w < (uint32_t)p.words;
    return inside ? bits[((int64_t)z * p.ny + y) * p.words + w] : 0;
}

/* The row i of K::rows that merged row (y, z) is made of. */
template <typename K> static __device__ inline int y_of_row(int y, int i)
{
    return y * K::merge_y + i % K::merge_y;
}

template <typename K> static __device__ inline int z_of_row(int z, int i)
{
    return z * K::merge_z + i / K::merge_y;
}

/* Foreground of that row. */
template <typename K>
static __device__ inline uint32_t filled_row(const join_params &p, int i, int y, int z, int w)
{
    return row_word(p, p.filled, y_of_row<K>(y, i), z_of_row<K>(z, i), w);
}

/* The word of a merged row: where one of its rows is foreground. */
template <typename K>
static __device__ inline uint32_t filled_word(const join_params &p, int y, int z, int w)
{
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < K::rows; i++) filled |= filled_row<K>(p, i, y, z, w);
    return filled;
}

typedef struct {
    uint32_t joined; /* bit x: with x - 1, which may be in the word to the left */
    uint32_t starts; /* the first voxels of runs */
} mrow_word;

template <typename K>
static __device__ inline mrow_word mrow_word_at(const join_params &p, int y, int z, int w)
{
    const uint32_t filled = filled_word<K>(p, y, z, w);
    mrow_word l;
    l.joined = !p.along[0]   ? 0
               : K::by_value ? row_word(p, p.joined_bits[0], y, z, w)
                             : filled & bits_back(filled, filled_word<K>(p, y, z, w - 1));
    l.starts = run_starts(filled, l.joined);
    return l;
}

/* The columns of the run that starts at the lowest bit of starts. */
static __device__ inline uint32_t run_of(uint32_t filled, uint32_t starts)
{
    const uint32_t start = starts & -starts, next = starts & (starts - 1);
    const uint32_t below_next = next ? (next & -next) - 1 : ~0u;
    return filled & below_next & ~(start - 1);
}

/* ---- pairs of merged rows ---- */

/* Whether voxels of merged rows (dy, dz) apart can be neighbours that differ in x too. */
template <typename K> static __host__ __device__ constexpr bool crosses_x(int dy, int dz)
{
    return (dy != 0) + (dz != 0) < K::connectivity;
}

/* Whether row i of a merged row faces the merged row (dy, dz) away. */
template <typename K> static __host__ __device__ constexpr bool on_side(int i, int dy, int dz)
{
    return (dy == 0 || i % K::merge_y == (dy < 0 ? 0 : K::merge_y - 1)) &&
           (dz == 0 || i / K::merge_y == (dz < 0 ? 0 : K::merge_z - 1));
}

/* Foreground of the rows of a merged row that face the one (dy, dz) away. */
template <typename K>
static __device__ inline uint32_t side_word(const join_params &p, int dy, int dz, int y, int z,
                                            int w)
{
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < K::rows; i++)
        if (on_side<K>(i, dy, dz)) filled |= filled_row<K>(p, i, y, z, w);
    return filled;
}

static __device__ inline uint32_t direction_word(const join_params &p, int dx, int dy, int dz,
                                                 int y, int z, int w)
{
    const uint32_t *bits = p.joined_bits[direction_of(dx, dy, dz)];
    return bits ? row_word(p, bits, y, z, w) : 0;
}

/* Of the pairs of word w of merged row (y, z) with the one (dy, dz) away, those in one column. */
template <typename K>
static __device__ inline uint32_t same_word(const join_params &p, int dy, int dz, int y, int z,
                                            int w)
{
    if (K::by_value) return direction_word(p, 0, dy, dz, y, z, w);
    if ((dy && !p.along[1]) || (dz && !p.along[2])) return 0;
    return side_word<K>(p, dy, dz, y, z, w) & side_word<K>(p, -dy, -dz, y + dy, z + dz, w);
}

/* The pairs of word w of merged row (y, z) with the one (dy, dz) away, in that word and in the two
 * beside it. Rows of two merged rows that face each other all are neighbours. */
template <typename K>
static __device__ inline row_pairs pairs_word(const join_params &p, int dy, int dz, int y, int z,
                                              int w)
{
    row_pairs e = {0, 0, 0};
    const bool across = crosses_x<K>(dy, dz) && p.along[0];
    if (K::by_value) {
        e.same = direction_word(p, 0, dy, dz, y, z, w);
        if (across) e.back = direction_word(p, -1, dy, dz, y, z, w);
        if (across) e.ahead = direction_word(p, 1, dy, dz, y, z, w);
        return e;
    }
    if ((dy && !p.along[1]) || (dz && !p.along[2])) return e;
    const uint32_t a = side_word<K>(p, dy, dz, y, z, w);
    const uint32_t b = side_word<K>(p, -dy, -dz, y + dy, z + dz, w);
    e.same = a & b;
    if (!across || !a) return e;
    e.back = a & bits_back(b, side_word<K>(p, -dy, -dz, y + dy, z + dz, w - 1));
    e.ahead = a & bits_ahead(b, side_word<K>(p, -dy, -dz, y + dy, z + dz, w + 1));
    return e;
}

/* ---- tiles ---- */

typedef struct {
    int tile_x, tile_y, tile_z; /* in tiles */
    int64_t tile;
} tile_position;

static __device__ inline tile_position position_of_tile(const join_params &p, int64_t tile)
{
    tile_position at;
    const uint32_t short_tile = (uint32_t)tile; /* there are fewer than 2^20 */
    const uint32_t rest = short_tile / (uint32_t)p.tiles_x, z = rest / (uint32_t)p.tiles_y;
    at.tile = tile;
    at.tile_x = (int)(short_tile - rest * (uint32_t)p.tiles_x);
    at.tile_y = (int)(rest - z * (uint32_t)p.tiles_y);
    at.tile_z = (int)z;
    return at;
}

/* The tile of a word of merged row (y, z). */
static __device__ inline tile_position position_of(const join_params &p, int y, int z, int w)
{
    tile_position at;
    at.tile_x = w / TILE_WORDS;
    at.tile_y = y >> p.tile_y_bits;
    at.tile_z = z >> p.tile_z_bits;
    at.tile = ((int64_t)at.tile_z * p.tiles_y + at.tile_y) * p.tiles_x + at.tile_x;
    return at;
}

/* The thread that has that word in its tile. */
static __device__ inline int thread_of(const join_params &p, int y, int z, int w)
{
    const int local_y = y & ((1 << p.tile_y_bits) - 1), local_z = z & ((1 << p.tile_z_bits) - 1);
    return (local_z << p.tile_y_bits | local_y) * TILE_WORDS + w % TILE_WORDS;
}

/* Merged row number `mrow` of a tile is merged row (y, z) of the volume. */
static __device__ inline int mrow_y(const join_params &p, const tile_position &at, int mrow)
{
    return (at.tile_y << p.tile_y_bits) + (mrow & ((1 << p.tile_y_bits) - 1));
}

static __device__ inline int mrow_z(const join_params &p, const tile_position &at, int mrow)
{
    return (at.tile_z << p.tile_z_bits) + (mrow >> p.tile_y_bits);
}

/* Its index in mrow_base. */
static __device__ inline int64_t mrow_index(const join_params &p, const tile_position &at, int mrow)
{
    return ((int64_t)mrow_z(p, at, mrow) * p.mrows_y + mrow_y(p, at, mrow)) * p.tiles_x + at.tile_x;
}

/* Where a tile's runs begin in local_root: each tile before it has all its slots there. */
static __device__ inline uint32_t tile_first_run(const join_params &p, const tile_position &at)
{
    const uint32_t y = (uint32_t)at.tile_y << p.tile_y_bits;
    const uint32_t z = (uint32_t)at.tile_z << p.tile_z_bits;
    const uint32_t mrows_y = (uint32_t)p.mrows_y, mrows_z = (uint32_t)p.mrows_z;
    const uint32_t deep = min(1u << p.tile_z_bits, mrows_z - z);
    const uint32_t high = min(1u << p.tile_y_bits, mrows_y - y);
    const uint32_t across = (uint32_t)at.tile_x * TILE_WORDS * (uint32_t)p.slots;
    return (z * mrows_y + deep * y) * (uint32_t)p.mrow_slots + deep * high * across;
}

/* Behind a tile's last run. */
static __device__ inline int64_t tile_end_run(const join_params &p, int64_t tile)
{
    return (int64_t)p.first_run[tile * TILE_THREADS] + p.run_count[tile];
}

/* ---- pieces ---- */

/* The merged row of a local root, and how many roots precede it there. */
static __device__ inline int root_mrow(uint32_t local_root)
{
    return (int)(local_root >> LOCAL_ROOT_RANK_BITS & (TILE_MROWS - 1));
}

static __device__ inline uint32_t root_rank(uint32_t local_root)
{
    return local_root & ((1 << LOCAL_ROOT_RANK_BITS) - 1);
}

static __device__ inline uint32_t piece_of_root(const join_params &p, const tile_position &at,
                                                uint32_t local_root)
{
    return p.mrow_base[mrow_index(p, at, root_mrow(local_root))] + root_rank(local_root);
}

/* The piece of a run, by its index in local_root. */
static __device__ inline uint32_t piece_of_run(const join_params &p, const tile_position &at,
                                               int64_t run)
{
    return piece_of_root(p, at, p.local_root[run]);
}

/* The piece of voxel `bit` of a word whose runs start so. */
static __device__ inline uint32_t piece_at(const join_params &p, int y, int z, int w,
                                           uint32_t starts, int bit)
{
    const tile_position at = position_of(p, y, z, w);
    const int64_t first = p.first_run[at.tile * TILE_THREADS + thread_of(p, y, z, w)];
    return piece_of_run(p, at, first + __popc(starts & bits_to(bit)) - 1);
}

/* The pieces of the first and of the last run of a word, which must have one. */
static __device__ inline uint32_t first_piece(const join_params &p, int y, int z, int w)
{
    const tile_position at = position_of(p, y, z, w);
    return piece_of_run(p, at, p.first_run[at.tile * TILE_THREADS + thread_of(p, y, z, w)]);
}

static __device__ inline uint32_t last_piece(const join_params &p, int y, int z, int w)
{
    const tile_position at = position_of(p, y, z, w);
    const int next = thread_of(p, y, z, w) + 1;
    const int64_t end =
        next < TILE_THREADS ? p.first_run[at.tile * TILE_THREADS + next] : tile_end_run(p, at.tile);
    return piece_of_run(p, at, end - 1);
}

} /* namespace lob::components */

#endif
