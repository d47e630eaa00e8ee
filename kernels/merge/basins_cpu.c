/* Joining basins: bottoms and saddles of all threads' rows, then a union-find over the saddles. */
#include "kernels/merge/basins_parts.h"
#include "kernels/merge/basins_slabs.h"

#include "kernels/arrays.h"
#include "kernels/budget.h"
#include "kernels/regions/faces.h"
#include "kernels/share.h"
#include "kernels/team/team_planes.h"
#include "volumes/free.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 }; /* threads */

typedef struct {
    const lob_label_grid *grid;
    const lob_volume *image;
    const lob_contact *contacts; /* sorted by a, then by b */
    int64_t count;
} job;

/* What a thread found: the bottom of each label, and the saddle of each contact; INFINITY: none.
 * NaN: a label that was not met; fmin takes the other number. */
typedef struct {
    double *bottom, *saddle;
} heights;

/* Where a pair of labels, a < b, stands among the contacts, which have it. */
static int64_t find_contact(const job *j, int32_t a, int32_t b)
{
    int64_t low = 0, high = j->count - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        const lob_contact *at = &j->contacts[middle];
        if (at->a < a || (at->a == a && at->b < b))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Look at the faces between a row's voxels and those `stride` further, whose values are `beyond`;
 * `pair` is where the latest pair stands, because the next is often the same. */
static void see_faces(const job *j, heights *h, int64_t first, int64_t stride, int64_t n,
                      const double *row, const double *beyond, int64_t *pair)
{
    for (int64_t x = 0; x < n; x++) {
        const int64_t none = lob_faces_none(j->grid->labels, j->grid->type, first, x, n, stride);
        if (none > 0) {
            x += none - 1;
            continue;
        }
        const int32_t p = lob_label_at(j->grid->labels, j->grid->type, first + x);
        const int32_t q = lob_label_at(j->grid->labels, j->grid->type, first + x + stride);
        const double value = row[x] > beyond[x] ? row[x] : beyond[x];
        if (p == q || p == 0 || q == 0 || !isfinite(row[x]) || !isfinite(beyond[x])) continue;
        const int32_t a = p < q ? p : q, b = p < q ? q : p;
        if (j->contacts[*pair].a != a || j->contacts[*pair].b != b) *pair = find_contact(j, a, b);
        if (value < h->saddle[*pair]) h->saddle[*pair] = value;
    }
}

static void values_of_row(const job *j, double *values, int64_t row)
{
    const lob_volume *image = j->image;
    const int64_t nx = image->dims.nx;
    lob_values(values, image->data, image->type, row * nx, nx);
    for (int64_t x = 0; x < nx; x++) values[x] = image->slope * values[x] + image->inter;
}

/* Bottoms of a row's labels, and its faces along x and to the next rows along y and z. */
static void see_row(const job *j, heights *h, double *values, int64_t row, int64_t *pair)
{
    const lob_dims d = j->grid->dims;
    double *next = values + d.nx;
    const int64_t first = row * d.nx;
    values_of_row(j, values, row);
    for (int64_t x = 0; x < d.nx; x++) {
        const int32_t label = lob_label_at(j->grid->labels, j->grid->type, first + x);
        const double value = isfinite(values[x]) ? values[x] : INFINITY;
        if (!(h->bottom[label] <= value)) h->bottom[label] = value;
    }
    if (j->count == 0) return;
    see_faces(j, h, first, 1, d.nx - 1, values, values + 1, pair);
    if (row % d.ny + 1 < d.ny) {
        values_of_row(j, next, row + 1);
        see_faces(j, h, first, d.nx, d.nx, values, next, pair);
    }
    if (row + d.ny < d.ny * d.nz) {
        values_of_row(j, next, row + d.ny);
        see_faces(j, h, first, d.nx * d.ny, d.nx, values, next, pair);
    }
}

/* All rows; the results of the other threads go to those of thread 0. */
static void see_rows(const job *j, heights *h, double *values, int threads)
{
    const int64_t rows = j->grid->dims.ny * j->grid->dims.nz, labels = j->grid->count + 1;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        int64_t pair = 0;
        for (int64_t i = 0; i < labels; i++) h[t].bottom[i] = NAN;
        for (int64_t i = 0; i < j->count; i++) h[t].saddle[i] = INFINITY;
        for (int64_t row = rows * t / threads; row < rows * (t + 1) / threads; row++)
            see_row(j, &h[t], values + 2 * t * j->grid->dims.nx, row, &pair);
    }
    for (int t = 1; t < threads; t++) {
        for (int64_t i = 0; i < labels; i++) h[0].bottom[i] = fmin(h[0].bottom[i], h[t].bottom[i]);
        for (int64_t i = 0; i < j->count; i++)
            h[0].saddle[i] = fmin(h[0].saddle[i], h[t].saddle[i]);
    }
}

