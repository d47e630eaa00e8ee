/* What `lobule supervoxels` by several tasks will hold and send: for --plan, and what fits. */
#include "tools/commands/supervoxels/supervoxels_work.h"
#include "tools/table/region_list.h"
#include "volumes/free.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Voxels of a supervoxel, where the spacing allows its size. */
static double nominal_voxels(const lob_supervoxels_work *w)
{
    const lob_volume *const image = &w->image;
    const int across = w->options.slice_axis;
    double voxels = 1, sides = 1;
    for (int a = 0; a < 3; a++) {
        if (a == across) continue;
        const double side = (double)lob_side(image->dims, a);
        const double cell = w->options.size_mm / image->geometry.spacing_mm[a];
        sides *= side;
        voxels *= fmin(side, fmax(1, cell));
    }
    return w->options.count > 0 ? fmax(1, sides / (double)w->options.count) : voxels;
}

/* Planes that a supervoxel spans. */
static double nominal_planes(const lob_supervoxels_work *w)
{
    const int across = w->options.slice_axis;
    return across == 2 ? 1 : pow(nominal_voxels(w), across < 0 ? 1.0 / 3 : 0.5);
}

/* ---- a sample ---- */

/* Of the volume, or what is guessed of it. */
typedef struct {
    double pieces, supervoxels;
} counts;

/* Some rows of the planes in the middle. */
typedef struct {
    lob_volume image;
    uint8_t *mask;
    int64_t y, z; /* where it begins */
} sample;

static int64_t at_most(int64_t side, double wanted)
{
    return wanted < 1 ? 1 : wanted < (double)side ? (int64_t)wanted : side;
}

/* Two cells thick along z, and as wide along y as a second or two allows. */
static lob_dims sides_of(const lob_supervoxels_work *w)
{
    enum { CELLS = 2, VOXELS = 1 << 22 };
    const lob_dims d = w->image.dims;
    const double rows = fmax(1, VOXELS / (double)d.nx);
    const int64_t nz = at_most(d.nz, fmin(rows, ceil(CELLS * nominal_planes(w))));
    return (lob_dims){d.nx, at_most(d.ny, rows / (double)nz), nz};
}

static lob_status read_sample(lob_session *s, sample *p, const lob_slabs *slabs)
{
    const lob_volume *const image = &p->image, *const file = &slabs->file.volume;
    const lob_box box = {
        {0,              p->y,           p->z          },
        {image->dims.nx, image->dims.ny, image->dims.nz}
    };
    const int64_t n = lob_voxels(image), each = n * (int64_t)lob_type_of(file->type)->bytes;
    const int channel = slabs->channel > 0 ? slabs->channel : 0;
    lob_volume mask = slabs->mask_file.volume;
    unsigned char *const all = lob_session_array(s, each, (size_t)file->channels, slabs->path);
    lob_status st = all ? lob_planes_get_box(slabs->file.planes, all, &box, &s->error) : LOB_ENOMEM;
    if (st == LOB_OK) memcpy(image->data, all + channel * each, (size_t)(image->channels * each));
    free(all);
    if (st != LOB_OK || !slabs->mask) return st;
    mask.data = lob_session_array(s, n, lob_type_of(mask.type)->bytes, slabs->mask);
    st = mask.data ? lob_planes_get_box(slabs->mask_file.planes, mask.data, &box, &s->error)
                   : LOB_ENOMEM;
    if (st == LOB_OK) lob_grid_mask_bytes(p->mask, &mask, n);
    free(mask.data);
    return st;
}

/* Cut it, and count for the whole volume. What cannot be cut, as where nothing is data, tells
 * nothing. */
static lob_status cut_sample(const lob_session *s, counts *c, const lob_supervoxels_work *w,
                             const sample *p, int32_t *labels)
{
    const lob_dims all = w->image.dims, part = p->image.dims;
    const int across = w->options.slice_axis;
    const double y = (double)part.ny / (double)all.ny, z = (double)part.nz / (double)all.nz;
    const lob_supervoxels_input in = {.image = &p->image, .mask = p->mask};
    lob_supervoxels_options options = w->options;
    lob_supervoxels_stats stats;
    lob_error error;
    options.count =
        (int64_t)ceil((double)options.count * (across == 1 ? 1 : y) * (across == 2 ? 1 : z));
    const lob_status st = lob_supervoxels_cpu(labels, &stats, &in, &options, &s->context, &error);
    if (st == LOB_OK)
        *c = (counts){(double)stats.fragments / (y * z), (double)stats.supervoxels / (y * z)};
    return st == LOB_ECANCEL ? st : LOB_OK;
}

