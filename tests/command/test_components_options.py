"""What each option of lobule components does, its table, and what it refuses."""

import csv
import json
import math

import cc3d
import nibabel
import numpy as np
import pytest
from components_oracle import components, fill_holes, renumber, select, table
from conftest import AFFINE, good, load, refused, save
from scipy import ndimage

VOXEL_MM3 = 1.5 * 1.5 * 2.5


def run(folder, *options, image="image.nii", out="labels.nii"):
    """Labels, report and stderr of one run."""
    arguments = ["components", image, "-o", out, "--report", "report.json", "--force", *options]
    done = good(*arguments, cwd=folder)
    return load(folder / out), json.loads((folder / "report.json").read_text()), done.stderr


def blobs(seed=3, shape=(31, 29, 17)):
    """Values of 0 to 5 in pieces of many sizes, with holes."""
    random = np.random.default_rng(seed)
    smooth = ndimage.gaussian_filter(random.normal(size=shape), 1.2)
    image = np.digitize(smooth, np.quantile(smooth, [0.55, 0.65, 0.8, 0.9, 0.97])).astype(np.int16)
    image[4:13, 4:13, 3:12] = 3
    image[7:10, 7:10, 6:9] = 0
    return image


@pytest.fixture
def folder(tmp_path):
    save(blobs(), tmp_path / "image.nii")
    return tmp_path


# ---- foreground ----


@pytest.mark.parametrize("limit", ["2", "1.5", "-1", "1e-300", "4.999"])
def test_above(folder, limit):
    labels, report, _ = run(folder, "--above", limit)
    inside = blobs() > float(limit)
    assert np.array_equal(labels, components(blobs(), foreground=inside))
    assert report["results"]["foreground_voxels"] == np.count_nonzero(inside)
    assert report["options"]["above"] == float(limit)


def test_above_is_strict_to_the_last_bit(tmp_path):
    image = np.array([[[1.0, np.nextafter(1.0, 2), np.nextafter(1.0, 0), 1.5]]])
    save(image, tmp_path / "image.nii")
    labels, _, _ = run(tmp_path, "--above", "1")
    assert labels.ravel().tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("bounds", ["2,3", "2,inf", "-inf,0", "0,0", "-inf,inf", "1.5,1.6"])
def test_range(folder, bounds):
    low, high = map(float, bounds.split(","))
    labels, _, _ = run(folder, "--range=" + bounds)
    assert np.array_equal(labels, components(blobs(), foreground=(blobs() >= low) & (blobs() <= high)))


def test_values_are_scaled(folder):
    save(blobs(), folder / "scaled.nii", scale=(0.5, -1))
    labels, _, _ = run(folder, "--range", "0,0.5", "--tolerance", "0.25", image="scaled.nii")
    inside = (blobs() == 2) | (blobs() == 3)
    assert np.array_equal(labels, components(blobs(), joined="equal", foreground=inside))
    labels, _, _ = run(folder, image="scaled.nii")
    assert np.array_equal(labels, components(blobs(), foreground=blobs() != 2))


DECIMALS = np.arange(-9, 10) / 10  # none but 0 and 0.5 is what a float32 holds


def decimals(path, dtype=np.float32, scale=None):
    """All pairs of decimals as rows of two voxels, with zeros between."""
    image = np.zeros((3 * len(DECIMALS), 2 * len(DECIMALS), 1), dtype)
    image[::3, ::2, 0], image[1::3, ::2, 0] = DECIMALS[:, None], DECIMALS
    save(image, path, scale=scale)
    return image


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decimal_bounds_are_those_of_numpy(tmp_path, dtype):
    """0.1 is not above 0.1, whichever of the two types it is stored as."""
    image = decimals(tmp_path / "image.nii", dtype)
    for number in DECIMALS:
        _, report, _ = run(tmp_path, f"--above={number}")
        assert report["results"]["foreground_voxels"] == np.count_nonzero(image > dtype(number)), number
        _, report, _ = run(tmp_path, f"--range={number},{number + 0.3:.1f}")
        inside = (image >= dtype(number)) & (image <= dtype(f"{number + 0.3:.1f}"))
        assert report["results"]["foreground_voxels"] == np.count_nonzero(inside), number


