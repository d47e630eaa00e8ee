/* What strokes are before anything is chosen: where they are, whole slices, and what earlier labels
 * say of them. */
#include "kernels/appearance/strokes.h"
#include "kernels/arrays.h"
#include "kernels/device/device_put.h"
#include "kernels/segment/segment_job.h"
#include "volumes/bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- their part ---- */

/* Pieces of the rows of a box of a volume, of `width` voxels but for those at the rows' ends. */
typedef struct {
    lob_box box;
    int64_t width, each; /* pieces of a row */
    int64_t *piece;      /* those that hold more than zeros, ascending */
    int64_t count;
} pieces;

enum { PIECE = 128 };

/* The first voxel of a piece in the volume; *n: its voxels. */
static void place_of(int64_t at[3], int64_t *n, const pieces *p, int64_t piece)
{
    const lob_box *const box = &p->box;
    const int64_t row = piece / p->each, x = piece % p->each * p->width;
    *n = box->size[0] - x < p->width ? box->size[0] - x : p->width;
    at[0] = box->first[0] + x;
    at[1] = box->first[1] + row % box->size[1];
    at[2] = box->first[2] + row / box->size[1];
}

static const char *voxels_at(const lob_volume *v, const int64_t at[3])
{
    const int64_t voxel = (at[2] * v->dims.ny + at[1]) * v->dims.nx + at[0];
    return (const char *)v->data + voxel * (int64_t)lob_type_of(v->type)->bytes;
}

/* Find those that hold more than zeros; all: each, and these are rows. */
static lob_status find_pieces(pieces *p, const lob_volume *from, const lob_segment_within *within,
                              bool all, int threads)
{
    const lob_box *const box = &within->box;
    const int64_t bytes = (int64_t)lob_type_of(from->type)->bytes;
    p->box = *box;
    p->width = all || box->size[0] < PIECE ? box->size[0] : PIECE;
    p->each = p->width > 0 ? (box->size[0] + p->width - 1) / p->width : 0;
    p->count = 0;
    const int64_t rows = box->size[1] * box->size[2], most = p->each * rows;
    int64_t count = 0;
    uint8_t *const held = calloc((size_t)most + 1, 1);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : count)
    for (int64_t row = 0; row < (held && most > 0 ? rows : 0); row++) {
        int64_t at[3], n;
        place_of(at, &n, p, row * p->each);
        if (within->slices && !within->slices[at[2]]) continue;
        if (!all && lob_all_zero(voxels_at(from, at), (size_t)(box->size[0] * bytes))) continue;
        for (int64_t i = row * p->each; i < (row + 1) * p->each; i++) {
            place_of(at, &n, p, i);
            held[i] = all || !lob_all_zero(voxels_at(from, at), (size_t)(n * bytes));
            count += held[i];
        }
    }
    p->piece = held ? malloc(((size_t)count + 1) * sizeof *p->piece) : NULL;
    for (int64_t i = 0; p->piece && (i = lob_next_label(held, LOB_U8, i, most)) < most; i++)
        p->piece[p->count++] = i;
    free(held);
    return p->piece ? LOB_OK : LOB_ENOMEM;
}

/* The least box that holds all voxels of the pieces whose bytes are not 0. */
static void find_box(lob_box *box, const pieces *p, const lob_volume *from)
{
    const int64_t bytes = (int64_t)lob_type_of(from->type)->bytes;
    int64_t low[3] = {INT64_MAX, INT64_MAX, INT64_MAX}, high[3] = {-1, -1, -1};
    for (int64_t i = 0; i < p->count; i++) {
        int64_t at[3], n, first = 0;
        place_of(at, &n, p, p->piece[i]);
        const char *const voxels = voxels_at(from, at);
        int64_t last = n * bytes - 1;
        for (int a = 1; a < 3; a++) {
            low[a] = at[a] < low[a] ? at[a] : low[a];
            high[a] = at[a] > high[a] ? at[a] : high[a];
        }
        while (at[0] + first / bytes < low[0] && voxels[first] == 0) first++;
        while (at[0] + last / bytes > high[0] && voxels[last] == 0) last--;
        if (at[0] + first / bytes < low[0]) low[0] = at[0] + first / bytes;
        if (at[0] + last / bytes > high[0]) high[0] = at[0] + last / bytes;
    }
    *box = (lob_box){0};
    for (int a = 0; p->count > 0 && a < 3; a++) {
        box->first[a] = low[a];
        box->size[a] = high[a] - low[a] + 1;
    }
}

