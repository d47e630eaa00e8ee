/*
 * Supervoxels on the device: what its kernels share.
 *
 * Kernels look at the volume through a view whose axes u, v, w are the volume's x, y, z in 3D. A
 * flat view, of slices or of a volume one voxel thin, has the axis across it as w and slices follow
 * each other along it. Voxels along u come in runs of 8; 32 runs are a brick: 8x8x4 voxels, or
 * 16x16 of a slice. A warp takes a pile of bricks along w at a time, two in 3D, one of a slice, a
 * lane a run of each. A plane holds brick after brick and in it run after run, so that a warp reads
 * 512 bytes in one piece; a byte a run says which of its voxels are data. What a brick has beyond
 * the volume is not data.
 *
 * Passes over piles take one channel or three. The last channel's levels are a plane; two before it
 * lie in the labels until these are written (label_levels_cuda.cuh). Passes over single voxels
 * read the image. Labels without levels hold the clusters' sums until then, if there is room.
 */
#ifndef LOB_SUPERVOXELS_SCENE_CUDA_CUH
#define LOB_SUPERVOXELS_SCENE_CUDA_CUH

#include "kernels/levels/levels_cuda.cuh"
#include "kernels/supervoxels/supervoxels_cuda.h"

typedef unsigned long long wide; /* the 64-bit type that CUDA's atomics take */

enum { WARP = 32, RUN = 8, BRICK_VOXELS = WARP * RUN };
static constexpr unsigned ALL_LANES = ~0u;

/* Sides of a brick in voxels. */
template <bool FLAT> struct shape {
    static constexpr int bx = FLAT ? 16 : 8, by = FLAT ? 16 : 8, bz = FLAT ? 1 : 4;
    static_assert(bx * by * bz == BRICK_VOXELS, "a warp's runs fill a brick");
    static constexpr int depth = FLAT ? 1 : 2; /* bricks along w that make a pile */

    /* Where in its brick a lane's run begins. */
    static __host__ __device__ int x(int lane)
    {
        return FLAT ? (lane & 1) * RUN : 0;
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
} progress_line;

/*
 * A pile that warps are to look at: where it is, counted in piles, and which of the clusters of its
 * spans may have voxels of it, a bit each; 0: not known. SOLE in z: the only one has all of them.
 */
static constexpr uint32_t SOLE = 1u << 31;
typedef struct __align__(16)
{
    uint32_t x, y, z, clusters;
}
listed_pile;

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
    const lob_wave *axis_wave[3], *level_wave; /* lsc; axes are the volume's */
    const uint16_t *linear, *root;             /* CIELAB */

    bool flat;
    int axis[3];                       /* the volume's axis that each axis of the view follows */
    int32_t side[3], cells[3];         /* of the view */
    int64_t stride[3], cell_stride[3]; /* of the view, in the volume and among clusters */
    uint32_t bricks[3], piles;         /* piles along w */
    uint32_t stretch;                  /* piles of a row that a warp takes one after another */
    uint32_t runs;                     /* of all bricks */
    bool aligned; /* a run's labels may be read and written 16 bytes at a time, half by half */

    uint4 *plane;                       /* runs: levels of the last channel; NULL: nobody asks */
    uint8_t *data;                      /* runs; bit j: voxel j is data */
    float *centres;                     /* clusters times lob_cluster_floats */
    int32_t *boxes;                     /* clusters times 6 */
    cell_span *spans;                   /* of piles along u, then v, then w */
    wide *sums;                         /* clusters times lob_cluster_sums; perhaps in labels */
    wide *before;                       /* the same of the iteration before; NULL: nobody asks */
    uint32_t *largest, *largest_before; /* slico: clusters, bits of floats */
    float *weights;                     /* lsc */
    wide *totals;                       /* lsc: lob_cluster_sums over all clusters */
    uint32_t *digests;                  /* slic: of piles; screen_cuda.cuh tells what */
    listed_pile *listed;                /* as many, where piles are screened */
    progress_line *line;
    int32_t *labels; /* before the last pass: two of three channels' levels, or sums */

    pass_kind pass;
    int iteration; /* the start is 0 */
    int room;      /* clusters that a pile may list */
    bool screened; /* slic: piles are, before passes but the first */
    float margin;  /* slic: more than floats may be wrong by when they tell two clusters apart */
} scene;

/* How many channels' levels, from the first on, lie in the labels where there is a plane. */
static __host__ __device__ constexpr int channels_in_labels(int channels)
{
    return channels == 3 ? 2 : 0;
}

static inline int64_t count_of_piles(const scene *s)
{
    return (int64_t)s->bricks[0] * s->bricks[1] * s->piles;
}

/* Where a run lies in the view. */
typedef struct {
    int32_t u, v, w;
} place;

/* A voxel's levels in CIELAB, from the image. */
static __device__ inline void read_lab(uint16_t *lab, const scene &s, int64_t voxel)
{
    const uint8_t *rgb = (const uint8_t *)s.image.stored + voxel;
    lob_lab(lab, rgb[0], rgb[s.image.voxels], rgb[2 * s.image.voxels], s.linear, s.root);
}

