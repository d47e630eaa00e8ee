"""A part of a volume that memory does not hold: `segment` and `crop` read their box, to the bytes of all at once."""

import json
import os

import nibabel
import numpy as np
import pytest
import zarr
from conftest import assert_one_line, contents, good, judges, load, lobule, refused, save
from scipy import ndimage

SIDE = 112  # of what is drawn on


def ball(noise=6):
    """A bright ball, and strokes on two of its slices: 5 around it, 2 within."""
    grid = np.indices((SIDE,) * 3) - SIDE // 2
    inside = (grid**2).sum(0) < 17**2
    image = ndimage.gaussian_filter(np.where(inside, 300.0, 100.0), 0.7)
    image += np.random.default_rng(4).normal(0, noise, image.shape)
    seeds = np.zeros(image.shape, np.uint8)
    for z in (50, 62):
        away = ndimage.distance_transform_edt(~inside[:, :, z])
        seeds[(away > 3) & (away <= 4), z] = 5
        seeds[52:60, 56, z] = 2
    return image.astype(np.uint16), seeds


def in_a_corner(path, array, shape, at, spacing=None):
    """A volume that is 0 but for an array; of Zarr and .nii what is 0 takes no space on the disk."""
    place = tuple(slice(a, a + n) for a, n in zip(at, array.shape))
    if path.suffix == ".zarr":  # its axes are z, y, x
        store = zarr.create_array(path, shape=shape[::-1], dtype=array.dtype, chunks=(64,) * 3, shards=(256,) * 3)
        store[place[::-1]] = array.T
        return
    header = nibabel.Nifti1Header()
    header.set_data_dtype(array.dtype)
    header.set_data_shape(shape)
    header.set_sform(np.eye(4), 1)
    header["magic"], header["vox_offset"] = b"n+1\0", 352
    with open(path, "wb") as file:
        file.write(header.binaryblock + bytes(4))
        file.truncate(352 + int(np.prod(shape)) * array.dtype.itemsize)
    np.memmap(path, array.dtype, "r+", 352, shape, order="F")[place] = array


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """What is drawn on alone, and its mask."""
    folder = tmp_path_factory.mktemp("small")
    image, seeds = ball()
    in_a_corner(folder / "scan.nii", image, (160,) * 3, (20, 24, 28))
    in_a_corner(folder / "strokes.nii", seeds, (160,) * 3, (20, 24, 28))
    good("segment", "scan.nii", "strokes.nii", "-o", "mask.nii", cwd=folder)
    mask = load(folder / "mask.nii")[20 : 20 + SIDE, 24 : 24 + SIDE, 28 : 28 + SIDE]
    assert np.count_nonzero(mask) == np.count_nonzero(load(folder / "mask.nii")) > 15000
    return mask


@pytest.mark.parametrize("kind, planes, limit", [("zarr", 1024, 64), ("nii", 256, 64)])
def test_a_volume_that_memory_does_not_hold(tmp_path, small, kind, planes, limit):
    """In less memory than the strokes alone would take; what is blank costs next to nothing."""
    image, seeds = ball()
    shape, at = (1024, 1024, planes), (700, 310, planes - 120)
    for name, array in (("scan", image), ("strokes", seeds)):
        in_a_corner(tmp_path / f"{name}.{kind}", array, shape, at)
    inputs = (f"scan.{kind}", f"strokes.{kind}")
    good("segment", *inputs, "-o", "mask.ome.zarr", "--max-memory", f"{limit}MiB", "--report", "r.json", cwd=tmp_path)
    peak = json.loads((tmp_path / "r.json").read_text())["peak_memory_bytes"]
    assert peak < limit << 20 or "LOBULE_SANITIZED" in os.environ  # sanitizers take memory of their own
    mask = zarr.open(tmp_path / "mask.ome.zarr")["0"]
    x, y, z = at
    assert np.array_equal(mask[z : z + SIDE, y : y + SIDE, x : x + SIDE].T, small)
    held = {"/".join(path.parts[-3:]) for path in (tmp_path / "mask.ome.zarr" / "0" / "c").rglob("*") if path.is_file()}
    assert held == {"1/0/1" if planes > 512 else "0/0/1"}  # of 512^3 each; all others are blank
    level = np.asarray(zarr.open(tmp_path / "mask.ome.zarr")["3"])
    assert np.count_nonzero(level) > 0 and np.array_equal(level, mask[::8, ::8, ::8])
    good("crop", inputs[0], "-o", "box.nii", "--around", inputs[1], "--margin", "3vox", "--max-memory", f"{limit}MiB",
         "--report", "c.json", cwd=tmp_path)  # fmt: skip
    box = json.loads((tmp_path / "c.json").read_text())["results"]
    low = [first - start for first, start in zip(box["first"], at)]
    cut = tuple(slice(a, a + n) for a, n in zip(low, box["size"]))
    assert np.array_equal(load(tmp_path / "box.nii"), image[cut])
    assert np.argwhere(seeds).min(0).tolist() == [first + 3 for first in low]


