/* Growths: shares, smoothed, grown, refined; the first on a coarser grid where the plan says so. */
#include "kernels/arrays.h"
#include "kernels/device/device_put.h"
#include "kernels/segment/segment_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What shares are learnt from, on one grid. */
typedef struct {
    const lob_volume *image;
    const lob_volume *view;     /* empty: there is none */
    const lob_volume *seeds;    /* their labels are dense, */
    int32_t labels, background; /* likewise */
    const lob_strokes *counts;  /* of the seeds; NULL: they are not counted */
} lesson;

/* A growth's inputs, on one grid. */
typedef struct {
    const lob_segment_growth *numbers;
    const lob_volume *image, *seeds; /* labels of the seeds are dense, */
    const lob_volume *drawn;         /* of what keeps its label too, */
    const lob_volume *strokes;       /* and of strokes in ordinary memory */
    int32_t labels, background;      /* likewise */
    bool last;
} growth;

/* ---- steps ---- */

/* The box, with its second view. One that is there, of the plan's median, is taken. */
static lob_status take_box(lob_segment_job *j, lesson *box, lob_error *error)
{
    *box = (lesson){.image = &j->image,
                    .view = &j->view,
                    .seeds = &j->seeds,
                    .labels = j->plan->count,
                    .background = j->background,
                    .counts = j->counts.across ? &j->counts : NULL};
    const bool *const along = j->plan->median;
    lob_filter_step median = {.kind = LOB_FILTER_MEDIAN};
    if (j->view.data || (!along[0] && !along[1] && !along[2])) return LOB_OK;
    for (int a = 0; a < 3; a++) median.along[a] = along[a] && lob_side(j->image.dims, a) > 1;
    return lob_segment_filter(j, &j->view, &j->image, &median, 1, 0.02, error);
}

/*
 * How likely each voxel of a grid is each label, averaged over those of the lesson, smoothed, in
 * steps of 1/255: finer ones change next to nothing, and take longer to grow. outline NULL: there
 * is none.
 */
static lob_status learn(lob_segment_job *j, lob_volume *shares, const lob_volume *grid,
                        const lesson *from, const lob_volume *outline, double blur_mm, double share,
                        lob_error *error)
{
    const lob_segment_options *const o = &j->plan->options;
    const bool second = from->view->data && !j->plan->values;
    const lob_volume *const views[] = {from->view->data && !second ? from->view : from->image,
                                       from->view};
    const lob_appearance_input in = {
        .views = views,
        .view_count = second ? 2 : 1,
        .seeds = from->seeds->data,
        .seed_type = from->seeds->type,
        .labels = from->labels,
        .background = from->background,
        .counts = from->counts,
        .outline = outline ? outline->data : NULL,
        .outline_type = outline ? outline->type : LOB_U8,
        .grid = grid == from->image ? NULL : grid,
        .place = from->seeds->place,
    };
    lob_appearance_options options = lob_appearance_defaults();
    lob_appearance_stats stats;
    lob_segment_turn turn;
    options.whole = o->whole;
    options.partial_volume = j->plan->partial_volume;
    options.far = o->far;
    options.far_mm = j->plan->far_mm;
    options.values = j->plan->values;
    options.levels = true;
    options.local = j->plan->local;
    options.local_axis = j->plan->across;
    options.blur_mm = blur_mm;
    if (outline) {
        options.shape = o->shape;
        options.shape_mm = j->plan->growth[1].shape_mm;
    }
    const int channels = lob_appearance_channels(&in, &options);
    LOB_TRY(lob_segment_make(j, shares, grid, LOB_U8, channels, error));
    return j->backend->appearance(shares->data, &stats, &in, &options,
                                  lob_segment_begin(j, &turn, share), error);
}

lob_growcut_options lob_segment_growcut(const lob_segment_plan *plan)
{
    lob_growcut_options options = lob_growcut_defaults();
    options.rule = LOB_RULE_DISTANCE;
    options.norm = plan->sum ? LOB_NORM_L1 : LOB_NORM_LINF;
    return options;
}

