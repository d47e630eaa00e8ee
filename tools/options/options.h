/*
 * The option table: one array of rows says all there is to know about a command's operands and
 * options. Its parser, its --help and the report are made from it, and so is whatever else
 * describes the command, so that no two of them can disagree.
 *
 *     double penalty = 0.0;
 *     const char *labels = NULL;
 *     const lob_option rows[] = {
 *         OPT_REAL("penalty", &penalty, "UNITS/MM", 0, INFINITY, "cost of each mm"),
 *         OPT_OUTPUT("output", &labels, LOB_FILE_LABELS, "label volume", .letter = 'o',
 *                    .required = true),
 *     };
 *
 * The variable holds the default before parsing and the value after it. A default outside the row's
 * own range (or NULL, or infinite) stands for "not given", and help then shows none.
 */
#ifndef LOB_OPTIONS_H
#define LOB_OPTIONS_H

#include "volumes/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum {
    LOB_OPT_FLAG,   /* bool: no value */
    LOB_OPT_INT,    /* int */
    LOB_OPT_REAL,   /* double */
    LOB_OPT_TEXT,   /* const char *: points into argv */
    LOB_OPT_INPUT,  /* const char *: a file to read */
    LOB_OPT_OUTPUT, /* const char *: a file to write */
    LOB_OPT_CHOICE, /* int: index of the word in choices */
    LOB_OPT_PAIR,   /* double[2]: "LO,HI", LO <= HI */
    LOB_OPT_TRIPLE, /* double[3]: "X,Y,Z" */
    LOB_OPT_LENGTH, /* lob_size: "8mm", "5um", "20vox"; mm without a unit */
    LOB_OPT_EXTENT, /* lob_size: "100vox", "50mm3", "5ml", "5cm3", "5um3"; voxels without a unit */
    LOB_OPT_BYTES,  /* int64_t: "512MiB", "4GiB", "1000000" */
    LOB_OPT_DEVICE, /* lob_device_choice: "auto", "cpu", "cuda", "cuda:1", "cuda:0,1", "cuda:all",
                       "all" */
    LOB_OPT_WORDS,  /* lob_words: all operands that are left; the last row of its table */
    LOB_OPT_INPUTS, /* lob_words: files to read, one each time the option is given */
    LOB_OPT_STEP    /* lob_steps: appended, in the order of the command line; the command reads the
                       value. Without a unit it takes none */
} lob_option_kind;

/* What an input or output file holds. Images and labels have a suffix that names their format; the
 * table "-" is standard output. A recipe may be named without its folder and suffix. */
typedef enum {
    LOB_FILE_OTHER,
    LOB_FILE_IMAGE,
    LOB_FILE_LABELS,
    LOB_FILE_TABLE,
    LOB_FILE_RECIPE
} lob_file_content;

static inline bool lob_content_is_volume(lob_file_content content)
{
    return content == LOB_FILE_IMAGE || content == LOB_FILE_LABELS;
}

/* A length in mm, or how much of space a region takes in mm3; both also in voxels. */
typedef struct {
    double value;
    bool voxels;
} lob_size;

/* All devices of a backend; and the most that can be named one by one. */
enum { LOB_ALL_DEVICES = -1, LOB_NAMED_DEVICES = 16 };

typedef struct {
    char backend[8]; /* "auto", "all", or a backend's name */
    int index;       /* which of its devices, from 0, or LOB_ALL_DEVICES */
    int count;       /* of devices told by their numbers, the first of which is index, */
    int number[LOB_NAMED_DEVICES]; /* and these; a number may stand there twice */
} lob_device_choice;

enum { LOB_WORDS = 64 };

/* Operands or files as they were typed; they point into argv. */
typedef struct {
    const char *word[LOB_WORDS];
    int count;
} lob_words;

enum { LOB_STEPS = 64 };

/* Steps as they were typed, in their order; they point into argv and the table. */
typedef struct {
    struct lob_step {
        const char *name; /* of the option: "median" */
        const char *text; /* its value; NULL where it takes none */
    } step[LOB_STEPS];
    int count;
} lob_steps;

typedef struct lob_step lob_step;

