/* Contacts of labels: each thread counts faces in hash tables of label pairs, one table per axis.
 */
#include "kernels/regions/contacts_slabs.h"

#include "kernels/budget.h"
#include "kernels/filters/pointwise_voxel.h"
#include "kernels/labels/label_rows.h"
#include "kernels/pair_table.h"
#include "kernels/regions/faces.h"
#include "kernels/regions/regions.h"
#include "volumes/bytes.h"
#include "volumes/free.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>

lob_status lob_label_means(double *means, const lob_label_grid *grid, const lob_volume *image,
                           const lob_context *context, lob_error *error)
{
    const int channels = image->channels;
    const int64_t bytes = lob_voxels(image) * (int64_t)lob_type_of(image->type)->bytes;
    lob_budget budget = {.who = "means of labels", .limit = context->max_memory};
    lob_region *regions;
    lob_region_values *values = NULL;
    lob_status st = lob_budget_alloc(&budget, &regions, grid->count, sizeof *regions, error);
    if (st == LOB_OK) st = lob_budget_alloc(&budget, &values, grid->count, sizeof *values, error);
    const lob_context left = lob_budget_inner(&budget, context);
    for (int c = 0; c < channels && st == LOB_OK; c++) {
        lob_fine_levels fine;
        lob_volume channel = *image;
        channel.channels = 1;
        channel.data = (char *)image->data + c * bytes;
        const lob_regions_input in = {grid->labels, grid->type, grid->count, grid->dims, &channel};
        st = lob_regions_cpu(regions, values, &fine, &in, &left, error);
        for (int64_t k = 0; k < grid->count && st == LOB_OK; k++)
            means[k * channels + c] = lob_region_measure(&regions[k], &values[k], &image->geometry,
                                                         &fine, image->slope, image->inter)
                                          .mean;
    }
    LOB_FREE(values, regions);
    return st;
}

/* ---- faces ---- */

/* Count the faces between voxels first..first+n-1 and the voxels `stride` after these. Equal pairs
 * that follow one another are added to the table together. */
static lob_status count_faces(lob_pair_table *table, const lob_label_grid *grid, int64_t first,
                              int64_t stride, int64_t n)
{
    uint32_t a = 0, b = 0; /* the latest pair */
    int64_t faces = 0;
    for (int64_t i = first; i <= first + n; i++) {
        uint32_t p = 0, q = 0;
        const int64_t none = lob_faces_none(grid->labels, grid->type, first, i - first, n, stride);
        if (none > 0) {
            i += none - 1;
            continue;
        }
        if (i < first + n) {
            p = (uint32_t)lob_label_at(grid->labels, grid->type, i);
            q = (uint32_t)lob_label_at(grid->labels, grid->type, i + stride);
            if (p == q || p == 0 || q == 0) continue;
            const uint32_t low = p < q ? p : q;
            q = p < q ? q : p;
            p = low;
        }
        if (p != a || q != b) {
            if (faces) LOB_TRY(lob_pair_add(table, a, b, faces));
            a = p;
            b = q;
            faces = 0;
        }
        faces++;
    }
    return LOB_OK;
}

/* Count the faces between a row's voxels, and those to the next rows along y and z. table: of x;
 * those of y and z follow, `threads` apart. */
static lob_status count_row(lob_pair_table *table, const lob_label_grid *grid, int64_t row,
                            int slice_axis, int threads)
{
    const lob_dims d = grid->dims;
    const int64_t stride[3] = {1, d.nx, d.nx * d.ny};
    const int64_t n[3] = {d.nx - 1, row % d.ny + 1 < d.ny ? d.nx : 0,
                          row + d.ny < d.ny * d.nz ? d.nx : 0};
    lob_status st = LOB_OK;
    for (int a = 0; a < 3 && st == LOB_OK; a++)
        if (a != slice_axis && n[a] > 0)
            st = count_faces(&table[a * threads], grid, row * d.nx, stride[a], n[a]);
    return st;
}

/* Count all faces, in the first table of each axis. */
static lob_status count_volume(lob_pair_table *tables, const lob_label_grid *grid, int slice_axis,
                               int threads)
{
    const int64_t rows = grid->dims.ny * grid->dims.nz;
    lob_status st = LOB_OK;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        const int64_t end = rows * (t + 1) / threads;
        lob_status own = LOB_OK;
        for (int64_t row = rows * t / threads; row < end && own == LOB_OK; row++)
            own = count_row(&tables[t], grid, row, slice_axis, threads);
#pragma omp critical(lob_contacts)
        if (own != LOB_OK) st = own;
    }
    for (int a = 0; a < 3 && st == LOB_OK; a++)
        st = lob_pair_tables_join(tables + a * threads, threads);
    return st;
}

