/* The plan of a supervoxel call: options checked, the grid laid, weights and tables made. */
#include "kernels/supervoxels/supervoxels_plan.h"

#include "kernels/levels/levels_voxel.h"
#include "volumes/free.h"

#include <stdlib.h>

lob_supervoxels_options lob_supervoxels_defaults(void)
{
    return (lob_supervoxels_options){
        .method = LOB_SLIC,
        .slice_axis = -1,
        .compactness = 0.05,
        .ratio = 0.075,
        .iterations = 10,
        .range = {-INFINITY, INFINITY},
        .smallest = 0.25
    };
}

static const double QUARTER_TURN = 1.57079632679489661923;

static lob_status check_options(const lob_supervoxels_options *options, lob_error *error)
{
    if (options->method != LOB_SLIC && options->method != LOB_SLICO && options->method != LOB_LSC)
        return lob_fail(error, LOB_EARG, "there is no supervoxel method number %d",
                        (int)options->method);
    if (options->slice_axis < -1 || options->slice_axis > 2)
        return lob_fail(error, LOB_EARG, "slice axis %d: it is 0, 1, 2 or -1", options->slice_axis);
    if (!(options->size_mm >= 0 && options->size_mm < INFINITY) || options->count < 0)
        return lob_fail(error, LOB_EARG, "size and count of supervoxels must be above 0");
    if ((options->size_mm > 0) == (options->count > 0))
        return lob_fail(error, LOB_EARG, "give either the size of supervoxels or their count");
    if (!(options->compactness > 0 && options->compactness <= 1e6))
        return lob_fail(error, LOB_EARG, "the compactness lies above 0 and is at most 1e6");
    if (!(options->ratio > 0 && options->ratio <= 1e3))
        return lob_fail(error, LOB_EARG, "the ratio lies above 0 and is at most 1000");
    if (options->iterations < 1)
        return lob_fail(error, LOB_EARG, "%d iterations: at least 1 is needed",
                        options->iterations);
    if (!(options->range[0] <= options->range[1]))
        return lob_fail(error, LOB_EARG, "the range's lower end must not exceed its upper end");
    if (!(options->smallest >= 0 && options->smallest <= 1))
        return lob_fail(error, LOB_EARG, "the share of the smallest fragments lies in 0..1");
    return LOB_OK;
}

lob_status lob_supervoxels_check(const lob_supervoxels_input *in,
                                 const lob_supervoxels_options *options, lob_error *error)
{
    const lob_volume *image = in->image;
    LOB_TRY(check_options(options, error));
    if (image->channels < 1 || image->channels > LOB_SUPERVOXELS_MAX_CHANNELS)
        return lob_fail(error, LOB_EDATA, "the image has %d channels; supervoxels take up to %d",
                        image->channels, LOB_SUPERVOXELS_MAX_CHANNELS);
    if (options->lab && (image->channels != 3 || image->type != LOB_U8))
        return lob_fail(error, LOB_EARG,
                        "CIELAB needs three channels of uint8, red, green and blue; the image has "
                        "%d of %s",
                        image->channels, lob_type_of(image->type)->name);
    if (lob_dims_voxels(image->dims) < 0)
        return lob_fail(error, LOB_EDATA, "the image has a side below 1, or too many voxels");
    for (int a = 0; a < 3; a++)
        if (lob_side(image->dims, a) > LOB_SUPERVOXELS_MAX_SIDE)
            return lob_fail(error, LOB_EDATA,
                            "the image has a side of %lld voxels; up to %d are "
                            "taken",
                            (long long)lob_side(image->dims, a), LOB_SUPERVOXELS_MAX_SIDE);
    return LOB_OK;
}

/* ---- grid ---- */

static bool across_slices(const lob_supervoxels_options *options, int axis)
{
    return axis == options->slice_axis;
}

/* Cells along an axis: as many as bring them nearest to the size, but none smaller than a voxel. */
static double cells_along(double side, double spacing_mm, double size_mm)
{
    const double cells = floor(side * spacing_mm / size_mm + 0.5);
    return fmax(1, fmin(side, cells));
}

