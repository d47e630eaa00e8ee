/* Teams of threads: what they agree on, add up and send. */
#include "kernels/team/team.h"
#include "tests/unit/cmocka_test.h"

static const int sizes[] = {1, 2, 3, 5, 8, 17};

enum { MOST = 17, LONG = 1000 };

/* What each rank found wrong; asserts are for the test's own thread. */
typedef struct {
    const char *wrong[MOST];
    lob_status status[MOST];
    char text[MOST][64];
    int failing; /* this rank fails, */
    int after;   /* after so many calls */
} notes;

#define EXPECT(what)                      \
    do {                                  \
        if (!(what)) n->wrong[r] = #what; \
    } while (0)

static void check(const notes *n, int size)
{
    for (int r = 0; r < size; r++)
        if (n->wrong[r]) fail_msg("%d ranks, rank %d: not %s", size, r, n->wrong[r]);
}

static void reductions(lob_team *team, void *user)
{
    notes *const n = user;
    const int r = team->rank, size = team->size;
    static const int counts[] = {1, 16, 17, LONG}; /* few come with the meeting */
    int64_t all[MOST * LONG], mine[LONG], least[] = {r, -r}, most[] = {r, -r};
    for (size_t c = 0; c < COUNT(counts); c++) {
        const int m = counts[c];
        for (int k = 0; k < m; k++) mine[k] = k + r;
        EXPECT(lob_team_share(team, all, mine, m * (int64_t)sizeof *mine, NULL) == LOB_OK);
        for (int k = 0; k < size * m; k++) EXPECT(all[k] == k % m + k / m);
        EXPECT(lob_team_reduce(team, mine, m, LOB_TEAM_SUM, NULL) == LOB_OK);
        for (int k = 0; k < m; k++) EXPECT(mine[k] == (int64_t)size * k + size * (size - 1) / 2);
    }
    EXPECT(lob_team_reduce(team, least, 2, LOB_TEAM_MIN, NULL) == LOB_OK);
    EXPECT(lob_team_reduce(team, most, 2, LOB_TEAM_MAX, NULL) == LOB_OK);
    EXPECT(least[0] == 0 && least[1] == 1 - size && most[0] == size - 1 && most[1] == 0);
}

TEST(values_of_all_ranks_come_together)
{
    for (size_t k = 0; k < COUNT(sizes); k++) {
        notes n = {0};
        assert_ok(lob_team_threads(sizes[k], reductions, &n));
        check(&n, sizes[k]);
    }
}

/* Everyone to everyone, of sizes that are 0 too. */
static void all_to_all(lob_team *team, void *user)
{
    notes *const n = user;
    const int r = team->rank;
    lob_letter letters[MOST];
    int32_t out[MOST][MOST], in[MOST][MOST];
    int count = 0;
    for (int to = 0; to < team->size; to++) {
        if (to == r) continue;
        for (int i = 0; i < MOST; i++) out[to][i] = 10000 * r + 100 * to + i;
        letters[count++] = (lob_letter){.with = to,
                                        .send = out[to],
                                        .send_bytes = (r + to) % 4 * 4,
                                        .receive = in[to],
                                        .receive_bytes = (r + to) % 4 * 4};
    }
    for (int round = 0; round < 20; round++) {
        memset(in, -1, sizeof in);
        EXPECT(lob_team_send(team, letters, count, NULL) == LOB_OK);
        for (int to = 0; to < team->size; to++)
            for (int i = 0; to != r && i < MOST; i++)
                EXPECT(in[to][i] == (i < (r + to) % 4 ? 10000 * to + 100 * r + i : -1));
    }
}

TEST(letters_arrive)
{
    for (size_t k = 0; k < COUNT(sizes); k++) {
        notes n = {0};
        assert_ok(lob_team_threads(sizes[k], all_to_all, &n));
        check(&n, sizes[k]);
    }
}

/* Everyone's bytes to the first, of lengths that are 0 too. */
static void collection(lob_team *team, void *user)
{
    notes *const n = user;
    const int r = team->rank;
    uint8_t mine[MOST];
    for (int round = 0; round < 4; round++) {
        const int64_t own = (r * 5 + round) % 4 * 5;
        int64_t bytes, at = 0;
        void *all;
        memset(mine, r, sizeof mine);
        EXPECT(lob_team_collect(team, &all, &bytes, mine, own, NULL) == LOB_OK);
        EXPECT((all != NULL) == (r == 0));
        for (int k = 0; k < team->size; k++)
            for (int64_t end = at + (k * 5 + round) % 4 * 5; at < end; at++)
                EXPECT(r > 0 || ((uint8_t *)all)[at] == k);
        EXPECT(bytes == at);
        free(all);
    }
}

TEST(the_first_has_everyones_bytes)
{
    for (size_t k = 0; k < COUNT(sizes); k++) {
        notes n = {0};
        assert_ok(lob_team_threads(sizes[k], collection, &n));
        check(&n, sizes[k]);
    }
}

/* A few calls, in the midst of which a rank gives up; then the end, where all agree. */
static lob_status calls(lob_team *team, const notes *n, lob_error *error)
{
    int64_t value = 1, all[MOST];
    for (int call = 0; call < 6; call++) {
        if (team->rank == n->failing && call == n->after)
            return lob_fail(error, LOB_EIO, "rank %d has no disk", team->rank);
        if (call % 3 == 0) LOB_TRY(lob_team_reduce(team, &value, 1, LOB_TEAM_MAX, error));
        if (call % 3 == 1) LOB_TRY(lob_team_share(team, all, &value, sizeof value, error));
        if (call % 3 == 2) LOB_TRY(lob_team_send(team, NULL, 0, error));
    }
    return LOB_OK;
}

