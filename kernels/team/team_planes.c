/* Planes of other ranks, over letters. */
#include "kernels/team/team_planes.h"

#include <stdlib.h>
#include <string.h>

lob_team_reach lob_team_reach_of(const lob_team *team, int rank, int64_t planes, int64_t halo,
                                 int64_t align)
{
    lob_team_reach r = {.to = planes};
    lob_team_planes(&r.first, &r.end, team, rank, planes);
    if (r.first > halo) r.from = (r.first - halo) / align * align;
    if (planes - r.end > halo) r.to = r.end + halo;
    return r;
}

static lob_status make_letters(lob_letter **letters, const lob_team *team, lob_error *error)
{
    *letters = calloc((size_t)lob_team_size(team), sizeof **letters);
    return *letters ? LOB_OK : lob_fail(error, LOB_ENOMEM, "no memory left for a team");
}

/* Planes that one rank has and another reaches: where they begin, and how many. */
static int64_t common(int64_t *begin, const lob_team_reach *has, const lob_team_reach *reaches)
{
    const int64_t end = has->end < reaches->to ? has->end : reaches->to;
    *begin = has->first > reaches->from ? has->first : reaches->from;
    return end > *begin ? end - *begin : 0;
}

lob_status lob_team_deal(void *to, const void *own, const lob_team_reach *of, int64_t plane_bytes,
                         lob_team *team, lob_error *error)
{
    const lob_team_reach *const me = &of[lob_team_rank(team)];
    lob_letter *letters;
    int count = 0;
    LOB_TRY(make_letters(&letters, team, error));
    for (int r = 0; r < lob_team_size(team); r++) {
        int64_t give, take;
        const int64_t given = common(&give, me, &of[r]) * plane_bytes;
        const int64_t taken = common(&take, &of[r], me) * plane_bytes;
        const char *const from = (const char *)own + (give - me->first) * plane_bytes;
        char *const into = (char *)to + (take - me->from) * plane_bytes;
        if (r == lob_team_rank(team))
            memcpy(into, from, (size_t)given);
        else if (given + taken > 0)
            letters[count++] = (lob_letter){r, from, given, into, taken, NULL};
    }
    const lob_status st = lob_team_send(team, letters, count, error);
    free(letters);
    return st;
}

lob_status lob_team_fetch(void *to, const void *own, int64_t planes, int64_t halo, int64_t align,
                          int64_t plane_bytes, lob_team *team, lob_error *error)
{
    const int size = lob_team_size(team);
    lob_team_reach *const of = malloc((size_t)size * sizeof *of);
    if (!of) return lob_fail(error, LOB_ENOMEM, "no memory left for a team");
    for (int r = 0; r < size; r++) of[r] = lob_team_reach_of(team, r, planes, halo, align);
    const lob_status st = lob_team_deal(to, own, of, plane_bytes, team, error);
    free(of);
    return st;
}
