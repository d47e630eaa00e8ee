/* A case of components that is read a slab of planes at a time, and the labels that are written. */
#ifndef LOB_COMPONENTS_SLABS_H
#define LOB_COMPONENTS_SLABS_H

#include "kernels/components/components_stream.h"
#include "tests/reference/components_case.h"

typedef struct {
    const components_case *c;
    lob_volume image, intensities; /* of a slab */
    uint8_t *labels;               /* of the whole volume */
    lob_type type;
    int64_t largest, read_next, written; /* planes */
    lob_team *team;                      /* NULL: none */
    int64_t first;                       /* plane of this rank */
    int64_t fail_at;                     /* this read fails; -1: none */
    int reads, change_at;                /* from this read on voxels are others; 0: never */
    bool change_to_some;                 /* every other one is foreground then, else none */
} components_slabs;

components_slabs components_slabs_of(const components_case *c);

/*
 * Number the case slab by slab, by a backend's function.
 *
 * Afterwards slabs->labels is the result. Returns what lob_components_streamed does, or
 * LOB_EINTERNAL when planes are read or written out of order.
 */
lob_status components_slabs_run(lob_components_output *result, components_slabs *slabs,
                                int64_t planes, lob_components_function *number,
                                const lob_context *context, lob_error *error);

void components_slabs_free(components_slabs *slabs);

#endif
