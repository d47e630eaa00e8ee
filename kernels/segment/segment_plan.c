/* Choosing what depends on the case. */
#include "kernels/arrays.h"
#include "kernels/plan_number.h"
#include "kernels/segment/segment_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An axis takes part in the median, and becomes coarser, where its voxels are at most this many
 * times the least spacing apart: beyond, neighbours tell little of each other. */
static const double near_spacing = 1.5;

/* Going to a coarser grid has smoothed the shares already. */
static const double coarse_blur = 0.35;

/* Beyond the first and the last of n slices with strokes a structure may go on for this share of
 * its longest side in them, or for so many mm, as what is thin in slices may be long across them,
 * divided by n: the fewer there are, the less they say about its ends. */
static const double beyond_slices = 1.5, beyond_mm = 60;

/* Of its ends, and of how far it goes on, two slices that are less than so many mm apart, and less
 * than this share of the strokes' longest side in them, say no more than one of them. */
static const double together_mm = 10, together_share = 0.25;

/* Where strokes of labels are closer to others than so many voxels, a median of 3 voxels takes more
 * off what is drawn than it smooths. */
static const double median_width = 5;

/* Slices so many times as far apart as voxels in them tell little of each other. */
static const double thick_slices = 2.5;

/* Nats that a label loses far from strokes on a lone slice, which says little about how far it
 * goes on across slices. */
static const double lone_far = 2;

/* The least reach, as a share of the shortest side of what is drawn of a structure. */
static const double reach_share = 0.1;

/* What shares weigh, and the sigma in least spacings, where labels settle. */
static const double thick_settle = 0.2, thick_sigma = 1;

/* What is learnt from strokes nearby weighs so much, where slices are far apart. It takes strokes
 * on most slices or such that fill areas, on some slices at least, and on both sides of borders. */
static const double local_share = 0.85, local_width_mm = 25;
enum { LOCAL_SLICES = 3 };

/* The share of voxels that hold two tissues, where slices are far apart. */
static const double thick_partial = 0.3;

/* The Gaussian of shares is so much narrower where values go through it too, whose borders are to
 * stay. */
static const double values_blur = 0.5;

/* The second growth begins from better shares, and so needs less of each. */
static const double second_blur = 0.5, second_smooth = 0.7, second_edge = 0.5;

lob_segment_options lob_segment_defaults(void)
{
    const lob_appearance_options a = lob_appearance_defaults();
    return (lob_segment_options){
        .margin = 10,
        .share = 0.3,
        .ends = 0.375,
        .median = true,
        .slips = true,
        .whole = a.whole,
        .far = a.far,
        .shape = a.shape,
        .blur = 1,
        .smooth = 1,
        .edge = 1,
        .coarse = 1 << 19,
    };
}

bool lob_segment_is_coarse(const lob_segment_plan *plan)
{
    return plan->factor[0] > 1 || plan->factor[1] > 1 || plan->factor[2] > 1;
}

/* ---- labels ---- */

static lob_status take_labels(lob_segment_plan *plan, const lob_label_set *set, lob_error *error)
{
    if (set->count == 0)
        return lob_fail(error, LOB_EDATA, "no strokes: 0 means unknown, and labels start at 1");
    if (set->count == 1)
        return lob_fail(error, LOB_EDATA,
                        "all strokes are of label %d; add strokes of a second one around them, for "
                        "the background",
                        set->values[0]);
    if (set->count > LOB_SEGMENT_MAX_LABELS)
        return lob_fail(error, LOB_EDATA,
                        "has strokes of %d labels, and at most %d can be told apart; are image and "
                        "strokes swapped?",
                        set->count, LOB_SEGMENT_MAX_LABELS);
    plan->count = set->count;
    memcpy(plan->labels, set->values, (size_t)set->count * sizeof *set->values);
    return LOB_OK;
}

static lob_status choose_background(lob_segment_plan *plan, const lob_strokes *strokes,
                                    const lob_volume *seeds, const lob_label_set *set,
                                    lob_error *error)
{
    const int32_t wanted = plan->options.background;
    int32_t dense = wanted > 0 ? lob_label_set_find(set, wanted) : 0;
    if (wanted <= 0)
        LOB_TRY(lob_strokes_background(&dense, strokes, seeds->data, seeds->type, error));
    if (dense == 0)
        return lob_fail(error, LOB_EDATA, "no seed has the background's label %d", wanted);
    plan->background = set->values[dense - 1];
    return LOB_OK;
}

/* Across how many axes have planes strokes of a label and of others, for any label but the
 * background? */
