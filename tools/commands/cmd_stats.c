/* lobule stats: the table of a label volume's regions, with the intensities of an image. */
#include "kernels/regions/regions_sum.h"
#include "tools/commands/commands.h"
#include "tools/inout/slabs.h"
#include "tools/table/region_table.h"
#include "tools/table/table_file.h"
#include "volumes/label_check.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *image, *labels, *table, *name, *columns;
    int frame, channel, plan;
    lob_stated_grid stated;
} settings;

/* Everything on the grid, freed together. */
typedef struct {
    settings set; /* first */
    lob_volume image, labels;
    lob_label_set labelled;
    int64_t frames; /* of the image, that are measured */
    lob_region_table table;
} work;

/* What is stated of the image holds for labels that lie as its file says. */
static void state_grid(lob_volume *image, lob_volume *labels, const lob_stated_grid *stated)
{
    const lob_volume as_read = *image; /* its grid alone is looked at */
    lob_grid_state(image, stated);
    if (lob_same_grid(&as_read, "", labels, "", NULL) == LOB_OK) lob_grid_state(labels, stated);
}

static lob_status read_inputs(lob_session *s, const settings *set, work *w)
{
    const int64_t frame = set->frame < 0 ? LOB_FRAME_ALL : set->frame;
    LOB_TRY(lob_session_read(s, &w->image, set->image, frame));
    LOB_TRY(lob_grid_channel(s, &w->image, set->channel, set->image));
    w->frames = lob_frames_held(&w->image);
    if (w->image.channels > w->frames)
        return lob_fail_file(&s->error, LOB_EDATA, set->image,
                             "has %d channels; choose one with --channel N",
                             w->image.channels / (int)w->frames);
    /* labels of a part of the image are not filled up: a table of that would be of other labels */
    LOB_TRY(lob_session_read(s, &w->labels, set->labels, LOB_FRAME_NONE));
    state_grid(&w->image, &w->labels, &set->stated);
    LOB_TRY(lob_grid_match(s, &w->labels, set->labels, &w->image, set->image));
    LOB_TRY(lob_grid_one_channel(s, &w->labels, set->labels));
    LOB_TRY(lob_grid_dense(s, &w->labels, &w->labelled, set->labels));
    const lob_status st = lob_labels_check(&w->labels, &w->labelled, &w->image, &s->error);
    lob_error_in(&s->error, set->labels);
    return st;
}

static void report(lob_session *s, const settings *set, const work *w)
{
    int64_t voxels = 0, data = 0;
    for (int32_t i = 0; i < w->labelled.count; i++) voxels += w->table.regions[i].voxels;
    for (int64_t i = 0; i < w->frames * w->labelled.count; i++)
        data += w->table.intensities[i].data;
    cJSON_AddNumberToObject(s->results, "labels", w->labelled.count);
    cJSON_AddNumberToObject(s->results, "labelled_voxels", (double)voxels);
    voxels *= w->frames;
    cJSON_AddNumberToObject(s->results, "not_finite_voxels", (double)(voxels - data));
    if (w->labelled.count == 0)
        lob_session_note(s, "%s: has no labels: every voxel is 0", set->labels);
    if (voxels > data)
        lob_session_note(s,
                         "%s: NaN or infinite voxels with a label: %lld; min, mean, max and sd are "
                         "of the others",
                         set->image, (long long)(voxels - data));
}

static lob_status write_regions(lob_session *s, work *w)
{
    report(s, &w->set, w);
    return lob_region_table_write(s, &w->table, w->set.table);
}

/* ---- in slabs: sums of each slab's regions, added up by label ---- */

/* What is known of a label. */
typedef struct {
    int32_t label;
    lob_region region;
    lob_region_values values;
} sums;

/* In rising order of labels. */
typedef struct {
    sums *row;
    int64_t count;
} list;

typedef struct {
    work *common;
    lob_slabs *slabs;
    lob_extremes extremes; /* of the image */
    lob_fine_levels fine;
    list all;
} slab_sums;

/* ---- lists ---- */