static lob_status look_at_sample(lob_session *s, counts *c, const lob_supervoxels_work *w,
                                 lob_slabs *slabs)
{
    const lob_dims all = w->image.dims;
    sample p = {.image = w->image};
    p.image.header = (lob_header){.bytes = NULL};
    p.image.names = (lob_label_names){0};
    p.image.dims = sides_of(w);
    p.y = (all.ny - p.image.dims.ny) / 2;
    p.z = (all.nz - p.image.dims.nz) / 2;
    const int64_t n = lob_voxels(&p.image);
    const size_t bytes = (size_t)p.image.channels * lob_type_of(p.image.type)->bytes;
    int32_t *const labels = lob_session_array(s, n, sizeof *labels, slabs->path);
    p.image.data = lob_session_array(s, n, bytes, slabs->path);
    if (slabs->mask) p.mask = lob_session_array(s, n, 1, slabs->path);
    lob_status st = labels && p.image.data && (p.mask || !slabs->mask) ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) st = read_sample(s, &p, slabs);
    if (st == LOB_OK) st = cut_sample(s, c, w, &p, labels);
    LOB_FREE(labels, p.image.data, p.mask);
    return st;
}

/* ---- what follows ---- */

/* What crosses a seam, for a voxel of it: clusters and pieces on both sides, and in each iteration
 * the sums of two or three layers of cells, both ways. */
static double seam_bytes(const lob_supervoxels_work *w)
{
    enum { CLUSTER = 4, SUM = 8, LABEL = 4 };
    const int across = w->options.slice_axis, channels = w->image.channels;
    const int features = w->options.method == LOB_LSC ? 6 + 2 * channels : channels;
    const double cells = pow(nominal_voxels(w), across == 2 ? -1 : across >= 0 ? -0.5 : -2.0 / 3);
    const int planes = across == 2 ? 2 : 4, layers = across == 2 ? 2 : 3;
    const int beside =
        (w->boundaries_path != NULL) + (w->graph != NULL) + (lob_supervoxels_needs(w) != 0);
    return planes * CLUSTER + 2.0 * LABEL * beside +
           2.0 * layers * SUM * (4 + features) * cells * w->options.iterations;
}

int lob_supervoxels_needs(const lob_supervoxels_work *w)
{
    return w->table ? lob_region_columns_needs(w->columns) : 0;
}

bool lob_supervoxels_holds(const lob_session *s)
{
    return strcmp(s->device.backend, "cuda") != 0 || s->max_memory > 0;
}

lob_status lob_supervoxels_expect(lob_session *s, lob_supervoxels_work *w)
{
    lob_slabs *const slabs = &w->slabs;
    /* Pieces of a cluster: noise makes more, and gentle images fewer. Then contacts of a
     * supervoxel. */
    enum { NUMBER = 4, PIECES = 4, CONTACTS = 7 };
    const double voxels = (double)lob_voxels(&w->image), nominal = nominal_voxels(w);
    const int channels = w->image.channels;
    const int64_t planned = slabs->plan < w->image.dims.nz ? slabs->plan : w->image.dims.nz;
    const double tasks = planned > 0 ? (double)planned : lob_team_size(s->team);
    counts c = {fmin(PIECES * voxels / nominal, voxels), voxels / nominal};
    if (slabs->plan > 0) LOB_TRY(look_at_sample(s, &c, w, slabs));
    /* Size, sums and links of each piece, and before they join what all tasks tell of theirs. */
    const double sums = 16 + 8.0 * channels, links = 8 + 6.0 * channels;
    const bool join = w->options.smallest * nominal > 1; /* else numbers alone are held */
    const double piece = join ? sums + links : NUMBER;
    const double joining = lob_supervoxels_holds(s) ? c.pieces * piece : 0;
    /* Of a supervoxel, a row for each channel, the first with what shapes need, and its contacts;
     * held by the first task, which sorts them. */
    const int needs = lob_supervoxels_needs(w);
    const double plain = (double)lob_region_row_bytes(0),
                 full = (double)lob_region_row_bytes(needs);
    const double row = w->mean_path || w->graph || w->table ? full : 0;
    const double rows = w->mean_path || w->graph ? row + plain * (channels - 1) : row;
    const double corners = (w->options.slice_axis < 0 ? 11 : 6) * pow(nominal, 0.25); /* measured */
    const double contacts = (w->graph ? CONTACTS * sizeof(lob_contact) : 0) +
                            (needs & LOB_COLUMN_NEIGHBOURS ? CONTACTS * sizeof(int64_t) : 0) +
                            (needs & LOB_COLUMN_HULL ? corners * sizeof(lob_hull_corner) : 0);
    /* In each phase what small sets pick: as measured, somewhat more often than sets join. */
    const double picks = 1.35 * 8 * fmax(0, c.pieces - c.supervoxels);
    double sent = join ? tasks * (c.pieces * sums + picks) : 0;
    /* Those that a seam cuts are told of twice. */
    const double cut = (nominal_planes(w) - 1) * (tasks - 1) / (double)w->image.dims.nz;
    sent += c.supervoxels *
            ((1 + cut) * (rows + contacts) + (w->mean_path ? 8.0 * tasks * channels : 0));
    slabs->common_bytes = (int64_t)fmax(joining, c.supervoxels * (3 * row + 2 * contacts));
    slabs->seam_bytes = (int64_t)ceil(seam_bytes(w));
    slabs->moved_bytes = sent / voxels;
    return LOB_OK;
}
