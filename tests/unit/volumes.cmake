# Volumes: outcomes, voxel types, geometry, grids, labels.
lobule_unit_test(test_volumes_status test_volumes_status.c)
lobule_unit_test(test_volumes_geometry test_volumes_geometry.c)
lobule_unit_test(test_volumes_volume test_volumes_volume.c)
lobule_unit_test(test_volumes_labels test_volumes_labels.c)
lobule_unit_test(test_reorient test_reorient.c)
lobule_alloc_fail(test_reorient)
lobule_unit_test(test_volumes_alloc test_volumes_alloc.c)
lobule_alloc_fail(test_volumes_alloc)
