/*
 * Sums of pieces. Few meet in a tile, so that a table in shared memory adds up what a block found
 * before it goes to memory; what the table has no place for goes there at once.
 */
#ifndef LOB_SUPERVOXELS_MEASURE_CUDA_CUH
#define LOB_SUPERVOXELS_MEASURE_CUDA_CUH

#include "kernels/device/hash_table.cuh"
#include "kernels/supervoxels/connect/fragments_cuda.cuh"

namespace lob::supervoxels
{

enum {
    PROBES = 8,  /* places where a table looks before it gives up */
    SUM_BITS = 9 /* logarithm of places for pieces */
};
static_assert(THREADS == 256, "a thread reads one entry of linear light");

/* ---- levels ---- */

/* What levels are made from: any type; CIELAB from bytes; or 16 bits, added up as they are stored,
 * where all lie whole and aligned. */
typedef enum { FROM_ANY, FROM_LAB, FROM_SIGNED, FROM_UNSIGNED } level_source;

/* What is read of a run ahead of time. */
typedef struct {
    label_strip run;
    uint4 stored; /* FROM_SIGNED, FROM_UNSIGNED */
} read_strip;

template <level_source FROM>
static __device__ inline read_strip read_step(const connect_params &p, const strip_column &column,
                                              int step)
{
    read_strip r = {};
    r.run = strip_of_column(p, column, step);
    if ((FROM == FROM_SIGNED || FROM == FROM_UNSIGNED) && step < column.rows)
        r.stored = *(const uint4 *)((const uint16_t *)p.s.image.stored + r.run.voxel);
    return r;
}

/* Which of a run's voxels a piece has: others need not be there. */
static __device__ inline unsigned data_of(const label_strip &r)
{
    unsigned data = 0;
#pragma unroll
    for (int j = 0; j < STRIP; j++) data |= r.label[j] != 0 ? 1u << j : 0;
    return data;
}

static __device__ inline void read_levels(uint32_t *level, const connect_params &p,
                                          const label_strip &r, int channel)
{
    const int64_t i = channel * p.s.image.voxels + r.voxel;
    const unsigned data = data_of(r);
#define READ_LEVELS(type_, ctype, name, integer, lowest, highest) \
    case type_:                                                   \
        return levels_of<false>(                                  \
            level, p.s, channel,                                  \
            load_strip((const ctype *)p.s.image.stored + i, 1, p.whole, data));
    switch (p.s.image.type) {
        LOB_TYPE_LIST(READ_LEVELS)
    case LOB_TYPES:
        break;
    }
#undef READ_LEVELS
}

/* Levels of a run, two in a word, C channels from one on; or what is stored. */
template <int C, level_source FROM>
static __device__ inline void words_of(uint32_t word[C][STRIP / 2], const connect_params &p,
                                       const read_strip &r, int channel, const uint16_t *linear)
{
    if (FROM == FROM_SIGNED || FROM == FROM_UNSIGNED) {
        word[0][0] = r.stored.x, word[0][1] = r.stored.y;
        word[0][2] = r.stored.z, word[0][3] = r.stored.w;
        return;
    }
    uint32_t level[C][STRIP];
    if (FROM == FROM_LAB) {
        const uint8_t *at = (const uint8_t *)p.s.image.stored + r.run.voxel;
        const unsigned data = data_of(r.run);
        strip_values<uint8_t> rgb[3];
#pragma unroll
        for (int c = 0; c < 3; c++)
            rgb[c] = load_strip(at + c * p.s.image.voxels, 1, p.whole, data);
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            uint16_t lab[3];
            lob_lab(lab, rgb[0].value[j], rgb[1].value[j], rgb[2].value[j], linear, p.s.root);
#pragma unroll
            for (int c = 0; c < C; c++) level[c][j] = lab[c];
        }
    } else {
#pragma unroll
        for (int c = 0; c < C; c++) read_levels(level[c], p, r.run, channel + c);
    }
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < STRIP; j += 2)
            word[c][j / 2] = __byte_perm(level[c][j], level[c][j + 1], 0x5410);
}

/* ---- sums of pieces ---- */

