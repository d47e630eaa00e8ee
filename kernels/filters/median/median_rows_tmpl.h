/*
 * Medians of rows whose voxels are WIDTH bits wide.
 *
 *   WIDTH  8, 16, 32 or 64
 *   COUNT  an unsigned type for counts of up to 2001 in loops over keys
 *
 * Without gaps the 3x3x3 places go through the network of median_network.h, all lanes of a vector
 * at once; other windows by slices of bits (median_slices.h), and those that are too large for
 * these by bisection: the median's key is built from its highest bit on, and a bit is set where
 * fewer keys than the median's rank lie below the key with it set. Places without data have the
 * largest key, so they lie below none.
 */
#define JOIN_(a, b)   a##b
#define JOIN(a, b)    JOIN_(a, b)
#define NAMED(name)   JOIN(name, WIDTH)
#define KEY           JOIN(JOIN(uint, WIDTH), _t)
#define KEY_MAX       ((KEY) ~(KEY)0)
#define FINITE(b, k)  (WIDTH == 64 ? lob_bits_finite_64(b, k) : lob_bits_finite_32((uint32_t)(b), k))
#define NETWORK_LINES 3

typedef struct {
    KEY line[NETWORK_LINES][STRIP + 2];
    KEY sorted[3][STRIP + 2];
    KEY nine[4][9][STRIP];
} NAMED(network_);

/* Of a selection, for each voxel of the strip: data around it, the rank that is sought, keys found
 * below; the median's key so far, and the key that is tried. */
typedef struct {
    int64_t data[STRIP], wanted[STRIP], below[STRIP];
    KEY key[STRIP], tried[STRIP];
    COUNT count[STRIP]; /* what below lacks */
    int64_t counted;    /* places in each of them */
    KEY some, varying;  /* a key, and the bits in which keys differ */
    uint8_t present[STRIP + 2 * LOB_FILTER_MAX_ALONG]; /* of a line's places */
} NAMED(select_);

/* ---- reading ---- */

static KEY NAMED(bits_)(const char *at, int64_t i)
{
    KEY bits;
    memcpy(&bits, at + i * (int64_t)sizeof bits, sizeof bits);
    return bits;
}

static KEY NAMED(edge_key_)(const median_rows *m)
{
    return NAMED(lob_key_)((KEY)m->edge_bits, m->kind);
}

/* Keys of n adjacent voxels, first among all of the volume. */
LOB_SIMD_CLONES(void, NAMED(load_), (keys, m, first, n), KEY *keys, const median_rows *m,
                int64_t first, int64_t n)
{
    const char *in = m->in + first * (int64_t)sizeof(KEY);
    const lob_key_kind kind = m->kind;
    if (kind == LOB_KEY_REAL) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            keys[i] = NAMED(lob_key_)(NAMED(bits_)(in, i), LOB_KEY_REAL);
    } else {
        const KEY flip = kind == LOB_KEY_SIGNED ? (KEY)((KEY)1 << (WIDTH - 1)) : 0;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) keys[i] = NAMED(bits_)(in, i) ^ flip;
    }
}

/* The row of places at y, z, which may lie outside: its first voxel, or -1 where nothing is. */
static int64_t NAMED(row_)(const median_rows *m, int64_t y, int64_t z, lob_edge edge)
{
    const int64_t py = lob_edge_position(y, m->dims.ny, edge);
    const int64_t pz = lob_edge_position(z, m->dims.nz, edge);
    return py < 0 || pz < 0 ? -1 : (pz * m->dims.ny + py) * m->dims.nx;
}

/* Keys of the n places from x on of the row whose first voxel is `row`; missing is the key of
 * places where nothing is. */
static void NAMED(line_)(KEY *keys, const median_rows *m, int64_t row, int64_t x, int64_t n,
                         lob_edge edge, KEY missing)
{
    const int64_t nx = m->dims.nx;
    int64_t i = 0;
    while (i < n) {
        const int64_t at = row < 0 ? -1 : lob_edge_position(x + i, nx, edge);
        if (at >= 0 && at == x + i) {
            const int64_t inside = nx - at < n - i ? nx - at : n - i;
            NAMED(load_)(keys + i, m, row + at, inside);
            i += inside;
        } else if (at >= 0) {
            NAMED(load_)(keys + i++, m, row + at, 1);
        } else {
            keys[i++] = missing;
        }
    }
}

