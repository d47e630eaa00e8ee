/* Writing the page of a batch. */
#include "tools/batch/batch_page.h"

#include "io/file.h"
#include "page_files.h"
#include "tools/batch/cohort.h"
#include "tools/batch/page_picture.h"
#include "tools/commands/repeat/past_report.h"
#include "tools/text/page_text.h"
#include "tools/text/text.h"
#include "volumes/version.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 40, MAX_FLAGS = 12 };

typedef struct {
    const char *folder;
    const lob_batch_table *table;
    const lob_batch_summary *summary;
    const lob_page_options *options;
    lob_cohort cohort;
    int columns[MAX_COLUMNS]; /* structures that have a column */
    int column_count;
    int64_t *order; /* rows as they are shown */
    int *flags;     /* by row: what there is to look at */
    lob_text text;
} page;

/* ---- text ---- */

static void put(page *p, const char *text)
{
    lob_text_add(&p->text, text, strlen(text));
}

static void put_html(page *p, const char *text)
{
    lob_page_text_add(&p->text, text);
}

static void put_json(page *p, cJSON *value)
{
    lob_page_json_add(&p->text, value);
}

/* A path as an address beside the page: "reports/a%2520b.json"; malloc'ed. */
static char *address_of(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/";
    lob_text text = {NULL};
    for (; *path; path++)
        if (strchr(plain, *path))
            lob_text_add(&text, path, 1);
        else
            lob_text_print(&text, "%%%02X", (unsigned char)*path);
    return lob_text_take(&text);
}

/* ---- what stands in a row ---- */

/* A path of a row, which begins where its scan was run; malloc'ed. */
static char *path_of(const lob_batch_file *file, const lob_past_report *report)
{
    if (!file) return NULL;
    if (file->path[0] == '/' || !report->folder) return strdup(file->path);
    return lob_path_in(report->folder, file->path);
}

/* The way from a folder to a file, both without links: "../a/b.html"; malloc'ed. */
static char *way_to(const char *folder, const char *file)
{
    size_t same = 0, i = 0; /* bytes of the folders that both are in */
    for (; folder[i] && folder[i] == file[i]; i++)
        if (folder[i] == '/') same = i + 1;
    if (!folder[i] && file[i] == '/') same = i + 1;
    lob_text text = {NULL};
    if (folder[i] || file[i] != '/')
        for (const char *up = folder + same; up && *up; up = strchr(up + 1, '/'))
            lob_text_add(&text, "../", 3);
    lob_text_add(&text, file + same, strlen(file + same));
    return lob_text_take(&text);
}

/* The address of a scan's page with a viewer; malloc'ed; NULL where there is none. */
static char *viewer_of(const page *p, const lob_batch_row *row)
{
    const lob_batch_file *const file = lob_batch_viewer_of(row);
    char *const name = file && row->report[0] ? lob_path_in(p->folder, row->report) : NULL;
    lob_past_report report = {.json = NULL};
    char *address = NULL;
    if (name && lob_past_report_read(&report, name, NULL) == LOB_OK) {
        char *const path = path_of(file, &report);
        char *const to = path ? realpath(path, NULL) : NULL;
        char *const from = to ? realpath(p->folder, NULL) : NULL;
        char *const way = from ? way_to(from, to) : NULL;
        if (way) address = address_of(way);
        free(way);
        free(from);
        free(to);
        free(path);
    }
    lob_past_report_free(&report);
    free(name);
    return address;
}

/* Does another structure that has a column go by this title? */
static bool is_ambiguous(const page *p, const lob_structure *s)
{
    const char *const title = s->name[0] ? s->name : s->label;
    int alike = 0;
    for (int c = 0; c < p->column_count; c++) {
        const lob_structure *const other = &p->cohort.structures[p->columns[c]];
        alike += strcmp(other->name[0] ? other->name : other->label, title) == 0;
    }
    return alike > 1;
}

