# Measures of an over-segmentation, and the table of pairs that they come from.
lobule_unit_test(test_partition test_partition.c ../reference/partition_reference.c)
target_include_directories(test_partition PRIVATE ../reference)
lobule_alloc_fail(test_partition)

# Scores of instances.
lobule_unit_test(test_instances test_instances.c)
lobule_alloc_fail(test_instances)
