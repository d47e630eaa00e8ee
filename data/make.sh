#!/usr/bin/env bash
# Make the volumes of this folder again. usage: data/make.sh [LOBULE_PROGRAM]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
lobule=${1:-../build/default/tools/lobule}

"$lobule" phantom abdomen --size 128,128,80 --spacing 3,3,4 --force \
    -o abdomen.nii.gz --truth abdomen_truth.nii.gz --seeds abdomen_seeds.nii.gz
