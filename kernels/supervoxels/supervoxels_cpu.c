/* Supervoxels on the CPU: iterations over slabs of rows, and connectivity. */
#include "kernels/supervoxels/assign/assign_levels.h"
#include "kernels/supervoxels/assign/assign_rows.h"
#include "kernels/supervoxels/connect/fragments.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Rows first..end-1 along the engine's axis, and the clusters that their voxels may join. */
typedef struct {
    int32_t first, end;
    lob_cluster_share share;
    lob_supervoxel_rows *rows;
} slab;

typedef struct {
    const lob_supervoxels_input *in;
    const lob_supervoxels_options *options;
    const lob_context *context;
    lob_supervoxels_plan plan;
    lob_supervoxel_scene scene;
    lob_budget budget;
    int threads;
    int32_t *labels;
    int64_t *sums;  /* clusters times lob_cluster_sums: of the last iteration; NULL: nobody asks */
    float *largest; /* slico: clusters; with sums */
    float *centres;
    int32_t *boxes;
    float weights[LOB_CLUSTER_SUMS];
    int axis; /* that slabs follow each other along: 1 or 2 */
    int slabs;
    slab *slab;
    int64_t cluster_bytes;
    double done, share; /* of the work: before this pass, and of it */
    atomic_int stop;
} engine;

/* ---- the image ---- */

enum { STRETCH = 1024 };

/* 1 in labels where voxels are data, 0 elsewhere. */
static void mark_data(engine *e, const lob_data *data, const lob_view *view)
{
    const lob_dims d = view->dims;
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++)
        for (int64_t x = 0; x < d.nx; x += STRETCH) {
            uint8_t is_data[STRETCH];
            const int64_t n = d.nx - x < STRETCH ? d.nx - x : STRETCH;
            lob_levels_data_row(is_data, data, view, x, row % d.ny, row / d.ny, n);
            for (int64_t i = 0; i < n; i++) e->labels[row * d.nx + x + i] = is_data[i];
        }
}

/* Levels of a row for pieces: data is what has a label. */
static void row_levels(const void *user, uint16_t *out, int64_t row)
{
    const engine *e = user;
    const int64_t nx = e->in->image->dims.nx, at = row * nx;
    lob_supervoxel_levels(out, nx, &e->plan, e->in->image, e->labels + at, at, nx);
}

/* ---- memory ---- */

static int64_t block_cells(const engine *e, const lob_cell_block *block)
{
    return (int64_t)e->plan.rule.cells[0] * block->ny * block->nz;
}

/* Slabs lie along the axis with most cells. Returns the bytes that they take, for a cell so many.
 */
static int64_t lay_slabs(engine *e, int64_t cell_bytes)
{
    const lob_supervoxels_rule *rule = &e->plan.rule;
    const int32_t side = rule->side[e->axis], cells = rule->cells[e->axis];
    int64_t bytes = 0;
    for (int i = 0; i < e->slabs; i++) {
        slab *s = &e->slab[i];
        s->first = (int32_t)((int64_t)side * i / e->slabs);
        s->end = (int32_t)((int64_t)side * (i + 1) / e->slabs);
        const int32_t low = lob_cell(s->first, side, cells),
                      high = lob_cell(s->end - 1, side, cells);
        const int32_t from = low > 0 ? low - 1 : 0, to = high + 1 < cells ? high + 1 : high;
        s->share.block = e->axis == 2 ? (lob_cell_block){0, rule->cells[1], from, to - from + 1}
                                      : (lob_cell_block){from, to - from + 1, 0, rule->cells[2]};
        bytes += lob_supervoxel_rows_bytes(rule) + block_cells(e, &s->share.block) * cell_bytes;
    }
    return bytes;
}

/*
 * As many slabs as there are threads. Each holds a layer of cells that it shares with the next, so
 * they are at least two cells thick. There are fewer where that keeps to what is allowed, or to 4
 * bytes a voxel with what is taken besides; but where a single one takes more than these, only to
 * what is allowed.
 */
