/*
 * Connected pieces on the device: what the kernels that join them share, and how they look at the
 * volume: a block takes a tile of rows 64 voxels long, a thread 8 voxels of a row at a time. The
 * rows of a warp lie far apart in the tile, so that its lanes rarely meet the same piece.
 */
#ifndef LOB_SUPERVOXELS_TILES_CUDA_CUH
#define LOB_SUPERVOXELS_TILES_CUDA_CUH

#include "kernels/supervoxels/stored_levels_cuda.cuh"

namespace lob::supervoxels
{

enum {
    THREADS = 256,
    WARPS = THREADS / WARP,
    TILE_STRIPS = 8,                   /* of a row of a tile */
    STEP_ROWS = THREADS / TILE_STRIPS, /* rows of a tile that are looked at together */
    LANE_ROW_BITS = 2,                 /* logarithm of a warp's rows */
    MAX_STEPS = 8,                     /* of a tile; its sums fit 32 bits */
    MAX_PHASES = 40 /* at most: each halves the sets that pick, of which there are under 2^31 */
};
static_assert(WARP / TILE_STRIPS == 1 << LANE_ROW_BITS, "a warp takes whole rows");
static_assert(MAX_STEPS * THREADS * STRIP <= UINT32_MAX / UINT16_MAX, "sums of tiles fit 32 bits");
static constexpr u64 NO_NEIGHBOUR = ~0ull;

/* What the kernels tell each other and the host; all zero before contacts are looked for. */
typedef struct {
    u64 listed;       /* contacts that there are, whether the list has room for them or not */
    uint32_t small;   /* sets that are */
    uint32_t arrived; /* at meetings of blocks, in total */
    uint32_t going[MAX_PHASES]; /* did a round leave contacts of small sets? Without lists: the
                               first, did a set pick? */
    uint32_t finished;          /* labels are numbered */
    int32_t count;              /* of them */
    int32_t pieces;             /* that there were */
} connect_counters;

/*
 * Pieces count from 1, and a set of pieces is known by its lowest. A piece's link is above 0 where
 * it leads to a lower piece of the same set. Otherwise the piece is its set's lowest, and the link
 * is 0, or, where contacts are not listed, less the piece that the set has picked. In the end every
 * link is less the piece's label.
 */
typedef struct {
    supervoxels_params s;
    int32_t nx, ny, nz;
    uint32_t along, strips; /* runs of a row, and in all */
    bool whole;             /* 8 voxels of a row are there and aligned wherever one is */
    int y_bits, z_bits;     /* logarithms of a tile's rows along y and z, */
    int far_y, far_z;       /* and of those that a warp has */
    uint32_t tiles[3];
    int steps;              /* of a tile */
    int64_t max_fragments;  /* pieces: there is memory for so many */
    const uint32_t *pieces; /* how many there are */
    connect_counters *counters;
    int32_t *link;        /* most + 1: of pieces */
    uint32_t *n;          /* most + 1: voxels of sets, */
    u64 *sums;            /* times channels: and of their levels; NULL: in the next two */
    uint32_t *low;        /* the same: sums below 32 bits, */
    uint32_t *high;       /* as halves of words: and above, where they take 16 */
    uint32_t *small_bits; /* most / 32 + 1: bits of pieces whose sets are small */
    uint32_t *roots;      /* what blocks count */
    bool apart;           /* every piece is a set of its own still */
    bool listed;          /* contacts are; where not, nobody asks for what follows */
    u64 *key;             /* most + 1: the best of a small set's neighbours so far */
    uint32_t *mean;       /* most + 1, times channels: lob_fragment_mean, or STALE_MEAN */
    int32_t *small;       /* most + 1: sets that are small */
    u64 *list;            /* room: small set << 32 | its neighbour */
    int64_t list_capacity;
} connect_params;

/* ---- what is known of pieces and sets ---- */

/* Whoever brings the low bits over their top carries into the high ones. */
static __device__ inline void add_sum(const connect_params &p, int64_t i, u64 sum)
{
    if (p.sums) {
        atomicAdd(&p.sums[i], sum);
        return;
    }
    const uint32_t low = (uint32_t)sum, before = atomicAdd(&p.low[i], low);
    const uint32_t high = (uint32_t)(sum >> 32) + (low > ~before);
    if (high) atomicAdd(&p.high[i / 2], high << i % 2 * 16);
}

static __device__ inline u64 sum_of(const connect_params &p, int64_t i)
{
    if (p.sums) return p.sums[i];
    return (u64)(p.high[i / 2] >> i % 2 * 16 & UINT16_MAX) << 32 | p.low[i];
}

/* Between rounds, when every piece points at its set's lowest. Piece 0 is none, and set 0. */
static __device__ inline int32_t set_of(const connect_params &p, int64_t piece)
{
    const int32_t link = p.link[piece];
    return link > 0 ? link : (int32_t)piece;
}

static __device__ inline bool is_small(const connect_params &p, int32_t set)
{
    return (int64_t)p.n[set] < p.s.rule.small;
}

static __device__ inline int32_t link_now(const connect_params &p, int32_t i)
{
    return *(volatile const int32_t *)&p.link[i];
}

/* Links only ever lead lower, so a stale one leads on all the same. */
static __device__ inline int32_t lowest_of(const connect_params &p, int32_t i)
{
    for (int32_t next; (next = link_now(p, i)) > 0;) i = next;
    return i;
}

/* ---- runs ---- */

/* A run, as far as its row goes. */
typedef struct {
    int32_t x;
    int64_t voxel;
    int32_t label[STRIP]; /* 0 beyond the row */
} label_strip;

static __device__ inline void read_labels(const connect_params &p, label_strip *r)
{
    const int32_t *from = p.s.labels + r->voxel;
    if (p.nx % 4 == 0 && p.s.aligned) {
#pragma unroll
        for (int j = 0; j < STRIP; j += 4) {
            const int4 four = r->x + j < p.nx ? *(const int4 *)(from + j) : make_int4(0, 0, 0, 0);
            r->label[j] = four.x, r->label[j + 1] = four.y;
            r->label[j + 2] = four.z, r->label[j + 3] = four.w;
        }
    } else {
#pragma unroll
        for (int j = 0; j < STRIP; j++) r->label[j] = r->x + j < p.nx ? from[j] : 0;
    }
}

/* Where in a run another piece begins than before, but for its first voxel. */
static __device__ inline unsigned begins_of(const label_strip &r)
{
    unsigned begins = 0;
#pragma unroll
    for (int j = 1; j < STRIP; j++) begins |= r.label[j] != r.label[j - 1] ? 1u << j : 0;
    return begins;
}

/* The voxels of pieces that begin at `first`, of a run where some begin. One is added behind each,
 * and the carry runs through what does not begin. */
static __device__ inline unsigned voxels_from(unsigned first, unsigned begins)
{
    const unsigned others = ALL_VOXELS & ~(begins | 1);
    return first | (others & ~(others + (first << 1)));
}

/* ---- tiles ---- */

typedef struct {
    int32_t x, y, z;
} corner;

static __device__ inline corner corner_of(const connect_params &p, uint32_t tile)
{
    corner c;
    const uint32_t row = tile / p.tiles[0], plane = row / p.tiles[1];
    c.x = (int32_t)(tile - row * p.tiles[0]) * (TILE_STRIPS * STRIP);
    c.y = (int32_t)(row - plane * p.tiles[1]) << p.y_bits;
    c.z = (int32_t)plane << p.z_bits;
    return c;
}

/* Where a lane's run begins at a step of its warp: mostly a row behind that of the step before. It
 * may lie beyond the volume. */
static __device__ inline corner strip_position(const connect_params &p, corner tile, int warp,
                                               int lane, int step)
{
    const int near = warp * p.steps + step, far = lane / TILE_STRIPS;
    const int y_near = p.y_bits - p.far_y, z_near = p.z_bits - p.far_z;
    corner c;
    c.x = tile.x + lane % TILE_STRIPS * STRIP;
    c.y = tile.y + ((far & ((1 << p.far_y) - 1)) << y_near | (near & ((1 << y_near) - 1)));
    c.z = tile.z + (far >> p.far_y << z_near | near >> y_near);
    return c;
}

static __device__ inline int64_t voxel_at(const connect_params &p, corner c)
{
    return ((int64_t)c.z * p.ny + c.y) * p.nx + c.x;
}

/* A thread's runs in a tile: one behind the other along y, or along z where tiles have no y; a warp
 * has no more steps than a tile has near rows there. */
typedef struct {
    int32_t x;
    int rows;              /* as far as the volume goes */
    int64_t voxel, stride; /* where the first begins, and how far the next lies behind it */
} strip_column;

static __device__ inline strip_column column_of(const connect_params &p, corner tile)
{
    const int thread = (int)threadIdx.x;
    const corner c = strip_position(p, tile, thread / WARP, thread % WARP, 0);
    const bool along_y = p.y_bits > p.far_y;
    const bool inside = c.x < p.nx && (along_y ? c.z < p.nz : c.y < p.ny);
    strip_column column;
    column.x = c.x;
    column.rows = inside ? along_y ? p.ny - c.y : p.nz - c.z : 0;
    column.voxel = voxel_at(p, c);
    column.stride = along_y ? p.nx : (int64_t)p.nx * p.ny;
    return column;
}

static __device__ inline label_strip strip_of_column(const connect_params &p,
                                                     const strip_column &column, int step)
{
    label_strip r = {};
    r.x = column.x;
    r.voxel = column.voxel + step * column.stride;
    if (step < column.rows) read_labels(p, &r);
    return r;
}

} /* namespace lob::supervoxels */

#endif
