"""lobule cells: every cell its label, by a recipe that anyone can run, change and check."""

import json
import re

import numpy as np
import pytest
from conftest import assert_one_line, contents, good, judges, load, lobule, refused, rows_of, save
from scipy import ndimage

UM = np.diag([0.0005, 0.0005, 0.001, 1])  # mm
SHAPE = (64, 60, 20)
MIDDLES = [(14, 14, 9), (14, 30, 10), (40, 14, 6), (42, 40, 10), (20, 46, 13), (52, 26, 14)]


def nuclei(noise=4, seed=1):
    """Balls of 8 um; the first two touch, and brightness differs threefold."""
    truth = np.zeros(SHAPE, np.uint8)
    image = np.full(SHAPE, 20.0)
    at = np.indices(SHAPE) * np.array([0.5, 0.5, 1])[:, None, None, None]
    for k, (x, y, z) in enumerate(MIDDLES):
        ball = sum((a - c) ** 2 for a, c in zip(at, (x * 0.5, y * 0.5, z))) <= 4**2
        ball &= truth == 0
        truth[ball] = k + 1
        image[ball] = 20 + 40 * (1 + k % 3)
    image = ndimage.gaussian_filter(image, 0.7) + np.random.default_rng(seed).normal(0, noise, SHAPE)
    return image.clip(0, 255).astype(np.uint8), truth


def foam():
    """Cells around points of a grid that is not quite regular, dark, with bright walls."""
    random = np.random.default_rng(4)
    points = np.indices((4, 4, 2)).reshape(3, -1).T * [16, 15, 10] + [8, 7.5, 5] + random.uniform(-2, 2, (32, 3))
    at = np.indices(SHAPE).reshape(3, -1).T
    near = np.sqrt((((at[:, None] - points) * [0.5, 0.5, 1]) ** 2).sum(2))
    truth = near.argmin(1).reshape(SHAPE) + 1
    near.sort(1)
    wall = (near[:, 1] - near[:, 0] < 1.2).reshape(SHAPE)
    image = ndimage.gaussian_filter(np.where(wall, 180.0, 40.0), [1, 1, 0.5])
    return (image + random.normal(0, 4, SHAPE)).clip(0, 255).astype(np.uint8), truth


def matches(truth, labels):
    """How many objects have an intersection over union above one half."""
    found = 0
    for k in np.unique(truth[truth > 0]):
        inside = truth == k
        label = np.bincount(labels[inside]).argmax()
        found += label > 0 and (inside & (labels == label)).sum() > 0.5 * (inside | (labels == label)).sum()
    return found


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cells")
    image, truth = nuclei()
    save(image, folder / "nuclei.nii.gz", UM)
    good("cells", "nuclei.nii.gz", "-o", "labels.nii.gz", "--size", "8um", "--table", "cells.tsv", "--report", "r.json",
         cwd=folder)  # fmt: skip
    return folder, truth


def test_every_nucleus_is_found(case):
    labels = load(case[0] / "labels.nii.gz")
    assert labels.max() == len(MIDDLES) and matches(case[1], labels) == len(MIDDLES)
    results = json.loads((case[0] / "r.json").read_text())["results"]
    assert results["chosen"]["cells_are"] == "bodies" and not results["chosen"]["size_estimated"]
    assert results["chosen"]["size_mm"] == pytest.approx(0.008)


def touching(labels, axis):
    """Labels on both sides of a face between two cells."""
    one, other = np.moveaxis(labels, axis, 0)[:-1], np.moveaxis(labels, axis, 0)[1:]
    apart = (one != other) & (one > 0) & (other > 0)
    return zip(one[apart].tolist(), other[apart].tolist())


def test_table(case):
    rows = rows_of(case[0] / "cells.tsv")
    labels = load(case[0] / "labels.nii.gz")
    assert [int(row["voxels"]) for row in rows] == np.bincount(labels.ravel())[1:].tolist()
    assert all(0.8 < float(row["sphericity"]) < 1.2 and 1 <= float(row["elongation"]) < 2 for row in rows)
    touch = {tuple(sorted(pair)) for axis in range(3) for pair in touching(labels, axis)}
    assert [int(row["neighbours"]) for row in rows] == [sum(n in pair for pair in touch) for n in range(1, len(rows) + 1)]
    assert all(float(row["volume_um3"]) == pytest.approx(int(row["voxels"]) * 0.25, rel=1e-5) for row in rows)


