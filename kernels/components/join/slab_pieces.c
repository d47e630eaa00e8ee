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

/* Append pieces: each its own parent, the other columns not set. */
static lob_status make_room(lob_slab_pieces *p, int64_t more)
{
    const int64_t count = p->count + more;
    void *column[COLUMNS];
    size_t size[COLUMNS];
    list_columns(column, size, p);
    if (count >= UINT32_MAX)
        return lob_fail(p->error, LOB_EDATA,
                        "components in all slabs of planes are more than can be numbered");
    p->needed = count * piece_bytes(p);
    if (count > p->capacity) {
        const int64_t left = p->budget->limit - p->budget->held;
        int64_t capacity = count + p->capacity / 8;
        if (p->budget->limit > 0 && (capacity - p->capacity) * piece_bytes(p) > left)
            capacity = count; /* no room for later pieces */
        for (int c = 0; c < COLUMNS; c++) {
            if (size[c]) LOB_TRY(grow(p, column[c], size[c], capacity));
        }
        p->capacity = capacity;
    }
    for (int64_t i = p->count; i < count; i++) p->parent[i] = (uint32_t)i;
    p->count = count;
    return LOB_OK;
}

/* Append pieces: each its own parent, the rest 0. */
static lob_status append(lob_slab_pieces *p, int64_t more)
{
    void *column[COLUMNS];
    size_t size[COLUMNS];
    LOB_TRY(make_room(p, more));
    list_columns(column, size, p);
    for (int c = 1; c < COLUMNS && more > 0; c++) {
        char **block = column[c];
        if (size[c])
            memset(*block + (size_t)(p->count - more) * size[c], 0, (size_t)more * size[c]);
    }
    return LOB_OK;
}

/* Append a slab's pieces. Where the table is empty, their arrays become its columns. */
static lob_status append_slab(lob_slab_pieces *p, lob_slab_found *found)
{
    void *const of_slab[COLUMNS] = {NULL, &found->voxels, &found->value, &found->regions,
                                    &found->values};
    const bool empty = p->capacity == 0 && found->found > 0;
    const size_t first = (size_t)p->count, n = (size_t)found->found;
    void *column[COLUMNS];
    size_t size[COLUMNS];
    list_columns(column, size, p);
    for (int c = 1; c < COLUMNS && empty; c++) {
        void **const to = column[c], **const from = of_slab[c];
        if (!size[c]) continue;
        *to = *from;
        *from = NULL;
        lob_budget_release(p->budget, (int64_t)(n * size[c])); /* until make_room counts it */
        found->held -= (int64_t)(n * size[c]);
    }
    LOB_TRY(make_room(p, found->found));
    for (int c = 1; c < COLUMNS && n > 0 && !empty; c++) {
        char **const to = column[c];
        void **const from = of_slab[c];
        if (size[c]) memcpy(*to + first * size[c], *from, n * size[c]);
    }
    return LOB_OK;
}

/* Regions of a slab that begins at plane z, at their positions in the whole volume. */
static void place_regions(const lob_slab_pieces *p, int64_t first, int64_t z)
{
    for (lob_region *r = p->regions + first; r < p->regions + p->count; r++) {
        r->first += z * p->dims.nx * p->dims.ny;
        r->low[2] += (int32_t)z;
        r->high[2] += (int32_t)z;
        r->sum[2] += z * r->voxels;
    }
}

/* ---- the seam ---- */

/* Bytes of a plane of the image. */
static size_t plane_bytes(const lob_slab_pieces *p)
{
    return (size_t)(p->dims.nx * p->dims.ny * p->seam.channels) * lob_type_of(p->seam.type)->bytes;
}

/* Bytes of a plane's labels, with its values behind them where the seam has data. */
static size_t face_bytes(const lob_slab_pieces *p)
{
    return (size_t)(p->dims.nx * p->dims.ny) * sizeof *p->first_face +
           (p->seam.data ? plane_bytes(p) : 0);
}

