/*
 * Box: each voxel takes the mean of the (2 rx + 1)(2 ry + 1)(2 rz + 1) places around it, of those
 * that hold data.
 *
 * A mean along x, then one of these along y, then along z. Values become float32 when they are
 * read and are summed in double. Windows of at most 5 places are summed each by itself. The sums of
 * larger ones run along their line, one value in and one out, and begin anew at every multiple of
 * lob_box_block, so the cost does not grow with the radius and the rounding of one part of a line
 * reaches no other. What an axis gives is rounded to float32. So the mean of integers below 2^24 or
 * of float32 data is off by at most 3 roundings to float32 of the mean magnitude, and by 2^-40 of
 * the largest magnitude within reach.
 *
 * With a mask, or values that may not be finite, sums of the data and of their number go the same
 * way, as float32 multiples of powers of two, and are divided at the end: 5 roundings instead of 3.
 */
#ifndef LOB_BOX_H
#define LOB_BOX_H

#include "kernels/filters/filter_step.h"

LOB_BEGIN_DECLS

/* Voxels on each side, along an axis, that a voxel's mean depends on: the radius and, where sums
 * run, the block. */
lob_filter_reach lob_box_reach;

/*
 * Run a step.
 *
 *   out  out  float32
 *   in   in   any type
 *
 * Working memory: none for each voxel, or 4 bytes for each of a channel with a mask or values that
 * may not be finite (on a GPU 4, or 8); and a few lines for each thread.
 * Returns LOB_OK, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_filter_run lob_box_cpu;

LOB_END_DECLS

#endif
