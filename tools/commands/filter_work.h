/* What `lobule filter` shares between a volume in one piece and one in slabs. */
#ifndef LOB_FILTER_WORK_H
#define LOB_FILTER_WORK_H

#include "tools/commands/filter_steps.h"
#include "tools/inout/slabs.h"

typedef struct {
    const char *image, *out, *mask, *edge;
    int frame, channel, slices, plan;
    lob_steps steps;
    lob_filter_options options;
} lob_filter_settings;

typedef struct {
    lob_filter_settings set; /* first */
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
} lob_filter_work;

/* Fit the steps to a frame of the image, and find type and channels of what comes of it. */
lob_status lob_filter_fit(lob_session *s, lob_filter_work *w, const lob_volume *image);

/* Report what was done with a frame: in the list of frames, where there are several. */
void lob_filter_report(lob_session *s, const lob_filter_work *w, cJSON *frames);

/* Is the image to be worked on in slabs? Several tasks have no choice; one takes the whole where a
 * part does not say enough. */
bool lob_filter_goes_in_slabs(lob_session *s, lob_filter_work *w, const lob_slabs *slabs);

/* The whole command, in slabs: the report is that of a volume in one piece. */
lob_status lob_filter_by_slabs(lob_session *s, lob_filter_work *w, lob_slabs *slabs);

#endif
