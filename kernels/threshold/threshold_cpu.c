/* Thresholds on the CPU. */
#include "kernels/arrays.h"
#include "kernels/simd_clones.h"
#include "kernels/threshold/threshold_rule.h"

#include <stdlib.h>

enum { ROW = 1024 };

/* Values as doubles; what is not data becomes NaN, which reaches no bound. */
#define ROW_VALUES(type, ctype, name, integer, lowest, highest)                                \
    case type: {                                                                               \
        const ctype *v = (const ctype *)image->data + first;                                   \
        for (int64_t i = 0; i < n; i++) value[i] = image->slope * (double)v[i] + image->inter; \
        break;                                                                                 \
    }

LOB_SIMD_CLONES(void, label_row, (labels, image, mask, rule, first, n), uint8_t *labels,
                const lob_volume *image, const uint8_t *mask, const lob_threshold_rule *rule,
                int64_t first, int64_t n)
{
    double value[ROW];
    uint8_t reached[ROW] = {0};
    LOB_TYPE_SWITCH(image->type, ROW_VALUES);
    for (int k = 0; k < rule->bounds; k++) {
        const double bound = rule->bound[k];
        for (int64_t i = 0; i < n; i++) reached[i] = (uint8_t)(reached[i] + (value[i] >= bound));
    }
    for (int64_t i = 0; i < n; i++) labels[i] = rule->label[reached[i]];
    if (image->type == LOB_F32)
        for (int64_t i = 0; i < n; i++) {
            const float v = ((const float *)image->data)[first + i];
            if (!(v - v == 0)) labels[i] = 0;
        }
    if (image->type == LOB_F64)
        for (int64_t i = 0; i < n; i++) {
            const double v = ((const double *)image->data)[first + i];
            if (!(v - v == 0)) labels[i] = 0;
        }
    if (mask)
        for (int64_t i = 0; i < n; i++) labels[i] = mask[first + i] ? labels[i] : 0;
}

/* The thresholds that depend on the data. */
static lob_status find(lob_threshold_stats *stats, const lob_threshold_input *in,
                       const lob_threshold_options *options, const lob_context *context,
                       lob_error *error)
{
    const lob_histogram_input from = {in->image, 0, in->mask};
    lob_budget budget = {.who = "thresholds", .limit = context->max_memory};
    lob_histogram_bins bins;
    int64_t *counts;
    if (options->kind == LOB_THRESHOLD_PERCENTILE)
        return lob_percentiles_cpu(stats->threshold, &options->percent, 1, NULL, &from, context,
                                   error);
    LOB_TRY(lob_histogram_cpu(&bins, &counts, &from, context, error));
    const lob_status st = lob_otsu(stats, &bins, counts, options, in->image, &budget, error);
    stats->working_bytes = budget.peak;
    free(counts);
    return st;
}

void lob_threshold_label(uint8_t *labels, const lob_threshold_input *in,
                         const lob_threshold_stats *stats, const lob_threshold_options *options,
                         int threads)
{
    const lob_threshold_rule rule = lob_threshold_rule_of(stats, options, in->image);
    const int64_t voxels = lob_voxels(in->image);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < voxels; first += ROW)
        label_row(labels + first, in->image, in->mask, &rule, first,
                  voxels - first < ROW ? voxels - first : ROW);
}

lob_status lob_threshold_cpu(uint8_t *labels, lob_threshold_stats *stats,
                             const lob_threshold_input *in, const lob_threshold_options *options,
                             const lob_context *context, lob_error *error)
{
    lob_error_begin(error);
    LOB_TRY(lob_check_memory(in->place, in->image, NULL, error));
    LOB_TRY(lob_threshold_check(in, options, error));
    if (!lob_threshold_given(stats, options))
        LOB_TRY(lob_error_end(error, find(stats, in, options, context, error)));
    lob_threshold_label(labels, in, stats, options, context->threads);
    return LOB_OK;
}
