/* lobule segment: from brush strokes to labels. */
#include "io/file.h"
#include "io/png.h"
#include "tools/commands/commands.h"
#include "tools/commands/segment/segment_sheet.h"
#include "tools/commands/segment/segment_work.h"
#include "tools/picture/mosaic.h"
#include "tools/session/session.h"
#include "tools/table/terminal_table.h"

#include <math.h>
#include <string.h>

typedef lob_segment_work work;

/* What options the table cannot say exclude or need one another. */
static lob_status check(lob_session *s, void *user)
{
    work *const w = user;
    const lob_segment_files *const f = &w->files;
    const char *const names[] = {f->image, f->seeds, f->out, f->strength};
    const bool more = w->uncertain || w->sheet || w->suggest > 0 || w->previous_path || w->full;
    if (strcmp(w->files.image, w->files.seeds) == 0 ||
        lob_same_file(w->files.image, w->files.seeds))
        return lob_fail_file(&s->error, LOB_EARG, w->files.seeds,
                             "named for IMAGE and for SEEDS; name the scan and then its strokes");
    if (w->print && more)
        return lob_fail(&s->error, LOB_EARG,
                        "--print-recipe prints the lines that make the labels; leave --uncertain, "
                        "--sheet, --suggest, --previous and --slices-full out");
    if (isfinite(w->reach.value) && !w->previous_path)
        return lob_fail(&s->error, LOB_EARG,
                        "--reach says how far corrections of --previous go, which is not given");
    if (w->sheet && !lob_is_png_name(w->sheet))
        return lob_fail_file(&s->error, LOB_EARG, w->sheet,
                             "a sheet is a PNG; give it a name in .png");
    for (size_t i = 0; i < LOB_COUNT(names) && w->print; i++)
        if (names[i] && lob_session_is_stored(s, names[i]))
            return lob_fail_file(&s->error, LOB_EARG, names[i],
                                 "is in memory, and lines that are printed need files");
    w->options.background = w->background;
    w->options.margin = w->margin.value;
    w->options.margin_voxels = w->margin.voxels;
    w->options.median = w->median == 0;
    w->options.coarse = w->coarse;
    return LOB_OK;
}

/* ---- reading: strokes where they are, and the box of the scan around them ---- */

/* Slices that are labelled fully become strokes like others, with background around them. */
static lob_status fill_slices(lob_session *s, work *w)
{
    lob_volume all;
    lob_box box;
    int64_t margin[3];
    if (lob_box_of(&box, &w->seeds)) {
        lob_segment_full_margin(margin, &box, w->whole.geometry.spacing_mm);
        for (int a = 0; a < 3; a++) {
            box.first[a] += w->drawn.first[a];
            margin[a]++;
        }
        lob_box_widen(&box, margin, w->whole.dims);
        LOB_TRY(lob_part_lay(s, &w->seeds, &w->drawn, &box, &w->whole, w->files.seeds));
        w->drawn = box;
    }
    const int64_t stored = lob_volume_bytes(&w->seeds);
    LOB_TRY(lob_session_take(s, 4 * lob_voxels(&w->seeds), w->files.seeds));
    LOB_TRY(lob_session_name(
        s, lob_segment_full(&all, &w->options.background, &w->seeds, &s->context, &s->error),
        w->files.seeds, NULL));
    lob_volume_free(&w->seeds);
    w->seeds = all;
    lob_session_give(s, 4 * lob_voxels(&w->seeds) + stored - lob_volume_bytes(&w->seeds));
    w->options.slips = false;
    return LOB_OK;
}

static lob_status read_previous(lob_session *s, work *w)
{
    LOB_TRY(lob_part_read_marked(s, &w->previous, &w->kept, w->previous_path, true, &w->whole,
                                 w->files.image));
    lob_box labels;
    if (!lob_box_of(&labels, &w->previous)) memset(w->kept.size, 0, sizeof w->kept.size);
    if (w->options.background > 0) return LOB_OK;
    return lob_session_name(s,
                            lob_segment_background(&w->options.background, &w->previous, &w->seeds,
                                                   &s->context, &s->error),
                            w->previous_path, NULL);
}

