"""What can be known of a wheel for macOS without a Mac: that its programs are for the processor and the
version that its name says, want nothing but the system's libraries, bear a signature that holds, and that
the library exports what Linux's does.

usage: check_wheel.py LINUX_LIBRARY WHEEL..."""

import hashlib
import re
import struct
import subprocess
import sys
import zipfile

PROCESSORS = {"x86_64": 0x01000007, "arm64": 0x0100000C}
BUILD_VERSION, LOAD_LIBRARY, LIBRARY_NAME, SIGNATURE, SYMBOLS = 0x32, 0xC, 0xD, 0x1D, 0x2
OTHER_LOADS = (0x80000018, 0x8000001F, 0x80000023)  # weak, exported again, upward
MACOS, EXTERNAL, DEFINED = 1, 0x01, 0x0E


def text_at(data, at):
    return data[at : data.index(b"\0", at)].decode()


def commands(data):
    """Number, place and size of each of its load commands."""
    at, count = 32, struct.unpack_from("<I", data, 16)[0]
    for _ in range(count):
        number, size = struct.unpack_from("<II", data, at)
        yield number, at, size
        at += size


def exports(data, at):
    """The names that a symbol table defines for others, as C has them."""
    symbols, count, texts, _ = struct.unpack_from("<4I", data, at + 8)
    for i in range(count):
        name, kind = struct.unpack_from("<IB", data, symbols + 16 * i)
        if kind & EXTERNAL and kind & 0xE0 == 0 and kind & DEFINED == DEFINED:
            yield text_at(data, texts + name)[1:]


def signature_holds(data, at):
    """Has each page up to the signature the hash that is in it? (CodeDirectory in Apple's cs_blobs.h.)"""
    start = struct.unpack_from("<I", data, at + 8)[0]
    blobs = struct.unpack_from(">I", data, start + 8)[0]
    places = dict(struct.unpack_from(">II", data, start + 12 + 8 * i) for i in range(blobs))
    directory = start + places[0]
    hashes, pages, end, size, kind, page = struct.unpack_from(">16xI8xIIBBxB", data, directory)
    ends = range(0, end, 1 << page)
    return (end, size, kind, pages) == (start, 32, 2, len(ends)) and all(
        hashlib.sha256(data[p : min(p + (1 << page), end)]).digest() == data[h : h + 32]
        for p, h in zip(ends, range(directory + hashes, start + len(data), 32))
    )


def check(name, data, processor, linux_exports):
    """Complaints about a file of the wheel."""
    magic, kind = struct.unpack_from("<Ii", data)
    if magic != 0xFEEDFACF or kind & 0xFFFFFFFF != PROCESSORS[processor]:
        yield f"is not for {processor}"
        return
    signed = versioned = False
    for number, at, _ in commands(data):
        if number == BUILD_VERSION:
            system, least = struct.unpack_from("<II", data, at + 8)
            versioned = True
            if (system, least) != (MACOS, 11 << 16):
                yield f"is for system {system}, version {least >> 16}.{least >> 8 & 255}"
        elif number == LOAD_LIBRARY or number in OTHER_LOADS:
            library = text_at(data, at + struct.unpack_from("<I", data, at + 8)[0])
            if not library.startswith(("/usr/lib/libSystem.", "/System/Library/")):
                yield f"wants {library}"
        elif number == LIBRARY_NAME:
            own = text_at(data, at + struct.unpack_from("<I", data, at + 8)[0])
            if own != "@rpath/" + name.rpartition("/")[2]:
                yield f"calls itself {own}"
        elif number == SIGNATURE:
            signed = signature_holds(data, at)
        elif number == SYMBOLS and name.endswith(".dylib"):
            own = set(exports(data, at))
            for symbol in sorted(own ^ linux_exports):
                yield f"{'exports' if symbol in own else 'lacks'} {symbol}"
    if not versioned:
        yield "does not say which version of macOS it needs"
    if not signed:
        yield "has no signature that holds"


def main():
    listed = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True)
    linux_exports = set(re.findall(r" [^A] (\w+)", listed.stdout))
    failed = False
    for path in sys.argv[2:]:
        processor = re.search(r"macosx_11_0_(\w+)\.whl$", path)[1]
        wheel = zipfile.ZipFile(path)
        programs = [n for n in wheel.namelist() if wheel.read(n)[:4] in (b"\xcf\xfa\xed\xfe", b"\x7fELF")]
        complaints = [(n, text) for n in programs for text in check(n, wheel.read(n), processor, linux_exports)]
        if len(programs) != 3:
            complaints.append((path, f"has {programs}, not a library and two programs"))
        for name, text in complaints:
            print(f"{processor}: {name}: {text}")
        failed = failed or bool(complaints)
        print(f"{path}: {len(programs)} files looked at, {len(linux_exports)} names exported")
    sys.exit(failed)


main()
