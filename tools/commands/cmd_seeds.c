/* lobule seeds: seeds from points, labels and other seeds, with background at a distance. */
#include "kernels/morphology/morphology.h"
#include "tools/commands/commands.h"
#include "tools/commands/seeds_input.h"
#include "tools/table/point_file.h"
#include "volumes/free.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *image_path, *out, *shares_path, *complete;
    lob_words labels_paths, points_paths, seeds_paths;
    lob_size radius, erode, shell;
    int label, shell_label, conflict, background, corrections, complete_axis;

    lob_volume image, from, near, shares, values;
    lob_label_set labels; /* of from, a file with labels */
    bool *left;           /* of these, which eroding leaves */
    uint8_t *kept;        /* of the seeds' voxels, what looking at them keeps; NULL: not now */
    lob_points read;
    lob_volume seeds; /* LOB_I32; -L: label L for now, but sources disagree */
    int64_t points, outside, left_out;
    int32_t rest; /* dense number of --background in the labels of --complete, which near has */
} work;

enum { LATER, EARLIER, NEITHER }; /* --conflict */

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    const lob_rule rules[] = {
        {w->points_paths.count + w->labels_paths.count + w->seeds_paths.count == 0,
         "seeds from what? add --points, --labels or --seeds"                                                                   },
        {w->erode.value > 0.0 && w->labels_paths.count == 0,                        "--erode is for --labels"                   },
        {w->radius.value > 0.0 && w->points_paths.count == 0,                       "--radius is for --points"                  },
        {w->shell_label > 0 && !(w->shell.value > 0.0),
         "--shell-label is for --shell, which is not given"                                                                     },
        {(!w->shares_path && !w->complete) != (w->background < 0),
         "--background and --shares or --complete go together"                                                                  },
        {!w->complete != (w->complete_axis < 0),                                    "--complete and --complete-axis go together"},
    };
    return LOB_RULES(s, rules);
}

/* Give a voxel a seed, by the rule for conflicts. */
static void put_seed(work *w, int64_t i, int32_t label)
{
    int32_t *const seed = (int32_t *)w->seeds.data + i;
    const int32_t before = abs(*seed);
    if (label == 0 || before == label) return;
    if (before == 0)
        *seed = label;
    else
        *seed = w->conflict == LATER ? -label : -before;
}

/* ---- points ---- */

/*
 * How far a ball of radius 1 mm reaches along each voxel axis, in voxels: the lengths of the rows
 * of the inverse affine.
 */
static void reach_of_mm(double reach[3], const lob_geometry *g)
{
    const double none[3] = {0, 0, 0};
    double from[3], square[3] = {0, 0, 0};
    lob_world_to_voxel(from, g, none);
    for (int axis = 0; axis < 3; axis++) {
        double world[3] = {0, 0, 0}, to[3];
        world[axis] = 1.0;
        lob_world_to_voxel(to, g, world);
        for (int a = 0; a < 3; a++) square[a] += (to[a] - from[a]) * (to[a] - from[a]);
    }
    for (int a = 0; a < 3; a++) reach[a] = sqrt(square[a]);
}

