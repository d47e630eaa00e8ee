/* What growing came to: labels, strength, tie zone, overflow. Part of growcut_tiles_tmpl.h. */

/*
 * Give the halo its owners' keys. The copies know what this tile did to them and no more; only to
 * tell what was reached do they have to be true. Key 0 is, wherever it stands.
 */
static void refresh_halo(const engine *e, int64_t t)
{
    path_key *keys = e->tile[t].keys;
    for (int64_t c = 0; c < e->cells; c++) {
        if (!e->is_halo[c] || keys[c] == 0) continue;
        int64_t theirs = c;
        const int side = owner_of(e, c, &theirs);
        keys[c] = neighbour_of(e, t, side)->keys[theirs];
    }
}

/* Has a run a source whose step to data that no path has reached is possible? */
static bool stops_short(const engine *e, const tile *of, const run *r)
{
    const lob_volume *seeds = e->job->in->seeds;
    const int channels = e->job->data.image->channels;
    const int64_t voxel = lob_view_index(&e->job->view, r->x, r->y, r->z);
    uint8_t is_data[ROW];
    lob_levels_data_row(is_data, &e->job->data, &e->job->view, r->x, r->y, r->z, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t c = r->cell + i, v = voxel + i * e->job->view.stride[0];
        if (!is_data[i] || of->keys[c] == e->unreached) continue; /* distances to it have no cost */
        if (of->keys[c] == 0 && lob_label_at(seeds->data, seeds->type, v) == 0) continue;
        for (int k = 0; k < e->neighbours; k++) {
            const int64_t n = c + e->step[k];
            if (of->keys[n] != e->unreached) continue;
            const uint32_t d = lob_growcut_distance(of->levels + c, of->levels + n, channels,
                                                    e->cells, e->norm, e->job->rule.fraction);
            if (e->job->cost[d] != LOB_NO_PASSAGE) return true;
        }
    }
    return false;
}

/*
 * Could a path have been turned away only because its cost does not fit the key? Not when the
 * max_step path found leaves room for one more step; else where data without a path lies beside a
 * source, a possible step away. That depends on the fixed point alone, not on the tiles.
 */
static bool overflowed(const engine *e, uint64_t largest)
{
    const lob_growcut_rule *rule = &e->job->rule;
    const uint64_t room = (uint64_t)(e->unreached >> e->label_bits) - 1;
    if (room >= rule->limit || largest + rule->max_step <= room) return false;
    int found = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->workers) reduction(| : found)
    for (int64_t t = 0; t < e->count; t++) {
        refresh_halo(e, t);
        for (int64_t j = 0; j < e->side[1] * e->side[2] && !found; j++) {
            const run r = run_of(e, t, j % e->side[1], j / e->side[1], false);
            found |= stops_short(e, &e->tile[t], &r);
        }
    }
    return found;
}

/* Write labels and strength of a run. */
static void write_run(const engine *e, const tile *of, const run *r, lob_growcut_result *result)
{
    const lob_growcut_job *job = e->job;
    const lob_volume *seeds = job->in->seeds;
    const int64_t voxel = lob_view_index(&job->view, r->x, r->y, r->z);
    uint8_t is_data[ROW];
    lob_levels_data_row(is_data, &job->data, &job->view, r->x, r->y, r->z, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * job->view.stride[0];
        const path_key key = of->keys[r->cell + i];
        int32_t label = 0;
        uint64_t units = 0;
        if (key == 0 && is_data[i]) label = lob_label_at(seeds->data, seeds->type, v);
        if (key != 0 && key != e->unreached) {
            label = label_of(e, key);
            units = key >> e->label_bits;
        }
        lob_label_put(job->out->labels, seeds->type, v, label);
        if (job->out->strength)
            job->out->strength[v] = label ? lob_growcut_strength(&job->rule, units) : 0.0f;
        result->reached += label != 0;
        if (label && units > result->largest) result->largest = units;
    }
}

/* Write the tie zone of a run: where the labels written before differ from those found now. */
static void write_tie_run(const engine *e, const tile *of, const run *r, lob_growcut_result *result)
{
    const lob_growcut_job *job = e->job;
    const int64_t voxel = lob_view_index(&job->view, r->x, r->y, r->z);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * job->view.stride[0];
        const path_key key = of->keys[r->cell + i];
        const bool tie =
            key != 0 && key != e->unreached &&
            label_of(e, key) != lob_label_at(job->out->labels, job->in->seeds->type, v);
        job->out->tie[v] = tie;
        result->ties += tie;
    }
}

static void write_results(const engine *e, lob_growcut_result *result)
{
    int64_t reached = 0, ties = 0;
    uint64_t largest = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->workers)                              \
    reduction(+ : reached, ties) reduction(max : largest)
    for (int64_t t = 0; t < e->count; t++) {
        lob_growcut_result part = {0};
        for (int64_t k = 0; k < e->side[2]; k++)
            for (int64_t j = 0; j < e->side[1]; j++) {
                const run r = run_of(e, t, j, k, false);
                if (e->reversed)
                    write_tie_run(e, &e->tile[t], &r, &part);
                else
                    write_run(e, &e->tile[t], &r, &part);
            }
        reached += part.reached;
        ties += part.ties;
        if (part.largest > largest) largest = part.largest;
    }
    result->reached = reached;
    result->ties = ties;
    result->largest = largest;
}
