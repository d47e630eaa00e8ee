/*
 * GrowCut on the device: what is grown together, whether it fits, and the way of the arrays there
 * and back. A volume is one image; slices are as many, and as many at a time as fit.
 */
#include "kernels/growcut/growcut_job_cuda.cuh"
#include "volumes/bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bounds what the rules' tables of slices take, on the host and on the device. */
static const int64_t MOST_PLANES = 1024;

/* A call: everything that its batches share. */
typedef struct {
    growcut_job job;
    lob_view view;  /* of all planes */
    int64_t slices; /* planes in all */
    int64_t budget; /* bytes that working memory may take, as last asked for */
    lob_growcut_stats sums;
    lob_growcut_counts counts;
    lob_error *error;
} call;

/* ---- what is grown together ---- */

/*
 * The view that is cut into planes. A volume one voxel thick is a plane too, and its directions
 * across are none: flat tiles then waste nothing.
 */
static lob_view view_of(lob_dims dims, int slice_axis, bool *flat)
{
    const int64_t side[3] = {dims.nx, dims.ny, dims.nz};
    int axis = slice_axis;
    for (int a = 2; a >= 0 && axis < 0; a--)
        if (side[a] == 1) axis = a;
    *flat = axis >= 0;
    if (axis < 0) return lob_view_whole(dims);
    lob_view view = lob_view_slice(dims, axis, 0);
    view.dims.nz = side[axis];
    return view;
}

static bool describe_image(growcut_job *job)
{
    const lob_volume *image = job->in->image;
    const double *range = job->options->range;
    lob_device_image *to = &job->image;
    to->stored = job->arrays->image;
    to->mask = job->arrays->mask;
    to->voxels = lob_voxels(image);
    to->channels = image->channels;
    to->type = image->type;
    to->ranged = range[0] > -INFINITY || range[1] < INFINITY;
    to->slope = image->slope;
    to->inter = image->inter;
    to->range[0] = lob_as_compared(range[0], image);
    to->range[1] = lob_as_compared(range[1], image);
    return lob_product(to->voxels, to->channels, 8, 1) > 0;
}

/* The job's part of the view: n planes from the first on, or all of a volume. */
static void take_planes(call *c, int64_t first, int64_t n)
{
    growcut_job *job = &c->job;
    lob_device_view *view = &job->view;
    view->offset = c->view.offset + (view->flat ? first * c->view.stride[2] : 0);
    for (int a = 0; a < 3; a++) view->stride[a] = c->view.stride[a];
    view->side[0] = (uint32_t)c->view.dims.nx;
    view->side[1] = (uint32_t)c->view.dims.ny;
    view->side[2] = (uint32_t)(view->flat ? n : c->view.dims.nz);
    job->planes = view->flat ? n : 1;
    job->done_before = (double)first / (double)c->slices;
    job->done_now = (double)n / (double)c->slices;
}

/* ---- does it fit ---- */

/* Bytes of the planes' tables, and of the logarithms that they are made from, at most. */
static int64_t table_bytes(const growcut_job *job, int key_bits)
{
    const lob_type type = job->image.type;
    const int64_t span = type == LOB_U8 || type == LOB_I8 ? 255 : 65535;
    const bool fine = job->image.channels > 1 && (job->options->norm == LOB_NORM_L2 ||
                                                  job->options->norm == LOB_NORM_ALPHAMAX);
    if (job->options->rule != LOB_RULE_STRENGTH && job->options->penalty == 0 && !fine) return 0;
    int64_t entries = span * job->image.channels + 1;
    if (fine) entries = 2 * entries + LOB_GROWCUT_ENTRIES;
    const int64_t logarithms =
        job->options->rule == LOB_RULE_STRENGTH ? entries * (int64_t)sizeof(double) : 0;
    return job->planes * entries * (key_bits / 8) + logarithms;
}

static int64_t work_bytes(const growcut_job *job, int key_bits)
{
    const int64_t grown = key_bits == 64 ? lob_growcut_bytes_64(job) : lob_growcut_bytes_32(job);
    return grown + table_bytes(job, key_bits);
}

static int first_bits(const growcut_job *job)
{
    return job->options->key_bits == 64 ? 64 : 32;
}

