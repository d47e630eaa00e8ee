/* Overlapped copies through rings of pinned buffers. */
#include "kernels/filters/pieces_cuda.cuh"

#include "kernels/filters/filter_slabs.h"

namespace lob::filters
{

lob_status ring_open(piece_ring *ring, bool down, void *pinned, int threads, lob_error *error)
{
    *ring = piece_ring{};
    ring->down = down;
    ring->threads = threads;
    LOB_CUDA(cudaStreamCreateWithFlags(&ring->stream, cudaStreamNonBlocking));
    for (int i = 0; i < RING; i++) {
        ring->pinned[i] = (unsigned char *)pinned + i * PIECE_BYTES;
        LOB_CUDA(cudaEventCreate(&ring->begun[i]));
        LOB_CUDA(cudaEventCreate(&ring->done[i]));
    }
    return LOB_OK;
}

void ring_close(piece_ring *ring)
{
    if (ring->stream) cudaStreamSynchronize(ring->stream);
    for (int i = 0; i < RING; i++) {
        if (ring->begun[i]) cudaEventDestroy(ring->begun[i]);
        if (ring->done[i]) cudaEventDestroy(ring->done[i]);
    }
    if (ring->stream) cudaStreamDestroy(ring->stream);
    (void)cudaGetLastError();
    *ring = piece_ring{};
}

/* Wait for the piece in a buffer, and put it in its place where it came down. */
static lob_status finish(piece_ring *ring, int slot, lob_error *error)
{
    float milliseconds = 0;
    if (ring->bytes[slot] == 0) return LOB_OK;
    LOB_CUDA(cudaEventSynchronize(ring->done[slot]));
    LOB_CUDA(cudaEventElapsedTime(&milliseconds, ring->begun[slot], ring->done[slot]));
    ring->seconds += (double)milliseconds / 1e3;
    if (ring->down)
        lob_filter_copy(ring->to[slot], ring->pinned[slot], ring->bytes[slot], ring->threads);
    ring->bytes[slot] = 0;
    return LOB_OK;
}

static lob_status send(piece_ring *ring, unsigned char *to, const unsigned char *from,
                       int64_t bytes, lob_error *error)
{
    const int slot = (int)(ring->pieces++ % RING);
    LOB_TRY(finish(ring, slot, error));
    if (!ring->down) lob_filter_copy(ring->pinned[slot], from, bytes, ring->threads);
    LOB_CUDA(cudaEventRecord(ring->begun[slot], ring->stream));
    if (ring->down)
        LOB_CUDA(cudaMemcpyAsync(ring->pinned[slot], from, (size_t)bytes, cudaMemcpyDeviceToHost,
                                 ring->stream));
    else
        LOB_CUDA(cudaMemcpyAsync(to, ring->pinned[slot], (size_t)bytes, cudaMemcpyHostToDevice,
                                 ring->stream));
    LOB_CUDA(cudaEventRecord(ring->done[slot], ring->stream));
    ring->to[slot] = to;
    ring->bytes[slot] = bytes;
    ring->sent += bytes;
    return LOB_OK;
}

void ring_add(piece_ring *ring, unsigned char *to, const unsigned char *from, int64_t bytes)
{
    if (ring->next == ring->count) ring->next = ring->count = 0;
    if (bytes > 0) ring->waiting[ring->count++] = {to, from, bytes};
}

lob_status ring_send(piece_ring *ring, bool *more, lob_error *error)
{
    *more = ring->next < ring->count;
    if (!*more) return LOB_OK;
    stretch *const s = &ring->waiting[ring->next];
    const int64_t n = s->left < PIECE_BYTES ? s->left : PIECE_BYTES;
    LOB_TRY(send(ring, s->to, s->from, n, error));
    s->to += n;
    s->from += n;
    s->left -= n;
    if (s->left == 0) ring->next++;
    return LOB_OK;
}

lob_status ring_drain(piece_ring *ring, lob_error *error)
{
    for (int i = 0; i < RING; i++) LOB_TRY(finish(ring, (int)((ring->pieces + i) % RING), error));
    return LOB_OK;
}

} /* namespace lob::filters */
