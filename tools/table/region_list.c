/* Lists of regions from slabs, joined by label. */
#include "tools/table/region_list.h"

#include "kernels/regions/contacts_slabs.h"
#include "kernels/regions/regions_sum.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = LOB_COLUMN_MOMENTS | LOB_COLUMN_BORDER | LOB_COLUMN_SLICES };

int64_t lob_region_row_bytes(int needs)
{
    return needs & COUNTS ? (int64_t)sizeof(lob_region_sums)
                          : (int64_t)offsetof(lob_region_sums, counts);
}

lob_region_sums *lob_region_list_at(const lob_region_list *list, int64_t i)
{
    return (void *)(list->rows + i * lob_region_row_bytes(list->needs));
}

static int64_t bytes_of(const lob_region_list *list)
{
    return list->count * lob_region_row_bytes(list->needs) +
           list->corner_count * (int64_t)sizeof *list->corners +
           list->pair_count * (int64_t)sizeof *list->pairs;
}

void lob_region_list_free(lob_session *s, lob_region_list *list)
{
    lob_session_give(s, bytes_of(list));
    LOB_FREE(list->rows, list->corners, list->pairs);
    *list = (lob_region_list){.needs = list->needs};
}

/* ---- joining ---- */

static int64_t join_pairs(int64_t *pairs, int64_t n)
{
    int64_t kept = 0;
    if (n > 0) qsort(pairs, (size_t)n, sizeof *pairs, lob_by_int64);
    for (int64_t i = 0; i < n; i++)
        if (kept == 0 || pairs[kept - 1] != pairs[i]) pairs[kept++] = pairs[i];
    return kept;
}

/* Join corners and pairs, unless not all have to be and less have come than were there. */
static void join(lob_session *s, lob_region_list *list, bool all)
{
    const int64_t before = bytes_of(list);
    if (all || list->corner_count > 2 * list->corners_joined)
        list->corner_count = list->corners_joined =
            lob_hull_corners_join(list->corners, list->corner_count);
    if (all || list->pair_count > 2 * list->pairs_joined)
        list->pair_count = list->pairs_joined = join_pairs(list->pairs, list->pair_count);
    lob_session_give(s, before - bytes_of(list));
}

/* Add up what is known of the same label, whose rows are sorted, and give back what that saves. */
static void add_up(lob_session *s, lob_region_list *list)
{
    const int64_t before = bytes_of(list), each = lob_region_row_bytes(list->needs);
    int64_t n = 0;
    for (int64_t i = 0; i < list->count; i++) {
        const lob_region_sums *const row = lob_region_list_at(list, i);
        lob_region_sums *const to = n > 0 ? lob_region_list_at(list, n - 1) : NULL;
        if (!to || to->label != row->label) {
            memmove(lob_region_list_at(list, n++), row, (size_t)each);
            continue;
        }
        lob_region_add(&to->region, &row->region);
        lob_region_values_add(&to->values, &row->values);
        if (each == sizeof *row) lob_region_counts_add(&to->counts, &row->counts);
    }
    list->count = n;
    lob_session_give(s, before - bytes_of(list));
    char *const fitted = n > 0 ? realloc(list->rows, (size_t)(n * each)) : NULL;
    if (fitted) list->rows = fitted;
}

/* ---- a slab ---- */

/* A slab: its own planes, and these under the one before them. */
typedef struct {
    lob_regions_input in;
    lob_label_grid stack;
    const lob_label_set *set;
    const lob_volume *labels;
    const lob_fine_levels *fine;
    int64_t z, before; /* planes of the stack that are not its own */
    lob_region *regions;
    lob_region_values *values;
    lob_region_shapes shapes;
} slab;

static lob_status count_slab(lob_session *s, slab *b, int needs, const char *path)
{
    const int64_t n = b->set->count;
    const lob_context *const context = &s->context;
    lob_error *const error = &s->error;
    lob_regions_input stack = b->in;
    stack.labels = b->stack.labels;
    stack.dims = b->stack.dims;
    if (!(b->regions = lob_session_array(s, n, sizeof *b->regions, path)) ||
        !(b->values = lob_session_array(s, n, sizeof *b->values, path)))
        return LOB_ENOMEM;
    LOB_TRY(lob_region_shapes_make(s, &b->shapes, n, needs & COUNTS, path));
    LOB_TRY(lob_regions_check(&b->in, error));
    LOB_TRY(lob_regions_sum(b->regions, b->values, b->fine, &b->in, context, error));
    if (b->shapes.moments)
        LOB_TRY(lob_regions_moments_sum(b->shapes.moments, &b->in, b->z, context, error));
    if (b->shapes.slices)
        LOB_TRY(lob_regions_slices(b->shapes.slices, b->regions, &b->in, context, error));
    if (b->shapes.border)
        LOB_TRY(lob_regions_border_under(b->shapes.border, &stack, b->before > 0, context, error));
    return LOB_OK;
}

