/* Reading point files: markups as JSON, markups as text, tables. */
#include "tools/point_file.h"

#include "io/file.h"
#include "io/format.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct {
    lob_points *out;
    int64_t room;
    const char *name;
    lob_error *error;
} reader;

static lob_status bad(const reader *r, int64_t line, const char *what)
{
    if (line > 0)
        return lob_fail(r->error, LOB_EDATA, "%s: line %lld %s", r->name, (long long)line, what);
    return lob_fail(r->error, LOB_EDATA, "%s: %s", r->name, what);
}

static lob_status add(reader *r, const lob_point *point)
{
    lob_points *all = r->out;
    if (all->count == LOB_POINTS_MAX) return bad(r, 0, "holds more than a million points");
    if (all->count == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        lob_point *more = realloc(all->points, (size_t)r->room * sizeof *more);
        if (!more) return lob_fail(r->error, LOB_ENOMEM, "%s: no memory for its points", r->name);
        all->points = more;
    }
    all->points[all->count++] = *point;
    return LOB_OK;
}

/* The whole number that a point is named by, or 0. */
static int32_t label_of_name(const char *name)
{
    char *end;
    if (!name || *name < '0' || *name > '9') return 0;
    const long long label = strtoll(name, &end, 10);
    return *end == '\0' && label >= 1 && label <= INT32_MAX ? (int32_t)label : 0;
}

/* From the left and the back, as LPS counts, to RAS. */
static void to_ras(lob_point *point, bool lps)
{
    if (!lps) return;
    point->at[0] = -point->at[0];
    point->at[1] = -point->at[1];
}

static bool finite_place(const lob_point *point)
{
    return isfinite(point->at[0]) && isfinite(point->at[1]) && isfinite(point->at[2]);
}

/* ---- .mrk.json ---- */

static const char *text_of(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static lob_status add_control_point(reader *r, const cJSON *item, bool lps)
{
    const char *placed = text_of(item, "positionStatus");
    const cJSON *position = cJSON_GetObjectItemCaseSensitive(item, "position");
    if (placed && strcmp(placed, "defined") != 0) return LOB_OK;
    lob_point point = {.label = label_of_name(text_of(item, "label")), .radius_mm = NAN};
    if (cJSON_GetArraySize(position) != 3) return bad(r, 0, "a control point has no position");
    for (int a = 0; a < 3; a++) {
        const cJSON *number = cJSON_GetArrayItem(position, a);
        point.at[a] = cJSON_IsNumber(number) ? number->valuedouble : (double)NAN;
    }
    if (!finite_place(&point)) return bad(r, 0, "a control point's position is no three numbers");
    to_ras(&point, lps);
    return add(r, &point);
}

static lob_status parse_json(reader *r, const char *text, size_t size)
{
    cJSON *file = cJSON_ParseWithLength(text, size);
    const cJSON *markups = cJSON_GetObjectItemCaseSensitive(file, "markups"), *one, *item;
    lob_status st = LOB_OK;
    if (!file)
        st = bad(r, 0, "is not JSON");
    else if (!cJSON_IsArray(markups))
        st = bad(r, 0, "holds no markups, as 3D Slicer writes them");
    cJSON_ArrayForEach(one, markups)
    {
        const char *system = text_of(one, "coordinateSystem");
        const bool lps = !system || strcmp(system, "LPS") == 0;
        if (st == LOB_OK && !lps && strcmp(system, "RAS") != 0)
            st = bad(r, 0, "its coordinate system is neither LPS nor RAS");
        const char *unit = text_of(one, "coordinateUnits");
        if (st == LOB_OK && unit && strcmp(unit, "mm") != 0)
            st = bad(r, 0, "its coordinates are not in mm");
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(one, "controlPoints"))
        {
            if (st == LOB_OK) st = add_control_point(r, item, lps);
        }
    }
    cJSON_Delete(file);
    return st;
}

/* ---- lines of fields ---- */

enum { FIELDS = 64 };

/* Cut a line in place; returns how many fields it has, at most FIELDS. */
static int split(char *fields[FIELDS], char *line, char gap)
{
    int count = 0;
    for (char *at = line; at && count < FIELDS; count++) {
        fields[count] = at;
        at = strchr(at, gap);
        if (at) *at++ = '\0';
    }
    return count;
}

static bool number(double *value, const char *text)
{
    char *end;
    *value = strtod(text, &end);
    while (*end == ' ') end++;
    return end != text && *end == '\0' && isfinite(*value);
}

/* The next line of a text that may be changed, without its end; NULL after the last. */
static char *next_line(char **rest)
{
    char *line = *rest;
    if (!line || *line == '\0') return NULL;
    char *end = strchr(line, '\n');
    *rest = end ? end + 1 : NULL;
    if (end) *end = '\0';
    const size_t n = strlen(line);
    if (n > 0 && line[n - 1] == '\r') line[n - 1] = '\0';
    return line;
}

/* ---- .fcsv ---- */

