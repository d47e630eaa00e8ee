# Find zstd and define Zstandard::zstd.
find_path(ZSTD_INCLUDE_DIR zstd.h)
find_library(ZSTD_LIBRARY zstd)
mark_as_advanced(ZSTD_INCLUDE_DIR ZSTD_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Zstandard
    REQUIRED_VARS ZSTD_LIBRARY ZSTD_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "on Debian and Ubuntu: libzstd-dev")

if(Zstandard_FOUND AND NOT TARGET Zstandard::zstd)
    add_library(Zstandard::zstd UNKNOWN IMPORTED)
    set_target_properties(Zstandard::zstd PROPERTIES
        IMPORTED_LOCATION ${ZSTD_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${ZSTD_INCLUDE_DIR})
endif()