typedef struct {
    uint32_t *piece; /* 1 << SUM_BITS; 0: free */
    uint32_t *n;     /* the same */
    uint32_t *sums;  /* times channels */
} sum_table;

/* What a thread has of a piece, C channels from one on. */
template <int C> struct tally {
    int32_t piece; /* 0: none */
    uint32_t n, sum[C];
};

/* What is stored lies this much above its level: sums are what they should be modulo 2^32, and so
 * right, since they fit. */
template <level_source FROM> static __device__ inline uint32_t above_level(const connect_params &p)
{
    const bool as_stored = FROM == FROM_SIGNED || FROM == FROM_UNSIGNED;
    return as_stored ? (uint32_t)p.s.levels.low_bits + p.s.lowest[0] : 0;
}

/* Of sources that have a number of their own it is known at once. */
template <level_source FROM> static __device__ inline int channels_of(const connect_params &p)
{
    return FROM == FROM_ANY ? p.s.rule.channels : FROM == FROM_LAB ? 3 : 1;
}

/* WIDE: sums are, which is known of a kernel. */
template <bool WIDE>
static __device__ inline void add_to_piece(const connect_params &p, int64_t i, u64 sum)
{
    if (WIDE)
        atomicAdd(&p.sums[i], sum);
    else
        add_sum(p, i, sum);
}

template <int C, level_source FROM, bool WIDE>
static __device__ inline void add_tally(const connect_params &p, const sum_table &t, int channel,
                                        const tally<C> &of)
{
    if (of.piece == 0) return;
    const int channels = channels_of<FROM>(p),
              place = hash_slot<SUM_BITS, PROBES>(t.piece, (uint32_t)of.piece);
    uint32_t sum[C];
#pragma unroll
    for (int c = 0; c < C; c++) sum[c] = of.sum[c] - of.n * above_level<FROM>(p);
    if (place >= 0) {
        if (channel == 0) atomicAdd(&t.n[place], of.n);
#pragma unroll
        for (int c = 0; c < C; c++) atomicAdd(&t.sums[place * channels + channel + c], sum[c]);
        return;
    }
    if (channel == 0) atomicAdd(&p.n[of.piece], of.n);
#pragma unroll
    for (int c = 0; c < C; c++)
        add_to_piece<WIDE>(p, (int64_t)of.piece * channels + channel + c, sum[c]);
}

/* A byte for each of four voxels: 1 or 0. */
static __device__ inline uint32_t spread_four(unsigned voxels)
{
    return (voxels & 15) * 0x00204081u & 0x01010101u;
}

template <int C, level_source FROM>
static __device__ inline tally<C> tally_of(int32_t piece, unsigned voxels,
                                           const uint32_t word[C][STRIP / 2])
{
    const uint32_t low = spread_four(voxels), high = spread_four(voxels >> 4);
    tally<C> of;
    of.piece = piece;
    of.n = (uint32_t)__popc(voxels);
#pragma unroll
    for (int c = 0; c < C; c++)
        if (FROM == FROM_SIGNED) {
            int sum = __dp2a_lo((int)word[c][0], (int)low, 0);
            sum = __dp2a_hi((int)word[c][1], (int)low, sum);
            sum = __dp2a_lo((int)word[c][2], (int)high, sum);
            of.sum[c] = (uint32_t)__dp2a_hi((int)word[c][3], (int)high, sum);
        } else {
            uint32_t sum = __dp2a_lo(word[c][0], low, 0u);
            sum = __dp2a_hi(word[c][1], low, sum);
            sum = __dp2a_lo(word[c][2], high, sum);
            of.sum[c] = __dp2a_hi(word[c][3], high, sum);
        }
    return of;
}

/* Keep what is of the same piece; what was kept of another is added where it belongs. */
template <int C, level_source FROM, bool WIDE>
static __device__ inline void keep_tally(const connect_params &p, const sum_table &t, int channel,
                                         tally<C> *kept, const tally<C> &of)
{
    if (kept->piece != of.piece) {
        add_tally<C, FROM, WIDE>(p, t, channel, *kept);
        *kept = of;
        return;
    }
    kept->n += of.n;
#pragma unroll
    for (int c = 0; c < C; c++) kept->sum[c] += of.sum[c];
}

