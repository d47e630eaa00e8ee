/*
 * OME-Zarr and plain Zarr as a row of the formats. zarr_image.c finds the array, zarr_array.c and
 * ngff.c understand its metadata, zarr_box.c reads its pieces, zarr_write.c writes.
 */
#include "io/zarr/zarr.h"

#include "io/folder.h"
#include "io/kinds.h"
#include "io/length_units.h"
#include "io/nifti/nifti_header.h"
#include "io/platform.h"
#include "io/zarr/zarr_box.h"
#include "io/zarr/zarr_image.h"
#include "volumes/clock.h"
#include "volumes/free.h"
#include "volumes/voxel_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const suffixes[] = {".ome.zarr", ".zarr", NULL};

enum { T, C, Z, Y, X, NIFTI_BYTES = 1 << 24 };

char *lob_zarr_store_file(const lob_location *where)
{
    char *const folder = lob_zarr_node_folder(where);
    char *const file = folder && lob_is_folder(folder) ? lob_zarr_metadata_file(folder) : NULL;
    free(folder);
    return file;
}

/* ---- axes and place ---- */

/* Put the array's axes where t, c, z, y and x are. Without names the last three are z, y and x. */
static lob_status order_axes(lob_zarr_image *im, const lob_reading *r)
{
    static const char order[] = "tczyx";
    const lob_ngff said = im->ngff;
    const int first = LOB_ZARR_DIMS - im->array.dims;
    const char *const names = im->group ? said.axes : im->array.names;
    int to[LOB_ZARR_DIMS], next = 0;
    if (im->array.dims < 2) return LOB_FAIL(r, LOB_EDATA, "has one axis, and an image has 2 to 5");
    for (int d = first; d < LOB_ZARR_DIMS; d++) {
        const char *const at = names[d] ? strchr(order + next, names[d]) : order + d;
        if (!at || at - order < next)
            return lob_fail_file_hint(r->error, LOB_EDATA, LOB_HINT_CONVERT, r->path,
                                      "has axes in another order than t, c, z, y, x; write it anew "
                                      "with ome-zarr-py");
        to[d] = (int)(at - order);
        next = to[d] + 1;
    }
    lob_zarr_place_axes(&im->array, to);
    for (int d = 0; d < LOB_ZARR_DIMS; d++) {
        im->ngff.scale[d] = im->ngff.scale_0[d] = 1;
        im->ngff.shift[d] = im->ngff.shift_0[d] = 0;
    }
    for (int d = first; im->group && d < LOB_ZARR_DIMS; d++) {
        im->ngff.scale[to[d]] = said.scale[d];
        im->ngff.scale_0[to[d]] = said.scale_0[d];
        im->ngff.shift[to[d]] = said.shift[d];
        im->ngff.shift_0[to[d]] = said.shift_0[d];
        im->ngff.unit[to[d]] = said.unit[d];
    }
    return LOB_OK;
}

/* What the axes say of level 0: sizes of voxels and a place, but not which way the patient lies. */
static void place_by_axes(lob_volume *out, const lob_zarr_image *im, const lob_reading *r)
{
    double mm[3], shift[3];
    bool told = im->group != NULL;
    for (int a = 0; a < 3; a++) {
        const double unit = lob_length_unit_mm(im->ngff.unit[X - a]);
        const double scale = im->ngff.scale_0[X - a] * (unit > 0 ? unit : 1);
        if (!(unit > 0) && im->array.present[X - a]) told = false;
        mm[a] = scale > 1e-12 && scale < 1e12 ? scale : 1;
        shift[a] = im->ngff.shift_0[X - a] * (unit > 0 ? unit : 1);
        if (!(fabs(shift[a]) < 1e9)) shift[a] = 0, told = false;
    }
    if (!im->array.present[Z]) mm[2] = mm[0];
    if (!told && !r->options->spaced)
        lob_warn(r->info, "%s: does not say how large its voxels are; %s", r->path,
                 im->group ? "its numbers are taken for mm" : "1 mm is taken");
    out->geometry = lob_geometry_of_spacing(mm);
    for (int a = 0; a < 3; a++) out->geometry.affine[a][3] = shift[a];
    out->geometry.unoriented = true;
    out->geometry.micrometres = told && lob_length_unit_mm(im->ngff.unit[X]) == 1e-3;
}

