/* Unions between rows: inside a slab by one thread, across a seam by all threads at a time. */
#ifndef LOB_JOIN_ROWS_H
#define LOB_JOIN_ROWS_H

#include "kernels/components/join/run_table.h"

/* Working memory of a thread: for the rows last seen, the number of runs before each word. */
typedef struct {
    int64_t slots;   /* rows remembered, a power of 2 */
    uint32_t *ranks; /* slots * words */
    uint64_t *bits;  /* bit_words: rows of bits */
    int64_t bit_words;
} lob_join_scratch;

/* Allocate for `count` threads; all 0 before. Free afterwards in any case. */
lob_status lob_join_scratch_alloc(lob_run_table *table, lob_join_scratch *scratch, int count,
                                  lob_error *error);
void lob_join_scratch_free(lob_run_table *table, lob_join_scratch *scratch, int count);

/* Join the runs of a slab: sets run_piece, pieces counted from 0. */
void lob_join_slab(lob_run_table *table, lob_slab *slab, const lob_join_scratch *scratch);

/*
 * Join a slab's first rows with the rows of earlier slabs: in number each piece gets a parent, and
 * the root of a set is its first piece. Several threads may do this at a time, each for its slab.
 */
void lob_join_seam(lob_run_table *table, lob_slab *slab, const lob_join_scratch *scratch);

#endif