def test_decimal_bounds_of_scaled_values(tmp_path):
    """Stored float32 times slope, in doubles: nibabel's values, and numpy's comparison."""
    decimals(tmp_path / "image.nii", scale=(0.5, 0))
    values = nibabel.load(tmp_path / "image.nii").get_fdata()
    for number in DECIMALS / 2:
        _, report, _ = run(tmp_path, f"--above={number}")
        assert report["results"]["foreground_voxels"] == np.count_nonzero(values > number), number


@pytest.mark.parametrize("tolerance", ["0.1", "0.2", "0.3", "0.5", "0.7", "1.3"])
def test_decimal_tolerances_are_those_of_cc3d(tmp_path, tolerance):
    """For which a difference of float32s is a float32."""
    image = decimals(tmp_path / "image.nii")
    labels, _, _ = run(tmp_path, "--tolerance", tolerance, "--neighbours", "6")
    one, other = image[::3, ::2, 0], image[1::3, ::2, 0]
    joined = labels[::3, ::2, 0] == labels[1::3, ::2, 0]
    want = np.abs(one - other) <= np.float32(tolerance)
    assert np.array_equal((joined & (one != 0))[other != 0], (want & (one != 0))[other != 0])
    pieces = cc3d.connected_components(image, connectivity=6, delta=float(tolerance))
    assert np.array_equal(labels, renumber(pieces.astype(np.int64)))


def test_mask(folder):
    mask = np.where(np.arange(31) < 20, 0.5, np.nan)[:, None, None] * np.ones(blobs().shape)
    mask[:, 5] = 0
    save(mask.astype(np.float32), folder / "mask.nii")
    labels, _, _ = run(folder, "--mask", "mask.nii", "--equal")
    inside = (mask > 0) & (blobs() != 0)
    assert np.array_equal(labels, components(blobs(), joined="equal", foreground=inside))


def test_frame_and_channel(folder):
    frames = np.stack([np.zeros_like(blobs()), blobs()], -1)
    save(frames, folder / "frames.nii")
    labels, report, _ = run(folder, "--frame", "1", image="frames.nii")
    assert np.array_equal(labels, components(blobs()))
    assert report["inputs"][0]["frame"] == 1
    channels = np.stack([blobs(1), blobs(2), blobs(3)], -1)[:, :, :, None]
    save(channels, folder / "channels.nii")
    for channel in range(3):
        labels, _, _ = run(folder, "--channel", channel, "--equal", image="channels.nii")
        assert np.array_equal(labels, components(blobs(channel + 1), joined="equal"))


def test_nothing_there(folder):
    save(np.zeros((5, 4, 3), np.uint8), folder / "empty.nii")
    labels, report, errors = run(folder, "--table", "table.tsv", image="empty.nii")
    assert not labels.any() and labels.dtype == np.uint8
    assert report["results"]["components"] == 0
    assert "no foreground" in errors
    assert len((folder / "table.tsv").read_text().splitlines()) == 1
    labels, _, errors = run(folder, "--min-size", "1000000")
    assert not labels.any() and "none of the size asked for" in errors


# ---- what is kept ----

SIZES = [
    (("--min-size", "4"), {"smallest": 4}),
    (("--min-size", "4vox"), {"smallest": 4}),
    (("--min-size", f"{4 * VOXEL_MM3}mm3"), {"smallest": 4}),
    (("--min-size", f"{3.5 * VOXEL_MM3}mm3"), {"smallest": 4}),
    (("--min-size", f"{4 * VOXEL_MM3 / 1000}ml"), {"smallest": 4}),
    (("--min-size", f"{3.5 * VOXEL_MM3 / 1000}cm3"), {"smallest": 4}),
    (("--max-size", "7"), {"largest": 7}),
    (("--max-size", f"{7 * VOXEL_MM3}mm3"), {"largest": 7}),
    (("--max-size", f"{7.9 * VOXEL_MM3}mm3"), {"largest": 7}),
    (("--largest", "3"), {"count": 3}),
    (("--largest", "100000"), {"count": 100000}),
    (("--order", "size"), {"order": "size"}),
    (("--min-size", "2", "--max-size", "30", "--largest", "9", "--order", "size"),
     {"smallest": 2, "largest": 30, "count": 9, "order": "size"}),
    (("--min-size", "3", "--max-size", "3", "--largest", "5"), {"smallest": 3, "largest": 3, "count": 5}),
]  # fmt: skip


