/* Passes over the voxels of a carry's volumes, where these are. */
#include "kernels/carry/carry_voxel.h"

static void run(const lob_carry_pass *p, int64_t sums[LOB_CARRY_SUMS], int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sums[:LOB_CARRY_SUMS])
    for (int64_t i = 0; i < p->voxels; i++) lob_carry_voxel(p, i, sums);
}

lob_status lob_carry_each(lob_carry_job *j, const lob_carry_pass *p, int64_t sums[LOB_CARRY_SUMS],
                          lob_error *error)
{
    int64_t none[LOB_CARRY_SUMS];
    int64_t *const to = sums ? sums : none;
    memset(to, 0, sizeof none);
#ifdef LOB_WITH_CUDA
    if (j->steps.context->device)
        return lob_carry_each_cuda(p, sums, j->steps.context->device, error);
#else
    (void)error;
#endif
    run(p, to, j->steps.context->threads);
    return LOB_OK;
}

lob_status lob_carry_fetch(lob_carry_job *j, lob_volume *volume, lob_error *error)
{
    lob_volume here;
    if (!volume->data || volume->place.kind == LOB_PLACE_MEMORY) return LOB_OK;
    LOB_TRY(lob_volume_move(&here, volume, (lob_place){0}, j->steps.context, error));
    const int64_t bytes = lob_carry_bytes(volume);
    lob_segment_drop(&j->steps, volume);
    *volume = here;
    return lob_budget_hold(&j->steps.budget, bytes, error);
}
