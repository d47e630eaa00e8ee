/* What appearance computes at a single voxel, on the CPU and on a GPU. */
#ifndef LOB_APPEARANCE_VOXEL_H
#define LOB_APPEARANCE_VOXEL_H

#include "volumes/both.h"

#include <math.h>
#include <stdint.h>

LOB_BEGIN_DECLS

enum {
    LOB_APPEARANCE_ONE = 1024, /* scores of one nat */
    LOB_APPEARANCE_LIMIT = 16 * LOB_APPEARANCE_ONE,
    LOB_APPEARANCE_EXPS = 2 * LOB_APPEARANCE_LIMIT + 1 /* exp of scores -limit..limit */
};

/* How a channel's values fall into bins. */
typedef struct {
    float low, width; /* width > 0 */
    int bins;
} lob_appearance_scale;

/* 0: below, 1..bins, bins + 1: above, bins + 2: NaN. */
LOB_BOTH int lob_appearance_bin(float value, const lob_appearance_scale *scale)
{
    const float at = (value - scale->low) / scale->width;
    if (at < 0) return 0;
    if (at < (float)scale->bins) return (int)at + 1;
    return at == at ? scale->bins + 1 : scale->bins + 2;
}

/* Where a value lies between the least, 0, and the greatest under strokes, of so many channels. */
LOB_BOTH float lob_appearance_value(float value, const lob_appearance_scale *scale, int channels)
{
    const float at = (value - scale->low) / (scale->width * (float)scale->bins);
    return (at > 0 ? at < 1 ? at : 1 : 0) / (float)channels;
}

/* Blocks of 2^shift voxels along each axis, of which the last may be cut off. */
typedef struct {
    int shift[3];
    int64_t nx, ny, count; /* blocks along x and y, and all */
} lob_appearance_blocks;

/* The block that holds a voxel. */
LOB_BOTH int64_t lob_appearance_block(const lob_appearance_blocks *b, int64_t x, int64_t y,
                                      int64_t z)
{
    return ((z >> b->shift[2]) * b->ny + (y >> b->shift[1])) * b->nx + (x >> b->shift[0]);
}

/* The score that a label loses at a distance. */
LOB_BOTH int32_t lob_appearance_far(float distance, float reach, float far_score)
{
    const float beyond = distance / reach - 1;
    const float share = beyond > 0 ? (beyond < 1 ? beyond : 1) : 0;
    return (int32_t)rintf(far_score * share);
}

/* What a slice takes of the outlines' signed distances: weights of two slices of the stack, and
 * what is subtracted; all in mm, divided by the width over which a border is known. */
typedef struct {
    int32_t first, second;
    float first_weight, second_weight;
    float minus, per_mm;
} lob_appearance_place;

/* Signed distances of a stack of slices, and where each voxel finds its own. */
typedef struct {
    const lob_appearance_place *places; /* one for each slice of the volume across the axis */
    const float *signed_mm;             /* of the stack; negative inside */
    int axis;
    int64_t slice;     /* from slice to slice of the stack, in voxels */
    int64_t stride[3]; /* from voxel to voxel of the volume; 0 along the axis */
    float most, least; /* nats that it may give */
} lob_appearance_shape;

/* Lengths inside are positive, and limited so that slices without a border stay comparable. */
LOB_BOTH float lob_appearance_inside(float signed_mm)
{
    return signed_mm > 1e4f ? -1e4f : signed_mm < -1e4f ? 1e4f : -signed_mm;
}

/* The gain of a voxel whose signed distances in the two slices are these. */
LOB_BOTH int32_t lob_appearance_shape_of(const lob_appearance_shape *s,
                                         const lob_appearance_place *p, float first, float second)
{
    const float a = lob_appearance_inside(first), b = lob_appearance_inside(second);
    const float at_first = a * p->first_weight, at_second = b * p->second_weight;
    float gain = at_first + at_second;
    gain = gain - p->minus;
    gain = gain * p->per_mm;
    gain = gain > s->most ? s->most : gain;
    gain = gain < s->least ? s->least : gain;
    return (int32_t)rintf((float)LOB_APPEARANCE_ONE * gain);
}

