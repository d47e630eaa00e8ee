/* Refining the part of a volume that holds labels: beyond it nothing can change. */
#include "kernels/refine/refine_job.h"

#include <string.h>

/* ---- where the labels are ---- */

/* First and last voxel of a row that is a label, or drawn as one; false: there is none. */
static bool ends_of_row(int64_t ends[2], const lob_refine_job *j, int64_t row, int64_t n)
{
    const int32_t background = j->in->background;
    bool found = false;
    for (int64_t x = 0; x < n; x++) {
        const int32_t seed = lob_refine_seed(j, row + x);
        if (lob_refine_label(j, row + x) == background && (seed == 0 || seed == background))
            continue;
        if (!found) ends[0] = x;
        ends[1] = x;
        found = true;
    }
    return found;
}

static bool box_of_labels(lob_box *box, const lob_refine_job *j)
{
    const lob_dims d = j->in->image->dims;
    int64_t first[3] = {d.nx, d.ny, d.nz}, last[3] = {-1, -1, -1};
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t row = 0; row < d.ny * d.nz; row++) {
        int64_t ends[2];
        if (!ends_of_row(ends, j, row * d.nx, d.nx)) continue;
        const int64_t low[3] = {ends[0], row % d.ny, row / d.ny};
        const int64_t high[3] = {ends[1], low[1], low[2]};
#pragma omp critical(lob_refine_box)
        for (int a = 0; a < 3; a++) {
            if (low[a] < first[a]) first[a] = low[a];
            if (high[a] > last[a]) last[a] = high[a];
        }
    }
    if (last[0] < 0) return false;
    for (int a = 0; a < 3; a++) {
        box->first[a] = first[a];
        box->size[a] = last[a] - first[a] + 1;
    }
    return true;
}

bool lob_refine_part_of(lob_box *box, const lob_refine_job *j)
{
    return box_of_labels(box, j) && lob_refine_widen(box, j->in->image, j->options);
}

/* ---- cutting out and putting back ---- */

/* Copy the rows of a box out of an array of channels, or back into it. */
static void copy_box(void *part, void *whole, int64_t bytes, int channels, lob_dims d,
                     const lob_box *box, bool back)
{
    const int64_t row = box->size[0] * bytes, rows = box->size[1] * box->size[2];
    for (int64_t at = 0; at < rows * channels; at++) {
        const int64_t y = box->first[1] + at % box->size[1];
        const int64_t z = box->first[2] + at / box->size[1] % box->size[2];
        const int64_t voxel = ((at / rows * d.nz + z) * d.ny + y) * d.nx + box->first[0];
        unsigned char *const a = (unsigned char *)part + at * row;
        unsigned char *const b = (unsigned char *)whole + voxel * bytes;
        memcpy(back ? b : a, back ? a : b, (size_t)row);
    }
}

/* An array of the part, counted in the budget. */
static lob_status take(lob_refine_job *j, void **part, const void *whole, lob_type type,
                       int channels, const lob_box *box, lob_error *error)
{
    const int64_t n = lob_product(box->size[0], box->size[1], box->size[2], channels);
    const int64_t bytes = (int64_t)lob_type_of(type)->bytes;
    LOB_TRY(lob_budget_alloc(&j->budget, part, n, (size_t)bytes, error));
    copy_box(*part, (void *)whole, bytes, channels, j->in->image->dims, box, false);
    return LOB_OK;
}

lob_status lob_refine_in_part(lob_refine_job *j, const lob_box *box,
                              lob_status (*run)(lob_refine_job *j, lob_error *error),
                              lob_error *error)
{
    const lob_refine_input *const in = j->in;
    const lob_dims d = in->image->dims;
    lob_volume image = *in->image;
    lob_refine_input part_in = *in;
    lob_refine_job part = *j;
    void *voxels = NULL, *seeds = NULL, *labels = NULL;
    lob_status st = take(j, &voxels, in->image->data, image.type, image.channels, box, error);
    if (st == LOB_OK) st = take(j, &seeds, in->seeds, in->seeds_type, 1, box, error);
    if (st == LOB_OK) st = take(j, &labels, j->labels, j->type, 1, box, error);
    image.data = voxels;
    image.dims = (lob_dims){box->size[0], box->size[1], box->size[2]};
    image.geometry = lob_box_geometry(&image.geometry, box);
    part_in.image = &image;
    part_in.seeds = seeds;
    part.in = &part_in;
    part.labels = labels;
    part.voxels = lob_dims_voxels(image.dims);
    part.budget = j->budget;
    if (st == LOB_OK) st = run(&part, error);
    j->budget = part.budget;
    if (st == LOB_OK)
        copy_box(labels, j->labels, (int64_t)lob_type_of(j->type)->bytes, 1, d, box, true);
    lob_budget_free(&j->budget, labels, part.voxels, lob_type_of(j->type)->bytes);
    lob_budget_free(&j->budget, seeds, part.voxels, lob_type_of(in->seeds_type)->bytes);
    lob_budget_free(&j->budget, voxels, part.voxels * image.channels,
                    lob_type_of(image.type)->bytes);
    return st;
}
