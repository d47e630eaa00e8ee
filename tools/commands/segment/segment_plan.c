/* Choosing what depends on the case, and writing it down as a recipe. */
#include "tools/commands/segment/segment_plan.h"

#include "kernels/appearance/appearance.h"
#include "tools/commands/seeds_input.h"
#include "volumes/crop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* An axis takes part in the median, and becomes coarser, where its voxels are at most this many
 * times the least spacing apart: beyond, neighbours tell little of each other. */
static const double near_spacing = 1.5;

/* Going to a coarser grid has smoothed the shares already. */
static const double coarse_blur = 0.35;

/* The second growth begins from better shares, and so needs less of each. */
static const double second_blur = 0.5, second_smooth = 0.7, second_edge = 0.5;

lob_segment_choices lob_segment_defaults(void)
{
    const lob_appearance_options a = lob_appearance_defaults();
    return (lob_segment_choices){
        .margin = {.value = 10},
        .share = 0.3,
        .ends = 0.375,
        .median = LOB_SEGMENT_ON,
        .whole = a.whole,
        .far = a.far,
        .shape = a.shape,
        .blur = 1,
        .smooth = 1,
        .edge = 1,
        .coarse = 1 << 19,
    };
}

/* ---- choosing ---- */

/* Voxels of the box around all strokes, with its margin; is it a slice? */
static double measure_box(lob_segment_plan *plan, const lob_volume *image, const lob_volume *seeds)
{
    lob_box box;
    double voxels = 1;
    plan->flat = false;
    if (!lob_box_of(&box, seeds)) return 0;
    for (int a = 0; a < 3; a++) {
        const lob_size *const margin = &plan->choices.margin;
        const double least = margin->value / (margin->voxels ? 1.0 : image->geometry.spacing_mm[a]);
        const double ends = a == plan->axis ? plan->choices.ends : 0;
        const double share = fmax(plan->choices.share, ends) * (double)box.size[a];
        const double wide = ceil(fmax(least, share) - 1e-6);
        const double first = fmax(0, (double)box.first[a] - wide);
        const double end =
            fmin((double)lob_side(image->dims, a), (double)(box.first[a] + box.size[a]) + wide);
        voxels *= end - first;
        plan->flat = plan->flat || end - first <= 1;
    }
    return voxels;
}

