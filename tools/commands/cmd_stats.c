/* lobule stats: the table of a label volume's regions, with the intensities of an image. */
#include "kernels/regions/regions_sum.h"
#include "tools/commands/commands.h"
#include "tools/inout/slabs.h"
#include "tools/table/region_list.h"
#include "tools/table/table_file.h"
#include "volumes/free.h"
#include "volumes/label_check.h"
#include "volumes/reorient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *table_path, *name, *columns;
    lob_stated_grid stated;

    lob_volume image, labels;
    lob_label_set labelled;
    int64_t frames; /* of the image, that are measured */
    lob_region_table table;

    lob_slabs slabs;       /* image and labels as asked for; taken in slabs, with */
    lob_extremes extremes; /* of the image, */
    lob_fine_levels fine;
    lob_region_list all; /* and sums of each slab's regions, added up by label; */
    lob_label_neighbours of_labels, of_image; /* where many labels are, both are looked at */
} work;

/* What is stated of the image holds for labels that lie as, or in, what its file says; others may
 * know better. */
static lob_status match_labels(lob_session *s, work *w)
{
    const char *const path = w->slabs.labels_path;
    lob_turn turn;
    const bool as_read = lob_grid_alike(&w->labels, &w->image) ||
                         lob_turn_onto(&turn, &w->labels, &w->image) ||
                         lob_grid_is_part(&w->labels, &w->image);
    if (!as_read) lob_grid_state(&w->image, &w->stated);
    LOB_TRY(lob_grid_match(s, &w->labels, path, &w->image, w->slabs.path, LOB_PART_INSIDE));
    if (!as_read) return LOB_OK;
    lob_grid_state(&w->image, &w->stated);
    lob_grid_state(&w->labels, &w->stated);
    return LOB_OK;
}

static lob_status read_inputs(lob_session *s, work *w)
{
    const int64_t frame = w->slabs.frame < 0 ? LOB_FRAME_ALL : w->slabs.frame;
    LOB_TRY(lob_session_read(s, &w->image, w->slabs.path, frame));
    LOB_TRY(lob_grid_channel(s, &w->image, w->slabs.channel, w->slabs.path));
    w->frames = lob_frames_held(&w->image);
    if (w->image.channels > w->frames)
        return lob_fail_file(&s->error, LOB_EDATA, w->slabs.path,
                             "has %d channels; choose one with --channel N",
                             w->image.channels / (int)w->frames);
    LOB_TRY(lob_session_read(s, &w->labels, w->slabs.labels_path, LOB_FRAME_NONE));
    LOB_TRY(match_labels(s, w));
    LOB_TRY(lob_grid_one_channel(s, &w->labels, w->slabs.labels_path));
    LOB_TRY(lob_grid_dense(s, &w->labels, &w->labelled, w->slabs.labels_path));
    const lob_status st = lob_labels_check(&w->labels, &w->labelled, &w->image, &s->error);
    lob_error_in(&s->error, w->slabs.labels_path);
    return st;
}

static void report(lob_session *s, const work *w)
{
    int64_t voxels = 0;
    for (int32_t i = 0; i < w->labelled.count; i++) voxels += w->table.regions[i].voxels;
    LOB_JSON_NUMBERS(s->results, {"labels", w->labelled.count}, {"labelled_voxels", voxels});
    const int64_t not_finite = lob_region_table_not_finite(s, &w->table, w->slabs.path);
    cJSON_AddNumberToObject(s->results, "not_finite_voxels", (double)not_finite);
    if (w->labelled.count == 0)
        lob_session_note(s, "%s: has no labels: every voxel is 0", w->slabs.labels_path);
}

static lob_status write_table(lob_session *s, work *w)
{
    report(s, w);
    return lob_region_table_write(s, &w->table, w->table_path);
}

/* ---- in slabs ---- */

enum { LABELS = 8 }; /* bytes: as they are stored, and numbered without gaps */

static lob_status see_extremes(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const lob_volume image = lob_slab_own(slab, &slab->image);
    const lob_extremes one = lob_extremes_of(&image, s->context.threads);
    lob_extremes_widen(&w->extremes, &one, image.type);
    return lob_session_cancelled(s);
}

/* Count what tells labels from a scan. */
static lob_status look_at_slab(work *w, const lob_volume *labels, const lob_label_set *set,
                               const lob_volume *image)
{
    lob_label_neighbours of_labels, of_image = {0};
    LOB_TRY(lob_labels_look(&of_labels, labels, set));
    if (of_labels.pairs == 0) return LOB_OK; /* few labels: it was not looked at */
    LOB_TRY(lob_labels_look(&of_image, image, NULL));
    w->of_labels.labelled += of_labels.labelled;
    w->of_labels.pairs += of_labels.pairs;
    w->of_labels.alike += of_labels.alike;
    w->of_image.pairs += of_image.pairs;
    w->of_image.alike += of_image.alike;
    return LOB_OK;
}