static lob_status read_inputs(lob_session *s, work *w)
{
    const lob_segment_files *const f = &w->files;
    LOB_TRY(lob_part_header(s, &w->whole, f->image, f->frame, w->print));
    if (!w->print) lob_part_ahead(s, f->image, f->frame);
    lob_part_ahead(s, w->previous_path, LOB_FRAME_NONE);
    LOB_TRY(lob_session_check(s, &w->whole, LOB_I32, 1, f->out));
    LOB_TRY(lob_session_check(s, &w->whole, LOB_F32, 1, f->strength));
    LOB_TRY(lob_session_check(s, &w->whole, LOB_U8, 1, w->uncertain));
    LOB_TRY(lob_part_read_marked(s, &w->seeds, &w->drawn, f->seeds, true, &w->whole, f->image));
    if (w->full) LOB_TRY(fill_slices(s, w));
    return w->previous_path ? read_previous(s, w) : LOB_OK;
}

static lob_status read_box(lob_session *s, work *w)
{
    const lob_box *const box = &w->plan.box;
    LOB_TRY(lob_part_lay(s, &w->seeds, &w->drawn, box, &w->whole, w->files.seeds));
    memcpy(w->first, box->first, sizeof w->first);
    return lob_part_read(s, &w->image, w->files.image, w->files.frame, box);
}

/* ---- what was chosen and found ---- */

static void report(lob_session *s, const work *w)
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

static lob_status list_slices(lob_session *s, const work *w)
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

static lob_status write_uncertain(lob_session *s, work *w)
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

/* ---- computing ---- */

static lob_status choose(lob_session *s, work *w)
{
    const double start_s = lob_clock_s();
    LOB_TRY(lob_session_name(
        s, lob_segment_choose(&w->plan, &w->whole, &w->seeds, &w->options, &s->context, &s->error),
        w->files.seeds, NULL));
    lob_session_stage(s, "choose", start_s);
    report(s, w);
    if (!w->plan.options.background && w->plan.background < w->plan.labels[w->plan.count - 1])
        lob_session_note(s,
                         "%s: label %d, not the last one, is taken for the background, because its "
                         "strokes surround the others; --background names another",
                         w->files.seeds, w->plan.background);
    if (w->plan.slices == 1)
        lob_session_note(s,
                         "%s: has strokes on one slice alone, from which a structure's extent "
                         "can only be guessed; draw on two or more",
                         w->files.seeds);
    if (w->suggest > 0 && w->plan.flat)
        return lob_fail_file(
            &s->error, LOB_EDATA, w->files.seeds,
            "--suggest needs a stack of slices, and the box around the strokes is one");
    return LOB_OK;
}

static lob_status compute(lob_session *s, work *w)
{
    lob_segment_plan plan = w->plan;
    const lob_segment_input in = {
        .image = &w->image,
        .strokes = &w->seeds,
        .strength = w->files.strength != NULL,
        .uncertain = w->uncertain || w->sheet,
        .suggest = w->suggest,
    };
    const int64_t made = lob_product(lob_voxels(&w->image), lob_segment_made_bytes(w), 1, 1);
    LOB_TRY(lob_session_take(s, made, w->files.image));
    memset(plan.box.first, 0, sizeof plan.box.first);
    lob_session_compute(s, "segmenting");
    LOB_TRY(lob_session_done(s,
                             lob_segment(&w->found, &in, &plan, s->backend, &s->context, &s->error),
                             w->files.image, NULL));
    for (int i = 0; i < w->found.slice_count; i++)
        w->found.slices[i].slice += w->plan.box.first[plan.axis];
    return LOB_OK;
}

