/* Random numbers without state: each is a hash of a key and a counter. */
#ifndef LOB_PHANTOM_RANDOM_H
#define LOB_PHANTOM_RANDOM_H

#include <stdint.h>

/* The finaliser of splitmix64 (Steele, Lea and Flood, 2014) over a counter. */
static inline uint64_t random_bits(uint64_t key, uint64_t counter)
{
    uint64_t h = key + counter * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

/* The key of one use of a random seed. */
static inline uint64_t random_key(uint64_t seed, uint64_t use)
{
    return random_bits(random_bits(seed, 1) + use, 2);
}

/* [0, 1) */
static inline double random_unit(uint64_t key, uint64_t counter)
{
    return (double)(random_bits(key, counter) >> 11) * 0x1p-53;
}

/* [-1, 1) */
static inline double random_signed(uint64_t key, uint64_t counter)
{
    return 2.0 * random_unit(key, counter) - 1.0;
}

/*
 * Mean 0, standard deviation 1: the sum of eight 16-bit numbers, which is close to normal up to
 * four standard deviations and needs no logarithm.
 */
static inline double random_normal(uint64_t key, uint64_t counter)
{
    const uint64_t a = random_bits(key, 2 * counter), b = random_bits(key, 2 * counter + 1);
    int64_t sum = 0;
    for (int shift = 0; shift < 64; shift += 16)
        sum += (int64_t)(a >> shift & 0xffff) + (int64_t)(b >> shift & 0xffff);
    return (double)(sum - 8 * 32768 + 4) * (1.0 / 53509.98);
}

/* floor(v) without the library, for |v| < 2^63. */
static inline int64_t floor_whole(double v)
{
    const int64_t i = (int64_t)v;
    return v < (double)i ? i - 1 : i;
}

/* A smooth random function in [-1, 1] with features of size about 1 (value noise). */
static inline double random_smooth(uint64_t key, double x, double y, double z)
{
    const int64_t ix = floor_whole(x), iy = floor_whole(y), iz = floor_whole(z);
    double f[3] = {x - (double)ix, y - (double)iy, z - (double)iz};
    for (int a = 0; a < 3; a++) f[a] = f[a] * f[a] * (3.0 - 2.0 * f[a]);
    double sum = 0.0;
    for (int corner = 0; corner < 8; corner++) {
        const int a = corner & 1, b = corner >> 1 & 1, c = corner >> 2;
        const uint64_t at = (uint64_t)(ix + a) * 73856093u + (uint64_t)(iy + b) * 19349663u +
                            (uint64_t)(iz + c) * 83492791u;
        const double weight =
            (a ? f[0] : 1.0 - f[0]) * (b ? f[1] : 1.0 - f[1]) * (c ? f[2] : 1.0 - f[2]);
        sum += weight * random_signed(key, at);
    }
    return sum;
}

#endif
