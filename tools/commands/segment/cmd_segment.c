/* lobule segment: from brush strokes to labels, by a recipe made for the case. */
#include "io/file.h"
#include "io/format.h"
#include "io/png.h"
#include "tools/commands/commands.h"
#include "tools/commands/segment/segment_after.h"
#include "tools/commands/segment/segment_plan.h"
#include "tools/commands/segment/segment_sheet.h"
#include "tools/commands/segment/segment_slices.h"
#include "tools/inout/grid.h"
#include "tools/inout/stdout.h"
#include "tools/picture/mosaic.h"
#include "tools/recipe/recipe_job.h"
#include "volumes/crop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Labels are channels of the shares, all but the background's. */
enum { MAX_LABELS = LOB_GROWCUT_MAX_CHANNELS + 1, MAX_SLICES = 64 };

typedef struct {
    const char *image, *seeds, *out;
    const char *strength, *uncertain, *sheet, *previous;
    int suggest;
    lob_size reach;
    bool print;
    lob_segment_plan plan;
} settings;

/* Everything that is read beside the recipe's lines, freed together. */
typedef struct {
    lob_volume image;    /* the header */
    lob_volume seeds;    /* only for corrections; on the image's grid */
    lob_volume previous; /* likewise */
} work;

/* What options the table cannot say exclude or need one another. */
static lob_status check_settings(lob_session *s, const settings *set)
{
    const bool more = set->uncertain || set->sheet || set->suggest > 0 || set->previous;
    if (strcmp(set->image, set->seeds) == 0 || lob_same_file(set->image, set->seeds))
        return lob_fail(&s->error, LOB_EARG,
                        "%s: named for IMAGE and for SEEDS; name the scan and then its strokes",
                        set->seeds);
    if (set->print && more)
        return lob_fail(&s->error, LOB_EARG,
                        "--print-recipe prints the lines that make the labels; leave --uncertain, "
                        "--sheet, --suggest and --previous out");
    if (isfinite(set->reach.value) && !set->previous)
        return lob_fail(&s->error, LOB_EARG,
                        "--reach says how far corrections of --previous go, which is not given");
    if (set->sheet && !lob_is_png_name(set->sheet))
        return lob_fail(&s->error, LOB_EARG, "%s: a sheet is a PNG; give it a name in .png",
                        set->sheet);
    return LOB_OK;
}

/* ---- strokes ---- */

static lob_status check_labels(lob_session *s, const settings *set, const lob_label_set *labels)
{
    if (labels->count == 0)
        return lob_fail(&s->error, LOB_EDATA,
                        "%s: no strokes: 0 means unknown, and labels start at 1", set->seeds);
    if (labels->count == 1)
        return lob_fail(&s->error, LOB_EDATA,
                        "%s: all strokes are of label %d; add strokes of a second one around them, "
                        "for the background",
                        set->seeds, labels->values[0]);
    if (labels->count > MAX_LABELS)
        return lob_fail(&s->error, LOB_EDATA,
                        "%s: has strokes of %d labels, and at most %d can be told apart; are IMAGE "
                        "and SEEDS swapped?",
                        set->seeds, labels->count, MAX_LABELS);
    return LOB_OK;
}

/* Read what the choices need: the image's header and the strokes. */
static lob_status plan(lob_session *s, settings *set, work *w)
{
    lob_volume seeds = lob_volume_empty();
    lob_label_set labels = {0};
    const lob_read_options frame = {.frame = set->plan.frame};
    int64_t chosen;
    lob_status st = lob_session_read_header(s, &w->image, set->image, NULL);
    if (st == LOB_OK)
        st = lob_choose_frame(&chosen, w->image.frames, set->image, &frame, &s->error);
    if (st == LOB_OK) st = lob_session_check(s, &w->image, LOB_I32, 1, set->out);
    if (st == LOB_OK) st = lob_session_check(s, &w->image, LOB_F32, 1, set->strength);
    if (st == LOB_OK) st = lob_session_check(s, &w->image, LOB_U8, 1, set->uncertain);
    if (st == LOB_OK) st = lob_grid_read(s, &seeds, set->seeds, &w->image, set->image);
    if (st != LOB_OK) return st;
    const double start_s = lob_clock_s();
    const int64_t stored = lob_voxel_bytes(&seeds);
    st = lob_labels_dense(&seeds, &labels, set->seeds, &s->error);
    if (st == LOB_OK) st = check_labels(s, set, &labels);
    if (st == LOB_OK)
        st = lob_segment_choose(s, &set->plan, &w->image, &seeds, &labels, set->seeds);
    if (st == LOB_OK && set->suggest > 0 && set->plan.flat)
        st =
            lob_fail(&s->error, LOB_EDATA,
                     "%s: --suggest needs a stack of slices, and the box around the strokes is one",
                     set->seeds);
    lob_session_stage(s, "choose", start_s);
    lob_session_give(s, stored);
    if (st == LOB_OK && set->previous) {
        st = lob_labels_restore(&seeds, &labels);
        if (st != LOB_OK) st = lob_session_no_memory(s, set->seeds);
        if (st == LOB_OK) st = lob_session_take(s, lob_voxel_bytes(&seeds), set->seeds);
        w->seeds = seeds;
    } else {
        lob_volume_free(&seeds);
    }
    lob_label_set_free(&labels);
    return st;
}

