/*
 * A run of GrowCut on the device, from the host's side: working memory, rules and their tables,
 * launches.
 */
#ifndef LOB_GROWCUT_STATE_CUDA_CUH
#define LOB_GROWCUT_STATE_CUDA_CUH

#include "kernels/growcut/gpu/fill_tiles_cuda.cuh"
#include "kernels/growcut/growcut_job_cuda.cuh"

#include <math.h>
#include <stdlib.h>

/* Bytes through which soft seeds, strengths and costs travel: many voxels a trip, little memory. */
static const int64_t PARCEL_BYTES = 4 << 20;

/* One run's state on the host. */
template <typename K> struct run_state {
    const growcut_job *job;
    growcut_result *result;
    scene<K> s;
    plane *planes;   /* host copy of what is uploaded */
    int64_t table_n; /* entries of all tables */
    uint32_t dmax;   /* of the longest table, 0: there is none */
    control *ctl;    /* host copies, of which the first is the start of the block that comes back */
    wide *largest;
    uint32_t *overflow;
    /* device */
    K *other; /* the second keys of rounds */
    double *ln;
    void *parcel;
    int64_t *parcel_first; /* of each plane, in the strengths' table */
    K *table;
    lob_error *error;
};

/* Hands out the working memory piece by piece; with base NULL it only adds up. */
typedef struct {
    unsigned char *base;
    int64_t used;
} pieces;

static void *piece(pieces *p, int64_t bytes)
{
    const int64_t at = p->used;
    p->used += (bytes + 255) / 256 * 256;
    return p->base ? p->base + at : NULL;
}

template <typename K> static void set_grid(scene<K> *s, const lob_device_view *view)
{
    const uint32_t side[3] = {view->flat ? (uint32_t)sheet::x : (uint32_t)cube::x,
                              view->flat ? (uint32_t)sheet::y : (uint32_t)cube::y,
                              view->flat ? (uint32_t)sheet::z : (uint32_t)cube::z};
    int64_t tiles = 1;
    for (int a = 0; a < 3; a++) {
        s->grid[a] = (view->side[a] - 1) / side[a] + 1;
        tiles *= s->grid[a];
    }
    s->tiles = (uint32_t)tiles;
    s->cells = tiles * cube::cells;
    static_assert((int)cube::cells == (int)sheet::cells,
                  "tiles of either shape have as many cells");
}

/* What a run finds out comes back in one block: the control, then two figures of each plane. */
static int64_t found_bytes(const growcut_job *job)
{
    return (int64_t)sizeof(control) + job->planes * (int64_t)(sizeof(wide) + sizeof(uint32_t));
}

static void split_found(control *found, int64_t planes, wide **largest, uint32_t **overflow)
{
    *largest = found ? (wide *)(found + 1) : NULL;
    *overflow = found ? (uint32_t *)(*largest + planes) : NULL;
}

/* How many logarithms the tables need. */
template <typename K> static int64_t logarithms_of(const run_state<K> *r)
{
    const bool strength = r->job->options->rule == LOB_RULE_STRENGTH;
    return strength && r->dmax ? (int64_t)r->dmax + 1 : 0;
}

/* Lay out the working memory; returns its size. */
template <typename K> static int64_t lay_out(run_state<K> *r, unsigned char *base)
{
    const growcut_job *job = r->job;
    scene<K> *s = &r->s;
    pieces p = {base, 0};
    const bool parcels = job->in->seed_strength || job->arrays->strength;
    set_grid(s, &job->view);
    s->key = (K *)piece(&p, s->cells * (int64_t)sizeof(K));
    r->other = (K *)piece(&p, job->options->rounds ? s->cells * (int64_t)sizeof(K) : 0);
    s->level = (uint16_t *)piece(&p, s->cells * job->image.channels * 2);
    s->pending = (uint32_t *)piece(&p, s->cells / 8);
    s->priority = (K *)piece(&p, s->tiles * (int64_t)sizeof(K));
    s->list = (uint32_t *)piece(&p, s->tiles * 4);
    s->planes = (plane *)piece(&p, job->planes * (int64_t)sizeof(plane));
    s->ctl = (control *)piece(&p, found_bytes(job));
    split_found(s->ctl, job->planes, &s->largest, &s->overflow);
    r->parcel = piece(&p, parcels ? PARCEL_BYTES : 0);
    r->parcel_first = (int64_t *)piece(&p, parcels ? job->planes * 8 : 0);
    r->table = (K *)piece(&p, r->table_n * (int64_t)sizeof(K));
    r->ln = (double *)piece(&p, logarithms_of(r) * (int64_t)sizeof(double));
    s->table = r->table;
    return p.used;
}

template <typename K> static int64_t bytes_of(const growcut_job *job)
{
    run_state<K> r = {};
    r.job = job;
    return lay_out(&r, NULL);
}