@pytest.mark.parametrize("kind", ["nii.gz", "nii", "ome.zarr", "h5"])
@pytest.mark.parametrize(
    "options",
    [
        "--uncertain u.nii.gz --strength s.nii --suggest 2 --sheet sheet.png",
        "--slices-full --background 9 --margin 2vox --share 0.1 --ends 0",
        "--margin 0mm --share 0 --ends 0 --passes 1 --strength s.ome.zarr",
        "--previous ../previous.KIND --reach 4vox",
    ],
)
def test_the_bytes_are_those_of_all_at_once(tmp_path, kind, options):
    """Both of the same files: with memory for all, and for the box alone. Strokes touch a corner of the grid."""
    image, seeds = ball()
    shape, at = (300, 280, 260), (0, 40, 300 - 260)
    limit = "40MiB"  # of the 63 MB that strokes and scan take, and twice the 22 MB of strokes
    earlier = np.where(seeds > 2, 0, seeds)  # a stroke lies on what was left out of the ball
    earlier[60, 60, 60], earlier[31, 31, 31], earlier[80, 31, 31] = 2, 7, 9
    for name, array in (("scan", image), ("strokes", seeds), ("previous", np.roll(earlier, 2, 1))):
        in_a_corner(tmp_path / "raw.nii", array[30:, 30:82, 30:82], shape, at)
        good("convert", "raw.nii", f"{name}.{kind}", cwd=tmp_path)
        (tmp_path / "raw.nii").unlink()
    boxes = []
    for folder, more in (("all", []), ("part", ["--max-memory", limit, "--threads", "1"])):
        (tmp_path / folder).mkdir()
        words = f"segment ../scan.{kind} ../strokes.{kind} -o mask.nii.gz {options}".replace("KIND", kind).split()
        told = good(*words, *more, "--report", "../r.json", cwd=tmp_path / folder).stdout
        (tmp_path / folder / "told").write_text(told)
        boxes.append(json.loads((tmp_path / "r.json").read_text())["results"]["chosen"]["box"])
        (tmp_path / "r.json").unlink()
    assert np.count_nonzero(load(tmp_path / "all" / "mask.nii.gz")) > 1000 and np.prod(boxes[0]["size"]) < 400000
    assert contents(tmp_path / "all") == contents(tmp_path / "part") and boxes[0] == boxes[1]


def test_strokes_of_a_part_and_strokes_that_lie_otherwise(tmp_path):
    image, seeds = ball()
    for name, array in (("scan", image), ("strokes", seeds)):
        save(np.pad(array, 30), tmp_path / f"{name}.nii.gz")
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "mask.nii.gz", cwd=tmp_path)
    good("crop", "strokes.nii.gz", "-o", "part.ome.zarr", "--around", "strokes.nii.gz", cwd=tmp_path)
    whole = nibabel.load(tmp_path / "strokes.nii.gz")
    nibabel.save(whole.as_reoriented(np.array([[1, 1], [0, -1], [2, -1]])), tmp_path / "turned.nii.gz")
    good("convert", "turned.nii.gz", "turned.ome.zarr", cwd=tmp_path)
    for name in ("part", "turned"):
        good("segment", "scan.nii.gz", f"{name}.ome.zarr", "-o", f"{name}.nii.gz", "--report", "r.json", "--force", cwd=tmp_path)
        assert (tmp_path / f"{name}.nii.gz").read_bytes() == (tmp_path / "mask.nii.gz").read_bytes()
        report = json.loads((tmp_path / "r.json").read_text())["inputs"]
        assert any(("placed_at" if name == "part" else "reoriented_to") in file for file in report)
    save(np.zeros((40, 40, 40), np.uint8), tmp_path / "blank.nii")
    good("convert", "blank.nii", "blank.ome.zarr", cwd=tmp_path)
    for name in ("blank.nii", "blank.ome.zarr"):
        assert_one_line(lobule("segment", "scan.nii.gz", name, "-o", "out.nii.gz", cwd=tmp_path), 65, "no strokes")


