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
    bool wants_strength, wants_tie;
    char shape[512]; /* and pattern and options in one line, for messages */
} growcut_case;

/* What a case may hold, each of these more than the one before. */
typedef enum {
    GROWCUT_PLAIN,   /* what the automaton in float64 knows: no limits, no slices */
    GROWCUT_ANY_3D,  /* limits, penalties that outweigh the levels, odd strengths, some rounds */
    GROWCUT_ANY,     /* slices */
    GROWCUT_ANY_CALL /* a width of keys, which may not do; strength and tie not asked for */
} growcut_variety;

/* Every side is at most max_side, which counts up to 41. */
void growcut_case_make(growcut_case *c, uint64_t number, growcut_variety variety, int64_t max_side);
void growcut_case_free(growcut_case *c);

/* Outputs of a case, those that it wants allocated; labels hold n elements of the seeds' type. */
lob_growcut_output growcut_output_make(const growcut_case *c);
void growcut_output_free(lob_growcut_output *out);

/* NULL when two outputs are the same bytes, else which array differs. */
const char *growcut_output_differs(const growcut_case *c, const lob_growcut_output *a,
                                   const lob_growcut_output *b);

/*
 * The reference: the exact contract, never optimised. The same integer costs as the engine, relaxed
 * over the whole volume, all voxels at once, until nothing changes or as many rounds as the options
 * say; the engine must give these very bytes. Takes what lob_growcut_cpu takes, in 3D (slice_axis
 * -1); labels, strength and tie as there. Returns the last round that changed a cost or a label,
 * and whether one more would change none.
 */
int64_t growcut_reference(const lob_growcut_output *out, bool *fixed_point,
                          const lob_growcut_input *in, const lob_growcut_options *options);

#endif
