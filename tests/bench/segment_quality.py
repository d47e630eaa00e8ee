#!/usr/bin/env python3
"""From brush strokes to masks: Dice of `lobule segment` beside plain GrowCut, ITK's and a random walker.

Eleven organs and structures of seven scans (LOBULE_SHARED), strokes drawn from their truths by tools/strokes.py of that
folder; each draw is another hand. No method gets an option for a case. Ends with 1 when `segment` misses a target.

usage: segment_quality.py [--draws 0,1,2,3,4] [--cases SUBSTRING] [--peers 1] [--ablations 1] [--suggest 1]
"""
import csv
import importlib.util
import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import ROOT, Run, dice, heading, load, median, options, program, save, shared, slicer_box, table

CT, SEG = "totalsegmentator/example_ct_sm", "totalsegmentator/example_seg"
MR, CORD = "totalsegmentator/example_mr_sm", "sct-spinal-cord/"

# Scan, truth, its label, slices drawn, across this axis.
CASES = {
    "ct3 liver": (CT, SEG, 5, 5, 2),
    "ct3 spleen": (CT, SEG, 1, 4, 2),
    "ct3 kidney": (CT, SEG, 2, 4, 2),
    "ct1 liver": ("totalsegmentator/example_ct_dicom", SEG + "_dicom", 5, 4, 2),
    "ct1 spleen": ("totalsegmentator/example_ct_dicom", SEG + "_dicom", 1, 4, 2),
    "mr liver": (MR, SEG + "_mr", 5, 4, 2),
    "mr spleen": (MR, SEG + "_mr", 1, 3, 2),
    "mr kidney": (MR, SEG + "_mr", 3, 3, 2),
    "cord t2": (CORD + "t2", CORD + "t2_seg-manual", 1, 5, 1),
    "cord t1": (CORD + "t1w", CORD + "t1w_seg-manual", 1, 5, 2),
    "tumour": ("pyradiomics-brain-tumour/brain1_image", "pyradiomics-brain-tumour/brain1_label", 1, 3, 2),
}

# What each choice of `segment` brings: the row without it.
ABLATIONS = {
    "one growth": ("--passes", 1),
    "no outlines between slices": ("--shape", 0),
    "far costs nothing": ("--far", 0),
    "borders as they grew": ("--edge", 0),
    "no median": ("--median", "off"),
    "strokes alone": ("--whole", 0),
    "no Gaussian before growth": ("--blur", 0),
    "no majority": ("--smooth", 0),
    "a larger box": ("--share", 0.6, "--margin", "20mm"),
}

LEAST_MEAN, LEAST_LIVER, MOST_LOSS, LEAST_SUGGESTED = 0.88, 0.92, 0.01, 0.92


def stored(folder, name):
    for end in ("", ".nii.gz", ".nii"):
        if (folder / (name + end)).is_file():
            return folder / (name + end)
    sys.exit(f"segment_quality: {folder / name}.nii.gz is missing")


class Case:
    """A scan, its truth as a mask, and strokes as a hand would draw them."""

    def __init__(self, folder, strokes, name):
        scan, truth, label, self.slices, self.axis = CASES[name]
        self.name, self.strokes = name, strokes
        self.path = stored(folder, scan)
        voxels, self.image = load(self.path)
        self.voxels = np.squeeze(voxels)
        mask = np.squeeze(load(stored(folder, truth))[0]) == label
        self.truth = mask[:, ::-1] if truth.endswith("_dicom") else mask
        self.label = label
        self.spacing = np.abs(self.image.header.get_zooms()[:3]).astype(float)

    def draw(self, number):
        return self.strokes.make(np.where(self.truth, self.label, 0), self.label, self.spacing, number,
                                 self.slices, self.axis)

    def draw_on(self, seeds, number, chosen, result):
        """Strokes on further slices, of the truth; where it is empty, over the result, of the background."""
        seeds = seeds.copy()
        for slice_ in chosen:
            here = np.zeros_like(self.truth)
            at = [slice(None)] * 3
            at[self.axis] = slice_
            at = tuple(at)
            empty = not self.truth[at].any()
            here[at] = result[at] if empty else self.truth[at]
            if not here.any():
                continue
            more = self.strokes.make(here.astype(np.uint8), 1, self.spacing, number, 1, self.axis)
            if empty:
                more = np.where(more == 1, 2, 0)
            seeds = np.where(seeds > 0, seeds, more).astype(np.uint8)
        return seeds

    def spread(self, count):
        """Slices at even shares of the truth's volume."""
        area = self.truth.sum(tuple(a for a in range(3) if a != self.axis))
        share = np.cumsum(area) / area.sum()
        return sorted({int(np.searchsorted(share, (k + 0.5) / count)) for k in range(count)})


