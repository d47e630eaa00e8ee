/* lobule supervoxels: cut an image into small connected pieces of like intensity and size. */
#include "io/png.h"
#include "kernels/regions/contacts.h"
#include "tools/commands/commands.h"
#include "tools/commands/level_use.h"
#include "tools/inout/grid.h"
#include "tools/table/region_table.h"
#include "tools/table/table_file.h"
#include "tools/text/json_text.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest --size. */
static const double longest_mm = 1e8;

enum { LAB_AUTO, LAB_ON, LAB_OFF }; /* in the order of the option's words */

/* In CIELAB a visible difference is a small part of the range, so intensities weigh differently. */
#define LAB_COMPACTNESS 0.1

typedef struct {
    const char *image, *labels, *mask;
    const char *mean, *boundaries, *table, *graph, *name, *columns;
    int frame, method, count, iterations, slices, lab;
    double compactness, ratio, smallest, range[2];
    lob_size size;
    bool until_still;
    char compactness_help[160], ratio_help[120]; /* of options whose defaults depend */
} settings;

/* Everything on the grid, freed together. */
typedef struct {
    settings set; /* first */
    lob_volume image, labels;
    uint8_t *mask; /* NULL: everything may be cut */
    lob_supervoxels_options options;
    lob_supervoxels_stats stats;

    /* on request */
    lob_volume mean, boundaries;
    double *means; /* supervoxels times channels */
    lob_contact *contacts;
    int64_t contact_count;
    lob_region_table regions;
} work;

/* What the option table cannot say: options that exclude or need one another. */
static lob_status check(lob_session *s, void *user)
{
    const settings *const set = user;
    const bool sized = isfinite(set->size.value), counted = set->count > 0;
    if (sized == counted)
        return lob_fail(&s->error, LOB_EARG,
                        sized ? "--size and --count both say how large supervoxels are; give one"
                              : "how large are supervoxels to be? Give --size, as 8mm or 12vox, or "
                                "--count");
    const bool both = set->table && set->graph;
    const lob_rule rules[] = {
        {isfinite(set->compactness) && set->method != LOB_SLIC,
         "--compactness belongs to --method slic"                                                                    },
        {isfinite(set->ratio) && set->method != LOB_LSC,                            "--ratio belongs to --method lsc"},
        {both && strcmp(set->table,                                                 "-") == 0 && strcmp(set->graph,    "-") == 0,
         "--table - and --graph - both go to standard output; write one to a file"},
        {set->name && !set->table && !set->graph, "--name is for tables: add --table or --graph"                                 },
        {set->columns && !set->table,                           "--columns are of the table: add --table FILE.tsv"                          },
    };
    LOB_TRY(LOB_RULES(s, rules));
    LOB_TRY(lob_table_check(s, set->table, set->name));
    LOB_TRY(lob_region_columns_check(s, set->columns));
    return lob_table_check(s, set->graph, NULL);
}

/* ---- the kernel's options ---- */

/* Are the channels compared in CIELAB? */
static lob_status choose_lab(lob_session *s, const settings *set, bool *lab,
                             const lob_volume *image)
{
    const bool colour = image->channels == 3 && image->type == LOB_U8;
    *lab = set->lab == LAB_ON || (set->lab == LAB_AUTO && colour);
    if (*lab && !colour)
        return lob_fail_file(&s->error, LOB_EDATA, set->image,
                             "--lab on needs three channels of uint8; it has %d of %s",
                             image->channels, lob_type_of(image->type)->name);
    return LOB_OK;
}

/* A side in voxels as mm: the side of a cube (in slices, a square) of as many voxels. */
static double side_mm(lob_size size, int slice_axis, const lob_volume *image)
{
    double mm = 1.0;
    int axes = 0;
    if (!size.voxels) return size.value;
    for (int a = 0; a < 3; a++) {
        if (a == slice_axis || lob_side(image->dims, a) == 1) continue;
        mm *= image->geometry.spacing_mm[a];
        axes++;
    }
    return size.value * (axes ? pow(mm, 1.0 / axes) : 1.0);
}

