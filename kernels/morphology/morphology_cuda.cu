/* Morphology on the GPU: one or two distance transforms that stop at the radius. */
#include "kernels/backend_cuda.h"
#include "kernels/device/arena.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/distance/distance_stages_cuda.cuh"
#include "kernels/distance/distance_voxel.h"
#include "kernels/morphology/morphology_plan.h"
#include "kernels/share.h"

namespace lob::morphology
{

enum { ERODE_THREADS = 256 };

struct erode_params {
    void *out;
    const void *labels, *kept; /* kept: NULL, or labels that stay as they are */
    const float *to_other;
    int64_t voxels;
    int label_bytes;
};

static __global__ void __launch_bounds__(ERODE_THREADS) erode_kernel(erode_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const uint32_t label = lob_distance_label(p.labels, p.label_bytes, i);
        const uint32_t kept = p.kept ? lob_distance_label(p.kept, p.label_bytes, i) : 0;
        lob_distance_put_label(p.out, p.label_bytes, i,
                               lob_morphology_eroded(label, p.to_other[i], kept));
    }
}

/* A call, and its working memory. */
struct job {
    lob_device *device;
    const lob_morphology_input *in;
    double radius;
    int64_t voxels, bytes; /* bytes of all labels */
    float *distance;
    void *labels; /* of a step before the last */
    void *work;   /* of a transform */
};

static int64_t lay_out(job *j, void *block)
{
    arena memory(block);
    j->distance = memory.take<float>(j->voxels);
    j->labels = memory.take<unsigned char>(j->bytes);
    const lob_distance_output found = {j->distance ? j->distance : (float *)1, NULL};
    const int64_t bytes = distance::work_bytes(&found, j->voxels);
    j->work = memory.take<unsigned char>(bytes);
    return memory.used;
}

static lob_status transform(const job &j, void *feature, const void *labels, lob_distance_kind kind,
                            lob_error *error)
{
    const lob_distance_output found = {j.distance, feature};
    const lob_distance_input in = lob_morphology_distance(j.in, labels);
    const lob_distance_options options = lob_morphology_options(kind, j.radius);
    return distance::transform(j.device, &found, labels, &in, &options, j.work, error);
}

/* out is not from. */
static lob_status dilate(const job &j, void *out, const void *from, lob_error *error)
{
    return transform(j, out, from, LOB_DISTANCE_TO_SET, error);
}

/* out may be from or kept. */
static lob_status erode(const job &j, void *out, const void *from, const void *kept,
                        lob_error *error)
{
    erode_params p = {out, from, kept, j.distance, j.voxels, (int)(j.bytes / j.voxels)};
    LOB_TRY(transform(j, NULL, from, LOB_DISTANCE_TO_OTHER, error));
    return lob_launch_over(j.device, erode_kernel, "eroding", j.voxels, ERODE_THREADS, p, error);
}

static lob_status run(const job &j, void *out, const void *labels, lob_morphology how,
                      lob_error *error)
{
    if (how == LOB_MORPHOLOGY_ERODE) return erode(j, out, labels, NULL, error);
    if (how == LOB_MORPHOLOGY_OPEN) {
        LOB_TRY(erode(j, j.labels, labels, NULL, error));
        return dilate(j, out, j.labels, error);
    }
    if (how == LOB_MORPHOLOGY_CLOSE) {
        LOB_TRY(dilate(j, j.labels, labels, error));
        return erode(j, out, j.labels, labels, error);
    }
    if (out != labels) return dilate(j, out, labels, error);
    LOB_TRY(dilate(j, j.labels, labels, error));
    return lob_device_copy(j.device, out, j.labels, j.bytes, error);
}

} /* namespace lob::morphology */

using namespace lob::morphology;

lob_status lob_morphology_cuda(void *out, const lob_morphology_input *in, lob_morphology how,
                               double radius, const lob_context *context, lob_error *error)
{
    job j = {};
    void *labels = NULL, *block = NULL;
    LOB_TRY(lob_morphology_check(in, how, radius, error));
    if (!context->device) return lob_device_missing(error);
    j.device = context->device;
    j.in = in;
    j.radius = radius;
    j.voxels = lob_dims_voxels(in->dims);
    j.bytes = lob_product(j.voxels, (int64_t)lob_type_of(in->type)->bytes, 1, 1);
    const lob_device_array travels[] = {
        {&labels, in->labels, out, j.bytes, in->place}
    };
    LOB_TRY(lob_device_send(j.device, travels, 1, j.voxels, error));
    LOB_TRY(lob_report(context, 0.3));
    lob_device_budget budget = lob_device_budget_of(context, "morphology", j.voxels);
    LOB_TRY(lob_device_budget_take(&budget, LOB_DEVICE_WORK, lay_out(&j, NULL), &block, error));
    lay_out(&j, block);
    LOB_TRY(run(j, in->place.kind == LOB_PLACE_MEMORY ? labels : out, labels, how, error));
    LOB_TRY(lob_device_receive(j.device, travels, 1, error));
    return lob_report(context, 1.0);
}
