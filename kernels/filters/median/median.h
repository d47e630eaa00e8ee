/*
 * Median: each voxel takes the middle one of the values around it.
 *
 * The neighbourhood of a voxel has (2 rx + 1)(2 ry + 1)(2 rz + 1) places; a place outside of the
 * volume holds what the rule for edges says. Of n places that hold data the median is number
 * (n + 1) / 2, rounded down, in ascending order: the middle one, and the lower of the two middle
 * ones where n is even. Every value that comes out stood in the neighbourhood; the type is kept.
 * With finite values and no mask this is scipy.ndimage.median_filter. -0 counts as less than +0.
 *
 * On a volume of float32, float64 or an integer type of any width. The value of a constant edge is
 * rounded to the nearest whole number of an integer type (halves to even) and clamped to its range.
 */
#ifndef LOB_MEDIAN_H
#define LOB_MEDIAN_H

#include "kernels/filters/filter_step.h"

LOB_BEGIN_DECLS

/* Voxels on each side, along an axis, that a voxel's median depends on: the radius. */
lob_filter_reach lob_median_reach;

/*
 * Run a step.
 *
 *   out   out  the type of in
 *   in    in   any type
 *   call  in   before and after are identities: a chain maps values in passes of their own
 *
 * Working memory: some 2 MiB a thread; none on a GPU.
 * Returns LOB_OK, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_filter_run lob_median_cpu;

LOB_END_DECLS

#endif
