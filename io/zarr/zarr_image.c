/* From a location in a store to an array, and the list of what a group holds. */
#include "io/zarr/zarr_image.h"

#include "io/folder.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 256, DEPTH = 6, NODES = 1 << 14 };

void lob_zarr_image_free(lob_zarr_image *image)
{
    LOB_FREE(image->folder, image->group);
    lob_zarr_node_free(&image->image);
    lob_ngff_free(&image->ngff);
    *image = (lob_zarr_image){.folder = NULL};
}

static lob_status no_memory(const char *path, lob_error *error)
{
    return lob_fail_file(error, LOB_ENOMEM, path, "no memory");
}

/* Do the array and the group speak of the same axes? */
static lob_status check_axes(const lob_zarr_image *im, const char *path, lob_error *error)
{
    if (im->ngff.dims == im->array.dims) return LOB_OK;
    return lob_fail_file(error, LOB_EDATA, path,
                         "damaged OME-Zarr: it names %d axes of an array that has %d",
                         im->ngff.dims, im->array.dims);
}

/* The level of an image, whose group was read and belongs to out afterwards; dataset NULL: level 0.
 */
static lob_status find_level(lob_zarr_image *out, lob_zarr_node *image, const char *group,
                             const char *dataset, const char *path, lob_error *error)
{
    lob_zarr_node array;
    out->image = *image;
    *image = (lob_zarr_node){NULL};
    LOB_TRY(lob_ngff_read(&out->ngff, out->image.ome, dataset, path, error));
    out->group = strdup(group);
    out->folder = lob_zarr_below(group, out->ngff.dataset);
    if (!out->group || !out->folder) return no_memory(path, error);
    LOB_TRY(lob_zarr_node_read(&array, out->folder, path, error));
    lob_status st = array.is_array ? lob_zarr_array_of(&out->array, &array, path, error)
                                   : lob_fail_file(error, LOB_EDATA, path,
                                                   "damaged OME-Zarr: its level %s is no array",
                                                   out->ngff.dataset);
    lob_zarr_node_free(&array);
    return st == LOB_OK ? check_axes(out, path, error) : st;
}

/* An array: a level of the image that a group above it holds, or by itself. */
static lob_status find_array(lob_zarr_image *out, const lob_zarr_node *array, const char *folder,
                             const lob_location *where, lob_error *error)
{
    char *const above = strdup(folder);
    if (!above) return no_memory(where->path, error);
    for (char *slash; strlen(above) > strlen(where->file) && (slash = strrchr(above, '/'));) {
        lob_zarr_node group;
        *slash = '\0';
        if (lob_zarr_node_read(&group, above, where->path, NULL) != LOB_OK) break;
        const lob_status st =
            lob_ngff_is_image(group.ome)
                ? find_level(out, &group, above, folder + (slash + 1 - above), where->path, error)
                : LOB_ENOINPUT;
        lob_zarr_node_free(&group);
        if (st != LOB_ENOINPUT) {
            free(above);
            return st;
        }
        lob_zarr_image_free(out); /* an image of other levels, such as that of the labels' scan */
    }
    free(above);
    out->folder = strdup(folder);
    if (!out->folder) return no_memory(where->path, error);
    return lob_zarr_array_of(&out->array, array, where->path, error);
}

/* ---- the nodes of a group ---- */

typedef struct {
    lob_data_set *sets;
    int count, more, nodes;
    size_t base; /* length of the folder that paths are told from */
    const char *path;
} listing;

static lob_status add_set(listing *l, const lob_zarr_array *array, const char *folder)
{
    if (l->count == SETS) return l->more++, LOB_OK;
    if (!lob_grow(&l->sets, l->count, sizeof *l->sets)) return LOB_ENOMEM;
    lob_data_set *const set = &l->sets[l->count++];
    *set = (lob_data_set){.path = ""};
    snprintf(set->path, sizeof set->path, "%s", folder + l->base);
    for (int d = LOB_ZARR_DIMS - array->dims; d < LOB_ZARR_DIMS; d++) {
        const size_t used = strlen(set->shape);
        snprintf(set->shape + used, sizeof set->shape - used, "%s%lld", used ? " x " : "",
                 (long long)array->shape[d]);
    }
    snprintf(set->type, sizeof set->type, "%s", lob_type_of(array->type)->name);
    return LOB_OK;
}