static int64_t sum_bytes(int channels)
{
    return (2 + channels) * (int64_t)sizeof(uint32_t) << SUM_BITS;
}

/* Of voxel j. */
static __device__ inline int32_t label_at(const label_strip &r, int j)
{
    int32_t four[4], two[2];
#pragma unroll
    for (int k = 0; k < 4; k++) four[k] = j & 4 ? r.label[k + 4] : r.label[k];
#pragma unroll
    for (int k = 0; k < 2; k++) two[k] = j & 2 ? four[k + 2] : four[k];
    return j & 1 ? two[1] : two[0];
}

/*
 * The steps of a thread, for C channels from one on. Its runs lie one behind the other, and mostly
 * begin and end in the pieces of the one before: these it keeps until others come.
 */
template <int C, level_source FROM, bool WIDE>
static __device__ inline void add_steps(const connect_params &p, const sum_table &t, corner tile,
                                        int channel, const uint16_t *linear)
{
    const strip_column column = column_of(p, tile);
    tally<C> first = {}, last = {};
    read_strip next = read_step<FROM>(p, column, 0);
    for (int step = 0; step < p.steps; step++) {
        __syncwarp(); /* or each lane would go on by itself */
        const read_strip r = next;
        if (step + 1 < p.steps) next = read_step<FROM>(p, column, step + 1);
        const int32_t *label = r.run.label;
        const unsigned begins = begins_of(r.run);
        if (label[0] == 0 && begins == 0) continue;
        uint32_t word[C][STRIP / 2];
        words_of<C, FROM>(word, p, r, channel, linear);
        keep_tally<C, FROM, WIDE>(p, t, channel, &first,
                                  tally_of<C, FROM>(label[0], voxels_from(1, begins), word));
        if (begins == 0) continue;
        const int last_begin = 31 - __clz((int)begins);
        keep_tally<C, FROM, WIDE>(
            p, t, channel, &last,
            tally_of<C, FROM>(label[STRIP - 1], ALL_VOXELS & ~0u << last_begin, word));
        for (unsigned left = begins & ~(1u << last_begin); left; left &= left - 1) {
            const int begin = __ffs((int)left) - 1;
            add_tally<C, FROM, WIDE>(
                p, t, channel,
                tally_of<C, FROM>(label_at(r.run, begin), voxels_from(1u << begin, begins), word));
        }
    }
    add_tally<C, FROM, WIDE>(p, t, channel, first);
    add_tally<C, FROM, WIDE>(p, t, channel, last);
}

/* Sums of all pieces, C channels at a time, into zeros. */
template <int C, level_source FROM, bool WIDE>
static __global__ void __launch_bounds__(THREADS, FROM == FROM_LAB ? 3
                                                  : C == 1         ? 4
                                                                   : 2)
    sums_kernel(const __grid_constant__ connect_params p)
{
    extern __shared__ uint32_t shared[];
    __shared__ uint16_t linear[FROM == FROM_LAB ? 256 : 1];
    const int channels = channels_of<FROM>(p), thread = (int)threadIdx.x;
    const sum_table t = {shared, shared + (1 << SUM_BITS), shared + (2 << SUM_BITS)};
    const corner tile = corner_of(p, blockIdx.x);
    for (int i = thread; i < (2 + channels) << SUM_BITS; i += THREADS) shared[i] = 0;
    if (FROM == FROM_LAB) linear[thread] = p.s.linear[thread];
    __syncthreads();
    for (int c = 0; c < channels; c += C) add_steps<C, FROM, WIDE>(p, t, tile, c, linear);
    __syncthreads();
    for (int i = thread; i < 1 << SUM_BITS; i += THREADS) {
        const int64_t piece = t.piece[i];
        if (piece == 0) continue;
        atomicAdd(&p.n[piece], t.n[i]);
#pragma unroll 1
        for (int c = 0; c < channels; c++)
            add_to_piece<WIDE>(p, piece * channels + c, t.sums[i * channels + c]);
    }
}

} /* namespace lob::supervoxels */

#endif
