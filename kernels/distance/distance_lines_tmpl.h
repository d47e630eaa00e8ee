/*
 * A block of lines side by side, for one type of costs: with NARROW whole numbers of 32 bits, else
 * of up to 2^50, as doubles.
 *
 * First every voxel looks outward along its line, all lines of the block at once, until nothing
 * nearer can come: quick where distances are short. Where this takes long the block is worked on
 * line by line, in a time that does not depend on distances: for costs alone by the lower envelope
 * of parabolas (Felzenszwalb and Huttenlocher, Theory of Computing 8, 2012), which each run of
 * equal labels has for itself where other labels are looked for; for labels by searches between the
 * places of neighbours (distance_search_tmpl.h).
 */
#include "kernels/distance/distance_lines.h"

#include "kernels/distance/distance_search.h"
#include "kernels/distance/distance_voxel.h"
#include "kernels/simd_clones.h"

#include <math.h>
#include <string.h>

/* TAG holds a label beside a cost, and is as wide. */
#if NARROW
#define COST        int32_t
#define TAG         uint32_t
#define NO_COST     LOB_NO_COST_NARROW
#define NAMED(name) lob_narrow_##name
#else
#define COST        double
#define TAG         double
#define NO_COST     LOB_NO_COST_WIDE
#define NAMED(name) lob_wide_##name
#endif

/* Steps outward for each voxel after which a block is given up: an envelope costs less than
 * searches.
 */
enum { AT_ONCE = 4, STEPS_BY_ENVELOPE = 16, STEPS_BY_SEARCH = 48, RETRY = 16 };

typedef struct {
    COST *cost, *best, *place; /* n * LOB_LINES; place: the voxel of the line that is best */
    TAG *tag, *best_tag;       /* n * LOB_LINES: labels */
    COST *values, *voxels;     /* n: of one line's search */
    uint32_t *labels;          /* n */
    double *inverse;           /* n: 1 / (2 * weight * i) */
    uint32_t *held;            /* n * LOB_LINES: what voxels will hold for the pass along z */
    int32_t *range[2];         /* a fourth of n: first and last best places */
} lines_of_thread;

static lines_of_thread lines_in(void *memory, int64_t n)
{
    lines_of_thread s;
    s.cost = memory;
    s.best = s.cost + n * LOB_LINES;
    s.place = s.best + n * LOB_LINES;
    s.tag = (TAG *)(s.place + n * LOB_LINES);
    s.best_tag = s.tag + n * LOB_LINES;
    s.values = (COST *)(s.best_tag + n * LOB_LINES);
    s.voxels = s.values + n;
    s.inverse = (double *)(((uintptr_t)(s.voxels + n) + 7) & ~(uintptr_t)7);
    s.labels = (uint32_t *)(s.inverse + n);
    s.held = s.labels + n;
    s.range[0] = (int32_t *)(s.held + n * LOB_LINES);
    s.range[1] = s.range[0] + n / 4 + 1;
    return s;
}

int64_t NAMED(line_bytes)(int64_t n)
{
    const int64_t each = LOB_LINES * (int64_t)(3 * sizeof(COST) + 2 * sizeof(TAG) + 4) +
                         (int64_t)(2 * sizeof(COST) + sizeof(double) + sizeof(uint32_t));
    return (n * each + 2 * (n / 4 + 1) * (int64_t)sizeof(int32_t) + 8 + 63) & ~(int64_t)63;
}

/* ---- loading and storing ---- */

/* Costs of one voxel of each line; `first`: before the first pass. */
static inline __attribute__((always_inline)) void costs_of(COST *restrict cost,
                                                           const uint32_t *restrict held,
                                                           const COST weight[2], const bool first)
{
    for (int l = 0; l < LOB_LINES; l++) {
#if NARROW
        const uint32_t square = held[l] * held[l] * (first ? (uint32_t)weight[0] : 1);
        const bool none = held[l] == LOB_NO_OFFSET;
        cost[l] = first ? none ? NO_COST : (COST)square : (COST)held[l];
#else
        const uint32_t offsets = first && held[l] != LOB_NO_OFFSET ? held[l] & 0xffff : held[l];
        cost[l] = lob_distance_of_offsets(offsets, weight[0], weight[1]);
#endif
    }
}

