"""lobule stats: the table of labels that exist, against numpy."""

import csv
import json

import numpy as np
import pytest
import tifffile
from components_oracle import table
from conftest import AFFINE, SHARED, assert_one_line, contents, good, load, lobule, on_a_terminal, rows_of, save
from test_components_options import OBLIQUE, assert_rows, blobs, read_tsv


def scan(dtype=np.int16):
    return np.random.default_rng(9).integers(-90, 200, blobs().shape).astype(dtype)


@pytest.fixture
def folder(tmp_path):
    save(blobs(), tmp_path / "labels.nii")
    save(scan(), tmp_path / "scan.nii")
    return tmp_path


def stats(folder, *options, image="scan.nii", labels="labels.nii"):
    """Rows, report and stderr."""
    arguments = ["stats", image, labels, "--report", "report.json", "--table", "table.tsv", "--force", *options]
    done = good(*arguments, cwd=folder)
    return read_tsv(folder / "table.tsv"), json.loads((folder / "report.json").read_text()), done.stderr


def all_digits(folder):
    """Rows, of JSON."""
    good("stats", "scan.nii", "labels.nii", "--table", "t.json", "--force", cwd=folder)
    return json.loads((folder / "t.json").read_text())


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.uint16, np.float32])
def test_labels_of_every_type(folder, dtype):
    save(blobs().astype(dtype), folder / "labels.nii", affine=OBLIQUE)
    save(scan(), folder / "scan.nii", affine=OBLIQUE)
    rows, report, errors = stats(folder)
    assert_rows(rows, table(blobs(), OBLIQUE, scan()))
    assert report["results"]["labels"] == len(rows) == 5
    assert report["results"]["labelled_voxels"] == np.count_nonzero(blobs())
    assert errors == ""


def test_labels_keep_their_numbers(folder):
    names = np.array([0, 7, 300, 40000, 2**31 - 1, 2])
    save(names.astype(np.int32)[blobs()], folder / "labels.nii")
    rows, _, _ = stats(folder)
    want = {row["label"]: row for row in table(blobs(), AFFINE, scan())}
    assert [row["label"] for row in rows] == sorted(names[1:].tolist())
    for row in rows:
        expected = dict(want[int(np.argwhere(names == row["label"])[0, 0])])
        expected.pop("label")
        assert_rows([row], [expected])


def test_the_table_of_components(folder):
    """What components writes of its own labels is what stats says about them."""
    good("components", "labels.nii", "-o", "pieces.nii", "--table", "pieces.tsv", "--image", "scan.nii", cwd=folder)
    stats(folder, labels="pieces.nii")
    assert (folder / "table.tsv").read_text() == (folder / "pieces.tsv").read_text()


def test_json_and_standard_output(folder):
    rows, _, _ = stats(folder)
    exact = all_digits(folder)
    assert_rows(exact, table(blobs(), AFFINE, scan()), rel=1e-12)
    assert_rows(rows, exact)
    done = good("stats", "scan.nii", "labels.nii", cwd=folder)
    assert done.stdout == (folder / "table.tsv").read_text() and done.stderr == ""
    assert good("stats", "scan.nii", "labels.nii", "--table", "-", cwd=folder).stdout == done.stdout


def test_same_bytes_at_any_number_of_threads(folder):
    first = good("stats", "scan.nii", "labels.nii", "--threads", 1, cwd=folder).stdout
    for threads in (2, 3):
        assert good("stats", "scan.nii", "labels.nii", "--threads", threads, cwd=folder).stdout == first


def test_nan_is_left_out_and_counted(folder):
    image = scan(np.float32)
    image[blobs() == 2] = np.nan
    image[0:3] = np.inf
    save(image, folder / "scan.nii")
    rows, report, errors = stats(folder)
    want = table(blobs(), AFFINE, image)
    assert want[1]["mean"] is None
    for row, expected in zip(rows, want):
        for name in ("mean", "sd"):  # fine levels are a part in 2^32 of the range
            if expected[name] is not None:
                assert row[name] == pytest.approx(expected.pop(name), rel=1e-7)
    assert_rows(rows, want)
    lost = np.count_nonzero((blobs() > 0) & ~np.isfinite(image))
    assert report["results"]["not_finite_voxels"] == lost and "NaN or infinite" in errors


