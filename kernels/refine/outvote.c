/* Counting where three growths agree, and letting two of them outvote the third. */
#include "kernels/refine/outvote.h"

#include <stdbool.h>
#include <string.h>

enum { LABELS = UINT8_MAX + 1 };

/* The Dice from which on two growths agree. */
static const double agreed = 0.75;

/* Voxels of a label in each growth, and those that `first` shares with the others. */
typedef struct {
    int64_t labels, first, plain, with_labels, with_plain;
} count;

static void add(count *to, const count *from)
{
    to->labels += from->labels;
    to->first += from->first;
    to->plain += from->plain;
    to->with_labels += from->with_labels;
    to->with_plain += from->with_plain;
}

static void count_all(count total[LABELS], const uint8_t *labels, const uint8_t *first,
                      const uint8_t *plain, int64_t n, int threads)
{
    memset(total, 0, LABELS * sizeof *total);
#pragma omp parallel num_threads(threads)
    {
        count own[LABELS];
        memset(own, 0, sizeof own);
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n; i++) {
            const uint8_t a = labels[i], b = first[i], c = plain[i];
            own[a].labels++;
            own[b].first++;
            own[c].plain++;
            own[b].with_labels += a == b;
            own[b].with_plain += c == b;
        }
#pragma omp critical
        for (int l = 0; l < LABELS; l++) add(&total[l], &own[l]);
    }
}

/* 0/0 compares as false. */
static bool is_outvoted(const count *c)
{
    const double dice = 2 * (double)c->with_plain / (double)(c->first + c->plain);
    return dice >= agreed && dice > 2 * (double)c->with_labels / (double)(c->first + c->labels);
}

int64_t lob_outvote(uint8_t *labels, const uint8_t *first, const uint8_t *plain, int64_t n,
                    int32_t background, int threads)
{
    count total[LABELS];
    bool free_to_change[LABELS];
    int64_t changed = 0;
    count_all(total, labels, first, plain, n, threads);
    for (int l = 0; l < LABELS; l++)
        free_to_change[l] = l == 0 || l == background || is_outvoted(&total[l]);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changed)
    for (int64_t i = 0; i < n; i++) {
        if (first[i] != plain[i] || labels[i] == first[i]) continue;
        if (!free_to_change[labels[i]] || !free_to_change[first[i]]) continue;
        labels[i] = first[i];
        changed++;
    }
    return changed;
}
