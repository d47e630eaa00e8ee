#!/usr/bin/env python3
"""Filters with a mask, or with NaN among the voxels, beside the plain ones: calls on CuPy arrays.

    masked_filters.py [--size NX NY NZ] [--times N]

Noise of 12 bits; the mask leaves out half of the voxels at random, or a hundredth of them are NaN. Times are
those of a whole call of lobule.filter, its memory included, plain and with gaps by turns, medians after two calls
that are not counted. A call on NaN without a mask runs the filter twice: as if all were finite, and again. Radii
are in the order of the array, z first. What is written is the CPU's, by tests/command/test_python_gpu.py and
check_backends. Ends with 1 where a ratio is above 3.
"""

import argparse
import statistics
import sys
import time

WARM_UP = 2
ROWS = [
    *((kind, "median", radius) for kind in ("float32", "int16", "uint8") for radius in (1, (0, 1, 1), 2)),
    *(("float32", "box", radius) for radius in (1, 3, 10, 30, 50)),
    ("int16", "box", 1),
    *(("float32", "gaussian", f"{sigma}vox") for sigma in (1, 2, 4, 8)),
]
TARGET = 3  # times the plain call


def main():
    """Print a row for each filter: ms, and how many times as long those with gaps take."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, nargs=3, default=[512, 512, 300])
    parser.add_argument("--times", type=int, default=7)
    arguments = parser.parse_args()
    try:
        import cupy
        import lobule
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    random = cupy.random.default_rng(1)
    noise = random.integers(0, 4096, arguments.size[::-1], dtype=cupy.int16)
    mask = random.random(noise.shape, dtype=cupy.float32) < 0.5
    images = {"float32": noise.astype(cupy.float32), "int16": noise, "uint8": (noise // 16).astype(cupy.uint8)}
    holes = cupy.where(random.random(noise.shape, dtype=cupy.float32) < 0.01, cupy.nan, images["float32"])
    print("| type | filter | extent | plain ms | mask ms | times | NaN ms | times |\n|---|---|---|---|---|---|---|---|")
    slow = 0
    for kind, name, extent in ROWS:
        calls = {"plain": (images[kind], None), "mask": (images[kind], mask)}
        if kind == "float32":
            calls["NaN"] = (holes, None)
        taken = {way: [] for way in calls}
        for run in range(WARM_UP + arguments.times):
            for way, (image, data) in calls.items():
                cupy.cuda.Device().synchronize()
                begin = time.perf_counter()
                lobule.filter(image, [(name, extent)], mask=data)
                cupy.cuda.Device().synchronize()
                if run >= WARM_UP:
                    taken[way].append(time.perf_counter() - begin)
        ms = {way: 1e3 * statistics.median(seconds) for way, seconds in taken.items()}
        slow += max(ms.values()) > TARGET * ms["plain"]
        cells = [f"{ms[way]:.3f} | {ms[way] / ms['plain']:.2f}" if way in ms else " | " for way in ("mask", "NaN")]
        print(f"| {kind} | {name} | {extent} | {ms['plain']:.3f} | {' | '.join(cells)} |", flush=True)
    print(f"{slow} of {len(ROWS)} rows above {TARGET} times")
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
