/* Label volumes: integers from 0, where 0 means "no label". */
#ifndef LOB_LABELS_H
#define LOB_LABELS_H

#include "volumes/both.h"
#include "volumes/volume.h"

#include <string.h>

LOB_BEGIN_DECLS

/* The labels of a volume in ascending order, without 0. Dense label i + 1 stands for values[i]. */
typedef struct {
    int32_t count;
    int32_t *values; /* count, each >= 1 */
    int64_t *voxels; /* count: voxels that carry the label */
} lob_label_set;

/* Type of a label volume: LOB_U8 up to 255, LOB_I16 up to 32767, LOB_I32 beyond. */
lob_type lob_label_type(int32_t largest);

/* Label i of an array of one of lob_label_type's types. */
LOB_BOTH int32_t lob_label_at(const void *labels, lob_type type, int64_t i)
{
    return type == LOB_U8    ? ((const uint8_t *)labels)[i]
           : type == LOB_I16 ? ((const int16_t *)labels)[i]
                             : ((const int32_t *)labels)[i];
}

/* The largest of n labels; 0: there is none. Same at any number of threads >= 1. */
int32_t lob_label_largest(const void *labels, lob_type type, int64_t n, int threads);

/* Store a label that the type holds, one of lob_label_type's. */
LOB_BOTH void lob_label_put(void *labels, lob_type type, int64_t i, int32_t label)
{
    if (type == LOB_U8)
        ((uint8_t *)labels)[i] = (uint8_t)label;
    else if (type == LOB_I16)
        ((int16_t *)labels)[i] = (int16_t)label;
    else
        ((int32_t *)labels)[i] = label;
}

/* The first voxel from `first` on, before `end`, that has a label; end: none has. Quick where few
 * have, as with strokes. */
static inline int64_t lob_next_label(const void *labels, lob_type type, int64_t first, int64_t end)
{
    const int64_t step = type == LOB_U8 ? 32 : type == LOB_I16 ? 16 : 8;
    const char *at = (const char *)labels + first * (32 / step);
    for (; first + step <= end; first += step, at += 32) {
        uint64_t words[4];
        memcpy(words, at, sizeof words);
        if (words[0] | words[1] | words[2] | words[3]) break;
    }
    while (first < end && lob_label_at(labels, type, first) == 0) first++;
    return first;
}

/*
 * Renumber a label volume to 1..count in place, in the order of the labels, and store it in
 * lob_label_type(count). Working memory is 1 MiB and a table of the labels, independent of the
 * number of voxels. Scaled volumes and real voxel types are accepted when every value is within
 * 1e-3 of an integer.
 *
 *   volume  in/out  one channel; afterwards slope 1 and inter 0
 *   set     out     the labels found; count may be 0
 *   name    in      for messages, usually the path
 *
 * Returns LOB_OK, LOB_EDATA (a value that is not finite, not an integer, negative or above 2^31 -
 * 1, or more than one channel; the message gives the first such voxel) or LOB_ENOMEM; on error
 * volume is unchanged and set is empty.
 */
lob_status lob_labels_dense(lob_volume *volume, lob_label_set *set, const char *name,
                            lob_error *error);

/* What lob_labels_dense does before it renumbers: find the labels of a volume, which stays as it
 * is, and how many voxels each has. */
lob_status lob_labels_count(lob_label_set *set, const lob_volume *volume, const char *name,
                            lob_error *error);

/*
 * Look at a box of a volume as lob_labels_dense does, without changing it.
 *
 *   part   in  the box, of one channel
 *   first  in  its first voxel in the volume, for the message
 *
 * Returns LOB_OK or LOB_EDATA.
 */
lob_status lob_labels_allow(const lob_volume *part, const int64_t first[3], const char *name,
                            lob_error *error);

/*
 * The inverse of lob_labels_dense: replace dense labels, of any type, by the values of set and
 * store them in lob_label_type(largest value). The buffer grows only for a wider type.
 *
 *   volume  in/out  every voxel is an integer from 0 to set->count; slope 1 and inter 0
 *
 * Returns LOB_OK or LOB_ENOMEM (volume unchanged).
 */
lob_status lob_labels_restore(lob_volume *volume, const lob_label_set *set);

/*
 * Store labels, of which none is above largest, in lob_label_type(largest). The buffer grows only
 * for a wider type.
 *
 * Returns LOB_OK or LOB_ENOMEM (volume unchanged).
 */
lob_status lob_labels_pack(lob_volume *volume, int32_t largest);

/* The dense label, 1..count, that stands for a value; 0: no voxel has it. */
int32_t lob_label_set_find(const lob_label_set *set, int32_t value);

/* Add labels to a set, which then counts no voxels. Returns LOB_OK, or LOB_ENOMEM with the set
 * unchanged. */
lob_status lob_label_set_join(lob_label_set *set, const lob_label_set *more, lob_error *error);

/* Free the arrays and leave count 0. */
void lob_label_set_free(lob_label_set *set);

LOB_END_DECLS

#endif