/* Bring the place of level 0 to another level. */
static void place_level(lob_volume *out, const lob_ngff *ngff)
{
    lob_geometry level = out->geometry;
    double corner[3], world[3];
    for (int a = 0; a < 3; a++)
        corner[a] = (ngff->shift[X - a] - ngff->shift_0[X - a]) / ngff->scale_0[X - a];
    lob_voxel_to_world(world, &out->geometry, corner);
    for (int r = 0; r < 3; r++) {
        for (int a = 0; a < 3; a++) level.affine[r][a] *= ngff->scale[X - a] / ngff->scale_0[X - a];
        level.affine[r][3] = world[r];
    }
    lob_geometry_of_affine(&out->geometry, level.affine);
}

/* ---- the NIfTI header inside ---- */

/* NIfTI-Zarr 1.0: an array "nifti" beside the levels has the header's bytes, and wins in conflict.
 * NULL: there is none that can be read. */
static unsigned char *read_header(size_t *n, const char *folder, const char *path)
{
    const int64_t from[LOB_ZARR_DIMS] = {0};
    lob_zarr_node node;
    lob_zarr_array array;
    unsigned char *bytes = NULL;
    if (lob_zarr_node_read(&node, folder, path, NULL) == LOB_OK) {
        if (node.is_array && lob_zarr_array_of(&array, &node, path, NULL) == LOB_OK &&
            array.dims == 1 && array.type == LOB_U8 && array.shape[X] <= NIFTI_BYTES)
            bytes = calloc(1, (size_t)array.shape[X]);
        if (bytes && lob_zarr_read_box(bytes, &array, folder, from, array.shape, 1, path, NULL)) {
            free(bytes);
            bytes = NULL;
        }
        *n = bytes ? (size_t)array.shape[X] : 0;
        lob_zarr_node_free(&node);
    }
    return bytes;
}

/* Some writers mark the header as that of a pair, or with a letter of their own. */
static void mark_single(unsigned char *bytes, size_t n)
{
    const size_t at = n >= LOB_NIFTI2_BYTES && (bytes[0] == 28 || bytes[3] == 28) ? 4 : 344;
    if (n >= LOB_NIFTI1_BYTES && bytes[at] == 'n') bytes[at + 1] = '+';
}

/* Is a header of a grid of these sides that of the image's level 0? */
static bool is_of(const lob_dims header, const lob_dims level, bool is_first)
{
    for (int a = 0; a < 3; a++)
        if (is_first ? lob_side(header, a) != lob_side(level, a)
                     : lob_side(header, a) < lob_side(level, a))
            return false;
    return true;
}

/* Take place, header, scaling and names from it; false: it is of another grid, or none. */
static bool take_header(lob_volume *out, const lob_zarr_image *im, const lob_reading *r)
{
    lob_input file = {.size = 0};
    lob_volume said = lob_volume_empty();
    const lob_location alone = {.path = r->path, .file = r->where->file};
    const lob_read_options options = {.frame = 0, .threads = 1, .header_only = true};
    const lob_reading of_head = {&alone, r->path, &file, &options, NULL, NULL};

    char *const folder = lob_zarr_below(im->group, "nifti");
    const bool there = folder && lob_is_folder(folder);
    unsigned char *const bytes = there ? read_header(&file.size, folder, r->path) : NULL;
    free(folder);
    if (!there) return false;
    if (bytes) mark_single(bytes, file.size);
    file.bytes = bytes;
    const bool fits = bytes && lob_format_nifti.read(&said, &of_head) == LOB_OK &&
                      is_of(said.dims, out->dims, im->ngff.is_first);
    free(bytes);
    if (fits) {
        out->geometry = said.geometry;
        out->header = said.header;
        out->names = said.names;
        out->frame_step_s = said.frame_step_s;
        if (said.type == out->type) {
            out->slope = said.slope;
            out->inter = said.inter;
        }
        said.header = (lob_header){NULL};
        said.names = (lob_label_names){NULL};
    } else {
        lob_warn(r->info,
                 "%s: the NIfTI header inside is damaged, or of another image, and left out",
                 r->path);
    }
    lob_volume_free(&said);
    return fits;
}

