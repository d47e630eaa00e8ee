/* Numbering fragments on the CPU: the components of equal labels, by components' table of runs. */
#include "kernels/supervoxels/connect/fragments.h"

#include "kernels/components/join/run_table.h"

/* lob_run_table.make_bits: where rows have labels, and where other labels begin. */
static void make_bits(lob_run_table *t, int64_t row, void *user)
{
    const lob_component_rule *not_zero = user;
    uint64_t *bits = t->foreground + row * t->words, *starts = t->starts + row * t->words;
    lob_bits_foreground(bits, t->image, NULL, not_zero, row);
    if (starts == bits) return;
    lob_bits_equal(starts, t->image, row, row, -1);
    lob_bits_start_runs(starts, bits, t->words);
}

/* The image, whose labels these are, has been read by now. */
static void write_row(const lob_run_table *t, const lob_row_runs *row, void *user)
{
    int32_t *const to = (int32_t *)user + row->row * t->dims.nx;
    for (int64_t i = 0; i < row->count; i++) {
        const int32_t fragment = (int32_t)t->number[row->first_piece + row->piece[i]] + 1;
        for (int64_t x = row->run[i].start; x < row->run[i].end; x++) to[x] = fragment;
    }
}

static lob_status number(int32_t *labels, int64_t *fragments, const lob_supervoxels_rule *rule,
                         int threads, lob_budget *budget, lob_progress *stages, lob_error *error)
{
    const double from = stages->to, share = 0.005;
    const double joined[2] = {from + share, from + 2 * share};
    lob_component_rule not_zero = {.ranged = false};
    lob_volume image = lob_volume_empty();
    image.data = labels;
    image.type = LOB_I32;
    image.dims = (lob_dims){rule->side[0], rule->side[1], rule->side[2]};
    lob_run_table t = {.dims = image.dims,
                       .join = LOB_JOIN_EQUAL,
                       .image = &image,
                       .neighbours = rule->slice_axis < 0 ? 6 : 4,
                       .slice_axis = rule->slice_axis,
                       .threads = threads,
                       .budget = budget,
                       .stages = stages,
                       .make_bits = make_bits,
                       .user = &not_zero};
    lob_status st = lob_label_runs(&t, joined, error);
    if (st == LOB_OK && t.components > INT32_MAX - 1)
        st = lob_fail(error, LOB_EDATA,
                      "the supervoxels fall into more than 2147483646 connected parts; ask for "
                      "larger ones");
    if (st == LOB_OK) st = lob_run_table_visit(&t, write_row, labels, from + 3 * share, error);
    *fragments = t.components;
    lob_run_table_free(&t);
    return st;
}

lob_status lob_fragments_number(int32_t *labels, int64_t *fragments,
                                const lob_supervoxels_rule *rule, int threads, lob_budget *budget,
                                lob_progress *stages, lob_error *error)
{
    const lob_status st = number(labels, fragments, rule, threads, budget, stages, error);
    if (st != LOB_ENOMEM || threads == 1) return st;
    lob_error_begin(error);
    return number(labels, fragments, rule, 1, budget, stages, error);
}
