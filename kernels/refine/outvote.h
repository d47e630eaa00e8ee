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
 * Growth over the image alone, which `plain` is, confirms a label where it has 0.94 of what the
 * first growth gives it, and 0.96 of its own voxels are the first growth's too or lie beside these:
 * `step` voxels along an axis, one of the grid on which both grew. So it is where structures are
 * even and their borders sharp all around. The case is sharp where it confirms more than half of
 * the labels. Then each growth outvotes `labels` by itself: voxels of the background become what
 * `first` gives them, and else what `plain` does, of labels on which both agree: confirmed ones, or
 * such with a Dice of 0.75 or more; of others growth over the image alone may have leaked.
 *
 * That is: count what there is, judge, and let voxels have their say by the verdict.
 */

enum { LOB_OUTVOTE_LABELS = UINT8_MAX + 1 };

/* Voxels of a label in each growth; those that `first` shares with the others; and those of `plain`
 * that lie beside its own, but are not. */
typedef struct {
    uint64_t labels, first, plain, with_labels, with_plain, beside;
} lob_outvote_count;

/* What is counted: nx*ny*nz labels 1..255 of each growth; 0 is taken for background. */
typedef struct {
    const uint8_t *labels, *first, *plain;
    lob_dims dims;
    int step[3]; /* voxels along x, y and z, each >= 1 */
} lob_outvote_input;

/* What voxels become; those on which all three growths agree stay. */
typedef struct {
    bool sharp;
    bool confirmed[LOB_OUTVOTE_LABELS];
    bool from[LOB_OUTVOTE_LABELS];    /* labels that give way: */
    bool first[LOB_OUTVOTE_LABELS];   /* to these of `first`, */
    bool both[LOB_OUTVOTE_LABELS];    /* to these that `first` and `plain` both have, */
    bool plain[LOB_OUTVOTE_LABELS];   /* or to these of `plain`; */
    uint8_t rest[LOB_OUTVOTE_LABELS]; /* and else become this */
} lob_outvote_verdict;

/* A verdict by which all labels stay. */
lob_outvote_verdict lob_outvote_nothing(void);

/* Count by labels, on the host (threads >= 1; same result at any number), or of arrays on a GPU,
 * which is waited for. Returns LOB_OK, LOB_ENOMEM or LOB_EDEVICE. */
void lob_outvote_look(lob_outvote_count total[LOB_OUTVOTE_LABELS], const lob_outvote_input *in,
                      int threads);
lob_status lob_outvote_look_cuda(lob_device *device, lob_outvote_count total[LOB_OUTVOTE_LABELS],
                                 const lob_outvote_input *in, lob_error *error);

/*
 * Decide by what was counted.
 *
 *   labels      in  <= UINT8_MAX
 *   background  in  1..labels
 */
lob_outvote_verdict lob_outvote_judge(const lob_outvote_count total[LOB_OUTVOTE_LABELS],
                                      int32_t labels, int32_t background);

/*
 * Let n voxels have their say; how many changed is returned. A GPU may still be at work on it when
 * its call returns LOB_OK or LOB_EDEVICE.
 */
int64_t lob_outvote(uint8_t *labels, const uint8_t *first, const uint8_t *plain, int64_t n,
                    const lob_outvote_verdict *verdict, int threads);
lob_status lob_outvote_cuda(lob_device *device, uint8_t *labels, const uint8_t *first,
                            const uint8_t *plain, int64_t n, const lob_outvote_verdict *verdict,
                            lob_error *error);

/* ---- what both backends run ---- */

/* Has the first growth this label a step away along an axis? */
LOB_BOTH bool lob_outvote_is_beside(const lob_outvote_input *in, int64_t i, uint8_t label)
{
    const lob_dims d = in->dims;
    const int64_t at[3] = {i % d.nx, i / d.nx % d.ny, i / (d.nx * d.ny)};
    const int64_t stride[3] = {1, d.nx, d.nx * d.ny}, side[3] = {d.nx, d.ny, d.nz};
    for (int a = 0; a < 3; a++) {
        const int64_t step = in->step[a];
        if (at[a] >= step && in->first[i - step * stride[a]] == label) return true;
        if (at[a] + step < side[a] && in->first[i + step * stride[a]] == label) return true;
    }
    return false;
}

/* Let a voxel have its say; does it change? */
LOB_BOTH bool lob_outvote_at(uint8_t *labels, const uint8_t *first, const uint8_t *plain, int64_t i,
                             const lob_outvote_verdict *verdict)
{
    const uint8_t was = labels[i], one = first[i], other = plain[i];
    if (!verdict->from[was] || (one == was && other == was)) return false;
    const bool takes = verdict->first[one] || (one == other && verdict->both[one]);
    const uint8_t to = takes ? one : verdict->plain[other] ? other : verdict->rest[was];
    if (to != was) labels[i] = to;
    return to != was;
}

LOB_END_DECLS

#endif
