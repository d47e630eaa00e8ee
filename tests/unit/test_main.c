/* main of every unit test: runs what TEST defines, in the order of its file. */
#include "tests/unit/cmocka_test.h"

/* In programs with io_scratch.c its folder is made first, emptied after each test and removed. */
__attribute__((weak)) int scratch_begin(void **state);
__attribute__((weak)) int scratch_clear(void **state);
__attribute__((weak)) int scratch_end(void **state);

static struct CMUnitTest tests[64];
static size_t count;

void test_add(const char *name, CMUnitTestFunction test)
{
    if (count == COUNT(tests)) abort();
    tests[count++] = (struct CMUnitTest){name, test, NULL, scratch_clear, NULL};
}

int main(void)
{
    return count == 0 ||
           _cmocka_run_group_tests("tests", tests, count, scratch_begin, scratch_end) != 0;
}