/* Its planes, under the one before them where that was read for the shapes. */
static lob_status measure_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const char *const path = w->slabs.labels_path;
    const int64_t before = slab->z > slab->from ? 1 : 0, z = slab->z - before;
    const lob_volume image = lob_slab_own(slab, &slab->image);
    lob_volume labels = w->slabs.labels;
    labels.dims.nz = slab->planes + before;
    const int64_t bytes = lob_type_of(labels.type)->bytes;
    const int64_t skipped = (z - slab->from) * labels.dims.nx * labels.dims.ny * bytes;
    lob_label_set set = {0};
    labels.data = malloc((size_t)(lob_voxels(&labels) * bytes));
    if (!labels.data) return lob_session_no_memory(s, path);
    memcpy(labels.data, (const char *)slab->labels + skipped,
           (size_t)(lob_voxels(&labels) * bytes));
    lob_session_compute(s, "measuring");
    lob_status st = lob_labels_dense(&labels, &set, path, &s->error);
    if (st != LOB_OK && z > 0)
        lob_error_add(&s->error, " (z is counted from plane %lld)", (long long)z);
    if (st == LOB_OK && look_at_slab(w, &labels, &set, &image) != LOB_OK)
        st = lob_session_no_memory(s, path);
    if (st == LOB_OK)
        st = lob_region_list_add(s, &w->all, &labels, &set, &image, &w->fine, slab->z,
                                 w->slabs.path, path);
    free(labels.data);
    lob_label_set_free(&set);
    return lob_session_done(s, st, path, NULL);
}

/* What the rows of the table are called, and show. */
static lob_status fill_table(lob_session *s, work *w)
{
    const char *const path = w->slabs.labels_path;
    const int64_t n = w->all.count;
    int32_t *const labels = lob_session_array(s, n, sizeof *labels, path);
    w->labelled = (lob_label_set){.count = (int32_t)n, .values = labels};
    if (!labels) return LOB_ENOMEM;
    for (int64_t i = 0; i < n; i++) labels[i] = lob_region_list_at(&w->all, i)->label;
    w->table.labels = labels;
    return lob_region_list_fill(s, &w->table, &w->all, &w->fine, path);
}

static lob_status write_sums(lob_session *s, work *w)
{
    lob_volume image = w->slabs.volume, labels = w->slabs.labels;
    image.header = labels.header = (lob_header){.bytes = NULL}; /* they stay the inputs' */
    labels.data = NULL;
    lob_grid_state(&image, &w->stated);
    lob_grid_state(&labels, &w->stated);
    w->frames = 1;
    w->table = (lob_region_table){
        .grid = &labels, .image = &image, .scan = w->name, .columns = w->columns, .named = true};
    LOB_TRY(fill_table(s, w));
    return write_table(s, w);
}

/* Refuse labels and image in the wrong order, from what all ranks have counted. */
static lob_status judge_order(lob_session *s, work *w)
{
    lob_label_neighbours *const l = &w->of_labels, *const i = &w->of_image;
    int64_t *const counts[] = {&l->labelled, &l->pairs, &l->alike, &i->pairs, &i->alike};
    enum { COUNTS = sizeof counts / sizeof *counts };
    int64_t sums[COUNTS];
    for (int k = 0; k < COUNTS; k++) sums[k] = *counts[k];
    LOB_TRY(lob_team_reduce(s->team, sums, COUNTS, LOB_TEAM_SUM, &s->error));
    for (int k = 0; k < COUNTS; k++) *counts[k] = sums[k];
    if (lob_team_rank(s->team) != 0) return LOB_OK; /* the first knows all labels */
    const lob_status st = lob_labels_judge(l, i, (int32_t)w->all.count, &s->error);
    return lob_session_name(s, st, w->slabs.labels_path, NULL);
}

static lob_status by_slabs(lob_session *s, work *w)
{
    LOB_TRY(lob_slabs_open(s, &w->slabs));
    w->all.needs = lob_region_columns_needs(w->columns);
    LOB_TRY(lob_slabs_cut(s, &w->slabs, w->all.needs ? 1 : 0, 1, LABELS, 0));
    if (w->slabs.plan > 0) return LOB_OK;
    LOB_TRY(lob_slabs_each(s, &w->slabs, see_extremes, w));
    const lob_type type = w->slabs.volume.type;
    LOB_TRY(lob_extremes_of_team(&w->extremes, s->team, type, &s->error));
    w->fine = lob_fine_levels_of(&w->extremes, type);
    LOB_TRY(lob_slabs_each(s, &w->slabs, measure_slab, w));
    LOB_TRY(lob_region_list_gather(s, &w->all, w->slabs.labels_path));
    LOB_TRY(judge_order(s, w));
    return lob_team_rank(s->team) == 0 ? write_sums(s, w) : LOB_OK;
}

