/* Finding, reading and listing recipes. */
#include "tools/recipe/recipe_book.h"

#include "io/file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static char *joined(const char *folder, const char *name, const char *end)
{
    char *path;
    return asprintf(&path, "%s/%s%s", folder, name, end) < 0 ? NULL : path;
}

/* What was installed with the program: LOBULE_SHARE is the way from its folder to share/. */
static void add_installed(folders *f)
{
    char program[4096];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) return;
    program[n] = '\0';
    *strrchr(program, '/') = '\0';
    add_folder(f, joined(program, LOBULE_SHARE "/lobule/recipes", ""));
}

static void find_folders(folders *f)
{
    *f = (folders){.count = 0};
    for (const char *at = getenv("LOBULE_RECIPES"); at && *at;) {
        const size_t n = strcspn(at, ":");
        if (n > 0) add_folder(f, strndup(at, n));
        at += n + (at[n] == ':');
    }
    const char *const data = getenv("XDG_DATA_HOME"), *const home = getenv("HOME");
    if (data && *data)
        add_folder(f, joined(data, "lobule/recipes", ""));
    else if (home && *home)
        add_folder(f, joined(home, ".local/share/lobule/recipes", ""));
    add_installed(f);
}

/* ---- one recipe ---- */

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

char *lob_recipe_folder(void)
{
    folders all;
    struct stat about;
    char *found = NULL;
    find_folders(&all);
    for (int i = 0; i < all.count && !found; i++)
        if (stat(all.path[i], &about) == 0 && S_ISDIR(about.st_mode)) found = strdup(all.path[i]);
    free_folders(&all);
    return found;
}

lob_status lob_recipe_find(char **path, const char *name, lob_error *error)
{
    *path = NULL;
    if (strchr(name, '/') || is_file(name)) {
        *path = strdup(name);
        return *path ? LOB_OK : lob_fail(error, LOB_ENOMEM, "%s: out of memory", name);
    }
    folders f;
    find_folders(&f);
    for (int i = 0; i < f.count && !*path; i++) {
        *path = joined(f.path[i], name, suffix);
        if (*path && is_file(*path)) break;
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
    size_t count;
} entries;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

/* Add NAME of NAME.recipe, unless a folder before has it. */
static bool add_entry(entries *e, const char *file, char *folder)
{
    const size_t length = strlen(file), end = sizeof suffix - 1;
    if (length <= end || strcmp(file + length - end, suffix) != 0 || file[0] == '.') return true;
    char *const name = strndup(file, length - end);
    entry *const rows = name ? realloc(e->rows, (e->count + 1) * sizeof *rows) : NULL;
    if (!rows) {
        free(name);
        return false;
    }
    e->rows = rows;
    for (size_t i = 0; i < e->count; i++)
        if (strcmp(rows[i].name, name) == 0) {
            free(name);
            return true;
        }
    rows[e->count++] = (entry){name, folder};
    return true;
}

static bool add_folder_entries(entries *e, char *folder)
{
    bool ok = true;
    DIR *const open = opendir(folder);
    for (const struct dirent *one; open && ok && (one = readdir(open));)
        ok = add_entry(e, one->d_name, folder);
    if (open) closedir(open);
    return ok;
}

/* Name and summary, then how it is called. */
static void print_entry(FILE *to, const entry *e)
{
    lob_recipe recipe;
    lob_error error = {.text = ""};
    char *const path = joined(e->folder, e->name, suffix);
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
    if (ok && e.count > 0) qsort(e.rows, e.count, sizeof *e.rows, by_name);
    for (size_t i = 0; i < e.count; i++) {
        if (ok) print_entry(to, &e.rows[i]);
        free(e.rows[i].name);
    }
    free(e.rows);
    free_folders(&f);
    return ok ? LOB_OK : lob_fail(error, LOB_ENOMEM, "out of memory");
}
