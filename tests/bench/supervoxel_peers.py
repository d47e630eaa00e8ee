"""Supervoxels by Lobule, scikit-image and SimpleITK on the same image, as the benchmarks call them.

Images are arrays: (y, x, 3) in colour, (z, y, x) or (y, x) in grey. Compactness is a share of the
image's range, in colour of CIELAB's 100, for all of them.
"""
import itertools
import math
import time

import nibabel
import numpy as np
import SimpleITK as sitk
from skimage.color import rgb2lab
from skimage.segmentation import slic

from harness import Run, load

LIGHTNESS = 100.0  # the range of CIELAB's L


def save_labels(path, labels, like):
    """Labels (y, x) or (z, y, x) as int32 on the grid of another file."""
    across = labels.T if labels.ndim == 3 else labels.T[:, :, None]
    nibabel.save(nibabel.Nifti1Image(np.ascontiguousarray(across, np.int32), nibabel.load(like).affine), path)
    return path


class Lobule:
    def __init__(self, method):
        self.method = method
        self.name = {"slic": "SLIC", "slico": "SLICO", "lsc": "LSC"}[method]

    def run(self, image, out, side, *options):
        """Cut a file with supervoxels of `side` voxels; returns labels and seconds of computing."""
        run = Run("supervoxels", image, "-o", out, "--method", self.method, "--size", f"{side}vox",
                  "--device", "cpu", "--force", *options)
        return load(out)[0], run.stage("compute")


class Skimage:
    def __init__(self, zero=False):
        self.zero = zero
        self.name = "scikit-image " + ("SLICO" if zero else "SLIC")

    def prepare(self, array):
        return array

    def first(self, array, count, colour):
        """The parameter to try first for about `count` pieces, and the others by their distance."""
        return float(count)

    def next(self, parameter, found, count, tried):
        return parameter * count / found

    def run(self, array, parameter, compactness, colour, iterations, spacing):
        start = time.perf_counter()
        labels = slic(array, n_segments=max(1, round(parameter)),
                      compactness=compactness * (LIGHTNESS if colour else 1.0), max_num_iter=iterations,
                      slic_zero=self.zero, start_label=1, channel_axis=-1 if colour else None,
                      spacing=None if colour else spacing)
        return labels, time.perf_counter() - start


class Sitk:
    """ITK's filter: the grid's cells have a whole number of voxels along each axis."""

    name = "SimpleITK SLIC"

    def prepare(self, array):
        """What it compares: CIELAB, or grey with a range of 1, which it does not see to itself."""
        if array.shape[-1] == 3 and array.dtype == np.uint8 and array.ndim == 3:
            return sitk.GetImageFromArray(rgb2lab(array).astype(np.float32), isVector=True)
        low, high = float(array.min()), float(array.max())
        scaled = (array.astype(np.float32) - low) / max(high - low, 1e-9)
        return sitk.GetImageFromArray(scaled)

    def first(self, array, count, colour):
        """Cell sizes by how near their grid comes to `count` cells; ties by evenness."""
        shape = array.shape[:2][::-1] if colour else array.shape[::-1]
        side = (math.prod(shape) / count) ** (1 / len(shape))
        around = [range(max(1, int(side * 0.6)), int(side * 1.6) + 2)] * len(shape)
        self.sizes = sorted(itertools.product(*around), key=lambda size: (
            round(abs(math.prod(-(-n // s) for n, s in zip(shape, size)) / count - 1), 2),
            max(size) - min(size)))
        self.shape, self.count = shape, count
        return self.sizes[0]

    def next(self, parameter, found, count, tried):
        """The grid that would give `count`, if all grids lost or won what the last one did."""
        cells = math.prod(-(-n // s) for n, s in zip(self.shape, parameter))
        wanted = count * cells / found
        fresh = [size for size in self.sizes if size not in tried]
        return min(fresh, key=lambda size: (
            round(abs(math.prod(-(-n // s) for n, s in zip(self.shape, size)) / wanted - 1), 2),
            max(size) - min(size))) if fresh else parameter

    def run(self, image, parameter, compactness, colour, iterations, spacing):
        start = time.perf_counter()
        labels = sitk.SLIC(image, maximumNumberOfIterations=iterations, superGridSize=list(parameter),
                           spatialProximityWeight=compactness * (LIGHTNESS if colour else 1.0),
                           enforceConnectivity=True, initializationPerturbation=False)
        return sitk.GetArrayFromImage(labels).astype(np.int32) + 1, time.perf_counter() - start


def at_equal_count(peer, array, count, compactness, colour, iterations=10, spacing=None, tries=8):
    """A peer's labels with as near to `count` pieces as `tries` runs come, or within 2 %."""
    prepared = peer.prepare(array)
    parameter, best, tried = peer.first(array, count, colour), None, set()
    for _ in range(tries):
        tried.add(parameter)
        labels, seconds = peer.run(prepared, parameter, compactness, colour, iterations, spacing)
        found = len(np.unique(labels))
        apart = abs(found / count - 1)
        if best is None or apart < best[0]:
            best = (apart, labels, found, seconds)
        if apart <= 0.02:
            break
        parameter = peer.next(parameter, found, count, tried)
    return best[1:]
