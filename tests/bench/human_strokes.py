#!/usr/bin/env python3
"""Scribbles that people drew: Dice of `segment` beside growcut in the volume and slice by slice.

Twelve cine-MR volumes of six hearts (LOBULE_SHARED, data/acdc-human-scribbles): right ventricle, myocardium, left
ventricle, background, on every slice; 10 mm from slice to slice, 1.5 mm in them. Then the same with scribbles on every
third slice alone, beginning with the first, the second and the third. The first three patients and the others have columns
of their own; settling on thick slices was chosen on all. Works on arrays, by the Python package (LOBULE_LIBRARY).

usage: human_strokes.py [--volumes SUBSTRING] [--walker 1] [--jobs N]
"""
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from harness import ROOT, commit, dice, load, machine, options, shared, table

sys.path.insert(0, str(ROOT / "python"))
import lobule  # noqa: E402

SPACING, BACKGROUND = (10, 1.5, 1.5), 4
STRUCTURES = {"right ventricle": 1, "myocardium": 2, "left ventricle": 3}
CHOSEN_ON = ("patient003", "patient005", "patient007")
LEAST_MEAN, LEAST = 0.87, {"right ventricle": 0.88, "myocardium": 0.81}
LEAST_THIRDS = 0.84


def volume(folder, name):
    """Image, scribbles and truth as arrays (z, y, x)."""
    return (np.ascontiguousarray(load(folder / f"{name}_{what}.nii.gz")[0].T) for what in ("image", "scribbles", "truth"))


def thirds(strokes):
    """Scribbles on every third slice, three ways."""
    for first in range(3):
        kept = np.zeros_like(strokes)
        kept[first::3] = strokes[first::3]
        yield kept


def random_walker(image, strokes):
    """scikit-image's, slice by slice where there are scribbles."""
    from skimage.segmentation import random_walker as walk

    out = np.zeros_like(strokes)
    for z in np.flatnonzero(strokes.any((1, 2))):
        x = image[z].astype(float)
        labels = np.unique(strokes[z][strokes[z] > 0])
        dense = np.searchsorted(labels, strokes[z]).astype(np.int32) + 1
        out[z] = labels[walk(x / x.std(), np.where(strokes[z] > 0, dense, 0), beta=2000, mode="cg_j", tol=1e-3) - 1]
    return out


def methods(walker):
    rows = {
        "segment": lambda image, strokes: lobule.segment(image, strokes, background=BACKGROUND, spacing=SPACING),
        "growcut": lambda image, strokes: lobule.growcut(image, strokes, spacing=SPACING),
        "growcut, slice by slice": lambda image, strokes: lobule.growcut(image, strokes, slices="z", spacing=SPACING),
    }
    if walker:
        rows["random walker, slice by slice"] = random_walker
    return rows


def score(made, truth):
    return [dice(made == label, truth == label) for label in STRUCTURES.values()]


def measure(job):
    """Dice of a volume's structures by row: all scribbles, and those of every third slice."""
    path, walker = job
    image, strokes, truth = volume(path.parent, path.name)
    got = {}
    for row, work in methods(walker).items():
        got[row] = score(work(image, strokes), truth)
        if "slice by" not in row:
            fewer = [score(work(image, kept), truth) for kept in thirds(strokes)]
            got[f"{row}, every third slice"] = np.mean(fewer, axis=0)
    return path.name, got


def show(found, which):
    """A table: mean Dice of the volumes that are in all of these groups."""
    rows = []
    for row, by_volume in found.items():
        for group, wanted in which.items():
            got = np.array([by_volume[name] for name in by_volume if wanted(name)])
            if len(got):
                rows.append([row, group, len(got), *(f"{x:.3f}" for x in got.mean(0)), f"{got.mean():.4f}",
                             f"{got.mean(1).min():.3f}"])
    table(["what", "volumes", "n", *STRUCTURES, "mean", "least volume"], rows)


def check(found):
    """The targets; returns how many are missed."""
    got = np.array(list(found["segment"].values())).mean(0)
    targets = [("mean", got.mean(), LEAST_MEAN)]
    targets += [(name, x, LEAST[name]) for name, x in zip(STRUCTURES, got) if name in LEAST]
    targets += [("every third slice", np.mean(list(found["segment, every third slice"].values())), LEAST_THIRDS)]
    missed = [f"{what} {x:.3f} is below {least:.3f}" for what, x, least in targets if x < least]
    print("\n".join(missed) if missed else "All targets are met.")
    return len(missed)


def main():
    given = options(__doc__, volumes="", walker=0, jobs=1)
    if shared() is None:
        print("human_strokes: skipped, LOBULE_SHARED names no folder with real scans")
        return 0
    folder = shared() / "data/acdc-human-scribbles"
    names = sorted(path.name[: -len("_image.nii.gz")] for path in folder.glob("*_image.nii.gz"))
    found = {}
    with ProcessPoolExecutor(given.jobs) as pool:
        for name, got in pool.map(measure, [(folder / name, given.walker) for name in names if given.volumes in name]):
            for row, value in got.items():
                found.setdefault(row, {})[name] = value
    print(f"Dice, commit {commit()}, on {machine()}\n")
    show(found, {"all": lambda _: True, "chosen on": lambda name: name.startswith(CHOSEN_ON),
                 "others": lambda name: not name.startswith(CHOSEN_ON)})
    return 1 if check(found) else 0


if __name__ == "__main__":
    sys.exit(main())
