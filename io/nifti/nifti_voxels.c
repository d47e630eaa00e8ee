/* NIfTI voxels as they are stored, turned into voxels as they lie in memory. */
#include "io/nifti/nifti_voxels.h"

#include <math.h>
#include <string.h>

void lob_nifti_narrow_extended(unsigned char *raw, int64_t n, bool swapped)
{
    for (int64_t i = 0; i < n; i++) {
        unsigned char in[10]; /* least significant byte first */
        for (int b = 0; b < 10; b++) in[b] = raw[16 * i + (swapped ? 15 - b : b)];
        uint64_t mantissa = 0;
        for (int b = 7; b >= 0; b--) mantissa = mantissa << 8 | in[b];
        const int biased = (in[9] & 0x7f) << 8 | in[8];
        double value;
        if (biased == 0x7fff) /* the top bit is always set and says nothing */
            value = mantissa << 1 ? (double)NAN : (double)INFINITY;
        else
            value = ldexp((double)mantissa, biased - 16383 - 63);
        if (in[9] & 0x80) value = -value;
        memcpy(raw + 8 * i, &value, sizeof value);
    }
}

void lob_nifti_split(unsigned char *planes, const unsigned char *raw, int64_t voxels, int channels)
{
    for (int c = 0; c < channels; c++)
        for (int64_t i = 0; i < voxels; i++) planes[c * voxels + i] = raw[i * channels + c];
}
