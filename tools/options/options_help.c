/* --help, printed from the option table. */
#include "tools/options/manual.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 26 };

/* Words of text, wrapped before WIDTH; each line but the first starts after indent spaces. */
static void print_wrapped(FILE *to, const char *text, int column, int indent)
{
    bool first = true;
    while (*text) {
        const int length = (int)strcspn(text, " \n");
        if (!first && column + 1 + length > WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        fprintf(to, "%s%.*s", first ? "" : " ", length, text);
        column += length + !first;
        first = false;
        text += length;
        if (*text == '\n') {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        if (*text) text++;
    }
    fputc('\n', to);
}

void lob_row_text(char *text, size_t size, const lob_option *row)
{
    char value[256];
    const char *bare = row->kind == LOB_OPT_LENGTH   ? "; a bare number is in mm"
                       : row->kind == LOB_OPT_EXTENT ? "; a bare number is in voxels"
                       : row->kind == LOB_OPT_STEP   ? " [step]"
                       : row->kind == LOB_OPT_INPUTS ? "; may be given again"
                                                     : "";
    lob_option_text(value, sizeof value, row);
    if (row->required && !row->operand)
        snprintf(text, size, "%s%s (required)", row->help, bare);
    else if (row->operand && !row->required)
        snprintf(text, size, "%s (may be left out)", row->help);
    else if (value[0] && row->kind != LOB_OPT_FLAG)
        snprintf(text, size, "%s%s (default: %s)", row->help, bare, value);
    else
        snprintf(text, size, "%s%s", row->help, bare);
}

void lob_row_identifier(char *name, size_t size, const lob_option *row)
{
    snprintf(name, size, "%s%s", row->operand ? "input_" : "", row->name);
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
}

bool lob_next_choice(char *word, size_t size, const char **choices)
{
    const size_t n = strcspn(*choices, "|");
    snprintf(word, size, "%.*s", (int)n, *choices);
    *choices += n + ((*choices)[n] == '|');
    return n > 0;
}

static void print_row(FILE *to, const lob_option *row)
{
    char left[160], text[1024];
    if (row->operand)
        snprintf(left, sizeof left, "  %s", row->name);
    else if (row->letter)
        snprintf(left, sizeof left, "  -%c, --%s", row->letter, row->name);
    else
        snprintf(left, sizeof left, "      --%s", row->name);
    const char *const value = row->operand ? row->choices : row->unit;
    const size_t n = strlen(left);
    if (value) snprintf(left + n, sizeof left - n, " %s", value);
    lob_row_text(text, sizeof text, row);
    fputs(left, to);
    if (strlen(left) + 2 > INDENT)
        fprintf(to, "\n%*s", INDENT, "");
    else
        fprintf(to, "%*s", (int)(INDENT - strlen(left)), "");
    print_wrapped(to, text, INDENT, INDENT);
}

static void print_rows(FILE *to, const char *title, const lob_option_table *table, bool operands)
{
    bool titled = false;
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].operand != operands) continue;
        if (!titled) fprintf(to, "\n%s:\n", title);
        titled = true;
        print_row(to, &table->rows[i]);
    }
}

void lob_put_usage(FILE *to, const lob_manual *m, bool roff)
{
    const char *const dash = roff ? "\\-" : "-", *const bold = roff ? "\\fB" : "";
    const char *const italic = roff ? "\\fI" : "", *const plain = roff ? "\\fR" : "";
    fprintf(to, "%slobule %s%s", bold, m->name, plain);
    for (int operands = 1; operands >= 0; operands--)
        for (const lob_option *row = NULL; (row = lob_option_next(m->tables, m->count, row));) {
            if (row->operand != operands || (!row->operand && !row->required)) continue;
            if (row->operand)
                fprintf(to, row->required ? " %s%s%s%s" : " [%s%s%s]%s", italic, row->name, plain,
                        row->kind == LOB_OPT_WORDS ? "..." : "");
            else if (row->letter)
                fprintf(to, " %s%s%c%s %s%s%s", bold, dash, row->letter, plain, italic, row->unit,
                        plain);
            else
                fprintf(to, " %s%s%s%s%s %s%s%s", bold, dash, dash, row->name, plain, italic,
                        row->unit, plain);
        }
    fprintf(to, " [%sOPTION%s...]\n", italic, plain);
}

int lob_next_exit_code(char *text, size_t size, lob_status *from, bool differs)
{
    int code = -1;
    size_t n = 0;
    for (; *from <= LOB_ECANCEL; ++*from) {
        if (*from == LOB_EDIFFER && !differs) continue;
        const int own = lob_status_exit_code(*from);
        if (code >= 0 && own != code) break;
        n += (size_t)snprintf(text + n, size - n, "%s%s", code >= 0 ? ", " : "",
                              lob_status_text(*from));
        code = own;
    }
    return code;
}

static void print_exit_codes(FILE *to, bool differs)
{
    char text[256];
    lob_status from = LOB_OK;
    int code;
    fputs("\nExit codes:\n", to);
    while ((code = lob_next_exit_code(text, sizeof text, &from, differs)) >= 0)
        fprintf(to, "  %3d  %s\n", code, text);
}

void lob_print_help(FILE *to, const lob_manual *m)
{
    fprintf(to, "lobule %s: %s\n\n", m->name, m->summary);
    fputs("Usage: ", to);
    lob_put_usage(to, m, false);
    if (m->description) {
        fputc('\n', to);
        print_wrapped(to, m->description, 0, 0);
    }
    for (size_t t = 0; t < m->count; t++) print_rows(to, "Operands", &m->tables[t], true);
    for (size_t t = 0; t < m->count; t++) print_rows(to, m->tables[t].title, &m->tables[t], false);
    if (m->examples) {
        fputs("\nExamples:\n  ", to);
        for (const char *c = m->examples; *c; c++) {
            fputc(*c, to);
            if (*c == '\n') fputs("  ", to);
        }
        fputc('\n', to);
    }
    print_exit_codes(to, m->differs);
}