@pytest.mark.parametrize("options, chosen", SIZES, ids=[" ".join(row[0]) for row in SIZES])
def test_sizes(folder, options, chosen):
    labels, report, _ = run(folder, "--equal", "--neighbours", "6", *options)
    every = components(blobs(), 6, joined="equal")
    want = select(every, **chosen)
    assert np.array_equal(labels, want)
    assert report["results"]["components_found"] == every.max()
    assert report["results"]["components"] == want.max()


def test_sizes_in_mm3_are_exact_where_spacing_is_not(tmp_path):
    """0.1 mm cubes: 27 of them are 0.027 mm3, whatever rounding says."""
    image = np.zeros((7, 5, 4), np.uint8)
    image[1:4, 1:4, :3] = 1
    save(image, tmp_path / "image.nii", affine=np.diag([0.1, 0.1, 0.1, 1]))
    for option in ("--min-size", "--max-size"):
        assert run(tmp_path, option, "0.027mm3")[0].any(), option
    assert not run(tmp_path, "--min-size", "0.0271mm3")[0].any()
    assert not run(tmp_path, "--max-size", "0.0269mm3")[0].any()


@pytest.mark.parametrize("neighbours", [6, 18, 26])
def test_fill_holes_as_scipy_does(tmp_path, neighbours):
    """One component: the neighbours of the background are scipy's too."""
    structure = ndimage.generate_binary_structure(3, 3 if neighbours == 6 else 1)
    for seed in range(12):
        random = np.random.default_rng(seed)
        mask = ndimage.gaussian_filter(random.normal(size=(19, 17, 13)), 0.9) < 0.15
        save(mask.astype(np.uint8), tmp_path / "image.nii")
        labels, _, _ = run(tmp_path, "--largest", "1", "--fill-holes", "--neighbours", neighbours)
        every = ndimage.label(mask.T, ndimage.generate_binary_structure(3, {6: 1, 18: 2, 26: 3}[neighbours]))[0].T
        one = every == np.bincount(every[every > 0]).argmax()
        assert np.array_equal(labels, ndimage.binary_fill_holes(one, structure)), seed


@pytest.mark.parametrize("name", ["image.png", "image.nii"])
def test_fill_holes_of_a_picture(tmp_path, name):
    """One slice has no border across it; neither do several, each by itself."""
    mask = ndimage.gaussian_filter(np.random.default_rng(4).normal(size=(40, 30)), 1.2) < 0.02
    save(mask.astype(np.uint8)[..., None], tmp_path / "image.nii")
    good("convert", "image.nii", "image.png", cwd=tmp_path)
    every = components(mask[..., None].astype(np.uint8))
    want = fill_holes(every)
    assert np.count_nonzero(want) > np.count_nonzero(every), "this tests nothing"
    for options in ((), ("--slices", "z")):
        labels, _, _ = run(tmp_path, "--fill-holes", *options, image=name)
        assert np.array_equal(labels, want), options


def test_holes_are_filled_whatever_is_in_them(tmp_path):
    """What is not finite, what the mask leaves out, what was too small."""
    image = np.ones((9, 5, 1), np.float32)
    mask = np.ones((9, 5, 1), np.uint8)
    image[1, 2], image[3, 2], mask[5, 2], image[7, 2] = np.nan, 5, 0, 0
    save(image, tmp_path / "image.nii")
    save(mask, tmp_path / "mask.nii")
    labels, _, _ = run(tmp_path, "--equal", "--min-size", "2", "--mask", "mask.nii")
    assert np.count_nonzero(labels == 0) == 4
    labels, _, _ = run(tmp_path, "--equal", "--min-size", "2", "--mask", "mask.nii", "--fill-holes")
    assert (labels == 1).all()


@pytest.mark.parametrize("neighbours", [6, 18, 26, 4, 8])
def test_fill_holes_of_several(folder, neighbours):
    for seed in range(6):
        save(blobs(seed), folder / "image.nii")
        axis = seed % 3 if neighbours in (4, 8) else None
        slices = ("--slices", "xyz"[axis]) if axis is not None else ()
        options = ("--range", "2,5", "--equal", "--fill-holes", "--neighbours", neighbours, *slices)
        labels, report, _ = run(folder, *options, "--table", "table.json")
        every = components(blobs(seed), neighbours, axis, "equal", foreground=blobs(seed) >= 2)
        want = fill_holes(every, neighbours, axis)
        assert np.count_nonzero(want) > np.count_nonzero(every), "this tests nothing"
        assert np.array_equal(labels, want)
        rows = json.loads((folder / "table.json").read_text())
        assert [row["voxels"] for row in rows] == np.bincount(want.ravel())[1:].tolist()
        assert report["results"]["foreground_voxels"] == np.count_nonzero(every)