/* Add the sums of `part`, which is freed, to those of `all`. */
static lob_status join(lob_session *s, list *all, list *part, const char *path)
{
    const int64_t before = all->count + part->count;
    sums *const row = lob_session_array(s, before, sizeof *row, path);
    int64_t a = 0, b = 0, n = 0;
    if (!row) return LOB_ENOMEM;
    while (a < all->count || b < part->count) {
        const bool first =
            b == part->count || (a < all->count && all->row[a].label <= part->row[b].label);
        const bool both = first && b < part->count && all->row[a].label == part->row[b].label;
        row[n] = first ? all->row[a++] : part->row[b++];
        if (both) {
            lob_region_add(&row[n].region, &part->row[b].region);
            lob_region_values_add(&row[n].values, &part->row[b++].values);
        }
        n++;
    }
    lob_session_give(s, 2 * before * (int64_t)sizeof *row - n * (int64_t)sizeof *row);
    free(all->row);
    free(part->row);
    sums *const fitted = realloc(row, ((size_t)n + 1) * sizeof *row);
    *all = (list){fitted ? fitted : row, n};
    *part = (list){NULL, 0};
    return LOB_OK;
}

/* ---- slabs ---- */

static lob_status see_extremes(lob_session *s, const lob_slab *slab, void *user)
{
    slab_sums *const w = user;
    const lob_extremes one = lob_extremes_of(&slab->image, s->context.threads);
    lob_extremes_widen(&w->extremes, &one, slab->image.type);
    return lob_session_cancelled(s);
}

/* Measure the regions of labels 1..count of a slab into a list. */
static lob_status measure(lob_session *s, const slab_sums *w, const lob_slab *slab,
                          const lob_volume *labels, const lob_label_set *set, list *out)
{
    const lob_regions_input in = {.labels = labels->data,
                                  .type = labels->type,
                                  .count = set->count,
                                  .dims = labels->dims,
                                  .image = &slab->image};
    const char *const path = w->slabs->labels_path;
    const size_t n = (size_t)set->count;
    lob_region *const regions = lob_session_array(s, set->count, sizeof *regions, path);
    lob_region_values *const values = lob_session_array(s, set->count, sizeof *values, path);
    sums *const row = lob_session_array(s, set->count, sizeof *row, path);
    lob_status st = regions && values && row ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) st = lob_regions_check(&in, &s->error);
    if (st == LOB_OK) st = lob_regions_sum(regions, values, &w->fine, &in, &s->context, &s->error);
    for (size_t i = 0; st == LOB_OK && i < n; i++) {
        lob_region *const r = &regions[i];
        r->first += slab->z * labels->dims.nx * labels->dims.ny;
        r->low[2] += (int32_t)slab->z;
        r->high[2] += (int32_t)slab->z;
        r->sum[2] += slab->z * r->voxels;
        row[i] = (sums){set->values[i], *r, values[i]};
    }
    lob_session_give(s, (int64_t)(n * (sizeof *regions + sizeof *values)));
    free(regions);
    free(values);
    *out = (list){row, set->count};
    return lob_session_name(s, st, w->slabs->path, path);
}

static lob_status measure_slab(lob_session *s, const lob_slab *slab, void *user)
{
    slab_sums *const w = user;
    const char *const path = w->slabs->labels_path;
    lob_volume labels = w->slabs->labels;
    const size_t bytes = (size_t)lob_slab_voxels(slab) * lob_type_of(labels.type)->bytes;
    lob_label_set set = {0};
    list part = {0};
    labels.dims.nz = slab->planes;
    labels.data = malloc(bytes);
    if (!labels.data) return lob_session_no_memory(s, path);
    memcpy(labels.data, slab->labels, bytes);
    lob_session_compute(s, "measuring");
    lob_status st = lob_labels_dense(&labels, &set, path, &s->error);
    if (st != LOB_OK && slab->z > 0)
        lob_error_add(&s->error, " (z is counted from plane %lld)", (long long)slab->z);
    if (st == LOB_OK) st = measure(s, w, slab, &labels, &set, &part);
    if (st == LOB_OK) st = join(s, &w->all, &part, path);
    free(part.row);
    free(labels.data);
    lob_label_set_free(&set);
    return lob_session_done(s, st, path, NULL);
}

/* ---- ranks ---- */

/* Rank 0 takes the list of another rank. */
static lob_status take_list(lob_session *s, slab_sums *w, int from)
{
    const int me = lob_team_rank(s->team);
    list part = {0};
    int64_t count = me == from ? w->all.count : 0;
    LOB_TRY(lob_team_reduce(s->team, &count, 1, LOB_TEAM_MAX, &s->error));
    const int64_t bytes = count * (int64_t)sizeof *part.row;
    if (me == 0) {
        part = (list){lob_session_array(s, count, sizeof *part.row, w->slabs->labels_path), count};
        if (!part.row) return LOB_ENOMEM;
    }
    const lob_letter letter =
        me == 0 ? (lob_letter){.with = from, .receive = part.row, .receive_bytes = bytes}
                : (lob_letter){.send = w->all.row, .send_bytes = bytes};
    lob_status st = lob_team_send(s->team, &letter, me == 0 || me == from, &s->error);
    if (st == LOB_OK && me == 0) st = join(s, &w->all, &part, w->slabs->labels_path);
    free(part.row);
    return st;
}

