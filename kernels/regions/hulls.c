/*
 * Convex hulls of regions. The corners of voxels are points with odd coordinates, counted in half
 * voxels. Each plane of corners is first brought down to its own hull, then points are added to a
 * hull in space one after another: the faces that see a point give way to a cone from their rim.
 * Points come in no order, so few faces see one, a handful on average. Signs are exact, and a face
 * sees no point of its own plane, so no face is ever without area: a point in line with an edge of
 * the rim would lie in the plane of a face that sees it. The hull of a region in slabs is that of
 * the corners of its slabs' hulls.
 */
#include "kernels/progress.h"
#include "kernels/regions/shape_slabs.h"
#include "volumes/free.h"
#include "volumes/labels.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 int128;

enum { MAX_SIDE = 1 << 18 }; /* so that products of three coordinates fit 64 bits */

typedef struct {
    int64_t x, y, z;
    int32_t octants; /* as lob_hull_corner has them; 0: the voxels say */
    bool is_corner;  /* of a face */
} point;

/* A triangle, counterclockwise from outside. */
typedef struct {
    int32_t corner[3];
    point normal;
    int64_t offset; /* dot(normal, corner) */
} face;

typedef struct {
    int32_t from, to;
} edge;

/* The work on one region; arrays grow. */
typedef struct {
    const lob_regions_input *in;
    const lob_region *region;
    int32_t label;
    point *points;
    face *faces;
    edge *rim; /* of what a point cuts away: room for three of each face */
    int64_t count, face_count;
    int64_t most_faces; /* that there were at once; there is room for these */
    bool short_of_memory;
} hull;

static point minus(point a, point b)
{
    return (point){.x = a.x - b.x, .y = a.y - b.y, .z = a.z - b.z};
}

static point cross(point a, point b)
{
    return (point){
        .x = a.y * b.z - a.z * b.y, .y = a.z * b.x - a.x * b.z, .z = a.x * b.y - a.y * b.x};
}

static int64_t dot(point a, point b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* ---- points ---- */

static void add_point(hull *h, point p)
{
    if (lob_grow(&h->points, h->count, sizeof p))
        h->points[h->count++] = p;
    else
        h->short_of_memory = true;
}

/* Drop the last point while it makes no turn with the one before and p; `first` is the chain's. */
static void add_to_chain(hull *h, int64_t first, point p, int64_t turn)
{
    while (h->count - first >= 2) {
        const point a = h->points[h->count - 2], b = h->points[h->count - 1];
        if (turn * ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)) > 0) break;
        h->count--;
    }
    add_point(h, p);
}

/* The first and the last voxel of the label in a row of its box, from 0; false: there is none. */
static bool row_ends(int64_t *x0, int64_t *x1, const hull *h, int64_t y, int64_t z)
{
    const lob_region *const r = h->region;
    const lob_regions_input *const in = h->in;
    if (z < 0 || z > r->high[2] - r->low[2]) return false;
    const int64_t side = (int64_t)r->high[0] - r->low[0] + 1;
    const int64_t first = ((z + r->low[2]) * in->dims.ny + y + r->low[1]) * in->dims.nx + r->low[0];
    int64_t low = 0, high = side - 1;
    while (low < side && lob_label_at(in->labels, in->type, first + low) != h->label) low++;
    if (low == side) return false;
    while (lob_label_at(in->labels, in->type, first + high) != h->label) high--;
    *x0 = low;
    *x1 = high;
    return true;
}

/* The hull of the corners between slices z - 1 and z of the box, at height 2 z - 1: two chains, of
 * the ends of rows to the left and to the right. */
static void add_level(hull *h, int64_t z, int64_t *ends)
{
    const int64_t ny = (int64_t)h->region->high[1] - h->region->low[1] + 1;
    for (int64_t y = 0; y <= ny; y++) ends[2 * y] = INT64_MAX, ends[2 * y + 1] = INT64_MIN;
    for (int64_t y = 0; y < ny; y++)
        for (int64_t k = z - 1; k <= z; k++) {
            int64_t x0, x1;
            if (!row_ends(&x0, &x1, h, y, k)) continue;
            for (int64_t c = y; c <= y + 1; c++) { /* corners at 2 c - 1 */
                if (2 * x0 - 1 < ends[2 * c]) ends[2 * c] = 2 * x0 - 1;
                if (2 * x1 + 1 > ends[2 * c + 1]) ends[2 * c + 1] = 2 * x1 + 1;
            }
        }
    for (int side = 0; side < 2; side++) {
        const int64_t first = h->count;
        for (int64_t y = 0; y <= ny; y++)
            if (ends[2 * y] != INT64_MAX)
                add_to_chain(h, first,
                             (point){.x = ends[2 * y + side], .y = 2 * y - 1, .z = 2 * z - 1},
                             side ? 1 : -1);
    }
}