/* Choose the kernel's options, once the image is there. */
static lob_status choose(lob_session *s, work *w)
{
    const settings *const set = &w->set;
    lob_supervoxels_options *o = &w->options;
    *o = lob_supervoxels_defaults();
    LOB_TRY(choose_lab(s, set, &o->lab, &w->image));
    o->method = (lob_supervoxels_method)set->method;
    o->slice_axis = lob_grid_slice_axis(set->slices, &w->image.geometry);
    if (set->count > 0)
        o->count = set->count;
    else
        o->size_mm = side_mm(set->size, o->slice_axis, &w->image);
    if (o->lab) o->compactness = LAB_COMPACTNESS;
    if (isfinite(set->compactness)) o->compactness = set->compactness;
    if (isfinite(set->ratio)) o->ratio = set->ratio;
    o->iterations = set->iterations;
    o->until_still = set->until_still;
    o->smallest = set->smallest;
    memcpy(o->range, set->range, sizeof o->range);
    return LOB_OK;
}

/* ---- the report ---- */

/* Sizes that are most likely typing errors. */
static void report_odd_size(lob_session *s, const work *w)
{
    const settings *const set = &w->set;
    const lob_dims dims = w->image.dims;
    const int across = w->options.slice_axis;
    const char *const where = across < 0 ? "the volume" : "a slice";
    bool one = true, under = true, flat = true;
    for (int a = 0; a < 3; a++) {
        if (a == across || lob_side(dims, a) == 1) continue;
        flat = false;
        one &= w->stats.cells[a] == 1;
        under &= w->stats.size_mm < w->image.geometry.spacing_mm[a];
    }
    const int64_t slices = across < 0 ? 1 : lob_side(dims, across);
    const double voxels = (double)w->stats.data_voxels / (double)slices;
    if (set->count > 0 && set->count > voxels)
        lob_session_note(s, "%s: --count %d is more than the voxels of %s (%.6g)", set->image,
                         set->count, where, voxels);
    else if (set->count == 0 && !flat && (one || under))
        lob_session_note(s, "%s: with --size %.6g%s %s", set->image, set->size.value,
                         set->size.voxels ? "vox" : "mm",
                         under        ? "a supervoxel is smaller than a voxel"
                         : across < 0 ? "all of the volume starts as one supervoxel"
                                      : "all of a slice starts as one supervoxel");
}

/* Fill in the report; note what the user should know. */
static void report(lob_session *s, const work *w)
{
    const settings *const set = &w->set;
    const lob_supervoxels_stats *stats = &w->stats;
    const lob_supervoxels_options *o = &w->options;
    const lob_number rows[] = {
        {"voxels",               (double)lob_voxels(&w->image)},
        {"data_voxels",          (double)stats->data_voxels   },
        {"not_finite_voxels",    (double)stats->not_finite    },
        {"supervoxels",          (double)stats->supervoxels   },
        {"size_mm",              stats->size_mm               },
        {"cells_x",              (double)stats->cells[0]      },
        {"cells_y",              (double)stats->cells[1]      },
        {"cells_z",              (double)stats->cells[2]      },
        {"slice_axis",           o->slice_axis                },
        {"iterations",           stats->iterations            },
        {"pieces",               (double)stats->fragments     },
        {"working_memory_bytes", (double)stats->working_bytes },
    };
    lob_json_numbers(s->results, rows, LOB_COUNT(rows));
    cJSON_AddBoolToObject(s->results, "lab", o->lab);
    if (o->method == LOB_SLIC) cJSON_AddNumberToObject(s->results, "compactness", o->compactness);
    if (o->method == LOB_LSC) cJSON_AddNumberToObject(s->results, "ratio", o->ratio);
    lob_session_note_not_finite(s, set->image, stats->not_finite, "these stay without a label");
    report_odd_size(s, w);
    lob_session_say(
        s, "supervoxels: %lld; data voxels: %lld; cells of the grid: %lld x %lld x %lld",
        (long long)stats->supervoxels, (long long)stats->data_voxels, (long long)stats->cells[0],
        (long long)stats->cells[1], (long long)stats->cells[2]);
}

