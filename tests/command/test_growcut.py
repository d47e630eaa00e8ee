"""lobule growcut as a tool: what each option does to the labels, and what the output keeps."""

import json

import h5py
import nibabel
import numpy as np
import pytest
from conftest import AFFINE, BALL, SHAPE, good, load, save, scan_array, seeds_array
from scipy import ndimage

SPACING = np.array([1.5, 1.5, 2.5])


def grow(folder, *options, image="image.nii.gz", seeds="seeds.nii.gz", out="labels.nii.gz"):
    """Labels, report and stderr of one run."""
    arguments = ["growcut", image, seeds, "-o", out, "--report", "report.json", "--force", *options]
    done = good(*arguments, cwd=folder)
    return load(folder / out), json.loads((folder / "report.json").read_text()), done.stderr


def truth():
    labels = np.ones(SHAPE, np.uint8)
    labels[BALL] = 2
    return labels


@pytest.mark.parametrize("rule", ["strength", "distance"])
@pytest.mark.parametrize("neighbours", [6, 18, 26])
def test_a_block_is_found(folder, rule, neighbours):
    labels, report, _ = grow(folder, "--rule", rule, "--neighbours", neighbours)
    assert labels.dtype == np.uint8 and np.array_equal(labels, truth())
    assert report["results"]["neighbours"] == neighbours


@pytest.mark.parametrize(
    "inside, outside, dtype",
    [(7, 3, np.uint8), (255, 9, np.uint8), (256, 1, np.int16), (40000, 5, np.int32), (2**31 - 1, 1, np.int32)],
)
def test_labels_keep_their_values_in_the_smallest_type(folder, inside, outside, dtype):
    seeds = np.zeros(SHAPE, np.int64 if inside > 2**30 else np.int32)
    seeds[10, 9, 5], seeds[1, 1, 1] = inside, outside
    save(seeds.astype(np.int32), folder / "seeds.nii.gz")
    labels, report, _ = grow(folder)
    assert labels.dtype == dtype
    assert np.array_equal(labels, np.where(truth() == 2, inside, outside))
    assert [row["label"] for row in report["results"]["labels"]] == sorted([inside, outside])


def test_the_header_is_the_image_s(folder):
    image = nibabel.load(folder / "image.nii.gz")
    image.header["aux_file"] = b"kept"
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"also kept"))
    image.set_qform(AFFINE, 1)
    nibabel.save(image, folder / "image.nii.gz")
    grow(folder)
    before, after = nibabel.load(folder / "image.nii.gz").header, nibabel.load(folder / "labels.nii.gz").header
    for field in ("qform_code", "sform_code", "srow_x", "srow_y", "srow_z", "pixdim", "xyzt_units", "aux_file"):
        assert np.array_equal(before[field], after[field]), field
    assert after.extensions[0].get_content() == before.extensions[0].get_content()
    assert after["intent_code"] == 1002 and after["cal_max"] == 2
    assert b"lobule" in after["descrip"].tobytes()


def test_mask(folder):
    mask = np.zeros(SHAPE, np.int16)
    mask[:18] = 3
    save(mask, folder / "mask.nii")
    labels, report, _ = grow(folder, "--mask", "mask.nii")
    assert np.array_equal(labels, np.where(mask, truth(), 0))
    assert report["results"]["data_voxels"] == np.count_nonzero(mask)


def test_mask_of_reals_with_nan(folder):
    mask = np.where(np.arange(SHAPE[0]) < 18, 0.25, np.nan)[:, None, None] * np.ones(SHAPE)
    save(mask.astype(np.float32), folder / "mask.nii")
    labels, _, _ = grow(folder, "--mask", "mask.nii")
    assert np.array_equal(labels, np.where(mask > 0, truth(), 0))


def test_mask_is_not_crossed(folder):
    """A wall of masked voxels cuts off the far side, where there is no seed."""
    mask = np.ones(SHAPE, np.uint8)
    mask[18] = 0
    save(mask, folder / "mask.nii")
    labels, _, _ = grow(folder, "--mask", "mask.nii")
    assert not labels[18:].any() and np.array_equal(labels[:18], truth()[:18])


