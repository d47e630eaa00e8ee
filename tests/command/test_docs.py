"""The pages of docs/ can be followed: their commands run as they stand there, and give what the pages say."""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, ROOT, good, rows_of
from skimage.io import imread

PAGES = {name: (ROOT / f"docs/{name}.md").read_text(encoding="utf-8") 
         for name in ("liver", "batch", "cells", "commands", "strokes", "formats", "cohort", "bids", "scale")}
LINES = [(name, line) for name, page in PAGES.items()
         for line in re.findall(r"^ {4}(?=\S)(.+)$", re.sub(r" *\\\n +", " ", page), re.M)]
# Lines whose page says that they end otherwise than with 0.
ENDS = {"lobule batch organs.recipe scans.tsv": 66}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Of each page its folder, which was empty, and what each line did, all run there in order."""
    there = {}
    for name, page in PAGES.items():
        folder = tmp_path_factory.mktemp(name)
        (folder / "bin").mkdir()
        (folder / "bin/lobule").symlink_to(Path(PROGRAM).resolve())
        for file, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.M | re.S):
            (folder / file).write_text(text, encoding="utf-8")
        environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        done = {line: subprocess.run(["bash", "-c", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                     capture_output=True, encoding="utf-8", timeout=300, check=False)
                for of, line in LINES if of == name}
        there[name] = folder, done
    return there


@pytest.mark.parametrize("name", PAGES)
def test_every_line_is_a_command(name):
    lines = [line for of, line in LINES if of == name]
    assert lines and all(line.startswith(("lobule ", "mkdir ", "cat ")) for line in lines)


@pytest.mark.parametrize("name,line", LINES)
def test_line_runs(pages, name, line):
    done = pages[name][1][line]
    assert done.returncode == ENDS.get(line, 0), f"{line}: exit {done.returncode}: {done.stderr}"
    assert not ENDS.get(line) or f"exit code {ENDS[line]}" in PAGES[name]


@pytest.mark.parametrize("name", PAGES)
def test_files_that_the_page_links_to_exist(name):
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", PAGES[name]) if "://" not in link]
    assert links and not [link for link in links if not (ROOT / "docs" / link).exists()]


# ---- the liver ----


def dice(text):
    return f"{float(re.search(r'^ +2 .* [+-][0-9.]+ +(0[.][0-9]+) ', text, re.M)[1]):.3f}"


def test_dice_is_what_the_page_says(pages):
    said = re.findall(r"(?:Dice|it is) (0\.\d{3})", PAGES["liver"])
    done = [pages["liver"][1][f"lobule compare true_liver.nii.gz {name}.nii.gz"].stdout for name in ("liver", "better")]
    assert [dice(text) for text in done] == said


def test_picture_is_what_the_command_draws(pages):
    """The upper part of the sheet, with 32 shades of each colour."""
    assert (ROOT / "docs/liver.png").stat().st_size < 400_000
    part, sheet = (imread(x).astype(int) for x in (ROOT / "docs/liver.png", pages["liver"][0] / "sheet.png"))
    assert part.shape[1:] == sheet.shape[1:] and part.shape[0] > 0.45 * sheet.shape[0]
    assert np.abs(part - sheet[: part.shape[0]]).max() <= 4


# ---- commands and strokes ----


def test_liver_grows_as_the_page_says(pages):
    said = re.search(r"The liver \(2\).* Dice (0\.\d+)", PAGES["commands"])[1]
    assert dice(pages["commands"][1]["lobule compare truth.nii.gz labels.nii.gz"].stdout) == said


def test_seeds_are_drawn_as_the_page_shows(pages):
    picture = ROOT / "data/seeds.png"
    assert picture.stat().st_size < 120_000
    assert good("compare", "--values", picture, pages["strokes"][0] / "seeds.png").stdout.endswith("\nequal\n")


# ---- cells ----


def test_cells_found_are_those_that_the_page_says(pages):
    truths, found = re.search(r"Of (\d+) cells, (\d+) are found", PAGES["cells"]).groups()
    said = pages["cells"][1]["lobule compare --instances true_cells.nii.gz labels.nii.gz"].stdout
    assert f"truths\t{truths}\n" in said and f"\n0.50\t{found}\t" in said


# ---- a batch ----


@pytest.mark.parametrize(("name", "pattern"), [("packaging/conda/recipe.yaml", r"^  version: ([\d.]+)$"),
                                               ("CITATION.cff", r"^version: ([\d.]+)$"),
                                               ("docs/python.md", r"lobule-([\d.]+)-py3"),
                                               ("volumes/version.h", r'LOB_VERSION +"(.+)"')])
def test_the_version_is_that_of_the_program(name, pattern):
    """The build reads it from the header; these files cannot."""
    found = re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M)
    assert found == [good("--version").stdout.split()[1]]


def test_files_that_a_batch_leaves(pages):
    folder = pages["batch"][0]
    said = set(re.findall(r"^\| `([^`]+)` \|", PAGES["batch"], re.M))
    there = {p.name + ("/" if p.is_dir() else "") for p in (folder / "scans.batch").iterdir()}
    assert said <= there and there - said <= {"recipe.txt"}


def test_shards_give_the_same_tables(pages):
    folder = pages["batch"][0]
    whole, merged = (rows_of(folder / name / "status.tsv") for name in ("scans.batch", "shared.batch"))
    assert [r["scan"] for r in whole] == [r["scan"] for r in merged] == ["ada", "ben", "cem", "dan", "eva", "fay", "gil"]
    assert {r["state"] for r in whole} == {"done"}
    regions = [(folder / name / "regions.tsv").read_text() for name in ("scans.batch", "shared.batch")]
    assert regions[0] == regions[1] and regions[0].count("\n") > 7


def test_the_scan_that_is_marked(pages):
    folder = pages["batch"][0]
    page = (folder / "shared.batch/page.html").read_text(encoding="utf-8")
    rows = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])["rows"]
    assert [r["scan"] for r in rows if r["flags"]] == ["dan"] == [rows[0]["scan"]]
    ml = {r["scan"]: float(r["volume_ml"]) for r in rows_of(folder / "scans.batch/regions.tsv") if r["label"] == "2"}
    assert 0.15 < ml["dan"] / ml["ada"] < 0.3  # "a fifth"


def test_repeat_and_methods(pages):
    done = pages["batch"][1]
    assert done["lobule repeat scans.batch --scan eva"].stdout.count("equal ") == 3
    assert "GrowCut" in done["lobule repeat scans.batch --scan eva --methods"].stdout
