/* Blocks of a grid of several axes, and rows of numbers: copying from one to another. */
#ifndef LOB_BLOCKS_H
#define LOB_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

enum { LOB_BLOCK_AXES = 5 };

/* Where a block lies, the slowest axis first, and its numbers, one after another. */
typedef struct {
    void *data;
    int64_t first[LOB_BLOCK_AXES], size[LOB_BLOCK_AXES];
} lob_block;

/*
 * Copy what two blocks of a grid of `axes` axes have in common.
 *
 *   word  in  bytes of a number
 *   fill  in  the number that stands for each of `from` where its data is NULL
 */
void lob_block_copy(const lob_block *to, const lob_block *from, int axes, size_t word,
                    const void *fill);

/* Copy n numbers of 1, 2, 4 or 8 bytes, with so many bytes from each to the next. */
void lob_copy_strided(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t n,
                      size_t word);

#endif
