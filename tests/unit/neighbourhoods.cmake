# Median and box, each against a reference that follows the definition word by word. The generator
# and the reference serve the GPU's tests too.
add_library(neighbourhoods_reference STATIC ../reference/neighbourhood_case.c
    ../reference/neighbourhood_reference.c)
target_link_libraries(neighbourhoods_reference PUBLIC lobule PRIVATE lobule_flags
    lobule_dependencies)

lobule_unit_test(test_median test_median.c)
target_link_libraries(test_median PRIVATE neighbourhoods_reference)

lobule_unit_test(test_box test_box.c)
target_link_libraries(test_box PRIVATE neighbourhoods_reference)
