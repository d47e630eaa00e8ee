# Debian packages: `cpack -G DEB` in a build with BUILD_SHARED_LIBS and the prefix /usr;
# packaging/deb.sh does that and installs them in a clean root. `lobule` has the program, the shared
# library and what there is to read, `liblobule-dev` the rest of the library, `python3-lobule` the
# Python package, where LOBULE_PYTHON_DIR says where to.
set(LOBULE_PYTHON_DIR "" CACHE STRING "Folder for the Python package; empty: it is not installed")
set(CPACK_COMPONENTS_ALL runtime documentation development)
if(LOBULE_PYTHON_DIR)
    install(DIRECTORY python/lobule DESTINATION ${LOBULE_PYTHON_DIR} COMPONENT python
        PATTERN __pycache__ EXCLUDE)
    list(APPEND CPACK_COMPONENTS_ALL python)
endif()

set(CPACK_PACKAGE_NAME lobule)
set(CPACK_PACKAGE_VENDOR Lobule)
set(CPACK_PACKAGE_CONTACT "Lobule developers <lobule@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

# deb(COMPONENT_GROUP PACKAGE DEPENDS SUMMARY COMPONENT...)
macro(deb group package depends summary)
    string(TOUPPER ${group} name)
    foreach(component ${ARGN})
        string(TOUPPER ${component} upper)
        set(CPACK_COMPONENT_${upper}_GROUP ${group})
    endforeach()
    set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package})
    set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "${depends}")
    set(CPACK_COMPONENT_GROUP_${name}_DESCRIPTION "${summary}")
    set(CPACK_DEBIAN_${name}_DESCRIPTION "${summary}")
endmacro()

set(same_version "lobule (= ${PROJECT_VERSION})")
deb(main lobule "" "cut medical volumes into labelled regions" runtime documentation)
deb(dev liblobule-dev "${same_version}" "cut medical volumes into labelled regions: library" development)
if(LOBULE_PYTHON_DIR)
    deb(py python3-lobule "${same_version}, python3, python3-numpy"
        "cut medical volumes into labelled regions: Python package" python)
    set(CPACK_DEBIAN_PY_PACKAGE_ARCHITECTURE all)
    set(CPACK_DEBIAN_PY_PACKAGE_SHLIBDEPS OFF)
endif()
include(CPack)
