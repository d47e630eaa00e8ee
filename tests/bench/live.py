#!/usr/bin/env python3
"""Labels that follow a brush: seconds from a stroke to its labels, going on and afresh, by turns.

usage: live.py [--methods segment,strength,distance] [--size X,Y,Z] [--organs N] [--threads N] [--device NAME] [--every N]
               [--each N]

Organs of a real CT (LOBULE_SHARED), brought onto so many voxels, are painted as tools/strokes.py of that folder draws
them: a stroke at a time, slice after slice, of an organ and then around it. After every fifth stroke a piece of it
is erased, and that undone. --each N times every N-th change alone. At every N-th of these (--every) the others begin
anew, as they do after every stroke: `segment` or `growcut` on the same arrays, `segment` with its earlier labels as
`previous`, and ITK's FastGrowCut in 3D Slicer's box, where PyPI's itk-growcut is installed. Labels of going on and
afresh are compared byte by byte.
"""
import importlib.util
import sys
import time

import numpy as np
from harness import ROOT, dice, heading, load, options, shared, slicer_box, table

sys.path.insert(0, str(ROOT / "python"))
import lobule  # noqa: E402

SCAN, TRUTH = "totalsegmentator/example_ct.nii.gz", "totalsegmentator/example_seg_fast_force_split.nii.gz"
ORGANS = (5, 1, 2, 3, 6)  # liver, spleen, kidneys, stomach
SLICES = 5
AROUND = 1  # the label of what is around; organs come after it


def scan_of(size):
    """The CT on so many voxels, its truth, and their sizes in mm: (z, y, x)."""
    from scipy.ndimage import zoom

    folder = shared() or sys.exit("live: LOBULE_SHARED names no folder with real scans")
    (voxels, image), truth = load(folder / "data" / SCAN), load(folder / "data" / TRUTH)[0]
    spacing = np.array(image.header.get_zooms()[:3]) * voxels.shape / size
    factor = np.array(size) / voxels.shape
    scan = np.rint(zoom(voxels.astype(np.float32), factor, order=1)).astype(np.int16)
    return scan.T.copy(), zoom(truth, factor, order=0).T.copy(), tuple(float(side) for side in spacing[::-1])


