/* Images found by a pattern, with the columns that their names make. */
#include "tools/batch/batch_plan.h"
#include "tools/text/path.h"
#include "tools/text/text.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    char **path;
    size_t count, room;
    bool failed;
} found;

static void add_path(found *f, const char *path)
{
    if (f->count == f->room) {
        const size_t room = f->room ? 2 * f->room : 64;
        char **const larger = realloc(f->path, room * sizeof *larger);
        f->failed = f->failed || !larger;
        if (!larger) return;
        f->path = larger;
        f->room = room;
    }
    f->path[f->count] = strdup(path);
    if (f->path[f->count])
        f->count++;
    else
        f->failed = true;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static void match(found *f, const char *folder, const char *pattern);

/* What is in a folder under a name: the pattern is done, or goes on inside. */
static void enter(found *f, const char *folder, const char *name, const char *rest)
{
    struct stat about;
    char *const path = folder[0] ? lob_path_in(folder, name) : strdup(name);
    if (!path) f->failed = true;
    if (path && rest && is_folder(path)) match(f, path, rest);
    if (path && !rest && stat(path, &about) == 0 && S_ISREG(about.st_mode)) add_path(f, path);
    free(path);
}

/*
 * Add the files below a folder ("" is the present one) that match a pattern of one or more parts.
 * The folders of "**" are no links, so that no circle is walked.
 */
static void match(found *f, const char *folder, const char *pattern)
{
    const size_t n = strcspn(pattern, "/");
    const char *const rest = pattern[n] ? pattern + n + strspn(pattern + n, "/") : NULL;
    char *const part = strndup(pattern, n);
    if (!part) {
        f->failed = true;
        return;
    }
    const bool any = strcmp(part, "**") == 0;
    if (any && rest) match(f, folder, rest);
    if (!any && !strpbrk(part, "*?[")) {
        enter(f, folder, part, rest);
        free(part);
        return;
    }
    DIR *const open = opendir(folder[0] ? folder : ".");
    for (const struct dirent *one; open && (one = readdir(open));) {
        if (any && one->d_name[0] != '.' && one->d_type != DT_LNK)
            enter(f, folder, one->d_name, pattern);
        if (!any && fnmatch(part, one->d_name, FNM_PERIOD) == 0)
            enter(f, folder, one->d_name, rest);
    }
    if (open) closedir(open);
    free(part);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Bytes of the folders that come before the first wildcard. */
static size_t fixed_part(const char *pattern)
{
    const size_t wild = strcspn(pattern, "*?[");
    size_t n = wild;
    while (n > 0 && pattern[n - 1] != '/') n--;
    return n;
}

/* The name without its suffix, which may have .gz behind it. */
static size_t stem_length(const char *name)
{
    size_t n = strlen(name);
    if (n > 3 && strcmp(name + n - 3, ".gz") == 0) n -= 3;
    size_t dot = n;
    while (dot > 0 && name[dot - 1] != '.') dot--;
    return dot > 1 ? dot - 1 : n;
}

/* The five cells of an image. Returns LOB_OK or LOB_ENOMEM. */
static lob_status put_cells(char **cell, const char *path, size_t fixed)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    const char *const below =
        path + (fixed < (size_t)(name - path) ? fixed : (size_t)(name - path));
    const size_t folder = name > below ? (size_t)(name - below) - 1 : 0;
    const size_t stem = stem_length(name);
    size_t bids = stem;
    while (strncmp(name, "sub-", 4) == 0 && bids > 0 && name[bids - 1] != '_') bids--;
    cell[0] = strdup(path);
    cell[1] = folder ? strndup(below, folder) : strdup(".");
    cell[2] = strndup(name, stem);
    cell[3] = strndup(name, bids > 1 && bids < stem ? bids - 1 : stem);
    cell[4] = strndup(below, (size_t)(name - below) + stem);
    return cell[0] && cell[1] && cell[2] && cell[3] && cell[4] ? LOB_OK : LOB_ENOMEM;
}

static const char *const glob_names[] = {"image", "folder", "stem", "bids", "scan"};
enum { FOLDER = 1, STEM, BIDS, COLUMNS = sizeof glob_names / sizeof glob_names[0] };

/* The cells of rows, by folder and then by bids. */
static int by_bids(const void *a, const void *b)
{
    char *const *const x = *(char *const *const *)a, *const *const y = *(char *const *const *)b;
    const int folders = strcmp(x[FOLDER], y[FOLDER]);
    return folders ? folders : strcmp(x[BIDS], y[BIDS]);
}

/* sub-1_T1w gets sub-1_mod-T1w; BIDS has this entity for what is made of one of several images. */
static lob_status keep_suffix(char **cell)
{
    const size_t n = strlen(cell[BIDS]);
    char *longer;
    if (cell[STEM][n] != '_') return LOB_OK;
    if (asprintf(&longer, "%s_mod-%s", cell[BIDS], cell[STEM] + n + 1) < 0) return LOB_ENOMEM;
    free(cell[BIDS]);
    cell[BIDS] = longer;
    return LOB_OK;
}

/* Images of one folder whose bids would be the same keep their suffixes. */
static lob_status part_images(lob_columns *columns)
{
    char ***const order = calloc((size_t)columns->rows + 1, sizeof *order);
    lob_status st = order ? LOB_OK : LOB_ENOMEM;
    for (int64_t i = 0; order && i < columns->rows; i++) order[i] = columns->cells + i * COLUMNS;
    if (order) qsort(order, (size_t)columns->rows, sizeof *order, by_bids);
    for (int64_t i = 0, end; st == LOB_OK && i < columns->rows; i = end) {
        for (end = i + 1; end < columns->rows && by_bids(&order[i], &order[end]) == 0;) end++;
        for (int64_t k = i; k < end && end - i > 1 && st == LOB_OK; k++) st = keep_suffix(order[k]);
    }
    free(order);
    return st;
}

static lob_status put_columns(lob_columns *out, const found *f, const char *pattern)
{
    out->names = calloc(COLUMNS, sizeof *out->names);
    out->cells = calloc(f->count * COLUMNS, sizeof *out->cells);
    out->line = calloc(f->count, sizeof *out->line);
    if (!out->names || !out->cells || !out->line) return LOB_ENOMEM;
    for (int c = 0; c < COLUMNS; c++, out->columns++)
        if (!(out->names[c] = strdup(glob_names[c]))) return LOB_ENOMEM;
    for (size_t i = 0; i < f->count; i++) {
        out->line[out->rows++] = (int64_t)i + 1;
        LOB_TRY(put_cells(out->cells + i * COLUMNS, f->path[i], fixed_part(pattern)));
    }
    return part_images(out);
}

lob_status lob_columns_find(lob_columns *out, const char *pattern, lob_error *error)
{
    found f = {NULL};
    *out = (lob_columns){.source = pattern};
    const size_t root = strspn(pattern, "/");
    match(&f, root ? "/" : "", pattern + root);
    if (f.count > 0) qsort(f.path, f.count, sizeof *f.path, by_path);
    size_t kept = 0; /* "**" may find a file twice */
    for (size_t i = 0; i < f.count; i++)
        if (kept > 0 && strcmp(f.path[kept - 1], f.path[i]) == 0)
            free(f.path[i]);
        else
            f.path[kept++] = f.path[i];
    f.count = kept;
    lob_status st = LOB_OK;
    if (f.failed)
        st = LOB_ENOMEM;
    else if (f.count == 0)
        st = lob_fail(error, LOB_ENOINPUT,
                      "--images %s: no file matches; put the pattern in quotes, and try it with ls",
                      pattern);
    else
        st = put_columns(out, &f, pattern);
    if (st == LOB_ENOMEM) lob_fail(error, st, "--images %s: out of memory", pattern);
    for (size_t i = 0; i < f.count; i++) free(f.path[i]);
    free(f.path);
    if (st != LOB_OK) lob_columns_free(out);
    return st;
}