static lob_status read_previous(lob_session *s, const settings *set, work *w)
{
    lob_label_set labels = {0};
    lob_status st = lob_grid_read(s, &w->previous, set->previous, &w->image, set->image);
    if (st == LOB_OK) st = lob_labels_dense(&w->previous, &labels, set->previous, &s->error);
    if (st == LOB_OK && lob_labels_restore(&w->previous, &labels) != LOB_OK)
        st = lob_session_no_memory(s, set->previous);
    lob_label_set_free(&labels);
    return st;
}

/* ---- the recipe ---- */

static lob_status make_job(lob_session *s, lob_recipe_job *job, const settings *set)
{
    const lob_recipe_given given[] = {
        {"image",    set->image,    LOB_RECIPE_READS        },
        {"seeds",    set->seeds,    LOB_RECIPE_READS        },
        {"out",      set->out,      LOB_RECIPE_WRITES_LABELS},
        {"strength", set->strength, LOB_RECIPE_WRITES       },
    };
    char *const text = lob_segment_recipe(&set->plan);
    const lob_status st = lob_recipe_job_compose(job, s, text, given, LOB_COUNT(given));
    free(text);
    return st;
}

/* Let volumes in memory outlive the last line that reads them. */
static void keep_stored(lob_recipe_job *job)
{
    static const char *const kept[] = {"@image", "@seeds", "@shares", "@labels", "@_result"};
    for (size_t i = 0; i < LOB_COUNT(kept); i++) {
        lob_stored *const row = lob_store_find(&job->store, kept[i]);
        if (row) row->last = INT32_MAX;
    }
}

/* ---- after the recipe ---- */

/* Take a volume of labels out of the store, and make its labels dense. */
static lob_status take_labels(lob_session *s, lob_recipe_job *job, lob_volume *out,
                              lob_label_set *labels, const char *name, const char *path)
{
    lob_stored *const row = lob_store_find(&job->store, name);
    if (!row || !row->there) return LOB_OK;
    lob_store_take(&job->store, row, out);
    return lob_labels_dense(out, labels, path, &s->error);
}

/* The volumes that the box of segment_after.h points to. */
typedef struct {
    lob_volume image, seeds, shares, labels, uncertain;
    lob_segment_box box;
    int64_t place[3];
} after;

static lob_status take_box(lob_session *s, const settings *set, lob_recipe_job *job, const work *w,
                           after *a)
{
    lob_label_set others = {0};
    lob_store_take(&job->store, lob_store_find(&job->store, "@image"), &a->image);
    lob_store_take(&job->store, lob_store_find(&job->store, "@shares"), &a->shares);
    lob_status st = take_labels(s, job, &a->seeds, &a->box.set, "@seeds", set->seeds);
    if (st == LOB_OK) st = lob_grid_match_part(s, &a->seeds, set->seeds, &a->image, set->image);
    if (st == LOB_OK) st = take_labels(s, job, &a->labels, &others, "@labels", set->image);
    /* Strokes stay, so there is no label without a voxel. */
    if (st == LOB_OK &&
        (others.count != a->box.set.count || !lob_place_in(a->place, &a->image, &w->image)))
        st = lob_fail(&s->error, LOB_EINTERNAL, "%s: the lines lost a label", set->image);
    lob_label_set_free(&others);
    a->box.image = &a->image;
    a->box.seeds = &a->seeds;
    a->box.shares = &a->shares;
    a->box.labels = &a->labels;
    a->box.background = lob_label_set_find(&a->box.set, set->plan.background);
    if (st == LOB_OK)
        st = lob_strokes_count(&a->box.strokes, a->seeds.data, a->seeds.type, a->seeds.dims,
                               a->box.set.count, s->context.threads, &s->error);
    return st;
}

