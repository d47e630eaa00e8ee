/* Where an output lies: a store of its own, or a label image inside of one that is there. */
#include "io/zarr/zarr_place.h"

#include "io/file.h"
#include "io/folder.h"
#include "io/kinds.h"
#include "io/platform.h"
#include "io/zarr/zarr_array.h"
#include "io/zarr/zarr_image.h"
#include "volumes/free.h"

#include <stdlib.h>
#include <string.h>

static lob_status no_memory(const char *path, lob_error *error)
{
    return lob_fail_file(error, LOB_ENOMEM, path, "no memory to write it");
}

cJSON *lob_zarr_make_group(cJSON *attributes)
{
    cJSON *const node = cJSON_CreateObject();
    if (node && attributes && cJSON_AddNumberToObject(node, "zarr_format", 3) &&
        cJSON_AddStringToObject(node, "node_type", "group") &&
        cJSON_AddItemToObject(node, "attributes", attributes))
        return node;
    cJSON_Delete(attributes);
    cJSON_Delete(node);
    return NULL;
}

char *lob_zarr_labels_folder(const lob_location *where)
{
    static const char before[] = "labels/";
    const char *const inside = where->inside ? where->inside + (*where->inside == '/') : NULL;
    if (!inside || strncmp(inside, before, sizeof before - 1) != 0) return NULL;
    const char *const name = inside + sizeof before - 1;
    return *name && *name != '.' && !strchr(name, '/') ? lob_zarr_below(where->file, "labels")
                                                       : NULL;
}

static bool lists(const cJSON *list, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
        if (cJSON_IsString(item) && strcmp(item->valuestring, name) == 0) return true;
    return false;
}

/* An object's member of this kind, made where there is none; NULL: it is of another kind. */
static cJSON *member(cJSON *object, const char *name, bool is_list)
{
    cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!item)
        return is_list ? cJSON_AddArrayToObject(object, name)
                       : cJSON_AddObjectToObject(object, name);
    return (is_list ? cJSON_IsArray(item) : cJSON_IsObject(item)) ? item : NULL;
}

/* Read the group of label images, which need not be there, and find the list in it. */
static lob_status read_group(lob_zarr_node *group, cJSON **list, const char *labels,
                             const char *path, lob_error *error)
{
    char *const file = lob_zarr_metadata_file(labels);
    *group = (lob_zarr_node){NULL};
    lob_status st = file ? lob_zarr_node_read(group, labels, path, error) : LOB_OK;
    free(file);
    if (st != LOB_OK) return st;
    if (!group->meta) group->meta = lob_zarr_make_group(cJSON_CreateObject());
    cJSON *const attributes = group->meta ? member(group->meta, "attributes", false) : NULL;
    cJSON *const ome = attributes ? member(attributes, "ome", false) : NULL;
    *list = ome && !group->v2 ? member(ome, "labels", true) : NULL;
    if (*list && !cJSON_GetObjectItemCaseSensitive(ome, "version"))
        cJSON_AddStringToObject(ome, "version", "0.5");
    if (*list) return LOB_OK;
    lob_zarr_node_free(group);
    return lob_fail_file(error, LOB_EDATA, path,
                         "damaged OME-Zarr: its group labels has no list of label images");
}

lob_status lob_zarr_list_labels(const char *labels, const char *path, lob_error *error)
{
    enum { MOST_MS = 2000 };
    lob_zarr_node group = {NULL};
    cJSON *list = NULL;
    const int turn = lob_lock_folder(labels, MOST_MS);
    char *const file = lob_zarr_below(labels, "zarr.json");
    lob_status st = file ? read_group(&group, &list, labels, path, error) : no_memory(path, error);
    if (st == LOB_OK) {
        lob_entries *const entries = lob_entries_open(labels);
        const char *name;
        while (entries && (name = lob_entries_next(entries)))
            if (name[0] != '.' && lob_entries_is_folder(entries) && !lists(list, name))
                cJSON_AddItemToArray(list, cJSON_CreateString(name));
        if (entries) lob_entries_close(entries);
        char *const text = cJSON_Print(group.meta);
        const lob_output_part part = {text, text ? strlen(text) : 0};
        st = text ? lob_output_whole(file, true, &part, 1, error) : no_memory(path, error);
        cJSON_free(text);
        lob_zarr_node_free(&group);
    }
    free(file);
    if (turn >= 0) lob_fd_close(turn);
    return st;
}

/* Of a store: what is there must be one, or nothing of it would come back. */
static lob_status check_store(const char *path, bool force, lob_error *error)
{
    char *const file = lob_zarr_metadata_file(path);
    const bool other = force && lob_is_folder(path) && !file;
    free(file);
    if (other)
        return lob_fail_file(error, LOB_ECREATE, path,
                             "is a folder that is no Zarr store, and is kept");
    return lob_folder_check(path, force, error);
}

/* Of a label image inside of a store. */
static lob_status check_labels(const lob_location *where, const char *labels, const char *path,
                               bool force, lob_error *error)
{
    lob_zarr_node store, group;
    cJSON *list;
    LOB_TRY(lob_zarr_node_read(&store, where->file, where->path, error));
    const bool v2 = store.v2;
    lob_zarr_node_free(&store);
    if (v2)
        return lob_fail_file(
            error, LOB_ECREATE, where->path,
            "the store is of Zarr 2, and labels are written as Zarr 3; give them a "
            "store of their own");
    LOB_TRY(read_group(&group, &list, labels, where->path, error));
    lob_zarr_node_free(&group);
    return lob_is_folder(labels) ? check_store(path, force, error)
                                 : lob_output_check(labels, true, error);
}

lob_status lob_zarr_check(const lob_location *where, bool force, lob_error *error)
{
    char *const path = lob_zarr_node_folder(where), *const labels = lob_zarr_labels_folder(where);
    const lob_status st =
        !path    ? lob_fail_file(error, LOB_ENOMEM, where->path, "no memory")
        : labels ? check_labels(where, labels, path, force, error)
        : where->inside
            ? lob_fail_file(error, LOB_ECREATE, where->path,
                            "inside of a store labels are written, as STORE.zarr/labels/NAME")
            : check_store(path, force, error);
    LOB_FREE(labels, path);
    return st;
}
