/*
 * Strokes: labels that a person drew on a few slices. What they say by their places alone: which
 * of them is the background, across which axis they were drawn, and on which slices.
 */
#ifndef LOB_STROKES_H
#define LOB_STROKES_H

#include "kernels/context.h"
#include "volumes/labels.h"

LOB_BEGIN_DECLS

/* Strokes by slice: voxels of each label in each slice across each axis. */
typedef struct {
    lob_dims dims;
    int32_t labels;  /* 1..labels */
    int64_t *across; /* (nx + ny + nz) * labels: see lob_strokes_in */
    uint8_t *planes; /* nx + ny + nz: 1 for slices that are planes, across x, y and z. In 2D none */
} lob_strokes;

/* Where the numbers of a slice across an axis (0 x, 1 y, 2 z) begin; label l has number l - 1. */
static inline int64_t *lob_strokes_in(const lob_strokes *strokes, int axis, int64_t slice)
{
    const lob_dims d = strokes->dims;
    const int64_t before = axis == 0 ? 0 : axis == 1 ? d.nx : d.nx + d.ny;
    return strokes->across + (before + slice) * strokes->labels;
}

/* How many labels have strokes in a slice. */
static inline int32_t lob_strokes_labels_in(const lob_strokes *strokes, int axis, int64_t slice)
{
    const int64_t *const voxels = lob_strokes_in(strokes, axis, slice);
    int32_t n = 0;
    for (int32_t l = 0; l < strokes->labels; l++) n += voxels[l] > 0;
    return n;
}

/* The first voxel from i on that has a stroke; nx*ny*nz: none has. Quicker than lob_next_label
 * where strokes lie on few slices across z. seeds: those that were counted. */
static inline int64_t lob_strokes_next(const lob_strokes *strokes, const void *seeds, lob_type type,
                                       int64_t i)
{
    const lob_dims d = strokes->dims;
    const int64_t plane = d.nx * d.ny;
    for (int64_t z = i / plane; z < d.nz; i = ++z * plane) {
        if (lob_strokes_labels_in(strokes, 2, z) == 0) continue;
        i = lob_next_label(seeds, type, i, (z + 1) * plane);
        if (i < (z + 1) * plane) return i;
    }
    return plane * d.nz;
}

/*
 * Count strokes, and find the planes in which they were drawn: all slices with strokes across
 * lob_strokes_axis, unless at most half as many slices across several axes hold all but a 50th
 * of the strokes; these are looked for one by one, the one with the most strokes left first.
 *
 *   strokes  out  free with lob_strokes_free; empty on failure
 *   seeds    in   nx*ny*nz labels 0..labels, 0: not drawn
 *   type     in   LOB_U8, LOB_I16 or LOB_I32
 *   held     in   of each slice across z, 0: it has no stroke; NULL: any may have some
 *   threads  in   >= 1; the result does not depend on it
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_strokes_count(lob_strokes *strokes, const void *seeds, lob_type type, lob_dims dims,
                             int32_t labels, const uint8_t *held, int threads, lob_error *error);

/*
 * The counts of a larger grid, in which strokes were counted from voxel `first` on and nothing else
 * is drawn. It has one voxel along the axes along which the smaller one has.
 *
 *   laid  out  free with lob_strokes_free; empty on failure
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_strokes_lay(lob_strokes *laid, const lob_strokes *strokes, lob_dims dims,
                           const int64_t first[3], lob_error *error);

/* Free the numbers; empty strokes are fine. */
void lob_strokes_free(lob_strokes *strokes);

/*
 * The label that stands for the background: the one that surrounds the others. In every plane
 * with strokes of two labels or more, and in a 2D image, each row and each column on which two or
 * more are is looked along from both its ends: the background is met first by most of those that
 * meet it at all. Of labels that are so at least 0.75 times as often it is the largest, as the
 * background's label is usually one more. Where there is no such line, rows and columns of all
 * slices across all axes count.
 *
 *   label    out  0: there are no strokes
 *   strokes  in   counts of seeds
 *   seeds    in   as lob_strokes_count takes them
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_strokes_background(int32_t *label, const lob_strokes *strokes, const void *seeds,
                                  lob_type type, lob_error *error);

/*
 * The axis across which the fewest slices hold strokes, of equals the last; -1 in 2D. Axes of one
 * voxel do not count.
 */
int lob_strokes_axis(const lob_strokes *strokes);

/*
 * Planes across an axis that hold strokes of a label and of others, and at least a quarter as many
 * of their voxels as the fullest of these.
 *
 *   slices  out  as many as the axis has voxels at most, ascending
 *
 * Returns how many.
 */
int64_t lob_strokes_drawn(int64_t *slices, const lob_strokes *strokes, int32_t label, int axis);

/*
 * Which labels are not on a slice: a slice across an axis with strokes of the background and of
 * others has no label but those that were drawn on it.
 *
 *   absent  out  labels + 1 bytes for each slice, 1: that label is not there
 */
void lob_strokes_absent(uint8_t *absent, const lob_strokes *strokes, int axis, int32_t background);