static void free_after(after *a)
{
    lob_volume *const volumes[] = {&a->image, &a->seeds, &a->shares, &a->labels, &a->uncertain};
    for (size_t i = 0; i < LOB_COUNT(volumes); i++) lob_volume_free(volumes[i]);
    lob_label_set_free(&a->box.set);
    lob_strokes_free(&a->box.strokes);
}

/* A mask of the box on the whole grid, with the image's header. */
static lob_status write_uncertain(lob_session *s, const settings *set, const work *w, after *a)
{
    lob_volume out = lob_volume_empty();
    const int64_t n = lob_voxels(&a->uncertain);
    const uint8_t *const voxels = a->uncertain.data;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += voxels[i];
    cJSON_AddNumberToObject(s->results, "uncertain_voxels", (double)count);
    if (!set->uncertain) return LOB_OK;
    if (lob_volume_place(&a->uncertain, a->place, &w->image) != LOB_OK ||
        lob_volume_adopt(&out, &w->image, &a->uncertain.data, LOB_U8, 1) != LOB_OK)
        return lob_session_no_memory(s, set->uncertain);
    lob_label_names_free(&out.names);
    lob_grid_show_mask(&out, set->uncertain);
    const lob_status st = lob_session_write(s, &out, set->uncertain, true);
    lob_volume_free(&out);
    return st;
}

/* The list of slices: on standard output and in the report. */
static lob_status list_slices(lob_session *s, const work *w, const after *a,
                              const lob_segment_slice *slices, int count, int axis)
{
    const lob_geometry *const g = &w->image.geometry;
    const char *const plane = lob_plane_name(lob_segment_plane(g, axis));
    cJSON *const rows = cJSON_AddArrayToObject(s->results, "suggested");
    if (count > 0) printf("plane\taxis\tslice\tmm\tuncertain_voxels\n");
    for (int i = 0; i < count; i++) {
        double at[3], mm[3];
        for (int k = 0; k < 3; k++) at[k] = 0.5 * (double)(lob_side(w->image.dims, k) - 1);
        const int64_t slice = a->place[axis] + slices[i].slice;
        at[axis] = (double)slice;
        lob_voxel_to_world(mm, g, at);
        const int world = strcmp(plane, "axial") == 0 ? 2 : strcmp(plane, "coronal") == 0 ? 1 : 0;
        printf("%s\t%c\t%lld\t%.1f\t%lld\n", plane, "xyz"[axis], (long long)slice, mm[world],
               (long long)slices[i].uncertain);
        cJSON *const row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "plane", plane);
        cJSON_AddNumberToObject(row, "axis", axis);
        cJSON_AddNumberToObject(row, "slice", (double)slice);
        cJSON_AddNumberToObject(row, "mm", mm[world]);
        cJSON_AddNumberToObject(row, "uncertain_voxels", (double)slices[i].uncertain);
        cJSON_AddItemToArray(rows, row);
    }
    if (count == 0)
        lob_session_note(s,
                         "no further slice is suggested: those without strokes hold no label, or "
                         "no border");
    return lob_stdout_end(&s->error);
}

/* Suggested slices, the sheet, and where the result is uncertain. */
static lob_status look_again(lob_session *s, const settings *set, const work *w, after *a)
{
    lob_segment_slice slices[MAX_SLICES];
    int count = 0, axis = lob_strokes_axis(&a->box.strokes);
    lob_status st = lob_segment_uncertain(s, &a->uncertain, &a->box, set->image);
    if (st == LOB_OK && set->suggest > 0) {
        st = lob_segment_suggest(slices, &count, set->suggest, &a->box, &a->uncertain, axis,
                                 s->context.threads);
        if (st == LOB_OK) st = list_slices(s, w, a, slices, count, axis);
    }
    if (st == LOB_OK && set->sheet) {
        for (int k = 0; k < 3 && axis < 0; k++)
            if (lob_side(a->image.dims, k) == 1) axis = k;
        if (count > LOB_SEGMENT_SHEET_SLICES) count = LOB_SEGMENT_SHEET_SLICES;
        int drawn = 0;
        st = lob_segment_drawn(&slices[count], &drawn, LOB_SEGMENT_SHEET_SLICES - count, &a->box,
                               axis);
        count += drawn;
        if (st == LOB_OK)
            st = lob_segment_sheet(s, &a->box, &a->uncertain, slices, count, axis, a->place[axis],
                                   set->sheet);
    }
    if (st == LOB_ENOMEM) lob_session_no_memory(s, set->image);
    if (st == LOB_OK) st = write_uncertain(s, set, w, a);
    return st;
}

