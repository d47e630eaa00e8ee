/*
 * HDF5 as a row of the formats: what this process does, which sees only what the helper sends.
 *
 * Reading. FILE.h5:/PATH names a data set or a group, FILE.h5 alone leaves the choice to us: of the
 * layouts in the table of hdf5_helper.c, the first that knows the file. Each row's file says where
 * the layout puts voxels and what it says of axes, spacing and place. Where a layout has several
 * volumes, or a file several plain data sets, one has to be named.
 *
 * Integers and reals of every size and byte order are read (half precision as float32, more than
 * double precision as float64); enumerations such as h5py's bool count as their integers.
 *
 * Refused: soft and external links, data in external files, virtual data sets, filters other than
 * HDF5's own, sizes that what is stored cannot justify. The HDF5 library is in a program of its own
 * (hdf5_helper.c), run in a sandbox for each file, because versions in use crash on damaged files;
 * a crash is LOB_EDATA. The one other file that is looked at is FILE.xml beside FILE.h5, for
 * BigDataViewer's layout.
 *
 * Writing. ITK's layout, with three dimensions and, where the volume holds several frames, a fourth
 * for time, with `axistags` and `element_size_um` on VoxelData, so that ITK, SimpleITK, ilastik,
 * PlantSeg, Fiji and h5py open the file. A scaled volume is stored as the values it stands for:
 * float32 where that holds them exactly, else float64.
 *
 * What is carried from input to output:
 *
 *   NIfTI        the header that a .nii of this volume would have, with its extensions, in the data
 *                set /lobule/nifti_header. A volume that is read back has it again, so long as the
 *                grid is the same.
 *   plain sets   VoxelData gets a second name, a hard link beside ITK's: that of the input's data
 *                set or, for labels, /label in its group; and its attributes.
 *   ITK          the MetaData entries: numbers and strings, up to 1000 entries with names of up to
 *                255 bytes, each with up to 64 numbers or less than 64 KiB of text, less than 16
 *                MiB in all; the same limits hold for attributes. What is beyond that stays behind,
 *                and lob_file_info has a warning with its number.
 *
 * strip_extensions leaves out NIfTI's extensions, ITK's entries and attributes.
 */
#include "io/hdf5/hdf5_messages.h"
#include "io/hdf5/sandbox.h"
#include "io/platform.h"
#include "volumes/clock.h"
#include "volumes/free.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SILENCE_S = 300 }; /* a helper that sends nothing for so long hangs */

/* The signature stands at 0, 512, 1024, 2048, ..., after a block of the user's own. */
static bool hdf5_sniff(const lob_location *where, const lob_input *file)
{
    static const unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    (void)where;
    for (size_t at = 0; at < file->size && file->size - at >= sizeof signature;
         at = at ? at * 2 : 512)
        if (memcmp(file->bytes + at, signature, sizeof signature) == 0) return true;
    return false;
}

/* FILE.xml of FILE.h5, malloc'ed; NULL when there is none that is small enough to be a header. */
static char *read_beside(const lob_location *where)
{
    enum { MAX_BYTES = 16 << 20 };
    const char *dot = strrchr(lob_name_in_path(where->file), '.');
    const size_t stem = dot ? (size_t)(dot - where->file) : strlen(where->file);
    char *path = malloc(stem + sizeof ".xml"), *text = NULL;
    lob_input file = {.size = 0};
    if (!path) return NULL;
    memcpy(path, where->file, stem);
    memcpy(path + stem, ".xml", sizeof ".xml");
    if (lob_input_open(&file, path, NULL) == LOB_OK && file.size <= MAX_BYTES)
        text = malloc(file.size + 1);
    if (text && file.size) memcpy(text, file.bytes, file.size);
    if (text) text[file.size] = '\0';
    lob_input_close(&file);
    free(path);
    return text;
}

/* Frames that the volume will hold. */
static int64_t frames_held(const lob_hdf5_reply *reply)
{
    return reply->frame == LOB_FRAME_ALL ? reply->frames : 1;
}

static int64_t reply_bytes(const lob_hdf5_reply *reply)
{
    const int64_t bytes = (int64_t)lob_type_of(reply->type)->bytes;
    return lob_product(lob_dims_voxels(reply->dims), reply->channels, frames_held(reply), bytes);
}

/* ---- what comes back ---- */