/* Halve the first growth's grid, along the axes of the least spacing, until it is small enough. */
static void choose_grid(lob_segment_plan *plan, const lob_volume *image, double voxels)
{
    const double *const mm = image->geometry.spacing_mm;
    bool more = plan->passes == 2;
    for (int a = 0; a < 3; a++) {
        plan->factor[a] = 1;
        plan->coarse_mm[a] = mm[a];
    }
    plan->coarse_least_mm = plan->least_mm;
    while (more && voxels > plan->choices.coarse) {
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

/* Is there a slice with strokes of a label and of others, for any label but the background? */
static lob_status find_outlines(lob_session *s, bool *any, lob_segment_plan *plan,
                                const lob_strokes *strokes, const lob_label_set *labels,
                                const char *seeds_path)
{
    const int axis = plan->axis;
    *any = false;
    plan->slices = 0;
    if (axis < 0) return LOB_OK;
    const int64_t side = lob_side(strokes->dims, axis);
    int64_t *const slices = malloc((size_t)side * sizeof *slices);
    if (!slices) return lob_session_no_memory(s, seeds_path);
    for (int32_t i = 1; i <= labels->count; i++)
        if (labels->values[i - 1] != plan->background)
            *any = *any || lob_strokes_drawn(slices, strokes, i, axis) > 0;
    for (int64_t z = 0; z < side; z++) {
        const int64_t *const voxels = lob_strokes_in(strokes, axis, z);
        bool drawn = false;
        for (int32_t k = 0; k < labels->count; k++) drawn = drawn || voxels[k] > 0;
        plan->slices += drawn;
    }
    free(slices);
    return LOB_OK;
}

lob_status lob_segment_choose(lob_session *s, lob_segment_plan *plan, const lob_volume *image,
                              const lob_volume *seeds, const lob_label_set *labels,
                              const char *seeds_path)
{
    const double *const mm = image->geometry.spacing_mm;
    plan->channels = image->channels;
    plan->count = labels->count;
    plan->least_mm = lob_least_spacing(image->dims, mm);
    for (int a = 0; a < 3; a++)
        plan->median[a] = lob_side(image->dims, a) > 1 && mm[a] <= near_spacing * plan->least_mm;
    lob_strokes strokes;
    bool outlines = false;
    lob_status st = lob_strokes_count(&strokes, seeds->data, seeds->type, seeds->dims,
                                      labels->count, s->context.threads, &s->error);
    int32_t background = 1;
    if (st == LOB_OK)
        st = lob_seeds_background(s, &background, &strokes, labels, seeds_path,
                                  plan->choices.background);
    plan->background = labels->values[background > 0 ? background - 1 : 0];
    plan->axis = lob_strokes_axis(&strokes);
    if (st == LOB_OK) st = find_outlines(s, &outlines, plan, &strokes, labels, seeds_path);
    lob_strokes_free(&strokes);
    plan->passes = plan->choices.passes > 0 ? plan->choices.passes : outlines ? 2 : 1;
    choose_grid(plan, image, measure_box(plan, image, seeds));
    if (st == LOB_OK && plan->slices == 1)
        lob_session_note(s,
                         "%s: has strokes on one slice alone, from which a structure's extent "
                         "cannot be told; draw on two or more",
                         seeds_path);
    return st;
}

void lob_segment_report(lob_session *s, const lob_segment_plan *plan)
{
    char axes[4] = "", *to = axes;
    for (int a = 0; a < 3; a++)
        if (plan->choices.median == LOB_SEGMENT_ON && plan->median[a]) *to++ = "xyz"[a];
    *to = '\0';
    cJSON *const chosen = cJSON_AddObjectToObject(s->results, "chosen");
    cJSON_AddNumberToObject(chosen, "background", plan->background);
    cJSON_AddBoolToObject(chosen, "background_given", plan->choices.background != 0);
    cJSON_AddNumberToObject(chosen, "passes", plan->passes);
    cJSON_AddStringToObject(chosen, "median_axes", axes);
    cJSON_AddNumberToObject(chosen, "least_spacing_mm", plan->least_mm);
    cJSON_AddItemToObject(chosen, "first_growth_spacing_mm",
                          cJSON_CreateDoubleArray(plan->coarse_mm, 3));
    cJSON_AddNumberToObject(s->results, "labels", plan->count - 1);
    lob_session_say(s, "background: label %d%s; growths: %d; the median goes along: %s",
                    plan->background, plan->choices.background ? "" : ", chosen", plan->passes,
                    axes[0] ? axes : "no axis");
}

/* ---- the recipe ---- */

static bool has_median(const lob_segment_plan *plan)
{
    return plan->choices.median == LOB_SEGMENT_ON &&
           (plan->median[0] || plan->median[1] || plan->median[2]);
}

/* Cut image and strokes to the box, and make the second view. */
static void put_box(FILE *to, const lob_segment_plan *plan)
{
    const lob_segment_choices *const c = &plan->choices;
    fprintf(to, "convert {seeds} @strokes --labels\n");
    fprintf(to, "crop {image} -o @image --around @strokes --margin %.9g%s --share %.9g --ends %.9g",
            c->margin.value, c->margin.voxels ? "vox" : "mm", c->share, c->ends);
    if (plan->frame >= 0) fprintf(to, " --frame %d", plan->frame);
    fprintf(to, "\nresample @strokes -o @seeds --like @image --labels --method nearest\n");
    if (has_median(plan))
        fprintf(to, "filter @image -o @median --median %d,%d,%d --edge nearest\n", plan->median[0],
                plan->median[1], plan->median[2]);
}

static bool is_coarse(const lob_segment_plan *plan)
{
    return plan->factor[0] > 1 || plan->factor[1] > 1 || plan->factor[2] > 1;
}

/* Shares are grown in steps of 1/255: finer ones change next to nothing, and take longer. */
static void put_smoothing(FILE *to, const char *n, double sigma_mm)
{
    fprintf(to, "filter @shares%s_raw -o @shares%s ", n, n);
    if (sigma_mm > 0) fprintf(to, "--gaussian %.9gmm --edge nearest ", sigma_mm);
    fprintf(to, "--scale 255,0 --cast uint8\n");
}

/* The first of two growths, on a coarser grid: shares are averaged, strokes are kept. */
static void put_coarse_growth(FILE *to, const lob_segment_plan *plan)
{
    const lob_segment_choices *const c = &plan->choices;
    const double *const mm = plan->coarse_mm, blur = c->blur * coarse_blur * plan->coarse_least_mm;
    fprintf(to, "resample @image -o @image1 --spacing %.9g,%.9g,%.9g\n", mm[0], mm[1], mm[2]);
    fprintf(to, "resample @seeds -o @seeds1 --like @image1 --labels --method strokes\n");
    fprintf(to,
            "appearance @image @seeds -o @shares1_fine --background %d --whole %.9g%s --far %.9g\n",
            plan->background, c->whole, has_median(plan) ? " --view @median" : "", c->far);
    fprintf(to, "resample @shares1_fine -o @shares1_raw --like @image1\n");
    put_smoothing(to, "1", blur);
    fprintf(to, "growcut @shares1 @seeds1 -o @grown1 --rule distance --norm linf --trust-seeds\n");
    fprintf(
        to,
        "refine @grown1 @image1 @seeds1 -o @coarse --background %d --smooth %.9gmm --edge %.9g\n",
        plan->background, c->smooth * plan->coarse_least_mm, c->edge);
    fprintf(to, "resample @coarse -o @first --like @image --labels --method nearest\n");
}

/* One growth: shares, smoothed, grown, refined. */
static void put_growth(FILE *to, const lob_segment_plan *plan, bool second)
{
    const lob_segment_choices *const c = &plan->choices;
    const bool last = second || plan->passes == 1;
    const double blur = c->blur * plan->least_mm * (second ? second_blur : 1);
    const double smooth = c->smooth * plan->least_mm * (second ? second_smooth : 1);
    const double edge = c->edge * (second ? second_edge : 1);
    const char *const n = last ? "" : "1", *const result = last ? "@labels" : "@first";

    fprintf(to, "appearance @image @seeds -o @shares%s_raw --background %d --whole %.9g", n,
            plan->background, c->whole);
    if (has_median(plan)) fprintf(to, " --view @median");
    if (second)
        fprintf(to, " --outline @first --shape %.9g --shape-border %.9g", c->shape,
                plan->coarse_least_mm);
    fprintf(to, " --far %.9g\n", c->far);
    put_smoothing(to, n, blur);
    fprintf(to,
            "growcut @shares%s @seeds -o @grown%s --rule distance --norm linf --trust-seeds%s\n", n,
            n, last && plan->strength ? " --strength @strength" : "");
    fprintf(to, "refine @grown%s @image @seeds -o %s --background %d --smooth %.9gmm --edge %.9g\n",
            n, result, plan->background, smooth, edge);
}

char *lob_segment_recipe(const lob_segment_plan *plan)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const to = open_memstream(&text, &size);
    if (!to) return NULL;
    put_box(to, plan);
    if (is_coarse(plan))
        put_coarse_growth(to, plan);
    else
        put_growth(to, plan, false);
    if (plan->passes > 1) put_growth(to, plan, true);
    fprintf(to, "labels @labels -o @wanted --drop %d\n", plan->background);
    if (plan->strength)
        fprintf(to, "resample @strength -o {strength} --like {image} --method nearest\n");
    fprintf(to, "resample @wanted -o %s --like {image} --labels --method nearest\n",
            plan->in_memory ? "@_result" : "{out}");
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
