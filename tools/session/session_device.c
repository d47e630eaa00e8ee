/* Opening a session's GPU, in a thread of its own where inputs are read meanwhile. */
#include "kernels/device/device_memory.h"
#include "tools/session/host.h"
#include "tools/session/ranks.h"
#include "tools/session/session.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct lob_opening {
    pthread_t thread;
    char choice[24]; /* as lob_device_open wants it */
    int sharers;     /* of the GPU, in this process */
    lob_device *device;
    lob_status status;
    lob_error error;
};

static bool is_any(const lob_session *s)
{
    return strcmp(s->device.backend, "auto") == 0;
}

/* A plan needs no device. */
static bool only_plans(const lob_session *s)
{
    return s->only_prints && strcmp(s->command->only_prints, "plan") == 0;
}

/* The GPU of a task of this machine. */
static int gpu_of(const lob_session *s, int task)
{
    const lob_device_choice *const device = &s->device;
    if (strcmp(device->backend, "cpu") == 0) return -1;
    if (device->count > 0) return device->number[task % device->count];
    const int gpus = s->ranks || device->index == LOB_ALL_DEVICES ? lob_device_count() : 0;
    return gpus > 0 ? task % gpus : -1;
}

int lob_session_gpu(const lob_session *s)
{
    return gpu_of(s, lob_ranks_local());
}

/* How many of so many tasks take this task's GPU. */
static int sharers_of(const lob_session *s, int tasks)
{
    const int mine = lob_session_gpu(s);
    int sharers = 0;
    for (int task = 0; task < tasks; task++) sharers += gpu_of(s, task) == mine;
    return sharers > 0 ? sharers : 1;
}

int lob_session_gpu_processes(const lob_session *s)
{
    return lob_ranks_inside() > 1 ? 1 : sharers_of(s, lob_ranks_here());
}

int lob_session_devices(const lob_session *s)
{
    if (s->device.index == LOB_ALL_DEVICES && strcmp(s->device.backend, "all") != 0)
        return lob_device_count();
    return s->device.count;
}

/* What is to be opened; false: nothing, the CPU serves. */
static bool plan(lob_session *s, lob_opening *o)
{
    const bool any = is_any(s);
    snprintf(s->device_why, sizeof s->device_why, any ? "auto: there is no other" : "asked for");
    const bool gpu = any ? lob_backends[1] != NULL : strcmp(s->device.backend, "cuda") == 0;
    const int own = gpu ? lob_session_gpu(s) : -1;
    *o = (lob_opening){.choice = "auto", .sharers = sharers_of(s, lob_ranks_inside())};
    if (own >= 0 || !any) snprintf(o->choice, sizeof o->choice, "cuda:%d", own >= 0 ? own : 0);
    return gpu;
}

static void *open_planned(void *user)
{
    lob_opening *const o = user;
    o->status = lob_device_open(&o->device, o->choice, &o->error);
    if (o->status == LOB_OK) lob_device_share(o->device, o->sharers);
    return NULL;
}

/* Compute on what has been opened; with "auto" the CPU serves where that failed. */
static lob_status adopt(lob_session *s, const lob_opening *o)
{
    if (o->status == LOB_OK) {
        s->backend = lob_backends[1];
        s->context.device = o->device;
        if (is_any(s)) snprintf(s->device_why, sizeof s->device_why, "auto: it is there");
        return LOB_OK;
    }
    if (is_any(s)) {
        snprintf(s->device_why, sizeof s->device_why, "auto: %s", o->error.text);
        return LOB_OK;
    }
    s->error = o->error;
    return o->status;
}

/* Wait for the thread; the wait is the stage "device". */
static lob_status finish_opening(lob_session *s)
{
    lob_opening *const o = s->opening;
    const double start_s = lob_clock_s();
    pthread_join(o->thread, NULL);
    lob_session_stage(s, "device", start_s);
    const lob_status st = adopt(s, o);
    s->opening = NULL;
    free(o);
    return st;
}

static lob_status open_now(lob_session *s)
{
    lob_opening o;
    if (!plan(s, &o)) return LOB_OK;
    const double start_s = lob_clock_s();
    open_planned(&o);
    lob_session_stage(s, "device", start_s);
    return adopt(s, &o);
}

