/* Steps on labels: what they do to the table of labels, and which operations on voxels they take.
 */
#include "kernels/labels/label_chain.h"

#include "kernels/arrays.h"
#include "kernels/morphology/morphology_part.h"
#include "volumes/free.h"
#include "volumes/labels.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

lob_labels_options lob_labels_defaults(void)
{
    return (lob_labels_options){.neighbours = 26, .slice_axis = -1};
}

void lob_labels_output_free(lob_labels_output *out)
{
    for (int i = 0; i < LOB_LABELS_MAX_STEPS; i++) free(out->done[i].pairs);
    lob_array_free(out->device, out->labels);
    memset(out, 0, sizeof *out);
}

/* ---- checks ---- */

static lob_status refuse(lob_error *error, int step, const char *what)
{
    return lob_fail(error, LOB_EARG, "label step %d: %s", step + 1, what);
}

/* A length of a step in voxels along an axis; 0 across slices. */
static double along(const lob_labels_input *in, const lob_labels_options *options,
                    const lob_labels_step *step, int axis)
{
    if (axis == options->slice_axis) return 0.0;
    return step->voxels ? step->length : step->length / in->spacing_mm[axis];
}

/* A median's radius: whole voxels that fit in the length, which may be a hair short of them. */
static int32_t whole_voxels(double length)
{
    return (int32_t)floor(length + 1e-6);
}

static lob_status check_rules(const lob_labels_step *step, int number, lob_error *error)
{
    int32_t last = 0;
    if (step->rule_count < 0 || (step->rest != LOB_LABELS_SAME && step->rest != 0))
        return refuse(error, number, "its table is not valid");
    for (int64_t i = 0; i < step->rule_count; i++) {
        const lob_labels_rule *r = &step->rules[i];
        if (r->first <= last || r->last < r->first || r->to < LOB_LABELS_SAME)
            return refuse(error, number, "its table is not in ascending order, from 1");
        last = r->last;
    }
    return LOB_OK;
}

static lob_status check_step(const lob_labels_input *in, const lob_labels_options *options,
                             int number, lob_error *error)
{
    const lob_labels_step *step = &in->steps[number];
    const double most = LOB_LABELS_MAX_RADIUS + 0.5;
    switch (step->kind) {
    case LOB_LABELS_RECODE:
        return check_rules(step, number, error);
    case LOB_LABELS_LARGEST:
    case LOB_LABELS_MIN_SIZE:
        return step->count >= 1 ? LOB_OK : refuse(error, number, "its number must be at least 1");
    case LOB_LABELS_SMOOTH:
    case LOB_LABELS_MEDIAN:
        for (int a = 0; a < 3; a++) {
            const double voxels = along(in, options, step, a);
            if (!(voxels >= 0) || !((step->kind == LOB_LABELS_SMOOTH ? 3 : 1) * voxels < most))
                return lob_fail(
                    error, LOB_EARG,
                    "label step %d: it would reach %.6g voxels, at most %d are possible",
                    number + 1, (step->kind == LOB_LABELS_SMOOTH ? 3 : 1) * voxels,
                    LOB_LABELS_MAX_RADIUS);
        }
        return LOB_OK;
    case LOB_LABELS_ERODE:
    case LOB_LABELS_DILATE:
    case LOB_LABELS_OPEN:
    case LOB_LABELS_CLOSE:
        return step->length >= 0 && isfinite(step->length)
                   ? LOB_OK
                   : refuse(error, number, "its radius must be a number from 0");
    default:
        return (unsigned)step->kind < LOB_LABELS_STEPS
                   ? LOB_OK
                   : refuse(error, number, "there is no such step");
    }
}

