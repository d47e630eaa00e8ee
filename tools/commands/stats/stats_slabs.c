/* `lobule stats` in slabs: sums of each slab's regions, added up by label. */
#include "kernels/regions/regions_sum.h"
#include "tools/commands/stats/stats_work.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a label. */
typedef struct {
    int32_t label;
    lob_region region;
    lob_region_values values;
} sums;

/* In rising order of labels. */
typedef struct {
    sums *row;
    int64_t count;
} list;

typedef struct {
    lob_stats_work *common;
    lob_slabs *slabs;
    lob_extremes extremes; /* of the image */
    lob_fine_levels fine;
    list all;
} work;

/* ---- lists ---- */

/* Add the sums of `part`, which is freed, to those of `all`. */
static lob_status join(lob_session *s, list *all, list *part, const char *path)
{
    const int64_t before = all->count + part->count;
    sums *const row = lob_session_array(s, before, sizeof *row, path);
    int64_t a = 0, b = 0, n = 0;
    if (!row) return LOB_ENOMEM;
    while (a < all->count || b < part->count) {
        const bool first =
            b == part->count || (a < all->count && all->row[a].label <= part->row[b].label);
        const bool both = first && b < part->count && all->row[a].label == part->row[b].label;
        row[n] = first ? all->row[a++] : part->row[b++];
        if (both) {
            lob_region_add(&row[n].region, &part->row[b].region);
            lob_region_values_add(&row[n].values, &part->row[b++].values);
        }
        n++;
    }
    lob_session_give(s, 2 * before * (int64_t)sizeof *row - n * (int64_t)sizeof *row);
    free(all->row);
    free(part->row);
    sums *const fitted = realloc(row, ((size_t)n + 1) * sizeof *row);
    *all = (list){fitted ? fitted : row, n};
    *part = (list){NULL, 0};
    return LOB_OK;
}

/* ---- slabs ---- */

static lob_status see_extremes(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const lob_extremes one = lob_extremes_of(&slab->image, s->context.threads);
    lob_extremes_widen(&w->extremes, &one, slab->image.type);
    return lob_session_cancelled(s);
}

/* Measure the regions of labels 1..count of a slab into a list. */
static lob_status measure(lob_session *s, const work *w, const lob_slab *slab,
                          const lob_volume *labels, const lob_label_set *set, list *out)
{
    const lob_regions_input in = {.labels = labels->data,
                                  .type = labels->type,
                                  .count = set->count,
                                  .dims = labels->dims,
                                  .image = &slab->image};
    const char *const path = w->slabs->labels_path;
    const size_t n = (size_t)set->count;
    lob_region *const regions = lob_session_array(s, set->count, sizeof *regions, path);
    lob_region_values *const values = lob_session_array(s, set->count, sizeof *values, path);
    sums *const row = lob_session_array(s, set->count, sizeof *row, path);
    lob_status st = regions && values && row ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) st = lob_regions_check(&in, &s->error);
    if (st == LOB_OK) st = lob_regions_sum(regions, values, &w->fine, &in, &s->context, &s->error);
    for (size_t i = 0; st == LOB_OK && i < n; i++) {
        lob_region *const r = &regions[i];
        r->first += slab->z * labels->dims.nx * labels->dims.ny;
        r->low[2] += (int32_t)slab->z;
        r->high[2] += (int32_t)slab->z;
        r->sum[2] += slab->z * r->voxels;
        row[i] = (sums){set->values[i], *r, values[i]};
    }
    lob_session_give(s, (int64_t)(n * (sizeof *regions + sizeof *values)));
    free(regions);
    free(values);
    *out = (list){row, set->count};
    return lob_session_name(s, st, w->slabs->path, path);
}

static lob_status measure_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const char *const path = w->slabs->labels_path;
    lob_volume labels = w->slabs->labels;
    const size_t bytes = (size_t)lob_slab_voxels(slab) * lob_type_of(labels.type)->bytes;
    lob_label_set set = {0};
    list part = {0};
    labels.dims.nz = slab->planes;
    labels.data = malloc(bytes);
    if (!labels.data) return lob_session_no_memory(s, path);
    memcpy(labels.data, slab->labels, bytes);
    lob_session_compute(s, "measuring");
    lob_status st = lob_labels_dense(&labels, &set, path, &s->error);
    if (st != LOB_OK && slab->z > 0)
        lob_error_add(&s->error, " (z is counted from plane %lld)", (long long)slab->z);
    if (st == LOB_OK) st = measure(s, w, slab, &labels, &set, &part);
    if (st == LOB_OK) st = join(s, &w->all, &part, path);
    free(part.row);
    free(labels.data);
    lob_label_set_free(&set);
    return lob_session_done(s, st, path, NULL);
}

/* ---- ranks ---- */

/* Rank 0 takes the list of another rank. */
static lob_status take_list(lob_session *s, work *w, int from)
{
    const int me = lob_team_rank(s->team);
    list part = {0};
    int64_t count = me == from ? w->all.count : 0;
    LOB_TRY(lob_team_reduce(s->team, &count, 1, LOB_TEAM_MAX, &s->error));
    const int64_t bytes = count * (int64_t)sizeof *part.row;
    if (me == 0) {
        part = (list){lob_session_array(s, count, sizeof *part.row, w->slabs->labels_path), count};
        if (!part.row) return LOB_ENOMEM;
    }
    const lob_letter letter =
        me == 0 ? (lob_letter){.with = from, .receive = part.row, .receive_bytes = bytes}
                : (lob_letter){.send = w->all.row, .send_bytes = bytes};
    lob_status st = lob_team_send(s->team, &letter, me == 0 || me == from, &s->error);
    if (st == LOB_OK && me == 0) st = join(s, &w->all, &part, w->slabs->labels_path);
    free(part.row);
    return st;
}

/* ---- the table ---- */

/* The list as the arrays of a table. */
static lob_status fill_table(lob_session *s, work *w)
{
    lob_stats_work *const common = w->common;
    lob_region_table *const t = &common->table;
    const char *const path = w->slabs->labels_path;
    const int64_t n = w->all.count;
    int32_t *const labels = lob_session_array(s, n, sizeof *labels, path);
    common->labelled = (lob_label_set){.count = (int32_t)n, .values = labels};
    t->regions = lob_session_array(s, n, sizeof *t->regions, path);
    t->intensities = lob_session_array(s, n, sizeof *t->intensities, path);
    t->fine = lob_session_array(s, 1, sizeof *t->fine, path);
    if (!labels || !t->regions || !t->intensities || !t->fine) return LOB_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        labels[i] = w->all.row[i].label;
        t->regions[i] = w->all.row[i].region;
        t->intensities[i] = w->all.row[i].values;
    }
    *t->fine = w->fine;
    t->count = n;
    t->labels = labels;
    return lob_session_name(s, lob_regions_check_data(t->intensities, n, &s->error), path, NULL);
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
    for (int r = 1; r < lob_team_size(s->team); r++) LOB_TRY(take_list(s, w, r));
    return lob_team_rank(s->team) == 0 ? write_table(s, w) : LOB_OK;
}

lob_status lob_stats_by_slabs(lob_session *s, lob_stats_work *common, lob_slabs *slabs)
{
    work w = {.common = common, .slabs = slabs};
    const lob_status st = make(s, &w);
    free(w.all.row);
    return st;
}
