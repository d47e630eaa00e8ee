/*
 * Recipes: text files with one command of lobule a line, as it is typed in a shell.
 *
 *     # Smooth, grow, keep the largest piece.
 *     growcut {image} {seeds} -o @grown --max-mm {reach=30}
 *     components @grown -o {out} --equal --largest 1 \
 *         --label-of input
 *
 * A line is split into words at blanks, as a POSIX shell does it: single and double quotes, a
 * backslash before a character, a backslash at a line's end, which joins it with the next, and
 * comments from a '#' at a word's beginning. What else means something to a shell outside quotes
 * (| & ; < > ( ) $ ` * ? [ and ~ at a word's beginning) is refused: there is no shell here. A first
 * word `lobule` may be left out.
 *
 * {name} stands for a value that the caller gives, {name=text} for one that may be left out. It is
 * replaced where a shell would replace a variable: not in single quotes, nor after a backslash. A
 * value is never split into words, and a word that begins with one is no option, whatever it is.
 */
#ifndef LOB_RECIPE_H
#define LOB_RECIPE_H

#include "tools/text/text.h"
#include "volumes/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { LOB_RECIPE_MAX_BYTES = 1 << 20 };

typedef struct {
    int number;       /* in the file, from 1 */
    int first, count; /* of the words; the first is the command */
} lob_recipe_line;

/* A placeholder. */
typedef struct {
    const char *name;
    const char *initial; /* what follows '='; NULL: it must be given */
    int line;            /* where it comes first */
} lob_recipe_value;

typedef struct {
    char *text;          /* all that the others point to */
    const char *summary; /* the first comment that comes before the first command; or "" */
    const char **words;  /* names of values between bytes of 1 */
    lob_recipe_line *lines;
    lob_recipe_value *values;
    int word_count, line_count, value_count;
} lob_recipe;

/*
 * Parse a recipe.
 *
 *   out    out  overwritten, so it must hold nothing; empty on failure; else free with
 *               lob_recipe_free
 *   bytes  in   size of them, no NUL needed at the end; any bytes at all; the mark of their order,
 *               which editors put first, is left out
 *   name   in   of the file, for messages: "NAME:LINE: ..."; NULL: it is what was typed behind "--"
 *
 * Returns LOB_OK, LOB_EDATA (not a recipe, or without a command) or LOB_ENOMEM.
 */
lob_status lob_recipe_parse(lob_recipe *out, const char *bytes, size_t size, const char *name,
                            lob_error *error);

void lob_recipe_free(lob_recipe *recipe);

/* How long the name of a placeholder is that a text begins with: letters, digits, '_' and '-', no
 * digit or '-' first; 0: it begins with none. */
size_t lob_recipe_name_length(const char *text);

/* The index of the placeholder of a name of so many bytes; -1: there is none. */
int lob_recipe_find_value(const lob_recipe *recipe, const char *name, size_t length);

/* Does a word of a line, from 0, begin with a value? */
bool lob_recipe_begins_with_value(const lob_recipe *recipe, int line, int word);

/* "NAME:LINE: ", with which messages begin; empty where name is NULL. */
void lob_recipe_place(char *place, size_t size, const char *name, int line);

/*
 * The words of a line with values in their places.
 *
 *   values  in   recipe->value_count texts
 *   count   out  the number of words; the first is the command
 *
 * Returns an array of words and a NULL, in one block for free(); or NULL without memory.
 */
char **lob_recipe_fill(int *count, const lob_recipe *recipe, int line, const char *const *values);

/* ---- where recipes are: recipe_book.c ---- */

/*
 * Find a recipe: the file of this name if there is one, else NAME.recipe in the first folder that
 * has it. Folders are those of LOBULE_RECIPES, separated by colons, then lobule/recipes in
 * XDG_DATA_HOME (~/.local/share if it is not set), then the one that was installed with the
 * program.
 *
 *   path  out  malloc'ed; NULL on failure
 *
 * Returns LOB_OK, LOB_ENOINPUT or LOB_ENOMEM.
 */
lob_status lob_recipe_find(char **path, const char *name, lob_error *error);

/* The first of these folders that there is, malloc'ed; NULL where there is none. */
char *lob_recipe_folder(void);

/* Read a recipe and parse it. Returns what lob_recipe_parse does, LOB_ENOINPUT or LOB_EIO. */
lob_status lob_recipe_read(lob_recipe *out, const char *path, lob_error *error);

/* Print the recipes of all folders, each with its values and what it does; of several with one name
 * the first, which is the one that is found. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_recipe_list(FILE *to, lob_error *error);

#endif
