/* lobule resample: a volume's values on another grid. */
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"
#include "volumes/reorient.h"

#include <math.h>
#include <string.h>

typedef struct {
    const char *image_path, *like_path, *out_path, *orientation;
    double spacing[3];
    bool labels;
    int method; /* index of the option's words, -1: not given */
    double fill;
    int frame;

    lob_volume image, like, out;
} work;

enum { NEAREST, LINEAR, MAJORITY, STROKES };

/* The world axis, 0 to 2, that a letter names, or 3. */
static int world_axis(char letter)
{
    const char *const letters = "RLAPSI", *at = letter ? strchr(letters, letter) : NULL;
    return at ? (int)(at - letters) / 2 : 3;
}

/* Three letters, each of another world axis? */
static bool is_orientation(const char *letters)
{
    unsigned axes = 0;
    for (const char *c = letters; *c; c++) axes |= 1U << world_axis(*c);
    return strlen(letters) == 3 && axes == 7;
}

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    const bool spacing = !isnan(w->spacing[0]);
    const lob_rule rules[] = {
        {w->like_path && spacing,                      "--like gives the whole grid: leave --spacing out"    },
        {w->like_path && w->orientation,               "--like gives the whole grid: leave --orientation out"},
        {!w->like_path && !spacing && !w->orientation,
         "onto which grid? add --like IMAGE, --spacing X,Y,Z or --orientation RAS"                           },
        {w->method >= MAJORITY && !w->labels,
         "--method majority and strokes are for label volumes: add --labels"                                 },
        {w->method == LINEAR && w->labels,
         "a mean of label numbers is no label: with --labels, --method is nearest, majority or "
         "strokes"                                                                                           },
    };
    LOB_TRY(LOB_RULES(s, rules));
    if (w->orientation && !is_orientation(w->orientation))
        return lob_fail(&s->error, LOB_EARG,
                        "--orientation: '%s' is not three letters such as RAS or LPS, one of R or "
                        "L, one of A or P, one of S or I, in any order",
                        w->orientation);
    return LOB_OK;
}

/* The turn after which the grid's axes run as the letters of an orientation say. */
static lob_turn turn_to(const lob_geometry *geometry, const char *letters)
{
    lob_turn turn;
    char now[4];
    lob_orientation(now, geometry);
    for (int a = 0; a < 3; a++) {
        int old = 0;
        while (world_axis(now[old]) != world_axis(letters[a])) old++;
        turn.axis[a] = old;
        turn.backwards[a] = now[old] != letters[a];
    }
    return turn;
}

/* The grid to resample onto. */
static lob_status find_grid(lob_session *s, lob_resample_input *in, lob_volume *like, const work *w)
{
    const lob_volume *v = in->volume;
    in->dims = v->dims;
    in->geometry = v->geometry;
    if (w->like_path) {
        const lob_status st = lob_session_read_header(s, like, w->like_path, NULL);
        in->dims = like->dims;
        in->geometry = like->geometry;
        return st;
    }
    if (w->orientation) {
        const lob_turn turn = turn_to(&v->geometry, w->orientation);
        in->geometry = lob_turned_geometry(&v->geometry, v->dims, &turn);
        in->dims = lob_turned_dims(v->dims, &turn);
    }
    if (!isnan(w->spacing[0])) lob_resample_respace(&in->geometry, &in->dims, w->spacing);
    return LOB_OK;
}

/* Make the output: the new grid, the image's header or that of --like. */
static lob_status make_output(lob_session *s, lob_volume *out, const lob_resample_input *in,
                              const lob_volume *like, const work *w)
{
    const lob_volume *v = in->volume;
    lob_volume header = w->like_path ? *like : *v;
    header.dims = in->dims;
    header.geometry = in->geometry;
    header.data = NULL;
    header.names = v->names;
    LOB_TRY(lob_grid_make(s, out, &header, v->type, v->channels, w->out_path));
    out->slope = v->slope;
    out->inter = v->inter;
    return LOB_OK;
}

