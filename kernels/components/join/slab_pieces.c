/* Slab pieces: a table of pieces, their union-find across seams, and the selection of components.
 */
#include "kernels/components/join/slab_pieces.h"

#include "kernels/components/components_select.h"
#include "kernels/components/join/run_table.h"
#include "kernels/regions/regions_sum.h"
#include "volumes/bytes.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

enum { COLUMNS = 5 };

/* The columns of the table and the bytes of an element; 0: the options do not need the column. */
static void list_columns(void *column[COLUMNS], size_t size[COLUMNS], lob_slab_pieces *p)
{
    const lob_components_options *o = p->options;
    column[0] = &p->parent, size[0] = sizeof *p->parent;
    column[1] = &p->voxels, size[1] = lob_components_selects(o) ? sizeof *p->voxels : 0;
    column[2] = &p->value, size[2] = o->keep_values ? sizeof *p->value : 0;
    column[3] = &p->regions, size[3] = o->regions ? sizeof *p->regions : 0;
    column[4] = &p->values, size[4] = p->intensities ? sizeof *p->values : 0;
}

static int64_t piece_bytes(lob_slab_pieces *p)
{
    void *column[COLUMNS];
    size_t size[COLUMNS], bytes = 0;
    list_columns(column, size, p);
    for (int c = 0; c < COLUMNS; c++) bytes += size[c];
    return (int64_t)bytes;
}

/* Reallocate a column. Large blocks are not copied: the system moves their pages. */
static lob_status grow(lob_slab_pieces *p, void *column, size_t size, int64_t capacity)
{
    void **block = column, *grown;
    char asked[LOB_BYTES_TEXT];
    const int64_t more = (capacity - (*block ? p->capacity : 0)) * (int64_t)size;
    LOB_TRY(lob_budget_hold(p->budget, more, p->error));
    grown = realloc(*block, (size_t)capacity * size);
    if (grown) {
        *block = grown;
        return LOB_OK;
    }
    lob_budget_release(p->budget, more);
    return lob_fail(p->error, LOB_ENOMEM, "no memory for components: %s more were asked for",
                    lob_bytes_text(asked, more));
}

/* Free the columns from this one on. */
static void free_columns(lob_slab_pieces *p, int from)
{
    void *column[COLUMNS];
    size_t size[COLUMNS];
    list_columns(column, size, p);
    for (int c = from; c < COLUMNS; c++) {
        void **block = column[c];
        lob_budget_free(p->budget, *block, p->capacity, size[c]);
        *block = NULL;
    }
}

/* Append pieces: each its own parent, the rest 0. */
static lob_status append(lob_slab_pieces *p, const lob_labelled_slab *slab)
{
    const int64_t more = slab->labelled.found, count = p->count + more;
    void *column[COLUMNS];
    size_t size[COLUMNS];
    list_columns(column, size, p);
    if (count >= UINT32_MAX)
        return lob_fail(p->error, LOB_EDATA,
                        "components in slabs of %lld planes are more than can be numbered",
                        (long long)slab->planes);
    p->needed = count * piece_bytes(p);
    if (count > p->capacity) {
        const int64_t capacity = count + p->capacity / 8;
        for (int c = 0; c < COLUMNS; c++) {
            if (size[c]) LOB_TRY(grow(p, column[c], size[c], capacity));
        }
        p->capacity = capacity;
    }
    for (int64_t i = p->count; i < count; i++) p->parent[i] = (uint32_t)i;
    for (int c = 1; c < COLUMNS && more > 0; c++) {
        char **block = column[c];
        if (size[c]) memset(*block + (size_t)p->count * size[c], 0, (size_t)more * size[c]);
    }
    p->count = count;
    return LOB_OK;
}

