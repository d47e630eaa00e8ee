/* Reading point files: markups as JSON, markups as text, tables. */
#include "tools/table/point_file.h"

#include "io/file.h"
#include "io/format.h"
#include "io/text_rows.h"
#include "tools/text/json_text.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_points *out;
    const char *name;
    lob_error *error;
} reader;

static lob_status bad(const reader *r, const char *what)
{
    return lob_fail_file(r->error, LOB_EDATA, r->name, "%s", what);
}

static lob_status add(reader *r, const lob_point *point)
{
    lob_points *all = r->out;
    if (all->count == LOB_POINTS_MAX) return bad(r, "holds more than a million points");
    if (!lob_grow(&all->points, all->count, sizeof *all->points))
        return lob_fail_file(r->error, LOB_ENOMEM, r->name, "no memory for its points");
    all->points[all->count++] = *point;
    return LOB_OK;
}

/* The whole number that a point is named by, as a column of a table would hold it, or 0 for a name
 * that is no number. A number that cannot be a label was meant as one. */
static lob_status take_label(const reader *r, int32_t *label, const char *name)
{
    char *end;
    *label = 0;
    if (!name) return LOB_OK;
    name += strspn(name, " ");
    const size_t length = strspn(name, "0123456789+-.eE");
    const double number = strtod(name, &end);
    if (end == name || end != name + length || end[strspn(end, " ")] != '\0') return LOB_OK;
    if (!(number >= 1 && number <= INT32_MAX) || number != floor(number))
        return lob_fail_file(r->error, LOB_EDATA, r->name,
                             "a point is named %.40s, which is no label: labels are whole numbers "
                             "from 1 to 2147483647",
                             name);
    *label = (int32_t)number;
    return LOB_OK;
}

/* From the left and the back, as LPS counts, to RAS. */
static void to_ras(lob_point *point, bool lps)
{
    if (!lps) return;
    point->at[0] = -point->at[0];
    point->at[1] = -point->at[1];
}

/* ---- .mrk.json ---- */

static lob_status add_control_point(reader *r, const cJSON *item, bool lps)
{
    const char *placed = lob_json_text(item, "positionStatus");
    const cJSON *position = cJSON_GetObjectItemCaseSensitive(item, "position");
    if (placed && strcmp(placed, "defined") != 0) return LOB_OK;
    lob_point point = {.radius_mm = NAN};
    LOB_TRY(take_label(r, &point.label, lob_json_text(item, "label")));
    if (cJSON_GetArraySize(position) != 3) return bad(r, "a control point has no position");
    for (int a = 0; a < 3; a++) {
        const cJSON *number = cJSON_GetArrayItem(position, a);
        if (!cJSON_IsNumber(number) || !isfinite(number->valuedouble))
            return bad(r, "a control point's position is no three numbers");
        point.at[a] = number->valuedouble;
    }
    to_ras(&point, lps);
    return add(r, &point);
}

static lob_status parse_json(reader *r, const char *text, size_t size)
{
    cJSON *file = cJSON_ParseWithLength(text, size);
    const cJSON *markups = cJSON_GetObjectItemCaseSensitive(file, "markups"), *one, *item;
    lob_status st = LOB_OK;
    if (!file)
        st = bad(r, "is not JSON");
    else if (!cJSON_IsArray(markups))
        st = bad(r, "holds no markups, as 3D Slicer writes them");
    cJSON_ArrayForEach(one, markups) {
        const char *system = lob_json_text(one, "coordinateSystem");
        const bool named = cJSON_GetObjectItemCaseSensitive(one, "coordinateSystem");
        const bool lps = !named || (system && strcmp(system, "LPS") == 0);
        if (st == LOB_OK && !lps && !(system && strcmp(system, "RAS") == 0))
            st = bad(r, "its coordinate system is neither LPS nor RAS");
        const char *unit = lob_json_text(one, "coordinateUnits");
        if (st == LOB_OK && unit && strcmp(unit, "mm") != 0)
            st = bad(r, "its coordinates are not in mm");
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(one, "controlPoints"))
            if (st == LOB_OK) st = add_control_point(r, item, lps);
    }
    cJSON_Delete(file);
    return st;
}

/* ---- .fcsv ---- */

/* "# CoordinateSystem = LPS", or 0 for RAS and 1 for LPS, as older versions write it. */
static lob_status read_comment(const lob_lines *text, const char *line, bool *lps)
{
    static const char key[] = "# CoordinateSystem = ";
    if (strncmp(line, key, sizeof key - 1) != 0) return LOB_OK;
    const char *system = line + sizeof key - 1;
    *lps = strcmp(system, "LPS") == 0 || strcmp(system, "1") == 0;
    if (!*lps && strcmp(system, "RAS") != 0 && strcmp(system, "0") != 0)
        return lob_lines_bad(text, "names a coordinate system that is neither LPS nor RAS");
    return LOB_OK;
}

/* id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,... */
static lob_status parse_fcsv(reader *r, lob_lines *text)
{
    enum { LABEL = 11 };
    bool lps = false;
    for (char *line; (line = lob_lines_next(text));) {
        lob_fields fields;
        lob_point point = {.radius_mm = NAN};
        if (line[0] == '#') {
            LOB_TRY(read_comment(text, line, &lps));
            continue;
        }
        if (line[0] == '\0') continue;
        lob_fields_cut(&fields, line, ',');
        for (int a = 0; a < 3; a++)
            if (!lob_field_real(&point.at[a], &fields, 1 + a))
                return lob_lines_bad(text, "has no three coordinates after its name");
        LOB_TRY(take_label(r, &point.label, lob_fields_text(&fields, LABEL)));
        to_ras(&point, lps);
        LOB_TRY(add(r, &point));
    }
    return LOB_OK;
}

