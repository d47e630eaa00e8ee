/* Columns of a batch: a manifest, or images that a pattern finds. */
#include "io/file.h"
#include "io/io.h"
#include "io/kinds.h"
#include "io/text_rows.h"
#include "tools/batch/batch.h"
#include "tools/text/find_paths.h"
#include "tools/text/path.h"
#include "volumes/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 256 };

void lob_columns_free(lob_columns *columns)
{
    for (int c = 0; c < columns->columns; c++) free(columns->names[c]);
    for (int64_t i = 0; i < columns->rows * columns->columns; i++) free(columns->cells[i]);
    free(columns->names);
    free(columns->cells);
    free(columns->line);
    *columns = (lob_columns){NULL};
}

const char *lob_columns_cell(const lob_columns *columns, int64_t row, const char *name)
{
    for (int c = 0; c < columns->columns; c++)
        if (strcmp(columns->names[c], name) == 0) return columns->cells[row * columns->columns + c];
    return NULL;
}

/* Set the names of columns, or add a row, from copies of n texts. */
static lob_status set_names(lob_columns *columns, const char *const *names, int n)
{
    columns->names = calloc((size_t)n, sizeof *columns->names);
    if (!columns->names) return LOB_ENOMEM;
    for (; columns->columns < n; columns->columns++)
        if (!(columns->names[columns->columns] = strdup(names[columns->columns])))
            return LOB_ENOMEM;
    return LOB_OK;
}

static lob_status add_row(lob_columns *columns, const char *const *cells, int64_t line)
{
    const int n = columns->columns;
    const int64_t i = columns->rows;
    if (!lob_grow(&columns->cells, i, (size_t)n * sizeof *columns->cells) ||
        !lob_grow(&columns->line, i, sizeof *columns->line))
        return LOB_ENOMEM;
    char **const to = columns->cells + i * n;
    bool copied = true;
    for (int c = 0; c < n; c++) copied = (to[c] = strdup(cells[c])) && copied;
    columns->line[columns->rows++] = line;
    return copied ? LOB_OK : LOB_ENOMEM;
}

/* ---- a manifest ---- */

static lob_status no_memory(const lob_columns *columns, lob_error *error)
{
    return lob_fail(error, LOB_ENOMEM, "%s: out of memory", columns->source);
}

/* The next line's cells; false: there is none. */
static bool next_cells(lob_fields *cells, lob_lines *text)
{
    char *const line = lob_lines_raw(text);
    const size_t n = line ? strlen(line) : 0;
    if (n > 0 && line[n - 1] == '\r') line[n - 1] = '\0';
    if (line) lob_fields_cut(cells, line, '\t');
    return line != NULL;
}

static lob_status take_names(lob_columns *out, const lob_fields *cells, lob_error *error)
{
    if (cells->count > MAX_COLUMNS)
        return lob_fail(error, LOB_EDATA, "%s:1: has more than %d columns", out->source,
                        MAX_COLUMNS);
    for (int c = 0; c < cells->count; c++) {
        const char *const name = cells->field[c];
        int first = 0;
        while (strcmp(cells->field[first], name) != 0) first++;
        if (name[0] == '\0' || first < c)
            return lob_fail(error, LOB_EDATA,
                            "%s:1: column %d has %s; a manifest is a TSV whose first line names "
                            "its columns",
                            out->source, c + 1, name[0] ? "the name of another" : "no name");
    }
    return set_names(out, (const char *const *)cells->field, cells->count) == LOB_OK
               ? LOB_OK
               : no_memory(out, error);
}

static lob_status take_all(lob_columns *out, lob_lines *text, lob_error *error)
{
    lob_fields cells;
    if (!next_cells(&cells, text)) return lob_fail(error, LOB_EDATA, "%s: is empty", out->source);
    LOB_TRY(take_names(out, &cells, error));
    while (next_cells(&cells, text)) {
        if (cells.count == 1 && !cells.field[0][0]) continue;
        if (cells.count != out->columns)
            return lob_fail(error, LOB_EDATA, "%s:%lld: has %d cells, and the first line %d",
                            out->source, (long long)text->line, cells.count, out->columns);
        for (int c = 0; c < cells.count; c++) lob_cell_decode(cells.field[c]);
        if (add_row(out, (const char *const *)cells.field, text->line) != LOB_OK)
            return no_memory(out, error);
    }
    if (out->rows > 0) return LOB_OK;
    return lob_fail(error, LOB_EDATA, "%s: has no line behind the names of columns", out->source);
}

