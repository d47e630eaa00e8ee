/* Supervoxels on the device: the plan, the order of the work, and the way of the arrays. */
#include "kernels/components/label/label_pieces_cuda.cuh"
#include "kernels/supervoxels/supervoxels_params_cuda.cuh"
#include "volumes/bytes.h"

#include <math.h>
#include <string.h>

/* Shares of the time, for who watches. */
static const double ITERATED = 0.8, CONNECTED = 0.95;

/* Warps take piles by stretches where there are enough for all of them. */
enum { STRETCH = 4, MANY_BRICKS = 1 << 16 };

/* With fewer piles, screening them takes longer than it saves. */
enum { MANY_PILES = 1 << 14 };

typedef struct {
    lob_device *device;
    const lob_supervoxels_arrays *arrays;
    const lob_supervoxels_input *in;
    const lob_supervoxels_options *options;
    lob_supervoxels_tuning tuning;
    const lob_context *context;
    lob_supervoxels_cache *kept;
    scene s;
    int64_t voxels;
    int64_t work_bytes;               /* taken of the block for working memory, at most */
    int64_t table_bytes;              /* and for the next three */
    lob_wave *axis_wave, *level_wave; /* on the device */
    uint16_t *lab;
    cudaEvent_t passed[2]; /* ends of the last passes; made when somebody watches */
    lob_supervoxels_stats found;
    lob_error *error;
} job;

/* ---- memory ---- */

lob_status lob_supervoxels_refuse(int64_t bytes, int64_t budget, int64_t voxels, lob_error *error)
{
    char needed[LOB_BYTES_TEXT], room[LOB_BYTES_TEXT];
    lob_bytes_texts(needed, bytes, room, budget);
    return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                         "supervoxels need %s of working memory on the GPU for %.1f million "
                         "voxels, and %s are allowed and free, enough for %.1f million",
                         needed, (double)voxels / 1e6, room,
                         (double)voxels / (double)bytes * (double)budget / 1e6);
}

int64_t lob_supervoxels_budget(const lob_device *device, int64_t bytes, int64_t most)
{
    const int64_t room = lob_device_block_capacity(device, LOB_DEVICE_WORK, bytes);
    return most && most < room ? most : room;
}

/* Of the memory that the caller allows, what is left besides some; 0: he allows all. */
static int64_t most_beside(const job *j, int64_t taken)
{
    const int64_t most = j->context->max_memory;
    return most > 0 && most <= taken ? 1 : most > 0 ? most - taken : 0;
}

/* Take the block for working memory, besides the tables. */
static lob_status take_work(job *j, int64_t bytes, void **memory)
{
    const int64_t budget = lob_supervoxels_budget(j->device, bytes, most_beside(j, j->table_bytes));
    if (bytes > budget) return lob_supervoxels_refuse(bytes, budget, j->voxels, j->error);
    if (bytes > j->work_bytes) j->work_bytes = bytes;
    return lob_device_block_take(j->device, LOB_DEVICE_WORK, memory, bytes, j->error);
}

/* What working memory comes to, with so many bytes of other blocks: none of these gets smaller. */
static void count_bytes(job *j, int64_t of_others)
{
    j->found.working_bytes = j->work_bytes + j->table_bytes + of_others;
}

/* Do the labels, until these are written, hold so many sums? */
static bool in_labels(const job *j, int64_t sums)
{
    const scene *s = &j->s;
    return (s->room == 0 || channels_in_labels(s->rule.channels) == 0) &&
           sums * (int64_t)sizeof *s->sums <= j->voxels * (int64_t)sizeof *s->labels &&
           (uintptr_t)s->labels % sizeof *s->sums == 0;
}

