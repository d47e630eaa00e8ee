/*
 * Supervoxels on a GPU: where reading starts. Below is what all kernels share. How a voxel gets its
 * label, file by file:
 *
 *   1. supervoxels_cuda.cu runs the call: it uploads the arrays (kernels/device/device_memory.c),
 *      takes working memory and launches all that follows. levels/levels_cuda.cu finds the extremes
 *      of the data. From these and the options supervoxels_plan.c makes weights, tables and the
 *      grid, whose cells are the first clusters. supervoxels_voxel.h has the formulas, which the
 *      CPU uses too.
 *   2. assign/brick_levels_cuda.cu reads the image and writes its levels brick by brick, with a bit
 *      per voxel that says whether it is data. (Of three channels, two lie in the array of labels:
 *      assign/label_levels_cuda.cuh.) assign/clusters_cuda.cu begins the clusters.
 *   3. assign/pass_cuda.cu launches the passes: the start, which adds every voxel to the cluster of
 *      its own cell, and one for each iteration. In assign/warp_tile_cuda.cuh a warp takes a tile
 *      of bricks: it lists the clusters that may be nearest to any of its voxels
 *      (shortlist_cuda.cuh), finds the nearest of each voxel (nearest_cuda.cuh) and adds the voxels
 *      to the sums of their clusters (cluster_sums_cuda.cuh). tile_layout_cuda.cuh has what these
 *      share. In large volumes slic drops clusters for all tiles ahead of a pass
 *      (cull_tiles_cuda.cuh). What tiles cannot do is done voxel by voxel (voxelwise_cuda.cuh).
 *   4. After each pass but the last, assign/clusters_cuda.cu moves every cluster to the mean of its
 *      voxels. The last pass writes the nearest cluster, plus 1, as the label.
 *   5. components/label/label_pieces_cuda.cu replaces equal labels by the numbers of their
 *      connected parts, the fragments.
 *   6. connect/connect_cuda.cu joins small fragments with their most similar neighbours. Then it
 *      writes the labels, from 1 in raster order, and supervoxels_cuda.cu downloads them.
 *
 * Kernels see the volume through a view. In 3D its axes u, v, w are x, y, z. A view is flat for
 * slices, and for a volume that is one voxel thin: then w is the axis across the slices. Eight
 * voxels along u are a strip; 32 strips are a brick of 8x8x4 voxels, in a flat view of 16x16x1. A
 * warp tile is two bricks along w, in a flat view one brick: each lane has one strip of each brick.
 * A brick's strips follow each other in memory, so a warp reads 512 contiguous bytes of levels.
 * Voxels of a brick that lie beyond the volume are not data. Of a volume that ranks share, bricks
 * and voxels are those of the rank's slab, which lies in the view of the whole.
 *
 * Tiles need a kernel for their number of channels, which one and three have. The last channel's
 * levels lie in brick_levels, the first two of three in the array of labels until the last pass
 * writes labels there. Without levels there, that array holds the clusters' sums if it is large
 * enough. The voxelwise pass reads the image.
 */
#ifndef LOB_SUPERVOXELS_PARAMS_CUDA_H
#define LOB_SUPERVOXELS_PARAMS_CUDA_H

#include "kernels/device/arena.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/levels/levels_cuda.cuh"
#include "kernels/supervoxels/supervoxels_plan.h"
#include "kernels/supervoxels/supervoxels_tuning.h"
#include "kernels/team/team.h"

namespace lob::supervoxels
{

enum { STRIP = 8, BRICK_VOXELS = WARP * STRIP };
static constexpr unsigned ALL_VOXELS = (1u << STRIP) - 1; /* of a strip, a bit each */

/* Sides of a brick in voxels. */
template <bool FLAT> struct brick_shape {
    static constexpr int bx = FLAT ? 16 : 8, by = FLAT ? 16 : 8, bz = FLAT ? 1 : 4;
    static_assert(bx * by * bz == BRICK_VOXELS, "the strips of a warp fill a brick");
    static constexpr int depth = FLAT ? 1 : 2; /* bricks of a warp tile, along w */

    /* Where in its brick a lane's strip begins. */
    static __host__ __device__ int x(int lane)
    {
        return FLAT ? (lane & 1) * STRIP : 0;
    }
    static __host__ __device__ int y(int lane)
    {
        return FLAT ? lane >> 1 : lane >> 2;
    }
    static __host__ __device__ int z(int lane)
    {
        return FLAT ? 0 : lane & 3;
    }
};

/*
 * What a pass does with the nearest cluster of each voxel: in the first, where every voxel belongs
 * to its own cell, and in the others but the last it adds the voxel to the cluster; in the last it
 * writes the label.
 */
typedef enum { PASS_START, PASS_ADD, PASS_LABEL } pass_kind;

/* Iteration i has flag i % RING; the update after it clears the flag of iteration i + 2. */
enum { RING = 4 };

typedef struct {
    uint32_t changed[RING]; /* did the iteration change any cluster? */
    uint32_t iterations;    /* number of the last one that was done */
    uint32_t listed;        /* tiles, for the pass under way */
} pass_counters;

/*
 * A warp tile for a warp to do: its position along u, v, w, counted in tiles, and a bit for each
 * cluster of its spans that may be nearest to a voxel of it; 0: not known. SINGLE is a bit of z:
 * there is one such cluster, and it gets all voxels of the tile.
 */
static constexpr uint32_t SINGLE = 1u << 31;
typedef struct __align__(16)
{
    uint32_t x, y, z, clusters;
}
listed_tile;

/* The cells along an axis whose clusters may get voxels of a warp tile. */
typedef struct __align__(16)
{
    int32_t first, n;
    float reciprocal; /* 1 / n */
}
cell_span;

struct supervoxels_params {
    lob_supervoxels_rule rule;
    lob_device_image image;
    lob_device_levels levels;
    uint16_t lowest[LOB_SUPERVOXELS_MAX_CHANNELS];      /* level of each channel, as in the plan */
    const lob_cos_sin *axis_cos_sin[3], *level_cos_sin; /* lsc; of the volume's axes */
    const uint16_t *linear, *root;                      /* CIELAB */

