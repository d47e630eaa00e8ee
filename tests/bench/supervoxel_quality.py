#!/usr/bin/env python3
"""Quality of supervoxels by Lobule, scikit-image and SimpleITK at equal numbers of supervoxels.

In 3D on phantoms with their truth, and on real scans with references where LOBULE_SHARED names them;
in 2D on a folder of colour images and human segmentations, beside OpenCV where it is installed:

    FOLDER/images/NAME.png               or .jpg; subfolders are looked into
    FOLDER/truth/NAME.png                labels as grey values; or NAME_1.png, NAME_2.png, ... of
                                         several people, .nii.gz, or BSDS's NAME.mat

which is also how BSDS500 comes apart from the names (images, groundTruth). Of several truths the
measures' mean is given. Without a folder, colour_scenes.py draws images.

A size names a number of supervoxels, the voxels of the image over size^3 (2D: size^2), and every
program is measured at that number (supervoxel_peers.at_count). Every program has a row with its own
default weight and one with the best of the same sweep of weights, by the under-segmentation error;
Lobule's SLICO has none. 10 iterations for all. A program that does not come to that number, because
noise leaves it hardly any pieces, has no row.

On the 2D images another table tells what LSC's ratio and iterations do, as figures 9 and 10 of Ban,
Liu and Fouriaux, "GLSC: LSC superpixels at over 130 FPS" (2016).

usage: supervoxel_quality.py [--images FOLDER] [--limit N] [--counts-2d 200,600,1200]
                             [--sizes-3d 6,8,12] [--seeds N] [--only NAME] [--sweep-count 600]
"""
import argparse
import math
import sys
import tempfile
from pathlib import Path

import nibabel
import numpy as np
from scipy.io import loadmat
from skimage import io as pictures

import brain_phantom
import colour_scenes
from harness import Run, heading, load, shared, table
from supervoxel_peers import Lobule, OpenCV, Sitk, Skimage, at_count, ximgproc

MEASURES = {"BR": "boundary_recall", "UE": "under_segmentation_error",
            "UE NP": "under_segmentation_error_neubert", "ASA": "achievable_segmentation_accuracy",
            "EV": "explained_variation", "CO": "compactness", "CD": "contour_density"}
UE, ASA = list(MEASURES).index("UE"), list(MEASURES).index("ASA")
METHODS = [Lobule("slic"), Lobule("slico"), Lobule("lsc")]
PEERS = [Skimage(), Skimage(zero=True), Sitk()]
OPENCV = [OpenCV("slic"), OpenCV("slico"), OpenCV("lsc")] if ximgproc else []
RATIOS, ITERATIONS = (0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.4), (1, 2, 5, 10, 20)


class Case:
    """An image on disk, as an array, and its truths on disk."""

    def __init__(self, name, image, array, truths, spacing=None):
        self.name, self.image, self.array, self.truths = name, image, array, truths
        self.colour = array.ndim == 3 and array.shape[-1] == 3
        self.flat = self.colour or array.ndim == 2
        self.spacing = spacing[-array.ndim:] if spacing else None

    def measure(self, labels):
        """Measures of a label file, the mean over the truths."""
        tolerance = "2vox" if self.flat else "1vox"
        runs = [Run("compare", "--supervoxels", truth, labels, "--image", self.image, "--tolerance",
                    tolerance).report["results"] for truth in self.truths]
        return [np.mean([run[key] for run in runs]) for key in MEASURES.values()]


def scan(name, image, truth):
    array, header = load(image)
    return Case(name, image, np.squeeze(array.T), [truth], tuple(map(float, header.header.get_zooms()[2::-1])))


def phantom(folder, kind, seed):
    image, truth = (Path(folder, f"{kind}_{seed}_{what}.nii.gz") for what in ("image", "truth"))
    if kind == "brain":
        brain_phantom.make(image, truth, seed=seed)
    else:
        Run("phantom", kind, "--size", "96,96,64", "-o", image, "--truth", truth, "--random-seed", seed)
    return scan(f"{kind} {seed}", image, truth)


