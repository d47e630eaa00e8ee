/* What strokes correct of the labels of --previous, which pass on as they are elsewhere. */
#include "tools/commands/segment/segment_work.h"
#include "tools/session/session.h"

#include <math.h>
#include <string.h>

/* Where labels are after correcting, and in it, where voxels may change. */
typedef struct {
    lob_box all, within;
    int64_t at[3]; /* voxel of the former that the latter begins at */
} reached;

static lob_size reach_of(const lob_segment_work *w)
{
    return isfinite(w->reach.value) ? w->reach : (lob_size){.value = 20};
}

static reached find_reached(const lob_segment_work *w)
{
    reached r = {.all = w->plan.box, .within = w->drawn};
    const lob_size reach = reach_of(w);
    int64_t margin[3];
    lob_box_join(&r.all, &w->kept);
    for (int a = 0; a < 3; a++) {
        const double step = reach.voxels ? 1 : w->whole.geometry.spacing_mm[a];
        margin[a] = (int64_t)fmin(reach.value / step, INT32_MAX) + 1;
    }
    lob_box_widen(&r.within, margin, w->whole.dims);
    r.within = lob_box_meet(&r.within, &r.all);
    for (int a = 0; a < 3; a++) r.at[a] = r.within.first[a] - r.all.first[a];
    return r;
}

static int64_t voxels_of(const lob_box *box)
{
    return lob_dims_voxels(lob_box_dims(box));
}

/* What lob_segment_correct takes of a voxel. */
static int64_t correct_bytes(const lob_segment_work *w)
{
    return 1 + (int64_t)sizeof(float) + (int64_t)lob_type_of(w->seeds.type)->bytes +
           (int64_t)lob_type_of(w->previous.type)->bytes;
}

/* After LOB_ENOMEM: add to the error what would do. Returns st. */
static lob_status suggest(lob_session *s, const lob_segment_work *w, const reached *r,
                          lob_status st)
{
    if (st == LOB_ENOMEM)
        lob_error_add(
            &s->error,
            "; the box around strokes and these labels has %lld x %lld x %lld voxels: cut "
            "both and the scan to a smaller one with lobule crop --around %s",
            (long long)r->all.size[0], (long long)r->all.size[1], (long long)r->all.size[2],
            w->files.seeds);
    return st;
}

lob_status lob_segment_check_previous(lob_session *s, const lob_segment_work *w)
{
    enum { MOST = 64 }; /* of the three factors below together */
    if (!w->previous_path) return LOB_OK;
    const reached r = find_reached(w);
    const int64_t seeds = (int64_t)lob_type_of(w->seeds.type)->bytes;
    const int64_t before = (int64_t)lob_type_of(w->previous.type)->bytes;
    const int64_t wide = seeds > before ? seeds : before; /* which labels of both need */
    int64_t bytes = -1;
    if (lob_product(voxels_of(&r.all), MOST, 1, 1) >= 0)
        bytes = voxels_of(&r.all) * wide +
                voxels_of(&r.within) * (correct_bytes(w) + seeds + wide + before) +
                voxels_of(&w->plan.box) * (seeds + lob_segment_made_bytes(w));
    LOB_TRY(suggest(s, w, &r, lob_session_take(s, bytes, w->previous_path)));
    lob_session_give(s, bytes);
    return LOB_OK;
}

/* Those within reach become what they are corrected to. */
static lob_status correct(lob_session *s, lob_segment_work *w, const reached *r,
                          lob_segment_corrected *corrected)
{
    const int64_t back[3] = {-r->at[0], -r->at[1], -r->at[2]};
    const int64_t bytes = correct_bytes(w) * voxels_of(&r->within);
    const lob_size reach = reach_of(w);
    lob_volume before, grid = {.dims = lob_box_dims(&r->within)};
    grid.geometry = lob_box_geometry(&w->whole.geometry, &r->within);
    LOB_TRY(lob_grid_make(s, &before, &grid, w->previous.type, 1, w->previous_path));
    lob_volume_put(&before, &w->previous, back);
    lob_status st = lob_session_take(s, bytes, w->previous_path);
    if (st == LOB_OK) {
        lob_session_compute(s, "correcting");
        st =
            lob_segment_correct(&w->found.labels, corrected, &before, &w->seeds, w->plan.background,
                                reach.value, reach.voxels, &s->context, &s->error);
        st = lob_session_done(s, st, w->previous_path, NULL);
        lob_session_give(s, bytes);
    }
    lob_grid_drop(s, &before);
    return st;
}

/* Bytes that labels take more in another type. */
static int64_t growth(const lob_volume *labels, lob_type type)
{
    return lob_voxels(labels) * (int64_t)lob_type_of(type)->bytes - lob_volume_bytes(labels);
}

/* Lay what is corrected on those before, which become the result. */
static void join_previous(lob_volume *labels, lob_volume *all, const int64_t at[3])
{
    lob_volume_put(all, labels, at);
    const lob_volume part = *labels;
    *labels = *all;
    *all = part;
    all->names = labels->names;
    labels->names = part.names;
}

static lob_status correct_previous(lob_session *s, lob_segment_work *w, const reached *r,
                                   lob_segment_corrected *corrected)
{
    lob_volume *const labels = &w->found.labels, *const all = &w->previous;
    const char *const path = w->previous_path;
    const int threads = s->context.threads;
    const int32_t here = lob_label_largest(labels->data, labels->type, lob_voxels(labels), threads);
    LOB_TRY(lob_part_lay(s, labels, &w->plan.box, &r->within, &w->whole, path));
    LOB_TRY(lob_part_lay(s, &w->seeds, &w->plan.box, &r->within, &w->whole, path));
    LOB_TRY(lob_part_lay(s, all, &w->kept, &r->all, &w->whole, path));
    const int32_t old = lob_label_largest(all->data, all->type, lob_voxels(all), threads);
    const int32_t largest = here > old ? here : old;
    const int64_t more =
        growth(labels, lob_label_type(largest)) + growth(all, lob_label_type(largest));
    LOB_TRY(lob_session_take(s, more > 0 ? more : 0, path));
    LOB_TRY(correct(s, w, r, corrected));
    if (lob_labels_pack(labels, largest) != LOB_OK || lob_labels_pack(all, largest) != LOB_OK)
        return lob_session_no_memory(s, path);
    join_previous(labels, all, r->at);
    return LOB_OK;
}

lob_status lob_segment_correct_previous(lob_session *s, lob_segment_work *w)
{
    lob_segment_corrected corrected;
    if (!w->previous_path) return LOB_OK;
    const reached r = find_reached(w);
    LOB_TRY(suggest(s, w, &r, correct_previous(s, w, &r, &corrected)));
    memcpy(w->first, r.all.first, sizeof w->first);
    LOB_JSON_NUMBERS(s->results, {"correcting_stroke_voxels", corrected.said},
                     {"changed_voxels", corrected.changed});
    if (corrected.said == 0)
        lob_session_note(s, "%s: no stroke says otherwise, so nothing was changed",
                         w->previous_path);
    return LOB_OK;
}
