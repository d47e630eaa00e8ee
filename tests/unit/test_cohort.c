/* What is far from the other scans of a batch, and reading region tables. */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tools/table/cohort.h"

static const struct {
    const char *what;
    double values[9];
    int count;
    double value;
    double distance; /* expected, to 1e-9 */
} distances[] = {
  /* Logarithms 0, 1, 2, 3, 4: the median is 2, deviations 2 1 0 1 2, their median 1. */
    ROW("one above by factors of e",
        {1,                                                   2.718281828459045,           7.38905609893065, 20.085536923187668,       54.598150033144236},
        5,
        2980.9579870417283, 6 / 1.4826),
    {"one below",
                                      {1, 2.718281828459045, 7.38905609893065, 20.085536923187668, 54.598150033144236},
                                      5,                                                                                                  1,
                                      -2 / 1.4826                                                                                                                                     },
    {"an even number: the mean of the two in the middle",
                                      {1, 1, 1, 7.38905609893065, 7.38905609893065, 7.38905609893065},
                                      6,                                                                                                  2.718281828459045,
                                      0                                                                                                                                               },
    {"equal values: the floor counts",
                                      {100, 100, 100, 100, 100, 100},
                                      6,                                                                                                  100 * 1.1051709180756477,
                                      1.0                                                                                                                                             },
    {"too few scans",                                     {100, 100, 100, 100},        4,                1,                        0                 },
    {"no volume is not far but missing",                  {100, 100, 100, 100, 100},   5,                0,                        0                 },
    {"n/a",                                               {100, 100, 100, 100, 100},   5,                NAN,                      0                 },
    {"zeros and n/a do not count among the others",
                                      {0, 0, NAN, 100, 100, 100, 100, 100, -1},
                                      9,                                                                                                  100 * 1.1051709180756477,
                                      1.0                                                                                                                                             },
    {"none at all",                                       {0},                         0,                5,                        0                 },
};

TEST(distance_from_the_others)
{
    for (size_t i = 0; i < COUNT(distances); i++) {
        double values[9];
        memcpy(values, distances[i].values, sizeof values);
        const lob_spread spread = lob_spread_of(values, distances[i].count, 0.1);
        const double got = lob_spread_distance(&spread, distances[i].value);
        if (!(fabs(got - distances[i].distance) < 1e-9))
            fail_msg("%s: %.17g, not %.17g", distances[i].what, got, distances[i].distance);
    }
}

enum { SCANS = 12 };

/* A table of scans s0, s1, ... that are done but for the last. */
typedef struct {
    char names[SCANS][8];
    lob_batch_row rows[SCANS];
    lob_batch_table table;
} scans;

static void make_scans(scans *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < SCANS; i++) {
        snprintf(s->names[i], sizeof s->names[i], "s%d", i);
        s->rows[i].scan = s->names[i];
        s->rows[i].state = i == SCANS - 1 ? LOB_SCAN_FAILED : LOB_SCAN_DONE;
    }
    s->table = (lob_batch_table){s->rows, SCANS, 0};
}

/* Every scan has a liver of about 1000 ml; s3 has half of it in two pieces, s7 has none. */
TEST(volumes_are_gathered_by_label)
{
    static char text[4096];
    scans s;
    lob_cohort c;
    make_scans(&s);
    char *to = text + sprintf(text, "scan\ttable\tlabel\tname\tvoxels\tvolume_ml\n");
    for (int i = 0; i < SCANS - 1; i++) {
        if (i == 3)
            to += sprintf(to,
                          "s3\t2:--table\t2\tliver\t100\t250\ns3\t2:--table\t2\tliver\t1\t250.5\n");
        else if (i != 7)
            to += sprintf(to, "s%d\t2:--table\t2\t%s\t100\t%d\n", i,
                          i == 0   ? "spleen"
                          : i == 1 ? "n/a"
                                   : "liver",
                          1000 + i);
        to += sprintf(to, "s%d\t2:--table\t3\tn/a\t%d\tn/a\n", i, 50);
        if (i == 5) to += sprintf(to, "s5\t2:--table\t9\tcyst\t1\t4\n");
    }
    strcpy(to, "unknown\t2:--table\t2\tliver\t1\t1\n");
    assert_int_equal(lob_cohort_parse(&c, &s.table, text, strlen(text), "regions", NULL), LOB_OK);
    assert_int_equal(c.done, SCANS - 1);
    assert_int_equal(c.count, 3);
    const lob_structure *const liver = &c.structures[0], *const other = &c.structures[1];
    assert_string_equal(liver->name, "liver");
    assert_string_equal(liver->unit, "ml");
    assert_string_equal(other->name, "");
    assert_string_equal(other->unit, "voxels");
    assert_true(liver->is_common && other->is_common && !c.structures[2].is_common);
    assert_true(liver->value[3] == 500.5 && liver->value[4] == 1004 && isnan(liver->value[7]));
    assert_int_equal(liver->spread.count, SCANS - 2);
    for (int i = 0; i < SCANS; i++) {
        assert_int_equal(lob_cohort_is_far(liver, i), i == 3);
        assert_int_equal(lob_cohort_other_name(liver, i) != NULL, i == 0);
        assert_int_equal(lob_cohort_is_missing(&c, liver, &s.rows[i], i), i == 7);
        assert_false(lob_cohort_is_far(other, i));
        assert_false(lob_cohort_is_missing(&c, &c.structures[2], &s.rows[i], i));
    }
    lob_cohort_free(&c);
}

