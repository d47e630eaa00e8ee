/* Refining on the CPU: the loops over voxels. */
#include "kernels/arrays.h"
#include "kernels/refine/refine_job.h"
#include "kernels/simd_clones.h"

#include <string.h>

/* ---- loops of voxels alone ---- */

/* Voxels that are worked on at once: what they count fits an int. */
enum { SOME = 1 << 14 };

static bool has_bytes(const lob_refine_arrays *a)
{
    return a->type == LOB_U8 && a->before_type == LOB_U8 && a->seeds_type == LOB_U8;
}

/* All that it calls is part of a range's loop. */
#define INLINING __attribute__((flatten))

/* A range runs with a copy of the arrays' addresses, which no store into them can change, and with
 * labels that are known to be bytes where they are: so that it becomes vectors. */
#define LOOP(name)                                                                                 \
    static inline __attribute__((always_inline)) int range_##name(                                 \
        const lob_refine_arrays *a, int64_t first, int64_t end, const bool bytes)                  \
    {                                                                                              \
        lob_refine_arrays own = *a;                                                                \
        int sum = 0;                                                                               \
        if (bytes) own.before_type = own.type = own.seeds_type = LOB_U8;                           \
        _Pragma("omp simd reduction(+ : sum)") for (int64_t i = first; i < end; i++) sum +=        \
            lob_refine_at_##name(&own, i);                                                         \
        return sum;                                                                                \
    }                                                                                              \
    LOB_SIMD_CLONES(INLINING int, some_##name, (a, first, end), const lob_refine_arrays *a,        \
                    int64_t first, int64_t end)                                                    \
    {                                                                                              \
        return has_bytes(a) ? range_##name(a, first, end, true)                                    \
                            : range_##name(a, first, end, false);                                  \
    }                                                                                              \
    static int64_t loop_##name(const lob_refine_arrays *a, int64_t n, int threads)                 \
    {                                                                                              \
        int64_t sum = 0;                                                                           \
        _Pragma("omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)") for ( \
            int64_t at = 0; at < n; at += SOME) sum +=                                             \
            some_##name(a, at, n - at < SOME ? n : at + SOME);                                     \
        return sum;                                                                                \
    }
LOB_REFINE_LOOPS(LOOP)

static lob_status loop(lob_refine_job *j, lob_refine_loop which, int64_t n)
{
    static int64_t (*const loops[])(const lob_refine_arrays *a, int64_t n, int threads) = {
#define ROW_OF(name) [LOB_REFINE_AT_##name] = loop_##name,
        LOB_REFINE_LOOPS(ROW_OF)};
    j->sums[which] += loops[which](&j->a, n, j->context->threads);
    return LOB_OK;
}

static lob_status sum_up(lob_refine_job *j)
{
    (void)j;
    return LOB_OK;
}

/* ---- the part that holds labels ---- */

int64_t lob_refine_find(const void *labels, lob_type type, int64_t first, int64_t end,
                        int32_t label)
{
    if (type == LOB_U8) {
        const uint8_t *const all = labels;
        const uint8_t *const at = memchr(all + first, label, (size_t)(end - first));
        return at ? at - all : end;
    }
    while (first < end && lob_label_at(labels, type, first) != label) first++;
    return first;
}

/* First and last voxel of a row that has the label; false: there is none. */
static bool ends_of_label(int64_t ends[2], const lob_refine_arrays *a, int64_t row, int64_t n,
                          int32_t label)
{
    const int64_t first = lob_refine_find(a->labels, a->type, row, row + n, label) - row;
    int64_t last = n - 1;
    if (first == n) return false;
    while (lob_refine_label(a, row + last) != label) last--;
    ends[0] = first;
    ends[1] = last;
    return true;
}

/* Is a row all background, and nothing drawn in it? As far as that is quickly told. */
static bool is_empty(const lob_refine_arrays *a, int64_t row, int64_t n)
{
    const uint8_t *const labels = (const uint8_t *)a->labels + row;
    return a->type == LOB_U8 && a->seeds_type == LOB_U8 && labels[0] == a->background &&
           memcmp(labels, labels + 1, (size_t)n - 1) == 0 &&
           lob_all_zero((const uint8_t *)a->seeds + row, (size_t)n);
}

