/* Cells on arrays: the phantom's nuclei and membranes are found; cancelling, memory, bad options.
 */
#include "kernels/cells/cells.h"
#include "kernels/phantom/phantom.h"
#include "tests/unit/progress_listener.h"

enum { CELLS = 20 };

static lob_volume phantom(bool walls)
{
    lob_phantom_options options = lob_phantom_defaults(LOB_PHANTOM_CELLS);
    lob_volume image;
    lob_error error;
    options.dims = (lob_dims){61, 53, 29};
    options.cells = CELLS;
    options.nuclei = !walls;
    assert_int_equal(lob_phantom(&image, NULL, NULL, &options, THREADS(2), &error), LOB_OK);
    return image;
}

/* Nuclei have their size; that of cells between walls is estimated. */
static lob_cells_options options_of(bool walls)
{
    lob_cells_options options = lob_cells_defaults(walls);
    if (!walls) options.size_mm = 0.008;
    return options;
}

/* Choose and label; the progress of each rises. */
static lob_status run(lob_volume *labels, lob_cells_stats *stats, const lob_volume *image,
                      bool walls, const lob_context *context, lob_error *error)
{
    const lob_backend *const cpu = lob_backends[0];
    const lob_cells_options options = options_of(walls);
    progress_log *const log = context->user;
    lob_cells_plan plan;
    *labels = lob_volume_empty();
    if (log) log->last = 0;
    LOB_TRY(lob_cells_choose(&plan, image, &options, cpu, context, error));
    if (log) log->last = 0;
    return lob_cells(labels, stats, image, &plan, cpu, context, error);
}

TEST(about_as_many_cells_as_there_are)
{
    for (int walls = 0; walls < 2; walls++) {
        lob_volume image = phantom(walls), labels;
        lob_cells_stats stats;
        lob_error error;
        assert_int_equal(run(&labels, &stats, &image, walls, THREADS(2), &error), LOB_OK);
        assert_in_range(stats.cells, CELLS * 3 / 4, CELLS * 5 / 4);
        assert_true(stats.seeds >= stats.cells && stats.not_finite == 0);
        assert_int_equal(labels.type, LOB_U8);
        int32_t largest = 0;
        for (int64_t i = 0; i < lob_voxels(&labels); i++)
            if (((uint8_t *)labels.data)[i] > largest) largest = ((uint8_t *)labels.data)[i];
        assert_int_equal(largest, stats.cells);
        lob_volume_free(&labels);
        lob_volume_free(&image);
    }
}

TEST(any_call_of_progress_may_stop_it)
{
    for (int walls = 0; walls < 2; walls++) {
        lob_volume image = phantom(walls), labels;
        lob_error error;
        lob_status st = LOB_ECANCEL;
        int stop = 1;
        for (; st == LOB_ECANCEL; stop += 1 + stop / 4) {
            progress_log log = {.stop_after = stop, .stop_at = INFINITY};
            const lob_context context = {.threads = 2, .progress = listen, .user = &log};
            st = run(&labels, NULL, &image, walls, &context, &error);
            if (st == LOB_ECANCEL) assert_null(labels.data);
        }
        assert_int_equal(st, LOB_OK);
        assert_true(stop > 20);
        lob_volume_free(&labels);
        lob_volume_free(&image);
    }
}

TEST(a_limit_of_memory_is_kept_or_refused)
{
    for (int walls = 0; walls < 2; walls++) {
        lob_volume image = phantom(walls), labels, small;
        lob_context context = *THREADS(2);
        lob_error error;
        int refused = 0;
        assert_int_equal(run(&labels, NULL, &image, walls, &context, &error), LOB_OK);
        for (context.max_memory = 1000;; context.max_memory *= 2) {
            const lob_status st = run(&small, NULL, &image, walls, &context, &error);
            if (st == LOB_OK) break;
            assert_int_equal(st, LOB_ENOMEM);
            assert_null(small.data);
            refused++;
        }
        assert_true(refused > 3);
        assert_memory_equal(small.data, labels.data, (size_t)lob_voxels(&labels));
        lob_volume_free(&small);
        lob_volume_free(&labels);
        lob_volume_free(&image);
    }
}

#define AT(field) offsetof(lob_cells_options, field)

TEST(what_is_refused)
{
    static const struct {
        const char *what;
        bool walls;
        size_t field; /* of lob_cells_options */
        double value;
    } rows[] = {
        {"a size of nothing",          false, AT(size_mm), 0   },
        {"no number",                  false, AT(size_mm), NAN },
        {"less than three voxels",     true,  AT(size_mm), 1e-4},
        {"farther than filters reach", false, AT(size_mm), 1e3 },
        {"a negative share",           false, AT(bright),  -1  },
        {"walls above full",           true,  AT(wall),    1.5 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        lob_volume image = phantom(rows[i].walls);
        lob_cells_options options = options_of(rows[i].walls);
        lob_cells_plan plan;
        lob_error error = {.text = ""};
        memcpy((char *)&options + rows[i].field, &rows[i].value, sizeof rows[i].value);
        const lob_status st =
            lob_cells_choose(&plan, &image, &options, lob_backends[0], THREADS(2), &error);
        if (st != LOB_EARG || !error.text[0])
            fail_msg("%s: %s: %s", rows[i].what, lob_status_text(st), error.text);
        lob_volume_free(&image);
    }
}