/*
 * Intensities weigh by their share of the range, so a few extreme values let position alone decide:
 * warn. With slic and lsc this is so where 99 % of the voxels differ by less than the weight of one
 * side of distance (the usual weight, if a larger one is given on purpose); with slico, which finds
 * that weight itself, where they share few levels.
 */
static lob_status report_crowding(lob_session *s, const work *w)
{
    const settings *const set = &w->set;
    enum { FEW_LEVELS = 64 };
    const lob_supervoxels_options *o = &w->options;
    const lob_data data = {
        .image = &w->image, .mask = w->mask, .range = {o->range[0], o->range[1]}
    };
    static const char *const weights[] = {" or a smaller --compactness", "",
                                          " or a smaller --ratio"};
    const lob_supervoxels_options usual = lob_supervoxels_defaults();
    lob_value_spread spread;
    if (o->lab) return LOB_OK; /* its units are fixed */
    const double start_s = lob_clock_s();
    if (lob_value_spread_of(&spread, &data, s->context.threads) != LOB_OK)
        return lob_session_no_memory(s, set->image);
    lob_session_stage(s, "prepare", start_s);

    const double range_of_99 = spread.of_99_percent[1] - spread.of_99_percent[0];
    const double whole = spread.range[1] - spread.range[0];
    const double share =
        o->method == LOB_LSC ? usual.compactness * o->ratio / usual.ratio : o->compactness;
    const bool few = !spread.exact && range_of_99 < FEW_LEVELS * spread.level_step;
    const bool light =
        o->method != LOB_SLICO && range_of_99 < fmin(share, usual.compactness) * whole;
    if (range_of_99 > 0.0 && (few || light))
        lob_session_note(s,
                         "%s: 99 %% of the voxels lie in %.6g to %.6g, %.2g %% of the range from "
                         "%.6g to %.6g by which intensities weigh; give --range LO,HI%s",
                         set->image, spread.of_99_percent[0], spread.of_99_percent[1],
                         100.0 * range_of_99 / whole, spread.range[0], spread.range[1],
                         few ? "" : weights[o->method]);
    return LOB_OK;
}

/* ---- what is shown beside the labels ---- */

/* Means are float32; in a picture they are rounded, in the image's own units. */
static lob_status paint_means(lob_session *s, work *w, const lob_label_grid *grid)
{
    const bool picture = lob_is_png_name(w->set.mean);
    LOB_TRY(lob_grid_make(s, &w->mean, &w->image, picture ? w->image.type : LOB_F32,
                          w->image.channels, w->set.mean));
    lob_label_names_free(&w->mean.names);
    if (picture) {
        w->mean.slope = w->image.slope;
        w->mean.inter = w->image.inter;
    }
    lob_paint_means(&w->mean, grid, w->means, s->context.threads);
    return LOB_OK;
}

static lob_status find_contacts(lob_session *s, work *w, const lob_label_grid *grid)
{
    const lob_status st =
        lob_contacts(&w->contacts, &w->contact_count, grid, &w->image.geometry, w->means,
                     w->image.channels, w->options.slice_axis, &s->context, &s->error);
    lob_session_hold(s, w->contact_count * (int64_t)sizeof *w->contacts);
    return lob_session_name(s, st, w->set.image, NULL);
}

static lob_status find_means(lob_session *s, work *w, const lob_label_grid *grid)
{
    const size_t each = (size_t)w->image.channels * sizeof *w->means;
    w->means = lob_session_array(s, grid->count, each, w->set.labels);
    if (!w->means) return LOB_ENOMEM;
    const lob_status st = lob_label_means(w->means, grid, &w->image, &s->context, &s->error);
    return lob_session_name(s, st, w->set.image, NULL);
}

