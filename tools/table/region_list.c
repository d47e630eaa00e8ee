/* Lists of regions from slabs, joined by label. */
#include "tools/table/region_list.h"

#include "kernels/regions/regions_sum.h"
#include "volumes/lists.h"

#include <stdlib.h>

/* Add up what is known of the same label, in a list that is sorted. */
static void add_up(lob_session *s, lob_region_list *list)
{
    int64_t n = 0;
    for (int64_t i = 0; i < list->count; i++) {
        lob_region_sums *const last = n > 0 ? &list->row[n - 1] : NULL;
        if (last && last->label == list->row[i].label) {
            lob_region_add(&last->region, &list->row[i].region);
            lob_region_values_add(&last->values, &list->row[i].values);
        } else {
            list->row[n++] = list->row[i];
        }
    }
    lob_session_give(s, (list->count - n) * (int64_t)sizeof *list->row);
    lob_region_sums *const fitted = n > 0 ? realloc(list->row, (size_t)n * sizeof *fitted) : NULL;
    if (fitted) list->row = fitted;
    list->count = n;
}

lob_status lob_region_list_add(lob_session *s, lob_region_list *list, const lob_volume *labels,
                               const lob_label_set *set, const lob_volume *image,
                               const lob_fine_levels *fine, int64_t z, const char *path,
                               const char *labels_path)
{
    const lob_regions_input in = {.labels = labels->data,
                                  .type = labels->type,
                                  .count = set->count,
                                  .dims = labels->dims,
                                  .image = image};
    const int64_t n = set->count, before = list->count;
    lob_region *const regions = lob_session_array(s, n, sizeof *regions, labels_path);
    lob_region_values *const values = lob_session_array(s, n, sizeof *values, labels_path);
    lob_region_sums *const row = lob_session_array(s, before + n, sizeof *row, labels_path);
    lob_status st = regions && values && row ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) st = lob_regions_check(&in, &s->error);
    if (st == LOB_OK) st = lob_regions_sum(regions, values, fine, &in, &s->context, &s->error);
    for (int64_t i = 0, old = 0; st == LOB_OK && i + old < before + n;) {
        const bool first = i == n || (old < before && list->row[old].label <= set->values[i]);
        lob_region_sums *const to = &row[i + old];
        if (first) {
            *to = list->row[old++];
            continue;
        }
        *to = (lob_region_sums){set->values[i], regions[i], values[i]};
        to->region.first += z * labels->dims.nx * labels->dims.ny;
        to->region.low[2] += (int32_t)z;
        to->region.high[2] += (int32_t)z;
        to->region.sum[2] += z * to->region.voxels;
        i++;
    }
    lob_session_give(s, n * (int64_t)(sizeof *regions + sizeof *values) +
                            before * (int64_t)sizeof *row);
    free(regions);
    free(values);
    free(list->row);
    *list = (lob_region_list){row, st == LOB_OK ? before + n : 0};
    add_up(s, list);
    return lob_session_name(s, st, path, labels_path);
}

lob_status lob_region_list_gather(lob_session *s, lob_region_list *list, const char *path)
{
    const int64_t each = sizeof *list->row;
    void *all = NULL;
    int64_t bytes = 0;
    if (lob_team_size(s->team) == 1) return LOB_OK;
    lob_status st =
        lob_team_collect(s->team, &all, &bytes, list->row, list->count * each, &s->error);
    lob_session_give(s, list->count * each);
    free(list->row);
    *list = (lob_region_list){all, 0};
    if (all) st = lob_session_take(s, bytes, path);
    if (!all || st != LOB_OK) return st;
    list->count = bytes / each;
    qsort(list->row, (size_t)list->count, sizeof *list->row, lob_by_int32);
    add_up(s, list);
    return LOB_OK;
}

lob_status lob_region_list_fill(lob_session *s, lob_region_table *t, const lob_region_list *list,
                                const lob_fine_levels *fine, const char *path)
{
    const int64_t n = list->count;
    t->regions = lob_session_array(s, n, sizeof *t->regions, path);
    t->intensities = lob_session_array(s, n, sizeof *t->intensities, path);
    t->fine = lob_session_array(s, 1, sizeof *t->fine, path);
    if (!t->regions || !t->intensities || !t->fine) return LOB_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        t->regions[i] = list->row[i].region;
        t->intensities[i] = list->row[i].values;
    }
    *t->fine = *fine;
    t->count = n;
    return lob_session_name(s, lob_regions_check_data(t->intensities, n, &s->error), path, NULL);
}
