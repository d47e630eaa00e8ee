/* lobule cells: from an image of cells or nuclei to a label for each. */
#include "kernels/cells/cells.h"
#include "kernels/cells/cells_slabs.h"
#include "tools/commands/commands.h"
#include "tools/inout/slabs.h"
#include "tools/table/region_list.h"
#include "tools/table/region_table.h"
#include "tools/table/table_file.h"
#include "tools/text/text.h"
#include "volumes/free.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The columns of the table of cells. */
#define COLUMNS "basic,diameter,elongation,sphericity,neighbours"

/* What it reads and writes. */
typedef struct {
    const char *image, *out, *table; /* files; no table: NULL */
    int frame, channel;              /* of the image; < 0: not given */
    lob_stated_grid stated;          /* of the image */
} named_files;

typedef struct {
    named_files files;
    bool print, walls;
    lob_size size;           /* infinite: not given */
    lob_cells_options given; /* NAN: not given */
    lob_cells_options options;
    lob_cells_plan plan;
    lob_cells_stats stats;
    lob_volume image, labels;
    lob_region_table table;
    lob_slabs slabs; /* the image, cut for several tasks */
} work;

/* ---- --print-recipe: the plan as lines of commands ---- */

/* Flood from the seeds, and join what the walls of these values do not part. */
static void print_flood(const lob_cells_plan *plan, const char *image, const char *more)
{
    printf("lobule growcut %s @seeds -o %s --rule flood --trust-seeds%s\n", image,
           plan->wall > 0 ? "@basins" : "@joined", more);
    if (plan->wall > 0)
        printf("lobule merge @basins %s -o @joined --share %.9g --level %.9g\n", image, plan->wall,
               plan->wall_level);
}

static void print_bodies(const lob_cells_plan *plan, const char *image)
{
    printf("lobule filter %s -o @smooth --gaussian %.9gmm --edge nearest", image, plan->smooth_mm);
    if (isfinite(plan->brightest)) printf(" --window -inf,%.9g", plan->brightest);
    printf("\nlobule threshold @smooth -o @bright --local %.9gmm --offset %.9g\n", plan->around_mm,
           plan->offset);
    printf("lobule filter @smooth -o @valleys --log %.9gmm --edge nearest\n", plan->bend_mm);
    printf("lobule filter @valleys -o @hills --scale -1,0\n");
    printf("lobule maxima @hills -o @seeds --mask @bright --distance %.9gmm\n", plan->apart_mm);
    print_flood(plan, "@valleys", " --mask @bright");
}

static void print_walls(const lob_cells_plan *plan, const char *image)
{
    printf("lobule filter %s -o @smooth --gaussian %.9gmm --edge nearest\n", image,
           plan->smooth_mm);
    printf("lobule filter @smooth -o @inside --scale -1,0\n");
    printf("lobule maxima @inside -o @seeds --height %.9g\n", plan->height);
    print_flood(plan, "@smooth", "");
}

static void print_triple(const char *option, const double value[3])
{
    if (!isnan(value[0])) printf(" --%s=%.17g,%.17g,%.17g", option, value[0], value[1], value[2]);
}

/* Print lines of commands that give the bytes of lob_cells: a recipe, to keep and change. */
static lob_status print_recipe(const lob_cells_plan *plan, const named_files *files,
                               lob_error *error)
{
    const bool part =
        files->frame >= 0 || files->channel >= 0 || lob_grid_is_stated(&files->stated);
    char *const file = lob_shell_word(files->image), *const out = lob_shell_word(files->out);
    char *const table = files->table ? lob_shell_word(files->table) : NULL;
    const bool made = file && out && (table || !files->table);
    if (made) {
        const char *const image = part ? "@image" : file;
        if (part) printf("lobule convert %s @image", file);
        if (files->frame >= 0) printf(" --frame %d", files->frame);
        if (files->channel >= 0) printf(" --channel %d", files->channel);
        print_triple("spacing", files->stated.spacing);
        print_triple("origin", files->stated.origin);
        if (part) printf("\n");
        (plan->walls ? print_walls : print_bodies)(plan, image);
        printf("lobule labels @joined -o %s --fill-holes --min-size %.9gmm3 --sequential\n",
               table ? "@cells" : out, plan->least_mm3);
        if (table) {
            printf("lobule stats %s @cells --table %s --columns " COLUMNS "\n", image, table);
            printf("lobule convert @cells %s --labels\n", out);
        }
    }
    LOB_FREE(file, out, table);
    return made ? LOB_OK : lob_fail(error, LOB_ENOMEM, "out of memory");
}

