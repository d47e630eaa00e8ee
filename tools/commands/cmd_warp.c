/* lobule warp: a volume through a field of displacements. */
#include "kernels/register/register.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"

#include <string.h>

typedef struct {
    const char *volume, *field, *like, *out, *then;
    bool labels, nearest, inverse;
    int frame;

    lob_volume moving, grid, displacements, moved;
    lob_field first, second;
} work;

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    if (!w->nearest || !w->labels) return LOB_OK;
    return lob_fail(&s->error, LOB_EARG, "--labels are never mixed: leave --nearest out");
}

static lob_status read_field(lob_session *s, lob_field *out, work *w, const char *path)
{
    LOB_TRY(lob_session_read(s, &w->displacements, path, -1));
    LOB_TRY(
        lob_session_take(s, lob_product(lob_voxels(&w->displacements), 3, sizeof(float), 1), path));
    const lob_status st = lob_field_of_volume(out, &w->displacements, &s->error);
    lob_grid_drop(s, &w->displacements);
    return lob_session_name(s, st, path, NULL);
}

/* The field by which the volume goes: --then after FIELD, or the inverse. */
static lob_status make_field(lob_session *s, work *w)
{
    lob_field made;
    LOB_TRY(read_field(s, &w->first, w, w->field));
    if (w->then) {
        LOB_TRY(read_field(s, &w->second, w, w->then));
        LOB_TRY(lob_field_compose(&made, &w->first, &w->second, &s->context, &s->error));
        lob_field_free(&w->first);
        w->first = made;
    }
    if (!w->inverse) return LOB_OK;
    LOB_TRY(lob_field_invert(&made, &w->first, &w->grid, &s->context, &s->error));
    lob_field_free(&w->first);
    w->first = made;
    return LOB_OK;
}

static lob_status warp(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(lob_session_read(s, &w->moving, w->volume, w->frame));
    LOB_TRY(lob_session_read_header(s, &w->grid, w->like, NULL));
    if (w->labels) LOB_TRY(lob_grid_narrow(s, &w->moving, w->volume));
    LOB_TRY(lob_session_check(s, &w->grid, w->moving.type, w->moving.channels, w->out));
    LOB_TRY(make_field(s, w));
    LOB_TRY(lob_session_take(s,
                             lob_product(lob_voxels(&w->grid), w->moving.channels,
                                         (int64_t)lob_type_of(w->moving.type)->bytes, 1),
                             w->out));
    lob_session_compute(s, "warping");
    const lob_warp_method method = w->labels    ? LOB_WARP_LABELS
                                   : w->nearest ? LOB_WARP_NEAREST
                                                : LOB_WARP_LINEAR;
    LOB_TRY(lob_session_done(
        s, lob_warp(&w->moved, &w->moving, &w->first, &w->grid, method, &s->context, &s->error),
        w->volume, NULL));
    lob_grid_drop(s, &w->moving);
    return lob_session_write(s, &w->moved, w->out, w->labels);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->moving, &w->grid, &w->displacements, &w->moved);
    lob_field_free(&w->first);
    lob_field_free(&w->second);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    w->frame = -1;
    const lob_option rows[] = {
        OPERAND_INPUT("VOLUME", &w->volume, LOB_FILE_IMAGE, "scan or labels", .required = true),
        OPERAND_INPUT(
            "FIELD", &w->field, LOB_FILE_IMAGE,
            "field of displacements, as `lobule register` and ANTs write it: mm along LPS",
            .required = true),
        OPT_INPUT("like", &w->like, LOB_FILE_IMAGE, "onto the grid of this volume",
                  .required = true),
        OPT_IMAGE_OUTPUT(&w->out, "volume to write"),
        OPT_FLAG("labels", &w->labels, "VOLUME holds labels, which are not mixed"),
        OPT_FLAG("nearest", &w->nearest, "take the nearest voxel in place of a mean"),
        OPT_INPUT("then", &w->then, LOB_FILE_IMAGE,
                  "a second field, which leads on from where FIELD leads"),
        OPT_FLAG("inverse", &w->inverse,
                 "go the other way: from the moving scan's volumes to the fixed one's"),
        OPT_FRAME(&w->frame, "volume"),
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
    LOB_COMMAND_PARTS(work, options, check, warp, release),
};
