/*
 * What supervoxels are, in the arithmetic that the CPU and CUDA share: grid, boxes, distances,
 * means, and the rule by which small pieces join. lob_supervoxels_rule holds the constants that the
 * host works out once (supervoxels_plan.h), small enough to be handed to a kernel by value.
 *
 * Planes. Each channel is a plane of uint16 levels from 0: a level of kernels/levels less the
 * lowest of its channel's data, or L, a, b of lob_lab. Sums of planes and of positions are
 * integers, so that no order of adding changes them.
 *
 * Grid. Cell c of an axis holds the voxels x with x * cells / side == c; cluster k starts as cell
 * k, counted along x first. Across slices every voxel is a cell of its own.
 *
 * Iteration 0 gives every data voxel to its own cell. Each iteration from 1 on gives every data
 * voxel to the nearest cluster among those whose box holds it, of equal ones to the lowest, and to
 * that of its own cell where no box holds it (which has a mean, since in iteration 0 this voxel was
 * its own). Then means and boxes follow from the new sums; a cluster left without voxels keeps what
 * it had. A cluster without any in iteration 0 has an empty box for ever.
 *
 * until_still ends after an iteration that left every cluster's sums (slico: and largest contrast)
 * as they were: then the next one would give the same labels.
 */
#ifndef LOB_SUPERVOXELS_VOXEL_H
#define LOB_SUPERVOXELS_VOXEL_H

#include "kernels/supervoxels/supervoxels.h"
#include "volumes/both.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Longest side: up to here a float holds every coordinate. */
#define LOB_SUPERVOXELS_MAX_SIDE (1 << 24)

enum {
    LOB_COS_SIN_SCALE = 2047,   /* cosines and sines of lsc are whole numbers in -top..top */
    LOB_COS_SIN_ENTRIES = 4096, /* of a table over levels */
    LOB_CLUSTER_SUMS = 4 + 6 + 2 * LOB_SUPERVOXELS_MAX_CHANNELS, /* at most, of a cluster */
    LOB_CLUSTER_FLOATS = 6 + 2 * LOB_SUPERVOXELS_MAX_CHANNELS    /* at most, of a centre */
};

typedef struct {
    lob_supervoxels_method method;
    int channels;
    int slice_axis;       /* -1: none */
    int32_t side[3];      /* voxels along x, y, z */
    int32_t cells[3];     /* of the grid; side[a] across slices and never more than side[a] */
    int32_t clusters;     /* product of cells */
    float step[3];        /* voxels a cell: side / cells */
    float position[3];    /* slic: compactness * range * spacing / size, in steps of levels;
                             slico: spacing / size */
    float level;          /* slic: steps a level, 2^-step_shift; slico: 1 / range of levels */
    int step_shift;       /* slic: a level's step is level >> step_shift, or << where below 0 */
    int32_t max_step;     /* slic: of the largest level */
    int shift;            /* lsc: entry of a level's wave is level >> shift */
    bool lab;             /* lsc: channels 1 and 2 have a wave and a gain of their own */
    double position_gain; /* lsc: square of feature per whole number of the tables, of axes */
    double level_gain[2]; /* lsc: of channel 0 and all others not Lab; of a and b */
    float min_weight;     /* lsc: of a cluster, a voxel: weights below are taken for it */
    int64_t small;        /* pieces with fewer voxels join a neighbour */
} lob_supervoxels_rule;

/* Which of level_gain and of the level waves a channel has. */
LOB_BOTH int lob_lsc_table(const lob_supervoxels_rule *rule, int channel)
{
    return rule->lab && channel > 0;
}

/* ---- grid ---- */

/* 64-bit division takes several times as long, and is seldom needed. */
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

/* Levels of L (0..100 units) and of a and b (from -128), from the roots of X, Y and Z. */
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
 * The levels of an sRGB colour under D65.
 *
 *   lab     out  3
 *   linear  in   256: linear light of a byte, 0..65535
 *   root    in   LOB_LAB_ROOTS: CIE's f(i / 65535) * 65535, the cube root with its straight foot
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
 * What is added up over a cluster's voxels, as int64_t: [0] their number, [1..3] x, y, z, then
 *   slic, slico  [4 + c]          levels of channel c
 *   lsc          [4 + f]          feature f
 * Features of lsc, whole numbers: 2a and 2a + 1 are cosine and sine of axis a; 6 + 2c and 7 + 2c
 * those of channel c.
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
 * Floats of a centre, which distances are taken from:
 *   slic, slico  [a] mean position times rule->position, [3 + c] mean level, slic: in steps and a
 *                whole number, slico: times rule->level; slico: [3 + channels] the factor of its
 *                squared contrasts
 *   lsc          [f] the factor of feature f
 */
