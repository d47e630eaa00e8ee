/* Strokes by slice, and what they say by their places. */
#include "kernels/appearance/strokes.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static int64_t slices_of(lob_dims dims)
{
    return dims.nx + dims.ny + dims.nz;
}

static void count_plane(const lob_strokes *own, const void *seeds, lob_type type, int64_t z)
{
    const lob_dims d = own->dims;
    const int64_t first = z * d.nx * d.ny, end = first + d.nx * d.ny;
    for (int64_t i = first; (i = lob_next_label(seeds, type, i, end)) < end; i++) {
        const int32_t label = lob_label_at(seeds, type, i);
        lob_strokes_in(own, 0, (i - first) % d.nx)[label - 1]++;
        lob_strokes_in(own, 1, (i - first) / d.nx)[label - 1]++;
        lob_strokes_in(own, 2, z)[label - 1]++;
    }
}

/* ---- planes ---- */

/* Stroke voxels of each slice that no plane found so far holds. */
typedef struct {
    const lob_strokes *strokes;
    const void *seeds;
    lob_type type;
    int64_t *left[3]; /* by axis and slice */
    int64_t all;
} cover;

static uint8_t *plane_at(const lob_strokes *strokes, int axis, int64_t slice)
{
    const lob_dims d = strokes->dims;
    return strokes->planes + (axis == 0 ? 0 : axis == 1 ? d.nx : d.nx + d.ny) + slice;
}

/* Make a slice a plane: its strokes are left in no other slice. */
static void take_plane(cover *c, int axis, int64_t slice)
{
    const lob_dims d = c->strokes->dims;
    int64_t from[3] = {0, 0, 0}, to[3] = {d.nx, d.ny, d.nz};
    from[axis] = slice;
    to[axis] = slice + 1;
    for (int64_t z = from[2]; z < to[2]; z++)
        for (int64_t y = from[1]; y < to[1]; y++) {
            const int64_t row = (z * d.ny + y) * d.nx, end = row + to[0];
            for (int64_t i = row + from[0]; (i = lob_next_label(c->seeds, c->type, i, end)) < end;
                 i++) {
                const int64_t x = i - row;
                if (*plane_at(c->strokes, 0, x) || *plane_at(c->strokes, 1, y) ||
                    *plane_at(c->strokes, 2, z))
                    continue;
                c->left[0][x]--;
                c->left[1][y]--;
                c->left[2][z]--;
                c->all--;
            }
        }
    *plane_at(c->strokes, axis, slice) = 1;
}

/* The slice with the most strokes left, of equals the last. */
static void fullest(const cover *c, int *axis, int64_t *slice)
{
    int64_t most = -1;
    for (int a = 0; a < 3; a++)
        for (int64_t s = 0; s < lob_side(c->strokes->dims, a); s++) {
            if (c->left[a][s] < most) continue;
            most = c->left[a][s];
            *axis = a;
            *slice = s;
        }
}

/* Planes of several axes that hold nearly all strokes, half as many as the slices that hold them
 * across one axis; or else the latter. */
static void find_planes(cover *c)
{
    const int axis = lob_strokes_axis(c->strokes);
    const lob_dims d = c->strokes->dims;
    int64_t held = 0, found = 0, slice = 0;
    if (axis < 0) return;
    for (int a = 0; a < 3; a++)
        for (int64_t s = 0; s < lob_side(d, a); s++) {
            const int64_t *const in = lob_strokes_in(c->strokes, a, s);
            for (int32_t l = 0; l < c->strokes->labels; l++) c->left[a][s] += in[l];
            held += a == axis && c->left[a][s] > 0;
            if (a == axis) c->all += c->left[a][s];
        }
    for (const int64_t most = c->all / 50; 2 * found < held && c->all > most; found++) {
        int across = axis;
        fullest(c, &across, &slice);
        if (c->all - (held / 2 - found) * c->left[across][slice] > most) break; /* too few */
        take_plane(c, across, slice);
        if (c->all <= most && 2 * (found + 1) <= held) return;
    }
    memset(c->strokes->planes, 0, (size_t)slices_of(d));
    for (int64_t s = 0; s < lob_side(d, axis); s++)
        *plane_at(c->strokes, axis, s) = lob_strokes_labels_in(c->strokes, axis, s) > 0;
}

