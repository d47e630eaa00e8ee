/* The types a voxel can have, as one table. */
#ifndef LOB_VOXEL_TYPE_H
#define LOB_VOXEL_TYPE_H

#include "volumes/both.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

LOB_BEGIN_DECLS

/* type, C type, name, is integer, smallest value, largest value (as double) */
#define LOB_TYPE_LIST(X)                                     \
    X(LOB_U8, uint8_t, "uint8", true, 0, UINT8_MAX)          \
    X(LOB_I8, int8_t, "int8", true, INT8_MIN, INT8_MAX)      \
    X(LOB_U16, uint16_t, "uint16", true, 0, UINT16_MAX)      \
    X(LOB_I16, int16_t, "int16", true, INT16_MIN, INT16_MAX) \
    X(LOB_U32, uint32_t, "uint32", true, 0, UINT32_MAX)      \
    X(LOB_I32, int32_t, "int32", true, INT32_MIN, INT32_MAX) \
    X(LOB_U64, uint64_t, "uint64", true, 0, UINT64_MAX)      \
    X(LOB_I64, int64_t, "int64", true, INT64_MIN, INT64_MAX) \
    X(LOB_F32, float, "float32", false, -FLT_MAX, FLT_MAX)   \
    X(LOB_F64, double, "float64", false, -DBL_MAX, DBL_MAX)

/* Switch over a type, to the case that X makes of its row. */
#define LOB_TYPE_SWITCH(type, X) \
    switch (type) {              \
        LOB_TYPE_LIST(X)         \
    case LOB_TYPES:              \
        break;                   \
    }

typedef enum {
#define LOB_TYPE_ENUM(type, ctype, name, integer, lowest, highest) type,
    LOB_TYPE_LIST(LOB_TYPE_ENUM)
#undef LOB_TYPE_ENUM
        LOB_TYPES
} lob_type;

typedef struct {
    const char *name; /* as numpy and BIDS call it: "uint8" */
    size_t bytes;
    bool is_integer;
    double lowest, highest;
} lob_type_info;

/* Are all bytes 0, as in rows without labels? */
static inline bool lob_all_zero(const void *data, size_t bytes)
{
    const unsigned char *const byte = (const unsigned char *)data;
    return bytes == 0 || (byte[0] == 0 && memcmp(byte, byte + 1, bytes - 1) == 0);
}

/* The table's row for a type in [0, LOB_TYPES). */
const lob_type_info *lob_type_of(lob_type type);

/* The type of this name ("int16"), or LOB_TYPES when there is none. */
lob_type lob_type_named(const char *name);

/*
 * Convert n voxels of any type to double.
 *
 *   values  out  n
 *   data    in   at least first + n voxels of the given type
 *
 * 64-bit integers beyond 2^53 are rounded to the nearest double.
 */
void lob_values(double *values, const void *data, lob_type type, int64_t first, int64_t n);

LOB_END_DECLS

#endif