/* Lines that are not there get cost 0, so that they end at once. */
LOB_SIMD_CLONES(void, load_costs, (s, pass, first, lines, n, step), const lines_of_thread *s,
                const lob_distance_pass *pass, int64_t first, int lines, int64_t n, int64_t step)
{
    enum { AHEAD = 12 }; /* voxels of a line lie in pages of their own */
    const COST weight[2] = {(COST)pass->plan->weight[0], (COST)pass->plan->weight[1]};
    for (int64_t i = 0; i < n; i++) {
        const uint32_t *const from = pass->voxels + first + i * step;
        COST *const cost = s->cost + i * LOB_LINES;
        uint32_t held[LOB_LINES] = {0};
        if (i + AHEAD < n) __builtin_prefetch(from + AHEAD * step);
        memcpy(held, from, (size_t)lines * sizeof *held);
        if (pass->pass == 0)
            costs_of(cost, held, weight, true);
        else
            costs_of(cost, held, weight, false);
    }
}

static void load_tags(const lines_of_thread *s, const lob_distance_pass *pass, int64_t first,
                      int lines, int64_t n, int64_t step)
{
    const lob_distance_plan *p = pass->plan;
    const void *labels = p->find == LOB_FIND_OTHER ? pass->labels : pass->feature;
    for (int64_t i = 0; i < n; i++) {
        TAG *const tag = s->tag + i * LOB_LINES;
        for (int l = 0; l < LOB_LINES; l++) tag[l] = 0;
        for (int l = 0; l < lines; l++)
            tag[l] = (TAG)lob_distance_label(labels, pass->label_bytes, first + i * step + l);
        if (p->find != LOB_FIND_OTHER || (!p->binary && !p->only)) continue;
        for (int l = 0; l < lines; l++)
            tag[l] = (TAG)lob_distance_class((uint32_t)tag[l], p->only, p->binary);
    }
}

/* What a voxel whose best cost is known holds for the pass along z. */
static uint32_t held_of(const lines_of_thread *s, const uint32_t *before, int64_t step, int64_t i,
                        int l, lob_distance_find find)
{
#if NARROW
    (void)before, (void)step, (void)find;
    return (uint32_t)s->best[i * LOB_LINES + l];
#else
    if (s->best[i * LOB_LINES + l] >= NO_COST) return LOB_NO_OFFSET;
    const int64_t v = (int64_t)s->place[i * LOB_LINES + l];
    const uint32_t away = (uint32_t)(v < i ? i - v : v - i) << 16;
    if (find == LOB_FIND_OTHER && s->tag[v * LOB_LINES + l] != s->tag[i * LOB_LINES + l])
        return away; /* the voxel is of another label itself */
    return before[v * step + l] | away;
#endif
}

LOB_SIMD_CLONES(void, forget_far, (s, n, max, tagged), const lines_of_thread *s, int64_t n,
                COST max, bool tagged)
{
    COST *const restrict best = s->best;
    TAG *const restrict tag = s->best_tag;
    for (int64_t i = 0; tagged && i < n * LOB_LINES; i++) tag[i] = best[i] > max ? 0 : tag[i];
    for (int64_t i = 0; i < n * LOB_LINES; i++) best[i] = best[i] > max ? NO_COST : best[i];
}

LOB_SIMD_CLONES(void, put_values, (s, pass, at, row, lines), const lines_of_thread *s,
                const lob_distance_pass *pass, int64_t at, int64_t row, int lines)
{
    const lob_distance_plan *p = pass->plan;
    const double unit = p->unit;
    const bool squared = p->squared;
    const COST *const best = s->best + row;
    float values[LOB_LINES];
    for (int l = 0; l < LOB_LINES; l++) { /* without a branch: lob_distance_value */
        const double length = lob_distance_length((double)best[l], unit, squared);
        values[l] = (float)(best[l] >= NO_COST ? (double)INFINITY : length);
    }
    if (p->negative_inside)
        for (int l = 0; l < lines; l++) values[l] = s->tag[row + l] != 0 ? -values[l] : values[l];
    memcpy(pass->voxels + at, values, (size_t)lines * sizeof *values);
}

