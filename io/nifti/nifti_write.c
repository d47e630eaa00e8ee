/* Writing NIfTI files: one, or two that appear together. */
#include "io/formats.h"
#include "io/gzip.h"
#include "io/nifti/nifti_extensions.h"
#include "io/nifti/nifti_files.h"
#include "io/passing.h"
#include "volumes/bytes.h"
#include "volumes/free.h"

#include <stdlib.h>
#include <string.h>

/* The largest of n voxels, from 0 on. */
static double largest_of(const lob_volume *v, int64_t first, int64_t n)
{
    switch (v->type) {
#define LARGEST(type, ctype, name, integer, lowest, highest)                           \
    case type: {                                                                       \
        const ctype *const in = (const ctype *)v->data + first;                        \
        ctype max = 0;                                                                 \
        _Pragma("omp simd reduction(max : max)") for (int64_t i = 0; i < n; i++) max = \
            in[i] > max ? in[i] : max;                                                 \
        return (double)max;                                                            \
    }
        LOB_TYPE_LIST(LARGEST)
#undef LARGEST
    case LOB_TYPES:
        break;
    }
    return 0;
}

lob_status lob_nifti_largest(int64_t *largest, const lob_volume *v, int threads, const char *path,
                             lob_error *error)
{
    if (!lob_type_of(v->type)->is_integer || v->channels != 1)
        return lob_fail_file(error, LOB_EDATA, path,
                             "labels are whole numbers in one channel, not %s in %d",
                             lob_type_of(v->type)->name, v->channels);
    const int64_t voxels = lob_voxels(v), part = 1 << 20;
    double max = 0;
#pragma omp parallel for num_threads(threads < 1 ? 1 : threads) reduction(max : max)
    for (int64_t first = 0; first < voxels; first += part) {
        const double here = largest_of(v, first, voxels - first < part ? voxels - first : part);
        max = here > max ? here : max;
    }
    *largest = max < 0x1p53 ? (int64_t)max : (int64_t)1 << 53;
    return LOB_OK;
}

unsigned char *lob_nifti_make_head(size_t *bytes, const lob_nifti_type **type,
                                   const lob_volume *volume, int64_t largest, bool pair,
                                   const lob_write_options *options)
{
    unsigned char header[LOB_NIFTI_MAX_BYTES], *extensions;
    size_t after;
    if (lob_nifti_extensions(&extensions, &after, volume, options) != LOB_OK) return NULL;
    const lob_nifti_plan plan = {volume, options->labels, pair, largest,
                                 after - LOB_NIFTI_EXTENDER};
    const size_t size = lob_nifti_make(header, type, &plan);
    *bytes = size + after;
    unsigned char *const head = malloc(*bytes);
    if (head) {
        memcpy(head, header, size);
        memcpy(head + size, extensions, after);
    }
    free(extensions);
    return head;
}

/* The file or files that a volume is written to, and what comes before the voxels. */
typedef struct {
    lob_output header, whole; /* header: of a pair, complete; whole: where the voxels go */
    bool pair, gz;
    const lob_nifti_type *type;
    unsigned char *head; /* for the file with the voxels; empty in a pair */
    size_t head_bytes;
} target;

static void close_target(target *t)
{
    lob_output_abort(&t->header);
    lob_output_abort(&t->whole);
    free(t->head);
    t->head = NULL;
}

/* Make the head, and create the files; on failure t holds nothing. */
static lob_status open_target(target *t, const lob_volume *volume, int64_t largest,
                              const lob_location *where, const lob_write_options *options,
                              lob_error *error)
{
    const char *path = where->file;
    const bool is_image = lob_pair_image(path);
    *t = (target){.header = {.fd = -1}, .whole = {.fd = -1}};
    t->pair = is_image || lob_pair_header(path);
    t->gz = lob_has_suffix(path, ".gz");
    lob_status st = LOB_OK;
    t->head = lob_nifti_make_head(&t->head_bytes, &t->type, volume, largest, t->pair, options);
    char *other = t->pair ? lob_pair_other(path, t->gz) : NULL;
    if (!t->head || (t->pair && !other))
        st = lob_fail_file(error, LOB_ENOMEM, path, "no memory to write it");
    if (st == LOB_OK && t->pair) {
        st = lob_output_begin(&t->header, is_image ? other : path, options->force, error);
        if (st == LOB_OK && t->gz)
            st = lob_gzip_write(&t->header, t->head, t->head_bytes, options->level,
                                options->threads, options->compress_s, error);
        else if (st == LOB_OK)
            st = lob_output_write(&t->header, t->head, t->head_bytes, error);
        t->head_bytes = 0;
    }
    if (st == LOB_OK)
        st =
            lob_output_begin(&t->whole, t->pair && !is_image ? other : path, options->force, error);
    if (st != LOB_OK) close_target(t);
    free(other);
    return st;
}

