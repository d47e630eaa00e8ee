/* The generator of label volumes and chains. */
#include "tests/reference/labels_case.h"

#include "tests/reference/random.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t sides[] = {1, 1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 31, 37, 53, 67, 97};

/* Now and then no two voxels have one label: a tile's list of labels is as long as it gets. */
enum { EACH_DISTINCT = 32, DISTINCT_SIDE = 16, DISTINCT_SMALL_SIDE = 7, SMALL = 5000 };

static bool is_distinct(const labels_case *c)
{
    return c->number % EACH_DISTINCT == 6;
}

static void make_dims(labels_case *c, uint64_t *random, int64_t max_voxels)
{
    do {
        int64_t side[3];
        for (int a = 0; a < 3; a++)
            side[a] = sides[random_below(random, sizeof sides / sizeof *sides)];
        c->in.dims = (lob_dims){side[0], side[1], side[2]};
        c->n = lob_dims_voxels(c->in.dims);
    } while (c->n > max_voxels);
    if (is_distinct(c)) {
        /* the naive reference takes labels times voxels */
        const int64_t side = max_voxels < SMALL ? DISTINCT_SMALL_SIDE : DISTINCT_SIDE;
        c->in.dims = (lob_dims){side, side, side};
        c->n = lob_dims_voxels(c->in.dims);
    }
    /* multiples of 1/4, so that squared distances are exact and equal ones are equal */
    for (int a = 0; a < 3; a++)
        c->in.spacing_mm[a] =
            random_chance(random, 50) ? 1.0 : 0.25 * (double)(1 + random_below(random, 10));
}

static void make_values(labels_case *c, uint64_t *random)
{
    static const int32_t gaps[] = {1, 1, 3, 90, 5000, 40000000};
    const int32_t gap = gaps[random_below(random, 6)];
    int32_t value = 0;
    c->in.count = (int32_t)(random_chance(random, 10)   ? random_below(random, 300)
                            : random_chance(random, 10) ? 0
                                                        : 1 + random_below(random, 6));
    if (gap > 5000 && c->in.count > 50) c->in.count = 50;
    if (is_distinct(c)) c->in.count = (int32_t)c->n;
    c->values = malloc(((size_t)c->in.count + 1) * sizeof *c->values);
    if (!c->values) exit(75);
    for (int32_t i = 0; i < c->in.count; i++)
        c->values[i] = value += 1 + (int32_t)random_below(random, is_distinct(c) ? 1 : gap);
    c->in.values = c->values;
    c->in.type = lob_label_type(c->in.count);
    if (random_chance(random, 10)) c->in.type = LOB_I32;
}

enum { NOISE, CELLS, VESSELS, CHECKERBOARD, FULL, DISTINCT, PATTERNS };

/* The label at a voxel; points: of cells. */
static int32_t pattern_at(const labels_case *c, int pattern, const int64_t (*points)[4], int64_t n,
                          int64_t i, uint64_t *random)
{
    const int64_t nx = c->in.dims.nx, ny = c->in.dims.ny;
    const int64_t at[3] = {i % nx, i / nx % ny, i / nx / ny};
    int64_t nearest = INT64_MAX, label = 0;
    if (c->in.count == 0) return 0;
    if (pattern == NOISE)
        return random_chance(random, 60) ? 0 : (int32_t)random_below(random, c->in.count + 1);
    if (pattern == CHECKERBOARD) return (int32_t)((at[0] + at[1] + at[2]) % 2);
    if (pattern == FULL) return 1;
    if (pattern == DISTINCT) return (int32_t)i + 1;
    for (int64_t k = 0; k < n && pattern == CELLS; k++) {
        int64_t apart = 0;
        for (int a = 0; a < 3; a++) apart += (at[a] - points[k][a]) * (at[a] - points[k][a]);
        if (apart < nearest) {
            nearest = apart;
            label = points[k][3];
        }
    }
    if (pattern == CELLS && random_chance(random, 3)) label = 0;
    return (int32_t)label;
}

/* Draw walks of one to three voxels' width. */
static void draw_vessels(labels_case *c, uint64_t *random)
{
    const int64_t side[3] = {c->in.dims.nx, c->in.dims.ny, c->in.dims.nz};
    for (int walk = 0; walk < 6 && c->in.count > 0; walk++) {
        int64_t at[3], step[3];
        const int32_t label = 1 + (int32_t)random_below(random, c->in.count);
        const int64_t width = 1 + random_below(random, 3);
        for (int a = 0; a < 3; a++) at[a] = random_below(random, side[a]);
        for (int turn = 0; turn < 8; turn++) {
            for (int a = 0; a < 3; a++) step[a] = random_below(random, 3) - 1;
            for (int k = 0; k < 8; k++)
                for (int64_t w = 0; w < width * width; w++) {
                    const int64_t x = at[0] + k * step[0] + w % width;
                    const int64_t y = at[1] + k * step[1] + w / width, z = at[2] + k * step[2];
                    if (x < 0 || y < 0 || z < 0 || x >= side[0] || y >= side[1] || z >= side[2])
                        continue;
                    lob_label_put(c->labels, c->in.type, (z * side[1] + y) * side[0] + x, label);
                }
            for (int a = 0; a < 3; a++) at[a] += 7 * step[a];
        }
    }
}

