/* Maxima on the CPU: voxels without a higher neighbour, their plateaus, heights and distances. */
#include "kernels/arrays.h"
#include "kernels/maxima/maxima_steps.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

lob_maxima_options lob_maxima_defaults(void)
{
    return (lob_maxima_options){
        .above = -INFINITY, .spacing = {1, 1, 1},
             .neighbours = 26, .slice_axis = -1
    };
}

void lob_maxima_output_free(lob_maxima_output *out)
{
    lob_array_free(out->device, out->labels);
    free(out->maxima);
    *out = (lob_maxima_output){0};
}

/* ---- neighbours ---- */

/* Offsets that differ along at most so many axes, by the number of neighbours. */
static int axes_of(int neighbours)
{
    return neighbours == 4 || neighbours == 6 ? 1 : neighbours == 8 || neighbours == 18 ? 2 : 3;
}

static void make_offsets(lob_maxima_call *c)
{
    const int axes = axes_of(c->options->neighbours);
    for (int k = 0; k < 27; k++) {
        const int d[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        const int differ = (d[0] != 0) + (d[1] != 0) + (d[2] != 0);
        const int across = c->options->slice_axis;
        if (differ == 0 || differ > axes || (across >= 0 && d[across] != 0)) continue;
        for (int a = 0; a < 3; a++) c->offset[c->offsets][a] = (int8_t)d[a];
        c->offsets++;
    }
}

int lob_maxima_neighbours(int64_t neighbour[LOB_MOST_NEIGHBOURS], const lob_maxima_call *c,
                          int64_t i)
{
    const lob_dims d = c->in->image->dims;
    const int64_t x = i % d.nx, y = i / d.nx % d.ny, z = i / d.nx / d.ny;
    int n = 0;
    for (int k = 0; k < c->offsets; k++) {
        const int64_t nx = x + c->offset[k][0], ny = y + c->offset[k][1], nz = z + c->offset[k][2];
        if (nx >= 0 && nx < d.nx && ny >= 0 && ny < d.ny && nz >= 0 && nz < d.nz)
            neighbour[n++] = (nz * d.ny + ny) * d.nx + nx;
    }
    return n;
}

/* ---- voxels without a higher neighbour ---- */

/* The values of row (y, z), with a border of no data; outside of the volume all are none. */
static void load_row(double *row, const lob_maxima_call *c, int64_t y, int64_t z)
{
    const lob_volume *v = c->in->image;
    const lob_dims d = v->dims;
    row[-1] = row[d.nx] = -INFINITY;
    if (y < 0 || y >= d.ny || z < 0 || z >= d.nz) {
        for (int64_t x = 0; x < d.nx; x++) row[x] = -INFINITY;
        return;
    }
    const int64_t first = (z * d.ny + y) * d.nx;
    const bool scaled = lob_is_scaled(v);
    lob_values(row, v->data, v->type, first, d.nx);
    for (int64_t x = 0; x < d.nx; x++) {
        const double value = scaled ? v->slope * row[x] + v->inter : row[x];
        const bool data = isfinite(value) && (!c->in->mask || c->in->mask[first + x]);
        row[x] = data ? value : -INFINITY;
    }
}

/* The rows of 3 planes around one that moves along y: a ring of 3 for each. */
typedef struct {
    double *row[3][3]; /* by plane, by y % 3 */
} rows;

static void mark_row(const lob_maxima_call *c, const rows *r, int64_t y, int64_t z)
{
    const int64_t nx = c->in->image->dims.nx;
    const double *const own = r->row[1][y % 3];
    uint8_t *const top = c->top + (z * c->in->image->dims.ny + y) * nx;
    for (int64_t x = 0; x < nx; x++) top[x] = own[x] > c->options->above && own[x] > -INFINITY;
    for (int k = 0; k < c->offsets; k++) {
        const double *const other =
            r->row[1 + c->offset[k][2]][(y + c->offset[k][1] + 3) % 3] + c->offset[k][0];
        for (int64_t x = 0; x < nx; x++) top[x] &= other[x] <= own[x];
    }
}

lob_status lob_maxima_mark(lob_maxima_call *c)
{
    LOB_TRY(lob_budget_alloc(&c->budget, &c->top, c->voxels, sizeof *c->top, c->error));
    const lob_dims d = c->in->image->dims;
    const int threads = c->context->threads;
    const int64_t row = d.nx + 2;
    double *memory;
    LOB_TRY(lob_budget_alloc(&c->budget, &memory, threads * 9 * row, sizeof *memory, c->error));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t z = 0; z < d.nz; z++) {
        rows r;
        for (int k = 0; k < 9; k++)
            r.row[k / 3][k % 3] = memory + (omp_get_thread_num() * 9 + k) * row + 1;
        for (int p = 0; p < 3; p++) {
            load_row(r.row[p][2], c, -1, z + p - 1);
            load_row(r.row[p][0], c, 0, z + p - 1);
        }
        for (int64_t y = 0; y < d.ny; y++) {
            for (int p = 0; p < 3; p++) load_row(r.row[p][(y + 1) % 3], c, y + 1, z + p - 1);
            mark_row(c, &r, y, z);
        }
    }
    lob_budget_free(&c->budget, memory, threads * 9 * row, sizeof *memory);
    return LOB_OK;
}

