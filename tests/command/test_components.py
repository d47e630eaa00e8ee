"""lobule components against scipy, cc3d and the textbook: the same arrays, label numbers included."""

import json
import signal
import subprocess

import cc3d
import h5py
import nibabel
import numpy as np
import pytest
from components_oracle import components, renumber
from conftest import AFFINE, PROGRAM, SHARED, cases, good, load, save
from scipy import ndimage

SHAPES = [(7, 11, 5), (1, 13, 3), (17, 1, 1), (2, 3, 31), (64, 3, 2), (65, 5, 3), (130, 4, 3), (1, 1, 1), (23, 19, 11)]
AXES = {"x": 0, "y": 1, "z": 2}


def run(folder, image, *options, out="labels.nii"):
    """Labels and report of one run."""
    path = image if isinstance(image, str) else save(image, folder / "image.nii").name
    good("components", path, "-o", out, "--report", "report.json", "--force", "--quiet", *options, cwd=folder)
    return load(folder / out), json.loads((folder / "report.json").read_text())


def assert_same(labels, want, message=""):
    """Equal numbers; where they differ, say where first."""
    if not np.array_equal(labels, want):
        at = tuple(np.argwhere(labels != want)[0])
        raise AssertionError(f"{message}: {labels[at]} at {at}, not {want[at]}")


def with_scipy(mask, neighbours, axis=None):
    """scipy.ndimage.label numbers in the order of memory: z, y, x with x fastest is the program's order."""
    if axis is None:
        structure = ndimage.generate_binary_structure(3, {6: 1, 18: 2, 26: 3}[neighbours])
    else:
        structure = np.zeros((3, 3, 3), bool)
        middle = [slice(None)] * 3
        middle[axis] = 1
        structure[tuple(middle)] = ndimage.generate_binary_structure(2, {4: 1, 8: 2}[neighbours])
    return ndimage.label(np.ascontiguousarray(mask.T), structure.T)[0].T


def with_cc3d(image, neighbours, **more):
    """cc3d joins equal values, or with delta those that are near; its numbers are put in raster order."""
    image = np.asfortranarray(image)
    return renumber(cc3d.connected_components(image, connectivity=neighbours, **more).astype(np.int64))


def masks():
    """Random masks: noise of several densities, and blobs."""
    for seed in cases(100):
        random = np.random.default_rng(seed)
        shape = SHAPES[seed % len(SHAPES)]
        if seed % 3 == 2:
            smooth = ndimage.gaussian_filter(random.normal(size=shape), 1.5)
            yield seed, (smooth > np.median(smooth)).astype(np.uint8)
        else:
            yield seed, (random.random(shape) < (0.05, 0.31, 0.5, 0.9)[seed % 4]).astype(np.uint8)


def test_masks_as_scipy_labels_them(tmp_path):
    """100 volumes in 3D, and as many slice by slice."""
    for seed, mask in masks():
        neighbours = (6, 18, 26)[seed % 3]
        labels, report = run(tmp_path, mask, "--neighbours", neighbours)
        want = with_scipy(mask, neighbours)
        assert_same(labels, want, f"volume {seed}, {neighbours} neighbours")
        assert report["results"]["components"] == report["results"]["components_found"] == want.max()
        assert report["results"]["foreground_voxels"] == np.count_nonzero(mask)


def test_slices_as_scipy_labels_them(tmp_path):
    for seed, mask in masks():
        neighbours, (name, axis) = (4, 8)[seed % 2], list(AXES.items())[seed // 2 % 3]
        labels, report = run(tmp_path, mask, "--neighbours", neighbours, "--slices", name)
        assert report["results"]["slice_axis"] == axis
        assert_same(labels, with_scipy(mask, neighbours, axis), f"volume {seed}, {neighbours} in slices of {name}")


TYPES = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64, np.float32, np.float64]


def test_equal_values_as_cc3d_joins_them(tmp_path):
    for seed in cases(60):
        random = np.random.default_rng(1000 + seed)
        neighbours, dtype = (6, 18, 26)[seed % 3], TYPES[seed % len(TYPES)]
        image = random.integers(0, 2 + seed % 4, SHAPES[seed % len(SHAPES)]).astype(dtype)
        labels, _ = run(tmp_path, image, "--equal", "--neighbours", neighbours)
        assert_same(labels, with_cc3d(image, neighbours), f"volume {seed}, {dtype.__name__}")