/* Why the helper fell silent. */
static lob_status explain(lob_sandbox *box, const lob_reading *r)
{
    int signal_number;
    switch (lob_sandbox_finish(box, &signal_number)) {
    case LOB_SANDBOX_INTERRUPTED:
        return LOB_FAIL(r, LOB_ECANCEL, "interrupted");
    case LOB_SANDBOX_KILLED:
        return LOB_FAIL(r, LOB_ENOMEM,
                        "the system ended the reader, most likely for lack of memory");
    case LOB_SANDBOX_TOO_LONG:
        return LOB_FAIL(r, LOB_EDATA, "damaged HDF5 file: reading it takes for ever");
    default:
        if (signal_number)
            return LOB_FAIL(r, LOB_EDATA,
                            "damaged HDF5 file: the HDF5 library fails on it (signal %d); "
                            "`h5dump` may tell more, a fresh copy may help",
                            signal_number);
        return LOB_FAIL(r, LOB_EDATA,
                        "damaged HDF5 file: its voxels cannot be read; a fresh copy may help");
    }
}

/* The helper may have been taken over by the file: believe nothing. */
static bool is_sane(const lob_hdf5_reply *reply, const lob_geometry *geometry)
{
    return (unsigned)reply->type < LOB_TYPES && lob_dims_voxels(reply->dims) > 0 &&
           reply->channels >= 1 && reply->frames >= 1 && reply->frame < reply->frames &&
           (reply->frame >= 0 || reply->frame == LOB_FRAME_ALL) && reply->slab >= 1 &&
           reply->slab <= reply->dims.nz && reply->batch >= 1 && reply->batch <= reply->frames &&
           isfinite(reply->slope) && isfinite(reply->inter) && reply->slope != 0.0 &&
           isfinite(reply->frame_step_s) && reply->frame_step_s >= 0.0 &&
           reply->header_bytes >= 0 && reply->header_bytes <= LOB_HDF5_MAX_HEADER &&
           reply->nifti_bytes >= 0 && reply->nifti_bytes <= LOB_HDF5_MAX_NIFTI &&
           lob_product(reply->channels, frames_held(reply), 1, 1) <= INT32_MAX &&
           reply_bytes(reply) > 0 && geometry->spacing_mm[0] > 0.0;
}

/* The helper's warnings begin with the data set; the file is put before it. */
static void take_warnings(lob_hdf5_reply *reply, const lob_reading *r)
{
    enum { MAX_COUNT = sizeof reply->info.warning / sizeof reply->info.warning[0] };
    for (int i = 0; i < reply->info.warnings && i < MAX_COUNT; i++) {
        reply->info.warning[i][sizeof reply->info.warning[0] - 1] = '\0';
        lob_warn(r->info, "%s:%s", r->where->file, reply->info.warning[i]);
    }
}

/* Receive n bytes and a NUL behind them, malloc'ed; NULL, with a message, on failure, where the
 * helper is gone. */
static char *receive_bytes(int64_t n, lob_status *st, lob_sandbox *box, const lob_reading *r)
{
    char *bytes = malloc((size_t)n + 1);
    if (!bytes) {
        *st = LOB_FAIL(r, LOB_ENOMEM, "out of memory");
        lob_sandbox_finish(box, NULL);
        return NULL;
    }
    bytes[n] = '\0';
    if (lob_sandbox_receive(box, bytes, (size_t)n, SILENCE_S)) return bytes;
    free(bytes);
    *st = explain(box, r);
    return NULL;
}

static lob_status receive_texts(lob_volume *out, const lob_hdf5_reply *reply, lob_sandbox *box,
                                const lob_reading *r)
{
    lob_status st = LOB_OK;
    char *text = receive_bytes(reply->header_bytes, &st, box, r), *nifti = NULL;
    if (text && reply->nifti_bytes > 0) nifti = receive_bytes(reply->nifti_bytes, &st, box, r);
    if (st == LOB_OK)
        lob_hdf5_take_header(out, text, (size_t)reply->header_bytes, (unsigned char *)nifti,
                             (size_t)reply->nifti_bytes, r->where);
    else
        free(text);
    return st;
}

/* The failure that the helper tells of. */
static lob_status take_failure(lob_hdf5_reply *reply, lob_error *error)
{
    lob_error *const told = &reply->error;
    told->file[sizeof told->file - 1] = told->text[sizeof told->text - 1] = '\0';
    const bool known = reply->status == LOB_ENOMEM;
    const lob_hint hint = (unsigned)told->hint < LOB_HINTS ? told->hint : LOB_HINT_NONE;
    return lob_fail_file_hint(error, known ? LOB_ENOMEM : LOB_EDATA, hint, told->file, "%s",
                              told->text);
}

/* What is read, which a file that stays the same tells each time: channels of each frame, bytes of
 * a plane, slices and frames that come at a time. */
typedef struct {
    lob_dims dims;
    int64_t channels, frames, plane, slab, batch;
} shape;

typedef struct {
    lob_reading reading;
    char *beside; /* the text of FILE.xml; NULL: there is none */
    lob_sandbox box;
    bool running; /* the helper */
    shape shape;
    int64_t first, depth; /* planes at hand, of one frame */
    unsigned char *at_hand;
} planes;