/* Everything that iterations work with, from at on, or added up. */
static int64_t place_parts(job *j, unsigned char *memory)
{
    scene *s = &j->s;
    const lob_supervoxels_rule *rule = &s->rule;
    const int64_t clusters = rule->clusters, sums = clusters * lob_cluster_sums(rule);
    const int64_t contrasts = rule->method == LOB_SLICO ? clusters : 0;
    const int64_t piles = count_of_piles(s);
    const bool still = j->options->until_still;
    const bool digested = rule->method == LOB_SLIC && s->room > 0;
    const bool now = in_labels(j, sums), both = in_labels(j, 2 * sums);
    unsigned char *at = memory;
    s->sums = take_part<wide>(&at, now ? 0 : sums); /* what begins with zeros comes first */
    s->largest = take_part<uint32_t>(&at, contrasts);
    s->weights = take_part<float>(&at, LOB_CLUSTER_SUMS);
    s->totals = take_part<wide>(&at, LOB_CLUSTER_SUMS);
    s->line = take_part<progress_line>(&at, 1);
    s->centres = take_part<float>(&at, clusters * lob_cluster_floats(rule));
    s->boxes = take_part<int32_t>(&at, clusters * 6);
    s->spans = take_part<cell_span>(&at, (int64_t)s->bricks[0] + s->bricks[1] + s->piles);
    s->digests = take_part<uint32_t>(&at, digested ? piles * 2 * rule->channels : 0);
    s->listed = take_part<listed_pile>(&at, s->screened ? piles : 0);
    s->before = take_part<wide>(&at, still && !both ? sums : 0);
    s->largest_before = take_part<uint32_t>(&at, still ? contrasts : 0);
    s->plane = take_part<uint4>(&at, s->room > 0 ? s->runs : 0);
    s->data = take_part<uint8_t>(&at, s->runs);
    if (!contrasts) s->largest = s->largest_before = NULL;
    if (now) s->sums = (wide *)s->labels;
    if (both) s->before = s->sums + sums;
    if (!still) s->before = NULL;
    if (s->room == 0) s->plane = NULL;
    return at - memory;
}

/* The plan's tables in device memory, from at on, or added up. */
static int64_t place_tables(job *j, unsigned char *memory)
{
    scene *s = &j->s;
    const lob_supervoxels_rule *rule = &s->rule;
    const bool lsc = rule->method == LOB_LSC;
    unsigned char *at = memory;
    j->axis_wave = take_part<lob_wave>(&at, lsc ? lob_supervoxel_coordinates(rule) : 0);
    j->level_wave = take_part<lob_wave>(&at, lsc ? 2 * LOB_WAVE_ENTRIES : 0);
    j->lab = take_part<uint16_t>(&at, rule->lab ? LOB_LAB_ENTRIES : 0);
    for (int64_t a = 0, before = 0; a < 3; before += rule->side[a], a++)
        s->axis_wave[a] = j->axis_wave + before;
    s->level_wave = j->level_wave;
    s->linear = j->lab;
    s->root = j->lab + 256;
    return at - memory;
}

/* Into the block for lists, which components of equal labels leave alone: to last for the call, and
 * for the next if nobody else wants it. */
static lob_status send_tables(job *j, lob_supervoxels_cache *kept)
{
    const lob_supervoxels_plan *plan = &kept->plan;
    lob_device *device = j->device;
    void *memory = NULL;
    j->table_bytes = place_tables(j, NULL);
    if (j->table_bytes == 0) return LOB_OK;
    if (kept->device == device && kept->sent &&
        kept->sent == lob_device_block_uses(device, LOB_DEVICE_LISTS)) {
        place_tables(j, (unsigned char *)lob_device_block_held(device, LOB_DEVICE_LISTS));
        return LOB_OK;
    }
    LOB_TRY(lob_device_block_take(device, LOB_DEVICE_LISTS, &memory, j->table_bytes, j->error));
    place_tables(j, (unsigned char *)memory);
    if (plan->rule.lab)
        LOB_TRY(lob_device_upload(device, j->lab, plan->linear,
                                  LOB_LAB_ENTRIES * (int64_t)sizeof *j->lab, j->error));
    if (plan->rule.method == LOB_LSC) {
        const int64_t wave = (int64_t)sizeof(lob_wave);
        LOB_TRY(lob_device_upload(device, j->axis_wave, plan->axis_wave,
                                  lob_supervoxel_coordinates(&plan->rule) * wave, j->error));
        LOB_TRY(lob_device_upload(device, j->level_wave, plan->level_wave,
                                  plan->level_waves * LOB_WAVE_ENTRIES * wave, j->error));
    }
    kept->device = device;
    kept->sent = lob_device_block_uses(device, LOB_DEVICE_LISTS);
    return LOB_OK;
}

/* Memory for the iterations, its first part cleared. */
static lob_status prepare(job *j)
{
    lob_error *error = j->error;
    void *memory = NULL;
    const int64_t bytes = place_parts(j, NULL);
    LOB_TRY(take_work(j, bytes, &memory));
    place_parts(j, (unsigned char *)memory);
    count_bytes(j, 0);
    const scene *s = &j->s;
    const unsigned char *const end = (const unsigned char *)s->centres;
    LOB_CUDA(cudaMemsetAsync(memory, 0, (size_t)(end - (unsigned char *)memory),
                             lob_device_cuda_stream(j->device)));
    if ((void *)s->sums == s->labels) {
        const size_t sums = (size_t)s->rule.clusters * (size_t)lob_cluster_sums(&s->rule);
        LOB_CUDA(
            cudaMemsetAsync(s->sums, 0, sums * sizeof *s->sums, lob_device_cuda_stream(j->device)));
    }
    return LOB_OK;
}

