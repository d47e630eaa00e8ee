#!/usr/bin/env bash
# Make the volumes and the picture of this folder again. usage: data/make.sh [LOBULE_PROGRAM]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
lobule=${1:-../build/default/tools/lobule}

"$lobule" phantom abdomen --size 90,64,53 --spacing 4,4,4 --type uint8 --force \
    -o abdomen.nii.gz --truth abdomen_truth.nii.gz --seeds abdomen_seeds.nii.gz
"$lobule" phantom cells --size 64,64,12 --spacing 0.001,0.001,0.001 --cells 12 --force \
    -o cells.nii.gz --truth cells_truth.nii.gz --seeds cells_seeds.nii.gz

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$lobule" phantom abdomen --size 90,64,53 --spacing 4,4,4 --type uint8 --force \
    -o "$scratch/abdomen.nii.gz" --strokes abdomen_strokes.nii.gz

# The picture in ../docs/strokes.md, by the commands of its first steps.
"$lobule" phantom abdomen --size 128,92,80 --spacing 3,3,4 -o "$scratch/scan.nii.gz" --seeds "$scratch/seeds.nii.gz"
"$lobule" preview "$scratch/scan.nii.gz" "$scratch/seeds.nii.gz" -o seeds.png --plane axial --size 440 --alpha 0.8 --force
