/*
 * Passes of Gaussian steps on the CPU. Neighbouring lines are copied into a strip, so that a voxel
 * of a line follows the other in memory at a distance of a few cache lines; sums are made of the
 * strip's rows. Edges are pointers to the rows that stand for what is outside.
 */
#include "kernels/filters/gaussian/gaussian_lines.h"

#include "kernels/simd_clones.h"

#include <omp.h>
#include <string.h>

enum { LANES = 128, LANES_X = 16, BLOCK = 256 };

/* ---- reading and writing rows ---- */

#define CAST_ROW(type_, ctype, name, integer, lowest, highest)                                  \
    case type_: {                                                                               \
        const ctype *const from = (const ctype *)source->data + first;                          \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) to[i] = (float)(double)from[i] + z; \
        break;                                                                                  \
    }

/* lob_gaussian_read of n voxels. */
LOB_SIMD_CLONES(void, read_row, (to, source, first, n), float *restrict to,
                const lob_gaussian_source *source, int64_t first, int64_t n)
{
    const float z = source->before.identity ? 0.0f : -0.0f; /* maps see a zero's sign */
    LOB_TYPE_SWITCH(source->type, CAST_ROW)
    if (!source->before.identity)
        for (int64_t i = 0; i < n; i++) to[i] = lob_filter_mapped(to[i], &source->before);
    if (!source->before.identity || source->mask || !source->finite || source->counts)
        for (int64_t i = 0; i < n; i++)
            to[i] = lob_gaussian_summand(source, lob_gaussian_in_mask(source, first + i), to[i]);
}

static void write_row(const lob_gaussian_job *job, int64_t first, const float *sums, int64_t n)
{
    float *const out = job->out + first;
    if (lob_gaussian_writes_sums(job->finish)) {
        memcpy(out, sums, (size_t)n * sizeof *out);
        return;
    }
    const bool held = lob_gaussian_needs_held(job->finish);
    for (int64_t i = 0; i < n; i++)
        out[i] = lob_gaussian_finished(job->finish, first + i, sums[i], held ? out[i] : 0.0f);
}

/* ---- rows of a line, those outside of it included ---- */

/* Rows that outputs of an operation read, from op->first on. */
static int64_t reached(const lob_line_op *op)
{
    return (op->n_out - 1) / op->up * op->down + op->taps;
}

static void point_to_rows(const float **rows, const lob_gaussian_pass *pass, const float *strip,
                          int64_t lanes, const float *outside)
{
    for (int64_t e = 0; e < reached(&pass->op); e++) {
        const int64_t at = lob_edge_position(pass->op.first + e, pass->op.n_in, pass->edge);
        rows[e] = at < 0 ? outside : strip + at * lanes;
    }
}

/* Output i of a pass, for n lanes from lane `at` on. */
static void sum_rows(float *sums, const lob_gaussian_job *job, const lob_line_op *op, int64_t i,
                     const float *const *rows, int64_t at, int64_t n)
{
    const float *const row = job->tables + op->weights + i % op->up * op->pitch;
    const float scale = op->scale >= 0 ? job->tables[op->scale + i] : 1.0f;
    lob_weighted_rows(sums, rows + i / op->up * op->down, row, op->taps, scale, at, n);
}

/* ---- threads ---- */

/* Working memory of a thread: floats, and behind them pointers to rows. */
typedef struct {
    float *floats;
    const float **rows;
    int64_t float_items, row_items;
} scratch;

static int64_t scratch_bytes(const scratch *s)
{
    return (int64_t)(((size_t)s->float_items * sizeof(float) + 63) / 64 * 64 +
                     ((size_t)s->row_items * sizeof(void *) + 63) / 64 * 64);
}

/* The scratch of the thread that calls. */
static scratch scratch_mine(const scratch *plan, unsigned char *memory)
{
    scratch s = *plan;
    unsigned char *const mine = memory + omp_get_thread_num() * scratch_bytes(plan);
    s.floats = (float *)(void *)mine;
    s.rows =
        (const float **)(void *)(mine + ((size_t)s.float_items * sizeof(float) + 63) / 64 * 64);
    return s;
}

