/*
 * Keys: unsigned whole numbers as wide as a voxel whose order is that of the values; for both
 * compilers. Of real numbers the order is that of the bits: -0 below +0.
 */
#ifndef LOB_MEDIAN_KEY_H
#define LOB_MEDIAN_KEY_H

#include "kernels/filters/median/median.h"
#include "kernels/filters/pointwise_voxel.h"

LOB_BEGIN_DECLS

typedef enum { LOB_KEY_UNSIGNED, LOB_KEY_SIGNED, LOB_KEY_REAL } lob_key_kind;

LOB_BOTH lob_key_kind lob_key_kind_of(lob_type type)
{
    switch (type) {
    case LOB_I8:
    case LOB_I16:
    case LOB_I32:
    case LOB_I64:
        return LOB_KEY_SIGNED;
    case LOB_F32:
    case LOB_F64:
        return LOB_KEY_REAL;
    default:
        return LOB_KEY_UNSIGNED;
    }
}

/* The key of a voxel's bits, and back. The bits of 8, 16, 32 and 64-bit voxels lie in the type of
 * that width. */
#define LOB_KEY_FUNCTIONS(width)                                                          \
    LOB_BOTH uint##width##_t lob_key_##width(uint##width##_t bits, lob_key_kind kind)     \
    {                                                                                     \
        const uint##width##_t top = (uint##width##_t)1 << (width - 1);                    \
        if (kind == LOB_KEY_UNSIGNED) return bits;                                        \
        if (kind == LOB_KEY_REAL && (bits & top)) return (uint##width##_t) ~bits;         \
        return bits ^ top;                                                                \
    }                                                                                     \
    LOB_BOTH uint##width##_t lob_key_back_##width(uint##width##_t key, lob_key_kind kind) \
    {                                                                                     \
        const uint##width##_t top = (uint##width##_t)1 << (width - 1);                    \
        if (kind == LOB_KEY_UNSIGNED) return key;                                         \
        if (kind == LOB_KEY_REAL && !(key & top)) return (uint##width##_t) ~key;          \
        return key ^ top;                                                                 \
    }

LOB_KEY_FUNCTIONS(8)
LOB_KEY_FUNCTIONS(16)
LOB_KEY_FUNCTIONS(32)
LOB_KEY_FUNCTIONS(64)
#undef LOB_KEY_FUNCTIONS

/* Whether the bits are those of a finite number. Every integer is one. */
LOB_BOTH bool lob_bits_finite_32(uint32_t bits, lob_key_kind kind)
{
    return kind != LOB_KEY_REAL || (bits & 0x7f800000u) != 0x7f800000u;
}

LOB_BOTH bool lob_bits_finite_64(uint64_t bits, lob_key_kind kind)
{
    const uint64_t exponent = (uint64_t)0x7ff << 52;
    return kind != LOB_KEY_REAL || (bits & exponent) != exponent;
}

/* Which of n data, ascending from 1, is the median. */
LOB_BOTH int64_t lob_median_rank(int64_t n)
{
    return (n + 1) / 2;
}

/* What stands where the edge is constant: the value as a voxel of the type, its bits in the low
 * bytes. Lies in the host's headers because both backends must round alike. */
static inline uint64_t lob_median_edge_bits(lob_type type, const lob_filter_options *options)
{
    uint64_t bits = 0;
    lob_filter_store(&bits, type, 0, options->edge_value);
    return bits;
}

/* Radius along an axis; a step's numbers are whole. */
static inline int64_t lob_median_radius(const lob_filter_step *step, int axis)
{
    return (int64_t)step->along[axis];
}

/* Whether places of a neighbourhood can hold no data, besides those outside of the volume. */
static inline bool lob_median_gaps(const lob_filter_call *call, lob_type type)
{
    return call->mask || (lob_key_kind_of(type) == LOB_KEY_REAL && !call->finite);
}

LOB_END_DECLS

#endif
