"""BIDS: what --bids writes beside labels, the BIDS App, descriptors of Boutiques."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest
from conftest import assert_one_line, good, lobule, rows_of

ANAT = "sub-{0}/ses-1/anat/sub-{0}_ses-1_"
STROKES = "strokes/{folder}/{bids}_desc-strokes_dseg.nii.gz"
VALIDATOR = Path(sys.executable).parent / "bids-validator-deno"


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Two participants with a session each, and strokes in a dataset of their own."""
    folder = tmp_path_factory.mktemp("bids")
    for participant in ("01", "02"):
        names = [Path("raw", ANAT.format(participant) + "T1w.nii.gz"),
                 Path("strokes", ANAT.format(participant) + "desc-strokes_dseg.nii.gz")]  # fmt: skip
        for name in names:
            (folder / name).parent.mkdir(parents=True)
        good("phantom", "abdomen", "-o", names[0], "--seeds", names[1], "--size", "48,40,24", "--spacing", "3,3,4",
             "--random-seed", participant, cwd=folder)  # fmt: skip
    (folder / "raw/dataset_description.json").write_text('{"Name": "phantoms", "BIDSVersion": "1.9.0"}')
    return folder


def check_labels(folder, stem, sources):
    """The files beside labels say what is in them."""
    labels = nibabel.load(folder / f"{stem}.nii.gz")
    voxels = np.asanyarray(labels.dataobj)
    rows = rows_of(folder / f"{stem}.tsv")
    assert [int(row["index"]) for row in rows] == [n for n in np.unique(voxels) if n]
    for row in rows:
        count = np.count_nonzero(voxels == int(row["index"]))
        assert int(row["voxels"]) == count
        assert float(row["ml"]) == pytest.approx(count * np.prod(labels.header.get_zooms()) / 1000, rel=1e-5)
        assert re.fullmatch("#[0-9a-f]{6}", row["color"])
        assert row["name"]
    about = json.loads((folder / f"{stem}.json").read_text())
    assert about["Sources"] == sources
    assert about["SpatialReference"] == sources[0]
    return rows, about


def test_a_folder_names_the_labels(dataset):
    image = "raw/" + ANAT.format("01") + "T1w.nii.gz"
    strokes = "strokes/" + ANAT.format("01") + "desc-strokes_dseg.nii.gz"
    good("growcut", image, strokes, "-o", "one/", "--bids", "--report", "r.json", cwd=dataset)
    stem = ANAT.format("01") + "desc-growcut_dseg"
    sources = ["bids:raw:" + ANAT.format("01") + "T1w.nii.gz", Path(strokes).name]
    _, about = check_labels(dataset / "one", stem, sources)
    assert about["Lobule"]["Options"]["rule"] == "strength"
    described = json.loads((dataset / "one/dataset_description.json").read_text())
    assert described["DatasetType"] == "derivative"
    assert described["DatasetLinks"] == {"raw": "../raw"}
    outputs = [file["path"] for file in json.loads((dataset / "r.json").read_text())["outputs"]]
    assert outputs == [f"one/{stem}{ending}" for ending in (".nii.gz", ".tsv", ".json")]
    assert good("repeat", "r.json", cwd=dataset).stdout == f"equal    one/{stem}.nii.gz\n"
    again = lobule("growcut", image, strokes, "-o", "one/", "--bids", cwd=dataset)
    assert_one_line(again, 72, stem, "--force")


def test_names_and_colours(dataset, tmp_path):
    (tmp_path / "names.tsv").write_text("index\tname\tcolor\n1\tbody\t#102030\n2\tthe liver\t#ff0033\n")
    good("labels", dataset / "strokes" / (ANAT.format("02") + "desc-strokes_dseg.nii.gz"), "-o", "sub-9_dseg.nii", "--keep",
         "1,2", "--label-table", "names.tsv", "--bids", cwd=tmp_path)  # fmt: skip
    rows = rows_of(tmp_path / "sub-9_dseg.tsv")
    assert [(row["name"], row["color"]) for row in rows] == [("body", "#102030"), ("the liver", "#ff0033")]
    assert not (tmp_path / "dataset_description.json").exists(), "the file lies in no folder of a subject"


