/*
 * Resampling: a volume's values on another grid.
 *
 * The centre of each new voxel is a position in the old volume, through both affines. Around it
 * lies a window of old voxels; the window is a tent per old axis whose half-width is one old voxel,
 * or the new voxel's size along that axis where that is larger, so that going to coarser voxels
 * averages what they cover instead of picking from it.
 *
 *   nearest   the old voxel whose centre is closest; half-way between two, the one farther along
 *   linear    the mean weighted by the window
 *   majority  labels: the label with the largest sum of weights; of equal sums, the smallest label.
 *             Background, 0, is a label too
 *   strokes   labels drawn in thin lines: the same among the old voxels that lie in the new one,
 * but 0 only where all of these are 0, so that no line is lost on a coarser grid
 *
 * A new voxel whose centre lies outside of the old volume (beyond the outer faces of its voxels)
 * takes the fill value. The window does not reach outside: its weights are renormalised there. NaN
 * is left out of a mean in the same way, and comes out where the window holds nothing else.
 *
 * Weights are whole numbers, and positions are double precision in a fixed order of operations:
 * same bytes on every backend and thread count. Where the grids differ by whole voxels, flips and
 * exchanged axes (positions within 1e-3 of a voxel of whole numbers), every method copies exactly.
 */
#ifndef LOB_RESAMPLE_H
#define LOB_RESAMPLE_H

#include "kernels/context.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

typedef enum {
    LOB_RESAMPLE_NEAREST,
    LOB_RESAMPLE_LINEAR,
    LOB_RESAMPLE_MAJORITY,
    LOB_RESAMPLE_STROKES
} lob_resample_method;

typedef struct {
    lob_resample_method method;
    double fill; /* stored number of voxels outside of the old volume; rounded and clamped to its
                    type */
} lob_resample_options;

/* Linear, 0 outside. */
lob_resample_options lob_resample_defaults(void);

typedef struct {
    const lob_volume *volume; /* any type and channels; majority and strokes: one channel of LOB_U8,
                                 LOB_I16 or LOB_I32, values >= 0 */
    lob_dims dims;            /* of the new grid */
    lob_geometry geometry;    /* likewise */
    lob_place place;          /* of results; the volume has its own */
} lob_resample_input;

/*
 * Change a grid to voxels of another size in the same field of view: as many as fit, at least one,
 * and the outer corner of the first voxel stays where it is. 0 keeps the size along an axis.
 */
void lob_resample_respace(lob_geometry *geometry, lob_dims *dims, const double spacing_mm[3]);

/* The most labels that one window may hold; of more, those met first count. */
enum { LOB_RESAMPLE_MAX_LABELS = 64 };

/*
 * Resample stored numbers; slope and inter of the volume go on holding.
 *
 *   out      out  channels * nx*ny*nz of the new dims, of the volume's type; integers are rounded,
 *                 halves to even. Unspecified on error
 *   in       in   see above
 *   options  in   see above
 *   context  in   threads, progress; no working memory of a volume's size is taken
 *
 * Returns LOB_OK, LOB_EARG (a method for other types), LOB_ENOMEM (on a GPU) or LOB_ECANCEL.
 */
lob_status lob_resample_cpu(void *out, const lob_resample_input *in,
                            const lob_resample_options *options, const lob_context *context,
                            lob_error *error);

LOB_END_DECLS

#endif
