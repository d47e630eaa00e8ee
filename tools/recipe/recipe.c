/* The parser of recipes: a function of a buffer. */
#include "tools/recipe/recipe.h"

#include "volumes/free.h"
#include "volumes/lists.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_recipe *out;
    const char *bytes;
    const char *name, *named; /* as they begin a line's message, and one about all of it */
    size_t size, at;
    int line;   /* at which `at` is, from 1 */
    int begun;  /* the line at which the present command begins */
    char *word; /* where the next byte of words goes in out->text, */
    char *kept; /* and the next of names, defaults and the summary */
    lob_error *error;
    lob_status status;
} parser;

/* Around the name of a value, in a word: no other character of control but tabs stands there. */
#define HOLE "\1"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char letters_and_digits[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";

size_t lob_recipe_name_length(const char *text)
{
    return *text && strchr(letters, *text) ? strspn(text, letters_and_digits) : 0;
}

/* ---- arrays that grow ---- */

/* Room for one more element. */
static bool grow(parser *p, void *array, int count, size_t each)
{
    if (lob_grow(array, count, each)) return true;
    p->status = lob_fail(p->error, LOB_ENOMEM, "%s: out of memory", p->named);
    return false;
}

/* ---- characters ---- */

/* The character after the next n ones; '\0' at the end, where no NUL gets by. */
static char peek(const parser *p, size_t n)
{
    return p->at + n < p->size ? p->bytes[p->at + n] : '\0';
}

/* Bytes of the line's end at this place: 1, 2 for "\r\n", or 0. */
static size_t line_end(const parser *p, size_t n)
{
    if (peek(p, n) == '\n') return 1;
    return peek(p, n) == '\r' && peek(p, n + 1) == '\n' ? 2 : 0;
}

static void next_line(parser *p, size_t bytes)
{
    p->at += bytes;
    p->line++;
}

void lob_recipe_place(char *place, size_t size, const char *name, int line)
{
    place[0] = '\0';
    if (name) snprintf(place, size, "%s:%d: ", name, line);
}

/* The first thing that is wrong counts. */
static void __attribute__((format(printf, 3, 4)))
fail_at(parser *p, int line, const char *format, ...)
{
    char place[1024], text[1024];
    va_list arguments;
    if (p->status != LOB_OK) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lob_recipe_place(place, sizeof place, p->name, line);
    p->status = lob_fail(p->error, LOB_EDATA, "%s%s", place, text);
}

static void refuse(parser *p, const char *what, const char *advice)
{
    fail_at(p, p->line, "%s; %s", what, advice);
}

/* What no word can hold, wherever it stands. */
static bool is_control(char c)
{
    const unsigned char u = (unsigned char)c;
    return (u < ' ' && u != '\t') || u == 127;
}

/* ---- parts of words ---- */

/* A character that stands for itself. */
static void put(parser *p, char c)
{
    if (p->status != LOB_OK) return;
    if (is_control(c) || p->at >= p->size) {
        refuse(p, "a control character", "recipes are text in UTF-8");
        return;
    }
    *p->word++ = c;
    p->at++;
}

/* Copy n bytes from the present place; the text is in out->text. */
static const char *keep(parser *p, size_t n)
{
    char *const text = p->kept;
    memcpy(text, p->bytes + p->at, n);
    text[n] = '\0';
    p->kept += n + 1;
    p->at += n;
    return text;
}

/* The placeholder of this name, added if it is new; -1 without memory. */
static int value_of(parser *p, const char *name)
{
    lob_recipe *const r = p->out;
    const int there = lob_recipe_find_value(r, name, strlen(name));
    if (there >= 0) return there;
    if (!grow(p, &r->values, r->value_count, sizeof *r->values)) return -1;
    r->values[r->value_count] = (lob_recipe_value){.name = name, .line = p->line};
    return r->value_count++;
}

static size_t span(const parser *p, const char *accepted)
{
    size_t n = 0;
    while (peek(p, n) != '\0' && strchr(accepted, peek(p, n))) n++;
    return n;
}

/* What stands between '=' and '}'; NULL when the '}' is missing. */
static const char *take_initial(parser *p)
{
    size_t n = 0;
    while (p->at + n < p->size && peek(p, n) != '}' && peek(p, n) != '{' && !is_control(peek(p, n)))
        n++;
    return peek(p, n) == '}' ? keep(p, n) : NULL;
}

