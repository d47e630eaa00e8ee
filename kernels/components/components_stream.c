/* Components slab by slab: numbers of slabs joined across seams, then written through a table. */
#include "kernels/components/components_stream.h"

#include "kernels/components/components_select.h"
#include "kernels/components/join/run_table.h"
#include "kernels/regions/regions_sum.h"
#include "volumes/bytes.h"
#include "volumes/labels.h"

#include <stdlib.h>
#include <string.h>

/* What is known of each piece: a component of a slab. Pieces count through all slabs, from 0. */
typedef struct {
    int64_t count, room;
    uint32_t *parent;    /* of a smaller or equal number; in the end the label as written, or 0 */
    int64_t *voxels;     /* where sizes are asked for */
    double *value;       /* keep_values */
    lob_region *regions; /* where these are asked for */
    lob_region_values *measured; /* of intensities, where regions are asked for */
} piece_table;

typedef struct {
    lob_components_output *result;
    const lob_components_stream *stream;
    const lob_components_options *options;
    lob_components_function *number;
    const lob_context *context;
    lob_error *error;
    lob_dims dims;
    int64_t planes, plane; /* of a slab; voxels of a plane */
    lob_budget budget;
    int64_t least; /* bytes of tables that are needed, as far as is known, however thin slabs are */
    double from, to; /* share of the whole that the work in hand takes */
    piece_table pieces;
    bool measures; /* regions of intensities */

    /* The seam: the last plane of the slab before, and the first of this one. */
    lob_volume seam; /* two planes; no data where foreground alone decides */
    lob_component_rule rule;
    uint32_t *edge;     /* a plane: piece + 1 in the slab before; 0: background */
    uint64_t *together; /* bits of a row */
} streaming;

/* A slab in work. */
typedef struct {
    int64_t z, planes, piece; /* piece: its first */
    int64_t bytes;            /* of numbered, in the budget */
    lob_components_input in;
    lob_components_output numbered;
} slab;

static int tell(void *user, double done)
{
    const streaming *s = user;
    return s->context->progress(s->context->user, s->from + done * (s->to - s->from));
}

/* What is left of the memory, and this share of the progress, for others' work. */
static lob_context context_within(streaming *s)
{
    lob_context part = *s->context;
    if (part.max_memory > 0)
        part.max_memory = part.max_memory > s->budget.held ? part.max_memory - s->budget.held : 1;
    if (part.progress) {
        part.progress = tell;
        part.user = s;
    }
    return part;
}

static lob_status read_slab(streaming *s, slab *b, int64_t z)
{
    const int64_t left = s->dims.nz - z;
    *b = (slab){.z = z, .planes = left < s->planes ? left : s->planes};
    lob_status st = s->stream->read(s->stream->user, &b->in, z, b->planes, s->error);
    if (st != LOB_OK) return st;
    const lob_dims dims = {s->dims.nx, s->dims.ny, b->planes};
    const lob_volume *image = b->in.image;
    if (memcmp(&image->dims, &dims, sizeof dims) != 0 ||
        (z > 0 && (image->type != s->seam.type || image->channels != s->seam.channels ||
                   image->slope != s->seam.slope || image->inter != s->seam.inter)))
        return lob_fail(s->error, LOB_EDATA, "plane %lld on is not of the volume's kind",
                        (long long)z);
    return lob_components_check(&b->in, s->options, s->error);
}

