/* Masks and other volumes on an image's grid, and the axes of its slices. */
#include "tools/inout/grid.h"

#include "io/png.h"
#include "volumes/free.h"
#include "volumes/reorient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int lob_grid_slice_axis(int slices, const lob_geometry *geometry)
{
    if (slices < 0) return -1;
    if (slices < 3) return lob_anatomical_axis(geometry, (lob_anatomical_plane)(2 - slices));
    return slices - 3;
}

lob_status lob_grid_neighbours(lob_session *s, int *neighbours, int slices)
{
    const bool flat = slices >= 0;
    if (*neighbours < 0) *neighbours = flat ? 8 : 26;
    if (flat != (*neighbours < 6 || *neighbours == 8))
        return lob_fail(&s->error, LOB_EARG,
                        flat ? "--neighbours %d is for 3D; with --slices it is 4 or 8"
                             : "--neighbours %d is for slices; add --slices, or choose 6, 18 or 26",
                        *neighbours);
    return LOB_OK;
}

void lob_grid_box(double low[3], double high[3], const lob_geometry *geometry, lob_dims dims,
                  const lob_geometry *onto)
{
    for (int corner = 0; corner < 8; corner++) {
        double voxel[3], at[3];
        for (int a = 0; a < 3; a++)
            voxel[a] = (corner >> a & 1 ? (double)lob_side(dims, a) : 0.0) - 0.5;
        lob_voxel_to_world(at, geometry, voxel);
        if (onto) lob_world_to_voxel(voxel, onto, at);
        for (int a = 0; a < 3; a++) {
            const double place = onto ? voxel[a] : at[a];
            low[a] = fmin(corner == 0 ? INFINITY : low[a], place);
            high[a] = fmax(corner == 0 ? -INFINITY : high[a], place);
        }
    }
}

lob_status lob_grid_one_channel(lob_session *s, const lob_volume *volume, const char *path)
{
    if (volume->channels == 1) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, path,
                         "has %d channels, and one is needed here; take one out with `lobule "
                         "convert --channel N`, N from 0 to %d",
                         volume->channels, volume->channels - 1);
}

/* An entry of the report on the input that was read last. */
static cJSON *last_input(lob_session *s)
{
    return cJSON_GetArrayItem(s->inputs, cJSON_GetArraySize(s->inputs) - 1);
}

static void drop_header(lob_volume *volume)
{
    LOB_FREE(volume->header.bytes, volume->header.extensions);
    volume->header = (lob_header){.format = NULL};
}

/* Turn a volume's axes as the image's run. */
static lob_status turn(lob_session *s, lob_volume *volume, const lob_turn *how, const char *path,
                       const lob_volume *image, const char *image_path)
{
    char from[4], to[4];
    const int64_t bytes = lob_volume_bytes(volume);
    lob_orientation(from, &volume->geometry);
    lob_orientation(to, &image->geometry);
    LOB_TRY(lob_session_take(s, bytes, path));
    const lob_status st = lob_volume_reorient(volume, how);
    lob_session_give(s, bytes);
    if (st != LOB_OK) return lob_session_no_memory(s, path);
    cJSON_AddStringToObject(last_input(s), "reoriented_to", to);
    lob_session_say(s, "%s: reoriented from %s to %s, as %s lies", path, from, to, image_path);
    return LOB_OK;
}

lob_status lob_grid_place(lob_session *s, lob_volume *volume, const int64_t first[3],
                          const char *path, const lob_volume *image)
{
    const int64_t before = lob_volume_bytes(volume);
    const int64_t after = lob_product(lob_voxels(image), volume->channels,
                                      (int64_t)lob_type_of(volume->type)->bytes, 1);
    LOB_TRY(lob_session_take(s, after, path));
    const lob_status st = lob_volume_place(volume, first, image);
    lob_session_give(s, st == LOB_OK ? before : after);
    return st == LOB_OK ? st : lob_session_no_memory(s, path);
}

lob_box lob_grid_seen(lob_dims dims, const lob_box *box, const int64_t first[3])
{
    const lob_box all = lob_box_whole(dims);
    lob_box there = *box;
    for (int a = 0; a < 3; a++) there.first[a] += first[a];
    return lob_box_meet(&there, &all);
}

/* Does a file say where its first voxel lies? */
static bool is_placed(const lob_geometry *g)
{
    return !g->unoriented || g->affine[0][3] != 0 || g->affine[1][3] != 0 || g->affine[2][3] != 0;
}