/* ---- the table ---- */

/* The list as the arrays of a table. */
static lob_status fill_table(lob_session *s, slab_sums *w)
{
    work *const common = w->common;
    lob_region_table *const t = &common->table;
    const char *const path = w->slabs->labels_path;
    const int64_t n = w->all.count;
    int32_t *const labels = lob_session_array(s, n, sizeof *labels, path);
    common->labelled = (lob_label_set){.count = (int32_t)n, .values = labels};
    t->regions = lob_session_array(s, n, sizeof *t->regions, path);
    t->intensities = lob_session_array(s, n, sizeof *t->intensities, path);
    t->fine = lob_session_array(s, 1, sizeof *t->fine, path);
    if (!labels || !t->regions || !t->intensities || !t->fine) return LOB_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        labels[i] = w->all.row[i].label;
        t->regions[i] = w->all.row[i].region;
        t->intensities[i] = w->all.row[i].values;
    }
    *t->fine = w->fine;
    t->count = n;
    t->labels = labels;
    return lob_session_name(s, lob_regions_check_data(t->intensities, n, &s->error), path, NULL);
}

static lob_status write_table(lob_session *s, slab_sums *w)
{
    work *const common = w->common;
    const settings *const set = &common->set;
    lob_volume image = w->slabs->volume, labels = w->slabs->labels;
    image.header = labels.header = (lob_header){.bytes = NULL}; /* they stay the inputs' */
    labels.data = NULL;
    state_grid(&image, &labels, &set->stated);
    common->frames = 1;
    common->table = (lob_region_table){.grid = &labels,
                                       .image = &image,
                                       .scan = set->name,
                                       .columns = set->columns,
                                       .named = true};
    LOB_TRY(fill_table(s, w));
    return write_regions(s, common);
}

static lob_status make(lob_session *s, slab_sums *w)
{
    enum { LABELS = 8 };
    LOB_TRY(lob_slabs_open(s, w->slabs));
    LOB_TRY(lob_slabs_cut(s, w->slabs, 0, 1, LABELS, 0));
    if (w->slabs->plan > 0) return LOB_OK;
    LOB_TRY(lob_slabs_each(s, w->slabs, see_extremes, w));
    const lob_type type = w->slabs->volume.type;
    LOB_TRY(lob_extremes_of_team(&w->extremes, s->team, type, &s->error));
    w->fine = lob_fine_levels_of(&w->extremes, type);
    LOB_TRY(lob_slabs_each(s, w->slabs, measure_slab, w));
    for (int r = 1; r < lob_team_size(s->team); r++) LOB_TRY(take_list(s, w, r));
    return lob_team_rank(s->team) == 0 ? write_table(s, w) : LOB_OK;
}

static lob_status measure_by_slabs(lob_session *s, work *common, lob_slabs *slabs)
{
    slab_sums w = {.common = common, .slabs = slabs};
    const lob_status st = make(s, &w);
    free(w.all.row);
    return st;
}

/* ---- the command ---- */

/* Does a column of the table need the voxels of all labels? */
static bool needs_voxels(const settings *set)
{
    const lob_region_column *columns[LOB_REGION_MAX_COLUMNS];
    const int count = lob_region_columns_of(columns, set->columns, false);
    int needs = 0;
    for (int c = 0; c < count; c++) needs |= columns[c]->needs;
    return needs != 0;
}

static lob_status check(lob_session *s, void *user)
{
    const settings *const set = user;
    LOB_TRY(lob_table_check(s, set->table, set->name));
    LOB_TRY(lob_region_columns_check(s, set->columns));
    if ((lob_team_size(s->ranks) > 1 || set->plan > 0) && needs_voxels(set))
        return lob_fail(&s->error, LOB_EARG,
                        "--columns %s: shapes and percentiles need the whole volume: start one "
                        "task",
                        set->columns);
    return LOB_OK;
}

