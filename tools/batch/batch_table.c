/* The status table of a batch as text: its lines, and reading them again. */
#include "tools/batch/batch_table.h"

#include "io/file.h"
#include "tools/text/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *lob_scan_state_text(lob_scan_state state)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        LOB_BATCH_STATES_LIST(TEXT)};
    return texts[state];
}

const char *lob_batch_stage_text(lob_batch_stage stage)
{
    static const char *const texts[] = {LOB_BATCH_STAGES_LIST(TEXT)
#undef TEXT
    };
    return texts[stage];
}

/* ---- writing ---- */

enum {
    BEFORE_STAGES = 6,
    AFTER_STAGES = 8,
    COLUMNS = BEFORE_STAGES + LOB_BATCH_STAGES + AFTER_STAGES
};

static const char *const before_stages[BEFORE_STAGES] = {"scan",    "state",   "exit_code",
                                                         "message", "started", "total_s"};
static const char *const after_stages[AFTER_STAGES] = {"voxels",  "labels", "device", "memory",
                                                       "outputs", "inputs", "key",    "report"};

char *lob_batch_header_line(void)
{
    lob_text text = {NULL};
    for (int i = 0; i < BEFORE_STAGES; i++)
        lob_text_print(&text, "%s%s", i ? "\t" : "", before_stages[i]);
    for (int i = 0; i < LOB_BATCH_STAGES; i++)
        lob_text_print(&text, "\t%s_s", lob_batch_stage_text((lob_batch_stage)i));
    for (int i = 0; i < AFTER_STAGES; i++) lob_text_print(&text, "\t%s", after_stages[i]);
    lob_text_add(&text, "\n", 1);
    return lob_text_take(&text);
}

static void add_cell(lob_text *text, const char *cell)
{
    lob_text_add_cell(text, cell, false);
    lob_text_add(text, "\t", 1);
}

/* n/a where it is negative. */
static void add_number(lob_text *text, int64_t number)
{
    if (number < 0)
        lob_text_print(text, "n/a\t");
    else
        lob_text_print(text, "%lld\t", (long long)number);
}

static void add_files(lob_text *text, const lob_batch_files *files)
{
    for (int i = 0; i < files->count; i++) {
        const lob_batch_file *const f = &files->file[i];
        lob_text_print(text, "%s%c ", i ? ";" : "", f->content);
        lob_text_add_cell(text, f->role, true);
        lob_text_print(text, " %s %lld %lld ", f->sha256[0] ? f->sha256 : "n/a",
                       (long long)f->bytes, (long long)f->mtime_ns);
        lob_text_add_cell(text, f->path, true);
    }
    lob_text_add(text, "\t", 1);
}

char *lob_batch_row_line(const lob_batch_row *row)
{
    lob_text text = {NULL};
    add_cell(&text, row->scan);
    add_cell(&text, lob_scan_state_text(row->state));
    add_number(&text, row->exit_code);
    add_cell(&text, row->message);
    add_cell(&text, row->started);
    lob_text_print(&text, "%.6f\t", row->total_s);
    for (int i = 0; i < LOB_BATCH_STAGES; i++) lob_text_print(&text, "%.6f\t", row->stage_s[i]);
    add_number(&text, row->voxels);
    add_number(&text, row->labels);
    add_cell(&text, row->device);
    add_number(&text, row->memory);
    add_files(&text, &row->outputs);
    add_files(&text, &row->inputs);
    add_cell(&text, row->key);
    lob_text_add_cell(&text, row->report, false);
    lob_text_add(&text, "\n", 1);
    return lob_text_take(&text);
}

/* ---- reading ---- */

void lob_batch_files_free(lob_batch_files *files)
{
    for (int i = 0; i < files->count; i++) {
        free(files->file[i].role);
        free(files->file[i].path);
    }
    free(files->file);
    *files = (lob_batch_files){NULL};
}

void lob_batch_row_free(lob_batch_row *row)
{
    free(row->scan);
    free(row->message);
    free(row->device);
    free(row->report);
    lob_batch_files_free(&row->outputs);
    lob_batch_files_free(&row->inputs);
    *row = (lob_batch_row){.scan = NULL};
}

void lob_batch_table_free(lob_batch_table *table)
{
    for (int64_t i = 0; i < table->count; i++) lob_batch_row_free(&table->rows[i]);
    free(table->rows);
    *table = (lob_batch_table){NULL};
}