/*
 * What comes before the voxels: everything of the volume but its data. On failure the helper is
 * gone, and what out holds is the caller's to free.
 */
static lob_status receive_header(lob_volume *out, planes *p)
{
    const lob_reading *const r = &p->reading;
    lob_hdf5_reply reply;
    if (!lob_sandbox_receive(&p->box, &reply, sizeof reply, SILENCE_S)) return explain(&p->box, r);
    if (reply.status != LOB_OK) {
        lob_sandbox_finish(&p->box, NULL);
        return take_failure(&reply, r->error);
    }
    take_warnings(&reply, r);
    if (!lob_geometry_of_affine(&out->geometry, (const double(*)[4])reply.affine) ||
        !is_sane(&reply, &out->geometry)) {
        lob_sandbox_finish(&p->box, NULL);
        return LOB_FAIL(r, LOB_EDATA, "damaged HDF5 file: its sizes make no sense");
    }
    const int64_t frames = frames_held(&reply);
    const int64_t bytes = (int64_t)lob_type_of(reply.type)->bytes;
    p->shape = (shape){reply.dims, reply.channels, frames, reply.dims.nx * reply.dims.ny * bytes,
                       reply.slab, reply.batch};
    out->geometry.unoriented = reply.unoriented != 0;
    out->geometry.micrometres = reply.micrometres != 0;
    out->type = reply.type;
    out->dims = reply.dims;
    out->channels = reply.channels * (int)frames;
    out->frames = reply.frames;
    out->frame = reply.frame;
    out->frame_step_s = reply.frame_step_s;
    out->slope = reply.slope;
    out->inter = reply.inter;
    return receive_texts(out, &reply, &p->box, r);
}

/*
 * Start the helper on the file, opened once more: what it reads must be what was mapped here, of
 * which checksums are made.
 */
static lob_status start_helper(lob_sandbox *box, lob_hdf5_task task, const lob_reading *r,
                               const char *beside)
{
    const lob_location *where = r->where;
    lob_hdf5_request message = {.task = task, .options = *r->options};
    const lob_output_part texts[LOB_HDF5_TEXTS] = {
        lob_hdf5_part(where->path), lob_hdf5_part(where->inside), lob_hdf5_part(beside)};
    const int file = lob_input_open_again(r->file, where->file);
    if (file < 0) return LOB_FAIL(r, LOB_EIO, "has changed while it was read");
    const lob_status st = lob_hdf5_ask(box, &message, texts, file, r->path, r->error);
    lob_fd_close(file);
    return st;
}

/* Start it, and receive what comes before the voxels. */
static lob_status begin(lob_volume *out, planes *p)
{
    lob_info_add_file(p->reading.info, p->reading.file);
    LOB_TRY(start_helper(&p->box, LOB_HDF5_READ, &p->reading, p->beside));
    const lob_status st = receive_header(out, p);
    p->running = st == LOB_OK;
    return st;
}

/* ---- the list ---- */

static lob_status hdf5_list(lob_data_set **sets, int *count, int *more, const lob_reading *r)
{
    lob_sandbox box;
    int found = 0;
    lob_data_set *rows = calloc(LOB_HDF5_MAX_SETS, sizeof *rows);
    if (!rows) return LOB_FAIL(r, LOB_ENOMEM, "no memory");
    const lob_status st = start_helper(&box, LOB_HDF5_LIST, r, NULL);
    if (st != LOB_OK) {
        free(rows);
        return st;
    }
    bool ok = lob_sandbox_receive(&box, &found, sizeof found, SILENCE_S) && found >= 0;
    *count = found < LOB_HDF5_MAX_SETS ? found : LOB_HDF5_MAX_SETS;
    ok = ok && lob_sandbox_receive(&box, rows, (size_t)*count * sizeof *rows, SILENCE_S);
    if (!ok) {
        free(rows);
        return explain(&box, r);
    }
    lob_sandbox_finish(&box, NULL);
    for (int i = 0; i < *count; i++) { /* the helper may have been taken over by the file */
        rows[i].path[sizeof rows[i].path - 1] = '\0';
        rows[i].shape[sizeof rows[i].shape - 1] = '\0';
        rows[i].type[sizeof rows[i].type - 1] = '\0';
    }
    *more = found - *count;
    *sets = rows;
    return LOB_OK;
}

/* ---- planes ---- */

static void planes_close(void *state)
{
    planes *p = state;
    if (p->running) lob_sandbox_finish(&p->box, NULL);
    LOB_FREE(p->beside, p->at_hand, p);
}

