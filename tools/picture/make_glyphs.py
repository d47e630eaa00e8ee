#!/usr/bin/env python3
"""Make glyphs.bin, the outlines of the letters of pictures, from a TrueType font: DejaVu Sans, as Debian's fonts-dejavu-core
has it. Outlines and not a font file: a picture has the same bytes everywhere. canvas.c says what is where.

usage: make_glyphs.py [FONT.ttf] > glyphs.bin   with fontTools (tests/requirements.txt)"""

import struct
import sys

from fontTools.ttLib import TTFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"

# Latin with its accents, Greek, Cyrillic, dashes, quotes, signs; the last stands for what is not here.
CHARACTERS = [
    *range(0x20, 0x7F), *range(0xA0, 0xAD), *range(0xAE, 0x180), *range(0x386, 0x38B), 0x38C, *range(0x38E, 0x3A2),
    *range(0x3A3, 0x3CF), *range(0x400, 0x460), 0x490, 0x491, 0x1E9E, *range(0x2013, 0x2015), *range(0x2018, 0x201F),
    0x2026, 0x20AC, 0x2190, 0x2192, 0x2212, 0x2248, 0x2264, 0x2265, 0xFFFD]  # fmt: skip

font = TTFont(sys.argv[1] if len(sys.argv) > 1 else FONT)
names, outlines = font.getBestCmap(), font["glyf"]
glyphs, points = [], []
for character in CHARACTERS:
    places, ends, on_curve = outlines[names[character]].getCoordinates(outlines)
    glyphs.append((character, font["hmtx"][names[character]][0], len(points), len(places)))
    # Three numbers of a point: bit 0 of the last: on the curve, bit 1: a contour's last.
    points += [(x, y, (on & 1) + 2 * (i in ends)) for i, ((x, y), on) in enumerate(zip(places, on_curve, strict=True))]
words = struct.pack("<2H", font["head"].unitsPerEm, len(glyphs))
words += b"".join(struct.pack("<4H", *g) for g in glyphs) + b"".join(struct.pack("<3h", *p) for p in points)
sys.stdout.buffer.write(words)
