/* lobule components: number the connected pieces of an image. */
#include "io/file.h"
#include "tools/commands.h"
#include "tools/grid.h"
#include "tools/region_table.h"
#include "tools/table_file.h"
#include "volumes/labels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *image, *labels, *mask, *intensities, *table;
    int frame, channel, neighbours, slices, order, label_of, type, largest;
    double above, range[2], tolerance;
    bool equal, fill_holes;
    lob_extent min_size, max_size;
} settings;

/* Everything on the grid, freed together. */
typedef struct {
    lob_volume image, intensities; /* the latter empty where there are none, or they are image's */
    uint8_t *mask;                 /* NULL: everything may be labelled */
    const lob_volume *measured;    /* the intensities; NULL: none */
    lob_components_options options;
    lob_components_result result;
    double *values; /* of the components, channel by channel; NULL unless the table wants them */
} work;

/* ---- options ---- */

/* What the option table cannot say: options that exclude or need one another. */
static lob_status check_settings(lob_session *s, settings *set)
{
    const bool above = isfinite(set->above), ranged = !isnan(set->range[0]);
    const struct {
        bool wrong;
        const char *text;
    } rules[] = {
        {above && ranged,                        "--above and --range exclude each other: --range LO,inf has an open end"},
        {set->equal && isfinite(set->tolerance),
         "--equal and --tolerance exclude each other: a tolerance of 0 is --equal"                                       },
        {set->label_of && !set->equal,
         "--label-of input keeps the values that --equal joins; add --equal"                                             },
        {set->label_of && set->order,
         "--order size numbers components, and --label-of input gives them no numbers; choose one"                       },
        {set->intensities && !set->table,        "--image is for the table; add --table FILE.tsv"                        },
    };
    for (size_t i = 0; i < LOB_COUNT(rules); i++)
        if (rules[i].wrong) return lob_fail(&s->error, LOB_EARG, "%s", rules[i].text);
    const lob_status st = lob_table_check(s, set->table);
    return st == LOB_OK ? lob_grid_neighbours(s, &set->neighbours, set->slices) : st;
}

/* Bounds of a size in whole voxels; what is on a bound but for rounding is inside. */
static lob_status size_bounds(lob_session *s, const settings *set, lob_components_options *options,
                              const lob_geometry *geometry)
{
    const double *mm = geometry->spacing_mm, voxel_mm3 = mm[0] * mm[1] * mm[2];
    const double rounding = 1e-6; /* headers hold spacings as float32 */
    if (isfinite(set->min_size.value)) {
        const double voxels = set->min_size.value / (set->min_size.mm3 ? voxel_mm3 : 1.0);
        options->min_voxels = (int64_t)fmin(ceil(voxels * (1.0 - rounding)), 0x1p62);
    }
    if (isfinite(set->max_size.value)) {
        const double voxels = set->max_size.value / (set->max_size.mm3 ? voxel_mm3 : 1.0);
        options->max_voxels = (int64_t)fmin(floor(voxels * (1.0 + rounding)), 0x1p62);
        if (options->max_voxels < 1)
            return lob_fail(&s->error, LOB_EARG,
                            "--max-size %.15g%s: a voxel of %s has %.6g mm3, so nothing would be "
                            "left",
                            set->max_size.value, set->max_size.mm3 ? "mm3" : "vox", set->image,
                            voxel_mm3);
        if (options->max_voxels < options->min_voxels)
            return lob_fail(&s->error, LOB_EARG,
                            "--max-size is below --min-size (%lld and %lld voxels), so nothing "
                            "would be left",
                            (long long)options->max_voxels, (long long)options->min_voxels);
    }
    return LOB_OK;
}

static lob_status make_options(lob_session *s, const settings *set, lob_components_options *options,
                               const lob_geometry *geometry)
{
    static const lob_type types[] = {LOB_TYPES, LOB_U8, LOB_I16, LOB_I32};
    *options = (lob_components_options)LOB_COMPONENTS_DEFAULTS;
    if (set->equal) options->join = LOB_JOIN_EQUAL;
    if (isfinite(set->tolerance)) {
        options->join = LOB_JOIN_TOLERANCE;
        options->tolerance = set->tolerance;
    }
    if (!isnan(set->range[0])) {
        options->ranged = true;
        memcpy(options->range, set->range, sizeof options->range);
    }
    if (isfinite(set->above)) {
        options->ranged = true;
        options->range[0] = nextafter(set->above, INFINITY);
    }
    options->neighbours = set->neighbours;
    options->slice_axis = lob_grid_slice_axis(set->slices, geometry);
    options->order = (lob_component_order)set->order;
    options->largest = set->largest;
    options->fill_holes = set->fill_holes;
    options->keep_values = set->label_of == 1;
    options->regions = set->table != NULL;
    options->type = types[set->type];
    return size_bounds(s, set, options, geometry);
}