def test_tolerance_as_cc3d_joins_it(tmp_path):
    for seed in cases(40):
        random = np.random.default_rng(2000 + seed)
        neighbours, dtype = (6, 18, 26)[seed % 3], (np.uint8, np.uint16, np.int32, np.float32)[seed % 4]
        image = random.integers(0, 12, SHAPES[seed % len(SHAPES)]).astype(dtype)
        labels, _ = run(tmp_path, image, "--tolerance", seed % 4, "--neighbours", neighbours)
        want = with_cc3d(image, neighbours, **({"delta": seed % 4} if seed % 4 else {}))
        assert_same(labels, want, f"volume {seed}, {dtype.__name__}, tolerance {seed % 4}")


def test_every_criterion_with_several_channels(tmp_path):
    """Sums of absolute differences over channels, by the textbook."""
    for seed in cases(30):
        random = np.random.default_rng(3000 + seed)
        shape = (*SHAPES[seed % len(SHAPES)], 1, 2 + seed % 3)
        image = random.integers(-2, 4, shape).astype(np.float32 if seed % 2 else np.int16)
        joined = ("any", "equal", "tolerance")[seed % 3]
        options = {"any": (), "equal": ("--equal",), "tolerance": ("--tolerance", "3.5")}[joined]
        neighbours = (6, 18, 26)[seed // 3 % 3]
        labels, _ = run(tmp_path, image, *options, "--neighbours", neighbours)
        want = components(image[..., 0, :], neighbours, joined=joined, tolerance=3.5)
        assert_same(labels, want, f"volume {seed}, {shape[-1]} channels, {joined}")


def test_reals_with_nan_in_slices(tmp_path):
    for seed in cases(20):
        random = np.random.default_rng(4000 + seed)
        image = random.normal(size=SHAPES[seed % len(SHAPES)])
        odd = random.random(image.shape) < 0.1
        image[odd] = random.choice([np.nan, np.inf, -np.inf], size=image.shape)[odd]
        neighbours, (name, axis) = (4, 8)[seed % 2], list(AXES.items())[seed // 2 % 3]
        options = ("--range", "-0.5,inf", "--tolerance", "0.7", "--slices", name, "--neighbours", neighbours)
        labels, report = run(tmp_path, image, *options)
        with np.errstate(invalid="ignore"):
            want = components(image, neighbours, axis, "tolerance", 0.7, foreground=image >= -0.5)
        assert_same(labels, want, f"volume {seed}")
        assert report["results"]["not_finite_voxels"] == np.count_nonzero(~np.isfinite(image))


def spiral(n=41):
    """One path that winds inwards, a voxel wide: the worst case for what labels voxel by voxel."""
    mask = np.zeros((n, n, 1), np.uint8)
    x, y, dx, dy = 0, 0, 1, 0
    for _ in range(n * n):
        mask[x, y] = 1
        ahead = (x + 2 * dx, y + 2 * dy)
        inside = 0 <= x + dx < n and 0 <= y + dy < n
        if not inside or (0 <= ahead[0] < n and 0 <= ahead[1] < n and mask[ahead]):
            dx, dy = -dy, dx
            if not (0 <= x + dx < n and 0 <= y + dy < n) or mask[x + dx, y + dy]:
                break
        x, y = x + dx, y + dy
    return mask


FIGURES = {
    "empty": np.zeros((9, 5, 4), np.uint8),
    "full": np.ones((9, 5, 4), np.uint8),
    "checkerboard": (np.indices((9, 6, 5)).sum(0) % 2).astype(np.uint8),
    "spiral": spiral(),
    "spiral through planes": np.moveaxis(spiral(), 2, 0).copy(),
    "comb": (np.indices((31, 7, 5))[0] % 2 | (np.indices((31, 7, 5))[2] == 4)).astype(np.uint8),
    "corners that touch": np.eye(7, dtype=np.uint8)[:, :, None] * np.eye(7, dtype=np.uint8)[:, None, :],
}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("neighbours", [6, 18, 26])
def test_figures(tmp_path, name, neighbours):
    labels, _ = run(tmp_path, FIGURES[name], "--neighbours", neighbours)
    assert_same(labels, with_scipy(FIGURES[name], neighbours))


# ---- real label files ----


def real(path):
    if not (SHARED / "data").is_dir():
        pytest.skip(f"no folder {SHARED / 'data'}: set LOBULE_SHARED")
    return SHARED / "data" / path


@pytest.mark.parametrize("neighbours, count", [(6, 101), (18, 77), (26, 76)])
def test_pieces_of_organs(tmp_path, neighbours, count):
    path = real("totalsegmentator/example_seg_fast_force_split.nii.gz")
    labels, report = run(tmp_path, str(path), "--equal", "--neighbours", neighbours)
    assert report["results"]["components"] == count
    assert_same(labels, with_cc3d(np.asarray(load(path)).astype(np.int32), neighbours))


@pytest.mark.parametrize("cells", [8, 16])
def test_nuclei_of_an_embryo(tmp_path, cells):
    path = real(f"qcanet-mouse-embryo/{cells}_cell_stage_gt_nuclei_mask.nii.gz")
    labels, report = run(tmp_path, str(path))
    assert report["results"]["components"] == cells
    assert_same(labels, with_scipy(np.asarray(load(path)) != 0, 26))


@pytest.mark.parametrize(
    "path",
    [
        "debian-itk-brain-t1/KmeansTest_T1KmeansPrelimSegmentation.nii.gz",
        "pyradiomics-brain-tumour/brain1_label.nii.gz",
        "qcanet-mouse-embryo/16_cell_stage_qcanet_instances.nii.gz",
        "sct-spinal-cord/t2s_uncropped_gmseg_manual.nii.gz",
        "totalsegmentator/example_seg_mr.nii.gz",
    ],
)
@pytest.mark.parametrize("neighbours", [6, 26])
def test_real_labels(tmp_path, path, neighbours):
    labels, _ = run(tmp_path, str(real(path)), "--equal", "--neighbours", neighbours)
    stored = np.asarray(load(real(path)))
    assert_same(labels, with_cc3d(stored.astype(np.int32).reshape(labels.shape), neighbours))


def test_cells_in_hdf5(tmp_path):
    path = real("plantseg-cells/sample_ovule.h5")
    with h5py.File(path) as file:
        names = [name for name in file if getattr(file[name], "ndim", 0) == 3]
        name = "label" if "label" in names else names[0]
        stored = file[name][()].T
    labels, _ = run(tmp_path, f"{path}:/{name}", "--equal", "--neighbours", "6")
    assert_same(labels, with_cc3d(stored.astype(np.int32), 6))


# ---- the same bytes whatever computes them ----


@pytest.mark.parametrize("options", [(), ("--equal",), ("--tolerance", "2", "--neighbours", "18"), ("--slices", "y"),
                                     ("--order", "size", "--fill-holes", "--min-size", "3")], ids=" ".join)  # fmt: skip
def test_same_bytes_at_any_number_of_threads(tmp_path, options):
    image = np.random.default_rng(5).integers(0, 4, (67, 41, 37)).astype(np.int16)
    image = np.where(ndimage.gaussian_filter(image.astype(np.float32), 1) > 1.4, image, 0).astype(np.int16)
    save(image, tmp_path / "image.nii")
    first = None
    for threads in (1, 2, 3):
        run(tmp_path, "image.nii", *options, "--threads", threads, "--table", "table.tsv", "--image", "image.nii",
            out="labels.nii.gz")  # fmt: skip
        both = [(tmp_path / name).read_bytes() for name in ("labels.nii.gz", "table.tsv")]
        first = first or both
        assert both == first, threads


def test_the_plane_names_follow_the_affine(tmp_path):
    mask = (np.random.default_rng(6).random((9, 8, 7)) < 0.4).astype(np.uint8)
    volume = nibabel.Nifti1Image(mask, AFFINE[:, [1, 2, 0, 3]])
    nibabel.save(volume, tmp_path / "turned.nii")
    for plane, axis in (("axial", 1), ("coronal", 0), ("sagittal", 2)):
        labels, report = run(tmp_path, "turned.nii", "--slices", plane, "--neighbours", 8)
        assert report["results"]["slice_axis"] == axis
        assert_same(labels, with_scipy(mask, 8, axis))


def test_signal_while_the_table_is_written(tmp_path):
    image = (np.random.default_rng(7).random((60, 60, 40)) < 0.1).astype(np.uint8)
    save(image, tmp_path / "image.nii")
    rows = ndimage.label(image)[1]
    child = subprocess.Popen(
        [PROGRAM, "components", "image.nii", "-o", "labels.nii", "--neighbours", "6", "--table", "-"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    start = child.stdout.read(1)  # the pipe holds a small part of the rest
    child.send_signal(signal.SIGTERM)
    rest, errors = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGTERM
    assert errors == b"lobule components: cancelled\n"
    assert 1 < (start + rest).count(b"\n") < rows / 2
    assert not (tmp_path / "labels.nii").exists()
