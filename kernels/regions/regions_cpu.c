/* Regions on the CPU: sums by threads, their merge, and measures made from them. */
#include "kernels/regions/regions.h"

#include "kernels/arrays.h"
#include "kernels/histogram/histogram_bins.h"
#include "kernels/progress.h"
#include "kernels/regions/regions_sum.h"
#include "kernels/regions/regions_voxel.h"
#include "volumes/free.h"
#include "volumes/labels.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

lob_fine_levels lob_fine_levels_of(const lob_extremes *all, lob_type type)
{
    lob_fine_levels fine = {.per_unit = 1.0};
    if (!all->any) return fine;
    fine.low = all->low + 0.0; /* -0.0 becomes 0.0: which of them came first must not matter */
    fine.low_bits = all->low_bits;
    fine.exact = lob_type_of(type)->is_integer && all->high_bits - all->low_bits <= UINT32_MAX;
    if (!fine.exact) {
        const double half = all->high * 0.5 - all->low * 0.5;
        fine.per_unit = half > 0 ? fmin(2147483647.5 / half, DBL_MAX / 2) : 1.0;
    }
    return fine;
}

lob_extremes lob_extremes_of(const lob_volume *image, int threads)
{
    const lob_histogram_input in = {.image = image};
    const lob_context context = {.threads = threads};
    lob_extremes all = {0};
    lob_histogram_add_extremes(&all, &in, &context);
    return all;
}

/* Sums of a whole run stay in registers. */
#define ADD_VALUES(type, ctype, name, integer, type_min, type_max)                       \
    case type: {                                                                         \
        const ctype *in = (const ctype *)image->data + first;                            \
        ctype low = (ctype)(type_max), high = (ctype)(type_min);                         \
        for (int64_t i = 0; i < n; i++) {                                                \
            if (!LOB_IS_FINITE(in[i])) continue;                                         \
            const uint32_t level =                                                       \
                fine->exact ? (uint32_t)((uint64_t)in[i] - fine->low_bits)               \
                            : lob_fine_mapped((double)in[i], fine->low, fine->per_unit); \
            lob_region_add_fine(&part, level);                                           \
            if (in[i] < low) low = in[i];                                                \
            if (in[i] > high) high = in[i];                                              \
            part.data++;                                                                 \
        }                                                                                \
        part.lowest = (double)low + 0.0; /* -0.0 becomes 0.0: order must not matter */   \
        part.highest = (double)high + 0.0;                                               \
        break;                                                                           \
    }

void lob_region_values_add(lob_region_values *to, const lob_region_values *part)
{
    if (part->data == 0) return;
    if (to->data == 0 || part->lowest < to->lowest) to->lowest = part->lowest;
    if (to->data == 0 || part->highest > to->highest) to->highest = part->highest;
    to->data += part->data;
    to->fine += part->fine;
    to->square[0] += part->square[0];
    to->square[1] += part->square[1];
}

void lob_region_add_run_values(lob_region_values *values, const lob_volume *image,
                               const lob_fine_levels *fine, int64_t first, int64_t n)
{
    lob_region_values part = {0};
    LOB_TYPE_SWITCH(image->type, ADD_VALUES);
    lob_region_values_add(values, &part);
}

void lob_region_add(lob_region *to, const lob_region *part)
{
    if (part->voxels == 0) return;
    const bool none = to->voxels == 0;
    if (none || part->first < to->first) to->first = part->first;
    for (int a = 0; a < 3; a++) {
        if (none || part->low[a] < to->low[a]) to->low[a] = part->low[a];
        if (none || part->high[a] > to->high[a]) to->high[a] = part->high[a];
        to->sum[a] += part->sum[a];
    }
    to->voxels += part->voxels;
}

lob_status lob_regions_check_data(const lob_region_values *values, int64_t count, lob_error *error)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i].data > INT64_C(1) << LOB_REGION_DATA_BITS)
            return lob_fail(
                error, LOB_EDATA,
                "label %lld has %lld voxels, more than intensities can be added up for; "
                "leave the image out",
                (long long)(i + 1), (long long)values[i].data);
    return LOB_OK;
}

/* Standard deviation in fine levels. */
static double fine_deviation(const lob_region_values *values)
{
    typedef unsigned __int128 uint128; /* n * sum of squares < 2^32 * 2^32 * 2^64 */
    const uint128 n = (uint128)values->data, sum = values->fine;
    const uint128 squares = ((uint128)values->square[1] << 32) + values->square[0];
    const uint128 spread = n * squares - sum * sum; /* >= 0 (Cauchy-Schwarz) */
    return sqrt((double)spread) / (double)values->data;
}

