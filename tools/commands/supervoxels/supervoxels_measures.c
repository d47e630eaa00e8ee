/* What tables and other outputs of `lobule supervoxels` show beside the labels. */
#include "io/png.h"
#include "kernels/regions/contacts_slabs.h"
#include "tools/commands/supervoxels/supervoxels_work.h"
#include "tools/table/table_file.h"

lob_label_grid lob_supervoxels_grid(const lob_supervoxels_work *w)
{
    return (lob_label_grid){w->labels.data, w->labels.type, w->stats.supervoxels, w->labels.dims};
}

/* Means are float32; in a picture they are rounded, in the image's own units. */
static lob_status paint_means(lob_session *s, lob_supervoxels_work *w, const lob_volume *image,
                              const lob_label_grid *grid)
{
    const bool picture = lob_is_png_name(w->mean_path);
    LOB_TRY(lob_grid_make(s, &w->mean, image, picture ? image->type : LOB_F32, image->channels,
                          w->mean_path));
    lob_label_names_free(&w->mean.names);
    if (picture) {
        w->mean.slope = image->slope;
        w->mean.inter = image->inter;
    }
    lob_paint_means(&w->mean, grid, w->means, s->context.threads);
    return LOB_OK;
}

static lob_status find_contacts(lob_session *s, lob_supervoxels_work *w, const lob_label_grid *grid)
{
    const lob_status st =
        lob_contacts(&w->contacts, &w->contact_count, grid, &w->image.geometry, w->means,
                     w->image.channels, w->options.slice_axis, &s->context, &s->error);
    lob_session_hold(s, w->contact_count * (int64_t)sizeof *w->contacts);
    return lob_session_name(s, st, w->slabs.path, NULL);
}

static lob_status find_means(lob_session *s, lob_supervoxels_work *w, const lob_label_grid *grid)
{
    const size_t each = (size_t)w->image.channels * sizeof *w->means;
    w->means = lob_session_array(s, grid->count, each, w->labels_path);
    if (!w->means) return LOB_ENOMEM;
    const lob_status st = lob_label_means(w->means, grid, &w->image, &s->context, &s->error);
    return lob_session_name(s, st, w->slabs.path, NULL);
}

lob_status lob_supervoxels_measure(lob_session *s, lob_supervoxels_work *w)
{
    const lob_label_grid grid = lob_supervoxels_grid(w);
    lob_session_compute(s, "measuring");
    if (w->mean_path || w->graph) LOB_TRY(find_means(s, w, &grid));
    if (w->graph) LOB_TRY(find_contacts(s, w, &grid));
    lob_session_computed(s);
    w->regions = (lob_region_table){.grid = &w->labels,
                                    .image = w->image.channels == 1 ? &w->image : NULL,
                                    .count = grid.count,
                                    .scan = w->name,
                                    .columns = w->columns};
    return w->table ? lob_region_table_measure(s, &w->regions, w->slabs.path, NULL) : LOB_OK;
}

/* ---- outputs ---- */

/* What the rows of the graph are made of. */
typedef struct {
    const lob_contact *contacts;
    double per_mm2; /* of the unit of areas */
} graph;

static bool contact_row(double *values, int64_t i, const void *user)
{
    const graph *const g = user;
    const lob_contact *const c = &g->contacts[i];
    values[0] = c->a;
    values[1] = c->b;
    values[2] = (double)(c->faces[0] + c->faces[1] + c->faces[2]);
    values[3] = c->mm2 * g->per_mm2;
    values[4] = c->difference;
    return true;
}

static lob_status write_tables(lob_session *s, lob_supervoxels_work *w)
{
    const bool um = lob_shows_micrometres(&w->image.geometry);
    const char *const names[] = {"label_a", "label_b", "faces", um ? "area_um2" : "area_mm2",
                                 "mean_difference"};
    const graph touching = {w->contacts, um ? 1e6 : 1.0};
    const lob_table contacts = {
        .names = names,
        .columns = LOB_COUNT(names),
        .scan = w->name,
        .rows = w->contact_count,
        .row = contact_row,
        .user = &touching,
    };
    if (w->table) LOB_TRY(lob_region_table_write(s, &w->regions, w->table));
    return w->graph ? lob_table_write(s, &contacts, w->graph) : LOB_OK;
}

/* Of a slab, which leaves at once. */
static lob_status put_slab(lob_session *s, lob_supervoxels_work *w, lob_volume *volume,
                           const char *path, bool labels)
{
    if (!s->team) return LOB_OK;
    LOB_TRY(lob_slabs_write(s, &w->slabs, &w->slab, volume, path, labels));
    lob_grid_drop(s, volume);
    return LOB_OK;
}

lob_status lob_supervoxels_write(lob_session *s, lob_supervoxels_work *w)
{
    const lob_volume *const image = &w->slab.image;
    const lob_label_grid grid = lob_supervoxels_grid(w);
    lob_volume *const marks = &w->boundaries;
    if (w->mean_path) {
        LOB_TRY(paint_means(s, w, image, &grid));
        LOB_TRY(put_slab(s, w, &w->mean, w->mean_path, false));
    }
    if (w->boundaries_path) {
        LOB_TRY(lob_grid_make(s, marks, image, LOB_U8, 1, w->boundaries_path));
        lob_label_names_free(&marks->names);
        LOB_TRY(lob_paint_boundaries_slabs(marks->data, &grid, w->options.slice_axis, s->team,
                                           s->context.threads, &s->error));
        lob_grid_show_mask(marks, w->boundaries_path);
        LOB_TRY(put_slab(s, w, marks, w->boundaries_path, true));
    }
    if (lob_team_rank(s->team) == 0) LOB_TRY(write_tables(s, w));
    if (s->team) return put_slab(s, w, &w->labels, w->labels_path, true);
    LOB_TRY(lob_session_write(s, &w->mean, w->mean_path, false));
    LOB_TRY(lob_session_write(s, marks, w->boundaries_path, true));
    return lob_session_write(s, &w->labels, w->labels_path, true);
}
