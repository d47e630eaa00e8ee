/* lobule register: where each point of a fixed scan lies in a moving one. */
#include "kernels/register/register.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *fixed, *moving, *field, *moved, *mask;
    int frame, start; /* index of the option's words */
    double grid;
    lob_register_options options;

    lob_volume fixed_scan, moving_scan, displacements, moved_scan;
    uint8_t *counts;
    lob_field found;
    lob_register_stats stats;
} work;

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    if (w->field || w->moved) return LOB_OK;
    return lob_fail(&s->error, LOB_EARG,
                    "nothing to write: name a field with -o or a volume with --moved");
}

static lob_status read_inputs(lob_session *s, work *w)
{
    LOB_TRY(lob_grid_read_frame(s, &w->fixed_scan, w->fixed, w->frame));
    LOB_TRY(lob_grid_one_channel(s, &w->fixed_scan, w->fixed));
    LOB_TRY(lob_session_check(s, &w->fixed_scan, LOB_F32, 3, w->field));
    LOB_TRY(lob_grid_mask(s, &w->counts, w->mask, &w->fixed_scan, w->fixed));
    LOB_TRY(lob_grid_read_frame(s, &w->moving_scan, w->moving, w->frame));
    LOB_TRY(lob_grid_one_channel(s, &w->moving_scan, w->moving));
    return lob_session_check(s, &w->fixed_scan, w->moving_scan.type, 1, w->moved);
}

static lob_status find(lob_session *s, work *w)
{
    const lob_register_input in = {
        .fixed = &w->fixed_scan, .moving = &w->moving_scan, .mask = w->counts};
    if (!isnan(w->grid)) w->options.spacing_mm = w->grid;
    w->options.start = (lob_register_start)w->start;
    lob_session_compute(s, "registering");
    LOB_TRY(lob_session_done(
        s, lob_register(&w->found, &w->stats, &in, &w->options, &s->context, &s->error), w->fixed,
        w->moving));
    lob_session_hold(s, lob_product(lob_dims_voxels(w->found.dims), 3, sizeof(float), 1));
    return LOB_OK;
}

/* What of the scans counted; a note of each that is filled in part. */
static void report_views(lob_session *s, const work *w)
{
    const char *const names[2] = {w->fixed, w->moving};
    cJSON_AddItemToObject(s->results, "field_of_view", cJSON_CreateDoubleArray(w->stats.view, 2));
    for (int k = 0; k < 2; k++)
        if (w->stats.view[k] < 1)
            lob_session_note(s,
                             "%s: %.0f %% of it is filled with one value beyond its field of view, "
                             "which alone counts",
                             names[k], 100 * (1 - w->stats.view[k]));
}

static void note_doubt(lob_session *s, const work *w)
{
    if (w->stats.doubtful)
        lob_session_note(s,
                         "%s: may lie wrong on %s: after the affine %.0f %% of it overlaps, where "
                         "%.0f %% of bits differ; look at the result",
                         w->moving, w->fixed, 100 * w->stats.overlap, 100 * w->stats.cost_affine);
}

static void report(lob_session *s, const work *w)
{
    cJSON *const affine = cJSON_AddArrayToObject(s->results, "affine");
    cJSON_AddStringToObject(s->results, "start", w->stats.centres ? "centres" : "headers");
    LOB_JSON_NUMBERS(s->results, {"cost_before", w->stats.cost_before},
                     {"cost_affine", w->stats.cost_affine}, {"cost_after", w->stats.cost_after},
                     {"overlap", w->stats.overlap}, {"points", w->stats.points},
                     {"matches", w->stats.matches}, {"folded", w->stats.folded},
                     {"most_mm", w->stats.most_mm}, {"working_bytes", w->stats.working_bytes});
    cJSON_AddBoolToObject(s->results, "doubtful", w->stats.doubtful);
    for (int i = 0; affine && i < 3; i++)
        cJSON_AddItemToArray(affine, cJSON_CreateDoubleArray(w->found.affine[i], 4));
}

