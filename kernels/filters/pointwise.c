/* Passes that look at one voxel alone, on the CPU: blocks of voxels through each operation. */
#include "kernels/filters/filter_stages.h"

#include <string.h>

enum { BLOCK = 1024, COLOURS = 3 };

/* ---- loading and storing blocks ---- */

/* Values of n voxels as float32. */
static void load_floats(float *restrict to, const lob_filter_image *in, int64_t first, int64_t n,
                        const lob_filter_pass *pass)
{
    if (pass->slope != 1.0 || pass->inter != 0.0) {
        for (int64_t i = 0; i < n; i++) {
            const double scaled = pass->slope * lob_filter_load(in->data, in->type, first + i);
            to[i] = lob_filter_quiet((float)(scaled + pass->inter));
        }
        return;
    }
    if (in->type == LOB_F64) {
        for (int64_t i = 0; i < n; i++) to[i] = lob_filter_float(in->data, LOB_F64, first + i);
        return;
    }
#define LOAD(type_, ctype, name, integer, lowest, highest)              \
    case type_: {                                                       \
        const ctype *from = (const ctype *)in->data + first;            \
        for (int64_t i = 0; i < n; i++) to[i] = (float)(double)from[i]; \
        break;                                                          \
    }
    LOB_TYPE_SWITCH(in->type, LOAD)
#undef LOAD
}

static void store_floats(const lob_filter_image *out, int64_t first, const float *from, int64_t n)
{
    if (out->type == LOB_F32) {
        memcpy((float *)out->data + first, from, (size_t)n * sizeof *from);
        return;
    }
#define STORE(type_, ctype, name, integer, lowest, highest)                 \
    case type_:                                                             \
        for (int64_t i = 0; i < n; i++)                                     \
            lob_filter_store(out->data, type_, first + i, (double)from[i]); \
        break;
    LOB_TYPE_SWITCH(out->type, STORE)
#undef STORE
}

/* ---- operations ---- */

static void map_block(float *v, int64_t n, const lob_filter_map *map)
{
    for (int64_t i = 0; i < n; i++) v[i] = lob_filter_mapped(v[i], map);
}

static void gray_block(float v[COLOURS][BLOCK], int64_t n)
{
    for (int64_t i = 0; i < n; i++) v[0][i] = lob_filter_luminance(v[0][i], v[1][i], v[2][i]);
}

static void desaturate_block(float v[COLOURS][BLOCK], int64_t n, float amount)
{
    for (int64_t i = 0; i < n; i++) {
        const float luminance = lob_filter_luminance(v[0][i], v[1][i], v[2][i]);
        for (int c = 0; c < COLOURS; c++)
            v[c][i] = lob_filter_desaturated(v[c][i], luminance, amount);
    }
}

/* n voxels from first on through all operations: of one channel, or of the three together. */
static void float_block(const lob_filter_image *out, const lob_filter_image *in,
                        const lob_filter_pass *pass, int64_t voxels, int channel, int together,
                        int64_t first, int64_t n)
{
    float v[COLOURS][BLOCK];
    int left = together;
    for (int c = 0; c < together; c++)
        load_floats(v[c], in, (channel + c) * voxels + first, n, pass);
    for (int k = 0; k < pass->ops; k++) {
        const lob_pass_op *op = &pass->op[k];
        if (op->kind == LOB_FILTER_GRAY) {
            gray_block(v, n);
            left = 1;
        } else if (op->kind == LOB_FILTER_DESATURATE) {
            desaturate_block(v, n, op->amount);
        } else {
            for (int c = 0; c < left; c++) map_block(v[c], n, &op->map);
        }
    }
    for (int c = 0; c < left; c++) store_floats(out, (channel + c) * voxels + first, v[c], n);
}

