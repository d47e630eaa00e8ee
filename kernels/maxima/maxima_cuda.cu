/* Maxima on the GPU: voxels without a higher neighbour and their plateaus; the host chooses. */
#include "kernels/arrays.h"
#include "kernels/backend_cuda.h"
#include "kernels/device/arena.cuh"
#include "kernels/device/device_image.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/maxima/maxima_steps.h"

#include <string.h>

namespace lob::maxima
{

enum { THREADS = 256 };

struct params {
    lob_device_image image;
    lob_dims dims;
    double above;
    uint8_t *top;
    int32_t *labels;
    uint8_t *keep; /* of each plateau */
    const int32_t *number;
    const int64_t *first; /* of each plateau, its first voxel */
    double *value;
    int64_t n; /* voxels or plateaus */
    int offsets;
    int8_t offset[LOB_MOST_NEIGHBOURS][3];
};

/* lob_maxima_value */
static __device__ inline double value_of(const params &s, int64_t i)
{
    if (s.image.mask && !s.image.mask[i]) return -INFINITY;
    double value = lob_stored_value(&s.image, i);
    if (s.image.slope != 1.0 || s.image.inter != 0.0) value = s.image.slope * value + s.image.inter;
    return isfinite(value) ? value : -INFINITY;
}

/* The voxel's k-th neighbour; -1 outside. */
static __device__ inline int64_t neighbour_of(const params &s, const lob_voxel_at &at, int k)
{
    const int64_t x = at.x + s.offset[k][0], y = at.y + s.offset[k][1], z = at.z + s.offset[k][2];
    const bool inside =
        x >= 0 && x < s.dims.nx && y >= 0 && y < s.dims.ny && z >= 0 && z < s.dims.nz;
    return inside ? (z * s.dims.ny + y) * s.dims.nx + x : -1;
}

static __global__ void __launch_bounds__(THREADS) tops_kernel(params s)
{
    for (int64_t i = grid_first(); i < s.n; i += grid_step()) {
        const double own = value_of(s, i);
        bool top = own > s.above && own > -INFINITY;
        const lob_voxel_at at = lob_voxel_place(s.dims, i);
        for (int k = 0; k < s.offsets && top; k++) {
            const int64_t other = neighbour_of(s, at, k);
            top = other < 0 || value_of(s, other) <= own;
        }
        s.top[i] = top;
    }
}

/* A plateau that goes on in a voxel with a higher neighbour is none. */
static __global__ void __launch_bounds__(THREADS) slopes_kernel(params s)
{
    for (int64_t i = grid_first(); i < s.n; i += grid_step()) {
        if (!s.labels[i]) continue;
        const double own = value_of(s, i);
        const lob_voxel_at at = lob_voxel_place(s.dims, i);
        bool slope = false;
        for (int k = 0; k < s.offsets && !slope; k++) {
            const int64_t other = neighbour_of(s, at, k);
            slope = other >= 0 && !s.top[other] && value_of(s, other) == own;
        }
        if (slope) s.keep[s.labels[i] - 1] = 0;
    }
}

static __global__ void __launch_bounds__(THREADS) values_kernel(params s)
{
    for (int64_t m = grid_first(); m < s.n; m += grid_step()) s.value[m] = value_of(s, s.first[m]);
}

static __global__ void __launch_bounds__(THREADS) number_kernel(params s)
{
    for (int64_t i = grid_first(); i < s.n; i += grid_step())
        if (s.labels[i]) s.labels[i] = s.number[s.labels[i] - 1];
}

/* A call: the CPU's, and what it has on the device. */
struct job {
    lob_maxima_call c;
    lob_device *device;
    lob_volume image;
    params s;
    void *table; /* first, value, number and keep of each plateau */
};

static lob_status allocate(job *j, void *block, int64_t bytes)
{
    return lob_budget_alloc_at(&j->c.budget, j->device, block, bytes, j->c.error);
}

static lob_status launch(job *j, void (*kernel)(params), int64_t n)
{
    j->s.n = n;
    return lob_launch_over(j->device, kernel, "maxima", n, THREADS, j->s, j->c.error);
}

static job *job_of(lob_maxima_call *c)
{
    return (job *)c; /* its first field */
}

/* The image and the mask go to the device, if they are not there. */
static lob_status mark(lob_maxima_call *c)
{
    job *const j = job_of(c);
    const lob_maxima_input *const in = j->c.in;
    uint8_t *mask = NULL;
    const lob_device_array travels[] = {
        lob_device_volume(&j->image.data, in->image),
        lob_device_input(&mask, in->mask, c->voxels, in->image->place),
    };
    j->image = *in->image;
    j->image.place = lob_context_place(c->context);
    LOB_TRY(lob_device_send(j->device, travels, 2, c->voxels, c->error));
    LOB_TRY(allocate(j, &j->s.top, j->c.voxels));
    j->s.image = lob_device_image_of(&j->image, j->image.data, mask, NULL);
    j->s.dims = j->image.dims;
    j->s.above = j->c.options->above;
    j->s.offsets = j->c.offsets;
    memcpy(j->s.offset, j->c.offset, sizeof j->s.offset);
    c->top = j->s.top;
    return launch(j, tops_kernel, c->voxels);
}

static int64_t lay_out(job *j, void *block, int64_t count)
{
    arena memory(block);
    j->s.first = memory.take<int64_t>(count);
    j->s.value = memory.take<double>(count);
    j->s.number = memory.take<int32_t>(count);
    j->s.keep = memory.take<uint8_t>(count);
    return memory.used;
}

/* Values of the plateaus, and whether they are maxima. */
static lob_status look(lob_maxima_call *c, lob_maxima_output *out, uint8_t *keep,
                       const lob_region *regions)
{
    job *const j = job_of(c);
    lob_error *const error = c->error;
    const int64_t count = out->count;
    j->s.labels = out->labels;
    const int64_t bytes = count * (int64_t)sizeof(int64_t);
    int64_t *first;
    LOB_TRY(allocate(j, &j->table, lay_out(j, NULL, count)));
    lay_out(j, j->table, count);
    LOB_TRY(lob_budget_alloc(&j->c.budget, &first, count, sizeof *first, error));
    for (int64_t m = 0; m < count; m++) first[m] = regions[m].first;
    lob_status st = lob_device_upload(j->device, (void *)j->s.first, first, bytes, error);
    if (st == LOB_OK) st = launch(j, values_kernel, count);
    if (st == LOB_OK) st = lob_device_fill(j->device, j->s.keep, 1, count, error);
    if (st == LOB_OK) st = launch(j, slopes_kernel, j->c.voxels);
    if (st == LOB_OK) st = lob_device_download(j->device, keep, j->s.keep, count, error);
    double *const value = (double *)first;
    if (st == LOB_OK) st = lob_device_download(j->device, value, j->s.value, bytes, error);
    for (int64_t m = 0; m < count && st == LOB_OK; m++)
        out->maxima[m] = {regions[m].first, regions[m].voxels, value[m]};
    lob_budget_free(&j->c.budget, first, count, sizeof *first);
    return st;
}

static lob_status renumber(lob_maxima_call *c, int32_t *labels, const int32_t *number,
                           int64_t count)
{
    job *const j = job_of(c);
    const int64_t bytes = count * (int64_t)sizeof *number;
    (void)labels;
    LOB_TRY(lob_device_upload(j->device, (void *)j->s.number, number, bytes, c->error));
    return launch(j, number_kernel, c->voxels);
}

/* Heights, by the CPU on a copy of what is on the device. */
static lob_status heights(lob_maxima_call *c, uint8_t *keep, const lob_maxima_output *out)
{
    job *const j = job_of(c);
    const lob_maxima_input *const in = c->in;
    const int64_t bytes = lob_device_bytes_of(in->image);
    lob_budget *const budget = &c->budget;
    lob_error *const error = c->error;
    lob_volume image = *in->image;
    uint8_t *mask = NULL;
    if (image.place.kind == LOB_PLACE_MEMORY) return lob_maxima_heights(c, keep, out);
    LOB_TRY(lob_budget_alloc(budget, &image.data, bytes, 1, error));
    image.place = {};
    lob_status st = lob_device_download(j->device, image.data, j->image.data, bytes, error);
    if (st == LOB_OK && in->mask) st = lob_budget_alloc(budget, &mask, j->c.voxels, 1, error);
    if (mask) st = lob_device_download(j->device, mask, in->mask, j->c.voxels, error);
    const lob_maxima_input copy = {&image, mask};
    c->in = &copy;
    if (st == LOB_OK) st = lob_maxima_heights(c, keep, out);
    c->in = in;
    lob_budget_free(budget, mask, j->c.voxels, 1);
    lob_budget_free(budget, image.data, bytes, 1);
    return st;
}

/* The labels to where the image is. */
static lob_status give(job *j, lob_maxima_output *out)
{
    const int64_t bytes = j->c.voxels * (int64_t)sizeof *out->labels;
    int32_t *const labels = out->labels;
    const lob_status st = lob_device_result(j->device, (void **)&out->labels, labels, bytes,
                                            j->c.in->image->place, j->c.error);
    if (out->labels == labels) return st;
    lob_device_free(j->device, labels);
    out->device = NULL;
    return st;
}

} /* namespace lob::maxima */

using namespace lob::maxima;

lob_status lob_maxima_cuda(lob_maxima_output *out, const lob_maxima_input *in,
                           const lob_maxima_options *options, const lob_context *context,
                           lob_error *error)
{
    static const lob_maxima_ways ways = {mark, lob_components_cuda, look, renumber, heights};
    job j = {};
    *out = {};
    LOB_TRY(lob_maxima_begin(&j.c, in, options, context, error));
    if (!context->device) return lob_device_missing(error);
    LOB_TRY(lob_device_enter(context->device, error));
    j.device = context->device;
    lob_status st = lob_maxima_find(out, &j.c, &j.image, &ways);
    if (st == LOB_OK) st = give(&j, out);
    if (st == LOB_OK) st = lob_report(context, 1.0);
    lob_device_free(j.device, j.table);
    lob_device_free(j.device, j.s.top);
    out->working_bytes = j.c.budget.peak;
    if (st != LOB_OK) lob_maxima_output_free(out);
    return st;
}
