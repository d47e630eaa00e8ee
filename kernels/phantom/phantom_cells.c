/* Touching cells: the Voronoi cells of points on a jittered lattice, with wavy borders. */
#include "kernels/phantom/phantom_parts.h"
#include "kernels/phantom/phantom_random.h"
#include "volumes/free.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/*
 * The field is divided into a lattice of nearly cubic sites with at most one cell each. The sites
 * nearest to the middle have cells, so that the cells form a cluster with background around it. All
 * lengths are in sites. A voxel belongs to the nearest cell of the 27 sites around it, if this is
 * nearer than REACH.
 */
#define JITTER   0.24
#define REACH    0.80  /* largest radius of a cell */
#define WAVE     0.10  /* amplitude of wavy borders */
#define SEED     0.20  /* radius of a seed */
#define MEMBRANE 0.045 /* half the thickness of a membrane, at least 0.8 voxels */

enum { BACKGROUND = 1 };

enum { KEY_JITTER = 11, KEY_WAVE, KEY_BRIGHT, KEY_GRAIN };

enum { INSIDE, BORDER, NUCLEUS };

/* Brightness, 12 bits, for the two stains: membranes, and nuclei. */
static const int stains[2][3] = {
    {850,  2900, 850 },
    {1800, 1000, 2800}
};
enum { OUTSIDE = 200 };

typedef struct {
    double centre[3];
    float tint;    /* factor of brightness, about 1 */
    int32_t label; /* 0: no cell here */
} site;

typedef struct {
    lob_dims dims;
    int sites[3];
    double step[3]; /* size of a voxel in sites */
    double membrane;
    bool flat, nuclei;
    uint64_t wave, grain;
    site site[]; /* sites[0] * sites[1] * sites[2] */
} tissue;

/* The nearest cell, and the distance to the second nearest. */
typedef struct {
    const site *first;
    double distance, second;
} nearest;

static nearest nearest_cells(const tissue *t, const double p[3])
{
    int low[3], high[3];
    for (int a = 0; a < 3; a++) {
        const int own = (int)floor_whole(p[a]);
        low[a] = own - 1 < 0 ? 0 : own - 1;
        high[a] = own + 1 >= t->sites[a] ? t->sites[a] - 1 : own + 1;
    }
    nearest n = {NULL, 1e9, 1e9};
    for (int k = low[2]; k <= high[2]; k++)
        for (int j = low[1]; j <= high[1]; j++)
            for (int i = low[0]; i <= high[0]; i++) {
                const site *const s = &t->site[i + t->sites[0] * (j + t->sites[1] * k)];
                if (!s->label) continue;
                const double x = p[0] - s->centre[0], y = p[1] - s->centre[1];
                const double z = p[2] - s->centre[2], square = x * x + y * y + z * z;
                if (square < n.distance) {
                    n.second = n.distance;
                    n.distance = square;
                    n.first = s;
                } else if (square < n.second) {
                    n.second = square;
                }
            }
    n.distance = sqrt(n.distance);
    n.second = sqrt(n.second);
    return n;
}

static phantom_voxel cell_voxel(const tissue *t, const double p[3])
{
    double bent[3];
    for (int a = 0; a < 3; a++)
        bent[a] =
            p[a] + (t->flat && a == 2 ? 0.0
                                      : WAVE * random_smooth(t->wave + (uint64_t)a, p[0] * 2.2,
                                                             p[1] * 2.2, p[2] * 2.2));
    const nearest n = nearest_cells(t, bent);
    const double grain = 1.0 + 0.12 * random_smooth(t->grain, p[0] * 9, p[1] * 9, p[2] * 9);
    if (!n.first || n.distance >= REACH) {
        const double away = n.first ? n.distance - REACH : 1.0;
        return (phantom_voxel){.depth = (float)away,
                               .label = BACKGROUND,
                               .bright = (uint16_t)(OUTSIDE * 8 * grain),
                               .seed = away > 0.15 && away < 0.3};
    }
    /* Membranes vary in brightness along themselves; otherwise a front that reached one would
     * spread along it at no cost. */
    const double beads = 0.78 + 0.22 * random_smooth(t->grain + 1, p[0] * 5, p[1] * 5, p[2] * 5);
    double border = 0.5 * (n.second - n.distance);
    if (REACH - n.distance < border) border = REACH - n.distance;
    const int *const stain = stains[t->nuclei];
    double bright = stain[INSIDE] * (double)n.first->tint;
    if (border < t->membrane)
        bright = stain[BORDER] * beads;
    else if (n.distance < 0.33)
        bright = stain[NUCLEUS] * (double)n.first->tint;
    return (phantom_voxel){.depth = (float)border,
                           .label = n.first->label,
                           .bright = (uint16_t)(bright * grain * 8),
                           .seed = n.distance < SEED && border > 1.5 * t->membrane};
}

static void cells_slice(phantom_voxel *out, const void *model, int64_t z)
{
    const tissue *const t = model;
    double p[3] = {0, 0, ((double)z + 0.5) * t->step[2]};
    for (int64_t y = 0; y < t->dims.ny; y++) {
        p[1] = ((double)y + 0.5) * t->step[1];
        for (int64_t x = 0; x < t->dims.nx; x++) {
            p[0] = ((double)x + 0.5) * t->step[0];
            *out++ = cell_voxel(t, p);
        }
    }
}

