/* A hash table from names to numbers. */
#include "tools/text/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Where a name is, or goes; there is room. */
static struct lob_named *place_of(const lob_names *names, const char *name)
{
    uint64_t h = 14695981039346656037U; /* FNV-1a */
    for (const char *c = name; *c; c++) h = (h ^ (unsigned char)*c) * 1099511628211U;
    size_t slot = (size_t)(h ^ h >> 29) & (names->room - 1);
    while (names->at[slot].name && strcmp(names->at[slot].name, name) != 0)
        slot = (slot + 1) & (names->room - 1);
    return &names->at[slot];
}

static bool make_room(lob_names *names)
{
    if (2 * (names->count + 1) <= names->room) return true;
    lob_names larger = {.count = names->count, .room = names->room ? 2 * names->room : 64};
    larger.at = calloc(larger.room, sizeof *larger.at);
    if (!larger.at) return false;
    for (size_t i = 0; i < names->room; i++)
        if (names->at[i].name) *place_of(&larger, names->at[i].name) = names->at[i];
    free(names->at);
    *names = larger;
    return true;
}

int64_t *lob_names_add(lob_names *names, const char *name, int64_t number)
{
    if (!make_room(names)) return NULL;
    struct lob_named *const at = place_of(names, name);
    if (!at->name) {
        *at = (struct lob_named){name, number};
        names->count++;
    }
    return &at->number;
}

int64_t lob_names_find(const lob_names *names, const char *name)
{
    const struct lob_named *const at = names->room ? place_of(names, name) : NULL;
    return at && at->name ? at->number : -1;
}

void lob_names_free(lob_names *names)
{
    free(names->at);
    *names = (lob_names){NULL};
}
