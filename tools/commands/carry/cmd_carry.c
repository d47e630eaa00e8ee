/* lobule carry: labels for a scan from a few scans with finished labels. */
#include "io/png.h"
#include "kernels/carry/carry.h"
#include "tools/commands/carry/atlas_files.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"
#include "tools/picture/preview_picture.h"
#include "tools/table/table_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *scan, *atlases, *out, *strokes, *votes, *doubt, *sheet, *table, *name;
    int frame, background;
    double grid;
    lob_size reach;
    lob_carry_options options;

    lob_session *session;
    lob_atlas_files files;
    int64_t held; /* by the atlas that was read last */
    lob_volume image, drawn;
    lob_carry_output found;
} work;

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    if (w->sheet && !lob_is_png_name(w->sheet))
        return lob_fail_file(&s->error, LOB_EARG, w->sheet,
                             "a sheet is a PNG; give it a name in .png");
    if (w->background > 0 && !w->strokes)
        return lob_fail(&s->error, LOB_EARG,
                        "--background is a label of --strokes, which are not given");
    if (w->name && !w->table)
        return lob_fail(&s->error, LOB_EARG, "--name is for the table: add --table FILE.tsv");
    return lob_table_check(s, w->table, w->name);
}

/* ---- reading ---- */

/* Bytes that the session holds for an atlas, as long as the job has it. */
static void give_last(lob_session *s, work *w)
{
    lob_session_give(s, w->held);
    w->held = 0;
}

/* An atlas for the job; the time of reading is no time of computing. */
static lob_status read_atlas(void *user, int i, lob_volume *image, lob_volume *labels,
                             lob_error *error)
{
    work *const w = user;
    lob_session *const s = w->session;
    const lob_atlas_file *const f = &w->files.file[i];
    lob_session_computed(s);
    give_last(s, w);
    *image = *labels = lob_volume_empty();
    lob_status st = lob_session_read(s, image, f->image, -1);
    if (st == LOB_OK) w->held = lob_volume_bytes(image);
    if (st == LOB_OK) st = lob_grid_one_channel(s, image, f->image);
    if (st == LOB_OK) st = lob_grid_read_labels(s, labels, f->labels, image, f->image);
    if (st == LOB_OK) w->held += lob_volume_bytes(labels);
    if (st == LOB_OK) {
        lob_session_compute(s, "carrying");
        return LOB_OK;
    }
    LOB_VOLUMES_FREE(image, labels);
    if (error && error != &s->error) *error = s->error;
    return st;
}

static lob_status read_inputs(lob_session *s, work *w)
{
    LOB_TRY(lob_atlas_table(s, &w->files, w->atlases, LOB_CARRY_MAX_ATLASES));
    const char *const outputs[] = {w->out, w->votes, w->doubt, w->sheet, w->table};
    for (size_t i = 0; i < LOB_COUNT(outputs); i++)
        LOB_TRY(lob_atlas_spare(s, &w->files, outputs[i]));
    LOB_TRY(lob_session_read(s, &w->image, w->scan, w->frame));
    LOB_TRY(lob_grid_one_channel(s, &w->image, w->scan));
    LOB_TRY(lob_session_check(s, &w->image, LOB_I32, 1, w->out));
    LOB_TRY(lob_session_check(s, &w->image, LOB_F32, 1, w->doubt));
    return w->strokes ? lob_grid_read(s, &w->drawn, w->strokes, &w->image, w->scan) : LOB_OK;
}

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
        cJSON_AddNumberToObject(row, "atlases", label->atlases);
        cJSON_AddNumberToObject(row, "sure_voxels", (double)label->seeds);
        cJSON_AddNumberToObject(row, "reopened_voxels", (double)label->reopened);
    }
}

