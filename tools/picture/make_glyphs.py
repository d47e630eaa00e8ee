#!/usr/bin/env python3
"""Make glyphs.bin, the outlines of the letters of pictures, from a TrueType font: DejaVu Sans, as Debian's fonts-dejavu-core
has it. Outlines and not a font file: a picture has the same bytes everywhere. canvas.c says what is where.

usage: make_glyphs.py [FONT.ttf] > glyphs.bin"""

import struct
import sys
from pathlib import Path

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"

# Latin with its accents, Greek, Cyrillic, dashes, quotes, signs; the last stands for what is not here.
CHARACTERS = [
    *range(0x20, 0x7F), *range(0xA0, 0xAD), *range(0xAE, 0x180), *range(0x386, 0x38B), 0x38C, *range(0x38E, 0x3A2),
    *range(0x3A3, 0x3CF), *range(0x400, 0x460), 0x490, 0x491, 0x1E9E, *range(0x2013, 0x2015), *range(0x2018, 0x201F),
    0x2026, 0x20AC, 0x2190, 0x2192, 0x2212, 0x2248, 0x2264, 0x2265, 0xFFFD]  # fmt: skip

ON_CURVE, SHORT_X, SHORT_Y, REPEAT, SAME_X, SAME_Y = 1, 2, 4, 8, 16, 32
WORDS, ARE_XY, SCALE, MORE, SCALE_XY, SCALE_2X2 = 1, 2, 8, 32, 64, 128


class Font:
    """Tables of a font with TrueType outlines (https://learn.microsoft.com/typography/opentype/spec/)."""

    def __init__(self, data):
        self.data = data
        count = struct.unpack_from(">H", data, 4)[0]
        self.tables = {data[at : at + 4].decode(): struct.unpack_from(">I", data, at + 8)[0] for at in range(12, 12 + 16 * count, 16)}
        head = self.tables["head"]
        self.em, self.long = struct.unpack_from(">H", data, head + 18)[0], struct.unpack_from(">h", data, head + 50)[0]
        self.metrics = struct.unpack_from(">H", data, self.tables["hhea"] + 34)[0]
        self.map = self.characters()

    def characters(self):
        """Of the subtable of format 4: glyph by character."""
        cmap, found = self.tables["cmap"], {}
        for i in range(struct.unpack_from(">H", self.data, cmap + 2)[0]):
            at = cmap + struct.unpack_from(">I", self.data, cmap + 8 + 8 * i)[0]
            if struct.unpack_from(">H", self.data, at)[0] != 4:
                continue
            n = struct.unpack_from(">H", self.data, at + 6)[0] // 2
            ends, starts, deltas, ranges = (struct.unpack_from(f">{n}H", self.data, at + 14 + k) for k in (0, 2 * n + 2, 4 * n + 2, 6 * n + 2))
            for k in range(n):
                for c in range(starts[k], ends[k] + 1):
                    glyph = c
                    if ranges[k]:
                        glyph = struct.unpack_from(">H", self.data, at + 16 + 6 * n + 2 * k + ranges[k] + 2 * (c - starts[k]))[0]
                    found[c] = (glyph + deltas[k]) & 0xFFFF
            return found
        raise SystemExit("no character map of format 4")

    def advance(self, glyph):
        return struct.unpack_from(">H", self.data, self.tables["hmtx"] + 4 * min(glyph, self.metrics - 1))[0]

    def contours(self, glyph):
        """Lists of (x, y, is on the curve)."""
        loca = self.tables["loca"]
        first, last = struct.unpack_from(">2I" if self.long else ">2H", self.data, loca + (4 if self.long else 2) * glyph)
        if first == last:
            return []
        at = self.tables["glyf"] + first * (1 if self.long else 2)
        count = struct.unpack_from(">h", self.data, at)[0]
        return self.simple(at + 10, count) if count >= 0 else self.composite(at + 10)

    def simple(self, at, count):
        ends = struct.unpack_from(f">{count}H", self.data, at)
        at += 2 * count
        at += 2 + struct.unpack_from(">H", self.data, at)[0]
        flags = []
        while len(flags) <= ends[-1]:
            flag = self.data[at]
            again = self.data[at + 1] if flag & REPEAT else 0
            at += 2 if flag & REPEAT else 1
            flags += [flag] * (again + 1)
        places = []
        for short, same in ((SHORT_X, SAME_X), (SHORT_Y, SAME_Y)):
            value, values = 0, []
            for flag in flags:
                if flag & short:
                    value += self.data[at] if flag & same else -self.data[at]
                    at += 1
                elif not flag & same:
                    value += struct.unpack_from(">h", self.data, at)[0]
                    at += 2
                values.append(value)
            places.append(values)
        points = list(zip(*places, [f & ON_CURVE for f in flags], strict=True))
        return [points[a:b] for a, b in zip((0, *(e + 1 for e in ends)), (e + 1 for e in ends), strict=False)]

    def composite(self, at):
        parts, more = [], True
        while more:
            flags, glyph = struct.unpack_from(">2H", self.data, at)
            x, y = struct.unpack_from(">2h" if flags & WORDS else ">2b", self.data, at + 4)
            at += 8 if flags & WORDS else 6
            a, b, c, d = 1, 0, 0, 1
            if flags & SCALE:
                a = d = struct.unpack_from(">h", self.data, at)[0] / 16384
            elif flags & SCALE_XY:
                a, d = (v / 16384 for v in struct.unpack_from(">2h", self.data, at))
            elif flags & SCALE_2X2:
                a, b, c, d = (v / 16384 for v in struct.unpack_from(">4h", self.data, at))
            at += 2 if flags & SCALE else 4 if flags & SCALE_XY else 8 if flags & SCALE_2X2 else 0
            if not flags & ARE_XY:
                raise SystemExit("a glyph whose parts are put at points")
            parts += [[(round(a * u + c * v) + x, round(b * u + d * v) + y, on) for u, v, on in contour]
                      for contour in self.contours(glyph)]  # fmt: skip
            more = flags & MORE
        return parts


def main():
    font = Font(Path(sys.argv[1] if len(sys.argv) > 1 else FONT).read_bytes())
    glyphs, points = [], []
    for character in CHARACTERS:
        glyph = font.map[character]
        contours = font.contours(glyph)
        glyphs.append((character, font.advance(glyph), len(points), sum(map(len, contours))))
        for contour in contours:
            # Three numbers of a point: bit 0 of the last: on the curve, bit 1: a contour's last.
            points += [(x, y, on + 2 * (i == len(contour) - 1)) for i, (x, y, on) in enumerate(contour)]
    words = struct.pack("<2H", font.em, len(glyphs))
    words += b"".join(struct.pack("<4H", *g) for g in glyphs) + b"".join(struct.pack("<3h", *p) for p in points)
    sys.stdout.buffer.write(words)


main()