typedef struct {
    lob_option_kind kind;
    const char *name;    /* without dashes, words joined by '-'; an operand's is in capitals */
    void *target;        /* the variable; its type follows from kind */
    const char *unit;    /* what stands for the value in help: "N", "MM", "FILE" */
    const char *help;    /* one sentence without a full stop; the default is added to it */
    const char *choices; /* "this|that|other"; with LOB_OPT_INT the numbers allowed */
    double low, high;    /* range of numbers, both ends included */
    bool above_low;      /* low itself is not allowed */
    bool operand;        /* taken by position, in the table's order */
    bool required;
    char letter; /* 'o' for -o, 0 for none */
    lob_file_content content;
} lob_option;

/* A title for help and the rows under it; a parser takes several such tables. */
typedef struct {
    const char *title;
    const lob_option *rows;
    size_t count;
} lob_option_table;

/* What a row's variable must be: any other type has no branch here and does not compile. */
#define LOB_TARGET(pointer, type) _Generic((pointer), type : (pointer))

/* A row; the last arguments are further fields: .letter = 'o', .required = true. */
#define OPT_ROW(kind_, type_, name_, pointer, unit_, help_, ...)                           \
    {                                                                                      \
        .kind = kind_, .name = name_, .target = LOB_TARGET(pointer, type_), .unit = unit_, \
        .help = help_, __VA_ARGS__                                                         \
    }
#define OPT_FLAG(name, pointer, help, ...) \
    OPT_ROW(LOB_OPT_FLAG, bool *, name, pointer, NULL, help, __VA_ARGS__)
#define OPT_INT(name, pointer, unit, low_, high_, help, ...) \
    OPT_ROW(LOB_OPT_INT, int *, name, pointer, unit, help, .low = low_, .high = high_, __VA_ARGS__)
#define OPT_INT_OF(name, pointer, choices_, help, ...) \
    OPT_INT(name, pointer, choices_, 0, INT32_MAX, help, .choices = choices_, __VA_ARGS__)
#define OPT_REAL(name, pointer, unit, low_, high_, help, ...)                              \
    OPT_ROW(LOB_OPT_REAL, double *, name, pointer, unit, help, .low = low_, .high = high_, \
            __VA_ARGS__)
#define OPT_TEXT(name, pointer, unit, help, ...) \
    OPT_ROW(LOB_OPT_TEXT, const char **, name, pointer, unit, help, __VA_ARGS__)
#define OPT_INPUT(name, pointer, content_, help, ...)                                       \
    OPT_ROW(LOB_OPT_INPUT, const char **, name, pointer, "FILE", help, .content = content_, \
            __VA_ARGS__)
/* A file each time the option is given, all kept in their order. */
#define OPT_INPUTS(name, pointer, content_, help, ...)                                     \
    OPT_ROW(LOB_OPT_INPUTS, lob_words *, name, pointer, "FILE", help, .content = content_, \
            __VA_ARGS__)
#define OPT_OUTPUT(name, pointer, content_, help, ...)                                       \
    OPT_ROW(LOB_OPT_OUTPUT, const char **, name, pointer, "FILE", help, .content = content_, \
            __VA_ARGS__)
#define OPT_CHOICE(name, pointer, choices_, help, ...) \
    OPT_ROW(LOB_OPT_CHOICE, int *, name, pointer, choices_, help, .choices = choices_, __VA_ARGS__)
#define OPT_PAIR(name, pointer, low_, high_, help, ...)                                           \
    OPT_ROW(LOB_OPT_PAIR, double(*)[2], name, pointer, "LO,HI", help, .low = low_, .high = high_, \
            __VA_ARGS__)
#define OPT_TRIPLE(name, pointer, low_, high_, help, ...)                            \
    OPT_ROW(LOB_OPT_TRIPLE, double(*)[3], name, pointer, "X,Y,Z", help, .low = low_, \
            .high = high_, __VA_ARGS__)
#define OPT_LENGTH(name, pointer, low_, high_, help, ...)                                          \
    OPT_ROW(LOB_OPT_LENGTH, lob_size *, name, pointer, "LENGTH", help, .low = low_, .high = high_, \
            __VA_ARGS__)
#define OPT_EXTENT(name, pointer, low_, high_, help, ...)                                          \
    OPT_ROW(LOB_OPT_EXTENT, lob_size *, name, pointer, "EXTENT", help, .low = low_, .high = high_, \
            __VA_ARGS__)
#define OPT_BYTES(name, pointer, help, ...)                                                  \
    OPT_ROW(LOB_OPT_BYTES, int64_t *, name, pointer, "SIZE", help, .low = 1, .high = 0x1p62, \
            __VA_ARGS__)
