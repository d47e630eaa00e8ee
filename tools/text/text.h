/* Texts that grow, and the cells of tables in them. */
#ifndef LOB_TEXT_H
#define LOB_TEXT_H

#include "volumes/status.h"

#include <stdbool.h>
#include <stddef.h>

/* A text that grows; an empty one is all zeros. */
typedef struct {
    char *bytes; /* with a NUL behind; NULL while it is empty */
    size_t size;
    bool failed; /* there was no memory; what is added after that is dropped */
} lob_text;

void lob_text_add(lob_text *text, const char *bytes, size_t n);
void lob_text_print(lob_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add a cell's text with \t, \n, \r and \\ for these characters; in a list \; for ';'. */
void lob_text_add_cell(lob_text *text, const char *cell, bool in_list);

/* The text, which the caller frees, or NULL without memory; text is empty afterwards. */
char *lob_text_take(lob_text *text);

void lob_text_free(lob_text *text);

/* What printf would print, for free(); NULL without memory. */
char *lob_printed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write the text into a file, as outputs are made, and free it. Returns LOB_OK, LOB_EEXIST,
 * LOB_ECREATE, LOB_EIO or LOB_ENOMEM. */
lob_status lob_text_save(lob_text *text, const char *path, bool force, lob_error *error);

/* Put characters in the places of \t, \n, \r, \\ and \;. */
void lob_cell_decode(char *cell);

/* What stands for itself in a shell. */
#define LOB_SHELL_PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%"

/*
 * A word as a shell takes it: itself or, where a shell would see more in it, in single quotes.
 * Returns a text for free(), or NULL without memory.
 */
char *lob_shell_word(const char *word);

/* The arguments of a command that is called inside another; empty ones are all zeros. */
typedef struct {
    char **word; /* count, then NULL; malloc'ed */
    int count;
    bool failed; /* there was no memory for one */
} lob_arguments;

void lob_arguments_add(lob_arguments *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lob_arguments_free(lob_arguments *arguments);

#endif
