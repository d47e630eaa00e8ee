"""DICOM at both ends: series by dcm2niix, segmentations by dcmqi, against what pydicom and highdicom say."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

import nibabel
import numpy as np
import pytest
from conftest import PROGRAM, ROOT, SHARED, assert_one_line, contents, good, load, lobule, refused, save
from dicom_maker import Series, blobs, pydicom  # before which(): it looks beside this Python
from pydicom.uid import DeflatedExplicitVRLittleEndian, ExplicitVRBigEndian, ImplicitVRLittleEndian, generate_uid

wants_dcm2niix = pytest.mark.skipif(not shutil.which("dcm2niix"), reason="there is no dcm2niix")
wants_dcmqi = pytest.mark.skipif(
    not (shutil.which("dcm2niix") and shutil.which("itkimage2segimage") and shutil.which("segimage2itkimage")),
    reason="there is no dcm2niix, or no dcmqi",
)
# As people run it; without "-x i" it may turn the axes of three-dimensional MR.
BY_HAND = ["-z", "n", "-b", "n", "-x", "i", "-f", "scan"]
TILT = np.deg2rad(20)
OBLIQUE = (np.cos(TILT), 0.6 * np.sin(TILT), 0.8 * np.sin(TILT), 0, 0.8, -0.6)


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory, monkeypatch):
    """Temporary folders of conversions lie here, and none of them stays."""
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture(name="ct", scope="module")
def ct_series(tmp_path_factory):
    """A scan, and its folder."""
    scan = Series(blobs())
    return scan, scan.save(tmp_path_factory.mktemp("ct") / "scan")


def fake(folder, monkeypatch, name, text):
    """Put a program of this name before the others."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n" + text)
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def assert_agrees(path, scan, slices=None):
    """Each voxel of a volume has the value and the place that the series gives it."""
    volume = nibabel.load(path)
    values, back = volume.get_fdata(), np.linalg.inv(volume.affine)
    nz, ny, nx = scan.voxels.shape
    slices = range(nz) if slices is None else slices
    assert sorted(values.shape) == sorted((len(slices), ny, nx))
    for k in slices:
        for row in range(0, ny, 7):
            for column in range(0, nx, 5):
                at = back @ [*scan.world(k, row, column), 1]
                index = np.rint(at[:3]).astype(int)
                assert np.abs(at[:3] - index).max() < 1e-3
                want = scan.voxels[k, row, column] * scan.slope + scan.inter
                assert values[tuple(index)] == pytest.approx(want, abs=1e-6)


# ---- reading ----

SCANS = [
    ("CT", {}),
    ("rescale", {"slope": 2.0, "inter": -1000.0}),
    ("no rescale, MR", {"modality": "MR", "inter": 0.0}),
    ("signed", {"voxels": blobs(dtype=np.int16), "inter": 0.0}),
    ("gaps between slices", {"thickness": 1.0, "spacing": (1.0, 1.0, 4.0)}),
    ("from head to feet", {"places": [-2.5 * k for k in range(14)]}),
    ("oblique", {"orientation": OBLIQUE, "modality": "MR", "inter": 0.0}),
    ("sagittal", {"orientation": (0, 1, 0, 0, 0, -1), "modality": "MR", "inter": 0.0}),
    ("coronal", {"orientation": (1, 0, 0, 0, 0, -1)}),
    ("big endian", {"syntax": ExplicitVRBigEndian}),
    ("implicit, without a preamble", {"syntax": ImplicitVRLittleEndian}),
]


@wants_dcm2niix
@pytest.mark.parametrize("what, fields", SCANS, ids=[row[0] for row in SCANS])
def test_values_and_places(tmp_path, what, fields):
    scan = Series(**{"voxels": blobs(), **fields})
    order = list(np.random.default_rng(1).permutation(len(scan.voxels)))
    scan.save(tmp_path / "scan", order, name="{:d}")  # names say nothing, and have no suffix
    good("convert", "scan", "out.nii.gz", cwd=tmp_path)
    assert_agrees(tmp_path / "out.nii.gz", scan)


class Tilted(Series):
    """Of a CT whose gantry leans: the table goes on along the patient, and slices are not above one another."""

    def __init__(self, degrees, step=2.5, dtype=np.int16, **fields):
        lean = np.deg2rad(degrees)
        places = [step * k for k in range(14)]
        super().__init__(blobs(dtype=dtype), orientation=(1, 0, 0, 0, np.cos(lean), np.sin(lean)), places=places, **fields)

    def normal(self):
        return np.array((0.0, 0.0, 1.0))


# degrees, step, type; of signed voxels dcm2niix makes a resampled volume, too
GANTRIES = [(20, 2.5, np.int16), (20, 2.5, np.uint16), (20, -2.5, np.int16), (0.7, 2.5, np.int16)]
GANTRIES += [(15, 10, np.int16), (30, 2.5, np.int16), (-30, 2.5, np.uint16)]  # it finds that distances vary


@wants_dcm2niix
@pytest.mark.parametrize("degrees, step, dtype", GANTRIES)
def test_a_tilted_gantry(tmp_path, degrees, step, dtype):
    """Voxels lie where the images say, and are as large."""
    scan = Tilted(degrees, step, dtype)
    scan.save(tmp_path / "scan")
    done = good("convert", "scan", "out.nii.gz", cwd=tmp_path)
    assert_agrees(tmp_path / "out.nii.gz", scan)
    assert "scan: sform and qform" in done.stderr  # and no name of a temporary file
    good("threshold", "scan", "-o", "mask.nii.gz", "--above", "60", cwd=tmp_path)
    good("stats", "scan", "mask.nii.gz", "--table", "table.json", cwd=tmp_path)
    row = json.loads((tmp_path / "table.json").read_text())[0]
    assert row["volume_mm3"] == pytest.approx(row["voxels"] * 1.5 * abs(step) * np.cos(np.deg2rad(degrees)), rel=1e-5)
    if shutil.which("itkimage2segimage"):
        good("convert", "mask.nii.gz", "out.dcm", "--like", "scan", cwd=tmp_path)
        images = [pydicom.dcmread(path) for path in (tmp_path / "scan").iterdir()]
        places = {image.SOPInstanceUID: image.ImagePositionPatient for image in images}
        frames = pydicom.dcmread(tmp_path / "out.dcm").PerFrameFunctionalGroupsSequence
        for frame in frames:
            image = frame.DerivationImageSequence[0].SourceImageSequence[0].ReferencedSOPInstanceUID
            assert np.allclose(frame.PlanePositionSequence[0].ImagePositionPatient, places[image], atol=1e-3)


