/* Grow seeds on arrays, in the memory of a GPU where there is one. usage: growcut IMAGE SEEDS
 * OUTPUT */
#include <lobule/lobule.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const lob_backend *backend;
    lob_context context;
    lob_error error = {.text = ""};
    lob_volume scan, seeds, image, drawn, grown, labels;
    lob_label_set set = {0};
    lob_write_options how = lob_write_defaults();
    how.labels = true;
    lob_volume *const all[] = {&scan, &seeds, &image, &drawn, &grown, &labels};
    for (int i = 0; i < 6; i++) *all[i] = lob_volume_empty();
    if (argc != 4) return 64;

    lob_status st = lob_backend_open(&backend, &context, "best", &error);
    const lob_place there = lob_context_place(&context), here = {0};
    if (st == LOB_OK) st = lob_read(&scan, argv[1], NULL, NULL, &error);
    if (st == LOB_OK) st = lob_read(&seeds, argv[2], NULL, NULL, &error);
    if (st == LOB_OK) st = lob_labels_dense(&seeds, &set, argv[2], &error);
    if (st == LOB_OK) st = lob_volume_move(&image, &scan, there, &context, &error);
    if (st == LOB_OK) st = lob_volume_move(&drawn, &seeds, there, &context, &error);
    if (st == LOB_OK) st = lob_volume_at(&grown, &scan, seeds.type, 1, &context, &error);

    const lob_growcut_options options = lob_growcut_defaults();
    const lob_growcut_input in = {
        .image = &image, .seeds = &drawn, .labels = set.count, .place = there};
    const lob_growcut_output out = {.labels = grown.data};
    if (st == LOB_OK) st = backend->growcut(&out, NULL, &in, &options, &context, &error);
    if (st == LOB_OK) st = lob_volume_move(&labels, &grown, here, &context, &error);
    if (st == LOB_OK) st = lob_labels_restore(&labels, &set);
    if (st == LOB_OK) st = lob_write(&labels, argv[3], &how, &error);
    if (st != LOB_OK) fprintf(stderr, "%s: %s\n", lob_status_text(st), error.text);
    for (int i = 0; i < 6; i++) lob_volume_free(all[i]);
    lob_label_set_free(&set);
    lob_backend_close(&context);
    return lob_status_exit_code(st);
}
