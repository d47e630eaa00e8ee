#!/usr/bin/env python3
"""GrowCut on real scans against references: Dice, with the seeds and options stated.

Scans come from LOBULE_SHARED; seeds are made here, by rules that do not look at the reference except
where the row says so. Ends with 1 when a row with a target misses it.

usage: quality.py
"""
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import ndimage

from harness import Run, dice, heading, load, save, shared, table

ALL_NEIGHBOURS = np.ones((3, 3, 3))


def grow(folder, image, seeds, *options):
    labels = Path(folder, "labels.nii.gz")
    Run("growcut", image, seeds, "-o", labels, "--force", *options)
    return load(labels)[0]


def liver(data, folder):
    """Abdominal CT. Seeds: each organ of at least 500 voxels eroded twice, the rest eroded twice."""
    ct = data / "totalsegmentator/example_ct.nii.gz"
    reference, image = load(data / "totalsegmentator/example_seg_fast_force_split.nii.gz")
    seeds = np.zeros(reference.shape, np.uint8)
    organs = [k for k in np.unique(reference[reference > 0]) if (reference == k).sum() >= 500]
    for organ in organs:
        seeds[ndimage.binary_erosion(reference == organ, iterations=2)] = organ
    seeds[ndimage.binary_erosion(reference == 0, iterations=2)] = int(reference.max()) + 1
    save(Path(folder, "seeds.nii.gz"), seeds, image)
    for options, target in (((), 0.95), (("--rule", "distance"), None),
                            (("--rule", "distance", "--penalty", 10), 0.96)):
        labels = grow(folder, ct, Path(folder, "seeds.nii.gz"), *options)
        yield "liver, CT 3 mm, seeds eroded from reference", options, dice(labels == 5, reference == 5), target
        if options:
            mean = np.mean([dice(labels == k, reference == k) for k in organs])
            yield f"mean of its {len(organs)} organs", options, mean, None


def cord(data, folder):
    """Spinal cord MRI. Seeds: the manual centreline; background beyond 10 voxels of it."""
    scan = data / "sct-spinal-cord/t2.nii.gz"
    line, image = load(data / "sct-spinal-cord/t2_centerline-manual.nii.gz")
    reference = load(data / "sct-spinal-cord/t2_seg-manual.nii.gz")[0] > 0
    away = ndimage.distance_transform_edt(line == 0)
    for reach, options, target in ((10, (), 0.93), (10, ("--rule", "distance"), None), (8, (), 0.95)):
        seeds = np.where(line > 0, 1, np.where(away > reach, 2, 0))
        save(Path(folder, "seeds.nii.gz"), seeds, image)
        labels = grow(folder, scan, Path(folder, "seeds.nii.gz"), *options)
        yield (f"spinal cord, T2, centreline; background beyond {reach} mm", options,
               dice(labels == 1, reference), target)


def embryo(data, folder):
    """Mouse embryo, 16 nuclei. Seeds: given centres; background beyond some voxels of any centre."""
    stage = data / "qcanet-mouse-embryo"
    raw, image = load(stage / "16_cell_stage_raw.nii.gz")
    centres = load(stage / "16_cell_stage_gt_nuclei_centres.nii.gz")[0]
    mask = load(stage / "16_cell_stage_gt_nuclei_mask.nii.gz")[0]
    seeds, count = ndimage.label(centres, ALL_NEIGHBOURS)
    reference = ndimage.label(mask, ALL_NEIGHBOURS)[0]
    away = ndimage.distance_transform_edt(seeds == 0)

    # Fluorescence spreads by ratios, not differences: a logarithm makes the border of a bright and
    # of a dim nucleus equally steep.
    ratio = np.log(ndimage.gaussian_filter(raw.astype(np.float32), 1.0)) * 1000
    files = {"raw": stage / "16_cell_stage_raw.nii.gz",
             "smoothed": Path(folder, "smoothed.nii.gz"), "log of smoothed": Path(folder, "ratio.nii.gz")}
    save(files["smoothed"], ndimage.gaussian_filter(raw.astype(np.float32), 0.5).round(), image)
    save(files["log of smoothed"], ratio.round(), image)

    for name, reach, options, target in (
            ("raw", 10, (), None),
            ("raw", 14, (), 0.81),
            ("raw", None, ("--range", "220,65535", "--rule", "distance", "--penalty", 10), None),
            ("smoothed", 12, (), None),
            ("log of smoothed", 12, (), 0.89),
            ("log of smoothed", 12, ("--rule", "distance", "--penalty", 6), 0.90)):
        with_background = seeds.copy()
        if reach:
            with_background[away > reach] = count + 1
        save(Path(folder, "seeds.nii.gz"), with_background, image)
        labels = grow(folder, files[name], Path(folder, "seeds.nii.gz"), *options)
        scores = [dice(labels == k, reference == np.bincount(reference[seeds == k]).argmax())
                  for k in range(1, count + 1)]
        background = f"background beyond {reach} voxels" if reach else "no background seeds"
        yield f"{count} nuclei, {name}, centres; {background}", options, np.mean(scores), target


def main():
    folder = shared()
    if folder is None:
        print("quality: skipped, LOBULE_SHARED names no folder with real scans")
        return 0
    heading()
    rows, missed = [], 0
    for case in (liver, cord, embryo):
        with tempfile.TemporaryDirectory() as scratch:
            for what, options, figure, target in case(folder / "data", scratch):
                missed += target is not None and figure < target
                rows.append([what, " ".join(map(str, options)) or "defaults", f"{figure:.4f}",
                             "" if target is None else f"{target:.2f}"])
    table(["what", "options", "Dice", "target"], rows)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