/* Sizes and values of a slab's pieces, which are numbered in the order of the scan. */
static void add_sizes(lob_slab_pieces *p, const lob_labelled_slab *slab, int64_t first)
{
    const int32_t *labels = slab->labelled.labels;
    int64_t *voxels = p->voxels ? p->voxels + first : NULL;
    double *value = p->value ? p->value + first : NULL;
    const lob_volume *image = slab->in.image;
    int32_t seen = 0;
    if (!voxels && !value) return;
    for (int64_t i = 0; i < lob_voxels(image); i++) {
        const int32_t label = labels[i];
        if (label == 0) continue;
        if (voxels) voxels[label - 1]++;
        if (label <= seen) continue;
        seen = label;
        if (!value) continue;
        lob_values(&value[label - 1], image->data, image->type, i, 1);
        value[label - 1] = lob_component_value(value[label - 1], image->slope, image->inter);
    }
}

/* Regions of a slab's pieces, at their positions in the whole volume. */
static lob_status add_regions(lob_slab_pieces *p, const lob_labelled_slab *slab, int64_t first,
                              const lob_context *context)
{
    lob_region *regions = p->regions + first;
    const int64_t count = slab->labelled.found;
    if (slab->in.intensities) {
        const lob_regions_input in = {slab->labelled.labels, LOB_I32, count, slab->in.image->dims,
                                      slab->in.intensities};
        const int64_t bytes = lob_regions_sum_bytes(&in, context);
        LOB_TRY(lob_budget_hold(p->budget, bytes, p->error));
        lob_status st =
            lob_regions_sum(regions, p->values + first, &p->out->fine, &in, context, p->error);
        lob_budget_release(p->budget, bytes);
        if (st != LOB_OK) return st;
    } else if (count > 0) {
        memcpy(regions, slab->labelled.regions, (size_t)count * sizeof *regions);
    }
    for (int64_t i = 0; i < count; i++) {
        regions[i].first += slab->z * p->dims.nx * p->dims.ny;
        regions[i].low[2] += (int32_t)slab->z;
        regions[i].high[2] += (int32_t)slab->z;
        regions[i].sum[2] += slab->z * regions[i].voxels;
    }
    return LOB_OK;
}

/* ---- the seam ---- */

lob_status lob_slab_pieces_begin(lob_slab_pieces *p, const lob_volume *image)
{
    const int64_t plane = p->dims.nx * p->dims.ny;
    p->seam = *image;
    p->seam.data = NULL;
    p->seam.dims.nz = 2;
    p->rule = lob_component_rule_of(image, p->options);
    if (p->options->slice_axis == 2) return LOB_OK; /* nothing is joined across planes */
    LOB_TRY(lob_budget_alloc(p->budget, &p->last_plane, plane, sizeof *p->last_plane, p->error));
    if (p->options->join == LOB_JOIN_ANY) return LOB_OK;
    LOB_TRY(lob_budget_alloc(p->budget, &p->joined, lob_bit_words(p->dims.nx), sizeof *p->joined,
                             p->error));
    return lob_budget_alloc(p->budget, &p->seam.data, 2 * plane * image->channels,
                            lob_type_of(image->type)->bytes, p->error);
}

static void free_seam(lob_slab_pieces *p)
{
    const int64_t plane = p->dims.nx * p->dims.ny;
    lob_budget_free(p->budget, p->last_plane, plane, sizeof *p->last_plane);
    lob_budget_free(p->budget, p->joined, lob_bit_words(p->dims.nx), sizeof *p->joined);
    lob_budget_free(p->budget, p->seam.data, 2 * plane * p->seam.channels,
                    lob_type_of(p->seam.type)->bytes);
}

/* Copy a plane of the slab to plane 0 or 1 of the seam. */
static void copy_plane(lob_slab_pieces *p, const lob_labelled_slab *slab, int64_t from, int64_t to)
{
    const lob_volume *image = slab->in.image;
    const size_t bytes = (size_t)(p->dims.nx * p->dims.ny) * lob_type_of(image->type)->bytes;
    if (!p->seam.data) return;
    for (int64_t c = 0; c < image->channels; c++)
        memcpy((char *)p->seam.data + (size_t)(2 * c + to) * bytes,
               (const char *)image->data + (size_t)(c * slab->planes + from) * bytes, bytes);
}

