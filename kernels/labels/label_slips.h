/* Slips: single voxels of a label amid strokes of others, on the CPU and on a GPU. */
#ifndef LOB_LABEL_SLIPS_H
#define LOB_LABEL_SLIPS_H

#include "volumes/labels.h"

LOB_BEGIN_DECLS

/* Has a voxel a label, at most one neighbour with the same, and more with
 * others? 26 neighbours; with an axis >= 0 the 8 in its slice across it. */
LOB_BOTH bool lob_labels_is_slip(const void *labels, lob_type type, lob_dims d, int axis, int64_t x,
                                 int64_t y, int64_t z)
{
    const int32_t own = lob_label_at(labels, type, (z * d.ny + y) * d.nx + x);
    int same = -1, others = 0; /* it is no neighbour of itself */
    if (own == 0) return false;
    for (int64_t k = axis == 2 ? z : z - 1; k <= (axis == 2 ? z : z + 1); k++)
        for (int64_t j = axis == 1 ? y : y - 1; j <= (axis == 1 ? y : y + 1); j++)
            for (int64_t i = axis == 0 ? x : x - 1; i <= (axis == 0 ? x : x + 1); i++) {
                if (i < 0 || j < 0 || k < 0 || i >= d.nx || j >= d.ny || k >= d.nz) continue;
                const int32_t label = lob_label_at(labels, type, (k * d.ny + j) * d.nx + i);
                same += label == own;
                others += label != 0 && label != own;
            }
    return same <= 1 && others > same;
}

LOB_END_DECLS

#endif