static lob_status write_results(lob_session *s, work *w)
{
    report(s, w);
    report_views(s, w);
    note_doubt(s, w);
    if (w->field) {
        LOB_TRY(lob_session_take(
            s, lob_product(lob_dims_voxels(w->found.dims), 3, sizeof(float), 1), w->field));
        if (lob_field_to_volume(&w->displacements, &w->found, &w->fixed_scan) != LOB_OK)
            return lob_session_no_memory(s, w->field);
        LOB_TRY(lob_session_write(s, &w->displacements, w->field, false));
    }
    if (!w->moved) return LOB_OK;
    const lob_type type = w->moving_scan.type;
    LOB_TRY(lob_session_take(
        s, lob_product(lob_voxels(&w->fixed_scan), (int64_t)lob_type_of(type)->bytes, 1, 1),
        w->moved));
    LOB_TRY(lob_warp(&w->moved_scan, &w->moving_scan, &w->found, &w->fixed_scan, LOB_WARP_LINEAR,
                     &s->context, &s->error));
    return lob_session_write(s, &w->moved_scan, w->moved, false);
}

static lob_status registers(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(find(s, w));
    return write_results(s, w);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->fixed_scan, &w->moving_scan, &w->displacements, &w->moved_scan);
    lob_field_free(&w->found);
    free(w->counts);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    w->frame = -1;
    w->grid = NAN;
    w->options = lob_register_defaults();
    const lob_option rows[] = {
        OPERAND_INPUT("FIXED", &w->fixed, LOB_FILE_IMAGE, "scan that stays", .required = true),
        OPERAND_INPUT("MOVING", &w->moving, LOB_FILE_IMAGE, "scan that is brought onto it",
                      .required = true),
        OPT_OUTPUT("output", &w->field, LOB_FILE_IMAGE,
                   "field of displacements to write, in mm along LPS, as ITK and ANTs read it",
                   .letter = 'o'),
        OPT_OUTPUT("moved", &w->moved, LOB_FILE_IMAGE,
                   "MOVING on the grid of FIXED to write, interpolated linearly"),
        OPT_FLAG("affine-only", &w->options.affine_only,
                 "find an affine, and no displacements beside"),
        OPT_REAL("grid", &w->grid, "MM", 0, 1e6,
                 "work on voxels of this size; left out: 3 mm, finer for small scans, coarser for "
                 "huge ones",
                 .above_low = true),
        OPT_REAL("smooth", &w->options.smooth, "S", 0.01, 100, "how stiff the field is"),
        OPT_MASK(&w->mask, "voxels of FIXED that count: those where this volume is not 0"),
        OPT_CHOICE("start", &w->start, "best|headers|centres",
                   "begin where the headers place the scans, with their centres on each other, or "
                   "with the better of both"),
        OPT_FRAME(&w->frame, "scans"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_register = {
    .name = "register",
    .summary = "find where each point of a scan lies in another one",
    .description =
        "First an affine, by least trimmed squares, then displacements on grids that become finer: "
        "of a dense set those whose surroundings look alike, smooth along organs, from FIXED to "
        "MOVING and back. Scans may differ in contrast, size, spacing and orientation; single "
        "slices work too. `lobule warp` brings other volumes, such as labels, along.\n"
        "The field covers FIXED, by default at 3 mm, or at 1/64 of its longest side where that is "
        "less but not finer than its voxels. A point of FIXED plus its displacement is the point "
        "of MOVING. A quarter of a scan or more that was filled with one value beyond its field of "
        "view does not count.\n"
        "The report tells how far to trust it: how much of FIXED overlaps MOVING, how many bits of "
        "their surroundings differ, on how many of the points the affine rests. Where less than a "
        "quarter overlaps or more than a third differs, a note says so.",
    .examples = "lobule register target.nii.gz atlas.nii.gz -o field.nii.gz --moved moved.nii.gz\n"
                "lobule warp atlas_labels.nii.gz field.nii.gz --like target.nii.gz --labels "
                "-o labels.nii.gz",
    .registers = true,
    LOB_COMMAND_PARTS(work, options, check, registers, release),
    .voxel_ns = 5000,
};