static lob_status refuse(const call *c, int64_t bytes)
{
    const growcut_job *job = &c->job;
    const int64_t voxels = (int64_t)job->view.side[0] * job->view.side[1] * job->view.side[2];
    const double fits = (double)voxels / (double)bytes * (double)c->budget / 1e6;
    char needed[LOB_BYTES_TEXT], room[LOB_BYTES_TEXT];
    return lob_fail_hint(c->error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                         "GrowCut needs %s of working memory on the GPU for %.1f million voxels, "
                         "and %s are allowed and free, enough for %.1f million",
                         lob_bytes_text(needed, bytes), (double)voxels / 1e6,
                         lob_bytes_text(room, c->budget), fits);
}

static bool fits(call *c, int64_t bytes)
{
    const int64_t max = c->job.context->max_memory;
    const int64_t capacity = lob_device_block_capacity(c->job.device, LOB_DEVICE_WORK, bytes);
    c->budget = max && max < capacity ? max : capacity;
    return bytes <= c->budget;
}

/* As many planes from the first on as fit together; at least one. */
static int64_t planes_that_fit(call *c, int64_t first)
{
    int64_t n = c->slices - first < MOST_PLANES ? c->slices - first : MOST_PLANES;
    for (take_planes(c, first, n); n > 1 && !fits(c, work_bytes(&c->job, first_bits(&c->job)));)
        take_planes(c, first, n = (n + 1) / 2);
    return n;
}

/* ---- a batch ---- */

typedef struct {
    lob_extremes *extremes;
    lob_levels *levels;
    uint16_t *span; /* one a plane and channel */
    lob_growcut_rule *rules;
    uint64_t *largest;
} batch;

static lob_status batch_alloc(batch *b, int64_t planes, int channels)
{
    const size_t n = (size_t)planes;
    b->extremes = (lob_extremes *)calloc(n * (size_t)channels, sizeof *b->extremes);
    b->levels = (lob_levels *)calloc(n, sizeof *b->levels);
    b->span = (uint16_t *)calloc(n * (size_t)channels, sizeof *b->span);
    b->rules = (lob_growcut_rule *)calloc(n, sizeof *b->rules);
    b->largest = (uint64_t *)calloc(n, sizeof *b->largest);
    return b->extremes && b->levels && b->span && b->rules && b->largest ? LOB_OK : LOB_ENOMEM;
}

static void batch_free(batch *b)
{
    free(b->extremes);
    free(b->levels);
    free(b->span);
    free(b->rules);
    free(b->largest);
}

/* Scan the levels of every plane and make its rule. */
static lob_status make_rules(call *c, batch *b)
{
    growcut_job *job = &c->job;
    const int channels = job->image.channels;
    const int64_t scan = lob::levels::scan_bytes(job->planes, channels);
    const int64_t later = work_bytes(job, first_bits(job)), bytes = scan > later ? scan : later;
    if (!fits(c, bytes)) return refuse(c, bytes);
    void *work = NULL;
    LOB_TRY(lob_device_block_take(job->device, LOB_DEVICE_WORK, &work, bytes, c->error));
    LOB_TRY(lob::levels::scan_extremes(job->device, b->extremes, b->levels, &job->image, &job->view,
                                       work, c->error));
    job->data_voxels = 0;
    for (int64_t p = 0; p < job->planes; p++) {
        lob_levels *levels = &b->levels[p];
        job->data_voxels += levels->data_voxels;
        lob_levels_settle(levels, b->span + p * channels, b->extremes + p * channels,
                          job->in->image);
        b->rules[p] = lob_growcut_rule_of(job->options, levels, b->span + p * channels,
                                          job->in->image, &c->view);
    }
    job->levels = b->levels;
    job->rule = b->rules;
    return LOB_OK;
}

/* Add what a batch came to. */
static void add(call *c, const batch *b, const growcut_result *result, int key_bits)
{
    lob_growcut_stats *sums = &c->sums;
    sums->seeds += result->seeds;
    sums->seeds_outside += result->seeds_outside;
    sums->reached += result->reached;
    sums->ties += result->ties;
    sums->fixed_point = sums->fixed_point && result->fixed_point;
    if (result->rounds > sums->rounds) sums->rounds = result->rounds;
    if (result->working_bytes > sums->working_bytes) sums->working_bytes = result->working_bytes;
    if (key_bits > sums->key_bits) sums->key_bits = key_bits;
    for (int64_t p = 0; p < c->job.planes; p++) {
        const lob_levels *levels = &b->levels[p];
        const double cost = (double)b->largest[p] / b->rules[p].unit * levels->level_step;
        sums->data_voxels += levels->data_voxels;
        sums->not_finite += levels->not_finite;
        sums->largest_cost = fmax(sums->largest_cost, cost);
        sums->level_step = fmax(sums->level_step, levels->level_step);
    }
}

