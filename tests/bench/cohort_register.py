#!/usr/bin/env python3
"""How well `lobule register` finds known transforms, and carries masks from scan to scan.

usage: cohort_register.py [--known] [--pairs]

LOBULE_BIN is the program, LOBULE_SHARED the folder with real scans. Known transforms: a scan is
resampled by SimpleITK through a translation, a rotation or a smooth random displacement, with
voxels of another size; errors are counted in the body. Pairs: the masks 3 15 22 34 39 of chaos-mr
onto the targets 1 5 31 38, mean Dice of liver, kidneys and spleen.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import SimpleITK as sitk

PROGRAM = os.environ.get("LOBULE_BIN", "lobule")
SHARED = Path(os.environ.get("LOBULE_SHARED", "../shared"))
SCANS = SHARED / "data/chaos-mr"
MASKS, TARGETS = (3, 15, 22, 34, 39), (1, 5, 31, 38)


def lobule(*arguments):
    subprocess.run([PROGRAM, *map(str, arguments), "--threads", "1", "--quiet", "--force"], check=True)


def seconds():
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


# ---- known transforms ----


def translation(mm):
    return sitk.TranslationTransform(3, [float(x) for x in mm])


def rotation(image, axis, degrees):
    middle = image.TransformContinuousIndexToPhysicalPoint([(n - 1) / 2 for n in image.GetSize()])
    turn = sitk.VersorTransform([float(x) for x in axis], np.radians(degrees))
    turn.SetCenter(middle)
    return turn


def smooth(image, most_mm, sigma_mm, seed):
    """A smooth random displacement whose longest is most_mm."""
    random = np.random.default_rng(seed)
    beyond = int(2 * sigma_mm / 8)  # the filter's ends are wild
    size = [int(np.ceil(n * s / 8)) + 1 + 2 * beyond for n, s in zip(image.GetSize(), image.GetSpacing())]
    planes = []
    for _ in range(3):
        noise = sitk.GetImageFromArray(random.normal(size=size[::-1]))
        noise.SetSpacing([8.0] * 3)
        noise.SetDirection(image.GetDirection())
        noise.SetOrigin(image.GetOrigin())
        noise.SetOrigin(noise.TransformIndexToPhysicalPoint([-beyond] * 3))
        smoothed = sitk.SmoothingRecursiveGaussian(noise, sigma_mm)
        planes.append(smoothed[beyond:-beyond, beyond:-beyond, beyond:-beyond])
    longest = np.sqrt(sum(sitk.GetArrayFromImage(p) ** 2 for p in planes)).max()
    field = sitk.Compose([sitk.Cast(p * (most_mm / longest), sitk.sitkFloat64) for p in planes])
    return sitk.DisplacementFieldTransform(field)


def respaced(image, spacing):
    size = [max(1, int(np.floor(n * s / t))) for n, s, t in zip(image.GetSize(), image.GetSpacing(), spacing)]
    return sitk.Resample(image, size, sitk.Transform(), sitk.sitkLinear, image.GetOrigin(), spacing,
                         image.GetDirection(), 0, image.GetPixelID())  # fmt: skip


def body_points(image, count=2000):
    """Points in the body, in voxels away from the border."""
    array = sitk.GetArrayFromImage(image)
    random = np.random.default_rng(0)
    places = np.argwhere(array > np.percentile(array, 60))
    edge = np.minimum(places, np.array(array.shape) - 1 - places).min(1)
    places = places[edge >= np.minimum(2, (np.array(array.shape) - 1) // 4).min()]
    chosen = places[random.choice(len(places), min(count, len(places)), replace=False)]
    return [image.TransformIndexToPhysicalPoint([int(i) for i in p[::-1]]) for p in chosen]


def find(folder, source, transform, spacing, affine):
    """Errors in mm at points of the body whose true place lies in the source; the report; seconds."""
    grid = respaced(source, spacing)
    fixed = sitk.Resample(source, grid, transform, sitk.sitkLinear, 0.0, source.GetPixelID())
    sitk.WriteImage(fixed, str(folder / "fixed.nii"))
    sitk.WriteImage(source, str(folder / "moving.nii"))
    before = seconds()
    lobule("register", folder / "fixed.nii", folder / "moving.nii", "-o", folder / "field.nii",
           "--report", folder / "report.json", *(["--affine-only"] if affine else []))  # fmt: skip
    took = seconds() - before
    field = sitk.DisplacementFieldTransform(sitk.ReadImage(str(folder / "field.nii"), sitk.sitkVectorFloat64))
    errors = []
    for point in body_points(fixed):
        truth = transform.TransformPoint(point)
        index = source.TransformPhysicalPointToContinuousIndex(truth)
        if all(0 <= i <= n - 1 for i, n in zip(index, source.GetSize())):
            errors.append(np.linalg.norm(np.subtract(field.TransformPoint(point), truth)))
    return np.array(errors), json.loads((folder / "report.json").read_text())["results"], took


def known(folder):
    lobule("phantom", "abdomen", "-o", folder / "phantom.nii", "--size", "160,120,100", "--spacing", "2,2,2.5")
    phantom = sitk.ReadImage(str(folder / "phantom.nii"))
    scan = sitk.ReadImage(str(SCANS / "image_1.nii.gz"))
    head = sitk.ReadImage(str(SHARED / "data/debian-itk-brain-t1/KmeansTest_T1UCharRaw.nii.gz"))
    cases = [("phantom", phantom, s) for s in ((1.5, 1.5, 3), (2, 2, 2.5), (4, 4, 8))]
    cases += [("MR", scan, s) for s in ((1.25, 1.25, 7.7), (3, 3, 3), (2, 2, 8))]
    cases += [("T1 head", head, s) for s in ((2, 2, 3), (3, 3, 3), (1, 1, 6))]
    print("| scan | fixed voxels, mm | transform | median error, mm | 95 % | folded | s |\n|---|---|---|---|---|---|---|")
    for name, source, spacing in cases:
        for what, transform, affine in (
            ("translation 25 -18 12", translation((25, -18, 12)), True),
            ("rotation 10 about z", rotation(source, (0, 0, 1), 10), True),
            ("rotation 20 about (1,1,1)", rotation(source, (1, 1, 1), 20), True),
            ("smooth, 15 mm", smooth(source, 15, 40, 1), False),
            ("smooth, 25 mm", smooth(source, 25, 50, 2), False),
        ):
            errors, results, took = find(folder, source, transform, spacing, affine)
            print(f"| {name} | {' x '.join(map(str, spacing))} | {what} | {np.median(errors):.2f} | "
                  f"{np.percentile(errors, 95):.2f} | {results['folded']:.4%} | {took:.1f} |", flush=True)  # fmt: skip


# ---- masks from scan to scan ----


def dice(a, b, label):
    a, b = a == label, b == label
    return 2 * np.sum(a & b) / max(1, np.sum(a) + np.sum(b))


def pairs(folder):
    print("| target | Dice with each of the masks 3 15 22 34 39 | affine alone | s a pair |\n|---|---|---|---|")
    means, alone = [], []
    for target in TARGETS:
        truth = sitk.GetArrayFromImage(sitk.ReadImage(str(SCANS / f"label_{target}.nii.gz")))
        row, took = [], []
        for mask in MASKS:
            for options, to in ((["--affine-only"], alone), ([], row)):
                before = seconds()
                lobule("register", SCANS / f"image_{target}.nii.gz", SCANS / f"image_{mask}.nii.gz",
                       "-o", folder / "field.nii", *options)  # fmt: skip
                took.append(seconds() - before)
                lobule("warp", SCANS / f"label_{mask}.nii.gz", folder / "field.nii", "--labels",
                       "--like", SCANS / f"label_{target}.nii.gz", "-o", folder / "labels.nii")  # fmt: skip
                labels = sitk.GetArrayFromImage(sitk.ReadImage(str(folder / "labels.nii")))
                to.append(np.mean([dice(labels, truth, k) for k in (1, 2, 3, 4)]))
        means += row
        print(f"| {target} | {' '.join(f'{d:.3f}' for d in row)} | {np.mean(alone[-len(MASKS):]):.3f} | "
              f"{np.mean(took[1::2]):.1f} |", flush=True)  # fmt: skip
    print(f"\nmean {np.mean(means):.4f}, affine alone {np.mean(alone):.4f}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, part in (("--known", known), ("--pairs", pairs)):
            if name in sys.argv[1:] or len(sys.argv) == 1:
                part(Path(folder))


if __name__ == "__main__":
    main()