/*
 * Labels that may be walls around others, such as the muscle around a ventricle: from strokes of a
 * label, along rows and columns of the planes of strokes, those of the wall are met in at least one
 * of four looks that meet any, and more often than those of others beside the background. Of more
 * than 65 labels none is one.
 *
 *   walls       out  pairs of a wall and what it surrounds, its core, by ascending cores: two
 *                    numbers for each label at most
 *   count       out  of pairs
 *   strokes     in   counts of seeds
 *   background  in   is no wall and no core
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_strokes_walls(int32_t *walls, int *count, const lob_strokes *strokes,
                             const void *seeds, lob_type type, int32_t background,
                             lob_error *error);

/* What refine.h takes of strokes' places. */
typedef struct {
    uint8_t *absent; /* of lob_strokes_absent; NULL: it is not asked for */
    int32_t *walls;  /* of lob_strokes_walls */
    int wall_count;
} lob_strokes_places;

/*
 * Count strokes, and find what their places say.
 *
 *   places       out  free with lob_strokes_places_free; empty on failure
 *   seeds, type  in   as lob_strokes_count takes them
 *   background   in   1..labels
 *   absent_axis  in   0 x, 1 y or 2 z; -1: no absent labels are asked for
 *   walls        in   are they asked for?
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_strokes_places_find(lob_strokes_places *places, const void *seeds, lob_type type,
                                   lob_dims dims, int32_t labels, int32_t background,
                                   int absent_axis, bool walls, int threads, lob_error *error);
void lob_strokes_places_free(lob_strokes_places *places);

/* The same of strokes that were counted. */
lob_status lob_strokes_places_of(lob_strokes_places *places, const lob_strokes *strokes,
                                 const void *seeds, lob_type type, int32_t background,
                                 int absent_axis, bool walls, lob_error *error);

/*
 * How far strokes of labels are from those of other labels, as half of them are: about half as wide
 * as what is drawn, and the way from its border to the background's strokes. Strokes in planes
 * across lob_strokes_axis count.
 *
 *   width_mm    out  0: no plane has strokes of two labels
 *   strokes     in   counts of seeds
 *   seeds       in   as lob_strokes_count takes them
 *   spacing_mm  in
 *   background  in   whose strokes are others alone
 *   threads     in   >= 1; the result does not depend on it
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_strokes_width(double *width_mm, const lob_strokes *strokes, const void *seeds,
                             lob_type type, const double spacing_mm[3], int32_t background,
                             int threads, lob_error *error);

/*
 * Leave out strokes that look like another label: voxels where another label's share is more than
 * 8 times their own's, in pieces of a stroke (26 neighbours) of which more than half do not. What
 * looks otherwise as a whole was drawn for that.
 *
 *   out         out  nx*ny*nz: seeds, or 0
 *   seeds       in   nx*ny*nz labels 0..labels, 0: not drawn
 *   shares      in   of drawn voxels, in their order: a channel for each label but the background,
 *                    ascending, in 255ths; what is missing to 255 is the background's
 *   background  in   1..labels
 *   context     in   the limit of working memory, which is a byte a voxel and 8 a drawn one
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_strokes_agree(uint8_t *out, const uint8_t *seeds, const uint8_t *shares,
                             lob_dims dims, int32_t labels, int32_t background,
                             const lob_context *context, lob_error *error);

/*
 * Leave out corrections that look like another label: of slices across an axis with strokes of one
 * label alone the pieces (8 neighbours in the slice) whose grey values are not e times as likely,
 * on geometric average, under its own strokes as under others'. Likely is what the slices with
 * strokes of several labels say, by counts in 64 bins smoothed by 2; a label without strokes there
 * keeps all. Such a piece was drawn to mend one place, and its values mean something else
 * elsewhere.
 *
 *   out       out  nx*ny*nz: seeds, or 0. It is 0 before. No label is left out wholly
 *   seeds     in   nx*ny*nz labels 0..labels, 0: not drawn
 *   strokes   in   counts of these
 *   values    in   channels * lob_strokes_voxels: grey values under strokes, planar, ascending
 *   channels  in   >= 1
 *   axis      in   0 x, 1 y or 2 z
 *   context   in   threads; the limit of working memory, which is 24 bytes a drawn voxel, beside
 *                  the caller's 8 a value
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_strokes_leave_corrections(uint8_t *out, const uint8_t *seeds,
                                         const lob_strokes *strokes, const double *values,
                                         int channels, int axis, const lob_context *context,
                                         lob_error *error);

/* Voxels that have strokes, in all. */
int64_t lob_strokes_voxels(const lob_strokes *strokes);

/*
 * The values of an image under strokes, as lob_strokes_leave_corrections takes them.
 *
 *   image  in  any type and channels, in ordinary memory, as large as the strokes or larger
 *   first  in  its voxel that is the strokes' first
 */
void lob_strokes_values(double *values, const uint8_t *seeds, const lob_strokes *strokes,
                        const lob_volume *image, const int64_t first[3]);

/* Does the label of a voxel fill the square of 5 voxels around it, in its slice across an axis? */
bool lob_strokes_fill_square(const void *seeds, lob_type type, lob_dims dims, int axis,
                             const int64_t at[3]);

/*
 * Complete slices across an axis on which labels are painted out: where a stroke of a label fills a
 * square of 5 voxels, and strokes of labels cover at least 0.75 of what an earlier result has of
 * labels there, voxels without a stroke become background.
 *
 *   seeds       in/out  nx*ny*nz labels, 0: not drawn
 *   background  in      its number there
 *   before      in      nx*ny*nz labels of the result, in a type of lob_label_type
 *   rest        in      the background's number there; 0 is background too
 *   axis        in      0 x, 1 y or 2 z
 *
 * Returns how many voxels became background.
 */
int64_t lob_strokes_complete(uint8_t *seeds, int32_t background, const void *before, lob_type type,
                             int32_t rest, lob_dims dims, int axis);

LOB_END_DECLS

#endif
