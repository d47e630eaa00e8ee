/* lobule carry: labels for a scan from a few scans with finished labels. */
#include "io/png.h"
#include "tools/commands/carry/carry_work.h"
#include "tools/commands/commands.h"
#include "tools/table/table_file.h"

#include <math.h>
#include <string.h>

typedef lob_carry_work work;

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

/* Labels that are called otherwise would be mixed. */
static lob_status join_names(lob_session *s, work *w, const lob_label_names *names,
                             const char *path)
{
    return lob_session_name(s, lob_label_names_join(&w->names, names, &s->error), path, NULL);
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
    if (st == LOB_OK && !lob_same_file(w->scan, f->image)) /* else it is left out */
        st = join_names(s, w, &labels->names, f->labels);
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
    if (!w->strokes) return LOB_OK;
    LOB_TRY(lob_grid_read(s, &w->drawn, w->strokes, &w->image, w->scan));
    return join_names(s, w, &w->drawn.names, w->strokes);
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
    lob_carry_report(s, w);
    LOB_TRY(lob_session_write(s, &w->found.shares, w->votes, false));
    LOB_TRY(lob_session_write(s, &w->found.doubt, w->doubt, false));
    LOB_TRY(lob_carry_table(s, w));
    LOB_TRY(lob_carry_sheet(s, w));
    return lob_session_write(s, &w->found.labels, w->out, true);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->drawn);
    lob_carry_output_free(&w->found);
    lob_atlas_files_free(&w->files);
    lob_label_names_free(&w->names);
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
    LOB_COMMAND_PARTS(work, options, check, carries, release),
    .voxel_ns = 30000,
};