/* A voxel's level in a channel, from the image. */
static __device__ inline uint16_t level_of(const scene &s, int channel, int64_t voxel)
{
    uint16_t lab[3];
    if (s.rule.lab) {
        read_lab(lab, s, voxel);
        return channel == 0 ? lab[0] : channel == 1 ? lab[1] : lab[2];
    }
    const int64_t i = channel * s.image.voxels + voxel;
    return (uint16_t)(lob_voxel_level(&s.image, &s.levels, i) - s.lowest[channel]);
}

static __device__ inline lob_wave level_wave_of(const scene &s, int channel, uint32_t level)
{
    const int table = lob_supervoxel_wave(&s.rule, channel);
    return s.level_wave[table * LOB_WAVE_ENTRIES + (level >> s.rule.shift)];
}

/* The cluster of a voxel's own cell. */
static __device__ inline int32_t own_cluster(const scene &s, int32_t u, int32_t v, int32_t w)
{
    return (int32_t)(lob_cell(u, s.side[0], s.cells[0]) * s.cell_stride[0] +
                     lob_cell(v, s.side[1], s.cells[1]) * s.cell_stride[1] +
                     lob_cell(w, s.side[2], s.cells[2]) * s.cell_stride[2]);
}

/* Did the iteration before this one leave everything as it was? */
static __device__ inline bool is_still(const scene &s)
{
    return s.before && s.iteration > 1 && s.line->changed[(s.iteration - 1) % RING] == 0;
}

static __device__ inline int64_t voxel_at(const scene &s, place at)
{
    return at.u * s.stride[0] + at.v * s.stride[1] + at.w * s.stride[2];
}

/* Write a run's labels, as far as it lies in the volume. */
static __device__ inline void write_run(const scene &s, place at, const int32_t *label)
{
    if (at.v >= s.side[1] || at.w >= s.side[2]) return;
    int32_t *to = s.labels + voxel_at(s, at);
    if (s.aligned) {
#pragma unroll
        for (int j = 0; j < RUN; j += 4)
            if (at.u + j < s.side[0])
                *(int4 *)(to + j) = make_int4(label[j], label[j + 1], label[j + 2], label[j + 3]);
    } else {
#pragma unroll
        for (int j = 0; j < RUN; j++)
            if (at.u + j < s.side[0]) to[j * s.stride[0]] = label[j];
    }
}

/* The stages, in order; each puts its kernels into the device's queue. */
lob_status lob_supervoxels_planes_cuda(lob_device *device, const scene *s, lob_error *error);
lob_status lob_supervoxels_begin_cuda(lob_device *device, const scene *s, lob_error *error);
lob_status lob_supervoxels_pass_cuda(lob_device *device, const scene *s, bool plain,
                                     lob_error *error);
lob_status lob_supervoxels_settle_cuda(lob_device *device, const scene *s, lob_error *error);

/* How many clusters a pile should have room for; 0: this job is not one for piles. */
int lob_supervoxels_room(const lob_device *device, const scene *s);

/* Connected pieces, and what becomes of them. */
typedef struct {
    const uint32_t *at;  /* in: device address of how many there are */
    int64_t most;        /* in: they are not more than this */
    uint32_t *table;     /* in: device; most + 1 words that may be written over */
    int64_t list;        /* in: as in lob_supervoxels_tuning */
    int64_t beside;      /* in: bytes that are taken besides */
    int64_t pieces;      /* out: how many there were */
    int64_t supervoxels; /* out: labels that there are then */
    int64_t bytes;       /* out: taken of the block LOB_DEVICE_WORK, whatever that held before */
} lob_supervoxel_pieces;

/*
 * Join small pieces and number what comes of it, in place; supervoxels_voxel.h tells how.
 *
 *   found   in/out  see above
 *   s       in      s->labels: pieces, from 1 in raster order; the image again for the levels
 *   most    in      bytes that may be taken; 0: as many as there are
 */
lob_status lob_supervoxels_pieces_cuda(lob_device *device, lob_supervoxel_pieces *found,
                                       const scene *s, int64_t most, lob_error *error);

/* Memory handed out part after part; at may start as NULL, to add the parts up. */
template <typename T> static inline T *take_part(unsigned char **at, int64_t n)
{
    T *here = (T *)*at;
    *at += (n * (int64_t)sizeof(T) + 255) / 256 * 256;
    return here;
}

/*
 * Bytes of the block LOB_DEVICE_WORK that may be taken, where `bytes` are needed; most as above.
 * What the device holds already is not asked for: that takes longer than a small volume.
 */
int64_t lob_supervoxels_budget(const lob_device *device, int64_t bytes, int64_t most);

/* Say in one line that memory does not do. */
lob_status lob_supervoxels_refuse(int64_t bytes, int64_t budget, int64_t voxels, lob_error *error);

#endif
