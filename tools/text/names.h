/* Numbers by name. */
#ifndef LOB_NAMES_H
#define LOB_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* A hash table; an empty one is all zeros. */
typedef struct {
    struct lob_named {
        const char *name; /* of its user's, who keeps it; NULL: free */
        int64_t number;
    } * at;
    size_t count, room; /* room is 0 or a power of 2 */
} lob_names;

/* Where the number of a name is, so that it can be changed: the one that it had, or, where the name
 * is new, the one that is given. NULL without memory. */
int64_t *lob_names_add(lob_names *names, const char *name, int64_t number);

/* The number of a name; -1: it is not there. */
int64_t lob_names_find(const lob_names *names, const char *name);

void lob_names_free(lob_names *names);

#endif