/* "liver", "label 3", "liver (2:--table)" */
static void title_of(char *title, size_t size, const page *p, const lob_structure *s)
{
    snprintf(title, size, "%s%.200s", s->name[0] ? "" : "label ", s->name[0] ? s->name : s->label);
    const size_t used = strlen(title);
    if (is_ambiguous(p, s)) snprintf(title + used, size - used, " (%.60s)", s->table);
}

/* What there is to look at in a row; far, unless NULL, gets the columns. Returns their number. */
static int find_flags(const page *p, int64_t i, cJSON *flags, cJSON *far)
{
    const lob_cohort *const c = &p->cohort;
    const lob_batch_row *const row = &p->table->rows[i];
    char text[512], title[300];
    int count = 0;
    for (int k = 0; k < c->count; k++) {
        const lob_structure *const s = &c->structures[k];
        const bool missing = lob_cohort_is_missing(c, s, row, i);
        if (!missing && !lob_cohort_is_far(s, i)) continue;
        count++;
        if (!flags) continue;
        title_of(title, sizeof title, p, s);
        if (missing)
            snprintf(text, sizeof text, "%s is missing; %lld of %lld scans have it", title,
                     (long long)s->spread.count, (long long)c->done);
        else
            snprintf(text, sizeof text, "%s has %.4g %s, the median is %.4g", title, s->value[i],
                     s->unit, s->spread.median);
        if (count <= MAX_FLAGS) cJSON_AddItemToArray(flags, cJSON_CreateString(text));
        for (int m = 0; m < p->column_count; m++)
            if (p->columns[m] == k) cJSON_AddItemToArray(far, cJSON_CreateNumber(m));
    }
    if (!lob_cohort_is_doubtful(c, i)) return count;
    if (flags) {
        snprintf(text, sizeof text, "%.2g %% of the voxels are in doubt, the median is %.2g %%",
                 100 * c->doubt[i], 100 * c->doubt_spread.median);
        cJSON_AddItemToArray(flags, cJSON_CreateString(text));
        cJSON_AddItemToArray(far, cJSON_CreateString("doubt"));
    }
    return count + 1;
}

static cJSON *number_or_null(double value, bool known)
{
    return known && isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull();
}

/* A row as page.js takes it. */
static cJSON *row_json(const page *p, int64_t i)
{
    const lob_batch_row *const row = &p->table->rows[i];
    cJSON *const array = cJSON_CreateArray(), *const volumes = cJSON_CreateArray();
    cJSON *const flags = cJSON_CreateArray(), *const far = cJSON_CreateArray();
    char *const address = address_of(row->report), *const viewer = viewer_of(p, row);
    cJSON_AddItemToArray(array, cJSON_CreateString(row->scan));
    cJSON_AddItemToArray(array, cJSON_CreateString(lob_scan_state_text(row->state)));
    cJSON_AddItemToArray(array, number_or_null(row->exit_code, row->exit_code >= 0));
    cJSON_AddItemToArray(array, cJSON_CreateString(row->message));
    cJSON_AddItemToArray(array, number_or_null(row->total_s, row->state != LOB_SCAN_STARTED));
    cJSON_AddItemToArray(array, number_or_null((double)row->voxels, row->voxels >= 0));
    cJSON_AddItemToArray(array, number_or_null((double)row->labels, row->labels >= 0));
    cJSON_AddItemToArray(array, number_or_null(p->cohort.doubt[i], true));
    for (int c = 0; c < p->column_count; c++)
        cJSON_AddItemToArray(volumes,
                             number_or_null(p->cohort.structures[p->columns[c]].value[i], true));
    cJSON_AddItemToArray(array, volumes);
    if (p->flags[i] > 0) find_flags(p, i, flags, far);
    cJSON_AddItemToArray(array, flags);
    cJSON_AddItemToArray(array, far);
    cJSON_AddItemToArray(array, cJSON_CreateString(address ? address : ""));
    cJSON_AddItemToArray(array, cJSON_CreateString(viewer ? viewer : ""));
    free(viewer);
    free(address);
    return array;
}

