/* Refining on the GPU: every step on arrays in device memory; the host learns counts alone. */
#include "kernels/refine/refine_cuda.h"

#include "kernels/components/components_cuda.h"
#include "kernels/device/arena.cuh"
#include "kernels/device/device_image.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/filters/filters_cuda.h"
#include "kernels/refine/refine_plan.h"
#include "kernels/refine/refine_voxel.h"
#include "volumes/labels.h"

namespace lob::refine
{

enum { THREADS = 256 };

/* What kernels count for the host. */
struct counters {
    u64 first[3], last[3]; /* the box of labels; last < first: there are none */
    u64 changed, pieces, filled;
    uint32_t not_finite;
};

/* Arrays on one grid: the whole volume's, or those of its part. */
struct grid {
    lob_dims dims;
    int64_t voxels;
    const void *image, *seeds;
    void *labels; /* worked on in place */
};

/* A call. Arrays of the part are laid out in one block. */
struct job {
    const lob_refine_input *in;
    const lob_refine_options *options;
    const lob_context *context;
    lob_device *device;
    lob_device_budget budget;
    lob_refine_stats *stats;
    lob_type type; /* of labels */
    int channels;
    bool several;        /* labels beside the background */
    int64_t inner_bytes; /* the most that an algorithm below has worked with */

    grid whole, part;
    const void *labels_before; /* of the whole, as they came */