LOB_BOTH int lob_cluster_floats(const lob_supervoxels_rule *rule)
{
    return rule->method == LOB_LSC     ? 6 + 2 * rule->channels
           : rule->method == LOB_SLICO ? 4 + rule->channels
                                       : 3 + rule->channels;
}

/* What a voxel is of a cluster of n: a mean is a sum times this, one division for all of them. */
LOB_BOTH double lob_share(int64_t n)
{
    return 1 / (double)n;
}

LOB_BOTH float lob_mean(int64_t sum, double share)
{
    return (float)((double)sum * share);
}

/* ---- boxes ---- */

/*
 * The voxels that may join a cluster along an axis: within a step of its mean, and in its cell or
 * those beside it. Within the grid, and empty only of a cluster that never had a mean.
 */
LOB_BOTH void lob_cluster_span(int32_t *low, int32_t *high, float mean, int32_t cell, int axis,
                               const lob_supervoxels_rule *rule)
{
    const int32_t side = rule->side[axis], cells = rule->cells[axis];
    const float step = rule->step[axis];
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
 * A distance has a part along each axis, which of a cluster depends on that coordinate alone, and a
 * part of its channels: (along(y) + along(z)) + along(x), then channel after channel.
 */

/* ---- slic ---- */

/*
 * Squares of whole numbers, in steps of levels that the plan makes as fine as keeps every distance
 * below LOB_SLIC_LIMIT:
 *
 *   distance = the three lob_slic_along, and for each channel (step of level - centre)^2
 *
 * So the cost of a step is known to the last bit however it is come by, (s - m)^2 or s^2 + m^2 -
 * 2sm, and a voxel's nearest cluster is found by integer minimums. A distance takes 24 bits; of the
 * other 8 of a word CUDA takes 6 to say whose it is and 2 to keep what is outside a box apart.
 */
#define LOB_SLIC_LIMIT (INT32_C(1) << 24)

LOB_BOTH int32_t lob_slic_step(uint32_t level, const lob_supervoxels_rule *rule)
{
    const int down = rule->step_shift > 0 ? rule->step_shift : 0, up = down - rule->step_shift;
    return (int32_t)(level << up >> down);
}

/* centre: of the axis. */
LOB_BOTH int32_t lob_slic_along(float x, float position, float centre)
{
    const float d =
        x * position - centre; /* 0 where the axis is one voxel, or lies across slices */
    return (int32_t)fmaf(d, d, 0.5f);
}

LOB_BOTH void lob_slic_centre(float *centre, const int64_t *sums, const lob_supervoxels_rule *rule)
{
    const double share = lob_share(sums[0]);
    const float half = rule->level < 1 ? rule->level / 2 : 0.5f; /* a step's levels lie above it */
    for (int a = 0; a < 3; a++) centre[a] = lob_mean(sums[1 + a], share) * rule->position[a];
    for (int c = 0; c < rule->channels; c++)
        centre[3 + c] = floorf(fmaf(lob_mean(sums[4 + c], share), rule->level, half));
}

/* ---- slico ---- */

/* Squared contrasts (levels times rule->level) below the first are taken for it; the second is what
 * a cluster starts with, for which the authors' code has (10 of 100 units)^2. */
#define LOB_SLICO_MIN   1e-4f
#define LOB_SLICO_START 1e-2f

/*
 * The squared distance of a voxel:
 *
 *   contrast = 0; for each channel in turn: contrast = lob_slico_add(contrast, ..)
 *   distance = fmaf(contrast, factor, the three lob_slico_along)
 *
 * and distances are compared as lob_distance_truncated makes them.
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
 * A distance of slico or a score of lsc without the last 6 of its 24 bits. No eye sees the
 * difference. The bits are free for a number that says whose it is, so that one minimum finds both:
 * of equal ones the lowest cluster, but of equal scores below 0 the highest.
 */
LOB_BOTH float lob_distance_truncated(float distance)
{
    uint32_t bits;
    memcpy(&bits, &distance, sizeof bits);
    bits &= ~UINT32_C(63);
    memcpy(&distance, &bits, sizeof bits);
    return distance;
}

/* Of two such, the second of the higher cluster: does it win? */
LOB_BOTH bool lob_distance_wins(float first, float second)
{
    return (second < first) | ((second == first) & (second < 0));
}

LOB_BOTH void lob_slico_centre(float *centre, const int64_t *sums, float largest,
                               const lob_supervoxels_rule *rule)
{
    const double share = lob_share(sums[0]);
    for (int a = 0; a < 3; a++) centre[a] = lob_mean(sums[1 + a], share) * rule->position[a];
    for (int c = 0; c < rule->channels; c++)
        centre[3 + c] = lob_mean(sums[4 + c], share) * rule->level;
    centre[3 + rule->channels] = 1.0f / (largest > LOB_SLICO_MIN ? largest : LOB_SLICO_MIN);
}

/* ---- lsc ---- */

/*
 * A voxel p has features phi(p) of constant length: per channel C cos and C sin of pi/2 times its
 * level's share of the range, per axis ratio cos and ratio sin of pi/2 times its coordinate in
 * steps (Li and Chen, equation 12; a and b of CIELAB as in Ban et al., equation 1). Its weight w(p)
 * is phi(p) times the mean of phi over all data (Ban et al., equation 2). A cluster's mean m is the
 * sum of phi over the sum of w; of |phi/w - m|^2 what depends on the cluster is, times w/2,
 *
 *   score = w |m|^2 / 2 - m phi
 *
 * and the least score wins. The weight being a product with phi too, with factors g, that is one
 * product, (g |m|^2 / 2 - m) phi. Features are whole numbers times the root of a gain, so that sums
 * stay integers; the factors hold the gains:
 *
 *   score = the three lob_lsc_along; for each channel in turn: score = lob_lsc_add(score, level's
 *           wave, &centre[6 + 2c])
 *
 * and scores are compared as lob_distance_truncated makes them. Axes of one voxel and across slices
 * have waves that are 0 throughout.
 */
typedef struct {
    int16_t cosine, sine;
} lob_cos_sin;

LOB_BOTH float lob_lsc_add(float sum, float cosine, float sine, const float *factors)
{
    return fmaf(sine, factors[1], fmaf(cosine, factors[0], sum));
}

/* factors: the two of the axis. */
LOB_BOTH float lob_lsc_along(lob_cos_sin wave, const float *factors)
{
    return fmaf((float)wave.sine, factors[1], (float)wave.cosine * factors[0]);
}

LOB_BOTH double lob_lsc_gain(const lob_supervoxels_rule *rule, int feature)
{
    return feature < 6 ? rule->position_gain
                       : rule->level_gain[lob_lsc_table(rule, (feature - 6) / 2)];
}

/* The factors of the weight, from the sums over all clusters after iteration 0. */
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
    const double least = (double)sums[0] * (double)rule->min_weight;
    double weight = 0, square = 0;
    for (int f = 0; f < features; f++) weight += (double)weights[f] * (double)sums[4 + f];
    const double share = 1 / (weight > least ? weight : least);
    for (int f = 0; f < features; f++) {
        const double mean = (double)sums[4 + f] * share;
        square += lob_lsc_gain(rule, f) * mean * mean;
    }
    for (int f = 0; f < features; f++) {
        const double mean = (double)sums[4 + f] * share;
        centre[f] = (float)((double)weights[f] * (square / 2) - lob_lsc_gain(rule, f) * mean);
    }
}

