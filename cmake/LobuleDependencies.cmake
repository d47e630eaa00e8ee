# The libraries that Lobule stands on, as one interface target: lobule_dependencies.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)

# niftilib ships no pkg-config file, and libnifti2 alone has the functions with 64-bit dimensions.
find_path(NIFTI_INCLUDE_DIR nifti2_io.h PATH_SUFFIXES nifti REQUIRED)
find_library(NIFTI_LIBRARY nifti2 REQUIRED)
find_library(ZNZ_LIBRARY znz REQUIRED)

find_path(DEFLATE_INCLUDE_DIR libdeflate.h REQUIRED)
find_library(DEFLATE_LIBRARY deflate REQUIRED)

find_path(CJSON_INCLUDE_DIR cjson/cJSON.h REQUIRED)
find_library(CJSON_LIBRARY cjson REQUIRED)

find_package(HDF5 REQUIRED COMPONENTS C)

add_library(lobule_dependencies INTERFACE)
target_include_directories(lobule_dependencies SYSTEM INTERFACE
    ${NIFTI_INCLUDE_DIR} ${DEFLATE_INCLUDE_DIR} ${CJSON_INCLUDE_DIR} ${HDF5_INCLUDE_DIRS})
target_link_libraries(lobule_dependencies INTERFACE
    OpenMP::OpenMP_C PNG::PNG ${NIFTI_LIBRARY} ${ZNZ_LIBRARY} ${DEFLATE_LIBRARY} ${CJSON_LIBRARY}
    ${HDF5_C_LIBRARIES} ZLIB::ZLIB m)
