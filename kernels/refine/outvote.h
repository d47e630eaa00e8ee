/* Outvote: labels of three growths that see different things. */
#ifndef LOB_OUTVOTE_H
#define LOB_OUTVOTE_H

#include "kernels/device/device.h"
#include "volumes/volume.h"

#include <stdbool.h>
#include <stdint.h>

LOB_BEGIN_DECLS

/*
 * Two growths that agree on a label tell that a third one lost what both of them give it. A label
 * is outvoted where the Dice of `first` and `plain` is at least 0.75 and `plain` has 0.85 of
 * `first`, however much more it has, as leaks of one alone are nothing that both give; or where
 * that Dice is above the one of `first` and `labels`, which is the odd one out then. Voxels of the
 * background that both of them give it become its own. None are taken from it: two growths on a
 * coarser grid that lose the same thin ends agree as well. So all of a label is outvoted or none:
 * where its Dice is near to these limits, one more stroke may change a whole structure.
 *
 *   labels      in/out  n labels 1..count, count <= UINT8_MAX; 0 is taken for background
 *   first       in      likewise
 *   plain       in      likewise
 *   background  in      1..count; 0: there is none but 0
 *   threads     in      >= 1
 *
 * Returns how many voxels changed. Same result at any thread count.
 */
int64_t lob_outvote(uint8_t *labels, const uint8_t *first, const uint8_t *plain, int64_t n,
                    int32_t background, int threads);

/* The same of labels on a GPU, which may still be at work on it when this returns. Returns LOB_OK,
 * LOB_ENOMEM or LOB_EDEVICE. */
lob_status lob_outvote_cuda(lob_device *device, uint8_t *labels, const uint8_t *first,
                            const uint8_t *plain, int64_t n, int32_t background, lob_error *error);

/*
 * Which labels does growth over the image alone confirm? It has 0.94 of what the first growth gives
 * them, and 0.96 of its own voxels are the first growth's too or lie beside these: `step` voxels
 * along an axis, one of the grid on which both grew. So it is where structures are even and their
 * borders sharp all around. The case is sharp where it confirms more than half of the labels.
 *
 *   confirmed   out  labels + 1 bools
 *   agree       out  labels + 1 bools: the growths have a Dice of 0.75 or more, or it is confirmed;
 *                    of other labels growth over the image alone may have leaked
 *   first       in   nx*ny*nz labels 1..labels, labels <= UINT8_MAX; 0 is taken for background
 *   plain       in   likewise
 *   step        in   voxels along x, y and z, each >= 1
 *   background  in   1..labels; it is not asked for
 *   threads     in   >= 1
 *
 * Returns whether the case is sharp. Same result at any thread count.
 */
bool lob_outvote_confirm(bool *confirmed, bool *agree, const uint8_t *first, const uint8_t *plain,
                         lob_dims dims, const int step[3], int32_t labels, int32_t background,
                         int threads);

/* ---- what both are made of ---- */

enum { LOB_OUTVOTE_LABELS = UINT8_MAX + 1 };

/* Voxels of a label in each growth, and those that `first` shares with the others. */
typedef struct {
    uint64_t labels, first, plain, with_labels, with_plain;
} lob_outvote_count;

/* Which labels are the background, and which are outvoted? */
typedef struct {
    bool from[LOB_OUTVOTE_LABELS], to[LOB_OUTVOTE_LABELS];
} lob_outvote_verdict;

lob_outvote_verdict lob_outvote_judge(const lob_outvote_count total[LOB_OUTVOTE_LABELS],
                                      int32_t background);

/* Let a voxel have its say; does it change? */
LOB_BOTH bool lob_outvote_at(uint8_t *labels, const uint8_t *first, const uint8_t *plain, int64_t i,
                             const lob_outvote_verdict *verdict)
{
    const uint8_t to = first[i];
    if (to != plain[i] || !verdict->from[labels[i]] || !verdict->to[to]) return false;
    labels[i] = to;
    return true;
}

LOB_END_DECLS

#endif
