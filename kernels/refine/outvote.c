/* Counting where three growths agree, and letting two of them outvote the third. */
#include "kernels/refine/outvote.h"

#include <string.h>

enum { PIECE = 1 << 16, WORD = 8 }; /* voxels that a thread takes, and that are compared, at once */

/* The Dice from which on two growths agree, and how much of the first the plain one confirms. */
static const double agreed = 0.75, confirmed = 0.85;

static int64_t end_of_piece(int64_t from, int64_t n)
{
    return n - from < PIECE ? n : from + PIECE;
}

/* Has each voxel of a word the label of the one before it? */
static bool goes_on(const uint8_t *word)
{
    return memcmp(word, word - 1, WORD) == 0;
}

/* Voxel by voxel the next count would wait for the one before it, which is mostly its own. */
static void count_piece(lob_outvote_count *own, const uint8_t *labels, const uint8_t *first,
                        const uint8_t *plain, int64_t i, int64_t end)
{
    while (i < end) {
        const uint8_t a = labels[i], b = first[i], c = plain[i];
        const int64_t from = i++;
        while (i + WORD <= end && goes_on(labels + i) && goes_on(first + i) && goes_on(plain + i))
            i += WORD;
        const uint64_t run = (uint64_t)(i - from);
        own[a].labels += run;
        own[b].first += run;
        own[c].plain += run;
        own[b].with_labels += a == b ? run : 0;
        own[b].with_plain += c == b ? run : 0;
    }
}

static void add(lob_outvote_count *to, const lob_outvote_count *from)
{
    to->labels += from->labels;
    to->first += from->first;
    to->plain += from->plain;
    to->with_labels += from->with_labels;
    to->with_plain += from->with_plain;
}

static void count_all(lob_outvote_count total[LOB_OUTVOTE_LABELS], const uint8_t *labels,
                      const uint8_t *first, const uint8_t *plain, int64_t n, int threads)
{
    memset(total, 0, LOB_OUTVOTE_LABELS * sizeof *total);
#pragma omp parallel num_threads(threads)
    {
        lob_outvote_count own[LOB_OUTVOTE_LABELS];
        memset(own, 0, sizeof own);
#pragma omp for schedule(static) nowait
        for (int64_t from = 0; from < n; from += PIECE)
            count_piece(own, labels, first, plain, from, end_of_piece(from, n));
#pragma omp critical
        for (int l = 0; l < LOB_OUTVOTE_LABELS; l++) add(&total[l], &own[l]);
    }
}

/* 0/0 compares as false. */
static bool is_outvoted(const lob_outvote_count *c)
{
    const double dice = 2 * (double)c->with_plain / (double)(c->first + c->plain);
    return dice >= agreed && ((double)c->with_plain >= confirmed * (double)c->first ||
                              dice > 2 * (double)c->with_labels / (double)(c->first + c->labels));
}

lob_outvote_verdict lob_outvote_judge(const lob_outvote_count total[LOB_OUTVOTE_LABELS],
                                      int32_t background)
{
    lob_outvote_verdict verdict;
    for (int l = 0; l < LOB_OUTVOTE_LABELS; l++) {
        verdict.from[l] = l == 0 || l == background;
        verdict.to[l] = !verdict.from[l] && is_outvoted(&total[l]);
    }
    return verdict;
}

int64_t lob_outvote(uint8_t *labels, const uint8_t *first, const uint8_t *plain, int64_t n,
                    int32_t background, int threads)
{
    lob_outvote_count total[LOB_OUTVOTE_LABELS];
    int64_t changed = 0;
    count_all(total, labels, first, plain, n, threads);
    const lob_outvote_verdict verdict = lob_outvote_judge(total, background);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changed)
    for (int64_t from = 0; from < n; from += PIECE)
        for (int64_t i = from, end = end_of_piece(from, n); i < end;) {
            const bool same = i + WORD <= end && memcmp(labels + i, first + i, WORD) == 0;
            if (!same) changed += lob_outvote_at(labels, first, plain, i, &verdict);
            i += same ? WORD : 1;
        }
    return changed;
}