/* ---- reading ---- */

/* All of a volume but its voxels. */
static lob_status read_head(lob_zarr_image *im, lob_volume *out, const lob_reading *r)
{
    LOB_TRY(order_axes(im, r));
    const int64_t *const shape = im->array.shape;
    if (shape[C] > INT32_MAX) return LOB_FAIL(r, LOB_EDATA, "has too many channels");
    out->type = im->array.type;
    out->frames = shape[T];
    out->channels = (int)shape[C];
    out->dims = (lob_dims){shape[X], shape[Y], shape[Z]};
    LOB_TRY(lob_choose_frame(&out->frame, out->frames, r->path, r->options, r->error));
    if (!im->group || !take_header(out, im, r)) place_by_axes(out, im, r);
    if (im->group && !im->ngff.is_first) place_level(out, &im->ngff);
    if (!im->group || out->names.count > 0 || lob_ngff_names(&out->names, im->image.ome) == LOB_OK)
        return LOB_OK;
    return LOB_FAIL(r, LOB_ENOMEM, "no memory");
}

/* Find the image and read its head; im holds nothing on failure. */
static lob_status open_image(lob_zarr_image *im, lob_volume *out, const lob_reading *r)
{
    lob_file_info *const info = r->info;
    LOB_TRY(lob_zarr_find(im, r->where, r->error));
    if (info && !im->group) info->format = "Zarr";
    int64_t bytes, changed_ns;
    if (info && lob_folder_measure(im->folder, &bytes, &changed_ns)) info->file_bytes = bytes;
    const lob_status st = read_head(im, out, r);
    if (st != LOB_OK) lob_zarr_image_free(im);
    return st;
}

/* Can the files of all pieces be looked for? */
static lob_status can_look(const lob_zarr_image *im, const lob_reading *r)
{
    enum { FEW = 512, MOST = 10000000 };
    const int64_t *const shape = im->array.shape, *const piece = im->array.piece;
    if (lob_zarr_places(piece) < FEW &&
        lob_zarr_places(shape) / lob_zarr_places(piece) > MOST) /* each takes a look for its file */
        return lob_fail_file_hint(r->error, LOB_EDATA, LOB_HINT_CONVERT, r->path,
                                  "has chunks of %lld voxels, and far too many of them; write it "
                                  "anew with larger ones",
                                  (long long)lob_zarr_places(piece));
    return LOB_OK;
}

/* May so many planes be held, and a piece for each thread? */
static lob_status allow(const lob_zarr_image *im, int64_t planes, const lob_reading *r)
{
    const int64_t *const shape = im->array.shape, *const piece = im->array.piece;
    const int64_t word = (int64_t)lob_type_of(im->array.type)->bytes;
    LOB_TRY(can_look(im, r));
    const int64_t voxels = lob_product(shape[X], shape[Y], planes, shape[C]);
    const int64_t bytes = lob_product(voxels, word, 1, 1);
    const int64_t pieces = 2 * lob_zarr_places(piece) * word * r->options->threads;
    return lob_memory_allows(bytes < 0 || bytes > INT64_MAX - pieces ? -1 : bytes + pieces, r);
}

/* ---- reading planes ---- */

/* Planes come from rows of pieces; one row is kept. */
typedef struct {
    lob_zarr_image im;
    lob_reading reading;
    int64_t frame, plane_bytes, row_bytes; /* of one channel; of all in a row */
    unsigned char *kept;
    int64_t row; /* that is kept; -1: none */
} planes;

/* Voxels of a box, channel after channel. */
static lob_status read_box(const planes *p, unsigned char *out, const lob_box *box)
{
    const int64_t *const first = box->first, *const sides = box->size;
    const int64_t from[LOB_ZARR_DIMS] = {p->frame, 0, first[2], first[1], first[0]};
    const int64_t size[LOB_ZARR_DIMS] = {1, p->im.array.shape[C], sides[2], sides[1], sides[0]};
    const lob_reading *const r = &p->reading;
    const double start_s = lob_clock_s();
    const lob_status st = lob_zarr_read_box(out, &p->im.array, p->im.folder, from, size,
                                            r->options->threads, r->path, r->error);
    if (r->info) r->info->inflate_s += lob_clock_s() - start_s;
    return st;
}

