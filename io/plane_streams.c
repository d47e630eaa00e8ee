/* Reading and writing volumes by planes, whatever their format. */
#include "io/planes.h"

#include "io/formats.h"
#include "io/passing.h"
#include "io/platform.h"
#include "volumes/bytes.h"
#include "volumes/clock.h"
#include "volumes/free.h"
#include "volumes/voxel_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

struct lob_planes {
    lob_opened opened; /* of a volume in memory, its name alone */
    lob_plane_source source;
    lob_volume shape; /* dims, type and channels */
};

/* What all makers of planes leave in the end. */
static lob_volume shape_of(const lob_volume *v)
{
    const int channels = v->channels / (int)lob_frames_held(v);
    return (lob_volume){.type = v->type, .dims = v->dims, .channels = channels};
}

/* A volume that was read as a whole. */
typedef struct {
    const unsigned char *data;
    void *own;              /* the same, to be freed; NULL: it is the caller's */
    int64_t plane, channel; /* bytes */
    int channels;
} whole;

static lob_status whole_get(void *state, unsigned char *out, int64_t z, int64_t n, lob_error *error)
{
    const whole *w = state;
    (void)error;
    for (int c = 0; c < w->channels; c++)
        memcpy(out + c * n * w->plane, w->data + c * w->channel + z * w->plane,
               (size_t)(n * w->plane));
    return LOB_OK;
}

static void whole_close(void *state)
{
    whole *w = state;
    LOB_FREE(w->own, w);
}

/* The source of a volume's voxels, of which it takes over those that it owns. */
static lob_status whole_source(lob_plane_source *source, const lob_volume *volume, int64_t frame,
                               void *own, const char *path, lob_error *error)
{
    whole *w = malloc(sizeof *w);
    if (!w) return lob_fail_file(error, LOB_ENOMEM, path, "no memory");
    const int64_t bytes = (int64_t)lob_type_of(volume->type)->bytes;
    const int64_t plane = volume->dims.nx * volume->dims.ny * bytes;
    const int64_t frames = lob_frames_held(volume);
    const int64_t voxels = plane * volume->dims.nz;
    *w = (whole){(const unsigned char *)volume->data + frame * voxels, own, plane, voxels * frames,
                 (int)(volume->channels / frames)};
    *source = (lob_plane_source){.state = w,
                                 .held = own ? voxels * volume->channels : 0,
                                 .get = whole_get,
                                 .close = whole_close};
    return LOB_OK;
}

static lob_status read_whole(lob_plane_source *source, lob_volume *out, const lob_opened *o)
{
    const lob_reading *const r = &o->reading;
    lob_status st = lob_opened_read(out, o);
    if (st == LOB_OK) st = whole_source(source, out, 0, out->data, r->path, r->error);
    if (st == LOB_OK) out->data = NULL;
    return st;
}

/* Time that is not spent inflating is reading. */
static void count_time(lob_file_info *info, double start_s, double inflate_s)
{
    if (info) info->read_s += lob_clock_s() - start_s - (info->inflate_s - inflate_s);
}

lob_status lob_planes_open(lob_planes **planes, lob_volume *out, const char *path,
                           const lob_read_options *options, lob_file_info *info, lob_error *error)
{
    *out = lob_volume_empty();
    *planes = NULL;
    if (info) *info = (lob_file_info){0};
    const double start_s = lob_clock_s();
    lob_planes *p = calloc(1, sizeof *p);
    if (!p) return lob_fail_file(error, LOB_ENOMEM, path, "no memory");

    lob_opened *const o = &p->opened;
    lob_read_options chosen = options ? *options : lob_read_defaults();
    chosen.header_only = false;
    if (chosen.frame == LOB_FRAME_ALL) chosen.frame = LOB_FRAME_UNSAID; /* one at a time */
    lob_status st = lob_opened_begin(o, path, &chosen, info, error);
    if (st == LOB_OK)
        st = o->format->open_planes ? o->format->open_planes(&p->source, out, &o->reading)
                                    : read_whole(&p->source, out, o);
    if (st == LOB_OK) st = lob_format_name_made(out, &o->where, info);
    p->shape = shape_of(out);
    count_time(info, start_s, 0);
    if (st == LOB_OK) {
        *planes = p;
        return st;
    }
    lob_volume_free(out);
    lob_planes_close(p);
    return st;
}

