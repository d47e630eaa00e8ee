/* How much memory a command may hold, and how much it holds. */
#ifndef LOB_ALLOWANCE_H
#define LOB_ALLOWANCE_H

#include "volumes/status.h"

#include <stdint.h>

typedef struct {
    int64_t limit; /* 0: there is none */
    int64_t held, most_held;
} lob_allowance;

/* What may still be taken, 0 or more; INT64_MAX without a limit. */
int64_t lob_allowance_left(const lob_allowance *a);

/*
 * Take memory before it is allocated.
 *
 *   bytes  in  -1 stands for more than fits in 64 bits
 *   name   in  for the message: what needs the memory
 *
 * Returns LOB_OK, or LOB_ENOMEM when less than that is left.
 */
lob_status lob_allowance_take(lob_allowance *a, int64_t bytes, const char *name, lob_error *error);

/* Count memory that is there already, because whoever allocated it kept to what was left. */
void lob_allowance_hold(lob_allowance *a, int64_t bytes);

/* Memory that was taken or held has been freed. */
void lob_allowance_release(lob_allowance *a, int64_t bytes);

#endif
