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

/* Levels of a strip, two in a word, of C channels from `channel` on; LAB: from sRGB bytes. */
template <int C, bool LAB>
static __device__ inline void words_of(uint32_t word[C][STRIP / 2], const connect_params &p,
                                       const label_strip &r, int channel, const uint16_t *linear)
{
    uint32_t level[C][STRIP];
    if (LAB) {
        const uint8_t *at = (const uint8_t *)p.s.image.stored + r.voxel;
        const unsigned data = data_of(r);
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
        for (int c = 0; c < C; c++) read_levels(level[c], p, r, channel + c);
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

template <int C>
static __device__ inline void add_partial(const connect_params &p, const sum_table &t, int channel,
                                          const partial_sum<C> &of)
{
    if (of.fragment == 0) return;
    const int channels = p.s.rule.channels,
              slot = hash_slot<SUM_BITS, PROBES>(t.fragment, (uint32_t)of.fragment);
    if (slot >= 0) {
        if (channel == 0) atomicAdd(&t.size[slot], of.size);
#pragma unroll
        for (int c = 0; c < C; c++) atomicAdd(&t.sums[slot * channels + channel + c], of.sum[c]);
        return;
    }
    const int64_t fragment = (int64_t)p.before + of.fragment;
    if (channel == 0) atomicAdd(&p.size[fragment], of.size);
#pragma unroll
    for (int c = 0; c < C; c++) add_sum(p, fragment * channels + channel + c, of.sum[c]);
}

/* Bits 0..3 as four bytes of 1 or 0. */
static __device__ inline uint32_t spread_four(unsigned voxels)
{
    return (voxels & 15) * 0x00204081u & 0x01010101u;
}

template <int C>
static __device__ inline partial_sum<C> partial_of(int32_t fragment, unsigned voxels,
                                                   const uint32_t word[C][STRIP / 2])
{
    const uint32_t low = spread_four(voxels), high = spread_four(voxels >> 4);
    partial_sum<C> of;
    of.fragment = fragment;
    of.size = (uint32_t)__popc(voxels);
#pragma unroll
    for (int c = 0; c < C; c++) {
        uint32_t sum = __dp2a_lo(word[c][0], low, 0u);
        sum = __dp2a_hi(word[c][1], low, sum);
        sum = __dp2a_lo(word[c][2], high, sum);
        of.sum[c] = __dp2a_hi(word[c][3], high, sum);
    }
    return of;
}

/* Add to the partial sum that the thread holds; if that is of another fragment, it is added to the
 * table first. */
template <int C>
static __device__ inline void accumulate(const connect_params &p, const sum_table &t, int channel,
                                         partial_sum<C> *held, const partial_sum<C> &of)
{
    if (held->fragment != of.fragment) {
        add_partial<C>(p, t, channel, *held);
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
template <int C, bool LAB>
static __device__ inline void add_steps(const connect_params &p, const sum_table &t,
                                        voxel_position corner, int channel, const uint16_t *linear)
{
    const strip_column column = column_of(p, corner);
    partial_sum<C> first = {}, last = {};
    label_strip next = strip_of_column(p, column, 0);
    for (int step = 0; step < p.steps; step++) {
        __syncwarp(); /* else lanes diverge for good */
        const label_strip r = next;
        if (step + 1 < p.steps) next = strip_of_column(p, column, step + 1);
        const int32_t *label = r.label;
        const unsigned changes = changes_of(r);
        if (label[0] == 0 && changes == 0) continue;
        uint32_t word[C][STRIP / 2];
        words_of<C, LAB>(word, p, r, channel, linear);
        accumulate<C>(p, t, channel, &first,
                      partial_of<C>(label[0], voxels_from(1, changes), word));
        if (changes == 0) continue;
        const int last_change = 31 - __clz((int)changes);
        accumulate<C>(p, t, channel, &last,
                      partial_of<C>(label[STRIP - 1], ALL_VOXELS & ~0u << last_change, word));
        for (unsigned left = changes & ~(1u << last_change); left; left &= left - 1) {
            const int start = __ffs((int)left) - 1;
            add_partial<C>(
                p, t, channel,
                partial_of<C>(label_at(r, start), voxels_from(1u << start, changes), word));
        }
    }
    add_partial<C>(p, t, channel, first);
    add_partial<C>(p, t, channel, last);
}

/* C: channels added in one pass over the tile. */
template <int C, bool LAB>
static __global__ void __launch_bounds__(THREADS, LAB      ? 3
                                                  : C == 1 ? 4
                                                           : 2)
    sums_kernel(const __grid_constant__ connect_params p)
{
    extern __shared__ uint32_t shared[];
    __shared__ uint16_t linear[LAB ? 256 : 1];
    const int channels = p.s.rule.channels, thread = (int)threadIdx.x;
    const sum_table t = {shared, shared + (1 << SUM_BITS), shared + (2 << SUM_BITS)};
    const voxel_position corner = tile_corner(p, blockIdx.x);
    for (int i = thread; i < (2 + channels) << SUM_BITS; i += THREADS) shared[i] = 0;
    if (LAB) linear[thread] = p.s.linear[thread];
    __syncthreads();
    for (int c = 0; c < channels; c += C) add_steps<C, LAB>(p, t, corner, c, linear);
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
    const auto kernel = rule->lab             ? sums_kernel<3, true>
                        : rule->channels == 3 ? sums_kernel<3, false>
                                              : sums_kernel<1, false>;
    return lob_launch(device, kernel, "sums of fragments",
                      (int64_t)p->tiles[0] * p->tiles[1] * p->tiles[2], THREADS,
                      (size_t)table_bytes(rule->channels), *p, error);
}

} /* namespace lob::supervoxels */
