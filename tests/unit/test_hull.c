/* Convex hulls of voxels in a plane, against all lines that leave every voxel on one side. */
#include "kernels/refine/hull.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"

enum { SIDE = 9, VOXELS = SIDE * SIDE };

/* Is p to the right of the way from a to b (above 0), on it, or to the left? */
static int turn(int a, int b, int p)
{
    return (b % SIDE - a % SIDE) * (p / SIDE - a / SIDE) -
           (b / SIDE - a / SIDE) * (p % SIDE - a % SIDE);
}

/* A row of marked voxels is a hull without lines that part it from the others on its line. */
static bool is_between(const bool *marked, int p)
{
    int least[2] = {SIDE, SIDE}, most[2] = {-1, -1};
    for (int i = 0; i < VOXELS; i++)
        for (int a = 0; marked[i] && a < 2; a++) {
            const int at = a ? i / SIDE : i % SIDE;
            least[a] = at < least[a] ? at : least[a];
            most[a] = at > most[a] ? at : most[a];
        }
    return least[0] <= p % SIDE && p % SIDE <= most[0] && least[1] <= p / SIDE &&
           p / SIDE <= most[1];
}

static bool is_inside(const bool *marked, int p)
{
    for (int a = 0; a < VOXELS; a++)
        for (int b = 0; b < VOXELS; b++) {
            if (a == b || !marked[a] || !marked[b] || turn(a, b, p) >= 0) continue;
            bool outer = true;
            for (int i = 0; outer && i < VOXELS; i++) outer = !marked[i] || turn(a, b, i) >= 0;
            if (outer) return false;
        }
    return is_between(marked, p);
}

TEST(hulls_are_those_of_all_lines)
{
    for (uint64_t number = 0; number < CASES(400); number++) {
        bool marked[VOXELS] = {false};
        int64_t first[SIDE], last[SIDE], work[SIDE];
        uint64_t state = number + 1;
        const int64_t voxels = random_below(&state, number % 2 ? 5 : 20);
        for (int64_t i = 0; i < voxels; i++) marked[random_below(&state, VOXELS)] = true;
        for (int r = 0; r < SIDE; r++) {
            first[r] = SIDE;
            last[r] = -1;
            for (int c = 0; c < SIDE; c++) {
                if (!marked[r * SIDE + c]) continue;
                first[r] = c < first[r] ? c : first[r];
                last[r] = c;
            }
        }
        lob_hull(first, last, work, SIDE);
        for (int p = 0; p < VOXELS; p++)
            if (is_inside(marked, p) != (first[p / SIDE] <= p % SIDE && p % SIDE <= last[p / SIDE]))
                fail_msg("case %d: row %d, column %d", (int)number, p / SIDE, p % SIDE);
    }
}
