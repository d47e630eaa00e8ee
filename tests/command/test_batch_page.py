"""The page of a batch: what it shows of scans, and how it works in a real browser."""

import json
import os
import re
import shutil
from urllib.parse import unquote

import browser
import numpy as np
import pytest
from browser import needs_browser
from conftest import SHAPE, assert_one_line, contents, good, lobule, save, scan_array

RECIPE = "labels {labels} -o {out}.nii.gz --drop 9\nstats {image} {out}.nii.gz --table {out}.tsv\n"
HOSTILE = "s4 </script><img src=x onerror=alert(1)>&amp;\"'"


def cells(liver, spleen):
    """Labels: 2 the liver, so many voxels along x, and 3 the spleen."""
    labels = np.zeros(SHAPE, np.uint8)
    labels[:liver, 2:9, 2:9] = 2
    labels[:spleen, 12:15, 2:9] = 3
    return labels


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """Twelve scans: of s3 the liver is a third of the others', s6 has no spleen, s8 is damaged, s4 has a hostile name."""
    folder = tmp_path_factory.mktemp("page")
    lines = ["scan\timage\tlabels\tout"]
    for i in range(12):
        save(scan_array(seed=i), folder / f"i{i}.nii.gz")
        save(cells(5 if i == 3 else 15 + i % 2, 0 if i == 6 else 8), folder / f"l{i}.nii.gz")
        lines.append(f"{HOSTILE if i == 4 else f's{i}'}\ti{i}.nii.gz\tl{i}.nii.gz\to{i}")
    (folder / "i8.nii.gz").write_bytes(b"no scan")
    (folder / "scans.tsv").write_text("\n".join(lines) + "\n")
    (folder / "steps.recipe").write_text(RECIPE)
    assert lobule("batch", "steps.recipe", "scans.tsv", cwd=folder).returncode == 65
    return folder


def test_a_label_with_another_name(tmp_path):
    """Its volumes stand with those of the label's number, and so it is told, beside what else there is to tell."""
    save(scan_array(), tmp_path / "scan.nii")
    for i in range(6):
        save(cells(15 if i else 5, 8), tmp_path / "l.nii")
        names = "2\tspleen\n3\tliver\n" if i == 0 else f"2\t{'liver' if i % 2 else 'Liver'}\n3\tspleen\n"
        (tmp_path / "names.tsv").write_text("index\tname\n" + names)
        good("convert", "--labels", "l.nii", f"l{i}.nii", "--label-table", "names.tsv", cwd=tmp_path)
    (tmp_path / "scans.tsv").write_text("scan\n" + "".join(f"l{i}\n" for i in range(6)))
    good("batch", "scans.tsv", "--", "stats", "scan.nii", "{scan}.nii", "--table", "-", cwd=tmp_path)
    data = data_of(page_of(tmp_path / "scans.batch"))
    assert [v["title"] for v in data["volumes"]] == ["liver", "spleen"]
    flags = {r["scan"]: r["flags"] for r in data["rows"]}
    assert flags.pop("l0") == [
        "label 2 is called spleen, and liver in other scans", "liver has 1.378 ml, the median is 4.134",
        "label 3 is called liver, and spleen in other scans",
    ]  # fmt: skip
    assert flags == {f"l{i}": [] for i in range(1, 6)}


def page_of(folder):
    return (folder / "page.html").read_text(encoding="utf-8")


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def test_order_and_what_to_look_at(batch):
    data = data_of(page_of(batch / "scans.batch"))
    rows = data["rows"]
    assert [r["scan"] for r in rows[:3]] == ["s8", "s3", "s6"]
    assert [r["scan"] for r in rows[3:]] == ["s0", "s1", "s2", HOSTILE, "s5", "s7", "s9", "s10", "s11"]
    assert (rows[0]["state"], rows[0]["code"]) == ("failed", 65) and "i8.nii.gz" in rows[0]["message"]
    assert len(rows[1]["flags"]) == 1 and re.match(r"label 2 has .* ml, the median is ", rows[1]["flags"][0])
    assert rows[2]["flags"] == ["label 3 is missing; 10 of 11 scans have it"]
    assert rows[1]["far"] == [0] and rows[2]["far"] == [1]
    assert not any(r["flags"] or r["far"] for r in rows[3:])
    assert [(v["title"], v["unit"], v["scans"]) for v in data["volumes"]] == [("label 2", "ml", 11), ("label 3", "ml", 10)]
    for row in rows[1:]:  # volumes are those of the region tables
        path = json.loads((batch / "scans.batch" / unquote(row["report"])).read_text())["outputs"][-1]["path"]
        table = (batch / path).read_text().splitlines()
        ml = {line.split("\t")[0]: float(line.split("\t")[3]) for line in table[1:]}
        assert table[0].split("\t")[3] == "volume_ml" and row["volumes"] == [ml.get("2"), ml.get("3")]
    assert (rows[0]["voxels"], rows[0]["labels"]) == (None, None)  # it failed: nothing of it was seen whole
    assert data["recipe"] == RECIPE and data["summary"]["states"]["failed"] == 1 and not data["more"]