def test_values_where_holes_are_filled_with_what_was_taken_out(tmp_path):
    """A component's value is that of its own voxels, not of one that was taken out inside it."""
    random = np.random.default_rng(5)
    image = random.integers(0, 4, (40, 37, 12)).astype(np.int16) + 2
    image[random.random(image.shape) < 0.55] = 5
    save(image, tmp_path / "image.nii")
    options = ["--slices", "axial", "--equal", "--min-size", "4", "--fill-holes", "--table", "table.json"]
    labels, _, _ = run(tmp_path, *options)
    kept = select(components(image, 8, 2, "equal"), smallest=4)
    rows = json.loads((tmp_path / "table.json").read_text())
    own = [int(image[tuple(np.argwhere(kept == row["label"])[0])]) for row in rows]
    first = [int(image.ravel("F")[np.flatnonzero(labels.ravel("F") == row["label"])[0]]) for row in rows]
    assert own != first, "this tests nothing"
    assert [row["value"] for row in rows] == own
    labels, _, _ = run(tmp_path, *options, "--label-of", "input")
    rows = json.loads((tmp_path / "table.json").read_text())
    assert [row["label"] for row in rows] == own and set(own) == set(np.unique(labels)) - {0}


def test_label_of_input(folder):
    labels, report, _ = run(folder, "--equal", "--label-of", "input", "--min-size", "5", "--table", "table.json")
    kept = select(components(blobs(), joined="equal"), smallest=5)
    assert np.array_equal(labels, np.where(kept, blobs(), 0)) and labels.dtype == np.uint8
    rows = json.loads((folder / "table.json").read_text())
    assert len(rows) == report["results"]["components"] == kept.max()
    assert all(row["label"] == row["value"] for row in rows)
    assert [row["voxels"] for row in rows] == np.bincount(kept.ravel())[1:].tolist()


def test_label_of_input_keeps_wide_values(folder):
    save(blobs().astype(np.int32) * 20000, folder / "wide.nii")
    labels, _, _ = run(folder, "--equal", "--label-of", "input", image="wide.nii")
    assert np.array_equal(labels, blobs().astype(np.int32) * 20000) and labels.dtype == np.int32


# ---- the label volume ----


def dots(count):
    """So many single voxels."""
    image = np.zeros((2 * math.ceil(count / 8), 16, 1), np.uint8)
    image[::2, ::2] = (np.arange(image[::2, ::2].size) < count).reshape(image[::2, ::2].shape)
    return image


@pytest.mark.parametrize("count, dtype", [(255, np.uint8), (256, np.int16), (32767, np.int16), (32768, np.int32)])
def test_type_follows_the_number_of_components(tmp_path, count, dtype):
    save(dots(count), tmp_path / "image.nii")
    labels, report, _ = run(tmp_path)
    assert report["results"]["components"] == labels.max() == count
    assert labels.dtype == dtype and report["results"]["type"] == labels.dtype.name


@pytest.mark.parametrize("name", ["uint8", "int16", "int32"])
def test_type(folder, name):
    labels, _, _ = run(folder, "--type", name)
    assert labels.dtype.name == name and np.array_equal(labels, components(blobs()))


def test_the_header_is_the_image_s(folder):
    image = nibabel.load(folder / "image.nii")
    image.header["aux_file"] = b"kept"
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"also kept"))
    image.set_qform(AFFINE, 1)
    nibabel.save(image, folder / "tagged.nii")
    labels, _, _ = run(folder, image="tagged.nii")
    before, after = nibabel.load(folder / "tagged.nii").header, nibabel.load(folder / "labels.nii").header
    for field in ("qform_code", "sform_code", "srow_x", "srow_y", "srow_z", "pixdim", "xyzt_units", "aux_file"):
        assert np.array_equal(before[field], after[field]), field
    assert after.extensions[0].get_content() == before.extensions[0].get_content()
    assert after["intent_code"] == 1002 and after["cal_max"] == labels.max()
    assert b"lobule" in after["descrip"].tobytes()


# ---- the table ----


