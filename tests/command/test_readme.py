"""README.md can be followed: its commands run as they stand there, in the order of the page."""
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT, good

README = (ROOT / "README.md").read_text(encoding="utf-8")

# What stands in README.md beside commands of lobule, and what runs it instead.
ELSEWHERE = {
    "./run demo": "CI",
    "./run test": "CI",
    "./run wheel": "itself: packaging/wheel.sh",
    "./run deb": "itself: packaging/deb.sh",
    "import lobule, nibabel": "test_python.py",
    'labels = lobule.growcut(nibabel.load("scan.nii.gz"), nibabel.load("seeds.nii.gz"))': "test_python.py",
    "cmake --preset default && cmake --build --preset default": "./run demo builds by this preset",
    "sudo cmake --install build/default": "tests/install",
    'LOBULE_GPU_STEPS="test command" tests/gpu.sh logs': "a machine with a GPU",
    "#include <lobule/lobule.h>": "tests/install",
    "cc -o components tests/install/client/components.c "
    "$(pkg-config --cflags --libs --static lobule)": "tests/install",
    "find_package(lobule REQUIRED)": "tests/install",
    "target_link_libraries(tool PRIVATE lobule::lobule)": "tests/install",
}


def code_lines():
    """The lines of all code blocks, those that end in a backslash joined with the next."""
    return re.findall(r"^ {4}(?=\S)(.+)$", re.sub(r" *\\\n +", " ", README), re.M)


EXAMPLES = [line for line in code_lines() if line.startswith(("lobule ", "mkdir "))]


def run(line, folder):
    """A line in a shell, as it is pasted; lobule is on the path."""
    (folder / "bin").mkdir(exist_ok=True)
    if not (folder / "bin/lobule").exists():
        (folder / "bin/lobule").symlink_to(Path(PROGRAM).resolve())
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What each command did, all run in order in one folder that was empty."""
    folder = tmp_path_factory.mktemp("readme")
    return folder, {line: run(line, folder) for line in EXAMPLES}


def test_there_are_examples_of_every_command():
    shown = {line.split()[1] for line in EXAMPLES if line.startswith("lobule ")}
    commands = set(re.findall(r"^  (\w+)  ", good("--help").stdout, re.M))
    assert commands and shown == commands


def test_no_line_is_skipped():
    others = [line.split("    #")[0].rstrip() for line in code_lines() if line not in EXAMPLES]
    assert sorted(others) == sorted(ELSEWHERE)


@pytest.mark.parametrize("line", EXAMPLES)
def test_example_runs(page, line):
    done = page[1][line]
    assert done.returncode == 0, f"{line}: exit {done.returncode}: {done.stderr}"
    # a batch says in the end how it went
    assert all(": note: " in said or said.startswith("lobule batch: ") for said in done.stderr.splitlines()), done.stderr


def test_liver_comes_out_as_the_page_says(page):
    table = page[1]["lobule compare truth.nii.gz labels.nii.gz"].stdout
    dice = re.search(r"^ +2(?: +\S+){5} +(0\.\d+) ", table, re.M)[1]
    assert f"{float(dice):.3f}" == re.search(r"The liver \(2\).* Dice (0\.\d+)", README)[1]


def test_picture_is_what_its_command_draws(page):
    picture = ROOT / re.search(r"!\[.*\]\((.+)\)", README)[1]
    assert picture.stat().st_size < 100_000
    assert good("compare", "--values", picture, page[0] / "seeds.png").stdout.endswith("\nequal\n")


def test_files_that_the_page_links_to_exist():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert links and not [link for link in links if not (ROOT / link).exists()]


def test_header_fields_are_those_of_the_writer():
    listed = (ROOT / "io/nifti/nifti.h").read_text(encoding="utf-8")
    listed = listed.split("LOB_NIFTI_LABEL_FIELDS(X)")[1].split("#define")[0]
    rows = re.findall(r'X\((\w+), "((?:[^"\\]|\\.)*)"\)', listed)
    assert len(rows) > 10
    for field, meaning in rows:
        assert f"| `{field}` | {meaning.replace(chr(92), '')} |" in README


def test_no_example_prices_distance():
    """From brush strokes --penalty more often spoils a result than mends it."""
    assert not [line for line in README.splitlines() if line.startswith("    ") and "--penalty" in line]
