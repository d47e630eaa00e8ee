/*
 * What supervoxels are, in the formulas that the CPU and CUDA share: the grid, boxes, distances,
 * means, and the rule by which small fragments join. lob_supervoxels_rule holds the constants,
 * which supervoxels_plan.c works out once; it is small enough to be handed to a kernel by value.
 *
 * Levels. Each channel has levels of 16 bits from 0: the level of kernels/levels less the lowest
 * one of the channel's data, or L, a, b of lob_lab. Sums of levels and of positions are integers,
 * so the order of additions does not matter.
 *
 * Grid. Cell c of an axis holds the voxels x with x * cells / side == c. Cluster k starts as cell
 * k, counted along x first. Along the axis across slices a cell is one voxel thick, so no
 * cluster crosses slices.
 *
 * Iterations. The start, iteration 0, gives every data voxel to the cluster of its own cell. Each
 * of the iterations 1 to N that are asked for gives every data voxel to the nearest cluster among
 * those whose box holds the voxel; of equally near clusters to the lowest; and if no box holds it,
 * to the cluster of its own cell. (That cluster has a mean, because in iteration 0 it had this
 * voxel.) Then the means and boxes follow from the new sums; a cluster without voxels keeps its old
 * ones. A cluster that has no voxel in iteration 0 has an empty box for ever.
 *
 * until_still ends after an iteration that changed no cluster's sums (slico: nor its largest
 * contrast), because the next one would give the same labels.
 */
#ifndef LOB_SUPERVOXELS_VOXEL_H
#define LOB_SUPERVOXELS_VOXEL_H

#include "kernels/supervoxels/supervoxels.h"
#include "volumes/both.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The longest side: up to here a float holds every coordinate. */
#define LOB_SUPERVOXELS_MAX_SIDE (1 << 24)

enum {
    LOB_COS_SIN_SCALE = 2047,   /* cosines and sines of lsc are integers in -scale..scale */
    LOB_COS_SIN_ENTRIES = 4096, /* of a table of levels */
    LOB_CLUSTER_SUMS = 4 + 6 + 2 * LOB_SUPERVOXELS_MAX_CHANNELS, /* at most, of a cluster */
    LOB_CLUSTER_FLOATS = 6 + 2 * LOB_SUPERVOXELS_MAX_CHANNELS    /* at most, of a centre */
};

typedef struct {
    lob_supervoxels_method method;
    int channels;
    int slice_axis;           /* -1: none */
    int32_t side[3];          /* voxels along x, y, z */
    int32_t cells[3];         /* of the grid; side[a] across slices and never more than side[a] */
    int32_t clusters;         /* product of cells */
    float cell_side[3];       /* voxels per cell: side / cells */
    float position_weight[3]; /* slic: compactness * range * spacing / size, in steps;
                             slico: spacing / size */
    float level;              /* slic: steps per level, 2^-step_shift; slico: 1 / range of levels */
    int step_shift;       /* slic: the step of a level is level >> step_shift, or << -step_shift */
    int32_t max_step;     /* slic: the step of the largest level */
    int shift;            /* lsc: a level's entry in the table is level >> shift */
    bool lab;             /* CIELAB; lsc: channels 1 and 2 have a table and a gain of their own */
    double position_gain; /* lsc: an axis feature is the root of this times an entry */
    double level_gain[2]; /* lsc: the same for levels, by lob_lsc_table */
    float min_weight; /* lsc: the least weight per voxel of a cluster: lower ones count as this */
    int64_t small;    /* fragments with fewer voxels join a neighbour */
} lob_supervoxels_rule;

/* Which of level_gain, and of the tables of levels, a channel has. */
LOB_BOTH int lob_lsc_table(const lob_supervoxels_rule *rule, int channel)
{
    return rule->lab && channel > 0;
}

/* ---- grid ---- */

/* A 64-bit division takes several times as long as one of 32 bits, and is seldom needed. */
LOB_BOTH int32_t lob_cell_quotient(int64_t product, int32_t divisor)
{
    return product <= UINT32_MAX ? (int32_t)((uint32_t)product / (uint32_t)divisor)
                                 : (int32_t)(product / divisor);
}

/* The cell of a coordinate. */
LOB_BOTH int32_t lob_cell(int32_t x, int32_t side, int32_t cells)
{
    return lob_cell_quotient((int64_t)x * cells, side);
}

