/* lobule convert: the same volume in another format or voxel type. */
#include "io/formats.h"
#include "kernels/filters/pointwise_voxel.h"
#include "tools/commands/commands.h"
#include "tools/inout/slabs.h"
#include "tools/session/session.h"
#include "tools/table/label_names_option.h"
#include "volumes/labels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *path; /* of the image, for messages */
    lob_type type;
    bool lossy;            /* what the type cannot hold is rounded and clamped, not refused */
    int64_t lost, rounded; /* voxels that were changed so, and those that have fewer digits */
} type_change;

/* ---- another type ---- */

/*
 * Would the type change this value, which it holds as `kept`, by more than its own precision? Reals
 * are rounded to the type's digits, whole numbers must come out as they went in. A 64-bit integer
 * that a double has rounded (from_wide) is not known well enough to say so.
 */
static bool is_lost(double value, double kept, const lob_type_info *type, bool from_wide)
{
    if (from_wide && fabs(value) > 0x1p53) return true;
    /* The largest 64-bit integer is no double: type->highest is the next one, out of range. */
    if (type->is_integer && type->bytes == 8 && value >= type->highest) return true;
    if (kept == value || (isnan(kept) && isnan(value))) return false;
    if (type->is_integer) return true;
    return value == nearbyint(value) || !isfinite(kept);
}

/* Store a value as a type holds it: rounded, and in integers clamped. NaNs keep their bits. */
static void store(void *data, lob_type type, int64_t i, double value)
{
    if (type == LOB_F32)
        ((float *)data)[i] = (float)value;
    else if (type == LOB_F64)
        ((double *)data)[i] = value;
    else
        lob_filter_store(data, type, i, value);
}

/* Where a voxel is, for a message. */
static lob_status refuse(lob_session *s, const type_change *c, const lob_volume *v, int64_t z,
                         int64_t i, double value)
{
    const int64_t voxel = i % lob_voxels(v) + z * v->dims.nx * v->dims.ny;
    return lob_fail_file(
        &s->error, LOB_EDATA, c->path,
        "voxel (%lld, %lld, %lld) is %.10g, which %s cannot hold; choose a wider "
        "--type, or add --lossy to round and clamp",
        (long long)(voxel % v->dims.nx), (long long)(voxel / v->dims.nx % v->dims.ny),
        (long long)(voxel / v->dims.nx / v->dims.ny), value, lob_type_of(c->type)->name);
}

/*
 * Change voxels; their values (slope and inter applied) are kept.
 *
 *   out  out  as many voxels of the type
 *   z    in   the plane of the file where the volume begins
 *
 * Returns LOB_OK, or LOB_EDATA with the first voxel that the type cannot hold.
 */
static lob_status change_voxels(lob_session *s, type_change *c, const lob_volume *volume, int64_t z,
                                void *out)
{
    enum { BLOCK = 4096 };
    const int64_t n = lob_product(lob_voxels(volume), volume->channels, 1, 1);
    const bool scaled = lob_is_scaled(volume);
    const bool wide = volume->type == LOB_U64 || volume->type == LOB_I64;
    const lob_type_info *const type = lob_type_of(c->type);
    for (int64_t first = 0; first < n; first += BLOCK) {
        double values[BLOCK];
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        lob_values(values, volume->data, volume->type, first, count);
        for (int64_t i = 0; i < count; i++) {
            const double value = scaled ? volume->slope * values[i] + volume->inter : values[i];
            store(out, c->type, first + i, value);
            const double kept = lob_filter_load(out, c->type, first + i);
            const bool loses = is_lost(value, kept, type, wide);
            if (loses && !c->lossy) return refuse(s, c, volume, z, first + i, value);
            c->lost += loses;
            c->rounded += !type->is_integer && kept != value && !isnan(value);
        }
    }
    return LOB_OK;
}

