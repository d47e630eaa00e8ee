/* Names and colours of labels. */
#include "volumes/label_names.h"

#include "volumes/lists.h"
#include "volumes/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * Four of Okabe and Ito ("Color universal design", 2008) and what lies farthest from them and from
 * grey, to eyes that lack the red or the green cones too: the first eight differ to all eyes.
 */
static const unsigned char palette[][3] = {
    {230, 159, 0  },
    {86,  180, 233},
    {0,   158, 115},
    {240, 228, 66 },
    {45,  75,  255},
    {213, 94,  0  },
    {120, 255, 255},
    {195, 0,   60 },
    {204, 121, 167},
    {120, 210, 165},
    {0,   114, 178},
    {165, 60,  120},
    {165, 255, 180},
    {75,  135, 255},
};

enum { COLOURS = sizeof palette / sizeof palette[0] };

/* Beyond the palette, its colours are repeated lighter, then darker. */
lob_rgba lob_label_default_colour(int32_t label)
{
    static const struct {
        double share, target;
    } towards[] = {
        {0.0,  0  },
        {0.35, 255},
        {0.35, 0  }
    };
    const int32_t index = label - 1;
    const unsigned char *hue = palette[index % COLOURS];
    unsigned char mixed[3];
    for (int c = 0; c < 3; c++)
        mixed[c] = (unsigned char)(hue[c] +
                                   (towards[index / COLOURS % 3].target - hue[c]) *
                                       towards[index / COLOURS % 3].share +
                                   0.5);
    return (lob_rgba){mixed[0], mixed[1], mixed[2], 255};
}

/* Where a label's row is, or would be. */
static int32_t place_of(const lob_label_names *names, int32_t label)
{
    if (names->count == 0) return 0;
    return (int32_t)lob_count_below(&names->rows->label, names->count, sizeof *names->rows, label);
}

const lob_label_name *lob_label_names_find(const lob_label_names *names, int32_t label)
{
    const int32_t at = place_of(names, label);
    return at < names->count && names->rows[at].label == label ? &names->rows[at] : NULL;
}

static void free_row(lob_label_name *row)
{
    free(row->name);
    free(row->terminology);
}

/* Fill in a row. Returns LOB_OK, or LOB_EARG or LOB_ENOMEM with nothing to free. */
static lob_status make_row(lob_label_name *row, int32_t label, const char *name,
                           const lob_rgba *colour, const char *terminology)
{
    char numbered[32];
    const bool coded = terminology && *terminology;
    if (label < 1) return LOB_EARG;
    snprintf(numbered, sizeof numbered, "Segment_%d", label);
    *row = (lob_label_name){.label = label,
                            .name = lob_utf8_clean(name && *name ? name : numbered),
                            .colour = colour ? *colour : lob_label_default_colour(label),
                            .terminology = coded ? lob_utf8_clean(terminology) : NULL};
    if (row->name && (row->terminology || !coded)) return LOB_OK;
    free_row(row);
    return LOB_ENOMEM;
}

/* Room for one row more. */
static lob_status reserve_row(lob_label_names *names)
{
    if (names->count == LOB_LABEL_NAMES_MAX) return LOB_EARG;
    return lob_grow(&names->rows, names->count, sizeof *names->rows) ? LOB_OK : LOB_ENOMEM;
}

lob_status lob_label_names_put(lob_label_names *names, int32_t label, const char *name,
                               const lob_rgba *colour, const char *terminology)
{
    lob_label_name row;
    LOB_TRY(make_row(&row, label, name, colour, terminology));
    const int32_t at = place_of(names, label);
    if (at < names->count && names->rows[at].label == label) {
        free_row(&names->rows[at]);
        names->rows[at] = row;
        return LOB_OK;
    }
    lob_status st = reserve_row(names);
    if (st != LOB_OK) {
        free_row(&row);
        return st;
    }
    memmove(names->rows + at + 1, names->rows + at,
            (size_t)(names->count - at) * sizeof *names->rows);
    names->rows[at] = row;
    names->count++;
    return LOB_OK;
}

lob_status lob_label_names_add(lob_label_names *names, int32_t label, const char *name,
                               const lob_rgba *colour, const char *terminology)
{
    lob_label_name row;
    LOB_TRY(make_row(&row, label, name, colour, terminology));
    lob_status st = reserve_row(names);
    if (st == LOB_OK)
        names->rows[names->count++] = row;
    else
        free_row(&row);
    return st;
}

/* Of rows of one label, that which was added first comes first. */
static int by_label(const void *a, const void *b)
{
    const lob_label_name *const x = *(lob_label_name *const *)a;
    const lob_label_name *const y = *(lob_label_name *const *)b;
    if (x->label != y->label) return x->label < y->label ? -1 : 1;
    return (x > y) - (x < y);
}