/* The first coordinate of a cell in 0..cells; of cell number cells it is the side. */
LOB_BOTH int32_t lob_cell_first(int32_t cell, int32_t side, int32_t cells)
{
    return lob_cell_quotient((int64_t)cell * side + cells - 1, cells);
}

/* The layers of cells along z, layer..layer_end-1, whose clusters planes first..end-1 may join. */
LOB_BOTH void lob_cluster_layers(int32_t *layer, int32_t *layer_end, int64_t first, int64_t end,
                                 const lob_supervoxels_rule *rule)
{
    const int32_t side = rule->side[2], cells = rule->cells[2];
    const int32_t low = lob_cell((int32_t)first, side, cells),
                  high = lob_cell((int32_t)end - 1, side, cells);
    *layer = low > 0 ? low - 1 : 0;
    *layer_end = high + 2 < cells ? high + 2 : cells;
}

/* ---- sRGB to CIELAB ---- */

enum { LOB_LAB_UNIT = 257, LOB_LAB_ROOTS = 65536 }; /* levels per unit of L, a, b */

/*
 * From linear light, 0..65535, to the entry of the table of roots for X, Y or Z. The matrix's rows
 * are divided by the white point, so each adds up to 65536 and X, Y, Z stay within 0..65535.
 */
LOB_BOTH uint32_t lob_lab_x(uint32_t red, uint32_t green, uint32_t blue)
{
    return (28439u * red + 24655u * green + 12442u * blue + 32768u) >> 16;
}

LOB_BOTH uint32_t lob_lab_y(uint32_t red, uint32_t green, uint32_t blue)
{
    return (13938u * red + 46868u * green + 4730u * blue + 32768u) >> 16;
}

LOB_BOTH uint32_t lob_lab_z(uint32_t red, uint32_t green, uint32_t blue)
{
    return (1164u * red + 7174u * green + 57198u * blue + 32768u) >> 16;
}

/* Levels of L (0..100 units), a and b (from -128), from the roots of X, Y and Z. */
LOB_BOTH uint16_t lob_lab_lightness(int32_t y)
{
    const int32_t light = (116 * y + 127) / 255 - 16 * LOB_LAB_UNIT;
    return (uint16_t)(light > 0 ? light : 0);
}

enum { LOB_LAB_MIDDLE = 128 * LOB_LAB_UNIT * 255 + 127 };

LOB_BOTH uint16_t lob_lab_a(int32_t x, int32_t y)
{
    return (uint16_t)((500 * (x - y) + LOB_LAB_MIDDLE) / 255);
}

LOB_BOTH uint16_t lob_lab_b(int32_t y, int32_t z)
{
    return (uint16_t)((200 * (y - z) + LOB_LAB_MIDDLE) / 255);
}

/*
 * Is the root of entry i at least r, of 1..65535? Roots are CIE's f(i / 65535) * 65535, rounded: a
 * cube root, with a straight foot up to (6 / 29)^3. In whole numbers, so that each backend makes
 * the table itself.
 */
LOB_BOTH bool lob_lab_root_reaches(uint32_t i, uint32_t r)
{
    const uint32_t foot = 580;
    const uint64_t twice = 2 * (uint64_t)r - 1; /* what is half a step below r counts as r */
    return i <= foot ? twice * 3132 <= 2 * ((uint64_t)i * 24389 + 28311120)
                     : twice * twice * twice <= (uint64_t)i * 8 * UINT16_MAX * UINT16_MAX;
}

/*
 * The levels of an sRGB colour under D65.
 *
 *   lab     out  3
 *   linear  in   256: linear light of a byte, 0..65535
 *   root    in   LOB_LAB_ROOTS, as lob_lab_root_reaches says
 */
LOB_BOTH void lob_lab(uint16_t *lab, uint8_t r, uint8_t g, uint8_t b, const uint16_t *linear,
                      const uint16_t *root)
{
    const uint32_t red = linear[r], green = linear[g], blue = linear[b];
    const int32_t x = root[lob_lab_x(red, green, blue)], y = root[lob_lab_y(red, green, blue)],
                  z = root[lob_lab_z(red, green, blue)];
    lab[0] = lob_lab_lightness(y);
    lab[1] = lob_lab_a(x, y);
    lab[2] = lob_lab_b(y, z);
}

