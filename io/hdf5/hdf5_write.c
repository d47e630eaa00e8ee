/* An HDF5 output: what is to be written, handed to the helper that writes it (hdf5_save.c). */
#include "io/hdf5/hdf5_messages.h"
#include "io/hdf5/sandbox.h"
#include "io/nifti/nifti_header.h"
#include "io/platform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The start of the first frame and the time between frames, in seconds where they are known. */
static void frame_times(lob_hdf5_target *t, const lob_volume *volume, const unsigned char *nifti)
{
    t->start_s = 0.0;
    t->step_s = volume->frame_step_s > 0.0 ? volume->frame_step_s : 1.0;
    if (!nifti) return;
    const int64_t unit = lob_nifti_int(nifti, LOB_NIFTI_xyzt_units, 0) & 0x38;
    const double second = unit == 16 ? 1e-3 : unit == 24 ? 1e-6 : 1.0; /* ms, us */
    const double tr = lob_nifti_real(nifti, LOB_NIFTI_pixdim, 4) * second;
    const double offset = lob_nifti_real(nifti, LOB_NIFTI_toffset, 0) * second;
    if (!(volume->frame_step_s > 0.0) && isfinite(tr) && tr > 0.0) t->step_s = tr;
    if (isfinite(offset)) t->start_s = offset;
}

/* The header that a .nii of the stored volume would have, where the input brought one. */
static unsigned char *make_nifti(size_t *bytes, const lob_hdf5_target *t, const lob_volume *volume,
                                 const lob_write_options *options)
{
    const char *const format = volume->header.format;
    if (!format || strcmp(format, lob_nifti_name) != 0) return NULL;
    lob_volume stored = *volume;
    const lob_nifti_type *type;
    int64_t largest = 0;
    stored.type = t->type;
    stored.slope = 1.0;
    stored.inter = 0.0;
    lob_write_options of_head = *options;
    of_head.labels = options->labels &&
                     lob_nifti_largest(&largest, volume, options->threads, "", NULL) == LOB_OK;
    unsigned char *const nifti =
        lob_nifti_make_head(bytes, &type, &stored, largest, false, &of_head);
    if (*bytes <= LOB_HDF5_MAX_NIFTI) return nifti;
    free(nifti);
    return NULL;
}

/* Why there is no outcome, or which. */
static lob_status take_outcome(lob_sandbox *box, const char *path, lob_error *error)
{
    lob_hdf5_outcome outcome;
    if (lob_sandbox_receive(box, &outcome, sizeof outcome, 0)) {
        lob_sandbox_finish(box, NULL);
        if (outcome.status == LOB_OK) return LOB_OK;
        if (outcome.status == LOB_ENOMEM)
            return lob_fail_file(error, LOB_ENOMEM, path, "out of memory");
        return lob_fail_file(error, LOB_EIO, path, "write failed: %s",
                             outcome.cause ? ERRNO_TEXT(outcome.cause) : "HDF5 could not write");
    }
    const lob_sandbox_end end = lob_sandbox_finish(box, NULL);
    const lob_status st = end == LOB_SANDBOX_INTERRUPTED ? LOB_ECANCEL
                          : end == LOB_SANDBOX_KILLED    ? LOB_ENOMEM
                                                         : LOB_EINTERNAL;
    return lob_fail_file(error, st, path, "the HDF5 writer ended early: %s", lob_status_text(st));
}

static lob_status write_to(const lob_output *output, const lob_volume *volume, const char *path,
                           const lob_write_options *options, lob_error *error)
{
    const lob_header *const header = &volume->header;
    const bool from_hdf5 = header->format == lob_format_hdf5.name && header->bytes;
    lob_hdf5_request request = {.task = LOB_HDF5_WRITE};
    lob_hdf5_plan(&request.target, volume, options);
    size_t nifti_bytes = 0;
    unsigned char *const nifti = make_nifti(&nifti_bytes, &request.target, volume, options);
    frame_times(&request.target, volume, nifti);
    const lob_output_part texts[LOB_HDF5_TEXTS] = {
        [LOB_HDF5_WHERE] = lob_hdf5_part(path),
        [LOB_HDF5_CARRIED] = {from_hdf5 ? header->bytes : NULL, header->size},
        [LOB_HDF5_NIFTI] = {nifti,                            nifti_bytes },
    };
    lob_sandbox box;
    lob_status st = lob_hdf5_ask(&box, &request, texts, output->fd, path, error);
    free(nifti);
    if (st != LOB_OK) return st;
    if (!lob_hdf5_pack(&box, &request.target, volume, options)) {
        lob_sandbox_finish(&box, NULL);
        return lob_fail_file(error, LOB_ENOMEM, path, "out of memory");
    }
    return take_outcome(&box, path, error);
}

lob_status lob_hdf5_write(const lob_volume *volume, const lob_location *where,
                          const lob_write_options *options, lob_error *error)
{
    if (where->inside)
        return lob_fail_file(error, LOB_EARG, where->path,
                             "an HDF5 output is a file of its own; leave out :%s", where->inside);
    lob_output output;
    LOB_TRY(lob_output_begin(&output, where->file, options->force, error));
    const lob_status st = write_to(&output, volume, where->path, options, error);
    return lob_output_end(&output, st, error);
}
