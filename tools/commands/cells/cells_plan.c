/* Measuring an image of cells, and writing down how to cut it. */
#include "tools/commands/cells/cells_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

lob_cells_choices lob_cells_bodies(void)
{
    return (lob_cells_choices){.size = {.value = INFINITY},
                               .smooth = 0.08,
                               .around = 1.5,
                               .bright = 0.5,
                               .apart = 0.5,
                               .wall = 0.05,
                               .least = 0.08};
}

lob_cells_choices lob_cells_walls(void)
{
    return (lob_cells_choices){.size = {.value = INFINITY},
                               .walls = true,
                               .smooth = 0.04,
                               .seeds = 0.02,
                               .wall = 0.12,
                               .least = 0.01};
}

/* The smallest cell that is kept, in mm3: of a volume a share of a ball, of one slice of a disc as
 * thick as the slice. */
static double least_mm3(const lob_cells_plan *plan)
{
    const double pi = 3.14159265358979, size = plan->size_mm;
    const double whole = plan->dimensions == 3   ? pi / 6 * size * size * size
                         : plan->dimensions == 2 ? pi / 4 * size * size
                                                 : size;
    return plan->choices.least * whole * plan->across_mm;
}

/* ---- measuring ---- */

/* Write a value of some bytes over those of data where an image is NaN or infinite. */
static void put_at_gaps(void *data, const lob_volume *image, const void *value, size_t bytes)
{
    enum { PIECE = 512 };
    const int64_t n = lob_voxels(image);
    for (int64_t first = 0; first < n; first += PIECE) {
        double values[PIECE];
        const int64_t count = n - first < PIECE ? n - first : PIECE;
        lob_values(values, image->data, image->type, first, count);
        for (int64_t i = 0; i < count; i++)
            if (!isfinite(image->slope * values[i] + image->inter))
                memcpy((char *)data + (size_t)(first + i) * bytes, value, bytes);
    }
}

/* Run steps on an image; out becomes a float32 volume. */
static lob_status filter(lob_session *s, lob_volume *out, const lob_volume *image,
                         const lob_filter_step *steps, int count, const char *path)
{
    const lob_filter_input in = {.image = image, .steps = steps, .step_count = count};
    lob_filter_options options = lob_filter_defaults();
    lob_filter_output result;
    if (steps[0].kind == LOB_FILTER_GAUSSIAN) options.edge = LOB_EDGE_NEAREST;
    const lob_status st = s->backend->filter(&result, &in, &options, &s->context, &s->error);
    if (st != LOB_OK) return lob_session_name(s, st, path, NULL);
    if (lob_volume_adopt(out, image, &result.data, result.type, 1) == LOB_OK) {
        out->slope = 1;
        out->inter = 0;
        return LOB_OK;
    }
    lob_filter_output_free(&result);
    return lob_session_no_memory(s, path);
}

/* A Gaussian of so many mm, or a box of this radius, along the axes of an image. */
static lob_filter_step step_of(lob_filter_kind kind, const lob_volume *image, double mm)
{
    lob_filter_step step = {.kind = kind};
    for (int a = 0; a < 3; a++) {
        const double voxels = mm / image->geometry.spacing_mm[a];
        if (lob_side(image->dims, a) > 1)
            step.along[a] = kind == LOB_FILTER_BOX ? floor(voxels + 1e-6) : voxels;
    }
    return step;
}

/* Otsu's threshold of an image, and which voxels are above it. */
static lob_status split(lob_session *s, uint8_t *above, lob_threshold_stats *stats,
                        const lob_volume *image, const char *path)
{
    const lob_threshold_input in = {.image = image};
    const lob_threshold_options options = lob_threshold_defaults();
    const lob_status st =
        s->backend->threshold(above, stats, &in, &options, &s->context, &s->error);
    return lob_session_name(s, st, path, NULL);
}

/*
 * The diameter of a usual cell, from the mean depth of all cells' voxels below the surfaces. Of
 * balls, or discs, of one size that depth, times 2 (n + 1) in n dimensions, is their diameter.
 * Large cells have more voxels: where diameters vary by a fifth, as exp(normal), the mean over
 * voxels is exp(3 / 25) times the usual one. Gaps of the image end no cell and are not measured, as
 * what is beyond the volume.
 */
