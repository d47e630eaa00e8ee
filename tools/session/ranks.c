/* Launchers, and the plugin that has their MPI; ranks that are threads. */
#include "tools/session/ranks.h"

#include "io/platform.h"
#include "kernels/team/team_mpi.h"
#include "tools/platform/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a launcher tells its tasks. SLURM_NTASKS is not looked at: a batch script has it too. */
static const struct {
    const char *name, *size, *rank, *here, *local;
    const char *plugin; /* of its usual MPI */
} launchers[] = {
    {"mpirun of Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",                                                                      "OMPI_COMM_WORLD_LOCAL_RANK", "_openmpi"},
    {"mpirun of MPICH",    "PMI_SIZE",             "PMI_RANK",             "MPI_LOCALNRANKS",           "MPI_LOCALRANKID",            "_mpich"  },
    {"srun",               "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",         "SLURM_STEP_TASKS_PER_NODE", "SLURM_LOCALID",
     "_openmpi"                                                                                                                                 },
};
enum { LAUNCHERS = sizeof launchers / sizeof launchers[0] };

static lob_team all;
static const lob_mpi *mpi; /* NULL: alone */

static _Thread_local lob_team *inside; /* of a thread that is a rank */

static int number_of(const char *variable, int otherwise)
{
    const char *const text = getenv(variable);
    return text && *text ? (int)strtol(text, NULL, 10) : otherwise;
}

/* The launcher that has started several tasks; -1: none has. */
static int launcher(void)
{
    const char *const asked = getenv("LOBULE_RANKS");
    if (asked && strcmp(asked, "off") == 0) return -1;
    for (int k = 0; k < LAUNCHERS; k++)
        if (number_of(launchers[k].size, 1) > 1) return k;
    return -1;
}

/* Ends of the names of plugins. */
static const char *const ends[] = {"", "_openmpi", "_mpich"};

/* The plugin of this end, if it is installed: LOBULE_LIBRARIES is the way from the program's
 * folder.
 */
static bool is_installed(char *path, size_t size, const char *end)
{
    static const char *const folders[] = {"", LOBULE_LIBRARIES "/"};
    char *const program = lob_process_file();
    bool found = false;
    if (program) *(char *)lob_name_in_path(program) = '\0';
    for (size_t i = 0; program && !found && i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(path, size, "%s%sliblobule_mpi%s.so", program, folders[i], end);
        found = lob_is_there(path);
    }
    free(program);
    return found;
}

static const lob_mpi *load(const char *end, char *why, size_t size)
{
    char path[8192];
    return is_installed(path, sizeof path, end) ? lob_process_load(path, LOB_MPI_NAME, why, size)
                                                : NULL;
}

/* That which LOBULE_MPI names, or the launcher's, or the only one. */
static const lob_mpi *find(int k, char *why, size_t size)
{
    const char *const named = getenv("LOBULE_MPI");
    snprintf(why, size, "none is installed");
    if (named && *named) return lob_process_load(named, LOB_MPI_NAME, why, size);
    const lob_mpi *found = load(launchers[k].plugin, why, size);
    for (size_t i = 0; !found && i < sizeof ends / sizeof ends[0]; i++)
        found = load(ends[i], why, size);
    return found;
}

static lob_status join(int k, lob_error *error)
{
    char why[512];
    int rank, size;
    const int told = number_of(launchers[k].size, 1);
    mpi = find(k, why, sizeof why);
    if (!mpi)
        return lob_fail(error, LOB_EARG,
                        "there are %d tasks, and no plugin of this program for their MPI: %s; "
                        "LOBULE_MPI=FILE names one",
                        told, why);
    if (!mpi->begin(&rank, &size) || size != told) {
        mpi = NULL;
        return lob_fail(error, LOB_EARG,
                        "there are %d tasks, but MPI sees this one alone: start them by the mpirun "
                        "of the plugin's MPI, or by `srun --mpi=pmix`",
                        told);
    }
    const lob_status st = lob_team_begin(&all, rank, size, mpi->post, NULL);
    if (st == LOB_OK) return st;
    mpi = NULL;
    return lob_fail(error, st, "out of memory");
}

int lob_ranks_asked(void)
{
    return launcher() < 0 ? number_of("LOBULE_RANKS", 0) : 0;
}

typedef struct {
    lob_ranks_work *work;
    void *user;
} rank_work;

static void work_as_rank(lob_team *team, void *user)
{
    const rank_work *const w = user;
    inside = team;
    w->work(team->rank, w->user);
}

lob_status lob_ranks_threads(int size, lob_ranks_work *work, void *user)
{
    rank_work w = {work, user};
    return lob_team_threads(size, work_as_rank, &w);
}

bool lob_ranks_speak(void)
{
    if (inside) return inside->rank == 0;
    const int k = launcher();
    return k < 0 || number_of(launchers[k].rank, 0) == 0;
}

int lob_ranks_refuse(int code)
{
    if (code != 0 && !lob_ranks_speak()) lob_pause(1000);
    return code;
}

lob_status lob_ranks_begin(bool shares, lob_error *error)
{
    const int k = launcher();
    if (inside || k < 0) return LOB_OK;
    if (shares) return join(k, error);
    return lob_fail(error, LOB_EARG,
                    "%d tasks cannot share its work; start it once, or with LOBULE_RANKS=off if "
                    "each task has its own",
                    number_of(launchers[k].size, 1));
}

lob_team *lob_ranks(void)
{
    return inside ? inside : mpi ? &all : NULL;
}

int lob_ranks_inside(void)
{
    return inside ? inside->size : 1;
}

/* mpirun tells a number, Slurm those of all nodes: "2(x3),5" is two on each of three, then five. */
int lob_ranks_here(void)
{
    if (inside) return inside->size;
    const int k = launcher();
    const char *list = k < 0 ? NULL : getenv(launchers[k].here);
    int node = list && strpbrk(list, "(,") ? number_of("SLURM_NODEID", 0) : 0;
    while (list && *list) {
        char *end;
        const int tasks = (int)strtol(list, &end, 10);
        const int nodes = strncmp(end, "(x", 2) == 0 ? (int)strtol(end + 2, &end, 10) : 1;
        if (node < nodes && tasks > 0) return tasks;
        node -= nodes;
        list = strchr(end, ',');
        if (list) list++;
    }
    return 1;
}

int lob_ranks_local(void)
{
    if (inside) return inside->rank;
    const int k = launcher();
    return k < 0 ? 0 : number_of(launchers[k].local, 0);
}

const char *lob_ranks_launcher(void)
{
    const int k = launcher();
    return inside ? "threads" : k < 0 ? NULL : launchers[k].name;
}

bool lob_ranks_plugin(int k, char *path, size_t path_size, char *why, size_t why_size)
{
    path[0] = why[0] = '\0';
    if (k >= (int)(sizeof ends / sizeof ends[0])) return false;
    if (!is_installed(path, path_size, ends[k]))
        path[0] = '\0';
    else if (lob_process_load(path, LOB_MPI_NAME, why, why_size))
        why[0] = '\0';
    return true;
}

void lob_ranks_end(void)
{
    if (!mpi) return;
    lob_team_free(&all);
    mpi->end();
}
