/* lobule segment: from brush strokes to labels. */
#include "io/file.h"
#include "io/format.h"
#include "io/png.h"
#include "kernels/segment/segment.h"
#include "tools/commands/commands.h"
#include "tools/commands/segment/segment_recipe.h"
#include "tools/commands/segment/segment_sheet.h"
#include "tools/inout/grid.h"
#include "tools/inout/stdout.h"
#include "tools/inout/volumes.h"
#include "tools/picture/mosaic.h"

#include <math.h>
#include <string.h>

/* Everything that is read and made, freed together. */
typedef struct {
    lob_volume image, seeds, previous; /* the latter two on the image's grid, with own labels */
    lob_segment_plan plan;
    lob_segment_output found;
} work;

typedef struct {
    lob_segment_files files;
    const char *uncertain, *sheet, *previous;
    int suggest, median, background, coarse;
    lob_size margin, reach;
    bool print;
    lob_segment_options options;
    work work;
} settings;

/* What options the table cannot say exclude or need one another. */
static lob_status check(lob_session *s, void *user)
{
    settings *const set = user;
    const lob_segment_files *const f = &set->files;
    const char *const names[] = {f->image, f->seeds, f->out, f->strength};
    const bool more = set->uncertain || set->sheet || set->suggest > 0 || set->previous;
    if (strcmp(set->files.image, set->files.seeds) == 0 ||
        lob_same_file(set->files.image, set->files.seeds))
        return lob_fail_file(&s->error, LOB_EARG, set->files.seeds,
                             "named for IMAGE and for SEEDS; name the scan and then its strokes");
    if (set->print && more)
        return lob_fail(&s->error, LOB_EARG,
                        "--print-recipe prints the lines that make the labels; leave --uncertain, "
                        "--sheet, --suggest and --previous out");
    if (isfinite(set->reach.value) && !set->previous)
        return lob_fail(&s->error, LOB_EARG,
                        "--reach says how far corrections of --previous go, which is not given");
    if (set->sheet && !lob_is_png_name(set->sheet))
        return lob_fail_file(&s->error, LOB_EARG, set->sheet,
                             "a sheet is a PNG; give it a name in .png");
    for (size_t i = 0; i < LOB_COUNT(names) && set->print; i++)
        if (names[i] && lob_session_is_stored(s, names[i]))
            return lob_fail_file(&s->error, LOB_EARG, names[i],
                                 "is in memory, and lines that are printed need files");
    set->options.background = set->background;
    set->options.margin = set->margin.value;
    set->options.margin_voxels = set->margin.voxels;
    set->options.median = set->median == 0;
    set->options.coarse = set->coarse;
    return LOB_OK;
}

/* ---- reading ---- */

/* Labels with their own numbers, on the image's grid and in a type of lob_label_type. */
static lob_status read_labels(lob_session *s, lob_volume *out, const char *path, const work *w,
                              const settings *set)
{
    lob_label_set labels = {0};
    LOB_TRY(lob_grid_read(s, out, path, &w->image, set->files.image));
    const int64_t stored = lob_voxel_bytes(out);
    LOB_TRY(lob_labels_dense(out, &labels, path, &s->error));
    const lob_status st = lob_labels_restore(out, &labels);
    lob_label_set_free(&labels);
    lob_session_give(s, stored - lob_voxel_bytes(out));
    return st == LOB_OK ? st : lob_session_no_memory(s, path);
}

/* The scan; to print a recipe, its header alone. */
static lob_status read_image(lob_session *s, const settings *set, work *w)
{
    const lob_read_options frame = {.frame = set->files.frame};
    int64_t chosen;
    if (!set->print) return lob_session_read(s, &w->image, set->files.image, set->files.frame);
    LOB_TRY(lob_session_read_header(s, &w->image, set->files.image, NULL));
    return lob_choose_frame(&chosen, w->image.frames, set->files.image, &frame, &s->error);
}

static lob_status read_inputs(lob_session *s, const settings *set, work *w)
{
    lob_session_ahead(s, set->files.seeds, LOB_FRAME_NONE);
    lob_session_ahead(s, set->previous, LOB_FRAME_NONE);
    LOB_TRY(read_image(s, set, w));
    LOB_TRY(lob_session_check(s, &w->image, LOB_I32, 1, set->files.out));
    LOB_TRY(lob_session_check(s, &w->image, LOB_F32, 1, set->files.strength));
    LOB_TRY(lob_session_check(s, &w->image, LOB_U8, 1, set->uncertain));
    LOB_TRY(read_labels(s, &w->seeds, set->files.seeds, w, set));
    return set->previous ? read_labels(s, &w->previous, set->previous, w, set) : LOB_OK;
}

