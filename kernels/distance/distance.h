/*
 * Exact Euclidean distance in mm to a set of voxels, on an anisotropic grid.
 *
 * Felzenszwalb and Huttenlocher, "Distance transforms of sampled functions", Theory of Computing 8,
 * 2012: a pass along each axis, which finds lower envelopes of parabolas.
 */
#ifndef LOB_DISTANCE_H
#define LOB_DISTANCE_H

#include "kernels/context.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

/*
 * Find the squared distance, in mm^2, from each voxel's centre to the nearest centre of a voxel of
 * the set.
 *
 *   squared_mm  out  nx*ny*nz, x fastest; INFINITY everywhere when the set is empty
 *   set         in   nx*ny*nz; nonzero: in the set
 *   dims        in   each >= 1
 *   spacing_mm  in   voxel sizes along x, y, z, each > 0
 *   threads     in   >= 1; the result does not depend on it
 *
 * Returns LOB_OK, or LOB_ENOMEM: also when the product of the two shorter sides exceeds about 2^31.
 */
lob_status lob_distance_squared(float *squared_mm, const uint8_t *set, lob_dims dims,
                                const double spacing_mm[3], int threads);

/* Bytes of working memory that lob_distance_squared takes, beyond its arguments. */
int64_t lob_distance_bytes(lob_dims dims, int threads);

LOB_END_DECLS

#endif
