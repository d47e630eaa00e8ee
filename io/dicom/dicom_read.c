/* Series of DICOM by dcm2niix, segmentations by dcmqi, and the store of what they have become. */
#include "io/dicom/dicom.h"
#include "io/dicom/dicom_run.h"
#include "io/dicom/outside_program.h"
#include "io/dicom/seg_codes.h"
#include "io/folder.h"
#include "io/format.h"
#include "io/nifti/nifti_header.h"
#include "io/platform.h"
#include "volumes/free.h"
#include "volumes/labels.h"
#include "volumes/lists.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A conversion under way. */
typedef struct {
    lob_dicom_made *out;
    const lob_dicom_series *series;
    int volume; /* from 1; 0: not said */
    const char *path;
    const lob_read_options *options;
    lob_error *error;
    char *in, *made; /* folders */
    char text[LOB_PROGRAM_TEXT];
} conversion;

static lob_status run(conversion *c, const lob_dicom_run *of)
{
    lob_dicom_run one = *of;
    one.folder = c->made;
    one.series = c->series;
    one.bytes = c->series->file_bytes;
    one.stop = c->options->stop;
    one.user = c->options->user;
    one.path = c->path;
    return lob_dicom_run_it(c->text, &one, c->error);
}

/* What comes out is this file of the folder that a program has filled. */
static lob_status take_file(conversion *c, const char *name)
{
    if (asprintf(&c->out->file, "%s/%s", c->made, name) >= 0) return LOB_OK;
    c->out->file = NULL;
    return LOB_FAIL(c, LOB_ENOMEM, "no memory");
}

/* ---- scans ---- */

/* The dimensions and frames of what came; false, and 0: they cannot be read. */
static bool find_dims(lob_dims *dims, int64_t *frames, const conversion *c, const char *name)
{
    lob_read_options how = lob_read_defaults();
    lob_volume v;
    char *path;
    how.header_only = true;
    *dims = (lob_dims){0};
    *frames = 0;
    if (asprintf(&path, "%s/%s", c->made, name) < 0) return false;
    const bool is = lob_read(&v, path, &how, NULL, NULL) == LOB_OK;
    if (is) {
        *dims = v.dims;
        *frames = v.frames;
    }
    lob_volume_free(&v);
    free(path);
    return is;
}

/* "2 volume_e2 of 36 x 40 x 14" */
static void describe(const conversion *c, int number, const char *name)
{
    lob_dims d;
    int64_t frames;
    lob_error_add(c->error, "%s%d %.*s", number > 1 ? ", " : "", number,
                  (int)(strlen(name) - sizeof ".nii" + 1), name);
    if (find_dims(&d, &frames, c, name))
        lob_error_add(c->error, " of %lld x %lld x %lld", (long long)d.nx, (long long)d.ny,
                      (long long)d.nz);
}

/* What dcm2niix says where slices do not lie at equal distances. */
static const char varies[] = "Interslice distance varies";

/* It has failed, having taken so many images; where these are none, or more than there are, it says
 * why. What it says of distances tells nobody of a damaged
 * image, unless it names the file. */
static lob_status lacks_images(const conversion *c, int64_t images, lob_status ran)
{
    if (images == 0 || images > c->series->images || strstr(c->text, "../in/")) return ran;
    return LOB_FAIL(c, LOB_EDATA,
                    "dcm2niix takes %lld of its %lld images, which do not lie at equal distances; "
                    "the others are damaged",
                    (long long)images, (long long)c->series->images);
}

/*
 * The volume that was asked for, of those that came; not one that is resampled, as dcm2niix adds it
 * where the gantry was tilted or distances vary.
 *
 *   ran  in  how dcm2niix ended. Where it failed, as it does where it cannot resample, the volumes
 *            must hold all images
 */
