/* lobule seeds: seeds from points, labels and other seeds, with background at a distance. */
#include "kernels/morphology/morphology.h"
#include "tools/commands/commands.h"
#include "tools/commands/seeds/seeds_work.h"
#include "volumes/free.h"

#include <stdlib.h>

typedef lob_seeds_work work;

enum { LATER, EARLIER, NEITHER }; /* --conflict */

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    const lob_rule rules[] = {
        {w->points_paths.count + w->labels_paths.count + w->seeds_paths.count == 0,
         "seeds from what? add --points, --labels or --seeds"                                                                   },
        {w->erode.value > 0.0 && w->labels_paths.count == 0,                        "--erode is for --labels"                   },
        {w->radius.value > 0.0 && w->points_paths.count == 0,                       "--radius is for --points"                  },
        {w->shell_label > 0 && !(w->shell.value > 0.0),
         "--shell-label is for --shell, which is not given"                                                                     },
        {(!w->shares_path && !w->complete) != (w->background < 0),
         "--background and --shares or --complete go together"                                                                  },
        {!w->complete != (w->complete_axis < 0),                                    "--complete and --complete-axis go together"},
    };
    return LOB_RULES(s, rules);
}

void lob_seeds_put(work *w, int64_t i, int32_t label)
{
    int32_t *const seed = (int32_t *)w->seeds.data + i;
    const int32_t before = abs(*seed);
    if (label == 0 || before == label) return;
    if (before == 0)
        *seed = label;
    else
        *seed = w->conflict == LATER ? -label : -before;
}

/* ---- label volumes ---- */

/* Change labels by a ball of a length: in voxels, the same number along each axis. */
static lob_status change(lob_session *s, lob_volume *labels, lob_morphology how, lob_size length)
{
    lob_morphology_input in = {.labels = labels->data, .type = labels->type, .dims = labels->dims};
    for (int a = 0; a < 3; a++)
        in.spacing[a] = length.voxels ? 1.0 : labels->geometry.spacing_mm[a];
    lob_session_compute(s, "seeding");
    LOB_TRY(s->backend->morphology(labels->data, &in, how, length.value, &s->context, &s->error));
    lob_session_computed(s);
    return LOB_OK;
}

/* Tell which labels eroding has left no voxel of. */
static lob_status note_lost(lob_session *s, work *w, const char *path)
{
    const lob_volume *const v = &w->from;
    const lob_label_set *const labels = &w->labels;
    char text[200] = "";
    size_t used = 0;
    free(w->left);
    w->left = calloc((size_t)labels->count + 1, sizeof *w->left);
    if (!w->left) return lob_session_no_memory(s, path);
    for (int64_t i = 0; i < lob_voxels(v); i++) w->left[lob_label_at(v->data, v->type, i)] = true;
    for (int32_t i = 0; i < labels->count && used < sizeof text - 20; i++)
        if (!w->left[i + 1])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used ? ", " : "",
                                     labels->values[i]);
    if (used > 0)
        lob_session_note(s, "%s: nothing is left after --erode of labels: %s%s", path, text,
                         used < sizeof text - 20 ? "" : ", ...");
    return LOB_OK;
}

/* Put the labels of a file on the image's grid, eroded where that is asked for. Labels keep the
 * names that the first file gives them. */
static lob_status put_labels(lob_session *s, work *w, const char *path, lob_size erode)
{
    lob_volume *const v = &w->from;
    LOB_TRY(lob_grid_read(s, v, path, &w->seeds, w->image_path));
    LOB_TRY(lob_grid_dense(s, v, &w->labels, path));
    if (erode.value > 0.0) {
        LOB_TRY(change(s, v, LOB_MORPHOLOGY_ERODE, erode));
        LOB_TRY(note_lost(s, w, path));
    }
    for (int64_t i = 0; i < lob_voxels(v); i++) {
        const int32_t label = lob_label_at(v->data, v->type, i);
        if (label > 0) lob_seeds_put(w, i, w->labels.values[label - 1]);
    }
    if (lob_label_names_complete(&w->seeds.names, &v->names) != LOB_OK)
        return lob_session_no_memory(s, path);
    lob_label_set_free(&w->labels);
    lob_grid_drop(s, v);
    return LOB_OK;
}

/* ---- all together ---- */