def read_tsv(path):
    head, *lines = (line.split("\t") for line in path.read_text().splitlines())
    assert all(len(line) == len(head) for line in lines)
    return [{k: v if k == "name" else None if v == "n/a" else float(v) for k, v in zip(head, line)} for line in lines]


def assert_rows(rows, want, rel=6e-7):
    """rel is that of the 7 digits of TSV; JSON has all digits."""
    assert len(rows) == len(want)
    for row, expected in zip(rows, want):
        for name, value in expected.items():
            if value is None:
                assert row[name] is None, (name, row)
            else:
                assert math.isclose(row[name], value, rel_tol=rel, abs_tol=1e-9), (name, row, value)


def oblique():
    """Turned about two axes, without shear."""
    a, b = 0.3, -0.2
    turn = np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])
    turn = turn @ np.array([[1, 0, 0], [0, math.cos(b), -math.sin(b)], [0, math.sin(b), math.cos(b)]])
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = turn * [1.5, 1.25, 2.5], [-20, -30, 40]
    return affine.astype(np.float32).astype(np.float64)


OBLIQUE = oblique()


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.float32, np.float64, np.int64])
def test_table(folder, dtype):
    random = np.random.default_rng(9)
    scan = random.integers(0, 200, blobs().shape).astype(dtype)
    if scan.dtype.kind == "f":
        scan = (scan + random.random(scan.shape)).astype(dtype)
        scan[random.random(scan.shape) < 0.2] = np.nan
    save(blobs(), folder / "image.nii", affine=OBLIQUE)
    save(scan, folder / "scan.nii", affine=OBLIQUE)
    labels, report, _ = run(folder, "--equal", "--table", "table.tsv", "--image", "scan.nii")
    run(folder, "--equal", "--table", "table.json", "--image", "scan.nii")
    rows = json.loads((folder / "table.json").read_text())
    assert_rows(read_tsv(folder / "table.tsv"), rows)
    want = table(labels, nibabel.load(folder / "image.nii").affine, scan)
    if dtype == np.float32:  # fine levels are a part in 2^32 of the range
        for row, expected in zip(rows, want):
            for name in ("mean", "sd"):
                if expected[name] is not None:
                    assert math.isclose(row[name], expected.pop(name), rel_tol=1e-6, abs_tol=1e-6)
    elif dtype == np.float64:
        for row, expected in zip(rows, want):
            for name in ("mean", "sd"):
                if expected[name] is not None:
                    assert math.isclose(row[name], expected.pop(name), rel_tol=1e-6, abs_tol=1e-6)
    assert_rows(rows, want, rel=1e-12)
    values = [blobs()[tuple(np.argwhere(labels == row["label"])[0])] for row in rows]
    assert [row["value"] for row in rows] == values
    assert report["outputs"][0]["role"] == "table"
    assert report["outputs"][0]["path"] == "table.tsv"


def test_table_without_an_image(folder):
    labels, _, _ = run(folder, "--table", "table.tsv")
    head = (folder / "table.tsv").read_text().splitlines()[0].split("\t")
    assert head == (
        ["label", "voxels", "volume_mm3", "volume_ml"]
        + [f"bbox_{a}_{end}" for end in ("min", "max") for a in "xyz"]
        + [f"centroid_{a}" for a in "xyz"]
        + [f"centroid_{a}_mm" for a in "xyz"]
        + ["min", "mean", "max", "sd"]
    )
    assert_rows(read_tsv(folder / "table.tsv"), table(labels, AFFINE))
    run(folder, "--table", "table.json")
    assert_rows(json.loads((folder / "table.json").read_text()), table(labels, AFFINE), rel=1e-12)


def test_table_of_the_image_itself(folder):
    save(blobs(), folder / "scaled.nii", scale=(0.25, -3))
    labels, _, _ = run(folder, "--table", "table.tsv", "--image", "scaled.nii", image="scaled.nii")
    assert_rows(read_tsv(folder / "table.tsv"), table(labels, AFFINE, blobs() * 0.25 - 3))


def test_table_on_standard_output(folder):
    run(folder, "--table", "table.tsv")
    done = good("components", "image.nii", "-o", "labels.nii", "--force", "--table", "-", cwd=folder)
    assert done.stdout == (folder / "table.tsv").read_text()