/*
 * The size at which a grid has `count` cells: the root of a cell's share of the volume. An axis
 * that is shorter than such a cell has one cell, and an axis whose voxels are longer has one cell
 * per voxel, whatever the size: then the other axes have what is left of the count.
 */
static double size_for_count(const double side[3], const double spacing_mm[3], bool free_axis[3],
                             double count)
{
    double size = 0;
    for (bool done = false; !done;) {
        double share = 1 / count;
        int axes = 0;
        done = true;
        for (int a = 0; a < 3; a++)
            if (free_axis[a]) share *= side[a] * spacing_mm[a], axes++;
        if (axes == 0) return size > 0 ? size : 1;
        size = pow(share, 1.0 / axes);
        for (int a = 0; a < 3 && done; a++) {
            if (!free_axis[a]) continue;
            const bool one = side[a] * spacing_mm[a]<size, each = spacing_mm[a]> size;
            if (!one && !each) continue;
            free_axis[a] = done = false;
            if (!one) count = fmax(1, count / side[a]);
        }
    }
    return size;
}

static lob_status lay_grid(lob_supervoxels_plan *plan, const lob_volume *image,
                           const lob_supervoxels_options *options, lob_error *error)
{
    lob_supervoxels_rule *rule = &plan->rule;
    const double *spacing_mm = image->geometry.spacing_mm;
    double side[3], clusters = 1, nominal = 1;
    bool free_axis[3];
    for (int a = 0; a < 3; a++) {
        side[a] = (double)lob_side(image->dims, a);
        free_axis[a] = side[a] > 1 && !across_slices(options, a);
    }
    /* The count is of supervoxels, and cells without data become none. */
    const double voxels = side[0] * side[1] * side[2], data = (double)plan->levels.data_voxels;
    plan->size_mm = options->size_mm > 0 ? options->size_mm
                                         : size_for_count(side, spacing_mm, free_axis,
                                                          (double)options->count * (voxels / data));
    for (int a = 0; a < 3; a++) {
        const double cells = across_slices(options, a)
                                 ? side[a]
                                 : cells_along(side[a], spacing_mm[a], plan->size_mm);
        rule->side[a] = (int32_t)side[a];
        rule->cells[a] = (int32_t)cells;
        rule->cell_side[a] = (float)(side[a] / cells);
        clusters *= cells;
        nominal *= side[a] / cells;
    }
    if (clusters > INT32_MAX - 1)
        return lob_fail(error, LOB_EDATA,
                        "%.0f supervoxels are more than labels can number; ask for larger ones",
                        clusters);
    rule->clusters = (int32_t)clusters;
    rule->small = (int64_t)ceil(options->smallest * nominal);
    return LOB_OK;
}

/* ---- weights ---- */

/* Does the axis add nothing to distances? It has one voxel, or lies across slices. */
static bool is_constant(const lob_supervoxels_rule *rule, int axis)
{
    return rule->side[axis] == 1 || axis == rule->slice_axis;
}

static lob_status weigh_positions(lob_supervoxels_plan *plan, const lob_volume *image,
                                  double compactness, lob_error *error)
{
    lob_supervoxels_rule *rule = &plan->rule;
    for (int a = 0; a < 3; a++) {
        rule->position_weight[a] = 0;
        if (is_constant(rule, a)) continue;
        const double weight = compactness * image->geometry.spacing_mm[a] / plan->size_mm;
        if (!(weight * rule->side[a] < 1e18))
            return lob_fail(error, LOB_EARG, "a size of %g mm is too small for voxels of %g mm",
                            plan->size_mm, image->geometry.spacing_mm[a]);
        rule->position_weight[a] = (float)weight;
    }
    return LOB_OK;
}

/* The largest distance of slic, with positions and levels scaled by `scale`. */
static double largest_distance(const lob_supervoxels_rule *rule, double range, double scale)
{
    const double levels = range * scale + 1;
    double square = rule->channels * levels * levels;
    for (int a = 0; a < 3; a++) {
        const double along =
            (double)rule->position_weight[a] * scale * ((double)rule->cell_side[a] + 2) + 1;
        square += along * along;
    }
    return square;
}

