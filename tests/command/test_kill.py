"""A command that is killed while it writes, and a disk that is full: never a part of a file under the output's name.

LOBULE_KILLS=200 kills so often, over all formats; each of them four times where it is not set."""

import os
import random
import resource
import subprocess
import time

import numpy as np
import pytest
from conftest import PROGRAM, assert_one_line, good, lobule, save

FORMATS = ["out.nii", "out.nii.gz", "out.hdr", "out.img.gz", "out.nrrd", "out.seg.nrrd", "out.mha", "out.h5", "out.tif", "out.ome.tif"]
KILLS = max(4, int(os.environ.get("LOBULE_KILLS", "0")) // len(FORMATS))  # of each format


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """A volume that takes some time to write, labels at the same time."""
    folder = tmp_path_factory.mktemp("kill")
    side = 60 if os.environ.get("LOBULE_SANITIZED") else 100
    save(np.random.default_rng(3).integers(0, 300, (side, side, 40)).astype(np.int16), folder / "in.nii")
    return folder


def files(folder):
    """What a user sees, and what is hidden."""
    names = [p.name for p in folder.iterdir()]
    return {n: (folder / n).read_bytes() for n in names if n[0] != "."}, [n for n in names if n[0] == "."]


def has_unnamed_files(folder):
    """Files without a name until they are whole, of which a killed process leaves nothing."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        return False
    return True


def run_and_kill(arguments, folder, after_s):
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(after_s)
    process.kill()
    return process.wait()


@pytest.mark.parametrize("output", FORMATS)
def test_killed_at_random_moments(scan, tmp_path, output):
    """Either nothing is there, or what the whole command writes; with --force, what was there before. A process leaves at
    most a hidden file for each of its own behind."""
    arguments = ["convert", scan / "in.nii", output]
    (tmp_path / "whole").mkdir()
    start = time.monotonic()
    good(*arguments, cwd=tmp_path / "whole")
    takes_s = time.monotonic() - start
    whole, _ = files(tmp_path / "whole")
    moments = random.Random(output)
    for force in (False, True):
        folder = tmp_path / f"force{force}"
        folder.mkdir()
        old = {name: b"old" for name in whole} if force else {}
        hides = force or not has_unnamed_files(folder)
        for kills in range(1, KILLS // 2 + 1):
            for name in whole:
                (folder / name).unlink(missing_ok=True)
            for name, content in old.items():
                (folder / name).write_bytes(content)
            run_and_kill([*arguments, *(["--force"] if force else [])], folder, moments.uniform(0, 1.1 * takes_s))
            seen, hidden = files(folder)
            for name, content in seen.items():
                assert content in (whole[name], old.get(name)), f"{name}: {len(content)} bytes"
            assert seen.keys() >= old.keys()
            assert len(hidden) <= (kills * len(whole) if hides else 0), hidden
    time.sleep(0.1)


def small_files_only():
    resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))


@pytest.mark.parametrize("output", [*FORMATS, "out.png"])
@pytest.mark.parametrize("force", [False, True])
def test_full_disk(scan, tmp_path, output, force):
    """Exit code 74, one line, and what was there before."""
    arguments = ["convert", scan / "in.nii", output]
    if output == "out.png":
        save(np.random.default_rng(3).integers(0, 300, (300, 300, 1)).astype(np.uint16), tmp_path / "flat.nii")
        arguments[1] = "flat.nii"
    if force:
        (tmp_path / output).write_bytes(b"old")
        arguments.append("--force")
    before = files(tmp_path)
    assert_one_line(lobule(*arguments, cwd=tmp_path, preexec_fn=small_files_only), 74, output.split(".")[0])
    assert files(tmp_path) == before


def test_full_disk_for_tables(scan, tmp_path):
    save(np.arange(40 * 40 * 10).reshape(40, 40, 10).astype(np.int32), tmp_path / "in.nii")
    for arguments in (
        ["stats", "in.nii", "in.nii", "--table", "out.tsv"],
        ["stats", "in.nii", "in.nii", "--table", "out.json"],
        ["maxima", "in.nii", "-o", "labels.nii", "--report", "out.json"],
    ):
        before = files(tmp_path)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
        done = lobule(*arguments, cwd=tmp_path, preexec_fn=limit)
        assert_one_line(done, 74)
        assert files(tmp_path) == before
