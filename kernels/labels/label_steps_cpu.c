/* The operations of label_chain.h on the CPU. */
#include "kernels/arrays.h"
#include "kernels/budget.h"
#include "kernels/labels/label_chain.h"
#include "kernels/labels/label_rows.h"
#include "kernels/labels/label_slips.h"
#include "kernels/regions/contacts_slabs.h"
#include "volumes/voxel_memory.h"

enum { BLOCK = 2048 }; /* voxels converted at a time */

/* ---- voxel by voxel ---- */

static lob_status put(lob_label_chain *c, lob_labels_array to, lob_labels_array from,
                      const int32_t *table, int64_t entries)
{
    (void)entries;
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t first = 0; first < c->voxels; first += BLOCK) {
        const int64_t n = c->voxels - first < BLOCK ? c->voxels - first : BLOCK;
        int32_t labels[BLOCK];
        lob_labels_load(labels, from.data, from.type, first, n);
        for (int64_t i = 0; i < n; i++) labels[i] = table[labels[i]];
        lob_labels_store(to.data, to.type, first, labels, n);
    }
    return LOB_OK;
}

static lob_status look(lob_label_chain *c, uint8_t *seen)
{
    const lob_labels_array now = c->now;
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t first = 0; first < c->voxels; first += BLOCK) {
        const int64_t n = c->voxels - first < BLOCK ? c->voxels - first : BLOCK;
        int32_t labels[BLOCK], last = -1;
        lob_labels_load(labels, now.data, now.type, first, n);
        for (int64_t i = 0; i < n; i++) {
            if (labels[i] == last) continue;
            last = labels[i];
#pragma omp atomic write
            seen[last] = 1;
        }
    }
    return LOB_OK;
}

static lob_status count_pieces(lob_label_chain *c, int64_t found, int64_t *voxels, int32_t *owner)
{
    const lob_labels_array now = c->now, next = c->next;
    (void)found;
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t first = 0; first < c->voxels; first += BLOCK) {
        const int64_t n = c->voxels - first < BLOCK ? c->voxels - first : BLOCK;
        int32_t pieces[BLOCK];
        lob_labels_load(pieces, next.data, next.type, first, n);
        for (int64_t i = 0, run; i < n; i += run) {
            for (run = 1; i + run < n && pieces[i + run] == pieces[i];) run++;
            if (pieces[i] == 0) continue;
            int64_t *const size = &voxels[pieces[i] - 1];
#pragma omp atomic
            *size += run;
#pragma omp atomic write
            owner[pieces[i] - 1] = lob_label_at(now.data, now.type, first + i);
        }
    }
    return LOB_OK;
}

/* ---- neighbourhoods ---- */

static lob_status boundary(lob_label_chain *c)
{
    const lob_labels_array from = c->now, to = c->next;
    const lob_label_grid grid = {from.data, from.type, c->count, c->in->dims};
    const lob_dims d = grid.dims;
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++)
        for (int64_t x = 0; x < d.nx; x += LOB_BOUNDARY_BLOCK) {
            const int64_t n = d.nx - x < LOB_BOUNDARY_BLOCK ? d.nx - x : LOB_BOUNDARY_BLOCK;
            uint8_t marks[LOB_BOUNDARY_BLOCK];
            int32_t labels[LOB_BOUNDARY_BLOCK];
            lob_paint_boundary(marks, &grid, c->options->slice_axis, row, x, n);
            lob_labels_load(labels, from.data, from.type, row * d.nx + x, n);
            for (int64_t i = 0; i < n; i++) labels[i] = marks[i] ? labels[i] : 0;
            lob_labels_store(to.data, to.type, row * d.nx + x, labels, n);
        }
    return LOB_OK;
}

static lob_status slips(lob_label_chain *c)
{
    const lob_labels_array from = c->now, to = c->next;
    const lob_dims d = c->in->dims;
    const int axis = c->options->slice_axis;
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++)
        for (int64_t x = 0; x < d.nx; x++) {
            const int64_t i = row * d.nx + x, y = row % d.ny, z = row / d.ny;
            const bool slip = lob_labels_is_slip(from.data, from.type, d, axis, x, y, z);
            lob_label_put(to.data, to.type, i, slip ? 0 : lob_label_at(from.data, from.type, i));
        }
    return LOB_OK;
}

static lob_status majority(lob_label_chain *c, const lob_majority *m)
{
    return lob_majority_cpu(c->next.data, c->now.data, c->now.type, c->in->dims, m, &c->context,
                            &c->budget, c->error);
}

/* ---- the result ---- */

static lob_status finish(lob_label_chain *c, lob_type type)
{
    const lob_labels_input *in = c->in;
    const lob_labels_array now = c->now;
    c->out->labels = lob_voxel_memory(c->voxels * (int64_t)lob_type_of(type)->bytes);
    if (!c->out->labels) return lob_fail(c->error, LOB_ENOMEM, "no memory for the labels");
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t first = 0; first < c->voxels; first += BLOCK) {
        const int64_t n = c->voxels - first < BLOCK ? c->voxels - first : BLOCK;
        int32_t labels[BLOCK];
        lob_labels_load(labels, now.data, now.type, first, n);
        for (int64_t i = 0; i < n; i++) labels[i] = labels[i] ? c->values[labels[i] - 1] : 0;
        for (int64_t i = 0; in->mask && i < n; i++) {
            if (in->mask[first + i]) continue;
            const int32_t came = lob_label_at(in->labels, in->type, first + i);
            labels[i] = came ? in->values[came - 1] : 0;
        }
        lob_labels_store(c->out->labels, type, first, labels, n);
    }
    return LOB_OK;
}

const lob_label_operations lob_label_cpu = {
    .components = lob_components_cpu,
    .morphology = lob_morphology_cpu,
    .put = put,
    .look = look,
    .count_pieces = count_pieces,
    .boundary = boundary,
    .slips = slips,
    .majority = majority,
    .finish = finish,
};

lob_status lob_labels_cpu(lob_labels_output *out, const lob_labels_input *in,
                          const lob_labels_options *options, const lob_context *context,
                          lob_error *error)
{
    lob_error_begin(error);
    memset(out, 0, sizeof *out);
    LOB_TRY(lob_check_memory(in->place, NULL, NULL, error));
    LOB_TRY(lob_label_chain_check(in, options, error));
    lob_label_chain c = {
        .operations = &lob_label_cpu,
        .in = in,
        .options = options,
        .caller = context,
        .error = error,
        .out = out,
    };
    return lob_error_end(error, lob_label_chain_run(&c));
}
