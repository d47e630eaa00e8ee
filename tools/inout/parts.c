/* Reading a box of a volume, and writing one on the whole grid. */
#include "tools/inout/parts.h"

#include "io/format.h"
#include "volumes/labels.h"
#include "volumes/voxel_memory.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a box with all channels; -1: more than 64 bits hold. */
static int64_t bytes_of(const lob_volume *v, const lob_box *box)
{
    const int64_t voxel = v->channels * (int64_t)lob_type_of(v->type)->bytes;
    return lob_product(box->size[0], box->size[1], box->size[2], voxel);
}

/* Is all of a volume to be read, with a box beside it? A recipe has it in memory, or it is being
 * read. Where there is no volume, reading it says why. */
static bool reads_all(const lob_session *s, const char *path, const lob_box *box)
{
    lob_volume header;
    if (lob_session_is_stored(s, path) || lob_ahead_has(s, path)) return true;
    const lob_box_reading how = lob_box_reading_of(path);
    if (how != LOB_BOX_OF_PLANES) return how == LOB_BOX_OF_ALL;
    if (!lob_session_peek(s, &header, path)) return true;
    const lob_box all = lob_box_whole(header.dims);
    const int64_t whole = bytes_of(&header, &all), part = bytes_of(&header, box ? box : &all);
    const int64_t left = lob_session_left(s);
    return whole >= 0 && whole <= left && part <= left - whole;
}

lob_status lob_part_header(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                           bool alone)
{
    const lob_read_options options = {.frame = frame};
    int64_t chosen;
    if (alone || !lob_session_peek_header(s, out, path))
        LOB_TRY(lob_session_read_header(s, out, path, NULL));
    return lob_choose_frame(&chosen, out->frames, path, &options, &s->error);
}

void lob_part_ahead(lob_session *s, const char *path, int64_t frame)
{
    if (path && reads_all(s, path, NULL)) lob_session_ahead(s, path, frame);
}

/* ---- reading a box ---- */

/* Of a volume that is open; the session holds its bytes. */
static lob_status read_open(lob_session *s, lob_volume *out, lob_plane_input *in,
                            const lob_box *box)
{
    lob_volume grid = in->volume;
    grid.dims = lob_box_dims(box);
    grid.geometry = lob_box_geometry(&grid.geometry, box);
    LOB_TRY(lob_session_take(s, bytes_of(&grid, box), in->path));
    if (lob_volume_like(out, &grid, grid.type, grid.channels) != LOB_OK)
        return lob_session_no_memory(s, in->path);
    out->slope = grid.slope;
    out->inter = grid.inter;
    out->frames = grid.frames;
    out->frame = grid.frame;
    out->frame_step_s = grid.frame_step_s;
    lob_status st = lob_planes_get_box(in->planes, out->data, box, &s->error);
    if (st == LOB_OK) st = lob_session_cancelled(s);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}

lob_status lob_part_read(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                         const lob_box *box)
{
    lob_plane_input in;
    if (!reads_all(s, path, box)) {
        LOB_TRY(lob_session_open(s, &in, path, frame));
        const lob_status st = read_open(s, out, &in, box);
        lob_session_close(s, &in);
        return st;
    }
    LOB_TRY(lob_session_read(s, out, path, frame));
    const lob_box all = lob_box_whole(out->dims);
    const int64_t whole = lob_volume_bytes(out), part = bytes_of(out, box);
    if (lob_box_lies_in(&all, box)) return LOB_OK;
    lob_status st = lob_session_take(s, part, path);
    if (st == LOB_OK && lob_volume_crop(out, box) != LOB_OK) st = lob_session_no_memory(s, path);
    if (st == LOB_OK)
        lob_session_give(s, whole);
    else
        lob_volume_free(out);
    return st;
}

/* ---- reading what is marked ---- */

/* The box of what is marked, or a voxel of those that may be, and one around it. */
static void widen(lob_box *box, const lob_box *may, const lob_volume *image)
{
    if (box->size[0] == 0) {
        *box = *may;
        for (int a = 0; a < 3; a++) box->size[a] = 1;
    }
    lob_box_widen(box, (int64_t[3]){1, 1, 1}, image->dims);
}