/* Whether the place at x of such a row holds data. */
static bool NAMED(is_data_)(const median_rows *m, int64_t row, int64_t x)
{
    const int64_t at = lob_edge_position(x, m->dims.nx, m->edge);
    if (at < 0 || row < 0) return m->edge == LOB_EDGE_CONSTANT;
    return (!m->mask || m->mask[row + at]) && FINITE(NAMED(bits_)(m->in, row + at), m->kind);
}

static bool NAMED(is_kept_)(const median_rows *m, int64_t voxel, bool any)
{
    return !any || (m->mask && !m->mask[voxel]);
}

/* ---- the network ---- */

#define COMPARE(i, j)                   \
    {                                   \
        const KEY a_ = v[i], b_ = v[j]; \
        v[i] = a_ < b_ ? a_ : b_;       \
        v[j] = a_ < b_ ? b_ : a_;       \
    }
#define KEEP_NINE(k, place) nine[k][x] = v[place];
#define TAKE_TEN(k, place)  const KEY ten##k = v[place];
#define PICK_FIRST(i, j)                                             \
    {                                                                \
        const KEY n_ = before[j][x], g_ = ten##i < n_ ? n_ : ten##i; \
        first = first < g_ ? first : g_;                             \
    }
#define PICK_SECOND(i, j)                                           \
    {                                                               \
        const KEY n_ = after[j][x], g_ = ten##i < n_ ? n_ : ten##i; \
        second = second < g_ ? second : g_;                         \
    }

/* The nines of w voxels from the three lines, which begin a place before them. */
LOB_SIMD_CLONES(void, NAMED(nines_), (nine, s, w), KEY (*nine)[STRIP], NAMED(network_) * s,
                int64_t w)
{
    KEY *const low = s->sorted[0], *const middle = s->sorted[1], *const high = s->sorted[2];
#pragma omp simd
    for (int64_t x = 0; x < w + 2; x++) {
        KEY v[3] = {s->line[0][x], s->line[1][x], s->line[2][x]};
        LOB_SORT_3(COMPARE, 0, 1, 2)
        low[x] = v[0], middle[x] = v[1], high[x] = v[2];
    }
#pragma omp simd
    for (int64_t x = 0; x < w; x++) {
        KEY v[9] = {low[x],      middle[x],  high[x],       low[x + 1], middle[x + 1],
                    high[x + 1], low[x + 2], middle[x + 2], high[x + 2]};
        LOB_MERGE_3_3(COMPARE)
        LOB_MERGE_6_3(COMPARE)
        LOB_NINE_ORDER(KEEP_NINE)
    }
}

/* Two medians of each x: of the nines before, one and other, and of one, other and after. */
LOB_SIMD_CLONES(void, NAMED(pairs_), (to_first, to_second, before, one, other, after, w),
                KEY *to_first, KEY *to_second, KEY (*before)[STRIP], KEY (*one)[STRIP],
                KEY (*other)[STRIP], KEY (*after)[STRIP], int64_t w)
{
#pragma omp simd
    for (int64_t x = 0; x < w; x++) {
        KEY v[18] = {one[0][x],   one[1][x],   one[2][x],   one[3][x],   one[4][x],   one[5][x],
                     one[6][x],   one[7][x],   one[8][x],   other[0][x], other[1][x], other[2][x],
                     other[3][x], other[4][x], other[5][x], other[6][x], other[7][x], other[8][x]};
        LOB_MERGE_9_9(COMPARE)
        LOB_TEN_ORDER(TAKE_TEN)
        KEY first = ten9, second = ten9;
        LOB_PICK(PICK_FIRST)
        LOB_PICK(PICK_SECOND)
        to_first[x] = first, to_second[x] = second;
    }
}

/* Write n keys as voxels. */
static void NAMED(store_)(const median_rows *m, int64_t first, const KEY *keys, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const KEY bits = NAMED(lob_key_back_)(keys[i], m->kind);
        memcpy(m->out + (first + i) * (int64_t)sizeof bits, &bits, sizeof bits);
    }
}

