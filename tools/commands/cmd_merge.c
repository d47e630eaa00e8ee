/* lobule merge: join basins of a flood that no wall parts. */
#include "kernels/merge/basins_slabs.h"
#include "tools/commands/commands.h"
#include "tools/inout/slabs.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *out;
    int frame, channel;
    double height, share, level;
    lob_slabs slabs; /* labels and, as labels of these, the image; cut for several tasks */

    lob_volume labels, image;
    lob_label_set basins;
    int32_t *to; /* of each basin, the label that it becomes */
    lob_basins_stats stats;
} work;

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    const bool many = lob_team_size(s->ranks) > 1 || w->slabs.plan > 0;
    const lob_rule rules[] = {
        {w->height == 0 && w->share == 0,
         "nothing would be joined: say with --height or --share how high walls are"                   },
        {w->share > 0 && isnan(w->level),            "--share needs --level, the value of a full wall"},
        {w->share == 0 && !isnan(w->level),          "--level belongs to --share"                     },
        {many && (w->frame >= 0 || w->channel >= 0),
         "--frame and --channel are for one task: take them out with lobule convert first"            },
    };
    LOB_TRY(LOB_RULES(s, rules));
    return many ? lob_session_cpu_alone(s, "several tasks join") : LOB_OK;
}

static lob_status read_inputs(lob_session *s, work *w)
{
    const char *const path = w->slabs.path, *const image = w->slabs.labels_path;
    LOB_TRY(lob_session_read(s, &w->labels, path, -1));
    LOB_TRY(lob_labels_dense(&w->labels, &w->basins, path, &s->error));
    LOB_TRY(lob_session_read(s, &w->image, image, w->frame));
    LOB_TRY(lob_grid_choose_channel(s, &w->image, w->channel, image));
    return lob_grid_match(s, &w->image, image, &w->labels, path, LOB_PART_NONE);
}

/* Planes that a task has from its own first one on. */
static void put_first(lob_volume *own, const lob_volume *v, const void *data, const lob_slab *slab)
{
    *own = *v;
    own->dims.nz = slab->image.dims.nz - (slab->z - slab->from);
    own->data = (char *)data + lob_slab_before(slab) * (int64_t)lob_type_of(v->type)->bytes;
}

static lob_status find(lob_session *s, work *w, const lob_slab *slab)
{
    const lob_basins_options options = {w->height, w->share, w->level};
    lob_volume labels = w->labels, image = w->image;
    if (slab) {
        put_first(&labels, &w->labels, w->labels.data, slab);
        put_first(&image, &w->slabs.labels, slab->labels, slab);
    }
    const lob_label_grid grid = {labels.data, labels.type, w->basins.count, labels.dims};
    if (slab)
        return lob_basins_slabs(w->to, &w->stats, &grid, &image, &options, s->team, &s->context,
                                &s->error);
    return s->backend->basins(w->to, &w->stats, &grid, &image, &options, &s->context, &s->error);
}

/* slab: a task's planes; NULL: it has all. */
static lob_status join(lob_session *s, work *w, const lob_slab *slab)
{
    const char *const path = w->slabs.path;
    const int64_t voxels = lob_voxels(&w->labels);
    w->to = malloc(((size_t)w->basins.count + 1) * sizeof *w->to);
    if (!w->to) return lob_session_no_memory(s, path);
    lob_session_compute(s, "joining");
    LOB_TRY(lob_session_name(s, find(s, w, slab), path, w->slabs.labels_path));
#pragma omp parallel for num_threads(s->context.threads) schedule(static)
    for (int64_t i = 0; i < voxels; i++)
        lob_label_put(w->labels.data, w->labels.type, i,
                      w->to[lob_label_at(w->labels.data, w->labels.type, i)]);
    lob_session_computed(s);
    if (lob_labels_restore(&w->labels, &w->basins) != LOB_OK) return lob_session_no_memory(s, path);
    return LOB_OK;
}

