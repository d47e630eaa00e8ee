/*
 * A piece of a deflate stream, inflated without knowing what comes before it: bytes that a match
 * takes from before the piece stay marks, which are filled in when those bytes are known. As in
 * M. Kerbiriou and R. Chikhi, "Parallel decompression of gzip-compressed files and random access to
 * DNA sequences", 2019, and M. Knespel and H. Brunst, "Rapidgzip", 2023.
 */
#ifndef LOB_DEFLATE_PIECE_H
#define LOB_DEFLATE_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOB_PIECE_WINDOW = 32 << 10, /* deflate looks back this far */
    LOB_PIECE_MARK = 1 << 15     /* a symbol of at least this stands for a byte of the window: its
                                    place there is the rest */
};

/* The codes of a block, as tables. */
typedef struct lob_piece_codes lob_piece_codes;

typedef struct {
    uint16_t *symbols; /* a window of LOB_PIECE_WINDOW marks or bytes, then the piece's symbols */
    size_t room, used; /* symbols, the window's included */
    size_t most;       /* that room may become */
    uint64_t end_bit;  /* in the stream: of the last block that was inflated */
    bool final;        /* that was the stream's last one */
    lob_piece_codes *codes;
} lob_piece;

/* Room for so many symbols at first, which may become `most`; false without memory. free it then
 * too. */
bool lob_piece_make(lob_piece *piece, size_t room, size_t most);
void lob_piece_free(lob_piece *piece);

/* Begin with a window of marks alone. */
void lob_piece_begin(lob_piece *piece);

/* Begin with a window whose last n bytes are these; before them it has marks. */
void lob_piece_begin_after(lob_piece *piece, const unsigned char *window, size_t n);

/*
 * The first bit in from .. to - 1 where a block with codes of its own may begin that is not the
 * stream's last one; `to` if there is none. What begins there by chance alone has sound codes too,
 * once in some thousand millions of bits.
 */
uint64_t lob_piece_find(lob_piece *piece, const unsigned char *in, size_t size, uint64_t from,
                        uint64_t to);

/*
 * Inflate blocks from a bit on, up to the first block at stop_bit or later that lob_piece_find
 * would find, or the stream's end.
 *
 *   give_up_bit  in  a block that begins here or later is not inflated
 *
 * Returns false when the bits are no sound blocks, at give_up_bit, without memory and beyond `most`
 * symbols.
 */
bool lob_piece_inflate(lob_piece *piece, const unsigned char *in, size_t size, uint64_t from_bit,
                       uint64_t stop_bit, uint64_t give_up_bit);

/*
 * The bytes of n symbols; false when a mark stands for a byte before the first one of the stream.
 *
 *   window  in  LOB_PIECE_WINDOW bytes, of which the last `known` are there
 */
bool lob_piece_bytes(unsigned char *out, const uint16_t *symbols, size_t n,
                     const unsigned char *window, size_t known);

#endif