/* ---- results ---- */

static void report_plan(lob_session *s, const lob_cells_plan *plan)
{
    const bool walls = plan->walls;
    cJSON *const chosen = cJSON_AddObjectToObject(s->results, "chosen");
    cJSON_AddStringToObject(chosen, "cells_are", walls ? "between walls" : "bodies");
    cJSON_AddNumberToObject(chosen, "size_mm", plan->size_mm);
    cJSON_AddBoolToObject(chosen, "size_estimated", plan->estimated);
    cJSON_AddNumberToObject(chosen, walls ? "threshold" : "threshold_over_surroundings",
                            plan->threshold);
    if (!walls && isfinite(plan->brightest))
        cJSON_AddNumberToObject(chosen, "brightest", plan->brightest);
    if (walls) cJSON_AddNumberToObject(chosen, "wall_contrast", plan->contrast);
    lob_session_say(s, "cells: %s, of %.4g mm%s", walls ? "between walls" : "bodies", plan->size_mm,
                    plan->estimated ? " (estimated)" : "");
}

static void report(lob_session *s, const work *set)
{
    LOB_JSON_NUMBERS(s->results, {"labels", set->stats.cells}, {"seeds", set->stats.seeds},
                     {"working_bytes", set->stats.working_bytes});
    lob_session_note_not_finite(s, set->files.image, set->stats.not_finite,
                                "these stay without a label");
    if (set->stats.cells == 0) lob_session_note(s, "%s: no label is left", set->files.out);
}

static lob_status write_table(lob_session *s, work *set)
{
    lob_region_table_not_finite(s, &set->table, set->files.image);
    return lob_region_table_write(s, &set->table, set->files.table);
}

/* What is given takes the place of what is usual; a choice of the other kind is an error. */
static lob_status check(lob_session *s, void *user)
{
    work *const set = user;
    const named_files *const files = &set->files;
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
    LOB_TRY(lob_table_check(s, files->table, NULL));
    return many ? lob_session_cpu_alone(s, "several tasks label cells") : LOB_OK;
}

/* What --size says, for voxels of these sides. */
static void take_size(work *set, const lob_volume *image)
{
    const lob_size *const size = &set->size;
    const double unit =
        size->voxels ? lob_least_spacing(image->dims, image->geometry.spacing_mm) : 1;
    set->options.size_mm = size->value * unit;
}

/* ---- several tasks ---- */

/* Bytes of a voxel that a task's work takes: most in the flood; of one around its planes; and of
 * the flood's queues and tables of labels. */
enum { WORKING = 32, AROUND = 8, TABLES = 2 << 20 };

/* Planes on each side that steps reach; a size that is not given is taken for a usual one. */
static int64_t reach_of(const work *set, const lob_volume *v)
{
    enum { USUAL = 20 }; /* voxels */
    const double size = set->options.size_mm;
    return lob_cells_reach(v, &set->options,
                           isfinite(size) ? size : USUAL * v->geometry.spacing_mm[2]);
}

/* Planes on both sides of a task's own, at most. */
static int64_t around(const lob_volume *v, int64_t reach)
{
    return 2 * reach < v->dims.nz ? 2 * reach : v->dims.nz;
}

/* What each task holds beside its planes: the same for any number of tasks, so that more of them
 * are of use. */
static int64_t beside(const lob_volume *v, int64_t reach)
{
    return TABLES + v->dims.nx * v->dims.ny * around(v, reach) * AROUND;
}

/* After LOB_ENOMEM of work that was thought to fit. */
static lob_status say_more(lob_session *s, lob_status st)
{
    if (st == LOB_ENOMEM)
        lob_error_add(&s->error,
                      "; more memory for each task would do, or a part of it (lobule crop)");
    return st;
}