/* Join the result with the labels before it, and write it. */
static lob_status correct(lob_session *s, const settings *set, lob_recipe_job *job, work *w)
{
    lob_volume result = lob_volume_empty();
    const lob_size reach = isfinite(set->reach.value) ? set->reach : (lob_size){.value = 20};
    int64_t changed = 0, said = 0;
    lob_store_take(&job->store, lob_store_find(&job->store, "@_result"), &result);
    const int64_t bytes = lob_product(lob_voxels(&result), 1 + (int64_t)sizeof(float), 1, 1);
    lob_status st = lob_session_take(s, bytes, set->previous);
    if (st != LOB_OK) {
        lob_volume_free(&result);
        return st;
    }
    lob_session_compute(s, "correcting");
    int32_t largest = 0;
    for (int64_t i = 0; i < lob_voxels(&result) && st == LOB_OK; i++) {
        const int32_t a = lob_label_at(result.data, result.type, i);
        const int32_t b = lob_label_at(w->previous.data, w->previous.type, i);
        largest = a > largest ? a : largest;
        largest = b > largest ? b : largest;
    }
    if (st == LOB_OK && lob_labels_pack(&result, largest) != LOB_OK) st = LOB_ENOMEM;
    if (st == LOB_OK)
        st = lob_segment_correct(s, &result, &w->previous, &w->seeds, set->plan.background, reach,
                                 &changed, &said);
    if (st == LOB_ENOMEM) lob_session_no_memory(s, set->previous);
    if (st == LOB_OK) lob_session_computed(s);
    cJSON_AddNumberToObject(s->results, "correcting_stroke_voxels", (double)said);
    cJSON_AddNumberToObject(s->results, "changed_voxels", (double)changed);
    if (st == LOB_OK && said == 0)
        lob_session_note(s, "%s: no stroke says otherwise, so nothing was changed", set->previous);
    if (st == LOB_OK) st = lob_session_write(s, &result, set->out, true);
    lob_session_give(s, bytes);
    lob_volume_free(&result);
    return st;
}

static lob_status run_job(lob_session *s, const settings *set, work *w, lob_recipe_job *job)
{
    const bool look = set->uncertain || set->sheet || set->suggest > 0;
    after a = {.image = lob_volume_empty(),
               .seeds = lob_volume_empty(),
               .shares = lob_volume_empty(),
               .labels = lob_volume_empty(),
               .uncertain = lob_volume_empty()};
    bool skip;
    lob_status st = lob_recipe_job_check(job, &skip);
    if (st == LOB_OK && set->print) return lob_recipe_job_print(job);
    if (st != LOB_OK || skip) return st;
    if (look || set->previous) keep_stored(job);
    st = lob_recipe_job_run(job);
    if (st == LOB_OK && look) st = take_box(s, set, job, w, &a);
    if (st == LOB_OK && look) st = look_again(s, set, w, &a);
    if (st == LOB_OK && set->previous) st = correct(s, set, job, w);
    free_after(&a);
    return st;
}

static lob_status segment(lob_session *s, settings *set)
{
    work w = {lob_volume_empty(), lob_volume_empty(), lob_volume_empty()};
    lob_recipe_job job = {.name = NULL};
    set->plan.strength = set->strength != NULL;
    set->plan.in_memory = set->previous != NULL;
    lob_status st = check_settings(s, set);
    if (st == LOB_OK && lob_session_checking(s))
        return lob_session_device(s); /* its lines want it */
    lob_session_keep_inputs(s);       /* the lines read them again */
    if (st == LOB_OK && !set->print) st = lob_session_device_begin(s);
    if (st == LOB_OK) st = plan(s, set, &w);
    if (st == LOB_OK && set->previous) st = read_previous(s, set, &w);
    if (st == LOB_OK) {
        lob_segment_report(s, &set->plan);
        if (set->print) s->force = true; /* nothing is written */
        st = make_job(s, &job, set);
        if (st == LOB_OK) st = run_job(s, set, &w, &job);
        lob_recipe_job_free(&job);
    }
    lob_volume_free(&w.image);
    lob_volume_free(&w.seeds);
    lob_volume_free(&w.previous);
    return st;
}

