/* Reading and writing files that name labels. */
#include "io/label_table.h"

#include "io/file.h"
#include "io/format.h"
#include "io/platform.h"
#include "io/text_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { SLICER_TABLE, SLICER_CSV, ITK_SNAP, FREESURFER, BIDS, KINDS } kind;

static const struct {
    const char *suffix;
    kind kind;
} kinds[] = {
    {".ctbl",  SLICER_TABLE},
    {".csv",   SLICER_CSV  },
    {".label", ITK_SNAP    },
    {".lut",   FREESURFER  },
    {".tsv",   BIDS        },
    {".txt",   SLICER_TABLE},
};

/* The kind that a suffix stands for, KINDS for none. */
static kind kind_of_name(const char *path)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (lob_has_suffix(path, kinds[i].suffix)) return kinds[i].kind;
    return KINDS;
}

bool lob_is_label_table_name(const char *path)
{
    return kind_of_name(path) != KINDS;
}

/* ---- reading ---- */

/* Three parts of a colour, from 0 to 255, from a field on. */
static bool colour_at(lob_rgba *colour, const lob_fields *fields, int field)
{
    int32_t part[3];
    for (int i = 0; i < 3; i++)
        if (!lob_field_whole(&part[i], fields, field + i, 0, 255)) return false;
    *colour = (lob_rgba){(uint8_t)part[0], (uint8_t)part[1], (uint8_t)part[2], 255};
    return true;
}

typedef struct {
    lob_label_names *out;
    lob_lines text;
    kind kind;
    char gap;               /* between fields of files with a row of names, */
    bool header_seen;       /* which has been read */
    int column[LOB_FIELDS]; /* where in them the columns that count are */
} reader;

static lob_status put(reader *r, int32_t label, const char *name, const lob_rgba *colour,
                      const char *terminology)
{
    if (label == 0) return LOB_OK;
    const lob_status st = lob_label_names_add(r->out, label, name, colour, terminology);
    if (st == LOB_EARG) return lob_lines_bad(&r->text, "is one of more than a million");
    if (st != LOB_OK)
        return lob_fail_file(r->text.error, st, r->text.name, "no memory for its names");
    return LOB_OK;
}

/* 5 liver 221 130 101 255: 3D Slicer, whose blanks are '_', and FreeSurfer. */
static lob_status take_table_row(reader *r, const lob_fields *fields)
{
    const bool slicer = r->kind == SLICER_TABLE;
    int32_t label, alpha;
    lob_rgba colour;
    if (!lob_field_whole(&label, fields, 0, 0, INT32_MAX))
        return lob_lines_bad(&r->text, "does not begin with a label's number");
    if (fields->count < 5 || !colour_at(&colour, fields, 2))
        return lob_lines_bad(&r->text,
                             "has no name and colour, R G B from 0 to 255, after its number");
    if (slicer && lob_field_whole(&alpha, fields, 5, 0, 255)) colour.alpha = (uint8_t)alpha;
    char *name = fields->field[1];
    for (char *c = name; slicer && *c; c++)
        if (*c == '_') *c = ' ';
    return put(r, label, strcmp(name, " ") == 0 ? "" : name, &colour, NULL);
}

/* 5 221 130 101 1 1 1 "liver" */
static lob_status take_snap_row(reader *r, const lob_fields *fields)
{
    int32_t label;
    lob_rgba colour;
    double alpha;
    if (!lob_field_whole(&label, fields, 0, 0, INT32_MAX))
        return lob_lines_bad(&r->text, "does not begin with a label's number");
    if (fields->count < 8 || !colour_at(&colour, fields, 1) || !lob_field_real(&alpha, fields, 4) ||
        alpha < 0 || alpha > 1)
        return lob_lines_bad(&r->text, "is not: number, R G B, opacity 0..1, two flags, \"name\"");
    colour.alpha = (uint8_t)(alpha * 255 + 0.5);
    return put(r, label, fields->field[7], &colour, NULL);
}

/* The columns of 3D Slicer's CSV; the codes are five of three columns. */
static const char *const slicer_columns[] = {"LabelValue", "Name",    "Color_R",
                                             "Color_G",    "Color_B", "Color_A"};
