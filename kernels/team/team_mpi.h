/* The plugin that has MPI: a program that is not linked to any MPI loads the one that fits. */
#ifndef LOB_TEAM_MPI_H
#define LOB_TEAM_MPI_H

#include "kernels/team/team.h"

typedef struct {
    bool (*begin)(int *rank, int *size); /* once a process, by the thread that posts */
    lob_post *post;                      /* user is not looked at */
    void (*end)(void);                   /* when all ranks are done */
} lob_mpi;

#define LOB_MPI_NAME "lob_mpi_plugin"
extern const lob_mpi lob_mpi_plugin;

#endif
