#!/usr/bin/env python3
"""CuPy's label beside ours: the same masks, the same machine, one run after the other.

    cupy_components.py CHECK_BACKENDS FOLDER [--size NX NY NZ] [--times N]

CHECK_BACKENDS writes its masks and times to FOLDER (--keep), having compared its labels with the
CPU's; then CuPy labels the same masks, and so does the Python package, whose library is built
beside CHECK_BACKENDS (or LOBULE_LIBRARY). Counts must agree.

"ours" and "CuPy" are CUDA events around the whole call with arrays on the device. "C" and "Python"
are a clock's, from a GPU at rest until the call has returned, which is when the GPU has finished:
the C call through ctypes with all structures ready, and lobule.components with a CuPy array in and
a new one out; "more" is the second less the first. The two take turns. All are medians after two
runs that are not counted.
"""

import argparse
import csv
import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import time

WARM_UP = 2
SETTLE_S = 0.3


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


def timed(cupy, work):
    """Milliseconds of a call from a GPU at rest."""
    cupy.cuda.runtime.deviceSynchronize()
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e3


def c_call(lobule, mask, neighbours):
    """The package's C call, with nothing left to do but to make it; it returns the count."""
    from lobule import _abi, _library

    library, held = _library.library, _library.backend(f"cuda:{mask.device.id}")
    nz, ny, nx = mask.shape
    seen = library.lob_volume_empty()
    place = _abi.lob_place(_abi.LOB_PLACE_CUDA, mask.device.id)
    seen.data, seen.place = mask.data.ptr, place
    seen.type, seen.channels, seen.dims = _abi.LOB_U8, 1, _abi.lob_dims(nx, ny, nz)
    seen.geometry = library.lob_geometry_of_spacing((ctypes.c_double * 3)(1, 1, 1))
    chosen = library.lob_components_defaults()
    chosen.neighbours, chosen.type = neighbours, _abi.LOB_I32
    given = _abi.lob_components_input(ctypes.pointer(seen), None, None, place)
    out, context, error = _abi.lob_components_output(), _abi.lob_context(1, 0, held.context.device), _abi.lob_error()
    passed = [ctypes.byref(part) for part in (out, given, chosen, context, error)]

    def call():
        _library.check(held.functions.components(*passed), error)
        count = out.count
        library.lob_components_output_free(passed[0])
        return count

    return call


def package_times(cupy, lobule, mask, neighbours, times):
    """Components, and milliseconds of the C call and of the package's."""
    began = time.monotonic()
    while time.monotonic() - began < SETTLE_S:  # until the processor runs at its own speed
        lobule.components(mask, neighbours=neighbours)
    ours = c_call(lobule, mask, neighbours)
    taken = [
        (timed(cupy, ours), timed(cupy, lambda: lobule.components(mask, neighbours=neighbours)))
        for _ in range(WARM_UP + times)
    ][WARM_UP:]
    if int(lobule.components(mask, neighbours=neighbours).max()) != ours():
        raise SystemExit("the package does not find the components of the C call")
    return int(ours()), *(statistics.median(column) for column in zip(*taken))


def run_ours(arguments):
    """Rows of what check_backends measured: mask, neighbours, components, ms."""
    size = [str(side) for side in arguments.size]
    command = [arguments.check_backends, "--only", "components", "--cases", "50", "--repeats", "0",
               "--bench", "--size", *size, "--times", str(min(arguments.times, 7)),
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
    parser.add_argument("--times", type=int, default=20)
    arguments = parser.parse_args()
    try:
        import cupy
        from cupyx.scipy import ndimage
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77

    build = pathlib.Path(arguments.check_backends).resolve().parents[2]
    os.environ.setdefault("LOBULE_LIBRARY", str(build / "liblobule.so"))
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import lobule

    arguments.folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    rows = run_ours(arguments)
    print(f"\nCuPy {cupy.__version__}; milliseconds")
    print(f"{'mask':13} {'nb':>3} {'ours':>8} {'CuPy':>8} {'times':>6} {'C':>8} {'Python':>8} {'more':>6}")
    for name, neighbours, count, ms in rows:
        mask = cupy.fromfile(arguments.folder / f"{name}.u8", dtype=cupy.uint8)
        mask = mask.reshape(arguments.size[::-1])
        if int(mask.max()) > 1:  # classes and levels: CuPy has no criterion but "not 0"
            continue
        theirs, their_ms = cupy_label(cupy, ndimage, mask, neighbours, min(arguments.times, 7))
        found, c_ms, python_ms = package_times(cupy, lobule, mask, neighbours, arguments.times)
        wrong += theirs != count or found != count
        note = "" if theirs == found == count else f"  CuPy counts {theirs}, the package {found}, ours {count}"
        print(f"{name:13} {neighbours:3} {ms:8.3f} {their_ms:8.3f} {their_ms / ms:6.1f} {c_ms:8.3f} {python_ms:8.3f} "
              f"{python_ms - c_ms:6.3f}{note}")  # fmt: skip
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