def test_size_is_estimated_and_reported(case):
    good("cells", "nuclei.nii.gz", "-o", "unasked.nii.gz", "--report", "r2.json", cwd=case[0])
    chosen = json.loads((case[0] / "r2.json").read_text())["results"]["chosen"]
    assert chosen["size_estimated"] and 0.006 < chosen["size_mm"] < 0.010
    assert matches(case[1], load(case[0] / "unasked.nii.gz")) == len(MIDDLES)


PHANTOMS = [  # cells, their voxels, noise in percent, random seed; few and many, in a volume and in a slice
    (8, "96,96,48", 3, 3),
    (20, "128,128,64", 8, 1),
    (20, "128,128,64", 8, 2),
    (120, "128,128,64", 2, 1),
    (60, "128,128,64", 15, 3),
    (60, "256,256,1", 3, 1),
    (120, "64,64,40", 3, 1),  # a cluster that reaches the image's sides, and leaves its corners dark
    (8, "256,256,64", 8, 10),  # specks of noise beside few walls
]


@judges
@pytest.mark.parametrize("kind", [["--nuclei"], []])
@pytest.mark.parametrize("cells, size, noise, seed", PHANTOMS)
def test_size_of_dense_cells(tmp_path, kind, cells, size, noise, seed):
    """Cells that fill a cluster, which is the brightest thing of all: the median of their diameters is met."""
    good("phantom", "cells", "-o", "image.nii", "--truth", "truth.nii", "--cells", cells, "--size", size, "--noise", noise,
         "--random-seed", seed, "--spacing", "0.0005,0.0005,0.001", *kind, cwd=tmp_path)  # fmt: skip
    good("cells", "image.nii", "-o", "o.nii", "--report", "r.json", *([] if kind else ["--walls"]), cwd=tmp_path)
    voxels = np.median(np.bincount(load(tmp_path / "truth.nii").ravel())[2:])
    flat = size.endswith(",1")
    true = (4 / np.pi * voxels) ** 0.5 * 0.0005 if flat else (6 / np.pi * voxels * 2) ** (1 / 3) * 0.0005
    assert 0.8 < json.loads((tmp_path / "r.json").read_text())["results"]["chosen"]["size_mm"] / true < 1.25


@pytest.mark.parametrize("cells, seed", [(8, 3), (20, 2)])
@pytest.mark.parametrize("sized", [True, False])
def test_cells_of_a_solid_cluster_are_parted(tmp_path, cells, seed, sized):
    """They fill it, so that nothing but what is dim between them tells one from the next."""
    good("phantom", "cells", "-o", "image.nii", "--truth", "truth.nii", "--cells", cells, "--size", "64,64,32", "--noise", 8,
         "--random-seed", seed, "--spacing", "0.001,0.001,0.002", "--nuclei", cwd=tmp_path)  # fmt: skip
    truth = load(tmp_path / "truth.nii").astype(np.uint8) - 1
    voxels = np.median(np.bincount(truth.ravel())[1:]) * 2
    size = ["--size", f"{(6 / np.pi * voxels) ** (1 / 3)}um"] if sized else []
    good("cells", "image.nii", "-o", "o.nii", *size, cwd=tmp_path)
    assert matches(truth, load(tmp_path / "o.nii")) >= cells - 1 and load(tmp_path / "o.nii").max() <= cells + 1


@pytest.mark.parametrize("kind, walls", [(["--nuclei"], []), ([], ["--walls"])])
def test_memory_that_would_do_does(tmp_path, kind, walls):
    """Seeds lie so close that the flood's queue takes the most."""
    good("phantom", "cells", "-o", "image.nii", "--cells", 60, "--size", "96,96,96", "--noise", 8, "--random-seed", 3, *kind,
         cwd=tmp_path)  # fmt: skip
    line = ("cells", "image.nii", "-o", "o.nii", "--size", "5vox", "--threads", 2, *walls)
    told = lobule(*line, "--max-memory", "8MiB", cwd=tmp_path)
    assert_one_line(told, 75, "would do")
    good(*line, "--max-memory", re.search(r"([\d.]+) MiB would do", told.stderr)[1] + "MiB", cwd=tmp_path)


