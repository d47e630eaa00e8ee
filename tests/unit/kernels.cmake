# Distances and measures, each against a reference that follows the definition word by word.
lobule_unit_test(test_distance test_distance.c ../reference/distance_reference.c)
target_include_directories(test_distance PRIVATE ../reference)

lobule_unit_test(test_measures test_measures.c ../reference/measures_reference.c
    ../reference/distance_reference.c)
target_include_directories(test_measures PRIVATE ../reference)
