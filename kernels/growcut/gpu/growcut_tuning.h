/*
 * The schedule of GrowCut on a GPU: the defaults of every call, and an entry by which benchmarks
 * and tests choose another and learn how much work it was.
 */
#ifndef LOB_GROWCUT_TUNING_H
#define LOB_GROWCUT_TUNING_H

#include "kernels/growcut/growcut.h"

LOB_BEGIN_DECLS

/* The schedule: it decides the time, not the result (but for max_sweeps). A flood reads neither the
 * window's width nor max_turns. */
typedef struct {
    double window_steps;  /* width of the cost window: steps of sampled mean cost, >= 0 ... */
    double window_levels; /* ... plus levels, >= 0 */
    int max_turns;      /* of a visit, 32 cells a turn, >= 1; 0: until no cell of the tile waits */
    int warps;          /* of a block, 1..32; 0: as many as fit */
    int64_t max_sweeps; /* stop after these, of cells of several channels after so many windows,
                           before the fixed point; 0: no limit */
    bool adapt;         /* widen the window, up to 16 times, while warps are idle; of a flood widen
                           and narrow it, from all costs to a single one */
} lob_growcut_tuning;

#define LOB_GROWCUT_TUNING                                                                      \
    {                                                                                           \
        .window_steps = 30, .window_levels = 1.0, .max_turns = 32, .warps = 0, .max_sweeps = 0, \
        .adapt = true                                                                           \
    }

/* The work of a call, added up over its attempts; all but tiles also over their passes. */
typedef struct {
    int64_t tiles;
    int64_t sweeps;   /* over all tiles, or with options->rounds the automaton's rounds; windows
                         where cells have several channels */
    int64_t visits;   /* of tiles */
    int64_t expanded; /* cells that made offers; in a flood: whose key was found anew */
} lob_growcut_counts;

/* As lob_growcut_cuda; counts is out and may be NULL, tuning may be NULL: the default. */
lob_status lob_growcut_cuda_tuned(const lob_growcut_output *out, lob_growcut_stats *stats,
                                  lob_growcut_counts *counts, const lob_growcut_input *in,
                                  const lob_growcut_options *options,
                                  const lob_growcut_tuning *tuning, const lob_context *context,
                                  lob_error *error);

LOB_END_DECLS

#endif
