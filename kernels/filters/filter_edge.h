/* Where a position outside of an axis is read, by the rule for edges; for both compilers. */
#ifndef LOB_FILTER_EDGE_H
#define LOB_FILTER_EDGE_H

#include "kernels/filters/filters.h"
#include "volumes/both.h"

LOB_BEGIN_DECLS

/*
 * The position in [0, n) that stands for position i of an axis of n voxels; -1 where the rule is
 * renormalise or constant and i is outside. i may be any number of periods away.
 */
LOB_BOTH int64_t lob_edge_position(int64_t i, int64_t n, lob_edge edge)
{
    if (i >= 0 && i < n) return i;
    switch (edge) {
    case LOB_EDGE_NEAREST:
        return i < 0 ? 0 : n - 1;
    case LOB_EDGE_WRAP:
        if (i >= -n && i < 2 * n) return i < 0 ? i + n : i - n; /* divisions are slow */
        i %= n;
        return i < 0 ? i + n : i;
    case LOB_EDGE_REFLECT:
        if (i >= -n && i < 2 * n) return i < 0 ? -1 - i : 2 * n - 1 - i;
        i %= 2 * n;
        if (i < 0) i += 2 * n;
        return i < n ? i : 2 * n - 1 - i;
    case LOB_EDGE_MIRROR:
        if (n == 1) return 0;
        if (i > -n && i < 2 * n - 1) return i < 0 ? -i : 2 * n - 2 - i;
        i %= 2 * n - 2;
        if (i < 0) i += 2 * n - 2;
        return i < n ? i : 2 * n - 2 - i;
    case LOB_EDGE_RENORMALISE:
    case LOB_EDGE_CONSTANT:
        break;
    }
    return -1;
}

LOB_END_DECLS

#endif