/*
 * The turn after which a volume is a part of the image, and where; false: it is none. Both must say
 * where they lie, but for an image without a patient, whose parts may count from its first voxel.
 * Where axes have to be turned it must lie in the image as a whole: a header that is wrong about
 * them is not to pass.
 */
static bool find_part(lob_turn *how, int64_t first[3], const lob_volume *volume,
                      const lob_volume *image)
{
    if (!is_placed(&volume->geometry)) return false;
    if (!is_placed(&image->geometry) && !volume->geometry.unoriented) return false;
    for (int number = 0; number < LOB_TURNS; number++) {
        const lob_turn turn = lob_turn_of(number);
        const lob_volume turned = {.dims = lob_turned_dims(volume->dims, &turn),
                                   .geometry =
                                       lob_turned_geometry(&volume->geometry, volume->dims, &turn)};
        *how = turn;
        if (!lob_place_in(first, &turned, image)) continue;
        const lob_box all = lob_box_whole(turned.dims);
        const lob_box seen = lob_grid_seen(image->dims, &all, first);
        if (number == 0 ? seen.size[0] > 0 : memcmp(seen.size, all.size, sizeof all.size) == 0)
            return true;
    }
    return false;
}

bool lob_grid_is_part(const lob_volume *volume, const lob_volume *image)
{
    lob_turn how;
    int64_t first[3];
    return find_part(&how, first, volume, image);
}

static bool changes(const lob_turn *turn)
{
    bool some = false;
    for (int a = 0; a < 3; a++) some = some || turn->axis[a] != a || turn->backwards[a];
    return some;
}

/* Are labels left out? */
static lob_status look_outside(lob_session *s, const lob_volume *volume, const int64_t first[3],
                               lob_grid_part part, const char *path, const lob_volume *image,
                               const char *image_path)
{
    const lob_box all = lob_box_whole(image->dims);
    lob_box labelled;
    if (!lob_box_of(&labelled, volume)) return LOB_OK;
    for (int a = 0; a < 3; a++) labelled.first[a] += first[a];
    if (lob_box_lies_in(&labelled, &all)) return LOB_OK;
    if (part == LOB_PART_INSIDE)
        return lob_fail_file(&s->error, LOB_EDATA, path,
                             "has labels outside of %s; where they may be left out, bring it onto "
                             "that grid with `lobule convert --labels --like`",
                             image_path);
    lob_session_note(s, "%s: what lies outside of %s is left out", path, image_path);
    return LOB_OK;
}

/* Does a file say where its volume lies? */
static bool says(const lob_geometry *g)
{
    bool some = !g->unoriented;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) some = some || !(fabs(g->affine[r][c] - (r == c)) < 1e-4);
    return some;
}

bool lob_grid_alike(const lob_volume *volume, const lob_volume *image)
{
    if (lob_same_grid(image, "", volume, "", NULL) == LOB_OK) return true;
    return !says(&volume->geometry) && image->geometry.unoriented &&
           lob_same_dims(volume->dims, image->dims);
}

lob_status lob_grid_adopt(lob_session *s, lob_volume *volume, const char *path,
                          const lob_volume *image, const char *image_path)
{
    const lob_status st = lob_same_grid(image, image_path, volume, path, &s->error);
    if (st == LOB_OK) return st;
    if (!lob_grid_alike(volume, image)) {
        if (lob_grid_alike(image, volume))
            lob_fail_file(&s->error, st, image_path,
                          "says nothing of where it lies; `lobule convert --like` gives it the "
                          "grid of %s",
                          path);
        return st;
    }
    s->error = (lob_error){.text = ""};
    volume->geometry = image->geometry;
    drop_header(volume);
    lob_session_note(s, "%s: says nothing of where it lies; it is taken to lie as %s does", path,
                     image_path);
    return LOB_OK;
}

