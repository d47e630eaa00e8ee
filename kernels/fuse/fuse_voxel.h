/* A voxel of a fusion: its level, a candidate's weight, shares of the votes; for both compilers. */
#ifndef LOB_FUSE_VOXEL_H
#define LOB_FUSE_VOXEL_H

#include "kernels/filters/pointwise_voxel.h"
#include "kernels/fuse/fuse_job.h"

#include <math.h>

LOB_BEGIN_DECLS

/* How values become levels. */
typedef struct {
    double low, per_unit;
} lob_fuse_scale;

/* From the job's two percentiles. */
LOB_BOTH lob_fuse_scale lob_fuse_scale_of(const double value[2])
{
    lob_fuse_scale s;
    s.low = value[0];
    s.per_unit = value[1] > value[0] ? 254 / (value[1] - value[0]) : 0;
    return s;
}

LOB_BOTH uint8_t lob_fuse_level(double value, lob_fuse_scale s)
{
    const double at = (value - s.low) * s.per_unit;
    return isfinite(value) && at >= 0 ? (uint8_t)(at < 254 ? at + 1.5 : 255) : 1;
}

/* What a frame is filled from. */
typedef struct {
    lob_fuse_levels to;
    const void *values, *labels; /* NULL: none */
    lob_type values_type, labels_type;
    double slope, inter;
    lob_fuse_scale scale;
    lob_fuse_frame frame;
    lob_dims dims;
    const int32_t *value; /* of dense labels 1..count, ascending */
    int count;
} lob_fuse_filling;

static inline lob_fuse_filling lob_fuse_filling_of(const lob_fuse_job *j, const lob_fuse_levels *to,
                                                   const lob_volume *image,
                                                   const lob_volume *labels, const int32_t *value,
                                                   lob_fuse_scale scale)
{
    lob_fuse_filling s;
    s.to = *to;
    s.values = image ? image->data : NULL;
    s.labels = labels ? labels->data : NULL;
    s.values_type = image ? image->type : LOB_U8;
    s.labels_type = labels ? labels->type : LOB_U8;
    s.slope = image ? image->slope : 1;
    s.inter = image ? image->inter : 0;
    s.scale = scale;
    s.frame = j->frame;
    s.dims = j->dims;
    s.value = value;
    s.count = j->set->count;
    return s;
}

/* The dense label of a value, 0 of one that has none. */
LOB_BOTH int lob_fuse_dense(const lob_fuse_filling *s, int32_t value)
{
    int low = 0, high = s->count;
    if (value <= 0) return 0;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (s->value[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->value[low] == value ? low + 1 : 0;
}

/* Fill in voxel i of the frame, which goes on beyond the grid's ends as there, but without labels.
 * Returns the label in the grid, which is no candidate where the value is not finite. */
LOB_BOTH int lob_fuse_fill(const lob_fuse_filling *s, int64_t i)
{
    const lob_fuse_frame *const f = &s->frame;
    const int64_t row = i / f->row, rows = f->plane / f->row;
    const int64_t at[3] = {i - row * f->row - f->margin, row % rows - f->margin,
                           row / rows - f->margin};
    int64_t from = 0;
    bool inside = true;
    for (int a = 2; a >= 0; a--) {
        const int64_t side = lob_side(s->dims, a);
        inside = inside && at[a] >= 0 && at[a] < side;
        from = from * side + (at[a] < 0 ? 0 : at[a] < side ? at[a] : side - 1);
    }
    const int label =
        s->labels && inside ? lob_fuse_dense(s, lob_label_at(s->labels, s->labels_type, from)) : 0;
    bool candidate = inside;
    if (s->values) {
        const double value = s->slope * lob_filter_load(s->values, s->values_type, from) + s->inter;
        s->to.level[i] = lob_fuse_level(value, s->scale);
        candidate = inside && isfinite(value);
    }
    if (s->to.label) s->to.label[i] = (uint8_t)(candidate ? label : LOB_FUSE_NO_LABEL);
    return label;
}

/* Steps of the table of weights for a distance of 1, from the least distance. */
LOB_BOTH float lob_fuse_per_step(uint32_t least, float floor)
{
    const float unit = (float)least + floor;
    return (float)LOB_FUSE_STEPS_EACH / (unit > 1 ? unit : 1);
}

/* A distance's place in the table. */
LOB_BOTH uint32_t lob_fuse_step(uint32_t distance, float per_step)
{
    const float at = (float)distance * per_step;
    return at < LOB_FUSE_STEPS - 1 ? (uint32_t)(int32_t)at : LOB_FUSE_STEPS - 1;
}

/*
 * The shares of a voxel's labels, in LOB_FUSE_ONE-ths; returns the best label.
 *
 *   share     out  labels + 1; of the background first
 *   votes     in   weights of the labels, `apart` numbers from each other
 *   of_atlas  in   and of the atlases, likewise
 *   has       in   by atlas and label; NULL: all have all
 */
LOB_BOTH int lob_fuse_shares(uint32_t *share, const uint32_t *votes, const uint32_t *of_atlas,
                             int64_t apart, int labels, int atlases,
                             const bool (*has)[LOB_FUSE_MAX_LABELS + 1])
{
    uint64_t all = 0, sum = 0;
    int best = 0;
    for (int a = 0; a < atlases; a++) all += of_atlas[a * apart];
    for (int l = 1; l <= labels; l++) {
        const uint64_t own = votes[l * apart];
        uint64_t of = all;
        for (int a = 0; a < atlases && own > 0 && has; a++)
            if (!has[a][l]) of -= of_atlas[a * apart];
        share[l] = own > 0 && of > 0 ? (uint32_t)(own * LOB_FUSE_ONE / of) : 0;
        sum += share[l];
    }
    for (int l = 1; l <= labels && sum > LOB_FUSE_ONE; l++)
        share[l] = (uint32_t)(share[l] * (uint64_t)LOB_FUSE_ONE / sum);
    share[0] = LOB_FUSE_ONE - (uint32_t)(sum < LOB_FUSE_ONE ? sum : (uint64_t)LOB_FUSE_ONE);
    for (int l = 1; l <= labels; l++)
        if (share[l] > share[best]) best = l;
    return best;
}

LOB_END_DECLS

#endif