/* ---- values of components ---- */

/* Is voxel i foreground? Its values, channel by channel, are put into values. */
static bool is_foreground(double *values, const work *w, int64_t i)
{
    const lob_volume *v = &w->image;
    bool inside = true, nonzero = false;
    for (int c = 0; c < v->channels; c++) {
        lob_values(&values[c], v->data, v->type, c * lob_voxels(v) + i, 1);
        values[c] = v->slope * values[c] + v->inter;
        inside &= isfinite(values[c]) && values[c] >= w->options.range[0] &&
                  values[c] <= w->options.range[1];
        nonzero |= values[c] != 0.0;
    }
    return (!w->mask || w->mask[i]) && inside && (w->options.ranged || nonzero);
}

/* What --equal joined: the values of each component's first voxel that is not of a filled hole. */
static lob_status find_values(lob_session *s, const settings *set, work *w)
{
    const lob_components_result *r = &w->result;
    const int channels = w->image.channels;
    if (!set->equal || !set->table) return LOB_OK;
    w->values = calloc((size_t)r->count + 1, (size_t)channels * sizeof *w->values);
    if (!w->values) return lob_fail(&s->error, LOB_ENOMEM, "%s: out of memory", set->table);
    for (int64_t k = 0; k < r->count; k++) {
        int64_t at = r->regions[k].first;
        const int32_t label = lob_label_at(r->labels, r->type, at);
        while (lob_label_at(r->labels, r->type, at) != label ||
               !is_foreground(&w->values[k * channels], w, at))
            at++;
    }
    return LOB_OK;
}

/* ---- results ---- */

static void report(lob_session *s, const settings *set, const work *w)
{
    const lob_components_result *r = &w->result;
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"voxels",               (double)lob_voxels(&w->image)},
        {"foreground_voxels",    (double)r->foreground        },
        {"not_finite_voxels",    (double)r->not_finite        },
        {"components_found",     (double)r->found             },
        {"components",           (double)r->count             },
        {"neighbours",           set->neighbours              },
        {"slice_axis",           w->options.slice_axis        },
        {"working_memory_bytes", (double)r->working_bytes     },
    };
    for (size_t i = 0; i < LOB_COUNT(rows); i++)
        cJSON_AddNumberToObject(s->results, rows[i].name, rows[i].value);
    cJSON_AddStringToObject(s->results, "type", lob_type_of(r->type)->name);
    if (r->not_finite > 0)
        lob_session_note(s, "%s: %lld voxels are NaN or infinite; they are background", set->image,
                         (long long)r->not_finite);
    if (r->found == 0)
        lob_session_note(s, "%s: has no foreground, so there is no component", set->image);
    else if (r->count == 0)
        lob_session_note(s, "%s: none of its %lld components is of the size asked for", set->image,
                         (long long)r->found);
    lob_session_say(s, "%lld components of %lld, %lld foreground voxels", (long long)r->count,
                    (long long)r->found, (long long)r->foreground);
}

/* The labels of the table's rows, where they are not 1, 2, 3, ...: the values they keep. */
static lob_status kept_labels(lob_session *s, const settings *set, int32_t **labels, const work *w)
{
    const int64_t count = w->result.count;
    if (!w->options.keep_values) return LOB_OK;
    *labels = malloc(((size_t)count + 1) * sizeof **labels);
    if (!*labels) return lob_fail(&s->error, LOB_ENOMEM, "%s: out of memory", set->table);
    for (int64_t i = 0; i < count; i++) (*labels)[i] = (int32_t)w->values[i];
    return LOB_OK;
}

