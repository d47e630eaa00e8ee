/* What a team does, over letters alone. */
#include "kernels/team/team.h"

#include "kernels/device/device_letters.h"
#include "volumes/voxel_memory.h"

#include <stdlib.h>
#include <string.h>

/* The most that a rank brings to a call here. */
enum { ROOM = sizeof(lob_error), VALUES = ROOM / sizeof(int64_t) };

lob_status lob_team_begin(lob_team *team, int rank, int size, lob_post *post, void *user)
{
    *team = (lob_team){.rank = rank, .size = size, .post = post, .user = user};
    team->room = malloc((size_t)size * (ROOM + sizeof(lob_letter)));
    return team->room ? LOB_OK : LOB_ENOMEM;
}

void lob_team_free(lob_team *team)
{
    free(team->room);
    team->room = NULL;
}

int lob_team_rank(const lob_team *team)
{
    return team ? team->rank : 0;
}

int lob_team_size(const lob_team *team)
{
    return team ? team->size : 1;
}

void lob_team_planes(int64_t *first, int64_t *end, const lob_team *team, int rank, int64_t planes)
{
    const int64_t size = lob_team_size(team), each = planes / size, more = planes % size;
    *first = rank * each + (rank < more ? rank : more);
    *end = *first + each + (rank < more);
}

bool lob_team_narrow(lob_team *out, const lob_team *all, int64_t planes)
{
    *out = *all;
    if (planes < out->size) out->size = (int)planes;
    return out->rank < out->size;
}

/* ---- through rank 0 ---- */

static lob_status post(lob_team *team, const lob_letter *letters, int count, lob_error *error)
{
    for (int i = 0; i < count; i++) {
        team->sent += letters[i].send_bytes;
        team->received += letters[i].receive_bytes;
    }
    return team->post(team->user, letters, count, error);
}

/* Where rank 0 writes a letter to each of the others; what all bring lies behind these. */
static lob_letter *letters_of(const lob_team *team)
{
    return team->room;
}

static void *brought(const lob_team *team)
{
    return letters_of(team) + team->size;
}

/* Everyone's bytes to rank 0. */
static void gather(lob_team *team, void *all, const void *mine, int64_t bytes)
{
    lob_letter *const letters = letters_of(team);
    const lob_letter there = {.send = mine, .send_bytes = bytes};
    if (team->rank > 0) {
        (void)post(team, &there, 1, NULL); /* what is in ordinary memory does not fail */
        return;
    }
    for (int r = 1; r < team->size; r++)
        letters[r - 1] =
            (lob_letter){.with = r, .receive = (char *)all + r * bytes, .receive_bytes = bytes};
    memmove(all, mine, (size_t)bytes);
    (void)post(team, letters, team->size - 1, NULL);
}

/* Rank 0's bytes to everyone. */
static void spread(lob_team *team, void *data, int64_t bytes)
{
    lob_letter *const letters = letters_of(team);
    const lob_letter back = {.receive = data, .receive_bytes = bytes};
    if (team->rank > 0) {
        (void)post(team, &back, 1, NULL);
        return;
    }
    for (int r = 1; r < team->size; r++)
        letters[r - 1] = (lob_letter){.with = r, .send = data, .send_bytes = bytes};
    (void)post(team, letters, team->size - 1, NULL);
}

/* ---- one call of all ranks ---- */

enum { AGREE, SHARE, REDUCE, SEND, TELL };

enum { FEW = 16 };

/* What a rank is about to do, or that it has failed. */
typedef struct {
    int64_t call;  /* AGREE, ... */
    int64_t bytes; /* that each rank brings, and here they are if they are so few */
    int64_t few[FEW];
    lob_status status;
} intent;

_Static_assert(sizeof(intent) == LOB_TEAM_MEETING, "what team.h says of a meeting");

static intent intent_of(int64_t call, int64_t bytes, const void *few)
{
    intent mine = {.call = call, .bytes = bytes};
    if (bytes > 0 && bytes <= (int64_t)sizeof mine.few) memcpy(mine.few, few, (size_t)bytes);
    return mine;
}

/* End the team by what one rank tells. */
static void end(lob_team *team, lob_status status, int teller, const lob_error *mine)
{
    lob_error *const all = brought(team);
    lob_error own = {.text = ""};
    if (mine) own = *mine;
    gather(team, all, &own, sizeof own);
    if (team->rank == 0) team->why = all[teller];
    spread(team, &team->why, sizeof team->why);
    team->over = status;
}

/* Tell of the team's end. */
static lob_status ended(const lob_team *team, lob_error *error)
{
    if (error) *error = team->why;
    return team->over;
}

