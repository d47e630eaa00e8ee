/* Appearance, naive. */
#include "tests/reference/appearance_case.h"

#include "tests/reference/put_number.h"
#include "volumes/labels.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const lob_appearance_input *in;
    const lob_appearance_options *o;
    const lob_volume *grid;
    lob_dims d;
    int64_t n;
    double spacing[3], least;
    int32_t *seed;
    int64_t *drawn, drawn_count; /* voxels with a seed */
} naive;

static void *must_have(size_t bytes)
{
    void *block = calloc(bytes, 1);
    if (!block) exit(75);
    return block;
}

static void place_of(int64_t at[3], const naive *c, int64_t i)
{
    at[0] = i % c->d.nx;
    at[1] = i / c->d.nx % c->d.ny;
    at[2] = i / (c->d.nx * c->d.ny);
}

/* ---- values ---- */

static float value_of(const lob_volume *v, int64_t i)
{
    return (float)(v->slope * number_at(v, i) + v->inter);
}

static int bin_of(const naive *c, float value, float low, float width)
{
    if (isnan(value)) return -1;
    const float at = floorf((value - low) / width);
    return at < 0 ? 0 : at >= (float)c->o->bins ? c->o->bins + 1 : (int)at + 1;
}

/* Shares of bins of voxels with a label; 0: of all. */
static double *share_of(const naive *c, const int *bin, int32_t label)
{
    const int n = c->o->bins + 2;
    const int radius = (int)(4 * c->o->bin_sigma + .5);
    double *count = must_have((size_t)n * sizeof *count),
           *share = must_have((size_t)n * sizeof *share);
    double norm = 0, total = 0;
    for (int64_t i = 0; i < c->n; i++) {
        const bool counts = label == 0 || c->seed[i] == label;
        if (counts && bin[i] >= 0) count[bin[i]]++;
    }
    for (int k = -radius; k <= radius; k++)
        norm += radius ? exp(-.5 * k * k / (c->o->bin_sigma * c->o->bin_sigma)) : 1;
    for (int b = 0; b < n; b++) {
        for (int k = -radius; k <= radius; k++) {
            const int at = b + k < 0 ? 0 : b + k > n - 1 ? n - 1 : b + k;
            const double w = radius ? exp(-.5 * k * k / (c->o->bin_sigma * c->o->bin_sigma)) : 1;
            share[b] += w / norm * count[at];
        }
        total += share[b];
    }
    for (int b = 0; b < n; b++) share[b] = (share[b] + .5 / n) / (total + .5);
    free(count);
    return share;
}

/* Let voxels mostly of one, with something of the other, have their part in the shares of bins. */
static void add_partial_volume(const naive *c, double *own, double *rest)
{
    const int n = c->o->bins + 2;
    const double part = c->o->partial_volume;
    double *pure[] = {must_have((size_t)n * sizeof *own), must_have((size_t)n * sizeof *own)};
    for (int b = 0; b < n; b++) {
        pure[0][b] = own[b];
        pure[1][b] = rest[b];
        own[b] *= 1 - part;
        rest[b] *= 1 - part;
    }
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            const double pair = part * pure[0][a] * pure[1][b];
            const int way = b < a ? -1 : 1, steps = abs(b - a) / 2;
            for (int i = 0; i <= steps; i++) {
                own[a + way * i] += pair / (steps + 1);
                rest[b - way * i] += pair / (steps + 1);
            }
        }
    free(pure[0]);
    free(pure[1]);
}

/* ---- strokes nearby ---- */

/* A channel of a view, and its scores of bins without places: wanted labels times bins. */
typedef struct {
    const int *bin;
    const double *scores;
    double per_channel;
} binned;

static int64_t slice_at(const naive *c, int64_t i)
{
    int64_t at[3];
    place_of(at, c, i);
    return at[c->o->local_axis];
}

/* The slices whose strokes count in a slice: itself, and the next ones with strokes of several
 * labels. */
static void find_near(bool *near, const naive *c, int64_t slice)
{
    int64_t before = -1, after = INT64_MAX;
    const int64_t side = lob_side(c->d, c->o->local_axis);
    int32_t *const held = must_have((size_t)side * sizeof *held);
    bool *const several = must_have((size_t)side * sizeof *several);
    memset(held, 0, (size_t)side * sizeof *held);
    memset(several, 0, (size_t)side * sizeof *several);
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t s = slice_at(c, i);
        if (c->seed[i] == 0) continue;
        if (held[s] != 0 && held[s] != c->seed[i]) several[s] = true;
        held[s] = c->seed[i];
    }
    for (int64_t s = 0; s < side; s++) {
        if (several[s] && s < slice) before = s;
        if (several[s] && s > slice && s < after) after = s;
    }
    free(held);
    free(several);
    for (int64_t s = 0; s < side; s++) near[s] = s == slice || s == before || s == after;
}