def test_nothing_from_outside(batch):
    page = page_of(batch / "scans.batch")
    assert "://" not in page and "url(" not in page and "@import" not in page
    assert re.findall(r"<(?:link|img|iframe|object|embed)\b", page) == []
    assert [x for x in re.findall(r"<script\b([^>]*)>", page) if "src" in x] == []


def test_every_scan_that_was_done_has_a_picture(batch):
    import base64

    pictures = data_of(page_of(batch / "scans.batch"))["pictures"]
    assert list(pictures) == [str(i) for i in range(1, 12)]
    assert all(base64.b64decode(x).startswith(b"\x89PNG") for x in pictures.values())
    assert len(set(pictures.values())) == 11  # each shows its own scan


def test_labels_that_were_read_alone_have_a_picture(batch, tmp_path):
    """Nothing that the batch wrote is known to be labels."""
    (tmp_path / "scans.tsv").write_text(f"image\tlabels\tout\n{batch}/i0.nii.gz\t{batch}/l0.nii.gz\tt.tsv\n")
    good("batch", "scans.tsv", "--", "stats", "{image}", "{labels}", "--table", "{out}", cwd=tmp_path)
    assert list(data_of(page_of(tmp_path / "scans.batch"))["pictures"]) == ["0"]


def test_a_time_series_has_no_picture(tmp_path):
    series = np.stack([scan_array(seed=i) for i in range(2)], axis=3)
    save(series, tmp_path / "series.nii")
    save(scan_array(), tmp_path / "one.nii")
    (tmp_path / "scans.tsv").write_text("image\tframe\tout\nseries.nii\t1\ta.nii\none.nii\t0\tb.nii\n")
    good("batch", "scans.tsv", "--", "components", "{image}", "--frame", "{frame}", "-o", "{out}", "--above", "400",
         cwd=tmp_path)  # fmt: skip
    assert list(data_of(page_of(tmp_path / "scans.batch"))["pictures"]) == ["1"]


def test_labels_that_tables_doubt(batch, tmp_path):
    """Tables as carry writes them: the most doubtful scan comes first among those that are not far."""
    folder = tmp_path / "doubted"
    shutil.copytree(batch / "scans.batch", folder)
    regions = folder / "regions.tsv"
    head, *lines = regions.read_text(encoding="utf-8").splitlines()
    label = head.split("\t").index("label")
    doubts = [(line, {"2": "0.1", "3": "0.6" if line.startswith("s9\t") else "0.2"}[line.split("\t")[label]]) for line in lines]
    regions.write_text("\n".join([head + "\tdoubt", *("\t".join(pair) for pair in doubts), ""]), encoding="utf-8")
    good("batch", "--page", folder, "--pictures", "0", cwd=tmp_path)
    rows = data_of(page_of(folder))["rows"]
    assert [r["scan"] for r in rows[:5]] == ["s8", "s9", "s3", "s6", "s0"]
    assert rows[1]["doubts"] == [0.1, 0.6] and rows[1]["doubt"] == 0.6 and rows[1]["far"] == ["doubt"]
    assert rows[1]["flags"] == ["60 % of label 3 is in doubt, the median is 20 %"]
    assert rows[3]["doubts"] == [0.1, None] and rows[4]["doubt"] == 0.2 and "doubts" not in rows[0]


