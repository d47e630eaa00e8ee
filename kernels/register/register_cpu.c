/* The loops of a registration on the CPU that have no file of their own. */
#include "kernels/register/register_voxel.h"
#include "volumes/lists.h"

#include <stdlib.h>

static lob_status pass(uint64_t numbers[LOB_REGISTER_NUMBERS], lob_register_call *c,
                       const lob_register_pass *p)
{
    uint64_t all[LOB_REGISTER_NUMBERS] = {0};
#pragma omp parallel num_threads(c->context->threads)
    {
        uint64_t own[LOB_REGISTER_NUMBERS] = {0};
#pragma omp for schedule(static)
        for (int64_t i = 0; i < p->n; i++) lob_register_at(p->kind, p, i, own);
#pragma omp critical(lob_register_numbers)
        for (int k = 0; k < LOB_REGISTER_NUMBERS; k++)
            if (k < LOB_REGISTER_MAXIMA)
                lob_register_most(&all[k], own[k]);
            else
                all[k] += own[k];
    }
    if (numbers) memcpy(numbers, all, sizeof all);
    return LOB_OK;
}

static lob_status keys(uint64_t *to, lob_register_call *c, const lob_register_points *p,
                       const lob_register_image *image)
{
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
    for (int64_t e = 0; e < 3 * p->count; e++) to[e] = lob_register_key(p, image, e);
    qsort(to, 3 * (size_t)p->count, sizeof *to, lob_by_int64);
    return LOB_OK;
}

const lob_register_loops lob_register_on_cpu = {
    .pass = pass,
    .words = lob_register_words,
    .costs = lob_register_costs_fill,
    .keys = keys,
    .solve = lob_register_solve,
};
