/* What steps need to know of all that they read, on the CPU. */
#include "kernels/filters/filter_stages.h"

#include "kernels/filters/denoise/denoise.h"
#include "kernels/histogram/histogram.h"

lob_status lob_filter_statistic_cpu(lob_filter_plan *plan, int i, lob_filter_output *out,
                                    const lob_filter_image *in, const uint8_t *mask,
                                    const lob_context *context, lob_budget *budget,
                                    lob_error *error)
{
    lob_filter_pass *pass = &plan->pass[i];
    if (pass->kind == LOB_PASS_STEP) {
        const lob_filter_call call = lob_filter_plan_call(plan, pass, mask, (const int64_t[3]){0});
        LOB_TRY(lob_denoise_noise_cpu(&pass->of.noise, in, &call, context, budget, error));
        out->noise[pass->step] = pass->of.noise;
        return LOB_OK;
    }
    const lob_context inner = lob_budget_inner(budget, context);
    lob_volume image = lob_volume_wrap(in->data, in->type, in->dims, in->channels, plan->spacing_mm,
                                       (lob_place){0});
    image.slope = pass->slope;
    image.inter = pass->inter;
    const lob_histogram_input data = {.image = &image, .channel = -1, .mask = mask};
    double found[2];
    LOB_TRY(lob_percentiles_cpu(found, out->clamps[pass->step], 2, NULL, &data, &inner, error));
    lob_filter_plan_clamp(pass, found);
    out->clamps[pass->step][0] = found[0];
    out->clamps[pass->step][1] = found[1];
    return LOB_OK;
}
