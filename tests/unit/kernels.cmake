# Measures, against a reference that follows the definition word by word.
lobule_unit_test(test_measures test_measures.c ../reference/measures_reference.c
    ../reference/distance_reference.c)
target_include_directories(test_measures PRIVATE ../reference)

# The generator and the references of GrowCut serve the GPU's tests too.
add_library(growcut_reference STATIC ../reference/growcut_automaton.c ../reference/growcut_case.c
    ../reference/growcut_naive.c)
target_link_libraries(growcut_reference PUBLIC lobule PRIVATE lobule_flags lobule_dependencies)

lobule_unit_test(test_growcut test_growcut.c)
target_link_libraries(test_growcut PRIVATE growcut_reference)

lobule_unit_test(test_growcut_calls test_growcut_calls.c)
target_link_libraries(test_growcut_calls PRIVATE growcut_reference)

lobule_unit_test(test_phantom test_phantom.c)
lobule_unit_test(test_backend_open test_backend_open.c)

lobule_unit_test(test_growcut_properties test_growcut_properties.c)
target_link_libraries(test_growcut_properties PRIVATE growcut_reference)

lobule_unit_test(test_measures_alloc test_measures_alloc.c)
lobule_alloc_fail(test_measures_alloc)

lobule_unit_test(test_basins test_basins.c ../reference/basins_naive.c)
