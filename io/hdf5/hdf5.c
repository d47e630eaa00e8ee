/*
 * HDF5 as a row of the formats: the parent process, which sees only what the child sends.
 *
 * Reading. FILE.h5:/PATH names a data set or a group, FILE.h5 alone leaves the choice to us: of the
 * layouts in the table of hdf5_layouts.c, the first that knows the file. Each row's file says where
 * the layout puts voxels and what it says of axes, spacing and place. Where a layout has several
 * volumes, or a file several plain data sets, one has to be named.
 *
 * Integers and reals of every size and byte order are read (half precision as float32, more than
 * double precision as float64); enumerations such as h5py's bool count as their integers.
 *
 * Refused: soft and external links, data in external files, virtual data sets, filters other than
 * HDF5's own, sizes that what is stored cannot justify. The HDF5 library runs in a child process
 * (io/hdf5/sandbox.h), because versions in use crash on damaged files; a crash is LOB_EDATA. The
 * one other file that is looked at is FILE.xml beside FILE.h5, for BigDataViewer's layout. This
 * process never calls HDF5 itself; a program that does, must not while another of its threads is in
 * here.
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
#include "io/hdf5/hdf5_parts.h"
#include "io/hdf5/sandbox.h"
#include "io/platform.h"
#include "volumes/clock.h"
#include "volumes/voxel_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SILENCE_S = 300,         /* a child that sends nothing for so long hangs */
    PARSE_CPU_S = 8,         /* processor time to find the data set */
    PARSE_BYTES = 512 << 20, /* memory for that */
};

/* The signature stands at 0, 512, 1024, 2048, ..., after a block of the user's own. */
static bool hdf5_sniff(const lob_location *where, const lob_input *file)
{
    static const unsigned char signature[8] = "\211HDF\r\n\032\n";
    (void)where;
    for (size_t at = 0; at < file->size && file->size - at >= sizeof signature;
         at = at ? at * 2 : 512)
        if (memcmp(file->bytes + at, signature, sizeof signature) == 0) return true;
    return false;
}

/* ---- the child ---- */

typedef struct {
    const lob_location *where;
    const lob_read_options *options;
    const lob_input *input;
    bool by_planes; /* only a slab is held at a time */
    char *beside;   /* the text of FILE.xml; NULL: there is none */
} request;

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

static hid_t open_file(const lob_input *input)
{
    const lob_hdf5_storage storage = {.bytes = input->bytes, .size = input->size};
    const hid_t plist = lob_hdf5_access(&storage);
    return plist < 0 ? -1 : H5Fopen("input", H5F_ACC_RDONLY, plist);
}

