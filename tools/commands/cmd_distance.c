/* lobule distance: how far every voxel is from the labelled ones. */
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *labels, *distance, *feature;
    int frame, label, slices, to;
    bool is_signed, voxels;
    lob_size max; /* infinite: no limit */
} settings;

typedef struct {
    settings set; /* first */
    lob_volume labels, distance, feature;
    lob_label_set labelled;
} work;

enum { TO_SET, TO_OTHER }; /* in the order of the option's words */

static lob_status check(lob_session *s, void *user)
{
    const settings *const set = user;
    const bool limited = isfinite(set->max.value);
    const lob_rule rules[] = {
        {set->to == TO_OTHER && set->is_signed,      "--to other has no inside: leave --signed out"},
        {set->to == TO_OTHER && set->feature,
         "--to other has no nearest label: leave --feature out"                                    },
        {limited && set->max.voxels && !set->voxels,
         "--max is in voxels, distances are in mm: give --max in mm, or add --voxels"              },
        {limited && !set->max.voxels && set->voxels,
         "--max is in mm, distances are in voxels: give --max as 5vox, or leave --voxels out"      },
    };
    return LOB_RULES(s, rules);
}

/* The dense label that stands for --label; 0: all count. */
static lob_status find_label(lob_session *s, const settings *set, const work *w, uint32_t *only)
{
    *only = 0;
    if (w->labelled.count == 0)
        return lob_fail_file(&s->error, LOB_EDATA, set->labels,
                             "no voxel is labelled, so there is nothing to measure a distance to");
    if (set->label < 0) return LOB_OK;
    *only = (uint32_t)lob_label_set_find(&w->labelled, set->label);
    if (*only == 0)
        return lob_fail_file(&s->error, LOB_EDATA, set->labels, "no voxel has label %d",
                             set->label);
    return LOB_OK;
}

static lob_status read_labels(lob_session *s, const settings *set, work *w)
{
    LOB_TRY(lob_session_read(s, &w->labels, set->labels, set->frame));
    LOB_TRY(lob_grid_one_channel(s, &w->labels, set->labels));
    LOB_TRY(lob_session_check(s, &w->labels, LOB_F32, 1, set->distance));
    LOB_TRY(lob_session_check(s, &w->labels, LOB_I32, 1, set->feature));
    const double start_s = lob_clock_s();
    LOB_TRY(lob_grid_dense(s, &w->labels, &w->labelled, set->labels));
    lob_session_stage(s, "prepare", start_s);
    return LOB_OK;
}

static lob_status measure(lob_session *s, const settings *set, work *w)
{
    lob_distance_input in = {
        .labels = w->labels.data, .type = w->labels.type, .dims = w->labels.dims};
    lob_distance_options options = lob_distance_defaults();
    const int across = lob_grid_slice_axis(set->slices, &w->labels.geometry);
    for (int a = 0; a < 3; a++) {
        in.spacing[a] = set->voxels ? 1.0 : w->labels.geometry.spacing_mm[a];
        if (a == across) in.spacing[a] = INFINITY;
    }
    options.max = set->max.value;
    options.kind = set->is_signed        ? LOB_DISTANCE_SIGNED
                   : set->to == TO_OTHER ? LOB_DISTANCE_TO_OTHER
                                         : LOB_DISTANCE_TO_SET;
    LOB_TRY(find_label(s, set, w, &in.only));
    LOB_TRY(lob_grid_make(s, &w->distance, &w->labels, LOB_F32, 1, set->labels));
    if (set->feature)
        LOB_TRY(lob_grid_make(s, &w->feature, &w->labels, w->labels.type, 1, set->labels));
    const lob_distance_output out = {w->distance.data, w->feature.data};
    lob_session_compute(s, "measuring");
    return lob_session_done(s, s->backend->distance(&out, &in, &options, &s->context, &s->error),
                            set->labels, NULL);
}

/* Farther voxels get the limit. Returns the largest distance, inside or outside, and counts voxels
 * that see none. */
static double limit_distances(work *w, double max, int64_t *without)
{
    float *const distance = w->distance.data;
    const float limit = (float)max;
    float farthest = 0;
    *without = 0;
    for (int64_t i = 0; i < lob_voxels(&w->distance); i++) {
        if (isinf(distance[i])) distance[i] = copysignf(limit, distance[i]);
        const float away = fabsf(distance[i]);
        *without += isinf(away);
        if (isfinite(away) && away > farthest) farthest = away;
    }
    return (double)farthest;
}