static int run(const lob_command *self, int argc, char **argv)
{
    settings set = {
        .reach = {.value = INFINITY},
          .plan = { .choices = lob_segment_defaults(),      .frame = -1}
    };
    lob_segment_choices *const c = &set.plan.choices;
    lob_option rows[] = {
        OPERAND_INPUT("IMAGE", &set.image, LOB_FILE_IMAGE, "scan, or FILE.h5:/dataset",
                      .required = true),
        OPERAND_INPUT("SEEDS", &set.seeds, LOB_FILE_LABELS,
                      "brush strokes on the image's grid, of two labels or more; 0 is unknown",
                      .required = true),
        OPT_OUTPUT("output", &set.out, LOB_FILE_LABELS, "label volume to write", .letter = 'o',
                   .required = true),
        OPT_INT("background", &c->background, "N", 1, INT32_MAX,
                "the label that stands for all else, and is written as 0; left out: the one whose "
                "strokes reach the outside of the box around all strokes on most sides"),
        OPT_LENGTH("margin", &c->margin, 0, 1e6,
                   "work in the box around all strokes, at least this much wider on each side; as "
                   "10mm or 5vox"),
        OPT_REAL("share", &c->share, "SHARE", 0, 100,
                 "and wider by at least this share of the box's own side"),
        OPT_REAL("ends", &c->ends, "SHARE", 0, 100,
                 "and by at least this share beyond the first and the last slice with strokes, "
                 "where a structure goes on"),
        OPT_CHOICE("median", &c->median, "on|off",
                   "learn grey values from a median of 3 voxels too, along axes on which voxels "
                   "are at most 1.5 times the least spacing apart"),
        OPT_REAL("whole", &c->whole, "SHARE", 0, 1,
                 "share of the whole box, against that of other strokes, in what speaks against a "
                 "label"),
        OPT_REAL("far", &c->far, "NATS", 0, 16,
                 "what a label loses, in the first growth, twice as far from its strokes as the "
                 "others' strokes are; in the second, far outside its outlines"),
        OPT_REAL("shape", &c->shape, "NATS", 0, 16,
                 "what outlines that are interpolated between slices with strokes may add or "
                 "take, in the second growth"),
        OPT_REAL("blur", &c->blur, "SPACINGS", 0, 100,
                 "Gaussian before the first growth, in least spacings; before the second, half"),
        OPT_REAL("smooth", &c->smooth, "SPACINGS", 0, 100,
                 "Gaussian of the majority after the first growth, in least spacings; after the "
                 "second, 0.7 of it"),
        OPT_REAL("edge", &c->edge, "SHARE", 0, 1,
                 "how much the image decides where a border lies after the first growth; after "
                 "the second, half as much"),
        OPT_INT("passes", &c->passes, "N", 1, 2,
                "growths; left out: 2, but 1 where no slice has strokes of two labels, and in 2D"),
        OPT_INT("coarse", &c->coarse, "VOXELS", 1000, INT32_MAX,
                "the first of two growths is on a coarser grid where the box has more voxels"),
        OPT_INT("frame", &set.plan.frame, "N", 0, INT32_MAX,
                "time frame of the image, from 0; needed when there are several"),
        OPT_OUTPUT("strength", &set.strength, LOB_FILE_IMAGE,
                   "also write the strength with which the last growth took each voxel (float32)"),
        OPT_OUTPUT("uncertain", &set.uncertain, LOB_FILE_LABELS,
                   "also write where another label could have grown almost as cheaply (1, in .png "
                   "255)"),
        OPT_INT("suggest", &set.suggest, "N", 1, MAX_SLICES,
                "list the N slices on which another stroke would help most"),
        OPT_OUTPUT("sheet", &set.sheet, LOB_FILE_OTHER,
                   "also draw strokes, result and uncertain voxels, in .png: on the slices that "
                   "are suggested, and on some with strokes, 5 in all"),
        OPT_INPUT("previous", &set.previous, LOB_FILE_LABELS,
                  "labels that an earlier run came to: only what is near to strokes that say "
                  "otherwise is changed"),
        OPT_LENGTH("reach", &set.reach, 0, 1e6, "how near, with --previous; left out: 20mm"),
        OPT_FLAG("print-recipe", &set.print,
                 "print the lines of the recipe that gives the same bytes, and do nothing else"),
    };
    /* A recipe can be printed for labels that are there. */
    const lob_option_table table = {"Options", rows, LOB_COUNT(rows)};
    if (lob_asks_for(&table, 1, argv, argc, "print-recipe"))
        for (size_t i = 0; i < LOB_COUNT(rows); i++)
            if (rows[i].kind == LOB_OPT_OUTPUT) rows[i].kind = LOB_OPT_TEXT;
    lob_session s;
    if (!lob_session_begin(&s, self, rows, LOB_COUNT(rows), argc, argv)) return s.exit_code;
    return lob_session_end(&s, segment(&s, &set));
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
    .run = run,
    .runs_others = true,
    .nests = true,
};