static lob_status take_volume(conversion *c, char **names, int64_t all, lob_status ran)
{
    int64_t count = 0, images = 0, frames;
    lob_dims dims;
    for (int64_t i = 0; i < all; i++) {
        char *const name = names[i];
        if (strstr(name, "_Tilt") || strstr(name, "_Eq")) continue;
        names[i] = names[count];
        names[count++] = name;
        if (ran != LOB_OK && find_dims(&dims, &frames, c, name)) images += dims.nz * frames;
    }
    if (ran != LOB_OK && images != c->series->images) return lacks_images(c, images, ran);
    if (count == 0) return LOB_FAIL(c, LOB_EDATA, "dcm2niix makes no volume of it");
    if (c->volume > count)
        return LOB_FAIL(c, LOB_EDATA, "makes %lld volumes, and no number %d", (long long)count,
                        c->volume);
    if (count > 1 && c->volume == 0) {
        lob_fail_file_hint(c->error, LOB_EDATA, LOB_HINT_CHOOSE_VOLUME, c->path,
                           "series %s makes %lld volumes: ", c->series->uid, (long long)count);
        for (int i = 0; i < count && i < 12; i++) describe(c, i + 1, names[i]);
        return LOB_EDATA;
    }
    return take_file(c, names[c->volume > 0 ? c->volume - 1 : 0]);
}

/* Is it a slice of the volume, by its size and its axes? There the last row is the first. */
static bool is_slice(const lob_dicom_plane *image, const lob_volume *v)
{
    bool is = image->columns == v->dims.nx && image->rows == v->dims.ny;
    for (int r = 0; r < 3; r++) {
        const double row = v->geometry.affine[r][0] / v->geometry.spacing_mm[0];
        const double column = v->geometry.affine[r][1] / v->geometry.spacing_mm[1];
        is &= fabs(row - image->axes[r]) < 0.01 && fabs(column + image->axes[3 + r]) < 0.01;
    }
    return is;
}

/* The grid from the first of the slices to the last, by where their images say that they lie.
 * Returns how many images there are; 0, and no grid: they do not say it of each slice. */
static int64_t find_grid(lob_geometry *grid, const lob_dicom_series *series, const lob_volume *v)
{
    const double steps = (double)(v->dims.nz - 1), last_row = (double)(v->dims.ny - 1);
    double least = INFINITY, most = -INFINITY, first[3] = {0}, last[3] = {0}, affine[3][4];
    int64_t count = 0;
    for (int64_t i = 0; i < series->file_count; i++) {
        const lob_dicom_plane *const image = &series->planes[i];
        double voxel[3];
        if (!is_slice(image, v)) continue;
        count++;
        lob_world_to_voxel(voxel, &v->geometry, image->corner);
        if (voxel[2] < least) memcpy(first, image->corner, sizeof first);
        if (voxel[2] > most) memcpy(last, image->corner, sizeof last);
        least = fmin(least, voxel[2]);
        most = fmax(most, voxel[2]);
    }
    memcpy(affine, v->geometry.affine, sizeof affine);
    for (int r = 0; r < 3; r++) {
        affine[r][2] = (last[r] - first[r]) / steps;
        affine[r][3] = first[r] - last_row * affine[r][1];
    }
    return count >= v->dims.nz && lob_geometry_of_affine(grid, affine) ? count : 0;
}

/* Does each slice lie on the grid? To as much as dcm2niix lets distances differ, .2 mm, but where
 * slices are thin a missing one must not pass. */
static bool is_even(const lob_geometry *grid, const lob_dicom_series *series, const lob_volume *v)
{
    const double most_mm = fmin(0.2, grid->spacing_mm[2] / 4);
    bool is = true;
    for (int64_t i = 0; i < series->file_count; i++) {
        const lob_dicom_plane *const image = &series->planes[i];
        double voxel[3];
        if (!is_slice(image, v)) continue;
        lob_world_to_voxel(voxel, grid, image->corner);
        const double off[3] = {voxel[0], voxel[1] - (double)(v->dims.ny - 1),
                               voxel[2] - rint(voxel[2])};
        for (int axis = 0; axis < 3; axis++)
            is &= fabs(off[axis]) * grid->spacing_mm[axis] <= most_mm;
    }
    return is;
}