/* ---- sums ---- */

/*
 * The sums over a cluster's voxels, as int64_t: [0] their number, [1..3] x, y, z, then
 *   slic, slico  [4 + c]  level of channel c
 *   lsc          [4 + f]  feature f, an integer: 2a and 2a + 1 are the cosine and sine of axis a,
 *                         6 + 2c and 7 + 2c those of channel c
 */
LOB_BOTH int lob_cluster_features(const lob_supervoxels_rule *rule)
{
    return rule->method == LOB_LSC ? 6 + 2 * rule->channels : rule->channels;
}

LOB_BOTH int lob_cluster_sums(const lob_supervoxels_rule *rule)
{
    return 4 + lob_cluster_features(rule);
}

/*
 * The floats of a centre, which distances are measured to:
 *   slic   [a] mean position times rule->position_weight, [3 + c] mean level in steps, an integer
 *   slico  [a] the same, [3 + c] mean level times rule->level, [3 + channels] the factor of squared
 *          contrasts
 *   lsc    [f] the factor of feature f
 */
LOB_BOTH int lob_cluster_floats(const lob_supervoxels_rule *rule)
{
    return rule->method == LOB_LSC     ? 6 + 2 * rule->channels
           : rule->method == LOB_SLICO ? 4 + rule->channels
                                       : 3 + rule->channels;
}

/* Means are sums times this: one division per cluster. */
LOB_BOTH double lob_reciprocal(int64_t n)
{
    return 1 / (double)n;
}

LOB_BOTH float lob_mean(int64_t sum, double scale)
{
    return (float)((double)sum * scale);
}

/* ---- boxes ---- */

/*
 * A cluster's box along an axis: the voxels at most a step from its mean that lie in its cell or a
 * neighbouring one. It lies in the volume and is empty only if the cluster never had a
 * mean.
 */
LOB_BOTH void lob_cluster_span(int32_t *low, int32_t *high, float mean, int32_t cell, int axis,
                               const lob_supervoxels_rule *rule)
{
    const int32_t side = rule->side[axis], cells = rule->cells[axis];
    const float step = rule->cell_side[axis];
    if (axis == rule->slice_axis) {
        *low = *high = cell;
        return;
    }
    const int32_t first = cell > 0 ? lob_cell_first(cell - 1, side, cells) : 0;
    const int32_t last = lob_cell_first(cell + 2 < cells ? cell + 2 : cells, side, cells) - 1;
    const int32_t from = (int32_t)ceilf(mean - step), to = (int32_t)floorf(mean + step);
    *low = from > first ? from : first;
    *high = to < last ? to : last;
}

/*
 * A distance is the sum of a part per axis, which depends on that coordinate of the voxel alone,
 * and of a part of the channels. Floats are added in this order: (along(y) + along(z)) + along(x),
 * then channel after channel.
 */

/* ---- slic ---- */

/*
 * Distances are integers, in steps: multiples or fractions of a level, as fine as keeps every
 * distance below LOB_SLIC_LIMIT:
 *
 *   distance = the three lob_slic_along + for each channel (step of level - centre)^2
 *
 * So all backends get the same bits whether they compute (s - m)^2 or s^2 + m^2 - 2sm, and the
 * nearest cluster is an integer minimum. A distance takes 24 bits of a word; of the other 8 CUDA
 * uses 6 for the cluster's rank in its table and 2 to mark what lies outside the box.
 */
#define LOB_SLIC_LIMIT (INT32_C(1) << 24)

LOB_BOTH int32_t lob_slic_step(uint32_t level, const lob_supervoxels_rule *rule)
{
    const int down = rule->step_shift > 0 ? rule->step_shift : 0, up = down - rule->step_shift;
    return (int32_t)(level << up >> down);
}

/* centre: the float of the axis. */
LOB_BOTH int32_t lob_slic_along(float x, float position, float centre)
{
    const float d =
        x * position - centre; /* 0 where the axis is one voxel, or lies across slices */
    return (int32_t)fmaf(d, d, 0.5f);
}

LOB_BOTH void lob_slic_centre(float *centre, const int64_t *sums, const lob_supervoxels_rule *rule)
{
    const double scale = lob_reciprocal(sums[0]);
    const float half = rule->level < 1 ? rule->level / 2 : 0.5f; /* steps round levels down */
    for (int a = 0; a < 3; a++) centre[a] = lob_mean(sums[1 + a], scale) * rule->position_weight[a];
    for (int c = 0; c < rule->channels; c++)
        centre[3 + c] = floorf(fmaf(lob_mean(sums[4 + c], scale), rule->level, half));
}