/* ---- what is asked for ---- */

/*
 * The view: flat where there are slices or a side of one voxel. Its u and v are chosen so that the
 * shared arithmetic, which takes y and z before x, is the same with v before u.
 */
static void lay_view(scene *s)
{
    const lob_supervoxels_rule *rule = &s->rule;
    static const int axes[4][3] = {
  /* clusters are numbered along u before v */
        {1, 2, 0},
        {0, 2, 1},
        {0, 1, 2},
        {0, 1, 2}
    };
    int across = rule->slice_axis;
    for (int a = 2; a >= 0 && across < 0; a--)
        if (rule->side[a] == 1) across = a;
    s->flat = across >= 0;
    const int64_t stride[3] = {1, rule->side[0], (int64_t)rule->side[0] * rule->side[1]};
    const int64_t cell_stride[3] = {1, rule->cells[0], (int64_t)rule->cells[0] * rule->cells[1]};
    const int brick[3] = {s->flat ? shape<true>::bx : shape<false>::bx,
                          s->flat ? shape<true>::by : shape<false>::by,
                          s->flat ? shape<true>::bz : shape<false>::bz};
    for (int i = 0; i < 3; i++) {
        const int a = axes[s->flat ? across : 3][i];
        s->axis[i] = a;
        s->side[i] = rule->side[a];
        s->cells[i] = rule->cells[a];
        s->stride[i] = stride[a];
        s->cell_stride[i] = cell_stride[a];
        s->bricks[i] = (uint32_t)((rule->side[a] + brick[i] - 1) / brick[i]);
    }
}

static void describe_image(job *j)
{
    const lob_volume *image = j->in->image;
    const double *range = j->options->range;
    lob_device_image *to = &j->s.image;
    to->stored = j->arrays->image;
    to->mask = j->arrays->mask;
    to->voxels = j->voxels;
    to->channels = image->channels;
    to->type = image->type;
    to->ranged = range[0] > -INFINITY || range[1] < INFINITY;
    to->slope = image->slope;
    to->inter = image->inter;
    to->range[0] = lob_as_compared(range[0], image);
    to->range[1] = lob_as_compared(range[1], image);
}

/*
 * What slic's clusters must be apart by to be told apart in floats: distances are rounded once an
 * axis, and products of places, which are the larger the longer the axes, lose their last bits.
 */
static float margin_of(const lob_supervoxels_rule *rule)
{
    float margin = 64;
    for (int a = 0; a < 3; a++) {
        const float side = (float)rule->side[a] * rule->position[a];
        margin += side * 8 * (rule->step[a] * rule->position[a] + 1) * 0x1p-22f;
    }
    return margin;
}

/* The scene of a plan; false: its runs, or its voxels as pieces of one each, cannot be counted. */
static bool describe(job *j, const lob_supervoxels_plan *plan)
{
    scene *s = &j->s;
    s->rule = plan->rule;
    s->levels.low_bits = plan->levels.low_bits;
    s->levels.low = plan->levels.low;
    s->levels.per_unit = plan->levels.per_unit;
    s->levels.exact = plan->levels.exact;
    memcpy(s->lowest, plan->lowest, sizeof s->lowest);
    s->labels = j->arrays->labels;
    lay_view(s);
    s->aligned =
        s->stride[0] == 1 && s->rule.side[0] % 4 == 0 && (uintptr_t)s->labels % sizeof(int4) == 0;
    const int64_t runs = lob_product(s->bricks[0], s->bricks[1], s->bricks[2], WARP);
    /* so that a thread's next run never wraps */
    const int64_t most = UINT32_MAX - (1 << 24);
    if (runs < 0 || runs > most || j->voxels > most) return false;
    s->runs = (uint32_t)runs;
    const uint32_t depth = (uint32_t)(s->flat ? shape<true>::depth : shape<false>::depth);
    s->piles = (s->bricks[2] + depth - 1) / depth;
    s->stretch = runs / WARP < MANY_BRICKS ? 1 : STRETCH;
    s->margin = margin_of(&s->rule);
    s->room = j->tuning.plain ? 0 : lob_supervoxels_room(j->device, s);
    s->screened = s->rule.method == LOB_SLIC && s->room > 0 &&
                  (count_of_piles(s) >= MANY_PILES || j->tuning.screened);
    return true;
}

