/* From voxels as NIfTI stores them to voxels as they lie in memory. */
#ifndef LOB_NIFTI_VOXELS_H
#define LOB_NIFTI_VOXELS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * n x87 extended numbers, 10 bytes in 16, to float64 in place. The format does not say what
 * float128 is; these are what writers on PCs store.
 */
void lob_nifti_narrow_extended(unsigned char *raw, int64_t n, bool swapped);

/* Interleaved colours to planes, which do not overlap them. */
void lob_nifti_split(unsigned char *planes, const unsigned char *raw, int64_t voxels, int channels);

#endif