/* ---- strips ---- */

typedef struct {
    const lob_gaussian_job *job;
    const lob_gaussian_pass *pass;
    int64_t lanes, across, tasks; /* across: strips of a row */
} strip_plan;

static strip_plan plan_strips(const lob_gaussian_job *job, const lob_gaussian_pass *pass)
{
    const lob_dims d = pass->in;
    strip_plan p = {job, pass, pass->axis == 0 ? LANES_X : LANES, 1, 0};
    if (pass->axis == 0) {
        p.tasks = (d.ny * d.nz + p.lanes - 1) / p.lanes;
    } else {
        if (d.nx < p.lanes) p.lanes = d.nx;
        p.across = (d.nx + p.lanes - 1) / p.lanes;
        p.tasks = p.across * (pass->axis == 1 ? d.nz : d.ny);
    }
    return p;
}

/* Lines along y or z, side by side along x. */
static void strip_along_yz(const strip_plan *p, int64_t task, const scratch *s)
{
    const lob_gaussian_pass *const pass = p->pass;
    const int64_t x = task % p->across * p->lanes, other = task / p->across;
    const int64_t left = pass->in.nx - x, n = left < p->lanes ? left : p->lanes;
    const bool y = pass->axis == 1;
    const int64_t step_in = y ? pass->in.nx : pass->in.nx * pass->in.ny;
    const int64_t step_out = y ? pass->out.nx : pass->out.nx * pass->out.ny;
    const int64_t from = x + other * (y ? pass->in.nx * pass->in.ny : pass->in.nx);
    const int64_t to = x + other * (y ? pass->out.nx * pass->out.ny : pass->out.nx);
    float *const sums = s->floats, *const strip = s->floats + 2 * p->lanes;
    for (int64_t i = 0; i < pass->op.n_in; i++)
        read_row(strip + i * p->lanes, p->job->source, from + i * step_in, n);
    const bool direct = lob_gaussian_writes_sums(p->job->finish);
    for (int64_t i = 0; i < pass->op.n_out; i++) {
        float *const row = direct ? p->job->out + to + i * step_out : sums;
        sum_rows(row, p->job, &pass->op, i, s->rows, 0, n);
        if (!direct) write_row(p->job, to + i * step_out, sums, n);
    }
}

/* Lines along x, turned so that they lie side by side. */
static void strip_along_x(const strip_plan *p, int64_t task, const scratch *s)
{
    const lob_line_op *const op = &p->pass->op;
    const int64_t first = task * p->lanes, all = p->pass->in.ny * p->pass->in.nz;
    const int64_t lines = all - first < p->lanes ? all - first : p->lanes;
    float *const strip = s->floats + 2 * p->lanes, *const turned = strip + op->n_in * p->lanes;
    float *const line = turned + op->n_out * p->lanes;
    for (int64_t l = 0; l < lines; l++) {
        read_row(line, p->job->source, (first + l) * op->n_in, op->n_in);
        for (int64_t i = 0; i < op->n_in; i++) strip[i * p->lanes + l] = line[i];
    }
    for (int64_t i = 0; i < op->n_out; i++)
        sum_rows(turned + i * p->lanes, p->job, op, i, s->rows, 0, lines);
    for (int64_t l = 0; l < lines; l++) {
        for (int64_t i = 0; i < op->n_out; i++) line[i] = turned[i * p->lanes + l];
        write_row(p->job, (first + l) * op->n_out, line, op->n_out);
    }
}

