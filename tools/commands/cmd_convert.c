/* lobule convert: the same volume in another format or voxel type. */
#include "io/formats.h"
#include "tools/commands/commands.h"
#include "tools/commands/type_change.h"
#include "tools/inout/slabs.h"
#include "tools/table/label_names_option.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *in, *out, *like, *names_in, *names_out;
    int frame, channel, plan;
    lob_stated_grid stated;
    int type; /* a lob_type, or -1 */
    bool labels, lossy, strip_extensions;
    int level;
} settings;

typedef struct {
    settings set; /* first */
    lob_volume volume, changed, scan;
    lob_label_set labels;
    lob_type_change change;
    lob_slabs slabs;
    void *data; /* of a slab in another type */
} work;

/* Does --type change the voxels as they are stored? */
static bool changes(const settings *set, const lob_volume *volume)
{
    return set->type >= 0 && (volume->type != (lob_type)set->type || lob_volume_is_scaled(volume));
}

/* Convert the volume to --type. */
static lob_status change_type(lob_session *s, work *w)
{
    lob_volume *const volume = &w->volume, *const out = &w->changed;
    LOB_TRY(lob_grid_make(s, out, volume, (lob_type)w->set.type, volume->channels, w->set.out));
    out->frames = volume->frames;
    out->frame = volume->frame;
    LOB_TRY(lob_type_change_voxels(s, &w->change, volume, 0, out->data));
    lob_type_change_report(s, &w->change);
    lob_grid_drop(s, volume);
    *volume = *out;
    *out = lob_volume_empty();
    return LOB_OK;
}

/* Check that the volume holds labels and give it the type that labels are written in. */
static lob_status as_labels(lob_session *s, work *w)
{
    LOB_TRY(lob_labels_dense(&w->volume, &w->labels, w->set.in, &s->error));
    LOB_TRY(lob_labels_restore(&w->volume, &w->labels));
    cJSON_AddNumberToObject(s->results, "labels", w->labels.count);
    return LOB_OK;
}

static bool is_of_labels(const lob_session *s, const settings *set)
{
    return set->labels || (lob_refers_to_scan(set->out) && !lob_session_is_stored(s, set->out));
}

static lob_status check(lob_session *s, void *user)
{
    const settings *const set = user;
    const bool refers = lob_refers_to_scan(set->out) && !lob_session_is_stored(s, set->out);
    const bool labels = is_of_labels(s, set);
    const lob_rule rules[] = {
        {refers && !set->like,
         "a DICOM SEG refers to the images of a scan; name their folder with --like"                                   },
        {set->type >= 0 && refers,                                 "a DICOM SEG holds labels as bits; leave --type out"},
        {set->like && !labels,
         "--like brings labels onto a scan's grid; add --labels, or use lobule resample"                               },
        {set->labels && set->type >= 0,
         "--labels chooses the type of labels itself; leave --type out"                                                },
        {set->lossy && set->type < 0,                              "--lossy is about --type, which is not given"       },
        {labels && (lob_team_size(s->ranks) > 1 || set->plan > 0),
         "labels are looked at as a whole: start one task"                                                             },
        {!labels && (set->names_in || set->names_out),
         "--label-table and --write-label-table are about labels; add --labels"                                        },
    };
    LOB_TRY(LOB_RULES(s, rules));
    LOB_TRY(lob_label_table_check(s, set->names_in));
    return lob_label_table_check(s, set->names_out);
}

/* Can the output's format hold what is going to be written? */
static lob_status check_made(lob_session *s, const work *w)
{
    lob_volume made = w->volume; /* its kind alone is looked at */
    if (w->set.labels || w->set.type >= 0) {
        made.type = w->set.labels ? LOB_I32 : (lob_type)w->set.type;
        made.slope = 1.0;
        made.inter = 0.0;
    }
    return lob_session_check_volume(s, &made, w->set.out);
}

/* ---- in slabs ---- */

static lob_status convert_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    if (!w->data) return lob_slabs_put(s, &w->slabs, slab, slab->image.data);
    lob_session_compute(s, "converting");
    LOB_TRY(lob_type_change_voxels(s, &w->change, &slab->image, slab->z, w->data));
    lob_session_computed(s);
    return lob_slabs_put(s, &w->slabs, slab, w->data);
}

static lob_status convert_slabs(lob_session *s, work *w, lob_write_options options)
{
    const settings *const set = &w->set;
    LOB_TRY(lob_slabs_open(s, &w->slabs));
    const bool change = changes(set, &w->slabs.volume);
    const lob_type type = change ? (lob_type)set->type : w->slabs.volume.type;
    const size_t each = lob_type_of(type)->bytes;
    lob_volume made = change ? lob_grid_header(&w->slabs.volume, type) : w->slabs.volume;
    if (lob_grid_is_stated(&set->stated)) {
        made.header = (lob_header){.bytes = NULL}; /* it stays the input's */
        lob_grid_state(&made, &set->stated);
    }
    LOB_TRY(lob_session_check_volume(s, &made, set->out));
    const int64_t bytes = change ? (int64_t)each : 0;
    LOB_TRY(lob_slabs_cut(s, &w->slabs, 0, 1, bytes, (int64_t)each));
    if (set->plan > 0) return LOB_OK;
    if (change && !(w->data = lob_session_array(s, lob_slabs_voxels(&w->slabs), each, set->out)))
        return LOB_ENOMEM;
    LOB_TRY(lob_slabs_begin(s, &w->slabs, &made, 0, set->out, options));
    LOB_TRY(lob_slabs_each(s, &w->slabs, convert_slab, w));
    int64_t sums[] = {w->change.lost, w->change.rounded};
    LOB_TRY(lob_team_reduce(s->team, sums, 2, LOB_TEAM_SUM, &s->error));
    w->change.lost = sums[0];
    w->change.rounded = sums[1];
    if (change) lob_type_change_report(s, &w->change);
    return lob_slabs_commit(s, &w->slabs);
}

