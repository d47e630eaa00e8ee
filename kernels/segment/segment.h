/*
 * Segment: a clean mask from brush strokes, the whole job as one call.
 *
 * Strokes are lines on a few slices: along the middle of each structure with its label, and around
 * it with one label more for the background. Steps, all in the box around the strokes:
 *
 *   box         image and strokes are cut to the box, which is wider than the strokes by a margin;
 *               a median of the image is a second view of it
 *   growth      appearance.h makes shares of the grey values under the strokes, a Gaussian smooths
 *               them, growcut.h grows the strokes over them, refine.h cleans up, and cuts walls
 *               around other structures to the width that strokes tell (strokes.h). Where a second
 *               growth follows and the box is large, this is on a coarser grid
 *   again       what came out is the outline that appearance.h interpolates between the slices with
 *               strokes, for the shares of a second growth, whose result is the result; of several
 *               structures those on which the first growth and one over the image alone agree take
 *               background that both give them (outvote.h). Where the one over the image confirms
 *               most structures the case is sharp: each growth then gives background by itself, the
 *               one over the image where both agree on a structure.
 *               If both grew on a coarser grid, what is confirmed ends by growing anew over the
 *               image, in a band of 2 voxels on both sides of all borders, in place of refine.h's
 *               edge
 *   whole grid  the background becomes 0, and labels are laid on the image's whole grid
 *
 * lob_segment_choose makes numbers of image, strokes and options: the plan. lob_segment does what a
 * plan says, with a backend's algorithms; what lies between two steps stays where the context
 * computes. It looks at nothing beyond the plan's box: whoever has image and strokes on that alone,
 * with plan.box.first 0, gets what the box would have. Files and text are nobody's business here.
 *
 * Same bytes on every backend and thread count.
 */
#ifndef LOB_SEGMENT_H
#define LOB_SEGMENT_H

#include "kernels/backends.h"
#include "volumes/crop.h"

LOB_BEGIN_DECLS

enum {
    LOB_SEGMENT_MAX_LABELS = LOB_APPEARANCE_MAX_LABELS, /* the background's included */
    LOB_SEGMENT_MAX_SLICES = 64                         /* that are suggested */
};

/* Choices that may be held fixed. Lengths of blur, smooth and edge are in least spacings: the
 * smallest distance of voxels along an axis with more than one. */
typedef struct {
    int32_t background; /* the label that is written as 0; 0: the one that surrounds the others,
                           by lob_strokes_background */
    double margin;      /* of the box around all strokes: at least this, in mm, 0..1e6, */
    bool margin_voxels; /* or in voxels, */
    double share;       /* and at least this share of the box's own side, 0..100, */
    double ends;        /* beyond the first and the last slice with strokes at least this one; more
                           where few slices have strokes, unless it is 0 */
    bool median;        /* a second view of the image: its median, along axes on which voxels are
                           at most 1.5 times the least spacing apart; but not where half of the
                           strokes of labels are less than 5 voxels away from other strokes */
    bool slips;         /* leave slips out */
    double whole;       /* share of the whole box in what speaks against a label, 0..1 */
    double far;         /* nats that a label loses far from its strokes, in the first growth, and
                           far outside its outlines, in the second, 0..16; where one slice has
                           strokes, or two as one, at most 2, as these say little about how far
                           to go on. Two are as one that are less than 10 mm apart, and less than a
                           quarter of the strokes' longest side in them */
    double shape;       /* nats that outlines between drawn slices give at most, in the second,
                           divided by how many labels there are beside the background; 0..16 */
    double blur;        /* standard deviation of the shares' Gaussian, first growth, 0..100; the
                           second: half */
    double smooth;      /* that of the majority after the first growth; the second: 0.7 of it */
    double edge;        /* share of the image in the votes at borders, 0..1; the second: half */
    int passes;         /* 1 or 2 growths; 0: 1 where no slice has strokes of a label and of
                           others, as there is no outline then that could guide a second, where only
                           one slice has strokes, or two as one, as nothing lies between outlines,
                           and where planes across several axes have, which say enough by
                           themselves */
    int64_t coarse;     /* the first of two growths is on a coarser grid where the box has more
                           voxels, >= 1 */
} lob_segment_options;

/* Background chosen, 10 mm, share 0.3, ends 0.375, median, whole 0.5, far 4, shape 2, blur, smooth
 * and edge 1, passes chosen, coarse 2^19. */
lob_segment_options lob_segment_defaults(void);

/* The numbers of one growth. */
typedef struct {
    double spacing_mm[3]; /* of its grid */
    double blur_mm;       /* of the shares; 0: none */
    double smooth_mm, edge;
    bool keep;                /* refine.h; of one structure, second growth, where the image votes */
    bool fade;                /* refine.h, across the plan's axis; of one structure, last growth,
                                 where values grow and the image votes */
    double settle, settle_mm; /* refine.h; where slices are thick */
    double shape_mm;          /* distance to the outline that is worth a nat; second growth */
} lob_segment_growth;

