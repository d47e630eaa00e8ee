#!/usr/bin/env bash
# The shared library exports what the public headers declare: all of it, and nothing else.
# usage: symbols_test.sh LIBRARY INCLUDE_FOLDER C_COMPILER
set -euo pipefail
library=$1 include=$2 cc=$3

exported() {
    nm -D --defined-only "$library" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }' | sort -u
}

# The preprocessor leaves no comment and no macro; of our headers' lines, one statement a line. A
# statement that begins with a type and names lob_NAME( or lob_NAME[ declares it.
declared() {
    echo '#include <lobule/lobule.h>' | "$cc" -E -I"$include" -x c - |
        awk -v folder="$include/lobule/" '/^# / { ours = index($3, folder) == 2; next } ours' |
        tr '\n' ' ' | sed 's/[;{}]/&\n/g' |
        grep -vE '^ *(static|typedef|return|if|else|for|\})' |
        sed -nE 's/^ *(extern )?[a-zA-Z_][a-zA-Z0-9_ *]*[ *](lob_[a-z0-9_]+) ?[[(].*/\2/p' | sort -u
}

diff <(declared) <(exported) || {
    echo "symbols: < is declared and not exported, > is exported and not declared" >&2
    exit 1
}
echo "symbols: $(declared | wc -l) names, all declared and exported"
