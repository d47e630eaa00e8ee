/*
 * An image of ordinary memory through the passes of a plan, slab by slab: while one is computed,
 * the next is uploaded and the one before is downloaded.
 *
 *     upload    0 1 2 3          a slab's halo is copied on the device from the slab before it, so
 *     compute     0 1 2 3        that every voxel is uploaded once
 *     download      0 1 2 3
 */
#include "kernels/device/arena.cuh"
#include "kernels/filters/filter_slabs.h"
#include "kernels/filters/filter_stages.h"
#include "kernels/filters/filters_cuda.cuh"
#include "kernels/share.h"
#include "volumes/clock.h"
#include "volumes/voxel_memory.h"

namespace lob::filters
{

/*
 * ---- pieces ----
 *
 * Copies between ordinary memory and the device that overlap with each other and with kernels: each
 * direction has a stream and a ring of pinned buffers, through which pieces travel in order. The
 * thread that calls copies between pinned and ordinary memory.
 */

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
static lob_status ring_open(piece_ring *ring, bool down, void *pinned, int threads,
                            lob_error *error)
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

static void ring_close(piece_ring *ring)
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

/* Add what is to be sent; `from` is in ordinary memory where the ring goes up, else on the device.
 * What goes down is in its place after ring_drain. */
static void ring_add(piece_ring *ring, unsigned char *to, const unsigned char *from, int64_t bytes)
{
    if (ring->next == ring->count) ring->next = ring->count = 0;
    if (bytes > 0) ring->waiting[ring->count++] = {to, from, bytes};
}

/* Send the next piece of it; *more: there was one. */
static lob_status ring_send(piece_ring *ring, bool *more, lob_error *error)
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

/* Wait for everything that was sent. */
static lob_status ring_drain(piece_ring *ring, lob_error *error)
{
    for (int i = 0; i < RING; i++) LOB_TRY(finish(ring, (int)((ring->pieces + i) % RING), error));
    return LOB_OK;
}

/* ---- slabs ---- */

enum { SLOTS = 2, LAG = 2 }; /* a slab is downloaded LAG slabs after it was uploaded */

/* Of a slot; those of the computation are timed. */
enum { BEGUN, COMPUTED, UPLOADED, DOWNLOADED, EVENTS };

/* Enough slabs to overlap, none so small that launches take longer than copies. */
static const int64_t SLABS = 16, SLAB_MIN_BYTES = 4 << 20, SLAB_MAX_BYTES = 64 << 20;

/* A part of the plan on its way. */
typedef struct {
    device_chain *chain;
    int first, end;
    lob_filter_image in; /* in ordinary memory, as are mask and out */
    const uint8_t *mask;
    void *out;
    lob_filter_cut cut;
    int64_t height, count; /* of slabs */
    bool looks;            /* scan what is uploaded */

    /* on the device */
    scan_counts *counts;
    unsigned char *slab_in[SLOTS], *slab_mask[SLOTS], *slab_out[SLOTS];
    unsigned char *memory; /* of the passes */

    piece_ring up, down;
    cudaEvent_t event[SLOTS][EVENTS];
    double compute_s;
} slab_stream;

/* ---- sizes ---- */

static int64_t bytes_of(const lob_filter_image *image)
{
    return image->channels * (int64_t)lob_type_of(image->type)->bytes;
}

static const lob_filter_pass *last_of(const slab_stream *s)
{
    return &s->chain->plan.pass[s->end - 1];
}

static lob_filter_slab slab_of(const slab_stream *s, int64_t i)
{
    return lob_filter_slab_of(&s->cut, s->in.dims, i * s->height, s->height);
}

static int64_t lay_out(slab_stream *s, void *memory)
{
    arena from(memory);
    const int64_t reads = lob_filter_slab_reads(&s->cut, s->height);
    const int64_t voxels = reads * s->cut.unit;
    lob_dims dims = s->in.dims;
    *(s->cut.axis == 0 ? &dims.nx : s->cut.axis == 1 ? &dims.ny : &dims.nz) = reads;
    s->counts = (scan_counts *)from.take<unsigned char>(SCAN_BYTES);
    for (int k = 0; k < SLOTS && k < s->count; k++) {
        s->slab_in[k] = from.take<unsigned char>(voxels * bytes_of(&s->in));
        s->slab_out[k] = from.take<unsigned char>(lob_filter_pass_bytes(last_of(s), voxels));
        s->slab_mask[k] = from.take<unsigned char>(s->mask ? voxels : 0);
    }
    s->memory = from.take<unsigned char>(
        passes_bytes(&s->chain->plan, s->first, s->end, dims, s->mask != NULL));
    return from.used;
}

static void set_height(slab_stream *s, int64_t height)
{
    s->height = height < s->cut.side ? height : s->cut.side;
    s->count = (s->cut.side + s->height - 1) / s->height;
}

/* Heights from what serves best down to one that fits. */
static lob_status choose_height(slab_stream *s, int64_t asked, lob_device_budget *budget,
                                int64_t *bytes)
{
    const int64_t unit = s->cut.unit * bytes_of(&s->in), all = unit * s->cut.side;
    int64_t slab = all / SLABS;
    slab = slab < SLAB_MIN_BYTES ? SLAB_MIN_BYTES : slab > SLAB_MAX_BYTES ? SLAB_MAX_BYTES : slab;
    int64_t height = (slab + unit - 1) / unit;
    if (height < 2 * s->cut.halo) height = 2 * s->cut.halo;
    if (asked > 0) height = asked;
    set_height(s, s->cut.halo < 0 ? s->cut.side : height);
    for (;;) {
        *bytes = lay_out(s, NULL);
        if (*bytes <= lob_device_budget_left(budget, LOB_DEVICE_WORK, *bytes)) return LOB_OK;
        if (s->height == 1 || s->cut.halo < 0 || asked > 0) break;
        set_height(s, s->height / 2);
    }
    return lob_device_budget_refuse(budget, LOB_DEVICE_WORK, *bytes, s->chain->error);
}

/* ---- a slab's way ---- */

/* The device's copy of what slab i and the one before share: their images lie in different slots.
 */
static lob_status copy_shared(slab_stream *s, const lob_filter_slab *slab,
                              const lob_filter_slab *before, unsigned char *to,
                              const unsigned char *from, int channels, int64_t bytes)
{
    lob_error *error = s->chain->error;
    const int64_t unit = s->cut.unit * bytes, shared = before->to - slab->from;
    if (shared <= 0) return LOB_OK;
    const int64_t rows = slab->to - slab->from, rows_before = before->to - before->from;
    for (int c = 0; c < channels; c++)
        LOB_CUDA(cudaMemcpyAsync(to + c * rows * unit,
                                 from + (c * rows_before + slab->from - before->from) * unit,
                                 (size_t)(shared * unit), cudaMemcpyDeviceToDevice, s->up.stream));
    return LOB_OK;
}

/* What has to be uploaded for slab i, and the device's own copies before it. */
static lob_status begin_upload(slab_stream *s, int64_t i)
{
    lob_error *error = s->chain->error;
    const int slot = (int)(i % SLOTS), other = (int)((i + 1) % SLOTS);
    const lob_filter_slab slab = slab_of(s, i);
    lob_filter_slab before = {};
    if (i > 0) before = slab_of(s, i - 1);
    const int64_t fresh = i > 0 && before.to > slab.from ? before.to : slab.from;
    const int64_t bytes = (int64_t)lob_type_of(s->in.type)->bytes, unit = s->cut.unit;
    const int64_t rows = slab.to - slab.from, news = slab.to - fresh;
    if (i >= SLOTS) LOB_CUDA(cudaStreamWaitEvent(s->up.stream, s->event[slot][COMPUTED], 0));
    if (i > 0)
        LOB_TRY(copy_shared(s, &slab, &before, s->slab_in[slot], s->slab_in[other], s->in.channels,
                            bytes));
    if (i > 0 && s->mask)
        LOB_TRY(copy_shared(s, &slab, &before, s->slab_mask[slot], s->slab_mask[other], 1, 1));
    for (int c = 0; c < s->in.channels; c++)
        ring_add(&s->up, s->slab_in[slot] + (c * rows + fresh - slab.from) * unit * bytes,
                 (const unsigned char *)s->in.data + (c * s->cut.side + fresh) * unit * bytes,
                 news * unit * bytes);
    if (s->mask)
        ring_add(&s->up, s->slab_mask[slot] + (fresh - slab.from) * unit, s->mask + fresh * unit,
                 news * unit);
    return LOB_OK;
}

static lob_status begin_download(slab_stream *s, int64_t i)
{
    lob_error *error = s->chain->error;
    const int slot = (int)(i % SLOTS);
    const lob_filter_slab slab = slab_of(s, i);
    const lob_filter_pass *last = last_of(s);
    const int64_t bytes = s->cut.unit * (int64_t)lob_type_of(last->to)->bytes;
    const int64_t rows = slab.to - slab.from;
    float milliseconds = 0;
    LOB_CUDA(cudaStreamWaitEvent(s->down.stream, s->event[slot][COMPUTED], 0));
    for (int c = 0; c < last->to_channels; c++)
        ring_add(&s->down, (unsigned char *)s->out + (c * s->cut.side + slab.low) * bytes,
                 s->slab_out[slot] + (c * rows + slab.low - slab.from) * bytes,
                 (slab.high - slab.low) * bytes);
    LOB_CUDA(cudaEventSynchronize(s->event[slot][COMPUTED]));
    LOB_CUDA(cudaEventElapsedTime(&milliseconds, s->event[slot][BEGUN], s->event[slot][COMPUTED]));
    s->compute_s += (double)milliseconds / 1e3;
    return LOB_OK;
}

static lob_status compute(slab_stream *s, int64_t i)
{
    device_chain *c = s->chain;
    lob_error *error = c->error;
    const int slot = (int)(i % SLOTS);
    const cudaStream_t stream = lob_device_cuda_stream(c->device);
    const lob_filter_slab slab = slab_of(s, i);
    const lob_filter_image in = {s->slab_in[slot], s->in.type, slab.dims, s->in.channels};
    const uint8_t *mask = s->mask ? s->slab_mask[slot] : NULL;
    int64_t origin[3] = {0, 0, c->plane};
    origin[s->cut.axis] += slab.from;
    LOB_CUDA(cudaEventRecord(s->event[slot][UPLOADED], s->up.stream));
    LOB_CUDA(cudaStreamWaitEvent(stream, s->event[slot][UPLOADED], 0));
    if (i >= SLOTS) LOB_CUDA(cudaStreamWaitEvent(stream, s->event[slot][DOWNLOADED], 0));
    LOB_CUDA(cudaEventRecord(s->event[slot][BEGUN], stream));
    if (s->looks)
        LOB_TRY(scan(c->device, s->counts, &in, mask, (slab.low - slab.from) * s->cut.unit,
                     (slab.high - slab.low) * s->cut.unit, error));
    LOB_TRY(run_passes(c, s->first, s->end, s->slab_out[slot], in, mask, origin, s->memory, false));
    LOB_CUDA(cudaEventRecord(s->event[slot][COMPUTED], stream));
    return LOB_OK;
}

/* One turn: slab i goes up while slab i - LAG comes down, piece by piece; then slab i is computed.
 */
static lob_status turn(slab_stream *s, int64_t i)
{
    lob_error *error = s->chain->error;
    const int64_t back = i - LAG;
    if (i < s->count) LOB_TRY(begin_upload(s, i));
    if (back >= 0) LOB_TRY(begin_download(s, back));
    for (bool more = true; more;) {
        bool downs = false;
        LOB_TRY(ring_send(&s->up, &more, error));
        LOB_TRY(ring_send(&s->down, &downs, error));
        more |= downs;
    }
    if (back >= 0) LOB_CUDA(cudaEventRecord(s->event[back % SLOTS][DOWNLOADED], s->down.stream));
    return i < s->count ? compute(s, i) : LOB_OK;
}

/* ---- a part ---- */

static lob_status open_stream(slab_stream *s)
{
    lob_error *error = s->chain->error;
    const int threads = s->chain->context->threads;
    void *pinned = NULL;
    LOB_TRY(lob_device_pinned_take(s->chain->device, &pinned, 2 * RING_BYTES, error));
    LOB_TRY(ring_open(&s->up, false, pinned, threads, error));
    LOB_TRY(ring_open(&s->down, true, (unsigned char *)pinned + RING_BYTES, threads, error));
    for (int k = 0; k < SLOTS; k++)
        for (int e = 0; e < EVENTS; e++)
            LOB_CUDA(cudaEventCreateWithFlags(
                &s->event[k][e], e <= COMPUTED ? cudaEventDefault : cudaEventDisableTiming));
    return LOB_OK;
}

static void close_stream(slab_stream *s)
{
    lob_device_wait(s->chain->device, NULL);
    ring_close(&s->up);
    ring_close(&s->down);
    for (const auto &slot : s->event)
        for (const cudaEvent_t event : slot)
            if (event) cudaEventDestroy(event);
    (void)cudaGetLastError();
}

static lob_status run_turns(slab_stream *s, double from, double share)
{
    device_chain *c = s->chain;
    const lob_context *context = c->context;
    for (int64_t i = 0; i < s->count + LAG; i++) {
        const double done = from + share * (double)i / (double)(s->count + LAG);
        LOB_TRY(lob_report(context, done));
        LOB_TRY(turn(s, i));
    }
    LOB_TRY(ring_drain(&s->up, c->error));
    LOB_TRY(ring_drain(&s->down, c->error));
    return lob_device_wait(c->device, c->error);
}

/* Run a part in slabs, and add to what the call has found and taken so far. */
static lob_status run_part(slab_stream *s, int64_t slab, scan_counts *found)
{
    device_chain *c = s->chain;
    lob_device_budget budget =
        lob_device_budget_of(c->context, "filters", lob_dims_voxels(s->in.dims));
    scan_counts counts = {};
    int64_t bytes = 0;
    void *memory = NULL;
    s->cut = lob_filter_cut_of(&c->plan, s->first, s->end);
    LOB_TRY(choose_height(s, slab, &budget, &bytes));
    LOB_TRY(lob_device_budget_take(&budget, LOB_DEVICE_WORK, bytes, &memory, c->error));
    lay_out(s, memory);
    if (bytes > c->out->working_bytes) c->out->working_bytes = bytes;
    LOB_TRY(lob_device_fill(c->device, s->counts, 0, sizeof counts, c->error));
    lob_status st = open_stream(s);
    const double passes = c->plan.passes;
    if (st == LOB_OK) st = run_turns(s, s->first / passes, (s->end - s->first) / passes);
    if (st == LOB_OK && s->looks) {
        st = lob_device_download(c->device, &counts, s->counts, sizeof counts, c->error);
        *found = counts;
    }
    lob_filter_stream *total = &c->out->stream;
    total->slabs += s->count;
    lob_device_count_bytes(s->up.sent, s->down.sent);
    total->upload_s += s->up.seconds;
    total->compute_s += s->compute_s;
    total->download_s += s->down.seconds;
    close_stream(s);
    return st;
}

lob_status run_slabs(device_chain *c, const lob_filter_input *in, int64_t slab, scan_counts *found)
{
    const lob_volume *image = in->image;
    const double start_s = lob_clock_s();
    lob_filter_image at = {image->data, image->type, image->dims, image->channels};
    void *between[2] = {NULL, NULL}; /* images between parts: the one before, the one after */
    lob_status st = LOB_OK;
    for (int first = 0, end; first < c->plan.passes && st == LOB_OK; first = end) {
        end = lob_filter_plan_part(&c->plan, first);
        const lob_filter_pass *last = &c->plan.pass[end - 1];
        const bool ends = end == c->plan.passes;
        slab_stream s = {};
        s.chain = c;
        s.first = first;
        s.end = end;
        s.in = at;
        s.mask = in->mask;
        s.looks = first == 0 && looks_at(in);
        lob_budget budget = {"filters", 0, 0, 0};
        if (c->plan.pass[first].statistic)
            st = lob_filter_statistic_cpu(&c->plan, first, c->out, &at, in->mask, c->context,
                                          &budget, c->error);
        if (st == LOB_OK && !ends)
            between[1] = lob_voxel_memory(lob_filter_pass_bytes(last, lob_voxels(image)));
        s.out = ends ? c->out->data : between[1];
        if (st == LOB_OK && !s.out)
            st = lob_fail(c->error, LOB_ENOMEM, "no memory for the image between two steps");
        if (st == LOB_OK) st = run_part(&s, slab, found);
        free(between[0]);
        between[0] = between[1];
        between[1] = NULL;
        at = {s.out, last->to, image->dims, last->to_channels};
    }
    free(between[0]);
    c->out->stream.wall_s += lob_clock_s() - start_s;
    return st;
}

} /* namespace lob::filters */
