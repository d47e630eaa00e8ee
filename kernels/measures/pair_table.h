/* A sparse table of how often pairs of labels occur: a hash table that grows. */
#ifndef LOB_PAIR_TABLE_H
#define LOB_PAIR_TABLE_H

#include "volumes/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint32_t a, b;
    int64_t count; /* 0: this slot is free */
} lob_pair;

/* All zero but for left: an empty table. */
typedef struct {
    lob_pair *slots; /* slot_count, a power of two, in no order that means anything; or NULL */
    int64_t slot_count, used;
    int64_t *left; /* bytes that this table and others that share the number may still take */
} lob_pair_table;

/*
 * Add to a pair's count.
 *
 *   count  in  >= 1
 *
 * Returns LOB_OK or LOB_ENOMEM, when the table holds what it held before. Tables that share `left`
 * may be added to by several threads, each table by one.
 */
lob_status lob_pair_add(lob_pair_table *table, uint32_t a, uint32_t b, int64_t count);

/* Add all of another table. Returns LOB_OK or LOB_ENOMEM (with a part of it added). */
lob_status lob_pair_merge(lob_pair_table *table, const lob_pair_table *other);

/* Free the slots and give their bytes back; the table is empty again. */
void lob_pair_free(lob_pair_table *table);

#ifdef __cplusplus
}
#endif

#endif
