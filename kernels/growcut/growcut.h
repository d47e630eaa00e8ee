/*
 * GrowCut: grow labelled seeds over an image until every voxel carries the label of its nearest
 * seed.
 *
 * Vezhnevets and Konouchine, "GrowCut: interactive multi-label N-D image segmentation by cellular
 * automata", Graphicon 2005, made exact: the automaton's fixed point is a shortest-path forest
 * (Kauffmann and Piche, IJCARS 5, 2010), and the path costs here are integers.
 *
 * A path from a seed costs the sum of its steps. A step between neighbours p and q costs
 *
 *   strength  -ln(1 - d / dmax)      the automaton multiplies a seed's strength by 1 - d/dmax
 *   distance  d + penalty * mm       3D Slicer's and ITK's "fast GrowCut"
 *
 * where d is the distance of the two voxels' levels and dmax the largest distance that the image's
 * range of levels allows. In the strength rule a step with d = dmax cannot be taken. Both are held
 * in fixed point (lob_growcut_rule in growcut_rule.h). A voxel takes the label of the seed from
 * which a path to it costs least; of equal costs, the smallest label wins. A seed without a
 * strength starts at cost 0; one of strength t starts at -ln t times dmax levels, so it may be
 * overgrown.
 *
 * The automaton itself can be had too, stopped after n rounds, as in Dakkak, "Evaluation:
 * segmentation on GPUs": a voxel then takes the seed from which a path of at most n steps costs
 * least, which need not be the least of all, and what lies farther off is not reached.
 */
#ifndef LOB_GROWCUT_H
#define LOB_GROWCUT_H

#include "kernels/context.h"
#include "kernels/levels/levels.h"
#include "volumes/volume.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { LOB_RULE_STRENGTH, LOB_RULE_DISTANCE } lob_growcut_kind;

/* Distance over channels, from the absolute differences e_c of the levels, rounded to whole levels.
 */
typedef enum {
    LOB_NORM_L2,      /* sqrt(sum e_c^2) */
    LOB_NORM_L1,      /* sum e_c */
    LOB_NORM_LINF,    /* max e_c */
    LOB_NORM_ALPHAMAX /* max e_c + (sum of the others) / 2: "alpha max plus beta min", 1 and 1/2 */
} lob_norm;

typedef struct {
    lob_growcut_kind rule;
    lob_norm norm;
    int neighbours;      /* 6, 18 or 26; 4 or 8 when slice_axis >= 0 */
    int slice_axis;      /* -1: in 3D; 0, 1, 2: every slice across x, y, z as an image of its own */
    double penalty;      /* distance rule: image units per mm, >= 0 */
    double range[2];     /* voxels whose value lies outside [lo, hi] are not data */
    double min_strength; /* no voxel below this strength is reached; [0, 1], 0: no limit */
    double max_cost;     /* no path above this cost, in image units; INFINITY: no limit */
    int rounds;          /* >= 0: no path of more steps; 0: no limit. Takes more memory and time */
    int tile;            /* CPU: voxels along a tile's side, 4..256; 0: chosen */
    int key_bits;        /* 32 or 64; 0: 32, and 64 where 32 would not hold the result */
} lob_growcut_options;

/* The strength rule over 26 neighbours in 3D, Euclidean distance of levels, no limits. */
lob_growcut_options lob_growcut_defaults(void);

typedef struct {
    const lob_volume *image; /* any type, any number of channels up to LOB_GROWCUT_MAX_CHANNELS */
    const lob_volume *seeds; /* dense labels (lob_labels_dense): LOB_U8, LOB_I16 or LOB_I32 */
    int32_t labels;          /* largest dense label, >= 1 */
    const uint8_t *mask;     /* nx*ny*nz; 0: not data, neither labelled nor crossed. May be NULL */
    /* nx*ny*nz, (0, 1] at seeds, not looked at elsewhere. May be NULL */
    const float *seed_strength;
} lob_growcut_input;

enum { LOB_GROWCUT_MAX_CHANNELS = LOB_LEVELS_MAX_CHANNELS };

typedef struct {
    /* nx*ny*nz of the seeds' type; 0: not data or not reached. Not the seeds' array */
    void *labels;
    /* nx*ny*nz, exp(-cost / dmax levels), 0 where not reached; at least FLT_MIN where reached,
     * however dear. May be NULL */
    float *strength;
    /* nx*ny*nz; 1 where two labels reach the voxel at the same cost. May be NULL */
    uint8_t *tie;
} lob_growcut_output;

typedef struct {
    int64_t data_voxels;   /* voxels that are data: in mask and range, finite in every channel */
    int64_t not_finite;    /* voxels that are NaN or infinite in a channel */
    int64_t seeds;         /* seed voxels on data */
    int64_t seeds_outside; /* seed voxels that are not on data, hence without effect */
    int64_t reached;       /* voxels that carry a label */
    int64_t ties;          /* voxels in the tie zone; 0 unless tie was asked for */
    int64_t rounds;        /* of options.rounds, those that changed a label or its cost */
    bool fixed_point;      /* no path of more steps than options.rounds would change one */
    double largest_cost;   /* of a reached voxel, in image units */
    double level_step;     /* image units per level: 1 where integers are used exactly */
    int key_bits;          /* 32 or 64 */
    int64_t working_bytes; /* peak of working memory, beyond input and output */
} lob_growcut_stats;

/*
 * Grow the seeds over the image.
 *
 *   out      out  arrays of the image's grid; unspecified on error
 *   stats    out  may be NULL
 *   in       in   image and seeds on one grid
 *   options  in   see above
 *   context  in   threads, progress
 *
 * Levels: integers whose range over the data fits 16 bits are used exactly, everything else is
 * mapped linearly from its finite range to 0..65535 (kernels/levels/levels.h). Slice-wise, range
 * and dmax are those of the slice: a slice comes out as it would alone.
 *
 * Same bytes and statistics (but for working_bytes) on every backend, thread count and tile size.
 * With one channel and 32-bit keys the working memory is about 12 bytes a voxel and, for the lists
 * of what waits to grow, up to 2 MiB a thread: the larger part of it where the image is small. With
 * options.rounds there is a second key, 4 bytes or 8, and no list.
 * context->max_memory bounds it; slice by slice, fewer slices are then grown at once.
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range), LOB_EDATA (no seed on data; dims or types
 * that do not fit; the message says which), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_growcut_cpu(const lob_growcut_output *out, lob_growcut_stats *stats,
                           const lob_growcut_input *in, const lob_growcut_options *options,
                           const lob_context *context, lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
