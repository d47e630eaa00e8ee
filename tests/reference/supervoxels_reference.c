/* Supervoxels without any trick: every voxel looks at all clusters around it, pieces by flood fill.
 */
#include "tests/reference/supervoxels_case.h"

#include "kernels/supervoxels/supervoxels_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 6 + 2 * LOB_SUPERVOXELS_MAX_CHANNELS };

typedef struct {
    bool alive; /* has had voxels */
    int64_t n, at[3], sum[FEATURES];
    float mean[3];         /* position in voxels */
    float level[FEATURES]; /* slic: steps; slico: mean levels, scaled; lsc: factors */
    float largest;         /* slico: squared contrast */
} cluster;

typedef struct {
    lob_supervoxels_plan plan;
    lob_supervoxels_rule rule;
    int64_t n;
    uint8_t *is_data;
    uint16_t *planes;
    int32_t *label; /* cluster of each voxel, -1 outside */
    cluster *clusters;
    float weights[FEATURES];
} clustering;

static void position_of(int32_t x[3], const clustering *s, int64_t v)
{
    x[0] = (int32_t)(v % s->rule.side[0]);
    x[1] = (int32_t)(v / s->rule.side[0] % s->rule.side[1]);
    x[2] = (int32_t)(v / s->rule.side[0] / s->rule.side[1]);
}

static int32_t cell_of(const clustering *s, int32_t x, int axis)
{
    return (int32_t)((int64_t)x * s->rule.cells[axis] / s->rule.side[axis]);
}

static int32_t own_cluster(const clustering *s, int64_t v)
{
    int32_t x[3];
    position_of(x, s, v);
    return (cell_of(s, x[2], 2) * s->rule.cells[1] + cell_of(s, x[1], 1)) * s->rule.cells[0] +
           cell_of(s, x[0], 0);
}

/* lsc: the whole-number features of a voxel, and how many. */
static int features_of(int64_t *f, const clustering *s, int64_t v)
{
    const lob_cos_sin *axis = s->plan.axis_cos_sin;
    int32_t x[3];
    int count = 0;
    position_of(x, s, v);
    for (int a = 0; a < 3; a++) {
        f[count++] = axis[x[a]].cosine;
        f[count++] = axis[x[a]].sine;
        axis += s->rule.side[a];
    }
    for (int c = 0; c < s->rule.channels; c++) {
        const int table = s->rule.lab && c > 0 ? LOB_COS_SIN_ENTRIES : 0;
        const lob_cos_sin wave =
            s->plan.level_cos_sin[table + (s->planes[c * s->n + v] >> s->rule.shift)];
        f[count++] = wave.cosine;
        f[count++] = wave.sine;
    }
    return count;
}

static double gain_of(const clustering *s, int feature)
{
    return feature < 6                      ? s->rule.position_gain
           : s->rule.lab && feature - 6 > 1 ? s->rule.level_gain[1]
                                            : s->rule.level_gain[0];
}

/* Features times factors: those of y plus those of z plus those of x, then on by channels. */
static float score_of(const clustering *s, const cluster *k, int64_t v)
{
    int64_t f[FEATURES];
    const int count = features_of(f, s, v);
    float axis[3];
    for (int a = 0; a < 3; a++) {
        const float cosine = (float)f[2 * a] * k->level[2 * a];
        axis[a] = fmaf((float)f[2 * a + 1], k->level[2 * a + 1], cosine);
    }
    float sum = axis[1] + axis[2];
    sum += axis[0];
    for (int i = 6; i < count; i++) sum = fmaf((float)f[i], k->level[i], sum);
    return sum;
}

/* slico */
static float contrast_to(const clustering *s, const cluster *k, int64_t v)
{
    float sum = 0;
    for (int c = 0; c < s->rule.channels; c++) {
        const float d = (float)s->planes[c * s->n + v] * s->rule.level - k->level[c];
        sum = fmaf(d, d, sum);
    }
    return sum;
}

/* slico: how far along an axis; slic: too, in steps of levels. */
static float apart(const clustering *s, const cluster *k, int32_t x, int axis)
{
    const float position = s->rule.position_weight[axis];
    return (float)x * position - k->mean[axis] * position;
}

