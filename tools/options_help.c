/* --help, printed from the option table. */
#include "tools/options.h"

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

static void print_row(FILE *to, const lob_option *row)
{
    char left[160], value[256], text[1024];
    if (row->operand)
        snprintf(left, sizeof left, "  %s", row->name);
    else if (row->letter)
        snprintf(left, sizeof left, "  -%c, --%s", row->letter, row->name);
    else
        snprintf(left, sizeof left, "      --%s", row->name);
    if (row->unit && !row->operand) {
        const size_t n = strlen(left);
        snprintf(left + n, sizeof left - n, " %s", row->unit);
    }
    if (row->operand && row->choices) {
        const size_t n = strlen(left);
        snprintf(left + n, sizeof left - n, " %s", row->choices);
    }

    const char *bare = row->kind == LOB_OPT_LENGTH   ? "; a bare number is in mm"
                       : row->kind == LOB_OPT_EXTENT ? "; a bare number is in voxels"
                                                     : "";
    lob_option_text(value, sizeof value, row);
    if (row->required && !row->operand)
        snprintf(text, sizeof text, "%s%s (required)", row->help, bare);
    else if (row->operand && !row->required)
        snprintf(text, sizeof text, "%s (may be left out)", row->help);
    else if (value[0] && row->kind != LOB_OPT_FLAG)
        snprintf(text, sizeof text, "%s%s (default: %s)", row->help, bare, value);
    else
        snprintf(text, sizeof text, "%s%s", row->help, bare);

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

static void print_usage(FILE *to, const char *program, const lob_option_table *tables, size_t count)
{
    fprintf(to, "Usage: %s", program);
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const lob_option *row = &tables[t].rows[i];
            if (row->operand) fprintf(to, row->required ? " %s" : " [%s]", row->name);
        }
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const lob_option *row = &tables[t].rows[i];
            if (row->operand || !row->required) continue;
            if (row->letter)
                fprintf(to, " -%c %s", row->letter, row->unit);
            else
                fprintf(to, " --%s %s", row->name, row->unit);
        }
    fputs(" [OPTION...]\n", to);
}

static void print_exit_codes(FILE *to, bool differs)
{
    fputs("\nExit codes:\n", to);
    int last = -1;
    for (lob_status st = LOB_OK; st <= LOB_ECANCEL; st++) {
        const int code = lob_status_exit_code(st);
        if (st == LOB_EDIFFER && !differs) continue;
        if (code == last)
            fprintf(to, ", %s", lob_status_text(st));
        else
            fprintf(to, "%s  %3d  %s", last < 0 ? "" : "\n", code, lob_status_text(st));
        last = code;
    }
    fputc('\n', to);
}

void lob_print_help(FILE *to, const char *program, const char *summary, const char *description,
                    const char *examples, const lob_option_table *tables, size_t count,
                    bool differs)
{
    fprintf(to, "%s: %s\n\n", program, summary);
    print_usage(to, program, tables, count);
    if (description) {
        fputc('\n', to);
        print_wrapped(to, description, 0, 0);
    }
    for (size_t t = 0; t < count; t++) print_rows(to, "Operands", &tables[t], true);
    for (size_t t = 0; t < count; t++) print_rows(to, tables[t].title, &tables[t], false);
    if (examples) {
        fputs("\nExamples:\n  ", to);
        for (const char *c = examples; *c; c++) {
            fputc(*c, to);
            if (*c == '\n') fputs("  ", to);
        }
        fputc('\n', to);
    }
    print_exit_codes(to, differs);
}
