/*
 * Sizes of fragments and sums of their levels. A tile has few fragments: a block adds them up in a
 * hash table in shared memory, which then goes to device memory. What has no slot in the table goes
 * there at once.
 */
#include "kernels/device/hash_table.cuh"
#include "kernels/supervoxels/connect/fragment_tiles_cuda.cuh"

namespace lob::supervoxels
{

enum {
    PROBES = 8,  /* slots that a fragment may have */
    SUM_BITS = 9 /* log2 of all slots */
};
static_assert(THREADS == 256, "a thread copies one entry of the table of linear light");

/* ---- levels ---- */

/* What levels are computed from: any type; sRGB bytes, for CIELAB; or 16-bit integers, which are
 * added as stored, in whole strips. */
typedef enum { FROM_ANY, FROM_LAB, FROM_SIGNED, FROM_UNSIGNED } level_source;

/* What is read one step ahead. */
typedef struct {
    label_strip strip;
    uint4 stored; /* FROM_SIGNED, FROM_UNSIGNED */
} stored_strip;

template <level_source FROM>
static __device__ inline stored_strip read_strip(const connect_params &p,
                                                 const strip_column &column, int step)
{
    stored_strip r = {};
    r.strip = strip_of_column(p, column, step);
    if ((FROM == FROM_SIGNED || FROM == FROM_UNSIGNED) && step < column.rows)
        r.stored = *(const uint4 *)((const uint16_t *)p.s.image.stored + r.strip.voxel);
    return r;
}

/* The voxels of a strip that have a fragment. Others may lie beyond the row. */
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
            load_strip((const ctype *)p.s.image.stored + i, 1, p.whole_strips, data));
    switch (p.s.image.type) {
        LOB_TYPE_LIST(READ_LEVELS)
    case LOB_TYPES:
        break;
    }
#undef READ_LEVELS
}

/* Levels of a strip, two in a word, of C channels from `channel` on; or the values as stored. */
template <int C, level_source FROM>
static __device__ inline void words_of(uint32_t word[C][STRIP / 2], const connect_params &p,
                                       const stored_strip &r, int channel, const uint16_t *linear)
{
    if (FROM == FROM_SIGNED || FROM == FROM_UNSIGNED) {
        word[0][0] = r.stored.x, word[0][1] = r.stored.y;
        word[0][2] = r.stored.z, word[0][3] = r.stored.w;
        return;
    }
    uint32_t level[C][STRIP];
    if (FROM == FROM_LAB) {
        const uint8_t *at = (const uint8_t *)p.s.image.stored + r.strip.voxel;
        const unsigned data = data_of(r.strip);
        strip_values<uint8_t> rgb[3];
#pragma unroll
        for (int c = 0; c < 3; c++)
            rgb[c] = load_strip(at + c * p.s.image.voxels, 1, p.whole_strips, data);
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            uint16_t lab[3];
            lob_lab(lab, rgb[0].value[j], rgb[1].value[j], rgb[2].value[j], linear, p.s.root);
#pragma unroll
            for (int c = 0; c < C; c++) level[c][j] = lab[c];
        }
    } else {
#pragma unroll
        for (int c = 0; c < C; c++) read_levels(level[c], p, r.strip, channel + c);
    }
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < STRIP; j += 2)
            word[c][j / 2] = __byte_perm(level[c][j], level[c][j + 1], 0x5410);
}

/* ---- sums ---- */

typedef struct {
    uint32_t *fragment; /* per slot; 0: free */
    uint32_t *size;
    uint32_t *sums; /* per slot and channel */
} sum_table;

/* A thread's part of a fragment, of C channels. */
template <int C> struct partial_sum {
    int32_t fragment; /* 0: none */
    uint32_t size, sum[C];
};

/* A stored value is this much above its level. It is subtracted from the sums, modulo 2^32, which
 * is exact since the sums of levels fit 32 bits. */
template <level_source FROM>
static __device__ inline uint32_t stored_offset(const connect_params &p)
{
    const bool as_stored = FROM == FROM_SIGNED || FROM == FROM_UNSIGNED;
    return as_stored ? (uint32_t)p.s.levels.low_bits + p.s.lowest[0] : 0;
}

/* A constant for the sources that have a fixed number. */
template <level_source FROM> static __device__ inline int channels_of(const connect_params &p)
{
    return FROM == FROM_ANY ? p.s.rule.channels : FROM == FROM_LAB ? 3 : 1;
}

template <int C, level_source FROM>
static __device__ inline void add_partial(const connect_params &p, const sum_table &t, int channel,
                                          const partial_sum<C> &of)
{
    if (of.fragment == 0) return;
    const int channels = channels_of<FROM>(p),
              slot = hash_slot<SUM_BITS, PROBES>(t.fragment, (uint32_t)of.fragment);
    uint32_t sum[C];
#pragma unroll
    for (int c = 0; c < C; c++) sum[c] = of.sum[c] - of.size * stored_offset<FROM>(p);
    if (slot >= 0) {
        if (channel == 0) atomicAdd(&t.size[slot], of.size);
#pragma unroll
        for (int c = 0; c < C; c++) atomicAdd(&t.sums[slot * channels + channel + c], sum[c]);
        return;
    }
    const int64_t fragment = (int64_t)p.before + of.fragment;
    if (channel == 0) atomicAdd(&p.size[fragment], of.size);
#pragma unroll
    for (int c = 0; c < C; c++) add_sum(p, fragment * channels + channel + c, sum[c]);
}

