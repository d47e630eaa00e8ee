#!/usr/bin/env python3
"""Cells without hand marking: F1 of instances at IoU .5, `lobule cells` beside the scikit-image chain and Voronoi-Otsu.

Seven stacks of LOBULE_SHARED. Lobule gets `--size` alone, and then nothing; the chain of scikit-image (Gaussian, Otsu, peaks
of the distance, watershed) gets the same size, and its lengths as the same shares of it for all stacks. Voronoi-Otsu labelling
of pyclesperanto is run where it is installed and finds an OpenCL device. Ends with 1 when Lobule misses a target.

usage: cells_quality.py [--cases SUBSTRING] [--peers 1]
"""
import csv
import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nibabel
import numpy as np
from harness import Run, heading, options, program, shared, table
from scipy import ndimage

PLANTS, EMBRYOS = "plantseg-cells", "qcanet-mouse-embryo"

# Stack, walls, the diameter of a usual cell, and the least F1 with it and without it.
CASES = {
    "ovule": (PLANTS + "/sample_ovule.h5", True, "4um", 0.75, 0.75),
    "1135_mini": (PLANTS + "/1135_mini.h5", False, "4um", 0.75, 0.75),
    "1136_mini": (PLANTS + "/1136_mini.h5", False, "4um", 0, 0),
    "1137_mini": (PLANTS + "/1137_mini.h5", False, "4um", 0, 0),
    "train_3D_3D": (PLANTS + "/train_3D_3D.h5", False, "22vox", 0, 0),
    "embryo, 8 cells": (EMBRYOS + "/8_cell_stage", False, "15vox", 0.94, 0.94),
    "embryo, 16 cells": (EMBRYOS + "/16_cell_stage", False, "15vox", 0.94, 0.94),
}


class Case:
    """A stack: voxels and truth (x, y, z), um or voxels from voxel to voxel, paths for Lobule."""

    def __init__(self, name, folder):
        path, self.walls, self.size, self.least, self.least_alone = CASES[name]
        base = shared() / "data" / path
        if path.endswith(".h5"):
            import h5py

            with h5py.File(base) as file:
                self.image, truth = file["raw"][()].T, file["label"][()].T.astype(np.int32)
                self.spacing = np.array(file["raw"].attrs.get("element_size_um", [1.0] * 3))[::-1]
            self.path, self.truth_path = f"{base}:/raw", f"{base}:/label"
        else:
            self.path, self.truth_path = f"{base}_raw.nii.gz", Path(folder, "truth.nii.gz")
            raw = nibabel.load(self.path)
            self.image, self.spacing = np.asanyarray(raw.dataobj), np.ones(3)
            mask = np.asanyarray(nibabel.load(f"{base}_gt_nuclei_mask.nii.gz").dataobj)
            truth, _ = ndimage.label(mask)
            nibabel.save(nibabel.Nifti1Image(truth.astype(np.uint8), raw.affine, raw.header), self.truth_path)
        self.shape = truth.shape

    def score(self, path):
        """F1 at IoU .5 and how many truths, instances and matches there are."""
        done = subprocess.run([program(), "compare", "--instances", self.truth_path, path], check=True,
                              capture_output=True, text=True)  # fmt: skip
        measures, scores = done.stdout.split("\n\n")[:2]
        counts = dict(row for row in csv.reader(io.StringIO(measures), delimiter="\t") if len(row) == 2)
        at_half = next(csv.DictReader(io.StringIO(scores), delimiter="\t"))
        return float(at_half["f1"]), int(counts["truths"]), int(counts["instances"]), int(at_half["matched"])

    def score_array(self, labels, folder):
        """The same of an array (x, y, z)."""
        path = Path(folder, "peer.nii.gz")
        like = nibabel.load(Path(folder, "labels.nii.gz"))
        nibabel.save(nibabel.Nifti1Image(labels.astype(np.int32), like.affine, like.header), path)
        return self.score(path)


def lobule(case, folder, *more):
    path = Path(folder, "labels.nii.gz")
    done = Run("cells", case.path, "-o", path, "--force", *(["--walls"] if case.walls else []), *more)
    return case.score(path), done.seconds


def scikit_image(case, folder):
    """Gaussian, Otsu, maxima of the distance that are far enough apart, watershed."""
    from skimage.feature import peak_local_max
    from skimage.filters import gaussian, threshold_otsu
    from skimage.segmentation import watershed

    start = time.perf_counter()
    size = float(case.size[:-2] if case.size.endswith("um") else case.size[:-3])
    voxels = size / case.spacing
    smooth = gaussian(case.image.astype(np.float32), (0.04 if case.walls else 0.08) * voxels, preserve_range=True)
    inside = smooth < threshold_otsu(smooth) if case.walls else smooth > threshold_otsu(smooth)
    depth = gaussian(ndimage.distance_transform_edt(inside, sampling=case.spacing), 0.06 * voxels)
    peaks = peak_local_max(depth, min_distance=max(1, int(0.25 * voxels.mean())), labels=inside.astype(int))
    seeds = np.zeros(case.shape, np.int32)
    seeds[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    labels = watershed(smooth, seeds) if case.walls else watershed(-depth, seeds, mask=inside)
    seconds = time.perf_counter() - start
    return case.score_array(labels, folder), seconds


def voronoi_otsu(case, folder):
    """Of pyclesperanto, on voxels of one side, as its authors ask for; walls turned upside down."""
    import pyclesperanto as cle

    start = time.perf_counter()
    size = float(case.size[:-2] if case.size.endswith("um") else case.size[:-3])
    side = case.spacing.min()
    even = ndimage.zoom(case.image.astype(np.float32), case.spacing / side, order=1)
    even = even.max() - even if case.walls else even
    labels = np.asarray(cle.voronoi_otsu_labeling(even, spot_sigma=0.15 * size / side, outline_sigma=0.08 * size / side))
    labels = ndimage.zoom(labels, np.array(case.shape) / even.shape, order=0)
    return case.score_array(labels, folder), time.perf_counter() - start


def attempt(method, case, folder):
    try:
        score, seconds = method(case, folder)
        return f"{score[0]:.3f} ({score[3]} of {score[1]}, {score[2]} found)", f"{seconds:.1f}"
    except (ImportError, RuntimeError, AttributeError) as error:  # pyclesperanto without OpenCL is an empty module
        print(f"{method.__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
        return "not run", ""


def main():
    asked = options(__doc__, cases="", peers=1)
    if not shared():
        sys.exit("cells_quality: LOBULE_SHARED names no folder with data")
    heading()
    rows, missed = [], []
    for name in CASES:
        if asked.cases not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            case = Case(name, folder)
            sized, alone = lobule(case, folder, "--size", case.size), lobule(case, folder)
            for what, (score, _), least in (("--size", sized, case.least), ("nothing", alone, case.least_alone)):
                if score[0] < least:
                    missed.append(f"{name}, {what} given: {score[0]:.3f}, not {least}")
            row = [name, case.size]
            for (f1, truths, found, matched), seconds in (sized, alone):
                row += [f"{f1:.3f} ({matched} of {truths}, {found} found)", f"{seconds:.1f}"]
            for peer in (scikit_image, voronoi_otsu) if asked.peers else ():
                row += attempt(peer, case, folder)
            rows.append(row)
    head = ["stack", "size", "lobule --size", "s", "lobule", "s", "scikit-image", "s", "Voronoi-Otsu", "s"]
    table(head[: len(rows[0])], rows)
    print("\n".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
