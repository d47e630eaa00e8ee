/* lobule components: number the connected pieces of an image. */
#include "io/file.h"
#include "tools/commands/commands.h"
#include "tools/commands/components/components_work.h"
#include "tools/session/ranks.h"
#include "tools/table/region_columns.h"
#include "tools/table/table_file.h"
#include "volumes/free.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef lob_components_work work;

/* What the option table cannot say: options that exclude or need one another. */
static lob_status check(lob_session *s, void *user)
{
    work *const w = user;
    const bool above = isfinite(w->above), ranged = !isnan(w->range[0]);
    const bool input = w->label_of == 1, many = lob_team_size(s->ranks) > 1 || w->slabs.plan > 0;
    const lob_rule rules[] = {
        {above && ranged,                    "--above and --range exclude each other"                          },
        {w->equal && isfinite(w->tolerance), "--equal and --tolerance exclude each other"                      },
        {input && !w->equal,                 "--label-of input keeps the values of --equal: add --equal"       },
        {input && w->order,                  "--label-of input gives no numbers, --order size does: choose one"},
        {w->intensities_path && !w->table,   "--image is for the table: add --table FILE.tsv"                  },
        {w->columns && !w->table,            "--columns are of the table: add --table FILE.tsv"                },
        {w->name && !w->table,               "--name is for the table: add --table FILE.tsv"                   },
        {many && w->fill_holes,              "--fill-holes needs the whole volume: start one task"             },
        {many && w->equal && w->table,       "a table of --equal needs the whole volume: start one task"       },
    };
    LOB_TRY(LOB_RULES(s, rules));
    LOB_TRY(lob_table_check(s, w->table, w->name));
    LOB_TRY(lob_region_columns_check(s, w->columns));
    return lob_grid_neighbours(s, &w->neighbours, w->slices);
}

/* ---- in memory ---- */

static lob_status read_inputs(lob_session *s, work *w)
{
    LOB_TRY(lob_session_read(s, &w->image, w->slabs.path, w->slabs.frame));
    LOB_TRY(lob_grid_channel(s, &w->image, w->slabs.channel, w->slabs.path));
    if (w->label_of != 1) lob_label_names_free(&w->image.names); /* pieces are new labels */
    LOB_TRY(lob_components_work_options(s, w));
    LOB_TRY(lob_grid_mask(s, &w->mask, w->slabs.mask, &w->image, w->slabs.path));
    if (!w->intensities_path) return LOB_OK;
    const bool own = w->image.channels == 1 && lob_same_file(w->slabs.path, w->intensities_path);
    w->measured = own ? &w->image : &w->intensities;
    if (own) return LOB_OK;
    return lob_grid_read(s, &w->intensities, w->intensities_path, &w->image, w->slabs.path);
}

static lob_status join(lob_session *s, work *w)
{
    const lob_components_input in = {
        .image = &w->image, .mask = w->mask, .intensities = w->measured};
    const int64_t max = lob_product(lob_voxels(&w->image), lob_components_label_bytes(w), 1, 1);
    LOB_TRY(lob_session_take(s, max, w->labels_path));
    lob_session_compute(s, "joining");
    const lob_status st =
        s->backend->components(&w->result, &in, &w->options, &s->context, &s->error);
    LOB_TRY(lob_session_name(s, st, w->slabs.path, NULL));
    lob_session_give(s, max - lob_voxels(&w->image) * (int64_t)lob_type_of(w->result.type)->bytes);
    lob_components_work_hold(s, w);
    LOB_TRY(lob_components_work_make_values(s, w));
    lob_components_work_take_values(w, &w->image, 0);
    lob_session_computed(s);
    return LOB_OK;
}

static lob_status in_memory(lob_session *s, work *w)
{
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(join(s, w));
    lob_components_work_report(s, w);
    LOB_TRY(lob_components_work_table(s, w));
    /* Labels are written last: if they exist, the table is complete. */
    if (lob_volume_adopt(&w->labels, &w->image, &w->result.labels, w->result.type, 1) != LOB_OK)
        return lob_session_no_memory(s, w->labels_path);
    LOB_VOLUMES_FREE(&w->image);
    return lob_session_write(s, &w->labels, w->labels_path, true);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->intensities, &w->labels);
    lob_components_output_free(&w->result);
    LOB_FREE(w->values, w->kept, w->mask);
    w->values = NULL;
    w->kept = NULL;
    w->mask = NULL;
}

/* Is there so much memory that the first attempt is the last? */
static bool is_ample(const lob_session *s, int64_t need, int64_t memory)
{
    const lob_device *device = s->context.device;
    if (device && lob_device_free_bytes(device) < memory) memory = lob_device_free_bytes(device);
    return need >= 0 && need <= memory / 4;
}

/* Does it read volumes of a recipe? These can be read once. */
static bool has_stored(const lob_session *s, const work *w)
{
    return lob_session_is_stored(s, w->slabs.path) || lob_session_is_stored(s, w->slabs.mask) ||
           lob_session_is_stored(s, w->intensities_path);
}