def real_scans():
    if shared() is None:
        return
    scans = shared() / "data" / "totalsegmentator"
    for name, image, truth in (("CT", "example_ct.nii.gz", "example_seg_fast_force_split.nii.gz"),
                               ("MR", "example_mr_sm.nii.gz", "example_seg_mr.nii.gz")):
        if (scans / image).is_file() and (scans / truth).is_file():
            yield scan(name, scans / image, scans / truth)


def truths_of(found, image, affine, folder):
    """Label files of an image from what a person drew."""
    for path in found:
        if path.suffix == ".mat":
            cells = loadmat(path)["groundTruth"][0]
            arrays = [cell["Segmentation"][0, 0].astype(np.int32) for cell in cells]
        elif path.suffix == ".png":
            arrays = [pictures.imread(path).astype(np.int32)]
        else:
            yield path
            continue
        for k, array in enumerate(arrays):
            if array.ndim != 2:
                sys.exit(f"{path}: a truth has one channel, of labels")
            out = Path(folder, f"{image.stem}_{path.stem}_{k}.nii.gz")
            nibabel.save(nibabel.Nifti1Image(array.T[:, :, None], affine), out)
            yield out


def colour_images(source, folder, limit):
    """The images of a folder that have a truth."""
    drawn = [p for name in ("truth", "groundTruth") for p in sorted(Path(source, name).rglob("*.*"))]
    images = [p for p in sorted(Path(source, "images").rglob("*.*")) if p.suffix in (".png", ".jpg")]
    if not images or not drawn:
        sys.exit(f"{source}: needs images/NAME.png (or .jpg) and truth/NAME.png, .nii.gz or .mat")
    given = 0
    for path in images:
        found = [p for p in drawn if p.name.split(".")[0] == path.stem or p.name.startswith(f"{path.stem}_")]
        if not found or given == limit:
            continue
        given += 1
        array = pictures.imread(path)
        array = np.ascontiguousarray(array[..., :3] if array.ndim == 3 else np.stack([array] * 3, -1))
        image = Path(folder, f"{path.stem}.png")
        pictures.imsave(image, array, check_contrast=False)
        grid = Path(folder, f"{path.stem}_grid.nii.gz")
        Run("convert", image, grid, "--force")
        yield Case(path.stem, image, array, list(truths_of(found, image, nibabel.load(grid).affine, folder)))


def mean_row(program, cases, counts, weight, out):
    """(K, measures..., seconds), the mean over cases; None where one does not come to its count."""
    rows = []
    for case, count in zip(cases, counts):
        row = at_count(program, case, weight, count, case.measure, out)
        if row is None:
            return None
        rows.append([row[0], *row[1]])
    return np.mean(rows, axis=0)


def compare(title, cases, counts, programs, out):
    """Print the table of all programs; returns {program: its (UE, ASA) by default, and its best of each}."""
    found, printed = {}, []
    for program in programs:
        own = mean_row(program, cases, counts, None, out)
        swept = [(weight, row) for weight in program.sweep(cases[0])
                 if (row := mean_row(program, cases, counts, weight, out)) is not None]
        best = min(swept, key=lambda pair: pair[1][1 + UE], default=None)
        pairs = [(row[1 + UE], row[1 + ASA]) for row in [own, *(row for _, row in swept)] if row is not None]
        found[program.name] = [(pairs or [None])[0] if own is not None else None,
                               (min(e for e, _ in pairs), max(a for _, a in pairs)) if pairs else None]
        rows = [(program.name, "its own", own)] + ([("", f"{best[0]:g}", best[1])] if best else [])
        printed += [[name, weight, f"{row[0]:.0f}", *(f"{x:.4f}" for x in row[1:-1]), f"{row[-1]:.2f}"]
                    for name, weight, row in rows if row is not None]
    print(f"{title}\n")
    table(["program", "weight", "K", *MEASURES, "seconds"], printed)
    sys.stdout.flush()
    return found