BAD = [
    (["-o", "mask.nii.gz"], 64, ["mask.nii.gz", "_dseg.nii.gz"]),
    (["-o", "x_dseg.nrrd"], 64, ["x_dseg.nrrd"]),
    (["-o", "out/"], 64, ["scan.nii", "sub-LABEL_"]),
    (["-o", "none/x_dseg.nii"], 73, ["none"]),
]


@pytest.mark.parametrize("words, code, parts", BAD)
def test_bad_names(tmp_path, words, code, parts):
    good("phantom", "abdomen", "-o", "scan.nii", "--size", "16,16,8", cwd=tmp_path)
    assert_one_line(lobule("threshold", "scan.nii", *words, "--otsu", 2, "--bids", cwd=tmp_path), code, *parts)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scan.nii"]


def test_folders_are_made_with_the_labels(dataset, tmp_path):
    """What fails, only checks or only prints makes none."""
    image, words = dataset / "raw" / (ANAT.format("01") + "T1w.nii.gz"), ["-o", "new/made/", "--otsu", "2", "--bids"]
    (tmp_path / "file").write_text("")
    (tmp_path / "one.recipe").write_text("threshold {image} " + " ".join(words) + "\n")
    (tmp_path / "sub-3_T1w.nii").write_text("")
    before = sorted(p.name for p in tmp_path.iterdir())
    assert_one_line(lobule("threshold", "sub-3_T1w.nii", *words, cwd=tmp_path), 65, "sub-3_T1w.nii")
    assert_one_line(lobule("threshold", image, "-o", "file/new/", "--otsu", 2, "--bids", cwd=tmp_path), 73, "file/new")
    for command in ("segment", "cells"):
        strokes = [image] if command == "segment" else []
        done = lobule(command, image, *strokes, "-o", "new/", "--bids", "--print-recipe", cwd=tmp_path)
        assert_one_line(done, 64, "--bids")
    good("run", "one.recipe", f"image={image}", "--dry-run", cwd=tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    good("run", "one.recipe", f"image={image}", cwd=tmp_path)
    assert (tmp_path / "new/made" / (ANAT.format("01") + "desc-threshold_dseg.tsv")).exists()
    assert (tmp_path / "new/made/dataset_description.json").read_bytes().endswith(b"}\n")


def test_a_sidecar_that_cannot_be_written_takes_the_labels_with_it(tmp_path):
    good("phantom", "abdomen", "-o", "scan.nii", "--size", "16,16,8", cwd=tmp_path)
    (tmp_path / "x_dseg.json").mkdir()
    done = lobule("threshold", "scan.nii", "-o", "x_dseg.nii", "--otsu", 2, "--bids", "--force", cwd=tmp_path)
    assert_one_line(done, 73, "x_dseg.json")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scan.nii", "x_dseg.json"]


def test_the_app(dataset):
    done = lobule("bids", "raw", "made", "participant", "--jobs", 2, "--", "segment", "{image}", STROKES, "-o", "{out}",
                  cwd=dataset)  # fmt: skip
    assert done.returncode == 0, done.stderr
    for participant in ("01", "02"):
        stem = ANAT.format(participant) + "desc-segment_dseg"
        strokes = f"sub-{participant}_ses-1_desc-strokes_dseg.nii.gz"
        check_labels(dataset / "made", stem, ["bids:raw:" + ANAT.format(participant) + "T1w.nii.gz", strokes])
        good("segment", "raw/" + ANAT.format(participant) + "T1w.nii.gz", f"strokes/{Path(stem).parent}/{strokes}",
             "-o", "alone.nii.gz", "--force", cwd=dataset)  # fmt: skip
        assert (dataset / f"made/{stem}.nii.gz").read_bytes() == (dataset / "alone.nii.gz").read_bytes()
    assert len(rows_of(dataset / "made/code/segment/status.tsv")) == 2
    (dataset / "otsu.recipe").write_text("threshold {image} -o {out} --otsu 2 --bids\n")
    for spelled in (["--participant_label", "01", "02"], ["--participant-label", "sub-02", "--resume"]):
        good("bids", "raw", "made", "participant", "--recipe", "otsu.recipe", *spelled, cwd=dataset)
    assert len(rows_of(dataset / "made/code/otsu/status.tsv")) == 2
    assert len(list((dataset / "made").glob("sub-*/ses-1/anat/*_desc-otsu_dseg.tsv"))) == 2
    if "LOBULE_SANITIZED" not in os.environ:
        checked = subprocess.run([VALIDATOR, "--json", dataset / "made"], capture_output=True, text=True, check=False)
        issues = json.loads(checked.stdout)["issues"]["issues"]
        assert [issue for issue in issues if issue["severity"] == "error"] == []


@pytest.mark.parametrize(
    "words, code, part",
    [
        (["none", "made", "participant", "--", "threshold"], 66, "none"),
        (["raw", "made", "participant"], 64, "--recipe"),
        (["none", "made", "group"], 66, "none"),
        (["raw", "made", "subject", "--", "threshold"], 64, "LEVEL"),
        (["raw", "made", "participant", "--suffix", "PDw", "--", "threshold"], 66, "_PDw.nii.gz"),
        (["raw", "made", "participant", "--participant-label", "03", "--", "threshold"], 66, "sub-03_"),
        (["raw", "made", "participant", "--participant-label", "01", "sub-03", "--", "threshold"], 66, "sub-03_"),
        (["raw", "made", "participant", "--recipe", "./-.txt"], 64, "digits"),
        (["raw", "made", "participant", "03", "--", "threshold"], 64, "'03'"),
    ],
)
def test_bad_calls(dataset, words, code, part):
    assert_one_line(lobule("bids", *words, cwd=dataset), code, part)


@pytest.mark.parametrize(
    "line, part",
    [
        (["treshold", "{image}", "-o", "{out}", "--otsu", "2"], "treshold"),
        (["threshold", "{image}", "-o", "{out}", "--ostu", "2"], "--ostu"),
        (["threshold", "{image}", "-o", "{out}", "--otsu", "200"], "200"),
        (["threshold", "{image}", "--otsu", "2"], "--output"),
        (["threshold", "{imag}", "-o", "{out}", "--otsu", "2"], "{imag}"),
        (["convert", "{image}", "{out}"], "--bids"),
    ],
)
def test_a_wrong_line_fails_once_and_before_any_scan(dataset, tmp_path, line, part):
    done = lobule("bids", dataset / "raw", "wrong", "participant", "--device", "all", "--", *line, cwd=tmp_path)
    assert_one_line(done, 64, part)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "wrong/code").mkdir(parents=True)
    assert_one_line(lobule("bids", dataset / "raw", "wrong", "participant", "--", *line, cwd=tmp_path), 64, part)
    assert list(tmp_path.rglob("*")) == [tmp_path / "wrong", tmp_path / "wrong/code"]


