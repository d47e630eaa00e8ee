/*
 * GrowCut on a GPU: keys, tiles and sections, and the parameters that most kernels are given.
 *
 * A section (the volume, or one slice) is cut into tiles of 512 cells, 8x8x8 or 32x16x1. Tiles
 * follow one another in memory, so the keys, levels and pending bits of a tile are contiguous. A
 * cell is a voxel's place in a tile; a cell outside the section has key 0, like every cell whose
 * key cannot change: voxels that are not data, and seeds of strength 1 (hard seeds; while a flood
 * grows these have keys).
 *
 * A cell is pending when its key has fallen and its neighbours have not been offered the path
 * through it. The priority of a tile is the lowest key of its pending cells. Before
 * hard_seed_kernel, hard seeds are pending too; they do not count for the priority. In a flood only
 * seeds are pending, and a tile's priority is at most the lowest cost beside it that changed.
 */
#ifndef LOB_GROW_PARAMS_CUDA_CUH
#define LOB_GROW_PARAMS_CUDA_CUH

#include "kernels/device/grid.cuh"
#include "kernels/growcut/growcut_rule.h"
#include "kernels/growcut/growcut_voxel.h"
#include "kernels/levels/levels_cuda.cuh"
#include "volumes/labels.h"

namespace lob::growcut
{

/* A direction is the number dx + 1 + 3 (dy + 1) + 9 (dz + 1), 0..26; CENTRE is the cell itself. */
enum { DIRECTIONS = 27, CENTRE = 13, NO_TILE = -1 };

enum { RING = 1 << 14 }; /* tiles that wait in a queue for a warp, at most */

/* Keys of 32 and of 64 bits. A weight is a step's cost, shifted like a key's. */
template <typename K> struct keys;
template <> struct keys<uint32_t> {
    static constexpr uint32_t end = UINT32_MAX;  /* every key is smaller */
    static constexpr uint32_t none = UINT32_MAX; /* priority of a tile that waits for no visit */
    static constexpr uint32_t no_passage = UINT32_MAX; /* weight of a step that cannot be taken */
};
template <> struct keys<u64> {
    static constexpr u64 end = 1ull << 62; /* so that a key plus two weights does not wrap */
    static constexpr u64 none = ~0ull;
    static constexpr u64 no_passage = 1ull << 62;
};

/*
 * How the levels of cells lie in memory: one a cell; channel after channel, each of all cells; or,
 * for at most 8 channels of 8 bits and the norm linf, a cell's channels in one word of 8 bytes,
 * whose distances take ten instructions.
 */
enum level_layout { ONE_LEVEL, BY_CHANNEL, PACKED };
enum { PACKED_CHANNELS = 8 };
template <level_layout L> struct cell_level {
    typedef uint16_t type;
};
template <> struct cell_level<PACKED> {
    typedef uint2 type;
};

/* Sides of a tile, and of a tile with its halo: one layer of the neighbouring tiles' cells. */
template <int X, int Y, int Z> struct tile_shape {
    static constexpr int x = X, y = Y, z = Z, cells = X * Y * Z;
    static constexpr bool flat = Z == 1;
    static constexpr int px = X + 2, py = Y + 2, pz = flat ? 1 : Z + 2;
    static constexpr int padded = px * py * pz, words = (padded + WARP - 1) / WARP;
    static constexpr int own_words = cells / WARP;
    static constexpr int own_bits = cells / WARP; /* of each lane, when a warp shares a tile */
    static_assert(own_bits == 16 || own_bits == 32, "a lane's share lies in one word");
    static_assert((cells & (cells - 1)) == 0, "the queue wraps by a mask");
};

typedef tile_shape<8, 8, 8> volume_tile;
typedef tile_shape<32, 16, 1> slice_tile;
static_assert((int)volume_tile::cells == (int)slice_tile::cells, "set_grid counts either");

/*
 * A section's levels and its rule, as kernels read it. lob_growcut_rule is the host's; step_rule
 * and, of a flood, flood_rule are the part that a visit holds in registers.
 */
typedef struct {
    lob_device_levels levels;
    int has_table; /* weights come from the table; else a level costs 1 << level_shift */
    lob_growcut_kind kind;
    int cost_shift; /* of a cost in units in a key: label_bits, and those of a flood's steps */
    int fraction;   /* bits of a distance after the point */
    uint32_t dmax;
    double scale;         /* lob_growcut_cost's */
    uint32_t level_shift; /* where there is no table */
    u64 bound;            /* weight >= difference of levels * bound */
    int64_t table;        /* index of its first weight */
    double unit;
    u64 unreached;         /* key of data that no path has reached */
    u64 limit;             /* no path may cost more units */
    u64 extra[DIRECTIONS]; /* weight beyond that of the levels */
} section_rule;

/* What blocks report to one another and to the host. Arrays of 3 serve the sweeps in turn. */
typedef struct {
    u64 min_priority[3]; /* of all tiles */
    uint32_t count[3];   /* tiles in the list */
    uint32_t taken[3];   /* of these, beyond each warp's first */
    uint32_t arrived;    /* of grid_barrier */
    uint32_t stop;
    u64 reached;                /* voxels that have a path */
    u64 rounds;                 /* the automaton's last that changed a key */
    u64 seeds, outside;         /* seed voxels on data, and not on data */
    u64 step_sum, step_samples; /* units of sampled steps, and how many */
    u64 labelled, ties;         /* voxels */
    /* Where tiles are given, each in a line of its own: */
    uint32_t apart_0[32], asked; /* places of the ring that warps have gone to */
    uint32_t apart_1[32], ended; /* visits */
    u64 apart_2[16], end;        /* of the cost window */
    u64 apart_3[16];
} grow_counters;

template <typename K> struct grow_params {
    lob_device_image image;
    lob_device_view view;
    const void *seeds;
    lob_type label_type;
    void *labels;
    uint8_t *tie;
    float *strength;
    lob_norm norm;
    int32_t largest_label;
    int label_bits;
    K label_mask;      /* the bits of a key that hold the label */
    bool reversed;     /* of equal costs, the largest label wins */
    bool penalty;      /* steps cost more than their levels' weight */
    bool flood;        /* the rule's: visit_flood_cuda.cuh grows it */
    bool reads_values; /* steps cost by the level entered, not by the difference of two */
    bool soft;         /* seeds have strengths; soft_seed_kernel puts them in */
    bool levels_known; /* the pass before has made them */
    int neighbours;
    int8_t direction[26]; /* of each neighbour */

    uint32_t own_first, own_count; /* planes of a slab that are its own; all, where it is none */
    uint32_t grid[3], tiles;       /* tiles along the axes, and in all */
    int64_t cells;
    const section_rule *sections;
    const K *table;
    K *key;
    void *level; /* a cell_level each, or channel after channel */
    level_layout layout;
    uint32_t *pending; /* a bit per cell */
    K *priority;
    uint32_t *tile_list; /* of a sweep, and of rounds */
    uint32_t *ring; /* RING tiles to be visited, plus 1; 0: none is there. NULL: there are sweeps */
    u64 *largest;   /* of each section: the largest cost, in units */
    uint32_t *overflow; /* of each section: a path's cost did not fit the key */
    grow_counters *counters;
    lob_device_mailbox *mailbox; /* NULL: progress is not reported */

    double window_steps;   /* width of the cost window: steps of sampled mean cost, and one level */
    uint32_t table_shared; /* weights at the table's start that blocks hold in shared memory */
    uint32_t warp_bytes;   /* of shared memory */
};

/* ---- keys ---- */

/*
 * A key is (cost << label_bits) | rank, where a flood's cost is level << step bits | steps. The
 * rank is the label or, in the pass with ties reversed, largest_label + 1 - label. Key 0 never
 * changes; unreached is one unit above the largest cost allowed, with rank 0.
 */

template <typename K>
static __device__ inline K key_of(const grow_params<K> &g, u64 units, int32_t label)
{
    const int32_t rank = g.reversed ? g.largest_label + 1 - label : label;
    return (K)(units << g.label_bits) | (K)rank;
}

template <typename K> static __device__ inline int32_t label_of(const grow_params<K> &g, K key)
{
    const int32_t rank = (int32_t)(key & g.label_mask);
    return g.reversed ? g.largest_label + 1 - rank : rank;
}

/* ---- positions ---- */

/* Where a cell lies in the view; inside is false beyond its end. */
typedef struct {
    uint32_t x, y, z;
    bool inside;
} position;

/* A tile's first cell, which is always inside. */
template <typename S, typename K>
static __device__ inline position corner_of(const grow_params<K> &g, uint32_t tile)
{
    const uint32_t across = tile / g.grid[0], tx = tile - across * g.grid[0];
    const uint32_t tz = across / g.grid[1], ty = across - tz * g.grid[1];
    const position p = {tx * S::x, ty * S::y, tz * S::z, true};
    return p;
}

/* Cell 0..511 of a tile, x fastest. */
template <typename S, typename K>
static __device__ inline position position_in(const grow_params<K> &g, const position &corner,
                                              uint32_t cell)
{
    position p;
    p.x = corner.x + cell % S::x;
    p.y = corner.y + cell / S::x % S::y;
    p.z = corner.z + cell / (S::x * S::y);
    p.inside = p.x < g.view.side[0] && p.y < g.view.side[1] && p.z < g.view.side[2];
    return p;
}

/* Voxel i of the view, x fastest. */
template <typename K>
static __device__ inline position position_of(const grow_params<K> &g, int64_t i)
{
    const int64_t row = i / g.view.side[0], z = row / g.view.side[1];
    const position p = {(uint32_t)(i - row * g.view.side[0]), (uint32_t)(row - z * g.view.side[1]),
                        (uint32_t)z, true};
    return p;
}

template <typename K>
static __device__ inline int64_t voxel_of(const grow_params<K> &g, const position &p)
{
    const lob_device_view *view = &g.view;
    return view->offset + p.x * view->stride[0] + p.y * view->stride[1] + p.z * view->stride[2];
}

/* Is it counted here? What lies beside a slab is counted by the rank whose it is. */
template <typename K>
static __device__ inline bool is_own(const grow_params<K> &g, const position &p)
{
    return (g.view.flat ? p.y : p.z) - g.own_first < g.own_count;
}

/* The section of a position. All cells of a tile are in one section. */
template <typename K>
static __device__ inline const section_rule *section_of(const grow_params<K> &g, const position &p)
{
    return g.sections + (g.view.flat ? p.z : 0);
}

/* The index among all cells of the neighbour in a direction; -1 outside the view. */
template <typename S, typename K>
static __device__ inline int64_t neighbour_of(const grow_params<K> &g, const position &p,
                                              int direction)
{
    const uint32_t x = p.x + (uint32_t)(direction % 3 - 1);
    const uint32_t y = p.y + (uint32_t)(direction / 3 % 3 - 1);
    const uint32_t z = p.z + (uint32_t)(direction / 9 - 1);
    if (x >= g.view.side[0] || y >= g.view.side[1] || z >= g.view.side[2])
        return -1; /* below 0 too */
    const uint32_t tile = x / S::x + g.grid[0] * (y / S::y + g.grid[1] * (z / S::z));
    return (int64_t)tile * S::cells + (x % S::x + S::x * (y % S::y + S::y * (z % S::z)));
}

/* A cost in units as a weight. */
template <typename K> LOB_BOTH u64 weight_from(uint64_t units, int label_bits)
{
    const u64 no_passage = keys<K>::no_passage;
    return units == LOB_NO_PASSAGE || (units << label_bits) >= no_passage ? no_passage
                                                                          : units << label_bits;
}

/* Weight of a step over distance d, without that of its length. */
template <typename K>
static __device__ inline u64 weight_of(const grow_params<K> &g, const section_rule *section,
                                       uint32_t d)
{
    return section->has_table ? (u64)__ldg(g.table + section->table + d)
                              : (u64)d << section->level_shift;
}

/* The largest difference of two cells' packed levels, in any channel. */
static __device__ inline uint32_t packed_distance(uint2 p, uint2 q)
{
    const uint32_t even = 0x00ff00ff, odd = 0x4341; /* a mask, and a choice of bytes */
    const uint32_t first = __vabsdiffu4(p.x, q.x), last = __vabsdiffu4(p.y, q.y);
    const uint32_t most = __vmaxu2(__vmaxu2(first & even, last & even),
                                   __vmaxu2(__byte_perm(first, 0, odd), __byte_perm(last, 0, odd)));
    return max(most & 0xffff, most >> 16);
}

/* The first level of a cell; its only one where steps cost by levels. */
template <typename K>
static __device__ inline uint32_t level_at(const grow_params<K> &g, int64_t cell)
{
    return ((const uint16_t *)g.level)[cell];
}

/* Distance of the levels of two cells, as lob_growcut_distance has it. */
template <typename K>
static __device__ inline uint32_t distance_of(const grow_params<K> &g, int64_t from, int64_t to,
                                              lob_norm norm, int fraction)
{
    const uint16_t *const level = (const uint16_t *)g.level;
    const uint2 *const packed = (const uint2 *)g.level;
    return g.layout == PACKED ? packed_distance(packed[from], packed[to])
                              : lob_growcut_distance(level + from, level + to, g.image.channels,
                                                     g.cells, norm, fraction);
}

/* The key that cell `to` would have by a step from cell `from`, whose key is own_key, a hard seed's
 * its rank. Not of a flood. */
template <typename K>
static __device__ inline u64 offer_from(const grow_params<K> &g, const section_rule *section,
                                        K own_key, int64_t from, int64_t to, int direction)
{
    const uint32_t d =
        g.reads_values ? level_at(g, to) : distance_of(g, from, to, g.norm, section->fraction);
    return own_key + weight_of(g, section, d) + section->extra[direction];
}

/* ---- loops over tiles: every kernel but grow_kernel, which has its own schedule ---- */

enum { BLOCK_THREADS = 256, BLOCK_WARPS = BLOCK_THREADS / WARP };

/*
 * For each `tile`: a warp takes whole tiles. A warp that took rows of cells would meet the same row
 * of every tile, and where only some rows hold seeds, few warps would do all the work.
 */
#define FOR_TILES(g)                                                                      \
    const uint32_t lane = threadIdx.x % WARP;                                             \
    for (uint32_t tile = blockIdx.x * BLOCK_WARPS + threadIdx.x / WARP; tile < (g).tiles; \
         tile += gridDim.x * BLOCK_WARPS)

/* Add what the lanes of a warp counted to a total. */
static __device__ inline void add_lanes(u64 *total, uint32_t counted)
{
    counted = __reduce_add_sync(ALL_LANES, counted);
    if (threadIdx.x % WARP == 0 && counted) atomicAdd(total, (u64)counted);
}

} /* namespace lob::growcut */

#endif
