/* The parts of a registration and what they share; register_run.c calls them. Not installed. */
#ifndef LOB_REGISTER_PARTS_H
#define LOB_REGISTER_PARTS_H

#include "kernels/budget.h"
#include "kernels/register/register.h"
#include "volumes/crop.h"
#include "volumes/voxel_finder.h"

LOB_BEGIN_DECLS

/* ---- images ---- */

/* Levels reach from 0 to this; a voxel that is no data or outside of its scan has the flag besides.
 */
enum { LOB_REGISTER_TOP = 2047, LOB_REGISTER_NONE = 0x4000 };

/* Voxels of a grid along an axis. */
enum { LOB_REGISTER_MOST_SIDE = 4000 };

/* A scan as levels, on a grid of its own. */
typedef struct {
    lob_dims dims;
    lob_geometry geometry;
    int64_t voxels;
    int16_t *level; /* voxels */
} lob_register_image;

/* Positions in one grid from those in another. */
typedef struct {
    double m[3][4];
} lob_register_affine;

enum { LOB_REGISTER_MOST_RADIUS = 3 }; /* of patches */

typedef struct lob_register_loops lob_register_loops;

/* A call. Its images, mask and words, and the displacements and costs of points, are on the device
 * where there is one. */
typedef struct {
    const lob_register_input *in;
    const lob_register_options *options;
    const lob_context *context;
    lob_error *error;
    lob_budget budget;
    struct lob_progress *progress; /* kernels/progress.h; the GPU's compiler has no atomics of C */
    const lob_register_loops *loops;
    lob_device *device; /* NULL: the CPU */
    lob_register_stats stats;
    lob_register_image fixed, moving, moved; /* moved: on the fixed one's grid, by the affine */
    double spacing_mm;                       /* of the grids */
    lob_box all;                /* all of the fixed scan, in voxels of its grid: the field's grid */
    uint8_t *mask;              /* on the fixed one's grid; NULL: everything counts */
    lob_register_affine affine; /* voxels of fixed -> voxels of moving */
    lob_register_affine begin;  /* what it was before it was fitted */
    uint64_t *words[2];         /* of fixed and moved, of the radius that is at work; */
    uint64_t *of[2][LOB_REGISTER_MOST_RADIUS]; /* of each radius, from 1, once it was asked for, */
    bool fresh[2][LOB_REGISTER_MOST_RADIUS];   /* and whether they are those of the image */
    uint64_t no_data;                          /* the word where there is none */
    void *room; /* in which words and costs are made by turns; lob_register_room */
    int64_t room_bytes;
} lob_register_call;

/* Room of so many bytes, where the call is, instead of what was given last. */
lob_status lob_register_room(lob_register_call *c, void *block, int64_t bytes);

/* The grid of a scan: spacing mm along each axis of more than one voxel, centred on it, and no
 * smaller. */
void lob_register_grid(lob_dims *dims, lob_geometry *geometry, const lob_volume *scan,
                       double spacing_mm);

/* Bring a scan to levels on a grid, as far as its field of view goes: linear, from the lowest
 * thousandth of its values to the highest. which: 0 fixed, 1 moving. */
lob_status lob_register_image_make(lob_register_image *image, lob_register_call *c,
                                   const lob_volume *scan, int which);

/* ---- words ---- */

/*
 * Words where there is no data, by turns of levels in the middle, 00011 and 00111, and at both
 * ends, 00000 and 11111. Every word differs from NEUTRAL in about 18 bits, as from one that it
 * belongs to: what leaves the field of view is neither held back nor drawn out. From DEAR it
 * differs in about 24, more than from words that it does not belong to.
 */
#define LOB_REGISTER_NEUTRAL (UINT64_C(0xe3) * UINT64_C(0x4010040100401))
#define LOB_REGISTER_DEAR    (UINT64_C(0xf80e3) * UINT64_C(0x10000100001))

/* ---- levels ---- */