lob_status lob_label_chain_check(const lob_labels_input *in, const lob_labels_options *options,
                                 lob_error *error)
{
    const int n = options->neighbours, axis = options->slice_axis;
    if (in->step_count < 1 || in->step_count > LOB_LABELS_MAX_STEPS)
        return lob_fail(error, LOB_EARG, "there must be 1 to %d label steps, not %d",
                        LOB_LABELS_MAX_STEPS, in->step_count);
    if (in->type != LOB_U8 && in->type != LOB_I16 && in->type != LOB_I32)
        return lob_fail(error, LOB_EARG, "labels must be uint8, int16 or int32");
    if (axis < -1 || axis > 2 || (axis < 0 ? n != 6 && n != 18 && n != 26 : n != 4 && n != 8))
        return lob_fail(error, LOB_EARG, "%d neighbours do not go with slice axis %d", n, axis);
    if (lob_dims_voxels(in->dims) < 1 || in->count < 0)
        return lob_fail(error, LOB_EARG, "there are no voxels");
    for (int a = 0; a < 3; a++)
        if (!(in->spacing_mm[a] > 0) || !isfinite(in->spacing_mm[a]))
            return lob_fail(error, LOB_EARG, "voxels must have a size");
    if (in->dims.nx > INT32_MAX - 4096 || in->dims.ny > INT32_MAX - 4096 ||
        in->dims.nz > INT32_MAX - 4096)
        return lob_fail(error, LOB_EDATA, "no side may be longer than %d voxels", INT32_MAX - 4096);
    for (int i = 0; i < in->step_count; i++) LOB_TRY(check_step(in, options, i, error));
    return LOB_OK;
}

/* ---- arrays ---- */

static int64_t bytes_of(const lob_label_chain *c, lob_type type)
{
    return lob_product(c->voxels, (int64_t)lob_type_of(type)->bytes, 1, 1);
}

/* The input's labels are the caller's; all others are ours. */
static void drop(lob_label_chain *c, lob_labels_array *array)
{
    if (array->data && array->data != c->in->labels)
        lob_budget_free_at(&c->budget, c->device, array->data, bytes_of(c, array->type));
    array->data = NULL;
}

lob_status lob_label_chain_make(lob_label_chain *c, lob_type type)
{
    drop(c, &c->next);
    c->next.type = type;
    return lob_budget_alloc_at(&c->budget, c->device, &c->next.data, bytes_of(c, type), c->error);
}

/* now = next */
static void advance(lob_label_chain *c)
{
    drop(c, &c->now);
    c->now = c->next;
    c->next.data = NULL;
}

/* ---- what algorithms are asked for ---- */

void lob_label_chain_count(lob_label_chain *c, int64_t bytes)
{
    if (c->budget.held + bytes > c->budget.peak) c->budget.peak = c->budget.held + bytes;
}

/* next = the pieces of now, numbered in raster order; or now with its holes filled. */
static lob_status join(lob_label_chain *c, bool fill, int64_t *found)
{
    const lob_context context = lob_budget_inner(&c->budget, &c->context);
    lob_components_options o = lob_components_defaults();
    lob_volume image = lob_volume_empty();
    const lob_components_input in = {.image = &image, .place = c->in->place};
    lob_components_output r;
    if (c->shared) {
        drop(c, &c->next); /* pieces that all stayed */
        return c->shared->join(c, fill, found);
    }
    o.join = LOB_JOIN_EQUAL;
    o.neighbours = c->options->neighbours;
    o.slice_axis = c->options->slice_axis;
    o.fill_holes = o.keep_values = fill;
    image.data = c->now.data;
    image.type = c->now.type;
    image.dims = c->in->dims;
    image.place = c->in->place;
    LOB_TRY(c->operations->components(&r, &in, &o, &context, c->error));
    drop(c, &c->next);
    const lob_status st = lob_budget_hold(&c->budget, bytes_of(c, r.type), c->error);
    lob_label_chain_count(c, r.working_bytes);
    if (st == LOB_OK) {
        c->next = (lob_labels_array){r.labels, r.type};
        r.labels = NULL;
    }
    *found = r.count;
    lob_components_output_free(&r);
    return st;
}