/* Number a slab's components as they come. What is made of it is in the budget until drop_slab. */
static lob_status number_slab(streaming *s, slab *b, bool regions)
{
    lob_components_options options = *s->options;
    options.order = LOB_ORDER_RASTER;
    options.min_voxels = options.max_voxels = options.largest = 0;
    options.fill_holes = options.keep_values = false;
    options.regions = regions;
    options.type = LOB_I32;
    const lob_components_input in = {.image = b->in.image, .mask = b->in.mask};
    const int64_t labels = b->planes * s->plane * (int64_t)sizeof(int32_t);
    lob_status st = lob_budget_hold(&s->budget, labels, s->error);
    if (st != LOB_OK) return st;
    b->bytes = labels;
    const lob_context part = context_within(s);
    st = s->number(&b->numbered, &in, &options, &part, s->error);
    const int64_t peak = s->budget.held + b->numbered.working_bytes;
    if (peak > s->budget.peak) s->budget.peak = peak;
    if (st != LOB_OK || !regions) return st;
    const int64_t table = b->numbered.count * (int64_t)sizeof(lob_region);
    st = lob_budget_hold(&s->budget, table, s->error);
    if (st == LOB_OK) b->bytes += table;
    return st;
}

static void drop_slab(streaming *s, slab *b)
{
    lob_components_output_free(&b->numbered);
    lob_budget_release(&s->budget, b->bytes);
    b->bytes = 0;
}

/* What is asked for of each piece, in bytes. */
static int64_t piece_bytes(const streaming *s)
{
    const lob_components_options *o = s->options;
    size_t bytes = sizeof *s->pieces.parent;
    if (lob_components_selects(o)) bytes += sizeof *s->pieces.voxels;
    if (o->keep_values) bytes += sizeof *s->pieces.value;
    if (o->regions) bytes += sizeof *s->pieces.regions;
    if (s->measures) bytes += sizeof *s->pieces.measured;
    return (int64_t)bytes;
}

/* Make one of the tables larger. A block with pages of its own is not copied: they move. */
static lob_status grow(streaming *s, void *table, size_t size, int64_t room)
{
    void **block = table, *grown;
    char asked[LOB_BYTES_TEXT];
    const int64_t more = (room - (*block ? s->pieces.room : 0)) * (int64_t)size;
    const lob_status st = lob_budget_hold(&s->budget, more, s->error);
    if (st != LOB_OK) return st;
    grown = realloc(*block, (size_t)room * size);
    if (grown) {
        *block = grown;
        return LOB_OK;
    }
    lob_budget_release(&s->budget, more);
    return lob_fail(s->error, LOB_ENOMEM, "no memory for components: %s more were asked for",
                    lob_bytes_text(asked, more));
}

/* Give back all but the parents. */
static void measures_give(streaming *s)
{
    piece_table *p = &s->pieces;
    lob_budget_free(&s->budget, p->voxels, p->room, sizeof *p->voxels);
    lob_budget_free(&s->budget, p->value, p->room, sizeof *p->value);
    lob_budget_free(&s->budget, p->regions, p->room, sizeof *p->regions);
    lob_budget_free(&s->budget, p->measured, p->room, sizeof *p->measured);
    p->voxels = NULL;
    p->value = NULL;
    p->regions = NULL;
    p->measured = NULL;
}

static void pieces_give(streaming *s)
{
    piece_table *p = &s->pieces;
    measures_give(s);
    lob_budget_free(&s->budget, p->parent, p->room, sizeof *p->parent);
    *p = (piece_table){0};
}

/* Append pieces, each its own parent and of no size. */
static lob_status pieces_append(streaming *s, int64_t more)
{
    piece_table *p = &s->pieces;
    const int64_t count = p->count + more;
    if (count >= UINT32_MAX)
        return lob_fail(s->error, LOB_EDATA,
                        "components in slabs of %lld planes are more than can be numbered",
                        (long long)s->planes);
    s->least = count * piece_bytes(s);
    if (count > p->room) {
        const int64_t room = count + p->room / 8;
        lob_status st = grow(s, &p->parent, sizeof *p->parent, room);
        if (st == LOB_OK && lob_components_selects(s->options))
            st = grow(s, &p->voxels, sizeof *p->voxels, room);
        if (st == LOB_OK && s->options->keep_values)
            st = grow(s, &p->value, sizeof *p->value, room);
        if (st == LOB_OK && s->options->regions)
            st = grow(s, &p->regions, sizeof *p->regions, room);
        if (st == LOB_OK && s->measures) st = grow(s, &p->measured, sizeof *p->measured, room);
        if (st != LOB_OK) return st;
        p->room = room;
    }
    for (int64_t i = p->count; i < count; i++) p->parent[i] = (uint32_t)i;
    if (p->voxels) memset(p->voxels + p->count, 0, (size_t)more * sizeof *p->voxels);
    if (p->regions) memset(p->regions + p->count, 0, (size_t)more * sizeof *p->regions);
    if (p->measured) memset(p->measured + p->count, 0, (size_t)more * sizeof *p->measured);
    p->count = count;
    return LOB_OK;
}

