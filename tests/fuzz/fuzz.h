/* A fuzz target: a function for libFuzzer, and small valid inputs to start from. */
#ifndef LOB_FUZZ_H
#define LOB_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Take any bytes; return 0. Whatever is wrong shows as a crash or a sanitizer's report. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Put sound input number 0, 1, ... into bytes, at most capacity of them; 0 after the last. */
size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity);

#endif
