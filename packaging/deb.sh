#!/usr/bin/env bash
# Build the Debian packages and install them in a clean root of this machine's release.
# usage: deb.sh [CMAKE_OPTION...]   as -DLOBULE_CUDA=ON. The packages come to lie in build/deb.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$PWD/build/deb
mkdir -p "$out"
cmake -G Ninja -S . -B "$out" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DBUILD_SHARED_LIBS=ON \
    -DLOBULE_TESTS=OFF -DLOBULE_PYTHON_DIR=lib/python3/dist-packages -DLOBULE_CUDA=OFF "$@" >"$out.log" 2>&1 ||
    { cat "$out.log" >&2; exit 1; }
cmake --build "$out"
rm -f "$out"/*.deb
(cd "$out" && cpack -G DEB >>"$out.log" 2>&1) || { cat "$out.log" >&2; exit 1; }
ls -l "$out"/*.deb
# Debian takes no package from an address that cannot be one
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error --tags bogus-mail-host,malformed-contact,no-phrase "$out"/*.deb
fi

command -v mmdebstrap >/dev/null || {
    echo "deb: mmdebstrap is not installed; the packages are not tried" >&2
    exit 1
}
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
# shellcheck disable=SC2016  # mmdebstrap fills in the folder
in_root() { printf 'chroot "$1" env -u LOBULE_LIBRARY -u LOBULE_PROGRAM %s' "$*"; }
mmdebstrap --quiet --variant=minbase --aptopt='APT::Install-Recommends "0"' \
    --customize-hook="copy-in $(echo "$out"/*.deb) /opt" \
    --customize-hook="$(in_root "sh -c 'apt-get install -y -qq /opt/*.deb >/dev/null'")" \
    --customize-hook="$(in_root lobule doctor)" \
    --customize-hook="copy-in packaging/wheel_test.py /opt" \
    --customize-hook="$(in_root python3 /opt/wheel_test.py)" \
    --customize-hook="$(in_root "sh -c 'apt-get install -y -qq pkg-config >/dev/null; pkg-config --cflags --libs lobule'")" \
    --customize-hook="$(in_root "sh -c 'apt-get purge -y -qq lobule >/dev/null; ! ls /usr/bin/lobule /usr/share/lobule 2>/dev/null'")" \
    "$release" /dev/null
echo "deb: installed, tried and removed in a clean $release"
