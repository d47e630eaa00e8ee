/* What the plan of supervoxels settles: steps of levels that slic's distances fit, and cells. */
#include "kernels/supervoxels/supervoxels_plan.h"
#include "tests/unit/cmocka_test.h"

typedef struct {
    int32_t range;
    int channels;
    double compactness, spacing_mm[3], size_mm;
    int slice_axis;
} wish;

/* The plan of an image of uint16 whose channels all have levels 0..range; false: refused. */
static bool planned(lob_supervoxels_plan *plan, const wish *w)
{
    lob_volume image = {
        .dims = {40, 30, 20},
          .channels = w->channels, .type = LOB_U16, .slope = 1
    };
    lob_supervoxels_options options = lob_supervoxels_defaults();
    const lob_supervoxels_input in = {.image = &image};
    const lob_levels levels = {.exact = true, .per_unit = 1, .data_voxels = lob_voxels(&image)};
    lob_extremes extremes[LOB_SUPERVOXELS_MAX_CHANNELS];
    lob_error error = {.text = ""};
    for (int a = 0; a < 3; a++) image.geometry.spacing_mm[a] = w->spacing_mm[a];
    for (int c = 0; c < w->channels; c++)
        extremes[c] = (lob_extremes){true, 0, w->range, 0, (uint64_t)w->range};
    options.size_mm = w->size_mm;
    options.compactness = w->compactness;
    options.slice_axis = w->slice_axis;
    return lob_supervoxels_plan_make(plan, &in, &options, &levels, extremes,
                                     &(lob_context){.threads = 1}, &error) == LOB_OK;
}

/* The largest distance that a voxel of the box can have, with steps `finer` times as fine. */
static double largest(const lob_supervoxels_rule *rule, int32_t range, double finer)
{
    const double levels = ldexp(range, -rule->step_shift) * finer;
    double sum = rule->channels * levels * levels;
    for (int a = 0; a < 3; a++)
        sum += pow((double)rule->position_weight[a] * finer * (double)rule->cell_side[a], 2);
    return sum;
}

/* A cluster of voxels that all have one level lies at that level's step. */
static void flat_clusters_lie_at_their_step(const lob_supervoxels_rule *rule, int32_t range)
{
    for (int i = 0; i <= 16; i++) {
        const int64_t level = (int64_t)range * i / 16, n = 7 + i;
        int64_t sums[4 + LOB_SUPERVOXELS_MAX_CHANNELS] = {n};
        float centre[3 + LOB_SUPERVOXELS_MAX_CHANNELS];
        for (int c = 0; c < rule->channels; c++) sums[4 + c] = n * level;
        lob_slic_centre(centre, sums, rule);
        for (int c = 0; c < rule->channels; c++)
            assert_int_equal((int)centre[3 + c], lob_slic_step((uint32_t)level, rule));
    }
}

TEST(distances_fit_and_steps_are_fine)
{
    static const int32_t ranges[] = {1, 2, 255, 4095, 65535};
    static const int channels[] = {1, 3, 16};
    static const double compactness[] = {1e-6, 0.05, 1, 20, 1e6}, thickness[] = {1e-3, 1, 1e3};
    int made = 0;
    for (int i = 0; i < 5 * 3 * 5 * 3 * 2; i++) {
        const wish w = {
            .range = ranges[i % 5],
            .channels = channels[i / 5 % 3],
            .compactness = compactness[i / 15 % 5],
            .spacing_mm = {1, 1, thickness[i / 75 % 3]},
            .size_mm = 6,
            .slice_axis = i / 225 ? 2 : -1
        };
        lob_supervoxels_plan plan;
        if (!planned(&plan, &w)) continue;
        made++;
        assert_true(largest(&plan.rule, w.range, 1) < LOB_SLIC_LIMIT);
        assert_true(plan.rule.step_shift >= -15 && plan.rule.step_shift <= 31);
        if (plan.rule.step_shift > -15 && plan.rule.step_shift < 31 && w.range > 2)
            assert_true(largest(&plan.rule, w.range, 2) > LOB_SLIC_LIMIT / 16.0);
        assert_int_equal(plan.rule.max_step, lob_slic_step((uint32_t)w.range, &plan.rule));
        flat_clusters_lie_at_their_step(&plan.rule, w.range);
        lob_supervoxels_plan_free(&plan);
    }
    assert_true(made > 400);
}

/* How thick slices are takes nothing from the levels of what lies within them. */
TEST(thickness_of_slices_does_not_matter)
{
    int shift[2];
    for (int i = 0; i < 2; i++) {
        const wish w = ROW(4000, 1, 3, {0.7, 0.7, i ? 5 : 0.7}, 2.1, 2);
        lob_supervoxels_plan plan;
        assert_true(planned(&plan, &w));
        shift[i] = plan.rule.step_shift;
        lob_supervoxels_plan_free(&plan);
    }
    assert_int_equal(shift[0], shift[1]);
}

/* Cells by 32 bits and by 64, on both sides of where the one gives way to the other. */
TEST(cells_by_either_division)
{
    static const int32_t sides[] = {1, 2, 41, 512, 65535, 65536, 65537, 1 << 20, 1 << 24};
    for (int i = 0; i < 9; i++)
        for (int j = 0; j <= i; j++) {
            const int32_t side = sides[i], cells = sides[j];
            for (int k = 0; k <= 64; k++) {
                const int64_t x = (int64_t)(side - 1) * k / 64;
                const int32_t cell = (int32_t)((int64_t)(cells - 1) * k / 64);
                assert_int_equal(lob_cell((int32_t)x, side, cells), x * cells / side);
                assert_int_equal(lob_cell(lob_cell_first(cell, side, cells), side, cells), cell);
            }
            assert_int_equal(lob_cell_first(cells, side, cells), side);
        }
    for (int64_t product = UINT32_MAX - 3LL; product < UINT32_MAX + 4LL; product++)
        assert_int_equal(lob_cell_quotient(product, 3), product / 3);
}
