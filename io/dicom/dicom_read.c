/* Series of DICOM by dcm2niix, segmentations by dcmqi, and the store of what they have become. */
#include "io/dicom/dicom.h"
#include "io/dicom/dicom_run.h"
#include "io/dicom/outside_program.h"
#include "io/dicom/seg_codes.h"
#include "io/folder.h"
#include "io/format.h"
#include "io/nifti/nifti_header.h"
#include "io/platform.h"
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

/* "2 volume_e2 of 36 x 40 x 14" */
static void describe(const conversion *c, int number, const char *name)
{
    lob_read_options how = lob_read_defaults();
    lob_volume v;
    char *path;
    how.header_only = true;
    lob_error_add(c->error, "%s%d %.*s", number > 1 ? ", " : "", number,
                  (int)(strlen(name) - sizeof ".nii" + 1), name);
    if (asprintf(&path, "%s/%s", c->made, name) < 0) return;
    if (lob_read(&v, path, &how, NULL, NULL) == LOB_OK)
        lob_error_add(c->error, " of %lld x %lld x %lld", (long long)v.dims.nx,
                      (long long)v.dims.ny, (long long)v.dims.nz);
    lob_volume_free(&v);
    free(path);
}

/* The volume that was asked for, of those that came; not one that is resampled, as dcm2niix adds it
 * where the gantry was tilted. */
static lob_status take_volume(conversion *c, char **names, int64_t all)
{
    int64_t count = 0;
    for (int64_t i = 0; i < all; i++) {
        char *const name = names[i];
        if (strstr(name, "_Tilt")) continue;
        names[i] = names[count];
        names[count++] = name;
    }
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

/* The images at the ends of the voxels' third axis: where they begin, in the world. */
static void find_ends(double ends[2][3], const lob_dicom_series *series, const lob_geometry *g)
{
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < series->file_count; i++) {
        const double *const lps = series->corners[i], at[3] = {-lps[0], -lps[1], lps[2]};
        double voxel[3];
        lob_world_to_voxel(voxel, g, at);
        if (voxel[2] < least) memcpy(ends[0], at, sizeof at);
        if (voxel[2] > most) memcpy(ends[1], at, sizeof at);
        least = fmin(least, voxel[2]);
        most = fmax(most, voxel[2]);
    }
}

/*
 * Where the gantry was tilted, a slice does not lie above the one before. Then dcm2niix gives the
 * step from one to the next the length that they are apart, which is shorter, and places a volume
 * whose slices it has turned round amiss. So here the images say it. Rows go from the last to the
 * first.
 */
static lob_status untilt(conversion *c, lob_volume *v, double apart_mm)
{
    lob_write_options how = lob_write_defaults();
    double ends[2][3], affine[3][4], last = (double)(v->dims.nz - 1);
    how.force = true;
    find_ends(ends, c->series, &v->geometry);
    memcpy(affine, v->geometry.affine, sizeof affine);
    for (int r = 0; r < 3; r++) {
        affine[r][2] = (ends[1][r] - ends[0][r]) / last;
        affine[r][3] = ends[0][r] - (double)(v->dims.ny - 1) * affine[r][1];
    }
    if (!lob_geometry_of_affine(&v->geometry, affine) ||
        fabs(lob_voxel_mm3(&v->geometry) / lob_face_mm2(&v->geometry, 2) / apart_mm - 1) > 1e-3)
        return LOB_FAIL(c, LOB_EDATA,
                        "its slices do not lie above one another, as of a tilted gantry; "
                        "`dcm2niix FOLDER` makes a file of it that ends in _Tilt_1");
    return lob_write(v, c->out->file, &how, c->error);
}

static lob_status mend_tilt(conversion *c)
{
    lob_read_options how = lob_read_defaults();
    lob_volume v;
    how.header_only = true;
    if (lob_read(&v, c->out->file, &how, NULL, NULL) != LOB_OK)
        return LOB_OK; /* who reads it says why */
    const double apart_mm = lob_nifti_real(v.header.bytes, LOB_NIFTI_pixdim, 3);
    const double above_mm = lob_voxel_mm3(&v.geometry) / lob_face_mm2(&v.geometry, 2);
    lob_volume_free(&v);
    if (!(fabs(above_mm / apart_mm - 1) > 1e-4)) return LOB_OK;
    how.header_only = false;
    how.frame = LOB_FRAME_ALL;
    how.max_memory = c->options->max_memory;
    LOB_TRY(lob_read(&v, c->out->file, &how, NULL, c->error));
    const lob_status st = untilt(c, &v, apart_mm);
    lob_volume_free(&v);
    return st;
}

/*
 * Options of dcm2niix: the user's own defaults are ignored, no sidecar, not compressed, axes as the
 * images have them. Slices at unequal distances would lie elsewhere in the NIfTI than in the
 * patient, so that a slice that is missing must not pass; dcm2niix then fails, or says so.
 */
static lob_status convert_scan(conversion *c)
{
    const lob_dicom_run of = {
        .program = &lob_dcm2niix,
        .words = {"-g", "i", "-b", "n", "-z", "n", "-x", "i", "-f", "volume", "-o", ".", "../in"}
    };
    const lob_status st = run(c, &of);
    if (st == LOB_ECANCEL) return st;
    if (strstr(c->text, "Interslice distance varies"))
        return LOB_FAIL(
            c, LOB_EDATA,
            "its slices do not lie at equal distances; where none is missing, resample them with "
            "`dcm2niix FOLDER` and name the file that ends in _Eq_1");
    LOB_TRY(st);
    char **names;
    int64_t count;
    const lob_status taken = lob_dicom_found(&names, &count, c->made, ".nii")
                                 ? take_volume(c, names, count)
                                 : LOB_FAIL(c, LOB_ENOMEM, "no memory");
    lob_folder_paths_free(names, count);
    return taken == LOB_OK ? mend_tilt(c) : taken;
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
    free(c.in);
    free(c.made);
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
    free(k->path);
    free(k->series);
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
