# Components and regions. Their reference and generator serve the GPU's tests too.
add_library(components_reference STATIC ../reference/components_case.c
    ../reference/components_naive.c ../reference/components_slabs.c)
target_link_libraries(components_reference PUBLIC lobule PRIVATE lobule_flags lobule_dependencies)

lobule_unit_test(test_components test_components.c)
target_link_libraries(test_components PRIVATE components_reference)

lobule_unit_test(test_components_stream test_components_stream.c)
target_link_libraries(test_components_stream PRIVATE components_reference)

lobule_unit_test(test_components_calls test_components_calls.c)
lobule_alloc_fail(test_components_calls)

lobule_unit_test(test_shapes test_shapes.c)
lobule_alloc_fail(test_shapes)
lobule_unit_test(test_regions test_regions.c)
lobule_alloc_fail(test_regions)
target_link_libraries(test_regions PRIVATE components_reference)
