/* lobule maxima: find the local maxima of an image. */
#include "kernels/maxima/maxima_slabs.h"
#include "tools/commands/commands.h"
#include "tools/inout/slabs.h"
#include "tools/table/table_file.h"
#include "volumes/labels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *labels_path, *table, *name;
    int slices;
    lob_maxima_options options;
    lob_size apart;

    lob_slabs slabs;          /* image and mask, cut for several tasks */
    lob_volume image, labels; /* several tasks: the image's header alone */
    uint8_t *mask;
    lob_maxima_output result;
} work;

static lob_status check(lob_session *s, void *user)
{
    work *const w = user;
    const bool many = lob_team_size(s->ranks) > 1 || w->slabs.plan > 0;
    const lob_rule rules[] = {
        {!w->labels_path && !w->table,
         "nothing to write: name a label volume with -o or a table with --table"      },
        {w->name && !w->table,         "--name is for the table: add --table FILE.tsv"},
    };
    LOB_TRY(LOB_RULES(s, rules));
    LOB_TRY(lob_table_check(s, w->table, w->name));
    LOB_TRY(lob_grid_neighbours(s, &w->options.neighbours, w->slices));
    return many ? lob_session_cpu_alone(s, "several tasks find maxima") : LOB_OK;
}

static lob_status read_inputs(lob_session *s, work *w)
{
    lob_slabs *const slabs = &w->slabs;
    LOB_TRY(lob_session_read(s, &w->image, slabs->path, slabs->frame));
    LOB_TRY(lob_grid_choose_channel(s, &w->image, slabs->channel, slabs->path));
    LOB_TRY(lob_session_check(s, &w->image, LOB_I32, 1, w->labels_path));
    return lob_grid_mask(s, &w->mask, slabs->mask, &w->image, slabs->path);
}

/* slab: a task's planes; NULL: it has all. */
static lob_status find(lob_session *s, work *w, const lob_slab *slab)
{
    const lob_maxima_input in = {slab ? &slab->image : &w->image, slab ? slab->mask : w->mask};
    const char *const path = w->slabs.path;
    w->options.apart = w->apart.value;
    w->options.slice_axis = lob_grid_slice_axis(w->slices, &w->image.geometry);
    for (int a = 0; a < 3 && !w->apart.voxels; a++)
        w->options.spacing[a] = w->image.geometry.spacing_mm[a];
    LOB_TRY(lob_session_take(s, lob_product(lob_voxels(in.image), (int64_t)sizeof(int32_t), 1, 1),
                             path));
    lob_session_compute(s, "finding maxima");
    if (!slab)
        return lob_session_done(
            s, s->backend->maxima(&w->result, &in, &w->options, &s->context, &s->error), path,
            NULL);
    const lob_maxima_slab part = {s->team, w->image.dims.nz, slab->z - slab->from};
    return lob_session_done(
        s, lob_maxima_slabs(&w->result, &in, &w->options, &part, &s->context, &s->error), path,
        NULL);
}

/* ---- results ---- */

static const char *const columns[] = {"label", "x",    "y",     "z",     "x_mm",
                                      "y_mm",  "z_mm", "value", "voxels"};

static bool fill_row(double *row, int64_t i, const void *user)
{
    const work *w = user;
    const lob_maximum *m = &w->result.maxima[i];
    const lob_dims d = w->image.dims;
    const int64_t at[3] = {m->first % d.nx, m->first / d.nx % d.ny, m->first / d.nx / d.ny};
    const double voxel[3] = {(double)at[0], (double)at[1], (double)at[2]};
    *row++ = (double)(i + 1);
    for (int a = 0; a < 3; a++) *row++ = voxel[a];
    lob_voxel_to_world(row, &w->image.geometry, voxel);
    row += 3;
    *row++ = m->value;
    *row = (double)m->voxels;
    return true;
}

static lob_status write_labels(lob_session *s, work *w, const lob_slab *slab)
{
    void *data = w->result.labels;
    lob_volume like = w->image;
    if (slab) like.dims.nz = slab->planes;
    if (lob_volume_adopt(&w->labels, &like, &data, LOB_I32, 1) != LOB_OK)
        return lob_session_no_memory(s, w->labels_path);
    w->result.labels = NULL;
    lob_label_names_free(&w->labels.names); /* those of the image's own labels */
    LOB_TRY(lob_labels_pack(&w->labels, (int32_t)w->result.count));
    if (!slab) return lob_session_write(s, &w->labels, w->labels_path, true);
    lob_slab own = *slab; /* labels have no planes around */
    own.from = slab->z;
    return lob_slabs_write(s, &w->slabs, &own, &w->labels, w->labels_path, true);
}

static lob_status write_results(lob_session *s, work *w, const lob_slab *slab)
{
    const lob_table table = {
        .names = columns,
        .columns = LOB_COUNT(columns),
        .keys = 4,
        .scan = w->name,
        .rows = w->result.count,
        .row = fill_row,
        .user = w,
    };
    LOB_JSON_NUMBERS(s->results, {"maxima", w->result.count}, {"found", w->result.found},
                     {"working_bytes", w->result.working_bytes});
    if (w->table && lob_team_rank(s->team) == 0) LOB_TRY(lob_table_write(s, &table, w->table));
    return w->labels_path ? write_labels(s, w, slab) : LOB_OK;
}

/* ---- several tasks ---- */