/* The nines of row y across z, or in a flat neighbourhood across y. Places outside, where nothing
 * is, take the nearest voxel: medians that depend on them are selected afterwards. */
static void NAMED(row_nines_)(NAMED(network_) * s, int slot, const median_rows *m, int64_t x,
                              int64_t w, int64_t y, int64_t z)
{
    const bool across_z = m->radius[2] > 0;
    const lob_edge edge = m->edge == LOB_EDGE_RENORMALISE ? LOB_EDGE_NEAREST : m->edge;
    for (int i = 0; i < NETWORK_LINES; i++) {
        const int64_t row =
            NAMED(row_)(m, across_z ? y : y + i - 1, across_z ? z + i - 1 : z, edge);
        NAMED(line_)(s->line[i], m, row, x - 1, w + 2, edge, NAMED(edge_key_)(m));
    }
    NAMED(nines_)(s->nine[slot], s, w);
}

/* Rows y .. y + n - 1 through the network. */
static void NAMED(by_network_)(const median_rows *m, NAMED(network_) * s, int64_t x, int64_t w,
                               int64_t y, int64_t n, int64_t z)
{
    const int64_t nx = m->dims.nx, at = (z * m->dims.ny + y) * nx + x;
    if (m->radius[1] == 0 || m->radius[2] == 0) {
        for (int64_t i = 0; i < n; i++) {
            NAMED(row_nines_)(s, 0, m, x, w, y + i, z);
            NAMED(store_)(m, at + i * nx, s->nine[0][4], w);
        }
        return;
    }
    for (int i = 0; i < 2; i++) NAMED(row_nines_)(s, i, m, x, w, y + i - 1, z);
    for (int64_t i = 0; i < n; i += 2) {
        const int a = (int)(i % 4), b = (a + 1) % 4, c = (a + 2) % 4, d = (a + 3) % 4;
        NAMED(row_nines_)(s, c, m, x, w, y + i + 1, z);
        NAMED(row_nines_)(s, d, m, x, w, y + i + 2, z);
        NAMED(pairs_)(s->line[0], s->line[1], s->nine[a], s->nine[b], s->nine[c], s->nine[d], w);
        NAMED(store_)(m, at + i * nx, s->line[0], w);
        if (i + 1 < n) NAMED(store_)(m, at + (i + 1) * nx, s->line[1], w);
    }
}

/* ---- slices ---- */

/* Bit i of word j becomes bit j of word i, in each square of WIDTH bits (Warren, Hacker's Delight,
 * 7-3). */
LOB_SIMD_CLONES(void, NAMED(turn_), (word), uint64_t *word)
{
    for (int apart = WIDTH / 2; apart > 0; apart /= 2) {
        const uint64_t low = ~(uint64_t)0 / (((uint64_t)1 << apart) + 1);
        for (int from = 0; from < WIDTH; from += 2 * apart)
            for (int i = from; i < from + apart; i++) {
                const uint64_t moved = (word[i] >> apart ^ word[i + apart]) & low;
                word[i] ^= moved << apart;
                word[i + apart] ^= moved;
            }
    }
}

/* Read the row of voxels at y, z into slices, as row number `to` counted through their planes. */
static void NAMED(slice_row_)(const median_rows *m, lob_median_slices *s, int64_t x, int64_t w,
                              int64_t y, int64_t z, int64_t to)
{
    const int64_t r = m->radius[0], n = w + 2 * r, row = NAMED(row_)(m, y, z, m->edge);
    KEY keys[2 * LOB_SLICE_WIDE] = {0};
    uint64_t word[2][WIDTH + 1] = {{0}};
    NAMED(line_)(keys, m, row, x - r, n, m->edge, NAMED(edge_key_)(m));
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < LOB_SLICE_WIDE; i++)
            word[half][i % WIDTH] |= (uint64_t)keys[half * LOB_SLICE_WIDE + i] << i / WIDTH * WIDTH;
        NAMED(turn_)(word[half]);
    }
    for (int64_t i = 0; i < n; i++)
        word[i / LOB_SLICE_WIDE][WIDTH] |= (uint64_t)NAMED(is_data_)(m, row, x - r + i)
                                           << i % LOB_SLICE_WIDE;
    for (int b = 0; b <= WIDTH; b++) {
        const uint64_t low = word[0][b], high = word[1][b];
        uint64_t *const slice = s->slice + b * s->size + to;
        if (b < WIDTH) {
            const uint64_t set = (low & word[0][WIDTH]) | (high & word[1][WIDTH]);
            const uint64_t clear = (~low & word[0][WIDTH]) | (~high & word[1][WIDTH]);
            s->set |= (uint64_t)(set != 0) << b;
            s->clear |= (uint64_t)(clear != 0) << b;
        }
        slice[0] = low;
        for (int64_t i = 1; i < s->wide; i++)
            slice[i * s->high] = low >> i | high << (LOB_SLICE_WIDE - i);
    }
}