/* ---- tables of labels ---- */

static lob_status no_memory(const lob_label_chain *c, int64_t labels)
{
    return lob_fail(c->error, LOB_ENOMEM, "no memory for tables of %lld labels", (long long)labels);
}

static lob_labels_done *done_of(const lob_label_chain *c)
{
    return &c->out->done[c->step];
}

static int32_t labels_seen(const lob_label_chain *c)
{
    int32_t n = 0;
    for (int32_t i = 1; i <= c->count; i++) n += c->seen[i];
    return n;
}

/* Find out which numbers occur, after voxels have changed. */
static lob_status look(lob_label_chain *c)
{
    memset(c->seen, 0, (size_t)c->count + 1);
    return c->operations->look(c, c->seen);
}

/* Take over another table of labels, all of which occur. */
static void replace_table(lob_label_chain *c, int32_t *values, uint8_t *seen, int32_t count)
{
    LOB_FREE(c->values, c->seen);
    c->values = values;
    c->seen = seen;
    c->count = count;
    memset(seen, 1, (size_t)count + 1);
}

/*
 * Let every label that occurs become another. to[i] is what number i becomes, a label or 0, and is
 * spoilt.
 */
static lob_status exchange(lob_label_chain *c, int32_t *to)
{
    const size_t n = (size_t)c->count;
    int32_t *values = malloc((n + 1) * sizeof *values);
    uint8_t *seen = malloc(n + 1);
    if (!values || !seen) {
        LOB_FREE(values, seen);
        return no_memory(c, c->count);
    }
    int32_t count = 0, distinct = 0;
    bool same = true;
    for (int32_t i = 1; i <= c->count; i++)
        if (c->seen[i] && to[i] > 0) values[count++] = to[i];
    qsort(values, (size_t)count, sizeof *values, lob_by_int32);
    for (int32_t i = 0; i < count; i++)
        if (i == 0 || values[i] != values[i - 1]) values[distinct++] = values[i];
    for (int32_t i = 1; i <= c->count; i++) {
        const int64_t below = lob_count_below(values, distinct, sizeof *values, to[i]);
        to[i] = c->seen[i] && to[i] > 0 ? (int32_t)below + 1 : 0;
        same = same && to[i] == i;
    }
    to[0] = 0;
    lob_status st = same ? LOB_OK : lob_label_chain_make(c, lob_label_type(distinct));
    if (!same && st == LOB_OK) {
        st = c->operations->put(c, c->next, c->now, to, (int64_t)c->count + 1);
        advance(c);
    }
    replace_table(c, values, seen, distinct);
    return st;
}

/* What a label becomes by a step's rules. */
static int32_t by_rules(const lob_labels_step *step, int32_t label)
{
    const lob_labels_rule *const rules = step->rules;
    const int64_t n = step->rule_count;
    const int64_t at = n > 0 ? lob_count_below(&rules->last, n, sizeof *rules, label) : 0;
    const int32_t to = at < n && rules[at].first <= label ? rules[at].to : step->rest;
    return to == LOB_LABELS_SAME ? label : to;
}

static lob_status recode(lob_label_chain *c, const lob_labels_step *step)
{
    lob_labels_done *done = done_of(c);
    const size_t n = (size_t)c->count + 1;
    int32_t *to = malloc(n * sizeof *to);
    done->pairs = malloc(n * sizeof *done->pairs);
    if (!to || !done->pairs) {
        free(to);
        return no_memory(c, c->count);
    }
    int32_t next = 0;
    for (int32_t i = 1; i <= c->count; i++) {
        if (!c->seen[i]) continue;
        const int32_t from = c->values[i - 1];
        to[i] = step->kind == LOB_LABELS_SEQUENTIAL ? ++next : by_rules(step, from);
        done->pairs[done->pair_count++] = (lob_labels_pair){from, to[i]};
    }
    const lob_status st = exchange(c, to);
    free(to);
    return st;
}