/* ---- plateaus ---- */

lob_components_options lob_maxima_plateaus(const lob_maxima_options *o)
{
    lob_components_options options = lob_components_defaults();
    options.join = LOB_JOIN_EQUAL;
    options.ranged = true;
    options.range[0] = -INFINITY;
    options.range[1] = INFINITY;
    options.neighbours = o->neighbours;
    options.slice_axis = o->slice_axis;
    options.regions = true;
    options.type = LOB_I32;
    return options;
}

void lob_maxima_drop_slopes(uint8_t *keep, const lob_maxima_call *c, const int32_t *labels,
                            int64_t first, int64_t voxels)
{
#pragma omp parallel for num_threads(c->context->threads) schedule(static)
    for (int64_t i = first; i < first + voxels; i++) {
        int64_t neighbour[LOB_MOST_NEIGHBOURS];
        const int32_t label = labels[i - first];
        if (!label) continue;
        const double value = lob_maxima_value(c, i);
        const int n = lob_maxima_neighbours(neighbour, c, i);
        for (int k = 0; k < n; k++)
            if (!c->top[neighbour[k]] && lob_maxima_value(c, neighbour[k]) == value) {
#pragma omp atomic write
                keep[label - 1] = 0;
                break;
            }
    }
}

static lob_status look(lob_maxima_call *c, lob_maxima_output *out, uint8_t *keep,
                       const lob_region *regions)
{
    for (int64_t m = 0; m < out->count; m++)
        out->maxima[m] = (lob_maximum){regions[m].first, regions[m].voxels,
                                       lob_maxima_value(c, regions[m].first)};
    memset(keep, 1, (size_t)out->count);
    lob_maxima_drop_slopes(keep, c, out->labels, 0, c->voxels);
    return LOB_OK;
}

static lob_status renumber(lob_maxima_call *c, int32_t *labels, const int32_t *number,
                           int64_t count)
{
    (void)count;
#pragma omp parallel for num_threads(c->context->threads) schedule(static)
    for (int64_t i = 0; i < c->voxels; i++)
        if (labels[i]) labels[i] = number[labels[i] - 1];
    return LOB_OK;
}

/* ---- a call ---- */

static lob_status check(const lob_maxima_input *in, const lob_maxima_options *o, lob_error *error)
{
    const int n = o->neighbours;
    const bool flat = o->slice_axis >= 0;
    if (in->image->channels != 1)
        return lob_fail(error, LOB_EARG, "the image has several channels");
    if (flat ? o->slice_axis > 2 || (n != 4 && n != 8) : n != 6 && n != 18 && n != 26)
        return lob_fail(error, LOB_EARG, "no such neighbours: %d", n);
    if (!(o->height >= 0) || !(o->apart >= 0) || isnan(o->above))
        return lob_fail(error, LOB_EARG, "a height or a distance is below 0");
    for (int a = 0; a < 3; a++)
        if (!(o->spacing[a] > 0)) return lob_fail(error, LOB_EARG, "a spacing is not above 0");
    return LOB_OK;
}

lob_status lob_maxima_begin(lob_maxima_call *c, const lob_maxima_input *in,
                            const lob_maxima_options *options, const lob_context *context,
                            lob_error *error)
{
    *c = (lob_maxima_call){
        .in = in,
        .options = options,
        .context = context,
        .error = error,
        .budget = {.who = "maxima", .limit = context->max_memory},
        .voxels = lob_voxels(in->image),
        .end = lob_voxels(in->image),
    };
    LOB_TRY(check(in, options, error));
    make_offsets(c);
    return LOB_OK;
}