/* In an order that follows from their number alone: sorted points make the most faces. */
static void shuffle(hull *h)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (int64_t i = h->count - 1; i > 0; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const int64_t k = (int64_t)(state % (uint64_t)(i + 1));
        const point other = h->points[k];
        h->points[k] = h->points[i];
        h->points[i] = other;
    }
}

/* ---- faces ---- */

static void add_face(hull *h, int32_t a, int32_t b, int32_t c)
{
    const point *const p = h->points;
    const point normal = cross(minus(p[b], p[a]), minus(p[c], p[a]));
    if (h->face_count == h->most_faces) {
        h->short_of_memory |= !lob_grow(&h->faces, h->most_faces, sizeof *h->faces) ||
                              !lob_grow(&h->rim, h->most_faces, 3 * sizeof *h->rim);
        if (h->short_of_memory) return;
        h->most_faces++;
    }
    h->faces[h->face_count++] = (face){
        {a, b, c},
        normal, dot(normal, p[a])
    };
}

/* Four points that span space, brought to the front. Corners of a voxel do. */
static void find_start(hull *h)
{
    point *const p = h->points;
    for (int want = 1; want < 4; want++)
        for (int64_t i = want; i < h->count; i++) {
            const point d = minus(p[i], p[0]);
            const point n =
                want > 1 ? cross(minus(p[1], p[0]), want > 2 ? minus(p[2], p[0]) : d) : d;
            if (want < 3 ? !(n.x | n.y | n.z) : dot(n, d) == 0) continue;
            const point other = p[want];
            p[want] = p[i];
            p[i] = other;
            break;
        }
    if (dot(cross(minus(p[1], p[0]), minus(p[2], p[0])), minus(p[3], p[0])) < 0) {
        const point other = p[1];
        p[1] = p[2];
        p[2] = other;
    }
}

/* Take an edge into the n of a rim, or its other side out: both faces beside it are cut away. */
static int64_t cut_edge(edge *rim, int64_t n, int32_t from, int32_t to)
{
    for (int64_t i = 0; i < n; i++)
        if (rim[i].from == to && rim[i].to == from) {
            rim[i] = rim[n - 1];
            return n - 1;
        }
    rim[n] = (edge){from, to};
    return n + 1;
}

/* Add point number p: cut away the faces that see it, and put a cone on their rim. */
static void add_to_hull(hull *h, int32_t p)
{
    int64_t n = 0;
    for (int64_t i = 0; i < h->face_count;) {
        const face *const g = &h->faces[i];
        if (dot(g->normal, h->points[p]) <= g->offset) {
            i++;
            continue;
        }
        for (int k = 0; k < 3; k++) n = cut_edge(h->rim, n, g->corner[k], g->corner[(k + 1) % 3]);
        h->faces[i] = h->faces[--h->face_count];
    }
    for (int64_t i = 0; i < n; i++) add_face(h, h->rim[i].from, h->rim[i].to, p);
}

/* Six times the volume, in half voxels: tetrahedra from point 0, a corner of some face. */
static double six_volumes(const hull *h)
{
    int128 sum = 0;
    for (int64_t i = 0; i < h->face_count; i++)
        sum += h->faces[i].offset - dot(h->faces[i].normal, h->points[0]);
    return (double)sum;
}

/* ---- the largest distance ---- */

/* A voxel beside a corner of the hull, in voxels from the box's low corner and in mm. */
typedef struct {
    int32_t at[3];
    double mm[3];
} end_voxel;

static int by_place(const void *a, const void *b)
{
    const int32_t *const x = ((const end_voxel *)a)->at, *const y = ((const end_voxel *)b)->at;
    for (int i = 2; i >= 0; i--)
        if (x[i] != y[i]) return (x[i] > y[i]) - (x[i] < y[i]);
    return 0;
}

