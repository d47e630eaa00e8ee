/*
 * The ranks of a command: processes that mpirun or srun has started to share one volume, or threads
 * of this one, each with a GPU of its own. Rank 0 writes and speaks for all; each reads its own
 * planes (tools/inout/volumes.h).
 */
#ifndef LOB_RANKS_H
#define LOB_RANKS_H

#include "kernels/team/team.h"

/* Is this the task that speaks: the launcher's first, or the only one? It needs no MPI to know. */
bool lob_ranks_speak(void);

/* Returns the code where all tasks refuse to begin and have not joined each other: of those that do
 * not speak a second later. As soon as one fails a launcher ends all, and what the one that speaks
 * has to say would be lost. */
int lob_ranks_refuse(int code);

/*
 * How many ranks LOBULE_RANKS asks for, as threads of this process; 0: for none. A launcher's tasks
 * are ranks themselves.
 */
int lob_ranks_asked(void);

/*
 * Call work in each of so many threads, which are the ranks for what they call below. Returns
 * LOB_OK when all have ended, or LOB_ENOMEM without having called any.
 */
typedef void lob_ranks_work(int rank, void *user);
lob_status lob_ranks_threads(int size, lob_ranks_work *work, void *user);

/*
 * Join the other ranks, if a launcher has started several. To be called once by a process, and by
 * each of its threads that are ranks.
 *
 *   shares  in  whether the command can share a volume; LOB_EARG where it cannot
 *
 * Returns LOB_OK, LOB_EARG (also where no plugin fits, or MPI counts other ranks than the launcher)
 * or LOB_ENOMEM.
 */
lob_status lob_ranks_begin(bool shares, lob_error *error);

/* All ranks; NULL: this process is alone. */
lob_team *lob_ranks(void);

/* How many of them are threads of this process; 1 where each is a process. */
int lob_ranks_inside(void);

/* How many of them are on this machine, as the launcher says; 1 where it does not. */
int lob_ranks_here(void);

/* Which of these this task is, from 0; 0 where the launcher does not say. */
int lob_ranks_local(void);

/* What has started several tasks, as "mpirun of Open MPI" or "threads"; NULL: nothing has. */
const char *lob_ranks_launcher(void);

/*
 * A plugin that is installed, of those for several MPIs.
 *
 *   k     in   from 0
 *   path  out  of its file; empty: this one is not installed
 *   why   out  why it cannot be loaded here; empty: it can
 *
 * Returns false after the last.
 */
bool lob_ranks_plugin(int k, char *path, size_t path_size, char *why, size_t why_size);

/* Leave, when the command is over. */
void lob_ranks_end(void);

#endif