/*
 * Centre and box of cluster k from its sums; without voxels both stay as they are.
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
    const double share = lob_share(sums[0]);
    const int32_t cell[3] = {k % rule->cells[0], k / rule->cells[0] % rule->cells[1],
                             k / rule->cells[0] / rule->cells[1]};
    for (int a = 0; a < 3; a++)
        lob_cluster_span(&box[a], &box[3 + a], lob_mean(sums[1 + a], share), cell[a], a, rule);
    if (rule->method == LOB_LSC)
        lob_lsc_centre(centre, sums, weights, rule);
    else if (rule->method == LOB_SLICO)
        lob_slico_centre(centre, sums, largest, rule);
    else
        lob_slic_centre(centre, sums, rule);
}

/* ---- pieces ---- */

/*
 * Pieces are the connected parts of equal cluster (faces; not across slices), numbered in raster
 * order of their first voxels. A set of pieces is known by the lowest number in it; at first every
 * piece is a set. While there are sets of fewer than rule->small voxels that touch another: each of
 * these picks, of the sets that share a face with it, the one with the least lob_fragment_key; all
 * that picked are joined with what they picked, at once. At least half of those that picked are
 * gone then, so the rounds are few. No two sets that are large already are joined, because along
 * the picks of a chain of small ones there is at most one large, its end. Labels number the sets.
 */

/* Mean level of a piece, to a sixteenth. */
LOB_BOTH uint32_t lob_fragment_mean(int64_t sum, int64_t n)
{
    return (uint32_t)(((uint64_t)sum * 16 + (uint64_t)n / 2) / (uint64_t)n);
}

/* What one channel adds to the squared difference of two pieces. */
LOB_BOTH uint64_t lob_fragment_difference(uint32_t a, uint32_t b)
{
    const uint64_t d = a > b ? a - b : b - a;
    return d * d;
}

/* The lower the key the better the pick: squared difference, as the nearest float, then number. */
LOB_BOTH uint64_t lob_fragment_key(uint64_t apart, uint32_t other)
{
    const float f = (float)apart;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint64_t)bits << 32 | other;
}

#endif
