/* lobule preview: a scan and its labels in one picture. */
#include "io/png.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"
#include "tools/options/options.h"
#include "tools/picture/viewer_page.h"
#include "volumes/label_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef lob_preview_content content;
typedef lob_preview_layout layout;

typedef struct {
    const char *output, *html;
    int frame;
    lob_preview look;

    content content;
    layout layout;
    lob_canvas canvas;
    lob_viewer_page page;
} work;

static bool any_finite(const lob_volume *v)
{
    const int64_t n = lob_voxels(v) * v->channels;
    for (int64_t i = 0; i < n; i++) {
        double value;
        lob_values(&value, v->data, v->type, i, 1);
        if (isfinite(value)) return true;
    }
    return false;
}

static lob_status check_place(lob_session *s, const lob_preview *look, const lob_volume *image)
{
    for (int a = 0; a < 3 && isfinite(look->at[a]); a++)
        if (look->at[a] > (double)lob_side(image->dims, a) - 0.5)
            return lob_fail(&s->error, LOB_EARG,
                            "--at: %g is outside the volume, which has %" PRId64
                            " voxels along that axis",
                            look->at[a], lob_side(image->dims, a));
    return LOB_OK;
}

/* Read both volumes and find out where to cut and which values to show. */
static lob_status prepare(lob_session *s, const work *w, content *c)
{
    const lob_preview *const look = &w->look;
    LOB_TRY(lob_session_read(s, &c->image, look->image, w->frame));
    if (look->labels) {
        LOB_TRY(lob_session_read(s, &c->labels, look->labels, LOB_FRAME_NONE));
        LOB_TRY(lob_grid_match(s, &c->labels, look->labels, &c->image, look->image, LOB_PART_SEEN));
    }
    LOB_TRY(check_place(s, look, &c->image));
    if (!any_finite(&c->image))
        lob_session_note(s, "%s: every voxel is NaN or infinite, so there is nothing to see of it",
                         look->image);
    LOB_TRY(lob_preview_look(c, look, &s->error));
    if (!look->labels) return LOB_OK;
    const lob_status st = lob_labels_check(&c->labels, &c->set, &c->image, &s->error);
    lob_error_in(&s->error, look->labels);
    return st;
}

static lob_status draw(lob_session *s, lob_canvas *canvas, const work *w, const content *c,
                       const layout *l)
{
    const int64_t body = l->body[2] ? lob_surface_bytes() : 0;
    LOB_TRY(lob_session_take(s, lob_product(l->width, l->height, 3, 1) + body, w->output));
    LOB_TRY(lob_session_cancelled(s));
    lob_preview look = w->look;
    look.threads = s->context.threads;
    const lob_status st = lob_preview_draw(canvas, &look, c, l);
    lob_session_give(s, body);
    return st == LOB_ENOMEM ? lob_session_no_memory(s, w->output) : st;
}

/* ---- the command ---- */

static void report(lob_session *s, const content *c, const layout *l)
{
    const int pixels[2] = {l->width, l->height};
    cJSON_AddItemToObject(s->results, "pixels", cJSON_CreateIntArray(pixels, 2));
    cJSON_AddNumberToObject(s->results, "pixels_per_mm", l->pixels_per_mm);
    cJSON_AddItemToObject(s->results, "window", cJSON_CreateDoubleArray(c->overlay.window, 2));
    lob_json_integers(s->results, "planes_meet_at", c->at);
    cJSON *const views = cJSON_AddArrayToObject(s->results, "views");
    for (int i = 0; i < l->count && views; i++) {
        const lob_slice *const v = &l->tiles[i].view;
        const char sides[4][2] = {{v->side[0]}, {v->side[1]}, {v->side[2]}, {v->side[3]}};
        cJSON *const view = lob_json_row(views);
        cJSON_AddStringToObject(view, "plane", lob_plane_name(v->plane));
        cJSON_AddNumberToObject(view, "slice", (double)v->slice);
        if (v->projected) {
            const double seen[2] = {(double)v->near, (double)v->far};
            cJSON_AddItemToObject(view, "slices", cJSON_CreateDoubleArray(seen, 2));
        }
        LOB_JSON_NUMBERS(view, {"x", l->tiles[i].x}, {"y", l->tiles[i].y});
        cJSON_AddStringToObject(view, "left", sides[0]);
        cJSON_AddStringToObject(view, "top", sides[2]);
    }
}

