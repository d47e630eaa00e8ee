/* Counting wrappers of the allocation functions, put in front of them by the linker (--wrap). */
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **block, size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t max);
char *__real_realpath(const char *path, char *resolved);
int __real_vasprintf(char **text, const char *format, va_list arguments);
void __real_free(void *block);

/* The wrappers are called by the linker's doing alone: no header declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Atomic because threads of the code under test allocate too. */
static atomic_llong count, fail_at, live, bytes, peak;

/* Under the address sanitizer a size that no machine has must fail as it does without. */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static bool fails(void)
{
    return atomic_fetch_add(&count, 1) + 1 == atomic_load(&fail_at);
}

static void add_bytes(int64_t more)
{
    const long long now = atomic_fetch_add(&bytes, more) + more;
    long long max = atomic_load(&peak);
    while (now > max && !atomic_compare_exchange_weak(&peak, &max, now)) {
    }
}

static void *counted(void *block)
{
    if (!block) return NULL;
    atomic_fetch_add(&live, 1);
    add_bytes((int64_t)malloc_usable_size(block));
    return block;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (fails()) return NULL;
    const int64_t before = block ? (int64_t)malloc_usable_size(block) : 0;
    void *moved = __real_realloc(block, size);
    if (!block) return counted(moved);
    if (moved) add_bytes((int64_t)malloc_usable_size(moved) - before);
    return moved;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t size)
{
    if (fails()) return ENOMEM;
    const int result = __real_posix_memalign(block, alignment, size);
    if (result == 0) counted(*block);
    return result;
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : counted(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t max)
{
    return fails() ? NULL : counted(__real_strndup(text, max));
}

char *__wrap_realpath(const char *path, char *resolved)
{
    if (resolved) return __real_realpath(path, resolved);
    if (!fails()) return counted(__real_realpath(path, NULL));
    errno = ENOMEM;
    return NULL;
}

int __wrap_vasprintf(char **text, const char *format, va_list arguments)
{
    if (fails()) return -1;
    const int length = __real_vasprintf(text, format, arguments);
    if (length >= 0) counted(*text);
    return length;
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = __wrap_vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}

void __wrap_free(void *block)
{
    if (block) {
        atomic_fetch_sub(&live, 1);
        add_bytes(-(int64_t)malloc_usable_size(block));
    }
    __real_free(block);
}

void alloc_fail_at(int64_t n)
{
    atomic_store(&count, 0);
    atomic_store(&fail_at, n);
}

int64_t alloc_fail_count(void)
{
    return atomic_load(&count);
}

int64_t alloc_fail_live(void)
{
    return atomic_load(&live);
}

int64_t alloc_fail_bytes(void)
{
    return atomic_load(&bytes);
}

void alloc_fail_peak_begin(void)
{
    atomic_store(&peak, atomic_load(&bytes));
}

int64_t alloc_fail_peak(void)
{
    return atomic_load(&peak);
}

int64_t alloc_fail_sweep(const char *what, alloc_fail_attempt *attempt, void *user)
{
    int64_t reported = 0;
    for (int64_t n = 1;; n++) {
        const int64_t before = alloc_fail_live();
        alloc_fail_at(n);
        const lob_status status = attempt(user);
        const bool reached = alloc_fail_count() >= n;
        alloc_fail_at(0);
        if (alloc_fail_live() != before)
            fail_msg("%s: allocation %lld fails: %lld blocks stay behind", what, (long long)n,
                     (long long)(alloc_fail_live() - before));
        if (status != LOB_OK && !(reached && status == LOB_ENOMEM))
            fail_msg("%s: allocation %lld %s: returned \"%s\"", what, (long long)n,
                     reached ? "fails" : "is the last, and none fails", lob_status_text(status));
        reported += status == LOB_ENOMEM;
        if (!reached) return reported;
    }
}
