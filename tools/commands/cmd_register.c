/* lobule register: where each point of a fixed scan lies in a moving one. */
#include "kernels/register/register.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *fixed, *moving, *field, *moved, *mask;
    int frame;
    double grid, smooth;
    bool affine_only;
    int start; /* index of the option's words */
} settings;

typedef struct {
    settings set; /* first */
    lob_volume fixed, moving, volume, moved;
    uint8_t *mask;
    lob_field field;
    lob_register_stats stats;
} work;

enum { BEST, HEADERS, CENTRES };

static lob_status check(lob_session *s, void *user)
{
    const settings *const set = user;
    const lob_rule rules[] = {
        {!set->field && !set->moved,
         "nothing to write: name a field with -o or a volume with --moved"},
    };
    return LOB_RULES(s, rules);
}

static lob_status read_inputs(lob_session *s, work *w)
{
    const settings *set = &w->set;
    LOB_TRY(lob_grid_read_frame(s, &w->fixed, set->fixed, set->frame));
    LOB_TRY(lob_grid_one_channel(s, &w->fixed, set->fixed));
    LOB_TRY(lob_session_check(s, &w->fixed, LOB_F32, 3, set->field));
    LOB_TRY(lob_grid_mask(s, &w->mask, set->mask, &w->fixed, set->fixed));
    LOB_TRY(lob_grid_read_frame(s, &w->moving, set->moving, set->frame));
    LOB_TRY(lob_grid_one_channel(s, &w->moving, set->moving));
    return lob_session_check(s, &w->fixed, w->moving.type, 1, set->moved);
}

static lob_status find(lob_session *s, work *w)
{
    const settings *set = &w->set;
    const lob_register_input in = {.fixed = &w->fixed, .moving = &w->moving, .mask = w->mask};
    lob_register_options options = lob_register_defaults();
    if (!isnan(set->grid)) options.spacing_mm = set->grid;
    options.smooth = set->smooth;
    options.affine_only = set->affine_only;
    options.headers = set->start == HEADERS;
    options.centres = set->start == CENTRES;
    lob_session_compute(s, "registering");
    LOB_TRY(lob_session_done(
        s, lob_register(&w->field, &w->stats, &in, &options, &s->context, &s->error), set->fixed,
        set->moving));
    lob_session_hold(s, lob_product(lob_dims_voxels(w->field.dims), 3, sizeof(float), 1));
    return LOB_OK;
}

static void report(lob_session *s, const work *w)
{
    cJSON *const affine = cJSON_AddArrayToObject(s->results, "affine");
    cJSON_AddStringToObject(s->results, "start", w->stats.centres ? "centres" : "headers");
    cJSON_AddNumberToObject(s->results, "cost_before", w->stats.cost_before);
    cJSON_AddNumberToObject(s->results, "cost_affine", w->stats.cost_affine);
    cJSON_AddNumberToObject(s->results, "cost_after", w->stats.cost_after);
    cJSON_AddNumberToObject(s->results, "folded", w->stats.folded);
    cJSON_AddNumberToObject(s->results, "most_mm", w->stats.most_mm);
    cJSON_AddNumberToObject(s->results, "working_bytes", (double)w->stats.working_bytes);
    for (int i = 0; affine && i < 3; i++)
        cJSON_AddItemToArray(affine, cJSON_CreateDoubleArray(w->field.affine[i], 4));
}

static lob_status write_results(lob_session *s, work *w)
{
    const settings *set = &w->set;
    report(s, w);
    if (set->field) {
        LOB_TRY(lob_session_take(
            s, lob_product(lob_dims_voxels(w->field.dims), 3, sizeof(float), 1), set->field));
        if (lob_field_to_volume(&w->volume, &w->field, &w->fixed) != LOB_OK)
            return lob_session_no_memory(s, set->field);
        LOB_TRY(lob_session_write(s, &w->volume, set->field, false));
    }
    if (!set->moved) return LOB_OK;
    const lob_type type = w->moving.type;
    LOB_TRY(lob_session_take(
        s, lob_product(lob_voxels(&w->fixed), (int64_t)lob_type_of(type)->bytes, 1, 1),
        set->moved));
    LOB_TRY(lob_warp(&w->moved, &w->moving, &w->field, &w->fixed, LOB_WARP_LINEAR, &s->context,
                     &s->error));
    return lob_session_write(s, &w->moved, set->moved, false);
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
    LOB_VOLUMES_FREE(&w->fixed, &w->moving, &w->volume, &w->moved);
    lob_field_free(&w->field);
    free(w->mask);
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    *set = (settings){.frame = -1, .grid = NAN, .smooth = lob_register_defaults().smooth};
    const lob_option rows[] = {
        OPERAND_INPUT("FIXED", &set->fixed, LOB_FILE_IMAGE, "scan that stays", .required = true),
        OPERAND_INPUT("MOVING", &set->moving, LOB_FILE_IMAGE, "scan that is brought onto it",
                      .required = true),
        OPT_OUTPUT("output", &set->field, LOB_FILE_IMAGE,
                   "field of displacements to write, in mm along LPS, as ITK and ANTs read it",
                   .letter = 'o'),
        OPT_OUTPUT("moved", &set->moved, LOB_FILE_IMAGE,
                   "MOVING on the grid of FIXED to write, interpolated linearly"),
        OPT_FLAG("affine-only", &set->affine_only, "find an affine, and no displacements beside"),
        OPT_REAL("grid", &set->grid, "MM", 0, 1e6,
                 "work on voxels of this size; left out: 3 mm, finer for small scans, coarser for "
                 "huge ones",
                 .above_low = true),
        OPT_REAL("smooth", &set->smooth, "S", 0.01, 100, "how stiff the field is"),
        OPT_MASK(&set->mask, "voxels of FIXED that count: those where this volume is not 0"),
        OPT_CHOICE("start", &set->start, "best|headers|centres",
                   "begin where the headers place the scans, with their centres on each other, or "
                   "with the better of both"),
        OPT_FRAME(&set->frame, "scans"),
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
        "of MOVING.",
    .examples = "lobule register target.nii.gz atlas.nii.gz -o field.nii.gz --moved moved.nii.gz\n"
                "lobule warp atlas_labels.nii.gz field.nii.gz --like target.nii.gz --labels "
                "-o labels.nii.gz",
    .registers = true,
    .settings_bytes = sizeof(work),
    .options = options,
    .check = check,
    .work = registers,
    .voxel_ns = 5000,
    .release = release,
};
