/* Inflating a piece of a deflate stream into bytes and marks (RFC 1951). */
#include "io/deflate_piece.h"

#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_BITS = 11, /* of the first table of literals and lengths, */
    DISTANCE_BITS = 8,
    PRECODE_BITS = 7,
    LENGTH_ROOM = 4096, /* more than complete codes of 288 symbols need: 2342, */
    DISTANCE_ROOM = 1024,
    LONGEST_CODE = 15,
    LONGEST_MATCH = 258,
    SLACK = LONGEST_MATCH + 16 /* symbols that a step may write beyond what it checked */
};

/* An entry: kind, value from bit 16 on, extra bits (of a link: bits of the second table) from bit 8
 * on, length of the code in the lowest bits. */
#define LITERAL 0x80000000U
#define LINK    0x40000000U
#define END     0x20000000U
#define BAD     0x10000000U

static uint32_t value_of(uint32_t entry)
{
    return entry >> 16 & 0xfff;
}

static unsigned extra_of(uint32_t entry)
{
    return entry >> 8 & 0xff;
}

static unsigned length_of(uint32_t entry)
{
    return entry & 0xff;
}

struct lob_piece_codes {
    uint32_t length[LENGTH_ROOM], distance[DISTANCE_ROOM], precode[1 << PRECODE_BITS];
};

bool lob_piece_make(lob_piece *piece, size_t room, size_t most)
{
    *piece = (lob_piece){.room = LOB_PIECE_WINDOW + room, .most = LOB_PIECE_WINDOW + most};
    piece->symbols = malloc((piece->room + SLACK) * sizeof *piece->symbols);
    piece->codes = malloc(sizeof *piece->codes);
    return piece->symbols && piece->codes;
}

void lob_piece_free(lob_piece *piece)
{
    free(piece->symbols);
    free(piece->codes);
    *piece = (lob_piece){.symbols = NULL};
}

void lob_piece_begin(lob_piece *piece)
{
    for (int i = 0; i < LOB_PIECE_WINDOW; i++) piece->symbols[i] = (uint16_t)(LOB_PIECE_MARK + i);
    piece->used = LOB_PIECE_WINDOW;
    piece->final = false;
}

void lob_piece_begin_after(lob_piece *piece, const unsigned char *window, size_t n)
{
    lob_piece_begin(piece);
    for (size_t i = 0; i < n; i++) piece->symbols[LOB_PIECE_WINDOW - n + i] = window[i];
}

static bool grow(lob_piece *piece)
{
    if (piece->room >= piece->most) return false;
    const size_t room = 2 * piece->room < piece->most ? 2 * piece->room : piece->most;
    uint16_t *const symbols = realloc(piece->symbols, (room + SLACK) * sizeof *symbols);
    if (!symbols) return false;
    piece->symbols = symbols;
    piece->room = room;
    return true;
}

/* ---- bits ---- */

typedef struct {
    const unsigned char *next, *end;
    uint64_t bits;  /* the stream's next ones, lowest first, */
    unsigned count; /* so many */
    unsigned past;  /* zero bits that stand for what is beyond the end */
    const unsigned char *start;
} bit_reader;

