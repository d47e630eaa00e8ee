/* Measuring an image of cells: how large they are, and how bright. */
#include "kernels/cells/cells_job.h"
#include "kernels/plan_number.h"

#include <math.h>

lob_cells_options lob_cells_defaults(bool walls)
{
    if (walls)
        return (lob_cells_options){.walls = true,
                                   .size_mm = INFINITY,
                                   .smooth = 0.07,
                                   .seeds = 0.03,
                                   .wall = 0.12,
                                   .least = 0.01};
    return (lob_cells_options){.size_mm = INFINITY,
                               .smooth = 0.08,
                               .around = 1.5,
                               .bright = 0.5,
                               .apart = 0.5,
                               .wall = 0.25,
                               .least = 0.08};
}

/* A call of lob_cells_choose. */
typedef struct {
    lob_cells_job job;
    const lob_cells_options *options;
    const lob_volume *image; /* where the context computes */
    lob_volume above;        /* which voxels are bright */
    int dimensions;          /* axes with several voxels */
    double size_mm, threshold, brightest, contrast, level;
} choice;

/* How much brighter than its surroundings every voxel is. */
static lob_status compare_around(choice *c, lob_volume *around, const lob_volume *smooth)
{
    const lob_filter_step box =
        lob_cells_along(&c->job, LOB_FILTER_BOX, smooth, c->options->around * c->size_mm);
    LOB_TRY(lob_cells_filter(&c->job, around, smooth, &box, 1));
    lob_cells_pass p = lob_cells_pass_of(LOB_CELLS_LEAST, lob_voxels(smooth), NULL);
    p.sign = 1;
    p.here = smooth->data;
    p.to = around->data;
    return lob_cells_run(&c->job, NULL, &p);
}

/*
 * Do a few places, as dying cells and dust, hide what is far less bright? Then a threshold between
 * these and all the rest separates the values less than the mean does that cuts one normal
 * distribution in halves.
 */
static lob_status few_hide_others(choice *c, bool *hide, const lob_threshold_stats *stats,
                                  const lob_volume *difference)
{
    const double of_one_class = 2 / 3.14159265358979, few = 0.05;
    lob_cells_pass p = lob_cells_pass_of(LOB_CELLS_COUNT, lob_voxels(difference), NULL);
    lob_cells_sums sums;
    p.here = difference->data;
    p.marks = c->above.data;
    LOB_TRY(lob_cells_run(&c->job, &sums, &p));
    *hide =
        stats->separability < of_one_class && (double)sums.number[1] < few * (double)sums.number[0];
    return LOB_OK;
}

/* Make what is above no brighter than the least bright of it; changed: whether that did. */
static lob_status dim(choice *c, bool *changed, const lob_volume *smooth)
{
    const double before = c->brightest;
    lob_cells_pass p = lob_cells_pass_of(LOB_CELLS_DIMMEST, lob_voxels(smooth), NULL);
    lob_cells_sums sums;
    p.here = p.to = smooth->data;
    p.marks = c->above.data;
    LOB_TRY(lob_cells_run(&c->job, &sums, &p));
    c->brightest = fmin(before, sums.real[0]);
    p.kind = LOB_CELLS_BOUND;
    p.level = c->brightest;
    LOB_TRY(lob_cells_run(&c->job, &sums, &p));
    *changed = sums.number[0] > 0 && c->brightest < before;
    return LOB_OK;
}

/* What is brighter than its surroundings, by a share of Otsu's threshold of that difference. */
static lob_status measure_bodies(choice *c, lob_volume *smooth)
{
    lob_volume around = lob_volume_empty();
    lob_threshold_stats stats = {.separability = NAN};
    lob_status st;
    bool again = false;
    c->brightest = INFINITY;
    do {
        st = compare_around(c, &around, smooth);
        if (st == LOB_OK) st = lob_cells_split(&c->job, &c->above, &stats, &around);
        if (st == LOB_OK) st = few_hide_others(c, &again, &stats, &around);
        if (st == LOB_OK && again) st = dim(c, &again, smooth);
        lob_segment_drop(&c->job.steps, &around);
    } while (st == LOB_OK && again);
    /* In tissue that is mostly bright, what is dark parts first; brighter is brighter all the same.
     */
    c->threshold = fmax(stats.threshold[0], 0);
    return st;
}

/* Otsu's threshold between walls and what is inside, and the means of both. */
static lob_status measure_walls(choice *c, lob_volume *smooth)
{
    lob_cells_pass p = lob_cells_pass_of(LOB_CELLS_CLASSES, lob_voxels(smooth), NULL);
    lob_cells_sums sums;
    lob_threshold_stats stats;
    LOB_TRY(lob_cells_split(&c->job, &c->above, &stats, smooth));
    c->threshold = stats.threshold[0];
    p.here = smooth->data;
    p.marks = c->above.data;
    LOB_TRY(lob_cells_run(&c->job, &sums, &p));
    c->level = sums.real[1] / (double)sums.number[1];
    c->contrast = c->level - sums.real[0] / (double)sums.number[0];
    return LOB_OK;
}

/* Smooth an image by a Gaussian, which fills no gaps here, and find what is bright. */
static lob_status measure(choice *c, double sigma_mm, bool as_bodies)
{
    const lob_filter_step step = lob_cells_along(&c->job, LOB_FILTER_GAUSSIAN, c->image, sigma_mm);
    lob_volume smooth = lob_volume_empty();
    LOB_TRY(lob_share_next(&c->job.share, (1 + c->job.share.to) / 2));
    lob_status st = lob_cells_filter(&c->job, &smooth, c->image, &step, 1);
    if (st == LOB_OK) st = lob_cells_put_gaps(&c->job, &smooth, c->image);
    /* how often bodies are compared with what is around is not known: the bar waits there */
    if (st == LOB_OK) st = lob_share_next(&c->job.share, c->job.share.to);
    if (st == LOB_OK) st = (as_bodies ? measure_bodies : measure_walls)(c, &smooth);
    c->job.share.to = 1;
    lob_segment_drop(&c->job.steps, &smooth);
    return st;
}

