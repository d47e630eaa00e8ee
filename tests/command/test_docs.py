"""docs/liver.md can be followed: its commands run as they stand there, and give what the page says."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT, good

PAGE = (ROOT / "docs/liver.md").read_text(encoding="utf-8")
LINES = re.findall(r"^ {4}(?=\S)(.+)$", re.sub(r" *\\\n +", " ", PAGE), re.M)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What each line did, all run in order in one folder that was empty."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "bin").mkdir()
    (folder / "bin/lobule").symlink_to(Path(PROGRAM).resolve())
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = {}
    for line in LINES:
        done[line] = subprocess.run(["bash", "-c", line], cwd=folder, env={**os.environ, "PATH": path},
                                    stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300,
                                    check=False)
    return folder, done


def test_every_line_is_a_command():
    assert len(LINES) > 10 and all(line.startswith("lobule ") for line in LINES)


@pytest.mark.parametrize("line", LINES)
def test_line_runs(page, line):
    done = page[1][line]
    assert done.returncode == 0, f"{line}: exit {done.returncode}: {done.stderr}"


def dice(text):
    return f"{float(re.search(r'^ +2(?: +[^ ]+){5} +(0[.][0-9]+) ', text, re.M)[1]):.3f}"


def test_dice_is_what_the_page_says(page):
    said = re.findall(r"(?:Dice|it is) (0\.\d{3})", PAGE)
    done = [page[1][f"lobule compare true_liver.nii.gz {name}.nii.gz"].stdout for name in ("liver", "better")]
    assert [dice(text) for text in done] == said


def test_picture_is_what_the_command_draws(page):
    assert (ROOT / "docs/liver.png").stat().st_size < 400_000
    assert good("compare", "--values", ROOT / "docs/liver.png", page[0] / "sheet.png").stdout.endswith("\nequal\n")


def test_files_that_the_page_links_to_exist():
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE) if "://" not in link]
    assert links and not [link for link in links if not (ROOT / "docs" / link).exists()]