def strokes_maker():
    spec = importlib.util.spec_from_file_location("strokes", shared() / "tools" / "strokes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make


def history(truth, spacing, organs):
    """(box, the voxels of strokes there) in the order of painting."""
    make, drawn, told = strokes_maker(), np.zeros(truth.shape, np.uint8), []
    organ = np.isin(truth, ORGANS[:organs])

    def tell(where, piece):
        drawn[where] = piece
        told.append((where, piece.copy()))

    planned = []
    for label, number in enumerate(ORGANS[:organs], AROUND + 1):
        seeds = make((truth == number).T.astype(np.uint8), 1, spacing[::-1], label, SLICES, 2).T
        lines = {label: seeds == 1, AROUND: (seeds == 2) & ~organ}  # nobody draws around in another organ
        planned += [(z, label, each, line[z]) for z in np.flatnonzero((seeds > 0).any((1, 2))) for each, line in lines.items()]
    for count, (z, _, label, line) in enumerate(sorted(planned, key=lambda each: each[:2])):
        rows, columns = (np.flatnonzero(line.any(axis)) for axis in (1, 0))
        if not len(rows):
            continue
        where = (slice(z, z + 1), slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
        before = drawn[where].copy()
        tell(where, np.where(line[None][(slice(None), *where[1:])] & (before == 0), label, before))
        if count % 5 == 4:  # a piece is erased, and that undone
            half = (where[0], where[1], slice(where[2].start, (where[2].start + where[2].stop + 1) // 2))
            was = drawn[half].copy()
            tell(half, np.where(was == label, 0, was))
            tell(half, was)
    return told


def fast_growcut(scan, strokes, spacing):
    """ITK's labels, in the box that 3D Slicer takes."""
    import itk

    cut = slicer_box(strokes, spacing)
    image, marks = (itk.image_from_array(np.ascontiguousarray(each[cut])) for each in (scan.astype(np.float32), strokes))
    for each in (image, marks):
        each.SetSpacing([float(side) for side in spacing[::-1]])
    labels = np.zeros(strokes.shape, np.uint8)
    labels[cut] = itk.array_from_image(itk.fast_grow_cut(image, seed_image=marks))
    return labels


def have_itk():
    return importlib.util.find_spec("itk") is not None and hasattr(__import__("itk"), "fast_grow_cut")


class Watch:
    """Seconds by the clock, and of processors, which other programs on the machine change less."""

    def __init__(self):
        self.start = time.perf_counter(), time.process_time()

    def took(self):
        return time.perf_counter() - self.start[0], time.process_time() - self.start[1]


class Segment:
    """`segment` by a Segmenter; the others begin anew."""

    def __init__(self, scan, largest, about):
        self.scan, self.about, self.previous = scan, about, None
        self.job = lobule.Segmenter(scan, largest, background=AROUND, **about)
        self.strokes = self.job.strokes

    def tell(self, where, piece):
        self.job.draw(where, piece)

    def change(self, where, piece):
        """Tell it; labels, and how long the preview and the labels took."""
        watch = Watch()
        self.tell(where, piece)
        while self.job.latest()[1] not in ("preview", "final"):
            self.job.wait(0.001)
        preview = watch.took()
        self.job.wait()
        return self.job.latest()[0], {"preview": preview, "labels": watch.took()}

    def others(self):
        told, given = {}, {"background": AROUND, **self.about}
        told["segment afresh"] = lambda: lobule.segment(self.scan, self.strokes, **given)
        if self.previous is not None:
            told["segment --previous"] = lambda: lobule.segment(self.scan, self.strokes, previous=self.previous, **given)
        if have_itk():
            told["ITK FastGrowCut"] = lambda: fast_growcut(self.scan, self.strokes, self.about["spacing"])
        return told


class Grow:
    """`growcut` by a Grower."""

    def __init__(self, scan, largest, about, rule):
        self.scan, self.about = scan, {"rule": rule, **about}
        self.job = lobule.Grower(scan, largest, **self.about)
        self.strokes = self.job.seeds

    def tell(self, where, piece):
        self.strokes[where] = piece
        return self.job.grow(where)

    def change(self, where, piece):
        watch = Watch()
        return self.tell(where, piece), {"labels": watch.took()}

    def others(self):
        return {"growcut afresh": lambda: lobule.growcut(self.scan, self.strokes.copy(), **self.about)}


def measure(work, told, each, every):
    """What each change took, by what was waited for, going on and of the others."""
    seconds = {}
    work.tell(*told[0])  # one label alone is nothing to tell apart
    for number, (where, piece) in enumerate(told[1:], 1):
        if number % each and number < len(told) - 1:
            work.tell(where, piece)
            continue
        labels, took = work.change(where, piece)
        for what, of in took.items():
            seconds.setdefault(f"going on: {what}", []).append(of)
        if number // each % every:
            continue
        for what, compute in work.others().items():
            watch = Watch()
            found = compute()
            seconds.setdefault(what, []).append(watch.took())
            if what.endswith("afresh"):
                assert np.array_equal(found, labels), f"change {number}: another result than afresh"
        work.previous = labels.copy()
    return seconds, labels


def main():
    arguments = options(__doc__, methods="segment,strength,distance", size="256,256,128", organs=3, threads=2, device="cpu",
                        each=1, every=5)  # fmt: skip
    scan, truth, spacing = scan_of([int(side) for side in arguments.size.split(",")])
    told = history(truth, spacing, arguments.organs)
    about = {"spacing": spacing, "threads": arguments.threads, "device": arguments.device}
    heading()
    rows = []
    for method in arguments.methods.split(","):
        work = Segment(scan, arguments.organs + 1, about) if method == "segment" else Grow(scan, arguments.organs + 1, about, method)
        seconds, labels = measure(work, told, arguments.each, arguments.every)
        work.job.close()
        found = np.mean([dice(labels == label, truth == number) for label, number in enumerate(ORGANS[: arguments.organs], AROUND + 1)])
        for what, took in seconds.items():
            wall, processor = np.array(took).T
            rows.append([method, arguments.size, arguments.organs, what, len(took), *(f"{np.percentile(wall, p):.3f}" for p in (50, 95, 100)),
                         f"{np.median(processor):.3f}", f"{found:.3f}" if what.endswith("labels") else ""])  # fmt: skip
    table(["method", "size", "organs", "what", "changes", "median", "95 %", "most", "processors", "mean Dice in the end"], rows)


if __name__ == "__main__":
    main()
