/* lobule appearance: how likely each voxel is each label, from the values under strokes. */
#include "kernels/appearance/appearance.h"
#include "tools/commands/commands.h"
#include "tools/commands/seeds_input.h"
#include "volumes/labels.h"

#include <math.h>

typedef struct {
    const char *image_path, *seeds_path, *view_path, *outline_path, *shares_path;
    int frame, background;
    lob_appearance_options options;

    lob_volume image, view, outline, shares;
    lob_seeds_input seeds;
    lob_appearance_stats stats;
} work;

static lob_status read_inputs(lob_session *s, work *w)
{
    LOB_TRY(lob_session_read(s, &w->image, w->image_path, w->frame));
    LOB_TRY(lob_seeds_read(s, &w->seeds, w->seeds_path, &w->image, w->image_path, w->background));
    if (w->seeds.set.count > LOB_APPEARANCE_MAX_LABELS)
        return lob_fail_file(&s->error, LOB_EDATA, w->seeds_path, "has %d labels, at most %d",
                             w->seeds.set.count, LOB_APPEARANCE_MAX_LABELS);
    const int values = w->options.values ? w->image.channels : 0;
    LOB_TRY(
        lob_session_check(s, &w->image, LOB_F32, w->seeds.set.count - 1 + values, w->shares_path));
    if (w->view_path) {
        LOB_TRY(lob_session_read(s, &w->view, w->view_path, -1));
        LOB_TRY(lob_grid_match(s, &w->view, w->view_path, &w->image, w->image_path, LOB_PART_NONE));
    }
    if (w->outline_path)
        LOB_TRY(lob_seeds_labels(s, &w->outline, w->outline_path, &w->seeds, w->seeds_path,
                                 &w->image, w->image_path));
    return LOB_OK;
}

/* Strokes on nothing but missing values tell nothing. */
static lob_status check_values(lob_session *s, const work *w)
{
    const lob_volume *const v = &w->image, *const seeds = &w->seeds.volume;
    const int64_t n = lob_voxels(v);
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; lob_label_at(seeds->data, seeds->type, i) > 0 && c < v->channels; c++) {
            double value;
            lob_values(&value, v->data, v->type, c * n + i, 1);
            if (isfinite(value)) return LOB_OK;
        }
    return lob_fail_file(
        &s->error, LOB_EDATA, w->image_path,
        "holds no finite value under the strokes, from which nothing can be learnt");
}

static lob_status compute(lob_session *s, work *w)
{
    const lob_volume *views[] = {&w->image, &w->view};
    const lob_appearance_input in = {
        .views = views,
        .view_count = w->view_path ? 2 : 1,
        .seeds = w->seeds.volume.data,
        .seed_type = w->seeds.volume.type,
        .labels = w->seeds.set.count,
        .background = w->seeds.background,
        .outline = w->outline.data,
        .outline_type = w->outline.type,
    };
    const int channels = lob_appearance_channels(&in, &w->options);
    LOB_TRY(lob_grid_make(s, &w->shares, &w->image, LOB_F32, channels, w->shares_path));
    lob_session_compute(s, "learning from strokes");
    return lob_session_done(
        s,
        s->backend->appearance(w->shares.data, &w->stats, &in, &w->options, &s->context, &s->error),
        w->image_path, w->seeds_path);
}

static void report(lob_session *s, const work *w)
{
    cJSON *const labels = cJSON_AddArrayToObject(s->results, "labels");
    for (int32_t i = 0; i < w->seeds.set.count; i++)
        if (i + 1 != w->seeds.background)
            cJSON_AddItemToArray(labels, cJSON_CreateNumber(w->seeds.set.values[i]));
    LOB_JSON_NUMBERS(s->results, {"outline_axis", w->stats.axis},
                     {"outline_slices", w->stats.slices},
                     {"working_bytes", w->stats.working_bytes});
}

