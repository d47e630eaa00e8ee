/* lobule merge: join basins of a flood that no wall parts. */
#include "kernels/merge/basins.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *labels_path, *image_path, *out;
    int frame, channel;
    double height, share, level;

    lob_volume labels, image;
    lob_label_set basins;
    int32_t *to; /* of each basin, the label that it becomes */
    lob_basins_stats stats;
} work;

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    const lob_rule rules[] = {
        {w->height == 0 && w->share == 0,
         "nothing would be joined: say with --height or --share how high walls are"          },
        {w->share > 0 && isnan(w->level),   "--share needs --level, the value of a full wall"},
        {w->share == 0 && !isnan(w->level), "--level belongs to --share"                     },
    };
    return LOB_RULES(s, rules);
}

static lob_status read_inputs(lob_session *s, work *w)
{
    LOB_TRY(lob_session_read(s, &w->labels, w->labels_path, -1));
    LOB_TRY(lob_labels_dense(&w->labels, &w->basins, w->labels_path, &s->error));
    LOB_TRY(lob_session_read(s, &w->image, w->image_path, w->frame));
    LOB_TRY(lob_grid_choose_channel(s, &w->image, w->channel, w->image_path));
    return lob_grid_match(s, &w->image, w->image_path, &w->labels, w->labels_path, false);
}

static lob_status join(lob_session *s, work *w)
{
    const lob_label_grid grid = {w->labels.data, w->labels.type, w->basins.count, w->labels.dims};
    const lob_basins_options options = {w->height, w->share, w->level};
    const int64_t voxels = lob_voxels(&w->labels);
    w->to = malloc(((size_t)w->basins.count + 1) * sizeof *w->to);
    if (!w->to) return lob_session_no_memory(s, w->labels_path);
    lob_session_compute(s, "joining");
    const lob_status st =
        s->backend->basins(w->to, &w->stats, &grid, &w->image, &options, &s->context, &s->error);
    LOB_TRY(lob_session_name(s, st, w->labels_path, w->image_path));
#pragma omp parallel for num_threads(s->context.threads) schedule(static)
    for (int64_t i = 0; i < voxels; i++)
        lob_label_put(w->labels.data, w->labels.type, i,
                      w->to[lob_label_at(w->labels.data, w->labels.type, i)]);
    lob_session_computed(s);
    if (lob_labels_restore(&w->labels, &w->basins) != LOB_OK)
        return lob_session_no_memory(s, w->labels_path);
    return LOB_OK;
}

static lob_status merge(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(join(s, w));
    cJSON_AddNumberToObject(s->results, "labels_in", (double)w->stats.basins);
    cJSON_AddNumberToObject(s->results, "labels", (double)w->stats.left);
    cJSON_AddNumberToObject(s->results, "contacts", (double)w->stats.contacts);
    cJSON_AddNumberToObject(s->results, "working_bytes", (double)w->stats.working_bytes);
    lob_session_say(s, "basins: %lld; left: %lld", (long long)w->stats.basins,
                    (long long)w->stats.left);
    return lob_session_write(s, &w->labels, w->out, true);
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
    work *const w = user;
    *w = (work){.frame = -1, .channel = -1, .level = NAN};
    const lob_option rows[] = {
        OPERAND_LABELS(&w->labels_path, "basins of a flood; 0 is no basin"),
        OPERAND_INPUT("IMAGE", &w->image_path, LOB_FILE_IMAGE,
                      "what was flooded: low inside of basins, high between them",
                      .required = true),
        OPT_LABELS_OUTPUT(&w->out),
        OPT_REAL("height", &w->height, "H", 0, 1e300,
                 "walls are at least so high over the higher of two bottoms, in image units"),
        OPT_REAL("share", &w->share, "SHARE", 0, 1,
                 "and at least this share of what lies between that bottom and --level"),
        OPT_REAL("level", &w->level, "L", -1e300, 1e300, "value of a full wall, for --share"),
        OPT_FRAME(&w->frame, "image"),
        OPT_CHANNEL(&w->channel),
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
