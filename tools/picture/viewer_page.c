/* Making the page with a viewer. */
#include "tools/picture/viewer_page.h"

#include "io/file.h"
#include "io/gzip.h"
#include "io/platform.h"
#include "kernels/regions/regions_sum.h"
#include "kernels/resample/resample.h"
#include "tools/text/json_text.h"
#include "tools/text/page_text.h"
#include "viewer_html.h"
#include "volumes/free.h"
#include "volumes/reorient.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef lob_viewer_page page;
typedef lob_preview_content content;

/* ---- the grid ---- */

/* Blocks of the fewest voxels, as near to cubes as can be, that leave few enough. */
static void choose_factors(int64_t factor[3], lob_dims *dims, const lob_geometry *g, int channels)
{
    const int64_t side[3] = {dims->nx, dims->ny, dims->nz};
    int64_t n[3] = {dims->nx, dims->ny, dims->nz};
    for (int a = 0; a < 3; a++) factor[a] = 1;
    while (lob_product(n[0], n[1], n[2], channels) < 0 ||
           lob_product(n[0], n[1], n[2], channels) > LOB_VIEWER_VOXELS) {
        int thin = -1;
        for (int a = 0; a < 3; a++)
            if (n[a] > 1 && (thin < 0 || g->spacing_mm[a] * (double)factor[a] <
                                             g->spacing_mm[thin] * (double)factor[thin]))
                thin = a;
        const int64_t f = ++factor[thin];
        n[thin] = (side[thin] + (f - 1) / 2) / f; /* the centre of each block lies in the volume */
        if (n[thin] < 1) n[thin] = 1;
    }
    *dims = (lob_dims){n[0], n[1], n[2]};
}

/* Every factor-th voxel, from the centre of the first block on. */
static void coarsen(lob_geometry *g, const int64_t factor[3])
{
    double shift[3], world[3];
    for (int a = 0; a < 3; a++) shift[a] = (double)(factor[a] - 1) / 2.0;
    lob_voxel_to_world(world, g, shift);
    for (int a = 0; a < 3; a++) {
        for (int row = 0; row < 3; row++) g->affine[row][a] *= (double)factor[a];
        g->spacing_mm[a] *= (double)factor[a];
        g->affine[a][3] = world[a];
    }
}

/* A volume whose file does not say how it lies keeps its axes. */
static lob_turn turn_of(const lob_geometry *g)
{
    char code[4];
    lob_turn turn;
    lob_orientation(code, g);
    for (int a = 0; a < 3; a++) {
        turn.axis[a] = lob_anatomical_axis(g, (lob_anatomical_plane)a);
        turn.backwards[a] = !g->unoriented && code[turn.axis[a]] != "RAS"[a];
    }
    return turn;
}

static void choose_grid(page *p, const content *c)
{
    const lob_volume *const v = &c->image;
    const lob_turn turn = turn_of(&v->geometry);
    p->geometry = lob_turned_geometry(&v->geometry, v->dims, &turn);
    p->dims = lob_turned_dims(v->dims, &turn);
    p->channels = c->image.channels == 3 ? 3 : 1;
    choose_factors(p->factor, &p->dims, &p->geometry, p->channels);
    coarsen(&p->geometry, p->factor);
    for (int a = 0; a < 3; a++) {
        const int old = turn.axis[a];
        const int64_t last = lob_side(v->dims, old) - 1, end = lob_side(p->dims, a) - 1;
        const int64_t at = (turn.backwards[a] ? last - c->at[old] : c->at[old]) / p->factor[a];
        p->at[a] = at < end ? at : end;
    }
}

/* ---- voxels ---- */

int64_t lob_viewer_page_bytes(const content *c)
{
    page p = {.scan = NULL};
    choose_grid(&p, c);
    const int64_t n = lob_dims_voxels(p.dims);
    return n * p.channels * ((int64_t)lob_type_of(c->image.type)->bytes + 2) +
           (c->labels.data ? n * (int64_t)lob_type_of(c->labels.type)->bytes : 0);
}

/* A volume on the page's grid; malloc'ed. */
static lob_status resampled(void **out, const page *p, const lob_volume *volume, int channels,
                            lob_resample_method method, const lob_context *context,
                            lob_error *error)
{
    lob_volume first =
        *volume; /* the other channels of a volume that has no colours are left out */
    first.channels = channels;
    const lob_resample_input in = {&first, p->dims, p->geometry};
    lob_resample_options options = lob_resample_defaults();
    options.method = method;
    const int64_t n = lob_dims_voxels(p->dims) * channels;
    *out = malloc((size_t)n * lob_type_of(volume->type)->bytes);
    if (!*out) return lob_fail(error, LOB_ENOMEM, "out of memory");
    return lob_resample_cpu(*out, &in, &options, context, error);
}