/*
 * What was chosen for a case. Its lengths and shares have nine significant digits, as the lines
 * that `lobule segment --print-recipe` prints have.
 */
typedef struct {
    lob_segment_options options;            /* rounded; far as it is taken */
    int channels;                           /* of the image */
    int32_t count;                          /* of labels, the background's among them: 2.. */
    int32_t labels[LOB_SEGMENT_MAX_LABELS]; /* as the strokes have them, ascending */
    int32_t background;                     /* one of these */
    bool slips;       /* some strokes are slips (label_steps.h), and no label has nothing else: they
                         do not count as strokes */
    bool corrected;   /* slices have strokes of one label alone, others of several, across one axis:
                         corrections there are not learnt or grown from (strokes.h) */
    bool areas;       /* strokes of a label fill areas, squares of 5 voxels or more in a slice:
                         growth begins within them, not at their borders, which may look otherwise */
    bool completed;   /* of two growths with such areas: slices that these fill are completed with
                         background after the first (strokes.h) */
    int axis;         /* across which the fewest slices have strokes; -1 in 2D, */
    int across;       /* where this is the axis of a single voxel */
    int64_t slices;   /* with strokes, across it; 0 in 2D */
    int64_t outlined; /* of these, with strokes of several labels */
    double ends;      /* options.ends, or more: 1.5 times the longest side of the labels' strokes
                         in their slices, and at least 60 mm, divided by how many slices these
                         are; two may be as one (options.far) */
    double far_mm;    /* appearance.h: a tenth of the shortest side of what is drawn of a structure,
                         the least of all structures, as strokes along both sides of a border lie
                         too near to each other to tell how far a structure goes on */
    lob_box box;      /* around all strokes, with its margin */
    bool flat;        /* the box is a slice */
    bool median[3];   /* axes that the median goes along; none: there is none */
    bool thick;       /* slices are at least 2.5 times as far apart as voxels in them, and more than
                         one is drawn, across one axis alone. A structure has strokes on 0.9 of the
                         slices between its first and its last; each of several structures on 0.9 of
                         those on which several labels have some: labels also grow slice by slice,
                         and both results settle together (refine.h); there is no median, no coarser
                         grid and no Gaussian of shares, and blur and edge do nothing */
    bool absent;      /* where slices are thick, and 0.9 of all between the first and the last of
                         each structure are drawn: on a slice that is drawn without it it is not */
    double local; /* appearance.h; 0 but where labels are absent, or slices are as far apart with
                     strokes that fill areas; at least 3 have strokes, across one axis alone, and
                     what is drawn is at most 25 mm away from other strokes, by half of its own */
    double partial_volume; /* appearance.h; 0 but where slices are at least 2.5 times as far apart
                              as voxels in them and nothing is learnt nearby: such slices hold much
                              of what lies beside them, and borders that go through them at a slant
                              are spread over many voxels */
    bool values;   /* where there is partial volume: growth heeds the image beside the shares, which
                      are smooth and tell of the whole box, so that borders in such slices get lost;
                      and its median is no second view but stands for it. The Gaussian is half as
                      wide. Not with more than LOB_GROWCUT_MAX_CHANNELS of both together */
    bool sum;      /* growth adds up what changes in each channel (LOB_NORM_L1), in place of the
                      largest: where slices are thick, or values grow */
    int passes;    /* 1 or 2 */
    bool outvote;  /* with several structures, each far outside of the outlines of most others, the
                      second growth may lose what looks like another one to the background: the
                      first, and one over the image alone, may outvote it (outvote.h). Not where
                      slices are thick or values grow, so that the image has its say already, and
                      not with several channels of real numbers: what one of them lacks is no data
                      to grow over, and may be all that is under strokes */
    int factor[3]; /* voxels of the box along each axis to one of the first growth's grid */
    double least_mm, coarse_mm[3], coarse_least_mm; /* spacings as they are, not rounded */
    lob_segment_growth growth[2];
} lob_segment_plan;

/*
 * Strokes that label slices fully, as strokes like others: in each slice with labels, across the
 * axis with the widest gaps between, what has none becomes background, near to the box of all
 * labels. Turn `slips` off for them.
 *
 *   out         out     in ordinary memory; free with lob_volume_free; nothing to free on failure
 *   background  in/out  label that it gets; <= 0: the one after the largest
 *   strokes     in      one channel of whole numbers of any type
 *
 * Returns LOB_OK, LOB_EDATA (no labels; none left), LOB_ENOMEM or LOB_EDEVICE.
 */
lob_status lob_segment_full(lob_volume *out, int32_t *background, const lob_volume *strokes,
                            const lob_context *context, lob_error *error);

/* How far from the box of all labels, on each side, lob_segment_full makes background. */
void lob_segment_full_margin(int64_t margin[3], const lob_box *labels, const double spacing_mm[3]);

