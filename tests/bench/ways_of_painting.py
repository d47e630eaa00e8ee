#!/usr/bin/env python3
"""Whatever way people paint: Dice of `segment` beside plain growing, for a dozen ways of drawing strokes.

Sixteen structures of real scans (LOBULE_SHARED), strokes drawn from their truths by tools/strokes.py of that folder;
each draw is another hand. Settings of `segment` were chosen on the first eight structures and draws 0 to 4; the other
eight, and draws 20 to 24, show what that is worth. Beside it `growcut` on the whole volume, and in the box that 3D
Slicer cuts, with both rules (the distance rule there is ITK's FastGrowCut). Then scans averaged onto coarser grids, and
strokes drawn there by protocol; sets of strokes that might hide the background; organs drawn together and alone, and
on the same slices. Works on arrays, by the Python package
(LOBULE_LIBRARY). Ends with 1 when `segment` misses a target.

usage: ways_of_painting.py [--draws 0,1,2] [--cases SUBSTRING] [--group chosen|others|all] [--ways SUBSTRING,..]
                           [--jobs N] [--each 1] [--spacings 1] [--parts 1]
"""
import importlib.util
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from harness import ROOT, commit, dice, load, machine, options, shared, slicer_box, table

sys.path.insert(0, str(ROOT / "python"))
import lobule  # noqa: E402
from lobule import _abi  # noqa: E402
from lobule._library import library  # noqa: E402

TS, CHAOS, CORD, BRAIN = "totalsegmentator/example_", "chaos-mr/", "sct-spinal-cord/", "pyradiomics-brain-tumour/"

# Scan, truth, its label, slices by protocol, across this axis (x, y, z).
CHOSEN = {
    "ct3 liver": (TS + "ct_sm", TS + "seg", 5, 5, 2),
    "ct3 kidney": (TS + "ct_sm", TS + "seg", 2, 4, 2),
    "ct1 spleen": (TS + "ct_dicom", TS + "seg_dicom", 1, 4, 2),
    "mr spleen": (TS + "mr_sm", TS + "seg_mr", 1, 3, 2),
    "mr kidney": (TS + "mr_sm", TS + "seg_mr", 3, 3, 2),
    "cord t2": (CORD + "t2", CORD + "t2_seg-manual", 1, 5, 1),
    "tumour": (BRAIN + "brain1_image", BRAIN + "brain1_label", 1, 3, 2),
    "chaos kidney": (CHAOS + "image_5", CHAOS + "label_5", 2, 4, 2),
}
OTHERS = {
    "mr liver": (TS + "mr_sm", TS + "seg_mr", 5, 4, 2),
    "ct3 spleen": (TS + "ct_sm", TS + "seg", 1, 4, 2),
    "ct1 liver": (TS + "ct_dicom", TS + "seg_dicom", 5, 4, 2),
    "cord t1": (CORD + "t1w", CORD + "t1w_seg-manual", 1, 5, 2),
    "ct3 stomach": (TS + "ct_sm", TS + "seg", 6, 4, 2),
    "ct3 right kidney": (TS + "ct_sm", TS + "seg", 3, 4, 2),
    "chaos spleen": (CHAOS + "image_1", CHAOS + "label_1", 4, 4, 2),
    "chaos left kidney": (CHAOS + "image_38", CHAOS + "label_38", 3, 4, 2),
}
CASES = CHOSEN | OTHERS
# Organs that are drawn together: scan, truth, labels; at five slices.
TOGETHER = {
    "ct3": (TS + "ct_sm", TS + "seg", (1, 2, 3, 5, 6)),
    "mr": (TS + "mr_sm", TS + "seg_mr", (1, 2, 3, 5, 6)),
} | {f"chaos {n}": (f"{CHAOS}image_{n}", f"{CHAOS}label_{n}", (1, 2, 3, 4)) for n in (1, 5, 31, 38)}