/* ---- counting ---- */

static lob_status count_all(lob_strokes *strokes, const void *seeds, lob_type type,
                            const uint8_t *held, int64_t n, int threads)
{
    int64_t *const parts = calloc((size_t)threads, ((size_t)n + 1) * sizeof *parts);
    if (!parts) return LOB_ENOMEM;
#pragma omp parallel num_threads(threads)
    {
        lob_strokes own = *strokes;
        own.across = parts + (n + 1) * omp_get_thread_num();
#pragma omp for schedule(dynamic)
        for (int64_t z = 0; z < strokes->dims.nz; z++)
            if (!held || held[z]) count_plane(&own, seeds, type, z);
    }
    for (int t = 0; t < threads; t++)
        for (int64_t i = 0; i < n; i++) strokes->across[i] += parts[(n + 1) * t + i];
    free(parts);
    return LOB_OK;
}

lob_status lob_strokes_count(lob_strokes *strokes, const void *seeds, lob_type type, lob_dims dims,
                             int32_t labels, const uint8_t *held, int threads, lob_error *error)
{
    const int64_t slices = slices_of(dims), n = lob_product(slices, labels, 1, 1);
    *strokes = (lob_strokes){.dims = dims, .labels = labels};
    int64_t *const left = calloc((size_t)slices, sizeof *left);
    if (n >= 0) strokes->across = calloc((size_t)n + 1, sizeof *strokes->across);
    strokes->planes = calloc((size_t)slices, 1);
    lob_status st = left && strokes->across && strokes->planes ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) st = count_all(strokes, seeds, type, held, n, threads);
    if (st == LOB_OK) {
        cover c = {
            .strokes = strokes,
            .seeds = seeds,
            .type = type,
            .left = {left, left + dims.nx, left + dims.nx + dims.ny}
        };
        find_planes(&c);
    }
    free(left);
    if (st == LOB_OK) return LOB_OK;
    lob_strokes_free(strokes);
    return lob_fail(error, LOB_ENOMEM, "no memory left to count strokes");
}

int64_t lob_strokes_voxels(const lob_strokes *strokes)
{
    int64_t n = 0;
    for (int64_t i = 0; i < strokes->dims.nx * strokes->labels; i++) n += strokes->across[i];
    return n;
}

lob_status lob_strokes_lay(lob_strokes *laid, const lob_strokes *strokes, lob_dims dims,
                           const int64_t first[3], lob_error *error)
{
    *laid = (lob_strokes){.dims = dims, .labels = strokes->labels};
    const int64_t slices = slices_of(dims), n = lob_product(slices, laid->labels, 1, 1);
    const size_t each = (size_t)laid->labels * sizeof *laid->across;
    if (n >= 0) laid->across = calloc((size_t)n + 1, sizeof *laid->across);
    laid->planes = calloc((size_t)slices, 1);
    if (!laid->across || !laid->planes) {
        lob_strokes_free(laid);
        return lob_fail(error, LOB_ENOMEM, "no memory left to count strokes");
    }
    for (int a = 0; a < 3; a++)
        for (int64_t s = 0; s < lob_side(strokes->dims, a); s++) {
            memcpy(lob_strokes_in(laid, a, s + first[a]), lob_strokes_in(strokes, a, s), each);
            *plane_at(laid, a, s + first[a]) = *plane_at(strokes, a, s);
        }
    return LOB_OK;
}

void lob_strokes_free(lob_strokes *strokes)
{
    free(strokes->across);
    free(strokes->planes);
    *strokes = (lob_strokes){0};
}

