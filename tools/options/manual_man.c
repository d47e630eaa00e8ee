/* Man pages, printed from the option table. */
#include "tools/options/manual.h"
#include "volumes/version.h"

#include <ctype.h>
#include <string.h>

void lob_put_roff(FILE *to, const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", to);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", to);
        else if (*text == '-')
            fputs("\\-", to);
        else
            fputc(*text, to);
    }
}

void lob_put_man_head(FILE *to, const char *title, const char *summary)
{
    fputs(".TH ", to);
    for (const char *c = title; *c; c++) fputc(toupper((unsigned char)*c), to);
    fputs(" 1 \"\" \"Lobule " LOB_VERSION "\" Lobule\n.SH NAME\n", to);
    lob_put_roff(to, title);
    fputs(" \\- ", to);
    lob_put_roff(to, summary);
    fputc('\n', to);
}

void lob_put_man_exit_codes(FILE *to, bool differs)
{
    char text[256];
    lob_status from = LOB_OK;
    int code;
    fputs(".SH EXIT STATUS\n", to);
    while ((code = lob_next_exit_code(text, sizeof text, &from, differs)) >= 0)
        fprintf(to, ".TP\n.B %d\n%s\n", code, text);
}

/* "-o, --output FILE", or an operand, as the line that .TP hangs its text on */
static void put_tag(FILE *to, const lob_option *row)
{
    const char *value = row->operand ? row->choices : row->unit;
    fputs(".TP\n", to);
    if (row->letter) fprintf(to, "\\fB\\-%c\\fR, ", row->letter);
    fputs(row->operand ? "\\fI" : "\\fB\\-\\-", to);
    lob_put_roff(to, row->name);
    fputs("\\fR", to);
    if (value) {
        fputs(" \\fI", to);
        lob_put_roff(to, value);
        fputs("\\fR", to);
    }
    fputc('\n', to);
}

static void put_rows(FILE *to, const char *title, const lob_option_table *table, bool operands)
{
    bool titled = false;
    for (size_t i = 0; i < table->count; i++) {
        char text[1024];
        const lob_option *row = &table->rows[i];
        if (row->operand != operands) continue;
        if (!titled) {
            fputs(".SH ", to);
            for (const char *c = title; *c; c++) fputc(toupper((unsigned char)*c), to);
            fputc('\n', to);
        }
        titled = true;
        put_tag(to, row);
        lob_row_text(text, sizeof text, row);
        lob_put_roff(to, text);
        fputc('\n', to);
    }
}

/* Paragraphs or lines separated by '\n', with a request between them. */
static void put_lines(FILE *to, const char *text, const char *between)
{
    char line[2048];
    while (*text) {
        const size_t n = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        lob_put_roff(to, line);
        fputc('\n', to);
        text += n;
        if (*text == '\n') {
            fputs(between, to);
            text++;
        }
    }
}

void lob_print_man(FILE *to, const lob_manual *m)
{
    char title[64];
    snprintf(title, sizeof title, "lobule-%s", m->name);
    lob_put_man_head(to, title, m->summary);
    fputs(".SH SYNOPSIS\n", to);
    lob_put_usage(to, m, true);
    if (m->description) {
        fputs(".SH DESCRIPTION\n", to);
        put_lines(to, m->description, ".PP\n");
    }
    for (size_t t = 0; t < m->count; t++) put_rows(to, "Operands", &m->tables[t], true);
    for (size_t t = 0; t < m->count; t++) put_rows(to, m->tables[t].title, &m->tables[t], false);
    if (m->examples) {
        fputs(".SH EXAMPLES\n.EX\n", to);
        put_lines(to, m->examples, "");
        fputs(".EE\n", to);
    }
    lob_put_man_exit_codes(to, m->differs);
    fputs(".SH SEE ALSO\n.BR lobule (1)\n", to);
}
