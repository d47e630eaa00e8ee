/*
 * Supervoxels on the CPU: passes over slabs of rows, a thread each, and the order of the stages.
 *
 *   supervoxels_plan.c     options, grid, tables; supervoxels_voxel.h has the formulas
 *   assign/assign_levels.c levels of voxels, from the image
 *   assign/assign_rows.c   the nearest cluster of each voxel of a few rows, and sums
 *   connect/               from clusters to connected supervoxels
 */
#include "kernels/arrays.h"
#include "kernels/share.h"
#include "kernels/supervoxels/assign/assign_rows.h"
#include "kernels/supervoxels/connect/fragments.h"
#include "kernels/supervoxels/supervoxels_slabs.h"
#include "volumes/free.h"

#include <stdlib.h>

/* A part of the volume, for one thread. */
typedef struct {
    int32_t first, end;  /* coordinates first..end-1 along the axis of slabs */
    lob_block_sums part; /* of the clusters that its voxels may join, over its voxels */
    lob_assign_rows *rows;
} slab;

/* Layers of cells whose clusters another rank has too. */
typedef struct {
    int rank;
    lob_block_sums mine, theirs; /* over this rank's voxels, and over the other's */
} shared_layers;

typedef struct {
    const lob_supervoxels_input *in;
    const lob_supervoxels_options *options;
    const lob_context *context;
    lob_supervoxels_plan plan;
    lob_assign_params params;
    lob_budget budget;
    int threads;
    lob_team *team;        /* NULL: one rank has all */
    int32_t first, end;    /* the planes of this rank */
    int32_t layer, layers; /* cells along z of the clusters that it has */
    shared_layers *shared; /* one for each other rank that has some of them */
    lob_letter *letters;   /* to each of these ranks */
    int shared_count;
    int32_t *labels;
    int64_t *sums;  /* clusters times lob_cluster_sums, of the last iteration; NULL: not compared */
    float *largest; /* slico: clusters; where sums is not NULL */
    float *centres;
    int32_t *boxes;
    float weights[LOB_CLUSTER_SUMS];
    int axis; /* of slabs, 1 or 2: y or z */
    int slabs;
    slab *slab;
    int64_t cluster_bytes; /* held for clusters and slabs */
    lob_progress stages;
} call;

/* ---- the image ---- */

enum { SEGMENT = 1024 };

/* Write 1 in labels where voxels are data, 0 elsewhere. */
static void mark_data(call *c, const lob_data *data, const lob_view *view)
{
    const lob_dims d = view->dims;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++)
        for (int64_t x = 0; x < d.nx; x += SEGMENT) {
            uint8_t is_data[SEGMENT];
            const int64_t n = d.nx - x < SEGMENT ? d.nx - x : SEGMENT;
            lob_levels_data_row(is_data, data, view, x, row % d.ny, row / d.ny, n);
            for (int64_t i = 0; i < n; i++) c->labels[row * d.nx + x + i] = is_data[i];
        }
}

/* ---- memory ---- */

static int64_t block_cells(const call *c, const lob_cell_block *block)
{
    return (int64_t)c->plan.rule.cells[0] * block->ny * block->nz;
}

/* Clusters that this rank has. */
static int32_t clusters_of(const call *c)
{
    return c->plan.rule.cells[0] * c->plan.rule.cells[1] * c->layers;
}