/* Grow in the volume; or each slice alone, where those without strokes stay 0. */
static lob_status grow(lob_segment_job *j, lob_volume *grown, const growth *g,
                       const lob_volume *seeds, const lob_volume *shares, bool slices, double share,
                       lob_error *error)
{
    lob_growcut_options options = lob_segment_growcut(j->plan);
    const lob_growcut_input in = {
        .image = shares, .seeds = seeds, .labels = g->labels, .place = shares->place};
    lob_segment_turn turn;
    if (slices) {
        options.slice_axis = j->plan->axis;
        options.neighbours = 8;
    }
    if (j->once && g->last && j->first.data && !j->plain.data) { /* it is done with */
        *grown = j->first;
        j->first = lob_volume_empty();
    } else {
        LOB_TRY(lob_segment_make(j, grown, shares, LOB_U8, 1, error));
    }
    if (!slices && g->last && j->in->strength)
        LOB_TRY(lob_segment_make(j, &j->strength, shares, LOB_F32, 1, error));
    const lob_growcut_output out = {.labels = grown->data,
                                    .strength = slices ? NULL : j->strength.data};
    return j->backend->growcut(&out, NULL, &in, &options, lob_segment_begin(j, &turn, share),
                               error);
}

/* Shares where strokes are, in their order, behind as many items of lob_device_get. */
static lob_status shares_of(lob_segment_job *j, uint64_t **items, int64_t *n,
                            const lob_volume *strokes, const lob_volume *shares, lob_error *error)
{
    const int64_t all = lob_voxels(strokes);
    const uint8_t *const from = shares->data;
    int64_t i = -1;
    lob_status st = LOB_OK;
    while ((i = lob_next_label(strokes->data, LOB_U8, i + 1, all)) < all) ++*n;
    LOB_TRY(
        lob_budget_alloc(&j->budget, items, *n, sizeof **items + (size_t)shares->channels, error));
    uint64_t *at = *items;
    for (i = -1; (i = lob_next_label(strokes->data, LOB_U8, i + 1, all)) < all;)
        *at++ = (uint64_t)i << 8;
    uint8_t *const to = (uint8_t *)at;
    if (shares->place.kind == LOB_PLACE_MEMORY) {
        for (i = 0; i < shares->channels * *n; i++)
            to[i] = from[i / *n * all + (int64_t)((*items)[i % *n] >> 8)];
    } else {
        lob_device_begin(j->context->device);
        st = lob_device_get(j->context->device, to, from, 1, shares->channels, all, *items, *n,
                            error);
        lob_device_end(j->context->device);
    }
    return st;
}

/* What is grown from: where strokes fill areas, without those that look like another label. */
static lob_status find_seeds(lob_segment_job *j, lob_volume *seeds, const growth *g,
                             const lob_volume *shares, lob_error *error)
{
    const lob_volume *const starts = &j->starts;
    if (!j->plan->areas || g->seeds != &j->seeds)
        return lob_segment_here(j, seeds, g->seeds, error);
    lob_volume *const own = &j->agreeing;
    uint64_t *items = NULL;
    int64_t n = 0;
    lob_segment_drop(j, own);
    LOB_TRY(lob_segment_make_here(j, own, starts, "strokes", error));
    lob_status st = shares_of(j, &items, &n, starts, shares, error);
    const lob_context inner = lob_budget_inner(&j->budget, j->context);
    if (st == LOB_OK)
        st = lob_strokes_agree(own->data, starts->data, (const uint8_t *)(items + n), starts->dims,
                               g->labels, g->background, &inner, error);
    lob_budget_free(&j->budget, items, n, sizeof *items + (size_t)shares->channels);
    return st == LOB_OK ? lob_segment_here(j, seeds, own, error) : st;
}

/* Are a growth's shares asked for when it is done? */
static bool keeps_shares(const lob_segment_job *j, const growth *g)
{
    return g->last && (j->in->uncertain || j->in->suggest > 0);
}

/* Do borders end where growth over the image itself has them? */
static bool is_sharpened(const lob_segment_job *j, const growth *g)
{
    return g->last && j->sharp && lob_segment_is_coarse(j->plan);
}

/* others: where slices are thick; else without data, and a CPU without a limit works in what shares
 * lie in that are not kept. */
