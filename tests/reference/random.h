/* The random numbers of the tests: a state, and the next number of its stream (SplitMix64). */
#ifndef LOB_TESTS_RANDOM_H
#define LOB_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A whole number in [0, bound). */
static inline int64_t random_below(uint64_t *state, int64_t bound)
{
    return (int64_t)(random_next(state) % (uint64_t)bound);
}

/* A number in [0, 1). */
static inline double random_double(uint64_t *state)
{
    return (double)(random_next(state) >> 11) / 9007199254740992.0;
}

static inline bool random_chance(uint64_t *state, int percent)
{
    return random_below(state, 100) < percent;
}

#endif
