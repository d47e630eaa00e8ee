/* Labels as a DICOM SEG, by dcmqi's itkimage2segimage. */
#include "io/dicom/dicom.h"
#include "io/dicom/dicom_run.h"
#include "io/dicom/seg_codes.h"
#include "io/file.h"
#include "io/format.h"
#include "io/platform.h"
#include "volumes/free.h"
#include "volumes/labels.h"
#include "volumes/reorient.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The program counts labels in 16 bits. */
enum { MOST_LABELS = 32767 };

/* A SEG on its way. */
typedef struct {
    const char *path;
    const lob_write_options *options;
    lob_error *error;
    lob_volume labels; /* numbered from 1, as the scan's images lie */
    lob_label_set set;
    lob_scratch scratch;
    char *in, *made; /* folders in it */
} seg;

static lob_status no_memory(const seg *g)
{
    return LOB_FAIL(g, LOB_ENOMEM, "no memory");
}

static lob_read_options how_to_read(const lob_write_options *options)
{
    lob_read_options how = lob_read_defaults();
    how.header_only = true;
    how.series = options->series;
    how.converted = options->converted;
    how.stop = options->stop;
    how.user = options->user;
    return how;
}

/* The labels' own copy, with numbers from 1 on. */
static lob_status copy_labels(seg *g, const lob_volume *labels)
{
    const size_t bytes = (size_t)lob_voxels(labels) * lob_type_of(labels->type)->bytes;
    LOB_TRY(lob_volume_like(&g->labels, labels, labels->type, 1));
    memcpy(g->labels.data, labels->data, bytes);
    g->labels.slope = labels->slope;
    g->labels.inter = labels->inter;
    LOB_TRY(lob_labels_dense(&g->labels, &g->set, g->path, g->error));
    if (g->set.count == 0)
        return LOB_FAIL(g, LOB_EDATA,
                        "there is no label to write, and a DICOM SEG has one at the least");
    if (g->set.count <= MOST_LABELS) return LOB_OK;
    return LOB_FAIL(g, LOB_EDATA, "a DICOM SEG holds %d labels, not %d", MOST_LABELS, g->set.count);
}

/*
 * Lay the labels as the scan's images lie. The scan is read as dcm2niix writes it: columns and
 * slices as they are, rows from the last to the first.
 */
static lob_status turn_labels(seg *g)
{
    static const lob_turn rows_back = {
        .axis = {0,     1,    2    },
          .backwards = {false, true, false}
    };
    const lob_read_options how = how_to_read(g->options);
    const char *const like = g->options->like;
    lob_volume scan;
    lob_turn turn;
    LOB_TRY(lob_read(&scan, like, &how, NULL, g->error));
    const bool fits = lob_turn_onto(&turn, &g->labels, &scan);
    lob_volume_free(&scan);
    if (!fits)
        return lob_fail_file_hint(g->error, LOB_EDATA, LOB_HINT_RESAMPLE, g->path,
                                  "labels and the scan %s have different grids", like);
    if (lob_volume_reorient(&g->labels, &turn) != LOB_OK ||
        lob_volume_reorient(&g->labels, &rows_back) != LOB_OK)
        return no_memory(g);
    return LOB_OK;
}

/* What the program reads besides the images: labels and what they are called. */
static lob_status put_inputs(seg *g)
{
    const lob_label_name **const rows = calloc((size_t)g->set.count, sizeof(void *));
    lob_write_options fast = lob_write_defaults();
    char *volume = NULL, *about = NULL, *text = NULL;
    lob_status st = LOB_ENOMEM;
    fast.level = 1;
    for (int32_t i = 0; rows && i < g->set.count; i++)
        rows[i] = lob_label_names_find(&g->labels.names, g->set.values[i]);
    if (rows) text = lob_seg_metadata(rows, g->set.values, g->set.count);
    if (text && asprintf(&volume, "%s/labels.nrrd", g->made) < 0) volume = NULL;
    if (volume && asprintf(&about, "%s/about.json", g->made) < 0) about = NULL;
    if (about) st = lob_write(&g->labels, volume, &fast, g->error);
    if (st == LOB_OK)
        st = lob_output_whole(about, false, &(lob_output_part){text, strlen(text)}, 1, g->error);
    LOB_FREE(volume, about, text, rows);
    return st == LOB_ENOMEM ? no_memory(g) : st;
}

