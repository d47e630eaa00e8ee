// Number the pieces of equal labels on the best device. usage: components INPUT OUTPUT
#include <iostream>
#include <lobule/lobule.h>
#include <memory>

int main(int argc, char **argv)
{
    lob_error error{};
    lob_context context;
    const lob_backend *backend;
    lob_volume scan = lob_volume_empty(), labels = lob_volume_empty();
    if (argc != 3 || lob_backend_open(&backend, &context, "best", &error) != LOB_OK) return 64;
    std::unique_ptr<lob_context, decltype(&lob_backend_close)> close{&context, lob_backend_close};
    std::unique_ptr<lob_volume, decltype(&lob_volume_free)> free_scan{&scan, lob_volume_free};
    std::unique_ptr<lob_volume, decltype(&lob_volume_free)> free_labels{&labels, lob_volume_free};

    lob_components_input in{};
    in.image = &scan;
    lob_components_output found{};
    lob_components_options options = lob_components_defaults();
    options.join = LOB_JOIN_EQUAL;
    lob_write_options how = lob_write_defaults();
    how.labels = true;
    lob_status st = lob_read(&scan, argv[1], nullptr, nullptr, &error);
    if (st == LOB_OK) st = backend->components(&found, &in, &options, &context, &error);
    if (st == LOB_OK) st = lob_volume_adopt(&labels, &scan, &found.labels, found.type, 1);
    if (st == LOB_OK) st = lob_write(&labels, argv[2], &how, &error);
    lob_components_output_free(&found);
    char line[LOB_ERROR_LINE];
    if (st != LOB_OK)
        std::cerr << lob_status_text(st) << ": " << lob_error_line(line, sizeof line, &error)
                  << '\n';
    return lob_status_exit_code(st);
}