static lob_status find_outlines(int *axes, lob_segment_plan *plan, const lob_strokes *strokes,
                                lob_error *error)
{
    const lob_dims d = strokes->dims;
    *axes = 0;
    if (plan->axis < 0) return LOB_OK;
    int64_t *const slices = malloc((size_t)(d.nx + d.ny + d.nz) * sizeof *slices);
    if (!slices) return lob_fail(error, LOB_ENOMEM, "no memory left for slices");
    for (int a = 0; a < 3; a++) {
        bool any = false;
        for (int32_t i = 1; i <= plan->count; i++)
            if (plan->labels[i - 1] != plan->background)
                any = any || lob_strokes_drawn(slices, strokes, i, a) > 0;
        *axes += any;
    }
    for (int64_t z = 0; z < lob_side(d, plan->axis); z++) {
        const int32_t labels = lob_strokes_labels_in(strokes, plan->axis, z);
        plan->slices += labels > 0;
        plan->outlined += labels > 1;
    }
    free(slices);
    return LOB_OK;
}

/* Are slices across an axis far apart? */
static bool are_far_apart(const lob_volume *image, int axis)
{
    const double *const mm = image->geometry.spacing_mm;
    bool far = axis >= 0 && lob_side(image->dims, axis) > 1;
    for (int a = 0; a < 3; a++) far = far && (a == axis || thick_slices * mm[a] <= mm[axis]);
    return far;
}

/* The first and the last slice across an axis with strokes of structures from..to-1; of none 0 and
 * -1. */
static void find_extent(int64_t *first, int64_t *last, const lob_segment_plan *plan,
                        const lob_strokes *strokes, int axis, int32_t from, int32_t to)
{
    bool any = false;
    *first = 0;
    *last = -1;
    for (int64_t s = 0; s < lob_side(strokes->dims, axis); s++) {
        const int64_t *const voxels = lob_strokes_in(strokes, axis, s);
        bool held = false;
        for (int32_t k = from; k < to; k++)
            held = held || (voxels[k] > 0 && plan->labels[k] != plan->background);
        if (held && !any) *first = s;
        if (held) *last = s;
        any = any || held;
    }
}

/* Is each structure drawn on nearly all slices from its first to its last, or on nearly all of
 * those on which several labels are? */
static bool are_drawn(const lob_segment_plan *plan, const lob_strokes *strokes, bool all)
{
    int64_t drawn = 0, slices = 0, first, last;
    for (int32_t k = 0; k < plan->count; k++) {
        find_extent(&first, &last, plan, strokes, plan->axis, k, k + 1);
        for (int64_t s = first; s <= last; s++) {
            const bool several = lob_strokes_labels_in(strokes, plan->axis, s) > 1;
            drawn += several && lob_strokes_in(strokes, plan->axis, s)[k] > 0;
            slices += all || several;
        }
    }
    return 10 * drawn >= 9 * slices;
}

/* Are slices far apart, and drawn as wholes, with all structures? Between slices without strokes
 * outlines tell more of a structure that is alone. One slice does not say how many there are, and
 * planes across other axes cross slices without drawing them. */
static bool slices_are_thick(const lob_segment_plan *plan, int outlines, const lob_volume *image,
                             const lob_strokes *strokes)
{
    return plan->options.smooth > 0 && are_far_apart(image, plan->axis) && outlines == 1 &&
           plan->outlined > 1 && are_drawn(plan, strokes, plan->count == 2);
}

/* Is what was drawn wide enough, in voxels, for the median? And are strokes near enough to each
 * other to be learnt from nearby? */
static lob_status look_at_width(lob_segment_plan *plan, const lob_volume *image, int outlines,
                                const lob_volume *seeds, const lob_strokes *strokes,
                                const lob_label_set *set, int threads, lob_error *error)
{
    double mm;
    LOB_TRY(lob_strokes_width(&mm, strokes, seeds->data, seeds->type, image->geometry.spacing_mm,
                              lob_label_set_find(set, plan->background), threads, error));
    const double voxels = mm / plan->least_mm;
    for (int a = 0; a < 3; a++)
        if (plan->thick || (mm > 0 && voxels < median_width)) plan->median[a] = false;
    if ((plan->absent || (plan->areas && are_far_apart(image, plan->axis))) && outlines == 1 &&
        plan->outlined >= LOCAL_SLICES && mm > 0 && mm <= local_width_mm)
        plan->local = local_share;
    for (int a = 0; a < 3; a++)
        if (plan->local == 0 && are_far_apart(image, a)) plan->partial_volume = thick_partial;
    plan->values = plan->partial_volume > 0 && outlines > 0 &&
                   plan->count - 1 + image->channels <= LOB_GROWCUT_MAX_CHANNELS;
    plan->sum = plan->thick || plan->values;
    return LOB_OK;
}

