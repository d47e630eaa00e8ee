/* lobule supervoxels: cut an image into small connected pieces of like intensity and size. */
#include "io/png.h"
#include "tools/commands/commands.h"
#include "tools/commands/supervoxels/supervoxels_work.h"
#include "tools/table/table_file.h"
#include "volumes/free.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest --size. */
static const double longest_mm = 1e8;

typedef lob_supervoxels_work work;

/* What the option table cannot say: options that exclude or need one another. */
static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    const bool sized = isfinite(w->size.value), counted = w->count > 0;
    if (sized == counted)
        return lob_fail(&s->error, LOB_EARG,
                        sized ? "--size and --count both say how large supervoxels are; give one"
                              : "how large are supervoxels to be? Give --size, as 8mm or 12vox, or "
                                "--count");
    const bool both = w->table && w->graph;
    const bool many = lob_team_size(s->ranks) > 1 || w->slabs.plan > 0;
    const lob_rule rules[] = {
        {isfinite(w->compactness) && w->method != LOB_SLIC,
         "--compactness belongs to --method slic"                                                                    },
        {isfinite(w->ratio) && w->method != LOB_LSC,                                "--ratio belongs to --method lsc"},
        {both && strcmp(w->table,                                                   "-") == 0 && strcmp(w->graph,      "-") == 0,
         "--table - and --graph - both go to standard output; write one to a file"},
        {w->name && !w->table && !w->graph, "--name is for tables: add --table or --graph"                                 },
        {w->columns && !w->table,                           "--columns are of the table: add --table FILE.tsv"                          },
    };
    LOB_TRY(LOB_RULES(s, rules));
    /* "auto" may find a GPU for one task and none for another. */
    if (w->slabs.plan > 0)
        LOB_TRY(lob_session_cpu_alone(s, "--plan counts what tasks hold"));
    else if (many && strcmp(s->device.backend, "cuda") != 0)
        LOB_TRY(lob_session_cpu_alone(s, "several tasks cut"));
    LOB_TRY(lob_table_check(s, w->table, w->name));
    LOB_TRY(lob_region_columns_check(s, w->columns));
    if (many) LOB_TRY(lob_region_columns_check_slabs(s, w->columns));
    return lob_table_check(s, w->graph, NULL);
}

/* ---- cutting ---- */

/* Can the outputs' formats hold the results? A mean as a picture has the image's type. */
static lob_status check_outputs(lob_session *s, const work *w, const lob_volume *image)
{
    if (w->mean_path && lob_is_png_name(w->mean_path))
        LOB_TRY(lob_check_volume(image, w->mean_path, &s->error));
    LOB_TRY(lob_session_check(s, image, LOB_U8, 1, w->boundaries_path));
    return lob_session_check(s, image, LOB_I32, 1, w->labels_path);
}

/* A spacing that no --size comes near, one far below an atom, or kilometres beside micrometres are
 * a damaged header's. */
static lob_status check_spacing(lob_session *s, const work *w, const lob_volume *image)
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
    return lob_fail_file(&s->error, LOB_EDATA, w->slabs.path,
                         "voxels of %g x %g x %g mm are too %s to be meant; correct the spacing in "
                         "its header",
                         mm[0], mm[1], mm[2], what);
}

lob_status lob_supervoxels_look(lob_session *s, lob_supervoxels_work *w)
{
    LOB_TRY(check_spacing(s, w, &w->image));
    LOB_TRY(check_outputs(s, w, &w->image));
    return lob_supervoxels_choose(s, w);
}

lob_status lob_supervoxels_cut(lob_session *s, work *w)
{
    const lob_supervoxels_input in = {.image = &w->slab.image, .mask = w->slab.mask};
    LOB_TRY(lob_grid_make(s, &w->labels, in.image, LOB_I32, 1, w->labels_path));
    lob_label_names_free(&w->labels.names); /* those of the image's own labels */
    const int64_t bytes = lob_volume_bytes(&w->labels);
    lob_session_compute(s, "cutting");
    const lob_status st = s->team
                              ? s->backend->supervoxels_slabs(w->labels.data, &w->stats, &in,
                                                              &w->options, w->slabs.volume.dims.nz,
                                                              s->team, &s->context, &s->error)
                              : s->backend->supervoxels(w->labels.data, &w->stats, &in, &w->options,
                                                        &s->context, &s->error);
    LOB_TRY(lob_session_name(s, st, w->slabs.path, NULL));
    LOB_TRY(lob_labels_pack(&w->labels, (int32_t)w->stats.supervoxels));
    lob_session_give(s, bytes - lob_volume_bytes(&w->labels));
    lob_session_computed(s);
    return LOB_OK;
}