/* Bits 0..3 as four bytes of 1 or 0. */
static __device__ inline uint32_t spread_four(unsigned voxels)
{
    return (voxels & 15) * 0x00204081u & 0x01010101u;
}

template <int C, level_source FROM>
static __device__ inline partial_sum<C> partial_of(int32_t fragment, unsigned voxels,
                                                   const uint32_t word[C][STRIP / 2])
{
    const uint32_t low = spread_four(voxels), high = spread_four(voxels >> 4);
    partial_sum<C> of;
    of.fragment = fragment;
    of.size = (uint32_t)__popc(voxels);
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

/* Add to the partial sum that the thread holds; if that is of another fragment, it is added to the
 * table first. */
template <int C, level_source FROM>
static __device__ inline void accumulate(const connect_params &p, const sum_table &t, int channel,
                                         partial_sum<C> *held, const partial_sum<C> &of)
{
    if (held->fragment != of.fragment) {
        add_partial<C, FROM>(p, t, channel, *held);
        *held = of;
        return;
    }
    held->size += of.size;
#pragma unroll
    for (int c = 0; c < C; c++) held->sum[c] += of.sum[c];
}

/* Of a block's table. */
static int64_t table_bytes(int channels)
{
    return (2 + channels) * (int64_t)sizeof(uint32_t) << SUM_BITS;
}

/* r.label[j] without an indexed access, which would move the array to local memory. */
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
 * All strips of a thread, for C channels from `channel` on. A strip mostly starts and ends in the
 * same fragments as the strip before: the thread holds the partial sums of these two.
 */
template <int C, level_source FROM>
static __device__ inline void add_steps(const connect_params &p, const sum_table &t,
                                        voxel_position corner, int channel, const uint16_t *linear)
{
    const strip_column column = column_of(p, corner);
    partial_sum<C> first = {}, last = {};
    stored_strip next = read_strip<FROM>(p, column, 0);
    for (int step = 0; step < p.steps; step++) {
        __syncwarp(); /* else lanes diverge for good */
        const stored_strip r = next;
        if (step + 1 < p.steps) next = read_strip<FROM>(p, column, step + 1);
        const int32_t *label = r.strip.label;
        const unsigned changes = changes_of(r.strip);
        if (label[0] == 0 && changes == 0) continue;
        uint32_t word[C][STRIP / 2];
        words_of<C, FROM>(word, p, r, channel, linear);
        accumulate<C, FROM>(p, t, channel, &first,
                            partial_of<C, FROM>(label[0], voxels_from(1, changes), word));
        if (changes == 0) continue;
        const int last_change = 31 - __clz((int)changes);
        accumulate<C, FROM>(
            p, t, channel, &last,
            partial_of<C, FROM>(label[STRIP - 1], ALL_VOXELS & ~0u << last_change, word));
        for (unsigned left = changes & ~(1u << last_change); left; left &= left - 1) {
            const int start = __ffs((int)left) - 1;
            add_partial<C, FROM>(p, t, channel,
                                 partial_of<C, FROM>(label_at(r.strip, start),
                                                     voxels_from(1u << start, changes), word));
        }
    }
    add_partial<C, FROM>(p, t, channel, first);
    add_partial<C, FROM>(p, t, channel, last);
}

/* C: channels added in one pass over the tile. */
template <int C, level_source FROM>
static __global__ void __launch_bounds__(THREADS, FROM == FROM_LAB ? 3
                                                  : C == 1         ? 4
                                                                   : 2)
    sums_kernel(const __grid_constant__ connect_params p)
{
    extern __shared__ uint32_t shared[];
    __shared__ uint16_t linear[FROM == FROM_LAB ? 256 : 1];
    const int channels = channels_of<FROM>(p), thread = (int)threadIdx.x;
    const sum_table t = {shared, shared + (1 << SUM_BITS), shared + (2 << SUM_BITS)};
    const voxel_position corner = tile_corner(p, blockIdx.x);
    for (int i = thread; i < (2 + channels) << SUM_BITS; i += THREADS) shared[i] = 0;
    if (FROM == FROM_LAB) linear[thread] = p.s.linear[thread];
    __syncthreads();
    for (int c = 0; c < channels; c += C) add_steps<C, FROM>(p, t, corner, c, linear);
    __syncthreads();
    for (int i = thread; i < 1 << SUM_BITS; i += THREADS) {
        if (t.fragment[i] == 0) continue;
        const int64_t fragment = (int64_t)p.before + t.fragment[i];
        atomicAdd(&p.size[fragment], t.size[i]);
#pragma unroll 1
        for (int c = 0; c < channels; c++)
            add_sum(p, fragment * channels + c, t.sums[i * channels + c]);
    }
}

lob_status sum_fragments(lob_device *device, const connect_params *p, lob_error *error)
{
    const lob_supervoxels_rule *rule = &p->s.rule;
    const bool as_stored = p->whole_strips && p->s.levels.exact && rule->channels == 1;
    const auto kernel = rule->lab                                 ? sums_kernel<3, FROM_LAB>
                        : rule->channels == 3                     ? sums_kernel<3, FROM_ANY>
                        : as_stored && p->s.image.type == LOB_I16 ? sums_kernel<1, FROM_SIGNED>
                        : as_stored && p->s.image.type == LOB_U16 ? sums_kernel<1, FROM_UNSIGNED>
                                                                  : sums_kernel<1, FROM_ANY>;
    return lob_launch(device, kernel, "sums of fragments",
                      (int64_t)p->tiles[0] * p->tiles[1] * p->tiles[2], THREADS,
                      (size_t)table_bytes(rule->channels), *p, error);
}

} /* namespace lob::supervoxels */