/* ---- the page ---- */

static lob_status make_page(lob_session *s, const char *path, void *user)
{
    const work *const w = user;
    const double start_s = lob_clock_s();
    double compress_s = 0;
    const lob_status st = lob_viewer_page_write(&w->page, &w->content, &w->look, path, s->force,
                                                s->context.threads, &compress_s, &s->error);
    lob_session_add(s, "compress", compress_s);
    lob_session_add(s, "write", lob_clock_s() - start_s - compress_s);
    return st;
}

static void report_page(lob_session *s, const lob_viewer_page *p)
{
    const int64_t voxels[3] = {p->dims.nx, p->dims.ny, p->dims.nz};
    cJSON *const page = cJSON_AddObjectToObject(s->results, "page");
    lob_json_integers(page, "voxels", voxels);
    lob_json_integers(page, "block", p->factor);
    if (p->factor[0] * p->factor[1] * p->factor[2] > 1)
        lob_session_note(s,
                         "the page is coarser than the scan: one voxel of it is %lld x %lld x %lld "
                         "of the scan's",
                         (long long)p->factor[0], (long long)p->factor[1], (long long)p->factor[2]);
}

static lob_status write_page(lob_session *s, work *w)
{
    lob_viewer_page *const p = &w->page;
    if (!w->html) return LOB_OK;
    const int64_t bytes = lob_viewer_page_bytes(&w->content);
    LOB_TRY(lob_session_take(s, bytes, w->html));
    lob_session_compute(s, "laying out the page");
    const lob_status st = lob_viewer_page_prepare(p, &w->content, &s->context, &s->error);
    if (st == LOB_ENOMEM) return lob_session_no_memory(s, w->html);
    LOB_TRY(st);
    lob_session_computed(s);
    LOB_TRY(lob_session_make(s, NULL, w->html, make_page, w));
    report_page(s, p);
    lob_session_give(s, bytes);
    return LOB_OK;
}

/* ---- the picture ---- */

static lob_status write_picture(lob_session *s, work *w)
{
    lob_canvas *const canvas = &w->canvas;
    if (!w->output) return LOB_OK;
    lob_session_compute(s, "drawing");
    LOB_TRY(lob_preview_lay_out(&w->layout, &w->look, &w->content, &s->error));
    LOB_TRY(draw(s, canvas, w, &w->content, &w->layout));
    lob_session_computed(s);
    LOB_TRY(lob_session_write_picture(s, canvas, w->output));
    report(s, &w->content, &w->layout);
    return LOB_OK;
}

static bool is_page_name(const char *path)
{
    const char *const dot = strrchr(path, '.');
    return dot && dot > path && dot[-1] != '/' && (!strcmp(dot, ".html") || !strcmp(dot, ".htm"));
}

/* What is asked for in general. */
static lob_status check_outputs(lob_session *s, const work *w)
{
    if (!w->output && !w->html)
        return lob_fail(&s->error, LOB_EARG,
                        "what to write? add --output FILE.png or --html FILE.html");
    if (w->output && !lob_is_png_name(w->output))
        return lob_fail_file(&s->error, LOB_EARG, w->output,
                             "a preview is a PNG; give it a name in .png");
    if (w->html && !is_page_name(w->html))
        return lob_fail_file(&s->error, LOB_EARG, w->html, "give a page a name in .html");
    const char *const alone = w->look.montage > 0  ? "montage"
                              : w->look.project    ? "mip"
                              : w->look.plane >= 0 ? "plane"
                                                   : NULL;
    if (!w->output && alone)
        return lob_fail(&s->error, LOB_EARG, "--%s is about a picture: add --output FILE.png",
                        alone);
    return LOB_OK;
}

