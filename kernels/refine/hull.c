/* Andrew's monotone chain, for each side of the rows. */
#include "kernels/refine/hull.h"

#include <stdbool.h>

static const int64_t NONE = INT64_MAX;

static int64_t ceiling(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

/* The side at which columns begin; NONE in rows without any. at: rows where the side turns. */
static void bend(int64_t *x, int64_t *at, int64_t rows)
{
    int64_t n = 0;
    for (int64_t r = 0; r < rows; r++) {
        if (x[r] == NONE) continue;
        while (n >= 2 && (x[at[n - 1]] - x[at[n - 2]]) * (r - at[n - 1]) >=
                             (x[r] - x[at[n - 1]]) * (at[n - 1] - at[n - 2]))
            n--;
        at[n++] = r;
    }
    for (int64_t k = 0; k + 1 < n; k++) {
        const int64_t a = at[k], b = at[k + 1];
        for (int64_t r = a + 1; r < b; r++) x[r] = x[a] + ceiling((x[b] - x[a]) * (r - a), b - a);
    }
}

void lob_hull(int64_t *first, int64_t *last, int64_t *work, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++) {
        const bool marked = first[r] <= last[r];
        first[r] = marked ? first[r] : NONE;
        last[r] = marked ? -last[r] : NONE; /* seen in a mirror */
    }
    bend(first, work, rows);
    bend(last, work, rows);
    for (int64_t r = 0; r < rows; r++) {
        const bool marked = first[r] != NONE;
        first[r] = marked ? first[r] : 0;
        last[r] = marked ? -last[r] : -1;
    }
}