/* {name} or {name=text}; at is behind the brace. */
static void take_value(parser *p)
{
    static const char what[] = "'{' begins no {name} or {name=default}";
    static const char advice[] = "a brace that stands for itself is '{', in single quotes";
    const size_t n = span(p, letters_and_digits);
    if (n == 0 || !strchr(letters, peek(p, 0))) {
        refuse(p, what, advice);
        return;
    }
    const char *const name = keep(p, n), *initial = NULL;
    if (peek(p, 0) == '=') {
        p->at++;
        initial = take_initial(p);
    }
    if (peek(p, 0) != '}') {
        refuse(p, what, advice);
        return;
    }
    p->at++;
    const int value = value_of(p, name);
    if (value < 0) return;
    lob_recipe_value *const row = &p->out->values[value];
    if (initial && row->initial && strcmp(initial, row->initial) != 0) {
        fail_at(p, p->line, "{%s} has the default '%s' here, and '%s' before; give it one", name,
                initial, row->initial);
        return;
    }
    if (initial) row->initial = initial;
    p->word += sprintf(p->word, HOLE "%s" HOLE, name);
}

/* ---- words ---- */

/* Up to the same quote; in double ones a backslash, a value and a '$' mean something. */
static void take_quotes(parser *p)
{
    const char quote = peek(p, 0);
    const bool is_double = quote == '"';
    p->at++;
    while (p->status == LOB_OK && peek(p, 0) != quote && p->at < p->size && !line_end(p, 0)) {
        const char c = is_double ? peek(p, 0) : '\0';
        const size_t joined = c == '\\' ? line_end(p, 1) : 0;
        if (joined) {
            next_line(p, 1 + joined);
        } else if (c == '\\' && peek(p, 1) != '\0' && strchr("$`\"\\", peek(p, 1))) {
            p->at++;
            put(p, peek(p, 0));
        } else if (c == '{') {
            p->at++;
            take_value(p);
        } else if (c == '$' || c == '`') {
            refuse(p, "'$' or '`' in double quotes means something to a shell, and nothing here",
                   "put it in single quotes, or give a value as {name}");
        } else {
            put(p, peek(p, 0));
        }
    }
    if (p->status == LOB_OK && peek(p, 0) != quote)
        refuse(p, is_double ? "a double quote is not closed" : "a single quote is not closed",
               "close it in the line in which it begins");
    p->at++;
}