/* In one piece where it fits in memory, else some planes at a time. */
static lob_status components(lob_session *s, void *user)
{
    work *const w = user;
    const int64_t memory = s->max_memory > 0 ? lob_session_memory(s)
                                             : lob_memory_available() / 10 * 9 / lob_ranks_here();
    if (s->ranks || w->slabs.plan > 0) { /* each has its planes, a few at a time if need be */
        LOB_TRY(lob_session_device(s));
        return lob_components_by_planes(s, w, memory);
    }
    const int64_t need = lob_components_bytes_needed(s, w);
    if (has_stored(s, w)) LOB_TRY(lob_session_device(s)); /* for its memory */
    if (!is_ample(s, need, memory)) s->reads_again = true;
    const bool fits = need >= 0 && need <= memory;
    const lob_status st = w->fill_holes || fits ? in_memory(s, w) : LOB_ENOMEM;
    if (st != LOB_ENOMEM) return st;
    if (w->fill_holes) {
        lob_error_add(&s->error, "; with --fill-holes it is not worked on in parts");
        return st;
    }
    release(w);
    lob_session_forget(s);
    LOB_TRY(lob_session_device(s));
    return lob_components_by_planes(s, w, memory);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .slabs = {.frame = -1,      .channel = -1, .at_once = true},
        .neighbours = -1,
        .slices = -1,
        .above = INFINITY,
        .range = {NAN, NAN},
        .tolerance = INFINITY,
        .min_size = {.value = INFINITY             },
        .max_size = {.value = INFINITY               },
    };
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->slabs.path, "scan, mask or labels"),
        OPT_LABELS_OUTPUT(&w->labels_path),
        OPT_REAL("above", &w->above, "T", -DBL_MAX, DBL_MAX,
                 "foreground is what is above this value; left out: what is not 0"),
        OPT_PAIR("range", &w->range, -INFINITY, INFINITY,
                 "foreground is what is in this range; inf and -inf leave an end open"),
        OPT_FLAG("equal", &w->equal, "join only neighbours of equal value"),
        OPT_REAL("tolerance", &w->tolerance, "D", 0, DBL_MAX,
                 "join only neighbours whose values differ by at most this, summed over channels"),
        OPT_NEIGHBOURS(&w->neighbours),
        OPT_SLICES(&w->slices),
        OPT_CHOICE("order", &w->order, "raster|size",
                   "number components as a raster scan meets them, or the largest first"),
        OPT_EXTENT("min-size", &w->min_size, 0, 0x1p62,
                   "take out components smaller than this; as 100vox, 50mm3, 5ml or 5um3"),
        OPT_EXTENT("max-size", &w->max_size, 0, 0x1p62, "take out components larger than this",
                   .above_low = true),
        OPT_INT(
            "largest", &w->largest, "K", 1, INT32_MAX,
            "of the components that are left keep only the K largest; of equal ones, the first"),
        OPT_FLAG("fill-holes", &w->fill_holes,
                 "give holes inside a component to it: background that reaches no border of the "
                 "volume, or with --slices of its slice; an axis of one voxel has none"),
        OPT_CHOICE(
            "label-of", &w->label_of, "component|input",
            "what a voxel's label is: its component's number, or, with --equal, its own value"),
        OPT_CHOICE("type", &w->type, "auto|uint8|int16|int32",
                   "type of the labels; auto is the first that holds the largest"),
        OPT_MASK(&w->slabs.mask, "foreground only where this volume is not 0"),
        OPT_FRAME(&w->slabs.frame, "image"),
        OPT_INT("channel", &w->slabs.channel, "N", 0, INT32_MAX,
                "use this channel of the image alone, from 0; left out: all"),
        OPT_TABLE(&w->table, "also write a table of the components"),
        OPT_SCAN_NAME(&w->name),
        OPT_REGION_COLUMNS(&w->columns),
        OPT_INPUT("image", &w->intensities_path, LOB_FILE_IMAGE,
                  "intensities for the table, on the image's grid; may be IMAGE itself"),
        OPT_PLAN(&w->slabs.plan),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_components = {
    .name = "components",
    .summary = "number the connected pieces of an image",
    .description =
        "Foreground is what is not 0, or what --above or --range say; of several channels one that "
        "is not 0 is enough, and a range must hold in all. Neighbours in the foreground are "
        "joined, with --equal or --tolerance only when their values agree; what is joined is a "
        "component. Components count from 1 in the order in which a raster scan, x fastest, first "
        "meets them. NaN and infinite voxels are background. What is compared with --above, "
        "--range and --tolerance is slope * stored + inter in doubles, as nibabel gives it, but "
        "float32s that are not scaled as they are, with these options rounded to float32, as numpy "
        "does.\n"
        "Sizes are looked at once everything is joined: --min-size and --max-size first, then "
        "--largest; what is left is numbered without gaps, and then holes are filled, whatever is "
        "in them: components just taken out, what is NaN, or where --mask is 0.\n"
        "The table has one row for each component: label, which with --label-of input several rows "
        "may share; value (with --equal; of several channels value_0, value_1, ...); "
        "voxels; " LOB_REGION_TOLD
        "with --image, min, mean, max and standard deviation (sd, divided by the number of voxels) "
        "of its intensities; " LOB_TABLE_TOLD
        "The label volume keeps the image's header. Labels and table are the same bytes on every "
        "machine, device and number of threads.",
    .examples = "lobule components mask.nii.gz -o pieces.nii.gz\n"
                "lobule components scan.nii.gz -o bright.nii.gz --above 200 --min-size 50mm3 "
                "--table bright.tsv --image scan.nii.gz\n"
                "lobule components labels.nii.gz -o largest.nii.gz --equal --largest 1",
    .result = "components",
    LOB_COMMAND_PARTS(work, options, check, components, release),
    .voxel_ns = 50,
    .shares = true,
    .spreads = true,
    .only_prints = "plan",
};