/* The first of the files that seeds come from. */
static const char *first_source(const work *w)
{
    const lob_words *const sources[] = {&w->labels_paths, &w->points_paths, &w->seeds_paths};
    int k = 0;
    while (k < 2 && sources[k]->count == 0) k++;
    return sources[k]->word[0];
}

/* Settle conflicts; count seeds and find the largest. */
static lob_status settle(lob_session *s, work *w, int32_t *largest)
{
    int32_t *const seeds = w->seeds.data;
    int64_t count = 0, conflicts = 0;
    *largest = 0;
    for (int64_t i = 0; i < lob_voxels(&w->seeds); i++) {
        if (seeds[i] < 0) {
            conflicts++;
            seeds[i] = w->conflict == NEITHER ? 0 : -seeds[i];
        }
        count += seeds[i] > 0;
        if (seeds[i] > *largest) *largest = seeds[i];
    }
    LOB_JSON_NUMBERS(s->results, {"seeds", count}, {"conflicts", conflicts});
    if (count > 0) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, first_source(w), "no voxel of it becomes a seed%s",
                         w->erode.value > 0.0 ? "; a smaller --erode leaves more" : "");
}

/* Every voxel farther than --shell from all seeds becomes a seed of a label of its own. */
static lob_status add_shell(lob_session *s, work *w, int32_t *largest)
{
    int32_t *const seeds = w->seeds.data;
    if (!(w->shell.value > 0.0)) return LOB_OK;
    if (w->shell_label <= 0 && *largest == INT32_MAX)
        return lob_fail(&s->error, LOB_EARG, "no label is left for the shell: add --shell-label");
    const int32_t label = w->shell_label > 0 ? w->shell_label : *largest + 1;
    LOB_TRY(lob_grid_make(s, &w->near, &w->seeds, LOB_U8, 1, w->out));
    uint8_t *const is_near = w->near.data;
    for (int64_t i = 0; i < lob_voxels(&w->near); i++) is_near[i] = seeds[i] != 0;
    const lob_status st = change(s, &w->near, LOB_MORPHOLOGY_DILATE, w->shell);
    LOB_TRY(lob_session_name(s, st, w->image_path, NULL));
    int64_t count = 0;
    for (int64_t i = 0; i < lob_voxels(&w->near); i++)
        if (!is_near[i]) {
            seeds[i] = label;
            count++;
        }
    lob_grid_drop(s, &w->near);
    if (count == 0)
        lob_session_note(s, "%s: no voxel is farther than --shell from all seeds", w->image_path);
    if (count > 0 && label > *largest) *largest = label;
    LOB_JSON_NUMBERS(s->results, {"shell_label", label}, {"shell_voxels", count});
    return LOB_OK;
}

static lob_status make_seeds(lob_session *s, work *w)
{
    int32_t largest = 0;
    for (int k = 0; k < w->labels_paths.count; k++)
        LOB_TRY(put_labels(s, w, w->labels_paths.word[k], w->erode));
    for (int k = 0; k < w->points_paths.count; k++)
        LOB_TRY(lob_seeds_put_points(s, w, w->points_paths.word[k]));
    LOB_TRY(lob_seeds_check_points(s, w));
    for (int k = 0; k < w->seeds_paths.count; k++)
        LOB_TRY(put_labels(s, w, w->seeds_paths.word[k], (lob_size){0}));
    LOB_TRY(settle(s, w, &largest));
    LOB_TRY(lob_seeds_look(s, w));
    LOB_TRY(add_shell(s, w, &largest));
    if (lob_labels_pack(&w->seeds, largest) != LOB_OK) return lob_session_no_memory(s, w->out);
    return LOB_OK;
}

