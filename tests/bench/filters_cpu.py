#!/usr/bin/env python3
"""Filters, distances and morphology on the CPU beside scipy.ndimage and edt, arrays in memory.

usage: filters_cpu.py [--library FILE] [--side N] [--threads N] [--repeat N] [--only WORD]

The library is called through ctypes, so that files do not count. Each row runs Lobule and its peer by
turns; its times are medians, of the wall and of the processor (all threads together). The ratio is the
median of the turns' ratios: a machine with other work on it changes little from one call to the next.
Edges of filters are reflected; distances have the peer's edges (none); balls are of 5 mm. scipy and its
structuring element run in one thread, edt in as many as Lobule.
"""
import ctypes
import os
import sys
import time
from ctypes import byref
from pathlib import Path

import numpy as np
from harness import ROOT, commit, machine, median, options, table
from scipy import ndimage


class Lobule:
    """The library's calls on numpy arrays whose last axis is x, by the structures of the Python package."""

    def __init__(self, path, threads):
        os.environ["LOBULE_LIBRARY"] = str(path)
        sys.path.insert(0, str(ROOT / "python"))
        from lobule import _abi, _library, _volumes

        self.abi, self.library, self.check, self.types = _abi, _library.library, _library.check, _volumes.TYPES
        self.context = _abi.lob_context(threads=threads)
        self.error = _abi.lob_error()

    def _call(self, function, *arguments):
        self.check(function(*arguments, byref(self.context), byref(self.error)), self.error)

    def _labels(self, kind, labels, spacing):
        return kind(labels.ctypes.data, self.types[labels.dtype], self.abi.lob_dims(*labels.shape[::-1]),
                    (ctypes.c_double * 3)(*spacing[::-1]))

    def filter(self, image, kind, along):
        """A filter's result, which filtered() turns into an array."""
        volume = self.library.lob_volume_empty()
        volume.data, volume.type = image.ctypes.data, self.types[image.dtype]
        volume.dims = self.abi.lob_dims(*image.shape[::-1])
        step = self.abi.lob_filter_step(getattr(self.abi, f"LOB_FILTER_{kind}"), (ctypes.c_double * 3)(*[along] * 3))
        given = self.abi.lob_filter_input(ctypes.pointer(volume), None, ctypes.pointer(step), 1)
        found, chosen = self.abi.lob_filter_output(), self.abi.lob_filter_options(self.abi.LOB_EDGE_REFLECT)
        self._call(self.library.lob_filter_cpu, byref(found), byref(given), byref(chosen))
        return found

    def filtered(self, found, like):
        """A copy of a filter's result, or nothing where like is None; its memory is freed."""
        array = None
        if like is not None:
            array = np.frombuffer((ctypes.c_char * like.nbytes).from_address(found.data), like.dtype)
            array = array.reshape(like.shape).copy()
        self.library.lob_filter_output_free(byref(found))
        return array

    def distance(self, out, labels, spacing):
        """Distances to labels, in the unit of spacing, of z, y, x."""
        given, chosen = self._labels(self.abi.lob_distance_input, labels, spacing), self.library.lob_distance_defaults()
        found = self.abi.lob_distance_output(out.ctypes.data)
        self._call(self.library.lob_distance_cpu, byref(found), byref(given), byref(chosen))
        return out

    def morphology(self, out, labels, how, radius, spacing):
        given = self._labels(self.abi.lob_morphology_input, labels, spacing)
        self._call(self.library.lob_morphology_cpu, out.ctypes.data, byref(given), getattr(self.abi, f"LOB_MORPHOLOGY_{how}"),
                   radius)
        return out


def ball(radius, spacing):
    """The voxels of a ball, as scipy takes them."""
    reach = [int(radius / side + 1e-6) for side in spacing]
    axes = np.ogrid[tuple(slice(-r, r + 1) for r in reach)]
    return sum((axis * side) ** 2 for axis, side in zip(axes, spacing)) <= radius**2 * (1 + 1e-6)


def sets(side):
    """Sets of labelled voxels (uint8): name, array."""
    random = np.random.default_rng(17)
    smooth = ndimage.gaussian_filter(random.standard_normal((side,) * 3).astype(np.float32), 4, mode="wrap")
    axes = np.ogrid[tuple(slice(0, side) for _ in range(3))]
    away = sum((axis - (side - 1) / 2) ** 2 for axis in axes) / (side / 2) ** 2
    yield "blobs, half of all", smooth > 0
    yield "blobs, few", smooth > 2 * smooth.std()
    yield "points", random.random((side,) * 3) < 1e-5
    yield "noise, a twentieth", random.random((side,) * 3) < 0.05
    yield "hollow ball", (away < 0.9) & (away > 0.85)
    yield "full ball", away < 0.6


def clocks():
    return time.perf_counter(), time.process_time()


