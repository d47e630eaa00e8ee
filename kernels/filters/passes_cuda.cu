/* Passes of a plan on images in device memory: where each writes, and the table of steps. */
#include "kernels/filters/filters_cuda.cuh"

#include "kernels/device/arena.cuh"
#include "kernels/histogram/histogram_cuda.cuh"

namespace lob::filters
{

/* In the order of lob_filter_kind. */
static const struct {
    step_bytes *bytes; /* NULL: none */
    step_run *run;
} kinds[LOB_FILTER_KINDS] = {
    {gaussian_bytes, gaussian},
    {gaussian_bytes, gaussian},
    {gaussian_bytes, gaussian},
    {box_bytes,      box     },
    {NULL,           median  },
    {NULL,           denoise },
};

static const int64_t WHOLE[3] = {0, 0, 0};

/* ---- memory ---- */

typedef struct {
    int place[LOB_FILTER_MAX_STEPS + 2];
    void *image[3]; /* 0: the output */
    unsigned char *work;
} pass_memory;

static int64_t work_bytes_of(const lob_filter_plan *plan, const lob_filter_pass *pass,
                             lob_dims dims, bool masked)
{
    static const uint8_t some = 0; /* a mask's address, which is not followed */
    const lob_filter_image in = {NULL, pass->from, dims, pass->from_channels};
    const lob_filter_call call = lob_filter_plan_call(plan, pass, masked ? &some : NULL, WHOLE);
    if (pass->kind != LOB_PASS_STEP) return pass->statistic ? histogram::work_bytes() : 0;
    if (pass->statistic) return denoise_noise_bytes(&in, &call);
    step_bytes *const bytes = kinds[pass->of.kind].bytes;
    return bytes ? bytes(&in, &call) : 0;
}

/* Lay the memory out; with NULL only its size, which is returned. */
static int64_t lay_out(pass_memory *m, void *memory, const lob_filter_plan *plan, int first,
                       int end, lob_dims dims, bool masked)
{
    int64_t bytes[2], work = 0;
    arena from(memory);
    lob_filter_plan_places(plan, first, end, lob_dims_voxels(dims), m->place, bytes);
    for (int k = 0; k < 2; k++) m->image[k + 1] = from.take<unsigned char>(bytes[k]);
    for (int i = first; i < end; i++) {
        const int64_t its = work_bytes_of(plan, &plan->pass[i], dims, masked);
        if (its > work) work = its;
    }
    m->work = from.take<unsigned char>(work);
    return from.used;
}

int64_t passes_bytes(const lob_filter_plan *plan, int first, int end, lob_dims dims, bool masked)
{
    pass_memory unused;
    return lay_out(&unused, NULL, plan, first, end, dims, masked);
}

/* ---- running ---- */

static lob_status find_statistic(device_chain *c, lob_filter_pass *pass, const lob_filter_image *in,
                                 const uint8_t *mask, void *work)
{
    if (pass->kind == LOB_PASS_STEP) {
        const lob_filter_call call = lob_filter_plan_call(&c->plan, pass, mask, WHOLE);
        LOB_TRY(denoise_noise(c->device, &pass->of.noise, in, &call, work, c->error));
        c->out->noise[pass->step] = pass->of.noise;
        return LOB_OK;
    }
    const int64_t voxels = lob_dims_voxels(in->dims);
    const histogram::device_values values = {in->data, in->type,    voxels,     in->channels,
                                             mask,     pass->slope, pass->inter};
    double *const percent = c->out->clamps[pass->step];
    double found[2];
    LOB_TRY(histogram::percentiles(found, percent, 2, NULL, &values, c->device, work, c->error));
    lob_filter_plan_clamp(pass, found);
    percent[0] = found[0];
    percent[1] = found[1];
    return LOB_OK;
}

lob_status run_passes(device_chain *c, int first, int end, void *out, lob_filter_image in,
                      const uint8_t *mask, const int64_t origin[3], void *memory, bool statistics)
{
    pass_memory m;
    lay_out(&m, memory, &c->plan, first, end, in.dims, mask != NULL);
    m.image[0] = out;
    for (int i = first; i < end; i++) {
        lob_filter_pass *pass = &c->plan.pass[i];
        const lob_filter_image to = {m.image[m.place[i - first]], pass->to, in.dims,
                                     pass->to_channels};
        if (statistics && pass->statistic) LOB_TRY(find_statistic(c, pass, &in, mask, m.work));
        const lob_filter_call call = lob_filter_plan_call(&c->plan, pass, mask, origin);
        if (pass->kind != LOB_PASS_STEP)
            LOB_TRY(run_pointwise(c->device, &to, &in, pass, c->error));
        else
            LOB_TRY(kinds[pass->of.kind].run(c->device, &to, &in, &call, m.work, c->error));
        in = to;
    }
    return LOB_OK;
}

} /* namespace lob::filters */
