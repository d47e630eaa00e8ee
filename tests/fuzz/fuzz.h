/* A fuzz target: a function for libFuzzer, and small valid inputs to start from. */
#ifndef LOB_FUZZ_H
#define LOB_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Take any bytes; return 0. Whatever is wrong shows as a crash or a sanitizer's report. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Put sound input number 0, 1, ... into bytes, at most capacity of them; 0 after the last. */
size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity);

/* The same where sound inputs are texts. */
#define FUZZ_TEXTS(...)                                                         \
    size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity)               \
    {                                                                           \
        static const char *const texts[] = {__VA_ARGS__};                       \
        if (number >= (int)(sizeof texts / sizeof texts[0])) return 0;          \
        return fuzz_put(bytes, capacity, texts[number], strlen(texts[number])); \
    }

/* Put n bytes there; returns n, or 0 where there is no room. */
static inline size_t fuzz_put(uint8_t *to, size_t capacity, const void *bytes, size_t n)
{
    if (n > capacity) return 0;
    memcpy(to, bytes, n);
    return n;
}

static inline void check(bool holds)
{
    if (!holds) __builtin_trap();
}

static inline bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

#endif