/* Unite the pieces of row y of the slab's first plane with those of row y + dy before the seam. */
static void join_rows(lob_slab_pieces *p, const lob_labelled_slab *slab, int64_t first, int64_t y,
                      int dy, int dx)
{
    const int64_t nx = p->dims.nx;
    const int32_t *here = (const int32_t *)slab->labelled.labels + y * nx;
    const uint32_t *there = p->last_plane + (y + dy) * nx;
    const int64_t a = p->dims.ny + y, b = y + dy; /* rows of the seam */
    uint32_t last[2] = {0, 0};
    if (p->options->join == LOB_JOIN_EQUAL)
        lob_bits_equal(p->joined, &p->seam, a, b, dx);
    else if (p->options->join == LOB_JOIN_TOLERANCE)
        lob_bits_within(p->joined, &p->seam, &p->rule, a, b, dx);
    for (int64_t x = dx < 0; x < nx - (dx > 0); x++) {
        if (!here[x] || !there[x + dx]) continue;
        if (p->joined && !(p->joined[x / 64] >> (x % 64) & 1)) continue;
        const uint32_t pair[2] = {(uint32_t)(first + here[x] - 1), there[x + dx] - 1};
        if (pair[0] == last[0] && pair[1] == last[1]) continue;
        lob_unite(p->parent, pair[0], pair[1]);
        memcpy(last, pair, sizeof last);
    }
}

static void join_planes(lob_slab_pieces *p, const lob_labelled_slab *slab, int64_t first)
{
    const int n = p->options->neighbours, axis = p->options->slice_axis;
    const int max_apart = n == 6 || n == 4 ? 1 : n == 26 ? 3 : 2;
    for (int64_t y = 0; y < p->dims.ny; y++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const int apart = 1 + (dy != 0) + (dx != 0);
                if (apart > max_apart || (axis == 0 && dx) || (axis == 1 && dy)) continue;
                if (y + dy >= 0 && y + dy < p->dims.ny) join_rows(p, slab, first, y, dy, dx);
            }
}

/* Join the slab to the one before, and remember its last plane for the next. */
static void join_seam(lob_slab_pieces *p, const lob_labelled_slab *slab, int64_t first)
{
    const int64_t plane = p->dims.nx * p->dims.ny;
    const int32_t *last = (const int32_t *)slab->labelled.labels + (slab->planes - 1) * plane;
    if (!p->last_plane) return;
    copy_plane(p, slab, 0, 1);
    if (slab->z > 0) join_planes(p, slab, first);
    copy_plane(p, slab, slab->planes - 1, 0);
    for (int64_t i = 0; i < plane; i++)
        p->last_plane[i] = last[i] ? (uint32_t)(first + last[i]) : 0;
}

lob_status lob_slab_pieces_add(lob_slab_pieces *p, const lob_labelled_slab *slab,
                               const lob_context *context)
{
    const int64_t first = p->count;
    LOB_TRY(append(p, slab));
    add_sizes(p, slab, first);
    if (p->options->regions) LOB_TRY(add_regions(p, slab, first, context));
    join_seam(p, slab, first);
    return LOB_OK;
}

/* ---- components ---- */

/* Merge pieces into components. The number of a component is at most that of its first piece, so
 * the sums move to the front. */
static void merge_pieces(lob_slab_pieces *p)
{
    uint32_t found = 0;
    for (int64_t i = 0; i < p->count; i++) {
        const bool first = p->parent[i] == i;
        const uint32_t to = first ? found++ : p->parent[p->parent[i]];
        p->parent[i] = to;
        if (p->value && first) p->value[to] = p->value[i];
        if (p->voxels) {
            const int64_t voxels = p->voxels[i];
            p->voxels[i] = 0;
            p->voxels[to] += voxels;
        }
        if (p->regions) {
            const lob_region region = p->regions[i];
            p->regions[i] = (lob_region){0};
            lob_region_add(&p->regions[to], &region);
        }
        if (p->values) {
            const lob_region_values values = p->values[i];
            p->values[i] = (lob_region_values){0};
            lob_region_values_add(&p->values[to], &values);
        }
    }
    p->out->found = found;
}