static void describe(lob_hdf5_reply *reply, const lob_hdf5_view *view, const request *asked)
{
    reply->type = view->type;
    reply->dims = (lob_dims){lob_hdf5_side(view, LOB_AXIS_X), lob_hdf5_side(view, LOB_AXIS_Y),
                             lob_hdf5_side(view, LOB_AXIS_Z)};
    reply->channels = (int)lob_hdf5_side(view, LOB_AXIS_C);
    reply->frames = lob_hdf5_side(view, LOB_AXIS_T);
    reply->frame_step_s = view->frame_step_s;
    reply->slope = view->slope;
    reply->inter = view->inter;
    memcpy(reply->affine, view->geometry.affine, sizeof reply->affine);
    reply->unoriented = view->geometry.unoriented;
    reply->micrometres = view->geometry.micrometres;
    const bool all = asked->options->frame == LOB_FRAME_ALL;
    lob_hdf5_portions(&reply->slab, &reply->batch, view, all);
    reply->status = lob_choose_frame(&reply->frame, reply->frames, asked->where->path,
                                     asked->options, &reply->error);
    if (all && reply->frames > 1) reply->frame = LOB_FRAME_ALL;
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

/* Bytes of what is held at a time. */
static int64_t held_bytes(const lob_hdf5_reply *reply, const request *asked)
{
    lob_hdf5_reply held = *reply;
    if (asked->by_planes) held.dims.nz = reply->slab;
    return reply_bytes(&held);
}

static void read_child(int out, void *user)
{
    const request *asked = user;
    const lob_location *where = asked->where;
    lob_hdf5_reply reply = {.status = LOB_EDATA};
    const lob_hdf5_layout *layout = NULL;
    lob_hdf5_view view;
    char *header = NULL;
    unsigned char *nifti = NULL;

    lob_sandbox_limit(PARSE_CPU_S, PARSE_BYTES);
    lob_sandbox_files(false); /* whatever the file says, no other file is opened */
    const lob_hdf5_reading in = {open_file(asked->input),
                                 where,
                                 (int64_t)asked->input->size,
                                 asked->beside,
                                 asked->options->frame,
                                 &reply.info,
                                 &reply.error};
    if (in.file < 0)
        lob_fail_file(&reply.error, LOB_EDATA, where->path,
                      "damaged HDF5 file: the HDF5 library cannot open it");
    else
        reply.status = lob_hdf5_find(&view, &layout, &in);
    if (reply.status == LOB_OK) describe(&reply, &view, asked);
    if (reply.status == LOB_OK) {
        header = lob_hdf5_header_text(&view, layout, &in);
        reply.header_bytes = header ? (int64_t)strlen(header) : 0;
        if (layout == &lob_hdf5_itk) nifti = lob_hdf5_nifti(&reply.nifti_bytes, &in);
        if (!asked->options->header_only) {
            lob_sandbox_files(true); /* to ask how much memory there is */
            reply.status = lob_memory_allows(held_bytes(&reply, asked), where->path, asked->options,
                                             &reply.error);
            lob_sandbox_files(false);
        }
    }
    lob_sandbox_send(out, &reply, sizeof reply);
    if (reply.status != LOB_OK) return;
    lob_sandbox_send(out, header, (size_t)reply.header_bytes);
    lob_sandbox_send(out, nifti, (size_t)reply.nifti_bytes);
    free(nifti);
    if (!asked->options->header_only)
        lob_hdf5_send_voxels(&view, reply.frame, asked->options->threads, out, &in);
}

/* ---- the parent ---- */

/* Why the child fell silent. */
static lob_status explain(lob_sandbox *box, const char *path, lob_error *error)
{
    int signal_number;
    switch (lob_sandbox_finish(box, &signal_number)) {
    case LOB_SANDBOX_INTERRUPTED:
        return lob_fail_file(error, LOB_ECANCEL, path, "interrupted");
    case LOB_SANDBOX_KILLED:
        return lob_fail_file(error, LOB_ENOMEM, path,
                             "the system ended the reader, most likely for lack of memory");
    case LOB_SANDBOX_TOO_LONG:
        return lob_fail_file(error, LOB_EDATA, path,
                             "damaged HDF5 file: reading it takes for ever");
    default:
        if (signal_number)
            return lob_fail_file(error, LOB_EDATA, path,
                                 "damaged HDF5 file: the HDF5 library fails on it (signal %d); "
                                 "`h5dump` may tell more, a fresh copy may help",
                                 signal_number);
        return lob_fail_file(error, LOB_EDATA, path,
                             "damaged HDF5 file: its voxels cannot be read; a fresh copy may help");
    }
}

/* The child may have been taken over by the file: believe nothing. */
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

/* The child's warnings begin with the data set; the file is put before it. */
static void take_warnings(lob_file_info *info, lob_hdf5_reply *reply, const lob_location *where)
{
    enum { MAX_COUNT = sizeof reply->info.warning / sizeof reply->info.warning[0] };
    for (int i = 0; i < reply->info.warnings && i < MAX_COUNT; i++) {
        reply->info.warning[i][sizeof reply->info.warning[0] - 1] = '\0';
        lob_warn(info, "%s:%s", where->file, reply->info.warning[i]);
    }
}

/* Receive n bytes and a NUL behind them, malloc'ed; NULL, with a message, on failure, where the
 * child is gone. */
static char *receive_bytes(int64_t n, lob_status *st, lob_sandbox *box, const char *path,
                           lob_error *error)
{
    char *bytes = malloc((size_t)n + 1);
    if (!bytes) {
        *st = lob_fail_file(error, LOB_ENOMEM, path, "out of memory");
        lob_sandbox_finish(box, NULL);
        return NULL;
    }
    bytes[n] = '\0';
    if (lob_sandbox_receive(box, bytes, (size_t)n, SILENCE_S)) return bytes;
    free(bytes);
    *st = explain(box, path, error);
    return NULL;
}

static lob_status receive_texts(lob_volume *out, const lob_hdf5_reply *reply, lob_sandbox *box,
                                const request *asked, lob_error *error)
{
    const char *path = asked->where->path;
    lob_status st = LOB_OK;
    char *text = receive_bytes(reply->header_bytes, &st, box, path, error), *nifti = NULL;
    if (text && reply->nifti_bytes > 0)
        nifti = receive_bytes(reply->nifti_bytes, &st, box, path, error);
    if (st == LOB_OK)
        lob_hdf5_take_header(out, text, (size_t)reply->header_bytes, (unsigned char *)nifti,
                             (size_t)reply->nifti_bytes, asked->where);
    else
        free(text);
    return st;
}

/* The failure that the child tells of. */
static lob_status take_failure(lob_hdf5_reply *reply, lob_error *error)
{
    lob_error *const told = &reply->error;
    told->file[sizeof told->file - 1] = told->text[sizeof told->text - 1] = '\0';
    const bool known = reply->status == LOB_ENOMEM;
    const lob_hint hint = (unsigned)told->hint < LOB_HINTS ? told->hint : LOB_HINT_NONE;
    return lob_fail_file_hint(error, known ? LOB_ENOMEM : LOB_EDATA, hint, told->file, "%s",
                              told->text);
}

/*
 * What comes before the voxels: everything of the volume but its data. On failure the child is
 * gone, and what out holds is the caller's to free.
 *
 *   slab, batch  out  slices and frames that come at a time
 */
static lob_status receive_header(lob_volume *out, int64_t *slab, int64_t *batch, lob_sandbox *box,
                                 const request *asked, lob_file_info *info, lob_error *error)
{
    const char *path = asked->where->path;
    lob_hdf5_reply reply;
    if (!lob_sandbox_receive(box, &reply, sizeof reply, SILENCE_S))
        return explain(box, path, error);
    if (reply.status != LOB_OK) {
        lob_sandbox_finish(box, NULL);
        return take_failure(&reply, error);
    }
    take_warnings(info, &reply, asked->where);
    if (!lob_geometry_of_affine(&out->geometry, (const double(*)[4])reply.affine) ||
        !is_sane(&reply, &out->geometry)) {
        lob_sandbox_finish(box, NULL);
        return lob_fail_file(error, LOB_EDATA, path, "damaged HDF5 file: its sizes make no sense");
    }
    out->geometry.unoriented = reply.unoriented != 0;
    out->geometry.micrometres = reply.micrometres != 0;
    out->type = reply.type;
    out->dims = reply.dims;
    out->channels = reply.channels * (int)frames_held(&reply);
    out->frames = reply.frames;
    out->frame = reply.frame;
    out->frame_step_s = reply.frame_step_s;
    out->slope = reply.slope;
    out->inter = reply.inter;
    *slab = reply.slab;
    *batch = reply.batch;
    lob_status st = receive_texts(out, &reply, box, asked, error);
    if (st != LOB_OK || asked->options->header_only) return st;
    st = lob_memory_allows(held_bytes(&reply, asked), path, asked->options, error);
    if (st != LOB_OK) lob_sandbox_finish(box, NULL);
    return st;
}

/* In the order of lob_hdf5_send_voxels, to where they belong. */
static bool receive_voxels(lob_sandbox *box, lob_volume *out, int64_t slab, int64_t batch)
{
    const int64_t slice = out->dims.nx * out->dims.ny * (int64_t)lob_type_of(out->type)->bytes;
    const int64_t nz = out->dims.nz, frames = out->frame == LOB_FRAME_ALL ? out->frames : 1;
    for (int64_t first = 0; first < frames; first += batch)
        for (int64_t z = 0; z < nz; z += slab) {
            const int64_t depth = z + slab < nz ? slab : nz - z;
            const int64_t some = first + batch < frames ? batch : frames - first;
            for (int64_t c = 0; c < out->channels / frames; c++)
                for (int64_t t = first; t < first + some; t++) {
                    unsigned char *at =
                        (unsigned char *)out->data + ((c * frames + t) * nz + z) * slice;
                    if (!lob_sandbox_receive(box, at, (size_t)(depth * slice), SILENCE_S))
                        return false;
                }
        }
    return true;
}

static lob_status receive_volume(lob_volume *out, lob_sandbox *box, const request *asked,
                                 lob_file_info *info, lob_error *error)
{
    int64_t slab, batch;
    lob_status st = receive_header(out, &slab, &batch, box, asked, info, error);
    if (st != LOB_OK) return st;
    if (!asked->options->header_only) {
        const size_t bytes = lob_type_of(out->type)->bytes;
        out->data = lob_voxel_memory(lob_voxels(out) * out->channels * (int64_t)bytes);
        if (!out->data)
            st = lob_fail_file(error, LOB_ENOMEM, asked->where->path, "out of memory");
        else if (!receive_voxels(box, out, slab, batch))
            return explain(box, asked->where->path, error);
    }
    lob_sandbox_finish(box, NULL);
    return st;
}

static lob_status no_process(const request *asked, lob_error *error)
{
    return lob_fail_file(error, LOB_ENOMEM, asked->where->path,
                         "the system gives no process to read HDF5 in");
}

static lob_status start_child(lob_sandbox *box, request *asked, lob_error *error)
{
    return lob_sandbox_start(box, read_child, asked, -1) ? LOB_OK : no_process(asked, error);
}

static lob_status hdf5_read(lob_volume *out, const lob_location *where, const lob_input *file,
                            const lob_read_options *options, lob_file_info *info, lob_error *error)
{
    if (info) info->format = lob_format_hdf5.name;
    lob_read_options sane = *options;
    if (sane.threads < 1) sane.threads = 1;
    request asked = {.where = where, .options = &sane, .input = file, .beside = read_beside(where)};

    lob_info_add_file(info, file);
    const double start_s = lob_clock_s();
    lob_sandbox box;
    lob_status st = start_child(&box, &asked, error);
    if (st == LOB_OK) st = receive_volume(out, &box, &asked, info, error);
    if (info) info->inflate_s += lob_clock_s() - start_s;
    free(asked.beside);
    return st;
}

/* ---- the list ---- */

static void list_child(int out, void *user)
{
    const request *asked = user;
    lob_sandbox_limit(PARSE_CPU_S, PARSE_BYTES);
    lob_sandbox_files(false);
    const lob_hdf5_reading in = {.file = open_file(asked->input), .where = asked->where};
    static const lob_hdf5_found nothing;
    const lob_hdf5_found *all = &nothing;
    char path[LOB_HDF5_PATH];
    if (in.file >= 0 && lob_hdf5_asked(path, &in) == LOB_OK)
        all = lob_hdf5_collect(&in, path, lob_hdf5_is_volume);
    const int count = all->found < LOB_HDF5_MAX_SETS ? all->found : LOB_HDF5_MAX_SETS;
    lob_sandbox_send(out, &all->found, sizeof all->found);
    lob_sandbox_send(out, all->sets, (size_t)count * sizeof *all->sets);
}

static lob_status hdf5_list(lob_data_set **sets, int *count, int *more, const lob_location *where,
                            const lob_input *file, lob_error *error)
{
    request asked = {.where = where, .input = file};
    lob_sandbox box;
    int found = 0;
    lob_data_set *rows = calloc(LOB_HDF5_MAX_SETS, sizeof *rows);
    if (!rows) return lob_fail_file(error, LOB_ENOMEM, where->path, "no memory");
    if (!lob_sandbox_start(&box, list_child, &asked, -1)) {
        free(rows);
        return no_process(&asked, error);
    }
    bool ok = lob_sandbox_receive(&box, &found, sizeof found, SILENCE_S) && found >= 0;
    *count = found < LOB_HDF5_MAX_SETS ? found : LOB_HDF5_MAX_SETS;
    ok = ok && lob_sandbox_receive(&box, rows, (size_t)*count * sizeof *rows, SILENCE_S);
    if (!ok) {
        free(rows);
        return explain(&box, where->path, error);
    }
    lob_sandbox_finish(&box, NULL);
    for (int i = 0; i < *count; i++) { /* the child may have been taken over by the file */
        rows[i].path[sizeof rows[i].path - 1] = '\0';
        rows[i].shape[sizeof rows[i].shape - 1] = '\0';
        rows[i].type[sizeof rows[i].type - 1] = '\0';
    }
    *more = found - *count;
    *sets = rows;
    return LOB_OK;
}

/* ---- planes ---- */

typedef struct {
    request asked;
    lob_read_options options;
    lob_sandbox box;
    bool running; /* the child */
    lob_file_info *info;
    lob_dims dims;
    int64_t channels, plane;    /* plane: bytes */
    int64_t slab, first, depth; /* planes that come at a time; first and number of those at hand */
    unsigned char *at_hand;
} planes;

static void planes_close(void *state)
{
    planes *p = state;
    if (p->running) lob_sandbox_finish(&p->box, NULL);
    free(p->asked.beside);
    free(p->at_hand);
    free(p);
}

/* Start the child again, for planes that have gone by. */
static lob_status start_again(planes *p, lob_error *error)
{
    lob_volume again = lob_volume_empty();
    int64_t slab = 0, batch;
    if (p->running) lob_sandbox_finish(&p->box, NULL);
    p->running = false;
    p->first = p->depth = 0;
    lob_status st = start_child(&p->box, &p->asked, error);
    if (st == LOB_OK) st = receive_header(&again, &slab, &batch, &p->box, &p->asked, NULL, error);
    if (st == LOB_OK) {
        p->running = true;
        const lob_dims d = again.dims;
        if (d.nx != p->dims.nx || d.ny != p->dims.ny || d.nz != p->dims.nz || slab != p->slab ||
            p->plane != d.nx * d.ny * (int64_t)lob_type_of(again.type)->bytes ||
            p->channels != again.channels)
            st = lob_fail_file(error, LOB_EDATA, p->asked.where->path,
                               "damaged HDF5 file: it reads differently each time");
    }
    lob_volume_free(&again);
    return st;
}

static lob_status receive_slab(planes *p, lob_error *error)
{
    const int64_t first = p->first + p->depth, left = p->dims.nz - first;
    const int64_t depth = left < p->slab ? left : p->slab;
    if (lob_sandbox_receive(&p->box, p->at_hand, (size_t)(p->channels * depth * p->plane),
                            SILENCE_S)) {
        p->first = first;
        p->depth = depth;
        return LOB_OK;
    }
    p->running = false;
    return explain(&p->box, p->asked.where->path, error);
}

static lob_status planes_get(void *state, unsigned char *out, int64_t z, int64_t n,
                             lob_error *error)
{
    planes *p = state;
    const double start_s = lob_clock_s();
    lob_status st = p->running && z >= p->first ? LOB_OK : start_again(p, error);
    for (int64_t done = 0; st == LOB_OK && done < n;) {
        const int64_t from = z + done - p->first, left = p->depth - from;
        if (left <= 0) {
            st = receive_slab(p, error);
            continue;
        }
        const int64_t some = left < n - done ? left : n - done;
        for (int64_t c = 0; c < p->channels; c++)
            memcpy(out + (c * n + done) * p->plane, p->at_hand + (c * p->depth + from) * p->plane,
                   (size_t)(some * p->plane));
        done += some;
    }
    if (p->info) p->info->inflate_s += lob_clock_s() - start_s;
    return st;
}

static lob_status hdf5_open_planes(lob_plane_source *source, lob_volume *out,
                                   const lob_location *where, const lob_input *file,
                                   const lob_read_options *options, lob_file_info *info,
                                   lob_error *error)
{
    planes *p = calloc(1, sizeof *p);
    if (!p) return lob_fail_file(error, LOB_ENOMEM, where->path, "no memory");
    if (info) info->format = lob_format_hdf5.name;
    lob_info_add_file(info, file);
    const double start_s = lob_clock_s();
    int64_t batch;
    p->options = *options;
    if (p->options.frame == LOB_FRAME_ALL) p->options.frame = LOB_FRAME_UNSAID; /* one at a time */
    p->asked = (request){.where = where,
                         .options = &p->options,
                         .input = file,
                         .by_planes = true,
                         .beside = read_beside(where)};
    p->info = info;
    lob_status st = start_child(&p->box, &p->asked, error);
    if (st == LOB_OK) st = receive_header(out, &p->slab, &batch, &p->box, &p->asked, info, error);
    p->running = st == LOB_OK;
    if (st == LOB_OK) {
        p->dims = out->dims;
        p->channels = out->channels;
        p->plane = out->dims.nx * out->dims.ny * (int64_t)lob_type_of(out->type)->bytes;
        p->at_hand = malloc((size_t)(p->channels * p->slab * p->plane));
        if (!p->at_hand) st = lob_fail_file(error, LOB_ENOMEM, where->path, "out of memory");
    }
    if (info) info->inflate_s += lob_clock_s() - start_s;
    if (st == LOB_OK)
        *source = (lob_plane_source){p, planes_get, planes_close};
    else
        planes_close(p);
    return st;
}

static const char *const hdf5_suffixes[] = {".h5", ".hdf5", NULL};

const lob_format lob_format_hdf5 = {
    .in_child = true,
    .name = "HDF5",
    .suffixes = hdf5_suffixes,
    .sniff = hdf5_sniff,
    .read = hdf5_read,
    .all_frames = true,
    .level = 1, /* what is shuffled gains little from more */
    .write = lob_hdf5_write,
    .list = hdf5_list,
    .open_planes = hdf5_open_planes,
    .fields = lob_hdf5_fields,
};
