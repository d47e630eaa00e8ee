/* Votes: block by block, distances of all candidates, then what their weights say. */
#include "kernels/arrays.h"
#include "kernels/fuse/fuse_voxel.h"
#include "kernels/progress.h"
#include "kernels/simd_clones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDE = 64, /* of a block along x, and along y and z */
    HIGH = 6,
    BLOCK = WIDE * HIGH * HIGH,
    MOST = LOB_FUSE_MAX_PATCH,
    EDGED = WIDE * (HIGH + 2 * MOST) * (HIGH + 2 * MOST)
};

/* A thread's memory. */
typedef struct {
    uint32_t *distance; /* candidates * BLOCK */
    uint32_t *votes;    /* (labels + 1) * BLOCK, */
    uint32_t *of_atlas; /* and of each atlas alone: atlases * BLOCK */
    uint32_t least[BLOCK];
    float per_step[BLOCK];
    uint32_t line[WIDE + 2 * MOST], plane[EDGED], sheet[WIDE * HIGH * (HIGH + 2 * MOST)];
} bench;

/* A block of voxels: where it begins, and its sides. */
typedef struct {
    int64_t x, y, z, nx, ny, nz;
} block;

typedef struct {
    lob_fuse_job j;
    int candidates; /* of all atlases */
    int64_t blocks[3];
    lob_progress progress;
} votes;

/* ---- distances ---- */

LOB_SIMD_CLONES(void, square_row, (out, a, b, n), uint32_t *out, const uint8_t *a, const uint8_t *b,
                int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const int32_t d = (int32_t)a[i] - (int32_t)b[i];
        out[i] = (uint32_t)(d * d);
    }
}

/* Sums of 2 r + 1 rows that lie `apart` numbers from each other. */
LOB_SIMD_CLONES(void, add_rows, (out, in, apart, r, n), uint32_t *out, const uint32_t *in,
                int64_t apart, int r, int64_t n)
{
    if (r == 2) {
        const uint32_t *const b = in + apart, *const c = b + apart, *const d = c + apart,
                              *const e = d + apart;
        for (int64_t i = 0; i < n; i++) out[i] = in[i] + b[i] + c[i] + d[i] + e[i];
    } else if (r == 1) {
        const uint32_t *const b = in + apart, *const c = b + apart;
        for (int64_t i = 0; i < n; i++) out[i] = in[i] + b[i] + c[i];
    } else {
        memcpy(out, in, (size_t)n * sizeof *out);
    }
}

LOB_SIMD_CLONES(void, finish_row, (distance, least, squares, a, b, label, patch_voxels, n),
                uint32_t *distance, uint32_t *least, const uint32_t *squares, const uint16_t *a,
                const uint16_t *b, const uint8_t *label, uint32_t patch_voxels, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const int32_t apart = (int32_t)a[i] - (int32_t)b[i];
        const uint32_t d = patch_voxels * squares[i] - (uint32_t)(apart * apart);
        distance[i] = label[i] == LOB_FUSE_NO_LABEL ? UINT32_MAX : d;
        least[i] = distance[i] < least[i] ? distance[i] : least[i];
    }
}

/* Distances of a block's patches to those of an atlas, which lie `shift` voxels further on. */
static void measure(const votes *v, bench *b, const block *k, const lob_fuse_levels *atlas,
                    int64_t shift, uint32_t *distance)
{
    const lob_fuse_job *const j = &v->j;
    const lob_fuse_frame *const f = &j->frame;
    const int r = j->options->patch;
    const uint32_t side = 2 * (uint32_t)r + 1, patch_voxels = side * side * side;
    const int64_t at = f->first + k->z * f->plane + k->y * f->row + k->x;
    const int64_t wide = k->nx + 2 * r, high = k->ny + 2 * r, deep = k->nz + 2 * r;
    for (int64_t z = 0; z < deep; z++) {
        for (int64_t y = 0; y < high; y++) {
            const int64_t from = at + (z - r) * f->plane + (y - r) * f->row - r;
            square_row(b->line, j->scan.level + from, atlas->level + from + shift, wide);
            add_rows(b->plane + (z * high + y) * k->nx, b->line, 1, r, k->nx);
        }
        for (int64_t y = 0; y < k->ny; y++)
            add_rows(b->sheet + (z * k->ny + y) * k->nx, b->plane + (z * high + y) * k->nx, k->nx,
                     r, k->nx);
    }
    for (int64_t z = 0; z < k->nz; z++)
        for (int64_t y = 0; y < k->ny; y++) {
            const int64_t from = at + z * f->plane + y * f->row, to = (z * k->ny + y) * k->nx;
            add_rows(b->line, b->sheet + to, k->ny * k->nx, r, k->nx);
            finish_row(distance + to, b->least + to, b->line, j->scan.sum + from,
                       atlas->sum + from + shift, atlas->label + from + shift, patch_voxels, k->nx);
        }
}

