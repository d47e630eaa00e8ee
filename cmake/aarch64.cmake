# A toolchain file: compile on Debian for its arm64, with the libraries of LOBULE_AARCH64_ROOT, which
# tests/same_bytes/processors.sh unpacks there. What is made runs under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LOBULE_AARCH64_ROOT)
set(CMAKE_SYSROOT ${LOBULE_AARCH64_ROOT})
set(CMAKE_FIND_ROOT_PATH ${LOBULE_AARCH64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Not what the compiler wrapper of this machine's HDF5 would tell.
set(HDF5_ROOT ${LOBULE_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu/hdf5/serial)
set(HDF5_NO_FIND_PACKAGE_CONFIG_FILE ON)
