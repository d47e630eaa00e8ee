/* Writing the page of a batch: page.html with what it shows as JSON. */
#include "io/io.h"
#include "io/platform.h"
#include "io/png.h"
#include "page_html.h"
#include "tools/batch/batch.h"
#include "tools/commands/repeat/past_report.h"
#include "tools/picture/preview_picture.h"
#include "tools/table/cohort.h"
#include "tools/text/json_text.h"
#include "tools/text/page_text.h"
#include "tools/text/path.h"
#include "volumes/clock.h"
#include "volumes/free.h"
#include "volumes/version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VOLUMES = 40, MAX_FLAGS = 12 };

/* A row of the page, and what decides where it stands. */
typedef struct {
    int rank;
    double doubt;
    int64_t row;
    cJSON *json;
    char *image, *labels; /* files of its picture; NULL: there are none */
    bool changed;         /* the labels, as by a person, since their numbers were found */
    char *picture; /* a PNG in base64; NULL: a file is missing, cannot be read or holds several
                      frames, or the two lie on different grids */
} place;

typedef struct {
    const lob_batch *b;
    lob_cohort cohort;
    int volumes[MAX_VOLUMES]; /* structures that have a column */
    int volume_count;
    place *places;  /* rows as they are shown */
    cJSON *columns; /* names of the recipe's values, for manifests */
} page;

/* ---- files of a row ---- */

/* The first file of some content, or the last, of an option where one is named: ":--output" stands
 * behind the number of the recipe's line. NULL: there is none. */
static const lob_batch_file *pick(const lob_batch_files *files, char content, bool last,
                                  const char *option)
{
    for (int i = 0; i < files->count; i++) {
        const lob_batch_file *const file = &files->file[last ? files->count - 1 - i : i];
        const char *const end = strrchr(file->role, ':');
        if (file->content == content && (!option || (end && strcmp(end, option) == 0))) return file;
    }
    return NULL;
}

/* The first input that is an image, else the first that is a volume. */
static const lob_batch_file *image_of(const lob_batch_row *row)
{
    const lob_batch_file *const image = pick(&row->inputs, 'i', false, NULL);
    return image ? image : pick(&row->inputs, 'l', false, NULL);
}

/* The last --output that holds labels, and not its --tie; else the last output that does, else the
 * last input. */
static const lob_batch_file *labels_of(const lob_batch_row *row)
{
    const lob_batch_file *labels = pick(&row->outputs, 'l', true, ":--output");
    if (!labels) labels = pick(&row->outputs, 'l', true, NULL);
    return labels ? labels : pick(&row->inputs, 'l', true, NULL);
}

/* Where a file is, whose path begins where its scan was run, as the report says; malloc'ed. NULL
 * for none. */
static char *path_of(const lob_past_report *report, const lob_batch_file *file)
{
    if (!file) return NULL;
    if (lob_is_from_root(file->path) || !report->folder) return strdup(file->path);
    return lob_path_in(report->folder, file->path);
}