/* ---- the background ---- */

/* The number of the line along an axis that a voxel is on. */
static int64_t line_of(lob_dims d, int along, int64_t x, int64_t y, int64_t z)
{
    return along == 0 ? z * d.ny + y : along == 1 ? z * d.nx + x : y * d.nx + x;
}

/* In 2D the image is the plane. */
static bool is_plane(const lob_strokes *strokes, int axis, int64_t slice)
{
    return lob_side(strokes->dims, axis) == 1 || *plane_at(strokes, axis, slice);
}

/* How often labels are met along lines. */
typedef struct {
    int64_t begin[3]; /* the number of the first line along each axis, among those along all */
    int32_t *last;    /* of each line the label met last, negative while it is alone; 0: none */
    uint8_t *met;     /* and, a bit each, the labels met */
    int64_t *seen;    /* by label, ends of lines at which it is; label l has number l - 1 */
    int64_t *there;   /* likewise, ends of lines that it is on */
} views;

/*
 * Look along lines in slices; a line lies in a slice across each of two axes, and counts for both.
 *
 *   v       in/out  zero but for begin
 *   planes  in      only planes of strokes with two labels or more count, and in them lines with
 *                   two or more: a label alone on its line surrounds nothing
 */
static void look(const views *v, const lob_strokes *strokes, const void *seeds, lob_type type,
                 bool planes)
{
    const lob_dims d = strokes->dims;
    const int64_t end = lob_dims_voxels(d);
    for (int64_t i = 0; (i = lob_strokes_next(strokes, seeds, type, i)) < end; i++) {
        const int64_t at[3] = {i % d.nx, i / d.nx % d.ny, i / (d.nx * d.ny)};
        const int32_t label = lob_label_at(seeds, type, i);
        int counts[3];
        for (int a = 0; a < 3; a++)
            counts[a] = !planes || (is_plane(strokes, a, at[a]) &&
                                    lob_strokes_labels_in(strokes, a, at[a]) > 1);
        for (int along = 0; along < 3; along++) {
            const int64_t line = v->begin[along] + line_of(d, along, at[0], at[1], at[2]);
            const int64_t slices = counts[(along + 1) % 3] + counts[(along + 2) % 3];
            const int64_t bit = line * strokes->labels + label - 1;
            uint8_t *const met = &v->met[bit / 8];
            int32_t *const last = &v->last[line];
            const int32_t before = abs(*last), first = planes ? before : label;
            if (before == label) continue;
            if (planes ? *last < 0 : before == 0) {
                v->seen[first - 1] += 2 * slices;
                v->there[first - 1] += 2 * slices;
            }
            if (before > 0) {
                v->seen[before - 1] -= slices;
                v->seen[label - 1] += slices;
                if (!(*met >> bit % 8 & 1)) v->there[label - 1] += 2 * slices;
            }
            *met |= (uint8_t)(1 << bit % 8);
            *last = before > 0 ? label : -label;
        }
    }
}

/* Of labels whose lines see them nearly as often as those of any other do, the largest; 0: none is
 * seen. */
static int32_t most_seen(const views *v, int32_t labels)
{
    double most = 0;
    int32_t best = 0;
    for (int32_t l = 0; l < labels; l++)
        if (v->seen[l] > 0) most = fmax(most, (double)v->seen[l] / (double)v->there[l]);
    for (int32_t l = 0; l < labels; l++)
        if (v->seen[l] > 0 && (double)v->seen[l] >= 0.75 * most * (double)v->there[l]) best = l + 1;
    return best;
}

