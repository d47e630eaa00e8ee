# What the Find modules of libraries without a CMake package or a .pc file share.
include(FindPackageHandleStandardArgs)

# lobule_find_one(NAME PREFIX TARGET HEADER LIBRARY DEBIAN_PACKAGE): define the imported TARGET.
macro(lobule_find_one name prefix target header library debian)
    find_path(${prefix}_INCLUDE_DIR ${header})
    find_library(${prefix}_LIBRARY ${library})
    mark_as_advanced(${prefix}_INCLUDE_DIR ${prefix}_LIBRARY)
    find_package_handle_standard_args(${name}
        REQUIRED_VARS ${prefix}_LIBRARY ${prefix}_INCLUDE_DIR
        REASON_FAILURE_MESSAGE "on Debian and Ubuntu: ${debian}")
    if(${name}_FOUND AND NOT TARGET ${target})
        add_library(${target} UNKNOWN IMPORTED)
        set_target_properties(${target} PROPERTIES
            IMPORTED_LOCATION ${${prefix}_LIBRARY}
            INTERFACE_INCLUDE_DIRECTORIES ${${prefix}_INCLUDE_DIR})
    endif()
endmacro()