static lob_status diameter(lob_session *s, double *mm, uint8_t *inside, const lob_cells_plan *plan,
                           const lob_volume *image, const char *path)
{
    const int64_t n = lob_voxels(image);
    float *const depth = malloc((size_t)n * sizeof *depth);
    if (!depth) return lob_session_no_memory(s, path);
    lob_distance_input in = {.labels = inside, .type = LOB_U8, .dims = image->dims};
    lob_distance_options options = lob_distance_defaults();
    const lob_distance_output out = {.distance = depth};
    options.kind = LOB_DISTANCE_TO_OTHER;
    memcpy(in.spacing, image->geometry.spacing_mm, sizeof in.spacing);
    put_at_gaps(inside, image, &(uint8_t){1}, 1);
    const lob_status st = s->backend->distance(&out, &in, &options, &s->context, &s->error);
    put_at_gaps(inside, image, &(uint8_t){0}, 1);
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < n && st == LOB_OK; i++)
        if (inside[i] && isfinite(depth[i])) sum += (double)depth[i], count++;
    const double spread = 0.887; /* exp(-3 / 25) */
    *mm = count ? spread * 2 * (plan->dimensions + 1) * sum / (double)count : 0;
    free(depth);
    return lob_session_name(s, st, path, NULL);
}

/* How much brighter than its surroundings every voxel is. */
static lob_status compare_around(lob_session *s, lob_volume *difference, const lob_cells_plan *plan,
                                 const lob_volume *smooth, const char *path)
{
    const lob_filter_step box =
        step_of(LOB_FILTER_BOX, smooth, plan->choices.around * plan->size_mm);
    LOB_TRY(filter(s, difference, smooth, &box, 1, path));
    const float *const here = smooth->data;
    float *const values = difference->data;
    for (int64_t i = 0; i < lob_voxels(smooth); i++) values[i] = here[i] - values[i];
    return LOB_OK;
}

/*
 * Do a few places, as dying cells and dust, hide what is far less bright? Then a threshold between
 * these and all the rest separates the values less than the mean does that cuts one normal
 * distribution in halves.
 */
static bool few_hide_others(const lob_threshold_stats *stats, const uint8_t *above,
                            const lob_volume *difference)
{
    const double of_one_class = 2 / 3.14159265358979, few = 0.05;
    const float *const values = difference->data;
    int64_t data = 0, brighter = 0;
    for (int64_t i = 0; i < lob_voxels(difference); i++) {
        data += isfinite(values[i]);
        brighter += above[i];
    }
    return stats->separability < of_one_class && (double)brighter < few * (double)data;
}

/* Make what is above no brighter than the least bright of it; returns whether that changed it. */
static bool dim(lob_cells_plan *plan, const uint8_t *above, const lob_volume *smooth)
{
    float *const values = smooth->data;
    const double before = plan->brightest;
    const int64_t n = lob_voxels(smooth);
    bool changed = false;
    for (int64_t i = 0; i < n; i++)
        if (above[i]) plan->brightest = fmin(plan->brightest, (double)values[i]);
    for (int64_t i = 0; i < n; i++)
        if ((double)values[i] > plan->brightest) values[i] = (float)plan->brightest, changed = true;
    return changed && plan->brightest < before;
}

/* What is brighter than its surroundings, by a share of Otsu's threshold of that difference. */
static lob_status measure_bodies(lob_session *s, lob_cells_plan *plan, uint8_t *above,
                                 lob_volume *smooth, const char *path)
{
    lob_volume around = lob_volume_empty();
    lob_threshold_stats stats = {.separability = NAN};
    lob_status st;
    plan->brightest = INFINITY;
    for (;;) {
        st = compare_around(s, &around, plan, smooth, path);
        if (st == LOB_OK) st = split(s, above, &stats, &around, path);
        if (st != LOB_OK || !few_hide_others(&stats, above, &around) || !dim(plan, above, smooth))
            break;
        lob_volume_free(&around);
    }
    /* In tissue that is mostly bright, what is dark parts first; brighter is brighter all the same.
     */
    plan->threshold = fmax(stats.threshold[0], 0);
    const double least = plan->choices.bright * plan->threshold;
    const float *const difference = around.data;
    for (int64_t i = 0; i < lob_voxels(smooth) && st == LOB_OK; i++)
        above[i] = (double)difference[i] > least;
    lob_volume_free(&around);
    return st;
}

