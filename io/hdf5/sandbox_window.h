/*
 * Memory that a sandboxed program and the one that started it both see. What the program sends lies
 * there, in portions, and only their lengths go through the stream: half of the copying, and no
 * buffers of the system's. Without it the bytes go through the stream.
 */
#ifndef LOB_SANDBOX_WINDOW_H
#define LOB_SANDBOX_WINDOW_H

#include <stdatomic.h>

enum { LOB_WINDOW_PORTIONS = 4, LOB_WINDOW_PORTION = 256 << 10 };

/* Portions are filled and emptied in turn. The program may write here what it likes: whoever
 * started it keeps no count here, and copies a portion once. */
typedef struct lob_window {
    atomic_uint emptied; /* how many were, for the program, which waits for one */
    unsigned char portion[LOB_WINDOW_PORTIONS][LOB_WINDOW_PORTION];
} lob_window;

#endif
