/* Outvote: labels of three growths that see different things. */
#ifndef LOB_OUTVOTE_H
#define LOB_OUTVOTE_H

#include <stdint.h>

/*
 * Two growths that agree on a label more with each other than with a third one tell that this is
 * the odd one out. A label is outvoted where the Dice of `first` and `plain` is at least 0.75 and
 * above that of `first` and `labels`; then a voxel takes what both of them say, but only from and
 * for labels that are outvoted, and the background. So all of a label is or none: where its Dice is
 * near to these limits, one more stroke may change a whole structure.
 *
 *   labels      in/out  n labels 1..count, count <= UINT8_MAX; 0 is taken for background
 *   first       in      likewise
 *   plain       in      likewise
 *   background  in      1..count
 *   threads     in      >= 1
 *
 * Returns how many voxels changed. Same result at any thread count.
 */
int64_t lob_outvote(uint8_t *labels, const uint8_t *first, const uint8_t *plain, int64_t n,
                    int32_t background, int threads);

#endif
