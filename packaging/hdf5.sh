#!/usr/bin/env bash
# Build a small static HDF5 for packages that carry all they need: the C library alone, of the
# sources that this Debian or Ubuntu keeps for its own package, whose 38 libraries it does without.
# usage: hdf5.sh FOLDER   (afterwards FOLDER/lib/libhdf5.a and FOLDER/include; kept if it is there)
set -euo pipefail
prefix=$(realpath -m "$1")
[ ! -f "$prefix/lib/libhdf5.a" ] || exit 0
work=$prefix/work
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/source"

# The machine's own list of sources, with deb-src in place of deb; nothing outside of FOLDER changes.
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$file" ] || continue
    case $file in
    *.sources) sed -n 's/^Types: .*/Types: deb-src/p; /^\(URIs\|Suites\|Components\|Signed-By\):/p; /^$/p' "$file" ;;
    *.list) sed -n "s/^deb \(.*[ /]${release}[ -].*\)/deb-src \1/p" "$file" >>"$work/all.list" ;;
    esac
done | awk -v RS= -v release="$release" '$0 ~ "Suites:.*" release && $0 ~ "Components:.*main" { print $0 "\n" }' >"$work/all.sources"
find "$work" -maxdepth 1 -name 'all.*' -empty -delete
mkdir -p "$work/parts"
mv "$work"/all.* "$work/parts"
apt=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/parts" -o "Dir::State::lists=$work/lists"
    -o "Dir::Cache=$work" -o APT::Sandbox::User=)
apt-get "${apt[@]}" update -qq
(cd "$work/source" && apt-get "${apt[@]}" source -qq --download-only hdf5)
tar -xf "$work"/source/hdf5_*.orig.tar.* -C "$work/source" --strip-components=1

# Its checks leave files where cmake is started.
mkdir -p "$work/build"
cd "$work/build"
cmake -G Ninja "$work/source" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
    -DCMAKE_C_FLAGS="-ffunction-sections -fdata-sections -w" \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF \
    -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_JAVA=OFF \
    -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_THREADSAFE=OFF \
    >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }
cmake --build . --target install >>"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }
cd "$prefix"
rm -rf "$work"