/* Otsu's threshold between walls and what is inside, and the means of both. */
static lob_status measure_walls(lob_session *s, lob_cells_plan *plan, uint8_t *above,
                                lob_volume *smooth, const char *path)
{
    const float *const values = smooth->data;
    double sum[2] = {0, 0};
    int64_t count[2] = {0, 0};
    lob_threshold_stats stats;
    LOB_TRY(split(s, above, &stats, smooth, path));
    plan->threshold = stats.threshold[0];
    for (int64_t i = 0; i < lob_voxels(smooth); i++) {
        if (!isfinite(values[i])) continue;
        sum[above[i]] += (double)values[i];
        count[above[i]]++;
    }
    plan->level = sum[1] / (double)count[1];
    plan->contrast = plan->level - sum[0] / (double)count[0];
    return LOB_OK;
}

/* Smooth an image by a Gaussian, which fills no gaps here, and find what is bright. */
static lob_status measure(lob_session *s, lob_cells_plan *plan, uint8_t *above,
                          const lob_volume *image, double sigma_mm, bool as_bodies,
                          const char *path)
{
    const lob_filter_step step = step_of(LOB_FILTER_GAUSSIAN, image, sigma_mm);
    lob_volume smooth = lob_volume_empty();
    lob_status st = filter(s, &smooth, image, &step, 1, path);
    if (st == LOB_OK) put_at_gaps(smooth.data, image, &(float){NAN}, sizeof(float));
    if (st == LOB_OK)
        st = (as_bodies ? measure_bodies : measure_walls)(s, plan, above, &smooth, path);
    lob_volume_free(&smooth);
    return st;
}

static lob_status check_size(lob_session *s, const lob_cells_plan *plan, const lob_volume *image,
                             const char *path)
{
    const double voxels =
        plan->size_mm / lob_least_spacing(image->dims, image->geometry.spacing_mm);
    const char *const how = plan->estimated ? "estimated size" : "--size";
    if (!(voxels >= 3))
        return lob_fail(&s->error, plan->estimated ? LOB_EDATA : LOB_EARG,
                        "%s: the %s, %.4g mm, is less than 3 voxels%s", path, how, plan->size_mm,
                        plan->estimated ? "; give --size" : "");
    if (voxels * plan->choices.around > LOB_FILTER_MAX_ALONG)
        return lob_fail(&s->error, LOB_EARG,
                        "%s: the %s, %.4g mm, is %.4g voxels; resample the image, or give a --size",
                        path, how, plan->size_mm, voxels);
    return LOB_OK;
}

/*
 * Estimate the size: smooth a little, split by Otsu's threshold, measure; then again with the
 * smoothing, and the surroundings of bodies, that fit what was found.
 */
static lob_status estimate(lob_session *s, lob_cells_plan *plan, uint8_t *above,
                           const lob_volume *image, const char *path)
{
    const bool walls = plan->choices.walls;
    const int rounds = walls ? 2 : 4;
    const double first_voxels = 2, smooth = 0.08;
    lob_status st = LOB_OK;
    double sigma = first_voxels * lob_least_spacing(image->dims, image->geometry.spacing_mm);
    for (int round = 0; round < rounds && st == LOB_OK; round++) {
        st = measure(s, plan, above, image, sigma, !walls && round > 0, path);
        for (int64_t i = 0; i < lob_voxels(image) && walls && st == LOB_OK; i++)
            above[i] = !above[i];
        if (st == LOB_OK) st = diameter(s, &plan->size_mm, above, plan, image, path);
        if (st == LOB_OK) st = check_size(s, plan, image, path);
        sigma = smooth * plan->size_mm;
    }
    return st;
}

lob_status lob_cells_choose(lob_session *s, lob_cells_plan *plan, const lob_volume *image,
                            const char *path)
{
    const lob_size *const given = &plan->choices.size;
    const int64_t bytes = lob_product(lob_voxels(image), 1 + 2 * (int64_t)sizeof(float), 1, 1);
    plan->dimensions = 0;
    plan->across_mm = 1;
    for (int a = 0; a < 3; a++)
        if (lob_side(image->dims, a) > 1)
            plan->dimensions++;
        else
            plan->across_mm *= image->geometry.spacing_mm[a];
    plan->estimated = isinf(given->value);
    plan->size_mm =
        given->value *
        (given->voxels ? lob_least_spacing(image->dims, image->geometry.spacing_mm) : 1);
    LOB_TRY(lob_session_take(s, bytes, path));
    uint8_t *const above = malloc((size_t)lob_voxels(image));
    lob_status st = above ? LOB_OK : lob_session_no_memory(s, path);
    lob_session_compute(s, "measuring");
    if (st == LOB_OK && plan->estimated) st = estimate(s, plan, above, image, path);
    if (st == LOB_OK) st = check_size(s, plan, image, path);
    if (st == LOB_OK)
        st = measure(s, plan, above, image, plan->choices.smooth * plan->size_mm,
                     !plan->choices.walls, path);
    if (st == LOB_OK) lob_session_computed(s);
    free(above);
    lob_session_give(s, bytes);
    return st;
}

