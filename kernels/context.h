/* What every algorithm is given besides its data: how many threads, how much memory, whom to tell.
 */
#ifndef LOB_CONTEXT_H
#define LOB_CONTEXT_H

#include "volumes/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lob_device
    lob_device; /* a GPU with its stream and scratch; kernels/device/device.h */

typedef struct {
    int threads;        /* CPU threads, >= 1; results do not depend on it */
    int64_t max_memory; /* bytes of working memory an algorithm may take; 0: no limit */
    lob_device *device; /* NULL on the CPU */

    /*
     * Called from time to time by the calling thread with the share of the work done, never
     * decreasing, in [0, 1]. Returning nonzero cancels: the algorithm stops soon and returns
     * LOB_ECANCEL. May be NULL.
     */
    int (*progress)(void *user, double done);
    void *user;
} lob_context;

#ifdef __cplusplus
}
#endif

#endif