/* Measure what tables, means and boundaries show, as far as they are asked for. */
static lob_status measure(lob_session *s, work *w)
{
    const settings *const set = &w->set;
    const lob_label_grid grid = {
        .labels = w->labels.data,
        .type = w->labels.type,
        .count = w->stats.supervoxels,
        .dims = w->labels.dims,
    };
    lob_session_compute(s, "measuring");
    if (set->mean || set->graph) LOB_TRY(find_means(s, w, &grid));
    if (set->mean) LOB_TRY(paint_means(s, w, &grid));
    if (set->boundaries) {
        LOB_TRY(lob_grid_make(s, &w->boundaries, &w->image, LOB_U8, 1, set->boundaries));
        lob_label_names_free(&w->boundaries.names);
        lob_paint_boundaries(w->boundaries.data, &grid, w->options.slice_axis, s->context.threads);
    }
    if (set->graph) LOB_TRY(find_contacts(s, w, &grid));
    lob_session_computed(s);
    w->regions = (lob_region_table){.grid = &w->labels,
                                    .image = w->image.channels == 1 ? &w->image : NULL,
                                    .count = grid.count,
                                    .scan = set->name,
                                    .columns = set->columns};
    return set->table ? lob_region_table_measure(s, &w->regions, set->image, NULL) : LOB_OK;
}

/* What the rows of the graph are made of. */
typedef struct {
    const lob_contact *contacts;
    double per_mm2; /* of the unit of areas */
} graph;

static bool contact_row(double *values, int64_t i, const void *user)
{
    const graph *const g = user;
    const lob_contact *const c = &g->contacts[i];
    values[0] = c->a;
    values[1] = c->b;
    values[2] = (double)(c->faces[0] + c->faces[1] + c->faces[2]);
    values[3] = c->mm2 * g->per_mm2;
    values[4] = c->difference;
    return true;
}

/* Write the tables that are asked for. */
static lob_status write_tables(lob_session *s, const work *w)
{
    const settings *const set = &w->set;
    const bool um = lob_shows_micrometres(&w->image.geometry);
    const char *const names[] = {"label_a", "label_b", "faces", um ? "area_um2" : "area_mm2",
                                 "mean_difference"};
    const graph touching = {w->contacts, um ? 1e6 : 1.0};
    const lob_table contacts = {
        .names = names,
        .columns = LOB_COUNT(names),
        .scan = set->name,
        .rows = w->contact_count,
        .row = contact_row,
        .user = &touching,
    };
    if (set->table) LOB_TRY(lob_region_table_write(s, &w->regions, set->table));
    return set->graph ? lob_table_write(s, &contacts, set->graph) : LOB_OK;
}

/* ---- cutting ---- */

/* Can the outputs' formats hold the results? A mean written as a picture has the image's type.
 */
static lob_status check_outputs(lob_session *s, const settings *set, const lob_volume *image)
{
    if (set->mean && lob_is_png_name(set->mean))
        LOB_TRY(lob_check_volume(image, set->mean, &s->error));
    LOB_TRY(lob_session_check(s, image, LOB_U8, 1, set->boundaries));
    return lob_session_check(s, image, LOB_I32, 1, set->labels);
}

/* A spacing that no --size comes near, one far below an atom, or kilometres beside micrometres are
 * a damaged header's. */
static lob_status check_spacing(lob_session *s, const settings *set, const lob_volume *image)
{
    const double shortest_mm = 1e-12, most_uneven = 1e9;
    const double *const mm = image->geometry.spacing_mm;
    double least = INFINITY, most = 0;
    const char *what = NULL;
    for (int a = 0; a < 3; a++) {
        if (lob_side(image->dims, a) == 1) continue;
        if (!(mm[a] >= shortest_mm && mm[a] <= longest_mm)) what = mm[a] < 1 ? "small" : "large";
        least = fmin(least, mm[a]);
        most = fmax(most, mm[a]);
    }
    if (!what && most > most_uneven * least) what = "uneven";
    if (!what) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, set->image,
                         "voxels of %g x %g x %g mm are too %s to be meant; correct the spacing in "
                         "its header",
                         mm[0], mm[1], mm[2], what);
}

