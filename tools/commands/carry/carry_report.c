/* What `lobule carry` tells: report, notes, table and sheet. */
#include "tools/commands/carry/carry_work.h"
#include "tools/picture/preview_picture.h"
#include "tools/table/table_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHEET_SLICES = 12, SHEET_PIXELS = 1600 };

/* What became of an atlas; a note of its image, or of its labels: NULL: none. */
static const struct {
    const char *became, *image, *labels;
} fates[] = {
    [LOB_CARRY_USED] = {"used"},
    [LOB_CARRY_FARTHER] = {                 "others are nearer"     },
    [LOB_CARRY_SAME] = { "the scan itself",      "is the scan itself, and is left out of its atlases"},
    [LOB_CARRY_UNLABELLED] = {            "no labels",      .labels = "has no labels, and is left out"},
    [LOB_CARRY_APART] = { "cannot be registered",
                        "cannot be registered to the scan, and is left out"},
};

/* ---- the report ---- */

static void report_labels(lob_session *s, const lob_carry_output *out)
{
    cJSON *const rows = cJSON_AddArrayToObject(s->results, "carried");
    for (int32_t l = 0; l < out->label_count; l++) {
        const lob_carry_label *const label = &out->label[l];
        const lob_label_name *const name = lob_label_names_find(&out->labels.names, label->label);
        cJSON *const row = lob_json_row(rows);
        cJSON_AddNumberToObject(row, "label", label->label);
        if (name) cJSON_AddStringToObject(row, "name", name->name);
        cJSON_AddNumberToObject(row, "voxels", (double)label->voxels);
        if (!isnan(label->share)) cJSON_AddNumberToObject(row, "share", label->share);
        if (!isnan(label->agreement)) cJSON_AddNumberToObject(row, "doubt", 1 - label->agreement);
        LOB_JSON_NUMBERS(row, {"atlases", label->atlases}, {"sure_voxels", label->seeds},
                         {"reopened_voxels", label->reopened});
    }
}

static void report_atlases(lob_session *s, const lob_carry_work *w)
{
    cJSON *const rows = cJSON_AddArrayToObject(s->results, "atlases");
    for (int i = 0; i < w->files.count; i++) {
        const lob_carry_atlas *const atlas = &w->found.atlas[i];
        const lob_atlas_file *const file = &w->files.file[i];
        cJSON *const row = lob_json_row(rows);
        cJSON_AddStringToObject(row, "image", file->image);
        cJSON_AddStringToObject(row, "became", fates[atlas->fate].became);
        if (!isnan(atlas->cost)) cJSON_AddNumberToObject(row, "cost", atlas->cost);
        cJSON_AddBoolToObject(row, "doubtful", atlas->doubtful);
        if (atlas->doubtful)
            lob_session_note(s, "%s: may lie wrong on the scan; look at the result", file->image);
        if (fates[atlas->fate].image)
            lob_session_note(s, "%s: %s", file->image, fates[atlas->fate].image);
        if (fates[atlas->fate].labels)
            lob_session_note(s, "%s: %s", file->labels, fates[atlas->fate].labels);
    }
}

/* What of the scan was matched; a note where that is not all. */
static void report_field_of_view(lob_session *s, const lob_carry_work *w)
{
    const lob_box *const box = &w->found.field_of_view, all = lob_box_whole(w->image.dims);
    cJSON *const row = cJSON_AddObjectToObject(s->results, "field_of_view");
    lob_json_integers(row, "first", box->first);
    lob_json_integers(row, "size", box->size);
    if (memcmp(box, &all, sizeof all) != 0)
        lob_session_note(s,
                         "%s: is filled with one value beyond a field of view of %lld x %lld x "
                         "%lld voxels, which alone counts",
                         w->scan, (long long)box->size[0], (long long)box->size[1],
                         (long long)box->size[2]);
}

