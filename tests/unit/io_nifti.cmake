# Files, gzip and NIfTI.
lobule_unit_test(test_file test_file.c)
lobule_unit_test(test_gzip test_gzip.c)
lobule_unit_test(test_nifti_read test_nifti_read.c)
lobule_unit_test(test_nifti_write test_nifti_write.c)
