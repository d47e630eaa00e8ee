/*
 * Gaussian smoothing, and the first and second derivatives of what it smoothed, as steps of a chain
 * of filters.
 *
 *   gaussian    the mean weighted by a Gaussian
 *   gradient    sqrt of the sum over axes of (derivative / spacing)^2, per mm
 *   laplacian   the sum over axes of second derivative / spacing^2, per mm^2
 *
 * out is float32. Axes whose sigma is 0 are left out: they are not smoothed, and no derivative is
 * taken along them. Derivatives are those of the Gaussian's formula, at whole voxels, as in
 * scipy.ndimage.
 *
 * Exact axes. The weights of the 2r + 1 voxels around, r = (int)(4 sigma + .5), are made in double
 * precision, divided by their sum and rounded to float32. Products are added from the lowest
 * position up, each with one rounding (fmaf).
 *
 * Coarse axes: sigma of LOB_GAUSSIAN_COARSE voxels or more, unless options->exact forbids it or the
 * axis is too short to gain by it. Smoothing by sigma is smoothing twice by s = sigma / sqrt(2);
 * what the first one leaves has no fine detail, so only every m-th voxel of it is computed, with
 * m = floor(s), and the second one reads these (Burt, Fast Filter Transforms for Image Processing,
 * 1981). Both are cut at 4.5 s. Weights of the second smoothing add up to 1 at every voxel, those
 * of derivatives to 0. What is lost is the overlap of the spectra of neighbouring samplings,
 * exp(-pi^2 (s / m)^2) <= 5.2e-5, and what the exact kernel leaves out at 4 sigma, 6e-5. Of weights
 * whose absolute values add up to 1, differences from the exact ones add up to at most 1.5e-4 per
 * axis (order 1: 8e-4, order 2: 3e-3); so a mean is within 8e-5 of the range of the values per
 * axis. An axis costs about 24 products per voxel that it reads and writes, however large sigma is.
 *
 * Second derivatives have scipy's weights on exact axes, which add up to nearly 0 where sigma is 1
 * or more. Below that they would not: there the Gaussian's weights times what they add up to are
 * taken off, so that laplacian of a constant is 0.
 *
 * No data: outside the mask, NaN or infinite. gaussian divides the weighted sum of data by the sum
 * of the weights on data; filters.h says what happens to what is no data. For gradient and
 * laplacian, no data inside and outside the mask is first given the value that gaussian would give
 * it, and 0 where there is no data within reach; outside the mask their result is 0.
 *
 * Edges. With LOB_EDGE_RENORMALISE gaussian divides by the sum of the weights inside of the volume;
 * gradient and laplacian, whose weights have no such sum, read the nearest voxel instead. With
 * LOB_EDGE_CONSTANT they see the volume inside of a constant one.
 *
 * Same bytes on every backend and thread count, and for slabs that begin at multiples of
 * lob_gaussian_align and have lob_gaussian_reach voxels around.
 */
#ifndef LOB_GAUSSIAN_H
#define LOB_GAUSSIAN_H

#include "kernels/filters/filter_step.h"

#define LOB_GAUSSIAN_COARSE 6.0 /* voxels */

/*
 * Run a step of one of the three kinds; see filter_step.h.
 *
 *   out   out  float32, of in's dims and channels; may not overlap in
 *   call  in   before gives values whose size is at most 2^120; finite decides by which formula the
 *              result is computed, so it has to be the same for all slabs of an image
 *
 * Working memory, bytes a voxel: gaussian 0, or 4 where something is no data; the others 4, or 8.
 * On a GPU gaussian 4, or 8, the others 4, or 12. With coarse axes up to 8 in place of 4, mostly
 * less than 3; with radii that only a slow kernel takes, 8 on a GPU. Returns LOB_OK, LOB_ENOMEM or
 * LOB_ECANCEL.
 */
lob_filter_run lob_gaussian_cpu;

/* Voxels on each side along an axis (0 x, 1 y, 2 z) that a voxel's result can depend on. */
lob_filter_reach lob_gaussian_reach;

/* What the first voxel of a slab along an axis has to be a multiple of: m of a coarse axis, or 1.
 */
lob_filter_reach lob_gaussian_align;

#endif
