/* lobule distance: how far every voxel is from the labelled ones. */
#include "kernels/distance/distance_slabs.h"
#include "tools/commands/commands.h"
#include "tools/inout/slabs.h"
#include "volumes/labels.h"

#include <math.h>
#include <string.h>

typedef struct {
    const char *labels, *distance, *feature;
    int frame, label, slices, to, plan;
    bool is_signed, voxels;
    lob_size max; /* infinite: no limit */
} settings;

typedef struct {
    settings set; /* first */
    lob_volume labels, distance, feature;
    lob_label_set labelled;
    lob_slabs slabs; /* of several tasks */
} work;

enum { TO_SET, TO_OTHER }; /* in the order of the option's words */

static lob_status check(lob_session *s, void *user)
{
    const settings *const set = user;
    const bool limited = isfinite(set->max.value);
    const bool many = lob_team_size(s->ranks) > 1 || set->plan > 0;
    const lob_rule rules[] = {
        {set->to == TO_OTHER && set->is_signed,      "--to other has no inside: leave --signed out"},
        {set->to == TO_OTHER && set->feature,
         "--to other has no nearest label: leave --feature out"                                    },
        {limited && set->max.voxels && !set->voxels,
         "--max is in voxels, distances are in mm: give --max in mm, or add --voxels"              },
        {limited && !set->max.voxels && set->voxels,
         "--max is in mm, distances are in voxels: give --max as 5vox, or leave --voxels out"      },
    };
    LOB_TRY(LOB_RULES(s, rules));
    return many ? lob_session_cpu_alone(s, "several tasks measure") : LOB_OK;
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

/* Can they be measured, and the outputs hold what comes of them? */
static lob_status check_labels(lob_session *s, const settings *set, const lob_volume *labels)
{
    LOB_TRY(lob_grid_one_channel(s, labels, set->labels));
    LOB_TRY(lob_session_check(s, labels, LOB_F32, 1, set->distance));
    return lob_session_check(s, labels, LOB_I32, 1, set->feature);
}

static lob_distance_input input_of(const settings *set, const lob_volume *labels)
{
    lob_distance_input in = {.labels = labels->data, .type = labels->type, .dims = labels->dims};
    const int across = lob_grid_slice_axis(set->slices, &labels->geometry);
    for (int a = 0; a < 3; a++) {
        in.spacing[a] = set->voxels ? 1.0 : labels->geometry.spacing_mm[a];
        if (a == across) in.spacing[a] = INFINITY;
    }
    return in;
}

static lob_distance_options options_of(const settings *set)
{
    lob_distance_options options = lob_distance_defaults();
    options.max = set->max.value;
    options.kind = set->is_signed        ? LOB_DISTANCE_SIGNED
                   : set->to == TO_OTHER ? LOB_DISTANCE_TO_OTHER
                                         : LOB_DISTANCE_TO_SET;
    return options;
}

static lob_status measure(lob_session *s, const settings *set, work *w)
{
    lob_distance_input in = input_of(set, &w->labels);
    const lob_distance_options options = options_of(set);
    LOB_TRY(find_label(s, set, w, &in.only));
    LOB_TRY(lob_grid_make(s, &w->distance, &w->labels, LOB_F32, 1, set->labels));
    if (set->feature)
        LOB_TRY(lob_grid_make(s, &w->feature, &w->labels, w->labels.type, 1, set->labels));
    const lob_distance_output out = {w->distance.data, w->feature.data};
    lob_session_compute(s, "measuring");
    const int64_t nz = w->slabs.volume.dims.nz;
    const lob_status st =
        s->team ? lob_distance_slabs(&out, &in, &options, nz, s->team, &s->context, &s->error)
                : s->backend->distance(&out, &in, &options, &s->context, &s->error);
    return lob_session_done(s, st, set->labels, NULL);
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

/* The farthest voxel of all tasks, and those of all tasks that see none. */
static lob_status add_ranks(lob_session *s, double *farthest, int64_t *without)
{
    int64_t bits;
    memcpy(&bits, farthest, sizeof bits); /* of numbers that are not negative, in their order */
    LOB_TRY(lob_team_reduce(s->team, &bits, 1, LOB_TEAM_MAX, &s->error));
    memcpy(farthest, &bits, sizeof bits);
    return lob_team_reduce(s->team, without, 1, LOB_TEAM_SUM, &s->error);
}

/* Limit distances, report, and give nearest labels their values. */
static lob_status finish(lob_session *s, const settings *set, work *w)
{
    int64_t without;
    double farthest = limit_distances(w, set->max.value, &without);
    LOB_TRY(add_ranks(s, &farthest, &without));
    cJSON_AddStringToObject(s->results, "unit", set->voxels ? "voxels" : "mm");
    cJSON_AddNumberToObject(s->results, "farthest", farthest);
    cJSON_AddNumberToObject(s->results, "voxels_without", (double)without);
    if (without > 0)
        lob_session_note(s, "%s: voxels with nothing to measure to, which become infinite: %lld",
                         set->distance, (long long)without);
    if (set->feature && lob_labels_restore(&w->feature, &w->labelled) != LOB_OK)
        return lob_session_no_memory(s, set->feature);
    return LOB_OK;
}

/* ---- several tasks ---- */

static lob_status measure_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    lob_slabs *const slabs = &w->slabs;
    const settings *const set = &w->set;
    const lob_volume *const image = &slab->image;
    LOB_TRY(lob_slab_copy(s, &w->labels, &slabs->volume, image->data, image->dims, set->labels));
    LOB_TRY(lob_slab_labels(s, &w->labels, &w->labelled, set->labels));
    const int64_t before = lob_slabs_sent(s);
    LOB_TRY(measure(s, set, w));
    LOB_TRY(lob_slabs_report_sent(s, before));
    LOB_TRY(finish(s, set, w));
    if (set->feature) LOB_TRY(lob_label_names_copy(&w->feature.names, &slabs->volume.names));
    LOB_TRY(lob_slabs_write(s, slabs, slab, &w->feature, set->feature, true));
    return lob_slabs_write(s, slabs, slab, &w->distance, set->distance, false);
}

enum { DISTANCE = 4 };

/* Distances, and twice what voxels hold while columns are handed over; labels likewise. */
static int64_t voxel_bytes(const settings *set, int64_t label)
{
    const bool tagged = set->feature || set->is_signed || set->to == TO_OTHER;
    return 3 * DISTANCE + (1 + tagged) * label + (set->feature ? label : 0);
}

static lob_status by_slabs(lob_session *s, work *w)
{
    const settings *const set = &w->set;
    lob_slabs *const slabs = &w->slabs;
    LOB_TRY(lob_slabs_open(s, slabs));
    LOB_TRY(check_labels(s, set, &slabs->volume));
    const int64_t label = (int64_t)lob_type_of(slabs->volume.type)->bytes;
    const bool other = set->is_signed || set->to == TO_OTHER;
    const int64_t runs = (set->feature != NULL) + (other || !set->feature);
    slabs->moved_bytes = runs * 2 * DISTANCE + (set->feature ? 2 * label : 0) + (other ? label : 0);
    LOB_TRY(lob_slabs_cut(s, slabs, 0, 1, voxel_bytes(set, label),
                          DISTANCE + (set->feature ? label : 0)));
    return set->plan > 0 ? LOB_OK : lob_slabs_each(s, slabs, measure_slab, w);
}

/* ---- the command ---- */

static lob_status in_memory(lob_session *s, const settings *set, work *w)
{
    LOB_TRY(lob_session_read(s, &w->labels, set->labels, set->frame));
    LOB_TRY(check_labels(s, set, &w->labels));
    const double start_s = lob_clock_s();
    LOB_TRY(lob_grid_dense(s, &w->labels, &w->labelled, set->labels));
    lob_session_stage(s, "prepare", start_s);
    LOB_TRY(lob_session_device(s));
    LOB_TRY(measure(s, set, w));
    LOB_TRY(finish(s, set, w));
    LOB_TRY(lob_session_write(s, &w->feature, set->feature, true));
    return lob_session_write(s, &w->distance, set->distance, false);
}

static lob_status distance(lob_session *s, void *user)
{
    work *const w = user;
    const settings *const set = &w->set;
    lob_volume labels;
    if (s->ranks || set->plan > 0) {
        w->slabs = (lob_slabs){.path = set->labels,
                               .frame = set->frame,
                               .channel = -1,
                               .plan = set->plan,
                               .at_once = true};
        return lob_slabs_close(s, &w->slabs, by_slabs(s, w));
    }
    const lob_status st = in_memory(s, set, w);
    if (st == LOB_ENOMEM && lob_session_peek(s, &labels, set->labels))
        lob_slabs_suggest(s, set->labels, 0,
                          voxel_bytes(set, (int64_t)lob_type_of(labels.type)->bytes));
    return st;
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
        OPERAND_LABELS(&set->labels, "labels or a mask: what is not 0 is labelled"),
        OPT_IMAGE_OUTPUT(&set->distance, "float32 distances to write"),
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
        OPT_PLAN(&set->plan),
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
    .settings_bytes = sizeof(work),
    .options = options,
    .check = check,
    .work = distance,
    .release = release,
    .voxel_ns = 30,
    .shares = true,
    .only_prints = "plan",
};