/* Write the medians of w voxels from the words of their row. */
static void NAMED(write_slices_)(const median_rows *m, uint64_t (*medians)[LOB_SLICE_TOGETHER],
                                 int number, int64_t at, int64_t w)
{
    uint64_t word[WIDTH];
    KEY keys[LOB_SLICE_WIDE];
    for (int b = 0; b < WIDTH; b++) word[b] = medians[b][number];
    NAMED(turn_)(word);
    for (int i = 0; i < LOB_SLICE_WIDE; i++) keys[i] = (KEY)(word[i % WIDTH] >> i / WIDTH * WIDTH);
    for (int64_t i = 0; i < w; i++)
        if (NAMED(is_kept_)(m, at + i, medians[WIDTH][number] >> i & 1))
            keys[i] = NAMED(lob_key_)(NAMED(bits_)(m->in, at + i), m->kind);
    NAMED(store_)(m, at, keys, w);
}

/* A tile by slices: planes come in one by one, each in the place of the one that is done with. */
static void NAMED(by_slices_)(const median_rows *m, void *scratch, const int64_t at[3],
                              const int64_t side[3])
{
    const int64_t *r = m->radius;
    lob_median_slices s;
    uint64_t medians[WIDTH + 1][LOB_SLICE_TOGETHER];
    lob_median_slices_lay(&s, scratch, r, WIDTH);
    for (int64_t k = 0; k < side[2] + 2 * r[2]; k++) {
        const int64_t z = at[2] + k - 2 * r[2];
        for (int64_t i = 0; i < side[1] + 2 * r[1]; i++) NAMED(slice_row_)
        (m, &s, at[0], side[0], at[1] + i - r[1], z + r[2], k % s.deep * s.wide * s.high + i);
        for (int64_t y = 0; k >= 2 * r[2] && y < side[1]; y += LOB_SLICE_TOGETHER) {
            lob_median_slices_find(medians, &s, y);
            for (int i = 0; i < LOB_SLICE_TOGETHER && y + i < side[1]; i++) NAMED(write_slices_)
            (m, medians, i, (z * m->dims.ny + at[1] + y + i) * m->dims.nx + at[0], side[0]);
        }
    }
}

/* ---- bisection ---- */

static void NAMED(flush_)(NAMED(select_) * s, int64_t w)
{
    for (int64_t x = 0; x < w; x++) s->below[x] += (int64_t)s->count[x];
    memset(s->count, 0, (size_t)w * sizeof *s->count);
    s->counted = 0;
}

/* Count how many of line[x] .. line[x + 2r] are less than tried[x]. */
LOB_SIMD_CLONES(void, NAMED(count_), (s, line, w, r), NAMED(select_) * s, const KEY *line,
                int64_t w, int64_t r)
{
    COUNT *const count = s->count;
    const KEY *const tried = s->tried;
    const int64_t places = 2 * r + 1;
    int64_t i = 0;
    if (s->counted + places > (int64_t)((COUNT) ~(COUNT)0 >> 1)) NAMED(flush_)(s, w);
    s->counted += places;
    for (; i + 4 <= places; i += 4)
#pragma omp simd
        for (int64_t x = 0; x < w; x++) {
            const KEY *const k = line + x + i;
            const KEY t = tried[x];
            const COUNT two = (COUNT)((COUNT)(k[0] < t) + (COUNT)(k[1] < t));
            const COUNT more = (COUNT)((COUNT)(k[2] < t) + (COUNT)(k[3] < t));
            count[x] = (COUNT)(count[x] + two + more);
        }
    for (; i < places; i++)
#pragma omp simd
        for (int64_t x = 0; x < w; x++) count[x] = (COUNT)(count[x] + (line[x + i] < tried[x]));
}