static void report_atlases(lob_session *s, const work *w)
{
    cJSON *const rows = cJSON_AddArrayToObject(s->results, "atlases");
    for (int i = 0; i < w->files.count; i++) {
        const lob_carry_atlas *const atlas = &w->found.atlas[i];
        const lob_atlas_file *const file = &w->files.file[i];
        cJSON *const row = lob_json_row(rows);
        cJSON_AddStringToObject(row, "image", file->image);
        cJSON_AddStringToObject(row, "became", fates[atlas->fate].became);
        if (!isnan(atlas->cost)) cJSON_AddNumberToObject(row, "cost", atlas->cost);
        if (fates[atlas->fate].image)
            lob_session_note(s, "%s: %s", file->image, fates[atlas->fate].image);
        if (fates[atlas->fate].labels)
            lob_session_note(s, "%s: %s", file->labels, fates[atlas->fate].labels);
    }
}

static void report(lob_session *s, const work *w)
{
    const lob_carry_output *const out = &w->found;
    int64_t used = 0;
    for (int i = 0; i < w->files.count; i++) used += out->atlas[i].fate == LOB_CARRY_USED;
    report_labels(s, out);
    report_atlases(s, w);
    cJSON_AddNumberToObject(s->results, "labels", out->label_count);
    cJSON_AddNumberToObject(s->results, "atlases_used", (double)used);
    cJSON_AddNumberToObject(s->results, "reopened_background_voxels",
                            (double)out->reopened_background);
    cJSON_AddNumberToObject(s->results, "grid_mm", out->grid_mm);
    cJSON_AddNumberToObject(s->results, "working_bytes", (double)out->working_bytes);
    for (int32_t l = 0; l < out->label_count; l++)
        if (out->label[l].voxels == 0)
            lob_session_note(s, "%s: label %d was not found", w->scan, out->label[l].label);
}

/* ---- the table ---- */

static const char *const columns[] = {"label", "voxels",  "volume_ml", "doubt",
                                      "share", "atlases", "sure",      "reopened"};

