/*
 * Pieces: the CPU engine of components, from bit rows to a number for every run.
 *
 * The rows of the volume, one after the other in memory, are cut into slabs, and each slab is
 * joined by one thread: a node a run, union-find over nodes with the first as the root. What is one
 * in a slab is a piece. Pieces count through all slabs in the order in which a raster scan meets
 * them, so after a union-find over pieces along the seams, with the first as the root again,
 * components are numbered by their first voxels whatever the slabs are.
 *
 *     row r+1  | slab 1   ====  ==     ===        runs: nodes, 4 bytes each
 *     row r    +---------------------------       seam: rows here meet rows below
 *     row r-1  | slab 0  ===== === ==
 */
#ifndef LOB_COMPONENTS_PIECES_H
#define LOB_COMPONENTS_PIECES_H

#include "kernels/budget.h"
#include "kernels/components/bits/bit_rows.h"
#include "kernels/components/components.h"
#include "kernels/progress.h"

#include <stdatomic.h>

/*
 * Rem's union-find: climb from the node with the larger parent, hanging those on the way under the
 * smaller one. It mostly ends before it comes to a root. Parents are smaller than their children,
 * or themselves, so that the root of a set is its first.
 */
static inline void lob_unite(uint32_t *parent, uint32_t a, uint32_t b)
{
    uint32_t up = parent[a], other = parent[b];
    while (up != other) {
        if (up < other) {
            const uint32_t node = a, above = up;
            a = b, up = other;
            b = node, other = above;
        }
        parent[a] = other;
        if (up == a) return;
        a = up;
        up = parent[a];
    }
}

/* A row that comes before another, and how far along x their voxels join; reach -1: they do not. */
typedef struct {
    int dy, dz, reach;
} lob_before;

/* Rows [row, row_end), with their nodes and pieces. */
typedef struct {
    int64_t row, row_end;
    int64_t node, nodes;   /* from where on in pieces->node, how many */
    int64_t piece, pieces; /* the first of the volume's, how many */
} lob_slab;

typedef struct lob_pieces lob_pieces;
struct lob_pieces {
    /* set by the caller */
    lob_dims dims;
    lob_join join;
    const lob_volume *image;        /* of equal and tolerance */
    const lob_component_rule *rule; /* of tolerance */
    int neighbours, slice_axis;
    int threads;
    bool may_spread; /* nodes may take 4 bytes a voxel, most of it not touched */
    lob_budget *budget;
    lob_progress *stages;

    /* Make a row's bits: filled, and where joins are not by foreground alone starts. */
    void (*mark)(lob_pieces *pieces, int64_t row, void *user);
    void *user;

    /* made by lob_pieces_find */
    int64_t rows, words; /* of the volume; of a row */
    uint64_t *filled;    /* rows * words */
    uint64_t *starts;    /* rows * words; NULL: where filled follows not filled */
    uint32_t *first;     /* rows: its first run's node, counted from its slab's first */
    lob_slab *slab;
    int64_t slabs, slab_rows;
    uint32_t *node;              /* the run's piece, counted from its slab's first */
    bool spread;                 /* node is one a voxel; else nodes */
    uint32_t *number;            /* pieces: its component, from 0 in raster order */
    int64_t nodes, total, found; /* runs, pieces, components */
    int64_t longest;             /* runs in a row, at most */
    lob_before before[4];        /* (y-1, z), (y, z-1), (y-1, z-1), (y+1, z-1) */
};

/*
 * Mark all rows, join them and number the components.
 *
 *   share  in  of the whole, when marking and when joining ends
 *
 * Returns LOB_OK, LOB_EDATA, LOB_ENOMEM or LOB_ECANCEL; lob_pieces_free afterwards in any case.
 */
lob_status lob_pieces_find(lob_pieces *pieces, const double share[2], lob_error *error);

void lob_pieces_free(lob_pieces *pieces);

/* pieces->node is the caller's to free(), and no longer known. */
void lob_pieces_hand_over(lob_pieces *pieces);

static inline const uint64_t *lob_pieces_starts(const lob_pieces *pieces, int64_t row)
{
    return pieces->starts ? pieces->starts + row * pieces->words : NULL;
}

/* How many runs a row of a slab has. */
static inline int64_t lob_slab_runs(const lob_pieces *pieces, const lob_slab *slab, int64_t row)
{
    return (row + 1 < slab->row_end ? pieces->first[row + 1] : slab->nodes) - pieces->first[row];
}

/* Runs of a row; `runs` has room for the longest. Returns how many. */
static inline int64_t lob_pieces_runs(lob_run *runs, const lob_pieces *pieces, int64_t row)
{
    return lob_bits_runs(runs, pieces->filled + row * pieces->words, lob_pieces_starts(pieces, row),
                         pieces->words, pieces->dims.nx);
}

static inline const lob_slab *lob_pieces_slab(const lob_pieces *pieces, int64_t row)
{
    return &pieces->slab[row / pieces->slab_rows];
}

/* A row's runs and the pieces that they belong to. */
typedef struct {
    int64_t row, count;
    const lob_run *run;
    const uint32_t *piece; /* counted from base */
    uint32_t base;
} lob_piece_row;

/* Make one in `runs`, which has room for the longest or is NULL: then they are left out. */
static inline lob_piece_row lob_pieces_row(lob_run *runs, const lob_pieces *pieces, int64_t row)
{
    const lob_slab *slab = &pieces->slab[row / pieces->slab_rows];
    return (lob_piece_row){.row = row,
                           .count = runs ? lob_pieces_runs(runs, pieces, row)
                                         : lob_slab_runs(pieces, slab, row),
                           .run = runs,
                           .piece = pieces->node + slab->node + pieces->first[row],
                           .base = (uint32_t)slab->piece};
}

/*
 * Call visit for every row, in parallel. One thread visits all rows of a slab and so
 * all runs of a piece.
 *
 *   share  in  of the whole, when the visits end
 *
 * Returns LOB_OK, LOB_ENOMEM or LOB_ECANCEL.
 */
typedef void lob_row_visit(const lob_pieces *pieces, const lob_piece_row *row, void *user);
lob_status lob_pieces_visit(const lob_pieces *pieces, lob_row_visit *visit, void *user,
                            double share, lob_error *error);

/* The same with row->run NULL, for visits that go by the rows' bits. LOB_OK or LOB_ECANCEL. */
lob_status lob_pieces_visit_bits(const lob_pieces *pieces, lob_row_visit *visit, void *user,
                                 double share);

/*
 * Of the background of numbered components, find the holes.
 *
 *   holes    out  pieces whose number is the label that each hole takes, or 0; caller's fields are
 *                 set here
 *   labels   in   pieces whose number is their label, or 0
 *   dropped  in   whether any is 0
 *   share    in   of the whole, when it starts and when it ends
 *
 * Returns as lob_pieces_find; lob_pieces_free afterwards in any case.
 */
lob_status lob_components_holes(lob_pieces *holes, const lob_pieces *labels, bool dropped,
                                const double share[2], lob_error *error);

#endif
