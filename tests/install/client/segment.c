/* Make a mask from strokes, from arrays to an array. usage: segment IMAGE STROKES OUTPUT */
#include <lobule/lobule.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const lob_backend *backend;
    lob_context context;
    lob_error error = {.text = ""};
    lob_volume scan = lob_volume_empty(), strokes = lob_volume_empty();
    lob_segment_output found = lob_segment_output_empty();
    lob_segment_plan plan;
    lob_write_options how = lob_write_defaults();
    const lob_segment_options options = lob_segment_defaults();
    const lob_segment_input in = {.image = &scan, .strokes = &strokes};
    how.labels = true;
    if (argc != 4) return 64;

    lob_status st = lob_backend_open(&backend, &context, "best", &error);
    if (st == LOB_OK) st = lob_read(&scan, argv[1], NULL, NULL, &error);
    if (st == LOB_OK) st = lob_read(&strokes, argv[2], NULL, NULL, &error);
    if (st == LOB_OK) st = lob_segment_choose(&plan, &scan, &strokes, &options, &context, &error);
    if (st == LOB_OK) st = lob_segment(&found, &in, &plan, backend, &context, &error);
    if (st == LOB_OK) st = lob_write(&found.labels, argv[3], &how, &error);
    if (st != LOB_OK) fprintf(stderr, "%s: %s\n", lob_status_text(st), error.text);
    lob_segment_output_free(&found);
    lob_volume_free(&strokes);
    lob_volume_free(&scan);
    lob_backend_close(&context);
    return lob_status_exit_code(st);
}
