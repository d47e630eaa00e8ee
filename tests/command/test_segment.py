"""lobule segment: masks from strokes, and the recipe of the same bytes that anyone can run, change and check."""

import json
import re
import shlex

import nibabel
import numpy as np
import pytest
from conftest import AFFINE, ROOT, assert_one_line, contents, good, judges, load, lobule, on_a_terminal, refused, save
from scipy import ndimage

SHAPE = (34, 30, 12)


def bodies(shape=SHAPE, seed=3, noise=25):
    """Two ellipsoids of their own brightness, and a third, unlabelled, as bright as the first; with noise."""
    grid = np.indices(shape).astype(float)

    def ellipsoid(centre, radii):
        return sum(((g - c * n) / (r * n)) ** 2 for g, c, r, n in zip(grid, centre, radii, shape) if n > 1) <= 1

    truth = np.zeros(shape, np.uint8)
    truth[ellipsoid((0.34, 0.42, 0.5), (0.2, 0.24, 0.36))] = 1
    truth[ellipsoid((0.74, 0.62, 0.5), (0.13, 0.2, 0.3))] = 3
    bright = np.where(truth == 1, 400, np.where(truth == 3, 150, 250))
    bright[ellipsoid((0.8, 0.2, 0.5), (0.08, 0.08, 0.2))] = 400
    smooth = ndimage.gaussian_filter(bright.astype(float), 0.6)
    return (smooth + np.random.default_rng(seed).normal(0, noise, shape)).astype(np.int16), truth


def strokes(truth, slices, background=7):
    """Lines through the middle of each body, and a ring of background around it, on these slices."""
    seeds = np.zeros(truth.shape, np.uint8)
    for z in slices:
        for label in (1, 3):
            mask = truth[:, :, z] == label
            if not mask.any():
                continue
            inside = ndimage.distance_transform_edt(mask)
            column = int(inside.max(0).argmax())
            seeds[inside[:, column] > 0.4 * inside.max(), column, z] = label
            away = ndimage.distance_transform_edt(~(truth[:, :, z] > 0))
            ring = (away > 2) & (away <= 3)
            ring[::7] = False
            seeds[ring, z] = background
    return seeds


def dice(a, b):
    return 2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b))


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A scan with strokes on three slices, and the mask that comes out, with all there is beside it."""
    folder = tmp_path_factory.mktemp("segment")
    image, truth = bodies()
    save(image, folder / "scan.nii.gz")
    save(strokes(truth, (3, 6, 8)), folder / "strokes.nii.gz")
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", "--report", "r.json", cwd=folder)
    return folder, truth


@pytest.fixture
def copy(case, tmp_path):
    """The same scan and strokes in a folder of the test's own."""
    for name in ("scan.nii.gz", "strokes.nii.gz", "mask.nii.gz"):
        (tmp_path / name).write_bytes((case[0] / name).read_bytes())
    return tmp_path


def report(path):
    return json.loads(path.read_text(encoding="utf-8"))


def by_files(folder, *options):
    """Type the printed lines, with files in the place of volumes in memory; the names of these files."""
    lines = good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "by_files.nii.gz", "--print-recipe", *options,
                 cwd=folder).stdout.splitlines()
    for line in lines:
        words = shlex.split(re.sub(r"@(\w+)", r"memory_\1.nii.gz", line))
        assert words[0] == "lobule"
        good(*words[1:], cwd=folder)
    return lines


# ---- masks ----


def test_bodies_come_out(case):
    folder, truth = case
    mask = load(folder / "mask.nii.gz")
    assert mask.shape == SHAPE and set(np.unique(mask)) == {0, 1, 3}
    assert dice(mask == 1, truth == 1) > 0.93
    assert dice(mask == 3, truth == 3) > 0.90
    seeds = load(folder / "strokes.nii.gz")
    assert np.array_equal(mask[seeds > 0], np.where(seeds == 7, 0, seeds)[seeds > 0])


def test_it_is_better_than_growcut_alone(case, tmp_path):
    folder, truth = case
    good("growcut", folder / "scan.nii.gz", folder / "strokes.nii.gz", "-o", tmp_path / "grown.nii.gz")
    grown, mask = load(tmp_path / "grown.nii.gz"), load(folder / "mask.nii.gz")
    for label in (1, 3):
        assert dice(mask == label, truth == label) > dice(grown == label, truth == label) + 0.01


@judges
def test_borders_that_look_like_other_structures_are_not_lost(tmp_path):
    """The rims of the phantom's organs: the first growths outvote the last one; without that they are not as good."""
    truth = load(ROOT / "data/abdomen_truth.nii.gz")
    (tmp_path / "scan.nii.gz").write_bytes((ROOT / "data/abdomen.nii.gz").read_bytes())
    (tmp_path / "strokes.nii.gz").write_bytes((ROOT / "data/abdomen_strokes.nii.gz").read_bytes())

    def mean(name):
        mask = load(tmp_path / name)
        return np.mean([dice(mask == label, truth == label) for label in range(2, 9)])

    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", cwd=tmp_path)
    last = next(line for line in by_files(tmp_path) if " --plain " in line)
    assert (tmp_path / "by_files.nii.gz").read_bytes() == (tmp_path / "mask.nii.gz").read_bytes()
    alone = re.sub(r" --first @\w+ --plain @\w+", "", last).replace("@labels", "@alone")
    good(*shlex.split(re.sub(r"@(\w+)", r"memory_\1.nii.gz", alone))[1:], cwd=tmp_path)
    assert mean("memory_labels.nii.gz") > mean("memory_alone.nii.gz") + 0.02