    bool flat;
    int axis[3];                       /* of the volume, that u, v, w are */
    int32_t side[3], cells[3];         /* of the view */
    int32_t begin[3], end[3];          /* the slab: where in the view it lies */
    int32_t planes;                    /* of the slab */
    int64_t first_voxel;               /* in the volume */
    int32_t first_cluster, clusters;   /* that the slab's voxels may join; below, arrays of clusters
                                          have an entry for each of these, and begin where that of
                                          cluster 0 would be */
    int64_t stride[3], cell_stride[3]; /* of the view: between voxels, and between clusters */
    uint32_t bricks[3], tiles_w;       /* along each axis; tiles along w */
    uint32_t tiles_per_turn;           /* of a row, that a warp takes one after another */
    uint32_t strips;                   /* of all bricks */
    bool aligned; /* a strip's labels may be read and written as two times 16 bytes */

    uint4 *brick_levels; /* strips: 8 levels of the last channel; NULL where passes are voxelwise */
    uint8_t *brick_data; /* strips; bit j: voxel j is data */
    float *centres;      /* clusters times lob_cluster_floats */
    int32_t *boxes;      /* clusters times 6 */
    cell_span *spans;    /* of tiles along u, then v, then w */
    u64 *sums;           /* clusters times lob_cluster_sums; perhaps in labels */
    u64 *before;         /* those of the iteration before; NULL: not compared */
    uint32_t *largest;   /* slico: clusters; largest squared contrast, as a float's bits */
    uint32_t *largest_before;
    float *weights;       /* lsc */
    u64 *totals;          /* lsc: lob_cluster_sums, over all clusters */
    uint32_t *tile_stats; /* slic: tiles; level_stats of cull_tiles_cuda.cuh */
    listed_tile *listed;  /* tiles, where they are culled */
    pass_counters *counters;
    int32_t *labels; /* before the last pass: levels of two of three channels, or sums */

