/* lobule supervoxels: cut an image into small connected pieces of like intensity and size. */
#include "io/png.h"
#include "kernels/contacts/contacts.h"
#include "tools/commands/commands.h"
#include "tools/commands/level_use.h"
#include "tools/inout/grid.h"
#include "tools/table/region_table.h"
#include "tools/table/table_file.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAB_AUTO, LAB_ON, LAB_OFF }; /* in the order of the option's words */

/* In CIELAB a visible difference is a small part of the range, so intensities weigh differently.
 */
static const double lab_compactness = 0.1;

/* The largest --size. */
static const double longest_mm = 1e8;

typedef struct {
    const char *image, *labels, *mask;
    const char *mean, *boundaries, *table, *graph, *name, *columns;
    int frame, method, count, iterations, slices, lab;
    double compactness, ratio, smallest, range[2];
    lob_size size;
    bool until_still;
} settings;

/* Everything on the grid, freed together. */
typedef struct {
    lob_volume image, labels;
    uint8_t *mask; /* NULL: everything may be cut */
    lob_supervoxels_options options;
    lob_supervoxels_stats stats;

    /* on request */
    lob_volume mean, boundaries;
    double *means; /* supervoxels times channels */
    lob_contact *contacts;
    int64_t contact_count;
    lob_region *regions;       /* supervoxels */
    lob_region_values *values; /* supervoxels; NULL without intensities */
    lob_fine_levels fine;
} work;

/* What the option table cannot say: options that exclude or need one another. */
static lob_status check_settings(lob_session *s, const settings *set)
{
    const bool sized = isfinite(set->size.value), counted = set->count > 0;
    if (sized == counted)
        return lob_fail(&s->error, LOB_EARG,
                        sized ? "--size and --count both say how large supervoxels are; give one"
                              : "how large are supervoxels to be? Give --size, as 8mm or 12vox, or "
                                "--count");
    if (isfinite(set->compactness) && set->method != LOB_SLIC)
        return lob_fail(&s->error, LOB_EARG, "--compactness belongs to --method slic");
    if (isfinite(set->ratio) && set->method != LOB_LSC)
        return lob_fail(&s->error, LOB_EARG, "--ratio belongs to --method lsc");
    if (set->table && set->graph && strcmp(set->table, "-") == 0 && strcmp(set->graph, "-") == 0)
        return lob_fail(&s->error, LOB_EARG,
                        "--table - and --graph - both go to standard output; write one to a file");
    if (set->name && !set->table && !set->graph)
        return lob_fail(&s->error, LOB_EARG, "--name is for tables: add --table or --graph");
    if (set->columns && !set->table)
        return lob_fail(&s->error, LOB_EARG, "--columns are of the table: add --table FILE.tsv");
    LOB_TRY(lob_table_check(s, set->table, set->name));
    LOB_TRY(lob_region_columns_check(s, set->columns));
    return lob_table_check(s, set->graph, NULL);
}

/* ---- options ---- */