/* ---- pieces ---- */

/* Tables of the pieces that were found. */
typedef struct {
    int64_t *voxels;
    int32_t *owner; /* number of the label */
    int32_t *table; /* found + 1: what becomes of each */
} piece_tables;

static void piece_tables_free(piece_tables *t)
{
    LOB_FREE(t->voxels, t->owner, t->table);
}

static lob_status piece_tables_fill(piece_tables *t, lob_label_chain *c, int64_t found)
{
    const size_t n = (size_t)found + 1;
    t->voxels = calloc(n, sizeof *t->voxels);
    t->owner = calloc(n, sizeof *t->owner);
    t->table = calloc(n, sizeof *t->table);
    if (!t->voxels || !t->owner || !t->table) return no_memory(c, found);
    return c->operations->count_pieces(c, found, t->voxels, t->owner);
}

static lob_status split(lob_label_chain *c, const lob_labels_step *step)
{
    lob_labels_done *done = done_of(c);
    int64_t found = 0;
    (void)step;
    LOB_TRY(join(c, false, &found));
    piece_tables t = {0};
    int32_t *values = malloc(((size_t)found + 1) * sizeof *values);
    uint8_t *seen = malloc((size_t)found + 1);
    done->pairs = malloc(((size_t)found + 1) * sizeof *done->pairs);
    lob_status st =
        values && seen && done->pairs ? piece_tables_fill(&t, c, found) : no_memory(c, found);
    if (st != LOB_OK) {
        piece_tables_free(&t);
        LOB_FREE(values, seen);
        return st;
    }
    advance(c);
    for (int64_t i = 0; i < found; i++) {
        values[i] = (int32_t)(i + 1);
        done->pairs[i] = (lob_labels_pair){c->values[t.owner[i] - 1], (int32_t)(i + 1)};
    }
    done->pieces = done->kept = done->pair_count = found;
    replace_table(c, values, seen, (int32_t)found);
    piece_tables_free(&t);
    return LOB_OK;
}

/* A piece of a label, as it is sorted: the larger one, then the earlier one. */
typedef struct {
    int64_t voxels, piece;
} sized;

static int by_size(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->voxels != y->voxels) return x->voxels < y->voxels ? 1 : -1;
    return (x->piece > y->piece) - (x->piece < y->piece);
}

/* Keep the largest pieces of each label, after a counting sort by label. */
static lob_status choose_largest(piece_tables *t, const lob_label_chain *c, int64_t found,
                                 int64_t most)
{
    int64_t *const end = calloc((size_t)c->count + 2, sizeof *end); /* of each label's pieces */
    sized *const all = malloc(((size_t)found + 1) * sizeof *all);
    if (!end || !all) {
        LOB_FREE(all, end);
        return no_memory(c, found);
    }
    for (int64_t i = 0; i < found; i++) end[t->owner[i] + 1]++;
    for (int64_t i = 0; i <= c->count; i++) end[i + 1] += end[i];
    for (int64_t i = 0; i < found; i++) all[end[t->owner[i]]++] = (sized){t->voxels[i], i};
    for (int32_t k = 1; k <= c->count; k++) {
        sized *const own = all + end[k - 1];
        const int64_t n = end[k] - end[k - 1];
        if (n > most) qsort(own, (size_t)n, sizeof *own, by_size);
        for (int64_t i = 0; i < n && i < most; i++) t->table[own[i].piece + 1] = k;
    }
    LOB_FREE(all, end);
    return LOB_OK;
}

/* now[v] = table[next[v]], of the pieces in next */
static lob_status choose_pieces(lob_label_chain *c, int64_t found, const int32_t *table)
{
    lob_labels_array pieces = c->next;
    c->next.data = NULL;
    lob_status st = lob_label_chain_make(c, c->now.type);
    if (st == LOB_OK) st = c->operations->put(c, c->next, pieces, table, found + 1);
    advance(c);
    drop(c, &pieces);
    return st;
}

