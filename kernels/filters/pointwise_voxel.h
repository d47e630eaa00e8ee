/* Steps that look at one voxel alone, for both compilers: maps, colours, casts. */
#ifndef LOB_POINTWISE_VOXEL_H
#define LOB_POINTWISE_VOXEL_H

#include "kernels/filters/filter_step.h"
#include "volumes/both.h"
#include "volumes/voxel_type.h"

#include <float.h>
#include <math.h>
#include <string.h>

LOB_BEGIN_DECLS

/* A fused map. NaN and infinity are no data and stay what they are. An offset of -0.0 leaves every
 * number as it is, -0.0 too. */
LOB_BOTH float lob_filter_mapped(float value, const lob_filter_map *map)
{
    if (map->identity || !(value - value == 0)) return value;
    value = value * map->factor;
    value = value + map->offset;
    if (value < map->low) value = map->low;
    if (value > map->high) value = map->high;
    return value;
}

/* The same NaN on every machine: arithmetic keeps or makes different ones. */
LOB_BOTH float lob_filter_quiet(float value)
{
    if (value == value) return value;
    const uint32_t bits = 0x7fc00000u;
    memcpy(&value, &bits, sizeof value);
    return value;
}

LOB_BOTH double lob_filter_quiet_double(double value)
{
    if (value == value) return value;
    const uint64_t bits = 0x7ff8000000000000u;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Luminance: ITU-R BT.601. */
LOB_BOTH float lob_filter_luminance(float red, float green, float blue)
{
    const float r = .299f * red, g = .587f * green, b = .114f * blue;
    const float rg = r + g;
    return lob_filter_quiet(rg + b);
}

/* One channel mixed with the luminance. */
LOB_BOTH float lob_filter_desaturated(float value, float luminance, float amount)
{
    const float own = (1.0f - amount) * value, grey = amount * luminance;
    return lob_filter_quiet(own + grey);
}

/* A number of any type: doubles hold all of them but 64-bit integers. */
LOB_BOTH double lob_filter_load(const void *data, lob_type type, int64_t i)
{
#define LOAD(type_, ctype, name, integer, lowest, highest) \
    case type_:                                            \
        return (double)((const ctype *)data)[i];
    LOB_TYPE_SWITCH(type, LOAD)
#undef LOAD
    return 0.0;
}

/* A voxel of any type as float32. Every NaN that is converted becomes the same one. */
LOB_BOTH float lob_filter_float(const void *data, lob_type type, int64_t i)
{
    if (type == LOB_F32) return ((const float *)data)[i];
    const double value = lob_filter_load(data, type, i);
    return lob_filter_quiet((float)value);
}

/* The same as steps read it, mapped. */
LOB_BOTH float lob_filter_value(const void *data, lob_type type, const lob_filter_map *map,
                                int64_t i)
{
    return lob_filter_mapped(lob_filter_float(data, type, i), map);
}

/* The nearest whole number, of two the even one, clamped to an integer type; NaN becomes 0. To a
 * real type, converted. */
LOB_BOTH void lob_filter_store(void *data, lob_type type, int64_t i, double value)
{
    if (type == LOB_F32) {
        ((float *)data)[i] = lob_filter_quiet((float)value);
        return;
    }
    if (type == LOB_F64) {
        ((double *)data)[i] = lob_filter_quiet_double(value);
        return;
    }
#define STORE(type_, ctype, name, integer, lowest, highest)                     \
    case type_:                                                                 \
        if (!(integer)) {                                                       \
            break;                                                              \
        } else if (!(value == value)) {                                         \
            ((ctype *)data)[i] = 0;                                             \
        } else {                                                                \
            const double whole = rint(value);                                   \
            ((ctype *)data)[i] = whole >= (double)(highest)  ? (ctype)(highest) \
                                 : whole <= (double)(lowest) ? (ctype)(lowest)  \
                                                             : (ctype)whole;    \
        }                                                                       \
        break;
    LOB_TYPE_SWITCH(type, STORE)
#undef STORE
}

/* A 64-bit integer to a type: exact, and clamped where the type is an integer one. */
LOB_BOTH void lob_filter_store_wide(void *data, lob_type type, int64_t i, uint64_t bits,
                                    bool is_signed)
{
    const bool negative = is_signed && (int64_t)bits < 0;
#define STORE(type_, ctype, name, integer, lowest, highest)                                \
    case type_: {                                                                          \
        const bool has_sign = (double)(lowest) < 0;                                        \
        const uint64_t top = UINT64_MAX >> (64 - 8 * sizeof(ctype) + has_sign);            \
        const int64_t bottom = has_sign ? -(int64_t)top - 1 : 0;                           \
        if (!(integer))                                                                    \
            ((ctype *)data)[i] = negative ? (ctype)(int64_t)bits : (ctype)bits;            \
        else if (negative)                                                                 \
            ((ctype *)data)[i] = (ctype)((int64_t)bits < bottom ? bottom : (int64_t)bits); \
        else                                                                               \
            ((ctype *)data)[i] = (ctype)(bits > top ? top : bits);                         \
        break;                                                                             \
    }
    LOB_TYPE_SWITCH(type, STORE)
#undef STORE
}

/* Voxel i cast from type to type, and scaled: through a double, but 64-bit integers that are not
 * scaled exactly. */
LOB_BOTH void lob_filter_cast(const lob_filter_image *out, const lob_filter_image *in, double slope,
                              double inter, int64_t i)
{
    const bool scaled = slope != 1.0 || inter != 0.0;
    if (!scaled && (in->type == LOB_U64 || in->type == LOB_I64)) {
        lob_filter_store_wide(out->data, out->type, i, ((const uint64_t *)in->data)[i],
                              in->type == LOB_I64);
        return;
    }
    double value = lob_filter_load(in->data, in->type, i);
    if (scaled) {
        value = slope * value;
        value = value + inter;
    }
    lob_filter_store(out->data, out->type, i, value);
}

LOB_END_DECLS

#endif