static inline uint64_t load(const unsigned char *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* At least 56 bits, which are zeros beyond the end. */
static inline void refill(bit_reader *r)
{
    if (r->end - r->next >= 8) {
        r->bits |= load(r->next) << r->count;
        r->next += (63 - r->count) >> 3;
        r->count |= 56;
        return;
    }
    while (r->count <= 56) {
        if (r->next < r->end)
            r->bits |= (uint64_t)*r->next++ << r->count;
        else
            r->past += 8;
        r->count += 8;
    }
}

static inline uint32_t peek(const bit_reader *r, unsigned n)
{
    return (uint32_t)(r->bits & (((uint64_t)1 << n) - 1));
}

static inline void drop(bit_reader *r, unsigned n)
{
    r->bits >>= n;
    r->count -= n;
}

static inline uint32_t take(bit_reader *r, unsigned n)
{
    const uint32_t bits = peek(r, n);
    drop(r, n);
    return bits;
}

static uint64_t bit_at(const bit_reader *r)
{
    return (uint64_t)(r->next - r->start) * 8 + r->past - r->count;
}

static bool is_past(const bit_reader *r)
{
    return r->past > r->count;
}

static bit_reader reader_at(const unsigned char *in, size_t size, uint64_t bit)
{
    bit_reader r = {.start = in, .end = in + size};
    r.next = bit / 8 < size ? in + bit / 8 : r.end;
    refill(&r);
    drop(&r, (unsigned)(bit % 8));
    return r;
}

/* ---- codes ---- */

static uint32_t reversed(uint32_t code, unsigned n)
{
    uint32_t turned = 0;
    for (unsigned i = 0; i < n; i++) turned |= (code >> i & 1) << (n - 1 - i);
    return turned;
}

/* How many codes there are of each length, and whether they fill the space of codes exactly. */
static bool count_lengths(uint16_t count[LONGEST_CODE + 1], const uint8_t *lengths, int n)
{
    uint32_t filled = 0;
    memset(count, 0, (LONGEST_CODE + 1) * sizeof *count);
    for (int i = 0; i < n; i++) count[lengths[i]]++;
    count[0] = 0;
    for (unsigned l = 1; l <= LONGEST_CODE; l++) filled += (uint32_t)count[l] << (LONGEST_CODE - l);
    return filled == 1U << LONGEST_CODE;
}

/* Second tables for codes of more than `bits` bits: the first table gets links to them. */
static bool make_links(uint32_t *table, unsigned room, unsigned bits, const uint32_t *codes,
                       const uint8_t *lengths, int n)
{
    uint8_t longest[1 << LENGTH_BITS] = {0};
    const uint32_t mask = (1U << bits) - 1;
    uint32_t next = mask + 1;
    for (int i = 0; i < n; i++)
        if (lengths[i] > bits && lengths[i] > longest[codes[i] & mask])
            longest[codes[i] & mask] = lengths[i];
    for (uint32_t p = 0; p <= mask; p++) {
        if (longest[p] == 0) continue;
        const unsigned more = longest[p] - bits;
        if (next + (1U << more) > room) return false;
        table[p] = LINK | next << 16 | more << 8 | bits;
        for (uint32_t i = 0; i < 1U << more; i++) table[next + i] = BAD;
        next += 1U << more;
    }
    return true;
}

/*
 * Tables of a code.
 *
 *   entries  in  what symbols mean, without the length of their codes
 */
static bool make_table(uint32_t *table, unsigned room, unsigned bits, const uint8_t *lengths,
                       const uint32_t *entries, int n, const uint16_t count[LONGEST_CODE + 1])
{
    uint32_t codes[288], first[LONGEST_CODE + 2] = {0};
    for (unsigned l = 1; l <= LONGEST_CODE; l++) first[l + 1] = (first[l] + count[l]) << 1;
    for (int i = 0; i < n; i++)
        codes[i] = lengths[i] ? reversed(first[lengths[i]]++, lengths[i]) : 0;
    for (uint32_t i = 0; i < 1U << bits; i++) table[i] = BAD;
    if (!make_links(table, room, bits, codes, lengths, n)) return false;
    for (int i = 0; i < n; i++) {
        const unsigned l = lengths[i];
        if (l == 0) continue;
        uint32_t *to = table;
        unsigned in = bits, of = l, code = codes[i];
        if (l > bits) {
            const uint32_t link = table[code & ((1U << bits) - 1)];
            to = table + value_of(link);
            in = extra_of(link);
            of = l - bits;
            code >>= bits;
        }
        for (uint32_t k = code; k < 1U << in; k += 1U << of) to[k] = entries[i] | of;
    }
    return true;
}

/* What the symbols of lengths and distances mean: base and extra bits. */
static const uint16_t length_base[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                         15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                         67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

static void length_entries(uint32_t entries[288])
{
    for (uint32_t i = 0; i < 256; i++) entries[i] = LITERAL | i << 16;
    entries[256] = END;
    for (uint32_t i = 0; i < 29; i++)
        entries[257 + i] = (uint32_t)length_base[i] << 16 | (uint32_t)length_extra[i] << 8;
    entries[286] = entries[287] = BAD;
}

/* Of a distance the value is its symbol; its base follows from that and the extra bits. */
static void distance_entries(uint32_t entries[32])
{
    for (uint32_t i = 0; i < 30; i++) entries[i] = i << 16 | (i < 2 ? 0 : (i - 2) / 2) << 8;
    entries[30] = entries[31] = BAD;
}

static inline uint32_t distance_base(uint32_t symbol, unsigned extra)
{
    return symbol < 2 ? symbol + 1 : ((2 + (symbol & 1)) << extra) + 1;
}

/* A code of distances may be empty, or have a single code of one bit. */
static bool are_distances(const uint16_t count[LONGEST_CODE + 1], bool full)
{
    int codes = 0;
    for (unsigned l = 1; l <= LONGEST_CODE; l++) codes += count[l];
    return full || codes == 0 || (codes == 1 && count[1] == 1);
}

static bool use_lengths(lob_piece_codes *codes, const uint8_t *lengths, int literals, int distances)
{
    uint16_t count[LONGEST_CODE + 1], far[LONGEST_CODE + 1];
    uint32_t entries[288];
    if (lengths[256] == 0 || !count_lengths(count, lengths, literals)) return false;
    if (!are_distances(far, count_lengths(far, lengths + literals, distances))) return false;
    length_entries(entries);
    if (!make_table(codes->length, LENGTH_ROOM, LENGTH_BITS, lengths, entries, literals, count))
        return false;
    distance_entries(entries);
    return make_table(codes->distance, DISTANCE_ROOM, DISTANCE_BITS, lengths + literals, entries,
                      distances, far);
}

/* The code of a block of type 1. */
static bool use_fixed(lob_piece_codes *codes)
{
    uint8_t lengths[288 + 32];
    for (int i = 0; i < 288; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    memset(lengths + 288, 5, 32);
    return use_lengths(codes, lengths, 288, 32);
}

/* The lengths of the code of lengths, and their table; false where they are no complete code. */
static bool read_precode(lob_piece_codes *codes, bit_reader *r, int n)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[19] = {0};
    uint16_t count[LONGEST_CODE + 1];
    uint32_t entries[19];
    for (int i = 0; i < n; i++) {
        if (i % 16 == 0) refill(r);
        lengths[order[i]] = (uint8_t)take(r, 3);
    }
    if (!count_lengths(count, lengths, 19)) return false;
    for (uint32_t i = 0; i < 19; i++) entries[i] = i << 16;
    return make_table(codes->precode, 1 << PRECODE_BITS, PRECODE_BITS, lengths, entries, 19, count);
}

/* The lengths of both codes of a block of type 2, behind its first three bits. */
static bool read_codes(lob_piece_codes *codes, bit_reader *r)
{
    uint8_t lengths[288 + 32] = {0};
    refill(r);
    const int literals = 257 + (int)take(r, 5), distances = 1 + (int)take(r, 5);
    const int precodes = 4 + (int)take(r, 4), all = literals + distances;
    if (literals > 286 || distances > 30 || !read_precode(codes, r, precodes)) return false;
    for (int i = 0; i < all;) {
        refill(r);
        const uint32_t entry = codes->precode[peek(r, PRECODE_BITS)];
        const uint32_t symbol = value_of(entry);
        drop(r, length_of(entry));
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && i == 0) return false;
        const uint8_t again = symbol == 16 ? lengths[i - 1] : 0;
        const int times = symbol == 16   ? 3 + (int)take(r, 2)
                          : symbol == 17 ? 3 + (int)take(r, 3)
                                         : 11 + (int)take(r, 7);
        if (i + times > all) return false;
        memset(lengths + i, again, (size_t)times);
        i += times;
    }
    return !is_past(r) && use_lengths(codes, lengths, literals, distances);
}

/* ---- finding ---- */

enum { OPEN_BLOCK = 4 }; /* the first three bits of a block of type 2 that is not the last */

/* Do the lengths that follow fill the space of codes of 7 bits exactly? bits: 57 of them. */
static bool is_precode(uint64_t bits, int n)
{
    unsigned filled = 0;
    for (int i = 0; i < n; i++, bits >>= 3)
        if (bits & 7) filled += 128U >> (bits & 7);
    return filled == 128;
}

static uint64_t bits_at(const unsigned char *in, size_t size, uint64_t bit)
{
    uint64_t word = 0;
    const size_t at = (size_t)(bit / 8);
    if (size - at >= 8) return load(in + at) >> (bit % 8);
    for (size_t i = size - at; i > 0; i--) word = word << 8 | in[at + i - 1];
    return word >> (bit % 8);
}

uint64_t lob_piece_find(lob_piece *piece, const unsigned char *in, size_t size, uint64_t from,
                        uint64_t to)
{
    if (size < 16) return to;
    const uint64_t last = (uint64_t)(size - 16) * 8;
    for (uint64_t bit = from; bit < to && bit < last; bit++) {
        const uint64_t head = bits_at(in, size, bit);
        if ((head & 7) != OPEN_BLOCK || (head >> 3 & 31) > 29 || (head >> 8 & 31) > 29) continue;
        const uint64_t lengths = bits_at(in, size, bit + 17);
        const int n = 4 + (int)(head >> 13 & 15);
        const uint64_t rest = bits_at(in, size, bit + 17 + 48); /* of the last three lengths */
        if (!is_precode((lengths & 0xffffffffffff) | rest << 48, n)) continue;
        bit_reader r = reader_at(in, size, bit + 3);
        if (read_codes(piece->codes, &r)) return bit;
    }
    return to;
}

/* ---- inflating ---- */

/* Copy a match, whose source may overlap its end. Up to 15 symbols beyond it may be written. */
static inline void copy_match(uint16_t *to, uint32_t distance, uint32_t n)
{
    const uint16_t *from = to - distance;
    if (distance >= 8) {
        for (uint32_t i = 0; i < n; i += 8) memcpy(to + i, from + i, 8 * sizeof *to);
        return;
    }
    for (uint32_t i = 0; i < n; i++) to[i] = from[i];
}

static inline uint32_t look_up(bit_reader *r, const uint32_t *table, unsigned bits)
{
    uint32_t entry = table[peek(r, bits)];
    if (entry & LINK) {
        drop(r, bits);
        entry = table[value_of(entry) + peek(r, extra_of(entry))];
    }
    drop(r, length_of(entry));
    return entry;
}

/* The symbols of a block whose codes are known. */
static bool inflate_codes(lob_piece *piece, bit_reader *reader)
{
    bit_reader r = *reader;
    const lob_piece_codes *const codes = piece->codes;
    uint16_t *to = piece->symbols + piece->used, *limit = piece->symbols + piece->room - 8;
    bool sound = false;
    for (;;) {
        if (to >= limit) {
            piece->used = (size_t)(to - piece->symbols);
            if (!grow(piece)) break;
            to = piece->symbols + piece->used;
            limit = piece->symbols + piece->room - 8;
        }
        refill(&r); /* 56 bits are three codes of 15 */
        uint32_t entry = look_up(&r, codes->length, LENGTH_BITS);
        if (entry & LITERAL) {
            *to++ = (uint16_t)value_of(entry);
            entry = look_up(&r, codes->length, LENGTH_BITS);
            if (entry & LITERAL) {
                *to++ = (uint16_t)value_of(entry);
                entry = look_up(&r, codes->length, LENGTH_BITS);
                if (entry & LITERAL) {
                    *to++ = (uint16_t)value_of(entry);
                    continue;
                }
            }
            refill(&r);
        }
        if (entry & (END | BAD)) {
            sound = (entry & END) != 0;
            break;
        }
        const uint32_t n = value_of(entry) + take(&r, extra_of(entry));
        const uint32_t far = look_up(&r, codes->distance, DISTANCE_BITS);
        if (far & BAD) break;
        const uint32_t distance =
            distance_base(value_of(far), extra_of(far)) + take(&r, extra_of(far));
        copy_match(to, distance, n);
        to += n;
        if (r.past > 64) break; /* zeros beyond the end make matches without end */
    }
    piece->used = (size_t)(to - piece->symbols);
    *reader = r;
    return sound && !is_past(&r);
}

/* A block of type 0: bytes as they are, from the next whole byte on. */
static bool copy_stored(lob_piece *piece, bit_reader *r)
{
    const uint64_t at = (bit_at(r) + 7) / 8;
    const uint64_t left = (uint64_t)(r->end - r->start);
    if (at + 4 > left) return false;
    const unsigned char *from = r->start + at;
    const size_t n = from[0] | (size_t)from[1] << 8, check = from[2] | (size_t)from[3] << 8;
    if ((n ^ check) != 0xffff || at + 4 + n > left) return false;
    while (piece->used + n > piece->room)
        if (!grow(piece)) return false;
    for (size_t i = 0; i < n; i++) piece->symbols[piece->used + i] = from[4 + i];
    piece->used += n;
    *r = reader_at(r->start, (size_t)left, (at + 4 + n) * 8);
    return true;
}

bool lob_piece_inflate(lob_piece *piece, const unsigned char *in, size_t size, uint64_t from_bit,
                       uint64_t stop_bit, uint64_t give_up_bit)
{
    bit_reader r = reader_at(in, size, from_bit);
    for (;;) {
        refill(&r);
        piece->end_bit = bit_at(&r);
        if (piece->end_bit >= stop_bit && peek(&r, 3) == OPEN_BLOCK) return true;
        if (piece->end_bit >= give_up_bit) return false;
        piece->final = take(&r, 1);
        const uint32_t type = take(&r, 2);
        bool sound = false;
        if (type == 0)
            sound = copy_stored(piece, &r);
        else if (type < 3)
            sound = (type == 1 ? use_fixed(piece->codes) : read_codes(piece->codes, &r)) &&
                    inflate_codes(piece, &r);
        if (!sound) return false;
        if (piece->final) {
            piece->end_bit = bit_at(&r);
            return true;
        }
    }
}

bool lob_piece_bytes(unsigned char *out, const uint16_t *symbols, size_t n,
                     const unsigned char *window, size_t known)
{
    enum { STEP = 64 };
    const uint16_t first = (uint16_t)(LOB_PIECE_WINDOW - known); /* place of the first known byte */
    bool sound = true;
    for (size_t i = 0; i < n; i += STEP) {
        const size_t some = n - i < STEP ? n - i : STEP;
        const uint16_t *const from = symbols + i;
        uint16_t all = 0;
        for (size_t k = 0; k < some; k++) all |= from[k];
        for (size_t k = 0; k < some; k++) out[i + k] = (unsigned char)from[k];
        if (all < LOB_PIECE_MARK) continue;
        for (size_t k = 0; k < some; k++) {
            if (from[k] < LOB_PIECE_MARK) continue;
            const uint16_t place = from[k] & (LOB_PIECE_MARK - 1);
            sound = sound && place >= first;
            out[i + k] = window[place];
        }
    }
    return sound;
}