/* ---- slico ---- */

/* The least squared contrast (of levels times rule->level): lower ones count as this. And what a
 * cluster starts with; the authors' code has (10 of 100 units)^2. */
#define LOB_SLICO_MIN   1e-4f
#define LOB_SLICO_START 1e-2f

/*
 * The squared distance of a voxel:
 *
 *   contrast = 0; for each channel in turn: contrast = lob_slico_add(contrast, ..)
 *   distance = fmaf(contrast, factor, the three lob_slico_along)
 *
 * and distances are compared by their lob_distance_truncated.
 */
LOB_BOTH float lob_slico_along(float x, float position, float centre)
{
    const float d = x * position - centre;
    return d * d;
}

/* level and mean are scaled by rule->level. */
LOB_BOTH float lob_slico_add(float sum, float level, float mean)
{
    const float d = level - mean;
    return fmaf(d, d, sum);
}

/*
 * A distance of slico or a score of lsc without the last 6 of its 24 bits, which makes no visible
 * difference. CUDA keeps the cluster's rank among the candidates in these bits (ranks are in the
 * order of the clusters' numbers), so that one minimum finds both: of equal ones the lowest
 * cluster, but of equal scores below 0 the highest.
 */
LOB_BOTH float lob_distance_truncated(float distance)
{
    uint32_t bits;
    memcpy(&bits, &distance, sizeof bits);
    bits &= ~UINT32_C(63);
    memcpy(&distance, &bits, sizeof bits);
    return distance;
}

/* Of two such, where the second is the higher cluster's: is the second one nearer? */
LOB_BOTH bool lob_distance_wins(float first, float second)
{
    return (second < first) | ((second == first) & (second < 0));
}

LOB_BOTH void lob_slico_centre(float *centre, const int64_t *sums, float largest,
                               const lob_supervoxels_rule *rule)
{
    const double scale = lob_reciprocal(sums[0]);
    for (int a = 0; a < 3; a++) centre[a] = lob_mean(sums[1 + a], scale) * rule->position_weight[a];
    for (int c = 0; c < rule->channels; c++)
        centre[3 + c] = lob_mean(sums[4 + c], scale) * rule->level;
    centre[3 + rule->channels] = 1.0f / (largest > LOB_SLICO_MIN ? largest : LOB_SLICO_MIN);
}

/* ---- lsc ---- */

/*
 * A voxel p has features phi(p): per channel C cos and C sin of pi/2 times its level's share of the
 * range, per axis ratio cos and ratio sin of pi/2 times its coordinate in cells (Li and Chen,
 * equation 12; a and b of CIELAB as in Ban et al., equation 1). Its weight w(p) is phi(p) times the
 * mean of phi over all data (Ban et al., equation 2). A cluster's mean m is the sum of phi over the
 * sum of w. The part of |phi/w - m|^2 that depends on the cluster, times w/2, is
 *
 *   score = w |m|^2 / 2 - m phi
 *
 * and the least score is the nearest cluster. The weight is a product with phi too, with factors g;
 * so the score is one product, (g |m|^2 / 2 - m) phi. Features are integers times the root of a
 * gain, so that sums stay integers; the factors of a centre include the gains:
 *
 *   score = the three lob_lsc_along; for each channel in turn:
 *   score = lob_lsc_add(score, cosine and sine of the level, &centre[6 + 2c])
 *
 * and scores are compared by their lob_distance_truncated. Axes of one voxel and across slices have
 * cosines and sines of 0.
 */
typedef struct {
    int16_t cosine, sine;
} lob_cos_sin;

LOB_BOTH float lob_lsc_add(float sum, float cosine, float sine, const float *factors)
{
    return fmaf(sine, factors[1], fmaf(cosine, factors[0], sum));
}

/* factors: the two of the axis. */
LOB_BOTH float lob_lsc_along(lob_cos_sin at, const float *factors)
{
    return fmaf((float)at.sine, factors[1], (float)at.cosine * factors[0]);
}