/* ---- the plan ---- */

static bool same_options(const lob_supervoxels_options *a, const lob_supervoxels_options *b)
{
    return a->method == b->method && a->slice_axis == b->slice_axis && a->size_mm == b->size_mm &&
           a->count == b->count && a->compactness == b->compactness && a->ratio == b->ratio &&
           a->lab == b->lab && a->smallest == b->smallest;
}

static bool same_image(const lob_volume *a, const lob_volume *b)
{
    return a->type == b->type && a->channels == b->channels && a->dims.nx == b->dims.nx &&
           a->dims.ny == b->dims.ny && a->dims.nz == b->dims.nz && a->slope == b->slope &&
           memcmp(a->geometry.spacing_mm, b->geometry.spacing_mm, sizeof a->geometry.spacing_mm) ==
               0;
}

static bool same_levels(const lob_supervoxels_cache *kept, const lob_levels *levels,
                        const lob_extremes *extremes, const lob_supervoxels_options *options)
{
    const bool as_many = levels->data_voxels == kept->levels.data_voxels;
    if (levels->data_voxels == 0 || (options->count > 0 && !as_many)) return false;
    if (options->lab) return true;
    for (int c = 0; c < kept->image.channels; c++) {
        const lob_extremes *a = &kept->extremes[c], *b = &extremes[c];
        if (a->low != b->low || a->high != b->high || a->low_bits != b->low_bits ||
            a->high_bits != b->high_bits)
            return false;
    }
    return levels->exact == kept->levels.exact && levels->low_bits == kept->levels.low_bits &&
           levels->low == kept->levels.low && levels->per_unit == kept->levels.per_unit;
}

/* Levels of the whole image, which the host waits for; colours in CIELAB need none. */
static lob_status find_levels(job *j, lob_levels *levels, lob_extremes *extremes)
{
    const lob_volume *image = j->in->image;
    uint16_t span[LOB_SUPERVOXELS_MAX_CHANNELS];
    lob_device_view whole = {};
    void *work = NULL;
    if (j->options->lab && !j->s.image.mask && !j->s.image.ranged) {
        for (int c = 0; c < image->channels; c++) extremes[c] = lob_extremes{};
        levels->data_voxels = j->voxels; /* whole numbers, all of them data */
        return LOB_OK;
    }
    for (int a = 0; a < 3; a++) whole.side[a] = (uint32_t)lob_side(image->dims, a);
    whole.stride[0] = 1;
    whole.stride[1] = whole.side[0];
    whole.stride[2] = (int64_t)whole.side[0] * whole.side[1];
    LOB_TRY(take_work(j, lob::levels::scan_bytes(1, image->channels), &work));
    LOB_TRY(lob::levels::scan_extremes(j->device, extremes, levels, &j->s.image, &whole, work,
                                       j->error));
    lob_levels_settle(levels, span, extremes, image);
    return LOB_OK;
}

/* The plan in kept: the one it has, where that still does, or a new one. */
static lob_status make_plan(job *j, lob_supervoxels_cache *kept)
{
    const int channels = j->in->image->channels;
    lob_extremes extremes[LOB_SUPERVOXELS_MAX_CHANNELS];
    lob_levels levels = {};
    LOB_TRY(find_levels(j, &levels, extremes));
    j->found.data_voxels = levels.data_voxels;
    j->found.not_finite = levels.not_finite;
    if (kept->made && same_options(&kept->options, j->options) &&
        same_image(&kept->image, j->in->image) && same_levels(kept, &levels, extremes, j->options))
        return LOB_OK;
    lob_supervoxels_cache_free(kept);
    LOB_TRY(lob_supervoxels_plan_make(&kept->plan, j->in, j->options, &levels, extremes, j->error));
    kept->made = true;
    kept->options = *j->options;
    kept->image = *j->in->image;
    kept->image.data = NULL;
    kept->levels = levels;
    memcpy(kept->extremes, extremes, (size_t)channels * sizeof *extremes);
    return LOB_OK;
}

void lob_supervoxels_cache_free(lob_supervoxels_cache *kept)
{
    if (kept->made) lob_supervoxels_plan_free(&kept->plan);
    *kept = lob_supervoxels_cache{};
}

/* ---- the work ---- */

/*
 * Tell how far it is. Passes are queued without waiting, so this waits for the pass before the last
 * queued one: the device always has one to do, and a cancelled call ends soon.
 */
