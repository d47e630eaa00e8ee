/* Faces between labels, as loops along rows look at them. This header is not installed. */
#ifndef LOB_FACES_H
#define LOB_FACES_H

#include "volumes/voxel_type.h"

#include <stdint.h>
#include <string.h>

/*
 * Voxels of a row that a loop may pass by, from its x-th of n: where all have the labels of the
 * voxels `stride` after them, as inside of regions, no face between them is one of two labels. They
 * are compared so many at once; 0: there is a face, or the loop is amid such a run.
 *
 *   labels  in  of the grid
 *   first   in  the row's first voxel
 */
static inline int64_t lob_faces_none(const void *labels, lob_type type, int64_t first, int64_t x,
                                     int64_t n, int64_t stride)
{
    enum { AT_ONCE = 32 };
    if (x % AT_ONCE != 0 || x + AT_ONCE > n) return 0;
    const size_t bytes = lob_type_of(type)->bytes;
    const char *const at = (const char *)labels + (size_t)(first + x) * bytes;
    return memcmp(at, at + (size_t)stride * bytes, AT_ONCE * bytes) == 0 ? AT_ONCE : 0;
}

#endif
