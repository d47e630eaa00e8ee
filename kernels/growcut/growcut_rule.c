/* GrowCut's options, costs and limits: everything before a voxel is grown. */
#include "kernels/growcut/growcut_rule.h"

#include "kernels/growcut/growcut_voxel.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)LOB_GROWCUT_MAX_CHANNELS == (int)LOB_LEVELS_MAX_CHANNELS,
               "every channel has levels");

lob_growcut_options lob_growcut_defaults(void)
{
    return (lob_growcut_options){
        .rule = LOB_RULE_STRENGTH,
        .norm = LOB_NORM_L2,
        .neighbours = 26,
        .slice_axis = -1,
        .range = {-INFINITY, INFINITY},
        .max_cost = INFINITY
    };
}

enum { MAX_FRACTION = 6 };

/* Neighbours of a voxel, at most `reach` axes apart: 6/18/26 in 3D, 4/8 where the view is flat. */
static void list_neighbours(lob_growcut_rule *rule, int neighbours)
{
    const bool flat = neighbours == 4 || neighbours == 8;
    const int reach = neighbours == 6 || neighbours == 4 ? 1 : neighbours == 26 ? 3 : 2;
    for (int z = flat ? 0 : -1; z <= (flat ? 0 : 1); z++)
        for (int y = -1; y <= 1; y++)
            for (int x = -1; x <= 1; x++) {
                const int apart = abs(x) + abs(y) + abs(z);
                if (apart == 0 || apart > reach) continue;
                int8_t *offset = rule->offset[rule->neighbours++];
                offset[0] = (int8_t)x;
                offset[1] = (int8_t)y;
                offset[2] = (int8_t)z;
            }
}

/* Units per level: as fine as keeps the largest cost of a step, in levels, within 30 bits. */
static double unit_of(const lob_growcut_options *options, const lob_growcut_rule *rule,
                      double max_levels)
{
    const bool whole =
        options->rule != LOB_RULE_STRENGTH && options->penalty == 0 && rule->fraction == 0;
    double unit = options->rule == LOB_RULE_SQUARE ? rule->dmax : whole ? 1.0 : 64.0;
    while (unit * max_levels >= 1 << 30) unit /= 2;
    return unit;
}

/* The largest cost of a step without its length, in levels. */
static double max_step_levels(const lob_growcut_options *options, const lob_growcut_rule *rule)
{
    const double levels = ldexp(rule->dmax, -rule->fraction);
    return options->rule == LOB_RULE_STRENGTH ? levels * log(rule->dmax + 1.0) : levels;
}

/* The largest distance of the image, and fraction bits as long as they help and the table fits. */
static void choose_distances(lob_growcut_rule *rule, const uint16_t *span, int channels,
                             lob_norm norm)
{
    const uint16_t none[LOB_GROWCUT_MAX_CHANNELS] = {0};
    if (channels > 1 && norm == LOB_NORM_ALPHAMAX) rule->fraction = 1;
    rule->dmax = lob_growcut_distance(span, none, channels, 1, norm, rule->fraction);
    while (channels > 1 && norm == LOB_NORM_L2 && rule->fraction < MAX_FRACTION &&
           rule->dmax < LOB_GROWCUT_TABLE_ENTRIES / 2)
        rule->dmax = lob_growcut_distance(span, none, channels, 1, norm, ++rule->fraction);
    if (rule->dmax == 0) rule->dmax = 1;
}

static double length_of(const int8_t offset[3], const lob_volume *image, const lob_view *view)
{
    double square = 0;
    for (int a = 0; a < 3; a++) {
        const double mm = offset[a] * image->geometry.spacing_mm[view->axis[a]];
        square += mm * mm;
    }
    return sqrt(square);
}

/* The tighter of max_cost and min_strength, in units. */
static uint64_t limit_of(const lob_growcut_rule *rule, const lob_growcut_options *options,
                         const lob_levels *levels)
{
    double units = options->max_cost / levels->level_step * rule->unit;
    if (options->min_strength > 0)
        units = fmin(units, -log(options->min_strength) * rule->e_folding);
    return units < 9e18 ? (uint64_t)units : UINT64_MAX;
}

