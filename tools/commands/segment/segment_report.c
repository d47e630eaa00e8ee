/* What `lobule segment` tells of what it chose and found. */
#include "tools/commands/segment/segment_sheet.h"
#include "tools/commands/segment/segment_work.h"
#include "tools/picture/mosaic.h"
#include "tools/session/session.h"
#include "tools/table/terminal_table.h"

#include <math.h>

void lob_segment_report(lob_session *s, const lob_segment_work *w)
{
    const lob_segment_plan *const plan = &w->plan;
    char axes[4] = "", *to = axes;
    for (int a = 0; a < 3; a++)
        if (plan->median[a]) *to++ = "xyz"[a];
    *to = '\0';
    cJSON *const chosen = cJSON_AddObjectToObject(s->results, "chosen");
    cJSON_AddNumberToObject(chosen, "background", plan->background);
    cJSON_AddBoolToObject(chosen, "background_given", plan->options.background != 0);
    cJSON_AddNumberToObject(chosen, "passes", plan->passes);
    cJSON_AddBoolToObject(chosen, "slips_left_out", plan->slips);
    cJSON_AddStringToObject(chosen, "median_axes", axes);
    cJSON_AddNumberToObject(chosen, "least_spacing_mm", plan->least_mm);
    cJSON_AddItemToObject(chosen, "first_growth_spacing_mm",
                          cJSON_CreateDoubleArray(plan->coarse_mm, 3));
    cJSON *const box = cJSON_AddObjectToObject(chosen, "box");
    lob_json_integers(box, "first", plan->box.first);
    lob_json_integers(box, "size", plan->box.size);
    cJSON_AddNumberToObject(s->results, "labels", plan->count - 1);
    lob_session_say(s, "background: label %d%s; growths: %d; the median goes along: %s",
                    plan->background, plan->options.background ? "" : ", chosen", plan->passes,
                    axes[0] ? axes : "no axis");
}

lob_status lob_segment_list_slices(lob_session *s, const lob_segment_work *w)
{
    const lob_geometry *const g = &w->whole.geometry;
    const int axis = w->plan.axis, count = w->found.slice_count;
    const char *const plane = lob_plane_name(lob_segment_plane(g, axis));
    const int world = strcmp(plane, "axial") == 0 ? 2 : strcmp(plane, "coronal") == 0 ? 1 : 0;
    cJSON *const rows = cJSON_AddArrayToObject(s->results, "suggested");
    lob_text table = {NULL};
    lob_text_print(&table, "%s", count > 0 ? "plane\taxis\tslice\tmm\tuncertain_voxels\n" : "");
    for (int i = 0; i < count; i++) {
        const lob_segment_slice *const found = &w->found.slices[i];
        double at[3], mm[3];
        for (int k = 0; k < 3; k++) at[k] = 0.5 * (double)(lob_side(w->whole.dims, k) - 1);
        const long long slice = found->slice, uncertain = found->uncertain;
        at[axis] = (double)slice;
        lob_voxel_to_world(mm, g, at);
        lob_text_print(&table, "%s\t%c\t%lld\t%.1f\t%lld\n", plane, "xyz"[axis], slice, mm[world],
                       uncertain);
        cJSON *const row = lob_json_row(rows);
        cJSON_AddStringToObject(row, "plane", plane);
        cJSON_AddNumberToObject(row, "axis", axis);
        cJSON_AddNumberToObject(row, "slice", (double)slice);
        cJSON_AddNumberToObject(row, "mm", mm[world]);
        cJSON_AddNumberToObject(row, "uncertain_voxels", (double)uncertain);
    }
    if (count == 0)
        lob_session_note(s,
                         "no further slice is suggested: those without strokes hold no label, or "
                         "no border");
    lob_session_doing(s, "printing"); /* the bar leaves the terminal to the table */
    LOB_TRY(lob_print_table(&table, &s->error));
    return lob_stdout_end(&s->error);
}