/* Lay out the slabs. Returns their bytes, where each cell takes cell_bytes. */
static int64_t lay_slabs(call *c, int64_t cell_bytes)
{
    const lob_supervoxels_rule *rule = &c->plan.rule;
    const int32_t side = rule->side[c->axis], cells = rule->cells[c->axis];
    const int32_t first = c->axis == 2 ? c->first : 0, end = c->axis == 2 ? c->end : side;
    int64_t bytes = 0;
    for (int i = 0; i < c->slabs; i++) {
        slab *s = &c->slab[i];
        s->first = first + (int32_t)((int64_t)(end - first) * i / c->slabs);
        s->end = first + (int32_t)((int64_t)(end - first) * (i + 1) / c->slabs);
        const int32_t low = lob_cell(s->first, side, cells),
                      high = lob_cell(s->end - 1, side, cells);
        const int32_t from = low > 0 ? low - 1 : 0, to = high + 1 < cells ? high + 1 : high;
        s->part.block = c->axis == 2 ? (lob_cell_block){0, rule->cells[1], from, to - from + 1}
                                     : (lob_cell_block){from, to - from + 1, c->layer, c->layers};
        bytes += lob_assign_rows_bytes(rule) + block_cells(c, &s->part.block) * cell_bytes;
    }
    return bytes;
}

/*
 * Choose the slabs, along the axis with more cells: one per thread. Neighbouring slabs both have
 * the cells along their border, so a slab is at least two cells thick. There are fewer slabs if
 * needed to stay within the caller's limit, and within 4 bytes per voxel if one slab alone does.
 * Returns the bytes of all clusters and slabs; clusters take cluster_bytes.
 */
static int64_t choose_slabs(call *c, int64_t cluster_bytes, int64_t cell_bytes)
{
    const lob_supervoxels_rule *rule = &c->plan.rule;
    const int64_t promised = 4 * lob_voxels(c->in->image);
    const int64_t other = cluster_bytes + c->budget.held;
    int64_t max = c->budget.limit ? c->budget.limit : INT64_MAX;
    c->axis = c->layers >= rule->cells[1] ? 2 : 1;
    c->slabs = 1;
    if (other + lay_slabs(c, cell_bytes) <= promised && promised < max) max = promised;
    const int32_t thick = (c->axis == 2 ? c->layers : rule->cells[1]) / 2;
    c->slabs = c->threads < thick ? c->threads : thick > 1 ? thick : 1;
    int64_t bytes;
    while (other + (bytes = lay_slabs(c, cell_bytes)) > max && c->slabs > 1) c->slabs--;
    return cluster_bytes + bytes;
}

/* Room for what the sums of shared layers are, here and there. */
static lob_status alloc_shared(call *c, int64_t cell_bytes, int64_t sums_bytes, lob_error *error)
{
    const lob_supervoxels_rule *rule = &c->plan.rule;
    const int size = lob_team_size(c->team), me = lob_team_rank(c->team);
    const int64_t list = (int64_t)(sizeof *c->shared + sizeof *c->letters) * size;
    LOB_TRY(lob_budget_hold(&c->budget, list, error));
    c->cluster_bytes += list;
    c->shared = calloc((size_t)size, sizeof *c->shared);
    c->letters = calloc((size_t)size, sizeof *c->letters);
    if (!c->shared || !c->letters) return LOB_ENOMEM;
    for (int r = 0; r < size; r++) {
        int64_t first, end;
        int32_t low, high;
        lob_team_planes(&first, &end, c->team, r, rule->side[2]);
        lob_cluster_layers(&low, &high, first, end, rule);
        if (low < c->layer) low = c->layer;
        if (high > c->layer + c->layers) high = c->layer + c->layers;
        if (r == me || low >= high) continue;
        shared_layers *const s = &c->shared[c->shared_count];
        const lob_cell_block block = {0, rule->cells[1], low, high - low};
        const int64_t cells = block_cells(c, &block), bytes = cells * cell_bytes;
        LOB_TRY(lob_budget_hold(&c->budget, 2 * bytes, error));
        c->cluster_bytes += 2 * bytes;
        s->mine.sums = malloc((size_t)bytes);
        s->theirs.sums = malloc((size_t)bytes);
        s->mine.block = s->theirs.block = block;
        c->letters[c->shared_count++] =
            (lob_letter){r, s->mine.sums, bytes, s->theirs.sums, bytes, NULL};
        if (!s->mine.sums || !s->theirs.sums) return LOB_ENOMEM;
        if (rule->method != LOB_SLICO) continue;
        s->mine.largest = (float *)((char *)s->mine.sums + cells * sums_bytes);
        s->theirs.largest = (float *)((char *)s->theirs.sums + cells * sums_bytes);
    }
    return LOB_OK;
}