static lob_status write_table(lob_session *s, const settings *set, const work *w)
{
    int32_t *labels = NULL;
    if (!set->table) return LOB_OK;
    lob_status st = kept_labels(s, set, &labels, w);
    const lob_volume *measured = w->measured;
    const lob_region_table table = {
        .regions = w->result.regions,
        .count = w->result.count,
        .labels = labels,
        .values = w->values,
        .channels = w->image.channels,
        .geometry = &w->image.geometry,
        .fine = measured ? &w->result.fine : NULL,
        .slope = measured ? measured->slope : 1.0,
        .inter = measured ? measured->inter : 0.0,
    };
    if (st == LOB_OK) st = lob_region_table_write(s, &table, set->table);
    free(labels);
    return st;
}

/* ---- in memory ---- */

/* The image's place in the world and its header with other voxels, which it takes over. */
static void make_labels(lob_volume *labels, work *w)
{
    *labels = w->image;
    labels->data = w->result.labels;
    labels->type = w->result.type;
    labels->channels = 1;
    labels->slope = 1.0;
    labels->inter = 0.0;
    labels->frames = 1;
    labels->frame = 0;
    free(w->image.data);
    w->image = (lob_volume)LOB_VOLUME_EMPTY;
    w->result.labels = NULL;
}

static lob_status read_inputs(lob_session *s, const settings *set, work *w)
{
    lob_status st = lob_session_read(s, &w->image, set->image, set->frame);
    if (st == LOB_OK) st = lob_grid_channel(s, &w->image, set->channel, set->image);
    if (st == LOB_OK) st = make_options(s, set, &w->options, &w->image.geometry);
    if (st == LOB_OK) st = lob_grid_mask(s, &w->mask, set->mask, &w->image, set->image);
    if (st != LOB_OK || !set->intensities) return st;
    if (w->image.channels == 1 && lob_same_file(set->image, set->intensities)) {
        w->measured = &w->image;
        return LOB_OK;
    }
    w->measured = &w->intensities;
    return lob_grid_read(s, &w->intensities, set->intensities, &w->image, set->image);
}

static lob_status join(lob_session *s, const settings *set, work *w)
{
    const lob_components_input in = {
        .image = &w->image, .mask = w->mask, .intensities = w->measured};
    lob_session_compute(s, "joining");
    lob_status st = s->backend->components(&w->result, &in, &w->options, &s->context, &s->error);
    if (st == LOB_EDATA || st == LOB_ENOMEM) {
        const lob_error reason = s->error; /* which knows of no files */
        lob_fail(&s->error, st, "%s: %.900s", set->image, reason.text);
    }
    if (st == LOB_OK) st = find_values(s, set, w);
    if (st == LOB_OK) lob_session_computed(s);
    return st;
}

static lob_status in_memory(lob_session *s, const settings *set, work *w)
{
    lob_volume labels = LOB_VOLUME_EMPTY;
    lob_status st = read_inputs(s, set, w);
    if (st == LOB_OK) st = join(s, set, w);
    if (st != LOB_OK) return st;
    report(s, set, w);
    st = write_table(s, set, w);
    if (st != LOB_OK) return st;
    /* Labels come last: where they are, the table is complete. */
    make_labels(&labels, w);
    st = lob_session_write(s, &labels, set->labels, true);
    lob_volume_free(&labels);
    return st;
}

static lob_status components(lob_session *s, settings *set)
{
    work w = {.image = LOB_VOLUME_EMPTY, .intensities = LOB_VOLUME_EMPTY};
    lob_status st = check_settings(s, set);
    if (st == LOB_OK) st = lob_session_device(s);
    if (st == LOB_OK) st = in_memory(s, set, &w);
    lob_volume_free(&w.image);
    lob_volume_free(&w.intensities);
    lob_components_free(&w.result);
    free(w.mask);
    free(w.values);
    return st;
}