static lob_status run(seg *g, const lob_dicom_series *series)
{
    const lob_dicom_run of = {
        .program = &lob_itkimage2segimage,
        .words = {"--inputImageList", "labels.nrrd", "--inputDICOMDirectory", "../in",
                  "--inputMetadata", "about.json", "--outputDICOM", "seg.dcm"},
        .folder = g->made,
        .series = series,
        .bytes = series->file_bytes + lob_voxels(&g->labels) * g->set.count / 8,
        .stop = g->options->stop,
        .user = g->options->user,
        .path = g->path
    };
    return lob_dicom_run_it(NULL, &of, g->error);
}

static lob_status take_output(seg *g)
{
    char *file;
    lob_input made;
    if (asprintf(&file, "%s/seg.dcm", g->made) < 0) return no_memory(g);
    lob_status st = lob_input_open(&made, file, NULL);
    free(file);
    if (st != LOB_OK) return LOB_FAIL(g, LOB_EDATA, "itkimage2segimage has written nothing");
    st = lob_output_whole(g->path, g->options->force, &(lob_output_part){made.bytes, made.size}, 1,
                          g->error);
    lob_input_close(&made);
    return st;
}

static lob_status make(seg *g, const lob_volume *labels, const lob_dicom_series *series)
{
    LOB_TRY(copy_labels(g, labels));
    LOB_TRY(turn_labels(g));
    LOB_TRY(lob_scratch_begin(&g->scratch, g->error));
    g->in = lob_dicom_links(&g->scratch, series, g->options->like, g->error);
    if (!g->in) return LOB_ECREATE;
    g->made = lob_scratch_folder(&g->scratch, "out");
    if (!g->made) return no_memory(g);
    LOB_TRY(put_inputs(g));
    LOB_TRY(run(g, series));
    return take_output(g);
}

/* A DICOM SEG that refers to the images of the series that options->like names. */
static lob_status write_series(const lob_volume *labels, const char *path,
                               const lob_write_options *options, lob_error *error)
{
    if (!options->like)
        return lob_fail_file_hint(error, LOB_EARG, LOB_HINT_LIKE, path,
                                  "a DICOM SEG refers to the images of a scan");
    seg g = {.path = path, .options = options, .error = error, .scratch.lock = -1};
    const lob_dicom_series *series;
    lob_dicom_list list;
    int volume;
    LOB_TRY(lob_dicom_list_of(&list, options->like, options->stop, options->user, error));
    const char *const wanted = lob_is_folder(options->like) ? options->series : NULL;
    lob_status st = lob_dicom_choose(&series, &volume, &list, wanted, options->like, error);
    if (st == LOB_OK) st = make(&g, labels, series);
    lob_scratch_end(&g.scratch);
    lob_volume_free(&g.labels);
    lob_label_set_free(&g.set);
    lob_dicom_list_free(&list);
    LOB_FREE(g.in, g.made);
    return st;
}

/* ---- the format's row ---- */

static const char *const suffixes[] = {".dcm", NULL};

static lob_status holds(const lob_volume *volume, const lob_location *where, lob_error *error)
{
    if (volume->channels == 1 && lob_type_of(volume->type)->is_integer) return LOB_OK;
    return lob_fail_file(
        error, LOB_EDATA, where->path,
        "a DICOM SEG holds labels, whole numbers in one channel; write an image as "
        ".nii.gz");
}

static lob_status write_seg(const lob_volume *volume, const lob_location *where,
                            const lob_write_options *options, lob_error *error)
{
    LOB_TRY(holds(volume, where, error));
    return write_series(volume, where->file, options, error);
}

const lob_format lob_format_dicom = {
    .name = "DICOM SEG",
    .suffixes = suffixes,
    .write = write_seg,
    .holds = holds,
    .keeps_names = "",
};
