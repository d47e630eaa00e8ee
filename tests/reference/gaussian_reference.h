/* Gaussian steps by their definition, in double precision: one sum over all voxels around. */
#ifndef LOB_TESTS_GAUSSIAN_REFERENCE_H
#define LOB_TESTS_GAUSSIAN_REFERENCE_H

#include "tests/reference/gaussian_case.h"

/*
 * The result of a case, always with exact weights.
 *
 *   out      out  channels * nx*ny*nz
 *   largest  out  the largest size of what was summed, of all voxels and channels: what rounding
 *                 errors are measured by
 */
void gaussian_reference(double *out, double *largest, const gaussian_case *c);

#endif