static double square_distance(const double a[3], const double b[3])
{
    double square = 0.0;
    for (int i = 0; i < 3; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
    return square;
}

/*
 * A ball around a voxel position: the voxels whose centres lie in it, its border counting as
 * kernels/morphology/morphology.h has it, and the voxel that holds its own centre.
 */
static void put_ball(work *w, const double at[3], lob_size radius, int32_t label)
{
    const lob_geometry *const g = &w->seeds.geometry;
    const lob_dims d = w->seeds.dims;
    const double square = radius.value * radius.value * (1.0 + 1e-6);
    double reach[3] = {1, 1, 1}, centre[3];
    int64_t first[3], last[3];
    if (!radius.voxels) reach_of_mm(reach, g);
    lob_voxel_to_world(centre, g, at);
    for (int a = 0; a < 3; a++) {
        const double end = (double)lob_side(d, a) - 1.0, far = reach[a] * radius.value + 1.0;
        first[a] = (int64_t)fmin(fmax(ceil(at[a] - far), 0.0), end);
        last[a] = (int64_t)fmin(fmax(floor(at[a] + far), 0.0), end);
    }
    for (int64_t z = first[2]; z <= last[2]; z++)
        for (int64_t y = first[1]; y <= last[1]; y++)
            for (int64_t x = first[0]; x <= last[0]; x++) {
                const double voxel[3] = {(double)x, (double)y, (double)z};
                double world[3];
                lob_voxel_to_world(world, g, voxel);
                const double away =
                    radius.voxels ? square_distance(voxel, at) : square_distance(world, centre);
                if (away <= square) put_seed(w, (z * d.ny + y) * d.nx + x, label);
            }
    int64_t own = 0;
    for (int a = 2; a >= 0; a--) own = own * lob_side(d, a) + (int64_t)floor(at[a] + 0.5);
    put_seed(w, own, label);
}

static lob_status put_point(lob_session *s, work *w, const lob_point *p)
{
    const lob_size own = {.value = p->radius_mm};
    double at[3] = {p->at[0], p->at[1], p->at[2]};
    bool inside = true;
    if (!p->voxel) lob_world_to_voxel(at, &w->seeds.geometry, p->at);
    for (int a = 0; a < 3; a++)
        inside = inside && at[a] >= -0.5 && at[a] < (double)lob_side(w->seeds.dims, a) - 0.5;
    w->points++;
    w->outside += !inside;
    if (inside) put_ball(w, at, isnan(own.value) ? w->radius : own, p->label ? p->label : w->label);
    return lob_session_cancelled(s);
}

/* Put a ball, of its own radius or --radius, around each point of a file. */
static lob_status put_points(lob_session *s, work *w, const char *path)
{
    const double start_s = lob_clock_s();
    lob_session_describe(s, path, NULL);
    lob_points_free(&w->read);
    LOB_TRY(lob_points_read(&w->read, path, &s->error));
    lob_session_stage(s, "read", start_s);
    lob_session_compute(s, "seeding");
    for (int64_t k = 0; k < w->read.count; k++) LOB_TRY(put_point(s, w, &w->read.points[k]));
    lob_session_computed(s);
    return LOB_OK;
}

/* Points beside the image are told of; if there are no others, that is LOB_EDATA. */
static lob_status check_points(lob_session *s, const work *w)
{
    if (w->points == 0) return LOB_OK;
    LOB_JSON_NUMBERS(s->results, {"points", w->points}, {"points_outside", w->outside});
    if (w->outside == w->points)
        return lob_fail_file(&s->error, LOB_EDATA, w->points_paths.word[0],
                             "all points lie outside of %s", w->image_path);
    if (w->outside > 0)
        lob_session_note(s, "points outside of %s, which are left out: %lld of %lld", w->image_path,
                         (long long)w->outside, (long long)w->points);
    return LOB_OK;
}

/* ---- looking at the seeds ---- */

/* Which seeds, whose dense labels w->from has, are kept, and by which label: fills in w->kept. */
typedef lob_status look(lob_session *s, work *w);

/* Leave out the seeds that are not kept. */
static lob_status leave_out(lob_session *s, work *w, look *find_kept)
{
    const int64_t n = lob_voxels(&w->seeds);
    int32_t *const seeds = w->seeds.data;
    LOB_TRY(lob_grid_make(s, &w->from, &w->seeds, LOB_I32, 1, w->image_path));
    memcpy(w->from.data, seeds, (size_t)n * sizeof *seeds);
    LOB_TRY(lob_grid_dense(s, &w->from, &w->labels, w->image_path));
    if (w->labels.count > 255)
        return lob_fail_file(&s->error, LOB_EDATA, w->image_path,
                             "seeds of %d labels; at most 255 can be looked at", w->labels.count);
    if (!(w->kept = lob_session_array(s, n, 1, w->image_path))) return LOB_ENOMEM;
    LOB_TRY(find_kept(s, w));
    for (int64_t i = 0; i < n; i++) {
        w->left_out += seeds[i] != 0 && w->kept[i] == 0;
        if (w->kept[i] == 0) seeds[i] = 0;
    }
    lob_session_give(s, n);
    free(w->kept);
    w->kept = NULL;
    lob_label_set_free(&w->labels);
    lob_grid_drop(s, &w->from);
    return LOB_OK;
}

/* The dense number of --background among the seeds. */
static lob_status find_background(lob_session *s, const work *w, int32_t *background)
{
    *background = lob_label_set_find(&w->labels, w->background);
    if (*background > 0) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, w->image_path,
                         "no seed has the label %d of --background", w->background);
}