/* ---- votes ---- */

LOB_SIMD_CLONES(void, steps_of, (per_step, least, floor, n), float *per_step, const uint32_t *least,
                float floor, int64_t n)
{
    for (int64_t i = 0; i < n; i++) per_step[i] = lob_fuse_per_step(least[i], floor);
}

LOB_SIMD_CLONES(void, weigh_row, (step, distance, per_step, n), uint32_t *step,
                const uint32_t *distance, const float *per_step, int64_t n)
{
    for (int64_t i = 0; i < n; i++) step[i] = lob_fuse_step(distance[i], per_step[i]);
}

/* A candidate's weights go to its labels and its atlas. */
static void vote(const votes *v, bench *b, const block *k, int a, int64_t shift,
                 const uint32_t *distance)
{
    const lob_fuse_frame *const f = &v->j.frame;
    const int64_t at = f->first + k->z * f->plane + k->y * f->row + k->x + shift;
    for (int64_t z = 0; z < k->nz; z++)
        for (int64_t y = 0; y < k->ny; y++) {
            const int64_t row = (z * k->ny + y) * k->nx;
            const uint8_t *const label = v->j.atlas[a].label + at + z * f->plane + y * f->row;
            uint32_t step[WIDE];
            weigh_row(step, distance + row, b->per_step + row, k->nx);
            for (int64_t x = 0; x < k->nx; x++) {
                const uint32_t w = v->j.weight[step[x]];
                if (w == 0 || label[x] == LOB_FUSE_NO_LABEL) continue;
                b->votes[label[x] * BLOCK + row + x] += w;
                b->of_atlas[a * BLOCK + row + x] += w;
            }
        }
}

static void decide(const votes *v, const bench *b, const block *k)
{
    const lob_fuse_job *const j = &v->j;
    const int64_t n = j->dims.nx * j->dims.ny * j->dims.nz;
    for (int64_t z = 0; z < k->nz; z++)
        for (int64_t y = 0; y < k->ny; y++)
            for (int64_t x = 0; x < k->nx; x++) {
                const int64_t to = ((k->z + z) * j->dims.ny + k->y + y) * j->dims.nx + k->x + x;
                uint32_t share[LOB_FUSE_MAX_LABELS + 1];
                const int64_t i = (z * k->ny + y) * k->nx + x;
                const int best =
                    lob_fuse_shares(share, b->votes + i, b->of_atlas + i, BLOCK, j->set->count,
                                    j->in->count, j->all_have ? NULL : j->has);
                for (int32_t l = 1; l <= j->set->count; l++)
                    j->out->shares[(l - 1) * n + to] = (uint16_t)share[l];
                ((uint8_t *)j->out->labels.data)[to] = (uint8_t)best;
            }
}

/* Weights of a majority: one for each atlas that has a label there. */
static void vote_alike(const votes *v, bench *b, const block *k)
{
    memset(b->least, 0, sizeof b->least);
    for (int64_t i = 0; i < BLOCK; i++) b->per_step[i] = 0;
    for (int a = 0; a < v->j.in->count; a++) vote(v, b, k, a, 0, b->least);
}