/* slic: the finest steps, by powers of 2, that keep distances below LOB_SLIC_LIMIT. */
static void choose_steps(lob_supervoxels_rule *rule, int32_t range)
{
    int shift = -15;
    while (largest_distance(rule, range, ldexp(1, -shift)) >= LOB_SLIC_LIMIT) shift++;
    for (int a = 0; a < 3; a++) rule->position_weight[a] = ldexpf(rule->position_weight[a], -shift);
    rule->step_shift = shift < 31 ? shift : 31;
    rule->level = ldexpf(1, -rule->step_shift);
    rule->max_step = lob_slic_step((uint32_t)range, rule);
}

static uint16_t level_of(const lob_levels *levels, uint64_t bits, double stored)
{
    return levels->exact ? (uint16_t)(bits - levels->low_bits)
                         : lob_level_mapped(stored, levels->low, levels->per_unit);
}

/* Levels start at each channel's lowest one. Returns the largest level of any channel. */
static int32_t find_lowest_levels(lob_supervoxels_plan *plan, const lob_extremes *extremes)
{
    const lob_levels *levels = &plan->levels;
    int32_t range = 1;
    for (int c = 0; c < plan->rule.channels; c++) {
        const lob_extremes *e = &extremes[c];
        const uint16_t low = level_of(levels, e->low_bits, e->low);
        const uint16_t high = level_of(levels, e->high_bits, e->high);
        plan->lowest[c] = low;
        if (high - low > range) range = high - low;
    }
    return range;
}

/* ---- tables ---- */

static lob_cos_sin cos_sin_at(double angle)
{
    return (lob_cos_sin){(int16_t)lround(cos(angle) * LOB_COS_SIN_SCALE),
                         (int16_t)lround(sin(angle) * LOB_COS_SIN_SCALE)};
}

/* Up to the largest level; entries beyond it are not read, but sent. */
static void fill_level_table(lob_cos_sin *table, int32_t last, int threads)
{
#pragma omp parallel for num_threads(threads)
    for (int32_t i = 0; i <= last; i++) table[i] = cos_sin_at(QUARTER_TURN * i / last);
    for (int32_t i = last + 1; i < LOB_COS_SIN_ENTRIES; i++) table[i] = table[last];
}

static void fill_axis_tables(lob_cos_sin *table, const lob_supervoxels_rule *rule, int threads)
{
    for (int a = 0; a < 3; table += rule->side[a], a++) {
        const bool constant = is_constant(rule, a);
        const double step = (double)rule->side[a] / rule->cells[a];
#pragma omp parallel for num_threads(threads)
        for (int32_t x = 0; x < rule->side[a]; x++)
            table[x] = constant ? (lob_cos_sin){0, 0} : cos_sin_at(QUARTER_TURN * x / step);
    }
}

static lob_status make_cos_sin(lob_supervoxels_plan *plan, const lob_supervoxels_options *options,
                               int32_t range, int threads)
{
    lob_supervoxels_rule *rule = &plan->rule;
    const double chroma = 2.55, unit = 1.0 / ((double)LOB_COS_SIN_SCALE * LOB_COS_SIN_SCALE);
    const int64_t coordinates = lob_supervoxels_coordinates(rule);
    double square = 0;

    rule->shift = 0;
    while (range >> rule->shift >= LOB_COS_SIN_ENTRIES) rule->shift++;
    rule->position_gain = options->ratio * options->ratio * unit;
    rule->level_gain[0] = unit;
    rule->level_gain[1] = chroma * chroma * unit;
    for (int c = 0; c < rule->channels; c++) square += lob_lsc_table(rule, c) ? chroma * chroma : 1;
    for (int a = 0; a < 3; a++)
        if (!is_constant(rule, a)) square += options->ratio * options->ratio;
    rule->min_weight = (float)(square / 1024);

    plan->level_tables = rule->lab ? 2 : 1;
    plan->axis_cos_sin = malloc((size_t)coordinates * sizeof *plan->axis_cos_sin);
    plan->level_cos_sin =
        malloc((size_t)plan->level_tables * LOB_COS_SIN_ENTRIES * sizeof *plan->level_cos_sin);
    if (!plan->axis_cos_sin || !plan->level_cos_sin) return LOB_ENOMEM;
    fill_axis_tables(plan->axis_cos_sin, rule, threads);
    fill_level_table(plan->level_cos_sin, (rule->lab ? 100 * LOB_LAB_UNIT : range) >> rule->shift,
                     threads);
    if (rule->lab)
        fill_level_table(plan->level_cos_sin + LOB_COS_SIN_ENTRIES, range >> rule->shift, threads);
    return LOB_OK;
}

