/* The generator of random and adversarial supervoxel inputs. */
#include "tests/reference/supervoxels_case.h"

#include "tests/reference/put_number.h"
#include "tests/reference/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))

/* Random cases have the first of them. */
enum { FLAT, CHECKERED, NOISE, RAMP, BLOBS, SPRINKLED, OUTLIER, PATTERNS, BRIGHT = PATTERNS };

static const char *const pattern_names[] = {"flat",  "checkered", "noise",   "ramp",
                                            "blobs", "sprinkled", "outlier", "bright"};

/* A pattern's value at a voxel, in [0, 1]; channels differ in phase. */
static double pattern_at(int pattern, int64_t x, int64_t y, int64_t z, int channel, uint64_t *state)
{
    switch (pattern) {
    case FLAT:
        return 0.5;
    case CHECKERED:
        return (double)((x + y + z + channel) % 2);
    case NOISE:
        return random_double(state);
    case RAMP:
        return (double)(x + 2 * y + 3 * z + 5 * channel) / 256.0;
    case BLOBS:
        return (x / 5 + y / 4 + (z + channel) / 3) % 3 / 2.5 + 0.08 * random_double(state);
    case SPRINKLED:
        return random_chance(state, 10);
    case BRIGHT:
        return !random_chance(state, 10);
    default: /* OUTLIER: nearly flat, but for a voxel in a hundred */
        return random_chance(state, 1) ? 1.0 : 0.02 * random_double(state);
    }
}

static void choose_sides(lob_dims *dims, uint64_t *state, int64_t max_side)
{
    static const int64_t sides[] = {1,  2,  3,  5,  7,  8,  11, 12, 13, 16,
                                    17, 19, 20, 23, 29, 31, 32, 36, 37, 41};
    int64_t choices = 0, *axis[3] = {&dims->nx, &dims->ny, &dims->nz};
    while (choices < COUNT(sides) && sides[choices] <= max_side) choices++;
    for (int a = 0; a < 3; a++)
        *axis[a] = random_chance(state, 10) ? 1 : sides[random_below(state, choices)];
}

/* Fill the image with values of low..low + width; gaps: of real types here and there no number. */
static void fill_image(supervoxels_case *c, int pattern, double low, double width, bool gaps,
                       uint64_t *state)
{
    const lob_dims d = c->image.dims;
    c->image.data = calloc((size_t)(c->n * c->image.channels), lob_type_of(c->image.type)->bytes);
    for (int64_t i = 0; i < c->n * c->image.channels; i++) {
        const int64_t v = i % c->n;
        const double p =
            pattern_at(pattern, v % d.nx, v / d.nx % d.ny, v / d.nx / d.ny, (int)(i / c->n), state);
        const double value = low + (p < 1 ? p : 1) * width;
        put_number(&c->image, i, c->number % 4 == 1 ? floor(value) : value);
        if (gaps && !lob_type_of(c->image.type)->is_integer && random_chance(state, 3))
            put_number(&c->image, i, random_chance(state, 50) ? NAN : INFINITY);
    }
}

static int make_image(supervoxels_case *c, uint64_t *state)
{
    static const struct {
        lob_type type;
        double low, high;
    } kinds[] = {
        {LOB_U8,  0,      255         },
        {LOB_I16, -1024,  3000        },
        {LOB_I16, -32768, 32767       },
        {LOB_U16, 0,      65535       },
        {LOB_I32, -40000, 900000      }, /* wider than 16 bits: mapped */
        {LOB_F32, -1,     1           },
        {LOB_F64, 0,      1e300       },
        {LOB_U64, 100,    1.8e19      },
        {LOB_I64, 9e18,   9.0000001e18},
    };
    const int64_t kind = random_below(state, COUNT(kinds));
    const double low = kinds[kind].low, width = kinds[kind].high - low;
    const int pattern = (int)random_below(state, PATTERNS);
    const bool gaps = random_chance(state, 40);
    c->image.type = kinds[kind].type;
    c->image.channels = random_chance(state, 35) ? 1 + (int)random_below(state, 5) : 1;
    if (c->image.type == LOB_U8 && random_chance(state, 60)) {
        c->image.channels = 3;
        c->options.lab = random_chance(state, 70);
    }
    if (random_chance(state, 20)) {
        c->image.slope = random_chance(state, 50) ? -0.5 : 2.25;
        c->image.inter = 17;
    }
    fill_image(c, pattern, low, width, gaps, state);
    return pattern;
}

