/* Tidying labels: strokes, pieces that hold one, holes. */
#include "kernels/refine/refine_job.h"

#include <stdlib.h>

static lob_status no_memory(lob_error *error)
{
    return lob_fail(error, LOB_ENOMEM, "no memory left for pieces of labels");
}

/* Pieces of what the mask holds. */
static lob_status find_pieces(lob_refine_job *j, lob_components_output *pieces, const uint8_t *mask,
                              const lob_components_options *options, lob_error *error)
{
    const lob_volume image = lob_refine_volume(j, j->labels, j->type, 1);
    const lob_components_input in = {.image = &image, .mask = mask};
    const lob_context context = lob_refine_context(j);
    return lob_components_cpu(pieces, &in, options, &context, error);
}

/* Pieces without a stroke of their label become background; strokes are in the labels. */
static lob_status drop_pieces(lob_refine_job *j, uint8_t *mask, lob_error *error)
{
    const int32_t background = j->in->background;
    const lob_components_options options = lob_refine_pieces_options(j->in);
    lob_components_output pieces;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++) mask[i] = lob_refine_label(j, i) != background;
    LOB_TRY(find_pieces(j, &pieces, mask, &options, error));
    uint8_t *const held = calloc((size_t)pieces.count + 1, 1);
    if (held) {
        held[0] = 1;
        for (int64_t i = 0; i < j->voxels; i++)
            if (lob_refine_seed(j, i)) held[lob_label_at(pieces.labels, pieces.type, i)] = 1;
        for (int64_t p = 1; p <= pieces.count; p++) j->stats->pieces += !held[p];
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
        for (int64_t i = 0; i < j->voxels; i++)
            if (!held[lob_label_at(pieces.labels, pieces.type, i)])
                lob_refine_put(j, i, background);
    }
    const bool failed = !held;
    free(held);
    lob_components_output_free(&pieces);
    return failed ? no_memory(error) : LOB_OK;
}

/* Mark the pieces that reach a border of the volume; axes of one voxel have none. */
static void mark_border(uint8_t *open, const lob_components_output *pieces, lob_dims d)
{
    const int64_t side[3] = {d.nx, d.ny, d.nz}, stride[3] = {1, d.nx, d.nx * d.ny};
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3, c = (a + 2) % 3;
        if (side[a] == 1) continue;
        for (int end = 0; end < 2; end++)
            for (int64_t v = 0; v < side[c]; v++)
                for (int64_t u = 0; u < side[b]; u++) {
                    const int64_t i =
                        (end ? side[a] - 1 : 0) * stride[a] + u * stride[b] + v * stride[c];
                    open[lob_label_at(pieces->labels, pieces->type, i)] = 1;
                }
    }
}

static lob_status fill_holes(lob_refine_job *j, uint8_t *mask, int32_t label, lob_error *error)
{
    const int32_t background = j->in->background;
    const lob_components_options options = lob_refine_holes_options();
    int64_t filled = 0;
    lob_components_output rest;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++) mask[i] = lob_refine_label(j, i) != label;
    LOB_TRY(find_pieces(j, &rest, mask, &options, error));
    uint8_t *const open = calloc((size_t)rest.count + 1, 1);
    if (open) {
        mark_border(open, &rest, j->in->image->dims);
        for (int64_t i = 0; i < j->voxels; i++)
            if (lob_refine_seed(j, i) == background)
                open[lob_label_at(rest.labels, rest.type, i)] = 1;
        open[0] = 1; /* the label itself */
#pragma omp parallel for num_threads(j->context->threads) schedule(static) reduction(+ : filled)
        for (int64_t i = 0; i < j->voxels; i++) {
            if (open[lob_label_at(rest.labels, rest.type, i)]) continue;
            if (lob_refine_label(j, i) != background) continue;
            lob_refine_put(j, i, label);
            filled++;
        }
    }
    const bool failed = !open;
    free(open);
    lob_components_output_free(&rest);
    j->stats->filled += filled;
    return failed ? no_memory(error) : LOB_OK;
}

lob_status lob_refine_tidy(void *job, lob_error *error)
{
    lob_refine_job *const j = job;
    uint8_t *mask;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++) {
        const int32_t seed = lob_refine_seed(j, i);
        if (seed) lob_refine_put(j, i, seed);
    }
    LOB_TRY(lob_budget_alloc(&j->budget, &mask, j->voxels, sizeof *mask, error));
    lob_status st = drop_pieces(j, mask, error);
    for (int32_t l = 1; st == LOB_OK && l <= j->in->label_count; l++)
        if (l != j->in->background) st = fill_holes(j, mask, l, error);
    lob_budget_free(&j->budget, mask, j->voxels, sizeof *mask);
    return st;
}
