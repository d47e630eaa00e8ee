#!/usr/bin/env bash
# On a Mac: install a wheel in an empty environment, and hold its package and command against what they give elsewhere.
# usage: on_a_mac.sh WHEEL
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
env=$(mktemp -d)
trap 'rm -rf "$env"' EXIT
python3 -m venv "$env"
"$env/bin/pip" install -q "$1"
"$env/bin/python" "$here/packaging/wheel_test.py"
"$env/bin/lobule" doctor
