/* Copying between blocks, and number by number. */
#include "volumes/blocks.h"

#include <string.h>

void lob_block_copy(const lob_block *to, const lob_block *from, int axes, size_t word,
                    const void *fill)
{
    int64_t low[LOB_BLOCK_AXES], high[LOB_BLOCK_AXES], at[LOB_BLOCK_AXES];
    for (int a = 0; a < axes; a++) {
        const int64_t end = to->first[a] + to->size[a], end_2 = from->first[a] + from->size[a];
        at[a] = low[a] = to->first[a] > from->first[a] ? to->first[a] : from->first[a];
        high[a] = end < end_2 ? end : end_2;
        if (high[a] <= low[a]) return;
    }
    const size_t row = (size_t)(high[axes - 1] - low[axes - 1]);
    for (int a = 0; a >= 0;) {
        int64_t out = 0, in = 0;
        for (a = 0; a < axes; a++) {
            out = out * to->size[a] + at[a] - to->first[a];
            in = in * from->size[a] + at[a] - from->first[a];
        }
        char *const row_to = (char *)to->data + (size_t)out * word;
        if (from->data) memcpy(row_to, (const char *)from->data + (size_t)in * word, row * word);
        for (size_t i = 0; !from->data && i < row; i++) memcpy(row_to + i * word, fill, word);
        for (a = axes - 2; a >= 0 && ++at[a] == high[a]; a--) at[a] = low[a];
    }
}

void lob_copy_strided(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t n,
                      size_t word)
{
    char *out = to;
    const char *in = from;
#define COPY(bytes) \
    for (int64_t i = 0; i < n; i++, out += to_step, in += from_step) memcpy(out, in, bytes)
    if (to_step == (int64_t)word && from_step == to_step) {
        memcpy(to, from, (size_t)n * word);
        return;
    }
    switch (word) {
    case 1:
        COPY(1);
        break;
    case 2:
        COPY(2);
        break;
    case 4:
        COPY(4);
        break;
    default:
        COPY(8);
    }
#undef COPY
}