LOB_BOTH int32_t lob_appearance_shape_at(const lob_appearance_shape *s, int64_t x, int64_t y,
                                         int64_t z)
{
    const lob_appearance_place *p = &s->places[s->axis == 0 ? x : s->axis == 1 ? y : z];
    const int64_t in_slice = x * s->stride[0] + y * s->stride[1] + z * s->stride[2];
    return lob_appearance_shape_of(s, p, s->signed_mm[in_slice + p->first * s->slice],
                                   s->signed_mm[in_slice + p->second * s->slice]);
}

/* Where a voxel lies between the nodes of local scores, along an axis. */
enum { LOB_APPEARANCE_PARTS = 256 };
typedef struct {
    int64_t first, second; /* nodes before and after it; the slice's, across slices */
    int32_t part;          /* of the way from first to second, of LOB_APPEARANCE_PARTS */
} lob_appearance_between;

/* Scores at nodes in slices. */
typedef struct {
    const int16_t *table; /* of each node `entries` numbers, -limit..limit; NULL: there are none */
    int64_t entries;
    const lob_appearance_between *between[3]; /* for each x, y and z */
    int axis;                                 /* across slices */
} lob_appearance_local;

/* The four nodes around a voxel, and what each weighs, together LOB_APPEARANCE_PARTS squared. */
typedef struct {
    int64_t at[4];
    int32_t weight[4];
} lob_appearance_corners;

LOB_BOTH lob_appearance_corners lob_appearance_corners_of(const lob_appearance_local *l, int64_t x,
                                                          int64_t y, int64_t z)
{
    const lob_appearance_between px = l->between[0][x], py = l->between[1][y],
                                 pz = l->between[2][z];
    const lob_appearance_between s = l->axis == 0 ? px : l->axis == 1 ? py : pz;
    const lob_appearance_between u = l->axis == 0 ? py : px, v = l->axis == 2 ? py : pz;
    const int32_t all = LOB_APPEARANCE_PARTS;
    lob_appearance_corners c;
    c.at[0] = (s.first + u.first + v.first) * l->entries;
    c.at[1] = (s.first + u.second + v.first) * l->entries;
    c.at[2] = (s.first + u.first + v.second) * l->entries;
    c.at[3] = (s.first + u.second + v.second) * l->entries;
    c.weight[0] = (all - u.part) * (all - v.part);
    c.weight[1] = u.part * (all - v.part);
    c.weight[2] = (all - u.part) * v.part;
    c.weight[3] = u.part * v.part;
    return c;
}

/* The score of an entry between nodes, rounded. The sum is at most 2^30 in size. */
LOB_BOTH int32_t lob_appearance_local_score(const int16_t *table, const lob_appearance_corners *c,
                                            int64_t entry)
{
    const int32_t low =
        table[c->at[0] + entry] * c->weight[0] + table[c->at[1] + entry] * c->weight[1] +
        table[c->at[2] + entry] * c->weight[2] + table[c->at[3] + entry] * c->weight[3];
    const uint32_t above = (uint32_t)low + ((uint32_t)LOB_APPEARANCE_LIMIT << 16) + (1u << 15);
    return (int32_t)(above >> 16) - LOB_APPEARANCE_LIMIT;
}

/* exp of a score, limited; exps holds LOB_APPEARANCE_EXPS numbers. */
LOB_BOTH double lob_appearance_exp(const double *exps, int32_t score)
{
    if (score < -LOB_APPEARANCE_LIMIT) score = -LOB_APPEARANCE_LIMIT;
    if (score > LOB_APPEARANCE_LIMIT) score = LOB_APPEARANCE_LIMIT;
    return exps[score + LOB_APPEARANCE_LIMIT];
}

LOB_END_DECLS

#endif
