/* `lobule threshold` some planes at a time. */
#include "kernels/threshold/threshold_parts.h"
#include "kernels/threshold/threshold_rule.h"
#include "tools/commands/threshold/threshold_work.h"

typedef lob_threshold_work work;

/* ---- thresholds ---- */

/* Who looks at the slabs, to find a threshold. */
typedef struct {
    lob_session *s;
    work *w;
    lob_threshold_visit *visit;
    void *visitor;
} looker;

static lob_status show_slab(lob_session *s, const lob_slab *slab, void *user)
{
    const looker *const to = user;
    const lob_threshold_input in = {.image = &slab->image, .mask = slab->mask};
    lob_session_compute(s, "labelling");
    const lob_status st = to->visit(to->visitor, &in);
    return lob_session_done(s, st, to->w->slabs.path, NULL);
}

static lob_status each_slab(void *user, lob_threshold_visit *visit, void *visitor)
{
    looker *const to = user;
    to->visit = visit;
    to->visitor = visitor;
    return lob_slabs_each(to->s, &to->w->slabs, show_slab, to);
}

static lob_status find_thresholds(lob_session *s, work *w)
{
    looker to = {s, w, NULL, NULL};
    const lob_threshold_parts parts = {
        .each = each_slab, .user = &to, .team = s->team, .image = &w->slabs.volume};
    LOB_TRY(lob_slabs_cut(s, &w->slabs, 0, 1, lob_threshold_voxel_bytes(w), 1));
    if (w->slabs.plan > 0) return LOB_OK;
    const lob_status st =
        lob_threshold_of_parts(&w->stats, &parts, &w->options, &s->context, &s->error);
    return lob_session_name(s, st, w->slabs.path, NULL);
}

/* ---- labels ---- */

static lob_status label_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const lob_threshold_input in = {.image = &slab->image, .mask = slab->mask};
    const uint8_t *own;
    if (lob_is_local(w)) {
        LOB_TRY(lob_threshold_locally(s, w, slab, w->slab_labels));
    } else {
        lob_session_compute(s, "labelling");
        lob_threshold_label(w->slab_labels, &in, &w->stats, &w->options, s->context.threads);
        lob_session_computed(s);
    }
    own = w->slab_labels + lob_slab_before(slab);
    if (w->writes) {
        w->labelled += lob_threshold_count(own, lob_slab_voxels(slab), s->context.threads);
        return lob_slabs_put(s, &w->slabs, slab, own);
    }
    for (int64_t i = 0; i < lob_slab_voxels(slab) && w->largest < w->highest; i++)
        if (own[i] > w->largest) w->largest = own[i];
    w->slabs.enough = w->largest == w->highest;
    return lob_session_cancelled(s);
}

/* What a header tells of labels is written before them: the largest. */
static lob_status write_labels(lob_session *s, work *w)
{
    lob_write_options options = lob_write_defaults();
    lob_volume made = lob_grid_header(&w->slabs.volume, LOB_U8);
    const bool classes = w->options.kind == LOB_THRESHOLD_OTSU;
    options.labels = true;
    made.names = (lob_label_names){0}; /* those of the image's own labels */
    w->highest = classes ? w->stats.thresholds : 1;
    LOB_TRY(lob_slabs_each(s, &w->slabs, label_slab, w));
    LOB_TRY(lob_team_reduce(s->team, &w->largest, 1, LOB_TEAM_MAX, &s->error));
    LOB_TRY(lob_slabs_begin(s, &w->slabs, &made, w->largest, w->labels_path, options));
    w->writes = true;
    LOB_TRY(lob_slabs_each(s, &w->slabs, label_slab, w));
    return lob_team_reduce(s->team, &w->labelled, 1, LOB_TEAM_SUM, &s->error);
}

static lob_status prepare_local(lob_session *s, work *w)
{
    LOB_TRY(lob_threshold_find_box(s, w, &w->slabs.volume));
    return lob_slab_filter_begin(s, &w->local, 1);
}

lob_status lob_threshold_slabs(lob_session *s, work *w)
{
    LOB_TRY(lob_slabs_open(s, &w->slabs));
    LOB_TRY(lob_session_check(s, &w->slabs.volume, LOB_U8, 1, w->labels_path));
    LOB_TRY(lob_is_local(w) ? prepare_local(s, w) : find_thresholds(s, w));
    if (w->slabs.plan > 0) return LOB_OK;
    const int64_t voxels = lob_slabs_voxels(&w->slabs);
    if (!(w->slab_labels = lob_session_array(s, voxels, 1, w->labels_path))) return LOB_ENOMEM;
    LOB_TRY(write_labels(s, w));
    w->image = w->slabs.volume; /* for the report */
    lob_threshold_report(s, w);
    w->image = lob_volume_empty();
    return lob_slabs_commit(s, &w->slabs);
}
