/* What labels are called and how they are shown: a name, a colour and a code for each. */
#ifndef LOB_LABEL_NAMES_H
#define LOB_LABEL_NAMES_H

#include "volumes/both.h"
#include "volumes/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LOB_BEGIN_DECLS

typedef struct {
    uint8_t red, green, blue, alpha; /* alpha 255 covers */
} lob_rgba;

typedef struct {
    int32_t label; /* >= 1 */
    char *name;    /* UTF-8 without control characters, not empty; malloc'ed */
    lob_rgba colour;
    char *terminology; /* 3D Slicer's: seven parts joined by '~', a code being
                          scheme^value^meaning; malloc'ed, NULL: none */
} lob_label_name;

/* Rows in ascending order of labels, one a label; all zero: none. */
typedef struct {
    lob_label_name *rows; /* count, malloc'ed */
    int32_t count;
} lob_label_names;

/* The most names that one list holds. */
enum { LOB_LABEL_NAMES_MAX = 1 << 20 };

/* Longer lists are a program's, not a painter's. */
enum { LOB_LABEL_NAMES_PAINTED = 4096 };

/*
 * Name a label; one that has a name already gets this one.
 *
 *   name         in  control characters become blanks, bytes that are no UTF-8 are taken for
 *                    Latin-1; NULL or empty: "Segment_<label>"
 *   colour       in  NULL: lob_label_default_colour
 *   terminology  in  NULL or empty: none
 *
 * Returns LOB_OK, LOB_EARG (label < 1, or too many) or LOB_ENOMEM with names unchanged.
 */
lob_status lob_label_names_put(lob_label_names *names, int32_t label, const char *name,
                               const lob_rgba *colour, const char *terminology);

/*
 * lob_label_names_put for many labels in any order: the row goes to the end, and the list may be
 * used for nothing else until lob_label_names_settle or lob_label_names_free.
 */
lob_status lob_label_names_add(lob_label_names *names, int32_t label, const char *name,
                               const lob_rgba *colour, const char *terminology);

/* Put rows that were added in order; of several of one label the last stays. Returns LOB_OK or
 * LOB_ENOMEM, with the rows as they were. */
lob_status lob_label_names_settle(lob_label_names *names);

/* Take the rows of labels that have none yet. Returns LOB_OK, LOB_EARG (too many) or LOB_ENOMEM,
 * with names to be freed and not used. */
lob_status lob_label_names_complete(lob_label_names *names, const lob_label_names *from);

/*
 * Complete the names of labels that are to be voted on together, unless a name that one of `from`
 * has is another label's here, in letters of either case. Names that several labels of a list
 * share, n/a and Segment_7, as programs name what nobody has named, tell nothing, nor do lists of
 * more than LOB_LABEL_NAMES_PAINTED.
 *
 * Returns LOB_OK, LOB_EDATA (also for more than LOB_LABEL_NAMES_MAX) or LOB_ENOMEM.
 */
lob_status lob_label_names_join(lob_label_names *names, const lob_label_names *from,
                                lob_error *error);

/* The row of a label, or NULL. */
const lob_label_name *lob_label_names_find(const lob_label_names *names, int32_t label);

/* Copy a list. out is overwritten; empty on failure. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_label_names_copy(lob_label_names *out, const lob_label_names *names);

/* Free the rows and leave none. */
void lob_label_names_free(lob_label_names *names);

/* A colour for each label, far from those of the labels next to it; label >= 1. */
lob_rgba lob_label_default_colour(int32_t label);

LOB_END_DECLS

#endif