/* The box of what may differ from 0 after correcting. */
static lob_box corrected_box(const lob_segment_work *w)
{
    lob_box box = w->plan.box;
    lob_box_join(&box, &w->kept);
    return box;
}

/* What lob_segment_correct takes of a voxel. */
static int64_t correct_bytes(const lob_segment_work *w)
{
    return 1 + (int64_t)sizeof(float) + (int64_t)lob_type_of(w->seeds.type)->bytes +
           (int64_t)lob_type_of(w->previous.type)->bytes;
}

/* lob_session_take for each voxel of a box; LOB_ENOMEM says what would do. */
static lob_status take(lob_session *s, const lob_segment_work *w, const lob_box *box, int64_t each)
{
    const int64_t *const n = box->size;
    const lob_status st =
        lob_session_take(s, lob_product(n[0], n[1], n[2], each), w->previous_path);
    if (st == LOB_ENOMEM)
        lob_error_add(
            &s->error,
            "; the box around strokes and these labels has %lld x %lld x %lld voxels: cut "
            "both and the scan to a smaller one with lobule crop --around %s",
            (long long)n[0], (long long)n[1], (long long)n[2], w->files.seeds);
    return st;
}

lob_status lob_segment_check_previous(lob_session *s, const lob_segment_work *w)
{
    const lob_box box = corrected_box(w);
    if (!w->previous_path) return LOB_OK;
    /* Strokes, labels and those before are laid on it. */
    const int64_t each = correct_bytes(w) + 2 * (int64_t)lob_type_of(w->seeds.type)->bytes +
                         (int64_t)lob_type_of(w->previous.type)->bytes;
    LOB_TRY(take(s, w, &box, each));
    lob_session_give(s, lob_product(box.size[0], box.size[1], box.size[2], each));
    return LOB_OK;
}

lob_status lob_segment_correct_previous(lob_session *s, lob_segment_work *w)
{
    const lob_size reach = isfinite(w->reach.value) ? w->reach : (lob_size){.value = 20};
    const lob_box all = corrected_box(w), *const box = &w->plan.box;
    lob_segment_corrected corrected;
    if (!w->previous_path) return LOB_OK;
    LOB_TRY(lob_part_lay(s, &w->found.labels, box, &all, &w->whole, w->previous_path));
    LOB_TRY(lob_part_lay(s, &w->seeds, box, &all, &w->whole, w->previous_path));
    LOB_TRY(lob_part_lay(s, &w->previous, &w->kept, &all, &w->whole, w->previous_path));
    memcpy(w->first, all.first, sizeof w->first);
    LOB_TRY(take(s, w, &all, correct_bytes(w)));
    lob_session_compute(s, "correcting");
    LOB_TRY(lob_session_done(s,
                             lob_segment_correct(&w->found.labels, &corrected, &w->previous,
                                                 &w->seeds, w->plan.background, reach.value,
                                                 reach.voxels, &s->context, &s->error),
                             w->previous_path, NULL));
    lob_session_give(s, correct_bytes(w) * lob_voxels(&w->previous));
    cJSON_AddNumberToObject(s->results, "correcting_stroke_voxels", (double)corrected.said);
    cJSON_AddNumberToObject(s->results, "changed_voxels", (double)corrected.changed);
    if (corrected.said == 0)
        lob_session_note(s, "%s: no stroke says otherwise, so nothing was changed",
                         w->previous_path);
    return LOB_OK;
}

lob_status lob_segment_write_uncertain(lob_session *s, lob_segment_work *w)
{
    lob_volume *const v = &w->found.uncertain;
    const uint8_t *const voxels = v->data;
    int64_t count = 0;
    if (!voxels) return LOB_OK;
    for (int64_t i = 0; i < lob_voxels(v); i++) count += voxels[i];
    cJSON_AddNumberToObject(s->results, "uncertain_voxels", (double)count);
    lob_grid_show_mask(v, w->uncertain);
    return lob_part_write(s, v, w->plan.box.first, &w->whole, w->uncertain, true);
}
