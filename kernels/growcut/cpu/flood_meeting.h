/*
 * Where the threads of a flood wait for each other, some microseconds apart: they spin, as a sleep
 * takes longer than that, and let others run where a thread is late.
 */
#ifndef LOB_FLOOD_MEETING_H
#define LOB_FLOOD_MEETING_H

#include <omp.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct {
    _Alignas(64) atomic_int here;
    _Alignas(64) atomic_uint turn;
} lob_flood_meeting;

/*
 * Go on when so many threads have come. What each has written before, all others see after. Returns
 * the seconds that the last one was late by, 0 if it was not.
 */
static inline double lob_flood_meet(lob_flood_meeting *m, int threads)
{
    enum { SPINS = 1000 };
    if (threads == 1) return 0;
    const unsigned turn = atomic_load_explicit(&m->turn, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&m->here, 1, memory_order_acq_rel) == threads - 1) {
        atomic_store_explicit(&m->here, 0, memory_order_relaxed);
        atomic_store_explicit(&m->turn, turn + 1, memory_order_release);
        return 0;
    }
    for (int spins = 0; spins < SPINS; spins++) {
        if (atomic_load_explicit(&m->turn, memory_order_acquire) != turn) return 0;
#ifdef __x86_64__
        __builtin_ia32_pause();
#endif
    }
    const double start_s = omp_get_wtime();
    while (atomic_load_explicit(&m->turn, memory_order_acquire) == turn) sched_yield();
    return omp_get_wtime() - start_s;
}

#endif
