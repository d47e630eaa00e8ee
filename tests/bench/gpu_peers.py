#!/usr/bin/env python3
"""cuCIM's label and distances (PBA+), CV-CUDA's label and cuWS's watershed beside ours: the same arrays on one GPU.

    gpu_peers.py [--size N] [--times N]

Arrays are CuPy's, N^3 voxels, in and out. Each row takes turns after two that are not counted: CUDA events
around the whole call, medians. Counts of components, distances and labels of basins are compared too.
CV-CUDA labels as it does by default, where a component's label is the place of a voxel of it, without counting;
ours numbers them from 1. cuWS finds the minima itself; ours floods from those that it found, one voxel each.
A peer that is not there is left out.
"""

import argparse
import statistics
import sys
from pathlib import Path

WARM_UP = 2


def timed(cupy, work):
    """Milliseconds of a call, and what it gives."""
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    found = work()
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(begin, end), found


def by_turns(cupy, ours, theirs, times):
    """Medians of both in milliseconds, and what they give."""
    taken = [], []
    for run in range(WARM_UP + times):
        results = []
        for column, work in zip(taken, (ours, theirs), strict=True):
            took, found = timed(cupy, work)
            results.append(found)
            if run >= WARM_UP:
                column.append(took)
    return *(statistics.median(column) for column in taken), *results


def cucim_rows(cupy, lobule, row, masks):
    """Components and distances."""
    from cucim.core.operations.morphology import distance_transform_edt
    from cucim.skimage.measure import label

    for name in ("blobs", "noise .3116"):
        mask = masks[name]
        for neighbours, connectivity in ((6, 1), (26, 3)):
            row(f"cuCIM label, {name}, {neighbours}", lambda m=mask, n=neighbours: lobule.components(m, neighbours=n),
                lambda m=mask, c=connectivity: label(m, connectivity=c),
                lambda mine, other: f"{int(mine.max())} and {int(other.max())} components")  # fmt: skip
    for name in ("blobs", "points"):
        mask = masks[name]
        row(f"cuCIM distance, {name}", lambda m=mask: lobule.distance(m), lambda m=mask: distance_transform_edt(m == 0),
            lambda mine, other: f"at most {float(abs(mine - other).max()):.2g} apart")  # fmt: skip


def cvcuda_rows(cupy, lobule, row, masks):
    """Components."""
    import cvcuda

    blank = cvcuda.as_tensor(cupy.zeros(1, cupy.uint8), "N")
    stream = cvcuda.as_stream(cupy.cuda.get_current_stream())
    six = cvcuda.ConnectivityType.CONNECTIVITY_6_3D  # it refuses 26
    for name in ("blobs", "noise .3116"):
        mask = masks[name]
        volume = cvcuda.as_tensor(mask[..., None], "DHWC")

        def theirs(volume=volume, count=False):
            return cvcuda.label(volume, six, bg_label=blank, count=count, stream=stream)

        def counts(mine, _, theirs=theirs):
            return f"{int(mine.max())} and {int(cupy.asarray(theirs(count=True)[1].cuda()).ravel()[0])} components"

        row(f"CV-CUDA label, {name}, 6", lambda m=mask: lobule.components(m, neighbours=6), theirs, counts)


def cuws_rows(cupy, lobule, row, smooth):
    """Watersheds from all minima."""
    from cuws import watershed_from_minima

    low = smooth.min()
    levels = ((smooth - low) / (smooth.max() - low) * 65535).astype(cupy.uint16)
    whole = cupy.ones(levels.shape, bool)
    basins = watershed_from_minima(levels, whole, sparse=False)
    places = cupy.arange(1, levels.size + 1, dtype=cupy.int64).reshape(levels.shape)
    roots = (basins.astype(cupy.int64) == places).ravel()
    seeds = cupy.where(roots, cupy.cumsum(roots), 0).astype(cupy.int32).reshape(levels.shape)
    named = cupy.zeros(levels.size + 1, cupy.int32)
    named[1:] = seeds.ravel()
    row(f"cuWS watershed, 26, {int(seeds.max())} minima",
        lambda: lobule.growcut(levels, seeds, rule="flood", neighbours=26, trust_seeds=True),
        lambda: watershed_from_minima(levels, whole, sparse=False),
        lambda mine, other: f"{float((mine == named[other.astype(cupy.int64)]).mean()):.4f} of labels agree")  # fmt: skip


def main():
    """Print the rows of each peer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--times", type=int, default=7)
    chosen = parser.parse_args()
    try:
        import cupy
        from cupyx.scipy import ndimage
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
    import lobule

    print(f"CuPy {cupy.__version__}; {chosen.size}^3 voxels, ms", flush=True)
    random = cupy.random.default_rng(1)
    noise = random.standard_normal((chosen.size,) * 3, dtype=cupy.float32)
    smooth = ndimage.gaussian_filter(noise, 4, mode="wrap")
    smooth /= smooth.std()
    masks = {"blobs": smooth > 0, "noise .3116": noise > 0.4913, "points": noise > 4.265}
    masks = {name: mask.astype(cupy.uint8) for name, mask in masks.items()}

    def row(what, ours, theirs, agree):
        mine_ms, their_ms, mine, other = by_turns(cupy, ours, theirs, chosen.times)
        print(f"{what:40} {mine_ms:9.3f} {their_ms:9.3f} {their_ms / mine_ms:6.1f}  {agree(mine, other)}", flush=True)

    for rows, data in ((cucim_rows, masks), (cvcuda_rows, masks), (cuws_rows, smooth)):
        try:
            rows(cupy, lobule, row, data)
        except ImportError as missing:
            print(f"left out: {missing}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