void lob_cells_report(lob_session *s, const lob_cells_plan *plan)
{
    const bool walls = plan->choices.walls;
    cJSON *const chosen = cJSON_AddObjectToObject(s->results, "chosen");
    cJSON_AddStringToObject(chosen, "cells_are", walls ? "between walls" : "bodies");
    cJSON_AddNumberToObject(chosen, "size_mm", plan->size_mm);
    cJSON_AddBoolToObject(chosen, "size_estimated", plan->estimated);
    cJSON_AddNumberToObject(chosen, walls ? "threshold" : "threshold_over_surroundings",
                            plan->threshold);
    if (!walls && isfinite(plan->brightest))
        cJSON_AddNumberToObject(chosen, "brightest", plan->brightest);
    if (walls) cJSON_AddNumberToObject(chosen, "wall_contrast", plan->contrast);
    lob_session_say(s, "cells: %s, of %.4g mm%s", walls ? "between walls" : "bodies", plan->size_mm,
                    plan->estimated ? " (estimated)" : "");
}

/* ---- the recipe ---- */

/* Flood from the seeds, and join what the walls of these values do not part. */
static void put_flood(FILE *to, const lob_cells_plan *plan, const char *image, const char *more,
                      double level)
{
    const double wall = plan->choices.wall;
    fprintf(to, "growcut %s @seeds -o %s --rule flood --trust-seeds%s\n", image,
            wall > 0 ? "@basins" : "@joined", more);
    if (wall > 0)
        fprintf(to, "merge @basins %s -o @joined --share %.9g --level %.9g\n", image, wall, level);
}

static void put_bodies(FILE *to, const lob_cells_plan *plan, const char *image)
{
    const lob_cells_choices *const c = &plan->choices;
    const double size = plan->size_mm, depth_smooth = 0.06;
    fprintf(to, "filter %s -o @smooth --gaussian %.9gmm --edge nearest", image, c->smooth * size);
    if (isfinite(plan->brightest)) fprintf(to, " --window -inf,%.9g", plan->brightest);
    fprintf(to, "\nthreshold @smooth -o @bright --local %.9gmm --offset %.9g\n", c->around * size,
            0 - c->bright * plan->threshold);
    fprintf(to, "distance @bright -o @surface --signed\n");
    fprintf(to, "filter @surface -o @valleys --gaussian %.9gmm --edge nearest\n",
            depth_smooth * size);
    fprintf(to, "filter @valleys -o @depth --scale -1,0\n");
    fprintf(to, "maxima @depth -o @seeds --mask @bright --distance %.9gmm\n", c->apart * size);
    put_flood(to, plan, "@valleys", " --mask @bright", 0);
}

static void put_walls(FILE *to, const lob_cells_plan *plan, const char *image)
{
    const lob_cells_choices *const c = &plan->choices;
    fprintf(to, "filter %s -o @smooth --gaussian %.9gmm --edge nearest\n", image,
            c->smooth * plan->size_mm);
    fprintf(to, "filter @smooth -o @inside --scale -1,0\n");
    fprintf(to, "maxima @inside -o @seeds --height %.9g\n", c->seeds * plan->contrast);
    put_flood(to, plan, "@smooth", "", plan->level);
}

char *lob_cells_recipe(const lob_cells_plan *plan)
{
    const bool part = plan->frame >= 0 || plan->channel >= 0;
    const char *const image = part ? "@image" : "{image}";
    char *text = NULL;
    size_t size = 0;
    FILE *const to = open_memstream(&text, &size);
    if (!to) return NULL;
    if (part) fprintf(to, "convert {image} @image");
    if (plan->frame >= 0) fprintf(to, " --frame %d", plan->frame);
    if (plan->channel >= 0) fprintf(to, " --channel %d", plan->channel);
    if (part) fprintf(to, "\n");
    (plan->choices.walls ? put_walls : put_bodies)(to, plan, image);
    fprintf(to, "labels @joined -o %s --fill-holes --min-size %.9gmm3 --sequential\n",
            plan->table ? "@cells" : "{out}", least_mm3(plan));
    if (plan->table) {
        fprintf(to, "stats %s @cells --table {table} --columns %s\n", image,
                "basic,diameter,elongation,sphericity,neighbours");
        fprintf(to, "convert @cells {out} --labels\n");
    }
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
