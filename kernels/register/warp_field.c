/* A volume through a field. */
#include "kernels/arrays.h"
#include "kernels/filters/pointwise_voxel.h"
#include "kernels/progress.h"
#include "kernels/register/register_voxel.h"

/* The voxels around a position, and how much each counts: 0..1. */
typedef struct {
    int64_t index[8];
    double weight[8];
    int64_t nearest;
} corners;

/* Find them; false: the position lies outside of the volume, beyond the outer faces of its voxels.
 */
static bool find_corners(corners *k, lob_dims dims, const double at[3])
{
    int64_t low[3], high[3], stride = 1;
    double part[3];
    k->nearest = 0;
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(dims, a);
        double p = at[a];
        if (!(p >= -0.5 && p <= (double)side - 0.5)) return false;
        p = p > 0.0 ? p < (double)(side - 1) ? p : (double)(side - 1) : 0.0;
        low[a] = (int64_t)p;
        part[a] = p - (double)low[a];
        k->nearest += (low[a] + (part[a] >= 0.5)) * stride;
        high[a] = (low[a] + (part[a] > 0.0)) * stride;
        low[a] *= stride;
        stride *= side;
    }
    for (int i = 0; i < 8; i++) {
        k->index[i] = 0;
        k->weight[i] = 1.0;
        for (int a = 0; a < 3; a++) {
            k->index[i] += i >> a & 1 ? high[a] : low[a];
            k->weight[i] *= i >> a & 1 ? part[a] : 1.0 - part[a];
        }
    }
    return true;
}

/* The mean of the values that are numbers; NaN where there are none. */
static double mean(const double value[8], const corners *k)
{
    double sum = 0.0, weights = 0.0;
    for (int i = 0; i < 8; i++) {
        if (k->weight[i] == 0.0 || isnan(value[i])) continue;
        sum += k->weight[i] * value[i];
        weights += k->weight[i];
    }
    return weights > 0.0 ? sum / weights : (double)NAN;
}

/* The value of the largest weight. Weights are whole numbers of 2^-20, so that equal ones are. */
static double most(const double value[8], const corners *k)
{
    double best = value[0];
    int64_t highest = -1;
    for (int i = 0; i < 8; i++) {
        int64_t sum = 0;
        for (int j = 0; j < 8; j++)
            if (value[j] == value[i]) sum += (int64_t)(k->weight[j] * (1 << 20) + 0.5);
        if (sum > highest || (sum == highest && value[i] < best)) {
            highest = sum;
            best = value[i];
        }
    }
    return best;
}

static void warp_voxel(void *to, const lob_volume *moving, int64_t channel, const corners *k,
                       int64_t i, lob_warp_method method)
{
    const int64_t first = channel * lob_voxels(moving);
    double value[8];
    for (int j = 0; j < 8; j++)
        lob_values(&value[j], moving->data, moving->type, first + k->index[j], 1);
    const double result = method == LOB_WARP_LINEAR ? mean(value, k) : most(value, k);
    lob_filter_store(to, moving->type, i, result);
}

static void copy_voxel(void *to, const lob_volume *moving, int64_t from, int64_t i)
{
    const size_t bytes = lob_type_of(moving->type)->bytes;
    memcpy((char *)to + (size_t)i * bytes, (const char *)moving->data + (size_t)from * bytes,
           bytes);
}

static lob_status warp_all(lob_volume *out, const lob_volume *moving, const lob_field *field,
                           lob_warp_method method, const lob_context *context)
{
    const lob_dims d = out->dims;
    const int64_t voxels = lob_voxels(out);
    lob_progress progress = {.context = context};
    lob_progress_stage(&progress, d.ny * d.nz, 1.0);
#pragma omp parallel for schedule(dynamic, 16) num_threads(context->threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++) {
        if (lob_progress_stopped(&progress)) continue;
        for (int64_t x = 0; x < d.nx; x++) {
            double at[3], world[3], mm[3], voxel[3];
            corners k;
            lob_register_voxel(at, d, row * d.nx + x);
            lob_voxel_to_world(world, &out->geometry, at);
            lob_field_at(mm, field, world);
            for (int a = 0; a < 3; a++) world[a] += mm[a];
            lob_world_to_voxel(voxel, &moving->geometry, world);
            if (!find_corners(&k, moving->dims, voxel)) continue;
            for (int64_t c = 0; c < moving->channels; c++) {
                const int64_t i = c * voxels + row * d.nx + x;
                if (method == LOB_WARP_NEAREST)
                    copy_voxel(out->data, moving, c * lob_voxels(moving) + k.nearest, i);
                else
                    warp_voxel(out->data, moving, c, &k, i, method);
            }
        }
        lob_progress_report(&progress, 1);
    }
    return lob_progress_stopped(&progress) ? LOB_ECANCEL : LOB_OK;
}

lob_status lob_warp(lob_volume *out, const lob_volume *moving, const lob_field *field,
                    const lob_volume *like, lob_warp_method method, const lob_context *context,
                    lob_error *error)
{
    lob_error_begin(error);
    *out = lob_volume_empty();
    LOB_TRY(lob_check_memory((lob_place){0}, moving, NULL, error));
    if (method == LOB_WARP_LABELS && !lob_type_of(moving->type)->is_integer)
        return lob_fail(error, LOB_EARG, "labels are whole numbers, not %s",
                        lob_type_of(moving->type)->name);
    lob_volume header = *like;
    header.data = NULL;
    header.names = moving->names;
    lob_status st = lob_volume_like(out, &header, moving->type, moving->channels);
    if (st == LOB_OK) {
        out->slope = moving->slope;
        out->inter = moving->inter;
        st = warp_all(out, moving, field, method, context);
    }
    if (st != LOB_OK) lob_volume_free(out);
    return lob_error_end(error, st);
}
