"""The lint of rooms, layers and circles finds what is put into a copy of the tree."""

import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

LINT = ROOT / "tests" / "lint" / "rooms.py"


def lint(folder):
    return subprocess.run([sys.executable, LINT, folder], capture_output=True, text=True)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    for room in ("volumes", "kernels", "io", "api", "tools", "python"):
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_the_tree_is_clean(tree):
    done = lint(tree)
    assert done.returncode == 0 and "no breach" in done.stdout, done.stdout


FAULTS = [
    ("two headers", {"kernels/maxima/maxima.h": "kernels/merge/basins.h", "kernels/merge/basins.h": "kernels/maxima/maxima.h"},
     "a circle: kernels/maxima/maxima.h includes kernels/merge/basins.h; kernels/merge/basins.h includes"),
    ("two sources", {"io/gzip.c": "io/byte_order.h", "io/byte_order.c": "io/gzip.h"},
     "a circle: io/byte_order.c includes io/gzip.h; io/gzip.c includes io/byte_order.h"),
    ("three of them, in two rooms", {"tools/text/text.c": "tools/options/options.h", "tools/options/options.h":
     "tools/text/json_text.h", "tools/text/json_text.h": "tools/text/text.h"}, "a circle: tools/options/options.h"),
    ("modules", {"python/lobule/_errors.py": "_volumes"}, "a circle: python/lobule/_errors.py imports"),
    ("a job below its algorithms", {"kernels/threshold/threshold_cpu.c": "kernels/cells/cells.h"},
     "kernels/threshold/threshold_cpu.c:2: threshold lies below cells"),
    ("what all use knows an algorithm", {"kernels/budget.c": "kernels/filters/filters.h"}, "budget lies below filters"),
    ("a text that knows the session", {"tools/text/text.c": "tools/session/session.h"}, "text lies below session"),
    ("a room without a layer", {"tools/attic/old.h": "tools/text/text.h"}, "attic has no layer"),
    ("a room that knows its user", {"volumes/volume.c": "io/io.h"}, "volumes/ may not know io/"),
]  # fmt: skip


@pytest.mark.parametrize("includes, said", [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_a_fault_is_found(tree, includes, said):
    before = {name: (tree / name).read_bytes() for name in includes if (tree / name).exists()}
    try:
        for name, target in includes.items():
            line = f"from . import {target}" if name.endswith(".py") else f'/* A fault. */ #include "{target}"'
            line = line.replace("*/ ", "*/\n")
            (tree / name).parent.mkdir(exist_ok=True)
            (tree / name).write_bytes(line.encode() + b"\n" + before.get(name, b""))
        done = lint(tree)
        assert done.returncode == 1 and said in done.stdout, done.stdout
    finally:
        for name in includes:
            (tree / name).unlink()
        for name, text in before.items():
            (tree / name).write_bytes(text)