/* ---- the command ---- */

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    LOB_TRY(lob_table_check(s, w->table_path, w->name));
    LOB_TRY(lob_region_columns_check(s, w->columns));
    return lob_team_size(s->ranks) > 1 || w->slabs.plan > 0
               ? lob_region_columns_check_slabs(s, w->columns)
               : LOB_OK;
}

static lob_status stats(lob_session *s, void *user)
{
    work *const w = user;
    s->spaced = !isnan(w->stated.spacing[0]);
    const bool sums = !(lob_region_columns_needs(w->columns) & LOB_COLUMN_PERCENTILES);
    if (sums && lob_slabs_serve(s, &w->slabs, LABELS)) {
        LOB_TRY(lob_session_device(s));
        return lob_slabs_close(s, &w->slabs, by_slabs(s, w));
    }
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    w->table = (lob_region_table){
        .grid = &w->labels,
        .image = &w->image,
        .count = w->labelled.count,
        .frames = w->frames > 1 ? w->frames : 0,
        .scan = w->name,
        .columns = w->columns,
        .labels = w->labelled.values,
        .named = true,
    };
    LOB_TRY(lob_region_table_measure(s, &w->table, w->slabs.path, w->slabs.labels_path));
    return write_table(s, w);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->labels);
    lob_label_set_free(&w->labelled);
    lob_region_table_free(&w->table);
    LOB_FREE(w->all.rows, w->all.corners, w->all.pairs);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .table_path = "-", .slabs = {.frame = -1, .channel = -1},
             .stated = LOB_NOT_STATED
    };
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->slabs.path, "scan"),
        OPERAND_LABELS(&w->slabs.labels_path,
                       "labels on the image's grid, or a part of it; 0 is no label"),
        OPT_TABLE(&w->table_path, "where the table goes"),
        OPT_SCAN_NAME(&w->name),
        OPT_REGION_COLUMNS(&w->columns),
        OPT_INT("frame", &w->slabs.frame, "N", 0, INT32_MAX,
                "time frame of the image, from 0; left out: all, a row for each"),
        OPT_CHANNEL(&w->slabs.channel),
        OPT_SPACING(&w->stated.spacing),
        OPT_ORIGIN(&w->stated.origin),
        OPT_PLAN(&w->slabs.plan),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_stats = {
    .name = "stats",
    .summary = "measure the regions of labels, with the intensities of an image",
    .description =
        "Prints or writes a table with one row for each label, 0 left out: label; name, where "
        "labels have names; of a time series, frame; voxels; " LOB_REGION_TOLD
        "min, mean, max and standard deviation (sd, divided by the number of voxels) of the image "
        "over the label's finite voxels; " LOB_TABLE_TOLD
        "--columns chooses others, in its order: words for columns, or basic (those above), shape "
        "(all that come of the labels alone) and all. diameter: equivalent_diameter_mm, of the "
        "ball of the same volume; extent: voxels over those of the bounding box; axes, directions: "
        "lengths of the ellipsoid of the same second moments and its axes in the world, RAS+; "
        "elongation, flatness: first over second axis, second over third; surface: surface_mm2 by "
        "Crofton's formula; sphericity: the ball's surface over it; euler: euler_number of voxels "
        "joined at corners; feret: feret_diameter_mm, the largest distance between two faces; "
        "hull, solidity: hull_volume_mm3 of the voxels as boxes, and volume over it; slices: "
        "slices across z that hold the region, their mean and largest area, and the largest one's "
        "z; neighbours: labels that share a face; percentiles: p5, p25, median, p75, p95. In a "
        "volume with a side of one voxel areas take the place of volumes: perimeter_mm, "
        "circularity, hull_area_mm2. All of these are counted on the CPU.\n"
        "Sums are exact, so the table is the same on every machine and device.",
    .examples = "lobule stats scan.nii.gz labels.nii.gz\n"
                "lobule stats scan.nii.gz labels.nii.gz --table regions.json\n"
                "lobule stats scan.nii.gz labels.nii.gz --columns volume,sphericity,median",
    .result = "labels",
    .result_text = "labels measured",
    LOB_COMMAND_PARTS(work, options, check, stats, release),
    .voxel_ns = 30,
    .shares = true,
    .only_prints = "plan",
};
