/* lobule run: the commands of a recipe, one after another in one process. */
#include "tools/commands/commands.h"
#include "tools/recipe/recipe_job.h"
#include "tools/report/report.h"
#include "tools/text/path.h"
#include "volumes/free.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *recipe;
    lob_words given;
    bool list, dry_run;
    char *path; /* of the recipe */
    lob_recipe parsed;
    const char **values;
    lob_recipe_job job;
} settings;

/* ---- values ---- */

static lob_status unknown_value(lob_session *s, const lob_recipe *recipe, const char *path,
                                const char *word, size_t length)
{
    const char *nearest = NULL;
    int min = 3;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), word);
    for (int i = 0; i < recipe->value_count; i++) {
        const int distance = lob_word_distance(recipe->values[i].name, name);
        if (distance < min) {
            min = distance;
            nearest = recipe->values[i].name;
        }
    }
    return lob_fail(&s->error, LOB_EARG, "%s=: %s has no {%s}%s%s%s", name, path, name,
                    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* The values, from what is given and from defaults. */
static lob_status bind(lob_session *s, const lob_recipe *recipe, const char *path,
                       const lob_words *given, const char **values)
{
    for (int i = 0; i < given->count; i++) {
        const char *const word = given->word[i];
        const size_t length = strcspn(word, "=");
        if (length == 0 || word[length] == '\0')
            return lob_fail(&s->error, LOB_EARG, "'%s' is no value; write NAME=VALUE", word);
        const int v = lob_recipe_find_value(recipe, word, length);
        if (v < 0) return unknown_value(s, recipe, path, word, length);
        if (values[v])
            return lob_fail(&s->error, LOB_EARG, "%s= is given twice", recipe->values[v].name);
        values[v] = word + length + 1;
        if (lob_is_stored_name(values[v]))
            return lob_fail(&s->error, LOB_EARG,
                            "%s: volumes in memory belong to the recipe; a file of this name is "
                            "./%s",
                            word, values[v]);
    }
    for (int i = 0; i < recipe->value_count; i++) {
        const lob_recipe_value *const v = &recipe->values[i];
        if (!values[i]) values[i] = v->initial;
        if (!values[i])
            return lob_fail(&s->error, LOB_EARG, "%s:%d: {%s} has no value; add %s=VALUE", path,
                            v->line, v->name, v->name);
    }
    return LOB_OK;
}

/* ---- the recipe ---- */

static lob_status run_job(lob_session *s, settings *set)
{
    bool skip;
    char line[LOB_ERROR_LINE];
    if (set->dry_run) LOB_TRY(lob_recipe_job_print(&set->job));
    LOB_TRY(lob_recipe_job_check_options(&set->job, &skip));
    if (!skip) LOB_TRY(lob_recipe_job_check_files(&set->job));
    if (set->dry_run) return LOB_OK;
    if (!skip) return lob_recipe_job_run(&set->job);
    lob_session_note(s, "%s", lob_error_line(line, sizeof line, &s->error));
    return LOB_OK;
}

static lob_status run_recipe(lob_session *s, settings *set)
{
    lob_recipe *const recipe = &set->parsed;
    LOB_TRY(lob_recipe_find(&set->path, set->recipe, &s->error));
    LOB_TRY(lob_recipe_read(recipe, set->path, &s->error));
    lob_session_describe(s, set->path, "RECIPE");
    set->values = calloc((size_t)recipe->value_count + 1, sizeof *set->values);
    if (!set->values) return lob_session_no_memory(s, set->path);
    LOB_TRY(bind(s, recipe, set->path, &set->given, set->values));
    cJSON *const values = cJSON_AddObjectToObject(s->results, "values");
    for (int i = 0; i < recipe->value_count; i++)
        cJSON_AddStringToObject(values, recipe->values[i].name, set->values[i]);
    LOB_TRY(lob_recipe_job_make(&set->job, s, recipe, set->path, set->values));
    return run_job(s, set);
}

static lob_status run(lob_session *s, void *user)
{
    settings *const set = user;
    if (set->list && (set->recipe || set->dry_run))
        return lob_fail(&s->error, LOB_EARG, "--list stands alone");
    if (set->list) return lob_recipe_list(stdout, &s->error);
    if (!set->recipe)
        return lob_fail(&s->error, LOB_EARG,
                        "RECIPE is missing; name a file, or a recipe that --list names");
    const lob_status st = run_recipe(s, set);
    lob_sums_end(s); /* they refer to the path */
    return st;
}

static void release(void *user)
{
    settings *const set = user;
    lob_recipe_job_free(&set->job);
    lob_recipe_free(&set->parsed);
    LOB_FREE(set->values, set->path);
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    const lob_option rows[] = {
        OPERAND_INPUT("RECIPE", &set->recipe, LOB_FILE_RECIPE,
                      "file with one command a line, or the name of one that is installed"),
        OPERAND_WORDS("NAME=VALUE", &set->given, "what stands for {NAME} in the recipe"),
        OPT_FLAG("list", &set->list, "list the recipes that are installed, with their values"),
        OPT_FLAG("dry-run", &set->dry_run,
                 "print the lines with their values, check them, and do nothing else"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_run = {
    .name = "run",
    .summary = "run the commands of a recipe in one process",
    .description =
        "A recipe is a text file with one command of lobule a line, as it is typed in a shell: "
        "words between blanks, quotes, backslashes, comments from a # on, lines joined by a "
        "backslash at the end. The word `lobule` before a command may be left out. {name} stands "
        "for what is given as name=VALUE, {name=text} for what may be left out; braces in single "
        "quotes stand for themselves. A word that begins with a value is no option.\n"
        "@name, in the place of a volume's file, is a volume in memory: one line writes it, lines "
        "after that read it, and the last one frees it; where none does, that is "
        "noted, but for names that begin with @_. It counts against --max-memory. Header "
        "fields, types and values come out as they would through files named .nii.gz, so that the "
        "same lines with files, typed one by one, give the same bytes. A file that several lines "
        "read is read and inflated once, where a quarter of the memory holds it.\n"
        "All of a recipe is checked before any work: the options of every line, values, inputs, "
        "outputs that exist, two lines that write one name, and volumes that are read before they "
        "are made. A line that fails ends the run with its exit code and is named with the "
        "recipe's file and its number; outputs that lines before it made are removed, as those of "
        "a single command are. A comparison with --strict that finds a difference does not fail: "
        "the run goes on, and ends with 1.\n"
        "The common options hold for all lines, where a line has none of its own. The report holds "
        "the reports of all lines, with their times and results.\n"
        "Recipes are looked for as files, then as NAME.recipe in the folders of LOBULE_RECIPES "
        "(separated by colons), in ~/.local/share/lobule/recipes, and with the program.",
    .examples =
        "lobule run --list\n"
        "lobule run liver.recipe image=scan.nii.gz seeds=seeds.nii.gz out=labels.nii.gz\n"
        "lobule run liver.recipe image=scan.nii.gz seeds=seeds.nii.gz out=labels.nii.gz --dry-run",
    .compares = true,
    LOB_COMMAND_PARTS(settings, options, NULL, run, release),
    .runs_others = true,
};
