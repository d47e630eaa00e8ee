/* What the files of `lobule threshold` share. */
#ifndef LOB_THRESHOLD_WORK_H
#define LOB_THRESHOLD_WORK_H

#include "kernels/threshold/threshold.h"
#include "tools/commands/slab_filter.h"

#include <math.h>

typedef struct {
    const char *labels_path;
    int classes, neighbours, slices;
    double above, range[2], hysteresis[2], percentile, offset;
    lob_size local_size;

    lob_volume image, labels;
    uint8_t *mask;       /* NULL: everything may be labelled */
    lob_filter_step box; /* of --local, */
    lob_filter_options means;
    lob_slab_filter local; /* and the means in it */
    lob_threshold_options options;
    lob_threshold_stats stats;
    lob_components_output joined; /* with --hysteresis: the pieces, */
    uint8_t *keep;                /* which of them stay, */
    int64_t kept;                 /* and how many */
    int64_t labelled;             /* voxels */

    lob_slabs slabs;          /* image and mask as asked for; taken in slabs, with */
    uint8_t *slab_labels;     /* of a slab, with what is read around, */
    int64_t largest, highest; /* the largest label so far, and that there may be; */
    bool writes;              /* else only the largest is asked for */
} lob_threshold_work;

static inline bool lob_is_hysteretic(const lob_threshold_work *w)
{
    return !isnan(w->hysteresis[0]);
}

static inline bool lob_is_local(const lob_threshold_work *w)
{
    return isfinite(w->local_size.value);
}

/* --hysteresis: label the pieces of the image that hold a value above the higher threshold. */
lob_status lob_threshold_join(lob_session *s, lob_threshold_work *w);

/* --local: find the box on a grid like the image's, and label a slab, or all as one, by the means
 * in it. */
lob_status lob_threshold_find_box(lob_session *s, lob_threshold_work *w, const lob_volume *image);
lob_status lob_threshold_locally(lob_session *s, lob_threshold_work *w, const lob_slab *slab,
                                 uint8_t *labels);

/* How many of these labels are not 0. */
int64_t lob_threshold_count(const uint8_t *labels, int64_t voxels, int threads);

/* Fill in the report; note what the user should know. */
void lob_threshold_report(lob_session *s, const lob_threshold_work *w);

/* Bytes that work takes for a voxel, beside image and mask. */
static inline int64_t lob_threshold_voxel_bytes(const lob_threshold_work *w)
{
    enum { LABELS = 1, MEAN = 12 };
    return LABELS + (lob_is_local(w) ? MEAN : 0);
}

/* All of it in slabs: what does not fit in memory, or several tasks share. */
lob_status lob_threshold_slabs(lob_session *s, lob_threshold_work *w);

#endif
