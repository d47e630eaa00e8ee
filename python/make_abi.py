#!/usr/bin/env python3
"""Write lobule/_abi.py: what the public headers declare, in the words of ctypes.

usage: make_abi.py INCLUDE_FOLDER FILE, the folder being include/ of a build, which runs this when a
public header has changed. It reads C as these headers are written: a declaration ends with ';' or
'}', and a type is a name, a pointer, an array or a pointer to a function.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

NUMBERS = {
    "int": "c_int",
    "double": "c_double",
    "float": "c_float",
    "char": "c_char",
    "unsigned char": "c_ubyte",
    "_Bool": "c_bool",
    "size_t": "c_size_t",
    **{f"{u}int{n}_t": f"c_{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)},
}
HEAD = '''"""The library's structures, constants and functions, for ctypes.

Made from the public headers by make_abi.py when the library is built.
"""

# fmt: off
from ctypes import (
    CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
    c_int64, c_size_t, c_ubyte, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p,
)
from typing import Literal
'''


def tokens_of(include):
    """The headers' own lines after the preprocessor, as tokens."""
    compiler = os.environ.get("CC", "cc")
    flags = ["-E", f"-I{include}", "-x", "c", "-D__attribute__(x)=", "-"]
    text = subprocess.run(
        [compiler, *flags], input="#include <lobule/lobule.h>\n", text=True, check=True, stdout=subprocess.PIPE
    ).stdout
    ours, kept = False, []
    for line in text.splitlines():
        if line.startswith("# "):
            ours = f"{include}/lobule/" in line
        elif ours:
            kept.append(line)
    return re.findall(r"\.\.\.|\w+|<<|>>|[^\s\w]", "\n".join(kept))


def split(tokens, mark):
    """The tokens between marks that stand in no brackets."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in "([{") - (token in ")]}")
        if token == mark and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def closing(tokens, at):
    """Where the bracket closes that opens here."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i] in "([{") - (tokens[i] in ")]}")
        if depth == 0:
            return i
    raise ValueError(" ".join(tokens[:20]))


def statements(tokens):
    """Each declaration; a function's body is left out with its function."""
    start = at = 0
    while at < len(tokens):
        if tokens[at] == "{":
            at = closing(tokens, at)
            if tokens[start] == "static":
                start = at + 1
        elif tokens[at] == ";":
            yield tokens[start:at]
            start = at + 1
        at += 1


def prefix(names):
    return os.path.commonprefix(names).rpartition("_")[0]


def words_of(names):
    """The words that callers write for an enumeration's constants, in its order: their names without
    what they have in common. The last may be their count, as LOB_FILTERS."""
    if len(names) > 2 and (prefix(names[:-1]) != prefix(names) or re.search("_(STEP|TYPE)S$", names[-1])):
        names = names[:-1]
    return [name[len(prefix(names)) + 1 :].lower() for name in names]


