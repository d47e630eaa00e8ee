# A toolchain file: compile on Linux for Windows (x86-64) with MinGW-w64's GCC, whose threads are POSIX's.
# LOBULE_STATIC_LIBRARIES is the folder with the libraries for Windows, made by packaging/libraries.sh.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LOBULE_STATIC_LIBRARIES)
set(CMAKE_FIND_ROOT_PATH ${LOBULE_STATIC_LIBRARIES} /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# One file that needs nothing beside it but Windows, with the same bytes whenever it is linked.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -s -Wl,--no-insert-timestamp")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-static -s -Wl,--no-insert-timestamp")

# Windows aligns a thread's stack to 16 bytes, and this GCC takes 32 for granted where it spills AVX registers
# (bug 54412): the assembler writes its aligned moves as unaligned ones.
set(CMAKE_C_FLAGS_INIT "-Wa,-muse-unaligned-vector-move")

# CMake would take the import library of libgomp-1.dll.
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libgomp.a OUTPUT_VARIABLE OpenMP_gomp_LIBRARY
    OUTPUT_STRIP_TRAILING_WHITESPACE)
set(OpenMP_gomp_LIBRARY ${OpenMP_gomp_LIBRARY} CACHE FILEPATH "OpenMP's library")

# Not what the programs of Linux's HDF5 would tell.
set(HDF5_ROOT ${LOBULE_STATIC_LIBRARIES})
set(HDF5_NO_FIND_PACKAGE_CONFIG_FILE ON)
