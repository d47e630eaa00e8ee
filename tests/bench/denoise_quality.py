#!/usr/bin/env python3
"""What denoising does to an image and to its segmentation, beside other smoothers.

Error: mean absolute difference to the phantom without noise, inside the body. Overlap: Dice of GrowCut in a box around
strokes that were drawn by LOBULE_SHARED/tools/strokes.py on real scans, mean of two draws. Every method has one setting
for all images, in units of the noise where it has such a unit; axes of thick slices are left out by those of scikit-image
and scipy as well.

usage: denoise_quality.py [--scans-only | --phantom-only]
"""
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nibabel
import numpy as np
from scipy import ndimage
from skimage.restoration import denoise_bilateral, denoise_nl_means, denoise_tv_chambolle

from harness import Run, dice, load, shared, table

# name, image, truth, label, slices drawn, their axis
CASES = [
    ("CT spleen", "totalsegmentator/example_ct_sm", "totalsegmentator/example_seg", 1, 4, 2),
    ("CT kidney", "totalsegmentator/example_ct_sm", "totalsegmentator/example_seg", 2, 4, 2),
    ("MR liver", "totalsegmentator/example_mr_sm", "totalsegmentator/example_seg_mr", 5, 4, 2),
    ("MR kidney", "totalsegmentator/example_mr_sm", "totalsegmentator/example_seg_mr", 3, 3, 2),
    ("cord T2", "sct-spinal-cord/t2", "sct-spinal-cord/t2_seg-manual", 1, 5, 1),
    ("cord T1", "sct-spinal-cord/t1w", "sct-spinal-cord/t1w_seg-manual", 1, 5, 2),
    ("tumour", "pyradiomics-brain-tumour/brain1_image", "pyradiomics-brain-tumour/brain1_label", 1, 3, 2),
]
DRAWS = (0, 1)


def save(path, array, like):
    """A volume of any type on the grid of another."""
    nibabel.save(nibabel.Nifti1Image(array, like.affine), path)


def near(spacing):
    """Axes that are not of thick slices."""
    return [mm <= 1.5 * min(spacing) for mm in spacing]


def ours(folder, image, header, noise):
    save(Path(folder, "noisy.nii"), image.astype(np.float32), header)
    Run("filter", Path(folder, "noisy.nii"), "-o", Path(folder, "smooth.nii"), "--denoise", noise, "--force")
    return load(Path(folder, "smooth.nii"))[0].astype(np.float32)


def by_slices(smooth, image, spacing):
    """A 3D method where all axes are near, else slice by slice across the last."""
    if all(near(spacing)):
        return smooth(image)
    return np.stack([smooth(image[..., z]) for z in range(image.shape[-1])], -1)


def bilateral(image, noise):
    """scikit-image's works on planes of values from 0 to 1."""
    low, high = image.min(), image.max()
    planes = (image - low) / (high - low)
    smooth = [denoise_bilateral(planes[..., z], sigma_color=2 * noise / (high - low), sigma_spatial=1.5)
              for z in range(image.shape[-1])]  # fmt: skip
    return np.stack(smooth, -1) * (high - low) + low


def total_variation(image, noise):
    """The weight is in units of the values; .6 of the noise had the least error on the phantom."""
    return denoise_tv_chambolle(image / noise, weight=0.6) * noise


METHODS = [
    ("none", lambda folder, image, header, spacing, noise: image),
    ("denoise", lambda folder, image, header, spacing, noise: ours(folder, image, header, noise)),
    ("median 3x3x3", lambda folder, image, header, spacing, noise:
        ndimage.median_filter(image, [3 if a else 1 for a in near(spacing)])),
    ("Gaussian 0.7", lambda folder, image, header, spacing, noise:
        ndimage.gaussian_filter(image, [0.7 * a for a in near(spacing)])),
    ("denoise_nl_means 3, 2, h .6", lambda folder, image, header, spacing, noise:
        by_slices(lambda part: denoise_nl_means(part, 3, 2, h=0.6 * noise, sigma=noise, fast_mode=True), image, spacing)),
    ("denoise_tv_chambolle", lambda folder, image, header, spacing, noise:
        by_slices(lambda part: total_variation(part, noise), image, spacing)),
    ("denoise_bilateral", lambda folder, image, header, spacing, noise: bilateral(image, noise)),
]  # fmt: skip