static lob_status read_inputs(lob_session *s, const settings *set, work *w)
{
    LOB_TRY(lob_session_read(s, &w->image, set->image, set->frame));
    LOB_TRY(check_spacing(s, set, &w->image));
    LOB_TRY(check_outputs(s, set, &w->image));
    LOB_TRY(choose(s, w));
    return lob_grid_mask(s, &w->mask, set->mask, &w->image, set->image);
}

static lob_status cut(lob_session *s, const settings *set, work *w)
{
    LOB_TRY(lob_grid_make(s, &w->labels, &w->image, LOB_I32, 1, set->labels));
    lob_label_names_free(&w->labels.names); /* those of the image's own labels */
    const int64_t bytes = lob_voxel_bytes(&w->labels);

    const lob_supervoxels_input in = {.image = &w->image, .mask = w->mask};
    lob_session_compute(s, "cutting");
    const lob_status st = s->backend->supervoxels(w->labels.data, &w->stats, &in, &w->options,
                                                  &s->context, &s->error);
    LOB_TRY(lob_session_name(s, st, set->image, NULL));
    LOB_TRY(lob_labels_pack(&w->labels, (int32_t)w->stats.supervoxels));
    lob_session_give(s, bytes - lob_voxel_bytes(&w->labels));
    lob_session_computed(s);
    return LOB_OK;
}

/* Labels are written last: if they exist, the other outputs are complete. */
static lob_status write_outputs(lob_session *s, const settings *set, work *w)
{
    LOB_TRY(write_tables(s, w));
    LOB_TRY(lob_session_write(s, &w->mean, set->mean, false));
    if (set->boundaries) {
        lob_grid_show_mask(&w->boundaries, set->boundaries);
        LOB_TRY(lob_session_write(s, &w->boundaries, set->boundaries, true));
    }
    return lob_session_write(s, &w->labels, set->labels, true);
}