static lob_status find(lob_session *s, lob_volume *volume, int64_t first[3], lob_grid_part part,
                       const char *path, const lob_volume *image, const char *image_path)
{
    lob_turn how;
    memset(first, 0, 3 * sizeof *first);
    lob_status st = lob_grid_adopt(s, volume, path, image, image_path);
    if (st == LOB_OK) return st;
    const bool turned = lob_turn_onto(&how, volume, image);
    const bool placed = part != LOB_PART_NONE && !turned && find_part(&how, first, volume, image);
    if (!turned && !placed) return st;
    s->error = (lob_error){.text = ""};
    const double start_s = lob_clock_s();
    st = changes(&how) ? turn(s, volume, &how, path, image, image_path) : LOB_OK;
    if (st == LOB_OK) lob_session_stage(s, "reorient", start_s);
    if (st != LOB_OK || !placed) return st;
    lob_json_integers(last_input(s), "placed_at", first);
    lob_session_say(s, "%s: covers a part of %s from voxel (%lld, %lld, %lld) on", path, image_path,
                    (long long)first[0], (long long)first[1], (long long)first[2]);
    return look_outside(s, volume, first, part, path, image, image_path);
}

lob_status lob_grid_find(lob_session *s, lob_volume *volume, int64_t first[3], const char *path,
                         const lob_volume *image, const char *image_path)
{
    return find(s, volume, first, LOB_PART_SEEN, path, image, image_path);
}

lob_status lob_grid_match(lob_session *s, lob_volume *volume, const char *path,
                          const lob_volume *image, const char *image_path, lob_grid_part part)
{
    int64_t first[3];
    LOB_TRY(find(s, volume, first, part, path, image, image_path));
    if (lob_same_dims(volume->dims, image->dims) && !first[0] && !first[1] && !first[2])
        return LOB_OK;
    const double start_s = lob_clock_s();
    LOB_TRY(lob_grid_place(s, volume, first, path, image));
    lob_session_stage(s, "reorient", start_s);
    return LOB_OK;
}

static lob_status read_on(lob_session *s, lob_volume *out, const char *path,
                          const lob_volume *image, const char *image_path, lob_grid_part part)
{
    LOB_TRY(lob_session_read(s, out, path, LOB_FRAME_NONE));
    lob_status st = lob_grid_match(s, out, path, image, image_path, part);
    if (st == LOB_OK) st = lob_grid_one_channel(s, out, path);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}

lob_status lob_grid_read(lob_session *s, lob_volume *out, const char *path, const lob_volume *image,
                         const char *image_path)
{
    return read_on(s, out, path, image, image_path,
                   lob_session_is_labels(s, path) ? LOB_PART_SEEN : LOB_PART_NONE);
}

lob_status lob_grid_dense(lob_session *s, lob_volume *labels, lob_label_set *set, const char *path)
{
    const int64_t stored = lob_volume_bytes(labels);
    LOB_TRY(lob_labels_dense(labels, set, path, &s->error));
    lob_session_give(s, stored - lob_volume_bytes(labels));
    return LOB_OK;
}

lob_status lob_grid_narrow(lob_session *s, lob_volume *labels, const char *path)
{
    lob_label_set set = {0};
    const int64_t stored = lob_volume_bytes(labels);
    LOB_TRY(lob_labels_dense(labels, &set, path, &s->error));
    const lob_status st = lob_labels_restore(labels, &set);
    lob_label_set_free(&set);
    lob_session_give(s, stored - lob_volume_bytes(labels));
    return st == LOB_OK ? st : lob_session_no_memory(s, path);
}

lob_status lob_grid_read_labels(lob_session *s, lob_volume *out, const char *path,
                                const lob_volume *image, const char *image_path)
{
    LOB_TRY(read_on(s, out, path, image, image_path, LOB_PART_INSIDE));
    return lob_grid_narrow(s, out, path);
}

lob_volume lob_grid_header(const lob_volume *like, lob_type type)
{
    lob_volume made = *like;
    made.type = type;
    made.slope = 1.0;
    made.inter = 0.0;
    made.frames = 1;
    made.frame = 0;
    return made;
}

lob_status lob_grid_make(lob_session *s, lob_volume *out, const lob_volume *like, lob_type type,
                         int channels, const char *path)
{
    const int64_t each = (int64_t)lob_type_of(type)->bytes;
    LOB_TRY(lob_session_take(s, lob_product(lob_voxels(like), each, channels, 1), path));
    return lob_volume_like(out, like, type, channels) == LOB_OK ? LOB_OK
                                                                : lob_session_no_memory(s, path);
}

void lob_grid_drop(lob_session *s, lob_volume *volume)
{
    lob_session_give(s, lob_volume_bytes(volume));
    lob_volume_free(volume);
}