static void add_counts(lob_growcut_counts *to, const lob_growcut_counts *part)
{
    to->tiles += part->tiles;
    to->rounds += part->rounds;
    to->visits += part->visits;
    to->pops += part->pops;
}

/* What the narrow key's try is of the whole, when the wide one may have to follow: few need it. */
static const double FIRST_TRY = 0.9;

/* Grow with the key asked for, or with the narrow one and again with the wide one if it overflows.
 */
static lob_status grow_keyed(call *c, batch *b)
{
    growcut_job *job = &c->job;
    const int asked = job->options->key_bits;
    const double now = job->done_now;
    growcut_result result = {};
    result.largest = b->largest;
    int bits = 64;
    if (asked != 64 && lob_growcut_narrow(job->in->labels)) {
        job->done_now = asked == 32 ? now : now * FIRST_TRY;
        LOB_TRY(lob_growcut_run_32(job, &result, c->error));
        add_counts(&c->counts, &result.counts);
        if (!result.overflow) bits = 32;
        job->done_before += job->done_now;
        job->done_now = now - job->done_now;
    }
    if (asked == 32 && bits == 64)
        return lob_fail(c->error, LOB_EARG, "path costs do not fit 32-bit keys");
    if (bits == 64) {
        const int64_t bytes = work_bytes(job, 64);
        if (!fits(c, bytes)) return refuse(c, bytes);
        result = growcut_result{};
        result.largest = b->largest;
        LOB_TRY(lob_growcut_run_64(job, &result, c->error));
        add_counts(&c->counts, &result.counts);
    }
    add(c, b, &result, bits);
    return LOB_OK;
}

static lob_status grow_batch(call *c)
{
    batch b = {};
    lob_status st = batch_alloc(&b, c->job.planes, c->job.image.channels);
    if (st == LOB_OK) st = make_rules(c, &b);
    if (st == LOB_OK) st = grow_keyed(c, &b);
    batch_free(&b);
    return st;
}

/* ---- the calls ---- */

static lob_status begin(call *c)
{
    growcut_job *job = &c->job;
    if (!job->device) return lob_fail(c->error, LOB_EDEVICE, "no GPU was opened");
    LOB_TRY(lob_growcut_check(job->in, job->options, c->error));
    LOB_TRY(lob_device_enter(job->device, c->error));
    c->view = view_of(job->in->image->dims, job->options->slice_axis, &job->view.flat);
    c->slices = job->view.flat ? c->view.dims.nz : 1;
    const int64_t most = INT32_MAX, n = lob_dims_voxels(c->view.dims);
    if (!describe_image(job) || n < 0 || n / 64 > most || c->view.dims.nx > most ||
        c->view.dims.ny > most || c->view.dims.nz > most)
        return lob_fail_hint(c->error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "the volume is too large for a GPU");
    return LOB_OK;
}

static lob_status grow_all(call *c)
{
    LOB_TRY(begin(c));
    for (int64_t first = 0, n; first < c->slices; first += n) {
        n = planes_that_fit(c, first);
        LOB_TRY(grow_batch(c));
    }
    LOB_TRY(lob_device_wait(c->job.device, c->error));
    if (c->sums.seeds == 0)
        return lob_fail(c->error, LOB_EDATA,
                        "all %lld seed voxels lie outside the mask, the range or the finite values",
                        (long long)c->sums.seeds_outside);
    return LOB_OK;
}

lob_status lob_growcut_cuda_arrays(const lob_growcut_arrays *arrays, lob_growcut_stats *stats,
                                   lob_growcut_counts *counts, const lob_growcut_input *in,
                                   const lob_growcut_options *options,
                                   const lob_growcut_tuning *tuning, const lob_context *context,
                                   lob_error *error)
{
    const lob_growcut_tuning usual = LOB_GROWCUT_TUNING;
    call c = {};
    c.error = error;
    c.sums.fixed_point = true;
    c.job.device = context->device;
    c.job.in = in;
    c.job.options = options;
    c.job.arrays = arrays;
    c.job.tuning = tuning ? tuning : &usual;
    c.job.context = context;
    const lob_status st = grow_all(&c);
    if (stats) *stats = c.sums;
    if (counts) *counts = c.counts;
    return st;
}

