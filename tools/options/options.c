/* The parser of option tables. */
#include "tools/options/options.h"

#include <string.h>

typedef struct {
    const lob_option_table *tables;
    size_t count;
    char *const *arguments;
    const bool *values; /* which of them are no options; NULL: none is so */
    int argument_count;
    lob_error *error;
} parser;

/* May the i-th argument be an option? */
static bool is_option(const parser *p, int i)
{
    return p->arguments[i][0] == '-' && p->arguments[i][1] != '\0' && !(p->values && p->values[i]);
}

static bool same_character(char a, char b)
{
    return (a == '_' ? '-' : a) == (b == '_' ? '-' : b);
}

/* Is name (its first length characters) the row's name? */
static bool is_named(const lob_option *row, const char *name, size_t length)
{
    if (row->operand || strlen(row->name) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (!same_character(row->name[i], name[i])) return false;
    return true;
}

const lob_option *lob_option_next(const lob_option_table *tables, size_t count,
                                  const lob_option *row)
{
    bool found = !row;
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            if (found) return &tables[t].rows[i];
            found = &tables[t].rows[i] == row;
        }
    return NULL;
}

static const lob_option *find(const parser *p, const char *name, size_t length, char letter)
{
    for (const lob_option *row = NULL; (row = lob_option_next(p->tables, p->count, row));) {
        if (letter ? row->letter == letter : is_named(row, name, length)) return row;
    }
    return NULL;
}

/* The operand that comes after the first taken ones, or NULL. */
static const lob_option *find_operand(const parser *p, size_t taken)
{
    for (const lob_option *row = NULL; (row = lob_option_next(p->tables, p->count, row));)
        if (row->operand && (taken-- == 0 || row->kind == LOB_OPT_WORDS)) return row;
    return NULL;
}

int lob_word_distance(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    const size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST || n > LONGEST) return LONGEST;

    int d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= m; i++) d[i][0] = (int)i;
    for (size_t j = 0; j <= n; j++) d[0][j] = (int)j;
    for (size_t i = 1; i <= m; i++)
        for (size_t j = 1; j <= n; j++) {
            int best = d[i - 1][j - 1] + !same_character(a[i - 1], b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[m][n];
}

/* The closest of the tables' names to a misspelt one, or NULL when none is close. */
static const char *nearest_option(const lob_option_table *tables, size_t count, const char *name)
{
    const char *nearest = NULL;
    int min = strlen(name) > 5 ? 3 : 2; /* one more than the edits that are forgiven */
    for (const lob_option *row = NULL; (row = lob_option_next(tables, count, row));) {
        const size_t length = strlen(name);
        if (row->operand) continue;
        int distance = lob_word_distance(row->name, name);
        /* The beginning of a name is as good a guess as a slip of one key. */
        if (length >= 3 && strncmp(row->name, name, length) == 0) distance = 1;
        if (distance < min) {
            min = distance;
            nearest = row->name;
        }
    }
    return nearest;
}

const char *lob_option_path(const lob_option *row, int k)
{
    const lob_words *const files = row->target;
    if (row->kind == LOB_OPT_INPUTS) return k < files->count ? files->word[k] : NULL;
    const bool one = row->kind == LOB_OPT_INPUT || row->kind == LOB_OPT_OUTPUT;
    return one && k == 0 ? *(const char *const *)row->target : NULL;
}

const lob_option *lob_option_of_path(const lob_option_table *tables, size_t count, const char *path)
{
    const char *named;
    for (const lob_option *row = NULL; (row = lob_option_next(tables, count, row));)
        for (int k = 0; (named = lob_option_path(row, k)); k++)
            if (named == path) return row;
    return NULL;
}

bool lob_option_reads(const lob_option *row)
{
    return row->kind == LOB_OPT_INPUT || row->kind == LOB_OPT_INPUTS;
}

bool lob_option_repeats(const lob_option *row)
{
    return row->kind == LOB_OPT_INPUTS || row->kind == LOB_OPT_STEP;
}

bool lob_option_has_value(const lob_option *row)
{
    return row->kind != LOB_OPT_FLAG && (row->kind != LOB_OPT_STEP || row->unit);
}

static lob_status unknown(const parser *p, const char *argument, const char *name, size_t length)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), name);
    const char *nearest = nearest_option(p->tables, p->count, word);
    const int shown = (int)(name - argument + (ptrdiff_t)length);
    if (strcmp(word, "o") == 0 || strcmp(word, "output") == 0)
        for (const lob_option *row = NULL; (row = lob_option_next(p->tables, p->count, row));)
            if (row->operand && row->kind == LOB_OPT_OUTPUT)
                return lob_fail(p->error, LOB_EARG, "unknown option %.*s; %s stands by itself",
                                shown, argument, row->name);
    if (nearest)
        return lob_fail(p->error, LOB_EARG, "unknown option %.*s; did you mean --%s?", shown,
                        argument, nearest);
    return lob_fail(p->error, LOB_EARG, "unknown option %.*s; --help lists the options", shown,
                    argument);
}

