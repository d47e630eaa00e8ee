/* Counting for shapes of regions: moments by runs, borders by cells of 2x2x2 voxels. */
#include "kernels/progress.h"
#include "kernels/regions/regions_sum.h"
#include "kernels/regions/shape_slabs.h"
#include "volumes/free.h"
#include "volumes/labels.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* A call. The first thread adds up in the output, every other in a table of its own. */
typedef struct {
    const lob_regions_input *in;
    int64_t z; /* moments: of the first plane */
    int threads;
    void *out;       /* count * numbers of 64 bits */
    uint64_t *more;  /* (threads - 1) as many */
    int64_t numbers; /* of a region */
    lob_progress progress;
} counting;

static uint64_t *row_of(const counting *c, int thread, int64_t label)
{
    uint64_t *const table =
        thread ? c->more + (int64_t)(thread - 1) * c->in->count * c->numbers : c->out;
    return table + (label - 1) * c->numbers;
}

/* Run `plane` for z from `first` to before nz, and add the threads' tables up. */
static lob_status count_planes(counting *c, int64_t first, const lob_context *context,
                               void (*plane)(counting *c, int thread, int64_t z, int32_t *memory),
                               lob_error *error)
{
    const int64_t size = c->in->count * c->numbers, nz = c->in->dims.nz;
    uint64_t *const out = c->out;
    const int64_t cells = 5 * (c->in->dims.nx + 2);
    if (c->in->count == 0) return LOB_OK;
    c->progress.context = context;
    c->threads = lob_regions_threads(c->in, size * (int64_t)sizeof *out, context);
    memset(out, 0, (size_t)size * sizeof *out);
    int32_t *const memory = malloc((size_t)c->threads * (size_t)cells * sizeof *memory);
    c->more = calloc((size_t)(c->threads - 1) * (size_t)size + 1, sizeof *c->more);
    lob_status st = memory && c->more ? LOB_OK
                                      : lob_fail(error, LOB_ENOMEM,
                                                 "no memory to measure the shapes of %lld labels",
                                                 (long long)c->in->count);
    lob_progress_stage(&c->progress, nz - first, 1.0);
    if (st == LOB_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(c->threads)
        for (int64_t z = first; z < nz; z++) {
            if (lob_progress_stopped(&c->progress)) continue;
            const int t = omp_get_thread_num();
            plane(c, t, z, memory + t * cells);
            lob_progress_report(&c->progress, 1);
        }
        for (int64_t i = 0; i < (c->threads - 1) * size; i++) out[i % size] += c->more[i];
        if (lob_progress_stopped(&c->progress)) st = LOB_ECANCEL;
    }
    LOB_FREE(memory, c->more);
    return st;
}

/* ---- moments ---- */

/* Add a run of n voxels from (x, y, z) on. Sums wrap, until they are counted from the low corner of
 * a region that is not too large; then what is divided here, below 2 n^3, fits too. */
static void add_run(uint64_t *second, uint64_t x, uint64_t y, uint64_t z, uint64_t n)
{
    const uint64_t sum = n * x + n * (n - 1) / 2;
    second[0] += n * x * x + x * n * (n - 1) + (n - 1) * n * (2 * n - 1) / 6;
    second[1] += n * y * y;
    second[2] += n * z * z;
    second[3] += sum * y;
    second[4] += sum * z;
    second[5] += n * y * z;
}

static void moments_of_plane(counting *c, int thread, int64_t z, int32_t *memory)
{
    const lob_regions_input *const in = c->in;
    const int64_t nx = in->dims.nx;
    (void)memory;
    for (int64_t y = 0; y < in->dims.ny; y++) {
        const int64_t first = (z * in->dims.ny + y) * nx;
        for (int64_t x = 0, end; x < nx; x = end) {
            const int32_t label = lob_label_at(in->labels, in->type, first + x);
            for (end = x + 1; end < nx; end++)
                if (lob_label_at(in->labels, in->type, first + end) != label) break;
            if (label <= 0) continue;
            add_run(row_of(c, thread, label), (uint64_t)x, (uint64_t)y, (uint64_t)(z + c->z),
                    (uint64_t)(end - x));
        }
    }
}

lob_status lob_regions_moments_sum(lob_region_moments *moments, const lob_regions_input *in,
                                   int64_t z, const lob_context *context, lob_error *error)
{
    _Static_assert(sizeof *moments == 6 * sizeof(int64_t), "a row of numbers");
    counting c = {.in = in, .z = z, .out = moments, .numbers = 6};
    return count_planes(&c, 0, context, moments_of_plane, error);
}

