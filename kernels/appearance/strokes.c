/* Strokes by slice, and what they say by their places. */
#include "kernels/appearance/strokes.h"

#include <stdlib.h>
#include <string.h>

static int64_t slices_of(lob_dims dims)
{
    return dims.nx + dims.ny + dims.nz;
}

static void count_plane(const lob_strokes *own, const void *seeds, lob_type type, int64_t z)
{
    const lob_dims d = own->dims;
    const size_t bytes = lob_type_of(type)->bytes;
    for (int64_t y = 0; y < d.ny; y++) {
        const int64_t first = (z * d.ny + y) * d.nx;
        /* Rows are mostly without strokes. */
        if (lob_all_zero((const char *)seeds + (size_t)first * bytes, (size_t)d.nx * bytes))
            continue;
        for (int64_t x = 0; x < d.nx; x++) {
            const int32_t label = lob_label_at(seeds, type, first + x);
            if (label == 0) continue;
            lob_strokes_in(own, 0, x)[label - 1]++;
            lob_strokes_in(own, 1, y)[label - 1]++;
            lob_strokes_in(own, 2, z)[label - 1]++;
        }
    }
}

lob_status lob_strokes_count(lob_strokes *strokes, const void *seeds, lob_type type, lob_dims dims,
                             int32_t labels, int threads, lob_error *error)
{
    const int64_t n = lob_product(slices_of(dims), labels, 1, 1);
    bool failed = false;
    *strokes = (lob_strokes){.dims = dims, .labels = labels};
    if (n >= 0) strokes->across = calloc((size_t)n + 1, sizeof *strokes->across);
    if (!strokes->across) return lob_fail(error, LOB_ENOMEM, "no memory left to count strokes");
#pragma omp parallel num_threads(threads)
    {
        lob_strokes own = *strokes;
        own.across = calloc((size_t)n + 1, sizeof *own.across);
#pragma omp critical(lob_strokes_sum)
        failed = failed || !own.across;
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t z = 0; z < dims.nz; z++)
            if (!failed) count_plane(&own, seeds, type, z);
#pragma omp critical(lob_strokes_sum)
        for (int64_t i = 0; !failed && i < n; i++) strokes->across[i] += own.across[i];
        free(own.across);
    }
    if (!failed) return LOB_OK;
    lob_strokes_free(strokes);
    return lob_fail(error, LOB_ENOMEM, "no memory left to count strokes");
}

void lob_strokes_free(lob_strokes *strokes)
{
    free(strokes->across);
    *strokes = (lob_strokes){0};
}

/* First and last slice that hold a label, or any (0); false: none does. */
static bool extent(int64_t *first, int64_t *last, const lob_strokes *strokes, int axis,
                   int32_t label)
{
    bool found = false;
    for (int64_t s = 0; s < lob_side(strokes->dims, axis); s++) {
        const int64_t *in = lob_strokes_in(strokes, axis, s);
        int64_t held = label ? in[label - 1] : 0;
        for (int32_t l = 0; !label && l < strokes->labels; l++) held += in[l];
        if (held == 0) continue;
        if (!found) *first = s;
        *last = s;
        found = true;
    }
    return found;
}

int32_t lob_strokes_background(const lob_strokes *strokes)
{
    int32_t best = 0;
    int most = -1;
    double largest = 0;
    for (int32_t l = 1; l <= strokes->labels; l++) {
        int faces = 0;
        double box = 1;
        bool held = false;
        for (int axis = 0; axis < 3; axis++) {
            int64_t low = 0, high = 0, a = 0, z = 0;
            extent(&low, &high, strokes, axis, 0);
            held = extent(&a, &z, strokes, axis, l);
            if (high > low) faces += (a == low) + (z == high);
            box *= (double)(z - a + 1);
        }
        if (!held || faces < most || (faces == most && box < largest)) continue;
        best = l;
        most = faces;
        largest = box;
    }
    return best;
}

int lob_strokes_axis(const lob_strokes *strokes)
{
    int64_t fewest = INT64_MAX;
    int best = -1;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t side = lob_side(strokes->dims, axis);
        int64_t held = 0;
        if (side == 1) return -1;
        for (int64_t s = 0; s < side; s++) {
            const int64_t *in = lob_strokes_in(strokes, axis, s);
            int32_t l = 0;
            while (l < strokes->labels && in[l] == 0) l++;
            held += l < strokes->labels;
        }
        if (held > fewest) continue;
        fewest = held;
        best = axis;
    }
    return best;
}

int64_t lob_strokes_drawn(int64_t *slices, const lob_strokes *strokes, int32_t label, int axis)
{
    const int64_t side = lob_side(strokes->dims, axis);
    int64_t fullest = 1, n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t s = 0; s < side; s++) {
            const int64_t *in = lob_strokes_in(strokes, axis, s);
            int64_t all = 0;
            for (int32_t l = 0; l < strokes->labels; l++) all += in[l];
            if (in[label - 1] == 0 || all == in[label - 1]) continue;
            if (pass == 0 && all > fullest) fullest = all;
            if (pass == 1 && all * 4 >= fullest) slices[n++] = s;
        }
    return n;
}
