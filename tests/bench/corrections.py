#!/usr/bin/env python3
"""Corrections, round by round: Dice of a Segmenter's labels after each further stroke, and of `segment` with `previous`.

Twelve of the structures of ways_of_painting.py, first drawn by protocol. In each round a stroke is drawn where the
labels are wrong: along the middle of the largest piece of wrong voxels, in the slice that holds most of it. Beside it
strokes by protocol on the slice that a Segmenter's doubt names first. The ceiling is what every fifth slice, labelled
fully, gives. Settings were chosen on CHOSEN's; the others show what that is worth. Works on arrays, by the Python
package (LOBULE_LIBRARY). Ends with 1 when a target is missed.

usage: corrections.py [--draws 0,1] [--cases SUBSTRING] [--rounds 5] [--jobs N] [--each 1]
"""
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import ways_of_painting as ways
from harness import commit, dice, machine, options, shared, table
from ways_of_painting import CHOSEN, OTHERS, Case, lobule, planes, tool

CASES = [*CHOSEN, *list(OTHERS)[:4]]
MOST_LOSS, GOOD, LEAST_GOOD, LEAST_SUGGESTED = 0.01, 0.95, 0.5, 0.9


def middle(case, part, number):
    """A line along the middle of a piece of a slice; of a small one its deepest voxel."""
    from scipy import ndimage

    line = tool().make(part.astype(np.uint8), 1, case.spacing, number, 1, case.axis) == 1
    if not (line & part).any():
        line = np.zeros_like(part)
        deep = ndimage.distance_transform_edt(part)
        line[np.unravel_index(deep.argmax(), deep.shape)] = True
    return line & part


def at_largest_error(case, seeds, made, number):
    """The strokes with one more: on the largest piece of wrong voxels, in the slice with most of it."""
    from scipy import ndimage

    seeds, wrong = seeds.copy(), made ^ case.truth
    if not wrong.any():
        return seeds
    pieces, count = ndimage.label(wrong)
    largest = pieces == 1 + np.argmax(ndimage.sum_labels(wrong, pieces, range(1, count + 1)))
    slice_ = planes(largest, case.axis).sum((0, 1)).argmax()
    part = np.zeros_like(largest)
    planes(part, case.axis)[:, :, slice_] = planes(largest, case.axis)[:, :, slice_]
    pieces, count = ndimage.label(part)
    part = pieces == 1 + np.argmax(ndimage.sum_labels(part, pieces, range(1, count + 1)))
    seeds[middle(case, part, number)] = 1 if case.truth[part].all() else 2
    return seeds


def on_slice(case, seeds, made, number, slice_):
    """The strokes with those by protocol on a slice; where the structure is not, background over the labels."""
    here = np.zeros_like(case.truth)
    empty = not planes(case.truth, case.axis)[:, :, slice_].any()
    planes(here, case.axis)[:, :, slice_] = planes(made if empty else case.truth, case.axis)[:, :, slice_]
    if not here.any():
        return seeds
    more = tool().make(here.astype(np.uint8), 1, case.spacing, number, 1, case.axis)
    more = np.where(more == 1, 2, 0) if empty else more
    return np.where(seeds > 0, seeds, more).astype(np.uint8)


def live(case, seeds, rounds, suggest):
    """Dice after each round of a Segmenter's labels."""
    got = []
    with lobule.Segmenter(case.voxels, 2, suggest=suggest, spacing=case.spacing, axes="xyz", threads=1) as segmenter:
        for number in range(rounds + 1):
            segmenter.draw(slice(None), seeds)
            made = segmenter.labels == 1
            got.append(dice(made, case.truth))
            if not suggest:
                seeds = at_largest_error(case, seeds, made, 50 + number)
                continue
            found = [row["slice"] for row in segmenter.doubt().suggested if row["axis"] == case.axis]
            if found:
                seeds = on_slice(case, seeds, made, 50 + number, found[0])
    return got