def estimated(folder, image, header):
    """The noise that the program finds."""
    save(Path(folder, "noisy.nii"), image.astype(np.float32), header)
    run = Run("filter", Path(folder, "noisy.nii"), "-o", Path(folder, "smooth.nii"), "--denoise", "auto", "--force")
    return next(step["noise"] for step in run.report["results"]["steps"] if "noise" in step)


def phantom(folder):
    rows = []
    for percent in (1.5, 4):
        for name, noise in (("noisy", percent), ("clean", 0)):
            Run("phantom", "abdomen", "-o", Path(folder, f"{name}.nii"), "--size", "112,112,70", "--noise", noise, "--force")
        image, header = load(Path(folder, "noisy.nii"))
        clean = load(Path(folder, "clean.nii"))[0].astype(np.float32)
        image, spacing = image.astype(np.float32), header.header.get_zooms()[:3]
        found = estimated(folder, image, header)
        body = clean > 100
        for name, method in METHODS:
            start = time.perf_counter()
            smooth = method(folder, image, header, spacing, found)
            seconds = time.perf_counter() - start
            rows.append((f"{percent} % (found: {found:.3g} of {40.96 * percent:.3g})", name,
                         f"{np.abs(smooth - clean)[body].mean():.2f}", f"{seconds:.2f}"))  # fmt: skip
    table(["noise", "method", "error", "s, files included for denoise"], rows)


def box_around(seeds, spacing):
    """The strokes' box, a fifth and at least 10 mm larger on each side."""
    at = np.argwhere(seeds)
    low, high = at.min(0), at.max(0) + 1
    more = np.maximum(np.ceil(0.2 * (high - low)), np.ceil(10 / np.array(spacing))).astype(int)
    return tuple(slice(max(0, a - m), min(n, b + m)) for a, b, m, n in zip(low, high, more, seeds.shape))


def scans(folder):
    data = shared() / "data"
    rows = {name: [] for name, _ in METHODS}
    for _, scan, truth, label, slices, axis in CASES:
        of_case = {name: [] for name, _ in METHODS}
        for draw in DRAWS:
            strokes = Path(folder, "strokes.nii.gz")
            subprocess.run([sys.executable, shared() / "tools/strokes.py", data / f"{truth}.nii.gz", str(label), strokes,
                            "--draw", str(draw), "--slices", str(slices), "--axis", str(axis)], check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            image, header = load(data / f"{scan}.nii.gz")
            spacing = [float(mm) for mm in header.header.get_zooms()[:3]]
            seeds, wanted = load(strokes)[0], load(data / f"{truth}.nii.gz")[0] == label
            box = box_around(seeds, spacing)
            part = image[box].astype(np.float32)
            noise = estimated(folder, part, header)
            save(Path(folder, "seeds.nii"), seeds[box].astype(np.uint8), header)
            for name, method in METHODS:
                save(Path(folder, "part.nii"), method(folder, part, header, spacing, noise).astype(np.float32), header)
                Run("growcut", Path(folder, "part.nii"), Path(folder, "seeds.nii"), "-o", Path(folder, "grown.nii"), "--force")
                grown = np.zeros(wanted.shape, bool)
                grown[box] = load(Path(folder, "grown.nii"))[0] == 1
                of_case[name].append(dice(grown, wanted))
        for name, _ in METHODS:
            rows[name].append(np.mean(of_case[name]))
    table(["method", *(case[0] for case in CASES), "mean"],
          [(name, *(f"{d:.3f}" for d in values), f"{np.mean(values):.3f}") for name, values in rows.items()])  # fmt: skip


def main():
    with tempfile.TemporaryDirectory() as folder:
        if "--scans-only" not in sys.argv:
            phantom(folder)
        if "--phantom-only" not in sys.argv:
            scans(folder)


if __name__ == "__main__":
    main()