static lob_status alloc_clusters(call *c, lob_error *error)
{
    const lob_supervoxels_rule *rule = &c->plan.rule;
    const bool contrasts = rule->method == LOB_SLICO, compared = c->options->until_still;
    lob_cluster_layers(&c->layer, &c->layers, c->first, c->end, rule);
    c->layers -= c->layer;
    const size_t n = (size_t)clusters_of(c),
                 sums = (size_t)lob_cluster_sums(rule) * sizeof *c->sums;
    const size_t floats = (size_t)lob_cluster_floats(rule) * sizeof *c->centres;
    const size_t contrast = contrasts ? sizeof *c->largest : 0, box = 6 * sizeof *c->boxes;
    c->slab = calloc((size_t)c->threads, sizeof *c->slab);
    if (!c->slab) return LOB_ENOMEM;
    const size_t cluster = floats + box + (compared ? sums + contrast : 0);
    const int64_t bytes = choose_slabs(c, (int64_t)(n * cluster), (int64_t)(sums + contrast));
    LOB_TRY(lob_budget_hold(&c->budget, bytes, error));
    c->cluster_bytes = bytes;
    if (lob_team_size(c->team) > 1)
        LOB_TRY(alloc_shared(c, (int64_t)(sums + contrast), (int64_t)sums, error));
    c->centres = calloc(n, floats);
    c->boxes = malloc(n * box);
    if (compared) c->sums = calloc(n, sums);
    if (compared && contrasts) c->largest = calloc(n, contrast);
    if (!c->centres || !c->boxes) return LOB_ENOMEM;
    if (compared && (!c->sums || (contrasts && !c->largest))) return LOB_ENOMEM;
    c->params.centres = c->centres;
    c->params.boxes = c->boxes;
    c->params.layer = c->layer;
    for (int i = 0; i < c->slabs; i++) {
        slab *s = &c->slab[i];
        const size_t cells = (size_t)block_cells(c, &s->part.block);
        s->rows = lob_assign_rows_make(&c->params);
        s->part.sums = malloc(cells * sums);
        if (contrasts) s->part.largest = malloc(cells * contrast);
        if (!s->rows || !s->part.sums || (contrasts && !s->part.largest)) return LOB_ENOMEM;
    }
    return LOB_OK;
}

static void free_clusters(call *c)
{
    for (int i = 0; c->slab && i < c->slabs; i++) {
        LOB_FREE(c->slab[i].rows, c->slab[i].part.sums, c->slab[i].part.largest);
    }
    for (int i = 0; i < c->shared_count; i++) {
        LOB_FREE(c->shared[i].mine.sums, c->shared[i].theirs.sums);
    }
    LOB_FREE(c->shared, c->letters, c->slab, c->sums, c->largest, c->centres, c->boxes);
    lob_budget_release(&c->budget, c->cluster_bytes);
}

/* ---- passes over the volume ---- */

static void pass_over_slab(call *c, const slab *s, lob_assign_pass what)
{
    const lob_supervoxels_rule *rule = &c->plan.rule;
    const bool along_z = c->axis == 2;
    const int32_t other = along_z ? 0 : c->first, other_end = along_z ? rule->side[1] : c->end;
    const int32_t max_rows = lob_assign_max_rows(rule);
    const int32_t step = along_z ? 1 : max_rows, other_step = along_z ? max_rows : 1;
    const int64_t cells = block_cells(c, &s->part.block);
    if (what != LOB_ASSIGN_LABEL) {
        memset(s->part.sums, 0, (size_t)(cells * lob_cluster_sums(rule)) * sizeof *s->part.sums);
        if (s->part.largest) memset(s->part.largest, 0, (size_t)cells * sizeof(float));
    }
    for (int32_t i = s->first; i < s->end; i += step) {
        const int32_t n = s->end - i < step ? s->end - i : step;
        for (int32_t k = other; k < other_end; k += other_step) {
            const int32_t m = other_end - k < other_step ? other_end - k : other_step;
            lob_assign_rows_pass(s->rows, what, &s->part, along_z ? k : i, along_z ? m : n,
                                 along_z ? i : k);
        }
        if (lob_progress_report(&c->stages, n)) return;
    }
}