static lob_status appearance(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(check_values(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(compute(s, w));
    report(s, w);
    return lob_session_write(s, &w->shares, w->shares_path, false);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->view, &w->outline, &w->shares);
    lob_seeds_free(&w->seeds);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){.frame = -1, .background = -1, .options = lob_appearance_defaults()};
    lob_appearance_options *const o = &w->options;
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->image_path, "scan"),
        OPERAND_SEEDS(&w->seeds_path, "strokes: labels from 1, 0 is unknown"),
        OPT_IMAGE_OUTPUT(&w->shares_path,
                         "float32 shares to write, a channel for each label but the background"),
        OPT_INPUT("view", &w->view_path, LOB_FILE_IMAGE,
                  "another look at IMAGE, such as a smoothed one, whose values count too"),
        OPT_BACKGROUND(&w->background),
        OPT_INPUT("outline", &w->outline_path, LOB_FILE_LABELS,
                  "an earlier result, whose shape in the slices with strokes counts instead of the "
                  "distance to strokes"),
        OPT_INT("bins", &o->bins, "N", 2, LOB_APPEARANCE_MAX_BINS,
                "bins between the least and the greatest value under strokes"),
        OPT_REAL("bin-sigma", &o->bin_sigma, "BINS", 0, 100, "how far values speak for others"),
        OPT_REAL(
            "whole", &o->whole, "SHARE", 0, 1,
            "share of the whole volume, beside the background's strokes, in what speaks against "
            "a label"),
        OPT_REAL("partial-volume", &o->partial_volume, "SHARE", 0, 1,
                 "share of voxels that hold two tissues, whose values lie between those under "
                 "strokes, in what is learnt"),
        OPT_FLAG("values", &o->values,
                 "after the shares also IMAGE's values, from 0 at the least under strokes to 1 at "
                 "the greatest, for growth that heeds both (growcut --norm l1)"),
        OPT_REAL("far", &o->far, "NATS", 0, 16,
                 "without --outline: what a label loses at twice the reach of its strokes; with "
                 "it: what a label loses at most far outside, if that is more than --shape"),
        OPT_REAL("far-quantile", &o->far_quantile, "SHARE", 0, 1,
                 "share of other strokes that lies within the reach"),
        OPT_REAL("far-least", &o->far_mm, "MM", 0, 1e6,
                 "the least reach, for strokes along both sides of a border, which lie near to "
                 "each other"),
        OPT_REAL("shape", &o->shape, "NATS", 0, 16,
                 "with --outline: what a label gains at most well inside, and loses outside unless "
                 "--far is more"),
        OPT_REAL("shape-border", &o->shape_mm, "MM", 0, 1e6,
                 "distance to the outline that is worth a nat; 0: the least spacing"),
        OPT_REAL("shape-widen", &o->shape_widen, "RATIO", 0, 1e6,
                 "what is added to that for each mm to the nearest slice with strokes; beyond the "
                 "first and the last of several a third"),
        OPT_REAL("shape-slope", &o->shape_slope, "RATIO", 0, 1e6,
                 "by how much an outline shrinks for each mm beyond the last slices with strokes"),
        OPT_REAL("local", &o->local, "SHARE", 0, 1,
                 "share of the scores that is learnt from strokes nearby; 0: strokes count alike "
                 "wherever they are"),
        OPT_CHOICE("local-axis", &o->local_axis, "x|y|z",
                   "nearby are strokes in the same slice across this axis, and in the next slices "
                   "before and after it with strokes of several labels"),
        OPT_REAL("local-step", &o->local_mm, "MM", 1e-3, 1e6,
                 "they are learnt from at points of each slice, so far apart at most"),
        OPT_FRAME(&w->frame, "image"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_appearance = {
    .name = "appearance",
    .summary = "learn from strokes how likely each voxel is each label",
    .description =
        "For each label but the background the output has a channel: how likely a voxel is that "
        "label, from 0 to 1, by the values that lie under its strokes and under the background's. "
        "Every channel of IMAGE, and of --view, is looked at by itself: values are counted in bins "
        "under the label's strokes, under the background's and in the whole volume, and the "
        "logarithms of their ratios are added (naive Bayes).\n"
        "Tissue of one kind is not as bright everywhere, and slices that are far apart tell little "
        "of each other: with --local strokes count the more the nearer they are.\n"
        "Place counts too. Without --outline a label loses what is farther from its strokes than "
        "nearly all strokes of other labels are, as blocks of voxels tell it, of which there are "
        "2^19 at most. With --outline it gains what lies inside of the outline in the slices that "
        "have strokes, and between these inside of what the signed distances of both give; this "
        "needs strokes in slices of a volume.\n"
        "`lobule filter --gaussian` and then `lobule growcut --rule distance` make labels of "
        "shares. The bytes are the same on every device.",
    .examples = "lobule appearance scan.nii.gz strokes.nii.gz -o shares.nii.gz\n"
                "lobule appearance scan.nii.gz strokes.nii.gz --outline first.nii.gz "
                "--background 2 -o shares.nii.gz",
    LOB_COMMAND_PARTS(work, options, NULL, appearance, release),
    .voxel_ns = 140,
};