/* ---- rules ---- */

/* Weights that are no power of two times the distance come from a table. */
static bool has_table(const growcut_job *job, int64_t p)
{
    const lob_growcut_rule *rule = &job->rule[p];
    return job->options->rule == LOB_RULE_STRENGTH || rule->unit < 1 || rule->fraction > 0;
}

/* A table depends on the rule, dmax and scale: planes that follow each other may share theirs. */
template <typename K> static void place_tables(run_state<K> *r)
{
    const growcut_job *job = r->job;
    for (int64_t p = 0; p < job->planes; p++) {
        const lob_growcut_rule *rule = &job->rule[p], *before = &job->rule[p ? p - 1 : 0];
        if (!has_table(job, p)) continue;
        const bool same = p > 0 && has_table(job, p - 1) && before->dmax == rule->dmax &&
                          before->scale == rule->scale;
        r->planes[p].table = same ? r->planes[p - 1].table : r->table_n;
        if (!same) r->table_n += (int64_t)rule->dmax + 1;
        if (rule->dmax > r->dmax) r->dmax = rule->dmax;
    }
}

template <typename K> static void make_planes(run_state<K> *r)
{
    const growcut_job *job = r->job;
    scene<K> *s = &r->s;
    for (int64_t i = 0; i < job->planes; i++) {
        const lob_growcut_rule *rule = &job->rule[i];
        const lob_levels *levels = &job->levels[i];
        plane *p = &r->planes[i];
        const wide room = (wide)(keys<K>::top >> s->label_bits) - 2;
        p->levels.low_bits = levels->low_bits;
        p->levels.low = levels->low;
        p->levels.per_unit = levels->per_unit;
        p->levels.exact = levels->exact;
        p->tabled = has_table(job, i);
        p->barred = job->options->rule == LOB_RULE_STRENGTH;
        p->dmax = rule->dmax;
        p->fraction = rule->fraction;
        p->scale = rule->scale;
        const int shift = s->label_bits + ilogb(rule->unit), most = sizeof(K) == 4 ? 31 : 61;
        p->level_shift = rule->unit >= 1 ? (uint32_t)shift : 0;
        p->bound = rule->unit >= 1 ? (wide)1 << (shift < most ? shift : most) : 0;
        p->unit = rule->unit;
        p->limit = rule->limit;
        p->unreached = ((rule->limit < room ? rule->limit : room) + 1) << s->label_bits;
        for (int k = 0; k < rule->neighbours; k++) {
            const int8_t *o = rule->offset[k];
            p->extra[CENTRE + o[0] + 3 * o[1] + 9 * o[2]] =
                weight_from<K>(rule->extra[k], s->label_bits);
        }
    }
    const lob_growcut_rule *any = &job->rule[0];
    for (int k = 0; k < any->neighbours; k++) {
        const int8_t *o = any->offset[k];
        if (job->view.flat && o[2] != 0) continue;
        s->direction[s->neighbours++] = (int8_t)(CENTRE + o[0] + 3 * o[1] + 9 * o[2]);
    }
}

/* ---- launches ---- */

/* Enough blocks to fill the device, no more than there is work. */
static int64_t blocks_for(const growcut_job *job, int64_t items)
{
    const int64_t most = 8 * (int64_t)lob_device_multiprocessors(job->device);
    const int64_t blocks = (items + CELL_THREADS - 1) / CELL_THREADS;
    return blocks < most ? blocks : most;
}

template <typename K, typename A>
static lob_status launch(run_state<K> *r, void (*kernel)(A), const char *name, int64_t items,
                         const A &argument)
{
    return lob_launch(r->job->device, kernel, name, blocks_for(r->job, items), CELL_THREADS, 0,
                      argument, r->error);
}

/* The tables of weights, made from one table of logarithms, because planes have many. */
template <typename K> static lob_status make_tables(run_state<K> *r)
{
    const growcut_job *job = r->job;
    const int64_t n = logarithms_of(r);
    if (r->table_n == 0) return LOB_OK;
    if (n > 0) {
        double *ln = (double *)malloc((size_t)n * sizeof *ln);
        if (!ln) return lob_fail(r->error, LOB_ENOMEM, "no memory left for GrowCut's tables");
        lob_growcut_logarithms(ln, r->dmax, job->context->threads > 0 ? job->context->threads : 1);
        const lob_status st =
            lob_device_upload(job->device, r->ln, ln, n * (int64_t)sizeof *ln, r->error);
        free(ln);
        if (st != LOB_OK) return st;
    }
    const table_list<K> list = {
        r->table,       r->ln, r->s.planes, job->planes, (int64_t)r->dmax / TABLE_CHUNK + 1,
        r->s.label_bits};
    return launch(r, table_kernel<K>, "making tables", list.n * list.chunks * CELL_THREADS, list);
}

#endif
