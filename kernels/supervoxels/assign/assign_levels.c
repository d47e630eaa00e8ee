/* Levels for supervoxels from stored voxels: as kernels/levels makes them, or in CIELAB. */
#include "kernels/supervoxels/assign/assign_levels.h"

#include "kernels/simd_clones.h"

enum { SEGMENT = 256 };

/* lob_lab of a segment: arithmetic in vectors, look-ups in between. */
LOB_SIMD_CLONES(void, lab_levels, (out, stride, plan, image, is_data, at, n), uint16_t *out,
                int64_t stride, const lob_supervoxels_plan *plan, const lob_volume *image,
                const uint8_t *is_data, int64_t at, int32_t n)
{
    const uint8_t *red = (const uint8_t *)image->data + at;
    const uint8_t *green = red + lob_voxels(image), *blue = green + lob_voxels(image);
    const uint16_t *linear = plan->linear, *root = plan->root;
    uint32_t x[SEGMENT], y[SEGMENT], z[SEGMENT]; /* red, green, blue; entries; roots */
    for (int32_t i = 0; i < n; i++) {
        x[i] = linear[red[i]];
        y[i] = linear[green[i]];
        z[i] = linear[blue[i]];
    }
#pragma omp simd
    for (int32_t i = 0; i < n; i++) {
        const uint32_t r = x[i], g = y[i], b = z[i];
        x[i] = lob_lab_x(r, g, b);
        y[i] = lob_lab_y(r, g, b);
        z[i] = lob_lab_z(r, g, b);
    }
    for (int32_t i = 0; i < n; i++) {
        x[i] = root[x[i]];
        y[i] = root[y[i]];
        z[i] = root[z[i]];
    }
#pragma omp simd
    for (int32_t i = 0; i < n; i++) {
        const uint16_t mask = (uint16_t)-is_data[i];
        out[i] = lob_lab_lightness((int32_t)y[i]) & mask;
        out[stride + i] = lob_lab_a((int32_t)x[i], (int32_t)y[i]) & mask;
        out[2 * stride + i] = lob_lab_b((int32_t)y[i], (int32_t)z[i]) & mask;
    }
}

static void channel_levels(uint16_t *level, int c, const lob_supervoxels_plan *plan,
                           const lob_volume *image, const uint8_t *is_data, int64_t at, int64_t n)
{
    const lob_view whole = lob_view_whole(image->dims); /* x may run on into the next row */
    const lob_data data = {.image = image};
    const uint16_t lowest = plan->lowest[c];
    lob_levels_row(level, is_data, &plan->levels, &data, c, &whole, at, 0, 0, n);
    if (lowest == 0) return;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) level[i] = is_data[i] ? (uint16_t)(level[i] - lowest) : 0;
}

void lob_assign_levels(uint16_t *out, int64_t stride, const lob_supervoxels_plan *plan,
                       const lob_volume *image, const int32_t *is_data, int64_t at, int64_t n)
{
    for (int64_t x = 0; x < n; x += SEGMENT) {
        uint8_t is_some[SEGMENT];
        const int32_t m = n - x < SEGMENT ? (int32_t)(n - x) : SEGMENT;
#pragma omp simd
        for (int64_t i = 0; i < m; i++) is_some[i] = is_data[x + i] != 0;
        if (plan->rule.lab) {
            lab_levels(out + x, stride, plan, image, is_some, at + x, m);
            continue;
        }
        for (int c = 0; c < plan->rule.channels; c++)
            channel_levels(out + c * stride + x, c, plan, image, is_some, at + x, m);
    }
}