LOB_BOTH double lob_lsc_gain(const lob_supervoxels_rule *rule, int feature)
{
    return feature < 6 ? rule->position_gain
                       : rule->level_gain[lob_lsc_table(rule, (feature - 6) / 2)];
}

/* The factors g of the weight, from the sums over all clusters after iteration 0. */
LOB_BOTH void lob_lsc_weights(float *weights, const int64_t *totals,
                              const lob_supervoxels_rule *rule)
{
    for (int f = 0; f < lob_cluster_features(rule); f++)
        weights[f] = (float)(lob_lsc_gain(rule, f) * ((double)totals[4 + f] / (double)totals[0]));
}

LOB_BOTH void lob_lsc_centre(float *centre, const int64_t *sums, const float *weights,
                             const lob_supervoxels_rule *rule)
{
    const int features = lob_cluster_features(rule);
    const double lowest = (double)sums[0] * (double)rule->min_weight;
    double weight = 0, square = 0;
    for (int f = 0; f < features; f++) weight += (double)weights[f] * (double)sums[4 + f];
    const double scale = 1 / (weight > lowest ? weight : lowest);
    for (int f = 0; f < features; f++) {
        const double mean = (double)sums[4 + f] * scale;
        square += lob_lsc_gain(rule, f) * mean * mean;
    }
    for (int f = 0; f < features; f++) {
        const double mean = (double)sums[4 + f] * scale;
        centre[f] = (float)((double)weights[f] * (square / 2) - lob_lsc_gain(rule, f) * mean);
    }
}

/*
 * Update cluster k: its centre and box from its sums. Without voxels both stay as they are.
 *
 *   centre   in/out  lob_cluster_floats
 *   box      in/out  lowest x, y, z, highest x, y, z; before the first sums 0, 0, 0, -1, -1, -1
 *   sums     in      lob_cluster_sums
 *   largest  in      slico: the largest squared contrast to this cluster of the voxels that the
 *                    iteration gave it; LOB_SLICO_START after iteration 0
 *   weights  in      lsc: of lob_lsc_weights
 */
LOB_BOTH void lob_cluster_update(float *centre, int32_t *box, int32_t k, const int64_t *sums,
                                 float largest, const float *weights,
                                 const lob_supervoxels_rule *rule)
{
    if (sums[0] == 0) return;
    const double scale = lob_reciprocal(sums[0]);
    const int32_t cell[3] = {k % rule->cells[0], k / rule->cells[0] % rule->cells[1],
                             k / rule->cells[0] / rule->cells[1]};
    for (int a = 0; a < 3; a++)
        lob_cluster_span(&box[a], &box[3 + a], lob_mean(sums[1 + a], scale), cell[a], a, rule);
    if (rule->method == LOB_LSC)
        lob_lsc_centre(centre, sums, weights, rule);
    else if (rule->method == LOB_SLICO)
        lob_slico_centre(centre, sums, largest, rule);
    else
        lob_slic_centre(centre, sums, rule);
}

/* ---- fragments ---- */

/*
 * Fragments are the connected parts of clusters (through faces; not across slices), numbered in
 * raster order of their first voxels. Small ones join others in phases, as in Boruvka's algorithm
 * for minimum spanning trees. A set of fragments has the number of its lowest one; at first every
 * fragment is a set. A phase: each set of fewer than rule->small voxels that touches another set
 * picks, of the sets that share a face with it, the one with the least lob_fragment_key. All picks
 * are joined at once. At least half of the sets that picked are gone then, so phases are few. They
 * end when no small set touches another. Two large sets are never joined, because a chain of picks
 * has at most one large set, its end. Labels number the sets that are left.
 */

/* Mean level of a set, in sixteenths. */
LOB_BOTH uint32_t lob_fragment_mean(int64_t sum, int64_t n)
{
    return (uint32_t)(((uint64_t)sum * 16 + (uint64_t)n / 2) / (uint64_t)n);
}

/* What one channel adds to the squared difference of two sets. */
LOB_BOTH uint64_t lob_fragment_difference(uint32_t a, uint32_t b)
{
    const uint64_t d = a > b ? a - b : b - a;
    return d * d;
}

/* The order of picks: the squared difference, as the nearest float, then the number. */
LOB_BOTH uint64_t lob_fragment_key(uint64_t apart, uint32_t other)
{
    const float f = (float)apart;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint64_t)bits << 32 | other;
}

#endif