/* ---- joining ---- */

static int by_pair(const void *left, const void *right)
{
    const lob_saddle *p = left, *q = right;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static int by_saddle(const void *left, const void *right)
{
    const lob_saddle *p = left, *q = right;
    if (p->saddle != q->saddle) return p->saddle < q->saddle ? -1 : 1;
    return by_pair(p, q);
}

static int32_t root_of(int32_t *to, int32_t label)
{
    while (to[label] != label) label = to[label] = to[to[label]];
    return label;
}

static void join(int32_t *to, double *bottom, const lob_saddle *passes, int64_t n,
                 const lob_basins_options *o)
{
    for (int64_t i = 0; i < n && passes[i].saddle < INFINITY; i++) {
        const int32_t a = root_of(to, passes[i].a), b = root_of(to, passes[i].b);
        const double upper = fmax(bottom[a], bottom[b]);
        const double wanted = o->share > 0 ? o->share * (o->level - upper) : 0;
        if (a == b || !(passes[i].saddle - upper < fmax(o->height, wanted))) continue;
        const int32_t low = a < b ? a : b, high = a < b ? b : a;
        bottom[low] = fmin(bottom[a], bottom[b]);
        to[high] = low;
    }
}

void lob_basins_finish(int32_t *to, lob_basins_stats *stats, double *bottom, int64_t labels,
                       lob_saddle *saddles, int64_t count, const lob_basins_options *options)
{
    lob_basins_stats s = {.contacts = count};
    qsort(saddles, (size_t)count, sizeof *saddles, by_saddle);
    for (int64_t i = 0; i <= labels; i++) to[i] = (int32_t)i;
    for (int64_t i = 1; i <= labels; i++) s.basins += !isnan(bottom[i]);
    join(to, bottom, saddles, count, options);
    s.left = s.basins;
    for (int64_t i = 1; i <= labels; i++) {
        s.left -= to[i] != i;
        to[i] = root_of(to, (int32_t)i);
    }
    *stats = s;
}

lob_status lob_basins_check(const lob_label_grid *grid, const lob_volume *image,
                            const lob_basins_options *o, lob_error *error)
{
    if (!(o->height >= 0 && o->height < INFINITY))
        return lob_fail(error, LOB_EARG, "the height must be finite and at least 0");
    if (!(o->share >= 0 && o->share <= 1))
        return lob_fail(error, LOB_EARG, "the share must lie in 0..1");
    if (o->share > 0 && !isfinite(o->level))
        return lob_fail(error, LOB_EARG, "the level must be finite");
    if (image->channels != 1)
        return lob_fail(error, LOB_EARG, "the image has %d channels, and one is read",
                        image->channels);
    if (memcmp(&image->dims, &grid->dims, sizeof grid->dims) != 0)
        return lob_fail(error, LOB_EDATA, "image and labels have different sides");
    return LOB_OK;
}

/* Numbers of a thread: bottoms and saddles, and two rows of values. */
static int64_t numbers_of(const job *j)
{
    return j->grid->count + 1 + j->count + 2 * j->grid->dims.nx;
}

/* At most as many as have work, and fit what is left of the limit; beyond the first, all of their
 * numbers take at most a byte for each voxel. */
static int threads_for(const job *j, int asked, const lob_budget *budget)
{
    const int64_t bytes = numbers_of(j) * (int64_t)sizeof(double);
    const int64_t rows = j->grid->dims.ny * j->grid->dims.nz;
    const int64_t room = budget->limit > 0 ? (budget->limit - budget->held) / bytes : MOST;
    int64_t most = 1 + lob_dims_voxels(j->grid->dims) / bytes;
    if (most > room) most = room;
    if (most > rows) most = rows;
    if (most > MOST) most = MOST;
    if (most > asked) most = asked;
    return most < 1 ? 1 : (int)most;
}

/* Bottoms, saddles and rows of values of all threads in one block, which is returned. */
static lob_status take_heights(heights *h, double **values, const job *j, int threads,
                               lob_budget *budget, lob_error *error)
{
    const int64_t rows = 2 * j->grid->dims.nx, each = numbers_of(j) - rows;
    LOB_TRY(lob_budget_alloc(budget, values, threads * (each + rows), sizeof **values, error));
    for (int t = 0; t < threads; t++) {
        h[t].bottom = *values + threads * rows + t * each;
        h[t].saddle = h[t].bottom + j->grid->count + 1;
    }
    return LOB_OK;
}

/* The list of passes, and what qsort may take to sort it. */
static lob_status take_passes(lob_saddle **passes, const job *j, lob_budget *budget,
                              lob_error *error)
{
    const int64_t bytes = j->count * (int64_t)sizeof **passes;
    LOB_TRY(lob_budget_alloc(budget, passes, j->count + 1, sizeof **passes, error));
    return lob_budget_hold(budget, bytes, error);
}

/* ---- several ranks ---- */

/* Sort, and keep of each pair the lowest. Returns how many there are. */
static int64_t keep_lowest(lob_saddle *list, int64_t n)
{
    int64_t kept = 0;
    qsort(list, (size_t)n, sizeof *list, by_pair);
    for (int64_t i = 0; i < n; i++)
        if (kept == 0 || by_pair(&list[kept - 1], &list[i]) != 0)
            list[kept++] = list[i];
        else if (list[i].saddle < list[kept - 1].saddle)
            list[kept - 1].saddle = list[i].saddle;
    return kept;
}

/* What all ranks have found, in rank 0: bottoms of labels, each as a pair with 0, and saddles.
 * *saddles, malloc'ed, has the list then; it is the caller's to free, also on failure. */
static lob_status gather(lob_saddle **saddles, int64_t *count, double *bottom, int64_t labels,
                         lob_team *team, lob_budget *budget, lob_error *error)
{
    int64_t n = *count, met = 0;
    void *all = NULL;
    for (int64_t i = 1; i <= labels; i++) met += !isnan(bottom[i]);
    const int64_t own = (n + met) * (int64_t)sizeof **saddles;
    int64_t bytes = own;
    LOB_TRY(lob_team_reduce(team, &bytes, 1, LOB_TEAM_SUM, error));
    if (lob_team_rank(team) == 0) /* qsort may take a copy */
        LOB_TRY(lob_budget_hold(budget, 2 * bytes, error));
    LOB_TRY(lob_budget_hold(budget, met * (int64_t)sizeof **saddles, error));
    lob_saddle *const mine = realloc(*saddles, (size_t)own + 1);
    if (!mine) return lob_fail(error, LOB_ENOMEM, "no memory for basins");
    *saddles = mine;
    for (int64_t i = 1; i <= labels; i++)
        if (!isnan(bottom[i])) mine[n++] = (lob_saddle){bottom[i], 0, (int32_t)i};
    LOB_TRY(lob_team_collect(team, &all, &bytes, mine, own, error));
    if (!all) return LOB_OK;
    free(mine);
    *saddles = all;
    n = keep_lowest(*saddles, bytes / (int64_t)sizeof **saddles);
    int64_t bottoms = 0;
    for (; bottoms < n && (*saddles)[bottoms].a == 0; bottoms++)
        bottom[(*saddles)[bottoms].b] = (*saddles)[bottoms].saddle;
    *count = n - bottoms;
    memmove(*saddles, *saddles + bottoms, (size_t)*count * sizeof **saddles);
    return LOB_OK;
}

/* Join in rank 0, which tells all. */
static lob_status finish(int32_t *to, lob_basins_stats *stats, double *bottom, lob_saddle **saddles,
                         int64_t count, const job *j, const lob_basins_options *options,
                         lob_team *team, lob_budget *budget, lob_error *error)
{
    const int64_t labels = j->grid->count;
    if (lob_team_size(team) > 1)
        LOB_TRY(gather(saddles, &count, bottom, labels, team, budget, error));
    if (lob_team_rank(team) == 0)
        lob_basins_finish(to, stats, bottom, labels, *saddles, count, options);
    stats->working_bytes = budget->peak;
    LOB_TRY(lob_team_reduce(team, &stats->working_bytes, 1, LOB_TEAM_MAX, error));
    int64_t told[] = {stats->basins, stats->left, stats->contacts};
    LOB_TRY(lob_team_tell(told, sizeof told, team, error));
    stats->basins = told[0];
    stats->left = told[1];
    stats->contacts = told[2];
    return lob_team_tell(to, (labels + 1) * (int64_t)sizeof *to, team, error);
}

/* ---- a call ---- */

static lob_status work(int32_t *to, lob_basins_stats *stats, const lob_label_grid *grid,
                       const lob_volume *image, const lob_basins_options *options, lob_team *team,
                       const lob_context *context, lob_error *error)
{
    lob_budget budget = {.who = "basins", .limit = context->max_memory};
    lob_contact *contacts = NULL;
    double *values = NULL;
    lob_saddle *passes = NULL;
    heights h[MOST];
    job j = {.grid = grid, .image = image};
    lob_basins_stats s = {0};
    LOB_TRY(lob_basins_check(grid, image, options, error));
    LOB_TRY(lob_check_memory(image->place, NULL, NULL, error));
    lob_status st =
        lob_contacts(&contacts, &j.count, grid, &image->geometry, NULL, 0, -1, context, error);
    j.contacts = contacts;
    if (st == LOB_OK) st = lob_budget_hold(&budget, j.count * (int64_t)sizeof *contacts, error);
    if (st == LOB_OK) st = take_passes(&passes, &j, &budget, error);
    const int threads = threads_for(&j, context->threads, &budget);
    if (st == LOB_OK) st = take_heights(h, &values, &j, threads, &budget, error);
    if (st != LOB_OK) goto out;
    see_rows(&j, h, values, threads);
    for (int64_t i = 0; i < j.count; i++)
        passes[i] = (lob_saddle){h[0].saddle[i], contacts[i].a, contacts[i].b};
    st = finish(to, &s, h[0].bottom, &passes, j.count, &j, options, team, &budget, error);
    if (stats) *stats = s;
    if (st == LOB_OK) st = lob_report(context, 1.0);
out:
    LOB_FREE(passes, values, contacts);
    return st;
}

lob_status lob_basins_cpu(int32_t *to, lob_basins_stats *stats, const lob_label_grid *grid,
                          const lob_volume *image, const lob_basins_options *options,
                          const lob_context *context, lob_error *error)
{
    return work(to, stats, grid, image, options, NULL, context, error);
}

lob_status lob_basins_slabs(int32_t *to, lob_basins_stats *stats, const lob_label_grid *grid,
                            const lob_volume *image, const lob_basins_options *options,
                            lob_team *team, const lob_context *context, lob_error *error)
{
    lob_error_begin(error);
    const lob_status st =
        lob_error_end(error, work(to, stats, grid, image, options, team, context, error));
    return st == LOB_OK ? st : lob_team_agree(team, st, error);
}
