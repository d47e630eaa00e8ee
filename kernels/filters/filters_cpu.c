/*
 * Filters on the CPU: the plan's passes, one after the other, on the whole image or, where memory
 * is short, slab by slab.
 *
 * A part of the plan is a run of passes of which only the first may need a statistic of all that it
 * reads; the image between two parts is therefore always whole.
 */
#include "kernels/arrays.h"
#include "kernels/filters/denoise/denoise.h"
#include "kernels/filters/filter_slabs.h"
#include "kernels/filters/filter_stages.h"
#include "kernels/histogram/histogram.h"
#include "volumes/voxel_memory.h"

typedef struct {
    const lob_filter_input *in;
    lob_filter_plan plan;
    lob_filter_output *out;
    const lob_context *context;
    lob_budget budget;
    lob_error *error;
    int64_t origin[3];  /* of the slab at hand */
    double from, share; /* of the progress: what the work at hand covers */
    double shown;       /* progress never goes back, though an attempt may be repeated */
} chain;

/* ---- progress ---- */

static int on_progress(void *user, double done)
{
    chain *c = user;
    const double now = c->from + c->share * done;
    if (now > c->shown) c->shown = now;
    return c->context->progress(c->context->user, c->shown);
}

/* The context of a step: its progress is a share of the chain's. */
static lob_context inner_context(chain *c)
{
    lob_context inner = *c->context;
    if (inner.progress) {
        inner.progress = on_progress;
        inner.user = c;
    }
    return inner;
}

static lob_status show(chain *c)
{
    return c->context->progress && on_progress(c, 0.0) ? LOB_ECANCEL : LOB_OK;
}

/* ---- passes ---- */

static lob_filter_image written_by(const lob_filter_pass *pass, void *data, lob_dims dims)
{
    return (lob_filter_image){data, pass->to, dims, pass->to_channels};
}

static lob_status run_pass(chain *c, const lob_filter_pass *pass, const lob_filter_image *out,
                           const lob_filter_image *in, const uint8_t *mask)
{
    LOB_TRY(show(c));
    if (pass->kind != LOB_PASS_STEP) {
        lob_pointwise_run(out, in, pass, c->context->threads);
        return LOB_OK;
    }
    const lob_context context = inner_context(c);
    const lob_filter_call call = lob_filter_plan_call(&c->plan, pass, mask, c->origin);
    return lob_filter_kinds[pass->of.kind].run(out, in, &call, &context, &c->budget, c->error);
}

/* Run passes first .. end - 1 from one image to another. */
static lob_status run_passes(chain *c, int first, int end, lob_filter_image in, void *out,
                             const uint8_t *mask)
{
    int place[LOB_FILTER_MAX_STEPS + 2];
    int64_t bytes[2];
    void *image[3] = {out, NULL, NULL};
    const double from = c->from, share = c->share;
    lob_filter_plan_places(&c->plan, first, end, lob_dims_voxels(in.dims), place, bytes);
    lob_status st = LOB_OK;
    for (int k = 0; k < 2 && st == LOB_OK; k++)
        if (bytes[k] > 0) st = lob_budget_alloc(&c->budget, &image[k + 1], bytes[k], 1, c->error);
    for (int i = first; i < end && st == LOB_OK; i++) {
        const lob_filter_pass *pass = &c->plan.pass[i];
        const lob_filter_image to = written_by(pass, image[place[i - first]], in.dims);
        c->share = share / (end - first);
        c->from = from + c->share * (i - first);
        st = run_pass(c, pass, &to, &in, mask);
        in = to;
    }
    for (int k = 0; k < 2; k++) lob_budget_free(&c->budget, image[k + 1], bytes[k], 1);
    c->from = from;
    c->share = share;
    return st;
}

/* ---- what passes need to know of all that they read ---- */

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

/* ---- slabs ---- */

/* Memory of a slab, with its halo. */
typedef struct {
    unsigned char *in, *out;
    uint8_t *mask;
} slab_memory;

