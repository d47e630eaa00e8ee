/* lobule refine: clean up labels that grew from strokes. */
#include "kernels/refine/outvote.h"
#include "kernels/refine/refine.h"
#include "kernels/segment/segment_job.h"
#include "tools/commands/commands.h"
#include "tools/commands/seeds_input.h"

#include <math.h>
#include <string.h>

typedef struct {
    const char *labels_path, *image_path, *seeds_path, *out_path;
    int frame, background;
    double edge;
    lob_size smooth, edge_sigma, edge_smooth, settle_sigma; /* infinite: left out */
    const char *first, *plain; /* that may outvote the labels; NULL: none */
    double plain_step[3];
    bool sharp, confirmed[UINT8_MAX + 1];
    const char *others_path, *shares_path;
    double settle;
    int absent; /* along which axis labels are absent from slices; 3: none */
    bool walls, keep_volume;
    int fade; /* across which axis labels end where they fade; 3: none */

    lob_volume image, labels, others, shares, out;
    lob_strokes_places places;
    lob_seeds_input seeds;
    lob_refine_stats stats;
} work;

/* Do borders end where growth over the image itself has them? Unless --plain has them already. */
static bool is_sharpened(const work *w)
{
    return w->sharp && w->plain_step[0] * w->plain_step[1] * w->plain_step[2] > 1;
}

/* A length in mm; a voxel is the least spacing, whose length in mm `fallback` is a multiple of. */
static double mm_of(const lob_size *size, double voxel_mm, double fallback)
{
    if (isinf(size->value)) return fallback;
    return size->voxels ? size->value * voxel_mm : size->value;
}

static lob_refine_options options_of(const work *w, const lob_volume *image)
{
    lob_refine_options o = lob_refine_defaults(image->dims, image->geometry.spacing_mm);
    const double voxel_mm = o.edge_mm;
    o.edge = is_sharpened(w) ? 0 : w->edge;
    o.settle = w->settle;
    o.settle_mm = mm_of(&w->settle_sigma, voxel_mm, o.settle_mm);
    o.smooth_mm = mm_of(&w->smooth, voxel_mm, o.smooth_mm);
    o.edge_mm = mm_of(&w->edge_sigma, voxel_mm, o.edge_mm);
    o.edge_smooth_mm = mm_of(&w->edge_smooth, voxel_mm, o.edge_smooth_mm);
    o.keep = w->keep_volume;
    o.fade = w->fade != 3;
    o.fade_axis = o.fade ? w->fade : 0;
    return o;
}

/* What settling takes: shares, and labels that grew in another way. */
static lob_status read_settling(lob_session *s, work *w)
{
    if (!w->shares_path) return LOB_OK;
    LOB_TRY(lob_shares_read(s, &w->shares, w->shares_path, &w->image, w->image_path));
    LOB_TRY(lob_shares_check(s, &w->shares, w->shares_path, w->seeds.set.count));
    if (w->others_path)
        LOB_TRY(lob_seeds_labels(s, &w->others, w->others_path, &w->seeds, w->seeds_path, &w->image,
                                 w->image_path));
    if (w->others_path && w->others.type != w->labels.type)
        return lob_fail_file(&s->error, LOB_EDATA, w->others_path, "is of another type than %s",
                             w->labels_path);
    return LOB_OK;
}

/* Let the labels of two other growths outvote those that are refined. */
static lob_status outvote(lob_session *s, work *w)
{
    const char *const paths[] = {w->first, w->plain};
    lob_volume by[2] = {lob_volume_empty(), lob_volume_empty()};
    lob_status st = LOB_OK;
    if (!w->first) return LOB_OK;
    if (w->seeds.set.count > UINT8_MAX)
        return lob_fail_file(&s->error, LOB_EDATA, w->seeds_path,
                             "has %d labels, at most %d can be outvoted", w->seeds.set.count,
                             UINT8_MAX);
    for (int i = 0; i < 2 && st == LOB_OK; i++)
        st = lob_seeds_labels(s, &by[i], paths[i], &w->seeds, w->seeds_path, &w->image,
                              w->image_path);
    if (st == LOB_OK) {
        lob_outvote_count total[LOB_OUTVOTE_LABELS];
        lob_outvote_input in = {.labels = w->labels.data,
                                .first = by[0].data,
                                .plain = by[1].data,
                                .dims = w->labels.dims};
        for (int a = 0; a < 3; a++) in.step[a] = (int)w->plain_step[a];
        lob_outvote_look(total, &in, s->context.threads);
        const lob_outvote_verdict verdict =
            lob_outvote_judge(total, w->seeds.set.count, w->seeds.background);
        const int64_t changed = lob_outvote(w->labels.data, in.first, in.plain,
                                            lob_voxels(&w->labels), &verdict, s->context.threads);
        w->sharp = verdict.sharp;
        memcpy(w->confirmed, verdict.confirmed, sizeof w->confirmed);
        cJSON_AddNumberToObject(s->results, "outvoted_voxels", (double)changed);
        cJSON_AddBoolToObject(s->results, "sharp", w->sharp);
    }
    LOB_VOLUMES_FREE(&by[0], &by[1]);
    return st;
}

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    if (!w->first != !w->plain)
        return lob_fail(&s->error, LOB_EARG, "--first and --plain go together");
    for (int a = 0; a < 3; a++)
        if (w->plain_step[a] != floor(w->plain_step[a]))
            return lob_fail(&s->error, LOB_EARG, "--plain-step is in whole voxels");
    return LOB_OK;
}

