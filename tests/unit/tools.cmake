lobule_unit_test(test_options test_options.c
    ${PROJECT_SOURCE_DIR}/tools/options/options.c
    ${PROJECT_SOURCE_DIR}/tools/options/options_help.c
    ${PROJECT_SOURCE_DIR}/tools/options/options_values.c)

lobule_unit_test(test_number_text test_number_text.c ${PROJECT_SOURCE_DIR}/tools/text/number_text.c)

lobule_unit_test(test_recipe test_recipe.c
    ${PROJECT_SOURCE_DIR}/tools/recipe/recipe.c
    ${PROJECT_SOURCE_DIR}/tools/text/text.c)

lobule_unit_test(test_recipe_alloc test_recipe_alloc.c
    ${PROJECT_SOURCE_DIR}/tools/text/text.c
    ${PROJECT_SOURCE_DIR}/tools/recipe/recipe.c
    ${PROJECT_SOURCE_DIR}/tools/recipe/store.c)
lobule_alloc_fail(test_recipe_alloc)

lobule_unit_test(test_point_file test_point_file.c ${PROJECT_SOURCE_DIR}/tools/table/point_file.c)
lobule_alloc_fail(test_point_file)

lobule_unit_test(test_cohort test_cohort.c
    ${PROJECT_SOURCE_DIR}/tools/text/path.c
    ${PROJECT_SOURCE_DIR}/tools/text/text.c
    ${PROJECT_SOURCE_DIR}/tools/batch/cohort.c
    ${PROJECT_SOURCE_DIR}/tools/commands/repeat/past_report.c
    ${PROJECT_SOURCE_DIR}/tools/recipe/recipe.c
    ${PROJECT_SOURCE_DIR}/tools/recipe/store.c)
lobule_alloc_fail(test_cohort)

lobule_unit_test(test_past_report test_past_report.c
    ${PROJECT_SOURCE_DIR}/tools/text/text.c
    ${PROJECT_SOURCE_DIR}/tools/commands/repeat/past_report.c
    ${PROJECT_SOURCE_DIR}/tools/recipe/recipe.c
    ${PROJECT_SOURCE_DIR}/tools/recipe/store.c)
lobule_alloc_fail(test_past_report)

lobule_unit_test(test_batch_lease test_batch_lease.c ${PROJECT_SOURCE_DIR}/tools/batch/batch_lease.c)

lobule_unit_test(test_segment_slices test_segment_slices.c
    ${PROJECT_SOURCE_DIR}/kernels/segment/segment_slices.c)
lobule_alloc_fail(test_segment_slices)