static double squared(const naive *c, int64_t i, const double mm[3])
{
    int64_t at[3];
    double sum = 0;
    place_of(at, c, i);
    for (int a = 0; a < 3; a++)
        if (a != c->o->local_axis) sum += pow((double)at[a] * c->spacing[a] - mm[a], 2);
    return sum;
}

/* The share of bin b under strokes of a label, seen from a place. */
static double local_share(const naive *c, const binned *of, const bool *near, int32_t label, int b,
                          const double mm[3])
{
    const int last = c->o->bins + 1, radius = (int)(4 * c->o->bin_sigma + .5);
    double least = INFINITY, n = 0, share = 0, norm = 0;
    for (int64_t j = 0; j < c->drawn_count; j++) {
        const int64_t i = c->drawn[j];
        if (c->seed[i] == label && near[slice_at(c, i)]) {
            least = fmin(least, squared(c, i, mm));
            n++;
        }
    }
    const double sigma = fmax(15, 3 * sqrt(least));
    for (int k = -radius; k <= radius; k++)
        norm += radius ? exp(-.5 * k * k / (c->o->bin_sigma * c->o->bin_sigma)) : 1;
    for (int64_t j = 0; j < c->drawn_count; j++) {
        const int64_t i = c->drawn[j];
        if (c->seed[i] != label || !near[slice_at(c, i)] || of->bin[i] < 0) continue;
        const double weight = exp(-squared(c, i, mm) / (2 * sigma * sigma)) / (sigma * sigma * n);
        for (int k = -radius; k <= radius; k++) {
            const int at = b + k < 0 ? 0 : b + k > last ? last : b + k;
            const double w = radius ? exp(-.5 * k * k / (c->o->bin_sigma * c->o->bin_sigma)) : 1;
            if (of->bin[i] == at) share += w / norm * weight;
        }
    }
    return share + 2e-5;
}

/* How far nodes are apart along an axis: as asked for, or 1.25 times that, and again, while they
 * would have too many scores. */
static double apart(const naive *c, int axis)
{
    const int64_t most = c->n / 2 > 1 << 20 ? c->n / 2 : 1 << 20;
    int64_t scores = 0, channels = 0;
    for (int v = 0; v < c->in->view_count; v++) channels += c->in->views[v]->channels;
    double step = c->o->local_mm;
    for (;;) {
        bool few = true;
        double of_axis = 1;
        scores = channels * (c->o->bins + 3) * (c->in->labels - 1);
        for (int a = 0; a < 3; a++) {
            const double mm = (double)(lob_side(c->d, a) - 1) * c->spacing[a];
            const int64_t nodes = (int64_t)ceil(mm / step - 1e-6) + 1;
            scores *= a == c->o->local_axis ? lob_side(c->d, a) : nodes;
            few = few && (a == c->o->local_axis || nodes <= 2);
            if (a == axis && nodes > 1) of_axis = mm / (double)(nodes - 1);
        }
        if (scores <= most || few) return of_axis;
        step *= 1.25;
    }
}

/* The score of voxel i for wanted label k: of the nodes around it, bilinearly. */
static double local_score(const naive *c, const binned *of, const bool *near, int32_t label, int k,
                          int64_t i)
{
    const int u = c->o->local_axis == 0 ? 1 : 0, v = c->o->local_axis == 2 ? 1 : 2, b = of->bin[i];
    const double step[2] = {apart(c, u), apart(c, v)}, share = c->o->local;
    int64_t at[3];
    double sum = 0;
    place_of(at, c, i);
    const double un = (double)at[u] * c->spacing[u] / step[0];
    const double vn = (double)at[v] * c->spacing[v] / step[1];
    for (int corner = 0; corner < 4; corner++) {
        const double pu = rint(256 * (un - floor(un))) / 256,
                     pv = rint(256 * (vn - floor(vn))) / 256;
        const double weight = (corner % 2 ? pu : 1 - pu) * (corner / 2 ? pv : 1 - pv);
        double mm[3] = {0, 0, 0};
        if (weight == 0) continue;
        mm[u] = (floor(un) + corner % 2) * step[0];
        mm[v] = (floor(vn) + corner / 2) * step[1];
        const double own = local_share(c, of, near, label, b, mm);
        const double background = local_share(c, of, near, c->in->background, b, mm);
        const double score = share * log(own / background) * of->per_channel +
                             (1 - share) * of->scores[k * (c->o->bins + 2) + b];
        sum += weight * fmin(fmax(score, -16), 16);
    }
    return sum;
}

