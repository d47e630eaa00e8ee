/* Counting where three growths agree, and letting two of them outvote the third. */
#include "kernels/refine/outvote.h"

#include <string.h>

enum { PIECE = 1 << 16, WORD = 8 }; /* voxels that a thread takes, and that are compared, at once */

/* The Dice from which on two growths agree, and how much of the first the plain one confirms. */
static const double agreed = 0.75, most = 0.85;

/* In sharp cases: how much of the first growth the plain one has, and how much of it the first has
 * nearly. */
static const double held = 0.94, within = 0.96;

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
static void count_piece(lob_outvote_count *own, const lob_outvote_input *in, int64_t i, int64_t end)
{
    const uint8_t *const labels = in->labels, *const first = in->first, *const plain = in->plain;
    while (i < end) {
        const uint8_t a = labels[i], b = first[i], c = plain[i];
        int64_t from = i++;
        while (i + WORD <= end && goes_on(labels + i) && goes_on(first + i) && goes_on(plain + i))
            i += WORD;
        const uint64_t run = (uint64_t)(i - from);
        own[a].labels += run;
        own[b].first += run;
        own[c].plain += run;
        own[b].with_labels += a == b ? run : 0;
        own[b].with_plain += c == b ? run : 0;
        for (; b != c && from < i; from++) own[c].beside += lob_outvote_is_beside(in, from, c);
    }
}

static void add(lob_outvote_count *to, const lob_outvote_count *from)
{
    to->labels += from->labels;
    to->first += from->first;
    to->plain += from->plain;
    to->with_labels += from->with_labels;
    to->with_plain += from->with_plain;
    to->beside += from->beside;
}

void lob_outvote_look(lob_outvote_count total[LOB_OUTVOTE_LABELS], const lob_outvote_input *in,
                      int threads)
{
    const int64_t n = lob_dims_voxels(in->dims);
    memset(total, 0, LOB_OUTVOTE_LABELS * sizeof *total);
#pragma omp parallel num_threads(threads)
    {
        lob_outvote_count own[LOB_OUTVOTE_LABELS];
        memset(own, 0, sizeof own);
#pragma omp for schedule(static) nowait
        for (int64_t from = 0; from < n; from += PIECE)
            count_piece(own, in, from, end_of_piece(from, n));
#pragma omp critical
        for (int l = 0; l < LOB_OUTVOTE_LABELS; l++) add(&total[l], &own[l]);
    }
}

/* ---- the verdict ---- */

lob_outvote_verdict lob_outvote_nothing(void)
{
    lob_outvote_verdict verdict = {.sharp = false};
    for (int l = 0; l < LOB_OUTVOTE_LABELS; l++) verdict.rest[l] = (uint8_t)l;
    return verdict;
}

/* Of both growths; of a label that neither has, not a number, which compares as false. */
static double dice_of(const lob_outvote_count *c)
{
    return 2 * (double)c->with_plain / (double)(c->first + c->plain);
}

static bool is_outvoted(const lob_outvote_count *c)
{
    const double dice = dice_of(c);
    return dice >= agreed && ((double)c->with_plain >= most * (double)c->first ||
                              dice > 2 * (double)c->with_labels / (double)(c->first + c->labels));
}

static bool is_confirmed(const lob_outvote_count *c)
{
    return c->first > 0 && (double)c->with_plain >= held * (double)c->first &&
           (double)(c->with_plain + c->beside) >= within * (double)c->plain;
}

lob_outvote_verdict lob_outvote_judge(const lob_outvote_count total[LOB_OUTVOTE_LABELS],
                                      int32_t labels, int32_t background)
{
    lob_outvote_verdict verdict = lob_outvote_nothing();
    int32_t count = 0;
    verdict.from[0] = verdict.from[background] = true;
    for (int32_t l = 1; l <= labels; l++) {
        verdict.confirmed[l] = l != background && is_confirmed(&total[l]);
        count += verdict.confirmed[l];
    }
    verdict.sharp = 2 * count > labels - 1;
    for (int32_t l = 1; l <= labels; l++) {
        if (l == background) continue;
        verdict.first[l] = verdict.sharp;
        verdict.both[l] = !verdict.sharp && is_outvoted(&total[l]);
        verdict.plain[l] = verdict.sharp && (verdict.confirmed[l] ||
                                             (total[l].first > 0 && dice_of(&total[l]) >= agreed));
    }
    return verdict;
}

int64_t lob_outvote(uint8_t *labels, const uint8_t *first, const uint8_t *plain, int64_t n,
                    const lob_outvote_verdict *verdict, int threads)
{
    int64_t changed = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : changed)
    for (int64_t from = 0; from < n; from += PIECE)
        for (int64_t i = from, end = end_of_piece(from, n); i < end;) {
            const bool same = i + WORD <= end && memcmp(labels + i, first + i, WORD) == 0 &&
                              memcmp(labels + i, plain + i, WORD) == 0;
            if (!same) changed += lob_outvote_at(labels, first, plain, i, verdict);
            i += same ? WORD : 1;
        }
    return changed;
}
