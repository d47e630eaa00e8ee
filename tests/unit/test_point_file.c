/* Files of points: what is read from each kind, and what is refused and where. */
#include "io/text_rows.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tools/table/point_file.h"

static lob_status parse(lob_points *all, const char *name, const char *text, lob_error *error)
{
    *error = (lob_error){.text = ""};
    return lob_points_parse(all, text, strlen(text), name, error);
}

#define LPS "{\"markups\":[{\"coordinateSystem\":\"LPS\",\"controlPoints\":["
#define END "]}]}"

TEST(first_points)
{
    static const struct {
        const char *what, *name, *text;
        int count;
        lob_point first;
    } rows[] = {
        ROW("LPS counts from the other sides", "a.mrk.json", LPS "{\"position\":[1,2,3]}" END, 1,
            {{-1, -2, 3},  false, 0,  NAN}
                 ),
        ROW("without a word it is LPS", "a.json",
            "{\"markups\":[{\"controlPoints\":[{\"position\":[1,2,3]}]}]}", 1,
            {{-1, -2, 3},  false, 0,  NAN}
                 ),
        ROW("RAS is kept", "a.json",
            "{\"markups\":[{\"coordinateSystem\":\"RAS\",\"controlPoints\":[{\"label\":\"12\","
            "\"position\":[1,2,3]}]}]}",
            1, {{1, 2, 3},    false, 12, NAN}
                 ),
        ROW("points not placed are left out", "a.json",
            LPS "{\"position\":[9,9,9],\"positionStatus\":\"undefined\"},{\"label\":\"F-1\","
                "\"position\":[0,0,5],\"positionStatus\":\"defined\"}" END,
            1, {{0, 0, 5},    false, 0,  NAN}
                 ),
        ROW("lists are read one after the other", "a.json",
            "{\"markups\":[{\"controlPoints\":[{\"position\":[0,0,1]}]},"
            "{\"controlPoints\":[{\"position\":[0,0,2]}]}]}",
            2, {{0, 0, 1},    false, 0,  NAN}
                 ),
        ROW("a name as a table would have its number", "a.json",
            LPS "{\"label\":\" 7.0\",\"position\":[0,0,1]}" END, 1, {{0, 0, 1},    false, 7,  NAN}
                 ),
        ROW("fcsv without a word is RAS", "a.fcsv", "id,1,2,3,0,0,0,1,1,1,0,7,,\n", 1,
            {{1, 2, 3},    false, 7,  NAN}
                 ),
        ROW("LPS by name", "a.fcsv", "# CoordinateSystem = LPS\r\nid,1,2,3\r\n", 1,
            {{-1, -2, 3},  false, 0,  NAN}
                 ),
        ROW("LPS by number", "a.fcsv", "# CoordinateSystem = 1\nid,1,2,3", 1,
            {{-1, -2, 3},  false, 0,  NAN}
                 ),
        ROW("a table in mm", "a.tsv", "X\ty\tZ\n1\t2.5\t-3\n\n4\t5\t6\n", 2,
            {{1, 2.5, -3}, false, 0,  NAN}
                 ),
        ROW("in voxels, with all else", "a.CSV", "label,k,radius,j,i,note\n5,3,.5,2,1,a b\n", 1,
            {{1, 2, 3},    true,  5,  .5 }
                 ),
        ROW("fields that are empty, n/a or missing", "a.csv",
            "i,j,k,label,radius\n1,2,3,n/a,\n4,5,6\n", 2, {{1, 2, 3},    true,  0,  NAN}
                 ),
        ROW("mm beside voxels of lobule's own tables", "a.csv",
            "label,x,y,z,x_mm,y_mm,z_mm\n1,2,3,4,5,6,7\n", 1, {{5, 6, 7},    false, 1,  NAN}
                 ),
        ROW("a spreadsheet's byte order mark", "a.csv", "\xef\xbb\xbfx,y,z\n1,2,3\n", 1,
            {{1, 2, 3},    false, 0,  NAN}
                 ),
        ROW("semicolons of a spreadsheet", "a.csv", "x;y;z;label;note\n1;2;3;4;\"a;b\"\n", 1,
            {{1, 2, 3},    false, 4,  NAN}
                 ),
        ROW("a cell with a semicolon", "a.csv", "x,y,z,a;b\n1,2,3,4;5\n", 1,
            {{1, 2, 3},    false, 0,  NAN}
                 ),
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        lob_points all;
        lob_error error;
        const lob_point *const want = &rows[i].first;
        if (parse(&all, rows[i].name, rows[i].text, &error) != LOB_OK)
            fail_msg("%s: %s", rows[i].what, error.text);
        const lob_point *const p = all.points;
        const bool radius =
            isnan(want->radius_mm) ? isnan(p->radius_mm) : p->radius_mm == want->radius_mm;
        if (all.count != rows[i].count || !radius || p->label != want->label ||
            p->voxel != want->voxel || p->at[0] != want->at[0] || p->at[1] != want->at[1] ||
            p->at[2] != want->at[2])
            fail_msg("%s: %d points, (%g, %g, %g) label %d radius %g", rows[i].what, (int)all.count,
                     p->at[0], p->at[1], p->at[2], p->label, p->radius_mm);
        lob_points_free(&all);
        assert_null(all.points);
    }
}

