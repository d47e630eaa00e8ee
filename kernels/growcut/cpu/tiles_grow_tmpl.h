/* Growing: visits of tiles in rounds, until nothing waits. Part of growcut_tiles_tmpl.h. */

/* Put a lowered cell where it waits: a bucket of this window, or the tile's list of later ones. */
static bool wait_for_turn(const engine *e, tile *of, worker *w, path_key base, uint32_t cell,
                          path_key key)
{
    const path_key bucket = (key - base) >> e->bucket_shift;
    if (bucket < BUCKETS) return push(&w->bucket[bucket], cell, key);
    if (key < of->held_least) of->held_least = key;
    return push(&of->held, cell, key);
}

/* Take in what neighbours posted, and line up what this window may grow. */
static bool begin_visit(const engine *e, tile *of, worker *w, path_key base)
{
    omp_set_lock(&of->lock);
    list posted = of->inbox;
    of->inbox = (list){0};
    of->inbox_least = KEY_TOP;
    omp_unset_lock(&of->lock);

    /* Held cells first: their list is rewritten in place, and may only grow afterwards. */
    bool ok = true;
    size_t kept = 0;
    of->held_least = KEY_TOP;
    for (size_t i = 0; i < of->held.n; i++) {
        const waiting held = of->held.items[i];
        const path_key now = of->keys[held.cell];
        if (now != held.key && now != 0) continue; /* lowered since, and lined up then */
        const path_key bucket = (held.key - base) >> e->bucket_shift;
        if (bucket < BUCKETS) {
            ok = ok && push(&w->bucket[bucket], held.cell, held.key);
        } else {
            if (held.key < of->held_least) of->held_least = held.key;
            of->held.items[kept++] = held;
        }
    }
    of->held.n = kept;
    for (size_t i = 0; i < posted.n; i++) {
        const waiting post = posted.items[i];
        path_key *key = &of->keys[post.cell];
        if (post.key >= *key) continue;
        w->reached += *key == e->unreached;
        *key = post.key;
        ok = ok && wait_for_turn(e, of, w, base, post.cell, post.key);
    }
    drop(&posted);
    return ok;
}

static bool lower(const engine *e, tile *of, worker *w, path_key base, int64_t cell, path_key key)
{
    path_key *old = &of->keys[cell];
    const bool is_new = *old == e->unreached;
    *old = key;
    if (e->is_halo[cell]) return push(&w->halo, (uint32_t)cell, key);
    w->reached += is_new;
    return wait_for_turn(e, of, w, base, (uint32_t)cell, key);
}

static inline four_levels apart(four_levels near, uint16_t own)
{
    const four_levels above = (four_levels)(near > own);
    return ((near - own) & above) | ((own - near) & ~above);
}

/*
 * Which neighbours might take a path through a cell: bit k for neighbour k. A step costs at least
 * the largest channel's difference times the unit, under either rule and every norm, which needs no
 * table; a sum that wraps only lets one through that the exact offer turns away.
 */
static inline uint32_t candidates(const engine *e, const path_key *keys, const uint16_t *levels,
                                  int channels, path_key key)
{
    four_keys hit = {0};
    for (int r = 0; r < e->rows; r++) {
        const neighbour_row *row = &e->row[r];
        four_keys theirs;
        four_levels near;
        memcpy(&theirs, keys + row->step, sizeof theirs);
        memcpy(&near, levels + row->step, sizeof near);
        four_levels differ = apart(near, levels[0]);
        for (int c = 1; c < channels; c++) {
            memcpy(&near, levels + c * e->cells + row->step, sizeof near);
            near = apart(near, levels[c * e->cells]);
            const four_levels more = (four_levels)(near > differ);
            differ = (near & more) | (differ & ~more);
        }
        const four_keys apart_by = __builtin_convertvector(differ & e->level_mask, four_keys);
        const four_keys offer = (apart_by << e->level_shift) + row->extra + key;
        hit |= (four_keys)(offer < theirs) & row->bit;
    }
    return (uint32_t)(hit[0] | hit[1] | hit[2]);
}

/* Offer a path through one cell to all its neighbours. */
static bool grow_cell(const engine *e, tile *of, worker *w, path_key base, waiting from)
{
    const path_key *keys = of->keys + from.cell;
    const uint16_t *levels = of->levels + from.cell;
    const int channels = e->job->data.image->channels;
    bool ok = true;
    for (uint32_t left = candidates(e, keys, levels, channels, from.key); left; left &= left - 1) {
        const int k = __builtin_ctz(left);
        const int64_t step = e->step[k];
        const uint32_t d = lob_growcut_distance(levels, levels + step, channels, e->cells, e->norm,
                                                e->job->rule.fraction);
        const uint64_t offer = (uint64_t)from.key + e->weight[d] + e->extra[k];
        if (offer < keys[step]) ok &= lower(e, of, w, base, from.cell + step, (path_key)offer);
    }
    return ok;
}

