/* What the files of a fusion share, and its voxels for both compilers: levels, distances of
 * patches, shares of the votes. */
#ifndef LOB_FUSE_VOXEL_H
#define LOB_FUSE_VOXEL_H

#include "kernels/budget.h"
#include "kernels/filters/pointwise_voxel.h"
#include "kernels/fuse/fuse.h"

#include <math.h>

LOB_BEGIN_DECLS

enum {
    LOB_FUSE_NO_LABEL = 255,                   /* of a voxel that is no candidate */
    LOB_FUSE_STEPS = 256,                      /* of the table of weights, */
    LOB_FUSE_STEPS_EACH = 16,                  /* so many for a factor of e */
    LOB_FUSE_UNSEEN = LOB_FUSE_MAX_LABELS + 1, /* among counts of voxels, after those of labels */
    LOB_FUSE_COUNTS
};

/* Voxels of a grid with a margin all around, so that patches and searches need not look where it
 * ends. */
typedef struct {
    int64_t margin, row, plane, count; /* voxels: of a row, of a plane, of all */
    int64_t first;                     /* where voxel (0, 0, 0) lies */
} lob_fuse_frame;

/* An image in levels. */
typedef struct {
    uint8_t *level; /* frame.count; NULL: for a majority */
    uint8_t *label; /* frame.count: dense, or LOB_FUSE_NO_LABEL; NULL: of the scan */
} lob_fuse_levels;

/* What a frame is filled from. */
typedef struct {
    lob_fuse_levels to;
    const void *values, *labels; /* NULL: none */
    lob_type values_type, labels_type;
    double slope, inter;
    double low, per_unit; /* how values become levels: lob_fuse_scale */
} lob_fuse_filling;

/* What votes are counted from, and where they go. */
typedef struct {
    lob_fuse_levels of[LOB_FUSE_MAX_ATLASES + 1]; /* the scan, then atlases, */
    uint64_t has[LOB_FUSE_MAX_ATLASES];           /* bits of the atlases' dense labels from 1 */
    uint16_t weight[LOB_FUSE_STEPS];
    int32_t value[LOB_FUSE_MAX_LABELS]; /* of dense labels from 1, ascending */
    lob_fuse_frame frame;
    lob_dims dims;
    void *labels;
    lob_type type; /* of labels */
    uint16_t *shares;
    int64_t voxels;
    int atlases, count, search, patch; /* count: of labels */
    float floor;                       /* of whole patches */
    bool majority;
} lob_fuse_votes;

typedef struct lob_fuse_loops lob_fuse_loops;

typedef struct {
    const lob_fuse_input *in;
    const lob_fuse_options *options;
    const lob_context *context;
    const lob_fuse_loops *loops;
    lob_budget budget;
    lob_fuse_output *out;
    lob_label_set has[LOB_FUSE_MAX_ATLASES]; /* labels of each atlas */
    int64_t output;                          /* bytes; held, but no working memory */
    lob_fuse_votes votes;
} lob_fuse_job;

/* What takes long, for the CPU and for CUDA. */
struct lob_fuse_loops {
    /* Fill a frame from volumes, either of which may be NULL, with the scale of the image.
     * LOB_EDATA: that has no finite value. */
    lob_status (*fill)(lob_fuse_job *j, lob_fuse_filling *filling, const lob_volume *image,
                       const lob_volume *labels, lob_error *error);
    /* Labels and shares, where the scan is. count: in ordinary memory, 0 before. */
    lob_status (*vote)(int64_t count[LOB_FUSE_COUNTS], lob_fuse_job *j, lob_error *error);
};

extern const lob_fuse_loops lob_fuse_on_cuda;

/* Find how values, which are where the job computes, become levels: linear between two percentiles
 * of the image; NULL: there is none. */
lob_status lob_fuse_scale(lob_fuse_filling *s, const lob_fuse_job *j, const lob_volume *image,
                          lob_error *error);

/* Loops over a row's voxels become those of whoever calls, with its processor's vectors. */
#define LOB_FUSE_INLINE LOB_BOTH __attribute__((always_inline))

LOB_BOTH uint8_t lob_fuse_level(double value, const lob_fuse_filling *s)
{
    const double at = (value - s->low) * s->per_unit;
    return isfinite(value) && at >= 0 ? (uint8_t)(at < 254 ? at + 1.5 : 255) : 1;
}