TEST(refusals)
{
    static const struct {
        const char *what, *name, *text, *message;
        lob_status status;
    } rows[] = {
        ROW("another suffix", "a.txt", "x y z", "a.txt: points are read from", LOB_EARG),
        ROW("no suffix", "a", "x y z", "are read from", LOB_EARG),
        ROW("nothing", "a.json", "", "a.json: is empty", LOB_EDATA),
        ROW("no JSON", "a.json", "{\"markups\": [", "is not JSON", LOB_EDATA),
        ROW("a number", "a.json", "7", "no markups", LOB_EDATA),
        ROW("markups that are no list", "a.json", "{\"markups\": {}}", "no markups", LOB_EDATA),
        ROW("no points", "a.json", LPS END, "holds no point", LOB_EDATA),
        ROW("a control point that is a number", "a.json", LPS "7" END, "no position", LOB_EDATA),
        ROW("a position of words", "a.json", LPS "{\"position\":[1,2,\"3\"]}" END, "three numbers",
            LOB_EDATA),
        ROW("a position too far", "a.json", LPS "{\"position\":[1,2,1e999]}" END, "three numbers",
            LOB_EDATA),
        ROW("a system that is no text", "a.json", "{\"markups\":[{\"coordinateSystem\":1}]}",
            "neither", LOB_EDATA),
        ROW("other systems", "a.json", "{\"markups\":[{\"coordinateSystem\":\"IJK\"}]}", "neither",
            LOB_EDATA),
        ROW("other units", "a.json", "{\"markups\":[{\"coordinateUnits\":\"cm\"}]}", "not in mm",
            LOB_EDATA),
        ROW("a name too large for a label", "a.json",
            LPS "{\"label\":\"99999999999\",\"position\":[0,0,1]}" END, "is no label", LOB_EDATA),
        ROW("a name below all labels", "a.fcsv", "id,1,2,3,0,0,0,1,1,1,0,-3,,\n", "named -3",
            LOB_EDATA),
        ROW("fcsv of two numbers", "a.fcsv", "# x\nid,1,2\n", "line 2 has no three", LOB_EDATA),
        ROW("fcsv of another system", "a.fcsv", "# CoordinateSystem = 2\n", "line 1 names",
            LOB_EDATA),
        ROW("not a number", "a.tsv", "x\ty\tz\nnan\t0\t0\n", "line 2", LOB_EDATA),
        ROW("a number with a tail", "a.tsv", "x\ty\tz\n1mm\t0\t0\n", "line 2", LOB_EDATA),
        ROW("two of three columns", "a.tsv", "x\ty\n", "names no columns", LOB_EDATA),
        ROW("commas in a TSV", "a.tsv", "x,y,z\n1,2,3\n", "names no columns", LOB_EDATA),
        ROW("both kinds of places", "a.csv", "x,y,z,i,j,k\n", "one of both", LOB_EDATA),
        ROW("a label with a fraction", "a.csv", "i,j,k,label\n1,2,3,1.5\n", "whole number",
            LOB_EDATA),
        ROW("a label too large", "a.csv", "i,j,k,label\n1,2,3,2147483648\n", "whole number",
            LOB_EDATA),
        ROW("a radius too large", "a.csv", "i,j,k,radius\n1,2,3,1e7\n", "radius", LOB_EDATA),
        ROW("a radius that is no number", "a.csv", "i,j,k,radius\n1,2,3,wide\n", "radius",
            LOB_EDATA),
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        lob_points all;
        lob_error error;
        char line[LOB_ERROR_LINE];
        const lob_status st = parse(&all, rows[i].name, rows[i].text, &error);
        lob_error_line(line, sizeof line, &error);
        if (st != rows[i].status || !strstr(line, rows[i].message) || all.points)
            fail_msg("%s: %s: '%s'", rows[i].what, lob_status_text(st), line);
    }
}