/* ---- tables ---- */

/* The places that a table may give, three columns each, the better first: an x beside an x_mm is no
 * length, but lobule's own tables have it. */
enum { WORLD, VOXELS, PLAIN, PLACES };

static const char *const place_names[PLACES][3] = {
    {"x_mm", "y_mm", "z_mm"},
    {"i",    "j",    "k"   },
    {"x",    "y",    "z"   }
};

typedef struct {
    int place[3];      /* columns, from 0 */
    int label, radius; /* -1: the table has no such column */
    bool voxels;
} columns;

static lob_status find_columns(const lob_lines *text, columns *c, const lob_fields *header)
{
    bool has[PLACES];
    int best = PLACES;
    for (int p = PLACES - 1; p >= 0; p--) {
        int at[3];
        for (int a = 0; a < 3; a++) at[a] = lob_fields_column(header, place_names[p][a]);
        has[p] = at[0] >= 0 && at[1] >= 0 && at[2] >= 0;
        if (!has[p]) continue;
        memcpy(c->place, at, sizeof at);
        best = p;
    }
    if (best == PLACES)
        return lob_lines_bad(
            text, "names no columns x, y, z or x_mm, y_mm, z_mm (mm), nor i, j, k (voxels)");
    if (has[VOXELS] && (has[WORLD] || has[PLAIN]))
        return lob_lines_bad(text, "names columns in mm and i, j, k; one of both is needed");
    c->voxels = best == VOXELS;
    c->label = lob_fields_column(header, "label");
    c->radius = lob_fields_column(header, "radius");
    if (c->radius < 0) c->radius = lob_fields_column(header, "radius_mm");
    return LOB_OK;
}

/* Does a row say something in a column? Spreadsheets leave a field empty, BIDS writes n/a. */
static bool is_given(const lob_fields *fields, int column)
{
    if (column < 0) return false;
    const char *text = lob_fields_text(fields, column);
    text += strspn(text, " ");
    return *text != '\0' && strcmp(text, "n/a") != 0;
}

static lob_status add_row(reader *r, const lob_lines *text, const columns *c,
                          const lob_fields *fields)
{
    lob_point point = {.voxel = c->voxels, .radius_mm = NAN};
    for (int a = 0; a < 3; a++)
        if (!lob_field_real(&point.at[a], fields, c->place[a]))
            return lob_lines_bad(text, "has no three coordinates");
    if (is_given(fields, c->label) &&
        !lob_field_whole(&point.label, fields, c->label, 1, INT32_MAX))
        return lob_lines_bad(text, "has a label that is no whole number from 1");
    if (is_given(fields, c->radius) &&
        (!lob_field_real(&point.radius_mm, fields, c->radius) || point.radius_mm < 0.0 ||
         point.radius_mm > LOB_POINT_RADIUS_MAX))
        return lob_lines_bad(text, "has a radius that is no length from 0 to a million mm");
    return add(r, &point);
}

static lob_status parse_table(reader *r, lob_lines *text)
{
    columns c = {.label = -1, .radius = -1};
    lob_fields fields = {.count = 0};
    char *line = lob_lines_next(text);
    const char gap = lob_fields_gap(r->name, line ? line : "");
    if (line) lob_fields_cut(&fields, line, gap);
    LOB_TRY(find_columns(text, &c, &fields));
    while ((line = lob_lines_next(text))) {
        if (line[0] == '\0') continue;
        lob_fields_cut(&fields, line, gap);
        LOB_TRY(add_row(r, text, &c, &fields));
    }
    return LOB_OK;
}

/* ---- any ---- */

static lob_status parse_lines(reader *r, const char *bytes, size_t size)
{
    lob_lines text;
    LOB_TRY(lob_lines_begin(&text, bytes, size, r->name, r->error));
    const lob_status st =
        lob_has_suffix(r->name, ".fcsv") ? parse_fcsv(r, &text) : parse_table(r, &text);
    lob_lines_end(&text);
    return st;
}

lob_status lob_points_parse(lob_points *out, const char *text, size_t size, const char *name,
                            lob_error *error)
{
    reader r = {.out = out, .name = name, .error = error};
    const bool json = lob_has_suffix(name, ".json");
    const bool lines = lob_has_suffix(name, ".fcsv") || lob_has_suffix(name, ".tsv") ||
                       lob_has_suffix(name, ".csv");
    *out = (lob_points){0};
    if (!json && !lines)
        return lob_fail_file(error, LOB_EARG, name,
                             "points are read from .mrk.json, .fcsv, .tsv and .csv files");
    lob_status st = size == 0 ? bad(&r, "is empty")
                    : json    ? parse_json(&r, text, size)
                              : parse_lines(&r, text, size);
    if (st == LOB_OK && out->count == 0) st = bad(&r, "holds no point");
    if (st != LOB_OK) lob_points_free(out);
    return st;
}

lob_status lob_points_read(lob_points *out, const char *path, lob_error *error)
{
    lob_input in;
    *out = (lob_points){0};
    LOB_TRY(lob_input_open(&in, path, error));
    const lob_status st = lob_points_parse(out, (const char *)in.bytes, in.size, path, error);
    lob_input_close(&in);
    return st;
}

void lob_points_free(lob_points *points)
{
    free(points->points);
    *points = (lob_points){0};
}
