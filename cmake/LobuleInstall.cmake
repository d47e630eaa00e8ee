# What `cmake --install` puts where: library, program, what there is to read about them, the CMake
# package and the pkg-config file. (api/CMakeLists.txt installs the public headers.) Packages take
# some of it: the components runtime, documentation and development.
include(CMakePackageConfigHelpers)

set_target_properties(lobule_shared PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(SKBUILD) # a wheel has no links: one file
    set_target_properties(lobule_shared PROPERTIES VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()
install(TARGETS ${lobule_installed} EXPORT lobule-targets
    RUNTIME COMPONENT runtime LIBRARY COMPONENT runtime NAMELINK_COMPONENT development ARCHIVE COMPONENT development)
if(LOBULE_HDF5)
    install(TARGETS lobule_hdf5 RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/lobule COMPONENT runtime)
    if(LOBULE_HDF5_STATIC_LINKS AND NOT SKBUILD) # its licence goes with it
        install(FILES /usr/share/doc/libhdf5-dev/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME hdf5.txt
            COMPONENT runtime OPTIONAL)
    endif()
endif()
if(TARGET lobule_program)
    install(TARGETS lobule_program RUNTIME COMPONENT runtime)

    if(NOT WIN32) # they are scripts of the shell
        # Commands as modules of 3D Slicer, in a folder that holds nothing else: it runs all that is there.
        set(slicer_folder ${CMAKE_INSTALL_LIBEXECDIR}/lobule/slicer)
        file(RELATIVE_PATH way /prefix/${slicer_folder} /prefix/${CMAKE_INSTALL_BINDIR})
        foreach(command segment growcut components supervoxels filter labels register warp carry)
            configure_file(packaging/slicer/module.in slicer/lobule_${command} @ONLY)
            install(PROGRAMS ${PROJECT_BINARY_DIR}/slicer/lobule_${command} DESTINATION ${slicer_folder}
                COMPONENT runtime)
        endforeach()
    endif()

    install(DIRECTORY packaging/SlicerLobule/SegmentEditorLobule DESTINATION ${CMAKE_INSTALL_DATADIR}/lobule/slicer
        COMPONENT runtime PATTERN __pycache__ EXCLUDE PATTERN CMakeLists.txt EXCLUDE)
    install(DIRECTORY recipes/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lobule/recipes COMPONENT runtime)
    if(NOT CMAKE_CROSSCOMPILING)
        install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}
            COMPONENT documentation)
        foreach(shell bash-completion zsh fish)
            install(DIRECTORY ${PROJECT_BINARY_DIR}/share/${shell} DESTINATION ${CMAKE_INSTALL_DATADIR}
                COMPONENT documentation)
        endforeach()
    endif()
endif()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
install(DIRECTORY data docs DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS
    COMPONENT documentation)

# Only a static library leaves its dependencies to whoever links it.
set(LOBULE_STATIC TRUE)
if(BUILD_SHARED_LIBS)
    set(LOBULE_STATIC FALSE)
else()
    install(TARGETS lobule_dependencies EXPORT lobule-targets COMPONENT development)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lobule)
install(EXPORT lobule-targets NAMESPACE lobule:: DESTINATION ${package_dir}
    COMPONENT development)
configure_package_config_file(cmake/lobule-config.cmake.in lobule-config.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(lobule-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lobule-config.cmake
    ${PROJECT_BINARY_DIR}/lobule-config-version.cmake
    cmake/FindNIFTI2.cmake cmake/FindDeflate.cmake cmake/FindCJSON.cmake cmake/FindBlosc.cmake cmake/FindZstandard.cmake
    cmake/LobuleFindOne.cmake
    DESTINATION ${package_dir} COMPONENT development)

# pkg-config: what ships a .pc file everywhere is required by name, the rest by -L and -l.
set(pc_libraries ${NIFTI_LIBRARY} ${ZNZ_LIBRARY} ${DEFLATE_LIBRARY} ${CJSON_LIBRARY} ${BLOSC_LIBRARY} ${ZSTD_LIBRARY})
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
list(JOIN pc_private " " pc_private)
set(LOBULE_PC_PRIVATE "")
if(LOBULE_STATIC) # of a shared one pkg-config would want the .pc files of what is required, privately too
    set(LOBULE_PC_PRIVATE "Requires.private: libpng libtiff-4 expat zlib libcrypto\nLibs.private: ${pc_private}")
endif()
file(RELATIVE_PATH LOBULE_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/lobule.pc.in lobule.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lobule.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT development)
