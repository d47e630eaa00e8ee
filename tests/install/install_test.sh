#!/usr/bin/env bash
# Install a build into a scratch folder and use it as a stranger would.
# usage: install_test.sh BUILD_FOLDER CMAKE C_COMPILER CXX_COMPILER
set -euo pipefail
build=$1 cmake=$2 cc=$3 cxx=$4
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

# Man pages, completion and documents are there, those that the program prints as it prints them now.
lobule=$prefix/bin/lobule
share=$prefix/share
for command in $("$lobule" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    cmp <("$lobule" --man "$command") "$share/man/man1/lobule-$command.1" || fail "no page of $command"
done
cmp <("$lobule" --man) "$share/man/man1/lobule.1" || fail "no page of lobule"
for file in bash-completion/completions/lobule zsh/site-functions/_lobule fish/vendor_completions.d/lobule.fish; do
    cmp <("$lobule" --completion "${file%%[-/]*}") "$share/$file" || fail "no $file"
done
for file in README.md CHANGELOG.md LICENSE data/README.md data/abdomen_seeds.nii.gz data/seeds.png; do
    [ -s "$share/doc/lobule/$file" ] || fail "no $file in share/doc"
done
"$lobule" info "$share/doc/lobule/data/abdomen.nii.gz" >/dev/null || fail "data that cannot be read"

# What 3D Slicer runs: the commands, from a folder of their own.
for module in "$prefix"/libexec/lobule/slicer/*; do
    cmp <("$module" --xml) <("$lobule" "${module##*_}" --xml) || fail "$module gives another description"
done

# Every header stands alone, in C and in C++, and includes headers of its own folder alone.
warnings=(-Wall -Wextra -Wpedantic -Werror)
for header in "$prefix"/include/lobule/*.h; do
    printf '#include <lobule/%s>\nextern int unit;\n' "${header##*/}" >"$scratch/unit.c"
    "$cc" -std=c11 "${warnings[@]}" -fsyntax-only -I"$prefix/include" "$scratch/unit.c" ||
        fail "$header is not C11"
    "$cxx" -std=c++17 "${warnings[@]}" -fsyntax-only -I"$prefix/include" -x c++ "$scratch/unit.c" ||
        fail "$header is not C++17"
done

# A volume, and what its components are.
cd "$scratch"
"$lobule" phantom cells --cells 20 --size 40,30,20 -o scan.nii.gz --truth truth.nii.gz --seeds seeds.nii.gz --quiet
if [ -x "$prefix/libexec/lobule/lobule-hdf5" ]; then # HDF5's program is found from where the other lies now
    "$lobule" convert truth.nii.gz truth.h5 --quiet
    "$lobule" compare truth.h5 truth.nii.gz --strict >/dev/null || fail "HDF5 has other labels"
fi
"$lobule" components truth.nii.gz --equal -o want.nii.gz --quiet
"$lobule" growcut scan.nii.gz seeds.nii.gz -o grown.nii.gz --quiet
"$lobule" phantom abdomen --size 48,40,24 --spacing 3,3,4 -o belly.nii.gz --seeds strokes.nii.gz --quiet
"$lobule" segment belly.nii.gz strokes.nii.gz -o mask.nii.gz --quiet

# Recipes are found beside the program, wherever that is.
HOME=$scratch LOBULE_RECIPES='' "$lobule" run strokes image=scan.nii.gz seeds=truth.nii.gz out=masks --dry-run |
    grep -q '^lobule segment scan.nii.gz truth.nii.gz ' || fail "the recipe strokes is not found"

# try NAME PROGRAM: a client must give the same bytes.
try() {
    "$2" truth.nii.gz got.nii.gz || fail "$1 fails"
    cmp got.nii.gz want.nii.gz || fail "$1 gives other labels"
    rm got.nii.gz
    echo "$1: same bytes"
}

quietly "$cmake" -S "$here/client" -B client -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx"
quietly "$cmake" --build client
try "C by find_package" client/client_c
try "C++ by find_package" client/client_cpp
[ "$(client/cancel truth.nii.gz got.nii.gz)" = "cancelled at half" ] || fail "a call that is stopped goes on, or all fails"
cmp got.nii.gz want.nii.gz || fail "after a call that was stopped the next one gives other labels"
client/growcut scan.nii.gz seeds.nii.gz got_grown.nii.gz || fail "growing on arrays fails"
cmp got_grown.nii.gz grown.nii.gz || fail "growing on arrays gives other labels"
client/segment belly.nii.gz strokes.nii.gz got_mask.nii.gz || fail "making a mask fails"
cmp got_mask.nii.gz mask.nii.gz || fail "making a mask gives other labels"
rm got.nii.gz
echo "progress and cancelling, arrays where a GPU has them, a mask from strokes: same bytes"

pc=$(find "$prefix" -name lobule.pc)
export PKG_CONFIG_PATH=${pc%/*}${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
version=$("$lobule" --version)
[ "$(pkg-config --modversion lobule)" = "${version#* }" ] || fail "lobule.pc and version.h disagree"
read -ra flags <<<"$(pkg-config --cflags --libs --static lobule)"
flags+=("-Wl,-rpath,${pc%/*/*}")
"$cc" -std=c11 "${warnings[@]}" -o by_pc "$here/client/components.c" "${flags[@]}"
"$cxx" -std=c++17 "${warnings[@]}" -o by_pc_cpp "$here/client/components.cpp" "${flags[@]}"
try "C by pkg-config" ./by_pc
try "C++ by pkg-config" ./by_pc_cpp

# The line that docs/install.md shows, as it stands there.
line=$(sed -n 's/^    \(cc .*pkg-config.*\)/\1/p' "$source/docs/install.md")
(cd "$source" && LD_RUN_PATH=${pc%/*/*} bash -euc "cc() { '$cc' \"\$@\"; }; ${line/-o components/-o $scratch/by_readme}") ||
    fail "the line in docs/install.md does not compile: $line"
try "C by docs/install.md" ./by_readme