GAPS = (20, 30, 40, 60)  # mm between slices on which several organs are drawn

# Least mean of `segment` over eight structures by way.
LEAST = {"one slice": 0.77, "two slices": 0.85, "three planes": 0.86, "dots": 0.87, "far background": 0.85,
         "2 % wrong": 0.87, "filled": 0.93}  # fmt: skip
LEAST_PLANES, MOST_LOSS = 0.65, 0.01

# Spacings in mm, the structures on scans that are finer, the least mean of `segment`, and how far its volume may be off.
COARSE = ("ct3 liver", "ct3 spleen", "ct3 kidney", "ct1 spleen", "ct1 liver", "mr liver", "mr kidney", "chaos kidney")
FINE = ("ct1 spleen", "ct1 liver", "cord t1", "cord t2")
SPACINGS = {
    "3 mm": ((3, 3, 3), COARSE, 0, 0.08),
    "4 mm": ((4, 4, 4), COARSE, 0, 0.08),
    "5 mm": ((5, 5, 5), COARSE, 0, 0.08),
    "6 mm": ((6, 6, 6), COARSE, 0.89, 1),
    "8 mm": ((8, 8, 8), COARSE, 0.84, 1),
    "1 x 1 x 6 mm": ((1, 1, 6), FINE, 0.935, 1),
}


