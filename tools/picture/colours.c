/* Choosing colours of labels. */
#include "tools/picture/colours.h"

#include "volumes/free.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Vienot, Brettel and Mollon, "Digital video colourmaps for checking the legibility of displays by
 * dichromats", 1999: what is seen of light, as linear red, green and blue. */
static const double eyes[3][3][3] = {
    {{1, 0, 0},             {0, 1, 0},             {0, 0, 1}             },
    {{0.11238, 0.88762, 0}, {0.11238, 0.88762, 0}, {0.00401, -0.00401, 1}},
    {{0.29275, 0.70725, 0}, {0.29275, 0.70725, 0}, {-0.02234, 0.02234, 1}},
};

/* The square stands for sRGB's curve: nothing but what all machines compute alike. */
static void seen(double out[3], lob_colour colour, const double eye[3][3])
{
    const double v[3] = {colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0};
    for (int i = 0; i < 3; i++) {
        double light = 0;
        for (int k = 0; k < 3; k++) light += eye[i][k] * v[k] * v[k];
        out[i] = sqrt(light > 0 ? light : 0);
    }
}

static const double alike = 0.3;

/*
 * How different two colours look to eyes with all cones, without red and without green ones,
 * whichever see least of it; 0 to 2.7. Below `alike` they are easily confused.
 */
static double distance(lob_colour a, lob_colour b)
{
    double least = INFINITY;
    for (int e = 0; e < 3; e++) {
        double x[3], y[3];
        seen(x, a, eyes[e]);
        seen(y, b, eyes[e]);
        const double r = x[0] - y[0], g = x[1] - y[1], u = x[2] - y[2];
        const double d = sqrt(2 * r * r + 4 * g * g + u * u);
        if (d < least) least = d;
    }
    return least;
}

/* ---- who touches whom ---- */

/* A bit for each pair of labels. */
typedef struct {
    uint8_t *bits;
    size_t side;
} pairs;

static void join(const pairs *p, int32_t a, int32_t b)
{
    if (a == b || a == 0 || b == 0) return;
    const size_t i = (size_t)a * p->side + (size_t)b, k = (size_t)b * p->side + (size_t)a;
    p->bits[i / 8] |= (uint8_t)(1u << i % 8);
    p->bits[k / 8] |= (uint8_t)(1u << k % 8);
}

static bool touch(const pairs *p, int32_t a, int32_t b)
{
    const size_t i = (size_t)a * p->side + (size_t)b;
    return p->bits[i / 8] >> i % 8 & 1;
}

/* Join n voxels from a on with those from b on. Runs of like ones are compared at once. */
static void join_runs(const pairs *p, const lob_volume *v, int64_t a, int64_t b, int64_t n)
{
    enum { RUN = 64 };
    const char *const data = v->data;
    const size_t size = lob_type_of(v->type)->bytes;
    for (int64_t from = 0, end; from < n; from = end) {
        end = from + RUN < n ? from + RUN : n;
        if (memcmp(data + (size_t)(a + from) * size, data + (size_t)(b + from) * size,
                   (size_t)(end - from) * size) == 0)
            continue;
        for (int64_t i = from; i < end; i++)
            join(p, lob_label_at(data, v->type, a + i), lob_label_at(data, v->type, b + i));
    }
}

static void find_pairs(const pairs *p, const lob_volume *v)
{
    const int64_t nx = v->dims.nx, plane = nx * v->dims.ny, voxels = plane * v->dims.nz;
    for (int64_t row = 0; row < voxels; row += nx) join_runs(p, v, row, row + 1, nx - 1);
    for (int64_t z = 0; z < voxels; z += plane) join_runs(p, v, z, z + nx, plane - nx);
    join_runs(p, v, 0, plane, voxels - plane);
}

/* ---- the choice ---- */

static lob_colour of_rgba(lob_rgba c)
{
    return (lob_colour){c.red, c.green, c.blue};
}

lob_colour lob_label_colour(const lob_label_names *names, int32_t label)
{
    const lob_label_name *const row = lob_label_names_find(names, label);
    return of_rgba(row ? row->colour : lob_label_default_colour(label));
}

/* A row always has a colour; that of the palette is no choice of the file's. */
static bool is_given(const lob_label_names *names, int32_t value)
{
    const lob_label_name *const row = lob_label_names_find(names, value);
    const lob_rgba usual = lob_label_default_colour(value);
    return row && memcmp(&row->colour, &usual, sizeof usual) != 0;
}

/* The least distance of a colour to those of neighbours that have theirs. */
static double room_of(lob_colour candidate, int32_t label, const lob_colour *colour,
                      const bool *fixed, const pairs *p, int32_t count)
{
    double least = INFINITY;
    for (int32_t k = 1; k <= count; k++) {
        if (!fixed[k] || !touch(p, label, k)) continue;
        const double d = distance(candidate, colour[k]);
        if (d < least) least = d;
    }
    return least;
}

static lob_status part_neighbours(lob_colour *colour, const lob_volume *labels,
                                  const lob_label_set *set, const lob_label_names *names)
{
    enum { PALETTE = 14 };
    const size_t side = (size_t)set->count + 1;
    const pairs p = {calloc(side * side / 8 + 1, 1), side};
    bool *const fixed = calloc(side, sizeof *fixed);
    const bool memory = p.bits && fixed;
    if (memory) find_pairs(&p, labels);
    for (int32_t i = 1; memory && i <= set->count; i++)
        fixed[i] = is_given(names, set->values[i - 1]);
    for (int32_t i = 1; memory && i <= set->count; i++) {
        if (fixed[i]) continue;
        fixed[i] = true;
        double most = room_of(colour[i], i, colour, fixed, &p, set->count);
        for (int32_t c = 1; most < alike && c <= PALETTE; c++) {
            const lob_colour other = of_rgba(lob_label_default_colour(c));
            const double room = room_of(other, i, colour, fixed, &p, set->count);
            if (room <= most) continue;
            most = room;
            colour[i] = other;
        }
    }
    LOB_FREE(p.bits, fixed);
    return memory ? LOB_OK : LOB_ENOMEM;
}

lob_status lob_colours_choose(lob_colour *colour, const lob_volume *labels,
                              const lob_label_set *set, const lob_label_names *names)
{
    for (int32_t i = 1; i <= set->count; i++)
        colour[i] = lob_label_colour(names, set->values[i - 1]);
    return set->count > LOB_COLOURS_APART ? LOB_OK : part_neighbours(colour, labels, set, names);
}
