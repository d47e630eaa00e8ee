/*
 * GrowCut on the device: what its kernels share.
 *
 * Tiles of 512 cells, 8x8x8 or 32x16x1, lie one after the other; a tile's keys, levels and pending
 * bits are contiguous. A cell outside the volume has key 0, as everything that never changes.
 * Each tile has a priority, the least key of its pending cells: those that were lowered and whose
 * neighbours have not heard of it.
 */
#ifndef LOB_GROWCUT_SCENE_CUDA_CUH
#define LOB_GROWCUT_SCENE_CUDA_CUH

#include "kernels/growcut/growcut_rule.h"
#include "kernels/growcut/growcut_voxel.h"
#include "kernels/levels/levels_cuda.cuh"
#include "volumes/labels.h"

typedef unsigned long long wide; /* the 64-bit type that CUDA's atomics take */

enum { SIDES = 27, CENTRE = 13, WARP = 32, NO_TILE = -1 };
static constexpr unsigned ALL_LANES = ~0u;

/* Keys of either width. */
template <typename K> struct keys;
template <> struct keys<uint32_t> {
    static constexpr uint32_t never = UINT32_MAX; /* as a weight: no passage; as a priority: none */
    static constexpr uint32_t top = UINT32_MAX;   /* keys stay below it */
    static constexpr uint32_t no_way = UINT32_MAX; /* weight of a step that cannot be taken */
};
template <> struct keys<wide> {
    static constexpr wide never = ~0ull;
    static constexpr wide top = 1ull << 62; /* so that a key and two weights never wrap */
    static constexpr wide no_way = 1ull << 62;
};

/* A tile's sides, and those with the halo around it. */
template <int X, int Y, int Z> struct shape {
    static constexpr int x = X, y = Y, z = Z, cells = X * Y * Z;
    static constexpr bool flat = Z == 1;
    static constexpr int px = X + 2, py = Y + 2, pz = flat ? 1 : Z + 2;
    static constexpr int padded = px * py * pz, words = (padded + WARP - 1) / WARP;
    static constexpr int own_words = cells / WARP;
    static constexpr int own_bits = cells / WARP; /* of each lane, when a warp shares out a tile */
    static_assert(own_bits == 16 || own_bits == 32, "a lane's share lies in one word");
    static_assert((cells & (cells - 1)) == 0, "the queue wraps by a mask");
};

typedef shape<8, 8, 8> cube;
typedef shape<32, 16, 1> sheet;

/* One image to grow over: the whole volume, or a slice. */
typedef struct {
    lob_device_levels levels;
    int tabled;   /* weights come from the table; else a level costs 1 << level_shift */
    int barred;   /* a step over dmax cannot be taken */
    int fraction; /* of distances */
    uint32_t dmax;
    double scale;         /* lob_growcut_cost's */
    uint32_t level_shift; /* where there is no table */
    wide bound;           /* weight >= difference of levels * bound */
    int64_t table;        /* where its weights begin */
    double unit;
    wide unreached;    /* key of data that no path has reached */
    wide limit;        /* no path may cost more units */
    wide extra[SIDES]; /* weight beyond that of the levels, by direction */
} plane;

/* What blocks tell each other and the host. Slots turn with the rounds. */
typedef struct {
    wide least[3];     /* least priority of all tiles */
    uint32_t count[3]; /* tiles in the list */
    uint32_t taken[3]; /* of them, beyond each warp's first */
    uint32_t arrived;  /* at barriers, in total */
    uint32_t stop;
    wide reached; /* voxels that got a path */
    wide rounds, visits, pops;
    wide seeds, outside;     /* seed voxels on data, and off it */
    wide usual_sum, usual_n; /* units of sampled steps */
    wide labelled, ties;
} control;

template <typename K> struct scene {
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
    bool reversed;     /* ties go to the largest label */
    bool penalty;      /* steps cost more than their levels\' weight */
    bool soft;         /* seeds have strengths, which another kernel puts in */
    bool levels_known; /* made by a run before */
    int neighbours;
    int8_t direction[26]; /* of each: x + 1 + 3 (y + 1) + 9 (z + 1) */

    uint32_t grid[3], tiles; /* tiles along the axes, and in all */
    int64_t cells;
    const plane *planes;
    const K *table;
    K *key;
    uint16_t *level;   /* channel after channel */
    uint32_t *pending; /* a bit a cell */
    K *priority;
    uint32_t *list;
    wide *largest;      /* of each plane: cost in units */
    uint32_t *overflow; /* of each plane: a path's cost did not fit */
    control *ctl;
    lob_device_mailbox *line;

    double window_steps, window_levels; /* the window: steps of the usual cost, and levels */
    uint32_t rounds;                    /* stop after these */
    uint32_t cap;                       /* turns of a visit */
    bool adapt;                         /* widen the window while warps are idle */
    uint32_t table_shared;              /* first entries of the table that blocks keep */
    uint32_t nest_bytes;                /* of a warp's workspace */
};