/* ---- computing ---- */

static lob_status choose(lob_session *s, const settings *set, work *w)
{
    const double start_s = lob_clock_s();
    LOB_TRY(lob_session_name(
        s,
        lob_segment_choose(&w->plan, &w->image, &w->seeds, &set->options, &s->context, &s->error),
        set->files.seeds, NULL));
    lob_session_stage(s, "choose", start_s);
    lob_segment_report(s, &w->plan);
    if (w->plan.slices == 1)
        lob_session_note(s,
                         "%s: has strokes on one slice alone, from which a structure's extent "
                         "cannot be told; draw on two or more",
                         set->files.seeds);
    if (set->suggest > 0 && w->plan.flat)
        return lob_fail_file(
            &s->error, LOB_EDATA, set->files.seeds,
            "--suggest needs a stack of slices, and the box around the strokes is one");
    return LOB_OK;
}

static lob_status compute(lob_session *s, const settings *set, work *w)
{
    const lob_segment_input in = {
        .image = &w->image,
        .strokes = &w->seeds,
        .strength = set->files.strength != NULL,
        .uncertain = set->uncertain || set->sheet,
        .suggest = set->suggest,
    };
    const int64_t each = (int64_t)lob_type_of(w->seeds.type)->bytes +
                         (in.strength ? (int64_t)sizeof(float) : 0) +
                         (in.uncertain || in.suggest > 0);
    LOB_TRY(lob_session_take(s, lob_product(lob_voxels(&w->image), each, 1, 1), set->files.image));
    lob_session_compute(s, "segmenting");
    return lob_session_done(
        s, lob_segment(&w->found, &in, &w->plan, s->backend, &s->context, &s->error),
        set->files.image, NULL);
}

/* Join the result with the labels before it. */
static lob_status correct(lob_session *s, const settings *set, work *w)
{
    const lob_size reach = isfinite(set->reach.value) ? set->reach : (lob_size){.value = 20};
    const int64_t each = 1 + (int64_t)sizeof(float) + lob_type_of(w->seeds.type)->bytes +
                         lob_type_of(w->previous.type)->bytes;
    const int64_t bytes = lob_product(lob_voxels(&w->image), each, 1, 1);
    lob_segment_corrected corrected;
    if (!set->previous) return LOB_OK;
    LOB_TRY(lob_session_take(s, bytes, set->previous));
    lob_session_compute(s, "correcting");
    LOB_TRY(lob_session_done(s,
                             lob_segment_correct(&w->found.labels, &corrected, &w->previous,
                                                 &w->seeds, w->plan.background, reach.value,
                                                 reach.voxels, &s->context, &s->error),
                             set->previous, NULL));
    lob_session_give(s, bytes);
    cJSON_AddNumberToObject(s->results, "correcting_stroke_voxels", (double)corrected.said);
    cJSON_AddNumberToObject(s->results, "changed_voxels", (double)corrected.changed);
    if (corrected.said == 0)
        lob_session_note(s, "%s: no stroke says otherwise, so nothing was changed", set->previous);
    return LOB_OK;
}

/* ---- telling ---- */

/* The list of slices: on standard output and in the report. */
static lob_status list_slices(lob_session *s, const settings *set, const work *w)
{
    const lob_geometry *const g = &w->image.geometry;
    const int axis = w->plan.axis, count = w->found.slice_count;
    if (set->suggest == 0) return LOB_OK;
    const char *const plane = lob_plane_name(lob_segment_plane(g, axis));
    const int world = strcmp(plane, "axial") == 0 ? 2 : strcmp(plane, "coronal") == 0 ? 1 : 0;
    cJSON *const rows = cJSON_AddArrayToObject(s->results, "suggested");
    if (count > 0) printf("plane\taxis\tslice\tmm\tuncertain_voxels\n");
    for (int i = 0; i < count; i++) {
        const lob_segment_slice *const found = &w->found.slices[i];
        double at[3], mm[3];
        for (int k = 0; k < 3; k++) at[k] = 0.5 * (double)(lob_side(w->image.dims, k) - 1);
        const long long slice = found->slice, uncertain = found->uncertain;
        at[axis] = (double)slice;
        lob_voxel_to_world(mm, g, at);
        printf("%s\t%c\t%lld\t%.1f\t%lld\n", plane, "xyz"[axis], slice, mm[world], uncertain);
        cJSON *const row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "plane", plane);
        cJSON_AddNumberToObject(row, "axis", axis);
        cJSON_AddNumberToObject(row, "slice", (double)slice);
        cJSON_AddNumberToObject(row, "mm", mm[world]);
        cJSON_AddNumberToObject(row, "uncertain_voxels", (double)uncertain);
        cJSON_AddItemToArray(rows, row);
    }
    if (count == 0)
        lob_session_note(s,
                         "no further slice is suggested: those without strokes hold no label, or "
                         "no border");
    return lob_stdout_end(&s->error);
}

