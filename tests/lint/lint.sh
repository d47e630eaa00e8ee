#!/usr/bin/env bash
# Format, static analysis, shell scripts and room rules. usage: lint.sh [JOBS]
# Every check runs; the end is non-zero when one of them fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
jobs=${1:-$(nproc)}
failed=()

# Version 14 where it is installed: other versions lay code out a little differently.
tool() { command -v "$1-14" || command -v "$1"; }

# check NAME COMMAND...
check() {
    local name=$1
    shift
    echo "-- $name"
    "$@" || failed+=("$name")
}

mapfile -t ours < <(find volumes kernels io api tools tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | sort)
mapfile -t scripts < <(git ls-files -z 2>/dev/null | xargs -0 grep -lIE '^#!.*\b(ba)?sh\b' -- 2>/dev/null)

format() {
    local clang_format
    clang_format=$(tool clang-format) || { echo "clang-format is missing"; return 1; }
    "$clang_format" --version
    "$clang_format" --dry-run -Werror "${ours[@]}"
}

# Only C: clang-tidy 14 does not know today's CUDA. The sources are those of the build without it.
tidy() {
    local clang_tidy build=build/lint
    clang_tidy=$(tool clang-tidy) || { echo "clang-tidy is missing"; return 1; }
    if ! { cmake -G Ninja -S . -B $build -DLOBULE_CUDA=OFF && cmake --build $build --target lobule_page; } >$build.log 2>&1; then
        cat $build.log
        return 1
    fi
    # A file that several targets compile has an entry for each, and clang-tidy would look at it as often: keep one.
    # Lines that clang prints beside the findings are counts of what it passed over in system headers.
    mkdir -p $build/tidy
    python3 - $build/compile_commands.json $build/tidy/compile_commands.json <<'PYTHON' | xargs -P "$jobs" -n 4 "$clang_tidy" -p $build/tidy --quiet 2>/dev/null
import json, sys
once = {entry["file"]: entry for entry in json.load(open(sys.argv[1]))}
json.dump(list(once.values()), open(sys.argv[2], "w"))
print("\n".join(sorted(once)))
PYTHON
}

shell_scripts() {
    command -v shellcheck >/dev/null || { echo "shellcheck is not installed: skipped"; return 0; }
    shellcheck "${scripts[@]}"
}

mkdir -p build
check "clang-format" format
check "clang-tidy" tidy
check "shellcheck" shell_scripts
check "rooms" python3 tests/lint/rooms.py

if [ ${#failed[@]} -gt 0 ]; then
    echo "lint failed: ${failed[*]}"
    exit 1
fi
echo "lint: all clean"
