/* What ranks tell each other to number and join fragments that cross the seams of their slabs. */
#include "kernels/supervoxels/connect/fragments.h"
#include "volumes/free.h"

#include <stdlib.h>
#include <string.h>

static int64_t plane_of(const lob_fragments *f)
{
    return (int64_t)f->rule->side[0] * f->rule->side[1];
}

lob_status lob_fragments_share(const lob_fragments *f, void **all, int64_t *bytes, const void *mine,
                               int64_t own, lob_error *error)
{
    const int size = lob_team_size(f->team), me = lob_team_rank(f->team);
    int64_t *const lengths = malloc((size_t)size * sizeof *lengths);
    lob_letter *const letters = malloc((size_t)size * sizeof *letters);
    lob_status st = lengths && letters ? LOB_OK : LOB_ENOMEM;
    *all = NULL;
    *bytes = 0;
    if (st == LOB_OK) st = lob_team_share(f->team, lengths, &own, sizeof own, error);
    for (int r = 0; st == LOB_OK && r < size; r++) *bytes += lengths[r];
    if (st == LOB_OK) st = lob_budget_alloc(f->budget, all, *bytes, 1, error);
    if (st != LOB_OK) *bytes = 0;
    int count = 0;
    char *at = *all;
    for (int r = 0; st == LOB_OK && r < size; at += lengths[r++]) {
        if (r == me)
            memcpy(at, mine, (size_t)own);
        else
            letters[count++] = (lob_letter){r, mine, own, at, lengths[r], NULL};
    }
    if (st == LOB_OK) st = lob_team_send(f->team, letters, count, error);
    LOB_FREE(lengths, letters);
    return st;
}

lob_status lob_fragments_beside(const lob_fragments *f, int32_t *before, int32_t *behind,
                                lob_error *error)
{
    const int64_t plane = plane_of(f), bytes = plane * (int64_t)sizeof *before;
    const int32_t *const last = f->labels + (f->planes - 1) * plane;
    return lob_team_beside(f->team, (lob_letter){0, f->labels, bytes, before, bytes, NULL},
                           (lob_letter){0, last, bytes, behind, bytes, NULL}, error);
}

/* ---- numbers ---- */

/* Fragments of all slabs, and of those before this rank's. */
static lob_status count_slabs(const lob_fragments *f, int64_t *total, int64_t *before,
                              lob_error *error)
{
    const int size = lob_team_size(f->team);
    int64_t *const counts = malloc((size_t)size * sizeof *counts);
    lob_status st = counts ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) st = lob_team_share(f->team, counts, &f->count, sizeof f->count, error);
    *total = *before = 0;
    for (int r = 0; st == LOB_OK && r < size; r++) {
        if (r == lob_team_rank(f->team)) *before = *total;
        *total += counts[r];
    }
    free(counts);
    return st == LOB_OK && *total > LOB_FRAGMENTS_MAX ? lob_fragments_too_many(error) : st;
}

/* Where the last plane of the rank before has the same cluster as this rank's first one: both
 * fragments, numbered through all slabs. Returns how many numbers there are. */
static lob_status find_pairs(const lob_fragments *f, int32_t *seam, int64_t before, int64_t *count,
                             lob_error *error)
{
    const int64_t plane = plane_of(f), bytes = 2 * plane * (int64_t)sizeof *seam;
    const int me = lob_team_rank(f->team);
    const int32_t *const labels = f->labels, *const last = labels + (f->planes - 1) * plane;
    const int32_t *const first = seam, *const there = seam + 3 * plane;
    int32_t *const mine = seam + plane; /* clusters of the last plane, and their fragments */
    *count = 0;
    if (f->rule->slice_axis == 2) return LOB_OK;
    for (int64_t i = 0; i < plane; i++) mine[plane + i] = (int32_t)(before + last[i]);
    LOB_TRY(lob_team_beside(f->team,
                            (lob_letter){.receive = seam + 3 * plane, .receive_bytes = bytes},
                            (lob_letter){.send = mine, .send_bytes = bytes}, error));
    for (int64_t i = 0, latest = -1; me > 0 && i < plane; i++) {
        if (first[i] == 0 || first[i] != there[i]) continue;
        const int32_t pair[2] = {there[plane + i], (int32_t)(before + labels[i])};
        if (latest >= 0 && memcmp(&mine[latest], pair, sizeof pair) == 0) continue;
        latest = *count;
        memcpy(&mine[latest], pair, sizeof pair);
        *count += 2;
    }
    return LOB_OK;
}

static int32_t root_of(int32_t *parent, int32_t fragment)
{
    for (; parent[fragment] != fragment; fragment = parent[fragment])
        parent[fragment] = parent[parent[fragment]];
    return fragment;
}

/* Numbers of the fragments of all slabs, where those of each pair are one. Its first part has the
 * lowest number, so numbers follow the raster order. Returns how many there are. */
static int64_t number_pairs(int32_t *number, int64_t total, const int32_t *pairs, int64_t count)
{
    int64_t numbers = 0;
    for (int64_t p = 0; p <= total; p++) number[p] = (int32_t)p;
    for (int64_t i = 0; i < count; i += 2) {
        const int32_t a = root_of(number, pairs[i]), b = root_of(number, pairs[i + 1]);
        number[a > b ? a : b] = a < b ? a : b;
    }
    for (int64_t p = 1; p <= total; p++) /* a parent comes before, and has its number by now */
        number[p] = number[p] == p ? (int32_t)++numbers : number[number[p]];
    return numbers;
}

lob_status lob_fragments_number_seams(lob_fragments *f, int32_t *seam, lob_error *error)
{
    int64_t total, before, count, bytes = 0;
    int32_t *number = NULL;
    void *pairs = NULL;
    const int64_t plane = plane_of(f), each = sizeof *number;
    LOB_TRY(count_slabs(f, &total, &before, error));
    LOB_TRY(find_pairs(f, seam, before, &count, error));
    lob_status st = lob_fragments_share(f, &pairs, &bytes, seam + plane, count * each, error);
    if (st == LOB_OK) st = lob_budget_alloc(f->budget, &number, total + 1, sizeof *number, error);
    if (st == LOB_OK) {
        f->count = number_pairs(number, total, pairs, bytes / each);
#pragma omp parallel for schedule(static) num_threads(f->threads)
        for (int64_t v = 0; v < f->planes * plane; v++)
            if (f->labels[v]) f->labels[v] = number[before + f->labels[v]];
    }
    lob_budget_free(f->budget, number, total + 1, sizeof *number);
    lob_budget_free(f->budget, pairs, bytes, 1);
    return st;
}