const lob_batch_row *lob_batch_row_of(const lob_batch_table *table, const char *scan)
{
    for (int64_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].scan, scan) == 0) return &table->rows[i];
    return NULL;
}

static int64_t number_of(const char *cell)
{
    return isdigit((unsigned char)cell[0]) ? strtoll(cell, NULL, 10) : -1;
}

static char *text_of(char *cell)
{
    lob_cell_decode(cell);
    return strdup(cell);
}

static void put_digest(char to[LOB_SHA256_TEXT], const char *cell)
{
    if (strlen(cell) == LOB_SHA256_TEXT - 1 &&
        strspn(cell, "0123456789abcdef") == LOB_SHA256_TEXT - 1)
        memcpy(to, cell, LOB_SHA256_TEXT);
    else
        to[0] = '\0';
}

/* "i 1:IMAGE SHA BYTES TIME PATH"; false: it is none. */
static bool parse_file(lob_batch_file *out, char *item)
{
    char *part[6], *at = item;
    for (int i = 0; i < 6; i++) {
        part[i] = at;
        at = i < 5 ? strchr(at, ' ') : NULL;
        if (!at && i < 5) return false;
        if (at) *at++ = '\0';
    }
    if (!part[0][0] || !strchr("ilto", part[0][0]) || part[0][1]) return false;
    *out = (lob_batch_file){.content = part[0][0],
                            .bytes = number_of(part[3]),
                            .mtime_ns = number_of(part[4]),
                            .role = text_of(part[1]),
                            .path = text_of(part[5])};
    put_digest(out->sha256, part[2]);
    return out->role && out->path;
}

static bool parse_files(lob_batch_files *out, char *cell)
{
    int most = 1;
    for (const char *c = cell; *c; c++) most += *c == ';';
    if (cell[0] == '\0') return true;
    out->file = calloc((size_t)most, sizeof *out->file);
    for (char *at = cell; at && out->file;) {
        char *end = at;
        while (*end && *end != ';') end += *end == '\\' && end[1] ? 2 : 1;
        const bool more = *end == ';';
        *end = '\0';
        if (!parse_file(&out->file[out->count++], at)) return false;
        at = more ? end + 1 : NULL;
    }
    return out->file != NULL;
}

/* The state of this text; LOB_SCAN_STATES: there is none. */
static lob_scan_state state_of(const char *text)
{
    int s = 0;
    while (s < LOB_SCAN_STATES && strcmp(lob_scan_state_text((lob_scan_state)s), text) != 0) s++;
    return (lob_scan_state)s;
}

/* A line without its end, which is changed; false: it is no row. */
static bool parse_row(lob_batch_row *out, char *line)
{
    char *cell[COLUMNS];
    *out = (lob_batch_row){.scan = NULL};
    if (lob_cells_split(cell, COLUMNS, line) != COLUMNS) return false;
    char **const after = cell + BEFORE_STAGES + LOB_BATCH_STAGES;
    out->scan = text_of(cell[0]);
    out->state = state_of(cell[1]);
    out->exit_code = (int)number_of(cell[2]);
    out->message = text_of(cell[3]);
    lob_cell_decode(cell[4]);
    snprintf(out->started, sizeof out->started, "%s", cell[4]);
    out->total_s = strtod(cell[5], NULL);
    for (int i = 0; i < LOB_BATCH_STAGES; i++)
        out->stage_s[i] = strtod(cell[BEFORE_STAGES + i], NULL);
    out->voxels = number_of(after[0]);
    out->labels = number_of(after[1]);
    out->device = text_of(after[2]);
    out->memory = number_of(after[3]);
    const bool files = parse_files(&out->outputs, after[4]) && parse_files(&out->inputs, after[5]);
    put_digest(out->key, after[6]);
    out->report = text_of(after[7]);
    return files && out->scan && out->message && out->device && out->report &&
           out->state < LOB_SCAN_STATES;
}

/* A hash table over the scans' names, while a table is read. */
typedef struct {
    int64_t *at; /* index of a row and 1, or 0 */
    size_t size; /* a power of 2, at least twice the rows */
} name_index;

static size_t hash_of(const char *text)
{
    size_t h = 14695981039346656037U; /* FNV-1a */
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211U;
    return h ^ h >> 29;
}

