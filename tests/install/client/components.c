/* Number the pieces of equal labels on the best device. usage: components INPUT OUTPUT */
#include <lobule/lobule.h>
#include <stdio.h>

#ifdef LOB_FREE
#error "a macro of the library's own sources is installed"
#endif

int main(int argc, char **argv)
{
    const lob_backend *backend;
    lob_context context;
    lob_error error = {.text = ""};
    lob_volume scan = lob_volume_empty(), labels = lob_volume_empty();
    lob_components_input in = {.image = &scan};
    lob_components_output found = {0};
    lob_components_options options = lob_components_defaults();
    lob_write_options how = lob_write_defaults();
    options.join = LOB_JOIN_EQUAL;
    how.labels = true;
    if (argc != 3) return 64;

    lob_status st = lob_backend_open(&backend, &context, "best", &error);
    if (st == LOB_OK) st = lob_read(&scan, argv[1], NULL, NULL, &error);
    if (st == LOB_OK) st = backend->components(&found, &in, &options, &context, &error);
    if (st == LOB_OK) st = lob_volume_adopt(&labels, &scan, &found.labels, found.type, 1);
    if (st == LOB_OK) st = lob_write(&labels, argv[2], &how, &error);
    if (st != LOB_OK) {
        char line[LOB_ERROR_LINE];
        fprintf(stderr, "%s: %s\n", lob_status_text(st), lob_error_line(line, sizeof line, &error));
    }
    lob_components_output_free(&found);
    lob_volume_free(&labels);
    lob_volume_free(&scan);
    lob_backend_close(&context);
    return lob_status_exit_code(st);
}