/* Copy pieces out of a volume, one after the other. */
static void pack(const pieces *p, lob_volume *packed, const lob_volume *from, int threads)
{
    const int64_t bytes = (int64_t)lob_type_of(packed->type)->bytes;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < p->count; i++) {
        int64_t at[3], n;
        place_of(at, &n, p, p->piece[i]);
        memcpy((char *)packed->data + i * p->width * bytes, voxels_at(from, at),
               (size_t)(n * bytes));
    }
}

/* Put them into the part that is a box of the volume: what is beyond it is 0. */
static void put_pieces(const pieces *p, lob_volume *part, const lob_volume *packed,
                       const lob_box *box, int threads)
{
    const int64_t bytes = (int64_t)lob_type_of(packed->type)->bytes;
    /* Fresh memory is cleared page by page where it is written first: by all threads. */
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < p->count; i++) {
        int64_t at[3], n, from = 0;
        place_of(at, &n, p, p->piece[i]);
        for (int a = 0; a < 3; a++) at[a] -= box->first[a];
        if (at[0] < 0) from = -at[0];
        if (n > box->size[0] - at[0]) n = box->size[0] - at[0];
        at[0] += from;
        memcpy((char *)voxels_at(part, at), (char *)packed->data + (i * p->width + from) * bytes,
               (size_t)((n - from) * bytes));
    }
}

/* Fail with the voxel of all strokes that holds no label. */
static lob_status fail_voxel(const lob_volume *from, const lob_context *context, lob_error *error)
{
    lob_volume copy;
    lob_label_set set;
    LOB_TRY(lob_volume_move(&copy, from, (lob_place){0}, context, error));
    const lob_status st = lob_labels_dense(&copy, &set, "strokes", error);
    lob_label_set_free(&set);
    lob_volume_free(&copy);
    return st;
}

/* Count strokes, on the slices that pieces of the whole lie on. */
static lob_status count(lob_segment_part *part, const pieces *p, int threads, lob_error *error)
{
    const lob_volume *const v = &part->voxels;
    if (part->set.count > LOB_SEGMENT_MAX_LABELS) return LOB_OK; /* no plan is made for these */
    uint8_t *const held = calloc((size_t)v->dims.nz, 1);
    if (!held) return lob_fail(error, LOB_ENOMEM, "no memory left to count strokes");
    for (int64_t i = 0; i < p->count; i++) {
        int64_t at[3], n;
        place_of(at, &n, p, p->piece[i]);
        held[at[2] - part->at.first[2]] = 1;
    }
    const lob_status st = lob_strokes_count(&part->counts, v->data, v->type, v->dims,
                                            part->set.count, held, threads, error);
    free(held);
    return st;
}

/* The part's voxels, from pieces that hold some: others are left as they come, which costs no
 * memory. */
static lob_status take_voxels(lob_segment_part *part, const lob_volume *from, const pieces *p,
                              lob_segment_zeros *zeros, const lob_context *context,
                              lob_error *error)
{
    const lob_box *const box = &part->at;
    const lob_volume grid = lob_segment_box_grid(&from->geometry, box);
    lob_volume some = grid, packed = lob_volume_empty();
    const int threads = context->threads;
    some.dims = (lob_dims){p->count > 0 ? p->width : 1, p->count > 0 ? p->count : 1, 1};
    lob_status st = lob_volume_like(&packed, &some, from->type, 1); /* zeros have no labels */
    packed.slope = from->slope;
    packed.inter = from->inter;
    if (st == LOB_OK)
        pack(p, &packed, from, threads);
    else
        lob_fail(error, st, "no memory left for strokes");
    if (st == LOB_OK) st = lob_labels_dense(&packed, &part->set, "strokes", error);
    if (st == LOB_EDATA) st = fail_voxel(from, context, error);
    if (st == LOB_OK) {
        st = packed.type == LOB_U8 ? lob_segment_zeros_take(zeros, &part->voxels, &grid)
                                   : lob_volume_like(&part->voxels, &grid, packed.type, 1);
        if (st != LOB_OK) lob_fail(error, st, "no memory left for strokes");
    }
    if (st == LOB_OK) put_pieces(p, &part->voxels, &packed, box, threads);
    if (st == LOB_OK) st = count(part, p, threads, error);
    lob_volume_free(&packed);
    return st;
}