    counters *counts;
    uint8_t *mask;   /* a label's indicator, or where pieces may be */
    float *value;    /* channels * voxels: the image, 0 where it is not finite */
    float *mean;     /* channels * voxels */
    uint8_t *finite; /* where all channels are */
    float *parts;    /* (channels + 1) * voxels: a label's indicator, and the image where it is */
    float *around;   /* (channels + 1) * voxels: smoothed; also shares, votes and pieces */
    uint8_t *flags;  /* of pieces; where parts are */
    float *best;     /* several labels: the largest share or most votes so far */
    void *taken;     /* several labels: whose they are */
};

/* ---- memory ---- */

static int64_t type_bytes(lob_type type)
{
    return (int64_t)lob_type_of(type)->bytes;
}

static int64_t lay_out(job *j, bool copies, void *block)
{
    const int64_t n = j->part.voxels, edge = j->options->edge > 0 ? j->channels : 0;
    arena memory(block);
    j->counts = memory.take<counters>(1);
    j->mask = memory.take<uint8_t>(n);
    j->value = memory.take<float>(edge * n);
    j->mean = memory.take<float>(edge * n);
    j->finite = memory.take<uint8_t>(edge ? n : 0);
    j->parts = memory.take<float>(edge ? (edge + 1) * n : (n + 1 + 3) / 4);
    j->around = memory.take<float>((edge + 1) * n);
    j->flags = (uint8_t *)j->parts;
    j->best = memory.take<float>(j->several ? n : 0);
    j->taken = memory.take<uint8_t>(j->several ? n * type_bytes(j->type) : 0);
    if (!copies) return memory.used;
    j->part.image =
        memory.take<uint8_t>(n * j->channels * (edge ? type_bytes(j->in->image->type) : 0));
    j->part.seeds = memory.take<uint8_t>(n * type_bytes(j->in->seeds_type));
    j->part.labels = memory.take<uint8_t>(n * type_bytes(j->type));
    return memory.used;
}

/* The context of an algorithm below, with what is left of the memory. */
static lob_context inner_context(const job *j)
{
    lob_context context = *j->context;
    context.progress = NULL;
    if (context.max_memory > 0) {
        const int64_t left = context.max_memory - lob_device_budget_held(&j->budget);
        context.max_memory = left > 1 ? left : 1; /* 0 would be no limit */
    }
    return context;
}

/* An array on the part's grid, whose voxels are in device memory. */
static lob_volume on_part(const job *j, lob_type type, int channels)
{
    lob_volume v = lob_volume_empty();
    v.type = type;
    v.channels = channels;
    v.dims = j->part.dims;
    v.geometry = j->in->image->geometry;
    return v;
}

static void count_inner(job *j, int64_t bytes)
{
    if (bytes > j->inner_bytes) j->inner_bytes = bytes;
}

/* ---- what kernels take ---- */

struct voxel_params {
    lob_dims dims;
    int64_t voxels;
    void *labels;
    lob_type type;
    const void *seeds;
    lob_type seeds_type;
    int32_t background, label;
    bool first; /* of several labels */
    counters *counts;
    uint8_t *mask;
    float *best;
    void *taken;
    const float *share;
    const void *pieces;
    lob_type pieces_type;
    uint8_t *flags;
    int64_t pieces_count;
};

static voxel_params params_of(const job *j, const grid &g)
{
    voxel_params p = {};
    p.dims = g.dims;
    p.voxels = g.voxels;
    p.labels = g.labels;
    p.type = j->type;
    p.seeds = g.seeds;
    p.seeds_type = j->in->seeds_type;
    p.background = j->in->background;
    p.counts = j->counts;
    p.mask = j->mask;
    p.best = j->best;
    p.taken = j->taken;
    p.pieces = j->around;
    p.flags = j->flags;
    return p;
}

static __device__ inline int32_t label_at(const voxel_params &p, int64_t i)
{
    return lob_label_at(p.labels, p.type, i);
}

static __device__ inline int32_t seed_at(const voxel_params &p, int64_t i)
{
    return lob_label_at(p.seeds, p.seeds_type, i);
}

static lob_status launch(const job *j, void (*kernel)(voxel_params), const char *name,
                         const voxel_params &p, int64_t n, lob_error *error)
{
    return lob_launch_over(j->device, kernel, name, n, THREADS, p, error);
}

static __device__ inline void add_up(u64 *to, u64 mine)
{
    const u64 sum = warp_sum(mine);
    if (threadIdx.x % WARP == 0 && sum) atomicAdd(to, sum);
}

/* ---- labels as they came, and what changed ---- */

struct came_params {
    voxel_params to;
    const void *before;
    lob_type before_type;
};

static __device__ inline int32_t came_at(const came_params &p, int64_t i)
{
    const int32_t label = lob_label_at(p.before, p.before_type, i);
    return label ? label : p.to.background;
}

static __global__ void __launch_bounds__(THREADS) begin_kernel(came_params p)
{
    for (int64_t i = grid_first(); i < p.to.voxels; i += grid_step())
        lob_label_put(p.to.labels, p.to.type, i, came_at(p, i));
}

static __global__ void __launch_bounds__(THREADS) changed_kernel(came_params p)
{
    u64 changed = 0;
    for (int64_t i = grid_first(); i < p.to.voxels; i += grid_step())
        changed += label_at(p.to, i) != came_at(p, i);
    add_up(&p.to.counts->changed, changed);
}

/* ---- the part that holds labels ---- */

static __device__ inline void widen(counters *to, int axis, u64 low, u64 high)
{
    if (low < to->first[axis]) atomicMin(&to->first[axis], low);
    if (high > to->last[axis]) atomicMax(&to->last[axis], high);
}

/* A warp takes a row. */
static __global__ void __launch_bounds__(THREADS) box_kernel(voxel_params p)
{
    const int64_t rows = p.dims.ny * p.dims.nz;
    for (int64_t row = grid_first() / WARP; row < rows; row += grid_step() / WARP) {
        u64 low = ~(u64)0, high = 0;
        for (int64_t x = threadIdx.x % WARP; x < p.dims.nx; x += WARP) {
            const int64_t i = row * p.dims.nx + x;
            const int32_t seed = seed_at(p, i);
            if (label_at(p, i) == p.background && (seed == 0 || seed == p.background)) continue;
            if (low == ~(u64)0) low = (u64)x;
            high = (u64)x;
        }
        low = warp_min(low);
        high = warp_max(high);
        if (low == ~(u64)0 || threadIdx.x % WARP != 0) continue;
        widen(p.counts, 0, low, high);
        widen(p.counts, 1, (u64)(row % p.dims.ny), (u64)(row % p.dims.ny));
        widen(p.counts, 2, (u64)(row / p.dims.ny), (u64)(row / p.dims.ny));
    }
}

/* Rows of a box, out of an array of planar channels or back into it. */
struct copy_params {
    void *part, *whole;
    int bytes; /* of a voxel */
    int channels;
    lob_dims dims, size;
    int64_t first[3];
    bool back;
};

template <typename T>
static __device__ inline void copy_voxel(const copy_params &p, int64_t part, int64_t whole)
{
    if (p.back)
        ((T *)p.whole)[whole] = ((const T *)p.part)[part];
    else
        ((T *)p.part)[part] = ((const T *)p.whole)[whole];
}

static __global__ void __launch_bounds__(THREADS) copy_kernel(copy_params p)
{
    const int64_t rows = p.size.ny * p.size.nz;
    for (int64_t at = grid_first() / WARP; at < rows * p.channels; at += grid_step() / WARP) {
        const int64_t y = p.first[1] + at % p.size.ny;
        const int64_t z = p.first[2] + at / p.size.ny % p.size.nz;
        const int64_t from = ((at / rows * p.dims.nz + z) * p.dims.ny + y) * p.dims.nx + p.first[0];
        for (int64_t x = threadIdx.x % WARP; x < p.size.nx; x += WARP) {
            const int64_t i = at * p.size.nx + x;
            if (p.bytes == 1) copy_voxel<uint8_t>(p, i, from + x);
            if (p.bytes == 2) copy_voxel<uint16_t>(p, i, from + x);
            if (p.bytes == 4) copy_voxel<uint32_t>(p, i, from + x);
            if (p.bytes == 8) copy_voxel<uint64_t>(p, i, from + x);
        }
    }
}

static lob_status copy_box(const job *j, const lob_box *box, const void *part, const void *whole,
                           lob_type type, int channels, bool back, lob_error *error)
{
    const lob_dims size = j->part.dims;
    const copy_params p = {
        (void *)part,
        (void *)whole,
        (int)type_bytes(type),
        channels,
        j->whole.dims,
        size,
        {box->first[0], box->first[1], box->first[2]},
        back
    };
    return lob_launch_over(j->device, copy_kernel, "copying a box",
                           size.ny * size.nz * channels * WARP, THREADS, p, error);
}

/* ---- Gaussians ---- */

/* Smooth an array of channels of the part. */
static lob_status gaussian(job *j, float *to, const void *from, lob_type type, int channels,
                           const uint8_t *mask, double sigma_mm, lob_error *error)
{
    const lob_volume image = on_part(j, type, channels);
    const lob_filter_step step = lob_refine_gaussian_step(&image, sigma_mm);
    const lob_filter_options options = lob_refine_gaussian_options();
    const lob_filter_input in = {&image, mask, &step, 1};
    const lob_filter_arrays arrays = {from, mask, to};
    const lob_context context = inner_context(j);
    lob_filter_output out;
    LOB_TRY(lob_filter_cuda_arrays(&arrays, &out, &in, &options, &context, error));
    count_inner(j, out.working_bytes);
    return LOB_OK;
}

/* ---- smooth ---- */

static __global__ void __launch_bounds__(THREADS) is_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step())
        p.mask[i] = label_at(p, i) == p.label;
}