static lob_status commit_target(target *t, lob_error *error)
{
    return t->pair ? lob_output_commit_pair(&t->header, &t->whole, error)
                   : lob_output_commit(&t->whole, error);
}

/* ---- writing planes ---- */

typedef struct {
    target target;
    lob_gzip_writer *gzip; /* NULL: not compressed */
    const lob_volume *volume;
    int threads;
} planes;

static void planes_abort(void *state)
{
    planes *p = state;
    lob_gzip_writer_free(p->gzip);
    close_target(&p->target);
    free(p);
}

static lob_status planes_put(void *state, const void *bytes, size_t n, lob_error *error)
{
    planes *p = state;
    return p->gzip ? lob_gzip_writer_put(p->gzip, bytes, n, error)
                   : lob_output_write(&p->target.whole, bytes, n, error);
}

/* All voxels, the colours of each side by side. */
static lob_status planes_put_colours(void *state, const void *bytes, size_t n, lob_error *error)
{
    planes *p = state;
    lob_volume whole = *p->volume;
    (void)n;
    whole.data = (void *)bytes;
    return lob_put_mixed(&whole, p->threads, planes_put, p, p->target.whole.path, error);
}

static lob_status planes_commit(void *state, lob_error *error)
{
    planes *p = state;
    const lob_status st = commit_target(&p->target, error);
    planes_abort(p);
    return st;
}

lob_status lob_nifti_begin_planes(lob_plane_sink *sink, const lob_volume *volume, int64_t largest,
                                  const lob_location *where, const lob_write_options *options,
                                  lob_error *error)
{
    planes *p = calloc(1, sizeof *p);
    if (!p) return lob_fail_file(error, LOB_ENOMEM, where->path, "no memory to write it");
    target *t = &p->target;
    p->volume = volume;
    p->threads = options->threads;
    lob_status st = open_target(t, volume, largest, where, options, error);
    const uint64_t bytes = (uint64_t)lob_volume_bytes(volume);
    if (st == LOB_OK && t->gz)
        st = lob_gzip_writer_begin(&p->gzip, &t->whole, t->head_bytes + bytes, options->level,
                                   options->threads, options->compress_s, error);
    if (st == LOB_OK) st = planes_put(p, t->head, t->head_bytes, error);
    if (st == LOB_OK)
        *sink = (lob_plane_sink){.state = p,
                                 .uncompressed = t->gz ? NULL : &t->whole,
                                 .put = t->type->channels > 1 ? planes_put_colours : planes_put,
                                 .commit = planes_commit,
                                 .discard = planes_abort};
    else
        planes_abort(p);
    return st;
}

/* ---- handing on without a file ---- */

lob_status lob_pass(lob_volume *out, lob_volume *volume, const char *name,
                    const lob_write_options *options, lob_error *error)
{
    int64_t largest = 0;
    *out = lob_volume_empty();
    LOB_TRY(lob_check_writable(volume, true, name, error));
    if (options->labels)
        LOB_TRY(lob_nifti_largest(&largest, volume, options->threads, name, error));

    const lob_nifti_type *type;
    lob_input file = {.size = 0};
    char *const same = strdup(name);
    unsigned char *const head =
        lob_nifti_make_head(&file.size, &type, volume, largest, false, options);
    file.bytes = head;
    lob_status st;
    if (same && head) {
        const lob_location where = {name, same, NULL};
        const lob_read_options options_of_head = {.threads = 1, .header_only = true};
        const lob_reading r = {&where, name, &file, &options_of_head, NULL, error};
        st = lob_format_nifti.read(out, &r);
    } else {
        st = lob_fail_file(error, LOB_ENOMEM, name, "out of memory");
    }
    if (st == LOB_OK && volume->frame == LOB_FRAME_ALL && out->frames > 1) {
        out->frame = LOB_FRAME_ALL;
        out->channels *= (int)out->frames;
    }
    if (st == LOB_OK && (out->type != volume->type || out->channels != volume->channels ||
                         !lob_same_dims(out->dims, volume->dims)))
        st = lob_fail_file(error, LOB_EINTERNAL, name, "its header reads other than it was made");
    LOB_FREE(head, same);
    if (st != LOB_OK) {
        lob_volume_free(out);
        return st;
    }
    out->data = volume->data;
    volume->data = NULL;
    return st;
}