lob_status lob_label_names_settle(lob_label_names *names)
{
    const int32_t n = names->count;
    bool ordered = true;
    for (int32_t i = 1; i < n; i++)
        ordered = ordered && names->rows[i - 1].label < names->rows[i].label;
    if (ordered) return LOB_OK;
    /* as much room as reserve_row has made, since these rows take the place of its */
    size_t room = 1;
    while (room < (size_t)n) room *= 2;
    lob_label_name *const rows = malloc(room * sizeof *rows);
    lob_label_name **const order = malloc((size_t)n * sizeof(lob_label_name *));
    if (!rows || !order) {
        free(rows);
        free(order);
        return LOB_ENOMEM;
    }
    for (int32_t i = 0; i < n; i++) order[i] = &names->rows[i];
    qsort(order, (size_t)n, sizeof(lob_label_name *), by_label);
    int32_t kept = 0;
    for (int32_t i = 0; i < n; i++) {
        if (i + 1 < n && order[i + 1]->label == order[i]->label)
            free_row(order[i]);
        else
            rows[kept++] = *order[i];
    }
    free(order);
    free(names->rows);
    *names = (lob_label_names){rows, kept};
    return LOB_OK;
}

lob_status lob_label_names_complete(lob_label_names *names, const lob_label_names *from)
{
    const int32_t known = names->count;
    for (int32_t i = 0; i < from->count; i++) {
        const lob_label_name *const row = &from->rows[i];
        const lob_label_names before = {names->rows, known}; /* in order, while rows are added */
        if (lob_label_names_find(&before, row->label)) continue;
        LOB_TRY(lob_label_names_add(names, row->label, row->name, &row->colour, row->terminology));
    }
    return lob_label_names_settle(names);
}

/* Is it n/a, or the name that 3D Slicer, and make_row, give what nobody has named, as Segment_7? */
static bool is_no_name(const char *name)
{
    static const char first[] = "Segment_";
    if (strcasecmp(name, "n/a") == 0) return true;
    if (strncmp(name, first, sizeof first - 1) != 0) return false;
    const char *const number = name + sizeof first - 1;
    return *number && !number[strspn(number, "0123456789")];
}

/* Does a row's name tell its label from the others of the list? */
static bool tells(const lob_label_names *names, const lob_label_name *row)
{
    if (is_no_name(row->name)) return false;
    for (int32_t i = 0; i < names->count; i++)
        if (names->rows[i].label != row->label && strcasecmp(names->rows[i].name, row->name) == 0)
            return false;
    return true;
}

/* The row that gives this name alone to another label; NULL: none. */
static const lob_label_name *find_other(const lob_label_names *known, const lob_label_name *row,
                                        const lob_label_names *names)
{
    const lob_label_name *const own = lob_label_names_find(known, row->label);
    if (own && strcasecmp(own->name, row->name) == 0) return NULL;
    for (int32_t i = 0; i < known->count; i++) {
        const lob_label_name *const k = &known->rows[i];
        if (strcasecmp(k->name, row->name) == 0)
            return tells(known, k) && tells(names, row) ? k : NULL;
    }
    return NULL;
}

lob_status lob_label_names_join(lob_label_names *names, const lob_label_names *from,
                                lob_error *error)
{
    if (from->count > LOB_LABEL_NAMES_PAINTED) return LOB_OK;
    for (int32_t i = 0; i < from->count; i++) {
        const lob_label_name *const row = &from->rows[i];
        const lob_label_name *const other = find_other(names, row, from);
        if (other)
            return lob_fail_hint(error, LOB_EDATA, LOB_HINT_RELABEL,
                                 "calls label %d '%s', which is label %d in those before it",
                                 row->label, row->name, other->label);
    }
    lob_status st = LOB_OK;
    for (int32_t i = 0; i < from->count && st == LOB_OK; i++) {
        const lob_label_name *const row = &from->rows[i];
        const lob_label_name *const known = lob_label_names_find(names, row->label);
        if (known && is_no_name(known->name))
            st = lob_label_names_put(names, row->label, row->name, &row->colour, row->terminology);
    }
    if (st == LOB_OK) st = lob_label_names_complete(names, from);
    if (st == LOB_EARG)
        return lob_fail(error, LOB_EDATA, "has names that make more than %d with those before it",
                        LOB_LABEL_NAMES_MAX);
    return st == LOB_OK ? LOB_OK : lob_fail(error, LOB_ENOMEM, "out of memory");
}

lob_status lob_label_names_copy(lob_label_names *out, const lob_label_names *names)
{
    *out = (lob_label_names){0};
    for (int32_t i = 0; i < names->count; i++) {
        const lob_label_name *row = &names->rows[i];
        const lob_status st =
            lob_label_names_put(out, row->label, row->name, &row->colour, row->terminology);
        if (st != LOB_OK) {
            lob_label_names_free(out);
            return st;
        }
    }
    return LOB_OK;
}

void lob_label_names_free(lob_label_names *names)
{
    for (int32_t i = 0; i < names->count; i++) free_row(&names->rows[i]);
    free(names->rows);
    *names = (lob_label_names){0};
}