static const char *const code_groups[] = {"Category", "Type", "TypeModifier", "Region",
                                          "RegionModifier"};
static const char *const code_parts[] = {"CodingScheme", "CodeValue", "CodeMeaning"};
enum { SLICER_COLUMNS = 6, GROUPS = 5, PARTS = 3 };

static const char *const bids_columns[] = {"index", "name", "color"};
enum { BIDS_COLUMNS = 3 };

static lob_status take_header(reader *r, const lob_fields *header, bool slicer)
{
    const char *const *names = slicer ? slicer_columns : bids_columns;
    const int count = slicer ? SLICER_COLUMNS : BIDS_COLUMNS;
    for (int i = 0; i < count; i++) r->column[i] = lob_fields_column(header, names[i]);
    for (int i = 0; slicer && i < GROUPS * PARTS; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", code_groups[i / PARTS], code_parts[i % PARTS]);
        r->column[SLICER_COLUMNS + i] = lob_fields_column(header, name);
    }
    if (r->column[0] >= 0) return LOB_OK;
    return lob_lines_bad(&r->text, slicer ? "names no column LabelValue" : "names no column index");
}

/* Category~Type~TypeModifier~Region context~Region~RegionModifier as 3D Slicer joins them: the
 * terminology's name and the region's stand empty, because a CSV has none. */
static void join_codes(char *text, size_t size, const reader *r, const lob_fields *fields)
{
    size_t used = 0;
    text[0] = '\0';
    for (int g = 0; g < GROUPS; g++) {
        const char *part[PARTS];
        for (int i = 0; i < PARTS; i++)
            part[i] = lob_fields_text(fields, r->column[SLICER_COLUMNS + g * PARTS + i]);
        if (g == 0 && !*part[0]) return; /* without a category there is no code */
        const int n = snprintf(text + used, size - used, "%s~%s^%s^%s", g == 3 ? "~" : "", part[0],
                               part[1], part[2]);
        if (n < 0 || (size_t)n >= size - used) {
            text[0] = '\0';
            return;
        }
        used += (size_t)n;
    }
}

static lob_status take_csv_row(reader *r, const lob_fields *fields)
{
    int32_t label, alpha = 255;
    lob_rgba colour;
    char codes[1024];
    if (!lob_field_whole(&label, fields, r->column[0], 0, INT32_MAX))
        return lob_lines_bad(&r->text, "has no whole number for LabelValue");
    const bool coloured =
        r->column[2] >= 0 && r->column[3] == r->column[2] + 1 && r->column[4] == r->column[2] + 2;
    if (coloured && !colour_at(&colour, fields, r->column[2]))
        return lob_lines_bad(&r->text, "has no colour from 0 to 255");
    if (coloured && lob_field_whole(&alpha, fields, r->column[5], 0, 255))
        colour.alpha = (uint8_t)alpha;
    join_codes(codes, sizeof codes, r, fields);
    return put(r, label, lob_fields_text(fields, r->column[1]), coloured ? &colour : NULL, codes);
}

static lob_status take_bids_row(reader *r, const lob_fields *fields)
{
    int32_t label;
    unsigned red, green, blue;
    char after;
    if (!lob_field_whole(&label, fields, r->column[0], 0, INT32_MAX))
        return lob_lines_bad(&r->text, "has no whole number for index");
    const char *hex = lob_fields_text(fields, r->column[2]);
    const bool coloured = sscanf(hex, "#%2x%2x%2x%c", &red, &green, &blue, &after) == 3;
    if (*hex && !coloured && strcmp(hex, "n/a") != 0)
        return lob_lines_bad(&r->text, "has a color that is not #rrggbb");
    const lob_rgba colour =
        coloured ? (lob_rgba){(uint8_t)red, (uint8_t)green, (uint8_t)blue, 255} : (lob_rgba){0};
    return put(r, label, lob_fields_text(fields, r->column[1]), coloured ? &colour : NULL, NULL);
}

static lob_status (*const take_row[KINDS])(reader *r, const lob_fields *fields) = {
    [SLICER_TABLE] = take_table_row, [SLICER_CSV] = take_csv_row, [ITK_SNAP] = take_snap_row,
    [FREESURFER] = take_table_row,   [BIDS] = take_bids_row,
};

