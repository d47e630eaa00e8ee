/* A command's part of the shells' completion, printed from the option table. */
#include "tools/options/manual.h"

#include <string.h>

/* What may stand for a row's value, in a shell's eyes: "a|b|c", or NULL. */
static const char *words_of(const lob_option *row)
{
    return row->kind == LOB_OPT_DEVICE ? "auto|cpu|cuda" : row->choices;
}

static bool is_recipe(const lob_option *row)
{
    return row->content == LOB_FILE_RECIPE;
}

static bool is_file(const lob_option *row)
{
    return lob_option_reads(row) || row->kind == LOB_OPT_OUTPUT || is_recipe(row);
}

static void put_words(FILE *to, const char *words)
{
    for (; *words; words++) fputc(*words == '|' ? ' ' : *words, to);
}

void lob_put_quoted(FILE *to, const char *text, const char *special, const char *quote)
{
    for (; *text && *text != ';'; text++) {
        if (*text == '\'') {
            fputs(quote, to);
            continue;
        }
        if (strchr(special, *text)) fputc('\\', to);
        fputc(*text, to);
    }
}

/* "-o | --output", a pattern of case */
static void put_pattern(FILE *to, const lob_option *row)
{
    fputs("        ", to);
    if (row->letter) fprintf(to, "-%c | ", row->letter);
    fprintf(to, "--%s) ", row->name);
}

void lob_print_bash(FILE *to, const lob_manual *m)
{
    fprintf(to, "    %s)\n        options='", m->name);
    for (const lob_option *row = NULL; (row = lob_option_next(m->tables, m->count, row));)
        if (!row->operand) fprintf(to, "--%s ", row->name);
    fputs("'\n        case $option in\n", to);
    for (const lob_option *row = NULL; (row = lob_option_next(m->tables, m->count, row));) {
        if (row->operand || !lob_option_has_value(row)) continue;
        put_pattern(to, row);
        if (words_of(row)) {
            fputs("words='", to);
            put_words(to, words_of(row));
            fputs("' ;;\n", to);
        } else {
            if (is_recipe(row)) fputs("words=$(_lobule_recipes) ", to);
            fputs(is_file(row) ? "files=yes ;;\n" : ";;\n", to);
        }
    }
    fputs("        *)\n            option=\n", to);
    for (const lob_option *row = NULL; (row = lob_option_next(m->tables, m->count, row));) {
        if (!row->operand) continue;
        if (is_recipe(row)) fputs("            words+=$(_lobule_recipes)\n", to);
        if (is_file(row)) {
            fputs("            files=yes\n", to);
        } else if (words_of(row)) {
            fputs("            words+=' ", to);
            put_words(to, words_of(row));
            fputs("'\n", to);
        }
    }
    fputs("            ;;\n        esac\n        ;;\n", to);
}

static void put_zsh_value(FILE *to, const lob_option *row)
{
    if (words_of(row)) {
        fprintf(to, ":%s:(", row->name);
        put_words(to, words_of(row));
        fputc(')', to);
    } else {
        fprintf(to, ":%s:%s", row->operand ? row->name : row->unit,
                is_recipe(row) ? "_lobule_recipes"
                : is_file(row) ? "_files"
                               : " ");
    }
}

void lob_print_zsh(FILE *to, const lob_manual *m)
{
    int operand = 0;
    fprintf(to, "        %s)\n            _arguments -s -S", m->name);
    for (const lob_option *row = NULL; (row = lob_option_next(m->tables, m->count, row));) {
        const bool flag = !lob_option_has_value(row);
        const char *const again = lob_option_repeats(row) ? "*" : "";
        fputs(" \\\n                ", to);
        if (row->kind == LOB_OPT_WORDS) {
            fputs("'*", to);
        } else if (row->operand) {
            fprintf(to, "'%d%s", ++operand, row->required ? "" : ":");
        } else if (row->letter) {
            fprintf(to, "'(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name, row->letter,
                    flag ? "" : "+", row->name, flag ? "" : "=");
        } else {
            fprintf(to, "'%s--%s%s[", again, row->name, flag ? "" : "=");
        }
        if (!row->operand) {
            lob_put_quoted(to, row->help, "[]\\", "'\\''");
            fputc(']', to);
        }
        if (!flag) put_zsh_value(to, row);
        fputc('\'', to);
    }
    fputs("\n            ;;\n", to);
}

void lob_print_fish(FILE *to, const lob_manual *m)
{
    for (const lob_option *row = NULL; (row = lob_option_next(m->tables, m->count, row));) {
        if (row->operand && !words_of(row) && !is_recipe(row)) continue;
        fprintf(to, "complete -c lobule -n '__fish_seen_subcommand_from %s'", m->name);
        if (row->letter) fprintf(to, " -s %c", row->letter);
        if (!row->operand) fprintf(to, " -l %s", row->name);
        if (words_of(row)) {
            fputs(row->operand ? " -f -a '" : " -x -a '", to);
            put_words(to, words_of(row));
            fputc('\'', to);
        } else if (is_recipe(row)) {
            fputs(row->operand ? " -F" : " -r -F", to);
            fputs(" -a '(__lobule_recipes)'", to);
        } else if (lob_option_has_value(row)) {
            fputs(is_file(row) ? " -r -F" : " -x", to);
        }
        fputs(" -d '", to);
        lob_put_quoted(to, row->help, "\\", "\\'");
        fputs("'\n", to);
    }
}