static lob_status move_moments(int64_t *second, const lob_region *region, int64_t label,
                               lob_error *error)
{
    static const int axes[6][2] = {
        {0, 0},
        {1, 1},
        {2, 2},
        {0, 1},
        {0, 2},
        {1, 2}
    };
    for (int a = 0; a < 3; a++) {
        const double side = (double)region->high[a] - region->low[a] + 1.0;
        if ((double)region->voxels * side * side > 9e18)
            return lob_fail(error, LOB_EDATA,
                            "label %lld is too large for its moments to be added up",
                            (long long)label);
    }
    for (int i = 0; i < 6; i++) {
        const int a = axes[i][0], b = axes[i][1];
        const uint64_t low_a = (uint64_t)region->low[a], low_b = (uint64_t)region->low[b];
        second[i] =
            (int64_t)((uint64_t)second[i] - low_a * (uint64_t)region->sum[b] -
                      low_b * (uint64_t)region->sum[a] + (uint64_t)region->voxels * low_a * low_b);
    }
    return LOB_OK;
}

lob_status lob_regions_moments_move(lob_region_moments *moments, const lob_region *regions,
                                    const int32_t *labels, int64_t count, lob_error *error)
{
    for (int64_t i = 0; i < count; i++)
        LOB_TRY(move_moments(moments[i].second, &regions[i], labels ? labels[i] : i + 1, error));
    return LOB_OK;
}

lob_status lob_regions_moments(lob_region_moments *moments, const lob_region *regions,
                               const lob_regions_input *in, const lob_context *context,
                               lob_error *error)
{
    LOB_TRY(lob_regions_moments_sum(moments, in, 0, context, error));
    return lob_regions_moments_move(moments, regions, NULL, in->count, error);
}

/* ---- borders ---- */

/* Voxels of a cell: bit 0 of the index is x, bit 1 y, bit 2 z. The pairs are in the order of
 * crossings; each pair of neighbours of a volume is that of one cell. */
static const uint8_t pairs[LOB_BORDER_DIRECTIONS] = {
    1 | 1 << 1, 1 | 1 << 2,      1 | 1 << 4, /* axes */
    1 | 1 << 3, 1 << 1 | 1 << 2,             /* xy, x-y */
    1 | 1 << 5, 1 << 1 | 1 << 4,             /* xz, x-z */
    1 | 1 << 6, 1 << 2 | 1 << 4,             /* yz, y-z */
    1 | 1 << 7, 1 << 1 | 1 << 6, 1 << 2 | 1 << 5, 1 << 4 | 1 << 3,
};

/*
 * What a cell adds to the Euler number, corners - edges + faces - voxels of the union of closed
 * voxels: the corner in its middle, and the three edges, the three faces and the voxel that lie
 * from there towards +x, +y, +z. Each is there if one of the voxels around it is.
 */
static int euler_of(unsigned voxels)
{
    static const uint8_t around[] = {0xaa, 0xcc, 0xf0, 0x88, 0xa0, 0xc0, 0x80};
    int sum = 1;
    for (int i = 0; i < 7; i++)
        if (voxels & around[i]) sum += i < 3 || i == 6 ? -1 : 1;
    return sum;
}

/* Crossings and Euler number of the voxels of one label in a cell, for each of 256 cells. */
typedef struct {
    int8_t number[256][LOB_BORDER_DIRECTIONS + 1];
} cell_table;

static void fill_cells(cell_table *table)
{
    for (unsigned voxels = 1; voxels < 256; voxels++) {
        for (int d = 0; d < LOB_BORDER_DIRECTIONS; d++) {
            const unsigned both = voxels & pairs[d];
            table->number[voxels][d] = both != 0 && both != pairs[d];
        }
        table->number[voxels][LOB_BORDER_DIRECTIONS] = (int8_t)euler_of(voxels);
    }
}

typedef struct {
    counting base;
    cell_table cells;
    bool under; /* plane 0 is that before a slab */
} border_counting;

static void add_cell(const border_counting *b, int thread, const int32_t v[8], int sign)
{
    for (unsigned left = 0xff; left;) {
        const int32_t label = v[__builtin_ctz(left)];
        unsigned same = 0;
        for (unsigned i = 0; i < 8; i++) same |= (unsigned)(v[i] == label) << i;
        left &= ~same;
        if (label <= 0) continue;
        uint64_t *const row = row_of(&b->base, thread, label);
        const int8_t *const number = b->cells.number[same];
        for (int d = 0; d <= LOB_BORDER_DIRECTIONS; d++) row[d] += (uint64_t)(sign * number[d]);
    }
}