static lob_status refine(lob_segment_job *j, lob_volume *out, const growth *g,
                         const lob_volume *grown, const lob_volume *others,
                         const lob_volume *shares, double share, lob_error *error)
{
    lob_refine_input in = {
        .image = g->image,
        .labels = grown->data,
        .labels_type = grown->type,
        .seeds = g->drawn->data,
        .seeds_type = g->drawn->type,
        .label_count = g->labels,
        .background = g->background,
        .place = grown->place,
    };
    lob_refine_options options = lob_refine_defaults(g->image->dims, g->image->geometry.spacing_mm);
    lob_refine_stats stats;
    lob_segment_turn turn;
    options.smooth_mm = g->numbers->smooth_mm;
    options.keep = g->numbers->keep;
    options.fade = g->numbers->fade;
    options.fade_axis = j->plan->across;
    options.edge = is_sharpened(j, g) ? 0 : g->numbers->edge;
    LOB_TRY(lob_segment_make(j, out, g->image, LOB_U8, 1, error));
    const lob_volume *const own = g->strokes;
    lob_strokes_places places;
    const int absent_axis = j->plan->absent ? j->plan->axis : -1;
    const bool walls = g->labels > 2;
    lob_status st = own == &j->strokes
                        ? lob_strokes_places_of(&places, &j->counted, own->data, own->type,
                                                g->background, absent_axis, walls, error)
                        : lob_strokes_places_find(&places, own->data, own->type, own->dims,
                                                  g->labels, g->background, absent_axis, walls,
                                                  j->context->threads, error);
    if (j->plan->thick) {
        in.others = others->data;
        in.shares = shares->data;
        in.absent = places.absent;
        in.absent_axis = j->plan->axis;
        options.settle = g->numbers->settle;
        options.settle_mm = g->numbers->settle_mm;
    } else if (!keeps_shares(j, g) && shares->place.kind == LOB_PLACE_MEMORY) {
        in.room = shares->data;
        in.room_bytes = shares->channels * lob_voxels(shares);
    }
    in.walls = places.walls;
    in.wall_count = places.wall_count;
    if (st == LOB_OK)
        st = j->backend->refine(out->data, &stats, &in, &options,
                                lob_segment_begin(j, &turn, share), error);
    lob_strokes_places_free(&places);
    return st;
}

/* Grow shares, which are freed unless they are the last ones. */
static lob_status grow_and_refine(lob_segment_job *j, lob_volume *out, const growth *g,
                                  lob_volume *shares, double share, lob_error *error)
{
    lob_volume grown = lob_volume_empty(), others = lob_volume_empty();
    lob_volume seeds = lob_volume_empty();
    const bool thick = j->plan->thick;
    const bool kept = keeps_shares(j, g);
    lob_status st = find_seeds(j, &seeds, g, shares, error);
    if (st == LOB_OK)
        st = grow(j, &grown, g, &seeds, shares, false, (thick ? 0.4 : 0.6) * share, error);
    if (st == LOB_OK && g->last && j->plain.data) st = lob_segment_outvote(j, &grown, error);
    if (st == LOB_OK && thick) st = grow(j, &others, g, &seeds, shares, true, 0.2 * share, error);
    lob_segment_drop(j, &seeds);
    const bool lends = !j->context->device && j->context->max_memory == 0;
    if (!lends && !thick && !kept) lob_segment_drop(j, shares);
    if (st == LOB_OK) st = refine(j, out, g, &grown, &others, shares, 0.4 * share, error);
    if (st == LOB_OK && kept) {
        j->shares = *shares;
        *shares = lob_volume_empty();
    }
    lob_segment_drop(j, shares);
    lob_segment_drop(j, &others);
    lob_segment_drop(j, &grown);
    if (st == LOB_OK && is_sharpened(j, g))
        st = lob_segment_sharpen(j, out, g->image, g->drawn, g->labels, g->background, j->confirmed,
                                 0, error);
    return st;
}

/* ---- growths ---- */

static lob_status fine_growth(lob_segment_job *j, lob_volume *out, const lob_volume *outline,
                              int number, double share, lob_error *error)
{
    const growth g = {
        .numbers = &j->plan->growth[number],
        .image = &j->image,
        .seeds = &j->seeds,
        .drawn = &j->drawn,
        .strokes = &j->strokes,
        .labels = j->plan->count,
        .background = j->background,
        .last = number + 1 == j->plan->passes,
    };
    lob_volume shares = lob_volume_empty();
    lesson box;
    lob_status st = take_box(j, &box, error);
    if (st == LOB_OK)
        st = learn(j, &shares, &j->image, &box, outline, g.numbers->blur_mm, 0.4 * share, error);
    if (j->once && g.last) lob_segment_drop(j, &j->view);
    if (st == LOB_OK) st = grow_and_refine(j, out, &g, &shares, 0.6 * share, error);
    lob_segment_drop(j, &shares);
    return st;
}

