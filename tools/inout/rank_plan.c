/* The figures of --plan, from sizes alone. */
#include "tools/inout/rank_plan.h"

#include <stdio.h>
#include <stdlib.h>

/* Planes of tasks, and bytes that all of them make. */
typedef struct {
    int64_t own, read, read_all, sent; /* planes: the most of a task, and of all */
} lob_shares;

static lob_shares shares_of(const lob_rank_plan *p, const lob_team *team)
{
    lob_shares of = {0};
    for (int r = 0; r < team->size; r++) {
        int64_t first, end;
        lob_team_planes(&first, &end, team, r, p->dims.nz);
        const int64_t from = first > p->halo ? (first - p->halo) / p->align * p->align : 0;
        const int64_t to = p->dims.nz - end > p->halo ? end + p->halo : p->dims.nz;
        if (end - first > of.own) of.own = end - first;
        if (to - from > of.read) of.read = to - from;
        if (r > 0) of.sent += end - first;
        of.read_all += to - from;
    }
    return of;
}

/* Two digits: what is guessed has no more. */
static double about(double seconds)
{
    char text[32];
    snprintf(text, sizeof text, "%.2g", seconds);
    return strtod(text, NULL);
}

lob_status lob_rank_plan_print(lob_session *s, int tasks, const lob_rank_plan *p)
{
    /* Of the disk, which all share, and of the way to the first task. */
    const double bytes_a_second = 1e9;
    const lob_team team = {.size = tasks < p->dims.nz ? tasks : (int)p->dims.nz};
    const lob_shares of = shares_of(p, &team);
    const double plane = (double)p->dims.nx * (double)p->dims.ny;
    const double read_all = (double)of.read_all * plane * (double)p->file_bytes;
    const double to_first = (double)of.sent * plane * (double)p->written_bytes;
    const double moved =
        (double)p->dims.nz * plane * p->moved_bytes * (double)(team.size - 1) / team.size;
    const double seams = (double)(team.size - 1) * plane * (double)p->seam_bytes + moved;
    const double written = (double)p->dims.nz * plane * (double)p->written_bytes;
    const double computing =
        (double)of.read * plane * s->command->voxel_ns * 1e-9 / s->context.threads;
    const lob_number rows[] = {
        {"tasks",             tasks                                                                    },
        {"tasks_at_work",     team.size                                                                },
        {"planes",            (double)p->dims.nz                                                       },
        {"planes_of_a_task",  (double)of.own                                                           },
        {"planes_read",       (double)of.read                                                          },
        {"bytes_read",        (double)of.read * plane * (double)p->file_bytes                          },
        {"bytes_read_all",    read_all                                                                 },
        {"bytes_held",        (double)of.read * plane * (double)p->held_bytes + (double)p->common_bytes},
        {"bytes_to_first",    to_first                                                                 },
        {"bytes_over_seams",  seams                                                                    },
        {"bytes_written",     written                                                                  },
        {"seconds_reading",   about(read_all / bytes_a_second)                                         },
        {"seconds_computing", about(computing)                                                         },
        {"seconds_sending",   about((to_first + seams / team.size) / bytes_a_second)                   },
        {"seconds_writing",   about(written / bytes_a_second)                                          },
    };
    const int parts = s->ranks ? 0 : s->device.count;
    if (parts > 1 && parts != tasks)
        return lob_fail(
            &s->error, LOB_EARG,
            "--plan %d: --device names %d GPUs, for as many parts; plan tasks of mpirun "
            "without --device",
            tasks, parts);
    if (lob_team_rank(s->ranks) > 0) return LOB_OK;
    cJSON *const plan = cJSON_CreateObject();
    lob_json_numbers(plan, rows, LOB_COUNT(rows));
    const lob_status st = lob_json_put(plan, false, &s->error);
    cJSON_Delete(plan);
    return st;
}
