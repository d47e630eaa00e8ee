/* The scans of a batch that a pattern finds, as a manifest would list them. */
#include "io/file.h"
#include "io/io.h"
#include "io/kinds.h"
#include "io/text_rows.h"
#include "tools/batch/batch.h"
#include "tools/text/path.h"
#include "volumes/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

typedef struct {
    const char *path, *below, *name; /* below the folders before the first wildcard */
    int stem, bids;                  /* of the name */
    char *key;                       /* the path up to the end of bids; malloc'ed */
    bool shares;                     /* bids with another image of its folder */
} image;

typedef struct {
    image *list;
    int64_t count;
    lob_names keys;
} images;

/* is_folder: of DICOM, whose name has no suffix, or of Zarr. */
static lob_status add_image(images *to, const char *path, size_t fixed, bool is_folder)
{
    const char *const name = lob_name_in_path(path);
    const bool has_suffix = !is_folder || lob_is_volume_name(name);
    const int stem = (int)(has_suffix ? stem_length(name) : strlen(name));
    int bids = stem;
    while (strncmp(name, "sub-", 4) == 0 && bids > 0 && name[bids - 1] != '_') bids--;
    bids = bids > 1 && bids < stem ? bids - 1 : stem;
    if (!lob_grow(&to->list, to->count, sizeof *to->list)) return LOB_ENOMEM;
    image *const i = &to->list[to->count];
    *i = (image){path, name - path > (ptrdiff_t)fixed ? path + fixed : name, name, stem,
                 bids, .key = strndup(path, (size_t)(name - path + bids))};
    const int64_t *const first = i->key ? lob_names_add(&to->keys, i->key, to->count) : NULL;
    to->count++;
    if (first && *first < to->count - 1) i->shares = to->list[*first].shares = true;
    return first ? LOB_OK : LOB_ENOMEM;
}

/* A cell of the first bytes of a text, and what stands behind it. */
static void add_cell(lob_text *table, const char *text, int n, const char *behind)
{
    char *const cell = strndup(text, (size_t)n);
    table->failed = table->failed || !cell;
    if (cell) lob_text_add_cell(table, cell, false);
    lob_text_print(table, "%s", behind);
    free(cell);
}

/* Images of one folder whose bids would be the same keep their suffixes: sub-1_T1w gets
 * sub-1_mod-T1w; BIDS has this entity for what is made of one of several images. */
static void add_line(lob_text *table, const image *i)
{
    const bool part = i->shares && i->name[i->bids] == '_';
    const int folder = i->name > i->below ? (int)(i->name - i->below) - 1 : 0;
    add_cell(table, i->path, (int)strlen(i->path), "\t");
    add_cell(table, folder ? i->below : ".", folder ? folder : 1, "\t");
    add_cell(table, i->name, i->stem, "\t");
    add_cell(table, i->name, i->bids, part ? "_mod-" : "\t");
    if (part) add_cell(table, i->name + i->bids + 1, i->stem - i->bids - 1, "\t");
    add_cell(table, i->below, (int)(i->name - i->below) + i->stem, "\n");
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
static lob_status take_images(images *out, const lob_found *found, const char *pattern)
{
    char **const paths = found->paths;
    size_t fixed = strcspn(pattern, "*?["); /* the folders before the first wildcard */
    while (fixed > 0 && pattern[fixed - 1] != '/') fixed--;
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
    return found->no_memory ? LOB_ENOMEM : LOB_OK;
}

lob_status lob_batch_images(lob_columns *out, const char *pattern, lob_error *error)
{
    lob_found found = {NULL};
    images all = {NULL};
    lob_text table = {NULL};
    *out = (lob_columns){.source = pattern};
    lob_find_paths(&found, pattern);
    lob_status st = take_images(&all, &found, pattern);
    lob_text_print(&table, "image\tfolder\tstem\tbids\tscan\n");
    for (int64_t i = 0; i < all.count; i++) {
        add_line(&table, &all.list[i]);
        free(all.list[i].key);
    }
    if (st != LOB_OK || table.failed)
        st = lob_fail(error, LOB_ENOMEM, "--images %s: out of memory", pattern);
    else if (all.count == 0)
        st = lob_fail(error, LOB_ENOINPUT,
                      "--images %s: no file or folder of DICOM or Zarr matches; put the pattern in "
                      "quotes, and try it with ls",
                      pattern);
    else
        st = lob_columns_parse(out, table.bytes, table.size, pattern, LOB_COLUMNS_EXACT, error);
    lob_text_free(&table);
    lob_names_free(&all.keys);
    free(all.list);
    lob_found_free(&found);
    return st;
}