#define OPT_DEVICE(name, pointer, help, ...)                                                  \
    OPT_ROW(LOB_OPT_DEVICE, lob_device_choice *, name, pointer, "auto|cpu|cuda|cuda:N", help, \
            __VA_ARGS__)
/* Rows of several names share one lob_steps. */
#define OPT_STEP(name, pointer, unit, help, ...) \
    OPT_ROW(LOB_OPT_STEP, lob_steps *, name, pointer, unit, help, __VA_ARGS__)

/* Operands, in the order they are typed; say .required = true where one cannot be left out. */
#define OPERAND_INPUT(name_, pointer, content_, help_, ...) \
    OPT_INPUT(name_, pointer, content_, help_, .operand = true, __VA_ARGS__)
#define OPERAND_OUTPUT(name_, pointer, content_, help_, ...) \
    OPT_OUTPUT(name_, pointer, content_, help_, .operand = true, __VA_ARGS__)
#define OPERAND_CHOICE(name_, pointer, choices_, help_, ...) \
    OPT_CHOICE(name_, pointer, choices_, help_, .operand = true, __VA_ARGS__)

#define OPERAND_WORDS(name, pointer, help, ...) \
    OPT_ROW(LOB_OPT_WORDS, lob_words *, name, pointer, NULL, help, .operand = true, __VA_ARGS__)

/*
 * Parse arguments into the rows' variables.
 *
 *   tables     in   operands and options; names are unique over all of them
 *   arguments  in   count of them, without the program's and the command's names
 *   values     in   of each: whoever gave it meant no option, whatever it begins with, but an
 *                   operand or the value of the option before it; NULL: none is so
 *
 * Long options are --name VALUE and --name=VALUE, short ones -o VALUE and -oVALUE, and letters of
 * flags may stand together (-qv); '-' and '_'
 * inside a name are the same; a name must be whole; of an option given twice the last counts, but
 * steps and OPT_INPUTS are all kept; after "--" everything is an operand. A value that is an
 * argument of its own may start with '-' (a negative number) but not with "--", which is taken for
 * a forgotten value.
 *
 * Returns LOB_OK or LOB_EARG (unknown option, with the nearest name; missing, malformed or
 * out-of-range value; missing or surplus operand).
 */
lob_status lob_parse(const lob_option_table *tables, size_t table_count, char *const *arguments,
                     const bool *values, int count, lob_error *error);

/* The row after this one, over all tables; NULL stands before the first and after the last. */
const lob_option *lob_option_next(const lob_option_table *tables, size_t count,
                                  const lob_option *row);

/* Parse one value into a row's variable, as lob_parse does: for steps, whose values a command takes
 * apart with rows of its own. */
lob_status lob_option_take(const lob_option *row, const char *text, lob_error *error);

/* The k-th file, from 0, that a row names; NULL where it names no more, or is of another kind. */
const char *lob_option_path(const lob_option *row, int k);

/* The row whose variable holds this very path, or NULL. */
const lob_option *lob_option_of_path(const lob_option_table *tables, size_t count,
                                     const char *path);

/* Does the row name files to read? */
bool lob_option_reads(const lob_option *row);

/* Is the option kept as often as it is given? */
bool lob_option_repeats(const lob_option *row);

/* Is the row's option followed by a value? */
bool lob_option_has_value(const lob_option *row);

/* Is this flag among the arguments (before any "--")? For --help, which must see the defaults. */
bool lob_asks_for(const lob_option_table *tables, size_t table_count, char *const *arguments,
                  const bool *values, int count, const char *name);

/* The row's present value as text, as it could be typed; empty when it stands for "not given". */
void lob_option_text(char *text, size_t size, const lob_option *row);

/* How far apart two words are: edits (insert, delete, replace, swap neighbours); '-' is '_'. */
int lob_word_distance(const char *a, const char *b);

/*
 * Labels as they are given, "2,4,7-9". Is this a list: labels or ranges of them, each >= 1, a
 * range's ends in order, between commas? Returns LOB_OK or LOB_EARG; the message names the option.
 */
lob_status lob_label_list_check(const char *list, const char *option, lob_error *error);

/* The first range of a list that has been checked; returns the rest, NULL after the last one. */
const char *lob_label_list_next(const char *list, int32_t *first, int32_t *last);

/* Is this label in a list that has been checked? */
bool lob_label_list_has(const char *list, int32_t label);

#endif
