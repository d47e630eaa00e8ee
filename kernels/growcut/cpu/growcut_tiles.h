/*
 * GrowCut on the CPU: how a voxel gets its label. Reading starts with growcut_cpu.c, which grows
 * the volume, or every slice of it, as a section; this is the engine that grows one section. Its
 * parts, in reading order, are
 *
 *   growcut_tiles_tmpl.h   fill, grow, write
 *   tiles_state_tmpl.h     keys, tiles and their memory
 *   tiles_fill_tmpl.h      voxels become cells with levels and a first key; seeds are queued
 *   tiles_grow_tmpl.h      tiles are visited until no key falls
 *   tiles_seams_tmpl.h     of a slab: keys are exchanged with the ranks beside it
 *   tiles_change_tmpl.h    seeds change afterwards, and the growth goes on
 *   tiles_rounds_tmpl.h    in place of that: rounds of the automaton, for options->rounds
 *   tiles_results_tmpl.h   keys become labels, strengths and ties
 *
 * and growcut_tiles_32.c and growcut_tiles_64.c compile them for keys of 32 and of 64 bits. What
 * growcut_sweeps.h fits is grown by that first.
 *
 * A section is cut into tiles. A tile holds its cells' keys and levels and, one cell wide around
 * them, copies of its neighbours' cells (the halo), so growing in a tile reads no other memory and
 * checks no bounds: a cell that is not data, or lies outside the section, has key 0, which no offer
 * undercuts.
 *
 * The search is label-correcting, ordered as in Meyer and Sanders, "Delta-stepping: a
 * parallelizable shortest path algorithm" (J. Algorithms 49, 2003). A sweep visits, in parallel,
 * every tile with cells queued below the cost window's end; the window starts at the lowest queued
 * key. A visit grows the tile's cells in buckets of equal width. An offer that lowers a halo cell
 * is noted there, so that it is made once, and sent to the tile that owns the cell when the visit
 * ends. Keys only fall, so the order decides the time and not the result.
 *
 *      +---+------------+---+
 *      | h |   halo     | h |      key: (cost << label_bits) | label;
 *      +---+------------+---+           0 where it never changes: not data, and seeds of strength 1
 *      | h |   tile     | h |      a smaller key is a cheaper path, or as cheap with a
 *      +---+------------+---+      smaller label
 *      | h |   halo     | h |
 *      +---+------------+---+
 */
#ifndef LOB_GROWCUT_TILES_H
#define LOB_GROWCUT_TILES_H

#include "kernels/growcut/growcut_rule.h"
#include "volumes/labels.h"

#include <stdatomic.h>

/* What is grown on its own: a whole volume, or a slice. */
typedef struct {
    const lob_growcut_input *in;
    const lob_growcut_output *out;
    lob_data data;
    lob_view view;
    lob_levels levels;
    lob_growcut_rule rule;
    uint32_t *cost; /* lob_growcut_costs of the rule */
    lob_norm norm;
    const struct lob_growcut_slab *slab; /* what of it is this rank's own; NULL: all */
    int seam_axis;                       /* of the view: along it lie a slab's planes */
    int rounds;                          /* of the automaton; 0: to the fixed point */
    int tile;                            /* voxels along a side, at most */
    int threads;
    int64_t max_memory;                /* 0: no limit */
    const lob_context *context;        /* to report progress to; NULL: it is not reported */
    double progress_from, progress_to; /* of the whole call, when this starts and when it ends */
    const atomic_int *cancelled;       /* may be NULL */
} lob_growcut_section;

typedef struct {
    lob_growcut_stats stats;  /* of a pass: without those of levels, and without key_bits */
    uint64_t largest;         /* cost, in units */
    int64_t steps;            /* of a flood: the most that a path takes on one level */
    bool overflow;            /* a path's cost did not fit 32 bits: grow again with 64 */
    int64_t first[3], end[3]; /* of the section: where results were written */
} lob_growcut_result;

/* Seeds of a part of a section, in place of those that are there. */
typedef struct {
    const void *seeds; /* of the whole volume, of the input's type */
    int64_t first[3], size[3];
} lob_growcut_change;

/* An engine between two growths. */
typedef struct lob_growcut_kept lob_growcut_kept;

/* The engine for one width of key. */
typedef struct {
    /*
     * Grow, and write labels and strengths. reversed: of equal costs the largest label wins; write
     * the tie zone, which is where the labels now differ.
     */
    lob_status (*grow)(const lob_growcut_section *section, bool reversed,
                       lob_growcut_result *result, lob_error *error);

    /*
     * Make an engine that is kept, to the fixed point of a rule whose seeds have no strength of
     * their own. The section stays the caller's, who may change where it reports progress.
     */
    lob_status (*keep)(lob_growcut_kept **kept, const lob_growcut_section *section,
                       lob_error *error);

    /*
     * Change seeds, those of section->in too; grow; write the labels and strengths of tiles in
     * which they may differ from what was written last. After LOB_ECANCEL it may be called again,
     * with this change and more; after LOB_ENOMEM it may not.
     */
    lob_status (*grow_on)(lob_growcut_kept *kept, const lob_growcut_change *change,
                          lob_growcut_result *result, lob_error *error);
    void (*release)(lob_growcut_kept *kept); /* NULL is fine */
} lob_growcut_engine;

extern const lob_growcut_engine lob_growcut_tiles_32, lob_growcut_tiles_64;

/* ---- growcut_cpu.c ---- */

/* A section of checked input, without its view, levels and rule. */
lob_growcut_section lob_growcut_section_of(const lob_growcut_output *out,
                                           const lob_growcut_input *in,
                                           const lob_growcut_options *options,
                                           const lob_context *context);

/* Scan the levels of its view and make its rule. Its costs are to be freed. Returns LOB_OK,
 * LOB_ENOMEM or, of a slab, what its team does.
 */
lob_status lob_growcut_section_begin(lob_growcut_section *section,
                                     const lob_growcut_options *options, lob_error *error);

/* What a section says of a result that did not overflow. */
lob_growcut_stats lob_growcut_section_stats(const lob_growcut_section *section,
                                            const lob_growcut_result *result, int key_bits);

/* Report that so many voxels have a path; returns whether to stop. */
bool lob_growcut_stops(const lob_growcut_section *section, int64_t reached);

/* Write a voxel's label, 0: none, and its strength. own: count it. */
static inline void lob_growcut_put(const lob_growcut_section *section, int64_t voxel, int32_t label,
                                   uint64_t units, bool own, lob_growcut_result *result)
{
    const lob_growcut_output *const out = section->out;
    lob_label_put(out->labels, section->in->seeds->type, voxel, label);
    if (out->strength)
        out->strength[voxel] = label ? lob_growcut_strength(&section->rule, units) : 0.0F;
    result->stats.reached += own && label != 0;
    if (label && units > result->largest) result->largest = units;
}

/* Let threads do an engine's work on each of so many parts, and add what these count to a result:
 * seeds, voxels reached, ties, the largest cost, overflows. Returns whether all went well. */
typedef bool lob_growcut_part(const void *engine, int64_t number, lob_growcut_result *part);
bool lob_growcut_in_parts(lob_growcut_result *result, lob_growcut_part *part, const void *engine,
                          int64_t parts, int threads);

#endif
