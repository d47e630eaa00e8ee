#!/usr/bin/env python3
"""Write python/lobule/_abi.py: what the public headers declare, in the words of ctypes.

usage: make_abi.py INCLUDE_FOLDER [FILE], the folder being include/ of a build; without FILE it goes
to standard output. Run it when a public header changed; a test compares what it would write.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

from pycparser import c_ast, c_parser

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

Made from the public headers by make_abi.py; not edited by hand.
"""

# fmt: off
from ctypes import (
    CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
    c_int64, c_size_t, c_ubyte, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p,
)
'''


def declarations(include):
    """The headers' own lines after the preprocessor, behind typedefs of the types that they use."""
    compiler = os.environ.get("CC", "cc")
    flags = ["-E", f"-I{include}", "-x", "c", "-D__attribute__(x)=", "-"]
    text = subprocess.run(
        [compiler, *flags], input="#include <lobule/lobule.h>\n", text=True, check=True,
        stdout=subprocess.PIPE,
    ).stdout  # fmt: skip
    ours, kept = False, []
    for line in text.splitlines():
        if line.startswith("# "):
            ours = f"{include}/lobule/" in line
        elif ours:
            kept.append(line)
    types = [name for name in NUMBERS if name.endswith("_t")]
    return "".join(f"typedef int {name};\n" for name in types) + "\n".join(kept)


class Writer:
    """Collects what is written of one list of declarations."""

    def __init__(self):
        self.structs, self.enums, self.lines, self.functions = set(), set(), [], []

    def type_of(self, node):
        """The ctypes expression of a declared type."""
        if isinstance(node, c_ast.TypeDecl):
            return self.type_of(node.type)
        if isinstance(node, c_ast.IdentifierType):
            name = " ".join(node.names)
            if name == "void":
                return "None"
            return "c_int" if name in self.enums else NUMBERS.get(name, name)
        if isinstance(node, c_ast.ArrayDecl):
            return f"{self.type_of(node.type)} * {self.number(node.dim)}"
        if isinstance(node, c_ast.FuncDecl):
            return f"CFUNCTYPE({', '.join([self.type_of(node.type), *self.arguments(node)])})"
        return self.pointer(node)

    def pointer(self, node):
        """Arrays of numbers travel as addresses, structures by reference."""
        to = node.type
        if isinstance(to, c_ast.FuncDecl):
            return self.type_of(to)
        name = self.type_of(to)
        if name == "c_char" and "const" in to.quals:
            return "c_char_p"
        if name in self.structs or name.startswith("POINTER(lob_"):
            return f"POINTER({name})"
        return "c_void_p"

    def argument(self, node):
        """The type of a parameter; an array is a pointer there."""
        if isinstance(node.type, c_ast.ArrayDecl):
            return "c_void_p"
        if isinstance(node.type, c_ast.TypeDecl) and self.type_of(node.type) == "lob_components_function":
            return "c_void_p"
        return self.type_of(node.type)

    def arguments(self, function):
        given = function.args.params if function.args else []
        return [t for t in map(self.argument, given) if t != "None"]

    def number(self, node):
        """The value of a constant expression, in terms of constants that were written before."""
        if isinstance(node, c_ast.Constant):
            return re.sub(r"[uUlL]+$", "", node.value)
        if isinstance(node, c_ast.ID):
            return node.name
        if isinstance(node, c_ast.UnaryOp):
            return f"{node.op}{self.number(node.expr)}"
        return f"({self.number(node.left)} {node.op} {self.number(node.right)})"

    def enum(self, node):
        value = "0"
        for item in node.values.enumerators:
            if item.value is not None:
                value = self.number(item.value)
            self.lines.append(f"{item.name} = {value}")
            value = f"{item.name} + 1"

    def struct(self, name, node):
        self.structs.add(name)
        self.lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        for field in node.decls:
            self.lines.append(f'        ("{field.name}", {self.type_of(field.type)}),')
        self.lines += ["    ]", "", ""]

    def typedef(self, node):
        inner = node.type.type if isinstance(node.type, c_ast.TypeDecl) else None
        if isinstance(inner, c_ast.Enum):
            self.enums.add(node.name)
            self.enum(inner)
        elif isinstance(inner, c_ast.Struct) and inner.decls:
            self.struct(node.name, inner)

    def declaration(self, node):
        if isinstance(node.type, c_ast.Enum):
            self.enum(node.type)
        elif isinstance(node.type, c_ast.FuncDecl) and "static" not in node.storage:
            variadic = node.type.args and any(
                isinstance(p, c_ast.EllipsisParam) for p in node.type.args.params
            )
            if not variadic:
                types = ", ".join(self.arguments(node.type))
                result = self.type_of(node.type.type)
                self.functions.append(f'    "{node.name}": ({result}, [{types}]),')

    def text(self, version):
        lines = [HEAD, f'VERSION = "{version}"', *self.lines]
        lines += ["# name: (what it returns, what it takes)", "FUNCTIONS = {", *self.functions, "}"]
        return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)) + "\n"


def made(include):
    """The text of _abi.py for the headers in this folder."""
    include = Path(include).resolve()
    writer = Writer()
    for node in c_parser.CParser().parse(declarations(include)).ext:
        if isinstance(node, c_ast.Typedef) and node.name.startswith("lob_"):
            writer.typedef(node)
        elif isinstance(node, c_ast.Decl):
            writer.declaration(node)
    header = (include / "lobule" / "version.h").read_text()
    return writer.text(re.search(r'LOB_VERSION +"(.*)"', header).group(1))


if __name__ == "__main__":
    text = made(sys.argv[1])
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(text)
    else:
        sys.stdout.write(text)
