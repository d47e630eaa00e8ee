/* Floods of ranks that share a volume: what they tell each other of the planes at their seams. */
#include "kernels/growcut/cpu/flood_cells.h"

#include <stdlib.h>

/* Could the water of a cell at a seam come to the rank beside before other water does? */
static bool matters(const lob_flood *f, const lob_flood_seam *seam, int64_t cell, uint64_t cost)
{
    const int64_t end = seam->theirs + f->pitch[f->axis];
    for (int r = 0; r < f->rows; r++)
        for (int k = 0; k < 3; k++) {
            const int64_t at = cell + f->row[r].step + k;
            if (!f->row[r].is[k] || at < seam->theirs || at >= end) continue;
            if (f->state[at] & LOB_FLOOD_BESIDE && cost < lob_flood_cost(f, at)) return true;
        }
    return false;
}

/* List what is new in the planes beside seams; a rank's only plane may be beside both. */
static void tell(lob_flood *f)
{
    const int64_t plane = f->pitch[f->axis];
    for (int k = 0; k < 2; k++) {
        lob_team_news *const to = &f->news[k];
        lob_flood_news *const tells = to->tells;
        to->told = 0;
        for (int64_t i = 0; to->is_there && i < plane; i++) {
            const int64_t cell = f->seam[k].ours + i;
            if (!(f->state[cell] & LOB_FLOOD_NEWS)) continue;
            const uint64_t cost = lob_flood_cost(f, cell);
            const uint32_t tied = f->state[cell] & LOB_FLOOD_TIE ? LOB_FLOOD_TIED : 0;
            if (matters(f, &f->seam[k], cell, cost))
                tells[to->told++] =
                    (lob_flood_news){(uint32_t)i, (uint32_t)f->label[cell] | tied, cost};
        }
    }
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; f->news[k].is_there && i < plane; i++)
            f->state[f->seam[k].ours + i] &= (uint8_t)~LOB_FLOOD_NEWS;
}

static int by_cost(const void *a, const void *b)
{
    const lob_flood_news *const p = a, *const q = b;
    return (p->cost > q->cost) - (p->cost < q->cost);
}

/* Take over what the rank beside has told of its cells. Those that wait for their level do so in
 * its queue; the others have been flooded there, at costs that this rank has not passed. */
static lob_status hear(lob_flood *f, int k)
{
    lob_flood_seam *const seam = &f->seam[k];
    lob_team_news *const news = &f->news[k];
    lob_flood_news *const hears = news->hears;
    const int owner = f->shares > 1 ? lob_flood_share_of(f, seam->theirs) : 0;
    int64_t left = 0;
    for (int64_t i = 0; i < news->heard; i++) {
        const lob_flood_news n = hears[i];
        const int64_t cell = seam->theirs + n.cell;
        const uint8_t tie = n.label & LOB_FLOOD_TIED ? LOB_FLOOD_TIE : 0;
        const bool waits = lob_flood_steps(n.cost) == 0;
        f->state[cell] = (uint8_t)((f->state[cell] & ~LOB_FLOOD_TIE) | tie);
        f->label[cell] = (int32_t)(n.label & ~LOB_FLOOD_TIED);
        f->came[cell] = waits ? 0 : n.cost - 1;
        if (waits)
            LOB_TRY(lob_flood_enqueue(&f->share[owner].pool,
                                      &f->share[owner].queues[lob_flood_level(n.cost)], cell,
                                      n.label));
        else
            hears[left++] = n;
    }
    if (left > 0) qsort(hears, (size_t)left, sizeof *hears, by_cost);
    news->heard = left;
    seam->next = 0;
    return LOB_OK;
}

/* The least cost of what waits in this rank. */
static uint64_t least_waiting(const lob_flood *f)
{
    uint64_t least = LOB_FLOOD_NEVER;
    for (int i = 0; i < f->shares; i++)
        if (f->share[i].shown.next < least) least = f->share[i].shown.next;
    return least;
}

lob_status lob_flood_meet(lob_flood *f, bool *any)
{
    f->is_full = f->is_full || least_waiting(f) < f->until;
    tell(f);
    LOB_TRY(lob_team_swap(f->news, sizeof(lob_flood_news), any, f->team, NULL, f->error));
    for (int k = 0; k < 2; k++) LOB_TRY(hear(f, k));
    return LOB_OK;
}

lob_status lob_flood_rise(lob_flood *f, bool *any)
{
    const uint64_t waiting = least_waiting(f);
    int64_t of_all[2] = {waiting == LOB_FLOOD_NEVER ? -f->levels : -lob_flood_level(waiting),
                         f->is_full};
    LOB_TRY(lob_team_reduce(f->team, of_all, 2, LOB_TEAM_MAX, f->error));
    const int64_t least = -of_all[0];
    *any = least < f->levels;
    if (lob_flood_cost_at(least) < f->until) return LOB_OK;
    f->width = of_all[1] ? f->width / 2 + 1 : 2 * f->width;
    f->until = least + f->width < f->levels ? lob_flood_cost_at(least + f->width) : LOB_FLOOD_NEVER;
    f->is_full = false;
    return LOB_OK;
}

/* What of a seam a share has heard and not begun with; NULL: nothing. */
static const lob_flood_news *next_of(const lob_flood *f, int k, int own)
{
    const lob_flood_seam *const seam = &f->seam[k];
    const lob_flood_news *const hears = f->news[k].hears;
    if (f->news[k].heard == 0) return NULL;
    if (f->shares > 1 && lob_flood_share_of(f, seam->theirs) != own) return NULL; /* another's */
    return seam->next < f->news[k].heard ? hears + seam->next : NULL;
}

uint64_t lob_flood_next_heard(const lob_flood *f, int own)
{
    uint64_t least = LOB_FLOOD_NEVER;
    for (int k = 0; k < 2; k++) {
        const lob_flood_news *const next = next_of(f, k, own);
        if (next && next->cost < least) least = next->cost;
    }
    return least;
}

lob_status lob_flood_add_heard(lob_flood *f, lob_flood_share *s, int own, uint64_t cost)
{
    lob_flood_list *const wave = &s->wave;
    for (int k = 0; k < 2; k++)
        for (const lob_flood_news *n; (n = next_of(f, k, own)) && n->cost == cost;) {
            LOB_TRY(lob_flood_list_room(&s->pool, wave, 1));
            wave->cell[wave->n] = f->seam[k].theirs + n->cell;
            wave->label[wave->n++] = n->label;
            f->seam[k].next++;
        }
    return LOB_OK;
}
