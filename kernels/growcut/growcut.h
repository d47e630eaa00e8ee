/*
 * GrowCut: grow labelled seeds over an image until every voxel carries the label of its nearest
 * seed.
 *
 * Vezhnevets and Konouchine, "GrowCut: interactive multi-label N-D image segmentation by cellular
 * automata", Graphicon 2005, made exact: the automaton's fixed point is a shortest-path forest
 * (Kauffmann and Piche, IJCARS 5, 2010), and path costs are integers here.
 *
 * Levels. Each voxel has one level 0..65535 per channel. Integers whose range over the data fits 16
 * bits are used exactly, shifted by their minimum; everything else is mapped linearly from its
 * finite range to 0..65535. Data are the voxels inside the mask, finite and in the range of values
 * asked for in every channel; only data are labelled or crossed by a path.
 *
 * Costs. A path from a seed costs the sum of its steps. A step between neighbours p and q costs
 *
 *   strength  -ln(1 - d / dmax) * dmax   levels: the automaton multiplies a seed's strength by
 *                                        1 - d / dmax
 *   distance  d levels + penalty * mm    "fast GrowCut" of 3D Slicer and ITK
 *
 *   value     v levels + penalty * mm         what is bright is dear to enter
 *   square    v * v / dmax levels + penalty * mm
 *
 * where d is the distance of the two voxels' levels, v the level of q, which is entered, counted
 * from the least of the data, and dmax the largest distance that the image's range of levels
 * allows. In the strength rule a step with d = dmax cannot be taken. Costs are held in fixed point:
 * with 64 units per level, or fewer where a step would exceed 2^30 units; distance and value
 * without a penalty and with whole distances are exact, and square where levels stay below 2^15.
 *
 *   flood     a path costs its largest level, that of the seed's own voxel among them; of two paths
 *             with the same, the one with fewer steps since it was first reached. So water rises
 *             from the seeds, and where it has risen to a plateau it spreads evenly: watershed by
 *             flooding (Meyer, "Topographic distance and watershed lines", Signal Processing 38,
 *             1994; as a path cost: Lotufo and Falcao, "The ordered queue and the optimality of the
 *             watershed approaches", ISMM 2000)
 *
 * value, square and flood read one channel.
 *
 * Labels. A voxel takes the label of the seed from which a path to it costs least; of equal costs,
 * the smallest label wins. In a flood that is not enough, as paths of different costs cost the same
 * behind a wall that is higher than both: there the path wins whose beginning costs less, so that a
 * voxel has the label of the neighbour by which the water first comes to it. A seed starts at cost
 * 0 (flood: at its level) and keeps its label; one with a strength t below 1 starts at -ln t times
 * dmax levels, so a cheaper path may overgrow it. The flood knows no such seeds.
 *
 * The flood against others'. scikit-image's watershed and ITK's morphological one take voxels from
 * a queue in the order of their levels and, of one level, of their arrival. Where no two voxels are
 * of one level, all give the same labels. On plateaus theirs depend on the order in which
 * neighbours are looked at; here steps decide, and then the smaller label, so that a flipped or
 * turned image gives flipped or turned labels.
 *
 * The automaton itself can be had too, stopped after n rounds (Dakkak, "Evaluation: segmentation on
 * GPUs"): a voxel then takes the seed from which a path of at most n steps costs least, and what
 * lies farther away is not reached.
 */
#ifndef LOB_GROWCUT_H
#define LOB_GROWCUT_H

#include "kernels/context.h"
#include "volumes/volume.h"

#include <math.h> /* INFINITY */
#include <stdbool.h>
#include <stdint.h>

LOB_BEGIN_DECLS

typedef enum {
    LOB_RULE_STRENGTH,
    LOB_RULE_DISTANCE,
    LOB_RULE_FLOOD,
    LOB_RULE_VALUE,
    LOB_RULE_SQUARE
} lob_growcut_kind;

