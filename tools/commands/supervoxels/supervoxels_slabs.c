/* `lobule supervoxels` by several tasks: each cuts its planes, as
 * kernels/supervoxels/supervoxels_slabs.h says. */
#include "kernels/supervoxels/supervoxels_slabs.h"

#include "tools/commands/supervoxels/supervoxels_work.h"
#include "volumes/labels.h"

#include <math.h>

typedef struct {
    lob_supervoxels_work *common;
    lob_slabs *slabs;
} work;

static lob_status cut_slab(lob_session *s, const lob_slab *slab, void *user)
{
    lob_slabs *const slabs = ((work *)user)->slabs;
    lob_supervoxels_work *const w = ((work *)user)->common;
    const char *const path = w->set.labels;
    const int64_t before = lob_slabs_sent(s);
    LOB_TRY(lob_slabs_check_mask(s, slabs));
    LOB_TRY(lob_grid_make(s, &w->labels, &slab->image, LOB_I32, 1, path));
    lob_label_names_free(&w->labels.names); /* those of the image's own labels */
    const lob_supervoxels_input in = {.image = &slab->image, .mask = slab->mask};
    lob_session_compute(s, "cutting");
    const lob_status st =
        lob_supervoxels_slabs(w->labels.data, &w->stats, &in, &w->options, slabs->volume.dims.nz,
                              s->team, &s->context, &s->error);
    LOB_TRY(lob_session_done(s, st, w->set.image, NULL));
    LOB_TRY(lob_labels_pack(&w->labels, (int32_t)w->stats.supervoxels));
    LOB_TRY(lob_slabs_report_sent(s, before));
    lob_supervoxels_report(s, w);
    return lob_slabs_write(s, slabs, slab, &w->labels, path, true);
}

/* ---- what it takes ---- */

/* Voxels of a supervoxel, where the spacing allows its size. */
static double nominal_voxels(const lob_supervoxels_work *w)
{
    const lob_volume *const image = &w->image;
    const int across = w->options.slice_axis;
    double voxels = 1, sides = 1;
    for (int a = 0; a < 3; a++) {
        if (a == across) continue;
        const double side = (double)lob_side(image->dims, a);
        const double cell = w->options.size_mm / image->geometry.spacing_mm[a];
        sides *= side;
        voxels *= fmin(side, fmax(1, cell));
    }
    return w->options.count > 0 ? fmax(1, sides / (double)w->options.count) : voxels;
}

/* How many pieces there are about: noise makes more, and gentle images fewer. */
static double guessed_pieces(const lob_supervoxels_work *w)
{
    enum { PIECES = 4 }; /* of a cluster */
    const double voxels = (double)lob_voxels(&w->image);
    return fmin(PIECES * voxels / nominal_voxels(w), voxels);
}

/* What crosses a seam, for a voxel of it: clusters and pieces on both sides, and in each iteration
 * the sums of four layers of cells, both ways. */
static double seam_bytes(const lob_supervoxels_work *w)
{
    enum { PLANES = 16, LAYERS = 4, SUM = 8 };
    const double cell = nominal_voxels(w);
    const int features =
        w->options.method == LOB_LSC ? 6 + 2 * w->image.channels : w->image.channels;
    const double cells = w->options.slice_axis >= 0 ? 1 / cell : 1 / pow(cell, 2.0 / 3);
    return PLANES + 2.0 * LAYERS * SUM * (4 + features) * cells * w->options.iterations;
}

static lob_status make(lob_session *s, work *user)
{
    lob_supervoxels_work *const w = user->common;
    lob_slabs *const slabs = user->slabs;
    /* Labels, and iterations or numbering. */
    enum { LABEL = 4, WORKING = 4 };
    LOB_TRY(lob_slabs_open(s, slabs));
    w->image = slabs->volume; /* for options and the report */
    w->image.data = NULL;
    LOB_TRY(lob_supervoxels_look(s, w));
    /* Size, sums and links of each piece, and before they join what all tasks tell of theirs. */
    const double sums = 16 + 8.0 * w->image.channels, links = 8 + 6.0 * w->image.channels;
    const int tasks = slabs->plan > 0 ? slabs->plan : lob_team_size(s->team);
    const bool join = w->options.smallest * nominal_voxels(w) > 1; /* else numbers alone are held */
    const double sent = join ? tasks * guessed_pieces(w) * sums : 0;
    slabs->common_bytes = (int64_t)(guessed_pieces(w) * (join ? sums + links : LABEL));
    slabs->seam_bytes = (int64_t)ceil(seam_bytes(w));
    slabs->moved_bytes = (int64_t)ceil(sent / (double)lob_voxels(&w->image));
    LOB_TRY(lob_slabs_cut(s, slabs, 0, 1, LABEL + WORKING, LABEL));
    return slabs->plan > 0 ? LOB_OK : lob_slabs_each(s, slabs, cut_slab, user);
}

lob_status lob_supervoxels_by_slabs(lob_session *s, lob_supervoxels_work *common)
{
    const lob_supervoxels_settings *const set = &common->set;
    lob_slabs slabs = {.path = set->image,
                       .mask = set->mask,
                       .frame = set->frame,
                       .channel = -1,
                       .plan = set->plan,
                       .at_once = true};
    work w = {.common = common, .slabs = &slabs};
    const lob_status st = make(s, &w);
    common->image = lob_volume_empty(); /* it was the file's */
    lob_slabs_close(s, &slabs);
    return st;
}
