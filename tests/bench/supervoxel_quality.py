#!/usr/bin/env python3
"""Quality of supervoxels by Lobule, scikit-image and SimpleITK at equal numbers of supervoxels.

In 3D on phantoms with their truth, and on real scans with references where LOBULE_SHARED names them;
in 2D on a folder of colour images and human segmentations:

    FOLDER/images/NAME.png               or .jpg; subfolders are looked into
    FOLDER/truth/NAME.png                labels as grey values; or NAME_1.png, NAME_2.png, ... of
                                         several people, .nii.gz, or BSDS's NAME.mat

which is also how BSDS500 comes apart from the names (images, groundTruth). Of several truths the
measures' mean is given. Peers get the same compactness, and their size is searched until they are
within 2 % of our number of supervoxels. Where they come no nearer than 10 %, because noise has left
them hardly any pieces, they get more compactness. With --tune every program tries several times less
and more of it (of ratio, LSC), and the one with the least under-segmentation error counts; its name
then says "x4".

With 2D images, or else on a slice of a phantom, a second table tells what LSC's ratio and iterations
do, as figures 9 and 10 of Ban, Liu and Fouriaux, "GLSC: LSC superpixels at over 130 FPS" (2016).

usage: supervoxel_quality.py [--images FOLDER] [--limit N] [--sizes-2d 12,16,24] [--sizes-3d 6,8,12]
                             [--tune] [--sweep-size 16]
"""
import argparse
import sys
import tempfile
from pathlib import Path

import nibabel
import numpy as np
from scipy.io import loadmat
from skimage import io as pictures

from harness import Run, heading, load, shared, table
from supervoxel_peers import Lobule, Sitk, Skimage, at_equal_count, save_labels

MEASURES = {"BR": "boundary_recall", "UE": "under_segmentation_error",
            "UE NP": "under_segmentation_error_neubert", "ASA": "achievable_segmentation_accuracy",
            "EV": "explained_variation", "CO": "compactness", "CD": "contour_density"}
METHODS = [Lobule("slic"), Lobule("slico"), Lobule("lsc")]
PEERS = [Skimage(), Skimage(zero=True), Sitk()]
RATIOS, ITERATIONS = (0.05, 0.075, 0.1, 0.15, 0.2, 0.4, 0.6, 0.8), (5, 10, 15, 20)
GREY, COLOUR, RATIO = 0.05, 0.1, 0.075  # compactness, and LSC's ratio
FACTORS = (1, 2, 4, 8, 0.5, 0.25)  # of these


class Case:
    """An image on disk, as an array, and its truths on disk."""

    def __init__(self, name, image, array, truths, spacing=None):
        self.name, self.image, self.array, self.truths = name, image, array, truths
        self.colour = array.ndim == 3 and array.shape[-1] == 3
        self.flat = self.colour or array.ndim == 2
        self.spacing = spacing[-array.ndim:] if spacing else None
        self.compactness = COLOUR if self.colour else GREY

    def measure(self, labels):
        """Measures of a label file, the mean over the truths."""
        tolerance = "2vox" if self.flat else "1vox"
        runs = [Run("compare", "--supervoxels", truth, labels, "--image", self.image, "--tolerance",
                    tolerance).report["results"] for truth in self.truths]
        return [np.mean([run[key] for run in runs]) for key in MEASURES.values()]


def phantom(folder, kind, size, seed=1):
    image, truth = (Path(folder, f"{kind}_{size}_{what}.nii.gz") for what in ("image", "truth"))
    Run("phantom", kind, "--size", size, "-o", image, "--truth", truth, "--force")
    array, header = load(image)
    array = np.squeeze(array.T)
    return Case(f"{kind} {size}", image, array, [truth], tuple(map(float, header.header.get_zooms()[2::-1])))


def real_scans():
    if shared() is None:
        return
    scans = shared() / "data" / "totalsegmentator"
    for image, truth in (("example_ct.nii.gz", "example_seg_fast_force_split.nii.gz"),
                         ("example_mr_sm.nii.gz", "example_seg_mr.nii.gz")):
        if (scans / image).is_file() and (scans / truth).is_file():
            array, header = load(scans / image)
            yield Case(image.removesuffix(".nii.gz"), scans / image, array.T, [scans / truth],
                       tuple(map(float, header.header.get_zooms()[2::-1])))


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


def ours(method, case, side, folder):
    """A function from a factor of compactness or ratio to labels' file, their number, seconds."""
    option = {"slic": ("--compactness", case.compactness), "lsc": ("--ratio", RATIO)}.get(method.method)

    def run(factor):
        labels = Path(folder, "labels.nii.gz")
        found, seconds = method.run(case.image, labels, side, *((option[0], factor * option[1]) if option else ()))
        return labels, int(found.max()), seconds

    return run


