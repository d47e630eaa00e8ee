/* A list of labels as it is given on the command line. */
#include "tools/options/options.h"

#include <stdlib.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The range at the head of a list; the place behind it, or NULL when there is none. */
static const char *read_range(const char *at, long *first, long *last)
{
    char *end;
    if (!is_digit(*at)) return NULL;
    *first = *last = strtol(at, &end, 10);
    if (*end == '-' && is_digit(end[1])) *last = strtol(end + 1, &end, 10);
    return end;
}

lob_status lob_label_list_check(const char *list, const char *option, lob_error *error)
{
    const char *at = list;
    for (bool more = true; more;) {
        long first, last;
        const char *end = read_range(at, &first, &last);
        more = end && *end == ',';
        if (!end || first < 1 || last < first || last > INT32_MAX || (*end && !more))
            return lob_fail(error, LOB_EARG, "--%s: '%s' is no list such as 2,4,7-9", option, list);
        at = end + 1;
    }
    return LOB_OK;
}

const char *lob_label_list_next(const char *list, int32_t *first, int32_t *last)
{
    long low = 0, high = 0;
    const char *end = read_range(list, &low, &high);
    *first = (int32_t)low;
    *last = (int32_t)high;
    return end && *end == ',' ? end + 1 : NULL;
}

bool lob_label_list_has(const char *list, int32_t label)
{
    for (const char *at = list; at && *at;) {
        int32_t first, last;
        at = lob_label_list_next(at, &first, &last);
        if (label >= first && label <= last) return true;
    }
    return false;
}