static lob_status put_grid(conversion *c, lob_volume *v)
{
    v->frame = LOB_FRAME_ALL; /* and the step from one to the next */
    lob_nifti_put_geometry(v->header.bytes, v);
    const int fd = lob_open_to_change(c->out->file);
    const int64_t size = (int64_t)v->header.size;
    const bool fits = fd >= 0 && lob_fd_write_at(fd, v->header.bytes, v->header.size, 0) == size;
    if (fd >= 0) lob_fd_close(fd);
    return fits ? LOB_OK : LOB_FAIL(c, LOB_ECREATE, "what dcm2niix makes of it cannot be changed");
}

/*
 * A slice need not lie above the one before, as where the gantry was tilted. Then dcm2niix may give
 * the step from one to the next the length that they are apart, which is shorter, take distances
 * for unequal that are not, put slices above one another all the same, and place a volume whose
 * slices it has turned round amiss. So the images say it, where each is a file.
 */
static lob_status place_slices(conversion *c, lob_volume *v)
{
    const lob_geometry g = v->geometry;
    if (v->dims.nz < 2) return LOB_OK;
    const int64_t count = find_grid(&v->geometry, c->series, v);
    if (count > 0 && is_even(&v->geometry, c->series, v)) {
        const double apart_mm = lob_corners_apart_mm(&v->geometry, &g, v->dims);
        return apart_mm <= lob_grid_tolerance_mm(&v->geometry, &g) ? LOB_OK : put_grid(c, v);
    }
    const bool known = count == v->dims.nz * v->frames;
    if (!known && lob_voxel_mm3(&g) < (1 - 1e-4) * lob_face_mm2(&g, 2) * g.spacing_mm[2])
        return LOB_FAIL(c, LOB_EDATA,
                        "its slices do not lie above one another, as of a tilted gantry; "
                        "`dcm2niix FOLDER` makes a file of it that ends in _Tilt_1");
    if (known || strstr(c->text, varies))
        return LOB_FAIL(
            c, LOB_EDATA,
            "its slices do not lie at equal distances; where none is missing, resample them with "
            "`dcm2niix FOLDER` and name the file that ends in _Eq_1");
    return LOB_OK;
}

/*
 * Options of dcm2niix: the user's own defaults are ignored, no sidecar, not compressed, axes as the
 * images have them. Where it says that distances vary, or even fails since it cannot resample them,
 * the volume is there all the same.
 */
static lob_status convert_scan(conversion *c)
{
    const lob_dicom_run of = {
        .program = &lob_dcm2niix,
        .words = {"-g", "i", "-b", "n", "-z", "n", "-x", "i", "-f", "volume", "-o", ".", "../in"}
    };
    lob_read_options how = lob_read_defaults();
    lob_volume v;
    char **names;
    int64_t count;
    lob_status st = run(c, &of);
    if (st == LOB_ECANCEL || (st != LOB_OK && !strstr(c->text, varies))) return st;
    st = lob_dicom_found(&names, &count, c->made, ".nii") ? take_volume(c, names, count, st)
                                                          : LOB_FAIL(c, LOB_ENOMEM, "no memory");
    lob_folder_paths_free(names, count);
    LOB_TRY(st);
    how.header_only = true;
    if (lob_read(&v, c->out->file, &how, NULL, NULL) != LOB_OK)
        return LOB_OK; /* who reads it says why */
    st = place_slices(c, &v);
    lob_volume_free(&v);
    return st;
}

/* ---- segmentations ---- */

/* The labels of two parts of one segmentation into the first: of two segments the first counts. */
static lob_status add_part(conversion *c, lob_volume *whole, const lob_volume *part)
{
    const lob_type type = whole->type;
    const bool plain = type == LOB_U8 || type == LOB_I16 || type == LOB_I32;
    if (!plain || part->type != type ||
        lob_same_grid(part, c->path, whole, c->path, NULL) != LOB_OK)
        return LOB_FAIL(c, LOB_EDATA, "its segments overlap, and lie on grids that differ");
    for (int64_t i = 0, n = lob_voxels(whole); i < n; i++) {
        const int32_t there = lob_label_at(whole->data, type, i);
        const int32_t more = lob_label_at(part->data, type, i);
        if (more == 0) continue;
        c->out->overlapping += there != 0;
        if (there == 0 || more < there) lob_label_put(whole->data, type, i, more);
    }
    return LOB_OK;
}

