# What `cmake --install` puts where: library, public headers, program, licence, the CMake package
# and the pkg-config file.
include(CMakePackageConfigHelpers)

# The interface of the library. A header named here may include only headers named here.
set(LOBULE_PUBLIC_HEADERS
    io/file.h
    io/io.h
    io/nifti.h
    io/planes.h
    kernels/backends.h
    kernels/components/components.h
    kernels/components/components_stream.h
    kernels/context.h
    kernels/device/device.h
    kernels/distance/distance.h
    kernels/growcut/growcut.h
    kernels/levels/levels.h
    kernels/measures/measures.h
    kernels/phantom/phantom.h
    kernels/regions/regions.h
    kernels/contacts/contacts.h
    kernels/supervoxels/supervoxels.h
    volumes/both.h
    volumes/geometry.h
    volumes/labels.h
    volumes/status.h
    volumes/version.h
    volumes/volume.h
    volumes/voxel_type.h)

foreach(header IN LISTS LOBULE_PUBLIC_HEADERS)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lobule/${folder})
endforeach()

set_target_properties(lobule PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
install(TARGETS lobule EXPORT lobule-targets)
if(TARGET lobule_program)
    set_target_properties(lobule_program PROPERTIES
        INSTALL_RPATH "$<$<BOOL:${BUILD_SHARED_LIBS}>:$ORIGIN/../${CMAKE_INSTALL_LIBDIR}>")
    install(TARGETS lobule_program)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Only a static library leaves its dependencies to whoever links it.
get_target_property(library_type lobule TYPE)
set(LOBULE_STATIC FALSE)
if(library_type STREQUAL "STATIC_LIBRARY")
    set(LOBULE_STATIC TRUE)
    install(TARGETS lobule_dependencies EXPORT lobule-targets)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lobule)
install(EXPORT lobule-targets NAMESPACE lobule:: DESTINATION ${package_dir})
configure_package_config_file(cmake/lobule-config.cmake.in lobule-config.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(lobule-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lobule-config.cmake
    ${PROJECT_BINARY_DIR}/lobule-config-version.cmake
    cmake/FindNIFTI2.cmake cmake/FindDeflate.cmake cmake/FindCJSON.cmake
    DESTINATION ${package_dir})

# pkg-config: what ships a .pc file everywhere is required by name, the rest by -L and -l.
set(pc_libraries ${NIFTI_LIBRARY} ${ZNZ_LIBRARY} ${DEFLATE_LIBRARY} ${CJSON_LIBRARY})
get_target_property(hdf5_library hdf5::hdf5 IMPORTED_LOCATION)
if(NOT hdf5_library)
    list(GET HDF5_C_LIBRARIES 0 hdf5_library)
endif()
list(APPEND pc_libraries ${hdf5_library})
if(LOBULE_WITH_CUDA)
    list(APPEND pc_libraries ${CUDA_cudart_static_LIBRARY})
endif()
set(pc_private "")
foreach(library IN LISTS pc_libraries)
    get_filename_component(folder ${library} DIRECTORY)
    get_filename_component(name ${library} NAME_WE)
    string(REGEX REPLACE "^lib" "-l" name ${name})
    if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
        list(APPEND pc_private -L${folder})
    endif()
    list(APPEND pc_private ${name})
endforeach()
list(APPEND pc_private ${OpenMP_C_FLAGS} -lm)
if(LOBULE_WITH_CUDA)
    list(APPEND pc_private -lstdc++ -lrt -lpthread -ldl)
endif()
list(REMOVE_DUPLICATES pc_private)
list(JOIN pc_private " " LOBULE_PC_LIBS_PRIVATE)
file(RELATIVE_PATH LOBULE_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/lobule.pc.in lobule.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lobule.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