/* Make background of what is left of slices that are painted out, by what w->near has there. */
static lob_status complete(lob_session *s, work *w)
{
    const lob_volume *const before = &w->near;
    int32_t *const seeds = w->seeds.data;
    int32_t background;
    LOB_TRY(find_background(s, w, &background));
    memcpy(w->kept, w->from.data, (size_t)lob_voxels(&w->seeds));
    const int64_t count = lob_strokes_complete(w->kept, background, before->data, before->type,
                                               w->rest, before->dims, w->complete_axis);
    for (int64_t i = 0; i < lob_voxels(&w->seeds); i++)
        if (seeds[i] == 0 && w->kept[i] > 0) seeds[i] = w->background;
    cJSON_AddNumberToObject(s->results, "completed", (double)count);
    lob_grid_drop(s, &w->near);
    return LOB_OK;
}

static lob_status read_earlier(lob_session *s, work *w)
{
    lob_label_set set = {0};
    LOB_TRY(lob_grid_read(s, &w->near, w->complete, &w->seeds, w->image_path));
    LOB_TRY(lob_grid_dense(s, &w->near, &set, w->complete));
    w->rest = lob_label_set_find(&set, w->background);
    lob_label_set_free(&set);
    return LOB_OK;
}

/* Corrections that look like another label by the image. */
static lob_status look_at_image(lob_session *s, work *w)
{
    const int64_t first[3] = {0, 0, 0};
    const lob_volume *const from = &w->from, *const image = &w->values;
    lob_strokes strokes;
    LOB_TRY(lob_strokes_count(&strokes, from->data, LOB_U8, from->dims, w->labels.count, NULL,
                              s->context.threads, &s->error));
    const int64_t items = lob_strokes_voxels(&strokes) * image->channels;
    double *const values = lob_session_array(s, items, sizeof *values, w->image_path);
    lob_status st = LOB_ENOMEM;
    if (values) {
        lob_strokes_values(values, from->data, &strokes, image, first);
        st = lob_strokes_leave_corrections(w->kept, from->data, &strokes, values, image->channels,
                                           w->corrections, &s->context, &s->error);
        lob_session_give(s, items * (int64_t)sizeof *values);
    }
    free(values);
    lob_strokes_free(&strokes);
    return st;
}

/* Seeds that look like another label by --shares. */
static lob_status look_at_shares(lob_session *s, work *w)
{
    int32_t background;
    LOB_TRY(find_background(s, w, &background));
    LOB_TRY(lob_shares_check(s, &w->shares, w->shares_path, w->labels.count));
    const uint8_t *const from = w->from.data, *const shares = w->shares.data;
    const int64_t n = lob_voxels(&w->from);
    int64_t bytes = 0, to = 0, i = -1;
    while ((i = lob_next_label(from, LOB_U8, i + 1, n)) < n) bytes += w->labels.count - 1;
    uint8_t *const drawn = lob_session_array(s, bytes, 1, w->image_path);
    if (!drawn) return LOB_ENOMEM;
    for (int32_t c = 0; c < w->labels.count - 1; c++)
        for (i = -1; (i = lob_next_label(from, LOB_U8, i + 1, n)) < n;)
            drawn[to++] = shares[c * n + i];
    const lob_status st = lob_strokes_agree(w->kept, from, drawn, w->from.dims, w->labels.count,
                                            background, &s->context, &s->error);
    free(drawn);
    lob_session_give(s, bytes);
    return st;
}

