/* Thresholds by definition. */
#include "tests/reference/threshold_case.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>

double *threshold_reference_sorted(int64_t *n, const lob_volume *image, const uint8_t *mask)
{
    const int64_t voxels = lob_voxels(image);
    double *values = malloc((size_t)voxels * sizeof *values);
    if (!values) exit(75);
    *n = 0;
    for (int64_t i = 0; i < voxels; i++) {
        double stored;
        lob_values(&stored, image->data, image->type, i, 1);
        if (isfinite(stored) && (!mask || mask[i]))
            values[(*n)++] = image->slope * stored + image->inter;
    }
    qsort(values, (size_t)*n, sizeof *values, lob_by_real);
    return values;
}

double threshold_reference_percentile(const double *sorted, int64_t n, double percent)
{
    const double at = (double)(n - 1) * (percent / 100);
    const int64_t k = (int64_t)at < n - 1 ? (int64_t)at : n - 1;
    const int64_t next = k + 1 < n ? k + 1 : k;
    const double part = at - (double)k, apart = sorted[next] - sorted[k];
    return part >= 0.5 ? sorted[next] - apart * (1 - part) : sorted[k] + apart * part;
}

static double mean_of(const double *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i];
    return sum / (double)n;
}

static double squares_around(const double *v, int64_t n, double mean)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (v[i] - mean) * (v[i] - mean);
    return sum;
}

double threshold_reference_share(const double *sorted, int64_t n, const double *threshold,
                                 int count)
{
    const double mean = mean_of(sorted, n);
    double between = 0;
    int64_t from = 0;
    for (int k = 0; k <= count; k++) {
        int64_t to = from;
        while (to < n && (k == count || sorted[to] <= threshold[k])) to++;
        if (to == from) return -1; /* an empty class */
        const double apart = mean_of(sorted + from, to - from) - mean;
        between += (double)(to - from) * apart * apart;
        from = to;
    }
    return between / squares_around(sorted, n, mean);
}

/* The best share with thresholds k.. at distinct values from `first` on. */
static double best_from(const double *sorted, int64_t n, const double *distinct, int64_t count,
                        double *threshold, int k, int thresholds, int64_t first)
{
    double best = -1;
    if (k == thresholds) return threshold_reference_share(sorted, n, threshold, thresholds);
    for (int64_t i = first; i + thresholds - k < count; i++) {
        threshold[k] = distinct[i];
        const double here =
            best_from(sorted, n, distinct, count, threshold, k + 1, thresholds, i + 1);
        if (here > best) best = here;
    }
    return best;
}

double threshold_reference_separability(const double *sorted, int64_t n, int classes)
{
    double threshold[LOB_THRESHOLD_MAX_CLASSES];
    double *distinct = malloc((size_t)(n + 1) * sizeof *distinct);
    int64_t count = 0;
    if (!distinct) exit(75);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1]) distinct[count++] = sorted[i];
    const double best =
        count < classes ? -1 : best_from(sorted, n, distinct, count, threshold, 0, classes - 1, 0);
    free(distinct);
    return best;
}
