/* Strokes that look like another label than theirs. */
#include "kernels/appearance/strokes.h"
#include "kernels/appearance/strokes_piece.h"
#include "kernels/budget.h"

#include <string.h>

/* A voxel looks like another label where that one's share is so many times its own's. */
enum { MUCH = 8 };

/* Shares of all labels at voxels, and which voxels have been looked at. */
typedef struct {
    const uint8_t *seeds, *shares;
    lob_dims dims;
    int64_t voxels;
    int32_t labels, background;
    uint8_t *seen;  /* 0: not yet, */
    int64_t *piece; /* voxels of the piece in hand */
} look;

enum { UNSEEN, OTHER, GOOD }; /* as lob_strokes_piece leaves them, but for GOOD */

static int share_of(const look *k, int64_t voxel, int32_t label)
{
    int rest = 255;
    if (label != k->background)
        return k->shares[(label - 1 - (label > k->background)) * k->voxels + voxel];
    for (int32_t i = 0; i < k->labels - 1; i++) rest -= k->shares[i * k->voxels + voxel];
    return rest > 0 ? rest : 0; /* each is rounded */
}

static bool agrees(const look *k, int64_t voxel)
{
    const int own = share_of(k, voxel, k->seeds[voxel]);
    for (int32_t l = 1; l <= k->labels; l++)
        if (share_of(k, voxel, l) > MUCH * own) return false;
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

/* Of a piece of which most agrees the rest is left out. */
static void look_at_piece(uint8_t *out, const look *k, int64_t n)
{
    int64_t good = 0;
    for (int64_t i = 0; i < n; i++)
        if (agrees(k, k->piece[i])) {
            k->seen[k->piece[i]] = GOOD;
            good++;
        }
    for (int64_t i = 0; 2 * good > n && i < n; i++)
        if (k->seen[k->piece[i]] == OTHER) out[k->piece[i]] = 0;
}

lob_status lob_strokes_agree(uint8_t *out, const uint8_t *seeds, const uint8_t *shares,
                             lob_dims dims, int32_t labels, int32_t background,
                             const lob_context *context, lob_error *error)
{
    const int64_t n = lob_dims_voxels(dims);
    lob_budget budget = {.who = "strokes", .limit = context->max_memory};
    int64_t drawn = 0;
    if (n < 0) return LOB_ENOMEM;
    for (int64_t i = 0; i < n; i++) drawn += seeds[i] > 0;
    look k = {.seeds = seeds,
              .shares = shares,
              .dims = dims,
              .voxels = n,
              .labels = labels,
              .background = background};
    lob_status st = lob_budget_calloc(&budget, &k.seen, n, 1, error);
    if (st == LOB_OK) st = lob_budget_alloc(&budget, &k.piece, drawn + 1, sizeof *k.piece, error);
    if (st == LOB_OK) memcpy(out, seeds, (size_t)n);
    for (int64_t i = 0; st == LOB_OK && i < n; i++)
        if (seeds[i] > 0 && k.seen[i] == UNSEEN)
            look_at_piece(out, &k, lob_strokes_piece(k.piece, k.seen, seeds, dims, -1, i));
    lob_budget_free(&budget, k.piece, drawn + 1, sizeof *k.piece);
    lob_budget_free(&budget, k.seen, n, 1);
    return st;
}