lob_status lob_gaussian_strips(const lob_gaussian_job *job, const lob_gaussian_pass *pass,
                               lob_error *error)
{
    const lob_line_op *const op = &pass->op;
    const strip_plan p = plan_strips(job, pass);
    const int64_t longest = op->n_in > op->n_out ? op->n_in : op->n_out;
    scratch plan = {.row_items = reached(op)};
    plan.float_items = (2 + op->n_in) * p.lanes;
    if (pass->axis == 0) plan.float_items += op->n_out * p.lanes + longest;
    unsigned char *memory = NULL;
    LOB_TRY(
        lob_budget_alloc(job->budget, &memory, job->threads, (size_t)scratch_bytes(&plan), error));
    const int64_t rows = pass->in.ny * pass->in.nz;
#pragma omp parallel num_threads(job->threads)
    {
        const scratch s = scratch_mine(&plan, memory);
        for (int64_t l = 0; l < p.lanes; l++) s.floats[p.lanes + l] = pass->outside;
        point_to_rows(s.rows, pass, s.floats + 2 * p.lanes, p.lanes, s.floats + p.lanes);
#pragma omp for schedule(static)
        for (int64_t task = 0; task < p.tasks; task++) {
            if (lob_progress_stopped(job->progress)) continue;
            if (pass->axis == 0)
                strip_along_x(&p, task, &s);
            else
                strip_along_yz(&p, task, &s);
            lob_progress_report(job->progress, rows * (task + 1) / p.tasks - rows * task / p.tasks);
        }
    }
    lob_budget_free(job->budget, memory, job->threads, (size_t)scratch_bytes(&plan));
    return LOB_OK;
}

/* ---- planes ---- */

/* Rows of a plane are smoothed along x, and from these a chunk of rows along y. */
typedef struct {
    const lob_gaussian_job *job;
    const lob_gaussian_pass *along_x, *along_y;
    lob_dims dims;
    int64_t line_items; /* of a line with what is outside of it */
    int64_t chunk;      /* rows of a task */
    int64_t chunks;     /* of a plane */
    int64_t reach;      /* rows on each side that a chunk reads */
} plane_plan;

/* A row of the image, smoothed along x. */
static void row_along_x(float *to, const plane_plan *p, int64_t first, const scratch *s)
{
    const int64_t nx = p->dims.nx;
    if (!p->along_x) {
        read_row(to, p->job->source, first, nx);
        return;
    }
    const lob_line_op *const op = &p->along_x->op;
    float *const line = s->floats, *const inside = line - op->first;
    read_row(inside, p->job->source, first, nx);
    for (int64_t k = 0; k < -2 * op->first; k++) {
        const int64_t e = k < -op->first ? op->first + k : nx + op->first + k;
        const int64_t at = lob_edge_position(e, nx, p->along_x->edge);
        inside[e] = at < 0 ? p->along_x->outside : inside[at];
    }
    lob_weighted_rows(to, s->rows, p->job->tables + op->weights, op->taps, 1.0f, 0, nx);
    for (int64_t i = 0; op->scale >= 0 && i < nx; i++) to[i] *= p->job->tables[op->scale + i];
}

/* Smooth the rows along x that rows [from, to) of plane z read, and point to them. */
static void rows_of_chunk(const plane_plan *p, int64_t z, int64_t from, int64_t to,
                          const scratch *s, const float **rows, const float *outside, float *block)
{
    const int64_t nx = p->dims.nx, ny = p->dims.ny;
    const int64_t low = from - p->reach > 0 ? from - p->reach : 0;
    const int64_t high = to + p->reach < ny ? to + p->reach : ny;
    for (int64_t y = low; y < high; y++)
        row_along_x(block + (y - low) * nx, p, (z * ny + y) * nx, s);
    float *more = block + (high - low) * nx;
    for (int64_t e = from - p->reach; e < to + p->reach; e++) {
        const int64_t at = lob_edge_position(e, ny, p->along_y->edge);
        const float *row = at < 0 ? outside : block + (at - low) * nx;
        if (at >= 0 && (at < low || at >= high)) {
            row_along_x(more, p, (z * ny + at) * nx, s);
            row = more;
            more += nx;
        }
        rows[e - (from - p->reach)] = row;
    }
}

