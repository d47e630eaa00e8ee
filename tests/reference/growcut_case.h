/* Random GrowCut inputs: every option and every odd shape turns up sooner or later. */
#ifndef LOB_GROWCUT_CASE_H
#define LOB_GROWCUT_CASE_H

#include "kernels/growcut/growcut.h"

typedef struct {
    uint64_t number; /* what the case was made from: the same number makes the same case */
    lob_volume image, seeds;
    uint8_t *mask;
    float *seed_strength;
    lob_growcut_input in;
    lob_growcut_options options;
    int64_t n;
    char shape[128]; /* for messages */
} growcut_case;

/* What a case may hold; the automaton in float64 knows neither limits nor slices. */
typedef enum { GROWCUT_PLAIN, GROWCUT_ANY_3D, GROWCUT_ANY } growcut_variety;

void growcut_case_make(growcut_case *c, uint64_t number, growcut_variety variety,
                       int64_t most_side);
void growcut_case_free(growcut_case *c);

/* Outputs of a case, all arrays allocated; labels hold n elements of the seeds' type. */
lob_growcut_output growcut_output_make(const growcut_case *c);
void growcut_output_free(lob_growcut_output *out);

/* NULL when two outputs are the same bytes, else which array differs. */
const char *growcut_output_differs(const growcut_case *c, const lob_growcut_output *a,
                                   const lob_growcut_output *b);

#endif
