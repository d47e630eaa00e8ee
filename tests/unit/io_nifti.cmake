# Files, gzip and NIfTI.
lobule_unit_test(test_file test_file.c io_scratch.c)
lobule_unit_test(test_gzip test_gzip.c io_scratch.c)
lobule_unit_test(test_nifti_read test_nifti_read.c io_scratch.c)
lobule_unit_test(test_nifti_write test_nifti_write.c io_scratch.c)
lobule_unit_test(test_nifti_alloc test_nifti_alloc.c io_scratch.c)
lobule_alloc_fail(test_nifti_alloc)
lobule_unit_test(test_io_planes test_io_planes.c io_scratch.c)
set_tests_properties(test_io_planes PROPERTIES TIMEOUT 600)
