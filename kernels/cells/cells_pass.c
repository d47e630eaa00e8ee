/* Passes over the voxels between the steps of cells.h, on the CPU. */
#include "kernels/cells/cells_voxel.h"

#include "kernels/cells/cells_job.h"
#include "kernels/device/device.h"

static void change_piece(const lob_cells_pass *pass, int64_t first, int64_t end)
{
    const lob_cells_pass p = *pass;
    switch (p.kind) {
#define CASE(kind)                                                                       \
    case LOB_CELLS_##kind:                                                               \
        for (int64_t i = first; i < end; i++) lob_cells_change(LOB_CELLS_##kind, &p, i); \
        break;
        LOB_CELLS_CHANGES(CASE)
#undef CASE
    default:
        break;
    }
}

static lob_cells_sums add_piece(const lob_cells_pass *pass, int64_t first, int64_t end)
{
    const lob_cells_pass p = *pass;
    lob_cells_sums lane[LOB_CELLS_LANES];
    for (int l = 0; l < LOB_CELLS_LANES; l++) lane[l] = lob_cells_none(p.kind);
    switch (p.kind) {
#define CASE(kind)                                                                        \
    case LOB_CELLS_##kind:                                                                \
        for (int64_t i = first; i < end; i++)                                             \
            lob_cells_add(LOB_CELLS_##kind, &p, i, &lane[(i - first) % LOB_CELLS_LANES]); \
        break;
        LOB_CELLS_ADDS(CASE)
#undef CASE
    default:
        break;
    }
    for (int apart = LOB_CELLS_LANES / 2; apart > 0; apart /= 2)
        for (int l = 0; l < apart; l++) lob_cells_join(p.kind, &lane[l], &lane[l + apart]);
    return lane[0];
}

static void on_cpu(lob_cells_sums *of_piece, const lob_cells_pass *p, int64_t pieces, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < pieces; k++) {
        const int64_t first = k * LOB_CELLS_PIECE, left = p->n - first;
        const int64_t end = first + (left < LOB_CELLS_PIECE ? left : LOB_CELLS_PIECE);
        if (of_piece)
            of_piece[k] = add_piece(p, first, end);
        else
            change_piece(p, first, end);
    }
}

static lob_status on_backend(lob_cells_sums *of_piece, const lob_cells_pass *p, int64_t pieces,
                             lob_cells_job *j)
{
#ifdef LOB_WITH_CUDA
    if (j->steps.context->device) {
        lob_device_begin(j->steps.context->device);
        const lob_status st = lob_cells_pass_cuda(of_piece, p, pieces, j->steps.context->device,
                                                  &j->steps.budget, j->error);
        lob_device_end(j->steps.context->device);
        return st;
    }
#endif
    on_cpu(of_piece, p, pieces, j->steps.context->threads);
    return LOB_OK;
}

void lob_cells_add_pieces(lob_cells_sums *of_piece, const lob_cells_pass *p, int64_t pieces,
                          int threads)
{
    on_cpu(of_piece, p, pieces, threads);
}

lob_status lob_cells_run(lob_cells_job *j, lob_cells_sums *sums, const lob_cells_pass *p)
{
    const int64_t pieces = (p->n + LOB_CELLS_PIECE - 1) / LOB_CELLS_PIECE;
    lob_cells_sums *of_piece = NULL, all = lob_cells_none(p->kind);
    if (j->team && (p->kind == LOB_CELLS_CUBES || p->kind == LOB_CELLS_CLASSES))
        return lob_cells_reals_of_team(j, sums, p);
    if (lob_cells_adds(p->kind))
        LOB_TRY(
            lob_budget_alloc(&j->steps.budget, &of_piece, pieces + 1, sizeof *of_piece, j->error));
    const lob_status st = on_backend(of_piece, p, pieces, j);
    for (int64_t k = 0; k < pieces && of_piece && st == LOB_OK; k++)
        lob_cells_join(p->kind, &all, &of_piece[k]);
    lob_budget_free(&j->steps.budget, of_piece, pieces + 1, sizeof *of_piece);
    if (sums) *sums = all;
    return st == LOB_OK && sums && j->team ? lob_cells_sums_of_team(j, sums, p) : st;
}
