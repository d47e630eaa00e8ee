# Distances and morphology. Their reference and generator serve the GPU's tests too.
add_library(distance_reference STATIC ../reference/distance_case.c
    ../reference/distance_reference.c)
target_link_libraries(distance_reference PUBLIC lobule PRIVATE lobule_flags lobule_dependencies)

lobule_unit_test(test_distance test_distance.c)
target_link_libraries(test_distance PRIVATE distance_reference)

lobule_unit_test(test_maxima test_maxima.c)
lobule_unit_test(test_cells test_cells.c)