static void free_slab(lob_session *s, slab *b)
{
    const int64_t n = b->set->count;
    if (b->regions) lob_session_give(s, n * (int64_t)sizeof *b->regions);
    if (b->values) lob_session_give(s, n * (int64_t)sizeof *b->values);
    LOB_FREE(b->regions, b->values);
    lob_region_shapes_free(s, &b->shapes, n);
}

static void fill_row(lob_region_sums *row, const slab *b, int64_t i)
{
    const lob_dims dims = b->in.dims;
    row->label = b->set->values[i];
    row->region = b->regions[i];
    row->values = b->values[i];
    row->region.first += b->z * dims.nx * dims.ny;
    row->region.low[2] += (int32_t)b->z;
    row->region.high[2] += (int32_t)b->z;
    row->region.sum[2] += b->z * row->region.voxels;
    const lob_region_shapes *const of = &b->shapes;
    if (!of->moments && !of->border && !of->slices) return;
    row->counts = (lob_region_counts){.slices = {0}};
    if (of->moments) row->counts.moments = of->moments[i];
    if (of->border) row->counts.border = of->border[i];
    if (of->slices) row->counts.slices = of->slices[i];
    row->counts.slices.where += b->z;
}

/* Put the slab's rows between the list's. */
static lob_status add_rows(lob_session *s, lob_region_list *list, const slab *b, const char *path)
{
    const int64_t n = b->set->count, before = list->count, each = lob_region_row_bytes(list->needs);
    lob_region_list both = *list;
    both.count = 0;
    both.rows = lob_session_array(s, before + n, (size_t)each, path);
    if (!both.rows) return LOB_ENOMEM;
    for (int64_t i = 0, old = 0; i + old < before + n;) {
        const lob_region_sums *const next = old < before ? lob_region_list_at(list, old) : NULL;
        if (i == n || (next && next->label <= b->set->values[i])) {
            memcpy(lob_region_list_at(&both, both.count++), next, (size_t)each);
            old++;
            continue;
        }
        /* the others have voxels in the plane before */
        if (b->regions[i].voxels > 0) fill_row(lob_region_list_at(&both, both.count++), b, i);
        i++;
    }
    lob_session_give(s, (2 * before + n - both.count) * each);
    free(list->rows);
    *list = both;
    return LOB_OK;
}

/* Put more elements, whose memory nobody counts, behind those of an array. */
static lob_status extend(lob_session *s, void *array, int64_t *count, size_t each, const void *more,
                         int64_t n, const char *path)
{
    char **const to = array;
    const int64_t bytes = n * (int64_t)each;
    LOB_TRY(lob_session_take(s, 2 * bytes, path));
    char *const longer = realloc(*to, (size_t)(*count + n) * each + 1);
    lob_session_give(s, longer ? bytes : 2 * bytes);
    if (!longer) return lob_session_no_memory(s, path);
    if (n > 0) memcpy(longer + (size_t)*count * each, more, (size_t)n * each);
    *to = longer;
    *count += n;
    return LOB_OK;
}

static lob_status add_corners(lob_session *s, lob_region_list *list, const slab *b,
                              const char *path)
{
    lob_hull_corner *corners;
    int64_t n;
    LOB_TRY(lob_regions_hull_corners(&corners, &n, b->regions, &b->in, b->set->values, b->z,
                                     &s->context, &s->error));
    const lob_status st =
        extend(s, &list->corners, &list->corner_count, sizeof *corners, corners, n, path);
    free(corners);
    return st;
}