/*
 * Strokes on the coarser grid. Where strokes of two labels lie in one of its voxels, one of them
 * may get lost: those that are left are numbered again.
 *
 *   kept  out  the dense label on the box's grid of each label here
 */
static lob_status coarse_strokes(lob_segment_job *j, lob_volume *own, lob_label_set *kept,
                                 const lob_volume *grid, lob_error *error)
{
    const lob_resample_input in = {
        .volume = lob_segment_starts(j), .dims = grid->dims, .geometry = grid->geometry};
    const lob_resample_options options = {.method = LOB_RESAMPLE_STROKES};
    lob_segment_turn turn;
    LOB_TRY(lob_segment_make_here(j, own, grid, "strokes", error));
    LOB_TRY(lob_resample_cpu(own->data, &in, &options, lob_segment_begin(j, &turn, 0), error));
    LOB_TRY(lob_labels_dense(own, kept, "strokes", error));
    if (kept->count < 2)
        return lob_fail(error, LOB_EDATA,
                        "the only label is %d; add seeds of another label, such as the background",
                        j->plan->labels[kept->values[0] - 1]);
    if (lob_label_set_find(kept, j->background) == 0)
        return lob_fail(error, LOB_EDATA, "no seed has the background's label %d",
                        j->plan->background);
    return LOB_OK;
}

/* Labels of the coarser grid on the box's, numbered as there. */
static lob_status onto_box(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                           const lob_label_set *kept, double share, lob_error *error)
{
    lob_volume named = lob_volume_empty();
    const bool lost = kept->count < j->plan->count;
    if (lost) LOB_TRY(lob_segment_recode(j, &named, labels, kept->count, kept->values, 0, error));
    const lob_status st = lob_segment_onto(j, out, lost ? &named : labels, &j->image,
                                           LOB_RESAMPLE_NEAREST, share, error);
    lob_segment_drop(j, &named);
    return st;
}

/* The first growth on a coarser grid: shares are averaged, strokes are kept. image: likewise made
 * of the lesson's; one that is there is taken. */
static lob_status coarse_growth(lob_segment_job *j, lob_volume *out, lob_volume *image,
                                const lesson *from, double share, lob_error *error)
{
    lob_volume grid = lob_segment_grid(j->image.dims, &j->image.geometry);
    lob_volume own = lob_volume_empty(), seeds = lob_volume_empty();
    lob_volume shares = lob_volume_empty(), labels = lob_volume_empty();
    lob_label_set kept = {0};
    lob_status st = LOB_OK;
    lob_resample_respace(&grid.geometry, &grid.dims, j->plan->growth[0].spacing_mm);
    if (!image->data)
        st = lob_segment_onto(j, image, from->image, &grid, LOB_RESAMPLE_LINEAR, 0.05 * share,
                              error);
    if (st == LOB_OK) st = coarse_strokes(j, &own, &kept, &grid, error);
    if (st == LOB_OK) st = lob_segment_here(j, &seeds, &own, error);
    const growth g = {
        .numbers = &j->plan->growth[0],
        .image = image,
        .seeds = &seeds,
        .drawn = &seeds,
        .strokes = &own,
        .labels = kept.count,
        .background = lob_label_set_find(&kept, j->background),
    };
    if (st == LOB_OK)
        st = learn(j, &shares, &grid, from, NULL, g.numbers->blur_mm, 0.75 * share, error);
    if (st == LOB_OK) st = grow_and_refine(j, &labels, &g, &shares, 0.15 * share, error);
    if (st == LOB_OK) st = onto_box(j, out, &labels, &kept, 0.05 * share, error);
    lob_volume *const volumes[] = {&own, &seeds, &shares, &labels};
    for (size_t i = 0; i < sizeof volumes / sizeof volumes[0]; i++) lob_segment_drop(j, volumes[i]);
    lob_label_set_free(&kept);
    return st;
}

/* What growths take of the progress: the first of two, the one over the image alone, and all. */
static double share_of_all(const lob_segment_job *j)
{
    return j->in->uncertain || j->in->suggest > 0 ? 0.6 : 0.85;
}