static void with_one_that_fails(lob_team *team, void *user)
{
    notes *const n = user;
    lob_error error = {.text = ""};
    lob_status st = calls(team, n, &error);
    st = lob_team_agree(team, st, &error);
    n->status[team->rank] = lob_team_agree(team, st, &error);
    snprintf(n->text[team->rank], sizeof n->text[0], "%.60s", error.text);
}

TEST(a_failure_of_one_is_that_of_all)
{
    for (size_t k = 1; k < COUNT(sizes); k++)
        for (int failing = -1; failing < sizes[k]; failing += 1 + sizes[k] / 5)
            for (int after = 0; after < 7; after += 2) {
                notes n = {.failing = failing, .after = after};
                char text[64] = "";
                const bool fails = failing >= 0 && after < 6;
                if (fails) snprintf(text, sizeof text, "rank %d has no disk", failing);
                assert_ok(lob_team_threads(sizes[k], with_one_that_fails, &n));
                for (int r = 0; r < sizes[k]; r++) {
                    assert_int_equal(n.status[r], fails ? LOB_EIO : LOB_OK);
                    assert_string_equal(n.text[r], text);
                }
            }
}

/* Each tells those beside it numbers, which a rank hears within a budget. */
static void within_budgets(lob_team *team, void *user)
{
    enum { ITEMS = 100, BYTES = ITEMS * sizeof(int32_t) };
    notes *const n = user;
    const int r = team->rank, sides = (r > 0) + (r + 1 < team->size);
    const int64_t limit = sides * BYTES - (r == n->failing);
    lob_budget budget = {.who = "news", .limit = limit};
    lob_error error = {.text = ""};
    int32_t tells[ITEMS];
    bool any;
    for (int i = 0; i < ITEMS; i++) tells[i] = 1000 * r + i;
    lob_team_news news[2];
    for (int k = 0; k < 2; k++) {
        const bool is_there = k ? r + 1 < team->size : r > 0;
        news[k] = (lob_team_news){is_there, tells, NULL, is_there ? ITEMS : 0, 0, &budget};
    }
    lob_status st = lob_team_swap(news, sizeof *tells, &any, team, NULL, &error);
    for (int k = 0; k < 2; k++) {
        const int32_t *const hears = news[k].hears;
        for (int i = 0; i < news[k].heard && st == LOB_OK; i++)
            EXPECT(hears[i] == 1000 * (r + (k ? 1 : -1)) + i);
        lob_budget_free(&budget, news[k].hears, news[k].heard, sizeof *tells);
    }
    EXPECT(budget.held == 0);
    EXPECT(st != LOB_OK || budget.peak == limit);
    n->status[r] = lob_team_agree(team, st, &error);
    snprintf(n->text[r], sizeof n->text[0], "%.60s", error.text);
}

TEST(what_is_heard_counts_and_a_refusal_is_that_of_all)
{
    for (size_t k = 1; k < COUNT(sizes); k++)
        for (int failing = -1; failing < sizes[k]; failing++) {
            notes n = {.failing = failing};
            assert_ok(lob_team_threads(sizes[k], within_budgets, &n));
            check(&n, sizes[k]);
            for (int r = 0; r < sizes[k]; r++) {
                assert_int_equal(n.status[r], failing < 0 ? LOB_OK : LOB_ENOMEM);
                assert_string_equal(n.text[r], n.text[0]);
            }
            if (failing >= 0) assert_non_null(strstr(n.text[0], "news: working memory of"));
        }
}

static void at_odds(lob_team *team, void *user)
{
    notes *const n = user;
    int64_t values[2] = {0};
    n->status[team->rank] =
        lob_team_reduce(team, values, team->rank == 1 ? 2 : 1, LOB_TEAM_SUM, NULL);
}

static void at_odds_about_bytes(lob_team *team, void *user)
{
    notes *const n = user;
    int64_t values[2] = {0};
    n->status[team->rank] = lob_team_tell(values, team->rank == 1 ? 16 : 8, team, NULL);
}

TEST(ranks_that_do_other_things_are_told)
{
    lob_team_work *const both[] = {at_odds, at_odds_about_bytes};
    for (size_t k = 0; k < COUNT(both); k++) {
        notes n = {0};
        assert_ok(lob_team_threads(3, both[k], &n));
        for (int r = 0; r < 3; r++) assert_int_equal(n.status[r], LOB_EINTERNAL);
    }
}

TEST(planes_are_parted)
{
    for (int size = 1; size <= MOST; size++)
        for (int64_t planes = 0; planes < 40; planes++) {
            const lob_team team = {.size = size};
            int64_t first, end, next = 0;
            for (int r = 0; r < size; r++, next = end) {
                lob_team_planes(&first, &end, &team, r, planes);
                assert_int_equal(first, next);
                assert_true(end - first == planes / size || end - first == planes / size + 1);
                assert_int_equal(end > first, r < planes);
            }
            assert_int_equal(next, planes);
        }
}

TEST(nobody_is_a_team_of_one)
{
    int64_t value = 7, all = 0;
    assert_ok(lob_team_agree(NULL, LOB_OK, NULL));
    assert_int_equal(lob_team_agree(NULL, LOB_EIO, NULL), LOB_EIO);
    assert_ok(lob_team_share(NULL, &all, &value, sizeof value, NULL));
    assert_int_equal(all, 7);
    assert_ok(lob_team_reduce(NULL, &value, 1, LOB_TEAM_SUM, NULL));
    assert_int_equal(value, 7);
}