def test_an_offset_of_the_image_parts_no_less(tmp_path):
    """Slices are so thick that the Laplacian's Gaussian is far below a voxel across them."""
    good("phantom", "cells", "-o", "fine.nii", "--truth", "truth.nii", "--cells", 20, "--size", "64,64,32", "--noise", 8,
         "--random-seed", 2, "--spacing", "0.001,0.001,0.002", "--nuclei", cwd=tmp_path)  # fmt: skip
    thick = load(tmp_path / "fine.nii").astype(np.float32).reshape(64, 64, 8, 4).mean(3)
    found = []
    for offset in (0, 4096):
        save(thick + np.float32(offset), tmp_path / "image.nii", np.diag([0.001, 0.001, 0.008, 1]))
        good("cells", "image.nii", "-o", "o.nii", "--size", "22um", "--force", cwd=tmp_path)
        found.append(load(tmp_path / "o.nii"))
    assert found[0].max() >= 18 and matches(found[0], found[1]) == found[0].max() == found[1].max()


@pytest.mark.parametrize("options", [["--size", "18vox"], []])
def test_one_slice_where_a_few_are_far_brighter(tmp_path, options):
    """Discs in one thin slice; two that are as bright as dying cells hide none of the others."""
    random = np.random.default_rng(3)
    grid = np.indices((8, 6)).reshape(2, -1).T * 26 + 16 + random.integers(-2, 3, (48, 2))
    x, y = np.indices((216, 168))
    truth, image = np.zeros((216, 168, 1), np.uint8), np.full((216, 168, 1), 20.0)
    for k, (at_x, at_y) in enumerate(grid):
        disc = ((x - at_x) ** 2 + (y - at_y) ** 2 <= 9**2)[..., None]
        truth[disc] = k + 1
        image[disc] = 45 + k % 3 * 10
        if k in (10, 37):  # it shines beyond its border
            image[..., 0] += 250 * np.exp(-((x - at_x) ** 2 + (y - at_y) ** 2) / 7**2)
    image = ndimage.gaussian_filter(image, (1, 1, 0)) + random.normal(0, 2, image.shape)
    save(image.astype(np.int16), tmp_path / "discs.nii.gz", np.diag([0.0005, 0.0005, 0.0001, 1]))
    good("cells", "discs.nii.gz", "-o", "o.nii.gz", "--report", "r.json", *options, cwd=tmp_path)
    labels = load(tmp_path / "o.nii.gz")
    assert matches(truth, labels) >= 46 and labels.max() == 48
    assert 0.007 < json.loads((tmp_path / "r.json").read_text())["results"]["chosen"]["size_mm"] < 0.011


def test_walls(tmp_path):
    image, truth = foam()
    save(image, tmp_path / "walls.nii.gz", UM)
    for options in (["--size", "8um"], []):
        good("cells", "walls.nii.gz", "-o", "cells.nii.gz", "--walls", "--force", *options, cwd=tmp_path)
        labels = load(tmp_path / "cells.nii.gz")
        assert (labels > 0).all() and matches(truth, labels) >= 30 and labels.max() <= 34, options


@pytest.mark.parametrize("made, options", [(nuclei, []), (foam, ["--walls"])])
def test_size_does_not_count_gaps(tmp_path, made, options):
    """A margin that is NaN is as the end of the volume, and so nearly is a voxel here and there: a dot more or less in noise
    is a body more or less among six."""
    image = made()[0].astype(np.float32)
    dotted = image.copy()
    dotted[np.random.default_rng(2).random(SHAPE) < 0.001] = np.nan
    sizes = []
    for values in (image, np.pad(image, ((9, 7), (0, 12), (3, 4)), constant_values=np.nan), dotted):
        save(values, tmp_path / "gaps.nii.gz", UM)
        good("cells", "gaps.nii.gz", "-o", "o.nii.gz", "--report", "r.json", "--force", *options, cwd=tmp_path)
        sizes.append(json.loads((tmp_path / "r.json").read_text())["results"]["chosen"]["size_mm"])
    assert sizes[1] == pytest.approx(sizes[0], rel=0.01) and sizes[2] == pytest.approx(sizes[0], rel=0.06), sizes