static lob_status write_outputs(lob_session *s, work *w)
{
    if (w->suggest > 0) LOB_TRY(list_slices(s, w));
    if (w->sheet)
        LOB_TRY(lob_segment_sheet(s, &w->image, &w->seeds, &w->plan, &w->found, w->sheet));
    lob_grid_drop(s, &w->image);
    LOB_TRY(lob_segment_correct_previous(s, w));
    LOB_TRY(lob_part_write(s, &w->found.strength, w->plan.box.first, &w->whole, w->files.strength,
                           false));
    LOB_TRY(lob_part_write(s, &w->found.labels, w->first, &w->whole, w->files.out, true));
    return write_uncertain(s, w);
}

/* ---- the command ---- */

/* Is there memory for the box of the scan, and the strokes in it? */
static lob_status check_room(lob_session *s, const work *w)
{
    const lob_box *const box = &w->plan.box;
    const int64_t each = w->whole.channels * (int64_t)lob_type_of(w->whole.type)->bytes +
                         (int64_t)lob_type_of(w->seeds.type)->bytes;
    const int64_t bytes = lob_product(box->size[0], box->size[1], box->size[2], each);
    LOB_TRY(lob_session_take(s, bytes, w->files.image));
    lob_session_give(s, bytes);
    return LOB_OK;
}

/* After LOB_ENOMEM for the box: add to the error what would do. Returns st. */
static lob_status suggest(lob_session *s, const work *w, lob_status st)
{
    const int64_t *const size = w->plan.box.size;
    if (st == LOB_ENOMEM)
        lob_error_add(&s->error,
                      "; the box around the strokes has %lld x %lld x %lld voxels, fewer with less "
                      "of --margin, --share and --ends",
                      (long long)size[0], (long long)size[1], (long long)size[2]);
    return st;
}

static lob_status segment(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(choose(s, w));
    if (w->print) return lob_segment_print(&w->plan, &w->files, &s->error);
    LOB_TRY(suggest(s, w, check_room(s, w)));
    LOB_TRY(lob_segment_check_previous(s, w));
    LOB_TRY(read_box(s, w));
    LOB_TRY(suggest(s, w, compute(s, w)));
    return write_outputs(s, w);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->whole, &w->image, &w->seeds, &w->previous);
    lob_segment_output_free(&w->found);
}