def test_labels_that_a_person_has_corrected_are_said_to_be_newer_than_their_numbers(batch, tmp_path):
    folder = tmp_path / "corrected"
    shutil.copytree(batch, folder)
    report = folder / "scans.batch/reports/s5.json"
    report.write_text(report.read_text().replace(str(batch), str(folder)))
    (folder / "o5.nii.gz").unlink()
    save(cells(7, 3), folder / "o5.nii.gz")
    before = data_of(page_of(batch / "scans.batch"))["rows"]
    good("batch", "--page", "scans.batch", cwd=folder)
    rows = data_of(page_of(folder / "scans.batch"))["rows"]
    assert [r["scan"] for r in rows if r["flags"] and r["scan"] == "s5"] == ["s5"]
    flags = {r["scan"]: r["flags"] for r in before} | {"s5": ["o5.nii.gz has been changed since; its numbers are from before"]}
    assert {r["scan"]: r["flags"] for r in rows} == flags and rows[0]["state"] == "failed"


def test_labels_of_the_same_size_and_other_bytes_are_said_to_be_newer(tmp_path):
    names = ("other", "same", "untouched")
    for name in names:
        save(cells(5, 3), tmp_path / f"{name}.nii")
    (tmp_path / "scans.tsv").write_text("\n".join(["image\tout", *(f"{n}.nii\t{n}_out.nii" for n in names), ""]))
    good("batch", "scans.tsv", "--", "labels", "{image}", "-o", "{out}", "--drop", "9", cwd=tmp_path)
    for name in ("other", "same"):
        bytes_of = bytearray((tmp_path / f"{name}_out.nii").read_bytes())
        bytes_of[-1] = name == "other"
        (tmp_path / f"{name}_out.nii").write_bytes(bytes_of)
        os.utime(tmp_path / f"{name}_out.nii", (1, 1))
    good("batch", "--page", "scans.batch", cwd=tmp_path)
    flags = {r["scan"]: len(r["flags"]) for r in data_of(page_of(tmp_path / "scans.batch"))["rows"]}
    assert flags == {"other": 1, "same": 0, "untouched": 0}


def test_the_page_is_made_again_from_the_table(batch, tmp_path):
    folder = tmp_path / "moved"
    shutil.copytree(batch / "scans.batch", folder)
    before = contents(folder)
    (folder / "page.html").unlink()
    good("batch", "--page", folder, cwd=tmp_path)
    was, made = (data_of(page_of(x)) for x in (batch / "scans.batch", folder))
    assert all(made[x] == was[x] for x in ("rows", "volumes", "recipe", "version"))
    assert list(made["pictures"]) == list(was["pictures"])
    assert contents(folder).keys() == before.keys()
    good("batch", "--page", folder, "--pictures", "2", "--threads", "1")
    assert len(data_of(page_of(folder))["pictures"]) == 2
    assert_one_line(lobule("batch", "--page", tmp_path / "none"), 66, "status.tsv")
    assert_one_line(lobule("batch", "--page", folder, "more"), 64, "--page")
    (folder / "regions.tsv").write_text("a\tb\n")
    assert_one_line(lobule("batch", "--page", folder), 65, "regions.tsv")
    (folder / "status.tsv").write_text("a\tb\n")
    assert_one_line(lobule("batch", "--page", folder), 65, "status.tsv")