static lob_status find_in_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const int64_t before = lob_slabs_sent(s);
    LOB_TRY(lob_slabs_check_mask(s, &w->slabs));
    LOB_TRY(find(s, w, slab));
    LOB_TRY(lob_slabs_report_sent(s, before));
    return write_results(s, w, slab);
}

/* Bytes of a voxel: tops, and labels with what joins them and once more. */
enum { WORKING = 1 + 3 * 4 };

/* What the first task holds of plateaus, if the image is noise: one in so many voxels is higher
 * than all around it. */
static int64_t plateaus_bytes(const work *w, const lob_volume *image)
{
    const int64_t each = w->options.height > 0 ? 200 : 96;
    return lob_voxels(image) / (w->options.neighbours + 1) * each;
}

static lob_status by_slabs(lob_session *s, work *w)
{
    lob_slabs *const slabs = &w->slabs;
    LOB_TRY(lob_slabs_open(s, slabs));
    LOB_TRY(lob_grid_is_chosen(s, &slabs->volume, slabs->path));
    LOB_TRY(lob_session_check(s, &slabs->volume, LOB_I32, 1, w->labels_path));
    w->image = slabs->volume;
    w->image.data = NULL;
    slabs->seam_bytes = 2 * (int64_t)sizeof(int32_t);
    slabs->first_bytes = plateaus_bytes(w, &w->image);
    LOB_TRY(lob_slabs_cut(s, slabs, LOB_MAXIMA_HALO, 1, WORKING,
                          w->labels_path ? (int64_t)sizeof(int32_t) : 0));
    return slabs->plan > 0 ? LOB_OK : lob_slabs_each(s, slabs, find_in_slab, w);
}

/* ---- the command ---- */

static lob_status in_memory(lob_session *s, work *w)
{
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(find(s, w, NULL));
    return write_results(s, w, NULL);
}

static lob_status maxima(lob_session *s, void *user)
{
    enum { MASK = 2 };
    work *const w = user;
    if (s->ranks || w->slabs.plan > 0) {
        const lob_status st = by_slabs(s, w);
        w->image = lob_volume_empty(); /* it was the file's */
        return lob_slabs_close(s, &w->slabs, st);
    }
    lob_volume image;
    const lob_status st = in_memory(s, w);
    if (st == LOB_ENOMEM && lob_session_peek(s, &image, w->slabs.path))
        lob_slabs_suggest(s, w->slabs.path, LOB_MAXIMA_HALO, WORKING + (w->slabs.mask ? MASK : 0),
                          plateaus_bytes(w, &image));
    return st;
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->labels);
    lob_maxima_output_free(&w->result);
    free(w->mask);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .slabs = {.frame = -1, .channel = -1, .at_once = true},
        .slices = -1,
        .options = lob_maxima_defaults(),
    };
    w->options.neighbours = -1;
    const lob_option rows[] = {
        OPERAND_INPUT("IMAGE", &w->slabs.path, LOB_FILE_IMAGE, "image, such as a map of distances",
                      .required = true),
        OPT_OUTPUT("output", &w->labels_path, LOB_FILE_LABELS,
                   "label volume to write: every voxel of a maximum has its number", .letter = 'o'),
        OPT_TABLE(&w->table, "table of the maxima to write"),
        OPT_REAL("above", &w->options.above, "T", -DBL_MAX, DBL_MAX,
                 "only maxima above this value; left out: all"),
        OPT_REAL("height", &w->options.height, "H", 0, DBL_MAX,
                 "only maxima at least so high: every way to a higher voxel goes down by this "
                 "much; image units"),
        OPT_LENGTH("distance", &w->apart, 0, 1e8,
                   "only maxima at least so far apart, the highest first, of equal ones the first"),
        OPT_NEIGHBOURS(&w->options.neighbours),
        OPT_CHOICE("slices", &w->slices, LOB_GRID_SLICES,
                   "look at every slice alone; x, y, z are voxel axes"),
        OPT_MASK(&w->slabs.mask,
                 "look only where this volume is not 0, as if there were no other voxels"),
        OPT_FRAME(&w->slabs.frame, "image"),
        OPT_CHANNEL(&w->slabs.channel),
        OPT_SCAN_NAME(&w->name),
        OPT_PLAN(&w->slabs.plan),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_maxima = {
    .name = "maxima",
    .summary = "find the local maxima of an image",
    .description =
        "A maximum is a voxel, or a plateau of voxels of one value that neighbours connect, "
        "without a higher neighbour. Maxima count from 1 in the order in which a raster scan, x "
        "fastest, first meets them. NaN and infinite voxels are left out, as is what --mask leaves "
        "out. Steps go in this order: --above; --height, which gives the h-maxima (scikit-image's "
        "h_maxima); --distance, between the first voxels of plateaus, in mm or as 5vox.\n"
        "The table has one row for each maximum: label, its first voxel x, y, z from 0, where this "
        "lies in mm of the image's world (x_mm, y_mm, z_mm, RAS+), its value, and how many voxels "
        "its plateau has.",
    .examples = "lobule distance cells.nii.gz -o mm.nii.gz --to other\n"
                "lobule maxima mm.nii.gz -o seeds.nii.gz --height 1 --above 2\n"
                "lobule maxima scan.nii.gz --table peaks.tsv --distance 10mm",
    .result = "maxima",
    LOB_COMMAND_PARTS(work, options, check, maxima, release),
    .voxel_ns = 100,
    .shares = true,
    .only_prints = "plan",
};
