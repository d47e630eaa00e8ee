/* Passes of a registration, in which each voxel or point is by itself: written once, for the CPU
 * and CUDA. */
#ifndef LOB_REGISTER_PASS_H
#define LOB_REGISTER_PASS_H

#include "kernels/filters/pointwise_voxel.h"
#include "kernels/histogram/histogram_voxel.h"
#include "kernels/register/register_voxel.h"

LOB_BEGIN_DECLS

LOB_BOTH void lob_register_most(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

/* numbers: from 0 on, LOB_REGISTER_MAXIMA of which the largest counts, then sums. kind: p->kind, as
 * a constant where that makes kernels of their own. */
LOB_BOTH void lob_register_at(lob_register_kind kind, const lob_register_pass *p, int64_t i,
                              uint64_t numbers[LOB_REGISTER_NUMBERS])
{
    float u[3];
    switch (kind) {
    case LOB_REGISTER_ENDS: {
        const double value = lob_filter_load(p->values.data, p->values.type, i);
        if (!isfinite(value)) break;
        lob_register_most(&numbers[0], ~lob_ordered_key_double(value));
        lob_register_most(&numbers[1], lob_ordered_key_double(value));
        numbers[2]++;
        break;
    }
    case LOB_REGISTER_LEVELS:
        p->level[i] =
            lob_register_level_of(lob_filter_load(p->values.data, p->values.type, i), &p->range);
        break;
    case LOB_REGISTER_MOVE:
        p->level[i] = lob_register_moved(&p->moving, p->dims, &p->affine, i);
        break;
    case LOB_REGISTER_HALVE: {
        const int64_t count = p->n / 2, k = i / count;
        lob_register_point_halved(u, &p->points[k], &p->points[!k], i % count);
        for (int a = 0; a < 3; a++) p->next[(k * 3 + a) * count + i % count] = u[a];
        break;
    }
    case LOB_REGISTER_BITS: {
        const int bits = lob_register_bits_at(p->words[0], p->words[1], p->mask, p->no_data,
                                              p->dims, &p->points[0], i);
        numbers[2] += bits < 0 ? 0 : (uint64_t)bits;
        numbers[3] += bits >= 0;
        break;
    }
    case LOB_REGISTER_FIELD:
        lob_register_field_voxel(u, &p->points[0], p->dims, &p->worlds, i);
        for (int a = 0; a < 3; a++) p->mm[a * p->n + i] = u[a];
        break;
    case LOB_REGISTER_EXTENT:
        lob_register_most(&numbers[0], lob_ordered_key_double(lob_register_square(p->mm, p->n, i)));
        numbers[2] += lob_register_folds(p->mm, p->dims, &p->worlds.here, i);
        break;
    case LOB_REGISTER_KINDS:
        break;
    }
}

LOB_END_DECLS

#endif