static int flat_axis(lob_dims dims)
{
    return dims.nx == 1 ? 0 : dims.ny == 1 ? 1 : 2;
}

static bool have_areas(const lob_segment_plan *plan, const lob_volume *seeds,
                       const lob_strokes *strokes, int threads)
{
    const lob_dims d = seeds->dims;
    const int64_t plane = d.nx * d.ny;
    bool any = false;
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(|| : any)
    for (int64_t z = 0; z < d.nz; z++) {
        const int64_t end = (z + 1) * plane;
        if (any || lob_strokes_labels_in(strokes, 2, z) == 0) continue;
        for (int64_t i = z * plane;
             !any && (i = lob_next_label(seeds->data, seeds->type, i, end)) < end; i++)
            any = lob_strokes_fill_square(seeds->data, seeds->type, d, plan->across,
                                          (int64_t[3]){i % d.nx, i / d.nx % d.ny, z});
    }
    return any;
}

/* ---- grids ---- */

/* Has a single slice strokes, or two that are as one? The plan's box is that of the strokes. */
static bool is_lone(const lob_segment_plan *plan, const lob_volume *image)
{
    if (plan->slices != 2) return plan->slices == 1;
    double longest = 0, apart = 0;
    for (int a = 0; a < 3; a++) {
        const double mm = image->geometry.spacing_mm[a];
        if (a == plan->axis)
            apart = mm * (double)(plan->box.size[a] - 1);
        else
            longest = fmax(longest, mm * (double)plan->box.size[a]);
    }
    return apart < fmin(together_mm, together_share * longest);
}

/* How far the box goes beyond the first and last slice, as a share of the strokes' box there. */
static double choose_ends(const lob_segment_plan *plan, const lob_volume *image,
                          const lob_strokes *strokes)
{
    const double *const mm = image->geometry.spacing_mm;
    double longest = 0;
    if (plan->axis < 0 || plan->options.ends == 0) return plan->options.ends;
    for (int a = 0; a < 3; a++) {
        int64_t first, last;
        find_extent(&first, &last, plan, strokes, a, 0, plan->count);
        if (a != plan->axis) longest = fmax(longest, mm[a] * (double)(last - first + 1));
    }
    const double all = mm[plan->axis] * (double)plan->box.size[plan->axis];
    const double beyond = fmax(beyond_slices * longest, beyond_mm) /
                          (is_lone(plan, image) ? 1 : (double)plan->slices);
    return fmax(plan->options.ends, beyond / all);
}

static void choose_reach(lob_segment_plan *plan, const lob_volume *image,
                         const lob_strokes *strokes)
{
    double shortest = INFINITY;
    for (int32_t k = 0; k < plan->count; k++)
        for (int a = 0; a < 3; a++) {
            int64_t first, last;
            if (plan->labels[k] == plan->background || lob_side(image->dims, a) == 1) continue;
            find_extent(&first, &last, plan, strokes, a, k, k + 1);
            shortest = fmin(shortest, image->geometry.spacing_mm[a] * (double)(last - first + 1));
        }
    plan->far_mm = isfinite(shortest) ? lob_plan_number(reach_share * shortest) : 0;
}

/* The box around all strokes, which the plan has, with its margin. Returns its voxels. */
static double choose_box(lob_segment_plan *plan, const lob_volume *image,
                         const lob_strokes *strokes)
{
    const lob_segment_options *const o = &plan->options;
    int64_t margin[3];
    double voxels = 1;
    plan->ends = lob_plan_number(choose_ends(plan, image, strokes));
    for (int a = 0; a < 3; a++) {
        const double least = o->margin / (o->margin_voxels ? 1 : image->geometry.spacing_mm[a]);
        const double ends = a == plan->axis ? plan->ends : 0;
        const double share = fmax(o->share, ends) * (double)plan->box.size[a];
        /* Rounded up, but not because of a last digit. */
        margin[a] = (int64_t)ceil(fmin(fmax(least, share), 0x1p40) - 1e-6);
    }
    lob_box_widen(&plan->box, margin, image->dims);
    for (int a = 0; a < 3; a++) {
        voxels *= (double)plan->box.size[a];
        plan->flat = plan->flat || plan->box.size[a] == 1;
    }
    return voxels;
}

