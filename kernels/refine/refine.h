/*
 * Refine: clean up labels that grew from strokes.
 *
 * Steps
 *
 *   smooth  each voxel takes the label whose indicator is largest after a Gaussian, of equals the
 *           smallest; with one label beside the background, this label where it is above 1/2
 *   settle  instead of smooth, where shares come along: a voxel takes the label with the most of
 *
 *               its indicator after a Gaussian + settle * (p of the label's share)^(1/4)
 *
 *           of equals the smallest, but none that is absent there; strokes keep their labels. So it
 *           goes on for settle_rounds rounds from what came out. Short borders cost
 *           little, as with a length that is paid for, and thin strips are not cut off as by a wide
 *           Gaussian alone. Labels that grew in another way too count half in the first round
 *   tidy    strokes keep their labels. Pieces of a label (26 neighbours) that hold no stroke of it
 *           become background. Then holes of each label in turn, which are what surrounds no border
 *           of the volume when only this label counts (6 neighbours): their background becomes the
 *           label, but for holes in which background was drawn
 *   walls   a label that is a wall around another, its core, is about twice as wide as its strokes
 *           are far from the core, since they run along its middle. With m the median of their
 *           distances, what is farther from the core than 2 m, and no stroke, becomes background;
 *           of a wall around several cores what is too far from all of them.
 *           Of the wall the core takes what lies in its convex hull in a slice where no wall was
 *           drawn in it, if over all slices the core is at least 0.8 of its hulls: what grows into
 *           a core from its wall is the core's, as a ventricle holds its papillary muscles. Slices
 *           are across the axis along which voxels are farthest apart, or only one; of equal ones
 *           (to 0.1 %) the last. Where edge comes next, borders follow the image again.
 *           So it is for the pairs that are told, where the shape bears it out: at least 0.6 of
 *           the core's surface faces the wall, m is at most half of how deep the core is, and 0.95
 *           of the strokes are within 2.5 m
 *   edge    for each label, the means u of the image over the label and over the rest under a
 *           Gaussian. Values x of the image vote for the label by
 *
 *               (|x - u_rest| - |x - u_label|) / |u_label - u_rest|
 *
 *           (sums over channels), limited to -1..1 and mapped to 0..1; where nearly all around is
 *           of the label, or nothing, the label votes for itself. The share `edge` of a voxel's
 *           vote is the image's, the rest is its label's. After another Gaussian a voxel takes the
 *           label with most votes, of equals the smallest, if these are above t, else background.
 *           Then tidy again, as after walls.
 *           t is 1/2; or, with `keep`, for each label the most of 1/2, 1/2 - 1/128, ..., 1/2 - 1/8
 *           above which it has as many voxels as its votes sum to before the Gaussian, which takes
 *           off what bulges: the more, the coarser the voxels are for it. A vote is how much of a
 *           voxel is the label's: in the sum where 0.1 to 0.9 around are of the label; elsewhere,
 *           where the image differs for other reasons than borders, the label counts alone
 *   fade    after edge: beyond the first and the last slice with strokes of it a label ends with
 *           the first on which it fades. In a slice across an axis a voxel of the label is on its
 *           border where one of the four beside it is not of it. The image changes there by its
 *           mean over the label less that over the rest, of the 3 x 3 around. A border is seen
 *           where it changes by more than 0.2 of what it does in the mean on all slices with
 *           strokes of the label (of several channels along that change). A label fades on a slice
 *           where less of its border is seen than half of the share that is seen on these. Then
 *           tidy again
 *
 * A Gaussian repeats the volume's edges and is one of filters.h.
 */
#ifndef LOB_REFINE_H
#define LOB_REFINE_H

#include "kernels/context.h"
#include "kernels/filters/filters.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

enum { LOB_REFINE_MAX_CHANNELS = LOB_FILTER_MAX_CHANNELS - 1 };