def test_one_channel_is_chosen(case, tmp_path):
    """A picture in colour is asked about, by a message that says how to answer."""
    image = load(case[0] / "nuclei.nii.gz")
    save(np.stack([np.zeros_like(image), image], 3)[:, :, :, None], tmp_path / "two.nii", UM)
    assert_one_line(lobule("cells", "two.nii", "-o", "o.nii", cwd=tmp_path), 65, "--channel N, from 0 to 1")
    good("cells", "two.nii", "-o", "o.nii", "--channel", "1", "--size", "8um", cwd=tmp_path)
    assert np.array_equal(load(tmp_path / "o.nii"), load(case[0] / "labels.nii.gz"))


def flat(image):
    return np.ascontiguousarray(image[:, :, 9:10])


def twice(image, axis):
    return np.stack([image[::-1], image], axis)


WHAT_IS_GIVEN = [
    (lambda: nuclei()[0], ["--size", "8um", "--table", "t.tsv"]),
    (lambda: nuclei()[0], []),
    (lambda: flat(nuclei()[0]), ["--size", "7um", "--table", "t.json"]),
    (lambda: flat(nuclei()[0]), []),
    (lambda: twice(nuclei()[0], 3)[:, :, :, None], ["--channel", "1", "--size", "16vox", "--table", "t.csv"]),
    (lambda: twice(nuclei()[0], 3), ["--frame", "1"]),
    (lambda: nuclei()[0], ["--smooth", "0.1", "--around", "2", "--bright", "0.3", "--apart", "0.4", "--wall", "0.3",
                           "--least", "0.2"]),
    (lambda: nuclei()[0], ["--wall", "0", "--apart", "0.1", "--bright", "0"]),
    (lambda: foam()[0], ["--walls", "--size", "8um", "--table", "t.tsv"]),
    (lambda: foam()[0], ["--walls", "--seeds", "0.1", "--wall", "0", "--smooth", "0"]),
    (lambda: flat(foam()[0]), ["--walls"]),
    (lambda: np.where(np.arange(64)[:, None, None] < 9, np.nan, foam()[0]).astype(np.float32), ["--walls"]),
    (lambda: np.pad(nuclei()[0].astype(np.float32), 2, constant_values=np.nan) * 1e-3 - 7, []),
]  # fmt: skip


@pytest.mark.parametrize("made, options", WHAT_IS_GIVEN)
def test_printed_recipe_gives_the_same_bytes(tmp_path, made, options):
    image = made()
    save(image, tmp_path / "nuclei.nii.gz", UM)
    options = ["nuclei.nii.gz", "-o", "out.nii.gz", *options]
    text = good("cells", *options, "--print-recipe", cwd=tmp_path).stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nuclei.nii.gz"]
    (tmp_path / "own.recipe").write_text(text)
    good("run", "own.recipe", cwd=tmp_path)
    by_recipe = contents(tmp_path)
    good("cells", *options, "--force", cwd=tmp_path)
    assert contents(tmp_path) == by_recipe and load(tmp_path / "out.nii.gz").any()


def test_volumes_in_memory(tmp_path):
    """A line of a recipe gets its image from memory, and leaves its labels there."""
    save(nuclei()[0], tmp_path / "nuclei.nii.gz", UM)
    (tmp_path / "own.recipe").write_text(
        "filter {image} -o @soft --median 1\ncells @soft -o @found --table {out}.tsv\n"
        "labels @found -o {out}.nii.gz --sequential\n"
    )
    good("run", "own.recipe", "image=nuclei.nii.gz", "out=by", cwd=tmp_path)
    good("filter", "nuclei.nii.gz", "-o", "soft.nii.gz", "--median", "1", cwd=tmp_path)
    good("cells", "soft.nii.gz", "-o", "one.nii.gz", "--table", "one.tsv", cwd=tmp_path)
    assert (tmp_path / "by.tsv").read_bytes() == (tmp_path / "one.tsv").read_bytes()
    assert np.array_equal(load(tmp_path / "by.nii.gz"), load(tmp_path / "one.nii.gz"))
    (tmp_path / "own.recipe").write_text("filter {image} -o @soft --median 1\ncells @soft -o a.nii --print-recipe\n")
    assert_one_line(lobule("run", "own.recipe", "image=nuclei.nii.gz", cwd=tmp_path), 64, "@soft", "in memory")


