#!/usr/bin/env python3
"""The flood of GrowCut beside scikit-image's watershed: seconds, and how many voxels get the same label.

A smooth random field of 8 bits and one of 16, with seeds spread at random. Times are of the algorithms alone, by turns; the
median of the ratios counts. Ends with 1 when the flood is not fast enough.

usage: flood_cpu.py [--side 192] [--seeds 5000] [--turns 3] [--threads 2]
"""
import sys
import tempfile
import time
from pathlib import Path

import nibabel
import numpy as np
from harness import Run, heading, median, options, table
from scipy import ndimage

LEAST = 10


def field(side, bits):
    noise = np.random.default_rng(1).normal(size=(side,) * 3).astype(np.float32)
    smooth = ndimage.gaussian_filter(noise, 3)
    low, high = smooth.min(), smooth.max()
    return ((smooth - low) / (high - low) * (2**bits - 1)).astype(np.uint8 if bits == 8 else np.uint16)


def flood(folder, neighbours, threads):
    done = Run("growcut", folder / "image.nii", folder / "seeds.nii", "-o", folder / "labels.nii", "--rule", "flood",
               "--neighbours", neighbours, "--threads", threads, "--device", "cpu", "--force")  # fmt: skip
    return np.asanyarray(nibabel.load(folder / "labels.nii").dataobj), done.stage("compute"), done.report["results"]


def main():
    from skimage.segmentation import watershed

    asked = options(__doc__, side=192, seeds=5000, turns=3, threads=2)
    heading()
    rows, slow = [], False
    for bits in (8, 16):
        with tempfile.TemporaryDirectory() as name:
            folder, image = Path(name), field(asked.side, bits)
            seeds = np.zeros(image.shape, np.int16)
            places = np.random.default_rng(2).choice(image.size, asked.seeds, replace=False)
            seeds.flat[places] = np.arange(1, asked.seeds + 1)
            for path, array in (("image.nii", image), ("seeds.nii", seeds)):
                nibabel.save(nibabel.Nifti1Image(array, np.eye(4)), folder / path)
            for connectivity, neighbours in ((1, 6), (3, 26)):
                ours, theirs = [], []
                for _ in range(asked.turns):
                    labels, seconds, results = flood(folder, neighbours, asked.threads)
                    ours.append(seconds)
                    start = time.perf_counter()
                    other = watershed(image, seeds, connectivity)
                    theirs.append(time.perf_counter() - start)
                ratio = median(t / o for o, t in zip(ours, theirs))
                slow = slow or ratio < LEAST
                rows.append([f"{asked.side}^3, {bits} bits", neighbours, results["key_bits"], f"{median(ours):.3f}",
                             f"{median(theirs):.2f}", f"{ratio:.1f}", f"{100 * (labels == other).mean():.2f} %"])
    table(["field", "neighbours", "key bits", "flood, s", "scikit-image, s", "ratio", "same label"], rows)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