/* The least box of what is marked within one, some planes at a time; sizes of 0: nothing is. What
 * is no label beside it is found here alone. */
static lob_status find_box(lob_session *s, lob_box *found, const lob_plane_input *in,
                           const lob_box *within, bool labels)
{
    enum { CHUNK = 64 };
    lob_box slab = *within;
    lob_volume v = in->volume;
    slab.size[2] = 1;
    const int64_t plane = bytes_of(&v, &slab), room = lob_session_left(s) / 4, nz = within->size[2];
    int64_t most = plane > 0 && plane < room ? room / plane : 1;
    if (most > CHUNK) most -= most % CHUNK; /* so that chunks are read once */
    if (most > nz) most = nz;
    LOB_TRY(lob_session_take(s, lob_product(plane, most, 1, 1), in->path));
    *found = (lob_box){.size = {0}};
    lob_status st = LOB_OK;
    for (int64_t z = 0; st == LOB_OK && z < nz; z += most) {
        lob_box held;
        slab.first[2] = within->first[2] + z;
        slab.size[2] = nz - z < most ? nz - z : most;
        v.dims = lob_box_dims(&slab);
        v.data = lob_voxel_memory_zero(bytes_of(&v, &slab));
        st = v.data ? lob_planes_get_box(in->planes, v.data, &slab, &s->error)
                    : lob_session_no_memory(s, in->path);
        if (st == LOB_OK && labels) st = lob_labels_allow(&v, slab.first, in->path, &s->error);
        if (st == LOB_OK && lob_box_of(&held, &v)) {
            for (int a = 0; a < 3; a++) held.first[a] += slab.first[a];
            lob_box_join(found, &held);
        }
        free(v.data);
        if (st == LOB_OK) st = lob_session_cancelled(s);
    }
    lob_session_give(s, plane * most);
    return st;
}

/* Does a volume lie as the image does? Else all of it is needed, to be turned or placed. */
static bool lies_alike(const lob_session *s, const char *path, const lob_volume *image)
{
    lob_volume v;
    return lob_session_peek(s, &v, path) && lob_grid_alike(&v, image);
}

static lob_status read_marked(lob_session *s, lob_volume *out, lob_box *at, lob_plane_input *in,
                              const lob_volume *image, bool labels)
{
    lob_box box = lob_box_whole(image->dims);
    const lob_box all = box;
    LOB_TRY(lob_grid_one_channel(s, &in->volume, in->path));
    if (in->volume.inter == 0) /* else what is stored as 0 is marked */
        LOB_TRY(lob_planes_stored(in->planes, &box, &s->error));
    LOB_TRY(find_box(s, at, in, &box, labels));
    widen(at, &all, image);
    return read_open(s, out, in, at);
}

lob_status lob_part_read_marked(lob_session *s, lob_volume *out, lob_box *at, const char *path,
                                bool labels, const lob_volume *image, const char *image_path)
{
    lob_plane_input in;
    if (!reads_all(s, path, NULL) && lies_alike(s, path, image)) {
        LOB_TRY(lob_session_open(s, &in, path, LOB_FRAME_NONE));
        lob_status st = lob_grid_adopt(s, &in.volume, path, image, image_path);
        if (st == LOB_OK) st = read_marked(s, out, at, &in, image, labels);
        lob_session_close(s, &in);
        return st == LOB_OK && labels ? lob_grid_narrow(s, out, path) : st;
    }
    int64_t first[3];
    LOB_TRY(lob_session_read(s, out, path, LOB_FRAME_NONE));
    LOB_TRY(lob_grid_find(s, out, first, path, image, image_path));
    LOB_TRY(lob_grid_one_channel(s, out, path));
    if (labels) LOB_TRY(lob_grid_narrow(s, out, path));
    lob_box all = lob_box_whole(out->dims);
    const lob_box may = lob_grid_seen(image->dims, &all, first);
    if (!lob_box_of(at, out)) *at = (lob_box){.size = {0}};
    *at = lob_grid_seen(image->dims, at, first);
    widen(at, &may, image);
    memcpy(all.first, first, sizeof all.first);
    LOB_TRY(lob_part_lay(s, out, &all, at, image, path));
    return labels ? lob_grid_narrow(s, out, path) : LOB_OK; /* the largest may lie outside */
}