static void plan_slabs(engine *e, int64_t beside, int64_t cell_bytes)
{
    const lob_supervoxels_rule *rule = &e->plan.rule;
    const int64_t promised = 4 * (int64_t)rule->side[0] * rule->side[1] * rule->side[2];
    int64_t most = e->budget.limit ? e->budget.limit : INT64_MAX;
    beside += e->budget.held;
    e->axis = rule->cells[2] >= rule->cells[1] ? 2 : 1;
    e->slabs = 1;
    if (beside + lay_slabs(e, cell_bytes) <= promised && promised < most) most = promised;
    const int32_t thick = rule->cells[e->axis] / 2;
    e->slabs = e->threads < thick ? e->threads : thick > 1 ? thick : 1;
    int64_t bytes;
    while ((bytes = beside + lay_slabs(e, cell_bytes)) > most && e->slabs > 1) e->slabs--;
    e->cluster_bytes = bytes - e->budget.held;
}

static lob_status take_clusters(engine *e, lob_error *error)
{
    const lob_supervoxels_rule *rule = &e->plan.rule;
    const bool contrasts = rule->method == LOB_SLICO, kept = e->options->until_still;
    const size_t n = (size_t)rule->clusters,
                 sums = (size_t)lob_cluster_sums(rule) * sizeof *e->sums;
    const size_t floats = (size_t)lob_cluster_floats(rule) * sizeof *e->centres;
    const size_t contrast = contrasts ? sizeof *e->largest : 0, box = 6 * sizeof *e->boxes;
    e->slab = calloc((size_t)e->threads, sizeof *e->slab);
    if (!e->slab) return LOB_ENOMEM;
    plan_slabs(e, (int64_t)(n * (floats + box + (kept ? sums + contrast : 0))),
               (int64_t)(sums + contrast));
    const lob_status st = lob_budget_hold(&e->budget, e->cluster_bytes, error);
    if (st != LOB_OK) e->cluster_bytes = 0;
    if (st != LOB_OK) return st;
    e->centres = calloc(n, floats);
    e->boxes = malloc(n * box);
    if (kept) e->sums = calloc(n, sums);
    if (kept && contrasts) e->largest = calloc(n, contrast);
    if (!e->centres || !e->boxes) return LOB_ENOMEM;
    if (kept && (!e->sums || (contrasts && !e->largest))) return LOB_ENOMEM;
    e->scene.centres = e->centres;
    e->scene.boxes = e->boxes;
    for (int i = 0; i < e->slabs; i++) {
        slab *s = &e->slab[i];
        const size_t cells = (size_t)block_cells(e, &s->share.block);
        s->rows = lob_supervoxel_rows_make(&e->scene);
        s->share.sums = malloc(cells * sums);
        if (contrasts) s->share.largest = malloc(cells * contrast);
        if (!s->rows || !s->share.sums || (contrasts && !s->share.largest)) return LOB_ENOMEM;
    }
    return LOB_OK;
}

static void give_clusters(engine *e)
{
    for (int i = 0; e->slab && i < e->slabs; i++) {
        free(e->slab[i].rows);
        free(e->slab[i].share.sums);
        free(e->slab[i].share.largest);
    }
    free(e->slab);
    free(e->sums);
    free(e->largest);
    free(e->centres);
    free(e->boxes);
    lob_budget_release(&e->budget, e->cluster_bytes);
    e->slab = NULL;
    e->sums = NULL;
    e->largest = e->centres = NULL;
    e->boxes = NULL;
    e->cluster_bytes = 0;
}

/* ---- passes over the volume ---- */

typedef enum { START, ADD, LABEL } pass;

/* The calling thread tells of its part of the pass, as if it were all of it. */
static void tell(engine *e, double part)
{
    const lob_context *context = e->context;
    if (context->progress && omp_get_thread_num() == 0 &&
        context->progress(context->user, e->done + e->share * part))
        atomic_store_explicit(&e->stop, 1, memory_order_relaxed);
}

static void pass_over_rows(engine *e, const slab *s, pass what, int32_t y, int32_t ny, int32_t z)
{
    if (what == START)
        lob_supervoxel_rows_start(s->rows, &s->share, y, ny, z);
    else if (what == ADD)
        lob_supervoxel_rows_add(s->rows, &s->share, y, ny, z);
    else
        lob_supervoxel_rows_label(s->rows, e->labels, y, ny, z);
}

