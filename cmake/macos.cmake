# A toolchain file: compile on Linux for macOS 11 and later with zig, which has a newer clang and Apple's
# headers in it. LOBULE_PROCESSOR is arm64 or x86_64; LOBULE_STATIC_LIBRARIES is the folder with the libraries
# for it, made by packaging/libraries.sh.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_VERSION 20)
set(CMAKE_SYSTEM_PROCESSOR ${LOBULE_PROCESSOR})
set(zig_processor ${LOBULE_PROCESSOR})
if(LOBULE_PROCESSOR STREQUAL arm64)
    set(zig_processor aarch64)
endif()
# Programs of one word, which is all that some sources expect. They leave out the macros by which old ones
# know a Mac of before 2001. clang and LLVM's linker link: zig's would export every name. It knows fewer kinds
# of processors than the list of what macOS has.
find_program(zig zig REQUIRED)
get_filename_component(zig_folder ${zig} DIRECTORY)
file(READ ${zig_folder}/lib/libc/darwin/libSystem.tbd system)
string(REGEX REPLACE "targets:[ \n]*\\[[^]]*\\]" "targets: [ x86_64-macos, arm64-macos ]" system "${system}")
file(CONFIGURE OUTPUT ${LOBULE_STATIC_LIBRARIES}/compilers/libSystem.tbd CONTENT "${system}" @ONLY)
foreach(name m pthread dl)
    file(CREATE_LINK libSystem.tbd ${LOBULE_STATIC_LIBRARIES}/compilers/lib${name}.tbd SYMBOLIC)
endforeach()
foreach(name cc c++)
    set(program ${LOBULE_STATIC_LIBRARIES}/compilers/${name})
    file(CONFIGURE OUTPUT ${program} @ONLY CONTENT "#!/bin/sh
for word in \"$@\"; do
    case $word in
    -c | -E | -S | --version | -v) exec zig ${name} -target ${zig_processor}-macos.11.0 -fno-define-target-os-macros -fno-sanitize=undefined \"$@\" ;;
    esac
done
exec clang --target=${LOBULE_PROCESSOR}-apple-macos11.0 -fuse-ld=lld -nostdlib -L\"\${0%/*}\" \"$@\" -lSystem
")
    file(CHMOD ${program} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
set(CMAKE_C_COMPILER ${LOBULE_STATIC_LIBRARIES}/compilers/cc)
set(CMAKE_ASM_COMPILER ${CMAKE_C_COMPILER})
set(CMAKE_CXX_COMPILER ${LOBULE_STATIC_LIBRARIES}/compilers/c++)
find_program(CMAKE_AR llvm-ar REQUIRED)
find_program(CMAKE_RANLIB llvm-ranlib REQUIRED)
# What is linked is signed and must stay as it is.
set(CMAKE_INSTALL_NAME_TOOL /bin/false)
set(CMAKE_INSTALL_NAME_DIR @rpath)
set(CMAKE_BUILD_WITH_INSTALL_NAME_DIR ON)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LOBULE_STATIC_LIBRARIES LOBULE_PROCESSOR)
set(CMAKE_FIND_ROOT_PATH ${LOBULE_STATIC_LIBRARIES})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# One file that needs nothing beside it but macOS.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-dead_strip,-adhoc_codesign")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-dead_strip,-adhoc_codesign")

# The runtime of LLVM, which zig has none of.
set(OpenMP_C_FLAGS "-fopenmp -I${LOBULE_STATIC_LIBRARIES}/include" CACHE STRING "OpenMP's options")
set(OpenMP_C_LIB_NAMES omp CACHE STRING "OpenMP's libraries")
set(OpenMP_omp_LIBRARY ${LOBULE_STATIC_LIBRARIES}/lib/libomp.a CACHE FILEPATH "OpenMP's library")

# Not what the programs of Linux's HDF5 would tell.
set(HDF5_ROOT ${LOBULE_STATIC_LIBRARIES})
set(HDF5_NO_FIND_PACKAGE_CONFIG_FILE ON)
