/* Planes of a coarser level of a pyramid. */
#ifndef LOB_ZARR_COARSER_H
#define LOB_ZARR_COARSER_H

#include "volumes/volume.h"

typedef struct {
    lob_dims dims;  /* of the finer level; nz is not looked at */
    int64_t planes; /* of it that are there */
    int step[3];    /* along x, y and z: 1, or 2 for half of the side, rounded up */
    lob_type type;
    bool means; /* of up to step[0] * step[1] * step[2] voxels, whole numbers rounded to nearest, a
                   half to the even one; false: the first of them */
} lob_coarser;

/*
 * Make them.
 *
 *   out      out  ceil(planes / step[2]) planes, 0 before: rows of 0 are not written
 *   in       in   planes of the finer level
 *   threads  in   >= 1
 */
void lob_coarser_planes(void *out, const void *in, const lob_coarser *how, int threads);

#endif
