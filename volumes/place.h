/* Where an array is: in ordinary memory or in a GPU's. */
#ifndef LOB_PLACE_H
#define LOB_PLACE_H

#include "volumes/both.h"

#include <stdbool.h>
#include <stdint.h>

LOB_BEGIN_DECLS

enum {
    LOB_PLACE_MEMORY, /* ordinary memory */
    LOB_PLACE_CUDA    /* memory of an NVIDIA GPU */
};

/* All zero is ordinary memory. */
typedef struct {
    int32_t kind;
    int32_t number; /* of the GPU among this machine's, as lob_device_number; else 0 */
} lob_place;

static inline bool lob_place_same(lob_place a, lob_place b)
{
    return a.kind == b.kind && a.number == b.number;
}

LOB_END_DECLS

#endif
