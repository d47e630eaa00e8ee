/* Filling the tiles with levels, first keys and waiting seeds. Part of growcut_tiles_tmpl.h. */

/* A run of a view's row that falls into a tile's padded row, and where it lies in the tile. */
typedef struct {
    int64_t x, y, z, n; /* in the view */
    int64_t cell;       /* of the first voxel */
} run;

/* The run of row (j, k) of tile t, in cells from -pad to side + pad; n is 0 outside the view. */
static run run_of(const engine *e, int64_t t, int64_t j, int64_t k, bool with_halo)
{
    const lob_dims dims = e->job->view.dims;
    const int64_t at[3] = {t % e->tiles[0] * e->side[0], t / e->tiles[0] % e->tiles[1] * e->side[1],
                           t / e->tiles[0] / e->tiles[1] * e->side[2]};
    const int64_t halo = with_halo ? e->pad[0] : 0;
    const int64_t first = at[0] > halo ? at[0] - halo : 0;
    const int64_t last = at[0] + e->side[0] + halo < dims.nx ? at[0] + e->side[0] + halo : dims.nx;
    run r = {.x = first, .y = at[1] + j, .z = at[2] + k};
    const bool inside = r.y >= 0 && r.y < dims.ny && r.z >= 0 && r.z < dims.nz;
    r.n = inside && last > first ? last - first : 0;
    r.cell =
        (first - at[0] + e->pad[0]) + (j + e->pad[1]) * e->pitch[1] + (k + e->pad[2]) * e->pitch[2];
    return r;
}

/* The key a voxel starts with; seed is its label, 0 for none. */
static path_key first_key(const engine *e, bool is_data, int32_t seed, int64_t voxel)
{
    const float *strength = e->job->in->seed_strength;
    if (!is_data) return 0;
    if (seed == 0) return e->unreached;
    const uint64_t units = strength ? lob_growcut_start(&e->job->rule, strength[voxel]) : 0;
    if (units == 0) return 0;
    return units < (uint64_t)(e->unreached >> e->label_bits) ? key_of(e, units, seed)
                                                             : e->unreached;
}

/* Does a soft seed start at a cost that is allowed but does not fit the key? */
static bool starts_late(const engine *e, int64_t voxel)
{
    const uint64_t units = lob_growcut_start(&e->job->rule, e->job->in->seed_strength[voxel]);
    return units <= e->job->rule.limit && units != UINT64_MAX;
}

static void fill_run(const engine *e, tile *to, const run *r)
{
    const lob_growcut_job *job = e->job;
    const lob_volume *seeds = job->in->seeds;
    uint8_t is_data[ROW];
    lob_levels_data_row(is_data, &job->data, &job->view, r->x, r->y, r->z, r->n);
    for (int c = 0; c < job->data.image->channels; c++)
        lob_levels_row(to->levels + c * e->cells + r->cell, is_data, &job->levels, &job->data, c,
                       &job->view, r->x, r->y, r->z, r->n);
    const int64_t voxel = lob_view_index(&job->view, r->x, r->y, r->z);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * job->view.stride[0];
        to->keys[r->cell + i] =
            first_key(e, is_data[i], lob_label_at(seeds->data, seeds->type, v), v);
    }
}

/* Has a cell a neighbour whose key can still fall? Seeds deep inside a scribble have none. */
static bool has_open_neighbour(const engine *e, const tile *of, int64_t cell)
{
    for (int k = 0; k < e->neighbours; k++)
        if (of->keys[cell + e->step[k]] != 0) return true;
    return false;
}