/* Copy a slab of so many channels: out of an image, with its halo, or what it gives into one. */
static void copy_slab(void *image, void *part, bool back, const lob_filter_cut *cut,
                      const lob_filter_slab *slab, int channels, size_t voxel_bytes, int threads)
{
    const int64_t unit = cut->unit * (int64_t)voxel_bytes, rows = slab->to - slab->from;
    const int64_t low = back ? slab->low : slab->from, high = back ? slab->high : slab->to;
    for (int c = 0; c < channels; c++) {
        unsigned char *const whole = (unsigned char *)image + (c * cut->side + low) * unit;
        unsigned char *const mine = (unsigned char *)part + (c * rows + low - slab->from) * unit;
        lob_filter_copy(back ? whole : mine, back ? mine : whole, (high - low) * unit, threads);
    }
}

static lob_status run_slab(chain *c, int first, int end, const lob_filter_image *in, void *out,
                           const lob_filter_cut *cut, const lob_filter_slab *slab,
                           const slab_memory *m)
{
    const lob_filter_pass *last = &c->plan.pass[end - 1];
    const size_t bytes = lob_type_of(in->type)->bytes, bytes_out = lob_type_of(last->to)->bytes;
    const int threads = c->context->threads;
    copy_slab(in->data, m->in, false, cut, slab, in->channels, bytes, threads);
    if (m->mask) copy_slab((void *)c->in->mask, m->mask, false, cut, slab, 1, 1, threads);
    const lob_filter_image part = {m->in, in->type, slab->dims, in->channels};
    LOB_TRY(run_passes(c, first, end, part, m->out, m->mask));
    copy_slab(out, m->out, true, cut, slab, last->to_channels, bytes_out, threads);
    return LOB_OK;
}

static lob_status run_slabs(chain *c, int first, int end, const lob_filter_image *in, void *out,
                            const lob_filter_cut *cut, int64_t height)
{
    const double from = c->from, share = c->share;
    const int64_t begin = c->origin[cut->axis];
    const int64_t voxels = lob_filter_slab_reads(cut, height) * cut->unit;
    const int64_t in_bytes = /* up to where any type may begin */
        (voxels * in->channels * (int64_t)lob_type_of(in->type)->bytes + 7) / 8 * 8;
    const int64_t out_bytes = lob_filter_pass_bytes(&c->plan.pass[end - 1], voxels);
    const int64_t bytes = in_bytes + out_bytes + (c->in->mask ? voxels : 0);
    unsigned char *memory;
    lob_status st = lob_budget_alloc(&c->budget, &memory, bytes, 1, c->error);
    slab_memory m = {.in = memory};
    if (st == LOB_OK) m.out = memory + in_bytes;
    if (st == LOB_OK && c->in->mask) m.mask = m.out + out_bytes;
    for (int64_t low = 0; low < cut->side && st == LOB_OK; low += height) {
        const lob_filter_slab slab = lob_filter_slab_of(cut, in->dims, low, height);
        c->from = from + share * (double)low / (double)cut->side;
        c->share = share * (double)(slab.high - slab.low) / (double)cut->side;
        c->origin[cut->axis] = begin + slab.from;
        st = run_slab(c, first, end, in, out, cut, &slab, &m);
    }
    c->origin[cut->axis] = begin;
    lob_budget_free(&c->budget, memory, bytes, 1);
    c->from = from;
    c->share = share;
    return st;
}

/* ---- parts ---- */

/* Whole if it fits, else in slabs that are halved until they do. */
static lob_status run_part(chain *c, int first, int end, const lob_filter_image *in, void *out,
                           int64_t asked)
{
    const lob_filter_cut cut = lob_filter_cut_of(&c->plan, first, end);
    const bool cuts = cut.halo >= 0;
    if (asked > 0 && asked < cut.side && cuts)
        return run_slabs(c, first, end, in, out, &cut, asked);
    lob_status st = run_passes(c, first, end, *in, out, c->in->mask);
    if (asked < 0 || !cuts) return st;
    for (int64_t height = cut.side / 2; height > 0 && st == LOB_ENOMEM; height /= 2)
        if (lob_filter_slab_reads(&cut, height) < cut.side)
            st = run_slabs(c, first, end, in, out, &cut, height);
    return st;
}

