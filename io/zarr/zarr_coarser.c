/* Every second voxel, or the means of blocks of two. */
#include "io/zarr/zarr_coarser.h"

#include "volumes/blocks.h"

#include <float.h>
#include <math.h>

static int64_t half(int64_t side, int step)
{
    return (side + step - 1) / step;
}

/* Sums go z, y, x, in double precision. */
static double mean_at(const lob_coarser *h, const void *in, int64_t x, int64_t y, int64_t z)
{
    const int64_t ends[3] = {x + h->step[0] < h->dims.nx ? x + h->step[0] : h->dims.nx,
                             y + h->step[1] < h->dims.ny ? y + h->step[1] : h->dims.ny,
                             z + h->step[2] < h->planes ? z + h->step[2] : h->planes};
    double sum = 0, values[2];
    for (int64_t k = z; k < ends[2]; k++)
        for (int64_t j = y; j < ends[1]; j++) {
            lob_values(values, in, h->type, (k * h->dims.ny + j) * h->dims.nx + x, ends[0] - x);
            for (int64_t i = 0; i < ends[0] - x; i++) sum += values[i];
        }
    return sum / (double)((ends[0] - x) * (ends[1] - y) * (ends[2] - z));
}

/* Are the rows that one of the next level is made of 0? */
static bool is_blank(const lob_coarser *h, const unsigned char *in, int64_t y, int64_t z)
{
    const size_t row = (size_t)h->dims.nx * lob_type_of(h->type)->bytes;
    bool blank = true;
    for (int64_t k = z; blank && k < z + (h->means ? h->step[2] : 1) && k < h->planes; k++)
        for (int64_t j = y; blank && j < y + (h->means ? h->step[1] : 1) && j < h->dims.ny; j++)
            blank = lob_all_zero(in + (size_t)(k * h->dims.ny + j) * row, row);
    return blank;
}

/* The mean of values of a type lies within the type; only 64 bits may round beyond it. */
static void store(void *out, int64_t at, double value, lob_type type)
{
#define STORE(id, ctype, name, integer, lowest, highest)                              \
    case id:                                                                          \
        ((ctype *)out)[at] = !(integer)                         ? (ctype)value        \
                             : rint(value) >= (double)(highest) ? (ctype)(highest)    \
                                                                : (ctype)rint(value); \
        break;
    LOB_TYPE_SWITCH(type, STORE)
#undef STORE
}

void lob_coarser_planes(void *out, const void *in, const lob_coarser *how, int threads)
{
    const size_t word = lob_type_of(how->type)->bytes;
    const int64_t nx = half(how->dims.nx, how->step[0]), ny = half(how->dims.ny, how->step[1]);
    const int64_t rows = half(how->planes, how->step[2]) * ny;
#pragma omp parallel for num_threads(threads)
    for (int64_t row = 0; row < rows; row++) {
        const int64_t y = row % ny * how->step[1], z = row / ny * how->step[2];
        if (is_blank(how, in, y, z)) continue;
        if (!how->means) {
            const int64_t from = (z * how->dims.ny + y) * how->dims.nx;
            lob_copy_strided((unsigned char *)out + (size_t)(row * nx) * word, (int64_t)word,
                             (const unsigned char *)in + (size_t)from * word,
                             how->step[0] * (int64_t)word, nx, word);
            continue;
        }
        for (int64_t x = 0; x < nx; x++)
            store(out, row * nx + x, mean_at(how, in, x * how->step[0], y, z), how->type);
    }
}
