#!/bin/sh
# One file of command-line tests. Ends with 77, which CTest shows as skipped, where no Python has
# the packages for it. usage: run_file.sh PYTHON FILE
"$1" -c 'from importlib.util import find_spec as found
exit(not all(map(found, ("pytest", "numpy", "scipy", "nibabel", "h5py", "SimpleITK", "skimage", "cc3d"))))' 2>/dev/null || {
    echo "skipped: $1 is no Python with the packages of tests/requirements.txt; ./run test makes one"
    exit 77
}
exec "$1" -m pytest -q -p no:cacheprovider "$2"