def test_values_of_several_channels(folder):
    image = np.stack([blobs(1) // 3, blobs(2) // 3], -1)[:, :, :, None]
    save(image, folder / "channels.nii")
    labels, _, _ = run(folder, "--equal", "--table", "table.tsv", image="channels.nii")
    for row in read_tsv(folder / "table.tsv"):
        at = tuple(np.argwhere(labels == row["label"])[0])
        assert [row["value_0"], row["value_1"]] == image[at].ravel().tolist()


def test_numbers_have_seven_digits(folder):
    """And in JSON as many as read back."""
    save(blobs(), folder / "image.nii", affine=np.diag([0.1, 0.3, 0.7, 1]))
    run(folder, "--table", "table.tsv")
    run(folder, "--table", "table.json")
    exact = json.loads((folder / "table.json").read_text())
    lines = (folder / "table.tsv").read_text().splitlines()[1:]
    assert len(lines) == len(exact)
    for line, row in zip(lines, exact):
        for text, value in zip(line.split("\t"), row.values()):
            assert text == ("n/a" if value is None else f"{value:.7g}")


def test_csv_is_the_same_table(folder):
    """With nothing for what is missing, as spreadsheets, R and pandas have it."""
    run(folder, "--table", "table.tsv")
    run(folder, "--table", "table.csv")
    text = (folder / "table.tsv").read_text()
    assert "n/a" in text and "," not in text
    assert (folder / "table.csv").read_text() == text.replace("\t", ",").replace("n/a", "")


@pytest.mark.parametrize("name", ["sub-01", "a, b", 'the "old" one', "Zo\u00eb"])
def test_name_of_the_scan(folder, name):
    """A first column that holds it, quoted as each form has it."""
    for suffix in ("tsv", "csv", "json"):
        labels, _, _ = run(folder, "--table", f"table.{suffix}", "--name", name)
    wanted = ["scan"] + [name] * len(table(labels, AFFINE))
    with open(folder / "table.tsv", encoding="utf-8") as file:
        assert [line.split("\t")[0] for line in file] == wanted
    with open(folder / "table.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert [row[0] for row in rows] == wanted and {len(row) for row in rows} == {21}
    rows = json.loads((folder / "table.json").read_text())
    assert [next(iter(row.items())) for row in rows] == [("scan", name)] * (len(wanted) - 1)


def test_nan_is_background_and_counted(tmp_path):
    image = np.ones((7, 5, 3), np.float32)
    image[3], image[0, 0, 0] = np.nan, np.inf
    save(image, tmp_path / "image.nii")
    labels, report, errors = run(tmp_path)
    assert labels.max() == 2 and not labels[3].any() and labels[0, 0, 0] == 0
    assert report["results"]["not_finite_voxels"] == 16
    assert "NaN or infinite" in errors


# ---- what is refused ----

USAGE = [
    ("two kinds of foreground", ["--above", "1", "--range", "1,2"], "exclude each other"),
    ("two ways to join", ["--equal", "--tolerance", "1"], "exclude each other"),
    ("values without --equal", ["--label-of", "input"], "add --equal"),
    ("values have no order", ["--equal", "--label-of", "input", "--order", "size"], "choose one"),
    ("intensities without a table", ["--image", "image.nii"], "add --table"),
    ("neighbours of slices in 3D", ["--neighbours", "8"], "--slices"),
    ("neighbours of 3D in slices", ["--neighbours", "6", "--slices", "x"], "4 or 8"),
    ("five neighbours", ["--neighbours", "5"], "4|6|8|18|26"),
    ("a size in mm", ["--min-size", "8mm"], "50mm3"),
    ("a negative size", ["--min-size", "-1"], "at least 0"),
    ("a largest size of 0", ["--max-size", "0"], "above 0"),
    ("less than a voxel", ["--max-size", "1mm3"], "nothing would be left"),
    ("sizes the wrong way round", ["--min-size", "9", "--max-size", "40mm3"], "nothing would be left"),
    ("none of the largest", ["--largest", "0"], "at least 1"),
    ("a negative tolerance", ["--tolerance", "-1"], "at least 0"),
    ("an infinite tolerance", ["--tolerance", "inf"], "at most"),
    ("above infinity", ["--above", "inf"], "at most"),
    ("above NaN", ["--above", "nan"], "not a number"),
    ("a type that labels do not have", ["--type", "float32"], "auto|uint8|int16|int32"),
    ("a table of another kind", ["--table", "table.xlsx"], ".csv"),
    ("a name without a table", ["--name", "sub-01"], "add --table"),
    ("a name in two lines", ["--table", "table.tsv", "--name", "a\nb"], "does not fit in a table"),
    ("a table without a kind", ["--table", ".tsv"], ".tsv"),
    ("the table is the output", ["--table", "labels.nii"], "a name of its own"),
]


@pytest.mark.parametrize("what, options, part", USAGE, ids=[row[0] for row in USAGE])
def test_bad_usage(folder, what, options, part):
    refused(folder, ["components", "image.nii", "-o", "labels.nii", *options], 64, part)


def frames(folder):
    save(np.zeros((5, 4, 3, 2), np.uint8), folder / "bad.nii")


def channels(folder):
    save(np.zeros((31, 29, 17, 1, 2), np.uint8), folder / "bad.nii")


def many_channels(folder):
    save(np.zeros((5, 4, 3, 1, 65), np.uint8), folder / "bad.nii")


def other_grid(folder):
    save(np.ones((5, 4, 3), np.uint8), folder / "bad.nii", affine=np.diag([9.0, 9, 9, 1]))


def empty_mask(folder):
    save(np.zeros(blobs().shape, np.uint8), folder / "bad.nii")


def cut_short(folder):
    (folder / "bad.nii").write_bytes((folder / "image.nii").read_bytes()[:-1])


def many(folder):
    save(dots(300), folder / "bad.nii")


def negative(folder):
    save(-blobs(), folder / "bad.nii")


def fractions(folder):
    save(blobs().astype(np.float32) / 2, folder / "bad.nii")


def nothing(folder):
    pass


IMAGE = ["components", "bad.nii", "-o", "labels.nii"]
MORE = ["components", "image.nii", "-o", "labels.nii"]
REFUSED = [
    ("several frames", frames, IMAGE, 65, "--frame"),
    ("a frame that is not there", frames, [*IMAGE, "--frame", "2"], 65, "has no frame 2"),
    ("a channel that is not there", channels, [*IMAGE, "--channel", "2"], 65, "has no channel 2"),
    ("too many channels", many_channels, IMAGE, 65, "bad.nii"),
    ("a mask of another size", other_grid, [*MORE, "--mask", "bad.nii"], 65, "not on the same grid"),
    ("an empty mask", empty_mask, [*MORE, "--mask", "bad.nii"], 65, "mask is empty"),
    ("intensities of another size", other_grid, [*MORE, "--table", "t.tsv", "--image", "bad.nii"], 65, "same grid"),
    ("intensities in channels", channels, [*MORE, "--table", "t.tsv", "--image", "bad.nii"], 65, "2 channels"),
    ("an image that is cut short", cut_short, [*IMAGE, "--table", "t.tsv"], 65, "cut short"),
    ("more labels than the type holds", many, [*IMAGE, "--type", "uint8", "--table", "t.tsv"], 65, "uint8"),
    ("values that are no labels", negative, [*IMAGE, "--equal", "--label-of", "input"], 65, "bad.nii"),
    ("values of several channels", channels, [*IMAGE, "--equal", "--label-of", "input"], 65, "--channel N"),
    ("values that are fractions", fractions, [*IMAGE, "--equal", "--label-of", "input"], 65, "bad.nii"),
    ("no such image", nothing, IMAGE, 66, "bad.nii"),
    ("no such mask", nothing, [*MORE, "--mask", "bad.nii"], 66, "bad.nii"),
    ("a table in no folder", nothing, [*MORE, "--table", "no/t.tsv"], 73, "no"),
    ("a table that exists", lambda f: (f / "t.tsv").write_text(""), [*MORE, "--table", "t.tsv"], 72, "--force"),
    ("no such device", nothing, [*MORE, "--device", "cuda:77"], 69, "lobule components: "),
]


@pytest.mark.parametrize("what, make, arguments, code, part", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(folder, what, make, arguments, code, part):
    make(folder)
    refused(folder, arguments, code, part)


def test_help_names_what_there_is(folder):
    text = good("components", "--help").stdout
    for option in ("--above T", "--range LO,HI", "--equal", "--tolerance D", "--min-size EXTENT", "--largest K", "--table FILE"):
        assert option in text
    assert "(default: raster)" in text and "(default: auto)" in text
    assert "components" in good("--help").stdout
