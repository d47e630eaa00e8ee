/* Texts that grow, and cells of tables. */
#include "tools/text/text.h"

#include "io/file.h"
#include "volumes/lists.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lob_text_add(lob_text *text, const char *bytes, size_t n)
{
    if (text->failed) return;
    size_t room = 64; /* powers of 2, as what is there fills one */
    while (room < text->size + 1) room *= 2;
    size_t wanted = room;
    while (wanted < text->size + n + 1) wanted *= 2;
    if (!text->bytes || wanted > room) {
        char *const larger = realloc(text->bytes, wanted);
        text->failed = !larger;
        if (!larger) return;
        text->bytes = larger;
    }
    memcpy(text->bytes + text->size, bytes, n);
    text->size += n;
    text->bytes[text->size] = '\0';
}

void lob_text_print(lob_text *text, const char *format, ...)
{
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    const int n = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (n < 0) {
        text->failed = true;
        return;
    }
    lob_text_add(text, line, (size_t)n);
    free(line);
}

char *lob_printed(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    const int n = vasprintf(&text, format, arguments);
    va_end(arguments);
    return n < 0 ? NULL : text;
}

/* The characters that have an escape, and the letters of these. */
static const char plain[] = "\t\n\r\\;", letters[] = "tnr\\;";

void lob_text_add_cell(lob_text *text, const char *cell, bool in_list)
{
    for (; *cell; cell++) {
        const char *const at = strchr(plain, *cell);
        const bool escaped = at && (in_list || *cell != ';');
        const char pair[2] = {'\\', escaped ? letters[at - plain] : '\0'};
        lob_text_add(text, escaped ? pair : cell, escaped ? 2 : 1);
    }
}

char *lob_text_take(lob_text *text)
{
    lob_text_add(text, "", 0);
    char *const bytes = text->failed ? NULL : text->bytes;
    if (text->failed) free(text->bytes);
    *text = (lob_text){NULL};
    return bytes;
}

void lob_text_free(lob_text *text)
{
    free(text->bytes);
    *text = (lob_text){NULL};
}

lob_status lob_text_save(lob_text *text, const char *path, bool force, lob_error *error)
{
    const lob_output_part part = {text->bytes, text->size};
    const lob_status st = text->failed ? lob_fail_file(error, LOB_ENOMEM, path, "out of memory")
                                       : lob_output_whole(path, force, &part, 1, error);
    lob_text_free(text);
    return st;
}

void lob_cell_decode(char *cell)
{
    char *to = cell;
    for (; *cell; cell++) {
        const char *const at = *cell == '\\' && cell[1] ? strchr(letters, cell[1]) : NULL;
        if (at) cell++;
        *to++ = at ? plain[at - letters] : *cell;
    }
    *to = '\0';
}

char *lob_shell_word(const char *word)
{
    const bool quoted = word[0] == '\0' || word[strspn(word, LOB_SHELL_PLAIN)] != '\0';
    char *const text = malloc(4 * strlen(word) + 3), *to = text;
    if (!text) return NULL;
    if (quoted) *to++ = '\'';
    for (; *word; word++)
        if (*word == '\'')
            to = stpcpy(to, "'\\''");
        else
            *to++ = *word;
    if (quoted) *to++ = '\'';
    *to = '\0';
    return text;
}

/* ---- lists of arguments ---- */

void lob_arguments_add(lob_arguments *to, const char *format, ...)
{
    va_list values;
    char *word = NULL;
    if (to->failed) return;
    va_start(values, format);
    if (!lob_grow(&to->word, to->count, sizeof *to->word) ||
        !lob_grow(&to->word, to->count + 1, sizeof *to->word) ||
        vasprintf(&word, format, values) < 0)
        to->failed = true;
    va_end(values);
    if (to->failed) return;
    to->word[to->count++] = word;
    to->word[to->count] = NULL;
}

void lob_arguments_free(lob_arguments *arguments)
{
    for (int i = 0; i < arguments->count; i++) free(arguments->word[i]);
    free(arguments->word);
    *arguments = (lob_arguments){.word = NULL};
}