static void vote_by_patches(const votes *v, bench *b, const block *k)
{
    const lob_fuse_job *const j = &v->j;
    const int r = j->options->search;
    const int64_t n = k->nx * k->ny * k->nz;
    const int side = 2 * j->options->patch + 1;
    const double voxels = (double)side * side * side;
    memset(b->least, 0xff, sizeof b->least);
    for (int pass = 0; pass < 2; pass++) {
        uint32_t *distance = b->distance;
        for (int a = 0; a < j->in->count; a++)
            for (int z = -r; z <= r; z++)
                for (int y = -r; y <= r; y++)
                    for (int x = -r; x <= r; x++, distance += BLOCK) {
                        const int64_t shift = z * j->frame.plane + y * j->frame.row + x;
                        if (pass == 0)
                            measure(v, b, k, &j->atlas[a], shift, distance);
                        else
                            vote(v, b, k, a, shift, distance);
                    }
        if (pass == 0)
            steps_of(b->per_step, b->least, (float)(j->options->floor * voxels * voxels), n);
    }
}

/* ---- blocks ---- */

static block block_at(const votes *v, int64_t i)
{
    const lob_dims d = v->j.dims;
    block k = {.x = i % v->blocks[0] * WIDE,
               .y = i / v->blocks[0] % v->blocks[1] * HIGH,
               .z = i / v->blocks[0] / v->blocks[1] * HIGH};
    k.nx = d.nx - k.x < WIDE ? d.nx - k.x : WIDE;
    k.ny = d.ny - k.y < HIGH ? d.ny - k.y : HIGH;
    k.nz = d.nz - k.z < HIGH ? d.nz - k.z : HIGH;
    return k;
}

static int64_t bench_bytes(const votes *v)
{
    const int64_t rows = v->candidates + v->j.set->count + 1 + v->j.in->count;
    return (int64_t)sizeof(bench) + rows * BLOCK * (int64_t)sizeof(uint32_t);
}

static bench *make_bench(const votes *v)
{
    bench *const b = malloc((size_t)bench_bytes(v));
    if (!b) return NULL;
    b->distance = (uint32_t *)(b + 1);
    b->votes = b->distance + (int64_t)v->candidates * BLOCK;
    b->of_atlas = b->votes + (int64_t)(v->j.set->count + 1) * BLOCK;
    return b;
}

static lob_status run_blocks(votes *v, lob_error *error)
{
    const int64_t count = v->blocks[0] * v->blocks[1] * v->blocks[2];
    const int64_t most = v->j.context->threads;
    const int threads = (int)(count < most ? count : most);
    const int64_t bytes = threads * bench_bytes(v);
    const size_t cleared = (size_t)(v->j.set->count + 1 + v->j.in->count) * BLOCK;
    bool failed = false;
    int64_t unseen = 0;
    LOB_TRY(lob_budget_hold(&v->j.budget, bytes, error));
    lob_progress_stage(&v->progress, count, 1);
#pragma omp parallel num_threads(threads) reduction(+ : unseen)
    {
        bench *const b = make_bench(v);
#pragma omp critical(lob_fuse_failed)
        failed = failed || !b;
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < count; i++) {
            if (failed || lob_progress_stopped(&v->progress)) continue;
            const block k = block_at(v, i);
            memset(b->votes, 0, cleared * sizeof *b->votes);
            if (v->j.options->majority)
                vote_alike(v, b, &k);
            else
                vote_by_patches(v, b, &k);
            decide(v, b, &k);
            for (int64_t x = 0; x < k.nx * k.ny * k.nz; x++) unseen += b->least[x] == UINT32_MAX;
            lob_progress_report(&v->progress, 1);
        }
        free(b);
    }
    lob_budget_release(&v->j.budget, bytes);
    v->j.out->unseen = unseen;
    if (failed) return lob_fail(error, LOB_ENOMEM, "no memory left for votes");
    return lob_progress_stopped(&v->progress) ? LOB_ECANCEL : LOB_OK;
}

/* ---- a call ---- */