static lob_status choose(lob_label_chain *c, const lob_labels_step *step)
{
    lob_labels_done *done = done_of(c);
    int64_t found = 0;
    piece_tables t = {0};
    LOB_TRY(join(c, false, &found));
    lob_status st = piece_tables_fill(&t, c, found);
    if (st == LOB_OK && step->kind == LOB_LABELS_LARGEST)
        st = choose_largest(&t, c, found, step->count);
    for (int64_t i = 0; st == LOB_OK && i < found; i++) {
        if (step->kind == LOB_LABELS_MIN_SIZE)
            t.table[i + 1] = t.voxels[i] >= step->count ? t.owner[i] : 0;
        done->kept += t.table[i + 1] > 0;
    }
    done->pieces = found;
    if (st == LOB_OK && done->kept < found) st = choose_pieces(c, found, t.table);
    piece_tables_free(&t);
    return st == LOB_OK ? look(c) : st;
}

/* ---- other steps ---- */

static lob_status fill_holes(lob_label_chain *c, const lob_labels_step *step)
{
    int64_t labels;
    (void)step; /* a label that occurs stays, and no other comes */
    if (c->count == 0) return LOB_OK;
    LOB_TRY(join(c, true, &labels));
    advance(c);
    return LOB_OK;
}

/* A step that looks around. */
static lob_status look_around(lob_label_chain *c, lob_label_work *work, const void *user)
{
    LOB_TRY(lob_label_chain_make(c, c->now.type));
    LOB_TRY(c->shared ? c->shared->widen(c, work, user) : work(c, user));
    advance(c);
    return look(c);
}

/* The boundary, or what is left without slips. */
static lob_status leave_thin(lob_label_chain *c, const void *user)
{
    const lob_labels_step *const step = user;
    return step->kind == LOB_LABELS_SLIPS ? c->operations->slips(c) : c->operations->boundary(c);
}

static lob_status thin_out(lob_label_chain *c, const lob_labels_step *step)
{
    return look_around(c, leave_thin, step);
}

static lob_status ask_majority(lob_label_chain *c, const void *user)
{
    return c->operations->majority(c, user);
}

static lob_status majority(lob_label_chain *c, const lob_labels_step *step)
{
    lob_majority *m = malloc(sizeof *m);
    double sigma[3];
    int32_t radius[3];
    if (!m) return no_memory(c, c->count);
    for (int a = 0; a < 3; a++) {
        sigma[a] = along(c->in, c->options, step, a);
        radius[a] = whole_voxels(sigma[a]);
    }
    if (step->kind == LOB_LABELS_SMOOTH)
        lob_majority_gaussian(m, sigma);
    else
        lob_majority_box(m, radius);
    const bool alone = m->radius[0] == 0 && m->radius[1] == 0 && m->radius[2] == 0;
    const lob_status st = alone ? LOB_OK : look_around(c, ask_majority, m);
    free(m);
    return st;
}

typedef struct {
    lob_morphology_input in; /* labels and dims are the chain's */
    lob_morphology how;
    double radius;
    lob_context context; /* where all voxels are here */
} balls;

static lob_status use_balls(lob_label_chain *c, const void *user)
{
    const balls *const b = user;
    const lob_context context = lob_budget_inner(&c->budget, &c->context);
    lob_morphology_input in = b->in;
    in.labels = c->now.data;
    in.dims = c->in->dims;
    return c->shared ? lob_morphology_part(c->next.data, &in, b->how, b->radius, c->shared->planes,
                                           &context, c->error)
                     : c->operations->morphology(c->next.data, &in, b->how, b->radius, &b->context,
                                                 c->error);
}

