# The libraries that Lobule stands on, as one interface target: lobule_dependencies.
# lobule-config.cmake.in finds the same ones for a project that links the static library.
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(TIFF 4.5 REQUIRED) # earlier ones print through handlers of the whole process
find_package(EXPAT REQUIRED)
find_package(NIFTI2 REQUIRED)
find_package(Deflate REQUIRED)
find_package(CJSON REQUIRED)
if(LOBULE_ZARR)
    find_package(Blosc REQUIRED)
    find_package(Zstandard REQUIRED)
    list(APPEND lobule_some Blosc::blosc Zstandard::zstd)
endif()
if(LOBULE_HDF5)
    find_package(HDF5 REQUIRED COMPONENTS C) # for the program lobule-hdf5 alone
    # That starts for each file. The shared library brings 30 others with it on Debian, of networks and tickets, and to load
    # them takes four times as long as the rest of the start: the static one is taken where it lies beside and links.
    list(GET HDF5_C_LIBRARIES 0 hdf5_found)
    get_filename_component(hdf5_folder "${hdf5_found}" DIRECTORY)
    find_library(LOBULE_HDF5_STATIC libhdf5.a PATHS ${hdf5_folder} NO_DEFAULT_PATH)
    set(lobule_hdf5_library hdf5::hdf5)
    if(LOBULE_HDF5_STATIC AND NOT CMAKE_CROSSCOMPILING)
        include(CheckCSourceCompiles)
        set(CMAKE_REQUIRED_INCLUDES ${HDF5_C_INCLUDE_DIRS})
        set(CMAKE_REQUIRED_LIBRARIES ${LOBULE_HDF5_STATIC} -Wl,--as-needed sz z dl m)
        check_c_source_compiles("#include <hdf5.h>\nint main(void) { return H5open(); }" LOBULE_HDF5_STATIC_LINKS)
        if(LOBULE_HDF5_STATIC_LINKS)
            set(lobule_hdf5_library ${CMAKE_REQUIRED_LIBRARIES})
        endif()
        unset(CMAKE_REQUIRED_INCLUDES)
        unset(CMAKE_REQUIRED_LIBRARIES)
    endif()
endif()
if(WIN32) # has the like of libcrypto
    list(APPEND lobule_some bcrypt)
elseif(NOT APPLE) # likewise
    find_package(OpenSSL REQUIRED COMPONENTS Crypto)
    list(APPEND lobule_some OpenSSL::Crypto)
endif()

add_library(lobule_dependencies INTERFACE)
set_target_properties(lobule_dependencies PROPERTIES EXPORT_NAME dependencies)
target_link_libraries(lobule_dependencies INTERFACE
    OpenMP::OpenMP_C PNG::PNG TIFF::TIFF EXPAT::EXPAT NIFTI2::nifti2 Deflate::deflate CJSON::cjson ${lobule_some}
    ZLIB::ZLIB m)

# A static Lobule with CUDA sources leaves these to whoever links it.
if(LOBULE_WITH_CUDA)
    find_package(CUDAToolkit REQUIRED)
    target_link_libraries(lobule_dependencies INTERFACE CUDA::cudart_static stdc++)
endif()