/* slic: levels in steps of 2^shift, whose squares are added to those of the places, rounded. */
static int64_t steps_to(const clustering *s, const cluster *k, int64_t v)
{
    int32_t x[3];
    int64_t sum = 0;
    position_of(x, s, v);
    for (int a = 0; a < 3; a++) {
        const float d = apart(s, k, x[a], a);
        sum += (int64_t)floorf(fmaf(d, d, 0.5f));
    }
    for (int c = 0; c < s->rule.channels; c++) {
        const double steps = floor(ldexp(s->planes[c * s->n + v], -s->rule.step_shift));
        const int64_t d = (int64_t)steps - (int64_t)k->level[c];
        sum += d * d;
    }
    if (sum >= 1 << 24) abort(); /* that many bits a distance has */
    return sum;
}

static float slico_distance(const clustering *s, const cluster *k, int64_t v)
{
    int32_t x[3];
    float square[3];
    position_of(x, s, v);
    for (int a = 0; a < 3; a++) square[a] = apart(s, k, x[a], a) * apart(s, k, x[a], a);
    return fmaf(contrast_to(s, k, v), 1.0f / fmaxf(k->largest, 1e-4f),
                square[1] + square[2] + square[0]);
}

/* Towards 0 to a float whose last 6 bits are 0. */
static float cut_off(float value)
{
    int exponent;
    const double share = frexp((double)value, &exponent);
    return (float)ldexp(trunc(ldexp(share, 18)), exponent - 18);
}

/* Exact in a double, whatever the method. */
static double distance_to(const clustering *s, const cluster *k, int64_t v)
{
    return s->rule.method == LOB_SLIC  ? (double)steps_to(s, k, v)
           : s->rule.method == LOB_LSC ? (double)cut_off(score_of(s, k, v))
                                       : (double)cut_off(slico_distance(s, k, v));
}

/* May a voxel of a cell beside the cluster's join it? Within a step of its mean on every axis. */
static bool may_join(const clustering *s, const cluster *k, int64_t v)
{
    int32_t x[3];
    position_of(x, s, v);
    for (int a = 0; a < 3; a++) {
        if (a == s->rule.slice_axis) continue;
        const float step = (float)((double)s->rule.side[a] / s->rule.cells[a]);
        if ((float)x[a] < k->mean[a] - step || (float)x[a] > k->mean[a] + step) return false;
    }
    return k->alive;
}

/* The clusters of a voxel's cell and of those beside it, not across slices, each in turn. */
static void choose(clustering *s, int64_t v)
{
    const int32_t *cells = s->rule.cells;
    int32_t best = own_cluster(s, v), x[3], from[3], to[3];
    double min = INFINITY;
    position_of(x, s, v);
    for (int a = 0; a < 3; a++) {
        const int32_t cell = cell_of(s, x[a], a), beside = a == s->rule.slice_axis ? 0 : 1;
        from[a] = cell >= beside ? cell - beside : 0;
        to[a] = cell + beside < cells[a] ? cell + beside : cells[a] - 1;
    }
    for (int32_t w = from[2]; w <= to[2]; w++)
        for (int32_t j = from[1]; j <= to[1]; j++)
            for (int32_t i = from[0]; i <= to[0]; i++) {
                const int32_t k = (w * cells[1] + j) * cells[0] + i;
                if (!may_join(s, &s->clusters[k], v)) continue;
                const double distance = distance_to(s, &s->clusters[k], v);
                const bool last = distance < 0; /* of equals: below 0 the last, else the first */
                if (last ? distance <= min : distance < min) min = distance, best = k;
            }
    s->label[v] = best;
}

static void add_voxel(cluster *k, const clustering *s, int64_t v)
{
    int32_t x[3];
    int64_t f[FEATURES];
    position_of(x, s, v);
    k->n++;
    for (int a = 0; a < 3; a++) k->at[a] += x[a];
    if (s->rule.method == LOB_LSC) {
        const int count = features_of(f, s, v);
        for (int i = 0; i < count; i++) k->sum[i] += f[i];
    } else
        for (int c = 0; c < s->rule.channels; c++) k->sum[c] += s->planes[c * s->n + v];
}

