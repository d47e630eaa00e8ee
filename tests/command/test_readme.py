"""Every command line of README.md runs as it stands there."""
import re
import shlex

import numpy as np
import pytest
from conftest import ROOT, good, load, lobule

README = ROOT / "README.md"


def examples():
    text = README.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if re.match(r" {4}lobule ", line)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the examples start from."""
    path = tmp_path_factory.mktemp("readme")
    good("phantom", "abdomen", "-o", "scan.nii.gz", "--truth", "truth.nii.gz", "--seeds",
         "seeds.nii.gz", "--size", "48,48,24", cwd=path)
    (path / "body.nii.gz").write_bytes((path / "truth.nii.gz").read_bytes())
    (path / "data").symlink_to(ROOT / "data")
    return path


@pytest.fixture(scope="module")
def real_scan(folder, abdomen):
    """The files ct*.nii.gz, which are not in the repository."""
    for name, path in zip(("ct", "ct_seeds", "ct_organs"), abdomen):
        (folder / f"{name}.nii.gz").symlink_to(path)


def test_there_are_examples_of_every_command():
    shown = {line.split()[1] for line in examples()}
    listed = good("--help").stdout
    commands = set(re.findall(r"^  (\w+)  ", listed, re.M))
    assert commands, listed
    assert shown == commands


@pytest.mark.parametrize("line", examples())
def test_example_runs(folder, line, request):
    words = shlex.split(line)
    if any(word.startswith("ct") for word in words):
        request.getfixturevalue("real_scan")
    done = lobule(*words[1:], "--quiet", cwd=folder)
    assert done.returncode == 0, f"{line}: exit {done.returncode}: {done.stderr}"
    assert done.stderr == ""


def test_dice_on_the_real_scan(folder, real_scan):
    """The figures are those of README.md."""
    text = README.read_text(encoding="utf-8")
    liver = load(folder / "ct_organs.nii.gz") == 5
    for options, pattern in ((("--rule", "distance", "--penalty", 10), r"Dice (0\.\d+);"),
                             ((), r"default rule reaches (0\.\d+)")):  # fmt: skip
        good("growcut", "ct.nii.gz", "ct_seeds.nii.gz", "-o", "ct_found.nii.gz", "--force", *options, cwd=folder)
        found = load(folder / "ct_found.nii.gz") == 5
        dice = 2 * np.count_nonzero(found & liver) / (found.sum() + liver.sum())
        assert f"{dice:.3f}" == re.search(pattern, text)[1]


def test_header_fields_are_those_of_the_writer():
    listed = (ROOT / "io/nifti.h").read_text(encoding="utf-8")
    listed = listed.split("LOB_NIFTI_LABEL_FIELDS(X)")[1].split("#define")[0]
    rows = re.findall(r'X\((\w+), "((?:[^"\\]|\\.)*)"\)', listed)
    assert len(rows) > 10
    text = README.read_text(encoding="utf-8")
    for field, meaning in rows:
        assert f"| `{field}` | {meaning.replace(chr(92), '')} |" in text