typedef struct {
    double smooth_mm;      /* sigma of the first Gaussian; 0: left out */
    double edge;           /* 0..1; 0: leaves the image out */
    double edge_mm;        /* sigma of the means, > 0 */
    double edge_smooth_mm; /* sigma of the Gaussian of the votes; 0: left out */
    bool keep;             /* labels keep the volume that their votes sum to */
    double settle;         /* weight of the shares, 0..100; with shares alone */
    double settle_mm;      /* sigma of the Gaussian, > 0 */
    int settle_rounds;     /* 1..1000 */
    bool fade;             /* labels end where they fade; with edge alone */
    int fade_axis;         /* 0 x, 1 y or 2 z: across which slices lie */
} lob_refine_options;

/*
 * For this grid: the sigmas 1, 1 and 0.7 of its least spacing among axes with more than one voxel,
 * and an edge of 1;
 * to settle 0.28 with a sigma of 2 of it in 8 rounds.
 */
lob_refine_options lob_refine_defaults(lob_dims dims, const double spacing_mm[3]);

typedef struct {
    const lob_volume *image; /* any type, 1..LOB_REFINE_MAX_CHANNELS channels; its grid counts */
    const void *labels;      /* nx*ny*nz, 0..label_count; 0 is taken for background */
    lob_type labels_type;    /* LOB_U8, LOB_I16 or LOB_I32 */
    const void *seeds;       /* nx*ny*nz, 0..label_count; 0: not drawn */
    lob_type seeds_type;     /* as labels_type */
    int32_t label_count;     /* >= 2 */
    int32_t background;      /* 1..label_count */
    lob_place place;         /* of arrays and results; volumes have their own */
    const void *others;      /* labels that grew in another way, as labels, 0: none; or NULL */
    const uint8_t *shares;   /* (label_count - 1) * nx*ny*nz, planar, of all labels but the
                                background, ascending, in 255ths; NULL: there are none */
    const uint8_t *absent;   /* with shares, in ordinary memory: for each slice across absent_axis
                                label_count + 1 bytes, 1 where a label is not on it; NULL: none is */
    int absent_axis;         /* 0 x, 1 y or 2 z */
    const int32_t *walls; /* wall_count pairs of a wall and its core, two labels but the background
                           */
    int wall_count;       /* 0: there are none */
    void *room;           /* ordinary memory of room_bytes, aligned as malloc's, for the CPU to work
                             in, beside what it takes; NULL: none */
    int64_t room_bytes;
} lob_refine_input;

typedef struct {
    int64_t changed;       /* voxels with another label than before, 0 taken for background */
    int64_t pieces;        /* pieces without a stroke that became background, over all tidies */
    int64_t filled;        /* voxels of holes, likewise */
    int64_t working_bytes; /* peak of working memory, beyond input and output; pieces take at most
                              5 bytes a voxel more, Gaussians what filters.h says */
} lob_refine_stats;

/*
 * Refine labels.
 *
 *   out      out  nx*ny*nz labels 1..label_count of lob_label_type(label_count)
 *   stats    out
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, memory, progress
 *
 * Only the part of the volume that holds labels is worked on, with some voxels around it. Working
 * memory, for each voxel of it: 8 bytes without edge; with it 14 + 12 for each channel; and where
 * it is not the whole, a copy of image, labels, seeds and shares. Walls take 5 bytes, 12 a stroke
 * and, in ordinary memory, 16 a row, 8 a row of a slice for each thread and a copy of a GPU's
 * labels and seeds; fading such a copy with the image, and 528 a slice. Same bytes on every backend
 * and thread count. Returns LOB_OK, LOB_EARG (a number outside its range; a Gaussian that reaches
 * too far), LOB_ENOMEM or LOB_ECANCEL; on error out is unspecified.
 */
lob_status lob_refine_cpu(void *out, lob_refine_stats *stats, const lob_refine_input *in,
                          const lob_refine_options *options, const lob_context *context,
                          lob_error *error);

LOB_END_DECLS

#endif