/* Clamp in the type of the voxels; NaN stays NaN. */
static void clamp_block(const lob_filter_image *out, const lob_filter_image *in,
                        const lob_filter_pass *pass, int64_t first, int64_t n)
{
#define CLAMP(type_, ctype, name, integer, lowest, highest)  \
    case type_: {                                            \
        const ctype *from = (const ctype *)in->data + first; \
        ctype *to = (ctype *)out->data + first, low, high;   \
        lob_filter_store(&low, type_, 0, pass->clamp[0]);    \
        lob_filter_store(&high, type_, 0, pass->clamp[1]);   \
        for (int64_t i = 0; i < n; i++)                      \
            to[i] = !(from[i] - from[i] == 0) ? from[i]      \
                    : from[i] < low           ? low          \
                    : from[i] > high          ? high         \
                                              : from[i];              \
        break;                                               \
    }
    LOB_TYPE_SWITCH(in->type, CLAMP)
#undef CLAMP
}

static void cast_block(const lob_filter_image *out, const lob_filter_image *in,
                       const lob_filter_pass *pass, int64_t first, int64_t n)
{
    for (int64_t i = first; i < first + n; i++)
        lob_filter_cast(out, in, pass->slope, pass->inter, i);
}

void lob_pointwise_run(const lob_filter_image *out, const lob_filter_image *in,
                       const lob_filter_pass *pass, int threads)
{
    const int64_t voxels = lob_dims_voxels(in->dims);
    bool colour = false;
    for (int k = 0; k < pass->ops; k++)
        colour |= pass->op[k].kind == LOB_FILTER_GRAY || pass->op[k].kind == LOB_FILTER_DESATURATE;
    const int together = colour ? COLOURS : 1;
    const int64_t blocks = (voxels + BLOCK - 1) / BLOCK;
    for (int channel = 0; channel < in->channels; channel += together) {
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t b = 0; b < blocks; b++) {
            const int64_t first = b * BLOCK, rest = voxels - first, n = rest < BLOCK ? rest : BLOCK;
            if (pass->kind == LOB_PASS_FLOAT)
                float_block(out, in, pass, voxels, channel, together, first, n);
            else if (pass->kind == LOB_PASS_CLAMP)
                clamp_block(out, in, pass, channel * voxels + first, n);
            else
                cast_block(out, in, pass, channel * voxels + first, n);
        }
    }
}

/* ---- looking through an image ---- */

/* Mark the voxels of a block that are not data. Returns whether one is not, or beyond the bound. */
static bool scan_block(uint8_t *is_not, const lob_volume *image, int64_t first, int64_t n)
{
    bool unbounded = false;
    const int64_t voxels = lob_voxels(image);
    for (int c = 0; c < image->channels; c++) {
#define SCAN(type_, ctype)                                                                       \
    if (image->type == type_) {                                                                  \
        const ctype *v = (const ctype *)image->data + c * voxels + first;                        \
        for (int64_t i = 0; i < n; i++) is_not[i] |= !(v[i] - v[i] == 0);                        \
        for (int64_t i = 0; i < n; i++)                                                          \
            unbounded |= !(v[i] <= (ctype)LOB_FILTER_BOUND && v[i] >= (ctype)-LOB_FILTER_BOUND); \
    }
        SCAN(LOB_F32, float)
        SCAN(LOB_F64, double)
#undef SCAN
    }
    return unbounded;
}

void lob_filter_scan(int64_t *not_data, bool *unbounded, const lob_volume *image,
                     const uint8_t *mask, int threads)
{
    const int64_t voxels = lob_voxels(image), blocks = (voxels + BLOCK - 1) / BLOCK;
    const bool whole = lob_type_of(image->type)->is_integer;
    int64_t count = 0;
    int beyond = 0;
    *not_data = 0;
    *unbounded = false;
    if (whole && !mask) return;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : count) \
    reduction(| : beyond)
    for (int64_t b = 0; b < blocks; b++) {
        uint8_t is_not[BLOCK] = {0};
        const int64_t first = b * BLOCK, rest = voxels - first, n = rest < BLOCK ? rest : BLOCK;
        for (int64_t i = 0; mask && i < n; i++) is_not[i] = mask[first + i] == 0;
        if (!whole) beyond |= scan_block(is_not, image, first, n);
        for (int64_t i = 0; i < n; i++) count += is_not[i];
    }
    *not_data = count;
    *unbounded = beyond != 0;
}
