/* What `lobule cells` says: a recipe, the report, and the table. */
#include "tools/commands/cells/cells_work.h"
#include "tools/table/table_file.h"
#include "tools/text/text.h"
#include "volumes/free.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- --print: the plan as lines of commands ---- */

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
lob_status lob_cells_print_recipe(const lob_cells_plan *plan, const lob_cells_files *files,
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
            printf("lobule stats %s @cells --table %s --columns " LOB_CELLS_COLUMNS "\n", image,
                   table);
            printf("lobule convert @cells %s --labels\n", out);
        }
    }
    LOB_FREE(file, out, table);
    return made ? LOB_OK : lob_fail(error, LOB_ENOMEM, "out of memory");
}

/* ---- results ---- */

void lob_cells_report_plan(lob_session *s, const lob_cells_plan *plan)
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

void lob_cells_report(lob_session *s, const lob_cells_work *set)
{
    LOB_JSON_NUMBERS(s->results, {"labels", set->stats.cells}, {"seeds", set->stats.seeds},
                     {"working_bytes", set->stats.working_bytes});
    lob_session_note_not_finite(s, set->files.image, set->stats.not_finite,
                                "these stay without a label");
    if (set->stats.cells == 0) lob_session_note(s, "%s: no label is left", set->files.out);
}

/* NaN and infinite voxels with a label are in no intensity of the table. */
static void note_gaps(lob_session *s, const lob_cells_work *set)
{
    const lob_region_table *const t = &set->table;
    int64_t gaps = 0;
    for (int64_t i = 0; i < t->count; i++) gaps += t->regions[i].voxels - t->intensities[i].data;
    if (gaps > 0)
        lob_session_note(s,
                         "%s: NaN or infinite voxels with a label: %lld; min, mean, max and sd are "
                         "of the others",
                         set->files.image, (long long)gaps);
}

lob_status lob_cells_write_table(lob_session *s, lob_cells_work *set)
{
    note_gaps(s, set);
    return lob_region_table_write(s, &set->table, set->files.table);
}
