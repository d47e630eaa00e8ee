/* Blocks on huge pages. */
#include "volumes/voxel_memory.h"

#include "volumes/voxel_type.h"

#include <stdlib.h>
#include <string.h>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

enum { HUGE_PAGE = 1 << 21 };

/* Advice, which may go unheard: whole huge pages among these bytes. */
static void advise(void *block, int64_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t first = ((uintptr_t)block + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    const uintptr_t end = ((uintptr_t)block + (uintptr_t)bytes) / HUGE_PAGE * HUGE_PAGE;
    if (end > first) madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

void *lob_voxel_memory(int64_t bytes)
{
    void *block = NULL;
    if (bytes < 0 || bytes > INT64_MAX - HUGE_PAGE) return NULL;
    if (bytes < HUGE_PAGE) return malloc(bytes > 0 ? (size_t)bytes : 1);
#ifdef _WIN32 /* there free() takes back nothing that is aligned so */
    block = malloc((size_t)bytes);
#else
    if (posix_memalign(&block, HUGE_PAGE, (size_t)bytes) != 0) return NULL;
#endif
    if (block) advise(block, bytes);
    return block;
}

/* calloc knows that fresh pages are 0 already. */
void *lob_voxel_memory_zero(int64_t bytes)
{
    if (bytes < 0 || bytes > INT64_MAX - HUGE_PAGE) return NULL;
    void *const block = calloc(bytes > 0 ? (size_t)bytes : 1, 1);
    if (block && bytes >= 2 * HUGE_PAGE) advise(block, bytes);
    return block;
}

enum { PIECE = 1 << 16 }; /* bytes that are looked at together */

void lob_clear(void *data, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        if (!lob_all_zero((char *)data + at, n)) memset((char *)data + at, 0, n);
    }
}

void lob_copy_sparse(void *to, const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        if (lob_all_zero((const char *)from + at, n))
            lob_clear((char *)to + at, n);
        else
            memcpy((char *)to + at, (const char *)from + at, n);
    }
}
