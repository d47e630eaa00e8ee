/* A case of components as a source of planes, and as the place where their labels go. */
#ifndef LOB_COMPONENTS_TAPE_H
#define LOB_COMPONENTS_TAPE_H

#include "kernels/components/components_stream.h"
#include "tests/reference/components_case.h"

typedef struct {
    const components_case *c;
    lob_volume image, intensities; /* of a slab */
    uint8_t *labels;               /* of the whole volume, of a type */
    lob_type type;
    int64_t largest, read_next, written; /* planes */
    int64_t fail_at;                     /* this read fails; -1: none */
    int reads, change_at;                /* from this read on voxels are others; 0: never */
    bool change_to_some;                 /* every other one is foreground then, else none */
} components_tape;

components_tape components_tape_of(const components_case *c);

/*
 * Number the case slab by slab, by a backend's function.
 *
 * Afterwards the tape has the labels. Returns besides what lob_components_streamed does
 * LOB_EINTERNAL, when planes are asked for or written out of order.
 */
lob_status components_tape_run(lob_components_output *result, components_tape *t, int64_t planes,
                               lob_components_function *number, const lob_context *context,
                               lob_error *error);

void components_tape_free(components_tape *t);

#endif