static void take_backslash(parser *p)
{
    p->at++;
    const size_t joined = line_end(p, 0);
    if (joined)
        next_line(p, joined);
    else if (p->at >= p->size)
        refuse(p, "it ends in a backslash", "the line that it joins is missing");
    else
        put(p, peek(p, 0));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A word, up to a blank or the line's end. */
static void take_word(parser *p)
{
    lob_recipe *const r = p->out;
    if (!grow(p, &r->words, r->word_count, sizeof *r->words)) return;
    r->words[r->word_count++] = p->word;
    r->lines[r->line_count - 1].count++;
    for (bool first = true; p->status == LOB_OK && p->at < p->size; first = false) {
        const char c = peek(p, 0);
        if (is_blank(c) || line_end(p, 0)) break;
        if (c == '\\')
            take_backslash(p);
        else if (c == '\'' || c == '"')
            take_quotes(p);
        else if (c == '{')
            p->at++, take_value(p);
        else if (c != '\0' && (strchr("|&;<>()$`*?[", c) || (c == '~' && first)))
            fail_at(p, p->line,
                    "'%c' means something to a shell, and nothing here; put it in single quotes if "
                    "it stands for itself",
                    c);
        else
            put(p, c);
    }
    *p->word++ = '\0';
}

/* ---- lines ---- */

/* The first comment is the summary, if no command has come before. */
static void take_comment(parser *p)
{
    size_t n = 0;
    while (peek(p, 0) == '#' || is_blank(peek(p, 0))) p->at++;
    while (p->at + n < p->size && !line_end(p, n)) n++;
    const size_t end = p->at + n;
    while (n > 0 && is_blank(peek(p, n - 1))) n--;
    for (size_t i = 0; i < n; i++)
        if (is_control(peek(p, i))) {
            refuse(p, "a control character", "recipes are text in UTF-8");
            return;
        }
    if (p->out->line_count == 0 && p->out->summary[0] == '\0') p->out->summary = keep(p, n);
    p->at = end;
}

/* The program's name may stand before a command, which must be there. */
static void end_command(parser *p)
{
    lob_recipe *const r = p->out;
    if (p->begun == 0 || p->status != LOB_OK) return;
    lob_recipe_line *const line = &r->lines[r->line_count - 1];
    p->begun = 0;
    for (int i = 0; i < 2 && line->count > 0; i++) {
        const char *const word = r->words[line->first];
        if (strstr(word, HOLE)) {
            fail_at(p, line->number, "begins with no command; a command's name is plain text");
            return;
        }
        if (i > 0 || strcmp(word, "lobule") != 0) return;
        line->first++;
        line->count--;
    }
    fail_at(p, line->number, "lobule without a command");
}

static void take_first(parser *p)
{
    lob_recipe *const r = p->out;
    if (p->begun > 0) return;
    if (!grow(p, &r->lines, r->line_count, sizeof *r->lines)) return;
    p->begun = p->line;
    r->lines[r->line_count++] = (lob_recipe_line){.number = p->line, .first = r->word_count};
}

static void take_all(parser *p)
{
    while (p->status == LOB_OK && p->at < p->size) {
        const size_t end = line_end(p, 0);
        const size_t joined = peek(p, 0) == '\\' ? line_end(p, 1) : 0;
        if (end) {
            end_command(p);
            next_line(p, end);
        } else if (joined) {
            next_line(p, 1 + joined);
        } else if (is_blank(peek(p, 0))) {
            p->at++;
        } else if (peek(p, 0) == '#') {
            take_comment(p);
        } else {
            take_first(p);
            if (p->status == LOB_OK) take_word(p);
        }
    }
    end_command(p);
}

lob_status lob_recipe_parse(lob_recipe *out, const char *bytes, size_t size, const char *name,
                            lob_error *error)
{
    const char *const named = name ? name : "what follows --";
    *out = (lob_recipe){.summary = ""};
    if (size > LOB_RECIPE_MAX_BYTES)
        return lob_fail(error, LOB_EDATA, "%s: is no recipe: it is larger than 1 MiB", named);
    /* A word takes a byte of the file at least, and a NUL; what is kept has braces or a '#'. */
    out->text = malloc(3 * size + 3);
    if (!out->text) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", named);
    parser p = {.out = out,
                .bytes = bytes,
                .name = name,
                .named = named,
                .size = size,
                .at = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0,
                .line = 1,
                .word = out->text,
                .kept = out->text + 2 * size + 2,
                .error = error};
    take_all(&p);
    if (p.status == LOB_OK && out->line_count == 0)
        p.status =
            lob_fail(error, LOB_EDATA, name ? "%s: has no command" : "%s has no command", named);
    if (p.status != LOB_OK) lob_recipe_free(out);
    return p.status;
}

void lob_recipe_free(lob_recipe *recipe)
{
    LOB_FREE(recipe->text, recipe->words, recipe->lines, recipe->values);
    *recipe = (lob_recipe){.summary = ""};
}

/* ---- filling in ---- */

int lob_recipe_find_value(const lob_recipe *recipe, const char *name, size_t length)
{
    int v = recipe->value_count - 1;
    while (v >= 0 && (strncmp(recipe->values[v].name, name, length) != 0 ||
                      recipe->values[v].name[length] != '\0'))
        v--;
    return v;
}

bool lob_recipe_begins_with_value(const lob_recipe *recipe, int line, int word)
{
    return recipe->words[recipe->lines[line].first + word][0] == HOLE[0];
}

/* Put values into a word. Returns the bytes that this takes; to NULL: it is not written. */
static size_t fill_word(char *to, const lob_recipe *recipe, const char *word,
                        const char *const *values)
{
    size_t size = 0;
    for (bool hole = false; *word; hole = !hole) {
        const size_t n = strcspn(word, HOLE);
        const char *const text = hole ? values[lob_recipe_find_value(recipe, word, n)] : word;
        const size_t length = hole ? strlen(text) : n;
        if (to) memcpy(to + size, text, length);
        size += length;
        word += n + (word[n] != '\0');
    }
    if (to) to[size] = '\0';
    return size + 1;
}

char **lob_recipe_fill(int *count, const lob_recipe *recipe, int line, const char *const *values)
{
    const lob_recipe_line *const l = &recipe->lines[line];
    const char *const *const from = recipe->words + l->first;
    size_t bytes = ((size_t)l->count + 1) * sizeof(char *);
    for (int w = 0; w < l->count; w++) bytes += fill_word(NULL, recipe, from[w], values);
    char **const words = malloc(bytes);
    if (!words) return NULL;
    char *to = (char *)(words + l->count + 1);
    for (int w = 0; w < l->count; w++) {
        words[w] = to;
        to += fill_word(to, recipe, from[w], values);
    }
    words[l->count] = NULL;
    *count = l->count;
    return words;
}
