/*
 * The volume as components see it on the device: rows of bits, tiles of rows, and runs of joined
 * voxels in them.
 *
 * A neighbourhood and a criterion have been turned into bits: one a voxel that says foreground
 * and, unless any two neighbours are joined, one a voxel and direction that says joined. Nothing
 * but these is looked at.
 *
 * A line is the OR of by x bz neighbouring rows of voxels. Where all voxels of a column of these
 * rows are neighbours of each other and of the next column's, lines can be joined in place of
 * rows, with a fourth of the work: 2 x 2 rows for 26 neighbours.
 *
 * A tile is 64 voxels of 256 lines; thread t of its block has word t % 2 of line t / 2, and the
 * lines of a tile are counted along y and then z. A run's code is the place of the run that stands
 * for it in its tile: line * 64 + how many such runs come before it in its line. The pieces are
 * numbered over the whole volume in the order of lines; a piece's id is line_base of its line plus
 * the low six bits of its code. A run that stands for itself is marked in its code.
 */
#ifndef LOB_COMPONENTS_RUNS_CUDA_CUH
#define LOB_COMPONENTS_RUNS_CUDA_CUH

#include "kernels/components/bits/row_pairs.h"
#include "kernels/device/cuda_calls.cuh"

typedef unsigned long long wide; /* the 64-bit type that CUDA's atomics take */

enum {
    WORD = 32,
    TILE_WORDS = 2, /* along x */
    TILE_LINES = 256,
    TILE_THREADS = TILE_WORDS * TILE_LINES,
    TILE_SIDE_BITS = 4, /* a tile of a thick volume is 16 lines along y and z */
    CODE_RANK_BITS = 6, /* a line of a tile has up to 64 runs */
    CODE_OWN = 1 << 15, /* the run stands for itself: the first of its piece in the tile */
    DIRECTIONS = 13,    /* predecessors of a voxel in raster order */
    MOST_SLOTS = WORD,  /* runs of a word */
    GROUP_WORDS = 8     /* that are counted together */
};

typedef struct {
    alignas(16) uint32_t word[GROUP_WORDS];
} bit_group;

typedef struct {
    int32_t nx, ny, nz; /* voxels */
    int32_t words;      /* of a row */
    int32_t ly, lz;     /* lines along y and z */
    int32_t tiles_x, tiles_y, tiles_z;
    int32_t tile_y_bits, tile_z_bits; /* logarithms of a tile's lines along y and z */
    int32_t near;                     /* neighbours differ in up to so many coordinates */
    int32_t by, bz;                   /* rows of a line along y and z */
    int32_t slots, line_slots;        /* runs that a word and a line can have */
    bool along[3];                    /* neighbours may differ in x, y, z */
    bool directed; /* plane holds what is joined; otherwise all foreground neighbours are */
    int64_t tiles, row_words, lines; /* lines: of all tiles */
    int64_t row_groups;              /* row_words in groups */

    uint32_t *filled;            /* row_words: foreground */
    uint32_t *plane[DIRECTIONS]; /* row_words each; NULL: not a direction of the neighbourhood */
    uint32_t *offset;            /* tiles * TILE_THREADS: where in code those of a word begin */
    uint16_t *code;              /* ly * lz * line_slots: runs of tile after tile */
    uint32_t *runs;              /* tiles */
    uint32_t *line_base;         /* lines + 1 */
    uint32_t *parent;            /* pieces + 1; once numbered, the component's number from 1 */
    uint32_t *number;            /* pieces + 1: roots before it; lines of several rows: if asked */
    wide *first;                 /* pieces: bit of the first voxel; where lines are not rows */
    bit_group *first_bits;       /* row_groups + 1, the last 0: the components' first voxels */
    uint32_t *first_base;        /* row_groups + 1: those before the group's */
    int64_t pieces;
} runs;

/* The direction (dx, dy, dz) that precedes a voxel: the first along x, then those to the rows
 * (-1, 0), (-1, -1), (0, -1), (1, -1). */