@judges
@pytest.mark.parametrize("size, spacing, patient, coarse", [
    ("90,64,53", "4,4,4", "1", False),
    ("128,92,80", "3,3,4", "1", True),
    ("128,92,80", "3,3,4", "13", True),  # a tumour's stroke lies where no other is beside it: it is no background
])
def test_organs_as_sharp_as_those_of_the_phantom(tmp_path, size, spacing, patient, coarse):
    """Growth over the image confirms most: the mask is no worse than it; the recipe has the same bytes, and so have threads."""
    good("phantom", "abdomen", "-o", "scan.nii.gz", "--strokes", "strokes.nii.gz", "--truth", "truth.nii.gz",
         "--size", size, "--spacing", spacing, "--random-seed", patient, cwd=tmp_path)
    truth, seeds = load(tmp_path / "truth.nii.gz"), load(tmp_path / "strokes.nii.gz")

    def mean(mask):
        return np.mean([dice(mask == label, truth == label) for label in range(2, 9)])

    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", "--threads", "3", cwd=tmp_path)
    good("growcut", "scan.nii.gz", "strokes.nii.gz", "-o", "grown.nii.gz", cwd=tmp_path)
    assert any("--plain-step 2,2,2" in line for line in by_files(tmp_path)) == coarse
    assert (tmp_path / "by_files.nii.gz").read_bytes() == (tmp_path / "mask.nii.gz").read_bytes()
    mask = load(tmp_path / "mask.nii.gz")
    assert mean(mask) > mean(load(tmp_path / "grown.nii.gz"))
    assert np.array_equal(mask[seeds > 0], np.where(seeds == 1, 0, seeds)[seeds > 0])
    for label in range(2, 9):
        pieces, count = ndimage.label(mask == label, np.ones((3, 3, 3)))
        assert set(range(1, count + 1)) <= set(pieces[seeds == label])


@judges
@pytest.mark.parametrize("coarse", ["20000", "1000000"])
def test_slices_that_are_painted_out(tmp_path, coarse):
    """They are completed after the first growth; what outvotes grows from what was painted, in the recipe too."""
    truth, seeds = (load(ROOT / f"data/abdomen_{name}.nii.gz").copy() for name in ("truth", "strokes"))
    on = (seeds > 1).any((0, 1))
    organs = on & (truth > 1)
    seeds[organs] = truth[organs]
    save(seeds, tmp_path / "strokes.nii.gz", affine=nibabel.load(ROOT / "data/abdomen.nii.gz").affine)
    (tmp_path / "scan.nii.gz").write_bytes((ROOT / "data/abdomen.nii.gz").read_bytes())
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", "--coarse", coarse, cwd=tmp_path)
    lines = by_files(tmp_path, "--coarse", coarse)
    assert any(" --complete " in line for line in lines) and any(" --plain " in line for line in lines)
    assert (tmp_path / "by_files.nii.gz").read_bytes() == (tmp_path / "mask.nii.gz").read_bytes()


@pytest.mark.parametrize("coarse", ["1000", "1000000"])
def test_a_channel_without_values_under_the_strokes(case, tmp_path, coarse):
    """Growth over the image alone has no data then, and nothing to say; the recipe has it so too."""
    image, seeds = (load(case[0] / name) for name in ("scan.nii.gz", "strokes.nii.gz"))
    second = np.where(ndimage.binary_dilation(seeds, iterations=3), np.nan, 1)
    save(np.stack([image, second], -1)[:, :, :, None].astype(np.float32), tmp_path / "scan.nii.gz")
    save(seeds, tmp_path / "strokes.nii.gz")
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", "--coarse", coarse, cwd=tmp_path)
    assert dice(load(tmp_path / "mask.nii.gz") == 1, case[1] == 1) > 0.9
    by_files(tmp_path, "--coarse", coarse)
    assert (tmp_path / "by_files.nii.gz").read_bytes() == (tmp_path / "mask.nii.gz").read_bytes()


@pytest.mark.parametrize("slices, passes", [(14, 2), (1, 1)])
def test_a_wall_around_a_chamber(tmp_path, slices, passes):
    """The wall's tissue goes on outside of it on one side, and nobody painted there; the recipe has it too."""
    z, y, x = np.indices((slices, 80, 80))
    r = np.hypot(y - 40, x - 40)
    truth = np.where(r < 14, 1, np.where(r < 20, 2, 0))
    image = np.select([truth == 1, (truth == 2) | ((r < 30) & (x > 40))], [900, 400], 100)
    image = image + np.random.default_rng(2).normal(0, 40, image.shape)
    seeds = np.zeros(truth.shape, np.uint8)
    on = np.isin(z, (2, 6, 10)) if slices > 1 else True
    seeds[on & (r < 5)] = 1
    seeds[on & (r > 16.5) & (r < 17.5)] = 2
    seeds[on & (r > 37) & (r < 38)] = 3
    save(image.astype(np.int16), tmp_path / "scan.nii.gz")
    save(seeds, tmp_path / "strokes.nii.gz")
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", cwd=tmp_path)
    mask = load(tmp_path / "mask.nii.gz")
    assert dice(mask == 2, truth == 2) > 0.85
    lines = by_files(tmp_path)
    assert (tmp_path / "by_files.nii.gz").read_bytes() == (tmp_path / "mask.nii.gz").read_bytes()
    assert sum("--walls" in line for line in lines) == passes
    last = next(line for line in reversed(lines) if "--walls" in line).replace(" --walls", "")
    good(*shlex.split(re.sub(r"@(\w+)", r"memory_\1.nii.gz", last))[1:], "--force", cwd=tmp_path)
    assert dice(load(tmp_path / "memory_labels.nii.gz") == 2, truth == 2) < 0.8


def test_header_is_the_scans(case):
    scan, mask = (nibabel.load(case[0] / name) for name in ("scan.nii.gz", "mask.nii.gz"))
    assert np.array_equal(scan.affine, mask.affine) and mask.get_data_dtype() == np.uint8
    assert mask.header.get_xyzt_units() == scan.header.get_xyzt_units()


def test_report(case):
    said = report(case[0] / "r.json")
    chosen = said["results"]["chosen"]
    assert chosen["background"] == 7 and chosen["background_given"] is False
    assert chosen["median_axes"] == "xy" and chosen["least_spacing_mm"] == 1.5
    assert {"read", "choose", "compute", "write", "total"} <= set(said["seconds"])
    assert [one["path"] for one in said["outputs"]] == ["mask.nii.gz"]
    assert {one["path"] for one in said["inputs"]} == {"scan.nii.gz", "strokes.nii.gz"}
    assert chosen["passes"] == 2 and said["options"]["passes"] is None
    assert said["options"]["margin"] == "10mm" and said["options"]["share"] == 0.3