lob_status lob_session_device(lob_session *s)
{
    if (s->device_chosen || only_plans(s)) return LOB_OK;
    if (s->host && s->host->lend && s->host->lend(s)) {
        s->device_is_lent = s->device_chosen = true; /* lines of its own may have it too */
        return LOB_OK;
    }
    const lob_status st = s->opening ? finish_opening(s) : open_now(s);
    s->device_chosen = st == LOB_OK;
    return st;
}

bool lob_device_is_recipes(const lob_session *s)
{
    const lob_device_choice *const a = &s->device, *const b = &s->host->outer->device;
    return strcmp(a->backend, b->backend) == 0 && a->index == b->index && a->count <= 1;
}

/* The outermost session; NULL: one around this, or a batch, has chosen a device already. */
static lob_session *first_to_choose(lob_session *s)
{
    while (!s->device_chosen && s->host && s->host->outer) s = s->host->outer;
    return s->device_chosen || (s->host && s->host->lend) ? NULL : s;
}

/* Is the work done sooner by the CPU than a GPU is opened? Then the CPU serves. */
static bool leave_to_cpu(lob_session *s, int64_t voxels)
{
    lob_session *const first = is_any(s) && lob_backends[1] ? first_to_choose(s) : NULL;
    const double ns = s->command->voxel_ns, threads = s->context.threads;
    const double cpu_s = (double)voxels * ns * 1e-9 / threads;
    if (!first || first->cpu_s + cpu_s >= LOB_OPENING_S) return false;
    first->cpu_s += cpu_s;
    snprintf(s->device_why, sizeof s->device_why,
             "auto: the work is done sooner than a GPU is opened: %" PRId64
             " voxels, each %.0f ns of %d threads",
             voxels, ns, s->context.threads);
    return s->device_chosen = true;
}

lob_status lob_session_cpu_alone(lob_session *s, const char *what)
{
    if (strcmp(s->device.backend, "cuda") == 0)
        return lob_fail(&s->error, LOB_EARG, "%s on the CPU: leave --device cuda out", what);
    snprintf(s->device_why, sizeof s->device_why, "%s on the CPU", what);
    s->device_chosen = true;
    return LOB_OK;
}

lob_status lob_session_device_begin(lob_session *s, int64_t voxels)
{
    lob_opening planned;
    if (s->device_chosen || only_plans(s)) return LOB_OK;
    if (leave_to_cpu(s, voxels)) return LOB_OK;
    if (lob_session_outermost(s) && lob_device_is_recipes(s)) return LOB_OK;
    if (s->host || !plan(s, &planned)) return lob_session_device(s);
    lob_opening *const o = malloc(sizeof *o);
    if (!o) return lob_session_device(s);
    *o = planned;
    if (pthread_create(&o->thread, NULL, open_planned, o) != 0) {
        free(o);
        return lob_session_device(s);
    }
    s->opening = o;
    return LOB_OK;
}

lob_status lob_device_check(lob_session *s)
{
    s->backend = lob_backends[0];
    snprintf(s->device_why, sizeof s->device_why, "no other was needed");
    const bool everything = strcmp(s->device.backend, "all") == 0;
    const bool all = s->device.index == LOB_ALL_DEVICES,
               spreads = !s->host && (s->command->spreads || (s->command->shares && s->ranks));
    if ((all && !s->command->many && (everything || !spreads)) ||
        (s->device.count > 1 && !spreads)) {
        char text[96];
        lob_option_text(text, sizeof text, &s->common[0]);
        return lob_fail(&s->error, LOB_EARG,
                        "--device %s: several devices at once are for lobule batch%s; name one, as "
                        "cuda:0, or auto",
                        text,
                        s->command->many ? ", all of them"
                        : everything     ? ""
                        : s->command->spreads
                            ? ", or for this command by itself, outside of a recipe"
                            : ", components, filter, growcut, supervoxels and "
                              "threshold --local");
    }
    return LOB_OK;
}

lob_status lob_device_settle(lob_session *s, lob_status status)
{
    if (!s->opening) return status;
    const lob_error reason = s->error;
    const lob_status st = finish_opening(s);
    if (st != LOB_OK && status != LOB_ECANCEL) return st;
    s->error = reason;
    return status;
}