static lob_status write_results(lob_session *s, const settings *set, work *w)
{
    int64_t without;
    const double farthest = limit_distances(w, set->max.value, &without);
    cJSON_AddStringToObject(s->results, "unit", set->voxels ? "voxels" : "mm");
    cJSON_AddNumberToObject(s->results, "farthest", farthest);
    cJSON_AddNumberToObject(s->results, "voxels_without", (double)without);
    if (without > 0)
        lob_session_note(s, "%s: voxels with nothing to measure to, which become infinite: %lld",
                         set->distance, (long long)without);
    if (set->feature && lob_labels_restore(&w->feature, &w->labelled) != LOB_OK)
        return lob_session_no_memory(s, set->feature);
    LOB_TRY(lob_session_write(s, &w->feature, set->feature, true));
    return lob_session_write(s, &w->distance, set->distance, false);
}

static lob_status distance(lob_session *s, void *user)
{
    work *const w = user;
    const settings *const set = &w->set;
    LOB_TRY(read_labels(s, set, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(measure(s, set, w));
    return write_results(s, set, w);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->labels, &w->distance, &w->feature);
    lob_label_set_free(&w->labelled);
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    *set = (settings){.frame = -1, .label = -1, .slices = -1, .max = {.value = INFINITY}};
    const lob_option rows[] = {
        OPERAND_INPUT("LABELS", &set->labels, LOB_FILE_LABELS,
                      "labels or a mask: what is not 0 is labelled", .required = true),
        OPT_OUTPUT("output", &set->distance, LOB_FILE_IMAGE, "float32 distances to write",
                   .letter = 'o', .required = true),
        OPT_OUTPUT("feature", &set->feature, LOB_FILE_LABELS,
                   "also write the label of the labelled voxel that is nearest, of equally near "
                   "ones the smallest"),
        OPT_FLAG("signed", &set->is_signed,
                 "inside labels give the distance to the nearest voxel without a label, as a "
                 "negative number"),
        OPT_CHOICE("to", &set->to, "set|other",
                   "distance to the nearest labelled voxel, or to the nearest voxel whose label, "
                   "which may be 0, is another"),
        OPT_INT("label", &set->label, "N", 1, INT32_MAX,
                "this label alone counts, the others are as 0; left out: all"),
        OPT_LENGTH("max", &set->max, 0, 1e8,
                   "do not look farther than this: voxels beyond get this distance and no nearest "
                   "label"),
        OPT_FLAG("voxels", &set->voxels, "distances in voxels; left out: mm"),
        OPT_CHOICE("slices", &set->slices, LOB_GRID_SLICES,
                   "measure inside each slice alone; x, y, z are voxel axes"),
        OPT_FRAME(&set->frame, "labels"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_distance = {
    .name = "distance",
    .summary = "measure how far every voxel is from the labelled ones",
    .description =
        "Distances are Euclidean and exact, between centres of voxels, in mm by the spacing of the "
        "file or with --voxels in voxels: 0 at a labelled voxel, and one voxel's spacing beside "
        "it, as scipy.ndimage.distance_transform_edt gives them for the voxels that are not "
        "labelled. With --signed they are negative inside, and between a voxel outside and its "
        "neighbour inside lie two voxels' spacings, since each is measured to the other's centre; "
        "no voxel is 0.\n"
        "Lengths are squared and compared as whole numbers, so that results are the same bytes on "
        "every machine, device and number of threads; they agree with double precision within the "
        "rounding of float32. A voxel that sees nothing to measure to, as in a slice without a "
        "label, is infinite.",
    .examples = "lobule distance organ.nii.gz -o mm.nii.gz\n"
                "lobule distance organs.nii.gz -o mm.nii.gz --feature nearest.nii.gz --max 20mm\n"
                "lobule distance organs.nii.gz -o signed.nii.gz --label 3 --signed",
    .result = "farthest",
    .result_text = "farthest",
    .settings_bytes = sizeof(work),
    .options = options,
    .check = check,
    .work = distance,
    .release = release,
    .voxel_ns = 30,
};