/* Look at the seeds for --complete, --corrections and --shares: what joins, what is left out. */
static lob_status look_at_seeds(lob_session *s, work *w)
{
    if (w->complete) {
        LOB_TRY(read_earlier(s, w));
        LOB_TRY(leave_out(s, w, complete));
    }
    if (w->corrections >= 0) {
        LOB_TRY(lob_session_read(s, &w->values, w->image_path, -1));
        LOB_TRY(leave_out(s, w, look_at_image));
        lob_grid_drop(s, &w->values);
    }
    if (w->shares_path) {
        LOB_TRY(lob_shares_read(s, &w->shares, w->shares_path, &w->image, w->image_path));
        LOB_TRY(leave_out(s, w, look_at_shares));
    }
    if (w->shares_path || w->corrections >= 0)
        cJSON_AddNumberToObject(s->results, "left_out", (double)w->left_out);
    return LOB_OK;
}

/* ---- label volumes ---- */

/* Change labels by a ball of a length: in voxels, the same number along each axis. */
static lob_status change(lob_session *s, lob_volume *labels, lob_morphology how, lob_size length)
{
    lob_morphology_input in = {.labels = labels->data, .type = labels->type, .dims = labels->dims};
    for (int a = 0; a < 3; a++)
        in.spacing[a] = length.voxels ? 1.0 : labels->geometry.spacing_mm[a];
    lob_session_compute(s, "seeding");
    LOB_TRY(s->backend->morphology(labels->data, &in, how, length.value, &s->context, &s->error));
    lob_session_computed(s);
    return LOB_OK;
}

/* Tell which labels eroding has left no voxel of. */
static lob_status note_lost(lob_session *s, work *w, const char *path)
{
    const lob_volume *const v = &w->from;
    const lob_label_set *const labels = &w->labels;
    char text[200] = "";
    size_t used = 0;
    free(w->left);
    w->left = calloc((size_t)labels->count + 1, sizeof *w->left);
    if (!w->left) return lob_session_no_memory(s, path);
    for (int64_t i = 0; i < lob_voxels(v); i++) w->left[lob_label_at(v->data, v->type, i)] = true;
    for (int32_t i = 0; i < labels->count && used < sizeof text - 20; i++)
        if (!w->left[i + 1])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used ? ", " : "",
                                     labels->values[i]);
    if (used > 0)
        lob_session_note(s, "%s: nothing is left after --erode of labels: %s%s", path, text,
                         used < sizeof text - 20 ? "" : ", ...");
    return LOB_OK;
}

/* Put the labels of a file on the image's grid, eroded where that is asked for. Labels keep the
 * names that the first file gives them. */
static lob_status put_labels(lob_session *s, work *w, const char *path, lob_size erode)
{
    lob_volume *const v = &w->from;
    LOB_TRY(lob_grid_read(s, v, path, &w->seeds, w->image_path));
    LOB_TRY(lob_grid_dense(s, v, &w->labels, path));
    if (erode.value > 0.0) {
        LOB_TRY(change(s, v, LOB_MORPHOLOGY_ERODE, erode));
        LOB_TRY(note_lost(s, w, path));
    }
    for (int64_t i = 0; i < lob_voxels(v); i++) {
        const int32_t label = lob_label_at(v->data, v->type, i);
        if (label > 0) put_seed(w, i, w->labels.values[label - 1]);
    }
    if (lob_label_names_complete(&w->seeds.names, &v->names) != LOB_OK)
        return lob_session_no_memory(s, path);
    lob_label_set_free(&w->labels);
    lob_grid_drop(s, v);
    return LOB_OK;
}

/* ---- all together ---- */

/* The first of the files that seeds come from. */
static const char *first_source(const work *w)
{
    const lob_words *const sources[] = {&w->labels_paths, &w->points_paths, &w->seeds_paths};
    int k = 0;
    while (k < 2 && sources[k]->count == 0) k++;
    return sources[k]->word[0];
}