def test_the_box_goes_on_beyond_the_strokes(case):
    """By 10 mm or three tenths of its side, across the slices with strokes by three eighths."""
    said = report(case[0] / "r.json")
    drawn = np.argwhere(load(case[0] / "strokes.nii.gz"))
    low, side = drawn.min(0), np.ptp(drawn, 0) + 1
    spacing = said["inputs"][0]["spacing_mm"]
    wide = np.ceil(np.maximum(10 / np.array(spacing), side * [0.3, 0.3, 0.375]) - 1e-6).astype(int)
    first = np.maximum(low - wide, 0)
    end = np.minimum(low + side + wide, said["inputs"][0]["dims"])
    assert said["results"]["chosen"]["box"] == {"first": first.tolist(), "size": (end - first).tolist()}


def test_threads_do_not_matter(copy):
    for n in (1, 3):
        good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", f"{n}.nii.gz", "--threads", n, cwd=copy)
        assert (copy / f"{n}.nii.gz").read_bytes() == (copy / "mask.nii.gz").read_bytes()


def test_devices_do_not_matter(copy):
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "cpu.nii.gz", "--device", "cpu", cwd=copy)
    assert (copy / "cpu.nii.gz").read_bytes() == (copy / "mask.nii.gz").read_bytes()
    done = lobule("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "cuda.nii.gz", "--device", "cuda", cwd=copy)
    if done.returncode == 69:
        pytest.skip("no GPU, or a build without CUDA")
    assert done.returncode == 0, done.stderr
    assert (copy / "cuda.nii.gz").read_bytes() == (copy / "mask.nii.gz").read_bytes()


# ---- the recipe ----

CHOICES = [
    (),
    ("--passes", "1"),
    ("--median", "off", "--blur", "0", "--background", "3"),
    ("--strength", "strong.nii.gz"),
    ("--far", "2.5", "--shape", "1", "--smooth", "0", "--edge", "0.3", "--whole", "0.25"),
    ("--margin", "3vox", "--share", "0.5", "--ends", "1", "--coarse", "1000"),
]


@pytest.mark.parametrize("options", CHOICES, ids=" ".join)
def test_printed_lines_give_the_same_bytes(copy, options):
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "by_segment.nii.gz", *options, cwd=copy)
    strong = copy / "strong.nii.gz"
    first = strong.read_bytes() if strong.exists() else None
    strong.unlink(missing_ok=True)
    lines = by_files(copy, *options)
    assert (copy / "by_files.nii.gz").read_bytes() == (copy / "by_segment.nii.gz").read_bytes()
    assert first is None or strong.read_bytes() == first
    (copy / "by_files.nii.gz").unlink()
    strong.unlink(missing_ok=True)
    (copy / "kept.recipe").write_text("\n".join(lines) + "\n", encoding="utf-8")
    good("run", "kept.recipe", cwd=copy)
    assert (copy / "by_files.nii.gz").read_bytes() == (copy / "by_segment.nii.gz").read_bytes()
    assert first is None or strong.read_bytes() == first


def test_printing_does_nothing_else(copy):
    before = contents(copy)
    done = good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", "--print_recipe", cwd=copy)
    assert contents(copy) == before  # not even an output that exists is in its way
    assert done.stdout.startswith("lobule convert strokes.nii.gz @strokes --labels --like scan.nii.gz\n") and done.stderr == ""


def test_names_of_files_are_quoted(copy):
    (copy / "scan.nii.gz").rename(copy / "a {scan} $1.nii.gz")
    done = good("segment", "a {scan} $1.nii.gz", "strokes.nii.gz", "-o", "b c.nii.gz", "--print-recipe", cwd=copy)
    (copy / "kept.recipe").write_text(done.stdout, encoding="utf-8")
    good("run", "kept.recipe", cwd=copy)
    assert (copy / "b c.nii.gz").read_bytes() == (copy / "mask.nii.gz").read_bytes()


@pytest.mark.parametrize("options", [("--passes", "1"), ("--edge", "0"), ("--shape", "0"), ("--median", "off"),
                                     ("--blur", "0"), ("--smooth", "0"), ("--far", "0")], ids=" ".join)
def test_choices_change_the_lines(copy, options):
    """A choice that is held fixed is in the lines; that each brings something is for the bench to show."""
    plain, changed = (good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "x.nii.gz", "--print-recipe", *more,
                           cwd=copy).stdout for more in ((), options))
    assert plain != changed


# ---- other shapes of input ----


def segment(folder, image, seeds, *options):
    save(image, folder / "i.nii.gz")
    save(seeds, folder / "s.nii.gz")
    good("segment", "i.nii.gz", "s.nii.gz", "-o", "o.nii.gz", *options, cwd=folder)
    return load(folder / "o.nii.gz")


def test_one_slice_of_strokes(tmp_path):
    image, truth = bodies()
    mask = segment(tmp_path, image, strokes(truth, (6,)))
    assert dice(mask[:, :, 6] == 1, truth[:, :, 6] == 1) > 0.9


def test_a_long_thin_body_from_one_slice(tmp_path):
    """What is 9 voxels wide goes on for 60 mm on both sides of the slice with strokes."""
    grid = np.indices((24, 24, 111))
    truth = (np.hypot(grid[0] - 12, grid[1] - 12) < 4.5).astype(np.uint8)
    image = 200 + 200 * ndimage.gaussian_filter(truth.astype(float), 0.6) + np.random.default_rng(2).normal(0, 10, truth.shape)
    nibabel.save(nibabel.Nifti1Image(image.astype(np.int16), np.eye(4)), tmp_path / "i.nii.gz")
    nibabel.save(nibabel.Nifti1Image(strokes(truth, (55,)), np.eye(4)), tmp_path / "s.nii.gz")
    good("segment", "i.nii.gz", "s.nii.gz", "-o", "o.nii.gz", cwd=tmp_path)
    assert dice(load(tmp_path / "o.nii.gz") == 1, truth == 1) > 0.9


