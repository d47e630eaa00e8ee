#!/usr/bin/env python3
"""Damage small volumes in many ways and run every command on each, as a user with a bad file would.

usage: mutate.py [--program LOBULE] [--headers N] [--cuts N] [--flips N] [--affines N] [--seed N] [--jobs N]

headers: header fields set to odd values, or bytes of the header to any. cuts: files cut short. flips: a bit of a
compressed file flipped. affines: pixdim, sform and qform with absurd numbers. A run is at fault that ends by a signal,
takes over 20 s or 2 GB, blames the usage or itself (64, 70), fails with more or less than one line on stderr, or leaves
anything behind after failing. Prints each fault with the seed that makes it again, then a table; ends with 1 if there
is any fault. The same seed gives the same files.
"""

import argparse
import gzip
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MOST_SECONDS, MOST_BYTES = 20, 2 << 30
SHAPE = (12, 11, 10)

# BAD is the damaged file, TWIN a copy of it.
COMMANDS = [
    "info BAD",
    "convert BAD out.nii.gz",
    "growcut BAD seeds.nii -o out.nii",
    "growcut scan.nii BAD -o out.nii",
    "growcut BAD TWIN -o out.nii --max-mm 30 --mask TWIN --strength s.nii --tie t.nii",
    "growcut scan.nii seeds.nii --mask BAD -o out.nii",
    "components BAD -o out.nii --table out.tsv --min-size 1mm3",
    "components BAD -o out.nii --mask TWIN --slices axial --max-memory 64MiB",
    "supervoxels BAD -o out.nii --size 3vox --graph out.tsv",
    "supervoxels BAD -o out.nii --count 9 --mask TWIN --method lsc",
    "threshold BAD -o out.nii --otsu 3",
    "threshold BAD -o out.nii --hysteresis 3,9 --mask TWIN",
    "stats BAD TWIN",
    "stats scan.nii BAD",
    "preview BAD -o out.png",
    "preview BAD TWIN -o out.png --montage 7",
    "preview BAD TWIN -o out.png --html out.html --mip",
    "compare BAD TWIN",
    "compare scan.nii BAD --values",
    "compare seeds.nii BAD --supervoxels",
]

# offset in the header, struct code: NIfTI-1 and NIfTI-2
FIELDS = {
    1: {"sizeof_hdr": (0, "i"), "datatype": (70, "h"), "bitpix": (72, "h"), "vox_offset": (108, "f"),
        "scl_slope": (112, "f"), "scl_inter": (116, "f"), "xyzt_units": (123, "B"), "qform_code": (252, "h"),
        "sform_code": (254, "h"), "intent_code": (68, "h"), "magic": (344, "i"), "extension": (348, "i"),
        **{f"dim{i}": (40 + 2 * i, "h") for i in range(8)}, **{f"pixdim{i}": (76 + 4 * i, "f") for i in range(8)},
        **{f"quatern{i}": (256 + 4 * i, "f") for i in range(6)}, **{f"srow{i}": (280 + 4 * i, "f") for i in range(12)}},
    2: {"sizeof_hdr": (0, "i"), "datatype": (12, "h"), "bitpix": (14, "h"), "vox_offset": (168, "q"),
        "scl_slope": (176, "d"), "scl_inter": (184, "d"), "xyzt_units": (500, "i"), "qform_code": (344, "i"),
        "sform_code": (348, "i"), "intent_code": (504, "i"), "magic": (4, "i"), "extension": (540, "i"),
        **{f"dim{i}": (16 + 8 * i, "q") for i in range(8)}, **{f"pixdim{i}": (104 + 8 * i, "d") for i in range(8)},
        **{f"quatern{i}": (352 + 8 * i, "d") for i in range(6)}, **{f"srow{i}": (400 + 8 * i, "d") for i in range(12)}},
}
HEADER_BYTES = {1: 352, 2: 544}
INTEGERS = [0, 1, -1, 2, 3, 4, 8, 16, 64, 127, 128, 255, 256, 512, 1024, 1536, 2304, 32767, -32768, 1 << 30,
            (1 << 31) - 1, -(1 << 31), 1 << 40, (1 << 63) - 1, -(1 << 63)]