/* A row with a voxel of no label at either end; all of them where it lies outside. */
static void load_row(int32_t *out, const lob_regions_input *in, int64_t y, int64_t z)
{
    const int64_t nx = in->dims.nx;
    const bool inside = y >= 0 && z >= 0 && y < in->dims.ny && z < in->dims.nz;
    const int64_t first = (z * in->dims.ny + y) * nx;
    out[0] = out[nx + 1] = 0;
    for (int64_t x = 0; x < nx; x++)
        out[x + 1] = inside ? lob_label_at(in->labels, in->type, first + x) : 0;
}

/* Add the cells between plane z and the one over it; -1: nothing. */
static void add_cells(const border_counting *b, int thread, int64_t z, int64_t over, int sign,
                      int32_t *memory)
{
    const counting *const c = &b->base;
    const int64_t n = c->in->dims.nx + 2;
    int32_t *row[4] = {memory, memory + n, memory + 2 * n, memory + 3 * n}; /* by y, then z */
    int32_t *const differs = memory + 4 * n;
    load_row(row[0], c->in, -1, z);
    load_row(row[2], c->in, -1, over);
    for (int64_t y = -1; y < c->in->dims.ny; y++) {
        load_row(row[1], c->in, y + 1, z);
        load_row(row[3], c->in, y + 1, over);
        const int32_t *const r0 = row[0], *const r1 = row[1], *const r2 = row[2],
                             *const r3 = row[3];
        for (int64_t x = 0; x < n; x++)
            differs[x] = (r0[x] ^ r1[x]) | (r0[x] ^ r2[x]) | (r0[x] ^ r3[x]);
        for (int64_t x = 0; x + 1 < n; x++) {
            if (!(differs[x] | differs[x + 1] | (r0[x] ^ r0[x + 1]))) continue;
            const int32_t v[8] = {r0[x], r0[x + 1], r1[x], r1[x + 1],
                                  r2[x], r2[x + 1], r3[x], r3[x + 1]};
            add_cell(b, thread, v, sign);
        }
        int32_t *const low = row[0], *const high = row[2];
        row[0] = row[1];
        row[2] = row[3];
        row[1] = low;
        row[3] = high;
    }
}

/* From z = -1 on. What lies below a plane under a slab is as it is for that plane alone. */
static void borders_of_plane(counting *c, int thread, int64_t z, int32_t *memory)
{
    const border_counting *const b = (border_counting *)c;
    add_cells(b, thread, z, z + 1, 1, memory);
    if (b->under && z == 0) add_cells(b, thread, z, -1, -1, memory);
}

lob_status lob_regions_border(lob_region_border *border, const lob_regions_input *in,
                              const lob_context *context, lob_error *error)
{
    return lob_regions_border_under(border, in, false, context, error);
}

lob_status lob_regions_border_under(lob_region_border *border, const lob_regions_input *in,
                                    bool under, const lob_context *context, lob_error *error)
{
    _Static_assert(sizeof *border == (LOB_BORDER_DIRECTIONS + 1) * sizeof(int64_t),
                   "a row of numbers");
    border_counting b = {
        .base = {.in = in, .out = border, .numbers = LOB_BORDER_DIRECTIONS + 1},
        .under = under,
    };
    fill_cells(&b.cells);
    return count_planes(&b.base, under ? 0 : -1, context, borders_of_plane, error);
}

/* ---- slabs ---- */

void lob_region_counts_add(lob_region_counts *to, const lob_region_counts *part)
{
    for (int i = 0; i < 6; i++)
        to->moments.second[i] =
            (int64_t)((uint64_t)to->moments.second[i] + (uint64_t)part->moments.second[i]);
    for (int d = 0; d < LOB_BORDER_DIRECTIONS; d++)
        to->border.crossings[d] += part->border.crossings[d];
    to->border.euler += part->border.euler;
    to->slices.slices += part->slices.slices;
    const lob_region_slices *const s = &part->slices;
    if (s->largest < to->slices.largest ||
        (s->largest == to->slices.largest && s->where >= to->slices.where))
        return;
    to->slices.largest = s->largest;
    to->slices.where = s->where;
}
