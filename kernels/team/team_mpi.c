/* Letters by MPI. A plugin of its own, built by the mpicc of the MPI that it is for. */
#include "kernels/team/team_mpi.h"

#include <mpi.h>
#include <stdlib.h>

enum { TAG = 7, PART = 1 << 30 /* MPI counts bytes in an int */ };

static bool begin(int *rank, int *size)
{
    int provided;
    return MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS &&
           MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
           MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

static int64_t parts_of(int64_t bytes)
{
    return bytes / PART + (bytes % PART > 0);
}

static int part_bytes(int64_t bytes, int64_t at)
{
    return bytes - at < PART ? (int)(bytes - at) : PART;
}

/* MPI's own errors end the process, and with it the job: its handler is the usual one. */
static lob_status post(void *user, const lob_letter *letters, int count, lob_error *error)
{
    int64_t parts = 0;
    int n = 0;
    (void)user;
    (void)error;
    for (int i = 0; i < count; i++)
        parts += parts_of(letters[i].send_bytes) + parts_of(letters[i].receive_bytes);
    MPI_Request *const requests = malloc((size_t)(parts + 1) * sizeof *requests);
    if (!requests) MPI_Abort(MPI_COMM_WORLD, 75);
    for (int i = 0; i < count; i++)
        for (int64_t at = 0; at < letters[i].receive_bytes; at += PART)
            MPI_Irecv((char *)letters[i].receive + at, part_bytes(letters[i].receive_bytes, at),
                      MPI_BYTE, letters[i].with, TAG, MPI_COMM_WORLD, &requests[n++]);
    for (int i = 0; i < count; i++)
        for (int64_t at = 0; at < letters[i].send_bytes; at += PART)
            MPI_Isend((const char *)letters[i].send + at, part_bytes(letters[i].send_bytes, at),
                      MPI_BYTE, letters[i].with, TAG, MPI_COMM_WORLD, &requests[n++]);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    free(requests);
    return LOB_OK;
}

static void end(void)
{
    MPI_Finalize();
}

const lob_mpi lob_mpi_plugin = {begin, post, end};