def test_what_the_app_hands_on(dataset, tmp_path):
    """A dataset whose name glob would take for a pattern; common options; a line of many words."""
    (tmp_path / "a [1]*").symlink_to(dataset / "raw")
    (tmp_path / "a 1").mkdir()
    words = ["--keep", ",".join(map(str, range(1, 50)))] + ["--threads", "1"] * 150
    again = ["bids", "a [1]*", "made", "participant", "--participant-label", "02"]
    good(*again, "--provenance", "--", "threshold", "{image}", "-o", "{out}", "--otsu", 2, cwd=tmp_path)
    labels = ANAT.format("02") + "desc-threshold_dseg.nii.gz"
    assert "lobule threshold" in str(nibabel.load(tmp_path / "made" / labels).header.extensions[0].get_content())
    before = (tmp_path / "made" / labels).stat().st_mtime_ns
    (tmp_path / "made/code/threshold_sub-02/status.tsv").unlink()
    good(*again, "--skip-existing", "--", "threshold", "{image}", "-o", "{out}", "--otsu", 3, cwd=tmp_path)
    assert (tmp_path / "made" / labels).stat().st_mtime_ns == before
    good(*again, "--", "labels", "made/" + labels, "-o", "{out}", *words, cwd=tmp_path)


def test_participants_at_the_same_time(dataset, tmp_path):
    """As jobs of a cluster do it, each with its own log; the command is as in a shell."""
    words = ["--", "lobule", "threshold", "{image}", "-o", "{out}", "--otsu", "2"]
    app = [os.environ["LOBULE_BIN"], "bids", dataset / "raw", "made", "participant"]
    jobs = [
        subprocess.Popen([*app, "--participant-label", label, *words], cwd=tmp_path) for label in ("01", "sub-02")
    ]  # fmt: skip
    assert [job.wait() for job in jobs] == [0, 0]
    for label in ("01", "02"):
        assert (tmp_path / "made" / (ANAT.format(label) + "desc-threshold_dseg.tsv")).is_file()
        assert len(rows_of(tmp_path / f"made/code/threshold_sub-{label}/status.tsv")) == 1
        assert len(rows_of(tmp_path / f"made/code/threshold_sub-{label}.tsv")) == 1
    good(*app[1:], "--participant-label", "01", "--resume", *words, cwd=tmp_path)