static lob_status take_line(reader *r, char *line)
{
    lob_fields fields;
    const bool headed = r->kind == SLICER_CSV || r->kind == BIDS;
    if (*line == '\0' || (!headed && *line == '#')) return LOB_OK;
    if (headed && !r->header_seen) r->gap = lob_fields_gap(r->text.name, line);
    if (headed)
        lob_fields_cut(&fields, line, r->gap);
    else
        lob_fields_cut_at_blanks(&fields, line);
    if (headed && !r->header_seen) {
        r->header_seen = true;
        if (lob_fields_column(&fields, slicer_columns[0]) >= 0)
            r->kind = SLICER_CSV;
        else if (lob_fields_column(&fields, bids_columns[0]) >= 0)
            r->kind = BIDS;
        return take_header(r, &fields, r->kind == SLICER_CSV);
    }
    return take_row[r->kind](r, &fields);
}

/* Kinds that share the suffix .txt, by a word of the comments that come first. */
static kind kind_of_text(kind named, const char *text, const char *name)
{
    static const struct {
        const char *word;
        kind kind;
    } words[] = {
        {"ITK-SnAP Label Description", ITK_SNAP  },
        {"Label Name",                 FREESURFER},
        {"FreeSurfer",                 FREESURFER},
    };
    if (!lob_has_suffix(name, ".txt")) return named;
    const char *end = text;
    while (*end && strchr("#\r\n", *end)) end += strcspn(end, "\n") + (strchr(end, '\n') != NULL);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *at = strstr(text, words[i].word);
        if (at && at < end) return words[i].kind;
    }
    return named;
}

lob_status lob_label_table_parse(lob_label_names *out, const char *text, size_t size,
                                 const char *name, lob_error *error)
{
    reader r = {.out = out};
    *out = (lob_label_names){0};
    const kind named = kind_of_name(name);
    if (named == KINDS)
        return lob_fail_file(error, LOB_EARG, name,
                             "label names are read from .ctbl, .csv, .label, .lut, .tsv and .txt "
                             "files");
    LOB_TRY(lob_lines_begin(&r.text, text, size, name, error));
    r.kind = kind_of_text(named, r.text.rest, name);
    lob_status st = LOB_OK;
    for (char *line; st == LOB_OK && (line = lob_lines_next(&r.text));) st = take_line(&r, line);
    lob_lines_end(&r.text);
    if (st == LOB_OK && lob_label_names_settle(out) != LOB_OK)
        st = lob_fail_file(error, LOB_ENOMEM, name, "no memory for its names");
    if (st == LOB_OK && out->count == 0)
        st = lob_fail_file(error, LOB_EDATA, name, "names no label");
    if (st != LOB_OK) lob_label_names_free(out);
    return st;
}

lob_status lob_label_table_read(lob_label_names *out, const char *path, lob_error *error)
{
    lob_input in;
    *out = (lob_label_names){0};
    LOB_TRY(lob_input_open(&in, path, error));
    const lob_status st = lob_label_table_parse(out, (const char *)in.bytes, in.size, path, error);
    lob_input_close(&in);
    return st;
}

/* ---- writing ---- */

/* A name with other characters in place of those that the kind uses itself. */
static void print_name(FILE *f, const char *name, const char *taken, const char *instead)
{
    for (; *name; name++) {
        const char *at = strchr(taken, *name);
        fputc(at ? instead[at - taken] : *name, f);
    }
}

static void print_quoted(FILE *f, const char *text)
{
    if (!strpbrk(text, ",\"")) {
        fputs(text, f);
        return;
    }
    fprintf(f, "\"");
    for (; *text; text++) fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    fprintf(f, "\"");
}

