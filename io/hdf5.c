/*
 * HDF5 as a row of the formats: the parent process, which sees only what the child sends.
 *
 * Reading. FILE.h5:/PATH names a data set or a group, FILE.h5 alone leaves the choice to us:
 *
 *   1. ITK's layout, /ITKImage/0 with VoxelData, Dimension, Origin, Spacing and Directions (row
 *      i of Directions is the direction of axis i, in LPS; it becomes RAS here). A component axis,
 *      last in VoxelData, becomes channels; a fourth dimension becomes frames.
 *   2. Otherwise the only numeric data set of three dimensions or more, or the only one of two.
 *
 * The axes of a plain data set come from its attribute `axistags` (ilastik's JSON), else from its
 * rank:
 *
 *   2  y x
 *   3  z y x
 *   4  z y x c when the last side is at most 4, else c z y x when the first is, else t z y x
 *   5  t z y x c when the last side is at most 4, else t c z y x
 *
 * and its spacing from the attribute `element_size_um` (z y x, micrometres), else from the tags'
 * `resolution` in the unit of the attribute `axis_units` (micrometres without one), else it is 1
 * mm.
 *
 * Integers and reals of every size and byte order are read (half precision as float32, more than
 * double precision as float64); enumerations such as h5py's bool count as their integers.
 *
 * Refused: soft and external links, data in external files, virtual data sets, filters other than
 * HDF5's own, sizes that what is stored cannot justify. The HDF5 library runs in a child process
 * (io/sandbox.h), because versions in use crash on damaged files; a crash is LOB_EDATA. This
 * process never calls HDF5 itself; a program that does, must not while another of its threads is in
 * here.
 *
 * Writing. ITK's layout, always three-dimensional, with `axistags` and `element_size_um` on
 * VoxelData, so that ITK, SimpleITK, ilastik, PlantSeg, Fiji and h5py open the file. A scaled
 * volume is stored as the values it stands for, float32 for small types and float64 for wide ones.
 * ITK's MetaData entries go from an HDF5 input to an HDF5 output unless strip_extensions asks for
 * their removal: numbers and strings, up to 1000 entries with names of up to 255 bytes, each with
 * up to 64 numbers or less than 64 KiB of text, less than 16 MiB in all. What is beyond that stays
 * behind, and lob_file_info has a warning with its number.
 */
#include "io/hdf5_parts.h"
#include "io/sandbox.h"
#include "volumes/clock.h"

#include <cjson/cJSON.h>
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
} request;

static hid_t open_file(const lob_input *input)
{
    const lob_hdf5_storage storage = {.bytes = input->bytes, .size = input->size};
    const hid_t plist = lob_hdf5_access(&storage);
    return plist < 0 ? -1 : H5Fopen("input", H5F_ACC_RDONLY, plist);
}

static void describe(lob_hdf5_reply *reply, const lob_hdf5_view *view)
{
    reply->type = view->type;
    reply->dims = (lob_dims){lob_hdf5_side(view, LOB_AXIS_X), lob_hdf5_side(view, LOB_AXIS_Y),
                             lob_hdf5_side(view, LOB_AXIS_Z)};
    reply->channels = (int)lob_hdf5_side(view, LOB_AXIS_C);
    reply->frames = lob_hdf5_side(view, LOB_AXIS_T);
    memcpy(reply->affine, view->geometry.affine, sizeof reply->affine);
    reply->unoriented = view->geometry.unoriented;
    reply->micrometres = view->geometry.micrometres;
    reply->slab = lob_hdf5_slab(view);
}