static double share_of_first(const lob_segment_job *j)
{
    return (lob_segment_is_coarse(j->plan) ? 0.3 : 0.5) * share_of_all(j);
}

static double share_of_plain(const lob_segment_job *j)
{
    return j->plan->outvote ? 0.1 * (share_of_all(j) - share_of_first(j)) : 0;
}

/* Grow over the image alone, on the first growth's grid. */
static lob_status grow_plainly(lob_segment_job *j, lob_error *error)
{
    const double share = share_of_plain(j);
    const bool coarse = lob_segment_is_coarse(j->plan);
    const lob_volume *const image = coarse ? &j->coarse : &j->image;
    const lob_growcut_options options = lob_segment_growcut(j->plan);
    lob_volume own = lob_volume_empty(), seeds = lob_volume_empty(), labels = lob_volume_empty();
    lob_volume *const grown = coarse ? &labels : &j->plain;
    lob_label_set kept = {0};
    lob_segment_turn turn;
    lob_segment_drop(j, &j->plain);
    lob_status st = coarse ? coarse_strokes(j, &own, &kept, image, error) : LOB_OK;
    if (st == LOB_OK) st = lob_segment_here(j, &seeds, coarse ? &own : &j->seeds, error);
    if (st == LOB_OK) st = lob_segment_make(j, grown, image, LOB_U8, 1, error);
    const lob_growcut_input in = {.image = image,
                                  .seeds = &seeds,
                                  .labels = coarse ? kept.count : j->plan->count,
                                  .place = image->place};
    const lob_growcut_output out = {.labels = grown->data};
    if (st == LOB_OK)
        st = j->backend->growcut(&out, NULL, &in, &options,
                                 lob_segment_begin(j, &turn, 0.9 * share), error);
    if (st == LOB_OK && coarse) st = onto_box(j, &j->plain, &labels, &kept, 0.1 * share, error);
    lob_segment_drop(j, &own);
    lob_segment_drop(j, &seeds);
    lob_segment_drop(j, &labels);
    lob_label_set_free(&kept);
    return st;
}

/* The first growth, if it has not been done; with one growth nothing. Growth over the image alone
 * begins in strokes before they are completed; where they are not, it can wait until the first
 * growth has been told. */
static lob_status grow_first(lob_segment_job *j, lob_error *error)
{
    const double share = share_of_first(j);
    lesson box;
    if (j->plan->passes == 1 || j->first.data) return LOB_OK;
    LOB_TRY(take_box(j, &box, error));
    lob_status st = lob_segment_is_coarse(j->plan)
                        ? coarse_growth(j, &j->first, &j->coarse, &box, share, error)
                        : fine_growth(j, &j->first, NULL, 0, share, error);
    if (st == LOB_OK && j->plan->outvote && j->plan->completed) st = grow_plainly(j, error);
    if (st == LOB_OK) st = lob_segment_complete(j, error);
    if (st != LOB_OK) lob_segment_drop(j, &j->first);
    return st;
}

/* Times the voxels that the first growth's grid may have: shares of more take a CPU longer than a
 * preview may. */
enum { LARGE = 16 };

/* The box's grid; or, where it is large, a coarser one, at most as coarse as the first growth's. */
static lob_volume sparse_grid(const lob_segment_job *j)
{
    const lob_segment_plan *const plan = j->plan;
    lob_volume grid = lob_segment_grid(j->image.dims, &j->image.geometry);
    bool more = !j->context->device;
    for (int step = 2; more && lob_voxels(&grid) / LARGE > plan->options.coarse; step *= 2) {
        double mm[3];
        more = false;
        for (int a = 0; a < 3; a++) {
            more = more || step < plan->factor[a];
            mm[a] = j->image.geometry.spacing_mm[a] * fmin(step, plan->factor[a]);
        }
        grid = lob_segment_grid(j->image.dims, &j->image.geometry);
        lob_resample_respace(&grid.geometry, &grid.dims, mm);
    }
    return grid;
}

/* Values of the box on a sparse grid: those under strokes where it has these, as the nearest voxel
 * may lie beside a thin one. */