static bool grow_buckets(const engine *e, tile *of, worker *w, path_key base)
{
    bool ok = true;
    for (int b = 0; b < BUCKETS; b++) {
        list *bucket = &w->bucket[b];
        for (size_t i = 0; i < bucket->n; i++) { /* it grows while it is emptied */
            const waiting from = bucket->items[i];
            const path_key now = of->keys[from.cell];
            if (now == from.key || now == 0) ok &= grow_cell(e, of, w, base, from);
        }
        bucket->n = 0;
    }
    return ok;
}

/* Which neighbour owns a halo cell (-1, 0, 1 an axis), and which of its cells that is. */
static int owner_of(const engine *e, int64_t cell, int64_t *theirs)
{
    int side = 0;
    for (int a = 2; a >= 0; a--) {
        const int64_t at = cell / e->pitch[a] - e->pad[a];
        const int toward = at < 0 ? -1 : at >= e->side[a];
        cell %= e->pitch[a];
        *theirs -= toward * e->side[a] * e->pitch[a];
        side = side * 3 + toward + 1;
    }
    return side;
}

static tile *neighbour_of(const engine *e, int64_t t, int side)
{
    return &e->tile[t + (side % 3 - 1) + (side / 3 % 3 - 1) * e->tiles[0] +
                    (side / 9 - 1) * e->tiles[0] * e->tiles[1]];
}

/* Post every lowered halo cell to its owner, each once at its lowest. */
static bool end_visit(engine *e, int64_t t, worker *w)
{
    const tile *of = &e->tile[t];
    bool ok = true;
    for (size_t i = 0; i < w->halo.n; i++) {
        const waiting out = w->halo.items[i];
        if (of->keys[out.cell] != out.key) continue;
        int64_t theirs = out.cell;
        const int side = owner_of(e, out.cell, &theirs);
        ok &= push(&w->mail[side], (uint32_t)theirs, out.key);
    }
    w->halo.n = 0;
    for (int s = 0; s < SIDES; s++) {
        list *mail = &w->mail[s];
        if (mail->n == 0) continue;
        tile *to = neighbour_of(e, t, s);
        omp_set_lock(&to->lock);
        for (size_t i = 0; i < mail->n; i++) {
            ok &= push(&to->inbox, mail->items[i].cell, mail->items[i].key);
            if (mail->items[i].key < to->inbox_least) to->inbox_least = mail->items[i].key;
        }
        omp_unset_lock(&to->lock);
        mail->n = 0;
    }
    return ok;
}

static void visit(engine *e, int64_t t, worker *w, path_key base)
{
    tile *of = &e->tile[t];
    const bool ok = begin_visit(e, of, w, base) && grow_buckets(e, of, w, base);
    if (!end_visit(e, t, w) || !ok) w->failed = true;
    if (of->held.n == 0) drop(&of->held);
}

static path_key least_of(const tile *t)
{
    return t->held_least < t->inbox_least ? t->held_least : t->inbox_least;
}

/* Tell how far growing has come; true to go on. */
static bool go_on(const engine *e, int64_t reached)
{
    const lob_growcut_job *job = e->job;
    if (job->cancelled && atomic_load_explicit(job->cancelled, memory_order_relaxed)) return false;
    if (!job->context || !job->context->progress) return true;
    const double share =
        job->levels.data_voxels ? (double)reached / (double)job->levels.data_voxels : 1;
    const double done = job->done_before + (job->done_after - job->done_before) * share;
    return job->context->progress(job->context->user, fmin(done, job->done_after)) == 0;
}

static lob_status grow(engine *e, lob_error *error)
{
    int64_t *active = malloc((size_t)e->count * sizeof *active);
    if (!active) return LOB_ENOMEM;
    lob_status st = LOB_OK;
    while (st == LOB_OK) {
        path_key least = KEY_TOP;
        for (int64_t t = 0; t < e->count; t++)
            if (least_of(&e->tile[t]) < least) least = least_of(&e->tile[t]);
        if (least == KEY_TOP) break;
        const path_key base = least >> e->bucket_shift << e->bucket_shift;
        int64_t n = 0;
        for (int64_t t = 0; t < e->count; t++)
            if (least_of(&e->tile[t]) - base < e->window) active[n++] = t;
        const int workers = n < e->workers ? (int)n : e->workers;
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers) if (workers > 1)
        for (int64_t i = 0; i < n; i++) visit(e, active[i], &e->worker[omp_get_thread_num()], base);

        st = note_bytes(e, error);
        int64_t reached = 0;
        for (int w = 0; w < e->workers; w++) {
            reached += e->worker[w].reached;
            if (e->worker[w].failed) st = LOB_ENOMEM;
        }
        if (st == LOB_OK && !go_on(e, reached)) st = LOB_ECANCEL;
    }
    free(active);
    return st;
}