static lob_status measure_slab(lob_session *s, work *set, const lob_slab *slab)
{
    const char *const path = set->files.image;
    lob_region_list list = {.needs = lob_region_columns_needs(COLUMNS)};
    lob_region_stack stack;
    lob_fine_levels fine;
    set->table = (lob_region_table){.grid = &set->image, .image = &set->image, .columns = COLUMNS};
    lob_session_compute(s, "measuring");
    lob_status st = lob_region_stack_make(s, &stack, &set->labels, true, set->files.out);
    if (st == LOB_OK)
        st = lob_region_list_of_team(s, &list, &fine, &stack, &slab->image, slab->z, path,
                                     set->files.out);
    lob_region_stack_free(s, &stack);
    if (st == LOB_OK && lob_team_rank(s->team) == 0)
        st = lob_region_list_fill(s, &set->table, &list, &fine, path);
    lob_region_list_free(s, &list);
    return lob_session_done(s, st, path, NULL);
}

static lob_status label_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const set = user;
    const char *const path = set->files.image;
    const int64_t planes = set->image.dims.nz, before = lob_slabs_sent(s);
    const bool first = lob_team_rank(s->team) == 0;
    lob_session_compute(s, "measuring");
    lob_status st = lob_cells_choose_slabs(&set->plan, &slab->image, &set->options, planes, s->team,
                                           &s->context, &s->error);
    LOB_TRY(lob_session_done(s, say_more(s, st), path, NULL));
    report_plan(s, &set->plan);
    if (set->print) return first ? print_recipe(&set->plan, &set->files, &s->error) : LOB_OK;
    set->slabs.common_bytes =
        beside(&set->image, lob_cells_reach(&set->image, &set->options, set->plan.size_mm));
    LOB_TRY(lob_slabs_fit(s, &set->slabs, WORKING));
    lob_session_compute(s, "labelling");
    st = lob_cells_slabs(&set->labels, &set->stats, &slab->image, &set->plan, planes, s->team,
                         &s->context, &s->error);
    LOB_TRY(lob_session_done(s, say_more(s, st), path, NULL));
    LOB_TRY(lob_session_take(s, lob_volume_bytes(&set->labels), set->files.out));
    LOB_TRY(lob_team_reduce(s->team, &set->stats.working_bytes, 1, LOB_TEAM_MAX, &s->error));
    report(s, set);
    if (set->files.table) LOB_TRY(measure_slab(s, set, slab));
    LOB_TRY(lob_slabs_report_sent(s, before));
    if (set->files.table && first) LOB_TRY(write_table(s, set));
    return lob_slabs_write(s, &set->slabs, slab, &set->labels, set->files.out, true);
}

static lob_status by_slabs(lob_session *s, work *set)
{
    /* Bytes of a voxel at a seam in the flood, and of one around a task's planes. */
    enum { LABEL = 4, FLOOD = 32, GIVEN = 10, ESTIMATED = 18, MEETINGS = 200 };
    const named_files *const files = &set->files;
    lob_slabs *const slabs = &set->slabs;
    s->spaced = !isnan(files->stated.spacing[0]);
    slabs->path = files->image;
    slabs->frame = files->frame;
    slabs->channel = files->channel;
    LOB_TRY(lob_slabs_open(s, slabs));
    LOB_TRY(lob_grid_is_chosen(s, &slabs->volume, slabs->path));
    if (lob_grid_is_stated(&files->stated))
        slabs->volume.header = (lob_header){.bytes = NULL}; /* it stays the file's */
    lob_grid_state(&slabs->volume, &files->stated);
    set->image = slabs->volume;
    set->image.data = NULL;
    take_size(set, &set->image);
    LOB_TRY(lob_session_check(s, &set->image, LOB_I32, 1, files->out));
    const int64_t reach = reach_of(set, &set->image);
    slabs->seam_bytes =
        FLOOD + around(&set->image, reach) * (isfinite(set->options.size_mm) ? GIVEN : ESTIMATED);
    slabs->moved_bytes = 2 * sizeof(float) + 1;
    slabs->meetings = MEETINGS;
    slabs->common_bytes = beside(&set->image, reach);
    LOB_TRY(lob_slabs_cut(s, slabs, 0, 1, WORKING, LABEL));
    return slabs->plan > 0 ? LOB_OK : lob_slabs_each(s, slabs, label_slab, set);
}