static void pass_over_slab(engine *e, const slab *s, pass what)
{
    const lob_supervoxels_rule *rule = &e->plan.rule;
    const bool along_z = e->axis == 2;
    const int32_t other = rule->side[along_z ? 1 : 2], most = lob_supervoxel_rows_most(rule);
    const int32_t step = along_z ? 1 : most, other_step = along_z ? most : 1;
    const int64_t cells = block_cells(e, &s->share.block);
    if (what != LABEL) {
        memset(s->share.sums, 0, (size_t)(cells * lob_cluster_sums(rule)) * sizeof *s->share.sums);
        if (s->share.largest) memset(s->share.largest, 0, (size_t)cells * sizeof(float));
    }
    for (int32_t i = s->first; i < s->end; i += step) {
        const int32_t n = s->end - i < step ? s->end - i : step;
        for (int32_t k = 0; k < other; k += other_step) {
            const int32_t m = other - k < other_step ? other - k : other_step;
            pass_over_rows(e, s, what, along_z ? k : i, along_z ? m : n, along_z ? i : k);
        }
        tell(e, (double)(i + n - s->first) / (s->end - s->first));
        if (atomic_load_explicit(&e->stop, memory_order_relaxed)) return;
    }
}

/* LOB_ECANCEL where progress asked to stop. */
static lob_status pass_over(engine *e, pass what)
{
#pragma omp parallel for schedule(static, 1) num_threads(e->slabs)
    for (int i = 0; i < e->slabs; i++) pass_over_slab(e, &e->slab[i], what);
    e->done += e->share;
    return atomic_load(&e->stop) ? LOB_ECANCEL : LOB_OK;
}

/* Cluster k's sums over all slabs, the largest contrast in *largest. */
static void gather(const engine *e, int64_t *sums, float *largest, int32_t k)
{
    const lob_supervoxels_rule *rule = &e->plan.rule;
    const int n = lob_cluster_sums(rule);
    const int32_t cx = k % rule->cells[0], cy = k / rule->cells[0] % rule->cells[1],
                  cz = k / rule->cells[0] / rule->cells[1];
    memset(sums, 0, (size_t)n * sizeof *sums);
    *largest = 0;
    for (int i = 0; i < e->slabs; i++) {
        const lob_cluster_share *share = &e->slab[i].share;
        const int32_t y = cy - share->block.y, z = cz - share->block.z;
        if (y < 0 || y >= share->block.ny || z < 0 || z >= share->block.nz) continue;
        const int64_t cell = ((int64_t)z * share->block.ny + y) * rule->cells[0] + cx;
        for (int s = 0; s < n; s++) sums[s] += share->sums[cell * n + s];
        if (share->largest) *largest = fmaxf(*largest, share->largest[cell]);
    }
}

/* Keep cluster k's sums for the next iteration. Returns whether they are others than before. */
static bool keep_sums(engine *e, const int64_t *sums, float largest, int32_t k)
{
    const int n = lob_cluster_sums(&e->plan.rule);
    int64_t *kept = e->sums + (int64_t)k * n;
    const bool changed = memcmp(kept, sums, (size_t)n * sizeof *sums) != 0 ||
                         (e->largest && e->largest[k] != largest);
    memcpy(kept, sums, (size_t)n * sizeof *sums);
    if (e->largest) e->largest[k] = largest;
    return changed;
}

/* Move every cluster to its new sums. Returns whether any of them changed, where sums are kept. */
static bool settle(engine *e, bool first)
{
    const lob_supervoxels_rule *rule = &e->plan.rule;
    const int floats = lob_cluster_floats(rule);
    bool changed = false;
#pragma omp parallel for schedule(static) num_threads(e->threads) reduction(|| : changed)
    for (int32_t k = 0; k < rule->clusters; k++) {
        int64_t sums[LOB_CLUSTER_SUMS];
        float largest;
        gather(e, sums, &largest, k);
        if (first) largest = LOB_SLICO_START;
        if (e->sums && keep_sums(e, sums, largest, k)) changed = true;
        lob_cluster_update(e->centres + (int64_t)k * floats, e->boxes + (int64_t)k * 6, k, sums,
                           largest, e->weights, rule);
    }
    return changed;
}

/* lsc: weights, from the sums of all clusters. */
static void find_weights(engine *e)
{
    const lob_supervoxels_rule *rule = &e->plan.rule;
    const int n = lob_cluster_sums(rule);
    int64_t totals[LOB_CLUSTER_SUMS] = {0};
    for (int32_t k = 0; k < rule->clusters; k++) {
        int64_t sums[LOB_CLUSTER_SUMS];
        float none;
        gather(e, sums, &none, k);
        for (int s = 0; s < n; s++) totals[s] += sums[s];
    }
    lob_lsc_weights(e->weights, totals, rule);
}