def with_previous(case, seeds, rounds):
    """Dice after each round of `segment` with the labels before as `previous`."""
    image, got, before = np.ascontiguousarray(case.voxels.T), [], None
    for number in range(rounds + 1):
        before = lobule.segment(image, np.ascontiguousarray(seeds.T), previous=before, spacing=case.spacing[::-1], threads=1)
        got.append(dice(before.T == 1, case.truth))
        seeds = at_largest_error(case, seeds, before.T == 1, 50 + number)
    return got


def ceiling(case):
    """Dice from every fifth slice and the last, labelled fully."""
    held = np.flatnonzero(planes(case.truth, case.axis).any((0, 1)))
    seeds = np.zeros(case.truth.shape, np.uint8)
    for slice_ in {*held[::5], held[-1]}:
        planes(seeds, case.axis)[:, :, slice_] = planes(case.truth, case.axis)[:, :, slice_]
    return dice(ways.segment(case, seeds, slices_full=True, threads=1), case.truth)


ROWS = {
    "Segmenter, largest error": lambda case, seeds, rounds: live(case, seeds, rounds, 0),
    "Segmenter, suggested slice": lambda case, seeds, rounds: live(case, seeds, rounds, 1),
    "`previous`, largest error": with_previous,
}


def measure(job):
    name, number, rounds = job
    case = Case(name)
    return name, {row: work(case, case.draw(number), rounds) for row, work in ROWS.items()}, ceiling(case)


# ---- the tables ----


def show(found):
    """Dice after each round, mean over all; lost is the most that a round takes, below how often it is too much."""
    for group, wanted in (("chosen on", lambda name: name in CHOSEN), ("others", lambda name: name not in CHOSEN)):
        rows = []
        for row in ROWS:
            got = np.array([each[row] for name, each, _ in found if wanted(name)])
            if len(got):
                lost = got[:, :-1] - got[:, 1:]
                rows.append([row, len(got), *(f"{x:.3f}" for x in got.mean(0)), f"{lost.max():.3f}", (lost > MOST_LOSS).sum()])
        rounds = len(found[0][1]["Segmenter, largest error"])
        table([group, "n", "first", *map(str, range(1, rounds)), "lost", f"rounds lose {MOST_LOSS}"], rows) if rows else None


def check(found):
    """The targets; returns how many are missed."""
    got = np.array([each["Segmenter, largest error"] for _, each, _ in found])
    asked = np.array([each["Segmenter, suggested slice"] for _, each, _ in found])
    losing = int((got[:, :-1] - got[:, 1:] > MOST_LOSS).sum())
    good = np.mean([own[-1] >= min(GOOD, most) for own, (_, _, most) in zip(got, found)])
    gains = [(of[:, -1] - of[:, 0]).mean() for of in (asked, got)]
    print(f"{losing} rounds lose more than {MOST_LOSS}; {good:.2f} come to {GOOD} or their ceiling; suggested slices bring "
          f"{gains[0]:.4f}, the largest error {gains[1]:.4f}")  # fmt: skip
    return (losing > 0) + (good < LEAST_GOOD) + (gains[0] < LEAST_SUGGESTED * gains[1])


def main():
    given = options(__doc__, draws="0,1", cases="", rounds=5, jobs=1, each=0)
    if shared() is None:
        print("corrections: skipped, LOBULE_SHARED names no folder with real scans")
        return 0
    jobs = [(name, int(number), given.rounds) for name in CASES if given.cases in name for number in given.draws.split(",")]
    print(f"Dice, draws {given.draws}, commit {commit()}, on {machine()}\n")
    with ProcessPoolExecutor(given.jobs) as pool:
        found = list(pool.map(measure, jobs))
    if given.each:
        table(["case", "ceiling", *ROWS], [[name, f"{most:.3f}", *(" ".join(f"{x:.3f}" for x in each[row]) for row in ROWS)]
                                           for name, each, most in found])  # fmt: skip
    show(found)
    return 1 if check(found) else 0


if __name__ == "__main__":
    sys.exit(main())
