/* Labelling cells by a plan: the steps, one after the other, and what lies between them. */
#include "kernels/cells/cells_job.h"
#include "kernels/labels/label_slabs.h"
#include "volumes/labels.h"

#include <math.h>
#include <string.h>

/* A call of lob_cells. */
typedef struct {
    lob_cells_job job;
    const lob_volume *image;
    const lob_cells_plan *plan;
    lob_volume valleys; /* what is flooded: low inside of cells, high between them */
    lob_volume bright;  /* bodies: what is flooded at all; nothing: everything */
    lob_volume seeds, basins;
    lob_cells_stats stats;
} call;

/* ---- what is flooded ---- */

/* Label what is above the mean around it, less the offset. */
static lob_status mark_bright(call *c, const lob_volume *smooth, const lob_volume *mean)
{
    lob_cells_pass p = lob_cells_pass_of(LOB_CELLS_BRIGHT, lob_voxels(c->image), NULL);
    lob_cells_sums sums;
    LOB_TRY(lob_cells_make(&c->job, &c->bright, c->image, LOB_U8));
    p.level = c->plan->offset;
    p.here = smooth->data;
    p.before = mean->data;
    p.marks = c->bright.data;
    LOB_TRY(lob_cells_run(&c->job, &sums, &p));
    return sums.number[0] ? LOB_OK
                          : lob_fail(c->job.error, LOB_EDATA,
                                     "no voxel is so much brighter than its surroundings that it "
                                     "is a cell's");
}

static lob_status find_bright(call *c)
{
    const lob_cells_plan *const plan = c->plan;
    lob_volume smooth = lob_volume_empty(), mean = lob_volume_empty();
    lob_filter_step steps[2] = {
        lob_cells_along(&c->job, LOB_FILTER_GAUSSIAN, c->image, plan->smooth_mm),
        {.kind = LOB_FILTER_CLAMP, .low = -INFINITY, .high = plan->brightest},
    };
    const lob_filter_step box = lob_cells_along(&c->job, LOB_FILTER_BOX, c->image, plan->around_mm);
    const lob_filter_step bend =
        lob_cells_along(&c->job, LOB_FILTER_LAPLACIAN, c->image, plan->bend_mm);
    lob_status st = lob_share_next(&c->job.share, 0.15);
    if (st == LOB_OK)
        st = lob_cells_filter(&c->job, &smooth, c->image, steps, isinf(plan->brightest) ? 1 : 2);
    if (st == LOB_OK) st = lob_share_next(&c->job.share, 0.25);
    if (st == LOB_OK) st = lob_cells_filter(&c->job, &mean, &smooth, &box, 1);
    if (st == LOB_OK) st = mark_bright(c, &smooth, &mean);
    lob_segment_drop(&c->job.steps, &mean);
    if (st == LOB_OK) st = lob_share_next(&c->job.share, 0.45);
    if (st == LOB_OK) st = lob_cells_filter(&c->job, &c->valleys, &smooth, &bend, 1);
    lob_segment_drop(&c->job.steps, &smooth);
    return st;
}

/* ---- seeds, flood, basins ---- */

/* Numbers of maxima as seeds, in the type that basins have. */
static lob_status narrow(call *c, const int32_t *numbers)
{
    const lob_type type = lob_label_type((int32_t)c->stats.seeds);
    lob_cells_pass p = lob_cells_pass_of(LOB_CELLS_NARROW, lob_voxels(c->image), NULL);
    LOB_TRY(lob_cells_make(&c->job, &c->seeds, c->image, type));
    p.type = type;
    p.numbers = numbers;
    p.narrow = c->seeds.data;
    return lob_cells_run(&c->job, NULL, &p);
}

/* Maxima of the valleys turned upside down. */
static lob_status find_seeds(call *c)
{
    const lob_cells_plan *const plan = c->plan;
    lob_maxima_options options = lob_maxima_defaults();
    lob_maxima_output found;
    lob_volume hills = c->valleys;
    options.height = plan->height;
    options.apart = plan->apart_mm;
    hills.slope = -1;
    LOB_TRY(lob_share_next(&c->job.share, 0.55));
    LOB_TRY(lob_cells_maxima(&c->job, &found, &hills, c->bright.data, &options));
    c->stats.seeds = found.count;
    const int64_t bytes = lob_voxels(c->image) * (int64_t)sizeof *found.labels;
    lob_status st = lob_budget_hold(&c->job.steps.budget, bytes, c->job.error);
    if (st == LOB_OK) {
        st = narrow(c, found.labels);
        lob_budget_release(&c->job.steps.budget, bytes);
    }
    lob_maxima_output_free(&found);
    return st;
}