/* The 15 columns of codes of 3D Slicer's CSV, out of the joined text. */
static void print_codes(FILE *f, const char *terminology)
{
    /* Parts 1, 2, 3, 5 and 6 of the seven are codes; 0 and 4 name terminologies. */
    static const int groups[GROUPS] = {1, 2, 3, 5, 6};
    for (int g = 0; g < GROUPS; g++) {
        const char *part = terminology ? terminology : "";
        for (int i = 0; i < groups[g] && *part; i++) {
            part += strcspn(part, "~");
            if (*part) part++;
        }
        char code[1024];
        snprintf(code, sizeof code, "%.*s", (int)strcspn(part, "~"), part);
        char *at = code;
        for (int i = 0; i < PARTS; i++) {
            char *end = at + strcspn(at, "^");
            const bool more = *end == '^';
            *end = '\0';
            fprintf(f, ",");
            print_quoted(f, at);
            at = more ? end + 1 : end;
        }
    }
}

/* First lines; NULL: the names of the columns. */
static const char *const heads[KINDS] = {
    [SLICER_TABLE] = "# Color table file, label numbers, names, R G B A\n",
    [FREESURFER] = "#No. Label Name: R G B A\n",
    [ITK_SNAP] = "################################################\n"
                 "# ITK-SnAP Label Description File\n"
                 "# IDX   -R-  -G-  -B-  -A-   VIS MSH  LABEL\n"
                 "################################################\n"
                 "    0     0    0    0        0  0  0    \"Clear Label\"\n",
    [BIDS] = "index\tname\tcolor\n",
};

static void print_head(FILE *f, kind what)
{
    if (heads[what]) {
        fputs(heads[what], f);
        return;
    }
    for (int i = 0; i < SLICER_COLUMNS; i++) fprintf(f, "%s%s", i ? "," : "", slicer_columns[i]);
    for (int i = 0; i < GROUPS * PARTS; i++)
        fprintf(f, ",%s_%s", code_groups[i / PARTS], code_parts[i % PARTS]);
    fprintf(f, "\n");
}

static void print_row(FILE *f, kind what, const lob_label_name *n)
{
    const lob_rgba c = n->colour;
    switch (what) {
    case SLICER_TABLE:
    case FREESURFER:
        fprintf(f, "%d ", n->label);
        print_name(f, n->name, " \"", "_'");
        fprintf(f, " %d %d %d %d\n", c.red, c.green, c.blue, what == FREESURFER ? 0 : c.alpha);
        return;
    case ITK_SNAP:
        fprintf(f, "%5d %5d %4d %4d %8.3g  1  1    \"", n->label, c.red, c.green, c.blue,
                c.alpha / 255.0);
        print_name(f, n->name, "\"", "'");
        fprintf(f, "\"\n");
        return;
    case BIDS:
        fprintf(f, "%d\t%s\t#%02x%02x%02x\n", n->label, n->name, c.red, c.green, c.blue);
        return;
    case SLICER_CSV:
        fprintf(f, "%d,", n->label);
        print_quoted(f, n->name);
        fprintf(f, ",%d,%d,%d,%d", c.red, c.green, c.blue, c.alpha);
        print_codes(f, n->terminology);
        fprintf(f, "\n");
        return;
    case KINDS:
        return;
    }
}

lob_status lob_label_table_print(char **text, size_t *size, const lob_label_names *names,
                                 const char *name, lob_error *error)
{
    const kind what = kind_of_name(name);
    *text = NULL;
    *size = 0;
    if (what == KINDS)
        return lob_fail_file(error, LOB_EARG, name,
                             "label names are written as .ctbl, .csv, .label, .lut, .tsv or .txt");
    FILE *f = lob_memory_stream(text, size);
    if (!f) return lob_fail_file(error, LOB_ENOMEM, name, "no memory to write it");
    print_head(f, what);
    for (int32_t i = 0; i < names->count; i++) print_row(f, what, &names->rows[i]);
    if (lob_memory_stream_end(f, text, size)) return LOB_OK;
    return lob_fail_file(error, LOB_ENOMEM, name, "no memory to write it");
}

lob_status lob_label_table_write(const lob_label_names *names, const char *path, bool force,
                                 lob_error *error)
{
    lob_output_part text = {0};
    char *bytes;
    LOB_TRY(lob_label_table_print(&bytes, &text.size, names, path, error));
    text.bytes = bytes;
    const lob_status st = lob_output_whole(path, force, &text, 1, error);
    free(bytes);
    return st;
}