/* Read a part, and put it with those before it. */
static lob_status take_part(conversion *c, lob_volume *whole, const char *name)
{
    lob_read_options how = lob_read_defaults();
    lob_volume part;
    char *path;
    how.max_memory = c->options->max_memory;
    if (asprintf(&path, "%s/%s", c->made, name) < 0) return LOB_FAIL(c, LOB_ENOMEM, "no memory");
    lob_status st = lob_read(&part, path, &how, NULL, c->error);
    free(path);
    LOB_TRY(st);
    if (!whole->data) {
        *whole = part;
        return LOB_OK;
    }
    st = add_part(c, whole, &part);
    lob_volume_free(&part);
    return st;
}

/* Segments that overlap come in several files, each of some that do not. */
static lob_status join_parts(conversion *c, char **names, int64_t count)
{
    lob_volume whole = lob_volume_empty();
    lob_write_options how = lob_write_defaults();
    lob_status st = LOB_OK;
    how.level = 1;
    for (int i = 0; i < count && st == LOB_OK; i++) st = take_part(c, &whole, names[i]);
    if (st == LOB_OK) st = take_file(c, "whole.nrrd");
    if (st == LOB_OK) st = lob_write(&whole, c->out->file, &how, c->error);
    lob_volume_free(&whole);
    return st;
}

static lob_status take_labels(conversion *c, char **names, int64_t count)
{
    if (count == 0) return LOB_FAIL(c, LOB_EDATA, "segimage2itkimage makes no labels of it");
    if (count > 1) return join_parts(c, names, count);
    return take_file(c, names[0]);
}

static lob_status convert_segmentation(conversion *c)
{
    if (c->series->file_count > 1)
        return LOB_FAIL(c, LOB_EDATA, "holds %lld segmentations; name the file of one",
                        (long long)c->series->file_count);
    const lob_dicom_run of = {
        .program = &lob_segimage2itkimage,
        .words = {"--inputDICOM", "../in/00000000.dcm", "--outputDirectory", ".", "--mergeSegments",
                  "--outputType", "nrrd"}
    };
    LOB_TRY(run(c, &of));
    char **names;
    int64_t count;
    lob_status st = lob_dicom_found(&names, &count, c->made, ".nrrd")
                        ? take_labels(c, names, count)
                        : LOB_FAIL(c, LOB_ENOMEM, "no memory");
    lob_folder_paths_free(names, count);
    if (st == LOB_OK) st = lob_seg_names_read(&c->out->names, c->made, c->path, c->error);
    return st;
}

/* ---- all of it ---- */

static lob_status convert(conversion *c)
{
    lob_scratch *const scratch = &c->out->scratch;
    LOB_TRY(lob_scratch_begin(scratch, c->error));
    c->in = lob_dicom_links(scratch, c->series, c->path, c->error);
    if (!c->in) return LOB_ECREATE;
    c->made = lob_scratch_folder(scratch, "out");
    if (!c->made) return LOB_FAIL(c, LOB_ECREATE, "no temporary folder");
    c->out->bytes = c->series->file_bytes;
    c->out->is_segmentation = c->series->is_segmentation;
    return c->series->is_segmentation ? convert_segmentation(c) : convert_scan(c);
}