lob_status lob_part_lay(lob_session *s, lob_volume *part, const lob_box *from, const lob_box *onto,
                        const lob_volume *grid, const char *path)
{
    const lob_volume place = {.dims = lob_box_dims(onto),
                              .geometry = lob_box_geometry(&grid->geometry, onto)};
    int64_t first[3];
    for (int a = 0; a < 3; a++) first[a] = from->first[a] - onto->first[a];
    if (memcmp(from, onto, sizeof *from) == 0) return LOB_OK;
    return lob_grid_place(s, part, first, path, &place);
}

/* ---- writing ---- */

/* Planes of zeros. */
static lob_status put_blank(lob_session *s, lob_plane_output *out, int64_t n)
{
    enum { AT_ONCE = 1 << 26 }; /* bytes, after which a signal counts */
    const lob_volume *const v = out->volume;
    const int64_t plane = v->dims.nx * v->dims.ny * (int64_t)lob_type_of(v->type)->bytes;
    const int64_t most = plane < AT_ONCE ? AT_ONCE / plane : 1;
    lob_status st = LOB_OK;
    for (int64_t z = 0; st == LOB_OK && z < n; z += most) {
        st = lob_session_planes_put(s, out, NULL, n - z < most ? n - z : most);
        if (st == LOB_OK) st = lob_session_cancelled(s);
    }
    return st;
}

/* The planes that the box has a part of, one by one, in memory that is 0 beside it. */
static lob_status put_planes(lob_session *s, lob_plane_output *out, const lob_volume *part,
                             const int64_t first[3])
{
    lob_volume plane = *out->volume, own = *part;
    const int64_t word = (int64_t)lob_type_of(part->type)->bytes, n = plane.dims.nx * plane.dims.ny;
    const int64_t at[3] = {first[0], first[1], 0};
    lob_status st = LOB_OK;
    plane.dims.nz = own.dims.nz = 1;
    plane.data = lob_session_array(s, n, (size_t)word, out->path);
    if (!plane.data) return LOB_ENOMEM;
    for (int64_t z = 0; st == LOB_OK && z < part->dims.nz; z++) {
        own.data = (unsigned char *)part->data + z * lob_voxels(&own) * word;
        lob_volume_put(&plane, &own, at);
        st = lob_session_planes_put(s, out, plane.data, 1);
        if (st == LOB_OK) st = lob_session_cancelled(s);
    }
    lob_session_give(s, n * word);
    free(plane.data);
    return st;
}

lob_status lob_part_write(lob_session *s, const lob_volume *part, const int64_t first[3],
                          const lob_volume *whole, const char *path, bool labels)
{
    lob_write_options options = lob_write_defaults();
    lob_volume made = lob_grid_header(whole, part->type);
    lob_plane_output out = {.path = NULL};
    if (!path) return LOB_OK;
    made.channels = 1;
    made.names = part->names;
    options.labels = labels;
    const int64_t largest =
        labels ? lob_label_largest(part->data, part->type, lob_voxels(part), s->context.threads)
               : 0;
    lob_status st = lob_session_planes_begin(s, &out, &made, largest, path, options);
    if (st == LOB_OK) st = put_blank(s, &out, first[2]);
    if (st == LOB_OK) st = put_planes(s, &out, part, first);
    if (st == LOB_OK) st = put_blank(s, &out, made.dims.nz - first[2] - part->dims.nz);
    if (st == LOB_OK) st = lob_session_planes_commit(s, &out);
    lob_session_planes_abort(s, &out);
    return st;
}