@cache
def tool():
    """tools/strokes.py of the shared folder."""
    spec = importlib.util.spec_from_file_location("strokes", shared() / "tools/strokes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(name):
    for end in (".nii.gz", ".nii"):
        if (shared() / "data" / (name + end)).is_file():
            return shared() / "data" / (name + end)
    sys.exit(f"ways_of_painting: {name}.nii.gz is missing")


@cache
def scan(image, truth):
    """Voxels, labels and spacing; one of the truths lies flipped."""
    voxels, header = load(stored(image))
    labels = np.squeeze(load(stored(truth))[0])
    spacing = np.abs(header.header.get_zooms()[:3]).astype(float)
    return np.squeeze(voxels), labels[:, ::-1] if truth.endswith("_dicom") else labels, spacing


class Case:
    """A scan, the truth as a mask, and how it is drawn by protocol. Arrays are x, y, z."""

    def __init__(self, name):
        image, truth, label, self.slices, self.axis = CASES[name]
        self.voxels, labels, self.spacing = scan(image, truth)
        self.truth, self.label = np.ascontiguousarray(labels == label), label

    def draw(self, number, slices=None, axis=None):
        return tool().make(np.where(self.truth, self.label, 0), self.label, self.spacing, number,
                           slices or self.slices, self.axis if axis is None else axis)


def averaged(voxels, spacing, wanted):
    """Means over the voxels of a coarser grid of the same extent; axes that are coarse enough stay."""
    out = voxels.astype(float)
    for axis, (mm, coarse) in enumerate(zip(spacing, wanted)):
        n = out.shape[axis]
        count = max(1, round(n * mm / coarse)) if mm < coarse else n
        sums = np.cumsum(np.moveaxis(out, axis, 0), axis=0)
        sums = np.concatenate([np.zeros_like(sums[:1]), sums])
        edge = np.linspace(0, n, count + 1)
        at = np.minimum(edge.astype(int), n - 1)
        part = (edge - at).reshape(-1, *[1] * (out.ndim - 1))
        sums = sums[at] * (1 - part) + sums[at + 1] * part
        out = np.moveaxis(np.diff(sums, axis=0) / (n / count), 0, axis)
    return out


class CoarseCase(Case):
    """A case on a coarser grid."""

    def __init__(self, name, wanted):
        super().__init__(name)
        truth = averaged(self.truth, self.spacing, wanted)
        self.voxels = np.rint(averaged(self.voxels, self.spacing, wanted)).astype(np.int16)
        self.spacing = self.spacing * self.truth.shape / truth.shape
        self.truth = np.ascontiguousarray(truth > 0.5)


# ---- ways of painting ----


def planes(mask, axis):
    """Slices of a mask across an axis, as views."""
    return np.moveaxis(mask, axis, 2)


def slices_of(count):
    return lambda case, number: case.draw(number, count)


def three_planes(case, number):
    seeds = np.zeros(case.truth.shape, np.uint8)
    for axis in range(3):
        more = case.draw(number, 1, axis)
        seeds = np.where(seeds > 0, seeds, more)
    return seeds


def dots(case, number):
    """Of every line by protocol only dots: some voxels wide, about 12 mm apart."""
    seeds, rng = case.draw(number), np.random.default_rng([number, 7])
    kept = np.zeros_like(seeds)
    for label in (1, 2):
        points = np.argwhere(seeds == label)
        left = rng.permutation(points)
        while len(left):
            dot = left[0]
            near = (np.abs(points - dot) <= 1).all(1)
            kept[tuple(points[near].T)] = label
            left = left[(((left - dot) * case.spacing) ** 2).sum(1) > 12**2]
    return kept


def filled(case, number, slices=3):
    """The structure painted out on three slices."""
    seeds = case.draw(number, slices)
    drawn = planes(seeds, case.axis).any((0, 1))
    planes(seeds, case.axis)[:, :, drawn] = np.where(planes(case.truth, case.axis)[:, :, drawn], 1,
                                                     planes(seeds, case.axis)[:, :, drawn])
    return seeds


def far_background(case, number):
    """Arcs 20 to 30 mm away, in place of those by protocol."""
    from scipy import ndimage

    seeds, rng = case.draw(number), np.random.default_rng([number, 8])
    seeds[seeds == 2] = 0
    stack, truth = planes(seeds, case.axis), planes(case.truth, case.axis)
    mm = [case.spacing[a] for a in range(3) if a != case.axis]
    for z in np.flatnonzero(stack.any((0, 1))):
        away = ndimage.distance_transform_edt(~truth[:, :, z], sampling=mm)
        d = rng.uniform(20, 30)
        x, y = np.nonzero((away > d - max(mm)) & (away <= d))
        center = ndimage.center_of_mass(truth[:, :, z])
        angle = np.arctan2(y - center[1], x - center[0])
        drawn = np.ones(len(x), bool)
        for gap in rng.uniform(0, 2 * np.pi, 4):
            drawn &= np.abs(np.angle(np.exp(1j * (angle - gap)))) > 0.3
        stack[x[drawn], y[drawn], z] = 2
    return seeds


def along_borders(case, number):
    """Beside lines along the middle by protocol, lines 2 mm within the border and 2 to 4 mm outside of it."""
    from scipy import ndimage

    seeds, rng = case.draw(number), np.random.default_rng([number, 11])
    seeds[seeds == 2] = 0
    stack, truth = planes(seeds, case.axis), planes(case.truth, case.axis)
    mm = [case.spacing[a] for a in range(3) if a != case.axis]
    wide = 1.001 * max(mm)
    for z in np.flatnonzero(stack.any((0, 1))):
        away = ndimage.distance_transform_edt(~truth[:, :, z], sampling=mm)
        deep = ndimage.distance_transform_edt(truth[:, :, z], sampling=mm)
        d = max(rng.uniform(2, 4), wide)
        stack[:, :, z][(away > d - max(mm)) & (away <= d)] = 2
        stack[:, :, z][(deep > 2) & (deep <= 2 + wide)] = 1
    return seeds


def wrong(share):
    """Some voxels of the strokes on the wrong side."""

    def way(case, number):
        seeds, rng = case.draw(number), np.random.default_rng([number, 9])
        at = np.argwhere(seeds > 0)
        at = at[rng.choice(len(at), int(share * len(at)), replace=False)]
        seeds[tuple(at.T)] = 3 - seeds[tuple(at.T)]
        return seeds

    return way


WAYS = {
    "protocol": slices_of(None),
    "one slice": slices_of(1),
    "two slices": slices_of(2),
    "three slices": slices_of(3),
    "ten slices": slices_of(10),
    "three planes": three_planes,
    "dots": dots,
    "filled": filled,
    "far background": far_background,
    "along borders": along_borders,
    "2 % wrong": wrong(0.02),
    "5 % wrong": wrong(0.05),
}


# ---- methods ----


def grow(case, seeds, cut=np.s_[:, :, :], **more):
    made = np.zeros(seeds.shape, bool)
    image, marks = (np.ascontiguousarray(a[cut].T) for a in (case.voxels, seeds))
    made[cut] = lobule.growcut(image, marks, spacing=case.spacing[::-1], **more).T == 1
    return made


def segment(case, seeds, **more):
    image, marks = (np.ascontiguousarray(a.T) for a in (case.voxels, seeds))
    return lobule.segment(image, marks, spacing=case.spacing[::-1], **more).T == 1


METHODS = {
    "segment": segment,
    "growcut": grow,
    "growcut in the box": lambda case, seeds: grow(case, seeds, slicer_box(seeds, case.spacing)),
    "ITK's rule in the box": lambda case, seeds: grow(case, seeds, slicer_box(seeds, case.spacing), rule="distance"),
}


# ---- the background ----


def at_ends(case, seeds):
    """The structure alone on its first and last slice too."""
    stack, truth = planes(seeds, case.axis), planes(case.truth, case.axis)
    held = np.flatnonzero(truth.any((0, 1)))
    for z in (held[0], held[-1]):
        stack[:, :, z] = np.where(truth[:, :, z], 1, 0)
    return seeds


def to_border(case, seeds):
    """On each slice with strokes the structure is painted out to its border."""
    stack, truth = planes(seeds, case.axis), planes(case.truth, case.axis)
    for z in np.flatnonzero(stack.any((0, 1))):
        stack[:, :, z] = np.where(truth[:, :, z], 1, stack[:, :, z])
    return seeds


ENDS = {
    "as drawn": lambda case, seeds: seeds,
    "at both ends": at_ends,
    "out to the border": to_border,
    "both": lambda case, seeds: to_border(case, at_ends(case, seeds)),
}


def background_of(case, seeds):
    """The label that `segment` takes for the background."""
    from lobule._grow import begin
    from lobule._segment import _whole_numbers

    call, of = begin(np.ascontiguousarray(case.voxels.T), {"spacing": case.spacing[::-1]})
    seen, (drawn, _kept) = of.described(), _whole_numbers(of, np.ascontiguousarray(seeds.T), "strokes")
    plan, chosen = _abi.lob_segment_plan(), library.lob_segment_defaults()
    byref = __import__("ctypes").byref
    call.run(library.lob_segment_choose, byref(plan), byref(seen), byref(drawn), byref(chosen))
    return plan.background


def flips(names, draws):
    rows = []
    for what, change in ENDS.items():
        sets = [(name, number) for name in names for number in draws]
        wrong_ones = [f"{name} {number}" for name, number in sets
                      if background_of(Case(name), change(Case(name), Case(name).draw(number))) != 2]
        rows.append([what, len(sets), len(wrong_ones), ", ".join(wrong_ones)])
    print("Stroke sets in which a structure became the background.\n")
    table(["the structure is drawn", "sets", "flipped", "which"], rows)
    return sum(row[2] for row in rows)


# ---- several labels ----


def joined(parts, labels, organs):
    """Strokes of (code, strokes of one organ) as one: organs first, then the background, where no organ is."""
    seeds = np.zeros(labels.shape, np.uint8)
    for code, one in parts:
        seeds[(one == 1) & (seeds == 0)] = code
    for _, one in parts:
        seeds[(one == 2) & (seeds == 0) & ~np.isin(labels, organs)] = len(organs) + 1
    return seeds


def together(name, number):
    """Dice of each organ: with all of them drawn, each alone, and of `growcut` with all."""
    image, truth, organs = TOGETHER[name]
    voxels, labels, spacing = scan(image, truth)
    alone = [tool().make(labels, organ, spacing, number, 5, 2) for organ in organs]
    seeds = joined(list(enumerate(alone, 1)), labels, organs)
    image = np.ascontiguousarray(voxels.T)
    run = lambda marks: lobule.segment(image, np.ascontiguousarray(marks.T), spacing=spacing[::-1]).T  # noqa: E731
    made, grown = run(seeds), lobule.growcut(image, np.ascontiguousarray(seeds.T)).T
    return [[name, organ, *(dice(found, labels == organ) for found in (made == code, run(one) == 1, grown == code))]
            for code, (organ, one) in enumerate(zip(organs, alone), 1)]


def on_common_slices(job):
    """Slices of each organ, Dice of `segment` and of `growcut`: all organs drawn on slices so many mm apart."""
    name, number, gap = job
    image, truth, organs = TOGETHER[name]
    voxels, labels, spacing = scan(image, truth)
    step = max(1, round(gap / spacing[2]))
    parts = []
    for z in range(np.random.default_rng([number, 7]).integers(step), labels.shape[2], step):
        here = np.zeros_like(labels)
        here[:, :, z] = labels[:, :, z]
        parts += [(code, tool().make(here, organ, spacing, number, 1, 2))
                  for code, organ in enumerate(organs, 1) if (here == organ).sum() >= 12]  # fmt: skip
    seeds = joined(parts, labels, organs)
    if len(np.unique(seeds)) < 3:
        return job, []
    arrays = [np.ascontiguousarray(a.T) for a in (voxels, seeds)]
    made = lobule.segment(*arrays, spacing=spacing[::-1]).T
    grown = lobule.growcut(*arrays, spacing=spacing[::-1]).T
    return job, [((seeds == code).any((0, 1)).sum(), *(dice(found == code, labels == organ) for found in (made, grown)))
                 for code, organ in enumerate(organs, 1) if (seeds == code).any()]  # fmt: skip


def common_slices(pool, draws):
    rows = {}
    for (_, _, gap), got in pool.map(on_common_slices, [(n, d, gap) for n in TOGETHER for d in draws for gap in GAPS]):
        for slices, made, grown in got:
            for key in (f"{gap} mm apart", f"organs on {slices}" if slices < 4 else "organs on 4 and more"):
                rows.setdefault(key, []).append((made, grown))
    print("Several organs drawn on the same slices.\n")
    table(["slices", "organs", "segment", "growcut", "below it"],
          [[key, len(got), *(f"{x:.4f}" for x in np.mean(got, axis=0)), sum(a < b - MOST_LOSS for a, b in got)]
           for key, got in sorted(rows.items())])  # fmt: skip


def several(draws):
    rows = {}
    for name in TOGETHER:
        for number in draws:
            for where, organ, *found in together(name, number):
                rows.setdefault((where, organ), []).append(found)
    print("Several labels at once, each alone, and `growcut` from all.\n")
    table(["scan", "label", "together", "alone", "growcut"],
          [[*key, *(f"{x:.3f}" for x in np.mean(got, axis=0))] for key, got in rows.items()])


# ---- coarse voxels ----


def measure_coarse(job):
    what, name, number = job
    case = CoarseCase(name, SPACINGS[what][0])
    seeds = case.draw(number)
    made = segment(case, seeds)
    return job, (dice(made, case.truth), made.sum() / case.truth.sum(), dice(grow(case, seeds), case.truth))


def spacings(pool, names, draws):
    """A table by spacing; returns how many targets are missed."""
    jobs = [(what, n, number) for what, (_, of, _, _) in SPACINGS.items() for n in of if n in names for number in draws]
    found, missed = {}, []
    for (what, _, _), got in pool.map(measure_coarse, jobs):
        found.setdefault(what, []).append(got)
    print("Scans averaged onto coarser grids, strokes drawn there by protocol; volume is that of the result over the truth's.\n")
    rows = []
    for what, got in found.items():
        own, volume, grown = np.mean(got, axis=0)
        rows.append([what, len(got), f"{own:.3f}", f"{volume:.2f}", f"{grown:.3f}"])
        _, _, least, off = SPACINGS[what]
        if own < least or abs(volume - 1) > off:
            missed.append(f"{what}: {own:.3f}, volume {volume:.2f}; wanted {least}, within {off:.2f}")
    table(["spacing", "cases", "segment", "volume", "growcut"], rows)
    print("\n".join(missed))
    return len(missed)


# ---- the table ----


def measure(job):
    way, name, number, rows = job
    case = Case(name)
    seeds = WAYS[way](case, number)
    return job, {row: dice(METHODS[row](case, seeds), case.truth) for row in rows}


def show(score, ways, names, rows, each):
    for way in ways:
        mean = {row: {n: np.mean(score[way, n][row]) for n in names} for row in rows}
        print(f"{way}\n")
        table(["what", *names, "mean", "least"],
              [[row, *(f"{mean[row][n]:.3f}"[1:] for n in names), f"{np.mean(list(mean[row].values())):.4f}",
                f"{min(min(score[way, n][row]) for n in names):.3f}"] for row in rows]) if each else None
    table(["way", *rows, "least of segment"],
          [[way, *(f"{np.mean([np.mean(score[way, n][row]) for n in names]):.3f}" for row in rows),
            f"{min(min(score[way, n]['segment']) for n in names):.3f}"] for way in ways])


def check(score, ways, names):
    """The targets; returns how many are missed."""
    missed = []
    for way in ways:
        mean = np.mean([np.mean(score[way, n]["segment"]) for n in names])
        if mean < LEAST.get(way, 0):
            missed.append(f"{way}: {mean:.3f} is below {LEAST[way]}")
        for n in names:
            own = np.mean(score[way, n]["segment"])
            peer = max(np.mean(got) for row, got in score[way, n].items() if row != "segment")
            if own < peer - MOST_LOSS:
                missed.append(f"{way}, {n}: {own:.3f}, growing {peer:.3f}")
    if "three planes" in ways:
        least = min(np.mean(score["three planes", n]["segment"]) for n in names)
        missed += [f"three planes: least case {least:.3f}"] if least < LEAST_PLANES else []
    print("\n".join(missed) if missed else "All targets are met.")
    return len(missed)


def main():
    given = options(__doc__, draws="0,1,2", cases="", group="all", ways="", jobs=1, each=0, spacings=1, parts=1)
    if shared() is None:
        print("ways_of_painting: skipped, LOBULE_SHARED names no folder with real scans")
        return 0
    draws = [int(x) for x in given.draws.split(",")]
    names = [n for n in {"chosen": CHOSEN, "others": OTHERS, "all": CASES}[given.group] if given.cases in n]
    ways = [way for way in WAYS if any(part in way for part in given.ways.split(","))]
    jobs = [(way, n, number, tuple(METHODS)) for n in names for way in ways for number in draws]
    print(f"Dice, mean over draws {given.draws}, {len(names)} structures, commit {commit()}, on {machine()}\n")
    score = {}
    with ProcessPoolExecutor(given.jobs) as pool:
        for (way, name, _, _), got in pool.map(measure, jobs):
            for row, value in got.items():
                score.setdefault((way, name), {}).setdefault(row, []).append(value)
        missed = spacings(pool, names, draws) if given.spacings else 0
        if given.parts:
            common_slices(pool, draws)
    show(score, ways, names, METHODS, given.each)
    missed += check(score, ways, names)
    if given.parts:
        missed += flips(names, draws)
        several(draws)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
