/* The tile engine for one width of key; KEY_BITS is 32 or 64. See growcut_tiles.h. */
#include "kernels/growcut/cpu/tiles_state_tmpl.h"

#include "kernels/growcut/cpu/tiles_fill_tmpl.h"
#include "kernels/growcut/cpu/tiles_grow_tmpl.h"
#include "kernels/growcut/cpu/tiles_results_tmpl.h"
#include "kernels/growcut/cpu/tiles_rounds_tmpl.h"

static lob_status run_engine(const lob_growcut_job *job, bool reversed, lob_growcut_result *result,
                             lob_error *error)
{
    engine e = {.job = job, .reversed = reversed, .workers = job->threads, .norm = job->norm};
    *result = (lob_growcut_result){.fixed_point = true};
    lay_out(&e);
    lob_status st = engine_alloc(&e, error);
    if (st != LOB_OK) goto out;
    choose_keys(&e);
    list_steps(&e);
    st = fill(&e, result);
    if (st != LOB_OK) goto out;
    choose_window(&e);
    st = job->rounds ? grow_rounds(&e, result) : grow(&e, error);
    if (st != LOB_OK) goto out;
    write_results(&e, result);
    if (KEY_BITS == 32 && !reversed && !result->overflow)
        result->overflow = overflowed(&e, result->largest);
    result->working_bytes = e.peak_bytes;
out:
    engine_free(&e);
    return st;
}

lob_status ENTRY(lob_growcut_tiles)(const lob_growcut_job *job, lob_growcut_result *result,
                                    lob_error *error)
{
    return run_engine(job, false, result, error);
}

lob_status ENTRY(lob_growcut_ties)(const lob_growcut_job *job, lob_growcut_result *result,
                                   lob_error *error)
{
    return run_engine(job, true, result, error);
}