static lob_status tell(job *j, int pass, int passes)
{
    lob_error *error = j->error;
    const lob_context *context = j->context;
    if (!context->progress) return LOB_OK;
    LOB_CUDA(cudaEventRecord(j->passed[pass % 2], lob_device_cuda_stream(j->device)));
    if (pass > 0) LOB_CUDA(cudaEventSynchronize(j->passed[(pass - 1) % 2]));
    return context->progress(context->user, ITERATED * pass / passes) ? LOB_ECANCEL : LOB_OK;
}

static lob_status settle(job *j)
{
    return lob_supervoxels_settle_cuda(j->device, &j->s, j->error);
}

static lob_status pass(job *j, pass_kind kind, int iteration)
{
    j->s.pass = kind;
    j->s.iteration = iteration;
    return lob_supervoxels_pass_cuda(j->device, &j->s, j->tuning.plain, j->error);
}

/* How many iterations were done: fewer when one left everything as it was. */
static lob_status count_iterations(job *j)
{
    progress_line line;
    j->found.iterations = j->options->iterations;
    if (!j->s.before) return LOB_OK;
    LOB_TRY(lob_device_download(j->device, &line, j->s.line, sizeof line, j->error));
    if (line.iterations > 0 && line.changed[line.iterations % RING] == 0)
        j->found.iterations = (int)line.iterations;
    return LOB_OK;
}

/* Clusters of all data voxels, plus 1, into the labels. */
static lob_status iterate(job *j)
{
    const int iterations = j->options->iterations;
    LOB_TRY(lob_supervoxels_planes_cuda(j->device, &j->s, j->error));
    LOB_TRY(lob_supervoxels_begin_cuda(j->device, &j->s, j->error));
    LOB_TRY(pass(j, PASS_START, 0));
    LOB_TRY(settle(j));
    LOB_TRY(tell(j, 0, iterations));
    for (int i = 1; i < iterations; i++) {
        LOB_TRY(pass(j, PASS_ADD, i));
        LOB_TRY(settle(j));
        LOB_TRY(tell(j, i, iterations));
    }
    LOB_TRY(pass(j, PASS_LABEL, iterations));
    return count_iterations(j);
}

/* Clusters become connected pieces, and small ones join others. */
static lob_status connect(job *j)
{
    const lob_context *context = j->context;
    lob::components::labelled_pieces pieces = {};
    lob_context within = *context;
    lob_supervoxel_pieces found = {};
    within.max_memory = most_beside(j, j->table_bytes);
    pieces.work_bytes = j->work_bytes;
    LOB_TRY(lob::components::label_pieces(&pieces, j->arrays->labels, j->in->image->dims,
                                          j->s.rule.slice_axis, &within, j->error));
    j->work_bytes = pieces.work_bytes;
    count_bytes(j, pieces.table_bytes);
    if (context->progress && context->progress(context->user, CONNECTED)) return LOB_ECANCEL;
    if (j->s.rule.small <= 1) {
        uint32_t n = 0;
        LOB_TRY(lob_device_download(j->device, &n, pieces.found, sizeof n, j->error));
        j->found.pieces = j->found.supervoxels = n;
        return LOB_OK;
    }
    found.at = pieces.found;
    found.most = pieces.max_pieces;
    found.table = pieces.table;
    found.beside = j->table_bytes + pieces.table_bytes;
    found.list = j->tuning.list;
    LOB_TRY(lob_supervoxels_pieces_cuda(j->device, &found, &j->s, most_beside(j, found.beside),
                                        j->error));
    if (found.bytes > j->work_bytes) j->work_bytes = found.bytes;
    count_bytes(j, pieces.table_bytes);
    j->found.pieces = found.pieces;
    j->found.supervoxels = found.supervoxels;
    return LOB_OK;
}

static lob_status run(job *j, lob_supervoxels_cache *kept)
{
    lob_error *error = j->error;
    describe_image(j);
    LOB_TRY(make_plan(j, kept));
    const lob_supervoxels_plan *plan = &kept->plan;
    for (int a = 0; a < 3; a++) j->found.cells[a] = plan->rule.cells[a];
    j->found.size_mm = plan->size_mm;
    if (!describe(j, plan))
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "the volume is too large for a GPU");
    LOB_TRY(send_tables(j, kept));
    LOB_TRY(prepare(j));
    for (int i = 0; i < 2 && j->context->progress; i++)
        LOB_CUDA(cudaEventCreateWithFlags(&j->passed[i], cudaEventDisableTiming));
    LOB_TRY(iterate(j));
    if (!j->tuning.disconnected) LOB_TRY(connect(j));
    return lob_device_wait(j->device, error);
}