static lob_status make_lab(lob_supervoxels_plan *plan, bool roots)
{
    for (int i = 0; i < 256; i++) {
        const double v = i / 255.0;
        const double lab = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
        plan->linear[i] = (uint16_t)(lab * 65535 + 0.5);
    }
    if (!roots) return LOB_OK;
    plan->root = malloc(LOB_LAB_ROOTS * sizeof *plan->root);
    if (!plan->root) return LOB_ENOMEM;
    for (uint32_t i = 0, r = 0; i < LOB_LAB_ROOTS; i++) {
        while (r < UINT16_MAX && lob_lab_root_reaches(i, r + 1)) r++;
        plan->root[i] = (uint16_t)r;
    }
    return LOB_OK;
}

/* The most voxels that a cluster can have: it spans at most three cells along an axis. */
static double max_voxels_of_cluster(const lob_supervoxels_rule *rule)
{
    double max = 1;
    for (int a = 0; a < 3; a++) {
        const double side = rule->side[a], three_cells = 3 * ceil(side / rule->cells[a]);
        if (a != rule->slice_axis) max *= side < three_cells ? side : three_cells;
    }
    return max;
}

int64_t lob_supervoxels_plan_bytes(const lob_supervoxels_plan *plan)
{
    const int64_t levels = (int64_t)plan->level_tables * LOB_COS_SIN_ENTRIES;
    const int64_t entries =
        plan->axis_cos_sin ? lob_supervoxels_coordinates(&plan->rule) + levels : 0;
    const int64_t roots = plan->root ? LOB_LAB_ROOTS : 0;
    return entries * (int64_t)sizeof(lob_cos_sin) + roots * (int64_t)sizeof *plan->root;
}

lob_status lob_supervoxels_plan_make(lob_supervoxels_plan *plan, const lob_supervoxels_input *in,
                                     const lob_supervoxels_options *options,
                                     const lob_levels *levels, const lob_extremes *extremes,
                                     const lob_context *context, lob_error *error)
{
    *plan = (lob_supervoxels_plan){
        .levels = *levels,
        .rule = {.method = options->method,
                 .channels = in->image->channels,
                 .slice_axis = options->slice_axis,
                 .lab = options->lab}
    };
    if (levels->data_voxels == 0)
        return lob_fail(error, LOB_EDATA,
                        "no voxel is data: all lie outside the mask, the range or the finite "
                        "values");
    LOB_TRY(lay_grid(plan, in->image, options, error));
    const double max = max_voxels_of_cluster(&plan->rule);
    if (max > UINT32_MAX) /* voxels of fragments are counted in 32 bits */
        return lob_fail(error, LOB_EDATA,
                        "supervoxels of up to %.0f voxels are too large; ask for smaller ones",
                        max);

    /* In CIELAB compactness is a share of the range of L, whatever colours occur. */
    const int32_t range = options->lab ? UINT16_MAX : find_lowest_levels(plan, extremes);
    const int32_t whole = options->lab ? 100 * LOB_LAB_UNIT : range;
    plan->rule.level = (float)(1.0 / whole);
    LOB_TRY(weigh_positions(plan, in->image,
                            options->method == LOB_SLIC ? options->compactness * whole : 1, error));
    lob_status st = LOB_OK;
    if (options->method == LOB_SLIC) choose_steps(&plan->rule, range);
    const int threads = context->threads > 0 ? context->threads : 1;
    if (options->lab) st = make_lab(plan, !context->device);
    if (st == LOB_OK && options->method == LOB_LSC)
        st = make_cos_sin(plan, options, range, threads);
    if (st != LOB_OK) lob_supervoxels_plan_free(plan);
    return st;
}

void lob_supervoxels_plan_free(lob_supervoxels_plan *plan)
{
    LOB_FREE(plan->axis_cos_sin, plan->level_cos_sin, plan->root);
    *plan = (lob_supervoxels_plan){0};
}
