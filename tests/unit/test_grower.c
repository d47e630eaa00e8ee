/* Growth that follows a brush: after any history of seeds, the bytes of a fresh run. */
#include "kernels/live/grower.h"
#include "tests/reference/growcut_case.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "volumes/labels.h"

enum { HISTORIES = 240, STEPS = 30, MAX_SIDE = 17, UNDOS = 4 };

/* A history under way. */
typedef struct {
    growcut_case *c;
    uint64_t state;
    lob_growcut_output out, fresh, before;
    void *undo[UNDOS]; /* the seeds of earlier steps, the last one first */
    size_t bytes;      /* of the seeds */
    lob_grower *grower;
    lob_box pending; /* of changes that no growth has ended well with */
    int grown, cancelled, kept_smaller;
} history;

static int stop(void *user, double done)
{
    int *const left = user;
    return done < 1 && (*left)-- <= 0;
}

static int64_t side_of(const history *h, int axis)
{
    const lob_dims dims = h->c->image.dims;
    return axis == 0 ? dims.nx : axis == 1 ? dims.ny : dims.nz;
}

/* A stroke: a random box gets a label, or none. */
static lob_box paint(history *h)
{
    lob_volume *const seeds = &h->c->seeds;
    const lob_dims dims = seeds->dims;
    const bool erase = random_chance(&h->state, 40);
    const int32_t label = erase ? 0 : 1 + (int32_t)random_below(&h->state, h->c->in.labels);
    lob_box box;
    for (int a = 0; a < 3; a++) {
        const int64_t most = erase && random_chance(&h->state, 20) ? side_of(h, a) : 4;
        box.first[a] = random_below(&h->state, side_of(h, a));
        box.size[a] = 1 + random_below(&h->state, most);
        if (box.first[a] + box.size[a] > side_of(h, a)) box.size[a] = side_of(h, a) - box.first[a];
    }
    for (int64_t k = 0; k < box.size[2]; k++)
        for (int64_t j = 0; j < box.size[1]; j++)
            for (int64_t i = 0; i < box.size[0]; i++) {
                const int64_t y = box.first[1] + j, z = box.first[2] + k;
                lob_label_put(seeds->data, seeds->type,
                              box.first[0] + i + dims.nx * (y + dims.ny * z), label);
            }
    return box;
}

/* Draw, erase or undo; NULL: anything may have changed. */
static const lob_box *change(history *h, lob_box *box)
{
    if (random_chance(&h->state, 20)) {
        void *const now = h->undo[0];
        memcpy(h->c->seeds.data, now, h->bytes);
        memmove(h->undo, h->undo + 1, sizeof h->undo - sizeof *h->undo);
        h->undo[UNDOS - 1] = now;
        return NULL;
    }
    void *const last = h->undo[UNDOS - 1];
    memmove(h->undo + 1, h->undo, sizeof h->undo - sizeof *h->undo);
    h->undo[0] = last;
    memcpy(last, h->c->seeds.data, h->bytes);
    *box = paint(h);
    return box;
}

static bool is_in(const lob_box *box, lob_dims dims, int64_t v)
{
    const int64_t at[3] = {v % dims.nx, v / dims.nx % dims.ny, v / dims.nx / dims.ny};
    for (int a = 0; a < 3; a++)
        if (at[a] < box->first[a] || at[a] >= box->first[a] + box->size[a]) return false;
    return true;
}

/* What lies outside of the box told is as it was. */
static void check_changed(const history *h, const lob_box *box)
{
    for (int64_t v = 0; v < h->c->n; v++) {
        if (is_in(box, h->c->image.dims, v)) continue;
        if (lob_label_at(h->out.labels, h->c->seeds.type, v) !=
            lob_label_at(h->before.labels, h->c->seeds.type, v))
            fail_msg("%s: changed outside of its box", h->c->shape);
    }
}

static void check_stats(const history *h, const lob_growcut_stats *a, const lob_growcut_stats *b)
{
    const bool same = a->data_voxels == b->data_voxels && a->not_finite == b->not_finite &&
                      a->seeds == b->seeds && a->seeds_outside == b->seeds_outside &&
                      a->reached == b->reached && a->largest_cost == b->largest_cost &&
                      a->level_step == b->level_step && a->fixed_point == b->fixed_point;
    if (!same) fail_msg("%s: statistics", h->c->shape);
}

/* One step: change seeds, grow on, compare with a fresh run. */
static void step(history *h)
{
    lob_box box, changed;
    lob_growcut_stats stats, wanted;
    int visits = (int)random_below(&h->state, 3);
    const bool cancels = random_chance(&h->state, 10);
    const lob_context context = {.threads = random_chance(&h->state, 5) ? 2 : 1,
                                 .progress = cancels ? stop : NULL,
                                 .user = &visits};
    const lob_box *const told = change(h, &box);
    const lob_status st =
        lob_grower_grow(h->grower, &changed, &stats, &h->c->seeds, told, &context, NULL);
    if (st == LOB_ECANCEL) {
        h->cancelled++;
        return;
    }
    const lob_status fresh =
        lob_growcut_cpu(&h->fresh, &wanted, &h->c->in, &h->c->options, THREADS(1), NULL);
    if (st != fresh) fail_msg("%s: %d, a fresh run gives %d", h->c->shape, (int)st, (int)fresh);
    if (st != LOB_OK) return;
    const char *const differs = growcut_output_differs(h->c, &h->out, &h->fresh);
    if (differs) fail_msg("%s: %s differs", h->c->shape, differs);
    check_stats(h, &stats, &wanted);
    if (h->grown) check_changed(h, &changed);
    memcpy(h->before.labels, h->out.labels, h->bytes);
    h->kept_smaller +=
        changed.size[0] * changed.size[1] * changed.size[2] < h->c->n && h->grown > 0;
    h->grown++;
}

