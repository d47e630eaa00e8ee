#!/usr/bin/env bash
# Build the wheel in a root of an older Debian, so that machines with an older C library take it:
# the tag is that of the release (bullseye: manylinux_2_31). Then test it here too.
# usage: old_wheel.sh [RELEASE]   (default: bullseye). As root, or where mmdebstrap works as a user.
#
#   LOBULE_SOURCE_RELEASE=NAME   see libraries.sh (default: bookworm)
#   LOBULE_MIRROR=URI   where its packages come from (default: what mmdebstrap takes for it), or a line as in
#                       sources.list, "deb URI RELEASE main": for a release no longer supported, whose security
#                       archive has lost packages that it still lists
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
release=${1:-bullseye}
out=$PWD/build/old_wheel
rm -rf "$out"
mkdir -p "$out"
packages=$(./run packages build | tr ' ' ',')
git ls-files -z --cached --others --exclude-standard | tar --null -T - -czf "$out/source.tar.gz"

# The release's cmake may be too old; pip's is not. Certificates of this machine go along.
cat >"$out/build.sh" <<'BUILD'
set -eu
mkdir -p /build && cd /build && tar -xzf /opt/source.tar.gz
git init -q . # paths are those of a checkout
python3 -m venv /tools && /tools/bin/pip install -q --upgrade pip && /tools/bin/pip install -q 'cmake<4' ninja
PATH=/tools/bin:$PATH packaging/wheel.sh
BUILD
# shellcheck disable=SC2016  # mmdebstrap fills in the folder
build='chroot "$1" env HOME=/tmp LOBULE_SOURCE_RELEASE="${LOBULE_SOURCE_RELEASE:-bookworm}" sh /opt/build.sh'
bundle=/etc/ssl/certs/ca-certificates.crt certificates=()
[ ! -f $bundle ] || certificates=("--customize-hook=upload $bundle $bundle")
mmdebstrap --quiet --variant=minbase --aptopt='APT::Install-Recommends "0"' \
    --include="$packages,python3-venv,python3-dev,git,ca-certificates" \
    --customize-hook="copy-in $out/source.tar.gz $out/build.sh /opt" \
    "${certificates[@]}" \
    --customize-hook="$build" \
    --customize-hook="sync-out /build/build/wheel $out" \
    "$release" /dev/null ${LOBULE_MIRROR:+"$LOBULE_MIRROR"}
wheel=$(echo "$out"/lobule-*.whl)
python3 -m venv "$out/env"
"$out/env/bin/pip" install -q "$wheel"
env -i HOME="$out" PATH="$out/env/bin" "$out/env/bin/python" packaging/wheel_test.py
rm -rf "$out"/env* "$out/raw" "$out/tools" "$out/source.tar.gz" "$out/build.sh"
echo "$wheel"