@wants_dcm2niix
def test_sheared_slices(tmp_path):
    """Of MR dcm2niix puts them above one another; so it does at each time."""
    scan = Tilted(20, modality="MR", inter=0.0)
    scan.save(tmp_path / "scan")
    assert "scan: sform and qform" in good("convert", "scan", "out.nii.gz", cwd=tmp_path).stderr
    assert_agrees(tmp_path / "out.nii.gz", scan)
    for path in scan.save(tmp_path / "later").iterdir():
        image = pydicom.dcmread(path)
        image.InstanceNumber, image.AcquisitionTime = image.InstanceNumber + 14, "120110"
        image.save_as(tmp_path / "scan" / f"later{path.name}")
    good("convert", "scan", "times.nii.gz", cwd=tmp_path)
    times = nibabel.load(tmp_path / "times.nii.gz")
    assert times.shape[3] == 2 and times.header.get_zooms()[3] == 8
    assert np.array_equal(times.affine, nibabel.load(tmp_path / "out.nii.gz").affine)


@wants_dcm2niix
def test_tilted_frames_in_one_file(tmp_path):
    Tilted(20).save_frames(tmp_path / "frames.dcm")
    refused(tmp_path, ["convert", "frames.dcm", "out.nii"], 65, "do not lie above one another", "_Tilt_1")


@wants_dcm2niix
def test_frames_in_one_file(tmp_path):
    scan = Series(blobs())
    scan.save_frames(tmp_path / "study" / "frames.dcm")
    for path in ("study", "study/frames.dcm"):
        good("convert", path, "out.nii.gz", "--force", cwd=tmp_path)
        assert_agrees(tmp_path / "out.nii.gz", scan)


@wants_dcm2niix
def test_the_same_as_dcm2niix_by_hand(tmp_path, ct):
    """segment takes the folder, and gives the bytes that it gives for the NIfTI."""
    _, folder = ct
    subprocess.run(["dcm2niix", *BY_HAND, "-o", tmp_path, folder], check=True, stdout=-3)
    shape = load(tmp_path / "scan.nii").shape
    strokes = np.zeros(shape, np.uint8)
    middle = shape[2] // 2
    for label, x, y in ((1, 0.35, 0.6), (2, 0.7, 0.4), (3, 0.05, 0.05)):
        strokes[int(x * shape[0]) : int(x * shape[0]) + 4, int(y * shape[1]), middle] = label
    save(strokes, tmp_path / "strokes.nii.gz", nibabel.load(tmp_path / "scan.nii").affine)
    for image, out in ((folder, "a.nii.gz"), ("scan.nii", "b.nii.gz")):
        good("segment", image, "strokes.nii.gz", "-o", out, "--background", "3", cwd=tmp_path)
    assert (tmp_path / "a.nii.gz").read_bytes() == (tmp_path / "b.nii.gz").read_bytes()
    assert len(np.unique(load(tmp_path / "a.nii.gz"))) > 2


REAL = [("MR liver", "totalsegmentator/example_mr_sm.nii.gz", "MR"), ("CT", "totalsegmentator/example_ct_sm.nii.gz", "CT")]


