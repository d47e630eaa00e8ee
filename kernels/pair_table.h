/* A hash table of how often pairs of labels occur, which grows as it fills. */
#ifndef LOB_PAIR_TABLE_H
#define LOB_PAIR_TABLE_H

#include "kernels/budget.h"

typedef struct {
    uint32_t a, b;
    int64_t count; /* 0: this slot is free */
} lob_pair;

/* All zero but for budget: an empty table. Several threads may add to tables that share a budget,
 * each thread to its own table. */
typedef struct {
    lob_pair *slots; /* slot_count, a power of two, in no particular order; or NULL */
    int64_t slot_count, used;
    lob_budget *budget;
} lob_pair_table;

/*
 * Add to a pair's count.
 *
 *   count  in  >= 1
 *
 * Returns LOB_OK, or LOB_ENOMEM with the table unchanged.
 */
lob_status lob_pair_add(lob_pair_table *table, uint32_t a, uint32_t b, int64_t count);

/* The count of a pair; 0: it is not in the table, which is not empty. */
int64_t lob_pair_count(const lob_pair_table *table, uint32_t a, uint32_t b);

/* Tables of several threads: count empty ones, in an array that lob_pair_tables_free frees. */
lob_status lob_pair_tables_make(lob_pair_table **tables, int count, lob_budget *budget,
                                lob_error *error);

/* Add all pairs of the others to the first table, and empty them. Returns LOB_OK, or LOB_ENOMEM
 * with a part of them added. */
lob_status lob_pair_tables_join(lob_pair_table *tables, int count);

/* NULL is fine. */
void lob_pair_tables_free(lob_pair_table *tables, int count, lob_budget *budget);

#endif