/* Report what became of values that the type cannot hold as they are. */
static void report_change(lob_session *s, const type_change *c)
{
    const lob_type_info *const type = lob_type_of(c->type);
    if (c->lost > 0)
        lob_session_note(s, "%s: voxels rounded or clamped to fit %s: %lld", c->path, type->name,
                         (long long)c->lost);
    else if (c->rounded > 0)
        lob_session_note(s, "%s: voxels rounded to the digits of %s: %lld", c->path, type->name,
                         (long long)c->rounded);
    cJSON_AddNumberToObject(s->results, "changed_voxels", (double)c->lost);
    if (!type->is_integer)
        cJSON_AddNumberToObject(s->results, "rounded_voxels", (double)c->rounded);
}

/* ---- what is asked for ---- */

typedef struct {
    const char *out, *like, *names_in, *names_out;
    lob_stated_grid stated;
    int type; /* a lob_type, or -1 */
    bool labels, lossy, strip_extensions;
    int level;

    lob_volume volume, changed, scan;
    lob_label_set labelled;
    type_change change;
    lob_slabs slabs;
    void *data; /* of a slab in another type */
} work;

/* Does --type change the voxels as they are stored? */
static bool changes(const work *w, const lob_volume *volume)
{
    return w->type >= 0 && (volume->type != (lob_type)w->type || lob_is_scaled(volume));
}

/* Convert the volume to --type. */
static lob_status change_type(lob_session *s, work *w)
{
    lob_volume *const volume = &w->volume, *const out = &w->changed;
    LOB_TRY(lob_grid_make(s, out, volume, (lob_type)w->type, volume->channels, w->out));
    out->frames = volume->frames;
    out->frame = volume->frame;
    LOB_TRY(change_voxels(s, &w->change, volume, 0, out->data));
    report_change(s, &w->change);
    lob_grid_drop(s, volume);
    *volume = *out;
    *out = lob_volume_empty();
    return LOB_OK;
}

/* Check that the volume holds labels and give it the type that labels are written in. */
static lob_status as_labels(lob_session *s, work *w)
{
    LOB_TRY(lob_labels_dense(&w->volume, &w->labelled, w->slabs.path, &s->error));
    LOB_TRY(lob_labels_restore(&w->volume, &w->labelled));
    cJSON_AddNumberToObject(s->results, "labels", w->labelled.count);
    return LOB_OK;
}

static bool is_of_labels(const lob_session *s, const work *w)
{
    return w->labels || (lob_refers_to_scan(w->out) && !lob_session_is_stored(s, w->out));
}

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    const bool refers = lob_refers_to_scan(w->out) && !lob_session_is_stored(s, w->out);
    const bool labels = is_of_labels(s, w);
    const lob_rule rules[] = {
        {refers && !w->like,
         "a DICOM SEG refers to the images of a scan; name their folder with --like"                                                 },
        {w->type >= 0 && refers,                                       "a DICOM SEG holds labels as bits; leave --type out"          },
        {w->like && !labels,
         "--like brings labels onto a scan's grid; add --labels, or use lobule resample"                                             },
        {w->labels && w->type >= 0,                                    "--labels chooses the type of labels itself; leave --type out"},
        {w->lossy && w->type < 0,                                      "--lossy is about --type, which is not given"                 },
        {labels && (lob_team_size(s->ranks) > 1 || w->slabs.plan > 0),
         "labels are looked at as a whole: start one task"                                                                           },
        {!labels && (w->names_in || w->names_out),
         "--label-table and --write-label-table are about labels; add --labels"                                                      },
    };
    LOB_TRY(LOB_RULES(s, rules));
    LOB_TRY(lob_label_table_check(s, w->names_in));
    return lob_label_table_check(s, w->names_out);
}

/* Can the output's format hold what is going to be written? */
static lob_status check_made(lob_session *s, const work *w)
{
    lob_volume made = w->volume; /* its kind alone is looked at */
    if (w->labels || w->type >= 0) {
        made.type = w->labels ? LOB_I32 : (lob_type)w->type;
        made.slope = 1.0;
        made.inter = 0.0;
    }
    return lob_session_check_volume(s, &made, w->out);
}

/* ---- in slabs ---- */

