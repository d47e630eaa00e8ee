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

#include "kernels/budget.h"
#include "kernels/components/components.h"
#include "kernels/labels/label_steps.h"
#include "kernels/labels/majority/majority.h"
#include "kernels/morphology/morphology.h"
#include "kernels/share.h"
#include "kernels/team/team.h"

LOB_BEGIN_DECLS

typedef struct {
    void *data;
    lob_type type;
} lob_labels_array;

typedef struct lob_label_chain lob_label_chain;

/* What a backend does. `now` is what the last step left; `next` is a step's result. */
typedef struct {
    __typeof__(lob_components_cpu) *components;
    __typeof__(lob_morphology_cpu) *morphology;

    /* to[v] = table[from[v]]; a table with so many entries */
    lob_status (*put)(lob_label_chain *c, lob_labels_array to, lob_labels_array from,
                      const int32_t *table, int64_t entries);
    /* seen[i] = whether number i occurs in now; seen holds count + 1 zeros */
    lob_status (*look)(lob_label_chain *c, uint8_t *seen);
    /* of the pieces in next: voxels, and their number in now; both hold `found` zeros */
    lob_status (*count_pieces)(lob_label_chain *c, int64_t found, int64_t *voxels, int32_t *owner);
    /* from now to next */
    lob_status (*boundary)(lob_label_chain *c);
    lob_status (*slips)(lob_label_chain *c);
    lob_status (*majority)(lob_label_chain *c, const lob_majority *m);
    /* the result: values[now[v] - 1], or in->values outside the mask, in this type */
    lob_status (*finish)(lob_label_chain *c, lob_type type);
} lob_label_operations;

extern const lob_label_operations lob_label_cpu;

/* What a step does, from now to next. */
typedef lob_status lob_label_work(lob_label_chain *c, const void *user);

/* What is done otherwise where several ranks have a part of the voxels each; operations are theirs
 * too. */
typedef struct {
    lob_team *team;
    int64_t planes; /* of the whole volume */
    /* next, which is nothing before = the pieces of now, numbered in raster order; or now with its
     * holes filled */
    lob_status (*join)(lob_label_chain *c, bool fill, int64_t *found);
    /* do work that looks around, with planes of other ranks */
    lob_status (*widen)(lob_label_chain *c, lob_label_work *work, const void *user);
} lob_label_shared;

struct lob_label_chain {
    const lob_label_operations *operations;
    const lob_labels_input *in;
    const lob_labels_options *options;
    lob_context context; /* of the step: its progress is a part of the caller's, */
    lob_share share;     /* this one */
    const lob_context *caller;
    lob_error *error;
    lob_device *device; /* NULL on the CPU */
    lob_place result_place;
    lob_budget budget; /* of now and next, but for in->labels, and of what operations need */
    int64_t voxels;
    lob_labels_array now, next; /* at in->place */
    int32_t count;
    int32_t *values; /* count; owned */
    uint8_t *seen;   /* count + 1: which numbers occur; owned */
    int step;
    lob_labels_output *out;
    const lob_label_shared *shared; /* NULL: all voxels are here */
};

/* Run the chain: c->operations, in, options, caller, error, device, out and shared are set, the
 * rest is 0. Frees everything but the result, also that after a failure. */
lob_status lob_label_chain_run(lob_label_chain *c);

/* Make next, of a type; what it held is freed. */
lob_status lob_label_chain_make(lob_label_chain *c, lob_type type);

/* Count bytes of working memory that were used for a while beside what is held. */
void lob_label_chain_count(lob_label_chain *c, int64_t bytes);

/* Is every step within its range? Returns LOB_OK, LOB_EARG or LOB_EDATA. */
lob_status lob_label_chain_check(const lob_labels_input *in, const lob_labels_options *options,
                                 lob_error *error);

LOB_END_DECLS

#endif