static lob_status convert_anew(lob_dicom_made *out, const char *path,
                               const lob_read_options *options, lob_error *error)
{
    lob_dicom_list list;
    *out = (lob_dicom_made){.scratch.lock = -1};
    LOB_TRY(lob_dicom_list_of(&list, path, options->stop, options->user, error));
    conversion c = {.out = out, .path = path, .options = options, .error = error};
    /* a file names its series, so that the choice is for folders */
    const char *const wanted = lob_is_folder(path) ? options->series : NULL;
    lob_status st = lob_dicom_choose(&c.series, &c.volume, &list, wanted, path, error);
    if (st == LOB_OK) st = convert(&c);
    LOB_FREE(c.in, c.made);
    lob_dicom_list_free(&list);
    if (st != LOB_OK) lob_dicom_made_free(out);
    return st;
}

void lob_dicom_made_free(lob_dicom_made *made)
{
    free(made->file);
    lob_label_names_free(&made->names);
    lob_scratch_end(&made->scratch);
    *made = (lob_dicom_made){.scratch.lock = -1};
}

/* ---- the store ---- */

typedef struct {
    char *path, *series;
    lob_dicom_made made;
} kept;

struct lob_converted {
    pthread_mutex_t lock; /* inputs are read in threads of their own */
    kept *all;
    int count;
};

lob_converted *lob_converted_begin(void)
{
    lob_converted *const c = calloc(1, sizeof *c);
    if (c && pthread_mutex_init(&c->lock, NULL) == 0) return c;
    free(c);
    return NULL;
}

static void free_kept(kept *k)
{
    LOB_FREE(k->path, k->series);
    lob_dicom_made_free(&k->made);
}

void lob_converted_end(lob_converted *converted)
{
    if (!converted) return;
    for (int i = 0; i < converted->count; i++) free_kept(&converted->all[i]);
    free(converted->all);
    pthread_mutex_destroy(&converted->lock);
    free(converted);
}

static const kept *find_kept(const lob_converted *converted, const char *path, const char *series)
{
    for (int i = 0; i < converted->count; i++)
        if (strcmp(converted->all[i].path, path) == 0 &&
            strcmp(converted->all[i].series, series) == 0)
            return &converted->all[i];
    return NULL;
}

/* Convert, and keep what came; NULL, with *st, where it cannot. */
static const kept *keep_new(lob_status *st, const char *path, const lob_read_options *options,
                            lob_error *error)
{
    lob_converted *const converted = options->converted;
    const bool fits = lob_grow(&converted->all, converted->count, sizeof *converted->all);
    kept fresh = {.path = strdup(path),
                  .series = strdup(options->series ? options->series : ""),
                  .made.scratch.lock = -1};
    *st = fits && fresh.path && fresh.series ? convert_anew(&fresh.made, path, options, error)
                                             : lob_fail_file(error, LOB_ENOMEM, path, "no memory");
    if (*st == LOB_OK) {
        converted->all[converted->count] = fresh;
        return &converted->all[converted->count++];
    }
    free_kept(&fresh);
    return NULL;
}

/* What is kept, for one more reader. */
static lob_status share(lob_dicom_made *out, const kept *k)
{
    *out = (lob_dicom_made){.file = strdup(k->made.file),
                            .is_segmentation = k->made.is_segmentation,
                            .overlapping = k->made.overlapping,
                            .bytes = k->made.bytes,
                            .scratch.lock = -1};
    const lob_status st = lob_label_names_copy(&out->names, &k->made.names);
    if (out->file && st == LOB_OK) return LOB_OK;
    lob_dicom_made_free(out);
    return LOB_ENOMEM;
}

lob_status lob_dicom_convert(lob_dicom_made *out, const char *path, const lob_read_options *options,
                             lob_error *error)
{
    const lob_read_options defaults = lob_read_defaults();
    if (!options) options = &defaults;
    lob_converted *const converted = options->converted;
    if (!converted) return convert_anew(out, path, options, error);
    *out = (lob_dicom_made){.scratch.lock = -1};
    lob_status st = LOB_OK;
    pthread_mutex_lock(&converted->lock);
    const kept *k = find_kept(converted, path, options->series ? options->series : "");
    if (!k) k = keep_new(&st, path, options, error);
    if (k) st = share(out, k);
    pthread_mutex_unlock(&converted->lock);
    return st;
}