def test_two_dimensions(tmp_path):
    image, truth = bodies((90, 80, 1))
    mask = segment(tmp_path, image, strokes(truth, (0,)), "--sheet", "sheet.png")
    assert mask.shape == (90, 80) or mask.shape == (90, 80, 1)
    assert dice(np.squeeze(mask) == 1, np.squeeze(truth) == 1) > 0.93


def test_printed_lines_in_two_dimensions(tmp_path):
    image, truth = bodies((90, 80, 1))
    segment(tmp_path, image, strokes(truth, (0,)))
    for old, new in (("i", "scan"), ("s", "strokes"), ("o", "by_segment")):
        (tmp_path / f"{old}.nii.gz").rename(tmp_path / f"{new}.nii.gz")
    by_files(tmp_path)
    assert (tmp_path / "by_files.nii.gz").read_bytes() == (tmp_path / "by_segment.nii.gz").read_bytes()


def test_a_slice_is_refused_before_work(tmp_path):
    """--suggest needs slices: one line, and nothing written."""
    image, truth = bodies((90, 80, 1))
    save(image, tmp_path / "i.nii.gz")
    save(strokes(truth, (0,)), tmp_path / "s.nii.gz")
    before = contents(tmp_path)
    assert_one_line(lobule("segment", "i.nii.gz", "s.nii.gz", "-o", "o.nii.gz", "--suggest", "2", cwd=tmp_path), 65,
                    "--suggest needs a stack of slices")
    assert contents(tmp_path) == before


def test_pictures(tmp_path):
    """A grey PNG and its strokes."""
    from PIL import Image

    image, truth = bodies((90, 80, 1))
    for name, array in (("i", np.clip(image / 2, 0, 255)), ("s", strokes(truth, (0,)))):
        Image.fromarray(np.squeeze(array).astype(np.uint8).T).save(tmp_path / f"{name}.png")
    good("segment", "i.png", "s.png", "-o", "o.png", cwd=tmp_path)
    mask = np.asarray(Image.open(tmp_path / "o.png")).T
    assert dice(mask == 1, np.squeeze(truth) == 1) > 0.9


def test_colours(tmp_path):
    """Three channels, none of which tells the bodies apart from all else by itself."""
    image, truth = bodies()
    noise = np.random.default_rng(5).normal(0, 12, (3, *SHAPE))
    rgb = np.zeros(SHAPE, [("R", "u1"), ("G", "u1"), ("B", "u1")])
    levels = {"R": {0: 90, 1: 160, 3: 90}, "G": {0: 120, 1: 120, 3: 190}, "B": {0: 100, 1: 60, 3: 60}}
    for c, name in enumerate("RGB"):
        plain = np.choose(np.searchsorted([0, 1, 3], truth), [levels[name][k] for k in (0, 1, 3)])
        rgb[name] = np.clip(plain + noise[c], 0, 255)
    nibabel.save(nibabel.Nifti1Image(rgb, AFFINE), tmp_path / "i.nii.gz")
    save(strokes(truth, (3, 6, 8)), tmp_path / "s.nii.gz")
    good("segment", "i.nii.gz", "s.nii.gz", "-o", "o.nii.gz", cwd=tmp_path)
    assert dice(load(tmp_path / "o.nii.gz") == 1, truth == 1) > 0.93


@judges
def test_flipped_strokes(copy):
    seeds = nibabel.load(copy / "strokes.nii.gz")
    nibabel.save(seeds.as_reoriented(np.array([[1, 1], [0, -1], [2, -1]])), copy / "turned.nii.gz")
    good("segment", "scan.nii.gz", "turned.nii.gz", "-o", "turned_mask.nii.gz", "--suggest", "2", "--uncertain",
         "u.nii.gz", "--sheet", "sheet.png", cwd=copy)
    assert (copy / "turned_mask.nii.gz").read_bytes() == (copy / "mask.nii.gz").read_bytes()


def test_strokes_on_a_part_of_the_grid(copy):
    good("crop", "strokes.nii.gz", "-o", "part.nii.gz", "--around", "strokes.nii.gz", cwd=copy)
    good("segment", "scan.nii.gz", "part.nii.gz", "-o", "part_mask.nii.gz", cwd=copy)
    assert (copy / "part_mask.nii.gz").read_bytes() == (copy / "mask.nii.gz").read_bytes()


def test_frames(tmp_path):
    image, truth = bodies()
    save(np.stack([np.zeros_like(image), image], 3), tmp_path / "i.nii.gz")
    save(strokes(truth, (3, 6, 8)), tmp_path / "s.nii.gz")
    assert_one_line(lobule("segment", "i.nii.gz", "s.nii.gz", "-o", "o.nii.gz", cwd=tmp_path), 65, "--frame")
    good("segment", "i.nii.gz", "s.nii.gz", "-o", "o.nii.gz", "--frame", 1, cwd=tmp_path)
    assert dice(load(tmp_path / "o.nii.gz") == 1, truth == 1) > 0.93


def test_background_is_the_label_outside(tmp_path):
    """Whatever its number."""
    image, truth = bodies()
    seeds = strokes(truth, (3, 6, 8))
    first = segment(tmp_path, image, seeds)
    renumbered = np.select([seeds == 7, seeds == 1, seeds == 3], [2, 5, 9]).astype(np.uint8)
    save(renumbered, tmp_path / "r.nii.gz")
    good("segment", "i.nii.gz", "r.nii.gz", "-o", "r_mask.nii.gz", "--report", "r.json", cwd=tmp_path)
    assert report(tmp_path / "r.json")["results"]["chosen"]["background"] == 2
    assert set(np.unique(load(tmp_path / "r_mask.nii.gz"))) == {0, 5, 9}
    assert dice(load(tmp_path / "r_mask.nii.gz") == 5, first == 1) > 0.99


# ---- doubt, and what to do about it ----


@pytest.fixture(scope="module")
def doubt(case, tmp_path_factory):
    """The lines by files, and what segment says about them."""
    folder = tmp_path_factory.mktemp("doubt")
    for name in ("scan.nii.gz", "strokes.nii.gz"):
        (folder / name).write_bytes((case[0] / name).read_bytes())
    by_files(folder)
    done = good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", "--uncertain", "u.nii.gz",
                "--suggest", "3", "--sheet", "sheet.png", "--report", "r.json", cwd=folder)
    return folder, done