/* One label and the background: the label where its share is above 1/2. */
static __global__ void __launch_bounds__(THREADS) half_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step())
        lob_label_put(p.labels, p.type, i, p.share[i] > 0.5F ? p.label : p.background);
}

/* Take a label where its share is the largest so far; labels come in ascending order. */
static __global__ void __launch_bounds__(THREADS) larger_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        if (!p.first && !(p.share[i] > p.best[i])) continue;
        p.best[i] = p.share[i];
        lob_label_put(p.taken, p.type, i, p.label);
    }
}

static lob_status put_taken(const job *j, lob_error *error)
{
    LOB_CUDA(cudaMemcpyAsync(j->part.labels, j->taken,
                             (size_t)(j->part.voxels * type_bytes(j->type)),
                             cudaMemcpyDeviceToDevice, lob_device_cuda_stream(j->device)));
    return LOB_OK;
}

static lob_status smooth(void *a_job, lob_error *error)
{
    job *const j = (job *)a_job;
    voxel_params p = params_of(j, j->part);
    p.share = j->around;
    for (int32_t l = 1; l <= j->in->label_count; l++) {
        if (!j->several && l == j->in->background) continue;
        p.label = l;
        p.first = l == 1;
        LOB_TRY(launch(j, is_kernel, "a label's voxels", p, p.voxels, error));
        LOB_TRY(gaussian(j, j->around, j->mask, LOB_U8, 1, NULL, j->options->smooth_mm, error));
        LOB_TRY(launch(j, j->several ? larger_kernel : half_kernel, "taking labels", p, p.voxels,
                       error));
    }
    return j->several ? put_taken(j, error) : LOB_OK;
}

