"""lobule register finds known transforms; lobule warp is what SimpleITK makes of the same field."""

import json

import nibabel
import numpy as np
import pytest
import SimpleITK as sitk
from conftest import good, load, refused, save

STEP = 6  # mm, of the grid in these tests


@pytest.fixture(scope="module")
def phantom(tmp_path_factory):
    """A small abdomen with its labels."""
    folder = tmp_path_factory.mktemp("register")
    good("phantom", "abdomen", "--size", "64,48,40", "--spacing", "5,5,6", "-o", folder / "scan.nii",
         "--truth", folder / "truth.nii", "--noise", "2")  # fmt: skip
    return folder


def translation(mm):
    return sitk.TranslationTransform(3, [float(x) for x in mm])


def rotation(image, axis, degrees):
    turn = sitk.VersorTransform([float(x) for x in axis], np.radians(degrees))
    turn.SetCenter(image.TransformContinuousIndexToPhysicalPoint([(n - 1) / 2 for n in image.GetSize()]))
    return turn


def smooth(image, most_mm, sigma_mm, seed):
    """A random displacement, at most so long."""
    random = np.random.default_rng(seed)
    beyond = int(2 * sigma_mm / 8)  # the filter's ends are wild
    size = [int(np.ceil(n * s / 8)) + 1 + 2 * beyond for n, s in zip(image.GetSize(), image.GetSpacing())]
    planes = []
    for _ in range(3):
        noise = sitk.GetImageFromArray(random.normal(size=size[::-1]))
        noise.SetSpacing([8.0] * 3)
        noise.SetDirection(image.GetDirection())
        noise.SetOrigin(image.GetOrigin())
        noise.SetOrigin(noise.TransformIndexToPhysicalPoint([-beyond] * 3))
        smoothed = sitk.SmoothingRecursiveGaussian(noise, sigma_mm)
        planes.append(smoothed[beyond:-beyond, beyond:-beyond, beyond:-beyond])
    longest = np.sqrt(sum(sitk.GetArrayFromImage(p) ** 2 for p in planes)).max()
    field = sitk.Compose([sitk.Cast(p * (most_mm / longest), sitk.sitkFloat64) for p in planes])
    return sitk.DisplacementFieldTransform(field)


def errors(field, transform, fixed, moving):
    """In mm, at voxels of the body that lie well inside of both scans."""
    found = sitk.DisplacementFieldTransform(sitk.ReadImage(str(field), sitk.sitkVectorFloat64))
    array = sitk.GetArrayFromImage(fixed)
    out = []
    for place in np.argwhere(array > np.percentile(array, 50))[::97]:
        index = [int(i) for i in place[::-1]]
        point = fixed.TransformIndexToPhysicalPoint(index)
        truth = transform.TransformPoint(point)
        there = moving.TransformPhysicalPointToContinuousIndex(truth)
        inside = [2 <= i <= n - 3 for i, n in zip((*index, *there), (*fixed.GetSize(), *moving.GetSize()))]
        if all(inside):
            out.append(np.linalg.norm(np.subtract(found.TransformPoint(point), truth)))
    assert len(out) > 50
    return np.array(out)


def make_fixed(phantom, folder, transform, spacing, planes=slice(None)):
    """The phantom, or planes of it, through a transform, with voxels of another size and other axes."""
    moving = sitk.ReadImage(str(phantom / "scan.nii"))
    size = [int(n * s / t) for n, s, t in zip(moving.GetSize(), moving.GetSpacing(), spacing)]
    fixed = sitk.Resample(moving, size, transform, sitk.sitkLinear, moving.GetOrigin(), spacing, moving.GetDirection())
    fixed = sitk.DICOMOrient(fixed[:, :, planes], "PSR")
    sitk.WriteImage(fixed, str(folder / "fixed.nii"))
    return fixed, moving