lob_growcut_rule lob_growcut_rule_of(const lob_growcut_options *options, const lob_levels *levels,
                                     const uint16_t *span, const lob_volume *image,
                                     const lob_view *view)
{
    lob_growcut_rule rule = {.kind = options->rule};
    choose_distances(&rule, span, image->channels, options->norm);
    list_neighbours(&rule, options->neighbours);
    double mm[26], longest = 0;
    for (int k = 0; k < rule.neighbours; k++) {
        mm[k] = length_of(rule.offset[k], image, view);
        longest = fmax(longest, mm[k]);
    }
    /* Bounded, because a penalty over a tiny range can exceed what a double holds. */
    const double max_per_mm = DBL_MAX / 64 / (1 + longest);
    const double per_mm =
        options->penalty > 0 ? fmin(options->penalty / levels->level_step, max_per_mm) : 0;
    rule.unit = unit_of(options, &rule, max_step_levels(options, &rule) + per_mm * longest);
    rule.e_folding = ldexp(rule.dmax, -rule.fraction) * rule.unit;
    const bool adds = rule.kind != LOB_RULE_STRENGTH;
    rule.scale = adds ? ldexp(rule.unit, -rule.fraction) : rule.e_folding;
    if (rule.kind == LOB_RULE_SQUARE) rule.scale = rule.unit / rule.dmax;
    for (int k = 0; k < rule.neighbours; k++) {
        rule.extra[k] = lob_growcut_units(per_mm * mm[k] * rule.unit);
        if (rule.extra[k] > rule.max_step) rule.max_step = rule.extra[k];
    }
    rule.max_step += lob_growcut_units(adds ? rule.e_folding : log(rule.dmax) * rule.scale);
    rule.limit = limit_of(&rule, options, levels);
    return rule;
}

void lob_growcut_logarithms(double *ln, uint32_t last, int threads)
{
    const uint32_t few = 1 << 14; /* starting threads would take longer */
    ln[0] = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (last > few)
    for (uint32_t k = 1; k <= last; k++) ln[k] = log(k);
}

uint32_t *lob_growcut_costs(const lob_growcut_rule *rule)
{
    const size_t entries = (size_t)rule->dmax + 1;
    uint32_t *cost = malloc(entries * sizeof *cost);
    double *ln = malloc(entries * sizeof *ln);
    if (cost && ln) {
        if (rule->kind == LOB_RULE_STRENGTH) lob_growcut_logarithms(ln, rule->dmax, 1);
        for (uint32_t d = 0; d <= rule->dmax; d++)
            cost[d] = lob_growcut_cost(rule->kind, d, rule->dmax, rule->scale, ln);
    } else {
        free(cost);
        cost = NULL;
    }
    free(ln);
    return cost;
}

uint64_t lob_growcut_start(const lob_growcut_rule *rule, float strength)
{
    if (!(strength > 0 && strength <= 1)) return UINT64_MAX;
    return (uint64_t)(-log((double)strength) * rule->e_folding + 0.5);
}

float lob_growcut_strength(const lob_growcut_rule *rule, uint64_t units)
{
    return (float)fmax(exp(-(double)units / rule->e_folding), FLT_MIN);
}

void lob_growcut_stats_add(lob_growcut_stats *to, const lob_growcut_stats *part)
{
    to->data_voxels += part->data_voxels;
    to->not_finite += part->not_finite;
    to->seeds += part->seeds;
    to->seeds_outside += part->seeds_outside;
    to->reached += part->reached;
    to->ties += part->ties;
    to->largest_cost = fmax(to->largest_cost, part->largest_cost);
    to->level_step = fmax(to->level_step, part->level_step);
    if (part->rounds > to->rounds) to->rounds = part->rounds;
    to->fixed_point = to->fixed_point && part->fixed_point;
    if (part->key_bits > to->key_bits) to->key_bits = part->key_bits;
    if (part->working_bytes > to->working_bytes) to->working_bytes = part->working_bytes;
}

