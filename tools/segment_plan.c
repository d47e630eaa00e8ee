/* Choosing what depends on the case, and writing it down as a recipe. */
#include "tools/segment_plan.h"

#include "kernels/appearance/appearance.h"
#include "kernels/appearance/strokes.h"

#include <stdio.h>
#include <stdlib.h>

/* An axis takes part in the median where its voxels are at most this many times the least spacing
 * apart: beyond, neighbours tell little of each other. */
static const double median_reach = 1.5;

/* The second growth begins from better shares, and so needs less of each. */
static const double second_blur = 0.5, second_smooth = 0.7, second_edge = 0.5;

lob_segment_choices lob_segment_defaults(void)
{
    const lob_appearance_options a = lob_appearance_defaults();
    return (lob_segment_choices){
        .margin = {.value = 10},
        .share = 0.3,
        .median = LOB_SEGMENT_ON,
        .whole = a.whole,
        .far = a.far,
        .shape = a.shape,
        .blur = 1,
        .smooth = 1,
        .edge = 1,
    };
}

/* ---- choosing ---- */

static lob_status choose_background(lob_session *s, lob_segment_plan *plan,
                                    const lob_strokes *strokes, const lob_label_set *labels,
                                    const char *seeds_path)
{
    plan->background = plan->choices.background;
    if (plan->background == 0)
        plan->background = labels->values[lob_strokes_background(strokes) - 1];
    for (int32_t i = 0; i < labels->count; i++)
        if (labels->values[i] == plan->background) return LOB_OK;
    return lob_fail(&s->error, LOB_EARG, "--background %d: %s has no stroke of this label",
                    plan->background, seeds_path);
}

/* Is there a slice with strokes of a label and of others, for any label but the background? */
static lob_status find_outlines(lob_session *s, bool *any, lob_segment_plan *plan,
                                const lob_strokes *strokes, const lob_label_set *labels,
                                const char *seeds_path)
{
    const int axis = lob_strokes_axis(strokes);
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
    plan->least_mm = 0;
    for (int a = 0; a < 3; a++)
        if (lob_side(image->dims, a) > 1 && (plan->least_mm == 0 || mm[a] < plan->least_mm))
            plan->least_mm = mm[a];
    if (plan->least_mm == 0) plan->least_mm = mm[0];
    for (int a = 0; a < 3; a++)
        plan->median[a] = lob_side(image->dims, a) > 1 && mm[a] <= median_reach * plan->least_mm;
    lob_strokes strokes;
    bool outlines = false;
    lob_status st = lob_strokes_count(&strokes, seeds->data, seeds->type, seeds->dims,
                                      labels->count, s->context.threads, &s->error);
    if (st == LOB_OK) st = choose_background(s, plan, &strokes, labels, seeds_path);
    if (st == LOB_OK) st = find_outlines(s, &outlines, plan, &strokes, labels, seeds_path);
    lob_strokes_free(&strokes);
    plan->passes = plan->choices.passes > 0 ? plan->choices.passes : outlines ? 2 : 1;
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
    char around[100], frame[32] = "";
    snprintf(around, sizeof around, "--around @strokes --margin %.9g%s --share %.9g",
             c->margin.value, c->margin.voxels ? "vox" : "mm", c->share);
    if (plan->frame >= 0) snprintf(frame, sizeof frame, " --frame %d", plan->frame);
    fprintf(to, "convert {seeds} @strokes --labels\n");
    fprintf(to, "crop {image} -o @image %s%s\n", around, frame);
    fprintf(to, "crop @strokes -o @seeds %s\n", around);
    if (has_median(plan))
        fprintf(to, "filter @image -o @median --median %d,%d,%d --edge nearest\n", plan->median[0],
                plan->median[1], plan->median[2]);
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
    const char *const raw = blur > 0 ? "_raw" : "";

    fprintf(to, "appearance @image @seeds -o @shares%s%s --background %d --whole %.9g", n, raw,
            plan->background, c->whole);
    if (has_median(plan)) fprintf(to, " --view @median");
    if (second)
        fprintf(to, " --outline @first --shape %.9g\n", c->shape);
    else
        fprintf(to, " --far %.9g\n", c->far);
    if (blur > 0)
        fprintf(to, "filter @shares%s_raw -o @shares%s --gaussian %.9gmm --edge nearest\n", n, n,
                blur);
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
    put_growth(to, plan, false);
    if (plan->passes > 1) put_growth(to, plan, true);
    fprintf(to, "labels @labels -o @wanted --drop %d\n", plan->background);
    if (plan->strength)
        fprintf(to, "resample @strength -o {strength} --like {image} --method nearest\n");
    fprintf(to, "resample @wanted -o %s --like {image} --labels --method nearest\n",
            plan->in_memory ? "@result" : "{out}");
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