/* Iterate, and leave every data voxel's cluster plus 1 in labels. */
static lob_status iterate(engine *e, lob_supervoxels_stats *stats)
{
    const lob_supervoxels_rule *rule = &e->plan.rule;
    const int iterations = e->options->iterations;
    for (int64_t i = 0; i < rule->clusters; i++)
        memcpy(e->boxes + i * 6, (int32_t[6]){0, 0, 0, -1, -1, -1}, 6 * sizeof *e->boxes);
    e->share = 0.9 / (iterations + 1.0);
    lob_status st = pass_over(e, START);
    if (st != LOB_OK) return st;
    if (rule->method == LOB_LSC) find_weights(e);
    settle(e, true);

    stats->iterations = iterations;
    for (int i = 1; i < iterations; i++) {
        st = pass_over(e, ADD);
        if (st != LOB_OK) return st;
        if (settle(e, false) || !e->options->until_still) continue;
        stats->iterations = i;
        break;
    }
    return pass_over(e, LABEL);
}

/* The plan, and which voxels are data. */
static lob_status prepare(engine *e, lob_supervoxels_stats *stats, lob_error *error)
{
    const lob_volume *image = e->in->image;
    const lob_data data = {
        image, e->in->mask, {e->options->range[0], e->options->range[1]}
    };
    const lob_view view = lob_view_whole(image->dims);
    lob_extremes extremes[LOB_SUPERVOXELS_MAX_CHANNELS];
    uint16_t span[LOB_SUPERVOXELS_MAX_CHANNELS];
    lob_levels levels;
    lob_levels_extremes(extremes, &levels, &data, &view, e->threads);
    lob_levels_settle(&levels, span, extremes, image);
    lob_status st =
        lob_supervoxels_plan_make(&e->plan, e->in, e->options, &levels, extremes, error);
    if (st != LOB_OK) return st;
    for (int a = 0; a < 3; a++) stats->cells[a] = e->plan.rule.cells[a];
    stats->size_mm = e->plan.size_mm;
    stats->data_voxels = levels.data_voxels;
    stats->not_finite = levels.not_finite;
    mark_data(e, &data, &view);
    return LOB_OK;
}

lob_status lob_supervoxels_cpu(int32_t *labels, lob_supervoxels_stats *stats,
                               const lob_supervoxels_input *in,
                               const lob_supervoxels_options *options, const lob_context *context,
                               lob_error *error)
{
    lob_supervoxels_stats found = {0};
    lob_status st = lob_supervoxels_check(in, options, error);
    if (st != LOB_OK) return st;
    engine e = {
        .in = in,
        .options = options,
        .context = context,
        .budget = {.who = "supervoxels", .limit = context->max_memory},
        .threads = context->threads > 0 ? context->threads : 1,
        .labels = labels
    };
    const lob_level_rows rows = {row_levels, &e};
    lob_progress stages = {.context = context, .to = 0.9}; /* where iterations end at most */
    st = prepare(&e, &found, error);
    if (st == LOB_OK) st = lob_budget_hold(&e.budget, lob_supervoxels_plan_bytes(&e.plan), error);
    if (st != LOB_OK) goto out;
    e.scene.plan = &e.plan;
    e.scene.image = in->image;
    e.scene.labels = labels;
    st = take_clusters(&e, error);
    if (st == LOB_OK) st = iterate(&e, &found);
    give_clusters(&e);
    if (st == LOB_OK)
        st = lob_fragments_number(labels, &found.pieces, &e.plan.rule, e.threads, &e.budget,
                                  &stages, error);
    if (st == LOB_OK)
        st = lob_fragments_join(labels, &found.supervoxels, found.pieces, &rows, &e.plan.rule,
                                e.threads, &e.budget, &stages, error);
    if (st == LOB_OK && context->progress && context->progress(context->user, 1.0))
        st = LOB_ECANCEL;
out:
    lob_supervoxels_plan_free(&e.plan);
    found.working_bytes = e.budget.peak;
    if (stats) *stats = found;
    return st;
}