static lob_status morphology(lob_label_chain *c, const lob_labels_step *step)
{
    static const lob_morphology how[LOB_LABELS_STEPS] = {
        [LOB_LABELS_ERODE] = LOB_MORPHOLOGY_ERODE,
        [LOB_LABELS_DILATE] = LOB_MORPHOLOGY_DILATE,
        [LOB_LABELS_OPEN] = LOB_MORPHOLOGY_OPEN,
        [LOB_LABELS_CLOSE] = LOB_MORPHOLOGY_CLOSE,
    };
    balls b = {
        .in = {.type = c->now.type, .place = c->in->place},
        .how = how[step->kind],
        .radius = step->length,
        .context = lob_budget_inner(&c->budget, &c->context),
    };
    for (int a = 0; a < 3; a++)
        b.in.spacing[a] = a == c->options->slice_axis ? INFINITY
                          : step->voxels              ? 1.0
                                                      : c->in->spacing_mm[a];
    return look_around(c, use_balls, &b);
}

typedef lob_status step_function(lob_label_chain *c, const lob_labels_step *step);

static step_function *const step_functions[LOB_LABELS_STEPS] = {
    [LOB_LABELS_RECODE] = recode,     [LOB_LABELS_SEQUENTIAL] = recode,
    [LOB_LABELS_SPLIT] = split,       [LOB_LABELS_LARGEST] = choose,
    [LOB_LABELS_MIN_SIZE] = choose,   [LOB_LABELS_FILL_HOLES] = fill_holes,
    [LOB_LABELS_BOUNDARY] = thin_out, [LOB_LABELS_SLIPS] = thin_out,
    [LOB_LABELS_SMOOTH] = majority,   [LOB_LABELS_MEDIAN] = majority,
    [LOB_LABELS_ERODE] = morphology,  [LOB_LABELS_DILATE] = morphology,
    [LOB_LABELS_OPEN] = morphology,   [LOB_LABELS_CLOSE] = morphology,
};

/* ---- the chain ---- */

static lob_status begin(lob_label_chain *c)
{
    const size_t n = (size_t)c->in->count;
    c->budget =
        (lob_budget){.who = c->device ? "label steps" : "labels", .limit = c->caller->max_memory};
    c->voxels = lob_dims_voxels(c->in->dims);
    c->now = (lob_labels_array){(void *)c->in->labels, c->in->type};
    c->values = malloc((n + 1) * sizeof *c->values);
    c->seen = malloc(n + 1);
    if (!c->values || !c->seen) return no_memory(c, c->in->count);
    if (n > 0) memcpy(c->values, c->in->values, n * sizeof *c->values);
    c->count = c->in->count;
    c->share.caller = c->caller;
    c->context = lob_share_context(&c->share, *c->caller);
    return look(c);
}

/* The type of the result holds the largest label that occurs, or with a mask that came in. */
static lob_status finish(lob_label_chain *c)
{
    int32_t largest = 0;
    for (int32_t i = 1; i <= c->count; i++)
        if (c->seen[i]) largest = c->values[i - 1];
    if (c->in->mask && c->in->count > 0 && c->in->values[c->in->count - 1] > largest)
        largest = c->in->values[c->in->count - 1];
    c->out->count = labels_seen(c);
    c->out->type = lob_label_type(largest);
    return c->operations->finish(c, c->out->type);
}

lob_status lob_label_chain_run(lob_label_chain *c)
{
    lob_status st = begin(c);
    for (c->step = 0; c->step < c->in->step_count && st == LOB_OK; c->step++) {
        const lob_labels_step *step = &c->in->steps[c->step];
        c->share.from = c->share.to;
        c->share.to = (c->step + 1.0) / c->in->step_count;
        st = step_functions[step->kind](c, step);
        if (st != LOB_OK) break;
        done_of(c)->labels = labels_seen(c);
        st = lob_report(&c->context, 1.0);
    }
    if (st == LOB_OK) st = finish(c);
    drop(c, &c->next);
    drop(c, &c->now);
    LOB_FREE(c->values, c->seen);
    c->out->working_bytes = c->budget.peak;
    if (st != LOB_OK) lob_labels_output_free(c->out);
    return st;
}