static lob_status add_pairs(lob_session *s, lob_region_list *list, const slab *b, const char *path)
{
    const int32_t *const labels = b->set->values;
    lob_contact *contacts;
    int64_t n;
    LOB_TRY(lob_contacts(&contacts, &n, &b->stack, &b->labels->geometry, NULL, 0, -1, &s->context,
                         &s->error));
    const int64_t bytes = n * (int64_t)sizeof *contacts;
    int64_t *const pairs = (void *)contacts; /* none is longer than a contact */
    lob_session_hold(s, bytes);
    for (int64_t i = 0; i < n; i++)
        pairs[i] = (int64_t)labels[contacts[i].a - 1] << 32 | labels[contacts[i].b - 1];
    const lob_status st = extend(s, &list->pairs, &list->pair_count, sizeof *pairs, pairs, n, path);
    free(contacts);
    lob_session_give(s, bytes);
    return st;
}

lob_status lob_region_list_add(lob_session *s, lob_region_list *list, const lob_volume *labels,
                               const lob_label_set *set, const lob_volume *image,
                               const lob_fine_levels *fine, int64_t z, const char *path,
                               const char *labels_path)
{
    const int64_t before = labels->dims.nz - image->dims.nz;
    const int64_t skipped = before * labels->dims.nx * labels->dims.ny;
    slab b = {
        .in = {.labels = (char *)labels->data + skipped * (int64_t)lob_type_of(labels->type)->bytes,
               .type = labels->type,
               .count = set->count,
               .dims = image->dims,
               .image = image},
        .stack = {.labels = labels->data,
               .type = labels->type,
               .count = set->count,
               .dims = labels->dims},
        .set = set,
        .labels = labels,
        .fine = fine,
        .z = z,
        .before = before,
    };
    lob_status st = count_slab(s, &b, list->needs, labels_path);
    if (st == LOB_OK) st = add_rows(s, list, &b, labels_path);
    if (st == LOB_OK && list->needs & LOB_COLUMN_HULL) st = add_corners(s, list, &b, labels_path);
    if (st == LOB_OK && list->needs & LOB_COLUMN_NEIGHBOURS)
        st = add_pairs(s, list, &b, labels_path);
    free_slab(s, &b);
    if (st == LOB_OK) add_up(s, list);
    if (st == LOB_OK) join(s, list, false);
    return lob_session_name(s, st, path, labels_path);
}

/* ---- all slabs ---- */

/* Everyone's elements to rank 0; the others have none then. */
static lob_status collect(lob_session *s, void *array, int64_t *count, int64_t each,
                          const char *path)
{
    char **const own = array;
    void *all = NULL;
    int64_t bytes = 0;
    const lob_status st = lob_team_collect(s->team, &all, &bytes, *own, *count * each, &s->error);
    lob_session_give(s, *count * each);
    free(*own);
    *own = all;
    *count = 0;
    if (!all || st != LOB_OK) return st;
    LOB_TRY(lob_session_take(s, bytes, path));
    *count = bytes / each;
    return LOB_OK;
}

lob_status lob_region_list_gather(lob_session *s, lob_region_list *list, const char *path)
{
    const int64_t each = lob_region_row_bytes(list->needs);
    join(s, list, true);
    if (lob_team_size(s->team) == 1) return LOB_OK;
    LOB_TRY(collect(s, &list->rows, &list->count, each, path));
    LOB_TRY(collect(s, &list->corners, &list->corner_count, sizeof *list->corners, path));
    LOB_TRY(collect(s, &list->pairs, &list->pair_count, sizeof *list->pairs, path));
    if (list->count > 0) qsort(list->rows, (size_t)list->count, (size_t)each, lob_by_int32);
    add_up(s, list);
    join(s, list, true);
    return LOB_OK;
}

lob_status lob_region_stack_make(lob_session *s, lob_region_stack *out, const lob_volume *labels,
                                 bool counted, const char *path)
{
    const lob_label_grid grid = {labels->data, labels->type, 0, labels->dims};
    const bool under = counted && lob_team_rank(s->team) > 0;
    const size_t each = lob_type_of(labels->type)->bytes;
    const size_t plane = under * (size_t)(labels->dims.nx * labels->dims.ny) * each;
    lob_volume *const stacked = &out->labels;
    char *beside = NULL;
    lob_status st = counted ? lob_planes_beside(&beside, &grid, s->team, &s->error) : LOB_OK;
    out->set = (lob_label_set){0};
    out->bytes = 0;
    *stacked = *labels;
    stacked->header = (lob_header){.bytes = NULL};
    stacked->names = (lob_label_names){0};
    stacked->dims.nz += under;
    stacked->data = NULL;
    if (st == LOB_OK && !(stacked->data = lob_session_array(s, lob_voxels(stacked), each, path)))
        st = LOB_ENOMEM;
    if (stacked->data) out->bytes = lob_volume_bytes(stacked);
    if (st == LOB_OK && under) memcpy(stacked->data, beside, plane);
    if (st == LOB_OK)
        memcpy((char *)stacked->data + plane, labels->data, (size_t)lob_volume_bytes(labels));
    free(beside);
    return st == LOB_OK ? lob_labels_dense(stacked, &out->set, path, &s->error) : st;
}