static __host__ __device__ inline int direction_of(int dx, int dy, int dz)
{
    const int row = dz == 0 ? 0 : dy + 2;
    return dy == 0 && dz == 0 ? 0 : 1 + 3 * row + dx + 1;
}

/* What of runs is known when a kernel is compiled. */
template <int NEAR, int BY, int BZ, bool DIRECTED, int SLOT_BITS> struct kind {
    static constexpr int near = NEAR, by = BY, bz = BZ, slot_bits = SLOT_BITS,
                         slots = 1 << SLOT_BITS;
    static constexpr bool directed = DIRECTED;
};

/* ---- words ---- */

/* The place of the lowest bit that is set; -1: none. __ffs turns the word round to find the highest
 * one, and turning takes as long as finding. */
static __device__ inline int lowest_bit(uint32_t word)
{
    return 31 - __clz((int)(word & -word));
}

static __device__ inline uint32_t row_word(const runs &r, const uint32_t *bits, int y, int z, int w)
{
    const bool inside = (uint32_t)y < (uint32_t)r.ny && (uint32_t)z < (uint32_t)r.nz &&
                        (uint32_t)w < (uint32_t)r.words;
    return inside ? bits[((int64_t)z * r.ny + y) * r.words + w] : 0;
}

template <typename K>
static __device__ inline uint32_t filled_word(const runs &r, int y, int z, int w)
{
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < K::by * K::bz; i++)
        filled |= row_word(r, r.filled, y * K::by + i % K::by, z * K::bz + i / K::by, w);
    return filled;
}

/* A word's joints, bit x with x - 1, which may lie in the word to the left; and where its runs
 * start. */
typedef struct {
    uint32_t joined, starts;
} line_word;

template <typename K>
static __device__ inline line_word line_word_at(const runs &r, int y, int z, int w)
{
    const uint32_t filled = filled_word<K>(r, y, z, w);
    line_word l;
    l.joined = !r.along[0]   ? 0
               : K::directed ? row_word(r, r.plane[0], y, z, w)
                             : filled & lob_bits_back(filled, filled_word<K>(r, y, z, w - 1));
    l.starts = lob_run_starts(filled, l.joined);
    return l;
}

/* The columns of the run that starts at the lowest bit of starts. */
static __device__ inline uint32_t run_of(uint32_t filled, uint32_t starts)
{
    const uint32_t start = starts & -starts, next = starts & (starts - 1);
    const uint32_t below_next = next ? (next & -next) - 1 : ~0u;
    const uint32_t from = filled & below_next & ~(start - 1);
    return from;
}

template <typename K>
static __device__ inline uint32_t joined_word(const runs &r, int y, int z, int w)
{
    return line_word_at<K>(r, y, z, w).joined;
}

template <typename K>
static __device__ inline uint32_t starts_word(const runs &r, int y, int z, int w)
{
    return line_word_at<K>(r, y, z, w).starts;
}

static __device__ inline uint32_t plane_word(const runs &r, int dx, int dy, int dz, int y, int z,
                                             int w)
{
    const uint32_t *plane = r.plane[direction_of(dx, dy, dz)];
    return plane ? row_word(r, plane, y, z, w) : 0;
}

/* Whether lines of a kind can be neighbours in a direction at all. */
template <typename K> static __host__ __device__ constexpr bool has_diagonal()
{
    return K::near > 1;
}

/* Whether voxels of lines (dy, dz) apart can be neighbours that differ in x too. */
template <typename K> static __host__ __device__ constexpr bool goes_across(int dy, int dz)
{
    return (dy != 0) + (dz != 0) < K::near;
}

/* Whether a row of a line is one of those that face the line (dy, dz) away. */
template <typename K> static __host__ __device__ constexpr bool on_side(int row, int dy, int dz)
{
    return (dy == 0 || row % K::by == (dy < 0 ? 0 : K::by - 1)) &&
           (dz == 0 || row / K::by == (dz < 0 ? 0 : K::bz - 1));
}

