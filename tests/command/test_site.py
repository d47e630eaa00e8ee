"""The pages of the documentation site that describe themselves elsewhere: nothing of these is missing there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT, good

PAGES = ROOT / "packaging" / "site" / "pages.py"
INCLUDE = Path(PROGRAM).parents[1] / "include"
COMMANDS = re.findall(r"^  (\w+)  ", good("--help").stdout, re.M)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not (INCLUDE / "lobule").is_dir() or not (ROOT / "python/lobule/_abi.py").is_file():
        pytest.skip("the program comes without headers or the package")
    out = tmp_path_factory.mktemp("site")
    words = [sys.executable, PAGES, PROGRAM, INCLUDE, ROOT / "python/lobule", out]
    nav = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return out, nav


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_row_with_an_anchor(site, command):
    page = (site[0] / "commands" / f"{command}.md").read_text()
    shown = good(command, "--help").stdout
    for name in re.findall(r"^  (?:-\w, |    )--([\w-]+)", shown, re.M):
        if name not in ("help", "version"):
            assert page.count(f'<tr id="{name}"><td><a href="#{name}">') == 1, name
    assert f"commands/{command}.md" in site[1]
    for unit in re.findall(r"<code>--?[\w-]+</code></a></td><td><code>([^<]*)</code>", page):
        assert re.fullmatch(r"[A-Z,:./%a-z0-9|=-]+", unit), unit


def test_every_function_of_the_library_has_its_contract(site):
    """With the comment that stands before it, which keeps the lines of its table of arguments."""
    pages = {path.stem: path.read_text() for path in (site[0] / "c").glob("*.md")}
    names = re.findall(r"^    (lob_\w+);", (INCLUDE.parent / "lobule.map").read_text(), re.M)
    assert len(names) > 100
    for name in names:
        assert any(re.search(rf"^## {name} |\b{name}\s*\(", page, re.M) for page in pages.values()), name
    assert "{ #lob_labels_dense }" in pages["labels"]
    prose = pages["labels"].split("{ #lob_labels_dense }")[1]
    assert "Renumber a label volume to 1..count in place" in prose
    assert re.search(r"<pre>volume  in/out  one channel.*\nset     out     the labels found", prose)
    assert all("/*\n" not in re.sub(r"```c.*?```", "", page, flags=re.S) for page in pages.values())


def test_every_python_function_has_a_table_of_arguments(site):
    pages = "".join(path.read_text() for path in (site[0] / "python").glob("*.md"))
    names = re.search(r"__all__ = \[(.*?)\]", (ROOT / "python/lobule/__init__.py").read_text(), re.S)[1]
    for name in set(re.findall(r'"(\w+)"', names)) - {"__version__", "Segmented", "Cells", "GrowCut"}:
        assert f"## {name} {{ #{name} }}" in pages, name
    assert '<tr id="segment-suggest"><td><code>suggest</code>' in pages
    assert "rule: 'strength' | 'distance' | 'flood' | 'value' | 'square' = 'strength'" in pages
    assert '<tr id="option-max_memory">' in pages
    assert '<tr id="Segmenter-suggest">' in pages and '<tr id="Grower.seeds">' in pages
    assert "### draw { #Segmenter.draw }" in pages and "program() -> str" in pages


def test_tables_keep_their_lines(site):
    """Columns that became prose have gaps in it."""
    pages = [*(site[0] / "python").glob("*.md"), *(site[0] / "c").glob("*.md")]
    assert [path.name for path in pages if re.search(r"<p>[^<]*\S {3,}\S", path.read_text())] == []


def test_the_pages_navigation_is_whole(site):
    written = (ROOT / "packaging/docs.sh").read_text() + site[1]
    assert [path.name for path in (ROOT / "docs").glob("*.md") if f": docs/{path.name}\n" not in written] == []
    named = re.findall(r": ((?:commands|c|python)/\w+\.md)$", site[1], re.M)
    made = sorted(str(path.relative_to(site[0])) for path in site[0].rglob("*.md"))
    assert sorted(named) == made