void lob_region_stack_free(lob_session *s, lob_region_stack *stack)
{
    lob_session_give(s, stack->bytes);
    lob_volume_free(&stack->labels);
    lob_label_set_free(&stack->set);
}

lob_status lob_region_list_of_team(lob_session *s, lob_region_list *list, lob_fine_levels *fine,
                                   const lob_region_stack *stack, const lob_volume *image,
                                   int64_t z, const char *path, const char *labels_path)
{
    lob_extremes extremes = lob_extremes_of(image, s->context.threads);
    LOB_TRY(lob_extremes_of_team(&extremes, s->team, image->type, &s->error));
    *fine = lob_fine_levels_of(&extremes, image->type);
    LOB_TRY(lob_region_list_add(s, list, &stack->labels, &stack->set, image, fine, z, path,
                                labels_path));
    return lob_region_list_gather(s, list, path);
}

/* ---- the table ---- */

/* How many labels each touches: both of a pair have a row. */
static void count_neighbours(int64_t *neighbours, const lob_region_list *list)
{
    const int32_t *const labels = (const void *)list->rows; /* a row begins with its label */
    const size_t each = (size_t)lob_region_row_bytes(list->needs);
    for (int64_t i = 0; i < list->pair_count; i++) {
        const int32_t of[] = {(int32_t)(list->pairs[i] >> 32), (int32_t)list->pairs[i]};
        for (int k = 0; k < 2; k++) neighbours[lob_count_below(labels, list->count, each, of[k])]++;
    }
}

/* From sums and lists: what the table shows. */
static lob_status fill_shapes(lob_session *s, lob_region_table *t, const lob_region_list *list)
{
    lob_region_shapes *const to = &t->shapes;
    const lob_volume *const grid = t->grid;
    if (to->neighbours) count_neighbours(to->neighbours, list);
    if (to->moments)
        LOB_TRY(lob_regions_moments_move(to->moments, t->regions, t->labels, t->count, &s->error));
    if (!to->hulls) return LOB_OK;
    const lob_shape_frame frame = lob_shape_frame_of(&grid->geometry, grid->dims);
    return lob_hulls_of_corners(to->hulls, t->regions, t->labels, t->count, list->corners,
                                list->corner_count, grid->dims, &frame, &s->context, &s->error);
}

lob_status lob_region_list_fill(lob_session *s, lob_region_table *t, const lob_region_list *list,
                                const lob_fine_levels *fine, const char *path)
{
    const int64_t n = list->count;
    lob_region_shapes *const to = &t->shapes;
    t->regions = lob_session_array(s, n, sizeof *t->regions, path);
    t->intensities = lob_session_array(s, n, sizeof *t->intensities, path);
    t->fine = lob_session_array(s, 1, sizeof *t->fine, path);
    if (!t->regions || !t->intensities || !t->fine) return LOB_ENOMEM;
    LOB_TRY(lob_region_shapes_make(s, to, n, list->needs, path));
    for (int64_t i = 0; i < n; i++) {
        const lob_region_sums *const row = lob_region_list_at(list, i);
        t->regions[i] = row->region;
        t->intensities[i] = row->values;
        if (to->moments) to->moments[i] = row->counts.moments;
        if (to->border) to->border[i] = row->counts.border;
        if (to->slices) to->slices[i] = row->counts.slices;
    }
    *t->fine = *fine;
    t->count = n;
    lob_status st = lob_regions_check_data(t->intensities, n, &s->error);
    if (st == LOB_OK && list->needs) st = fill_shapes(s, t, list);
    return lob_session_name(s, st, path, NULL);
}
