/*
 * --xml: a command as a module of 3D Slicer and of others that read its Execution Model, printed
 * from the option table. Only what every reader takes is written: CTK's schema, 3D Slicer, nipype.
 *
 * Slicer gives every number and choice on every call, texts and files only when they are not
 * empty. So what may be "not given" is a text here, whatever it is on the command line.
 */
#include "io/xml.h"
#include "tools/options/manual.h"
#include "volumes/version.h"

#include <ctype.h>
#include <string.h>

static const char images[] = ".nii.gz,.nii,.nrrd,.mha", tables[] = ".tsv,.csv,.json";

static void put_element(FILE *to, int indent, const char *name, const char *text)
{
    fprintf(to, "%*s<%s>", indent, "", name);
    lob_xml_print(to, text);
    fprintf(to, "</%s>\n", name);
}

/* What 3D Slicer shows beside a field, as its own modules have it: "Input volume", "Min size". */
static void label_of(char *label, size_t size, const lob_option *row)
{
    static const char *const outputs[] = {[LOB_FILE_OTHER] = "Output file",
                                          [LOB_FILE_IMAGE] = "Output volume",
                                          [LOB_FILE_LABELS] = "Output labels",
                                          [LOB_FILE_TABLE] = "Output table",
                                          [LOB_FILE_RECIPE] = "Output file"};
    if (strcmp(row->name, "output") == 0 || strcmp(row->name, "OUT") == 0) {
        snprintf(label, size, "%s", outputs[row->content]);
        return;
    }
    const bool image = strcmp(row->name, "IMAGE") == 0 || strcmp(row->name, "IN") == 0;
    snprintf(label, size, "%s%s", row->operand ? "Input " : "", image ? "volume" : row->name);
    for (char *c = label; *c; c++) *c = *c == '-' ? ' ' : (char)tolower((unsigned char)*c);
    label[0] = (char)toupper((unsigned char)label[0]);
}

/* A tip of a line: what the help says before its first semicolon. Fields show defaults. */
static void tip_of(char *tip, size_t size, const lob_option *row, const char *element)
{
    const size_t n = strcspn(row->help, ";");
    if (row->choices && strcmp(element, "string") == 0)
        snprintf(tip, size, "%.*s: one of %s, or empty", (int)n, row->help, row->choices);
    else
        snprintf(tip, size, "%.*s", (int)n, row->help);
}

/* ---- what a row is ---- */

static bool is_output(const lob_option *row)
{
    return row->kind == LOB_OPT_OUTPUT;
}

/* The element for a row whose variable holds this text, "" for not given. */
static const char *element_of(const lob_option *row, const char *value)
{
    switch (row->kind) {
    case LOB_OPT_FLAG:
        return "boolean";
    case LOB_OPT_STEP:
        return row->unit ? "string" : "boolean";
    case LOB_OPT_INT:
        return !value[0] ? "string" : row->choices ? "integer-enumeration" : "integer";
    case LOB_OPT_REAL:
        return value[0] ? "double" : "string";
    case LOB_OPT_CHOICE:
        return value[0] ? "string-enumeration" : "string";
    case LOB_OPT_INPUT:
    case LOB_OPT_INPUTS:
    case LOB_OPT_OUTPUT:
        return lob_content_is_volume(row->content) ? "image" : "file";
    default:
        return "string";
    }
}

static void put_opening(FILE *to, const lob_option *row, const char *element)
{
    fprintf(to, "    <%s", element);
    if (strcmp(element, "image") == 0)
        fprintf(to, " type=\"%s\" fileExtensions=\"%s\"",
                row->content == LOB_FILE_LABELS ? "label" : "scalar", images);
    if (strcmp(element, "file") == 0 && row->content == LOB_FILE_TABLE)
        fprintf(to, " fileExtensions=\"%s\"", tables);
    if (row->kind == LOB_OPT_INPUTS) fputs(" multiple=\"true\"", to);
    fputs(">\n", to);
}

