/* Images found by a pattern, with the columns that their names make. */
#include "io/io.h"
#include "io/kinds.h"
#include "tools/batch/batch.h"
#include "tools/text/find_paths.h"
#include "tools/text/path.h"
#include "volumes/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

static void find(lob_found *found, const char *pattern);

/* Find what matches the rest of a pattern in a folder ("": here) and all below it. Those whose
 * names begin with a dot and links to folders are left out, so that no circle is walked. */
static void find_below(lob_found *found, const char *folder, const char *rest)
{
    char *const as_pattern = lob_path_as_pattern(folder);
    char *const pattern = !as_pattern ? NULL
                          : folder[0] ? lob_path_in(as_pattern, rest)
                                      : strdup(rest);
    if (pattern)
        find(found, pattern);
    else
        found->no_memory = true;
    free(pattern);
    free(as_pattern);

    lob_entries *const entries = lob_entries_open(folder[0] ? folder : ".");
    for (const char *name; entries && !found->no_memory && (name = lob_entries_next(entries));) {
        if (name[0] == '.' || !lob_entries_is_folder(entries)) continue;
        char *const below = folder[0] ? lob_path_in(folder, name) : strdup(name);
        if (below)
            find_below(found, below, rest);
        else
            found->no_memory = true;
        free(below);
    }
    lob_entries_close(entries);
}

/* Where "**" stands, as a part of its own. */
static const char *any_folders(const char *pattern)
{
    for (const char *at = pattern; (at = strstr(at, "**")); at += 2)
        if ((at == pattern || at[-1] == '/') && (at[2] == '/' || !at[2])) return at;
    return NULL;
}

/* Add what matches a pattern. */
static void find(lob_found *found, const char *pattern)
{
    const char *const any = any_folders(pattern);
    if (!any) {
        lob_find_paths(found, pattern);
        return;
    }
    const char *const rest = any + 2 + strspn(any + 2, "/");
    char *const before = strndup(pattern, (size_t)(any - pattern));
    if (!before) {
        found->no_memory = true;
    } else if (!before[0] && *rest) {
        find_below(found, "", rest);
    } else if (*rest) {
        lob_found folders = {NULL};
        lob_find_paths(&folders, before);
        found->no_memory = found->no_memory || folders.no_memory;
        for (size_t i = 0; i < folders.count; i++) find_below(found, folders.paths[i], rest);
        lob_found_free(&folders);
    }
    free(before);
}

/* ---- cells ---- */

static const char *const names[] = {"image", "folder", "stem", "bids", "scan"};
enum { FOLDER = 1, STEM, BIDS, COLUMNS = sizeof names / sizeof names[0] };

/* Bytes of the folders that come before the first wildcard. */
static size_t fixed_part(const char *pattern)
{
    size_t n = strcspn(pattern, "*?[");
    while (n > 0 && pattern[n - 1] != '/') n--;
    return n;
}

/* The name without its suffix, which may have .gz behind it or .ome before it. */
static size_t stem_length(const char *name)
{
    size_t n = strlen(name);
    if (n > 3 && strcmp(name + n - 3, ".gz") == 0) n -= 3;
    size_t dot = n;
    while (dot > 0 && name[dot - 1] != '.') dot--;
    if (dot > 5 && strncmp(name + dot - 5, ".ome", 4) == 0) dot -= 4;
    return dot > 1 ? dot - 1 : n;
}

/* is_folder: of DICOM, whose name has no suffix, or of Zarr. */
static lob_status add_image(lob_columns *out, const char *path, size_t fixed, bool is_folder)
{
    const char *const name = lob_name_in_path(path);
    const char *const below = name - path > (ptrdiff_t)fixed ? path + fixed : name;
    const size_t folder = name > below ? (size_t)(name - below) - 1 : 0;
    const size_t stem = is_folder && !lob_is_volume_name(name) ? strlen(name) : stem_length(name);
    size_t bids = stem;
    while (strncmp(name, "sub-", 4) == 0 && bids > 0 && name[bids - 1] != '_') bids--;
    const struct {
        const char *text;
        size_t n;
    } parts[COLUMNS] = {
        {path,                 strlen(path)                             },
        {folder ? below : ".", folder ? folder : 1                      },
        {name,                 stem                                     },
        {name,                 bids > 1 && bids < stem ? bids - 1 : stem},
        {below,                (size_t)(name - below) + stem            },
    };
    char *cells[COLUMNS] = {NULL};
    bool fits = true;
    for (int c = 0; c < COLUMNS; c++)
        fits = (cells[c] = strndup(parts[c].text, parts[c].n)) && fits;
    const lob_status st =
        fits ? lob_columns_add(out, (const char *const *)cells, out->rows + 1) : LOB_ENOMEM;
    for (int c = 0; c < COLUMNS; c++) free(cells[c]);
    return st;
}

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
    char ***const order = calloc((size_t)columns->rows, sizeof *order);
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

/* Does a folder that is found hold this path? */
static bool is_inside(const lob_found *found, const char *path)
{
    char *const above = strdup(path);
    bool inside = false;
    for (char *slash; above && !inside && (slash = strrchr(above, '/'));) {
        *slash = '\0';
        inside = bsearch(&above, found->paths, found->count, sizeof above, lob_by_text) != NULL;
    }
    free(above);
    return inside;
}

/* Is a folder of DICOM or Zarr among them? Then all folders count, so that a damaged one is told
 * of. */
static bool has_folders(const lob_found *found)
{
    for (size_t i = 0; i < found->count; i++)
        if (lob_is_folder(found->paths[i]) && lob_kind_of_folder(found->paths[i])) return true;
    return false;
}

/* "**" may find a file twice, and the files in such a folder besides it. */
static lob_status add_images(lob_columns *out, const lob_found *found, const char *pattern)
{
    char **const paths = found->paths;
    LOB_TRY(lob_columns_name(out, names, COLUMNS));
    for (size_t i = 0; i < found->count; i++) /* of a pattern that ends in a slash */
        for (size_t n = strlen(paths[i]); n > 1 && paths[i][n - 1] == '/'; n--)
            paths[i][n - 1] = '\0';
    if (found->count > 0) qsort(paths, found->count, sizeof *paths, lob_by_text);
    const bool folders = has_folders(found);
    for (size_t i = 0; i < found->count; i++) {
        const bool again = i > 0 && strcmp(paths[i - 1], paths[i]) == 0;
        const bool folder = folders && lob_is_folder(paths[i]);
        if (again || (!folder && !lob_is_file(paths[i]))) continue;
        if (folders && is_inside(found, paths[i])) continue;
        LOB_TRY(add_image(out, paths[i], fixed_part(pattern), folder));
    }
    return out->rows > 0 ? part_images(out) : LOB_ENOINPUT;
}

lob_status lob_columns_find(lob_columns *out, const char *pattern, lob_error *error)
{
    lob_found found = {NULL};
    *out = (lob_columns){.source = pattern};
    find(&found, pattern);
    const lob_status st = found.no_memory ? LOB_ENOMEM : add_images(out, &found, pattern);
    lob_found_free(&found);
    if (st == LOB_OK) return st;
    lob_columns_free(out);
    if (st == LOB_ENOMEM) return lob_fail(error, st, "--images %s: out of memory", pattern);
    return lob_fail(
        error, st,
        "--images %s: no file or folder of DICOM or Zarr matches; put the pattern in quotes, "
        "and try it with ls",
        pattern);
}
