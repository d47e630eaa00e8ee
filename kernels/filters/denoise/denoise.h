/*
 * Denoising that keeps edges: non-local means (Buades, Coll and Morel, CVPR 2005), in 3D as Coupe
 * et al. do it for MRI (IEEE Trans. Medical Imaging 27, 2008), with Tukey's biweight in place of
 * the exponential (Goossens et al., LNLA 2008).
 *
 * A voxel becomes the weighted mean of the voxels q of a window around it. With d the mean squared
 * difference between the patches around both, and s the standard deviation of the noise,
 *
 *     weight(q) = (1 - d / (8 s^2))^2 where d < 8 s^2, else 0;  its own weight is 1
 *
 * Patches of pure noise differ by 2 s^2, so they weigh about .56; across an edge of more than about
 * 3 s nothing is averaged. The patch is 3 voxels a side and the window 5. Where spacings differ,
 * the window reaches 2 times the smallest spacing, so an axis of thick slices adds fewer slices or
 * none, and a patch extends along those axes only whose spacing is at most 1.5 times the smallest.
 *
 * Why this one. Beside median, Gaussian, total variation and bilateral filters it has the least
 * error on the phantom with noise, and on scans that were segmented from strokes an overlap as good
 * as the best (tests/bench/denoise_quality.py). It needs one number, which can be estimated; each
 * voxel is computed once from what is near it, so it can be cut into slabs; and the biweight needs
 * no exponential, so the arithmetic is the same everywhere.
 *
 * What is no data is left out of patches and means. A voxel that is NaN or infinite inside the mask
 * becomes the mean of the data in its window. Beyond the volume lies its mirror image, unless the
 * options' rule for edges is nearest, reflect or wrap. Values are float32, and sums run in raster
 * order of the window.
 */
#ifndef LOB_DENOISE_H
#define LOB_DENOISE_H

#include "kernels/filters/filter_step.h"

LOB_BEGIN_DECLS

/* Voxels along an axis on each side that a voxel may depend on; -1: the whole axis. */
lob_filter_reach lob_denoise_reach;

/*
 * The step. call->step->noise is the standard deviation of the noise, in the units of the values;
 * with 0 the step changes nothing but NaN and infinite voxels.
 *
 *   out   out  float32, the dims and channels of in
 *   call  in   before is an identity: a chain maps values in a pass of their own
 *
 * Working memory: a tile for each thread. Returns LOB_OK, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_filter_run lob_denoise_cpu;

/*
 * Estimate the standard deviation of the noise: 1.4826 times the median of
 * |value - mean of its neighbours| * sqrt(k / (k + 1)), with the k = 2, 4 or 6 neighbours along the
 * axes of a patch (pseudo-residuals: Gasser, Sroka and Jennen-Steinmetz, Biometrika 1986). Voxels
 * at the border of the volume, beside what is no data, or exactly equal to that mean do not count:
 * backgrounds set to 0 hold no noise. Of several channels the root of the mean square; 0 where no
 * voxel counts. Working memory: 4 bytes a voxel.
 */
lob_status lob_denoise_noise_cpu(double *noise, const lob_filter_image *in,
                                 const lob_filter_call *call, const lob_context *context,
                                 lob_budget *budget, lob_error *error);

LOB_END_DECLS

#endif
