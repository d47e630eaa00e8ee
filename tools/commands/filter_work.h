/* What `lobule filter` shares between a volume in one piece and one in slabs. */
#ifndef LOB_FILTER_WORK_H
#define LOB_FILTER_WORK_H

#include "kernels/filters/filters.h"
#include "tools/commands/slab_filter.h"

/* A step as it was typed; lengths become voxels once the image is known. */
typedef struct {
    const char *name; /* of the option */
    lob_filter_step step;
    lob_size along[3]; /* of the kinds that look around, but denoise */
} lob_typed_step;

/*
 * Take the typed values apart.
 *
 *   typed  out  steps->count of them
 *
 * Returns LOB_OK or LOB_EARG.
 */
lob_status lob_filter_steps_parse(lob_session *s, lob_typed_step *typed, const lob_steps *steps);

/*
 * Fit the typed steps to an image: lengths in voxels along its axes. A radius in mm becomes the
 * whole voxels that fit into it, so that an axis with a larger spacing is left out.
 *
 *   steps       out  count of them
 *   slice_axis  in   the axis across slices, which is left out; -1: none
 */
void lob_filter_steps_fit(lob_filter_step *steps, const lob_typed_step *typed, int count,
                          const lob_volume *image, int slice_axis);

/* Describe the steps as they were run, for the report. */
cJSON *lob_filter_steps_report(const lob_filter_step *steps, const lob_typed_step *typed, int count,
                               const lob_filter_output *out);

/* "renormalise", ..., "constant=V". Returns LOB_OK or LOB_EARG. */
lob_status lob_filter_edge_parse(lob_session *s, lob_filter_options *options, const char *text);

typedef struct {
    const char *image_path, *out_path, *mask_path, *edge;
    int frame, channel, slices, plan;
    lob_steps steps_given;
    lob_filter_options options;

    lob_volume image, out;
    uint8_t *mask;
    lob_typed_step typed[LOB_STEPS];
    lob_filter_step steps[LOB_STEPS];
    int64_t frames; /* that are filtered */
    int channels;   /* of a frame, as read */
    void *together; /* these, where they lie apart in the file */

    lob_filter_output one; /* of a frame */
    void *data;            /* the result: channel after channel, frame after frame of each */
    lob_type type;
    int out_channels;
    int64_t out_bytes; /* of all of it */

    lob_slabs slabs; /* of a volume that is taken so, with its */
    lob_slab_filter filter;
} lob_filter_work;

/* Fit the steps to a frame of the image, and find type and channels of what comes of it. */
lob_status lob_filter_fit(lob_session *s, lob_filter_work *w, const lob_volume *image);

/* Report what was done with a frame: in the list of frames, where there are several. */
void lob_filter_report(lob_session *s, const lob_filter_work *w, cJSON *frames);

/* Is the image to be worked on in slabs? Several tasks have no choice; one takes the whole where a
 * part does not say enough. */
bool lob_filter_goes_in_slabs(lob_session *s, lob_filter_work *w);

/* The whole command, in slabs: the report is that of a volume in one piece. */
lob_status lob_filter_by_slabs(lob_session *s, lob_filter_work *w);

#endif
