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

/* The fragments of a slab. */
static lob_status number(lob_fragments *f, int threads, lob_error *error)
{
    const double from = f->stages->to, share = 0.005;
    const double joined[2] = {from + share, from + 2 * share};
    lob_component_rule not_zero = {.ranged = false};
    lob_volume image = lob_volume_empty();
    image.data = f->labels;
    image.type = LOB_I32;
    image.dims = (lob_dims){f->rule->side[0], f->rule->side[1], f->planes};
    lob_run_table t = {.dims = image.dims,
                       .join = LOB_JOIN_EQUAL,
                       .image = &image,
                       .neighbours = f->rule->slice_axis < 0 ? 6 : 4,
                       .slice_axis = f->rule->slice_axis,
                       .threads = threads,
                       .budget = f->budget,
                       .stages = f->stages,
                       .make_bits = make_bits,
                       .user = &not_zero};
    lob_status st = lob_label_runs(&t, joined, error);
    if (st == LOB_OK && t.components > LOB_FRAGMENTS_MAX) st = lob_fragments_too_many(error);
    if (st == LOB_OK) st = lob_run_table_visit(&t, write_row, f->labels, from + 3 * share, error);
    f->count = t.components;
    lob_run_table_free(&t);
    return st;
}

static lob_status number_slab(lob_fragments *f, lob_error *error)
{
    const lob_status st = number(f, f->threads, error);
    if (st != LOB_ENOMEM || f->threads == 1) return st;
    lob_error_begin(error);
    return number(f, 1, error);
}

lob_status lob_fragments_number(lob_fragments *f, lob_error *error)
{
    if (lob_team_size(f->team) == 1) return number_slab(f, error);
    const int64_t plane = (int64_t)f->rule->side[0] * f->rule->side[1];
    const size_t bytes = (size_t)plane * sizeof(int32_t);
    int32_t *seam;
    LOB_TRY(lob_budget_alloc(f->budget, &seam, 5 * plane, sizeof *seam, error));
    memcpy(seam, f->labels, bytes);
    memcpy(seam + plane, f->labels + (f->planes - 1) * plane, bytes);
    lob_status st = number_slab(f, error);
    if (st == LOB_OK) st = lob_fragments_number_seams(f, seam, error);
    lob_budget_free(f->budget, seam, 5 * plane, sizeof *seam);
    return st;
}