static void store(const lines_of_thread *s, const lob_distance_pass *pass, int64_t first, int lines,
                  int64_t n, int64_t step)
{
    const lob_distance_plan *p = pass->plan;
    const bool last = pass->pass == p->passes - 1, tagged = p->find == LOB_FIND_LABEL;
    forget_far(s, n, (COST)p->max, tagged);
    for (int64_t i = 0; !last && i < n; i++) /* all lines are read before one is written */
        for (int l = 0; l < lines; l++)
            s->held[i * LOB_LINES + l] = held_of(s, pass->voxels + first, step, i, l, p->find);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = first + i * step, row = i * LOB_LINES;
        if (last)
            put_values(s, pass, at, row, lines);
        else
            memcpy(pass->voxels + at, s->held + row, (size_t)lines * sizeof *s->held);
        for (int l = 0; tagged && l < lines; l++)
            lob_distance_put_label(pass->feature, pass->label_bytes, at + l,
                                   (uint32_t)s->best_tag[row + l]);
    }
}

/* ---- outward ---- */

static inline __attribute__((always_inline)) bool any_above(const COST *cost, COST limit)
{
    int above = 0;
    for (int l = 0; l < LOB_LINES; l++) above |= cost[l] > limit;
    return above != 0;
}

/*
 * Look AT_ONCE voxels further in both directions from voxel i, from distance `from` on. Beyond the
 * end of the line its last voxel is looked at again as if it were farther away than it is, which
 * changes nothing.
 */
static inline __attribute__((always_inline)) void look_outward(const lines_of_thread *s, int64_t i,
                                                               int64_t n, int64_t from, COST weight,
                                                               const lob_distance_find find,
                                                               const bool places)
{
    COST *const restrict best = s->best + i * LOB_LINES;
    COST *const restrict place = s->place + i * LOB_LINES;
    TAG *const restrict best_tag = s->best_tag + i * LOB_LINES;
    const TAG *const own = s->tag + i * LOB_LINES;
    for (int side = 0; side < 2 * AT_ONCE; side++) {
        const int64_t away = from + side / 2;
        const int64_t row = side % 2 ? (i + away < n ? i + away : n - 1) : i > away ? i - away : 0;
        const COST *const restrict cost = s->cost + row * LOB_LINES;
        const TAG *const restrict tag = s->tag + row * LOB_LINES;
        const COST across = weight * (COST)away * (COST)away, here = (COST)row;
        for (int l = 0; l < LOB_LINES; l++) {
            const COST theirs = find == LOB_FIND_OTHER && tag[l] != own[l] ? 0 : cost[l];
            const COST sum = theirs + across;
            bool better = sum < best[l];
            if (find == LOB_FIND_LABEL) better |= (sum == best[l]) & (tag[l] < best_tag[l]);
            best[l] = better ? sum : best[l];
            if (places) place[l] = better ? here : place[l];
            if (find == LOB_FIND_LABEL) best_tag[l] = better ? tag[l] : best_tag[l];
        }
    }
}

/* Returns false where it takes too long: then best holds nothing of use. */
static inline __attribute__((always_inline)) bool outward(const lines_of_thread *s, int64_t n,
                                                          COST weight, COST max,
                                                          const lob_distance_find find,
                                                          const bool places)
{
    const int64_t ties = find == LOB_FIND_LABEL; /* as near is not too far */
    const int64_t most = find == LOB_FIND_LABEL ? STEPS_BY_SEARCH : STEPS_BY_ENVELOPE;
    int64_t steps = 0;
    for (int64_t i = 0; i < n; i++) {
        COST *const best = s->best + i * LOB_LINES;
        for (int l = 0; l < LOB_LINES; l++) best[l] = s->cost[i * LOB_LINES + l];
        for (int l = 0; places && l < LOB_LINES; l++) s->place[i * LOB_LINES + l] = (COST)i;
        for (int l = 0; find == LOB_FIND_LABEL && l < LOB_LINES; l++)
            s->best_tag[i * LOB_LINES + l] = s->tag[i * LOB_LINES + l];
        const int64_t end = i > n - 1 - i ? i : n - 1 - i;
        for (int64_t away = 1; away <= end; away += AT_ONCE) {
            const COST across = weight * (COST)away * (COST)away;
            if (across > max || !any_above(best, across - (COST)ties)) break;
            look_outward(s, i, n, away, weight, find, places);
            steps += AT_ONCE;
        }
        if (steps > most * (i + LOB_LINES)) return false;
    }
    return true;
}