lob_status lob_columns_parse(lob_columns *out, const char *bytes, size_t size, const char *path,
                             lob_error *error)
{
    lob_lines text;
    *out = (lob_columns){.source = path};
    if (size > 0 && memchr(bytes, 0, size))
        return lob_fail(error, LOB_EDATA, "%s: is no text; a manifest is a TSV", path);
    LOB_TRY(lob_lines_begin(&text, bytes, size, path, error));
    const lob_status st = take_all(out, &text, error);
    lob_lines_end(&text);
    if (st != LOB_OK) lob_columns_free(out);
    return st;
}

lob_status lob_columns_read(lob_columns *out, const char *path, lob_error *error)
{
    lob_input file;
    *out = (lob_columns){.source = path};
    LOB_TRY(lob_input_open(&file, path, error));
    const lob_status st = lob_columns_parse(out, (const char *)file.bytes, file.size, path, error);
    lob_input_close(&file);
    return st;
}

/* ---- images that a pattern finds ---- */

static const char *const names[] = {"image", "folder", "stem", "bids", "scan"};
enum { FOLDER = 1, STEM, BIDS, COLUMNS = sizeof names / sizeof names[0] };

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
        fits ? add_row(out, (const char *const *)cells, out->rows + 1) : LOB_ENOMEM;
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

/* Images of one folder whose bids would be the same keep their suffixes: sub-1_T1w gets
 * sub-1_mod-T1w; BIDS has this entity for what is made of one of several images. */
static lob_status part_images(lob_columns *columns)
{
    char ***const order = calloc((size_t)columns->rows, sizeof *order);
    lob_status st = order ? LOB_OK : LOB_ENOMEM;
    for (int64_t i = 0; order && i < columns->rows; i++) order[i] = columns->cells + i * COLUMNS;
    if (order) qsort(order, (size_t)columns->rows, sizeof *order, by_bids);
    for (int64_t i = 0, end; st == LOB_OK && i < columns->rows; i = end) {
        for (end = i + 1; end < columns->rows && by_bids(&order[i], &order[end]) == 0;) end++;
        for (int64_t k = i; k < end && end - i > 1 && st == LOB_OK; k++) {
            char **const bids = &order[k][BIDS], *longer;
            const char *const suffix = order[k][STEM] + strlen(*bids);
            if (suffix[0] != '_') continue;
            if (asprintf(&longer, "%s_mod-%s", *bids, suffix + 1) < 0) st = LOB_ENOMEM;
            if (st != LOB_OK) break;
            free(*bids);
            *bids = longer;
        }
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

/* "**" may find a file twice, and the files in such a folder besides it. */
static lob_status add_images(lob_columns *out, const lob_found *found, const char *pattern)
{
    char **const paths = found->paths;
    size_t fixed = strcspn(pattern, "*?["); /* the folders before the first wildcard */
    while (fixed > 0 && pattern[fixed - 1] != '/') fixed--;
    LOB_TRY(set_names(out, names, COLUMNS));
    for (size_t i = 0; i < found->count; i++) /* of a pattern that ends in a slash */
        for (size_t n = strlen(paths[i]); n > 1 && paths[i][n - 1] == '/'; n--)
            paths[i][n - 1] = '\0';
    if (found->count > 0) qsort(paths, found->count, sizeof *paths, lob_by_text);
    /* of a folder of DICOM or Zarr all count, so that a damaged one is told of */
    bool folders = false;
    for (size_t i = 0; i < found->count && !folders; i++)
        folders = lob_is_folder(paths[i]) && lob_kind_of_folder(paths[i]);
    for (size_t i = 0; i < found->count; i++) {
        const bool again = i > 0 && strcmp(paths[i - 1], paths[i]) == 0;
        const bool folder = folders && lob_is_folder(paths[i]);
        if (again || (!folder && !lob_is_file(paths[i]))) continue;
        if (folders && is_inside(found, paths[i])) continue;
        LOB_TRY(add_image(out, paths[i], fixed, folder));
    }
    return out->rows > 0 ? part_images(out) : LOB_ENOINPUT;
}

lob_status lob_columns_find(lob_columns *out, const char *pattern, lob_error *error)
{
    lob_found found = {NULL};
    *out = (lob_columns){.source = pattern};
    lob_find_paths(&found, pattern);
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
