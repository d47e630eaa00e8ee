/* What Gaussian steps do with a voxel when they read and when they write; for both compilers. */
#ifndef LOB_GAUSSIAN_VOXEL_H
#define LOB_GAUSSIAN_VOXEL_H

#include "kernels/filters/filter_edge.h"
#include "kernels/filters/filter_step.h"
#include "kernels/filters/pointwise_voxel.h"

#include <math.h>

LOB_BEGIN_DECLS

/* What is read: one channel. */
typedef struct {
    const void *data;
    const uint8_t *mask; /* NULL: all */
    lob_type type;
    bool finite; /* every value is */
    bool counts; /* not values are read but 1 where there is data */
    lob_filter_map before;
} lob_gaussian_source;

/* The value of voxel i, whether it is data or not. */
LOB_BOTH float lob_gaussian_value(const lob_gaussian_source *source, int64_t i)
{
    return lob_filter_value(source->data, source->type, &source->before, i);
}

LOB_BOTH bool lob_gaussian_in_mask(const lob_gaussian_source *source, int64_t i)
{
    return !source->mask || source->mask[i];
}

/* The value of voxel i, NaN where it is no data. */
LOB_BOTH float lob_gaussian_datum(const lob_gaussian_source *source, int64_t i)
{
    const float value = lob_gaussian_value(source, i);
    const bool data = source->finite || value - value == 0.0f;
    return data && lob_gaussian_in_mask(source, i) ? value : NAN;
}

/*
 * What a voxel of some value adds to a sum. A negative zero becomes a positive one, and so it does
 * after every sum: then products with weights of 0 change no byte.
 */
LOB_BOTH float lob_gaussian_summand(const lob_gaussian_source *source, bool in_mask, float value)
{
    const bool data = in_mask && (source->finite || value - value == 0.0f);
    if (source->counts) return data ? 1.0f : 0.0f;
    return data ? value + 0.0f : 0.0f;
}

LOB_BOTH float lob_gaussian_read(const lob_gaussian_source *source, int64_t i)
{
    const float value = lob_gaussian_value(source, i);
    return lob_gaussian_summand(source, lob_gaussian_in_mask(source, i), value);
}

/* ---- writing ---- */

typedef enum {
    LOB_GAUSSIAN_SUM,    /* the sum */
    LOB_GAUSSIAN_MEAN,   /* the sum, mapped */
    LOB_GAUSSIAN_RATIO,  /* what is held, a sum of values, by this sum of weights; mapped */
    LOB_GAUSSIAN_FILL,   /* the value where it is data, else that ratio */
    LOB_GAUSSIAN_SQUARE, /* adds (factor * sum)^2 to what is held */
    LOB_GAUSSIAN_ADD     /* adds factor * sum */
} lob_gaussian_what;

typedef struct {
    lob_gaussian_what what;
    bool first, last;           /* SQUARE, ADD: nothing is held yet; finish and map the result */
    float factor;               /* SQUARE, ADD */
    lob_gaussian_source source; /* RATIO, FILL, and mask of the last SQUARE, ADD */
    lob_filter_map after;
} lob_gaussian_finish;

/* What to write for voxel i by RATIO or FILL, of sums of values and of weights. */
LOB_BOTH float lob_gaussian_divided(const lob_gaussian_finish *f, int64_t i, bool in_mask,
                                    float values, float weights)
{
    float value;
    if (f->what == LOB_GAUSSIAN_RATIO) {
        value = in_mask && weights > 0.0f ? values / weights : lob_gaussian_value(&f->source, i);
        return lob_filter_mapped(value, &f->after);
    }
    value = lob_gaussian_value(&f->source, i);
    if (in_mask && (f->source.finite || value - value == 0.0f)) return value + 0.0f;
    return weights > 0.0f ? values / weights : 0.0f;
}

/* What to write for voxel i where a sum was found, and `held` is what was written before. */
LOB_BOTH float lob_gaussian_finished(const lob_gaussian_finish *f, int64_t i, float sum, float held)
{
    float result = 0.0f;
    switch (f->what) {
    case LOB_GAUSSIAN_SUM:
        return sum;
    case LOB_GAUSSIAN_MEAN:
        result = sum;
        break;
    case LOB_GAUSSIAN_RATIO:
    case LOB_GAUSSIAN_FILL:
        return lob_gaussian_divided(f, i, lob_gaussian_in_mask(&f->source, i), held, sum);
    case LOB_GAUSSIAN_SQUARE:
    case LOB_GAUSSIAN_ADD:
        sum = f->factor * sum;
        if (f->what == LOB_GAUSSIAN_SQUARE) sum = sum * sum;
        result = f->first ? sum : held + sum;
        if (!f->last) return result;
        if (f->what == LOB_GAUSSIAN_SQUARE) result = sqrtf(result);
        if (!lob_gaussian_in_mask(&f->source, i)) result = 0.0f;
        break;
    }
    return lob_filter_mapped(result, &f->after);
}

/* Whether sums are written as they are. */
LOB_BOTH bool lob_gaussian_writes_sums(const lob_gaussian_finish *f)
{
    return f->what == LOB_GAUSSIAN_SUM || (f->what == LOB_GAUSSIAN_MEAN && f->after.identity);
}

/* Whether a sum of values is divided by one of weights. */
LOB_BOTH bool lob_gaussian_divides(const lob_gaussian_finish *f)
{
    return f->what == LOB_GAUSSIAN_RATIO || f->what == LOB_GAUSSIAN_FILL;
}

/* Whether what was written before is needed. */
LOB_BOTH bool lob_gaussian_needs_held(const lob_gaussian_finish *f)
{
    return lob_gaussian_divides(f) ||
           ((f->what == LOB_GAUSSIAN_SQUARE || f->what == LOB_GAUSSIAN_ADD) && !f->first);
}

LOB_END_DECLS

#endif