lob_status lob_strokes_background(int32_t *label, const lob_strokes *strokes, const void *seeds,
                                  lob_type type, lob_error *error)
{
    const lob_dims d = strokes->dims;
    const int64_t x = d.ny * d.nz, y = d.nx * d.nz, all = x + y + d.nx * d.ny;
    const int64_t bits = lob_product(all, strokes->labels, 1, 1);
    bool enough = bits >= 0;
    *label = 0;
    for (int planes = 1; enough && planes >= 0 && *label == 0; planes--) {
        int64_t *const counts = calloc((size_t)strokes->labels, 2 * sizeof *counts);
        views v = {
            .begin = {0, x, x + y},
              .seen = counts
        };
        v.last = calloc((size_t)all, sizeof *v.last);
        v.met = calloc((size_t)bits / 8 + 1, 1);
        enough = counts && v.last && v.met;
        if (enough) {
            v.there = counts + strokes->labels;
            look(&v, strokes, seeds, type, planes);
            *label = most_seen(&v, strokes->labels);
        }
        free(counts);
        free(v.last);
        free(v.met);
    }
    return enough ? LOB_OK : lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
}

/* ---- walls ---- */

/*
 * Along rows and columns of planes with strokes of several labels, how often strokes of two labels
 * follow each other. A line lies in a slice across each of two axes, and counts for both.
 *
 *   met   in/out  labels^2 numbers, both ways
 *   last  in/out  of the lines along each axis, the label met last; 0 before
 *   kind  in      of the slices across each axis: 0 has no stroke, 2 is such a plane, 1 the rest
 */
static void count_met(int64_t *met, uint8_t *const last[3], uint8_t *const kind[3],
                      const lob_strokes *strokes, const void *seeds, lob_type type)
{
    const lob_dims d = strokes->dims;
    for (int64_t row = 0; row < d.ny * d.nz; row++) {
        const int64_t y = row % d.ny, z = row / d.ny, first = row * d.nx, end = first + d.nx;
        if (kind[1][y] == 0 || kind[2][z] == 0) continue;
        for (int64_t i = first; (i = lob_next_label(seeds, type, i, end)) < end; i++) {
            const int64_t x = i - first;
            const int32_t label = lob_label_at(seeds, type, i);
            uint8_t *const lines[3] = {last[0] + line_of(d, 0, x, y, z),
                                       last[1] + line_of(d, 1, x, y, z),
                                       last[2] + line_of(d, 2, x, y, z)};
            const int planes[3] = {kind[0][x] > 1, kind[1][y] > 1, kind[2][z] > 1};
            for (int along = 0; along < 3; along++) {
                const int counts = planes[(along + 1) % 3] + planes[(along + 2) % 3];
                if (counts == 0) continue; /* nor do others of the line count */
                const int32_t before = *lines[along];
                *lines[along] = (uint8_t)label;
                if (before == 0 || before == label) continue;
                met[(before - 1) * strokes->labels + label - 1] += counts;
                met[(label - 1) * strokes->labels + before - 1] += counts;
            }
        }
    }
}

lob_status lob_strokes_walls(int32_t *walls, int *count, const lob_strokes *strokes,
                             const void *seeds, lob_type type, int32_t background, lob_error *error)
{
    const int32_t labels = strokes->labels;
    *count = 0;
    enum { MOST = 65 };
    if (labels < 3 || labels > MOST) return LOB_OK;
    const lob_dims d = strokes->dims;
    const int64_t rows = d.ny * d.nz, columns = d.nx * d.nz;
    int64_t *const met = calloc((size_t)labels * (size_t)labels, sizeof *met);
    uint8_t *const last = calloc((size_t)(rows + columns + d.nx * d.ny), 1);
    uint8_t *const planes = malloc((size_t)slices_of(d));
    if (!met || !last || !planes) {
        free(planes);
        free(last);
        free(met);
        return lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    }
    uint8_t *const kind[3] = {planes, planes + d.nx, planes + d.nx + d.ny};
    for (int a = 0; a < 3; a++)
        for (int64_t s = 0; s < lob_side(d, a); s++) {
            const int32_t held = lob_strokes_labels_in(strokes, a, s);
            kind[a][s] = held > 1 && is_plane(strokes, a, s) ? 2 : held > 0;
        }
    count_met(met, (uint8_t *[3]){last, last + rows, last + rows + columns}, kind, strokes, seeds,
              type);
    free(planes);
    free(last);
    for (int32_t core = 1; core <= labels; core++) {
        const int64_t *const row = met + (int64_t)(core - 1) * labels;
        int64_t all = 0, most = 0;
        int32_t wall = 0;
        for (int32_t l = 1; l <= labels; l++) {
            all += row[l - 1];
            if (l == background || row[l - 1] <= most) continue;
            most = row[l - 1];
            wall = l;
        }
        if (core == background || wall == 0 || most * 4 < all) continue;
        walls[2 * *count] = wall;
        walls[2 * (*count)++ + 1] = core;
    }
    free(met);
    return LOB_OK;
}