lob_status lob_supervoxels_cuda_arrays(const lob_supervoxels_arrays *arrays,
                                       lob_supervoxels_stats *stats,
                                       const lob_supervoxels_input *in,
                                       const lob_supervoxels_options *options,
                                       lob_supervoxels_cache *kept,
                                       const lob_supervoxels_tuning *tuning,
                                       const lob_context *context, lob_error *error)
{
    lob_supervoxels_cache own = {};
    job j = {};
    if (!context->device) return lob_fail(error, LOB_EDEVICE, "no GPU was opened");
    LOB_TRY(lob_supervoxels_check(in, options, error));
    LOB_TRY(lob_device_enter(context->device, error));
    j.device = context->device;
    j.arrays = arrays;
    j.in = in;
    j.options = options;
    if (tuning) j.tuning = *tuning;
    j.context = context;
    j.error = error;
    j.voxels = lob_voxels(in->image);
    const lob_status st = run(&j, kept ? kept : &own);
    if (st != LOB_OK)
        cudaStreamSynchronize(
            lob_device_cuda_stream(j.device)); /* nothing of it stays on the way */
    for (int i = 0; i < 2; i++)
        if (j.passed[i]) cudaEventDestroy(j.passed[i]);
    lob_supervoxels_cache_free(&own);
    if (stats) *stats = j.found;
    return st;
}

/* ---- arrays in ordinary memory ---- */

/* Room on the device for the arrays, and the image and mask sent there. */
static lob_status send(lob_supervoxels_arrays *arrays, const lob_supervoxels_input *in,
                       lob_device *device, lob_error *error)
{
    const lob_volume *image = in->image;
    const int64_t voxels = lob_voxels(image), most = INT64_MAX / 8;
    const int64_t stored =
        lob_product(voxels, image->channels, (int64_t)lob_type_of(image->type)->bytes, 1);
    const int64_t labels = lob_product(voxels, sizeof(int32_t), 1, 1);
    const int64_t mask = in->mask ? voxels : 0, slack = 3 * 256;
    char taken[LOB_BYTES_TEXT], left[LOB_BYTES_TEXT];
    void *block = NULL;
    if (stored < 0 || labels < 0 || stored > most || labels > most)
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "the volume is too large for a GPU");
    const int64_t total = stored + labels + mask + slack;
    const int64_t room = lob_device_block_capacity(device, LOB_DEVICE_ARRAYS, total);
    if (total > room) {
        lob_bytes_texts(taken, total, left, room);
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "the volumes take %s and the GPU has %s free, enough for %.1f million "
                             "voxels without what supervoxels need",
                             taken, left, (double)voxels / (double)total * (double)room / 1e6);
    }
    LOB_TRY(lob_device_block_take(device, LOB_DEVICE_ARRAYS, &block, total, error));
    unsigned char *at = (unsigned char *)block;
    unsigned char *to_image = take_part<unsigned char>(&at, stored);
    uint8_t *to_mask = take_part<uint8_t>(&at, mask);
    arrays->image = to_image;
    arrays->mask = in->mask ? to_mask : NULL;
    arrays->labels = take_part<int32_t>(&at, voxels);
    LOB_TRY(lob_device_upload(device, to_image, image->data, stored, error));
    return lob_device_upload(device, to_mask, in->mask, mask, error);
}

lob_status lob_supervoxels_cuda(int32_t *labels, lob_supervoxels_stats *stats,
                                const lob_supervoxels_input *in,
                                const lob_supervoxels_options *options, const lob_context *context,
                                lob_error *error)
{
    lob_supervoxels_arrays arrays = {};
    lob_device *device = context->device;
    if (stats) *stats = lob_supervoxels_stats{};
    if (!device) return lob_fail(error, LOB_EDEVICE, "no GPU was opened");
    LOB_TRY(lob_supervoxels_check(in, options, error));
    LOB_TRY(send(&arrays, in, device, error));
    LOB_TRY(lob_supervoxels_cuda_arrays(&arrays, stats, in, options, NULL, NULL, context, error));
    LOB_TRY(lob_device_download(device, labels, arrays.labels,
                                lob_voxels(in->image) * (int64_t)sizeof *labels, error));
    return context->progress && context->progress(context->user, 1.0) ? LOB_ECANCEL : LOB_OK;
}