REALS = [0, 1, -1, 0.5, -0.0, 1e-45, 1e-30, 1e-12, 1e6, 1e8, 1e12, 1e17, 1e20, 1e30, 3e38, -3e38, 1e200, 1e300, -1e300,
         float("nan"), float("inf"), float("-inf")]
AFFINE_FIELDS = ("pixdim", "srow", "quatern")


def sound(version):
    """A volume that is scan and seeds in one: blocks of labels 1 and 2 in unknown 0."""
    header = bytearray(HEADER_BYTES[version])
    values = {"sizeof_hdr": {1: 348, 2: 540}[version], "datatype": 4, "bitpix": 16, "scl_slope": 1, "xyzt_units": 10,
              "vox_offset": HEADER_BYTES[version], "sform_code": 1, "dim0": 3, "pixdim0": 1,
              "srow0": 1.5, "srow5": 2, "srow10": 2.5, "srow3": -20, "srow7": 11}
    for i in range(1, 8):
        values[f"dim{i}"] = SHAPE[i - 1] if i < 4 else 1
        values[f"pixdim{i}"] = (1.5, 2, 2.5)[i - 1] if i < 4 else 1
    for name, value in values.items():
        put(header, version, name, value)
    header[344:348] = b"n+1\0" if version == 1 else header[344:348]
    if version == 2:
        header[4:12] = b"n+2\0\r\n\032\n"
    nx, ny, nz = SHAPE
    voxels = [(x < 4) + 2 * (x > 7) if 2 < y < 8 else 0 for _ in range(nz) for y in range(ny) for x in range(nx)]
    return bytes(header) + struct.pack(f"<{len(voxels)}h", *voxels)


def put(raw, version, name, value):
    """Set a header field to a number, wrapped to the field's type."""
    offset, code = FIELDS[version][name]
    size = struct.calcsize(code)
    if code in "fd":
        try:
            packed = struct.pack("<" + code, value)
        except OverflowError:
            packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    else:
        packed = (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    raw[offset : offset + size] = packed


def set_fields(raw, version, rng, names, count):
    for name in rng.sample(names, min(count, len(names))):
        real = FIELDS[version][name][1] in "fd"
        put(raw, version, name, rng.choice(REALS if real else INTEGERS))


def headers(rng):
    version = rng.choice([1, 1, 2])
    raw = bytearray(sound(version))
    if rng.random() < 0.7:
        set_fields(raw, version, rng, sorted(FIELDS[version]), rng.randint(1, 3))
    else:
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(HEADER_BYTES[version])] = rng.randrange(256)
    packed = rng.random() < 0.5
    return ".nii.gz" if packed else ".nii", gzip.compress(bytes(raw), mtime=0) if packed else bytes(raw)


def cuts(rng):
    raw = sound(rng.choice([1, 2]))
    packed = rng.random() < 0.5
    if packed:
        raw = gzip.compress(raw, mtime=0)
    return ".nii.gz" if packed else ".nii", raw[: rng.randrange(len(raw))]


def flips(rng):
    raw = bytearray(gzip.compress(sound(rng.choice([1, 2])), mtime=0))
    raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return ".nii.gz", bytes(raw)


def affines(rng):
    version = rng.choice([1, 2])
    raw = bytearray(sound(version))
    put(raw, version, "sform_code", rng.choice([0, 1, 1, 1]))
    put(raw, version, "qform_code", rng.choice([0, 0, 1]))
    if rng.random() < 0.4:  # sound but for its scale
        scale = 10.0 ** rng.randint(-40, 38)
        for axis, length in enumerate((1.5, 2, 2.5)):
            put(raw, version, f"srow{5 * axis}", length * scale)
            put(raw, version, f"pixdim{axis + 1}", length * scale)
    else:
        names = sorted(name for name in FIELDS[version] if name.startswith(AFFINE_FIELDS))
        set_fields(raw, version, rng, names, rng.randint(1, 12))
    return ".nii", bytes(raw)


