/* Values in another voxel type, and what of them it cannot hold. */
#include "tools/commands/type_change.h"

#include <float.h>
#include <math.h>

/*
 * The value as its type would hold it. For integers the nearest whole number in the type's range (0
 * for NaN), for reals the nearest real.
 */
static double nearest_in(double value, lob_type type)
{
    const lob_type_info *info = lob_type_of(type);
    if (!info->is_integer) return type == LOB_F32 ? (double)(float)value : value;
    if (isnan(value)) return 0.0;
    return fmin(fmax(nearbyint(value), info->lowest), info->highest);
}

/*
 * Would the type change this value by more than its own precision? Reals are rounded to the type's
 * digits, whole numbers must come out as they went in. A 64-bit integer that a double has rounded
 * (from_wide) is not known well enough to say so.
 */
static bool is_lost(double value, lob_type type, bool from_wide)
{
    const lob_type_info *info = lob_type_of(type);
    const double kept = nearest_in(value, type);
    if (from_wide && fabs(value) > 0x1p53) return true;
    /* The largest 64-bit integer is no double: info->highest is the next one, out of range. */
    if (info->is_integer && info->bytes == 8 && value >= info->highest) return true;
    if (kept == value || (isnan(kept) && isnan(value))) return false;
    if (info->is_integer) return true;
    return value == nearbyint(value) || !isfinite(kept);
}

/* Store n values, each in the type's range. The highest 64-bit integers, no doubles, saturate. */
static void store(void *data, lob_type type, int64_t first, const double *values, int64_t n)
{
#define STORE(id, ctype, name, integer, lowest, highest)                                         \
    case id: {                                                                                   \
        ctype *out = (ctype *)data + first;                                                      \
        for (int64_t i = 0; i < n; i++)                                                          \
            out[i] =                                                                             \
                integer && values[i] >= (double)(highest) ? (ctype)(highest) : (ctype)values[i]; \
        break;                                                                                   \
    }
    LOB_TYPE_SWITCH(type, STORE)
#undef STORE
}

/* Where a voxel is, for a message. */
static lob_status refuse(lob_session *s, const lob_type_change *c, const lob_volume *v, int64_t z,
                         int64_t i, double value)
{
    const int64_t voxel = i % lob_voxels(v) + z * v->dims.nx * v->dims.ny;
    return lob_fail_file(
        &s->error, LOB_EDATA, c->path,
        "voxel (%lld, %lld, %lld) is %.10g, which %s cannot hold; choose a wider "
        "--type, or add --lossy to round and clamp",
        (long long)(voxel % v->dims.nx), (long long)(voxel / v->dims.nx % v->dims.ny),
        (long long)(voxel / v->dims.nx / v->dims.ny), value, lob_type_of(c->type)->name);
}

lob_status lob_type_change_voxels(lob_session *s, lob_type_change *c, const lob_volume *volume,
                                  int64_t z, void *out)
{
    enum { BLOCK = 4096 };
    const int64_t n = lob_product(lob_voxels(volume), volume->channels, 1, 1);
    const bool scaled = lob_volume_is_scaled(volume);
    const bool wide = volume->type == LOB_U64 || volume->type == LOB_I64;
    const bool is_real = !lob_type_of(c->type)->is_integer;
    for (int64_t first = 0; first < n; first += BLOCK) {
        double values[BLOCK];
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        lob_values(values, volume->data, volume->type, first, count);
        for (int64_t i = 0; i < count; i++) {
            const double value = scaled ? volume->slope * values[i] + volume->inter : values[i];
            const bool loses = is_lost(value, c->type, wide);
            if (loses && !c->lossy) return refuse(s, c, volume, z, first + i, value);
            c->lost += loses;
            values[i] = nearest_in(value, c->type);
            c->rounded += is_real && values[i] != value && !isnan(value);
        }
        store(out, c->type, first, values, count);
    }
    return LOB_OK;
}

void lob_type_change_report(lob_session *s, const lob_type_change *c)
{
    const lob_type_info *const type = lob_type_of(c->type);
    if (c->lost > 0)
        lob_session_note(s, "%s: voxels rounded or clamped to fit %s: %lld", c->path, type->name,
                         (long long)c->lost);
    else if (c->rounded > 0)
        lob_session_note(s, "%s: voxels rounded to the digits of %s: %lld", c->path, type->name,
                         (long long)c->rounded);
    cJSON_AddNumberToObject(s->results, "changed_voxels", (double)c->lost);
    if (!type->is_integer)
        cJSON_AddNumberToObject(s->results, "rounded_voxels", (double)c->rounded);
}
