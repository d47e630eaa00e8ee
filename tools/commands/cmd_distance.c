/* lobule distance: how far every voxel is from the labelled ones. */
#include "kernels/distance/distance_slabs.h"
#include "tools/commands/commands.h"
#include "tools/inout/slabs.h"
#include "volumes/labels.h"

#include <math.h>
#include <string.h>

typedef struct {
    const char *distance_path, *feature_path;
    int label, slices, to;
    bool is_signed, voxels;
    lob_size max; /* infinite: no limit */

    lob_volume labels, distance, feature;
    lob_label_set labelled;
    lob_slabs slabs; /* the labels as asked for, cut for several tasks */
} work;

enum { TO_SET, TO_OTHER }; /* in the order of the option's words */

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    const bool limited = isfinite(w->max.value);
    const bool many = lob_team_size(s->ranks) > 1 || w->slabs.plan > 0;
    const lob_rule rules[] = {
        {w->to == TO_OTHER && w->is_signed,      "--to other has no inside: leave --signed out"},
        {w->to == TO_OTHER && w->feature_path,
         "--to other has no nearest label: leave --feature out"                                },
        {limited && w->max.voxels && !w->voxels,
         "--max is in voxels, distances are in mm: give --max in mm, or add --voxels"          },
        {limited && !w->max.voxels && w->voxels,
         "--max is in mm, distances are in voxels: give --max as 5vox, or leave --voxels out"  },
    };
    LOB_TRY(LOB_RULES(s, rules));
    return many ? lob_session_cpu_alone(s, "several tasks measure") : LOB_OK;
}

/* The dense label that stands for --label; 0: all count. */
static lob_status find_label(lob_session *s, const work *w, uint32_t *only)
{
    *only = 0;
    if (w->labelled.count == 0)
        return lob_fail_file(&s->error, LOB_EDATA, w->slabs.path,
                             "no voxel is labelled, so there is nothing to measure a distance to");
    if (w->label < 0) return LOB_OK;
    *only = (uint32_t)lob_label_set_find(&w->labelled, w->label);
    if (*only == 0)
        return lob_fail_file(&s->error, LOB_EDATA, w->slabs.path, "no voxel has label %d",
                             w->label);
    return LOB_OK;
}

/* Can they be measured, and the outputs hold what comes of them? */
static lob_status check_labels(lob_session *s, const work *w, const lob_volume *labels)
{
    LOB_TRY(lob_grid_one_channel(s, labels, w->slabs.path));
    LOB_TRY(lob_session_check(s, labels, LOB_F32, 1, w->distance_path));
    return lob_session_check(s, labels, LOB_I32, 1, w->feature_path);
}

static lob_distance_input input_of(const work *w, const lob_volume *labels)
{
    lob_distance_input in = {.labels = labels->data, .type = labels->type, .dims = labels->dims};
    const int across = lob_grid_slice_axis(w->slices, &labels->geometry);
    for (int a = 0; a < 3; a++) {
        in.spacing[a] = w->voxels ? 1.0 : labels->geometry.spacing_mm[a];
        if (a == across) in.spacing[a] = INFINITY;
    }
    return in;
}

static lob_distance_options options_of(const work *w)
{
    lob_distance_options options = lob_distance_defaults();
    options.max = w->max.value;
    options.kind = w->is_signed        ? LOB_DISTANCE_SIGNED
                   : w->to == TO_OTHER ? LOB_DISTANCE_TO_OTHER
                                       : LOB_DISTANCE_TO_SET;
    return options;
}

static lob_status measure(lob_session *s, work *w)
{
    lob_distance_input in = input_of(w, &w->labels);
    const lob_distance_options options = options_of(w);
    LOB_TRY(find_label(s, w, &in.only));
    LOB_TRY(lob_grid_make(s, &w->distance, &w->labels, LOB_F32, 1, w->slabs.path));
    if (w->feature_path)
        LOB_TRY(lob_grid_make(s, &w->feature, &w->labels, w->labels.type, 1, w->slabs.path));
    const lob_distance_output out = {w->distance.data, w->feature.data};
    lob_session_compute(s, "measuring");
    const int64_t nz = w->slabs.volume.dims.nz;
    const lob_status st =
        s->team ? lob_distance_slabs(&out, &in, &options, nz, s->team, &s->context, &s->error)
                : s->backend->distance(&out, &in, &options, &s->context, &s->error);
    return lob_session_done(s, st, w->slabs.path, NULL);
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
static lob_status finish(lob_session *s, work *w)
{
    int64_t without;
    double farthest = limit_distances(w, w->max.value, &without);
    LOB_TRY(add_ranks(s, &farthest, &without));
    cJSON_AddStringToObject(s->results, "unit", w->voxels ? "voxels" : "mm");
    LOB_JSON_NUMBERS(s->results, {"farthest", farthest}, {"voxels_without", without});
    if (without > 0)
        lob_session_note(s, "%s: voxels with nothing to measure to, which become infinite: %lld",
                         w->distance_path, (long long)without);
    if (w->feature_path && lob_labels_restore(&w->feature, &w->labelled) != LOB_OK)
        return lob_session_no_memory(s, w->feature_path);
    return LOB_OK;
}

/* ---- several tasks ---- */

static lob_status measure_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    lob_slabs *const slabs = &w->slabs;
    const lob_volume *const image = &slab->image;
    LOB_TRY(lob_slab_copy(s, &w->labels, &slabs->volume, image->data, image->dims, w->slabs.path));
    LOB_TRY(lob_slab_labels(s, &w->labels, &w->labelled, w->slabs.path));
    const int64_t before = lob_slabs_sent(s);
    LOB_TRY(measure(s, w));
    LOB_TRY(lob_slabs_report_sent(s, before));
    LOB_TRY(finish(s, w));
    if (w->feature_path) LOB_TRY(lob_label_names_copy(&w->feature.names, &slabs->volume.names));
    LOB_TRY(lob_slabs_write(s, slabs, slab, &w->feature, w->feature_path, true));
    return lob_slabs_write(s, slabs, slab, &w->distance, w->distance_path, false);
}

