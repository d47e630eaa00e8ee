#!/usr/bin/env python3
"""CuPy's label beside ours: the same masks, the same machine, one run after the other.

    cupy_components.py CHECK_BACKENDS FOLDER [--size NX NY NZ] [--times N]

CHECK_BACKENDS writes its masks and times to FOLDER (--keep), having compared its labels with the
CPU's; then CuPy labels the same masks. Counts must agree. Times are CUDA events around the whole
call with arrays on the device, medians after two runs that are not counted.
"""

import argparse
import csv
import pathlib
import statistics
import subprocess
import sys

WARM_UP = 2


def cupy_label(cupy, ndimage, mask, neighbours, times):
    """Components and milliseconds of CuPy's label."""
    around = ndimage.generate_binary_structure(3, {6: 1, 18: 2, 26: 3}[neighbours])
    labels = cupy.empty(mask.shape, cupy.int32)
    taken = []
    for run in range(WARM_UP + times):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        count = ndimage.label(mask, around, output=labels)
        end.record()
        end.synchronize()
        if run >= WARM_UP:
            taken.append(cupy.cuda.get_elapsed_time(begin, end))
    return int(count), statistics.median(taken)


def run_ours(arguments):
    """Rows of what check_backends measured: mask, neighbours, components, ms."""
    size = [str(side) for side in arguments.size]
    command = [arguments.check_backends, "--only", "components", "--cases", "50", "--repeats", "0",
               "--bench", "--size", *size, "--times", str(arguments.times),
               "--keep", str(arguments.folder)]
    subprocess.run(command, check=True)
    with open(arguments.folder / "components.tsv", newline="", encoding="utf-8") as table:
        return [(name, int(neighbours), int(count), float(ms))
                for name, neighbours, count, ms in csv.reader(table, delimiter="\t")]


def main():
    """Print both programs' times and how many times faster ours is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("check_backends")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--size", type=int, nargs=3, default=[512, 512, 512])
    parser.add_argument("--times", type=int, default=5)
    arguments = parser.parse_args()
    try:
        import cupy
        from cupyx.scipy import ndimage
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77

    arguments.folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    rows = run_ours(arguments)
    print(f"\nCuPy {cupy.__version__}\n{'mask':13} {'nb':>3} {'ours ms':>9} {'CuPy ms':>9} {'times':>6}")
    for name, neighbours, count, ms in rows:
        mask = cupy.fromfile(arguments.folder / f"{name}.u8", dtype=cupy.uint8)
        mask = mask.reshape(arguments.size[::-1])
        if int(mask.max()) > 1:  # classes and levels: CuPy has no criterion but "not 0"
            continue
        theirs, their_ms = cupy_label(cupy, ndimage, mask, neighbours, arguments.times)
        wrong += theirs != count
        note = "" if theirs == count else f"  CuPy counts {theirs}, ours {count}"
        print(f"{name:13} {neighbours:3} {ms:9.3f} {their_ms:9.3f} {their_ms / ms:6.1f}{note}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