static lob_status pick(lob_segment_job *j, lob_volume *out, const lob_volume *from,
                       const lob_volume *own, const lob_label_set *kept, lob_error *error)
{
    const lob_volume *const strokes = lob_segment_starts(j);
    const uint8_t *const labels = strokes->data, *const there = own->data;
    const lob_dims d = strokes->dims;
    const int64_t n = lob_voxels(strokes);
    const size_t bytes = lob_type_of(from->type)->bytes;
    LOB_TRY(lob_segment_onto(j, out, from, own, LOB_RESAMPLE_NEAREST, 0, error));
    for (int64_t i = -1; (i = lob_next_label(labels, LOB_U8, i + 1, n)) < n;) {
        const int64_t at[3] = {i % d.nx, i / d.nx % d.ny, i / d.nx / d.ny};
        int64_t old = 0, new = 0;
        bool inside = true;
        for (int a = 2; a >= 0; a--) {
            const double ratio = own->geometry.spacing_mm[a] / from->geometry.spacing_mm[a];
            const int64_t side = lob_side(own->dims, a), here = (at[a] + j->at[a]) / llround(ratio);
            inside = inside && here < side;
            old = old * lob_side(from->dims, a) + at[a] + j->at[a];
            new = new *side + here;
        }
        if (!inside || there[new] != lob_label_set_find(kept, labels[i])) continue;
        for (int c = 0; c < from->channels; c++)
            memcpy((char *)out->data + (size_t)(c * lob_voxels(own) + new) * bytes,
                   (char *)from->data + (size_t)(c * lob_voxels(from) + old) * bytes, bytes);
    }
    return LOB_OK;
}

/* The first growth from the voxels of a sparse grid alone. */
static lob_status sketch(lob_segment_job *j, lob_volume *out, const lob_volume *grid,
                         lob_error *error)
{
    lob_volume image = lob_volume_empty(), view = lob_volume_empty(), own = lob_volume_empty();
    lob_volume coarse = lob_volume_empty();
    lob_label_set kept = {0};
    lesson box;
    LOB_TRY(take_box(j, &box, error));
    lob_status st = coarse_strokes(j, &own, &kept, grid, error);
    if (st == LOB_OK) st = pick(j, &image, box.image, &own, &kept, error);
    if (st == LOB_OK && box.view->data) st = pick(j, &view, box.view, &own, &kept, error);
    const lesson sparse = {.image = &image,
                           .view = &view,
                           .seeds = &own,
                           .labels = kept.count,
                           .background = lob_label_set_find(&kept, j->background)};
    if (st == LOB_OK) st = coarse_growth(j, out, &coarse, &sparse, share_of_first(j), error);
    lob_volume *const volumes[] = {&own, &image, &view, &coarse};
    for (size_t i = 0; i < sizeof volumes / sizeof volumes[0]; i++) lob_segment_drop(j, volumes[i]);
    lob_label_set_free(&kept);
    return st;
}

lob_status lob_segment_preview(lob_segment_job *j, lob_volume *out, lob_error *error)
{
    const lob_volume grid = sparse_grid(j);
    const bool sparse = !j->first.data && lob_voxels(&grid) < lob_voxels(&j->image);
    lob_volume rough = lob_volume_empty();
    lob_status st = sparse ? sketch(j, &rough, &grid, error) : LOB_OK;
    /* Two strokes may lie in one of its voxels that do not in the first growth's. */
    if (!sparse || st == LOB_EDATA) {
        lob_error_begin(error);
        st = grow_first(j, error);
        if (st == LOB_OK && lob_segment_is_coarse(j->plan) && !j->plan->completed)
            st = lob_segment_copy(j, &rough, &j->first, j->first.place, error);
    }
    if (st == LOB_OK && rough.data) st = lob_segment_draw(j, &rough, &j->strokes, error);
    if (st == LOB_OK) st = lob_segment_give(j, out, rough.data ? &rough : &j->first, error);
    lob_segment_drop(j, &rough);
    return st;
}

lob_status lob_segment_grow_last(lob_segment_job *j, lob_error *error)
{
    j->sharp = false;
    if (j->plan->passes == 1) return fine_growth(j, &j->labels, NULL, 0, share_of_all(j), error);
    LOB_TRY(grow_first(j, error));
    if (j->plan->outvote && !j->plan->completed) LOB_TRY(grow_plainly(j, error));
    if (j->once) lob_segment_drop(j, &j->coarse);
    return fine_growth(j, &j->labels, &j->first, 1,
                       share_of_all(j) - share_of_first(j) - share_of_plain(j), error);
}