/* Are the channels compared in CIELAB? */
static lob_status choose_lab(lob_session *s, const settings *set, bool *lab,
                             const lob_volume *image)
{
    const bool colour = image->channels == 3 && image->type == LOB_U8;
    *lab = set->lab == LAB_ON || (set->lab == LAB_AUTO && colour);
    if (*lab && !colour)
        return lob_fail(&s->error, LOB_EDATA,
                        "%s: --lab on needs three channels of uint8; it has %d of %s", set->image,
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

static lob_status make_options(lob_session *s, const settings *set, work *w)
{
    lob_supervoxels_options *o = &w->options;
    *o = lob_supervoxels_defaults();
    const lob_status st = choose_lab(s, set, &o->lab, &w->image);
    if (st != LOB_OK) return st;
    o->method = (lob_supervoxels_method)set->method;
    o->slice_axis = lob_grid_slice_axis(set->slices, &w->image.geometry);
    if (set->count > 0)
        o->count = set->count;
    else
        o->size_mm = side_mm(set->size, o->slice_axis, &w->image);
    if (o->lab) o->compactness = lab_compactness;
    if (isfinite(set->compactness)) o->compactness = set->compactness;
    if (isfinite(set->ratio)) o->ratio = set->ratio;
    o->iterations = set->iterations;
    o->until_still = set->until_still;
    o->smallest = set->smallest;
    memcpy(o->range, set->range, sizeof o->range);
    return LOB_OK;
}

/* ---- report ---- */

/* Sizes that are most likely typing errors. */
static void report_odd_size(lob_session *s, const settings *set, const work *w)
{
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

static void report(lob_session *s, const settings *set, const work *w)
{
    const lob_supervoxels_stats *stats = &w->stats;
    const lob_supervoxels_options *o = &w->options;
    const struct {
        const char *name;
        double value;
    } rows[] = {
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
    for (size_t i = 0; i < LOB_COUNT(rows); i++)
        cJSON_AddNumberToObject(s->results, rows[i].name, rows[i].value);
    cJSON_AddBoolToObject(s->results, "lab", o->lab);
    if (o->method == LOB_SLIC) cJSON_AddNumberToObject(s->results, "compactness", o->compactness);
    if (o->method == LOB_LSC) cJSON_AddNumberToObject(s->results, "ratio", o->ratio);
    if (stats->not_finite > 0)
        lob_session_note(s, "%s: NaN or infinite voxels: %lld; these stay without a label",
                         set->image, (long long)stats->not_finite);
    report_odd_size(s, set, w);
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
static lob_status report_crowding(lob_session *s, const settings *set, const work *w)
{
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
    const lob_status st = lob_value_spread_of(&spread, &data, s->context.threads);
    if (st != LOB_OK) return lob_fail(&s->error, st, "%s: out of memory", set->image);
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

/* ---- cutting ---- */

/* Can the outputs' formats hold the results? A mean written as a picture has the image's type.
 */
static lob_status check_outputs(lob_session *s, const settings *set, const lob_volume *image)
{
    lob_status st = LOB_OK;
    if (set->mean && lob_is_png_name(set->mean)) st = lob_check_volume(image, set->mean, &s->error);
    if (st == LOB_OK) st = lob_session_check(s, image, LOB_U8, 1, set->boundaries);
    if (st == LOB_OK) st = lob_session_check(s, image, LOB_I32, 1, set->labels);
    return st;
}

/* A spacing that no --size comes near, or one far below an atom, is a damaged header's. */
static lob_status check_spacing(lob_session *s, const settings *set, const lob_volume *image)
{
    const double shortest_mm = 1e-12;
    const double *const mm = image->geometry.spacing_mm;
    for (int a = 0; a < 3; a++)
        if (lob_side(image->dims, a) > 1 && !(mm[a] >= shortest_mm && mm[a] <= longest_mm))
            return lob_fail(&s->error, LOB_EDATA,
                            "%s: voxels of %g x %g x %g mm are too %s to be meant; correct the "
                            "spacing in its header",
                            set->image, mm[0], mm[1], mm[2], mm[a] < 1 ? "small" : "large");
    return LOB_OK;
}

static lob_status read_inputs(lob_session *s, const settings *set, work *w)
{
    lob_status st = lob_session_read(s, &w->image, set->image, set->frame);
    if (st == LOB_OK) st = check_spacing(s, set, &w->image);
    if (st == LOB_OK) st = check_outputs(s, set, &w->image);
    if (st == LOB_OK) st = make_options(s, set, w);
    if (st == LOB_OK) st = lob_grid_mask(s, &w->mask, set->mask, &w->image, set->image);
    return st;
}

static lob_status cut(lob_session *s, const settings *set, work *w)
{
    const int64_t bytes = lob_product(lob_voxels(&w->image), sizeof(int32_t), 1, 1);
    lob_status st = lob_session_take(s, bytes, set->labels);
    if (st != LOB_OK) return st;
    st = lob_volume_like(&w->labels, &w->image, LOB_I32, 1);
    if (st != LOB_OK) return lob_fail(&s->error, st, "%s: no memory for the result", set->image);
    lob_label_names_free(&w->labels.names); /* those of the image's own labels */

    const lob_supervoxels_input in = {.image = &w->image, .mask = w->mask};
    lob_session_compute(s, "cutting");
    st = s->backend->supervoxels(w->labels.data, &w->stats, &in, &w->options, &s->context,
                                 &s->error);
    if (st != LOB_OK) return lob_session_name(s, st, set->image, NULL);
    st = lob_labels_pack(&w->labels, (int32_t)w->stats.supervoxels);
    lob_session_give(s, bytes - lob_voxel_bytes(&w->labels));
    lob_session_computed(s);
    return st;
}

/* ---- measures of the supervoxels ---- */

/* Take and allocate another volume on the image's grid. */
static lob_status make_volume(lob_session *s, lob_volume *out, const work *w, lob_type type,
                              int channels, const char *path)
{
    const int64_t each = (int64_t)lob_type_of(type)->bytes;
    const lob_status st =
        lob_session_take(s, lob_product(lob_voxels(&w->image), each, channels, 1), path);
    if (st != LOB_OK) return st;
    if (lob_volume_like(out, &w->image, type, channels) != LOB_OK)
        return lob_session_no_memory(s, path);
    lob_label_names_free(&out->names);
    return LOB_OK;
}

/* Means are float32; in a picture they are rounded, in the image's own units. */
static lob_status paint_means(lob_session *s, const settings *set, work *w,
                              const lob_label_grid *grid)
{
    const bool picture = lob_is_png_name(set->mean);
    const lob_status st = make_volume(s, &w->mean, w, picture ? w->image.type : LOB_F32,
                                      w->image.channels, set->mean);
    if (st != LOB_OK) return st;
    if (picture) {
        w->mean.slope = w->image.slope;
        w->mean.inter = w->image.inter;
    }
    lob_paint_means(&w->mean, grid, w->means, s->context.threads);
    return LOB_OK;
}

static lob_status find_contacts(lob_session *s, const settings *set, work *w,
                                const lob_label_grid *grid)
{
    const lob_status st =
        lob_contacts(&w->contacts, &w->contact_count, grid, &w->image.geometry, w->means,
                     w->image.channels, w->options.slice_axis, &s->context, &s->error);
    lob_session_hold(s, w->contact_count * (int64_t)sizeof *w->contacts);
    return lob_session_name(s, st, set->image, NULL);
}

static lob_status measure_regions(lob_session *s, const settings *set, work *w,
                                  const lob_label_grid *grid)
{
    const lob_regions_input in = {
        .labels = grid->labels,
        .type = grid->type,
        .count = grid->count,
        .dims = grid->dims,
        .image = w->image.channels == 1 ? &w->image : NULL,
    };
    const size_t each = sizeof *w->regions + (in.image ? sizeof *w->values : 0);
    lob_status st = lob_session_take(s, grid->count * (int64_t)each, set->table);
    if (st != LOB_OK) return st;
    w->regions = calloc((size_t)grid->count, sizeof *w->regions);
    if (in.image) w->values = calloc((size_t)grid->count, sizeof *w->values);
    if (!w->regions || (in.image && !w->values)) return lob_session_no_memory(s, set->table);
    st = s->backend->regions(w->regions, w->values, &w->fine, &in, &s->context, &s->error);
    return lob_session_name(s, st, set->image, NULL);
}

static lob_status measure(lob_session *s, const settings *set, work *w)
{
    const lob_label_grid grid = {
        .labels = w->labels.data,
        .type = w->labels.type,
        .count = w->stats.supervoxels,
        .dims = w->labels.dims,
    };
    lob_status st = LOB_OK;
    lob_session_compute(s, "measuring");
    if (set->mean || set->graph) {
        const size_t each = (size_t)w->image.channels * sizeof *w->means;
        st = lob_session_take(s, grid.count * (int64_t)each, set->labels);
        if (st != LOB_OK) return st;
        w->means = calloc((size_t)grid.count, each);
        if (!w->means) return lob_session_no_memory(s, set->labels);
        st = lob_label_means(w->means, &grid, &w->image, &s->context, &s->error);
        st = lob_session_name(s, st, set->image, NULL);
    }
    if (st == LOB_OK && set->mean) st = paint_means(s, set, w, &grid);
    if (st == LOB_OK && set->boundaries)
        st = make_volume(s, &w->boundaries, w, LOB_U8, 1, set->boundaries);
    if (st == LOB_OK && set->boundaries)
        lob_paint_boundaries(w->boundaries.data, &grid, w->options.slice_axis, s->context.threads);
    if (st == LOB_OK && set->graph) st = find_contacts(s, set, w, &grid);
    if (st == LOB_OK && set->table) st = measure_regions(s, set, w, &grid);
    if (st == LOB_OK) lob_session_computed(s);
    return st;
}

/* ---- outputs ---- */

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

static lob_status write_tables(lob_session *s, const settings *set, const work *w)
{
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
    const bool grey = w->image.channels == 1;
    const lob_regions_input measured = {.labels = w->labels.data,
                                        .type = w->labels.type,
                                        .count = w->stats.supervoxels,
                                        .dims = w->labels.dims,
                                        .image = grey ? &w->image : NULL};
    const lob_region_table regions = {
        .regions = w->regions,
        .intensities = w->values,
        .count = w->stats.supervoxels,
        .scan = set->name,
        .geometry = &w->image.geometry,
        .fine = grey ? &w->fine : NULL,
        .slope = grey ? w->image.slope : 1.0,
        .inter = grey ? w->image.inter : 0.0,
        .columns = set->columns,
        .dims = w->image.dims,
        .in = &measured,
    };
    lob_status st = LOB_OK;
    if (set->table) st = lob_region_table_write(s, &regions, set->table);
    if (st == LOB_OK && set->graph) st = lob_table_write(s, &contacts, set->graph);
    return st;
}

/* Labels are written last: if they exist, the other outputs are complete. */
static lob_status write_outputs(lob_session *s, const settings *set, work *w)
{
    lob_status st = write_tables(s, set, w);
    if (st == LOB_OK) st = lob_session_write(s, &w->mean, set->mean, false);
    if (st == LOB_OK && set->boundaries) {
        lob_grid_show_mask(&w->boundaries, set->boundaries);
        st = lob_session_write(s, &w->boundaries, set->boundaries, true);
    }
    if (st == LOB_OK) st = lob_session_write(s, &w->labels, set->labels, true);
    return st;
}

static lob_status supervoxels(lob_session *s, const settings *set)
{
    work w = {.image = lob_volume_empty(),
              .labels = lob_volume_empty(),
              .mean = lob_volume_empty(),
              .boundaries = lob_volume_empty()};
    lob_status st = check_settings(s, set);
    if (st == LOB_OK) st = lob_session_device_begin(s);
    if (st == LOB_OK) st = read_inputs(s, set, &w);
    if (st == LOB_OK) st = lob_session_device(s);
    if (st == LOB_OK) st = report_crowding(s, set, &w);
    if (st == LOB_OK) st = cut(s, set, &w);
    if (st == LOB_OK) report(s, set, &w);
    if (st == LOB_OK) st = measure(s, set, &w);
    if (st == LOB_OK) st = write_outputs(s, set, &w);
    lob_volume_free(&w.image);
    lob_volume_free(&w.labels);
    lob_volume_free(&w.mean);
    lob_volume_free(&w.boundaries);
    free(w.mask);
    free(w.means);
    free(w.contacts);
    free(w.values);
    free(w.regions);
    return st;
}

static int run(const lob_command *self, int argc, char **argv)
{
    const lob_supervoxels_options defaults = lob_supervoxels_defaults();
    settings set = {
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
    char compactness[160], ratio[120];
    snprintf(compactness, sizeof compactness,
             "with slic: share of the image's range that weighs like one side of distance; "
             "left out: %g, in CIELAB %g",
             defaults.compactness, lab_compactness);
    snprintf(ratio, sizeof ratio, "with lsc: weight of position against intensity; left out: %g",
             defaults.ratio);
    const lob_option rows[] = {
        OPERAND_INPUT("IMAGE", &set.image, LOB_FILE_IMAGE, "scan, or FILE.h5:/dataset",
                      .required = true),
        OPT_OUTPUT("output", &set.labels, LOB_FILE_LABELS, "label volume to write", .letter = 'o',
                   .required = true),
        OPT_CHOICE("method", &set.method, "slic|slico|lsc",
                   "slic weighs distance against intensity, slico finds that weight for each "
                   "supervoxel, lsc works with spectral features"),
        OPT_LENGTH(
            "size", &set.size, 0, longest_mm,
            "side of a supervoxel; as 8mm, 5um, or 12vox for as many voxels as a cube of 12 has",
            .above_low = true),
        OPT_INT(
            "count", &set.count, "K", 1, INT32_MAX,
            "about so many supervoxels, where there are slices in each, of what the mask and the "
            "range leave; instead of a size"),
        OPT_REAL("compactness", &set.compactness, "C", 0, 1e6, compactness, .above_low = true),
        OPT_REAL("ratio", &set.ratio, "R", 0, 1e3, ratio, .above_low = true),
        OPT_INT("iterations", &set.iterations, "N", 1, INT32_MAX, "times that clusters move"),
        OPT_FLAG("until-still", &set.until_still, "end before that when nothing moves any more"),
        OPT_REAL("smallest", &set.smallest, "SHARE", 0, 1,
                 "pieces under this share of a supervoxel's nominal size join a neighbour"),
        OPT_CHOICE("slices", &set.slices, LOB_GRID_SLICES,
                   "treat every slice as an image of its own; x, y, z are voxel axes"),
        OPT_INPUT("mask", &set.mask, LOB_FILE_LABELS,
                  "cut only where this volume is not 0, and do not cross what is outside"),
        OPT_PAIR("range", &set.range, -INFINITY, INFINITY,
                 "cut only voxels whose value is in this range; inf and -inf leave an end open"),
        OPT_INT("frame", &set.frame, "N", 0, INT32_MAX,
                "time frame of the image, from 0; needed when there are several"),
        OPT_CHOICE("lab", &set.lab, "auto|on|off",
                   "compare colours in CIELAB; auto does for three channels of uint8"),
        OPT_OUTPUT(
            "mean", &set.mean, LOB_FILE_IMAGE,
            "also write the image with each supervoxel in its mean (float32; .png in the image's "
            "type)"),
        OPT_OUTPUT("boundaries", &set.boundaries, LOB_FILE_LABELS,
                   "also write the outlines of supervoxels (1, in .png 255): voxels with a face "
                   "neighbour in "
                   "another one, or in none"),
        OPT_OUTPUT(
            "table", &set.table, LOB_FILE_TABLE,
            "also write a table of the supervoxels: FILE.tsv, .csv or .json, or - for standard "
            "output"),
        OPT_SCAN_NAME(&set.name),
        OPT_REGION_COLUMNS(&set.columns),
        OPT_OUTPUT("graph", &set.graph, LOB_FILE_TABLE,
                   "also write a table of the supervoxels that touch, likewise"),
    };
    lob_session s;
    if (!lob_session_begin(&s, self, rows, LOB_COUNT(rows), argc, argv)) return s.exit_code;
    return lob_session_end(&s, supervoxels(&s, &set));
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
    .run = run,
};
