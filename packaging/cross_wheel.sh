#!/usr/bin/env bash
# Build a Python wheel for another system, with program and library inside.
# usage: cross_wheel.sh PRESET TAG LIBRARIES FOLDER [CMAKE_OPTION...]   PRESET builds in build/PRESET, with LIBRARIES, which
# libraries.sh has made. The wheel, for TAG, comes to lie in FOLDER.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
tag=$2
libraries=$3
out=$4
shift 4
tools=$PWD/build/wheel_tools
[ -x "$tools/bin/wheel" ] || {
    python3 -m venv "$tools"
    "$tools/bin/pip" install -q build scikit-build-core wheel
}
raw=$out/raw
rm -rf "$raw" "$out"/*"$tag.whl"
CMAKE_ARGS="--preset $preset $*" "$tools/bin/python" -m build --no-isolation --wheel --outdir "$raw" \
    -C build-dir="$PWD/build/$preset" -C install.strip=false .
"$tools/bin/wheel" unpack -d "$raw/unpacked" "$raw"/*.whl
# The licences of what is inside.
licences=$(echo "$raw"/unpacked/*/*.dist-info)/licenses
mkdir -p "$licences" "$raw/packed"
cp "$libraries"/licences/* "$licences"
"$tools/bin/wheel" pack -d "$raw/packed" "$raw"/unpacked/*
"$tools/bin/wheel" tags --remove --platform-tag "$tag" "$raw"/packed/*.whl
mv "$raw"/packed/*.whl "$out"
rm -rf "$raw"