/* Holes here and there, or one box that alone is data. */
static void make_mask(supervoxels_case *c, bool box, int holes, uint64_t *state)
{
    const lob_dims d = c->image.dims;
    c->mask = malloc((size_t)c->n);
    for (int64_t v = 0; v < c->n; v++) {
        const int64_t x = v % d.nx, y = v / d.nx % d.ny, z = v / d.nx / d.ny;
        const bool inside = 4 * x >= d.nx && 3 * y < 2 * d.ny && 2 * z <= d.nz;
        c->mask[v] = box ? inside : (uint8_t)(random_chance(state, holes) ? 0 : 1 + v % 7);
    }
}

static void make_options(supervoxels_case *c, uint64_t *state)
{
    static const double compactness[] = {1e-6, 0.01, 0.05, 0.05, 0.3, 20, 1e6};
    static const double ratios[] = {1e-4, 0.03, 0.075, 0.075, 0.4, 3, 1000};
    static const double smallest[] = {0, 0.25, 0.25, 0.25, 0.7, 1};
    lob_supervoxels_options *o = &c->options;
    const lob_dims d = c->image.dims;
    o->method = (lob_supervoxels_method)random_below(state, 3);
    if (random_chance(state, 30)) o->slice_axis = (int)random_below(state, 3);
    if (random_chance(state, 60))
        o->size_mm = 0.3 + 9 * random_double(state) * random_double(state);
    else
        o->count = 1 + random_below(state, random_chance(state, 20) ? 3 * c->n : 60);
    o->compactness = compactness[random_below(state, COUNT(compactness))];
    o->ratio = ratios[random_below(state, COUNT(ratios))];
    o->iterations = 1 + (int)random_below(state, 12);
    o->until_still = random_chance(state, 40);
    if (o->until_still && random_chance(state, 40)) o->iterations = 60;
    o->smallest = smallest[random_below(state, COUNT(smallest))];
    if (d.nx * d.ny * d.nz > 3000 && o->iterations > 6) o->iterations = 6;
    if (random_chance(state, 15)) {
        o->range[0] = -100 + 150 * random_double(state);
        o->range[1] = o->range[0] + 5000 * random_double(state);
    }
}

static void describe(supervoxels_case *c, const char *kind, int pattern)
{
    static const char *const methods[] = {"slic", "slico", "lsc"};
    const lob_supervoxels_options *o = &c->options;
    const double *mm = c->image.geometry.spacing_mm;
    snprintf(c->shape, sizeof c->shape,
             "%s %llu: %lldx%lldx%lld (%g x %g x %g mm) %s %s x%d%s, %s, axis %d, size %g, count "
             "%lld, compactness %g, ratio %g, %d iterations%s, range %g..%g, smallest %g%s",
             kind, (unsigned long long)c->number, (long long)c->image.dims.nx,
             (long long)c->image.dims.ny, (long long)c->image.dims.nz, mm[0], mm[1], mm[2],
             lob_type_of(c->image.type)->name, pattern_names[pattern], c->image.channels,
             o->lab ? " as CIELAB" : "", methods[o->method], o->slice_axis, o->size_mm,
             (long long)o->count, o->compactness, o->ratio, o->iterations,
             o->until_still ? " until still" : "", o->range[0], o->range[1], o->smallest,
             c->mask ? ", mask" : "");
}

static void begin(supervoxels_case *c, uint64_t number)
{
    memset(c, 0, sizeof *c);
    c->number = number;
    c->image = lob_volume_empty();
    c->options = lob_supervoxels_defaults();
}

void supervoxels_case_make(supervoxels_case *c, uint64_t number, int64_t max_side)
{
    static const double lengths[] = {1, 1, 1, 0.5, 0.7, 2.5, 5};
    uint64_t state = number * UINT64_C(0xD1342543DE82EF95) + 1;
    double spacing[3];
    begin(c, number);
    choose_sides(&c->image.dims, &state, max_side);
    for (int a = 0; a < 3; a++) spacing[a] = lengths[random_below(&state, COUNT(lengths))];
    c->image.geometry = lob_geometry_of_spacing(spacing);
    c->n = lob_voxels(&c->image);
    const int pattern = make_image(c, &state);
    if (random_chance(&state, 30)) {
        const int holes = 5 + (int)random_below(&state, 60);
        make_mask(c, random_chance(&state, 40), holes, &state);
    }
    make_options(c, &state);
    c->in = (lob_supervoxels_input){&c->image, c->mask};
    describe(c, "case", pattern);
}