/* Start the helper again, for planes that have gone by. */
static lob_status start_again(planes *p)
{
    lob_volume again = lob_volume_empty();
    const shape was = p->shape;
    lob_file_info *const info = p->reading.info;
    if (p->running) lob_sandbox_finish(&p->box, NULL);
    p->running = false;
    p->first = p->depth = 0;
    p->reading.info = NULL; /* which has been told */
    lob_status st = begin(&again, p);
    p->reading.info = info;
    if (st == LOB_OK && memcmp(&was, &p->shape, sizeof was) != 0)
        st = LOB_FAIL(&p->reading, LOB_EDATA, "damaged HDF5 file: it reads differently each time");
    p->shape = was;
    lob_volume_free(&again);
    return st;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The next `depth` planes of each channel, of so many frames from one on, to where each frame of a
 * channel has room for `high` planes. */
static lob_status receive_slab(unsigned char *to, int64_t high, int64_t depth, int64_t frame,
                               int64_t frames, planes *p)
{
    const shape *const s = &p->shape;
    for (int64_t c = 0; c < s->channels; c++)
        for (int64_t t = frame; t < frame + frames; t++)
            if (!lob_sandbox_receive(&p->box, to + (c * s->frames + t) * high * s->plane,
                                     (size_t)(depth * s->plane), SILENCE_S)) {
                p->running = false;
                return explain(&p->box, &p->reading);
            }
    return LOB_OK;
}

/* In the order of lob_hdf5_send_voxels, to where they belong. */
static lob_status receive_all(unsigned char *out, planes *p)
{
    const shape *const s = &p->shape;
    const int64_t nz = s->dims.nz;
    for (int64_t t = 0; t < s->frames; t += s->batch)
        for (int64_t z = 0; z < nz; z += s->slab)
            LOB_TRY(receive_slab(out + z * s->plane, nz, least(s->slab, nz - z), t,
                                 least(s->batch, s->frames - t), p));
    p->first = nz;
    return LOB_OK;
}

static int64_t slab_bytes(const shape *s)
{
    return s->channels * s->slab * s->plane;
}

/* The slab behind the one at hand. */
static lob_status next_slab(planes *p)
{
    const shape *const s = &p->shape;
    const int64_t first = p->first + p->depth, depth = least(s->slab, s->dims.nz - first);
    if (!p->at_hand) LOB_TRY(lob_memory_allows(slab_bytes(s), &p->reading));
    if (!p->at_hand) p->at_hand = malloc((size_t)slab_bytes(s));
    if (!p->at_hand) return LOB_FAIL(&p->reading, LOB_ENOMEM, "out of memory");
    LOB_TRY(receive_slab(p->at_hand, depth, depth, 0, 1, p));
    p->first = first;
    p->depth = depth;
    return LOB_OK;
}

static lob_status planes_get(void *state, unsigned char *out, int64_t z, int64_t n,
                             lob_error *error)
{
    planes *p = state;
    const int64_t plane = p->shape.plane;
    const double start_s = lob_clock_s();
    p->reading.error = error;
    lob_status st = p->running && z >= p->first ? LOB_OK : start_again(p);
    const bool all = n == p->shape.dims.nz && p->depth == 0;
    if (st == LOB_OK && all) st = receive_all(out, p);
    for (int64_t done = 0; st == LOB_OK && !all && done < n;) {
        const int64_t from = z + done - p->first, some = least(p->depth - from, n - done);
        if (some <= 0) {
            st = next_slab(p);
            continue;
        }
        for (int64_t c = 0; c < p->shape.channels; c++)
            memcpy(out + (c * n + done) * plane, p->at_hand + (c * p->depth + from) * plane,
                   (size_t)(some * plane));
        done += some;
    }
    if (p->reading.info) p->reading.info->inflate_s += lob_clock_s() - start_s;
    return st;
}

static lob_status hdf5_open_planes(lob_plane_source *source, lob_volume *out, const lob_reading *r)
{
    planes *p = calloc(1, sizeof *p);
    if (!p) return LOB_FAIL(r, LOB_ENOMEM, "no memory");
    const double start_s = lob_clock_s();
    p->reading = *r;
    p->beside = read_beside(r->where);
    const lob_status st = begin(out, p);
    if (r->info) r->info->inflate_s += lob_clock_s() - start_s;
    if (st == LOB_OK)
        *source = (lob_plane_source){
            .state = p, .held = slab_bytes(&p->shape), .get = planes_get, .close = planes_close};
    else
        planes_close(p);
    return st;
}

static const char *const hdf5_suffixes[] = {".h5", ".hdf5", NULL};

const lob_format lob_format_hdf5 = {
    .name = "HDF5",
    .suffixes = hdf5_suffixes,
    .sniff = hdf5_sniff,
    .all_frames = true,
    .level = 1, /* what is shuffled gains little from more */
    .write = lob_hdf5_write,
    .list = hdf5_list,
    .open_planes = hdf5_open_planes,
    .fields = lob_hdf5_fields,
};
