/* Rows of labels of any of lob_label_type's types as int32, and back. */
#ifndef LOB_LABEL_ROWS_H
#define LOB_LABEL_ROWS_H

#include "volumes/labels.h"

#include <string.h>

/* Labels first .. first + n - 1 of an array. */
static inline void lob_labels_load(int32_t *to, const void *labels, lob_type type, int64_t first,
                                   int64_t n)
{
    if (type == LOB_U8)
        for (int64_t i = 0; i < n; i++) to[i] = ((const uint8_t *)labels)[first + i];
    else if (type == LOB_I16)
        for (int64_t i = 0; i < n; i++) to[i] = ((const int16_t *)labels)[first + i];
    else
        memcpy(to, (const int32_t *)labels + first, (size_t)n * sizeof *to);
}

/* Store labels that the type holds. */
static inline void lob_labels_store(void *labels, lob_type type, int64_t first, const int32_t *from,
                                    int64_t n)
{
    if (type == LOB_U8)
        for (int64_t i = 0; i < n; i++) ((uint8_t *)labels)[first + i] = (uint8_t)from[i];
    else if (type == LOB_I16)
        for (int64_t i = 0; i < n; i++) ((int16_t *)labels)[first + i] = (int16_t)from[i];
    else
        memcpy((int32_t *)labels + first, from, (size_t)n * sizeof *from);
}

#endif