static int run(const lob_command *self, int argc, char **argv)
{
    settings set = {
        .frame = -1,
        .channel = -1,
        .neighbours = -1,
        .slices = -1,
        .above = INFINITY,
        .range = {NAN, NAN},
        .tolerance = INFINITY,
        .min_size = {.value = INFINITY  },
        .max_size = {.value = INFINITY},
    };
    const lob_option rows[] = {
        OPERAND_INPUT("IMAGE", &set.image, LOB_FILE_IMAGE,
                      "scan, mask or labels, or FILE.h5:/dataset", .required = true),
        OPT_OUTPUT("output", &set.labels, LOB_FILE_LABELS, "label volume to write", .letter = 'o',
                   .required = true),
        OPT_REAL("above", &set.above, "T", -DBL_MAX, DBL_MAX,
                 "foreground is what is above this value; left out: what is not 0"),
        OPT_PAIR("range", &set.range, -INFINITY, INFINITY,
                 "foreground is what is in this range; inf and -inf leave an end open"),
        OPT_FLAG("equal", &set.equal, "join only neighbours of equal value"),
        OPT_REAL("tolerance", &set.tolerance, "D", 0, DBL_MAX,
                 "join only neighbours whose values differ by at most this, summed over channels"),
        OPT_INT_OF("neighbours", &set.neighbours, "4|6|8|18|26",
                   "neighbours of a voxel; left out: 26, with --slices 8"),
        OPT_CHOICE("slices", &set.slices, LOB_GRID_SLICES,
                   "treat every slice as an image of its own; x, y, z are voxel axes"),
        OPT_CHOICE("order", &set.order, "raster|size",
                   "number components as a raster scan meets them, or the largest first"),
        OPT_EXTENT("min-size", &set.min_size, 0, 0x1p62,
                   "take out components smaller than this; as 100vox or 50mm3, a bare number is in "
                   "voxels"),
        OPT_EXTENT("max-size", &set.max_size, 0, 0x1p62, "take out components larger than this",
                   .above_low = true),
        OPT_INT(
            "largest", &set.largest, "K", 1, INT32_MAX,
            "of the components that are left keep only the K largest; of equal ones, the first"),
        OPT_FLAG("fill-holes", &set.fill_holes,
                 "give holes inside a component to it: background that reaches no border"),
        OPT_CHOICE(
            "label-of", &set.label_of, "component|input",
            "what a voxel's label is: its component's number, or, with --equal, its own value"),
        OPT_CHOICE("type", &set.type, "auto|uint8|int16|int32",
                   "type of the labels; auto is the first that holds the largest"),
        OPT_INPUT("mask", &set.mask, LOB_FILE_LABELS, "foreground only where this volume is not 0"),
        OPT_INT("frame", &set.frame, "N", 0, INT32_MAX,
                "time frame of the image, from 0; needed when there are several"),
        OPT_INT("channel", &set.channel, "N", 0, INT32_MAX,
                "use this channel of the image alone, from 0; left out: all"),
        OPT_OUTPUT("table", &set.table, LOB_FILE_TABLE,
                   "also write a table of the components: FILE.tsv, FILE.json, or - for standard "
                   "output"),
        OPT_INPUT("image", &set.intensities, LOB_FILE_IMAGE,
                  "intensities for the table, on the image's grid; may be IMAGE itself"),
    };
    lob_session s;
    if (!lob_session_begin(&s, self, rows, LOB_COUNT(rows), argc, argv)) return s.exit_code;
    return lob_session_end(&s, components(&s, &set));
}

const lob_command lob_command_components = {
    .name = "components",
    .summary = "number the connected pieces of an image",
    .description =
        "Foreground is what is not 0, or what --above or --range say; of several channels one that "
        "is not 0 is enough, and a range must hold in all. Neighbours in the foreground are "
        "joined, "
        "with --equal or --tolerance only when their values agree; what is joined is a component. "
        "Components count from 1 in the order in which a raster scan, x fastest, first meets them. "
        "NaN and infinite voxels are background.\n"
        "Sizes are looked at once everything is joined: --min-size and --max-size first, then "
        "--largest; what is left is numbered without gaps, and then holes are filled.\n"
        "The table has one row for each component: label; value (with --equal); voxels; "
        "volume_mm3; the bounding box bbox_x_min to bbox_z_max in voxels from 0, both ends inside; "
        "the centroid in voxels (centroid_x, _y, _z) and in mm of the image's world "
        "(centroid_x_mm, ..., RAS+); with --image, min, mean, max and standard deviation (sd, "
        "divided by the number of voxels) of its intensities. As TSV the first row holds these "
        "names and n/a stands for what is missing; as JSON it is an array of objects, and null.\n"
        "The label volume keeps the image's header. Labels and table are the same bytes on every "
        "machine, device and number of threads.",
    .examples = "lobule components mask.nii.gz -o pieces.nii.gz\n"
                "lobule components scan.nii.gz -o bright.nii.gz --above 200 --min-size 50mm3 "
                "--table bright.tsv --image scan.nii.gz\n"
                "lobule components labels.nii.gz -o largest.nii.gz --equal --largest 1",
    .run = run,
};