def box_of(folder):
    """Where memory_image lies in the scan."""
    part, whole = nibabel.load(folder / "memory_image.nii.gz"), nibabel.load(folder / "scan.nii.gz")
    first = np.rint(np.linalg.inv(whole.affine) @ part.affine @ [0, 0, 0, 1])[:3].astype(int)
    return tuple(slice(a, a + n) for a, n in zip(first, part.shape))


def test_extras_leave_the_mask_alone(doubt, case):
    assert (doubt[0] / "mask.nii.gz").read_bytes() == (case[0] / "mask.nii.gz").read_bytes()


def uncertain_by_files(folder):
    """The costs of each label grown alone, by growcut on the shares."""
    seeds = load(folder / "memory_seeds.nii.gz")
    affine = nibabel.load(folder / "memory_seeds.nii.gz").affine
    costs = []
    for label in (1, 3, 7):
        save(np.where(seeds == label, 1, 0).astype(np.uint8), folder / "one.nii.gz", affine=affine)
        good("growcut", "memory_shares.nii.gz", "one.nii.gz", "-o", "grown.nii.gz", "--strength", "s.nii.gz", "--rule",
             "distance", "--norm", "linf", "--max-cost", "1e9", "--force", cwd=folder)
        costs.append(-np.log(np.maximum(load(folder / "s.nii.gz").astype(float), 1e-38)))
    a, b = np.sort(costs, 0)[:2]
    return b - a < 0.1 * (b + a + 1 / 128)


def test_uncertain_is_where_two_labels_cost_alike(doubt):
    folder = doubt[0]
    want = np.zeros(SHAPE, np.uint8)
    want[box_of(folder)] = uncertain_by_files(folder)
    got = load(folder / "u.nii.gz")
    assert 0 < got.sum() < got.size / 4
    assert np.count_nonzero(got != want) <= 2  # at the very threshold
    assert report(folder / "r.json")["results"]["uncertain_voxels"] == got.sum()


def deviation(z, drawn):
    """Of a random walk that is known where strokes are."""
    away = [min((abs(z - d) for d in drawn if side * (d - z) >= 0), default=None) for side in (-1, 1)]
    if 0 in away:
        return 0
    low, high = (np.inf if a is None else a for a in away)
    return (1 / low + 1 / high) ** -0.5


def test_suggested_slices(doubt):
    """Each the one that leaves the fewest wrong voxels to expect, in all slices together."""
    folder, done = doubt
    seeds, labels = load(folder / "memory_seeds.nii.gz"), load(folder / "memory_labels.nii.gz")
    cut = box_of(folder)
    border = np.zeros(labels.shape, bool)
    for axis in range(3):
        differ = np.swapaxes(np.diff(labels.astype(int), axis=axis) != 0, 0, axis)
        view = np.swapaxes(border, 0, axis)
        view[1:] |= differ
        view[:-1] |= differ
    stake = load(folder / "u.nii.gz")[cut].sum((0, 1), int) + border.sum((0, 1))
    marked = np.flatnonzero((labels != 7).any((0, 1)))
    drawn = list(np.flatnonzero(seeds.any((0, 1))))
    want = []
    for _ in range(3):
        left = {z: sum(n * deviation(k, [*drawn, z]) for k, n in enumerate(stake)) for z in marked if z not in drawn}
        want.append(int(min(left, key=left.get)))
        drawn.append(want[-1])
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["plane", "axis", "slice", "mm", "uncertain_voxels"]
    assert [int(row[2]) - cut[2].start for row in rows[1:]] == want
    assert all(row[:2] == ["axial", "z"] and float(row[3]) == 40 + 2.5 * int(row[2]) for row in rows[1:])
    said = report(folder / "r.json")["results"]["suggested"]
    assert [row["slice"] for row in said] == [int(row[2]) for row in rows[1:]]
    words = ["segment", "scan.nii.gz", "strokes.nii.gz", "-o", "again.nii.gz", "--suggest", "3", "--quiet"]
    shown = on_a_terminal(folder, words, columns=80).decode().splitlines()
    assert [line.split() for line in shown] == rows and len({len(line) for line in shown}) == 1, shown


def test_sheet(doubt):
    from PIL import Image

    sheet = np.asarray(Image.open(doubt[0] / "sheet.png")).astype(int)
    assert sheet.shape[2] == 3 and sheet.shape[1] <= 1840
    colourful = (sheet.max(2) - sheet.min(2) > 30)
    thirds = np.array_split(colourful, 3)
    # Strokes, labels and doubt are drawn, of the last six voxels.
    assert all(part.mean() > 0.001 for part in thirds)


def test_all_slices_drawn(tmp_path):
    image, truth = bodies()
    save(image, tmp_path / "i.nii.gz")
    save(strokes(truth, range(SHAPE[2])), tmp_path / "s.nii.gz")
    seeds = load(tmp_path / "s.nii.gz").copy()
    seeds[2, 2, :] = 7
    save(seeds, tmp_path / "s.nii.gz")
    done = good("segment", "i.nii.gz", "s.nii.gz", "-o", "o.nii.gz", "--suggest", "2", cwd=tmp_path)
    assert done.stdout == "" and "no further slice is suggested" in done.stderr


# ---- corrections ----


def test_corrections_change_what_is_near(copy):
    """A blob of background on one end of the result of old labels: within reach, a fresh run; beyond, the old."""
    before = load(copy / "mask.nii.gz").copy()
    before[1:4, 1:4, 2:5] = 1  # wrong, and far from the correction
    save(before, copy / "before.nii.gz")
    seeds = load(copy / "strokes.nii.gz").copy()
    z = 6
    at = np.argwhere((before[:, :, z] == 1) & (seeds[:, :, z] == 0))
    at = at[at[:, 0] == at[:, 0].max()]
    seeds[at[:, 0], at[:, 1], z] = 7
    save(seeds, copy / "more.nii.gz")
    good("segment", "scan.nii.gz", "more.nii.gz", "-o", "fresh.nii.gz", cwd=copy)
    good("segment", "scan.nii.gz", "more.nii.gz", "-o", "after.nii.gz", "--previous", "before.nii.gz", "--reach", "9mm",
         "--report", "r.json", cwd=copy)
    says = (seeds > 0) & (np.where(seeds == 7, 0, seeds) != before)
    away = ndimage.distance_transform_edt(~says, sampling=(1.5, 1.5, 2.5))
    want = np.where(away <= 9, load(copy / "fresh.nii.gz"), before)
    after = load(copy / "after.nii.gz")
    assert np.array_equal(after, want) and not np.array_equal(after, before)
    said = report(copy / "r.json")["results"]
    assert said["correcting_stroke_voxels"] == says.sum() and said["changed_voxels"] == (after != before).sum()