/* A pass that ends at a share of the progress. Returns LOB_OK or LOB_ECANCEL. */
static lob_status pass_over(call *c, lob_assign_pass what, double to)
{
    lob_progress_stage(&c->stages, c->slab[c->slabs - 1].end - c->slab[0].first, to);
#pragma omp parallel for schedule(static, 1) num_threads(c->slabs)
    for (int i = 0; i < c->slabs; i++) pass_over_slab(c, &c->slab[i], what);
    return lob_progress_stopped(&c->stages) ? LOB_ECANCEL : LOB_OK;
}

/* Add a part's sums of cluster k, if it has any, and take its largest contrast. */
static void add_part(const call *c, int64_t *sums, float *largest, const lob_block_sums *part,
                     int32_t k)
{
    const lob_supervoxels_rule *rule = &c->plan.rule;
    const int n = lob_cluster_sums(rule);
    const int32_t cx = k % rule->cells[0], cy = k / rule->cells[0] % rule->cells[1],
                  cz = k / rule->cells[0] / rule->cells[1];
    const int32_t y = cy - part->block.y, z = cz - part->block.z;
    if (y < 0 || y >= part->block.ny || z < 0 || z >= part->block.nz) return;
    const int64_t cell = ((int64_t)z * part->block.ny + y) * rule->cells[0] + cx;
    for (int s = 0; s < n; s++) sums[s] += part->sums[cell * n + s];
    if (part->largest) *largest = fmaxf(*largest, part->largest[cell]);
}

/* Add up cluster k's sums over all slabs; its largest contrast into *largest. */
static void gather_sums(const call *c, int64_t *sums, float *largest, int32_t k)
{
    memset(sums, 0, (size_t)lob_cluster_sums(&c->plan.rule) * sizeof *sums);
    *largest = 0;
    for (int i = 0; i < c->slabs; i++) add_part(c, sums, largest, &c->slab[i].part, k);
}

/* Tell the other ranks of the clusters that they have too, and hear of theirs. */
static lob_status share_sums(call *c, lob_error *error)
{
    const lob_supervoxels_rule *rule = &c->plan.rule;
    const int n = lob_cluster_sums(rule);
    if (lob_team_size(c->team) == 1) return LOB_OK;
    for (int i = 0; i < c->shared_count; i++) {
        const lob_block_sums *const mine = &c->shared[i].mine;
        const int32_t cells = (int32_t)block_cells(c, &mine->block);
        const int32_t first = mine->block.z * rule->cells[0] * rule->cells[1];
#pragma omp parallel for schedule(static) num_threads(c->threads)
        for (int32_t k = 0; k < cells; k++) {
            float largest;
            gather_sums(c, mine->sums + (int64_t)k * n, &largest, first + k);
            if (mine->largest) mine->largest[k] = largest;
        }
    }
    return lob_team_send(c->team, c->letters, c->shared_count, error);
}

/* Keep the sums of cluster k, counted from this rank's first, for the next iteration. Returns
 * whether they have changed. */
static bool keep_sums(call *c, const int64_t *sums, float largest, int32_t k)
{
    const int n = lob_cluster_sums(&c->plan.rule);
    int64_t *before = c->sums + (int64_t)k * n;
    const bool changed = memcmp(before, sums, (size_t)n * sizeof *sums) != 0 ||
                         (c->largest && c->largest[k] != largest);
    memcpy(before, sums, (size_t)n * sizeof *sums);
    if (c->largest) c->largest[k] = largest;
    return changed;
}

