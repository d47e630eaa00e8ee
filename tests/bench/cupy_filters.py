#!/usr/bin/env python3
"""CuPy's filters beside ours: the same size and types, the same machine, one run after the other.

    cupy_filters.py CHECK_BACKENDS [--size NX NY NZ] [--times N] [--cases N]

First CuPy filters noise of 12 bits on the device: CUDA events around the call, medians after two runs that
are not counted; its edges reflect. Then CHECK_BACKENDS times its steps on arrays on the device, having
compared each with the CPU's bytes. Edges of ours reflect too where it has such a row, else they are
renormalised, which takes another time; the table says which.
"""

import argparse
import re
import statistics
import subprocess
import sys
import time

WARM_UP = 2
# filter, type, sigma or radius: what check_backends has, too
ROWS = [
    *(("gaussian", "float32", sigma) for sigma in (1, 2, 4, 20)),
    *(("box", "float32", radius) for radius in (1, 10, 50)),
    ("box", "int16", 1),
    *(("median", kind, radius) for radius in (1, 2, 3) for kind in ("float32", "int16")),
]
EDGES = {0: "renormalise", 2: "reflect"}
GAUSSIAN = re.compile(r"gaussian (\d+) +\S+ (\w+): step +([\d.]+) ms.*call +([\d.]+) ms")
AROUND = re.compile(r"(median|box) +(\w+) +(\d+), *(\d+), *(\d+) edge (\d) +([\d.]+) ms")


def cupy_times(size, times):
    """Milliseconds of each row, and CuPy's version."""
    import cupy
    from cupyx.scipy import ndimage

    noise = cupy.random.default_rng(1).integers(0, 4096, size[::-1], dtype=cupy.int16)
    images = {"float32": noise.astype(cupy.float32), "int16": noise}
    calls = {
        "gaussian": lambda image, sigma: ndimage.gaussian_filter(image, sigma),
        "box": lambda image, radius: ndimage.uniform_filter(image, 2 * radius + 1),
        "median": lambda image, radius: ndimage.median_filter(image, 2 * radius + 1),
    }
    found = {}
    for name, kind, extent in ROWS:
        taken = []
        for run in range(WARM_UP + times):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            calls[name](images[kind], extent)
            end.record()
            end.synchronize()
            if run >= WARM_UP:
                taken.append(cupy.cuda.get_elapsed_time(begin, end))
        found[name, kind, extent] = statistics.median(taken)
        print(f"CuPy {name} {extent} {kind}: {found[name, kind, extent]:.3f} ms", flush=True)
    images.clear()
    del noise
    cupy.get_default_memory_pool().free_all_blocks()
    return found, cupy.__version__


def our_times(arguments):
    """Milliseconds and edge of each row that check_backends has."""
    found = {}
    for only in ("gaussian", "median"):  # median has boxes, too
        command = [arguments.check_backends, "--only", only, "--cases", str(arguments.cases), "--repeats", "0",
                   "--bench", "--size", *map(str, arguments.size), "--times", str(arguments.times)]
        begin = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
        if done.returncode != 0:
            sys.exit(f"{done.stdout}\n{' '.join(command)} ended with {done.returncode}")
        print(f"check_backends --only {only}: {time.monotonic() - begin:.0f} s", flush=True)
        for line in done.stdout.splitlines():
            if row := GAUSSIAN.match(line):
                found["gaussian", row[2], int(row[1])] = float(row[3]), "renormalise"
            elif (row := AROUND.match(line)) and row[3] == row[4] == row[5]:
                key, edge = (row[1], row[2], int(row[3])), EDGES[int(row[6])]
                if edge == "reflect" or key not in found:
                    found[key] = float(row[7]), edge
    return found


def main():
    """Print both programs' times and how many times faster ours is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("check_backends")
    parser.add_argument("--size", type=int, nargs=3, default=[512, 512, 512])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--cases", type=int, default=20)
    arguments = parser.parse_args()
    try:
        theirs, version = cupy_times(arguments.size, arguments.times)
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    ours = our_times(arguments)
    print(f"{' x '.join(map(str, arguments.size))}, CuPy {version}, ms\n\n"
          "| filter | type | sigma or radius | ours | our edges | CuPy | times |\n|---|---|---|---|---|---|---|")
    for row in ROWS:
        ms, edge = ours.get(row, (None, ""))
        our_ms, ratio = ("", "") if ms is None else (f"{ms:.3f}", f"{theirs[row] / ms:.1f}")
        print(f"| {row[0]} | {row[1]} | {row[2]} | {our_ms} | {edge} | {theirs[row]:.3f} | {ratio} |")
    missing = [row for row in ROWS if row not in ours]
    if missing:
        print(f"check_backends has no row for {missing}")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
