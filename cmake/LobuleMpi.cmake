# Plugins for MPI, by which several ranks share a volume: one for each MPI whose compiler is found, by
# that compiler, since each MPI has types and numbers of its own.
set(LOBULE_MPI AUTO CACHE STRING "Plugins for MPI: AUTO (for each mpicc that is found), ON (one at least), OFF")
file(RELATIVE_PATH plugins_from_program ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/lobule)
set(plugins "")
if(NOT LOBULE_MPI STREQUAL OFF AND NOT WIN32 AND NOT CMAKE_CROSSCOMPILING) # mpicc is for this machine
    find_program(LOBULE_MPICC_OPENMPI mpicc.openmpi)
    find_program(LOBULE_MPICC_MPICH mpicc.mpich)
    if(NOT LOBULE_MPICC_OPENMPI AND NOT LOBULE_MPICC_MPICH)
        find_program(LOBULE_MPICC mpicc)
    endif()
    foreach(kind OPENMPI MPICH "")
        set(compiler ${LOBULE_MPICC})
        set(plugin ${PROJECT_BINARY_DIR}/tools/liblobule_mpi.so)
        if(kind)
            set(compiler ${LOBULE_MPICC_${kind}})
            string(TOLOWER ${kind} name)
            set(plugin ${PROJECT_BINARY_DIR}/tools/liblobule_mpi_${name}.so)
        endif()
        if(NOT compiler)
            continue()
        endif()
        add_custom_command(OUTPUT ${plugin} VERBATIM
            COMMAND ${compiler} -shared -fPIC -O2 -std=gnu17 -Wno-stringop-overflow -I${PROJECT_SOURCE_DIR} -o ${plugin}
                ${PROJECT_SOURCE_DIR}/kernels/team/team_mpi.c
            DEPENDS ${PROJECT_SOURCE_DIR}/kernels/team/team_mpi.c ${PROJECT_SOURCE_DIR}/kernels/team/team_mpi.h
                ${PROJECT_SOURCE_DIR}/kernels/team/team.h)
        list(APPEND plugins ${plugin})
    endforeach()
    if(NOT plugins AND LOBULE_MPI STREQUAL ON)
        message(FATAL_ERROR "LOBULE_MPI is ON, and no mpicc was found")
    endif()
endif()
if(plugins)
    add_custom_target(lobule_mpi ALL DEPENDS ${plugins})
    add_dependencies(lobule_program lobule_mpi)
    install(PROGRAMS ${plugins} DESTINATION ${CMAKE_INSTALL_LIBDIR}/lobule COMPONENT runtime)
endif()