/* Of five scans no name has more than half: two as many each, of which the first counts. */
TEST(the_usual_name_is_the_most_frequent)
{
    static const char text[] = "scan\ttable\tlabel\tname\tvoxels\n"
                               "s0\tt\t1\tliver\t5\ns1\tt\t1\tLiver\t5\ns2\tt\t1\tspleen\t5\n"
                               "s3\tt\t1\tkidney\t5\ns4\tt\t1\tkidney\t5\n";
    scans s;
    lob_cohort c;
    make_scans(&s);
    assert_int_equal(lob_cohort_parse(&c, &s.table, text, strlen(text), "regions", NULL), LOB_OK);
    assert_string_equal(c.structures[0].name, "liver");
    for (int i = 0; i < SCANS; i++) {
        const char *const other = lob_cohort_other_name(&c.structures[0], i);
        assert_int_equal(other != NULL, i >= 2 && i < 5);
    }
    lob_cohort_free(&c);
}

/* Of two labels that have doubts, and one that has none. */
TEST(doubts_are_gathered_by_label)
{
    static const char text[] = "scan\ttable\tlabel\tdoubt\tvoxels\n"
                               "s0\tt\t1\t0.2\t5\ns0\tt\t2\t0.7\t5\ns0\tt\t2\t0.1\t5\n"
                               "s1\tt\t1\t0.3\t5\ns1\tt\t2\tn/a\t0\ns2\tt\t3\tn/a\t5\n";
    scans s;
    lob_cohort c;
    make_scans(&s);
    assert_int_equal(lob_cohort_parse(&c, &s.table, text, strlen(text), "regions", NULL), LOB_OK);
    assert_int_equal(lob_cohort_most_doubtful(&c, 0), 1);
    assert_int_equal(lob_cohort_most_doubtful(&c, 1), 0);
    assert_int_equal(lob_cohort_most_doubtful(&c, 2), -1);
    assert_true(c.structures[1].doubt[0] == 0.7 && c.structures[0].doubt[1] == 0.3);
    lob_cohort_free(&c);
}

static const struct {
    const char *what, *text;
    lob_status status;
} tables[] = {
    {"nothing",                  "",                                              LOB_OK   },
    {"a header alone",           "scan\ttable\tlabel\n",                          LOB_OK   },
    {"a line that is not ended", "scan\ttable\tlabel\ns1\tt",                     LOB_OK   },
    {"no such columns",          "a\tb\tc\n",                                     LOB_EDATA},
    {"a line that is too short", "scan\ttable\tlabel\ns1\tt\n",                   LOB_EDATA},
    {"numbers that are none",    "scan\ttable\tlabel\tvoxels\ns1\tt\t1\tmany\n",  LOB_OK   },
    {"escapes",                  "scan\ttable\tlabel\tvoxels\ns1\tt\\\t\\n\t5\n", LOB_OK   },
};

TEST(tables_of_regions)
{
    for (size_t i = 0; i < COUNT(tables); i++) {
        scans s;
        lob_cohort c;
        lob_error error = {.text = ""};
        char text[256];
        make_scans(&s);
        strcpy(text, tables[i].text);
        const lob_status st = lob_cohort_parse(&c, &s.table, text, strlen(text), "regions", &error);
        if (st != tables[i].status || (st != LOB_OK) != (error.text[0] != '\0'))
            fail_msg("%s: status %d: %s", tables[i].what, (int)st, error.text);
        lob_cohort_free(&c);
    }
}

TEST(labels_beyond_the_room)
{
    scans s;
    lob_cohort c;
    enum { LABELS = LOB_COHORT_STRUCTURES + 5 };
    static char text[40 * LABELS];
    make_scans(&s);
    char *to = text + sprintf(text, "scan\ttable\tlabel\tvoxels\n");
    for (int i = 0; i < LABELS; i++) to += sprintf(to, "s1\tt\t%d\t5\n", i + 1);
    assert_int_equal(lob_cohort_parse(&c, &s.table, text, strlen(text), "regions", NULL), LOB_OK);
    assert_true(c.count == LOB_COHORT_STRUCTURES && c.has_more);
    lob_cohort_free(&c);
}

static lob_status parse_once(void *user)
{
    lob_cohort c;
    lob_error error = {.text = ""};
    char text[] =
        "scan\ttable\tlabel\tname\tvoxels\ns1\tt\t1\ta\t5\ns2\tt\t1\ta\t6\ns2\tt\t2\tb\t6\n";
    scans s;
    make_scans(&s);
    const lob_status st = lob_cohort_parse(&c, &s.table, text, strlen(text), "regions", &error);
    char line[LOB_ERROR_LINE];
    lob_error_line(line, sizeof line, &error);
    if (st != LOB_OK) assert_string_equal(line, "regions: out of memory");
    assert_int_equal(c.count, st == LOB_OK ? 2 : 0);
    lob_cohort_free(&c);
    return st;
}

TEST(without_memory)
{
    assert_true(alloc_fail_sweep("a cohort", parse_once, NULL) > 8);
}