def summary(results):
    """UE / ASA of Lobule beside the peers' best, by default and by sweep; SLICO's beside SLICO's."""
    for which, how in enumerate(("with default weights", "the best of the sweep, each for itself")):
        print(f"UE / ASA, {how}; the peers' best UE and best ASA need not be one program's\n")
        rows = []
        for title, found in results:
            cells = [title]
            for zero, methods in ((False, METHODS[::2]), (True, METHODS[1:2])):
                peers = [pair[which] for name, pair in found.items() if pair[which] is not None
                         and not name.startswith("Lobule") and name.endswith("SLICO") == zero]
                error = min((e for e, _ in peers), default=math.inf)
                reach = max((a for _, a in peers), default=-math.inf)
                for mine in (found[method.name][which] for method in methods):
                    behind = " behind" if mine and (mine[0] > error or mine[1] < reach) else ""
                    cells.append(f"{mine[0]:.4f} / {mine[1]:.4f}{behind}" if mine else "")
                cells.append(f"{error:.4f} / {reach:.4f}" if peers else "")
            rows.append(cells)
        table(["case", "Lobule SLIC", "Lobule LSC", "peers", "Lobule SLICO", "peers' SLICO"], rows)


def effect(cases, count, out):
    """LSC's ratio and iterations: boundary recall and under-segmentation errors."""
    print(f"LSC, about {count} superpixels, mean over {len(cases)} images: BR / UE / UE NP (K)\n")
    rows = []
    for ratio in RATIOS:
        row = [f"{ratio:g}"]
        for iterations in ITERATIONS:
            found = []
            for case in cases:
                labels, _ = Lobule("lsc").run(case.image, out, "--count", count, "--ratio", ratio,
                                              "--iterations", iterations)
                found.append([*case.measure(out)[:3], labels.max()])
            recall, error, neubert, pieces = np.mean(found, axis=0)
            row.append(f"{recall:.4f} / {error:.4f} / {neubert:.4f} ({pieces:.0f})")
        rows.append(row)
    table(["ratio", *(f"{i} iterations" for i in ITERATIONS)], rows)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=Path)
    parser.add_argument("--limit", type=int, default=6)
    parser.add_argument("--counts-2d", type=numbers, default=[200, 600, 1200])
    parser.add_argument("--sizes-3d", type=numbers, default=[6, 8, 12])
    parser.add_argument("--seeds", type=int, default=1, help="phantoms of each kind")
    parser.add_argument("--only", help="abdomen, cells, brain, CT, MR or colour")
    parser.add_argument("--sweep-count", type=int, default=600)
    arguments = parser.parse_args()

    heading()
    print("K supervoxels, BR boundary recall (2 voxels in 2D, 1 in 3D), UE under-segmentation error "
          "(5 %), UE NP that of Neubert and Protzel, ASA achievable segmentation accuracy, EV explained "
          "variation, CO compactness, CD contour density\n")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "labels.nii")
        solid = [(kind, [phantom(folder, kind, seed + 1) for seed in range(arguments.seeds)])
                 for kind in ("abdomen", "cells", "brain") if arguments.only in (None, kind)]
        solid += [(case.name, [case]) for case in real_scans() if arguments.only in (None, case.name)]
        for name, cases in solid:
            for side in arguments.sizes_3d:
                title = f"{name}, size {side}"
                counts = [round(case.array.size / side**3) for case in cases]
                results.append((title, compare(title, cases, counts, METHODS + PEERS, out)))
        if arguments.only in (None, "colour"):
            if not arguments.images:
                arguments.images = Path(folder, "scenes")
                colour_scenes.make(arguments.images, arguments.limit)
            flat = list(colour_images(arguments.images, folder, arguments.limit))
            for count in arguments.counts_2d:
                title = f"{len(flat)} colour images, K {count}"
                results.append((title, compare(title, flat, [count] * len(flat), METHODS + PEERS + OPENCV, out)))
            effect(flat, arguments.sweep_count, out)
        summary(results)


if __name__ == "__main__":
    main()