static void put_constraints(FILE *to, const lob_option *row)
{
    const bool whole = row->kind == LOB_OPT_INT;
    const double most = whole ? 2147483647.0 : 1e15;
    fputs("      <constraints>\n", to);
    if (row->low > -most) fprintf(to, "        <minimum>%.15g</minimum>\n", row->low);
    if (row->high < most) fprintf(to, "        <maximum>%.15g</maximum>\n", row->high);
    fprintf(to, "        <step>%s</step>\n      </constraints>\n", whole ? "1" : "0.01");
}

static void put_row(FILE *to, const lob_option *row, int index)
{
    char name[64], label[80], number[16], tip[1024], value[256];
    lob_option_text(value, sizeof value, row);
    const char *const element = element_of(row, value);
    const bool file = lob_option_reads(row) || is_output(row);
    lob_row_identifier(name, sizeof name, row);
    snprintf(number, sizeof number, "%d", index);
    label_of(label, sizeof label, row);
    tip_of(tip, sizeof tip, row, element);
    put_opening(to, row, element);
    put_element(to, 6, "name", name);
    put_element(to, 6, row->operand ? "index" : "longflag", row->operand ? number : name);
    put_element(to, 6, "description", tip);
    put_element(to, 6, "label", label);
    if (strcmp(element, "boolean") == 0)
        put_element(to, 6, "default", "false");
    else if (value[0] && !file)
        put_element(to, 6, "default", value);
    if (file) put_element(to, 6, "channel", is_output(row) ? "output" : "input");
    const char *choices = strstr(element, "enumeration") ? row->choices : "";
    while (lob_next_choice(name, sizeof name, &choices)) put_element(to, 6, "element", name);
    if (strcmp(element, "integer") == 0 || strcmp(element, "double") == 0) put_constraints(to, row);
    fprintf(to, "    </%s>\n", element);
}

/* ---- groups ---- */

typedef enum { FILES, OPTIONS, COMMON } group;

/* The group that shows a row; -1: it is of no use to a program. */
static int group_of(const lob_option *row, size_t table)
{
    static const char *const common[] = {"device", "threads", "max-memory"};
    if (row->kind == LOB_OPT_FLAG && *(const bool *)row->target) return -1;
    if (table > 0) {
        for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
            if (strcmp(row->name, common[i]) == 0) return COMMON;
        return -1;
    }
    return row->operand || row->required ? FILES : OPTIONS;
}

static void put_group(FILE *to, const lob_manual *m, group wanted, const char *label,
                      const char *description)
{
    bool opened = false;
    int index = 0;
    for (size_t t = 0; t < m->count; t++)
        for (size_t i = 0; i < m->tables[t].count; i++) {
            const lob_option *row = &m->tables[t].rows[i];
            const int at = row->operand ? index++ : 0;
            if (group_of(row, t) != (int)wanted) continue;
            if (!opened) {
                fprintf(to, "  <parameters%s>\n", wanted == COMMON ? " advanced=\"true\"" : "");
                put_element(to, 4, "label", label);
                put_element(to, 4, "description", description);
            }
            opened = true;
            put_row(to, row, at);
        }
    if (opened) fputs("  </parameters>\n", to);
}

void lob_print_xml(FILE *to, const lob_manual *m)
{
    char title[64];
    snprintf(title, sizeof title, "Lobule %s", m->name);
    fputs("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<executable>\n", to);
    put_element(to, 2, "category", m->registers ? "Registration.Lobule" : "Segmentation.Lobule");
    put_element(to, 2, "title", title);
    put_element(to, 2, "description", m->description ? m->description : m->summary);
    put_element(to, 2, "version", LOB_VERSION);
    put_element(to, 2, "license", "BSD-3-Clause");
    put_element(to, 2, "contributor", "Lobule's authors");
    put_group(to, m, FILES, "Files", "What is read and what is written");
    put_group(to, m, OPTIONS, "Options", "What is left empty is left out");
    put_group(to, m, COMMON, "Machine", "Where it runs; results do not depend on it");
    fputs("</executable>\n", to);
}
