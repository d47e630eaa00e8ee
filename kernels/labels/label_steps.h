/*
 * Label steps: a chain of steps, one after the other, on a label volume.
 *
 * Steps
 *
 *   recode      labels become other labels, or 0, by a table; voxels are not looked at
 *   sequential  the labels that occur become 1..K, in their order
 *   split       each piece of each label becomes a label of its own, from 1 in raster order
 *   largest     of each label the `count` largest pieces stay, of equal ones the first
 *   min_size    pieces of fewer than `count` voxels become 0
 *   fill_holes  background that reaches no border of the volume (of its slice) takes the label of
 *               the piece with which it shares most faces, of equal ones the first, as in
 *               components.h; labels that lie inside others stay
 *   boundary    voxels stay that share a face with another label or with 0; what is outside of the
 *               volume is no other label
 *   slips       voxels become 0 that have at most one of 26 neighbours (of the 8 in their slice)
 *               with their own label, and more with others: slips of a hand that drew strokes
 *   smooth      majority by Gaussian weight, see below
 *   median      majority in a box of (2r+1)^3 voxels
 *   erode, dilate, open, close
 *               by exact balls, see morphology/morphology.h
 *
 * A piece is a connected part of one label. Neighbours join it: 6, 18 or 26, or 4 or 8 slice by
 * slice. Slice by slice, no step looks across slices.
 *
 * Majority. 0 counts as a label. The weight of a label at a voxel is the sum over its voxels, at
 * offsets (i, j, k), of wx[i] wy[j] wz[k]. Each voxel takes the label of the largest weight, so
 * neighbours leave no gap between them. Of equal weights smooth takes the smallest label; median
 * takes the voxel's own label if it is among them, else the smallest. Weights are whole numbers, so
 * sums are exact: 1 for median; for smooth a Gaussian, cut at round(3 sigma) voxels, whose sum
 * along an axis is 1024, rounded so that the sum of any w[1..k] is off by at most 1/2.
 *
 * Thin parts. The majority alone would take away what is thinner than the kernel. So smooth gives
 * voxels back. A voxel is lost where its label was not 0 and the majority has another one; it is
 * thin where no voxel that kept this label lies within the reach, a box of round(2 sigma) voxels to
 * each side. Lost voxels that are thin, and those within the reach of a thin one of the same label,
 * keep their label. So corners are rounded, and a vessel of one voxel stays as it is.
 *
 * Same bytes on every backend and thread count.
 */
#ifndef LOB_LABEL_STEPS_H
#define LOB_LABEL_STEPS_H

#include "kernels/context.h"
#include "volumes/volume.h"

#include <stdbool.h>

LOB_BEGIN_DECLS

typedef enum {
    LOB_LABELS_RECODE,
    LOB_LABELS_SEQUENTIAL,
    LOB_LABELS_SPLIT,
    LOB_LABELS_LARGEST,
    LOB_LABELS_MIN_SIZE,
    LOB_LABELS_FILL_HOLES,
    LOB_LABELS_BOUNDARY,
    LOB_LABELS_SLIPS,
    LOB_LABELS_SMOOTH,
    LOB_LABELS_MEDIAN,
    LOB_LABELS_ERODE,
    LOB_LABELS_DILATE,
    LOB_LABELS_OPEN,
    LOB_LABELS_CLOSE,
    LOB_LABELS_STEPS
} lob_labels_kind;

enum { LOB_LABELS_MAX_STEPS = 64, LOB_LABELS_MAX_RADIUS = 250, LOB_LABELS_SAME = -1 };

/* Labels first..last, first >= 1, become `to`: a label, 0, or LOB_LABELS_SAME. */
typedef struct {
    int32_t first, last, to;
} lob_labels_rule;

/* One step. Fields that its kind does not name are not read. */
typedef struct {
    lob_labels_kind kind;
    const lob_labels_rule *rules; /* recode: in ascending order, without overlap */
    int64_t rule_count;
    int32_t rest;  /* recode: what all other labels become: LOB_LABELS_SAME or 0 */
    int64_t count; /* largest: pieces of each label; min_size: voxels; >= 1 */
    double length; /* smooth: sigma; median, erode, dilate, open, close: radius; >= 0. A median's
                      radius along an axis is this in whole voxels, rounded down. 3 sigma and a
                      median's radius are at most LOB_LABELS_MAX_RADIUS voxels along each axis */
    bool voxels;   /* length is in voxels, else in mm */
} lob_labels_step;

typedef struct {
    int neighbours; /* 6, 18 or 26; 4 or 8 when slice_axis >= 0 */
    int slice_axis; /* -1: in 3D; 0, 1, 2: each slice across x, y, z on its own */
} lob_labels_options;

/* 26 neighbours in 3D. */
lob_labels_options lob_labels_defaults(void);

typedef struct {
    const void *labels;    /* nx*ny*nz; 0..count: voxel label i stands for values[i - 1] */
    lob_type type;         /* of labels: LOB_U8, LOB_I16 or LOB_I32 */
    int32_t count;         /* >= 0 */
    const int32_t *values; /* count labels, ascending, each >= 1 */
    lob_dims dims;
    double spacing_mm[3];
    const uint8_t *mask; /* nx*ny*nz; where it is 0 a voxel comes out with the label that it came
                            with, though steps saw it. NULL: none */
    const lob_labels_step *steps; /* step_count of them, 1..LOB_LABELS_MAX_STEPS */
    int step_count;
    lob_place place; /* of arrays of voxels and the result */
} lob_labels_input;

typedef struct {
    int32_t from, to;
} lob_labels_pair;

/* What a step did. */
typedef struct {
    int32_t labels;         /* labels that occur after it */
    int64_t pieces;         /* split, largest, min_size: pieces found, */
    int64_t kept;           /* and how many of them stayed */
    lob_labels_pair *pairs; /* recode, sequential: what each label became, in ascending order;
                               split: of what label piece 1, 2, ... is, `to` being its number */
    int64_t pair_count;
} lob_labels_done;

typedef struct {
    void *labels; /* nx*ny*nz, at in->place: labels themselves, not numbers of values */
    lob_type
        type; /* lob_label_type of the largest; with a mask also of the largest of in->values */
    int32_t count; /* labels that occur; with a mask, those of the chain alone */
    lob_labels_done done[LOB_LABELS_MAX_STEPS]; /* of each step */
    int64_t working_bytes; /* peak of working memory, beyond input and output; erode, dilate,
                              open and close take at most 12 bytes a voxel more */
    lob_device *device;    /* whose memory labels are in; NULL: malloc'ed */
} lob_labels_output;

/* Free the arrays and leave everything 0. */
void lob_labels_output_free(lob_labels_output *out);

/*
 * Run the chain.
 *
 *   out      out  overwritten; nothing to free after a failure
 *   in       in   see above; lob_labels_dense makes labels and values of a volume
 *   options  in   see above
 *   context  in   threads, memory, progress
 *
 * Working memory: at most 12 bytes a voxel for labels of natural shape. Returns LOB_OK, LOB_EARG (a
 * step or option outside its range), LOB_EDATA (dims that do not fit), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_labels_cpu(lob_labels_output *out, const lob_labels_input *in,
                          const lob_labels_options *options, const lob_context *context,
                          lob_error *error);

LOB_END_DECLS

#endif
