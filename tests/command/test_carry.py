"""lobule carry: phantoms with their truth as atlases of another one, strokes, choices, and what is refused."""

import csv
import json
import os

import nibabel
import numpy as np
import pytest
from conftest import assert_one_line, good, judges, load, lobule, refused, rows_of, save
from in_process import in_process, package

MM = 20 if "LOBULE_SANITIZED" in os.environ else 10  # a coarse grid is enough to walk every path
GRID = ["--grid", MM]
FEW = [2, 4, 5, 6]  # liver, spleen, kidneys


def write_table(path, numbers, labels="l{}.nii.gz"):
    path.write_text("image\tlabels\n" + "".join(f"s{i}.nii.gz\t{labels.format(i)}\n" for i in numbers))
    return path


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    """Four patients, s1 to s4, the labels of organs l1 to l4, and what carry makes of three for the first."""
    folder = tmp_path_factory.mktemp("cohort")
    for i in (1, 2, 3, 4):
        good("phantom", "abdomen", "--size", "45,33,27", "--spacing", "8,8,8", "--random-seed", i,
             "-o", folder / f"s{i}.nii.gz", "--truth", folder / f"t{i}.nii.gz")  # fmt: skip
        good("labels", folder / f"t{i}.nii.gz", "--merge", "2,3=2", "--keep", "2,4-6", "-o", folder / f"l{i}.nii.gz")
    write_table(folder / "painted.tsv", (2, 3, 4))
    done = good("carry", folder / "s1.nii.gz", "--atlases", folder / "painted.tsv", "-o", folder / "out.nii.gz",
                "--votes", folder / "votes.nii.gz", "--doubt", folder / "doubt.nii.gz", "--sheet", folder / "sheet.png",
                "--table", "-", "--report", folder / "report.json", *GRID)  # fmt: skip
    (folder / "table.tsv").write_text(done.stdout)
    return folder


def dice(a, b, label):
    a, b = a == label, b == label
    return 2 * (a & b).sum() / (a.sum() + b.sum())


def test_most_of_each_organ_is_found(cohort):
    found, truth = load(cohort / "out.nii.gz"), load(cohort / "l1.nii.gz")
    assert set(np.unique(found)) == {0, *FEW}
    assert min(dice(found, truth, label) for label in FEW) > 0.8
    assert dice(found, truth, 2) > 0.9


def test_header_and_names_are_kept(cohort):
    done = good("info", cohort / "out.nii.gz")
    assert "liver" in done.stdout and "spleen" in done.stdout
    a, b = (nibabel.load(cohort / name).header for name in ("s1.nii.gz", "out.nii.gz"))
    assert np.array_equal(a.get_best_affine(), b.get_best_affine()) and a["xyzt_units"] == b["xyzt_units"]


def test_doubt_is_one_less_the_mean_dice_with_moved_atlases(cohort, tmp_path):
    """Each step by its own command; headers of NRRD do not round."""
    grid, fields = tmp_path / "grid.nrrd", {}
    spacing = [side / round(side / MM) for side in (45 * 8, 33 * 8, 27 * 8)]  # steps of about that many mm that fill each side
    good("resample", cohort / "s1.nii.gz", "--spacing", ",".join(f"{step:.17g}" for step in spacing), "-o", grid)
    good("resample", cohort / "out.nii.gz", "--like", grid, "--labels", "--method", "majority", "-o", tmp_path / "found.nii.gz")
    found = load(tmp_path / "found.nii.gz")
    for i in (2, 3, 4):
        field, moved = tmp_path / f"f{i}.nrrd", tmp_path / f"m{i}.nii.gz"
        good("register", grid, cohort / f"s{i}.nii.gz", "-o", field, *GRID)
        good("warp", cohort / f"l{i}.nii.gz", field, "--like", grid, "--labels", "-o", moved)
        fields[i] = load(moved)
    for row in rows_of(cohort / "table.tsv"):
        agreement = np.mean([dice(found, moved, int(row["label"])) for moved in fields.values()])
        assert np.isclose(float(row["doubt"]), 1 - agreement, atol=1e-6)