/* One of the eight voxels around a corner. */
static void voxel_at(int32_t at[3], point c, int octant)
{
    at[0] = (int32_t)((c.x + (octant & 1 ? 1 : -1)) / 2);
    at[1] = (int32_t)((c.y + (octant & 2 ? 1 : -1)) / 2);
    at[2] = (int32_t)((c.z + (octant & 4 ? 1 : -1)) / 2);
}

static bool is_labelled(const hull *h, const int32_t at[3])
{
    const lob_region *const r = h->region;
    for (int a = 0; a < 3; a++)
        if (at[a] < 0 || at[a] > r->high[a] - r->low[a]) return false;
    const lob_dims d = h->in->dims;
    const int64_t i =
        ((int64_t)(at[2] + r->low[2]) * d.ny + at[1] + r->low[1]) * d.nx + at[0] + r->low[0];
    return lob_label_at(h->in->labels, h->in->type, i) == h->label;
}

static int by_corner(const void *a, const void *b)
{
    const lob_hull_corner *const p = a, *const q = b;
    if (p->label != q->label) return p->label < q->label ? -1 : 1;
    if (p->z != q->z) return p->z < q->z ? -1 : 1;
    if (p->y != q->y) return p->y < q->y ? -1 : 1;
    return (p->x > q->x) - (p->x < q->x);
}

/* Which of the voxels around a corner are the region's? */
static int32_t octants_of(const hull *h, point c)
{
    int32_t octants = c.octants, at[3];
    for (int octant = 0; !c.octants && octant < 8; octant++) {
        voxel_at(at, c, octant);
        if (is_labelled(h, at)) octants |= 1 << octant;
    }
    return octants;
}

/* Keep only the points that faces have as corners; the faces are of no use then. */
static void keep_corners(hull *h)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < h->face_count; i++)
        for (int k = 0; k < 3; k++) h->points[h->faces[i].corner[k]].is_corner = true;
    for (int64_t i = 0; i < h->count; i++)
        if (h->points[i].is_corner) h->points[kept++] = h->points[i];
    h->count = kept;
}

/*
 * The voxels beside the hull's corners, each once. The hull of the voxels' centres has its corners
 * among them: the normals of each such corner fill a cone, part of which lies in some octant, and
 * that corner of the voxel is one of the hull.
 */
static int64_t find_ends(end_voxel **out, hull *h, const lob_geometry *g)
{
    int64_t count = 0, kept = 0;
    end_voxel *const ends = malloc((size_t)h->count * 8 * sizeof *ends);
    *out = ends;
    if (!ends) h->short_of_memory = true;
    for (int64_t i = 0; ends && i < h->count; i++) {
        const point c = h->points[i];
        const int32_t octants = octants_of(h, c);
        for (int octant = 0; octant < 8; octant++)
            if (octants & 1 << octant) voxel_at(ends[count++].at, c, octant);
    }
    if (count > 0) qsort(ends, (size_t)count, sizeof *ends, by_place);
    for (int64_t i = 0; i < count; i++) {
        if (kept > 0 && by_place(&ends[i], &ends[kept - 1]) == 0) continue;
        ends[kept] = ends[i];
        for (int a = 0; a < 3; a++)
            ends[kept].mm[a] = g->affine[a][0] * ends[i].at[0] + g->affine[a][1] * ends[i].at[1] +
                               g->affine[a][2] * ends[i].at[2];
        kept++;
    }
    return kept;
}

/* The largest distance between middles of faces; a face lies half a step from the centre. */
static double feret_of(const end_voxel *ends, int64_t count, const lob_shape_frame *f)
{
    double half[6][3], reach = 0.0, best = 0.0, largest = 0.0;
    int faces = 0;
    for (int a = 0; a < 3; a++) {
        if (a == f->flat) continue;
        for (int sign = -1; sign <= 1; sign += 2, faces++)
            for (int r = 0; r < 3; r++) half[faces][r] = 0.5 * sign * f->geometry->affine[r][a];
        reach = fmax(reach, f->geometry->spacing_mm[a]);
    }
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = i; k < count; k++) {
            double d[3], squared = 0.0;
            for (int r = 0; r < 3; r++) {
                d[r] = ends[k].mm[r] - ends[i].mm[r];
                squared += d[r] * d[r];
            }
            /* Both faces lie at most half a voxel's side away. */
            const double least = largest - 1.001 * reach;
            if (least > 0 && squared < least * least) continue;
            for (int u = 0; u < faces; u++)
                for (int v = 0; v < faces; v++) {
                    double sum = 0.0;
                    for (int r = 0; r < 3; r++) {
                        const double e = d[r] + half[u][r] - half[v][r];
                        sum += e * e;
                    }
                    best = fmax(best, sum);
                }
            largest = sqrt(best);
        }
    return largest;
}