lob_region_measures lob_region_measure(const lob_region *region, const lob_region_values *values,
                                       const lob_geometry *geometry, const lob_fine_levels *fine,
                                       double slope, double inter)
{
    lob_region_measures m = {.mm3 = (double)region->voxels * lob_voxel_mm3(geometry),
                             .lowest = NAN,
                             .mean = NAN,
                             .highest = NAN,
                             .deviation = NAN};
    for (int a = 0; a < 3; a++) m.centroid[a] = (double)region->sum[a] / (double)region->voxels;
    lob_voxel_to_world(m.centroid_mm, geometry, m.centroid);
    if (!values || values->data == 0) return m;
    const double ends[2] = {slope * values->lowest + inter, slope * values->highest + inter};
    const double level = (double)values->fine / (double)values->data;
    m.lowest = fmin(ends[0], ends[1]);
    m.highest = fmax(ends[0], ends[1]);
    m.mean = fmin(fmax(slope * (fine->low + level / fine->per_unit) + inter, m.lowest), m.highest);
    m.deviation = fabs(slope) * (fine_deviation(values) / fine->per_unit);
    return m;
}

void lob_region_measure_all(lob_region_measures *measures, const lob_region *regions,
                            const lob_region_values *values, int64_t count,
                            const lob_geometry *geometry, const lob_fine_levels *fine, double slope,
                            double inter)
{
    static const lob_region_measures none = {
        NAN, {NAN, NAN, NAN},
         {NAN, NAN, NAN},
         NAN, NAN, NAN, NAN
    };
    for (int64_t i = 0; i < count; i++)
        measures[i] = regions[i].voxels > 0
                          ? lob_region_measure(&regions[i], values ? &values[i] : NULL, geometry,
                                               fine, slope, inter)
                          : none;
}

#define NO_BAD_VOXEL INT64_MAX

/* A call. The first thread adds up in the output, every other in a table of its own. */
typedef struct {
    const lob_regions_input *in;
    const lob_fine_levels *fine;
    int threads;
    lob_region *regions;       /* count: the output */
    lob_region_values *values; /* count: the output; NULL without an image */
    lob_region *more_regions;  /* (threads - 1) * count */
    lob_region_values *more_values;
    lob_progress progress;
    atomic_llong bad_voxel; /* the first voxel by index whose label is out of range */
} measuring;

/* Keep the smallest index, in whichever order threads meet them. */
static void note_bad_voxel(measuring *m, int64_t voxel)
{
    long long first = atomic_load(&m->bad_voxel);
    while (voxel < first && !atomic_compare_exchange_weak(&m->bad_voxel, &first, voxel)) {
    }
}

static void measure_row(measuring *m, int thread, int64_t row)
{
    const lob_regions_input *in = m->in;
    const int64_t nx = in->dims.nx, first = row * nx;
    const int64_t y = row % in->dims.ny, z = row / in->dims.ny;
    const int64_t table = (thread - 1) * in->count;
    lob_region *regions = thread ? m->more_regions + table : m->regions;
    lob_region_values *values = thread && in->image ? m->more_values + table : m->values;
    for (int64_t x = 0, end; x < nx; x = end) {
        const int32_t label = lob_label_at(in->labels, in->type, first + x);
        end = x + 1;
        while (end < nx && lob_label_at(in->labels, in->type, first + end) == label) end++;
        if (label == 0) continue;
        if (label < 0 || label > in->count) {
            note_bad_voxel(m, first + x);
            continue;
        }
        lob_region_add_run(&regions[label - 1], first + x, x, y, z, end - x);
        if (in->image)
            lob_region_add_run_values(&values[label - 1], in->image, m->fine, first + x, end - x);
    }
}

static void measure_rows(measuring *m)
{
    enum { ROWS = 64 }; /* at a time */
    const int64_t rows = m->in->dims.ny * m->in->dims.nz;
    lob_progress_stage(&m->progress, rows, 1.0);
#pragma omp parallel for schedule(dynamic, 1) num_threads(m->threads)
    for (int64_t first = 0; first < rows; first += ROWS) {
        if (lob_progress_stopped(&m->progress)) continue;
        const int64_t end = first + ROWS < rows ? first + ROWS : rows;
        for (int64_t row = first; row < end; row++) measure_row(m, omp_get_thread_num(), row);
        lob_progress_report(&m->progress, end - first);
    }
    for (int t = 1; t < m->threads; t++)
        for (int64_t i = 0; i < m->in->count; i++) {
            const int64_t part = (t - 1) * m->in->count + i;
            lob_region_add(&m->regions[i], &m->more_regions[part]);
            if (m->values) lob_region_values_add(&m->values[i], &m->more_values[part]);
        }
}

