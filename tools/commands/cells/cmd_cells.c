/* lobule cells: from an image of cells or nuclei to a label for each. */
#include "tools/commands/cells/cells_work.h"
#include "tools/commands/commands.h"
#include "tools/table/table_file.h"

#include <math.h>

/* What is given takes the place of what is usual; a choice of the other kind is an error. */
static lob_status check(lob_session *s, void *user)
{
    lob_cells_work *const set = user;
    const lob_cells_files *const files = &set->files;
    const lob_cells_options *const g = &set->given;
    lob_cells_options *const c = &set->options;
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
    const bool many = lob_team_size(s->ranks) > 1 || set->slabs.plan > 0;
    *c = lob_cells_defaults(set->walls);
    for (size_t i = 0; i < LOB_COUNT(rows); i++) {
        if (isnan(rows[i].given)) continue;
        if (!(set->walls ? rows[i].walls : rows[i].bodies))
            return lob_fail(&s->error, LOB_EARG, "--%s %s", rows[i].name,
                            set->walls ? "does not go with --walls" : "belongs to --walls");
        *rows[i].choice = rows[i].given;
    }
    const char *const names[] = {files->image, files->out, files->table};
    for (size_t i = 0; i < LOB_COUNT(names) && set->print; i++)
        if (names[i] && lob_session_is_stored(s, names[i]))
            return lob_fail_file(&s->error, LOB_EARG, names[i],
                                 "is in memory, and lines that are printed need files");
    if (many && set->walls)
        return lob_fail(&s->error, LOB_EARG,
                        "--walls needs the whole volume: start one task, or cut parts out with "
                        "lobule crop");
    LOB_TRY(lob_table_check(s, files->table, NULL));
    return many ? lob_session_cpu_alone(s, "several tasks label cells") : LOB_OK;
}

static lob_status read_image(lob_session *s, lob_cells_work *set)
{
    const lob_cells_files *const files = &set->files;
    s->spaced = !isnan(files->stated.spacing[0]);
    LOB_TRY(lob_session_read(s, &set->image, files->image, files->frame));
    lob_grid_state(&set->image, &files->stated);
    LOB_TRY(lob_grid_choose_channel(s, &set->image, files->channel, files->image));
    lob_cells_take_size(set, &set->image);
    return lob_session_check(s, &set->image, LOB_I32, 1, files->out);
}

static lob_status label(lob_session *s, lob_cells_work *set)
{
    lob_session_compute(s, "labelling");
    const lob_status st = lob_cells(&set->labels, &set->stats, &set->image, &set->plan, s->backend,
                                    &s->context, &s->error);
    LOB_TRY(lob_session_done(s, st, set->files.image, NULL));
    return lob_session_take(s, lob_volume_bytes(&set->labels), set->files.out);
}

/* ---- the command ---- */

static lob_status in_memory(lob_session *s, lob_cells_work *set)
{
    LOB_TRY(read_image(s, set));
    LOB_TRY(lob_session_device(s));
    lob_session_compute(s, "measuring");
    LOB_TRY(lob_session_done(s,
                             lob_cells_choose(&set->plan, &set->image, &set->options, s->backend,
                                              &s->context, &s->error),
                             set->files.image, NULL));
    lob_cells_report_plan(s, &set->plan);
    if (set->print) return lob_cells_print_recipe(&set->plan, &set->files, &s->error);
    LOB_TRY(label(s, set));
    lob_cells_report(s, set);
    set->table = (lob_region_table){.grid = &set->labels,
                                    .image = &set->image,
                                    .count = set->stats.cells,
                                    .columns = LOB_CELLS_COLUMNS};
    if (set->files.table) {
        LOB_TRY(lob_region_table_measure(s, &set->table, set->files.image, NULL));
        LOB_TRY(lob_cells_write_table(s, set));
    }
    return lob_session_write(s, &set->labels, set->files.out, true);
}