/*
 * What earlier labels say of the background: it is the one label of strokes that they lack.
 *
 *   background  out  0: there is none, or several are
 *
 * Returns LOB_OK, LOB_EDATA (labels that are no whole numbers), LOB_ENOMEM or LOB_EDEVICE.
 */
lob_status lob_segment_background(int32_t *background, const lob_volume *before,
                                  const lob_volume *strokes, const lob_context *context,
                                  lob_error *error);

/*
 * Choose what depends on the case.
 *
 *   plan     out  unspecified on failure
 *   image    in   its dims, geometry, type and channels; data is not read
 *   strokes  in   on the image's grid, or on a part of it that holds all strokes and, where the
 *                 image goes on, one voxel more on each side; one channel of whole numbers of any
 *                 type; 0: not drawn
 *   options  in   see above
 *   context  in   threads
 *
 * Returns LOB_OK, LOB_EDATA (no strokes; fewer than 2 labels or more than LOB_SEGMENT_MAX_LABELS;
 * no stroke of the background given; grids that differ), LOB_EARG, LOB_ENOMEM or LOB_EDEVICE.
 */
lob_status lob_segment_choose(lob_segment_plan *plan, const lob_volume *image,
                              const lob_volume *strokes, const lob_segment_options *options,
                              const lob_context *context, lob_error *error);

typedef struct {
    const lob_volume *image;   /* any type; one frame */
    const lob_volume *strokes; /* as above */
    bool strength;             /* asked for, */
    bool uncertain;            /* likewise */
    int suggest;               /* slices that are asked for, 0..LOB_SEGMENT_MAX_SLICES; not where
                                  plan->flat */
} lob_segment_input;

/* A slice on which further strokes would help. */
typedef struct {
    int64_t slice;     /* of the image, along the plan's axis */
    int64_t uncertain; /* voxels */
    int64_t marked;    /* voxels that carry a label */
    int64_t border;    /* voxels with another label on one of their six sides */
} lob_segment_slice;

/* Volumes lie on the image's whole grid, where the image is, and carry its header. */
typedef struct {
    lob_volume labels;    /* the strokes' numbers, 0 for the background, in lob_label_type(largest);
                             with the strokes' names */
    lob_volume strength;  /* float32: with which the last growth took each voxel; 0 outside of the
                             box. Empty where it is not asked for */
    lob_volume uncertain; /* uint8: 1 where another label could have grown almost as cheaply. Each
                             label is grown alone over the shares of the last growth; with a < b the
                             two least costs of a voxel, as shares of the shares' range, it is
                             uncertain where (b - a) / (b + a + 1/128) < 0.1. Where other growths
                             outvoted that one it is no more uncertain: they are mostly right. Empty
                             where neither it nor slices are asked for */
    lob_segment_slice slices[LOB_SEGMENT_MAX_SLICES]; /* the most useful first; each further one is
                                                         chosen as if those before were drawn */
    int slice_count;
    int64_t working_bytes; /* peak of working memory, beyond input and output */
} lob_segment_output;

/* Nothing yet. */
lob_segment_output lob_segment_output_empty(void);

/* Free the volumes and leave nothing. */
void lob_segment_output_free(lob_segment_output *out);

/*
 * Make the mask.
 *
 *   out      out  overwritten; nothing to free after a failure
 *   in       in   see above
 *   plan     in   of this image and these strokes
 *   backend  in   whose algorithms compute; they go with the context
 *   context  in   threads, memory, progress over all steps, device
 *
 * Strokes keep their labels, but for slips. Returns LOB_OK, LOB_EDATA (no finite value under the
 * strokes), LOB_EARG, LOB_ENOMEM, LOB_EDEVICE or LOB_ECANCEL.
 */
lob_status lob_segment(lob_segment_output *out, const lob_segment_input *in,
                       const lob_segment_plan *plan, const lob_backend *backend,
                       const lob_context *context, lob_error *error);

typedef struct {
    int64_t said;    /* stroke voxels that say otherwise than the labels before */
    int64_t changed; /* voxels that differ from these */
} lob_segment_corrected;

/*
 * Let strokes correct an earlier result: a voxel farther than reach from every stroke that says
 * otherwise keeps its label of before.
 *
 *   labels      in/out  of lob_segment; afterwards in the type that holds those before too
 *   corrected   out
 *   before      in      earlier labels on that grid, one channel of whole numbers
 *   strokes     in      as above, all of them
 *   background  in      the label that was written as 0
 *   reach       in      in mm, or, with `voxels`, in voxels; >= 0
 *
 * All are in ordinary memory and on one grid. Returns LOB_OK, LOB_EARG (an array on a GPU),
 * LOB_EDATA (another grid; labels that are no whole numbers) or LOB_ENOMEM.
 */
lob_status lob_segment_correct(lob_volume *labels, lob_segment_corrected *corrected,
                               const lob_volume *before, const lob_volume *strokes,
                               int32_t background, double reach, bool voxels,
                               const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