/* The step that a mean level comes nearest to: step n holds the levels from n * 2^shift on, and so
 * their middle lies half a level short of the next (shift <= 0: every level is a step's). */
static float nearest_step(float mean, int shift)
{
    const float half = ldexpf(0.5f, shift > 0 ? -shift : 0);
    return floorf(fmaf(mean, ldexpf(1, -shift), half));
}

static void move(cluster *k, const clustering *s)
{
    if (k->n == 0) return;
    k->alive = true;
    for (int a = 0; a < 3; a++) k->mean[a] = (float)((double)k->at[a] / (double)k->n);
    if (s->rule.method != LOB_LSC) {
        for (int c = 0; c < s->rule.channels; c++) {
            const float mean = (float)((double)k->sum[c] / (double)k->n);
            k->level[c] = s->rule.method == LOB_SLICO ? mean * s->rule.level
                                                      : nearest_step(mean, s->rule.step_shift);
        }
        return;
    }
    const int count = 6 + 2 * s->rule.channels;
    double weight = 0, square = 0;
    for (int i = 0; i < count; i++) weight += (double)s->weights[i] * (double)k->sum[i];
    weight = fmax(weight, (double)k->n * (double)s->rule.min_weight);
    for (int i = 0; i < count; i++) {
        const double mean = (double)k->sum[i] / weight;
        square += gain_of(s, i) * mean * mean;
    }
    for (int i = 0; i < count; i++) {
        const double mean = (double)k->sum[i] / weight;
        k->level[i] = (float)((double)s->weights[i] * (square / 2) - gain_of(s, i) * mean);
    }
}

static void weigh(clustering *s)
{
    int64_t f[FEATURES], total[FEATURES] = {0}, n = 0;
    for (int64_t v = 0; v < s->n; v++) {
        if (!s->is_data[v]) continue;
        const int count = features_of(f, s, v);
        for (int i = 0; i < count; i++) total[i] += f[i];
        n++;
    }
    for (int i = 0; i < 6 + 2 * s->rule.channels; i++)
        s->weights[i] = (float)(gain_of(s, i) * ((double)total[i] / (double)n));
}

/* Sums from labels, and clusters moved to them. Returns whether any sum or contrast changed. */
static bool gather(clustering *s, bool first)
{
    const size_t bytes = (size_t)s->rule.clusters * sizeof(cluster);
    cluster *old = malloc(bytes);
    bool changed = first;
    memcpy(old, s->clusters, bytes);
    for (int32_t k = 0; k < s->rule.clusters; k++) {
        cluster *now = &s->clusters[k];
        now->n = 0;
        now->largest = first ? 1e-2f : 0.0f;
        memset(now->at, 0, sizeof now->at);
        memset(now->sum, 0, sizeof now->sum);
    }
    for (int64_t v = 0; v < s->n; v++) {
        if (!s->is_data[v]) continue;
        cluster *now = &s->clusters[s->label[v]];
        add_voxel(now, s, v);
        if (!first && s->rule.method == LOB_SLICO)
            now->largest = fmaxf(now->largest, contrast_to(s, &old[s->label[v]], v));
    }
    for (int32_t k = 0; k < s->rule.clusters; k++) {
        cluster *now = &s->clusters[k];
        if (now->n != old[k].n || memcmp(now->at, old[k].at, sizeof now->at) != 0 ||
            memcmp(now->sum, old[k].sum, sizeof now->sum) != 0)
            changed = true;
        if (now->n == 0) now->largest = old[k].largest;
        if (s->rule.method == LOB_SLICO && now->largest != old[k].largest) changed = true;
        move(now, s);
    }
    free(old);
    return changed;
}

/* ---- pieces ---- */

/* Voxels that share a face with v, not across slices. Returns how many. */
static int faces_of(int64_t *beside, const clustering *s, int64_t v)
{
    int32_t x[3];
    int64_t stride = 1;
    int count = 0;
    position_of(x, s, v);
    for (int a = 0; a < 3; stride *= s->rule.side[a], a++) {
        if (a == s->rule.slice_axis) continue;
        if (x[a] > 0) beside[count++] = v - stride;
        if (x[a] + 1 < s->rule.side[a]) beside[count++] = v + stride;
    }
    return count;
}

