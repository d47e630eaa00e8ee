/* Weights of the majority; made once on the host, for both backends. */
#include "kernels/labels/majority/majority.h"

#include <math.h>
#include <string.h>

static void add_up(lob_majority *m)
{
    for (int a = 0; a < 3; a++)
        for (int k = 0; k <= 2 * m->radius[a]; k++)
            m->before[a][k + 1] = m->before[a][k] + m->weight[a][k];
}

void lob_majority_gaussian(lob_majority *m, const double sigma[3])
{
    memset(m, 0, sizeof *m);
    m->keeps_thin = true;
    for (int a = 0; a < 3; a++) {
        const int32_t r = (int32_t)(3.0 * sigma[a] + 0.5);
        double total = 1.0, sum = 0.0;
        m->radius[a] = r;
        m->reach[a] = (int32_t)(2.0 * sigma[a] + 0.5);
        for (int k = 1; k <= r; k++) total += 2.0 * exp(-0.5 * k * k / (sigma[a] * sigma[a]));
        uint32_t so_far = 0;
        for (int k = 1; k <= r; k++) {
            sum += exp(-0.5 * k * k / (sigma[a] * sigma[a]));
            const uint32_t next = (uint32_t)(LOB_MAJORITY_UNIT * sum / total + 0.5);
            m->weight[a][r - k] = m->weight[a][r + k] = next - so_far;
            so_far = next;
        }
        m->weight[a][r] = LOB_MAJORITY_UNIT - 2 * so_far;
    }
    add_up(m);
}

void lob_majority_box(lob_majority *m, const int32_t radius[3])
{
    memset(m, 0, sizeof *m);
    m->prefers_own = true;
    for (int a = 0; a < 3; a++) {
        m->radius[a] = radius[a];
        for (int k = 0; k <= 2 * radius[a]; k++) m->weight[a][k] = 1;
    }
    add_up(m);
}