static lob_status convert_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    if (!w->data) return lob_slabs_put(s, &w->slabs, slab, slab->image.data);
    lob_session_compute(s, "converting");
    LOB_TRY(change_voxels(s, &w->change, &slab->image, slab->z, w->data));
    lob_session_computed(s);
    return lob_slabs_put(s, &w->slabs, slab, w->data);
}

static lob_status convert_slabs(lob_session *s, work *w, lob_write_options options)
{
    LOB_TRY(lob_slabs_open(s, &w->slabs));
    const bool change = changes(w, &w->slabs.volume);
    const lob_type type = change ? (lob_type)w->type : w->slabs.volume.type;
    const size_t each = lob_type_of(type)->bytes;
    lob_volume made = change ? lob_grid_header(&w->slabs.volume, type) : w->slabs.volume;
    if (lob_grid_is_stated(&w->stated)) {
        made.header = (lob_header){.bytes = NULL}; /* it stays the input's */
        lob_grid_state(&made, &w->stated);
    }
    LOB_TRY(lob_session_check_volume(s, &made, w->out));
    const int64_t bytes = change ? (int64_t)each : 0;
    LOB_TRY(lob_slabs_cut(s, &w->slabs, 0, 1, bytes, (int64_t)each));
    if (w->slabs.plan > 0) return LOB_OK;
    if (change && !(w->data = lob_session_array(s, lob_slabs_voxels(&w->slabs), each, w->out)))
        return LOB_ENOMEM;
    LOB_TRY(lob_slabs_begin(s, &w->slabs, &made, 0, w->out, options));
    LOB_TRY(lob_slabs_each(s, &w->slabs, convert_slab, w));
    int64_t sums[] = {w->change.lost, w->change.rounded};
    LOB_TRY(lob_team_reduce(s->team, sums, 2, LOB_TEAM_SUM, &s->error));
    w->change.lost = sums[0];
    w->change.rounded = sums[1];
    if (change) report_change(s, &w->change);
    return lob_slabs_commit(s, &w->slabs);
}

/* ---- the command ---- */

static lob_status convert(lob_session *s, void *user)
{
    work *const w = user;
    lob_volume *const volume = &w->volume;
    const bool labels = is_of_labels(s, w);
    enum { CHANGED = 8 };
    if (w->like) LOB_TRY(lob_session_read_header(s, &w->scan, w->like, NULL));
    s->spaced = !isnan(w->stated.spacing[0]); /* of what is read from here on */
    w->change = (type_change){w->slabs.path, (lob_type)w->type, .lossy = w->lossy};
    /* labels are of one frame; of anything else all of them go along */
    const int64_t frame = w->slabs.frame < 0 && !labels ? LOB_FRAME_ALL : w->slabs.frame;
    lob_write_options options = lob_write_defaults();
    options.labels = labels;
    options.like = w->like;
    options.strip_extensions = w->strip_extensions;
    options.level = w->level;
    if (!labels && lob_slabs_serve(s, &w->slabs, w->type < 0 ? 0 : CHANGED))
        return lob_slabs_close(s, &w->slabs, convert_slabs(s, w, options));
    LOB_TRY(lob_session_read(s, volume, w->slabs.path, frame));
    lob_grid_state(volume, &w->stated);
    if (w->like)
        LOB_TRY(lob_grid_match(s, volume, w->slabs.path, &w->scan, w->like, LOB_PART_SEEN));
    LOB_TRY(lob_label_table_take(s, volume, w->names_in));
    LOB_TRY(lob_grid_channel(s, volume, w->slabs.channel, w->slabs.path));
    LOB_TRY(check_made(s, w));

    lob_session_compute(s, "converting");
    if (labels) LOB_TRY(as_labels(s, w));
    if (changes(w, volume)) LOB_TRY(change_type(s, w));
    lob_session_computed(s);

    LOB_TRY(lob_label_table_make(s, volume, w->names_out));
    if (w->names_out && !lob_session_is_stored(s, w->out) && !lob_keeps_names(w->out))
        lob_label_names_free(&volume->names); /* they are not lost, so nothing is said */
    return lob_session_write_with(s, volume, w->out, options);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->volume, &w->changed, &w->scan);
    lob_label_set_free(&w->labelled);
    free(w->data);
}

