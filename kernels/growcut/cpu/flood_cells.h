/*
 * What the parts of the CPU's flood share: its cells, and the shares of threads. Cells are the
 * section's voxels with one around them along each axis of more than one voxel.
 */
#ifndef LOB_FLOOD_CELLS_H
#define LOB_FLOOD_CELLS_H

#include "kernels/growcut/cpu/flood_queues.h"
#include "kernels/growcut/cpu/growcut_tiles.h"
#include "kernels/growcut/growcut_slabs.h"

/* States of a cell. */
enum {
    LOB_FLOOD_OPEN = 1,    /* data that no water has reached */
    LOB_FLOOD_REACHED = 2, /* by the wave under way */
    LOB_FLOOD_BORDER = 4,  /* a cell beside it may be of another share */
    LOB_FLOOD_FREE = 8,    /* of a team: data of this rank's planes, and no seed */
    LOB_FLOOD_BESIDE = 16, /* the same, of the rank beside */
    LOB_FLOOD_NEWS = 32,   /* it has changed since the ranks last met */
    LOB_FLOOD_AGAIN = 64,  /* by the wave under way, and not for the first time */
    LOB_FLOOD_TIE = 128    /* two labels came at the same cost */
};

static const uint32_t LOB_FLOOD_TIED = (uint32_t)1 << 31; /* beside a label */

/* Costs: a level, and one more than the steps that a path took on it, so that 0 is below all. */
enum { LOB_FLOOD_STEPS = 48 /* bits */ };
#define LOB_FLOOD_NEVER UINT64_MAX

static inline uint64_t lob_flood_cost_at(int64_t level)
{
    return (uint64_t)level << LOB_FLOOD_STEPS | 1;
}

static inline int64_t lob_flood_level(uint64_t cost)
{
    return (int64_t)(cost >> LOB_FLOOD_STEPS);
}

static inline int64_t lob_flood_steps(uint64_t cost)
{
    return (int64_t)(cost & (((uint64_t)1 << LOB_FLOOD_STEPS) - 1)) - 1;
}

/* Neighbours in one row. */
typedef struct {
    int64_t step;   /* cells to the one at x - 1 */
    uint32_t looks; /* OPEN | REACHED in the bytes of those that are neighbours */
    uint32_t frees; /* FREE likewise */
    bool is[3];
} lob_flood_row;

/* A share of the cells, which one thread alone writes: every so many slabs of planes. */
typedef struct {
    lob_flood_pool pool;
    lob_flood_queue *queues; /* levels */
    lob_flood_list wave, touched;
    lob_flood_list *sent; /* by share: cells of others that the wave reaches */
    int64_t flooded;
    lob_status status;
    struct {
        int64_t wave, flooded; /* cells */
        uint64_t next;         /* the least cost of what waits for its turn, */
        bool has_heard;        /* of which some was heard */
        lob_status status;
    } shown; /* for other threads, from meeting to meeting */
} lob_flood_share;

/* Where threads wait for each other, some microseconds apart: they spin, as a sleep takes longer
 * than that, and let others run where a thread is late. */
typedef struct {
    _Alignas(64) atomic_int here;
    _Alignas(64) atomic_uint turn;
} lob_flood_meeting;

/* A cell of a plane beside a seam, from the plane's first on, what it costs, and its label. Planes
 * of less than 2^31 voxels have less than 2^32 cells. */
typedef struct {
    uint32_t cell, label;
    uint64_t cost;
} lob_flood_news;

/* The plane before a rank's own, or behind them, where there is such: its first cell, and that of
 * our own beside it. */
typedef struct {
    int64_t theirs, ours;
    int64_t next; /* of what was heard: what has not had its turn */
} lob_flood_seam;