TEST(bytes_that_are_no_text)
{
    lob_points all;
    lob_error error = {.text = ""};
    assert_int_equal(lob_points_parse(&all, "x\ty\tz\n1\t2\t\0", 11, "a.tsv", &error), LOB_EDATA);
    assert_non_null(strstr(error.text, "byte 0"));
    assert_int_equal(lob_points_parse(&all, NULL, 0, "a.csv", &error), LOB_EDATA);
}

/* As many columns as a line may have, and one more, which is not seen. */
TEST(many_columns)
{
    char text[2048] = "x,y";
    for (int i = 0; i < LOB_FIELDS - 3; i++) strcat(text, ",c");
    const size_t end = strlen(text);
    lob_points all;
    lob_error error;
    strcpy(text + end, ",z\n");
    assert_int_equal(parse(&all, "a.csv", text, &error), LOB_EDATA);
    assert_non_null(strstr(error.text, "no point"));
    strcpy(text + end, ",c,z\n");
    assert_int_equal(parse(&all, "a.csv", text, &error), LOB_EDATA);
    assert_non_null(strstr(error.text, "names no columns"));
}

/* A table of so many points, malloc'ed. */
static char *table_of(int points)
{
    char *const text = malloc((size_t)points * 24 + 16), *to = text;
    if (!text) return NULL;
    to += sprintf(to, "i\tj\tk\tlabel\n");
    for (int i = 0; i < points; i++) to += sprintf(to, "%d\t0\t0\t%d\n", i, i + 1);
    return text;
}

/* The list of points grows many times. */
TEST(many_points)
{
    enum { POINTS = 5000 };
    char *const text = table_of(POINTS);
    lob_points all;
    lob_error error;
    assert_non_null(text);
    assert_ok(parse(&all, "a.tsv", text, &error));
    assert_int_equal(all.count, POINTS);
    for (int i = 0; i < POINTS; i++) assert_true(all.points[i].at[0] == i);
    lob_points_free(&all);
    free(text);
}

static lob_status parse_attempt(void *user)
{
    lob_points all;
    lob_error error;
    const lob_status st = parse(&all, "a.tsv", user, &error);
    if (st != LOB_OK) {
        assert_null(all.points);
        assert_int_equal(all.count, 0);
    }
    lob_points_free(&all);
    return st;
}

TEST(without_memory)
{
    char *const text = table_of(100);
    assert_int_equal(alloc_fail_sweep("a table", parse_attempt, text), 9);
    free(text);
}