static void add_local(double *scores, const naive *c, const binned *of)
{
    const int64_t side = lob_side(c->d, c->o->local_axis);
    bool *near = must_have((size_t)side * sizeof *near);
    for (int64_t s = 0; s < side; s++) {
        find_near(near, c, s);
        for (int64_t i = 0; i < c->n; i++)
            for (int32_t l = 1, k = 0; l <= c->in->labels && slice_at(c, i) == s; l++)
                if (l != c->in->background) {
                    if (of->bin[i] >= 0) scores[k * c->n + i] += local_score(c, of, near, l, k, i);
                    k++;
                }
    }
    free(near);
}

static void add_channel(double *scores, const naive *c, const lob_volume *view, int channel)
{
    int *bin = must_have((size_t)c->n * sizeof *bin);
    float low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < c->n; i++) {
        const float v = value_of(view, channel * c->n + i);
        if (c->seed[i] == 0 || !isfinite(v)) continue;
        low = fminf(low, v);
        high = fmaxf(high, v);
    }
    if (low > high) low = high = 0;
    float width = (high - low) / (float)c->o->bins;
    if (!(width > 0)) width = 1;
    for (int64_t i = 0; i < c->n; i++)
        bin[i] = bin_of(c, value_of(view, channel * c->n + i), low, width);
    const int bins = c->o->bins + 2;
    double *whole = share_of(c, bin, 0);
    double *of_bins = must_have((size_t)(bins * c->in->labels) * sizeof *of_bins);
    for (int32_t l = 1, k = 0; l <= c->in->labels; l++) {
        if (l == c->in->background) continue;
        double *own = share_of(c, bin, l), *rest = share_of(c, bin, c->in->background);
        add_partial_volume(c, own, rest);
        for (int b = 0; b < bins; b++) {
            const double against = (1 - c->o->whole) * rest[b] + c->o->whole * whole[b];
            of_bins[k * bins + b] = log(own[b] / against) / view->channels;
        }
        for (int64_t i = 0; c->o->local == 0 && i < c->n; i++)
            if (bin[i] >= 0) scores[k * c->n + i] += of_bins[k * bins + bin[i]];
        free(own);
        free(rest);
        k++;
    }
    const binned of = {bin, of_bins, 1.0 / view->channels};
    if (c->o->local > 0) add_local(scores, c, &of);
    free(of_bins);
    free(whole);
    free(bin);
}

/* ---- places ---- */

/* Distance to the nearest voxel for which is[] equals `what`, in the slice across an axis or (-1)
 * anywhere; INFINITY where there is none. */
static double nearest(const naive *c, const uint8_t *is, uint8_t what, int64_t i, int axis)
{
    double best = INFINITY;
    int64_t a[3], b[3];
    place_of(a, c, i);
    for (int64_t j = 0; j < c->n; j++) {
        double sum = 0;
        if (is[j] != what) continue;
        place_of(b, c, j);
        if (axis >= 0 && a[axis] != b[axis]) continue;
        for (int k = 0; k < 3; k++) {
            const double mm = (double)(a[k] - b[k]) * c->spacing[k];
            sum += mm * mm;
        }
        if (sum < best) best = sum;
    }
    return sqrt(best);
}

/* Sides of the blocks between which distances are found, in voxels. */
static void find_blocks(int64_t side[3], const naive *c)
{
    const lob_dims d = c->in->views[0]->dims;
    for (int a = 0; a < 3; a++) side[a] = 1;
    for (;;) {
        int64_t count = 1;
        int shortest = -1;
        for (int a = 0; a < 3; a++) {
            const int64_t blocks = (lob_side(d, a) + side[a] - 1) / side[a];
            count *= blocks;
            if (blocks > 1 && (shortest < 0 || (double)side[a] * c->spacing[a] <
                                                   (double)side[shortest] * c->spacing[shortest]))
                shortest = a;
        }
        if (count <= c->o->blocks) return;
        side[shortest] *= 2;
    }
}

