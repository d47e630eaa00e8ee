/*
 * Supervoxels on the device: what its kernels share.
 *
 * Kernels look at the volume through a view whose axes u, v, w are the volume's x, y, z in 3D. A
 * flat view, of slices or of a volume one voxel thin, has the axis across it as w and slices follow
 * each other along it. Voxels along u come in runs of 8; 32 runs are a brick: 8x8x4 voxels, or
 * 16x16 of a slice. A warp takes a warp tile of bricks along w at a time, two in 3D, one of a
 * slice, a lane a run of each. A plane holds brick after brick and in it run after run, so that a
 * warp reads 512 bytes in one piece; a byte a run says which of its voxels are data. What a brick
 * has beyond the volume is not data.
 *
 * Passes over warp tiles take one channel or three. The last channel's levels are a plane; two
 * before it lie in the labels until these are written (label_levels_cuda.cuh). Passes over single
 * voxels read the image. Labels without levels hold the clusters' sums until then, if there is
 * room.
 */
#ifndef LOB_SUPERVOXELS_PARAMS_CUDA_H
#define LOB_SUPERVOXELS_PARAMS_CUDA_H

#include "kernels/device/arena.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/levels/levels_cuda.cuh"
#include "kernels/supervoxels/supervoxels_plan.h"
#include "kernels/supervoxels/supervoxels_tuning.h"