/* List arrays and images, an image as its level 0; what is damaged is left out. */
static lob_status list_node(listing *l, const char *folder, int depth)
{
    lob_zarr_node node;
    if (l->nodes++ >= NODES || lob_zarr_node_read(&node, folder, l->path, NULL) != LOB_OK)
        return LOB_OK;
    lob_zarr_image image = {.folder = NULL};
    lob_status st = LOB_OK;
    const bool is_image = lob_ngff_is_image(node.ome), goes_on = !node.is_array && depth < DEPTH;
    if (node.is_array) {
        lob_zarr_array array;
        if (lob_zarr_array_of(&array, &node, l->path, NULL) == LOB_OK)
            st = add_set(l, &array, folder);
    } else if (is_image && find_level(&image, &node, folder, NULL, l->path, NULL) == LOB_OK) {
        st = add_set(l, &image.array, folder);
    }
    lob_zarr_image_free(&image);
    lob_zarr_node_free(&node);
    char **names = NULL;
    int64_t n = 0;
    if (goes_on && st == LOB_OK && !lob_folder_names(&names, &n, folder)) st = LOB_ENOMEM;
    for (int64_t i = 0; st == LOB_OK && i < n; i++) {
        if (is_image && strcmp(names[i], "labels") != 0) continue; /* its levels */
        char *const below = lob_zarr_below(folder, names[i]);
        st = below ? list_node(l, below, depth + 1) : LOB_ENOMEM;
        free(below);
    }
    lob_folder_paths_free(names, n);
    return st;
}

static lob_status list_group(listing *l, const char *folder, const char *path, lob_error *error)
{
    *l = (listing){.base = strlen(folder), .path = path};
    const lob_status st = list_node(l, folder, 0);
    if (st == LOB_OK) return st;
    free(l->sets);
    return no_memory(path, error);
}

char *lob_zarr_node_folder(const lob_location *where)
{
    char *const path = lob_zarr_below(where->file, where->inside ? where->inside : "");
    for (size_t n = path ? strlen(path) : 0; n > 1 && path[n - 1] == '/'; n--) path[n - 1] = '\0';
    return path;
}

lob_status lob_zarr_list(lob_data_set **sets, int *count, int *more, const lob_reading *r)
{
    listing l;
    char *const folder = lob_zarr_node_folder(r->where);
    if (!folder) return no_memory(r->path, r->error);
    const lob_status st = list_group(&l, folder, r->path, r->error);
    free(folder);
    if (st != LOB_OK) return st;
    *sets = l.sets;
    *count = l.count;
    *more = l.more;
    return st;
}

/* A group that is no image: the folder of what it holds, malloc'ed, if that is one. */
static lob_status find_only(char **only, const char *folder, const char *path, lob_error *error)
{
    listing l;
    *only = NULL;
    LOB_TRY(list_group(&l, folder, path, error));
    if (l.count == 1) *only = lob_zarr_below(folder, l.sets[0].path);
    free(l.sets);
    if (l.count > 1)
        return lob_fail_file_hint(error, LOB_EDATA, LOB_HINT_CHOOSE_SET, path,
                                  "has %d images and arrays, and one is needed", l.count + l.more);
    if (l.count == 0)
        return lob_fail_file(error, LOB_EDATA, path, "is Zarr without an image that is read");
    return *only ? LOB_OK : no_memory(path, error);
}

lob_status lob_zarr_find(lob_zarr_image *out, const lob_location *where, lob_error *error)
{
    lob_zarr_node node;
    *out = (lob_zarr_image){.folder = NULL};
    char *folder = lob_zarr_node_folder(where), *only = NULL;
    if (!folder) return no_memory(where->path, error);
    lob_status st = lob_zarr_node_read(&node, folder, where->path, error);
    if (st == LOB_OK && !node.is_array && !lob_ngff_is_image(node.ome)) {
        lob_zarr_node_free(&node);
        st = find_only(&only, folder, where->path, error);
        free(folder);
        folder = only;
        if (st == LOB_OK) st = lob_zarr_node_read(&node, folder, where->path, error);
    }
    if (st == LOB_OK) {
        st = node.is_array ? find_array(out, &node, folder, where, error)
                           : find_level(out, &node, folder, NULL, where->path, error);
        lob_zarr_node_free(&node);
    }
    free(folder);
    if (st != LOB_OK) lob_zarr_image_free(out);
    return st;
}
