/*
 * The devices that the scans of a batch share: GPUs, each leased for as long as the pool is open,
 * and the CPU. A GPU with much memory is opened several times, as so many devices. A scan belongs
 * to one of them; there, calls of its scans take turns, and what these compute on the CPU goes side
 * by side.
 */
#ifndef LOB_BATCH_POOL_H
#define LOB_BATCH_POOL_H

#include "kernels/backends.h"
#include "kernels/device/device.h"
#include "tools/options/options.h"

#include <pthread.h>

typedef struct {
    const lob_backend *backend;
    lob_device *device; /* NULL: the CPU */
    int lease;          /* descriptor of the lock's file; -1: none */
    char name[300];     /* "cpu", "cuda:0 NVIDIA H200" */
    char why[400];      /* it was chosen */
    double worked_s;    /* time for which it was at work, */
    int64_t scans;      /* so many scans, */
    int waiting;        /* and so many belong to it now */
    int lanes;          /* scans that it computes side by side */
} lob_pool_device;

typedef struct {
    lob_pool_device *devices;
    int count, gpus;
    pthread_mutex_t lock; /* of the numbers above */
} lob_pool;

/*
 * Open devices. GPUs that other processes have leased are left to them; where one is wanted and all
 * are leased, this waits until one is not.
 *
 *   backend  in  "auto": one GPU, or the CPU where there is none; "cpu"; "cuda"; "all": all GPUs
 *                that are free, and the CPU
 *   index    in  of "cuda": its number, or LOB_ALL_DEVICES: all that are free
 *   lanes    in  scans that the CPU computes side by side
 *   wait     in  called a few times a second while it waits; false: give up
 *
 * Returns LOB_OK, LOB_EDEVICE, LOB_EBUSY (gave up, or another program holds the GPU for itself),
 * LOB_ENOMEM or LOB_EIO (no lock can be made).
 */
lob_status lob_pool_open(lob_pool *pool, const char *backend, int index, int lanes,
                         bool (*wait)(void *user), void *user, lob_error *error);

/* Close all devices and end the leases. */
void lob_pool_close(lob_pool *pool);

/*
 * The device that is expected to have done a scan first, from the times that those before took. The
 * CPU gets a first scan of its own beside GPUs to measure it. lob_pool_leave ends what this begins.
 */
lob_pool_device *lob_pool_choose(lob_pool *pool);
void lob_pool_leave(lob_pool *pool, lob_pool_device *device);

/* It was at work for so long. */
void lob_pool_add(lob_pool *pool, lob_pool_device *device, double worked_s);

/*
 * Lease a device by a lock on a file named after it, in LOBULE_LEASES, else /run/lock, else /tmp.
 * The lease ends with the descriptor, so that a process that dies leaves none behind.
 *
 *   lease     out  a descriptor to close; -1 on failure
 *   identity  in   letters, digits and '-'
 *
 * Returns LOB_OK, LOB_EBUSY (leased by another) or LOB_EIO.
 */
lob_status lob_lease_take(int *lease, const char *identity, lob_error *error);

#endif