    pass_kind pass;
    int iteration;     /* 0: every voxel belongs to its own cell */
    int max_shortlist; /* clusters that a tile's shortlist may have; 0: passes are voxelwise */
    bool culled;       /* slic: tiles are culled ahead of each pass but the first */
    float margin;      /* slic: costs in floats that differ by more tell which cluster is nearer */
};

/* The first channels, whose levels lie in the array of labels where passes take tiles. */
static __host__ __device__ constexpr int channels_in_labels(int channels)
{
    return channels == 3 ? 2 : 0;
}

static inline int64_t count_of_tiles(const supervoxels_params *s)
{
    return (int64_t)s->bricks[0] * s->bricks[1] * s->tiles_w;
}

/* Where a voxel, or the first one of a strip, lies in the view: along u, v, w. */
struct position {
    int32_t u, v, w;
};

/* A voxel's levels in CIELAB, from the image. */
static __device__ inline void read_lab(uint16_t *lab, const supervoxels_params &s, int64_t voxel)
{
    const uint8_t *rgb = (const uint8_t *)s.image.stored + voxel;
    lob_lab(lab, rgb[0], rgb[s.image.voxels], rgb[2 * s.image.voxels], s.linear, s.root);
}

/* A voxel's level in a channel, from the image. */
static __device__ inline uint16_t level_of(const supervoxels_params &s, int channel, int64_t voxel)
{
    uint16_t lab[3];
    if (s.rule.lab) {
        read_lab(lab, s, voxel);
        return channel == 0 ? lab[0] : channel == 1 ? lab[1] : lab[2];
    }
    const int64_t i = channel * s.image.voxels + voxel;
    return (uint16_t)(lob_voxel_level(&s.image, &s.levels, i) - s.lowest[channel]);
}

static __device__ inline lob_cos_sin level_cos_sin_of(const supervoxels_params &s, int channel,
                                                      uint32_t level)
{
    const int table = lob_lsc_table(&s.rule, channel);
    return s.level_cos_sin[table * LOB_COS_SIN_ENTRIES + (level >> s.rule.shift)];
}

/* The cluster of a voxel's own cell. */
static __device__ inline int32_t own_cluster(const supervoxels_params &s, int32_t u, int32_t v,
                                             int32_t w)
{
    return (int32_t)(lob_cell(u, s.side[0], s.cells[0]) * s.cell_stride[0] +
                     lob_cell(v, s.side[1], s.cells[1]) * s.cell_stride[1] +
                     lob_cell(w, s.side[2], s.cells[2]) * s.cell_stride[2]);
}

/* Did the iteration before change nothing? Then this one does nothing. */
static __device__ inline bool is_converged(const supervoxels_params &s)
{
    return s.before && s.iteration > 1 && s.counters->changed[(s.iteration - 1) % RING] == 0;
}

static __device__ inline int64_t voxel_at(const supervoxels_params &s, position at)
{
    return at.u * s.stride[0] + at.v * s.stride[1] + at.w * s.stride[2] - s.first_voxel;
}

/* Sums are unsigned for the sake of atomics, and hold signed values modulo 2^64. */
static __device__ inline void add_signed(u64 *sum, int64_t value)
{
    atomicAdd(sum, (u64)value);
}

/* Write the first n labels of a strip, `stride` apart. Four at once, where they are aligned, by an
 * intrinsic: the compiler makes stores of one label each of a plain int4. */
static __device__ inline void write_labels(int32_t *to, const int32_t *label, int n, int64_t stride,
                                           bool aligned)
{
    if (aligned) {
#pragma unroll
        for (int j = 0; j < STRIP; j += 4)
            if (j < n)
                __stwb((int4 *)(to + j),
                       make_int4(label[j], label[j + 1], label[j + 2], label[j + 3]));
    } else {
#pragma unroll
        for (int j = 0; j < STRIP; j++)
            if (j < n) to[j * stride] = label[j];
    }
}

/* Write a strip's labels, as far as it lies in the slab. */
static __device__ inline void write_strip(const supervoxels_params &s, position at,
                                          const int32_t *label)
{
    if (at.v < s.end[1] && at.w < s.end[2])
        write_labels(s.labels + voxel_at(s, at), label, s.end[0] - at.u, s.stride[0], s.aligned);
}

/* The stages, in order; each puts its kernels into the device's stream. */
lob_status make_brick_levels(lob_device *device, const supervoxels_params *s, lob_error *error);
lob_status begin_clusters(lob_device *device, const supervoxels_params *s, lob_error *error);
lob_status launch_pass(lob_device *device, const supervoxels_params *s, lob_error *error);
lob_status find_weights(lob_device *device, const supervoxels_params *s, lob_team *team,
                        lob_error *error); /* lsc, after the first pass */

/* How many clusters the shortlist of a tile needs; 0: passes have to be voxelwise. */
int shortlist_capacity(const lob_device *device, const supervoxels_params *s);

/* Clusters that another rank has too, and room for what their sums are there. */
struct shared_clusters {
    int rank;
    int32_t first, clusters;
    u64 *sums;         /* clusters times lob_cluster_sums */
    uint32_t *largest; /* slico: clusters */
};

/* Add to the sums of clusters what they are in other ranks, raise largest contrasts to theirs, and
 * move all clusters. letters: room for `count`. */
lob_status update_clusters(lob_device *device, const supervoxels_params *s,
                           const shared_clusters *shared, int count, lob_letter *letters,
                           lob_team *team, lob_error *error);

/* The planes at both sides of a rank's seams: of each the clusters of its voxels, then their
 * fragments. */
struct seam_planes {
    int32_t *first, *last;    /* of the slab */
    int32_t *before, *behind; /* beside it; NULL: none */
    uint2 *pairs; /* of parts of one fragment before the slab and in it, by their labels there: as
                     many as a plane has voxels */
    u64 *pair_count;
};

struct fragment_join {
    const uint32_t *count; /* in: device address of how many fragments there are */
    int64_t max_fragments; /* in: not more than this */
    uint32_t *table;       /* in: device; max_fragments + 1 words that may be overwritten */
    int64_t max_contacts;  /* in: as in lob_supervoxels_tuning */
    lob_team *team;        /* in: NULL: one rank has all */
    seam_planes seams;     /* in: of a team, with the clusters of the slab's planes */
    int64_t fragments;     /* out: how many there were, in all ranks */
    int64_t supervoxels;   /* out: how many labels there are now */
};

/*
 * Join small fragments and number the results, in place; supervoxels_voxel.h states the rule.
 *
 *   budget  in/out  of the call; takes LOB_DEVICE_WORK anew and forgets what that held
 *   join    in/out  see above
 *   s       in      s->labels: fragments, from 1 in raster order; the image again for the levels
 */
lob_status join_fragments(lob_device_budget *budget, fragment_join *join,
                          const supervoxels_params *s, lob_error *error);

} /* namespace lob::supervoxels */

#endif
