/* Finding, reading and listing recipes. */
#include "tools/recipe/recipe.h"

#include "io/file.h"
#include "io/platform.h"
#include "tools/platform/process.h"
#include "tools/text/path.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

static const char suffix[] = ".recipe";

/* ---- folders ---- */

/* Take over a path; NULL: there was no memory for it. */
static void add_path(lob_found *to, char *path)
{
    if (path && lob_grow(&to->paths, (int64_t)to->count, sizeof *to->paths))
        to->paths[to->count++] = path;
    else {
        to->no_memory = true;
        free(path);
    }
}

/* What was installed with the program: LOBULE_SHARE is the way from its folder to share/. */
static void add_installed(lob_found *f)
{
    char *const program = lob_process_file();
    if (!program) return;
    *(char *)lob_name_in_path(program) = '\0';
    char *const way = lob_printed("%s/%s", program, LOBULE_SHARE "/lobule/recipes");
    if (!way) f->no_memory = true;
    if (way && lob_is_folder(way)) add_path(f, lob_real_path(way)); /* messages name it */
    free(way);
    free(program);
}

/* The folders that are searched, in their order. */
static void find_folders(lob_found *f)
{
    *f = (lob_found){NULL};
    char *const own = lob_environment("LOBULE_RECIPES");
    for (const char *at = own; at && *at;) {
        const size_t n = strcspn(at, (const char[2]){lob_list_mark});
        if (n > 0) add_path(f, strndup(at, n));
        at += n + (at[n] == lob_list_mark);
    }
    free(own);
    char *const data = lob_user_data();
    if (data) add_path(f, lob_printed("%s/lobule/recipes", data));
    free(data);
    add_installed(f);
}

/* ---- one recipe ---- */

char *lob_recipe_folder(void)
{
    lob_found all;
    char *found = NULL;
    find_folders(&all);
    for (size_t i = 0; i < all.count && !found; i++)
        if (lob_is_folder(all.paths[i])) found = strdup(all.paths[i]);
    lob_found_free(&all);
    return found;
}

lob_status lob_recipe_find(char **path, const char *name, lob_error *error)
{
    *path = NULL;
    if (strchr(name, '/') || lob_is_file(name)) {
        *path = strdup(name);
        return *path ? LOB_OK : lob_fail(error, LOB_ENOMEM, "%s: out of memory", name);
    }
    lob_found f;
    find_folders(&f);
    for (size_t i = 0; i < f.count && !*path; i++) {
        *path = lob_printed("%s/%s%s", f.paths[i], name, suffix);
        if (*path && lob_is_file(*path)) break;
        free(*path);
        *path = NULL;
    }
    const bool no_memory = f.no_memory;
    lob_found_free(&f);
    if (*path) return LOB_OK;
    if (no_memory) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", name);
    return lob_fail(error, LOB_ENOINPUT,
                    "%s: no such recipe, neither a file nor installed; `lobule run --list` names "
                    "those that are",
                    name);
}

lob_status lob_recipe_read(lob_recipe *out, const char *path, lob_error *error)
{
    lob_input file;
    *out = (lob_recipe){.summary = ""};
    lob_status st = lob_input_open(&file, path, error);
    if (st != LOB_OK) return st;
    st = lob_recipe_parse(out, (const char *)file.bytes, file.size, path, error);
    lob_input_close(&file);
    return st;
}

/* ---- all of them ---- */

/* Name and summary, then how it is called; stem: its path without the suffix. Returns LOB_OK, also
 * of one that cannot be used, or LOB_ENOMEM. */
static lob_status print_recipe(FILE *to, const char *stem)
{
    lob_recipe recipe;
    lob_error error = {.text = ""};
    const char *const name = lob_name_in_path(stem);
    char *const path = lob_printed("%s%s", stem, suffix);
    const lob_status st = path ? lob_recipe_read(&recipe, path, &error) : LOB_ENOMEM;
    free(path);
    if (st == LOB_ENOMEM) return st;
    if (st != LOB_OK) {
        char line[LOB_ERROR_LINE];
        fprintf(to, "%s: cannot be used: %s\n", name, lob_error_line(line, sizeof line, &error));
        return LOB_OK;
    }
    fprintf(to, "%s: %s\n    lobule run %s", name, recipe.summary, name);
    for (int i = 0; i < recipe.value_count; i++) {
        const lob_recipe_value *const v = &recipe.values[i];
        if (v->initial)
            fprintf(to, " [%s=%s]", v->name, v->initial);
        else
            fprintf(to, " %s=...", v->name);
    }
    fputc('\n', to);
    lob_recipe_free(&recipe);
    return LOB_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(lob_name_in_path(*(char *const *)a), lob_name_in_path(*(char *const *)b));
}

/* Add the recipes of a folder, but those of a name that is there, without the suffix. */
static void find_recipes(lob_found *all, const char *folder)
{
    lob_found own = {NULL};
    char *const plain = lob_path_as_pattern(folder);
    char *const pattern = plain ? lob_printed("%s/*%s", plain, suffix) : NULL;
    const size_t before = all->count;
    if (pattern) lob_find_paths(&own, pattern);
    for (size_t i = 0; i < own.count; i++) {
        size_t k = 0;
        own.paths[i][strlen(own.paths[i]) - (sizeof suffix - 1)] = '\0';
        while (k < before && by_name(&all->paths[k], &own.paths[i]) != 0) k++;
        if (k < before) continue;
        add_path(all, own.paths[i]);
        own.paths[i] = NULL;
    }
    all->no_memory = all->no_memory || own.no_memory || !pattern;
    lob_found_free(&own);
    LOB_FREE(pattern, plain);
}

lob_status lob_recipe_list(FILE *to, lob_error *error)
{
    lob_found folders, all = {NULL};
    find_folders(&folders);
    all.no_memory = folders.no_memory;
    for (size_t i = 0; i < folders.count; i++) find_recipes(&all, folders.paths[i]);
    if (all.count > 0) qsort(all.paths, all.count, sizeof *all.paths, by_name);
    for (size_t i = 0; i < all.count && !all.no_memory; i++)
        all.no_memory = print_recipe(to, all.paths[i]) != LOB_OK;
    const bool memory = !all.no_memory;
    lob_found_free(&all);
    lob_found_free(&folders);
    return memory ? LOB_OK : lob_fail(error, LOB_ENOMEM, "out of memory");
}
