/* What `lobule segment` tells of what it chose and found. */
#include "tools/commands/segment/segment_sheet.h"
#include "tools/commands/segment/segment_work.h"
#include "tools/picture/mosaic.h"
#include "tools/session/session.h"
#include "tools/table/terminal_table.h"

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
    const lob_anatomical_plane world = lob_segment_plane(g, axis);
    const char *const plane = lob_plane_name(world);
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
        LOB_JSON_NUMBERS(row, {"axis", axis}, {"slice", slice}, {"mm", mm[world]},
                         {"uncertain_voxels", uncertain});
    }
    if (count == 0)
        lob_session_note(s,
                         "no further slice is suggested: those without strokes hold no label, or "
                         "no border");
    lob_session_doing(s, "printing"); /* the bar leaves the terminal to the table */
    LOB_TRY(lob_print_table(&table, &s->error));
    return lob_stdout_end(&s->error);
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
