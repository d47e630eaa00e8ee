/* Balls on some planes of a volume, on the CPU. */
#ifndef LOB_MORPHOLOGY_PART_H
#define LOB_MORPHOLOGY_PART_H

#include "kernels/morphology/morphology.h"

/* lob_morphology_cpu of some planes of a volume of so many, as if no others were there: what it
 * gives on the volume, but for planes that a ball reaches from where it is cut; opening and closing
 * reach twice as far. */
lob_status lob_morphology_part(void *out, const lob_morphology_input *in, lob_morphology how,
                               double radius, int64_t planes, const lob_context *context,
                               lob_error *error);

#endif