static lob_status read_inputs(lob_session *s, work *w)
{
    LOB_TRY(lob_session_read(s, &w->image, w->image_path, w->frame));
    if (w->image.channels > LOB_REFINE_MAX_CHANNELS)
        return lob_fail_file(&s->error, LOB_EDATA, w->image_path, "has %d channels, at most %d",
                             w->image.channels, LOB_REFINE_MAX_CHANNELS);
    LOB_TRY(lob_seeds_read(s, &w->seeds, w->seeds_path, &w->image, w->image_path, w->background));
    LOB_TRY(lob_session_check(s, &w->image, lob_label_type(w->seeds.set.count), 1, w->out_path));
    LOB_TRY(lob_seeds_labels(s, &w->labels, w->labels_path, &w->seeds, w->seeds_path, &w->image,
                             w->image_path));
    LOB_TRY(outvote(s, w));
    LOB_TRY(read_settling(s, w));
    const lob_volume *const seeds = &w->seeds.volume;
    const bool absent = w->shares_path && w->absent != 3;
    return lob_strokes_places_find(&w->places, seeds->data, seeds->type, seeds->dims,
                                   w->seeds.set.count, w->seeds.background, absent ? w->absent : -1,
                                   w->walls, s->context.threads, &s->error);
}

static lob_status sharpen(lob_session *s, work *w)
{
    const lob_segment_plan plan = {.sum = false};
    lob_segment_job job = lob_segment_job_of(NULL, &plan, s->backend, &s->context);
    const lob_volume none = lob_volume_empty();
    lob_volume there[] = {none, none, none}, back = none;
    const lob_volume *const from[] = {&w->out, &w->image, &w->seeds.volume};
    lob_status st = LOB_OK;
    if (!is_sharpened(w)) return LOB_OK;
    for (int i = 0; i < 3 && st == LOB_OK; i++)
        st = lob_segment_here(&job, &there[i], from[i], &s->error);
    if (st == LOB_OK)
        st = lob_segment_sharpen(&job, &there[0], &there[1], &there[2], w->seeds.set.count,
                                 w->seeds.background, w->confirmed, 0, &s->error);
    if (st == LOB_OK) st = lob_segment_copy(&job, &back, &there[0], w->out.place, &s->error);
    if (st == LOB_OK) memcpy(w->out.data, back.data, (size_t)lob_voxels(&back));
    lob_segment_drop(&job, &back);
    for (int i = 0; i < 3; i++) lob_segment_drop(&job, &there[i]);
    return st;
}

static lob_status compute(lob_session *s, work *w)
{
    const lob_refine_options options = options_of(w, &w->image);
    const lob_refine_input in = {
        .image = &w->image,
        .labels = w->labels.data,
        .labels_type = w->labels.type,
        .seeds = w->seeds.volume.data,
        .seeds_type = w->seeds.volume.type,
        .label_count = w->seeds.set.count,
        .background = w->seeds.background,
        .others = w->others.data,
        .shares = w->shares.data,
        .absent = w->places.absent,
        .absent_axis = w->absent == 3 ? 0 : w->absent,
        .walls = w->places.walls,
        .wall_count = w->places.wall_count,
    };
    LOB_TRY(lob_grid_make(s, &w->out, &w->labels, lob_label_type(in.label_count), 1, w->out_path));
    lob_session_compute(s, "refining");
    lob_status st =
        s->backend->refine(w->out.data, &w->stats, &in, &options, &s->context, &s->error);
    if (st == LOB_OK) st = sharpen(s, w);
    LOB_TRY(lob_session_done(s, st, w->labels_path, w->image_path));
    if (lob_labels_restore(&w->out, &w->seeds.set) != LOB_OK)
        return lob_session_no_memory(s, w->out_path);
    return LOB_OK;
}

static void report(lob_session *s, const work *w)
{
    const lob_refine_stats *stats = &w->stats;
    LOB_JSON_NUMBERS(s->results, {"changed_voxels", stats->changed},
                     {"pieces_removed", stats->pieces}, {"hole_voxels", stats->filled},
                     {"working_bytes", stats->working_bytes});
    lob_session_say(s, "changed voxels: %lld; pieces removed: %lld", (long long)stats->changed,
                    (long long)stats->pieces);
}

