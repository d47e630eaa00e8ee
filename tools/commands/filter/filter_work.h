/* What the files of `lobule filter` share. */
#ifndef LOB_FILTER_WORK_H
#define LOB_FILTER_WORK_H

#include "tools/commands/filter/filter_steps.h"
#include "tools/commands/slab_filter.h"

typedef struct {
    const char *out_path, *edge;
    int slices;
    lob_filter_chain chain;
    lob_filter_options options;
    lob_slabs slabs; /* files, and frame and channel, of a volume in one piece too */

    lob_slab_filter filter; /* of slabs */
    lob_volume image, out;
    uint8_t *mask;
    int64_t frames; /* that are filtered */
    int channels;   /* of a frame, as read */
    void *together; /* these, where they lie apart in the file */

    lob_filter_output one; /* of a frame */
    void *data;            /* the result: channel after channel, frame after frame of each */
    lob_type type;
    int out_channels;
    int64_t out_bytes; /* of all of it */
} lob_filter_work;

/* Fit the steps to the image, and find what comes of the first of its frames. */
lob_status lob_filter_fit(lob_session *s, lob_filter_work *w, const lob_volume *image);

/* Is the image to be worked on in slabs? Several tasks have no choice; one takes the whole where a
 * part does not say enough. */
bool lob_filter_goes_in_slabs(lob_session *s, lob_filter_work *w);

/* The whole command, in slabs: the report is that of a volume in one piece. */
lob_status lob_filter_in_slabs(lob_session *s, lob_filter_work *w);

#endif