@needs_browser
def test_pages_with_viewers_are_linked(tmp_path):
    """From beside the batch's folder, from far away, and not where a scan has none."""
    lines = ["scan\timage\tout"]
    (tmp_path / "far & away").mkdir()
    for name, out in (("a", "a.html"), ("b", "far & away/b 1.html"), ("c", "c.html")):
        save(scan_array(), tmp_path / f"{name}.nii")
        lines.append(f"{name}\t{name}.nii\t{out}")
    (tmp_path / "c.nii").write_bytes(b"no scan")
    (tmp_path / "scans.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "look.recipe").write_text("preview {image} --html {out}\n")
    assert lobule("batch", "look.recipe", "scans.tsv", "--log", "logs/of/it", cwd=tmp_path).returncode == 65
    folder = tmp_path / "logs/of/it"
    (tmp_path / "browser").mkdir()
    out = browse(page_of(folder), """
      out.links = Object.fromEntries([...document.querySelectorAll("#scans tbody tr")].map((r) =>
        [r.dataset.scan, [...r.querySelectorAll("a.viewer")].map((a) => a.getAttribute("href"))]));
    """, tmp_path / "browser")
    assert out["links"]["c"] == []
    for name, path in (("a", "a.html"), ("b", "far & away/b 1.html")):
        assert len(out["links"][name]) == 1
        assert (folder / unquote(out["links"][name][0])).resolve() == (tmp_path / path).resolve()


# ---- in a browser ----

HELP = """
const $ = (selector) => document.querySelector(selector);
const scans = () => [...document.querySelectorAll("#scans tbody tr")].map((r) => r.dataset.scan);
const press = (title) => [...document.querySelectorAll("#scans thead button")].find((b) => b.textContent === title).click();
"""


def browse(page, script, *arguments, **more):
    return browser.browse(page, HELP + script, *arguments, **more)


@needs_browser
def test_sort_search_and_look(batch, tmp_path):
    out = browse(page_of(batch / "scans.batch"), """
      out.first = scans();
      press("label 2, ml"); out.up = scans(); out.sorted = $("#scans th[aria-sort]").textContent + $("#scans th[aria-sort]").ariaSort;
      press("label 2, ml"); out.down = scans(); out.turned = $("#scans th[aria-sort]").ariaSort;
      press("Scan"); out.names = scans();
      $("#search").value = "missing"; $("#search").dispatchEvent(new Event("input")); out.found = scans();
      out.status = $("#status").textContent;
      $("#search").value = ""; $("#search").dispatchEvent(new Event("input"));
      $("#which").value = "failed"; $("#which").dispatchEvent(new Event("change")); out.failed = scans();
      out.message = $("#scans tbody .message").textContent;
      $("#which").value = "far"; $("#which").dispatchEvent(new Event("change")); out.far = scans();
      out.marked = [...document.querySelectorAll("#scans td.far")].map((c) => c.textContent);
      $("#which").value = "all"; $("#which").dispatchEvent(new Event("change"));
      const images = [...document.images];
      images.forEach((i) => { i.loading = "eager"; });
      await Promise.all(images.map((i) => i.decode()));
      out.images = images.length; out.wide = images.every((i) => i.naturalWidth > 100);
      out.alts = images.map((i) => i.alt);
      out.foreign = document.querySelectorAll("img[src=x]").length;
      out.headings = [...document.querySelectorAll("h1, h2")].map((h) => h.tagName);
      out.unnamed = [...document.querySelectorAll("button, input, select, a")].filter((e) =>
        !(e.textContent.trim() || e.querySelector("img[alt]") || (e.labels && e.labels.length))).length;
      out.links = [...document.querySelectorAll("#scans a")].map((a) => a.getAttribute("href"));
      out.title = document.title; out.facts = Object.fromEntries([...document.querySelectorAll("dl.facts div")].map((e) =>
        [...e.children].map((x) => x.textContent)));
      out.volumes = [...document.querySelectorAll("#volumes tbody tr")].map((r) => [...r.cells].filter((c) =>
        c.className !== "plot").map((c) => c.textContent));
      out.recipe = $("#recipe pre").textContent; out.seen = ["#volumes", "#recipe", "#more"].map((x) => $(x).checkVisibility());
      out.lang = document.documentElement.lang; out.scopes = document.querySelectorAll("th:not([scope])").length;
    """, tmp_path)
    names = [f"s{i}" for i in range(12)]
    names[4] = HOSTILE
    assert out["first"][:3] == ["s8", "s3", "s6"] and sorted(out["first"]) == sorted(names)
    # by volume: 5, then 15 or 16 voxels along x, of equal ones in the order of the page; n/a last, either way
    light, heavy = ["s6", "s0", "s2", HOSTILE, "s10"], ["s1", "s5", "s7", "s9", "s11"]
    assert out["up"] == ["s3", *light, *heavy, "s8"] and out["sorted"] == "label 2, mlascending"
    assert out["down"] == [*heavy, *light, "s3", "s8"] and out["turned"] == "descending"
    assert out["names"] == names
    assert out["found"] == ["s6"] and out["status"] == "Scans 1 to 1 of 1 that fit, of 12"
    assert out["failed"] == ["s8"] and "i8.nii.gz" in out["message"]
    assert sorted(out["far"]) == ["s3", "s6"] and len(out["marked"]) == 2 and "missing" in out["marked"]
    assert out["images"] == 11 and out["wide"] and out["foreign"] == 0
    assert all(x.startswith("Three planes of s") for x in out["alts"])
    assert out["headings"][:2] == ["H1", "H2"] and "H1" not in out["headings"][1:]
    assert out["unnamed"] == 0 and out["scopes"] == 0 and out["lang"] == "en"
    assert all((batch / "scans.batch" / unquote(x)).is_file() for x in out["links"])
    assert len(out["links"]) == 12
    assert out["title"] == "Batch scans.batch" and out["recipe"] == RECIPE and out["seen"] == [True, True, False]
    facts = out["facts"]
    assert [facts[x] for x in ("scans", "done", "failed", "far from the others")] == ["12", "11", "1", "2"]
    assert len(facts) == 8 and re.fullmatch(r"\w+, \d+ %", facts["busiest stage"]) and "skipped" not in facts
    assert [r[:2] + r[4:] for r in out["volumes"]] == [["label 2", "11", "1", "0"], ["label 3", "10", "0", "1"]]
    assert all(re.fullmatch(r"[\d.]+ ml", r[2]) and re.fullmatch(r"[\d.]+ to [\d.]+", r[3]) for r in out["volumes"])


@needs_browser
def test_each_structure_has_its_dots(batch, tmp_path):
    """A dot for each scan by the logarithm of its volume, a diamond for what is far, which leads to its scan."""
    out = browse(page_of(batch / "scans.batch"), """
      const svg = $("#volumes svg.strip"), dots = [...svg.querySelector(".all").getAttribute("d").matchAll(/M([\\d.]+) /g)].map((m) => +m[1]);
      out.dots = dots; out.plots = document.querySelectorAll("#volumes svg.strip").length;
      const outlier = svg.querySelector(".outlier"); out.outliers = svg.querySelectorAll(".outlier").length;
      out.far = outlier.querySelector("title").textContent; out.at = outlier.getBBox().x + outlier.getBBox().width / 2;
      const band = svg.querySelector(".usual"); out.band = [+band.getAttribute("x"), +band.getAttribute("width")];
      out.median = +svg.querySelector(".median").getAttribute("d").match(/M([\\d.]+)/)[1];
      outlier.dispatchEvent(new MouseEvent("click")); out.shown = scans();
    """.replace("\\\\", "\\"), tmp_path)
    assert out["plots"] == 2 and len(out["dots"]) == 10 and out["outliers"] == 1
    assert re.fullmatch(r"s3: [\d.]+ ml", out["far"]) and out["shown"] == ["s3"]
    low, high = min(out["dots"]), max(out["dots"])
    assert out["at"] < out["band"][0] < low <= out["median"] <= high < sum(out["band"])
    # 15 and 16 voxels along x, 5 of the outlier
    assert abs((high - low) / (high - out["at"]) - np.log(16 / 15) / np.log(16 / 5)) < 0.01


@needs_browser
def test_pictures_enlarge(batch, tmp_path):
    out = browse(page_of(batch / "scans.batch"), """
      const dialog = $("dialog"), key = (k) => dialog.dispatchEvent(new KeyboardEvent("keydown", { key: k }));
      const name = () => $("#large-name").textContent;
      out.before = dialog.open; out.small = $("td button.picture img").clientWidth;
      $("td button.picture").click(); await dialog.querySelector("img").decode();
      out.open = dialog.open; out.large = dialog.querySelector("img").clientWidth; out.name = name(); out.flags = $("#large-flags").textContent;
      key("ArrowRight"); out.next = name(); key("ArrowLeft"); key("ArrowLeft"); out.back = name();
      key("k"); out.kept = $("#marked").textContent; $("#large-close").click(); out.closed = !dialog.open;
      const c = document.createElement("canvas"), image = $("td button.picture img"); await image.decode();
      c.width = image.naturalWidth; c.height = image.naturalHeight; const x = c.getContext("2d"); x.drawImage(image, 0, 0);
      const d = x.getImageData(0, 0, c.width, c.height).data; out.gold = 0;
      for (let i = 0; i < d.length; i += 4) if (d[i] > 230 && d[i + 1] > 190 && d[i + 1] < 225 && d[i + 2] < 120) out.gold++;
      out.wide = c.width / c.height;
    """, tmp_path)
    assert not out["before"] and out["open"] and out["closed"] and out["large"] > 2.5 * out["small"] > 400
    assert (out["name"], out["next"], out["back"]) == ("s3", "s6", "s3") and "median" in out["flags"]
    assert out["kept"].startswith("1 to keep, 0 to redo")
    assert out["gold"] == 0 and out["wide"] > 1.5  # no letters; three planes in a row


@needs_browser
def test_marks_make_the_next_manifest(batch, tmp_path):
    """What is marked to redo is a manifest that batch takes, with the values of this batch; tables are as they are seen."""
    out = browse(page_of(batch / "scans.batch"), """
      const texts = [], make = URL.createObjectURL, names = [];
      URL.createObjectURL = (b) => { texts.push(b.text()); return make(b); };
      addEventListener("click", (e) => { if (e.target.download) { names.push(e.target.download); e.preventDefault(); } }, true);
      out.off = $("#get-redo").disabled && $("#get-keep").disabled;
      $("#which").value = "failed"; $("#which").dispatchEvent(new Event("change")); $("#redo-all").click();
      $("#which").value = "far"; $("#which").dispatchEvent(new Event("change")); $("#redo-all").click();
      $("#which").value = "all"; $("#which").dispatchEvent(new Event("change"));
      const button = (mark, scan) => [...document.querySelectorAll("button." + mark)].find((b) => b.dataset.of === scan);
      button("keep", HOSTILE).click(); button("redo", "s6").click(); button("keep", "s0").click(); button("keep", "s0").click();
      out.said = $("#marked").textContent; out.pressed = button("keep", HOSTILE).getAttribute("aria-pressed");
      for (const id of ["#get-redo", "#get-keep", "#get-table", "#get-volumes"]) $(id).click();
      out.texts = await Promise.all(texts); out.names = names;
    """.replace("HOSTILE", json.dumps(HOSTILE).replace("</", "<\\/")), tmp_path)
    assert out["off"] and out["said"] == "1 to keep, 2 to redo, 9 unmarked" and out["pressed"] == "true"
    assert out["names"] == ["redo.tsv", "keep.tsv", "scans.tsv", "volumes.tsv"]
    redo, keep, table, volumes = ([line.split("\t") for line in text.splitlines()] for text in out["texts"])
    assert sorted(redo[0]) == ["image", "labels", "out", "scan"] and sorted(r[redo[0].index("scan")] for r in redo[1:]) == ["s3", "s8"]
    assert [dict(zip(keep[0], r, strict=True)) for r in keep[1:]] == [
        {"scan": HOSTILE, "image": "i4.nii.gz", "labels": "l4.nii.gz", "out": "o4"}]
    assert len(table) == 13 and [r[:3] for r in table[1:3]] == [["s8", "failed", "65"], ["s3", "done", "0"]]
    assert len(volumes) == 25 and volumes[0] == ["scan", "structure", "volume", "unit", "doubt", "far"]
    assert sum(r[5] == "1" for r in volumes[1:]) == 2
    folder = tmp_path / "next"
    shutil.copytree(batch, folder, ignore=shutil.ignore_patterns("scans.batch", "o*"))
    (folder / "redo.tsv").write_text(out["texts"][0], encoding="utf-8")
    assert lobule("batch", "steps.recipe", "redo.tsv", cwd=folder).returncode == 65  # s8 is damaged still
    assert (folder / "o3.nii.gz").exists() and not (folder / "o4.nii.gz").exists()


@needs_browser
def test_what_is_wrong_with_many_is_said_once(tmp_path):
    lines = ["scan\timage\tout"]
    for i in range(9):
        if i < 2:
            save(scan_array(seed=i), tmp_path / f"i{i}.nii")
        lines.append(f"s{i}\ti{i}.nii\tmade/by/batch/o{i}.nii")
    (tmp_path / "scans.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "steps.recipe").write_text("filter {image} -o {out} --median 1\n")
    done = lobule("batch", "steps.recipe", "scans.tsv", cwd=tmp_path)
    assert done.returncode == 66 and (tmp_path / "made/by/batch/o1.nii").exists()  # folders of outputs are made
    said = [line for line in done.stderr.splitlines() if "No such file" in line]
    assert len(said) == 3 and "4 more scans failed like this" in done.stderr
    (tmp_path / "b").mkdir()
    out = browse(page_of(tmp_path / "scans.batch"), """
      out.causes = [...document.querySelectorAll("#causes li")].map((e) => e.textContent);
    """, tmp_path / "b")
    assert len(out["causes"]) == 1 and out["causes"][0].startswith("7 scans, the first of them s2: ")


@needs_browser
def test_contrast(batch, tmp_path):
    """Text stands out from what is behind it by 4.5 to 1, as WCAG AA asks."""
    out = browse(page_of(batch / "scans.batch"), """
      const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
        return .2126 * r + .7152 * g + .0722 * b; };
      const numbers = (c) => c.match(/[\\d.]+/g).map(Number);
      const behind = (e) => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor);
        if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
      out.least = 99; out.seen = 0;
      for (const e of document.querySelectorAll("body *")) {
        if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
        const a = light(numbers(getComputedStyle(e).color).slice(0, 3)), b = light(behind(e));
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        out.seen++;
        if (ratio < out.least) { out.least = ratio; out.worst = e.tagName + "." + e.className; }
      }
    """, tmp_path)
    assert out["seen"] > 50 and out["least"] >= 4.5, out


def long_table(folder, count):
    """A status table and regions as batch writes them, of scans that are not there."""
    columns = ("scan state exit_code message started total_s wait_s read_s inflate_s upload_s compute_s download_s "
               "compress_s write_s checksum_s other_s voxels labels device memory outputs inputs key report").split()
    folder.mkdir()
    rows, regions = ["\t".join(columns)], ["scan\ttable\tlabel\tname\tvolume_ml"]
    rng = np.random.default_rng(1)
    for i, liver in enumerate(1500 * np.exp(rng.normal(0, 0.1, count))):
        cell = dict.fromkeys(columns, "0.1") | {
            "scan": f"sub-{i}", "state": "done", "exit_code": "0", "message": "", "started": "2026-03-01T12:00:00Z",
            "voxels": "100", "labels": "2", "device": "cpu", "memory": "1", "outputs": "", "inputs": "",
            "key": "0" * 64, "report": ""}
        if i % 1000 == 500:
            cell |= {"state": "failed", "exit_code": "65", "message": "it is damaged"}
        else:
            regions.append(f"sub-{i}\t2:--table\t1\tliver\t{liver:.2f}")
            regions.append(f"sub-{i}\t2:--table\t2\tspleen\t{liver / 7:.3f}")
        rows.append("\t".join(cell[c] for c in columns))
    (folder / "status.tsv").write_text("\n".join(rows) + "\n")
    (folder / "regions.tsv").write_text("\n".join(regions) + "\n")


@needs_browser
def test_ten_thousand_rows_open_in_three_seconds(tmp_path):
    count = 1000 if os.environ.get("LOBULE_SANITIZED") else 10000
    long_table(tmp_path / "log", count)
    good("batch", "--page", tmp_path / "log")
    out = browse(page_of(tmp_path / "log"), """
      out.rows = scans().length; out.status = $("#status").textContent; out.first = $("#scans tbody .failed") !== null;
      out.open = performance.getEntriesByType("navigation")[0].loadEventStart;
      const before = performance.now();
      press("liver, ml"); out.sort = performance.now() - before;
      out.volumes = [...document.querySelectorAll("#scans tbody tr")].map((r) => Number(r.cells[4].textContent.replace(/[,!]/g, "")));
      $("#next").click(); out.second = $("#status").textContent;
    """, tmp_path)
    assert out["rows"] == 100 and out["first"] and out["status"] == f"Scans 1 to 100 of {count}"
    assert out["second"] == f"Scans 101 to 200 of {count}"
    assert out["volumes"] == sorted(out["volumes"]) and min(out["volumes"]) > 0
    assert out["open"] < 10000 and out["sort"] < 5000, out