void lob_fuse_add_label(lob_fuse_job *j, int32_t label)
{
    lob_label_set *const set = j->set;
    int32_t at = set->count;
    if (label <= 0 || set->count > LOB_FUSE_MAX_LABELS || lob_label_set_find(set, label) > 0)
        return;
    if (set->count == LOB_FUSE_MAX_LABELS) {
        set->count++; /* too many */
        return;
    }
    for (; at > 0 && set->values[at - 1] > label; at--) set->values[at] = set->values[at - 1];
    set->values[at] = label;
    set->count++;
}

/* The labels of all atlases, in ascending order. */
static void find_labels(lob_fuse_job *j)
{
    for (int a = 0; a < j->in->count; a++) {
        const lob_volume *const labels = j->in->atlases[a].labels;
        int32_t last = 0;
        for (int64_t i = 0; i < lob_voxels(labels) && j->set->count <= LOB_FUSE_MAX_LABELS; i++) {
            const int32_t label = lob_label_at(labels->data, labels->type, i);
            if (label != last) lob_fuse_add_label(j, label);
            last = label;
        }
    }
}

static lob_status check_volume(const lob_volume *volume, const char *name, const lob_fuse_job *j,
                               lob_error *error)
{
    if (!j->context->device) LOB_TRY(lob_check_memory(volume->place, NULL, NULL, error));
    if (volume->channels != 1)
        return lob_fail(error, LOB_EARG, "%s has %d channels, and one is compared", name,
                        volume->channels);
    return lob_same_grid(j->in->scan, "the scan", volume, name, error);
}

static lob_status check(const lob_fuse_job *j, lob_error *error)
{
    const lob_fuse_input *const in = j->in;
    const lob_fuse_options *const o = j->options;
    if (o->patch < 0 || o->patch > LOB_FUSE_MAX_PATCH || o->search < 0 ||
        o->search > LOB_FUSE_MAX_SEARCH || !(o->floor >= 0 && o->floor <= 65025))
        return lob_fail(error, LOB_EARG, "an option of fuse is outside its range");
    if (in->count < 1 || in->count > LOB_FUSE_MAX_ATLASES)
        return lob_fail(error, LOB_EARG, "%d atlases cannot be fused, from 1 to %d can", in->count,
                        LOB_FUSE_MAX_ATLASES);
    LOB_TRY(check_volume(in->scan, "the scan", j, error));
    for (int a = 0; a < in->count; a++) {
        char name[64];
        snprintf(name, sizeof name, "the labels of atlas %d", a + 1);
        const lob_type type = in->atlases[a].labels->type;
        LOB_TRY(check_volume(in->atlases[a].labels, name, j, error));
        if (type != LOB_U8 && type != LOB_I16 && type != LOB_I32)
            return lob_fail(error, LOB_EARG, "labels of type %s", lob_type_of(type)->name);
        snprintf(name, sizeof name, "atlas %d", a + 1);
        if (!o->majority) LOB_TRY(check_volume(in->atlases[a].image, name, j, error));
    }
    return LOB_OK;
}

static void make_weights(lob_fuse_job *j)
{
    /* e^(-1/16) by its table's own steps: products of two doubles are the same everywhere. */
    const double factor = 0.93941306281347578611971082462230505;
    double weight = 65535;
    for (int i = 0; i < LOB_FUSE_STEPS - 1; i++) {
        j->weight[i] = (uint16_t)(weight + 0.5);
        weight *= factor;
    }
}

lob_status lob_fuse_hold_output(lob_fuse_job *j, lob_error *error)
{
    const lob_label_set *const set = j->set;
    if (set->count > LOB_FUSE_MAX_LABELS) {
        j->set->count = LOB_FUSE_MAX_LABELS;
        return lob_fail(error, LOB_EDATA, "the atlases have more than %d labels",
                        LOB_FUSE_MAX_LABELS);
    }
    if (set->count == 0) return lob_fail(error, LOB_EDATA, "no atlas has a label");
    /* Labels in the type that they get in the end, and shares. */
    const lob_type type = lob_label_type(set->values[set->count - 1]);
    const int64_t each =
        (int64_t)lob_type_of(type)->bytes + set->count * (int64_t)sizeof *j->out->shares;
    const int64_t bytes = lob_product(lob_voxels(j->in->scan), each, 1, 1);
    LOB_TRY(lob_budget_hold(&j->budget, bytes < 0 ? INT64_MAX : bytes, error));
    j->output = bytes;
    return LOB_OK;
}

