"""lobule convert: what is kept, what a type may lose, what each switch does."""

import json

import nibabel
import numpy as np
import pytest
from conftest import ROOT, SHAPE, assert_one_line, good, load, lobule, save, scan_array, seeds_array

TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"]


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz", ".hdr", ".h5"])
def test_there_and_back(folder, suffix):
    good("convert", "image.nii.gz", "there" + suffix, cwd=folder)
    good("convert", "there" + suffix, "back.nii.gz", cwd=folder)
    first, last = nibabel.load(folder / "image.nii.gz"), nibabel.load(folder / "back.nii.gz")
    assert np.array_equal(np.asanyarray(first.dataobj), np.asanyarray(last.dataobj))
    assert np.allclose(first.affine, last.affine, atol=1e-5)
    assert first.get_data_dtype() == last.get_data_dtype()


def test_nothing_changes_without_a_wish(folder):
    good("convert", "image.nii", "copy.nii", cwd=folder)
    assert (folder / "copy.nii").read_bytes() == (folder / "image.nii").read_bytes()


@pytest.mark.parametrize("target", TYPES)
@pytest.mark.parametrize("source", TYPES)
def test_small_whole_numbers_fit_every_type(folder, source, target):
    values = np.arange(np.prod(SHAPE)).reshape(SHAPE) % 120
    save(values.astype(source), folder / "in.nii")
    good("convert", "in.nii", "out.nii", "--type", target, cwd=folder)
    out = load(folder / "out.nii")
    assert out.dtype == target and np.array_equal(out, values)


@pytest.mark.parametrize("name", [name for name in TYPES if "int" in name])
def test_ends_of_integer_types(folder, name):
    """Lossy from reals: what is beyond the type becomes its end, NaN becomes 0."""
    info = np.iinfo(name)
    values = np.zeros(SHAPE)
    values[0, 0, :6] = [np.nan, np.inf, -np.inf, 1e30, -1e30, 2.6]
    save(values, folder / "in.nii")
    done = good("convert", "in.nii", "out.nii", "--type", name, "--lossy", cwd=folder)
    assert f"voxels rounded or clamped to fit {name}: 6" in done.stderr
    want = [0, info.max, info.min, info.max, info.min, 3]
    assert load(folder / "out.nii")[0, 0, :6].tolist() == want


@pytest.mark.parametrize("target, code", [("int64", 0), ("int32", 65), ("float64", 65), ("uint64", 65)])
def test_large_whole_numbers(folder, target, code):
    values = np.full(SHAPE, (1 << 62) + 1, np.int64)
    save(values, folder / "in.nii")
    assert lobule("convert", "in.nii", "out.nii", "--type", target, cwd=folder).returncode == code
    assert (folder / "out.nii").exists() == (code == 0)


def test_reals_are_rounded_to_float32(folder):
    values = np.random.default_rng(0).normal(size=SHAPE)
    values[0, 0, 0] = np.nan
    save(values, folder / "in.nii")
    good("convert", "in.nii", "out.nii", "--type", "float32", cwd=folder)
    assert np.array_equal(load(folder / "out.nii"), values.astype(np.float32), equal_nan=True)


def test_type_applies_the_scale(folder):
    save(scan_array(), folder / "in.nii", scale=(0.25, 10))
    good("convert", "in.nii", "out.nii", "--type", "float64", cwd=folder)
    out = nibabel.load(folder / "out.nii").dataobj
    assert np.array_equal(np.asanyarray(out), scan_array() * 0.25 + 10)
    assert (out.slope, out.inter) == (1, 0)


def test_scale_is_kept_without_type(folder):
    save(scan_array(), folder / "in.nii", scale=(0.25, 10))
    good("convert", "in.nii", "out.nii.gz", cwd=folder)
    header = nibabel.load(folder / "out.nii.gz").dataobj
    assert (header.slope, header.inter) == (0.25, 10)
    assert np.array_equal(header.get_unscaled(), scan_array())


