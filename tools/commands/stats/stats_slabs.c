/* `lobule stats` in slabs: sums of each slab's regions, added up by label. */
#include "kernels/regions/regions_sum.h"
#include "tools/commands/stats/stats_work.h"
#include "tools/table/region_list.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_stats_work *common;
    lob_slabs *slabs;
    lob_extremes extremes; /* of the image */
    lob_fine_levels fine;
    lob_region_list all;
} work;

/* ---- slabs ---- */

static lob_status see_extremes(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const lob_extremes one = lob_extremes_of(&slab->image, s->context.threads);
    lob_extremes_widen(&w->extremes, &one, slab->image.type);
    return lob_session_cancelled(s);
}

static lob_status measure_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const char *const path = w->slabs->labels_path;
    lob_volume labels = w->slabs->labels;
    const size_t bytes = (size_t)lob_slab_voxels(slab) * lob_type_of(labels.type)->bytes;
    lob_label_set set = {0};
    labels.dims.nz = slab->planes;
    labels.data = malloc(bytes);
    if (!labels.data) return lob_session_no_memory(s, path);
    memcpy(labels.data, slab->labels, bytes);
    lob_session_compute(s, "measuring");
    lob_status st = lob_labels_dense(&labels, &set, path, &s->error);
    if (st != LOB_OK && slab->z > 0)
        lob_error_add(&s->error, " (z is counted from plane %lld)", (long long)slab->z);
    if (st == LOB_OK)
        st = lob_region_list_add(s, &w->all, &labels, &set, &slab->image, &w->fine, slab->z,
                                 w->slabs->path, path);
    free(labels.data);
    lob_label_set_free(&set);
    return lob_session_done(s, st, path, NULL);
}

/* ---- the table ---- */

/* What the rows of the table are called, and show. */
static lob_status fill_table(lob_session *s, work *w)
{
    lob_stats_work *const common = w->common;
    const char *const path = w->slabs->labels_path;
    const int64_t n = w->all.count;
    int32_t *const labels = lob_session_array(s, n, sizeof *labels, path);
    common->labelled = (lob_label_set){.count = (int32_t)n, .values = labels};
    if (!labels) return LOB_ENOMEM;
    for (int64_t i = 0; i < n; i++) labels[i] = w->all.row[i].label;
    common->table.labels = labels;
    return lob_region_list_fill(s, &common->table, &w->all, &w->fine, path);
}

static lob_status write_table(lob_session *s, work *w)
{
    lob_stats_work *const common = w->common;
    const lob_stats_settings *const set = &common->set;
    lob_volume image = w->slabs->volume, labels = w->slabs->labels;
    image.header = labels.header = (lob_header){.bytes = NULL}; /* they stay the inputs' */
    labels.data = NULL;
    lob_stats_state_grid(&image, &labels, &set->stated);
    common->frames = 1;
    common->table = (lob_region_table){.grid = &labels,
                                       .image = &image,
                                       .scan = set->name,
                                       .columns = set->columns,
                                       .named = true};
    LOB_TRY(fill_table(s, w));
    return lob_stats_write(s, common);
}

static lob_status make(lob_session *s, work *w)
{
    enum { LABELS = 8 };
    LOB_TRY(lob_slabs_open(s, w->slabs));
    LOB_TRY(lob_slabs_cut(s, w->slabs, 0, 1, LABELS, 0));
    if (w->slabs->plan > 0) return LOB_OK;
    LOB_TRY(lob_slabs_each(s, w->slabs, see_extremes, w));
    const lob_type type = w->slabs->volume.type;
    LOB_TRY(lob_extremes_of_team(&w->extremes, s->team, type, &s->error));
    w->fine = lob_fine_levels_of(&w->extremes, type);
    LOB_TRY(lob_slabs_each(s, w->slabs, measure_slab, w));
    LOB_TRY(lob_region_list_gather(s, &w->all, w->slabs->labels_path));
    return lob_team_rank(s->team) == 0 ? write_table(s, w) : LOB_OK;
}

lob_status lob_stats_by_slabs(lob_session *s, lob_stats_work *common, lob_slabs *slabs)
{
    work w = {.common = common, .slabs = slabs};
    const lob_status st = make(s, &w);
    free(w.all.row);
    return st;
}