def in_box(case, seeds, cut, labels):
    out = np.zeros(seeds.shape, bool)
    out[cut] = np.asarray(labels) == 1
    return out


def command(name, *more):
    """A method that is one command of lobule on whole files."""

    def work(case, seeds, folder):
        paths = Path(folder, "seeds.nii.gz"), Path(folder, "out.nii.gz")
        save(paths[0], seeds, case.image)
        done = Run(name, case.path, paths[0], "-o", paths[1], "--force", *more)
        return np.squeeze(load(paths[1])[0]) == 1, done.seconds

    return work


def growcut_in_box(case, seeds, folder):
    path = [Path(folder, name) for name in ("seeds.nii.gz", "image.nii.gz", "box.nii.gz", "out.nii.gz")]
    save(path[0], seeds, case.image)
    around = ("--around", path[0], "--margin", "10mm", "--share", 0.2, "--force")
    seconds = Run("crop", case.path, "-o", path[1], *around).seconds
    seconds += Run("crop", path[0], "-o", path[2], *around).seconds
    seconds += Run("growcut", path[1], path[2], "-o", path[3], "--force").seconds
    return in_box(case, seeds, slicer_box(seeds, case.spacing), np.squeeze(load(path[3])[0])), seconds


def fast_growcut(case, seeds, _):
    """ITK's, by PyPI's itk-growcut."""
    import itk

    cut = slicer_box(seeds, case.spacing)
    image = itk.image_from_array(np.ascontiguousarray(case.voxels[cut].astype(np.float32).T))
    marks = itk.image_from_array(np.ascontiguousarray(seeds[cut].astype(np.uint8).T))
    for one in (image, marks):
        one.SetSpacing([float(x) for x in case.spacing])
    grown = itk.fast_grow_cut(image, seed_image=marks)
    return in_box(case, seeds, cut, itk.array_from_image(grown).T), float("nan")


def random_walker(case, seeds, _):
    from skimage.segmentation import random_walker as walk

    cut = slicer_box(seeds, case.spacing)
    x = case.voxels[cut].astype(float)
    labels = walk(x / x.std(), seeds[cut].astype(np.int32), beta=2000, mode="cg_j", tol=1e-3,
                  spacing=tuple(case.spacing / case.spacing.min()))
    return in_box(case, seeds, cut, labels), float("nan")


def suggested(case, seeds, folder):
    """What `--suggest 3` lists, along the axis of the strokes."""
    path = Path(folder, "seeds.nii.gz")
    save(path, seeds, case.image)
    done = subprocess.run([program(), "segment", case.path, path, "-o", Path(folder, "out.nii.gz"), "--force",
                           "--suggest", "3", "--quiet"], capture_output=True, text=True, check=True)
    rows = csv.DictReader(io.StringIO(done.stdout), delimiter="\t")
    return [int(row["slice"]) for row in rows if row["axis"] == "xyz"[case.axis]]


def with_three_more(choose):
    """`segment` with strokes on three more slices."""
    grow = command("segment")

    def work(case, seeds, folder):
        first = grow(case, seeds, folder)[0]
        chosen = choose(case, seeds, folder)
        return grow(case, case.draw_on(seeds, 50, chosen, first), folder)

    return work


