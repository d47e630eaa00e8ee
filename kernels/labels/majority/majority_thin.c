/* Thin parts on the CPU: lost voxels are few, so each looks around itself, the nearest first. */
#include "kernels/labels/majority/majority_voxel.h"
#include "volumes/labels.h"

enum { BRICK = 16 };

enum { NO_LABEL, STAYED, LOST }; /* what became of a voxel's label */

typedef struct {
    void *out;
    const void *in;
    lob_type type;
    lob_dims dims;
    const int32_t *reach;
    uint8_t *fate;     /* nx*ny*nz */
    uint8_t *thin;     /* nx*ny*nz: 1 where a lost voxel is thin */
    uint8_t *has_thin; /* of each brick of BRICK^3 voxels */
    int64_t bricks[3];
} thin_parts;

/* Is there a voxel of this label within the reach that is marked so, in an array of marks? */
static bool is_near(const thin_parts *t, const int64_t at[3], int32_t label, const uint8_t *marks,
                    uint8_t mark)
{
    const int64_t nx = t->dims.nx, ny = t->dims.ny, nz = t->dims.nz;
    const int64_t low = at[0] > t->reach[0] ? at[0] - t->reach[0] : 0;
    const int64_t high = at[0] + t->reach[0] < nx ? at[0] + t->reach[0] : nx - 1;
    for (int32_t k = 0; k <= 2 * t->reach[2]; k++) {
        const int64_t z = at[2] + lob_majority_offset(k);
        if (z < 0 || z >= nz) continue;
        for (int32_t j = 0; j <= 2 * t->reach[1]; j++) {
            const int64_t y = at[1] + lob_majority_offset(j), row = (z * ny + y) * nx;
            if (y < 0 || y >= ny) continue;
            for (int64_t i = row + low; i <= row + high; i++)
                if (marks[i] == mark && lob_label_at(t->in, t->type, i) == label) return true;
        }
    }
    return false;
}

/* Does a brick that the reach touches hold a thin voxel? */
static bool thin_brick_near(const thin_parts *t, const int64_t at[3])
{
    int64_t low[3], high[3];
    for (int a = 0; a < 3; a++) {
        low[a] = (at[a] > t->reach[a] ? at[a] - t->reach[a] : 0) / BRICK;
        high[a] = (at[a] + t->reach[a]) / BRICK;
        if (high[a] >= t->bricks[a]) high[a] = t->bricks[a] - 1;
    }
    for (int64_t z = low[2]; z <= high[2]; z++)
        for (int64_t y = low[1]; y <= high[1]; y++)
            for (int64_t x = low[0]; x <= high[0]; x++)
                if (t->has_thin[(z * t->bricks[1] + y) * t->bricks[0] + x]) return true;
    return false;
}

/* A row of fates before any is thin. Returns whether a label was lost. */
static bool compare_row(thin_parts *t, int64_t row)
{
    bool lost = false;
    for (int64_t i = row * t->dims.nx; i < (row + 1) * t->dims.nx; i++) {
        const int32_t label = lob_label_at(t->in, t->type, i);
        const bool same = label == lob_label_at(t->out, t->type, i);
        t->fate[i] = label == 0 ? NO_LABEL : same ? STAYED : LOST;
        lost |= t->fate[i] == LOST;
    }
    return lost;
}

/* Mark the thin voxels of a row. Returns whether there are any. */
static bool mark_row(thin_parts *t, int64_t row)
{
    int64_t at[3] = {0, row % t->dims.ny, row / t->dims.ny};
    const int64_t brick = (at[2] / BRICK * t->bricks[1] + at[1] / BRICK) * t->bricks[0];
    bool any = false;
    for (; at[0] < t->dims.nx; at[0]++) {
        const int64_t i = row * t->dims.nx + at[0];
        if (t->fate[i] != LOST) continue;
        if (is_near(t, at, lob_label_at(t->in, t->type, i), t->fate, STAYED)) continue;
        t->thin[i] = 1;
#pragma omp atomic write
        t->has_thin[brick + at[0] / BRICK] = 1;
        any = true;
    }
    return any;
}

static void give_back_row(thin_parts *t, int64_t row)
{
    int64_t at[3] = {0, row % t->dims.ny, row / t->dims.ny};
    for (; at[0] < t->dims.nx; at[0]++) {
        const int64_t i = row * t->dims.nx + at[0];
        if (t->fate[i] != LOST) continue;
        const int32_t label = lob_label_at(t->in, t->type, i);
        if (t->thin[i] || (thin_brick_near(t, at) && is_near(t, at, label, t->thin, 1)))
            lob_label_put(t->out, t->type, i, label);
    }
}

lob_status lob_majority_keep_thin(void *out, const void *in, lob_type type, lob_dims dims,
                                  const int32_t reach[3], int threads, lob_budget *budget,
                                  lob_error *error)
{
    thin_parts t = {.out = out, .in = in, .type = type, .dims = dims, .reach = reach};
    int64_t bricks = 1;
    for (int a = 0; a < 3; a++) bricks *= t.bricks[a] = (lob_side(dims, a) + BRICK - 1) / BRICK;
    const int64_t voxels = lob_dims_voxels(dims), rows = dims.ny * dims.nz;
    lob_status st = lob_budget_alloc(budget, &t.fate, voxels, 1, error);
    if (st == LOB_OK) st = lob_budget_calloc(budget, &t.thin, voxels, 1, error);
    if (st == LOB_OK) st = lob_budget_calloc(budget, &t.has_thin, bricks, 1, error);
    int lost = 0, any = 0;
    if (st == LOB_OK) {
#pragma omp parallel num_threads(threads)
        {
#pragma omp for schedule(dynamic, 64) reduction(| : lost)
            for (int64_t row = 0; row < rows; row++) lost |= compare_row(&t, row);
            if (lost) {
#pragma omp for schedule(dynamic, 64) reduction(| : any)
                for (int64_t row = 0; row < rows; row++) any |= mark_row(&t, row);
            }
            if (any) {
#pragma omp for schedule(dynamic, 64)
                for (int64_t row = 0; row < rows; row++) give_back_row(&t, row);
            }
        }
    }
    lob_budget_free(budget, t.has_thin, bricks, 1);
    lob_budget_free(budget, t.thin, voxels, 1);
    lob_budget_free(budget, t.fate, voxels, 1);
    return st;
}
