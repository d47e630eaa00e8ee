/* lobule merge: join basins of a flood that no wall parts. */
#include "kernels/basins/basins.h"
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
    lob_volume labels, image;
    lob_label_set set;
    lob_basins_stats stats;
} work;

static lob_status check_settings(lob_session *s, const settings *set)
{
    if (set->height == 0 && set->share == 0)
        return lob_fail(&s->error, LOB_EARG,
                        "nothing would be joined: say with --height or --share how high walls are");
    if (set->share > 0 && isnan(set->level))
        return lob_fail(&s->error, LOB_EARG, "--share needs --level, the value of a full wall");
    if (set->share == 0 && !isnan(set->level))
        return lob_fail(&s->error, LOB_EARG, "--level belongs to --share");
    return LOB_OK;
}

static lob_status read_inputs(lob_session *s, const settings *set, work *w)
{
    lob_status st = lob_session_read(s, &w->labels, set->labels, -1);
    if (st == LOB_OK) st = lob_labels_dense(&w->labels, &w->set, set->labels, &s->error);
    if (st == LOB_OK) st = lob_session_read(s, &w->image, set->image, set->frame);
    if (st == LOB_OK) st = lob_grid_choose_channel(s, &w->image, set->channel, set->image);
    return st == LOB_OK ? lob_grid_match(s, &w->image, set->image, &w->labels, set->labels) : st;
}

static lob_status join(lob_session *s, const settings *set, work *w)
{
    const lob_label_grid grid = {w->labels.data, w->labels.type, w->set.count, w->labels.dims};
    const lob_basins_options options = {set->height, set->share, set->level};
    const int64_t voxels = lob_voxels(&w->labels);
    int32_t *const to = malloc(((size_t)w->set.count + 1) * sizeof *to);
    if (!to) return lob_session_no_memory(s, set->labels);
    lob_session_compute(s, "joining");
    lob_status st =
        lob_basins_join(to, &w->stats, &grid, &w->image, &options, &s->context, &s->error);
    if (st == LOB_OK) {
#pragma omp parallel for num_threads(s->context.threads) schedule(static)
        for (int64_t i = 0; i < voxels; i++)
            lob_label_put(w->labels.data, w->labels.type, i,
                          to[lob_label_at(w->labels.data, w->labels.type, i)]);
        lob_session_computed(s);
        st = lob_labels_restore(&w->labels, &w->set);
        if (st != LOB_OK) lob_session_no_memory(s, set->labels);
    } else {
        lob_session_name(s, st, set->labels, set->image);
    }
    free(to);
    return st;
}

static lob_status merge(lob_session *s, const settings *set)
{
    work w = {.labels = lob_volume_empty(), .image = lob_volume_empty()};
    lob_status st = check_settings(s, set);
    if (st == LOB_OK) st = lob_session_device_begin(s);
    if (st == LOB_OK) st = read_inputs(s, set, &w);
    if (st == LOB_OK) st = lob_session_device(s);
    if (st == LOB_OK) st = join(s, set, &w);
    if (st == LOB_OK) {
        cJSON_AddNumberToObject(s->results, "labels_in", (double)w.stats.basins);
        cJSON_AddNumberToObject(s->results, "labels", (double)w.stats.left);
        cJSON_AddNumberToObject(s->results, "contacts", (double)w.stats.contacts);
        cJSON_AddNumberToObject(s->results, "working_memory_bytes", (double)w.stats.working_bytes);
        lob_session_say(s, "basins: %lld; left: %lld", (long long)w.stats.basins,
                        (long long)w.stats.left);
        st = lob_session_write(s, &w.labels, set->out, true);
    }
    lob_volume_free(&w.labels);
    lob_volume_free(&w.image);
    lob_label_set_free(&w.set);
    return st;
}

static int run(const lob_command *self, int argc, char **argv)
{
    settings set = {.frame = -1, .channel = -1, .level = NAN};
    const lob_option rows[] = {
        OPERAND_INPUT("LABELS", &set.labels, LOB_FILE_LABELS, "basins of a flood; 0 is no basin",
                      .required = true),
        OPERAND_INPUT("IMAGE", &set.image, LOB_FILE_IMAGE,
                      "what was flooded: low inside of basins, high between them",
                      .required = true),
        OPT_OUTPUT("output", &set.out, LOB_FILE_LABELS, "label volume to write", .letter = 'o',
                   .required = true),
        OPT_REAL("height", &set.height, "H", 0, 1e300,
                 "walls are at least so high over the higher of two bottoms, in image units"),
        OPT_REAL("share", &set.share, "SHARE", 0, 1,
                 "and at least this share of what lies between that bottom and --level"),
        OPT_REAL("level", &set.level, "L", -1e300, 1e300, "value of a full wall, for --share"),
        OPT_INT("frame", &set.frame, "N", 0, INT32_MAX,
                "time frame of the image, from 0; needed when there are several"),
        OPT_INT("channel", &set.channel, "N", 0, INT32_MAX,
                "channel of the image, from 0; needed when there are several"),
    };
    lob_session s;
    if (!lob_session_begin(&s, self, rows, LOB_COUNT(rows), argc, argv)) return s.exit_code;
    return lob_session_end(&s, merge(&s, &set));
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
    .result_text = "labels",
    .run = run,
};
