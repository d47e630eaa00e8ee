/* A team of threads: a letter lies in a box, one for each pair of ranks, until it has been copied.
 */
#include "kernels/team/team.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const void *letter; /* NULL: the box is empty */
    int64_t bytes;
} box;

/* Threads begin when all are there: nobody is to wait for one that could not be made. */
enum { WAIT, GO, LEAVE };

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

static void post_here(void *user, const lob_letter *letters, int count)
{
    member *const me = user;
    hall *const h = me->in;
    box *const mine = h->boxes + me->team.rank * h->size;
    pthread_mutex_lock(&h->lock);
    for (int i = 0; i < count; i++)
        if (letters[i].send_bytes > 0)
            mine[letters[i].with] = (box){letters[i].send, letters[i].send_bytes};
    pthread_cond_broadcast(&h->changed);
    for (int i = 0; i < count; i++) {
        box *const from = h->boxes + letters[i].with * h->size + me->team.rank;
        if (letters[i].receive_bytes == 0) continue;
        while (!from->letter) pthread_cond_wait(&h->changed, &h->lock);
        pthread_mutex_unlock(&h->lock); /* its sender waits for the box to be empty */
        assert(from->bytes == letters[i].receive_bytes);
        memcpy(letters[i].receive, from->letter, (size_t)letters[i].receive_bytes);
        pthread_mutex_lock(&h->lock);
        from->letter = NULL;
        pthread_cond_broadcast(&h->changed);
    }
    for (int i = 0; i < count; i++)
        while (mine[letters[i].with].letter) pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
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
    free(h);
    free(members);
    return made == size ? LOB_OK : LOB_ENOMEM;
}
