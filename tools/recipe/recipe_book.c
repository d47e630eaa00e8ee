/* Finding, reading and listing recipes. */
#include "tools/recipe/recipe.h"

#include "io/file.h"
#include "io/platform.h"
#include "tools/platform/process.h"
#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

static const char suffix[] = ".recipe";

/* ---- folders ---- */

enum { MAX_FOLDERS = 32 };

/* The folders that are searched, in their order, malloc'ed. */
typedef struct {
    char *path[MAX_FOLDERS];
    int count;
} folders;

static void free_folders(folders *f)
{
    for (int i = 0; i < f->count; i++) free(f->path[i]);
    f->count = 0;
}

/* Take over a path; NULL, for want of memory, is left out. */
static void add_folder(folders *f, char *path)
{
    if (path && f->count < MAX_FOLDERS)
        f->path[f->count++] = path;
    else
        free(path);
}

/* What was installed with the program: LOBULE_SHARE is the way from its folder to share/. */
static void add_installed(folders *f)
{
    char *const program = lob_process_file();
    if (!program) return;
    *(char *)lob_name_in_path(program) = '\0';
    char *const way = lob_printed("%s/%s", program, LOBULE_SHARE "/lobule/recipes");
    if (way) add_folder(f, lob_real_path(way)); /* messages name it */
    free(way);
    free(program);
}

static void find_folders(folders *f)
{
    *f = (folders){.count = 0};
    char *const own = lob_environment("LOBULE_RECIPES");
    for (const char *at = own; at && *at;) {
        const size_t n = strcspn(at, (const char[2]){lob_list_mark});
        if (n > 0) add_folder(f, strndup(at, n));
        at += n + (at[n] == lob_list_mark);
    }
    free(own);
    char *const data = lob_user_data();
    if (data) add_folder(f, lob_printed("%s/lobule/recipes", data));
    free(data);
    add_installed(f);
}

/* ---- one recipe ---- */

char *lob_recipe_folder(void)
{
    folders all;
    char *found = NULL;
    find_folders(&all);
    for (int i = 0; i < all.count && !found; i++)
        if (lob_is_folder(all.path[i])) found = strdup(all.path[i]);
    free_folders(&all);
    return found;
}

lob_status lob_recipe_find(char **path, const char *name, lob_error *error)
{
    *path = NULL;
    if (strchr(name, '/') || lob_is_file(name)) {
        *path = strdup(name);
        return *path ? LOB_OK : lob_fail(error, LOB_ENOMEM, "%s: out of memory", name);
    }
    folders f;
    find_folders(&f);
    for (int i = 0; i < f.count && !*path; i++) {
        *path = lob_printed("%s/%s%s", f.path[i], name, suffix);
        if (*path && lob_is_file(*path)) break;
        free(*path);
        *path = NULL;
    }
    free_folders(&f);
    if (*path) return LOB_OK;
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

typedef struct {
    char *name, *folder;
} entry;

typedef struct {
    entry *rows;
    int count;
} entries;

/* Add NAME of NAME.recipe, unless a folder before has it. */
static bool add_entry(entries *e, const char *file, char *folder)
{
    const size_t length = strlen(file), end = sizeof suffix - 1;
    if (length <= end || strcmp(file + length - end, suffix) != 0 || file[0] == '.') return true;
    for (int i = 0; i < e->count; i++)
        if (strncmp(e->rows[i].name, file, length - end) == 0 && !e->rows[i].name[length - end])
            return true;
    if (!lob_grow(&e->rows, e->count, sizeof *e->rows)) return false;
    char *const name = strndup(file, length - end);
    if (name) e->rows[e->count++] = (entry){name, folder};
    return name != NULL;
}

static bool add_folder_entries(entries *e, char *folder)
{
    bool ok = true;
    lob_entries *const open = lob_entries_open(folder);
    for (const char *name; open && ok && (name = lob_entries_next(open));)
        ok = add_entry(e, name, folder);
    lob_entries_close(open);
    return ok;
}

/* Name and summary, then how it is called. */
static void print_entry(FILE *to, const entry *e)
{
    lob_recipe recipe;
    lob_error error = {.text = ""};
    char *const path = lob_printed("%s/%s%s", e->folder, e->name, suffix);
    if (!path || lob_recipe_read(&recipe, path, &error) != LOB_OK) {
        char line[LOB_ERROR_LINE];
        fprintf(to, "%s: cannot be used: %s\n", e->name, lob_error_line(line, sizeof line, &error));
        free(path);
        return;
    }
    fprintf(to, "%s: %s\n    lobule run %s", e->name, recipe.summary, e->name);
    for (int i = 0; i < recipe.value_count; i++) {
        const lob_recipe_value *const v = &recipe.values[i];
        if (v->initial)
            fprintf(to, " [%s=%s]", v->name, v->initial);
        else
            fprintf(to, " %s=...", v->name);
    }
    fputc('\n', to);
    lob_recipe_free(&recipe);
    free(path);
}

lob_status lob_recipe_list(FILE *to, lob_error *error)
{
    folders f;
    entries e = {NULL, 0};
    bool ok = true;
    find_folders(&f);
    for (int i = 0; i < f.count && ok; i++) ok = add_folder_entries(&e, f.path[i]);
    if (ok && e.count > 0) qsort(e.rows, (size_t)e.count, sizeof *e.rows, lob_by_text);
    for (int i = 0; i < e.count; i++) {
        if (ok) print_entry(to, &e.rows[i]);
        free(e.rows[i].name);
    }
    free(e.rows);
    free_folders(&f);
    return ok ? LOB_OK : lob_fail(error, LOB_ENOMEM, "out of memory");
}