enum {
    LOB_REGISTER_MOST_REACH = 8,
    LOB_REGISTER_MOST_ALONG = 2 * LOB_REGISTER_MOST_REACH + 1, /* displacements along an axis */
    LOB_REGISTER_MOST_SAMPLES = 64,                            /* of a point */
    LOB_REGISTER_UNIT = 4096, /* the cost of neighbours whose displacements differ by quant */
    LOB_REGISTER_PARTS = 16   /* of a voxel, in which displacements before a level are counted */
};

/* A level: points every so many voxels; around the middle of each, side samples along each axis,
 * each voxels apart; displacements of -reach..reach times quant voxels; words of patches of this
 * radius. */
typedef struct {
    int step, side, each, reach, quant, radius;
} lob_register_level;

/* Points, each the centre of a block of step^3 voxels, and their displacements in voxels. */
typedef struct {
    int64_t n[3], count;
    int64_t first[3]; /* the first block's first voxel */
    int step;
    float *u[3]; /* count each */
} lob_register_points;

/* What displacements cost at all points. Kernels take it by value. */
typedef struct {
    lob_register_level level;
    lob_dims dims;
    lob_register_points before; /* displacements of the level before; no points: 0 */
    lob_register_points points; /* first: begins; then: the result */
    const uint64_t *from, *to;  /* words of the points' scan and of the other one, */
    const uint8_t *mask;        /* of the call, */
    uint64_t no_data;           /* likewise */
    /* Samples nearer to the border do not count; nor, above 0, do those with the word 0, all around
     * which is alike: such parts are filled and have no place of their own. */
    int margin;
    int side[3], labels; /* displacements along each axis, and all of them */
    int32_t *cost;       /* labels of each point */
    int32_t *contrast;   /* of each point: mean less least cost, in bits */
    /* Voxels, from a block's first one, that are sampled; of three or more along each axis, those
     * of a checkerboard. */
    int8_t offset[LOB_REGISTER_MOST_SAMPLES][3];
    int offsets;
    int64_t scale;  /* a cost's weight for a bit at all samples */
    uint64_t *rows; /* displacement_costs.c works with them: quant^3 volumes */
    int64_t words, rows_side[3];
} lob_register_costs;

/* Lay out a level's points and costs. Returns the bytes that these take: rows on the CPU, costs,
 * contrasts. */
int64_t lob_register_costs_plan(lob_register_costs *k, const lob_register_call *c,
                                const lob_register_level *level);

/* The same, and what displacements cost, beside those of the level before, from words[from] on. The
 * points are to be freed, also on failure. */
lob_status lob_register_costs_make(lob_register_costs *k, lob_register_call *c,
                                   const lob_register_level *level,
                                   const lob_register_points *before, int from, int margin);

/* Words that rows take, whose sides it finds. */
int64_t lob_register_rows(lob_register_costs *k);

/* A tree that spans the points, on the CPU. */
typedef struct {
    int64_t *parent; /* of each point; -1: the root. Order and child follow it in memory */
    int64_t *order;  /* points, parents before children, children of one point together */
    int64_t *child;  /* of order[i]: order[child[i]] .. order[child[i + 1]] are its children */
    int64_t *size;   /* of order[i]: points of its branch, itself too */
    int64_t *branch; /* where branches that are worked on by one thread each begin in order */
    int64_t branches, least; /* their number; what is above has at least so many points */
    uint8_t *edges;          /* of each point: bit 2 a + up is the edge along axis a */
    int64_t *set;            /* of each point, while edges are chosen */
    uint64_t *key;           /* of each edge: difference, number; in ascending order */
} lob_register_tree;

#define LOB_REGISTER_NO_EDGE INT64_MAX /* the key of an edge that would lead out of the grid */

/* Choose displacements of least cost over the tree of an image's blocks. */
lob_status lob_register_tree_solve(const lob_register_costs *k, lob_register_call *c,
                                   const lob_register_image *image);

/* ---- affine ---- */

/*
 * Fit an affine to displacements by least trimmed squares.
 *
 *   affine    in/out  becomes what it was after the fit
 *   points    in      their displacements
 *   contrast  in      points of a contrast below the median are left out
 *
 * How many points counted, and agree with the affine, goes into the call's stats.
 */