/* Halve the first growth's grid, along the axes of the least spacing, until it is small enough. */
static void choose_grid(lob_segment_plan *plan, const lob_volume *image, double voxels)
{
    const double *const mm = image->geometry.spacing_mm;
    bool more = plan->passes == 2 && !plan->thick;
    for (int a = 0; a < 3; a++) {
        plan->factor[a] = 1;
        plan->coarse_mm[a] = mm[a];
    }
    plan->coarse_least_mm = plan->least_mm;
    while (more && voxels > (double)plan->options.coarse) {
        const double limit = near_spacing * plan->coarse_least_mm;
        double least = 0;
        more = false;
        for (int a = 0; a < 3; a++) {
            const int64_t side = lob_side(image->dims, a);
            if (side > plan->factor[a] && plan->coarse_mm[a] <= limit) {
                plan->factor[a] *= 2;
                plan->coarse_mm[a] = mm[a] * plan->factor[a];
                voxels /= 2;
                more = true;
            }
            if (side > 1 && (least == 0 || plan->coarse_mm[a] < least)) least = plan->coarse_mm[a];
        }
        plan->coarse_least_mm = least;
    }
}

/* ---- numbers ---- */

static void choose_growths(lob_segment_plan *plan, const lob_volume *image)
{
    const lob_segment_options *const o = &plan->options;
    const bool coarse = lob_segment_is_coarse(plan);
    for (int k = 0; k < 2; k++) {
        const bool first = k == 0;
        const double mm = first && coarse ? plan->coarse_least_mm : plan->least_mm;
        const double blur = (!first   ? second_blur
                             : coarse ? coarse_blur
                                      : 1) *
                            (plan->values ? values_blur : 1);
        lob_segment_growth *const g = &plan->growth[k];
        *g = (lob_segment_growth){
            .blur_mm = lob_plan_number(o->blur * blur * mm),
            .smooth_mm = lob_plan_number(o->smooth * mm * (first ? 1 : second_smooth)),
            .edge = lob_plan_number(o->edge * (first ? 1 : second_edge)),
            .shape_mm = first ? 0 : lob_plan_number(plan->coarse_least_mm),
        };
        if (plan->thick) {
            g->blur_mm = g->edge = 0;
            g->settle = thick_settle;
            g->settle_mm = lob_plan_number(o->smooth * thick_sigma * mm);
        }
        g->keep = !first && plan->count == 2 && g->edge > 0;
        g->fade = k + 1 == plan->passes && plan->count == 2 && plan->values && g->edge > 0;
        for (int a = 0; a < 3; a++)
            g->spacing_mm[a] = first && coarse ? lob_plan_number(plan->coarse_mm[a])
                                               : image->geometry.spacing_mm[a];
    }
}

/* Everything that follows from strokes with dense labels. */
static lob_status choose(lob_segment_plan *plan, const lob_volume *image,
                         const lob_segment_part *part, const lob_context *context, lob_error *error)
{
    const double *const mm = image->geometry.spacing_mm;
    const lob_volume *const seeds = &part->voxels;
    const lob_label_set *const set = &part->set;
    const lob_strokes *const strokes = &part->counts;
    int outlines = 0;
    double voxels = 0;
    LOB_TRY(take_labels(plan, set, error));
    plan->channels = image->channels;
    plan->least_mm = lob_least_spacing(image->dims, mm);
    for (int a = 0; a < 3; a++)
        plan->median[a] = plan->options.median && lob_side(image->dims, a) > 1 &&
                          mm[a] <= near_spacing * plan->least_mm;
    plan->axis = lob_strokes_axis(strokes);
    plan->across = plan->axis >= 0 ? plan->axis : flat_axis(seeds->dims);
    plan->areas = have_areas(plan, seeds, strokes, context->threads);
    lob_status st = LOB_OK;
    if (plan->options.slips)
        st = lob_segment_slips(NULL, &plan->slips, seeds, strokes, context->threads, error);
    if (st == LOB_OK) st = choose_background(plan, strokes, seeds, set, error);
    if (st == LOB_OK) st = find_outlines(&outlines, plan, strokes, error);
    plan->corrected = outlines == 1 && plan->outlined > 0 && plan->outlined < plan->slices;
    plan->thick = st == LOB_OK && slices_are_thick(plan, outlines, image, strokes);
    plan->absent = plan->thick && are_drawn(plan, strokes, true);
    const bool lone = is_lone(plan, image);
    if (st == LOB_OK) choose_reach(plan, image, strokes);
    if (st == LOB_OK) voxels = choose_box(plan, image, strokes);
    if (st == LOB_OK)
        st = look_at_width(plan, image, outlines, seeds, strokes, set, context->threads, error);
    if (st != LOB_OK) return st;
    if (lone) plan->options.far = fmin(plan->options.far, lone_far);
    /* Outlines of several structures say where borders are more than once. */
    plan->options.shape = lob_plan_number(plan->options.shape / (plan->count - 1));
    plan->passes = plan->options.passes > 0 ? plan->options.passes : outlines == 1 && !lone ? 2 : 1;
    plan->completed = plan->areas && plan->passes == 2 && plan->axis >= 0;
    plan->outvote = plan->passes == 2 && plan->count > 2 && !plan->thick && !plan->values &&
                    (image->channels == 1 || lob_type_of(image->type)->is_integer);
    choose_grid(plan, image, voxels);
    choose_growths(plan, image);
    return LOB_OK;
}