def test_no_correction_changes_nothing(copy):
    done = good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "after.nii.gz", "--previous", "mask.nii.gz", cwd=copy)
    assert "no stroke says otherwise" in done.stderr
    assert np.array_equal(load(copy / "after.nii.gz"), load(copy / "mask.nii.gz"))


# ---- bad input ----


def test_whole_slices(copy):
    """What has no label on a slice that is labelled fully is background, which needs no label of its own."""
    truth = bodies()[1]
    slices = np.zeros_like(truth)
    slices[:, :, 2:11:4] = truth[:, :, 2:11:4]
    save(slices, copy / "slices.nii.gz")
    good("segment", "scan.nii.gz", "slices.nii.gz", "-o", "full.nii.gz", "--slices-full", "--report", "r.json", cwd=copy)
    got = load(copy / "full.nii.gz")
    assert report(copy / "r.json")["results"]["chosen"]["background"] == 4
    assert all(dice(got == label, truth == label) > 0.9 for label in (1, 3))
    assert np.array_equal(got[:, :, 2:11:4], truth[:, :, 2:11:4])


def test_whole_slices_of_a_long_body(tmp_path):
    """More slices are labelled than the body is wide: they lie where others between them are empty."""
    truth = np.zeros((20, 20, 60), np.uint8)
    truth[8:12, 8:12, 2:58] = 1
    slices = np.where(np.arange(60) % 5 == 3, truth, 0).astype(np.uint8)
    save((100 * truth).astype(np.int16), tmp_path / "scan.nii.gz")
    save(slices, tmp_path / "slices.nii.gz")
    good("segment", "scan.nii.gz", "slices.nii.gz", "-o", "full.nii.gz", "--slices-full", cwd=tmp_path)
    assert dice(load(tmp_path / "full.nii.gz") == 1, truth == 1) > 0.9


def test_a_label_of_before_is_not_the_background(copy):
    """Strokes of a body all around, as corrections, do not make it the background."""
    seeds = load(copy / "strokes.nii.gz").copy()
    for z in (3, 6, 8):
        seeds[0, :, z] = seeds[-1, :, z] = seeds[:, 0, z] = seeds[:, -1, z] = 1
    save(seeds, copy / "more.nii.gz")
    for options, background in (((), 1), (("--previous", "mask.nii.gz"), 7)):
        good("segment", "scan.nii.gz", "more.nii.gz", "-o", "out.nii.gz", "--force", *options, "--report", "r.json",
             cwd=copy)  # fmt: skip
        assert report(copy / "r.json")["results"]["chosen"]["background"] == background


def test_slips_are_left_out(copy):
    """Single voxels of a wrong label within strokes change nothing but themselves; printed lines give the same."""
    seeds = load(copy / "strokes.nii.gz").copy()
    wrong = [tuple(at) for at in np.argwhere(seeds == 7)[5::40]]
    for at in wrong:
        seeds[at] = 1
    save(seeds, copy / "slips.nii.gz")
    command = ("segment", "scan.nii.gz", "slips.nii.gz", "-o", "out.nii.gz")
    good(*command, "--report", "r.json", cwd=copy)
    assert report(copy / "r.json")["results"]["chosen"]["slips_left_out"] is True
    assert dice(load(copy / "out.nii.gz") == 1, load(copy / "mask.nii.gz") == 1) > 0.98
    once = (copy / "out.nii.gz").read_bytes()
    lines = good(*command, "--print-recipe", "--force", cwd=copy).stdout
    assert "--slips" in lines
    (copy / "kept.recipe").write_text(lines.replace("out.nii.gz", "again.nii.gz"), encoding="utf-8")
    good("run", "kept.recipe", cwd=copy)
    assert np.array_equal(load(copy / "again.nii.gz"), load(copy / "out.nii.gz")) and once


def test_slices_that_are_painted_out_are_the_outline(copy):
    """What has no stroke on a slice on which all bodies are painted out is background there, and not learnt from: files
    of the printed lines give the same; a slice with one of two bodies is not completed."""
    _, truth = bodies()
    seeds = load(copy / "strokes.nii.gz").copy()
    for z in (3, 6):
        seeds[:, :, z] = np.where(truth[:, :, z] > 0, truth[:, :, z], seeds[:, :, z])
    seeds[:, :, 8] = np.where(truth[:, :, 8] == 1, 1, seeds[:, :, 8])
    save(seeds, copy / "strokes.nii.gz")
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "out.nii.gz", cwd=copy)
    got = load(copy / "out.nii.gz")
    assert all(np.array_equal(got[:, :, z], truth[:, :, z]) for z in (3, 6))
    assert np.count_nonzero(got[:, :, 8] == 3) > 2 * np.count_nonzero(seeds[:, :, 8] == 3)
    lines = by_files(copy)
    assert any("--complete " in line for line in lines) and any("--first @outline --plain" in line for line in lines)
    assert np.array_equal(load(copy / "by_files.nii.gz"), got)