lob_status lob_growcut_check(const lob_growcut_input *in, const lob_growcut_options *options,
                             bool is_slab, lob_error *error)
{
    const lob_volume *image = in->image, *seeds = in->seeds;
    const int n = options->neighbours;
    const bool flat = options->slice_axis >= 0;
    if (options->slice_axis < -1 || options->slice_axis > 2)
        return lob_fail(error, LOB_EARG, "slice axis %d: it is 0, 1, 2 or -1", options->slice_axis);
    if (flat ? n != 4 && n != 8 : n != 6 && n != 18 && n != 26)
        return lob_fail(error, LOB_EARG, "%d neighbours: %s", n,
                        flat ? "slice by slice it is 4 or 8" : "in 3D it is 6, 18 or 26");
    if (!(options->penalty >= 0 && options->penalty < INFINITY))
        return lob_fail(error, LOB_EARG, "the penalty must be finite and at least 0");
    if (options->penalty > 0 &&
        (options->rule == LOB_RULE_STRENGTH || options->rule == LOB_RULE_FLOOD))
        return lob_fail(error, LOB_EARG,
                        "a penalty per mm needs the rule distance, value or square");
    if (options->rounds > 0 && options->rule == LOB_RULE_FLOOD)
        return lob_fail(error, LOB_EARG, "rounds are the automaton's; a flood has none");
    if (in->seed_strength && options->rule == LOB_RULE_FLOOD)
        return lob_fail(error, LOB_EARG, "seeds of a flood have no strengths");
    if (!(options->min_strength >= 0 && options->min_strength <= 1))
        return lob_fail(error, LOB_EARG, "the minimum strength must lie in 0..1");
    if (!(options->max_cost >= 0))
        return lob_fail(error, LOB_EARG, "the maximum cost must be at least 0");
    if (!(options->range[0] <= options->range[1]))
        return lob_fail(error, LOB_EARG, "the range's lower end must not exceed its upper end");
    if (options->rounds < 0)
        return lob_fail(error, LOB_EARG, "the number of rounds must be at least 0");
    if (options->tile && (options->tile < 4 || options->tile > 256))
        return lob_fail(error, LOB_EARG, "a tile has 4..256 voxels a side");
    if (options->key_bits != 0 && options->key_bits != 32 && options->key_bits != 64)
        return lob_fail(error, LOB_EARG, "keys have 32 or 64 bits");
    if (image->channels < 1 || image->channels > LOB_GROWCUT_MAX_CHANNELS)
        return lob_fail(error, LOB_EDATA, "the image has %d channels; GrowCut takes up to %d",
                        image->channels, LOB_GROWCUT_MAX_CHANNELS);
    if (lob_growcut_reads_values(options->rule) && image->channels > 1)
        return lob_fail(error, LOB_EDATA, "the image has %d channels; this rule reads one",
                        image->channels);
    if (memcmp(&image->dims, &seeds->dims, sizeof image->dims) != 0)
        return lob_fail(error, LOB_EDATA, "image and seeds have different sides");
    if (seeds->type != LOB_U8 && seeds->type != LOB_I16 && seeds->type != LOB_I32)
        return lob_fail(error, LOB_EDATA, "seeds must be dense labels");
    if (is_slab && lob_product(image->dims.nx, image->dims.ny, 1, 1) > INT32_MAX)
        return lob_fail(error, LOB_EDATA, "planes have more than 2^31 - 1 voxels");
    return in->labels >= 1 ? LOB_OK : lob_fail(error, LOB_EDATA, "there are no seeds");
}

lob_status lob_growcut_check_grown(const lob_growcut_stats *stats, lob_error *error)
{
    if (stats->seeds > 0) return LOB_OK;
    return lob_fail(error, LOB_EDATA,
                    "all %lld seed voxels lie outside the mask, the range or the finite values",
                    (long long)stats->seeds_outside);
}
