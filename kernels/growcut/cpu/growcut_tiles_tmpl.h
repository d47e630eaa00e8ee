/* The tile engine for one width of key: KEY_BITS is 32 or 64. growcut_tiles.h says what it does. */
#include "kernels/growcut/cpu/tiles_fill_tmpl.h"
#include "kernels/growcut/cpu/tiles_grow_tmpl.h"
#include "kernels/growcut/cpu/tiles_results_tmpl.h"
#include "kernels/growcut/cpu/tiles_rounds_tmpl.h"

lob_status ENTRY(lob_growcut_tiles)(const lob_growcut_section *section, bool reversed,
                                    lob_growcut_result *result, lob_error *error)
{
    engine e = {.section = section,
                .reversed = reversed,
                .workers = section->threads,
                .norm = section->norm,
                .packs = lob_packs(section->data.image)};
    e.budget = (lob_budget){.who = "GrowCut's tiles", .limit = section->max_memory};
    *result = (lob_growcut_result){.stats.fixed_point = true};
    cut_into_tiles(&e);
    lob_status st = engine_alloc(&e, error);
    if (st != LOB_OK) goto out;
    choose_keys(&e);
    list_steps(&e);
    st = fill(&e, result);
    if (st != LOB_OK) goto out;
    choose_cost_window(&e);
    st = section->rounds ? grow_rounds(&e, result) : grow(&e, error);
    if (st != LOB_OK) goto out;
    write_results(&e, result);
    if (!reversed && !result->overflow)
        result->overflow = KEY_BITS == 32 && overflowed(&e, result->largest);
    result->stats.working_bytes = e.budget.peak;
out:
    engine_free(&e);
    return st;
}