#define OUTWARD(name, find, places)                                                       \
    LOB_SIMD_CLONES(bool, name, (s, n, weight, max), const lines_of_thread *s, int64_t n, \
                    COST weight, COST max)                                                \
    {                                                                                     \
        return outward(s, n, weight, max, find, places);                                  \
    }

OUTWARD(outward_cost, LOB_FIND_COST, false)
OUTWARD(outward_label, LOB_FIND_LABEL, false)
OUTWARD(outward_other, LOB_FIND_OTHER, false)
#if !NARROW
OUTWARD(outward_cost_places, LOB_FIND_COST, true)
OUTWARD(outward_label_places, LOB_FIND_LABEL, true)
OUTWARD(outward_other_places, LOB_FIND_OTHER, true)
#endif

static bool look_at_all(const lines_of_thread *s, int64_t n, const lob_distance_pass *pass)
{
    typedef bool look_function(const lines_of_thread *s, int64_t n, COST weight, COST max);
    const lob_distance_plan *p = pass->plan;
    static look_function *const of_last[] = {outward_cost, outward_label, outward_other};
    const COST weight = (COST)p->weight[p->axis[pass->pass]], max = (COST)p->max;
#if !NARROW
    static look_function *const of_first[] = {outward_cost_places, outward_label_places,
                                              outward_other_places};
    if (pass->pass < p->passes - 1) return of_first[p->find](s, n, weight, max);
#endif
    return of_last[p->find](s, n, weight, max);
}

/* ---- between the places of neighbours ---- */

static void keep_found(const lines_of_thread *s, const NAMED(found) * found, int k, int32_t i,
                       int l, COST weight)
{
    const int64_t at = (int64_t)i * LOB_LINES + l;
    s->best[at] = found->value[k] + weight * (COST)i * (COST)i;
    s->place[at] = s->voxels[found->first[k]];
    s->best_tag[at] = (TAG)found->label[k];
}

static void keep_range(const lines_of_thread *s, const NAMED(found) * found, int k, int32_t i)
{
    s->range[0][i / 4] = found->first[k];
    s->range[1][i / 4] = found->last[k];
}

/*
 * Search the line's list of m voxels for the count voxels from i on, step apart; in the last step
 * these are all there are.
 */
static inline __attribute__((always_inline)) void search_some(const lines_of_thread *s,
                                                              const NAMED(line) * line, int l,
                                                              int32_t i, int32_t step,
                                                              const int count, int32_t lo,
                                                              int32_t hi)
{
    NAMED(found) found;
    NAMED(search)(&found, line, i, step, count, lo, hi, LOB_FIND_LABEL, true);
    for (int k = 0; k < count; k++)
        if (step > 1)
            keep_range(s, &found, k, i + k * step);
        else
            keep_found(s, &found, k, i + k, l, line->weight);
}

/* The voxels between those of the step before, a fourth of it apart; in the end all. */
static inline __attribute__((always_inline)) void search_between(const lines_of_thread *s,
                                                                 const NAMED(line) * line,
                                                                 int32_t n, int32_t m, int l,
                                                                 int32_t step)
{
    for (int32_t a = 0; a < n; a += 4 * step) {
        const int32_t lo = s->range[0][a / 4];
        const int32_t hi = a + 4 * step < n ? s->range[1][a / 4 + step] : m - 1;
        const int32_t left = (n - 1 - a) / step;
        if (step == 1 && left >= 3)
            search_some(s, line, l, a, 1, 4, lo, hi);
        else if (step > 1 && left >= 3)
            search_some(s, line, l, a + step, step, 3, lo, hi);
        else
            for (int32_t k = step > 1; k <= left; k++)
                search_some(s, line, l, a + k * step, step, 1, lo, hi);
    }
}