def test_range(folder):
    labels, _, _ = grow(folder, "--range", "500,inf", seeds="seeds.nii.gz")
    assert np.array_equal(labels, np.where(truth() == 2, 2, 0))


def test_range_is_about_scaled_values(folder):
    save(scan_array(), folder / "scaled.nii", scale=(0.5, -100))
    labels, _, _ = grow(folder, "--range", "150,1000", image="scaled.nii")
    assert np.array_equal(labels, np.where(truth() == 2, 2, 0))


def test_range_has_decimal_ends(folder):
    """As float32s, which voxels hold."""
    image = (np.indices(SHAPE).sum(0) % 10 / 10).astype(np.float32)
    save(image, folder / "decimals.nii")
    _, report, _ = grow(folder, "--range", "0.1,0.3", "--max-mm", "1e3", image="decimals.nii")
    inside = (image >= np.float32(0.1)) & (image <= np.float32(0.3))
    assert report["results"]["data_voxels"] == np.count_nonzero(inside)


@pytest.mark.parametrize("limit, spacing", [("6mm", SPACING), ("6", SPACING), ("4vox", np.ones(3)), ("4.5mm", SPACING)])
def test_max_mm(folder, limit, spacing):
    save(np.full(SHAPE, 100, np.int16), folder / "flat.nii")
    labels, report, _ = grow(folder, "--max-mm", limit, image="flat.nii")
    near = ndimage.distance_transform_edt(seeds_array() == 0, sampling=spacing)
    assert np.array_equal(labels != 0, near <= float(limit.rstrip("mvox")) + 1e-6)
    assert report["results"]["labelled_voxels"] == np.count_nonzero(labels)


def test_max_mm_with_a_mask(folder):
    mask = np.zeros(SHAPE, np.uint8)
    mask[:12] = 1
    save(mask, folder / "mask.nii")
    save(np.full(SHAPE, 100, np.int16), folder / "flat.nii")
    labels, _, _ = grow(folder, "--max-mm", "6", "--mask", "mask.nii", image="flat.nii")
    near = ndimage.distance_transform_edt(seeds_array() == 0, sampling=SPACING)
    assert np.array_equal(labels != 0, (near <= 6) & (mask != 0))


def test_max_mm_stays_in_its_slice(folder):
    save(np.full(SHAPE, 100, np.int16), folder / "flat.nii")
    labels, _, _ = grow(folder, "--max-mm", "6", "--slices", "z", image="flat.nii")
    seeds = seeds_array()
    for z in range(SHAPE[2]):
        want = np.zeros(SHAPE[:2], bool)
        if seeds[:, :, z].any():
            want = ndimage.distance_transform_edt(seeds[:, :, z] == 0, sampling=SPACING[:2]) <= 6
        assert np.array_equal(labels[:, :, z] != 0, want), z


@pytest.mark.parametrize("plane, axis", [("axial", 2), ("coronal", 1), ("sagittal", 0), ("x", 0), ("y", 1), ("z", 2)])
def test_slices(folder, plane, axis):
    """Every slice by itself: only slices with seeds get labels, and they are filled."""
    labels, report, _ = grow(folder, "--slices", plane)
    assert report["results"]["slice_axis"] == axis
    seeds = seeds_array()
    for index in range(SHAPE[axis]):
        labelled = np.take(labels, index, axis)
        assert labelled.all() == labelled.any() == np.take(seeds, index, axis).any()


def test_planes_follow_the_affine(folder):
    """Voxel axes z, x, y that point right, anterior, superior."""
    turned = AFFINE[:, [1, 2, 0, 3]]
    save(np.moveaxis(scan_array(), 0, 2), folder / "image.nii.gz", affine=turned)
    save(np.moveaxis(seeds_array(), 0, 2), folder / "seeds.nii.gz", affine=turned)
    for plane, axis in (("axial", 1), ("coronal", 0), ("sagittal", 2)):
        assert grow(folder, "--slices", plane)[1]["results"]["slice_axis"] == axis


def test_one_label_with_a_limit(folder):
    save(seeds_array(2, 0), folder / "seeds.nii.gz")
    labels, _, _ = grow(folder, "--max-cost", "200")
    assert np.array_equal(labels, np.where(truth() == 2, 2, 0))
    labels, _, _ = grow(folder, "--min-strength", "0.5")
    assert np.array_equal(labels, np.where(truth() == 2, 2, 0))