/* ---- order ---- */

static bool is_failure(const lob_batch_row *row)
{
    return row->state != LOB_SCAN_DONE && row->state != LOB_SCAN_SKIPPED;
}

/* Failures, then what is far, then the rest; in each the order of the table. */
static bool set_order(page *p)
{
    const int64_t n = p->table->count;
    int64_t at = 0;
    p->order = calloc((size_t)n + 1, sizeof *p->order);
    p->flags = calloc((size_t)n + 1, sizeof *p->flags);
    if (!p->order || !p->flags) return false;
    for (int k = 0; k < p->cohort.count && p->column_count < MAX_COLUMNS; k++)
        if (p->cohort.structures[k].is_common) p->columns[p->column_count++] = k;
    for (int64_t i = 0; i < n; i++) p->flags[i] = find_flags(p, i, NULL, NULL);
    for (int rank = 0; rank < 3; rank++)
        for (int64_t i = 0; i < n; i++) {
            const int own = is_failure(&p->table->rows[i]) ? 0 : p->flags[i] > 0 ? 1 : 2;
            if (own == rank) p->order[at++] = i;
        }
    return true;
}

/* ---- pictures ---- */

static lob_page_scan scan_of(const page *p, const lob_batch_row *row)
{
    lob_page_scan scan = {NULL, NULL};
    lob_past_report report = {.json = NULL};
    char *const name = lob_path_in(p->folder, row->report);
    if (name && row->report[0]) lob_past_report_read(&report, name, NULL);
    scan.image = path_of(lob_batch_image_of(row), &report);
    scan.labels = path_of(lob_batch_labels_of(row), &report);
    lob_past_report_free(&report);
    free(name);
    return scan;
}

/* The pictures of the first rows that were done, a line each: their number as it is shown, a blank,
 * base64. Returns how many there are. */
static int put_pictures(page *p)
{
    const int most = p->options->pictures;
    lob_page_scan *const scans = calloc((size_t)most + 1, sizeof *scans);
    char **const pictures = calloc((size_t)most + 1, sizeof *pictures);
    int64_t *const number = calloc((size_t)most + 1, sizeof *number);
    int count = 0, drawn = 0;
    p->text.failed = p->text.failed || !scans || !pictures || !number;
    for (int64_t k = 0; !p->text.failed && k < p->table->count && count < most; k++) {
        const lob_batch_row *const row = &p->table->rows[p->order[k]];
        if (is_failure(row) || !lob_batch_image_of(row) || !lob_batch_labels_of(row)) continue;
        scans[count] = scan_of(p, row);
        number[count++] = k;
    }
    if (count > 0)
        lob_page_pictures(pictures, scans, count, p->options->threads, p->options->max_memory);
    for (int i = 0; i < count; i++) {
        if (pictures[i]) {
            lob_text_print(&p->text, "%lld ", (long long)number[i]);
            put(p, pictures[i]);
            put(p, "\n");
            drawn++;
        }
        free(pictures[i]);
        free(scans[i].image);
        free(scans[i].labels);
    }
    free(number);
    free(pictures);
    free(scans);
    return drawn;
}

/* ---- parts of the page ---- */

static void put_fact(page *p, const char *name, const char *format, double value)
{
    lob_text_print(&p->text, "<div><dt>%s</dt><dd>", name);
    lob_text_print(&p->text, format, value);
    put(p, "</dd></div>\n");
}

