/* Changing the type of voxels. */
#include "tools/commands/convert/type_change.h"

#include "kernels/filters/pointwise_voxel.h"

#include <math.h>

/*
 * Would the type change this value, which it holds as `kept`, by more than its own precision? Reals
 * are rounded to the type's digits, whole numbers must come out as they went in. A 64-bit integer
 * that a double has rounded (from_wide) is not known well enough to say so.
 */
static bool is_lost(double value, double kept, const lob_type_info *type, bool from_wide)
{
    if (from_wide && fabs(value) > 0x1p53) return true;
    /* The largest 64-bit integer is no double: type->highest is the next one, out of range. */
    if (type->is_integer && type->bytes == 8 && value >= type->highest) return true;
    if (kept == value || (isnan(kept) && isnan(value))) return false;
    if (type->is_integer) return true;
    return value == nearbyint(value) || !isfinite(kept);
}

/* Store a value as a type holds it: rounded, and in integers clamped. NaNs keep their bits. */
static void store(void *data, lob_type type, int64_t i, double value)
{
    if (type == LOB_F32)
        ((float *)data)[i] = (float)value;
    else if (type == LOB_F64)
        ((double *)data)[i] = value;
    else
        lob_filter_store(data, type, i, value);
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
    const bool scaled = lob_is_scaled(volume);
    const bool wide = volume->type == LOB_U64 || volume->type == LOB_I64;
    const lob_type_info *const type = lob_type_of(c->type);
    for (int64_t first = 0; first < n; first += BLOCK) {
        double values[BLOCK];
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        lob_values(values, volume->data, volume->type, first, count);
        for (int64_t i = 0; i < count; i++) {
            const double value = scaled ? volume->slope * values[i] + volume->inter : values[i];
            store(out, c->type, first + i, value);
            const double kept = lob_filter_load(out, c->type, first + i);
            const bool loses = is_lost(value, kept, type, wide);
            if (loses && !c->lossy) return refuse(s, c, volume, z, first + i, value);
            c->lost += loses;
            c->rounded += !type->is_integer && kept != value && !isnan(value);
        }
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