static lob_status stats(lob_session *s, void *user)
{
    work *const w = user;
    const settings *const set = &w->set;
    lob_slabs slabs = {.path = set->image,
                       .labels_path = set->labels,
                       .frame = set->frame,
                       .channel = set->channel,
                       .plan = set->plan};
    enum { LABELS = 8 }; /* as they are stored, and numbered without gaps */
    if (!needs_voxels(set) && lob_slabs_serve(s, &slabs, LABELS)) {
        LOB_TRY(lob_session_device(s));
        const lob_status st = measure_by_slabs(s, w, &slabs);
        lob_slabs_close(s, &slabs);
        return st;
    }
    LOB_TRY(read_inputs(s, set, w));
    LOB_TRY(lob_session_device(s));
    w->table = (lob_region_table){
        .grid = &w->labels,
        .image = &w->image,
        .count = w->labelled.count,
        .frames = w->frames > 1 ? w->frames : 0,
        .scan = set->name,
        .columns = set->columns,
        .labels = w->labelled.values,
        .named = true,
    };
    LOB_TRY(lob_region_table_measure(s, &w->table, set->image, set->labels));
    return write_regions(s, w);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->labels);
    lob_label_set_free(&w->labelled);
    lob_region_table_free(&w->table);
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    *set = (settings){.table = "-", .frame = -1, .channel = -1, .stated = LOB_NOT_STATED};
    const lob_option rows[] = {
        OPERAND_IMAGE(&set->image, "scan"),
        OPERAND_INPUT("LABELS", &set->labels, LOB_FILE_LABELS,
                      "labels on the image's grid; 0 is no label", .required = true),
        OPT_OUTPUT("table", &set->table, LOB_FILE_TABLE,
                   "where the table goes: FILE.tsv, .csv or .json, or - for standard output"),
        OPT_SCAN_NAME(&set->name),
        OPT_REGION_COLUMNS(&set->columns),
        OPT_INT("frame", &set->frame, "N", 0, INT32_MAX,
                "time frame of the image, from 0; left out: all, a row for each"),
        OPT_CHANNEL(&set->channel),
        OPT_SPACING(&set->stated.spacing),
        OPT_ORIGIN(&set->stated.origin),
        OPT_PLAN(&set->plan),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_stats = {
    .name = "stats",
    .summary = "measure the regions of labels, with the intensities of an image",
    .description =
        "Prints or writes a table with one row for each label, 0 left out: label; name, where "
        "labels have names; of a time series, frame; voxels; "
        "volume_mm3 and volume_ml; the bounding box bbox_x_min to bbox_z_max in voxels from 0, "
        "both ends inside; "
        "the centroid in voxels (centroid_x, _y, _z) and in mm of the image's world "
        "(centroid_x_mm, ..., RAS+), with micrometres volume_um3, volume_mm3 and centroid_x_um, "
        "...; min, mean, max and standard deviation (sd, divided by the "
        "number of voxels) of the image over the label's finite voxels; of real values, mean and "
        "sd are good to a 2^32nd of the image's range. As TSV the first row holds these names and "
        "n/a stands for what is missing, as CSV nothing does; as JSON it is an array of objects, "
        "and null. TSV and CSV have up to 7 significant digits, JSON has all.\n"
        "--columns chooses others, in its order: words for columns, or basic (those above), shape "
        "(all that come of the labels alone) and all. "
        "diameter: equivalent_diameter_mm, of the ball of the same volume; extent: voxels over "
        "those of the bounding box; axes, directions: lengths of the ellipsoid of the same second "
        "moments and its axes in the world, RAS+; elongation, flatness: first over second axis, "
        "second over third; surface: surface_mm2 by Crofton's formula; sphericity: the ball's "
        "surface over it; euler: euler_number of voxels joined at corners; feret: "
        "feret_diameter_mm, the largest distance between two faces; hull, solidity: "
        "hull_volume_mm3 of the voxels as boxes, and volume over it; slices: slices across z that "
        "hold the region, their mean and largest area, and the largest one's z; neighbours: labels "
        "that share a face; percentiles: p5, p25, median, p75, p95. In a volume with a side of one "
        "voxel areas take the place of volumes: perimeter_mm, circularity, hull_area_mm2. "
        "All of these are counted on the CPU.\n"
        "Sums are exact, so the table is the same on every machine and device.",
    .examples = "lobule stats scan.nii.gz labels.nii.gz\n"
                "lobule stats scan.nii.gz labels.nii.gz --table regions.json\n"
                "lobule stats scan.nii.gz labels.nii.gz --columns volume,sphericity,median",
    .result = "labels",
    .result_text = "labels measured",
    .settings_bytes = sizeof(work),
    .options = options,
    .check = check,
    .work = stats,
    .release = release,
    .voxel_ns = 30,
    .shares = true,
    .only_prints = "plan",
};