class Writer:
    """Collects what is written of the declarations."""

    def __init__(self):
        self.structs, self.enums, self.functions_named, self.lines, self.functions = set(), set(), set(), [], []
        self.words = []

    def named(self, words):
        name = " ".join(w for w in words if w not in ("const", "struct", "enum", "extern", "volatile"))
        return "None" if name == "void" else "c_int" if name in self.enums else NUMBERS.get(name, name)

    def pointer(self, to, constant):
        """Arrays of numbers travel as addresses, structures by reference."""
        if to == "c_char" and constant:
            return "c_char_p"
        if to in self.structs or to.startswith("POINTER(lob_"):
            return f"POINTER({to})"
        return "c_void_p"

    def declared(self, words, parameter=False):
        """The name and the ctypes expression of one declarator with its type before it."""
        if "(" in words:  # a pointer to a function: type ( * name ) ( parameters )
            opens = words.index("(")
            name = next(w for w in words[opens + 1 :] if w not in ("*", "const"))
            given = words[closing(words, opens) + 2 : -1]
            return name, f"CFUNCTYPE({', '.join([self.declared([*words[:opens], 'x'])[1], *self.parameters(given)])})"
        sides = []
        while words[-1] == "]":
            opens = len(words) - 1 - words[::-1].index("[")
            sides.insert(0, self.number(words[opens + 1 : -1]))
            words = words[:opens]
        stars = [i for i, w in enumerate(words) if w == "*"]
        names = [i for i, w in enumerate(words) if re.match(r"[A-Za-z_]", w) and w != "const"]
        last = names[-1] if len(names) > 1 and (not stars or names[-1] > stars[-1]) and not self.is_type(words) else len(words)
        name, of = (words[last] if last < len(words) else ""), words[: stars[0] if stars else last]
        kind = self.named(of)
        if parameter and (kind in self.functions_named):
            return name, "c_void_p"
        for n in range(len(stars)):
            kind = self.pointer(kind, n == 0 and "const" in of)
        if sides and parameter:
            return name, "c_void_p"
        for side in reversed(sides):
            kind = f"{kind} * {re.sub(r'(?<=[0-9])[uUlL]+', '', side)}"
        return name, kind

    @staticmethod
    def is_type(words):
        """Do the words name a type and nothing of it, as unnamed parameters do?"""
        return words in (["unsigned", "char"], ["const", "unsigned", "char"])

    def parameters(self, tokens):
        kinds = [self.declared(words, True)[1] for words in split(tokens, ",")]
        return [kind for kind in kinds if kind != "None"]

    def enum(self, tokens, name=""):
        value = "0"
        items = split(tokens, ",")
        for item in items:
            if len(item) > 1:
                value = re.sub(r"(?<=[0-9])[uUlL]+", "", self.number(item[2:]))
            self.lines.append(f"{item[0]} = {value}")
            value = f"{item[0]} + 1"
        if name and all(len(item) == 1 for item in items):
            self.words.append(f"{name}_word = Literal[{', '.join(map(repr, words_of([item[0] for item in items])))}]")

    @staticmethod
    def number(words):
        return "".join(words) if len(words) < 3 else f"({' '.join(words)})"

    def struct(self, name, tokens):
        self.structs.add(name)
        self.lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        for field in split(tokens, ";"):
            first, *others = split(field, ",")
            base = first[: next((i for i, w in enumerate(first) if w in "*("), len(first))]
            while others and base[-1] == "]":
                base = base[: len(base) - 1 - base[::-1].index("[")]
            if others and "*" not in first:
                base = base[:-1]
            for words in [first, *([*base, *more] for more in others)]:
                self.lines.append('        ("{}", {}),'.format(*self.declared(words)))
        self.lines += ["    ]", "", ""]

    def statement(self, words):
        typedef, opens = words[0] == "typedef", words.index("{") if "{" in words else -1
        body = words[opens + 1 : closing(words, opens)] if opens >= 0 else []
        if body and "enum" in words[:opens]:
            self.enums.update(words[-1:] if typedef else [])
            self.enum(body, words[-1] if typedef else "")
        elif body and typedef:
            self.struct(words[-1], body)
        elif typedef and words[-1] == ")" and words[words.index("(") + 1] != "*":
            self.functions_named.add(words[words.index("(") - 1])
        elif not typedef and words[0] not in ("static", "struct") and words[-1] == ")" and "..." not in words:
            opens = words.index("(")
            result = self.declared(words[:opens])[1]
            self.functions.append(f'    "{words[opens - 1]}": ({result}, [{", ".join(self.parameters(words[opens + 1 : -1]))}]),')

    def text(self, version):
        lines = [HEAD, f'VERSION = "{version}"', *self.lines]
        lines += ["", "", "# what callers write for an enumeration, in its order", *self.words]
        lines += ["", "# name: (what it returns, what it takes)", "FUNCTIONS = {", *self.functions, "}"]
        return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)) + "\n"


def made(include):
    """The text of _abi.py for the headers in this folder."""
    include = Path(include).resolve()
    writer = Writer()
    for words in statements(tokens_of(include)):
        writer.statement(words)
    header = (include / "lobule" / "version.h").read_text()
    return writer.text(re.search(r'LOB_VERSION +"(.*)"', header).group(1))


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(made(sys.argv[1]))