static int by_labels(const void *left, const void *right)
{
    const lob_contact *p = left, *q = right;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static double difference_of(const double *means, int channels, const lob_contact *contact)
{
    const double *a = means + (int64_t)(contact->a - 1) * channels;
    const double *b = means + (int64_t)(contact->b - 1) * channels;
    double square = 0;
    for (int c = 0; c < channels; c++) square += (a[c] - b[c]) * (a[c] - b[c]);
    return sqrt(square);
}

int64_t lob_contacts_merge(lob_contact *list, int64_t n)
{
    int64_t merged = 0;
    qsort(list, (size_t)n, sizeof *list, by_labels);
    for (int64_t i = 0; i < n; i++) {
        if (merged > 0 && by_labels(&list[merged - 1], &list[i]) == 0)
            for (int a = 0; a < 3; a++) list[merged - 1].faces[a] += list[i].faces[a];
        else
            list[merged++] = list[i];
    }
    return merged;
}

void lob_contacts_measure(lob_contact *list, int64_t n, const lob_geometry *geometry,
                          const double *means, int channels)
{
    const double mm2[3] = {lob_face_mm2(geometry, 0), lob_face_mm2(geometry, 1),
                           lob_face_mm2(geometry, 2)};
    for (int64_t i = 0; i < n; i++) {
        lob_contact *c = &list[i];
        c->mm2 = (double)c->faces[0] * mm2[0] + (double)c->faces[1] * mm2[1] +
                 (double)c->faces[2] * mm2[2];
        c->difference = means ? difference_of(means, channels, c) : NAN;
    }
}

/* Write the contacts of the three axes' tables, `threads` apart, as one sorted list. Returns its
 * length. */
static int64_t merge_axes(lob_contact *list, const lob_pair_table *tables, int threads)
{
    int64_t n = 0;
    for (int a = 0; a < 3; a++)
        for (int64_t i = 0; i < tables[a * threads].slot_count; i++) {
            const lob_pair *pair = &tables[a * threads].slots[i];
            if (pair->count == 0) continue;
            list[n] = (lob_contact){.a = (int32_t)pair->a, .b = (int32_t)pair->b};
            list[n++].faces[a] = pair->count;
        }
    return lob_contacts_merge(list, n);
}

static lob_status refuse_contacts(lob_status status, const lob_label_grid *grid,
                                  const lob_context *context, lob_error *error)
{
    char allowed[LOB_BYTES_TEXT];
    if (context->max_memory > 0)
        return lob_fail(error, status,
                        "contacts of %lld labels need more than the %s of memory left for them; "
                        "allow more, or use fewer labels",
                        (long long)grid->count, lob_bytes_text(allowed, context->max_memory));
    return lob_fail(error, status, "no memory for the contacts of %lld labels",
                    (long long)grid->count);
}

lob_status lob_contacts(lob_contact **contacts, int64_t *count, const lob_label_grid *grid,
                        const lob_geometry *geometry, const double *means, int channels,
                        int slice_axis, const lob_context *context, lob_error *error)
{
    *contacts = NULL;
    *count = 0;
    if (slice_axis < -1 || slice_axis > 2)
        return lob_fail(error, LOB_EARG, "slice axis %d: it is 0, 1, 2 or -1", slice_axis);
    if (grid->type != LOB_U8 && grid->type != LOB_I16 && grid->type != LOB_I32)
        return lob_fail(error, LOB_EARG, "labels are uint8, int16 or int32");
    const int64_t rows = grid->dims.ny * grid->dims.nz;
    const int threads = context->threads < 1      ? 1
                        : context->threads > rows ? (int)rows
                                                  : context->threads;
    lob_budget budget = {.who = "contacts", .limit = context->max_memory};
    int64_t pairs = 0;
    lob_pair_table *tables = NULL;
    lob_status st = lob_pair_tables_make(&tables, 3 * threads, &budget, NULL);
    if (st == LOB_OK) st = count_volume(tables, grid, slice_axis, threads);
    for (int a = 0; a < 3 && st == LOB_OK; a++) pairs += tables[a * threads].used;
    if (st == LOB_OK && pairs > 0) {
        /* qsort may allocate a copy */
        st = lob_budget_hold(&budget, 2 * pairs * (int64_t)sizeof **contacts, NULL);
        if (st == LOB_OK) *contacts = malloc((size_t)pairs * sizeof **contacts);
        if (!*contacts) st = LOB_ENOMEM;
    }
    if (st == LOB_OK && pairs > 0) *count = merge_axes(*contacts, tables, threads);
    lob_contacts_measure(*contacts, *count, geometry, means, channels);
    lob_pair_tables_free(tables, 3 * threads, &budget);
    if (st != LOB_OK) return refuse_contacts(st, grid, context, error);
    lob_contact *shorter = *count > 0 ? realloc(*contacts, (size_t)*count * sizeof *shorter) : NULL;
    if (shorter) *contacts = shorter;
    return LOB_OK;
}

/* ---- painting ---- */

void lob_paint_boundary(uint8_t *marks, const lob_label_grid *grid, int axis, int64_t row,
                        int64_t x, int64_t n)
{
    const lob_dims d = grid->dims;
    const int64_t y = row % d.ny, z = row / d.ny, first = row * d.nx + x;
    const int64_t before = x > 0, after = x + n < d.nx;
    const int64_t rows[4] = {axis != 1 && y > 0 ? -1 : 0, axis != 1 && y + 1 < d.ny ? 1 : 0,
                             axis != 2 && z > 0 ? -d.ny : 0, axis != 2 && z + 1 < d.nz ? d.ny : 0};
    int32_t own[LOB_BOUNDARY_BLOCK + 2], other[LOB_BOUNDARY_BLOCK];
    lob_labels_load(own + 1 - before, grid->labels, grid->type, first - before, n + before + after);
    if (!before) own[0] = own[1];
    if (!after) own[n + 1] = own[n];
    for (int64_t i = 0; i < n; i++)
        marks[i] = axis != 0 && (own[i] != own[i + 1]) + (own[i + 1] != own[i + 2]) > 0;
    for (int k = 0; k < 4; k++) {
        if (rows[k] == 0) continue;
        lob_labels_load(other, grid->labels, grid->type, first + rows[k] * d.nx, n);
        for (int64_t i = 0; i < n; i++) marks[i] |= own[i + 1] != other[i];
    }
    for (int64_t i = 0; i < n; i++) marks[i] &= own[i + 1] != 0;
}

void lob_paint_boundaries(uint8_t *marks, const lob_label_grid *grid, int slice_axis, int threads)
{
    const lob_dims d = grid->dims;
#pragma omp parallel for schedule(static) num_threads(threads > 0 ? threads : 1)
    for (int64_t row = 0; row < d.ny * d.nz; row++)
        for (int64_t x = 0; x < d.nx; x += LOB_BOUNDARY_BLOCK) {
            const int64_t n = d.nx - x < LOB_BOUNDARY_BLOCK ? d.nx - x : LOB_BOUNDARY_BLOCK;
            lob_paint_boundary(marks + row * d.nx + x, grid, slice_axis, row, x, n);
        }
}

/* The stored form of a value in image units: the nearest that the type can hold. */
static double stored_of(double value, const lob_volume *volume)
{
    const lob_type_info *type = lob_type_of(volume->type);
    const double stored = (value - volume->inter) / volume->slope;
    const double whole = type->is_integer ? floor(stored + 0.5) : stored;
    return whole < type->lowest ? type->lowest : whole > type->highest ? type->highest : whole;
}

void lob_paint_means(lob_volume *out, const lob_label_grid *grid, const double *means, int threads)
{
    const int64_t voxels = lob_voxels(out);
    const int channels = out->channels;
    const double background = stored_of(0, out);
#pragma omp parallel for schedule(static) num_threads(threads > 0 ? threads : 1)
    for (int64_t v = 0; v < voxels; v++) {
        const int32_t label = lob_label_at(grid->labels, grid->type, v);
        for (int c = 0; c < channels; c++) {
            const double mean = label ? means[(int64_t)(label - 1) * channels + c] : NAN;
            lob_filter_store(out->data, out->type, c * voxels + v,
                             isnan(mean) ? background : stored_of(mean, out));
        }
    }
}