/* First and last voxel of a row that is a label, or drawn as one, or that has one label alone;
 * false: there is none. */
static bool ends_of_row(int64_t ends[2], const lob_refine_arrays *a, int64_t row, int64_t n,
                        int32_t label)
{
    bool found = false;
    if (label) return ends_of_label(ends, a, row, n, label);
    if (is_empty(a, row, n)) return false;
    for (int64_t x = 0; x < n; x++) {
        const int32_t seed = lob_refine_seed(a, row + x);
        if (lob_refine_label(a, row + x) == a->background && (seed == 0 || seed == a->background))
            continue;
        if (!found) ends[0] = x;
        ends[1] = x;
        found = true;
    }
    return found;
}

static void find_box(const lob_refine_job *j, lob_box *box, int32_t label)
{
    const lob_dims d = j->image.dims;
    int64_t first[3] = {d.nx, d.ny, d.nz}, last[3] = {-1, -1, -1};
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t row = 0; row < d.ny * d.nz; row++) {
        int64_t ends[2];
        if (!ends_of_row(ends, &j->a, row * d.nx, d.nx, label)) continue;
        const int64_t low[3] = {ends[0], row % d.ny, row / d.ny};
        const int64_t high[3] = {ends[1], low[1], low[2]};
#pragma omp critical(lob_refine_box)
        for (int a = 0; a < 3; a++) {
            if (low[a] < first[a]) first[a] = low[a];
            if (high[a] > last[a]) last[a] = high[a];
        }
    }
    for (int a = 0; a < 3; a++) {
        box->first[a] = first[a];
        box->size[a] = last[a] < 0 ? 0 : last[a] - first[a] + 1;
    }
}

static lob_status find_boxes(lob_refine_job *j, int32_t labels)
{
    if (labels == 0) find_box(j, j->boxes, 0);
    for (int32_t l = 1; l <= labels; l++) find_box(j, &j->boxes[l - 1], l);
    return LOB_OK;
}

static lob_status take_larger(lob_refine_job *j, lob_dims d, const lob_box *box)
{
    const int64_t n = box->size[0], rows = box->size[1] * box->size[2];
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        const int64_t y = box->first[1] + row % box->size[1];
        const int64_t z = box->first[2] + row / box->size[1];
        const int64_t at = (z * d.ny + y) * d.nx + box->first[0];
        const lob_refine_arrays own = j->a;
        for (int64_t x = 0; x < n; x++) lob_refine_larger(&own, row * n + x, at + x);
    }
    return LOB_OK;
}

static lob_status cut(lob_refine_job *j, void *part, void *whole, lob_type type, int channels,
                      lob_dims d, const lob_box *box, bool back)
{
    const int64_t bytes = (int64_t)lob_type_of(type)->bytes;
    const int64_t row = box->size[0] * bytes, rows = box->size[1] * box->size[2];
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t at = 0; at < rows * channels; at++) {
        const int64_t y = box->first[1] + at % box->size[1];
        const int64_t z = box->first[2] + at / box->size[1] % box->size[2];
        const int64_t voxel = ((at / rows * d.nz + z) * d.ny + y) * d.nx + box->first[0];
        unsigned char *const a = (unsigned char *)part + at * row;
        unsigned char *const b = (unsigned char *)whole + voxel * bytes;
        memcpy(back ? b : a, back ? a : b, (size_t)row);
    }
    return LOB_OK;
}

const lob_refine_operations lob_refine_on_cpu = {
    .filter = lob_filter_cpu_tuned,
    .components = lob_components_cpu,
    .distance = lob_distance_cpu,
    .loop = loop,
    .sum_up = sum_up,
    .find_boxes = find_boxes,
    .take_larger = take_larger,
    .cut = cut,
};

lob_status lob_refine_cpu(void *out, lob_refine_stats *stats, const lob_refine_input *in,
                          const lob_refine_options *options, const lob_context *context,
                          lob_error *error)
{
    lob_error_begin(error);
    lob_refine_job j = {.operations = &lob_refine_on_cpu,
                        .in = in,
                        .options = options,
                        .context = context,
                        .error = error};
    LOB_TRY(lob_check_memory(in->place, in->image, NULL, error));
    LOB_TRY(lob_refine_check(in, options, error));
    return lob_error_end(error, lob_refine_run(&j, out, stats));
}