/* piece[v] counts from 1. Returns how many pieces there are. */
static int32_t flood(int32_t *piece, const clustering *s)
{
    int64_t *stack = malloc((size_t)s->n * sizeof *stack), beside[6];
    int32_t count = 0;
    memset(piece, 0, (size_t)s->n * sizeof *piece);
    for (int64_t first = 0; first < s->n; first++) {
        if (!s->is_data[first] || piece[first]) continue;
        int64_t height = 0;
        stack[height++] = first;
        piece[first] = ++count;
        while (height > 0) {
            const int64_t v = stack[--height];
            for (int i = faces_of(beside, s, v); i-- > 0;) {
                const int64_t u = beside[i];
                if (!s->is_data[u] || piece[u] || s->label[u] != s->label[v]) continue;
                piece[u] = count;
                stack[height++] = u;
            }
        }
    }
    free(stack);
    return count;
}

/* Pieces that have been joined; known by the lowest of them, and empty under any other's number. */
typedef struct {
    uint64_t n, sum[LOB_SUPERVOXELS_MAX_CHANNELS];
    int64_t mean[LOB_SUPERVOXELS_MAX_CHANNELS]; /* levels in sixteenths */
    int32_t picked, lowest;                     /* picked 0: nothing */
    float min;                                  /* how far what was picked is from it */
} piece_set;

static void measure(piece_set *sets, const clustering *s, const int32_t *set, int32_t pieces)
{
    for (int64_t v = 0; v < s->n; v++) {
        piece_set *of = &sets[set[v]];
        of->n++;
        for (int c = 0; c < s->rule.channels; c++) of->sum[c] += s->planes[c * s->n + v];
    }
    for (int32_t p = 1; p <= pieces; p++) {
        piece_set *of = &sets[p];
        of->lowest = p;
        for (int c = 0; c < s->rule.channels && of->n > 0; c++)
            of->mean[c] = (int64_t)((16 * of->sum[c] + of->n / 2) / of->n);
    }
}

/* Of two sets that touch, the second may be what the first picks: that which is most like it. */
static void offer(piece_set *of, const piece_set *sets, int32_t other, int channels)
{
    uint64_t apart = 0;
    for (int c = 0; c < channels; c++) {
        const int64_t d = of->mean[c] - sets[other].mean[c];
        apart += (uint64_t)(d * d);
    }
    const float distance = (float)apart;
    if (of->picked == 0 || distance < of->min || (distance == of->min && other < of->picked))
        of->min = distance, of->picked = other;
}

/* One round. set[v] is the lowest piece of its set; returns whether any joined. */
static bool join_small(const clustering *s, int32_t *set, int32_t pieces, double small)
{
    piece_set *sets = calloc((size_t)pieces + 1, sizeof *sets);
    bool any = false, settled = false;
    measure(sets, s, set, pieces);
    for (int64_t v = 0; v < s->n; v++) {
        int64_t beside[6];
        if (set[v] == 0 || (double)sets[set[v]].n >= small) continue;
        for (int i = faces_of(beside, s, v); i-- > 0;)
            if (set[beside[i]] != 0 && set[beside[i]] != set[v])
                offer(&sets[set[v]], sets, set[beside[i]], s->rule.channels);
    }
    while (!settled) { /* both ends of a pick take the lower number, until nothing changes */
        settled = true;
        for (int32_t p = 1; p <= pieces; p++) {
            const int32_t q = sets[p].picked;
            if (q == 0 || sets[p].lowest == sets[q].lowest) continue;
            if (sets[p].lowest < sets[q].lowest)
                sets[q].lowest = sets[p].lowest;
            else
                sets[p].lowest = sets[q].lowest;
            settled = false;
            any = true;
        }
    }
    for (int64_t v = 0; v < s->n; v++)
        if (set[v]) set[v] = sets[set[v]].lowest;
    free(sets);
    return any;
}

static int32_t number_sets(int32_t *labels, const int32_t *set, int64_t n, int32_t pieces)
{
    int32_t *number = calloc((size_t)pieces + 1, sizeof *number), count = 0;
    for (int64_t v = 0; v < n; v++) {
        if (set[v] && !number[set[v]]) number[set[v]] = ++count;
        labels[v] = number[set[v]];
    }
    free(number);
    return count;
}