def by_turns(mine, peer, repeat):
    """Medians: wall and processor seconds of both, and both ratios; after one turn that does not count."""
    turns = []
    for turn in range(repeat + 1):
        marks = [clocks()]
        for call in (mine, peer):
            call()
            marks.append(clocks())
        if turn:
            turns.append([b - a for before, after in zip(marks, marks[1:]) for a, b in zip(before, after)])
    wall, cpu, peer_wall, peer_cpu = (median(column) for column in zip(*turns))
    ratios = [median(turn[2 + k] / turn[k] for turn in turns) for k in range(2)]
    return [wall, cpu, peer_wall, peer_cpu, *ratios]


def filter_cases(lobule, image):
    """Filters: name, peer, Lobule's call, the peer's call, the largest difference allowed."""
    spread = float(np.ptp(image))
    rows = [
        ("Gaussian, sigma 2", "GAUSSIAN", 2, lambda a: ndimage.gaussian_filter(a, 2), 1e-5),
        ("box, radius 1", "BOX", 1, lambda a: ndimage.uniform_filter(a, 3), 1e-4),
        ("box, radius 3", "BOX", 3, lambda a: ndimage.uniform_filter(a, 7), 1e-4),
        ("box, radius 10", "BOX", 10, lambda a: ndimage.uniform_filter(a, 21), 1e-4),
        ("median 3x3x3", "MEDIAN", 1, lambda a: ndimage.median_filter(a, 3), 0),
    ]
    rows = [(*row, image) for row in rows]
    for name, small in (("float32", image), ("int16", image.astype(np.int16)), ("uint8", image.clip(0, 255).astype(np.uint8))):
        rows.append((f"median 5x5x5, {name}", "MEDIAN", 2, lambda a: ndimage.median_filter(a, 5), 0, small))
    rows.append(("median 7x7x7", "MEDIAN", 3, lambda a: ndimage.median_filter(a, 7), 0, image))
    for name, kind, along, peer, error, given in rows:
        def mine(keep=False, kind=kind, along=along, given=given):
            return lobule.filtered(lobule.filter(given, kind, along), given if keep else None)

        yield name, "scipy", mine, lambda keep=False, peer=peer, given=given: peer(given), error * spread


def shape_cases(lobule, side, threads):
    """Distances and morphology: the same."""
    try:
        import edt
    except ImportError:
        edt = None
    for name, inside in sets(side):
        labels, out = inside.astype(np.uint8), np.empty((side,) * 3, np.float32)
        outside = (labels == 0).astype(np.uint8)
        for spacing in ((1, 1, 1), (5, 0.7, 0.7)) if edt else ():
            def distance(keep=False, labels=labels, out=out, spacing=spacing):
                return lobule.distance(out, labels, spacing)

            def peer(keep=False, outside=outside, spacing=spacing):
                return edt.edt(outside, anisotropy=spacing, black_border=False, parallel=threads)

            voxel = "" if spacing[0] == 1 else ", 5 x 0.7 x 0.7 mm"
            yield f"distance, {name}{voxel}", "edt", distance, peer, 1e-3
        if name == "hollow ball":
            continue
        changed = np.empty_like(labels)
        for word, how, call in (("dilation", "DILATE", ndimage.binary_dilation), ("erosion", "ERODE", ndimage.binary_erosion)):
            def mine(keep=False, labels=labels, changed=changed, how=how):
                return lobule.morphology(changed, labels, how, 5, (1, 1, 1))

            def scipys(keep=False, labels=labels, how=how, call=call):
                return call(labels, ball(5, (1, 1, 1)), border_value=how == "ERODE")

            yield f"{word}, {name}", "scipy", mine, scipys, 0


def main():
    chosen = options(__doc__, library=str(ROOT / "build" / "default" / "liblobule.so"), side=192, threads=2,
                     repeat=9, only="")
    if not Path(chosen.library).is_file():
        sys.exit(f"{chosen.library}: no such library; --library names it")
    lobule = Lobule(chosen.library, chosen.threads)
    image = np.random.default_rng(1).normal(100, 30, (chosen.side,) * 3).astype(np.float32)
    cases = [case for part in (filter_cases(lobule, image), shape_cases(lobule, chosen.side, chosen.threads))
             for case in part if chosen.only in case[0]]
    voxels, rows = image.size, []
    for name, peer_name, mine, peer, error in cases:
        found, wanted = (np.asarray(call(True), np.float64) for call in (mine, peer))
        both = np.isfinite(wanted) & np.isfinite(found)
        apart = float(np.abs(found - wanted)[both].max(initial=0))
        if apart > error or not np.array_equal(np.isfinite(found), np.isfinite(wanted)):
            sys.exit(f"{name}: {apart:g} from {peer_name}'s result")
        measured = by_turns(mine, peer, chosen.repeat)
        rows.append([name, peer_name, *(f"{1e9 * seconds / voxels:.1f}" for seconds in measured[:4]),
                     *(f"{ratio:.2f}" for ratio in measured[4:])])
    print(f"Commit {commit()}, {machine()}, {chosen.threads} threads, {chosen.side}^3 voxels, "
          f"medians of {chosen.repeat} turns; ns a voxel\n")
    table(["what", "beside", "wall", "processor", "peer's wall", "its processor", "wall, times",
           "processor, times"], rows)


if __name__ == "__main__":
    main()
