# Appearance and refining. The generator serves the GPU's tests too.
add_library(appearance_reference STATIC ../reference/appearance_case.c
    ../reference/appearance_naive.c)
target_link_libraries(appearance_reference PUBLIC lobule PRIVATE lobule_flags lobule_dependencies)

lobule_unit_test(test_appearance test_appearance.c)
target_link_libraries(test_appearance PRIVATE appearance_reference)

lobule_unit_test(test_refine test_refine.c)
target_link_libraries(test_refine PRIVATE appearance_reference)

# Segmenting from strokes. The generator serves the GPU's tests too.
add_library(segment_reference STATIC ../reference/segment_case.c)
target_link_libraries(segment_reference PUBLIC lobule PRIVATE lobule_flags lobule_dependencies)

lobule_unit_test(test_segment test_segment.c)
target_link_libraries(test_segment PRIVATE segment_reference)
