/* lobule crop: a box of a volume, at its place in the world. */
#include "kernels/appearance/strokes.h"
#include "tools/commands/commands.h"
#include "tools/inout/parts.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *image_path, *around_path, *out;
    lob_size margin;
    double share, ends;
    double first[3], size[3];
    int frame;

    lob_volume whole;  /* the image's header */
    lob_volume image;  /* the box of it */
    lob_volume around; /* the box of what is marked, */
    uint8_t *mask;     /* and its mask */
} work;

static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    const bool first = !isnan(w->first[0]), size = !isnan(w->size[0]);
    const bool margin = w->margin.value > 0.0 || w->share > 0.0 || w->ends > 0.0;
    const lob_rule rules[] = {
        {first != size,             "--first and --size go together: the box's first voxel and its sides"},
        {first && w->around_path,   "--around finds the box and --first gives it: choose one"            },
        {!first && !w->around_path,
         "which box? add --around LABELS, or --first X,Y,Z --size X,Y,Z"                                 },
        {margin && !w->around_path,
         "--margin, --share and --ends widen the box of --around, which is not given"                    },
    };
    LOB_TRY(LOB_RULES(s, rules));
    for (int a = 0; a < 3 && first; a++)
        if (w->first[a] != floor(w->first[a]) || w->size[a] != floor(w->size[a]))
            return lob_fail(&s->error, LOB_EARG,
                            "--first and --size are whole numbers of voxels, not %g and %g",
                            w->first[a], w->size[a]);
    return LOB_OK;
}

/* The box of --first and --size. */
static lob_status given_box(lob_session *s, lob_box *box, const work *w, const lob_volume *image)
{
    for (int a = 0; a < 3; a++) {
        const double side = (double)lob_side(image->dims, a);
        if (!(w->size[a] >= 1 && w->first[a] >= 0 && w->first[a] + w->size[a] <= side))
            return lob_fail_file(&s->error, LOB_EDATA, w->image_path,
                                 "the box goes from %.0f to %.0f along %c, and there are voxels 0 "
                                 "to %.0f",
                                 w->first[a], w->first[a] + w->size[a] - 1, "xyz"[a], side - 1);
        box->first[a] = (int64_t)w->first[a];
        box->size[a] = (int64_t)w->size[a];
    }
    return LOB_OK;
}

/* The axis across which the fewest slices are marked, as of strokes on a few of them; -1: in 2D. */
static lob_status find_axis(lob_session *s, int *axis, work *w)
{
    const int64_t voxels = lob_voxels(&w->around);
    lob_strokes strokes;
    w->mask = lob_session_array(s, voxels, 1, w->around_path);
    if (!w->mask) return LOB_ENOMEM;
    lob_grid_mask_bytes(w->mask, &w->around, voxels);
    LOB_TRY(lob_strokes_count(&strokes, w->mask, LOB_U8, w->around.dims, 1, NULL,
                              s->context.threads, &s->error));
    *axis = lob_strokes_axis(&strokes);
    lob_strokes_free(&strokes);
    free(w->mask);
    w->mask = NULL;
    lob_session_give(s, voxels);
    return LOB_OK;
}

/* The box of what is marked, and that axis where it is asked for. */
static lob_status find_box(lob_session *s, lob_box *box, int *axis, work *w)
{
    lob_box at, in;
    LOB_TRY(
        lob_part_read_marked(s, &w->around, &at, w->around_path, false, &w->whole, w->image_path));
    if (!lob_box_of(&in, &w->around))
        return lob_fail_file(
            &s->error, LOB_EDATA, w->around_path,
            "marks no voxel, so there is no box around it; all of its voxels are 0");
    for (int a = 0; a < 3; a++) in.first[a] += at.first[a];
    *box = in;
    if (w->ends > 0) LOB_TRY(find_axis(s, axis, w));
    lob_grid_drop(s, &w->around);
    return LOB_OK;
}

/* The box of what is marked in --around, with its margin. */
static lob_status marked_box(lob_session *s, lob_box *box, work *w)
{
    const lob_volume *const image = &w->whole;
    int axis = -1;
    int64_t margin[3];
    LOB_TRY(find_box(s, box, &axis, w));
    for (int a = 0; a < 3; a++) {
        const double per = w->margin.voxels ? 1.0 : image->geometry.spacing_mm[a];
        const double least = w->margin.value / per;
        const double ends = a == axis ? w->ends : 0;
        const double share = fmax(w->share, ends) * (double)box->size[a];
        /* Rounded up, but not because of a last digit. */
        margin[a] = (int64_t)ceil(fmin(fmax(least, share), 0x1p40) - 1e-6);
    }
    lob_box_widen(box, margin, image->dims);
    return LOB_OK;
}

static lob_status crop(lob_session *s, void *user)
{
    work *const w = user;
    lob_box box;
    LOB_TRY(lob_part_header(s, &w->whole, w->image_path, w->frame, false));
    if (w->around_path) lob_part_ahead(s, w->image_path, w->frame);
    LOB_TRY(w->around_path ? marked_box(s, &box, w) : given_box(s, &box, w, &w->whole));
    lob_json_integers(s->results, "first", box.first);
    lob_json_integers(s->results, "size", box.size);
    LOB_TRY(lob_part_read(s, &w->image, w->image_path, w->frame, &box));
    return lob_session_write(s, &w->image, w->out, false);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->whole, &w->image, &w->around);
    free(w->mask);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .frame = -1, .first = {NAN, NAN, NAN},
             .size = {NAN, NAN, NAN}
    };
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->image_path, "scan, mask or labels"),
        OPT_IMAGE_OUTPUT(&w->out, "volume to write"),
        OPT_INPUT("around", &w->around_path, LOB_FILE_LABELS,
                  "cut out the box of what is not 0 in this volume: seeds, a mask or labels"),
        OPT_LENGTH("margin", &w->margin, 0, 1e6,
                   "widen the box by this much on every side, as far as the image goes; as 10mm "
                   "or 5vox"),
        OPT_REAL("share", &w->share, "SHARE", 0, 100,
                 "widen each side by this share of the box's own; with --margin too, the larger "
                 "counts"),
        OPT_REAL("ends", &w->ends, "SHARE", 0, 1e6,
                 "of strokes on a few slices, widen by at least this share beyond the first slice "
                 "and the last"),
        OPT_TRIPLE("first", &w->first, 0, INT32_MAX,
                   "the box's first voxel, from 0, in place of --around"),
        OPT_TRIPLE("size", &w->size, 1, INT32_MAX, "the box's sides in voxels, with --first"),
        OPT_FRAME(&w->frame, "image"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_crop = {
    .name = "crop",
    .summary = "cut a box out of a volume, at its place in the world",
    .description =
        "The voxels are copied as they are stored, and every voxel stays where it was in the "
        "world: the output lies on the image in any viewer. `lobule resample --like IMAGE` puts "
        "it, or what was made from it, back on the whole grid. Memory need hold no more than the "
        "box.",
    .examples = "lobule crop scan.nii.gz --around seeds.nii.gz --margin 10mm --share 0.2 -o "
                "box.nii.gz\n"
                "lobule crop scan.nii.gz --first 40,50,0 --size 128,128,30 -o part.nii.gz",
    LOB_COMMAND_PARTS(work, options, check, crop, release),
};