/* Returns the steps that grew; smaller: how many of these wrote less than everything. */
static int live_through(uint64_t number, growcut_variety variety, int *smaller, int *cancelled)
{
    growcut_case c;
    growcut_case_make(&c, number, variety, MAX_SIDE);
    history h = {.c = &c, .state = number};
    c.wants_tie = c.wants_tie && random_chance(&h.state, 10);
    if (random_chance(&h.state, 50)) c.options.tile = 4;
    h.out = growcut_output_make(&c);
    h.fresh = growcut_output_make(&c);
    h.before = growcut_output_make(&c);
    h.bytes = (size_t)c.n * lob_type_of(c.seeds.type)->bytes;
    for (int u = 0; u < UNDOS; u++) h.undo[u] = calloc(1, h.bytes);
    const lob_status st =
        lob_grower_open(&h.grower, lob_backends[0], &h.out, &c.in, &c.options, NULL);
    for (int s = 0; s < STEPS && st == LOB_OK; s++) step(&h);
    lob_grower_close(h.grower);
    for (int u = 0; u < UNDOS; u++) free(h.undo[u]);
    growcut_output_free(&h.out);
    growcut_output_free(&h.fresh);
    growcut_output_free(&h.before);
    growcut_case_free(&c);
    *smaller += h.kept_smaller;
    *cancelled += h.cancelled;
    return h.grown;
}

TEST(histories)
{
    int grown = 0, smaller = 0, cancelled = 0;
    for (uint64_t number = 0; number < CASES(HISTORIES); number++)
        grown += live_through(90000 + number, GROWCUT_ANY_CALL, &smaller, &cancelled);
    assert_true(grown > CASES(HISTORIES) * STEPS / 3); /* the rest had no seed on data, or none */
    assert_true(smaller > grown / 10);
    assert_true(cancelled > 0);
}

TEST(what_does_not_fit_is_refused)
{
    growcut_case c;
    lob_grower *grower;
    growcut_case_make(&c, 1, GROWCUT_PLAIN, 7);
    lob_growcut_output out = growcut_output_make(&c);
    lob_error error;
    c.options.neighbours = 7;
    assert_int_equal(lob_grower_open(&grower, lob_backends[0], &out, &c.in, &c.options, &error),
                     LOB_EARG);
    assert_null(grower);
    c.options.neighbours = 6;
    assert_ok(lob_grower_open(&grower, lob_backends[0], &out, &c.in, &c.options, &error));
    lob_volume other = c.seeds;
    other.dims.nx++;
    assert_int_equal(lob_grower_grow(grower, NULL, NULL, &other, NULL, THREADS(1), &error),
                     LOB_EDATA);
    const lob_box beyond = {
        .size = {c.seeds.dims.nx + 1, 1, 1}
    };
    assert_int_equal(lob_grower_grow(grower, NULL, NULL, &c.seeds, &beyond, THREADS(1), &error),
                     LOB_EARG);
    assert_ok(lob_grower_grow(grower, NULL, NULL, &c.seeds, NULL, THREADS(1), &error));

    /* What a refused call was told of still counts. */
    lob_growcut_output fresh = growcut_output_make(&c);
    const lob_box row =
                      {
                          .size = {c.seeds.dims.nx, 1, 1}
    },
                  voxel = {.size = {1, 1, 1}};
    for (int64_t x = 0; x < c.seeds.dims.nx; x++)
        lob_label_put(c.seeds.data, c.seeds.type, x, 1 + (int32_t)(x % c.in.labels));
    lob_label_put(c.seeds.data, c.seeds.type, 0, c.in.labels + 1);
    assert_int_equal(lob_grower_grow(grower, NULL, NULL, &c.seeds, &row, THREADS(1), &error),
                     LOB_EDATA);
    lob_label_put(c.seeds.data, c.seeds.type, 0, c.in.labels);
    assert_ok(lob_grower_grow(grower, NULL, NULL, &c.seeds, &voxel, THREADS(1), &error));
    assert_ok(lob_growcut_cpu(&fresh, NULL, &c.in, &c.options, THREADS(1), NULL));
    assert_memory_equal(out.labels, fresh.labels, (size_t)c.n * lob_type_of(c.seeds.type)->bytes);
    growcut_output_free(&fresh);
    lob_grower_close(grower);
    growcut_output_free(&out);
    growcut_case_free(&c);
}