typedef struct {
    const lob_growcut_section *section;
    lob_budget budget;
    lob_error *error;
    int64_t pad[3], pitch[3], cells;
    uint8_t *states; /* of the cells, with a margin that row reads may touch */
    uint8_t *state;
    uint16_t *level; /* of a cell; alone, of its path once it is reached */
    int32_t *label;  /* 0: not reached */
    uint64_t *came;  /* of a team: the least cost of a neighbour; 0: a seed. Else NULL */
    lob_flood_row row[9];
    int rows;
    int64_t levels;
    int axis;               /* planes lie across it: the last of more than one voxel */
    int64_t planes, height; /* of all slabs but the last */
    lob_flood_share *share;
    int shares;
    lob_flood_meeting meeting;
    double start_s;
    atomic_bool alone; /* the first thread goes on without the others */
    int64_t next_report, steps;

    lob_team *team;     /* of ranks; NULL: this one has all */
    int64_t first, end; /* its planes */
    bool again;         /* the ranks have met */
    uint64_t high, now; /* the highest cost before they met last, and that of the wave */
    uint64_t until;     /* it rests where all that waits costs as much, to meet */
    int64_t most;       /* or after so many cells; */
    int64_t begun;      /* cells flooded before */
    int64_t width;      /* levels from one `until` to the next */
    bool is_full;       /* it rested before `until` */
    lob_flood_seam seam[2];
    lob_team_news news[2];
} lob_flood;

/* What a cell costs; NEVER: it is not reached. */
static inline uint64_t lob_flood_cost(const lob_flood *f, int64_t cell)
{
    const uint64_t came = f->came[cell];
    if (came == LOB_FLOOD_NEVER) return came;
    return f->level[cell] > lob_flood_level(came) ? lob_flood_cost_at(f->level[cell]) : came + 1;
}

/* Its label, and beside it whether that is tied. */
static inline uint32_t lob_flood_label(const lob_flood *f, int64_t cell)
{
    return (uint32_t)f->label[cell] | (f->state[cell] & LOB_FLOOD_TIE ? LOB_FLOOD_TIED : 0);
}

static inline int lob_flood_share_of_plane(const lob_flood *f, int64_t plane)
{
    return (int)(plane / f->height % f->shares);
}

/* Of a cell in a volume of several shares, or around it. */
static inline int lob_flood_share_of(const lob_flood *f, int64_t cell)
{
    return lob_flood_share_of_plane(f, cell / f->pitch[f->axis] - 1);
}

/* The first cell of a row of the section. */
static inline int64_t lob_flood_row_of(const lob_flood *f, int64_t y, int64_t z)
{
    return f->pad[0] + (y + f->pad[1]) * f->pitch[1] + (z + f->pad[2]) * f->pitch[2];
}

/*
 * Lay out cells and shares of a section, take their memory, and fill them.
 *
 *   f  in/out  has section, budget and error, and is 0 otherwise
 *
 * Returns LOB_OK or LOB_ENOMEM; whatever it returned, lob_flood_free gives the memory back.
 */
lob_status lob_flood_begin(lob_flood *f, lob_growcut_result *result);
void lob_flood_free(lob_flood *f);

/* Write labels, strengths and ties of this rank's planes. */
void lob_flood_write(const lob_flood *f, lob_growcut_result *result);

/* ---- flood_seams.c ---- */

/*
 * Tell the ranks beside what has changed at the seams, and hear from them.
 *
 *   any  out  whether a rank had something to tell
 *
 * Returns LOB_OK or what the team does.
 */
lob_status lob_flood_meet(lob_flood *f, bool *any);

/* When nobody has news: let the water rise on. any: whether it has not risen to the top. Returns
 * LOB_OK or what the team does. */
lob_status lob_flood_rise(lob_flood *f, bool *any);

/* The least cost of what a share has heard and not begun with. */
uint64_t lob_flood_next_heard(const lob_flood *f, int own);

/* Add to a share's wave the cells beside seams of which was heard that they have this cost.
 * Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_flood_add_heard(lob_flood *f, lob_flood_share *s, int own, uint64_t cost);

#endif