static lob_status write_uncertain(lob_session *s, const settings *set, work *w)
{
    lob_volume *const v = &w->found.uncertain;
    const uint8_t *const voxels = v->data;
    int64_t count = 0;
    if (!voxels) return LOB_OK;
    for (int64_t i = 0; i < lob_voxels(v); i++) count += voxels[i];
    cJSON_AddNumberToObject(s->results, "uncertain_voxels", (double)count);
    lob_grid_show_mask(v, set->uncertain);
    return lob_session_write(s, v, set->uncertain, true);
}

static lob_status write_outputs(lob_session *s, const settings *set, work *w)
{
    LOB_TRY(list_slices(s, set, w));
    if (set->sheet)
        LOB_TRY(lob_segment_sheet(s, &w->image, &w->seeds, &w->plan, &w->found, set->sheet));
    LOB_TRY(correct(s, set, w));
    LOB_TRY(lob_session_write(s, &w->found.strength, set->files.strength, false));
    LOB_TRY(lob_session_write(s, &w->found.labels, set->files.out, true));
    return write_uncertain(s, set, w);
}

/* ---- the command ---- */

static lob_status segment(lob_session *s, void *user)
{
    settings *const set = user;
    work *const w = &set->work;
    LOB_TRY(read_inputs(s, set, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(choose(s, set, w));
    if (set->print) return lob_segment_print(&w->plan, &set->files, &s->error);
    LOB_TRY(compute(s, set, w));
    return write_outputs(s, set, w);
}

static void release(void *user)
{
    work *const w = &((settings *)user)->work;
    LOB_VOLUMES_FREE(&w->image, &w->seeds, &w->previous);
    lob_segment_output_free(&w->found);
}

static void options(lob_rows *to, void *user)
{
    const lob_segment_options defaults = lob_segment_defaults();
    settings *const set = user;
    *set = (settings){
        .files = {.frame = -1},
        .reach = {.value = INFINITY},
        .margin = {.value = defaults.margin},
        .coarse = (int)defaults.coarse,
        .options = defaults,
    };
    set->work.image = set->work.seeds = set->work.previous = lob_volume_empty();
    set->work.found = lob_segment_output_empty();
    lob_segment_options *const o = &set->options;
    const lob_option rows[] = {
        OPERAND_IMAGE(&set->files.image, "scan"),
        OPERAND_INPUT("SEEDS", &set->files.seeds, LOB_FILE_LABELS,
                      "brush strokes on the image's grid, of two labels or more; 0 is unknown",
                      .required = true),
        OPT_LABELS_OUTPUT(&set->files.out),
        OPT_INT("background", &set->background, "N", 1, INT32_MAX,
                "the label that stands for all else, and is written as 0; left out: the one whose "
                "strokes surround the others"),
        OPT_LENGTH("margin", &set->margin, 0, 1e6,
                   "work in the box around all strokes, at least this much wider on each side; as "
                   "10mm or 5vox"),
        OPT_REAL("share", &o->share, "SHARE", 0, 100,
                 "and wider by at least this share of the box's own side"),
        OPT_REAL("ends", &o->ends, "SHARE", 0, 100,
                 "and by at least this share beyond the first and the last slice with strokes, "
                 "where a structure goes on"),
        OPT_CHOICE("median", &set->median, "on|off",
                   "learn grey values from a median of 3 voxels too, along axes on which voxels "
                   "are at most 1.5 times the least spacing apart"),
        OPT_REAL("whole", &o->whole, "SHARE", 0, 1,
                 "share of the whole box, against that of other strokes, in what speaks against a "
                 "label"),
        OPT_REAL("far", &o->far, "NATS", 0, 16,
                 "what a label loses, in the first growth, twice as far from its strokes as the "
                 "others' strokes are; in the second, far outside its outlines"),
        OPT_REAL("shape", &o->shape, "NATS", 0, 16,
                 "what outlines that are interpolated between slices with strokes may add or "
                 "take, in the second growth"),
        OPT_REAL("blur", &o->blur, "SPACINGS", 0, 100,
                 "Gaussian before the first growth, in least spacings; before the second, half"),
        OPT_REAL("smooth", &o->smooth, "SPACINGS", 0, 100,
                 "Gaussian of the majority after the first growth, in least spacings; after the "
                 "second, 0.7 of it"),
        OPT_REAL("edge", &o->edge, "SHARE", 0, 1,
                 "how much the image decides where a border lies after the first growth; after "
                 "the second, half as much"),
        OPT_INT("passes", &o->passes, "N", 1, 2,
                "growths; left out: 2, but 1 where no slice has strokes of two labels, and in 2D"),
        OPT_INT("coarse", &set->coarse, "VOXELS", 1000, INT32_MAX,
                "the first of two growths is on a coarser grid where the box has more voxels"),
        OPT_FRAME(&set->files.frame, "image"),
        OPT_OUTPUT("strength", &set->files.strength, LOB_FILE_IMAGE,
                   "also write the strength with which the last growth took each voxel (float32)"),
        OPT_OUTPUT("uncertain", &set->uncertain, LOB_FILE_LABELS,
                   "also write where another label could have grown almost as cheaply (1, in .png "
                   "255)"),
        OPT_INT("suggest", &set->suggest, "N", 1, LOB_SEGMENT_MAX_SLICES,
                "list the N slices on which another stroke would help most"),
        OPT_OUTPUT("sheet", &set->sheet, LOB_FILE_OTHER,
                   "also draw strokes, result and uncertain voxels, in .png: on the slices that "
                   "are suggested, and on some with strokes, 5 in all"),
        OPT_INPUT("previous", &set->previous, LOB_FILE_LABELS,
                  "labels that an earlier run came to: only what is near to strokes that say "
                  "otherwise is changed"),
        OPT_LENGTH("reach", &set->reach, 0, 1e6, "how near, with --previous; left out: 20mm"),
        OPT_FLAG("print-recipe", &set->print,
                 "print the lines of the recipe that gives the same bytes, and do nothing else"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_segment = {
    .name = "segment",
    .summary = "make a clean mask from brush strokes",
    .description =
        "Strokes are lines on a few slices: along the middle of each structure with its label, and "
        "around it, some mm outside of its border, with one label more for the background. What "
        "the strokes' grey values tell is grown over the box around them, twice: what came out on "
        "the slices with strokes, interpolated between them, guides the second growth. Borders "
        "are then moved to where the image changes, pieces without a stroke are dropped and "
        "holes filled. Strokes keep their labels. Labels are written on the scan's whole grid, the "
        "background as 0.\n"
        "What depends on the case is chosen from image and strokes, the same on every machine and "
        "device, and the report says how. --print-recipe prints it as a recipe, plain lines of "
        "other commands: `lobule run` runs them to the same bytes, and any of them can be "
        "changed.\n"
        "A slice that --suggest lists, counted from 0, is one whose strokes would tell most about "
        "itself and the slices around it: these have long borders and many uncertain voxels, and "
        "are far from slices with strokes, or beyond the last of them. Each further one is chosen "
        "as if those before it were drawn. Draw there, in the same file, and run again.\n"
        "With --previous, strokes that say otherwise than those labels are corrections: within "
        "--reach of them the result is that of a fresh run from all strokes, and farther away the "
        "labels stay as they were, so that what was looked at and found good is not touched. "
        "Give all strokes, old and new. Without --previous it is a fresh run.",
    .examples =
        "lobule segment scan.nii.gz strokes.nii.gz -o mask.nii.gz\n"
        "lobule segment scan.nii.gz strokes.nii.gz -o mask.nii.gz --suggest 3 --sheet "
        "sheet.png\n"
        "lobule segment scan.nii.gz strokes.nii.gz -o better.nii.gz --previous mask.nii.gz\n"
        "lobule segment scan.nii.gz strokes.nii.gz -o mask.nii.gz --print-recipe "
        "> liver.recipe",
    .result = "labels",
    .result_text = "labels",
    .computes = true,
    .only_prints = "print-recipe",
    .settings_bytes = sizeof(settings),
    .options = options,
    .check = check,
    .work = segment,
    .release = release,
};
