"""A small part of tests/fuzz/mutate.py: every command on files damaged at random."""

import subprocess
import sys

from conftest import PROGRAM, ROOT


KINDS = ("headers", "cuts", "flips", "affines", "nrrd", "metaimage", "tiff", "ome", "markups", "recipes", "manifests", "reports")


def mutate(*arguments, **counts):
    """Of each kind no file, unless a number is given."""
    script = ROOT / "tests" / "fuzz" / "mutate.py"
    arguments += tuple(f"--{kind}={counts.get(kind, 0)}" for kind in KINDS)
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False, timeout=600)


def test_damaged_files():
    """No signal, no long time, no gigabytes, one line, nothing left behind; and sound files pass."""
    counts = {"headers": 6, "cuts": 2, "flips": 2, "affines": 4, "nrrd": 2, "metaimage": 2, "tiff": 2, "ome": 2,
              "markups": 8, "recipes": 8, "manifests": 8, "reports": 4}  # fmt: skip
    done = mutate("--program", PROGRAM, "--jobs", "2", **counts)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "faults: 0" in done.stdout


def test_it_finds_faults(tmp_path):
    """A program that prints two lines, leaves a file, and dies of a signal is found out."""
    program = tmp_path / "program"
    for text, word in (
        ("echo lobule; echo lobule >&2; echo lobule >&2; exit 65", "2 lines"),
        ("echo lobule >&2; touch left; exit 65", "left left"),
        ("echo lobule >&2; kill -SEGV $$", "signal 11"),
        ("echo lobule >&2; exit 64", "exit 64"),
        ("echo oops >&2", "a line that is not Lobule's"),
    ):
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        done = mutate("--program", program, headers=1)
        assert done.returncode == 1 and word in done.stdout, done.stdout + done.stderr