static void report(lob_session *s, const work *w)
{
    LOB_JSON_NUMBERS(s->results, {"labels_in", w->stats.basins}, {"labels", w->stats.left},
                     {"contacts", w->stats.contacts}, {"working_bytes", w->stats.working_bytes});
    lob_session_say(s, "basins: %lld; left: %lld", (long long)w->stats.basins,
                    (long long)w->stats.left);
}

static lob_status merge_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const lob_volume *const stored = &w->slabs.volume;
    const char *const path = w->slabs.path;
    const int64_t before = lob_slabs_sent(s);
    LOB_TRY(lob_slab_copy(s, &w->labels, stored, slab->image.data, slab->image.dims, path));
    LOB_TRY(lob_slab_labels(s, &w->labels, &w->basins, path));
    LOB_TRY(join(s, w, slab));
    LOB_TRY(lob_slabs_report_sent(s, before));
    report(s, w);
    LOB_TRY(lob_label_names_copy(&w->labels.names, &stored->names));
    return lob_slabs_write(s, &w->slabs, slab, &w->labels, w->out, true);
}

/* The labels again, and once more as they are written. */
static int64_t voxel_bytes(const lob_volume *labels)
{
    return (int64_t)lob_type_of(labels->type)->bytes + (int64_t)sizeof(int32_t);
}

static lob_status by_slabs(lob_session *s, work *w)
{
    lob_slabs *const slabs = &w->slabs;
    LOB_TRY(lob_slabs_open(s, slabs));
    LOB_TRY(lob_grid_one_channel(s, &slabs->volume, slabs->path));
    LOB_TRY(lob_slabs_cut(s, slabs, 1, 1, voxel_bytes(&slabs->volume),
                          (int64_t)lob_type_of(slabs->volume.type)->bytes));
    return slabs->plan > 0 ? LOB_OK : lob_slabs_each(s, slabs, merge_slab, w);
}

static lob_status in_memory(lob_session *s, work *w)
{
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(join(s, w, NULL));
    report(s, w);
    return lob_session_write(s, &w->labels, w->out, true);
}

static lob_status merge(lob_session *s, void *user)
{
    /* Bytes of a label that touches others, as it has some three contacts; however many tasks there
     * are, the first holds them all. */
    enum { A_LABEL = 300 };
    work *const w = user;
    lob_volume labels, image;
    if (s->ranks || w->slabs.plan > 0) return lob_slabs_close(s, &w->slabs, by_slabs(s, w));
    const lob_status st = in_memory(s, w);
    if (st == LOB_ENOMEM && w->frame < 0 && w->channel < 0 &&
        (int64_t)w->basins.count * A_LABEL < lob_session_left(s) + s->held &&
        lob_session_peek(s, &labels, w->slabs.path) &&
        lob_session_peek(s, &image, w->slabs.labels_path))
        lob_slabs_suggest(s, w->slabs.path, 1,
                          voxel_bytes(&labels) + (int64_t)lob_type_of(image.type)->bytes, 0);
    return st;
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
    *w = (work){
        .frame = -1,
        .channel = -1,
        .level = NAN,
        .slabs = {.frame = -1, .channel = -1, .at_once = true}
    };
    const lob_option rows[] = {
        OPERAND_LABELS(&w->slabs.path, "basins of a flood; 0 is no basin"),
        OPERAND_INPUT("IMAGE", &w->slabs.labels_path, LOB_FILE_IMAGE,
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
        OPT_PLAN(&w->slabs.plan),
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
        "The result has the same bytes on every machine and number of threads. Several tasks take "
        "neither --frame nor --channel.",
    .examples = "lobule merge basins.nii.gz membranes.nii.gz -o cells.nii.gz --height 12\n"
                "lobule merge basins.nii.gz valleys.nii.gz -o nuclei.nii.gz --share 0.2 --level 0",
    .result = "labels",
    LOB_COMMAND_PARTS(work, options, check, merge, release),
    .voxel_ns = 30,
    .shares = true,
    .only_prints = "plan",
};
