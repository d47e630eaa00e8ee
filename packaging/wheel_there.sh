#!/usr/bin/env bash
# On the system that a wheel is for, macOS or Windows: install it in an empty environment, and hold its package and command
# against what they give elsewhere.
# usage: wheel_there.sh WHEEL
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
env=$(mktemp -d)
trap 'rm -rf "$env"' EXIT
python=python3
"$python" -c '' 2>/dev/null || python=python # Windows may have a python3 that only tells of its shop
"$python" -m venv "$env"
bin=$env/bin
[ -d "$bin" ] || bin=$env/Scripts # as Windows has it
"$bin/python" -m pip install -q "$1"
"$bin/python" "$here/wheel_test.py"
"$bin/lobule" doctor