/* Begin a call: do all the same, and has none failed? */
static lob_status meet(lob_team *team, intent mine, lob_error *error)
{
    if (team->over != LOB_OK) return ended(team, error);
    intent *const all = brought(team);
    gather(team, all, &mine, sizeof mine);
    spread(team, all, team->size * (int64_t)sizeof mine);
    for (int r = 0; r < team->size; r++)
        if (all[r].status != LOB_OK) {
            end(team, all[r].status, r, mine.status == LOB_OK ? NULL : error);
            return ended(team, error);
        }
    for (int r = 1; r < team->size; r++)
        if (all[r].call != all[0].call || all[r].bytes != all[0].bytes) {
            team->over = LOB_EINTERNAL;
            lob_fail(&team->why, LOB_EINTERNAL, "rank %d does not do what rank 0 does", r);
            return ended(team, error);
        }
    return LOB_OK;
}

lob_status lob_team_agree(lob_team *team, lob_status mine, lob_error *error)
{
    if (lob_team_size(team) == 1) return mine;
    if (team->over != LOB_OK) return mine != LOB_OK ? mine : ended(team, error);
    return meet(team, (intent){.call = AGREE, .status = mine}, error);
}

lob_status lob_team_share(lob_team *team, void *all, const void *mine, int64_t bytes,
                          lob_error *error)
{
    if (lob_team_size(team) == 1) {
        memmove(all, mine, (size_t)bytes);
        return LOB_OK;
    }
    LOB_TRY(meet(team, intent_of(SHARE, bytes, mine), error));
    const intent *const told = brought(team);
    if (bytes <= (int64_t)sizeof told->few) {
        for (int r = 0; r < team->size; r++)
            memcpy((char *)all + r * bytes, told[r].few, (size_t)bytes);
        return LOB_OK;
    }
    gather(team, all, mine, bytes);
    spread(team, all, bytes * team->size);
    return LOB_OK;
}

lob_status lob_team_tell(void *data, int64_t bytes, lob_team *team, lob_error *error)
{
    if (lob_team_size(team) == 1) return LOB_OK;
    LOB_TRY(meet(team, (intent){.call = TELL, .bytes = bytes}, error));
    spread(team, data, bytes);
    return LOB_OK;
}

static int64_t fold(int64_t a, int64_t b, lob_team_how how)
{
    return how == LOB_TEAM_SUM ? a + b : (how == LOB_TEAM_MIN) == (b < a) ? b : a;
}

lob_status lob_team_reduce(lob_team *team, int64_t *values, int n, lob_team_how how,
                           lob_error *error)
{
    if (lob_team_size(team) == 1) return LOB_OK;
    LOB_TRY(meet(team, intent_of(REDUCE, n * (int64_t)sizeof *values, values), error));
    const intent *const told = brought(team);
    for (int r = 0; n <= FEW && r < team->size; r++)
        for (int i = 0; i < n; i++)
            values[i] = r == 0 ? told->few[i] : fold(values[i], told[r].few[i], how);
    if (n <= FEW) return LOB_OK;
    int64_t *const all = brought(team);
    for (int from = 0; from < n; from += VALUES) {
        int64_t *const here = values + from;
        const int some = n - from < VALUES ? n - from : VALUES;
        gather(team, all, here, some * (int64_t)sizeof *here);
        for (int i = some; team->rank == 0 && i < some * team->size; i++)
            all[i % some] = fold(all[i % some], all[i], how);
        if (team->rank == 0) memcpy(here, all, (size_t)some * sizeof *here);
        spread(team, here, some * (int64_t)sizeof *here);
    }
    return LOB_OK;
}

/* ---- letters on devices, where post does not take them ---- */

/* Does a letter send what the one before it does? One copy does for both. */
static bool repeats(const lob_letter *letters, int i)
{
    return i > 0 && letters[i].device && letters[i].device == letters[i - 1].device &&
           letters[i].send == letters[i - 1].send &&
           letters[i].send_bytes == letters[i - 1].send_bytes;
}

/* Copies of letters, malloc'ed: what was on a device is behind them. NULL: nothing was. */
static lob_status stage(lob_letter **out, const lob_letter *letters, int count, lob_error *error)
{
    int64_t bytes = 0;
    lob_status st = LOB_OK;
    for (int i = 0; i < count; i++)
        if (letters[i].device)
            bytes += (repeats(letters, i) ? 0 : letters[i].send_bytes) + letters[i].receive_bytes;
    if (bytes == 0) return LOB_OK;
    lob_letter *const staged = lob_voxel_memory(count * (int64_t)sizeof *staged + bytes);
    if (!staged) return lob_fail(error, LOB_ENOMEM, "no memory left for a team");
    char *at = (char *)(staged + count);
    for (int i = 0; st == LOB_OK && i < count; i++) {
        const lob_letter *const l = &letters[i];
        staged[i] = *l;
        if (!l->device) continue;
        staged[i].device = NULL;
        staged[i].send = repeats(letters, i) ? staged[i - 1].send : at;
        if (staged[i].send == at) {
            st = lob_device_download(l->device, at, l->send, l->send_bytes, error);
            at += l->send_bytes;
        }
        staged[i].receive = at;
        at += l->receive_bytes;
    }
    *out = staged;
    return st;
}