static lob_status planes_get_box(void *state, unsigned char *out, const lob_box *box,
                                 lob_error *error)
{
    planes *const p = state;
    p->reading.error = error;
    LOB_TRY(allow(&p->im, 0, &p->reading));
    return read_box(p, out, box);
}

static lob_status planes_stored(void *state, lob_box *box, lob_error *error)
{
    const planes *const p = state;
    int64_t from[LOB_ZARR_DIMS] = {p->frame}, size[LOB_ZARR_DIMS];
    memcpy(size, p->im.array.shape, sizeof size);
    size[T] = 1;
    LOB_TRY(lob_zarr_narrow(from, size, &p->im.array, p->im.folder, p->reading.options,
                            p->reading.path, error));
    for (int a = 0; a < 3; a++) {
        box->first[a] = from[X - a];
        box->size[a] = size[X - a];
    }
    return LOB_OK;
}

static lob_status planes_get(void *state, unsigned char *out, int64_t z, int64_t n,
                             lob_error *error)
{
    planes *const p = state;
    const int64_t *const shape = p->im.array.shape, high = p->im.array.piece[Z];
    p->reading.error = error;
    if (!p->kept) LOB_TRY(allow(&p->im, high < shape[Z] ? high : shape[Z], &p->reading));
    for (int64_t at = z; at < z + n;) {
        const int64_t row = at / high, first = row * high;
        const int64_t have = shape[Z] - first < high ? shape[Z] - first : high;
        const int64_t end = first + have < z + n ? first + have : z + n;
        if (row != p->row) {
            const lob_box layer = {
                {0,        0,        first},
                {shape[X], shape[Y], have }
            };
            free(p->kept); /* fresh memory is 0, and takes no pages where nothing is stored */
            p->kept = lob_voxel_memory_zero(p->row_bytes);
            p->row = -1;
            if (!p->kept) return LOB_FAIL(&p->reading, LOB_ENOMEM, "out of memory");
            LOB_TRY(read_box(p, p->kept, &layer));
            p->row = row;
        }
        for (int64_t c = 0; c < shape[C]; c++)
            lob_copy_sparse(out + (c * n + at - z) * p->plane_bytes,
                            p->kept + (c * have + at - first) * p->plane_bytes,
                            (size_t)((end - at) * p->plane_bytes));
        at = end;
    }
    return LOB_OK;
}

static void planes_close(void *state)
{
    planes *const p = state;
    lob_zarr_image_free(&p->im);
    LOB_FREE(p->kept, p);
}

static lob_status open_planes(lob_plane_source *source, lob_volume *out, const lob_reading *r)
{
    planes *const p = calloc(1, sizeof *p);
    if (!p) return LOB_FAIL(r, LOB_ENOMEM, "no memory");
    lob_status st = open_image(&p->im, out, r);
    const int64_t *const shape = p->im.array.shape;
    const int64_t high = p->im.array.piece[Z] < shape[Z] ? p->im.array.piece[Z] : shape[Z];
    if (st == LOB_OK && !r->options->header_only) st = can_look(&p->im, r);
    if (st == LOB_OK) {
        p->reading = *r;
        p->frame = out->frame;
        p->row = -1;
        p->plane_bytes = shape[X] * shape[Y] * (int64_t)lob_type_of(out->type)->bytes;
        p->row_bytes = p->plane_bytes * high * shape[C];
    }
    if (st == LOB_OK)
        *source = (lob_plane_source){.state = p,
                                     .held = p->row_bytes,
                                     .get = planes_get,
                                     .get_box = planes_get_box,
                                     .stored = planes_stored,
                                     .close = planes_close};
    else
        planes_close(p);
    return st;
}

const lob_format lob_format_zarr = {
    .name = "OME-Zarr",
    .suffixes = suffixes,
    .level = 3,
    .keeps_names = "",
    .list = lob_zarr_list,
    .open_planes = open_planes,
    .begin_planes = lob_zarr_begin_planes,
    .check = lob_zarr_check,
};