/* Allocate what the seam needs, for images like this one. */
static lob_status begin_seam(lob_slab_pieces *p, const lob_volume *image)
{
    const int64_t plane = p->dims.nx * p->dims.ny;
    p->seam = *image;
    p->seam.data = NULL;
    p->seam.dims.nz = 2;
    p->rule = lob_component_rule_of(image, p->options);
    LOB_TRY(lob_budget_alloc(p->budget, &p->last_plane, plane, sizeof *p->last_plane, p->error));
    if (p->options->join != LOB_JOIN_ANY) {
        LOB_TRY(lob_budget_alloc(p->budget, &p->joined, lob_bit_words(p->dims.nx),
                                 sizeof *p->joined, p->error));
        LOB_TRY(lob_budget_alloc(p->budget, &p->seam.data, 2, plane_bytes(p), p->error));
    }
    if (lob_team_rank(p->team) == 0) return LOB_OK;
    return lob_budget_alloc(p->budget, &p->first_face, 1, face_bytes(p), p->error);
}

static void free_seam(lob_slab_pieces *p)
{
    const int64_t plane = p->dims.nx * p->dims.ny;
    lob_budget_free(p->budget, p->first_face, 1, face_bytes(p));
    lob_budget_free(p->budget, p->last_plane, plane, sizeof *p->last_plane);
    lob_budget_free(p->budget, p->joined, lob_bit_words(p->dims.nx), sizeof *p->joined);
    lob_budget_free(p->budget, p->seam.data, 2, plane_bytes(p));
}

/* Copy a plane of the slab to plane 0 or 1 of the seam. */
static void copy_plane(lob_slab_pieces *p, const lob_volume *image, int64_t from, int64_t to)
{
    const size_t bytes = (size_t)(p->dims.nx * p->dims.ny) * lob_type_of(image->type)->bytes;
    if (!p->seam.data) return;
    for (int64_t c = 0; c < image->channels; c++)
        memcpy((char *)p->seam.data + (size_t)(2 * c + to) * bytes,
               (const char *)image->data + (size_t)(c * image->dims.nz + from) * bytes, bytes);
}

/* Unite the pieces of row y of the slab's first plane with those of row y + dy before the seam. */
static void join_rows(lob_slab_pieces *p, const int32_t *labels, int64_t first, int64_t y, int dy,
                      int dx)
{
    const int64_t nx = p->dims.nx;
    const int32_t *here = labels + y * nx;
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

static void join_planes(lob_slab_pieces *p, const int32_t *labels, int64_t first)
{
    const int n = p->options->neighbours, axis = p->options->slice_axis;
    const int max_apart = n == 6 || n == 4 ? 1 : n == 26 ? 3 : 2;
    for (int64_t y = 0; y < p->dims.ny; y++) {
        const int64_t row = y * p->dims.nx;
        if (lob_all_zero(labels + row, (size_t)p->dims.nx * sizeof *labels)) continue;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const int apart = 1 + (dy != 0) + (dx != 0);
                if (apart > max_apart || (axis == 0 && dx) || (axis == 1 && dy)) continue;
                if (y + dy >= 0 && y + dy < p->dims.ny) join_rows(p, labels, first, y, dy, dx);
            }
    }
}

/* Keep the slab's first plane, which is plane 1 of the seam, for the rank before. */
static void keep_first_plane(lob_slab_pieces *p, const int32_t *labels)
{
    const int64_t plane = p->dims.nx * p->dims.ny;
    const size_t bytes = plane_bytes(p) / (size_t)p->seam.channels;
    if (!p->first_face) return;
    memcpy(p->first_face, labels, (size_t)plane * sizeof *labels);
    for (int64_t c = 0; p->seam.data && c < p->seam.channels; c++)
        memcpy((char *)(p->first_face + plane) + (size_t)c * bytes,
               (const char *)p->seam.data + (size_t)(2 * c + 1) * bytes, bytes);
}

lob_status lob_slab_pieces_add(lob_slab_pieces *p, lob_slab_found *found, const lob_volume *image,
                               int64_t z)
{
    const int64_t plane = p->dims.nx * p->dims.ny, first = p->count;
    if (z == p->first_z && found->faces) LOB_TRY(begin_seam(p, image));
    LOB_TRY(append_slab(p, found));
    if (p->regions) place_regions(p, first, z);
    p->out->foreground += found->foreground;
    p->out->not_finite += found->not_finite;
    p->found = found->pairs ? found : NULL;
    if (!found->faces) return LOB_OK;
    copy_plane(p, image, 0, 1);
    if (z > p->first_z)
        join_planes(p, found->faces, first);
    else
        keep_first_plane(p, found->faces);
    copy_plane(p, image, image->dims.nz - 1, 0);
    for (int64_t i = 0; i < plane; i++) {
        const int32_t piece = found->faces[plane + i];
        p->last_plane[i] = piece ? (uint32_t)(first + piece) : 0;
    }
    return LOB_OK;
}

