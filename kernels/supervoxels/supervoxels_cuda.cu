/*
 * The host's part of supervoxels on a GPU: the order of the stages, and the memory they work in.
 * The overview is in supervoxels_params_cuda.cuh.
 */
#include "kernels/backend_cuda.h"
#include "kernels/components/label/label_pieces_cuda.cuh"
#include "kernels/share.h"
#include "kernels/supervoxels/supervoxels_params_cuda.cuh"
#include "kernels/supervoxels/supervoxels_plan.h"

#include <stdlib.h>
#include <string.h>

namespace lob::supervoxels
{

/* Progress when the iterations are done, and when fragments are numbered. */
static const double ITERATED = 0.8, NUMBERED = 0.95;

/* In large volumes a warp takes several tiles of a row in turn. */
enum { TILES_PER_TURN = 4, MANY_BRICKS = 1 << 16 };

/* With fewer tiles, culling ahead takes longer than it saves. */
enum { MANY_TILES = 1 << 14 };

/* Device addresses of a call's arrays. */
struct device_arrays {
    const void *image;
    const uint8_t *mask; /* NULL: none */
    int32_t *labels;
};

struct call {
    const device_arrays *arrays;
    const lob_supervoxels_input *in, *whole; /* of the rank, of the volume */
    const lob_supervoxels_options *options;
    lob_team *team;             /* NULL: one rank has all */
    int64_t planes, first, end; /* of the volume, of which `in` has first..end-1 */
    shared_clusters *shared;    /* one for each other rank that has some of this one's */
    int shared_count;
    lob_letter *letters; /* to each of these ranks */
    seam_planes seams;   /* of a team */
    lob_supervoxels_tuning tuning;
    const lob_context *context;
    lob_supervoxels_plan plan;
    lob_device *device;
    lob_device_budget budget;
    supervoxels_params s;
    int64_t zero_bytes;    /* of working memory, from its start on, that have to be cleared */
    cudaEvent_t passed[2]; /* ends of the last two passes; only made where progress is reported */
    lob_supervoxels_stats stats;
    lob_error *error;
};

/* ---- memory ---- */

/* May the array of labels hold so many sums before labels are written? */
static bool labels_hold(const call *c, int64_t sums)
{
    const supervoxels_params *s = &c->s;
    return (s->max_shortlist == 0 || channels_in_labels(s->rule.channels) == 0) &&
           sums * (int64_t)sizeof *s->sums <= c->budget.voxels * (int64_t)sizeof *s->labels &&
           (uintptr_t)s->labels % sizeof *s->sums == 0;
}

/* From the entries of a rank's own clusters to where that of cluster 0 would be. */
static void begin_at_cluster_0(supervoxels_params *s)
{
    const int64_t first = s->first_cluster, sums = first * lob_cluster_sums(&s->rule);
    s->sums -= sums;
    s->centres -= first * lob_cluster_floats(&s->rule);
    s->boxes -= first * 6;
    if (s->before) s->before -= sums;
    if (s->largest) s->largest -= first;
    if (s->largest_before) s->largest_before -= first;
}

/* Lay out what iterations work with. Returns its bytes. */
static int64_t lay_out_work(call *c, void *block)
{
    supervoxels_params *s = &c->s;
    const lob_supervoxels_rule *rule = &s->rule;
    const int64_t clusters = s->clusters, sums = clusters * lob_cluster_sums(rule);
    const int64_t tiles = count_of_tiles(s);
    const bool tiled = s->max_shortlist > 0, compared = c->options->until_still;
    const bool slico = rule->method == LOB_SLICO;
    const bool first = labels_hold(c, sums), both = labels_hold(c, 2 * sums);
    arena at(block);
    s->sums = at.take<u64>(first ? 0 : sums);
    s->largest = at.take<uint32_t>(slico ? clusters : 0);
    s->weights = at.take<float>(LOB_CLUSTER_SUMS);
    s->totals = at.take<u64>(LOB_CLUSTER_SUMS);
    s->counters = at.take<pass_counters>(1);
    c->zero_bytes = at.used;
    for (shared_clusters *with = c->shared; with < c->shared + c->shared_count; with++) {
        with->sums = at.take<u64>((int64_t)with->clusters * lob_cluster_sums(rule));
        with->largest = at.take<uint32_t>(slico ? with->clusters : 0);
    }
    s->centres = at.take<float>(clusters * lob_cluster_floats(rule));
    s->boxes = at.take<int32_t>(clusters * 6);
    s->spans = at.take<cell_span>((int64_t)s->bricks[0] + s->bricks[1] + s->tiles_w);
    s->tile_stats =
        at.take<uint32_t>(tiled && rule->method == LOB_SLIC ? tiles * 2 * rule->channels : 0);
    s->listed = at.take<listed_tile>(s->culled ? tiles : 0);
    s->before = at.take<u64>(compared && !both ? sums : 0);
    s->largest_before = at.take<uint32_t>(compared && slico ? clusters : 0);
    s->brick_levels = at.take<uint4>(tiled ? s->strips : 0);
    s->brick_data = at.take<uint8_t>(s->strips);
    if (first) s->sums = (u64 *)s->labels;
    if (both) s->before = s->sums + sums;
    if (!compared) s->before = NULL;
    if (!slico) s->largest = s->largest_before = NULL;
    if (!tiled) s->brick_levels = NULL;
    if (block) begin_at_cluster_0(s);
    return at.used;
}

/* Take the memory of the iterations; clear what starts from zero. */
static lob_status take_work(call *c)
{
    const supervoxels_params *s = &c->s;
    void *block = NULL;
    LOB_TRY(lob_device_budget_take(&c->budget, LOB_DEVICE_WORK, lay_out_work(c, NULL), &block,
                                   c->error));
    lay_out_work(c, block);
    LOB_TRY(lob_device_fill(c->device, block, 0, c->zero_bytes, c->error));
    const int64_t each = lob_cluster_sums(&s->rule), sums = s->clusters * each;
    if (!labels_hold(c, sums)) return LOB_OK;
    return lob_device_fill(c->device, s->sums + s->first_cluster * each, 0,
                           sums * (int64_t)sizeof *s->sums, c->error);
}

/* The plan's tables in device memory. */
struct device_tables {
    lob_cos_sin *axis, *level;
    uint16_t *linear, *root;
};

/* Lay out the tables, for the kernels too, and a rank's seams. Returns their bytes. */
static int64_t lay_out_tables(call *c, device_tables *tables, void *block)
{
    supervoxels_params *const s = &c->s;
    const lob_supervoxels_rule *rule = &s->rule;
    const int rank = lob_team_rank(c->team), size = lob_team_size(c->team);
    const int64_t plane = size > 1 ? (int64_t)rule->side[0] * rule->side[1] : 0;
    const bool lsc = rule->method == LOB_LSC;
    arena at(block);
    tables->axis = at.take<lob_cos_sin>(lsc ? lob_supervoxels_coordinates(rule) : 0);
    tables->level = at.take<lob_cos_sin>(lsc ? 2 * LOB_COS_SIN_ENTRIES : 0);
    tables->linear = at.take<uint16_t>(rule->lab ? 256 : 0);
    tables->root = at.take<uint16_t>(rule->lab ? LOB_LAB_ROOTS : 0);
    for (int64_t a = 0, before = 0; a < 3; before += rule->side[a], a++)
        s->axis_cos_sin[a] = tables->axis + before;
    s->level_cos_sin = tables->level;
    s->linear = tables->linear;
    s->root = tables->root;
    c->seams.first = at.take<int32_t>(2 * plane);
    c->seams.last = at.take<int32_t>(2 * plane);
    c->seams.before = at.take<int32_t>(rank > 0 ? 2 * plane : 0);
    c->seams.behind = at.take<int32_t>(rank + 1 < size ? 2 * plane : 0);
    c->seams.pairs = at.take<uint2>(plane);
    c->seams.pair_count = at.take<u64>(plane > 0 ? 1 : 0);
    if (rank == 0) c->seams.before = NULL;
    if (rank + 1 == size) c->seams.behind = NULL;
    return at.used;
}

enum { ROOT_THREADS = 256 };

/* The host would take longer for these roots than the device for a slice. */
static __global__ void __launch_bounds__(ROOT_THREADS) roots_kernel(uint16_t *root)
{
    const uint32_t i = blockIdx.x * ROOT_THREADS + threadIdx.x;
    uint32_t low = 0, high = UINT16_MAX;
    while (low < high) {
        const uint32_t middle = (low + high + 1) / 2;
        if (lob_lab_root_reaches(i, middle))
            low = middle;
        else
            high = middle - 1;
    }
    root[i] = (uint16_t)low;
}

/* Make the tables. They are in the block for lists, which the numbering of fragments does not use:
 * there they last for the call. */
static lob_status make_tables(call *c)
{
    const lob_supervoxels_plan *plan = &c->plan;
    const int64_t entry = (int64_t)sizeof(lob_cos_sin);
    lob_device *device = c->device;
    device_tables tables;
    void *block = NULL;
    const int64_t bytes = lay_out_tables(c, &tables, NULL);
    if (bytes == 0) return LOB_OK;
    LOB_TRY(lob_device_budget_take(&c->budget, LOB_DEVICE_LISTS, bytes, &block, c->error));
    lay_out_tables(c, &tables, block);
    if (plan->rule.lab) {
        LOB_TRY(
            lob_device_upload(device, tables.linear, plan->linear, sizeof plan->linear, c->error));
        LOB_TRY(lob_launch(device, roots_kernel, "a table of roots", LOB_LAB_ROOTS / ROOT_THREADS,
                           ROOT_THREADS, 0, tables.root, c->error));
    }
    if (plan->rule.method == LOB_LSC) {
        LOB_TRY(lob_device_upload(device, tables.axis, plan->axis_cos_sin,
                                  lob_supervoxels_coordinates(&plan->rule) * entry, c->error));
        LOB_TRY(lob_device_upload(device, tables.level, plan->level_cos_sin,
                                  plan->level_tables * LOB_COS_SIN_ENTRIES * entry, c->error));
    }
    return LOB_OK;
}

/* ---- the plan, and the params of kernels ---- */

/* The extremes and the number of the data, which the host waits for. In CIELAB, without a mask or a
 * range, none are needed. */
static lob_status find_extremes(call *c, lob_levels *found, lob_extremes *extremes)
{
    const lob_volume *image = c->in->image;
    const lob_device_view whole = lob_device_view_of(image->dims);
    uint16_t span[LOB_SUPERVOXELS_MAX_CHANNELS];
    void *work = NULL;
    if (c->options->lab && !c->s.image.mask && !c->s.image.ranged) {
        for (int k = 0; k < image->channels; k++) extremes[k] = lob_extremes{};
        found->data_voxels = c->budget.voxels; /* bytes are always data */
        return lob_levels_of_team(extremes, found, 1, image, c->team, c->error);
    }
    LOB_TRY(lob_device_budget_take(&c->budget, LOB_DEVICE_WORK,
                                   levels::scan_bytes(1, image->channels), &work, c->error));
    LOB_TRY(levels::scan_extremes(c->device, extremes, found, &c->s.image, &whole, work, c->error));
    LOB_TRY(lob_levels_of_team(extremes, found, 1, image, c->team, c->error));
    lob_levels_settle(found, span, extremes, image);
    return LOB_OK;
}

static lob_status make_plan(call *c)
{
    lob_extremes extremes[LOB_SUPERVOXELS_MAX_CHANNELS];
    lob_levels levels = {};
    LOB_TRY(find_extremes(c, &levels, extremes));
    LOB_TRY(lob_supervoxels_plan_make(&c->plan, c->whole, c->options, &levels, extremes, c->context,
                                      c->error));
    const lob_supervoxels_plan *plan = &c->plan;
    for (int a = 0; a < 3; a++) c->stats.cells[a] = plan->rule.cells[a];
    c->stats.size_mm = plan->size_mm;
    c->stats.data_voxels = levels.data_voxels;
    c->stats.not_finite = levels.not_finite;
    return LOB_OK;
}

/*
 * The view: flat where there are slices or a side of one voxel. Clusters are numbered along u
 * before v, and v is never x, because distances add the parts of y and z before that of x.
 */
static void lay_out_view(supervoxels_params *s, int64_t first, int64_t end)
{
    const lob_supervoxels_rule *rule = &s->rule;
    static const int across_x[3] = {1, 2, 0}, across_y[3] = {0, 2, 1}, across_z[3] = {0, 1, 2};
    static const int *const axes[3] = {across_x, across_y, across_z};
    int across = rule->slice_axis;
    for (int a = 2; a >= 0 && across < 0; a--)
        if (rule->side[a] == 1) across = a;
    s->flat = across >= 0;
    const int64_t stride[3] = {1, rule->side[0], (int64_t)rule->side[0] * rule->side[1]};
    const int64_t cell_stride[3] = {1, rule->cells[0], (int64_t)rule->cells[0] * rule->cells[1]};
    const int brick[3] = {s->flat ? brick_shape<true>::bx : brick_shape<false>::bx,
                          s->flat ? brick_shape<true>::by : brick_shape<false>::by,
                          s->flat ? brick_shape<true>::bz : brick_shape<false>::bz};
    for (int i = 0; i < 3; i++) {
        const int a = axes[s->flat ? across : 2][i];
        s->axis[i] = a;
        s->side[i] = rule->side[a];
        s->cells[i] = rule->cells[a];
        s->begin[i] = a == 2 ? (int32_t)first : 0;
        s->end[i] = a == 2 ? (int32_t)end : rule->side[a];
        s->stride[i] = stride[a];
        s->cell_stride[i] = cell_stride[a];
        s->bricks[i] = (uint32_t)((s->end[i] - s->begin[i] + brick[i] - 1) / brick[i]);
    }
    s->planes = (int32_t)(end - first);
    s->first_voxel = first * stride[2];
}

/* The clusters that the slab's voxels may join. */
static void find_clusters(int32_t *first, int32_t *clusters, const lob_supervoxels_rule *rule,
                          int64_t plane, int64_t plane_end)
{
    const int32_t of_layer = rule->cells[0] * rule->cells[1];
    int32_t layer, layer_end;
    lob_cluster_layers(&layer, &layer_end, plane, plane_end, rule);
    *first = layer * of_layer;
    *clusters = (layer_end - layer) * of_layer;
}

/* Those of them that other ranks have too. */
static lob_status find_shared(call *c)
{
    const supervoxels_params *s = &c->s;
    const int size = lob_team_size(c->team);
    c->shared = (shared_clusters *)calloc((size_t)size, sizeof *c->shared);
    c->letters = (lob_letter *)calloc((size_t)size, sizeof *c->letters);
    if (!c->shared || !c->letters) return LOB_ENOMEM;
    for (int r = 0; r < size; r++) {
        int64_t plane, plane_end;
        int32_t first, clusters;
        lob_team_planes(&plane, &plane_end, c->team, r, c->planes);
        find_clusters(&first, &clusters, &s->rule, plane, plane_end);
        const int32_t from = max(first, s->first_cluster);
        const int32_t to = min(first + clusters, s->first_cluster + s->clusters);
        if (r == lob_team_rank(c->team) || from >= to) continue;
        c->shared[c->shared_count++] = {r, from, to - from, NULL, NULL};
    }
    return LOB_OK;
}

/*
 * slic: how far the costs of two clusters, worked out in floats, must be apart before the greater
 * is known: costs are rounded once per axis, and products of positions, which are the larger the
 * longer the axes, lose their last bits.
 */
static float margin_of(const lob_supervoxels_rule *rule)
{
    float margin = 64;
    for (int a = 0; a < 3; a++) {
        const float side = (float)rule->side[a] * rule->position_weight[a];
        margin += side * 8 * (rule->cell_side[a] * rule->position_weight[a] + 1) * 0x1p-22f;
    }
    return margin;
}

/* What kernels are given of the plan; refuses a volume whose strips, or whose voxels as fragments
 * of one voxel each, 32 bits cannot count. */
static lob_status fill_params(call *c)
{
    supervoxels_params *s = &c->s;
    const lob_supervoxels_plan *plan = &c->plan;
    s->rule = plan->rule;
    s->levels = lob_device_levels_of(plan->levels);
    memcpy(s->lowest, plan->lowest, sizeof s->lowest);
    s->labels = c->arrays->labels;
    lay_out_view(s, c->first, c->end);
    find_clusters(&s->first_cluster, &s->clusters, &s->rule, c->first, c->end);
    LOB_TRY(find_shared(c));
    s->aligned =
        s->stride[0] == 1 && s->rule.side[0] % 4 == 0 && (uintptr_t)s->labels % sizeof(int4) == 0;
    const int64_t strips = lob_product(s->bricks[0], s->bricks[1], s->bricks[2], WARP);
    const int64_t max =
        UINT32_MAX - (1 << 24); /* a thread's next strip is counted in 32 bits too */
    if (strips < 0 || strips > max || c->budget.voxels > max) return lob_device_too_large(c->error);
    s->strips = (uint32_t)strips;
    const uint32_t depth =
        (uint32_t)(s->flat ? brick_shape<true>::depth : brick_shape<false>::depth);
    s->tiles_w = (s->bricks[2] + depth - 1) / depth;
    s->tiles_per_turn = strips / WARP < MANY_BRICKS ? 1 : TILES_PER_TURN;
    s->margin = margin_of(&s->rule);
    s->max_shortlist = c->tuning.voxelwise ? 0 : shortlist_capacity(c->device, s);
    s->culled = s->rule.method == LOB_SLIC && s->max_shortlist > 0 &&
                (count_of_tiles(s) >= MANY_TILES || c->tuning.culled);
    return LOB_OK;
}

/* ---- stages ---- */

/*
 * Report progress. Passes are queued without waiting, so this waits for the pass before the last
 * one: the device always has a pass to do, and a cancelled call ends soon.
 */
static lob_status report_progress(call *c, int pass, int passes)
{
    lob_error *error = c->error;
    const lob_context *context = c->context;
    if (!context->progress) return LOB_OK;
    LOB_CUDA(cudaEventRecord(c->passed[pass % 2], lob_device_cuda_stream(c->device)));
    if (pass > 0) LOB_CUDA(cudaEventSynchronize(c->passed[(pass - 1) % 2]));
    return context->progress(context->user, ITERATED * pass / passes) ? LOB_ECANCEL : LOB_OK;
}

static lob_status run_pass(call *c, pass_kind kind, int iteration)
{
    c->s.pass = kind;
    c->s.iteration = iteration;
    return launch_pass(c->device, &c->s, c->error);
}

/* How many iterations were done: fewer where one changed nothing. */
static lob_status count_iterations(call *c)
{
    pass_counters counters;
    c->stats.iterations = c->options->iterations;
    if (!c->s.before) return LOB_OK;
    LOB_TRY(lob_device_download(c->device, &counters, c->s.counters, sizeof counters, c->error));
    if (counters.iterations > 0 && counters.changed[counters.iterations % RING] == 0)
        c->stats.iterations = (int)counters.iterations;
    return LOB_OK;
}

/* Did the iteration change a cluster in any rank? Then all go on. One rank alone does not wait for
 * the answer: *any is true, and iterations that are not needed do nothing. */
static lob_status agree_on_change(call *c, int iteration, int64_t *any)
{
    uint32_t *const changed = c->s.before ? &c->s.counters->changed[iteration % RING] : NULL, mine;
    *any = 1;
    if (!changed || lob_team_size(c->team) == 1) return LOB_OK;
    LOB_TRY(lob_device_download(c->device, &mine, changed, sizeof mine, c->error));
    *any = mine;
    LOB_TRY(lob_team_reduce(c->team, any, 1, LOB_TEAM_MAX, c->error));
    return *any ? lob_device_fill(c->device, changed, 1, sizeof mine, c->error) : LOB_OK;
}

/* Write the cluster of every data voxel, plus 1, into the labels. */
static lob_status iterate(call *c)
{
    const int iterations = c->options->iterations;
    int64_t any = 1;
    LOB_TRY(make_brick_levels(c->device, &c->s, c->error));
    LOB_TRY(begin_clusters(c->device, &c->s, c->error));
    for (int i = 0; i < iterations && any; i++) {
        LOB_TRY(run_pass(c, i == 0 ? PASS_START : PASS_ADD, i));
        if (i == 0 && c->s.rule.method == LOB_LSC)
            LOB_TRY(find_weights(c->device, &c->s, c->team, c->error));
        LOB_TRY(update_clusters(c->device, &c->s, c->shared, c->shared_count, c->letters, c->team,
                                c->error));
        LOB_TRY(agree_on_change(c, i, &any));
        LOB_TRY(report_progress(c, i, iterations));
    }
    LOB_TRY(run_pass(c, PASS_LABEL, iterations));
    return count_iterations(c);
}

/* Replace clusters by the numbers of their fragments. */
static lob_status number_fragments(call *c, fragment_join *join)
{
    lob_device_budget *budget = &c->budget;
    const int64_t max_bytes = c->context->max_memory, beside = budget->held[LOB_DEVICE_LISTS];
    components::labelled_pieces fragments = {};
    lob_context context = *c->context;
    if (max_bytes > 0) context.max_memory = max_bytes > beside ? max_bytes - beside : 1;
    fragments.work_bytes = budget->held[LOB_DEVICE_WORK];
    LOB_TRY(components::label_pieces(&fragments, c->arrays->labels, c->in->image->dims,
                                     c->s.rule.slice_axis, &context, c->error));
    lob_device_budget_hold(budget, LOB_DEVICE_WORK, fragments.work_bytes);
    lob_device_budget_hold(budget, LOB_DEVICE_TABLES, fragments.table_bytes);
    join->count = fragments.components;
    join->max_fragments = fragments.max_components;
    join->table = fragments.table;
    join->max_contacts = c->tuning.max_contacts;
    join->team = c->team;
    join->seams = c->seams;
    return LOB_OK;
}

/* Keep the clusters of the slab's planes at seams. */
static lob_status keep_planes(call *c)
{
    const int64_t plane = (int64_t)c->s.rule.side[0] * c->s.rule.side[1];
    const int64_t bytes = plane * (int64_t)sizeof(int32_t);
    const int32_t *const labels = c->arrays->labels;
    if (lob_team_size(c->team) == 1) return LOB_OK;
    LOB_TRY(lob_device_copy(c->device, c->seams.first, labels, bytes, c->error));
    return lob_device_copy(c->device, c->seams.last, labels + (c->end - c->first - 1) * plane,
                           bytes, c->error);
}

/* Replace clusters by supervoxels: fragments are numbered, and small ones join others. */
static lob_status connect(call *c)
{
    const lob_context *context = c->context;
    fragment_join join = {};
    LOB_TRY(keep_planes(c));
    LOB_TRY(number_fragments(c, &join));
    LOB_TRY(lob_report(context, NUMBERED));
    if (c->s.rule.small <= 1 && lob_team_size(c->team) == 1) {
        uint32_t n = 0;
        LOB_TRY(lob_device_download(c->device, &n, join.count, sizeof n, c->error));
        c->stats.fragments = c->stats.supervoxels = n;
        return LOB_OK;
    }
    LOB_TRY(join_fragments(&c->budget, &join, &c->s, c->error));
    c->stats.fragments = join.fragments;
    c->stats.supervoxels = join.supervoxels;
    return LOB_OK;
}

static lob_status compute(call *c)
{
    lob_error *error = c->error;
    c->s.image =
        lob_device_image_of(c->in->image, c->arrays->image, c->arrays->mask, c->options->range);
    LOB_TRY(make_plan(c));
    LOB_TRY(fill_params(c));
    LOB_TRY(make_tables(c));
    LOB_TRY(take_work(c));
    for (int i = 0; i < 2 && c->context->progress; i++)
        LOB_CUDA(cudaEventCreateWithFlags(&c->passed[i], cudaEventDisableTiming));
    LOB_TRY(iterate(c));
    if (!c->tuning.disconnected) LOB_TRY(connect(c));
    return lob_device_wait(c->device, error);
}

} /* namespace lob::supervoxels */