/* Add a voxel to the line's list, which has m; returns how many it has then. */
static inline int32_t list_voxel(const lines_of_thread *s, int32_t m, int64_t v, COST cost,
                                 COST weight)
{
    s->values[m] = cost + weight * (COST)v * (COST)v;
    s->voxels[m] = (COST)v;
    return m + (cost < NO_COST);
}

LOB_SIMD_CLONES(void, search_label, (s, n, l, weight), const lines_of_thread *s, int64_t n, int l,
                COST weight)
{
    const NAMED(line) line = {s->values, s->voxels, s->labels, 1, weight};
    int32_t m = 0, step = lob_distance_first_step(n);
    for (int64_t v = 0; v < n; v++) {
        s->labels[m] = (uint32_t)s->tag[v * LOB_LINES + l];
        m = list_voxel(s, m, v, s->cost[v * LOB_LINES + l], weight);
    }
    for (int64_t i = 0; m == 0 && i < n; i++) {
        s->best[i * LOB_LINES + l] = NO_COST;
        s->best_tag[i * LOB_LINES + l] = 0;
    }
    if (m == 0) return;
    for (int32_t i = 0; i < n; i += step) search_some(s, &line, l, i, step, 1, 0, m - 1);
    while (step > 1) {
        step /= 4;
        search_between(s, &line, (int32_t)n, m, l, step);
    }
}

/* ---- the lower envelope of a line ---- */

/*
 * The first voxel of the line at which a parabola that lies `by` voxels after another, and `above`
 * it at voxel 0, is below it: one after floor(above / (2 * weight * by)). above >= 0.
 */
static inline COST first_below(COST above, COST by, COST weight, const double *inverse)
{
#if NARROW
    /* No whole number lies within 2^-32 of the exact value. */
    (void)weight;
    return 1 + (COST)(((double)above + 0.5) * inverse[by]);
#else
    /* The quotient may be wrong by one; the remainder, a whole number below 2^53, tells. */
    const double one = 2 * weight * by;
    double quotient = floor(above * inverse[(int64_t)by]);
    const double rest = above - quotient * one;
    quotient += (double)(rest >= one) - (double)(rest < 0);
    return quotient + 1;
#endif
}

/*
 * Keep what the envelope of the m voxels of the list is made of; returns how many these are. A
 * parabola that is below the last one where that begins to be the lowest leaves nothing of it.
 */
static inline int32_t make_envelope(const lines_of_thread *s, int32_t m, int64_t n, COST weight)
{
    int32_t *const from = (int32_t *)s->labels; /* where a parabola becomes the lowest */
    const COST last = (COST)(n - 1);
    int32_t count = 0;
    for (int32_t v = 0; v < m; v++) {
        const COST value = s->values[v], voxel = s->voxels[v];
        COST above = 0, by = 0, begins = 0;
        for (; count > 0; count--) {
            above = value - s->values[count - 1];
            by = voxel - s->voxels[count - 1];
            if (above >= 2 * weight * by * (COST)from[count - 1]) break;
        }
        if (count > 0) {
            if (above >= 2 * weight * by * last) continue;
            begins = first_below(above, by, weight, s->inverse);
        }
        s->values[count] = value;
        s->voxels[count] = voxel;
        from[count++] = (int32_t)begins;
    }
    return count;
}