def test_few_masks_are_carried_to_all(dataset, tmp_path):
    """Each scan is labelled by the others of the table; the sidecar says by which."""
    table = ["image\tlabels"]
    for label in ("01", "02"):
        good("phantom", "abdomen", "-o", "scan.nii.gz", "--truth", "truth.nii.gz", "--size", "48,40,24", "--spacing", "3,3,4",
             "--random-seed", label, "--force", cwd=tmp_path)  # fmt: skip
        good("labels", "truth.nii.gz", "--keep", "2,4-6", "-o", f"{label}.nii.gz", cwd=tmp_path)
        table.append(f"{dataset}/raw/{ANAT.format(label)}T1w.nii.gz\t{label}.nii.gz")
    (tmp_path / "painted.tsv").write_text("\n".join(table) + "\n")
    line = ["carry", "{image}", "--atlases", "painted.tsv", "-o", "{out}", "--grid", 10]
    good("bids", dataset / "raw", "OUT", "participant", "--", *line, cwd=tmp_path)
    for label, other in (("01", "02"), ("02", "01")):
        image, stem = f"{dataset}/raw/{ANAT.format(label)}T1w.nii.gz", ANAT.format(label) + "desc-carry_dseg"
        sources = ["bids:raw:" + ANAT.format(label) + "T1w.nii.gz", "painted.tsv"]
        rows, about = check_labels(tmp_path / "OUT", stem, sources)
        assert {row["name"] for row in rows} >= {"liver", "spleen"}
        atlases = {row["image"]: row["became"] for row in about["Lobule"]["Results"]["atlases"]}
        assert atlases == {image: "the scan itself", f"{dataset}/raw/{ANAT.format(other)}T1w.nii.gz": "used"}
        good("carry", image, *line[2:4], "-o", "alone.nii.gz", *line[-2:], "--force", cwd=tmp_path)
        assert (tmp_path / f"OUT/{stem}.nii.gz").read_bytes() == (tmp_path / "alone.nii.gz").read_bytes()
        report = json.loads((tmp_path / f"OUT/code/carry/reports/sub-{label}_ses-1_T1w.json").read_text())
        assert [row["role"] for row in report["outputs"]] == ["output", "bids", "bids"]


def test_descriptors_of_boutiques():
    for command in ("segment", "growcut", "cells", "filter", "bids"):
        about = json.loads(good(command, "--boutiques").stdout)
        keys = re.findall(r"\[[A-Z0-9_]+\]", about["command-line"])
        assert sorted(keys) == sorted(row["value-key"] for row in about["inputs"])
        assert len({row["id"] for row in about["inputs"]}) == len(keys)
        for row in about.get("output-files", []):
            assert row["path-template"] in keys
        assert {75} <= {row["code"] for row in about["error-codes"]}


@pytest.mark.parametrize("odd", ["a\nb", "a\tb", "a\\nb"], ids=["newline", "tab", "backslash"])
def test_odd_names(tmp_path, odd):
    """Of a name in which a table would end a line or a cell."""
    stem = f"raw/sub-1/anat/sub-1_acq-{odd}_T1w"
    (tmp_path / "raw/sub-1/anat").mkdir(parents=True)
    good("phantom", "abdomen", "-o", f"{stem}.nii.gz", "--size", "16,16,8", cwd=tmp_path)
    good("bids", "raw", "made", "participant", "--", "threshold", "{image}", "-o", "{out}", "--otsu", "2", cwd=tmp_path)
    assert (tmp_path / f"made/sub-1/anat/sub-1_acq-{odd}_desc-threshold_dseg.nii.gz").exists()
