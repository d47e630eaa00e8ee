/* `lobule supervoxels` by several tasks: each cuts its planes, as
 * kernels/supervoxels/supervoxels_slabs.h says, and measures them; the first has the tables. */
#include "kernels/regions/contacts_slabs.h"
#include "kernels/regions/regions_sum.h"
#include "tools/commands/supervoxels/supervoxels_work.h"
#include "tools/table/region_list.h"
#include "volumes/labels.h"

#include <stdlib.h>
#include <string.h>

typedef lob_supervoxels_work work;

/* ---- measures ---- */

static bool is_first(const lob_session *s)
{
    return lob_team_rank(s->team) == 0;
}

/* In the first task: means of one channel, and what the table shows, from the sums of all. */
static lob_status take_sums(lob_session *s, work *w, int channel, const lob_region_list *list,
                            const lob_fine_levels *fine)
{
    const lob_volume *const image = &w->slabs.volume;
    lob_region_table *const t = &w->regions;
    for (int64_t k = 0; w->means && k < list->count; k++) {
        const lob_region_sums *const row = lob_region_list_at(list, k);
        w->means[k * image->channels + channel] =
            lob_region_measure(&row->region, &row->values, &image->geometry, fine, image->slope,
                               image->inter)
                .mean;
    }
    if (!w->table || channel > 0) return LOB_OK;
    LOB_TRY(lob_region_list_fill(s, t, list, fine, w->slabs.path));
    if (image->channels == 1) return LOB_OK;
    free(t->intensities);
    t->intensities = NULL;
    return LOB_OK;
}

static lob_status measure_channel(lob_session *s, work *w, const lob_region_stack *stack,
                                  int channel)
{
    const char *const path = w->slabs.path;
    lob_volume image = w->slab.image;
    lob_region_list list = {.needs = channel == 0 ? lob_supervoxels_needs(w) : 0};
    lob_fine_levels fine;
    image.data =
        (char *)image.data + channel * lob_voxels(&image) * (int64_t)lob_type_of(image.type)->bytes;
    image.channels = 1;
    lob_status st =
        lob_region_list_of_team(s, &list, &fine, stack, &image, w->slab.z, path, w->labels_path);
    if (st == LOB_OK && is_first(s)) st = take_sums(s, w, channel, &list, &fine);
    lob_region_list_free(s, &list);
    return st;
}

static lob_status measure_channels(lob_session *s, work *w)
{
    const int channels = w->mean_path || w->graph ? w->image.channels : 1;
    lob_region_stack stack;
    lob_status st =
        lob_region_stack_make(s, &stack, &w->labels, lob_supervoxels_needs(w) != 0, w->labels_path);
    for (int c = 0; c < channels && st == LOB_OK; c++) st = measure_channel(s, w, &stack, c);
    lob_region_stack_free(s, &stack);
    return st;
}

static lob_status measure(lob_session *s, work *w, const lob_label_grid *grid)
{
    const size_t each = (size_t)w->image.channels * sizeof *w->means;
    if (!w->mean_path && !w->graph && !w->table) return LOB_OK;
    w->regions = (lob_region_table){.grid = &w->slabs.labels,
                                    .image = w->image.channels == 1 ? &w->image : NULL,
                                    .scan = w->name,
                                    .columns = w->columns};
    if (w->mean_path || (w->graph && is_first(s)))
        if (!(w->means = lob_session_array(s, grid->count, each, w->labels_path)))
            return LOB_ENOMEM;
    LOB_TRY(measure_channels(s, w));
    if (w->mean_path)
        LOB_TRY(lob_team_tell(w->means, grid->count * (int64_t)each, s->team, &s->error));
    if (!w->graph) return LOB_OK;
    const lob_status st = lob_contacts_slabs(
        &w->contacts, &w->contact_count, grid, &w->image.geometry, w->means, w->image.channels,
        w->options.slice_axis, s->team, &s->context, &s->error);
    lob_session_hold(s, w->contact_count * (int64_t)sizeof *w->contacts);
    return lob_session_name(s, st, w->slabs.path, NULL);
}

/* ---- the whole ---- */

static lob_status cut_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const int64_t before = lob_slabs_sent(s);
    w->slab = *slab;
    LOB_TRY(lob_slabs_check_mask(s, &w->slabs));
    LOB_TRY(lob_supervoxels_cut(s, w));
    const lob_label_grid grid = lob_supervoxels_grid(w);
    lob_session_compute(s, "measuring");
    LOB_TRY(lob_session_done(s, measure(s, w, &grid), w->slabs.path, NULL));
    LOB_TRY(lob_slabs_report_sent(s, before));
    lob_supervoxels_report(s, w);
    return lob_supervoxels_write(s, w);
}

static lob_status make(lob_session *s, work *w)
{
    lob_slabs *const slabs = &w->slabs;
    /* Labels, and iterations or numbering; then labels again, or the means. */
    enum { LABEL = 4, WORKING = 4, MEAN = 4 };
    if (w->slabs.plan == 0) LOB_TRY(lob_session_device(s));
    LOB_TRY(lob_slabs_open(s, slabs));
    w->image = slabs->volume; /* for options and the report */
    w->image.data = NULL;
    slabs->labels = w->image; /* of the table: where the voxels lie */
    LOB_TRY(lob_supervoxels_look(s, w));
    LOB_TRY(lob_supervoxels_expect(s, w));
    const int64_t means = w->mean_path ? MEAN * w->image.channels : 0;
    const int64_t working = lob_supervoxels_holds(s) ? WORKING : 0;
    const int64_t sent = LABEL + means + (w->boundaries_path ? 1 : 0);
    LOB_TRY(lob_slabs_cut(s, slabs, 0, 1, LABEL + (means > working ? means : working), sent));
    return slabs->plan > 0 ? LOB_OK : lob_slabs_each(s, slabs, cut_slab, w);
}

lob_status lob_supervoxels_by_slabs(lob_session *s, work *w)
{
    const lob_status st = make(s, w);
    w->image = lob_volume_empty(); /* it was the file's */
    return lob_slabs_close(s, &w->slabs, st);
}