/*
 * Choose the coarsest lattice that holds all cells: 1.5 sites per cell in 2D and 1.8 in 3D, since
 * the corners of the field stay empty. Returns its number of sites.
 */
static int64_t choose_lattice(int sites[3], double pitch_mm[3], const lob_phantom_options *o)
{
    const double needed = (o->dims.nz == 1 ? 1.5 : 1.8) * o->cells;
    const double mm[3] = {(double)o->dims.nx * o->spacing_mm[0],
                          (double)o->dims.ny * o->spacing_mm[1],
                          o->dims.nz == 1 ? 0.0 : (double)o->dims.nz * o->spacing_mm[2]};
    int longest = 0;
    for (int a = 1; a < 3; a++)
        if (mm[a] > mm[longest]) longest = a;
    for (int along = 1;; along++) {
        const double pitch = mm[longest] / along;
        double all = 1.0;
        for (int a = 0; a < 3; a++) {
            const double fit = mm[a] / pitch + 0.5;
            sites[a] = fit < 1 ? 1 : fit > along ? along : (int)fit;
            pitch_mm[a] = mm[a] / sites[a];
            all *= sites[a];
        }
        if (all >= needed) return (int64_t)all;
    }
}

typedef struct {
    double far; /* from the middle of the field, 1 at its sides */
    int at;
} candidate;

static int by_distance(const void *a, const void *b)
{
    const candidate *const x = a, *const y = b;
    if (x->far != y->far) return x->far < y->far ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Place the cells on the sites nearest to the middle, numbered in the order of the sites. */
static void place_cells(tissue *t, candidate *candidates, int64_t all, const lob_phantom_options *o)
{
    const uint64_t jitter = random_key(o->random_seed, KEY_JITTER);
    const uint64_t tint = random_key(o->random_seed, KEY_BRIGHT);
    for (int64_t s = 0; s < all; s++) {
        const int64_t at[3] = {s % t->sites[0], s / t->sites[0] % t->sites[1],
                               s / t->sites[0] / t->sites[1]};
        candidates[s] = (candidate){.at = (int)s};
        for (int a = 0; a < 3; a++) {
            const double push =
                t->sites[a] > 1 ? JITTER * random_signed(jitter, (uint64_t)(s * 3 + a)) : 0.0;
            t->site[s].centre[a] = (double)at[a] + 0.5 + push;
            const double u = t->site[s].centre[a] / t->sites[a] * 2.0 - 1.0;
            candidates[s].far += u * u;
        }
        t->site[s].tint = (float)(1.0 + 0.1 * random_signed(tint, (uint64_t)s));
    }
    qsort(candidates, (size_t)all, sizeof *candidates, by_distance);
    for (int c = 0; c < o->cells; c++) t->site[candidates[c].at].label = 1;
    int32_t label = BACKGROUND;
    for (int64_t s = 0; s < all; s++)
        if (t->site[s].label) t->site[s].label = ++label;
}

static lob_status cells_make(void **model, int32_t *labels, const lob_phantom_options *o,
                             lob_error *error)
{
    int sites[3];
    double pitch_mm[3];
    const int64_t all = choose_lattice(sites, pitch_mm, o);
    for (int a = 0; a < 3; a++)
        if (sites[a] > 1 && pitch_mm[a] < 4.0 * o->spacing_mm[a])
            return lob_fail(error, LOB_EARG,
                            "%d cells do not fit into %" PRId64 " x %" PRId64 " x %" PRId64
                            " voxels, as a cell takes 4 along each axis; ask for fewer",
                            o->cells, o->dims.nx, o->dims.ny, o->dims.nz);

    tissue *const t = calloc(1, sizeof *t + (size_t)all * sizeof(site));
    candidate *const candidates = malloc((size_t)all * sizeof *candidates);
    if (!t || !candidates) {
        LOB_FREE(t, candidates);
        return lob_fail(error, LOB_ENOMEM, "no memory for the phantom");
    }
    t->dims = o->dims;
    t->flat = o->dims.nz == 1;
    t->nuclei = o->nuclei;
    t->wave = random_key(o->random_seed, KEY_WAVE);
    t->grain = random_key(o->random_seed, KEY_GRAIN);
    const double side[3] = {(double)o->dims.nx, (double)o->dims.ny, (double)o->dims.nz};
    for (int a = 0; a < 3; a++) {
        t->sites[a] = sites[a];
        t->step[a] = sites[a] / side[a];
    }
    t->membrane = MEMBRANE;
    for (int a = 0; a < 3; a++)
        if (sites[a] > 1 && 0.8 * t->step[a] > t->membrane) t->membrane = 0.8 * t->step[a];
    place_cells(t, candidates, all, o);
    free(candidates);
    *model = t;
    *labels = BACKGROUND + o->cells;
    return LOB_OK;
}

const phantom_recipe lob_phantom_cells = {
    .make = cells_make,
    .slice = cells_slice,
    .rician = false,
    .dims = {256,    256,    64   },
    .spacing_mm = {0.0005, 0.0005, 0.001},
    .type = LOB_U8,
    .noise = 3.0,
    .bias = 0.15,
};