/* Put a row in the place of the one of its scan, or behind all. */
static void put_row(lob_batch_table *table, name_index *names, lob_batch_row *row)
{
    size_t slot = hash_of(row->scan) & (names->size - 1);
    while (names->at[slot] && strcmp(table->rows[names->at[slot] - 1].scan, row->scan) != 0)
        slot = (slot + 1) & (names->size - 1);
    if (names->at[slot]) {
        lob_batch_row_free(&table->rows[names->at[slot] - 1]);
    } else {
        names->at[slot] = ++table->count;
    }
    table->rows[names->at[slot] - 1] = *row;
}

static lob_status parse_table(lob_batch_table *out, char *text, const char *path, lob_error *error)
{
    char *const header = lob_batch_header_line();
    int64_t lines = 0;
    for (const char *c = text; (c = strchr(c, '\n')); c++) lines++;
    name_index names = {NULL, 64};
    while (names.size < 2 * (size_t)lines) names.size *= 2;
    names.at = calloc(names.size, sizeof *names.at);
    out->rows = calloc((size_t)lines + 1, sizeof *out->rows);
    lob_status st = LOB_OK;
    if (!header || !names.at || !out->rows)
        st = lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    else if (strncmp(text, header, strlen(header)) != 0)
        st = lob_fail(error, LOB_EDATA, "%s: is no status table of this version of lobule batch",
                      path);
    char *at = st == LOB_OK ? text + strlen(header) : text;
    for (char *end; st == LOB_OK && (end = lob_line_end_of(at)); at = end + 1) {
        lob_batch_row row;
        *end = '\0';
        if (parse_row(&row, at)) {
            put_row(out, &names, &row);
        } else {
            lob_batch_row_free(&row);
            st = lob_fail(error, LOB_EDATA, "%s: the line after that of scan %s is damaged", path,
                          out->count ? out->rows[out->count - 1].scan : "-");
        }
    }
    out->cut = at - text;
    free(names.at);
    free(header);
    return st;
}

lob_status lob_batch_table_parse(lob_batch_table *out, const char *bytes, size_t size,
                                 const char *path, lob_error *error)
{
    *out = (lob_batch_table){NULL};
    char *const text = calloc(size + 1, 1);
    if (!text) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    if (size > 0) memcpy(text, bytes, size);
    const lob_status st = parse_table(out, text, path, error);
    free(text);
    if (st != LOB_OK) lob_batch_table_free(out);
    return st;
}

lob_status lob_batch_table_read(lob_batch_table *out, const char *path, lob_error *error)
{
    lob_input file;
    *out = (lob_batch_table){NULL};
    LOB_TRY(lob_input_open(&file, path, error));
    const lob_status st =
        lob_batch_table_parse(out, (const char *)file.bytes, file.size, path, error);
    lob_input_close(&file);
    return st;
}

/* ---- files of a row ---- */

const lob_batch_file *lob_batch_image_of(const lob_batch_row *row)
{
    for (const char *content = "il"; *content; content++)
        for (int i = 0; i < row->inputs.count; i++)
            if (row->inputs.file[i].content == *content) return &row->inputs.file[i];
    return NULL;
}

const lob_batch_file *lob_batch_labels_of(const lob_batch_row *row)
{
    for (int i = row->outputs.count - 1; i >= 0; i--)
        if (row->outputs.file[i].content == 'l') return &row->outputs.file[i];
    return NULL;
}

const lob_batch_file *lob_batch_viewer_of(const lob_batch_row *row)
{
    static const char role[] = ":--html"; /* after the number of the recipe's line */
    for (int i = row->outputs.count - 1; i >= 0; i--) {
        const char *const end = strrchr(row->outputs.file[i].role, ':');
        if (end && strcmp(end, role) == 0) return &row->outputs.file[i];
    }
    return NULL;
}

/* A byte that stands for itself in the name of a scan's file. */
static bool is_plain(const char *at, const char *scan)
{
    if (*at == '.') return at > scan && at[-1] != '/';
    return isalnum((unsigned char)*at) || strchr("/_-+", *at);
}

char *lob_batch_file_of(const char *folder, const char *part, const char *scan, const char *end)
{
    lob_text text = {NULL};
    lob_text_print(&text, "%s/%s/", folder, part);
    for (const char *c = scan; *c; c++)
        if (is_plain(c, scan) && !(c[0] == '/' && (c == scan || c[-1] == '/' || !c[1])))
            lob_text_add(&text, c, 1);
        else
            lob_text_print(&text, "%%%02X", (unsigned char)*c);
    lob_text_print(&text, "%s", end);
    return lob_text_take(&text);
}