/* What chance seldom makes. Three channels are of uint8 and compared in CIELAB, one is of int16. */
static const struct {
    const char *what;
    lob_dims dims;
    double mm[3];
    int pattern, channels;
    lob_supervoxels_method method;
    int slice_axis;
    double size_mm, weight; /* compactness and ratio */
    int iterations;
    bool boxed; /* only a box is data; and it ends when nothing moves */
} fixed[] = {
    {"a row of 2^18",          {1 << 18, 1, 1}, {1, 1, 1},   BLOBS,     1, LOB_LSC,   -1, 100, .05,  2, false},
    {"a column of 2^18",       {1, 1 << 18, 1}, {1, 1, 1},   NOISE,     1, LOB_SLICO, -1, 30,  .05,  2, false},
    {"a pillar of 2^18",       {1, 1, 1 << 18}, {1, 1, 1},   BLOBS,     3, LOB_SLIC,  -1, 9,   .05,  2, false},
    {"2^16 bricks along x",    {1048616, 3, 1}, {1, 1, 1},   BLOBS,     1, LOB_SLIC,  -1, 30,  .05,  2, false},
    {"2^16 bricks along z",    {2, 2, 262149},  {1, 1, 1},   BLOBS,     1, LOB_SLIC,  -1, 8,   .05,  2, false},
    {"2^16 slices across y",   {3, 65539, 2},   {1, 1, 1},   NOISE,     1, LOB_LSC,   1,  2,   .05,  2, false},
    {"thin across y",          {257, 1, 83},    {1, 1, 1},   BLOBS,     3, LOB_SLIC,  -1, 12,  .05,  5, false},
    {"thin across x",          {1, 211, 90},    {1, 1, 1},   NOISE,     3, LOB_LSC,   -1, 9,   .05,  5, false},
    {"thin across z",          {190, 97, 1},    {1, 1, 1},   OUTLIER,   3, LOB_SLICO, -1, 11,  .05,  5, false},
    {"100 to 1 in slices",     {190, 20, 7},    {.1, 10, 1}, BLOBS,     1, LOB_SLIC,  2,  4,   .05,  5, false},
    {"100 to 1 in slices",     {9, 61, 53},     {1, 1, 100}, NOISE,     1, LOB_LSC,   1,  5,   .05,  5, false},
    {"100 to 1",               {61, 53, 9},     {1, 1, 100}, NOISE,     1, LOB_SLICO, -1, 70,  .05,  5, false},
    {"1 to 100",               {310, 7, 5},     {.05, 5, 5}, BLOBS,     3, LOB_SLIC,  -1, 5,   .05,  5, false},
    {"cells of 4 voxels",      {21, 19, 18},    {1, 1, 1},   NOISE,     1, LOB_SLIC,  -1, 1.6, .05,  3, false},
    {"cells of 4 voxels",      {21, 19, 18},    {1, 1, 1},   NOISE,     3, LOB_LSC,   -1, 1.6, .05,  3, false},
    {"cells of 4x4x4",         {27, 26, 25},    {1, 1, 1},   NOISE,     1, LOB_SLIC,  -1, 4,   .01,  4, false},
    {"cells of 4x4x4",         {27, 26, 25},    {1, 1, 1},   NOISE,     3, LOB_LSC,   -1, 4,   .05,  4, false},
    {"cells 4.5 a side",       {27, 26, 25},    {1, 1, 1},   NOISE,     1, LOB_SLICO, -1, 4.5, .05,  4, false},
    {"cells of 2.6x2.6",       {67, 59, 3},     {1, 1, 1},   NOISE,     3, LOB_SLIC,  2,  2.6, .01,  4, false},
    {"unassigned voxels",      {41, 37, 31},    {1, 1, 1},   OUTLIER,   3, LOB_SLIC,  -1, 5,   .01,  6, false},
    {"unassigned voxels",      {41, 37, 31},    {1, 1, 1},   OUTLIER,   3, LOB_LSC,   -1, 9,   .001, 6, false},
    {"unassigned voxels",      {41, 37, 31},    {1, 1, 1},   SPRINKLED, 3, LOB_LSC,   -1, 5,   .001, 6, false},
    {"many warp tiles a cell", {40, 33, 28},    {1, 1, 1},   BLOBS,     1, LOB_SLIC,  -1, 15,  .05,  5, false},
    {"many warp tiles a cell", {41, 32, 29},    {1, 1, 1},   BLOBS,     1, LOB_SLIC,  -1, 14,  .5,   9, true },
    {"many warp tiles a cell", {40, 32, 27},    {1, 1, 1},   BLOBS,     3, LOB_SLIC,  -1, 20,  .3,   9, true },
    {"many warp tiles a cell", {203, 190, 1},   {1, 1, 1},   BLOBS,     3, LOB_SLIC,  -1, 50,  .1,   6, false},
    {"many warp tiles a cell", {198, 64, 3},    {1, 1, 1},   BLOBS,     1, LOB_SLIC,  2,  33,  .3,   9, true },
    {"whole bricks",           {52, 49, 1},     {1, 1, 1},   BLOBS,     3, LOB_SLIC,  -1, 9,   .1,   5, false},
    {"whole bricks",           {160, 160, 1},   {1, 1, 1},   BLOBS,     3, LOB_SLIC,  -1, 50,  .3,   6, true },
    {"whole bricks",           {100, 37, 3},    {1, 1, 1},   NOISE,     3, LOB_LSC,   2,  8,   .05,  4, false},
    {"whole bricks",           {36, 3, 35},     {1, 1, 1},   NOISE,     3, LOB_SLICO, 1,  7,   .05,  4, false},
    {"whole bricks",           {44, 27, 15},    {1, 1, 1},   NOISE,     3, LOB_LSC,   -1, 6,   .05,  4, false},
    {"sums past 32 bits",      {97, 63, 41},    {1, 1, 1},   BRIGHT,    1, LOB_SLIC,  -1, 45,  .001, 3, false},
};