def test_strength_and_tie(folder):
    labels, report, _ = grow(folder, "--strength", "strength.nii.gz", "--tie", "tie.nii.gz")
    strength, tie = load(folder / "strength.nii.gz"), load(folder / "tie.nii.gz")
    assert strength.dtype == np.float32 and tie.dtype == np.uint8
    assert strength[10, 9, 5] == strength[1, 1, 1] == 1 and 0 < strength.min() and strength.max() == 1
    assert set(np.unique(tie)) <= {0, 1} and tie.shape == labels.shape
    assert report["results"]["tie_voxels"] == tie.sum()
    assert [out["role"] for out in report["outputs"]] == ["strength", "tie", "output"]


def test_ties_go_to_the_smallest_label(folder):
    """A flat image: with no cost anywhere every voxel is a tie."""
    save(np.full(SHAPE, 100, np.int16), folder / "flat.nii")
    labels, report, _ = grow(folder, "--tie", "tie.nii", image="flat.nii")
    assert (labels[seeds_array() == 0] == 1).all()
    assert load(folder / "tie.nii").sum() == report["results"]["tie_voxels"] > 0


def test_a_weak_seed_is_overgrown(folder):
    strength = np.ones(SHAPE, np.float32)
    strength[1, 1, 1] = 0.01
    save(strength, folder / "strong.nii")
    labels, _, _ = grow(folder, "--seed-strength", "strong.nii")
    assert (labels == 2).all()


def test_nan_is_left_out_and_counted(folder):
    image = scan_array().astype(np.float32)
    image[3], image[4, 0, 0] = np.nan, np.inf
    save(image, folder / "nan.nii")
    seeds = seeds_array()
    seeds[3, 3, 3] = 9
    save(seeds, folder / "seeds.nii.gz")
    labels, report, errors = grow(folder, image="nan.nii")
    assert not labels[3].any() and labels[4, 0, 0] == 0
    results = report["results"]
    assert results["not_finite_voxels"] == SHAPE[1] * SHAPE[2] + 1
    assert results["seeds"] == 2 and results["seeds_outside"] == 1
    notes = "\n".join(report["notes"])
    assert "NaN or infinite voxels: 210;" in notes and "label 9" in notes
    assert "seed voxels outside the data (mask, range, distance or NaN): 1;" in notes
    assert all(note in errors for note in report["notes"])


OUTLIERS = [
    ("two values and a padded voxel", np.float32, np.where(seeds_array() == 9, 0, 1), 3.4e38, 1),
    ("noise and padding", np.float32, scan_array(), -3.4e38, 1),
    ("wide integers", np.int32, scan_array(), 2**31 - 1, 1),
    ("noise alone", np.float32, scan_array(), 700, None),
    ("whole numbers in float", np.float32, np.arange(np.prod(SHAPE)).reshape(SHAPE) % 7, 6, None),
    ("integers used exactly", np.int16, scan_array() % 3, 32767, None),
]


@pytest.mark.parametrize("what, dtype, values, outlier, levels", OUTLIERS, ids=[row[0] for row in OUTLIERS])
@pytest.mark.parametrize("slices", [(), ("--slices", "z")])
def test_values_that_crowd_in_few_levels(folder, what, dtype, values, outlier, levels, slices):
    image = values.astype(dtype)
    if levels:
        image[BALL] += np.array(500, dtype)
    image[0, 0, 5] = outlier
    save(image, folder / "image.nii.gz")
    _, report, errors = grow(folder, *slices)
    assert ("99 % of the voxels share" in errors) == bool(levels), errors
    if levels:
        assert f"share {levels} of 65536 levels" in errors and f"{outlier:.3g}" in errors
        assert "--range LO,HI" in errors
        assert report["results"]["levels_of_99_percent"] == levels
        _, _, errors = grow(folder, *slices, "--range=-1,5000")
        assert "share" not in errors


