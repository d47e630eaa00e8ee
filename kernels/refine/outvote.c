/* Counting where three growths agree, and letting two of them outvote the third. */
#include "kernels/refine/outvote.h"

#include <string.h>

enum { PIECE = 1 << 16, WORD = 8 }; /* voxels that a thread takes, and that are compared, at once */

/* The Dice from which on two growths agree, and how much of the first the plain one confirms. */
static const double agreed = 0.75, most = 0.85;

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

/* ---- what growth over the image alone confirms ---- */

/* How much of the first growth it has, and how much of it the first has nearly. */
static const double held = 0.94, within = 0.96;

/* Has the first growth this label a step away along an axis? */
static bool is_beside(const uint8_t *first, lob_dims d, const int step[3], int64_t i, uint8_t label)
{
    const int64_t at[3] = {i % d.nx, i / d.nx % d.ny, i / (d.nx * d.ny)};
    const int64_t stride[3] = {1, d.nx, d.nx * d.ny};
    for (int a = 0; a < 3; a++) {
        if (at[a] >= step[a] && first[i - step[a] * stride[a]] == label) return true;
        if (at[a] + step[a] < lob_side(d, a) && first[i + step[a] * stride[a]] == label)
            return true;
    }
    return false;
}

bool lob_outvote_confirm(bool *confirmed, bool *agree, const uint8_t *first, const uint8_t *plain,
                         lob_dims dims, const int step[3], int32_t labels, int32_t background,
                         int threads)
{
    const int64_t n = lob_dims_voxels(dims);
    lob_outvote_count total[LOB_OUTVOTE_LABELS];
    uint64_t beside[LOB_OUTVOTE_LABELS] = {0};
    int32_t count = 0;
    count_all(total, first, first, plain, n, threads);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : beside)
    for (int64_t from = 0; from < n; from += PIECE)
        for (int64_t i = from, end = end_of_piece(from, n); i < end;) {
            const bool same = i + WORD <= end && memcmp(plain + i, first + i, WORD) == 0;
            if (!same && plain[i] != first[i] && is_beside(first, dims, step, i, plain[i]))
                beside[plain[i]]++;
            i += same ? WORD : 1;
        }
    for (int32_t l = 0; l <= labels; l++) {
        const lob_outvote_count *const c = &total[l];
        const bool asked = l > 0 && l != background && c->first > 0;
        confirmed[l] = asked && (double)c->with_plain >= held * (double)c->first &&
                       (double)(c->with_plain + beside[l]) >= within * (double)c->plain;
        agree[l] = confirmed[l] || (asked && dice_of(c) >= agreed);
        count += confirmed[l];
    }
    return 2 * count > labels - 1;
}