def test_a_box_that_memory_does_not_hold_says_what_would_do(tmp_path):
    image, seeds = ball()
    for name, array in (("scan", image), ("strokes", seeds)):
        in_a_corner(tmp_path / f"{name}.nii", array, (300,) * 3, (100,) * 3)
    wide = ["segment", "scan.nii", "strokes.nii", "-o", "out.nii", "--margin", "100vox", "--max-memory", "60MiB"]
    refused(tmp_path, wide, 75, "the box around the strokes has", "--margin")


@judges
@pytest.mark.parametrize("walls", [[], ["--walls"]])
def test_cells_say_what_would_do(tmp_path, walls):
    good("phantom", "cells", "-o", "cells.nii", "--size", "96,96,48", "--cells", "30", *([] if walls else ["--nuclei"]), cwd=tmp_path)
    line = ["cells", "cells.nii", "-o", "out.nii", *walls, "--threads", "1", "--max-memory"]
    done = lobule(*line, "8MiB", cwd=tmp_path)
    assert_one_line(done, 75, "voxels a side (lobule crop)")
    words = done.stderr.split()
    need, side = words[words.index("would") - 2], int(words[words.index("side") - 3])
    good(*line, f"{need}MiB", cwd=tmp_path)
    size = ",".join([str(side)] * 2 + [str(min(side, 48))])
    good("crop", "cells.nii", "-o", "part.nii", "--first", "0,0,0", "--size", size, cwd=tmp_path)
    good("cells", "part.nii", "-o", "few.nii", *walls, "--threads", "1", "--max-memory", "8MiB", cwd=tmp_path)


@pytest.mark.parametrize("kind", ["nrrd", "mha", "tif", "nii"])
def test_a_format_without_planes_is_read_whole(tmp_path, kind):
    """The limit holds what is read beside the box; of a .nii it holds planes."""
    in_a_corner(tmp_path / "raw.nii", ball()[0].astype(np.float32), (200, 160, 120), (40, 40, 4))
    if kind != "nii":
        good("convert", "raw.nii", f"raw.{kind}", cwd=tmp_path)
    line = ["crop", f"raw.{kind}", "-o", "box.nii", "--first", "0,0,0", "--size", "199,160,120", "--max-memory", "20MiB"]
    if kind == "nii":
        good(*line, cwd=tmp_path)
    else:
        refused(tmp_path, line, 75, f"raw.{kind}: needs", "--max-memory leaves")


def test_a_plane_that_memory_does_not_hold_is_refused(tmp_path):
    in_a_corner(tmp_path / "flat.nii", np.ones((8, 8, 1), np.uint8), (5000, 5000, 1), (4, 4, 0))
    line = ["crop", "flat.nii", "-o", "box.nii", "--first", "0,0,0", "--size", "64,64,1", "--max-memory"]
    refused(tmp_path, [*line, "16MiB"], 75, "flat.nii: needs 23.8 MiB", "raise --max-memory")
    good(*line, "32MiB", cwd=tmp_path)


@pytest.mark.parametrize("kind", ["nii", "ome.zarr"])
@pytest.mark.parametrize("value, word", [(np.nan, "nan, not a number"), (2.5, "2.5, not a whole number")])
def test_what_is_no_label_is_refused_as_of_all_at_once(tmp_path, kind, value, word):
    image, seeds = ball()
    seeds = seeds.astype(np.float32)
    seeds[3, 90, 100] = seeds[100, 90, 100] = value
    save(image, tmp_path / "scan.nii")
    save(seeds, tmp_path / "strokes.nii")
    if kind != "nii":
        good("convert", "strokes.nii", f"strokes.{kind}", cwd=tmp_path)
    line = ["segment", "scan.nii", f"strokes.{kind}", "-o", "out.nii"]
    for more in ([], ["--max-memory", "7MiB", "--threads", "1"]):
        refused(tmp_path, [*line, *more], 65, f"strokes.{kind}: no label volume: voxel 3,90,100 ", word)


def test_a_recipe_has_strokes_in_memory(tmp_path):
    image, seeds = ball()
    for name, array in (("scan", image), ("strokes", seeds)):
        save(array, tmp_path / f"{name}.nii.gz")
    (tmp_path / "r.recipe").write_text(
        "crop strokes.nii.gz -o @part --around strokes.nii.gz --margin 2vox\n"
        "crop scan.nii.gz -o @scan --first 0,0,0 --size 112,112,112\n"
        "segment @scan @part -o @mask\nconvert @mask mask.nii.gz --labels\n"
    )
    good("run", "r.recipe", cwd=tmp_path)
    good("segment", "scan.nii.gz", "strokes.nii.gz", "-o", "want.nii.gz", cwd=tmp_path)
    assert np.array_equal(load(tmp_path / "mask.nii.gz"), load(tmp_path / "want.nii.gz"))