static lob_status supervoxels(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(read_inputs(s, &w->set, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(report_crowding(s, w));
    LOB_TRY(cut(s, &w->set, w));
    report(s, w);
    LOB_TRY(measure(s, w));
    return write_outputs(s, &w->set, w);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->labels, &w->mean, &w->boundaries);
    free(w->mask);
    free(w->means);
    free(w->contacts);
    lob_region_table_free(&w->regions);
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    const lob_supervoxels_options defaults = lob_supervoxels_defaults();
    *set = (settings){
        .frame = -1,
        .method = LOB_SLIC,
        .iterations = defaults.iterations,
        .slices = -1,
        .compactness = INFINITY,
        .ratio = INFINITY,
        .smallest = defaults.smallest,
        .range = {-INFINITY, INFINITY},
        .size = {.value = INFINITY        },
    };
    snprintf(set->compactness_help, sizeof set->compactness_help,
             "with slic: share of the image's range that weighs like one side of distance; "
             "left out: %g, in CIELAB %g",
             defaults.compactness, LAB_COMPACTNESS);
    snprintf(set->ratio_help, sizeof set->ratio_help,
             "with lsc: weight of position against intensity; left out: %g", defaults.ratio);
    const lob_option rows[] = {
        OPERAND_IMAGE(&set->image, "scan"),
        OPT_LABELS_OUTPUT(&set->labels),
        OPT_CHOICE("method", &set->method, "slic|slico|lsc",
                   "slic weighs distance against intensity, slico finds that weight for each "
                   "supervoxel, lsc works with spectral features"),
        OPT_LENGTH(
            "size", &set->size, 0, longest_mm,
            "side of a supervoxel; as 8mm, 5um, or 12vox for as many voxels as a cube of 12 has",
            .above_low = true),
        OPT_INT(
            "count", &set->count, "K", 1, INT32_MAX,
            "about so many supervoxels, where there are slices in each, of what the mask and the "
            "range leave; instead of a size"),
        OPT_REAL("compactness", &set->compactness, "C", 0, 1e6, set->compactness_help,
                 .above_low = true),
        OPT_REAL("ratio", &set->ratio, "R", 0, 1e3, set->ratio_help, .above_low = true),
        OPT_INT("iterations", &set->iterations, "N", 1, INT32_MAX, "times that clusters move"),
        OPT_FLAG("until-still", &set->until_still, "end before that when nothing moves any more"),
        OPT_REAL("smallest", &set->smallest, "SHARE", 0, 1,
                 "pieces under this share of a supervoxel's nominal size join a neighbour"),
        OPT_SLICES(&set->slices),
        OPT_INPUT("mask", &set->mask, LOB_FILE_LABELS,
                  "cut only where this volume is not 0, and do not cross what is outside"),
        OPT_PAIR("range", &set->range, -INFINITY, INFINITY,
                 "cut only voxels whose value is in this range; inf and -inf leave an end open"),
        OPT_FRAME(&set->frame, "image"),
        OPT_CHOICE("lab", &set->lab, "auto|on|off",
                   "compare colours in CIELAB; auto does for three channels of uint8"),
        OPT_OUTPUT(
            "mean", &set->mean, LOB_FILE_IMAGE,
            "also write the image with each supervoxel in its mean (float32; .png in the image's "
            "type)"),
        OPT_OUTPUT("boundaries", &set->boundaries, LOB_FILE_LABELS,
                   "also write the outlines of supervoxels (1, in .png 255): voxels with a face "
                   "neighbour in "
                   "another one, or in none"),
        OPT_OUTPUT(
            "table", &set->table, LOB_FILE_TABLE,
            "also write a table of the supervoxels: FILE.tsv, .csv or .json, or - for standard "
            "output"),
        OPT_SCAN_NAME(&set->name),
        OPT_REGION_COLUMNS(&set->columns),
        OPT_OUTPUT("graph", &set->graph, LOB_FILE_TABLE,
                   "also write a table of the supervoxels that touch, likewise"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_supervoxels = {
    .name = "supervoxels",
    .summary = "cut an image into small connected pieces of like intensity",
    .description =
        "Supervoxels start as the cells of a grid that is even in mm. In each iteration every "
        "voxel joins the nearest of the clusters around it, near in place and in intensity, and "
        "clusters move to the mean of what joined them. Then pieces that are cut off and small "
        "join the neighbour whose mean is most similar (an island of the mask has none, and stays "
        "however small), and every supervoxel is one piece, "
        "connected through faces (with --slices, inside its slice). Labels count from 1 without "
        "gaps in the order in which a raster scan, x fastest, first meets them; 0 is what is no "
        "data: outside the mask or the range, NaN or infinite.\n"
        "Larger --compactness and --ratio give rounder supervoxels, smaller ones follow the image. "
        "Where organs differ by a small part of the range, as in CT with its air and bone, an "
        "eighth to a quarter of the usual --compactness fits better, and of --ratio a third; noise "
        "wants more. Several channels (but for CIELAB) count in their own units, so one from 0 to "
        "1 has no say beside one from 1000 to 4000: bring them to like ranges first. How well "
        "supervoxels fit a truth is measured by compare --supervoxels.\n"
        "The table has one row for each supervoxel, with the columns of lobule stats; intensities "
        "are those of an image with one channel. The graph has one row for each two supervoxels "
        "that share faces: label_a < label_b, faces, area_mm2 of these, and mean_difference, how "
        "far their mean intensities lie apart (over several channels, the root of the sum of "
        "squares).\n"
        "The label volume keeps the image's header; its type is uint8, int16 or int32, whichever "
        "is the smallest that holds the largest label. Everything is the same bytes on every "
        "machine, device and number of threads.",
    .examples =
        "lobule supervoxels scan.nii.gz -o supervoxels.nii.gz --size 8mm\n"
        "lobule supervoxels photo.png -o cells.nii.gz --method lsc --count 600 --mean mean.png\n"
        "lobule supervoxels scan.nii.gz -o supervoxels.nii.gz --size 12vox --mask body.nii.gz "
        "--graph touching.tsv",
    .result = "supervoxels",
    .result_text = "supervoxels",
    .settings_bytes = sizeof(work),
    .options = options,
    .check = check,
    .work = supervoxels,
    .release = release,
    .voxel_ns = 400,
};