static lob_status flood(call *c)
{
    const lob_growcut_input in = {
        .image = &c->valleys,
        .seeds = &c->seeds,
        .labels = (int32_t)c->stats.seeds,
        .mask = c->bright.data,
        .place = c->valleys.place,
    };
    lob_growcut_options options = lob_growcut_defaults();
    lob_growcut_stats stats;
    options.rule = LOB_RULE_FLOOD;
    if (c->stats.seeds == 0)
        return lob_fail(c->job.error, LOB_EDATA, "no place is a seed: there are no cells");
    if (c->stats.seeds == 1 && c->plan->walls)
        return lob_fail(c->job.error, LOB_EDATA,
                        "only one place is a seed, so everything would be one cell");
    LOB_TRY(lob_share_next(&c->job.share, 0.85));
    LOB_TRY(lob_cells_make(&c->job, &c->basins, c->image, c->seeds.type));
    const lob_growcut_output out = {.labels = c->basins.data};
    const lob_context context = lob_cells_context(&c->job);
    LOB_TRY(c->job.team ? lob_cells_flood_slab(&c->job, &c->basins, &stats, &in, &options)
                        : c->job.steps.backend->growcut(&out, &stats, &in, &options, &context,
                                                        c->job.error));
    c->stats.not_finite = stats.not_finite;
    lob_segment_drop(&c->job.steps, &c->seeds);
    return LOB_OK;
}

/* Rules by which basins become those that they are joined with; rules holds one for each. */
static lob_status join(call *c, lob_labels_rule *rules, int64_t *count)
{
    const int64_t seeds = c->stats.seeds;
    const lob_label_grid grid = {c->basins.data, c->basins.type, seeds, c->image->dims};
    const lob_basins_options options = {.share = c->plan->wall, .level = c->plan->wall_level};
    int32_t *to;
    LOB_TRY(lob_budget_alloc(&c->job.steps.budget, &to, seeds + 1, sizeof *to, c->job.error));
    const lob_context context = lob_cells_context(&c->job);
    const lob_status st =
        c->job.team ? lob_cells_basins_slab(&c->job, to, &c->basins, seeds, &c->valleys, &options)
                    : c->job.steps.backend->basins(to, NULL, &grid, &c->valleys, &options, &context,
                                                   c->job.error);
    *count = 0;
    for (int32_t i = 1; i <= seeds && st == LOB_OK; i++)
        if (to[i] != i) rules[(*count)++] = (lob_labels_rule){i, i, to[i]};
    lob_budget_free(&c->job.steps.budget, to, seeds + 1, sizeof *to);
    return st;
}

/* ---- labels ---- */

/* Voxels of the smallest cell; one that misses this by the rounding of spacings is large enough. */
static int64_t least_voxels(const call *c)
{
    const double voxels = c->plan->least_mm3 / lob_voxel_mm3(&c->image->geometry);
    const double whole = ceil(voxels * (1.0 - 1e-6));
    return whole < 1 ? 1 : whole > 0x1p62 ? INT64_C(1) << 62 : (int64_t)whole;
}

/* Join, fill holes, take out what is small, and number what is left. */
static lob_status clean(call *c, lob_labels_output *out, lob_labels_rule *rules, int32_t *values)
{
    lob_labels_step steps[4] = {
        {.kind = LOB_LABELS_RECODE,     .rules = rules, .rest = LOB_LABELS_SAME},
        {.kind = LOB_LABELS_FILL_HOLES     },
        {.kind = LOB_LABELS_MIN_SIZE, .count = least_voxels(c)},
        {.kind = LOB_LABELS_SEQUENTIAL  },
    };
    if (c->plan->wall > 0) LOB_TRY(join(c, rules, &steps[0].rule_count));
    lob_segment_drop(&c->job.steps, &c->valleys);
    lob_segment_drop(&c->job.steps, &c->bright);
    const lob_volume *const basins = &c->basins;
    const int first = steps[0].rule_count == 0;
    lob_labels_input in = {
        .labels = basins->data,
        .type = basins->type,
        .count = (int32_t)c->stats.seeds,
        .values = values,
        .dims = c->image->dims,
        .steps = steps + first,
        .step_count = 4 - first,
        .place = basins->place,
    };
    const lob_labels_options options = lob_labels_defaults();
    const int64_t bytes = lob_voxels(c->image) * (int64_t)lob_type_of(basins->type)->bytes;
    memcpy(in.spacing_mm, c->image->geometry.spacing_mm, sizeof in.spacing_mm);
    LOB_TRY(lob_share_next(&c->job.share, 1.0));
    LOB_TRY(
        lob_budget_hold(&c->job.steps.budget, bytes, c->job.error)); /* of the result, at most */
    const lob_context context = lob_cells_context(&c->job);
    if (c->job.team)
        return lob_labels_slabs(out, &in, &options, c->job.planes, c->job.team, &context,
                                c->job.error);
    return c->job.steps.backend->labels(out, &in, &options, &context, c->job.error);
}