def test_it_is_a_line_of_a_batch(case, tmp_path):
    image = case[0] / "nuclei.nii.gz"
    (tmp_path / "scans.tsv").write_text(f"scan\timage\tout\na\t{image}\t{tmp_path / 'out.nii.gz'}\n")
    good("batch", "scans.tsv", "--log", "log", "--", "cells", "{image}", "-o", "{out}", cwd=tmp_path)
    good("cells", image, "-o", tmp_path / "alone.nii.gz")
    assert (tmp_path / "out.nii.gz").read_bytes() == (tmp_path / "alone.nii.gz").read_bytes()


def test_channel_and_frame(case, tmp_path):
    image = load(case[0] / "nuclei.nii.gz")
    series = np.stack([np.zeros_like(image), image], -1)
    save(series, tmp_path / "series.nii.gz", UM)
    assert_one_line(lobule("cells", "series.nii.gz", "-o", "o.nii.gz", cwd=tmp_path), 65, "--frame")
    good("cells", "series.nii.gz", "-o", "o.nii.gz", "--frame", "1", "--size", "8um", cwd=tmp_path)
    assert np.array_equal(load(tmp_path / "o.nii.gz"), load(case[0] / "labels.nii.gz"))


def test_one_slice(tmp_path):
    image, truth = nuclei()
    save(np.ascontiguousarray(image[:, :, 9:10]), tmp_path / "slice.nii.gz", UM)
    good("cells", "slice.nii.gz", "-o", "o.nii.gz", "--size", "7um", cwd=tmp_path)
    labels = load(tmp_path / "o.nii.gz")
    assert matches(truth[:, :, 9:10], labels) >= 4


def test_same_bytes_at_any_thread_count(case):
    for threads in ("1", "3"):
        good("cells", "nuclei.nii.gz", "-o", "again.nii.gz", "--size", "8um", "--threads", threads, "--force",
             cwd=case[0])  # fmt: skip
        assert np.array_equal(load(case[0] / "again.nii.gz"), load(case[0] / "labels.nii.gz"))


@pytest.mark.parametrize("options, code, part", [
    (["--size", "0.5um"], 64, "3 voxels of 0.0005 mm"),
    (["--size", "0mm"], 64, "size"),
    (["--size", "8mm"], 64, "resample"),
    (["--seeds", "0.1"], 64, "--seeds belongs to --walls"),
    (["--walls", "--around", "2"], 64, "--around does not go with --walls"),
    (["--wall", "2"], 64, "wall"),
    (["--channel", "3"], 65, "channel"),
])  # fmt: skip
def test_what_is_refused(case, tmp_path, options, code, part):
    (tmp_path / "nuclei.nii.gz").write_bytes((case[0] / "nuclei.nii.gz").read_bytes())
    refused(tmp_path, ["cells", "nuclei.nii.gz", "-o", "o.nii.gz", *options], code, part)


def test_image_without_contrast(tmp_path):
    save(np.full((20, 20, 20), 5, np.uint8), tmp_path / "flat.nii.gz", UM)
    for options in ([], ["--size", "4um"], ["--walls"]):
        assert_one_line(lobule("cells", "flat.nii.gz", "-o", "o.nii.gz", *options, cwd=tmp_path), 65, "flat.nii.gz")


def test_what_shows_no_cells(case, tmp_path):
    """Nothing that bright, and walls around a single place."""
    one = np.random.default_rng(0).normal(40, 1, (30, 30, 12))
    one[[0, -1]], one[:, [0, -1]] = 200, 200
    save(one.astype(np.float32), tmp_path / "one.nii.gz", UM)
    for image, options, part in (
        (case[0] / "nuclei.nii.gz", ["--bright", "10"], "so much brighter"),
        ("one.nii.gz", ["--walls"], "one cell"),
    ):
        done = lobule("cells", image, "-o", "o.nii.gz", "--size", "8um", *options, cwd=tmp_path)
        assert_one_line(done, 65, f"{image}: ", part)


def test_nothing_is_large_enough(case, tmp_path):
    done = good("cells", case[0] / "nuclei.nii.gz", "-o", "o.nii.gz", "--least", "9", "--table", "t.tsv", cwd=tmp_path)
    assert "o.nii.gz: no label is left" in done.stderr and not load(tmp_path / "o.nii.gz").any()
    assert (tmp_path / "t.tsv").read_text().count("\n") == 1
