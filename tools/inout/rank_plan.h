/* What several ranks would read, hold and send for a volume: for --plan, in place of the work. */
#ifndef LOB_RANK_PLAN_H
#define LOB_RANK_PLAN_H

#include "tools/session/session.h"

/* Say what tasks would do, and do nothing. */
#define OPT_PLAN(pointer)                                                                   \
    OPT_INT(                                                                                \
        "plan", pointer, "R", 1, 1 << 20,                                                   \
        "only say what each of R tasks of mpirun or srun, or parts on as many GPUs, would " \
        "read, hold and send, in bytes, and about how long on CPUs; no GPU is needed for that")

/* Bytes are those of one voxel. */
typedef struct {
    lob_dims dims;
    int64_t halo, align;   /* planes on each side that are read too; where reading may begin */
    int64_t file_bytes;    /* in the files that each reads */
    int64_t held_bytes;    /* that is read: in memory */
    int64_t written_bytes; /* of the results, which go to the first task; 0: tables alone */
    int64_t seam_bytes;    /* of a plane beside a seam: what its two tasks send each other */
    double moved_bytes;    /* of a voxel: what goes to the task that has its column, and back */
    int64_t common_bytes;  /* not of a voxel: of what each task holds beside its planes */
} lob_rank_plan;

/* Print what so many tasks would do; of several tasks that are there now, the first prints. Returns
 * LOB_OK, LOB_ENOMEM or, where this process would have a part on each of other than so many GPUs,
 * LOB_EARG. */
lob_status lob_rank_plan_print(lob_session *s, int tasks, const lob_rank_plan *plan);

#endif