static lob_status refine(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(compute(s, w));
    report(s, w);
    return lob_session_write(s, &w->out, w->out_path, true);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->labels, &w->others, &w->shares, &w->out);
    lob_strokes_places_free(&w->places);
    lob_seeds_free(&w->seeds);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .frame = -1,
        .background = -1,
        .edge = 1,
        .smooth = {.value = INFINITY},
        .edge_sigma = {.value = INFINITY},
        .edge_smooth = {.value = INFINITY},
        .settle_sigma = {.value = INFINITY},
        .settle = 0.28,
        .absent = 3,
        .fade = 3,
    };
    for (int a = 0; a < 3; a++) w->plain_step[a] = 1;
    const lob_option rows[] = {
        OPERAND_LABELS(&w->labels_path, "labels that grew from the seeds"),
        OPERAND_IMAGE(&w->image_path, "scan"),
        OPERAND_SEEDS(&w->seeds_path, "strokes: labels from 1, 0 is unknown"),
        OPT_LABELS_OUTPUT(&w->out_path),
        OPT_BACKGROUND(&w->background),
        OPT_LENGTH(
            "smooth", &w->smooth, 0, 1e4,
            "Gaussian majority of this sigma, as 1.5mm or 1vox; left out: 1vox, which is the "
            "least spacing; 0: none"),
        OPT_REAL("edge", &w->edge, "SHARE", 0, 1,
                 "how much the image, beside the labels, decides where borders are; 0: not at all"),
        OPT_LENGTH("edge-sigma", &w->edge_sigma, 0, 1e4,
                   "Gaussian of the image's means on both sides of a border; left out: 1vox",
                   .above_low = true),
        OPT_LENGTH("edge-smooth", &w->edge_smooth, 0, 1e4,
                   "Gaussian of what the image decides; left out: 0.7vox; 0: none"),
        OPT_FLAG("keep-volume", &w->keep_volume,
                 "with --edge: each label gets as many voxels as what the image and the labels "
                 "decide sums to, so that the Gaussian takes nothing off what is small in voxels"),
        OPT_CHOICE("fade", &w->fade, "x|y|z|none",
                   "with --edge: beyond its first and last slice with strokes across this axis a "
                   "label ends with the first on which less of its border is seen in the image "
                   "than half of what is on these"),
        OPT_INPUT("first", &w->first, LOB_FILE_LABELS,
                  "labels of an earlier growth: where they agree on a label with those of --plain "
                  "by a Dice of 0.75, and these have 0.85 of it or agree with it more than the "
                  "labels do, background that both give it becomes its own"),
        OPT_INPUT(
            "plain", &w->plain, LOB_FILE_LABELS,
            "with --first: labels that grew over the image alone. They confirm a label of "
            "which they have 0.94, if 0.96 of theirs is the label's in --first or beside it. "
            "Where they confirm most labels, background that --first gives a label becomes its "
            "own, and what they give one on which both agree by a Dice of 0.75"),
        OPT_TRIPLE(
            "plain-step", &w->plain_step, 1, 1e6,
            "with --first: voxels along each axis to one of the grid on which these grew. Where "
            "it was coarser and most labels are confirmed, these grow anew over the image "
            "at the end, from 2vox within all borders, in place of --edge"),
        OPT_INPUT("shares", &w->shares_path, LOB_FILE_IMAGE,
                  "uint8 shares of `lobule appearance`, times 255: labels settle by them in place "
                  "of the majority"),
        OPT_REAL("settle", &w->settle, "WEIGHT", 0, 100,
                 "with --shares: what the fourth root of a share weighs against the labels around"),
        OPT_LENGTH("settle-sigma", &w->settle_sigma, 0, 1e4,
                   "with --shares: Gaussian of the labels around; left out: 2vox",
                   .above_low = true),
        OPT_INPUT("others", &w->others_path, LOB_FILE_LABELS,
                  "with --shares: labels that grew in another way, which count as much at first"),
        OPT_CHOICE("absent", &w->absent, "x|y|z|none",
                   "with --shares: slices across this axis with strokes of the background and of "
                   "others have no label but those drawn on them"),
        OPT_FLAG(
            "walls", &w->walls,
            "a label around another one, painted along its middle, is about twice as wide as "
            "its strokes are far from that: what is farther becomes background, and what bulges "
            "into the other's outline the other's"),
        OPT_FRAME(&w->frame, "image"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_refine = {
    .name = "refine",
    .summary = "smooth and clean up labels that grew from strokes",
    .description =
        "First labels are smoothed: each voxel takes the label with the largest weight under a "
        "Gaussian. Strokes keep their labels; pieces that hold no stroke of their label become "
        "background; holes are filled, but for those in which background was drawn.\n"
        "Then borders move to where the image changes. A voxel is compared with the mean of the "
        "image over the label and the mean over the rest, both close to it, and goes to the nearer "
        "one; these votes are smoothed. Strokes, pieces and holes follow again.\n"
        "With --shares labels settle first, in place of the majority: for some rounds each voxel "
        "takes the label with the most of those around and of its share.\n"
        "The background keeps its label. The bytes are the same on every device.",
    .examples = "lobule refine grown.nii.gz scan.nii.gz strokes.nii.gz -o labels.nii.gz\n"
                "lobule refine grown.nii.gz scan.nii.gz strokes.nii.gz --smooth 2mm --edge 0.5 "
                "-o labels.nii.gz",
    .result = "changed_voxels",
    .result_text = "changed voxels",
    LOB_COMMAND_PARTS(work, options, check, refine, release),
    .voxel_ns = 240,
};
