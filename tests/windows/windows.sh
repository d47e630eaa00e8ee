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
wine=$(first wine wine-stable wine64)
server=$(first wineserver wineserver-stable /usr/lib/wine/wineserver)
export LOBULE_EXE=$exe LOBULE_LINUX LOBULE_BIN=$prefix/lobule PYTHONPATH=$here
export WINEDEBUG=-all WINEPREFIX=$prefix WINEDLLOVERRIDES='winemenubuilder.exe=d;mscoree=;mshtml='

# In the place of the program, also for tests that empty the environment.
cat >"$LOBULE_BIN" <<WRAPPER
#!/bin/sh
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

rc=0
"$python" -m pytest -q -rP "$here/../same_bytes" "$here/test_windows.py" "$@" || rc=1
mapfile -t chosen < <(sed '/^#/d' "$here/chosen.txt")
cd "$here/../command"
"$python" -m pytest -q -p exceptions "${chosen[@]}" "$@" || rc=1
exit $rc
