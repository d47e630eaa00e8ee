/* lobule merge: join basins of a flood that no wall parts. */
#include "kernels/merge/basins.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *labels, *image, *out;
    int frame, channel;
    double height, share, level;
} settings;

typedef struct {
    settings set; /* first */
    lob_volume labels, image;
    lob_label_set basins;
    int32_t *to; /* of each basin, the label that it becomes */
    lob_basins_stats stats;
} work;

static lob_status check(lob_session *s, void *user)
{
    const settings *const set = user;
    const lob_rule rules[] = {
        {set->height == 0 && set->share == 0,
         "nothing would be joined: say with --height or --share how high walls are"              },
        {set->share > 0 && isnan(set->level),   "--share needs --level, the value of a full wall"},
        {set->share == 0 && !isnan(set->level), "--level belongs to --share"                     },
    };
    return LOB_RULES(s, rules);
}

static lob_status read_inputs(lob_session *s, const settings *set, work *w)
{
    LOB_TRY(lob_session_read(s, &w->labels, set->labels, -1));
    LOB_TRY(lob_labels_dense(&w->labels, &w->basins, set->labels, &s->error));
    LOB_TRY(lob_session_read(s, &w->image, set->image, set->frame));
    LOB_TRY(lob_grid_choose_channel(s, &w->image, set->channel, set->image));
    return lob_grid_match(s, &w->image, set->image, &w->labels, set->labels, false);
}

static lob_status join(lob_session *s, const settings *set, work *w)
{
    const lob_label_grid grid = {w->labels.data, w->labels.type, w->basins.count, w->labels.dims};
    const lob_basins_options options = {set->height, set->share, set->level};
    const int64_t voxels = lob_voxels(&w->labels);
    w->to = malloc(((size_t)w->basins.count + 1) * sizeof *w->to);
    if (!w->to) return lob_session_no_memory(s, set->labels);
    lob_session_compute(s, "joining");
    const lob_status st =
        s->backend->basins(w->to, &w->stats, &grid, &w->image, &options, &s->context, &s->error);
    LOB_TRY(lob_session_name(s, st, set->labels, set->image));
#pragma omp parallel for num_threads(s->context.threads) schedule(static)
    for (int64_t i = 0; i < voxels; i++)
        lob_label_put(w->labels.data, w->labels.type, i,
                      w->to[lob_label_at(w->labels.data, w->labels.type, i)]);
    lob_session_computed(s);
    if (lob_labels_restore(&w->labels, &w->basins) != LOB_OK)
        return lob_session_no_memory(s, set->labels);
    return LOB_OK;
}

static lob_status merge(lob_session *s, void *user)
{
    work *const w = user;
    const settings *const set = &w->set;
    LOB_TRY(read_inputs(s, set, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(join(s, set, w));
    cJSON_AddNumberToObject(s->results, "labels_in", (double)w->stats.basins);
    cJSON_AddNumberToObject(s->results, "labels", (double)w->stats.left);
    cJSON_AddNumberToObject(s->results, "contacts", (double)w->stats.contacts);
    cJSON_AddNumberToObject(s->results, "working_bytes", (double)w->stats.working_bytes);
    lob_session_say(s, "basins: %lld; left: %lld", (long long)w->stats.basins,
                    (long long)w->stats.left);
    return lob_session_write(s, &w->labels, set->out, true);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->labels, &w->image);
    lob_label_set_free(&w->basins);
    free(w->to);
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    *set = (settings){.frame = -1, .channel = -1, .level = NAN};
    const lob_option rows[] = {
        OPERAND_LABELS(&set->labels, "basins of a flood; 0 is no basin"),
        OPERAND_INPUT("IMAGE", &set->image, LOB_FILE_IMAGE,
                      "what was flooded: low inside of basins, high between them",
                      .required = true),
        OPT_LABELS_OUTPUT(&set->out),
        OPT_REAL("height", &set->height, "H", 0, 1e300,
                 "walls are at least so high over the higher of two bottoms, in image units"),
        OPT_REAL("share", &set->share, "SHARE", 0, 1,
                 "and at least this share of what lies between that bottom and --level"),
        OPT_REAL("level", &set->level, "L", -1e300, 1e300, "value of a full wall, for --share"),
        OPT_FRAME(&set->frame, "image"),
        OPT_CHANNEL(&set->channel),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_merge = {
    .name = "merge",
    .summary = "join basins of a flood that no wall parts",
    .description =
        "A flood from too many seeds cuts one cell into several basins. The wall between two is as "
        "high as its lowest pass, the saddle, lies above the higher of their bottoms. Where that "
        "is less than --height, or than --share of the way from that bottom to --level, the two "
        "become one, and the smaller label stays. Saddles are looked at from the lowest on, each "
        "basin with all that it was joined to.\n"
        "IMAGE is what was flooded. On a map of distances that was turned upside down, --level 0 "
        "is the border, and --share 0.2 parts two bodies where their neck is less than four "
        "fifths as wide as the thinner one.\n"
        "The result has the same bytes on every machine and number of threads.",
    .examples = "lobule merge basins.nii.gz membranes.nii.gz -o cells.nii.gz --height 12\n"
                "lobule merge basins.nii.gz valleys.nii.gz -o nuclei.nii.gz --share 0.2 --level 0",
    .result = "labels",
    .settings_bytes = sizeof(work),
    .options = options,
    .check = check,
    .work = merge,
    .release = release,
    .voxel_ns = 30,
};
