/* The voxels of an HDF5 volume: slab after slab read, brought into our order and values, sent. */
#include "io/hdf5/hdf5_parts.h"

#include "io/hdf5/sandbox_inside.h"
#include "volumes/blocks.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLAB_BYTES = 16 << 20,  /* aim for a slab; chunks of many slices make it larger */
    BATCH_BYTES = 64 << 20, /* aim for the slabs of frames that are read together */
    SLOWEST_BYTES_PER_S = 4 << 20,
    THREAD_BYTES = 160 << 20 /* address space of a thread: stack and its part of the heap */
};

/* Bytes of a slice, of one frame, of the data set at hand. */
static int64_t slice_bytes(const lob_hdf5_view *view, lob_type type)
{
    const int64_t channels = view->at[LOB_AXIS_C] < 0 ? 1 : lob_hdf5_side(view, LOB_AXIS_C);
    return lob_product((int64_t)lob_type_of(type)->bytes, lob_hdf5_side(view, LOB_AXIS_X),
                       lob_hdf5_side(view, LOB_AXIS_Y), channels);
}

void lob_hdf5_portions(int64_t *slab, int64_t *batch, const lob_hdf5_view *view, bool all)
{
    hsize_t chunk[LOB_HDF5_MAX_AXES];
    const bool chunked = lob_hdf5_chunk(chunk, view);
    const int z = view->at[LOB_AXIS_Z], t = view->at[LOB_AXIS_T];
    const int64_t nz = lob_hdf5_side(view, LOB_AXIS_Z), nt = lob_hdf5_side(view, LOB_AXIS_T);
    int64_t layer = 1, in_layer = 1; /* slices of a layer of chunks, and chunks in it */
    if (z >= 0 && chunked) {
        layer = (int64_t)chunk[z];
        for (int i = 0; i < view->rank; i++)
            if (i != z && i != t) in_layer *= (int64_t)((view->extent[i] - 1) / chunk[i] + 1);
    }
    const int64_t slice = slice_bytes(view, view->stored);
    int64_t layers = SLAB_BYTES / slice / layer;
    if (layers > LOB_HDF5_MAX_CHUNKS / in_layer) layers = LOB_HDF5_MAX_CHUNKS / in_layer;
    *slab = layer * (layers > 1 ? layers : 1);
    if (*slab > nz) *slab = nz;

    /* Frames that share chunks are read together, or each chunk would be inflated for each. */
    int64_t most = BATCH_BYTES / slice / *slab;
    if (most < 1) most = 1;
    *batch = all && t >= 0 && chunked ? (int64_t)chunk[t] : 1;
    if (*batch > nt) *batch = nt;
    if (*batch > most) *batch = most;
}

/* ---- from the file's order and numbers to ours ---- */

/* The order in which voxels are sent, the slowest first. */
static const lob_axis sent[LOB_AXIS_ROLES] = {LOB_AXIS_C, LOB_AXIS_T, LOB_AXIS_Z, LOB_AXIS_Y,
                                              LOB_AXIS_X};

/* A block on its way. By lob_axis: */
typedef struct {
    const lob_hdf5_view *view;
    const unsigned char *in;
    unsigned char *out;
    int64_t first[LOB_AXIS_ROLES]; /* of the block in the volume */
    int64_t side[LOB_AXIS_ROLES];
    int64_t step[LOB_AXIS_ROLES]; /* between neighbours in the block, in numbers */
} reorder_work;

/* A row of numbers into values. */
static void scale_row(unsigned char *out, const unsigned char *in, int64_t n,
                      const lob_hdf5_view *view, int64_t scale)
{
    enum { SOME = 256 };
    const lob_hdf5_scale *s = &view->scale;
    double values[SOME];
    for (int64_t i = 0; i < n; i += SOME) {
        const int64_t some = n - i < SOME ? n - i : SOME;
        lob_values(values, in, view->stored, i, some);
        for (int64_t k = 0; k < some; k++) {
            const int64_t at = scale + (i + k) * s->step[LOB_AXIS_X];
            values[k] = s->slope[at] * values[k] + s->inter[at];
        }
        for (int64_t k = 0; k < some; k++)
            if (view->type == LOB_F32)
                ((float *)out)[i + k] = (float)values[k];
            else
                ((double *)out)[i + k] = values[k];
    }
}

/* One plane of one frame of one channel. */
static void reorder_plane(void *user, int64_t index)
{
    const reorder_work *w = user;
    const lob_hdf5_scale *s = &w->view->scale;
    const size_t bytes = lob_type_of(w->view->stored)->bytes;
    const size_t out_bytes = lob_type_of(w->view->type)->bytes;
    const int64_t nx = w->side[LOB_AXIS_X], ny = w->side[LOB_AXIS_Y], nz = w->side[LOB_AXIS_Z];
    int64_t at[LOB_AXIS_ROLES] = {0};
    at[LOB_AXIS_Z] = index % nz;
    at[LOB_AXIS_T] = index / nz % w->side[LOB_AXIS_T];
    at[LOB_AXIS_C] = index / nz / w->side[LOB_AXIS_T];
    unsigned char *row = s->slope ? malloc((size_t)nx * bytes) : NULL;
    if (s->slope && !row) lob_inside_give_up();
    for (int64_t y = 0; y < ny; y++) {
        at[LOB_AXIS_Y] = y;
        int64_t from = 0, scale = 0;
        for (int a = LOB_AXIS_Y; a < LOB_AXIS_ROLES; a++) {
            from += at[a] * w->step[a];
            scale += (w->first[a] + at[a]) * s->step[a];
        }
        unsigned char *out = w->out + (size_t)((index * ny + y) * nx) * out_bytes;
        lob_copy_strided(row ? row : out, (int64_t)bytes, w->in + (size_t)from * bytes,
                         w->step[LOB_AXIS_X] * (int64_t)bytes, nx, bytes);
        if (row) scale_row(out, row, nx, w->view, scale);
    }
    free(row);
}

