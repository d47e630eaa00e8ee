#!/usr/bin/env bash
# Install a build into a scratch folder and use it as a stranger would.
# usage: install_test.sh BUILD_FOLDER CMAKE C_COMPILER
set -euo pipefail
build=$1 cmake=$2 cc=$3
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "install: $*" >&2; exit 1; }

quietly() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }; }

quietly "$cmake" --install "$build" --prefix "$scratch/prefix"

# Nothing that is installed as text may point back to where it was built.
if grep -rIlF -e "$source" -e "$build" "$scratch/prefix"; then
    fail "the files above name the source or build folder"
fi

# Moving the whole tree must not matter.
mv "$scratch/prefix" "$scratch/moved"
prefix=$scratch/moved

find "$prefix/include/lobule" -name '*.h' | while read -r header; do
    "$cc" -std=c17 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include/lobule" -x c "$header" ||
        fail "$header does not stand alone"
    if command -v c++ >/dev/null; then
        c++ -fsyntax-only -I"$prefix/include/lobule" -x c++ "$header" || fail "$header is no C++"
    fi
done

quietly "$cmake" -S "$here/client" -B "$scratch/client" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc"
quietly "$cmake" --build "$scratch/client"
version=$("$scratch/client/client")
echo "CMake client: $version"

pc=$(find "$prefix" -name lobule.pc)
export PKG_CONFIG_PATH=${pc%/*}${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
[ "$(pkg-config --modversion lobule)" = "$version" ] || fail "lobule.pc and version.h disagree"
read -ra flags <<<"$(pkg-config --cflags --libs --static lobule)"
"$cc" -o "$scratch/by_pc" "$here/client/client.c" "${flags[@]}" -Wl,-rpath,"${pc%/*/*}"
[ "$("$scratch/by_pc")" = "$version" ] || fail "the pkg-config client does not run"
echo "pkg-config client: $version"

if [ -x "$prefix/bin/lobule" ]; then
    "$prefix/bin/lobule" --version
fi