/* ---- keys ---- */

template <typename K>
static __device__ inline K key_of(const scene<K> &s, wide units, int32_t label)
{
    const int32_t rank = s.reversed ? s.largest_label + 1 - label : label;
    return (K)(units << s.label_bits) | (K)rank;
}

template <typename K> static __device__ inline int32_t label_of(const scene<K> &s, K key)
{
    const int32_t rank = (int32_t)(key & (((K)1 << s.label_bits) - 1));
    return s.reversed ? s.largest_label + 1 - rank : rank;
}

/* ---- places ---- */

/* Where a cell lies in the view; inside is false beyond its end. */
typedef struct {
    uint32_t x, y, z;
    bool inside;
} place;

/* A tile's first cell, which is always inside. */
template <typename S, typename K>
static __device__ inline place corner_of(const scene<K> &s, uint32_t tile)
{
    const uint32_t across = tile / s.grid[0], tx = tile - across * s.grid[0];
    const uint32_t tz = across / s.grid[1], ty = across - tz * s.grid[1];
    const place p = {tx * S::x, ty * S::y, tz * S::z, true};
    return p;
}

/* Cell number `cell` of a tile. */
template <typename S, typename K>
static __device__ inline place place_in(const scene<K> &s, const place &corner, uint32_t cell)
{
    place p;
    p.x = corner.x + cell % S::x;
    p.y = corner.y + cell / S::x % S::y;
    p.z = corner.z + cell / (S::x * S::y);
    p.inside = p.x < s.view.side[0] && p.y < s.view.side[1] && p.z < s.view.side[2];
    return p;
}

/* Voxel i of the view, x fastest. */
template <typename K> static __device__ inline place place_in_view(const scene<K> &s, int64_t i)
{
    const int64_t row = i / s.view.side[0], z = row / s.view.side[1];
    const place p = {(uint32_t)(i - row * s.view.side[0]), (uint32_t)(row - z * s.view.side[1]),
                     (uint32_t)z, true};
    return p;
}

template <typename K> static __device__ inline int64_t voxel_of(const scene<K> &s, const place &p)
{
    const lob_device_view *view = &s.view;
    return view->offset + p.x * view->stride[0] + p.y * view->stride[1] + p.z * view->stride[2];
}

/* All cells of a tile are in one. */
template <typename K>
static __device__ inline const plane *plane_of(const scene<K> &s, const place &p)
{
    return s.planes + (s.view.flat ? p.z : 0);
}

/* The neighbour of a place in a direction: its cell among all cells, or -1 outside the view. */
template <typename S, typename K>
static __device__ inline int64_t neighbour_of(const scene<K> &s, const place &p, int direction)
{
    const uint32_t x = p.x + (uint32_t)(direction % 3 - 1);
    const uint32_t y = p.y + (uint32_t)(direction / 3 % 3 - 1);
    const uint32_t z = p.z + (uint32_t)(direction / 9 - 1);
    if (x >= s.view.side[0] || y >= s.view.side[1] || z >= s.view.side[2]) return -1; /* and -1 */
    const uint32_t tile = x / S::x + s.grid[0] * (y / S::y + s.grid[1] * (z / S::z));
    return (int64_t)tile * S::cells + (x % S::x + S::x * (y % S::y + S::y * (z % S::z)));
}

/* Units as a weight. */
template <typename K> LOB_BOTH wide weight_from(uint64_t units, int label_bits)
{
    const wide no_way = keys<K>::no_way;
    return units == LOB_NO_PASSAGE || (units << label_bits) >= no_way ? no_way
                                                                      : units << label_bits;
}

/* Weight of a step over distance d, from device memory. */
template <typename K>
static __device__ inline wide weight_of(const scene<K> &s, const plane *in, uint32_t d)
{
    return in->tabled ? (wide)__ldg(s.table + in->table + d) : (wide)d << in->level_shift;
}

template <typename T> static __device__ inline T warp_least(T value)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        const T other = __shfl_xor_sync(ALL_LANES, value, apart);
        if (other < value) value = other;
    }
    return value;
}

#endif
