/*
 * Appearance: how likely each voxel is each label, from the grey values under strokes.
 *
 * Views. Every channel of every view is looked at by itself. The range of the values under all
 * strokes is cut into bins, with one bin for what is below and one for what is above. Shares h of
 * the bins are counted under a label's strokes, under the background's and in the whole volume,
 * smoothed by a Gaussian along the bins, with half a voxel added, spread over all bins. A voxel in
 * bin b gets for label l
 *
 *     log h_l(b) / ((1 - whole) h_background(b) + whole h_volume(b))
 *
 * averaged over a view's channels, and summed over views (naive Bayes): what nobody drew is more
 * likely background than one of the labels.
 *
 * Partial volume. Voxels at a border hold two tissues, and nobody draws them: h_l and h_background
 * lack values between theirs. With `partial_volume` so large a share of h_l is what voxels have
 * that are mostly l: for a bin a under its strokes and a bin c under the background's, both as
 * often as they are drawn, evenly the bins from a to halfway to c. So h_background, from c on.
 *
 * Nearby. Tissue of one kind is not as bright everywhere. With `local` the share 1 - local of a
 * score is that above, and the rest comes from strokes nearby, learnt at nodes in each slice across
 * local_axis. These lie from border to border, at most local_mm apart; or 1.25 times that, and so
 * on, while the scores at all nodes are more than 2^20 and than half of the voxels. At a node the
 * strokes of a label in its slice, and in the next slices before and after it with strokes of
 * several labels, weigh
 *
 *     exp(-d^2 / (2 sigma^2)) / (sigma^2 n),  sigma = max(15 mm, 3 times the least d),
 *
 * d being distances within the slice and n the number of these strokes; exponents are rounded to
 * 256ths, and from -16 on the weight is 0. Of more than 256 strokes in a slice those at even steps
 * count. With q_l(b) the weight in bin b, smoothed along the bins, and 2e-5, the score is
 * log q_l(b) / q_background(b), divided by the view's channels. Both shares together are limited to
 * -16..16, and a voxel takes them from the four nodes around it, bilinearly.
 *
 * Place. Without an outline, a label loses up to `far` nats where its strokes are farther away than
 * nearly all strokes of other labels are: the share far_quantile of these lies within the reach R,
 * and a voxel at distance d loses far * min(max(d / R - 1, 0), 1). Distances are those between the
 * centres of blocks of voxels: along the axis where these are shortest blocks are doubled until
 * there are at most `blocks`; and R is at least half their shortest side, and at least far_mm.
 *
 * With an outline, labels of an earlier result, its signed distance s in the planes of strokes
 * (strokes.h) across an axis is interpolated linearly between these slices, and beyond the first
 * and last of them falls by shape_slope for each mm. The label gains s / (shape_mm + shape_widen *
 * d) nats at d mm from the nearest of these slices, with a third of shape_widen beyond the ends of
 * several: at most shape, at least -max(shape, far), since what lies far outside must not be
 * reached by its values alone. In 2D, and for a label without such slices, this is 0. Where planes
 * across several axes were drawn, what these give is added up.
 *
 * Shares. With scores s_l of all labels but the background, whose score is 0, and each score
 * limited to -16..16, the share is exp(s_l) / (1 + sum over labels of exp(s)).
 *
 * Values. With `values` a channel follows for each of the first view: its values, from 0 at the
 * least under strokes to 1 at the greatest, limited to that and divided by its channels; NaN is 0.
 * What grows over shares and values heeds borders that shares alone lose. They count as shares in
 * what follows.
 *
 * Levels are shares on the grid asked for, then filters.h's Gaussian, times 255, rounded to uint8.
 *
 * Sums of scores are whole numbers, 1024 to a nat. NaN is in no bin and says nothing.
 */
#ifndef LOB_APPEARANCE_H
#define LOB_APPEARANCE_H

#include "kernels/appearance/strokes.h"
#include "kernels/context.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

enum {
    LOB_APPEARANCE_MAX_LABELS = 65, /* the background's included */
    LOB_APPEARANCE_MAX_VIEWS = 64,  /* channels of all views together */
    LOB_APPEARANCE_MAX_BINS = 1024
};