static lob_status seeds(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(lob_session_device(s));
    LOB_TRY(lob_session_read_header(s, &w->image, w->image_path, NULL));
    LOB_TRY(lob_session_check(s, &w->image, LOB_I32, 1, w->out));
    LOB_TRY(lob_grid_make(s, &w->seeds, &w->image, LOB_I32, 1, w->image_path));
    lob_label_names_free(&w->seeds.names); /* those of the image's own labels */
    LOB_TRY(make_seeds(s, w));
    return lob_session_write(s, &w->seeds, w->out, true);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->from, &w->near, &w->shares, &w->values, &w->seeds);
    lob_label_set_free(&w->labels);
    lob_points_free(&w->read);
    LOB_FREE(w->left, w->kept);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){.label = 1,
                .background = -1,
                .corrections = -1,
                .complete_axis = -1,
                .conflict = LATER,
                .erode = {-1},
                .shell = {-1}};
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->image_path, "scan whose grid the seeds lie on"),
        OPT_OUTPUT("output", &w->out, LOB_FILE_LABELS, "seeds to write", .letter = 'o',
                   .required = true),
        OPT_INPUTS("points", &w->points_paths, LOB_FILE_OTHER,
                   "points: 3D Slicer's .mrk.json and .fcsv, or a table"),
        OPT_INT("label", &w->label, "N", 1, INT32_MAX,
                "label of points whose file gives none: a column label, or a name that is a whole "
                "number"),
        OPT_LENGTH("radius", &w->radius, 0, 1e6,
                   "points become balls of this radius, unless their table gives another; 0: the "
                   "voxel that holds the point"),
        OPT_INPUTS("labels", &w->labels_paths, LOB_FILE_LABELS,
                   "labels, such as a segmentation of another time or reader"),
        OPT_LENGTH("erode", &w->erode, 0, 1e6,
                   "take this much off the labels of --labels, on all sides"),
        OPT_INPUTS("seeds", &w->seeds_paths, LOB_FILE_LABELS, "seeds to be joined, as they are"),
        OPT_CHOICE("conflict", &w->conflict, "later|earlier|neither",
                   "which label counts where sources disagree: of --labels, --points, --seeds in "
                   "this order, and each in the order given"),
        OPT_INPUT(
            "complete", &w->complete, LOB_FILE_LABELS,
            "make --background of what has no seed on slices that are painted out: where a "
            "label fills a square of 5 voxels, and labels cover 0.75 of what these labels, an "
            "earlier result, have there"),
        OPT_CHOICE("complete-axis", &w->complete_axis, "x|y|z",
                   "these are slices across this axis"),
        OPT_CHOICE("corrections", &w->corrections, "x|y|z",
                   "leave out corrections that look like another label: of slices across this axis "
                   "with seeds of one label alone the pieces whose grey values are not e times as "
                   "likely its own as another one's, by the slices with seeds of several labels"),
        OPT_INPUT("shares", &w->shares_path, LOB_FILE_IMAGE,
                  "leave out seeds that look like another label by these shares in 255ths, which "
                  "have a channel for each label but --background, after which values may follow: "
                  "another one's is more than 8 times their own's, while most of their piece does "
                  "not look like that"),
        OPT_INT("background", &w->background, "N", 1, INT32_MAX,
                "with --shares: label that has no channel; with --complete: that others are not"),
        OPT_LENGTH("shell", &w->shell, 0, 1e6,
                   "every voxel farther than this from all seeds becomes a seed of the background"),
        OPT_INT("shell-label", &w->shell_label, "N", 1, INT32_MAX,
                "label of the background of --shell; left out: the largest label plus 1"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_seeds = {
    .name = "seeds",
    .summary = "make seeds from points, labels and other seeds",
    .description =
        "The seeds lie on the grid of IMAGE, whose values are read for --corrections alone. Files "
        "of labels may cover a part of it. Distances are Euclidean, between centres of voxels, in "
        "mm or, with vox, in voxels along every axis alike.\n"
        "A table of points (.tsv, .csv) has a row of names; columns x, y, z, or x_mm, y_mm, z_mm "
        "as lobule's own tables have them, are mm in the world (RAS, as in NIfTI), i, j, k voxels "
        "counted from 0; label and radius (mm) may follow, and where a point has none, the field "
        "is empty or n/a. Points in the markups of 3D Slicer that are not placed are left out.\n"
        "A shell keeps labels from running away: on a spinal cord, for instance, what is farther "
        "than 8 mm from its marked middle line is something else.",
    .examples = "lobule seeds scan.nii.gz --points F.mrk.json --radius 3mm --shell 40mm -o "
                "seeds.nii.gz\n"
                "lobule seeds scan.nii.gz --labels atlas.nii.gz --erode 4mm -o seeds.nii.gz\n"
                "lobule seeds scan.nii.gz --seeds first.nii.gz --seeds second.nii.gz --conflict "
                "neither -o both.nii.gz",
    .result = "seeds",
    .result_text = "seed voxels",
    LOB_COMMAND_PARTS(work, options, check, seeds, release),
    .voxel_ns = 100,
};
