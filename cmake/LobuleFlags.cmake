# Compiler flags for our own targets, as one interface target: lobule_flags.
# Contraction is off because a fused multiply-add on one machine and not on another changes results.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)              # POSIX and GNU names of the C library
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(lobule_flags INTERFACE)
target_compile_definitions(lobule_flags INTERFACE _GNU_SOURCE)
target_compile_options(lobule_flags INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-O2;-ffp-contract=off;-fvisibility=default;-Wall;-Wextra;-Wshadow;-Wvla;-Wstrict-prototypes;-Wmissing-prototypes;-Wpointer-arith;-Wwrite-strings>
    $<$<AND:$<COMPILE_LANGUAGE:C>,$<BOOL:${LOBULE_WERROR}>>:-Werror>)

if(LOBULE_SANITIZE)
    target_compile_options(lobule_flags INTERFACE
        $<$<COMPILE_LANGUAGE:C>:-fsanitize=address,undefined;-fno-sanitize-recover=all;-fno-omit-frame-pointer;-g>)
    target_link_options(lobule_flags INTERFACE -fsanitize=address,undefined)
endif()
