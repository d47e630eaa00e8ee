/* `lobule filter` some planes at a time: what does not fit in memory, or several tasks share. */
#include "tools/commands/filter/filter_work.h"

typedef lob_filter_work work;

bool lob_filter_goes_in_slabs(lob_session *s, work *w)
{
    enum { OUT_AND_WORK = 12 };
    lob_volume image;
    if (!lob_slabs_serve(s, &w->slabs, OUT_AND_WORK)) return false;
    if (s->ranks || w->slabs.plan > 0 || !lob_session_peek(s, &image, w->slabs.path)) return true;
    lob_filter_chain_fit(&w->chain, &image, lob_grid_slice_axis(w->slices, &image.geometry));
    return lob_slab_filter_parts(&image, w->chain.step, w->chain.given.count, &w->options);
}

static lob_status filter_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    lob_filter_output *const one = &w->one;
    const int64_t before = lob_slab_before(slab);
    LOB_TRY(lob_slab_filter_run(s, &w->filter, slab, one));
    const void *const own =
        (const char *)one->data + before * (int64_t)lob_type_of(one->type)->bytes;
    LOB_TRY(lob_slabs_put(s, &w->slabs, slab, own));
    lob_slab_filter_drop(s, slab, one);
    return LOB_OK;
}

lob_status lob_filter_in_slabs(lob_session *s, work *w)
{
    const lob_volume *const image = &w->slabs.volume;
    LOB_TRY(lob_session_device(s));
    LOB_TRY(lob_slabs_open(s, &w->slabs));
    LOB_TRY(lob_filter_fit(s, w, image));
    LOB_TRY(lob_session_check(s, image, w->type, 1, w->out_path));
    w->filter = (lob_slab_filter){
        &w->slabs,
        {.steps = w->chain.step, .step_count = w->chain.given.count},
        &w->options,
        (int64_t)lob_type_of(w->type)->bytes
    };
    LOB_TRY(lob_slab_filter_begin(s, &w->filter, 0));
    if (w->slabs.plan > 0) return LOB_OK;
    const lob_volume made = lob_grid_header(image, w->type);
    LOB_TRY(lob_slabs_begin(s, &w->slabs, &made, 0, w->out_path, lob_write_defaults()));
    LOB_TRY(lob_slabs_each(s, &w->slabs, filter_slab, w));
    lob_filter_note_steps(&w->one, &w->filter.in);
    w->one.not_data = w->filter.not_data;
    w->one.working_bytes = w->filter.working_bytes;
    lob_filter_chain_report(s->results, &w->chain, &w->one);
    cJSON_AddStringToObject(s->results, "type", lob_type_of(w->type)->name);
    cJSON_AddNumberToObject(s->results, "channels", w->out_channels);
    return lob_slabs_commit(s, &w->slabs);
}
