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

set(c_flags -O2 -ffp-contract=off -Wall -Wextra -Wshadow -Wvla
    -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings
    -Wno-missing-field-initializers)     # members that are not named are 0, and mean the usual
# Host code in .cu files passes through the C++ compiler, which knows no prototypes or VLAs.
set(cuda_flags --fmad=false
    -Xcompiler=-O2,-ffp-contract=off,-Wall,-Wextra,-Wshadow,-Wpointer-arith,-Wwrite-strings
    -Xcompiler=-Wno-missing-field-initializers)
if(CMAKE_C_COMPILER_ID MATCHES Clang)
    list(APPEND c_flags -Wno-pass-failed)  # `omp simd` on floats that keep their order stays scalar
endif()
if(LOBULE_WERROR)
    list(APPEND c_flags -Werror)
    list(APPEND cuda_flags -Werror=all-warnings -Xcompiler=-Werror)
endif()
if(LOBULE_SANITIZE)
    set(sanitizers -fsanitize=address,undefined)
    if(LOBULE_SANITIZE STREQUAL thread)
        set(sanitizers -fsanitize=thread)
    endif()
    # -O1 with line numbers alone compiles in half the time of -O2 -g; GCC knows too little there for two warnings,
    # which the optimised build gives.
    list(APPEND c_flags ${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
    if(CMAKE_C_COMPILER_ID STREQUAL GNU)
        list(APPEND c_flags -Wno-format-truncation -Wno-maybe-uninitialized)
    endif()
endif()

if(LOBULE_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
        message(FATAL_ERROR "LOBULE_FUZZ needs clang: -DCMAKE_C_COMPILER=clang")
    endif()
    list(APPEND c_flags -fsanitize=fuzzer-no-link)
endif()

add_library(lobule_flags INTERFACE)
target_include_directories(lobule_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(lobule_flags INTERFACE _GNU_SOURCE)
if(WIN32)
    # printf and its like as C17 has them, and files of any size. Formats are checked on Linux: here GCC
    # holds them against Windows' old library.
    target_compile_definitions(lobule_flags INTERFACE __USE_MINGW_ANSI_STDIO=1 _FILE_OFFSET_BITS=64
        _WIN32_WINNT=0x0A00 _POSIX_THREAD_SAFE_FUNCTIONS)
    list(APPEND c_flags -Wno-format -include ${PROJECT_SOURCE_DIR}/io/platform_libc.h)
elseif(APPLE)
    list(APPEND c_flags -include ${PROJECT_SOURCE_DIR}/io/platform_macos.h)
endif()
target_compile_options(lobule_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:C>:${c_flags}>" "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_flags}>")
target_link_options(lobule_flags INTERFACE ${sanitizers})