lob_status lob_supervoxels_cuda_tuned(int32_t *labels, lob_supervoxels_stats *stats,
                                      const lob_supervoxels_input *in,
                                      const lob_supervoxels_options *options, int64_t planes,
                                      lob_team *team, const lob_supervoxels_tuning *tuning,
                                      const lob_context *context, lob_error *error)
{
    const lob_volume *image = in->image;
    lob_device *device = context->device;
    lob_volume volume = *image;
    lob_supervoxels_input whole = *in;
    lob::supervoxels::device_arrays there = {};
    lob::supervoxels::call c = {};
    volume.dims.nz = planes;
    whole.image = &volume;
    if (stats) *stats = {};
    if (!device) return lob_device_missing(error);
    LOB_TRY(lob_supervoxels_check(&whole, options, error));
    const int64_t voxels = lob_voxels(image);
    const lob_device_array arrays[] = {
        lob_device_volume(&there.image, image),
        lob_device_input(&there.mask, in->mask, voxels, in->place),
        lob_device_output(&there.labels, labels, lob_product(voxels, sizeof *labels, 1, 1),
                          in->place),
    };
    LOB_TRY(lob_device_send(device, arrays, 3, voxels, error));
    c.arrays = &there;
    c.in = in;
    c.whole = &whole;
    c.options = options;
    c.team = team;
    c.planes = planes;
    lob_team_planes(&c.first, &c.end, team, lob_team_rank(team), planes);
    if (tuning) c.tuning = *tuning;
    c.context = context;
    c.device = device;
    c.budget = lob_device_budget_of(context, "supervoxels", voxels);
    c.error = error;
    const lob_status st = compute(&c);
    if (st != LOB_OK) lob_device_wait(device, NULL); /* leave none queued */
    for (int i = 0; i < 2; i++)
        if (c.passed[i]) cudaEventDestroy(c.passed[i]);
    lob_supervoxels_plan_free(&c.plan);
    free(c.shared);
    free(c.letters);
    c.stats.working_bytes = lob_device_budget_held(&c.budget);
    if (st == LOB_OK)
        LOB_TRY(lob_team_reduce(team, &c.stats.working_bytes, 1, LOB_TEAM_MAX, error));
    if (stats) *stats = c.stats;
    LOB_TRY(st);
    LOB_TRY(lob_device_receive(device, arrays, 3, error));
    return lob_report(context, 1.0);
}

lob_status lob_supervoxels_slabs_cuda(int32_t *labels, lob_supervoxels_stats *stats,
                                      const lob_supervoxels_input *in,
                                      const lob_supervoxels_options *options, int64_t planes,
                                      lob_team *team, const lob_context *context, lob_error *error)
{
    const lob_status st =
        lob_supervoxels_cuda_tuned(labels, stats, in, options, planes, team, NULL, context, error);
    if (lob_team_size(team) == 1) return st;
    return lob_team_agree(team, lob_error_end(error, st), error);
}

lob_status lob_supervoxels_cuda(int32_t *labels, lob_supervoxels_stats *stats,
                                const lob_supervoxels_input *in,
                                const lob_supervoxels_options *options, const lob_context *context,
                                lob_error *error)
{
    return lob_supervoxels_cuda_tuned(labels, stats, in, options, in->image->dims.nz, NULL, NULL,
                                      context, error);
}
