#!/usr/bin/env bash
# Build Python wheels for macOS 11 and later, with program and library inside, on Debian.
# usage: macos.sh PYTHON [CMAKE_OPTION...]   PYTHON has ziglang (packaging/macos_requirements.txt). The
# wheels come to lie in build/macos.
#
#   LOBULE_PROCESSORS="arm64 x86_64"   which wheels (default: both)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=$1
shift
rm -f build/macos/*.whl
PATH=$("$python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))'):$PATH

for processor in ${LOBULE_PROCESSORS:-arm64 x86_64}; do
    libraries=$PWD/build/macos_libraries_$processor
    packaging/libraries.sh "$libraries" cmake/macos.cmake -DLOBULE_PROCESSOR="$processor"
    packaging/cross_wheel.sh "macos-$processor" "macosx_11_0_$processor" "$libraries" build/macos "$@"
done
ls -l build/macos/*.whl