static void smooth_chunk(const plane_plan *p, int64_t task, const scratch *s)
{
    const lob_gaussian_job *const job = p->job;
    const int64_t nx = p->dims.nx, ny = p->dims.ny, z = task / p->chunks;
    const int64_t from = task % p->chunks * p->chunk;
    const int64_t to = from + p->chunk < ny ? from + p->chunk : ny;
    const bool direct = lob_gaussian_writes_sums(job->finish);
    float *const outside = s->floats + p->line_items, *const sums = outside + nx;
    const float **const rows = s->rows + (p->along_x ? p->along_x->op.taps : 0);
    if (p->along_y) rows_of_chunk(p, z, from, to, s, rows, outside, sums + nx);
    for (int64_t x = 0; x < nx; x += p->along_y ? BLOCK : nx) {
        const int64_t left = nx - x, n = p->along_y && left > BLOCK ? BLOCK : left;
        for (int64_t y = from; y < to; y++) {
            const int64_t first = (z * ny + y) * nx + x;
            float *const row = direct ? job->out + first : sums;
            if (p->along_y) {
                const lob_line_op *const op = &p->along_y->op;
                const float scale = op->scale >= 0 ? job->tables[op->scale + y] : 1.0f;
                lob_weighted_rows(row, rows + (y - from), job->tables + op->weights, op->taps,
                                  scale, x, n);
            } else {
                row_along_x(row, p, first, s);
            }
            if (!direct) write_row(job, first, sums, n);
        }
    }
}

/* Chunks are whole planes where there are enough of these for all threads and they fit a cache. */
static plane_plan plan_planes(const lob_gaussian_job *job, const lob_gaussian_pass *along_x,
                              const lob_gaussian_pass *along_y, lob_dims dims)
{
    enum { CACHED = 1 << 18, EACH = 4 }; /* floats; chunks of a thread */
    plane_plan p = {job, along_x, along_y, dims, 0, dims.ny, 1, 0};
    if (along_x) p.line_items = dims.nx + along_x->op.taps - 1;
    if (along_y) p.reach = -along_y->op.first;
    while (p.chunk > 4 * p.reach + 16 &&
           (dims.nz * p.chunks < EACH * job->threads || p.chunk * dims.nx > CACHED)) {
        p.chunk = (p.chunk + 1) / 2;
        p.chunks = (dims.ny + p.chunk - 1) / p.chunk;
    }
    return p;
}

lob_status lob_gaussian_planes(const lob_gaussian_job *job, const lob_gaussian_pass *along_x,
                               const lob_gaussian_pass *along_y, lob_dims dims, lob_error *error)
{
    const plane_plan p = plan_planes(job, along_x, along_y, dims);
    const int64_t read = along_y ? p.chunk + 2 * p.reach : 0; /* rows that a chunk reads */
    const int64_t taps_x = along_x ? along_x->op.taps : 0;
    const scratch plan = {.float_items = p.line_items + (2 + read) * dims.nx,
                          .row_items = taps_x + read};
    unsigned char *memory = NULL;
    LOB_TRY(
        lob_budget_alloc(job->budget, &memory, job->threads, (size_t)scratch_bytes(&plan), error));
#pragma omp parallel num_threads(job->threads)
    {
        const scratch s = scratch_mine(&plan, memory);
        float *const outside = s.floats + p.line_items;
        for (int64_t t = 0; t < taps_x; t++) s.rows[t] = s.floats + t;
        for (int64_t x = 0; along_y && x < dims.nx; x++) outside[x] = along_y->outside;
#pragma omp for schedule(static)
        for (int64_t task = 0; task < dims.nz * p.chunks; task++) {
            if (lob_progress_stopped(job->progress)) continue;
            smooth_chunk(&p, task, &s);
            lob_progress_report(job->progress,
                                dims.ny * (task + 1) / p.chunks - dims.ny * task / p.chunks);
        }
    }
    lob_budget_free(job->budget, memory, job->threads, (size_t)scratch_bytes(&plan));
    return LOB_OK;
}
