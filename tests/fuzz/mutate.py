#!/usr/bin/env python3
"""Damage small volumes in many ways and run every command on each, as a user with a bad file would.

usage: mutate.py [--program LOBULE] [--KIND N]... [--seed N] [--jobs N]

Of NIfTI, headers: fields set to odd values, or bytes of the header to any; cuts: files cut short; flips: a bit of a
compressed file flipped; affines: pixdim, sform and qform with absurd numbers. nrrd, metaimage, tiff, ome, markups, recipes,
manifests, reports: files of that kind whose lines, words, numbers or entries are changed, lost, doubled or exchanged. A run is
at fault that ends by a signal, takes over 20 s of processor time or 2 GB, blames the usage or itself (64, 70), fails with more
or less than one line on stderr, or leaves anything behind after failing. What a recipe or a manifest says may be wrong usage; a batch has a line
for each scan and leaves its log. Prints each fault with the seed that makes it again, then a table; ends with 1 if there is any
fault. The same seed gives the same files.
"""

import argparse
import gzip
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
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


# ---- texts ----

VOXELS = sound(1)[HEADER_BYTES[1] :]
NRRD = b"""NRRD0004
# a comment
type: short
dimension: 3
space: left-posterior-superior
sizes: 12 11 10
space directions: (-1.5,0,0) (0,-2,0) (0,0,2.5)
kinds: domain domain domain
endian: little
encoding: raw
space origin: (20,-11,0)
key:=a value

"""
META = b"""ObjectType = Image
NDims = 3
BinaryData = True
BinaryDataByteOrderMSB = False
CompressedData = False
TransformMatrix = -1 0 0 0 -1 0 0 0 1
Offset = 20 -11 0
ElementSpacing = 1.5 2 2.5
DimSize = 12 11 10
ElementType = MET_SHORT
ElementDataFile = LOCAL
"""
OME = b"""<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">
<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="uint8" SizeX="12" SizeY="11" SizeC="1" SizeZ="10"
 SizeT="1" PhysicalSizeX="0.5" PhysicalSizeXUnit="mm" PhysicalSizeY="0.5" PhysicalSizeZ="2" BigEndian="false">
<Channel ID="Channel:0:0" SamplesPerPixel="1"/><TiffData IFD="0" FirstZ="0" FirstC="0" FirstT="0" PlaneCount="10"/>
</Pixels></Image></OME>
"""
MARKUPS = b"""{"markups": [{"type": "Fiducial", "coordinateSystem": "LPS", "coordinateUnits": "mm", "controlPoints": [
{"id": "1", "label": "1", "position": [15, -17, 10], "positionStatus": "defined"},
{"id": "2", "label": "2", "position": [6, -25, 1.5e1], "positionStatus": "defined"}]}]}
"""
RECIPE = b"""# what is bright, and its table
threshold {image} -o @mask --above {least=1}
labels @mask -o {out} --largest 1 --smooth 2mm
stats {image} @mask --table - \\
    --columns volume,median
"""
MANIFEST = b"scan\timage\tout\tleast\none\tscan.nii\tone.nii\t1\ntwo\tseeds.nii\tmore/two.nii\t0.5\n"
NUMBERS = [b"0", b"-1", b"-0", b"1e-45", b"1e39", b"1e400", b"nan", b"-inf", b"0x10", b"4294967296", b"9" * 19, b"9" * 40,
           b"1.5.2", b"+3", b"1,5", b"", b"65536", b"2147483648", b"-9223372036854775808"]
PIECES = [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n\n", b"\t", b" ", b"\\", b'"', b"'", b"{", b"}", b"@", b"--force", b"../",
          b"\x1b[31m", b"A" * 5000, b"\xc3(", b"=", b":", b"<", b"&#x0;", b"]" * 300, b"[" * 300]