static lob_status supervoxels(lob_session *s, void *user)
{
    work *const w = user;
    if (s->ranks || w->slabs.plan > 0) return lob_supervoxels_by_slabs(s, w);
    LOB_TRY(lob_session_read(s, &w->image, w->slabs.path, w->slabs.frame));
    LOB_TRY(lob_supervoxels_look(s, w));
    LOB_TRY(lob_grid_mask(s, &w->mask, w->slabs.mask, &w->image, w->slabs.path));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(lob_supervoxels_report_crowding(s, w));
    w->slab = lob_slab_whole(&w->image);
    w->slab.mask = w->mask;
    LOB_TRY(lob_supervoxels_cut(s, w));
    lob_supervoxels_report(s, w);
    LOB_TRY(lob_supervoxels_measure(s, w));
    return lob_supervoxels_write(s, w);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->labels, &w->mean, &w->boundaries);
    LOB_FREE(w->mask, w->means, w->contacts);
    lob_region_table_free(&w->regions);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    const lob_supervoxels_options defaults = lob_supervoxels_defaults();
    *w = (work){
        .slabs = {.frame = -1,      .channel = -1, .at_once = true},
        .method = LOB_SLIC,
        .slices = -1,
        .compactness = INFINITY,
        .ratio = INFINITY,
        .options = defaults,
        .size = {.value = INFINITY},
    };
    snprintf(w->compactness_help, sizeof w->compactness_help,
             "with slic: share of the image's range that weighs like one side of distance; "
             "left out: %g, in CIELAB %g",
             defaults.compactness, LOB_LAB_COMPACTNESS);
    snprintf(w->ratio_help, sizeof w->ratio_help,
             "with lsc: weight of position against intensity; left out: %g", defaults.ratio);
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->slabs.path, "scan"),
        OPT_LABELS_OUTPUT(&w->labels_path),
        OPT_CHOICE("method", &w->method, "slic|slico|lsc",
                   "slic weighs distance against intensity, slico finds that weight for each "
                   "supervoxel, lsc works with spectral features"),
        OPT_LENGTH(
            "size", &w->size, 0, longest_mm,
            "side of a supervoxel; as 8mm, 5um, or 12vox for as many voxels as a cube of 12 has",
            .above_low = true),
        OPT_INT(
            "count", &w->count, "K", 1, INT32_MAX,
            "about so many supervoxels, where there are slices in each, of what the mask and the "
            "range leave; instead of a size"),
        OPT_REAL("compactness", &w->compactness, "C", 0, 1e6, w->compactness_help,
                 .above_low = true),
        OPT_REAL("ratio", &w->ratio, "R", 0, 1e3, w->ratio_help, .above_low = true),
        OPT_INT("iterations", &w->options.iterations, "N", 1, INT32_MAX,
                "times that clusters move"),
        OPT_FLAG("until-still", &w->options.until_still,
                 "end before that when nothing moves any more"),
        OPT_REAL("smallest", &w->options.smallest, "SHARE", 0, 1,
                 "pieces under this share of a supervoxel's nominal size join a neighbour"),
        OPT_SLICES(&w->slices),
        OPT_MASK(&w->slabs.mask,
                 "cut only where this volume is not 0, and do not cross what is outside"),
        OPT_PAIR("range", &w->options.range, -INFINITY, INFINITY,
                 "cut only voxels whose value is in this range; inf and -inf leave an end open"),
        OPT_FRAME(&w->slabs.frame, "image"),
        OPT_CHOICE("lab", &w->lab, "auto|on|off",
                   "compare colours in CIELAB; auto does for three channels of uint8"),
        OPT_OUTPUT(
            "mean", &w->mean_path, LOB_FILE_IMAGE,
            "also write the image with each supervoxel in its mean (float32; .png in the image's "
            "type)"),
        OPT_OUTPUT("boundaries", &w->boundaries_path, LOB_FILE_LABELS,
                   "also write the outlines of supervoxels (1, in .png 255): voxels with a face "
                   "neighbour in another one, or in none"),
        OPT_TABLE(&w->table, "also write a table of the supervoxels"),
        OPT_SCAN_NAME(&w->name),
        OPT_REGION_COLUMNS(&w->columns),
        OPT_OUTPUT("graph", &w->graph, LOB_FILE_TABLE,
                   "also write a table of the supervoxels that touch, likewise"),
        OPT_PLAN(&w->slabs.plan),
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
    LOB_COMMAND_PARTS(work, options, check, supervoxels, release),
    .voxel_ns = 400,
    .shares = true,
    .spreads = true,
    .only_prints = "plan",
};