/* Settle conflicts; count seeds and find the largest. */
static lob_status settle(lob_session *s, work *w, int32_t *largest)
{
    int32_t *const seeds = w->seeds.data;
    int64_t count = 0, conflicts = 0;
    *largest = 0;
    for (int64_t i = 0; i < lob_voxels(&w->seeds); i++) {
        if (seeds[i] < 0) {
            conflicts++;
            seeds[i] = w->conflict == NEITHER ? 0 : -seeds[i];
        }
        count += seeds[i] > 0;
        if (seeds[i] > *largest) *largest = seeds[i];
    }
    LOB_JSON_NUMBERS(s->results, {"seeds", count}, {"conflicts", conflicts});
    if (count > 0) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, first_source(w), "no voxel of it becomes a seed%s",
                         w->erode.value > 0.0 ? "; a smaller --erode leaves more" : "");
}

/* Every voxel farther than --shell from all seeds becomes a seed of a label of its own. */
static lob_status add_shell(lob_session *s, work *w, int32_t *largest)
{
    int32_t *const seeds = w->seeds.data;
    if (!(w->shell.value > 0.0)) return LOB_OK;
    if (w->shell_label <= 0 && *largest == INT32_MAX)
        return lob_fail(&s->error, LOB_EARG, "no label is left for the shell: add --shell-label");
    const int32_t label = w->shell_label > 0 ? w->shell_label : *largest + 1;
    LOB_TRY(lob_grid_make(s, &w->near, &w->seeds, LOB_U8, 1, w->out));
    uint8_t *const is_near = w->near.data;
    for (int64_t i = 0; i < lob_voxels(&w->near); i++) is_near[i] = seeds[i] != 0;
    const lob_status st = change(s, &w->near, LOB_MORPHOLOGY_DILATE, w->shell);
    LOB_TRY(lob_session_name(s, st, w->image_path, NULL));
    int64_t count = 0;
    for (int64_t i = 0; i < lob_voxels(&w->near); i++)
        if (!is_near[i]) {
            seeds[i] = label;
            count++;
        }
    lob_grid_drop(s, &w->near);
    if (count == 0)
        lob_session_note(s, "%s: no voxel is farther than --shell from all seeds", w->image_path);
    if (count > 0 && label > *largest) *largest = label;
    LOB_JSON_NUMBERS(s->results, {"shell_label", label}, {"shell_voxels", count});
    return LOB_OK;
}

static lob_status make_seeds(lob_session *s, work *w)
{
    int32_t largest = 0;
    for (int k = 0; k < w->labels_paths.count; k++)
        LOB_TRY(put_labels(s, w, w->labels_paths.word[k], w->erode));
    for (int k = 0; k < w->points_paths.count; k++)
        LOB_TRY(put_points(s, w, w->points_paths.word[k]));
    LOB_TRY(check_points(s, w));
    for (int k = 0; k < w->seeds_paths.count; k++)
        LOB_TRY(put_labels(s, w, w->seeds_paths.word[k], (lob_size){0}));
    LOB_TRY(settle(s, w, &largest));
    LOB_TRY(look_at_seeds(s, w));
    LOB_TRY(add_shell(s, w, &largest));
    if (lob_labels_pack(&w->seeds, largest) != LOB_OK) return lob_session_no_memory(s, w->out);
    return LOB_OK;
}