static const char *fill(labels_case *c, uint64_t *random)
{
    static const char *const names[] = {"noise",        "cells", "vessels",
                                        "checkerboard", "full",  "distinct"};
    const int pattern = is_distinct(c)              ? DISTINCT
                        : random_chance(random, 85) ? (int)random_below(random, 3)
                                                    : (int)random_below(random, DISTINCT);
    int64_t points[12][4];
    const int64_t n = 2 + random_below(random, 11);
    for (int64_t k = 0; k < n; k++) {
        for (int a = 0; a < 3; a++) points[k][a] = random_below(random, lob_side(c->in.dims, a));
        points[k][3] = random_below(random, c->in.count + 1);
    }
    c->labels = calloc((size_t)c->n, lob_type_of(c->in.type)->bytes);
    if (!c->labels) exit(75);
    c->in.labels = c->labels;
    for (int64_t i = 0; i < c->n; i++)
        lob_label_put(c->labels, c->in.type, i,
                      pattern_at(c, pattern, (const int64_t(*)[4])points, n, i, random));
    if (pattern == VESSELS) draw_vessels(c, random);
    if (random_chance(random, 20)) {
        c->mask = calloc((size_t)c->n, 1);
        if (!c->mask) exit(75);
        for (int64_t i = 0; i < c->n; i++) c->mask[i] = random_chance(random, 70);
        c->in.mask = c->mask;
    }
    return names[pattern];
}

static void make_rules(labels_case *c, int s, uint64_t *random)
{
    lob_labels_step *step = &c->steps[s];
    int64_t last = 0;
    step->rest = random_chance(random, 50) ? LOB_LABELS_SAME : 0;
    step->rules = c->rules[s];
    for (int r = 0; r < LABELS_CASE_RULES && c->in.count > 0; r++) {
        const int32_t value = c->values[random_below(random, c->in.count)];
        const int64_t to = random_below(random, 5);
        if (value <= last) continue;
        last = value + (random_chance(random, 50) ? random_below(random, 50) : 0);
        if (last > INT32_MAX) last = INT32_MAX;
        c->rules[s][step->rule_count++] =
            (lob_labels_rule){value, (int32_t)last,
                              to == 0   ? 0
                              : to == 1 ? LOB_LABELS_SAME
                              : to == 2 ? c->values[random_below(random, c->in.count)]
                                        : (int32_t)(1 + random_below(random, 70000))};
    }
}

enum { FEW = 3000 }; /* voxels */

static void make_step(labels_case *c, int s, uint64_t *random)
{
    static const double lengths[] = {0, 0.3, 0.5, 1, 1, 1.25, 1.5, 2, 2.25, 3};
    lob_labels_step *step = &c->steps[s];
    step->kind = (lob_labels_kind)random_below(random, LOB_LABELS_STEPS);
    if (random_chance(random, 30) || is_distinct(c))
        step->kind = random_chance(random, 70) ? LOB_LABELS_SMOOTH : LOB_LABELS_MEDIAN;
    step->voxels = random_chance(random, 50);
    step->length = lengths[random_below(random, 10)];
    /* Windows larger than the volume, of sizes that the naive reference can afford. */
    const bool majority = step->kind == LOB_LABELS_SMOOTH || step->kind == LOB_LABELS_MEDIAN;
    if (majority && c->n <= FEW && !is_distinct(c) && random_chance(random, 25)) {
        const double most = LOB_LABELS_MAX_RADIUS / 3.5; /* 3 sigma are a radius */
        step->length = fmin(12 * step->length, most);
        for (int a = 0; a < 3 && !step->voxels; a++)
            step->length = fmin(step->length, most * c->in.spacing_mm[a]);
    }
    step->count = 1 + random_below(random, step->kind == LOB_LABELS_LARGEST ? 3 : 30);
    if (step->kind == LOB_LABELS_RECODE) make_rules(c, s, random);
}

static void describe(labels_case *c, const char *pattern)
{
    static const char *const kinds[] = {"recode", "sequential", "split", "largest", "min-size",
                                        "fill",   "boundary",   "slips", "smooth",  "median",
                                        "erode",  "dilate",     "open",  "close"};
    const lob_labels_input *in = &c->in;
    int at = snprintf(c->shape, sizeof c->shape,
                      "case %llu: %lldx%lldx%lld %s of %d %s, %g x %g x %g mm%s, %d neighbours, "
                      "axis %d:",
                      (unsigned long long)c->number, (long long)in->dims.nx, (long long)in->dims.ny,
                      (long long)in->dims.nz, pattern, in->count, lob_type_of(in->type)->name,
                      in->spacing_mm[0], in->spacing_mm[1], in->spacing_mm[2],
                      in->mask ? ", mask" : "", c->options.neighbours, c->options.slice_axis);
    for (int s = 0; s < in->step_count; s++)
        at += snprintf(c->shape + at, sizeof c->shape - (size_t)at, " %s %lld %g%s",
                       kinds[in->steps[s].kind], (long long)in->steps[s].count, in->steps[s].length,
                       in->steps[s].voxels ? "vox" : "mm");
}

void labels_case_make(labels_case *c, uint64_t number, int64_t max_voxels)
{
    static const int around[] = {6, 18, 26, 4, 8};
    uint64_t random = number * UINT64_C(7919) + 17;
    memset(c, 0, sizeof *c);
    c->number = number;
    make_dims(c, &random, max_voxels);
    make_values(c, &random);
    const char *pattern = fill(c, &random);
    c->options.slice_axis = random_chance(&random, 25) ? (int)random_below(&random, 3) : -1;
    c->options.neighbours =
        around[c->options.slice_axis < 0 ? random_below(&random, 3) : 3 + random_below(&random, 2)];
    c->in.steps = c->steps;
    c->in.step_count = is_distinct(c) ? 1 : 1 + (int)random_below(&random, LABELS_CASE_STEPS);
    for (int s = 0; s < c->in.step_count; s++) make_step(c, s, &random);
    describe(c, pattern);
}

void labels_case_free(labels_case *c)
{
    free(c->labels);
    free(c->mask);
    free(c->values);
}
