/* How many CPU threads this process can have. */
#include "kernels/context.h"

#include <omp.h>
#include <pthread.h>
#include <time.h>

static void *wait_for_the_end(void *user)
{
    pthread_mutex_t *const until = user;
    pthread_mutex_lock(until);
    pthread_mutex_unlock(until);
    return NULL;
}

/* Threads that can be there at once beside the caller's, at most so many. */
static int count_possible(int wanted)
{
    pthread_t threads[LOB_THREADS_MOST];
    pthread_mutex_t until = PTHREAD_MUTEX_INITIALIZER;
    int count = 0;
    pthread_mutex_lock(&until);
    while (count < wanted && pthread_create(&threads[count], NULL, wait_for_the_end, &until) == 0)
        count++;
    pthread_mutex_unlock(&until);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    return count;
}

int lob_threads(int wanted)
{
    if (wanted < 1) wanted = omp_get_max_threads();
    if (wanted > LOB_THREADS_MOST) wanted = LOB_THREADS_MOST;
    if (wanted < 2) return 1;
    int had = 1 + count_possible(wanted - 1);
    if (had < wanted) {
        /* What bounds threads bounds the work as well, as memory does: it has the other half. And
         * the system counts threads that have ended for a moment longer. */
        const struct timespec moment = {.tv_nsec = 20000000};
        had = 1 + (had - 1) / 2;
        nanosleep(&moment, NULL);
    }
    int made = 1;
    if (had > 1) {
#pragma omp parallel num_threads(had)
#pragma omp single
        made = omp_get_num_threads();
    }
    return made;
}
