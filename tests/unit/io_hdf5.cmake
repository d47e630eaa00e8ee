# HDF5 and PNG: what goes in comes out, and hostile files end in one clear line.
foreach(name test_io_sandbox test_io_hdf5 test_io_hdf5_layouts test_io_hdf5_hostile test_io_png)
    lobule_unit_test(${name} ${name}.c io_scratch.c)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "LOBULE_SHARED=${LOBULE_SHARED}" TIMEOUT 600)
endforeach()
