/* The labels of all ranks, from those of each. */
#include "tools/inout/slab_labels.h"

#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

lob_status lob_slab_copy(lob_session *s, lob_volume *out, const lob_volume *like,
                         const void *voxels, lob_dims dims, const char *path)
{
    const size_t bytes = lob_type_of(like->type)->bytes;
    *out = *like;
    out->header = (lob_header){.bytes = NULL};
    out->names = (lob_label_names){0};
    out->dims = dims;
    out->frames = 1;
    out->data = lob_session_array(s, lob_voxels(out), bytes, path);
    if (!out->data) return LOB_ENOMEM;
    memcpy(out->data, voxels, (size_t)lob_voxels(out) * bytes);
    return LOB_OK;
}

/* The labels of all ranks, in rising order: no voxels yet. */
static lob_status share_labels(lob_session *s, lob_label_set *all, const lob_label_set *own)
{
    const int size = lob_team_size(s->team);
    int64_t most = own->count;
    LOB_TRY(lob_team_reduce(s->team, &most, 1, LOB_TEAM_MAX, &s->error));
    const size_t each = (size_t)most * sizeof(int32_t);
    int32_t *const mine = calloc((size_t)most + 1, sizeof *mine);
    all->values = malloc((size_t)size * each + 1);
    lob_status st = mine && all->values ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK && own->count > 0)
        memcpy(mine, own->values, (size_t)own->count * sizeof *mine);
    if (st == LOB_OK) st = lob_team_share(s->team, all->values, mine, (int64_t)each, &s->error);
    free(mine);
    if (st != LOB_OK) return st;
    const int64_t n = size * most;
    qsort(all->values, (size_t)n, sizeof *all->values, lob_by_int32);
    for (int64_t i = 0; i < n; i++) {
        const int32_t value = all->values[i];
        if (value > 0 && (all->count == 0 || value != all->values[all->count - 1]))
            all->values[all->count++] = value;
    }
    all->voxels = calloc((size_t)all->count + 1, sizeof *all->voxels);
    return all->voxels ? LOB_OK : LOB_ENOMEM;
}

/* The slab's labels take the numbers that they have in the whole volume. */
static lob_status renumber(lob_volume *seeds, const lob_label_set *all, const lob_label_set *own)
{
    lob_label_set numbers = {.count = own->count};
    numbers.values = malloc((size_t)own->count * sizeof *numbers.values + 1);
    if (!numbers.values) return LOB_ENOMEM;
    for (int32_t i = 0; i < own->count; i++)
        numbers.values[i] = lob_label_set_find(all, own->values[i]);
    lob_status st = lob_labels_restore(seeds, &numbers);
    if (st == LOB_OK) st = lob_labels_pack(seeds, all->count);
    free(numbers.values);
    return st;
}

lob_status lob_slab_labels(lob_session *s, lob_volume *labels, lob_label_set *all, const char *path)
{
    lob_label_set own = {0};
    lob_status st = lob_grid_dense(s, labels, &own, path);
    if (st == LOB_OK) st = share_labels(s, all, &own);
    if (st == LOB_OK) st = renumber(labels, all, &own);
    lob_label_set_free(&own);
    return st == LOB_ENOMEM ? lob_session_no_memory(s, path) : st;
}
