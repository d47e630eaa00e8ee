# lobule_alloc_fail(NAME): let a unit test make allocations fail, as alloc_fail.h tells. The linker
# can put itself between a program and what is linked into it, not inside a shared library.
function(lobule_alloc_fail name)
    get_target_property(type lobule TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
        set_tests_properties(${name} PROPERTIES DISABLED TRUE)
    endif()
    target_sources(${name} PRIVATE alloc_fail.c)
    foreach(function malloc calloc realloc aligned_alloc posix_memalign strdup strndup asprintf
            realpath free)
        target_link_options(${name} PRIVATE LINKER:--wrap=${function})
    endforeach()
endfunction()