/* Where the arrays of a call lie in the device's block for them, and how large they are. */
typedef struct {
    int64_t voxels, image, label, strength, tie, mask, total;
} sizes;

static bool measure(sizes *z, const lob_growcut_output *out, const lob_growcut_input *in)
{
    const int64_t slack = 256;
    z->voxels = lob_dims_voxels(in->image->dims);
    if (z->voxels < 0 || z->voxels > INT64_MAX / 4096) return false;
    z->image = z->voxels * in->image->channels * (int64_t)lob_type_of(in->image->type)->bytes;
    z->label = z->voxels * (int64_t)lob_type_of(in->seeds->type)->bytes;
    z->mask = in->mask ? z->voxels : 0;
    z->strength = out->strength ? z->voxels * (int64_t)sizeof(float) : 0;
    z->tie = out->tie ? z->voxels : 0;
    z->total = z->image + 2 * z->label + z->mask + z->strength + z->tie + 6 * slack;
    return true;
}

static unsigned char *place_array(unsigned char **at, int64_t bytes)
{
    unsigned char *here = *at;
    *at += (bytes + 255) / 256 * 256;
    return bytes ? here : NULL;
}

static lob_status send(lob_growcut_arrays *arrays, const sizes *z, const lob_growcut_input *in,
                       lob_device *device, lob_error *error)
{
    void *block = NULL;
    const int64_t room = lob_device_block_capacity(device, LOB_DEVICE_ARRAYS, z->total);
    char taken[LOB_BYTES_TEXT], left[LOB_BYTES_TEXT];
    if (z->total > room)
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "the volumes take %s and the GPU has %s free, enough for %.1f million "
                             "voxels without GrowCut's own",
                             lob_bytes_text(taken, z->total), lob_bytes_text(left, room),
                             (double)z->voxels / (double)z->total * (double)room / 1e6);
    LOB_TRY(lob_device_block_take(device, LOB_DEVICE_ARRAYS, &block, z->total, error));
    unsigned char *at = (unsigned char *)block;
    unsigned char *image = place_array(&at, z->image), *seeds = place_array(&at, z->label);
    unsigned char *mask = place_array(&at, z->mask);
    arrays->image = image;
    arrays->seeds = seeds;
    arrays->mask = mask;
    arrays->labels = place_array(&at, z->label);
    arrays->strength = (float *)place_array(&at, z->strength);
    arrays->tie = place_array(&at, z->tie);
    LOB_TRY(lob_device_upload(device, image, in->image->data, z->image, error));
    LOB_TRY(lob_device_upload(device, seeds, in->seeds->data, z->label, error));
    return lob_device_upload(device, mask, in->mask, z->mask, error);
}

static lob_status receive(const lob_growcut_output *out, const lob_growcut_arrays *arrays,
                          const sizes *z, lob_device *device, lob_error *error)
{
    LOB_TRY(lob_device_download(device, out->labels, arrays->labels, z->label, error));
    LOB_TRY(lob_device_download(device, out->strength, arrays->strength, z->strength, error));
    return lob_device_download(device, out->tie, arrays->tie, z->tie, error);
}

lob_status lob_growcut_cuda(const lob_growcut_output *out, lob_growcut_stats *stats,
                            const lob_growcut_input *in, const lob_growcut_options *options,
                            const lob_context *context, lob_error *error)
{
    lob_growcut_arrays arrays = {};
    sizes z = {};
    lob_device *device = context->device;
    if (!device) return lob_fail(error, LOB_EDEVICE, "no GPU was opened");
    LOB_TRY(lob_growcut_check(in, options, error));
    if (!measure(&z, out, in))
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "the volume is too large for a GPU");
    LOB_TRY(send(&arrays, &z, in, device, error));
    LOB_TRY(lob_growcut_cuda_arrays(&arrays, stats, NULL, in, options, NULL, context, error));
    LOB_TRY(receive(out, &arrays, &z, device, error));
    return context->progress && context->progress(context->user, 1.0) ? LOB_ECANCEL : LOB_OK;
}