static bool fill_row(double *row, int64_t i, const void *user)
{
    const work *const w = user;
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

static lob_status write_table(lob_session *s, const work *w)
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
static lob_status draw(lob_session *s, lob_canvas *canvas, work *w)
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

static lob_status write_sheet(lob_session *s, work *w)
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

/* ---- computing ---- */

static lob_status carries(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    lob_carry_options *const o = &w->options;
    const lob_carry_input in = {
        .scan = &w->image,
        .count = w->files.count,
        .read = read_atlas,
        .user = w,
        .strokes = w->strokes ? &w->drawn : NULL,
        .shares = w->votes != NULL,
        .doubt = w->doubt != NULL,
    };
    if (!isnan(w->grid)) o->grid_mm = w->grid;
    if (w->background > 0) o->background = w->background;
    o->reach_mm = w->reach.voxels ? w->reach.value * lob_least_spacing(w->image.dims,
                                                                       w->image.geometry.spacing_mm)
                                  : w->reach.value;
    s->extra_role = "atlas";
    w->session = s;
    LOB_TRY(lob_session_take(s, lob_voxels(&w->image) * (in.doubt ? 8 : 4), w->scan));
    lob_session_compute(s, "carrying");
    LOB_TRY(
        lob_session_done(s, lob_carry(&w->found, &in, o, &s->context, &s->error), w->scan, NULL));
    give_last(s, w);
    if (w->votes) lob_session_hold(s, lob_volume_bytes(&w->found.shares));
    report(s, w);
    LOB_TRY(lob_session_write(s, &w->found.shares, w->votes, false));
    LOB_TRY(lob_session_write(s, &w->found.doubt, w->doubt, false));
    LOB_TRY(write_table(s, w));
    LOB_TRY(write_sheet(s, w));
    return lob_session_write(s, &w->found.labels, w->out, true);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->drawn);
    lob_carry_output_free(&w->found);
    lob_atlas_files_free(&w->files);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    lob_carry_options *const o = &w->options;
    *o = lob_carry_defaults();
    w->frame = w->background = -1;
    w->grid = NAN;
    w->reach.value = o->reach_mm;
    const lob_option rows[] = {
        OPERAND_INPUT("SCAN", &w->scan, LOB_FILE_IMAGE, "scan that labels are wanted for",
                      .required = true),
        OPT_INPUT("atlases", &w->atlases, LOB_FILE_OTHER,
                  "table of scans with finished labels: a TSV or CSV with columns image and "
                  "labels, whose paths are relative to it",
                  .required = true),
        OPT_LABELS_OUTPUT(&w->out),
        OPT_OUTPUT("votes", &w->votes, LOB_FILE_IMAGE,
                   "float32 shares of the votes to write, a channel for each label"),
        OPT_OUTPUT("doubt", &w->doubt, LOB_FILE_IMAGE,
                   "float32 volume to write: 1 less the share of votes for what a voxel became"),
        OPT_OUTPUT("sheet", &w->sheet, LOB_FILE_OTHER,
                   "PNG to write: slices of the scan with its labels"),
        OPT_TABLE(&w->table, "table of labels to write, with the doubt in each"),
        OPT_INPUT("strokes", &w->strokes, LOB_FILE_LABELS,
                  "strokes on SCAN, which win: labels of the atlases, or new ones, and one for "
                  "the background"),
        OPT_INT("background", &w->background, "N", 1, INT32_MAX,
                "label of strokes that means background; left out: the one that no atlas has"),
        OPT_LENGTH("reach", &w->reach, 0, 1e6,
                   "how far strokes take back what atlases are sure of and strokes contradict"),
        OPT_INT("use", &o->use, "N", 1, LOB_FUSE_MAX_ATLASES,
                "atlases to use, the nearest of the table"),
        OPT_REAL("grid", &w->grid, "MM", 0, 1e6,
                 "register and vote on voxels of this size; left out: 3 mm, finer for small scans",
                 .above_low = true),
        OPT_REAL("smooth", &o->smooth, "S", 0.01, 100, "how stiff registrations are"),
        OPT_REAL("sure", &o->sure, "SHARE", 0.5, 1, "votes that make a voxel sure of its label"),
        OPT_REAL("sure-background", &o->sure_background, "SHARE", 0.5, 1,
                 "votes that make it sure background"),
        OPT_REAL("sure-inside", &o->sure_mm, "MM", 0, 1e6,
                 "how far inside of what is sure of its label the growth begins"),
        OPT_REAL("against", &o->against, "SHARE", 0, 1,
                 "what is sure is open again where the scan's grey values give its label less "
                 "than this; 0: never"),
        OPT_REAL("claimed", &o->claimed, "SHARE", 0, 1,
                 "sure background is open again where they give a label more than this; 1: never"),
        OPT_REAL("edge", &o->edge, "SHARE", 0, 1, "share of the image in where borders lie"),
        OPT_FRAME(&w->frame, "scan"),
        OPT_SCAN_NAME(&w->name),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_carry = {
    .name = "carry",
    .summary = "label a scan by a few scans whose labels are finished",
    .description =
        "Paint some scans of a cohort, and carry their labels to the others. The atlases, as many "
        "as --use says, those of the table that fit best, are registered to SCAN and moved onto "
        "it, as `lobule register` does. Patches vote for labels, as in `lobule fuse`. What the "
        "votes are sure of is grown over SCAN, except where its grey values contradict. A voxel "
        "that was grown into then gets the label with the most votes there, and the labels are "
        "refined. SCAN itself, if the table has it, is left out, as is an atlas without labels or "
        "one that cannot be registered. A structure may be missing in some atlases.\n"
        "A label's doubt is 1 less the mean Dice of what it became with the label in each atlas, "
        "as moved: look at the labels with the largest doubt first. --report and --table have it, "
        "with the mean share of the votes for the label in what it became, how many atlases have "
        "it, voxels that were sure of it, and those of them that were reopened. In a batch the "
        "tables of all scans are joined.\n"
        "Strokes on SCAN win over atlases: draw some where the result is wrong, and carry again.",
    .examples =
        "lobule carry scan.nii.gz --atlases painted.tsv -o labels.nii.gz --table labels.tsv\n"
        "lobule carry scan.nii.gz --atlases painted.tsv -o labels.nii.gz --strokes "
        "strokes.nii.gz --doubt doubt.nii.gz --sheet sheet.png\n"
        "lobule batch scans.tsv --log out -- carry {image} --atlases painted.tsv -o "
        "{labels} --table {table}",
    .result = "labels",
    .registers = true,
    .settings_bytes = sizeof(work),
    .options = options,
    .check = check,
    .work = carries,
    .voxel_ns = 30000,
    .release = release,
};