/* Does the size fit the voxels? */
static lob_status check_size(const choice *c)
{
    const lob_volume *const image = c->image;
    const bool estimated = isinf(c->options->size_mm);
    const double least =
        lob_least_spacing(lob_cells_dims(&c->job, image), image->geometry.spacing_mm);
    const double voxels = c->size_mm / least;
    const char *const how = estimated ? "estimated " : "";
    if (!(voxels >= 3))
        return lob_fail_hint(c->job.error, estimated ? LOB_EDATA : LOB_EARG,
                             estimated ? LOB_HINT_GIVE_SIZE : LOB_HINT_NONE,
                             "the %ssize, %.4g mm, is less than 3 voxels of %.4g mm", how,
                             c->size_mm, least);
    if (voxels * c->options->around > LOB_FILTER_MAX_ALONG)
        return lob_fail_hint(c->job.error, LOB_EARG, LOB_HINT_COARSER,
                             "the %ssize, %.4g mm, is %.4g voxels", how, c->size_mm, voxels);
    return LOB_OK;
}

/* The smallest cell that is kept, in mm3: of a volume a share of a ball, of one slice of a disc as
 * thick as the slice. */
static double least_mm3(const choice *c)
{
    const double pi = 3.14159265358979, size = c->size_mm;
    const double whole = c->dimensions == 3   ? pi / 6 * size * size * size
                         : c->dimensions == 2 ? pi / 4 * size * size
                                              : size;
    double across_mm = 1;
    for (int a = 0; a < 3; a++)
        if (lob_side(lob_cells_dims(&c->job, c->image), a) == 1)
            across_mm *= c->image->geometry.spacing_mm[a];
    return c->options->least * whole * across_mm;
}

static lob_cells_plan plan_of(const choice *c)
{
    const lob_cells_options *const o = c->options;
    const double size = c->size_mm;
    lob_cells_plan plan = {
        .walls = o->walls,
        .estimated = isinf(o->size_mm),
        .size_mm = size,
        .threshold = c->threshold,
        .contrast = c->contrast,
        .smooth_mm = lob_plan_number(o->smooth * size),
        .wall = lob_plan_number(o->wall),
        .least_mm3 = lob_plan_number(least_mm3(c)),
    };
    if (o->walls) {
        plan.height = lob_plan_number(o->seeds * c->contrast);
        plan.wall_level = lob_plan_number(c->level);
    } else {
        plan.brightest = lob_plan_number(c->brightest);
        plan.around_mm = lob_plan_number(o->around * size);
        plan.offset = lob_plan_number(0 - o->bright * c->threshold);
        plan.bend_mm = lob_plan_number(LOB_CELLS_BEND * size);
        plan.apart_mm = lob_plan_number(o->apart * size);
    }
    return plan;
}

static bool within(double value, double low, double high)
{
    return value >= low && value <= high;
}

static lob_status check(const lob_cells_options *o, const lob_volume *image, lob_error *error)
{
    const bool common = within(o->smooth, 0, 1) && within(o->wall, 0, 1) && within(o->least, 0, 10);
    const bool own = o->walls ? within(o->seeds, 0, 1)
                              : within(o->around, 0.5, 10) && within(o->bright, 0, 10) &&
                                    within(o->apart, 0, 10);
    if (image->channels != 1) return lob_fail(error, LOB_EARG, "the image has several channels");
    if (!common || !own || !(o->size_mm > 0))
        return lob_fail(error, LOB_EARG, "a choice for cells is outside its range");
    return LOB_OK;
}

/* Can a voxel of an image be NaN or infinite? */
static bool may_have_gaps(const lob_volume *image)
{
    const lob_type_info *const type = lob_type_of(image->type);
    return !type->is_integer || !isfinite(image->slope * type->lowest + image->inter) ||
           !isfinite(image->slope * type->highest + image->inter);
}

lob_status lob_cells_choose_by(lob_cells_plan *plan, const lob_volume *image,
                               const lob_cells_options *options, lob_cells_job job)
{
    choice c = {
        .job = job,
        .options = options,
        .size_mm = options->size_mm,
        .above = lob_volume_empty(),
    };
    lob_error *const error = job.error;
    lob_volume whole = lob_volume_empty();
    LOB_TRY(check(options, image, error));
    for (int a = 0; a < 3; a++) c.dimensions += lob_side(lob_cells_dims(&c.job, image), a) > 1;
    c.job.gaps = may_have_gaps(image);
    LOB_TRY(lob_segment_here(&c.job.steps, &whole, image, error));
    c.image = &whole;
    lob_status st = lob_cells_make(&c.job, &c.above, image, LOB_U8);
    if (st == LOB_OK && isinf(options->size_mm))
        st = lob_cells_size(&c.size_mm, &c.job, &c.above, c.image, options->walls);
    if (st == LOB_OK) st = check_size(&c);
    if (st == LOB_OK) st = measure(&c, options->smooth * c.size_mm, !options->walls);
    if (st == LOB_OK) *plan = plan_of(&c);
    lob_segment_drop(&c.job.steps, &c.above);
    lob_segment_drop(&c.job.steps, &whole);
    return st;
}

lob_status lob_cells_choose(lob_cells_plan *plan, const lob_volume *image,
                            const lob_cells_options *options, const lob_backend *backend,
                            const lob_context *context, lob_error *error)
{
    return lob_cells_choose_by(plan, image, options,
                               lob_cells_begin(backend, context, NULL, 0, error));
}