/* Add a path as an address beside the page: "reports/a%2520b.json"; "" for NULL. */
static void add_address(cJSON *object, const char *name, const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/";
    lob_text text = {NULL};
    for (; path && *path; path++)
        lob_text_print(&text, strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
    char *const address = lob_text_take(&text);
    cJSON_AddStringToObject(object, name, address ? address : "");
    free(address);
}

/* ---- what is far ---- */

static const char *name_of(const lob_structure *s)
{
    return s->name[0] ? s->name : s->label;
}

/* "liver", "label 3"; "liver (2:--table)" where another column would have this title */
static void title_of(char title[300], const page *p, const lob_structure *s)
{
    int alike = 0;
    for (int c = 0; c < p->volume_count; c++)
        alike += strcmp(name_of(&p->cohort.structures[p->volumes[c]]), name_of(s)) == 0;
    snprintf(title, 300, alike > 1 ? "%s%.200s (%.60s)" : "%s%.200s", s->name[0] ? "" : "label ",
             name_of(s), s->table);
}

/* "26.21", "27706": four digits, or all of a whole number. */
static const char *figure(char text[32], double value)
{
    snprintf(text, 32, value >= 1e4 && value < 1e15 ? "%.0f" : "%.4g", value);
    return text;
}

static void add_flag(cJSON *flags, const char *text)
{
    if (cJSON_GetArraySize(flags) < MAX_FLAGS)
        cJSON_AddItemToArray(flags, cJSON_CreateString(text));
}

/* flags: what there is to look at, in words; far: its columns. Returns whether there is any. */
static bool add_flags(const place *row, const page *p)
{
    const int64_t i = row->row;
    const lob_cohort *const c = &p->cohort;
    cJSON *const flags = cJSON_AddArrayToObject(row->json, "flags");
    cJSON *const far = cJSON_AddArrayToObject(row->json, "far");
    char text[512], title[304], own[32], median[32];
    if (row->changed) {
        snprintf(text, sizeof text, "%.255s has been changed since; its numbers are from before",
                 lob_name_in_path(row->labels));
        cJSON_AddItemToArray(flags, cJSON_CreateString(text));
    }
    for (int k = 0; k < c->count; k++) {
        const lob_structure *const s = &c->structures[k];
        const bool missing = lob_cohort_is_missing(c, s, &p->b->table.rows[i], i);
        const bool is_far = missing || lob_cohort_is_far(s, i);
        const char *const other = lob_cohort_other_name(s, i);
        if (!is_far && !other) continue;
        title_of(title, p, s);
        if (other) {
            snprintf(text, sizeof text, "label %.20s is called %.200s, and %.200s in other scans",
                     s->label, other, s->name);
            add_flag(flags, text);
        }
        if (missing)
            snprintf(text, sizeof text, "%s is missing; %lld of %lld scans have it", title,
                     (long long)s->spread.count, (long long)c->done);
        else
            snprintf(text, sizeof text, "%s has %s %s, the median is %s", title,
                     figure(own, s->value[i]), s->unit, figure(median, s->spread.median));
        if (is_far) add_flag(flags, text);
        for (int m = 0; m < p->volume_count; m++)
            if (p->volumes[m] == k) cJSON_AddItemToArray(far, cJSON_CreateNumber(m));
    }
    if (lob_cohort_is_doubtful(c, i)) {
        const int most = lob_cohort_most_doubtful(c, i);
        if (most >= 0) {
            title_of(title, p, &c->structures[most]);
            strcat(title, " is");
        }
        snprintf(text, sizeof text, "%.2g %% of %s in doubt, the median is %.2g %%",
                 100 * c->doubt[i], most >= 0 ? title : "the voxels are",
                 100 * c->doubt_spread.median);
        cJSON_AddItemToArray(flags, cJSON_CreateString(text));
        cJSON_AddItemToArray(far, cJSON_CreateString("doubt"));
    }
    return cJSON_GetArraySize(flags) > 0;
}

/* ---- the data: cJSON writes null for NaN ---- */

/* What the recipe's names stood for, by the scan's report: the row's "values", in the order of the
 * page's "columns", which the first such report gives; without a report null. */
static void add_values(cJSON *json, const page *p, const cJSON *values)
{
    const cJSON *value;
    if (cJSON_GetArraySize(p->columns) == 0)
        cJSON_ArrayForEach(value, values)
            cJSON_AddItemToArray(p->columns, cJSON_CreateString(value->string));
    cJSON *const cells = values ? cJSON_CreateArray() : cJSON_CreateNull();
    if (values)
        cJSON_ArrayForEach(value, p->columns)
            cJSON_AddItemToArray(cells,
                                 cJSON_CreateString(lob_json_string(values, value->valuestring)));
    cJSON_AddItemToObject(json, "values", cells);
}

/* Of each structure that has a column, its volume or how doubtful it is. */
static void add_by_volume(cJSON *json, const char *name, const page *p, int64_t i, bool doubts)
{
    double values[MAX_VOLUMES];
    for (int c = 0; c < p->volume_count; c++) {
        const lob_structure *const s = &p->cohort.structures[p->volumes[c]];
        values[c] = doubts ? s->doubt[i] : s->value[i];
    }
    cJSON_AddItemToObject(json, name, cJSON_CreateDoubleArray(values, p->volume_count));
}

/* Voxels that a command could as well have labelled otherwise: of a report and the lines of its
 * recipe, the last that says it; NaN: none does. */
static double doubtful_voxels(const lob_past_report *report, const cJSON *results)
{
    static const char *const names[] = {"uncertain_voxels", "tie_voxels", NULL};
    const cJSON *line;
    double voxels = lob_json_result(report->json, names);
    cJSON_ArrayForEach(line, cJSON_GetObjectItemCaseSensitive(results, "lines")) {
        const double here = lob_json_result(line, names);
        if (here >= 0) voxels = here;
    }
    return voxels < 0 ? NAN : voxels;
}

/* A row with what its report says besides; one that cannot be read says nothing. */
static place read_row(page *p, int64_t i)
{
    const lob_batch_row *const row = &p->b->table.rows[i];
    /* of others a header or a part may have been read */
    const bool whole = row->state == LOB_SCAN_DONE || row->state == LOB_SCAN_SKIPPED;
    double *const doubt = &p->cohort.doubt[i];
    place made = {.rank = whole, .row = i, .json = cJSON_CreateObject(), .doubt = -1};
    const lob_batch_file *const labels = labels_of(row);
    lob_past_report report = {.json = NULL};
    char *const path = lob_batch_report_of(p->b->folder, row);
    if (path) lob_past_report_read(&report, path, NULL);
    const cJSON *const results = cJSON_GetObjectItemCaseSensitive(report.json, "results");
    cJSON_AddStringToObject(made.json, "scan", row->scan);
    cJSON_AddStringToObject(made.json, "state", lob_scan_state_text[row->state]);
    cJSON_AddStringToObject(made.json, "message", row->message);
    add_address(made.json, "report", row->report);
    char *const viewer = path_of(&report, pick(&row->outputs, 'o', true, ":--html"));
    char *const way = viewer ? lob_path_relative(viewer, p->b->folder) : NULL;
    add_address(made.json, "viewer", way);
    add_values(made.json, p, cJSON_GetObjectItemCaseSensitive(results, "values"));
    if (whole) made.image = path_of(&report, image_of(row));
    if (whole) made.labels = path_of(&report, labels);
    made.changed =
        row->state == LOB_SCAN_DONE && made.labels && lob_batch_is_changed(labels, made.labels);
    if (!isnan(*doubt))
        made.doubt = *doubt;
    else if (row->state == LOB_SCAN_DONE && row->voxels > 0)
        *doubt = doubtful_voxels(&report, results) / (double)row->voxels;
    lob_past_report_free(&report);
    LOB_FREE(path, viewer, way);
    return made;
}

/* What numbers say of a row, and its place: failures, then what is far, then the rest; in each the
 * most doubtful labels first, then the order of the table. */
static void judge(place *row, const page *p)
{
    const int64_t i = row->row;
    const lob_batch_row *const from = &p->b->table.rows[i];
    LOB_JSON_NUMBERS(row->json, {"code", from->exit_code >= 0 ? from->exit_code : NAN},
                     {"seconds", from->state != LOB_SCAN_STARTED ? from->total_s : NAN},
                     {"voxels", row->rank && from->voxels >= 0 ? (double)from->voxels : NAN},
                     {"labels", row->rank && from->labels >= 0 ? (double)from->labels : NAN},
                     {"doubt", p->cohort.doubt[i]});
    add_by_volume(row->json, "volumes", p, i, false);
    if (row->doubt >= 0) add_by_volume(row->json, "doubts", p, i, true);
    const bool is_far = add_flags(row, p);
    if (row->rank) row->rank = 2 - is_far;
}

static int by_place(const void *a, const void *b)
{
    const place *const x = a, *const y = b;
    if (x->rank != y->rank) return x->rank - y->rank;
    if (x->doubt != y->doubt) return x->doubt < y->doubt ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The recipe's text; null where it is gone. */
static cJSON *recipe_json(const page *p)
{
    lob_input file;
    char *const path = lob_path_in(p->b->folder, LOB_BATCH_RECIPE_FILE), *text = NULL;
    if (path && lob_input_open(&file, path, NULL) == LOB_OK) {
        text = strndup((const char *)file.bytes, file.size);
        lob_input_close(&file);
    }
    cJSON *const json = text ? cJSON_CreateString(text) : cJSON_CreateNull();
    LOB_FREE(text, path);
    return json;
}

static cJSON *page_json(page *p)
{
    const lob_batch *const b = p->b;
    cJSON *const json = cJSON_CreateObject();
    p->columns = cJSON_AddArrayToObject(json, "columns");
    cJSON_AddStringToObject(json, "folder", p->b->folder);
    cJSON_AddStringToObject(json, "version", LOB_VERSION);
    cJSON_AddItemToObject(json, "summary",
                          b->page ? cJSON_CreateNull() : lob_batch_summary_json(&b->summary));
    cJSON *const volumes = cJSON_AddArrayToObject(json, "volumes");
    for (int k = 0; k < p->cohort.count && p->volume_count < MAX_VOLUMES; k++)
        if (p->cohort.structures[k].is_common) p->volumes[p->volume_count++] = k;
    for (int c = 0; c < p->volume_count; c++) {
        const lob_structure *const s = &p->cohort.structures[p->volumes[c]];
        const double reach = lob_cohort_reach(&s->spread), median = s->spread.median;
        const double band[2] = {median / reach, median * reach};
        cJSON *const volume = cJSON_CreateObject();
        char title[300];
        title_of(title, p, s);
        cJSON_AddStringToObject(volume, "title", title);
        cJSON_AddStringToObject(volume, "unit", s->unit);
        LOB_JSON_NUMBERS(volume, {"scans", s->spread.count}, {"median", median});
        cJSON_AddItemToObject(volume, "reach", cJSON_CreateDoubleArray(band, 2));
        cJSON_AddItemToArray(volumes, volume);
    }
    cJSON_AddBoolToObject(json, "more", p->cohort.has_more);
    cJSON_AddItemToObject(json, "recipe", recipe_json(p));
    cJSON *const rows = cJSON_AddArrayToObject(json, "rows");
    for (int64_t i = 0; i < b->table.count; i++) p->places[i] = read_row(p, i);
    lob_cohort_spread_doubt(&p->cohort);
    for (int64_t i = 0; i < b->table.count; i++) judge(&p->places[i], p);
    qsort(p->places, (size_t)p->b->table.count, sizeof *p->places, by_place);
    for (int64_t k = 0; k < p->b->table.count; k++) cJSON_AddItemToArray(rows, p->places[k].json);
    return json;
}

/* ---- pictures: small, as `lobule preview` draws them, with fewer shades ---- */

enum { SIZE = 640, SHADES = 16, STEP = 256 / SHADES };

/* A file of several frames is refused: a picture shows one volume. */
static lob_status draw(lob_canvas *canvas, lob_preview_content *c, lob_preview_layout *layout,
                       const place *scan, const lob_read_options *options)
{
    lob_preview look = lob_preview_defaults();
    look.size = SIZE;
    look.image = scan->image;
    look.labels = scan->labels;
    look.plain = true;
    if (!layout) return LOB_ENOMEM;
    LOB_TRY(lob_read(&c->image, scan->image, options, NULL, NULL));
    LOB_TRY(lob_read(&c->labels, scan->labels, options, NULL, NULL));
    LOB_TRY(lob_same_grid(&c->labels, "", &c->image, "", NULL));
    LOB_TRY(lob_preview_look(c, &look, NULL));
    LOB_TRY(lob_preview_lay_out(layout, &look, c, NULL));
    LOB_TRY(lob_preview_draw(canvas, &look, c, layout));
    /* noise is what a PNG cannot compress: 16 shades of each colour take a third of the bytes */
    for (size_t i = 0; i < 3 * (size_t)canvas->width * (size_t)canvas->height; i++) {
        const int shade = (canvas->rgb[i] + STEP / 2) / STEP * STEP;
        canvas->rgb[i] = (unsigned char)(shade < 255 ? shade : 255);
    }
    return LOB_OK;
}

static char *picture(const place *scan, const lob_read_options *options)
{
    lob_preview_content c = {.image = lob_volume_empty(), .labels = lob_volume_empty()};
    lob_preview_layout *const layout = malloc(sizeof *layout);
    lob_canvas canvas = {.rgb = NULL};
    unsigned char *png = NULL;
    char *text = NULL;
    size_t size = 0;
    if (draw(&canvas, &c, layout, scan, options) == LOB_OK &&
        lob_png_encode_rgb(&png, &size, canvas.rgb, canvas.width, canvas.height, NULL) == LOB_OK)
        text = lob_base64(png, size);
    LOB_FREE(png, canvas.rgb, layout);
    lob_preview_content_free(&c);
    return text;
}

/* ---- the file ---- */

/* Those of the first rows that were done, by their number as it is shown; they are many, so that
 * they do not go through cJSON. A thread a picture; max_memory, or nine tenths of what is free, is
 * for the voxels of all that are drawn at a time. */
static lob_status put_pictures(const page *p, lob_output *out)
{
    lob_session *const s = p->b->session;
    lob_read_options options = lob_read_defaults();
    const int64_t most = s->max_memory > 0 ? s->max_memory : lob_memory_available() / 10 * 9;
    int64_t end = 0;
    options.max_memory = (most / s->context.threads + 1) / 2;
    options.series = s->series;
    options.stop = lob_session_stops;
    for (int wanted = 0; end < p->b->table.count && wanted < p->b->pictures; end++)
        wanted += p->places[end].image && p->places[end].labels;
#pragma omp parallel for schedule(dynamic) num_threads(s->context.threads)
    for (int64_t k = 0; k < end; k++)
        if (p->places[k].image && p->places[k].labels)
            p->places[k].picture = picture(&p->places[k], &options);
    lob_text text = {NULL};
    lob_text_print(&text, ",\"pictures\":{");
    const size_t begun = text.size;
    for (int64_t k = 0; k < end; k++)
        if (p->places[k].picture)
            lob_text_print(&text, "%s\"%lld\":\"%s\"", text.size > begun ? ",\n" : "", (long long)k,
                           p->places[k].picture);
    lob_text_add(&text, "}", 1);
    const lob_status st = text.failed ? lob_session_no_memory(s, out->path)
                                      : lob_output_write(out, text.bytes, text.size, &s->error);
    lob_text_free(&text);
    return st;
}

lob_status lob_batch_page_write(const lob_batch *b)
{
    lob_session *const s = b->session;
    const double start_s = lob_clock_s();
    page p = {.b = b, .places = calloc((size_t)b->table.count + 1, sizeof *p.places)};
    lob_output out;
    char *const path = lob_path_in(b->folder, "page.html");
    char *const regions = lob_path_in(b->folder, LOB_BATCH_REGIONS_FILE);
    lob_status st = path && regions && p.places ? LOB_OK : lob_session_no_memory(s, b->folder);
    if (st == LOB_OK) st = lob_cohort_read(&p.cohort, &b->table, regions, &s->error);
    if (st == LOB_OK) st = lob_page_begin(&out, path, true, page_html, page_json(&p), &s->error);
    if (st == LOB_OK) st = lob_page_end(&out, page_html, put_pictures(&p, &out), &s->error);
    for (int64_t k = 0; p.places && k < b->table.count; k++) {
        LOB_FREE(p.places[k].image, p.places[k].labels, p.places[k].picture);
    }
    LOB_FREE(p.places, regions, path);
    lob_cohort_free(&p.cohort);
    lob_session_stage(s, "page", start_s);
    return st;
}