bool supervoxels_case_fixed(supervoxels_case *c, int number)
{
    uint64_t state = UINT64_C(0x5DEECE680); /* unassigned voxels come of few streams */
    char what[64];
    if (number >= COUNT(fixed)) return false;
    begin(c, (uint64_t)number);
    c->image.dims = fixed[number].dims;
    c->image.geometry = lob_geometry_of_spacing(fixed[number].mm);
    c->image.channels = fixed[number].channels;
    c->options.lab = c->image.channels == 3;
    c->image.type = c->options.lab ? LOB_U8 : LOB_I16;
    c->options.method = fixed[number].method;
    c->options.slice_axis = fixed[number].slice_axis;
    c->options.size_mm = fixed[number].size_mm;
    c->options.compactness = c->options.ratio = fixed[number].weight;
    c->options.iterations = fixed[number].iterations;
    c->n = lob_voxels(&c->image);
    const bool bright = fixed[number].pattern == BRIGHT; /* all of 16 bits */
    fill_image(c, fixed[number].pattern, bright ? INT16_MIN : 0,
               bright           ? UINT16_MAX
               : c->options.lab ? 255
                                : 3000,
               false, &state);
    c->options.until_still = fixed[number].boxed;
    if (fixed[number].boxed) make_mask(c, true, 0, &state);
    c->in = (lob_supervoxels_input){&c->image, c->mask};
    snprintf(what, sizeof what, "%s, fixed case", fixed[number].what);
    describe(c, what, fixed[number].pattern);
    return true;
}

void supervoxels_case_free(supervoxels_case *c)
{
    lob_volume_free(&c->image);
    free(c->mask);
}

bool supervoxels_stats_equal(const lob_supervoxels_stats *a, const lob_supervoxels_stats *b)
{
    return a->supervoxels == b->supervoxels && a->fragments == b->fragments &&
           memcmp(a->cells, b->cells, sizeof a->cells) == 0 && a->size_mm == b->size_mm &&
           a->data_voxels == b->data_voxels && a->not_finite == b->not_finite &&
           a->iterations == b->iterations;
}