def three_more_live(case, seeds, _):
    """The same strokes by a Segmenter, which tells the slices; by the Python package (LOBULE_LIBRARY)."""
    sys.path.insert(0, str(ROOT / "python"))
    import lobule

    start = time.perf_counter()
    with lobule.Segmenter(case.voxels, 2, suggest=3, spacing=case.spacing, axes="xyz") as segmenter:
        segmenter.draw(slice(None), seeds)
        first = segmenter.labels == 1
        chosen = [found["slice"] for found in segmenter.doubt().suggested if found["axis"] == case.axis]
        segmenter.draw(slice(None), case.draw_on(seeds, 50, chosen, first))
        return segmenter.labels == 1, time.perf_counter() - start


def have_itk():
    return importlib.util.find_spec("itk") is not None and hasattr(__import__("itk"), "fast_grow_cut")


def methods(given):
    rows = {"growcut": command("growcut"), "segment": command("segment")}
    if given.peers:
        rows["growcut in the box"] = growcut_in_box
        rows["random walker in the box"] = random_walker
        if have_itk():
            rows["ITK FastGrowCut in the box"] = fast_growcut
    if given.ablations:
        rows.update({name: command("segment", *words) for name, words in ABLATIONS.items()})
    if given.suggest:
        rows["three more strokes, suggested"] = with_three_more(suggested)
        rows["three more strokes, suggested, live"] = three_more_live
        rows["three more strokes, spread evenly"] = with_three_more(lambda case, *_: case.spread(3))
    return rows


def check(score, names):
    """The targets; returns how many are missed."""
    mean = {row: np.mean([np.mean(score[row][n]) for n in names]) for row in score}
    targets = [("mean of segment", mean["segment"], LEAST_MEAN)]
    targets += [(f"{n} against growcut", np.mean(score["segment"][n]), np.mean(score["growcut"][n]) - MOST_LOSS)
                for n in names]
    if "ct3 liver" in names:
        targets.append(("ct3 liver", np.mean(score["segment"]["ct3 liver"]), LEAST_LIVER))
    if "three more strokes, suggested" in mean:
        more = mean["three more strokes, suggested"]
        targets += [("three strokes suggested", more, LEAST_SUGGESTED),
                    ("suggested against spread", more, mean["three more strokes, spread evenly"]),
                    ("suggested, live, against the command", mean["three more strokes, suggested, live"], more),
                    ("the command against suggested, live", more, mean["three more strokes, suggested, live"])]
    missed = [f"{what} {got:.3f} is below {least:.3f}" for what, got, least in targets if got < least]
    print("\n".join(missed) if missed else "All targets are met.")
    return len(missed)


def main():
    given = options(__doc__, draws="0,1,2,3,4", cases="", peers=0, ablations=0, suggest=0)
    folder = shared()
    if folder is None:
        print("segment_quality: skipped, LOBULE_SHARED names no folder with real scans")
        return 0
    spec = importlib.util.spec_from_file_location("strokes", folder / "tools/strokes.py")
    strokes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(strokes)

    heading()
    names = [name for name in CASES if given.cases in name]
    rows = methods(given)
    score = {row: {name: [] for name in names} for row in rows}
    seconds = {row: {name: [] for name in names} for row in rows}
    for name in names:
        case = Case(folder / "data", strokes, name)
        for number in map(int, given.draws.split(",")):
            seeds = case.draw(number)
            for row, work in rows.items():
                with tempfile.TemporaryDirectory() as scratch:
                    mask, took = work(case, seeds, scratch)
                score[row][name].append(dice(mask, case.truth))
                seconds[row][name].append(took)
        print(f"{name} done", file=sys.stderr, flush=True)

    print(f"Dice, mean over draws {given.draws}; the least is that of one draw; seconds are the median of whole "
          "commands.\n")
    table(["what", *names, "mean", "worst case", "least", "s"],
          [[row, *(f"{np.mean(score[row][n]):.3f}"[1:] for n in names),
            f"{np.mean([np.mean(score[row][n]) for n in names]):.4f}",
            f"{min(np.mean(score[row][n]) for n in names):.3f}", f"{min(min(score[row][n]) for n in names):.3f}",
            f"{median([x for n in names for x in seconds[row][n]]):.2f}"] for row in rows])
    return 1 if check(score, names) else 0


if __name__ == "__main__":
    sys.exit(main())
