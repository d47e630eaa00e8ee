#!/usr/bin/env python3
"""Check who includes whom, and the other rules of CONTRIBUTING.md that a text search can see.

usage: rooms.py [FOLDER], another tree than this one

Prints one line for each breach and ends with 1 when there is any.
"""
import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
ROOMS = ("volumes", "kernels", "io", "api", "tools", "tests")
SUFFIXES = {".c", ".h", ".cu", ".cuh"}

# Which rooms a room may include from.
KNOWS = {
    "volumes": {"volumes"},
    "kernels": {"volumes", "kernels"},
    "io": {"volumes", "io"},
    "api": {"volumes", "kernels", "io"},
    "tools": {"volumes", "kernels", "io", "tools"},
    "tests": set(ROOMS),
}

# Layers inside a room, from the lowest to the highest: a file includes what lies in its own row and
# in the rows above it here. What lies at the top of a room is named by its files, without suffix.
LAYERS = {
    "kernels": [
        "context budget team progress share threads arrays plan_number simd_clones device levels histogram pair_table",
        "appearance backend_cuda components distance filters fuse growcut labels maxima merge morphology phantom refine"
        " regions register resample scores supervoxels threshold",
        "backends backends_cuda",
        "carry cells live segment",
    ],
    "tools": [
        "platform",
        "text",
        "options picture",
        "inout report session table",
        "recipe",
        "commands",
        "batch",
        "completion program main",
    ],
}

# (what, headers of it, files that may include them); tests may look inside everything.
FENCED = [
    ("niftilib", r"(nifti/)?(nifti|znz)\w*\.h", r"io/nifti/\w+\.[ch]"),
    ("HDF5", r"(hdf5|H5)\w*\.h", r"io/hdf5/\w+\.[ch]"),
    ("libtiff", r"tiff(io|vers)?\.h", r"io/tiff/\w+\.[ch]"),
    ("libpng", r"png\w*\.h", r"io/png\w*\.[ch]"),
    ("libdeflate or zlib", r"(libdeflate|zlib)\.h", r"io/[\w/]+\.[ch]"),
    ("zstd or c-blosc", r"(zstd|blosc)\w*\.h", r"io/zarr/zarr_codecs\.c"),
    ("libcrypto", r"openssl/.*", r"io/sha256\.c"),
    ("expat", r"expat\w*\.h", r"io/xml\.c"),
    ("MPI", r"mpi\.h", r"kernels/team/team_mpi\.c"),
    ("Windows", r"io/calls_windows\.h", r"[\w/]+_windows\.c"),
    ("cJSON", r"cjson/.*", r"(io|tools)/[\w/]+\.[ch]"),
    (
        "CUDA",
        r"(cuda|cub|thrust|cooperative_groups|curand|device_launch|nvtx)[\w/]*(\.\w+)?",
        r"kernels/device(/[\w/]+)?\.(c|h|cu|cuh)|kernels/([\w/]+/)?\w+_cuda\.(cu|cuh)",
    ),
]

# What only the files below may include: the operating system's own headers, POSIX's and Windows'.
SYSTEM = (
    r"(sys|linux|net|arpa|netinet)/[\w/.]+|(unistd|fcntl|dirent|glob|fnmatch|fts|ftw|signal|poll|termios|spawn|pwd|grp"
    r"|dlfcn|libgen|wordexp|utime|malloc|windows|winsock2?|ws2tcpip|io|direct|process|psapi|bcrypt|sddl|shellapi)\.h"
)
# (files, which headers, why there)
SYSTEM_PLACES = [
    (r"io/platform_(posix|windows)\.c|io/calls_windows\.[ch]|io/platform_macos\.h|io/sha256_(macos|windows)\.h|tools/platform/process_(posix|windows)\.c", r".*", "the platform layer"),
    (r"io/hdf5/sandbox_\w+\.c", r".*", "a program with limits, seen from outside and inside"),
    (r"io/dicom/outside_program_\w+\.c", r".*", "programs with limits"),
    (r"tools/session/session\.c", r"signal\.h", "sig_atomic_t, which is C's"),
    (r"volumes/voxel_memory\.c", r"sys/mman\.h", "volumes/ knows nobody, and its advice may go unheard"),
]

# Library code neither prints nor ends the process. (A forked child has to end by _exit.)
LIBRARY_NEVER = re.compile(
    r"\b(printf|puts|putchar|perror|vprintf|exit|abort)\s*\(|\bf(printf|puts|putc)\s*\([^;]*\bstd(err|out)\b"
)
# Strings of these are options of the programs that they run.
RUNS_PROGRAMS = re.compile(r"io/dicom/dicom_(read|write)\.c")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)


def without_comments(text):
    """The text with comments and strings blanked, line numbers kept."""
    return COMMENT.sub(lambda m: "\n" * m.group().count("\n"), text)


def included_file(source, included):
    """The file of ours, from the root, that a quoted include leads to, or None when there is none."""
    for base in (ROOT, source.parent):
        target = (base / included).resolve()
        if target.is_file() and target.is_relative_to(ROOT):
            return target.relative_to(ROOT).as_posix()
    return None