/* Let the seeds of a run wait for their turn, and count them. */
static bool hold_seeds(const engine *e, tile *to, const run *r, lob_growcut_result *result)
{
    const lob_growcut_job *job = e->job;
    const lob_volume *seeds = job->in->seeds;
    const int64_t voxel = lob_view_index(&job->view, r->x, r->y, r->z);
    uint8_t is_data[ROW];
    bool known = false;
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * job->view.stride[0];
        const int32_t seed = lob_label_at(seeds->data, seeds->type, v);
        if (seed == 0) continue;
        if (!known) lob_levels_data_row(is_data, &job->data, &job->view, r->x, r->y, r->z, r->n);
        known = true;
        const path_key key = to->keys[r->cell + i];
        if (!is_data[i] || key == e->unreached) {
            result->seeds_outside++;
            result->overflow |= is_data[i] && starts_late(e, v);
            continue;
        }
        result->seeds++;
        if (job->rounds) continue; /* nothing waits: every cell looks around by itself */
        const path_key held = key ? key : key_of(e, 0, seed);
        if (!key && !has_open_neighbour(e, to, r->cell + i)) continue;
        if (held < to->held_least) to->held_least = held;
        if (!push(&to->held, (uint32_t)(r->cell + i), held)) return false;
    }
    return true;
}

static bool fill_tile(const engine *e, int64_t t, lob_growcut_result *result)
{
    tile *to = &e->tile[t];
    const int64_t channels = e->job->data.image->channels;
    memset(to->keys, 0, (size_t)e->cells * sizeof *to->keys);
    memset(to->levels, 0, (size_t)(e->cells * channels) * sizeof *to->levels);
    for (int64_t k = -e->pad[2]; k < e->side[2] + e->pad[2]; k++)
        for (int64_t j = -e->pad[1]; j < e->side[1] + e->pad[1]; j++) {
            const run r = run_of(e, t, j, k, true);
            if (r.n) fill_run(e, to, &r);
        }
    for (int64_t k = 0; k < e->side[2]; k++)
        for (int64_t j = 0; j < e->side[1]; j++) {
            const run r = run_of(e, t, j, k, false);
            if (r.n && !hold_seeds(e, to, &r, result)) return false;
        }
    return true;
}

static void mark_halo(engine *e)
{
    memset(e->is_halo, 1, (size_t)e->cells);
    for (int64_t k = 0; k < e->side[2]; k++)
        for (int64_t j = 0; j < e->side[1]; j++)
            memset(e->is_halo + e->pad[0] + (j + e->pad[1]) * e->pitch[1] +
                       (k + e->pad[2]) * e->pitch[2],
                   0, (size_t)e->side[0]);
}

static lob_status fill(engine *e, lob_growcut_result *result)
{
    int64_t seeds = 0, outside = 0;
    int failed = 0, overflow = 0;
    mark_halo(e);
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->workers)                              \
    reduction(+ : seeds, outside) reduction(| : failed, overflow)
    for (int64_t t = 0; t < e->count; t++) {
        lob_growcut_result part = {0};
        failed |= !fill_tile(e, t, &part);
        seeds += part.seeds;
        outside += part.seeds_outside;
        overflow |= part.overflow;
    }
    result->overflow = overflow;
    result->seeds = seeds;
    result->seeds_outside = outside;
    return failed ? LOB_ENOMEM : LOB_OK;
}

/*
 * The window's width decides between order (few voxels grown twice) and parallel work: a few steps
 * of the usual cost. The usual cost is the mean over the neighbours along x of every 61st cell.
 */
static void choose_window(engine *e)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t t = 0; t < e->count; t++) {
        const tile *of = &e->tile[t];
        for (int64_t c = 0; c + 1 < e->cells; c += 61) {
            if (of->keys[c] == 0 || of->keys[c + 1] == 0) continue;
            const uint32_t d = lob_growcut_distance(of->levels + c, of->levels + c + 1,
                                                    e->job->data.image->channels, e->cells,
                                                    LOB_NORM_LINF, e->job->rule.fraction);
            if (e->weight[d] < KEY_NEVER) sum += (double)(e->weight[d] >> e->label_bits), n++;
        }
    }
    const double usual = n ? sum / (double)n : 0;
    const double width = WINDOW_STEPS * usual + BUCKETS;
    e->bucket_shift = e->label_bits;
    while ((double)(BUCKETS << (e->bucket_shift - e->label_bits)) < width &&
           e->bucket_shift < KEY_BITS - 10)
        e->bucket_shift++;
    e->window = (path_key)BUCKETS << e->bucket_shift;
}
