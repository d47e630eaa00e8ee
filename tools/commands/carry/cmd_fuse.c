/* lobule fuse: labels of atlases that were moved onto a scan become one label volume. */
#include "kernels/fuse/fuse.h"
#include "tools/commands/carry/atlas_files.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"

typedef struct {
    const char *scan, *labels, *votes;
    int frame, method;
    lob_fuse_options options;
    lob_steps atlases;

    lob_atlas_files files;
    lob_label_names names; /* of atlases so far */
    lob_volume on, shares, image[LOB_FUSE_MAX_ATLASES], of[LOB_FUSE_MAX_ATLASES];
    lob_fuse_output found;
} work;

static lob_status check(lob_session *s, void *user)
{
    work *const w = user;
    if (w->atlases.count == 0)
        return lob_fail(&s->error, LOB_EARG,
                        "--atlas IMAGE,LABELS is missing; --help shows the usage");
    for (int i = 0; i < w->atlases.count; i++)
        LOB_TRY(lob_atlas_add(s, &w->files, w->atlases.step[i].text));
    LOB_TRY(lob_atlas_spare(s, &w->files, w->labels));
    return lob_atlas_spare(s, &w->files, w->votes);
}

static lob_status read_inputs(lob_session *s, work *w)
{
    LOB_TRY(lob_session_read(s, &w->on, w->scan, w->frame));
    LOB_TRY(lob_grid_one_channel(s, &w->on, w->scan));
    LOB_TRY(lob_session_check(s, &w->on, LOB_I32, 1, w->labels));
    s->extra_role = "atlas";
    for (int i = 0; i < w->files.count; i++) {
        const lob_atlas_file *const f = &w->files.file[i];
        if (w->method == 0) LOB_TRY(lob_grid_read(s, &w->image[i], f->image, &w->on, w->scan));
        LOB_TRY(lob_grid_read_labels(s, &w->of[i], f->labels, &w->on, w->scan));
        const lob_status st = lob_label_names_join(&w->names, &w->of[i].names, &s->error);
        LOB_TRY(lob_session_name(s, st, f->labels, NULL));
    }
    return LOB_OK;
}

static lob_status fuse(lob_session *s, work *w)
{
    lob_fuse_atlas atlases[LOB_FUSE_MAX_ATLASES];
    const lob_fuse_input in = {.scan = &w->on, .atlases = atlases, .count = w->files.count};
    w->options.majority = w->method == 1;
    for (int i = 0; i < in.count; i++) atlases[i] = (lob_fuse_atlas){&w->image[i], &w->of[i]};
    lob_session_compute(s, "fusing");
    LOB_TRY(lob_session_done(s, lob_fuse(&w->found, &in, &w->options, &s->context, &s->error),
                             w->scan, NULL));
    lob_session_hold(s, lob_volume_bytes(&w->found.labels) +
                            2 * lob_voxels(&w->on) * w->found.set.count);
    return LOB_OK;
}

/* ---- results ---- */

static void report(lob_session *s, const work *w)
{
    const lob_label_set *const set = &w->found.set;
    const int64_t n = lob_voxels(&w->on);
    cJSON *const labels = cJSON_AddArrayToObject(s->results, "fused");
    double sum[LOB_FUSE_MAX_LABELS] = {0};
    for (int64_t i = 0; i < n; i++) {
        const int32_t label = lob_label_at(w->found.labels.data, w->found.labels.type, i);
        const int32_t l = label > 0 ? lob_label_set_find(set, label) : 0;
        if (l > 0) sum[l - 1] += w->found.shares[(l - 1) * n + i];
    }
    for (int32_t l = 0; l < set->count; l++) {
        cJSON *const row = lob_json_row(labels);
        const double voxels = (double)set->voxels[l];
        LOB_JSON_NUMBERS(row, {"label", set->values[l]}, {"voxels", voxels});
        if (voxels > 0) cJSON_AddNumberToObject(row, "share", sum[l] / LOB_FUSE_ONE / voxels);
    }
    LOB_JSON_NUMBERS(s->results, {"labels", set->count}, {"unseen_voxels", w->found.unseen},
                     {"working_bytes", w->found.working_bytes});
    if (w->found.unseen > 0)
        lob_session_note(s, "%s: no atlas reaches %lld voxels, which are background", w->scan,
                         (long long)w->found.unseen);
}

