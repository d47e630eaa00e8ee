/*
 * The run table: connected components on the CPU, by runs. Reading about the CPU starts here;
 * components_stages_cuda.cuh is about the GPU.
 *
 * A run is a maximal stretch of joined foreground voxels along x. Labelling goes from voxels to
 * runs, from runs to pieces and from pieces to components:
 *
 *   bits/bit_rows.h       makes the foreground and the run starts of each row, one bit per voxel
 *   join/label_runs.c    fills the run table: cuts the rows into slabs; one thread joins the runs
 *                         of a slab by union-find (Rem's algorithm). A piece is the part of
 *                         a component that lies in one slab and is connected there
 *   join/join_rows.h      unites the runs of one row with those of the rows before it: inside a
 *                         slab run by run, across the border of two slabs piece by piece
 *   label/holes.h         does the same with the background, to find holes
 *   components_select.h   chooses components by size and gives them their labels
 *   components_cpu.c      calls all of these, measures regions and writes the labels
 *
 * Runs and pieces are numbered in raster order, and the root of a set is its smallest number. So
 * components are numbered by their first voxels, however the volume is cut into slabs.
 *
 *     row r+1  | slab 1   ====  ==     ===        each run: 4 bytes
 *     row r    +---------------------------       seam: rows of slab 1 meet rows of slab 0
 *     row r-1  | slab 0  ===== === ==
 */
#ifndef LOB_RUN_TABLE_H
#define LOB_RUN_TABLE_H

#include "kernels/budget.h"
#include "kernels/components/bits/bit_rows.h"
#include "kernels/components/components.h"
#include "kernels/progress.h"

/*
 * Union-find with Rem's algorithm and splicing (Patwary, Blair and Manne, "Experiments on
 * union-find algorithms for the disjoint-set data structure", SEA 2010): climb from the node with
 * the larger parent and hang each node on the way under the smaller parent. The climb mostly ends
 * before it reaches a root. A parent is smaller than its child, or the child itself at a root, so
 * the root of a set is its smallest member.
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

enum { LOB_REPORT_ROWS = 64 }; /* progress is reported once for this many rows */

/* A row that precedes another by (dy, dz). reach 0: voxels join at the same x; 1: at x - 1, x and
 * x + 1; -1: not at all. */
typedef struct {
    int dy, dz, reach;
} lob_earlier_row;

/* Rows [row, row_end) with their runs and pieces. */
typedef struct {
    int64_t row, row_end;
    int64_t first_run, runs;     /* first_run: index into run_piece */
    int64_t first_piece, pieces; /* first_piece: index into number */
} lob_slab;

typedef struct lob_run_table lob_run_table;
struct lob_run_table {
    /* Set by the caller. */
    lob_dims dims;
    lob_join join;
    const lob_volume *image;        /* for LOB_JOIN_EQUAL and LOB_JOIN_TOLERANCE */
    const lob_component_rule *rule; /* for LOB_JOIN_TOLERANCE */
    int neighbours, slice_axis;
    int threads;
    bool may_share; /* run_piece may be allocated with 4 bytes per voxel, as int32 labels are */
    lob_budget *budget;
    lob_progress *stages;

    /* Makes a row's bits: foreground, and starts where these are not NULL or foreground. */
    void (*make_bits)(lob_run_table *table, int64_t row, void *user);
    void *user;

    /* Made by lob_label_runs. */
    int64_t rows, words;  /* rows of the volume; 64-bit words of a row */
    uint64_t *foreground; /* rows * words */
    uint64_t *starts;     /* rows * words, where runs start; foreground itself where each voxel is
                             a run; NULL: a run starts where a foreground voxel follows background */
    uint32_t *row_run;    /* rows: the row's first run, counted from its slab's first */
    lob_slab *slab;
    int64_t slabs, slab_rows;
    uint32_t *run_piece; /* the run's piece, counted from its slab's first */
    bool shared;         /* run_piece has an element per voxel, else per run. Labels may be written
                            over it, see alloc_runs in label_runs.c */
    uint32_t *number;    /* pieces: the component, from 0 in raster order */
    int64_t runs, pieces, components;
    int64_t max_row_runs;       /* the largest number of runs in a row */
    lob_earlier_row earlier[4]; /* (y-1, z), (y, z-1), (y-1, z-1), (y+1, z-1) */
};

/*
 * Make the run table of a volume: make the bits of all rows, join the runs and number the
 * components.
 *
 *   share  in  share of the whole call's progress at which making bits ends, and joining
 *
 * Returns LOB_OK, LOB_EDATA, LOB_ENOMEM or LOB_ECANCEL; lob_run_table_free afterwards in any case.
 */
lob_status lob_label_runs(lob_run_table *table, const double share[2], lob_error *error);

/* Free what lob_label_runs allocated. */
void lob_run_table_free(lob_run_table *table);

/* The table forgets run_piece, which the caller frees with free(). */
void lob_run_table_detach(lob_run_table *table);

static inline const uint64_t *lob_run_table_starts(const lob_run_table *table, int64_t row)
{
    return table->starts ? table->starts + row * table->words : NULL;
}

/* Threads that have a slab each. */
static inline int lob_run_table_threads(const lob_run_table *table)
{
    return table->threads < table->slabs ? table->threads : (int)table->slabs;
}

static inline const lob_slab *lob_run_table_slab(const lob_run_table *table, int64_t row)
{
    return &table->slab[row / table->slab_rows];
}

/* A row's runs and the pieces that they belong to. */
typedef struct {
    int64_t row, count;
    const lob_run *run;
    const uint32_t *piece; /* count, from first_piece on */
    uint32_t first_piece;
} lob_row_runs;

/* The runs of a row. runs: memory for max_row_runs, or NULL; then run is NULL too. */
static inline lob_row_runs lob_run_table_row(lob_run *runs, const lob_run_table *table, int64_t row)
{
    const lob_slab *slab = lob_run_table_slab(table, row);
    const int64_t end = row + 1 < slab->row_end ? table->row_run[row + 1] : slab->runs;
    if (runs)
        lob_bits_runs(runs, table->foreground + row * table->words,
                      lob_run_table_starts(table, row), table->words, table->dims.nx);
    return (lob_row_runs){.row = row,
                          .count = end - table->row_run[row],
                          .run = runs,
                          .piece = table->run_piece + slab->first_run + table->row_run[row],
                          .first_piece = (uint32_t)slab->first_piece};
}

/*
 * Call visit for every row, in parallel. One thread visits all rows of a slab, and so all runs of a
 * piece.
 *
 *   share  in  share of the whole call's progress at which the visits end
 *
 * Returns LOB_OK, LOB_ENOMEM or LOB_ECANCEL.
 */
typedef void lob_row_visit(const lob_run_table *table, const lob_row_runs *row, void *user);
lob_status lob_run_table_visit(const lob_run_table *table, lob_row_visit *visit, void *user,
                               double share, lob_error *error);

/* The same with row->run NULL, for visits that read the rows' bits. Returns LOB_OK or LOB_ECANCEL.
 */
lob_status lob_run_table_visit_bits(const lob_run_table *table, lob_row_visit *visit, void *user,
                                    double share);

#endif