def test_table_has_shares_of_votes(cohort):
    found, votes = load(cohort / "out.nii.gz"), load(cohort / "votes.nii.gz")
    votes = votes.reshape(*found.shape, -1)
    doubt = load(cohort / "doubt.nii.gz")
    rows = rows_of(cohort / "table.tsv")
    assert [int(row["label"]) for row in rows] == FEW
    for k, row in enumerate(rows):
        inside = found == FEW[k]
        assert int(row["voxels"]) == inside.sum()
        assert np.allclose(doubt[inside], 1 - votes[..., k][inside], atol=3e-5)
        assert np.isclose(1 - float(row["share"]), doubt[inside].mean(), atol=3e-5)
        assert int(row["atlases"]) == 3
    report = json.loads((cohort / "report.json").read_text())["results"]
    assert [row["label"] for row in report["carried"]] == FEW
    assert [row["became"] for row in report["atlases"]] == ["used"] * 3
    assert report["grid_mm"] == MM and report["atlases_used"] == 3


def test_sheet_is_a_picture(cohort):
    assert (cohort / "sheet.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_threads_change_nothing(cohort, tmp_path):
    good("carry", cohort / "s1.nii.gz", "--atlases", cohort / "painted.tsv", "-o", tmp_path / "out.nii.gz", *GRID,
         "--threads", 3, "--doubt", tmp_path / "doubt.nii.gz")  # fmt: skip
    for name in ("out.nii.gz", "doubt.nii.gz"):
        assert np.array_equal(load(tmp_path / name), load(cohort / name))


def test_the_scan_itself_is_left_out(cohort, tmp_path):
    table = write_table(cohort / "all.tsv", (1, 2, 3, 4))
    done = good("carry", cohort / "s1.nii.gz", "--atlases", table, "-o", tmp_path / "out.nii.gz", *GRID)
    assert "s1.nii.gz: is the scan itself" in done.stderr
    assert np.array_equal(load(tmp_path / "out.nii.gz"), load(cohort / "out.nii.gz"))


def test_nearest_are_used(cohort, tmp_path):
    done = good("carry", cohort / "s1.nii.gz", "--atlases", cohort / "painted.tsv", "-o", tmp_path / "out.nii.gz", *GRID,
                "--use", 1, "--report", tmp_path / "report.json")  # fmt: skip
    atlases = json.loads((tmp_path / "report.json").read_text())["results"]["atlases"]
    assert sorted(row["became"] for row in atlases) == ["others are nearer"] * 2 + ["used"], done.stderr
    used = [i for i, row in enumerate(atlases) if row["became"] == "used"]
    write_table(cohort / "one.tsv", [used[0] + 2])
    good("carry", cohort / "s1.nii.gz", "--atlases", cohort / "one.tsv", "-o", tmp_path / "one.nii.gz", *GRID)
    assert np.array_equal(load(tmp_path / "out.nii.gz"), load(tmp_path / "one.nii.gz"))


def test_a_structure_may_be_missing_in_atlases(cohort, tmp_path):
    for i in (3, 4):
        good("labels", cohort / f"l{i}.nii.gz", "--drop", 4, "-o", cohort / f"without{i}.nii.gz", "--force")
    table = tmp_path / "some.tsv"
    rows = [(2, "l2"), (3, "without3"), (4, "without4")]
    table.write_text("labels,image\n".replace(",", "\t") + "".join(f"{cohort}/{l}.nii.gz\t{cohort}/s{i}.nii.gz\n" for i, l in rows))
    good("carry", cohort / "s1.nii.gz", "--atlases", table, "-o", tmp_path / "out.nii.gz", *GRID,
         "--report", tmp_path / "report.json")  # fmt: skip
    assert dice(load(tmp_path / "out.nii.gz"), load(cohort / "l1.nii.gz"), 4) > 0.7
    rows = {row["label"]: row["atlases"] for row in json.loads((tmp_path / "report.json").read_text())["results"]["carried"]}
    assert rows == {2: 3, 4: 1, 5: 3, 6: 3}


def test_an_atlas_of_noise_is_doubtful(cohort, tmp_path):
    other = nibabel.load(cohort / "s2.nii.gz")
    save(np.random.default_rng(0).normal(size=other.shape).astype(np.float32), tmp_path / "s2.nii.gz", other.affine)
    rows = [(tmp_path / "s2.nii.gz", cohort / "l2.nii.gz"), (cohort / "s3.nii.gz", cohort / "l3.nii.gz")]
    (tmp_path / "table.tsv").write_text("image\tlabels\n" + "".join(f"{image}\t{labels}\n" for image, labels in rows))
    done = good("carry", cohort / "s1.nii.gz", "--atlases", tmp_path / "table.tsv", "-o", tmp_path / "out.nii.gz", *GRID,
                "--report", tmp_path / "report.json")  # fmt: skip
    atlases = json.loads((tmp_path / "report.json").read_text())["results"]["atlases"]
    assert [row["doubtful"] for row in atlases] == [True, False]
    assert_one_line(done, 0, f"{rows[0][0]}: may lie wrong on the scan")


def test_an_atlas_that_is_nan_where_the_scan_lies_is_left_out(cohort, tmp_path):
    """The scan is a corner of its patient, and one atlas has values beyond that corner alone, one of them far from its end."""
    whole = nibabel.load(cohort / "s1.nii.gz")
    nibabel.save(whole.slicer[:24], tmp_path / "corner.nii.gz")
    other = nibabel.load(cohort / "s2.nii.gz")
    image = other.get_fdata(dtype=np.float32)
    image[:41], image[38, 2, 2] = np.nan, 0
    save(image, tmp_path / "nan.nii.gz", other.affine)
    rows = [(tmp_path / "nan.nii.gz", cohort / "l2.nii.gz"), (cohort / "s3.nii.gz", cohort / "l3.nii.gz")]
    table = tmp_path / "table.tsv"
    words = ["carry", tmp_path / "corner.nii.gz", "--atlases", table, *GRID]
    table.write_text("image\tlabels\n" + "".join(f"{image}\t{labels}\n" for image, labels in rows))
    good(*words, "-o", tmp_path / "out.nii.gz", "--report", tmp_path / "report.json")
    atlases = json.loads((tmp_path / "report.json").read_text())["results"]["atlases"]
    assert [row["became"] for row in atlases] == ["cannot be registered", "used"]
    table.write_text(f"image\tlabels\n{rows[0][0]}\t{rows[0][1]}\n")
    assert_one_line(lobule(*words, "-o", tmp_path / "none.nii.gz"), 65, "atlas 1 has no finite value where the scan lies")


def test_headers_may_put_the_scan_apart(cohort, tmp_path):
    """Five metres from its atlases: it is laid on them by its centre, and is labelled as well."""
    scan = nibabel.load(cohort / "s1.nii.gz")
    affine = scan.affine.copy()
    affine[0, 3] += 5000
    save(np.asanyarray(scan.dataobj), tmp_path / "far.nii.gz", affine)
    good("carry", tmp_path / "far.nii.gz", "--atlases", cohort / "painted.tsv", "-o", tmp_path / "out.nii.gz", *GRID)
    found = load(tmp_path / "out.nii.gz")
    assert min(dice(found, load(cohort / "out.nii.gz"), label) for label in FEW) > 0.95
    assert np.array_equal(nibabel.load(tmp_path / "out.nii.gz").affine, affine)


def test_another_part_of_the_body_is_doubtful(cohort, tmp_path):
    """The scan shows slices that no atlas has; nothing says so but the doubt."""
    for i in (1, 2, 3):
        part = slice(None, 13) if i == 1 else slice(14, None)
        for kind in "sl":
            nibabel.save(nibabel.load(cohort / f"{kind}{i}.nii.gz").slicer[:, :, part], tmp_path / f"{kind}{i}.nii.gz")
    write_table(tmp_path / "table.tsv", (2, 3))
    done = good("carry", tmp_path / "s1.nii.gz", "--atlases", tmp_path / "table.tsv", "-o", tmp_path / "out.nii.gz",
                "--table", "-", *GRID)  # fmt: skip
    liver = [next(csv.DictReader(text.splitlines(), delimiter="\t")) for text in (done.stdout, (cohort / "table.tsv").read_text())]
    assert [row["name"] for row in liver] == ["liver"] * 2
    assert float(liver[0]["doubt"]) > 1.5 * float(liver[1]["doubt"])


@pytest.mark.parametrize("axis", [0, 2])
def test_what_is_filled_beyond_a_field_of_view_is_no_border_of_the_body(cohort, tmp_path, axis):
    scan, truth = (nibabel.load(cohort / name) for name in ("s1.nii.gz", "l1.nii.gz"))
    filled, wanted = np.asarray(scan.dataobj).copy(), np.asarray(truth.dataobj).copy()
    half = [slice(None)] * 3
    half[axis] = slice(filled.shape[axis] // 2, None)
    filled[tuple(half)] = wanted[tuple(half)] = 0
    save(filled, tmp_path / "scan.nii.gz", scan.affine)
    done = good("carry", tmp_path / "scan.nii.gz", "--atlases", cohort / "painted.tsv", "-o", tmp_path / "out.nii.gz",
                "--report", tmp_path / "report.json", *GRID)  # fmt: skip
    found = load(tmp_path / "out.nii.gz")
    assert min(dice(found, wanted, l) for l in FEW if (wanted == l).sum() > 40) > 0.9
    size = list(filled.shape)
    size[axis] //= 2
    assert json.loads((tmp_path / "report.json").read_text())["results"]["field_of_view"] == {"first": [0, 0, 0], "size": size}
    assert "scan.nii.gz: is filled with one value beyond a field of view of {} x {} x {} voxels".format(*size) in done.stderr


@judges
@pytest.mark.parametrize("axis", [0, 2])
def test_filled_parts_of_atlases_have_no_votes(cohort, tmp_path, axis):
    """What one atlas does not show, the other does; what either was filled with is nobody's background."""
    for i, part in ((2, 0), (3, 1)):
        scan, truth = (nibabel.load(cohort / f"{kind}{i}.nii.gz") for kind in "sl")
        filled, wanted = np.asarray(scan.dataobj).copy(), np.asarray(truth.dataobj).copy()
        size = filled.shape[axis]
        half = [slice(None)] * 3
        half[axis] = slice(0, size * 2 // 5) if part == 0 else slice(size * 3 // 5, None)
        filled[tuple(half)], wanted[tuple(half)] = -1024, 0
        save(filled, tmp_path / f"s{i}.nii.gz", scan.affine)
        save(wanted, tmp_path / f"l{i}.nii.gz", scan.affine)
    write_table(tmp_path / "table.tsv", (2, 3))
    good("carry", cohort / "s1.nii.gz", "--atlases", tmp_path / "table.tsv", "-o", tmp_path / "out.nii.gz",
         "--votes", tmp_path / "votes.nii.gz", *GRID)  # fmt: skip
    found, wanted = load(tmp_path / "out.nii.gz"), load(cohort / "l1.nii.gz")
    assert min(dice(found, wanted, label) for label in FEW) > 0.92
    votes = load(tmp_path / "votes.nii.gz").reshape(*found.shape, -1)
    assert min(votes[..., l][wanted == label].mean() for l, label in enumerate(FEW)) > 0.7


def test_all_but_one_slice_is_filled(cohort, tmp_path):
    scan, truth = (nibabel.load(cohort / name) for name in ("s1.nii.gz", "l1.nii.gz"))
    filled, wanted = np.full(scan.shape, -1024, np.int16), np.zeros(truth.shape)
    filled[:, :, 13], wanted[:, :, 13] = scan.dataobj[:, :, 13], truth.dataobj[:, :, 13]
    save(filled, tmp_path / "scan.nii.gz", scan.affine)
    good("carry", tmp_path / "scan.nii.gz", "--atlases", cohort / "painted.tsv", "-o", tmp_path / "out.nii.gz", *GRID)
    assert dice(load(tmp_path / "out.nii.gz"), wanted, 2) > 0.8


def test_strokes_win(cohort, tmp_path):
    found = load(cohort / "out.nii.gz")
    strokes = np.zeros(found.shape, np.uint8)
    at = [tuple(int(c) for c in np.argwhere(found == label)[len(np.argwhere(found == label)) // 2]) for label in (2, 4)]
    strokes[at[0]] = 9  # a new label in the liver
    strokes[at[1]] = 30  # background in the spleen
    nibabel.save(nibabel.Nifti1Image(strokes, nibabel.load(cohort / "s1.nii.gz").affine), tmp_path / "strokes.nii.gz")
    good("carry", cohort / "s1.nii.gz", "--atlases", cohort / "painted.tsv", "-o", tmp_path / "out.nii.gz", *GRID,
         "--strokes", tmp_path / "strokes.nii.gz", "--background", 30, "--reach", "9mm")  # fmt: skip
    new = load(tmp_path / "out.nii.gz")
    assert new[at[0]] == 9 and new[at[1]] == 0
    far = np.ones(found.shape, bool)
    for x, y, z in at:
        far[max(x - 8, 0) : x + 9, max(y - 8, 0) : y + 9, max(z - 8, 0) : z + 9] = False
    assert (new[far] == found[far]).mean() > 0.99


def test_votes_part_labels_of_one_brightness(tmp_path):
    """Two organs side by side that look alike: growth from far inside of them does not find where they meet."""
    random = np.random.default_rng(0)
    truth = np.zeros((40, 24, 20), np.uint8)
    truth[6:26, 6:18, 5:15], truth[26:34, 6:18, 5:15] = 1, 2
    for i in (1, 2, 3, 4):
        image = np.where(truth > 0, 200, 50) + random.normal(0, 12, truth.shape)
        save(image.astype(np.float32), tmp_path / f"s{i}.nii.gz", np.diag([4.0, 4, 4, 1]))
        save(truth, tmp_path / f"l{i}.nii.gz", np.diag([4.0, 4, 4, 1]))
    write_table(tmp_path / "table.tsv", (2, 3, 4))
    good("carry", tmp_path / "s1.nii.gz", "--atlases", tmp_path / "table.tsv", "-o", tmp_path / "out.nii.gz", "--grid", 4,
         "--sure-inside", 14)  # fmt: skip
    found = load(tmp_path / "out.nii.gz")
    assert dice(found, truth, 1) > 0.95 and dice(found, truth, 2) > 0.9


def test_one_slice(cohort, tmp_path):
    for i in (1, 2, 3):
        for kind in "sl":
            whole = nibabel.load(cohort / f"{kind}{i}.nii.gz")
            nibabel.save(whole.slicer[:, :, 13:14], tmp_path / f"{kind}{i}.nii.gz")
    write_table(tmp_path / "table.tsv", (2, 3))
    good("carry", tmp_path / "s1.nii.gz", "--atlases", tmp_path / "table.tsv", "-o", tmp_path / "out.nii.gz", "--sheet",
         tmp_path / "sheet.png")  # fmt: skip
    assert dice(load(tmp_path / "out.nii.gz"), load(tmp_path / "l1.nii.gz"), 2) > 0.8


def test_in_a_batch_tables_are_joined(cohort, tmp_path):
    (tmp_path / "scans.tsv").write_text(f"scan\timage\none\t{cohort}/s1.nii.gz\ntwo\t{cohort}/s2.nii.gz\n")
    done = lobule("batch", tmp_path / "scans.tsv", "--log", tmp_path / "log", "--jobs", 1, "--", "carry", "{image}", "--atlases",
                  cohort / "painted.tsv", "-o", f"{tmp_path}/{{scan}}.nii.gz", "--table", f"{tmp_path}/{{scan}}.tsv", *GRID)  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = rows_of(tmp_path / "log/regions.tsv")
    assert {(row["scan"], int(row["label"])) for row in rows} == {(s, l) for s in ("one", "two") for l in FEW}
    assert all(0 <= float(row["doubt"]) < 0.6 for row in rows)


def test_a_resumed_batch_sees_that_a_mask_has_changed(cohort, tmp_path):
    """The atlases stand in a table alone, which stays as it is."""
    for i in (2, 3):
        for name in (f"s{i}.nii.gz", f"l{i}.nii.gz"):
            (tmp_path / name).write_bytes((cohort / name).read_bytes())
    write_table(tmp_path / "painted.tsv", (2, 3))
    (tmp_path / "scans.tsv").write_text(f"scan\timage\none\t{cohort}/s1.nii.gz\n")
    words = ["batch", "scans.tsv", "--log", "log", "--resume", "--", "carry", "{image}", "--atlases", "painted.tsv", "-o",
             "{scan}.nii.gz", *GRID]  # fmt: skip
    assert "1 done;" in good(*words, cwd=tmp_path).stderr
    assert "1 done before" in good(*words, cwd=tmp_path).stderr
    (tmp_path / "l3.nii.gz").touch()
    assert "1 done before" in good(*words, cwd=tmp_path).stderr
    (tmp_path / "new.tsv").write_text("index\tname\n9\tnew\n")
    good("labels", cohort / "l3.nii.gz", "--merge", "4,9=9", "--label-table", "new.tsv", "-o", "l3.nii.gz", "--force", cwd=tmp_path)
    assert "1 done;" in good(*words, cwd=tmp_path).stderr
    assert 9 in load(tmp_path / "one.nii.gz")


def test_masks_of_3d_slicer(cohort, tmp_path):
    """It cuts them to what is painted; they give the bytes of whole ones. Where one numbers structures in another order, votes
    would mix them."""
    names = {2: "liver", 4: "spleen", 5: "right kidney", 6: "left kidney"}
    for i, numbers in ((2, names), (3, names), (4, {**names, 2: "Spleen", 4: "liver"})):
        good("crop", cohort / f"l{i}.nii.gz", "--around", cohort / f"l{i}.nii.gz", "-o", tmp_path / "cut.nii.gz", "--force")
        (tmp_path / "names.tsv").write_text("index\tname\n" + "".join(f"{k}\t{name}\n" for k, name in numbers.items()))
        good("convert", "--labels", "cut.nii.gz", f"m{i}.seg.nrrd", "--label-table", "names.tsv", "--force", cwd=tmp_path)
        assert nibabel.load(tmp_path / "cut.nii.gz").shape != (45, 33, 27)
    for table, suffix in (("whole.tsv", "l{}.nii.gz"), ("parts.tsv", "m{}.seg.nrrd")):
        rows = [f"{cohort}/s{i}.nii.gz\t{(cohort if suffix[0] == 'l' else tmp_path) / suffix.format(i)}\n" for i in (2, 3)]
        (tmp_path / table).write_text("image\tlabels\n" + "".join(rows))
        good("carry", cohort / "s1.nii.gz", "--atlases", table, "-o", table[:-4] + ".nii.gz", *GRID, cwd=tmp_path)
    assert np.array_equal(load(tmp_path / "parts.nii.gz"), load(tmp_path / "whole.nii.gz"))
    good("convert", "--labels", cohort / "l1.nii.gz", "drawn.nii.gz", "--label-table", "names.tsv", cwd=tmp_path)
    refused(tmp_path, ["carry", cohort / "s1.nii.gz", "--atlases", "parts.tsv", "--strokes", "drawn.nii.gz", "-o", "out.nii.gz",
            *GRID], 65, "m2.seg.nrrd: calls label 2 'liver', which is label 4 in those before it")  # fmt: skip
    (tmp_path / "parts.tsv").write_text("image\tlabels\n" + rows[0] + f"{cohort}/s4.nii.gz\tm4.seg.nrrd\n")
    refused(tmp_path, ["carry", cohort / "s1.nii.gz", "--atlases", "parts.tsv", "-o", "out.nii.gz", *GRID], 65,
            "m4.seg.nrrd: calls label 2 'Spleen', which is label 4 in those before it", "labels --map")  # fmt: skip
    # the scan's own labels do not vote
    good("carry", cohort / "s4.nii.gz", "--atlases", "parts.tsv", "-o", "own.nii.gz", *GRID, cwd=tmp_path)
    pairs = [f"--atlas={cohort}/s2.nii.gz,{cohort}/l2.nii.gz", *(f"--atlas={cohort}/s2.nii.gz,m{i}.seg.nrrd" for i in (2, 4))]
    good("fuse", cohort / "s2.nii.gz", *pairs[:2], "-o", "fused.nii.gz", cwd=tmp_path)
    assert np.array_equal(load(tmp_path / "fused.nii.gz"), load(cohort / "l2.nii.gz"))
    refused(tmp_path, ["fuse", cohort / "s2.nii.gz", *pairs, "-o", "out.nii.gz"], 65, "m4.seg.nrrd: calls label 2 'Spleen'")


def test_names_that_tell_no_label_apart(cohort, tmp_path):
    """n/a, no name, and a name of several labels may stand at other labels in another list."""
    lists = ["2\tn/a\n4\tcyst\n5\tcyst\n", "2\tcyst\n4\tn/a\n5\tliver\n", "2\tcyst\n5\tcyst\n4\tliver\n"]
    for i, names in enumerate(lists):
        (tmp_path / "names.tsv").write_text("index\tname\n" + names)
        good("convert", "--labels", cohort / "l2.nii.gz", f"m{i}.nii.gz", "--label-table", "names.tsv", cwd=tmp_path)
    for numbers, code in (((0, 1), 0), ((0, 2), 0), ((1, 2), 65)):
        pairs = [f"--atlas={cohort}/s2.nii.gz,m{i}.nii.gz" for i in numbers]
        done = lobule("fuse", cohort / "s2.nii.gz", *pairs, "-o", "out.nii.gz", "--force", cwd=tmp_path)
        assert done.returncode == code, done.stderr
    assert_one_line(done, 65, "m2.nii.gz: calls label 4 'liver', which is label 5")


# ---- what is refused ----


OUTPUTS = [("output", "nii.gz"), ("votes", "nii.gz"), ("doubt", "nii.gz"), ("sheet", "png"), ("table", "tsv")]
REFUSED = [
    ("no column", lambda f: "image\tmask\ns2.nii.gz\tl2.nii.gz\n", 65, "column labels"),
    ("an empty table", lambda f: "", 65, "column image"),
    ("no row", lambda f: "image\tlabels\n", 65, "lists no atlas"),
    ("an empty cell", lambda f: "image\tlabels\ns2.nii.gz\t\n", 65, ":2: has no labels"),
    ("no such file, in quotes", lambda f: 'Image\t"labels"\r\n s2.nii.gz \t"none.nii.gz" \r\n\t\r\n', 66, "/none.nii.gz: cannot"),
    ("no such file", lambda f: "image\tlabels\ns2.nii.gz\tnone.nii.gz\n", 66, "none.nii.gz"),
    ("masks on another grid", lambda f: "image\tlabels\ns2.nii.gz\tsmall.nii.gz\n", 65, "small.nii.gz"),
    ("only the scan itself", lambda f: "image\tlabels\ns1.nii.gz\tl1.nii.gz\n", 65, "none but the scan itself"),
    ("no labels", lambda f: "image\tlabels\ns2.nii.gz\tempty.nii.gz\n", 65, "no atlas can be used"),
    ("columns swapped", lambda f: "image\tlabels\nl2.nii.gz\ts2.nii.gz\n", 65, "atlas 1: has 2001 labels"),
    ("parts of labels", lambda f: "image\tlabels\ns3.nii.gz\tl3.nii.gz\ns2.nii.gz\thalf.nii.gz\n", 65, "half.nii.gz: no label"),
    ("an atlas twice", lambda f: "image\tlabels\ns2.nii.gz\tl2.nii.gz\n\ns2.nii.gz\tl2.nii.gz\n", 65, ":4: lists"),
    ("a constant atlas", lambda f: "image\tlabels\nflat.nii.gz\tl2.nii.gz\n", 65, "no atlas can be used"),
]


@pytest.mark.parametrize("what, table, code, part", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(cohort, tmp_path, what, table, code, part):
    affine = nibabel.load(cohort / "s2.nii.gz").affine
    save(np.ones((9, 9, 9), np.uint8), cohort / "small.nii.gz", affine * 2)
    save(np.ones((45, 33, 27), np.int16), cohort / "flat.nii.gz", affine)
    save(np.zeros((45, 33, 27), np.uint8), cohort / "empty.nii.gz", affine)
    save(np.full((45, 33, 27), 0.5, np.float32), cohort / "half.nii.gz", affine)
    (cohort / "bad.tsv").write_text(table(cohort))
    outputs = [word for kind, ending in OUTPUTS for word in (f"--{kind}", tmp_path / f"{kind}.{ending}")]
    done = lobule("carry", cohort / "s1.nii.gz", "--atlases", cohort / "bad.tsv", *outputs, *GRID)
    assert_one_line(done, code, part)
    assert list(tmp_path.iterdir()) == []


def test_a_table_in_a_code_of_the_spreadsheet(cohort, tmp_path):
    """What names no file may be in any."""
    row = f"{cohort}/s2.nii.gz,{cohort}/l2.nii.gz"
    words = ["carry", cohort / "s1.nii.gz", "--atlases", "table.csv", "-o", "out.nii.gz", *GRID]
    (tmp_path / "table.csv").write_text(f"image,labels,Gr\xf6\xdfe\n{row},M\xfcller\n", encoding="latin-1")
    good(*words, cwd=tmp_path)
    for bad in (row.replace("s2", "M\xfcller"), row.replace("l2", "M\xfcller")):
        (tmp_path / "table.csv").write_text(f"image,labels\n{row}\n{bad}\n", encoding="latin-1")
        assert_one_line(lobule(*words, "--force", cwd=tmp_path), 65, "table.csv:3: holds letters that are no UTF-8")


@pytest.mark.parametrize("value", [np.nan, 5])
def test_a_scan_that_shows_nothing_is_refused(cohort, tmp_path, value):
    save(np.full((45, 33, 27), value, np.float32), tmp_path / "scan.nii.gz", nibabel.load(cohort / "s1.nii.gz").affine)
    done = lobule("carry", tmp_path / "scan.nii.gz", "--atlases", cohort / "painted.tsv", "-o", tmp_path / "out.nii.gz", *GRID)
    assert_one_line(done, 65, "scan.nii.gz")


def test_an_output_that_is_an_atlas_is_refused(cohort):
    done = lobule("carry", cohort / "s1.nii.gz", "--atlases", cohort / "painted.tsv", "-o", cohort / "l2.nii.gz", "--force", *GRID)
    assert_one_line(done, 64, "belongs to an atlas")


@in_process
def test_python_gives_the_same(cohort):
    atlases = [tuple(nibabel.load(cohort / f"{kind}{i}.nii.gz") for kind in "sl") for i in (2, 3, 4)]
    report = {}
    found = package.carry(nibabel.load(cohort / "s1.nii.gz"), atlases, grid=MM, full=True, report=report)
    for name, volume in zip(("out", "votes", "doubt"), found):
        wanted = load(cohort / f"{name}.nii.gz")
        assert np.array_equal(np.asarray(volume.dataobj).reshape(wanted.shape), wanted), name
    wanted = json.loads((cohort / "report.json").read_text())["results"]["carried"]
    whole = json.loads((cohort / "report.json").read_text())["results"]["field_of_view"]
    assert report["field_of_view"] == whole == {"first": [0, 0, 0], "size": [45, 33, 27]}
    assert [row["doubt"] for row in report["carried"]] == pytest.approx([row["doubt"] for row in wanted], rel=1e-12)
