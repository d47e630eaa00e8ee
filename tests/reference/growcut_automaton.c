/* The automaton: every cell looks at its neighbours' last state until nothing changes, or for
 * some rounds. */
#include "tests/reference/growcut_automaton.h"

#include "volumes/labels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double strength; /* strength rule: in (0, 1]; distance rule: minus the cost in levels */
    int32_t label;
    double error; /* of the cost in fixed point, in levels */
} cell;

typedef struct {
    const lob_growcut_input *in;
    const lob_growcut_options *options;
    lob_dims dims;
    int64_t n;
    double *value; /* channels * n, in levels */
    bool *is_data, *is_fixed;
    double dmax, level_step;
    growcut_rounding rounding;
} world;

static double norm_of(const double *e, int channels, lob_norm norm)
{
    double squares = 0, sum = 0, largest = 0;
    for (int c = 0; c < channels; c++) {
        const double d = fabs(e[c]);
        squares += d * d;
        sum += d;
        if (d > largest) largest = d;
    }
    if (norm == LOB_NORM_L1) return sum;
    if (norm == LOB_NORM_LINF) return largest;
    if (norm == LOB_NORM_ALPHAMAX) return largest + (sum - largest) / 2;
    return sqrt(squares);
}

static double distance(const world *w, int64_t p, int64_t q)
{
    double e[LOB_GROWCUT_MAX_CHANNELS];
    for (int c = 0; c < w->in->image->channels; c++)
        e[c] = w->value[c * w->n + p] - w->value[c * w->n + q];
    return norm_of(e, w->in->image->channels, w->options->norm);
}

static bool is_data_voxel(const world *w, const double *stored, int64_t v)
{
    const lob_volume *image = w->in->image;
    const bool floats = image->type == LOB_F32 && image->slope == 1 && image->inter == 0;
    const double *range = w->options->range;
    const double low = floats ? (float)range[0] : range[0];
    const double high = floats ? (float)range[1] : range[1];
    if (w->in->mask && !w->in->mask[v]) return false;
    for (int c = 0; c < image->channels; c++) {
        const double value = image->slope * stored[c * w->n + v] + image->inter;
        if (!isfinite(value)) return false;
        if (value < low || value > high) return false;
    }
    return true;
}

/* Levels: whole numbers of at most 65536 values as they are, everything else spread over 0..65535.
 */
static void make_levels(world *w)
{
    const lob_volume *image = w->in->image;
    const int channels = image->channels;
    lob_values(w->value, image->data, image->type, 0, channels * w->n);
    bool whole = true;
    double low[LOB_GROWCUT_MAX_CHANNELS], high[LOB_GROWCUT_MAX_CHANNELS], min = INFINITY,
                                                                          max = -INFINITY;
    for (int64_t v = 0; v < w->n; v++) w->is_data[v] = is_data_voxel(w, w->value, v);
    for (int c = 0; c < channels; c++) {
        low[c] = INFINITY, high[c] = -INFINITY;
        for (int64_t v = 0; v < w->n; v++)
            if (w->is_data[v]) {
                low[c] = fmin(low[c], w->value[c * w->n + v]);
                high[c] = fmax(high[c], w->value[c * w->n + v]);
                whole = whole && w->value[c * w->n + v] == floor(w->value[c * w->n + v]);
            }
        min = fmin(min, low[c]), max = fmax(max, high[c]);
    }
    const bool exact = whole && max - min <= 65535;
    const double scale = exact || max <= min ? 1.0 : 65535 / (max - min);
    double span[LOB_GROWCUT_MAX_CHANNELS];
    for (int c = 0; c < channels; c++) {
        for (int64_t v = 0; v < w->n; v++)
            w->value[c * w->n + v] = floor((w->value[c * w->n + v] - min) * scale + 0.5);
        span[c] = floor((high[c] - min) * scale + 0.5) - floor((low[c] - min) * scale + 0.5);
    }
    w->dmax = norm_of(span, channels, w->options->norm);
    if (!(w->dmax > 0)) w->dmax = 1;
    w->level_step = fabs(image->slope) / scale;
}

static int32_t seed_of(const world *w, int64_t v)
{
    return w->is_data[v] ? lob_label_at(w->in->seeds->data, w->in->seeds->type, v) : 0;
}