def layer_of(name):
    """The row of LAYERS that a file belongs to, with its name there; None: its room has none."""
    room, *inner = name.split("/")
    if room not in LAYERS:
        return None
    part = inner[0].split(".")[0]
    rows = [i for i, row in enumerate(LAYERS[room]) if part in row.split()]
    return rows[0] if rows else -1, part


def check_layer(where, name, target):
    if name.split("/")[0] != target.split("/")[0] or not layer_of(name):
        return
    (row, part), (other, below) = layer_of(name), layer_of(target)
    if row < 0:
        yield f"{where}: {part} has no layer in tests/lint/rooms.py"
    elif other > row:
        yield f'{where}: {part} lies below {below} and may not know it ("{target}")'


def check_includes(path, name, text):
    room = path.relative_to(ROOT).parts[0]
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        bracket, included = match.groups()
        target = included_file(path, included) if bracket == '"' else None
        if target and target.split("/")[0] not in KNOWS[room]:
            yield f'{name}:{line}: {room}/ may not know {target.split("/")[0]}/ ("{included}")'
        if target:
            yield from check_layer(f"{name}:{line}", name, target)
        if room == "tests":
            continue
        if bracket == "<" and re.fullmatch(SYSTEM, included):
            if not any(re.fullmatch(files, name) and re.fullmatch(headers, included) for files, headers, _ in SYSTEM_PLACES):
                yield f"{name}:{line}: <{included}> belongs in the platform layer (io/platform.h, tools/platform/process.h)"
        for what, headers, where in FENCED:
            if re.fullmatch(headers, included) and not re.fullmatch(where, name):
                yield f"{name}:{line}: {what} ({included}) belongs in {where}"


def check_file(path):
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text(encoding="utf-8")
    yield from check_includes(path, name, text)
    if not text.lstrip().startswith("/*"):
        yield f"{name}:1: a file opens with a comment that says what it is for"
    struct = re.search(r"struct lob_device \{", text)
    if struct and not name.startswith("kernels/device/"):
        line = text.count("\n", 0, struct.start()) + 1
        yield f"{name}:{line}: what a lob_device holds is known in kernels/device/ alone"
    if name.split("/")[0] in ("volumes", "kernels", "io"):
        for match in COMMENT.finditer(text):
            if RUNS_PROGRAMS.fullmatch(name):
                break
            if match.group().startswith('"') and re.search(r"(?<![\w-])--[a-z]", match.group()):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: a message of the library names no option, see lob_hint ({match.group()})"
        code = without_comments(text)
        for match in LIBRARY_NEVER.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            yield f"{name}:{line}: library code neither prints nor exits ({match.group().strip()})"


def python_imports(path):
    """Modules of the same package that a module imports when it is loaded or run, not for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from [node.module] if node.module else [alias.name for alias in node.names]


def includes(files):
    """What each unit includes: {unit: {unit: the include in words}}; NAME.h, NAME.c and NAME.cu are one."""
    known = defaultdict(dict)
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        targets = [included_file(path, m.group(2)) for m in INCLUDE.finditer(path.read_text(encoding="utf-8"))]
        for target in filter(None, targets):
            known[name.rsplit(".", 1)[0]].setdefault(target.rsplit(".", 1)[0], f"{name} includes {target}")
    for path in (ROOT / "python").rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        for module in python_imports(path):
            target = path.parent / f"{module}.py"
            if target.is_file():
                target = target.relative_to(ROOT).as_posix()
                known[name[:-3]].setdefault(target[:-3], f"{name} imports {target}")
    return known


def way(known, start, goal):
    """The shortest way from one unit to another, both at its ends; None: there is none."""
    ways, seen = [[start]], {start}
    for taken in ways:
        for unit in sorted(known.get(taken[-1], ())):
            if unit == goal:
                return [*taken, goal]
            if unit not in seen:
                seen.add(unit)
                ways.append([*taken, unit])
    return None


def check_circles(files):
    """No two units, a header with its source, include one another, directly or by others."""
    known = includes(files)
    told = set()
    for unit in sorted(known):
        known[unit].pop(unit, None)
    for unit in sorted(known):
        circle = None if unit in told else way(known, unit, unit)
        if circle:
            told.update(circle)
            yield "a circle: " + "; ".join(known[a][b] for a, b in zip(circle, circle[1:]))


def main():
    files = sorted(
        path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in SUFFIXES
    )
    breaches = [breach for path in files for breach in check_file(path)]
    breaches += check_circles([path for path in files if path.relative_to(ROOT).parts[0] != "tests"])
    by_name = defaultdict(list)
    for path in files:
        by_name[path.name].append(path.relative_to(ROOT).as_posix())
    breaches += [
        f"{places[1]}:1: the name {name} is taken by {places[0]}"
        for name, places in by_name.items()
        if len(places) > 1
    ]
    print("\n".join(breaches) if breaches else f"rooms: {len(files)} files, no breach")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