@pytest.mark.parametrize("far", [False, True], ids=["beside", "beyond"])
def test_a_correction_changes_what_is_near_alone(copy, far):
    """A stroke of a body over its surroundings, on a slice of its own, takes nothing else of their grey values with
    it; printed lines give the same."""
    seeds = load(copy / "strokes.nii.gz").copy()
    z = int(np.flatnonzero(seeds.any((0, 1)))[-1]) + 1 if far else 4
    assert not seeds[:, :, z].any()
    seeds[3:20, 3:5, z] = 1
    save(seeds, copy / "more.nii.gz")
    command = ("segment", "scan.nii.gz", "more.nii.gz", "-o", "out.nii.gz")
    good(*command, cwd=copy)
    got, before = load(copy / "out.nii.gz"), load(copy / "mask.nii.gz")
    assert (got[3:20, 3:5, z] == 1).all()
    assert np.count_nonzero(got != before) < 4 * np.count_nonzero(seeds[3:20, 3:5, z])
    lines = good(*command, "--print-recipe", cwd=copy).stdout
    assert "--corrections z" in lines
    (copy / "kept.recipe").write_text(lines.replace("out.nii.gz", "again.nii.gz"), encoding="utf-8")
    good("run", "kept.recipe", cwd=copy)
    assert np.array_equal(load(copy / "again.nii.gz"), got)


@pytest.mark.parametrize(
    "code, part, seeds, options",
    [
        (65, "all strokes are of label 1", lambda s: s * (s == 1), ()),
        (65, "no strokes", lambda s: s * 0, ()),
        (65, "whole number", lambda s: s + 0.5 * (s > 0), ()),
        (65, "are image and strokes swapped", lambda s: np.arange(s.size).reshape(s.shape).astype(np.int32), ()),
        (65, "label 2", lambda s: s, ("--background", "2")),
        (64, "--reach", lambda s: s, ("--reach", "9mm")),
        (64, "passes", lambda s: s, ("--passes", "3")),
        (64, ".png", lambda s: s, ("--sheet", "sheet.jpg")),
        (64, "--print-recipe", lambda s: s, ("--print-recipe", "--suggest", "2")),
        (64, "--print-recipe", lambda s: s, ("--print-recipe", "--previous", "mask.nii.gz", "--reach", "9mm")),
        (64, "--slices-full", lambda s: s, ("--print-recipe", "--slices-full")),
        (65, "no strokes", lambda s: s * 0, ("--slices-full",)),
        (66, "absent.nii.gz", lambda s: s, ("--previous", "absent.nii.gz")),
    ],
)
def test_bad_input(copy, code, part, seeds, options):
    save(seeds(load(copy / "strokes.nii.gz")), copy / "bad.nii.gz")
    refused(copy, ["segment", "scan.nii.gz", "bad.nii.gz", "-o", "out.nii.gz", *options], code, part)


def test_strokes_outside_the_image(copy):
    seeds = nibabel.load(copy / "strokes.nii.gz")
    moved = AFFINE.copy()
    moved[:3, 3] += 1000
    save(load(copy / "strokes.nii.gz"), copy / "moved.nii.gz", affine=moved)
    save(np.pad(load(copy / "strokes.nii.gz"), 1), copy / "larger.nii.gz", affine=seeds.affine @ np.diag([1.1, 1, 1, 1]))
    before = contents(copy)
    for name in ("moved.nii.gz", "larger.nii.gz"):
        done = lobule("segment", "scan.nii.gz", name, "-o", "out.nii.gz", cwd=copy)
        assert_one_line(done, 65, name)
    assert contents(copy) == before


def test_output_that_exists(copy):
    done = lobule("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", cwd=copy)
    assert_one_line(done, 72, "mask.nii.gz")
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", "--skip-existing", cwd=copy)
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", "--force", cwd=copy)


def test_one_file_twice(copy):
    done = lobule("segment", "scan.nii.gz", "scan.nii.gz", "-o", "out.nii.gz", cwd=copy)
    assert_one_line(done, 64, "named for IMAGE and for SEEDS")


def test_it_is_a_line_of_a_recipe_too(copy):
    (copy / "x.recipe").write_text(
        "segment scan.nii.gz strokes.nii.gz -o out.nii.gz\nlabels out.nii.gz -o kept.nii.gz --largest 1\n", encoding="utf-8"
    )
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "alone.nii.gz", cwd=copy)
    good("run", "x.recipe", cwd=copy)
    assert (copy / "out.nii.gz").read_bytes() == (copy / "alone.nii.gz").read_bytes()


@pytest.mark.parametrize("command", ["segment scan.nii.gz strokes.nii.gz", "cells scan.nii.gz --size 5vox"])
def test_errors_name_the_files_that_were_given(copy, command):
    """Whichever step fails, and for volumes in memory, too; in a recipe around, by its names."""
    nothing = np.full(SHAPE, np.nan, np.float32)
    save(nothing, copy / "nothing.nii")
    done = lobule(*command.replace("scan.nii.gz", "nothing.nii").split(), "-o", "out.nii", cwd=copy)
    assert_one_line(done, 65, "nothing.nii: ")
    seen = set()
    for kib in (20, 60, 100, 200, 300, 600, 800):
        done = lobule(*command.split(), "-o", "out.nii", "--max-memory", f"{kib}KiB", "-v", cwd=copy)
        if done.returncode == 0:
            break
        *_, line, error = [""] + done.stderr.splitlines()
        assert done.returncode == 75 and "scan.nii.gz" in error, error
        assert not re.search(r"@|step:|(\S+) with \1:", error), error
        seen.update(re.findall(r"step:(\d+):", line) or re.findall(r"gz: (.*?): working memory", error))
    assert len(seen) >= 2, seen
    (copy / "out.nii").unlink(missing_ok=True)
    (copy / "a.recipe").write_text(f"convert nothing.nii @s\n{command.replace('scan.nii.gz', '@s')} -o out.nii\n")
    assert_one_line(lobule("run", "a.recipe", cwd=copy), 65, f"a.recipe:2: {command.split()[0]}: @s: ")


def test_too_little_memory(copy):
    refused(copy, ["segment", "scan.nii.gz", "strokes.nii.gz", "-o", "out.nii.gz", "--max-memory", "100KiB"],
            75, "--max-memory")  # fmt: skip


