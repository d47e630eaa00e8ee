/* Pairs of labels in a hash table with linear probing, never more than two thirds full. */
#include "kernels/pair_table.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

/* The slot of a pair, or the free one where it belongs. */
static lob_pair *slot_of(lob_pair *slots, int64_t slot_count, uint32_t a, uint32_t b)
{
    const uint64_t last = (uint64_t)slot_count - 1;
    const uint64_t mixed = ((uint64_t)a << 32 | b) * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t at = (mixed ^ mixed >> 29) & last;
    while (slots[at].count && (slots[at].a != a || slots[at].b != b)) at = (at + 1) & last;
    return &slots[at];
}

/* Free the slots; the table is empty again. */
static void free_slots(lob_pair_table *table)
{
#pragma omp critical(lob_pair_table)
    lob_budget_free(table->budget, table->slots, table->slot_count, sizeof *table->slots);
    table->slots = NULL;
    table->slot_count = table->used = 0;
}

/* Double the slots. The budget is shared by threads. */
static lob_status grow(lob_pair_table *table)
{
    const int64_t before = table->slot_count, slot_count = before ? 2 * before : FIRST_SLOTS;
    lob_pair *slots;
    lob_status st;
#pragma omp critical(lob_pair_table)
    st = lob_budget_alloc(table->budget, &slots, slot_count, sizeof *slots, NULL);
    if (st != LOB_OK) return st;
    memset(slots, 0, (size_t)slot_count * sizeof *slots);
    for (int64_t i = 0; i < before; i++) {
        const lob_pair *const pair = &table->slots[i];
        if (pair->count) *slot_of(slots, slot_count, pair->a, pair->b) = *pair;
    }
    const int64_t used = table->used;
    free_slots(table);
    table->slots = slots;
    table->slot_count = slot_count;
    table->used = used;
    return LOB_OK;
}

lob_status lob_pair_add(lob_pair_table *table, uint32_t a, uint32_t b, int64_t count)
{
    if (3 * (table->used + 1) > 2 * table->slot_count) {
        LOB_TRY(grow(table));
    }
    lob_pair *const slot = slot_of(table->slots, table->slot_count, a, b);
    table->used += slot->count == 0;
    *slot = (lob_pair){a, b, slot->count + count};
    return LOB_OK;
}

int64_t lob_pair_count(const lob_pair_table *table, uint32_t a, uint32_t b)
{
    return slot_of(table->slots, table->slot_count, a, b)->count;
}

lob_status lob_pair_tables_make(lob_pair_table **tables, int count, lob_budget *budget,
                                lob_error *error)
{
    LOB_TRY(lob_budget_calloc(budget, tables, count, sizeof **tables, error));
    for (int t = 0; t < count; t++) (*tables)[t].budget = budget;
    return LOB_OK;
}

lob_status lob_pair_tables_join(lob_pair_table *tables, int count)
{
    for (int t = 1; t < count; t++) {
        for (int64_t i = 0; i < tables[t].slot_count; i++) {
            const lob_pair *const pair = &tables[t].slots[i];
            if (pair->count) LOB_TRY(lob_pair_add(&tables[0], pair->a, pair->b, pair->count));
        }
        free_slots(&tables[t]);
    }
    return LOB_OK;
}

void lob_pair_tables_free(lob_pair_table *tables, int count, lob_budget *budget)
{
    for (int t = 0; tables && t < count; t++) free_slots(&tables[t]);
    lob_budget_free(budget, tables, count, sizeof *tables);
}
