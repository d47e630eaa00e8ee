/*
 * Filters on the GPU, the call: a chain on arrays that are there, or that travel there as a whole.
 * slabs_cuda.cu has those that travel in slabs, passes_cuda.cu the passes.
 *
 * Whether values have to be tested for being finite is known only once all of them have been looked
 * at, which takes a wait. So the chain runs as if all were small, a kernel looks at the same time,
 * and where one was not the chain runs again.
 */
#include "kernels/backend_cuda.h"
#include "kernels/filters/filter_stages.h"
#include "kernels/filters/filters_cuda.cuh"
#include "kernels/share.h"
#include "volumes/voxel_memory.h"

namespace lob::filters
{

/* Arrays up to here travel in less time than it takes to make the buffers that slabs need. */
static const int64_t WHOLE_BYTES = 32 << 20;

/* Arrays of a call in device memory. */
typedef struct {
    const void *image;
    const uint8_t *mask; /* may be NULL */
    void *out;           /* of lob_filter_result's type and channels; overlaps neither */
} device_arrays;

static lob_status begin(device_chain *c, const lob_filter_input *in, bool unbounded,
                        const lob_filter_options *options, bool no_fuse)
{
    if (!c->device) return lob_device_missing(c->error);
    LOB_TRY(lob_filter_plan_make(&c->plan, in, options, unbounded, no_fuse, c->error));
    lob_filter_note_steps(c->out, in);
    return lob_device_enter(c->device, c->error);
}

/* One attempt on arrays. */
static lob_status attempt(device_chain *c, const device_arrays *arrays, const lob_filter_input *of,
                          scan_counts *found)
{
    const lob_volume *const image = of->image;
    const int64_t voxels = lob_voxels(image);
    const lob_filter_image in = {(void *)arrays->image, image->type, image->dims, image->channels};
    const bool looks = looks_at(of);
    lob_device_budget budget = lob_device_budget_of(c->context, "filters", voxels);
    void *memory = NULL;
    const int64_t bytes =
        passes_bytes(&c->plan, 0, c->plan.passes, image->dims, arrays->mask != NULL);
    const int64_t origin[3] = {0, 0, c->plane};
    LOB_TRY(
        lob_device_budget_take(&budget, LOB_DEVICE_WORK, bytes + SCAN_BYTES, &memory, c->error));
    c->out->working_bytes = lob_device_budget_held(&budget);
    scan_counts *counts = (scan_counts *)memory;
    if (looks) {
        LOB_TRY(lob_device_fill(c->device, counts, 0, sizeof *counts, c->error));
        LOB_TRY(scan(c->device, counts, &in, arrays->mask, 0, voxels, c->error));
    }
    const lob_status st = run_passes(c, 0, c->plan.passes, arrays->out, in, arrays->mask, origin,
                                     (unsigned char *)memory + SCAN_BYTES, true);
    if (st != LOB_OK && st != LOB_EDATA) return st;
    if (looks) LOB_TRY(lob_device_download(c->device, found, counts, sizeof *found, c->error));
    if (!of->bounded) LOB_TRY(lob_device_wait(c->device, c->error));
    return st;
}

/* Is a chain better run as a whole, and does it fit? Those that need statistics are, whose image
 * would travel twice otherwise, and those of small images. */
static bool runs_whole(const device_chain *c, const lob_filter_input *in, int64_t out_bytes)
{
    const int64_t arrays =
        lob_device_bytes_of(in->image) + out_bytes + (in->mask ? lob_voxels(in->image) : 0);
    const int64_t work =
        passes_bytes(&c->plan, 0, c->plan.passes, in->image->dims, in->mask != NULL);
    const int64_t limit = c->context->max_memory;
    bool statistics = false;
    for (int i = 0; i < c->plan.passes; i++) statistics |= c->plan.pass[i].statistic;
    if (!statistics && arrays > WHOLE_BYTES) return false;
    if (limit > 0 && work > limit) return false;
    return arrays + work < lob_device_free_bytes(c->device) / 10 * 9;
}

/* Whole, on arrays that are there, or slab by slab without any. Where values are of any size it is
 * run again; a sum that met one that is not finite may have left a statistic nothing to count. */
static lob_status run_attempts(device_chain *c, const device_arrays *arrays,
                               const lob_filter_input *in, const lob_filter_options *options,
                               const lob_filter_tuning *tuning)
{
    scan_counts found = {};
    lob_status st = LOB_OK;
    const int most = in->unbounded ? 1 : 2;
    for (int attempts = 0; attempts < most && (attempts == 0 || found.beyond); attempts++) {
        found = {};
        if (attempts) LOB_TRY(begin(c, in, true, options, tuning->no_fuse));
        st = arrays ? attempt(c, arrays, in, &found) : run_slabs(c, in, tuning->slab, &found);
        if (st != LOB_OK && st != LOB_EDATA) return st;
    }
    c->out->not_data = (int64_t)found.not_data;
    return st;
}

/* What travels goes up before all is computed, and comes down afterwards. */
static lob_status run_whole(device_chain *c, const lob_filter_input *in,
                            const lob_filter_options *options, const lob_filter_tuning *tuning,
                            int64_t out_bytes)
{
    device_arrays arrays = {};
    const int64_t voxels = lob_voxels(in->image);
    lob_device_array travels[] = {
        lob_device_volume(&arrays.image, in->image),
        lob_device_input(&arrays.mask, in->mask, voxels, in->place),
        lob_device_output(&arrays.out, c->out->data, out_bytes, in->place),
    };
    travels[0].aligned = travels[1].aligned = true;
    LOB_TRY(lob_device_send(c->device, travels, 3, voxels, c->error));
    LOB_TRY(run_attempts(c, &arrays, in, options, tuning));
    return lob_device_receive(c->device, travels, 3, c->error);
}

static lob_status run_chain(device_chain *c, const lob_filter_input *in,
                            const lob_filter_options *options, const lob_filter_tuning *tuning)
{
    LOB_TRY(begin(c, in, in->unbounded, options, tuning->no_fuse));
    const lob_filter_pass *last = &c->plan.pass[c->plan.passes - 1];
    const int64_t bytes = lob_filter_pass_bytes(last, lob_voxels(in->image));
    if (lob_device_bytes_of(in->image) < 0) return lob_device_too_large(c->error);
    c->out->type = last->to;
    c->out->channels = last->to_channels;
    const bool hosted = in->place.kind == LOB_PLACE_MEMORY;
    c->out->data = tuning->into;
    if (!tuning->into)
        LOB_TRY(lob_device_result_room(c->device, &c->out->data, bytes, in->place, c->error));
    if (!tuning->into && hosted) c->out->data = lob_voxel_memory(bytes);
    if (!hosted) c->out->device = c->device;
    if (!c->out->data)
        return lob_fail(c->error, LOB_ENOMEM, "no memory for the image that filters make");
    if (!hosted || in->image->place.kind != LOB_PLACE_MEMORY || tuning->slab < 0 ||
        (tuning->slab == 0 && runs_whole(c, in, bytes)))
        return run_whole(c, in, options, tuning, bytes);
    return run_attempts(c, NULL, in, options, tuning);
}

} /* namespace lob::filters */

lob_status lob_filter_cuda_tuned(lob_filter_output *out, const lob_filter_input *in,
                                 const lob_filter_options *options, const lob_filter_tuning *tuning,
                                 const lob_context *context, lob_error *error)
{
    lob::filters::device_chain c = {};
    *out = {};
    c.device = context->device;
    c.plane = in->plane;
    c.out = out;
    c.context = context;
    c.error = error;
    lob_status st = lob::filters::run_chain(&c, in, options, tuning);
    if (st == LOB_OK) st = lob_report(context, 1.0);
    if (st != LOB_OK && !tuning->into) lob_filter_output_free(out);
    return st;
}

lob_status lob_filter_cuda(lob_filter_output *out, const lob_filter_input *in,
                           const lob_filter_options *options, const lob_context *context,
                           lob_error *error)
{
    const lob_filter_tuning usual = {};
    return lob_filter_cuda_tuned(out, in, options, &usual, context, error);
}