static lob_segment_options rounded(const lob_segment_options *options)
{
    lob_segment_options o = *options;
    double *const numbers[] = {&o.margin, &o.share, &o.ends,   &o.whole, &o.far,
                               &o.shape,  &o.blur,  &o.smooth, &o.edge};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = lob_plan_number(*numbers[i]);
    return o;
}

static lob_status check(const lob_segment_options *o, const lob_volume *image, lob_error *error)
{
    const struct {
        const char *name;
        double value, least, most;
    } options[] = {
        {"margin",     o->margin,         0, 1e6              },
        {"share",      o->share,          0, 100              },
        {"ends",       o->ends,           0, 100              },
        {"whole",      o->whole,          0, 1                },
        {"far",        o->far,            0, 16               },
        {"shape",      o->shape,          0, 16               },
        {"blur",       o->blur,           0, 100              },
        {"smooth",     o->smooth,         0, 100              },
        {"edge",       o->edge,           0, 1                },
        {"background", o->background,     0, INT32_MAX        },
        {"passes",     o->passes,         0, 2                },
        {"coarse",     (double)o->coarse, 1, (double)INT64_MAX},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!(options[i].value >= options[i].least && options[i].value <= options[i].most))
            return lob_fail(error, LOB_EARG, "%s is %g; it is from %g to %.10g", options[i].name,
                            options[i].value, options[i].least, options[i].most);
    if (image->channels > LOB_REFINE_MAX_CHANNELS)
        return lob_fail(error, LOB_EDATA, "the image has %d channels, at most %d are segmented",
                        image->channels, LOB_REFINE_MAX_CHANNELS);
    return LOB_OK;
}

/* Where strokes lie in the image. */
static lob_status find_place(int64_t first[3], const lob_volume *image, const lob_volume *strokes,
                             lob_error *error)
{
    const lob_box whole = lob_box_whole(image->dims);
    lob_box box = lob_box_whole(strokes->dims);
    memset(first, 0, 3 * sizeof *first);
    if (lob_same_grid(image, "", strokes, "", NULL) == LOB_OK) return LOB_OK;
    if (!lob_place_in(box.first, strokes, image) || !lob_box_lies_in(&box, &whole))
        return lob_same_grid(image, "the image", strokes, "the strokes", error);
    memcpy(first, box.first, sizeof box.first);
    return LOB_OK;
}

lob_status lob_segment_choose_part(lob_segment_plan *plan, const lob_segment_input *in,
                                   const lob_segment_part *part, const lob_segment_options *options,
                                   const lob_context *context, lob_error *error)
{
    *plan = (lob_segment_plan){.options = rounded(options), .box = part->strokes};
    LOB_TRY(check(options, in->image, error));
    return choose(plan, in->image, part, context, error);
}

lob_status lob_segment_choose(lob_segment_plan *plan, const lob_volume *image,
                              const lob_volume *strokes, const lob_segment_options *options,
                              const lob_context *context, lob_error *error)
{
    const lob_segment_input in = {.image = image, .strokes = strokes};
    lob_segment_part part;
    int64_t first[3];
    LOB_TRY(check(options, image, error));
    LOB_TRY(find_place(first, image, strokes, error));
    LOB_TRY(lob_segment_cut(&part, strokes, NULL, NULL, context, error));
    for (int a = 0; a < 3; a++) {
        part.at.first[a] += first[a];
        part.strokes.first[a] += first[a];
    }
    const lob_status st = lob_segment_choose_part(plan, &in, &part, options, context, error);
    lob_segment_part_free(&part);
    return st;
}
