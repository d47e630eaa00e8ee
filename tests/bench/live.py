#!/usr/bin/env python3
"""GrowCut that follows a brush: seconds from a stroke to its labels, going on and afresh, by turns.

usage: live.py [--size X,Y,Z] [--threads N] [--repeat N]

Strokes of an abdominal phantom come one slice of one label at a time; then as many changes more:
erased pieces, their undoing, and corrections with another label, at places that do not depend on
the result. Repeated histories are added to each other.
"""
import time

import numpy as np
from harness import heading, options, table

import lobule

RULES = ("strength", "distance")


def changes(strokes):
    """(where, the voxels there) in the order of a history."""
    seeds, told = np.zeros_like(strokes), []
    for z in np.flatnonzero(strokes.any(axis=(1, 2))):
        for label in np.unique(strokes[z][strokes[z] > 0]):
            seeds[z][strokes[z] == label] = label
            told.append(((slice(z, z + 1),), seeds[z : z + 1].copy()))
    rng = np.random.default_rng(1)
    for _ in range(len(told) // 3):
        z = rng.choice(np.flatnonzero(strokes.any(axis=(1, 2))))
        y, x = (rng.integers(side - 12) for side in strokes.shape[1:])
        where = (slice(z, z + 1), slice(y, y + 12), slice(x, x + 12))
        before = seeds[where].copy()
        for piece in (np.zeros_like(before), before, np.full_like(before, rng.choice(np.unique(strokes)[1:]))):
            told.append((where, piece))
        seeds[where] = told[-1][1]
    return told


def main():
    arguments = options(__doc__, size="256,256,128", threads=2, repeat=1)
    shape = tuple(int(side) for side in arguments.size.split(","))[::-1]
    scan, _, strokes = lobule.phantom("abdomen", shape=shape, spacing=(1.5, 1.5, 1.5))
    heading()
    rows = []
    for rule in RULES:
        on, afresh, working = [], [], 0
        about = {"rule": rule, "threads": arguments.threads, "device": "cpu"}
        for _ in range(arguments.repeat):
            with lobule.Grower(scan, int(strokes.max()), **about) as grower:
                for number, (where, piece) in enumerate(changes(strokes)):
                    grower.seeds[where] = piece
                    start = time.perf_counter()
                    labels = grower.grow(where)
                    on.append(time.perf_counter() - start)
                    working = max(working, grower.report["working_bytes"])
                    if number % 8:  # a fresh growth takes long
                        continue
                    start = time.perf_counter()
                    fresh = lobule.growcut(scan, grower.seeds.copy(), **about)
                    afresh.append(time.perf_counter() - start)
                    assert np.array_equal(labels, fresh), "another result than afresh"
        rows.append([rule, arguments.size, len(on), *(f"{np.percentile(on, p):.3f}" for p in (50, 95, 100)),
                     *(f"{np.percentile(afresh, p):.3f}" for p in (50, 95)), f"{working / scan.size:.1f}"])  # fmt: skip
    table(["rule", "size", "changes", "going on: median", "95 %", "most", "afresh: median", "95 %",
           "working bytes a voxel"], rows)  # fmt: skip


if __name__ == "__main__":
    main()
