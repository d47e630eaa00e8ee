/* Unions of runs: within a slab by the thread that has it, along the seams by all of them. */
#ifndef LOB_COMPONENTS_JOIN_H
#define LOB_COMPONENTS_JOIN_H

#include "kernels/components/join/join_slabs.h"

/* What a thread keeps of rows: runs before each word of the last ones, and bits of its own. */
typedef struct {
    int64_t slots;   /* rows kept, a power of 2 */
    uint32_t *ranks; /* slots * words */
    uint64_t *scratch;
    int64_t scratch_words;
} lob_window;

/* Allocate `count` windows, all 0 before. On failure give them back too. */
lob_status lob_windows_take(lob_pieces *pieces, lob_window *windows, int count, lob_error *error);
void lob_windows_give(lob_pieces *pieces, lob_window *windows, int count);

/* Join the runs of a slab: nodes become pieces, counted from 0. */
void lob_join_slab(lob_pieces *pieces, lob_slab *slab, const lob_window *window);

/*
 * Join a slab's first rows with those before them, in other slabs: numbers of pieces get parents,
 * of which the first is the root. Several threads may at a time.
 */
void lob_join_seam(lob_pieces *pieces, lob_slab *slab, const lob_window *window);

#endif
