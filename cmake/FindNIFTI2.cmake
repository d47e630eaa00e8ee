# Find niftilib's libnifti2 (it ships no pkg-config file) and define NIFTI2::nifti2.
# libnifti2 alone has the functions with 64-bit dimensions.
find_path(NIFTI_INCLUDE_DIR nifti2_io.h PATH_SUFFIXES nifti)
find_library(NIFTI_LIBRARY nifti2)
find_library(ZNZ_LIBRARY znz)
mark_as_advanced(NIFTI_INCLUDE_DIR NIFTI_LIBRARY ZNZ_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NIFTI2
    REQUIRED_VARS NIFTI_LIBRARY ZNZ_LIBRARY NIFTI_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "on Debian and Ubuntu: libnifti2-dev")

if(NIFTI2_FOUND AND NOT TARGET NIFTI2::nifti2)
    add_library(NIFTI2::nifti2 UNKNOWN IMPORTED)
    set_target_properties(NIFTI2::nifti2 PROPERTIES
        IMPORTED_LOCATION ${NIFTI_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${NIFTI_INCLUDE_DIR}
        INTERFACE_LINK_LIBRARIES ${ZNZ_LIBRARY})
endif()