void lob_carry_report(lob_session *s, const lob_carry_work *w)
{
    const lob_carry_output *const out = &w->found;
    int64_t used = 0;
    for (int i = 0; i < w->files.count; i++) used += out->atlas[i].fate == LOB_CARRY_USED;
    report_labels(s, out);
    report_atlases(s, w);
    report_field_of_view(s, w);
    LOB_JSON_NUMBERS(s->results, {"labels", out->label_count}, {"atlases_used", used},
                     {"reopened_background_voxels", out->reopened_background},
                     {"grid_mm", out->grid_mm}, {"working_bytes", out->working_bytes});
    for (int32_t l = 0; l < out->label_count; l++)
        if (out->label[l].voxels == 0)
            lob_session_note(s, "%s: label %d was not found", w->scan, out->label[l].label);
}

/* ---- the table ---- */

static const char *const columns[] = {"label", "voxels",  "volume_ml", "doubt",
                                      "share", "atlases", "sure",      "reopened"};

static bool fill_row(double *row, int64_t i, const void *user)
{
    const lob_carry_work *const w = user;
    const lob_carry_label *const l = &w->found.label[i];
    *row++ = l->label;
    *row++ = (double)l->voxels;
    *row++ = (double)l->voxels * lob_voxel_mm3(&w->image.geometry) / 1000;
    *row++ = 1 - l->agreement;
    *row++ = l->share;
    *row++ = l->atlases;
    *row++ = (double)l->seeds;
    *row = (double)l->reopened;
    return true;
}

lob_status lob_carry_table(lob_session *s, const lob_carry_work *w)
{
    const lob_table table = {
        .names = columns,
        .columns = LOB_COUNT(columns),
        .keys = 2,
        .label_names = &w->found.labels.names,
        .scan = w->name,
        .rows = w->found.label_count,
        .row = fill_row,
        .user = w,
    };
    return w->table ? lob_table_write(s, &table, w->table) : LOB_OK;
}

/* ---- the sheet ---- */

/* Takes the scan and a copy of the labels. */
static lob_status draw(lob_session *s, lob_canvas *canvas, lob_carry_work *w)
{
    const lob_volume *const labels = &w->found.labels;
    lob_preview set = lob_preview_defaults();
    lob_preview_content c = {.image = w->image, .labels = lob_volume_empty()};
    lob_preview_layout *const l = malloc(sizeof *l);
    const bool flat = w->image.dims.nz == 1;
    w->image = lob_volume_empty();
    set.image = w->scan;
    set.labels = w->out;
    set.size = SHEET_PIXELS;
    set.plane = 0;
    if (!flat) set.montage = SHEET_SLICES;
    lob_status st = l ? lob_volume_like(&c.labels, labels, labels->type, 1) : LOB_ENOMEM;
    if (st == LOB_OK) memcpy(c.labels.data, labels->data, (size_t)lob_volume_bytes(labels));
    if (st != LOB_OK) lob_session_no_memory(s, w->sheet);
    if (st == LOB_OK) st = lob_preview_look(&c, &set, &s->error);
    if (st == LOB_OK) st = lob_preview_lay_out(l, &set, &c, &s->error);
    if (st == LOB_OK) st = lob_preview_draw(canvas, &set, &c, l);
    lob_preview_content_free(&c);
    free(l);
    return st;
}

lob_status lob_carry_sheet(lob_session *s, lob_carry_work *w)
{
    lob_canvas canvas = {0};
    if (!w->sheet) return LOB_OK;
    LOB_TRY(lob_session_take(s, lob_volume_bytes(&w->found.labels), w->sheet));
    lob_session_compute(s, "drawing");
    lob_status st = draw(s, &canvas, w);
    if (st == LOB_OK) {
        lob_session_computed(s);
        st = lob_session_write_picture(s, &canvas, w->sheet);
    }
    free(canvas.rgb);
    lob_session_give(s, lob_volume_bytes(&w->found.labels));
    return st;
}
