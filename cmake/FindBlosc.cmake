# Find c-blosc 1 and define Blosc::blosc.
find_path(BLOSC_INCLUDE_DIR blosc.h)
find_library(BLOSC_LIBRARY blosc)
mark_as_advanced(BLOSC_INCLUDE_DIR BLOSC_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Blosc
    REQUIRED_VARS BLOSC_LIBRARY BLOSC_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "on Debian and Ubuntu: libblosc-dev")

if(Blosc_FOUND AND NOT TARGET Blosc::blosc)
    add_library(Blosc::blosc UNKNOWN IMPORTED)
    set_target_properties(Blosc::blosc PROPERTIES
        IMPORTED_LOCATION ${BLOSC_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${BLOSC_INCLUDE_DIR})
endif()