/* ---- tidy ---- */

static __global__ void __launch_bounds__(THREADS) strokes_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int32_t seed = seed_at(p, i);
        if (seed) lob_label_put(p.labels, p.type, i, seed);
        p.mask[i] = label_at(p, i) != p.background;
    }
}

static __global__ void __launch_bounds__(THREADS) hold_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step())
        if (seed_at(p, i)) p.flags[lob_label_at(p.pieces, p.pieces_type, i)] = 1;
}

static __global__ void __launch_bounds__(THREADS) dropped_kernel(voxel_params p)
{
    u64 dropped = 0;
    for (int64_t k = grid_first(); k < p.pieces_count; k += grid_step()) dropped += !p.flags[k + 1];
    add_up(&p.counts->pieces, dropped);
}

static __global__ void __launch_bounds__(THREADS) drop_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int32_t piece = lob_label_at(p.pieces, p.pieces_type, i);
        if (piece && !p.flags[piece]) lob_label_put(p.labels, p.type, i, p.background);
    }
}

static __global__ void __launch_bounds__(THREADS) is_not_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step())
        p.mask[i] = label_at(p, i) != p.label;
}

/* Mark what reaches a border of the volume, and where background was drawn. */
static __global__ void __launch_bounds__(THREADS) open_kernel(voxel_params p)
{
    const lob_dims d = p.dims;
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int64_t row = i / d.nx, x = i - row * d.nx, y = row % d.ny, z = row / d.ny;
        const bool border = (d.nx > 1 && (x == 0 || x == d.nx - 1)) ||
                            (d.ny > 1 && (y == 0 || y == d.ny - 1)) ||
                            (d.nz > 1 && (z == 0 || z == d.nz - 1));
        if (border || seed_at(p, i) == p.background)
            p.flags[lob_label_at(p.pieces, p.pieces_type, i)] = 1;
    }
}

static __global__ void __launch_bounds__(THREADS) fill_kernel(voxel_params p)
{
    u64 filled = 0;
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int32_t piece = lob_label_at(p.pieces, p.pieces_type, i);
        if (piece == 0 || p.flags[piece] || label_at(p, i) != p.background) continue;
        lob_label_put(p.labels, p.type, i, p.label);
        filled++;
    }
    add_up(&p.counts->filled, filled);
}