lob_status lob_planes_of(lob_planes **planes, const lob_volume *volume, int64_t frame,
                         const char *name, lob_error *error)
{
    *planes = NULL;
    lob_planes *p = calloc(1, sizeof *p);
    lob_status st = p ? lob_location_of(&p->opened.where, name) : LOB_ENOMEM;
    if (st != LOB_OK)
        lob_fail_file(error, st, name, "no memory");
    else
        st = whole_source(&p->source, volume, frame, NULL, name, error);
    if (st != LOB_OK) {
        lob_planes_close(p);
        return st;
    }
    p->shape = shape_of(volume);
    *planes = p;
    return st;
}

lob_status lob_planes_get(lob_planes *planes, void *out, int64_t z, int64_t n, lob_error *error)
{
    lob_file_info *const info = planes->opened.reading.info;
    const double start_s = lob_clock_s(), inflate_s = info ? info->inflate_s : 0;
    if (z < 0 || n < 1 || n > planes->shape.dims.nz || z > planes->shape.dims.nz - n)
        return lob_fail_file(error, LOB_EARG, planes->opened.where.path,
                             "there are no planes %lld to %lld", (long long)z,
                             (long long)z + n - 1);
    const lob_status st = planes->source.get(planes->source.state, out, z, n, error);
    count_time(info, start_s, inflate_s);
    return st;
}

/* A box out of some planes at a time. */
static lob_status cut_box(lob_planes *p, void *out, const lob_box *box, lob_error *error)
{
    enum { AT_ONCE = 1 << 20 }; /* bytes */
    lob_volume cut = p->shape, some = p->shape;
    some.dims.nz = 1;
    const int64_t plane = lob_volume_bytes(&some), end = box->first[2] + box->size[2];
    const int64_t most = plane < AT_ONCE ? AT_ONCE / plane : 1;
    lob_status st = LOB_OK;
    cut.dims = lob_box_dims(box);
    cut.data = out;
    if (p->opened.reading.options && plane > AT_ONCE) { /* of a file: fewer bytes are not counted */
        lob_reading reading = p->opened.reading;
        reading.error = error;
        LOB_TRY(lob_memory_allows(plane + lob_volume_bytes(&cut), &reading));
    }
    some.data = lob_voxel_memory(plane * most);
    if (!some.data) return lob_fail_file(error, LOB_ENOMEM, p->opened.where.path, "out of memory");
    for (int64_t z = box->first[2]; st == LOB_OK && z < end; z += most) {
        const int64_t at[3] = {-box->first[0], -box->first[1], z - box->first[2]};
        some.dims.nz = end - z < most ? end - z : most;
        st = p->source.get(p->source.state, some.data, z, some.dims.nz, error);
        if (st == LOB_OK) lob_volume_put(&cut, &some, at);
    }
    free(some.data);
    return st;
}

lob_status lob_planes_get_box(lob_planes *planes, void *out, const lob_box *box, lob_error *error)
{
    const lob_box all = lob_box_whole(planes->shape.dims);
    lob_file_info *const info = planes->opened.reading.info;
    const double start_s = lob_clock_s(), inflate_s = info ? info->inflate_s : 0;
    if (!lob_box_lies_in(box, &all))
        return lob_fail_file(error, LOB_EARG, planes->opened.where.path, "there is no such box");
    const lob_status st = planes->source.get_box
                              ? planes->source.get_box(planes->source.state, out, box, error)
                              : cut_box(planes, out, box, error);
    count_time(info, start_s, inflate_s);
    return st;
}

lob_status lob_planes_stored(lob_planes *planes, lob_box *box, lob_error *error)
{
    *box = lob_box_whole(planes->shape.dims);
    return planes->source.stored ? planes->source.stored(planes->source.state, box, error) : LOB_OK;
}