/* Read the places of a row, with the largest key where there is no data, and add to data[x] how
 * many of the window of x hold data. */
static void NAMED(read_line_)(NAMED(select_) * s, KEY *keys, const median_rows *m, int64_t row,
                              int64_t x, int64_t w)
{
    const int64_t r = m->radius[0], nx = m->dims.nx, n = w + 2 * r;
    const bool constant = m->edge == LOB_EDGE_CONSTANT;
    const bool inside = x >= r && x + w + r <= nx;
    int64_t here = 0;
    NAMED(line_)(keys, m, row, x - r, n, m->edge, constant ? NAMED(edge_key_)(m) : KEY_MAX);
    if (!m->gaps && (inside || m->edge != LOB_EDGE_RENORMALISE)) {
        for (int64_t i = 0; i < w; i++) s->data[i] += 2 * r + 1;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        s->present[i] = NAMED(is_data_)(m, row, x - r + i);
        if (!s->present[i]) keys[i] = KEY_MAX;
    }
    for (int64_t i = 0; i < n; i++) {
        here += s->present[i];
        if (i >= 2 * r) s->data[i - 2 * r] += here, here -= s->present[i - 2 * r];
    }
}

/* Which bits vary among the keys of a line. */
static void NAMED(vary_)(NAMED(select_) * s, const KEY *line, int64_t n)
{
    KEY varying = 0;
    for (int64_t i = 0; i < n; i++) varying |= line[i] ^ s->some;
    s->varying |= varying;
}

/* Visit all rows of a neighbourhood: first to find the ranks and which bits vary, then to count. */
static void NAMED(visit_)(bool count, const median_rows *m, NAMED(select_) * s, int64_t x,
                          int64_t w, int64_t y, int64_t z)
{
    const int64_t *r = m->radius;
    KEY *const line = (KEY *)(s + 1);
    bool first = true;
    for (int64_t dz = -r[2]; dz <= r[2]; dz++)
        for (int64_t dy = -r[1]; dy <= r[1]; dy++) {
            const int64_t row = NAMED(row_)(m, y + dy, z + dz, m->edge);
            if (row < 0 && m->edge == LOB_EDGE_RENORMALISE) continue;
            NAMED(read_line_)(s, line, m, row, x, w);
            if (count) {
                NAMED(count_)(s, line, w, r[0]);
                continue;
            }
            if (first) s->some = line[0], first = false;
            NAMED(vary_)(s, line, w + 2 * r[0]);
        }
}

/* The bits of the keys, from the highest on. A bit in which no keys differ needs no count. */
static void NAMED(bisect_)(const median_rows *m, NAMED(select_) * s, int64_t x, int64_t w,
                           int64_t y, int64_t z)
{
    for (int bit = WIDTH - 1; bit >= 0; bit--) {
        const KEY one = (KEY)((KEY)1 << bit);
        if (!(s->varying & one)) {
            for (int64_t i = 0; i < w; i++) s->key[i] |= s->some & one;
            continue;
        }
        memset(s->below, 0, (size_t)w * sizeof *s->below);
        for (int64_t i = 0; i < w; i++) s->tried[i] = s->key[i] | one;
        NAMED(visit_)(true, m, s, x, w, y, z);
        NAMED(flush_)(s, w);
        for (int64_t i = 0; i < w; i++)
            if (s->below[i] < s->wanted[i]) s->key[i] = s->tried[i];
    }
}

