/*
 * A command described in every form that there is: --help, a man page, completion of bash, zsh and
 * fish. All of them are made from its option tables and the defaults that their variables hold.
 */
#ifndef LOB_MANUAL_H
#define LOB_MANUAL_H

#include "tools/options/options.h"

typedef struct {
    const char *name;        /* of the command, as "growcut" */
    const char *summary;     /* one line */
    const char *description; /* paragraphs separated by '\n'; NULL for none */
    const char *examples;    /* command lines separated by '\n'; NULL for none */
    const lob_option_table *tables;
    size_t count;
    bool differs;   /* list the exit code of volumes that differ */
    bool registers; /* a module that 3D Slicer's users look for under registration */
} lob_manual;

typedef void lob_manual_fn(FILE *to, const lob_manual *manual);

/* Usage, operands, options with their defaults, examples, exit codes, in 80 columns. */
lob_manual_fn lob_print_help;

/* The same as a page of section 1, in the man macros of roff. */
lob_manual_fn lob_print_man;

/* The same as a command line module of 3D Slicer: XML of its Execution Model. */
lob_manual_fn lob_print_xml;

/* The same as a descriptor of Boutiques: JSON of its schema 0.5. */
lob_manual_fn lob_print_boutiques;

/* The command's part of the program's completion, which completion.c begins and ends. */
lob_manual_fn lob_print_bash, lob_print_zsh, lob_print_fish;

/* Text up to its first semicolon as a shell takes it between single quotes: a backslash before each
 * character of special, quote for a single quote. */
void lob_put_quoted(FILE *to, const char *text, const char *special, const char *quote);

/* A row's help with what follows from the row itself: its default, whether it may be left out. */
void lob_row_text(char *text, size_t size, const lob_option *row);

/* A row's name as an identifier in small letters, its '-' as '_'; operands, which may be called
 * like options, begin with input_. */
void lob_row_identifier(char *name, size_t size, const lob_option *row);

/* The next of "a|b|c", which *choices leaves behind; false: there is none. */
bool lob_next_choice(char *word, size_t size, const char **choices);

/* "lobule growcut IMAGE SEEDS -o FILE [OPTION...]", a line; roff: in its fonts. */
void lob_put_usage(FILE *to, const lob_manual *manual, bool roff);

/* Text as roff shows it unchanged. */
void lob_put_roff(FILE *to, const char *text);

/* .TH, and the line of section NAME. title: "lobule-growcut" */
void lob_put_man_head(FILE *to, const char *title, const char *summary);

/* The section of exit codes. */
void lob_put_man_exit_codes(FILE *to, bool differs);

/* The next exit code and, joined by commas, what the statuses say that share it; -1 at the end.
 * from: the status to begin with, in and out, LOB_OK at first. */
int lob_next_exit_code(char *text, size_t size, lob_status *from, bool differs);

#endif