/* The dense label of a value, 0 of one that has none. */
LOB_BOTH int lob_fuse_dense(const lob_fuse_votes *s, int32_t value)
{
    int low = 0, high = s->count;
    if (value <= 0) return 0;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (s->value[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->value[low] == value ? low + 1 : 0;
}

/* Fill in voxel i of the frame, which goes on beyond the grid's ends as there, but without labels.
 * A label is no candidate where the value is not finite. */
LOB_BOTH void lob_fuse_fill(const lob_fuse_votes *v, const lob_fuse_filling *s, int64_t i)
{
    const lob_fuse_frame *const f = &v->frame;
    const int64_t row = i / f->row, rows = f->plane / f->row;
    const int64_t at[3] = {i - row * f->row - f->margin, row % rows - f->margin,
                           row / rows - f->margin};
    int64_t from = 0;
    bool inside = true;
    for (int a = 2; a >= 0; a--) {
        const int64_t side = lob_side(v->dims, a);
        inside = inside && at[a] >= 0 && at[a] < side;
        from = from * side + (at[a] < 0 ? 0 : at[a] < side ? at[a] : side - 1);
    }
    const int label =
        s->labels && inside ? lob_fuse_dense(v, lob_label_at(s->labels, s->labels_type, from)) : 0;
    bool candidate = inside;
    if (s->values) {
        const double value = s->slope * lob_filter_load(s->values, s->values_type, from) + s->inter;
        s->to.level[i] = lob_fuse_level(value, s);
        candidate = inside && isfinite(value);
    }
    if (s->to.label) s->to.label[i] = (uint8_t)(candidate ? label : LOB_FUSE_NO_LABEL);
}

/* Steps of the table of weights for a distance of 1, from the least distance. */
LOB_BOTH float lob_fuse_per_step(uint32_t least, float floor)
{
    const float unit = (float)least + floor;
    return (float)LOB_FUSE_STEPS_EACH / (unit > 1 ? unit : 1);
}

/* A distance's place in the table. */
LOB_BOTH uint32_t lob_fuse_step(uint32_t distance, float per_step)
{
    const float at = (float)distance * per_step;
    return at < LOB_FUSE_STEPS - 1 ? (uint32_t)(int32_t)at : LOB_FUSE_STEPS - 1;
}

/* ---- votes ---- */

/* Voxels of a row that are worked on together; a thread of a GPU takes one. */
#ifdef __CUDA_ARCH__
enum { LOB_FUSE_WIDE = 1 };
#else
enum { LOB_FUSE_WIDE = 64 };
#endif

/* Add to a sum, which on a GPU others of the block add to. */
LOB_BOTH void lob_fuse_add(int64_t *sum, int64_t more)
{
#ifdef __CUDA_ARCH__
    atomicAdd((unsigned long long *)sum, (unsigned long long)more);
#else
    *sum += more;
#endif
}

/*
 * The shares of a voxel's labels, in LOB_FUSE_ONE-ths; returns the best label.
 *
 *   share     out  labels + 1; of the background first
 *   votes     in   weights of the labels, LOB_FUSE_WIDE numbers from each other
 *   of_atlas  in   and of the atlases, likewise
 */
LOB_BOTH int lob_fuse_shares(uint32_t *share, const lob_fuse_votes *s, const uint32_t *votes,
                             const uint32_t *of_atlas)
{
    uint64_t all = 0, sum = 0;
    int best = 0;
    for (int a = 0; a < s->atlases; a++) all += of_atlas[a * LOB_FUSE_WIDE];
    for (int l = 1; l <= s->count; l++) {
        const uint64_t own = votes[l * LOB_FUSE_WIDE];
        uint64_t of = all;
        for (int a = 0; a < s->atlases && own > 0; a++)
            if (!(s->has[a] >> (l - 1) & 1)) of -= of_atlas[a * LOB_FUSE_WIDE];
        share[l] = own > 0 && of > 0 ? (uint32_t)(own * LOB_FUSE_ONE / of) : 0;
        sum += share[l];
    }
    for (int l = 1; l <= s->count && sum > LOB_FUSE_ONE; l++)
        share[l] = (uint32_t)(share[l] * (uint64_t)LOB_FUSE_ONE / sum);
    share[0] = LOB_FUSE_ONE - (uint32_t)(sum < LOB_FUSE_ONE ? sum : (uint64_t)LOB_FUSE_ONE);
    for (int l = 1; l <= s->count; l++)
        if (share[l] > share[best]) best = l;
    return best;
}

/* Distances of n patches of 2 r + 1, around levels of the scan and of an atlas. */
LOB_FUSE_INLINE void lob_fuse_distances(uint32_t *distance, const uint8_t *scan,
                                        const uint8_t *atlas, const lob_fuse_frame *f, int r, int n)
{
    int32_t squares[LOB_FUSE_WIDE + 2 * LOB_FUSE_MAX_PATCH];
    int32_t apart[LOB_FUSE_WIDE + 2 * LOB_FUSE_MAX_PATCH];
    const int side = 2 * r + 1, wide = n + 2 * r;
    for (int x = 0; x < wide; x++) squares[x] = apart[x] = 0;
    for (int z = -r; z <= r; z++)
        for (int y = -r; y <= r; y++) {
            const int64_t at = z * f->plane + y * f->row - r;
            for (int x = 0; x < wide; x++) {
                const int32_t d = (int32_t)scan[at + x] - (int32_t)atlas[at + x];
                squares[x] += d * d;
                apart[x] += d;
            }
        }
    for (int x = 0; x < n; x++) {
        int32_t square = 0, sum = 0;
        for (int k = 0; k < side; k++) {
            square += squares[x + k];
            sum += apart[x + k];
        }
        distance[x] = (uint32_t)(side * side * side) * (uint32_t)square - (uint32_t)(sum * sum);
    }
}

/* What a row's voxels have so far. */
typedef struct {
    uint32_t votes[(LOB_FUSE_MAX_LABELS + 1) * LOB_FUSE_WIDE];
    uint32_t of_atlas[LOB_FUSE_MAX_ATLASES * LOB_FUSE_WIDE];
    uint32_t least[LOB_FUSE_WIDE];
    float per_step[LOB_FUSE_WIDE];
} lob_fuse_row;

/* A candidate of n voxels: its distance is one of those of which the least is sought, or votes. */
LOB_FUSE_INLINE void lob_fuse_candidate(lob_fuse_row *row, const uint32_t *distance,
                                        const uint8_t *label, const uint16_t *weight, int a, int n,
                                        bool votes)
{
    uint32_t step[LOB_FUSE_WIDE];
    for (int x = 0; x < n && !votes; x++) {
        const uint32_t d = label[x] == LOB_FUSE_NO_LABEL ? UINT32_MAX : distance[x];
        row->least[x] = d < row->least[x] ? d : row->least[x];
    }
    for (int x = 0; x < n && votes; x++) step[x] = lob_fuse_step(distance[x], row->per_step[x]);
    for (int x = 0; x < n && votes; x++) {
        if (label[x] == LOB_FUSE_NO_LABEL) continue;
        row->votes[label[x] * LOB_FUSE_WIDE + x] += weight[step[x]];
        row->of_atlas[a * LOB_FUSE_WIDE + x] += weight[step[x]];
    }
}

/*
 * Labels and shares of n <= LOB_FUSE_WIDE voxels of a row, from i on.
 *
 *   weight  in      s->weight, where it is read fast
 *   patch   in      s->patch; a constant makes code of its own
 *   count   in/out  LOB_FUSE_COUNTS
 */
LOB_FUSE_INLINE void lob_fuse_vote(const lob_fuse_votes *s, const uint16_t *weight, int64_t i,
                                   int n, int patch, int64_t *count)
{
    const lob_fuse_frame *const f = &s->frame;
    const int64_t line = i / s->dims.nx;
    const int64_t at =
        f->first + line / s->dims.ny * f->plane + line % s->dims.ny * f->row + i % s->dims.nx;
    const int r = s->search;
    lob_fuse_row row;
    uint32_t share[LOB_FUSE_MAX_LABELS + 1], distance[LOB_FUSE_WIDE];
    for (int k = 0; k < (s->count + 1) * LOB_FUSE_WIDE; k++) row.votes[k] = 0;
    for (int k = 0; k < s->atlases * LOB_FUSE_WIDE; k++) row.of_atlas[k] = 0;
    for (int x = 0; x < n; x++) {
        row.least[x] = s->majority ? 0 : UINT32_MAX;
        row.per_step[x] = 0;
        distance[x] = 0;
    }
    for (int pass = s->majority; pass < 2; pass++) {
        for (int a = 0; a < s->atlases; a++)
            for (int z = -r; z <= r; z++)
                for (int y = -r; y <= r; y++)
                    for (int k = -r; k <= r; k++) {
                        const int64_t there = at + z * f->plane + y * f->row + k;
                        if (!s->majority)
                            lob_fuse_distances(distance, s->of[0].level + at,
                                               s->of[a + 1].level + there, f, patch, n);
                        lob_fuse_candidate(&row, distance, s->of[a + 1].label + there, weight, a, n,
                                           pass);
                    }
        for (int x = 0; x < n && pass == 0; x++)
            row.per_step[x] = lob_fuse_per_step(row.least[x], s->floor);
    }
    for (int x = 0; x < n; x++) {
        const int best = lob_fuse_shares(share, s, row.votes + x, row.of_atlas + x);
        for (int l = 1; l <= s->count; l++)
            s->shares[(l - 1) * s->voxels + i + x] = (uint16_t)share[l];
        lob_label_put(s->labels, s->type, i + x, best > 0 ? s->value[best - 1] : 0);
        lob_fuse_add(&count[best], 1);
        if (row.least[x] == UINT32_MAX) lob_fuse_add(&count[LOB_FUSE_UNSEEN], 1);
    }
}

LOB_END_DECLS

#endif
