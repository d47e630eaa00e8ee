/* Faces between labels, as loops along rows look at them. This header is not installed. */
#ifndef LOB_FACES_H
#define LOB_FACES_H

#include "volumes/volume.h"

#include <string.h>

/* Voxels whose labels are compared at once with those a stride away: where all are equal, as inside
 * of regions, no face between them is one of two labels. */
enum { LOB_FACES_AT_ONCE = 32 };

/* Are the labels of so many voxels those of the voxels `stride` after them? */
static inline bool lob_labels_repeat(const void *labels, lob_type type, int64_t first,
                                     int64_t stride)
{
    const size_t bytes = lob_type_of(type)->bytes;
    const char *const at = (const char *)labels + (size_t)first * bytes;
    return memcmp(at, at + (size_t)stride * bytes, LOB_FACES_AT_ONCE * bytes) == 0;
}

#endif