/* The columns of a line where one of its rows that face another is filled. */
template <typename K>
static __device__ inline uint32_t side_word(const runs &r, int dy, int dz, int y, int z, int w)
{
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < K::by * K::bz; i++)
        if (on_side<K>(i, dy, dz))
            filled |= row_word(r, r.filled, y * K::by + i % K::by, z * K::bz + i / K::by, w);
    return filled;
}

/* Of the pairs of word w of line (y, z) with line (y + dy, z + dz), those in one column. */
template <typename K>
static __device__ inline uint32_t same_word(const runs &r, int dy, int dz, int y, int z, int w)
{
    if (K::directed) return plane_word(r, 0, dy, dz, y, z, w);
    if ((dy && !r.along[1]) || (dz && !r.along[2])) return 0;
    return side_word<K>(r, dy, dz, y, z, w) & side_word<K>(r, -dy, -dz, y + dy, z + dz, w);
}

static __device__ inline bool any_pair(const lob_row_pairs &e)
{
    return e.same | e.back | e.ahead;
}

/*
 * The pairs of word w of line (y, z) with line (y + dy, z + dz), and its two neighbour words. Where
 * a line is several rows, all of them that face each other are neighbours.
 */
template <typename K>
static __device__ inline lob_row_pairs pairs_word(const runs &r, int dy, int dz, int y, int z,
                                                  int w)
{
    lob_row_pairs e = {0, 0, 0};
    const bool across = goes_across<K>(dy, dz) && r.along[0];
    if (K::directed) {
        e.same = plane_word(r, 0, dy, dz, y, z, w);
        if (across) e.back = plane_word(r, -1, dy, dz, y, z, w);
        if (across) e.ahead = plane_word(r, 1, dy, dz, y, z, w);
        return e;
    }
    if ((dy && !r.along[1]) || (dz && !r.along[2])) return e;
    const uint32_t a = side_word<K>(r, dy, dz, y, z, w);
    const uint32_t b = side_word<K>(r, -dy, -dz, y + dy, z + dz, w);
    e.same = a & b;
    if (!across || !a) return e;
    e.back = a & lob_bits_back(b, side_word<K>(r, -dy, -dz, y + dy, z + dz, w - 1));
    e.ahead = a & lob_bits_ahead(b, side_word<K>(r, -dy, -dz, y + dy, z + dz, w + 1));
    return e;
}

/* ---- threads ---- */

/* How much the threads before this one add up to; total: all of them. Ends with a barrier. */
static __device__ inline uint32_t sum_before(uint32_t mine, uint32_t *of_warp, uint32_t *total)
{
    const int lane = (int)threadIdx.x % WORD, warp = (int)threadIdx.x / WORD;
    uint32_t sum = mine;
    for (int apart = 1; apart < WORD; apart *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, sum, apart);
        if (lane >= apart) sum += other;
    }
    if (lane == WORD - 1) of_warp[warp] = sum;
    __syncthreads();
    const uint32_t its = lane < (int)blockDim.x / WORD ? of_warp[lane] : 0;
    const uint32_t before = __reduce_add_sync(~0u, lane < warp ? its : 0);
    *total = __reduce_add_sync(~0u, its);
    __syncthreads();
    return before + sum - mine;
}

/* ---- places ---- */

typedef struct {
    int tile_x, tile_y, tile_z; /* in tiles */
    int64_t tile;
} place;

static __device__ inline place place_of_tile(const runs &r, int64_t tile)
{
    place p;
    const uint32_t short_tile = (uint32_t)tile; /* there are fewer than 2^20 */
    const uint32_t rest = short_tile / (uint32_t)r.tiles_x, z = rest / (uint32_t)r.tiles_y;
    p.tile = tile;
    p.tile_x = (int)(short_tile - rest * (uint32_t)r.tiles_x);
    p.tile_y = (int)(rest - z * (uint32_t)r.tiles_y);
    p.tile_z = (int)z;
    return p;
}

static __device__ inline place place_of(const runs &r, int y, int z, int w)
{
    place p;
    p.tile_x = w / TILE_WORDS;
    p.tile_y = y >> r.tile_y_bits;
    p.tile_z = z >> r.tile_z_bits;
    p.tile = ((int64_t)p.tile_z * r.tiles_y + p.tile_y) * r.tiles_x + p.tile_x;
    return p;
}