/* A column becomes an output of count elements. */
static void *shrink(lob_slab_pieces *p, void *column, int64_t count, size_t size)
{
    lob_budget_release(p->budget, (p->capacity - count) * (int64_t)size);
    void *shrunk = realloc(column, (size_t)(count > 0 ? count : 1) * size);
    return shrunk ? shrunk : column;
}

/* The regions of the selected components in their new order. In raster order a region never moves
 * back, so the table's column becomes the output. */
static lob_status select_regions(lob_slab_pieces *p, const int32_t *number)
{
    lob_components_output *out = p->out;
    const bool in_place = p->options->order == LOB_ORDER_RASTER && p->regions;
    lob_region *regions = p->regions;
    lob_region_values *values = p->values;
    if (!in_place) {
        LOB_TRY(lob_budget_alloc(p->budget, &out->regions, out->count, sizeof *regions, p->error));
        if (p->intensities)
            LOB_TRY(
                lob_budget_alloc(p->budget, &out->values, out->count, sizeof *values, p->error));
        regions = out->regions;
        values = out->values;
    }
    for (int64_t i = 0; i < out->found; i++) {
        if (!number[i]) continue;
        regions[number[i] - 1] = p->regions[i];
        if (p->intensities) values[number[i] - 1] = p->values[i];
    }
    if (in_place) {
        out->regions = shrink(p, regions, out->count, sizeof *regions);
        if (p->intensities) out->values = shrink(p, values, out->count, sizeof *values);
        p->regions = NULL;
        p->values = NULL;
    }
    return p->intensities ? lob_regions_check_data(out->values, out->count, p->error) : LOB_OK;
}

/* Turn numbers into the labels that are written: the numbers themselves, or the values kept. */
static lob_status choose_labels(lob_slab_pieces *p, int32_t *number, int64_t *largest)
{
    *largest = p->options->keep_values ? 0 : p->out->count;
    for (int64_t i = 0; p->options->keep_values && i < p->out->found; i++) {
        if (!number[i]) continue;
        LOB_TRY(lob_component_label_of_value(&number[i], p->value[i], p->error));
        if (number[i] > *largest) *largest = number[i];
    }
    return lob_components_type(&p->out->type, *largest, p->options, p->error);
}

lob_status lob_slab_pieces_select(lob_slab_pieces *p, int64_t *largest)
{
    lob_components_output *out = p->out;
    int32_t *number = NULL;
    merge_pieces(p);
    const int64_t found = out->found, heap = lob_components_select_bytes(found, p->options);
    p->needed = p->count * piece_bytes(p) + found * (int64_t)sizeof *number + heap;
    LOB_TRY(lob_budget_alloc(p->budget, &number, found, sizeof *number, p->error));
    lob_status st = lob_budget_hold(p->budget, heap, p->error);
    if (st == LOB_OK) {
        st = lob_components_select(number, &out->count, p->voxels, found, p->options, p->error);
        lob_budget_release(p->budget, heap);
    }
    if (st == LOB_OK && p->options->regions) st = select_regions(p, number);
    if (st == LOB_OK) st = choose_labels(p, number, largest);
    for (int64_t i = 0; st == LOB_OK && i < p->count; i++)
        p->parent[i] = (uint32_t)number[p->parent[i]];
    free_columns(p, 1);
    lob_budget_free(p->budget, number, found, sizeof *number);
    return st;
}

void lob_slab_pieces_free(lob_slab_pieces *p)
{
    free_seam(p);
    free_columns(p, 0);
}
