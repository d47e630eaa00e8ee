/* The arguments of a command that is called inside another. */
#ifndef LOB_ARGUMENTS_H
#define LOB_ARGUMENTS_H

#include <stdbool.h>

/* Empty at first: all zeros. */
typedef struct {
    char **word; /* count, then NULL; malloc'ed */
    int count;
    bool failed; /* there was no memory for one */
} lob_arguments;

void lob_arguments_add(lob_arguments *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lob_arguments_free(lob_arguments *arguments);

#endif
