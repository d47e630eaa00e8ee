/* The tile engine for one width of key: KEY_BITS is 32 or 64. growcut_tiles.h says what it does. */
#include "kernels/growcut/cpu/tiles_change_tmpl.h"
#include "kernels/growcut/cpu/tiles_fill_tmpl.h"
#include "kernels/growcut/cpu/tiles_grow_tmpl.h"
#include "kernels/growcut/cpu/tiles_results_tmpl.h"
#include "kernels/growcut/cpu/tiles_rounds_tmpl.h"
#include "kernels/growcut/cpu/tiles_seams_tmpl.h"

/* Everything before the growth. engine_free frees what there is, after an error too. */
static lob_status begin(engine *e, const lob_growcut_section *section, bool reversed,
                        lob_growcut_result *result, lob_error *error)
{
    *e = (engine){.section = section,
                  .reversed = reversed,
                  .workers = section->threads,
                  .norm = section->norm,
                  .packs = lob_packs(section->data.image)};
    e->budget = (lob_budget){.who = "GrowCut's tiles", .limit = section->max_memory};
    *result = (lob_growcut_result){.stats.fixed_point = true};
    cut_into_tiles(e);
    LOB_TRY(engine_alloc(e, error));
    choose_keys(e);
    list_steps(e);
    LOB_TRY(fill(e, result));
    LOB_TRY(begin_seams(e, error));
    choose_cost_window(e);
    return LOB_OK;
}

/* Everything after it. */
static void finish(engine *e, lob_growcut_result *result)
{
    write_results(e, result);
    if (!e->reversed && !result->overflow)
        result->overflow = KEY_BITS == 32 && overflowed(e, result->largest);
    result->stats.working_bytes = e->budget.peak;
}

static lob_status grow_once(const lob_growcut_section *section, bool reversed,
                            lob_growcut_result *result, lob_error *error)
{
    engine e;
    lob_status st = begin(&e, section, reversed, result, error);
    if (st == LOB_OK)
        st = section->rounds ? grow_rounds(&e, result, error) : grow_across(&e, error);
    if (st == LOB_OK) finish(&e, result);
    if (st == LOB_OK && section->slab)
        st = lob_growcut_stats_of_slabs(&result->stats, &result->largest, 1, &result->overflow,
                                        section->slab->team, error);
    engine_free(&e);
    return st;
}

/* ---- an engine that is kept ---- */

struct lob_growcut_kept {
    engine engine;
    lob_growcut_stats stats; /* the seeds that are there */
};

static void release(lob_growcut_kept *kept)
{
    if (kept) engine_free(&kept->engine);
    free(kept);
}

static lob_status keep(lob_growcut_kept **kept, const lob_growcut_section *section,
                       lob_error *error)
{
    lob_growcut_result result;
    lob_growcut_kept *const k = calloc(1, sizeof *k);
    if (!k) return LOB_ENOMEM;
    const lob_status st = begin(&k->engine, section, false, &result, error);
    if (st != LOB_OK) {
        release(k);
        return st;
    }
    k->stats = result.stats;
    *kept = k;
    return LOB_OK;
}

static lob_status grow_on(lob_growcut_kept *kept, const lob_growcut_change *change,
                          lob_growcut_result *result, lob_error *error)
{
    engine *const e = &kept->engine;
    *result = (lob_growcut_result){.stats.fixed_point = true};
    LOB_TRY(grow(e, error)); /* what a call that was cancelled has left */
    LOB_TRY(change_seeds(e, change, &kept->stats));
    LOB_TRY(grow(e, error));
    result->stats.seeds = kept->stats.seeds;
    result->stats.seeds_outside = kept->stats.seeds_outside;
    finish(e, result);
    return LOB_OK;
}

const lob_growcut_engine ENTRY(lob_growcut_tiles) = {grow_once, keep, grow_on, release};
