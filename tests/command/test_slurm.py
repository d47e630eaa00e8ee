"""Four tasks of srun on a Slurm of this machine: the bytes of one, whatever ends them; and a job that goes back into the queue."""

import contextlib
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, ROOT, cases, contents, good, save

TASKS = 4
pytestmark = [
    pytest.mark.skipif("LOBULE_SANITIZED" in os.environ, reason="run in the optimised build"),
    pytest.mark.skipif(not (Path(PROGRAM).parent / "liblobule_mpi_openmpi.so").exists(), reason="the program has no plugin for Open MPI"),
]
LINE = ("components", "image.ome.zarr", "-o", "labels.nii", "--equal", "--threads", "1")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store of noise, cut into many chunks, and what one task makes of it."""
    folder = tmp_path_factory.mktemp("whole")
    noise = (np.random.default_rng(5).random((160, 150, 200)) * 6).astype(np.uint8)
    save(noise, folder / "image.nii")
    good("convert", "image.nii", "image.ome.zarr", cwd=folder)
    (folder / "image.nii").unlink()
    good(*LINE, cwd=folder)
    return folder


@pytest.fixture
def scan(whole, tmp_path):
    shutil.copytree(whole / "image.ome.zarr", tmp_path / "image.ome.zarr")
    return tmp_path


def srun(slurm, folder, *arguments, **more):
    """A step; as slurm_ranks.sh starts it."""
    return subprocess.Popen(["srun", "-K", "-n", str(TASKS), "--mpi=pmix", PROGRAM, *arguments], cwd=folder, env=slurm,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def tasks_of(folder):
    """Processes of the program that work in this folder, by their rank."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if (os.readlink(f"/proc/{entry}/exe"), os.readlink(f"/proc/{entry}/cwd")) == (os.path.realpath(PROGRAM), str(folder)):
                environment = Path(f"/proc/{entry}/environ").read_bytes()  # empty, of one that is ending
                rank = environment.partition(b"SLURM_PROCID=")[2].partition(b"\0")[0]
                found[int(rank or -1)] = int(entry)
    return found


def started(step, folder):
    deadline = time.monotonic() + 60
    while len(tasks_of(folder)) < TASKS:
        assert step.poll() is None and time.monotonic() < deadline, step.communicate()
        time.sleep(0.01)


def ended(step, folder, within_s=30):
    """All that was said, and what the program said of it, when srun and every task have ended."""
    said = step.communicate(timeout=within_s)[1]
    assert not tasks_of(folder), said
    return said, [line for line in said.splitlines() if line.startswith("lobule")]


def test_tasks_of_srun_give_what_one_task_gives(slurm, whole, scan):
    assert ended(srun(slurm, scan, *LINE), scan, 120) == ("", [])
    assert contents(scan) == contents(whole)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_task_that_is_killed_ends_all(slurm, whole, scan, how):
    """At moments over the whole of the work, from before the tasks know each other on, and each task in turn."""
    before, killed, moments = contents(scan), 0, cases(10)
    step = srun(slurm, scan, *LINE)
    started(step, scan)
    begin = time.monotonic()
    ended(step, scan, 120)
    takes_s = time.monotonic() - begin
    (scan / "labels.nii").unlink()
    for turn, number in enumerate([*moments] * 3):
        if turn >= len(moments) and killed > 2:  # else the work was faster than when it was timed
            break
        step = srun(slurm, scan, *LINE)
        started(step, scan)
        time.sleep(takes_s * number / len(moments))
        victim = tasks_of(scan).get(number % TASKS)
        if victim:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, how)
        said, lines = ended(step, scan)
        if (scan / "labels.nii").exists():  # it was faster
            assert contents(scan) == contents(whole)
            (scan / "labels.nii").unlink()
        else:
            # The code that they agreed on, unless srun has ended one before it came to that or could leave.
            assert step.returncode in ((130, 143) if lines else (143, 137)), said
            assert lines in ([], ["lobule components: cancelled"]), said
            killed += 1
        assert contents(scan) == before, said
    assert killed > 2


def assert_all_fail(slurm, folder, line, code, *parts, **more):
    before = contents(folder)
    step = srun(slurm, folder, *line, **more)
    said, lines = ended(step, folder)
    assert step.returncode == code and len(lines) == 1 and all(part in lines[0] for part in parts), said
    assert set(re.findall("exit code ([0-9]+)", said)) == {str(code)} and "Terminated" not in said, said
    assert contents(folder) == before


@pytest.mark.parametrize("mib", [5, 9, 13, 17])  # of 18; MPI's own files have 4
def test_a_full_disk_ends_all(slurm, scan, mib):
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (mib << 20, mib << 20))
    assert_all_fail(slurm, scan, LINE, 74, "labels.nii", preexec_fn=limit)


@pytest.mark.parametrize("z", range(4))
def test_a_damaged_shard_ends_all(slurm, scan, z):
    """One chunk of it, which some tasks read and others do not; the index of 3 x 3 x 4 chunks is at its end."""
    shard = scan / "image.ome.zarr/0/c/0/0/0"
    data = bytearray(shard.read_bytes())
    at, length = struct.unpack_from("<QQ", data, len(data) - 4 - 16 * 36 + 16 * 9 * z)
    data[at : at + 8] = bytes(8)
    assert 8 < length < len(data)
    shard.write_bytes(data)
    assert_all_fail(slurm, scan, LINE, 65, "image.ome.zarr")


# A program that, the first time task 2 has joined pieces for a moment, has its job put back into the queue.
PUT_BACK_ONCE = """#!/bin/sh
if [ "$1" = components ] && [ "$SLURM_PROCID" = 2 ] && mkdir "{folder}/was_put_back" 2>/dev/null; then
    (sleep 0.4; scontrol requeue "$SLURM_JOB_ID") &
fi
exec "{program}" "$@"
"""


def test_a_job_that_is_put_back_gives_the_same(slurm, whole, scan):
    """By slurm_ranks.sh, in the middle of its last step."""
    script = ROOT / "cluster/slurm_ranks.sh"
    names = ("image.ome.zarr", "pieces.ome.zarr")
    alone = whole.parent / "alone"
    shutil.copytree(whole / "image.ome.zarr", alone / "image.ome.zarr")
    subprocess.run([script, *names], cwd=alone, check=True, env=os.environ | {"LOBULE": PROGRAM, "LOBULE_LAUNCH": ""}, capture_output=True)
    wrapper = scan / "put_back"
    wrapper.write_text(PUT_BACK_ONCE.format(folder=scan, program=os.path.realpath(PROGRAM)))
    wrapper.chmod(0o755)
    submit = ["sbatch", "--parsable", f"--ntasks-per-node={TASKS}", "--cpus-per-task=1", "--mem-per-cpu=200M", script, *names]
    job = subprocess.run(submit, cwd=scan, env=slurm | {"LOBULE": str(wrapper)}, capture_output=True, text=True, check=True).stdout.strip()
    deadline, told = time.monotonic() + 120, ""
    while "JobState=COMPLETED" not in told and time.monotonic() < deadline:
        time.sleep(0.2)
        told = subprocess.run(["scontrol", "show", "job", job], env=slurm, capture_output=True, text=True, check=True).stdout
    log = next(scan.glob("lobule-*.log")).read_text()
    assert "Restarts=1" in told and "JobState=COMPLETED" in told, (told, log)
    made = {name: data for name, data in contents(scan).items() if not name.endswith(".log") and name != "put_back"}
    assert made == contents(alone)