/* Pieces of what the mask holds, and flags of 0 for them. */
static lob_status find_pieces(job *j, voxel_params *p, const lob_components_options *options,
                              lob_error *error)
{
    const lob_volume image = on_part(j, j->type, 1);
    lob_components_output found;
    const lob_context context = inner_context(j);
    const lob_components_input in = {&image, NULL, NULL};
    const lob_components_arrays arrays = {j->part.labels, j->mask, NULL, j->around};
    LOB_TRY(lob_components_cuda_arrays(&arrays, &found, &in, options, &context, error));
    count_inner(j, found.working_bytes);
    p->pieces_type = found.type;
    p->pieces_count = found.count;
    lob_components_output_free(&found);
    return lob_device_fill(j->device, j->flags, 0, p->pieces_count + 1, error);
}

static lob_status tidy(void *a_job, lob_error *error)
{
    job *const j = (job *)a_job;
    const lob_components_options pieces = lob_refine_pieces_options(j->in);
    const lob_components_options holes = lob_refine_holes_options();
    voxel_params p = params_of(j, j->part);
    LOB_TRY(launch(j, strokes_kernel, "strokes", p, p.voxels, error));
    LOB_TRY(find_pieces(j, &p, &pieces, error));
    LOB_TRY(launch(j, hold_kernel, "pieces with strokes", p, p.voxels, error));
    LOB_TRY(launch(j, dropped_kernel, "counting pieces", p, p.pieces_count, error));
    LOB_TRY(launch(j, drop_kernel, "dropping pieces", p, p.voxels, error));
    for (int32_t l = 1; l <= j->in->label_count; l++) {
        if (l == j->in->background) continue;
        p.label = l;
        LOB_TRY(launch(j, is_not_kernel, "what is around a label", p, p.voxels, error));
        LOB_TRY(find_pieces(j, &p, &holes, error));
        LOB_TRY(launch(j, open_kernel, "what is no hole", p, p.voxels, error));
        LOB_TRY(launch(j, fill_kernel, "filling holes", p, p.voxels, error));
    }
    return LOB_OK;
}

/* ---- edge ---- */

struct edge_params {
    lob_device_image image;
    const void *labels;
    lob_type type;
    int32_t label;
    float *value;
    uint8_t *finite;
    float *parts;
    lob_refine_votes votes;
    counters *counts;
};

/* The image as float32. */
static __global__ void __launch_bounds__(THREADS) load_kernel(edge_params p)
{
    const int64_t n = p.image.voxels;
    for (int64_t i = grid_first(); i < n; i += grid_step()) {
        bool all = true;
        for (int c = 0; c < p.image.channels; c++) {
            const double stored = lob_stored_value(&p.image, c * n + i);
            const float value = (float)(p.image.slope * stored + p.image.inter);
            const bool good = value - value == 0;
            p.value[c * n + i] = good ? value : 0;
            all = all && good;
        }
        p.finite[i] = all;
        if (!all) p.counts->not_finite = 1;
    }
}

/* A label's indicator, and the image inside of it. */
static __global__ void __launch_bounds__(THREADS) parts_kernel(edge_params p)
{
    const int64_t n = p.image.voxels;
    for (int64_t i = grid_first(); i < n; i += grid_step()) {
        const bool is = lob_label_at(p.labels, p.type, i) == p.label;
        p.parts[i] = is;
        for (int c = 0; c < p.image.channels; c++)
            p.parts[(c + 1) * n + i] = is ? p.value[c * n + i] : 0;
    }
}

/* Write the votes for a label over its indicator. */
static __global__ void __launch_bounds__(THREADS) vote_kernel(edge_params p)
{
    for (int64_t i = grid_first(); i < p.image.voxels; i += grid_step())
        p.parts[i] = lob_refine_vote(&p.votes, p.parts[i], i);
}

/* Take a label where it has most votes so far, and more than half. */
static __global__ void __launch_bounds__(THREADS) most_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const float best = p.first ? 0.5F : p.best[i];
        const bool more = p.share[i] > best;
        if (more || p.first) {
            p.best[i] = more ? p.share[i] : best;
            lob_label_put(p.taken, p.type, i, more ? p.label : p.background);
        }
    }
}