@pytest.mark.parametrize(
    ("name", "spacing"),
    [("translation", (5, 5, 6)), ("translation", (2.5, 2.5, 8)), ("rotation", (4, 4, 4)), ("rotation", (8, 8, 8))],
)
def test_affine_of_known_transforms(phantom, tmp_path, name, spacing):
    scan = sitk.ReadImage(str(phantom / "scan.nii"))
    transform = translation((25, -18, 12)) if name == "translation" else rotation(scan, (1, 1, 1), 20)
    fixed, moving = make_fixed(phantom, tmp_path, transform, spacing)
    good("register", "fixed.nii", phantom / "scan.nii", "-o", "field.nii", "--affine-only", "--report", "r.json", cwd=tmp_path)
    assert np.median(errors(tmp_path / "field.nii", transform, fixed, moving)) < 0.5
    matrix = np.array(json.loads((tmp_path / "r.json").read_text())["results"]["affine"])
    lps = np.diag([-1, -1, 1])
    middle = np.array(scan.TransformContinuousIndexToPhysicalPoint([(n - 1) / 2 for n in scan.GetSize()]))
    there = lps @ (matrix[:, :3] @ (lps @ middle) + matrix[:, 3])
    assert np.allclose(there, transform.TransformPoint(middle.tolist()), atol=0.5)


