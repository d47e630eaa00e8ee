/* Names and colours follow their labels through steps, pair by pair. */
#include "tools/commands/labels_heirs.h"

#include "volumes/lists.h"

#include <stdlib.h>

/* A label, and the label of the input whose name it carries. */
typedef struct {
    int32_t label, origin;
    bool stayed; /* it had this number before the step */
} heir;

/* Of those that became one label, the one that had its number comes first, then the smallest. */
static int by_claim(const void *a, const void *b)
{
    const heir *x = a, *y = b;
    if (x->label != y->label) return x->label < y->label ? -1 : 1;
    if (x->stayed != y->stayed) return x->stayed ? -1 : 1;
    return (x->origin > y->origin) - (x->origin < y->origin);
}

static const heir *find_heir(const heir *heirs, int64_t n, int32_t label)
{
    const int64_t at = lob_count_below(&heirs->label, n, sizeof *heirs, label);
    return at < n && heirs[at].label == label ? &heirs[at] : NULL;
}

/* Let names follow a step. Returns the heirs after it, malloc'ed, or NULL without memory. */
static heir *follow(const heir *heirs, int64_t *n, const lob_labels_done *done)
{
    heir *next = malloc(((size_t)done->pair_count + 1) * sizeof *next);
    int64_t count = 0, distinct = 0;
    for (int64_t k = 0; next && k < done->pair_count; k++) {
        const lob_labels_pair pair = done->pairs[k];
        const heir *from = find_heir(heirs, *n, pair.from);
        if (from && pair.to > 0)
            next[count++] = (heir){pair.to, from->origin, pair.from == pair.to};
    }
    if (!next) return NULL;
    qsort(next, (size_t)count, sizeof *next, by_claim);
    for (int64_t i = 0; i < count; i++)
        if (distinct == 0 || next[distinct - 1].label != next[i].label) next[distinct++] = next[i];
    *n = distinct;
    return next;
}

/* What became of the names of the input; malloc'ed, NULL without memory. */
static heir *find_heirs(int64_t *n, const lob_label_names *from, const lob_labels_done *done,
                        int steps)
{
    heir *heirs = malloc(((size_t)from->count + 1) * sizeof *heirs);
    *n = from->count;
    for (int64_t i = 0; heirs && i < *n; i++)
        heirs[i] = (heir){from->rows[i].label, from->rows[i].label, true};
    for (int i = 0; i < steps && heirs && *n > 0; i++) {
        if (!done[i].pairs) continue;
        heir *next = follow(heirs, n, &done[i]);
        free(heirs);
        heirs = next;
    }
    return heirs;
}

lob_status lob_labels_pass_names(lob_label_names *to, const lob_label_names *from,
                                 const lob_labels_output *result, int steps, bool all)
{
    int64_t n;
    heir *const heirs = find_heirs(&n, from, result->done, steps);
    lob_status st = heirs ? LOB_OK : LOB_ENOMEM;
    for (int64_t i = 0; i < n && st == LOB_OK; i++) {
        const lob_label_name *row = lob_label_names_find(from, heirs[i].origin);
        st = lob_label_names_put(to, heirs[i].label, row->name, &row->colour, row->terminology);
    }
    free(heirs);
    return st == LOB_OK && all ? lob_label_names_complete(to, from) : st;
}
