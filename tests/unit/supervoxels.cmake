# Supervoxels against a reference that looks at all clusters around each voxel. The generator and
# the reference serve the GPU's tests too.
add_library(supervoxels_reference STATIC ../reference/supervoxels_case.c
    ../reference/supervoxels_naive.c)
target_link_libraries(supervoxels_reference PUBLIC lobule PRIVATE lobule_flags lobule_dependencies)

lobule_unit_test(test_supervoxels test_supervoxels.c)
target_link_libraries(test_supervoxels PRIVATE supervoxels_reference)

lobule_unit_test(test_supervoxels_plan test_supervoxels_plan.c)

lobule_unit_test(test_supervoxels_alloc test_supervoxels_alloc.c)
target_link_libraries(test_supervoxels_alloc PRIVATE supervoxels_reference)
lobule_alloc_fail(test_supervoxels_alloc)

lobule_unit_test(test_contacts test_contacts.c)
