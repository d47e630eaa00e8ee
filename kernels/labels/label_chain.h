/*
 * A chain of label steps between the two backends: label_chain.c does the steps, by tables of
 * labels on the host and by these operations on voxels, which label_steps_cpu.c and
 * label_steps_cuda.cu have.
 *
 * Voxels hold numbers 0..count; values[i - 1] is the label that number i stands for, in ascending
 * order. So ties that go to the smallest label go to the smallest number.
 */
#ifndef LOB_LABEL_CHAIN_H
#define LOB_LABEL_CHAIN_H

#include "kernels/components/components.h"
#include "kernels/labels/label_steps.h"
#include "kernels/labels/majority/majority.h"
#include "kernels/morphology/morphology.h"

LOB_BEGIN_DECLS

typedef struct {
    void *data;
    lob_type type;
} lob_labels_array;

typedef struct lob_label_chain lob_label_chain;

/* Operations on voxels. `now` is what the last one left; those that say so fill `next`. */
typedef struct {
    /* now[v] = table[now[v]], stored in this type; table has count + 1 entries */
    lob_status (*recode)(lob_label_chain *c, const int32_t *table, lob_type type);
    /* seen[i] = whether number i occurs in now; seen holds count + 1 zeros */
    lob_status (*look)(lob_label_chain *c, uint8_t *seen);
    /* next = the number of each voxel's piece, in raster order; found: how many there are */
    lob_status (*number_pieces)(lob_label_chain *c, int64_t *found);
    /* of the pieces in next: voxels, and their number in now; both hold `found` zeros */
    lob_status (*count_pieces)(lob_label_chain *c, int64_t found, int64_t *voxels, int32_t *owner);
    /* now[v] = table[next[v]]; table has found + 1 entries */
    lob_status (*choose_pieces)(lob_label_chain *c, int64_t found, const int32_t *table);
    /* now = next, which is of its narrowest type */
    lob_status (*keep_pieces)(lob_label_chain *c);
    lob_status (*fill_holes)(lob_label_chain *c);
    lob_status (*boundary)(lob_label_chain *c);
    lob_status (*majority)(lob_label_chain *c, const lob_majority *m);
    lob_status (*morphology)(lob_label_chain *c, lob_morphology how, double radius,
                             const double spacing[3]);
    /* the result: values[now[v] - 1], or in->values outside the mask, in this type */
    lob_status (*finish)(lob_label_chain *c, lob_type type);
} lob_label_operations;

struct lob_label_chain {
    const lob_label_operations *operations;
    const lob_labels_input *in;
    const lob_labels_options *options;
    lob_context context; /* of the step: its progress is a part of the caller's */
    const lob_context *caller;
    lob_error *error;
    lob_labels_array now, next;
    int32_t count;
    int32_t *values; /* count; owned */
    uint8_t *seen;   /* count + 1: which numbers occur; owned */
    int step;
    lob_labels_output *out;
    void *backend; /* what the operations need beside */
};

/*
 * Run the chain: c->operations, in, options, caller, error, out and backend are set, now holds the
 * input's labels, the rest is 0. The operations must not write to the input's labels: `now` is
 * theirs to exchange. Frees values and seen.
 */
lob_status lob_label_chain_run(lob_label_chain *c);

/* Is every step within its range? Returns LOB_OK, LOB_EARG or LOB_EDATA. */
lob_status lob_label_chain_check(const lob_labels_input *in, const lob_labels_options *options,
                                 lob_error *error);

/* Does any step number pieces or fill holes, so that voxels need room for an int32? */
bool lob_label_chain_has_pieces(const lob_labels_input *in);

/* What components.h is asked for: pieces, or the same labels with their holes filled. */
lob_components_options lob_label_chain_join(const lob_label_chain *c);
lob_components_options lob_label_chain_fill(const lob_label_chain *c);

/* now as an image for components.h. */
lob_volume lob_label_chain_image(const lob_label_chain *c);

LOB_END_DECLS

#endif
