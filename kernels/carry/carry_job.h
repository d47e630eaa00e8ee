/* What the stages of a carry share. This header is not installed. */
#ifndef LOB_CARRY_JOB_H
#define LOB_CARRY_JOB_H

#include "kernels/arrays.h"
#include "kernels/carry/carry.h"
#include "kernels/segment/segment_job.h"
#include "volumes/bytes.h"

LOB_BEGIN_DECLS

enum { LOB_CARRY_MAX_LABELS = LOB_APPEARANCE_MAX_LABELS - 1 }; /* without the background */

typedef struct {
    const lob_carry_input *in;
    const lob_carry_options *options;
    lob_carry_output *out;
    lob_segment_job steps; /* memory, progress and the algorithms; volumes below are where these
                              compute */

    /* on the grid for moving and votes */
    lob_volume scan;
    int used;                                                             /* atlases, */
    lob_volume image[LOB_FUSE_MAX_ATLASES], labels[LOB_FUSE_MAX_ATLASES]; /* moved */
    lob_fuse_output votes;

    lob_label_set known;                     /* labels of all atlases that were read, */
    lob_label_set has[LOB_FUSE_MAX_ATLASES]; /* and of each that is used, before it was moved */

    lob_volume drawn; /* uint8, in ordinary memory: strokes on the scan's whole grid, until there is
                         a box; empty: there are none. Labels are as below */

    /* on the scan's grid, in the box; labels are dense: out->label[l - 1], count + 1 is background
     */
    int32_t count;
    lob_box box;
    lob_volume part;             /* the scan */
    lob_volume strokes;          /* uint8; empty: there are none */
    lob_volume best, share, all; /* uint8, uint16, uint16: the label that wins, its votes, and those
                                    of all labels; until labels that grew follow them */
    lob_volume seeds;            /* uint8 */
    lob_volume reached; /* uint8: of the nearest stroke within reach; empty: there are no strokes */
    lob_volume grown;   /* uint8; in the end refined */
} lob_carry_job;

/* ---- carry_run.c ---- */

/* What is done at each voxel by itself: carry_voxel.h has what each kind does. */
typedef enum {
    LOB_CARRY_FINITE,
    LOB_CARRY_MARK,
    LOB_CARRY_CLEAR,
    LOB_CARRY_WIN,
    LOB_CARRY_SURE,
    LOB_CARRY_COUNT,
    LOB_CARRY_REST,
    LOB_CARRY_DENSE,
    LOB_CARRY_REOPEN,
    LOB_CARRY_DRAW,
    LOB_CARRY_WEAK,
    LOB_CARRY_BYTES,
    LOB_CARRY_TO_BEST,
    LOB_CARRY_JUDGE
} lob_carry_kind;

enum { LOB_CARRY_SUMS = LOB_CARRY_MAX_LABELS + 2 };

typedef struct {
    lob_carry_kind kind;
    int64_t voxels;
    int32_t count, label; /* labels; the one whose turn it is */
    uint8_t *seeds, *best, *out;
    uint16_t *share, *all; /* of what is best, of all labels together */
    const uint16_t *own;   /* votes of the label; NULL: none */
    const uint8_t *grey;   /* shares of grey values */
    const uint8_t *strokes, *reached;
    const float *image;
    float *doubt, *strength;
    uint16_t sure, beyond;
    int against, claimed;
    uint8_t flag[LOB_CARRY_SUMS]; /* of each label, from 1 */
} lob_carry_pass;

/* Run a pass where the job computes. sums: what it counts, in ordinary memory; NULL: nothing. */
lob_status lob_carry_each(lob_carry_job *j, const lob_carry_pass *pass,
                          int64_t sums[LOB_CARRY_SUMS], lob_error *error);
lob_status lob_carry_each_cuda(const lob_carry_pass *pass, int64_t *sums, lob_device *device,
                               lob_error *error);

/* Bring a volume of the job to ordinary memory; an empty one stays. */
lob_status lob_carry_fetch(lob_carry_job *j, lob_volume *volume, lob_error *error);

/* ---- carry_move.c ---- */

/* The spacing of the grid for moving where none is asked for, in mm. */
double lob_carry_grid(const lob_volume *scan);

/* The scan on the grid for moving; the atlases that are used, moved onto it; their votes. */
lob_status lob_carry_move(lob_carry_job *j, lob_error *error);

/* Add labels to a set; its voxels are not counted. */
lob_status lob_carry_join(lob_label_set *to, const lob_label_set *more, lob_error *error);

/* ---- carry_seeds.c ---- */

/* The box around votes and strokes, with the scan and the strokes in it; false: there are none. */
lob_status lob_carry_box(lob_carry_job *j, bool *any, lob_error *error);

/* A label's share of the votes on a grid, uint16 in LOB_FUSE_ONE-ths; without data: no atlas has
 * this label. */
lob_status lob_carry_share(lob_carry_job *j, lob_volume *out, int32_t label, const lob_volume *grid,
                           lob_error *error);

/* Run a pass over the box with the votes of dense label l, which it sets; own is NULL where there
 * are none. */
lob_status lob_carry_each_of_label(lob_carry_job *j, lob_carry_pass *pass, int32_t l, int64_t *sums,
                                   lob_error *error);

/* Seeds: what is sure and is not contradicted, and the strokes. */
lob_status lob_carry_seeds(lob_carry_job *j, lob_error *error);

/* Grow the seeds, and refine what came out. */
lob_status lob_carry_grow(lob_carry_job *j, lob_error *error);

LOB_END_DECLS

#endif
