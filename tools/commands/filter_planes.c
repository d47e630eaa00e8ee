/* `lobule filter` for volumes that do not fit in memory, or that several tasks share: in slabs. */
#include "tools/commands/filter_work.h"
#include "tools/commands/slab_filter.h"

bool lob_filter_goes_in_slabs(lob_session *s, lob_filter_work *w, const lob_slabs *slabs)
{
    enum { OUT_AND_WORK = 12 };
    lob_volume image;
    if (!lob_slabs_serve(s, slabs, OUT_AND_WORK)) return false;
    if (s->ranks || slabs->plan > 0 || !lob_session_peek(s, &image, slabs->path)) return true;
    lob_filter_steps_fit(w->steps, w->typed, w->set.steps.count, &image,
                         lob_grid_slice_axis(w->set.slices, &image.geometry));
    const bool parts = lob_slab_filter_parts(&image, w->steps, w->set.steps.count, &w->set.options);
    lob_volume_free(&image);
    return parts;
}

typedef struct {
    lob_filter_work *w;
    lob_slabs *slabs;
    lob_slab_filter filter;
} in_slabs;

static lob_status filter_slab(lob_session *s, const lob_slab *slab, void *user)
{
    in_slabs *const all = user;
    lob_filter_output *const one = &all->w->one;
    const int64_t before = lob_slab_before(slab);
    LOB_TRY(lob_slab_filter_run(s, &all->filter, slab, one));
    const void *const own =
        (const char *)one->data + before * (int64_t)lob_type_of(one->type)->bytes;
    LOB_TRY(lob_slabs_put(s, all->slabs, slab, own));
    lob_slab_filter_drop(s, slab, one);
    return LOB_OK;
}

static lob_status filter_slabs(lob_session *s, in_slabs *all)
{
    lob_filter_work *const w = all->w;
    const lob_filter_settings *const set = &w->set;
    const lob_volume *const image = &all->slabs->volume;
    const lob_filter_input in = {.image = image, .steps = w->steps, .step_count = set->steps.count};
    LOB_TRY(lob_slabs_open(s, all->slabs));
    LOB_TRY(lob_filter_fit(s, w, image));
    LOB_TRY(lob_session_check(s, image, w->type, 1, set->out));
    all->filter.sent = (int64_t)lob_type_of(w->type)->bytes;
    LOB_TRY(lob_slab_filter_begin(s, &all->filter, 0));
    if (all->slabs->plan > 0) return LOB_OK;
    const lob_volume made = lob_grid_header(&all->slabs->volume, w->type);
    LOB_TRY(lob_slabs_begin(s, all->slabs, &made, 0, set->out, lob_write_defaults()));
    LOB_TRY(lob_slabs_each(s, all->slabs, filter_slab, all));
    lob_filter_note_steps(&w->one, &in);
    w->one.not_data = all->filter.not_data;
    w->one.working_bytes = all->filter.working_bytes;
    w->frames = 1;
    lob_filter_report(s, w, NULL);
    cJSON_AddStringToObject(s->results, "type", lob_type_of(w->type)->name);
    cJSON_AddNumberToObject(s->results, "channels", w->out_channels);
    return lob_slabs_commit(s, all->slabs);
}

lob_status lob_filter_by_slabs(lob_session *s, lob_filter_work *w, lob_slabs *slabs)
{
    in_slabs all = {
        w, slabs, {slabs, w->steps, w->set.steps.count, &w->set.options}
    };
    LOB_TRY(lob_session_device(s));
    const lob_status st = filter_slabs(s, &all);
    lob_slabs_close(s, slabs);
    return st;
}