static void options(lob_rows *to, void *user)
{
    const lob_segment_options defaults = lob_segment_defaults();
    work *const w = user;
    *w = (work){
        .files = {.frame = -1},
        .reach = {.value = INFINITY},
        .margin = {.value = defaults.margin},
        .coarse = (int)defaults.coarse,
        .options = defaults,
    };
    w->whole = w->image = w->seeds = w->previous = lob_volume_empty();
    w->found = lob_segment_output_empty();
    lob_segment_options *const o = &w->options;
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->files.image, "scan"),
        OPERAND_SEEDS(&w->files.seeds,
                      "brush strokes on the image's grid, of two labels or more; 0 is unknown"),
        OPT_LABELS_OUTPUT(&w->files.out),
        OPT_INT("background", &w->background, "N", 1, INT32_MAX,
                "the label that stands for all else, and is written as 0; left out: the one whose "
                "strokes surround the others"),
        OPT_LENGTH("margin", &w->margin, 0, 1e6,
                   "work in the box around all strokes, at least this much wider on each side; as "
                   "10mm or 5vox"),
        OPT_REAL("share", &o->share, "SHARE", 0, 100,
                 "and wider by at least this share of the box's own side"),
        OPT_REAL("ends", &o->ends, "SHARE", 0, 100,
                 "and by at least this share beyond the first and the last slice with strokes, "
                 "where a structure goes on; by more where few slices have strokes, unless it is "
                 "0"),
        OPT_CHOICE("median", &w->median, "on|off",
                   "learn grey values from a median of 3 voxels too, along axes on which voxels "
                   "are at most 1.5 times the least spacing apart; not where half of the strokes "
                   "of labels are less than 5 voxels from other strokes"),
        OPT_REAL(
            "whole", &o->whole, "SHARE", 0, 1,
            "share of the whole box, beside the background's strokes, in what speaks against a "
            "label"),
        OPT_REAL("far", &o->far, "NATS", 0, 16,
                 "what a label loses, in the first growth, twice as far from its strokes as the "
                 "others' strokes are, and than a tenth of the shortest side of what is drawn of a "
                 "structure; in the second, far outside its outlines; with strokes on one slice, "
                 "or on two less than 10 mm and a quarter of the strokes' longest side apart, at "
                 "most 2"),
        OPT_REAL("shape", &o->shape, "NATS", 0, 16,
                 "what outlines that are interpolated between slices with strokes may add or "
                 "take, in the second growth, shared by all structures"),
        OPT_REAL("blur", &o->blur, "SPACINGS", 0, 100,
                 "Gaussian before the first growth, in least spacings; before the second, half"),
        OPT_REAL("smooth", &o->smooth, "SPACINGS", 0, 100,
                 "Gaussian of the majority after the first growth, in least spacings; after the "
                 "second, 0.7 of it"),
        OPT_REAL(
            "edge", &o->edge, "SHARE", 0, 1,
            "how much the image decides where a border lies after the first growth; after "
            "the second, half as much, or not where growth over the image decides (see refine)"),
        OPT_INT("passes", &o->passes, "N", 1, 2,
                "growths; left out: 2, but 1 where no slice has strokes of two labels, only one "
                "slice has strokes (or two as near to each other as for --far) or slices across "
                "several axes have, and in 2D"),
        OPT_INT("coarse", &w->coarse, "VOXELS", 1000, INT32_MAX,
                "the first of two growths is on a coarser grid where the box has more voxels"),
        OPT_FRAME(&w->files.frame, "image"),
        OPT_OUTPUT("strength", &w->files.strength, LOB_FILE_IMAGE,
                   "also write the strength with which the last growth took each voxel (float32)"),
        OPT_OUTPUT("uncertain", &w->uncertain, LOB_FILE_LABELS,
                   "also write where another label could have grown almost as cheaply (1, in .png "
                   "255)"),
        OPT_INT("suggest", &w->suggest, "N", 1, LOB_SEGMENT_MAX_SLICES,
                "list the N slices on which another stroke would help most"),
        OPT_OUTPUT("sheet", &w->sheet, LOB_FILE_OTHER,
                   "also draw strokes, result and uncertain voxels, in .png: on the slices that "
                   "are suggested and on those with strokes, at most 60"),
        OPT_INPUT("previous", &w->previous_path, LOB_FILE_LABELS,
                  "labels that an earlier run came to: only what is near to strokes that say "
                  "otherwise is changed; a correction of one voxel is enough: within --reach of it "
                  "this run's labels take the place of earlier ones"),
        OPT_LENGTH("reach", &w->reach, 0, 1e6, "how near, with --previous; left out: 20mm"),
        OPT_FLAG("slices-full", &w->full,
                 "slices that have labels are labelled fully: what has none there is background, "
                 "which needs no label then"),
        OPT_FLAG("print-recipe", &w->print,
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
        "the slices with strokes, interpolated between them, guides the second growth. Of several "
        "structures, those on which the first and a plain growth over the scan agree take "
        "background that both give them. Borders are then moved to where the image changes, "
        "pieces without a stroke are dropped and holes filled. Strokes keep their labels. Labels "
        "are written on the scan's whole grid, the background as 0. Memory holds the box alone, "
        "with --previous that of these labels too, so scan and strokes may be larger.\n"
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
        "lobule segment scan.nii.gz strokes.nii.gz -o mask.nii.gz --suggest 3 --sheet sheet.png\n"
        "lobule segment scan.nii.gz strokes.nii.gz -o better.nii.gz --previous mask.nii.gz\n"
        "lobule segment scan.nii.gz strokes.nii.gz -o mask.nii.gz --print-recipe > liver.recipe",
    .result = "labels",
    .voxel_ns = 900,
    .alone = "of a volume it reads the box around the strokes alone",
    .only_prints = "print-recipe",
    LOB_COMMAND_PARTS(work, options, check, segment, release),
};
