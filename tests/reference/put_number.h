/* A stored number of a volume of any voxel type: put there, and read. */
#ifndef LOB_TESTS_PUT_NUMBER_H
#define LOB_TESTS_PUT_NUMBER_H

#include "volumes/volume.h"

/* Store value, which the volume's type must hold, as its i-th voxel. */
static inline void put_number(lob_volume *v, int64_t i, double value)
{
    switch (v->type) {
#define PUT(type, ctype, name, integer, lowest, highest) \
    case type:                                           \
        ((ctype *)v->data)[i] = (ctype)value;            \
        break;
        LOB_TYPE_LIST(PUT)
#undef PUT
    case LOB_TYPES:
        break;
    }
}

/* The i-th stored number, as the nearest double. */
static inline double number_at(const lob_volume *v, int64_t i)
{
    double value;
    lob_values(&value, v->data, v->type, i, 1);
    return value;
}

#endif