/* Store numbers of the image as 8 or 16 bits: those between the smallest and the largest one. */
static lob_status pack(page *p, const lob_volume *image, void *data, int threads, lob_error *error)
{
    const int64_t n = lob_dims_voxels(p->dims) * p->channels;
    const bool whole = lob_type_of(image->type)->is_integer;
    const lob_dims row = {n, 1, 1};
    const lob_volume all = {.data = data, .type = image->type, .dims = row, .channels = 1};
    const lob_extremes range = lob_extremes_of(&all, threads);
    const double wide = range.high - range.low;
    /* The ends divided apart: their difference may be larger than any number. */
    const bool exact = (whole && wide <= 65535) || !(wide > 0);
    const double step = exact ? 1.0 : range.high / 65535 - range.low / 65535;
    p->scan_bytes = whole && wide <= 255 ? 1 : 2;
    p->offset = image->slope * range.low + image->inter;
    p->step = image->slope * step;
    p->scan = malloc((size_t)n * (size_t)p->scan_bytes);
    if (!p->scan) return lob_fail(error, LOB_ENOMEM, "out of memory");
    for (int64_t i = 0; i < n; i++) {
        double v;
        lob_values(&v, data, image->type, i, 1);
        const double q = isfinite(v) ? floor(v / step - range.low / step + 0.5) : 0;
        if (p->scan_bytes == 1)
            ((uint8_t *)p->scan)[i] = (uint8_t)q;
        else
            ((uint16_t *)p->scan)[i] = (uint16_t)(q < 65535 ? q : 65535);
    }
    return LOB_OK;
}

lob_status lob_viewer_page_prepare(page *p, const content *c, const lob_context *context,
                                   lob_error *error)
{
    void *data = NULL;
    *p = (page){.scan = NULL};
    choose_grid(p, c);
    lob_status st =
        resampled(&data, p, &c->image, p->channels, LOB_RESAMPLE_LINEAR, context, error);
    if (st == LOB_OK) st = pack(p, &c->image, data, context->threads, error);
    free(data);
    LOB_TRY(st);
    if (!c->labels.data) return LOB_OK;
    p->label_type = c->labels.type;
    return resampled(&p->labels, p, &c->labels, 1, LOB_RESAMPLE_MAJORITY, context, error);
}

void lob_viewer_page_free(page *p)
{
    LOB_FREE(p->scan, p->labels);
    *p = (page){.scan = NULL};
}

/* ---- what the script is told ---- */

static cJSON *labels_json(const content *c)
{
    const double voxel_mm3 = lob_voxel_mm3(&c->labels.geometry);
    cJSON *const rows = cJSON_CreateArray();
    for (int32_t i = 1; c->labels.data && i <= c->set.count; i++) {
        const lob_label_name *const name =
            lob_label_names_find(&c->labels.names, c->set.values[i - 1]);
        const lob_colour k = c->colour[i];
        char colour[8];
        snprintf(colour, sizeof colour, "#%02x%02x%02x", k.red, k.green, k.blue);
        cJSON *const row = lob_json_row(rows);
        cJSON_AddNumberToObject(row, "label", c->set.values[i - 1]);
        cJSON_AddItemToObject(row, "name",
                              name ? cJSON_CreateString(name->name) : cJSON_CreateNull());
        cJSON_AddStringToObject(row, "colour", colour);
        cJSON_AddNumberToObject(row, "mm3", (double)c->set.voxels[i - 1] * voxel_mm3);
        cJSON_AddBoolToObject(row, "shown", c->shown[i]);
    }
    return rows;
}

/* A sentence where the page has fewer voxels than the scan; empty otherwise. */
static void scale_note(char *note, size_t size, const page *p, const content *c)
{
    const lob_dims d = c->image.dims;
    *note = '\0';
    if (p->factor[0] * p->factor[1] * p->factor[2] > 1)
        snprintf(note, size,
                 "Coarser than the scan, which has %" PRId64 " x %" PRId64 " x %" PRId64
                 " voxels: one voxel here is %" PRId64 " x %" PRId64 " x %" PRId64
                 " of its voxels. Volumes are those of the full resolution.",
                 d.nx, d.ny, d.nz, p->factor[0], p->factor[1], p->factor[2]);
}