/* Select the medians of w voxels of a row. */
static void NAMED(select_row_)(const median_rows *m, NAMED(select_) * s, int64_t x, int64_t w,
                               int64_t y, int64_t z)
{
    const int64_t at = (z * m->dims.ny + y) * m->dims.nx + x;
    memset(s, 0, sizeof *s);
    NAMED(visit_)(false, m, s, x, w, y, z);
    for (int64_t i = 0; i < w; i++) s->wanted[i] = lob_median_rank(s->data[i]);
    NAMED(bisect_)(m, s, x, w, y, z);
    for (int64_t i = 0; i < w; i++)
        if (NAMED(is_kept_)(m, at + i, s->wanted[i] > 0))
            s->key[i] = NAMED(lob_key_)(NAMED(bits_)(m->in, at + i), m->kind);
    NAMED(store_)(m, at, s->key, w);
}

/* The median of one voxel with at most 27 places, some of which lie where nothing is. */
static void NAMED(median_of_few_)(const median_rows *m, int64_t x, int64_t y, int64_t z)
{
    const int64_t *r = m->radius, at = (z * m->dims.ny + y) * m->dims.nx + x;
    KEY keys[27];
    int n = 0;
    for (int64_t dz = -r[2]; dz <= r[2]; dz++)
        for (int64_t dy = -r[1]; dy <= r[1]; dy++) {
            const int64_t row = NAMED(row_)(m, y + dy, z + dz, m->edge);
            for (int64_t dx = row < 0 ? r[0] + 1 : -r[0]; dx <= r[0]; dx++) {
                const int64_t px = lob_edge_position(x + dx, m->dims.nx, m->edge);
                if (px < 0) continue;
                const KEY key = NAMED(lob_key_)(NAMED(bits_)(m->in, row + px), m->kind);
                int i = n++;
                for (; i > 0 && keys[i - 1] > key; i--) keys[i] = keys[i - 1];
                keys[i] = key;
            }
        }
    NAMED(store_)(m, at, &keys[lob_median_rank(n) - 1], 1);
}

/* ---- blocks ---- */

static int64_t NAMED(scratch_)(const median_rows *m)
{
    const int64_t line = (STRIP + 2 * m->radius[0]) * (int64_t)sizeof(KEY);
    if (m->method == BY_NETWORK) return (int64_t)sizeof(NAMED(network_));
    if (m->method == BY_SLICES) return lob_median_slices_bytes(m->radius, WIDTH);
    return (int64_t)sizeof(NAMED(select_)) + line;
}

/* Whether places of the neighbourhoods of a row lie where nothing is, in another row or plane. */
static bool NAMED(row_lacks_)(const median_rows *m, int64_t y, int64_t z)
{
    return m->edge == LOB_EDGE_RENORMALISE && (y < m->radius[1] || y >= m->dims.ny - m->radius[1] ||
                                               z < m->radius[2] || z >= m->dims.nz - m->radius[2]);
}

static void NAMED(block_)(const median_rows *m, void *scratch, const int64_t at[3],
                          const int64_t side[3])
{
    const int64_t nx = m->dims.nx, x = at[0], w = side[0], z = at[2];
    if (m->method == BY_SLICES) {
        NAMED(by_slices_)(m, scratch, at, side);
        return;
    }
    if (m->method == BY_NETWORK) NAMED(by_network_)(m, scratch, x, w, at[1], side[1], z);
    for (int64_t i = at[1]; i < at[1] + side[1]; i++) {
        if (m->method == BY_BISECTION) {
            NAMED(select_row_)(m, scratch, x, w, i, z);
        } else if (NAMED(row_lacks_)(m, i, z)) {
            for (int64_t k = x; k < x + w; k++) NAMED(median_of_few_)(m, k, i, z);
        } else if (m->edge == LOB_EDGE_RENORMALISE) {
            if (x == 0) NAMED(median_of_few_)(m, 0, i, z);
            if (x + w == nx) NAMED(median_of_few_)(m, nx - 1, i, z);
        }
    }
}

static const median_width NAMED(median_) = {NAMED(scratch_), NAMED(block_)};

#undef JOIN_
#undef JOIN
#undef NAMED
#undef KEY
#undef KEY_MAX
#undef FINITE
#undef NETWORK_LINES
#undef COMPARE
#undef KEEP_NINE
#undef TAKE_TEN
#undef PICK_FIRST
#undef PICK_SECOND
#undef WIDTH
#undef COUNT
