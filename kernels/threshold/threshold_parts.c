/* Otsu's method and percentiles from counts that parts of an image and ranks add up. */
#include "kernels/threshold/threshold_parts.h"

#include "kernels/budget.h"
#include "kernels/histogram/histogram_bins.h"
#include "kernels/threshold/threshold_rule.h"

typedef struct {
    const lob_threshold_parts *parts;
    const lob_context *context;
    lob_error *error;
    lob_budget budget;
    lob_extremes extremes;
    lob_histogram_bins bins;
    const lob_selection *selection; /* NULL: bins are counted */
    uint64_t *counts;               /* columns of them */
    int64_t columns;
} search;

static lob_histogram_input values_of(const lob_threshold_input *part)
{
    return (lob_histogram_input){part->image, 0, part->mask};
}

static lob_status see_extremes(void *visitor, const lob_threshold_input *part)
{
    search *const w = visitor;
    const lob_histogram_input in = values_of(part);
    return lob_histogram_add_extremes(&w->extremes, &in, w->context);
}

static lob_status see_counts(void *visitor, const lob_threshold_input *part)
{
    search *const w = visitor;
    const lob_histogram_input in = values_of(part);
    return lob_histogram_add_counts(w->counts, &w->bins, w->selection, &in, w->context, w->error);
}

/* The counts of all ranks' parts, in place of those before. */
static lob_status count(search *w, int64_t columns)
{
    lob_budget_free(&w->budget, w->counts, w->columns, sizeof *w->counts);
    w->counts = NULL;
    w->columns = columns;
    LOB_TRY(lob_budget_calloc(&w->budget, &w->counts, columns, sizeof *w->counts, w->error));
    LOB_TRY(w->parts->each(w->parts->user, see_counts, w));
    return lob_team_reduce(w->parts->team, (int64_t *)w->counts, (int)columns, LOB_TEAM_SUM,
                           w->error);
}

static lob_status find_otsu(lob_threshold_stats *stats, search *w,
                            const lob_threshold_options *options)
{
    const lob_volume *const image = w->parts->image;
    LOB_TRY(w->parts->each(w->parts->user, see_extremes, w));
    LOB_TRY(lob_extremes_of_team(&w->extremes, w->parts->team, image->type, w->error));
    lob_histogram_settle(&w->bins, &w->extremes, image->type);
    if (w->bins.count > 0) LOB_TRY(count(w, w->bins.count));
    const lob_status st =
        lob_otsu(stats, &w->bins, (int64_t *)w->counts, options, image, &w->budget, w->error);
    stats->working_bytes = w->budget.peak;
    return st;
}

static lob_status find_percentile(lob_threshold_stats *stats, search *w,
                                  const lob_threshold_options *options)
{
    const lob_volume *const image = w->parts->image;
    double percent;
    lob_selection s;
    bool any = true;
    lob_selection_percents(&percent, &options->percent, 1, image->slope);
    lob_selection_begin(&s, image->type, LOB_SELECT_DIGIT_BITS);
    w->selection = &s;
    while (any && s.done < s.key_bits) {
        LOB_TRY(count(w, lob_selection_columns(&s)));
        any = lob_selection_take(&s, w->counts, &percent, 1);
    }
    if (!any) return lob_percentiles_no_data(w->error);
    lob_selection_end(stats->threshold, &s, 1, image->slope, image->inter);
    return LOB_OK;
}

lob_status lob_threshold_of_parts(lob_threshold_stats *stats, const lob_threshold_parts *parts,
                                  const lob_threshold_options *options, const lob_context *context,
                                  lob_error *error)
{
    search w = {
        .parts = parts,
        .context = context,
        .error = error,
        .budget = {.who = "thresholds", .limit = context->max_memory}
    };
    const lob_threshold_input in = {.image = parts->image};
    LOB_TRY(lob_threshold_check(&in, options, error));
    if (lob_threshold_given(stats, options)) return LOB_OK;
    const lob_status st = options->kind == LOB_THRESHOLD_OTSU ? find_otsu(stats, &w, options)
                                                              : find_percentile(stats, &w, options);
    lob_budget_free(&w.budget, w.counts, w.columns, sizeof *w.counts);
    return st;
}