/* Move every cluster to the mean of its voxels. *changed: did any, in any rank, if sums are
 * compared. */
static lob_status update_clusters(call *c, bool first, int64_t *changed, lob_error *error)
{
    const lob_supervoxels_rule *rule = &c->plan.rule;
    const int floats = lob_cluster_floats(rule);
    const int32_t count = clusters_of(c), before = rule->cells[0] * rule->cells[1] * c->layer;
    bool any = false;
    LOB_TRY(share_sums(c, error));
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(|| : any)
    for (int32_t k = 0; k < count; k++) {
        int64_t sums[LOB_CLUSTER_SUMS];
        float largest;
        gather_sums(c, sums, &largest, before + k);
        for (int i = 0; i < c->shared_count; i++)
            add_part(c, sums, &largest, &c->shared[i].theirs, before + k);
        if (first) largest = LOB_SLICO_START;
        if (c->sums && keep_sums(c, sums, largest, k)) any = true;
        lob_cluster_update(c->centres + (int64_t)k * floats, c->boxes + (int64_t)k * 6, before + k,
                           sums, largest, c->weights, rule);
    }
    *changed = any;
    return c->sums ? lob_team_reduce(c->team, changed, 1, LOB_TEAM_MAX, error) : LOB_OK;
}

/* lsc: weights, from the sums of all clusters. */
static lob_status find_weights(call *c, lob_error *error)
{
    const lob_supervoxels_rule *rule = &c->plan.rule;
    const int n = lob_cluster_sums(rule);
    const int32_t before = rule->cells[0] * rule->cells[1] * c->layer;
    int64_t totals[LOB_CLUSTER_SUMS] = {0};
    for (int32_t k = 0; k < clusters_of(c); k++) {
        int64_t sums[LOB_CLUSTER_SUMS];
        float none;
        gather_sums(c, sums, &none, before + k);
        for (int s = 0; s < n; s++) totals[s] += sums[s];
    }
    LOB_TRY(lob_team_reduce(c->team, totals, n, LOB_TEAM_SUM, error));
    lob_lsc_weights(c->weights, totals, rule);
    return LOB_OK;
}

/* Write the cluster of every data voxel, plus 1, into the labels. */
static lob_status iterate(call *c, lob_supervoxels_stats *stats, lob_error *error)
{
    const lob_supervoxels_rule *rule = &c->plan.rule;
    const int iterations = c->options->iterations;
    const double end = 0.9, each = end / (iterations + 1.0);
    int64_t changed;
    for (int64_t i = 0; i < clusters_of(c); i++)
        memcpy(c->boxes + i * 6, (int32_t[6]){0, 0, 0, -1, -1, -1}, 6 * sizeof *c->boxes);
    LOB_TRY(pass_over(c, LOB_ASSIGN_START, each));
    if (rule->method == LOB_LSC) LOB_TRY(find_weights(c, error));
    LOB_TRY(update_clusters(c, true, &changed, error));

    stats->iterations = iterations;
    for (int i = 1; i < iterations; i++) {
        LOB_TRY(pass_over(c, LOB_ASSIGN_ADD, each * (i + 1)));
        LOB_TRY(update_clusters(c, false, &changed, error));
        if (changed || !c->options->until_still) continue;
        stats->iterations = i;
        break;
    }
    return pass_over(c, LOB_ASSIGN_LABEL, end);
}

/* The plan, and which voxels are data. */
static lob_status prepare(call *c, const lob_supervoxels_input *whole, lob_supervoxels_stats *stats,
                          lob_error *error)
{
    const lob_volume *image = c->in->image;
    const lob_data data = {
        image, c->in->mask, {c->options->range[0], c->options->range[1]}
    };
    const lob_view view = lob_view_whole(image->dims);
    lob_extremes extremes[LOB_SUPERVOXELS_MAX_CHANNELS];
    uint16_t span[LOB_SUPERVOXELS_MAX_CHANNELS];
    lob_levels levels;
    LOB_TRY(
        lob_levels_extremes_of_team(extremes, &levels, &data, &view, c->threads, c->team, error));
    lob_levels_settle(&levels, span, extremes, image);
    LOB_TRY(lob_supervoxels_plan_make(&c->plan, whole, c->options, &levels, extremes, c->context,
                                      error));
    for (int a = 0; a < 3; a++) stats->cells[a] = c->plan.rule.cells[a];
    stats->size_mm = c->plan.size_mm;
    stats->data_voxels = levels.data_voxels;
    stats->not_finite = levels.not_finite;
    mark_data(c, &data, &view);
    return LOB_OK;
}

