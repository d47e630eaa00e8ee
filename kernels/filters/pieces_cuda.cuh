/*
 * Copies between ordinary memory and the device that overlap with each other and with kernels: each
 * direction has a stream and a ring of pinned buffers, through which pieces travel in order. The
 * thread that calls copies between pinned and ordinary memory.
 */
#ifndef LOB_FILTER_PIECES_CUDA_CUH
#define LOB_FILTER_PIECES_CUDA_CUH

#include "kernels/device/cuda_calls.cuh"
#include "kernels/filters/filters.h"

namespace lob::filters
{

enum { RING = 4, MAX_STRETCHES = LOB_FILTER_MAX_CHANNELS + 1 };
static const int64_t PIECE_BYTES = 4 << 20, RING_BYTES = RING * PIECE_BYTES;

/* Bytes that follow one another on both sides. */
struct stretch {
    unsigned char *to;
    const unsigned char *from;
    int64_t left;
};

/* One direction. */
struct piece_ring {
    bool down;
    cudaStream_t stream;
    unsigned char *pinned[RING];
    cudaEvent_t begun[RING], done[RING];
    int64_t bytes[RING]; /* of the piece in a buffer; 0: none */
    unsigned char *to[RING];
    int64_t pieces, sent; /* so far; sent: bytes */
    double seconds;       /* that the copies took, without waiting */
    int threads;
    stretch waiting[MAX_STRETCHES]; /* what is still to be sent: from number `next` on */
    int count, next;
};

/* pinned: RING_BYTES of pinned memory, which stays the caller's. On failure ring_close is still to
 * be called. */
lob_status ring_open(piece_ring *ring, bool down, void *pinned, int threads, lob_error *error);
void ring_close(piece_ring *ring);

/* Add what is to be sent; `from` is in ordinary memory where the ring goes up, else on the device.
 * What goes down is in its place after ring_drain. */
void ring_add(piece_ring *ring, unsigned char *to, const unsigned char *from, int64_t bytes);

/* Send the next piece of it; *more: there was one. */
lob_status ring_send(piece_ring *ring, bool *more, lob_error *error);

/* Wait for everything that was sent. */
lob_status ring_drain(piece_ring *ring, lob_error *error);

} /* namespace lob::filters */

#endif
