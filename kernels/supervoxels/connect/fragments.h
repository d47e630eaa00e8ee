/*
 * From cluster labels to supervoxel labels. Reading of supervoxels/connect/ starts here.
 *
 * After the iterations every voxel has the label of its cluster, and a cluster may fall apart into
 * several connected parts: fragments. Two steps, in place in the label volume, follow:
 *
 * 1. Number the fragments: connected component labelling by equal labels, which is components'.
 * 2. Join small fragments by Boruvka's algorithm for minimum spanning forests (O. Boruvka, 1926;
 *    on a GPU: Vineet, Harish, Patidar and Narayanan, "Fast minimum spanning tree for large graphs
 *    on the GPU", HPG 2009). Nodes of the graph are sets of fragments, at first one each; edges are
 *    contacts, pairs of sets that share a face; the cost of an edge is the difference of the sets'
 *    mean levels. In a phase every small set picks its cheapest edge, then the picked edges are
 *    contracted: the sets at both ends become one. Phases repeat until nothing picks. Unlike in a
 *    spanning forest only small sets pick, and costs follow the growing sets. The sets, numbered in
 *    raster order, are the supervoxels. The exact rule is in supervoxels_voxel.h.
 *
 * A set is a tree of fragments. Its root is its lowest fragment, which gives the set its number.
 *
 *   on the CPU   fragments.c       step 1, by ../../components/join/run_table.h
 *                boruvka.c         step 2: each phase reads the rows that have small sets
 *                fragments_team.c  what ranks that share a volume tell each other for both
 *   on a GPU     step 1 is components' labelling of equal values, which supervoxels_cuda.cu calls;
 *                step 2: connect_params_cuda.cuh lists its files
 */
#ifndef LOB_FRAGMENTS_H
#define LOB_FRAGMENTS_H

#include "kernels/budget.h"
#include "kernels/progress.h"
#include "kernels/supervoxels/supervoxels_plan.h"
#include "kernels/team/team.h"

enum { LOB_FRAGMENTS_REPORT_ROWS = 64 /* rows between reports of progress */ };

/* The end of the run of equal labels that starts at x. */
static inline int64_t lob_label_run_end(const int32_t *row, int64_t x, int64_t nx)
{
    const int32_t label = row[x];
    while (++x < nx && row[x] == label) continue;
    return x;
}

/* What both steps work on. */
typedef struct {
    const lob_supervoxels_plan *plan;
    const lob_supervoxels_rule *rule; /* of the plan */
    const lob_volume *image;
    int32_t *labels; /* side[0] * side[1] * planes */
    int64_t planes;  /* of this rank */
    lob_team *team;  /* NULL: one rank has all */
    int threads;
    lob_budget *budget;
    lob_progress *stages;
    int64_t count; /* fragments of the volume, when they are numbered */
} lob_fragments;

/*
 * Replace each label by the number of its voxel's fragment. Fragments are connected through faces
 * (not across slices), hold equal labels, and count from 1 in the order of their first voxels. 0
 * stays 0.
 *
 * Working memory is 2 bits per voxel (rows are rounded up to 64), 4 bytes per row, and 4 bytes for
 * each run of equal labels along x (slice by slice across x for each voxel) and for each part of a
 * fragment that a thread has joined; one thread works where there is no memory for those of
 * several. A team has 20 bytes for each voxel of a plane, and 4 for each fragment of each slab.
 * Returns LOB_OK, LOB_EDATA (more than 2^31 - 2 fragments), LOB_ENOMEM, LOB_ECANCEL or what the
 * team's functions do.
 */
lob_status lob_fragments_number(lob_fragments *f, lob_error *error);

/*
 * Join small fragments with their most similar neighbours, and number the sets in raster order.
 *
 *   count  out  how many sets there are, in the volume
 *
 * Working memory is 8 bytes per fragment and 6 per fragment and channel, a byte per row, and rows
 * of levels. A team has 8 bytes for each voxel of a plane and what lob_fragments_share takes.
 * Returns LOB_OK, LOB_ENOMEM, LOB_ECANCEL or what the team's functions do.
 */
lob_status lob_fragments_join(const lob_fragments *all, int64_t *count, lob_error *error);

/* ---- of a team ---- */

/*
 * Join the fragments that each rank has numbered in its slab where they meet, and number all.
 *
 *   seam  in/out  5 planes; the first has the clusters of the slab's first plane, the second those
 *                 of its last; overwritten
 */
lob_status lob_fragments_number_seams(lob_fragments *f, int32_t *seam, lob_error *error);

/* The fragments of the planes before and behind a rank's, where there are such. */
lob_status lob_fragments_beside(const lob_fragments *f, int32_t *before, int32_t *behind,
                                lob_error *error);

/*
 * Everyone's list to everyone.
 *
 *   all    out  of all ranks, one after another; for lob_budget_free, whatever it returned
 *   bytes  out  of it
 *   mine   in   own bytes
 */
lob_status lob_fragments_share(const lob_fragments *f, void **all, int64_t *bytes, const void *mine,
                               int64_t own, lob_error *error);

#endif
