/*
 * What `lobule segment` chooses for a case, and the recipe that says so: plain lines of commands,
 * which a person can print, keep and change.
 */
#ifndef LOB_SEGMENT_PLAN_H
#define LOB_SEGMENT_PLAN_H

#include "tools/session/session.h"
#include "volumes/labels.h"

/* Choices that may be held fixed. Lengths are in least spacings: the smallest distance of voxels
 * along an axis with more than one. */
typedef struct {
    int background;  /* the label that is written as 0; 0: chosen */
    lob_size margin; /* of the box around all strokes: at least this, */
    double share;    /* and at least this share of the box's own side, */
    double ends;     /* beyond the first and the last slice with strokes at least this one */
    int median;      /* LOB_SEGMENT_ON, .._OFF: a second view of the image */
    double whole;    /* share of the whole box in what speaks against a label */
    double far;      /* nats that a label loses far from its strokes, in the first growth, and far
                        outside its outlines, in the second */
    double shape;    /* nats that outlines between drawn slices give at most, in the second */
    double blur;   /* standard deviation of the shares' Gaussian, first growth; the second: half */
    double smooth; /* that of the majority after the first growth; the second: 0.7 of it */
    double edge;   /* share of the image in the votes at borders; the second: half */
    int passes;    /* 1 or 2 growths; 0: chosen */
    int coarse;    /* the first of two growths is on a coarser grid where the box has more voxels */
} lob_segment_choices;

enum { LOB_SEGMENT_ON, LOB_SEGMENT_OFF };

lob_segment_choices lob_segment_defaults(void);

/* What is asked for, and what follows from image and strokes. */
typedef struct {
    lob_segment_choices choices;
    int frame;      /* of the image; < 0: not given */
    bool strength;  /* there is a {strength} to write */
    bool in_memory; /* the result goes to @_result, not to {out} */
    int channels;   /* of the image */
    int32_t count;  /* of labels, the background's among them */
    int32_t background;
    int passes;      /* 1 where no slice has strokes of a label and of others: there is no outline
                        that could guide a second growth */
    int axis;        /* across which the fewest slices have strokes; -1 in 2D */
    int64_t slices;  /* with strokes, across it; 0 in 2D */
    bool flat;       /* the box around all strokes, with its margin, is a slice */
    bool median[3];  /* the axes that the median goes along */
    double least_mm; /* the least spacing */
    int factor[3];   /* voxels of the box along each axis to one of the first growth's grid */
    double coarse_mm[3], coarse_least_mm; /* that grid's spacing */
} lob_segment_plan;

/*
 * Choose what depends on the case.
 *
 *   plan    in/out  choices are set; the rest is filled in
 *   image   in      its header
 *   seeds   in      dense labels on the image's grid
 *   labels  in      of the seeds, at least 2
 *
 * Returns LOB_OK, LOB_EDATA where the background given is none of the labels, or LOB_ENOMEM.
 */
lob_status lob_segment_choose(lob_session *s, lob_segment_plan *plan, const lob_volume *image,
                              const lob_volume *seeds, const lob_label_set *labels,
                              const char *seeds_path);

/* The plan among the results of the report. */
void lob_segment_report(lob_session *s, const lob_segment_plan *plan);

/*
 * The recipe: lines with {image}, {seeds}, {out} and, where strength is wanted, {strength}. Its
 * volumes in memory are @image, @seeds, @first (passes 2), @shares, @labels, all on the box's grid,
 * and others.
 *
 * Returns a text for free(), or NULL without memory.
 */
char *lob_segment_recipe(const lob_segment_plan *plan);

#endif
