/* Volumes in memory under names. */
#include "tools/recipe/store.h"

#include "io/format.h"
#include "tools/recipe/recipe.h"
#include "volumes/bytes.h"
#include "volumes/lists.h"
#include "volumes/voxel_memory.h"

#include <stdlib.h>
#include <string.h>

bool lob_is_sound_name(const char *path)
{
    const size_t n = lob_is_stored_name(path) ? lob_recipe_name_length(path + 1) : 0;
    return n > 0 && path[1 + n] == '\0';
}

bool lob_is_kept_file(const lob_stored *row)
{
    return !lob_is_stored_name(row->name);
}

lob_stored *lob_store_find(const lob_store *store, const char *name)
{
    const int64_t i = lob_names_find(&store->index, name);
    return i < 0 ? NULL : &store->rows[i];
}

lob_stored *lob_store_add(lob_store *store, const char *name, int made)
{
    char *const copy = strdup(name);
    const bool fits = copy && lob_grow(&store->rows, store->count, sizeof *store->rows);
    if (!fits || !lob_names_add(&store->index, copy, store->count)) {
        free(copy);
        return NULL;
    }
    lob_stored *const row = &store->rows[store->count++];
    *row = (lob_stored){.name = copy, .made = made, .last = -1, .volume = lob_volume_empty()};
    return row;
}

void lob_store_put(lob_store *store, lob_stored *row, lob_volume *volume)
{
    lob_store_drop(store, row);
    row->volume = *volume;
    row->there = true;
    *volume = lob_volume_empty();
    store->bytes += lob_volume_bytes(&row->volume);
    if (lob_is_kept_file(row)) store->kept += lob_volume_bytes(&row->volume);
}

void lob_store_take(lob_store *store, lob_stored *row, lob_volume *out)
{
    *out = row->volume;
    store->bytes -= lob_volume_bytes(out);
    if (lob_is_kept_file(row)) store->kept -= lob_volume_bytes(out);
    row->volume = lob_volume_empty();
    row->there = false;
}

lob_status lob_store_copy(lob_volume *out, const lob_stored *row, int64_t frame, bool voxels,
                          int threads)
{
    const lob_volume *const v = &row->volume;
    const int64_t frames = lob_frames_held(v), taken = frame == LOB_FRAME_ALL ? frames : 1;
    const int64_t parts = v->channels / frames; /* channels of a frame */
    const int64_t each = lob_volume_bytes(v) / v->channels, part = each * taken;
    unsigned char *copy = voxels ? lob_voxel_memory(part * parts) : NULL;
    void *data = copy;
    *out = lob_volume_empty();
    if (voxels && !data) return LOB_ENOMEM;
    for (int64_t c = 0; voxels && c < parts; c++)
        lob_copy_apart(copy + c * part,
                       (unsigned char *)v->data + (c * frames + (frame > 0 ? frame : 0)) * each,
                       (size_t)part, threads);
    const lob_status st = lob_volume_adopt(out, v, &data, v->type, (int)(parts * taken));
    free(data);
    if (st != LOB_OK) return st;
    out->slope = v->slope;
    out->inter = v->inter;
    out->frames = v->frames;
    out->frame = frames > 1 ? frame : 0;
    return st;
}

void lob_store_drop(lob_store *store, lob_stored *row)
{
    lob_volume volume;
    if (!row->there) return;
    lob_store_take(store, row, &volume);
    lob_volume_free(&volume);
}

void lob_store_drop_files(lob_store *store)
{
    for (int i = 0; i < store->count; i++)
        if (lob_is_kept_file(&store->rows[i])) lob_store_drop(store, &store->rows[i]);
}

void lob_store_free(lob_store *store)
{
    for (int i = 0; i < store->count; i++) {
        lob_store_drop(store, &store->rows[i]);
        free(store->rows[i].name);
    }
    free(store->rows);
    lob_names_free(&store->index);
    *store = (lob_store){0};
}