/* ---- the whole ---- */

static void make_levels(clustering *s, const lob_data *data, const lob_view *view)
{
    const lob_dims d = view->dims;
    const uint8_t *rgb = data->image->data;
    for (int64_t v = 0; v < s->n; v++) {
        const int64_t x = v % d.nx, y = v / d.nx % d.ny, z = v / d.nx / d.ny;
        uint16_t lab[3];
        lob_levels_data_row(&s->is_data[v], data, view, x, y, z, 1);
        if (!s->is_data[v]) continue;
        if (s->rule.lab) {
            lob_lab(lab, rgb[v], rgb[s->n + v], rgb[2 * s->n + v], s->plan.linear, s->plan.root);
            for (int c = 0; c < 3; c++) s->planes[c * s->n + v] = lab[c];
            continue;
        }
        for (int c = 0; c < s->rule.channels; c++) {
            uint16_t level;
            lob_levels_row(&level, &s->is_data[v], &s->plan.levels, data, c, view, x, y, z, 1);
            s->planes[c * s->n + v] = (uint16_t)(level - s->plan.lowest[c]);
        }
    }
}

static int iterate(clustering *s, const lob_supervoxels_options *options)
{
    int done = 0;
    for (int64_t v = 0; v < s->n; v++) s->label[v] = s->is_data[v] ? own_cluster(s, v) : -1;
    if (s->rule.method == LOB_LSC) weigh(s);
    gather(s, true);
    while (done < options->iterations) {
        for (int64_t v = 0; v < s->n; v++)
            if (s->is_data[v]) choose(s, v);
        done++;
        if (!gather(s, false) && options->until_still) break;
    }
    return done;
}

static void connect(int32_t *labels, lob_supervoxels_stats *stats, const clustering *s,
                    const lob_supervoxels_options *options)
{
    int32_t *piece = malloc((size_t)s->n * sizeof *piece);
    double nominal = 1;
    for (int a = 0; a < 3; a++) nominal *= (double)s->rule.side[a] / s->rule.cells[a];
    stats->fragments = flood(piece, s);
    while (join_small(s, piece, (int32_t)stats->fragments, options->smallest * nominal))
        ;
    stats->supervoxels = number_sets(labels, piece, s->n, (int32_t)stats->fragments);
    free(piece);
}

lob_status supervoxels_reference(int32_t *labels, lob_supervoxels_stats *stats,
                                 const lob_supervoxels_input *in,
                                 const lob_supervoxels_options *options)
{
    const lob_data data = {
        in->image, in->mask, {options->range[0], options->range[1]}
    };
    const lob_view view = lob_view_whole(in->image->dims);
    lob_extremes extremes[LOB_SUPERVOXELS_MAX_CHANNELS];
    uint16_t span[LOB_SUPERVOXELS_MAX_CHANNELS];
    lob_levels levels;
    clustering s = {.n = lob_voxels(in->image)};
    lob_levels_extremes(extremes, &levels, &data, &view, 1);
    lob_levels_settle(&levels, span, extremes, in->image);
    const lob_status st = lob_supervoxels_plan_make(&s.plan, in, options, &levels, extremes,
                                                    &(lob_context){.threads = 1}, NULL);
    if (st != LOB_OK) return st;
    s.rule = s.plan.rule;
    s.is_data = calloc((size_t)s.n, 1);
    s.planes = calloc((size_t)(s.n * s.rule.channels), sizeof *s.planes);
    s.label = malloc((size_t)s.n * sizeof *s.label);
    s.clusters = calloc((size_t)s.rule.clusters, sizeof *s.clusters);
    make_levels(&s, &data, &view);

    *stats = (lob_supervoxels_stats){.size_mm = s.plan.size_mm, .not_finite = levels.not_finite};
    for (int64_t v = 0; v < s.n; v++) stats->data_voxels += s.is_data[v];
    for (int a = 0; a < 3; a++) stats->cells[a] = s.rule.cells[a];
    stats->iterations = iterate(&s, options);
    connect(labels, stats, &s, options);

    free(s.is_data), free(s.planes), free(s.label), free(s.clusters);
    lob_supervoxels_plan_free(&s.plan);
    return LOB_OK;
}
