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
out=$PWD/build/macos
mkdir -p "$out"
rm -f "$out"/*.whl
[ -x "$out/tools/bin/wheel" ] || {
    python3 -m venv "$out/tools"
    "$out/tools/bin/pip" install -q build scikit-build-core wheel
}
PATH=$("$python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))'):$PATH

for processor in ${LOBULE_PROCESSORS:-arm64 x86_64}; do
    libraries=$PWD/build/macos_libraries_$processor
    packaging/libraries.sh "$libraries" cmake/macos.cmake -DLOBULE_PROCESSOR="$processor"
    raw=$out/$processor
    rm -rf "$raw"
    CMAKE_ARGS="--preset macos-$processor $*" "$out/tools/bin/python" -m build --no-isolation --wheel --outdir "$raw" \
        -C build-dir="$PWD/build/macos-$processor" -C install.strip=false .
    "$out/tools/bin/wheel" unpack -d "$raw/unpacked" "$raw"/*.whl
    # The licences of what is inside.
    licences=$(echo "$raw"/unpacked/*/*.dist-info)/licenses
    mkdir -p "$licences" "$raw/packed"
    cp "$libraries"/licences/* "$licences"
    "$out/tools/bin/wheel" pack -d "$raw/packed" "$raw"/unpacked/*
    "$out/tools/bin/wheel" tags --remove --platform-tag "macosx_11_0_$processor" "$raw"/packed/*.whl
    mv "$raw"/packed/*.whl "$out"
done
ls -l "$out"/*.whl
