"""Every command line of README.md runs as it stands there."""
import re
import shlex

import pytest
from conftest import ROOT, good, lobule

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
    return path


def test_there_are_examples_of_every_command():
    shown = {line.split()[1] for line in examples()}
    listed = good("--help").stdout
    commands = set(re.findall(r"^  (\w+)  ", listed, re.M))
    assert commands, listed
    assert shown == commands


@pytest.mark.parametrize("line", examples())
def test_example_runs(folder, line):
    words = shlex.split(line)
    done = lobule(*words[1:], "--quiet", cwd=folder)
    differs = 1 if words[1] == "compare" else 0
    assert done.returncode == differs, f"{line}: exit {done.returncode}: {done.stderr}"
    assert done.stderr == ""


def test_header_fields_are_those_of_the_writer():
    listed = (ROOT / "io/nifti.h").read_text(encoding="utf-8")
    listed = listed.split("LOB_NIFTI_LABEL_FIELDS(X)")[1].split("#define")[0]
    rows = re.findall(r'X\((\w+), "((?:[^"\\]|\\.)*)"\)', listed)
    assert len(rows) > 10
    text = README.read_text(encoding="utf-8")
    for field, meaning in rows:
        assert f"| `{field}` | {meaning.replace(chr(92), '')} |" in text
