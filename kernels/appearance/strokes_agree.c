/* Strokes that look like another label than theirs. */
#include "kernels/appearance/strokes.h"
#include "kernels/appearance/strokes_piece.h"
#include "kernels/budget.h"
#include "volumes/labels.h"

#include <string.h>

/* A voxel looks like another label where that one's share is so many times its own's. */
enum { MUCH = 8 };

/* Shares of all labels where strokes are. */
typedef struct {
    const uint8_t *shares;
    int64_t count; /* of these voxels */
    int32_t labels, background;
} look;

static int share_of(const look *k, int64_t at, int32_t label)
{
    int rest = 255;
    if (label != k->background)
        return k->shares[(label - 1 - (label > k->background)) * k->count + at];
    for (int32_t i = 0; i < k->labels - 1; i++) rest -= k->shares[i * k->count + at];
    return rest > 0 ? rest : 0; /* each is rounded */
}

static bool agrees(const look *k, int64_t at, int32_t label)
{
    const int own = share_of(k, at, label);
    for (int32_t l = 1; l <= k->labels; l++)
        if (share_of(k, at, l) > MUCH * own) return false;
    return true;
}

int64_t lob_strokes_piece(int64_t *piece, uint8_t *seen, const uint8_t *seeds, lob_dims dims,
                          int axis, int64_t from)
{
    const lob_dims d = dims;
    int64_t n = 0;
    piece[n++] = from;
    seen[from] = 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = piece[i], x = at % d.nx, y = at / d.nx % d.ny, z = at / (d.nx * d.ny);
        for (int c = 0; c < 27; c++) {
            const int64_t step[3] = {c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1};
            const int64_t u = x + step[0], v = y + step[1], w = z + step[2];
            if (axis >= 0 && step[axis] != 0) continue;
            if (u < 0 || v < 0 || w < 0 || u >= d.nx || v >= d.ny || w >= d.nz) continue;
            const int64_t to = (w * d.ny + v) * d.nx + u;
            if (seen[to] != 0 || seeds[to] != seeds[from]) continue;
            seen[to] = 1;
            piece[n++] = to;
        }
    }
    return n;
}

/* Of a piece of which no more than half agrees all stays. */
static void keep_piece(uint8_t *out, const uint8_t *seeds, const int64_t *piece, int64_t n)
{
    int64_t good = 0;
    for (int64_t i = 0; i < n; i++) good += out[piece[i]] > 0;
    for (int64_t i = 0; 2 * good <= n && i < n; i++) out[piece[i]] = seeds[piece[i]];
}

lob_status lob_strokes_agree(uint8_t *out, const uint8_t *seeds, const uint8_t *shares,
                             lob_dims dims, int32_t labels, int32_t background,
                             const lob_context *context, lob_error *error)
{
    const int64_t n = lob_dims_voxels(dims);
    lob_budget budget = {.who = "strokes", .limit = context->max_memory};
    int64_t drawn = 0, i = -1, *piece = NULL;
    uint8_t *seen;
    if (n < 0) return LOB_ENOMEM;
    while ((i = lob_next_label(seeds, LOB_U8, i + 1, n)) < n) drawn++;
    const look k = {shares, drawn, labels, background};
    lob_status st = lob_budget_calloc(&budget, &seen, n, 1, error);
    if (st == LOB_OK) st = lob_budget_alloc(&budget, &piece, drawn + 1, sizeof *piece, error);
    if (st == LOB_OK) {
        memcpy(out, seeds, (size_t)n);
        i = -1;
        for (int64_t at = 0; (i = lob_next_label(seeds, LOB_U8, i + 1, n)) < n; at++)
            if (!agrees(&k, at, seeds[i])) out[i] = 0;
        for (i = -1; (i = lob_next_label(seeds, LOB_U8, i + 1, n)) < n;)
            if (!seen[i])
                keep_piece(out, seeds, piece, lob_strokes_piece(piece, seen, seeds, dims, -1, i));
    }
    lob_budget_free(&budget, piece, drawn + 1, sizeof *piece);
    lob_budget_free(&budget, seen, n, 1);
    return st;
}
