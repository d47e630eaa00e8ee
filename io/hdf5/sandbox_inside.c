/* What a sandbox does alike on all systems: receive, end, and its threads. */
#include "io/hdf5/sandbox_inside.h"
#include "io/platform.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

void lob_inside_receive(void *bytes, size_t n)
{
    for (size_t got = 0; got < n;) {
        const int64_t r = lob_fd_read(0, (char *)bytes + got, n - got);
        if (r <= 0) lob_inside_give_up();
        got += (size_t)r;
    }
}

void lob_inside_end(void)
{
    _Exit(0);
}

void lob_inside_give_up(void)
{
    _Exit(1);
}

typedef struct {
    void (*fn)(void *user, int64_t i);
    void *user;
    int64_t n;
    atomic_llong next;
} parallel_work;

static void *parallel_worker(void *argument)
{
    parallel_work *work = argument;
    for (;;) {
        const int64_t i = atomic_fetch_add(&work->next, 1);
        if (i >= work->n) return NULL;
        work->fn(work->user, i);
    }
}

void lob_inside_parallel(int64_t n, int threads, void (*fn)(void *user, int64_t i), void *user)
{
    enum { MAX_COUNT = 64 };
    pthread_t helper[MAX_COUNT];
    parallel_work work = {.fn = fn, .user = user, .n = n};
    int64_t wanted = threads < MAX_COUNT ? threads : MAX_COUNT;
    if (wanted > n) wanted = n;
    int helpers = 0;
    while (helpers < wanted - 1 &&
           pthread_create(&helper[helpers], NULL, parallel_worker, &work) == 0)
        helpers++;
    parallel_worker(&work);
    while (helpers > 0) pthread_join(helper[--helpers], NULL);
}