/* Leave those out that are not kept; number is working memory of as many as there are. */
static lob_status pack(lob_maxima_output *out, const uint8_t *keep, int32_t *number,
                       lob_maxima_call *c, const lob_maxima_ways *ways)
{
    const int64_t count = out->count;
    int64_t kept = 0;
    for (int64_t m = 0; m < count; m++) {
        number[m] = keep[m] ? (int32_t)kept + 1 : 0;
        if (keep[m]) out->maxima[kept++] = out->maxima[m];
    }
    out->count = kept;
    return kept < count ? ways->renumber(c, out->labels, number, count) : LOB_OK;
}

/* The plateaus of marked voxels become maxima; then some are taken out. */
static lob_status choose(lob_maxima_output *out, const lob_region *regions, lob_maxima_call *c,
                         const lob_maxima_ways *ways)
{
    const int64_t count = out->count;
    uint8_t *keep = NULL;
    int32_t *number = NULL;
    lob_status st = lob_budget_alloc(&c->budget, &keep, count, sizeof *keep, c->error);
    if (st == LOB_OK) st = lob_budget_alloc(&c->budget, &number, count, sizeof *number, c->error);
    out->maxima = st == LOB_OK ? malloc((size_t)count * sizeof *out->maxima) : NULL;
    if (st == LOB_OK && !out->maxima) st = lob_fail(c->error, LOB_ENOMEM, "no memory for maxima");
    if (st == LOB_OK) st = ways->look(c, out, keep, regions);
    if (st == LOB_OK) st = pack(out, keep, number, c, ways);
    out->found = out->count;
    if (st == LOB_OK) memset(keep, 1, (size_t)out->count);
    if (st == LOB_OK && c->options->height > 0) st = ways->heights(c, keep, out);
    if (st == LOB_OK && c->options->apart > 0)
        st = lob_maxima_thin(keep, out->maxima, out->count, c);
    if (st == LOB_OK) st = pack(out, keep, number, c, ways);
    lob_budget_free(&c->budget, number, count, sizeof *number);
    lob_budget_free(&c->budget, keep, count, sizeof *keep);
    return st;
}

lob_status lob_maxima_find(lob_maxima_output *out, lob_maxima_call *c, const lob_volume *image,
                           const lob_maxima_ways *ways)
{
    const lob_components_options options = lob_maxima_plateaus(c->options);
    lob_components_output plateaus = {0};
    LOB_TRY(ways->mark(c));
    LOB_TRY(lob_report(c->context, 0.3));
    const lob_components_input in = {.image = image, .mask = c->top, .place = image->place};
    lob_context context = lob_budget_inner(&c->budget, c->context);
    context.progress = NULL;
    LOB_TRY(ways->label(&plateaus, &in, &options, &context, c->error));
    if (c->budget.held + plateaus.working_bytes > c->budget.peak)
        c->budget.peak = c->budget.held + plateaus.working_bytes;
    out->labels = plateaus.labels;
    out->device = plateaus.device;
    out->count = plateaus.count;
    plateaus.labels = NULL;
    lob_status st = lob_report(c->context, 0.6);
    if (st == LOB_OK && out->count > 0) st = choose(out, plateaus.regions, c, ways);
    lob_components_output_free(&plateaus);
    return st;
}

lob_status lob_maxima_cpu(lob_maxima_output *out, const lob_maxima_input *in,
                          const lob_maxima_options *options, const lob_context *context,
                          lob_error *error)
{
    static const lob_maxima_ways ways = {lob_maxima_mark, lob_components_cpu, look, renumber,
                                         lob_maxima_heights};
    lob_error_begin(error);
    lob_maxima_call c;
    *out = (lob_maxima_output){0};
    LOB_TRY(lob_maxima_begin(&c, in, options, context, error));
    LOB_TRY(lob_check_memory(in->image->place, NULL, NULL, error));
    lob_status st = lob_maxima_find(out, &c, in->image, &ways);
    if (st == LOB_OK) st = lob_report(context, 1.0);
    lob_budget_free(&c.budget, c.top, c.voxels, sizeof *c.top);
    out->working_bytes = c.budget.peak;
    if (st != LOB_OK) lob_maxima_output_free(out);
    return lob_error_end(error, st);
}
