#!/usr/bin/env python3
"""Check who includes whom, and the other rules of CONTRIBUTING.md that a text search can see.

Prints one line for each breach and ends with 1 when there is any.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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

# (what, headers of it, files that may include them); tests may look inside everything.
FENCED = [
    ("niftilib", r"(nifti/)?(nifti|znz)\w*\.h", r"io/nifti/\w+\.[ch]"),
    ("HDF5", r"(hdf5|H5)\w*\.h", r"io/hdf5/\w+\.[ch]"),
    ("libtiff", r"tiff(io|vers)?\.h", r"io/tiff/\w+\.[ch]"),
    ("libpng", r"png\w*\.h", r"io/png\w*\.[ch]"),
    ("libdeflate or zlib", r"(libdeflate|zlib)\.h", r"io/[\w/]+\.[ch]"),
    ("libcrypto", r"openssl/.*", r"io/sha256\.c"),
    ("cJSON", r"cjson/.*", r"(io|tools)/[\w/]+\.[ch]"),
    (
        "CUDA",
        r"(cuda|cub|thrust|cooperative_groups|curand|device_launch|nvtx)[\w/]*(\.\w+)?",
        r"kernels/device(/[\w/]+)?\.(c|h|cu|cuh)|kernels/([\w/]+/)?\w+_cuda\.(cu|cuh)",
    ),
]

# Library code neither prints nor ends the process. (A forked child has to end by _exit.)
LIBRARY_NEVER = re.compile(
    r"\b(printf|puts|putchar|perror|vprintf|exit|abort)\s*\(|\bf(printf|puts|putc)\s*\([^;]*\bstd(err|out)\b"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)


def without_comments(text):
    """The text with comments and strings blanked, line numbers kept."""
    return COMMENT.sub(lambda m: "\n" * m.group().count("\n"), text)


def room_of_include(source, included):
    """The room that a quoted include leads to, or None when no such file exists."""
    for base in (ROOT, source.parent):
        target = (base / included).resolve()
        if target.is_file() and target.is_relative_to(ROOT):
            return target.relative_to(ROOT).parts[0]
    return None


def check_includes(path, name, text):
    room = path.relative_to(ROOT).parts[0]
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        bracket, included = match.groups()
        if bracket == '"':
            target = room_of_include(path, included)
            if target and target not in KNOWS[room]:
                yield f'{name}:{line}: {room}/ may not know {target}/ ("{included}")'
        if room == "tests":
            continue
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
            if match.group().startswith('"') and re.search(r"(?<![\w-])--[a-z]", match.group()):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{name}:{line}: a message of the library names no option, see lob_hint ({match.group()})"
        code = without_comments(text)
        for match in LIBRARY_NEVER.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            yield f"{name}:{line}: library code neither prints nor exits ({match.group().strip()})"


def main():
    files = sorted(
        path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in SUFFIXES
    )
    breaches = [breach for path in files for breach in check_file(path)]
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
