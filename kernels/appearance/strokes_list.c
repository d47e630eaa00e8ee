/* Strokes as a list. */
#include "kernels/appearance/strokes_list.h"

#include <stdlib.h>

lob_status lob_strokes_list(int64_t *voxels, int64_t *count, const lob_strokes *strokes,
                            const uint8_t *seeds, int threads, lob_error *error)
{
    const lob_dims d = strokes->dims;
    const int64_t plane = d.nx * d.ny;
    int64_t *const first = calloc((size_t)d.nz + 1, sizeof *first); /* of each slice's strokes */
    *count = 0;
    if (!first) return lob_fail(error, LOB_ENOMEM, "no memory left for strokes");
    for (int64_t z = 0; z < d.nz; z++) {
        first[z + 1] = first[z];
        for (int32_t l = 0; l < strokes->labels; l++)
            first[z + 1] += lob_strokes_in(strokes, 2, z)[l];
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t z = 0; z < d.nz; z++) {
        int64_t *to = voxels + first[z], *const end = voxels + first[z + 1];
        for (int64_t i = z * plane; to < end && i < (z + 1) * plane; i++) {
            i = lob_next_label(seeds, LOB_U8, i, (z + 1) * plane);
            if (i < (z + 1) * plane) *to++ = i;
        }
        while (to < end) *to++ = -1;
    }
    for (int64_t i = 0; i < first[d.nz]; i++)
        if (voxels[i] >= 0) voxels[(*count)++] = voxels[i];
    free(first);
    return LOB_OK;
}