/* From the block of voxel i to the nearest one with a marked voxel. */
static double from_block(const naive *c, const int64_t side[3], const uint8_t *is, int64_t i)
{
    int64_t a[3], b[3];
    double best = INFINITY;
    place_of(a, c, i);
    for (int64_t j = 0; j < c->n; j++) {
        double sum = 0;
        if (!is[j]) continue;
        place_of(b, c, j);
        for (int k = 0; k < 3; k++) {
            const double mm = (double)((a[k] / side[k] - b[k] / side[k]) * side[k]) * c->spacing[k];
            sum += mm * mm;
        }
        if (sum < best) best = sum;
    }
    return sqrt(best);
}

static void add_far(double *scores, const naive *c, int32_t label)
{
    uint8_t *is = must_have((size_t)c->n);
    double *d = must_have((size_t)c->n * sizeof *d), *drawn = must_have((size_t)c->n * sizeof *d);
    int64_t n = 0, side[3];
    find_blocks(side, c);
    for (int64_t i = 0; i < c->n; i++) is[i] = c->seed[i] == label;
    for (int64_t i = 0; i < c->n; i++) {
        d[i] = from_block(c, side, is, i);
        if (c->seed[i] != 0 && c->seed[i] != label) drawn[n++] = d[i];
    }
    qsort(drawn, (size_t)n, sizeof *drawn, lob_by_real);
    double half = INFINITY; /* of the shortest side of a block */
    for (int a = 0; a < 3; a++)
        if (lob_side(c->in->views[0]->dims, a) > 1)
            half = fmin(half, (double)side[a] * c->spacing[a] / 2);
    const double least = fmax(half, c->o->far_mm);
    int64_t rank = (int64_t)(c->o->far_quantile * (double)n);
    if (rank > n - 1) rank = n - 1;
    for (int64_t i = 0; i < c->n; i++)
        scores[i] -= c->o->far * fmin(fmax(d[i] / fmax(drawn[rank], least) - 1, 0), 1);
    free(is);
    free(d);
    free(drawn);
}

/* Slices across an axis that hold strokes; of[1] of the label, of[0] of others. */
static int64_t strokes_in(const naive *c, int axis, int64_t slice, int32_t label, int64_t of[2])
{
    of[0] = of[1] = 0;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t at[3];
        place_of(at, c, i);
        if (at[axis] == slice && c->seed[i]) of[c->seed[i] == label]++;
    }
    return of[0] + of[1];
}

static int drawn_axis(const naive *c)
{
    int64_t fewest = INT64_MAX, of[2];
    int best = -1;
    for (int axis = 0; axis < 3; axis++) {
        int64_t held = 0;
        if (lob_side(c->d, axis) == 1) return -1;
        for (int64_t s = 0; s < lob_side(c->d, axis); s++)
            held += strokes_in(c, axis, s, 1, of) > 0;
        if (held <= fewest) best = axis;
        if (held <= fewest) fewest = held;
    }
    return best;
}

/* Strokes of a slice that no plane holds. */
static int64_t left_in(const naive *c, uint8_t *const plane[3], int axis, int64_t slice)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t at[3];
        bool held = false;
        place_of(at, c, i);
        for (int a = 0; a < 3; a++) held = held || plane[a][at[a]];
        n += c->seed[i] && !held && at[axis] == slice;
    }
    return n;
}

/* Planes: 1 where a slice is one. */
static void find_planes(uint8_t *const plane[3], const naive *c)
{
    const int drawn = drawn_axis(c);
    int64_t held = 0, all = 0, of[2];
    if (drawn < 0) return;
    for (int64_t s = 0; s < lob_side(c->d, drawn); s++) {
        const int64_t n = strokes_in(c, drawn, s, 1, of);
        held += n > 0;
        all += n;
    }
    int64_t left = all;
    for (int64_t found = 0; found < held / 2 && left > all / 50; found++) {
        int64_t most = -1, slice = 0;
        int axis = 0;
        for (int a = 0; a < 3; a++)
            for (int64_t s = 0; s < lob_side(c->d, a); s++) {
                const int64_t n = left_in(c, plane, a, s);
                if (n < most) continue;
                most = n;
                axis = a;
                slice = s;
            }
        plane[axis][slice] = 1;
        left -= most;
    }
    if (left <= all / 50) return;
    for (int a = 0; a < 3; a++)
        for (int64_t s = 0; s < lob_side(c->d, a); s++)
            plane[a][s] = a == drawn && strokes_in(c, a, s, 1, of) > 0;
}