typedef struct {
    int bins;              /* 2..LOB_APPEARANCE_MAX_BINS */
    double bin_sigma;      /* bins, 0..100 */
    double whole;          /* 0..1 */
    double partial_volume; /* 0..1 */
    double far;            /* nats, 0..16; 0: leaves it out */
    double far_quantile;   /* 0..1 */
    double far_mm;         /* the least reach, mm, 0..1e6 */
    int64_t blocks;        /* between which distances are found, at most; >= 1 */
    double shape;          /* nats, 0..16; 0: leaves the outline out */
    double shape_mm;       /* mm, > 0; 0: the least spacing of axes with more than one voxel */
    double shape_widen;    /* mm per mm, >= 0 */
    double shape_slope;    /* mm per mm, >= 0 */
    double local;          /* 0..1; 0: strokes count alike wherever they are */
    double local_mm;       /* from node to node, > 0, at most 1e6 */
    int local_axis;        /* 0 x, 1 y or 2 z */
    bool values;           /* channels of values are wanted too */
    bool levels;           /* shares are wanted smoothed, in steps of 1/255, as uint8 */
    double blur_mm;        /* standard deviation of the Gaussian that smooths them, edges repeated;
                              0..1e6, 0: none; not read without levels */
} lob_appearance_options;

/* 64 bins, sigma 2 bins, whole 0.5, no partial volume, 4 nats of far beyond the quantile 0.75 by
 * at most 2^19 blocks, 2 nats of shape over the least spacing, widened by 0.3, slope 0.5; nothing
 * local, with nodes 15 mm apart across z. */
lob_appearance_options lob_appearance_defaults(void);

typedef struct {
    const lob_volume *const *views; /* on one grid, any type, any number of channels */
    int view_count;                 /* >= 1 */
    const void *seeds;              /* nx*ny*nz, 0..labels; 0: not drawn. Every label occurs */
    lob_type seed_type;             /* LOB_U8, LOB_I16 or LOB_I32 */
    int32_t labels;                 /* 2..LOB_APPEARANCE_MAX_LABELS */
    int32_t background;             /* 1..labels */
    const lob_strokes *counts; /* of the seeds; NULL: they are counted where an outline needs it
                                */
    const void *outline;       /* nx*ny*nz labels, or NULL */
    lob_type outline_type;     /* as seed_type */
    const lob_volume *grid;    /* shares are averaged onto its dims and geometry, as resample.h's
                                  linear does it; NULL: they are on the views' grid */
    lob_place place;           /* of arrays and results; volumes have their own */
} lob_appearance_input;

typedef struct {
    int axis;              /* across which the outline is looked at; -1: none, or no outline */
    int64_t slices;        /* slices of the outline, over all labels */
    int64_t working_bytes; /* peak of working memory, beyond input and shares */
} lob_appearance_stats;

/* Channels that come out: labels but the background, and those of values. */
int lob_appearance_channels(const lob_appearance_input *in, const lob_appearance_options *options);

/*
 * Find the shares.
 *
 *   shares   out  lob_appearance_channels * nx*ny*nz, planar: of all labels but the background,
 *                 ascending, then values; nx*ny*nz of in->grid where there is one. float32, or
 *                 uint8 with options->levels
 *   stats    out
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, memory, progress. Working memory: 2 bytes a block and label, 5 a block
 *                 for distances (on a GPU for those of 8 labels, up to 2^19 blocks), what these
 *                 take, and 8 a row of voxels; with an outline 4 a voxel of the slices of all
 *                 labels and 1 of one's; a few a voxel of strokes. On a GPU with in->grid or levels
 *                 4 a voxel and channel more; with a blur of 6 voxels or more so on the CPU
 *
 * Same bytes on every backend and at any thread count; on error shares are unspecified. Returns
 * LOB_OK, LOB_EARG (a number outside its range), LOB_EDATA (sides that are too long for distances),
 * LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_appearance_cpu(void *shares, lob_appearance_stats *stats,
                              const lob_appearance_input *in, const lob_appearance_options *options,
                              const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