int64_t lob_planes_held(const lob_planes *planes)
{
    return planes ? planes->source.held : 0;
}

void lob_planes_close(lob_planes *planes)
{
    if (!planes) return;
    if (planes->source.close) planes->source.close(planes->source.state);
    lob_opened_end(&planes->opened);
    free(planes);
}

/* ---- writing ---- */

struct lob_plane_writer {
    lob_location where;
    lob_plane_sink sink;
    size_t plane_bytes;
    int64_t planes; /* still to come */
    double compress_s;
};

/*
 * Voxels gathered in a file that nobody sees, for a format that wants them all at once: mapped into
 * memory they need not stay in it. Zeros are holes of it.
 */
typedef struct {
    const lob_volume *volume;
    const lob_format *format;
    const lob_location *where;
    lob_write_options options;
    lob_output file;
    size_t bytes;
} gathering;

static lob_status gathering_put(void *state, const void *bytes, size_t n, lob_error *error)
{
    gathering *g = state;
    if (bytes) return lob_output_write(&g->file, bytes, n, error);
    return lob_fd_seek(g->file.fd, (int64_t)n, SEEK_CUR) >= 0
               ? LOB_OK
               : lob_fail_file(error, LOB_EIO, g->where->path, "write failed: %s",
                               ERRNO_TEXT(errno));
}

static void gathering_abort(void *state)
{
    gathering *g = state;
    lob_output_abort(&g->file);
    free(g);
}

static lob_status gathering_commit(void *state, lob_error *error)
{
    gathering *g = state;
    lob_status st;
    void *map =
        lob_fd_cut(g->file.fd, (int64_t)g->bytes) == 0 ? lob_map(g->file.fd, g->bytes) : NULL;
    if (map) {
        lob_volume volume = *g->volume;
        volume.data = map;
        st = lob_format_write(g->format, &volume, g->where, &g->options, error);
        lob_unmap(map, g->bytes);
    } else {
        st = lob_fail_file(error, LOB_EIO, g->where->path, "its voxels cannot be read back: %s",
                           ERRNO_TEXT(errno));
    }
    gathering_abort(g);
    return st;
}

static lob_status begin_gathering(lob_plane_sink *sink, const lob_volume *volume,
                                  const lob_format *format, const lob_location *where,
                                  const lob_write_options *options, size_t bytes, lob_error *error)
{
    gathering *g = malloc(sizeof *g);
    if (!g) return lob_fail_file(error, LOB_ENOMEM, where->path, "no memory to write it");
    *g = (gathering){
        .volume = volume, .format = format, .where = where, .options = *options, .bytes = bytes};
    const lob_status st = lob_output_begin(&g->file, where->file, options->force, error);
    if (st != LOB_OK) {
        free(g);
        return st;
    }
    *sink = (lob_plane_sink){.state = g,
                             .uncompressed = &g->file,
                             .put = gathering_put,
                             .takes_zeros = true,
                             .commit = gathering_commit,
                             .discard = gathering_abort};
    return LOB_OK;
}

/* Gathered in memory; the state is where the next bytes go. */
static lob_status memory_put(void *state, const void *bytes, size_t n, lob_error *error)
{
    unsigned char **const to = state;
    (void)error;
    memcpy(*to, bytes, n);
    *to += n;
    return LOB_OK;
}

static void memory_discard(void *state)
{
    free(state);
}

static lob_status memory_commit(void *state, lob_error *error)
{
    (void)error;
    free(state);
    return LOB_OK;
}

static void free_writer(lob_plane_writer *w)
{
    lob_location_free(&w->where);
    free(w);
}

/* A writer without a sink; NULL without memory. */
static lob_plane_writer *new_writer(const lob_volume *volume, const char *path)
{
    lob_plane_writer *w = calloc(1, sizeof *w);
    if (!w || lob_location_of(&w->where, path) != LOB_OK) {
        free(w);
        return NULL;
    }
    const size_t bytes = lob_type_of(volume->type)->bytes;
    w->plane_bytes = (size_t)(volume->dims.nx * volume->dims.ny) * bytes;
    w->planes = volume->dims.nz * volume->channels;
    return w;
}

