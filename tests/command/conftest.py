"""What the command-line tests share: the program, folders of real scans, small volumes."""

import csv
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from collections import Counter
from pathlib import Path

import nibabel
import numpy as np
import one_slurm
import pytest
from scipy import ndimage

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("LOBULE_BIN", str(ROOT / "build" / "default" / "tools" / "lobule"))
SHARED = Path(os.environ.get("LOBULE_SHARED") or ROOT.parent / "shared")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # with it the program need not start again to set it
AFFINE = np.array([[1.5, 0, 0, -20], [0, 1.5, 0, -30], [0, 0, 2.5, 40], [0, 0, 0, 1.0]])


# Of a test that judges how good results are, on volumes that are large for it.
judges = pytest.mark.skipif("LOBULE_SANITIZED" in os.environ, reason="the optimised build judges results")


def cases(most):
    """So many random cases, or LOBULE_CASES; under sanitizers a quarter, since the optimised build compares the
    results of all."""
    most = int(os.environ.get("LOBULE_CASES", most))
    return range(most // 4 if "LOBULE_SANITIZED" in os.environ else most)


def pytest_configure(config):
    if not os.access(PROGRAM, os.X_OK):
        pytest.exit(f"{PROGRAM} is no program; set LOBULE_BIN", returncode=2)
    # A shell's background jobs and nohup have these ignored, which children inherit; what is caught is reset in them.
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_collection_modifyitems(config, items):
    """Under sanitizers, of a table of more than 6 rows each third is run, as of cases() a quarter."""
    if "LOBULE_SANITIZED" not in os.environ:
        return
    tables = Counter(item.originalname for item in items)
    seen, left = Counter(), []
    for item in items:
        seen[item.originalname] += 1
        if tables[item.originalname] > 6 and seen[item.originalname] % 3:
            left.append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in set(left)]


def pytest_sessionfinish(session, exitstatus):
    """A file all of whose tests were skipped is skipped, in CTest's eyes too."""
    outcomes = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if exitstatus in (0, 5) and "skipped" in outcomes and "passed" not in outcomes:
        session.exitstatus = 77


def lobule(*arguments, cwd=None, **more):
    """Run the program; its standard output and error are text."""
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    more.setdefault("timeout", 120)
    return subprocess.run(
        [PROGRAM, *map(str, arguments)],
        cwd=cwd,
        encoding="utf-8",
        errors="replace",
        stdin=subprocess.DEVNULL,
        check=False,
        **more,
    )


def good(*arguments, **more):
    """Run the program, which must succeed."""
    done = lobule(*arguments, **more)
    assert done.returncode == 0, done.stderr
    return done


def on_a_terminal(folder, arguments, columns=0, **more):
    """Run the program, which must succeed, and return what it shows on a terminal, of so many columns."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal to be had: {error}")
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 0, columns, 0, 0))
    child = subprocess.Popen([PROGRAM, *arguments], cwd=folder, stderr=slave, **({"stdout": slave} | more))
    os.close(slave)
    seen = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:
            break
        if not block:
            break
        seen += block
    os.close(master)
    assert child.wait(60) == 0
    return seen


def contents(folder):
    """Every file of a folder, hidden ones too, with its bytes."""
    assert not Path(folder).is_file(), f"{folder} is no folder"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def assert_one_line(done, code, *parts):
    """The command failed as it should: this exit code, one line on stderr that holds the parts."""
    assert done.returncode == code, f"exit {done.returncode}, not {code}: {done.stderr}"
    # The sanitizer has a word of its own on an allocation that is too large.
    lines = [x for x in done.stderr.splitlines() if "AddressSanitizer failed to allocate" not in x]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("lobule"), lines[0]
    assert not any(ord(c) < 32 or ord(c) == 127 for c in lines[0]), repr(lines[0])
    for part in parts:
        assert part in lines[0], f"'{part}' is not in: {lines[0]}"


def refused(folder, arguments, code, *parts, **more):
    """The command fails as it should, and leaves the folder in which it runs as it was."""
    before = contents(folder)
    done = lobule(*arguments, cwd=folder, **more)
    assert_one_line(done, code, *parts)
    assert contents(folder) == before


def save(array, path, affine=None, scale=None):
    """Write an array as NIfTI; scale is (slope, inter)."""
    volume = nibabel.Nifti1Image(array, AFFINE if affine is None else affine, dtype=array.dtype)
    volume.header.set_xyzt_units("mm", "sec")
    volume.header["descrip"] = b"made for a test"
    if scale:
        volume.header.set_slope_inter(*scale)
    nibabel.save(volume, path)
    return Path(path)


def rows_of(path):
    """The rows of a TSV, by the names of its columns."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def load(path):
    """Voxels as they are stored."""
    return np.asanyarray(nibabel.load(path).dataobj)


SHAPE = (23, 19, 11)
BALL = (slice(7, 15), slice(6, 13), slice(3, 8))


def scan_array(seed=1, noise=10):
    """A bright block in a darker surrounding, with noise."""
    image = np.full(SHAPE, 200, np.int16)
    image[BALL] = 700
    return image + np.random.default_rng(seed).integers(-noise, noise + 1, SHAPE).astype(np.int16)


def seeds_array(inside=2, outside=1):
    seeds = np.zeros(SHAPE, np.uint8)
    seeds[10, 9, 5] = inside
    seeds[1, 1, 1] = outside
    return seeds


@pytest.fixture
def folder(tmp_path):
    """A folder with image.nii.gz and seeds.nii.gz, and their uncompressed twins."""
    save(scan_array(), tmp_path / "image.nii.gz")
    save(scan_array(), tmp_path / "image.nii")
    save(seeds_array(), tmp_path / "seeds.nii.gz")
    save(seeds_array(), tmp_path / "seeds.nii")
    return tmp_path


def eroded_seeds(reference):
    """Seeds from labels: each of at least 500 voxels and, as one label more, the rest, eroded twice."""
    seeds = np.zeros(reference.shape, np.uint8)
    for label in np.unique(reference[reference > 0]):
        if np.count_nonzero(reference == label) >= 500:
            seeds[ndimage.binary_erosion(reference == label, iterations=2)] = label
    seeds[ndimage.binary_erosion(reference == 0, iterations=2)] = reference.max() + 1
    return seeds


@pytest.fixture(scope="session")
def abdomen(tmp_path_factory):
    """The abdominal CT, seeds for it made from its labels, and those labels' file."""
    data = SHARED / "data" / "totalsegmentator"
    if not data.is_dir():
        pytest.skip(f"no folder {data}: set LOBULE_SHARED")
    labels = data / "example_seg_fast_force_split.nii.gz"
    seeds = tmp_path_factory.mktemp("abdomen") / "seeds.nii.gz"
    save(eroded_seeds(load(labels)), seeds, affine=nibabel.load(labels).affine)
    return data / "example_ct.nii.gz", seeds, labels


@pytest.fixture
def shared():
    """The folder of real scans and hostile files."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder {SHARED} with real scans (LOBULE_SHARED)")
    return SHARED


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment in which sbatch and srun reach a Slurm of this machine."""
    with one_slurm.running(tmp_path_factory.mktemp("slurm")) as environment:
        yield environment