/* ---- the team ---- */

/* Append the pieces of the next rank's first plane, which are its first ones in its order, and join
 * them to this rank's. */
static lob_status join_next(lob_slab_pieces *p, int32_t *face)
{
    const int64_t plane = p->dims.nx * p->dims.ny, first = p->count;
    lob_volume image = p->seam;
    int32_t found = 0;
    image.dims.nz = 1;
    image.data = face + plane;
    for (int64_t i = 0; i < plane; i++)
        if (face[i] > found) found = face[i];
    LOB_TRY(append(p, found));
    copy_plane(p, &image, 0, 1);
    join_planes(p, face, first);
    return LOB_OK;
}

/* The same from pairs of pieces. */
static lob_status join_pairs(lob_slab_pieces *p)
{
    const uint32_t(*const pairs)[2] = p->found->pairs;
    const int64_t first = p->count, n = p->found->pair_count;
    uint32_t next = 0;
    for (int64_t i = 0; i < n; i++)
        if (pairs[i][1] > next) next = pairs[i][1];
    LOB_TRY(append(p, next));
    for (int64_t i = 0; i < n; i++)
        lob_unite(p->parent, pairs[i][0] - 1, (uint32_t)(first + pairs[i][1] - 1));
    return LOB_OK;
}

/* Append what the next rank's first plane has, joined. */
static lob_status meet_next(lob_slab_pieces *p)
{
    const bool is_last = p->team->rank + 1 == p->team->size;
    const int64_t bytes = (int64_t)face_bytes(p);
    int32_t *next = NULL;
    lob_status st = LOB_OK;
    if (p->found) return join_pairs(p);
    if (!p->last_plane) return LOB_OK; /* nothing is joined across planes */
    if (!is_last) st = lob_budget_alloc(p->budget, &next, 1, (size_t)bytes, p->error);
    if (st == LOB_OK)
        st = lob_team_beside(p->team, (lob_letter){.send = p->first_face, .send_bytes = bytes},
                             (lob_letter){.receive = next, .receive_bytes = bytes}, p->error);
    if (st == LOB_OK && !is_last) st = join_next(p, next);
    lob_budget_free(p->budget, next, 1, (size_t)bytes);
    return st;
}

/* The pieces of a rank: its own, and those of the next that its table ends with. */
typedef struct {
    int64_t own, next;
    int64_t foreground, not_finite; /* voxels */
} piece_counts;

/* Letters between rank 0 and the others about a column: each rank's part of it, to rank 0 with
 * gather and from there without. */
static lob_status send_parts(lob_slab_pieces *p, const piece_counts *of, bool gather, void *column,
                             size_t size)
{
    const int me = p->team->rank, n = p->team->size, first = me ? me : 1, end = me ? me + 1 : n;
    lob_letter *const letters = calloc((size_t)n, sizeof *letters);
    char *at = column;
    if (!letters) return LOB_ENOMEM;
    if (me == 0) at += of[0].own * (int64_t)size;
    for (int r = first; r < end; r++) {
        const int64_t bytes = of[r].own * (int64_t)size;
        letters[r - first] = gather == (me > 0)
                                 ? (lob_letter){.send = at, .send_bytes = bytes}
                                 : (lob_letter){.receive = at, .receive_bytes = bytes};
        letters[r - first].with = me ? 0 : r;
        at += bytes;
    }
    const lob_status st = lob_team_send(p->team, letters, end - first, p->error);
    free(letters);
    return st;
}

/* Put the links of the other ranks' tables, one behind another, into that of all. */
static void unite_all(lob_slab_pieces *p, const piece_counts *of, const uint32_t *link)
{
    int64_t first = of[0].own;
    for (int r = 1; r < p->team->size; r++) {
        const int64_t n = of[r].own + of[r].next;
        for (int64_t i = 0; i < n; i++)
            if (link[i] != i)
                lob_unite(p->parent, (uint32_t)(first + i), (uint32_t)(first + link[i]));
        first += of[r].own;
        link += n;
    }
}