/* Sizes and values of a slab's pieces. Numbers rise where a scan first meets them. */
static void note_pieces(streaming *s, const slab *b)
{
    const int32_t *labels = b->numbered.labels;
    int64_t *voxels = s->pieces.voxels ? s->pieces.voxels + b->piece : NULL;
    double *value = s->pieces.value ? s->pieces.value + b->piece : NULL;
    const lob_volume *image = b->in.image;
    int32_t seen = 0;
    if (!voxels && !value) return;
    for (int64_t i = 0; i < b->planes * s->plane; i++) {
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

/* Regions of a slab's pieces, in the whole volume's places. */
static lob_status measure_pieces(streaming *s, const slab *b)
{
    lob_region *regions = s->pieces.regions + b->piece;
    const int64_t count = b->numbered.found;
    if (b->in.intensities) {
        const lob_regions_input in = {b->numbered.labels, LOB_I32, count, b->in.image->dims,
                                      b->in.intensities};
        lob_context part = context_within(s);
        part.progress = NULL; /* the slab's share has been told */
        const int64_t bytes = lob_regions_sum_bytes(&in, &part);
        lob_status st = lob_budget_hold(&s->budget, bytes, s->error);
        if (st != LOB_OK) return st;
        st = lob_regions_sum(regions, s->pieces.measured + b->piece, &s->result->fine, &in, &part,
                             s->error);
        lob_budget_release(&s->budget, bytes);
        if (st != LOB_OK) return st;
    } else if (count > 0) {
        memcpy(regions, b->numbered.regions, (size_t)count * sizeof *regions);
    }
    for (int64_t i = 0; i < count; i++) {
        regions[i].first += b->z * s->plane;
        regions[i].low[2] += (int32_t)b->z;
        regions[i].high[2] += (int32_t)b->z;
        regions[i].sum[2] += b->z * regions[i].voxels;
    }
    return LOB_OK;
}

/* Once the first slab has shown of what kind the image is. */
static lob_status seam_make(streaming *s, const lob_volume *image)
{
    s->seam = *image;
    s->seam.data = NULL;
    s->seam.dims.nz = 2;
    s->rule = lob_component_rule_of(image, s->options);
    if (s->options->slice_axis == 2) return LOB_OK; /* nothing joins across planes */
    lob_status st = lob_budget_alloc(&s->budget, &s->edge, s->plane, sizeof *s->edge, s->error);
    if (st == LOB_OK && s->options->join != LOB_JOIN_ANY) {
        st = lob_budget_alloc(&s->budget, &s->together, lob_bit_words(s->dims.nx),
                              sizeof *s->together, s->error);
        if (st == LOB_OK)
            st = lob_budget_alloc(&s->budget, &s->seam.data, 2 * s->plane * image->channels,
                                  lob_type_of(image->type)->bytes, s->error);
    }
    return st;
}

static void seam_give(streaming *s)
{
    lob_budget_free(&s->budget, s->edge, s->plane, sizeof *s->edge);
    lob_budget_free(&s->budget, s->together, lob_bit_words(s->dims.nx), sizeof *s->together);
    lob_budget_free(&s->budget, s->seam.data, 2 * s->plane * s->seam.channels,
                    lob_type_of(s->seam.type)->bytes);
}

/* Copy a plane of the slab to one of the seam's two. */
static void seam_copy(streaming *s, const slab *b, int64_t from, int64_t to)
{
    const lob_volume *image = b->in.image;
    const size_t bytes = (size_t)s->plane * lob_type_of(image->type)->bytes;
    if (!s->seam.data) return;
    for (int64_t c = 0; c < image->channels; c++)
        memcpy((char *)s->seam.data + (size_t)(2 * c + to) * bytes,
               (const char *)image->data + (size_t)(c * b->planes + from) * bytes, bytes);
}

/* Unite the pieces of two rows: of the first plane here, and of the last plane before. */
static void seam_rows(streaming *s, const slab *b, int64_t y, int dy, int dx)
{
    const int64_t nx = s->dims.nx;
    const int32_t *here = (const int32_t *)b->numbered.labels + y * nx;
    const uint32_t *there = s->edge + (y + dy) * nx;
    const int64_t a = s->dims.ny + y, other = y + dy;
    uint32_t last[2] = {0, 0};
    if (s->options->join == LOB_JOIN_EQUAL)
        lob_bits_equal(s->together, &s->seam, a, other, dx);
    else if (s->options->join == LOB_JOIN_TOLERANCE)
        lob_bits_within(s->together, &s->seam, &s->rule, a, other, dx);
    for (int64_t x = dx < 0; x < nx - (dx > 0); x++) {
        if (!here[x] || !there[x + dx]) continue;
        if (s->together && !(s->together[x / 64] >> (x % 64) & 1)) continue;
        const uint32_t pair[2] = {(uint32_t)(b->piece + here[x] - 1), there[x + dx] - 1};
        if (pair[0] == last[0] && pair[1] == last[1]) continue;
        lob_unite(s->pieces.parent, pair[0], pair[1]);
        memcpy(last, pair, sizeof last);
    }
}

static void seam_join(streaming *s, const slab *b)
{
    const int n = s->options->neighbours, axis = s->options->slice_axis;
    const int most = n == 6 || n == 4 ? 1 : n == 26 ? 3 : 2;
    for (int64_t y = 0; y < s->dims.ny; y++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                const int apart = 1 + (dy != 0) + (dx != 0);
                if (apart > most || (axis == 0 && dx) || (axis == 1 && dy)) continue;
                if (y + dy >= 0 && y + dy < s->dims.ny) seam_rows(s, b, y, dy, dx);
            }
}

/* Join a slab to the one before, and leave its last plane for the next. */
static void seam_pass(streaming *s, const slab *b)
{
    const int32_t *last = (const int32_t *)b->numbered.labels + (b->planes - 1) * s->plane;
    if (!s->edge) return;
    seam_copy(s, b, 0, 1);
    if (b->z > 0) seam_join(s, b);
    seam_copy(s, b, b->planes - 1, 0);
    for (int64_t i = 0; i < s->plane; i++)
        s->edge[i] = last[i] ? (uint32_t)(b->piece + last[i]) : 0;
}

/* The first pass over a slab. */
static lob_status count_slab(streaming *s, int64_t z)
{
    slab b;
    lob_status st = read_slab(s, &b, z);
    if (st == LOB_OK && z == 0) st = seam_make(s, b.in.image);
    if (st != LOB_OK) return st;
    st = number_slab(s, &b, s->options->regions && !b.in.intensities);
    if (st == LOB_OK) {
        b.piece = s->pieces.count;
        st = pieces_append(s, b.numbered.found);
    }
    if (st == LOB_OK) {
        s->result->foreground += b.numbered.foreground;
        s->result->not_finite += b.numbered.not_finite;
        note_pieces(s, &b);
        if (s->options->regions) st = measure_pieces(s, &b);
    }
    if (st == LOB_OK) seam_pass(s, &b);
    drop_slab(s, &b);
    return st;
}

/* Fold pieces into components: a component's number is at most its first piece's, so what belongs
 * to it can move to the front. */
static void fold_pieces(streaming *s)
{
    piece_table *p = &s->pieces;
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
        if (p->measured) {
            const lob_region_values measured = p->measured[i];
            p->measured[i] = (lob_region_values){0};
            lob_region_values_add(&p->measured[to], &measured);
        }
    }
    s->result->found = found;
}

/* What pieces have for rows becomes the result's: the first `count` of them. */
static void *hand_over(streaming *s, void *rows, int64_t count, size_t size)
{
    lob_budget_release(&s->budget, (s->pieces.room - count) * (int64_t)size);
    void *less = realloc(rows, (size_t)(count > 0 ? count : 1) * size);
    return less ? less : rows;
}

/*
 * The table of the components that are kept, in their new order. In raster order a row's new place
 * is never after its old one, so the pieces' own table becomes it.
 */
static lob_status keep_regions(streaming *s, const int32_t *number)
{
    piece_table *p = &s->pieces;
    lob_components_output *result = s->result;
    const int64_t count = result->count;
    const bool in_place = s->options->order == LOB_ORDER_RASTER && p->regions;
    lob_region *regions = p->regions;
    lob_region_values *values = p->measured;
    if (!in_place) {
        lob_budget *budget = &s->budget;
        lob_status st =
            lob_budget_alloc(budget, &result->regions, count, sizeof *regions, s->error);
        if (st == LOB_OK && s->measures)
            st = lob_budget_alloc(budget, &result->values, count, sizeof *values, s->error);
        if (st != LOB_OK) return st;
        regions = result->regions;
        values = result->values;
    }
    for (int64_t i = 0; i < result->found; i++) {
        if (!number[i]) continue;
        regions[number[i] - 1] = p->regions[i];
        if (s->measures) values[number[i] - 1] = p->measured[i];
    }
    if (in_place) {
        result->regions = hand_over(s, regions, count, sizeof *regions);
        if (s->measures) result->values = hand_over(s, values, count, sizeof *values);
        p->regions = NULL;
        p->measured = NULL;
    }
    return s->measures ? lob_regions_check_data(result->values, count, s->error) : LOB_OK;
}

/* What is written for each component: its number, or the value that it keeps. */
static lob_status choose_labels(streaming *s, int32_t *number, int64_t *largest)
{
    lob_status st = LOB_OK;
    *largest = s->options->keep_values ? 0 : s->result->count;
    for (int64_t i = 0; s->options->keep_values && i < s->result->found; i++) {
        if (!number[i]) continue;
        st = lob_component_label_of_value(&number[i], s->pieces.value[i], s->error);
        if (st != LOB_OK) return st;
        if (number[i] > *largest) *largest = number[i];
    }
    return lob_components_type(&s->result->type, *largest, s->options, s->error);
}

/* From pieces to labels: which components there are, which are kept, what is written for each. */
static lob_status settle(streaming *s, int64_t *largest)
{
    piece_table *p = &s->pieces;
    lob_components_output *result = s->result;
    int32_t *number = NULL;
    fold_pieces(s);
    const int64_t found = result->found, heap = lob_components_select_bytes(found, s->options);
    s->least = p->count * piece_bytes(s) + found * (int64_t)sizeof *number + heap;
    lob_status st = lob_budget_alloc(&s->budget, &number, found, sizeof *number, s->error);
    if (st == LOB_OK) st = lob_budget_hold(&s->budget, heap, s->error);
    if (st != LOB_OK) goto out;
    if (lob_components_selects(s->options)) {
        st = lob_components_select(number, &result->count, p->voxels, found, s->options, s->error);
    } else {
        result->count = found;
        if (found > INT32_MAX) st = lob_components_type(&result->type, found, s->options, s->error);
        for (int64_t i = 0; st == LOB_OK && i < found; i++) number[i] = (int32_t)(i + 1);
    }
    lob_budget_release(&s->budget, heap);
    if (st == LOB_OK && s->options->regions) st = keep_regions(s, number);
    if (st == LOB_OK) st = choose_labels(s, number, largest);
    for (int64_t i = 0; st == LOB_OK && i < p->count; i++)
        p->parent[i] = (uint32_t)number[p->parent[i]];
    measures_give(s);
out:
    lob_budget_free(&s->budget, number, found, sizeof *number);
    return st;
}

/* The second pass over a slab; its labels are written in place, a row behind those that are read.
 */
static lob_status write_slab(streaming *s, int64_t z, int64_t *piece, int32_t *row)
{
    slab b;
    const int64_t nx = s->dims.nx;
    lob_status st = read_slab(s, &b, z);
    if (st != LOB_OK) return st;
    st = number_slab(s, &b, false);
    const int64_t numbered = *piece + b.numbered.found, known = s->pieces.count;
    const bool last = z + b.planes == s->dims.nz;
    if (st == LOB_OK && (numbered > known || (last && numbered < known)))
        st = lob_fail(s->error, LOB_EDATA, "plane %lld on has changed while it was being read",
                      (long long)z);
    if (st == LOB_OK) {
        const uint32_t *table = s->pieces.parent + *piece;
        for (int64_t first = 0; first < b.planes * s->plane; first += nx) {
            memcpy(row, (const int32_t *)b.numbered.labels + first, (size_t)nx * sizeof *row);
            for (int64_t x = 0; x < nx; x++)
                lob_label_put(b.numbered.labels, s->result->type, first + x,
                              row[x] ? (int32_t)table[row[x] - 1] : 0);
        }
        *piece = numbered;
        st = s->stream->write(s->stream->user, b.numbered.labels, s->result->type, z, b.planes,
                              s->error);
    }
    drop_slab(s, &b);
    return st;
}

/* The range of the intensities, which fine levels need before anything is added up. */
static lob_status find_range(streaming *s)
{
    lob_extremes all = {0};
    lob_type type = LOB_U8;
    for (int64_t z = 0; z < s->dims.nz; z += s->planes) {
        slab b;
        lob_status st = read_slab(s, &b, z);
        if (st != LOB_OK) return st;
        if (!b.in.intensities) return LOB_OK;
        s->measures = true;
        type = b.in.intensities->type;
        const lob_extremes part = lob_extremes_of(b.in.intensities, s->context->threads);
        lob_extremes_widen(&all, &part, type);
        s->seam.type = b.in.image->type; /* to compare the next slab with */
        s->seam.channels = b.in.image->channels;
        s->seam.slope = b.in.image->slope;
        s->seam.inter = b.in.image->inter;
    }
    s->result->fine = lob_fine_levels_of(&all, type);
    return LOB_OK;
}

/* Move on to a slab's share of the progress; nonzero to stop. */
static lob_status next_share(streaming *s, double to)
{
    s->from = s->to;
    s->to = to;
    if (s->context->progress && s->context->progress(s->context->user, s->from)) return LOB_ECANCEL;
    return LOB_OK;
}

static lob_status run_passes(streaming *s)
{
    const int64_t slabs = (s->dims.nz + s->planes - 1) / s->planes;
    int64_t largest = 0, piece = 0;
    int32_t *row = NULL;
    lob_status st = s->options->regions ? find_range(s) : LOB_OK;
    for (int64_t z = 0; st == LOB_OK && z < s->dims.nz; z += s->planes) {
        st = next_share(s, s->to + 0.5 / (double)slabs);
        if (st == LOB_OK) st = count_slab(s, z);
    }
    if (st == LOB_OK) st = settle(s, &largest);
    if (st == LOB_OK && s->stream->begin)
        st = s->stream->begin(s->stream->user, s->result, largest, s->error);
    s->budget.limit = s->context->max_memory;
    if (st == LOB_OK) st = lob_budget_hold(&s->budget, 0, s->error);
    if (st == LOB_OK) st = lob_budget_alloc(&s->budget, &row, s->dims.nx, sizeof *row, s->error);
    for (int64_t z = 0; st == LOB_OK && z < s->dims.nz; z += s->planes) {
        st = next_share(s, s->to + 0.5 / (double)slabs);
        if (st == LOB_OK) st = write_slab(s, z, &piece, row);
    }
    lob_budget_free(&s->budget, row, s->dims.nx, sizeof *row);
    return st;
}

/* All planes at once: nothing to join, and one pass. */
static lob_status run_whole(streaming *s)
{
    slab b;
    lob_status st = read_slab(s, &b, 0);
    if (st != LOB_OK) return st;
    lob_components_output *result = s->result;
    const lob_type most = s->options->type == LOB_TYPES ? LOB_I32 : s->options->type;
    st = lob_budget_hold(&s->budget, b.planes * s->plane * (int64_t)lob_type_of(most)->bytes,
                         s->error);
    if (st != LOB_OK) return st;
    s->to = 0.99;
    const lob_context part = context_within(s);
    st = s->number(result, &b.in, s->options, &part, s->error);
    s->budget.peak = s->budget.held + result->working_bytes;
    if (st != LOB_OK) return st;
    int64_t largest = 0;
    for (int64_t i = 0; i < b.planes * s->plane; i++) {
        const int32_t label = lob_label_at(result->labels, result->type, i);
        if (label > largest) largest = label;
    }
    void *labels = result->labels;
    result->labels = NULL;
    if (s->stream->begin) st = s->stream->begin(s->stream->user, result, largest, s->error);
    if (st == LOB_OK)
        st = s->stream->write(s->stream->user, labels, result->type, 0, b.planes, s->error);
    free(labels);
    return st;
}

lob_status lob_components_streamed(lob_components_output *result,
                                   const lob_components_stream *stream, lob_dims dims,
                                   int64_t planes, const lob_components_options *options,
                                   lob_components_function *number, const lob_context *context,
                                   lob_error *error)
{
    *result = (lob_components_output){0};
    const int64_t voxels = lob_dims_voxels(dims);
    if (voxels < 1 || planes < 1)
        return lob_fail(error, LOB_EARG, "there are no planes to number components of");
    if (options->regions && lob_regions_check_sides(dims, error) != LOB_OK) return LOB_EDATA;
    char needed[LOB_BYTES_TEXT];
    if (options->fill_holes && planes < dims.nz)
        return lob_fail(error, LOB_EARG,
                        "filling holes needs the whole volume at once, about %s of memory beside "
                        "the image; allow more memory or leave holes as they are",
                        lob_bytes_text(needed, voxels < INT64_MAX / 16 ? 9 * voxels : voxels));
    streaming s = {
        .result = result,
        .stream = stream,
        .options = options,
        .number = number,
        .context = context,
        .error = error,
        .dims = dims,
        .planes = planes < dims.nz ? planes : dims.nz,
        .plane = dims.nx * dims.ny,
        .budget = {.who = "components", .limit = context->max_memory}
    };
    lob_status st = planes < dims.nz ? run_passes(&s) : run_whole(&s);
    if (st == LOB_OK && context->progress && context->progress(context->user, 1.0))
        st = LOB_ECANCEL;
    seam_give(&s);
    pieces_give(&s);
    result->working_bytes = s.budget.peak;
    if (st != LOB_OK) lob_components_output_free(result);
    if (st == LOB_ENOMEM) result->working_bytes = s.least;
    return st;
}

int64_t lob_components_stream_planes(lob_dims dims, int64_t voxel_bytes, int64_t memory)
{
    /* Labels, working memory where runs are many, and the seam's planes with tables. */
    enum { LABELS = 4, WORKING = 5, SEAM = 3 };
    const int64_t plane = dims.nx * dims.ny, a_plane = plane * (voxel_bytes + LABELS + WORKING);
    if (memory == 0) return dims.nz;
    const int64_t planes = memory / a_plane - SEAM;
    return planes < 1 ? 1 : planes < dims.nz ? planes : dims.nz;
}
