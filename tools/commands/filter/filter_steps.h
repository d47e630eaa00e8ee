/* The steps of `lobule filter`, as they are typed, run and reported. */
#ifndef LOB_FILTER_STEPS_H
#define LOB_FILTER_STEPS_H

#include "kernels/filters/filters.h"
#include "tools/session/session.h"

/* A step as it was typed; lengths become voxels once the image is known. */
typedef struct {
    const char *name; /* of the option */
    lob_filter_step step;
    lob_size along[3]; /* of the kinds that look around, but denoise */
} lob_typed_step;

/* The chain: as it was typed, and on an image, which has given.count of each. */
typedef struct {
    lob_steps given;
    lob_typed_step typed[LOB_STEPS];
    lob_filter_step step[LOB_STEPS];
} lob_filter_chain;

/* Take the typed values apart. Returns LOB_OK or LOB_EARG. */
lob_status lob_filter_chain_parse(lob_session *s, lob_filter_chain *chain);

/*
 * Fit the typed steps to an image: lengths in voxels along its axes. A radius in mm becomes the
 * whole voxels that fit into it, so that an axis with a larger spacing is left out.
 *
 *   slice_axis  in  the axis across slices, which is left out; -1: none
 */
void lob_filter_chain_fit(lob_filter_chain *chain, const lob_volume *image, int slice_axis);

/* Add to a report what was done, with the steps as they were run. */
void lob_filter_chain_report(cJSON *to, const lob_filter_chain *chain,
                             const lob_filter_output *out);

/* "renormalise", ..., "constant=V". Returns LOB_OK or LOB_EARG. */
lob_status lob_filter_edge_parse(lob_session *s, lob_filter_options *options, const char *text);

#endif