/* Sides and steps of a block; true when it already lies as we want it. */
static bool block_steps(reorder_work *w, const lob_hdf5_block *block)
{
    int64_t step[LOB_HDF5_MAX_AXES], whole = 1, natural = 1;
    for (int i = w->view->rank - 1; i >= 0; i--) {
        step[i] = whole;
        whole *= (int64_t)block->count[i];
    }
    bool same = !w->view->scale.slope;
    for (int i = LOB_AXIS_ROLES - 1; i >= 0; i--) {
        const lob_axis a = sent[i];
        const int at = w->view->at[a];
        w->first[a] = at < 0 ? 0 : (int64_t)block->start[at];
        w->side[a] = at < 0 ? 1 : (int64_t)block->count[at];
        w->step[a] = at < 0 ? 0 : step[at];
        same = same && (w->side[a] == 1 || w->step[a] == natural);
        natural *= w->side[a];
    }
    return same;
}

/* ---- sending ---- */

typedef struct {
    lob_hdf5_view *view;
    lob_hdf5_block block;
    unsigned char *ordered;
    int64_t block_bytes; /* at most, of the numbers that are stored or sent */
    int threads;
} sender;

static void limit_for(const sender *s)
{
    hsize_t sides[LOB_HDF5_MAX_AXES];
    int64_t chunk = (int64_t)lob_type_of(s->view->stored)->bytes;
    const bool chunked = lob_hdf5_chunk(sides, s->view);
    for (int i = 0; chunked && i < s->view->rank; i++) chunk *= (int64_t)sides[i];
    lob_inside_limit(10 + (int)((s->block_bytes + chunk) / SLOWEST_BYTES_PER_S),
                     (512 << 20) + 3 * s->block_bytes + s->view->stored_bytes +
                         (3 * chunk + THREAD_BYTES) * s->threads);
}

static void span(lob_hdf5_block *block, const lob_hdf5_view *view, lob_axis axis, int64_t start,
                 int64_t count)
{
    if (view->at[axis] < 0) return;
    block->start[view->at[axis]] = (hsize_t)start;
    block->count[view->at[axis]] = (hsize_t)count;
}

static void send_block(sender *s)
{
    limit_for(s);
    if (!lob_hdf5_read_block(s->view, &s->block, s->threads)) lob_inside_give_up();
    reorder_work work = {.view = s->view, .in = s->block.buffer};
    const unsigned char *ready = s->block.buffer;
    const bool same = block_steps(&work, &s->block);
    int64_t n = (int64_t)lob_type_of(s->view->type)->bytes;
    for (int a = 0; a < LOB_AXIS_ROLES; a++) n *= work.side[a];
    if (!same) {
        if (!s->ordered) s->ordered = malloc((size_t)s->block_bytes);
        if (!s->ordered) lob_inside_give_up();
        work.out = s->ordered;
        lob_inside_parallel(work.side[LOB_AXIS_Z] * work.side[LOB_AXIS_T] * work.side[LOB_AXIS_C],
                            s->threads, reorder_plane, &work);
        ready = s->ordered;
    }
    lob_inside_send(ready, (size_t)n);
}

void lob_hdf5_send_voxels(lob_hdf5_view *view, int64_t frame, int threads,
                          const lob_hdf5_reading *in)
{
    int64_t slab, batch;
    const bool all = frame == LOB_FRAME_ALL;
    const int64_t nz = lob_hdf5_side(view, LOB_AXIS_Z);
    const int64_t end = all ? lob_hdf5_side(view, LOB_AXIS_T) : frame + 1;
    lob_hdf5_portions(&slab, &batch, view, all);
    const int64_t stored = slice_bytes(view, view->stored),
                  sent_bytes = slice_bytes(view, view->type);
    sender s = {.view = view, .threads = threads};
    s.block_bytes = lob_product(stored > sent_bytes ? stored : sent_bytes, slab, batch, 1);
    limit_for(&s);
    s.block.buffer = s.block_bytes > 0 ? malloc((size_t)s.block_bytes) : NULL;
    if (!s.block.buffer) lob_inside_give_up();

    for (int i = 0; i < view->rank; i++) s.block.count[i] = view->extent[i];
    for (int64_t t = all ? 0 : frame; t < end; t += batch)
        for (int64_t z = 0; z < nz; z += slab) {
            span(&s.block, view, LOB_AXIS_T, t, t + batch < end ? batch : end - t);
            span(&s.block, view, LOB_AXIS_Z, z, z + slab < nz ? slab : nz - z);
            for (int c = 0; c < view->part_channels; c++) {
                if (!lob_hdf5_turn_to(view, c, view->parts ? t : 0, in)) lob_inside_give_up();
                send_block(&s);
            }
        }
}