static int64_t reply_bytes(const lob_hdf5_reply *reply)
{
    const int64_t bytes = (int64_t)lob_type_of(reply->type)->bytes;
    return lob_product(lob_dims_voxels(reply->dims), reply->channels, bytes, 1);
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
    lob_hdf5_view view;
    char *header = NULL;
    hid_t object = -1;
    char path[512];

    lob_sandbox_limit(PARSE_CPU_S, PARSE_BYTES);
    lob_sandbox_files(false); /* whatever the file says, no other file is opened */
    const hid_t file = open_file(asked->input);
    if (file < 0)
        lob_fail(&reply.error, LOB_EDATA, "%s: damaged HDF5 file: the HDF5 library cannot open it",
                 where->path);
    else
        reply.status = lob_hdf5_find(&object, path, file, where, &reply.error);
    if (reply.status == LOB_OK)
        reply.status = lob_hdf5_view_of(&view, object, path, (int64_t)asked->input->size, where,
                                        &reply.info, &reply.error);
    if (reply.status == LOB_OK) {
        describe(&reply, &view);
        reply.status =
            lob_choose_frame(&reply.frame, reply.frames, where->path, asked->options, &reply.error);
    }
    if (reply.status == LOB_OK) {
        header = lob_hdf5_header_text(object, &view, &reply.info);
        reply.header_bytes = header ? (int64_t)strlen(header) : 0;
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
    if (!asked->options->header_only)
        lob_hdf5_send_voxels(&view, reply.frame, asked->options->threads, out);
}

/* ---- the parent ---- */

/* Why the child fell silent. */
static lob_status explain(lob_sandbox *box, const char *path, lob_error *error)
{
    int signal_number;
    switch (lob_sandbox_finish(box, &signal_number)) {
    case LOB_SANDBOX_INTERRUPTED:
        return lob_fail(error, LOB_ECANCEL, "%s: interrupted", path);
    case LOB_SANDBOX_KILLED:
        return lob_fail(error, LOB_ENOMEM,
                        "%s: the system ended the reader, most likely for lack of memory", path);
    case LOB_SANDBOX_TOO_LONG:
        return lob_fail(error, LOB_EDATA, "%s: damaged HDF5 file: reading it takes for ever", path);
    default:
        if (signal_number)
            return lob_fail(error, LOB_EDATA,
                            "%s: damaged HDF5 file: the HDF5 library fails on it (signal %d); "
                            "`h5dump` may tell more, a fresh copy may help",
                            path, signal_number);
        return lob_fail(error, LOB_EDATA,
                        "%s: damaged HDF5 file: its voxels cannot be read; a fresh copy may help",
                        path);
    }
}

/* The child may have been taken over by the file: believe nothing. */
static bool is_sane(const lob_hdf5_reply *reply, const lob_geometry *geometry)
{
    return (unsigned)reply->type < LOB_TYPES && lob_dims_voxels(reply->dims) > 0 &&
           reply->channels >= 1 && reply->frames >= 1 && reply->frame >= 0 &&
           reply->frame < reply->frames && reply->slab >= 1 && reply->slab <= reply->dims.nz &&
           reply->header_bytes >= 0 && reply->header_bytes <= LOB_HDF5_MAX_HEADER &&
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

/*
 * What comes before the voxels: everything of the volume but its data. On failure the child is
 * gone, and what out holds is the caller's to free.
 */
static lob_status receive_header(lob_volume *out, int64_t *slab, lob_sandbox *box,
                                 const request *asked, lob_file_info *info, lob_error *error)
{
    const char *path = asked->where->path;
    lob_hdf5_reply reply;
    if (!lob_sandbox_receive(box, &reply, sizeof reply, SILENCE_S))
        return explain(box, path, error);
    if (reply.status != LOB_OK) {
        reply.error.text[sizeof reply.error.text - 1] = '\0';
        lob_sandbox_finish(box, NULL);
        const bool known = reply.status == LOB_ENOMEM;
        const lob_hint hint =
            (unsigned)reply.error.hint < LOB_HINTS ? reply.error.hint : LOB_HINT_NONE;
        return lob_fail_hint(error, known ? LOB_ENOMEM : LOB_EDATA, hint, "%s", reply.error.text);
    }
    take_warnings(info, &reply, asked->where);
    if (!lob_geometry_of_affine(&out->geometry, (const double(*)[4])reply.affine) ||
        !is_sane(&reply, &out->geometry)) {
        lob_sandbox_finish(box, NULL);
        return lob_fail(error, LOB_EDATA, "%s: damaged HDF5 file: its sizes make no sense", path);
    }
    out->geometry.unoriented = reply.unoriented != 0;
    out->geometry.micrometres = reply.micrometres != 0;
    out->type = reply.type;
    out->dims = reply.dims;
    out->channels = reply.channels;
    out->frames = reply.frames;
    out->frame = reply.frame;
    *slab = reply.slab;

    lob_status st = LOB_OK;
    out->header.format = lob_format_hdf5.name;
    out->header.size = (size_t)reply.header_bytes;
    out->header.bytes = calloc(out->header.size + 1, 1);
    if (!out->header.bytes)
        st = lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    else if (!lob_sandbox_receive(box, out->header.bytes, out->header.size, SILENCE_S))
        return explain(box, path, error);
    else if (!asked->options->header_only)
        st = lob_memory_allows(held_bytes(&reply, asked), path, asked->options, error);
    if (st != LOB_OK) lob_sandbox_finish(box, NULL);
    return st;
}

static bool receive_voxels(lob_sandbox *box, lob_volume *out, int64_t slab)
{
    const int64_t slice = out->dims.nx * out->dims.ny * (int64_t)lob_type_of(out->type)->bytes;
    for (int64_t z = 0; z < out->dims.nz; z += slab) {
        const int64_t depth = z + slab < out->dims.nz ? slab : out->dims.nz - z;
        for (int64_t c = 0; c < out->channels; c++) {
            unsigned char *at = (unsigned char *)out->data + (c * out->dims.nz + z) * slice;
            if (!lob_sandbox_receive(box, at, (size_t)(depth * slice), SILENCE_S)) return false;
        }
    }
    return true;
}

static lob_status receive_volume(lob_volume *out, lob_sandbox *box, const request *asked,
                                 lob_file_info *info, lob_error *error)
{
    int64_t slab;
    lob_status st = receive_header(out, &slab, box, asked, info, error);
    if (st != LOB_OK) return st;
    if (!asked->options->header_only) {
        const size_t bytes = lob_type_of(out->type)->bytes;
        out->data = malloc((size_t)(lob_voxels(out) * out->channels) * bytes);
        if (!out->data)
            st = lob_fail(error, LOB_ENOMEM, "%s: out of memory", asked->where->path);
        else if (!receive_voxels(box, out, slab))
            return explain(box, asked->where->path, error);
    }
    lob_sandbox_finish(box, NULL);
    return st;
}

static lob_status no_process(const request *asked, lob_error *error)
{
    return lob_fail(error, LOB_ENOMEM, "%s: the system gives no process to read HDF5 in",
                    asked->where->path);
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
    request asked = {.where = where, .options = &sane, .input = file};

    lob_info_add_file(info, file, options);
    const double start_s = lob_clock_s();
    lob_sandbox box;
    lob_status st = start_child(&box, &asked, error);
    if (st == LOB_OK) st = receive_volume(out, &box, &asked, info, error);
    if (info) info->inflate_s += lob_clock_s() - start_s;
    return st;
}

/* ---- the list ---- */

static void list_child(int out, void *user)
{
    const request *asked = user;
    const lob_data_set *sets = NULL;
    lob_sandbox_limit(PARSE_CPU_S, PARSE_BYTES);
    lob_sandbox_files(false);
    const hid_t file = open_file(asked->input);
    const int found = file < 0 ? 0 : lob_hdf5_list(&sets, file, asked->where, NULL);
    const int count = found < LOB_HDF5_MAX_SETS ? found : LOB_HDF5_MAX_SETS;
    lob_sandbox_send(out, &found, sizeof found);
    lob_sandbox_send(out, sets, (size_t)count * sizeof *sets);
}

static lob_status hdf5_list(lob_data_set **sets, int *count, int *more, const lob_location *where,
                            const lob_input *file, lob_error *error)
{
    request asked = {.where = where, .input = file};
    lob_sandbox box;
    int found = 0;
    lob_data_set *rows = calloc(LOB_HDF5_MAX_SETS, sizeof *rows);
    if (!rows) return lob_fail(error, LOB_ENOMEM, "%s: no memory", where->path);
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
    free(p->at_hand);
    free(p);
}

/* Start the child again, for planes that have gone by. */
static lob_status start_again(planes *p, lob_error *error)
{
    lob_volume again = lob_volume_empty();
    int64_t slab = 0;
    if (p->running) lob_sandbox_finish(&p->box, NULL);
    p->running = false;
    p->first = p->depth = 0;
    lob_status st = start_child(&p->box, &p->asked, error);
    if (st == LOB_OK) st = receive_header(&again, &slab, &p->box, &p->asked, NULL, error);
    if (st == LOB_OK) {
        p->running = true;
        const lob_dims d = again.dims;
        if (d.nx != p->dims.nx || d.ny != p->dims.ny || d.nz != p->dims.nz || slab != p->slab ||
            p->plane != d.nx * d.ny * (int64_t)lob_type_of(again.type)->bytes ||
            p->channels != again.channels)
            st = lob_fail(error, LOB_EDATA, "%s: damaged HDF5 file: it reads differently each time",
                          p->asked.where->path);
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
    if (!p) return lob_fail(error, LOB_ENOMEM, "%s: no memory", where->path);
    if (info) info->format = lob_format_hdf5.name;
    lob_info_add_file(info, file, options);
    const double start_s = lob_clock_s();
    p->options = *options;
    p->asked = (request){.where = where, .options = &p->options, .input = file, .by_planes = true};
    p->info = info;
    lob_status st = start_child(&p->box, &p->asked, error);
    if (st == LOB_OK) st = receive_header(out, &p->slab, &p->box, &p->asked, info, error);
    p->running = st == LOB_OK;
    if (st == LOB_OK) {
        p->dims = out->dims;
        p->channels = out->channels;
        p->plane = out->dims.nx * out->dims.ny * (int64_t)lob_type_of(out->type)->bytes;
        p->at_hand = malloc((size_t)(p->channels * p->slab * p->plane));
        if (!p->at_hand) st = lob_fail(error, LOB_ENOMEM, "%s: out of memory", where->path);
    }
    if (info) info->inflate_s += lob_clock_s() - start_s;
    if (st == LOB_OK)
        *source = (lob_plane_source){p, planes_get, planes_close};
    else
        planes_close(p);
    return st;
}

/* ---- header fields ---- */

static void hdf5_fields(const lob_header *header, lob_field_fn *field, void *user)
{
    cJSON *root = cJSON_ParseWithLength((const char *)header->bytes, header->size);
    static const char *const names[] = {"layout", "dataset"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, names[i]));
        if (text) field(user, names[i], text);
    }
    const cJSON *entry;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(root, "metadata"))
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "name"));
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, "value");
        const char *only = cJSON_GetStringValue(cJSON_GetArrayItem(value, 0));
        char *list = cJSON_GetArraySize(value) > 1 ? cJSON_PrintUnformatted(value) : NULL;
        if (name && (list || only)) field(user, name, list ? list : only);
        cJSON_free(list);
    }
    cJSON_Delete(root);
}

static const char *const hdf5_suffixes[] = {".h5", ".hdf5", NULL};

const lob_format lob_format_hdf5 = {
    .name = "HDF5",
    .suffixes = hdf5_suffixes,
    .sniff = hdf5_sniff,
    .read = hdf5_read,
    .write = lob_hdf5_write,
    .list = hdf5_list,
    .open_planes = hdf5_open_planes,
    .fields = hdf5_fields,
};