def test_one_label_in_slices(folder):
    """A slice with one label is as it would be alone; in 3D one label needs a limit."""
    flat = save(scan_array()[:, :, 5:6], folder / "flat.nii")
    save(seeds_array(3, 3)[:, :, 5:6], folder / "seeds.nii.gz")
    labels, _, _ = grow(folder, "--slices", "z", image=flat.name)
    assert (labels == 3).all()


def test_frame(folder):
    frames = np.stack([np.zeros(SHAPE, np.int16), scan_array(), np.zeros(SHAPE, np.int16)], axis=-1)
    save(frames, folder / "frames.nii.gz")
    labels, report, _ = grow(folder, "--frame", "1", image="frames.nii.gz")
    assert np.array_equal(labels, truth())
    assert report["inputs"][0]["frame"] == 1 and report["inputs"][0]["frames"] == 3


def test_rounds(folder):
    """Over a flat image a label comes one voxel farther with each round; the report says when it is done."""
    save(np.full(SHAPE, 100, np.int16), folder / "flat.nii")
    far = ndimage.distance_transform_cdt(seeds_array() == 0, "chessboard")
    for rounds, done in ((1, False), (4, False), (sum(SHAPE), True)):
        labels, report, errors = grow(folder, "--rounds", rounds, image="flat.nii")
        results = report["results"]
        assert np.array_equal(labels != 0, far <= rounds), rounds
        assert results["rounds_asked"] == rounds and results["fixed_point"] == done
        assert results["rounds"] < rounds if done else results["rounds"] == rounds
        assert ("before the fixed point" in errors) == (not done)
    exact, report, _ = grow(folder, image="flat.nii")
    assert np.array_equal(labels, exact)
    assert report["results"]["fixed_point"] and "rounds_asked" not in report["results"]


def test_same_bytes_whatever_the_threads_and_tiles(folder):
    save(scan_array(noise=200), folder / "image.nii.gz")
    first = None
    for options in ([], ["--threads", "1"], ["--threads", "3"], ["--tile", "4"], ["--tile", "16"]):
        grow(folder, *options, "--strength", "strength.nii.gz")
        both = [(folder / name).read_bytes() for name in ("labels.nii.gz", "strength.nii.gz")]
        first = first or both
        assert both == first, options


def test_hdf5_in_and_out(folder):
    with h5py.File(folder / "cells.h5", "w") as file:
        file["raw"] = scan_array().T
        file["raw"].attrs["element_size_um"] = [2500.0, 1500.0, 1500.0]
    good("convert", "cells.h5:/raw", "cells.nii", cwd=folder)
    save(seeds_array(), folder / "seeds.nii", affine=nibabel.load(folder / "cells.nii").affine)
    good("growcut", "cells.h5:/raw", "seeds.nii", "-o", "labels.h5", cwd=folder)
    with h5py.File(folder / "labels.h5") as file:
        volumes = []
        file.visititems(lambda _, item: volumes.append(item) if getattr(item, "ndim", 0) == 3 else None)
        assert len(volumes) == 1 and np.array_equal(volumes[0][()].T, truth())


def test_a_real_scan(shared, tmp_path):
    """A spinal cord, seeded by the manual outline's core and what is far from it."""
    scans = shared / "data" / "sct-spinal-cord"
    cord = load(scans / "t2_seg-manual.nii.gz") != 0
    seeds = np.zeros(cord.shape, np.uint8)
    seeds[ndimage.binary_erosion(cord, iterations=2)] = 2
    seeds[ndimage.distance_transform_edt(~cord) > 4] = 1
    volume = nibabel.load(scans / "t2.nii.gz")
    nibabel.save(nibabel.Nifti1Image(seeds, volume.affine, volume.header), tmp_path / "seeds.nii.gz")
    good("growcut", scans / "t2.nii.gz", tmp_path / "seeds.nii.gz", "-o", tmp_path / "labels.nii.gz")
    found = load(tmp_path / "labels.nii.gz") == 2
    dice = 2 * np.count_nonzero(found & cord) / (np.count_nonzero(found) + np.count_nonzero(cord))
    assert dice > 0.85


def test_help_says_on_what_condition_it_is_exact():
    text = " ".join(good("growcut", "--help").stdout.split())
    assert "rounded to 1/64 of a level" in text and "mapped to 65,536 levels" in text
