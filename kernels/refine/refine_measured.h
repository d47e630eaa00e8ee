/* Labels, seeds and image of a refining job in ordinary memory, for what looks at labels as wholes.
 * This header is not installed. */
#ifndef LOB_REFINE_MEASURED_H
#define LOB_REFINE_MEASURED_H

#include "kernels/refine/refine_job.h"

LOB_BEGIN_DECLS

/* The job's own, or copies of what is on a GPU; of the grid that is worked on. */
typedef struct {
    lob_dims dims;
    const double *spacing;
    void *labels;
    const void *seeds;
    lob_type type, seed_type;
    lob_volume image; /* where it was asked for */
    unsigned char *copies;
    int64_t bytes;
} lob_refine_measured;

/* Have seeds, and with it the image; of a GPU's labels only the room. */
lob_status lob_refine_measure(lob_refine_measured *m, lob_refine_job *j, bool with_image);
void lob_refine_measured_free(lob_refine_measured *m, lob_refine_job *j);

/* Have labels as they are now; give them back. On the CPU they are the job's. */
lob_status lob_refine_take_labels(const lob_refine_measured *m, lob_refine_job *j);
lob_status lob_refine_give_labels(const lob_refine_measured *m, lob_refine_job *j);

LOB_END_DECLS

#endif
