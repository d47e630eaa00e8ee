/* The key and the bin of a single value, for the CPU and CUDA. */
#ifndef LOB_HISTOGRAM_VOXEL_H
#define LOB_HISTOGRAM_VOXEL_H

#include "kernels/histogram/histogram.h"
#include "volumes/both.h"

#include <float.h>
#include <string.h>

/*
 * lob_ordered_key_uint8_t(value) and so on: unsigned numbers of the type's bits, in the order of
 * the values. 0.0 and -0.0 have one key, because which of the two was met must not show.
 * lob_value_of_key_uint8_t(key) and so on: back; that of ~0, which no real number has, is NaN.
 */
#define LOB_ORDERED_KEY(type, ctype, name, integer, lowest, highest)            \
    LOB_BOTH uint64_t lob_ordered_key_##ctype(ctype value)                      \
    {                                                                           \
        const uint64_t top = UINT64_C(1) << (8 * sizeof(ctype) - 1);            \
        const uint64_t all = top | (top - 1);                                   \
        uint64_t bits = 0;                                                      \
        if (integer) return ((uint64_t)value & all) ^ ((lowest) < 0 ? top : 0); \
        value = (ctype)(value + 0); /* -0.0 becomes 0.0 */                      \
        memcpy(&bits, &value, sizeof value);                                    \
        return bits & top ? ~bits & all : bits | top;                           \
    }                                                                           \
    LOB_BOTH ctype lob_value_of_key_##ctype(uint64_t key)                       \
    {                                                                           \
        const uint64_t top = UINT64_C(1) << (8 * sizeof(ctype) - 1);            \
        const uint64_t bits = integer     ? key ^ ((lowest) < 0 ? top : 0)      \
                              : key & top ? key ^ top                           \
                                          : ~key;                               \
        ctype value;                                                            \
        memcpy(&value, &bits, sizeof value);                                    \
        return value;                                                           \
    }
LOB_TYPE_LIST(LOB_ORDERED_KEY)
#undef LOB_ORDERED_KEY

#ifdef __cplusplus
/* The same by one name. */
#define LOB_ORDERED_KEY(type, ctype, name, integer, lowest, highest) \
    LOB_BOTH uint64_t lob_ordered_key(ctype value)                   \
    {                                                                \
        return lob_ordered_key_##ctype(value);                       \
    }                                                                \
    LOB_BOTH void lob_value_of_key(ctype *value, uint64_t key)       \
    {                                                                \
        *value = lob_value_of_key_##ctype(key);                      \
    }
LOB_TYPE_LIST(LOB_ORDERED_KEY)
#undef LOB_ORDERED_KEY
#endif

/* False for NaN and infinity. */
#define LOB_IS_FINITE(value) ((value) - (value) == 0)

/*
 * How bins of equal width are found: by a product, which lands in the right bin or, at an edge, in
 * the one beside it. Only where the product ends within `near` of a whole number are the edges
 * asked.
 */
typedef struct {
    double half_low; /* half the lowest value: a difference of halves cannot overflow */
    double per_half; /* bins per half unit */
    double near;     /* in bins; >= 1: always */
    float half_low_f, per_half_f, near_f; /* the same, for float32 */
} lob_bin_rule;

/* The bin in whose edges a value lies, from a guess in [0, bins). */
#define LOB_BIN_BETWEEN(number, edge, value, guess)                                     \
    do {                                                                                \
        while (guess > 0 && (value) < (edge)[guess]) guess--;                           \
        while (guess < LOB_HISTOGRAM_BINS - 1 && (value) >= (edge)[guess + 1]) guess++; \
    } while (0)

/* The bin of a value of the data; edge has LOB_HISTOGRAM_BINS + 1 numbers. */
LOB_BOTH int lob_bin_of_float(float value, const lob_bin_rule *rule, const float *edge)
{
    const float at = (value * 0.5f - rule->half_low_f) * rule->per_half_f;
    int bin = at >= 0 && at < (float)LOB_HISTOGRAM_BINS ? (int)at
              : at >= 0                                 ? LOB_HISTOGRAM_BINS - 1
                                                        : 0;
    const float part = at - (float)bin;
    if (part > rule->near_f && part < 1.0f - rule->near_f) return bin;
    LOB_BIN_BETWEEN(float, edge, value, bin);
    return bin;
}

LOB_BOTH int lob_bin_of_double(double value, const lob_bin_rule *rule, const double *edge)
{
    const double at = (value * 0.5 - rule->half_low) * rule->per_half;
    int bin = at >= 0 && at < LOB_HISTOGRAM_BINS ? (int)at : at >= 0 ? LOB_HISTOGRAM_BINS - 1 : 0;
    const double part = at - bin;
    if (part > rule->near && part < 1.0 - rule->near) return bin;
    LOB_BIN_BETWEEN(double, edge, value, bin);
    return bin;
}

#endif