/* Cut it out of strokes in ordinary memory. */
static lob_status cut(lob_segment_part *part, const lob_volume *from,
                      const lob_segment_within *within, lob_segment_zeros *zeros,
                      const lob_context *context, lob_error *error)
{
    const lob_segment_within all = {.box = lob_box_whole(from->dims)};
    const bool whole = from->inter != 0; /* what is stored as 0 is a value */
    const int64_t margin[3] = {1, 1, 1};
    pieces p;
    lob_status st =
        find_pieces(&p, from, whole || !within ? &all : within, whole, context->threads);
    if (st != LOB_OK) lob_fail(error, st, "no memory left for strokes");
    if (st == LOB_OK && !whole) find_box(&part->at, &p, from);
    part->strokes = part->at;
    if (st == LOB_OK && (whole || !lob_type_of(from->type)->is_integer))
        lob_box_of(&part->strokes, from);
    if (part->at.size[0] > 0)
        lob_box_widen(&part->at, margin, from->dims);
    else
        part->at = all.box;
    if (st == LOB_OK) st = take_voxels(part, from, &p, zeros, context, error);
    free(p.piece);
    return st;
}

/* Bring those planes of strokes that hold some from a GPU; others are 0, and take no memory. held:
 * which these are, a byte each. */
static lob_status bring_planes(lob_volume *here, uint8_t *held, const lob_volume *strokes,
                               const lob_context *context, lob_error *error)
{
    lob_device *const device = context->device;
    const int64_t nz = strokes->dims.nz, bytes = lob_volume_bytes(strokes) / nz;
    if (lob_volume_like(here, strokes, strokes->type, 1) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    here->slope = strokes->slope;
    here->inter = strokes->inter;
    lob_device_begin(device);
    lob_status st = lob_device_planes(device, held, strokes->data, bytes, nz, error);
    for (int64_t z = 0, end; st == LOB_OK && z < nz; z = end) {
        for (end = z + 1; end < nz && held[end] == held[z];) end++;
        if (held[z])
            st = lob_device_download(device, (char *)here->data + z * bytes,
                                     (const char *)strokes->data + z * bytes, (end - z) * bytes,
                                     error);
    }
    lob_device_end(device);
    return st;
}

/* Cut it out of strokes on a GPU. */
static lob_status cut_there(lob_segment_part *part, const lob_volume *strokes,
                            const lob_segment_within *within, lob_segment_zeros *zeros,
                            const lob_context *context, lob_error *error)
{
    const int64_t nz = strokes->dims.nz;
    lob_volume here = lob_volume_empty();
    if (!lob_place_same(strokes->place, lob_context_place(context)))
        return lob_fail(error, LOB_EDEVICE, "strokes on a GPU that the context does not have");
    lob_segment_within some = {.box = within ? within->box : lob_box_whole(strokes->dims),
                               .slices = malloc((size_t)nz)};
    if (!some.slices) return lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    lob_status st = bring_planes(&here, some.slices, strokes, context, error);
    for (int64_t z = 0; st == LOB_OK && within && within->slices && z < nz; z++)
        some.slices[z] = some.slices[z] && within->slices[z];
    if (st == LOB_OK) st = cut(part, &here, &some, zeros, context, error);
    lob_volume_free(&here);
    free(some.slices);
    return st;
}

lob_status lob_segment_cut(lob_segment_part *part, const lob_volume *strokes,
                           const lob_segment_within *within, lob_segment_zeros *zeros,
                           const lob_context *context, lob_error *error)
{
    *part = (lob_segment_part){.voxels = lob_volume_empty()};
    if (strokes->channels != 1)
        return lob_fail(error, LOB_EARG, "strokes have one channel, not %d", strokes->channels);
    const lob_status st = (strokes->place.kind == LOB_PLACE_MEMORY ? cut : cut_there)(
        part, strokes, within, zeros, context, error);
    if (st != LOB_OK) lob_segment_part_free(part);
    return st;
}

void lob_segment_part_free(lob_segment_part *part)
{
    lob_label_set_free(&part->set);
    lob_strokes_free(&part->counts);
    lob_volume_free(&part->voxels);
    *part = (lob_segment_part){.voxels = lob_volume_empty()};
}

/* ---- whole slices ---- */

/* Around the box of all labels, background is filled in this far: mm, and share of its side. */
static const double fill_mm = 10, fill_share = 0.3;

void lob_segment_full_margin(int64_t margin[3], const lob_box *labels, const double spacing_mm[3])
{
    for (int a = 0; a < 3; a++)
        margin[a] =
            (int64_t)ceil(fmax(fill_mm / spacing_mm[a], fill_share * (double)labels->size[a]));
}

/* Give the voxels without a label of slices with labels the background's, near to labels. */
static void fill(lob_volume *labels, const lob_strokes *counted, int axis, int32_t background)
{
    const lob_dims d = labels->dims;
    lob_box box;
    int64_t margin[3];
    lob_box_of(&box, labels);
    lob_segment_full_margin(margin, &box, labels->geometry.spacing_mm);
    if (axis >= 0) margin[axis] = 0;
    lob_box_widen(&box, margin, d);
    for (int64_t z = box.first[2]; z < box.first[2] + box.size[2]; z++)
        for (int64_t y = box.first[1]; y < box.first[1] + box.size[1]; y++)
            for (int64_t x = box.first[0]; x < box.first[0] + box.size[0]; x++) {
                const int64_t i = (z * d.ny + y) * d.nx + x;
                const int64_t slice = axis == 0 ? x : axis == 1 ? y : z;
                if (lob_label_at(labels->data, labels->type, i) == 0 &&
                    lob_strokes_labels_in(counted, axis, slice) > 0)
                    lob_label_put(labels->data, labels->type, i, background);
            }
}

/* The share of the slices from the first to the last with labels, across an axis, that have some.
 */
static double share_of_slices(const lob_strokes *counted, int axis)
{
    int64_t first = -1, last = -1, held = 0;
    for (int64_t s = 0; s < lob_side(counted->dims, axis); s++) {
        if (lob_strokes_labels_in(counted, axis, s) == 0) continue;
        if (first < 0) first = s;
        last = s;
        held++;
    }
    return (double)held / (double)(last - first + 1);
}

/* The axis across which slices are labelled fully: that with the largest gaps between them, as what
 * is long and thin may have more of them than it is wide; of equals lob_strokes_axis; in
 * 2D that of a single voxel. */
static int find_axis(const lob_strokes *counted)
{
    int best = lob_strokes_axis(counted);
    for (int a = 0; a < 3; a++) {
        if (lob_side(counted->dims, a) == 1 && best < 0) return a;
        if (best >= 0 && lob_side(counted->dims, a) > 1 &&
            share_of_slices(counted, a) < share_of_slices(counted, best))
            best = a;
    }
    return best;
}

static lob_status fill_slices(lob_volume *labels, lob_label_set *set, int32_t *background,
                              const lob_context *context, lob_error *error)
{
    lob_strokes counted;
    LOB_TRY(lob_labels_dense(labels, set, "strokes", error));
    if (set->count == 0)
        return lob_fail(error, LOB_EDATA, "no strokes: 0 means unknown, and labels start at 1");
    const int32_t largest = set->values[set->count - 1];
    if (*background <= 0 && largest == INT32_MAX)
        return lob_fail(error, LOB_EDATA, "no label above %d is left for the background", largest);
    if (*background <= 0) *background = largest + 1;
    LOB_TRY(lob_strokes_count(&counted, labels->data, labels->type, labels->dims, set->count, NULL,
                              context->threads, error));
    const int axis = find_axis(&counted);
    lob_status st = lob_labels_restore(labels, set);
    if (st == LOB_OK) st = lob_labels_pack(labels, *background > largest ? *background : largest);
    if (st == LOB_OK)
        fill(labels, &counted, axis, *background);
    else
        lob_fail(error, st, "no memory left for strokes");
    lob_strokes_free(&counted);
    return st;
}

lob_status lob_segment_full(lob_volume *out, int32_t *background, const lob_volume *strokes,
                            const lob_context *context, lob_error *error)
{
    lob_label_set set = {0};
    lob_error_begin(error);
    LOB_TRY(lob_volume_move(out, strokes, (lob_place){0}, context, error));
    const lob_status st = fill_slices(out, &set, background, context, error);
    lob_label_set_free(&set);
    if (st != LOB_OK) lob_volume_free(out);
    return lob_error_end(error, st);
}

/* ---- what earlier labels say ---- */

lob_status lob_segment_background(int32_t *background, const lob_volume *before,
                                  const lob_volume *strokes, const lob_context *context,
                                  lob_error *error)
{
    lob_volume volumes[2] = {lob_volume_empty(), lob_volume_empty()};
    lob_label_set sets[2] = {{0}, {0}};
    int32_t others = 0;
    *background = 0;
    lob_error_begin(error);
    lob_status st = LOB_OK;
    for (int k = 0; k < 2 && st == LOB_OK; k++) {
        st = lob_volume_move(&volumes[k], k ? strokes : before, (lob_place){0}, context, error);
        if (st == LOB_OK) st = lob_labels_dense(&volumes[k], &sets[k], "labels", error);
    }
    for (int32_t i = 0; st == LOB_OK && i < sets[1].count; i++) {
        if (lob_label_set_find(&sets[0], sets[1].values[i]) > 0) continue;
        *background = sets[1].values[i];
        others++;
    }
    if (others != 1) *background = 0;
    for (int k = 0; k < 2; k++) {
        lob_label_set_free(&sets[k]);
        lob_volume_free(&volumes[k]);
    }
    return lob_error_end(error, st);
}