@pytest.mark.parametrize("planes", [8, 10])
def test_affine_of_a_thin_slab(phantom, tmp_path, planes):
    """Few points lie along its thin axis, which turns with the others all the same."""
    scan = sitk.ReadImage(str(phantom / "scan.nii"))
    transform = rotation(scan, (1, 0.5, 0.3), 12)
    fixed, moving = make_fixed(phantom, tmp_path, transform, (5, 5, 6), slice(20 - planes // 2, 20 + planes // 2))
    good("register", "fixed.nii", phantom / "scan.nii", "-o", "field.nii", "--affine-only", cwd=tmp_path)
    assert np.median(errors(tmp_path / "field.nii", transform, fixed, moving)) < 0.5


@pytest.mark.parametrize("axis", [0, 2])
@pytest.mark.parametrize("which", ["fixed", "moving"])
def test_a_filled_part_is_no_border_of_the_body(phantom, tmp_path, which, axis):
    """Beyond its field of view a scan holds one value; the field covers that too."""
    transform = rotation(sitk.ReadImage(str(phantom / "scan.nii")), (1, 0.5, 0.3), 10)
    scans = dict(zip(("fixed", "moving"), make_fixed(phantom, tmp_path, transform, (5, 5, 6))))
    array = sitk.GetArrayFromImage(scans[which])
    half = [slice(None)] * 3
    half[axis] = slice(array.shape[axis] // 2, None)
    array[tuple(half)] = -1024
    filled = sitk.GetImageFromArray(array)
    filled.CopyInformation(scans[which])
    sitk.WriteImage(filled, str(tmp_path / "filled.nii"))
    sitk.WriteImage(scans["moving"], str(tmp_path / "moving.nii"))
    names = {"fixed": "fixed.nii", "moving": "moving.nii", which: "filled.nii"}
    done = good("register", names["fixed"], names["moving"], "-o", "field.nii", "--report", "r.json", "--affine-only", cwd=tmp_path)
    size = list(filled.GetSize())
    size[2 - axis] //= 2
    scans[which] = filled[tuple(slice(0, n) for n in size)]
    assert np.median(errors(tmp_path / "field.nii", transform, scans["fixed"], scans["moving"])) < 0.5
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    assert results["field_of_view"] == pytest.approx([0.5, 1] if which == "fixed" else [1, 0.5], abs=0.01)
    assert "filled.nii: 50 % of it is filled with one value" in done.stderr
    field, fixed = nibabel.load(tmp_path / "field.nii"), nibabel.load(tmp_path / names["fixed"])
    for n, m, a, b in zip(field.shape, fixed.shape, field.header.get_zooms(), fixed.header.get_zooms()):
        assert m * b <= n * a < m * b + 2 * a


@pytest.mark.parametrize("name", ["translation", "rotation"])
def test_affine_of_a_head(shared, tmp_path, name):
    """Noise around the head, and zeros beyond its field of view, draw nothing aside."""
    head = sitk.ReadImage(str(shared / "data/debian-itk-brain-t1/KmeansTest_T1UCharRaw.nii.gz"))
    sitk.WriteImage(head, str(tmp_path / "scan.nii"))
    transform = translation((25, -18, 12)) if name == "translation" else rotation(head, (1, 1, 1), 20)
    fixed, moving = make_fixed(tmp_path, tmp_path, transform, (3, 3, 3))
    good("register", "fixed.nii", "scan.nii", "-o", "field.nii", "--affine-only", cwd=tmp_path)
    assert np.median(errors(tmp_path / "field.nii", transform, fixed, moving)) < 0.5


def test_what_overlaps_and_a_doubt(phantom, tmp_path):
    """A scan onto itself is in no doubt; one of noise is, and a note says so."""
    done = good("register", phantom / "scan.nii", phantom / "scan.nii", "-o", "f.nii", "--affine-only", "--report", "r.json",
                "--grid", STEP, cwd=tmp_path)  # fmt: skip
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    assert results["overlap"] == 1 and not results["doubtful"] and done.stderr == ""
    assert 0.2 < results["matches"] / results["points"] <= 0.3  # six tenths of the half of highest contrast
    noise = np.random.default_rng(0).normal(size=(48, 40, 36)).astype(np.float32)
    save(noise, tmp_path / "noise.nii", np.diag([6.0, 6, 6, 1]))
    done = good("register", phantom / "scan.nii", "noise.nii", "-o", "g.nii", "--affine-only", "--report", "r.json",
                "--grid", STEP, cwd=tmp_path)  # fmt: skip
    assert json.loads((tmp_path / "r.json").read_text())["results"]["doubtful"]
    assert "noise.nii: may lie wrong on" in done.stderr and len(done.stderr.splitlines()) == 1


def test_one_wild_voxel_changes_little(phantom, tmp_path):
    """A value beyond all others takes no part in the levels."""
    transform = translation((25, -18, 12))
    fixed, moving = make_fixed(phantom, tmp_path, transform, (5, 5, 6))
    wild = load(phantom / "scan.nii").astype(np.float32)
    wild[3, 4, 5] = 1e30
    nibabel.save(nibabel.Nifti1Image(wild, nibabel.load(phantom / "scan.nii").affine), tmp_path / "wild.nii")
    good("register", "fixed.nii", "wild.nii", "-o", "field.nii", "--affine-only", cwd=tmp_path)
    assert np.median(errors(tmp_path / "field.nii", transform, fixed, moving)) < 0.5


@pytest.mark.parametrize("seed", [1, 2])
def test_smooth_displacements(phantom, tmp_path, seed):
    transform = smooth(sitk.ReadImage(str(phantom / "scan.nii")), 20, 45, seed)
    fixed, moving = make_fixed(phantom, tmp_path, transform, (4, 5, 6))
    good("register", "fixed.nii", phantom / "scan.nii", "-o", "field.nii", "--grid", STEP, "--report", "r.json", cwd=tmp_path)
    off = errors(tmp_path / "field.nii", transform, fixed, moving)
    assert np.median(off) < 0.6 * STEP
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    assert results["folded"] < 0.001
    assert results["cost_affine"] < results["cost_before"]
    good("register", "fixed.nii", phantom / "scan.nii", "-o", "affine.nii", "--grid", STEP, "--affine-only", cwd=tmp_path)
    assert np.median(off) < 0.6 * np.median(errors(tmp_path / "affine.nii", transform, fixed, moving))


def test_same_bytes_and_options(phantom, tmp_path):
    """Threads do not show; stiffness and mask do; working memory is bounded."""
    make_fixed(phantom, tmp_path, smooth(sitk.ReadImage(str(phantom / "scan.nii")), 15, 40, 3), (5, 5, 5))
    command = ["register", "fixed.nii", phantom / "scan.nii", "--grid", 9, "--report", "r.json", "--force"]
    good(*command, "-o", "a.nii", "--threads", 1, cwd=tmp_path)
    report = json.loads((tmp_path / "r.json").read_text())
    good(*command, "-o", "b.nii", "--threads", 3, "--moved", "moved.nii", cwd=tmp_path)
    assert (tmp_path / "a.nii").read_bytes() == (tmp_path / "b.nii").read_bytes()
    voxels = np.prod(report["outputs"][0]["dims"])
    assert report["results"]["working_bytes"] < 400 * voxels + 4e6
    good("warp", phantom / "scan.nii", "a.nii", "--like", "fixed.nii", "-o", "warped.nii", cwd=tmp_path)
    assert (tmp_path / "warped.nii").read_bytes() == (tmp_path / "moved.nii").read_bytes()
    good(*command, "-o", "stiff.nii", "--smooth", 50, cwd=tmp_path)
    good(*command, "-o", "loose.nii", "--smooth", 0.1, cwd=tmp_path)
    bend = [np.abs(np.diff(load(tmp_path / name), 2, axis=0)).sum() for name in ("stiff.nii", "a.nii", "loose.nii")]
    assert bend[0] < bend[1] < bend[2]
    half = nibabel.load(tmp_path / "fixed.nii")
    inside = np.zeros(half.shape, np.uint8)
    inside[: half.shape[0] // 2] = 1
    nibabel.save(nibabel.Nifti1Image(inside, half.affine), tmp_path / "mask.nii")
    good(*command, "-o", "half.nii", "--mask", "mask.nii", cwd=tmp_path)
    assert (tmp_path / "half.nii").read_bytes() != (tmp_path / "a.nii").read_bytes()


def test_a_scan_onto_itself(phantom, tmp_path):
    good("register", phantom / "scan.nii", phantom / "scan.nii", "-o", "field.nii", "--grid", 9, cwd=tmp_path)
    lengths = np.linalg.norm(np.squeeze(load(tmp_path / "field.nii")), axis=-1)
    assert np.median(lengths) < 0.12 * 9 and lengths.max() < 0.75 * 9


def test_headers_that_lie_elsewhere(phantom, tmp_path):
    """Scans that headers put apart are laid on each other, unless headers alone are asked for."""
    scan = nibabel.load(phantom / "scan.nii")
    affine = scan.affine.copy()
    affine[:3, 3] += 2000
    nibabel.save(nibabel.Nifti1Image(np.asarray(scan.dataobj), affine), tmp_path / "far.nii")
    command = ["register", "far.nii", phantom / "scan.nii", "-o", "field.nii", "--grid", 9]
    good(*command, "--report", "r.json", cwd=tmp_path)
    assert json.loads((tmp_path / "r.json").read_text())["results"]["start"] == "centres"
    field = np.squeeze(load(tmp_path / "field.nii"))
    assert np.allclose(np.median(field, (0, 1, 2)), [2000, 2000, -2000], atol=0.5)  # LPS
    refused(tmp_path, [*command, "--start", "headers", "--force"], 65, "far.nii", "do not overlap")


@pytest.mark.parametrize("slices, grid, near", [(6, [], 0.5), (1, ["--grid", 9], 4.5)])
def test_a_slab_in_a_long_scan(phantom, tmp_path, slices, grid, near):
    """A few slices are found far from the middle of a scan, and headers do not help."""
    scan = nibabel.load(phantom / "scan.nii")
    voxels, affine = np.asarray(scan.dataobj), scan.affine.copy()
    first = voxels.shape[2] - 8
    affine[:3, 3] += affine[:3, 2] * first + 2000
    nibabel.save(nibabel.Nifti1Image(voxels[:, :, first : first + slices], affine), tmp_path / "slab.nii")
    good("register", "slab.nii", phantom / "scan.nii", "-o", "field.nii", *grid, cwd=tmp_path)
    field = load(tmp_path / "field.nii").reshape(-1, 3, order="F")
    assert np.allclose(np.median(field, 0), [2000, 2000, -2000], rtol=0, atol=near)  # LPS


def test_one_slice(phantom, tmp_path):
    scan = nibabel.load(phantom / "scan.nii")
    voxels = np.asarray(scan.dataobj)[:, :, 18]
    for name, array in (("a.nii", voxels[:, :, None]), ("b.nii", np.roll(voxels, (4, -3), (0, 1))[:, :, None])):
        nibabel.save(nibabel.Nifti1Image(array, scan.affine), tmp_path / name)
    good("register", "a.nii", "b.nii", "-o", "field.nii", cwd=tmp_path)
    field = np.squeeze(load(tmp_path / "field.nii"))
    assert np.allclose(field[..., 2], 0, atol=1e-6)
    middle = field[20:-20, 20:-20]
    assert np.allclose(np.median(middle, (0, 1)), [-20, 15, 0], atol=0.5)  # voxels of 5 mm, R and A against L and P


# ---- warp ----


@pytest.fixture
def bent(tmp_path):
    """An image and labels with oblique axes, a grid to come onto, and a random field as ITK writes it."""
    random = np.random.default_rng(5)
    angle = np.radians(15)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag([-2, 3, 4.0])
    affine[:3, 3] = (20, -30, -25)
    image = random.normal(100, 30, (19, 17, 11)).astype(np.float32)
    save(image, tmp_path / "image.nii", affine)
    save((image // 20).clip(0).astype(np.uint8), tmp_path / "labels.nii", affine)
    like = np.diag([2.5, 2.5, 3, 1.0])
    like[:3, 3] = (-25, -32, -22)
    save(np.zeros((16, 21, 13), np.uint8), tmp_path / "like.nii", like)
    vectors = sitk.GetImageFromArray(random.normal(0, 3, (11, 15, 17, 3)), isVector=True)
    vectors.SetSpacing((5, 5, 6))
    vectors.SetOrigin((-45, -33, -30))  # LPS
    sitk.WriteImage(vectors, str(tmp_path / "field.nii.gz"))
    return tmp_path


def itk_warp(folder, name, interpolator, transform):
    moving, like = (sitk.ReadImage(str(folder / f)) for f in (name, "like.nii"))
    return sitk.Resample(moving, like, transform, interpolator, 0.0, moving.GetPixelID())


def itk_field(path):
    return sitk.DisplacementFieldTransform(sitk.ReadImage(str(path), sitk.sitkVectorFloat64))


@pytest.mark.parametrize("field", ["field.nii.gz", "field.nrrd", "field.mha"])
def test_warp_is_what_simpleitk_makes(bent, field):
    if not field.endswith(".gz"):
        sitk.WriteImage(sitk.ReadImage(str(bent / "field.nii.gz")), str(bent / field))
    transform = itk_field(bent / field)
    good("warp", "image.nii", field, "--like", "like.nii", "-o", "linear.nii", cwd=bent)
    good("warp", "image.nii", field, "--like", "like.nii", "-o", "nearest.nii", "--nearest", cwd=bent)
    for name, how in (("linear.nii", sitk.sitkLinear), ("nearest.nii", sitk.sitkNearestNeighbor)):
        want = sitk.GetArrayFromImage(itk_warp(bent, "image.nii", how, transform)).T
        got = load(bent / name)
        assert np.count_nonzero(want) > 500
        different = np.abs(got - want) > 1e-3
        assert different.mean() < 2e-3  # a point on a face or half-way may fall to either side
    original, out = nibabel.load(bent / "like.nii"), nibabel.load(bent / "linear.nii")
    assert np.allclose(original.affine, out.affine) and out.get_data_dtype() == np.float32


def test_warped_labels(bent):
    """The label with the largest sum of linear weights, of equal sums the smallest."""
    good("warp", "labels.nii", "field.nii.gz", "--like", "like.nii", "-o", "out.nii", "--labels", cwd=bent)
    labels, transform = load(bent / "labels.nii"), itk_field(bent / "field.nii.gz")
    best, found = None, None
    for label in np.unique(labels):
        save((labels == label).astype(np.float32), bent / "share.nii", nibabel.load(bent / "labels.nii").affine)
        share = sitk.GetArrayFromImage(itk_warp(bent, "share.nii", sitk.sitkLinear, transform)).T
        if best is None:
            best, found = share, np.full(share.shape, label)
        else:
            found = np.where(share > best + 1e-6, label, found)
            best = np.maximum(best, share)
    got = load(bent / "out.nii")
    assert np.mean(got != np.where(best > 0, found, 0)) < 2e-3
    assert got.max() > 5


def test_inverse_and_composition(bent):
    """There and back is where one was; a second field leads on."""
    smooth_field = sitk.SmoothingRecursiveGaussian(sitk.ReadImage(str(bent / "field.nii.gz")), 8)
    scaled = sitk.GetImageFromArray(3 * sitk.GetArrayFromImage(smooth_field), isVector=True)
    scaled.CopyInformation(smooth_field)
    sitk.WriteImage(scaled, str(bent / "smooth.nii"))
    x = np.fromfunction(lambda i, j, k: 10 * i + j + 3 * k, (40, 40, 30)).astype(np.float32)
    affine = np.diag([3, 3, 4, 1.0])
    affine[:3, 3] = (-60, -60, -60)
    save(x, bent / "ramp.nii", affine)
    good("warp", "ramp.nii", "smooth.nii", "--like", "ramp.nii", "-o", "there.nii", cwd=bent)
    good("warp", "there.nii", "smooth.nii", "--like", "ramp.nii", "--inverse", "-o", "back.nii", cwd=bent)
    inner = (slice(8, -8),) * 3
    moved = np.abs(load(bent / "there.nii") - x)[inner]
    assert moved.max() > 5 and np.abs(load(bent / "back.nii") - x)[inner].max() < 0.15 * moved.max()
    good("warp", "ramp.nii", "smooth.nii", "--then", "field.nii.gz", "--like", "like.nii", "-o", "both.nii", cwd=bent)
    first, second = itk_field(bent / "smooth.nii"), itk_field(bent / "field.nii.gz")
    want = itk_warp(bent, "ramp.nii", sitk.sitkLinear, sitk.CompositeTransform([second, first]))
    off = np.abs(load(bent / "both.nii") - sitk.GetArrayFromImage(want).T)
    assert np.median(off) < 3  # the composed field lies on the first one's grid, between whose points it is linear


# ---- what is refused ----


def broken(folder, name, change):
    scan = nibabel.load(folder / "scan.nii")
    array = change(np.asarray(scan.dataobj).astype(np.float32))
    nibabel.save(nibabel.Nifti1Image(array, scan.affine), folder / name)


@pytest.mark.parametrize(
    ("what", "change", "part"),
    [
        ("constant", lambda a: np.full_like(a, 7), "one value alone, 7"),
        ("NaN", lambda a: np.full_like(a, np.nan), "no finite value"),
        ("a line", lambda a: a[:, :1, :1], "fewer than two axes"),
        ("channels", lambda a: np.stack([a[:9, :9, :9]] * 3, -1)[:, :, :, None], "channel"),
    ],
)
@pytest.mark.parametrize("role", ["fixed", "moving"])
def test_scans_that_are_refused(phantom, what, change, part, role):
    broken(phantom, "bad.nii", change)
    pair = ["bad.nii", "scan.nii"] if role == "fixed" else ["scan.nii", "bad.nii"]
    refused(phantom, ["register", *pair, "-o", "out.nii", "--moved", "moved.nii"], 65, "bad.nii", part)


def test_some_nan_and_a_tiny_scan(phantom):
    """Voxels without a number are left out; a few voxels are registered as far as that goes."""
    broken(phantom, "holes.nii", lambda a: np.where(np.arange(a.size).reshape(a.shape) % 11 == 0, np.nan, a))
    good("register", "holes.nii", "scan.nii", "-o", "field.nii", "--grid", 9, "--affine-only", "--force", cwd=phantom)
    field = np.squeeze(load(phantom / "field.nii"))
    assert np.abs(field).max() < 3
    broken(phantom, "tiny.nii", lambda a: a[28:31, 20:23, 18:20])
    good("register", "tiny.nii", "scan.nii", "-o", "field.nii", "--force", cwd=phantom)
    good("register", "scan.nii", "tiny.nii", "-o", "field.nii", "--grid", 9, "--force", cwd=phantom)


def test_what_does_not_go_together(phantom, bent):
    for arguments, code, parts in (
        (["register", "image.nii", "image.nii"], 64, ["-o", "--moved"]),
        (["register", "image.nii", "image.nii", "-o", "o.nii", "--smooth", "0"], 64, ["--smooth"]),
        (["register", "image.nii", "image.nii", "-o", "o.nii", "--grid", "0"], 64, ["--grid"]),
        (["register", "image.nii", "image.nii", "-o", "o.nii", "--grid", "0.01"], 64, ["image.nii", "too many voxels"]),
        (["register", "image.nii", "image.nii", "-o", "o.nii", "--mask", "like.nii"], 65, ["like.nii", "grid"]),
        (["register", "image.nii", "image.nii", "-o", "o.nii", "--max-memory", "100KiB"], 75, ["memory"]),
        (["register", "image.nii", "image.nii", "-o", "o.png"], 65, ["o.png"]),
        (["warp", "image.nii", "like.nii", "--like", "like.nii", "-o", "o.nii"], 65, ["like.nii", "three channels"]),
        (["warp", "image.nii", "field.nii.gz", "--like", "like.nii", "-o", "o.nii", "--labels"], 65, ["image.nii"]),
        (["warp", "labels.nii", "field.nii.gz", "--like", "like.nii", "-o", "o.nii", "--labels", "--nearest"], 64, ["--nearest"]),
        (["warp", "image.nii", "nan.nii", "--like", "like.nii", "-o", "o.nii"], 65, ["nan.nii", "not finite"]),
    ):  # fmt: skip
        field = sitk.ReadImage(str(bent / "field.nii.gz"))
        array = sitk.GetArrayFromImage(field)
        array[0, 0, 0, 1] = np.nan
        sitk.WriteImage(sitk.GetImageFromArray(array, isVector=True), str(bent / "nan.nii"))
        refused(bent, arguments, code, *parts)