lob_status lob_register_affine_fit(lob_register_call *c, const lob_register_points *points,
                                   const int32_t *contrast);

/* a after b. */
lob_register_affine lob_register_after(const lob_register_affine *a, const lob_register_affine *b);

/* Of a grid: voxels to world; and back. */
lob_register_affine lob_register_to_world(const lob_geometry *geometry);
lob_register_affine lob_register_to_voxel(const lob_geometry *geometry);

/* ---- loops ---- */

/* What is done at each voxel or point by itself: lob_register_at. */
typedef enum {
    LOB_REGISTER_LEVELS,
    LOB_REGISTER_MOVE,
    LOB_REGISTER_MASK,
    LOB_REGISTER_HALVE,
    LOB_REGISTER_LEAST,
    LOB_REGISTER_BITS,
    LOB_REGISTER_FIELD,
    LOB_REGISTER_EXTENT,
    LOB_REGISTER_KINDS
} lob_register_kind;

/* What a pass finds out: maxima first, then sums. */
enum { LOB_REGISTER_MAXIMA = 2, LOB_REGISTER_NUMBERS = 4 };

typedef struct {
    lob_register_kind kind;
    int64_t n;        /* voxels or points */
    const void *data; /* stored values of a scan on a grid */
    lob_type type;
    double low, high; /* values that become the least and the highest level */
    int16_t *level;
    lob_register_image moving;
    lob_dims dims;
    lob_register_affine affine;
    lob_register_points points[2];
    lob_register_points next[2]; /* where points move to */
    const int32_t *cost;         /* labels for each point */
    int64_t labels;
    const uint64_t *words[2];
    const uint8_t *mask;
    uint64_t no_data;
    float *mm;
    lob_register_affine here, there; /* voxels of the grid to the world, and after the affine */
    lob_voxel_finder finder;         /* from there to voxels of a scan of moving.dims */
    uint8_t *marks;                  /* of voxels where data, a mask, is not 0 */
} lob_register_pass;

/* What takes long, for the CPU and for CUDA. Arrays are where the call is, but where it says so. */
struct lob_register_loops {
    /* numbers: in ordinary memory; NULL: the pass has none. */
    lob_status (*pass)(uint64_t numbers[LOB_REGISTER_NUMBERS], lob_register_call *c,
                       const lob_register_pass *pass);
    /* Words of an image: of each voxel, 12 distances between patches around it, six levels each in
     * 5 bits; c->no_data of those without data. Beyond its border an image goes on as there.
     * radius: of patches, and how far from the voxel they are. Takes 28 bytes a voxel, on a GPU 48.
     */
    lob_status (*words)(uint64_t *words, lob_register_call *c, const lob_register_image *image,
                        int radius);
    /* Fill in points' displacements of the level before, and costs. */
    lob_status (*costs)(const lob_register_costs *k, lob_register_call *c);
    /* Keys of edges, 3 to a point, in ascending order; in ordinary memory. */
    lob_status (*keys)(uint64_t *keys, lob_register_call *c, const lob_register_points *p,
                       const lob_register_image *image);
    lob_status (*solve)(const lob_register_costs *k, lob_register_call *c,
                        const lob_register_tree *t);
};

/* Those of the CPU that are in files of their own. */
lob_status lob_register_words(uint64_t *words, lob_register_call *c,
                              const lob_register_image *image, int radius);
lob_status lob_register_costs_fill(const lob_register_costs *k, lob_register_call *c);
lob_status lob_register_solve(const lob_register_costs *k, lob_register_call *c,
                              const lob_register_tree *t);

/* A warp's map with device addresses, run on the context's device, and the result brought to `out`.
 */
struct lob_warp_map;
lob_status lob_warp_on_cuda(struct lob_warp_map *map, const lob_volume *out,
                            const lob_volume *moving, const lob_field *field,
                            const lob_context *context, lob_error *error);

extern const lob_register_loops lob_register_on_cpu, lob_register_on_cuda;

LOB_END_DECLS

#endif
