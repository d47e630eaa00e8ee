#!/usr/bin/env bash
# Build Lobule for Windows (x86-64) on Debian or Ubuntu: the program and the library, a zip of both, and a Python wheel
# with both inside.
# usage: windows.sh [CMAKE_OPTION...]   Zip and wheel come to lie in build/windows_package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$PWD/build/windows_package
name=lobule-$(sed -n 's/.*define LOB_VERSION *"\(.*\)"/\1/p' volumes/version.h)-windows-x86_64

packaging/libraries.sh build/windows_libraries cmake/windows.cmake
cp /usr/share/doc/gcc-mingw-w64-base/copyright build/windows_libraries/licences/gcc-runtime.txt
log=$(cmake --preset windows -DSKBUILD=OFF "$@" 2>&1) || {
    printf '%s\n' "$log" >&2
    exit 1
}
cmake --build build/windows --parallel "${LOBULE_JOBS:-$(nproc)}"

rm -rf "$out"
DESTDIR='' cmake --install build/windows --prefix "$out/$name" >/dev/null

# Nothing but Windows' own libraries may be missing beside them.
for file in "$out/$name/bin/lobule.exe" "$out/$name/bin/liblobule.dll" "$out/$name/libexec/lobule/lobule-hdf5.exe"; do
    [ -f "$file" ] || {
        printf 'windows.sh: %s is not there\n' "$file" >&2
        exit 1
    }
    foreign=$(x86_64-w64-mingw32-objdump -p "$file" | sed -n 's/.*DLL Name: //p' |
        grep -viE '^(kernel32|msvcrt|bcrypt|advapi32)\.dll$') || continue
    printf 'windows.sh: %s wants %s\n' "$file" "$foreign" >&2
    exit 1
done

# The licences of what is inside.
mkdir -p "$out/$name/licences"
cp build/windows_libraries/licences/* "$out/$name/licences"

(cd "$out" && cmake -E tar cf "$name.zip" --format=zip "$name")
# The wheel is made in the same folder, so it has the same programs.
packaging/cross_wheel.sh windows win_amd64 build/windows_libraries "$out" "$@"
ls -l "$out"/*.zip "$out"/*.whl
