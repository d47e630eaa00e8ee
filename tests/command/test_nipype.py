"""Modules as others read their XML: nipype makes a class of each and runs it, CTK's Python reader parses it."""

import importlib.util
import os

import pytest
from conftest import PROGRAM, good
from test_slicer import MODULES

if not os.environ.get("LOBULE_NIPYPE"):
    pytest.skip("LOBULE_NIPYPE is not set", allow_module_level=True)
for needed in ("nipype", "ctk_cli"):
    if not importlib.util.find_spec(needed):
        pytest.skip(f"{needed} is not installed", allow_module_level=True)

IMPORTS = (
    "from nipype.interfaces.base import (CommandLine, CommandLineInputSpec, Directory, File, InputMultiPath,\n"
    "    OutputMultiPath, SEMLikeCommandLine, TraitedSpec, isdefined, traits)\nimport os\n"
)

RUNS = {
    "growcut": ({"input_seeds": "strokes.nii.gz"}, ["strokes.nii.gz"]),
    "segment": ({"input_seeds": "strokes.nii.gz"}, ["strokes.nii.gz"]),
    "components": ({"above": "100"}, ["--above", "100"]),
    "filter": ({"median": "1"}, ["--median", "1"]),
    "supervoxels": ({"size": "8"}, ["--size", "8"]),
}


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nipype")
    size = ["--size", "48,48,24"]
    good("phantom", "abdomen", "-o", folder / "scan.nii.gz", "--seeds", folder / "strokes.nii.gz", *size)
    return folder


def nipype_class(module):
    from nipype.interfaces.slicer.generate_classes import generate_class

    _, code, name = generate_class(module, [PROGRAM])
    made = {}
    exec(IMPORTS + code, made)  # noqa: S102  that is how nipype means it to be used, by way of a file
    return made[name]


@pytest.mark.parametrize("module", MODULES)
def test_everyone_reads_it(module, tmp_path):
    from ctk_cli import CLIModule

    xml = tmp_path / f"{module}.xml"
    xml.write_text(good(module, "--xml").stdout, encoding="utf-8")
    assert len(list(CLIModule(str(xml)).parameters())) > 3
    assert nipype_class(module).input_spec().trait_names()


@pytest.mark.parametrize("module", RUNS)
def test_a_class_runs_to_the_same_bytes(module, scan, monkeypatch):
    options, typed = RUNS[module]
    monkeypatch.chdir(scan)
    made, want = scan / f"{module}_made.nii.gz", scan / f"{module}_want.nii.gz"
    nipype_class(module)(input_image="scan.nii.gz", output=str(made), **options).run()
    good(module, "scan.nii.gz", *typed, "-o", want)
    assert made.read_bytes() == want.read_bytes()
