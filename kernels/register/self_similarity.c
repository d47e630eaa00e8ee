/* Words of a registration on the CPU, in pieces of rows. */
#include "kernels/register/self_similarity_voxel.h"
#include "kernels/simd_clones.h"

enum { WIDE = LOB_WORDS_WIDE };

/* A row of a map, summed along an axis; of words for axis 3. */
LOB_SIMD_CLONES(void, do_row, (s, m, axis, row), const lob_words_job *s, int m, int axis,
                int64_t row)
{
    const int64_t nx = s->dims.nx;
    for (int64_t x = 0; x < nx; x += WIDE) {
        const int n = nx - x < WIDE ? (int)(nx - x) : WIDE;
        if (axis == 3)
            lob_words_make(s, row * nx + x, n);
        else if (s->radius == 1)
            lob_words_sum(s, m, axis, row * nx + x, n, 1);
        else if (s->radius == 2)
            lob_words_sum(s, m, axis, row * nx + x, n, 2);
        else
            lob_words_sum(s, m, axis, row * nx + x, n, 3);
    }
}

lob_status lob_register_words(uint64_t *words, lob_register_call *c,
                              const lob_register_image *image, int radius)
{
    const lob_dims d = image->dims;
    lob_words_job s = {.words = words,
                       .level = image->level,
                       .dims = d,
                       .voxels = image->voxels,
                       .no_data = c->no_data,
                       .radius = radius};
    const int64_t bytes = (LOB_WORDS_MAPS + 1) * s.voxels * (int64_t)sizeof *s.map;
    LOB_TRY(lob_register_room(c, &s.map, bytes));
    s.half = s.map + LOB_WORDS_MAPS * s.voxels;
    for (int m = 0; m < LOB_WORDS_MAPS; m++) {
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
        for (int64_t z = 0; z < d.nz; z++)
            for (int axis = 0; axis < 2; axis++)
                for (int64_t y = 0; y < d.ny; y++) do_row(&s, m, axis, z * d.ny + y);
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
        for (int64_t row = 0; row < d.ny * d.nz; row++) do_row(&s, m, 2, row);
    }
#pragma omp parallel for schedule(static) num_threads(c->context->threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++) do_row(&s, 0, 3, row);
    return LOB_OK;
}
