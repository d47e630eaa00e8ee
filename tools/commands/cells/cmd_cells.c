/* lobule cells: from an image of cells or nuclei to a label for each, by a recipe made for it. */
#include "tools/commands/cells/cells_plan.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"
#include "tools/recipe/recipe_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *image, *out, *table;
    bool print, walls;
    lob_cells_choices given; /* NAN and an infinite size: not given */
    lob_cells_plan plan;
} settings;

/* What is given takes the place of what is usual; a choice of the other kind is an error. */
static lob_status check_settings(lob_session *s, settings *set)
{
    lob_cells_choices *const c = &set->plan.choices;
    const lob_cells_choices *const g = &set->given;
    const struct {
        const char *name;
        double given, *choice;
        bool bodies, walls; /* where it means something */
    } rows[] = {
        {"smooth", g->smooth, &c->smooth, true,  true },
        {"around", g->around, &c->around, true,  false},
        {"bright", g->bright, &c->bright, true,  false},
        {"apart",  g->apart,  &c->apart,  true,  false},
        {"seeds",  g->seeds,  &c->seeds,  false, true },
        {"wall",   g->wall,   &c->wall,   true,  true },
        {"least",  g->least,  &c->least,  true,  true },
    };
    *c = set->walls ? lob_cells_walls() : lob_cells_bodies();
    c->size = g->size;
    for (size_t i = 0; i < LOB_COUNT(rows); i++) {
        if (isnan(rows[i].given)) continue;
        if (!(set->walls ? rows[i].walls : rows[i].bodies))
            return lob_fail(&s->error, LOB_EARG, "--%s %s", rows[i].name,
                            set->walls ? "does not go with --walls" : "belongs to --walls");
        *rows[i].choice = rows[i].given;
    }
    set->plan.table = set->table != NULL;
    return LOB_OK;
}

static lob_status choose(lob_session *s, settings *set)
{
    lob_volume image = lob_volume_empty();
    lob_status st = lob_session_read(s, &image, set->image, set->plan.frame);
    if (st == LOB_OK) st = lob_grid_choose_channel(s, &image, set->plan.channel, set->image);
    if (st == LOB_OK) st = lob_session_check(s, &image, LOB_I32, 1, set->out);
    if (st == LOB_OK) st = lob_session_device(s);
    if (st == LOB_OK) st = lob_cells_choose(s, &set->plan, &image, set->image);
    lob_grid_drop(s, &image);
    return st;
}

static lob_status make_job(lob_session *s, lob_recipe_job *job, const settings *set)
{
    const lob_recipe_given given[] = {
        {"image", set->image, LOB_RECIPE_READS        },
        {"out",   set->out,   LOB_RECIPE_WRITES_LABELS},
        {"table", set->table, LOB_RECIPE_WRITES       },
    };
    char *const text = lob_cells_recipe(&set->plan);
    const lob_status st = lob_recipe_job_compose(job, s, text, given, LOB_COUNT(given));
    free(text);
    return st;
}

static lob_status run_job(const settings *set, lob_recipe_job *job)
{
    bool skip;
    const lob_status st = lob_recipe_job_check(job, &skip);
    if (st == LOB_OK && set->print) return lob_recipe_job_print(job);
    return st != LOB_OK || skip ? st : lob_recipe_job_run(job);
}

static lob_status cells(lob_session *s, settings *set)
{
    lob_recipe_job job = {.name = NULL};
    lob_status st = check_settings(s, set);
    lob_session_keep_inputs(s); /* the lines read them again */
    if (st == LOB_OK) st = lob_session_device_begin(s);
    if (st == LOB_OK) st = choose(s, set);
    if (st != LOB_OK) return st;
    lob_cells_report(s, &set->plan);
    if (set->print) s->force = true; /* nothing is written */
    st = make_job(s, &job, set);
    if (st == LOB_OK) st = run_job(set, &job);
    lob_recipe_job_free(&job);
    return st;
}

static lob_cells_choices not_given(void)
{
    return (lob_cells_choices){.size = {.value = INFINITY},
                               .smooth = NAN,
                               .around = NAN,
                               .bright = NAN,
                               .apart = NAN,
                               .seeds = NAN,
                               .wall = NAN,
                               .least = NAN};
}

/* A recipe can be printed for labels that are there. */
static void allow_outputs_to_print(lob_option *rows, size_t count, int argc, char **argv)
{
    const lob_option_table table = {"Options", rows, count};
    if (!lob_asks_for(&table, 1, argv, argc, "print-recipe")) return;
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind == LOB_OPT_OUTPUT) rows[i].kind = LOB_OPT_TEXT;
}