/* Does the new grid lie on one side of the image, so that they share nothing? */
static bool lies_beside(const lob_resample_input *in)
{
    double low[3], high[3];
    lob_grid_box(low, high, &in->geometry, in->dims, &in->volume->geometry);
    for (int a = 0; a < 3; a++)
        if (high[a] <= -0.5 || low[a] >= (double)lob_side(in->volume->dims, a) - 0.5) return true;
    return false;
}

static lob_status resample_onto(lob_session *s, const work *w, const lob_volume *image,
                                lob_volume *like, lob_volume *out)
{
    lob_resample_input in = {.volume = image};
    LOB_TRY(find_grid(s, &in, like, w));
    LOB_TRY(make_output(s, out, &in, like, w));
    if (w->like_path && lies_beside(&in))
        lob_session_note(s, "%s: lies outside of %s, so that nothing of it is in the output",
                         w->image_path, w->like_path);
    const int method = w->method >= 0 ? w->method : w->labels ? MAJORITY : LINEAR;
    const lob_resample_options options = {.method = (lob_resample_method)method,
                                          .fill = (w->fill - image->inter) /
                                                  (image->slope != 0.0 ? image->slope : 1.0)};
    lob_session_compute(s, "resampling");
    return lob_session_done(s,
                            s->backend->resample(out->data, &in, &options, &s->context, &s->error),
                            w->image_path, NULL);
}

static lob_status resample(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(lob_session_read(s, &w->image, w->image_path, w->frame));
    LOB_TRY(lob_session_device(s));
    if (w->labels) LOB_TRY(lob_grid_narrow(s, &w->image, w->image_path));
    LOB_TRY(resample_onto(s, w, &w->image, &w->like, &w->out));
    lob_grid_drop(s, &w->image);
    return lob_session_write(s, &w->out, w->out_path, w->labels);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->like, &w->out);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .frame = -1, .method = -1, .spacing = {NAN, NAN, NAN}
    };
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->image_path, "scan, mask or labels"),
        OPT_IMAGE_OUTPUT(&w->out_path, "volume to write"),
        OPT_INPUT("like", &w->like_path, LOB_FILE_IMAGE, "onto the grid of this volume"),
        OPT_TRIPLE("spacing", &w->spacing, 0, 1e6,
                   "voxels of this size in mm over the same field of view; 0 keeps an axis"),
        OPT_TEXT("orientation", &w->orientation, "RAS",
                 "exchange and flip axes so that they run to these sides of the patient; "
                 "nothing is interpolated unless --spacing asks for it"),
        OPT_FLAG("labels", &w->labels, "IMAGE holds labels, which are not mixed"),
        OPT_CHOICE("method", &w->method, "nearest|linear|majority|strokes",
                   "how values are found; left out: linear, with --labels majority"),
        OPT_REAL("fill", &w->fill, "V", -INFINITY, INFINITY, "value outside of IMAGE"),
        OPT_FRAME(&w->frame, "image"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_resample = {
    .name = "resample",
    .summary = "bring a volume onto another grid, spacing or orientation",
    .description =
        "Towards larger voxels, values are averaged over what a new voxel covers. With --labels a "
        "new voxel takes the label that covers most of it, of equals the smallest; background "
        "counts as a label, but by --method strokes, which loses no thin line. Where the new grid "
        "differs by whole voxels, flips and exchanged axes "
        "alone, voxels are copied exactly: `lobule crop` and resampling back lose nothing inside "
        "the box. The voxel type stays; whole numbers are rounded.",
    .examples = "lobule resample labels.nii.gz --like scan.nii.gz --labels -o on_scan.nii.gz\n"
                "lobule resample scan.nii.gz --spacing 1,1,1 -o even.nii.gz\n"
                "lobule resample scan.nii.gz --orientation RAS -o ras.nii.gz",
    LOB_COMMAND_PARTS(work, options, check, resample, release),
    .voxel_ns = 50,
};
