/* lobule warp: a volume through a field of displacements. */
#include "kernels/register/register.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"
#include "volumes/labels.h"

#include <string.h>

typedef struct {
    const char *volume, *field, *like, *out, *then;
    bool labels, nearest, inverse;
    int frame;
} settings;

typedef struct {
    settings set; /* first */
    lob_volume volume, like, fields, out;
    lob_field field, other;
    lob_label_set labels;
} work;

static lob_status check(lob_session *s, void *user)
{
    const settings *const set = user;
    const lob_rule rules[] = {
        {set->nearest && set->labels, "--labels are never mixed: leave --nearest out"},
    };
    return LOB_RULES(s, rules);
}

static lob_status read_field(lob_session *s, lob_field *out, work *w, const char *path)
{
    LOB_TRY(lob_session_read(s, &w->fields, path, -1));
    LOB_TRY(lob_session_take(s, lob_product(lob_voxels(&w->fields), 3, sizeof(float), 1), path));
    const lob_status st = lob_field_of_volume(out, &w->fields, &s->error);
    lob_grid_drop(s, &w->fields);
    return lob_session_name(s, st, path, NULL);
}

/* The field by which the volume goes: --then after FIELD, or the inverse. */
static lob_status make_field(lob_session *s, work *w)
{
    const settings *set = &w->set;
    lob_field made;
    LOB_TRY(read_field(s, &w->field, w, set->field));
    if (set->then) {
        LOB_TRY(read_field(s, &w->other, w, set->then));
        LOB_TRY(lob_field_compose(&made, &w->field, &w->other, &s->context, &s->error));
        lob_field_free(&w->field);
        w->field = made;
    }
    if (!set->inverse) return LOB_OK;
    LOB_TRY(lob_field_invert(&made, &w->field, &w->like, &s->context, &s->error));
    lob_field_free(&w->field);
    w->field = made;
    return LOB_OK;
}

static lob_status warp(lob_session *s, void *user)
{
    work *const w = user;
    const settings *const set = &w->set;
    LOB_TRY(lob_session_read(s, &w->volume, set->volume, set->frame));
    LOB_TRY(lob_session_read_header(s, &w->like, set->like, NULL));
    if (set->labels) {
        LOB_TRY(lob_labels_dense(&w->volume, &w->labels, set->volume, &s->error));
        LOB_TRY(lob_labels_restore(&w->volume, &w->labels));
    }
    LOB_TRY(lob_session_check(s, &w->like, w->volume.type, w->volume.channels, set->out));
    LOB_TRY(make_field(s, w));
    LOB_TRY(lob_session_take(s,
                             lob_product(lob_voxels(&w->like), w->volume.channels,
                                         (int64_t)lob_type_of(w->volume.type)->bytes, 1),
                             set->out));
    lob_session_compute(s, "warping");
    const lob_warp_method method = set->labels    ? LOB_WARP_LABELS
                                   : set->nearest ? LOB_WARP_NEAREST
                                                  : LOB_WARP_LINEAR;
    LOB_TRY(lob_session_done(
        s, lob_warp(&w->out, &w->volume, &w->field, &w->like, method, &s->context, &s->error),
        set->volume, NULL));
    lob_grid_drop(s, &w->volume);
    return lob_session_write(s, &w->out, set->out, set->labels);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->volume, &w->like, &w->fields, &w->out);
    lob_label_set_free(&w->labels);
    lob_field_free(&w->field);
    lob_field_free(&w->other);
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    *set = (settings){.frame = -1};
    const lob_option rows[] = {
        OPERAND_INPUT("VOLUME", &set->volume, LOB_FILE_IMAGE, "scan or labels", .required = true),
        OPERAND_INPUT(
            "FIELD", &set->field, LOB_FILE_IMAGE,
            "field of displacements, as `lobule register` and ANTs write it: mm along LPS",
            .required = true),
        OPT_INPUT("like", &set->like, LOB_FILE_IMAGE, "onto the grid of this volume",
                  .required = true),
        OPT_IMAGE_OUTPUT(&set->out, "volume to write"),
        OPT_FLAG("labels", &set->labels, "VOLUME holds labels, which are not mixed"),
        OPT_FLAG("nearest", &set->nearest, "take the nearest voxel in place of a mean"),
        OPT_INPUT("then", &set->then, LOB_FILE_IMAGE,
                  "a second field, which leads on from where FIELD leads"),
        OPT_FLAG("inverse", &set->inverse,
                 "go the other way: from the moving scan's volumes to the fixed one's"),
        OPT_FRAME(&set->frame, "volume"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_warp = {
    .name = "warp",
    .summary = "bring a volume through a field of displacements",
    .description =
        "A point of --like plus its displacement is the point of VOLUME whose value it takes: "
        "linear between voxels, with --labels the label with the largest part of them, of equals "
        "the smallest. Points outside of VOLUME become 0. The voxel type stays; whole numbers are "
        "rounded. Outside of FIELD the displacement of its border goes on.\n"
        "FIELD leads from the fixed scan to the moving one, so that volumes of the moving scan "
        "come onto the fixed one's grid. With --inverse volumes of the fixed scan come onto the "
        "moving one's. With --then a scan goes through two fields: if FIELD leads from A to B and "
        "the second from B to C, volumes of C come onto A's grid. It is computed on the CPU, "
        "whatever --device says.",
    .examples =
        "lobule warp atlas_labels.nii.gz field.nii.gz --like target.nii.gz --labels "
        "-o labels.nii.gz\n"
        "lobule warp target.nii.gz field.nii.gz --inverse --like atlas.nii.gz -o back.nii.gz",
    .registers = true,
    .settings_bytes = sizeof(work),
    .options = options,
    .check = check,
    .work = warp,
    .release = release,
};