def theirs(peer, case, count, folder):
    """The same of a peer, which is to find about `count` supervoxels."""

    def run(factor):
        found, k, seconds = at_equal_count(peer, case.array, count, factor * case.compactness, case.colour,
                                           spacing=case.spacing)
        return save_labels(Path(folder, "labels.nii.gz"), found, case.truths[0]), k, seconds

    return run


def best_row(name, run, case, count, factors, tune):
    """The row (program, K, measures..., seconds) of the factor that does best."""
    rows = []
    for factor in factors:
        labels, k, seconds = run(factor)
        rows.append([name if factor == 1 else f"{name} x{factor:g}", k, *case.measure(labels), seconds])
        if not tune and abs(k / count - 1) < 0.1:
            break
    near = max(0.03, 1.01 * min(abs(row[1] / count - 1) for row in rows))
    return min((row for row in rows if abs(row[1] / count - 1) <= near),
               key=lambda row: row[2 + list(MEASURES).index("UE")])


def compare_case(case, side, folder, tune):
    """A row for each program, of one image and size."""
    _, count, _ = ours(METHODS[0], case, side, folder)(1)
    for method in METHODS:
        yield best_row(f"Lobule {method.name}", ours(method, case, side, folder), case, count,
                       FACTORS if tune and method.method != "slico" else (1,), tune)
    for peer in PEERS:
        yield best_row(peer.name, theirs(peer, case, count, folder), case, count, FACTORS, tune)


def mean_rows(all_rows):
    """Rows of several images, their mean program by program."""
    for rows in zip(*all_rows):
        yield [rows[0][0].split(" x")[0] if len(rows) > 1 else rows[0][0],
               *np.mean([row[1:] for row in rows], axis=0)]


def print_rows(title, rows):
    print(f"{title}\n")
    table(["program", "K", *MEASURES, "seconds"],
          [[row[0], f"{row[1]:.0f}", *(f"{x:.4f}" for x in row[2:-1]), f"{row[-1]:.2f}"] for row in rows])


def sweep(cases, side, folder):
    """LSC's ratio and iterations: boundary recall and under-segmentation error."""
    print(f"LSC, size {side} voxels, mean over {len(cases)} images: "
          "boundary recall / under-segmentation error (K)\n")
    labels, rows = Path(folder, "labels.nii.gz"), []
    for ratio in RATIOS:
        row = [f"{ratio:g}"]
        for iterations in ITERATIONS:
            found = []
            for case in cases:
                array, _ = Lobule("lsc").run(case.image, labels, side, "--ratio", ratio, "--iterations",
                                             iterations)
                found.append([*case.measure(labels)[:2], array.max()])
            recall, error, count = np.mean(found, axis=0)
            row.append(f"{recall:.4f} / {error:.4f} ({count:.0f})")
        rows.append(row)
    table(["ratio", *(f"{i} iterations" for i in ITERATIONS)], rows)


def sizes(text):
    return [float(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=Path)
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--sizes-2d", type=sizes, default=[12, 16, 24])
    parser.add_argument("--sizes-3d", type=sizes, default=[6, 8, 12])
    parser.add_argument("--sweep-size", type=float, default=16)
    parser.add_argument("--tune", action="store_true")
    arguments = parser.parse_args()

    heading()
    print("K supervoxels, BR boundary recall (2 voxels in 2D, 1 in 3D), UE under-segmentation error "
          "(5 %), UE NP that of Neubert and Protzel, ASA achievable segmentation accuracy, EV explained "
          "variation, CO compactness, CD contour density\n")
    with tempfile.TemporaryDirectory() as folder:
        solid = [phantom(folder, "abdomen", "96,96,64"), phantom(folder, "cells", "96,96,64"), *real_scans()]
        for case in solid:
            for side in arguments.sizes_3d:
                print_rows(f"{case.name}, size {side:g} voxels",
                           compare_case(case, side, folder, arguments.tune))
        if arguments.images:
            flat = list(colour_images(arguments.images, folder, arguments.limit))
            for side in arguments.sizes_2d:
                rows = mean_rows([list(compare_case(case, side, folder, arguments.tune)) for case in flat])
                print_rows(f"{len(flat)} colour images, size {side:g} voxels", rows)
        else:
            flat = [phantom(folder, "abdomen", "320,240,1")]
            for side in arguments.sizes_2d:
                print_rows(f"{flat[0].name}, size {side:g} voxels",
                           compare_case(flat[0], side, folder, arguments.tune))
        sweep(flat, arguments.sweep_size, folder)


if __name__ == "__main__":
    main()