/* ---- one region ---- */

/* Add the corners of all slices of its box. */
static void add_levels(hull *h)
{
    const lob_region *const r = h->region;
    const int64_t ny = (int64_t)r->high[1] - r->low[1] + 1,
                  nz = (int64_t)r->high[2] - r->low[2] + 1;
    int64_t *const ends = malloc((size_t)(ny + 1) * 2 * sizeof *ends);
    if (!ends) h->short_of_memory = true;
    for (int64_t z = 0; ends && z <= nz; z++) add_level(h, z, ends);
    free(ends);
}

/* Add the label's corners, of n that are sorted. */
static void add_corners(hull *h, const lob_hull_corner *corners, int64_t n)
{
    const int32_t *const low = h->region->low;
    for (int64_t i = lob_count_below(&corners->label, n, sizeof *corners, h->label);
         i < n && corners[i].label == h->label; i++) {
        const lob_hull_corner *const c = &corners[i];
        add_point(h, (point){.x = c->x - 2 * (int64_t)low[0],
                             .y = c->y - 2 * (int64_t)low[1],
                             .z = c->z - 2 * (int64_t)low[2],
                             .octants = c->octants});
    }
}

/* The hull of the points. */
static void build(hull *h)
{
    if (h->short_of_memory) return;
    shuffle(h);
    find_start(h);
    add_face(h, 0, 2, 1);
    add_face(h, 0, 1, 3);
    add_face(h, 1, 2, 3);
    add_face(h, 2, 0, 3);
    for (int64_t p = 4; p < h->count && !h->short_of_memory; p++) add_to_hull(h, (int32_t)p);
}

static void measure(lob_region_hull *out, hull *h, const lob_shape_frame *frame)
{
    end_voxel *ends = NULL;
    if (h->short_of_memory) return;
    out->voxels = six_volumes(h) / 48.0; /* half voxels: an eighth of the volume each */
    keep_corners(h);
    const int64_t count = find_ends(&ends, h, frame->geometry);
    if (ends) out->feret_mm = feret_of(ends, count, frame);
    free(ends);
}

static void free_hull(hull *h)
{
    LOB_FREE(h->points, h->faces, h->rim);
}

/* ---- all regions ---- */

typedef struct {
    lob_hull_corner *corner; /* malloc'ed */
    int64_t count;
} corner_list;

/* A call: either gives hulls, from voxels or from corners of slabs, or corners of a slab. */
typedef struct {
    const lob_regions_input *in;
    const lob_region *regions;
    int64_t count;
    const int32_t *labels; /* what they are called; NULL: 1..count */
    lob_region_hull *hulls;
    const lob_shape_frame *frame;
    const lob_hull_corner *given; /* of slabs, sorted; NULL: in->labels */
    int64_t given_count;
    corner_list *made; /* NULL: hulls */
    int64_t z;         /* of its first plane */
} hulls_job;

/* Add the hull's corners to a list, as of the volume. */
static void list_corners(corner_list *list, hull *h, const hulls_job *j, int32_t label)
{
    const int32_t *const low = h->region->low;
    if (!h->short_of_memory) keep_corners(h);
    for (int64_t i = 0; i < h->count && !h->short_of_memory; i++) {
        const point c = h->points[i];
        if (!lob_grow(&list->corner, list->count, sizeof *list->corner)) {
            h->short_of_memory = true;
            return;
        }
        list->corner[list->count++] =
            (lob_hull_corner){.label = label,
                              .z = (int32_t)c.z + 2 * (low[2] + (int32_t)j->z),
                              .y = (int32_t)c.y + 2 * low[1],
                              .x = (int32_t)c.x + 2 * low[0],
                              .octants = octants_of(h, c)};
    }
}