static edge_params edge_of(const job *j)
{
    edge_params e = {};
    e.image = lob_device_image_of(j->in->image, j->part.image, NULL, NULL);
    e.image.voxels = j->part.voxels;
    e.labels = j->part.labels;
    e.type = j->type;
    e.value = j->value;
    e.finite = j->finite;
    e.parts = j->parts;
    e.votes = {j->value,
               j->mean,
               j->around,
               j->finite,
               j->channels,
               j->part.voxels,
               (float)j->options->edge};
    e.counts = j->counts;
    return e;
}

/* The smoothed votes for a label. */
static lob_status count_votes(job *j, const float **votes, const edge_params &e,
                              const uint8_t *mask, lob_error *error)
{
    const int64_t n = j->part.voxels;
    LOB_TRY(lob_launch_over(j->device, parts_kernel, "a label's values", n, THREADS, e, error));
    LOB_TRY(gaussian(j, j->around, j->parts, LOB_F32, j->channels + 1, mask, j->options->edge_mm,
                     error));
    LOB_TRY(lob_launch_over(j->device, vote_kernel, "votes", n, THREADS, e, error));
    *votes = j->parts;
    if (j->options->edge_smooth_mm == 0) return LOB_OK;
    *votes = j->around;
    return gaussian(j, j->around, j->parts, LOB_F32, 1, NULL, j->options->edge_smooth_mm, error);
}

static lob_status edge(void *a_job, lob_error *error)
{
    job *const j = (job *)a_job;
    const int64_t n = j->part.voxels;
    edge_params e = edge_of(j);
    voxel_params p = params_of(j, j->part);
    uint32_t not_finite = 0;
    LOB_TRY(lob_launch_over(j->device, load_kernel, "the image's values", n, THREADS, e, error));
    LOB_TRY(lob_device_download(j->device, &not_finite, &j->counts->not_finite, sizeof not_finite,
                                error));
    const uint8_t *const mask = not_finite ? j->finite : NULL;
    LOB_TRY(gaussian(j, j->mean, j->value, LOB_F32, j->channels, mask, j->options->edge_mm, error));
    p.first = true;
    for (int32_t l = 1; l <= j->in->label_count; l++) {
        if (l == j->in->background) continue;
        e.label = p.label = l;
        LOB_TRY(count_votes(j, &p.share, e, mask, error));
        LOB_TRY(
            launch(j, j->several ? most_kernel : half_kernel, "taking labels", p, p.voxels, error));
        p.first = false;
    }
    return j->several ? put_taken(j, error) : LOB_OK;
}

/* ---- the call ---- */

/* The box to work on; false: the whole volume. Takes counters alone, in a block of their own. */
static lob_status find_part(job *j, lob_box *box, bool *smaller, lob_error *error)
{
    counters found = {};
    void *block = NULL;
    const lob_dims d = j->whole.dims;
    *smaller = false;
    LOB_TRY(lob_device_block_take(j->device, LOB_DEVICE_TABLES, &block, sizeof found, error));
    j->counts = (counters *)block;
    for (int a = 0; a < 3; a++) found.first[a] = ~(u64)0;
    LOB_TRY(lob_device_upload(j->device, j->counts, &found, sizeof found, error));
    LOB_TRY(launch(j, box_kernel, "the box of labels", params_of(j, j->whole), d.ny * d.nz * WARP,
                   error));
    LOB_TRY(lob_device_download(j->device, &found, j->counts, sizeof found, error));
    if (found.first[0] == ~(u64)0) return LOB_OK;
    for (int a = 0; a < 3; a++) {
        box->first[a] = (int64_t)found.first[a];
        box->size[a] = (int64_t)(found.last[a] - found.first[a] + 1);
    }
    *smaller = lob_refine_widen(box, j->in->image, j->options);
    return LOB_OK;
}

static lob_status run_steps(job *j, lob_error *error)
{
    const lob_refine_steps steps = {smooth, tidy, edge};
    return lob_refine_run(j, &steps, j->options, j->context, error);
}