static lob_status seeds(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(lob_session_device(s));
    LOB_TRY(lob_session_read_header(s, &w->image, w->image_path, NULL));
    LOB_TRY(lob_session_check(s, &w->image, LOB_I32, 1, w->out));
    LOB_TRY(lob_grid_make(s, &w->seeds, &w->image, LOB_I32, 1, w->image_path));
    lob_label_names_free(&w->seeds.names); /* those of the image's own labels */
    LOB_TRY(make_seeds(s, w));
    return lob_session_write(s, &w->seeds, w->out, true);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->from, &w->near, &w->shares, &w->values, &w->seeds);
    lob_label_set_free(&w->labels);
    lob_points_free(&w->read);
    LOB_FREE(w->left, w->kept);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){.label = 1,
                .background = -1,
                .corrections = -1,
                .complete_axis = -1,
                .conflict = LATER,
                .erode = {-1},
                .shell = {-1}};
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->image_path, "scan whose grid the seeds lie on"),
        OPT_OUTPUT("output", &w->out, LOB_FILE_LABELS, "seeds to write", .letter = 'o',
                   .required = true),
        OPT_INPUTS("points", &w->points_paths, LOB_FILE_OTHER,
                   "points: 3D Slicer's .mrk.json and .fcsv, or a table"),
        OPT_INT("label", &w->label, "N", 1, INT32_MAX,
                "label of points whose file gives none: a column label, or a name that is a whole "
                "number"),
        OPT_LENGTH("radius", &w->radius, 0, 1e6,
                   "points become balls of this radius, unless their table gives another; 0: the "
                   "voxel that holds the point"),
        OPT_INPUTS("labels", &w->labels_paths, LOB_FILE_LABELS,
                   "labels, such as a segmentation of another time or reader"),
        OPT_LENGTH("erode", &w->erode, 0, 1e6,
                   "take this much off the labels of --labels, on all sides"),
        OPT_INPUTS("seeds", &w->seeds_paths, LOB_FILE_LABELS, "seeds to be joined, as they are"),
        OPT_CHOICE("conflict", &w->conflict, "later|earlier|neither",
                   "which label counts where sources disagree: of --labels, --points, --seeds in "
                   "this order, and each in the order given"),
        OPT_INPUT(
            "complete", &w->complete, LOB_FILE_LABELS,
            "make --background of what has no seed on slices that are painted out: where a "
            "label fills a square of 5 voxels, and labels cover 0.75 of what these labels, an "
            "earlier result, have there"),
        OPT_CHOICE("complete-axis", &w->complete_axis, "x|y|z",
                   "these are slices across this axis"),
        OPT_CHOICE("corrections", &w->corrections, "x|y|z",
                   "leave out corrections that look like another label: of slices across this axis "
                   "with seeds of one label alone the pieces whose grey values are not e times as "
                   "likely its own as another one's, by the slices with seeds of several labels"),
        OPT_INPUT("shares", &w->shares_path, LOB_FILE_IMAGE,
                  "leave out seeds that look like another label by these shares in 255ths, which "
                  "have a channel for each label but --background, after which values may follow: "
                  "another one's is more than 8 times their own's, while most of their piece does "
                  "not look like that"),
        OPT_INT("background", &w->background, "N", 1, INT32_MAX,
                "with --shares: label that has no channel; with --complete: that others are not"),
        OPT_LENGTH("shell", &w->shell, 0, 1e6,
                   "every voxel farther than this from all seeds becomes a seed of the background"),
        OPT_INT("shell-label", &w->shell_label, "N", 1, INT32_MAX,
                "label of the background of --shell; left out: the largest label plus 1"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_seeds = {
    .name = "seeds",
    .summary = "make seeds from points, labels and other seeds",
    .description =
        "The seeds lie on the grid of IMAGE, whose values are read for --corrections alone. Files "
        "of labels may cover a part of it. Distances are Euclidean, between centres of voxels, in "
        "mm or, with vox, in voxels along every axis alike.\n"
        "A table of points (.tsv, .csv) has a row of names; columns x, y, z, or x_mm, y_mm, z_mm "
        "as lobule's own tables have them, are mm in the world (RAS, as in NIfTI), i, j, k voxels "
        "counted from 0; label and radius (mm) may follow, and where a point has none, the field "
        "is empty or n/a. Points in the markups of 3D Slicer that are not placed are left out.\n"
        "A shell keeps labels from running away: on a spinal cord, for instance, what is farther "
        "than 8 mm from its marked middle line is something else.",
    .examples = "lobule seeds scan.nii.gz --points F.mrk.json --radius 3mm --shell 40mm -o "
                "seeds.nii.gz\n"
                "lobule seeds scan.nii.gz --labels atlas.nii.gz --erode 4mm -o seeds.nii.gz\n"
                "lobule seeds scan.nii.gz --seeds first.nii.gz --seeds second.nii.gz --conflict "
                "neither -o both.nii.gz",
    .result = "seeds",
    .result_text = "seed voxels",
    LOB_COMMAND_PARTS(work, options, check, seeds, release),
    .voxel_ns = 100,
};