static double inside_mm(const naive *c, const uint8_t *is, int64_t i, int axis)
{
    const double mm = nearest(c, is, !is[i], i, axis);
    return is[i] ? fmin(mm, 1e4) : -fmin(mm, 1e4);
}

static void add_shape(double *scores, const naive *c, int32_t label, int axis, const uint8_t *plane)
{
    const int64_t side = lob_side(c->d, axis);
    const int64_t stride[3] = {1, c->d.nx, c->d.nx * c->d.ny};
    int64_t *drawn = must_have((size_t)side * sizeof *drawn), n = 0, fullest = 1, of[2];
    uint8_t *is = must_have((size_t)c->n);
    for (int64_t i = 0; i < c->n; i++)
        is[i] = lob_label_at(c->in->outline, c->in->outline_type, i) == label;
    for (int64_t s = 0; s < side; s++) {
        const int64_t all = strokes_in(c, axis, s, label, of);
        if (plane[s] && of[0] && of[1] && all > fullest) fullest = all;
    }
    for (int64_t s = 0; s < side; s++) {
        const int64_t all = strokes_in(c, axis, s, label, of);
        if (plane[s] && of[0] && of[1] && 4 * all >= fullest) drawn[n++] = s;
    }
    for (int64_t i = 0; n > 0 && i < c->n; i++) {
        int64_t at[3], a = 0;
        place_of(at, c, i);
        const int64_t s = at[axis];
        while (a + 1 < n && drawn[a + 1] <= s) a++;
        double mm = inside_mm(c, is, i + (drawn[a] - s) * stride[axis], axis);
        double away = fabs((double)(s - drawn[a])) * c->spacing[axis];
        double widen = c->o->shape_widen;
        if (s > drawn[a] && a + 1 < n) {
            const double next = inside_mm(c, is, i + (drawn[a + 1] - s) * stride[axis], axis);
            const double t = (double)(s - drawn[a]) / (double)(drawn[a + 1] - drawn[a]);
            mm = (1 - t) * mm + t * next;
            away = fmin(away, (double)(drawn[a + 1] - s) * c->spacing[axis]);
        } else {
            mm -= c->o->shape_slope * away;
            if (n > 1) widen /= 3;
        }
        const double border = c->o->shape_mm > 0 ? c->o->shape_mm : c->least;
        const double gain = mm / (border + widen * away);
        scores[i] += fmin(fmax(gain, -fmax(c->o->shape, c->o->far)), c->o->shape);
    }
    free(drawn);
    free(is);
}

void appearance_reference(double *scores, const lob_appearance_input *in,
                          const lob_appearance_options *options)
{
    naive c = {.in = in, .o = options, .grid = in->views[0], .least = INFINITY};
    double any = INFINITY;
    c.d = c.grid->dims;
    c.n = lob_dims_voxels(c.d);
    c.seed = must_have((size_t)c.n * sizeof *c.seed);
    c.drawn = must_have((size_t)c.n * sizeof *c.drawn);
    for (int64_t i = 0; i < c.n; i++) {
        c.seed[i] = lob_label_at(in->seeds, in->seed_type, i);
        if (c.seed[i] > 0) c.drawn[c.drawn_count++] = i;
    }
    for (int a = 0; a < 3; a++) {
        c.spacing[a] = c.grid->geometry.spacing_mm[a];
        any = fmin(any, c.spacing[a]);
        if (lob_side(c.d, a) > 1) c.least = fmin(c.least, c.spacing[a]);
    }
    if (isinf(c.least)) c.least = any;
    for (int64_t i = 0; i < (in->labels - 1) * c.n; i++) scores[i] = 0;
    for (int v = 0; v < in->view_count; v++)
        for (int k = 0; k < in->views[v]->channels; k++) add_channel(scores, &c, in->views[v], k);
    uint8_t *plane[3];
    for (int a = 0; a < 3; a++) plane[a] = must_have((size_t)lob_side(c.d, a));
    if (in->outline) find_planes(plane, &c);
    for (int32_t l = 1, k = 0; l <= in->labels; l++) {
        if (l == in->background) continue;
        if (!in->outline && options->far > 0) add_far(scores + k * c.n, &c, l);
        for (int a = 0; in->outline && options->shape > 0 && a < 3; a++)
            add_shape(scores + k * c.n, &c, l, a, plane[a]);
        k++;
    }
    for (int a = 0; a < 3; a++) free(plane[a]);
    free(c.drawn);
    free(c.seed);
}
