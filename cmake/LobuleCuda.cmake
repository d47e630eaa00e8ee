# CUDA as an optional language: sets LOBULE_WITH_CUDA after LOBULE_CUDA (AUTO, ON or OFF).
# Included before any target is made, because a target takes its CUDA settings when it is created.
# kernels/CMakeLists.txt lists the .cu files and defines LOB_WITH_CUDA beside them.
set(LOBULE_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO, ON or OFF")
set_property(CACHE LOBULE_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT LOBULE_CUDA MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "LOBULE_CUDA is ${LOBULE_CUDA}: give AUTO, ON or OFF")
endif()

set(LOBULE_WITH_CUDA FALSE)
if(LOBULE_CUDA STREQUAL "OFF")
    return()
endif()

# The toolkit's own installer does not put nvcc on the path.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(LOBULE_NVCC nvcc PATHS /usr/local/cuda/bin /opt/cuda/bin)
    mark_as_advanced(LOBULE_NVCC)
    if(LOBULE_NVCC)
        set(ENV{CUDACXX} ${LOBULE_NVCC})
    endif()
endif()

# Ampere and Hopper as machine code; PTX of Hopper serves what comes later.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;90-virtual"
        CACHE STRING "GPU architectures to compile for")
endif()

# One binary serves machines with and without a GPU: the runtime is part of it.
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

if(LOBULE_CUDA STREQUAL "AUTO")
    include(CheckLanguage)
    check_language(CUDA)
    if(NOT CMAKE_CUDA_COMPILER)
        message(STATUS "CUDA backend: left out, no working nvcc (LOBULE_CUDA=AUTO)")
        return()
    endif()
endif()

enable_language(CUDA)
set(LOBULE_WITH_CUDA TRUE)
message(STATUS "CUDA backend: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, "
               "architectures ${CMAKE_CUDA_ARCHITECTURES}")