enum { DISTANCE = 4 };

/* Distances, and twice what voxels hold while columns are handed over; labels likewise. */
static int64_t voxel_bytes(const work *w, int64_t label)
{
    const bool tagged = w->feature_path || w->is_signed || w->to == TO_OTHER;
    return 3 * DISTANCE + (1 + tagged) * label + (w->feature_path ? label : 0);
}

static lob_status by_slabs(lob_session *s, work *w)
{
    lob_slabs *const slabs = &w->slabs;
    LOB_TRY(lob_slabs_open(s, slabs));
    LOB_TRY(check_labels(s, w, &slabs->volume));
    const int64_t label = (int64_t)lob_type_of(slabs->volume.type)->bytes;
    const bool other = w->is_signed || w->to == TO_OTHER;
    const int64_t runs = (w->feature_path != NULL) + (other || !w->feature_path);
    slabs->moved_bytes =
        runs * 2 * DISTANCE + (w->feature_path ? 2 * label : 0) + (other ? label : 0);
    LOB_TRY(lob_slabs_cut(s, slabs, 0, 1, voxel_bytes(w, label),
                          DISTANCE + (w->feature_path ? label : 0)));
    return w->slabs.plan > 0 ? LOB_OK : lob_slabs_each(s, slabs, measure_slab, w);
}

/* ---- the command ---- */

static lob_status in_memory(lob_session *s, work *w)
{
    LOB_TRY(lob_session_read(s, &w->labels, w->slabs.path, w->slabs.frame));
    LOB_TRY(check_labels(s, w, &w->labels));
    const double start_s = lob_clock_s();
    LOB_TRY(lob_grid_dense(s, &w->labels, &w->labelled, w->slabs.path));
    lob_session_stage(s, "prepare", start_s);
    LOB_TRY(lob_session_device(s));
    LOB_TRY(measure(s, w));
    LOB_TRY(finish(s, w));
    LOB_TRY(lob_session_write(s, &w->feature, w->feature_path, true));
    return lob_session_write(s, &w->distance, w->distance_path, false);
}

static lob_status distance(lob_session *s, void *user)
{
    work *const w = user;
    lob_volume labels;
    if (s->ranks || w->slabs.plan > 0) return lob_slabs_close(s, &w->slabs, by_slabs(s, w));
    const lob_status st = in_memory(s, w);
    if (st == LOB_ENOMEM && lob_session_peek(s, &labels, w->slabs.path))
        lob_slabs_suggest(s, w->slabs.path, 0,
                          voxel_bytes(w, (int64_t)lob_type_of(labels.type)->bytes), 0);
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
    work *const w = user;
    *w = (work){
        .slabs = {.frame = -1,      .channel = -1, .at_once = true},
        .label = -1,
        .slices = -1,
        .max = {.value = INFINITY}
    };
    const lob_option rows[] = {
        OPERAND_LABELS(&w->slabs.path, "labels or a mask: what is not 0 is labelled"),
        OPT_IMAGE_OUTPUT(&w->distance_path, "float32 distances to write"),
        OPT_OUTPUT("feature", &w->feature_path, LOB_FILE_LABELS,
                   "also write the label of the labelled voxel that is nearest, of equally near "
                   "ones the smallest"),
        OPT_FLAG("signed", &w->is_signed,
                 "inside labels give the distance to the nearest voxel without a label, as a "
                 "negative number"),
        OPT_CHOICE("to", &w->to, "set|other",
                   "distance to the nearest labelled voxel, or to the nearest voxel whose label, "
                   "which may be 0, is another"),
        OPT_INT("label", &w->label, "N", 1, INT32_MAX,
                "this label alone counts, the others are as 0; left out: all"),
        OPT_LENGTH("max", &w->max, 0, 1e8,
                   "do not look farther than this: voxels beyond get this distance and no nearest "
                   "label"),
        OPT_FLAG("voxels", &w->voxels, "distances in voxels; left out: mm"),
        OPT_CHOICE("slices", &w->slices, LOB_GRID_SLICES,
                   "measure inside each slice alone; x, y, z are voxel axes"),
        OPT_FRAME(&w->slabs.frame, "labels"),
        OPT_PLAN(&w->slabs.plan),
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
    LOB_COMMAND_PARTS(work, options, check, distance, release),
    .voxel_ns = 30,
    .shares = true,
    .only_prints = "plan",
};
