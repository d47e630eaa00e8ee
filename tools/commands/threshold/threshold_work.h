/* What the files of `lobule threshold` share. */
#ifndef LOB_THRESHOLD_WORK_H
#define LOB_THRESHOLD_WORK_H

#include "tools/commands/slab_filter.h"

#include <math.h>

typedef struct {
    const char *labels_path;
    int classes, neighbours, slices;
    double above, range[2], hysteresis[2], percentile, offset;
    lob_size local_size;

    lob_volume image, labels;
    uint8_t *mask; /* NULL: everything may be labelled */
    lob_threshold_options options;
    lob_threshold_stats stats;
    lob_components_output joined; /* with --hysteresis: the pieces, */
    uint8_t *keep;                /* which of them stay, */
    int64_t kept;                 /* and how many */
    int64_t labelled;             /* voxels */

    lob_slabs slabs;          /* of a volume that is taken so, with */
    lob_slab_filter local;    /* that of --local, */
    uint8_t *slab_labels;     /* of a slab, with what is read around, */
    int64_t largest, highest; /* the largest label so far, and that there may be; */
    bool writes;              /* else only the largest is asked for */
} lob_threshold_work;

static inline bool lob_threshold_is_hysteretic(const lob_threshold_work *w)
{
    return !isnan(w->hysteresis[0]);
}

static inline bool lob_threshold_is_local(const lob_threshold_work *w)
{
    return isfinite(w->local_size.value);
}

/* Label by --hysteresis, or by --local. */
lob_status lob_threshold_join(lob_session *s, lob_threshold_work *w);
lob_status lob_threshold_locally(lob_session *s, lob_threshold_work *w);

/* How many of these labels are not 0. */
int64_t lob_threshold_labelled(const uint8_t *of, int64_t voxels, int threads);

/* Bytes that work takes for a voxel, beside image and mask. */
int64_t lob_threshold_voxel_bytes(const lob_threshold_work *w);

/* The whole command in slabs; options are chosen. */
lob_status lob_threshold_by_slabs(lob_session *s, lob_threshold_work *w);

/* Fill in the report; note what the user should know. */
void lob_threshold_report(lob_session *s, const lob_threshold_work *w);

#endif
