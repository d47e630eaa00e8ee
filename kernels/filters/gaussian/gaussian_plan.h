/*
 * The plan of a Gaussian step, made on the host for both backends: which axes are exact and which
 * are coarse, and their weights.
 *
 * Everything is done line by line, by operations of one form: output i of a line is
 *
 *     scale[i] * sum over t in [0, taps) of row[t] * in[i / up * down + first + t]
 *
 * where row is weights + i % up * pitch, scale may be left out, and positions outside of [0, n_in)
 * are read by the rule for edges.
 *
 *   exact axis    up 1, down 1: smooth[order]
 *   coarse axis   up 1, down m: reduce, to every m-th voxel; then up m, down 1: expand[order]
 */
#ifndef LOB_GAUSSIAN_PLAN_H
#define LOB_GAUSSIAN_PLAN_H

#include "kernels/budget.h"
#include "kernels/filters/filter_step.h"

LOB_BEGIN_DECLS

/* Addresses are positions in the plan's tables, -1 for none. */
typedef struct {
    int64_t n_in, n_out, up, down, first, taps;
    int64_t pitch;   /* >= taps; of expand LOB_GAUSSIAN_RING, and the weights between are 0 */
    int64_t weights; /* up * pitch, a multiple of 4 */
    int64_t scale;   /* n_out */
} lob_line_op;

/* Coarse samples that an input counts in, or that an output reads, are this many or fewer. */
enum { LOB_GAUSSIAN_RING = 12, LOB_GAUSSIAN_ORDERS = 3 };

typedef struct {
    bool used, coarse;
    double sigma;
    int64_t n;
    int64_t radius;  /* exact: 4 sigma; coarse: of each smoothing */
    int64_t m;       /* coarse: voxels from sample to sample; else 1 */
    int64_t before;  /* coarse: samples before the one at voxel 0 */
    int64_t samples; /* coarse: of a line, those outside of the volume included */
    lob_line_op smooth[LOB_GAUSSIAN_ORDERS], reduce, expand[LOB_GAUSSIAN_ORDERS];
    double total[LOB_GAUSSIAN_ORDERS]; /* what each order makes of a constant 1 */

    /*
     * Reduce seen from the inputs: input m * q + p counts in the samples q + a, a in
     * [0, LOB_GAUSSIAN_RING), with the weight at reduce_ring + p * LOB_GAUSSIAN_RING + a,
     * which is a multiple of 4.
     */
    int64_t reduce_ring;
} lob_gaussian_axis;

typedef struct {
    lob_gaussian_axis axis[3];
    bool derivatives;    /* has the orders 1 and 2 */
    bool coarse;         /* some axis is */
    lob_line_op keep;    /* along x, where no axis is used: every voxel is its own sum */
    float *tables;       /* NULL while only counted */
    int64_t table_items; /* of tables */
} lob_gaussian_plan;

/*
 * Make the plan of a call for an image of these dims.
 *
 *   plan    out  free with lob_gaussian_plan_free; nothing to free after a failure
 *   budget  in   counts the tables; NULL: no tables are made, only sized
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_gaussian_plan_make(lob_gaussian_plan *plan, lob_dims dims,
                                  const lob_filter_call *call, lob_budget *budget,
                                  lob_error *error);
void lob_gaussian_plan_free(lob_gaussian_plan *plan, lob_budget *budget);

/* ---- the sequence of passes ---- */

typedef struct {
    int axis;
    lob_line_op op;
    lob_dims in, out; /* of the lattice before and after */
    lob_edge edge;
    float outside; /* what LOB_EDGE_CONSTANT reads; 0 for LOB_EDGE_RENORMALISE */
} lob_gaussian_pass;

enum { LOB_GAUSSIAN_MAX_PASSES = 6 };

/*
 * The passes that take a derivative of some order along each axis: with coarse axes these are
 * reduced first, z before y before x, then exact axes are smoothed, then coarse axes expanded, z
 * last; without, x, y and z are smoothed. What is not `used` has no pass; where nothing is, there
 * is one that keeps every voxel.
 *
 *   passes   out  LOB_GAUSSIAN_MAX_PASSES
 *   outside  in   what is read where the edge holds no voxel: its constant; or 0
 *
 * Returns how many.
 */
int lob_gaussian_passes(lob_gaussian_pass *passes, const lob_gaussian_plan *plan, lob_dims dims,
                        const int order[3], lob_edge edge, float outside);

LOB_END_DECLS

#endif