static lob_status run(votes *v, lob_error *error)
{
    lob_fuse_job *const j = &v->j;
    lob_fuse_output *const out = j->out;
    const lob_dims d = j->dims;
    const int64_t n = lob_voxels(j->in->scan);
    const int side = 2 * j->options->search + 1;
    find_labels(j);
    LOB_TRY(lob_fuse_hold_output(j, error));
    if (lob_volume_like(&out->labels, j->in->scan, LOB_U8, 1) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "no memory left for labels");
    lob_label_names_free(&out->labels.names);
    out->shares = malloc((size_t)(n * out->set.count) * sizeof *out->shares);
    if (!out->shares) return lob_fail(error, LOB_ENOMEM, "no memory left for shares");
    v->candidates = j->options->majority ? 0 : j->in->count * side * side * side;
    v->blocks[0] = (d.nx + WIDE - 1) / WIDE;
    v->blocks[1] = (d.ny + HIGH - 1) / HIGH;
    v->blocks[2] = (d.nz + HIGH - 1) / HIGH;
    LOB_TRY(lob_fuse_levels_make(j, error));
    lob_progress_stage(&v->progress, 1, 0.2);
    LOB_TRY(run_blocks(v, error));
    for (int64_t i = 0; i < n; i++) {
        const int32_t label = ((const uint8_t *)out->labels.data)[i];
        if (label > 0) out->set.voxels[label - 1]++;
    }
    if (lob_labels_restore(&out->labels, &out->set) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "no memory left for labels");
    return LOB_OK;
}

lob_fuse_options lob_fuse_defaults(void)
{
    return (lob_fuse_options){.patch = 1, .search = 1, .floor = 16};
}

lob_fuse_output lob_fuse_output_empty(void)
{
    return (lob_fuse_output){.labels = lob_volume_empty()};
}

void lob_fuse_output_free(lob_fuse_output *out)
{
    lob_volume_free(&out->labels);
    lob_array_free(out->device, out->shares);
    lob_label_set_free(&out->set);
    *out = lob_fuse_output_empty();
}

/* On the GPU of the context, or on the CPU. */
static lob_status run_there(votes *v, lob_error *error)
{
    lob_label_set *const set = v->j.set;
    set->values = calloc(LOB_FUSE_MAX_LABELS, sizeof *set->values);
    set->voxels = calloc(LOB_FUSE_MAX_LABELS, sizeof *set->voxels);
    if (!set->values || !set->voxels) return lob_fail(error, LOB_ENOMEM, "no memory for labels");
    make_weights(&v->j);
#ifdef LOB_WITH_CUDA
    if (v->j.context->device) return lob_fuse_on_cuda(&v->j, error);
#endif
    const lob_status st = run(v, error);
    lob_fuse_levels_free(&v->j);
    return st;
}

lob_status lob_fuse(lob_fuse_output *out, const lob_fuse_input *in, const lob_fuse_options *options,
                    const lob_context *context, lob_error *error)
{
    votes v = {
        .j = {.in = in,
              .options = options,
              .context = context,
              .budget = {.who = "fusing", .limit = context->max_memory},
              .out = out,
              .dims = in->scan->dims,
              .set = &out->set},
        .progress = {.context = context},
    };
    *out = lob_fuse_output_empty();
    lob_error_begin(error);
    LOB_TRY(check(&v.j, error));
    const lob_status st = run_there(&v, error);
    out->working_bytes = v.j.budget.peak - v.j.output;
    if (st != LOB_OK) lob_fuse_output_free(out);
    return lob_error_end(error, st);
}