def test_frame_and_channel(folder):
    save(np.stack([scan() * 0, scan()], -1), folder / "frames.nii")
    want = table(blobs(), AFFINE, scan())
    assert_rows(stats(folder, "--frame", "1", image="frames.nii")[0], want)
    save(np.stack([scan() * 0, scan()], -1)[:, :, :, None], folder / "channels.nii")
    assert_rows(stats(folder, "--channel", "1", image="channels.nii")[0], want)


def test_every_frame_of_a_series(folder):
    """A row for each frame and label, in frames' order; what is not finite is told of all frames."""
    frames = [scan(), scan()[::-1] * 2, scan().astype(np.float32)]
    frames[2][0, 0, 0] = np.nan
    save(np.stack(frames, -1).astype(np.float32), folder / "frames.nii")
    rows, _, _ = stats(folder, image="frames.nii")
    assert [(r["frame"], r["label"]) for r in rows] == [(f, n) for f in range(3) for n in range(1, 6)]
    for f, frame in enumerate(frames):
        alone = stats(folder, "--frame", str(f), image="frames.nii")[0]
        assert [{k: v for k, v in r.items() if k != "frame"} for r in rows if r["frame"] == f] == alone
        assert "frame" not in alone[0]
    done = good("stats", "frames.nii", "labels.nii", "--name", "a", cwd=folder)
    assert done.stdout.splitlines()[1].split("\t")[:4] == ["a", "1", "0", str(np.count_nonzero(blobs() == 1))]


def test_no_labels(folder):
    save(np.zeros(blobs().shape, np.uint8), folder / "labels.nii")
    rows, report, errors = stats(folder)
    assert rows == [] and report["results"]["labels"] == 0 and "has no labels" in errors


def test_exact_sums_of_large_values(folder):
    """Means of integers near 2^31 lose nothing."""
    image = (2**31 - 1 - (np.arange(blobs().size) % 3).reshape(blobs().shape)).astype(np.int32)
    save(image, folder / "scan.nii")
    for row in all_digits(folder):
        values = image[blobs() == row["label"]].astype(np.int64)
        low = int(values.min())
        assert row["mean"] == pytest.approx(low + (values - low).sum() / len(values), rel=1e-15)
        assert row["sd"] == pytest.approx((values - low).std(), rel=1e-9)


def test_an_extreme_voxel_is_told_of(folder):
    """Means and deviations are good to a 2^32nd of the image's range, which one voxel can stretch."""
    image = (scan() + np.random.default_rng(5).random(blobs().shape)).astype(np.float32)
    save(image, folder / "scan.nii")
    assert stats(folder)[2] == ""
    rows = all_digits(folder)
    image[tuple(np.argwhere(blobs() == 0)[0])] = 1e6
    save(image, folder / "scan.nii")
    for row, expected in zip(rows, all_digits(folder)):
        assert row["mean"] == pytest.approx(expected["mean"], abs=1e6 / 2**32)
    assert stats(folder)[2] == ""
    image[tuple(np.argwhere(blobs() == 0)[0])] = 1e12
    save(image, folder / "scan.nii")
    rows, report, errors = stats(folder)
    assert f"too coarse for {len(rows)} rows" in errors and "too coarse" in report["notes"][0]
    for row, expected in zip(all_digits(folder), table(blobs(), AFFINE, image)):
        assert [row["min"], row["max"]] == [expected["min"], expected["max"]]


def test_a_real_scan(tmp_path):
    data = SHARED / "data" / "totalsegmentator"
    if not data.is_dir():
        pytest.skip(f"no folder {data}: set LOBULE_SHARED")
    good("stats", data / "example_ct.nii.gz", data / "example_seg_fast_force_split.nii.gz", "--table",
         tmp_path / "table.tsv")  # fmt: skip
    labels = np.asarray(load(data / "example_seg_fast_force_split.nii.gz"))
    image = np.asarray(load(data / "example_ct.nii.gz"), np.float64)
    rows = read_tsv(tmp_path / "table.tsv")
    assert [row["label"] for row in rows] == np.unique(labels[labels > 0]).tolist()
    for row in rows[:20]:
        values = image[labels == row["label"]]
        assert row["voxels"] == len(values)
        assert [row["min"], row["max"]] == [values.min(), values.max()]
        assert row["mean"] == pytest.approx(values.mean(), rel=1e-6, abs=1e-4)
        assert row["sd"] == pytest.approx(values.std(), rel=1e-6, abs=1e-4)