static lob_status cells(lob_session *s, void *user)
{
    lob_cells_work *const set = user;
    if (s->ranks || set->slabs.plan > 0) {
        const lob_status st = lob_cells_by_slabs(s, set);
        set->image = lob_volume_empty(); /* it was the file's */
        return lob_slabs_close(s, &set->slabs, st);
    }
    const lob_status st = in_memory(s, set);
    if (st == LOB_ENOMEM) lob_cells_suggest(s, set);
    return st;
}

static void release(void *user)
{
    lob_cells_work *const set = user;
    LOB_VOLUMES_FREE(&set->image, &set->labels);
    lob_region_table_free(&set->table);
}

static lob_cells_options not_given(void)
{
    return (lob_cells_options){.smooth = NAN,
                               .around = NAN,
                               .bright = NAN,
                               .apart = NAN,
                               .seeds = NAN,
                               .wall = NAN,
                               .least = NAN};
}

static void options(lob_rows *to, void *user)
{
    lob_cells_work *const set = user;
    *set = (lob_cells_work){
        .files = {.frame = -1,               .channel = -1, .stated = LOB_NOT_STATED},
        .slabs = {.at_once = true},
        .size = {.value = INFINITY          },
        .given = not_given(),
        .image = lob_volume_empty(),
        .labels = lob_volume_empty()
    };
    lob_cells_options *const g = &set->given;
    const lob_option rows[] = {
        OPERAND_IMAGE(&set->files.image, "scan"),
        OPT_LABELS_OUTPUT(&set->files.out),
        OPT_LENGTH("size", &set->size, 0, 1e6,
                   "diameter of a usual cell or nucleus, as 8um, 0.01mm or 20vox; left out: "
                   "estimated from the image and reported",
                   .above_low = true),
        OPT_FLAG("walls", &set->walls,
                 "cells are dark between bright walls, as membranes are stained; left out: they "
                 "are bright bodies, as nuclei are"),
        OPT_TABLE(&set->files.table, "also write a table of the cells"),
        OPT_REAL("smooth", &g->smooth, "SIZES", 0, 1,
                 "standard deviation of the image's Gaussian, in sizes; left out: 0.08, with "
                 "--walls 0.07"),
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
                 "the contrast of walls; left out: 0.03"),
        OPT_REAL("wall", &g->wall, "SHARE", 0, 1,
                 "pieces are joined where the wall between them is less than this share of a full "
                 "one, or the pass less than this share of the shallower one's valley; left out: "
                 "0.25, with --walls 0.12"),
        OPT_REAL("least", &g->least, "SHARE", 0, 10,
                 "smaller cells are taken out, as a share of a ball of --size, in one slice of a "
                 "disc; left out: 0.08, with --walls 0.01"),
        OPT_FRAME(&set->files.frame, "image"),
        OPT_CHANNEL(&set->files.channel),
        OPT_SPACING(&set->files.stated.spacing),
        OPT_ORIGIN(&set->files.stated.origin),
        OPT_FLAG("print-recipe", &set->print,
                 "print the lines of the recipe that gives the same bytes, and do nothing else"),
        OPT_PLAN(&set->slabs.plan),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_cells = {
    .name = "cells",
    .summary = "give every cell or nucleus a label, without seeds",
    .description =
        "Bodies: the image is smoothed, and what is brighter than its surroundings is a body. The "
        "Laplacian of Gaussian at the scale of --size has a valley in each; their lowest places "
        "are seeds, and a flood from these cuts bodies that touch.\n"
        "--walls: the image is smoothed, its darkest places are seeds, and a flood over the image "
        "ends at the walls. Every voxel gets a cell, the walls too.\n"
        "Then pieces that no wall, or no pass, parts are joined, holes filled, and what is much "
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
    .voxel_ns = 1300,
    .shares = true,
    .only_prints = "print-recipe",
    LOB_COMMAND_PARTS(lob_cells_work, options, check, cells, release),
};
