/* A team of threads: a letter lies in a box, one for each pair of ranks, until it has been copied.
 */
#include "kernels/device/device_letters.h"
#include "kernels/team/team.h"
#include "volumes/clock.h"
#include "volumes/free.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    _Atomic(const void *) letter; /* NULL: the box is empty */
    int64_t bytes;
    lob_device *device, *fetcher; /* that it is on; that which fetches it, NULL until it is taken */
} box;

/* Threads begin when all are there: nobody is to wait for one that could not be made. */
enum { WAIT, GO, LEAVE };

/* A thread looks for a letter for so long before it sleeps. */
static const double AWAKE_S = 2e-4;

typedef struct {
    int size, begin;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    lob_team_work *work;
    void *user;
    box boxes[]; /* size * size: from a rank, to a rank */
} hall;

typedef struct {
    hall *in;
    pthread_t thread;
    lob_team team;
} member;

/* What a device has been given before is in the letter. */
static lob_status offer(const lob_letter *letters, int count, lob_error *error)
{
    lob_status st = LOB_OK;
    for (int i = 0; i < count && st == LOB_OK; i++)
        if (letters[i].device) st = lob_device_offer(letters[i].device, error);
    return st;
}

static lob_status take(const lob_letter *to, box *from, lob_error *error)
{
    assert(from->bytes == to->receive_bytes && !from->device == !to->device);
    from->fetcher = to->device;
    if (to->device)
        return lob_device_fetch(to->device, to->receive, from->device, from->letter, from->bytes,
                                error);
    memcpy(to->receive, from->letter, (size_t)from->bytes);
    return LOB_OK;
}

static void put(hall *h, box *to, const void *letter)
{
    pthread_mutex_lock(&h->lock);
    to->letter = letter;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

/* Most letters come sooner than a thread that sleeps is woken. */
static void wait_until(hall *h, const box *b, bool full)
{
    const double start_s = lob_clock_s();
    while ((b->letter != NULL) != full && lob_clock_s() - start_s < AWAKE_S) sched_yield();
    pthread_mutex_lock(&h->lock);
    while ((b->letter != NULL) != full) pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

/* What fails does not keep the others from their letters. */
static lob_status post_here(void *user, const lob_letter *letters, int count, lob_error *error)
{
    member *const me = user;
    hall *const h = me->in;
    box *const mine = h->boxes + me->team.rank * h->size;
    lob_status st = offer(letters, count, error);
    for (int i = 0; i < count; i++) {
        if (letters[i].send_bytes == 0) continue;
        mine[letters[i].with].bytes = letters[i].send_bytes;
        mine[letters[i].with].device = letters[i].device;
        mine[letters[i].with].fetcher = NULL;
        put(h, &mine[letters[i].with], letters[i].send);
    }
    for (int i = 0; i < count; i++) {
        box *const from = h->boxes + letters[i].with * h->size + me->team.rank;
        if (letters[i].receive_bytes == 0) continue;
        wait_until(h, from, true);
        if (st == LOB_OK) st = take(&letters[i], from, error);
        put(h, from, NULL);
    }
    for (int i = 0; i < count; i++) {
        const box *const sent = &mine[letters[i].with];
        wait_until(h, sent, false);
        if (letters[i].send_bytes == 0 || !sent->fetcher) continue;
        const lob_status told =
            lob_device_fetched(sent->device, sent->fetcher, st == LOB_OK ? error : NULL);
        if (st == LOB_OK) st = told;
    }
    return st;
}

static void *work_in_thread(void *user)
{
    member *const me = user;
    hall *const h = me->in;
    pthread_mutex_lock(&h->lock);
    while (h->begin == WAIT) pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
    if (h->begin == GO) h->work(&me->team, h->user);
    return NULL;
}

/* Threads and what each needs; as many as could be made. */
static int make(member *members, hall *h)
{
    for (int r = 0; r < h->size; r++) {
        member *const m = &members[r];
        m->in = h;
        if (lob_team_begin(&m->team, r, h->size, post_here, m) != LOB_OK) return r;
        m->team.direct = true;
        if (pthread_create(&m->thread, NULL, work_in_thread, m) == 0) continue;
        lob_team_free(&m->team);
        return r;
    }
    return h->size;
}

lob_status lob_team_threads(int size, lob_team_work *work, void *user)
{
    member *const members = calloc((size_t)size, sizeof *members);
    hall *const h = calloc(1, sizeof *h + (size_t)size * (size_t)size * sizeof(box));
    int made = 0;
    if (members && h) {
        *h = (hall){.size = size, .work = work, .user = user};
        pthread_mutex_init(&h->lock, NULL);
        pthread_cond_init(&h->changed, NULL);
        made = make(members, h);
        pthread_mutex_lock(&h->lock);
        h->begin = made == size ? GO : LEAVE;
        pthread_cond_broadcast(&h->changed);
        pthread_mutex_unlock(&h->lock);
        for (int r = 0; r < made; r++) {
            pthread_join(members[r].thread, NULL);
            lob_team_free(&members[r].team);
        }
        pthread_mutex_destroy(&h->lock);
        pthread_cond_destroy(&h->changed);
    }
    LOB_FREE(h, members);
    return made == size ? LOB_OK : LOB_ENOMEM;
}