REFUSED = [
    ("an image in channels", {"scan.nii": np.zeros((31, 29, 17, 1, 2), np.uint8)}, [], 65, "--channel"),
    ("a channel that is not there", {"scan.nii": np.zeros((31, 29, 17, 1, 2), np.uint8)}, ["--channel", "2"], 65, "channel 2"),
    ("labels in frames", {"labels.nii": np.zeros((31, 29, 17, 2), np.uint8)}, [], 65, "labels.nii"),
    ("labels that are none", {"labels.nii": np.full((31, 29, 17), 0.5, np.float32)}, [], 65, "not a whole number"),
    ("negative labels", {"labels.nii": np.full((31, 29, 17), -1, np.int16)}, [], 65, "below 0"),
    ("a table of another kind", {}, ["--table", "table.txt"], 64, ".tsv"),
    ("an unknown option", {}, ["--image", "scan.nii"], 64, "--image"),
]  # fmt: skip


def test_labels_of_a_part_of_the_image(folder):
    """The table is that of all labels filled up with 0, in the image's voxels, whichever way the part lies."""
    whole = blobs()
    whole[:4] = whole[-3:] = whole[:, :2] = whole[:, :, -5:] = 0
    save(whole, folder / "labels.nii")
    box = tuple(slice(a.min(), a.max() + 1) for a in np.nonzero(whole))
    place = AFFINE.copy()
    place[:3, 3] = (AFFINE @ [*(b.start for b in box), 1])[:3]
    good("stats", "scan.nii", "labels.nii", "--table", "whole.tsv", cwd=folder)
    save(whole[box], folder / "part.nii", affine=place)
    stats(folder, labels="part.nii")
    assert (folder / "table.tsv").read_text() == (folder / "whole.tsv").read_text()
    turned = place @ np.array([[-1, 0, 0, whole[box].shape[0] - 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    save(whole[box][::-1], folder / "turned.nii", affine=turned)
    _, report, _ = stats(folder, labels="turned.nii")
    assert (folder / "table.tsv").read_text() == (folder / "whole.tsv").read_text()
    assert report["inputs"][1]["placed_at"] == [b.start for b in box]
    place[0, 3] += 0.3
    save(whole[box], folder / "between.nii", affine=place)
    assert_one_line(lobule("stats", "scan.nii", "between.nii", cwd=folder), 65, "same grid")
    stats(folder, "--spacing", "1,2,3", "--origin", "5,6,7")
    stated = (folder / "table.tsv").read_text()
    stats(folder, "--spacing", "1,2,3", "--origin", "5,6,7", labels="part.nii")
    assert (folder / "table.tsv").read_text() == stated
    for slabs, code in ((["--max-memory", "80KiB"], 75), (["--plan", "2"], 64)):
        done = lobule("stats", "scan.nii", "part.nii", *slabs, cwd=folder)
        assert_one_line(done, code, "part.nii: it covers a part of scan.nii", "only where", slabs[0] if code == 75 else "one task")


def test_labels_without_a_place_are_no_part(folder):
    """Their size may be known, but not where in the image they lie."""
    for resolution in (None, (2, 2)):
        how = {"photometric": "minisblack", "resolution": resolution, "resolutionunit": "CENTIMETER"}
        tifffile.imwrite(folder / "labels.tif", np.ones((3, 4, 5), np.uint8), **how)
        for image in ("scan.nii", "scan.tif"):
            if image == "scan.tif":
                tifffile.imwrite(folder / image, scan().T, **how)
            assert_one_line(lobule("stats", image, "labels.tif", cwd=folder), 65, "same grid")
    save(np.ones((5, 4, 3), np.uint8), folder / "part.nii", affine=np.eye(4))
    tifffile.imwrite(folder / "scan.tif", scan().T, photometric="minisblack")
    assert_one_line(lobule("stats", "scan.tif", "part.nii", cwd=folder), 65, "same grid")


@pytest.mark.parametrize("what, files, options, code, part", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(folder, what, files, options, code, part):
    for name, array in files.items():
        save(array, folder / name)
    before = contents(folder)
    done = lobule("stats", "scan.nii", "labels.nii", *options, cwd=folder)
    assert_one_line(done, code, part)
    assert done.stdout == "" and contents(folder) == before


@pytest.mark.parametrize("name", ["=1+2", "+1", "-1", "@a", "=a,b"])
def test_a_name_is_no_formula(folder, name):
    """A spreadsheet would compute what begins so in a CSV; TSV and JSON have the name as it is."""
    for ending in ("csv", "tsv", "json"):
        good("stats", "scan.nii", "labels.nii", "--table", f"t.{ending}", f"--name={name}", cwd=folder)
    with open(folder / "t.csv", newline="") as file:
        assert {row["scan"] for row in csv.DictReader(file)} == {"'" + name}
    assert {row["scan"] for row in rows_of(folder / "t.tsv")} == {name}
    assert {row["scan"] for row in json.loads((folder / "t.json").read_text())} == {name}


def test_names_stand_beside_labels(tmp_path):
    good("phantom", "abdomen", "--size", "40,30,20", "--truth", "a.nii", "-o", "scan.nii", cwd=tmp_path)
    rows = [line.split("\t") for line in good("stats", "scan.nii", "a.nii", cwd=tmp_path).stdout.splitlines()]
    assert rows[0][:3] == ["label", "name", "voxels"] and rows[2][:2] == ["2", "liver"]
    good("stats", "scan.nii", "a.nii", "--table", "t.json", cwd=tmp_path)
    table = json.loads((tmp_path / "t.json").read_text())
    assert table[1]["name"] == "liver" and table[1]["label"] == 2


def test_a_terminal_gets_columns_that_fit(tmp_path):
    good("phantom", "abdomen", "--size", "40,30,20", "--truth", "a.nii", "-o", "scan.nii", cwd=tmp_path)
    shown = on_a_terminal(tmp_path, ["stats", "scan.nii", "a.nii", "--quiet"], columns=72)
    lines = shown.decode().splitlines()
    assert all(len(line) <= 72 for line in lines), lines
    assert lines[0].split()[:3] == ["label", "name", "voxels"] and "\t" not in shown.decode()
    assert lines[2].startswith("    2  liver") and lines[-1].startswith("(")
    wide = on_a_terminal(tmp_path, ["stats", "scan.nii", "a.nii", "--quiet"], columns=90).decode().splitlines()[0]
    assert wide.split()[:7] == ["label", "name", "voxels", "volume_mm3", "volume_ml", "min", "mean"] and "bbox" not in wide


def test_a_label_name_is_no_formula(folder):
    """That of a file's label may begin as a formula does."""
    (folder / "names.csv").write_text("LabelValue,Name\n1,=1+2\n2,@liver\n")
    good("convert", "--labels", "labels.nii", "named.nii", "--label-table", "names.csv", cwd=folder)
    for ending, gap, mark in (("csv", ",", "'"), ("tsv", "\t", "")):
        good("stats", "scan.nii", "named.nii", "--table", f"t.{ending}", cwd=folder)
        with open(folder / f"t.{ending}", newline="") as file:
            names = {row["label"]: row["name"] for row in csv.DictReader(file, delimiter=gap)}
        assert (names["1"], names["2"]) == (mark + "=1+2", mark + "@liver")


def test_scan_and_labels_in_the_wrong_order(tmp_path):
    """The scan comes first; small regions, which change from voxel to voxel as a scan does, are labels all the same."""
    rng = np.random.default_rng(2)
    save(rng.integers(1, 900, (60, 60, 40)).astype(np.int16), tmp_path / "scan.nii")
    labels = np.ones((60, 60, 40), np.uint8)
    labels[10:] = 2
    save(labels, tmp_path / "labels.nii")
    done = lobule("stats", "labels.nii", "scan.nii", cwd=tmp_path)
    assert_one_line(done, 65, "scan.nii: has 899 labels", "as in a scan", "swapped? The image comes first")
    assert done.stdout == ""
    slabs = ("--max-memory", "1MiB")  # of 1.5 for the whole
    by_planes = lobule("stats", "labels.nii", "scan.nii", *slabs, cwd=tmp_path)
    assert (by_planes.returncode, by_planes.stdout, by_planes.stderr) == (65, "", done.stderr)
    for limit in ((), slabs):
        good("stats", "scan.nii", "labels.nii", *limit, cwd=tmp_path)
        good("stats", "scan.nii", "scan.nii", *limit, cwd=tmp_path)
