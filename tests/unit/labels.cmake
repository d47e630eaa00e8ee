# Label steps. The generator and the reference serve the GPU's tests too.
add_library(labels_reference STATIC ../reference/labels_case.c ../reference/labels_naive.c)
target_link_libraries(labels_reference PUBLIC lobule PRIVATE lobule_flags lobule_dependencies)

lobule_unit_test(test_label_steps test_label_steps.c)
target_link_libraries(test_label_steps PRIVATE labels_reference)