/* Cut a volume, or this rank's planes of one. */
static lob_status cut(int32_t *labels, lob_supervoxels_stats *found,
                      const lob_supervoxels_input *in, const lob_supervoxels_options *options,
                      int64_t planes, lob_team *team, const lob_context *context, lob_error *error)
{
    LOB_TRY(lob_check_memory(in->place, in->image, NULL, error));
    lob_volume volume = *in->image;
    lob_supervoxels_input whole = *in;
    volume.dims.nz = planes;
    whole.image = &volume;
    LOB_TRY(lob_supervoxels_check(&whole, options, error));
    int64_t first, end;
    lob_team_planes(&first, &end, team, lob_team_rank(team), planes);
    call c = {
        .in = in,
        .options = options,
        .context = context,
        .budget = {.who = "supervoxels", .limit = context->max_memory},
        .threads = context->threads > 0 ? context->threads : 1,
        .team = team,
        .first = (int32_t)first,
        .end = (int32_t)end,
        .labels = labels,
        .stages = {.context = context                   }
    };
    lob_fragments fragments = {.plan = &c.plan,
                               .rule = &c.plan.rule,
                               .image = in->image,
                               .labels = labels,
                               .planes = end - first,
                               .team = team,
                               .threads = c.threads,
                               .budget = &c.budget,
                               .stages = &c.stages};
    lob_status st = prepare(&c, &whole, found, error);
    if (st == LOB_OK) st = lob_budget_hold(&c.budget, lob_supervoxels_plan_bytes(&c.plan), error);
    if (st != LOB_OK) goto out;
    c.params.plan = &c.plan;
    c.params.image = in->image;
    c.params.labels = labels;
    c.params.z = c.first;
    st = alloc_clusters(&c, error);
    if (st == LOB_OK) st = iterate(&c, found, error);
    free_clusters(&c);
    if (st == LOB_OK) st = lob_fragments_number(&fragments, error);
    if (st == LOB_OK) st = lob_fragments_join(&fragments, &found->supervoxels, error);
    found->fragments = fragments.count;
    if (st == LOB_OK) st = lob_report(context, 1.0);
out:
    lob_supervoxels_plan_free(&c.plan);
    found->working_bytes = c.budget.peak;
    return st == LOB_OK ? lob_team_reduce(team, &found->working_bytes, 1, LOB_TEAM_MAX, error) : st;
}

lob_status lob_supervoxels_slabs(int32_t *labels, lob_supervoxels_stats *stats,
                                 const lob_supervoxels_input *in,
                                 const lob_supervoxels_options *options, int64_t planes,
                                 lob_team *team, const lob_context *context, lob_error *error)
{
    lob_supervoxels_stats found = {0};
    lob_error_begin(error);
    lob_status st = cut(labels, &found, in, options, planes, team, context, error);
    if (stats) *stats = found;
    st = lob_error_end(error, st);
    return st == LOB_OK || lob_team_size(team) == 1 ? st : lob_team_agree(team, st, error);
}

lob_status lob_supervoxels_cpu(int32_t *labels, lob_supervoxels_stats *stats,
                               const lob_supervoxels_input *in,
                               const lob_supervoxels_options *options, const lob_context *context,
                               lob_error *error)
{
    return lob_supervoxels_slabs(labels, stats, in, options, in->image->dims.nz, NULL, context,
                                 error);
}
