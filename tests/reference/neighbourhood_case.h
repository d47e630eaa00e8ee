/* Random images and steps for median and box; the same number makes the same case. */
#ifndef LOB_NEIGHBOURHOOD_CASE_H
#define LOB_NEIGHBOURHOOD_CASE_H

#include "kernels/filters/filter_step.h"

typedef struct {
    lob_filter_image in, out; /* out: allocated, of the type that the step writes */
    lob_filter_step step;
    lob_filter_options options;
    lob_filter_call call;
    uint8_t *mask;
    int64_t n;       /* voxels of all channels */
    size_t bytes;    /* of out */
    char shape[256]; /* what the case is, for messages */
} neighbourhood_case;

/*
 * Make a case; free it with neighbourhood_case_free.
 *
 *   kind  in  LOB_FILTER_MEDIAN or LOB_FILTER_BOX
 *   work  in  about how many places of neighbourhoods the naive reference may visit
 */
void neighbourhood_case_make(neighbourhood_case *c, lob_filter_kind kind, uint64_t number,
                             int64_t work);

/*
 * The case's planes from .. to - 1 with those that these depend on, as the chain cuts slabs. Free
 * it with neighbourhood_case_free.
 *
 *   reach  in   planes on each side
 *   skip   out  of the slab's planes, those before `from`
 */
void neighbourhood_case_slab(neighbourhood_case *slab, const neighbourhood_case *c, int64_t from,
                             int64_t to, int64_t reach, int64_t *skip);

void neighbourhood_case_free(neighbourhood_case *c);

#endif
