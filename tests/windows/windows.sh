#!/usr/bin/env bash
# Test the program for Windows under Wine: its bytes against Linux's, and a fixed set of tests/command.
# usage: windows.sh LOBULE LOBULE.EXE PYTHON [PYTEST_ARGUMENT...]
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
prefix=$here/../../build/wine
mkdir -p "$prefix"
prefix=$(realpath "$prefix")
LOBULE_LINUX=$(realpath "$1")
exe=$(realpath "$2")
python=$3
shift 3

# first PROGRAM...: the first of these that is there.
first() {
    local name
    for name in "$@"; do command -v "$name" && return; done
    printf 'windows.sh: none of these is there: %s\n' "$*" >&2
    return 1
}
wine=$(first /usr/lib/wine/wine64 wine wine-stable wine64)
server=$(first wineserver wineserver-stable /usr/lib/wine/wineserver)
export LOBULE_EXE=$exe LOBULE_LINUX LOBULE_BIN=$prefix/lobule PYTHONPATH=$here
export WINEDEBUG=-all WINEPREFIX=$prefix WINEDLLOVERRIDES='winemenubuilder.exe=d;mscoree=;mshtml='

# What reads and writes DICOM there.
rm -rf "$prefix/wheels" "$prefix/dicom"
grep -E '^(dcm2niix|dcmqi)\b' "$here/../requirements.txt" |
    "$python" -m pip download -q --no-deps --only-binary=:all: --platform win_amd64 -d "$prefix/wheels" -r /dev/stdin
for wheel in "$prefix"/wheels/*.whl; do "$python" -m zipfile -e "$wheel" "$prefix/dicom"; done

# In the place of the program, also for tests that empty the environment.
cat >"$LOBULE_BIN" <<WRAPPER
#!/bin/sh
export WINEPATH="\${WINEPATH-Z:$prefix/dicom/dcm2niix;Z:$prefix/dicom/dcmqi/bin}"
unset TMPDIR # Wine leaves folders of its own there
export PATH="\${PATH:-/usr/bin:/bin}" WINEDEBUG='$WINEDEBUG' WINEPREFIX='$prefix' WINEDLLOVERRIDES='$WINEDLLOVERRIDES'
exec '$wine' '$exe' "\$@"
WRAPPER
chmod +x "$LOBULE_BIN"

# Wine's server stays for the whole of it, so that a program need not start it. One that an earlier
# run has left refuses a second.
"$server" --kill || true
"$server" --wait
"$server" --persistent
"$wine" wineboot --init >/dev/null 2>&1 || true
trap '"$server" --kill' EXIT

# The tests of one file after one another, files side by side. What each says is shown when it is done. On a busy machine
# Wine ends one program in some thousands by itself ("wine client error"), so what has failed is run once more, and told.
cd "$here/../command"
test_file() {
    local chosen log rc=0
    mapfile -t chosen < <(grep "^$1" "$here/chosen.txt" || echo "$1")
    set -- "$1" "${chosen[@]}" -q -rP -p exceptions -o cache_dir="$prefix/cache/${1##*/}" "${@:2}"
    log=$("$python" -m pytest "${@:2}" 2>&1) || {
        log+=$'\n-- again: what has failed\n'
        log+=$("$python" -m pytest --last-failed "${@:2}" 2>&1) || rc=$?
    }
    printf -- '-- %s\n%s\n' "$1" "$log"
    return $rc
}
export -f test_file
export here prefix python
{
    echo ../same_bytes/test_same_bytes.py
    echo ../windows/test_windows.py
    sed '/^#/d; s/::.*//' "$here/chosen.txt" | uniq
} | xargs -P "${LOBULE_JOBS:-$(nproc)}" -I FILE bash -c 'test_file FILE "$@"' - "$@"
