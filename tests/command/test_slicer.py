"""--xml: commands as modules of 3D Slicer, and calls as it makes them."""

import os
import shutil
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, ROOT, SHARED, good, lobule

COMMANDS = good("--help").stdout
COMMANDS = [line.split()[0] for line in COMMANDS.splitlines() if line.startswith("  ") and line[2:3].isalpha()]
MODULES = ["segment", "growcut", "components", "supervoxels", "filter", "labels", "register", "warp", "carry"]
SCHEMA = SHARED / "conformance" / "ctkCmdLineModule.libxml2.xsd"


def described(command):
    done = lobule(command, "--xml")
    assert done.returncode == 0
    assert done.stderr == "", "Slicer shows this as a failure"
    assert done.stdout.startswith("<?xml")
    return ElementTree.fromstring(done.stdout.encode())


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_identifiers_and_none_twice(command):
    names = [name.text for name in described(command).iter("name")]
    assert names
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    flags = [flag.text for flag in described(command).iter("longflag")]
    about = good(command, "--help").stdout
    assert all(f"--{flag.replace('_', '-')}" in about for flag in flags)


def test_the_schema_takes_all_of_them(tmp_path):
    if not SCHEMA.is_file() or not shutil.which("xmllint"):
        pytest.skip("xmllint and CTK's schema are not here")
    for command in COMMANDS:
        (tmp_path / f"{command}.xml").write_text(good(command, "--xml").stdout)
    files = sorted(map(str, tmp_path.glob("*.xml")))
    done = subprocess.run(["xmllint", "--noout", "--schema", SCHEMA, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(files) == len(COMMANDS)


@pytest.mark.parametrize("command", MODULES)
def test_modules_stand_where_users_look(command):
    place = "Registration" if command in ("register", "warp", "carry") else "Segmentation"
    assert described(command).findtext("category") == f"{place}.Lobule"


def test_it_takes_no_time():
    took = []
    for _ in range(5):
        start = time.perf_counter()
        good("growcut", "--xml")
        took.append(time.perf_counter() - start)
    assert min(took) < (1 if os.environ.get("LOBULE_SANITIZED") else 0.1)


def call_of(command, files, **given):
    """The words of Slicer's call: every number, choice and text that has a value, files that are named."""
    flags, operands = [], []
    for element in described(command).iter():
        if element.find("name") is None:
            continue
        name = element.find("name").text
        default = element.findtext("default", "")
        value = files.get(name) or given.get(name, default)
        if element.find("index") is not None:
            operands.append((int(element.find("index").text), str(value)))
        elif element.tag == "boolean":
            flags += [f"--{element.find('longflag').text}"] if value == "true" else []
        elif value != "":
            flags += [f"--{element.find('longflag').text}", str(value)]
    return flags + [value for _, value in sorted(operands)]


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The launchers as they are installed, beside the program."""
    folder = tmp_path_factory.mktemp("slicer")
    (folder / "bin").mkdir()
    (folder / "bin" / "lobule").symlink_to(Path(PROGRAM).resolve())
    place = folder / "libexec" / "lobule" / "slicer"
    place.mkdir(parents=True)
    text = (ROOT / "packaging" / "slicer" / "module.in").read_text()
    for command in MODULES:
        module = place / f"lobule_{command}"
        module.write_text(text.replace("@command@", command).replace("@way@", "../../../bin"))
        module.chmod(0o755)
    return place


def test_a_module_gives_what_the_command_gives(modules, tmp_path):
    scan, seeds = tmp_path / "scan.nii.gz", tmp_path / "seeds.nii.gz"
    good("phantom", "abdomen", "--size", "40,32,20", "--spacing", "5,5,8", "-o", scan, "--seeds", seeds, "--quiet")
    cases = [
        ("growcut", {"input_image": scan, "input_seeds": seeds}, {}, [scan, seeds]),
        ("components", {"input_image": scan}, {"above": "900", "min_size": "50mm3"},
         [scan, "--above", "900", "--min-size", "50mm3"]),
        ("supervoxels", {"input_image": scan}, {"size": "20"}, [scan, "--size", "20"]),
        ("filter", {"input_image": scan}, {"gaussian": "6", "median": "1"}, [scan, "--median", "1", "--gaussian", "6"]),
        ("labels", {"input_labels": seeds}, {"dilate": "6", "sequential": "true"}, [seeds, "--dilate", "6", "--sequential"]),
    ]  # fmt: skip
    for command, files, given, words in cases:
        out, wanted = tmp_path / f"{command}.nii.gz", tmp_path / f"{command}_wanted.nii.gz"
        out.write_bytes(b"")  # Slicer has made the file
        call = call_of(command, {**files, "output": out}, device="cpu", **given)
        done = subprocess.run([modules / f"lobule_{command}", *call], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        good(command, *words, "-o", wanted, "--quiet", "--device", "cpu")
        assert out.read_bytes() == wanted.read_bytes(), command


def test_progress_is_tagged(modules, tmp_path):
    good("phantom", "cells", "--size", "60,60,30", "-o", tmp_path / "cells.nii", "--quiet")
    call = call_of("filter", {"input_image": tmp_path / "cells.nii", "output": tmp_path / "out.nii"}, median="1", threads="1")
    strokes = {name: tmp_path / f"{name}.nii" for name in ("input_image", "input_seeds", "output")}
    good("phantom", "abdomen", "--size", "48,44,24", "--spacing", "8,8,11", "-o", strokes["input_image"], "--seeds",
         strokes["input_seeds"], "--quiet")  # fmt: skip
    for words in (["lobule_filter", *call], ["lobule_segment", *call_of("segment", strokes)]):
        done = subprocess.run([modules / words[0], *words[1:]], capture_output=True, text=True, check=True)
        shares = [float(line.split(">")[1].split("<")[0]) for line in done.stdout.splitlines()]
        assert shares
        assert shares == sorted(shares)  # also over the steps that segment is made of
        assert np.all((0 <= np.array(shares)) & (np.array(shares) <= 1))