lob_status lob_strokes_places_of(lob_strokes_places *places, const lob_strokes *strokes,
                                 const void *seeds, lob_type type, int32_t background,
                                 int absent_axis, bool walls, lob_error *error)
{
    const bool absent = absent_axis >= 0;
    const size_t labels = (size_t)strokes->labels;
    *places = (lob_strokes_places){0};
    if (absent)
        places->absent = malloc((size_t)lob_side(strokes->dims, absent_axis) * (labels + 1));
    if (walls) places->walls = malloc(2 * labels * sizeof *places->walls);
    lob_status st = LOB_OK;
    if ((absent && !places->absent) || (walls && !places->walls))
        st = lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    if (st == LOB_OK && absent)
        lob_strokes_absent(places->absent, strokes, absent_axis, background);
    if (st == LOB_OK && walls)
        st = lob_strokes_walls(places->walls, &places->wall_count, strokes, seeds, type, background,
                               error);
    if (st != LOB_OK) lob_strokes_places_free(places);
    return st;
}

lob_status lob_strokes_places_find(lob_strokes_places *places, const void *seeds, lob_type type,
                                   lob_dims dims, int32_t labels, int32_t background,
                                   int absent_axis, bool walls, int threads, lob_error *error)
{
    lob_strokes strokes;
    *places = (lob_strokes_places){0};
    if (absent_axis < 0 && !walls) return LOB_OK;
    LOB_TRY(lob_strokes_count(&strokes, seeds, type, dims, labels, NULL, threads, error));
    const lob_status st =
        lob_strokes_places_of(places, &strokes, seeds, type, background, absent_axis, walls, error);
    lob_strokes_free(&strokes);
    return st;
}

void lob_strokes_places_free(lob_strokes_places *places)
{
    free(places->absent);
    free(places->walls);
    *places = (lob_strokes_places){0};
}

int lob_strokes_axis(const lob_strokes *strokes)
{
    int64_t fewest = INT64_MAX;
    int best = -1;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t side = lob_side(strokes->dims, axis);
        int64_t held = 0;
        if (side == 1) return -1;
        for (int64_t s = 0; s < side; s++) held += lob_strokes_labels_in(strokes, axis, s) > 0;
        if (held > fewest) continue;
        fewest = held;
        best = axis;
    }
    return best;
}

int64_t lob_strokes_drawn(int64_t *slices, const lob_strokes *strokes, int32_t label, int axis)
{
    const int64_t side = lob_side(strokes->dims, axis);
    int64_t most = 1, n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t s = 0; s < side; s++) {
            const int64_t *in = lob_strokes_in(strokes, axis, s);
            int64_t all = 0;
            for (int32_t l = 0; l < strokes->labels; l++) all += in[l];
            if (!*plane_at(strokes, axis, s) || in[label - 1] == 0 || all == in[label - 1])
                continue;
            if (pass == 0 && all > most) most = all;
            if (pass == 1 && all * 4 >= most) slices[n++] = s;
        }
    return n;
}
