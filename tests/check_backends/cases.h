/* Random and adversarial inputs for backends to agree on, each made from a number. */
#ifndef LOB_CHECK_CASES_H
#define LOB_CHECK_CASES_H

#include "kernels/growcut/growcut.h"

typedef struct {
    char what[512]; /* shape, pattern and options in one line */
    lob_volume image, seeds;
    uint8_t *mask;   /* may be NULL */
    float *strength; /* of seeds; may be NULL */
    int32_t labels;
    bool wants_strength, wants_tie;
    lob_growcut_options options;
} growcut_case;

/* Make case number n; false when memory runs out. Every option occurs within each 100 numbers. */
bool growcut_case_make(growcut_case *c, uint64_t n);

void growcut_case_free(growcut_case *c);

#endif