@wants_dcm2niix
@pytest.mark.parametrize("what, name, modality", REAL, ids=[row[0] for row in REAL])
def test_real_scans(tmp_path, what, name, modality):
    """A series made of a real scan: the labels of `segment` are those of its NIfTI by dcm2niix."""
    if not (SHARED / "data" / name).exists():
        pytest.skip("shared/data is not here")
    real = nibabel.as_closest_canonical(nibabel.load(SHARED / "data" / name))
    stored = np.clip(real.get_fdata().round(), -1024, 3000).astype(np.int16)
    spacing = tuple(float(x) for x in real.header.get_zooms()[:3])
    scan = Series(stored.transpose(2, 1, 0)[:, ::-1, ::-1].copy(), spacing, modality=modality, inter=0.0)
    folder = scan.save(tmp_path / "scan")
    subprocess.run(["dcm2niix", *BY_HAND, "-o", tmp_path, folder], check=True, stdout=-3)
    volume = nibabel.load(tmp_path / "scan.nii")
    strokes = np.zeros(volume.shape, np.uint8)
    bright = np.argwhere(volume.get_fdata() > np.percentile(volume.get_fdata(), 97))
    dark = np.argwhere(volume.get_fdata() < np.percentile(volume.get_fdata(), 20))
    strokes[tuple(bright[:: len(bright) // 60].T)] = 1
    strokes[tuple(dark[:: len(dark) // 60].T)] = 2
    save(strokes, tmp_path / "strokes.nii.gz", volume.affine)
    for image, out in (("scan", "a.nii.gz"), ("scan.nii", "b.nii.gz")):
        good("segment", image, "strokes.nii.gz", "-o", out, "--background", "2", cwd=tmp_path)
    assert (tmp_path / "a.nii.gz").read_bytes() == (tmp_path / "b.nii.gz").read_bytes()


@pytest.fixture(name="study", scope="module")
def two_series(tmp_path_factory):
    """A patient with two series, one of them in a folder below."""
    folder = tmp_path_factory.mktemp("study") / "patient"
    study = generate_uid()
    first = Series(blobs(), number=2, description="arterial", study=study)
    second = Series(blobs((9, 40, 36), seed=6), number=5, description="venös; 'x'", study=study)
    first.save(folder, name="A{:03d}")
    second.save(folder / "more" / "below", name="B{:03d}")
    (folder / "notes.txt").write_text("no DICOM")
    return folder, first, second


@wants_dcm2niix
def test_several_series(tmp_path, study):
    folder, first, second = study
    done = lobule("convert", folder, "out.nii.gz", cwd=tmp_path)
    assert_one_line(done, 65, "holds 2 series of DICOM: 2 'arterial' (CT, 14 images of 36 x 40), 5 'ven", "--series")
    assert_one_line(lobule("info", folder, "--series", "7"), 65, "holds no series 7, but 2 series")
    assert_one_line(lobule("info", folder, "--series", "2:x"), 64, "names no series")
    assert_one_line(lobule("info", folder, "--series", "2:2"), 65, "makes 1 volumes, and no number 2")
    assert contents(tmp_path) == {}
    for choice, scan in (("2", first), ("5", second), (second.uid, second), ("2:1", first)):
        good("convert", folder, "out.nii.gz", "--series", choice, "--force", cwd=tmp_path)
        assert_agrees(tmp_path / "out.nii.gz", scan)
    # a file stands for its series, whatever --series says of folders
    for name, scan in (("A003", first), ("more/below/B001", second)):
        good("convert", folder / name, "out.nii.gz", "--force", "--series", "9", cwd=tmp_path)
        assert_agrees(tmp_path / "out.nii.gz", scan)


@wants_dcm2niix
def test_info_lists_series(study):
    folder, first, second = study
    about = json.loads(good("info", "--json", folder).stdout)
    assert about["series"] == [
        {"number": 2, "description": "arterial", "modality": "CT", "date": "20240102", "images": 14, "columns": 36, "rows": 40, "uid": first.uid},
        {"number": 5, "description": "venös; 'x'", "modality": "CT", "date": "20240102", "images": 9, "columns": 36, "rows": 40, "uid": second.uid},
    ]  # fmt: skip
    one = json.loads(good("info", "--json", folder, "--series", "5").stdout)
    assert one["format"] == "DICOM" and one["dims"] == [36, 40, 9]
    assert json.loads(good("check", "--json", folder, "--series", "5").stdout)["verdict"] == "sound"


@wants_dcm2niix
def test_a_damaged_file_stops_the_series_beside_it(tmp_path, study):
    """Series in other folders are read, and the list says which one is not; where nothing else is in its folder, it may belong
    to any."""
    folder, first, second = study
    shutil.copytree(folder, tmp_path / "patient")
    damaged = tmp_path / "patient" / "more" / "below" / "B009.dcm"
    damaged.write_bytes(b"")
    good("convert", "patient", "out.nii.gz", "--series", "2", cwd=tmp_path)
    assert_agrees(tmp_path / "out.nii.gz", first)
    refused(tmp_path, ["convert", "patient", "second.nii.gz", "--series", "5"], 65, "below/B009.dcm: is empty, cut off")
    about = json.loads(good("info", "--json", "patient", cwd=tmp_path).stdout)
    assert len(about["series"]) == 2 and about["damaged"] == ["patient/more/below/B009.dcm"]
    told = good("info", "patient", cwd=tmp_path).stdout
    assert "2  arterial  CT  20240102  14 images  36 columns  40 rows  " in told and "\ndamaged           patient/more/below/B009.dcm\n" in told
    (tmp_path / "patient" / "alone").mkdir()
    damaged.rename(tmp_path / "patient" / "alone" / "B009.dcm")
    refused(tmp_path, ["convert", "patient", "third.nii.gz", "--series", "2"], 65, "alone/B009.dcm: is empty, cut off")


@wants_dcm2niix
def test_two_series_of_one_number(tmp_path):
    scans = [Series(blobs((4, 20, 20), seed), number=2) for seed in (1, 2)]
    for k, scan in enumerate(scans):
        scan.save(tmp_path / "both" / str(k))
    done = lobule("info", tmp_path / "both", "--series", "2")
    assert_one_line(done, 65, "holds 2 series 2, so that a UID is needed", scans[0].uid, scans[1].uid)
    good("convert", tmp_path / "both", tmp_path / "out.nii", "--series", scans[1].uid)
    assert_agrees(tmp_path / "out.nii", scans[1])


@wants_dcm2niix
def test_a_missing_slice_is_refused(tmp_path):
    """With any type of voxel: of some dcm2niix makes a volume all the same."""
    for dtype in (np.uint16, np.int16):
        scan = Series(blobs(dtype=dtype), inter=0.0)
        folder = scan.save(tmp_path / dtype.__name__, [k for k in range(14) if k != 6])
        refused(tmp_path, ["components", folder, "-o", "out.nii.gz"], 65, "its slices do not lie at equal distances", "_Eq_1")
        assert json.loads(lobule("check", "--json", folder).stdout)["verdict"] == "damaged"


THIN = Series(blobs(), spacing=(0.15, 0.15, 0.15))  # a gap is less than dcm2niix minds


@wants_dcm2niix
@pytest.mark.parametrize("scan", [Tilted(30), THIN], ids=["tilted", "thin"])
def test_a_missing_slice_by_the_images(tmp_path, scan):
    scan.save(tmp_path / "scan", [k for k in range(14) if k != 6])
    refused(tmp_path, ["convert", "scan", "out.nii"], 65, "its slices do not lie at equal distances")


@wants_dcm2niix
@pytest.mark.parametrize("scan", [Series(blobs()), Tilted(20), Tilted(30)], ids=["straight", "20", "30"])
def test_several_volumes_of_a_series(tmp_path, scan):
    scan.save(tmp_path / "scan")
    scouts = Series(blobs((4, 30, 24), dtype=np.int16), uid=scan.uid, study=scan.study, orientation=(0, 1, 0, 0, 0, -1))
    scouts.save(tmp_path / "scan", [0, 1, 3], name="scout{}")
    done = lobule("info", "scan", cwd=tmp_path)
    assert_one_line(done, 65, "makes 2 volumes: 1 volume of 36 x 40 x 14, 2 volumea of 24 x 30 x 3", "--series NUMBER:K")
    refused(tmp_path, ["convert", "scan", "out.nii.gz", "--series", "3:2"], 65, "do not lie at equal distances")
    good("convert", "scan", "out.nii.gz", "--series", "3:1", cwd=tmp_path)
    assert_agrees(tmp_path / "out.nii.gz", scan)
    for name in ("IM0003.dcm", "scout1"):  # what is left would be taken for the volume
        whole = (tmp_path / "scan" / name).read_bytes()
        (tmp_path / "scan" / name).write_bytes(whole[:-500])
        refused(tmp_path, ["convert", "scan", "damaged.nii.gz"], 65, "dcm2niix fails on it")
        refused(tmp_path, ["convert", "scan", "damaged.nii.gz", "--series", "3:1"], 65, "dcm2niix fails on it")
        (tmp_path / "scan" / name).write_bytes(whole)


@wants_dcm2niix
def test_an_end_that_is_damaged_is_refused(tmp_path):
    """A slice that is missing in the middle shows in the distances; one at an end does not."""
    folder = Series(blobs((6, 24, 20))).save(tmp_path / "scan")
    last = folder / "IM0005.dcm"
    whole = last.read_bytes()
    for raw in (b"", whole[:400], bytes(len(whole))):
        last.write_bytes(raw)
        for named in ("scan", "scan/IM0001.dcm"):
            assert_one_line(lobule("info", named, cwd=tmp_path), 65, "scan/IM0005.dcm: is empty, cut off or no DICOM", "copy it again")
    last.unlink()
    plain = folder / "IM0006"  # it says that it is DICOM
    plain.write_bytes(whole[:400])
    assert_one_line(lobule("info", "scan", cwd=tmp_path), 65, "scan/IM0006: is empty, cut off or no DICOM")
    directory = pydicom.dcmread(folder / "IM0001.dcm")
    directory.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.1.3.10"
    del directory.SeriesInstanceUID
    directory.save_as(plain)
    good("info", "scan", cwd=tmp_path)
    (tmp_path / "disc").mkdir()
    shutil.copy(plain, tmp_path / "disc")
    assert_one_line(lobule("info", "disc", cwd=tmp_path), 65, "disc: is DICOM without an image")
    for other in ("DICOMDIR", "notes.txt", "scan.json", "Thumbs.db"):
        (folder / other).write_bytes(b"")
    good("convert", "scan", "out.nii.gz", cwd=tmp_path)
    assert nibabel.load(tmp_path / "out.nii.gz").shape == (20, 24, 5)


def test_deflated(tmp_path):
    """dcm2niix reads none of it, and so names the program that unpacks it."""
    folder = Series(blobs((2, 24, 20)), syntax=DeflatedExplicitVRLittleEndian).save(tmp_path / "scan")
    for named in (folder, folder / "IM0000.dcm"):
        assert_one_line(lobule("info", named), 65, f"{named}: is deflated DICOM; `dcmconv +te")


@wants_dcm2niix
def test_a_damaged_file_is_named(tmp_path):
    folder = Series(blobs((6, 24, 20))).save(tmp_path / "scan", [5, 3, 1, 0, 2, 4], name="{:d} é")
    whole = (folder / "4 é").read_bytes()
    (folder / "4 é").write_bytes(whole[:-500])
    assert_one_line(lobule("info", "scan", cwd=tmp_path), 65, "dcm2niix fails on it", str(folder.resolve() / "4 é"))


def test_contours_are_named(tmp_path):
    folder = Series(blobs((1, 24, 20))).save(tmp_path / "scan")
    image = pydicom.dcmread(folder / "IM0000.dcm")
    del image.PixelData, image.Rows, image.Columns
    image.Modality = "RTSTRUCT"
    image.save_as(tmp_path / "contours.dcm")
    assert_one_line(lobule("info", "contours.dcm", cwd=tmp_path), 65, "without an image; of contours `plastimatch convert`")


@wants_dcm2niix
def test_images_without_a_place_are_told_of(tmp_path):
    folder = Series(blobs((6, 24, 20))).save(tmp_path / "scan")
    assert good("convert", "scan", "out.nii.gz", cwd=tmp_path).stderr == ""
    for path in folder.iterdir():
        image = pydicom.dcmread(path)
        del image.ImagePositionPatient, image.ImageOrientationPatient
        image.save_as(path)
    told = good("threshold", "scan", "-o", "mask.nii.gz", "--above", "60", cwd=tmp_path).stderr
    assert told.count("note: scan: its images do not say where they lie") == 1


@wants_dcm2niix
def test_an_image_without_pixels_is_told_of(tmp_path):
    folder = Series(blobs((6, 24, 20))).save(tmp_path / "scan")
    whole = (folder / "IM0003.dcm").read_bytes()
    (folder / "IM0003.dcm").write_bytes(whole[: whole.index(b"\xe0\x7f\x10\0OW")])
    assert_one_line(lobule("info", "scan", cwd=tmp_path), 65, "dcm2niix takes 5 of its 6 images", "the others are damaged")


@wants_dcm2niix
def test_a_recipe_converts_once(tmp_path, study, monkeypatch):
    """Two lines read the folder, and a third its file: one conversion each."""
    folder, first, _ = study
    real = shutil.which("dcm2niix")
    fake(tmp_path / "bin", monkeypatch, "dcm2niix", f'echo run >> "{tmp_path}/runs"\nexec "{real}" "$@"\n')
    (tmp_path / "two.recipe").write_text(
        "threshold {image} -o {out}/mask.nii.gz --above 50\n"
        "filter {image} -o {out}/smooth.nii.gz --median 1\n"
        "stats {image} {out}/mask.nii.gz --table {out}/table.tsv\n"
    )
    good("run", "two.recipe", f"image={folder}", f"out={tmp_path}", "--series", "2", cwd=tmp_path)
    assert (tmp_path / "runs").read_text() == "run\n"
    assert np.array_equal(np.sort(np.unique(load(tmp_path / "mask.nii.gz"))), [0, 1])


@wants_dcm2niix
def test_reports_and_repeat(tmp_path, ct):
    scan, folder = ct
    shutil.copytree(folder, tmp_path / "scan")
    good("threshold", "scan", "-o", "mask.nii.gz", "--above", "0", "--report", "report.json", cwd=tmp_path)
    report = json.loads((tmp_path / "report.json").read_text())["inputs"][0]
    assert report["format"] == "DICOM" and report["dims"] == [36, 40, 14]
    files = sorted((tmp_path / "scan").iterdir())
    assert report["sha256"] == hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()
    assert report["bytes"] == sum(f.stat().st_size for f in files)
    before = (tmp_path / "mask.nii.gz").read_bytes()
    good("repeat", "report.json", cwd=tmp_path)
    assert (tmp_path / "mask.nii.gz").read_bytes() == before
    files[3].unlink()
    assert_one_line(lobule("repeat", "report.json", cwd=tmp_path), 65, "has changed: its SHA-256 is")


# ---- what goes wrong outside ----


def test_nothing_installed(tmp_path, ct, monkeypatch):
    _, folder = ct
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    done = lobule("components", folder, "-o", "out.nii.gz", cwd=tmp_path)
    assert_one_line(done, 65, "is DICOM, for which dcm2niix is needed", "apt install dcm2niix", "pip install dcm2niix")
    assert json.loads(lobule("check", "--json", folder).stdout)["verdict"] == "not read"
    save(np.ones((36, 40, 14), np.uint8), tmp_path / "labels.nii.gz")
    done = lobule("convert", "labels.nii.gz", "out.dcm", "--like", folder, cwd=tmp_path)
    assert_one_line(done, 65, "dcm2niix is needed")
    assert not (tmp_path / "out.dcm").exists() and not (tmp_path / "out.nii.gz").exists()


FAKES = [
    ("fails", "echo Chris; echo 'Error: cannot decode'; exit 3", ["fails on it with exit code 3: Error: cannot decode"]),
    ("fails in silence", "exit 9", ["fails on it with exit code 9"]),
    ("crashes", "kill -SEGV $$", ["breaks down over it"]),
    ("makes nothing", "exit 0", ["makes no volume of it"]),
    ("makes several", "touch volume_e1.nii volume_e2.nii", ["makes 2 volumes: 1 volume_e1, 2 volume_e2", "--series"]),
    ("makes rubbish", "echo rubbish > volume.nii", ["is DICOM that makes no volume"]),
    ("prints for ever", "yes Warning | head -c 20000000; echo; echo 'Error: tired' >&2; exit 1", ["Error: tired"]),
    ("writes for ever", "exec truncate -s 400000000 volume.nii", ["breaks down over it"]),
    ("leaves a child", "sleep 1000 & exit 4", ["exit code 4"]),
    ("makes nothing of unequal distances", "echo Interslice distance varies; exit 4", ["exit code 4"]),
]


@pytest.mark.parametrize("what, text, parts", FAKES, ids=[row[0] for row in FAKES])
def test_a_converter_that(tmp_path, ct, monkeypatch, what, text, parts):
    _, folder = ct
    fake(tmp_path / "bin", monkeypatch, "dcm2niix", text + "\n")
    before = contents(tmp_path)
    start = time.monotonic()
    assert_one_line(lobule("components", folder, "-o", "out.nii.gz", cwd=tmp_path), 65, *parts)
    assert contents(tmp_path) == before
    assert time.monotonic() - start < 30


def test_whoever_ignores_the_end_of_children(tmp_path, ct, monkeypatch):
    """The exit code of the converter is known all the same."""
    fake(tmp_path / "bin", monkeypatch, "dcm2niix", "exit 3\n")
    done = subprocess.run([PROGRAM, "components", ct[1], "-o", "out.nii.gz"], cwd=tmp_path, capture_output=True, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), check=False)  # fmt: skip
    assert_one_line(done, 65, "fails on it with exit code 3")


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.02)


def is_alive(pid):
    try:
        return "Z" not in open(f"/proc/{pid}/stat", encoding="utf-8").read().rsplit(")", 1)[1][:3]
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_signals(tmp_path, ct, monkeypatch, scratch, number):
    """The converter ends with its caller, as does what it has started, and its folder goes; after SIGKILL it goes with the
    next conversion."""
    _, folder = ct
    fake(tmp_path / "bin", monkeypatch, "dcm2niix", f'sleep 600 &\necho $! > "{tmp_path}/pid"\nwait\n')
    child = subprocess.Popen([PROGRAM, "components", folder, "-o", "out.nii.gz"], cwd=tmp_path, stderr=-1)
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    pid = int((tmp_path / "pid").read_text())
    assert is_alive(pid) and len(list(scratch.iterdir())) == 1
    child.send_signal(number)
    child.communicate(timeout=20)
    assert child.returncode == -number
    wait_for(lambda: not is_alive(pid))
    assert not (tmp_path / "out.nii.gz").exists()
    if number == signal.SIGKILL:
        (left,) = scratch.iterdir()
        assert left.stat().st_mode & 0o777 == 0o700
        os.utime(left, (1, 1))
        fake(tmp_path / "bin", monkeypatch, "dcm2niix", "exit 1\n")
        assert lobule("info", folder).returncode == 65
    assert list(scratch.iterdir()) == []


@wants_dcm2niix
def test_names_are_never_options(tmp_path, ct):
    _, folder = ct
    for name in ("-o x", "--force", "a;touch hurt", "$(touch hurt)", "new\nline", "ü %s"):
        shutil.copytree(folder, tmp_path / name)
        good("convert", f"./{name}", "out.nii.gz", "--force", cwd=tmp_path)
        shutil.rmtree(tmp_path / name)
    assert list(contents(tmp_path)) == ["out.nii.gz"]


def test_headers_that_are_none(tmp_path, ct):
    """A file cut off anywhere in its header, and headers with lengths that lie, end in a line."""
    _, folder = ct
    whole = (folder / "IM0000.dcm").read_bytes()
    tag = whole.index(b"\x20\0\x0e\0UI")
    hostile = [whole[:n] for n in range(128, tag + 8, 37)]
    hostile += [whole[: tag + 6] + length + whole[tag + 8 :] for length in (b"\xff\xff", b"\0\0")]
    nested = b"\x08\0\x10\x11SQ\0\0\xff\xff\xff\xff" + b"\xfe\xff\0\xe0\xff\xff\xff\xff\x08\0\x10\x11SQ\0\0\xff\xff\xff\xff" * 40
    hostile.append(whole[:132] + nested)
    for raw in hostile:
        (tmp_path / "IM1").write_bytes(raw)
        assert_one_line(lobule("info", "IM1", cwd=tmp_path), 65, "IM1: is")


# ---- segmentations ----


@pytest.fixture(name="labels")
def made_labels(tmp_path, ct):
    """Labels 1, 3 and 7 on the grid that dcm2niix gives the scan, with names; empty slices at both ends."""
    _, folder = ct
    good("convert", folder, "scan.nii.gz", cwd=tmp_path)
    scan = nibabel.load(tmp_path / "scan.nii.gz")
    values = scan.get_fdata()
    labels = np.zeros(scan.shape, np.uint8)
    labels[values > -40] = 1
    labels[values > 60] = 3
    labels[values > 230] = 7
    labels[:, :, :2] = labels[:, :, -3:] = 0
    save(labels, tmp_path / "labels.nii.gz", scan.affine)
    (tmp_path / "names.csv").write_text(
        "LabelValue,Name,Color_R,Color_G,Color_B,Color_A,Category_CodingScheme,Category_CodeValue,"
        "Category_CodeMeaning,Type_CodingScheme,Type_CodeValue,Type_CodeMeaning,Region_CodingScheme,Region_CodeValue,"
        "Region_CodeMeaning\n"
        "1,kidney_left,10,200,30,255,SCT,85756007,Tissue,SCT,85756007,Tissue,,,\n"  # as 3D Slicer has a new one
        "3,mine: größer,200,10,30,255,,,,,,,,,\n"
        "7,tumor core,0,0,255,255,SCT,49755003,Morphologically Altered Structure,SCT,4147007,Mass,SCT,10200004,Liver\n"
    )
    return labels


@wants_dcmqi
def test_a_segmentation_out(tmp_path, ct, labels):
    highdicom = pytest.importorskip("highdicom")
    scan, folder = ct
    good("convert", "labels.nii.gz", "out.dcm", "--like", folder, "--label-table", "names.csv", cwd=tmp_path)
    seg = highdicom.seg.segread(tmp_path / "out.dcm")
    assert [seg.get_segment_description(k).segment_label for k in (1, 2, 3)] == ["kidney_left", "mine: gr??er", "tumor core"]
    kidney, mine, mass = (seg.get_segment_description(k) for k in (1, 2, 3))
    assert (kidney.segmented_property_type.value, kidney.segmented_property_type.meaning) == ("64033007", "Kidney")
    assert kidney.SegmentedPropertyTypeCodeSequence[0].SegmentedPropertyTypeModifierCodeSequence[0].CodeMeaning == "Left"
    assert (mine.segmented_property_type.value, mass.segmented_property_type.value) == ("85756007", "4147007")
    assert mass.segmented_property_category.value == "49755003" and mass.AnatomicRegionSequence[0].CodeMeaning == "Liver"
    assert seg.PatientID == "P1" and seg.StudyInstanceUID == scan.study
    assert seg.FrameOfReferenceUID == scan.frame_of_reference
    # each voxel, by the images that the SEG refers to
    referred = {item.ReferencedSOPInstanceUID for item in seg.ReferencedSeriesSequence[0].ReferencedInstanceSequence}
    assert seg.ReferencedSeriesSequence[0].SeriesInstanceUID == scan.uid and referred <= set(scan.images)
    uids = [scan.images[k] for k in range(14)]
    got = seg.get_pixels_by_source_instance(
        uids, combine_segments=True, relabel=False, ignore_spatial_locations=True, assert_missing_frames_are_empty=True
    )
    volume = nibabel.load(tmp_path / "labels.nii.gz")
    back = np.linalg.inv(volume.affine)
    of = np.zeros(8, np.uint8)
    of[[1, 3, 7]] = [1, 2, 3]
    k, row, column = np.indices(scan.voxels.shape)
    world = np.array([scan.world(*at) for at in zip(k.ravel(), row.ravel(), column.ravel())])
    index = np.rint(world @ back[:3, :3].T + back[:3, 3]).astype(int)
    want = of[labels[tuple(index.T)]].reshape(scan.voxels.shape)
    assert np.array_equal(got, want) and len(np.unique(want)) == 4


@wants_dcmqi
@pytest.mark.parametrize("what, fields", [SCANS[0], *SCANS[5:9]], ids=[row[0] for row in [SCANS[0], *SCANS[5:9]]])
def test_there_and_back(tmp_path, what, fields):
    """Read again, labels and names are the same; all sorts of axes are understood; a checker finds no error."""
    scan = Series(**{"voxels": blobs(), **fields})
    folder = scan.save(tmp_path / "scan")
    bright = 60 if scan.inter else 1084
    good("threshold", folder, "-o", "mask.nii.gz", "--above", bright, cwd=tmp_path)
    mask = nibabel.load(tmp_path / "mask.nii.gz")
    labels = np.asanyarray(mask.dataobj).astype(np.uint8)
    labels[:, : labels.shape[1] // 2][labels[:, : labels.shape[1] // 2] > 0] = 2
    labels[:, :, :3] = 0
    save(labels, tmp_path / "labels.nii.gz", mask.affine)
    (tmp_path / "names.tsv").write_text("index\tname\tcolor\n1\tLiver\t#80aeff\n2\tSpleen\t#9d6ca2\n")
    good("convert", "labels.nii.gz", "out.dcm", "--like", folder, "--label-table", "names.tsv", cwd=tmp_path)
    about = json.loads(good("info", "--json", "out.dcm", cwd=tmp_path).stdout)
    assert about["format"] == "DICOM SEG" and about["label_names"] == {"1": "Liver", "2": "Spleen"}
    good("convert", "--labels", "out.dcm", "back.nii.gz", "--like", folder, cwd=tmp_path)
    back = nibabel.load(tmp_path / "back.nii.gz")
    assert np.allclose(back.affine, mask.affine, atol=1e-3)
    assert np.array_equal(np.asanyarray(back.dataobj), labels)
    done = lobule("compare", "labels.nii.gz", "out.dcm", "--strict", cwd=tmp_path)
    assert done.returncode in (0, 65), done.stderr
    if shutil.which("dciodvfy"):
        told = subprocess.run(["dciodvfy", tmp_path / "out.dcm"], capture_output=True, encoding="utf-8", check=False)
        assert not re.findall(r"^Error.*", told.stderr + told.stdout, re.M)


@wants_dcmqi
def test_a_segmentation_as_strokes(tmp_path, ct, labels):
    """It covers a part of the scan with its axes the other way round, and is taken like any other."""
    _, folder = ct
    good("convert", "labels.nii.gz", "strokes.dcm", "--like", folder, cwd=tmp_path)
    dense = np.searchsorted([0, 1, 3, 7], labels).astype(np.uint8)
    save(dense, tmp_path / "dense.nii.gz", nibabel.load(tmp_path / "labels.nii.gz").affine)
    for strokes, out in (("strokes.dcm", "a.nii.gz"), ("dense.nii.gz", "b.nii.gz")):
        good("growcut", folder, strokes, "-o", out, cwd=tmp_path)
    assert np.array_equal(load(tmp_path / "a.nii.gz"), load(tmp_path / "b.nii.gz"))
    # in a folder by itself, too
    (tmp_path / "seg").mkdir()
    shutil.move(tmp_path / "strokes.dcm", tmp_path / "seg" / "1.dcm")
    assert json.loads(good("info", "--json", "seg", cwd=tmp_path).stdout)["format"] == "DICOM SEG"


@wants_dcmqi
def test_segments_that_overlap(tmp_path, ct):
    """Made by highdicom, three of them, the second over both others: the first counts, and a note tells."""
    highdicom = pytest.importorskip("highdicom")
    scan, folder = ct
    images = [pydicom.dcmread(path) for path in sorted(folder.iterdir())]
    masks = np.zeros((*scan.voxels.shape, 3), np.uint8)
    masks[2:9, 5:20, 5:20, 0] = masks[4:12, 15:30, 15:30, 1] = masks[5:11, 25:38, 22:35, 2] = 1
    code = highdicom.sr.CodedConcept
    kind, organ = code("123037004", "SCT", "Anatomical Structure"), code("10200004", "SCT", "Liver")
    described = [
        highdicom.seg.SegmentDescription(
            segment_number=k + 1, segment_label=f"part {k}", segmented_property_category=kind,
            segmented_property_type=organ, algorithm_type="MANUAL",
        )
        for k in range(3)
    ]  # fmt: skip
    highdicom.seg.Segmentation(
        images, masks, "BINARY", described, generate_uid(), 9, generate_uid(), 1, "Acme", "Paint", "1", "7"
    ).save_as(tmp_path / "seg.dcm")
    done = good("convert", "--labels", "seg.dcm", "out.nii.gz", "--like", folder, cwd=tmp_path)
    both = masks.sum(axis=3) > 1
    assert f"its segments overlap (voxels: {both.sum()}); the segment that comes first counts" in done.stderr
    want = np.select([masks[..., k] > 0 for k in range(3)], [1, 2, 3])
    assert np.array_equal(load(tmp_path / "out.nii.gz")[:, ::-1].transpose(2, 1, 0), want)
    names = json.loads(good("info", "--json", "out.nii.gz", cwd=tmp_path).stdout)["label_names"]
    assert names == {"1": "part 0", "2": "part 1", "3": "part 2"}


@wants_dcmqi
def test_segmentations_that_are_refused(tmp_path, ct, labels, study):
    _, folder = ct
    patient, first, _ = study
    save(np.zeros(labels.shape, np.uint8), tmp_path / "empty.nii.gz", nibabel.load(tmp_path / "labels.nii.gz").affine)
    save(labels, tmp_path / "elsewhere.nii.gz")
    (tmp_path / "there.dcm").write_bytes(b"mine")
    before = contents(tmp_path)
    for arguments, code, parts in [
        (["convert", "labels.nii.gz", "out.dcm"], 64, ["name their folder with --like"]),
        (["convert", "labels.nii.gz", "out.dcm", "--like", folder, "--type", "uint8"], 64, ["leave --type out"]),
        (["convert", "scan.nii.gz", "x.nii.gz", "--like", folder], 64, ["add --labels"]),
        (["convert", "empty.nii.gz", "out.dcm", "--like", folder], 65, ["no label to write"]),
        (["convert", "elsewhere.nii.gz", "out.dcm", "--like", folder], 65, ["not on the same grid"]),
        (["convert", "labels.nii.gz", "out.dcm", "--like", patient], 65, ["holds 2 series"]),
        (["convert", "labels.nii.gz", "there.dcm", "--like", folder], 72, ["there.dcm", "--force"]),
        (["convert", "labels.nii.gz", "no/out.dcm", "--like", folder], 73, ["no/out.dcm"]),
        (["convert", "labels.nii.gz", "out.dcm", "--like", "scan.nii.gz"], 65, ["scan.nii.gz", "DICOM"]),
        (["threshold", folder, "-o", "out.dcm", "--above", "0"], 64, ["lobule convert LABELS OUT.dcm --like"]),
    ]:
        assert_one_line(lobule(*arguments, cwd=tmp_path), code, *parts)
    assert contents(tmp_path) == before
    # of the right one of two series, by number
    good("convert", patient, "first.nii.gz", "--series", "2", cwd=tmp_path)
    good("threshold", "first.nii.gz", "-o", "m.nii.gz", "--above", "0", cwd=tmp_path)
    good("convert", "m.nii.gz", "m.dcm", "--like", patient, "--series", "2", cwd=tmp_path)
    referred = pydicom.dcmread(tmp_path / "m.dcm").ReferencedSeriesSequence[0]
    assert referred.SeriesInstanceUID == first.uid
    assert {item.ReferencedSOPInstanceUID for item in referred.ReferencedInstanceSequence} <= set(first.images)


# ---- many ----


@wants_dcm2niix
def test_a_batch_of_ten_with_one_broken(tmp_path):
    for p in range(10):
        scan = Series(blobs((6, 24, 20), seed=p), patient=f"P{p}")
        scan.save(tmp_path / "patients" / f"1.2.{p}" / "study")
    broken = tmp_path / "patients" / "1.2.4" / "study"
    for file in broken.iterdir():
        file.write_bytes(file.read_bytes()[:-500])
    command = ["batch", "out=out/{stem}.nii.gz", "--images", "patients/*", "--out", "out", "--"]
    command += ["threshold", "{image}", "-o", "{out}", "--above", "0"]
    done = lobule(*command, cwd=tmp_path)
    assert done.returncode == 65, done.stderr
    rows = [line.split("\t") for line in (tmp_path / "out/batch/status.tsv").read_text().splitlines() if line[:1] != "#"]
    state = {row[rows[0].index("scan")]: row[rows[0].index("state")] for row in rows[1:]}
    assert len(state) == 10 and sorted(state.values()) == ["done"] * 9 + ["failed"]
    made = {path.name for path in (tmp_path / "out").glob("*.nii.gz")}
    assert made == {f"1.2.{p}.nii.gz" for p in range(10) if p != 4}
    # mended, it alone is done again; what has changed is seen
    Series(blobs((6, 24, 20), seed=4)).save(tmp_path / "patients" / "1.2.4" / "study")
    Series(blobs((6, 24, 20), seed=99)).save(tmp_path / "patients" / "1.2.7" / "study")
    stamps = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.nii.gz")}
    good(*command[:2], "--resume", *command[2:], cwd=tmp_path)
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.nii.gz")}
    assert {name for name in after if after[name] != stamps.get(name)} == {"1.2.4.nii.gz", "1.2.7.nii.gz"}


@wants_dcm2niix
def test_a_bids_dataset_of_folders(tmp_path):
    """Folders named as BIDS names images; one without DICOM is told of."""
    for p in (1, 2):
        folder = tmp_path / f"raw/sub-{p}/anat/sub-{p}_T1w"
        Series(blobs((6, 24, 20), seed=p), patient=f"P{p}").save(folder)
    (tmp_path / "raw/sub-3/anat/sub-3_T1w").mkdir(parents=True)
    (tmp_path / "raw/sub-1/anat/sub-1_acq-note_T1w").write_text("no image")
    done = lobule("bids", "raw", "made", "participant", "--", "threshold", "{image}", "-o", "{out}", "--above", "0", cwd=tmp_path)
    assert done.returncode == 66 and "1 failed" in done.stderr and "sub-3_T1w" in done.stderr, done.stderr
    made = sorted(path.relative_to(tmp_path / "made").as_posix() for path in (tmp_path / "made").glob("sub-*/**/*.nii.gz"))
    assert made == [f"sub-{p}/anat/sub-{p}_desc-threshold_dseg.nii.gz" for p in (1, 2)]
    good("threshold", "raw/sub-1/anat/sub-1_T1w", "-o", "alone.nii.gz", "--above", "0", cwd=tmp_path)
    good("compare", "alone.nii.gz", f"made/{made[0]}", "--strict", cwd=tmp_path)


# ---- the page ----


@wants_dcmqi
def test_the_page(tmp_path, study):
    """docs/dicom.md: its lines run in their order, and give what it says."""
    patient, _, _ = study
    page = (ROOT / "docs/dicom.md").read_text(encoding="utf-8")
    shutil.copytree(patient, tmp_path / "patient")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/lobule").symlink_to(PROGRAM)
    for file, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page, re.M | re.S):
        (tmp_path / file).write_text(text, encoding="utf-8")
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    told = {}
    for line in re.findall(r"^ {4}(?=\S)(.+)$", page, re.M):
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env={**os.environ, "PATH": path}, stdin=-3,
                              capture_output=True, encoding="utf-8", timeout=120, check=False)  # fmt: skip
        assert done.returncode == 0, f"{line}: {done.stderr}"
        told[line] = done.stdout
    assert "arterial" in told["lobule info patient"] and "liver" in told["lobule info liver.dcm"]
    assert np.array_equal(load(tmp_path / "liver.nii.gz"), load(tmp_path / "bright.nii.gz"))
    assert {path.name for path in (tmp_path / "masks").glob("*.nii.gz")} == {"p1_labels.nii.gz", "p2_labels.nii.gz"}
    for link in re.findall(r"\]\(([^)#:]+)[^)]*\)", page):
        assert (ROOT / "docs" / link).exists()
