"""A small part of tests/fuzz/mutate.py: every command on files damaged at random."""

import subprocess
import sys

from conftest import PROGRAM, ROOT


def mutate(*arguments):
    script = ROOT / "tests" / "fuzz" / "mutate.py"
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False, timeout=600)


def test_damaged_files():
    """No signal, no long time, no gigabytes, one line, nothing left behind; and sound files pass."""
    done = mutate("--program", PROGRAM, "--headers", "6", "--cuts", "2", "--flips", "2", "--affines", "4", "--jobs", "2")
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
        done = mutate("--program", program, "--headers", "1", "--cuts", "0", "--flips", "0", "--affines", "0")
        assert done.returncode == 1 and word in done.stdout, done.stdout + done.stderr