/* ---- the command ---- */

static lob_status convert(lob_session *s, void *user)
{
    work *const w = user;
    const settings *const set = &w->set;
    lob_volume *const volume = &w->volume;
    const bool labels = is_of_labels(s, set);
    w->slabs = (lob_slabs){
        .path = set->in, .frame = set->frame, .channel = set->channel, .plan = set->plan};
    enum { CHANGED = 8 };
    s->spaced = !isnan(set->stated.spacing[0]);
    w->change = (lob_type_change){set->in, (lob_type)set->type, .lossy = set->lossy};
    /* labels are of one frame; of anything else all of them go along */
    const int64_t frame = set->frame < 0 && !labels ? LOB_FRAME_ALL : set->frame;
    lob_write_options options = lob_write_defaults();
    options.labels = labels;
    options.like = set->like;
    options.strip_extensions = set->strip_extensions;
    options.level = set->level;
    if (!labels && lob_slabs_serve(s, &w->slabs, set->type < 0 ? 0 : CHANGED))
        return lob_slabs_close(s, &w->slabs, convert_slabs(s, w, options));
    if (set->like) LOB_TRY(lob_session_read_header(s, &w->scan, set->like, NULL));
    LOB_TRY(lob_session_read(s, volume, set->in, frame));
    lob_grid_state(volume, &set->stated);
    if (set->like) LOB_TRY(lob_grid_match(s, volume, set->in, &w->scan, set->like, true));
    LOB_TRY(lob_label_table_take(s, volume, set->names_in));
    LOB_TRY(lob_grid_channel(s, volume, set->channel, set->in));
    LOB_TRY(check_made(s, w));

    lob_session_compute(s, "converting");
    if (labels) LOB_TRY(as_labels(s, w));
    if (changes(set, volume)) LOB_TRY(change_type(s, w));
    lob_session_computed(s);

    LOB_TRY(lob_label_table_make(s, volume, set->names_out));
    if (set->names_out && !lob_session_is_stored(s, set->out) && !lob_keeps_names(set->out))
        lob_label_names_free(&volume->names); /* they are not lost, so nothing is said */
    return lob_session_write_with(s, volume, set->out, options);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->volume, &w->changed, &w->scan);
    lob_label_set_free(&w->labels);
    free(w->data);
}

#define NAME(type, ctype, name, integer, lowest, highest) "|" name
static const char type_names[] = LOB_TYPE_LIST(NAME);
#undef NAME

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    *set =
        (settings){.frame = -1, .channel = -1, .type = -1, .level = -1, .stated = LOB_NOT_STATED};
    const lob_option rows[] = {
        OPERAND_INPUT("IN", &set->in, LOB_FILE_IMAGE,
                      "volume to read, FILE.h5:/dataset or STORE.zarr/array", .required = true),
        OPERAND_OUTPUT("OUT", &set->out, LOB_FILE_IMAGE,
                       "volume to write; its suffix chooses the format", .required = true),
        OPT_INPUT("like", &set->like, LOB_FILE_IMAGE,
                  "the scan that labels are of, onto whose grid they are brought where they cover "
                  "a part of it; a DICOM SEG refers to its images: name their folder"),
        OPT_INT("frame", &set->frame, "N", 0, INT32_MAX,
                "time frame to take, from 0; left out: all"),
        OPT_INT("channel", &set->channel, "N", 0, INT32_MAX,
                "channel to take, from 0; left out: all"),
        OPT_SPACING(&set->stated.spacing),
        OPT_ORIGIN(&set->stated.origin),
        OPT_CHOICE("type", &set->type, &type_names[1],
                   "voxel type to write, without a scale; left out: voxels as they are stored"),
        OPT_FLAG("lossy", &set->lossy,
                 "let --type round and clamp what it cannot hold (NaN becomes 0 in integers) "
                 "instead of refusing"),
        OPT_FLAG("labels", &set->labels,
                 "write as a label volume: the smallest of uint8, int16, int32, no scale, intent "
                 "'label'"),
        OPT_LABEL_TABLE(&set->names_in),
        OPT_OUTPUT("write-label-table", &set->names_out, LOB_FILE_OTHER,
                   "also write names and colours of the labels, as the file's suffix says"),
        OPT_FLAG("strip-extensions", &set->strip_extensions, "leave header extensions out"),
        OPT_PLAN(&set->plan),
        OPT_INT("level", &set->level, "N", 1, 9,
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
    .settings_bytes = sizeof(work),
    .options = options,
    .check = check,
    .work = convert,
    .release = release,
};