int64_t lob_grid_mask_bytes(uint8_t *mask, const lob_volume *volume, int64_t n)
{
    enum { BLOCK = 2048 };
    double values[BLOCK];
    int64_t inside = 0;
    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t count = n - at < BLOCK ? n - at : BLOCK;
        lob_volume_values(values, volume, at, count);
        for (int64_t i = 0; i < count; i++) {
            mask[at + i] = values[i] != 0.0 && !isnan(values[i]);
            inside += mask[at + i];
        }
    }
    return inside;
}

void lob_grid_show_mask(lob_volume *mask, const char *path)
{
    uint8_t *voxels = mask->data;
    if (!path || !lob_is_png_name(path)) return;
    for (int64_t i = 0; i < lob_voxels(mask); i++) voxels[i] = voxels[i] ? UINT8_MAX : 0;
}

lob_status lob_grid_empty_mask(lob_session *s, const char *path)
{
    return lob_fail_file(
        &s->error, LOB_EDATA, path,
        "the mask is empty, so nothing could be labelled; nonzero voxels are inside");
}

lob_status lob_grid_mask(lob_session *s, uint8_t **mask, const char *path, const lob_volume *image,
                         const char *image_path)
{
    if (!path) return LOB_OK;
    lob_volume v = lob_volume_empty();
    LOB_TRY(lob_grid_read(s, &v, path, image, image_path));
    *mask = lob_session_array(s, lob_voxels(&v), 1, path);
    const bool empty = *mask && lob_grid_mask_bytes(*mask, &v, lob_voxels(&v)) == 0;
    lob_grid_drop(s, &v);
    if (empty) return lob_grid_empty_mask(s, path);
    return *mask ? LOB_OK : LOB_ENOMEM;
}

lob_status lob_grid_read_frame(lob_session *s, lob_volume *out, const char *path, int frame)
{
    lob_volume header;
    if (frame < 0) return lob_session_read(s, out, path, LOB_FRAME_UNSAID);
    if (!lob_session_is_stored(s, path) && lob_session_peek(s, &header, path) && header.frames == 1)
        frame = 0;
    return lob_session_read(s, out, path, frame);
}

lob_status lob_grid_has_channel(lob_session *s, const lob_volume *volume, int channel,
                                const char *path)
{
    const int channels = volume->channels / (int)lob_frames_held(volume);
    if (channel < channels) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, path, "has no channel %d; it has %d, counted from 0",
                         channel, channels);
}

lob_status lob_grid_channel(lob_session *s, lob_volume *volume, int channel, const char *path)
{
    LOB_TRY(lob_grid_has_channel(s, volume, channel, path));
    const int frames = (int)lob_frames_held(volume);
    if (channel < 0 || volume->channels == frames) return LOB_OK;
    const int64_t before = lob_volume_bytes(volume);
    volume->channels = frames;
    const size_t bytes = (size_t)lob_volume_bytes(volume);
    memmove(volume->data, (unsigned char *)volume->data + (size_t)channel * bytes, bytes);
    void *fitted = realloc(volume->data, bytes);
    if (fitted) volume->data = fitted;
    lob_session_give(s, before - (int64_t)bytes);
    return LOB_OK;
}

lob_status lob_grid_choose_channel(lob_session *s, lob_volume *volume, int channel,
                                   const char *path)
{
    LOB_TRY(lob_grid_channel(s, volume, channel, path));
    return lob_grid_is_chosen(s, volume, path);
}

lob_status lob_grid_is_chosen(lob_session *s, const lob_volume *volume, const char *path)
{
    if (volume->channels == 1) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, path,
                         "has %d channels; choose one with --channel N, from 0 to %d",
                         volume->channels, volume->channels - 1);
}

/* ---- what the caller states ---- */

bool lob_grid_is_stated(const lob_stated_grid *stated)
{
    return !isnan(stated->spacing[0]) || !isnan(stated->origin[0]);
}

void lob_grid_state(lob_volume *volume, const lob_stated_grid *stated)
{
    lob_geometry *const g = &volume->geometry;
    if (!lob_grid_is_stated(stated)) return;
    for (int a = 0; a < 3; a++) {
        const double ratio = isnan(stated->spacing[0]) ? 1 : stated->spacing[a] / g->spacing_mm[a];
        for (int row = 0; row < 3; row++) g->affine[row][a] *= ratio;
        g->spacing_mm[a] *= ratio;
    }
    for (int row = 0; row < 3 && !isnan(stated->origin[0]); row++)
        g->affine[row][3] = stated->origin[row];
    drop_header(volume);
}
