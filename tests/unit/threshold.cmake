# Thresholds, histograms and denoising; the generator and the references serve the GPU's tests too.
add_library(threshold_reference STATIC ../reference/denoise_naive.c ../reference/threshold_case.c
    ../reference/threshold_naive.c)
target_link_libraries(threshold_reference PUBLIC lobule PRIVATE lobule_flags lobule_dependencies)

lobule_unit_test(test_threshold test_threshold.c)
target_link_libraries(test_threshold PRIVATE threshold_reference)

lobule_unit_test(test_histogram test_histogram.c)
target_link_libraries(test_histogram PRIVATE threshold_reference)

lobule_unit_test(test_denoise test_denoise.c)
target_link_libraries(test_denoise PRIVATE threshold_reference)