/* The thread that has a word in its tile. */
static __device__ inline int thread_of(const runs &r, int y, int z, int w)
{
    const int local_y = y & ((1 << r.tile_y_bits) - 1), local_z = z & ((1 << r.tile_z_bits) - 1);
    return (local_z << r.tile_y_bits | local_y) * TILE_WORDS + w % TILE_WORDS;
}

static __device__ inline int line_y(const runs &r, const place &p, int line)
{
    return (p.tile_y << r.tile_y_bits) + (line & ((1 << r.tile_y_bits) - 1));
}

static __device__ inline int line_z(const runs &r, const place &p, int line)
{
    return (p.tile_z << r.tile_z_bits) + (line >> r.tile_y_bits);
}

/* Where a tile's codes begin: those before it have room for as many as their lines can have. */
static __device__ inline uint32_t codes_before(const runs &r, const place &p)
{
    const uint32_t y = (uint32_t)p.tile_y << r.tile_y_bits, z = (uint32_t)p.tile_z << r.tile_z_bits;
    const uint32_t ly = (uint32_t)r.ly, lz = (uint32_t)r.lz;
    const uint32_t deep = min(1u << r.tile_z_bits, lz - z);
    const uint32_t high = min(1u << r.tile_y_bits, ly - y);
    const uint32_t across = (uint32_t)p.tile_x * TILE_WORDS * (uint32_t)r.slots;
    return (z * ly + deep * y) * (uint32_t)r.line_slots + deep * high * across;
}

/* Index into line_base. */
static __device__ inline int64_t line_index(const runs &r, const place &p, int line)
{
    return ((int64_t)line_z(r, p, line) * r.ly + line_y(r, p, line)) * r.tiles_x + p.tile_x;
}

/* ---- pieces ---- */

/* The line of a code, and its run's place among those of the line that stand for themselves. */
static __device__ inline int code_line(uint32_t code)
{
    return (int)(code >> CODE_RANK_BITS & (TILE_LINES - 1));
}

static __device__ inline uint32_t code_rank(uint32_t code)
{
    return code & ((1 << CODE_RANK_BITS) - 1);
}

static __device__ inline uint32_t id_of_code(const runs &r, const place &p, uint32_t code)
{
    return r.line_base[line_index(r, p, code_line(code))] + code_rank(code);
}

/* Behind a tile's last code. */
static __device__ inline int64_t codes_end(const runs &r, int64_t tile)
{
    return (int64_t)r.offset[tile * TILE_THREADS] + r.runs[tile];
}

/* The piece of a run, as codes are counted. */
static __device__ inline uint32_t id_of_run(const runs &r, const place &p, int64_t run)
{
    return id_of_code(r, p, r.code[run]);
}

/* The piece to which a voxel of a word belongs. */
static __device__ inline uint32_t id_at(const runs &r, int y, int z, int w, uint32_t starts,
                                        int bit)
{
    const place p = place_of(r, y, z, w);
    const int64_t first = r.offset[p.tile * TILE_THREADS + thread_of(r, y, z, w)];
    return id_of_run(r, p, first + __popc(starts & lob_bits_to(bit)) - 1);
}

/* Those of the first and of the last run of a word, which must have one. */
static __device__ inline uint32_t first_id(const runs &r, int y, int z, int w)
{
    const place p = place_of(r, y, z, w);
    return id_of_run(r, p, r.offset[p.tile * TILE_THREADS + thread_of(r, y, z, w)]);
}

static __device__ inline uint32_t last_id(const runs &r, int y, int z, int w)
{
    const place p = place_of(r, y, z, w);
    const int next = thread_of(r, y, z, w) + 1;
    const int64_t end =
        next < TILE_THREADS ? r.offset[p.tile * TILE_THREADS + next] : codes_end(r, p.tile);
    return id_of_run(r, p, end - 1);
}

#endif