static lob_status run_part(job *j, const lob_box *box, lob_error *error)
{
    const lob_refine_input *in = j->in;
    const lob_type image = in->image->type;
    if (j->options->edge > 0)
        LOB_TRY(copy_box(j, box, j->part.image, j->whole.image, image, j->channels, false, error));
    LOB_TRY(copy_box(j, box, j->part.seeds, j->whole.seeds, in->seeds_type, 1, false, error));
    LOB_TRY(copy_box(j, box, j->part.labels, j->whole.labels, j->type, 1, false, error));
    LOB_TRY(run_steps(j, error));
    return copy_box(j, box, j->part.labels, j->whole.labels, j->type, 1, true, error);
}

static lob_status compute(job *j, lob_error *error)
{
    came_params came = {params_of(j, j->whole), j->labels_before, j->in->labels_type};
    lob_box box;
    bool smaller;
    void *block = NULL;
    counters counts = {};
    LOB_TRY(
        lob_launch_over(j->device, begin_kernel, "labels", j->whole.voxels, THREADS, came, error));
    LOB_TRY(find_part(j, &box, &smaller, error));
    j->part = j->whole;
    if (smaller) {
        j->part.dims = {box.size[0], box.size[1], box.size[2]};
        j->part.voxels = lob_dims_voxels(j->part.dims);
    }
    LOB_TRY(lob_device_budget_take(&j->budget, LOB_DEVICE_LABELS, lay_out(j, smaller, NULL), &block,
                                   error));
    lay_out(j, smaller, block);
    LOB_TRY(lob_device_fill(j->device, j->counts, 0, sizeof *j->counts, error));
    LOB_TRY(smaller ? run_part(j, &box, error) : run_steps(j, error));
    came.to.counts = j->counts;
    LOB_TRY(lob_launch_over(j->device, changed_kernel, "counting changes", j->whole.voxels, THREADS,
                            came, error));
    LOB_TRY(lob_device_download(j->device, &counts, j->counts, sizeof counts, error));
    j->stats->changed = (int64_t)counts.changed;
    j->stats->pieces = (int64_t)counts.pieces;
    j->stats->filled = (int64_t)counts.filled;
    j->stats->working_bytes = lob_device_budget_held(&j->budget) + j->inner_bytes;
    return LOB_OK;
}

} /* namespace lob::refine */

using namespace lob::refine;

lob_status lob_refine_cuda(void *out, lob_refine_stats *stats, const lob_refine_input *in,
                           const lob_refine_options *options, const lob_context *context,
                           lob_error *error)
{
    job j = {};
    *stats = {};
    if (!context->device) return lob_device_missing(error);
    LOB_TRY(lob_refine_check(in, options, error));
    LOB_TRY(lob_device_enter(context->device, error));
    j.in = in;
    j.options = options;
    j.context = context;
    j.device = context->device;
    j.stats = stats;
    j.type = lob_label_type(in->label_count);
    j.channels = in->image->channels;
    j.several = in->label_count > 2;
    j.whole.dims = in->image->dims;
    j.whole.voxels = lob_voxels(in->image);
    const int64_t n = j.whole.voxels;
    j.budget = lob_device_budget_of(context, "refining", n);
    const lob_device_array travels[] = {
        {(void **)&j.whole.image,   in->image->data, NULL,
         options->edge > 0 ? lob_device_bytes_of(in->image) : 0                           },
        {(void **)&j.whole.seeds,   in->seeds,       NULL, n * type_bytes(in->seeds_type) },
        {(void **)&j.labels_before, in->labels,      NULL, n * type_bytes(in->labels_type)},
        {&j.whole.labels,           NULL,            out,  n * type_bytes(j.type)         },
    };
    LOB_TRY(lob_device_send(context->device, travels, 4, n, error));
    LOB_TRY(compute(&j, error));
    return lob_device_receive(context->device, travels, 4, error);
}