/* After LOB_ENOMEM: add to the error what would do. */
static void suggest(lob_session *s, work *set)
{
    /* Bytes that suffice for a voxel, beside the image's, and for any number of them, but where
     * noise has a seed every few voxels: then the flood's queue is longer. */
    enum { EACH = 36, ALL = 4 << 20 };
    const char *const path = set->files.image;
    lob_volume image;
    char need[LOB_BYTES_TEXT];
    if (s->host || s->context.device || !lob_session_peek(s, &image, path)) return;
    image.header = (lob_header){.bytes = NULL}; /* not ours */
    lob_grid_state(&image, &set->files.stated);
    take_size(set, &image);
    const int64_t each = EACH + image.channels * (int64_t)lob_type_of(image.type)->bytes;
    const int64_t most = lob_product(lob_voxels(&image), each, 1, 1);
    const double room = (double)(lob_session_left(s) + s->held - ALL);
    lob_error_add(&s->error, "; %s would do", lob_bytes_text(need, most + ALL));
    if (room > 8.0 * (double)each)
        lob_error_add(&s->error, ", or a part of %.0f voxels a side (lobule crop)",
                      floor(cbrt(room / (double)each)));
    const int64_t tasks =
        lob_slabs_tasks(s, path, 0, WORKING, beside(&image, reach_of(set, &image)));
    if (tasks > 0) lob_error_add(&s->error, ", or %lld tasks of mpirun or srun", (long long)tasks);
}

/* ---- in memory ---- */

static lob_status read_image(lob_session *s, work *set)
{
    const named_files *const files = &set->files;
    s->spaced = !isnan(files->stated.spacing[0]);
    LOB_TRY(lob_session_read(s, &set->image, files->image, files->frame));
    lob_grid_state(&set->image, &files->stated);
    LOB_TRY(lob_grid_choose_channel(s, &set->image, files->channel, files->image));
    take_size(set, &set->image);
    return lob_session_check(s, &set->image, LOB_I32, 1, files->out);
}

static lob_status label(lob_session *s, work *set)
{
    lob_session_compute(s, "labelling");
    const lob_status st = lob_cells(&set->labels, &set->stats, &set->image, &set->plan, s->backend,
                                    &s->context, &s->error);
    LOB_TRY(lob_session_done(s, st, set->files.image, NULL));
    return lob_session_take(s, lob_volume_bytes(&set->labels), set->files.out);
}

/* ---- the command ---- */

static lob_status in_memory(lob_session *s, work *set)
{
    LOB_TRY(read_image(s, set));
    LOB_TRY(lob_session_device(s));
    lob_session_compute(s, "measuring");
    LOB_TRY(lob_session_done(s,
                             lob_cells_choose(&set->plan, &set->image, &set->options, s->backend,
                                              &s->context, &s->error),
                             set->files.image, NULL));
    report_plan(s, &set->plan);
    if (set->print) return print_recipe(&set->plan, &set->files, &s->error);
    LOB_TRY(label(s, set));
    report(s, set);
    set->table = (lob_region_table){
        .grid = &set->labels, .image = &set->image, .count = set->stats.cells, .columns = COLUMNS};
    if (set->files.table) {
        LOB_TRY(lob_region_table_measure(s, &set->table, set->files.image, NULL));
        LOB_TRY(write_table(s, set));
    }
    return lob_session_write(s, &set->labels, set->files.out, true);
}

static lob_status cells(lob_session *s, void *user)
{
    work *const set = user;
    if (s->ranks || set->slabs.plan > 0) {
        const lob_status st = by_slabs(s, set);
        set->image = lob_volume_empty(); /* it was the file's */
        return lob_slabs_close(s, &set->slabs, st);
    }
    const lob_status st = in_memory(s, set);
    if (st == LOB_ENOMEM) suggest(s, set);
    return st;
}

static void release(void *user)
{
    work *const set = user;
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
    work *const set = user;
    *set = (work){
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
    LOB_COMMAND_PARTS(work, options, check, cells, release),
};
