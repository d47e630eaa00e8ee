# The generator and the definition of Gaussian steps serve the GPU's tests too.
add_library(gaussian_reference STATIC ../reference/gaussian_case.c ../reference/gaussian_naive.c)
target_link_libraries(gaussian_reference PUBLIC lobule PRIVATE lobule_flags lobule_dependencies)

lobule_unit_test(test_gaussian test_gaussian.c)
target_link_libraries(test_gaussian PRIVATE gaussian_reference)