static void do_region(const hulls_job *j, hull *h, corner_list *list, int64_t i)
{
    const int32_t label = j->labels ? j->labels[i] : (int32_t)(i + 1);
    h->region = &j->regions[i];
    h->label = j->given ? label : (int32_t)(i + 1);
    if (j->hulls) j->hulls[i] = (lob_region_hull){NAN, NAN};
    if (h->region->voxels == 0) return;
    h->count = h->face_count = 0;
    if (j->given)
        add_corners(h, j->given, j->given_count);
    else
        add_levels(h);
    build(h);
    if (j->made)
        list_corners(list, h, j, label);
    else
        measure(&j->hulls[i], h, j->frame);
}

/* Add a thread's list to that of all. */
static bool append(corner_list *to, corner_list *from)
{
    const size_t each = sizeof *to->corner;
    lob_hull_corner *const longer =
        realloc(to->corner, (size_t)(to->count + from->count) * each + 1);
    if (longer && from->count > 0)
        memcpy(longer + to->count, from->corner, (size_t)from->count * each);
    if (longer) *to = (corner_list){longer, to->count + from->count};
    free(from->corner);
    return longer != NULL;
}

static lob_status do_regions(const hulls_job *j, lob_dims dims, const lob_context *context,
                             lob_error *error)
{
    lob_progress progress = {.context = context};
    bool short_of_memory = false;
    if (dims.nx > MAX_SIDE || dims.ny > MAX_SIDE || dims.nz > MAX_SIDE)
        return lob_fail(error, LOB_EDATA, "hulls are not made along a side past %d voxels",
                        MAX_SIDE);
    lob_progress_stage(&progress, j->count, 1.0);
#pragma omp parallel num_threads(context->threads)
    {
        hull h = {.in = j->in};
        corner_list list = {NULL, 0};
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = 0; i < j->count; i++) {
            if (lob_progress_stopped(&progress) || h.short_of_memory) continue;
            do_region(j, &h, &list, i);
            lob_progress_report(&progress, 1);
        }
        free_hull(&h);
#pragma omp critical(lob_hull_corners)
        {
            const bool added = !j->made || append(j->made, &list);
            if (!added || h.short_of_memory) short_of_memory = true;
        }
    }
    if (lob_progress_stopped(&progress)) return LOB_ECANCEL;
    return short_of_memory ? lob_fail(error, LOB_ENOMEM, "no memory for the hulls of regions")
                           : LOB_OK;
}

lob_status lob_regions_hulls(lob_region_hull *hulls, const lob_region *regions,
                             const lob_regions_input *in, const lob_shape_frame *frame,
                             const lob_context *context, lob_error *error)
{
    const hulls_job j = {
        .in = in, .regions = regions, .count = in->count, .hulls = hulls, .frame = frame};
    return do_regions(&j, in->dims, context, error);
}

lob_status lob_regions_hull_corners(lob_hull_corner **corners, int64_t *count,
                                    const lob_region *regions, const lob_regions_input *in,
                                    const int32_t *labels, int64_t z, const lob_context *context,
                                    lob_error *error)
{
    corner_list made = {NULL, 0};
    const hulls_job j = {
        .in = in, .regions = regions, .count = in->count, .labels = labels, .made = &made, .z = z};
    const lob_dims whole = {in->dims.nx, in->dims.ny, z + in->dims.nz};
    const lob_status st = do_regions(&j, whole, context, error);
    if (st != LOB_OK || made.count == 0) {
        free(made.corner);
        made = (corner_list){NULL, 0};
    }
    *corners = made.corner;
    *count = made.count;
    return st;
}

int64_t lob_hull_corners_join(lob_hull_corner *corners, int64_t n)
{
    int64_t kept = 0;
    if (n > 0) qsort(corners, (size_t)n, sizeof *corners, by_corner);
    for (int64_t i = 0; i < n; i++)
        if (kept > 0 && by_corner(&corners[kept - 1], &corners[i]) == 0)
            corners[kept - 1].octants |= corners[i].octants;
        else
            corners[kept++] = corners[i];
    return kept;
}

lob_status lob_hulls_of_corners(lob_region_hull *hulls, const lob_region *regions,
                                const int32_t *labels, int64_t count,
                                const lob_hull_corner *corners, int64_t n, lob_dims dims,
                                const lob_shape_frame *frame, const lob_context *context,
                                lob_error *error)
{
    const hulls_job j = {.regions = regions,
                         .count = count,
                         .labels = labels,
                         .hulls = hulls,
                         .frame = frame,
                         .given = corners,
                         .given_count = n};
    return do_regions(&j, dims, context, error);
}
