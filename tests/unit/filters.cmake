# Chains of filters; the generator serves the GPU's tests too.
add_library(filters_reference STATIC ../reference/filters_case.c)
target_link_libraries(filters_reference PUBLIC lobule PRIVATE lobule_flags lobule_dependencies)

lobule_unit_test(test_filters_chain test_filters_chain.c)
target_link_libraries(test_filters_chain PRIVATE filters_reference)