@pytest.mark.parametrize("step", [1, 2], ids=["all", "every second"])
def test_thick_slices_that_are_drawn(tmp_path, step):
    """Labels settle slice by slice and, where all slices are drawn, are not where they were not drawn; files give the
    same bytes."""
    image, truth = bodies()
    truth[:, :, :3][truth[:, :, :3] == 3] = 0  # not drawn there, though it looks as if it were there
    thick = np.diag([1.0, 1.0, 4.0, 1.0])
    nibabel.save(nibabel.Nifti1Image(image, thick), tmp_path / "scan.nii.gz")
    drawn = [z for z in range(12) if truth[:, :, z].any()][::step]
    seeds = strokes(truth, drawn)
    nibabel.save(nibabel.Nifti1Image(seeds, thick), tmp_path / "strokes.nii.gz")
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", "--background", "7", cwd=tmp_path)
    mask = load(tmp_path / "mask.nii.gz")
    assert dice(mask == 1, truth == 1) > 0.9 and dice(mask == 3, truth == 3) > 0.9
    assert step > 1 or not (mask[:, :, [z for z in drawn if not (seeds[:, :, z] == 3).any()]] == 3).any()
    lines = by_files(tmp_path, "--background", "7")
    assert any("--local 0.85 --local-axis z" in line for line in lines) == (step == 1)
    assert any("--slices z" in line and "growcut" in line for line in lines)
    assert any("--absent z" in line for line in lines) == (step == 1)
    assert (tmp_path / "by_files.nii.gz").read_bytes() == (tmp_path / "mask.nii.gz").read_bytes()


def test_borders_that_are_spread_over_voxels(tmp_path):
    """Where slices are thick, a voxel between two tissues is that of which it has more; files give the same bytes."""
    truth = bodies()[1]
    truth[truth == 3] = 0
    half = ndimage.gaussian_filter(truth.astype(float), (2, 2, 0))
    truth = (half > 0.5).astype(np.uint8)
    image = 300 * half + np.random.default_rng(1).normal(0, 10, truth.shape)
    thick = np.diag([1.0, 1.0, 4.0, 1.0])
    nibabel.save(nibabel.Nifti1Image(image.astype(np.int16), thick), tmp_path / "scan.nii.gz")
    seeds = strokes(truth, (3, 6, 8))
    away = ndimage.distance_transform_edt(truth == 0, sampling=(1, 1, 100))
    seeds[seeds == 7] = 0
    seeds[(away > 5) & (away <= 6) & (seeds.max((0, 1)) > 0)] = 7
    nibabel.save(nibabel.Nifti1Image(seeds, thick), tmp_path / "strokes.nii.gz")
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", cwd=tmp_path)
    drawn = seeds.max((0, 1)) > 0
    mask = load(tmp_path / "mask.nii.gz")
    assert np.count_nonzero(mask[:, :, drawn]) > 0.9 * np.count_nonzero(truth[:, :, drawn])
    lines = by_files(tmp_path)
    assert any("--values --partial-volume 0.3" in line for line in lines)
    assert any(line.startswith("lobule growcut") and "--norm l1" in line for line in lines)
    assert (tmp_path / "by_files.nii.gz").read_bytes() == (tmp_path / "mask.nii.gz").read_bytes()


@pytest.mark.parametrize("planes", [{0: 25, 1: 23, 2: 8}, {2: (7, 8)}], ids=["three planes", "two slices"])
def test_thick_slices_of_which_few_are_drawn(tmp_path, planes):
    """Borders that are spread over voxels are found by the image's values; files give the same bytes. Planes across
    other axes cross slices without drawing them, so that labels do not settle slice by slice."""
    shape = (50, 46, 16)
    grid = np.indices(shape)
    body = sum(((g - c) / r) ** 2 for g, c, r in zip(grid, (25, 23, 8), (13, 12, 5.5))) <= 1
    half = ndimage.gaussian_filter(body.astype(float), (2.5, 2.5, 0))
    truth = half > 0.5
    image = 300 * half + np.random.default_rng(4).normal(0, 10, shape)
    seeds = np.zeros(shape, np.uint8)
    for axis, at in planes.items():
        spacing = [1, 1, 4]
        spacing[axis] = 1000
        here = np.isin(grid[axis], at)
        seeds[here & (ndimage.distance_transform_edt(truth, sampling=spacing) > 7)] = 1
        away = ndimage.distance_transform_edt(~truth, sampling=spacing)
        seeds[here & (away > 6) & (away <= 8)] = 2
    thick = np.diag([1.0, 1.0, 4.0, 1.0])
    nibabel.save(nibabel.Nifti1Image(image.astype(np.int16), thick), tmp_path / "scan.nii.gz")
    nibabel.save(nibabel.Nifti1Image(seeds, thick), tmp_path / "strokes.nii.gz")
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", cwd=tmp_path)
    lines = by_files(tmp_path)
    assert any("--values --partial-volume 0.3" in line for line in lines)
    assert any("--settle" in line for line in lines) == (len(planes) == 1)
    assert not any("--keep-volume" in line for line in lines)
    assert any("--fade z" in line for line in lines) == (len(planes) == 3)
    assert (tmp_path / "by_files.nii.gz").read_bytes() == (tmp_path / "mask.nii.gz").read_bytes()
    assert dice(load(tmp_path / "mask.nii.gz") == 1, truth) > 0.975


def test_bodies_that_are_painted_out(tmp_path):
    """Voxels at their borders look like the background: growth begins within them; files give the same bytes."""
    image, truth = bodies(shape=(34, 30, 24))
    seeds = strokes(truth, (8, 12, 16))
    painted = np.zeros(truth.shape, bool)
    painted[:, :, (8, 12, 16)] = True
    wide = truth * ndimage.binary_dilation(truth > 0, np.ones((3, 3, 1)))
    seeds = np.where(painted & (wide > 0), wide, seeds).astype(np.uint8)
    save(image, tmp_path / "scan.nii.gz")
    save(seeds, tmp_path / "strokes.nii.gz")
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", cwd=tmp_path)
    mask = load(tmp_path / "mask.nii.gz")
    assert dice(mask == 1, truth == 1) > 0.93 and dice(mask == 3, truth == 3) > 0.9
    assert np.array_equal(mask[seeds > 0], np.where(seeds == 7, 0, seeds)[seeds > 0]), "strokes keep their labels"
    lines = by_files(tmp_path)
    assert any("--open 2.83vox" in line for line in lines) and any("--shares @shares" in line for line in lines)
    assert (tmp_path / "by_files.nii.gz").read_bytes() == (tmp_path / "mask.nii.gz").read_bytes()