def change_text(rng, text):
    """One to three changes of lines, numbers, words or bytes."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        lines = text.splitlines(keepends=True) or [b""]
        at = rng.randrange(len(lines))
        way = rng.randrange(7)
        spots = list(re.finditer(rb"[-+]?\d[\d.e]*" if way < 3 else rb"[A-Za-z_]+", text))
        if way in (0, 1, 2, 3) and spots:
            spot = rng.choice(spots)
            put_there = rng.choice(NUMBERS if way < 3 else [*PIECES, rng.choice(spots)[0], spot[0].swapcase()])
            text = text[: spot.start()] + put_there + text[spot.end() :]
        elif way == 4:
            other = rng.randrange(len(lines))
            text = b"".join(rng.choice([lines[:at] + lines[at + 1 :], lines[:at] + lines[at : at + 1] + lines[at:],
                                        lines[: at + 1] + lines[other : other + 1] + lines[at + 1 :]]))  # fmt: skip
        elif way == 5:
            place = rng.randrange(len(text) + 1)
            text = text[:place] + rng.choice(PIECES) + text[place + rng.choice([0, 1]) :]
        else:
            text = text[: rng.randrange(len(text) + 1)] if rng.random() < 0.4 else text.replace(b"\n", rng.choice([b"\r\n", b"\r"]))
    return text


def nrrd(rng, change=change_text):
    packed = rng.random() < 0.3
    text = NRRD.replace(b"raw", b"gzip") if packed else NRRD
    return ".nrrd", change(rng, text) + (gzip.compress(VOXELS, mtime=0) if packed else VOXELS)


def metaimage(rng, change=change_text):
    return ".mha", change(rng, META) + VOXELS


def pages(description, change=lambda entries: None):
    """A TIFF of ten pages of bytes; change may alter the entries of each: [tag, type, count, value]."""
    raw, before = bytearray(b"II*\0\0\0\0\0"), 4
    for page in range(SHAPE[2]):
        planes, text = len(raw), description if page == 0 else b""
        raw += VOXELS[2 * 132 * page : 2 * 132 * (page + 1) : 2]
        told = len(raw)
        raw += text + b"\0" * (1 + len(text) % 2)
        entries = [[256, 3, 1, 12], [257, 3, 1, 11], [258, 3, 1, 8], [259, 3, 1, 1], [262, 3, 1, 1], [273, 4, 1, planes],
                   [277, 3, 1, 1], [278, 3, 1, 11], [279, 4, 1, 132]]  # fmt: skip
        if len(text) > 4:
            entries.insert(5, [270, 2, len(text), told])
        change(entries)
        raw[before : before + 4] = struct.pack("<I", len(raw))
        raw += struct.pack("<H", len(entries))
        for entry in entries:
            raw += struct.pack("<HHII", *(value & (0xFFFF if i < 2 else 0xFFFFFFFF) for i, value in enumerate(entry)))
        before = len(raw)
        raw += b"\0\0\0\0"
    return raw


def change_entries(rng, entries):
    """A tag, type, count or value set to an odd number, on some pages."""
    if rng.random() < 0.4:
        entry = rng.choice(entries)
        field = rng.choice([0, 1, 2, 3, 3, 3])
        entry[field] = rng.choice([*INTEGERS, rng.randrange(300), entry[field] + 1])


def tiff(rng, change=change_entries):
    description = b"ImageJ=1.53\nimages=10\nslices=10\nunit=mm\nspacing=2.5\n"
    return ".tif", bytes(pages(description, lambda entries: change(rng, entries)))


def ome(rng, change=change_text):
    return ".ome.tif", bytes(pages(change(rng, OME)))


def markups(rng, change=change_text):
    return ".mrk.json", change(rng, MARKUPS)


def recipes(rng, change=change_text):
    return ".recipe", change(rng, RECIPE)


def manifests(rng, change=change_text):
    return ".tsv", change(rng, MANIFEST)


def reports(rng, change=change_text):
    """The change is made to the report of a run in the folder of the commands."""
    return ".json", lambda text: change(rng, text)


OTHERS = (nrrd, metaimage, tiff, ome, markups, recipes, manifests, reports)
KINDS = {maker.__name__: maker for maker in (headers, cuts, flips, affines, *OTHERS)}
UNHARMED = 2 + len(OTHERS)


def unharmed(number):
    """A file without damage, with which every command must succeed; its kind, suffix and bytes."""
    if number < 2:
        return "headers", ".nii", sound(1 + number)
    maker = OTHERS[number - 2]
    return maker.__name__, *maker(random.Random(number), lambda _, content: content)


# What is run on files that are no volumes, or that have a grid of their own.
COMMANDS_OF = {
    **dict.fromkeys(("tiff", "ome"), [line for line in COMMANDS if "scan.nii" not in line and "seeds.nii" not in line]),
    "markups": ["seeds scan.nii --points BAD -o out.nii", "seeds scan.nii --points BAD -o out.nii --radius 3mm --shell 4mm"],
    "recipes": ["run BAD image=scan.nii out=out.nii --dry-run", "run BAD image=scan.nii out=out.nii",
                "batch BAD sound.tsv --log log"],
    "manifests": ["batch sound.recipe BAD --log log", "batch BAD --log log -- threshold {image} -o {out} --above {least}"],
    "reports": ["repeat BAD", "repeat BAD --methods"],
}  # fmt: skip
SOUND = {"scan.nii": sound(1), "seeds.nii": sound(1), "sound.recipe": RECIPE, "sound.tsv": MANIFEST}


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


def faults_of(program, words, folder):
    """Run once; the exit code, seconds, bytes, and what is wrong with the run."""
    told = words[0] in ("run", "batch")  # what its text says may be wrong usage, and each line or scan is told of
    before = tree(folder)
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([program, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=errors)
        killer = threading.Timer(5 * MOST_SECONDS, process.kill)  # others may use the cores
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds, code, peak = usage.ru_utime + usage.ru_stime, process.returncode, usage.ru_maxrss * 1024
        errors.seek(0)
        lines = errors.read().decode(errors="replace").splitlines()
    after = tree(folder)
    failed = code not in (0, 1)
    wrong = []
    if code < 0:
        wrong.append(f"signal {-code}")
    if (code == 64 and not told) or code == 70 or code > 100:
        wrong.append(f"exit {code}")
    if seconds > MOST_SECONDS:
        wrong.append(f"{seconds:.0f} s")
    if peak > MOST_BYTES:
        wrong.append(f"{peak >> 20} MiB")
    if failed and (not lines or len(lines) > 1 and words[0] != "batch"):
        wrong.append(f"{len(lines)} lines")
    if any(not line.startswith("lobule") for line in lines):
        wrong.append("a line that is not Lobule's")
    kept = {name: raw for name, raw in after.items() if words[0] != "batch" or name in before}
    if failed and kept != before:
        wrong.append("left " + ", ".join(sorted(set(kept) ^ set(before)) or ["a changed file"]))
    for name in set(after) - set(before):
        os.unlink(Path(folder, name))
    for name in set(before) - set(after):
        Path(folder, name).write_bytes(before[name])
    return code, seconds, peak, wrong, lines


def run_mutant(program, kind, number, seed):
    """Make the mutant and run every command on it; a list of outcomes."""
    if kind == "unharmed":
        of, suffix, raw = unharmed(number)
    else:
        of, (suffix, raw) = kind, KINDS[kind](random.Random(f"{seed} {kind} {number}"))
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        for name, content in SOUND.items():
            Path(folder, name).write_bytes(content)
        if of == "reports":
            line = "threshold scan.nii -o out.nii --above 1 --report report.json --quiet"
            subprocess.run([program, *line.split()], cwd=folder, check=False)
            made = Path(folder, "report.json")
            raw = raw(made.read_bytes() if made.exists() else b"{}")
        for name in ("bad", "twin"):
            Path(folder, name + suffix).write_bytes(raw)
        for command in COMMANDS_OF.get(of, COMMANDS):
            words = [{"BAD": "bad" + suffix, "TWIN": "twin" + suffix}.get(word, word) for word in command.split()]
            outcomes.append((command, *faults_of(program, [*words, "--device", "cpu", "--threads", "1"], folder)))
    return kind, number, outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parents[2]
    default = os.environ.get("LOBULE_BIN") or shutil.which("lobule") or root / "build/default/tools/lobule"
    parser.add_argument("--program", default=default)
    counts = {"headers": 500, "cuts": 150, "flips": 200, "affines": 120, **{maker.__name__: 100 for maker in OTHERS}}
    for kind, count in counts.items():
        parser.add_argument(f"--{kind}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    program = str(Path(arguments.program).resolve())

    counts = {"unharmed": UNHARMED, **{kind: getattr(arguments, kind) for kind in KINDS}}
    work = [(program, kind, n, arguments.seed) for kind, count in counts.items() for n in range(count)]
    codes = {kind: Counter() for kind in counts}
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
    for kind, found in codes.items():
        listed = ", ".join(f"{code}: {count}" for code, count in sorted(found.items()))
        print(f"{kind}: {counts[kind]} files, {sum(found.values())} runs; runs by exit code {listed}")
    print(f"slowest {slowest[0]:.2f} s ({slowest[1]})")
    print(f"largest {largest[0] / 2**20:.0f} MiB ({largest[1]})")
    print(f"faults: {faults}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