static void put_facts(page *p)
{
    int64_t state[LOB_SCAN_STATES] = {0}, far = 0;
    for (int64_t i = 0; i < p->table->count; i++) {
        state[p->table->rows[i].state]++;
        far += p->flags[i] > 0;
    }
    put(p, "<dl class=\"facts\">\n");
    put_fact(p, "scans", "%.0f", (double)p->table->count);
    for (int k = 0; k < LOB_SCAN_STATES; k++)
        if (state[k] > 0)
            put_fact(p, lob_scan_state_text((lob_scan_state)k), "%.0f", (double)state[k]);
    put_fact(p, "far from the others", "%.0f", (double)far);
    const lob_batch_summary *const s = p->summary;
    if (s) {
        if (s->left > 0) put_fact(p, "not begun", "%.0f", (double)s->left);
        put_fact(p, "scans per hour", "%.0f", s->scans_per_hour);
        put_fact(p, "minutes", "%.1f", s->wall_s / 60);
        put_fact(p, "GiB of memory at most", "%.2f", (double)s->peak_memory_bytes / 0x1p30);
        lob_text_print(&p->text, "<div><dt>busiest stage</dt><dd>%s, %.0f %%</dd></div>\n",
                       lob_batch_stage_text(s->bottleneck), 100 * s->busy[s->bottleneck]);
    }
    put(p, "</dl>\n");
}

static void put_structures(page *p)
{
    if (p->column_count == 0) return;
    put(p, "<h2>Volumes of all scans</h2>\n<div class=\"wide\"><table>\n"
           "<caption>Far is what lies more than 3.5 robust standard deviations from the median, of "
           "logarithms; they are at least 0.02.</caption>\n<thead><tr><th scope=\"col\">Label</th>"
           "<th scope=\"col\" class=\"number\">Scans that have it</th><th scope=\"col\" "
           "class=\"number\">Median</th><th scope=\"col\" class=\"number\">Not far</th><th "
           "scope=\"col\" class=\"number\">Far</th><th scope=\"col\" class=\"number\">Missing</th>"
           "</tr></thead>\n<tbody>\n");
    for (int c = 0; c < p->column_count; c++) {
        const lob_structure *const s = &p->cohort.structures[p->columns[c]];
        const double reach = exp(LOB_COHORT_FAR * s->spread.spread), median = s->spread.median;
        int64_t far = 0, missing = 0;
        char title[300];
        for (int64_t i = 0; i < p->table->count; i++) {
            far += lob_cohort_is_far(s, i);
            missing += lob_cohort_is_missing(&p->cohort, s, &p->table->rows[i], i);
        }
        title_of(title, sizeof title, p, s);
        put(p, "<tr><th scope=\"row\">");
        put_html(p, title);
        lob_text_print(&p->text,
                       "</th><td class=\"number\">%lld</td><td class=\"number\">%.4g %s</td><td "
                       "class=\"number\">%.4g to %.4g</td><td class=\"number\">%lld</td><td "
                       "class=\"number\">%lld</td></tr>\n",
                       (long long)s->spread.count, median, s->unit, median / reach, median * reach,
                       (long long)far, (long long)missing);
    }
    put(p, "</tbody></table></div>\n");
    if (p->cohort.has_more)
        put(p, "<p>There are more labels than these; regions.tsv has all.</p>\n");
}

static void put_recipe(page *p)
{
    lob_input file;
    char *const path = lob_path_in(p->folder, LOB_BATCH_RECIPE_FILE);
    if (path && lob_input_open(&file, path, NULL) == LOB_OK) {
        char *const text = strndup((const char *)file.bytes, file.size);
        put(p, "<h2>Recipe</h2>\n<pre>");
        for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
            end = strchr(line, '\n');
            if (end) *end = '\0';
            put_html(p, line);
            put(p, "\n");
        }
        put(p, "</pre>\n");
        free(text);
        lob_input_close(&file);
    }
    free(path);
}