/* Distance over channels, from the absolute differences e_c of the levels. With several channels L2
 * is rounded to 1/64 level or coarser; the others are exact. */
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
    int slice_axis;      /* -1: in 3D; 0, 1, 2: every slice across x, y, z on its own */
    double penalty;      /* distance, value, square: image units per mm of path, >= 0 */
    double range[2];     /* lowest and highest value that is data; -INFINITY, INFINITY: all */
    double min_strength; /* voxels below this strength are not reached; [0, 1], 0: no limit */
    double max_cost;     /* no path costs more, in image units; INFINITY: no limit. flood: the
                            largest level above the least of the data, steps not counted */
    int rounds;          /* of the automaton, hence the most steps of a path; 0: to the fixed point.
                            Takes more memory and time. Not with flood */
    int tile;            /* CPU: the most voxels along a tile's side, 4..256; 0: chosen */
    int key_bits;        /* a path's cost and label take 32 or 64; 0: 32, and 64 where needed */
} lob_growcut_options;

/* Strength rule, 26 neighbours in 3D, L2 norm, no limits. */
lob_growcut_options lob_growcut_defaults(void);

enum { LOB_GROWCUT_MAX_CHANNELS = 64 };

typedef struct {
    const lob_volume *image;    /* of any type, 1..LOB_GROWCUT_MAX_CHANNELS channels */
    const lob_volume *seeds;    /* LOB_U8, LOB_I16 or LOB_I32: labels, 0 for unknown */
    int32_t labels;             /* the largest label, >= 1; lob_labels_dense makes it small */
    const uint8_t *mask;        /* nx*ny*nz; 0: not data. May be NULL */
    const float *seed_strength; /* nx*ny*nz, (0, 1] at seeds, not read elsewhere. May be NULL: 1.
                                   NULL with flood */
    lob_place place;            /* of arrays and results; volumes have their own */
} lob_growcut_input;

typedef struct {
    void *labels;    /* nx*ny*nz of the seeds' type, not the seeds' array; 0: not reached */
    float *strength; /* nx*ny*nz: exp(-cost / dmax levels), at least FLT_MIN where reached, 0 where
                        not. May be NULL */
    uint8_t *tie;    /* nx*ny*nz: 1 where two labels reach a voxel at the same cost. May be NULL */
} lob_growcut_output;

typedef struct {
    int64_t data_voxels;   /* voxels that are data: in mask and range, finite in every channel */
    int64_t not_finite;    /* voxels inside the mask that are NaN or infinite in a channel */
    int64_t seeds;         /* seed voxels on data */
    int64_t seeds_outside; /* seed voxels not on data, which have no effect */
    int64_t reached;       /* voxels that carry a label */
    int64_t ties;          /* voxels that are 1 in output.tie; 0 without it */
    int64_t rounds;        /* of options.rounds, those that changed a label or a cost */
    bool fixed_point;      /* more rounds would change nothing */
    double largest_cost;   /* of a reached voxel, in image units */
    double level_step;     /* image units per level: 1 where integers are used exactly */
    int key_bits;          /* 32 or 64 */
    int64_t working_bytes; /* peak of working memory, beyond input and output */
} lob_growcut_stats;

/*
 * Grow the seeds over the image.
 *
 *   out      out  arrays on the image's grid; unspecified on error
 *   stats    out  may be NULL
 *   in       in   image and seeds on one grid
 *   options  in   see above
 *   context  in   threads, the limit of working memory, progress
 *
 * Slice by slice, the range of levels and dmax are those of the slice, so a slice comes out as it
 * would alone.
 *
 * Same bytes and statistics (except working_bytes) on every backend, thread count and tile size.
 *
 * On the CPU, working memory is about 12 bytes per voxel with one channel and 32-bit keys, and up
 * to 2 MiB per thread, which matters where the image is small. Where the distance rule has levels
 * of 8 bits, in one channel or with the norm linf, few labels and no tie zone, it is 4 bytes and
 * one for each channel, unless costs then exceed keys of 15 bits. With options.rounds a voxel
 * has a second key, of 4 or 8 bytes. Where context->max_memory is low, fewer slices
 * are grown at once.
 *
 * Returns LOB_OK, LOB_EARG (an option outside its range), LOB_EDATA (no seed on data; dims or types
 * that do not fit; on a GPU, a flood with more steps on a level than its keys hold; the message
 * says which), LOB_ENOMEM or LOB_ECANCEL. A flood's 64-bit keys hold 2^(62 - a - b) - 1 steps,
 * where a and b are the bits of in->labels and of dmax + 2: with 16-bit levels 2^32 - 1 for 8191
 * labels, and 2^14 - 1 for 2^31 - 1.
 */
lob_status lob_growcut_cpu(const lob_growcut_output *out, lob_growcut_stats *stats,
                           const lob_growcut_input *in, const lob_growcut_options *options,
                           const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
