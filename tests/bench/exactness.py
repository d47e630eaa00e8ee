"""How many voxels the fixed point of GrowCut labels otherwise than the automaton in float64.

    LOBULE_BIN=build/default/tools/lobule python tests/bench/exactness.py SCAN LABELS

The labels, eroded once, are the seeds, and what is no label is label 255, eroded too. The scan is taken as
it is stored and, smoothed to a Gaussian of half a voxel and multiplied by an uneven gain, as float32. The
automaton is numpy in float64: no levels, no fixed point; of equal strengths the smallest label wins.
"""

import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel
import numpy as np
from scipy import ndimage

STEPS = [step for step in itertools.product((-1, 0, 1), repeat=3) if any(step)]


def window(shape, step):
    """Slices of a voxel's own place and of its neighbour's."""
    here = tuple(slice(max(0, -d), n - max(0, d)) for d, n in zip(step, shape))
    there = tuple(slice(max(0, d), n - max(0, -d)) for d, n in zip(step, shape))
    return here, there


def automaton(image, seeds, multiplies):
    """Labels at the fixed point: strengths that multiply, or minus costs that add."""
    image = image.astype(np.float64)
    label = seeds.astype(np.int64)
    strength = np.where(label > 0, 1.0 if multiplies else 0.0, 0.0 if multiplies else -np.inf)
    dmax = image.max() - image.min()
    while True:
        changed = 0
        for step in STEPS:
            here, there = window(image.shape, step)
            d = np.abs(image[here] - image[there])
            offer = strength[there] * (1 - d / dmax) if multiplies else strength[there] - d
            better = (offer > strength[here]) | (
                (offer == strength[here]) & (label[there] < label[here]) & (label[there] > 0)
            )
            better &= (label[there] > 0) & (offer > 0 if multiplies else True) & (seeds[here] == 0)
            strength[here][better] = offer[better]
            label[here][better] = label[there][better]
            changed += np.count_nonzero(better)
        if changed == 0:
            return label


def main():
    scan, truth = (nibabel.load(path) for path in sys.argv[1:3])
    regions = np.asarray(truth.dataobj).astype(np.uint8)
    regions[regions == 0] = 255
    seeds = np.zeros_like(regions)
    for label in np.unique(regions):
        seeds[ndimage.binary_erosion(regions == label)] = label
    stored = np.asarray(scan.dataobj)
    gain = 1 + 0.2 * np.cos(np.linspace(0, 3, stored.shape[0]))[:, None, None]
    smooth = (ndimage.gaussian_filter(stored.astype(np.float64), 0.5) * gain).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        for name, image in (("as stored", stored), ("as float32", smooth)):
            nibabel.save(nibabel.Nifti1Image(image, scan.affine, dtype=image.dtype), Path(folder, "scan.nii"))
            nibabel.save(nibabel.Nifti1Image(seeds, scan.affine), Path(folder, "seeds.nii"))
            for rule in ("strength", "distance"):
                subprocess.run(
                    [os.environ.get("LOBULE_BIN", "lobule"), "growcut", "scan.nii", "seeds.nii", "-o", "labels.nii"]
                    + ["--rule", rule, "--force", "--quiet"],
                    cwd=folder,
                    check=True,
                )
                labels = np.asarray(nibabel.load(Path(folder, "labels.nii")).dataobj)
                other = np.count_nonzero(labels != automaton(image, seeds, rule == "strength"))
                free = np.count_nonzero(seeds == 0)
                share = f"{100 * other / labels.size:.3f} % of all, {100 * other / free:.3f} % of those without a seed"
                print(f"{name}, {rule}: {other} voxels, {share}")


if __name__ == "__main__":
    main()