def test_labels(folder):
    labels = seeds_array().astype(np.float64) * 150
    save(labels, folder / "in.nii")
    good("convert", "in.nii", "out.nii.gz", "--labels", "--report", "r.json", cwd=folder)
    header = nibabel.load(folder / "out.nii.gz").header
    out = load(folder / "out.nii.gz")
    assert out.dtype == np.int16 and np.array_equal(out, labels)
    assert header["intent_code"] == 1002 and header["cal_max"] == 300
    assert json.loads((folder / "r.json").read_text())["results"]["labels"] == 2


def test_strip_extensions(folder):
    volume = nibabel.load(folder / "image.nii")
    volume.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"a name, perhaps"))
    nibabel.save(volume, folder / "named.nii")
    good("convert", "named.nii", "kept.nii", cwd=folder)
    good("convert", "named.nii", "bare.nii", "--strip-extensions", cwd=folder)
    assert b"a name, perhaps" in (folder / "kept.nii").read_bytes()
    assert b"a name, perhaps" not in (folder / "bare.nii").read_bytes()
    assert np.array_equal(load(folder / "bare.nii"), load(folder / "image.nii"))


def test_frame(folder):
    frames = np.arange(np.prod(SHAPE) * 3, dtype=np.int16).reshape((*SHAPE, 3))
    save(frames, folder / "frames.nii")
    for frame in range(3):
        good("convert", "frames.nii", "one.nii.gz", "--frame", frame, "--force", cwd=folder)
        assert np.array_equal(load(folder / "one.nii.gz"), frames[..., frame])


@pytest.mark.parametrize("dtype", [np.uint8, np.int16])
@pytest.mark.parametrize("out", ["one.nii.gz", "one.h5"])
def test_channel(folder, dtype, out):
    """A volume of one channel, as if the others had never been: it can be a mask, and again an image."""
    planes = np.arange(np.prod(SHAPE) * 3).reshape((*SHAPE, 1, 3)).astype(dtype)
    save(planes, folder / "colour.nii")
    for channel in range(3):
        good("convert", "colour.nii", out, "--channel", channel, "--force", cwd=folder)
        good("convert", out, "back.nii", "--force", cwd=folder)
        one = load(folder / "back.nii")
        assert one.dtype == dtype and np.array_equal(one, planes[..., 0, channel])
    done = good("components", "image.nii", "-o", "labels.nii", "--mask", out, cwd=folder)
    assert done.stderr == ""
    assert_one_line(lobule("convert", "colour.nii", out, "--channel", 3, "--force", cwd=folder), 65, "has no channel 3")


def test_same_bytes_whatever_the_threads(folder):
    big = np.random.default_rng(2).integers(0, 50, (128, 128, 64)).astype(np.int16)
    save(big, folder / "big.nii")
    seen = set()
    for threads in (1, 2, 5):
        good("convert", "big.nii", "big.nii.gz", "--threads", threads, "--force", cwd=folder)
        seen.add((folder / "big.nii.gz").read_bytes())
    assert len(seen) == 1 and np.array_equal(load(folder / "big.nii.gz"), big)


def test_level(folder):
    sizes = []
    for level in (1, 9):
        good("convert", "image.nii", "out.nii.gz", "--level", level, "--force", cwd=folder)
        sizes.append((folder / "out.nii.gz").stat().st_size)
    assert sizes[1] <= sizes[0]


def test_rough_labels_are_as_small_as_level_6(folder):
    """Their bytes do not repeat enough to tell that they are labels: that is said by who writes."""
    truth = ROOT / "data" / "abdomen_truth.nii.gz"
    good("labels", truth, "-o", "usual.nii.gz", "--min-size", 1, cwd=folder)
    good("convert", "usual.nii.gz", "six.nii.gz", "--level", 6, cwd=folder)
    good("convert", "usual.nii.gz", "one.nii.gz", "--level", 1, cwd=folder)
    size = {name: (folder / f"{name}.nii.gz").stat().st_size for name in ("usual", "six", "one")}
    assert abs(size["usual"] - size["six"]) < 100 and size["six"] < 0.9 * size["one"]