#define NAME(type, ctype, name, integer, lowest, highest) "|" name
static const char type_names[] = LOB_TYPE_LIST(NAME);
#undef NAME

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .slabs = {.frame = -1, .channel = -1},
          .type = -1, .level = -1, .stated = LOB_NOT_STATED
    };
    const lob_option rows[] = {
        OPERAND_INPUT("IN", &w->slabs.path, LOB_FILE_IMAGE,
                      "volume to read, FILE.h5:/dataset or STORE.zarr/array", .required = true),
        OPERAND_OUTPUT("OUT", &w->out, LOB_FILE_IMAGE,
                       "volume to write; its suffix chooses the format", .required = true),
        OPT_INPUT("like", &w->like, LOB_FILE_IMAGE,
                  "the scan that labels are of, onto whose grid they are brought where they cover "
                  "a part of it; a DICOM SEG refers to its images: name their folder"),
        OPT_INT("frame", &w->slabs.frame, "N", 0, INT32_MAX,
                "time frame to take, from 0; left out: all"),
        OPT_INT("channel", &w->slabs.channel, "N", 0, INT32_MAX,
                "channel to take, from 0; left out: all"),
        OPT_SPACING(&w->stated.spacing),
        OPT_ORIGIN(&w->stated.origin),
        OPT_CHOICE("type", &w->type, &type_names[1],
                   "voxel type to write, without a scale; left out: voxels as they are stored"),
        OPT_FLAG("lossy", &w->lossy,
                 "let --type round and clamp what it cannot hold (NaN becomes 0 in integers) "
                 "instead of refusing"),
        OPT_FLAG("labels", &w->labels,
                 "write as a label volume: the smallest of uint8, int16, int32, no scale, intent "
                 "'label'"),
        OPT_LABEL_TABLE(&w->names_in),
        OPT_OUTPUT("write-label-table", &w->names_out, LOB_FILE_OTHER,
                   "also write names and colours of the labels, as the file's suffix says"),
        OPT_FLAG("strip-extensions", &w->strip_extensions, "leave header extensions out"),
        OPT_PLAN(&w->slabs.plan),
        OPT_INT("level", &w->level, "N", 1, 9,
                "how hard gzip works; left out: 6 for labels, or runs alone where these say nearly "
                "all, and for what repeats, else 1; in HDF5 1"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_convert = {
    .name = "convert",
    .summary = "write a volume in another format or voxel type",
    .description =
        "Without --type, voxels, scale and header are written as they were read, as far as the "
        "format of OUT can hold them: a time series goes whole into NIfTI, NRRD, MetaImage and "
        "HDF5. With --type, the values are kept: an integer type must hold every value exactly, a "
        "real type rounds real values to its digits, and a note says how many, but must hold whole "
        "numbers exactly. A voxel that does not fit ends the command with exit code 65, unless "
        "--lossy is given.\n"
        "OUT.dcm is a DICOM SEG, which dcmqi's itkimage2segimage writes (`pip install dcmqi`). It "
        "refers to the images of --like. Names, colours and codes are those of the labels' own "
        "table, or --label-table's; an organ's name gets its SNOMED code, any other that of a "
        "tissue. Segments are numbered from 1 on, in the order of the labels. Its UIDs are new "
        "each time.",
    .examples = "lobule convert scan.nii.gz scan.h5\n"
                "lobule convert --frame 3 bold.nii.gz one.nii.gz\n"
                "lobule convert stack.tif scan.nii.gz --spacing 0.5,0.5,2\n"
                "lobule convert --labels manual.nii.gz labels.nii.gz\n"
                "lobule convert --labels slicer.seg.nrrd labels.nii.gz --write-label-table "
                "labels.tsv\n"
                "lobule convert liver.nii.gz liver.dcm --like dicom/ct\n"
                "lobule convert --labels liver.dcm labels.nii.gz --like dicom/ct",
    .refers = true,
    .shares = true,
    .only_prints = "plan",
    LOB_COMMAND_PARTS(work, options, check, convert, release),
};