lob_status lob_plane_writer_gather(lob_plane_writer **writer, void **data, const lob_volume *volume,
                                   const char *name, lob_error *error)
{
    *writer = NULL;
    *data = NULL;
    LOB_TRY(lob_check_writable(volume, false, name, error));
    lob_plane_writer *w = new_writer(volume, name);
    void **const to = malloc(sizeof *to);
    void *room = w ? lob_voxel_memory(w->plane_bytes * (size_t)w->planes) : NULL;
    if (!w || !to || !room) {
        if (w) free_writer(w);
        LOB_FREE(to, room);
        return lob_fail_file(error, LOB_ENOMEM, name, "out of memory");
    }
    *to = room;
    w->sink = (lob_plane_sink){
        .state = to, .put = memory_put, .commit = memory_commit, .discard = memory_discard};
    *data = room;
    *writer = w;
    return LOB_OK;
}

lob_status lob_plane_writer_begin(lob_plane_writer **writer, const lob_volume *volume,
                                  int64_t largest, const char *path,
                                  const lob_write_options *options, lob_error *error)
{
    *writer = NULL;
    LOB_TRY(lob_check_writable(volume, false, path, error));
    lob_plane_writer *w = new_writer(volume, path);
    if (!w) return lob_fail_file(error, LOB_ENOMEM, path, "no memory to write it");
    const lob_format *format = lob_format_of_name(&w->where, error);
    const lob_write_options chosen = lob_sane_write_options(options, format, &w->compress_s);
    const size_t bytes = w->plane_bytes * (size_t)w->planes;
    lob_status st = LOB_EARG;
    if (format && format->begin_planes && volume->channels == 1)
        st = format->begin_planes(&w->sink, volume, largest, &w->where, &chosen, error);
    else if (format)
        st = begin_gathering(&w->sink, volume, format, &w->where, &chosen, bytes, error);
    /* Planes are the work of hours, which should not end for want of space. */
    if (st == LOB_OK && w->sink.uncompressed) {
        st = lob_output_fits(w->sink.uncompressed, (int64_t)bytes, error);
        if (st != LOB_OK) w->sink.discard(w->sink.state);
    }
    if (st == LOB_OK) {
        *writer = w;
        return st;
    }
    free_writer(w);
    return st;
}

/* A plane of zeros. */
static lob_status put_zeros(lob_plane_writer *w, lob_error *error)
{
    static const unsigned char zeros[1 << 16];
    size_t n = w->plane_bytes;
    if (w->sink.takes_zeros) return w->sink.put(w->sink.state, NULL, n, error);
    for (size_t some; n > 0; n -= some) {
        some = n < sizeof zeros ? n : sizeof zeros;
        LOB_TRY(w->sink.put(w->sink.state, zeros, some, error));
    }
    return LOB_OK;
}

lob_status lob_plane_writer_put(lob_plane_writer *w, const void *planes, int64_t n,
                                lob_error *error)
{
    if (n < 0 || n > w->planes)
        return lob_fail_file(error, LOB_EINTERNAL, w->where.path, "more planes than announced");
    if (planes)
        LOB_TRY(w->sink.put(w->sink.state, planes, (size_t)n * w->plane_bytes, error));
    else
        for (int64_t i = 0; i < n; i++) LOB_TRY(put_zeros(w, error));
    w->planes -= n;
    return LOB_OK;
}

lob_status lob_plane_writer_commit(lob_plane_writer *w, lob_error *error)
{
    lob_status st;
    if (w->planes > 0) {
        st = lob_fail_file(error, LOB_EINTERNAL, w->where.path, "planes are missing");
        w->sink.discard(w->sink.state);
    } else {
        st = w->sink.commit(w->sink.state, error);
    }
    free_writer(w);
    return st;
}

void lob_plane_writer_abort(lob_plane_writer *w)
{
    if (!w) return;
    w->sink.discard(w->sink.state);
    free_writer(w);
}
