/* The devices of a batch: opening, choosing, sharing. */
#include "tools/batch/batch.h"
#include "tools/platform/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls of a few scans keep a GPU busy while one of them copies or waits for its own thread. Each
 * of them holds memory of its own there. */
enum { GPU_HANDLES = 8 };
static const int64_t HANDLE_BYTES = (int64_t)16 << 30;

/* ---- opening ---- */

/* Of a GPU, its opened device and lease; of the CPU neither. */
static void add_device(lob_pool *pool, lob_device *opened, const char *choice, int lease, int lanes,
                       const char *why)
{
    lob_pool_device *const to = &pool->devices[pool->count++];
    *to = (lob_pool_device){.backend = opened ? lob_backend_named("cuda") : lob_backends[0],
                            .device = opened,
                            .lease = lease,
                            .lanes = lanes};
    snprintf(to->why, sizeof to->why, "%s", why);
    snprintf(to->name, sizeof to->name, "%s%s%s", choice, opened ? " " : "",
             opened ? lob_device_name(opened) : "");
}

/* Lease a GPU and open it, more than once where its memory is large. Returns LOB_OK, LOB_EBUSY
 * (others have it) or what is wrong with it. */
static lob_status add_gpu(lob_pool *pool, int number, lob_error *error)
{
    char identity[LOB_DEVICE_IDENTITY], choice[24];
    int lease;
    lob_device *opened;
    lob_device_identity(identity, number);
    if (identity[0] == '\0') snprintf(identity, sizeof identity, "gpu-%d", number);
    snprintf(choice, sizeof choice, "cuda:%d", number);
    LOB_TRY(lob_lease_take(&lease, identity, error));
    const lob_status st = lob_device_open(&opened, choice, error);
    if (st != LOB_OK) {
        lob_fd_close(lease);
        return st;
    }
    add_device(pool, opened, choice, lease, 1, "it was free");
    pool->gpus++;
    const int64_t fit = lob_device_total_bytes(opened) / HANDLE_BYTES;
    for (int i = 1; i < GPU_HANDLES && i < fit; i++) {
        if (lob_device_open(&opened, choice, NULL) != LOB_OK) break;
        add_device(pool, opened, choice, -1, 1, "it was free");
    }
    return LOB_OK;
}

/* One round of opening what was asked for. Returns LOB_OK when a GPU is open; LOB_EBUSY when others
 * have all that work. */
static lob_status open_gpus(lob_pool *pool, const char *backend, int index, lob_error *error)
{
    const bool any = strcmp(backend, "auto") == 0 || strcmp(backend, "all") == 0;
    const bool all = index == LOB_ALL_DEVICES;
    const int count = lob_device_count(), first = any || all ? 0 : index;
    lob_status worst = LOB_EDEVICE;
    lob_device *none;
    if (count == 0) /* it says why */
        return lob_device_open(&none, any ? "auto" : "cuda", error);
    if (first >= count)
        return lob_fail(error, LOB_EDEVICE, "no GPU %d: this machine has %d, numbered from 0",
                        index, count);
    for (int n = first; n < (any || all ? count : index + 1) && (all || pool->count == 0); n++) {
        const lob_status st = add_gpu(pool, n, error);
        if (st != LOB_OK && worst != LOB_EBUSY) worst = st;
    }
    return pool->count > 0 ? LOB_OK : worst;
}

lob_status lob_pool_open(lob_pool *pool, lob_session *s)
{
    const char *const backend = s->device.backend;
    const bool any = strcmp(backend, "auto") == 0, all = strcmp(backend, "all") == 0;
    lob_error reason = {.text = "there is no other"};
    lob_status st = LOB_OK;
    *pool = (lob_pool){
        .devices = calloc((size_t)lob_device_count() * GPU_HANDLES + 1, sizeof *pool->devices)};
    if (!pool->devices) return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    pthread_mutex_init(&pool->lock, NULL);
    const bool gpus = strcmp(backend, lob_backends[0]->name) != 0 && lob_backends[1];
    if (gpus) {
        /* with the CPU at hand nobody waits for a GPU */
        while ((st = open_gpus(pool, backend, s->device.index, &reason)) == LOB_EBUSY && !all &&
               lob_session_cancelled(s) == LOB_OK)
            lob_pause(200);
        if (st != LOB_OK && !all && (!any || st == LOB_EBUSY)) {
            s->error = reason;
            lob_pool_close(pool);
            return st;
        }
    }
    if (pool->count == 0 || all) {
        char why[400] = "asked for";
        if (pool->count > 0)
            snprintf(why, sizeof why, "all: beside GPUs");
        else if (any || all)
            snprintf(why, sizeof why, "auto: %.350s", reason.text);
        add_device(pool, NULL, lob_backends[0]->name, -1, s->context.threads, why);
    }
    return LOB_OK;
}

void lob_pool_close(lob_pool *pool)
{
    for (int i = 0; i < pool->count; i++) lob_device_close(pool->devices[i].device);
    for (int i = 0; i < pool->count; i++)
        if (pool->devices[i].lease >= 0) lob_fd_close(pool->devices[i].lease);
    if (pool->devices) pthread_mutex_destroy(&pool->lock);
    free(pool->devices);
    *pool = (lob_pool){NULL};
}

/* ---- sharing ---- */

/* When a device would be done with one more scan. One that has not been measured is expected to be
 * quick while nobody waits for it, so that it is measured, and slow after that. */
static double expected_s(const lob_pool_device *device)
{
    if (device->scans == 0) return device->waiting == 0 ? 0.0 : 1e9 * device->waiting;
    const double each = device->worked_s / (double)device->scans;
    const int turns = device->waiting / device->lanes + 1;
    return each * turns;
}

lob_pool_device *lob_pool_choose(lob_pool *pool)
{
    lob_pool_device *chosen = &pool->devices[0];
    pthread_mutex_lock(&pool->lock);
    for (int i = 1; i < pool->count; i++)
        if (expected_s(&pool->devices[i]) < expected_s(chosen)) chosen = &pool->devices[i];
    chosen->waiting++;
    pthread_mutex_unlock(&pool->lock);
    return chosen;
}

void lob_pool_leave(lob_pool *pool, lob_pool_device *device, double worked_s)
{
    pthread_mutex_lock(&pool->lock);
    device->waiting--;
    device->scans++;
    device->worked_s += worked_s;
    pthread_mutex_unlock(&pool->lock);
}