/* The result as a volume at the image's place. */
static lob_status give(call *c, lob_volume *labels, lob_labels_output *out)
{
    lob_volume made = lob_volume_empty();
    const lob_status st =
        lob_volume_adopt_at(&made, c->image, &out->labels, out->type, 1, out->device);
    if (st != LOB_OK) return lob_fail(c->job.error, st, "no memory for the result");
    lob_label_names_free(&made.names); /* those of the image's own labels */
    c->stats.cells = out->count;
    *labels = made;
    if (lob_place_same(made.place, c->image->place)) return LOB_OK;
    const lob_status moved =
        lob_volume_move(labels, &made, c->image->place, c->job.steps.context, c->job.error);
    lob_volume_free(&made);
    return moved;
}

static lob_status label(call *c, lob_volume *labels)
{
    const int64_t seeds = c->stats.seeds;
    lob_labels_rule *rules = NULL;
    int32_t *values = NULL;
    lob_labels_output out = {0};
    lob_status st =
        lob_budget_alloc(&c->job.steps.budget, &rules, seeds + 1, sizeof *rules, c->job.error);
    if (st == LOB_OK)
        st = lob_budget_alloc(&c->job.steps.budget, &values, seeds + 1, sizeof *values,
                              c->job.error);
    for (int32_t i = 0; i < seeds && st == LOB_OK; i++) values[i] = i + 1;
    if (st == LOB_OK) st = lob_share_next(&c->job.share, 0.9);
    if (st == LOB_OK) st = clean(c, &out, rules, values);
    if (st == LOB_OK) st = give(c, labels, &out);
    lob_labels_output_free(&out);
    lob_budget_free(&c->job.steps.budget, values, seeds + 1, sizeof *values);
    lob_budget_free(&c->job.steps.budget, rules, seeds + 1, sizeof *rules);
    return st;
}

/* ---- the call ---- */

/* Do lengths of the plan fit the voxels? */
static lob_status check(const call *c)
{
    const lob_cells_plan *const plan = c->plan;
    const lob_filter_step box = lob_cells_along(&c->job, LOB_FILTER_BOX, c->image, plan->around_mm);
    const double longest = fmax(box.along[0], fmax(box.along[1], box.along[2]));
    if (c->image->channels != 1)
        return lob_fail(c->job.error, LOB_EARG, "the image has several channels");
    if (!(plan->smooth_mm >= 0) || !(plan->around_mm >= 0) || !(plan->bend_mm >= 0) ||
        !(plan->wall >= 0 && plan->wall <= 1) || !isfinite(plan->least_mm3))
        return lob_fail(c->job.error, LOB_EARG, "a number of the plan is outside its range");
    if (!plan->walls && !(longest >= 1 && longest <= LOB_FILTER_MAX_ALONG))
        return lob_fail(c->job.error, LOB_EARG,
                        "the surroundings of a voxel reach %.6g voxels, which must be 1 to %d",
                        longest, LOB_FILTER_MAX_ALONG);
    return LOB_OK;
}

static lob_status find_walls(call *c)
{
    const lob_filter_step gaussian =
        lob_cells_along(&c->job, LOB_FILTER_GAUSSIAN, c->image, c->plan->smooth_mm);
    LOB_TRY(lob_share_next(&c->job.share, 0.3));
    return lob_cells_filter(&c->job, &c->valleys, c->image, &gaussian, 1);
}

lob_status lob_cells_label_by(lob_volume *labels, lob_cells_stats *stats, const lob_volume *image,
                              const lob_cells_plan *plan, lob_cells_job job)
{
    call c = {
        .job = job,
        .image = image,
        .plan = plan,
        .valleys = lob_volume_empty(),
        .bright = lob_volume_empty(),
        .seeds = lob_volume_empty(),
        .basins = lob_volume_empty(),
    };
    const lob_context *const context = job.steps.context;
    *labels = lob_volume_empty();
    lob_error_begin(job.error);
    lob_status st = check(&c);
    if (st == LOB_OK) st = plan->walls ? find_walls(&c) : find_bright(&c);
    if (st == LOB_OK) st = find_seeds(&c);
    if (st == LOB_OK) st = flood(&c);
    if (st == LOB_OK) st = label(&c, labels);
    if (st == LOB_OK) st = lob_report(context, 1);
    c.stats.working_bytes = c.job.steps.budget.peak;
    if (stats) *stats = c.stats;
    lob_segment_drop(&c.job.steps, &c.valleys);
    lob_segment_drop(&c.job.steps, &c.bright);
    lob_segment_drop(&c.job.steps, &c.seeds);
    lob_segment_drop(&c.job.steps, &c.basins);
    if (st != LOB_OK) lob_volume_free(labels);
    return lob_error_end(job.error, st);
}

lob_status lob_cells(lob_volume *labels, lob_cells_stats *stats, const lob_volume *image,
                     const lob_cells_plan *plan, const lob_backend *backend,
                     const lob_context *context, lob_error *error)
{
    return lob_cells_label_by(labels, stats, image, plan,
                              lob_cells_begin(backend, context, NULL, 0, error));
}
