/* Filters on slabs: the plan of the whole volume says what a slab reads. */
#include "tools/commands/slab_filter.h"

#include "kernels/filters/filter_slabs.h"
#include "kernels/filters/filter_stages.h"

/* Look at a slab's own planes. */
static lob_status look(lob_session *s, const lob_slab *slab, void *user)
{
    lob_slab_filter *const f = user;
    const uint8_t *const mask = slab->mask ? slab->mask + lob_slab_before(slab) : NULL;
    const lob_volume own = lob_slab_own(slab, &slab->image);
    int64_t not_data = 0;
    bool beyond = false;
    lob_filter_scan(&not_data, &beyond, &own, mask, s->context.threads);
    f->not_data += not_data;
    f->in.unbounded = f->in.unbounded || beyond;
    return lob_session_cancelled(s);
}

static lob_status look_through(lob_session *s, lob_slab_filter *f)
{
    LOB_TRY(lob_slabs_each(s, f->slabs, look, f));
    int64_t sums[] = {f->not_data, f->in.unbounded};
    LOB_TRY(lob_team_reduce(s->team, sums, 2, LOB_TEAM_SUM, &s->error));
    f->not_data = sums[0];
    f->in.unbounded = sums[1] > 0;
    return LOB_OK;
}

/* Bytes of a voxel of the images between passes. */
static int64_t bytes_between(const lob_filter_plan *plan)
{
    enum { SOME = 1 << 10 };
    int place[LOB_FILTER_MAX_STEPS + 2];
    int64_t bytes[2];
    lob_filter_plan_places(plan, 0, plan->passes, SOME, place, bytes);
    return (bytes[0] + bytes[1] + SOME - 1) / SOME;
}

static bool needs_whole(const lob_filter_plan *plan)
{
    for (int i = 0; i < plan->passes; i++)
        if (plan->pass[i].statistic) return true;
    return false;
}

/* Does a slab read less than the whole? */
static bool is_apart(const lob_filter_cut *cut)
{
    return cut->axis == 2 && cut->halo >= 0;
}

bool lob_slab_filter_parts(const lob_volume *image, const lob_filter_step *steps, int count,
                           const lob_filter_options *options)
{
    const lob_filter_input in = {.image = image, .steps = steps, .step_count = count};
    lob_filter_plan plan;
    if (lob_filter_plan_make(&plan, &in, options, false, false, NULL) != LOB_OK) return false;
    const lob_filter_cut cut = lob_filter_cut_of(&plan, 0, plan.passes);
    return !needs_whole(&plan) && is_apart(&cut);
}

lob_status lob_slab_filter_begin(lob_session *s, lob_slab_filter *f, int64_t voxel_bytes)
{
    const lob_volume *const image = &f->slabs->volume;
    const bool whole = !f->slabs->mask && lob_type_of(image->type)->is_integer;
    lob_filter_plan plan;
    f->in.image = image;
    const lob_status st = lob_filter_plan_make(&plan, &f->in, f->options, false, false, &s->error);
    LOB_TRY(lob_session_name(s, st, f->slabs->path, NULL));
    if (needs_whole(&plan))
        return lob_fail(&s->error, LOB_EARG,
                        "a step that finds its percentiles or its noise in the image needs the "
                        "whole volume: start one task");
    const lob_filter_cut cut = lob_filter_cut_of(&plan, 0, plan.passes);
    const bool apart = is_apart(&cut);
    const int64_t halo = apart ? cut.halo : image->dims.nz, align = apart ? cut.align : 1;
    enum { WEIGHTS = 8 }; /* where voxels are left out, a pass sums weights too */
    const int64_t work = bytes_between(&plan) + (whole ? 0 : WEIGHTS);
    const int64_t bytes = (int64_t)lob_type_of(plan.pass[plan.passes - 1].to)->bytes;
    LOB_TRY(lob_slabs_cut(s, f->slabs, halo, align, voxel_bytes + bytes + work, f->sent));
    return whole || f->slabs->plan > 0 ? LOB_OK : look_through(s, f);
}

/* Bytes of a result. */
static int64_t result_bytes(const lob_slab *slab, lob_type type)
{
    return lob_product(lob_voxels(&slab->image), (int64_t)lob_type_of(type)->bytes, 1, 1);
}

lob_status lob_slab_filter_run(lob_session *s, lob_slab_filter *f, const lob_slab *slab,
                               lob_filter_output *out)
{
    lob_filter_input in = f->in;
    in.image = &slab->image;
    in.mask = slab->mask;
    in.plane = slab->from;
    lob_type type;
    int channels;
    *out = (lob_filter_output){0};
    LOB_TRY(lob_filter_result(&type, &channels, &in, f->options, &s->error));
    LOB_TRY(lob_session_take(s, result_bytes(slab, type), f->slabs->path));
    lob_session_compute(s, "filtering");
    const lob_status st = s->backend->filter(out, &in, f->options, &s->context, &s->error);
    if (st != LOB_OK) lob_session_give(s, result_bytes(slab, type));
    if (out->working_bytes > f->working_bytes) f->working_bytes = out->working_bytes;
    return lob_session_done(s, st, f->slabs->path, NULL);
}

void lob_slab_filter_drop(lob_session *s, const lob_slab *slab, lob_filter_output *out)
{
    lob_session_give(s, result_bytes(slab, out->type));
    lob_filter_output_free(out);
}