static lob_status run_parts(chain *c, lob_filter_image in, int64_t slab)
{
    void *between[2] = {NULL, NULL}; /* the image before this part, and after it */
    int64_t bytes[2] = {0, 0};
    lob_status st = LOB_OK;
    for (int first = 0, end; first < c->plan.passes && st == LOB_OK; first = end) {
        end = lob_filter_plan_part(&c->plan, first);
        const lob_filter_pass *last = &c->plan.pass[end - 1];
        const bool ends = end == c->plan.passes;
        c->from = (double)first / c->plan.passes;
        c->share = (double)(end - first) / c->plan.passes;
        if (c->plan.pass[first].statistic) {
            const lob_context context = inner_context(c);
            st = lob_filter_statistic_cpu(&c->plan, first, c->out, &in, c->in->mask, &context,
                                          &c->budget, c->error);
        }
        bytes[1] = ends ? 0 : lob_filter_pass_bytes(last, lob_dims_voxels(in.dims));
        if (st == LOB_OK && !ends)
            st = lob_budget_alloc(&c->budget, &between[1], bytes[1], 1, c->error);
        void *out = ends ? c->out->data : between[1];
        if (st == LOB_OK) st = run_part(c, first, end, &in, out, slab);
        lob_budget_free(&c->budget, between[0], bytes[0], 1);
        between[0] = between[1];
        bytes[0] = bytes[1];
        between[1] = NULL;
        in = written_by(last, out, in.dims);
    }
    lob_budget_free(&c->budget, between[0], bytes[0], 1);
    return st;
}

lob_status lob_filter_cpu_tuned(lob_filter_output *out, const lob_filter_input *in,
                                const lob_filter_options *options, const lob_filter_tuning *tuning,
                                const lob_context *context, lob_error *error)
{
    const lob_volume *image = in->image;
    bool unbounded = false;
    chain c = {
        .in = in,
        .out = out,
        .context = context,
        .budget = {.who = "filters", .limit = context->max_memory},
        .error = error,
        .origin = { 0,               0,                    in->plane}
    };
    *out = (lob_filter_output){0};
    LOB_TRY(lob_check_memory(in->place, image, NULL, error));
    LOB_TRY(lob_filter_plan_make(&c.plan, in, options, false, tuning->no_fuse, error));
    if (!in->bounded)
        lob_filter_scan(&out->not_data, &unbounded, image, in->mask, context->threads);
    unbounded = unbounded || in->unbounded;
    LOB_TRY(lob_filter_plan_make(&c.plan, in, options, unbounded, tuning->no_fuse, error));
    lob_filter_note_steps(out, in);
    const int64_t voxels = lob_voxels(image);
    const lob_filter_pass *last = &c.plan.pass[c.plan.passes - 1];
    out->type = last->to;
    out->channels = last->to_channels;
    out->data = tuning->into ? tuning->into : lob_voxel_memory(lob_filter_pass_bytes(last, voxels));
    lob_status st = LOB_ENOMEM;
    if (out->data)
        st = run_parts(&c,
                       (lob_filter_image){image->data, image->type, image->dims, image->channels},
                       tuning->slab);
    else
        lob_fail(error, st, "no memory for the image that filters make");
    out->working_bytes = c.budget.peak;
    c.from = 1.0;
    if (st == LOB_OK) st = show(&c);
    if (st != LOB_OK && !tuning->into) lob_filter_output_free(out);
    return st;
}

lob_status lob_filter_cpu(lob_filter_output *out, const lob_filter_input *in,
                          const lob_filter_options *options, const lob_context *context,
                          lob_error *error)
{
    lob_error_begin(error);
    const lob_filter_tuning usual = {0};
    return lob_error_end(error, lob_filter_cpu_tuned(out, in, options, &usual, context, error));
}