def unharmed(rng):
    """No damage: every command must succeed."""
    return ".nii", sound(rng.choice([1, 2]))


KINDS = {"unharmed": unharmed, "headers": headers, "cuts": cuts, "flips": flips, "affines": affines}


def tree(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def faults_of(program, words, folder):
    """Run once; the exit code, seconds, bytes, and what is wrong with the run."""
    before = tree(folder)
    with tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen([program, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=errors)
        killer = threading.Timer(2 * MOST_SECONDS, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds, code, peak = time.monotonic() - start, process.returncode, usage.ru_maxrss * 1024
        errors.seek(0)
        lines = errors.read().decode(errors="replace").splitlines()
    after = tree(folder)
    failed = code not in (0, 1)
    wrong = []
    if code < 0:
        wrong.append(f"signal {-code}")
    if code in (64, 70) or code > 100:
        wrong.append(f"exit {code}")
    if seconds > MOST_SECONDS:
        wrong.append(f"{seconds:.0f} s")
    if peak > MOST_BYTES:
        wrong.append(f"{peak >> 20} MiB")
    if failed and len(lines) != 1:
        wrong.append(f"{len(lines)} lines")
    if any(not line.startswith("lobule") for line in lines):
        wrong.append("a line that is not Lobule's")
    if failed and after != before:
        wrong.append("left " + ", ".join(sorted(set(after) ^ set(before)) or ["a changed file"]))
    for name in set(after) - set(before):
        os.unlink(Path(folder, name))
    return code, seconds, peak, wrong, lines


def run_mutant(program, kind, number, seed):
    """Make the mutant and run every command on it; a list of outcomes."""
    suffix, raw = KINDS[kind](random.Random(f"{seed} {kind} {number}"))
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        for name in ("scan.nii", "seeds.nii"):
            Path(folder, name).write_bytes(sound(1))
        for name in ("bad", "twin"):
            Path(folder, name + suffix).write_bytes(raw)
        for command in COMMANDS:
            words = [{"BAD": "bad" + suffix, "TWIN": "twin" + suffix}.get(word, word) for word in command.split()]
            outcomes.append((command, *faults_of(program, [*words, "--device", "cpu", "--threads", "1"], folder)))
    return kind, number, outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parents[2]
    default = os.environ.get("LOBULE_BIN") or shutil.which("lobule") or root / "build/default/tools/lobule"
    parser.add_argument("--program", default=default)
    for kind, count in {"headers": 500, "cuts": 150, "flips": 200, "affines": 120}.items():
        parser.add_argument(f"--{kind}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    program = str(Path(arguments.program).resolve())

    arguments.unharmed = 2
    work = [(program, kind, n, arguments.seed) for kind in KINDS for n in range(getattr(arguments, kind))]
    codes = {kind: Counter() for kind in KINDS}
    slowest = largest = (0, "")
    faults = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for kind, number, outcomes in pool.map(lambda one: run_mutant(*one), work):
            for command, code, seconds, peak, wrong, lines in outcomes:
                if kind == "unharmed" and code not in (0, 1):
                    wrong.append(f"exit {code} for a sound file")
                codes[kind][code] += 1
                slowest = max(slowest, (seconds, f"{kind} {number}: {command}"))
                largest = max(largest, (peak, f"{kind} {number}: {command}"))
                if wrong:
                    faults += 1
                    print(f"seed {arguments.seed} {kind} {number}: {command}: {'; '.join(wrong)}: {lines[:2]}")
    for kind, counts in codes.items():
        listed = ", ".join(f"{code}: {count}" for code, count in sorted(counts.items()))
        print(f"{kind}: {getattr(arguments, kind)} files, {sum(counts.values())} runs; runs by exit code {listed}")
    print(f"slowest {slowest[0]:.2f} s ({slowest[1]})")
    print(f"largest {largest[0] / 2**20:.0f} MiB ({largest[1]})")
    print(f"faults: {faults}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