namespace lob::supervoxels
{

enum { STRIP = 8, BRICK_VOXELS = WARP * STRIP };

/* Sides of a brick in voxels. */
template <bool FLAT> struct brick_shape {
    static constexpr int bx = FLAT ? 16 : 8, by = FLAT ? 16 : 8, bz = FLAT ? 1 : 4;
    static_assert(bx * by * bz == BRICK_VOXELS, "a warp's runs fill a brick");
    static constexpr int depth = FLAT ? 1 : 2; /* bricks along w that make a pile */

    /* Where in its brick a lane's run begins. */
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

/* What is done with the nearest clusters; in the first pass boxes are the cells. */
typedef enum { PASS_START, PASS_ADD, PASS_LABEL } pass_kind;

/* Flags of iterations turn around in a ring: i % RING is set where iteration i changed anything. */
enum { RING = 4 };

typedef struct {
    uint32_t changed[RING];
    uint32_t iterations; /* whose sums have been made, but for the start */
    uint32_t listed;     /* piles, for the pass under way */
} pass_counters;

/*
 * A pile that warps are to look at: where it is, counted in piles, and which of the clusters of its
 * spans may have voxels of it, a bit each; 0: not known. SINGLE in z: the only one has all of them.
 */
static constexpr uint32_t SINGLE = 1u << 31;
typedef struct __align__(16)
{
    uint32_t x, y, z, clusters;
}
listed_tile;

/* The cells along an axis whose clusters may have voxels of a pile of bricks. */
typedef struct __align__(16)
{
    int32_t first, n;
    float over; /* 1 / n */
}
cell_span;

typedef struct {
    lob_supervoxels_rule rule;
    lob_device_image image;
    lob_device_levels levels;
    uint16_t lowest[LOB_SUPERVOXELS_MAX_CHANNELS];
    const lob_cos_sin *axis_cos_sin[3], *level_cos_sin; /* lsc; axes are the volume's */
    const uint16_t *linear, *root;                      /* CIELAB */

    bool flat;
    int axis[3];                       /* the volume's axis that each axis of the view follows */
    int32_t side[3], cells[3];         /* of the view */
    int64_t stride[3], cell_stride[3]; /* of the view, in the volume and among clusters */
    uint32_t bricks[3], tiles_w;       /* piles along w */
    uint32_t tiles_per_turn;           /* piles of a row that a warp takes one after another */
    uint32_t strips;                   /* of all bricks */
    bool aligned; /* a run's labels may be read and written 16 bytes at a time, half by half */

    uint4 *brick_levels;                /* runs: levels of the last channel; NULL: nobody asks */
    uint8_t *brick_data;                /* runs; bit j: voxel j is data */
    float *centres;                     /* clusters times lob_cluster_floats */
    int32_t *boxes;                     /* clusters times 6 */
    cell_span *spans;                   /* of piles along u, then v, then w */
    u64 *sums;                          /* clusters times lob_cluster_sums; perhaps in labels */
    u64 *before;                        /* the same of the iteration before; NULL: nobody asks */
    uint32_t *largest, *largest_before; /* slico: clusters, bits of floats */
    float *weights;                     /* lsc */
    u64 *totals;                        /* lsc: lob_cluster_sums over all clusters */
    uint32_t *tile_stats;               /* slic: of piles; screen_cuda.cuh tells what */
    listed_tile *listed;                /* as many, where piles are screened */
    pass_counters *counters;
    int32_t *labels; /* before the last pass: two of three channels' levels, or sums */

    pass_kind pass;
    int iteration;     /* the start is 0 */
    int list_capacity; /* clusters that a warp tile may list */
    bool culled;       /* slic: piles are, before passes but the first */
    float margin; /* slic: more than floats may be wrong by when they tell two clusters apart */
} supervoxels_params;

/* How many channels' levels, from the first on, lie in the labels where there is a plane. */
static __host__ __device__ constexpr int channels_in_labels(int channels)
{
    return channels == 3 ? 2 : 0;
}

static inline int64_t count_of_tiles(const supervoxels_params *s)
{
    return (int64_t)s->bricks[0] * s->bricks[1] * s->tiles_w;
}

/* Where a run lies in the view. */
typedef struct {
    int32_t u, v, w;
} position;

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

/* Did the iteration before this one leave everything as it was? */
static __device__ inline bool is_still(const supervoxels_params &s)
{
    return s.before && s.iteration > 1 && s.counters->changed[(s.iteration - 1) % RING] == 0;
}

static __device__ inline int64_t voxel_at(const supervoxels_params &s, position at)
{
    return at.u * s.stride[0] + at.v * s.stride[1] + at.w * s.stride[2];
}

/* Write a run's labels, as far as it lies in the volume. */
static __device__ inline void write_strip(const supervoxels_params &s, position at,
                                          const int32_t *label)
{
    if (at.v >= s.side[1] || at.w >= s.side[2]) return;
    int32_t *to = s.labels + voxel_at(s, at);
    if (s.aligned) {
#pragma unroll
        for (int j = 0; j < STRIP; j += 4)
            if (at.u + j < s.side[0])
                *(int4 *)(to + j) = make_int4(label[j], label[j + 1], label[j + 2], label[j + 3]);
    } else {
#pragma unroll
        for (int j = 0; j < STRIP; j++)
            if (at.u + j < s.side[0]) to[j * s.stride[0]] = label[j];
    }
}

/* The stages, in order; each puts its kernels into the device's queue. */
lob_status make_brick_levels(lob_device *device, const supervoxels_params *s, lob_error *error);
lob_status begin_clusters(lob_device *device, const supervoxels_params *s, lob_error *error);
lob_status launch_pass(lob_device *device, const supervoxels_params *s, lob_error *error);
lob_status update_clusters(lob_device *device, const supervoxels_params *s, lob_error *error);

/* How many clusters a pile should have room for; 0: this job is not one for piles. */
int list_capacity_of(const lob_device *device, const supervoxels_params *s);

/* Fragments, and what becomes of them. */
typedef struct {
    const uint32_t *count; /* in: device address of how many fragments there are */
    int64_t max_fragments; /* in: they are not more than this */
    uint32_t *table;       /* in: device; max_fragments + 1 words that may be overwritten */
    int64_t list_capacity; /* in: as in lob_supervoxels_tuning */
    int64_t fragments;     /* out: how many there were */
    int64_t supervoxels;   /* out: labels that there are then */
} fragment_join;

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