static lob_status check(lob_session *s, void *user)
{
    work *const w = user;
    lob_preview *const look = &w->look;
    LOB_TRY(check_outputs(s, w));
    if (look->hide && strcmp(look->hide, "none") == 0) look->hide = "";
    const bool windowed = isfinite(look->window[0]) && isfinite(look->window[1]);
    if (windowed && !(look->window[0] < look->window[1]))
        return lob_fail(&s->error, LOB_EARG, "--window: LO must lie below HI");
    return look->hide && *look->hide ? lob_label_list_check(look->hide, "hide", &s->error) : LOB_OK;
}

static lob_status preview(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(prepare(s, w, &w->content));
    LOB_TRY(write_picture(s, w));
    return write_page(s, w);
}

static void release(void *user)
{
    work *const w = user;
    lob_preview_content_free(&w->content);
    lob_viewer_page_free(&w->page);
    free(w->canvas.rgb);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){.frame = -1, .look = lob_preview_defaults()};
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->look.image, "scan"),
        OPERAND_INPUT("LABELS", &w->look.labels, LOB_FILE_LABELS, "labels on the image's grid"),
        OPT_OUTPUT("output", &w->output, LOB_FILE_OTHER, "picture to write, in .png",
                   .letter = 'o'),
        OPT_OUTPUT("html", &w->html, LOB_FILE_OTHER,
                   "page to write, in .html, with a viewer of all slices; a browser opens it from "
                   "the disk, and it loads nothing from elsewhere"),
        OPT_CHOICE("plane", &w->look.plane, "axial|coronal|sagittal",
                   "show this plane alone; left out: all three, in a montage axial"),
        OPT_INT("montage", &w->look.montage, "N", 1, LOB_PREVIEW_TILES,
                "show N slices of one plane, spread over the extent of the labels"),
        OPT_FLAG("mip", &w->look.project,
                 "maximum-intensity projection: the brightest voxel of each line of sight and the "
                 "first label on it; in a montage each view has its share of the slices"),
        OPT_TRIPLE("at", &w->look.at, 0, 1e9,
                   "voxel where the planes meet; left out: the labels' centre of mass, without "
                   "labels that of the image"),
        OPT_PAIR("window", &w->look.window, -INFINITY, INFINITY,
                 "values shown black and white; left out: the percentiles 2 and 98, of a CT in HU "
                 "those of the body"),
        OPT_REAL("alpha", &w->look.alpha, "SHARE", 0, 1, "how much labels cover the image"),
        OPT_INT("contour", &w->look.contour, "PIXELS", 0, 12,
                "width of labels' contours, 0 for none; left out: 1 or 2 by the picture's size"),
        OPT_TEXT("hide", &w->look.hide, "LIST",
                 "labels not to draw, as 1,3-5, or none; left out: of several, one that fills "
                 "over half of the volume"),
        OPT_CHOICE("convention", &w->look.convention, "radiological|neurological",
                   "radiological shows the patient's right at the left"),
        OPT_INT("size", &w->look.size, "PIXELS", 64, 8192, "neither side of the picture is longer"),
        OPT_FRAME(&w->frame, "image"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_preview = {
    .name = "preview",
    .summary = "draw a scan and its labels into a PNG or a page to look through",
    .description =
        "Shows the three planes through the labels' centre of mass and the labels in space, or a "
        "montage of slices: mm are square whatever the voxels are, letters tell the patient's "
        "sides, a bar tells the scale, labels lie over the image as a tint with smooth contours, "
        "and a legend lists their names and volumes. Labels that touch have different colours "
        "where their file gives none.\n"
        "--html writes a page for a browser: three planes to scroll through, brightness, and a "
        "list of "
        "labels to switch on and off. Above 2^25 voxels it shows means of blocks, and says so.\n"
        "Slices follow the voxel grid: an oblique scan is not resampled but turned to the nearest "
        "direction.",
    .examples = "lobule preview scan.nii.gz labels.nii.gz -o preview.png\n"
                "lobule preview scan.nii.gz labels.nii.gz -o slices.png --montage 12 --hide 1\n"
                "lobule preview scan.nii.gz labels.nii.gz --html look.html\n"
                "lobule preview scan.nii.gz -o ct.png --plane coronal --window -160,240",
    LOB_COMMAND_PARTS(work, options, check, preview, release),
};
