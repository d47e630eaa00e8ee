/* What every unit test includes: cmocka with the headers that it needs, and what most tests use. */
#ifndef LOB_CMOCKA_TEST_H
#define LOB_CMOCKA_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* cmocka hands each test a state, and callbacks are handed more than tests look at. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* TEST(name) { ... } defines a test; test_main.c runs all tests of a program. */
#define TEST(name)                                                            \
    static void name(void **cmocka_state);                                    \
    __attribute__((constructor(101 + __LINE__))) static void add_##name(void) \
    {                                                                         \
        test_add(#name, name);                                                \
    }                                                                         \
    static void name(void **cmocka_state)

void test_add(const char *name, CMUnitTestFunction test);

/* A context for a call: so many threads, and nothing else. */
#define THREADS(n) (&(const lob_context){.threads = (n)})

/* Fail the test unless a call returns LOB_OK. */
#define assert_ok(call) assert_int_equal(call, LOB_OK)

/*
 * So many random cases. The sanitizers make a case several times slower, and look at its memory
 * rather than at its result, which the optimised build compares for all of them.
 */
#ifdef __has_feature /* clang's */
#define WATCHES_THREADS __has_feature(thread_sanitizer)
#else
#define WATCHES_THREADS 0
#endif
#if defined(__SANITIZE_ADDRESS__) || WATCHES_THREADS
#define CASES(n) ((n) / 4)
#else
#define CASES(n) (n)
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A braced list, as of a table's row, that clang-format wraps instead of aligning its braces. */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

#endif
