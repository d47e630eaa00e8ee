"""Threads: as many as asked for, never more than 1024, and fewer where the system makes no more."""

import os
import resource
import subprocess

import numpy as np
import pytest
from conftest import PROGRAM, save

if os.environ.get("LOBULE_SANITIZED"):
    pytest.skip("sanitizers need threads and address space of their own", allow_module_level=True)
WORDS = ("growcut", "scan.nii", "seeds.nii", "-o", "out.nii", "--force", "--device", "cpu")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    save(rng.integers(0, 300, (40, 40, 20)).astype(np.int16), tmp_path / "scan.nii")
    seeds = np.zeros((40, 40, 20), np.uint8)
    seeds[3, 3, 3], seeds[30, 30, 15] = 1, 2
    save(seeds, tmp_path / "seeds.nii")
    return tmp_path


def run(folder, *words, threads=None, limit=None):
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(threads)} if threads else {})}

    def bound():
        kind, most, user = limit or (resource.RLIMIT_AS, resource.RLIM_INFINITY, 0)
        resource.setrlimit(kind, (most, most))
        if user:  # limits of processes do not bind root
            os.setgid(user)
            os.setuid(user)

    return subprocess.run(
        [PROGRAM, *WORDS, *words], cwd=folder, env=environment, preexec_fn=bound, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("threads", [1000000, 3])
def test_the_environment_s_threads_are_bounded(folder, threads):
    """As --threads is: a million of them ended the process."""
    done = run(folder, "--threads", "1")
    assert done.returncode == 0, done.stderr
    wanted = (folder / "out.nii").read_bytes()
    done = run(folder, threads=threads)
    assert done.returncode == 0, done.stderr
    assert (folder / "out.nii").read_bytes() == wanted


@pytest.mark.parametrize("megabytes", [300, 400, 1000])
def test_fewer_threads_in_little_address_space(folder, megabytes):
    """256 threads have stacks of 2 GB; OpenMP ended the process with 1, as if volumes differed."""
    assert run(folder, "--threads", "1").returncode == 0
    wanted = (folder / "out.nii").read_bytes()
    done = run(folder, "--threads", "256", limit=(resource.RLIMIT_AS, megabytes << 20, 0))
    assert done.returncode == 0, done.stderr
    assert (folder / "out.nii").read_bytes() == wanted
    assert "threads can be made" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without other processes")
@pytest.mark.parametrize("most", [1, 3, 5])
def test_fewer_threads_than_processes_are_allowed(folder, most):
    """As `ulimit -u` and the limits of containers do."""
    assert run(folder, "--threads", "1").returncode == 0
    wanted = (folder / "out.nii").read_bytes()
    for path in (folder, *folder.parents):
        if path.stat().st_uid == os.geteuid() and path != path.parent and "pytest" in path.name:
            path.chmod(0o777)
    folder.chmod(0o777)
    (folder / "out.nii").chmod(0o666)
    done = run(folder, "--threads", "8", limit=(resource.RLIMIT_NPROC, most, 40000 + os.getpid() % 20000))
    if done.returncode == 66 and "Permission" in done.stderr:
        pytest.skip("another user cannot read the folder of the tests")
    assert done.returncode == 0, done.stderr
    assert (folder / "out.nii").read_bytes() == wanted
    assert "threads can be made" in done.stderr