/* What was received goes to the devices. */
static lob_status unstage(const lob_letter *letters, const lob_letter *staged, int count,
                          lob_error *error)
{
    for (int i = 0; i < count; i++)
        if (letters[i].device)
            LOB_TRY(lob_device_upload(letters[i].device, letters[i].receive, staged[i].receive,
                                      letters[i].receive_bytes, error));
    return LOB_OK;
}

lob_status lob_team_begin_send(lob_team *team, const lob_letter *letters, int count,
                               lob_error *error)
{
    if (lob_team_size(team) == 1) return LOB_OK;
    lob_letter *staged = NULL;
    lob_status st = team->direct ? LOB_OK : stage(&staged, letters, count, error);
    if (st == LOB_OK) st = meet(team, (intent){.call = SEND}, error);
    if (st == LOB_OK) st = post(team, staged ? staged : letters, count, error);
    if (st == LOB_OK && staged) st = unstage(letters, staged, count, error);
    free(staged);
    return st;
}

lob_status lob_team_send(lob_team *team, const lob_letter *letters, int count, lob_error *error)
{
    lob_status st = lob_team_begin_send(team, letters, count, error);
    for (int i = 0; i < count; i++) {
        if (!letters[i].device) continue;
        const lob_status told =
            lob_device_after_fetches(letters[i].device, st == LOB_OK ? error : NULL);
        if (st == LOB_OK) st = told;
    }
    return st;
}

lob_status lob_team_beside(lob_team *team, lob_letter before, lob_letter behind, lob_error *error)
{
    const int me = lob_team_rank(team), first = me == 0, end = 1 + (me + 1 < lob_team_size(team));
    lob_letter letters[2] = {before, behind};
    letters[0].with = me - 1;
    letters[1].with = me + 1;
    return lob_team_send(team, letters + first, end - first, error);
}

lob_status lob_team_swap(lob_team_news news[2], int64_t each, bool *any, lob_team *team,
                         lob_device *device, lob_error *error)
{
    const int size = lob_team_size(team), rank = lob_team_rank(team);
    const int64_t mine[2] = {news[0].told, news[1].told};
    int64_t *const told = malloc((size_t)size * sizeof mine); /* of all ranks */
    lob_letter letters[2] = {{0}};
    lob_status st = told ? lob_team_share(team, told, mine, sizeof mine, error) : LOB_ENOMEM;
    *any = false;
    for (int i = 0; st == LOB_OK && i < 2 * size; i++) *any = *any || told[i] > 0;
    for (int k = 0; k < 2; k++) {
        lob_team_news *const of = &news[k];
        const int with = rank + (k ? 1 : -1);
        of->heard = 0;
        if (!*any || !of->is_there) continue;
        of->heard = told[2 * with + !k];
        if (st == LOB_OK && !of->hears)
            st = lob_budget_alloc(of->budget, &of->hears, of->heard, (size_t)each, error);
        letters[k] =
            (lob_letter){0, of->tells, of->told * each, of->hears, of->heard * each, device};
    }
    free(told);
    return st == LOB_OK && *any ? lob_team_beside(team, letters[0], letters[1], error) : st;
}

lob_status lob_team_collect(lob_team *team, void **all, int64_t *bytes, const void *mine,
                            int64_t own, lob_error *error)
{
    const int me = lob_team_rank(team), size = lob_team_size(team);
    int64_t *const lengths = malloc((size_t)size * sizeof *lengths);
    lob_status st = lengths ? LOB_OK : lob_fail(error, LOB_ENOMEM, "no memory left for a team");
    char *at = NULL;
    *all = NULL;
    *bytes = 0;
    if (st == LOB_OK) st = lob_team_share(team, lengths, &own, sizeof own, error);
    for (int r = 0; st == LOB_OK && r < size; r++) *bytes += lengths[r];
    if (st == LOB_OK && me == 0) *all = at = malloc((size_t)*bytes + 1);
    if (st == LOB_OK && me == 0 && !at)
        st = lob_fail(error, LOB_ENOMEM, "no memory for what the tasks tell the first");
    if (st == LOB_OK && own > 0 && me == 0) memcpy(at, mine, (size_t)own);
    if (st == LOB_OK && size > 1) st = meet(team, (intent){.call = SEND}, error);
    if (st == LOB_OK && size > 1) {
        lob_letter *const letters = letters_of(team);
        letters[0] = (lob_letter){.send = mine, .send_bytes = own};
        for (int r = 1; me == 0 && r < size; r++)
            letters[r - 1] = (lob_letter){
                .with = r, .receive = at += lengths[r - 1], .receive_bytes = lengths[r]};
        (void)post(team, letters, me == 0 ? size - 1 : 1, NULL);
    }
    if (st != LOB_OK) {
        free(*all);
        *all = NULL;
    }
    free(lengths);
    return st;
}
