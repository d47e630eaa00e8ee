/* The table of voxel types and the conversion of any of them to double. */
#include "volumes/voxel_type.h"

#include <assert.h>
#include <float.h>
#include <string.h>

static const lob_type_info rows[LOB_TYPES] = {
#define LOB_TYPE_ROW(type, ctype, name, integer, lowest, highest) \
    [type] = {name, sizeof(ctype), integer, (double)(lowest), (double)(highest)},
    LOB_TYPE_LIST(LOB_TYPE_ROW)
#undef LOB_TYPE_ROW
};

const lob_type_info *lob_type_of(lob_type type)
{
    assert((unsigned)type < LOB_TYPES);
    return &rows[type];
}

lob_type lob_type_named(const char *name)
{
    int type = 0;
    while (type < LOB_TYPES && strcmp(rows[type].name, name) != 0) type++;
    return (lob_type)type;
}

void lob_values(double *values, const void *data, lob_type type, int64_t first, int64_t n)
{
    switch (type) {
#define LOB_TYPE_CASE(type, ctype, name, integer, lowest, highest) \
    case type: {                                                   \
        const ctype *in = (const ctype *)data + first;             \
        for (int64_t i = 0; i < n; i++) values[i] = (double)in[i]; \
        break;                                                     \
    }
        LOB_TYPE_LIST(LOB_TYPE_CASE)
#undef LOB_TYPE_CASE
    case LOB_TYPES:
        assert(!"not a voxel type");
    }
}