@judges
def test_earlier_labels_take_the_box_that_they_lie_in(tmp_path):
    """And little more: only what is near to strokes is worked on."""
    image, seeds = ball()
    for name, array in (("scan", image), ("strokes", seeds), ("mask", (seeds == 2).astype(np.uint8))):
        in_a_corner(tmp_path / f"{name}.nii", array, (300,) * 3, (100,) * 3)
    line = ["segment", "scan.nii", "strokes.nii", "-o", "out.nii", "--previous", "mask.nii", "--force", "--threads", "1"]
    good(*line, "--max-memory", "10MiB", cwd=tmp_path)
    near = load(tmp_path / "out.nii")
    wide = np.memmap(tmp_path / "mask.nii", np.uint8, "r+", 352, (300,) * 3, order="F")
    wide[0, 299, 0] = wide[299, 0, 299] = 7
    wide.flush()
    (tmp_path / "out.nii").unlink()
    refused(tmp_path, [*line, "--max-memory", "24MiB"], 75, "mask.nii: needs 25.7 MiB")
    refused(tmp_path, [*line, "--max-memory", "48MiB"], 75, "300 x 300 x 300 voxels", "lobule crop --around strokes.nii")
    good(*line, "--max-memory", "60MiB", cwd=tmp_path)
    near[0, 299, 0] = near[299, 0, 299] = 7
    assert np.array_equal(load(tmp_path / "out.nii"), near)


def test_earlier_labels_that_are_blank_take_no_box(tmp_path):
    image, seeds = ball()
    for name, array in (("scan", image), ("strokes", seeds), ("mask", np.zeros_like(seeds))):
        in_a_corner(tmp_path / f"{name}.nii", array, (300,) * 3, (188,) * 3)
    line = ["segment", "scan.nii", "strokes.nii", "-o", "out.nii", "--previous", "mask.nii", "--threads", "1"]
    good(*line, "--max-memory", "10MiB", cwd=tmp_path)
    assert np.count_nonzero(load(tmp_path / "out.nii")) > 15000


@pytest.mark.parametrize("kind", ["nii.gz", "nii"])
@pytest.mark.parametrize("lie", ["there", "beyond", "within", "turned", "wide", "blank"])
def test_earlier_labels_that_lie_otherwise(tmp_path, lie, kind):
    """The largest label may lie outside of the scan, and those inside be of a wider type than the strokes."""
    affine = np.diag([1, 1.5, 2, 1])
    image, seeds = (array[26:86, 26:86, 26:86] for array in ball())
    save(image, tmp_path / "scan.nii.gz", affine)
    save(seeds, tmp_path / "strokes.nii.gz", affine)
    before = np.zeros((80, 60, 60), np.uint32)  # the scan begins at its plane 10 along x
    before[10:70] = np.where(seeds == 2, 2, 0)
    before[30:50, 28:32, 24] = 0
    before[60, 50, 50] = 70000 if lie == "wide" else 7
    before[3, 5, 5] = 300
    before *= lie != "blank"
    low, high = {"beyond": (0, 75), "within": (20, 65)}.get(lie, (10, 70))
    affine[0, 3] = low - 10
    part = before[low:high]
    volume = nibabel.Nifti1Image(part.astype(np.min_scalar_type(part.max())), affine)
    if lie == "turned":
        volume = volume.as_reoriented(np.array([[1, 1], [0, -1], [2, -1]]))
    nibabel.save(volume, tmp_path / f"before.{kind}")
    before[:low], before[high:] = 0, 0
    before = before[10:70]
    line = ["segment", "scan.nii.gz", "strokes.nii.gz", "--background", "5", "-o"]
    good(*line, "fresh.nii.gz", cwd=tmp_path)
    good(*line, "after.nii.gz", "--previous", f"before.{kind}", "--reach", "4mm", cwd=tmp_path)
    says = (seeds > 0) & (np.where(seeds == 5, 0, seeds) != before)
    away = ndimage.distance_transform_edt(~says, sampling=(1, 1.5, 2))
    after = load(tmp_path / "after.nii.gz")
    assert np.array_equal(after, np.where(away <= 4, load(tmp_path / "fresh.nii.gz"), before))
    assert after.dtype == (np.int32 if lie == "wide" else np.uint8) and not np.array_equal(after, before)