/* Let voxels begin..end - 1 have what is lowest there, of the m voxels of the list. */
static inline void take_lowest(const lines_of_thread *s, int32_t m, int64_t begin, int64_t end,
                               int64_t n, int l, COST weight)
{
    const int32_t count = make_envelope(s, m, n, weight);
    const int32_t *const from = (const int32_t *)s->labels;
    for (int64_t i = begin; count == 0 && i < end; i++) s->best[i * LOB_LINES + l] = NO_COST;
    for (int32_t k = 0; k < count; k++) {
        const int64_t first = from[k] > begin ? from[k] : begin;
        const int64_t next = k + 1 < count && from[k + 1] < end ? from[k + 1] : end;
        const COST value = s->values[k], voxel = s->voxels[k];
        for (int64_t i = first; i < next; i++) {
            const COST x = (COST)i;
            s->best[i * LOB_LINES + l] = value + weight * x * (x - 2 * voxel);
#if !NARROW
            s->place[i * LOB_LINES + l] = voxel;
#endif
        }
    }
}

LOB_SIMD_CLONES(void, search_cost, (s, n, l, weight), const lines_of_thread *s, int64_t n, int l,
                COST weight)
{
    int32_t m = 0;
    for (int64_t v = 0; v < n; v++) m = list_voxel(s, m, v, s->cost[v * LOB_LINES + l], weight);
    take_lowest(s, m, 0, n, n, l, weight);
}

/* What is best for a voxel lies in its run of equal labels or is a voxel next to it. */
LOB_SIMD_CLONES(void, search_other, (s, n, l, weight), const lines_of_thread *s, int64_t n, int l,
                COST weight)
{
    for (int64_t begin = 0, end; begin < n; begin = end) {
        const TAG own = s->tag[begin * LOB_LINES + l];
        int32_t m = begin > 0 ? list_voxel(s, 0, begin - 1, 0, weight) : 0;
        for (end = begin; end < n && s->tag[end * LOB_LINES + l] == own; end++)
            m = list_voxel(s, m, end, s->cost[end * LOB_LINES + l], weight);
        if (end < n) m = list_voxel(s, m, end, 0, weight);
        take_lowest(s, m, begin, end, n, l, weight);
    }
}

/* ---- a block of lines ---- */

/* Does a full block see nothing: no cost that counts, no two labels where these matter? Then so it
 * stays. */
static bool sees_nothing(const lines_of_thread *s, int64_t n, const lob_distance_plan *p)
{
    const COST max = (COST)p->max;
    for (int64_t i = 0; i < n; i++) {
        int seen = 0;
        for (int l = 0; l < LOB_LINES; l++) seen |= s->cost[i * LOB_LINES + l] <= max;
        for (int l = 0; p->find == LOB_FIND_OTHER && l < LOB_LINES; l++)
            seen |= s->tag[i * LOB_LINES + l] != s->tag[l];
        if (seen) return false;
    }
    for (int64_t i = 0; i < n * LOB_LINES; i++) s->best[i] = NO_COST;
    return true;
}

void NAMED(lines)(const lob_distance_pass *pass, int64_t first, int lines,
                  lob_distance_scratch *scratch)
{
    static void (*const search[])(const lines_of_thread *s, int64_t n, int l,
                                  COST weight) = {search_cost, search_label, search_other};
    const lob_distance_plan *p = pass->plan;
    const int axis = p->axis[pass->pass];
    const int64_t n = p->weight[axis] > 0 ? lob_side(p->dims, axis) : 1;
    const int64_t step = axis == 1 ? p->dims.nx : p->dims.nx * p->dims.ny;
    const lines_of_thread s = lines_in(scratch->memory, n);
    load_costs(&s, pass, first, lines, n, step);
    if (p->find != LOB_FIND_COST) load_tags(&s, pass, first, lines, n, step);
    const bool blind = sees_nothing(&s, n, p);
    if (!blind && (scratch->searched > 0 || !look_at_all(&s, n, pass))) {
        scratch->searched = scratch->searched > 0 ? scratch->searched - 1 : RETRY;
        for (int64_t i = 1; i < n; i++) s.inverse[i] = 0.5 / (p->weight[axis] * (double)i);
        for (int l = 0; l < lines; l++) search[p->find](&s, n, l, (COST)p->weight[axis]);
    }
    store(&s, pass, first, lines, n, step);
}
