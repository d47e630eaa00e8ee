"""README.md can be followed: its commands run as they stand there, in the order of the page."""
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT, good

README = (ROOT / "README.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "docs/install.md").read_text(encoding="utf-8")
DOCS = ("cohort", "commands", "formats", "strokes")
PAGES = [README, INSTALL, *((ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in DOCS)]

# What stands in README.md and docs/install.md beside commands of lobule, and what runs it instead.
ELSEWHERE = {
    "./run deb && sudo apt install ./build/deb/*.deb": "itself: packaging/deb.sh",
    "./run wheel": "itself: packaging/wheel.sh",
    "./run deb": "itself: packaging/deb.sh",
    "./run windows": "itself: tests/windows",
    "./run macos": "itself: tests/macos",
    "./run processors": "itself: tests/same_bytes",
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


def code_lines(page):
    """The lines of all code blocks, those that end in a backslash joined with the next."""
    return re.findall(r"^ {4}(?=\S)(.+)$", re.sub(r" *\\\n +", " ", page), re.M)


def is_example(line):
    return line.startswith(("lobule ", "mkdir "))


EXAMPLES = [line for line in code_lines(README) if is_example(line)]


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
    shown = {line.split()[1] for page in PAGES for line in code_lines(page) if line.startswith("lobule ")}
    commands = set(re.findall(r"^  (\w+)  ", good("--help").stdout, re.M))
    assert commands and shown == commands


def test_no_line_is_skipped():
    lines = [line.split("    #")[0].rstrip() for page in (README, INSTALL) for line in code_lines(page)]
    assert {line for line in lines if not is_example(line)} == set(ELSEWHERE)


def test_the_page_fits_two_screens():
    lines = README.splitlines()
    assert len(lines) <= 130 and lines.index("    " + EXAMPLES[1]) <= 30


@pytest.mark.parametrize("line", EXAMPLES)
def test_example_runs(page, line):
    done = page[1][line]
    assert done.returncode == 0, f"{line}: exit {done.returncode}: {done.stderr}"
    # a batch says in the end how it went
    assert all(": note: " in said or said.startswith("lobule batch: ") for said in done.stderr.splitlines()), done.stderr


def test_liver_comes_out_as_the_page_says(page):
    table = page[1]["lobule compare truth.nii.gz mask.nii.gz --labels 2-8"].stdout
    dice = re.search(r"^ +2 .* [+-][\d.]+ +(0\.\d+) ", table, re.M)[1]
    assert f"{float(dice):.3f}" == re.search(r"the liver \(2\) .*Dice (0\.\d+)", README)[1]
    mean = re.search(r"^ +mean .* [+-][\d.]+ +(0\.\d+) ", table, re.M)[1]
    assert f"{float(mean):.2f}" == re.search(r"labels 2 to 8 with a mean of (0\.\d+)", README)[1]


def test_commands_are_grouped_as_in_help():
    def groups(pattern, rows):
        return {name: re.findall(pattern, row, re.M) for name, row in rows}
    told = groups(r"^  (\w+)  ", re.findall(r"^(\w[\w ]*):\n((?:  .*\n)+)", good("--help").stdout, re.M))
    table = README.split("| for | commands |")[1].split("\n\n")[0]
    rows = [(name, " ".join(re.findall(r"\[([\w, ]+)\]", row))) for name, row in re.findall(r"^\| (\w[\w ]*) \| (.*) \|$", table, re.M)]
    assert len(told) > 5 and list(groups(r"\w+", rows).items()) == list(told.items())


def anchors(path):
    """The anchors of a page's headings, as GitHub and mkdocs make them."""
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


def test_what_the_page_links_to_exists():
    links = [link.partition("#") for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert links and not [link for link, _, _ in links if not (ROOT / link).exists()]
    assert not [(link, anchor) for link, _, anchor in links if anchor and anchor not in anchors(ROOT / (link or "README.md"))]


def test_header_fields_are_those_of_the_writer():
    listed = (ROOT / "io/nifti/nifti.h").read_text(encoding="utf-8")
    listed = listed.split("LOB_NIFTI_LABEL_FIELDS(X)")[1].split("#define")[0]
    rows = re.findall(r'X\((\w+), "((?:[^"\\]|\\.)*)"\)', listed)
    assert len(rows) > 10
    formats = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    for field, meaning in rows:
        assert f"| `{field}` | {meaning.replace(chr(92), '')} |" in formats


def test_no_example_prices_distance():
    """From brush strokes --penalty more often spoils a result than mends it."""
    assert not [line for page in PAGES for line in code_lines(page) if "--penalty" in line]
