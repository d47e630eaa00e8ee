/* Overlap and surface distances of one label, straight from their definitions. */
#include "tests/reference/overlaps_reference.h"

#include "tests/reference/distance_case.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>

static int carries(const uint8_t *volume, lob_dims d, int64_t x, int64_t y, int64_t z,
                   int32_t label)
{
    if (x < 0 || y < 0 || z < 0 || x >= d.nx || y >= d.ny || z >= d.nz) return 0;
    return volume[x + d.nx * (y + d.ny * z)] == label;
}

static void surface_of(uint8_t *surface, const uint8_t *volume, lob_dims d, int32_t label)
{
    for (int64_t z = 0; z < d.nz; z++)
        for (int64_t y = 0; y < d.ny; y++)
            for (int64_t x = 0; x < d.nx; x++) {
                const int neighbours = carries(volume, d, x - 1, y, z, label) +
                                       carries(volume, d, x + 1, y, z, label) +
                                       carries(volume, d, x, y - 1, z, label) +
                                       carries(volume, d, x, y + 1, z, label) +
                                       carries(volume, d, x, y, z - 1, label) +
                                       carries(volume, d, x, y, z + 1, label);
                surface[x + d.nx * (y + d.ny * z)] =
                    carries(volume, d, x, y, z, label) && neighbours < 6;
            }
}

void reference_overlap(lob_overlap *row, int32_t label, const uint8_t *a, const uint8_t *b,
                       lob_dims dims, const double spacing_mm[3])
{
    const int64_t n = dims.nx * dims.ny * dims.nz;
    const double mm3 = spacing_mm[0] * spacing_mm[1] * spacing_mm[2];
    *row = (lob_overlap){.label = label, .hd95_mm = NAN, .mean_surface_mm = NAN};
    for (int64_t i = 0; i < n; i++) {
        row->voxels_a += a[i] == label;
        row->voxels_b += b[i] == label;
        row->common += a[i] == label && b[i] == label;
    }
    row->volume_a_mm3 = (double)row->voxels_a * mm3;
    row->volume_b_mm3 = (double)row->voxels_b * mm3;
    row->dice = 2.0 * (double)row->common / (double)(row->voxels_a + row->voxels_b);
    row->jaccard = (double)row->common / (double)(row->voxels_a + row->voxels_b - row->common);
    if (row->voxels_a == 0 || row->voxels_b == 0) return;

    uint8_t *const surface[2] = {malloc((size_t)n), malloc((size_t)n)};
    double *const distances = malloc(2 * (size_t)n * sizeof *distances);
    if (!surface[0] || !surface[1] || !distances) abort();
    surface_of(surface[0], a, dims, label);
    surface_of(surface[1], b, dims, label);
    int64_t count = 0;
    double sum = 0.0;
    for (int s = 0; s < 2; s++)
        for (int64_t i = 0; i < n; i++)
            if (surface[s][i]) {
                distances[count] =
                    sqrt(reference_distance_squared(surface[!s], dims, spacing_mm, i));
                sum += distances[count++];
            }
    qsort(distances, (size_t)count, sizeof *distances, lob_by_real);
    const double at = 0.95 * (double)(count - 1);
    const int64_t below = (int64_t)at, above = below + 1 < count ? below + 1 : below;
    row->hd95_mm = distances[below] + (distances[above] - distances[below]) * (at - (double)below);
    row->mean_surface_mm = sum / (double)count;
    free(distances);
    free(surface[0]);
    free(surface[1]);
}