/* An option's value: what is joined to it, or (NULL) the argument after *at, which moves there. */
static lob_status take_value(const parser *p, const lob_option *row, const char *joined, int *at)
{
    if (joined) return lob_option_take(row, joined, p->error);
    const int next = *at + 1;
    if (next == p->argument_count ||
        (strncmp(p->arguments[next], "--", 2) == 0 && !(p->values && p->values[next])))
        return lob_fail(p->error, LOB_EARG, "--%s needs a value: --%s %s", row->name, row->name,
                        row->unit);
    *at = next;
    return lob_option_take(row, p->arguments[next], p->error);
}

/* --name, --name=VALUE, or --name and the next argument. */
static lob_status take_long(const parser *p, int *at)
{
    const char *const argument = p->arguments[*at], *const name = argument + 2;
    const size_t length = strcspn(name, "=");
    const lob_option *row = find(p, name, length, '\0');
    if (!row) return unknown(p, argument, name, length);
    const char *joined = name[length] ? name + length + 1 : NULL;
    if (lob_option_has_value(row)) return take_value(p, row, joined, at);
    if (joined) return lob_fail(p->error, LOB_EARG, "--%s takes no value", row->name);
    return lob_option_take(row, NULL, p->error);
}

/* -q, -qv, -oVALUE, -qoVALUE: flags, then perhaps an option that takes the rest as its value. */
static lob_status take_letters(const parser *p, int *at)
{
    const char *const argument = p->arguments[*at];
    for (const char *c = argument + 1; *c; c++) {
        const lob_option *row = find(p, c, 1, *c);
        if (!row) return unknown(p, argument, c, 1);
        if (lob_option_has_value(row)) return take_value(p, row, c[1] ? c + 1 : NULL, at);
        const lob_status st = lob_option_take(row, NULL, p->error);
        if (st != LOB_OK) return st;
    }
    return LOB_OK;
}

static bool is_given(const lob_option *row)
{
    char text[2];
    lob_option_text(text, sizeof text, row);
    return text[0] != '\0';
}

static lob_status check_required(const parser *p, size_t operands_taken)
{
    size_t operand = 0;
    for (const lob_option *row = NULL; (row = lob_option_next(p->tables, p->count, row));) {
        if (row->operand && operand++ < operands_taken) continue;
        if (!row->required || (!row->operand && is_given(row))) continue;
        if (row->operand)
            return lob_fail(p->error, LOB_EARG, "%s is missing; --help shows the usage", row->name);
        return lob_fail(p->error, LOB_EARG, "--%s %s is missing; --help shows the usage", row->name,
                        row->unit);
    }
    return LOB_OK;
}

lob_status lob_parse(const lob_option_table *tables, size_t table_count, char *const *arguments,
                     const bool *values, int count, lob_error *error)
{
    const parser p = {tables, table_count, arguments, values, count, error};
    size_t operands = 0;
    bool only_operands = false;
    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];
        lob_status st;
        if (!only_operands && is_option(&p, i)) {
            if (strcmp(argument, "--") == 0) {
                only_operands = true;
                continue;
            }
            st = argument[1] == '-' ? take_long(&p, &i) : take_letters(&p, &i);
        } else {
            const lob_option *row = find_operand(&p, operands++);
            const lob_option *const output = row ? NULL : find(&p, NULL, 0, 'o');
            if (!row)
                return lob_fail(error, LOB_EARG, "'%s' is one operand too many; %s", argument,
                                output && !is_given(output) ? "an output's name comes behind -o"
                                                            : "--help shows the usage");
            st = lob_option_take(row, argument, error);
        }
        if (st != LOB_OK) return st;
    }
    return check_required(&p, operands);
}

bool lob_asks_for(const lob_option_table *tables, size_t table_count, char *const *arguments,
                  const bool *values, int count, const char *name)
{
    const parser p = {tables, table_count, arguments, values, count, NULL};
    for (int i = 0; i < count; i++) {
        const char *a = arguments[i];
        if (!is_option(&p, i)) continue;
        if (strcmp(a, "--") == 0) break;
        if (a[1] == '-') {
            const size_t length = strcspn(a + 2, "=");
            const lob_option *const row = find(&p, a + 2, length, '\0');
            const bool sound = row && (!a[2 + length] || lob_option_has_value(row));
            if (strcmp(sound ? row->name : a + 2, name) == 0) return true;
            continue;
        }
        for (a++; *a; a++) {
            const lob_option *row = find(&p, a, 1, *a);
            if (!row || row->kind != LOB_OPT_FLAG) break;
            if (strcmp(row->name, name) == 0) return true;
        }
    }
    return false;
}
