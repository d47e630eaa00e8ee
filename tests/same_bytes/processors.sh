#!/usr/bin/env bash
# Compare the bytes of this machine's program with those on other processors, under qemu-user: aarch64, for which it is
# compiled here, and x86-64 without AVX2.
# usage: processors.sh BUILD_FOLDER PYTHON ROOT_FOLDER PACKAGE...   PACKAGEs are what Lobule is built with; ROOT_FOLDER
# gets those for aarch64, and keeps them
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
build=$(realpath "$1")
python=$2
root=$(realpath -m "$3")
shift 3
cd "$here/../.."
rc=0

# same_bytes NAME BUILD_FOLDER EMULATOR...: what a build makes under an emulator, against what LOBULE_LINUX makes. HDF5's
# program, which is started by the other, has to run under it too.
same_bytes() {
    local name=$1 package=$PWD/build/processors/$1 file emulator
    rm -rf "$package"
    cmake --install "$2" --component runtime --prefix "$package" >/dev/null
    shift 2
    emulator=$(printf '%q ' "$@")
    for file in bin/lobule libexec/lobule/lobule-hdf5; do
        mv "$package/$file" "$package/$file.$name"
        printf '#!/bin/sh\nexec %s"%s" "$@"\n' "$emulator" "$package/$file.$name" >"$package/$file"
        chmod +x "$package/$file"
    done
    echo "-- $name: $*"
    LOBULE_LINUX=$build/tools/lobule LOBULE_BIN=$package/bin/lobule OMP_WAIT_POLICY=passive \
        "$python" -m pytest -q -rP "$here/test_same_bytes.py" || rc=1
}

if [ ! -f "$root/usr/lib/aarch64-linux-gnu/libhdf5_serial.so" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    mmdebstrap --quiet --arch=arm64 --variant=extract --aptopt='APT::Install-Recommends "0"' \
        --include="$(IFS=, && echo "$*"),libgomp1" "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" - |
        tar -x -C "$root" --exclude='./dev' --no-same-owner
    # Links from the root of a system lead out of this one.
    find "$root" -lname '/*' -printf '%l %p\n' | while read -r target link; do
        if [ -e "$root$target" ]; then ln -sfr "$root$target" "$link"; fi
    done
fi
cmake --preset aarch64 -DLOBULE_AARCH64_ROOT="$root" >build/aarch64.log || { cat build/aarch64.log >&2; exit 1; }
cmake --build build/aarch64 --parallel "${LOBULE_JOBS:-$(nproc)}"

same_bytes no-avx2 "$build" qemu-x86_64 -cpu Nehalem
same_bytes aarch64 build/aarch64 qemu-aarch64 -L "$root"
exit $rc