static lob_status write_votes(lob_session *s, work *w)
{
    const int64_t n = lob_voxels(&w->on) * w->found.set.count;
    if (!w->votes) return LOB_OK;
    LOB_TRY(lob_grid_make(s, &w->shares, &w->on, LOB_F32, w->found.set.count, w->votes));
    for (int64_t i = 0; i < n; i++)
        ((float *)w->shares.data)[i] = (float)w->found.shares[i] / LOB_FUSE_ONE;
    return lob_session_write(s, &w->shares, w->votes, false);
}

static lob_status fuses(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(fuse(s, w));
    report(s, w);
    if (lob_label_names_copy(&w->found.labels.names, &w->of[0].names) != LOB_OK)
        return lob_session_no_memory(s, w->labels);
    LOB_TRY(write_votes(s, w));
    return lob_session_write(s, &w->found.labels, w->labels, true);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->on, &w->shares);
    for (int i = 0; i < LOB_FUSE_MAX_ATLASES; i++) LOB_VOLUMES_FREE(&w->image[i], &w->of[i]);
    lob_fuse_output_free(&w->found);
    lob_atlas_files_free(&w->files);
    lob_label_names_free(&w->names);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    w->frame = -1;
    w->options = lob_fuse_defaults();
    const lob_option rows[] = {
        OPERAND_INPUT("SCAN", &w->scan, LOB_FILE_IMAGE, "scan that labels are wanted for",
                      .required = true),
        OPT_STEP("atlas", &w->atlases, "IMAGE,LABELS",
                 "an atlas on the grid of SCAN, moved there by any program: its image and its "
                 "labels"),
        OPT_LABELS_OUTPUT(&w->labels),
        OPT_OUTPUT("votes", &w->votes, LOB_FILE_IMAGE,
                   "float32 shares of the votes to write, a channel for each label"),
        OPT_CHOICE("method", &w->method, "patches|majority",
                   "whose votes count: patches that look alike, or each atlas once"),
        OPT_INT("patch", &w->options.patch, "N", 0, LOB_FUSE_MAX_PATCH,
                "voxels that a patch reaches to each side"),
        OPT_INT("search", &w->options.search, "N", 0, LOB_FUSE_MAX_SEARCH,
                "voxels to each side of which an atlas's patches are looked at"),
        OPT_REAL("floor", &w->options.floor, "LEVELS2", 0, 65025,
                 "squared difference of a patch's voxels, in 255ths of the range of values, that "
                 "tells nothing"),
        OPT_FRAME(&w->frame, "scan"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_fuse = {
    .name = "fuse",
    .summary = "make one label volume of the labels of several moved atlases",
    .description =
        "Atlases are scans with finished labels, moved onto the grid of SCAN by `lobule register` "
        "and `lobule warp`, by ANTs, elastix or any other program, and may be NaN where they do "
        "not reach. Each voxel of SCAN compares the patch around it with the atlases' patches at "
        "the same place and around it; these vote for their labels, more the more alike they are. "
        "The label with the largest share of the votes wins, of equal ones the smallest; 0, the "
        "background, is one. An atlas without a label has no vote on it.\n"
        "--votes has each label's share, from 0 to 1, in the order of the labels' numbers.",
    .examples = "lobule fuse scan.nii.gz --atlas a.nii.gz,a_labels.nii.gz --atlas "
                "b.nii.gz,b_labels.nii.gz -o labels.nii.gz\n"
                "lobule fuse scan.nii.gz --atlas a.nii.gz,a_labels.nii.gz --atlas "
                "b.nii.gz,b_labels.nii.gz --method majority -o labels.nii.gz --votes votes.nii.gz",
    .result = "labels",
    LOB_COMMAND_PARTS(work, options, check, fuses, release),
};