static cell first_state(world *w, int64_t v, int32_t only)
{
    const bool multiplies = w->options->rule == LOB_RULE_STRENGTH;
    const cell none = {multiplies ? 0 : -INFINITY, 0, 0};
    const int32_t seed = seed_of(w, v);
    if (seed == 0) return none;
    const double t = w->in->seed_strength ? (double)w->in->seed_strength[v] : 1.0;
    w->is_fixed[v] = t == 1.0;
    if (only && seed != only) return none;
    return (cell){multiplies ? t : log(t) * w->dmax, seed, 0};
}

/* The state of voxel v after neighbour u, a step of mm away, has attacked it. */
static cell attacked(const world *w, cell v_state, int64_t v, cell u_state, int64_t u, double mm)
{
    const bool multiplies = w->options->rule == LOB_RULE_STRENGTH;
    if (u_state.label == 0) return v_state;
    const double d = distance(w, u, v);
    const double offer = multiplies
                             ? u_state.strength * (1 - d / w->dmax)
                             : u_state.strength - d - w->options->penalty / w->level_step * mm;
    const bool possible = !multiplies || offer > 0;
    if (!possible || !(offer > v_state.strength)) return v_state;
    /* The logarithm stretches what a distance and dmax are off by, the more the dearer the step. */
    const double stretch = multiplies ? 2 / (1 - d / w->dmax) : 1;
    const double error = w->rounding.step + w->rounding.distance * stretch;
    return (cell){offer, u_state.label, u_state.error + error};
}

static cell next_state(const world *w, const cell *now, int64_t v)
{
    const lob_dims dims = w->dims;
    const int64_t x = v % dims.nx, y = v / dims.nx % dims.ny, z = v / dims.nx / dims.ny;
    const int reach = w->options->neighbours == 6 ? 1 : w->options->neighbours == 18 ? 2 : 3;
    const double *mm = w->in->image->geometry.spacing_mm;
    cell state = now[v];
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                const int64_t p = x + i, q = y + j, r = z + k;
                if (abs(i) + abs(j) + abs(k) > reach || (!i && !j && !k)) continue;
                if (p < 0 || p >= dims.nx || q < 0 || q >= dims.ny || r < 0 || r >= dims.nz)
                    continue;
                const int64_t u = p + dims.nx * (q + dims.ny * r);
                const double length =
                    sqrt(i * i * mm[0] * mm[0] + j * j * mm[1] * mm[1] + k * k * mm[2] * mm[2]);
                if (w->is_data[u]) state = attacked(w, state, v, now[u], u, length);
            }
    return state;
}

void growcut_automaton(int32_t *label, double *cost, double *error, const lob_growcut_input *in,
                       const lob_growcut_options *options, growcut_rounding rounding, int32_t only)
{
    world w = {.in = in,
               .options = options,
               .dims = in->image->dims,
               .n = lob_voxels(in->image),
               .rounding = rounding};
    w.value = malloc((size_t)(w.n * in->image->channels) * sizeof *w.value);
    w.is_data = calloc((size_t)w.n, sizeof *w.is_data);
    w.is_fixed = calloc((size_t)w.n, sizeof *w.is_fixed);
    cell *now = malloc((size_t)w.n * sizeof *now), *next = malloc((size_t)w.n * sizeof *next);
    make_levels(&w);
    for (int64_t v = 0; v < w.n; v++) now[v] = first_state(&w, v, only);

    bool changed = true;
    for (int round = 0; changed && (options->rounds == 0 || round < options->rounds); round++) {
        changed = false;
        for (int64_t v = 0; v < w.n; v++) {
            const bool grows = w.is_data[v] && !w.is_fixed[v];
            next[v] = grows ? next_state(&w, now, v) : now[v];
            changed = changed || next[v].strength != now[v].strength;
        }
        cell *last = now;
        now = next;
        next = last;
    }

    const bool multiplies = options->rule == LOB_RULE_STRENGTH;
    for (int64_t v = 0; v < w.n; v++) {
        label[v] = now[v].label;
        error[v] = now[v].error + rounding.step;
        cost[v] = now[v].label == 0 ? INFINITY
                  : multiplies      ? -log(now[v].strength) * w.dmax
                                    : -now[v].strength;
    }
    free(w.value);
    free(w.is_data);
    free(w.is_fixed);
    free(now);
    free(next);
}