static int run(const lob_command *self, int argc, char **argv)
{
    settings set = {.given = not_given(), .plan.frame = -1, .plan.channel = -1};
    lob_cells_choices *const g = &set.given;
    lob_option rows[] = {
        OPERAND_INPUT("IMAGE", &set.image, LOB_FILE_IMAGE, "scan, or FILE.h5:/dataset",
                      .required = true),
        OPT_OUTPUT("output", &set.out, LOB_FILE_LABELS, "label volume to write", .letter = 'o',
                   .required = true),
        OPT_LENGTH("size", &g->size, 0, 1e6,
                   "diameter of a usual cell or nucleus, as 8um, 0.01mm or 20vox; left out: "
                   "estimated from the image and reported",
                   .above_low = true),
        OPT_FLAG("walls", &set.walls,
                 "cells are dark between bright walls, as membranes are stained; left out: they "
                 "are bright bodies, as nuclei are"),
        OPT_OUTPUT("table", &set.table, LOB_FILE_TABLE,
                   "also write a table of the cells: FILE.tsv, .csv or .json, or - for standard "
                   "output"),
        OPT_REAL("smooth", &g->smooth, "SIZES", 0, 1,
                 "standard deviation of the image's Gaussian, in sizes; left out: 0.08, with "
                 "--walls 0.04"),
        OPT_REAL("around", &g->around, "SIZES", 0.5, 10,
                 "bodies: how far the surroundings reach that a voxel is compared with; left out: "
                 "1.5"),
        OPT_REAL("bright", &g->bright, "SHARE", 0, 10,
                 "bodies: how much brighter than its surroundings a voxel is, as a share of "
                 "Otsu's threshold of that difference; left out: 0.5"),
        OPT_REAL("apart", &g->apart, "SIZES", 0, 10,
                 "bodies: distance of two middles, at least; left out: 0.5"),
        OPT_REAL("seeds", &g->seeds, "SHARE", 0, 1,
                 "walls: depth of a cell's middle below any pass to a deeper one, as a share of "
                 "the contrast of walls; left out: 0.02"),
        OPT_REAL("wall", &g->wall, "SHARE", 0, 1,
                 "pieces are joined where the wall between them is less than this share of a full "
                 "one, or their neck misses less than this share of the thinner one's width; left "
                 "out: 0.05, with --walls 0.12"),
        OPT_REAL("least", &g->least, "SHARE", 0, 10,
                 "smaller cells are taken out, as a share of a ball of --size, in one slice of a "
                 "disc; left out: 0.08, with --walls 0.01"),
        OPT_INT("frame", &set.plan.frame, "N", 0, INT32_MAX,
                "time frame of the image, from 0; needed when there are several"),
        OPT_INT("channel", &set.plan.channel, "N", 0, INT32_MAX,
                "channel of the image, from 0; needed when there are several"),
        OPT_FLAG("print-recipe", &set.print,
                 "print the lines of the recipe that gives the same bytes, and do nothing else"),
    };
    allow_outputs_to_print(rows, LOB_COUNT(rows), argc, argv);
    lob_session s;
    if (!lob_session_begin(&s, self, rows, LOB_COUNT(rows), argc, argv)) return s.exit_code;
    return lob_session_end(&s, cells(&s, &set));
}

const lob_command lob_command_cells = {
    .name = "cells",
    .summary = "give every cell or nucleus a label, without seeds",
    .description =
        "Bodies: the image is smoothed, and what is brighter than its surroundings is a body. The "
        "deepest places below the bodies' surfaces are seeds; from these a flood over the depth "
        "cuts bodies that touch at their necks.\n"
        "--walls: the image is smoothed, its darkest places are seeds, and a flood over the image "
        "ends at the walls. Every voxel gets a cell, the walls too.\n"
        "Then pieces that no wall, or no neck, parts are joined, holes filled, and what is much "
        "smaller than a cell is taken out. Cells count from 1 in no order that means anything.\n"
        "All lengths follow from --size, the diameter of a usual cell. What was chosen is in the "
        "report. --print-recipe prints it as a recipe, plain lines of other commands: `lobule run` "
        "runs them to the same bytes, and any of them can be changed.\n"
        "The table is that of `lobule stats`, with diameter, elongation, sphericity and how many "
        "cells touch each. The result has the same bytes on every machine, device and number of "
        "threads.",
    .examples = "lobule cells nuclei.nii.gz -o labels.nii.gz --size 8um --table cells.tsv\n"
                "lobule cells ovule.h5:/raw -o cells.nii.gz --walls\n"
                "lobule cells nuclei.nii.gz -o labels.nii.gz --print-recipe > nuclei.recipe",
    .result = "labels",
    .result_text = "labels",
    .run = run,
    .runs_others = true,
    .nests = true,
};
