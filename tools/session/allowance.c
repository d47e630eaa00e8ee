/* Counting what a command holds. */
#include "tools/session/allowance.h"

#include "volumes/bytes.h"

#include <assert.h>

int64_t lob_allowance_left(const lob_allowance *a)
{
    if (a->limit == 0) return INT64_MAX;
    return a->held < a->limit ? a->limit - a->held : 0;
}

lob_status lob_allowance_take(lob_allowance *a, int64_t bytes, const char *name, lob_error *error)
{
    const int64_t left = lob_allowance_left(a);
    if (bytes < 0)
        return lob_fail_file(error, LOB_ENOMEM, name, "needs more memory than can be addressed");
    if (bytes > left) {
        char need[LOB_BYTES_TEXT], have[LOB_BYTES_TEXT];
        lob_bytes_texts(need, bytes, have, left);
        return lob_fail_file(error, LOB_ENOMEM, name,
                             "needs %s of memory, and --max-memory leaves %s for it", need, have);
    }
    lob_allowance_hold(a, bytes);
    return LOB_OK;
}

void lob_allowance_hold(lob_allowance *a, int64_t bytes)
{
    assert(bytes >= 0);
    a->held += bytes;
    if (a->held > a->most_held) a->most_held = a->held;
}

void lob_allowance_release(lob_allowance *a, int64_t bytes)
{
    assert(bytes >= 0);
    a->held -= bytes;
}