lob_status lob_regions_check_sides(lob_dims dims, lob_error *error)
{
    if (dims.nx <= INT32_MAX && dims.ny <= INT32_MAX && dims.nz <= INT32_MAX) return LOB_OK;
    return lob_fail(error, LOB_EDATA, "regions are not measured along a side past %d voxels",
                    INT32_MAX);
}

lob_status lob_regions_check(const lob_regions_input *in, lob_error *error)
{
    if (lob_dims_voxels(in->dims) < 1 || in->count < 0 || in->count > INT32_MAX)
        return lob_fail(error, LOB_EARG, "there is nothing to measure");
    if (in->type != LOB_U8 && in->type != LOB_I16 && in->type != LOB_I32)
        return lob_fail(error, LOB_EARG, "labels must be uint8, int16 or int32");
    if (!in->image) return lob_regions_check_sides(in->dims, error);
    if (memcmp(&in->image->dims, &in->dims, sizeof in->dims) != 0)
        return lob_fail(error, LOB_EARG, "image and labels have different dimensions");
    if (in->image->channels != 1)
        return lob_fail(error, LOB_EARG, "intensities must have one channel, not %d",
                        in->image->channels);
    return lob_regions_check_sides(in->dims, error);
}

lob_status lob_regions_refuse_label(int64_t voxel, int64_t count, lob_error *error)
{
    return lob_fail(error, LOB_EDATA, "the label of voxel %lld is not in 0..%lld", (long long)voxel,
                    (long long)count);
}

static int64_t table_bytes(const lob_regions_input *in)
{
    return in->count * (int64_t)(sizeof(lob_region) + (in->image ? sizeof(lob_region_values) : 0));
}

int lob_regions_threads(const lob_regions_input *in, int64_t table, const lob_context *context)
{
    if (table == 0 || context->threads < 1) return 1;
    int64_t tables = lob_dims_voxels(in->dims) / table;
    if (context->max_memory > 0 && tables > context->max_memory / table)
        tables = context->max_memory / table;
    return context->threads > tables + 1 ? (int)tables + 1 : context->threads;
}

int64_t lob_regions_sum_bytes(const lob_regions_input *in, const lob_context *context)
{
    return (lob_regions_threads(in, table_bytes(in), context) - 1) * table_bytes(in);
}

lob_status lob_regions_sum(lob_region *regions, lob_region_values *values,
                           const lob_fine_levels *fine, const lob_regions_input *in,
                           const lob_context *context, lob_error *error)
{
    const size_t count = (size_t)in->count;
    if (count == 0) return LOB_OK;
    measuring m = {.in = in,
                   .fine = fine,
                   .threads = lob_regions_threads(in, table_bytes(in), context),
                   .regions = regions,
                   .values = in->image ? values : NULL,
                   .progress = {.context = context}};
    const size_t more = (size_t)(m.threads - 1) * count;
    lob_status st = LOB_OK;
    atomic_init(&m.bad_voxel, NO_BAD_VOXEL);
    memset(regions, 0, count * sizeof *regions);
    if (in->image) memset(values, 0, count * sizeof *values);
    if (more > 0) m.more_regions = calloc(more, sizeof *m.more_regions);
    if (more > 0 && in->image) m.more_values = calloc(more, sizeof *m.more_values);
    if (more > 0 && (!m.more_regions || (in->image && !m.more_values)))
        st = lob_fail(error, LOB_ENOMEM, "no memory to measure %lld labels", (long long)in->count);
    if (st == LOB_OK) measure_rows(&m);
    if (lob_progress_stopped(&m.progress)) st = LOB_ECANCEL;
    const int64_t bad_voxel = atomic_load(&m.bad_voxel);
    if (st == LOB_OK && bad_voxel != NO_BAD_VOXEL)
        st = lob_regions_refuse_label(bad_voxel, in->count, error);
    if (st == LOB_OK && in->image) st = lob_regions_check_data(values, in->count, error);
    LOB_FREE(m.more_values, m.more_regions);
    return st;
}

lob_status lob_regions_cpu(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                           const lob_regions_input *in, const lob_context *context,
                           lob_error *error)
{
    lob_error_begin(error);
    LOB_TRY(lob_check_memory(in->place, in->image, NULL, error));
    LOB_TRY(lob_regions_check(in, error));
    lob_fine_levels levels = {0};
    if (in->image) {
        const lob_extremes all = lob_extremes_of(in->image, context->threads);
        levels = lob_fine_levels_of(&all, in->image->type);
        if (fine) *fine = levels;
    }
    return lob_error_end(error, lob_regions_sum(regions, values, &levels, in, context, error));
}
