"""Supervoxels by Lobule, scikit-image, SimpleITK and OpenCV on the same image, as the benchmarks call them.

Images are arrays: (y, x, 3) in colour, (z, y, x) or (y, x) in grey. A weight is the compactness as
a share of the image's range, in colour of CIELAB's 100, whoever is asked; of LSC it is the ratio.
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

try:
    from cv2 import ximgproc
except ImportError:
    ximgproc = None

LIGHTNESS = 100.0  # the range of CIELAB's L
GREY, COLOUR = (0.0125, 0.025, 0.05, 0.1, 0.2), (0.05, 0.1, 0.2, 0.3)  # weights of a sweep
RATIOS = (0.025, 0.05, 0.1, 0.15, 0.2)


def save_labels(path, labels, like):
    """Labels (y, x) or (z, y, x) as int32 on the grid of another file."""
    across = labels.T if labels.ndim == 3 else labels.T[:, :, None]
    nibabel.save(nibabel.Nifti1Image(np.ascontiguousarray(across, np.int32), nibabel.load(like).affine), path)
    return path


def shares(case):
    return COLOUR if case.colour else GREY


class Lobule:
    def __init__(self, method):
        self.method = method
        self.name = "Lobule " + {"slic": "SLIC", "slico": "SLICO", "lsc": "LSC"}[method]
        self.option = {"slic": "--compactness", "slico": None, "lsc": "--ratio"}[method]

    def sweep(self, case):
        return {"slic": shares(case), "slico": (), "lsc": RATIOS}[self.method]

    def run(self, image, out, *options):
        """Cut a file; returns labels and a Run."""
        run = Run("supervoxels", image, "-o", out, "--method", self.method, "--device", "cpu", "--force",
                  *options)
        return load(out)[0], run

    def cut(self, case, count, weight, out):
        """Labels of a case to a file: how many, and seconds. Without a weight its own default."""
        labels, run = self.run(case.image, out, "--count", max(1, round(count)),
                               *((self.option, weight) if weight else ()))
        return int(labels.max()), run.stage("compute")


class Peer:
    def sweep(self, case):
        return shares(case)

    def cut(self, case, count, weight, out):
        weight = weight or self.default(case)
        labels, seconds = self.run(self.prepare(case.array), self.parameter(case, count), weight, case.colour, 10,
                                   case.spacing)
        numbered = np.unique(labels, return_inverse=True)[1].reshape(labels.shape) + 1
        save_labels(out, numbered, case.truths[0])
        return int(numbered.max()), seconds

    def parameter(self, case, count):
        return max(1, round(count))

    def prepare(self, array):
        return array


class Skimage(Peer):
    def __init__(self, zero=False):
        self.zero = zero
        self.name = "scikit-image " + ("SLICO" if zero else "SLIC")

    def default(self, case):
        return 10 / (LIGHTNESS if case.colour else 1)

    def sweep(self, case):
        return (0.1,) if self.zero else shares(case)  # SLICO only starts from it

    def run(self, array, count, weight, colour, iterations, spacing):
        if spacing is not None:  # as it is, mm would weigh against intensities as steps of the grid do
            spacing = np.asarray(spacing) / np.prod(spacing) ** (1 / len(spacing))
        start = time.perf_counter()
        labels = slic(array, n_segments=count, compactness=weight * (LIGHTNESS if colour else 1.0),
                      max_num_iter=iterations, slic_zero=self.zero, start_label=1,
                      channel_axis=-1 if colour else None, spacing=None if colour else spacing)
        return labels, time.perf_counter() - start


class Sitk(Peer):
    """ITK's filter: the grid's cells have a whole number of voxels along each axis."""

    name = "SimpleITK SLIC"

    def default(self, case):
        return 10 / (LIGHTNESS if case.colour else float(np.ptp(case.array.astype(float))))

    def prepare(self, array):
        """What it compares: CIELAB, or grey with a range of 1, which it does not see to itself."""
        if array.shape[-1] == 3 and array.dtype == np.uint8 and array.ndim == 3:
            return sitk.GetImageFromArray(rgb2lab(array).astype(np.float32), isVector=True)
        low, high = float(array.min()), float(array.max())
        scaled = (array.astype(np.float32) - low) / max(high - low, 1e-9)
        return sitk.GetImageFromArray(scaled)

    def parameter(self, case, count):
        """The sizes of cells whose grid comes nearest to `count` cells; ties by evenness."""
        shape = case.array.shape[:2][::-1] if case.colour else case.array.shape[::-1]
        side = (math.prod(shape) / count) ** (1 / len(shape))
        around = [range(max(1, int(side * 0.7)), int(side * 1.4) + 2)] * len(shape)
        return min(itertools.product(*around), key=lambda size: (
            round(abs(math.prod(-(-n // s) for n, s in zip(shape, size)) / count - 1), 2), max(size) - min(size)))

    def run(self, image, cell, weight, colour, iterations, spacing):
        start = time.perf_counter()
        labels = sitk.SLIC(image, maximumNumberOfIterations=iterations, superGridSize=list(cell),
                           spatialProximityWeight=weight * (LIGHTNESS if colour else 1.0))
        return sitk.GetArrayFromImage(labels).astype(np.int32) + 1, time.perf_counter() - start


class OpenCV(Peer):
    """Of colour images alone. LSC's pieces are 8-connected."""

    def __init__(self, method):
        self.method = method
        self.name = "OpenCV " + {"slic": "SLIC", "slico": "SLICO", "lsc": "LSC"}[method]

    def sweep(self, case):
        return RATIOS if self.method == "lsc" else shares(case)

    def default(self, case):
        return 0.075 if self.method == "lsc" else 10 / LIGHTNESS

    def parameter(self, case, count):
        return max(2, round(math.sqrt(math.prod(case.array.shape[:2]) / count)))

    def prepare(self, array):
        return rgb2lab(array).astype(np.float32)

    def run(self, lab, side, weight, colour, iterations, spacing):
        start = time.perf_counter()
        if self.method == "lsc":
            cut = ximgproc.createSuperpixelLSC(lab, side, weight)
        else:
            cut = ximgproc.createSuperpixelSLIC(lab, {"slic": ximgproc.SLIC, "slico": ximgproc.SLICO}[self.method],
                                                side, weight * LIGHTNESS)
        cut.iterate(iterations)
        cut.enforceLabelConnectivity(25)
        return cut.getLabels() + 1, time.perf_counter() - start


def at_count(program, case, weight, count, measure, out, tries=6):
    """Measures of a program at `count` pieces: (pieces, measures, seconds), or None.

    A grid gives only some numbers. Where no run comes within 1 %, the measures are interpolated, by
    the logarithm of the number, between the nearest runs with fewer and with more. None where noise
    leaves hardly any pieces.
    """
    runs, wanted, below, above = [], float(count), None, None
    for _ in range(tries):
        found, seconds = program.cut(case, wanted, weight, out)
        runs.append((found, [*measure(out), seconds]))
        if abs(found / count - 1) <= 0.01:
            return found, runs[-1][1]
        if found < count / 3:
            return None
        below = max((run for run in runs if run[0] < count), default=None)
        above = min((run for run in runs if run[0] > count), default=None)
        if below and above and above[0] / below[0] < 1.5:
            break
        step = count / found
        wanted *= step * (1.04 if step > 1 else 1 / 1.04)
    if not (below and above):
        return None
    share = math.log(count / below[0]) / math.log(above[0] / below[0])
    return count, [a + (b - a) * share for a, b in zip(below[1], above[1])]
