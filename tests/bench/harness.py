"""What the benchmark and peer programs share: running Lobule, medians, seeds, Dice, tables.

Nothing but load and save needs more than Python's own library.
"""
import argparse
import ctypes
import ctypes.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median  # for the benchmarks

ROOT = Path(__file__).resolve().parents[2]


class Failed(RuntimeError):
    """A command ended with another exit code than 0; the text is its own."""


def program():
    path = os.environ.get("LOBULE_BIN")
    if not path or not os.access(path, os.X_OK):
        sys.exit("LOBULE_BIN must name the lobule program; ./run bench and ./run peers set it")
    return path


def shared():
    """Folder with real scans, or None."""
    path = Path(os.environ.get("LOBULE_SHARED") or ROOT.parent / "shared")
    return path if (path / "data").is_dir() else None


class Run:
    """One run of the program: wall seconds, processor seconds, peak MiB, report (a dict)."""

    def __init__(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            command = [program(), *map(str, arguments), "--quiet", "--report", str(report)]
            start = time.perf_counter()
            with open(Path(folder, "stderr"), "w+b") as errors:
                child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
                self.seconds = time.perf_counter() - start
                if child.returncode != 0:
                    errors.seek(0)
                    text = errors.read().decode(errors="replace").strip()
                    raise Failed(f"{' '.join(command)}: exit {child.returncode}: {text}")
            self.processor = usage.ru_utime + usage.ru_stime
            self.peak_mib = usage.ru_maxrss / 1024
            self.report = json.loads(report.read_text())

    def stage(self, name):
        """Seconds of a stage ("read", "compute", "total"); 0 when it did not occur."""
        return self.report["seconds"].get(name, 0.0)


def deflate_alone(path, repeat=3):
    """Seconds that libdeflate needs to inflate a .gz file that lies in memory, into memory that has been used
    before; and the bytes that come out."""
    library = ctypes.CDLL(ctypes.util.find_library("deflate") or "libdeflate.so.0")
    library.libdeflate_alloc_decompressor.restype = ctypes.c_void_p
    inflater = ctypes.c_void_p(library.libdeflate_alloc_decompressor())
    packed = Path(path).read_bytes()
    size = int.from_bytes(packed[-4:], "little")
    out = ctypes.create_string_buffer(size)
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        failed = library.libdeflate_gzip_decompress(
            inflater, packed, ctypes.c_size_t(len(packed)), out, ctypes.c_size_t(size), None
        )
        times.append(time.perf_counter() - start)
        if failed:
            raise Failed(f"{path}: libdeflate does not inflate it")
    library.libdeflate_free_decompressor(inflater)
    return median(times), size


def load(path):
    """A volume's voxels (x, y, z) and its nibabel image."""
    import nibabel
    import numpy as np

    image = nibabel.load(path)
    return np.asanyarray(image.dataobj), image


def save(path, array, like):
    """A uint8 or int16 volume on the grid of another."""
    import nibabel
    import numpy as np

    array = np.ascontiguousarray(array)
    out = nibabel.Nifti1Image(array.astype(np.uint8 if array.max() < 256 else np.int16), like.affine)
    out.header.set_xyzt_units("mm")
    nibabel.save(out, path)
    return path


def dice(a, b):
    """Dice of two masks."""
    size = int(a.sum()) + int(b.sum())
    return 2.0 * int((a & b).sum()) / size if size else 1.0


def slicer_box(seeds, spacing):
    """3D Slicer's box as slices: 20 % and at least 10 mm wider than the strokes."""
    import numpy as np

    cut = []
    for axis in range(3):
        at = np.flatnonzero(seeds.any(tuple(a for a in range(3) if a != axis)))
        low, high = at[0], at[-1] + 1
        margin = int(np.ceil(max(0.2 * (high - low), 10 / spacing[axis]) - 1e-6))
        cut.append(slice(max(0, low - margin), min(seeds.shape[axis], high + margin)))
    return tuple(cut)


def options(doc, **defaults):
    """The program's options, named as the keywords and of their defaults' types; doc is its docstring."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser.parse_args()


def table(header, rows):
    """Print a Markdown table."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
    print()


def commit():
    """The commit that was measured, with a + when the tree has changes."""
    try:
        name = subprocess.run(["git", "describe", "--always", "--dirty=+"], cwd=ROOT, check=True,
                              capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        name = "unknown"
    return name


def machine():
    """The processor and how many of its threads there are."""
    name = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} threads"


def heading():
    version = subprocess.run([program(), "--version"], capture_output=True, text=True, check=True)
    print(f"{version.stdout.splitlines()[0]}, commit {commit()}, on {machine()}\n")