static void put_data(page *p)
{
    cJSON *const data = cJSON_CreateObject();
    cJSON *const columns = cJSON_AddArrayToObject(data, "columns");
    cJSON *const rows = cJSON_AddArrayToObject(data, "rows");
    cJSON_AddBoolToObject(data, "hasDoubt", p->cohort.doubt_spread.count > 0);
    for (int c = 0; c < p->column_count; c++) {
        const lob_structure *const s = &p->cohort.structures[p->columns[c]];
        char title[300], with_unit[320];
        title_of(title, sizeof title, p, s);
        snprintf(with_unit, sizeof with_unit, "%s, %s", title, s->unit);
        cJSON_AddItemToArray(columns, cJSON_CreateString(with_unit));
    }
    for (int64_t k = 0; k < p->table->count; k++)
        cJSON_AddItemToArray(rows, row_json(p, p->order[k]));
    put(p, "<script type=\"application/json\" id=\"rows\">");
    put_json(p, data);
    put(p, "</script>\n<script type=\"text/plain\" id=\"pictures\">");
    put_pictures(p);
    put(p, "</script>\n");
}

static void put_page(page *p)
{
    put(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width\">\n"
           "<meta name=\"generator\" content=\"lobule " LOB_VERSION "\">\n<title>Batch ");
    put_html(p, p->folder);
    put(p, "</title>\n<style>\n");
    put(p, page_css);
    put(p, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#scans\">To the scans</a>\n<main>\n"
           "<h1>Batch ");
    put_html(p, p->folder);
    put(p, "</h1>\n");
    put_facts(p);
    put(p, "<h2 id=\"heading\">Scans</h2>\n"
           "<noscript><p>The table of scans needs JavaScript; without it, status.tsv beside this "
           "page has all of them.</p></noscript>\n<div class=\"controls\">\n"
           "<label>Search <input id=\"search\" type=\"search\" size=\"24\"></label>\n"
           "<label>Show <select id=\"which\"><option value=\"all\">all scans</option>"
           "<option value=\"failed\">what failed</option><option value=\"far\">what is far from "
           "the others</option></select></label>\n"
           "<button type=\"button\" id=\"back\">Back</button>\n"
           "<button type=\"button\" id=\"next\">Next</button>\n"
           "<span id=\"status\" role=\"status\"></span>\n</div>\n"
           "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"heading\">"
           "<table id=\"scans\"><caption>Failures first, then what is far from the other scans; "
           "the names of columns sort. A scan's name leads to its report.</caption>"
           "<thead></thead><tbody></tbody></table></div>\n");
    put_structures(p);
    put_recipe(p);
    put(p, "</main>\n<footer><p>Made by lobule " LOB_VERSION ".</p></footer>\n");
    put_data(p);
    put(p, "<script>\n");
    put(p, page_js);
    put(p, "</script>\n</body>\n</html>\n");
}

static lob_status save(page *p, lob_error *error)
{
    lob_output out;
    const size_t size = p->text.size;
    char *const text = lob_text_take(&p->text);
    char *const path = text ? lob_path_in(p->folder, LOB_BATCH_PAGE_FILE) : NULL;
    lob_status st = path ? lob_output_begin(&out, path, true, error)
                         : lob_fail(error, LOB_ENOMEM, "%s: out of memory", p->folder);
    if (st == LOB_OK) {
        st = lob_output_write(&out, text, size, error);
        if (st == LOB_OK)
            st = lob_output_commit(&out, error);
        else
            lob_output_abort(&out);
    }
    free(path);
    free(text);
    return st;
}

lob_status lob_batch_page_write(const char *folder, const lob_batch_table *table,
                                const lob_batch_summary *summary, const lob_page_options *options,
                                lob_error *error)
{
    page p = {.folder = folder, .table = table, .summary = summary, .options = options};
    LOB_TRY(lob_cohort_make(&p.cohort, folder, table, error));
    lob_status st =
        set_order(&p) ? LOB_OK : lob_fail(error, LOB_ENOMEM, "%s: out of memory", folder);
    if (st == LOB_OK) {
        put_page(&p);
        st = save(&p, error);
    }
    lob_text_free(&p.text);
    lob_cohort_free(&p.cohort);
    free(p.order);
    free(p.flags);
    return st;
}
