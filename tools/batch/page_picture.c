/* Reading, drawing and encoding the pictures of a page. */
#include "tools/batch/page_picture.h"

#include "io/io.h"
#include "io/png.h"
#include "tools/picture/preview_picture.h"
#include "tools/text/page_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 288, SHADES = 16, STEP = 256 / SHADES };

/* Noise is what a PNG cannot compress: 16 shades of each colour take a third of the bytes. */
static void drop_shades(lob_canvas *canvas)
{
    const size_t n = 3 * (size_t)canvas->width * (size_t)canvas->height;
    for (size_t i = 0; i < n; i++) {
        const int shade = (canvas->rgb[i] + STEP / 2) / STEP * STEP;
        canvas->rgb[i] = (unsigned char)(shade < 255 ? shade : 255);
    }
}

/* A file of several frames is refused: a picture shows one volume. */
static lob_status read_both(lob_preview_content *c, const lob_page_scan *scan, int64_t max_memory)
{
    lob_read_options options = lob_read_defaults();
    options.max_memory = max_memory / 2;
    lob_status st = lob_read(&c->image, scan->image, &options, NULL, NULL);
    if (st == LOB_OK) st = lob_read(&c->labels, scan->labels, &options, NULL, NULL);
    return st == LOB_OK ? lob_same_grid(&c->labels, "", &c->image, "", NULL) : st;
}

static char *picture(const lob_page_scan *scan, int64_t max_memory)
{
    lob_preview_content c = {.image = lob_volume_empty(), .labels = lob_volume_empty()};
    lob_preview look = lob_preview_defaults();
    lob_preview_layout *const layout = malloc(sizeof *layout);
    lob_canvas canvas = {.rgb = NULL};
    unsigned char *png = NULL;
    char *text = NULL;
    size_t size = 0;
    look.size = SIZE;
    look.image = scan->image;
    look.labels = scan->labels;
    lob_status st =
        layout && scan->image && scan->labels ? read_both(&c, scan, max_memory) : LOB_ENOMEM;
    if (st == LOB_OK) st = lob_preview_look(&c, &look, NULL);
    if (st == LOB_OK) st = lob_preview_lay_out(layout, &look, &c, NULL);
    if (st == LOB_OK) st = lob_preview_draw(&canvas, &look, &c, layout);
    if (st == LOB_OK) {
        drop_shades(&canvas);
        st = lob_png_encode_rgb(&png, &size, canvas.rgb, canvas.width, canvas.height, NULL);
    }
    if (st == LOB_OK) text = lob_base64(png, size);
    free(png);
    free(canvas.rgb);
    free(layout);
    lob_preview_content_free(&c);
    return text;
}

/* Is it HDF5, or a name that leads into a file? */
static bool may_be_hdf5(const char *path)
{
    static const char signature[4] = {'\x89', 'H', 'D', 'F'};
    char start[4] = "";
    FILE *const file = fopen(path, "re");
    if (!file) return true;
    const size_t n = fread(start, 1, sizeof start, file);
    fclose(file);
    return n == sizeof start && memcmp(start, signature, sizeof start) == 0;
}

static bool needs_fork(const lob_page_scan *scan)
{
    return scan->image && scan->labels && (may_be_hdf5(scan->image) || may_be_hdf5(scan->labels));
}

void lob_page_pictures(lob_page_scan *scans, int count, int threads, int64_t max_memory)
{
    const int64_t most = max_memory > 0 ? max_memory : lob_memory_available() / 10 * 9;
    const int64_t each = most / threads + 1;
    /* HDF5 is read in a forked process, which must not inherit what other threads hold: such
     * files come last, on this thread alone. */
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int i = 0; i < count; i++)
        if (!needs_fork(&scans[i])) scans[i].picture = picture(&scans[i], each);
    for (int i = 0; i < count; i++)
        if (needs_fork(&scans[i])) scans[i].picture = picture(&scans[i], each);
}