/* "# CoordinateSystem = LPS", or 0 for RAS and 1 for LPS, as older versions write it. */
static lob_status read_comment(const reader *r, const char *line, int64_t at, bool *lps)
{
    static const char key[] = "# CoordinateSystem = ";
    if (strncmp(line, key, sizeof key - 1) != 0) return LOB_OK;
    const char *system = line + sizeof key - 1;
    *lps = strcmp(system, "LPS") == 0 || strcmp(system, "1") == 0;
    if (!*lps && strcmp(system, "RAS") != 0 && strcmp(system, "0") != 0)
        return bad(r, at, "names a coordinate system that is neither LPS nor RAS");
    return LOB_OK;
}

/* id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,... */
static lob_status parse_fcsv(reader *r, char *text)
{
    enum { LABEL = 11 };
    bool lps = false;
    int64_t at = 0;
    for (char *line; (line = next_line(&text));) {
        char *fields[FIELDS];
        lob_point point = {.radius_mm = NAN};
        at++;
        if (line[0] == '#') {
            LOB_TRY(read_comment(r, line, at, &lps));
            continue;
        }
        if (line[0] == '\0') continue;
        const int n = split(fields, line, ',');
        for (int a = 0; a < 3; a++)
            if (n < 4 || !number(&point.at[a], fields[1 + a]))
                return bad(r, at, "has no three coordinates after its name");
        if (n > LABEL) point.label = label_of_name(fields[LABEL]);
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

static int column_of(char *const *fields, int n, const char *name)
{
    for (int f = 0; f < n; f++)
        if (strcasecmp(fields[f], name) == 0) return f;
    return -1;
}

static lob_status find_columns(const reader *r, columns *c, char *header, char gap)
{
    char *fields[FIELDS];
    bool has[PLACES];
    const int n = split(fields, header, gap);
    int best = PLACES;
    for (int p = PLACES - 1; p >= 0; p--) {
        int at[3];
        for (int a = 0; a < 3; a++) at[a] = column_of(fields, n, place_names[p][a]);
        has[p] = at[0] >= 0 && at[1] >= 0 && at[2] >= 0;
        if (!has[p]) continue;
        memcpy(c->place, at, sizeof at);
        best = p;
    }
    if (best == PLACES)
        return bad(r, 1, "names no columns x, y, z or x_mm, y_mm, z_mm (mm), nor i, j, k (voxels)");
    if (has[VOXELS] && (has[WORLD] || has[PLAIN]))
        return bad(r, 1, "names columns in mm and i, j, k; one of both is needed");
    c->voxels = best == VOXELS;
    c->label = column_of(fields, n, "label");
    c->radius = column_of(fields, n, "radius");
    if (c->radius < 0) c->radius = column_of(fields, n, "radius_mm");
    return LOB_OK;
}

static lob_status add_row(reader *r, const columns *c, char *const *fields, int n, int64_t at)
{
    lob_point point = {.voxel = c->voxels, .radius_mm = NAN};
    double label = 0.0;
    for (int a = 0; a < 3; a++)
        if (c->place[a] >= n || !number(&point.at[a], fields[c->place[a]]))
            return bad(r, at, "has no three coordinates");
    if (c->label >= 0) {
        if (c->label >= n || !number(&label, fields[c->label]) || label < 1 || label > INT32_MAX ||
            label != floor(label))
            return bad(r, at, "has a label that is no whole number from 1");
        point.label = (int32_t)label;
    }
    if (c->radius >= 0 && (c->radius >= n || !number(&point.radius_mm, fields[c->radius]) ||
                           point.radius_mm < 0.0 || point.radius_mm > LOB_POINT_RADIUS_MAX))
        return bad(r, at, "has a radius that is no length from 0 to a million mm");
    return add(r, &point);
}

static lob_status parse_table(reader *r, char *text, char gap)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf"; /* as spreadsheets begin a file */
    columns c = {.label = -1, .radius = -1};
    char *line = next_line(&text);
    if (strncmp(line, byte_order_mark, sizeof byte_order_mark - 1) == 0)
        line += sizeof byte_order_mark - 1;
    LOB_TRY(find_columns(r, &c, line, gap));
    for (int64_t at = 2; (line = next_line(&text)); at++) {
        char *fields[FIELDS];
        if (line[0] == '\0') continue;
        const int n = split(fields, line, gap);
        LOB_TRY(add_row(r, &c, fields, n, at));
    }
    return LOB_OK;
}

/* ---- any ---- */

/* The text, ended by a 0, in memory that is changed while it is read. */
static lob_status parse_lines(reader *r, const char *text, size_t size)
{
    if (memchr(text, 0, size)) return bad(r, 0, "is no text: it holds a byte 0");
    char *const copy = malloc(size + 1);
    if (!copy) return lob_fail(r->error, LOB_ENOMEM, "%s: no memory to read it", r->name);
    memcpy(copy, text, size);
    copy[size] = '\0';
    const lob_status st = lob_has_suffix(r->name, ".fcsv")
                              ? parse_fcsv(r, copy)
                              : parse_table(r, copy, lob_has_suffix(r->name, ".tsv") ? '\t' : ',');
    free(copy);
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
        return lob_fail(error, LOB_EARG,
                        "%s: points are read from .mrk.json, .fcsv, .tsv and .csv files", name);
    lob_status st = size == 0 ? bad(&r, 0, "is empty")
                    : json    ? parse_json(&r, text, size)
                              : parse_lines(&r, text, size);
    if (st == LOB_OK && out->count == 0) st = bad(&r, 0, "holds no point");
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
