/*
 * Scores of instances: how well the labelled objects of one volume (cells, nuclei, lesions) find
 * those of a truth, whatever numbers they carry. Label 0 is no instance.
 *
 * First count the contingency table, how many voxels each truth shares with each label; it is
 * exact, and all scores come from it. With |t| voxels of truth t, |l| of label l and |t & l| of
 * both, IoU is |t & l| / |t | l|.
 *
 *   match      a truth and a label with an IoU of at least a threshold, compared in integers. From
 *              .5 on each has one partner, but for a truth of two halves at exactly .5, or a label
 *              of two truths: there the smaller number is the partner
 *   scores     with M matches, E labels and F truths without one: precision M/(M+E), recall
 *              M/(M+F), F1 2M/(2M+E+F), average precision M/(M+E+F) (Everingham et al., "The
 *              PASCAL visual object classes", IJCV 2010, as nuclei are scored: Caicedo et al.,
 *              Nature Methods 16, 2019), panoptic quality (sum of the matches' IoU)/(M+E/2+F/2)
 *              (Kirillov et al., CVPR 2019)
 *   split      a truth in which more than half of each of two or more labels lies
 *   merge      a label in which more than half of each of two or more truths lies
 *   Rand       over pairs of different voxels: precision is the share of the pairs with one label
 *              that also have one truth, recall the share of the pairs with one truth that also
 *              have one label; the adapted Rand error is 1 - F1 of these two. Voxels whose truth is
 *              0 are left out; label 0 is a label like any other (Arganda-Carreras et al., Front.
 *              Neuroanat. 9, 2015)
 *   variation  of information, in bits: H(label | truth), which splits add to, and H(truth |
 *              label), which merges add to (Meila, J. Multivariate Analysis 98, 2007). Over all
 *              voxels, where 0 is a label like any other, and again without those whose truth is 0
 */
#ifndef LOB_INSTANCES_H
#define LOB_INSTANCES_H

#include "kernels/context.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

enum {
    LOB_INSTANCES_MATCH = 1, /* IoU of at least .5, and partners */
    LOB_INSTANCES_SPLIT = 2, /* a part of a truth that is split */
    LOB_INSTANCES_MERGE = 4, /* a part of a label that merges */
    LOB_INSTANCES_THRESHOLDS = 10
};

/* A truth and a label that share voxels. */
typedef struct {
    int32_t truth, label; /* 0: none */
    int32_t marks;        /* LOB_INSTANCES_MATCH, _SPLIT, _MERGE, which lob_instances_score sets */
    int64_t common;       /* voxels of both, >= 1 */
} lob_instances_pair;

/* The contingency table. All zero: empty. */
typedef struct {
    int64_t truth_count, label_count; /* the largest of each */
    int64_t *truth_voxels;            /* truth_count + 1: voxels of 0, 1, ... */
    int64_t *label_voxels;            /* label_count + 1 */
    lob_instances_pair *pairs;        /* pair_count, in no particular order until they are scored */
    int64_t pair_count;
} lob_instances;

/* Scores at a threshold; NaN where there is nothing to divide by. */
typedef struct {
    int percent;                    /* the IoU times 100: 50, 55, ..., 95 */
    int64_t matched, extra, missed; /* matches; labels and truths without one */
    double precision, recall, f1, average_precision;
    double matched_iou; /* mean over the matches */
    double panoptic_quality;
} lob_instances_at;

typedef struct {
    int64_t truths, labels;                         /* that occur */
    int64_t splits, merges;                         /* truths and labels */
    double rand_error, rand_precision, rand_recall; /* NaN without a pair of voxels */
    double voi_split, voi_merge;                    /* bits */
    double voi_split_inside, voi_merge_inside; /* bits, where the truth is not 0; NaN: nowhere */
    lob_instances_at at[LOB_INSTANCES_THRESHOLDS];
} lob_instances_scores;

/*
 * Count the contingency table.
 *
 *   out     out  empty on failure; free it with lob_instances_free
 *   truth   in   LOB_U8, LOB_I16 or LOB_I32, one channel; labels 0..truth_count, which
 *                lob_labels_dense makes
 *   labels  in   the same dims; 0..label_count
 *   context in   threads, memory, progress
 *
 * Same bytes at any thread count, but for the order of pairs. Working memory: 24 to 72 bytes per
 * pair, for each thread, and the table.
 * Returns LOB_OK, LOB_EDATA (dims or types that do not fit, a label above its count), LOB_ENOMEM or
 * LOB_ECANCEL.
 */
lob_status lob_instances_count(lob_instances *out, const lob_volume *truth, int64_t truth_count,
                               const lob_volume *labels, int64_t label_count,
                               const lob_context *context, lob_error *error);

/* Score a table, mark its pairs, and sort them by truth, then by label. Sums of voxels are
 * integers; others go through the pairs in their order. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_instances_score(lob_instances_scores *out, lob_instances *instances);

/* |t & l| / |t | l| of a pair. */
double lob_instances_iou(const lob_instances *instances, const lob_instances_pair *pair);

/* Free the arrays; the table is empty again. */
void lob_instances_free(lob_instances *instances);

LOB_END_DECLS

#endif