static cJSON *about_json(const page *p, const content *c, const lob_preview *set)
{
    const int64_t dims[3] = {p->dims.nx, p->dims.ny, p->dims.nz};
    char note[400];
    scale_note(note, sizeof note, p, c);
    cJSON *const about = cJSON_CreateObject();
    cJSON_AddStringToObject(about, "image", lob_name_in_path(set->image));
    if (set->labels) cJSON_AddStringToObject(about, "segmentation", lob_name_in_path(set->labels));
    lob_json_integers(about, "dims", dims);
    cJSON_AddItemToObject(about, "spacing_mm", cJSON_CreateDoubleArray(p->geometry.spacing_mm, 3));
    cJSON *const affine = cJSON_AddArrayToObject(about, "affine");
    for (int row = 0; row < 3; row++)
        cJSON_AddItemToArray(affine, cJSON_CreateDoubleArray(p->geometry.affine[row], 4));
    cJSON_AddBoolToObject(about, "oriented", !p->geometry.unoriented);
    cJSON_AddBoolToObject(about, "neurological", set->convention == 1);
    LOB_JSON_NUMBERS(about, {"channels", p->channels}, {"scan_bytes", p->scan_bytes},
                     {"label_bytes", lob_type_of(p->label_type)->bytes}, {"offset", p->offset},
                     {"step", p->step});
    cJSON_AddItemToObject(about, "window", cJSON_CreateDoubleArray(c->overlay.window, 2));
    lob_json_integers(about, "at", p->at);
    cJSON_AddNumberToObject(about, "alpha", set->alpha);
    cJSON_AddBoolToObject(about, "outlines", set->contour != 0);
    cJSON_AddStringToObject(about, "note", note);
    cJSON_AddItemToObject(about, "labels", labels_json(c));
    return about;
}

/* ---- the file ---- */

/* A file's bytes as base64, in pieces of whole groups of three. */
static lob_status put_base64(lob_output *out, int fd, lob_error *error)
{
    enum { PIECE = 3 << 16 };
    lob_about about;
    const size_t size = lob_about_open(&about, fd) ? (size_t)about.bytes : 0;
    unsigned char *const bytes = lob_map(fd, size);
    if (!bytes) return lob_fail_file(error, LOB_EIO, out->path, "%s", ERRNO_TEXT(errno));
    lob_status st = LOB_OK;
    for (size_t at = 0; st == LOB_OK && at < size; at += PIECE) {
        char *const text = lob_base64(bytes + at, size - at < PIECE ? size - at : PIECE);
        st = text ? lob_output_write(out, text, strlen(text), error)
                  : lob_fail_file(error, LOB_ENOMEM, out->path, "out of memory");
        free(text);
    }
    lob_unmap(bytes, size);
    return st;
}

/* A member of the page's JSON. The voxels are compressed into a file of no name first, since the
 * writer of gzip writes files. */
static lob_status put_voxels(lob_output *out, const char *member, const void *bytes, size_t size,
                             int threads, double *compress_s, lob_error *error)
{
    enum { LEVEL = 6 };
    lob_output packed;
    LOB_TRY(lob_output_write(out, member, strlen(member), error));
    LOB_TRY(lob_output_begin(&packed, out->path, true, error));
    lob_status st = lob_gzip_write(&packed, bytes, size, LEVEL, threads, compress_s, error);
    if (st == LOB_OK) st = put_base64(out, packed.fd, error);
    lob_output_abort(&packed);
    return st == LOB_OK ? lob_output_write(out, "\"", 1, error) : st;
}

lob_status lob_viewer_page_write(const page *p, const content *c, const lob_preview *set,
                                 const char *path, bool force, int threads, double *compress_s,
                                 lob_error *error)
{
    const size_t n = (size_t)lob_dims_voxels(p->dims);
    lob_output out;
    LOB_TRY(lob_page_begin(&out, path, force, viewer_html, about_json(p, c, set), error));
    lob_status st =
        put_voxels(&out, ",\"scan_voxels\":\"", p->scan, n * (size_t)(p->channels * p->scan_bytes),
                   threads, compress_s, error);
    if (st == LOB_OK && p->labels)
        st = put_voxels(&out, ",\"label_voxels\":\"", p->labels,
                        n * lob_type_of(p->label_type)->bytes, threads, compress_s, error);
    return lob_page_end(&out, viewer_html, st, error);
}