/* The links of all ranks but 0, whose table has room for everyone's pieces. */
static lob_status gather_links(lob_slab_pieces *p, const piece_counts *of)
{
    const int n = p->team->size;
    uint32_t *links = NULL;
    int64_t count = 0;
    piece_counts *const whole = calloc((size_t)n, sizeof *whole); /* of a rank: all that it has */
    if (!whole) return LOB_ENOMEM;
    for (int r = 1; r < n; r++) {
        whole[r].own = of[r].own + of[r].next;
        count += whole[r].own;
    }
    lob_status st = LOB_OK;
    if (p->team->rank == 0)
        st = lob_budget_alloc(p->budget, &links, count, sizeof *links, p->error);
    if (st == LOB_OK) st = send_parts(p, whole, true, links ? links : p->parent, sizeof *links);
    if (st == LOB_OK && links) unite_all(p, of, links);
    lob_budget_free(p->budget, links, count, sizeof *links);
    free(whole);
    return st;
}

/* Rank 0 gathers everyone's table behind its own. Its last pieces and the first ones of rank 1, of
 * which these are copies, have the same numbers then, and so it goes on. */
static lob_status gather_tables(lob_slab_pieces *p, const piece_counts *of)
{
    void *column[COLUMNS];
    size_t size[COLUMNS];
    int64_t all = 0;
    for (int r = 0; r < p->team->size; r++) all += of[r].own;
    if (p->team->rank == 0) LOB_TRY(append(p, all - p->count));
    LOB_TRY(gather_links(p, of));
    list_columns(column, size, p);
    for (int c = 1; c < COLUMNS; c++)
        if (size[c]) LOB_TRY(send_parts(p, of, true, *(void **)column[c], size[c]));
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

/* Of one table that has nothing but links: every component stays. */
static lob_status number_all(lob_slab_pieces *p, int64_t *largest)
{
    uint32_t *const parent = p->parent, found = 0;
    for (int64_t i = 0; i < p->count; i++) parent[i] = parent[i] == i ? ++found : parent[parent[i]];
    p->out->found = p->out->count = *largest = found;
    return lob_components_type(&p->out->type, *largest, p->options, p->error);
}

/* Of one table of all pieces. */
static lob_status select_all(lob_slab_pieces *p, int64_t *largest)
{
    lob_components_output *out = p->out;
    int32_t *number = NULL;
    if (piece_bytes(p) == sizeof *p->parent) return number_all(p, largest);
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

/* Rank 0 selects for all, and tells each rank what it needs. */
static lob_status select_in_team(lob_slab_pieces *p, piece_counts *of, int64_t *largest)
{
    lob_components_output *const out = p->out;
    piece_counts mine = {
        .own = p->count, .foreground = out->foreground, .not_finite = out->not_finite};
    LOB_TRY(meet_next(p));
    mine.next = p->count - mine.own;
    LOB_TRY(lob_team_share(p->team, of, &mine, sizeof mine, p->error));
    out->foreground = out->not_finite = 0;
    for (int r = 0; r < p->team->size; r++) {
        out->foreground += of[r].foreground;
        out->not_finite += of[r].not_finite;
    }
    LOB_TRY(gather_tables(p, of));
    if (p->team->rank == 0)
        LOB_TRY(select_all(p, largest));
    else
        free_columns(p, 1);
    LOB_TRY(send_parts(p, of, false, p->parent, sizeof *p->parent));
    p->count = mine.own;
    int64_t told[] = {out->found, out->count, *largest, (int64_t)out->type};
    LOB_TRY(lob_team_reduce(p->team, told, 4, LOB_TEAM_SUM, p->error));
    out->found = told[0];
    out->count = told[1];
    *largest = told[2];
    out->type = (lob_type)told[3];
    return LOB_OK;
}

lob_status lob_slab_pieces_select(lob_slab_pieces *p, int64_t *largest)
{
    *largest = 0;
    if (!p->team) return select_all(p, largest);
    piece_counts *const of = calloc((size_t)p->team->size, sizeof *of);
    if (!of) return LOB_ENOMEM;
    const lob_status st = select_in_team(p, of, largest);
    free(of);
    return st;
}

void lob_slab_pieces_free(lob_slab_pieces *p)
{
    free_seam(p);
    free_columns(p, 0);
}
