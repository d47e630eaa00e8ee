"""lobule components of volumes that memory does not hold: the bytes are those of the volume in one piece."""

import json

import h5py
import nibabel
import numpy as np
import pytest
from conftest import good, refused, save
from scipy import ndimage

SHAPE = (61, 53, 47)
LITTLE = "900KiB"


def values(seed=1, channels=1):
    """Values of 0 to 5 in pieces of many sizes, and long ones that cross every seam."""
    random = np.random.default_rng(seed)
    planes = []
    for _ in range(channels):
        smooth = ndimage.gaussian_filter(random.normal(size=SHAPE), (3, 3, 5))
        image = np.digitize(smooth, np.quantile(smooth, [0.55, 0.65, 0.8, 0.9, 0.97])).astype(np.int16)
        image[:, 9, ::20] = 2
        image[20, 20] = random.integers(0, 3, SHAPE[2])
        planes.append(image)
    return planes[0] if channels == 1 else np.stack(planes, -1)[:, :, :, None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    save(values(), folder / "image.nii")
    save(values(), folder / "image.nii.gz")
    save(values().astype(np.float32) / 4, folder / "real.nii")
    save(values(channels=3) // 3, folder / "channels.nii.gz")
    save(np.stack([values(3), values()], -1), folder / "frames.nii.gz")
    save((values(2) > 0).astype(np.uint8), folder / "mask.nii.gz")
    save(np.random.default_rng(4).normal(size=SHAPE).astype(np.float32), folder / "scan.nii.gz")
    nibabel.save(nibabel.Nifti1Pair(values(), np.eye(4)), folder / "pair.hdr")
    swapped = nibabel.Nifti1Image(values(), np.eye(4), nibabel.Nifti1Header(endianness=">"))
    nibabel.save(swapped, folder / "swapped.nii.gz")
    good("convert", "image.nii", "image.h5", cwd=folder)
    with h5py.File(folder / "chunks.h5", "w") as file:
        file.create_dataset("raw", data=values().T, chunks=(4, 16, 16), compression="gzip")
    return folder


def run(folder, tmp_path, image, options, memory=None, out="labels.nii.gz"):
    """Bytes of labels and table, the report."""
    name = tmp_path / ("small" if memory else "whole")
    name.mkdir(exist_ok=True)
    arguments = ["components", image, "-o", name / out, "--report", name / "report.json", "--force", "--quiet"]
    arguments += ["--max-memory", memory] if memory else []
    good(*arguments, *options, cwd=folder)
    table = name / "table.tsv"
    return (name / out).read_bytes(), table.read_bytes() if table.exists() else None, json.loads(
        (name / "report.json").read_text()
    )


def assert_same(folder, tmp_path, image, options, out="labels.nii.gz", memory=LITTLE):
    def at(place):
        return [str(tmp_path / place / o[1:]) if str(o).startswith("@") else o for o in options]

    (tmp_path / "whole").mkdir(exist_ok=True)
    (tmp_path / "small").mkdir(exist_ok=True)
    whole = run(folder, tmp_path, image, at("whole"), out=out)
    small = run(folder, tmp_path, image, at("small"), memory, out=out)
    assert "planes_at_a_time" not in whole[2]["results"]
    assert 1 <= small[2]["results"].pop("planes_at_a_time") < SHAPE[2] * 2 / 3
    for report in (whole[2], small[2]):
        report["results"].pop("working_bytes")
    assert small[2]["results"] == whole[2]["results"]
    assert small[2]["notes"] == whole[2]["notes"]
    for a, b in zip(whole[2]["inputs"], small[2]["inputs"]):
        assert a == b
    assert small[0] == whole[0]
    assert small[1] == whole[1]
    return small[2]["results"]


TABLE = ("--table", "@table.tsv")
CRITERIA = [
    (),
    ("--neighbours", "6"),
    ("--neighbours", "18", "--above", "1"),
    ("--range", "2,3"),
    ("--equal",),
    ("--equal", "--neighbours", "6", "--order", "size"),
    ("--tolerance", "1", "--neighbours", "18"),
    ("--slices", "z", "--neighbours", "4"),
    ("--slices", "x", "--neighbours", "8"),
    ("--slices", "y", "--tolerance", "1"),
    ("--min-size", "5", "--max-size", "500mm3", "--equal"),
    ("--largest", "7", "--equal", "--order", "size"),
    ("--equal", "--label-of", "input", "--min-size", "9"),
    ("--mask", "mask.nii.gz", "--equal"),
    ("--type", "int32", "--range", "5,5"),
    ("--range", "100,200"),
]


@pytest.mark.parametrize("options", CRITERIA, ids=" ".join)
def test_every_criterion(folder, tmp_path, options):
    assert_same(folder, tmp_path, "image.nii.gz", (*options, *TABLE))
    assert_same(folder, tmp_path, "image.nii.gz", (*options, *TABLE, "--image", "scan.nii.gz"))


@pytest.mark.parametrize("image", ["image.nii", "image.nii.gz", "image.h5", "chunks.h5:/raw", "pair.hdr", "swapped.nii.gz"])
@pytest.mark.parametrize("out", ["labels.nii", "labels.nii.gz", "labels.h5", "labels.hdr"])
def test_every_format(folder, tmp_path, image, out):
    assert_same(folder, tmp_path, image, ("--equal", *TABLE, "--image", image), out=out)


@pytest.mark.parametrize("options", [(), ("--equal",), ("--tolerance", "2"), ("--channel", "1", "--equal"),
                                     ("--channel", "2", "--image", "scan.nii.gz")], ids=" ".join)  # fmt: skip
def test_channels(folder, tmp_path, options):
    assert_same(folder, tmp_path, "channels.nii.gz", (*options, *TABLE), memory="1500KiB")


@pytest.mark.parametrize("options", [(), ("--range", "-1,2"), ("--equal", "--min-size", "3vox", "--order", "size"),
                                     ("--tolerance", "1", "--neighbours", "6"), ("--mask", "mask.nii.gz", "--largest", "5")], ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("dtype, scale", [(np.int16, None), (np.float32, None), (np.int16, (2, 1))])
def test_slabs_of_nothing(folder, tmp_path, options, dtype, scale):
    """Planes of zeros, which need no labelling where 0 is no foreground, and are one piece where it is."""
    image = values(6).astype(dtype)
    image[:, :, 7:41] = 0
    save(image, folder / "gap.nii", scale=scale)
    for more in (TABLE, (*TABLE, "--image", "scan.nii.gz")):
        assert_same(folder, tmp_path, "gap.nii", (*options, *more))


def test_reals_and_frames(folder, tmp_path):
    assert_same(folder, tmp_path, "real.nii", ("--tolerance", "0.25", *TABLE, "--image", "real.nii"))
    assert_same(folder, tmp_path, "frames.nii.gz", ("--frame", "1", "--equal", *TABLE))


@pytest.mark.parametrize("memory", ["900KiB", "1000KiB", "1100KiB", "1200KiB"])
@pytest.mark.parametrize("threads", [1, 3])
def test_any_amount_of_memory_and_threads(folder, tmp_path, memory, threads):
    options = ("--equal", "--neighbours", "6", *TABLE, "--image", "scan.nii.gz", "--threads", threads)
    assert_same(folder, tmp_path, "image.nii.gz", options, memory=memory)


def test_room_for_the_values_of_many_channels(tmp_path):
    """They are known late, and where slabs leave no room for them thinner ones do."""
    random = np.random.default_rng(1)
    image = np.zeros((30, 30, 40, 1, 32), np.float32)
    image[..., 0] = random.integers(0, 9, (30, 30, 40, 1)) * (random.random((30, 30, 40, 1)) < 0.5)
    save(image, tmp_path / "image.nii")
    command = ("components", "image.nii", "--equal", "--neighbours", "6", "--device", "cpu")
    good(*command, "-o", "whole.nii", "--table", "whole.tsv", cwd=tmp_path)
    done = good(*command, "-o", "parts.nii", "--table", "parts.tsv", "--max-memory", "5250KiB", "-v", cwd=tmp_path)
    assert done.stderr.count("planes at a time") > 1
    assert (tmp_path / "parts.nii").read_bytes() == (tmp_path / "whole.nii").read_bytes()
    assert (tmp_path / "parts.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_it_says_so(folder, tmp_path):
    out = tmp_path / "labels.nii"
    done = good("components", "image.nii", "-o", out, "--max-memory", LITTLE, "--verbose", cwd=folder)
    assert "memory does not hold it" in done.stderr and f"of {SHAPE[2]} planes at a time" in done.stderr
    done = good("components", "image.nii", "-o", out, "--max-memory", "1GiB", "--force", "--verbose", cwd=folder)
    assert "planes at a time" not in done.stderr


REFUSED = [
    ("holes need the whole", ["--fill-holes"], 75, "--fill-holes"),
    ("an empty mask", ["--mask", "empty.nii"], 65, "mask is empty"),
    ("a mask of another size", ["--mask", "other.nii"], 65, "not on the same grid"),
    ("more labels than the type holds", ["--equal", "--neighbours", "6", "--type", "uint8", "--table", "new.tsv"], 65, "uint8"),
    ("values that are no labels", ["--range=-9,9", "--equal", "--label-of", "input"], 65, "image.nii"),
    ("a channel that is not there", ["--channel", "1"], 65, "no channel 1"),
    ("no memory for a plane", ["--max-memory", "4KiB"], 75, "components: image.nii: needs"),
    ("too little memory for a plane", ["--max-memory", "9KiB"], 75, "one plane at a time (--max-memory is 9.0 KiB"),
]


@pytest.mark.parametrize("what, options, code, part", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(folder, tmp_path, what, options, code, part):
    save(values(), tmp_path / "image.nii")
    save(np.zeros(SHAPE, np.uint8), tmp_path / "empty.nii")
    save(np.ones((5, 4, 3), np.uint8), tmp_path / "other.nii", affine=np.diag([9.0, 9, 9, 1]))
    refused(tmp_path, ["components", "image.nii", "-o", "labels.nii", "--max-memory", LITTLE, *options], code, part)
